r"""Kernels that solve the normal equations of each factor row, or compute its posterior distribution.

For row :math:`i` with the entries :math:`e` the equations are

.. math:: \Big(\Lambda + \sum_e c_e v_e v_e^\top\Big) u_i = h + \sum_e y_e v_e

where :math:`v_e` is a row of the other factor of a matrix, or the product of rows of the other factors of a tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Array, DTypeLike
from polyadic.core.kernels.common import frozen, in_spans

FAST = {"reassoc", "contract", "nsz", "arcp"}  # see ``cp.py``: sums may be reordered; infinities and NaN are preserved
MAX_PASSES, LASSO_TOL = 1000, 1e-9
"""Maximum number of passes of coordinate descent over a row, and the largest relative change at convergence."""
PARTS = 8  # parts of the rows for each thread, for load balance


class RowEntries(NamedTuple):
    """Entries in compressed sparse row format: row ``i`` has the entries ``starts[i]:starts[i + 1]``.

    ``columns``, shape (entries,) or (entries, k), are rows of the other factors, which are multiplied; ``c`` and ``y``,
    shape (entries,), are the weights in the matrix and on the right side.
    """

    starts: AnyArray
    columns: AnyArray
    c: AnyArray
    y: AnyArray


class RandomRows(NamedTuple):
    """Normal distribution of each row: means, shape (n, R), and covariances, shape (n, R, R)."""

    mean: Array
    covariance: Array


def posterior_rows(
    entries: RowEntries,
    V: AnyArray,
    *,
    precision: AnyArray,
    linear: AnyArray | None = None,
    noise: AnyArray | None = None,
    out: Array | None = None,
    threads: int,
) -> Array:
    r"""Solve the normal equations of all rows, or sample each row from its normal posterior distribution.

    ``V`` (m, R) are the other factors, stacked, ``precision`` (R, R) is :math:`\Lambda`, ``linear`` (R,) is :math:`h`
    (for a prior mean, :math:`\Lambda \mu`), and ``noise`` (n, R) holds standard normal numbers; without it rows are the
    means. If ``out`` is a part of ``V`` whose rows refer to one another, use one thread: each row then sees the new
    values of those before it.
    """
    arrays, n, rank = _checked(entries, V)
    right = np.zeros(rank) if linear is None else linear
    drawn = np.zeros((0, rank)) if noise is None else noise
    if precision.shape != (rank, rank) or right.shape != (rank,) or drawn.shape not in {(0, rank), (n, rank)}:
        raise ValueError(f"precision, linear and noise must have shapes {rank, rank}, {(rank,)} and {n, rank}")
    prior = [frozen(array, np.float64) for array in (precision, right, drawn)]
    U = np.empty((n, rank)) if out is None else out
    _check_out(U, (n, rank))
    _in_parts(lambda first, last: _posterior_rows(*arrays, *prior, first, last, U), n, threads)
    return U


def variational_rows(entries: RowEntries, V: RandomRows, out: RandomRows, *, precision: AnyArray, threads: int) -> None:
    r"""Update the normal distribution of each row by variational inference, given the other factors.

    Uses the expectation of :math:`v_e v_e^\top` for independent rows of V.
    """
    arrays, n, rank = _checked(entries, V.mean)
    if precision.shape != (rank, rank) or V.covariance.shape != (*V.mean.shape, rank):
        raise ValueError(f"precision and V.covariance must have shapes {rank, rank} and {(*V.mean.shape, rank)}")
    prior = [frozen(array, np.float64) for array in (precision, np.zeros(rank))]
    S = frozen(V.covariance, np.float64)
    U, C = out
    _check_out(U, (n, rank))
    _check_out(C, (n, rank, rank))
    _in_parts(lambda first, last: _variational_rows(*arrays, S, *prior, first, last, U, C), n, threads)


def conjugate_rows(
    entries: RowEntries, V: AnyArray, U: AnyArray, *, precision: AnyArray, steps: int, threads: int
) -> None:
    r"""Update the rows of ``U`` in place by conjugate gradient steps on the normal equations.

    The equations are those of :func:`~polyadic.core.kernels.posterior_rows`. A step (Takács, Pilászy, Tikk 2011) costs
    two products with the entries and one with the precision, and lowers :math:`u_i^\top A_i u_i - 2 b_i \cdot u_i`;
    ``R`` steps solve the equations. Sums have the precision of ``U``.
    """
    n, rank = len(entries.starts) - 1, V.shape[1]
    if U.shape != (n, rank) or U.dtype.kind != "f" or not U.flags.c_contiguous or precision.shape != (rank, rank):
        raise ValueError(f"U and precision must have shapes {n, rank} and {rank, rank}, and U be contiguous floats")
    if entries.columns.ndim != 1:
        raise ValueError(f"columns must contain one column index per entry; got shape {entries.columns.shape}")
    arrays = [*by_row(entries, V, U.dtype), frozen(precision, U.dtype)]
    kind = np.finfo(U.dtype)
    ends = kind.eps**2, kind.tiny / kind.eps  # rounding errors; denormal numbers
    _in_parts(lambda first, last: _conjugate_rows(*arrays, steps, *ends, first, last, U), n, threads)


def lasso_rows(entries: RowEntries, V: AnyArray, U: Array, *, precision: AnyArray, l1: AnyArray, threads: int) -> None:
    r"""Minimize a least-squares objective with an L1 penalty for each row of ``U`` in place, by coordinate descent.

    .. math:: \tfrac12 u_i^\top A_i u_i - b_i \cdot u_i + \sum_r \lambda_r |u_{ir}|

    ``A`` and ``b`` are the matrix and the right side of :func:`~polyadic.core.kernels.posterior_rows`, and ``l1`` (R,)
    contains :math:`\lambda`. Each coordinate in turn is minimised exactly by soft-thresholding (Friedman, Hastie,
    Tibshirani 2010, eq. 5), starting from the values in ``U``, so no step raises the objective.
    """
    arrays, n, rank = _checked(entries, V)
    if precision.shape != (rank, rank) or l1.shape != (rank,):
        raise ValueError(f"precision and l1 must have shapes {rank, rank} and {(rank,)}")
    _check_out(U, (n, rank))
    given = [frozen(array, np.float64) for array in (precision, l1)]
    _in_parts(lambda first, last: _lasso_rows(*arrays, *given, MAX_PASSES, LASSO_TOL**2, first, last, U), n, threads)


def row_moments(indices: AnyArray, V: RandomRows, *, threads: int) -> tuple[Array, Array]:
    r"""Return the mean and expected square of the predictions :math:`\sum_r \prod_k v_{kr}` for random rows of V."""
    at = frozen(indices, np.int32)
    if at.ndim != 2 or (at.size and not 0 <= at.min() <= at.max() < len(V.mean)):
        raise ValueError("indices must have shape (n, order) and contain row indices of V")
    mean, square = np.empty(len(at)), np.empty(len(at))
    arrays = [frozen(array, np.float64) for array in V]

    def part(first: int, last: int) -> int:
        _moments(at, *arrays, first, last, mean, square)
        return -1

    _in_parts(part, len(at), threads)
    return mean, square


def _in_parts(work: Callable[[int, int], int], n: int, threads: int) -> None:
    """Run a kernel on ranges of rows in threads; raise ValueError if the matrix of a row is not positive definite."""
    if bad := [row for row in in_spans(work, n, threads, parts=PARTS * threads) if row >= 0]:
        raise ValueError(f"the matrix of row {min(bad)} is not positive definite")


def _check_out(array: AnyArray, shape: tuple[int, ...]) -> None:
    if array.shape != shape or array.dtype != np.float64 or not array.flags.c_contiguous:
        raise ValueError(
            f"the output must be contiguous float64 of shape {shape}; got {array.dtype} of shape {array.shape}"
        )


def by_row(entries: RowEntries, V: AnyArray, kind: DTypeLike) -> list[AnyArray]:
    """Validate the entries of each row, and return contiguous arrays of the entries and ``V``."""
    starts, columns, c, y = entries
    fit = len(columns) == len(c) == len(y) == starts[-1] and starts[0] == 0 and (np.diff(starts) >= 0).all()
    if not fit:
        raise ValueError("the entries must be sorted by row, in arrays of equal length")
    if columns.size and not 0 <= columns.min() <= columns.max() < len(V):
        raise ValueError("columns must contain row indices of V")
    return [frozen(starts, np.int64), frozen(columns, np.int32), *(frozen(array, kind) for array in (c, y, V))]


def _checked(entries: RowEntries, V: AnyArray) -> tuple[list[AnyArray], int, int]:
    """Return validated double-precision arrays, the number of rows and the rank."""
    columns = entries.columns if entries.columns.ndim == 2 else entries.columns[:, None]
    return by_row(entries._replace(columns=columns), V, np.float64), len(entries.starts) - 1, V.shape[1]


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _add_entries(starts, columns, c, y, V, i, block, A, b):
    """Numba kernel: add ``sum c v v'`` to the upper half of ``A`` and ``sum y v`` to ``b``, v products of rows of V."""
    rank, end = V.shape[1], starts[i + 1]
    for e0 in range(starts[i], end, 4):
        for q in range(4):
            e = e0 + q
            if e < end:
                v = V[columns[e, 0]]
                for r in range(rank):
                    block[q, r] = v[r]
                for k in range(1, columns.shape[1]):
                    v = V[columns[e, k]]
                    for r in range(rank):
                        block[q, r] *= v[r]
            else:
                block[q, :] = 0
        last = end - e0 - 1
        e1, e2, e3 = e0 + min(1, last), e0 + min(2, last), e0 + min(3, last)
        v0, v1, v2, v3 = block[0], block[1], block[2], block[3]
        for r in range(rank):
            w0, w1, w2, w3 = c[e0] * v0[r], c[e1] * v1[r], c[e2] * v2[r], c[e3] * v3[r]
            row, t0, t1, t2, t3 = A[r, r:], v0[r:], v1[r:], v2[r:], v3[r:]
            for s in range(rank - r):  # from zero: a loop from r is not vectorized
                row[s] += w0 * t0[s] + w1 * t1[s] + w2 * t2[s] + w3 * t3[s]
            b[r] += y[e0] * v0[r] + y[e1] * v1[r] + y[e2] * v2[r] + y[e3] * v3[r]


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _factorize(A):
    """Numba kernel: Cholesky factorization ``A = R' R`` in place; return whether ``A`` is positive definite."""
    rank = len(A)
    for first in range(0, rank, 4):
        last = min(first + 4, rank)
        for k in range(first, last):
            row = A[k, k:]
            for p in range(first, k):
                other, w = A[p, k:], A[p, k]
                for s in range(rank - k):
                    row[s] -= w * other[s]
            if not row[0] > 0:
                return False
            inverse = 1 / math.sqrt(row[0])
            for s in range(rank - k):
                row[s] *= inverse
        if last == rank:
            return True
        r0, r1, r2, r3 = A[first], A[first + 1], A[first + 2], A[first + 3]
        for i in range(last, rank):
            w0, w1, w2, w3 = r0[i], r1[i], r2[i], r3[i]
            row, t0, t1, t2, t3 = A[i, i:], r0[i:], r1[i:], r2[i:], r3[i:]
            for s in range(rank - i):
                row[s] -= w0 * t0[s] + w1 * t1[s] + w2 * t2[s] + w3 * t3[s]
    return True


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _solve(R, b, z, first):
    """Numba kernel: ``b = (R' R)^-1 b + R^-1 z`` in place; ``b`` begins with ``first`` zeros, ``z`` may be empty."""
    rank = len(R)
    for k in range(first, rank):
        row, rest = R[k, k:], b[k:]
        w = rest[0] / row[0]
        for s in range(rank - k):
            rest[s] -= w * row[s]
        rest[0] = w
    for k in range(len(z)):
        b[k] += z[k]
    for k in range(rank - 1, -1, -1):
        row, rest, total = R[k, k + 1 :], b[k + 1 :], b[k]
        for s in range(len(rest)):
            total -= row[s] * rest[s]
        b[k] = total / R[k, k]


