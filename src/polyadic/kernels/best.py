"""Door to the loop that finds the largest numbers of each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops import best

if TYPE_CHECKING:
    from numpy.typing import NDArray


def best_of_rows(scores: NDArray[Any], n: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Give the places of the largest numbers of each row, and these, in falling order; of equals the first.

    Parameters
    ----------
    scores : ndarray of shape (rows, columns)
    n : int
        At most ``columns``.

    Returns
    -------
    places, values : ndarray of shape (rows, n)

    Raises
    ------
    ValueError
        If there are not so many columns.
    """
    if not 1 <= n <= scores.shape[1]:
        raise ValueError(f"rows have {scores.shape[1]} numbers, of which {n} are wanted")
    places, values = np.zeros((len(scores), n), np.int64), np.zeros((len(scores), n), scores.dtype)
    best.best_of_rows(frozen(scores), places, values)
    return places, values
