"""Squared and logistic loss on binary matrices: held-out cells, at one rank and with the same sampled zeros."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments import data
from experiments.data.universal_schema import freebase_pairs
from polyadic.completion.coupled.collective import CollectiveFactorization
from polyadic.completion.coupled.database import Relation
from polyadic.core.entries import Entries
from polyadic.metrics.figures import Difference, Figure, difference, ratio
from polyadic.metrics.labels import micro_precision

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from polyadic.core.stage_cache import Facts

    Array = NDArray[Any]

RIDGES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
RANKS = (2, 10)
SEEDS = (0, 1, 2)
NEGATIVES = 3
"""Sampled zeros for each one, where zeros are not observed; the same for both losses."""
MIN_LISTENERS, MIN_PREDICATES = 5, 8
"""Ones of a column of Last.fm and of a row of FB15k-237, at least."""
MAX_ONES, MAX_MEASURED, RESAMPLES = 30_000, 10_000, 200
"""Ones of the rows that are drawn of a matrix with sampled zeros, and test cells that are measured, at most; and
bootstrap samples."""
TINY, TOL = 1e-12, 1e-3


class Binary(NamedTuple):
    """Places of the ones of a matrix, and those of observed zeros, or None if zeros are sampled."""

    ones: Array
    zeros: Array | None
    shape: tuple[int, int]


def schema(root: Path | None) -> Binary:
    """Return pairs of entities with at least eight predicates by relations and chains of relations, FB15k-237."""
    known = freebase_pairs(root=root).cells
    known = known[np.diff(known.indptr) >= MIN_PREDICATES].tocoo()
    return Binary(np.stack(known.coords).T.astype(np.int64), None, known.shape)


def documents(root: Path | None) -> Binary:
    """Return messages by words and labels, Enron."""
    parts = data.multilabel("enron", root=root)
    table = np.vstack([np.hstack([part.features.toarray() > 0, part.labels > 0]) for part in parts])
    return Binary(np.argwhere(table), None, (len(table), table.shape[1]))


def listens(root: Path | None) -> Binary:
    """Return listeners by artists with at least five of them, Last.fm."""
    heard = data.lastfm(root=root).listens
    often = np.bincount(heard.indices[:, 1], minlength=heard.shape[1]) >= MIN_LISTENERS
    kept = np.asarray(heard.indices, np.int64)[often[heard.indices[:, 1]]]
    kept[:, 1] = (np.cumsum(often) - 1)[kept[:, 1]]
    return Binary(kept, None, (heard.shape[0], int(often.sum())))


def likes(root: Path | None) -> Binary:
    """Return users by films, ones for four or five stars and observed zeros for fewer, MovieLens 100K."""
    ratings = data.movielens(root=root).ratings
    cells, liked = np.asarray(ratings.indices, np.int64), ratings.values >= 4
    return Binary(cells[liked], cells[~liked], (ratings.shape[0], ratings.shape[1]))


SETS: dict[str, Callable[[Path | None], Binary]] = {
    "FB15k-237, pairs x relations": schema,
    "Enron, messages x words and labels": documents,
    "Last.fm, listeners x artists": listens,
    "MovieLens 100K, four stars or more": likes,
}


def compare(table: Binary, *, rank: int, seed: int) -> list[Facts]:
    """Compare the losses on a fifth of the cells; the ridge of each is selected on a tenth of the others.

    Scores of both losses become probabilities by logistic regression on that tenth. ``wrong`` is the share of training
    cells that are predicted on the wrong side of 1/2.
    """
    rng = np.random.default_rng(seed)
    table = table if table.zeros is not None else some_rows(table, rng)
    zeros = absent(table, rng) if table.zeros is None else table.zeros
    cells, truth = np.vstack([table.ones, zeros]), np.repeat([1.0, 0.0], [len(table.ones), len(zeros)])
    order = rng.permutation(len(cells))
    test, held, train = np.split(order, [len(order) // 5, len(order) // 5 + len(order) * 8 // 100])
    test = test[:MAX_MEASURED]
    rows: list[Facts] = []
    figures = []
    for loss in ("squared", "logistic"):
        start = time.process_time()
        tried = []
        for ridge in RIDGES:
            X = Entries(cells[train], truth[train], table.shape, unobserved="missing")
            model = CollectiveFactorization(rank, ridge=ridge, tol=TOL, seed=seed, threads=1)
            model.fit({"cells": Relation(X, ("row", "column"), loss=loss)})
            scores = [model.predict_numbered("cells", cells[part]) for part in (held, test)]
            if loss == "logistic":
                scores = [np.log(p + TINY) - np.log1p(TINY - p) for p in scores]
            wrong = float(np.mean((model.predict_numbered("cells", cells[train]) > 0.5) != truth[train]))
            tried.append((measures(truth[held], scores[0], scores)["average precision"].value, ridge, wrong, scores))
        _, ridge, wrong, scores = max(tried, key=lambda one: one[0])
        figures.append(measures(truth[test], scores[1], scores, truth[held]))
        values = {key: figure.value for key, figure in figures[-1].items()}
        rows.append({"loss": loss, "ridge": ridge, "wrong": wrong, "seconds": time.process_time() - start, **values})
    for key, figure in figures[1].items():
        rows[1][f"difference in {key}"] = difference(figure, figures[0][key], resamples=RESAMPLES)._asdict()
    return rows


def measures(truth: Array, scores: Array, both: list[Array], known: Array | None = None) -> dict[str, Figure]:
    """Return average precision, and with the ``known`` labels of the first scores in ``both`` also AUC and log loss."""
    from sklearn.linear_model import LogisticRegression

    how = {"used": len(truth), "total": len(truth)}
    ranked = np.column_stack([scores, truth]).astype(float)
    found = {"average precision": Figure("average precision", ranked, statistic=micro_precision, **how)}
    if known is None:
        return found
    scale = LogisticRegression(C=1e6).fit(both[0][:, None], known)
    p = np.clip(scale.predict_proba(both[1][:, None])[:, 1], TINY, 1 - TINY)
    losses = -np.log(np.where(truth > 0, p, 1 - p))
    return found | {
        "AUC": Figure("AUC", ranked, statistic=auc, **how),
        "log loss": Figure("log loss", np.column_stack([losses, np.ones(len(p))]), statistic=ratio, **how),
    }


def auc(rows: Array, times: Array) -> Array:
    """Return the area under the ROC curve in each bootstrap sample.

    >>> auc(np.array([[3.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 1.0]]), np.ones((1, 4), int)).tolist()
    [0.875]
    """
    order = np.argsort(rows[:, 0], kind="stable")
    scores, truth = rows[order].T
    first = np.flatnonzero(np.diff(scores, prepend=-np.inf))
    found = np.empty(len(times))
    for sample, taken in enumerate(times):
        counts = taken[order]
        ones, zeros = (np.add.reduceat(counts * side, first) for side in (truth, 1 - truth))
        found[sample] = ones @ (np.cumsum(zeros) - zeros / 2) / (ones.sum() * zeros.sum())
    return found


def some_rows(table: Binary, rng: np.random.Generator) -> Binary:
    """Draw rows until they have :data:`MAX_ONES` ones."""
    counts = np.bincount(table.ones[:, 0], minlength=table.shape[0])
    order = rng.permutation(len(counts))
    kept = np.sort(order[np.cumsum(counts[order]) <= MAX_ONES])
    ones = table.ones[np.isin(table.ones[:, 0], kept)]
    return Binary(np.column_stack([np.searchsorted(kept, ones[:, 0]), ones[:, 1]]), None, (len(kept), table.shape[1]))


def absent(table: Binary, rng: np.random.Generator) -> Array:
    """Draw places that are not ones, :data:`NEGATIVES` for each, none twice and at most all."""
    columns = table.shape[1]
    ones = np.unique(table.ones @ [columns, 1])
    wanted = min(NEGATIVES * len(ones), table.shape[0] * columns - len(ones))
    drawn = np.zeros(0, np.int64)
    while len(drawn) < wanted:
        more = rng.integers(table.shape[0] * columns, size=2 * wanted)
        more = more[~np.isin(more, ones)]
        drawn = np.unique(np.concatenate([drawn, more]))
    return np.stack(np.divmod(rng.permutation(drawn)[:wanted], columns), axis=1)


def mean_difference(differences: list[Difference]) -> Facts:
    """Average the differences of several seeds; the interval is that of the mean of independent differences."""
    middle = [d["value"] for d in differences]  # type: ignore[call-overload] # as stored
    half = [(d["high"] - d["low"]) / 2 for d in differences]  # type: ignore[call-overload]
    value, radius = float(np.mean(middle)), float(np.sqrt(np.sum(np.square(half)))) / len(half)
    return {"value": value, "low": value - radius, "high": value + radius}
