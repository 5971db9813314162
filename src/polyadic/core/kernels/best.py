"""Door to the loop that finds the largest numbers of each row.

Loop that finds the largest numbers of each row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from polyadic.core.kernels.common import frozen

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
    _best_of_rows(frozen(scores), places, values)
    return places, values


@njit(cache=True, nogil=True)
def _best_of_rows(scores, places, values):
    """Put the largest of each row, in falling order, into ``values`` and where they stand into ``places``.

    Of equals the first come first. What is not above the least of those held is passed over, which is nearly all.
    """
    n = places.shape[1]
    for i in range(len(scores)):
        held = 0
        least = values[i, n - 1]
        for j in range(scores.shape[1]):
            score = scores[i, j]
            if held == n and not score > least:
                continue
            k = min(held, n - 1)
            while k > 0 and score > values[i, k - 1]:
                values[i, k], places[i, k] = values[i, k - 1], places[i, k - 1]
                k -= 1
            values[i, k], places[i, k] = score, j
            held = min(held + 1, n)
            least = values[i, n - 1]
