"""One row after another of a factor, given the other: normal equations improved by conjugate gradients."""

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""As in ``cp.py``: sums may be reordered; infinities and NaN stay what they are."""


@njit(cache=True, nogil=True, fastmath=FAST)
def conjugate_rows(starts, columns, c, y, V, precision, steps, tiny, least, first, last, U):
    """Take ``steps`` steps from rows first..last of ``U`` towards ``A^-1 b``; ``A = precision + sum c v v'``.

    ``b = sum y v``; row ``i`` has the entries ``starts[i]:starts[i + 1]``, whose ``v`` are rows of ``V``. A row is
    done when its squared residual has shrunk by ``tiny``, or to ``least``. Returns the first row whose ``A`` is not
    positive, or -1.
    """
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
        for r in range(rank):
            direction[r] = residual[r]
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
