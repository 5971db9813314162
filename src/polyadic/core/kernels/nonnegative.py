"""Kernels that update a non-negative factor matrix while the other factor is fixed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Array, DTypeLike, Floats
from polyadic.core.kernels.common import frozen, in_spans
from polyadic.core.kernels.rows import RowEntries, by_row

FAST = {"reassoc", "contract", "nsz", "arcp"}  # see ``cp.py``: sums may be reordered; infinities and NaN are preserved
UNROLLED = 4  # rows of the Gram matrix processed at once


def hals(
    G: AnyArray, B: AnyArray, A: Floats, *, l1: float = 0.0, signed: bool = False, passes: int = 1, threads: int
) -> float:
    r"""Update a non-negative factor matrix in place by HALS; no step increases the objective.

    .. math:: \min_{A \ge 0} \tfrac12 \|X - A D\|_F^2 + \lambda \|A\|_1
              \quad\text{with}\quad G = D D^\top, \; B = X D^\top

    Like :func:`~polyadic.core.kernels.nonnegative_lasso`, for a few ``passes`` over all coordinates; elements may be
    negative if ``signed``. Shapes (R, R), (n, R) and (n, R), float32. Returns :math:`\langle A, B \rangle` for the
    initial rows, whose last digits depend on ``threads``.
    """
    n, rank = check_products(G, B, A)
    more = -rank % UNROLLED
    G, B = frozen(np.pad(G, (0, more)), np.float32), frozen(B, np.float32)
    how = (np.float32(l1), np.float32(signed), passes)
    return _summed(lambda a, b: _hals(G, B, *how, a, b, A), n, threads)


def nnls_rows(G: AnyArray, B: AnyArray, A: Floats, *, threads: int) -> None:
    r"""Solve non-negative least-squares problems exactly by block principal pivoting, in place.

    .. math:: \min_{A \ge 0} \tfrac12 \|X - A D\|_F^2 \quad\text{with}\quad G = D D^\top, \; B = X D^\top

    Shapes (R, R), (n, R) and (n, R). The positive elements of the initial rows are the first guess of those of the
    solution. Kim, Park (2011), Fast nonnegative matrix factorization, algorithm 1.
    """
    n, _ = check_products(G, B, A)
    G, B = frozen(G, np.float64), frozen(B, np.float64)
    in_spans(lambda first, last: _nnls_rows(G, B, first, last, A), n, threads)


def simplex_rows(G: AnyArray, B: AnyArray, A: Array, *, tol: float = 1e-9, steps: int = 10_000, threads: int) -> int:
    r"""Minimize a least-squares loss over rows on the probability simplex, in place; no step increases the loss.

    .. math:: \min_{a \ge 0,\, a 1 = 1} \tfrac12 \|x - a D\|^2 \quad\text{with}\quad G = D D^\top, \; b = x D^\top

    Shapes (R, R), (n, R) and (n, R). A row has converged when no two gradients between which weight could move differ
    by more than ``tol``. Returns the number of rows that have not after ``steps``.
    """
    n, _ = check_products(G, B, A, np.float64)
    G, B = frozen(G, np.float64), frozen(B, np.float64)
    return int(_summed(lambda a, b: _simplex_rows(G, B, float(tol), steps, a, b, A), n, threads))


def nonnegative_rows(
    entries: RowEntries,
    V: Floats,
    U: Floats,
    *,
    base: AnyArray,
    l1: float = 0.0,
    passes: int = 1,
    tol: float = 0.0,
    threads: int,
) -> float:
    r"""Update a non-negative factor matrix in place by coordinate descent on a weighted least-squares loss.

    No step increases the objective.

    .. math:: \min_{u_i \ge 0} \tfrac12 u_i \Lambda u_i^\top
              + \sum_e \big(\tfrac12 c_e m_e^2 - y_e m_e\big) + \lambda \|u_i\|_1, \qquad m_e = u_i v_e^\top

    With weights :math:`w` of listed cells :math:`x` and :math:`z` of all others, :math:`c = w - z`, :math:`y = w x` and
    :math:`\Lambda = z V^\top V` (``base``) this is :math:`\tfrac12 \sum w (x - m)^2`. The equations are never formed: a
    pass costs as much as predicting the cells. ``V`` is (m, R) and ``U`` (n, R), float32. A row has converged when no
    coordinate moved by more than ``tol`` times the largest. Returns the sum of the first two terms for the initial
    rows.
    """
    n, rank = writeable(U)
    arrays = _listed(entries, V, U)
    if base.shape != (rank, rank):
        raise ValueError(f"base must have shape {(rank, rank)}; got {base.shape}")
    rest = (frozen(base, np.float32), np.float32(l1), passes, np.float32(tol))
    return _summed(lambda a, b: _nonnegative_rows(*arrays, *rest, a, b, U), n, threads)


def divergence_rows(
    entries: RowEntries,
    V: Floats,
    U: Floats,
    *,
    base: AnyArray,
    beta: float,
    floor: float,
    l1: float = 0.0,
    passes: int = 1,
    tol: float = 0.0,
    threads: int,
) -> float:
    r"""Update a non-negative factor matrix in place by multiplicative updates for the :math:`\beta`-divergence.

    No update increases the divergence.

    .. math:: u_{ik} \leftarrow u_{ik} \Big(\frac{\sum_e y_e m_e^{\beta - 2} v_{ek}}
              {b_k + \lambda + \sum_e c_e m_e^{\beta - 1} v_{ek}}\Big)^\gamma, \qquad m_e = u_i v_e^\top

    with :math:`\gamma = 1 / (2 - \beta)` if :math:`\beta < 1`, else 1 (Fevotte and Idier 2011, table 2), and :math:`m
    \ge` ``floor``. ``base``, shape (R,), is :math:`b`: for :math:`\beta = 1` the sum over all columns, :math:`z \sum_j
    v_j`. Returns the divergence of the initial rows, without terms of the data alone; ``passes=0`` only evaluates it.
    """
    n, rank = writeable(U)
    arrays = _listed(entries, V, U)
    if base.shape != (rank,):
        raise ValueError(f"base must have shape {(rank,)}; got {base.shape}")
    if not 0 <= beta <= 2:
        raise ValueError(f"beta must be from 0 to 2; got {beta}")
    power = 1 / (2 - beta) if beta < 1 else 1.0
    rest = (frozen(base, np.float64), float(beta), power, np.float32(floor), float(l1), passes, float(tol))
    return _summed(lambda a, b: _divergence_rows(*arrays, *rest, a, b, U), n, threads)


def expected_rows(
    entries: RowEntries, V: Floats, U: Floats, *, floor: float, measured: bool = True, threads: int
) -> float:
    r"""Replace each row in place by the expected counts of the components (E-step of the EM algorithm).

    .. math:: u_{ik} \leftarrow u_{ik} \sum_e \frac{y_e v_{ek}}{m_e}, \qquad m_e = u_i v_e^\top

    Arguments are those of :func:`nonnegative_rows`; weights ``c`` are not used, and :math:`m \ge` ``floor``. Returns
    :math:`-\sum_e y_e \log m_e` for the initial rows, or 0 unless ``measured``.
    """
    n, _ = writeable(U)
    starts, columns, _, y, V = _listed(entries, V, U)
    least = np.float32(floor)
    return _summed(lambda a, b: _expected_rows(starts, columns, y, V, least, measured, a, b, U), n, threads)


def _summed(work: Any, n: int, threads: int) -> float:
    return float(sum(in_spans(work, n, threads)))


def writeable(U: AnyArray, kind: DTypeLike = np.float32) -> tuple[int, int]:
    """Return the shape of the rows to update; raise ValueError unless a kernel can update them in place."""
    if U.ndim != 2 or U.dtype != kind or not U.flags.c_contiguous or not U.flags.writeable:
        raise ValueError(f"the rows to update must be a contiguous, writeable matrix of type {np.dtype(kind)}")
    return U.shape


def check_products(G: AnyArray, B: AnyArray, A: AnyArray, kind: DTypeLike = np.float32) -> tuple[int, int]:
    """Return the shape (n, R) of the rows ``A``; raise ValueError unless G has shape (R, R) and B that of A."""
    n, rank = writeable(A, kind)
    if G.shape != (rank, rank) or B.shape != (n, rank):
        raise ValueError(f"G and B must have shapes {(rank, rank)} and {(n, rank)}; got {G.shape} and {B.shape}")
    return n, rank


def _listed(entries: RowEntries, V: AnyArray, U: AnyArray) -> list[AnyArray]:
    """Check the shapes of entries and factors, and return contiguous arrays in single precision."""
    if len(entries.starts) != len(U) + 1 or V.shape[1] != U.shape[1]:
        raise ValueError(f"U must have {len(entries.starts) - 1} rows, and columns like V; got {U.shape} and {V.shape}")
    return by_row(entries, V, np.float32)


TOGETHER = 64  # rows improved at once, for vectorization over rows; the time hardly changes from 32 on


@njit(cache=True, nogil=True, fastmath=FAST)
def _hals(G, B, l1, signed, passes, first, last, A):
    """Numba kernel of :func:`hals`, one coordinate of many rows at a time; ``G`` is padded to a multiple of four."""
    rank = G.shape[0]
    a = np.zeros((rank, TOGETHER), A.dtype)
    b = np.zeros((rank, TOGETHER), A.dtype)
    q = np.empty(TOGETHER, A.dtype)
    zero = A.dtype.type(0)
    product = 0.0
    for start in range(first, last, TOGETHER):
        some = min(TOGETHER, last - start)
        for j in range(some):
            for r in range(A.shape[1]):
                a[r, j] = A[start + j, r]
                b[r, j] = B[start + j, r]
            row = 0.0
            for r in range(A.shape[1]):
                row += a[r, j] * b[r, j]
            product += row
        for _ in range(passes):
            for k in range(A.shape[1]):
                if G[k, k] <= 0:
                    continue
                q[:] = 0
                for r in range(0, rank, 4):
                    g0, g1, g2, g3 = G[k, r], G[k, r + 1], G[k, r + 2], G[k, r + 3]
                    a0, a1, a2, a3 = a[r], a[r + 1], a[r + 2], a[r + 3]
                    for j in range(TOGETHER):
                        q[j] += g0 * a0[j] + g1 * a1[j] + g2 * a2[j] + g3 * a3[j]
                inverse = 1 / G[k, k]
                ak, bk = a[k], b[k]
                for j in range(TOGETHER):
                    slope = ak[j] * G[k, k] + bk[j] - q[j]
                    ak[j] = (max(zero, slope - l1) + signed * min(zero, slope + l1)) * inverse
        for j in range(some):
            for r in range(A.shape[1]):
                A[start + j, r] = a[r, j]
    return product


TOLERANCE, RIDGE = 1e-9, 1e-12
"""Largest negative value that counts as zero, and smallest pivot; relative to the largest elements of B and G."""


@njit(cache=True, nogil=True)
def _nnls_rows(G, B, first, last, A):
    """Numba kernel of :func:`nnls_rows` by block principal pivoting.

    Each iteration exchanges all infeasible elements between the free and the zero elements. If three such iterations
    have not reduced the number of infeasible elements, only the last one is exchanged.
    """
    rank = G.shape[0]
    least = RIDGE * np.diag(G).max()
    L, x, order = np.empty((rank, rank)), np.empty(rank), np.empty(rank, np.int64)
    for i in range(first, last):
        b, free = B[i], A[i] > 0
        small, fewest, tries = TOLERANCE * np.abs(b).max(), rank + 1, 3
        for _ in range(100 + 10 * rank):
            size = 0
            for k in range(rank):
                x[k] = 0
                if free[k]:
                    order[size] = k
                    size += 1
            for p in range(size):  # solve for the free elements by a Cholesky factorization
                for q in range(p + 1):
                    rest = G[order[p], order[q]]
                    for r in range(q):
                        rest -= L[p, r] * L[q, r]
                    L[p, q] = math.sqrt(max(rest, least)) if p == q else rest / L[q, q]
                rest = b[order[p]]
                for r in range(p):
                    rest -= L[p, r] * x[order[r]]
                x[order[p]] = rest / L[p, p]
            for p in range(size - 1, -1, -1):
                rest = x[order[p]]
                for r in range(p + 1, size):
                    rest -= L[r, p] * x[order[r]]
                x[order[p]] = rest / L[p, p]
            gradient = -b
            for p in range(size):
                gradient += x[order[p]] * G[order[p]]
            wrong = np.flatnonzero(np.where(free, x * np.diag(G), gradient) < -small)
            if not len(wrong):
                break
            if len(wrong) < fewest:
                fewest, tries = len(wrong), 3
            elif tries > 0:
                tries -= 1
            else:  # guarantees termination
                wrong = wrong[-1:]
            for k in wrong:
                free[k] = not free[k]
        for k in range(rank):
            A[i, k] = max(x[k], 0.0)


@njit(cache=True, nogil=True, fastmath=FAST)
def _nonnegative_rows(starts, columns, c, y, V, base, l1, passes, tol, first, last, U):
    """Numba kernel: lower ``u base u' / 2 + sum(c m m / 2 - y m) + l1 sum(u)``, ``u >= 0``; return the first loss."""
    rank = V.shape[1]
    longest = 0
    for i in range(first, last):
        longest = max(longest, starts[i + 1] - starts[i])
    v = np.empty((rank, longest), V.dtype)
    m = np.empty(longest, V.dtype)
    q = np.empty(rank, V.dtype)
    zero = V.dtype.type(0)
    value = 0.0
    for i in range(first, last):
        u, s, size = U[i], starts[i], starts[i + 1] - starts[i]
        m[:size] = 0
        for e in range(size):
            row = V[columns[s + e]]
            for r in range(rank):
                v[r, e] = row[r]
                m[e] += u[r] * row[r]
        q[:] = 0
        for k in range(rank):
            for r in range(rank):
                q[r] += u[k] * base[k, r]
        row_value = 0.0
        for e in range(size):
            row_value += (0.5 * c[s + e] * m[e] - y[s + e]) * m[e]
        for r in range(rank):
            row_value += 0.5 * u[r] * q[r]
        value += row_value
        for _ in range(passes):
            moved, largest = zero, zero
            for k in range(rank):
                vk = v[k]
                slope, curve = q[k] + l1, base[k, k]
                for e in range(size):
                    slope += (c[s + e] * m[e] - y[s + e]) * vk[e]
                    curve += c[s + e] * vk[e] * vk[e]
                if curve <= 0:
                    continue
                new = max(zero, u[k] - slope / curve)
                change = new - u[k]
                largest = max(largest, new)
                if change != 0:
                    u[k] = new
                    moved = max(moved, abs(change))
                    for e in range(size):
                        m[e] += change * vk[e]
                    for r in range(rank):
                        q[r] += change * base[k, r]
            if moved <= tol * largest:
                break
    return value


