r"""Door to the loops that solve for one row of a factor after another.

For row :math:`i` with the entries :math:`e` the equations are

.. math:: \Big(\Lambda + \sum_e c_e v_e v_e^\top\Big) u_i = h + \sum_e y_e v_e

where :math:`v_e` is a row of the other factor of a matrix, or the product of rows of the other factors of a tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.kernels.doors import frozen, in_spans
from polyadic.kernels.loops import rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

PARTS = 8
"""Parts of the rows for each thread, so that threads end together where some rows have many entries."""


class RowEntries(NamedTuple):
    """Entries by row, as in compressed sparse rows.

    Attributes
    ----------
    starts : ndarray of shape (n + 1,)
        Row ``i`` has the entries ``starts[i]:starts[i + 1]``.
    columns : ndarray of shape (entries,) or (entries, k)
        Which row of the other factors each belongs to; of several, their product.
    c, y : ndarray of shape (entries,)
        Its weight in the matrix, and on the right.
    """

    starts: NDArray[Any]
    columns: NDArray[Any]
    c: NDArray[Any]
    y: NDArray[Any]


class RandomRows(NamedTuple):
    """Rows of normal distributions.

    Attributes
    ----------
    mean : float64 ndarray of shape (n, R)
    covariance : float64 ndarray of shape (n, R, R)
    """

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]


def posterior_rows(
    entries: RowEntries,
    V: NDArray[Any],
    *,
    precision: NDArray[Any],
    linear: NDArray[Any] | None = None,
    noise: NDArray[Any] | None = None,
    out: NDArray[np.float64] | None = None,
    threads: int,
) -> NDArray[np.float64]:
    r"""Solve for all rows, or draw them from the normal distributions with that mean and precision.

    Parameters
    ----------
    entries : RowEntries
    V : ndarray of shape (m, R)
        The other factors, one below the other.
    precision : ndarray of shape (R, R)
        :math:`\Lambda`, of the prior.
    linear : ndarray of shape (R,), optional
        :math:`h`; for a prior with a mean, :math:`\Lambda \mu`.
    noise : ndarray of shape (n, R), optional
        Standard normal numbers; without them rows are the means.
    out : ndarray of shape (n, R), optional
        Where to put the rows. If it is a part of ``V`` whose rows refer to one another, take one thread: each row then
        sees those before it as they have become.
    threads : int
        Rows do not depend on one another, so neither does the result on the threads.

    Returns
    -------
    ndarray of shape (n, R)

    Raises
    ------
    ValueError
        If shapes do not fit, or a matrix is not positive definite.
    """
    arrays, n, rank = _checked(entries, V)
    right = np.zeros(rank) if linear is None else linear
    drawn = np.zeros((0, rank)) if noise is None else noise
    if precision.shape != (rank, rank) or right.shape != (rank,) or drawn.shape not in {(0, rank), (n, rank)}:
        raise ValueError(f"precision, linear and noise must fit {n} rows of {rank}")
    prior = [frozen(array, np.float64) for array in (precision, right, drawn)]
    U = np.empty((n, rank)) if out is None else out
    _check_out(U, (n, rank))
    _in_parts(lambda first, last: rows.posterior_rows(*arrays, *prior, first, last, U), n, threads)
    return U


def variational_rows(
    entries: RowEntries, V: RandomRows, out: RandomRows, *, precision: NDArray[Any], threads: int
) -> None:
    r"""Set the rows of ``out`` to the normal distributions of their equations, :math:`v_e v_e^\top` as expected.

    Parameters
    ----------
    entries : RowEntries
    V : RandomRows
        The other factors, one below the other, their rows independent.
    out : RandomRows
        Where to put means and covariances; see :func:`posterior_rows`.
    precision : ndarray of shape (R, R)
    threads : int

    Raises
    ------
    ValueError
        If shapes do not fit, or a matrix is not positive definite.
    """
    arrays, n, rank = _checked(entries, V.mean)
    if precision.shape != (rank, rank) or V.covariance.shape != (*V.mean.shape, rank):
        raise ValueError(f"precision and covariances must fit rows of {rank}")
    prior = [frozen(array, np.float64) for array in (precision, np.zeros(rank))]
    S = frozen(V.covariance, np.float64)
    U, C = out
    _check_out(U, (n, rank))
    _check_out(C, (n, rank, rank))
    _in_parts(lambda first, last: rows.variational_rows(*arrays, S, *prior, first, last, U, C), n, threads)


def row_moments(
    indices: NDArray[Any], V: RandomRows, *, threads: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Give mean and expected square of :math:`\sum_r \prod_k v_{kr}` over independent random rows.

    Parameters
    ----------
    indices : ndarray of shape (n, order)
        Rows of ``V``, no row twice in an entry.
    V : RandomRows
    threads : int

    Returns
    -------
    mean, square : ndarray of shape (n,)
    """
    at = frozen(indices, np.int32)
    if at.ndim != 2 or (at.size and not 0 <= at.min() <= at.max() < len(V.mean)):
        raise ValueError("indices must be rows of V, of shape (n, order)")
    mean, square = np.empty(len(at)), np.empty(len(at))
    arrays = [frozen(array, np.float64) for array in V]

    def part(first: int, last: int) -> int:
        rows.moments(at, *arrays, first, last, mean, square)
        return -1

    _in_parts(part, len(at), threads)
    return mean, square


def _in_parts(work: Callable[[int, int], int], n: int, threads: int) -> None:
    """Give each thread several parts of the rows, far from one another; refuse a row that failed."""
    if bad := [row for row in in_spans(work, n, threads, parts=PARTS * threads) if row >= 0]:
        raise ValueError(f"the matrix of row {min(bad)} is not positive definite")


def _check_out(array: NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.shape != shape or array.dtype != np.float64 or not array.flags.c_contiguous:
        raise ValueError(f"rows go into a contiguous float64 array of shape {shape}; got {array.dtype} {array.shape}")


def _checked(entries: RowEntries, V: NDArray[Any]) -> tuple[list[NDArray[Any]], int, int]:
    """Give arrays of one type; a loop would read beyond columns that are not there."""
    starts, columns, c, y = entries
    n = len(starts) - 1
    wide = columns if columns.ndim == 2 else columns[:, None]
    fit = len(wide) == len(c) == len(y) == starts[-1] and starts[0] == 0 and (np.diff(starts) >= 0).all()
    if not fit or (wide.size and not 0 <= wide.min() <= wide.max() < len(V)):
        raise ValueError("entries must be by row, with columns that are rows of V")
    arrays = [frozen(starts, np.int64), frozen(wide, np.int32), *(frozen(array, np.float64) for array in (c, y, V))]
    return arrays, n, V.shape[1]
