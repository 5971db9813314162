r"""Means of weights over the steps that made them, from sums that are kept up where a step moves them.

A step at time t that moves a weight by :math:`d` adds :math:`t\,d` to its sum s; the mean of the weights at the start
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
"""Rows that are looked at together, so that the mean of large weights takes room for the result alone."""


def mean_weights(w: NDArray[np.float32], s: NDArray[Any], T: int) -> NDArray[np.float32]:
    """Give the mean of weights at the start and after each step.

    Parameters
    ----------
    w, s : ndarrays of the same shape
        Weights as they are, and their sums.
    T : int
        Steps that were taken.

    Examples
    --------
    >>> mean_weights(np.array([3.0], np.float32), np.array([2 * 3.0]), 5).tolist()  # moved by 3 in step 2 of 5
    [2.0]
    """
    mean = np.empty_like(w)
    for start in range(0, len(w), ROWS):
        some = slice(start, start + ROWS)
        mean[some] = w[some] - s[some] / (T + 1)
    return mean