@njit(cache=True, nogil=True, fastmath=FAST)
def _divergence_rows(starts, columns, c, y, V, base, beta, power, floor, l1, passes, tol, first, last, U):
    """Numba kernel: multiply rows by ``(sum y m^(beta-2) v / (base + l1 + sum c m^(beta-1) v))^power``."""
    rank = V.shape[1]
    above = np.empty(rank, np.float64)
    below = np.empty(rank, np.float64)
    value = 0.0
    for i in range(first, last):
        u = U[i]
        for step in range(max(passes, 1)):
            row_value = 0.0
            above[:] = 0
            below[:] = 0
            for e in range(starts[i], starts[i + 1]):
                v = V[columns[e]]
                m = V.dtype.type(0)
                for r in range(rank):
                    m += u[r] * v[r]
                m = max(m, floor)
                if beta == 1:
                    up, down = y[e] / m, c[e]
                    if y[e] > 0:
                        row_value -= y[e] * math.log(m)
                    row_value += c[e] * m
                elif beta == 0:
                    down = c[e] / m
                    up = y[e] / (m * m)
                    row_value += y[e] / m + c[e] * math.log(m)
                else:
                    down = m ** (beta - 1)
                    up = y[e] * down / m
                    row_value += c[e] * m * down / beta - y[e] * down / (beta - 1)
                    down *= c[e]
                for r in range(rank):
                    above[r] += up * v[r]
                    below[r] += down * v[r]
            for r in range(rank):
                row_value += base[r] * u[r]
            if step == 0:
                value += row_value
            if passes == 0:
                break
            moved, largest = 0.0, 0.0
            for r in range(rank):
                under = below[r] + base[r] + l1
                if under <= 0:
                    continue
                ratio = above[r] / under
                new = U.dtype.type(u[r] * (ratio if power == 1 else ratio**power))
                moved = max(moved, abs(new - u[r]))
                largest = max(largest, new)
                u[r] = new
            if moved <= tol * largest:
                break
    return value


