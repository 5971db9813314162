r"""Two non-negative factors of a table, :math:`X \approx W H^\top`, by coordinates or by products.

Both factors are improved by the same half-step, rows that do not depend on one another given the other factor:
:class:`Squares` minimizes over one coordinate after another (HALS), :class:`Divergence` multiplies.

References
----------
Cichocki, Phan (2009), Fast local algorithms for large scale nonnegative matrix and tensor factorizations.
Ang, Gillis (2019), Accelerating nonnegative matrix factorization algorithms using extrapolation, algorithm 3.
Fevotte, Idier (2011), Algorithms for nonnegative matrix factorization with the beta-divergence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.special import xlogy

from polyadic.core import kernels, resources
from polyadic.core.errors import InputError
from polyadic.core.linalg import truncated_svd
from polyadic.core.linalg.distributed import distribute
from polyadic.core.solvers.run import Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import NDArray

    Array = NDArray[np.float32]

FLOOR = 1e-12
"""What a model value that is divided by is at least."""
SMALLEST = 1e-25
"""What the largest value of a table is at least, for products of factors not to vanish."""
TINY = 1e-30
"""What a factor that is divided by is at least."""
LEAST_RATIO = 0.5
"""What is left of an element of a factor beyond; with zero, a topic in ten of separate ones was lost on the way."""
LARGEST_RATIO = 4.0
"""What the change of a factor is taken for at most, where products go on from it."""
STEP, SHORTER, LONGER, LIMIT_GROWS = 0.5, 1.5, 1.05, 1.01
"""How far beyond its last change a factor is taken, and how that changes, as in section 3 of Ang and Gillis."""


class Cells(NamedTuple):
    """A table whose cells count by their weights.

    Attributes
    ----------
    table : csr_array of float32
        Listed cells, each once; zeros may be among them.
    weights : ndarray of shape (listed,), optional
        Theirs; ones without.
    zero_weight : float
        The weight of each cell that is not listed, which is zero; 0 if it is unknown.
    """

    table: csr_array
    weights: Array | None = None
    zero_weight: float = 1.0

    def turned(self) -> Cells:
        """Give the table with rows as columns."""
        turned = csr_array(self.table.T)
        if self.weights is None:
            return self._replace(table=turned)
        weights = csr_array((self.weights, self.table.indices, self.table.indptr), shape=self.table.shape)
        return self._replace(table=turned, weights=csr_array(weights.T).data)

    def entries(self) -> kernels.RowEntries:
        """Give what the loops take: how each listed cell differs from one that is not."""
        x = self.table
        w = np.ones_like(x.data) if self.weights is None else self.weights
        return kernels.RowEntries(x.indptr, x.indices, (w - self.zero_weight).astype(np.float32), w * x.data)

    def constant(self, beta: float) -> float:
        """Add up the terms of the divergence in which there is no model."""
        x = self.table.data.astype(float)
        if beta == 1:
            terms = xlogy(x, x) - x
        elif beta == 0:
            terms = -np.log(x) - 1
        else:
            terms = x**beta / (beta * (beta - 1))
        return float(terms.sum() if self.weights is None else terms @ self.weights.astype(float))


def cells_of(table: csr_array, weights: Any, *, zero_weight: float, beta: float) -> Cells:
    """Give the cells of a table for a divergence; where it needs every cell that counts, all are listed.

    Parameters
    ----------
    table : csr_array of float32
    weights : sparse matrix or array of the same shape, optional
        Those of listed cells.
    zero_weight : float
        That of the others.
    beta : float
        Of the divergence; see :class:`Divergence`.

    Raises
    ------
    InputError
        If weights do not fit, values are not above zero where they must be or too small, or memory would not do.
    """
    largest = float(table.data.max(initial=0))
    if 0 < largest < (SMALLEST if beta == 2 else 100 * FLOOR):
        raise InputError(f"the largest value, {largest:g}, is too small for single precision; multiply the table")
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    w = None
    if weights is not None:
        if np.shape(weights) != table.shape:
            raise InputError(f"weights must be of the table's shape {table.shape}; got {np.shape(weights)}")
        w = np.asarray(csr_array(weights)[rows, table.indices], np.float32)
        if not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
            raise InputError("weights must be finite, not negative, and not all zero")
    if zero_weight and beta not in {1, 2}:
        resources.check_memory(24.0 * np.prod(table.shape), "a table of all cells", "take loss='squared' or 'kl'")
        every = np.full(table.shape, zero_weight, np.float32)
        every[rows, table.indices] = 1 if w is None else w
        columns = np.tile(np.arange(table.shape[1], dtype=np.int32), len(every))
        starts = np.arange(len(every) + 1) * table.shape[1]
        table, w, zero_weight = csr_array((table.toarray().ravel(), columns, starts), table.shape), every.ravel(), 0.0
    if beta == 0 and len(table.data) and table.data.min() <= 0:
        raise InputError(
            "the divergence of beta 0 needs values above zero; leave zeros out of a sparse table,"
            " with unlisted='missing'"
        )
    return Cells(table, w, zero_weight)


class Squares:
    r"""A half-step on :math:`\tfrac12 \sum w (x - m)^2 + \lambda \sum U + \tfrac{\mu}{2} \|U\|^2`, by coordinates.

    Parameters
    ----------
    cells : Cells
        With the rows of the factor that is improved as rows.
    l1, l2 : float
        :math:`\lambda` and :math:`\mu`.
    threads : int
    """

    def __init__(self, cells: Cells, *, l1: float = 0.0, l2: float = 0.0, threads: int) -> None:
        self.cells, self.l1, self.l2, self.threads = cells, l1, l2, threads
        self.alike = cells.weights is None and cells.zero_weight == 1
        self.constant = cells.constant(2.0)
        self.table = distribute(cells.table) if self.alike else cells.table  # only then is it multiplied by

    def improve(self, U: Array, V: Array, *, passes: int = 1) -> float:
        """Improve ``U`` in place; give the weighted squares, of the ``U`` that was given, without penalties."""
        if not self.alike:
            return self.solve(U, V, passes=passes)
        G = V.T @ V
        squares = 0.5 * float(((U.T @ U).astype(float) * G).sum())
        product = kernels.hals(self._with_ridge(G), self.table @ V, U, l1=self.l1, passes=passes, threads=self.threads)
        return self.constant - product + squares

    def solve(self, U: Array, V: Array, *, passes: int, tol: float = 0.0) -> float:
        """Improve each row of ``U`` until it settles, in place."""
        base = self._with_ridge(self.cells.zero_weight * (V.T @ V))
        ridge = self._ridge(U)
        value = kernels.nonnegative_rows(
            self.cells.entries(), V, U, base=base, l1=self.l1, passes=passes, tol=tol, threads=self.threads
        )
        return value + self.constant - ridge

    def penalty(self, U: Array) -> float:
        """Give both penalties."""
        return self._ridge(U) + (self.l1 * float(U.sum(dtype=float)) if self.l1 else 0.0)

    def _ridge(self, U: Array) -> float:
        return 0.5 * self.l2 * float((U.astype(float) ** 2).sum()) if self.l2 else 0.0

    def beyond(self, new: Array, old: Array, step: float) -> Array:
        """Go on from ``new`` by a share of the way there from ``old``, but not to less than half."""
        return np.maximum(new + np.float32(step) * (new - old), np.float32(LEAST_RATIO) * new)

    def _with_ridge(self, G: Array) -> Array:
        return G + np.float32(self.l2) * np.eye(len(G), dtype=np.float32) if self.l2 else G


class Divergence:
    r"""A half-step on :math:`\sum w \, d_\beta(x, m) + \lambda \sum U`, by products that never raise it.

    :math:`\beta = 1` is the Kullback-Leibler divergence :math:`x \log(x / m) - x + m`, 0 that of Itakura and Saito,
    and between them and 2, half the square, :math:`\frac{x^\beta + (\beta - 1) m^\beta - \beta x m^{\beta - 1}}
    {\beta (\beta - 1)}`. Cells that are not listed must have the weight 0 unless :math:`\beta = 1`.
    """

    def __init__(self, cells: Cells, *, beta: float, l1: float = 0.0, threads: int) -> None:
        if cells.zero_weight and beta != 1:
            raise ValueError(f"zeros must be listed for beta={beta}")
        self.cells, self.beta, self.l1, self.threads = cells, beta, l1, threads
        self.entries, self.constant = cells.entries(), cells.constant(beta)

    def improve(self, U: Array, V: Array, *, passes: int = 1, tol: float = 0.0) -> float:
        """Improve ``U`` in place; give the divergence, of the ``U`` that was given, without penalties."""
        base = self.cells.zero_weight * V.sum(axis=0, dtype=float)
        how = {"base": base, "beta": self.beta, "floor": FLOOR, "l1": self.l1, "threads": self.threads}
        return self.constant + kernels.divergence_rows(self.entries, V, U, passes=passes, tol=tol, **how)

    def solve(self, U: Array, V: Array, *, passes: int, tol: float = 0.0) -> float:
        """Improve each row of ``U`` until it settles, in place."""
        return self.improve(U, V, passes=passes, tol=tol)

    def penalty(self, U: Array) -> float:
        """Give the penalty."""
        return self.l1 * float(U.sum(dtype=float)) if self.l1 else 0.0

    def beyond(self, new: Array, old: Array, step: float) -> Array:
        """Go on from ``new`` by a share of the way there from ``old``, in logarithms: what is positive stays so."""
        ratio = new / np.maximum(old, np.float32(TINY))
        return np.asarray(new * np.minimum(ratio, np.float32(LARGEST_RATIO)) ** np.float32(step))


class Half(Protocol):
    """A half-step: improve a factor for the other."""

    def improve(self, U: Array, V: Array, *, passes: int = 1) -> float:
        """Improve ``U`` in place; give the objective, of the ``U`` that was given, without penalties."""

    def penalty(self, U: Array) -> float:
        """Give what is added to the objective."""

    def beyond(self, new: Array, old: Array, step: float) -> Array:
        """Go on from ``new`` by a share of the way there from ``old``."""


def descend(rows: Half, columns: Half, start: list[Array], *, inner: int = 1) -> Iterator[Sweep]:
    """Improve both factors in turn, with extrapolation; no sweep raises the objective.

    Each factor is taken beyond where its half-step brought it, in the direction of its last change. Where that is no
    better than the sweep before, the half-steps are done again without, and go less far beyond from then on. Takes a
    quarter to half as many sweeps as half-steps alone.

    Parameters
    ----------
    rows, columns : Squares, Divergence or another half-step
        Of the table, and of the same table turned.
    start : list of ndarray
        :math:`W` and :math:`H`, float32; they are not changed.
    inner : int
        Passes over a factor before the other has its turn.

    Yields
    ------
    Sweep
        First the start.
    """
    (W, H), (W_last, H_last), (W_tried, H_tried) = start, start, start
    value, step, limit, reach = np.inf, STEP, 1.0, 0.0
    while True:
        W_new = W_tried.copy()
        objective = rows.improve(W_new, H_tried, passes=inner) + rows.penalty(W_tried) + columns.penalty(H_tried)
        if not reach or objective <= value:
            W, H, value, reach = W_tried, H_tried, objective, step
            yield Sweep([W, H], value)
            step, limit = min(limit, LONGER * step), min(1.0, LIMIT_GROWS * limit)
        else:
            step, limit, reach = step / SHORTER, step, 0.0
            W_new = W.copy()
            rows.improve(W_new, H, passes=inner)
        W_tried = rows.beyond(W_new, W_last, reach) if reach else W_new
        H_new = H.copy()
        columns.improve(H_new, W_tried, passes=inner)
        H_tried = columns.beyond(H_new, H_last, reach) if reach else H_new
        W_last, H_last = W_new, H_new


def level(cells: Cells, rank: int) -> float:
    """Give what both factors are about, for the model to have the mean of the table."""
    w = cells.weights
    total = cells.table.data.sum(dtype=float) if w is None else (w * cells.table.data).sum(dtype=float)
    listed = cells.table.nnz if w is None else float(w.sum(dtype=float))
    others = cells.zero_weight * (np.prod(cells.table.shape, dtype=float) - cells.table.nnz)
    return float(np.sqrt(max(total, 1e-30) / max(listed + others, 1e-30) / rank))


def uniform(cells: Cells, rank: int, *, rng: np.random.Generator) -> list[Array]:
    """Draw both factors, for the model to have about the mean of the table."""
    size = level(cells, rank)
    return [(size * rng.random((n, rank)) * 2).astype(np.float32) for n in cells.table.shape]


def nndsvd(cells: Cells, rank: int, *, rng: np.random.Generator, fill: bool) -> list[Array]:
    r"""Give the larger of the positive and negative parts of singular vectors.

    Parameters
    ----------
    cells : Cells
        Cells that are not listed are taken for zeros.
    rank : int
    rng : numpy.random.Generator
        Of the start of the iteration, and of components beyond the rank of the table.
    fill : bool
        Whether zeros become a hundredth of the level, for products to change them.

    References
    ----------
    Boutsidis, Gallopoulos (2008), SVD based initialization: a head start for nonnegative matrix factorization.
    """
    components = min(rank, *(n - 1 for n in cells.table.shape))
    factors = uniform(cells, rank, rng=rng)
    if not components:
        return factors
    U, s, V = truncated_svd(cells.table, components, method="randomized", seed=int(rng.integers(2**31)))
    up, down = ([np.maximum(sign * A, 0) for A in (U, V)] for sign in (1, -1))
    lengths = [[np.linalg.norm(A, axis=0) for A in part] for part in (up, down)]
    larger = lengths[0][0] * lengths[0][1] >= lengths[1][0] * lengths[1][1]
    for side, factor in enumerate(factors):
        part = np.where(larger, up[side], down[side]) / np.where(larger, lengths[0][side], lengths[1][side])
        scale = np.sqrt(s * np.where(larger, lengths[0][0] * lengths[0][1], lengths[1][0] * lengths[1][1]))
        factor[:, :components] = part * scale
        if fill:
            np.maximum(factor, np.float32(level(cells, rank) / 100), out=factor)
    return factors
