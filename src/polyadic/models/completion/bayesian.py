"""Bayesian completion of a matrix: predictions with their uncertainty, and nothing to tune but the rank."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic import resources
from polyadic.data import Entries
from polyadic.errors import check_int
from polyadic.forms import CP
from polyadic.losses import Squared
from polyadic.models.base import Count, Model, Seed, Threads
from polyadic.models.completion.ratings import cells_of, pairs
from polyadic.objective import Term
from polyadic.solvers.databases.draws import Average, Chain
from polyadic.solvers.databases.gibbs import Draw, Priors
from polyadic.solvers.databases.linked import Linked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Prediction(NamedTuple):
    """Mean and standard deviation of predicted cells, noise included in the latter."""

    mean: NDArray[np.float64]
    std: NDArray[np.float64]


class BayesianMatrixFactorization(Model):
    r"""Two factors drawn again and again from their distribution given the known cells.

    The sampler is :mod:`polyadic.solvers.databases.gibbs`.
    Known cells are taken in standard deviations from their mean, as priors expect them. Predictions are means over
    draws; their spread, with the noise, is the uncertainty. Several tables:
    :class:`~polyadic.models.relations.bayesian.BayesianFactorization`.

    Parameters
    ----------
    rank : int
    burn_in, draws : int
        Sweeps before draws are kept, and draws that are made.
    kept : int
        Draws kept at most, evenly spread over those made.
    seed : int, optional
    threads : int, optional
        All cores by default; the result does not depend on them.

    Attributes
    ----------
    chain_ : Chain
        Its ``draws`` are those kept, in units of ``scale_`` from ``mean_``.
    noise_ : float
        Standard deviation of the noise, the mean over draws.
    mean_, scale_ : float
        Mean and standard deviation of the known cells; the latter 1 if all are the same.
    known_rows_, known_columns_ : ndarray of bool
        Which have a known cell; predictions of the others are those of the prior.
    interrupted_ : bool
        Whether Ctrl-C ended the draws; those made are kept.

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
    burn_in: int = 20
    draws: int = 80
    kept: int = 100
    seed: Seed = None
    threads: Threads = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw factors given the known cells of a matrix.

        Parameters
        ----------
        X : Entries, sparse matrix or array with NaN for unknown cells, of shape (rows, columns)
            Zeros that a sparse matrix lists are known.

        Raises
        ------
        InputError
            If there is no known cell, one is given twice, or a parameter is out of range.
        """
        del y
        for name, low in (("rank", 1), ("burn_in", 0), ("draws", 1), ("kept", 1)):
            check_int(name, getattr(self, name), low=low)
        threads = resources.cores() if self.threads is None else check_int("threads", self.threads, low=1)
        cells, rng = cells_of(X), np.random.default_rng(self.seed)
        self.mean_ = float(cells.values.mean())
        self.scale_ = float(cells.values.std()) if np.ptp(cells.values) else 1.0
        indices = np.column_stack([cells.rows, cells.columns])
        entries = Entries(indices, (cells.values - self.mean_) / self.scale_, cells.shape, unlisted="missing")
        self._linked = Linked([Term(entries, CP(), Squared(), (0, 1))], cells.shape, biased=[False])
        start = Draw(self._linked.start(self.rank, rng, scale=0.1), np.ones(1))
        self.chain_ = Chain(self._linked, start, rng, priors=Priors(), kept=self.kept, threads=threads)
        self._noise = Average()
        self.known_rows_, self.known_columns_ = (counts > 0 for counts in self._linked.counts)
        self.chain_.run(self.draws, burn_in=self.burn_in, seen=self._seen)
        return self._finished()

    def more(self, draws: int) -> Self:
        """Go on where the draws ended: as if ``draws`` had been that many more."""
        check_is_fitted(self)
        self.chain_.run(check_int("draws", draws, low=1), seen=self._seen)
        return self._finished()

    def predict(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Give the expected values of cells, known or not."""
        return self.predict_distribution(rows, columns).mean

    def predict_distribution(self, rows: ArrayLike, columns: ArrayLike) -> Prediction:
        """Give the expected values of cells and their standard deviations."""
        check_is_fitted(self)
        i, j = pairs(rows, columns, (self._linked.sizes[0], self._linked.sizes[1]))
        average = Average()
        for draw in self.chain_.draws:
            stack, offsets = draw.state
            U, V = (self._linked.factor(stack, s) for s in (0, 1))
            average.add(offsets[0] + np.einsum("nr,nr->n", U[i], V[j], dtype=float))
        spread = np.sqrt(self.scale_**2 * average.variance + self.noise_**2)
        return Prediction(self.mean_ + self.scale_ * average.mean, spread)

    def _seen(self, draw: Draw) -> None:
        self._noise.add(draw.alphas**-0.5)

    def _finished(self) -> Self:
        self.noise_, self.interrupted_ = self.scale_ * float(self._noise.mean[0]), self.chain_.interrupted
        return self
