"""Non-negative factors of rows, given the factors of columns: one loop for all cells, two for the cells of a list."""

import math

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""As in ``cp.py``: sums may be reordered; infinities and NaN stay what they are."""
TOGETHER = 64
"""Rows improved at the same time, so that vector instructions work on rows; from 32 on the time hardly changes."""


@njit(cache=True, nogil=True, fastmath=FAST)
def hals(G, B, l1, signed, passes, first, last, A):
    """Lower ``a G a' / 2 - b a' + l1 sum(abs(a))`` for rows first..last of ``A``; ``a >= 0`` unless ``signed`` is 1.

    As ``lasso_rows``, with the same coordinate of many rows at a time. ``G`` is (R, R), with R a multiple of four.
    Returns the sum of ``b a'`` of the rows as they came.
    """
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


@njit(cache=True, nogil=True, fastmath=FAST)
def nonnegative_rows(starts, columns, c, y, V, base, l1, passes, tol, first, last, U):
    """Lower ``u base u' / 2 + sum(c m m / 2 - y m) + l1 sum(u)`` over ``u >= 0`` for rows first..last of ``U``.

    ``m = u v'`` for the rows ``v`` of ``V`` that a row lists. A row is done when a pass changes no coordinate by more
    than ``tol`` times the largest. Returns the sum of the first two terms, of the rows as they came.
    """
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
def divergence_rows(starts, columns, c, y, V, base, beta, power, floor, l1, passes, tol, first, last, U):
    """Multiply rows first..last of ``U`` by ``(sum y m^(beta-2) v / (base + l1 + sum c m^(beta-1) v))^power``.

    ``m = u v'``, at least ``floor``, for the rows ``v`` of ``V`` that a row lists. A row is done when a pass changes
    no coordinate by more than ``tol`` times the largest. Returns the sum, of the rows as they came, of ``base u'`` and
    of what ``beta`` makes of the entries, without terms that depend on the data alone.
    """
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


CHUNK = 64
"""Entries whose shares are added in single precision."""


@njit(cache=True, nogil=True, fastmath=FAST)
def expected_rows(starts, columns, y, V, floor, measured, first, last, U):
    """Multiply rows first..last of ``U`` by ``sum y v / m`` with ``m = u v'``, at least ``floor``.

    Of the entries ``y`` that a row lists these are those that each coordinate explains. Returns the sum of
    ``-y log m``, if it is to be measured.
    """
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
def simplex_rows(G, B, tol, steps, first, last, A):
    """Lower ``a G a' / 2 - b a'`` for rows first..last of ``A``, whose elements are not negative and sum to one.

    Each step moves weight between two elements: from the one whose slope is largest, of those above zero, to the one
    whose slope is smallest, as far as is best. A row is done when these slopes differ by at most ``tol``. Returns how
    many rows were not.
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
