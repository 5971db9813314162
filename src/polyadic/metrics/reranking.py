r"""Cost of reranking candidate lists compared with the first candidate and an oracle, NDCG and average precision.

With grades :math:`g_i` of a list in the order of the scores, at ranks :math:`i` from 1,

.. math:: \text{NDCG@}k = \sum_{i \le k} \frac{g_i}{\log_2(i + 1)} \Big/ \max \sum_{i \le k} \frac{g_i}{\log_2(i + 1)},
          \qquad \text{AP} = \frac{1}{|R|} \sum_{i \in R} \frac{|\{j \in R : j \le i\}|}{i}

where the maximum is over all orders, and R are the relevant candidates. Candidates with equal scores share the mean
gain, or the rank of the last. Both are those of scikit-learn.

References
----------
Järvelin, Kekäläinen (2002), Cumulated gain-based evaluation of IR techniques. McSherry, Najork (2008), Computing
information retrieval performance measures efficiently in the presence of tied scores.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.annotations import Array, ArrayLike
from polyadic.core.errors import InputError, check_int
from polyadic.metrics.figures import Figure

if TYPE_CHECKING:
    from polyadic.core.query_groups import QueryGroups


class Reranked(NamedTuple):
    """Mean costs of the candidates selected by reranking, and of the first, the cheapest and a random candidate."""

    lists: int
    candidates: int
    """Number of lists, and of all candidates."""
    first: float
    oracle: float
    random: float
    """Mean cost of the first candidate, of the cheapest one, and of a random one."""
    reranked: float
    """Mean cost of the candidate with the highest score, the first one on ties."""
    tied: int
    """Number of lists in which several candidates share the highest score."""
    worst: float
    """Mean cost if ties are broken in favour of the most expensive candidate."""
    moved: int
    """Number of lists whose selected candidate is not the first."""
    ndcg: Figure
    map: Figure
    """NDCG@k and mean average precision, with one unit for each list used, for bootstrap confidence intervals."""

    @property
    def gained(self) -> float:
        """Share of the cost gap between the first candidate and the oracle that reranking closes; NaN without a gap."""
        room = self.first - self.oracle
        return (self.first - self.reranked) / room if room > 0 else float("nan")


def reranking(scored: Iterable[tuple[QueryGroups, ArrayLike]], *, k: int = 10) -> Reranked:
    """Compute the mean cost of selecting the highest-scoring candidate in each list, NDCG@k and MAP.

    Grades are those of the lists (SVMrank), or the highest cost of the list minus the cost. With grades, a candidate
    above 0 is relevant; with costs, one of the lowest cost. Lists with a negative grade count from their lowest grade.
    NDCG and MAP do not use lists without a grade above 0, such as those whose costs are all equal. InputError is raised
    if there are no lists, or the scores do not match them.
    ``scored`` are blocks of lists, each with a score for every candidate.

    Examples
    --------
    >>> from polyadic.core.query_groups import QueryGroups
    >>> lists = QueryGroups.of([[0.0]] * 4, costs=[3, 1, 2, 0], group=[0, 0, 1, 1])
    >>> found = reranking([(lists, [0, 1, 5, 5])])
    >>> found.first, found.oracle, found.reranked, found.worst, found.tied, found.moved
    (2.5, 0.5, 1.5, 1.5, 1, 1)
    >>> found.ndcg.value, found.map.value
    (0.9077324383928644, 0.75)
    """
    check_int("k", k, low=1)
    sums, counts, qualities = np.zeros(5), np.zeros(4, np.int64), []
    for groups, given in scored:
        s = np.asarray(given, float)
        choice, at, costs = groups.choice(s), groups.starts[:-1], groups.costs
        level = s == np.repeat(s[choice], np.diff(groups.starts))
        dearest = np.maximum.reduceat(np.where(level, costs, -np.inf), at)
        chance = np.add.reduceat(costs, at) / np.diff(groups.starts)
        sums += [x.sum() for x in (costs[at], costs[groups.oracle], chance, costs[choice], dearest)]
        several = np.add.reduceat(level, at, dtype=np.int64) > 1
        counts += [len(groups), len(costs), int(several.sum()), int((choice != at).sum())]
        qualities.append(_quality(groups, s, k))
    if not counts[0]:
        raise InputError("there are no lists of candidates to rerank")
    first, oracle, chance, reranked, worst = (sums / counts[0]).tolist()
    lists, candidates, tied, moved = counts.tolist()
    values = np.concatenate(qualities)
    figures = [
        Figure(name, np.column_stack([column, np.ones(len(values))]), used=len(values), total=lists)
        for name, column in zip((f"NDCG@{k}", "MAP"), values.T, strict=True)
    ]
    return Reranked(lists, candidates, first, oracle, chance, reranked, tied, worst, moved, *figures)


def _quality(groups: QueryGroups, scores: Array, k: int) -> Array:
    """Return NDCG and average precision of each list that has relevant candidates, shape (used lists, 2)."""
    at, sizes = groups.starts[:-1], np.diff(groups.starts)
    of = np.repeat(np.arange(len(groups)), sizes)
    costs = groups.costs
    gains = np.maximum.reduceat(costs, at)[of] - costs if groups.grades is None else groups.grades
    gains = gains - np.minimum(np.minimum.reduceat(gains, at), 0)[of]
    relevant = (gains > 0) & ((groups.grades is not None) | (costs == np.minimum.reduceat(costs, at)[of]))
    rank = np.arange(len(costs)) - at[of]
    discounts = np.where(rank < k, 1 / np.log2(rank + 2), 0)
    order = np.lexsort((-scores, of))
    first = np.flatnonzero((np.diff(of, prepend=-1) > 0) | (np.diff(scores[order], prepend=np.nan) != 0))
    level = np.repeat(np.arange(len(first)), np.diff(first, append=len(costs)))  # candidates of equal score
    shared = (np.add.reduceat(discounts, first) / np.diff(first, append=len(costs)))[level]
    last = np.append(first[1:], len(costs))[level] - 1
    hits = np.cumsum(relevant[order])
    before = (hits[at] - relevant[order][at])[of]
    found = np.where(relevant[order], (hits[last] - before) / (rank[last] + 1), 0)
    best = np.add.reduceat(gains[np.lexsort((-gains, of))] * discounts, at)
    used, number = best > 0, np.add.reduceat(relevant, at, dtype=np.int64)
    gained = np.add.reduceat(gains[order] * shared, at)
    return np.column_stack([gained[used] / best[used], np.add.reduceat(found, at)[used] / number[used]])
