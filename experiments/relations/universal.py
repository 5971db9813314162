"""Models of universal schemas on pairs from the New York Times and from Freebase: which terms, and which loss.

Two tasks. *Cells*: some paths of dependencies are hidden from pairs of which something else is known, and for each path
the pairs that do not list it are ranked. *Pairs*: all relations of some pairs are hidden, only chains remain that stand
for text, and for each relation these pairs are ranked; this is what the published systems were tested on.
"""

from __future__ import annotations

import time
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.data.knowledge import knowledge
from experiments.data.universal_schema import SYSTEMS, TARGETS, freebase_pairs, judgements, nyt_pairs, rankings
from polyadic.core.errors import InputError
from polyadic.core.stage_cache import whole
from polyadic.metrics.figures import Figure, difference
from polyadic.metrics.judged import judged, ranked_cells
from polyadic.relations.schema import Schema, schema_of
from polyadic.relations.universal import UniversalSchema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from polyadic.core.stage_cache import Facts

    Scores = Callable[[int], NDArray[Any]]

FEATURES, LOSSES = ("F", "N", "NF", "NFE"), ("logistic", "bpr")
RIDGES, WEIGHT_RIDGES = (0.003, 0.02), (0.001,)
"""Ridges of vectors and of weights, to select from."""
SELDOM = 3
"""Predicates of fewer pairs are left out."""
MEASURED = 3
"""Predicates of which fewer cells are hidden are not measured."""


class Split(NamedTuple):
    """Training schema, and two sets of held-out cells for validation and testing.

    ``validation``, ``test``: Rows and columns of hidden cells. ``among``: The pairs that are ranked for either set; all
    that do not list the predicate if absent.
    """

    train: Schema
    validation: NDArray[np.int64]
    test: NDArray[np.int64]
    among: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None


def nyt_split(*, seed: int, root: Path | None = None) -> Split:
    """Hide three in ten listed paths of pairs from the New York Times: one for validation, two for testing."""
    schema = _frequent(nyt_pairs(root=root), SELDOM)
    paths = np.array([name.startswith("path#") for name in schema.predicates])
    cells, rng = schema.indices, np.random.default_rng(seed)
    left = np.bincount(cells[:, 0], minlength=len(schema.pairs))
    part = np.zeros(len(cells), int)  # 1 to choose by, 2 to report
    for at in rng.permutation(np.flatnonzero(paths[cells[:, 1]])):
        drawn = rng.random()
        if drawn < 0.3 and left[cells[at, 0]] > 1:
            left[cells[at, 0]] -= 1
            part[at] = 1 if drawn < 0.1 else 2
    return Split(schema.only(part == 0), cells[part == 1], cells[part == 2])


def freebase_split(*, seed: int, share: float = 0.1, root: Path | None = None) -> Split:
    """Hide all relations of a share of the pairs that have chains, and of as many others for validation."""
    schema = freebase_pairs(root=root)
    relation = np.array([" . " not in name for name in schema.predicates])
    cells, rng = schema.indices, np.random.default_rng(seed)
    chained = np.unique(cells[~relation[cells[:, 1]], 0])
    drawn = rng.permutation(chained)[: 2 * int(share * len(chained))]
    validation, test = (np.sort(rows) for rows in np.array_split(drawn, 2))
    hidden = [np.isin(cells[:, 0], rows) & relation[cells[:, 1]] for rows in (validation, test)]
    train = schema.only(~(hidden[0] | hidden[1]))
    return Split(train, cells[hidden[0]], cells[hidden[1]], (validation, test))


def small_split(name: str, *, seed: int, root: Path | None = None) -> Split:
    """Hide three in ten facts of a small knowledge graph, all three parts: one for validation, two for testing."""
    base = knowledge(name, root=root)
    facts = np.concatenate([base.train, base.validation, base.test]).tolist()
    schema = schema_of((base.entities[s], base.entities[o], base.relations[r]) for s, r, o in facts)
    drawn = np.random.default_rng(seed).random(len(schema.indices))
    cells = schema.indices
    return Split(schema.only(drawn >= 0.3), cells[drawn < 0.1], cells[(drawn >= 0.1) & (drawn < 0.3)])


def measures(scores: Scores, split: Split, *, test: bool) -> Facts:
    """Rank pairs for each predicate of hidden cells.

    ``scores``: From a column to scores of all rows. ``test``: Whether of the cells to report, not of those to choose
    by.
    """
    cells = split.test if test else split.validation
    among = None if split.among is None else split.among[test]
    seen = split.train
    report = ranked_cells(scores, seen.cells, cells, names=seen.predicates, among=among, at_least=MEASURED)
    return {
        "map": report.mean,
        "weighted_map": report.weighted_mean,
        "curve": report.curve.tolist(),
        "predicates": len(report.relations),
        "ap": dict(zip(report.relations, report.average_precision.tolist(), strict=True)),
    }


def compared(
    split: Split,
    *,
    seed: int,
    rank: int = 100,
    max_iter: int = 100,
    features: Sequence[str] = FEATURES,
    losses: Sequence[str] = LOSSES,
    axes: Sequence[str] = ("column",),
    ridges: Sequence[float] = RIDGES,
    weight_ridges: Sequence[float] = WEIGHT_RIDGES,
    batch: int | None = None,
) -> list[Facts]:
    """Fit each model with each loss; penalties are selected on the validation cells."""
    rows: list[Facts] = []
    for terms, loss, axis in product(features, losses, axes):
        vectors, weights = ("F" in terms or "E" in terms), "N" in terms
        tried: list[tuple[float, int, dict[str, Any], UniversalSchema]] = []
        for ridge, weight_ridge in product(ridges if vectors else ridges[:1], weight_ridges if weights else (0.01,)):
            options: dict[str, Any] = {"features": terms, "loss": loss, "ridge": ridge, "weight_ridge": weight_ridge}
            options["sampling_axis"] = axis
            start = time.perf_counter()
            model = UniversalSchema(rank, max_iter=max_iter, batch=batch, seed=seed, **options).fit(split.train)
            seconds = time.perf_counter() - start
            chosen_by = measures(_scores_of(whole(model)), split, test=False)["map"]
            tried.append((chosen_by, len(tried), {**options, "seconds": seconds}, model))
        validation, _, options, model = max(tried)
        rows.append({**options, "validation": validation, **measures(_scores_of(model), split, test=True)})
    return rows


