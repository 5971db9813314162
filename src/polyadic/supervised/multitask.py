r"""Multi-task learning: many targets predicted from the same features through a few shared directions.

Targets of squared and Huber loss are centred by their overall mean. The minimum of :math:`\tfrac12 (\|U\|_F^2 +
\|V\|_F^2)` over all :math:`U V^\top = \Theta` is the trace norm of :math:`\Theta`, so with a rank that does not bind
the objective of :class:`LowRankTasks` is the convex one with the penalty :math:`\lambda \|\Theta\|_*`.

References
----------
Yu, Jain, Kar, Dhillon (2014), Large-scale multi-label learning with missing labels, equation 2.
Srebro, Rennie, Jaakkola (2005), Maximum-margin matrix factorization, lemma 1, for the trace norm.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from polyadic.core.containers import dense_of, validated
from polyadic.core.errors import InputError
from polyadic.core.linalg import truncated_svd
from polyadic.core.losses import Huber, Logistic, Squared
from polyadic.core.model import Amount, Callback, Count, Model
from polyadic.core.penalties import L2
from polyadic.core.selection import SearchSpace, held_out_share
from polyadic.core.solvers.quasi_newton import quasi_newton
from polyadic.core.solvers.smooth import WithOffsets

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from polyadic.core.annotations import AnyArray, Array
    from polyadic.core.forms import Factors
    from polyadic.core.losses import Convex

LossName = Literal["squared", "logistic", "huber"]
LOSSES: dict[str, Convex] = {"squared": Squared(), "logistic": Logistic(), "huber": Huber()}
RIDGES = 3000.0, 1000.0, 300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01
RANKS = 1, 2, 5, 10, 20, 50, 100, 200  # grids of the search; ranks up to the number of features or tasks


class LowRankTasks(Model):
    r"""Multi-task regression or multi-label classification with low-rank weights.

    .. math:: \min_{U, V, b} \sum_{(i, k)\ \mathrm{known}} \ell(y_{ik}, x_i^\top U v_k + b_k)
              + \tfrac\lambda2 (\|U\|_F^2 + \|V\|_F^2), \qquad
              U \in \mathbb R^{d \times R}, \quad V \in \mathbb R^{K \times R}

    Each row of V is the embedding of a task or label. If the rank is at least that of the convex solution, the penalty
    is :math:`\lambda` times the trace norm of :math:`U V^\top`.

    Parameters
    ----------
    rank : int
        Number of shared directions. At most the number of features or tasks is used.
    loss : {"squared", "logistic", "huber"}
        Loss of a target. Targets of "logistic" are from 0 to 1.
    ridge : float
        Penalty :math:`\lambda` on U and V.

    Attributes
    ----------
    U_ : ndarray of shape (features, R)
        Weights of the features.
    V_ : ndarray of shape (tasks, R)
        Embeddings of the tasks.
    intercept_ : ndarray of shape (tasks,)
        Intercepts :math:`b`.

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
    callback: Callback = None
    _tags: ClassVar[Any] = {"input_tags.sparse": True, "target_tags.multi_output": True, "target_tags.required": True}

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit the model to feature vectors, a matrix, and targets of shape (n, tasks), NaN where unknown.

        At least one target must be known.
        """
        self.check()
        X = validated(self, X, accept_sparse="csr")
        tasks = Tasks(X, y, loss=LOSSES[self.loss], ridge=float(self.ridge))
        solver = quasi_newton(tasks, tasks.start(self.rank))
        self.U_, self.V_, b = self._optimize(solver)
        self.intercept_ = b + tasks.centre
        return self

    def search(self, X: Any, *, y: ArrayLike, seed: int | None = 0) -> SearchSpace:
        """Return a search space of ridge and rank, evaluated by the loss on held-out rows.

        ``X`` and ``y`` are those of :meth:`fit`, and ``seed`` that of the held-out rows.
        """
        X, Y = validated(clone(self), X, accept_sparse="csr"), dense_of(y, "targets")
        Tasks(X, Y, loss=LOSSES[self.loss], ridge=float(self.ridge))  # validates the input
        out = np.random.default_rng(seed).random(len(Y)) < held_out_share(len(Y))
        known = ~np.isnan(Y)
        judged = out & known.any(axis=1)
        if not judged.any() or not known[~out].any():
            about = "y has too few rows with known targets to hold out some of"
            raise InputError(f"{about} the {len(Y):,} rows for validation", "y")
        known, right, Z = known[judged], Y[judged], X[judged]
        mean = known.sum() / len(known)

        def losses(model: LowRankTasks) -> Array:
            each = LOSSES[model.loss].value(np.where(known, right, 0.0), model.decision_function(Z))
            return np.asarray(np.where(known, each, 0.0).sum(axis=1) / mean)

        most = min(X.shape[1], Y.shape[1])
        values = {"ridge": RIDGES, "rank": (*(rank for rank in RANKS if rank < most), most)}
        how: dict[str, Any] = {"fit": lambda model: model.fit(X[~out], Y[~out]), "last": lambda model: model.fit(X, Y)}
        return SearchSpace(values=values, losses=losses, units="rows", measure=f"{self.loss} loss", **how)

    def decision_function(self, X: Any) -> Array:
        """Return the predicted targets, or the log-odds for the logistic loss, of shape (n, tasks)."""
        return np.asarray(self._directions(X) @ self.V_.T + self.intercept_)

    def predict(self, X: Any) -> AnyArray:
        """Predict the targets, or boolean labels for the logistic loss."""
        m = self.decision_function(X)
        return m > 0 if self.loss == "logistic" else m

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each label, of shape (n, labels); raise InputError if the loss is not logistic."""
        if self.loss != "logistic":
            raise InputError(f"predict_proba requires loss='logistic'; got {self.loss!r}", "loss")
        return np.asarray(expit(self.decision_function(X)))

    def predict_tasks(self, X: Any, tasks: ArrayLike) -> Array:
        """Predict the target of one task for each row, given the index of that task, both of shape (n,).

        InputError is raised if a task does not exist or the number of tasks differs from the number of rows.
        """
        at, Z = np.asarray(tasks), self._directions(X)
        inside = at.dtype.kind in "iu" and (not at.size or 0 <= at.min() <= at.max() < len(self.V_))
        if at.shape != (len(Z),) or not inside:
            about = f"tasks must contain an index from 0 to {len(self.V_) - 1:,}"
            raise InputError(f"{about} for each of the {len(Z):,} rows", "tasks")
        return np.asarray(np.einsum("nr,nr->n", Z, self.V_[at]) + self.intercept_[at])

    def _directions(self, X: Any) -> Array:
        check_is_fitted(self, "U_")
        return np.asarray(validated(self, X, accept_sparse="csr", reset=False) @ self.U_)

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return the negative mean loss of the known targets."""
        Y, m = dense_of(y, "targets"), self.decision_function(X)
        if Y.shape != m.shape:
            raise InputError(f"targets must have shape {m.shape}; got {Y.shape}")
        known = ~np.isnan(Y)
        return -float(LOSSES[self.loss].value(Y[known], m[known]).mean())


RIDGE = 0.01
"""Penalty of the offsets, which keeps those of constant labels finite and gives tasks without targets the mean."""
SCALES = 2.0 ** np.arange(-20, 11)  # scales of the start that are tried


class Tasks:
    """Objective of multitask learning, for targets from which ``centre`` is subtracted.

    ``y`` holds the known targets, at ``rows`` and ``columns``. If all targets are known, ``y`` has shape (n, K), and
    ``rows`` and ``columns`` are None.
    """

    def __init__(self, X: Any, targets: ArrayLike, *, loss: Convex, ridge: float) -> None:
        Y = dense_of(targets, "targets", "array")
        if Y.ndim != 2 or len(Y) != X.shape[0]:
            about = f"targets must have {X.shape[0]:,} rows and a column for each task"
            raise InputError(f"{about}; got shape {Y.shape}", "targets")
        known = ~np.isnan(Y)
        if not known.any():
            raise InputError("at least one target must be known; all are NaN", "targets")
        y = Y[known]
        if isinstance(loss, Logistic) and not (y.min() >= 0 and y.max() <= 1):
            raise InputError(f"targets of the logistic loss must be from 0 to 1; got {y.min():g} to {y.max():g}")
        whole = known.all()
        cells: Any = (None, None) if whole else known.nonzero()
        self.rows, self.columns = cells
        self.centre = 0.0 if isinstance(loss, Logistic) else float((Y if whole else y).mean())
        self.X, self.shape, self.y, self.loss = X, Y.shape, (Y if whole else y) - self.centre, loss
        self.penalties = (L2(ridge), L2(ridge), L2(RIDGE))

    def value_and_gradient(self, factors: Factors) -> tuple[float, Factors]:
        """Return the objective and its gradient with respect to U, V and b."""
        U, V, b = factors
        Z = self.X @ U
        m = self._predicted(Z, V, b)
        penalty = sum(p.value(u) for p, u in zip(self.penalties, factors, strict=True))
        value = float(self.loss.value(self.y, m).sum()) + penalty
        G = self.slopes(m)
        gradient = [self.X.T @ (G @ V), G.T @ Z, np.asarray(G.sum(axis=0)).ravel()]
        return value, [np.asarray(g) + p.grad(u) for g, p, u in zip(gradient, self.penalties, factors, strict=True)]

    def slopes(self, m: Array) -> Any:
        """Return the derivatives of the losses as an (n, K) matrix, sparse unless all cells are known."""
        g = self.loss.grad(self.y, m)
        return g if self.rows is None else csr_array((g, (self.rows, self.columns)), shape=self.shape)

    def start(self, rank: int) -> Factors:
        """Initialize U and V along the steepest descent, at the best of ``SCALES``, and b with constant offsets."""
        n, K = self.shape
        columns = np.tile(np.arange(K), n) if self.columns is None else self.columns
        flat = WithOffsets(self.y.ravel(), columns, self.loss, 1.0, RIDGE, K)
        b = flat.offsets(np.zeros(self.y.size))
        S = -(self.X.T @ self.slopes(b[columns].reshape(self.y.shape)))
        S = S.toarray() if issparse(S) else np.asarray(S)
        if rank < min(S.shape):
            u, s, v = truncated_svd(S, rank, seed=0)
        else:
            u, s, w = np.linalg.svd(S, full_matrices=False)
            v = w.T
        if not s[0]:
            return [u * 0, v * 0, b]
        root = np.sqrt(s / s[0])
        starts = [[u * root * c, v * root * c, b] for c in SCALES]
        return min(starts, key=lambda factors: self.value_and_gradient(factors)[0])

    def _predicted(self, Z: Array, V: Array, b: Array) -> Array:
        if self.rows is None or self.columns is None:
            return np.asarray(Z @ V.T + b)
        return np.asarray(np.einsum("mr,mr->m", Z[self.rows], V[self.columns]) + b[self.columns])
