"""Non-negative matrix factorization of sparse tables, by squares or by Kullback-Leibler divergence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from lowrank import kernels, resources
from lowrank.errors import InputError, check_choice, check_int, check_number
from lowrank.solvers.run import Fitted, Sweep, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from lowrank.solvers.run import Result

    Array = NDArray[np.float32]

Loss = Literal["squared", "kl"]
TINY = 1e-12  # what a model value that is divided by is at least


class NMF(Fitted, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Non-negative factors of a non-negative table, most often of documents and words.

    .. math:: \min_{W, H \ge 0} D(X, W H) + \lambda_W \sum W + \lambda_H \sum H

    with :math:`D = \tfrac12 \|X - W H\|^2`, by cyclic coordinate descent over rows that do not depend on one another
    (HALS), or :math:`D = \sum_{ij} x \log(x / m) - x + m`, by multiplicative updates. No sweep raises the objective.
    The table stays sparse; its zeros count, at no cost.

    Parameters
    ----------
    rank : int
        Components.
    loss : {"squared", "kl"}
        :math:`D`. ``"kl"`` suits counts, and with rescaling is probabilistic latent semantic analysis.
    l1_W, l1_H : float
        :math:`\lambda`; larger ones give more zeros. Of one factor alone it is evaded: the other grows.
    max_iter, tol
        See :func:`~lowrank.solvers.run.run`; a sweep improves both factors.
    inner : int
        Passes over the coordinates of a factor before the other has its turn.
    seed : int, optional
        Of the random start.
    threads : int, optional
        All cores by default; the result does not depend on them.
    watch : callable, optional
        Called with the :class:`~lowrank.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    components_ : float32 ndarray of shape (rank, columns)
        :math:`H`.
    row_factors_ : float32 ndarray of shape (rows, rank)
        :math:`W` of the rows fitted to.
    history_, n_iter_, converged_, interrupted_
        As those of :class:`~lowrank.models.words.symmetric.SymmetricCP`.

    References
    ----------
    Cichocki, Phan (2009), Fast local algorithms for large scale nonnegative matrix and tensor factorizations.
    Lee, Seung (2001), Algorithms for non-negative matrix factorization, theorem 2.

    Examples
    --------
    >>> x = np.array([[2.0, 2.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 6.0]])
    >>> model = NMF(2, seed=0).fit(x)
    >>> float(np.abs(model.row_factors_ @ model.components_ - x).max().round(2))
    0.0
    """

    def __init__(
        self,
        rank: int = 10,
        *,
        loss: Loss = "squared",
        l1_W: float = 0.0,
        l1_H: float = 0.0,
        max_iter: int = 200,
        tol: float = 1e-4,
        inner: int = 1,
        seed: int | None = None,
        threads: int | None = None,
        watch: Callable[[Result], None] | None = None,
    ) -> None:
        self.rank = rank
        self.loss = loss
        self.l1_W = l1_W
        self.l1_H = l1_H
        self.max_iter = max_iter
        self.tol = tol
        self.inner = inner
        self.seed = seed
        self.threads = threads
        self.watch = watch

    def fit(self, X: Any, y: Any = None) -> Self:
        """Factorize a table.

        Parameters
        ----------
        X : sparse matrix or array of shape (rows, columns)

        Raises
        ------
        InputError
            If a value is negative, all are zero, or a parameter is out of range.
        """
        del y
        table = self._checked(X, reset=True)
        if not table.data.any():
            raise InputError("every value is zero: there is nothing to factorize")
        result = run(self._sweeps(table), max_iter=self.max_iter, tol=self.tol, watch=self.watch)
        W, H = self._keep(result)
        self.row_factors_, self.components_ = W, np.ascontiguousarray(H.T)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Factorize a table, and give the factors of its rows."""
        return self.fit(X, y).row_factors_

    def transform(self, X: Any) -> Array:
        """Give the factors of other rows, with the components as they are."""
        check_is_fitted(self)
        table, H = self._checked(X, reset=False), self.components_.T.copy()
        W = np.full((table.shape[0], self.rank), _level(table, self.rank), np.float32)
        for _ in range(self.max_iter):
            before = W.copy()
            self._improve(table, W, H, self.l1_W)
            if np.abs(W - before).max(initial=0) <= self.tol * np.abs(W).max(initial=0):
                break
        return W

    def _checked(self, X: Any, *, reset: bool) -> csr_array:
        check_int("rank", self.rank, low=1)
        check_choice("loss", self.loss, get_args(Loss))
        for name in ("l1_W", "l1_H"):
            check_number(name, getattr(self, name))
        check_int("inner", self.inner, low=1)
        table = csr_array(validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=reset))
        table.sum_duplicates()
        if len(table.data) and table.data.min() < 0:
            row = int(np.searchsorted(table.indptr, table.data.argmin(), side="right")) - 1
            raise InputError(f"values must not be negative; row {row} holds {table.data.min():g}")
        return table

    def _sweeps(self, X: csr_array) -> Iterator[Sweep]:
        rng = np.random.default_rng(self.seed)
        turned = csr_array(X.T)
        level = _level(X, self.rank)
        W, H = ((level * rng.random((size, self.rank)) * 2).astype(np.float32) for size in X.shape)
        while True:
            yield Sweep([W.copy(), H.copy()], self._objective(X, W, H))
            self._improve(X, W, H, self.l1_W)
            self._improve(turned, H, W, self.l1_H)

    def _improve(self, X: csr_array, W: Array, H: Array, l1: float) -> None:
        """Improve the factor of the rows in place."""
        if self.loss == "squared":
            threads = resources.cores() if self.threads is None else check_int("threads", self.threads, low=1)
            kernels.nonnegative_lasso(H.T @ H, X @ H, W, l1=l1, tol=0.0, sweeps=self.inner, threads=threads)
            return
        below = H.sum(axis=0, dtype=float) + l1
        for _ in range(self.inner):
            ratio = csr_array((X.data / np.maximum(_at(X, W, H), TINY), X.indices, X.indptr), shape=X.shape)
            W *= (ratio @ H / np.maximum(below, TINY)).astype(np.float32)

    def _objective(self, X: csr_array, W: Array, H: Array) -> float:
        penalty = self.l1_W * float(W.sum(dtype=float)) + self.l1_H * float(H.sum(dtype=float))
        if self.loss == "kl":
            x, m = X.data.astype(float), np.maximum(_at(X, W, H), TINY)
            known = x > 0
            divergence = float((x[known] * np.log(x[known] / m[known])).sum()) - float(x.sum())
            return divergence + float(W.sum(axis=0, dtype=float) @ H.sum(axis=0, dtype=float)) + penalty
        squares = float((X.data.astype(float) ** 2).sum())
        product = float((W.astype(float) * (X @ H)).sum())
        gram = float(((W.T @ W).astype(float) * (H.T @ H)).sum())
        return 0.5 * (squares - 2 * product + gram) + penalty

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])


def _level(X: csr_array, rank: int) -> float:
    """Give what both factors are about, for the model to have the mean of the table."""
    return float(np.sqrt(max(float(X.data.mean(dtype=float)) * len(X.data) / np.prod(X.shape), 1e-30) / rank))


def _at(X: csr_array, W: Array, H: Array) -> NDArray[np.float64]:
    """Give the values of the model where the table lists one."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.asarray(np.einsum("nr,nr->n", W[rows], H[X.indices], dtype=float))
