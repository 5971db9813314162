r"""Door to the loop that solves for one row of a factor after another.

For row :math:`i` with the entries :math:`e` the equations are

.. math:: \Big(\Lambda + \sum_e c_e v_e v_e^\top\Big) u_i = h + \sum_e y_e v_e
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowrank.kernels.doors import frozen, in_threads
from lowrank.kernels.loops import rows

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
    columns : ndarray of shape (entries,)
        Which row of the other factor each belongs to.
    c, y : ndarray of shape (entries,)
        Its weight in the matrix, and on the right.
    """

    starts: NDArray[Any]
    columns: NDArray[Any]
    c: NDArray[Any]
    y: NDArray[Any]


def posterior_rows(
    entries: RowEntries,
    V: NDArray[Any],
    *,
    precision: NDArray[Any],
    linear: NDArray[Any] | None = None,
    noise: NDArray[Any] | None = None,
    threads: int,
) -> NDArray[np.float64]:
    r"""Solve for all rows, or draw them from the normal distributions with that mean and precision.

    Parameters
    ----------
    entries : RowEntries
    V : ndarray of shape (m, R)
        The other factor.
    precision : ndarray of shape (R, R)
        :math:`\Lambda`, of the prior.
    linear : ndarray of shape (R,), optional
        :math:`h`; for a prior with a mean, :math:`\Lambda \mu`.
    noise : ndarray of shape (n, R), optional
        Standard normal numbers; without them rows are the means.
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
    U = np.empty((n, rank))
    ends = _in_parts(lambda first, last: rows.posterior_rows(*arrays, *prior, first, last, U), n, threads)
    if bad := [row for row in ends if row >= 0]:
        raise ValueError(f"the matrix of row {min(bad)} is not positive definite")
    return U


def _in_parts(work: Callable[[int, int], Any], n: int, threads: int) -> list[Any]:
    """Give each thread several parts of the rows, far from one another."""
    bounds = np.linspace(0, n, PARTS * threads + 1).astype(np.int64).tolist()
    parts = list(pairwise(bounds))
    done = in_threads(lambda t: [work(*part) for part in parts[t::threads]], threads)
    return [one for some in done for one in some]


def _checked(entries: RowEntries, V: NDArray[Any]) -> tuple[list[NDArray[Any]], int, int]:
    """Give arrays of one type; a loop would read beyond columns that are not there."""
    starts, columns, c, y = entries
    n = len(starts) - 1
    fit = len(columns) == len(c) == len(y) == starts[-1] and starts[0] == 0 and (np.diff(starts) >= 0).all()
    if not fit or (len(columns) and not 0 <= columns.min() <= columns.max() < len(V)):
        raise ValueError("entries must be by row, with columns that are rows of V")
    arrays = [frozen(starts, np.int64), frozen(columns, np.int32), *(frozen(array, np.float64) for array in (c, y, V))]
    return arrays, n, V.shape[1]
