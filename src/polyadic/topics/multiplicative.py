r"""Two-factor non-negative factorization, :math:`X \approx W H^\top`, by coordinate descent or multiplicative updates.

Both factors are updated by the same half-step, whose rows are independent given the other factor: :class:`Squares`
minimizes over one coordinate after another (HALS), :class:`ActiveSet` over all coordinates of a row (ANLS), and
:class:`MultiplicativeSquares` and :class:`Divergence` multiply.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import xlogy

from polyadic.core import kernels, resources
from polyadic.core.annotations import Floats
from polyadic.core.containers import complete, numbers_of
from polyadic.core.errors import InputError
from polyadic.core.linalg import truncated_svd
from polyadic.core.linalg.sparse import distribute
from polyadic.core.solvers.run import Sweep

MIN_MODEL = 1e-12  # smallest model value in a denominator
MIN_LARGEST_VALUE = 1e-25
"""Smallest allowed maximum of a table; with smaller values products of factors would underflow."""
MIN_FACTOR = 1e-30  # smallest factor value in a denominator
MIN_RATIO = 0.5
"""Smallest factor by which extrapolation may shrink an element; with 0, one in ten separable topics was lost."""
MAX_RATIO = 4.0  # largest ratio of new to old values used in multiplicative extrapolation
FIRST_STEP, STEP_SHRINK, STEP_GROWTH, LIMIT_GROWTH = 0.5, 1.5, 1.05, 1.01
"""Initial extrapolation step and its adaptation, as in section 3 of Ang and Gillis."""


class WeightedCells(NamedTuple):
    """Weighted cells of a table whose unobserved cells are zeros with a common weight; ``weights`` of None are ones."""

    table: csr_array
    weights: Floats | None = None
    zero_weight: float = 1.0

    @property
    def alike(self) -> bool:
        """Whether all cells have weight 1."""
        return self.weights is None and self.zero_weight == 1

    def turned(self) -> WeightedCells:
        """Return the weighted cells of the transposed table."""
        turned = csr_array(self.table.T)
        if self.weights is None:
            return self._replace(table=turned)
        weights = csr_array((self.weights, self.table.indices, self.table.indptr), shape=self.table.shape)
        return self._replace(table=turned, weights=csr_array(weights.T).data)

    def entries(self) -> kernels.RowEntries:
        """Return the cells in the layout of the numba kernels, with weights minus the weight of unobserved cells."""
        x = self.table
        w = np.ones_like(x.data) if self.weights is None else self.weights
        return kernels.RowEntries(x.indptr, x.indices, (w - self.zero_weight).astype(np.float32), w * x.data)

    def constant(self, beta: float) -> float:
        """Return the sum of the terms of the divergence that do not depend on the model."""
        x = self.table.data.astype(float)
        if beta == 1:
            terms = xlogy(x, x) - x
        elif beta == 0:
            terms = -np.log(x) - 1
        else:
            terms = x**beta / (beta * (beta - 1))
        return float(terms.sum() if self.weights is None else terms @ self.weights.astype(float))


def cells_of(table: csr_array, weights: Any, *, zero_weight: float, beta: float) -> WeightedCells:
    """Return the weighted cells of a table, with weighted zeros stored explicitly if beta is not 1 or 2."""
    largest = float(table.data.max(initial=0))
    if 0 < largest < (MIN_LARGEST_VALUE if beta == 2 else 100 * MIN_MODEL):
        raise InputError(f"the largest value, {largest:g}, is too small for single precision; rescale the table")
    rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    w = None
    if weights is not None:
        weights = complete(numbers_of(weights, "weights"), "weights").values
        if weights.shape != table.shape:
            got = weights.shape
            raise InputError(f"weights must have the same shape as the table, {table.shape}; got {got}", "weights")
        w = np.asarray(csr_array(weights)[rows, table.indices], np.float32)
        if not (np.isfinite(w).all() and (w >= 0).all() and w.any()):
            raise InputError("weights must be finite, non-negative and not all zero", "weights")
    if zero_weight and beta not in {1, 2}:
        resources.check_memory(24.0 * np.prod(table.shape), "a dense table of all cells", "use loss='squared' or 'kl'")
        every = np.full(table.shape, zero_weight, np.float32)
        every[rows, table.indices] = 1 if w is None else w
        columns = np.tile(np.arange(table.shape[1], dtype=np.int32), len(every))
        starts = np.arange(len(every) + 1) * table.shape[1]
        table, w, zero_weight = csr_array((table.toarray().ravel(), columns, starts), table.shape), every.ravel(), 0.0
    if beta == 0 and len(table.data) and table.data.min() <= 0:
        about = "X must contain only positive values for loss=0 (Itakura-Saito)"
        advice = "leave zeros out of a sparse table, and set unobserved='missing'"
        raise InputError(f"{about}; {advice}", "loss", "unobserved")
    return WeightedCells(table, w, zero_weight)


def entries_of(counts: csr_array) -> kernels.RowEntries:
    """Return the rows of a count table in the layout of the numba kernels."""
    return kernels.RowEntries(counts.indptr, counts.indices, np.zeros_like(counts.data), counts.data)


class Squares:
    r"""Coordinate descent for a factor, on :math:`\tfrac12 \sum w (x - m)^2 + \lambda \sum U + \tfrac\mu2 \|U\|^2`."""

    def __init__(self, cells: WeightedCells, *, l1: float = 0.0, l2: float = 0.0, threads: int) -> None:
        self.cells, self.l1, self.l2, self.threads = cells, l1, l2, threads
        self.alike = cells.alike
        self.constant = cells.constant(2.0)
        self.table = distribute(cells.table) if self.alike else cells.table  # otherwise there is no matrix product

    def improve(self, U: Floats, V: Floats, *, passes: int = 1) -> float:
        """Update the factor ``U`` in place, and return the weighted squared error before the update."""
        if not self.alike:
            return self.solve(U, V, passes=passes)
        G = V.T @ V
        squares = 0.5 * float(((U.T @ U).astype(float) * G).sum())
        product = kernels.hals(self._with_ridge(G), self.table @ V, U, l1=self.l1, passes=passes, threads=self.threads)
        return self.constant - product + squares

    def solve(self, U: Floats, V: Floats, *, passes: int, tol: float = 0.0) -> float:
        """Update each row of the factor ``U`` in place until convergence."""
        base = self._with_ridge(self.cells.zero_weight * (V.T @ V))
        ridge = self._ridge(U)
        how: dict[str, Any] = {"base": base, "l1": self.l1, "threads": self.threads}
        value = kernels.nonnegative_rows(self.cells.entries(), V, U, passes=passes, tol=tol, **how)
        return value + self.constant - ridge

    def penalty(self, U: Floats) -> float:
        """Return the sum of the L1 and L2 penalties of a factor."""
        return self._ridge(U) + (self.l1 * float(U.sum(dtype=float)) if self.l1 else 0.0)

    def _ridge(self, U: Floats) -> float:
        return 0.5 * self.l2 * float((U.astype(float) ** 2).sum()) if self.l2 else 0.0

    def beyond(self, new: Floats, old: Floats, step: float) -> Floats:
        """Extrapolate from ``old`` through ``new`` by ``step``, reducing no element below half of its new value."""
        return np.maximum(new + np.float32(step) * (new - old), np.float32(MIN_RATIO) * new)

    def _with_ridge(self, G: Floats) -> Floats:
        return G + np.float32(self.l2) * np.eye(len(G), dtype=np.float32) if self.l2 else G


class MultiplicativeSquares(Squares):
    r"""Update of one factor by multiplicative steps on the squared error of all cells, with equal weights.

    .. math:: U \leftarrow U \circ \frac{X V}{U (V^\top V + \mu) + \lambda}
    """

    def improve(self, U: Floats, V: Floats, *, passes: int = 1) -> float:
        """Update the factor ``U`` in place, and return the squared error before the update."""
        G, B = V.T @ V, self.table @ V
        value = self._error(U, G, B)
        G = self._with_ridge(G)
        for _ in range(passes):
            U *= B / np.maximum(U @ G + np.float32(self.l1), np.float32(MIN_FACTOR))
        return value

    def beyond(self, new: Floats, old: Floats, step: float) -> Floats:
        """Return ``new``: the published method does not extrapolate."""
        del old, step
        return new

    def _error(self, U: Floats, G: Floats, B: Floats) -> float:
        return self.constant - float((U * B).sum(dtype=float)) + 0.5 * float(((U.T @ U).astype(float) * G).sum())


class ActiveSet(MultiplicativeSquares):
    """Update of one factor by exact non-negative least squares on all cells, with equal weights."""

    def improve(self, U: Floats, V: Floats, *, passes: int = 1) -> float:
        """Solve for the factor ``U`` in place, and return the squared error before the update."""
        del passes  # one is exact
        G, B = V.astype(float).T @ V.astype(float), self.table @ V
        value = self._error(U, G, B)
        kernels.nnls_rows(G + self.l2 * np.eye(len(G)), B - np.float32(self.l1), U, threads=self.threads)
        return value


SQUARES = {"auto": Squares, "hals": Squares, "mu": MultiplicativeSquares, "anls": ActiveSet}
"""Updates for the squared loss by solver."""


class Divergence:
    r"""Update of one factor by multiplicative steps, which never increase the penalized beta-divergence.

    The objective is :math:`\sum w \, d_\beta(x, m) + \lambda \sum U`. :math:`\beta = 1` is the Kullback-Leibler
    divergence :math:`x \log(x / m) - x + m`, 0 that of Itakura and Saito, and between them and 2, half the square,
    :math:`\frac{x^\beta + (\beta - 1) m^\beta - \beta x m^{\beta - 1}} {\beta (\beta - 1)}`. Unobserved cells must have
    weight 0 unless :math:`\beta = 1`.
    """

    def __init__(self, cells: WeightedCells, *, beta: float, l1: float = 0.0, threads: int) -> None:
        if cells.zero_weight and beta != 1:
            raise ValueError(f"zero_weight must be 0 unless beta is 1; store zeros explicitly for beta={beta}")
        self.cells, self.beta, self.l1, self.threads = cells, beta, l1, threads
        self.entries, self.constant = cells.entries(), cells.constant(beta)

    def improve(self, U: Floats, V: Floats, *, passes: int = 1) -> float:
        """Update the factor ``U`` in place, and return the divergence before the update, without penalties."""
        return self.solve(U, V, passes=passes)

    def solve(self, U: Floats, V: Floats, *, passes: int, tol: float = 0.0) -> float:
        """Update each row of the factor ``U`` in place until convergence."""
        base = self.cells.zero_weight * V.sum(axis=0, dtype=float)
        how = {"base": base, "beta": self.beta, "floor": MIN_MODEL, "l1": self.l1, "threads": self.threads}
        return self.constant + kernels.divergence_rows(self.entries, V, U, passes=passes, tol=tol, **how)

    def penalty(self, U: Floats) -> float:
        """Return the L1 penalty of a factor."""
        return self.l1 * float(U.sum(dtype=float)) if self.l1 else 0.0

    def beyond(self, new: Floats, old: Floats, step: float) -> Floats:
        """Extrapolate from ``old`` through ``new`` in log space, so that positive elements stay positive."""
        ratio = new / np.maximum(old, np.float32(MIN_FACTOR))
        return np.asarray(new * np.minimum(ratio, np.float32(MAX_RATIO)) ** np.float32(step))


def descend(
    rows: Squares | Divergence, columns: Squares | Divergence, start: list[Floats], *, inner: int = 1
) -> Iterator[Sweep]:
    """Iterate over alternating updates of two factors, W and H, with extrapolation; no sweep increases the objective.

    Each half-step is extrapolated in the direction of its last change. If the objective rises, the half-steps are
    repeated without extrapolation. Extrapolation reduces the number of sweeps to between a quarter and a half.
    """
    (W, H), (W_last, H_last), (W_tried, H_tried) = start, start, start
    value, step, limit, reach = np.inf, FIRST_STEP, 1.0, 0.0
    while True:
        W_new = W_tried.copy()
        objective = rows.improve(W_new, H_tried, passes=inner) + rows.penalty(W_tried) + columns.penalty(H_tried)
        if not reach or objective <= value:
            W, H, value, reach = W_tried, H_tried, objective, step
            yield Sweep([W, H], value)
            step, limit = min(limit, STEP_GROWTH * step), min(1.0, LIMIT_GROWTH * limit)
        else:
            step, limit, reach = step / STEP_SHRINK, step, 0.0
            W_new = W.copy()
            rows.improve(W_new, H, passes=inner)
        W_tried = rows.beyond(W_new, W_last, reach) if reach else W_new
        H_new = H.copy()
        columns.improve(H_new, W_tried, passes=inner)
        H_tried = columns.beyond(H_new, H_last, reach) if reach else H_new
        W_last, H_last = W_new, H_new


def level(cells: WeightedCells, n_components: int) -> float:
    """Return the factor value at which a model with constant factors has the same mean as the table."""
    w = cells.weights
    total = cells.table.data.sum(dtype=float) if w is None else (w * cells.table.data).sum(dtype=float)
    listed = cells.table.nnz if w is None else float(w.sum(dtype=float))
    others = cells.zero_weight * (np.prod(cells.table.shape, dtype=float) - cells.table.nnz)
    return float(np.sqrt(max(total, 1e-30) / max(listed + others, 1e-30) / n_components))


def uniform(cells: WeightedCells, n_components: int, *, rng: np.random.Generator) -> list[Floats]:
    """Initialize both factors uniformly at random, scaled to the mean of the table."""
    size = level(cells, n_components)
    return [(size * rng.random((n, n_components)) * 2).astype(np.float32) for n in cells.table.shape]


def nndsvd(cells: WeightedCells, n_components: int, *, rng: np.random.Generator, fill: bool) -> list[Floats]:
    """Initialize each component by the larger of the positive and negative parts of a pair of singular vectors.

    Components beyond the rank of the table are random. ``fill`` replaces zeros, so that multiplicative updates can
    change them. Boutsidis, Gallopoulos (2008), SVD based initialization.
    """
    components = min(n_components, *(n - 1 for n in cells.table.shape))
    factors = uniform(cells, n_components, rng=rng)
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
            np.maximum(factor, np.float32(level(cells, n_components) / 100), out=factor)
    return factors
