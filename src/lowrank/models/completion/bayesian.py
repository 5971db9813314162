"""Bayesian completion of a matrix: predictions with their uncertainty, and nothing to tune but the rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from lowrank import resources
from lowrank.errors import InputError, check_int
from lowrank.kernels import RowEntries
from lowrank.models.completion.ratings import cells_of, pairs
from lowrank.progress import tracked
from lowrank.solvers.gibbs import Draw, Priors, gibbs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Prediction(NamedTuple):
    """Mean and standard deviation of predicted cells, noise included in the latter."""

    mean: NDArray[np.float64]
    std: NDArray[np.float64]


class BayesianMatrixFactorization(BaseEstimator):  # type: ignore[misc]
    r"""Two factors drawn again and again from their distribution given the known cells (:mod:`lowrank.solvers.gibbs`).

    The mean of the known cells is taken out first. Predictions are means over draws; their spread, with the noise, is
    the uncertainty.

    Parameters
    ----------
    rank : int
    burn_in, draws : int
        Sweeps before draws are kept, and draws that are kept.
    thin : int
        Sweeps for each draw that is kept.
    seed : int, optional
    threads : int, optional
        All cores by default; the result does not depend on them.

    Attributes
    ----------
    row_draws_, column_draws_ : float32 ndarray of shape (draws, rows, rank) and (draws, columns, rank)
    noise_ : ndarray of shape (draws,)
        Standard deviation of the noise, by draw.
    mean_ : float
        Of the known cells.
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

    def __init__(
        self,
        rank: int = 10,
        *,
        burn_in: int = 20,
        draws: int = 80,
        thin: int = 1,
        seed: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.rank = rank
        self.burn_in = burn_in
        self.draws = draws
        self.thin = thin
        self.seed = seed
        self.threads = threads

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
        for name, low in (("rank", 1), ("burn_in", 0), ("draws", 1), ("thin", 1)):
            check_int(name, getattr(self, name), low=low)
        threads = resources.cores() if self.threads is None else check_int("threads", self.threads, low=1)
        cells, rng = cells_of(X), np.random.default_rng(self.seed)
        self.mean_ = float(cells.values.mean())
        sides = [
            RowEntries(c.starts, c.columns, np.ones(len(c.values)), c.values - self.mean_)
            for c in (cells, cells.turned())
        ]
        U, V = (0.1 * rng.standard_normal((size, self.rank)) for size in cells.shape)
        chain = gibbs(sides[0], sides[1], Draw(U, V, 1.0), priors=Priors(), rng=rng, threads=threads)
        kept = self._kept(chain)
        self.row_draws_, self.column_draws_ = (
            np.stack([getattr(one, side) for one in kept]).astype(np.float32) for side in "UV"
        )
        self.noise_ = np.array([one.alpha for one in kept]) ** -0.5
        self.known_rows_, self.known_columns_ = (np.diff(side.starts) > 0 for side in sides)
        return self

    def predict(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Give the expected values of cells, known or not."""
        return self.predict_distribution(rows, columns).mean

    def predict_distribution(self, rows: ArrayLike, columns: ArrayLike) -> Prediction:
        """Give the expected values of cells and their standard deviations."""
        check_is_fitted(self)
        i, j = pairs(rows, columns, (self.row_draws_.shape[1], self.column_draws_.shape[1]))
        total, squares = np.zeros(len(i)), np.zeros(len(i))
        for U, V in zip(self.row_draws_, self.column_draws_, strict=True):
            m = np.einsum("nr,nr->n", U[i], V[j], dtype=float)
            total += m
            squares += m**2
        number = len(self.row_draws_)
        mean = total / number
        variance = np.maximum(squares / number - mean**2, 0) + (self.noise_**2).mean()
        return Prediction(self.mean_ + mean, np.sqrt(variance))

    def _kept(self, chain: Any) -> list[Draw]:
        """Run the chain, and keep what is to be kept."""
        kept: list[Draw] = []
        sweeps = self.burn_in + self.draws * self.thin
        self.interrupted_ = False
        try:
            for sweep in tracked(range(1, sweeps + 1), "drawing", total=sweeps):
                state = next(chain)
                if sweep > self.burn_in and (sweep - self.burn_in) % self.thin == 0:
                    kept.append(state)
        except KeyboardInterrupt:
            if not kept:
                raise
            self.interrupted_ = True
        if not all(np.isfinite(one.U).all() and np.isfinite(one.V).all() for one in kept[-1:]):
            raise InputError("the draws are not finite; scale the values of the matrix")
        return kept
