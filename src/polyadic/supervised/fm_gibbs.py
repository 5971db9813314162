r"""Bayesian factorization machines, fitted by Gibbs sampling.

.. math:: y \sim N(m(x), \alpha^{-1}) \ \text{or}\ P(y = 1) = \Phi(m(x)), \quad
          v_{jf} \sim N(\mu_{gf}, \lambda_{gf}^{-1}), \quad \mu_{gf} \sim N(0, (\beta_0 \lambda_{gf})^{-1}), \quad
          \alpha, \lambda_{gf} \sim \Gamma(a_0, b_0), \quad w_0 \sim N(0, \rho_0^{-1})

where feature j belongs to group g. Each variable is drawn from its conditional distribution, so the penalties are
learned, one per column and group. Binary targets are handled by normal latent variables of unit variance that are
positive where the target is true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.coupled.gibbs import Average, Draw, MarkovChain, Priors
from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.errors import InputError
from polyadic.core.model import Count, Natural
from polyadic.supervised.base import BinaryClassifier, FactorizationMachineBase
from polyadic.supervised.fm_solvers import Observed, started
from polyadic.supervised.kernels import anova_scores, anova_sweep

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class GibbsMachine(FactorizationMachineBase):
    """Base class for factorization machines fitted by Gibbs sampling.

    Predictions are means over the stored samples ``draws_``.
    """

    _: KW_ONLY
    burn_in: Natural = 20
    draws: Count = 200
    n_samples: Count = 100

    def _draw(self, data: Observed, groups: ArrayLike | None, *, probit: bool) -> float:
        """Run the Gibbs sampler, and return the posterior mean of the noise standard deviation."""
        rng, orders, threads = np.random.default_rng(self.seed), self._orders, self._threads
        which = checked_groups(groups, data.table.shape[1])
        V = started(data.table, orders, self.scale, rng)
        how: dict[str, Any] = {"orders": orders, "groups": which, "priors": PRIORS, "rng": rng, "threads": threads}
        begin = partial(draw_machines, data, probit=probit, **how)
        chain = MarkovChain(begin, first_draw(V, int(which.max(initial=0)) + 1), rng, n_samples=self.n_samples)
        noise = Average()
        chain.run(self.draws, burn_in=self.burn_in, seen=lambda draw: noise.add(draw.alphas**-0.5))
        self.draws_ = [(float(draw.state[0][0]), draw.state[1]) for draw in chain.draws]
        self.interrupted_, self.n_draws_ = chain.interrupted, chain.made
        self.penalties_ = np.mean([draw.state[3] for draw in chain.draws], axis=0)
        return float(noise.mean[0])

    def _average(self, X: Any, of: Callable[[Array], Array]) -> Average:
        """Average a function of the row scores over the posterior samples."""
        check_is_fitted(self)
        table, orders, threads = self._table(X), self._orders, self._threads
        average = Average()
        for bias, V in self.draws_:
            average.add(of(bias + anova_scores(table, np.asarray(V, float), orders=orders, threads=threads)))
        return average


class BayesianFactorizationMachine(RegressorMixin, GibbsMachine):  # type: ignore[misc]
    """Bayesian factorization machine for regression.

    The model of :class:`~polyadic.supervised.factorization_machines.FactorizationMachine`, with parameters sampled from
    their posterior by Gibbs sampling (:mod:`polyadic.supervised.fm_gibbs`) and one learned penalty per column and
    feature group. Targets are standardized internally.

    Parameters
    ----------
    clip : bool
        Clip the predictions of each posterior sample to the range of the training targets, which suits ratings.

    Attributes
    ----------
    draws_ : list of (float, ndarray of shape (features, columns))
        Stored biases and parameters, linear weights first, for targets standardized by ``mean_`` and ``scale_``.
    penalties_ : ndarray of shape (groups, columns)
        Posterior means of the precisions of the parameters.
    noise_ : float
        Posterior mean of the standard deviation of the noise.
    mean_, scale_ : float
        Mean and standard deviation of the targets.
    range_ : (float, float)
        Smallest and largest target.
    n_draws_ : int
        Number of samples drawn.
    interrupted_ : bool
        Whether Ctrl-C ended the sampling early. Samples drawn before are kept.

    References
    ----------
    Rendle (2012), Factorization machines with libFM, section 3.3 and figure 4.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 6))
    >>> y = 1 + X[:, 0] + 2 * X[:, 1] * X[:, 2]
    >>> model = BayesianFactorizationMachine(2, draws=50, seed=0).fit(X[:150], y[:150])
    >>> model.score(X[150:], y[150:]) > 0.99
    True
    """

    _: KW_ONLY
    clip: bool = False

    def fit(self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Sample the parameters from the posterior distribution given feature vectors and targets.

        Other arguments and errors are those of :meth:`FactorizationMachine.fit
        <polyadic.supervised.factorization_machines.FactorizationMachine.fit>`. ``groups`` has the group of each
        feature, such as users and films, by default one for all; features of a group share their penalties.
        """
        self.check()
        table, numbers = self._table_and_targets(X, y, reset=True, numeric=True)
        self.mean_ = float(numbers.mean())
        self.scale_ = float(numbers.std()) if np.ptp(numbers) else 1.0
        self.range_ = float(numbers.min()), float(numbers.max())
        noise = self._draw(Observed(table, (numbers - self.mean_) / self.scale_), groups, probit=False)
        self.noise_ = self.scale_ * noise
        return self

    def predict(self, X: Any, *, return_std: bool = False) -> Any:
        """Return the posterior mean of each target and, with ``return_std``, the standard deviation with the noise."""
        average = self._average(X, self._number)
        return (average.mean, np.sqrt(average.variance + self.noise_**2)) if return_std else average.mean

    def _sum(self, X: Any) -> tuple[float, Sequence[AnyArray], float]:
        if self.clip:
            raise InputError("explanations are not supported for clipped predictions; set clip to false", "clip")
        return self.predict(X)[0], [V for _, V in self.draws_], self.scale_ / len(self.draws_)

    def _number(self, m: Array) -> Array:
        numbers = self.mean_ + self.scale_ * m
        return numbers.clip(*self.range_) if self.clip else numbers


