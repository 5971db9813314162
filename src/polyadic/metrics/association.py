r"""Association measures for two words, or for a word and a text (keyness), from a contingency table.

A table of two rows and two columns has :math:`K` in its first cell, the totals :math:`R` of the first row and :math:`C`
of the first column, and the grand total :math:`N`; the expected count is :math:`E = R C / N`.

.. math:: \mathrm{PMI} = \log_2 \frac{K}{E}, \qquad
          \mathrm{logDice} = 14 + \log_2 \frac{2 K}{R + C}, \qquad
          G^2 = 2 \sum_{\text{4 cells}} K \log \frac{K}{E}

PMI measures effect size and favours rare words; G² measures significance and favours frequent words; logDice does not
depend on the size of the corpus.

References
----------
Church, Hanks (1990), Word association norms, mutual information, and lexicography. Dunning (1993), Accurate methods for
the statistics of surprise and coincidence. Rychlý (2008), A lexicographer-friendly association score.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


def pmi(together: ArrayLike, row: ArrayLike, column: ArrayLike, total: ArrayLike) -> Array:
    """Compute the pointwise mutual information in bits; minus infinity if the joint count is 0.

    Parameters
    ----------
    together, row, column, total : array of float
        Joint count K, marginal counts R and C, and grand total N, broadcast against each other.

    Examples
    --------
    >>> pmi(8, 10, 40, 100).tolist()
    1.0
    """
    K, R, C, N = _table(together, row, column, total)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log2(K * N / (R * C)))


def log_dice(together: ArrayLike, row: ArrayLike, column: ArrayLike) -> Array:
    """Compute logDice, 14 plus the binary logarithm of Dice's coefficient; minus infinity if the joint count is 0.

    Arguments are those of :func:`pmi`.

    Examples
    --------
    >>> log_dice([8, 16], 16, 16).tolist()
    [13.0, 14.0]
    """
    K, R, C = _table(together, row, column)
    with np.errstate(divide="ignore"):
        return np.asarray(14 + np.log2(2 * K / (R + C)))


def log_likelihood(together: ArrayLike, row: ArrayLike, column: ArrayLike, total: ArrayLike) -> Array:
    """Compute the log-likelihood ratio G² of a contingency table, negative if the joint count is below expectation.

    Its absolute value has a chi-squared distribution with one degree of freedom under independence: the critical values
    are 3.84 for 5 % and 10.83 for 0.1 %. Arguments are those of :func:`pmi`.

    Examples
    --------
    >>> log_likelihood([8, 4, 2], 10, 40, 100).round(2).tolist()
    [7.45, 0.0, -2.01]
    """
    K, R, C, N = _table(together, row, column, total)
    G = np.zeros(np.broadcast_shapes(K.shape, R.shape, C.shape, N.shape))
    for cell, rows, columns in ((K, R, C), (R - K, R, N - C), (C - K, N - R, C), (N - R - C + K, N - R, N - C)):
        with np.errstate(divide="ignore", invalid="ignore"):
            G = G + np.where(cell > 0, cell * np.log(cell * N / (rows * columns)), 0)
    return np.asarray(np.where(K * N >= R * C, 2, -2) * np.maximum(G, 0))


def _table(*counts: Any) -> list[Array]:
    return [np.asarray(each, float) for each in counts]
