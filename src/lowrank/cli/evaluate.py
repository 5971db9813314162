"""``lowrank evaluate``: how well word vectors agree with people."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lowrank.cli import options as o
from lowrank.cli import show
from lowrank.errors import InputError

if TYPE_CHECKING:
    from lowrank.datasets import Pair
    from lowrank.embedding import Embedding
    from lowrank.metrics.outliers import OutlierGroup

Data = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="The folder of test sets.", show_default="what LOWRANK_DATA names"),
]
Pairs = Annotated[
    list[Path] | None, typer.Option(metavar="FILE", help="Word pairs with scores, instead of those of the folder.")
]
Groups = Annotated[
    list[Path] | None,
    typer.Option(metavar="DIR", help="Outlier groups, one a .txt file, instead of those of the folder."),
]
Orders = Annotated[
    list[int], typer.Option("--order", min=2, max=4, help="Words that outlier detection compares at once.")
]

OUTLIER_COLUMNS = {
    "outliers": "set",
    "order": "order",
    "OPP": "opp",
    "95 %": "opp_interval",
    "accuracy": "accuracy",
    "(95 %)": "accuracy_interval",
    "cases": "cases",
    "total": "total_cases",
}


def evaluate(
    vectors: o.Vectors,
    *,
    data: Data = None,
    pairs: Pairs = None,
    groups: Groups = None,
    orders: Orders = [2, 3],  # noqa: B006 typer copies it
    as_json: o.AsJson = False,
) -> None:
    """Score word vectors by word similarity (Spearman) and outlier detection, always with what they cover."""
    from lowrank.embedding import read_vectors

    pair_sets, group_sets = _named_sets(pairs, groups) if pairs or groups else _published_sets(data)
    embedding = read_vectors(vectors)
    similarities = [_similarity(embedding, name, some) for name, some in pair_sets.items()]
    outliers = [_outliers(embedding, name, some, order) for name, some in group_sets.items() for order in orders]
    if as_json:
        show.in_json({"similarity": similarities, "outliers": outliers})
        return
    if similarities:
        show.table(["similarity", "spearman", "covered", "total"], [list(row.values())[:4] for row in similarities])
    if outliers:
        rows = [[row.get(key) for key in OUTLIER_COLUMNS.values()] for row in outliers]
        show.table(list(OUTLIER_COLUMNS), rows)


def _named_sets(
    pairs: list[Path] | None, groups: list[Path] | None
) -> tuple[dict[str, list["Pair"]], dict[str, list["OutlierGroup"]]]:
    from lowrank.datasets import read_outlier_group, read_pairs

    group_sets = {}
    for folder in groups or ():
        files = sorted(folder.glob("*.txt"))
        if not files:
            raise InputError(f"{folder} holds no .txt files, of which each would be an outlier group")
        group_sets[folder.name] = [read_outlier_group(file) for file in files]
    return {path.stem: read_pairs(path) for path in pairs or ()}, group_sets


def _published_sets(data: Path | None) -> tuple[dict[str, list["Pair"]], dict[str, list["OutlierGroup"]]]:
    from lowrank.datasets import OUTLIERS, outlier_groups, similarity_sets

    return similarity_sets(data), {name: outlier_groups(name, root=data) for name in OUTLIERS}


def _similarity(embedding: "Embedding", name: str, pairs: list["Pair"]) -> dict[str, Any]:
    from lowrank.metrics.similarity import similarity

    return {"set": name, **similarity(embedding, pairs).as_dict()}


def _outliers(embedding: "Embedding", name: str, groups: list["OutlierGroup"], order: int) -> dict[str, Any]:
    from lowrank.metrics.outliers import outliers

    try:
        return {"set": name, **outliers(embedding, groups, order=order).as_dict()}
    except InputError:  # none of the groups is covered, which is a result among others here
        return {"set": name, "order": order, "cases": 0, "total_cases": sum(len(group.outliers) for group in groups)}