class BayesianFactorizationMachineClassifier(BinaryClassifier, GibbsMachine):
    r"""Bayesian factorization machine for two classes, :math:`P(y = 1) = \Phi(m(x))`.

    Probabilities are means over posterior samples. For more classes use ``sklearn.multiclass.OneVsRestClassifier``.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Classes. Scores are for the second.
    draws_, penalties_, n_draws_, interrupted_
        As for :class:`BayesianFactorizationMachine`.

    References
    ----------
    Rendle (2012), Factorization machines with libFM, section 3.3. Albert, Chib (1993), Bayesian analysis of binary and
    polychotomous response data, section 3.1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 4))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "alike", "apart")
    >>> model = BayesianFactorizationMachineClassifier(2, draws=50, seed=0).fit(X[:200], y[:200])
    >>> model.score(X[200:], y[200:]) > 0.9
    True
    """

    def fit(self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Sample the parameters from the posterior distribution given feature vectors and classes.

        Parameters and errors are those of :meth:`BayesianFactorizationMachine.fit`, with two classes as targets.
        """
        self.check()
        table, labels = self._table_and_targets(X, y, reset=True, numeric=False)
        self._draw(Observed(table, self._learned(labels)), groups, probit=True)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of both classes, shape (rows, 2)."""
        p = self._average(X, ndtr).mean
        return np.column_stack([1 - p, p])

    def decision_function(self, X: Any) -> Array:
        """Return the probit of the probability of the second class; 0 is the decision boundary."""
        p = self._average(X, ndtr).mean
        return np.asarray(ndtri(p.clip(1e-16, 1 - 1e-16)))


def checked_groups(groups: ArrayLike | None, features: int) -> Ints:
    """Validate feature groups, by default one for all features, and return consecutive group indices."""
    if groups is None:
        return np.zeros(features, np.int64)
    group = np.asarray(groups)
    if group.shape != (features,) or not np.issubdtype(group.dtype, np.integer) or (features and group.min() < 0):
        about = f"groups must have a non-negative integer for each of the {features} features"
        raise InputError(f"{about}; got {group!r:.80}", "groups")
    return np.asarray(np.unique(group, return_inverse=True)[1], np.int64)


PRIORS = Priors(beta=1.0, shape=0.5, rate=0.5, intercept=1.0)
"""Priors of libFM, plus one of the bias, which libFM leaves free; targets are standardized."""

MAX_CACHE_BYTES = 1 << 28
"""Maximum number of bytes of cached polynomials of all rows, updated between sweeps instead of recomputed."""


def first_draw(V: Array, groups: int) -> Draw:
    """Return the initial Gibbs state with the given parameters, zero bias and prior means, and unit precisions."""
    K = V.shape[1]
    return Draw([np.zeros(1), V, np.zeros((groups, K)), np.ones((groups, K))], np.ones(1))


def draw_machines(
    data: Observed,
    start: Draw,
    *,
    orders: Ints,
    groups: Ints,
    priors: Priors,
    probit: bool,
    rng: np.random.Generator,
    threads: int = 1,
) -> Iterator[Draw]:
    r"""Yield Gibbs samples: ``[bias, V, means, precisions]`` and the noise precision :math:`\alpha`.

    ``orders``, shape (K,), must not decrease. With ``probit``, y is 0 or 1, and :math:`\alpha` is 1.
    """
    table, y, _ = data
    bias, V = float(start.state[0][0]), start.state[1]
    means, precisions = (part.copy() for part in start.state[2:])
    W, alpha = np.ascontiguousarray(V.T, float).copy(), float(start.alphas[0])
    sizes = np.bincount(groups, minlength=len(means))
    # single precision halves memory traffic; residuals accumulate in double precision
    kept = 4 * table.shape[0] * int(orders.sum()) <= MAX_CACHE_BYTES
    shared = {d: np.zeros((table.shape[0], d), np.float32) for d in orders.tolist()}
    caches = [shared[d].copy() if kept else shared[d] for d in orders.tolist()]
    reuse_terms = False
    left = y - bias - anova_scores(table, V, orders=orders, threads=threads)
    z = y
    while True:
        if probit:
            m = z - left
            z = latent(y, m, rng)
            left = z - m
        else:
            alpha = float(rng.gamma(priors.shape + len(y) / 2, 1 / (priors.rate + float(left @ left) / 2)))
        known = alpha * len(y) + priors.intercept
        moved = (alpha * (float(left.sum()) + len(y) * bias)) / known + rng.standard_normal() / np.sqrt(known) - bias
        bias += moved
        left = left - moved
        for f, (v, C) in enumerate(zip(W, caches, strict=True)):
            precisions[:, f], means[:, f] = _draw_priors(v, groups, sizes, means[:, f], priors, rng)
            ridge = precisions[groups, f]
            C[:, 0] = before = left.astype(np.float32)
            pull, noise = ridge * means[groups, f], rng.standard_normal(len(v))
            how: dict[str, Any] = {"precision": alpha, "reuse_terms": reuse_terms, "threads": threads}
            anova_sweep(table, v, C, ridge=ridge, pull=pull, noise=noise, **how)
            left = left + (C[:, 0] - before)
        reuse_terms = kept
        state = [np.array([bias]), np.ascontiguousarray(W.T), means.copy(), precisions.copy()]
        yield Draw(state, np.array([alpha]))


def _draw_priors(
    v: Array, groups: Ints, sizes: Ints, mean: Array, priors: Priors, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Sample the precision and then the mean of the prior of each feature group."""
    squares = np.bincount(groups, (v - mean[groups]) ** 2, minlength=len(sizes)) + priors.beta * mean**2
    precision = rng.gamma(priors.shape + (sizes + 1) / 2, 1 / (priors.rate + squares / 2))
    total = np.bincount(groups, v, minlength=len(sizes))
    spread = np.sqrt(precision * (sizes + priors.beta))
    return precision, total / (sizes + priors.beta) + rng.standard_normal(len(sizes)) / spread


def latent(y: Array, m: Array, rng: np.random.Generator) -> Array:
    """Sample normal variables of mean ``m`` and variance 1, truncated to be positive where y is 1, else negative."""
    sign = 2 * y - 1
    u = np.log1p(-rng.random(len(m)))  # argument is above 0
    return np.asarray(m - sign * ndtri_exp(u + log_ndtr(sign * m)))
