"""Rerankers side by side on the same lists, with settings and epochs chosen on lists held out."""

from __future__ import annotations

import time
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.linalg import svdvals
from sklearn.base import clone

from polyadic.core.stage_cache import whole
from polyadic.metrics.figures import Figure
from polyadic.ranking.linear_rerankers import MIRA, RankingPerceptron
from polyadic.ranking.reranking import candidate_scores, choose
from polyadic.ranking.tensor_mira import TensorMIRA, mapped, mode_sizes, places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from experiments.cao2014.groups import CandidateGroups
    from experiments.cao2014.lists import Lists
    from polyadic.core.stage_cache import Facts
    from polyadic.ranking.reranking import Reranker
    from polyadic.ranking.tensor_mira import FeatureMapping

STEPS = (0.001, 0.01, 0.1)
"""C of MIRA and T-MIRA, of which one is chosen."""
PRINTED: dict[str, Any] = {"surrogate": 1, "init": "equal", "updates": "fixed", "augmented": False, "averaged": False}
"""T-MIRA as printed: one epoch of the perceptron for the mapping, "uniform" entries of a tensor of norm one, vectors in
a fixed order, the prediction by scores alone, and the last weights. Problem (4) is solved exactly. The other arm has
the defaults of this library."""
CHOICES: dict[str, dict[str, Any]] = {
    **{f"{init} start": {"init": init} for init in ("uniform", "signs", "components")},
    "averaged": {"averaged": True},
    "augmented": {"augmented": True},
    "5 surrogate epochs": {"surrogate": 5},
    "random updates": {"updates": "random"},
    "plain cap": {"cap": "plain"},
}
"""Single changes of the printed settings."""
SPECTRUM = 40
"""Singular values that are kept."""

Arm = Literal["ours", "printed", "choices"]


class Method(NamedTuple):
    """A kind of reranker, its grid of settings, and what it is: arm, kind, and order, rank and mapping of T-MIRA.

    ``by_epoch``: Whether figures after each epoch are kept.
    """

    name: str
    models: Sequence[Reranker]
    about: dict[str, Any]
    by_epoch: bool = False


def methods(
    *,
    orders: Sequence[int],
    ranks: Sequence[int],
    mappings: Iterable[FeatureMapping],
    epochs: int,
    seed: int,
    arms: Sequence[Arm] = ("ours", "printed"),
) -> list[Method]:
    """Return perceptron, MIRA, and T-MIRA of each order, rank and mapping; ours and as printed, and single choices.

    The choices are changes of one setting of the guided T-MIRA with the first order and the second rank.
    """
    common: dict[str, Any] = {"max_iter": epochs, "seed": seed}
    rerankers: list[Method] = []
    wanted: list[tuple[Arm, dict[str, Any], str]] = [("ours", {}, ""), ("printed", PRINTED, " printed")]

    def tensor(name: str, arm: str, order: int, rank: int, mapping: FeatureMapping, **how: Any) -> None:
        models = [TensorMIRA(rank, order=order, mapping=mapping, C=C, **common, **how) for C in STEPS]
        about = {"arm": arm, "kind": "T-MIRA", "order": order, "rank": rank, "mapping": mapping}
        drawn = arm in get_args(Arm) and (order, rank, mapping) == (orders[0], ranks[:2][-1], "guided")
        rerankers.append(Method(name, models, about, drawn))

    for arm, how, end in (some for some in wanted if some[0] in arms):
        plain = {"averaged": how.get("averaged", True), **common}
        mira = [MIRA(C=C, augmented=how.get("augmented", True), **plain) for C in STEPS]
        for kind, models in (("perceptron", [RankingPerceptron(**plain)]), ("MIRA", mira)):
            rerankers.append(Method(f"{kind}{end}", models, {"arm": arm, "kind": kind}, by_epoch=True))
        for mapping, order, rank in product(mappings, orders, ranks):
            tensor(f"T-MIRA {order} {rank} {mapping}{end}", arm, order, rank, mapping, **how)
    if "choices" in arms:
        order, rank = orders[0], ranks[:2][-1]
        for name, change in CHOICES.items():
            tensor(f"printed, {name}", name, order, rank, "guided", **PRINTED | change)
        for name, value in PRINTED.items():
            tensor(f"ours, {name} {value}", f"{name} {value}", order, rank, "guided", **{name: value})
    return rerankers


def by_epoch(model: Reranker, lists: Lists) -> Facts:
    """Return counts on training and test lists after each epoch (figure 7 of the paper), and the last choices."""
    weights: list[Any] = []
    whole(clone(model).set_params(callback=lambda result: weights.append(result.factors[0])).fit(lists.train.groups))
    curves: Facts = {}
    for part, ranked in (("train", lists.train), ("test", lists.test)):
        chosen = [ranked.groups.choice(candidate_scores(ranked.groups, w)) for w in weights]
        curves[part] = [sums(ranked, choice) for choice in chosen]
        curves[f"{part}_choice"] = (chosen[-1] - ranked.groups.starts[:-1]).tolist()
    return curves


def measured(method: Method, lists: Lists) -> Facts:
    """Train on the training lists, select on the development lists, and rerank the test lists."""
    began = time.perf_counter()
    best = whole(choose(method.models, lists.train.groups, validation=lists.dev.groups).best)
    choice = best.rerank(lists.test.groups)
    parameters = sum(w.size for w in getattr(best, "factors_", [best.weights_]))
    seconds = time.perf_counter() - began
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
        "seconds": seconds,
        **({"by_epoch": by_epoch(best, lists)} if method.by_epoch else {}),
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
        s = svdvals(mapped(v, places(mapping, len(v), sizes, v=v, seed=seed), sizes).T)
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
