"""Bayesian matrix factorization by Gibbs sampling, with the uncertainty of predictions."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.base import DistributionModel, check_grown, grown
from polyadic.completion.cells import ObservedEntries, Prediction, cells_of, compared
from polyadic.completion.coupled.coupled_tables import CoupledTables
from polyadic.completion.coupled.gibbs import Average, Draw, MarkovChain, Memory, Priors, draw_prior
from polyadic.core.annotations import Array, Ints
from polyadic.core.containers import match_columns
from polyadic.core.entries import Entries
from polyadic.core.errors import check_int
from polyadic.core.forms import CP
from polyadic.core.kernels import RowEntries, posterior_rows
from polyadic.core.losses import Squared
from polyadic.core.model import Count, Natural, Seed, Threads, learned
from polyadic.core.objective import Term


class BayesianMatrixFactorization(DistributionModel):
    """Bayesian matrix factorization by Gibbs sampling.

    The sampler is :mod:`polyadic.completion.coupled.gibbs`. Observed cells are standardized internally. Predictions are
    means over posterior samples, and their spread plus the noise is the uncertainty. For several tables see
    :class:`~polyadic.completion.coupled.bayesian.BayesianFactorization`.

    Attributes
    ----------
    memory_, known_ : Memory, ObservedEntries
        State of the chain, and observed cells. Its ``draws`` are for values standardized by ``mean_`` and ``scale_``.
    noise_, mean_, scale_ : float
        Posterior mean of the standard deviation of the noise, ``noise_average_`` in units of ``scale_``; and mean and
        standard deviation of the observed cells, 1 if all are equal.
    known_rows_, known_columns_ : ndarray of bool
        Rows and columns with an observed cell. Predictions for others are those of the prior.
    interrupted_ : bool
        Whether Ctrl-C ended the sampling early. Samples drawn before are kept.

    References
    ----------
    Salakhutdinov, Mnih (2008), Bayesian probabilistic matrix factorization using Markov chain Monte Carlo.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    >>> known = np.where(rng.random(x.shape) < 0.5, x, np.nan)
    >>> model = BayesianMatrixFactorization(1, seed=0).fit(known)
    >>> i, j = np.nonzero(np.isnan(known))
    >>> bool(np.abs(model.predict(i, j) - x[i, j]).mean() < 0.1)
    True
    """

    rank: Count = 10
    _: KW_ONLY
    burn_in: Natural = 20
    draws: Count = 80
    n_samples: Count = 100
    seed: Seed = None
    threads: Threads = None
    memory_: Memory = learned()

    def _fit(self, known: ObservedEntries) -> Self:
        rng = np.random.default_rng(self.seed)
        mean, scale = float(known.values.mean()), float(known.values.std()) if np.ptp(known.values) else 1.0
        coupled = _linked(known, mean, scale)
        start = Draw(coupled.start(self.rank, rng, scale=0.1), np.ones(1))
        chain, noise = MarkovChain.of(coupled, start, rng, **self._sampling), Average()
        chain.run(self.draws, burn_in=self.burn_in, seen=lambda draw: noise.add(draw.alphas**-0.5))
        self.known_, self.mean_, self.scale_ = known, mean, scale
        self.known_rows_, self.known_columns_ = (counts > 0 for counts in coupled.counts)
        return self._remember(chain, noise)

    def more(self, draws: int) -> Self:
        """Draw further samples from the Markov chain, as if ``fit`` had been called with more draws."""
        check_is_fitted(self)
        check_int("draws", draws, low=1)
        coupled, noise = _linked(self.known_, self.mean_, self.scale_), self.noise_average_
        chain = MarkovChain.resumed(coupled, self.memory_, **self._sampling)
        chain.run(draws, seen=lambda draw: noise.add(draw.alphas**-0.5))
        return self._remember(chain, noise)

    @property
    def _sampling(self) -> dict[str, Any]:
        return {"priors": Priors(), "n_samples": self.n_samples, "threads": self._threads}

    def update(self, X: Any, *, sweeps: int = 0) -> Self:
        """Update the stored posterior samples with newly observed cells.

        Each stored sample is extended to new rows and columns: rows whose cells have changed are drawn given its
        columns (equations 11 to 13), then new columns given its rows, then these rows again. With ``sweeps`` the chain
        continues from its last draw instead; a fifth of the sweeps is discarded as burn-in, and so are all earlier
        samples. Use as many as for a fit; a few tens give worse results than 0.

        X has all observed cells, with new rows and columns after those of the fit; InputError is raised without these.
        """
        check_is_fitted(self)
        self.check()
        check_int("sweeps", sweeps, low=0)
        known, rng = cells_of(X), np.random.default_rng()
        match_columns(self, X, more=True)
        check_grown(self.known_.shape, known.shape)
        rng.bit_generator.state = self.memory_.rng
        coupled = _linked(known, self.mean_, self.scale_)
        last, *draws = self._extended([self.memory_.last, *self.memory_.draws], known, rng)
        self.known_ = self._sampled(known, X)
        self.known_rows_, self.known_columns_ = (counts > 0 for counts in coupled.counts)
        if not sweeps:
            self.memory_ = self.memory_._replace(last=last, draws=draws, rng=dict(rng.bit_generator.state))
            self.interrupted_ = False
            return self
        chain, noise = MarkovChain.of(coupled, last, rng, **self._sampling), Average()
        chain.run(sweeps - sweeps // 5, burn_in=sweeps // 5, seen=lambda draw: noise.add(draw.alphas**-0.5))
        return self._remember(chain, noise)

    def _extended(self, draws: list[Draw], known: ObservedEntries, rng: np.random.Generator) -> list[Draw]:
        """Extend posterior samples to new rows and columns by sampling factors from conditional distributions."""
        sizes, standard = self.known_.shape, known.less(self.mean_)
        standard = replace(standard, values=standard.values / self.scale_)
        sides = standard, standard.turned()
        same = np.bincount(known.rows[compared(self.known_, known)[1]], minlength=known.shape[0])
        counts = np.stack([np.bincount(cells.rows, minlength=known.shape[0]) for cells in (self.known_, known)])
        rows = np.flatnonzero((same < counts).any(axis=0) | (np.arange(known.shape[0]) >= sizes[0]))
        steps = [(0, rows), (1, np.arange(sizes[1], known.shape[1])), (0, rows)]
        parts = [(side, at, sides[side].take(at)) for side, at in steps if len(at)]
        extended = []
        for draw in draws:
            stack, offsets = draw.state
            U, V = np.split(stack[:-1], [sizes[0]])
            factors = [grown(F, n) for F, n in zip((U, V), known.shape, strict=True)]
            alpha, offset = float(draw.alphas[0]), float(offsets[0])
            priors = [draw_prior(F.astype(float), Priors(), rng) for F in (U, V)]
            for side, at, cells in parts:
                mu, precision = priors[side]
                c = np.full(len(cells.values), alpha)
                entries = RowEntries(cells.starts, cells.columns, c, c * (cells.values - offset))
                how: dict[str, Any] = {"precision": precision, "linear": precision @ mu, "threads": self._threads}
                how["noise"] = rng.standard_normal((len(at), len(mu)))
                factors[side][at] = posterior_rows(entries, factors[1 - side].astype(float), **how)
            extended.append(Draw([np.concatenate([*factors, stack[-1:]]), offsets], draw.alphas))
        return extended

    def augmented(self) -> tuple[Array, Array]:
        """Return the joined factors of all stored samples, whose products are the posterior mean predictions."""
        check_is_fitted(self)
        draws, rows = self.memory_.draws, self.known_.shape[0]
        stack = np.concatenate([draw.state[0][:-1] for draw in draws], axis=1, dtype=float)
        offset = self.mean_ + self.scale_ * float(np.mean([draw.state[1][0] for draw in draws]))
        U, V = np.split(stack, [rows])
        left = np.column_stack([U * (self.scale_ / len(draws)), np.full(rows, offset)])
        return left, np.column_stack([V, np.ones(len(V))])

    @property
    def _shape(self) -> tuple[int, int]:
        return self.known_.shape

    def _distribution(self, i: Ints, j: Ints) -> Prediction:
        average = Average()
        for draw in self.memory_.draws:
            stack, offsets = draw.state
            U, V = np.split(stack[:-1], [self.known_.shape[0]])
            average.add(offsets[0] + np.einsum("nr,nr->n", U[i], V[j], dtype=float))
        spread = np.sqrt(self.scale_**2 * average.variance + self.noise_**2)
        return Prediction(self.mean_ + self.scale_ * average.mean, spread)

    def _remember(self, chain: MarkovChain, noise: Average) -> Self:
        self.memory_, self.interrupted_ = chain.memory(), chain.interrupted
        self.noise_average_, self.noise_ = noise, self.scale_ * float(noise.mean[0])
        return self


def _linked(known: ObservedEntries, mean: float, scale: float) -> CoupledTables:
    """Convert observed cells to the layout of the Gibbs sampler, with standardized values."""
    entries = Entries(known.indices, (known.values - mean) / scale, known.shape, unobserved="missing")
    return CoupledTables([Term(entries, CP(), Squared(), (0, 1))], known.shape, biased=[False])
