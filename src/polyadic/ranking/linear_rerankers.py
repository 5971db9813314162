"""Rerankers with one weight per feature: the averaged perceptron and MIRA."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

from polyadic.core.model import Count, Positive
from polyadic.ranking.passive_aggressive import Linear
from polyadic.ranking.reranking import Reranker

if TYPE_CHECKING:
    import numpy as np

    from polyadic.core.query_groups import QueryGroups


class RankingPerceptron(Reranker):
    r"""Averaged perceptron for candidate lists.

    .. math:: w \leftarrow w + \phi_y - \phi_z \quad \text{where } z = \arg\max w \cdot \phi \text{ costs more than } y

    with the cheapest candidate :math:`y` of the list. Attributes are those of
    :class:`~polyadic.ranking.reranking.Reranker`.

    References
    ----------
    Collins (2002), Discriminative training methods for hidden Markov models. Collins, Duffy (2002), New ranking
    algorithms for parsing and tagging, for lists.
    """

    def _learner(self, blocks: Iterable[QueryGroups], V: int, rng: np.random.Generator) -> Linear:
        del blocks, rng
        return Linear(V, averaged=self.averaged)


class MIRA(Reranker):
    r"""Margin infused relaxed algorithm (MIRA) for candidate lists.

    .. math:: w \leftarrow \arg\min_w \tfrac12 \|w - w_t\|^2 + C \sum_j \max(0, \rho_j - w \cdot (\phi_y - \phi_j))

    over the ``best`` candidates :math:`j` of highest score. :math:`\rho_j` is their cost above that of the cheapest
    candidate :math:`y`. Attributes are those of :class:`~polyadic.ranking.reranking.Reranker`.

    Parameters
    ----------
    C : float
        Upper bound of the step length, as a multiple of the feature difference.
    best : int
        Number of best candidates with a margin constraint: one has a closed form, several take dual coordinate ascent.
    augmented : bool
        Add costs to scores in the search for the best candidates, which are then those of the largest loss.

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz, Singer (2006), Online passive-aggressive algorithms, PA-I. McDonald,
    Crammer, Pereira (2005), Online large-margin training of dependency parsers, for the k best.

    Examples
    --------
    >>> from polyadic.core.query_groups import QueryGroups
    >>> lists = QueryGroups.of([[1, 0], [0, 1], [1, 1], [0, 1]], costs=[1, 0, 1, 0], group=[0, 0, 1, 1])
    >>> MIRA(C=1.0).fit(lists).rerank(lists).tolist()
    [1, 3]
    """

    _: KW_ONLY
    C: Positive = 0.1
    best: Count = 1
    augmented: bool = True

    def _learner(self, blocks: Iterable[QueryGroups], V: int, rng: np.random.Generator) -> Linear:
        del blocks, rng
        return Linear(V, C=float(self.C), augmented=self.augmented, best=self.best, averaged=self.averaged)
