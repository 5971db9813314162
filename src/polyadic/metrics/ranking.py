r"""Link prediction: how early a model names the entity that completes a fact, and how well scores tell true from false.

A fact is a triple of subject, relation and object. Either end is hidden in turn and all entities are candidates for
it, except those that complete another known fact: these are filtered out, for a model does well to name them. With
:math:`\phi` the scores, :math:`e` the hidden entity and :math:`C` the other candidates that remain, its rank is

.. math:: 1 + |\{c \in C : \phi_c > \phi_e\}| + \tfrac{1}{2} |\{c \in C : \phi_c = \phi_e\}|,

the mean of what it is if all ties are lost and if all are won, so that a model of equal scores gains nothing by them.

References
----------
Bordes, Usunier, García-Durán, Weston, Yakhnenko (2013), Translating embeddings for modeling multi-relational data
(filtered ranks). Berrendorf, Faerman, Vermue, Tresp (2020), On the ambiguity of rank-based evaluation of entity
alignment or link prediction methods (ties). Davis, Goadrich (2006), The relationship between precision-recall and ROC
curves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.errors import InputError, check_int
from polyadic.core.progress import bar

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Scores = Callable[["NDArray[np.int64]", "NDArray[np.int64]"], "NDArray[Any]"]
"""From the known ends of facts and their relations, arrays of shape (b,), to scores of shape (b, entities)."""

MEMORY = 16 << 20
"""Budget in bytes. With DistMult of rank 50, blocks of 1, 4, 16, 64 and 256 MiB took for the test part of FB15k-237
1.8, 1.0, 1.0, 1.2 and 1.5 s on one core."""
CELL = 10
"""Bytes for each candidate: a score in double precision, and comparisons with it."""


class Ranking(NamedTuple):
    """Filtered ranks of the true ends of facts, from 1; halves where ties leave them open.

    Attributes
    ----------
    objects, subjects : ndarray of shape (test triples,)
        Of the end that was hidden; empty if it was not asked for.
    relations : ndarray of shape (test triples,)
        Of the relation, if it was; the means below are of both ends alone.
    """

    objects: NDArray[np.float64]
    subjects: NDArray[np.float64]
    relations: NDArray[np.float64]

    @property
    def ranks(self) -> NDArray[np.float64]:
        """Ranks of objects, then those of subjects."""
        return np.concatenate([self.objects, self.subjects])

    @property
    def mean_reciprocal_rank(self) -> float:
        """Mean of 1 / rank; NaN if there are none."""
        return float((1 / self.ranks).mean()) if len(self.ranks) else np.nan

    def hits_at(self, k: int) -> float:
        """Give the share of ranks of at most ``k``; NaN if there are none.

        Raises
        ------
        InputError
            If ``k`` is no whole number of at least 1.
        """
        check_int("k", k, low=1)
        return float((self.ranks <= k).mean()) if len(self.ranks) else np.nan


class PrecisionRecall(NamedTuple):
    r"""Area under the curve of precision over recall, in two ways.

    Attributes
    ----------
    average_precision : float
        :math:`\sum_n (R_n - R_{n-1}) P_n`, over thresholds: a staircase.
    trapezoid : float
        The same points, from precision 1 at recall 0, joined by straight lines. It flatters a model whose scores
        take few values, for precision is not linear in recall; it is what many papers give.
    """

    average_precision: float
    trapezoid: float


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
    """Rank the true object, the true subject, or both, of facts among all entities that complete no other known fact.

    Parameters
    ----------
    test : array of int, of shape (n, 3)
        Subject, relation and object of facts to predict.
    known : array of int, of shape (m, 3)
        All that is known to be true, of every part; it may hold facts twice, and need not hold those of ``test``.
    entities : int
        How many there are.
    objects : callable, optional
        From subjects and relations, of shape (b,) each, to scores of all objects, of shape (b, entities); greater is
        truer.
    subjects : callable, optional
        From objects and relations to scores of all subjects.
    relations : (int, callable), optional
        How many there are, and from subjects and objects to scores of all relations.
    memory : int
        Budget in bytes for a block of scores and their comparison; a block has one fact at least. What the functions
        of scores need besides, and a copy of what is known, come on top.

    Raises
    ------
    InputError
        If there is nothing to rank by, triples are malformed, or scores are NaN or of a wrong shape.

    Examples
    --------
    >>> def liking(subjects, relations):
    ...     return np.tile([0.9, 0.5, 0.7, 0.5], (len(subjects), 1))
    >>> found = ranking([[0, 0, 1]], [[0, 0, 0], [0, 0, 1]], entities=4, objects=liking)
    >>> found.objects.tolist(), found.hits_at(1), found.hits_at(3)
    ([2.5], 0.0, 1.0)
    """
    if objects is None and subjects is None and relations is None:
        raise InputError("nothing to rank by; give scores of objects, of subjects, of relations, or of several")
    check_int("entities", entities, low=1)
    check_int("memory", memory, low=1)
    facts, true = _checked("test", test, entities), _checked("known", known, entities)
    kinds, named = relations or (1, None)
    if (
        relations
        and len(every := np.concatenate([facts, true]))
        and every[:, 1].max() >= check_int("relations", kinds, low=1)
    ):
        raise InputError(f"relations must be numbered from 0 to {kinds - 1}; got {every[:, 1].max()}")
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
    """Measure how well scores tell true from false; equal scores share a threshold.

    Parameters
    ----------
    truth : array of bool, of shape (n,)
        Some are true.
    scores : array of float, of shape (n,)
        Greater is truer.

    Raises
    ------
    InputError
        If shapes differ, nothing is true, or a score is not finite.

    Examples
    --------
    >>> found = precision_recall([True, False, True, False], [0.9, 0.8, 0.7, 0.1])
    >>> round(found.average_precision, 4), round(found.trapezoid, 4)
    (0.8333, 0.7917)
    """
    from sklearn.metrics import auc, average_precision_score, precision_recall_curve

    y, s = np.asarray(truth), np.asarray(scores, dtype=float)
    if y.ndim != 1 or y.shape != s.shape:
        raise InputError(f"give one score for each truth; got shapes {y.shape} and {s.shape}")
    if not np.isin(y, (0, 1)).all() or not y.any():
        raise InputError("truth must be True or False, and True somewhere")
    if not np.isfinite(s).all():
        raise InputError("scores must be finite numbers")
    y = y.astype(bool)
    precision, recall, _ = precision_recall_curve(y, s)
    return PrecisionRecall(float(average_precision_score(y, s)), float(auc(recall, precision)))


def _ranks(
    scores: Scores, facts: NDArray[np.int64], known: NDArray[np.int64], *, sizes: tuple[int, int], memory: int
) -> NDArray[np.float64]:
    """Rank the last column of facts, given the first two; sizes are of what the first and the last number."""
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


def _block(
    scored: NDArray[Any], hidden: NDArray[np.int64], query: NDArray[np.int64], keys: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Count the candidates above and level with the true one, then take the known ones among them off."""
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


