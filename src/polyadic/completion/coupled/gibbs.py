r"""Gibbs sampling of the factors and biases of coupled tables, as a resumable Markov chain.

Rows of a factor share a normal prior with a Normal-Wishart hyperprior; each table has its own noise:

.. math:: x \sim N(m, \alpha_t^{-1}) \ \text{or}\ P(x = 1) = \sigma(m), \quad u_i \sim N(\mu, \Lambda^{-1}), \quad
          \mu \sim N(0, (\beta_0 \Lambda)^{-1}), \quad \Lambda \sim W(I, R), \quad b_i \sim N(0, \rho^{-1}), \quad
          \alpha_t, \rho \sim \Gamma(a_0, b_0)

Each variable is drawn from its conditional distribution. Logistic likelihoods become normal given Polya-Gamma variables
(:func:`polyadic.core.kernels.polya_gamma`). Zeros of weight :math:`z` count as observations of weight z.

References
----------
Salakhutdinov, Mnih (2008), Bayesian probabilistic matrix factorization using Markov chain Monte Carlo, eq. 7 to 14.
Polson, Scott, Windle (2013), Bayesian inference for logistic models using Polya-Gamma latent variables, section 3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.annotations import Array
from polyadic.core.errors import InputError, check_number
from polyadic.core.kernels import polya_gamma, posterior_rows
from polyadic.core.losses import Logistic, Squared
from polyadic.core.progress import tracked
from polyadic.core.resources import check_memory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from polyadic.completion.coupled.coupled_tables import CoupledTables, State


@dataclass(frozen=True)
class Priors:
    """Hyperparameters of the priors of factors, biases, intercepts and noise."""

    beta: float = 2.0  # number of pseudo-observations of the prior mean 0
    shape: float = 1.0  # a_0 and b_0 of the precisions of noise and biases
    rate: float = 1.0
    intercept: float = 0.0  # prior precision of intercepts around 0; 0 is a flat prior

    def __post_init__(self) -> None:
        for name in ("beta", "shape", "rate"):
            check_number(name, getattr(self, name), above=True)
        check_number("intercept", self.intercept)


class Draw(NamedTuple):
    """State of the Markov chain: factors, biases and noise precisions."""

    state: State
    alphas: Array  # precision of the noise of each table; 1 for truth values


def draw_prior(U: Array, priors: Priors, rng: np.random.Generator) -> tuple[Array, Array]:
    r"""Sample the prior mean :math:`\mu`, (R,), and precision :math:`\Lambda`, (R, R), given the rows of a factor."""
    n, R = U.shape
    mean, scale = _prior_of(U, priors)
    precision = wishart(scale, R + n, rng)
    spread = np.linalg.cholesky((priors.beta + n) * precision)
    mu = mean + np.linalg.solve(spread.T, rng.standard_normal(R))
    return mu, precision


def expected_prior(U: Array, priors: Priors) -> tuple[Array, Array]:
    """Return the expected values of the prior mean and precision that :func:`draw_prior` samples."""
    mean, scale = _prior_of(U, priors)
    return mean, sum(U.shape) * scale


def _prior_of(U: Array, priors: Priors) -> tuple[Array, Array]:
    """Return the mean and the Wishart scale of the prior of a factor, conditional on the rows of the factor."""
    n, R = U.shape
    mean = U.mean(axis=0)
    centred = U - mean
    weight = priors.beta * n / (priors.beta + n)
    scatter = np.eye(R) + centred.T @ centred + weight * np.outer(mean, mean)
    return n * mean / (priors.beta + n), np.linalg.inv(scatter)


def wishart(scale: Array, freedom: float, rng: np.random.Generator) -> Array:
    """Sample from a Wishart distribution with mean ``freedom * scale`` by Bartlett's decomposition."""
    R = len(scale)
    A = np.tril(rng.standard_normal((R, R)), -1)
    A[np.diag_indices(R)] = np.sqrt(rng.chisquare(freedom - np.arange(R)))
    X = np.linalg.cholesky((scale + scale.T) / 2) @ A
    return np.asarray(X @ X.T)