TENSOR_MODELS: dict[str, Facts] = {
    **{name: {"features": (name,), "losses": ("logistic",)} for name in ("F", "N", "E", "T", "NFE", "FT", "NFET")},
    **{f"F, BPR, {axis}": {"features": ("F",), "losses": ("bpr",), "axes": (axis,)} for axis in ("column", "all")},
}
"""Models of the comparison of matrix and tensor, and of negatives of the same column and of all."""
TENSOR_SETS: dict[str, Facts] = {
    "newswire": {"rank": 50, "max_iter": 20, "ridges": (0.003, 0.01)},
    "nations": {"rank": 50, "max_iter": 100, "ridges": (0.003, 0.01), "batch": 64},
    "umls": {"rank": 50, "max_iter": 60, "ridges": (0.003, 0.01), "batch": 64},
}
"""Data of this comparison, and settings. With a ridge of 0.02 the vectors of the tensor vanish."""
PAIRED = (
    ("T", "F"),
    ("FT", "F"),
    ("FT", "T"),
    ("FT", "N"),
    ("FT", "E"),
    ("NFE", "F"),
    ("NFE", "N"),
    ("NFET", "NFE"),
    ("F, BPR, all", "F, BPR, column"),
)
"""Terms whose difference is measured over the same predicates."""


def tensor_split(name: str, *, seed: int, root: Path | None = None) -> Split:
    """Hide cells of one of :data:`TENSOR_SETS`."""
    return nyt_split(seed=seed, root=root) if name == "newswire" else small_split(name, seed=seed, root=root)


def difference_of_terms(runs: Sequence[Sequence[Facts]], pairs: Sequence[tuple[str, str]]) -> list[Facts]:
    """Compare models by the average precision of each predicate, with paired bootstrap intervals over predicates.

    ``runs``: Rows of each division of the data, each with a ``name``; a predicate counts with its mean over divisions.
    """
    common = sorted(set.intersection(*({*row["ap"]} for rows in runs for row in rows)))
    figures = {}
    for rows in zip(*runs, strict=True):
        means = np.mean([[row["ap"][name] for name in common] for row in rows], axis=0)
        units = np.column_stack([means, np.ones(len(means))])
        figures[rows[0]["name"]] = Figure(rows[0]["name"], units, used=len(units), total=len(units))
    alone = [figure.as_dict() for figure in figures.values()]
    return alone + [
        {"name": f"{a} - {b}", **difference(figures[a], figures[b])._asdict()} for a, b in pairs if {a, b} <= {*figures}
    ]


def folded_in(split: Split, *, seed: int, rank: int = 100, max_iter: int = 100, features: str = "F") -> Facts:
    """Fit to the pairs that are not ranked, and fold those in that are."""
    if split.among is None:
        raise InputError("only pairs that are hidden as a whole can be folded in")
    rows, cells = split.among[True], split.train.indices
    new = np.isin(cells[:, 0], rows)
    kept = schema_of(split.train.only(~new).triples(), predicates=split.train.predicates)
    options: dict[str, Any] = {"features": features, "max_iter": max_iter, "seed": seed}
    model = UniversalSchema(rank, **options).fit(kept)
    unseen = schema_of(split.train.only(new).triples())
    start = time.perf_counter()
    probabilities = whole(model).predict_unseen(unseen)
    seconds = time.perf_counter() - start
    at = np.array([split.train.row(*pair) for pair in unseen.pairs])

    def scores(column: int) -> NDArray[Any]:
        every = np.full(len(split.train.pairs), -np.inf)
        every[at] = probabilities[:, column]
        return every

    return {**measures(scores, split, test=True), "features": features, "seconds": seconds}


def published(*, root: Path | None = None) -> list[Facts]:
    """Measure the public rankings of three systems by the public judgements of pairs of the test part."""
    pairs, told_true = set(nyt_pairs(root=root).pairs), judgements(root=root)
    truth = {
        name: {pair: is_true for pair, is_true in told_true[f"REL${name}"].items() if pair in pairs} for name in TARGETS
    }
    systems = {
        system: {name.removeprefix("REL$"): ranked for name, ranked in rankings(system, root=root).items()}
        for system in SYSTEMS
    }
    return [
        {
            "system": system,
            "map": report.mean,
            "weighted_map": report.weighted_mean,
            "curve": report.curve.tolist(),
            "relations": {
                name: (float(precision), int(true))
                for name, precision, true in zip(report.relations, report.average_precision, report.true, strict=True)
            },
        }
        for system, report in judged(systems, truth, pool=None).items()
    ]


def _scores_of(model: UniversalSchema) -> Scores:
    return lambda column: model.column_log_odds([column])[:, 0]


def _frequent(schema: Schema, least: int) -> Schema:
    """Leave out predicates of fewer pairs."""
    counts = np.bincount(schema.indices[:, 1], minlength=len(schema.predicates))
    kept = [name for name, count in zip(schema.predicates, counts, strict=True) if count >= least]
    return schema_of(schema.triples(), predicates=kept)