@njit(cache=True, nogil=True, fastmath=FAST)
def _posterior_rows(starts, columns, c, y, V, precision, linear, noise, first, last, U):
    """Numba kernel of :func:`posterior_rows`: set rows of ``U`` to ``A^-1 b + R^-1 z``, where ``A = R' R``.

    ``A = precision + sum c v v'``, ``b = linear + sum y v``, and ``z`` are the rows of ``noise``, if any. Returns the
    first row whose ``A`` cannot be factorized, or -1.
    """
    rank = V.shape[1]
    A, b, block = np.empty((rank, rank), V.dtype), np.empty(rank, V.dtype), np.empty((4, rank), V.dtype)
    nothing = noise[:0, 0]
    for i in range(first, last):
        A[:], b[:] = precision, linear
        _add_entries(starts, columns, c, y, V, i, block, A, b)
        if not _factorize(A):
            return i
        _solve(A, b, noise[i] if len(noise) else nothing, 0)
        U[i] = b
    return -1


@njit(cache=True, nogil=True, fastmath=FAST)
def _lasso_rows(starts, columns, c, y, V, precision, l1, passes, tol, first, last, U):
    """Numba kernel: coordinate descent on the L1-penalized least-squares problems of a range of rows; return -1."""
    rank = V.shape[1]
    A, q, block = np.empty((rank, rank), V.dtype), np.empty(rank, V.dtype), np.empty((4, rank), V.dtype)
    for i in range(first, last):
        u = U[i]
        A[:] = precision
        q[:] = 0
        _add_entries(starts, columns, c, y, V, i, block, A, q)
        for r in range(rank):
            for s in range(r):
                A[r, s] = A[s, r]
        for r in range(rank):  # the negative gradient
            row = A[r]
            for s in range(rank):
                q[s] -= u[r] * row[s]
        for _ in range(passes):
            largest = size = 0.0
            for r in range(rank):
                row, old = A[r], u[r]
                wanted = q[r] + row[r] * old
                new = max(abs(wanted) - l1[r], 0.0) / row[r]
                u[r] = new if wanted > 0 else -new
                change = u[r] - old
                if change != 0:
                    for s in range(rank):
                        q[s] -= change * row[s]
                largest = max(largest, change * change * row[r])
                size = max(size, new * new * row[r])
            if largest <= tol * size:
                break
    return -1


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _add_moments(starts, columns, c, y, V, S, i, A, b):
    """Numba kernel: as ``_add_entries``, with the expectation of ``v v'``, the product of ``v v' + S`` of rows."""
    rank = V.shape[1]
    for e in range(starts[i], starts[i + 1]):
        first = columns[e, 0]
        if columns.shape[1] == 1:
            v, spread = V[first], S[first]
            for r in range(rank):
                row, tail, more, scaled = A[r, r:], v[r:], spread[r, r:], c[e] * v[r]
                for s in range(rank - r):
                    row[s] += scaled * tail[s] + c[e] * more[s]
                b[r] += y[e] * v[r]
            continue
        for r in range(rank):
            row = A[r]
            mean = y[e]
            for k in range(columns.shape[1]):
                mean *= V[columns[e, k], r]
            b[r] += mean
            for s in range(r, rank):
                product = c[e]
                for k in range(columns.shape[1]):
                    at = columns[e, k]
                    product *= V[at, r] * V[at, s] + S[at, r, s]
                row[s] += product


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _invert(R, X):
    """Numba kernel: set ``X`` to the inverse of ``R' R``."""
    nothing = X[0, :0]
    for column in range(len(R)):
        x = X[column]
        x[:] = 0
        x[column] = 1
        _solve(R, x, nothing, column)


