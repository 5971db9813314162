r"""Averages of weights over training steps, from sums that each step updates.

A step at time t that changes a weight by :math:`d` adds :math:`t\,d` to its sum s; the mean of the weights at the start
and after each of T steps is then

.. math:: \bar w = w - \frac{s}{T + 1}.

References
----------
Daumé (2006), Practical structured learning techniques for natural language processing, figure 2.3
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS = 1 << 14
"""Rows processed at once, which bounds the temporaries."""


def mean_weights(w: NDArray[np.float32], s: NDArray[Any], T: int) -> NDArray[np.float32]:
    """Return the mean of weights ``w`` at the start and after each of T steps; ``s`` are their sums.

    >>> mean_weights(np.array([3.0], np.float32), np.array([2 * 3.0]), 5).tolist()  # moved by 3 in step 2 of 5
    [2.0]
    """
    mean = np.empty_like(w)
    for start in range(0, len(w), ROWS):
        some = slice(start, start + ROWS)
        mean[some] = w[some] - s[some] / (T + 1)
    return mean
