"""Factorization machines: linear models with products of features whose weights have a low rank."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, cast

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from polyadic.core.errors import InputError
from polyadic.core.losses import Huber, Logistic, LogPoisson, Loss, Squared
from polyadic.core.model import Amount, Callback, Count, Positive, Seed, Threads
from polyadic.core.solvers.run import run
from polyadic.core.solvers.sgd import Steps
from polyadic.supervised.base import BinaryClassifier, PointMachine, Rank
from polyadic.supervised.fm_coordinate_descent import Machine, Observed, descend_features
from polyadic.supervised.fm_sgd import Stepper, descend_rows
from polyadic.supervised.kernels import anova_scores

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from polyadic.core.losses import Convex

    Part = tuple[Any, ArrayLike]

Solver = Literal["als", "adagrad", "sgd"]
LOSSES: dict[str, Loss] = {"squared": Squared(), "huber": Huber(), "poisson": LogPoisson()}
BATCH, STEPS = 256, 64
"""Rows of a step, if that makes so many steps an epoch."""


class Progress(NamedTuple):
    """What further steps go on from, besides the parameters.

    Attributes
    ----------
    counts : ndarray of shape (features,)
        In how many rows so far each feature stood, by their weights.
    rows : ndarray of int of shape (features,)
        In how many, whatever their weights.
    epochs : int
        How often rows were gone through.
    squares : (float, ndarray) or None
        Sums of squared gradients, of Adagrad.
    """

    counts: NDArray[np.float64]
    rows: NDArray[np.int64]
    epochs: int
    squares: tuple[float, NDArray[np.float64]] | None


class PenalizedMachine(PointMachine, ABC):
    """Base of machines that descend a sum of losses of rows; results are ``bias_``, ``weights_`` and ``factors_``."""

    rank: Rank = 8
    _: KW_ONLY
    order: Count = 2
    solver: Solver = "als"
    ridge: Amount = 1.2
    linear_ridge: Amount = 1.0
    count_power: Amount = 0.5
    scale: Amount = 0.1
    learning_rate: Positive | None = None
    decay: Amount = 0.0
    batch: Count | None = None
    max_iter: Count = 100
    tol: Amount = 1e-4
    seed: Seed = None
    threads: Threads = None
    callback: Callback = None

    @property
    @abstractmethod
    def _loss(self) -> Loss:
        """The loss of a row."""

    def _fit(self, data: Observed, held_out: Observed | None) -> Self:
        """Fit to rows; with others held out, keep the sweep of the lowest loss there."""
        rng = np.random.default_rng(self.seed)
        start, stepper = self._start(data, rng), None
        how: dict[str, Any] = {"orders": self._orders, "ridge": self._ridge}
        if self.solver == "als":
            loss = cast("Convex", self._loss)
            solver = descend_features(data, start, loss=loss, threads=self._threads, **how)
        else:
            stepper = self._stepper(start, data.table.shape[0])
            solver = descend_rows(stepper, data, loss=self._loss, rng=rng, **how)
        measure = None if held_out is None else lambda F: self._measured(held_out, F)
        result = run(solver, max_iter=self.max_iter, tol=self.tol, callback=self.callback, measure=measure)
        bias, self.V_ = self._keep(result)
        self.bias_ = float(bias[0])
        squares = stepper.squares if stepper and self.solver == "adagrad" and not result.diverged else None
        self._progress_ = Progress(data.counts, data.table.counts, result.best, squares)
        return self

    def _partial(self, data: Observed) -> Self:
        """Go once through these rows, in their order, from where the model is."""
        first, n = not hasattr(self, "V_"), data.table.counts
        nothing = np.zeros(len(n), np.int64)
        before = Progress(nothing.astype(float), nothing, 0, None) if first else self._progress_
        new = (before.rows == 0) & (n > 0)
        if first or new.any():
            start = self._start(data, np.random.default_rng(self.seed))
        if not first:
            start = Machine(self.bias_, np.where(new[:, None], start.V, self.V_) if new.any() else self.V_)
        stepper = self._stepper(start, data.table.shape[0], squares=before.squares)
        stepper.counts, stepper.rows, stepper.epochs = before.counts + data.counts, before.rows + n, before.epochs
        stepper.epoch(data, self._loss, np.arange(data.table.shape[0]))
        if not (np.isfinite(stepper.bias) and np.isfinite(stepper.V).all()):
            raise InputError("the parameters became infinite or NaN and are as before; take shorter steps")
        self.bias_, self.V_ = stepper.bias, stepper.V
        squares = stepper.squares if self.solver == "adagrad" else None
        self._progress_ = Progress(stepper.counts, stepper.rows, stepper.epochs, squares)
        return self

    def _stepper(self, start: Machine, rows: int, *, squares: tuple[float, Any] | None = None) -> Stepper:
        adagrad = self.solver == "adagrad"
        step = (0.3 if adagrad else 0.02) if self.learning_rate is None else self.learning_rate
        return Stepper(
            start,
            orders=self._orders,
            ridge=self._ridge,
            steps=Steps(step, self.decay),
            batch=self.batch or max(1, min(BATCH, rows // STEPS)),
            adagrad=adagrad,
            squares=squares,
        )

    def _start(self, data: Observed, rng: np.random.Generator) -> Machine:
        """Begin with the constant that fits best, and small factors."""
        V = self._started(data.table, rng)
        mean = float(np.average(data.y, weights=data.weights))
        if isinstance(self._loss, LogPoisson):
            mean = float(np.log(max(mean, 1e-10)))
        elif isinstance(self._loss, Logistic):
            share = min(max(mean, 1e-3), 1 - 1e-3)
            mean = float(np.log(share / (1 - share)))
        return Machine(mean, V)

    def _measured(self, data: Observed, factors: list[Any]) -> float:
        bias, V = factors
        return data.loss(self._loss, bias[0] + anova_scores(data.table, V, orders=self._orders))


def goes_on(model: PenalizedMachine) -> bool:
    """Say whether a model has a ``partial_fit``.

    Raises
    ------
    AttributeError
        If its solver needs all rows at once.
    """
    if model.solver == "als":
        raise AttributeError("solver='als' needs all rows at once; take 'adagrad' or 'sgd' for partial_fit")
    return True


class FactorizationMachine(RegressorMixin, PenalizedMachine):  # type: ignore[misc]
    r"""Numbers from features and from their products.

    .. math:: m(x) = w_0 + \sum_j w_j x_j + \sum_{j < k} \langle v_j, v_k \rangle x_j x_k + \ldots, \quad
              \min \sum_i \ell(y_i, m(x_i)) + \tfrac12 \sum_j n_j^\gamma (\lambda_w w_j^2 + \lambda \|v_j\|^2)

    where feature j stands in :math:`n_j` rows; with ``order=3`` there are products of three features, with factors of
    their own. A score costs time in proportion to what is not zero in a row.

    Parameters
    ----------
    rank : int or tuple of int
        Length of :math:`v_j`; a tuple has one for each order from 2 on.
    order : int
        Features in a product at most; 1 for a linear model.
    loss : {"squared", "huber", "poisson"}
        Half the squared error; absolute beyond 1; of counts whose logarithms are :math:`m`.
    solver : {"als", "adagrad", "sgd"}
        One parameter solved for after another, which never raises the objective; or stochastic steps, which serve
        ``partial_fit``.
    ridge, linear_ridge : float
        :math:`\lambda` and :math:`\lambda_w`.
    count_power : float
        :math:`\gamma`: 0 penalises all features alike, 1 by their rows.
    scale : float
        Standard deviation of the factors at the start.
    learning_rate, decay : float
        Epoch :math:`t` from 0 takes steps of :math:`\eta / (1 + d t)`; 0.3 for Adagrad, 0.02 without, by default.
    batch : int, optional
        Rows of a step; 256, or fewer if that makes less than 64 steps an epoch.
    max_iter, tol
        See :func:`~polyadic.core.solvers.run.run`.
    seed : int, optional
    threads : int, optional
        All cores by default; the result does not depend on them.
    callback : callable, optional
        Called with the :class:`~polyadic.core.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    bias_ : float
        :math:`w_0`.
    weights_ : ndarray of shape (features,)
        :math:`w`.
    factors_ : list of ndarray of shape (features, rank)
        Of order 2, of order 3, ...
    V_ : ndarray of shape (features, columns)
        Weights and factors, side by side.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`.

    References
    ----------
    Rendle (2010), Factorization machines, eq. 1 and 5. Blondel, Fujino, Ueda, Ishihata (2016), Higher-order
    factorization machines, eq. 2 and 5.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 6))
    >>> y = 1 + X[:, 0] + 2 * X[:, 1] * X[:, 2]
    >>> FactorizationMachine(2, ridge=1e-3, seed=0).fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.99
    True
    """

    _: KW_ONLY
    loss: Literal["squared", "huber", "poisson"] = "squared"

    def check(self) -> None:
        """Refuse settings out of range, and a loss that the solver cannot descend."""
        super().check()
        if self.solver == "als" and self.loss == "poisson":
            raise InputError("solver='als' needs a loss of bounded curvature; loss='poisson' has none")

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, validation: Part | None = None
    ) -> Self:
        """Fit to rows of features, and to their numbers.

        Parameters
        ----------
        X : csr or array of shape (rows, features)
        y : array of shape (rows,)
        sample_weight : array of shape (rows,), optional
        validation : (X, y), optional
            The sweep of the lowest loss there is kept, and five without a gain end the fit.

        Raises
        ------
        InputError, ValueError
            If values are not finite, shapes do not fit, or a parameter is out of range.
        """
        self.check()
        data = self._observed(X, y, sample_weight, reset=True)
        return self._fit(data, None if validation is None else self._observed(*validation, None, reset=False))

    @available_if(goes_on)  # type: ignore[untyped-decorator] # scikit-learn has no types
    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Go once through more rows, in their order, with a stochastic solver; shapes and errors as in :meth:`fit`."""
        self.check()
        return self._partial(self._observed(X, y, sample_weight, reset=not hasattr(self, "V_")))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Give the number of each row."""
        m = self._scores(X)
        return np.exp(m) if self.loss == "poisson" else m

    @property
    def _loss(self) -> Loss:
        return LOSSES[self.loss]

    def _observed(self, X: Any, y: ArrayLike, weight: ArrayLike | None, *, reset: bool) -> Observed:
        table, numbers = self._table_and_targets(X, y, reset=reset, numeric=True)
        if self.loss == "poisson" and numbers.min() < 0:
            raise InputError(f"loss='poisson' is for counts; got {numbers.min():g}")
        return Observed(table, numbers, checked_weights(weight, X))


class FactorizationMachineClassifier(BinaryClassifier, PenalizedMachine):
    r"""One of two classes from features and their products: :math:`P(y = 1) = \sigma(m(x))`, by the logistic loss.

    Parameters and attributes are those of :class:`FactorizationMachine`, save ``loss``; ``classes_`` are the two, of
    which the score is for the second. More classes: ``sklearn.multiclass.OneVsRestClassifier``.

    References
    ----------
    Rendle (2010), Factorization machines, section III.B.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 4))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "alike", "apart")
    >>> FactorizationMachineClassifier(2, seed=0).fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.9
    True
    """

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, validation: Part | None = None
    ) -> Self:
        """Fit to rows of features, and to their classes.

        Parameters
        ----------
        X : csr or array of shape (rows, features)
        y : array of shape (rows,)
            Of two classes.
        sample_weight : array of shape (rows,), optional
        validation : (X, y), optional
            The sweep of the lowest loss there is kept, and five without a gain end the fit.

        Raises
        ------
        InputError, ValueError
            If values are not finite, there are not two classes, or a parameter is out of range.
        """
        self.check()
        table, labels = self._table_and_targets(X, y, reset=True, numeric=False)
        data = Observed(table, self._learned(labels), checked_weights(sample_weight, X))
        held_out = None
        if validation is not None:
            other, labels = self._table_and_targets(*validation, reset=False, numeric=False)
            held_out = Observed(other, self._truth(labels))
        return self._fit(data, held_out)

    @available_if(goes_on)  # type: ignore[untyped-decorator] # scikit-learn has no types
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Go once through more rows, in their order, with a stochastic solver; ``classes`` are due at the first call.

        Raises
        ------
        InputError, ValueError
            As in :meth:`fit`, or if a row is of another class.
        """
        self.check()
        first = not hasattr(self, "V_")
        table, labels = self._table_and_targets(X, y, reset=first, numeric=False)
        if first:
            self._learned(labels if classes is None else np.asarray(classes))
        return self._partial(Observed(table, self._truth(labels), checked_weights(sample_weight, X)))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Give the log-odds of the second class."""
        return self._scores(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the probabilities of both classes, of shape (rows, 2)."""
        from scipy.special import expit

        m = self.decision_function(X)
        return np.column_stack([expit(-m), expit(m)])

    @property
    def _loss(self) -> Loss:
        return Logistic()


def checked_weights(sample_weight: ArrayLike | None, X: Any) -> NDArray[np.float64] | None:
    """Give weights of rows, if there are any.

    Raises
    ------
    ValueError
        If there is not one for each row, or one is negative.
    """
    from sklearn.utils.validation import _check_sample_weight

    if sample_weight is None:
        return None
    return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
