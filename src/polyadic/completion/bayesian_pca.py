"""Bayesian matrix factorization for exponential families by Hamiltonian Monte Carlo."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal, Self

import numpy as np

from polyadic.completion.base import DistributionModel
from polyadic.completion.cells import ObservedEntries, Prediction
from polyadic.completion.coupled.gibbs import Average
from polyadic.completion.generalized_pca import FAMILIES, cells_within
from polyadic.core.annotations import Array, Ints
from polyadic.core.entries import Entries
from polyadic.core.forms import CP
from polyadic.core.model import Count, Natural, Seed, Threads, Within
from polyadic.core.objective import Objective, Term
from polyadic.core.penalties import L2
from polyadic.core.progress import tracked
from polyadic.core.resources import check_memory
from polyadic.core.solvers.nuts import nuts

INTERCEPT = 5.0  # standard deviation of the prior of the intercept


class BayesianGeneralizedPCA(DistributionModel):
    r"""Bayesian matrix factorization for exponential families by Hamiltonian Monte Carlo.

    .. math:: x_{ij} \sim p(x \mid m_{ij}), \qquad
              m_{ij} = c + s_a a_i + s_b b_j + \sum_r s_r u_{ir} v_{jr}, \qquad
              a_i, b_j, u_{ir}, v_{jr} \sim N(0, 1), \quad s_\cdot, \sigma \sim N_+(0, 1), \quad c \sim N(0, 5^2)

    The values are normal with mean m and standard deviation :math:`\sigma` (normal), 1 with probability
    :math:`1 / (1 + e^{-m})` (bernoulli), or counts with mean :math:`e^m` (poisson). All unknowns are sampled together
    by :func:`~polyadic.core.solvers.nuts.nuts`. The model is that of Mohamed, Heller and Ghahramani with normal instead
    of conjugate priors of the column factors, and with biases. Normal values are standardized internally. Predictive
    deviations of other values are those of m.

    For normal values, :class:`~polyadic.completion.bayesian.BayesianMatrixFactorization` is faster.

    Parameters
    ----------
    family : {"normal", "bernoulli", "poisson"}
        Distribution of the values.
    burn_in : int
        Number of initial transitions that adapt the sampler and are discarded.
    max_depth : int
        A transition takes at most :math:`2^{\mathtt{max\_depth}} - 1` leapfrog steps.

    Attributes
    ----------
    row_factors_, column_factors_ : ndarray of shape (samples, rows, rank + 2) and (samples, columns, rank + 2)
        Stored samples: :math:`m_{ij}` is the product of a row and a column, whose last two entries contain the biases.
    noise_, mean_, scale_ : ndarray of shape (samples,), float, float
        Standard deviation of the noise of normal values in each stored sample, and mean and standard deviation by which
        they are standardized; 0, 0 and 1 for other families.
    log_density_, n_steps_ : ndarray of shape (draws,)
        Log density of each draw, up to a constant, and number of leapfrog steps of the transition.
    n_diverged_, interrupted_ : int, bool
        Number of diverged transitions after burn-in: if it is not 0, the samples may miss a part of the posterior. And
        whether Ctrl-C ended the sampling early; samples drawn before are kept.

    References
    ----------
    Mohamed, Heller, Ghahramani (2009), Bayesian exponential family PCA. Hoffman, Gelman (2014), The no-U-turn sampler.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.outer(rng.choice([-1, 1], 20), rng.choice([-1, 1], 15)) > 0
    >>> known = np.where(rng.random(x.shape) < 0.7, x, np.nan)
    >>> model = BayesianGeneralizedPCA(1, family="bernoulli", burn_in=100, draws=50, seed=0).fit(known)
    >>> i, j = np.nonzero(np.isnan(known))
    >>> bool(((model.predict(i, j) > 0.5) == x[i, j]).mean() > 0.95)
    True
    """

    rank: Count = 10
    _: KW_ONLY
    family: Literal["normal", "bernoulli", "poisson"] = "normal"
    burn_in: Natural = 300
    draws: Count = 200
    n_samples: Count = 100
    max_depth: Annotated[int, Within(1, 15)] = 6
    seed: Seed = None
    threads: Threads = None

    def _read(self, X: Any, *, empty: bool = False) -> ObservedEntries:
        return cells_within(X, self.family, empty=empty)

    def _fit(self, known: ObservedEntries) -> Self:
        rng, normal = np.random.default_rng(self.seed), self.family == "normal"
        spread = float(known.values.std()) if normal and np.ptp(known.values) else 1.0
        self.mean_, self.scale_ = float(known.values.mean()) if normal else 0.0, spread
        values = (known.values - self.mean_) / spread
        entries = Entries(known.indices, values, known.shape, unobserved="missing")
        posterior = Posterior(entries, self.family, self.rank, threads=self._threads)
        places = {*np.linspace(0, self.draws - 1, min(self.n_samples, self.draws)).round().astype(int).tolist()}
        size = sum(known.shape) * (self.rank + 2)
        check_memory(4.0 * size * len(places), "the stored samples", "store fewer samples")
        chain = nuts(posterior, posterior.start(rng), rng, warmup=self.burn_in, max_depth=self.max_depth)
        made, stored = [], []
        self.interrupted_ = False
        try:
            for at in tracked(range(-self.burn_in, self.draws), "sampling", total=self.burn_in + self.draws):
                transition = next(chain)
                if at >= 0:
                    made.append((transition.log_density, transition.n_steps, transition.diverged))
                if at in places:
                    stored.append(posterior.unpacked(transition.position))
        except KeyboardInterrupt:
            if not stored:
                raise
            self.interrupted_ = True
        E, F, noise = zip(*stored, strict=True)
        self.row_factors_, self.column_factors_ = np.array(E, np.float32), np.array(F, np.float32)
        self.noise_ = np.array(noise) * spread if normal else np.zeros(len(noise))
        self.log_density_, self.n_steps_, diverged = map(np.array, zip(*made, strict=True))
        self.n_diverged_ = int(diverged.sum())
        return self

    @property
    def _shape(self) -> tuple[int, int]:
        return self.row_factors_.shape[1], self.column_factors_.shape[1]

    def _distribution(self, i: Ints, j: Ints) -> Prediction:
        means, products = Average(), Average()
        for E, F in zip(self.row_factors_, self.column_factors_, strict=True):
            m = self.mean_ + self.scale_ * np.einsum("nr,nr->n", E[i], F[j], dtype=float)
            products.add(m)
            means.add(FAMILIES[self.family].mean(m))
        return Prediction(means.mean, np.sqrt(products.variance + np.mean(self.noise_**2)))


class Posterior:
    """Log density of all unknowns given the observed cells, with its gradient, as a function of a vector.

    The vector contains row factors, column factors, row biases, column biases, the logarithms of the scales of these
    and, for normal values, of the noise; and the intercept.
    """

    def __init__(self, entries: Entries, family: str, rank: int, *, threads: int) -> None:
        term = Term(entries, CP(), FAMILIES[family].loss, (0, 1))
        self._likelihood = Objective([term], [L2(0.0)] * 2, threads=threads)
        self._normal, self._rank, self._number = family == "normal", rank, len(entries.values)
        n, m = entries.shape
        self._ends = np.cumsum([n * rank, m * rank, n, m, rank + 2 + self._normal, 1])

    def start(self, rng: np.random.Generator) -> Array:
        """Return a random position near zero."""
        return np.asarray(0.1 * rng.standard_normal(self._ends[-1]))

    def _parts(self, q: Array) -> list[Array]:
        U, V, *rest = np.split(q, self._ends[:-1])
        return [U.reshape(-1, self._rank), V.reshape(-1, self._rank), *rest]

    def unpacked(self, q: Array) -> tuple[Array, Array, float]:
        """Return the factors E and F, whose products are m, and the noise."""
        U, V, a, b, logs, (c,) = self._parts(q)
        s, R = np.exp(logs), self._rank
        E = np.column_stack([U * s[:R], s[R] * a + c, np.ones(len(U))])
        return E, np.column_stack([V, np.ones(len(V)), s[R + 1] * b]), float(s[-1]) if self._normal else 1.0

    def __call__(self, q: Array) -> tuple[float, Array]:
        """Return the log density, up to a constant, and its gradient."""
        U, _, a, b, logs, (c,) = self._parts(q)
        s, R, free = np.exp(logs), self._rank, self._ends[3]
        E, F, _ = self.unpacked(q)
        loss, slopes = self._likelihood.value_and_gradient([E, F])
        weight = np.exp(-2 * logs[-1]) if self._normal else 1.0
        dE, dF = (-weight * slope for slope in slopes)
        scales = [*(s[:R] * np.einsum("nr,nr->r", dE[:, :R], U)), s[R] * dE[:, R] @ a, s[R + 1] * dF[:, R + 1] @ b]
        value = -weight * loss - 0.5 * float(q[:free] @ q[:free]) - 0.5 * (c / INTERCEPT) ** 2
        value += float((logs - 0.5 * s**2).sum())
        if self._normal:
            value -= self._number * float(logs[-1])
            scales.append(2 * weight * loss - self._number)
        likelihood = [dE[:, :R] * s[:R], dF[:, :R], s[R] * dE[:, R], s[R + 1] * dF[:, R + 1]]
        gradient = np.concatenate([part.ravel() for part in likelihood]) - q[:free]
        last = [np.array(scales) + 1 - s**2, [dE[:, R].sum() - c / INTERCEPT**2]]
        return float(value), np.concatenate([gradient, *last])
