r"""Online learning from candidate lists: perceptron, MIRA, and MIRA with low-rank tensor weights (T-MIRA).

A list :math:`t` has a cheapest candidate :math:`y` and a chosen candidate :math:`z`, with features :math:`\phi` and a
cost difference :math:`\rho`. Where the loss :math:`L = w \cdot (\phi_z - \phi_y) + \rho` is positive,

.. math:: w \leftarrow w + \tau \Delta, \qquad \Delta = \phi_y - \phi_z, \qquad
          \tau = 1 \text{ (perceptron)}, \quad \tau = \min\{C, L / \|\Delta\|^2\} \text{ (MIRA)} .

With weights :math:`W = \sum_h w^1_h \otimes \dots \otimes w^D_h` (T-MIRA) the score is linear in each vector
:math:`w^d_h`, which is updated with the others fixed,

.. math:: \min_w \tfrac12 B \|w - w_t\|^2 + C \xi, \quad L \le \xi, \ \xi \ge 0, \qquad
          \tau = \min\{C / B, L / \|\Delta^d_h\|^2\}, \qquad B = \prod_{k \ne d} \|w^k_h\|^2,

where :math:`\Delta^d_h` is the feature difference multiplied by the vectors of all other modes (equations 4 to 10).
Without :math:`B` the step does not solve problem (4). All vectors may also be updated at once, with :math:`\tau =
\min\{C, L / \sum \|\Delta^d_h\|^2\}`.

**Averages.** The mean of the weights over all lists is more stable than the last weights. For linear models a second
sum gives it exactly. A product of mean factors is not the mean of products, whose update after each step is expensive,
since one row of one vector belongs to :math:`V / n_d` features. So copies of the factors are stored at checkpoints,
each weighted by the number of lists since the previous one, and the tensors of many checkpoints are summed in one
matrix product. There are :data:`CHECKPOINTS_PER_DOUBLING` of them per doubling of the number of lists.

References
----------
Those of :mod:`polyadic.ranking.linear_rerankers`. Cao, Khudanpur (2014), Online learning in tensor space, section 4.
Lei, Xin, Zhang, Barzilay, Jaakkola (2014), Low-rank tensors for scoring dependency structures, for all modes at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.solvers.run import Sweep
from polyadic.ranking.kernels import (
    CandidateLists,
    candidate_lists,
    feature_cells,
    mira_lists,
    perceptron_lists,
    tensor_mira_lists,
)

if TYPE_CHECKING:
    from polyadic.core.forms import Factors
    from polyadic.core.query_groups import QueryGroups

Updates = Literal["random", "rotated", "fixed", "joint"]
Cap = Literal["scaled", "plain", "none"]
CHECKPOINTS_PER_DOUBLING = 64  # number of checkpoints per doubling of the number of lists
MAX_STORED = 1 << 22  # maximum number of stored factor values and products before they are summed
REFRESH_INTERVAL = 1024  # number of lists after which the incrementally updated squared norms are recomputed


def passive_aggressive(
    blocks: Iterable[QueryGroups], learner: Linear | Multilinear, *, rng: np.random.Generator | None = None
) -> Iterator[Sweep]:
    """Yield weights and factors, and the mean cost, after each epoch until an epoch makes no update.

    The cost is that of the choices made before each update; the first value is the cost of the first block. ``rng``
    shuffles the lists of a block.
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
    """Linear model with one weight per feature, trained by the perceptron if ``C`` is None, otherwise by MIRA."""

    def __init__(
        self, V: int, *, C: float | None = None, augmented: bool = False, best: int = 1, averaged: bool = True
    ) -> None:
        self.w, self.u = np.zeros(V), np.zeros(V)
        self.C, self.augmented, self.best, self.averaged = C, augmented, best, averaged
        self.before = 0

    def learn(self, lists: CandidateLists, order: AnyArray) -> Array:
        """Update the weights on lists in the given order, and return the total cost, loss and number of updates."""
        how: dict[str, Any] = {"weights": self.w, "summed": self.u, "before": self.before}
        self.before += len(order)
        if self.C is None:
            return perceptron_lists(lists, order, **how)
        return mira_lists(lists, order, C=self.C, augmented=self.augmented, best=self.best, **how)

    def reached(self) -> Factors:
        """Return the weights averaged over all lists, or the last weights if averaging is off."""
        return [self.w - self.u / max(self.before, 1) if self.averaged else self.w.copy()]


