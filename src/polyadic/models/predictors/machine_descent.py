"""Factorization machines with one best set of parameters: what regression and classification share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.errors import InputError, check_choice, check_int, check_number
from polyadic.kernels.predictors.machines import anova_scores
from polyadic.losses import Huber, Logistic, LogPoisson, Squared
from polyadic.models.predictors.machine_base import MachineBase
from polyadic.solvers.predictors.machine_steps import Stepper, descend_rows
from polyadic.solvers.predictors.machines import Machine, Observed, Ridge, descend_features, started
from polyadic.solvers.run import Result, Sweep, run
from polyadic.solvers.sgd import Steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from polyadic.losses import Loss

Solver = Literal["als", "adagrad", "sgd"]
LOSSES: dict[str, Loss] = {"squared": Squared(), "huber": Huber(), "poisson": LogPoisson(), "logistic": Logistic()}
BATCH, STEPS = 256, 64
"""Rows of a step, if that makes so many steps an epoch."""


class DescendingMachine(MachineBase):
    """Base of machines that descend an objective; results are ``bias_``, ``weights_`` and ``factors_``."""

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
        check_choice("solver", self.solver, get_args(Solver))
        rng = np.random.default_rng(self.seed)
        start = self._started(data, rng)
        stepper = None if self.solver == "als" else self._stepper(start, data.table.shape[0])
        solver = self._sweeps(data, start, stepper, rng)
        measure = None if held_out is None else lambda F: self._measured(held_out, F)
        result = run(solver, max_iter=self.max_iter, tol=self.tol, watch=self.watch, measure=measure)
        bias, self._V = self._keep(result)
        self.bias_, self._seen = float(bias[0]), result.best
        self._counts, self._rows = data.counts, data.table.counts
        self._squares = stepper.squares if self.solver == "adagrad" and not result.diverged and stepper else None
        return self

    def _sweeps(
        self, data: Observed, start: Machine, stepper: Stepper | None, rng: np.random.Generator
    ) -> Iterator[Sweep]:
        loss, ridge = self._loss, self._ridge
        if stepper is not None:
            return descend_rows(stepper, data, loss=loss, orders=self._orders, ridge=ridge, rng=rng)
        if not isinstance(loss, Squared | Huber | Logistic):
            raise InputError(f"solver='als' needs a loss of bounded curvature; loss={self.loss!r} has none")
        return descend_features(data, start, orders=self._orders, loss=loss, ridge=ridge, threads=self._threads)

    def _partial(self, data: Observed) -> Self:
        """Go once through these rows, in their order, from where the model is."""
        check_choice("solver", self.solver, get_args(Solver))
        first, n = not hasattr(self, "_V"), data.table.counts
        nothing = np.zeros(len(n), np.int64)
        known = (nothing, nothing, 0, None) if first else (self._counts, self._rows, self._seen, self._squares)
        counts, rows, epochs, squares = known
        new = (rows == 0) & (n > 0)
        if first or new.any():
            start = self._started(data, np.random.default_rng(self.seed))
        if not first:
            start = Machine(self.bias_, np.where(new[:, None], start.V, self._V) if new.any() else self._V)
        stepper = self._stepper(start, data.table.shape[0], squares=squares)
        stepper.counts, stepper.rows, stepper.epochs = counts + data.counts, rows + n, epochs
        stepper.epoch(data, self._loss, np.arange(data.table.shape[0]))
        if not (np.isfinite(stepper.bias) and np.isfinite(stepper.V).all()):
            raise InputError("the parameters became infinite or NaN and are as before; take shorter steps")
        self.bias_, self._V, self._seen = stepper.bias, stepper.V, stepper.epochs
        self._counts, self._rows = stepper.counts, stepper.rows
        self._squares = stepper.squares if self.solver == "adagrad" else None
        return self

    def _remembered(self) -> dict[str, NDArray[Any]]:
        """Give all that predictions and further steps are made of."""
        found = {"V": self._V, "counts": self._counts, "rows": self._rows, "epochs": np.array([self._seen])}
        if self._squares is not None:
            found |= {"bias_squares": np.array([self._squares[0]]), "squares": self._squares[1]}
        return found

    def _recall(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._V, self._counts, self._rows, self._seen = (
            *(arrays[k] for k in ("V", "counts", "rows")),
            int(arrays["epochs"].item()),
        )
        if not self._counts.shape == self._rows.shape == self._V.shape[:1]:
            raise ValueError(f"counts of shape {self._counts.shape} do not fit parameters of shape {self._V.shape}")
        self._squares = None
        if "squares" in arrays:
            if arrays["squares"].shape != self._V.shape:
                raise ValueError(f"squares must have the shape of the parameters, {self._V.shape}")
            self._squares = float(arrays["bias_squares"].item()), arrays["squares"]

    def _stepper(self, start: Machine, rows: int, *, squares: tuple[float, Any] | None = None) -> Stepper:
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
        """Begin with the constant that fits best, and small factors; zeros where no row has a feature."""
        V = started(data.table, self._orders, check_number("scale", self.scale), rng)
        V[data.table.counts == 0] = 0
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
