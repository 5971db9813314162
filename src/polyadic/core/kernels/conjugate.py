"""Conjugate gradient steps on the normal equations of each row of a factor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from polyadic.core.kernels.common import frozen
from polyadic.core.kernels.rows import _in_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.core.kernels.rows import RowEntries


def conjugate_rows(
    entries: RowEntries, V: NDArray[Any], U: NDArray[Any], *, precision: NDArray[Any], steps: int, threads: int
) -> None:
    r"""Improve all rows of ``U`` in place towards the solutions of :func:`~polyadic.core.kernels.posterior_rows`.

    A step (Takács, Pilászy, Tikk 2011) costs two products with the entries and one with the precision, and lowers
    :math:`u_i^\top A_i u_i - 2 b_i \cdot u_i`; ``R`` steps solve the equations. Sums have the precision of ``U``.
    """
    starts, columns, c, y = entries
    n, rank = len(starts) - 1, V.shape[1]
    fit = len(columns) == len(c) == len(y) == starts[-1] and starts[0] == 0 and (np.diff(starts) >= 0).all()
    if not fit or columns.ndim != 1 or (len(columns) and not 0 <= columns.min() <= columns.max() < len(V)):
        raise ValueError("entries must be by row, with columns that are rows of V")
    if U.shape != (n, rank) or U.dtype.kind != "f" or not U.flags.c_contiguous or precision.shape != (rank, rank):
        raise ValueError(f"U, contiguous, and precision must fit {n} rows of {rank}")
    arrays = [frozen(starts, np.int64), frozen(columns, np.int32), *(frozen(x, U.dtype) for x in (c, y, V, precision))]
    kind = np.finfo(U.dtype)
    ends = kind.eps**2, kind.tiny / kind.eps  # rounding errors; denormal numbers
    _in_parts(lambda first, last: _conjugate_rows(*arrays, steps, *ends, first, last, U), n, threads)


FAST = {"reassoc", "contract", "nsz", "arcp"}
"""See ``cp.py``: sums may be reordered; infinities and NaN are preserved."""


@njit(cache=True, nogil=True, fastmath=FAST)
def _conjugate_rows(starts, columns, c, y, V, precision, steps, tiny, least, first, last, U):
    """Take ``steps`` steps from rows first..last of ``U`` towards ``A^-1 b``; ``A = precision + sum c v v'``.

    ``b = sum y v``; row ``i`` has the entries ``starts[i]:starts[i + 1]``, whose ``v`` are rows of ``V``. A row is done
    when its squared residual has shrunk by ``tiny``, or to ``least``. Returns the first row whose ``A`` is not
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
