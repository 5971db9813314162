"""Cost of reranking candidate lists, compared with always selecting the first candidate and with an oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike

    from polyadic.core.query_groups import QueryGroups


class Reranked(NamedTuple):
    """Mean costs of the candidates selected by reranking, and of the first, the cheapest and a random candidate.

    Attributes
    ----------
    lists, candidates : int
        Number of lists, and of all candidates.
    first, oracle, random : float
        Mean cost of the first candidate, of the cheapest one, and of a random one.
    reranked : float
        Mean cost of the candidate with the highest score, the first one on ties.
    tied : int
        Number of lists in which several candidates share the highest score.
    worst : float
        Mean cost if ties are broken in favour of the most expensive candidate.
    moved : int
        Number of lists whose selected candidate is not the first.
    """

    lists: int
    candidates: int
    first: float
    oracle: float
    random: float
    reranked: float
    tied: int
    worst: float
    moved: int

    @property
    def gained(self) -> float:
        """Share of the cost gap between the first candidate and the oracle that reranking closes; NaN without a gap."""
        room = self.first - self.oracle
        return (self.first - self.reranked) / room if room > 0 else float("nan")


def reranking(scored: Iterable[tuple[QueryGroups, ArrayLike]]) -> Reranked:
    """Compute the mean cost of selecting the highest-scoring candidate in each list.

    Parameters
    ----------
    scored : iterable of (QueryGroups, array of float)
        Blocks of lists, each with a score for every candidate.

    Raises
    ------
    InputError
        If there are no lists, or the scores do not match them.

    Examples
    --------
    >>> from polyadic.core.query_groups import QueryGroups
    >>> lists = QueryGroups.of([[0.0]] * 4, costs=[3, 1, 2, 0], group=[0, 0, 1, 1])
    >>> found = reranking([(lists, [0, 1, 5, 5])])
    >>> found.first, found.oracle, found.reranked, found.worst, found.tied, found.moved
    (2.5, 0.5, 1.5, 1.5, 1, 1)
    """
    sums, counts = np.zeros(5), np.zeros(4, np.int64)
    for groups, given in scored:
        s = np.asarray(given, float)
        choice, at, costs = groups.choice(s), groups.starts[:-1], groups.costs
        level = s == np.repeat(s[choice], np.diff(groups.starts))
        dearest = np.maximum.reduceat(np.where(level, costs, -np.inf), at)
        chance = np.add.reduceat(costs, at) / np.diff(groups.starts)
        sums += [x.sum() for x in (costs[at], costs[groups.oracle], chance, costs[choice], dearest)]
        several = np.add.reduceat(level, at, dtype=np.int64) > 1
        counts += [len(groups), len(costs), int(several.sum()), int((choice != at).sum())]
    if not counts[0]:
        raise InputError("there are no lists of candidates to rerank")
    first, oracle, chance, reranked, worst = (sums / counts[0]).tolist()
    lists, candidates, tied, moved = counts.tolist()
    return Reranked(lists, candidates, first, oracle, chance, reranked, tied, worst, moved)
