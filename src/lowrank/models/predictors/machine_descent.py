"""Factorization machines with one best set of parameters: what regression and classification share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowrank.errors import InputError, check_choice, check_int, check_number
from lowrank.kernels import anova_scores
from lowrank.losses import Huber, Logistic, LogPoisson, Squared
from lowrank.models.predictors.machine_base import MachineBase
from lowrank.solvers.machine_steps import Stepper, descend_rows
from lowrank.solvers.machines import Machine, Observed, Ridge, descend_features, started
from lowrank.solvers.run import Fitted, Sweep, run
from lowrank.solvers.sgd import Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from lowrank.losses import Loss
    from lowrank.solvers.run import Result

Solver = Literal["als", "adagrad", "sgd"]
LOSSES: dict[str, Loss] = {"squared": Squared(), "huber": Huber(), "poisson": LogPoisson(), "logistic": Logistic()}
BATCH, STEPS = 256, 64
"""Rows of a step, if that makes so many steps an epoch."""


class DescendingMachine(Fitted, MachineBase):
    """Base of machines that descend an objective; results are ``bias_``, ``weights_`` and ``factors_``."""

    loss: str
    solver: Solver
    ridge: float
    linear_ridge: float
    count_power: float
    scale: float
    step: float | None
    decay: float
    batch: int | None
    max_iter: int
    tol: float
    seed: int | None
    watch: Callable[[Result], None] | None

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Linear weights, one a feature."""
        check_is_fitted(self)
        return self._V[:, 0]

    @property
    def factors_(self) -> list[NDArray[np.float64]]:
        """Factors of each order from 2 on, of shape (features, rank of the order)."""
        check_is_fitted(self)
        orders = self._orders
        return [self._V[:, orders == d] for d in range(2, self.order + 1)]

    def _fit(self, data: Observed, held_out: Observed | None) -> Self:
        """Fit to rows; with others held out, keep the sweep of the lowest loss there."""
        rng = np.random.default_rng(self.seed)
        start = self._started(data, rng)
        if hasattr(self, "_stepper"):
            del self._stepper
        solver = self._sweeps(data, start, rng)
        measure = None if held_out is None else lambda F: self._measured(held_out, F)
        result = run(solver, max_iter=self.max_iter, tol=self.tol, watch=self.watch, measure=measure)
        bias, self._V = self._keep(result)
        self.bias_ = float(bias[0])
        self._counts, self._seen = data.counts, result.best
        if hasattr(self, "_stepper"):  # what goes on, goes on from here
            self._stepper.bias, self._stepper.V, self._stepper.epochs = self.bias_, self._V.copy(), self._seen
        return self

    def _sweeps(self, data: Observed, start: Machine, rng: np.random.Generator) -> Iterator[Sweep]:
        loss, ridge = self._loss, self._ridge
        if check_choice("solver", self.solver, get_args(Solver)) == "als":
            if not isinstance(loss, Squared | Huber | Logistic):
                raise InputError(f"solver='als' needs a loss of bounded curvature; loss={self.loss!r} has none")
            return descend_features(data, start, orders=self._orders, loss=loss, ridge=ridge, threads=self._threads)
        self._stepper = self._steps(start, data.table.shape[0])
        return descend_rows(self._stepper, data, loss=loss, orders=self._orders, ridge=ridge, rng=rng)

    def _partial(self, data: Observed) -> Self:
        """Go once through these rows, in their order, from where the model is."""
        check_choice("solver", self.solver, get_args(Solver))
        if not hasattr(self, "_V"):
            start = self._started(data, np.random.default_rng(self.seed))
            self._stepper, self._counts, self._seen = (
                self._steps(start, data.table.shape[0]),
                np.zeros(data.table.shape[1]),
                0,
            )
        elif not hasattr(self, "_stepper"):
            self._stepper = self._steps(Machine(self.bias_, self._V), data.table.shape[0])
            self._stepper.epochs = self._seen
        self._counts = self._counts + data.counts
        self._stepper.counts = self._counts
        self._stepper.epoch(data, self._loss, np.arange(data.table.shape[0]))
        self.bias_, self._V, self._seen = self._stepper.bias, self._stepper.V.copy(), self._stepper.epochs
        return self

    def _remembered(self) -> dict[str, NDArray[Any]]:
        """Give all that predictions and further steps are made of."""
        found = {"V": self._V, "counts": self._counts, "epochs": np.array([self._seen])}
        if hasattr(self, "_stepper"):
            of_bias, squares = self._stepper.squares
            found |= {"squares": squares, "bias_squares": np.array([of_bias])}
        return found

    def _recall(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._V, self._counts, self._seen = arrays["V"], arrays["counts"], int(arrays["epochs"][0])
        if self._counts.shape != self._V.shape[:1]:
            raise ValueError(f"counts of shape {self._counts.shape} do not fit parameters of shape {self._V.shape}")
        if "squares" in arrays:
            if arrays["squares"].shape != self._V.shape:
                raise ValueError(f"squares must have the shape of the parameters, {self._V.shape}")
            squares = float(arrays["bias_squares"][0]), arrays["squares"]
            self._stepper = self._steps(Machine(self.bias_, self._V), BATCH * STEPS, squares=squares)
            self._stepper.epochs = self._seen

    def _steps(self, start: Machine, rows: int, *, squares: tuple[float, Any] | None = None) -> Stepper:
        adagrad = self.solver == "adagrad"
        batch = max(1, min(BATCH, rows // STEPS)) if self.batch is None else check_int("batch", self.batch, low=1)
        step = (0.3 if adagrad else 0.02) if self.step is None else check_number("step", self.step, above=True)
        return Stepper(
            start,
            orders=self._orders,
            ridge=self._ridge,
            steps=Steps(step, check_number("decay", self.decay)),
            batch=batch,
            adagrad=adagrad,
            squares=squares,
        )

    def _started(self, data: Observed, rng: np.random.Generator) -> Machine:
        """Begin with the constant that fits best, and small factors."""
        V = started(data.table.shape[1], self._orders, check_number("scale", self.scale), rng)
        mean = float(np.average(data.y, weights=data.weights))
        if isinstance(self._loss, LogPoisson):
            mean = float(np.log(max(mean, 1e-10)))
        elif isinstance(self._loss, Logistic):
            share = min(max(mean, 1e-3), 1 - 1e-3)
            mean = float(np.log(share / (1 - share)))
        return Machine(mean, V)

    @property
    def _loss(self) -> Loss:
        return LOSSES[self.loss]

    @property
    def _ridge(self) -> Ridge:
        own = [check_number(name, getattr(self, name)) for name in ("linear_ridge", "ridge")]
        return Ridge(np.where(self._orders == 1, *own), check_number("count_power", self.count_power))

    def _measured(self, data: Observed, factors: list[Any]) -> float:
        bias, V = factors
        return data.loss(self._loss, bias[0] + anova_scores(data.table, V, orders=self._orders))

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.bias_ + anova_scores(self._table(X), self._V, orders=self._orders, threads=self._threads)


def goes_on(model: DescendingMachine) -> bool:
    """Say whether a model has a ``partial_fit``.

    Raises
    ------
    AttributeError
        If its solver needs all rows at once.
    """
    if model.solver == "als":
        raise AttributeError("solver='als' needs all rows at once; take 'adagrad' or 'sgd' for partial_fit")
    return True


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
