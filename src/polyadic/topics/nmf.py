"""Non-negative matrix factorization of sparse tables by least squares or another beta-divergence."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.core.annotations import Floats
from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Callback, Count, Seed, Within
from polyadic.topics.base import Topics
from polyadic.topics.multiplicative import (
    SQUARES,
    Divergence,
    Squares,
    WeightedCells,
    cells_of,
    descend,
    nndsvd,
    uniform,
)

BETAS = {"squared": 2.0, "kl": 1.0}  # beta-divergences that have a name


class NMF(Topics):
    r"""Non-negative matrix factorization of a table, usually of documents by words.

    .. math:: \min_{W, H \ge 0} \sum_{ij} w_{ij} d_\beta\big(x_{ij}, (W H)_{ij}\big)
              + \lambda_W \sum W + \lambda_H \sum H + \tfrac{\mu_W}{2} \|W\|^2 + \tfrac{\mu_H}{2} \|H\|^2

    Least squares, :math:`d_2 = \tfrac12 (x - m)^2`, are solved by cyclic coordinate descent (HALS) with extrapolation;
    the Kullback-Leibler divergence, :math:`d_1 = x \log(x / m) - x + m`, and other divergences by multiplicative
    updates. No sweep increases the objective. A sparse table stays sparse: its unobserved cells are zeros, at no extra
    cost, or missing.

    Parameters
    ----------
    n_components : int
        Number of components.
    loss : {"squared", "kl"} or float
        Beta-divergence to minimize: ``"squared"`` (:math:`\beta = 2`), ``"kl"`` (:math:`\beta = 1`), or :math:`\beta`
        from 0 to 2. ``"kl"`` suits counts; up to scale it is probabilistic latent semantic analysis. Other values of
        :math:`\beta` store every cell with positive weight in memory.
    l1_W, l1_H : float
        Strength :math:`\lambda` of the L1 penalty of each factor; larger values give more zeros. A penalty of one
        factor alone has no effect, since the scale moves to the other factor.
    l2_W, l2_H : float
        Strength :math:`\mu` of the L2 penalty of each factor; only for ``loss="squared"``.
    unobserved : {"zero", "missing"}
        Meaning of cells that a sparse table does not store. With ``"missing"``, NaN in a dense array is missing, and
        zeros are values.
    zero_weight : float
        Weight :math:`w` of unobserved cells that count as zero; only for ``"squared"`` and ``"kl"``.
    solver : {"auto", "hals", "mu", "anls"}
        Algorithm for the squared loss: cyclic coordinate descent with extrapolation (``"hals"``, the default),
        multiplicative updates (``"mu"``), or alternating exact non-negative least squares by an active-set method
        (``"anls"``); the last two require that all cells have weight 1. Other losses use ``"mu"``. ``"hals"`` is the
        fastest.
    init : {"random", "nndsvd"}
        Initialization. Starting from singular vectors (``"nndsvd"``) takes longer than it saves and does not reach a
        lower objective.
    inner : int
        Number of passes over one factor before the other is updated.

    Attributes
    ----------
    components_ : float32 ndarray of shape (n_components, columns)
        Components :math:`H`.
    row_factors_ : float32 ndarray of shape (rows, n_components)
        Factors :math:`W` of the training rows.

    References
    ----------
    Cichocki, Phan (2009), Fast local algorithms for large scale nonnegative matrix and tensor factorizations.
    Ang, Gillis (2019), Accelerating nonnegative matrix factorization algorithms using extrapolation, algorithm 3.
    Fevotte, Idier (2011), Algorithms for nonnegative matrix factorization with the beta-divergence.
    Lee, Seung (2001), Algorithms for non-negative matrix factorization, theorem 1.
    Kim, Park (2011), Fast nonnegative matrix factorization: an active-set-like method and comparisons, algorithm 1.

    Examples
    --------
    >>> x = np.array([[2.0, 2.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 6.0]])
    >>> model = NMF(2, seed=0).fit(x)
    >>> float(np.abs(model.row_factors_ @ model.components_ - x).max().round(2))
    0.0
    >>> x[1, 0] = np.nan  # unknown
    >>> model = NMF(1, unobserved="missing", seed=0).fit(x[:2, :2])
    >>> (model.row_factors_ @ model.components_)[1, 0].round(2)
    np.float32(1.0)
    """

    _: KW_ONLY
    loss: Literal["squared", "kl"] | Annotated[float, Within(0, 2)] = "squared"
    l1_W: Amount = 0.0
    l1_H: Amount = 0.0
    l2_W: Amount = 0.0
    l2_H: Amount = 0.0
    unobserved: Literal["zero", "missing"] = "zero"
    zero_weight: Amount = 1.0
    solver: Literal["auto", "hals", "mu", "anls"] = "auto"
    init: Literal["random", "nndsvd"] = "random"
    tol: Amount = 1e-5
    inner: Count = 1
    seed: Seed = None
    callback: Callback = None

    def fit(self, X: Any, y: Any = None, *, weights: Any = None) -> Self:
        """Factorize a table into non-negative factors; see :meth:`Topics.fit <polyadic.topics.base.Topics.fit>`.

        ``weights`` are those of observed cells, ones by default; a sparse matrix of weights must have the cells of the
        table.
        """
        self.check()
        cells = self._cells(X, weights, reset=True)
        if self.solver in {"mu", "anls"} and self._beta() == 2 and not cells.alike:
            about = f"solver={self.solver!r} requires that all cells have weight 1"
            raise InputError(f"{about}; choose 'hals'", "solver", "weights")
        rng = np.random.default_rng(self.seed)
        if self.init == "random":
            start = uniform(cells, self.n_components, rng=rng)
        else:
            start = nndsvd(cells, self.n_components, rng=rng, fill=self._beta() != 2 or self.solver == "mu")
        sides = self._half(cells, "W", self.solver), self._half(cells.turned(), "H", self.solver)
        sweeps = descend(*sides, start, inner=self.inner)
        W, H = self._optimize(sweeps)
        self.row_factors_, self.components_ = W, np.ascontiguousarray(H.T)
        return self

    def transform(self, X: Any) -> Floats:
        """Return the factors of new rows with the components fixed; each row is solved separately."""
        check_is_fitted(self)
        cells, H = self._cells(X, None, reset=False), np.ascontiguousarray(self.components_.T)
        size = cells.table.sum(axis=1) / max(float(H.sum(dtype=float)), 1e-30)
        W = np.repeat(size[:, None], self.n_components, axis=1).astype(np.float32)
        self._half(cells, "W").solve(W, H, passes=self.max_iter, tol=self.tol)
        return W

    def check(self) -> None:
        """Raise InputError if a setting is out of range or a penalty does not apply to the loss."""
        super().check()
        if self._beta() != 2 and (self.l2_W or self.l2_H):
            raise InputError("l2_W and l2_H require loss='squared'; set them to 0 or change the loss", "loss")
        if self._beta() != 2 and self.solver not in {"auto", "mu"}:
            raise InputError(f"solver={self.solver!r} requires loss='squared'; choose 'mu' or 'auto'", "solver", "loss")

    def __sklearn_tags__(self) -> Any:
        """Declare whether NaN is allowed in the input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.unobserved == "missing"
        return tags

    def _beta(self) -> float:
        return BETAS[self.loss] if isinstance(self.loss, str) else float(self.loss)

    def _half(self, cells: WeightedCells, side: str, solver: str = "auto") -> Squares | Divergence:
        l1, l2 = (getattr(self, f"{name}_{side}") for name in ("l1", "l2"))
        beta, threads = self._beta(), self._threads
        if beta == 2:
            return SQUARES[solver](cells, l1=l1, l2=l2, threads=threads)
        return Divergence(cells, beta=beta, l1=l1, threads=threads)

    def _cells(self, X: Any, weights: Any, *, reset: bool) -> WeightedCells:
        missing, beta = self.unobserved == "missing", self._beta()
        table = self._table(X, reset=reset, unknown=missing)
        return cells_of(table, weights, zero_weight=0.0 if missing else self.zero_weight, beta=beta)
