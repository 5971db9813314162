"""Largest elements of each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from polyadic.core.kernels.common import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray


def best_of_rows(scores: NDArray[Any], n: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return places and values, (rows, n), of the n largest elements of each row, falling; the first of ties."""
    if not 1 <= n <= scores.shape[1]:
        raise ValueError(f"rows have {scores.shape[1]} numbers, of which {n} are wanted")
    places, values = np.zeros((len(scores), n), np.int64), np.zeros((len(scores), n), scores.dtype)
    _best_of_rows(frozen(scores), places, values)
    return places, values


@njit(cache=True, nogil=True)
def _best_of_rows(scores, places, values):
    """Insert elements into the sorted ``values`` and ``places``; nearly all fail the first comparison."""
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
