"""RESCAL with and without types and attributes: ranks of held-out facts, and seconds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from experiments.data.knowledge import Knowledge, knowledge
from polyadic.core.entries import Entries
from polyadic.core.stage_cache import whole
from polyadic.metrics.ranking import precision_recall, ranking
from polyadic.relations.rescal import RESCAL
from polyadic.relations.typed_rescal import TypedRESCAL

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from polyadic.core.stage_cache import Facts

SETS = (("nations", 10, 3.0, 500), ("kinship", 50, 10.0, 500), ("umls", 50, 10.0, 500), ("FB15k-237", 50, 1.0, 20))
"""Names, ranks, penalties and sweeps at most; nothing was chosen by these figures."""


class Scores(NamedTuple):
    """Scores of held-out facts.

    ``reciprocal_rank``, ``hits``: Mean of 1 / rank and share of ranks up to 10, filtered, both ends. ``precision``:
    Average precision of held-out facts among all triples that are not known to be true otherwise, up to ``negatives``
    of them drawn at random. ``possible``: Share of held-out facts that the types allow. ``seconds``: Of the fit.
    """

    reciprocal_rank: float
    hits: float
    precision: float
    possible: float
    seconds: float
    sweeps: int


def facts(triples: NDArray[np.int64], entities: int, relations: int) -> Entries:
    """Return triples as entries of a tensor of zeros and ones."""
    unique = np.unique(triples, axis=0)
    return Entries(unique, np.ones(len(unique)), (entities, relations, entities))


def evaluate(
    data: Knowledge, model: RESCAL, *, fit: dict[str, Any] | None = None, negatives: int = 1_000_000
) -> Scores:
    """Fit to the training part, and score the facts of the test part.

    ``fit``: Given to the fit besides: ``types``, ``attributes``. ``negatives``: Triples, drawn at random, against which
    precision is measured; all where there are not many more.
    """
    n, K = len(data.entities), len(data.relations)
    start = time.perf_counter()
    whole(model.fit(facts(data.train, n, K), **(fit or {})))
    seconds = time.perf_counter() - start
    known = np.concatenate([data.train, data.validation, data.test])
    ranks = ranking(data.test, known, entities=n, objects=model.objects, subjects=model.subjects)
    false = _false(known, n, K, negatives)
    scores = model.predict(*np.concatenate([data.test, false]).T)
    lowest = scores[np.isfinite(scores)].min()
    truth = np.arange(len(scores)) < len(data.test)
    precision = precision_recall(truth, np.maximum(scores, lowest - 1)).average_precision
    possible = float(np.isfinite(scores[truth]).mean())
    return Scores(ranks.mean_reciprocal_rank, ranks.hits_at(10), precision, possible, seconds, model.n_iter_)


def roles(train: NDArray[np.int64], entities: int, relations: int) -> csr_array:
    """Describe entities by the relations in which they are subjects, and those in which they are objects.

    Of facts alone it tells nothing new, but as a table beside them it counts what a triple at a time does not.
    """
    rows = np.concatenate([train[:, 0], train[:, 2]])
    columns = np.concatenate([train[:, 1], relations + train[:, 1]])
    table = csr_array((np.ones(len(rows)), (rows, columns)), shape=(entities, 2 * relations))
    table.sum_duplicates()
    table.data[:] = 1.0
    return table


def compared(*, seed: int, root: Path | None = None) -> list[Facts]:
    """Fit with and without types, induced from the facts, and roles beside them; penalties and ranks as published."""
    rows: list[Facts] = []
    for name, rank, ridge, sweeps in SETS:
        data = knowledge(name, root=root)
        how: dict[str, Any] = {"ridge_A": ridge, "ridge_R": ridge, "seed": seed, "max_iter": sweeps}
        beside = {"attributes": roles(data.train, len(data.entities), len(data.relations))}
        untyped = {"types": np.zeros(len(data.entities), int)}
        models: dict[str, tuple[RESCAL, dict[str, Any]]] = {
            "plain": (RESCAL(rank, **how), {}),
            "types": (TypedRESCAL(rank, **how), {}),
            "roles beside": (TypedRESCAL(rank, ridge_V=ridge, **how), {**beside, **untyped}),
            "types, roles beside": (TypedRESCAL(rank, ridge_V=ridge, **how), beside),
        }
        for label, (model, fit) in models.items():
            rows.append({"set": name, "name": label, **evaluate(data, model, fit=fit)._asdict()})
    return rows


def _false(known: NDArray[np.int64], n: int, K: int, number: int) -> NDArray[np.int64]:
    """Return all triples that are not known to be true, or about that many of them."""
    codes = np.unique((known[:, 1] * n + known[:, 0]) * n + known[:, 2])
    cells = n * n * K
    few = cells <= 2 * number
    drawn = np.arange(cells) if few else np.unique(np.random.default_rng(0).integers(0, cells, number))
    at = np.minimum(np.searchsorted(codes, drawn), len(codes) - 1)
    drawn = drawn[codes[at] != drawn]
    return np.stack([drawn // n % n, drawn // (n * n), drawn % n], axis=1)
