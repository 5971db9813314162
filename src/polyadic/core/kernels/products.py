"""Multiply a sparse CSR matrix by a dense matrix."""

from __future__ import annotations

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray
from polyadic.core.kernels.common import frozen, in_threads

PARTS = 8  # parts of the rows for each thread, for load balance
MIN_WORK = 1 << 20  # multiplications that are worth a thread


def sparse_product(starts: AnyArray, columns: AnyArray, values: AnyArray, X: AnyArray, *, threads: int) -> AnyArray:
    """Multiply a CSR matrix by a dense matrix; the result does not depend on the number of threads."""
    kind = np.result_type(values, X)
    n, work = len(starts) - 1, len(values) * X.shape[1]
    if not (len(columns) == len(values) == starts[-1] and X.ndim == 2):
        raise ValueError(
            f"each of {starts[-1]} entries must have a column and a value; got {len(columns)}, {len(values)}"
        )
    # columns are not checked, as that would take a tenth of the time
    rows = [frozen(starts), frozen(columns), frozen(values, kind), frozen(X, kind)]
    Y = np.empty((n, X.shape[1]), kind)
    parts = min(PARTS * threads, 1 + work // MIN_WORK)
    shares = np.linspace(0, len(values), parts + 1)[1:-1]
    bounds = [0, *np.searchsorted(starts, shares).tolist(), n]  # equal numbers of entries
    in_threads(lambda k: _sparse_product(*rows, bounds[k], bounds[k + 1], Y), parts, threads)
    return Y


@njit(cache=True, nogil=True, fastmath={"contract"})
def _sparse_product(starts, columns, values, X, first, last, Y):
    """Numba kernel: compute the rows ``first`` to ``last - 1`` of the product of a CSR matrix and a dense matrix."""
    R = X.shape[1]
    for i in range(first, last):
        y = Y[i]
        y[:] = 0
        e, stop = starts[i], starts[i + 1]
        while e + 4 <= stop:
            a, b, c, d = values[e], values[e + 1], values[e + 2], values[e + 3]
            xa, xb, xc, xd = X[columns[e]], X[columns[e + 1]], X[columns[e + 2]], X[columns[e + 3]]
            for k in range(R):
                y[k] += (a * xa[k] + b * xb[k]) + (c * xc[k] + d * xd[k])
            e += 4
        while e < stop:
            a, xa = values[e], X[columns[e]]
            for k in range(R):
                y[k] += a * xa[k]
            e += 1
