r"""Variational Bayesian inference for coupled tables, with a full covariance matrix for each factor row.

The posterior is approximated by a product,

.. math:: q = \prod_{s, i} N(u^{(s)}_i; \bar u, S_i) \prod N(b; \bar b, v) \prod \Gamma(a^{(s)}_r) \prod \Gamma(\rho)
          \prod \Gamma(\alpha_t)

with the prior :math:`u_{ir} \sim N(0, 1 / a_r)`, :math:`b \sim N(0, 1 / \rho)`. Components that the tables do not need
get a large :math:`a_r` and vanish (automatic relevance determination). No step decreases the evidence lower bound.
Losses other than the squared one are bounded by parabolas (:mod:`polyadic.completion.coupled.coordinate_descent`).
Intercepts are point estimates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from polyadic.completion.cells import Prediction
from polyadic.completion.coupled.coordinate_descent import collective, curves
from polyadic.completion.coupled.database_model import Given, IterativeDatabaseModel
from polyadic.core.annotations import AnyArray, Array
from polyadic.core.errors import InputError
from polyadic.core.kernels import RandomRows, row_moments, variational_rows
from polyadic.core.losses import Huber, Logistic, SoftplusPoisson, Squared
from polyadic.core.model import Amount, Callback, Count, Positive
from polyadic.core.resources import check_memory
from polyadic.core.solvers.run import Sweep, run

if TYPE_CHECKING:
    from polyadic.completion.coupled.coupled_tables import CoupledTables, State


class VariationalFactorization(IterativeDatabaseModel):
    """Variational Bayesian collective factorization of a database.

    See :mod:`polyadic.completion.coupled.variational`. Noise, the scale of biases and the relevance of each
    component are learned. Unneeded components vanish, so ``rank`` is an upper bound; if it reaches the number of
    entities of a type, all components vanish.

    Parameters
    ----------
    rank : int
        Maximum number of columns of each factor.
    shape, rate : float
        Shape and rate of the gamma prior on the precisions.

    Attributes
    ----------
    database_, state_, factors_, offsets_, unobserved_
        As for :class:`~polyadic.completion.coupled.database_model.DatabaseModel`, with posterior means.
    beliefs_, bound_ : Beliefs, float
        The variational posterior, and its evidence lower bound; the objective is the negative bound.
    relevance_ : dict of str to ndarray of shape (rank,)
        Share of each component in the sum of squared means, by type. Components near zero have vanished.

    References
    ----------
    Klami, Bouchard, Tripathi (2014), Group-sparse embeddings in collective matrix factorization, section 3 (there with
    diagonal covariances). Lim, Teh (2007), Variational Bayesian approach to movie rating prediction.

    Examples
    --------
    >>> from polyadic.completion.coupled.database import Relation
    >>> rng = np.random.default_rng(0)
    >>> x = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    >>> known = np.where(rng.random(x.shape) < 0.5, x, np.nan)
    >>> model = VariationalFactorization(3, seed=0).fit({"x": Relation(known, ("row", "column"))})
    >>> int((model.relevance_["row"] > 0.01).sum())
    1
    """

    _: KW_ONLY
    shape: Positive = 1.0
    rate: Positive = 1.0
    max_iter: Count = 200
    tol: Amount = 1e-4
    callback: Callback = None

    def _start(self, coupled: CoupledTables, rng: np.random.Generator) -> Beliefs:
        check_memory(5 * 8 * coupled.offsets[-1] * self.rank**2, "covariances of all rows", "lower the rank")
        return beliefs(coupled, self.rank, rng, prior=GammaPrior(self.shape, self.rate), threads=self._threads)

    def _position(self) -> Beliefs:
        return self.beliefs_

    def _extended(self, coupled: CoupledTables, position: Beliefs, sizes: list[int]) -> Beliefs:
        """Extend a posterior to larger factors, with zero means and small covariances for the new rows."""
        covariances, *variances = coupled.extended([position.covariances, *position.variances], sizes)
        covariances[:-1][np.einsum("nrr->n", covariances[:-1]) == 0] = SPREAD * np.eye(self.rank) / self.rank
        for t, variance in enumerate(variances):
            for part in coupled.parts(t):
                variance[part][variance[part] == 0] = SPREAD
        means = coupled.extended(position.means, sizes)
        return replace(position, means=means, covariances=covariances, variances=variances)

    def _improved(self, coupled: CoupledTables, start: Beliefs, max_iter: int, tol: float) -> Beliefs:
        solver = variational(coupled, start, prior=GammaPrior(self.shape, self.rate), threads=self._threads)
        arrays = self._keep(run(solver, max_iter=max_iter, tol=tol, callback=self.callback))
        self.bound_ = -self.history_[-1]
        return Beliefs.of(arrays, len(coupled.terms), len(coupled.sizes))

    def _givens(self, coupled: CoupledTables, s: int, row: int) -> Iterator[Given]:
        del row
        q = self.beliefs_
        squares = [moments(coupled, q, t, self._threads)[1] for t in range(len(coupled.terms))]
        yield Given(q.means, q.alphas.tolist(), np.diag(q.relevance[s]), np.zeros(self.rank), q.covariances, squares)

    def _take(self, position: Beliefs) -> None:
        self.beliefs_, self.state_ = position, position.means

    @property
    def relevance_(self) -> dict[str, Array]:
        """Share of each component in the sum of squared posterior means, by entity type."""
        squares = {entity: (U**2).sum(axis=0) for entity, U in self.factors_.items()}
        return {entity: values / (values.sum() or 1.0) for entity, values in squares.items()}

    def _distribution(self, relation: str, indices: AnyArray) -> Prediction:
        q = self.beliefs_
        t, types = list(self.database_.relations).index(relation), list(self.database_.sizes)
        table = self.database_.relations[relation]
        starts = np.cumsum([0, *self.database_.sizes.values()])
        stacked = indices + [starts[types.index(e)] for e in table.entities]
        product, square = row_moments(stacked, RandomRows(q.means[0], q.covariances), threads=self._threads)
        mean = product + self._biases(relation, indices, q.means[1 + t])
        variance = square - product**2 + self._biases(relation, indices, q.variances[t])
        noise, scale = 1 / q.alphas[t] if table.loss == "squared" else 0.0, self.database_.units[relation].scale
        return Prediction(self._in_units(relation, mean, variance), scale * np.sqrt(np.maximum(variance, 0) + noise))


SWEEPS = 10  # sweeps of point estimates before variational ones; from 10 on the bound of ratings was highest
SPREAD = 0.1  # initial variance of rows (divided by the rank) and biases: small, but positive so that the bound exists


class GammaPrior(NamedTuple):
    """Shape and rate of the gamma prior on precisions."""

    shape: float = 1.0
    rate: float = 1.0


@dataclass
class Beliefs:
    """Parameters of the variational posterior; precisions are expected values."""

    means: State
    covariances: Array  # shape (rows of the stack, R, R)
    variances: list[Array]  # of intercepts (zero) and biases, by table
    relevance: list[Array]  # precision of each component, by factor
    bias_precisions: list[Array]  # by table and mode; empty without biases
    alphas: Array  # precision of the noise by table; 1 unless the loss is squared

    def arrays(self) -> list[Array]:
        """Return copies of all parameters in a flat list."""
        parts = [*self.means, self.covariances, *self.variances, *self.relevance, *self.bias_precisions, self.alphas]
        return [part.copy() for part in parts]

    @classmethod
    def of(cls, arrays: Sequence[Array], tables: int, factors: int) -> Beliefs:
        """Restore the parameters from a list returned by :meth:`arrays`."""
        ends = np.cumsum([1 + tables, 1, tables, factors, tables]).tolist()
        means, covariances, variances, relevance, precisions, alphas = (
            list(arrays[a:b]) for a, b in zip([0, *ends], [*ends, len(arrays)], strict=True)
        )
        return cls(means, covariances[0], variances, relevance, precisions, alphas[0])


def beliefs(coupled: CoupledTables, rank: int, rng: np.random.Generator, *, prior: GammaPrior, threads: int) -> Beliefs:
    """Initialize the variational posterior with point estimates as means and with small covariances."""
    scattered = coupled.start(rank, rng, scale=1.0)
    ridges = [1.0] * len(coupled.sizes)
    points = run(collective(coupled, scattered, ridges=ridges, bias_ridge=1.0, threads=threads), max_iter=SWEEPS)
    if points.interrupted:
        raise KeyboardInterrupt
    means = points.factors
    size = coupled.offsets[-1] + 1
    covariances = np.broadcast_to(SPREAD * np.eye(rank) / rank, (size, rank, rank)).copy()
    covariances[-1] = 0
    variances, first = [np.where(np.arange(len(part)), SPREAD, 0.0) for part in means[1:]], prior.shape / prior.rate
    relevance = [np.full(rank, first) for _ in coupled.sizes]
    precisions = [np.full(len(coupled.parts(t)), first) for t in range(len(coupled.terms))]
    return Beliefs(means, covariances, variances, relevance, precisions, np.ones(len(coupled.terms)))


def variational(coupled: CoupledTables, start: Beliefs, *, prior: GammaPrior, threads: int) -> Iterator[Sweep]:
    """Iterate over sweeps of coordinate ascent, each with :meth:`Beliefs.arrays` and the negative lower bound."""
    for term in coupled.terms:
        if isinstance(term.loss, Huber):
            about = "the variational method does not support Huber loss,"
            raise InputError(f"{about} which defines no likelihood; use squared loss")
    q = Beliefs.of(start.arrays(), len(coupled.terms), len(coupled.sizes))
    tables = range(len(coupled.terms))
    known = [moments(coupled, q, t, threads) for t in tables]
    while True:
        yield Sweep(q.arrays(), -_bound(coupled, q, known, prior))
        c, y = curves(coupled, [m for m, _ in known], [square for _, square in known])
        c, y = ([q.alphas[t] * values[t] for t in tables] for values in (c, y))
        for s in range(len(coupled.sizes)):
            precision, alphas = np.diag(q.relevance[s]), q.alphas.tolist()
            if any(coupled.zeros):
                precision = precision + coupled.zero_precision(s, coupled.grams(q.means[0], q.covariances), alphas)
            entries, stack = coupled.equations(s, c, y, q.means[1:], alphas), RandomRows(q.means[0], q.covariances)
            out = RandomRows(*(coupled.free_rows(part, s) for part in stack))
            one_by_one = coupled.factor_entries[s].sequential
            variational_rows(entries, stack, out, precision=precision, threads=1 if one_by_one else threads)
            if not coupled.folds:
                q.relevance[s] = (prior.shape + coupled.sizes[s] / 2) / (prior.rate + _squares(coupled, q, s) / 2)
        for t in tables:
            m = coupled.products(q.means[0], t, threads) + coupled.biases(q.means[1 + t], t)
            _improve_biases(coupled, q, t, c[t], y[t], m, prior)
        known = [moments(coupled, q, t, threads) for t in tables]
        for t, term in enumerate(coupled.terms):
            if isinstance(term.loss, Squared) and not coupled.folds:
                number, squares = _residual(coupled, q, t, known[t])
                q.alphas[t] = (prior.shape + number / 2) / (prior.rate + squares / 2)


def moments(coupled: CoupledTables, q: Beliefs, t: int, threads: int) -> tuple[Array, Array]:
    """Return the mean and the expected square of the prediction for each observed entry of a table."""
    product, square = row_moments(coupled.indices[t], RandomRows(q.means[0], q.covariances), threads=threads)
    mean = product + coupled.biases(q.means[1 + t], t)
    return mean, square - product**2 + coupled.biases(q.variances[t], t) + mean**2


def _squares(coupled: CoupledTables, q: Beliefs, s: int) -> Array:
    """Return the expected sum of squares of each column of a factor."""
    spread = coupled.factor(q.covariances, s)
    return np.asarray((coupled.factor(q.means[0], s) ** 2).sum(axis=0) + np.einsum("nrr->r", spread))


def _improve_biases(
    coupled: CoupledTables, q: Beliefs, t: int, c: Array, y: Array, m: Array, prior: GammaPrior
) -> None:
    """Update the intercept of a table, then the biases and their precision for each mode in turn."""
    if coupled.zeros[t]:
        return
    offsets, variances = q.means[1 + t], q.variances[t]
    if not coupled.folds:
        moved = float((y - c * (m - offsets[0])).sum() / c.sum())
        m += moved - offsets[0]
        offsets[0] = moved
    for d, (part, slot, index) in enumerate(coupled.modes(t)):
        size, before, first = part.stop - part.start, offsets[part][index], coupled.fixed[slot]
        precision = np.bincount(index, c, minlength=size) + q.bias_precisions[t][d]
        found = np.bincount(index, y - c * (m - before), minlength=size) / precision
        offsets[part][first:], variances[part][first:] = found[first:], 1 / precision[first:]
        m += offsets[part][index] - before
        if coupled.folds:
            continue
        squares = float((offsets[part] ** 2 + variances[part]).sum())
        q.bias_precisions[t][d] = (prior.shape + size / 2) / (prior.rate + squares / 2)


def _residual(coupled: CoupledTables, q: Beliefs, t: int, moments: tuple[Array, Array]) -> tuple[float, float]:
    """Return the weighted number of observations of a table and the expected sum of squared residuals."""
    w, x, z = coupled.weights[t], coupled.values[t], coupled.zeros[t]
    mean, square = moments
    number, squares = float(w.sum()), float(w @ (x * x - 2 * x * mean + square))
    if z:
        number += z * (float(np.prod(coupled.terms[t].entries.shape)) - len(x))
        squares += z * (coupled.all_squares(t, coupled.grams(q.means[0], q.covariances)) - float(square.sum()))
    return number, squares


def _bound(coupled: CoupledTables, q: Beliefs, moments: Sequence[tuple[Array, Array]], prior: GammaPrior) -> float:
    """Return the evidence lower bound."""
    total = 0.0
    for t, term in enumerate(coupled.terms):
        mean, square = moments[t]
        w, x = coupled.weights[t], coupled.values[t]
        if isinstance(term.loss, Squared):
            number, squares = _residual(coupled, q, t, moments[t])
            a = prior.shape + number / 2
            total += _gamma_bound(a, q.alphas[t], prior, number) - 0.5 * q.alphas[t] * squares
            total -= 0.5 * number * np.log(2 * np.pi)
        elif isinstance(term.loss, Logistic):
            xi = np.sqrt(square)
            total += float(w @ ((x - 0.5) * mean - np.logaddexp(xi / 2, -xi / 2)))
        elif isinstance(term.loss, SoftplusPoisson):
            kappa = 0.25 + 0.17 * x
            total -= float(w @ (term.loss.value(x, mean) + 0.5 * kappa * (square - mean**2)))
            total -= float(w @ (x - xlogy(x, x) + gammaln(x + 1)))  # constants of the likelihood that the loss omits
        for d, part in enumerate(coupled.parts(t)):
            b, v, rho = q.means[1 + t][part], q.variances[t][part], q.bias_precisions[t][d]
            total += _gamma_bound(prior.shape + len(b) / 2, rho, prior, len(b)) - 0.5 * rho * float((b * b + v).sum())
            total += 0.5 * float(np.log(v).sum()) + 0.5 * len(b)
    for s, size in enumerate(coupled.sizes):
        for a, squares in zip(q.relevance[s], _squares(coupled, q, s), strict=True):
            total += _gamma_bound(prior.shape + size / 2, a, prior, size) - 0.5 * a * squares
        total += 0.5 * float(np.linalg.slogdet(coupled.factor(q.covariances, s))[1].sum())
        total += 0.5 * size * len(q.relevance[s])
    return float(total)


def _gamma_bound(shape: float, mean: float, prior: GammaPrior, number: float) -> float:
    r"""Return :math:`E[\tfrac{n}{2} \log \alpha + \log p(\alpha)]` plus the entropy of a precision :math:`\alpha`."""
    rate = shape / mean
    log = digamma(shape) - np.log(rate)
    before = prior.shape * np.log(prior.rate) - gammaln(prior.shape) + (prior.shape - 1) * log - prior.rate * mean
    entropy = shape - np.log(rate) + gammaln(shape) + (1 - shape) * digamma(shape)
    return float(number / 2 * log + before + entropy)
