"""Door to the loop that improves one row of a factor after another by conjugate gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops import conjugate
from polyadic.kernels.rows import _in_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.kernels.rows import RowEntries


def conjugate_rows(
    entries: RowEntries, V: NDArray[Any], U: NDArray[Any], *, precision: NDArray[Any], steps: int, threads: int
) -> None:
    r"""Improve all rows of ``U`` in place towards the solutions of :func:`~polyadic.kernels.posterior_rows`.

    A step costs as much as two products with the entries and one with the precision; each lowers
    :math:`u_i^\top A_i u_i - 2 b_i \cdot u_i`, and ``R`` of them solve the equations.

    Parameters
    ----------
    entries : RowEntries
    V : ndarray of shape (m, R)
        The other factor.
    U : float32 or float64 ndarray of shape (n, R)
        Where the steps start and end; its type is that of the sums.
    precision : ndarray of shape (R, R)
    steps : int
    threads : int
        Rows do not depend on one another, so neither does the result on the threads.

    Raises
    ------
    ValueError
        If shapes do not fit, or a matrix is not positive definite.

    References
    ----------
    Takács, Pilászy, Tikk (2011), Applications of the conjugate gradient method for implicit feedback collaborative
    filtering.
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
    ends = kind.eps**2, kind.tiny / kind.eps  # what is smaller is rounding; below its square numbers lose digits
    _in_parts(lambda first, last: conjugate.conjugate_rows(*arrays, steps, *ends, first, last, U), n, threads)
