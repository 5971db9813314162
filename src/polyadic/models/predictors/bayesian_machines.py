"""Bayesian factorization machines: penalties are learned, predictions are means over draws."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from polyadic.errors import InputError
from polyadic.kernels.predictors.machines import anova_scores
from polyadic.models.base import Amount, Count, Natural, Seed, Threads
from polyadic.models.predictors.machine_base import FactorizationMachineBase, Rank, TwoClasses
from polyadic.solvers.databases.draws import Average, Chain
from polyadic.solvers.predictors.machine_draws import PRIORS, draw_machines, first_draw
from polyadic.solvers.predictors.machines import Observed, started

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from polyadic.solvers.databases.gibbs import Draw


class DrawnMachine(FactorizationMachineBase):
    """Base of machines that are drawn; results are ``draws_``, which predictions are means over."""

    rank: Rank = 8
    _: KW_ONLY
    order: Count = 2
    burn_in: Natural = 20
    draws: Count = 200
    kept: Count = 100
    scale: Amount = 0.1
    seed: Seed = None
    threads: Threads = None

    def _draw(self, data: Observed, groups: ArrayLike | None, *, probit: bool) -> float:
        """Draw machines; give the standard deviation of the noise, the mean over draws."""
        rng, orders, threads = np.random.default_rng(self.seed), self._orders, self._threads
        which = checked_groups(groups, data.table.shape[1])
        V = started(data.table, orders, self.scale, rng)

        def begin(draw: Draw) -> Any:
            how = {"orders": orders, "groups": which, "priors": PRIORS, "rng": rng, "threads": threads}
            return draw_machines(data, draw, probit=probit, **how)  # type: ignore[arg-type]

        chain = Chain.over(begin, first_draw(V, int(which.max(initial=0)) + 1), rng, kept=self.kept)
        noise = Average()
        chain.run(self.draws, burn_in=self.burn_in, seen=lambda draw: noise.add(draw.alphas**-0.5))
        self.draws_ = [(float(draw.state[0][0]), draw.state[1]) for draw in chain.draws]
        self.interrupted_, self.n_draws_ = chain.interrupted, chain.made
        self.penalties_ = np.mean([draw.state[3] for draw in chain.draws], axis=0)
        return float(noise.mean[0])

    def _average(self, X: Any, of: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Average:
        """Average a function of the scores of rows over draws."""
        check_is_fitted(self)
        table, orders, threads = self._table(X), self._orders, self._threads
        average = Average()
        for bias, V in self.draws_:
            average.add(of(bias + anova_scores(table, np.asarray(V, float), orders=orders, threads=threads)))
        return average


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
    range_ : (float, float)
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

    _: KW_ONLY
    clip: bool = False

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
        self.check()
        table, numbers = self._table_and_targets(X, y, reset=True, numeric=True)
        self.mean_ = float(numbers.mean())
        self.scale_ = float(numbers.std()) if np.ptp(numbers) else 1.0
        self.range_ = float(numbers.min()), float(numbers.max())
        noise = self._draw(Observed(table, (numbers - self.mean_) / self.scale_), groups, probit=False)
        self.noise_ = self.scale_ * noise
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

    def _sum(self, X: Any) -> tuple[float, Sequence[NDArray[Any]], float]:
        if self.clip:
            raise InputError("clip=True cuts what each draw predicts, to which features do not add up; set clip=False")
        return self.predict(X)[0], [V for _, V in self.draws_], self.scale_ / len(self.draws_)

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

    def fit(self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Draw machines given rows of features and their classes; else as :meth:`BayesianFactorizationMachine.fit`."""
        self.check()
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


def checked_groups(groups: ArrayLike | None, features: int) -> NDArray[np.int64]:
    """Give the group of each feature, all in one by default.

    Raises
    ------
    InputError
        If there is not one whole number from 0 on for each feature.
    """
    if groups is None:
        return np.zeros(features, np.int64)
    group = np.asarray(groups)
    if group.shape != (features,) or not np.issubdtype(group.dtype, np.integer) or (features and group.min() < 0):
        raise InputError(f"groups must be a whole number from 0 for each of {features} features; got {group!r:.80}")
    return np.asarray(np.unique(group, return_inverse=True)[1], np.int64)
