r"""Parameters, penalties and solvers of factorization machines: coordinate descent and stochastic gradient descent.

.. math:: m(x) = w_0 + \sum_f e_{d_f}(v_{1f} x_1, v_{2f} x_2, \ldots), \quad e_1(z) = \sum_j z_j, \quad
          e_2(z) = \sum_{j < k} z_j z_k, \quad e_3(z) = \sum_{j < k < l} z_j z_k z_l, \ldots

Columns of order 1 are linear weights, those of order 2 the factors of the usual factorization machine, and those of
order d the factors of the ANOVA kernel of that order. The objective is

.. math:: \sum_i w_i \ell(y_i, m(x_i)) + \tfrac12 \sum_j n_j^\gamma \sum_f \lambda_f v_{jf}^2

where feature j occurs in :math:`n_j` rows. Scores are linear in each parameter, so squared loss is minimised exactly,
and a loss of curvature :math:`c` by its upper bound, :math:`\ell(m + t) \le \ell(m) + \ell'(m) t + \tfrac c2 t^2`.

Stochastic gradient descent takes mini-batches of rows or pairs of rows. The penalty of a feature is distributed over
its rows, :math:`\tfrac12 (n_j^\gamma / N_j) \sum_f \lambda_f v_{jf}^2` for each of these :math:`N_j`; :math:`n_j` is
their number too, or the sum of their weights. Epoch :math:`t`, from 0, has the learning rate :math:`\eta / (1 + d t)`.
A plain step moves each feature by its mean gradient over the rows of the batch that have it, so that rare features move
as far as with single rows and frequent ones no farther; then the penalty shrinks it. Adagrad moves by the sum of the
gradients, divided by the root of the sum of all squared gradients of the parameter so far.

References
----------
Rendle (2012), Factorization machines with libFM, sections 2 and 3.2. Blondel, Fujino, Ueda, Ishihata (2016),
Higher-order factorization machines, eq. 5 to 8. Boehning, Lindsay (1988), Monotonicity of quadratic-approximation
algorithms. Rendle (2010), Factorization machines, section III.C. Duchi, Hazan, Singer (2011), Adaptive subgradient
methods for online learning and stochastic optimization, section 1.2. Rendle, Freudenthaler, Gantner, Schmidt-Thieme
(2009), BPR: Bayesian personalized ranking from implicit feedback, for pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit

from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.kernels import LinearExamples
from polyadic.core.losses import Convex, Loss, Squared
from polyadic.core.resources import check_memory
from polyadic.core.solvers.run import Sweep
from polyadic.core.solvers.saga import saga_weights
from polyadic.supervised.kernels import FeatureTable, GradientBuffer, anova_scores, anova_sweep

if TYPE_CHECKING:
    from polyadic.core.solvers.sgd import LearningRate

TINY = 1e-12  # substitute for a count of 0, so that features without a row stay at zero
COPIES = 4  # number of copies of the parameters held during a fit: current, best so far, and working memory of a step
EPS = 1e-8  # added to the root, so that a parameter without a gradient does not move


class Machine(NamedTuple):
    """Parameters of a factorization machine: the bias and the parameter matrix V."""

    bias: float
    V: Array


@dataclass(frozen=True)
class Ridge:
    r"""Ridge penalty scaled by feature counts, :math:`\tfrac12 \sum_j n_j^\gamma \sum_f \lambda_f v_{jf}^2`."""

    columns: Array  # lambda, shape (K,)
    power: float  # gamma: 0 penalises all features alike, 1 in proportion to their number of rows

    def features(self, counts: AnyArray) -> Array:
        r"""Return the penalty weight of each feature, :math:`n_j^\gamma`."""
        return np.maximum(counts, TINY) ** self.power

    def value(self, V: Array, counts: AnyArray) -> float:
        """Return the penalty of the parameters V."""
        return float(0.5 * self.features(counts) @ (V**2 @ self.columns))


class Observed(NamedTuple):
    """Training data: feature vectors, targets and optional weights of rows."""

    table: FeatureTable
    y: Array
    weights: Array | None = None

    @property
    def counts(self) -> Array:
        """Weighted number of rows in which each feature occurs."""
        if self.weights is None:
            return self.table.counts.astype(float)
        starts, columns, _ = self.table.rows
        return np.asarray(np.bincount(columns, np.repeat(self.weights, np.diff(starts)), self.table.shape[1]), float)

    def loss(self, loss: Loss, m: Array) -> float:
        """Return the weighted sum of the losses of all rows."""
        values = loss.value(self.y, m)
        return float(values.sum() if self.weights is None else self.weights @ values)


def orders_of(rank: tuple[int, ...]) -> Ints:
    """Return the interaction order of each parameter column: one column of order 1, ``rank[0]`` of order 2, ..."""
    return np.repeat(np.arange(1, len(rank) + 2), [1, *rank])


def started(table: FeatureTable, orders: Ints, scale: float, rng: np.random.Generator) -> Array:
    """Return linear weights of zero and random factors, divided by the root mean square of a feature above 1."""
    features, K = table.shape[1], len(orders)
    remedy = "lower the rank, or number the features without gaps"
    check_memory(COPIES * 8.0 * features * K, f"a machine of {features:,} features", remedy)
    V = scale * rng.standard_normal((features, K)) / np.maximum(table.sizes, 1)[:, None]
    V[:, orders == 1] = 0
    return np.asarray(V)


def descend_features(
    data: Observed, start: Machine, *, orders: Ints, loss: Convex, ridge: Ridge, threads: int = 1
) -> Iterator[Sweep]:
    """Yield ``[bias, V]`` at the start and after each sweep of coordinate descent over all parameters."""
    table, y, w = data
    bias, W = start.bias, np.ascontiguousarray(start.V.T, float).copy()
    c, counts = loss.curvature, data.counts
    share = ridge.features(counts)
    caches = {int(d): np.zeros((table.shape[0], int(d))) for d in np.unique(orders)}
    m = bias + anova_scores(table, start.V, orders=orders, threads=threads)
    while True:
        V = np.ascontiguousarray(W.T)
        yield Sweep([np.array([bias]), V], data.loss(loss, m) + ridge.value(V, counts))
        left = _left(loss, y, m)
        moved = float(np.average(left, weights=w))
        bias += moved
        m = m + moved
        for v, d, strength in zip(W, orders.tolist(), ridge.columns.tolist(), strict=True):
            left, C = _left(loss, y, m), caches[d]
            C[:, 0] = left
            anova_sweep(table, v, C, ridge=strength * share, precision=c, weights=w, threads=threads)
            m = m + (left - C[:, 0])


def descend_linear(
    data: Observed, start: Machine, *, loss: Loss, ridge: Ridge, l1: float, sag: bool, rng: np.random.Generator
) -> Iterator[Sweep]:
    """Yield ``[bias, V]`` after each epoch of SAG or SAGA, for a machine of order 1.

    The bias is the weight of an additional last feature, which is 1 in each row and is not penalized.
    """
    starts, columns, x = data.table.rows
    (n, features), counts = data.table.shape, data.counts
    share = np.append(ridge.features(counts) * (counts > 0), 0)
    weights = np.ones(n) if data.weights is None else data.weights
    rows = starts + np.arange(n + 1), np.insert(columns, starts[1:], features), np.insert(x, starts[1:], 1.0)
    examples = LinearExamples(np.array([0, n]), *rows, data.y, np.zeros(n), weights)

    def objective(w: Array) -> float:
        V = w[:-1, None]
        value = data.loss(loss, w[-1] + anova_scores(data.table, V, orders=np.ones(1, np.int64)))
        return value + ridge.value(V, counts) + l1 * float(share @ np.abs(w))

    l2 = share * ridge.columns[0]
    how: dict[str, Any] = {"loss": loss, "objective": objective, "sag": sag, "rng": rng}
    for (w,), value in saga_weights(examples, np.append(start.V[:, 0], start.bias), l2=l2, l1=l1 * share, **how):
        yield Sweep([w[-1:], w[:-1, None]], value)


def _left(loss: Convex, y: Array, m: Array) -> Array:
    """Return the step from each prediction to the minimum of the quadratic upper bound on the loss."""
    return y - m if isinstance(loss, Squared) else -loss.grad(y, m) / loss.curvature


class Pairs(NamedTuple):
    """Pairs of rows of a feature table, with a better and a worse row in each pair."""

    table: FeatureTable
    better: Ints
    worse: Ints

    def loss(self, V: Array, orders: Ints) -> float:
        """Return the logistic loss of the score differences, ``log(1 + exp(-difference))``, summed over pairs."""
        m = anova_scores(self.table, V, orders=orders)
        return float(np.logaddexp(0, m[self.worse] - m[self.better]).sum())


class Stepper:
    """State of stochastic gradient descent; the caller maintains ``counts``, :math:`n_j`, and ``rows``, :math:`N_j`."""

    def __init__(
        self,
        start: Machine,
        *,
        orders: Ints,
        ridge: Ridge,
        steps: LearningRate,
        batch: int,
        adagrad: bool,
        squares: tuple[float, Array] | None = None,
    ) -> None:
        self.bias, self.V, self.orders, self.ridge = start.bias, np.array(start.V, float, order="C"), orders, ridge
        self.counts: AnyArray = np.zeros(len(self.V))
        self.rows: AnyArray = self.counts
        self.epochs = 0
        self._steps, self._batch, self._adagrad = steps, batch, adagrad
        self._bias_squares, before = squares or (0.0, None)
        self._moves = GradientBuffer(self.V.shape, squares=before)

    @property
    def squares(self) -> tuple[float, Array]:
        """Accumulated squared gradients of the bias and the parameters."""
        return self._bias_squares, self._moves.squares

    def epoch(self, data: Observed, loss: Loss, order: Ints) -> None:
        """Run one epoch of gradient steps over rows in the given order."""
        for part in self._batches(order):
            g = loss.grad(data.y[part], self._scores(data.table, part))
            self._step(data.table, part, g if data.weights is None else g * data.weights[part])
        self.epochs += 1

    def epoch_pairs(self, pairs: Pairs, order: Ints) -> None:
        """Run one epoch of gradient steps over pairs of rows in the given order."""
        for part in self._batches(order):
            rows = np.concatenate([pairs.better[part], pairs.worse[part]])
            better, worse = np.split(self._scores(pairs.table, rows), 2)
            g = expit(worse - better)
            self._step(pairs.table, rows, np.concatenate([-g, g]))
        self.epochs += 1

    def _batches(self, order: Ints) -> Iterator[Ints]:
        # a feature's penalty in each of its rows; constant during an epoch
        self._shares = self.ridge.features(self.counts) / np.maximum(self.rows, 1)
        return (order[k : k + self._batch] for k in range(0, len(order), self._batch))

    def _scores(self, table: FeatureTable, rows: Ints) -> Array:
        return self.bias + anova_scores(table, self.V, orders=self.orders, rows=rows)

    def _step(self, table: FeatureTable, rows: Ints, g: Array) -> None:
        step, shares, ridges = self._steps.at(self.epochs), self._shares, self.ridge.columns
        self._moves.pull(table, self.V, orders=self.orders, rows=rows, slopes=g)
        total = float(g.sum())
        if self._adagrad:
            self._moves.adagrad(self.V, shares=shares, ridges=ridges, step=step, eps=EPS)
            self._bias_squares += total**2
            total /= np.sqrt(self._bias_squares) + EPS
        else:
            self._moves.sgd(self.V, shares=shares, ridges=ridges, step=step)
            total /= len(rows)
        self.bias -= step * total


def descend_rows(stepper: Stepper, data: Observed, *, loss: Loss, rng: np.random.Generator) -> Iterator[Sweep]:
    """Yield ``[bias, V]`` at the start and after each epoch over the rows in a new random order."""
    stepper.counts, stepper.rows = data.counts, data.table.counts
    while True:
        bias, V = stepper.bias, stepper.V.copy()
        m = bias + anova_scores(data.table, V, orders=stepper.orders)
        yield Sweep([np.array([bias]), V], data.loss(loss, m) + stepper.ridge.value(V, stepper.counts))
        stepper.epoch(data, loss, rng.permutation(data.table.shape[0]))


def descend_row_pairs(
    stepper: Stepper, drawn: Callable[[np.random.Generator], Pairs], *, rng: np.random.Generator
) -> Iterator[Sweep]:
    """Yield ``[V]``, with the objective of the first sample of pairs, after each epoch over a new sample."""
    first = drawn(rng)
    at = np.concatenate([first.better, first.worse])
    # features absent from these pairs may occur in others
    stepper.counts = stepper.rows = np.maximum(first.table.times(at), 1)
    while True:
        V = stepper.V.copy()
        yield Sweep([V], first.loss(V, stepper.orders) + stepper.ridge.value(V, stepper.counts))
        pairs = drawn(rng)
        stepper.epoch_pairs(pairs, rng.permutation(len(pairs.better)))