@njit(cache=True, nogil=True, fastmath=FAST)
def _variational_rows(starts, columns, c, y, V, S, precision, linear, first, last, U, C):
    """Numba kernel: compute the means and covariances of a range of rows; return the first failed row, or -1."""
    rank = V.shape[1]
    A, b, nothing = np.empty((rank, rank)), np.empty(rank), np.empty(0)
    for i in range(first, last):
        A[:], b[:] = precision, linear
        _add_moments(starts, columns, c, y, V, S, i, A, b)
        if not _factorize(A):
            return i
        _solve(A, b, nothing, 0)
        U[i] = b
        _invert(A, C[i])
    return -1


@njit(cache=True, nogil=True, fastmath=FAST)
def _moments(indices, V, S, first, last, mean, square):
    """Numba kernel: compute the mean and expected square of ``sum_r prod_k v_kr`` for random rows of ``V``."""
    rank, order = V.shape[1], indices.shape[1]
    for e in range(first, last):
        mean[e] = 0
        square[e] = 0
        for r in range(rank):
            product = 1.0
            for k in range(order):
                product *= V[indices[e, k], r]
            mean[e] += product
            for s in range(r + 1):
                product = 1.0 if r == s else 2.0
                for k in range(order):
                    at = indices[e, k]
                    product *= V[at, r] * V[at, s] + S[at, r, s]
                square[e] += product


