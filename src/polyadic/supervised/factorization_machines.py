"""Factorization machines for regression and binary classification."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, cast

import numpy as np
from scipy.special import expit
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from polyadic.core.annotations import Array, Ints
from polyadic.core.containers import targets_of
from polyadic.core.errors import InputError
from polyadic.core.losses import Convex, Huber, Logistic, LogPoisson, Loss, Squared
from polyadic.core.model import Amount, Count, Positive
from polyadic.core.solvers.sgd import LearningRate
from polyadic.supervised.base import BinaryClassifier, PointMachine
from polyadic.supervised.fm_solvers import Machine, Observed, Stepper, descend_features, descend_linear, descend_rows
from polyadic.supervised.kernels import anova_scores

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    Part = tuple[Any, ArrayLike]

Solver = Literal["als", "adagrad", "sgd", "sag", "saga"]
LOSSES: dict[str, Loss] = {"squared": Squared(), "huber": Huber(), "poisson": LogPoisson()}
AVERAGING = ("sag", "saga")
BATCH, STEPS = 256, 64
"""Rows of a mini-batch, and the minimum number of mini-batches of an epoch, by default."""


class Progress(NamedTuple):
    """State kept between calls of ``partial_fit``: feature counts, epochs and Adagrad accumulators."""

    counts: Array
    rows: Ints
    epochs: int
    squares: tuple[float, Array] | None


class PenalizedMachine(PointMachine, ABC):
    r"""Base class for factorization machines fitted by minimisation of a penalized loss.

    Parameters
    ----------
    solver : {"als", "adagrad", "sgd", "sag", "saga"}
        Solver: coordinate descent, which never increases the objective; stochastic gradient descent with or without
        Adagrad, which support ``partial_fit``; or, for linear models (``order=1``), stochastic average gradients
        (:mod:`polyadic.core.solvers.saga`).
    l1 : float
        L1 penalty :math:`\lambda_1` on the linear weights, which adds :math:`\lambda_1 \sum_j n_j^\gamma |w_j|` to the
        objective and sets weights exactly to zero. Requires ``solver="saga"``.
    learning_rate : float, optional
        Initial learning rate :math:`\eta` of the stochastic solvers. By default 0.3 for Adagrad and 0.02 for SGD. Epoch
        :math:`t`, from 0, uses :math:`\eta / (1 + d t)`.
    batch : int, optional
        Number of rows in a mini-batch. By default 256, or fewer so that an epoch has at least 64 mini-batches.
    """

    _: KW_ONLY
    solver: Solver = "als"
    ridge: Amount = 1.2
    linear_ridge: Amount = 1.0
    l1: Amount = 0.0
    learning_rate: Positive | None = None
    batch: Count | None = None
    max_iter: Count = 100
    tol: Amount = 1e-4

    def check(self) -> None:
        """Raise InputError if a setting is out of range or the solver does not support another setting."""
        super().check()
        if self.solver in AVERAGING and self.order > 1:
            about = f"solver={self.solver!r} fits linear models only"
            raise InputError(f"{about}; set order=1 or use another solver", "solver", "order")
        if self.l1 and self.solver != "saga":
            raise InputError(f"l1 requires solver='saga'; got solver={self.solver!r}", "l1", "solver")

    @property
    @abstractmethod
    def _loss(self) -> Loss:
        """Loss function of the model."""

    @abstractmethod
    def _observed(self, X: Any, y: ArrayLike, weight: ArrayLike | None, *, reset: bool) -> Observed:
        """Return validated data; ``reset`` for those of a fit."""

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, validation: Part | None = None
    ) -> Self:
        """Fit the model to feature vectors and targets.

        InputError or ValueError is raised if values are not finite, shapes differ, or a parameter is out of range.

        Parameters
        ----------
        X : csr or array of shape (rows, features)
            Feature vectors.
        y : array of shape (rows,)
            Targets; of a classifier, labels of exactly two classes.
        sample_weight : array of shape (rows,), optional
            Weights of the rows.
        validation : (X, y), optional
            Validation data. The sweep of the lowest loss is kept, and the fit stops after five without improvement.
        """
        self.check()
        data = self._observed(X, y, sample_weight, reset=True)
        return self._fit(data, None if validation is None else self._observed(*validation, None, reset=False))

    def _fit(self, data: Observed, held_out: Observed | None) -> Self:
        """Fit the parameters; with validation data, keep the parameters with the lowest validation loss."""
        rng = np.random.default_rng(self.seed)
        start, stepper = self._start(data, rng), None
        if self.solver == "als":
            how: dict[str, Any] = {"orders": self._orders, "ridge": self._ridge, "threads": self._threads}
            solver = descend_features(data, start, loss=cast("Convex", self._loss), **how)
        elif self.solver in AVERAGING:
            sag = self.solver == "sag"
            solver = descend_linear(data, start, loss=self._loss, ridge=self._ridge, l1=self.l1, sag=sag, rng=rng)
        else:
            stepper = self._stepper(start, data.table.shape[0])
            solver = descend_rows(stepper, data, loss=self._loss, rng=rng)
        measure = None if held_out is None else lambda F: self._measured(held_out, F)
        bias, self.V_ = self._optimize(solver, measure=measure)
        self.bias_ = float(bias[0])
        squares = stepper.squares if stepper and self.solver == "adagrad" and not self.result_.diverged else None
        self._progress_ = Progress(data.counts, data.table.counts, self.result_.best, squares)
        return self

    def _partial(self, data: Observed) -> Self:
        """Run one epoch over new rows in the given order, starting from the current parameters."""
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
            about = "the update was discarded, because the parameters diverged"
            raise InputError(f"{about}; lower learning_rate", "learning_rate")
        self.bias_, self.V_ = stepper.bias, stepper.V
        squares = stepper.squares if self.solver == "adagrad" else None
        self._progress_ = Progress(stepper.counts, stepper.rows, stepper.epochs, squares)
        return self

    def _stepper(self, start: Machine, rows: int, *, squares: tuple[float, Any] | None = None) -> Stepper:
        adagrad = self.solver == "adagrad"
        step = (0.3 if adagrad else 0.02) if self.learning_rate is None else self.learning_rate
        how: dict[str, Any] = {"orders": self._orders, "ridge": self._ridge, "adagrad": adagrad, "squares": squares}
        how["batch"] = self.batch or max(1, min(BATCH, rows // STEPS))
        return Stepper(start, steps=LearningRate(step, self.decay), **how)

    def _start(self, data: Observed, rng: np.random.Generator) -> Machine:
        """Initialize the bias with the best constant prediction, and the factors with small random values."""
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


def supports_partial_fit(model: PenalizedMachine) -> bool:
    """Return whether a model has ``partial_fit``; raise AttributeError if its solver requires all rows at once."""
    if model.solver not in ("adagrad", "sgd"):
        about = f"partial_fit is not supported by solver={model.solver!r}, which requires all rows at once"
        raise AttributeError(f"{about}; use 'adagrad' or 'sgd'")
    return True


class FactorizationMachine(RegressorMixin, PenalizedMachine):  # type: ignore[misc]
    r"""Factorization machine for regression.

    .. math:: m(x) = w_0 + \sum_j w_j x_j + \sum_{j < k} \langle v_j, v_k \rangle x_j x_k + \ldots, \quad
              \min \sum_i \ell(y_i, m(x_i)) + \tfrac12 \sum_j n_j^\gamma (\lambda_w w_j^2 + \lambda \|v_j\|^2)

    where feature j occurs in :math:`n_j` rows. With ``order=3`` there are also products of three features, with factors
    of their own. The cost of a score is proportional to the number of non-zero features of the row.

    Parameters
    ----------
    loss : {"squared", "huber", "poisson"}
        Loss of a target: half the squared error; Huber loss, linear beyond an error of 1; or Poisson loss for counts.
        The mean of a count is :math:`e^m`.

    Attributes
    ----------
    bias_ : float
        Intercept :math:`w_0`.
    weights_ : ndarray of shape (features,)
        Linear weights :math:`w`.
    factors_ : list of ndarray of shape (features, rank)
        Factors of order 2, of order 3, ...
    V_ : ndarray of shape (features, columns)
        Linear weights and factors side by side.

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
        """Raise InputError if a setting is out of range or the solver does not support the loss."""
        super().check()
        if self.solver not in ("adagrad", "sgd") and self.loss == "poisson":
            about = f"loss='poisson' is not supported by solver={self.solver!r}"
            raise InputError(f"{about}; use 'adagrad' or 'sgd'", "loss", "solver")

    @available_if(supports_partial_fit)  # type: ignore[untyped-decorator] # scikit-learn has no types
    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Run one epoch of the stochastic solver over further rows, in the given order.

        Parameters and errors are those of :meth:`fit`; InputError is also raised if the parameters diverge.
        """
        self.check()
        return self._partial(self._observed(X, y, sample_weight, reset=not hasattr(self, "V_")))

    def predict(self, X: Any) -> Array:
        """Return the predicted target of each row."""
        m = self._scores(X)
        return np.exp(m) if self.loss == "poisson" else m

    @property
    def _loss(self) -> Loss:
        return LOSSES[self.loss]

    def _observed(self, X: Any, y: ArrayLike, weight: ArrayLike | None, *, reset: bool) -> Observed:
        table, numbers = self._table_and_targets(X, y, reset=reset, numeric=True)
        if self.loss == "poisson" and numbers.min() < 0:
            raise InputError(f"targets must not be negative for loss='poisson'; got {numbers.min():g}", "loss")
        return Observed(table, numbers, checked_weights(weight, X))


class FactorizationMachineClassifier(BinaryClassifier, PenalizedMachine):
    r"""Factorization machine for two classes, :math:`P(y = 1) = \sigma(m(x))`, fitted by logistic loss.

    For more classes use ``sklearn.multiclass.OneVsRestClassifier``.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Classes. Scores are for the second.
    bias_, weights_, factors_, V_
        As for :class:`FactorizationMachine`.

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

    @available_if(supports_partial_fit)  # type: ignore[untyped-decorator] # scikit-learn has no types
    def partial_fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, classes: ArrayLike | None = None
    ) -> Self:
        """Run one epoch of the stochastic solver over further rows, in the given order.

        Parameters and errors are those of :meth:`FactorizationMachine.partial_fit`, with two classes as targets. The
        first call requires the ``classes`` if ``y`` does not have both.
        """
        self.check()
        return self._partial(self._observed(X, y, sample_weight, reset=not hasattr(self, "V_"), classes=classes))

    def decision_function(self, X: Any) -> Array:
        """Return the log-odds of the second class for each row."""
        return self._scores(X)

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of both classes, shape (rows, 2)."""
        m = self.decision_function(X)
        return np.column_stack([expit(-m), expit(m)])

    def _observed(
        self, X: Any, y: ArrayLike, weight: ArrayLike | None, *, reset: bool, classes: ArrayLike | None = None
    ) -> Observed:
        table, labels = self._table_and_targets(X, y, reset=reset, numeric=False)
        if reset:
            self._learned(labels if classes is None else np.asarray(classes))
        return Observed(table, self._truth(labels), checked_weights(weight, X))

    @property
    def _loss(self) -> Loss:
        return Logistic()


def checked_weights(sample_weight: ArrayLike | None, X: Any) -> Array | None:
    """Validate sample weights, or return None if there are none."""
    from sklearn.utils.validation import _check_sample_weight

    if sample_weight is None:
        return None
    sample_weight = targets_of(sample_weight, "sample_weight")
    return np.asarray(_check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True))
