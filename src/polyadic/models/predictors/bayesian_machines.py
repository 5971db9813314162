"""Bayesian factorization machines: penalties are learned, predictions are means over draws."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from polyadic.models.base import Seed, Threads
from polyadic.models.predictors.bayesian_base import DrawnMachine
from polyadic.models.predictors.machine_base import Rank, TwoClasses
from polyadic.solvers.predictors.machines import Observed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class BayesianFactorizationMachine(RegressorMixin, DrawnMachine):  # type: ignore[misc]
    r"""The model of :class:`~polyadic.models.predictors.machines.FactorizationMachine`, drawn given the data.

    Parameters are drawn again and again from their distribution given the data
    (:mod:`polyadic.solvers.predictors.machine_draws`), with one penalty for each column and group of features. Targets
    are taken in standard deviations from their mean.

    Parameters
    ----------
    rank, order
        As those of the other.
    burn_in, draws : int
        Sweeps before draws are kept, and draws that are made.
    kept : int
        Draws kept at most, evenly spread over those made; predictions are means over them.
    scale : float
        Standard deviation of the factors at the start.
    clip : bool
        Whether each draw predicts nothing beyond the targets it was fitted to, as ratings have it.
    seed : int, optional
    threads : int, optional
        All cores by default; the result does not depend on them.

    Attributes
    ----------
    draws_ : list of (float, ndarray of shape (features, columns))
        Biases and parameters kept, the linear weights first, for targets in units of ``scale_`` from ``mean_``.
    penalties_ : ndarray of shape (groups, columns)
        Mean precisions of the parameters.
    noise_ : float
        Standard deviation of the noise, the mean over draws.
    mean_, scale_ : float
        Of the targets.
    n_draws_ : int
        Draws made.
    interrupted_ : bool
        Whether Ctrl-C ended the draws; those made are kept.

    References
    ----------
    Rendle (2012), Factorization machines with libFM, section 3.3.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 6))
    >>> y = 1 + X[:, 0] + 2 * X[:, 1] * X[:, 2]
    >>> model = BayesianFactorizationMachine(2, draws=50, seed=0).fit(X[:150], y[:150])
    >>> model.score(X[150:], y[150:]) > 0.99
    True
    """

    rank: Rank = 8
    _: KW_ONLY
    order: int = 2
    burn_in: int = 20
    draws: int = 200
    kept: int = 100
    scale: float = 0.1
    clip: bool = False
    seed: Seed = None
    threads: Threads = None

    def fit(self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Draw machines given rows of features and their numbers.

        Parameters
        ----------
        X : csr or array of shape (rows, features)
        y : array of shape (rows,)
        groups : array of int of shape (features,), optional
            Features whose penalties are learned together, such as those of users, those of films; one group by default.

        Raises
        ------
        InputError, ValueError
            If values are not finite, shapes do not fit, or a parameter is out of range.
        """
        table, numbers = self._table_and_targets(X, y, reset=True, numeric=True)
        self.mean_ = float(numbers.mean())
        self.scale_ = float(numbers.std()) if np.ptp(numbers) else 1.0
        self.range_ = float(numbers.min()), float(numbers.max())
        self._draw(Observed(table, (numbers - self.mean_) / self.scale_), groups, probit=False)
        self.noise_ = self.scale_ * self._noise
        return self

    def predict(self, X: Any, *, return_std: bool = False) -> Any:
        """Give the expected number of each row; with ``return_std`` also its standard deviation, noise included.

        Returns
        -------
        ndarray of shape (rows,), or two of them
        """
        average = self._average(X, self._number)
        if not return_std:
            return average.mean
        return average.mean, np.sqrt(average.variance + self.noise_**2)

    def _number(self, m: NDArray[np.float64]) -> NDArray[np.float64]:
        numbers = self.mean_ + self.scale_ * m
        return numbers.clip(*self.range_) if self.clip else numbers


class BayesianFactorizationMachineClassifier(TwoClasses, DrawnMachine):
    r"""One of two classes: :math:`P(y = 1) = \Phi(m(x))`, the mean over draws of machines.

    Parameters and attributes are those of :class:`BayesianFactorizationMachine`, save ``clip`` and what is of targets;
    ``classes_`` are the two, of which the score is for the second.

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

    rank: Rank = 8
    _: KW_ONLY
    order: int = 2
    burn_in: int = 20
    draws: int = 200
    kept: int = 100
    scale: float = 0.1
    seed: Seed = None
    threads: Threads = None

    def fit(self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Draw machines given rows of features and their classes; else as :meth:`BayesianFactorizationMachine.fit`."""
        table, labels = self._table_and_targets(X, y, reset=True, numeric=False)
        self._draw(Observed(table, self._learned(labels)), groups, probit=True)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the probabilities of both classes, of shape (rows, 2)."""
        from scipy.special import ndtr

        p = self._average(X, ndtr).mean
        return np.column_stack([1 - p, p])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Give the probit of the second class, so that 0 is undecided."""
        from scipy.special import ndtr, ndtri

        p = self._average(X, ndtr).mean
        return np.asarray(ndtri(p.clip(1e-16, 1 - 1e-16)))