@njit(cache=True, nogil=True, fastmath=FAST)
def _conjugate_rows(starts, columns, c, y, V, precision, steps, tiny, least, first, last, U):
    """Numba kernel: conjugate gradient steps on the normal equations of rows; return the first failed row, or -1."""
    rank = V.shape[1]
    kind = U.dtype.type
    residual, direction, product = np.empty(rank, U.dtype), np.empty(rank, U.dtype), np.empty(rank, U.dtype)
    for i in range(first, last):
        u = U[i]
        if starts[i] == starts[i + 1]:
            u[:] = kind(0)
            continue
        for r in range(rank):
            total = kind(0)
            row = precision[r]
            for s in range(rank):
                total -= row[s] * u[s]
            residual[r] = total
        for e in range(starts[i], starts[i + 1]):
            v = V[columns[e]]
            dot = kind(0)
            for r in range(rank):
                dot += v[r] * u[r]
            scale = y[e] - c[e] * dot
            for r in range(rank):
                residual[r] += scale * v[r]
        direction[:] = residual
        size = kind(0)
        for r in range(rank):
            size += residual[r] * residual[r]
        enough = tiny * size + least
        for _ in range(steps):
            if size <= enough:
                break
            for r in range(rank):
                total = kind(0)
                row = precision[r]
                for s in range(rank):
                    total += row[s] * direction[s]
                product[r] = total
            for e in range(starts[i], starts[i + 1]):
                v = V[columns[e]]
                dot = kind(0)
                for r in range(rank):
                    dot += v[r] * direction[r]
                dot *= c[e]
                for r in range(rank):
                    product[r] += dot * v[r]
            curve = kind(0)
            for r in range(rank):
                curve += direction[r] * product[r]
            if not curve > 0:
                return i
            step = size / curve
            for r in range(rank):
                u[r] += step * direction[r]
                residual[r] -= step * product[r]
            after = kind(0)
            for r in range(rank):
                after += residual[r] * residual[r]
            turn = after / size
            for r in range(rank):
                direction[r] = residual[r] + turn * direction[r]
            size = after
    return -1
