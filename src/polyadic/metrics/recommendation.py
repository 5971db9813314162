r"""Recommendation: how many of the columns held out of a row are among the first that a model names, and how early.

With ``n`` columns named for a row that holds out ``h``, those held out at the places :math:`p` from 1:

.. math:: \text{recall} = \frac{|\{p \le n\}|}{\min(n, h)} \qquad
          \text{NDCG} = \sum_{p \le n} \frac{1}{\log_2(p + 1)} \Big/ \sum_{p = 1}^{\min(n, h)} \frac{1}{\log_2(p + 1)}

References
----------
Järvelin, Kekäläinen (2002), Cumulated gain-based evaluation of IR techniques. The denominator of recall, so that 1 can
be reached, is that of Liang, Krishnan, Hoffman, Jebara (2018), Variational autoencoders for collaborative filtering.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Recommendation(NamedTuple):
    """How well held-out columns were found, by row; NaN for rows that hold nothing out.

    Attributes
    ----------
    recall, ndcg : ndarray of shape (rows,)
    """

    recall: NDArray[np.float64]
    ndcg: NDArray[np.float64]


def recommendation(recommended: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> Recommendation:
    """Compare what is recommended for each row with what was held out of it.

    Parameters
    ----------
    recommended : array of int, of shape (rows, n)
        Columns, the best first; below 0 where there are no more.
    rows, columns : array of int, of shape (held out,)
        Cells that were held out, none of them twice.

    Raises
    ------
    InputError
        If shapes do not fit, numbers are not whole, or a row or a column is not there.

    Examples
    --------
    >>> found = recommendation([[3, 1], [0, 2]], rows=[0, 0, 1], columns=[1, 7, 4])
    >>> found.recall.tolist(), found.ndcg.round(3).tolist()
    ([0.5, 0.0], [0.387, 0.0])
    """
    named, i, j = np.asarray(recommended), np.asarray(rows), np.asarray(columns)
    if named.ndim != 2 or not named.shape[1] or i.shape != j.shape or i.ndim != 1:
        raise InputError(f"give columns by row, and held-out cells; got shapes {named.shape}, {i.shape}, {j.shape}")
    if any(at.size and at.dtype.kind not in "iu" for at in (named, i, j)) or j.min(initial=0) < 0:
        raise InputError("rows and columns are whole numbers, those held out of at least 0")
    i, j = i.astype(np.int64), j.astype(np.int64)
    if len(i) and not 0 <= i.min() <= i.max() < len(named):
        raise InputError(f"there are recommendations for {len(named):,} rows, from 0; got row {i.max()} held out")
    width = int(max(named.max(initial=0), j.max(initial=0))) + 1
    cells = np.where(named >= 0, np.arange(len(named))[:, None] * width + named, -1)
    hits = np.isin(cells, i * width + j)
    wanted = np.bincount(i, minlength=len(named))
    most = np.minimum(wanted, named.shape[1])
    gains = 1 / np.log2(np.arange(2, named.shape[1] + 2))
    best = np.concatenate([[np.nan], np.cumsum(gains)])[most]
    return Recommendation(hits.sum(axis=1) / np.where(most, most, np.nan), hits @ gains / best)
