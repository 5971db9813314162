"""Scores of roles from a vector of weights in which each feature has a weight per role, side by side."""

from numba import njit


@njit(cache=True, nogil=True)
def cell_scores(cells, theta, scores):
    """Add to ``scores[i, r]`` the weights ``c`` and ``c + 1 + r`` of each cell ``c`` of row ``i``; below 0 is none."""
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
