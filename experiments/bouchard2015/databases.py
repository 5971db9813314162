"""Last.fm and CiteULike: prediction of a table with and without related tables."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.completion.coupled.bayesian import BayesianFactorization
from polyadic.completion.coupled.collective import CollectiveFactorization
from polyadic.completion.coupled.database import Database, Relation
from polyadic.core.entries import Entries
from polyadic.metrics.recommendation import recommendation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from experiments.data.ratings import CiteULike, LastFM
    from polyadic.core.stage_cache import Facts

SWEEPS, NAMED = 15, 20
"""Of point estimates with weighted zeros; and columns named for each row, of which recall and NDCG are."""
ZERO_WEIGHTS, RIDGES, WEIGHTS = (0.01, 0.05), (1.0, 3.0), (0.03, 0.1, 0.3)
"""Grid of settings: weight of zeros, penalties, and weight of the related tables."""


def listens(data: LastFM, *, rank: int, seed: int) -> list[Facts]:
    """Return the logarithms of counts of listens, a fifth held out, from the others and from friends and tags.

    Draws, so that nothing is chosen; friends and tags are truth values, one unobserved cell drawn for each listed.
    """
    plays = Entries(_numbers(data.listens), np.log(np.asarray(data.listens.values, float)), data.listens.shape)
    train, test = parted(replace(plays, unobserved="missing"), 0.2, np.random.default_rng(seed))
    tables = lastfm_tables(data)
    rows = []
    for name, beside in (("listens alone", ()), ("friends", ("friends",)), ("tags", ("tags",)), ("both", (*tables,))):
        start = time.perf_counter()
        chosen = {key: tables[key] for key in beside}
        model = BayesianFactorization(rank, seed=seed).fit({"listens": Relation(train, ("user", "artist")), **chosen})
        errors = (model.predict("listens", _numbers(test)) - test.values) ** 2
        seconds = time.perf_counter() - start
        rows.append({"name": name, "rmse": float(np.sqrt(errors.mean())), "seconds": seconds})
    return rows


def lastfm_tables(data: LastFM, *, weight: float = 1.0) -> dict[str, Relation]:
    """Return the tables of friends and of tags of artists."""
    tagged = np.unique(_numbers(data.assignments)[:, 1:], axis=0)
    shape = data.assignments.shape[1:]
    return {
        "friends": _positive(_numbers(data.friends), data.friends.shape, ("user", "user"), weight),
        "tags": _positive(tagged, shape, ("artist", "tag"), weight),
    }


def recommended(known: Entries, tables: Mapping[str, Mapping[float, Relation]], *, rank: int, seed: int) -> list[Facts]:
    """Recommend columns for each row, with and without related tables; settings are selected in the training part.

    ``known``: Positive cells of rows and columns, whatever their values; a fifth is held out. ``tables``: Named choices
    of tables beside, each by the weights that may be chosen.
    """
    rng = np.random.default_rng(seed)
    ones = Entries(_numbers(known), np.ones(len(known)), known.shape)
    train, test = parted(ones, 0.2, rng)
    fewer, held = parted(train, 0.1, rng)
    rows: list[Facts] = []
    base: tuple[float, float] | None = None
    for name, beside in {"alone": {0.0: None}, **tables}.items():
        start = time.perf_counter()
        settings = product(ZERO_WEIGHTS, RIDGES, beside) if base is None else ((*base, weight) for weight in beside)
        tried = [
            (_named(fewer, held, setting, beside[setting[2]], rank, seed)[1].mean(), setting) for setting in settings
        ]
        best = max(tried)[1]
        base = best[:2] if base is None else base
        recall, ndcg = _named(train, test, best, beside[best[2]], rank, seed)
        chosen = {"zero_weight": best[0], "ridge": best[1], "weight": best[2]}
        seconds = time.perf_counter() - start
        rows.append({"name": name, "recall": recall.tolist(), "ndcg": ndcg.tolist(), "seconds": seconds, **chosen})
    return rows


def lastfm_choices(data: LastFM) -> dict[str, dict[float, Any]]:
    """Return tags, and tags with friends, by weight; for :func:`recommended`."""
    tagged = np.unique(_numbers(data.assignments)[:, 1:], axis=0)
    friends = {w: _positive(_numbers(data.friends), data.friends.shape, ("row", "row"), w) for w in WEIGHTS}
    tags = {w: _weighed(tagged, data.assignments.shape[1:], ("column", "tag"), w) for w in WEIGHTS}
    return {
        "with tags": {w: {"tags": tags[w]} for w in WEIGHTS},
        "with tags and friends": {w: {"tags": tags[w], "friends": friends[w]} for w in WEIGHTS},
    }


def citeulike_choices(data: CiteULike) -> dict[str, dict[float, Any]]:
    """Return tags, and tags with citations, by weight; for :func:`recommended`."""
    cited = {
        w: _positive(_numbers(data.citations), data.citations.shape, ("column", "column"), w / 10) for w in WEIGHTS
    }
    tags = {w: _weighed(_numbers(data.tagged), data.tagged.shape, ("column", "tag"), w) for w in WEIGHTS}
    return {
        "with tags": {w: {"tags": tags[w]} for w in WEIGHTS},
        "with tags and citations": {w: {"tags": tags[w], "citations": cited[w]} for w in WEIGHTS},
    }


def _named(
    train: Entries, test: Entries, setting: tuple[float, float, float], beside: Any, rank: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Fit, recommend columns for each row, and compare them with the held-out ones."""
    z, ridge, _ = setting
    main = Relation(train, ("row", "column"), unobserved="zero", zero_weight=z)
    model = CollectiveFactorization(rank, ridge=ridge, max_iter=SWEEPS, tol=0, seed=seed)
    model.fit(Database({"main": main, **(beside or {})}))
    U, V = model.factors_["row"], model.factors_["column"]
    known = _numbers(train)
    known = known[np.argsort(known[:, 0], kind="stable")]
    starts = np.searchsorted(known[:, 0], np.arange(len(U) + 1))
    best = np.empty((len(U), NAMED), np.int64)
    for row in range(len(U)):
        scores = V @ U[row]
        scores[known[starts[row] : starts[row + 1], 1]] = -np.inf
        first = np.argpartition(-scores, NAMED)[:NAMED]
        best[row] = first[np.argsort(-scores[first], kind="stable")]
    i, j = _numbers(test).T
    measures = recommendation(best, i, j)
    some = ~np.isnan(measures.recall)
    return measures.recall[some], measures.ndcg[some]


def parted(entries: Entries, share: float, rng: np.random.Generator) -> tuple[Entries, Entries]:
    """Divide entries at random."""
    out = rng.random(len(entries)) < share
    parts = [
        Entries(_numbers(entries)[k], entries.values[k], entries.shape, unobserved=entries.unobserved)
        for k in (~out, out)
    ]
    return parts[0], parts[1]


def _numbers(entries: Entries) -> NDArray[np.int64]:
    return np.asarray(entries.indices, np.int64)


def _positive(cells: NDArray[np.int64], shape: tuple[int, ...], entities: tuple[str, ...], weight: float) -> Relation:
    entries = Entries(cells, np.ones(len(cells)), shape)
    return Relation(entries, entities, loss="logistic", unobserved="zero", weight=weight)


def _weighed(cells: NDArray[np.int64], shape: tuple[int, ...], entities: tuple[str, ...], weight: float) -> Relation:
    entries = Entries(cells, np.ones(len(cells)), shape)
    return Relation(entries, entities, unobserved="zero", zero_weight=ZERO_WEIGHTS[0], weight=weight)
