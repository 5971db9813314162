"""Non-negative matrix factorization of sparse tables, by squares or another beta-divergence."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Callback, Count, Seed, Threads, Within
from polyadic.core.solvers.run import run
from polyadic.topics.base import Topics
from polyadic.topics.multiplicative import Divergence, Squares, cells_of, descend, nndsvd, uniform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.topics.multiplicative import Cells

    Array = NDArray[np.float32]

BETAS = {"squared": 2.0, "kl": 1.0}
"""Divergences with a name of their own."""


class NMF(Topics):
    r"""Non-negative factors of a non-negative table, most often of documents and words.

    .. math:: \min_{W, H \ge 0} \sum_{ij} w_{ij} d_\beta\big(x_{ij}, (W H)_{ij}\big)
              + \lambda_W \sum W + \lambda_H \sum H + \tfrac{\mu_W}{2} \|W\|^2 + \tfrac{\mu_H}{2} \|H\|^2

    with :math:`d_2 = \tfrac12 (x - m)^2`, by cyclic coordinate descent over rows that do not depend on one another
    (HALS) with extrapolation; :math:`d_1 = x \log(x / m) - x + m` and others by multiplicative updates. No sweep raises
    the objective. A sparse table stays sparse; its zeros count, at no cost, or are unknown.

    Parameters
    ----------
    rank : int
        Components.
    loss : {"squared", "kl"} or float
        :math:`\beta` from 0 to 2, of which ``"squared"`` is 2 and ``"kl"`` is 1. ``"kl"`` suits counts, and with
        rescaling is probabilistic latent semantic analysis. For others every cell that counts is listed in memory.
    l1_W, l1_H : float
        :math:`\lambda`; larger ones give more zeros. Of one factor alone it is evaded: the other grows.
    l2_W, l2_H : float
        :math:`\mu`, for squares.
    unlisted : {"zero", "missing"}
        What cells are that a sparse table does not list. With ``"missing"`` NaN in an array is unknown, zeros are not.
    zero_weight : float
        :math:`w` of cells that are not listed and count as zero; for squares and ``"kl"``.
    init : {"random", "nndsvd"}
        Where to begin. Singular vectors take longer to find than they save, and end no lower.
    max_iter, tol
        See :func:`~polyadic.core.solvers.run.run`; a sweep improves both factors.
    inner : int
        Passes over the coordinates of a factor before the other has its turn.
    seed : int, optional
        Of the start.
    threads : int, optional
        All cores by default; the result depends on them in last digits only.
    callback : callable, optional
        Called with the :class:`~polyadic.core.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    components_ : float32 ndarray of shape (rank, columns)
        :math:`H`.
    row_factors_ : float32 ndarray of shape (rows, rank)
        :math:`W` of the rows fitted to.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`.

    References
    ----------
    Cichocki, Phan (2009), Fast local algorithms for large scale nonnegative matrix and tensor factorizations.
    Ang, Gillis (2019), Accelerating nonnegative matrix factorization algorithms using extrapolation.
    Fevotte, Idier (2011), Algorithms for nonnegative matrix factorization with the beta-divergence.

    Examples
    --------
    >>> x = np.array([[2.0, 2.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 6.0]])
    >>> model = NMF(2, seed=0).fit(x)
    >>> float(np.abs(model.row_factors_ @ model.components_ - x).max().round(2))
    0.0
    >>> x[1, 0] = np.nan  # unknown
    >>> model = NMF(1, unlisted="missing", seed=0).fit(x[:2, :2])
    >>> (model.row_factors_ @ model.components_)[1, 0].round(2)
    np.float32(1.0)
    """

    rank: Count = 10
    _: KW_ONLY
    loss: Literal["squared", "kl"] | Annotated[float, Within(0, 2)] = "squared"
    l1_W: Amount = 0.0
    l1_H: Amount = 0.0
    l2_W: Amount = 0.0
    l2_H: Amount = 0.0
    unlisted: Literal["zero", "missing"] = "zero"
    zero_weight: Amount = 1.0
    init: Literal["random", "nndsvd"] = "random"
    max_iter: Count = 200
    tol: Amount = 1e-5
    inner: Count = 1
    seed: Seed = None
    threads: Threads = None
    callback: Callback = None

    def fit(self, X: Any, y: Any = None, *, weights: Any = None) -> Self:
        """Factorize a table.

        Parameters
        ----------
        X : sparse matrix or array of shape (rows, columns)
        weights : sparse matrix or array of shape (rows, columns), optional
            How much each listed cell counts; ones by default.

        Raises
        ------
        InputError
            If a value is negative, all are zero, weights do not fit, or a parameter is out of range.
        """
        del y
        self.check()
        cells = self._cells(X, weights, reset=True)
        rng, fill = np.random.default_rng(self.seed), self._beta() != 2
        random = self.init == "random"
        start = uniform(cells, self.rank, rng=rng) if random else nndsvd(cells, self.rank, rng=rng, fill=fill)
        sides = self._half(cells, "W"), self._half(cells.turned(), "H")
        sweeps = descend(*sides, start, inner=self.inner)
        W, H = self._keep(run(sweeps, max_iter=self.max_iter, tol=self.tol, callback=self.callback))
        self.row_factors_, self.components_ = W, np.ascontiguousarray(H.T)
        return self

    def transform(self, X: Any) -> Array:
        """Give the factors of other rows, with the components as they are; each row by itself."""
        check_is_fitted(self)
        cells, H = self._cells(X, None, reset=False), np.ascontiguousarray(self.components_.T)
        size = cells.table.sum(axis=1) / max(float(H.sum(dtype=float)), 1e-30)
        W = np.repeat(size[:, None], self.rank, axis=1).astype(np.float32)
        self._half(cells, "W").solve(W, H, passes=self.max_iter, tol=self.tol)
        return W

    def check(self) -> None:
        """Refuse settings out of range, and penalties that are not of the loss.

        Raises
        ------
        InputError
        """
        super().check()
        if self._beta() != 2 and (self.l2_W or self.l2_H):
            raise InputError("l2_W and l2_H are for loss='squared'; products could raise the objective")

    def __sklearn_tags__(self) -> Any:
        """Say whether values may be NaN."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.unlisted == "missing"
        return tags

    def _beta(self) -> float:
        return BETAS[self.loss] if isinstance(self.loss, str) else float(self.loss)

    def _half(self, cells: Cells, side: str) -> Squares | Divergence:
        l1, l2 = (getattr(self, f"{name}_{side}") for name in ("l1", "l2"))
        beta, threads = self._beta(), self._threads
        if beta == 2:
            return Squares(cells, l1=l1, l2=l2, threads=threads)
        return Divergence(cells, beta=beta, l1=l1, threads=threads)

    def _cells(self, X: Any, weights: Any, *, reset: bool) -> Cells:
        missing, beta = self.unlisted == "missing", self._beta()
        table = self._table(X, reset=reset, unknown=missing)
        return cells_of(table, weights, zero_weight=0.0 if missing else self.zero_weight, beta=beta)