class Multilinear:
    """Model with a low-rank tensor of feature weights, trained by MIRA.

    Factors have shape (n_d, H). ``place`` is the cell of each feature, first mode fastest. ``updates`` orders the
    vectors of a step: random; by component and mode, starting at the next one for each list; always the same; or all at
    once. ``cap`` bounds a step: by C / B, C, or not at all.
    """

    def __init__(
        self,
        start: Sequence[Array],
        place: Ints,
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
        self.moments: list[tuple[int, Array]] = []
        self.total = np.zeros(math.prod(self.sizes) if averaged else 0)

    def learn(self, lists: CandidateLists, order: AnyArray) -> Array:
        """Update the factors on candidate lists in the given order, stopping at checkpoints for averaging."""
        sums, done = np.zeros(3), 0
        turns = self._turns(len(order))
        how: dict[str, Any] = {"cells": self.cells, "C": self.C, "scaled": self.scaled, "augmented": self.augmented}
        while done < len(order):
            pause = self.moment + spacing(self.moment) - self.before if self.averaged else REFRESH_INTERVAL
            until = min(done + pause, done + REFRESH_INTERVAL - self.before % REFRESH_INTERVAL, len(order))
            part = slice(done, until)
            sums += tensor_mira_lists(lists, order[part], turns=turns[part], factors=self.F, norms=self.norms, **how)
            self.before += until - done
            done = until
            self._remember()
        return sums

    def reached(self) -> Factors:
        """Return the weights averaged over checkpoints, or the last weights, and the last factors."""
        if self.averaged and self.moment:
            self._add_up()
            weights = self.total[self.place] / self.moment
        else:
            weights = tensor_cells(self.parts(self.F))[self.place]
        return [weights, *(part.copy() for part in self.parts(self.F))]

    def parts(self, F: Array) -> list[Array]:
        """Split the stacked factors into one matrix per mode."""
        return np.split(F, self.edges)

    def _turns(self, count: int) -> Ints:
        """Return the order of the updates for each list; vectors are numbered by component, then mode."""
        N = self.F.shape[1] * len(self.sizes)
        if self.updates == "joint":
            return np.empty((count, 0), np.int64)
        if self.updates == "random":
            return np.argsort(self.rng.random((count, N)), axis=1)
        shift = self.before + np.arange(count)[:, None] if self.updates == "rotated" else np.zeros((count, 1), int)
        return (shift + np.arange(N)) % N

    def _remember(self) -> None:
        if self.before % REFRESH_INTERVAL == 0:
            self.norms = self._norms()
        if self.averaged and self.before == self.moment + spacing(self.moment):
            self.moments.append((self.before - self.moment, self.F.copy()))
            self.moment = self.before
            if len(self.moments) * self.room >= MAX_STORED:
                self._add_up()

    def _add_up(self) -> None:
        """Add the tensors of all stored checkpoints to the total, weighted by the number of lists per checkpoint."""
        if self.moments:
            spans = np.repeat([float(span) for span, _ in self.moments], self.F.shape[1])
            *rest, last = self.parts(np.concatenate([F for _, F in self.moments], axis=1))
            self.total += tensor_cells([*rest, last * spans])
            self.moments = []

    def _norms(self) -> Array:
        return np.stack([(part**2).sum(axis=0) for part in self.parts(self.F)], axis=1)


def spacing(moment: int) -> int:
    """Return the number of lists between the checkpoint at ``moment`` and the next checkpoint."""
    return max(1, (1 << moment.bit_length()) // (2 * CHECKPOINTS_PER_DOUBLING))


def tensor_cells(factors: Sequence[AnyArray]) -> Array:
    r"""Return all cells of a CP tensor, :math:`\sum_h \prod_d w^d_{h, i_d}`, with the first index varying fastest."""
    half, H = len(factors) // 2, factors[0].shape[1]
    fast, slow = (
        reduce(lambda rows, w: (w[:, None] * rows).reshape(-1, H), modes, np.ones((1, H)))
        for modes in (factors[:half], factors[half:])
    )
    return np.asarray((slow @ fast.T).ravel())
