"""How alike the rows of a factor are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def mean_cosines(factors: Sequence[NDArray[Any]], at: int) -> NDArray[np.float64]:
    """Give the cosines of all rows with one, less the mean of all rows, averaged over draws of a factor.

    Without the mean: it is what all have in common. One draw alone says little: rows of which little is known point
    anywhere in it, and near by chance.

    Examples
    --------
    >>> U = np.array([[1.0, 5.0], [-1.0, 5.0], [2.0, 5.0], [-2.0, 5.0]])
    >>> mean_cosines([U, -U], 0).tolist()
    [1.0, -1.0, 1.0, -1.0]
    """
    total = np.zeros(len(factors[0]))
    for factor in factors:
        U = factor - factor.mean(axis=0, dtype=float)
        U /= np.maximum(np.linalg.norm(U, axis=1, keepdims=True), np.finfo(float).tiny)
        total += U @ U[at]
    return total / len(factors)
