"""Numba kernels for semantic role scores from hashed features, with shared and role-specific weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from polyadic.core.kernels.common import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.core.annotations import AnyArray, Array, Floats, Ints32


def score_cells(cells: Ints32, theta: Floats, *, roles: int) -> Array:
    r"""Return the score of each semantic role for each row of hashed features.

    .. math:: S_{ir} = \sum_k \theta_{c_{ik}} + \theta_{c_{ik} + 1 + r}

    ``cells`` of shape (n, features) holds the index of the first weight of each feature, or -1 for a missing feature.
    """
    if cells.ndim != 2 or cells.dtype != np.int32:
        raise ValueError(f"cells must be a two-dimensional int32 array; got {cells.dtype} of shape {cells.shape}")
    if cells.size and not -1 <= cells.min() <= cells.max() < len(theta) - roles:
        raise ValueError(f"cells must be from -1 to {len(theta) - roles - 1}; got {cells.min()} to {cells.max()}")
    scores = np.zeros((len(cells), roles))
    _cell_scores(frozen(cells), frozen(theta, np.float32), scores)
    return scores


def hashed_cells(features: tuple[AnyArray, AnyArray, AnyArray], *, bits: int) -> Ints32:
    """Hash each triple of feature ids to an integer below ``2 ** bits``, or -1 if one of the ids is missing."""
    first, second, third = np.broadcast_arrays(*(np.asarray(part, np.int64) for part in features))
    missing = (first < 0) | (second < 0) | (third < 0)
    a, b, c = (part.astype(np.uint64) for part in (first, second, third))
    key = _scrambled(_scrambled((a << np.uint64(32)) ^ b) ^ c)
    return np.where(missing, -1, (key >> np.uint64(64 - bits)).astype(np.int64)).astype(np.int32)


def _scrambled(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit keys by the finalizer of splitmix64 (Steele et al. 2014)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


@njit(cache=True, nogil=True)
def _cell_scores(cells, theta, scores):
    """Add the shared and the role-specific weight of each feature of row ``i`` to ``scores[i, r]``."""
    for i in range(cells.shape[0]):
        shared = 0.0
        for k in range(cells.shape[1]):
            c = cells[i, k]
            if c >= 0:
                shared += theta[c]
                for r in range(scores.shape[1]):
                    scores[i, r] += theta[c + 1 + r]
        for r in range(scores.shape[1]):
            scores[i, r] += shared