CHUNK = 64  # entries whose shares are added in single precision


@njit(cache=True, nogil=True, fastmath=FAST)
def _expected_rows(starts, columns, y, V, floor, measured, first, last, U):
    """Numba kernel of :func:`expected_rows`: multiply rows ``u`` by ``sum y v / m``, ``m = max(u v', floor)``."""
    rank = V.shape[1]
    part, total = np.empty(rank, V.dtype), np.empty(rank, np.float64)
    value = 0.0
    for i in range(first, last):
        u = U[i]
        total[:] = 0
        for start in range(starts[i], starts[i + 1], CHUNK):
            part[:] = 0
            for e in range(start, min(start + CHUNK, starts[i + 1])):
                v = V[columns[e]]
                m = V.dtype.type(0)
                for r in range(rank):
                    m += u[r] * v[r]
                m = max(m, floor)
                if measured:
                    value -= y[e] * math.log(m)
                up = y[e] / m
                for r in range(rank):
                    part[r] += up * v[r]
            for r in range(rank):
                total[r] += part[r]
        for r in range(rank):
            u[r] *= total[r]
    return value


@njit(cache=True, nogil=True, fastmath=FAST)
def _simplex_rows(G, B, tol, steps, first, last, A):
    """Numba kernel of :func:`simplex_rows`.

    Each step moves weight from the positive element with the largest gradient to the element with the smallest.
    """
    rank = G.shape[0]
    slope = np.empty(rank, A.dtype)
    left = 0
    for n in range(first, last):
        a, b = A[n], B[n]
        for k in range(rank):
            slope[k] = -b[k]
        for r in range(rank):
            if a[r] != 0:
                for k in range(rank):
                    slope[k] += a[r] * G[r, k]
        done = False
        for _ in range(steps):
            low, high = 0, -1
            for k in range(rank):
                if slope[k] < slope[low]:
                    low = k
                if a[k] > 0 and (high < 0 or slope[k] > slope[high]):
                    high = k
            if slope[high] - slope[low] <= tol:
                done = True
                break
            curve = G[low, low] + G[high, high] - 2 * G[low, high]
            move = a[high]
            if curve * move > slope[high] - slope[low]:
                move = (slope[high] - slope[low]) / curve
            a[low] += move
            a[high] -= move
            for k in range(rank):
                slope[k] += move * (G[low, k] - G[high, k])
        left += not done
    return left
