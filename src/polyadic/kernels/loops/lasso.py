"""Non-negative least squares with an absolute penalty, one row at a time, by coordinate descent."""

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""As in ``cp.py``: sums may be reordered; infinities and NaN stay what they are."""


@njit(cache=True, nogil=True, fastmath=FAST)
def lasso_rows(G, B, l1, tol, sweeps, first, last, A):
    """Lower ``a G a' / 2 - b a' + l1 sum(a)`` over ``a >= 0`` for rows first..last of ``A``, from where they are.

    ``G`` is (R, R), ``B`` and ``A`` are (n, R). A row is done when a sweep changes no coordinate by more than ``tol``,
    measured in the norm of ``G``. Returns how many rows were not.
    """
    rank = G.shape[0]
    q = np.empty(rank, A.dtype)
    zero = A.dtype.type(0)
    left = 0
    for n in range(first, last):
        a, b = A[n], B[n]
        q[:] = 0
        for k in range(rank):
            if a[k] != 0:
                g = G[k]
                for r in range(rank):
                    q[r] += a[k] * g[r]
        largest = zero
        for _ in range(sweeps):
            largest = zero
            for k in range(rank):
                if G[k, k] <= 0:
                    continue
                moved = max(zero, a[k] + (b[k] - l1 - q[k]) / G[k, k])
                change = moved - a[k]
                if change != 0:
                    a[k] = moved
                    g = G[k]
                    for r in range(rank):
                        q[r] += change * g[r]
                    largest = max(largest, change * change * G[k, k])
            if largest <= tol * tol:
                break
        left += largest > tol * tol
    return left