def gibbs(
    coupled: CoupledTables, start: Draw, *, priors: Priors, rng: np.random.Generator, threads: int
) -> Iterator[Draw]:
    """Yield the states of a Gibbs sampler for tables with squared loss or unweighted logistic loss."""
    _check(coupled)
    state, alphas = [np.array(part) for part in start.state], np.array(start.alphas)
    tables = range(len(coupled.terms))
    while True:
        c, y = [], []
        for t in tables:  # precisions and linear terms of the Gaussian likelihoods of the entries
            w, x = coupled.weights[t], coupled.values[t]
            if isinstance(coupled.terms[t].loss, Squared):
                c.append(alphas[t] * w)
                y.append(alphas[t] * w * x)
            else:
                m = coupled.products(state[0], t, threads) + coupled.biases(state[1 + t], t)
                c.append(polya_gamma(m, rng))
                y.append(x - 0.5)
        for s in range(len(coupled.sizes)):
            stack, out = state[0], coupled.free_rows(state[0], s)
            mu, precision = draw_prior(coupled.factor(stack, s), priors, rng)
            total = precision
            if any(coupled.zeros):
                total = precision + coupled.zero_precision(s, coupled.grams(stack), alphas.tolist())
            how: dict[str, Any] = {"linear": precision @ mu, "noise": rng.standard_normal(out.shape), "out": out}
            how["threads"] = 1 if coupled.factor_entries[s].sequential else threads
            entries = coupled.equations(s, c, y, state[1:], alphas.tolist())
            posterior_rows(entries, stack, precision=total, **how)
        for t in tables:
            m = coupled.products(state[0], t, threads) + coupled.biases(state[1 + t], t)
            _draw_biases(coupled, state, t, c[t], y[t], m, priors, rng)
            if isinstance(coupled.terms[t].loss, Squared) and not coupled.folds:
                alphas[t] = _draw_noise(coupled, state, t, m, priors, rng)
        yield Draw([part.copy() for part in state], alphas.copy())


def _draw_biases(
    coupled: CoupledTables, state: State, t: int, c: Array, y: Array, m: Array, priors: Priors, rng: np.random.Generator
) -> None:
    """Sample the intercept of a table, then the precision and the biases of each mode in turn."""
    if coupled.zeros[t]:
        return
    offsets = state[1 + t]
    if not coupled.folds:
        precision = float(c.sum()) + priors.intercept
        moved = float((y - c * (m - offsets[0])).sum() / precision + rng.standard_normal() / np.sqrt(precision))
        m += moved - offsets[0]
        offsets[0] = moved
    for part, slot, index in coupled.modes(t):
        b, first = offsets[part], coupled.fixed[slot]
        rho = rng.gamma(priors.shape + len(b) / 2, 1 / (priors.rate + float(b @ b) / 2))
        before = b[index]
        known = np.bincount(index, c, minlength=len(b)) + rho
        right = np.bincount(index, y - c * (m - before), minlength=len(b))
        b[first:] = (right / known + rng.standard_normal(len(b)) / np.sqrt(known))[first:]
        m += offsets[part][index] - before


def _draw_noise(
    coupled: CoupledTables, state: State, t: int, m: Array, priors: Priors, rng: np.random.Generator
) -> float:
    """Sample the noise precision of a table given the predictions for its entries."""
    w, z = coupled.weights[t], coupled.zeros[t]
    number, squares = float(w.sum()), float(w @ (coupled.values[t] - m) ** 2)
    if z:
        number += z * (float(np.prod(coupled.terms[t].entries.shape)) - len(m))
        squares += z * (coupled.all_squares(t, coupled.grams(state[0])) - float(m @ m))
    return float(rng.gamma(priors.shape + number / 2, 1 / (priors.rate + squares / 2)))


def _check(coupled: CoupledTables) -> None:
    for t, term in enumerate(coupled.terms):
        if not isinstance(term.loss, Squared | Logistic):
            got = f"{type(term.loss).__name__}; use variational Bayes for counts"
            raise InputError(f"Gibbs sampling supports only squared and logistic losses; got {got}")
        if isinstance(term.loss, Logistic) and (coupled.weights[t] != 1).any():
            raise InputError("weights must be 1 for logistic loss with Gibbs sampling; leave out the weights")


