r"""Stochastic gradient descent of factorization machines over mini-batches of rows or pairs of rows.

The penalty of a feature is distributed over its rows, :math:`\tfrac12 (n_j^\gamma / N_j) \sum_f \lambda_f v_{jf}^2` for
each of these :math:`N_j`; :math:`n_j` is their number too, or the sum of their weights.

Epoch :math:`t`, from 0, has the learning rate :math:`\eta / (1 + d t)`. A plain step moves each feature by its mean
gradient over the rows of the batch that have it, so that rare features move as far as with single rows and frequent
ones no farther; then the penalty shrinks it. Adagrad moves by the sum of the gradients, divided by the root of the sum
of all squared gradients of the parameter so far.

References
----------
Rendle (2010), Factorization machines, section III.C. Duchi, Hazan, Singer (2011), Adaptive subgradient methods for
online learning and stochastic optimization, section 1.2. Rendle, Freudenthaler, Gantner, Schmidt-Thieme (2009), BPR:
Bayesian personalized ranking from implicit feedback, for pairs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.solvers.run import Sweep
from polyadic.supervised.kernels import GradientBuffer, anova_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from polyadic.core.losses import Loss
    from polyadic.core.solvers.sgd import LearningRate
    from polyadic.supervised.fm_coordinate_descent import Machine, Observed, Ridge
    from polyadic.supervised.kernels import FeatureTable

    Array = NDArray[np.float64]

EPS = 1e-8
"""Added to the root, so that a parameter without a gradient does not move."""


class Pairs(NamedTuple):
    """Pairs of rows of a table, the first of which should score higher.

    Attributes
    ----------
    table : FeatureTable
    better, worse : ndarray of int of shape (pairs,)
    """

    table: FeatureTable
    better: NDArray[np.int64]
    worse: NDArray[np.int64]

    def loss(self, V: Array, orders: NDArray[np.int64]) -> float:
        """Return the sum of ``log(1 + exp(-difference))``."""
        m = anova_scores(self.table, V, orders=orders)
        return float(np.logaddexp(0, m[self.worse] - m[self.better]).sum())


class Stepper:
    """State of stochastic gradient descent.

    Parameters
    ----------
    start : Machine
        Not changed.
    orders : ndarray of shape (K,)
        Order of each column, non-decreasing.
    ridge : Ridge
    steps : LearningRate
        Learning rates.
    batch : int
        Rows or pairs per step.
    adagrad : bool
    squares : (float, ndarray of shape (features, K)), optional
        Sums of squared gradients to continue from.

    Attributes
    ----------
    bias, V
        Current parameters.
    counts, rows : ndarray of shape (features,)
        :math:`n_j` and :math:`N_j`, maintained by the caller.
    """

    def __init__(
        self,
        start: Machine,
        *,
        orders: NDArray[np.int64],
        ridge: Ridge,
        steps: LearningRate,
        batch: int,
        adagrad: bool,
        squares: tuple[float, Array] | None = None,
    ) -> None:
        self.bias, self.V = start.bias, np.ascontiguousarray(start.V, float).copy()
        self.counts: NDArray[Any] = np.zeros(len(self.V))
        self.rows: NDArray[Any] = self.counts
        self.epochs = 0
        self._orders, self._ridge, self._steps, self._batch, self._adagrad = orders, ridge, steps, batch, adagrad
        self._bias_squares, before = squares or (0.0, None)
        self._moves = GradientBuffer(self.V.shape, squares=before)

    @property
    def squares(self) -> tuple[float, Array]:
        """Sums of squared gradients so far."""
        return self._bias_squares, self._moves.squares

    def epoch(self, data: Observed, loss: Loss, order: NDArray[np.int64]) -> None:
        """Run one epoch over rows in the given order."""

        def slopes(part: NDArray[np.int64], m: Array) -> Array:
            g = loss.grad(data.y[part], m)
            return g if data.weights is None else g * data.weights[part]

        for part in self._batches(order):
            self._step(data.table, part, lambda m, part=part: slopes(part, m))  # type: ignore[misc]
        self.epochs += 1

    def epoch_pairs(self, pairs: Pairs, order: NDArray[np.int64]) -> None:
        """Run one epoch over pairs in the given order."""
        from scipy.special import expit

        def slopes(m: Array) -> Array:
            better, worse = np.split(m, 2)
            g = expit(worse - better)
            return np.concatenate([-g, g])

        for part in self._batches(order):
            self._step(pairs.table, np.concatenate([pairs.better[part], pairs.worse[part]]), slopes)
        self.epochs += 1

    def _batches(self, order: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        # a feature's penalty in each of its rows; constant during an epoch
        self._shares = self._ridge.features(self.counts) / np.maximum(self.rows, 1)
        return (order[k : k + self._batch] for k in range(0, len(order), self._batch))

    def _step(self, table: FeatureTable, rows: NDArray[np.int64], slopes: Callable[[Array], Array]) -> None:
        step, shares, ridges = self._steps.at(self.epochs), self._shares, self._ridge.columns
        g = slopes(self.bias + anova_scores(table, self.V, orders=self._orders, rows=rows))
        self._moves.pull(table, self.V, orders=self._orders, rows=rows, slopes=g)
        total = float(g.sum())
        if self._adagrad:
            self._moves.adagrad(self.V, shares=shares, ridges=ridges, step=step, eps=EPS)
            self._bias_squares += total**2
            total /= np.sqrt(self._bias_squares) + EPS
        else:
            self._moves.sgd(self.V, shares=shares, ridges=ridges, step=step)
            total /= len(rows)
        self.bias -= step * total


def descend_rows(
    stepper: Stepper, data: Observed, *, loss: Loss, orders: NDArray[np.int64], ridge: Ridge, rng: np.random.Generator
) -> Iterator[Sweep]:
    """Iterate over epochs of all rows, each in a new random order.

    Yields factors ``[bias, V]``: first the start, then the end of each epoch. ``stepper`` is updated in place.
    """
    stepper.counts, stepper.rows = data.counts, data.table.counts
    while True:
        bias, V = stepper.bias, stepper.V.copy()
        m = bias + anova_scores(data.table, V, orders=orders)
        yield Sweep([np.array([bias]), V], data.loss(loss, m) + ridge.value(V, stepper.counts))
        stepper.epoch(data, loss, rng.permutation(data.table.shape[0]))


def descend_row_pairs(
    stepper: Stepper,
    drawn: Callable[[np.random.Generator], Pairs],
    *,
    orders: NDArray[np.int64],
    ridge: Ridge,
    rng: np.random.Generator,
) -> Iterator[Sweep]:
    """Iterate over epochs of newly sampled pairs.

    Yields factors ``[V]``: first the start, then the end of each epoch. The objective is that of the first sample.
    ``stepper`` is updated in place.
    """
    first = drawn(rng)
    at = np.concatenate([first.better, first.worse])
    # features absent from these pairs may occur in others
    stepper.counts = stepper.rows = np.maximum(first.table.times(at), 1)
    while True:
        V = stepper.V.copy()
        yield Sweep([V], first.loss(V, orders) + ridge.value(V, stepper.counts))
        pairs = drawn(rng)
        stepper.epoch_pairs(pairs, rng.permutation(len(pairs.better)))
