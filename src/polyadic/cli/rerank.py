"""``polyadic rerank``: choose from lists of candidates by what was learned from others."""

import codecs
import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import output
from polyadic.interface.command_line import add_verbs
from polyadic.interface.errors import say

app = typer.Typer(no_args_is_help=True, help="Choose from n-best lists by features, linear or as a low-rank tensor.")

Format = Literal["auto", "jsonl", "svmrank"]
MIRAS, TENSOR = ("mira", "tensor-mira"), ("tensor-mira",)

# Of several verbs
Lists = Annotated[
    Path,
    typer.Argument(
        metavar="LISTS", help="JSON lines, a list of candidates each; or SVMrank lines, a candidate each, with qid:."
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder made by `polyadic rerank train`.")]
As = Annotated[Format, typer.Option("--format", help="What the lists are; auto looks.")]
Unknown = Annotated[
    Literal["ignore", "error"],
    typer.Option(help="What to do with features that were not learned: count them, or stop."),
]

# Of `train`
Method = Annotated[
    Literal["perceptron", "mira", "tensor-mira"],
    typer.Option("--model", help="A weight for each feature (perceptron, mira), or weights as a tensor of low rank."),
]
Validation = Annotated[Path | None, typer.Option(metavar="LISTS", help="Keep the epoch that costs least on these.")]
Rank = Annotated[int | None, typer.Option(min=1, help="Components of the tensor.", show_default="2")]
Order = Annotated[int | None, typer.Option(min=1, max=8, help="Modes of the tensor.", show_default="2")]
C = Annotated[float | None, typer.Option("--C", min=0, help="Bound of a step.", show_default="0.1")]
Best = Annotated[int | None, typer.Option(min=1, help="Candidates a step is solved for (mira).", show_default="1")]
Where = Annotated[
    Literal["guided", "sequential", "random", "hashed"] | None,
    typer.Option("--mapping", help="Where features stand in the tensor.", show_default="guided"),
]
Updates = Annotated[
    Literal["random", "rotated", "fixed", "joint"] | None,
    typer.Option(help="Which vectors of the tensor step first, or all at once.", show_default="random"),
]
Epochs = Annotated[int | None, typer.Option(min=1, help="Passes over the lists.", show_default="10")]
Last = Annotated[bool | None, typer.Option("--last", help="Keep the last weights, not their mean.")]
MinCount = Annotated[int, typer.Option(min=1, help="Lists in which a feature must occur (JSON lines).")]

# Of `apply`
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace the file if it is there.")]
Scores = Annotated[bool, typer.Option("--scores", help="Add the scores of all candidates (JSON lines).")]


def train(
    lists: Lists,
    *,
    out: o.Out,
    model: Method = "tensor-mira",
    rank: Rank = None,
    order: Order = None,
    c: C = None,
    best: Best = None,
    mapping: Where = None,
    updates: Updates = None,
    epochs: Epochs = None,
    last: Last = None,
    validation: Validation = None,
    min_count: MinCount = 1,
    form: As = "auto",
    seed: o.Seed = 0,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Learn to choose from lists; of those in the file, one block is held at a time."""
    o.belonging(
        model,
        {
            "--rank": (rank, TENSOR),
            "--order": (order, TENSOR),
            "--C": (c, MIRAS),
            "--best": (best, ("mira",)),
            "--mapping": (mapping, TENSOR),
            "--updates": (updates, TENSOR),
        },
        flag="--model",
    )
    chosen = {"rank": rank, "order": order, "C": c, "best": best, "mapping": mapping, "updates": updates}
    chosen |= {"max_iter": epochs, "averaged": False if last else None}
    given = {name: value for name, value in chosen.items() if value is not None}
    fitted, facts = _fitted(lists, out, model, given, validation, min_count, form, seed=seed, force=force)
    facts = {"model": model, **facts}
    output.saved(fitted, out, facts, force=force, as_json=as_json, hint=("rerank", "evaluate", out, "LISTS"))


def apply(
    model: Model,
    lists: Lists,
    *,
    out: o.File = None,
    scores: Scores = False,
    unknown: Unknown = "ignore",
    form: As = "auto",
    force: Force = False,
) -> None:
    """Choose from lists. Of JSON lines, a line for each list; of SVMrank lines, the score of each candidate.

    Costs, if there are any, are not looked at.
    """
    from polyadic.core.files import whole_file
    from polyadic.core.serialization import load
    from polyadic.ranking.reranking import Reranker

    if out is not None and (out.is_dir() or (out.exists() and not force)):
        raise InputError(f"{out} exists already; choose another name" + ("" if out.is_dir() else " or --force"))
    reranker = load(model, Reranker)
    blocks = _opened_for(reranker.names_, lists, form, unknown=unknown, costs=False)
    lines = (
        _chosen(reranker, blocks, scores=scores) if hasattr(blocks, "blocks") else _scored(reranker, blocks, unknown)
    )
    with contextlib.ExitStack() as stack:
        file: Any = sys.stdout
        if out is not None:
            draft = stack.enter_context(whole_file(out))
            file = stack.enter_context(draft.open("w", encoding="utf-8"))
        file.writelines(lines)
    if getattr(blocks, "ignored", 0):
        say(f"features that were not learned occurred {blocks.ignored:,} times; ignored", "warning")


def evaluate(
    model: Model,
    lists: Lists,
    *,
    unknown: Unknown = "ignore",
    form: As = "auto",
    as_json: o.AsJson = False,
) -> None:
    """Tell mean costs: of the first candidates, of those chosen, and of the cheapest.

    ``worst`` is what choices may come to where several candidates share the highest score.
    """
    from polyadic.core.serialization import load
    from polyadic.metrics.reranking import reranking
    from polyadic.ranking.reranking import Reranker

    reranker = load(model, Reranker)
    blocks = _opened_for(reranker.names_, lists, form, unknown=unknown)
    costs = reranking((groups, reranker.decision_function(groups, unknown=unknown)) for groups in blocks)
    facts: dict[str, Any] = {"lists": costs.lists, "candidates": costs.candidates, "first": costs.first}
    facts |= {"reranked": costs.reranked, "oracle": costs.oracle, "random": costs.random, "gained": costs.gained}
    facts |= {"moved": costs.moved, "tied": costs.tied, "worst": costs.worst}
    if hasattr(blocks, "ignored"):
        facts["unknown_features"] = blocks.ignored
    output.facts(facts, as_json=as_json)


def _fitted(
    path: Path,
    out: Path,
    method: str,
    options: dict[str, Any],
    validation: Path | None,
    min_count: int,
    form: Any,
    *,
    seed: int,
    force: bool,
) -> tuple[Any, dict[str, Any]]:
    from polyadic.core.files import check_replaceable
    from polyadic.core.serialization import KIND
    from polyadic.ranking.linear_rerankers import MIRA, RankingPerceptron
    from polyadic.ranking.tensor_mira import TensorMIRA

    check_replaceable(out, KIND, overwrite=force)
    model: Any = {"perceptron": RankingPerceptron, "mira": MIRA, "tensor-mira": TensorMIRA}[method](
        seed=seed, **options
    )
    lists = _opened(path, form, {"min_count": min_count})
    names = getattr(lists, "names", None)
    held_out = None if validation is None else _opened_for(names, validation, form, unknown="ignore")
    model.fit(lists, validation=held_out)
    facts: dict[str, Any] = {"features": len(model.weights_), "parameters": len(model.weights_)}
    if method == "tensor-mira":
        facts["parameters"] = sum(w.size for w in model.factors_)
    facts |= {"epochs": model.n_iter_, "seconds": round(model.result_.seconds[-1], 2), "cost": model.history_[-1]}
    if held_out is not None:
        facts |= {"validation_cost": min(model.result_.measured), "best_epoch": model.result_.best}
    return model, facts


def _chosen(model: Any, blocks: Any, *, scores: bool) -> Iterator[str]:
    for groups, lists in blocks.blocks():
        s = model.decision_function(groups)
        choice = groups.choice(s)
        for k, (first, candidates) in enumerate(zip(groups.starts, lists, strict=False)):
            at = int(choice[k] - first)
            facts = {"id": candidates.id, "chosen": at, "text": candidates.texts[at], "score": float(s[choice[k]])}
            if scores:
                facts["scores"] = s[first : groups.starts[k + 1]].tolist()
            yield json.dumps(facts, ensure_ascii=False) + "\n"


def _scored(model: Any, blocks: Any, unknown: Any) -> Iterator[str]:
    for groups in blocks:
        yield from (f"{score!r}\n" for score in model.decision_function(groups, unknown=unknown).tolist())


def _kind_of(path: Path, said: Format) -> str:
    """Say how lists are written: JSON lines begin with a brace."""
    from polyadic.text.streams import open_bytes

    if said != "auto":
        return said
    with open_bytes(str(path)) as file:
        begin = file.read(4096).removeprefix(codecs.BOM_UTF8).lstrip()
    if not begin:
        raise InputError(f"{path} has no lists")
    return "jsonl" if begin.startswith(b"{") else "svmrank"


def _opened(path: Path, said: Format, options: dict[str, Any]) -> Any:
    """Open lists; ``options`` are those of JSON lines."""
    from polyadic.ranking.nbest import NBestLists
    from polyadic.text.feature_lines import RankLines

    if str(path) == "-" or path.is_fifo():  # what has been looked at is gone
        if "names" not in options:
            raise InputError("lists to learn from are read more than once; write them to a file")
        if said != "jsonl":
            raise InputError("only JSON lines are read from a pipe; say --format jsonl if they are")
    return NBestLists(path, **options) if _kind_of(path, said) == "jsonl" else RankLines(path)


def _opened_for(names: list[str] | None, path: Path, said: Format, *, unknown: str, costs: bool = True) -> Any:
    """Open lists for a model, which knows features by name, or by number if it has no names."""
    blocks = _opened(path, said, {"names": names or (), "unknown": unknown, "costs": costs})
    if (names is None) == hasattr(blocks, "names"):
        how = "number, as SVMrank lines have them" if names is None else "name, as JSON lines have them"
        raise InputError(f"the model knows features by {how}; {path} has them in the other way")
    return blocks


add_verbs(
    app,
    {
        train: "polyadic rerank train spellings.jsonl --out reranker",
        apply: "polyadic rerank apply reranker test.jsonl --out chosen.jsonl",
        evaluate: "polyadic rerank evaluate reranker test.jsonl",
    },
)