def _scored(scores: Scores, facts: NDArray[np.int64], candidates: int) -> NDArray[Any]:
    values = np.asarray(scores(facts[:, 0], facts[:, 1]))
    if values.shape != (len(facts), candidates) or values.dtype.kind not in "fiu":
        raise InputError(
            f"scores must be numbers of shape {(len(facts), candidates)}; got {values.dtype} of shape {values.shape}"
        )
    if values.dtype.kind == "f" and np.isnan(values.max(axis=1)).any():
        raise InputError("scores must not be NaN; the model has probably diverged")
    return values


def _checked(name: str, triples: ArrayLike, entities: int) -> NDArray[np.int64]:
    array = np.asarray(triples)
    if array.size == 0:
        return np.zeros((0, 3), np.int64)
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "iu":
        raise InputError(f"{name} must be whole numbers of shape (n, 3); got {array.dtype} of shape {array.shape}")
    array = array.astype(np.int64)
    if array.min() < 0 or array[:, [0, 2]].max() >= entities:
        raise InputError(f"{name} must hold relations of at least 0 and entities from 0 to {entities - 1:,}")
    if (int(array[:, 1].max()) + 1) * entities**2 > np.iinfo(np.int64).max:
        raise InputError(f"{name} spans more cells than can be numbered; number relations and entities from 0")
    return array
