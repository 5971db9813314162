r"""Link prediction metrics: filtered ranks of the true entities, and precision and recall of scores.

A fact is a triple of subject, relation and object. Subject and object are hidden in turn, and all entities are
candidates, except those that complete another known fact, which are filtered out. With :math:`\phi` the scores,
:math:`e` the hidden entity and :math:`C` the other remaining candidates, its rank is

.. math:: 1 + |\{c \in C : \phi_c > \phi_e\}| + \tfrac{1}{2} |\{c \in C : \phi_c = \phi_e\}|,

the mean of the optimistic and the pessimistic rank, so that a constant score does not benefit from ties.

References
----------
Bordes, Usunier, García-Durán, Weston, Yakhnenko (2013), Translating embeddings for modeling multi-relational data
(filtered ranks). Berrendorf, Faerman, Vermue, Tresp (2020), On the ambiguity of rank-based evaluation of entity
alignment or link prediction methods (ties). Davis, Goadrich (2006), The relationship between precision-recall and ROC
curves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from polyadic.core.annotations import AnyArray, Array, ArrayLike, Ints
from polyadic.core.errors import InputError, check_int
from polyadic.core.progress import bar

Scores = Callable[[Ints, Ints], AnyArray]
"""Function from known entities and relations of facts, of shape (b,), to scores of shape (b, entities)."""

MEMORY = 16 << 20
"""Default memory budget in bytes. With DistMult of rank 50, the test part of FB15k-237 took 1.8, 1.0, 1.0, 1.2 and 1.5
s on one core with blocks of 1, 4, 16, 64 and 256 MiB.
"""
CELL = 10  # bytes per candidate: a double-precision score, and comparisons with it


class Ranking(NamedTuple):
    """Filtered ranks of the true entities and relations of test facts, starting at 1; ties may give half-integers."""

    objects: Array
    subjects: Array
    """Ranks of the hidden objects and subjects; empty if not requested; shape (test triples,)."""
    relations: Array
    """Ranks of the relations, if requested; not included in the means below; shape (test triples,)."""

    @property
    def ranks(self) -> Array:
        """Ranks of objects, followed by ranks of subjects."""
        return np.concatenate([self.objects, self.subjects])

    @property
    def mean_reciprocal_rank(self) -> float:
        """Mean reciprocal rank (MRR) of objects and subjects; NaN if there are no ranks."""
        return float((1 / self.ranks).mean()) if len(self.ranks) else np.nan

    def hits_at(self, k: int) -> float:
        """Return the share of ranks that are at most ``k``, or NaN if there are no ranks."""
        check_int("k", k, low=1)
        return float((self.ranks <= k).mean()) if len(self.ranks) else np.nan


class PrecisionRecall(NamedTuple):
    r"""Area under the precision-recall curve, computed in two ways."""

    average_precision: float
    r"""Step function over thresholds, :math:`\sum_n (R_n - R_{n-1}) P_n`."""
    trapezoid: float
    """Linear interpolation between the same points, starting at precision 1 and recall 0. It is too optimistic for
    models whose scores take few values, because precision is not linear in recall, but many papers report it."""


def ranking(
    test: ArrayLike,
    known: ArrayLike,
    *,
    entities: int,
    objects: Scores | None = None,
    subjects: Scores | None = None,
    relations: tuple[int, Scores] | None = None,
    memory: int = MEMORY,
) -> Ranking:
    """Rank the true object, subject or relation of test facts among all candidates that complete no other known fact.

    InputError is raised if no score function is given, triples are malformed, or scores are NaN or have the wrong
    shape.

    Parameters
    ----------
    test : array of int, of shape (n, 3)
        Subject, relation and object of the facts to predict.
    known : array of int, of shape (m, 3)
        All facts known to be true, of every part of the data; repetitions are allowed, and the facts of ``test`` may be
        missing.
    entities : int
        Number of entities.
    objects : callable, optional
        Function from subjects and relations, of shape (b,) each, to scores of all objects, of shape (b, entities),
        higher for more probable facts.
    subjects : callable, optional
        Function from objects and relations to scores of all subjects.
    relations : (int, callable), optional
        Number of relations, and a function from subjects and objects to scores of all relations.
    memory : int
        Memory budget in bytes for a block of scores and their comparison; a block has at least one fact. The memory of
        the score functions and a copy of ``known`` are not included.

    Examples
    --------
    >>> def liking(subjects, relations):
    ...     return np.tile([0.9, 0.5, 0.7, 0.5], (len(subjects), 1))
    >>> found = ranking([[0, 0, 1]], [[0, 0, 0], [0, 0, 1]], entities=4, objects=liking)
    >>> found.objects.tolist(), found.hits_at(1), found.hits_at(3)
    ([2.5], 0.0, 1.0)
    """
    if objects is None and subjects is None and relations is None:
        raise InputError("at least one score function is required; set objects, subjects or relations")
    check_int("entities", entities, low=1)
    check_int("memory", memory, low=1)
    facts, true = _checked("test", test, entities), _checked("known", known, entities)
    kinds, named = relations or (1, None)
    ids = np.concatenate([facts, true])[:, 1]
    if relations and len(ids) and ids.max() >= check_int("relations", kinds, low=1):
        raise InputError(f"relation ids must be from 0 to {kinds - 1}; got {ids.max()}", "relations")
    ranks = [
        np.zeros(0) if scores is None else _ranks(scores, facts[:, order], true[:, order], sizes=sizes, memory=memory)
        for scores, order, sizes in (
            (objects, [0, 1, 2], (entities, entities)),
            (subjects, [2, 1, 0], (entities, entities)),
            (named, [0, 2, 1], (entities, kinds)),
        )
    ]
    return Ranking(*ranks)


def precision_recall(truth: ArrayLike, scores: ArrayLike) -> PrecisionRecall:
    """Compute the area under the precision-recall curve; equal scores share a threshold.

    InputError is raised if shapes differ, nothing is true, or a score is not finite.

    ``truth`` says of each item whether it is true; ``scores`` are higher for more probable items.

    Examples
    --------
    >>> found = precision_recall([True, False, True, False], [0.9, 0.8, 0.7, 0.1])
    >>> round(found.average_precision, 4), round(found.trapezoid, 4)
    (0.8333, 0.7917)
    """
    from sklearn.metrics import auc, average_precision_score, precision_recall_curve

    y, s = np.asarray(truth), np.asarray(scores, dtype=float)
    if y.ndim != 1 or y.shape != s.shape:
        raise InputError(f"truth and scores must be vectors of equal length; got shapes {y.shape} and {s.shape}")
    if not np.isin(y, (0, 1)).all() or not y.any():
        raise InputError("truth must consist of True and False, with at least one True", "truth")
    if not np.isfinite(s).all():
        raise InputError("scores must be finite numbers", "scores")
    y = y.astype(bool)
    precision, recall, _ = precision_recall_curve(y, s)
    return PrecisionRecall(float(average_precision_score(y, s)), float(auc(recall, precision)))


def _ranks(scores: Scores, facts: Ints, known: Ints, *, sizes: tuple[int, int], memory: int) -> Array:
    """Return the filtered rank of the last element of each fact, given the first two elements."""
    firsts, candidates = sizes
    keys = np.unique((known[:, 1] * firsts + known[:, 0]) * candidates + known[:, 2])
    rows = max(memory // (CELL * candidates), 1)
    ranks = np.empty(len(facts))
    with bar("ranking", len(facts)) as advance:
        for start in range(0, len(facts), rows):
            block = facts[start : start + rows]
            query = (block[:, 1] * firsts + block[:, 0]) * candidates
            ranks[start : start + rows] = _block(_scored(scores, block, candidates), block[:, 2], query, keys)
            advance(len(block))
    return ranks


def _block(scored: AnyArray, hidden: Ints, query: Ints, keys: Ints) -> Array:
    """Return the filtered ranks of a block of facts, given the scores of all candidates."""
    size, candidates = scored.shape
    own = scored[np.arange(size), hidden]
    above = np.count_nonzero(scored > own[:, None], axis=1)
    level = np.count_nonzero(scored == own[:, None], axis=1) - 1
    first, last = np.searchsorted(keys, query), np.searchsorted(keys, query + candidates)
    count = last - first
    row = np.repeat(np.arange(size), count)
    place = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + first[row]
    other = keys[place] % candidates
    row, other = row[other != hidden[row]], other[other != hidden[row]]
    theirs = scored[row, other]
    above -= np.bincount(row[theirs > own[row]], minlength=size)
    level -= np.bincount(row[theirs == own[row]], minlength=size)
    return np.asarray(1 + above + level / 2, dtype=float)


def _scored(scores: Scores, facts: Ints, candidates: int) -> AnyArray:
    values = np.asarray(scores(facts[:, 0], facts[:, 1]))
    if values.shape != (len(facts), candidates) or values.dtype.kind not in "fiu":
        raise InputError(
            f"scores must be a numeric array of shape {(len(facts), candidates)}; got {values.dtype} of shape"
            f" {values.shape}",
            "scores",
        )
    if values.dtype.kind == "f" and np.isnan(values.max(axis=1)).any():
        raise InputError("scores must not be NaN; the model has probably diverged", "scores")
    return values


def _checked(name: str, triples: ArrayLike, entities: int) -> Ints:
    array = np.asarray(triples)
    if array.size == 0:
        return np.zeros((0, 3), np.int64)
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "iu":
        raise InputError(f"{name} must be an integer array of shape (n, 3); got {array.dtype} of shape {array.shape}")
    array = array.astype(np.int64)
    if array.min() < 0 or array[:, [0, 2]].max() >= entities:
        raise InputError(f"{name} must contain non-negative relation ids and entity ids from 0 to {entities - 1:,}")
    if (int(array[:, 1].max()) + 1) * entities**2 > np.iinfo(np.int64).max:
        raise InputError(f"{name} contains ids that are too large; use consecutive relation and entity ids from 0")
    return array
