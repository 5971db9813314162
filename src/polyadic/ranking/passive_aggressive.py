r"""Learning from lists of candidates one after another: perceptron, MIRA, and MIRA with a tensor of low rank.

A list :math:`t` has its cheapest candidate :math:`y` and the one chosen, :math:`z`, with features :math:`\phi` and
costs whose difference is :math:`\rho`. Where :math:`L = w \cdot (\phi_z - \phi_y) + \rho` is above zero,

.. math:: w \leftarrow w + \tau \Delta, \qquad \Delta = \phi_y - \phi_z, \qquad
          \tau = 1 \text{ (perceptron)}, \quad \tau = \min\{C, L / \|\Delta\|^2\} \text{ (MIRA)} .

With weights :math:`W = \sum_h w^1_h \otimes \dots \otimes w^D_h` (T-MIRA) the same is done for one vector
:math:`w^d_h` at a time, in which the score is linear,

.. math:: \min_w \tfrac12 B \|w - w_t\|^2 + C \xi, \quad L \le \xi, \ \xi \ge 0, \qquad
          \tau = \min\{C / B, L / \|\Delta^d_h\|^2\}, \qquad B = \prod_{k \ne d} \|w^k_h\|^2,

where :math:`\Delta^d_h` is the difference of features multiplied in all other modes by the vectors there (equations 4
to 10). Without :math:`B` the step is not that of problem (4). All vectors may also move at once, by
:math:`\tau = \min\{C, L / \sum \|\Delta^d_h\|^2\}`.

**Averages.** The mean of weights over all lists learned from is steadier than the last. For a linear model it is kept
exactly, by a second sum. Factors must not be averaged: the product of means is no mean of products. Nor can the mean of
products be kept step by step: one row of one vector belongs to :math:`V / n_d` features. So factors are remembered at
moments, each of which stands for the lists since the one before, and now and then the tensors of many moments are added
up in one product of matrices. The first 128 lists are a moment each; after that moments are no farther apart than the
:data:`FINENESS`-th part of the lists so far. (Means of scores at those moments, without any tensor, would be the same.)

References
----------
Collins (2002), Discriminative training methods for hidden Markov models. Crammer, Dekel, Keshet, Shalev-Shwartz, Singer
(2006), Online passive-aggressive algorithms. McDonald, Crammer, Pereira (2005), Online large-margin training of
dependency parsers, for the k best. Cao, Khudanpur (2014), Online learning in tensor space, section 4. Lei, Xin, Zhang,
Barzilay, Jaakkola (2014), Low-rank tensors for scoring dependency structures, for all modes at once.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from polyadic.core.solvers.run import Sweep
from polyadic.ranking.kernels import candidate_lists, feature_cells, mira_lists, perceptron_lists, tensor_mira_lists

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from polyadic.core.forms import Factors
    from polyadic.core.query_groups import QueryGroups
    from polyadic.ranking.kernels import CandidateLists

Updates = Literal["random", "rotated", "fixed", "joint"]
Cap = Literal["scaled", "plain", "none"]
FINENESS = 64
"""Moments in a doubling of the lists, at which factors count for the mean."""
REMEMBERED = 1 << 22
"""Numbers of factors, and of their products, that are held before they are added up."""
AFRESH = 1024
"""Lists after which squared norms, which steps keep up to date, are computed anew."""


class Learner(Protocol):
    """Weights that learn from lists."""

    def learn(self, lists: CandidateLists, order: NDArray[Any]) -> NDArray[np.float64]:
        """Go through lists; return the sums of costs of what was chosen, of losses, and of steps."""

    def reached(self) -> Factors:
        """Give the weights of features, averaged if so asked, then what they are made of; new arrays."""


def passive_aggressive(
    blocks: Iterable[QueryGroups], learner: Learner, *, rng: np.random.Generator | None = None
) -> Iterator[Sweep]:
    """Learn from lists, epoch by epoch, until one passes without a step.

    Parameters
    ----------
    blocks : iterable of QueryGroups
        Gone through once in each epoch; only one is held at a time. One of them must have a list.
    learner : Learner
    rng : numpy.random.Generator, optional
        Of the order of the lists in a block; as they are without one.

    Yields
    ------
    Sweep
        After each epoch, weights and what they are made of, and the mean cost of what was chosen before each step; at
        the start the mean cost of the first block.
    """
    first = next(block for block in blocks if len(block))
    reached = learner.reached()
    yield Sweep(reached, first.cost(first.choice(first.features @ reached[0][: first.features.shape[1]])))
    while True:
        sums, count = np.zeros(3), 0
        for block in blocks:
            lists = candidate_lists(block.features, block.costs, block.starts)
            order = np.arange(len(block)) if rng is None else rng.permutation(len(block))
            sums += learner.learn(lists, order)
            count += len(block)
        yield Sweep(learner.reached(), float(sums[0]) / count)
        if not sums[2]:
            return


class Linear:
    """One weight for each of ``V`` features, zero at first.

    Parameters
    ----------
    V : int
    C : float or None
        Of MIRA; None for the perceptron.
    augmented : bool
        Whether MIRA searches the best by score and cost.
    best : int
        Candidates of which MIRA demands that they score less than the cheapest, by what they cost more.
    averaged : bool
    """

    def __init__(
        self, V: int, *, C: float | None = None, augmented: bool = False, best: int = 1, averaged: bool = True
    ) -> None:
        self.w, self.u = np.zeros(V), np.zeros(V)
        self.C, self.augmented, self.best, self.averaged = C, augmented, best, averaged
        self.before = 0

    def learn(self, lists: CandidateLists, order: NDArray[Any]) -> NDArray[np.float64]:
        """Go through lists."""
        if self.C is None:
            sums = perceptron_lists(lists, order, weights=self.w, summed=self.u, before=self.before)
        else:
            how: dict[str, Any] = {"C": self.C, "augmented": self.augmented, "best": self.best}
            sums = mira_lists(lists, order, weights=self.w, summed=self.u, before=self.before, **how)
        self.before += len(order)
        return sums

    def reached(self) -> Factors:
        """Give the mean of the weights after each list, or the last."""
        return [self.w - self.u / max(self.before, 1) if self.averaged else self.w.copy()]


class Multilinear:
    """Weights that are cells of a tensor of low rank.

    Parameters
    ----------
    start : sequence of ndarray of shape (n_d, H)
        Factors, one of each mode. Not changed.
    place : ndarray of int of shape (V,)
        Cells of features, the first mode the fastest.
    C : float
    updates : {"random", "rotated", "fixed", "joint"}
        The order of vectors in a step: by chance; by component and mode, each list beginning with the next; the same,
        always from the first; or all at once.
    cap : {"scaled", "plain", "none"}
        What bounds a step: C / B, C, or nothing.
    augmented, averaged
        As those of :class:`Linear`.
    rng : numpy.random.Generator
        Of random orders.
    """

    def __init__(
        self,
        start: Sequence[NDArray[np.float64]],
        place: NDArray[np.int64],
        *,
        C: float,
        updates: Updates = "random",
        cap: Cap = "scaled",
        augmented: bool = False,
        averaged: bool = True,
        rng: np.random.Generator,
    ) -> None:
        self.sizes, self.place = tuple(len(w) for w in start), place
        self.F = np.ascontiguousarray(np.concatenate(start), np.float64)
        self.cells = feature_cells(place, self.sizes)
        self.edges = np.cumsum(self.sizes)[:-1]
        self.norms = self._norms()
        self.room = self.F.shape[1] * max(len(self.F), math.prod(self.sizes[len(self.sizes) // 2 :]))
        self.C, self.scaled = math.inf if cap == "none" else C, cap == "scaled"
        self.updates, self.augmented, self.averaged, self.rng = updates, augmented, averaged, rng
        self.before, self.moment = 0, 0
        self.moments: list[tuple[int, NDArray[np.float64]]] = []
        self.total = np.zeros(math.prod(self.sizes) if averaged else 0)

    def learn(self, lists: CandidateLists, order: NDArray[Any]) -> NDArray[np.float64]:
        """Go through lists, up to the next moment that is kept at a time."""
        sums, done = np.zeros(3), 0
        turns = self._turns(len(order))
        while done < len(order):
            pause = self.moment + spacing(self.moment) - self.before if self.averaged else AFRESH
            until = min(done + pause, done + AFRESH - self.before % AFRESH, len(order))
            sums += tensor_mira_lists(
                lists,
                order[done:until],
                turns=turns[done:until],
                factors=self.F,
                cells=self.cells,
                norms=self.norms,
                C=self.C,
                scaled=self.scaled,
                augmented=self.augmented,
            )
            self.before += until - done
            done = until
            self._remember()
        return sums

    def reached(self) -> Factors:
        """Give the mean of the weights at the moments kept, or the last, and the last factors."""
        if self.averaged and self.moment:
            self._add_up()
            weights = self.total[self.place] / self.moment
        else:
            weights = tensor_cells(self.parts(self.F))[self.place]
        return [weights, *(part.copy() for part in self.parts(self.F))]

    def parts(self, F: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Take factors of all modes apart."""
        return np.split(F, self.edges)

    def _turns(self, count: int) -> NDArray[np.int64]:
        """Give the order of vectors for some lists; the numbers of components run slower than those of modes."""
        N = self.F.shape[1] * len(self.sizes)
        if self.updates == "joint":
            return np.empty((count, 0), np.int64)
        if self.updates == "random":
            return np.argsort(self.rng.random((count, N)), axis=1)
        shift = self.before + np.arange(count)[:, None] if self.updates == "rotated" else np.zeros((count, 1), int)
        return (shift + np.arange(N)) % N

    def _remember(self) -> None:
        if self.before % AFRESH == 0:
            self.norms = self._norms()
        if self.averaged and self.before == self.moment + spacing(self.moment):
            self.moments.append((self.before - self.moment, self.F.copy()))
            self.moment = self.before
            if len(self.moments) * self.room >= REMEMBERED:
                self._add_up()

    def _add_up(self) -> None:
        """Add the tensors of moments, each times the lists it stands for."""
        if self.moments:
            spans = np.repeat([float(span) for span, _ in self.moments], self.F.shape[1])
            *rest, last = self.parts(np.concatenate([F for _, F in self.moments], axis=1))
            self.total += tensor_cells([*rest, last * spans])
            self.moments = []

    def _norms(self) -> NDArray[np.float64]:
        return np.stack([(part**2).sum(axis=0) for part in self.parts(self.F)], axis=1)


def spacing(moment: int) -> int:
    """Give how many lists after one moment the next is.

    Examples
    --------
    >>> [spacing(moment) for moment in (0, 127, 128, 254, 256)]
    [1, 1, 2, 2, 4]
    """
    return max(1, (1 << moment.bit_length()) // (2 * FINENESS))


def tensor_cells(factors: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    r"""Give all cells of a tensor, :math:`\sum_h \prod_d w^d_{h, i_d}`, the first mode the fastest.

    Parameters
    ----------
    factors : sequence of ndarray of shape (n_d, H)

    Examples
    --------
    >>> tensor_cells([np.array([[1.0], [2.0]]), np.array([[3.0], [5.0]])]).tolist()
    [3.0, 6.0, 5.0, 10.0]
    """
    half, H = len(factors) // 2, factors[0].shape[1]
    fast, slow = (
        reduce(lambda rows, w: (w[:, None] * rows).reshape(-1, H), modes, np.ones((1, H)))
        for modes in (factors[:half], factors[half:])
    )
    return np.asarray((slow @ fast.T).ravel())
