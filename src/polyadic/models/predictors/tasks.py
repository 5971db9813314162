"""Many tasks or labels over the same features, whose weights lie in a space of few dimensions."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from polyadic.errors import InputError
from polyadic.losses import Huber, Logistic, Squared
from polyadic.models.base import Amount, Count, Model, Watch
from polyadic.models.chosen import Search, held_out_share
from polyadic.solvers.predictors.tasks import Tasks
from polyadic.solvers.quasi_newton import quasi_newton
from polyadic.solvers.run import run

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from polyadic.losses import Convex

    Array = NDArray[np.float64]

LossName = Literal["squared", "logistic", "huber"]
LOSSES: dict[str, Convex] = {"squared": Squared(), "logistic": Logistic(), "huber": Huber()}
RIDGES = 3000.0, 1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01
RANKS = 1, 2, 5, 10, 20, 50, 100, 200
"""What rows held out choose from; ranks up to the number of features or tasks."""


class LowRankTasks(Model):
    r"""Regressions, or yes-and-no decisions, that share a few directions of the features.

    .. math:: \min_{U, V, b} \sum_{(i, k)\ \mathrm{known}} \ell(y_{ik}, x_i^\top U v_k + b_k)
              + \tfrac\lambda2 (\|U\|_F^2 + \|V\|_F^2)

    Each row of V is the embedding of a task or label. With a rank of at least that of the convex solution, the penalty
    is :math:`\lambda` times the trace norm of :math:`U V^\top`.

    Parameters
    ----------
    rank : int
        R; no more than features or tasks are used.
    loss : {"squared", "logistic", "huber"}
        Targets of ``"logistic"`` are from 0 to 1.
    ridge : float
        :math:`\lambda`, in units of a feature's and a target's scale.
    max_iter, tol
        Steps of L-BFGS at most, and the relative change at which to stop; see :func:`~polyadic.solvers.run.run`.
    watch : callable, optional
        Called with the :class:`~polyadic.solvers.run.Result` so far after each step.

    Attributes
    ----------
    U_ : ndarray of shape (features, R)
    V_ : ndarray of shape (tasks, R)
    intercept_ : ndarray of shape (tasks,)
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.models.base.Model`.

    References
    ----------
    See :mod:`polyadic.solvers.predictors.tasks`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, w = rng.normal(size=(60, 5)), rng.normal(size=5)
    >>> Y = np.outer(X @ w, [1.0, 2.0, -1.0]) + [0.0, 1.0, 5.0]
    >>> Y[::2, 0] = Y[1::2, 1] = np.nan
    >>> model = LowRankTasks(1, ridge=1e-3, tol=1e-9).fit(X, Y)
    >>> bool(np.nanmax(np.abs(model.predict(X) - Y)) < 0.01)
    True
    """

    rank: Count = 10
    _: KW_ONLY
    loss: LossName = "squared"
    ridge: Amount = 1.0
    max_iter: Count = 500
    tol: Amount = 1e-4
    watch: Watch = None

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit to rows of features, sparse or dense, and targets of shape (n, tasks), NaN where they are not known.

        Raises
        ------
        InputError
            If no target is known, one does not fit the loss, or a parameter is out of range.
        """
        self.check()
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64)
        tasks = Tasks.of(X, y, loss=LOSSES[self.loss], ridge=float(self.ridge))
        solver = quasi_newton(tasks, tasks.start(self.rank))
        self.U_, self.V_, b = self._keep(run(solver, max_iter=self.max_iter, tol=self.tol, watch=self.watch))
        self.intercept_ = b + tasks.centre
        return self

    def search(self, X: Any, *, y: ArrayLike, seed: int | None = 0) -> Search:
        """Judge ridge and rank by a tenth of the rows: by the loss of their known targets."""
        X, Y = check_array(X, accept_sparse="csr", dtype=np.float64), np.asarray(y, float)
        Tasks.of(X, Y, loss=LOSSES[self.loss], ridge=float(self.ridge))  # which refuses what does not fit
        out = np.random.default_rng(seed).random(len(Y)) < held_out_share(len(Y))
        known = ~np.isnan(Y)
        judged = out & known.any(axis=1)
        if not judged.any() or not known[~out].any():
            raise InputError(f"the {len(Y):,} rows have too few targets to hold any out")
        known, right, Z = known[judged], Y[judged], X[judged]
        mean = known.sum() / len(known)

        def losses(model: LowRankTasks) -> Array:
            each = LOSSES[model.loss].value(np.where(known, right, 0.0), model.decision_function(Z))
            return np.asarray(np.where(known, each, 0.0).sum(axis=1) / mean)

        most = min(X.shape[1], Y.shape[1])
        return Search(
            values={"ridge": RIDGES, "rank": (*(rank for rank in RANKS if rank < most), most)},
            fit=lambda model: model.fit(X[~out], Y[~out]),
            last=lambda model: model.fit(X, Y),
            losses=losses,
            units="rows",
            measure=f"{self.loss} loss",
        )

    def decision_function(self, X: Any) -> Array:
        """Give what the loss is of: targets, or log-odds; of shape (n, tasks)."""
        check_is_fitted(self, "U_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.asarray((X @ self.U_) @ self.V_.T + self.intercept_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Give targets; with the logistic loss, whether each label is likelier than not."""
        m = self.decision_function(X)
        return m > 0 if self.loss == "logistic" else m

    def predict_proba(self, X: Any) -> Array:
        """Give the probability of each label, of shape (n, labels).

        Raises
        ------
        InputError
            If the loss is not the logistic one.
        """
        from scipy.special import expit

        if self.loss != "logistic":
            raise InputError(f"there are probabilities with the logistic loss alone; this is {self.loss}")
        return np.asarray(expit(self.decision_function(X)))

    def predict_tasks(self, X: Any, tasks: ArrayLike) -> Array:
        """Give one target for each row, that of its task, which is given by number.

        Raises
        ------
        InputError
            If there is no such task, or not one for each row.
        """
        at = np.asarray(tasks)
        check_is_fitted(self, "U_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        if (
            at.shape != (X.shape[0],)
            or at.dtype.kind not in "iu"
            or (at.size and not 0 <= at.min() <= at.max() < len(self.V_))
        ):
            raise InputError(
                f"tasks are one whole number for each of {X.shape[0]:,} rows, from 0 and below {len(self.V_):,}"
            )
        return np.asarray(np.einsum("nr,nr->n", X @ self.U_, self.V_[at]) + self.intercept_[at])

    def score(self, X: Any, y: ArrayLike) -> float:
        """Give the mean loss of the known targets of rows, with a minus: the more the better."""
        Y, m = np.asarray(y, float), self.decision_function(X)
        if Y.shape != m.shape:
            raise InputError(f"targets must be of shape {m.shape}; got {Y.shape}")
        known = ~np.isnan(Y)
        return -float(LOSSES[self.loss].value(Y[known], m[known]).mean())

    def __sklearn_tags__(self) -> Any:
        """Say what it takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = tags.target_tags.required = True
        return tags