class Average:
    """Running mean and variance of samples, computed without storing the samples.

    >>> average = Average()
    >>> for draw in ([1.0, 5.0], [3.0, 5.0]):
    ...     average.add(draw)
    >>> average.mean.tolist(), average.variance.tolist()
    ([2.0, 5.0], [1.0, 0.0])
    """

    def __init__(self) -> None:
        self.count = 0
        self.mean: Array = np.zeros(0)
        self._squares: Array = np.zeros(0)

    def add(self, values: ArrayLike) -> None:
        """Update the running mean and variance with a sample (Welford, 1962)."""
        x = np.asarray(values, float)
        if not self.count:
            self.mean, self._squares = np.zeros_like(x), np.zeros_like(x)
        self.count += 1
        away = x - self.mean
        self.mean = self.mean + away / self.count
        self._squares = self._squares + away * (x - self.mean)

    @property
    def variance(self) -> Array:
        """Variance of the samples added so far."""
        return np.asarray(self._squares / max(self.count, 1))


class Memory(NamedTuple):
    """State from which a Markov chain can be resumed."""

    last: Draw
    draws: list[Draw]  # stored samples
    every: int  # thinning interval
    made: int  # number of draws after burn-in
    sweeps: int  # number of all sweeps
    rng: dict[str, Any]  # state of the random generator


class MarkovChain:
    """Resumable Markov chain that stores evenly spaced posterior samples.

    ``begin`` yields the states of the chain from an initial state, with random numbers only from ``rng``, which the
    chain owns. It stores at most ``n_samples`` ``draws``, in single precision; ``made`` counts the sweeps after
    burn-in, and ``interrupted`` says whether Ctrl-C ended the last run.
    """

    def __init__(
        self, begin: Callable[[Draw], Iterator[Draw]], start: Draw, rng: np.random.Generator, *, n_samples: int
    ) -> None:
        self.last, self._rng, self._random = start, rng, rng.bit_generator.state
        self._begin, self._solver = begin, begin(start)
        self._n_samples, self._every = n_samples, 1
        self.draws: list[Draw] = []
        self.sweeps = self.made = 0
        self.interrupted = False

    @classmethod
    def of(
        cls, coupled: CoupledTables, start: Draw, rng: np.random.Generator, *, n_samples: int, **how: Any
    ) -> MarkovChain:
        """Start a Markov chain over the factors of coupled tables, with the priors and threads of :func:`gibbs`."""
        return cls(partial(gibbs, coupled, rng=rng, **how), start, rng, n_samples=n_samples)

    @classmethod
    def resumed(cls, coupled: CoupledTables, memory: Memory, **how: Any) -> MarkovChain:
        """Resume a chain for the same tables from :meth:`memory`, as if it had not been interrupted."""
        rng = np.random.default_rng()
        rng.bit_generator.state = memory.rng
        chain = cls.of(coupled, memory.last, rng, **how)
        chain.draws, chain._every, chain.made, chain.sweeps = list(memory.draws), *memory[2:5]  # noqa: SLF001 its own
        return chain

    def memory(self) -> Memory:
        """Return the state from which the chain can be resumed."""
        return Memory(self.last, self.draws, self._every, self.made, self.sweeps, dict(self._random))

    def run(self, draws: int, *, burn_in: int = 0, seen: Callable[[Draw], None]) -> None:
        """Run burn-in sweeps, then draw samples and pass each to ``seen``; Ctrl-C keeps those drawn so far."""
        new = min(self._n_samples, len(self.draws) + draws) - len(self.draws)
        check_memory(4.0 * new * sum(part.size for part in self.last.state), "the stored samples", "store fewer")
        self.interrupted = False
        try:
            for sweep in tracked(range(burn_in + draws), "sampling", total=burn_in + draws):
                last = next(self._solver)
                if not all(np.isfinite(part).all() for part in (*last.state, last.alphas)):
                    advice = "rescale the data"
                    raise InputError(f"the sample of sweep {self.sweeps + 1} contains infinite or NaN values; {advice}")
                self.last, self._random = last, self._rng.bit_generator.state
                self.sweeps += 1
                if sweep >= burn_in:
                    self._keep(last)
                    seen(last)
        except KeyboardInterrupt:
            self._rng.bit_generator.state = self._random  # the interrupted sweep will be repeated
            self._solver = self._begin(self.last)
            if not self.made:
                raise
            self.interrupted = True

    def _keep(self, draw: Draw) -> None:
        """Store every n-th sample; when storage is full, discard every second sample and double the interval n."""
        if self._n_samples and self.made % self._every == 0:
            self.draws.append(Draw([part.astype(np.float32) for part in draw.state], draw.alphas.copy()))
            if len(self.draws) > self._n_samples:
                self.draws = self.draws[::2]
                self._every *= 2
        self.made += 1
