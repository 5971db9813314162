"""Doors to the loops of plain stochastic gradient descent, over cells and over pairs of cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops import sgd

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sgd_cells(
    rows: NDArray[Any],
    columns: NDArray[Any],
    values: NDArray[Any],
    *,
    U: NDArray[np.float64],
    V: NDArray[np.float64],
    step: float,
    ridges: NDArray[Any],
) -> None:
    r"""Change ``U`` and ``V`` by a step for each cell in turn, down :math:`\tfrac12 (x - m)^2` and the penalties.

    Parameters
    ----------
    rows, columns, values : ndarray of shape (n,)
    U, V : float64 ndarray of shape (rows, R + 1) and (columns, R + 1)
        Factors, the bias in the last column.
    step : float
    ridges : ndarray of shape (R + 1,)
        Strength of the penalty of each column, due at each cell of a row.

    Raises
    ------
    ValueError
        If shapes do not fit, or a cell is outside.
    """
    _check([(rows, U), (columns, V)], len(values))
    if ridges.shape != (U.shape[1],):
        raise ValueError(f"ridges must be {U.shape[1]} numbers, one per column; got shape {ridges.shape}")
    at = [frozen(array, np.int64) for array in (rows, columns)]
    sgd.sgd_cells(*at, frozen(values, np.float64), float(step), frozen(ridges, np.float64), U, V)


def sgd_pairs(
    rows: NDArray[Any],
    better: NDArray[Any],
    worse: NDArray[Any],
    *,
    U: NDArray[np.float64],
    V: NDArray[np.float64],
    step: float,
    ridge: float,
) -> None:
    r"""Change ``U`` and ``V`` by a step for each triple in turn, up :math:`\log \sigma(u_i \cdot (v_j - v_k))`.

    Parameters
    ----------
    rows, better, worse : ndarray of shape (n,)
        Rows, and the columns that are to go well and less well with them.
    U, V : float64 ndarray of shape (rows, R) and (columns, R)
    step, ridge : float

    Raises
    ------
    ValueError
        If shapes do not fit, or a row or a column is outside.
    """
    _check([(rows, U), (better, V), (worse, V)], len(rows))
    sgd.sgd_pairs(*(frozen(array, np.int64) for array in (rows, better, worse)), float(step), float(ridge), U, V)


def absent_columns(
    starts: NDArray[Any], columns: NDArray[Any], rows: NDArray[Any], *, number: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw for each of ``rows`` a column that it does not list, uniformly; -1 where it lists all.

    Parameters
    ----------
    starts : ndarray of shape (n + 1,)
        Row ``i`` lists ``columns[starts[i]:starts[i + 1]]``.
    columns : ndarray of shape (entries,)
        Rising in each row.
    rows : ndarray of int
    number : int
        How many columns there are.
    rng : numpy.random.Generator

    Raises
    ------
    ValueError
        If rows or columns are outside.
    """
    n = len(starts) - 1
    inside = not len(rows) or 0 <= rows.min() <= rows.max() < n
    listed = not len(columns) or 0 <= columns.min() <= columns.max() < number
    if not inside or not listed or starts[0] != 0 or starts[-1] != len(columns) or (np.diff(starts) < 0).any():
        raise ValueError(f"columns must be below {number}, by row, and rows below {n}")
    arrays = [frozen(array, np.int64) for array in (starts, columns, rows)]
    return sgd.absent_columns(*arrays, number, frozen(rng.random(len(rows))))


def _check(pairs: list[tuple[NDArray[Any], NDArray[Any]]], n: int) -> None:
    """Refuse what a loop would read or write beyond."""
    for at, F in pairs:
        if F.ndim != 2 or F.dtype != np.float64 or not F.flags.c_contiguous or F.shape[1] != pairs[0][1].shape[1]:
            raise ValueError(f"factors must be contiguous float64 of one rank; got {F.dtype} {F.shape}")
        if at.shape != (n,) or (n and not 0 <= at.min() <= at.max() < len(F)):
            raise ValueError(f"{n} cells must be rows and columns of the factors")
