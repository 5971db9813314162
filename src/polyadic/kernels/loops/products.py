"""A sparse matrix, row by row, times a block of vectors."""

from numba import njit


@njit(cache=True, nogil=True, fastmath={"contract"})
def sparse_product(starts, columns, values, X, first, last, Y):
    """Write rows ``first``..``last`` - 1 of the product; four entries at a time: sums are loaded less."""
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
