"""Rerankers side by side on the same lists, with settings and epochs chosen on lists held out."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.stage_cache import whole
from polyadic.metrics.figures import Figure
from polyadic.ranking.linear_rerankers import MIRA, RankingPerceptron
from polyadic.ranking.reranking import choose
from polyadic.ranking.tensor_mira import TensorMIRA, mapped_spectrum, mode_sizes, places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from experiments.cao2014.groups import CandidateGroups
    from experiments.cao2014.lists import Lists
    from polyadic.core.stage_cache import Facts
    from polyadic.ranking.reranking import Reranker
    from polyadic.ranking.tensor_mira import FeatureMapping

STEPS = (0.001, 0.01, 0.1)
"""C of MIRA and T-MIRA, of which one is chosen."""
PUBLISHED: dict[str, Any] = {"surrogate": 1, "init": "signs", "updates": "fixed", "augmented": False, "averaged": False}
"""T-MIRA as in the paper, with the last weights; the others have the defaults of this library."""
SPECTRUM = 40
"""Singular values that are kept."""


class Method(NamedTuple):
    """A kind of reranker and its grid of settings."""

    name: str
    models: Sequence[Reranker]


def methods(
    *, orders: Iterable[int], ranks: Iterable[int], mappings: Iterable[FeatureMapping], epochs: int, seed: int
) -> list[Method]:
    """Return perceptron, MIRA, and T-MIRA of each order, rank and mapping; and that of the paper, of order 2."""
    common: dict[str, Any] = {"max_iter": epochs, "seed": seed}
    rerankers = [
        Method("perceptron", [RankingPerceptron(**common)]),
        Method("MIRA", [MIRA(C=C, **common) for C in STEPS]),
    ]
    for mapping in mappings:
        for order in orders:
            for rank in ranks:
                how: dict[str, Any] = {"order": order, "mapping": mapping, **common}
                models = [TensorMIRA(rank, C=C, **how) for C in STEPS]
                rerankers.append(Method(f"T-MIRA {order} {rank} {mapping}", models))
    plain: dict[str, Any] = {**common, "averaged": False}
    rerankers.append(Method("perceptron published", [RankingPerceptron(**plain)]))
    rerankers.append(Method("MIRA published", [MIRA(C=C, augmented=False, **plain) for C in STEPS]))
    for rank in ranks:
        models = [TensorMIRA(rank, C=C, **PUBLISHED, **common) for C in STEPS]
        rerankers.append(Method(f"T-MIRA 2 {rank} published", models))
    return rerankers


def measured(method: Method, lists: Lists) -> Facts:
    """Train on the training lists, select on the development lists, and rerank the test lists."""
    began = time.perf_counter()
    best = whole(choose(method.models, lists.train.groups, validation=lists.dev.groups).best)
    choice = best.rerank(lists.test.groups)
    parameters = sum(w.size for w in getattr(best, "factors_", [best.weights_]))
    return {
        "name": method.name,
        "dev": sums(lists.dev, best.rerank(lists.dev.groups)),
        "test": sums(lists.test, choice),
        "choice": (choice - lists.test.groups.starts[:-1]).tolist(),
        "training": best.history_[1:],
        "held_out": best.result_.measured[1:],
        "C": getattr(best, "C", None),
        "epochs": best.result_.best,
        "parameters": parameters,
        "features": len(lists.names),
        "seconds": time.perf_counter() - began,
    }


def baselines(folds: Sequence[Lists]) -> Facts:
    """Return the figures of the one-best candidates and of the oracle, over all held-out parts."""
    picks: dict[str, Callable[[CandidateGroups], Any]] = {
        "one best": lambda ranked: ranked.one_best,
        "oracle": lambda ranked: ranked.groups.oracle,
    }
    return {
        name: {
            part: share_of(np.sum([sums(ranked, pick(ranked)) for ranked in parts], axis=0))
            for part, parts in (("test", [fold.test for fold in folds]), ("dev", [fold.dev for fold in folds]))
        }
        for name, pick in picks.items()
    }


def sums(ranked: CandidateGroups, choice: Any) -> list[int]:
    """Add up the counts of chosen candidates."""
    totals: list[int] = ranked.counts[choice].sum(axis=0).tolist()
    return totals


def spectra(lists: Lists, *, mappings: Iterable[FeatureMapping], seed: int) -> Facts:
    """Return the largest singular values of a perceptron's weights as a matrix, of unit norm, by mapping."""
    v = whole(RankingPerceptron(max_iter=1, averaged=False, seed=seed).fit(lists.train.groups)).weights_
    sizes = mode_sizes(len(v), 2)
    values: Facts = {}
    for mapping in mappings:
        s = mapped_spectrum(v, places(mapping, len(v), sizes, v=v, seed=seed), sizes)
        values[mapping] = (s[:SPECTRUM] / np.sqrt((s**2).sum())).tolist()
    return values


def figure(name: str, folds: Sequence[CandidateGroups], choices: Sequence[Sequence[Sequence[int]]]) -> Figure:
    """Return the figure of choices, several for each list if they come of several runs: F, or attachment.

    ``folds``: The lists that are judged with. ``choices``: The candidate of each list, from 0, by fold and run.
    """
    rows = []
    for ranked, runs in zip(folds, choices, strict=True):
        counts = sum(ranked.counts[ranked.groups.starts[:-1] + choice].astype(float) for choice in runs)
        rows.append(np.stack(fraction(counts), axis=1))
    every = np.concatenate(rows)
    return Figure(name, every, used=len(every), total=len(every))


def fraction(counts: Any) -> tuple[Any, Any]:
    """Take numerator and denominator of F, or of the share of right heads, from counts; (..., 5) or (..., 2).

    Examples
    --------
    >>> [int(part) for counts in ([3, 4, 5, 9, 10], [7, 9]) for part in fraction(counts)]
    [6, 9, 7, 9]
    """
    c = np.asarray(counts)
    return (2 * c[..., 0], c[..., 1] + c[..., 2]) if c.shape[-1] > 2 else (c[..., 0], c[..., 1])


def share_of(counts: Any) -> float:
    """Return F, or the share of right heads, of summed counts."""
    top, bottom = fraction(counts)
    return float(top / bottom)


def over_folds(rows: Sequence[Facts]) -> list[float]:
    """Return the figure of each seed, over all folds together."""
    return [
        share_of(np.sum([row["test"] for row in rows if row["seed"] == seed], axis=0))
        for seed in sorted({row["seed"] for row in rows})
    ]
