r"""Recommendation metrics: recall, NDCG and average precision of held-out columns among the recommended columns.

With ``n`` columns recommended for a row with ``h`` held-out columns, found at the ranks :math:`p` from 1:

.. math:: \text{recall} = \frac{|\{p \le n\}|}{\min(n, h)} \qquad
          \text{NDCG} = \sum_{p \le n} \frac{1}{\log_2(p + 1)} \Big/ \sum_{p = 1}^{\min(n, h)} \frac{1}{\log_2(p + 1)}
          \qquad \text{AP} = \frac{1}{\min(n, h)} \sum_{p \le n} \frac{|\{p' \le p\}|}{p}

References
----------
Järvelin, Kekäläinen (2002), Cumulated gain-based evaluation of IR techniques. The denominator of recall, with which 1
can be reached, is that of Liang, Krishnan, Hoffman, Jebara (2018), Variational autoencoders for collaborative
filtering.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from polyadic.core.annotations import Array, ArrayLike
from polyadic.core.errors import InputError


class RecommendationScores(NamedTuple):
    """Recall, NDCG and average precision of each row; NaN for rows without held-out columns."""

    recall: Array
    ndcg: Array
    map: Array
    """Recall, NDCG and average precision of each row; the mean of the last is MAP; shape (rows,)."""


def recommendation(recommended: ArrayLike, rows: ArrayLike, columns: ArrayLike) -> RecommendationScores:
    """Compute recall, NDCG and average precision of the columns recommended for each row.

    ``recommended`` has the columns of each row, best first, filled up by negative numbers; ``rows`` and ``columns`` are
    those of each held-out cell, without repetition. InputError is raised if shapes do not match, numbers are not
    integers, or a row or column is out of range.

    Examples
    --------
    >>> found = recommendation([[3, 1], [0, 2]], rows=[0, 0, 1], columns=[1, 7, 4])
    >>> found.recall.tolist(), found.ndcg.round(3).tolist(), found.map.tolist()
    ([0.5, 0.0], [0.387, 0.0], [0.25, 0.0])
    """
    named, i, j = np.asarray(recommended), np.asarray(rows), np.asarray(columns)
    if named.ndim != 2 or not named.shape[1] or i.shape != j.shape or i.ndim != 1:
        raise InputError(
            "the argument recommended must be a matrix, and the arguments rows and columns must be vectors of equal"
            f" length; got shapes {named.shape}, {i.shape}, {j.shape}",
            "recommended",
        )
    if any(at.size and at.dtype.kind not in "iu" for at in (named, i, j)) or j.min(initial=0) < 0:
        raise InputError(
            "the arguments recommended, rows and columns must contain integers, and columns no negative ones"
        )
    i, j = i.astype(np.int64), j.astype(np.int64)
    if len(i) and not 0 <= i.min() <= i.max() < len(named):
        outside = i.min() if i.min() < 0 else i.max()
        raise InputError(
            f"rows must contain row indices of the recommendations, from 0 to {len(named) - 1:,}; got {outside}", "rows"
        )
    width = int(max(named.max(initial=0), j.max(initial=0))) + 1
    cells = np.where(named >= 0, np.arange(len(named))[:, None] * width + named, -1)
    hits = np.isin(cells, i * width + j)
    most = np.minimum(np.bincount(i, minlength=len(named)), named.shape[1])
    gains = 1 / np.log2(np.arange(2, named.shape[1] + 2))
    best = np.concatenate([[np.nan], np.cumsum(gains)])[most]
    most = np.where(most, most, np.nan)
    precision = (hits * np.cumsum(hits, axis=1)) @ (1 / np.arange(1, named.shape[1] + 1))
    return RecommendationScores(hits.sum(axis=1) / most, hits @ gains / best, precision / most)


class Catalogue(NamedTuple):
    r"""Coverage, Gini coefficient and novelty of a set of recommendations."""

    coverage: float
    """Share of the columns that are recommended at least once."""
    gini: float
    """Gini coefficient of the number of recommendations per column: 0 if all are equal, near 1 if a few columns
    dominate."""
    novelty: float
    r"""Mean self-information :math:`-\log_2 p_j` in bits of a recommended column, where a share :math:`p_j` of the rows
    has a known cell in column j. NaN, like ``gini``, if nothing is recommended."""


def catalogue(recommended: ArrayLike, known: ArrayLike, rows: int) -> Catalogue:
    """Compute coverage, Gini coefficient and novelty of recommendations.

    ``recommended`` are columns in any shape, of which negative ones are ignored; ``known`` is the number of known cells
    of each column of a table, and ``rows`` the number of its rows.

    References
    ----------
    Castells, Hurley, Vargas (2015), Novelty and diversity in recommender systems, section 4.

    Examples
    --------
    >>> catalogue([[0, 1], [0, 2]], known=[8, 4, 2, 1], rows=8)
    Catalogue(coverage=0.75, gini=0.375, novelty=0.75)
    """
    named, counts = np.asarray(recommended, np.int64), np.asarray(known)
    times = np.bincount(named[named >= 0], minlength=len(counts))
    if len(times) > len(counts):
        raise InputError(
            f"all recommended column indices must be below {len(counts):,}, the length of the argument known"
        )
    if not times.any():
        return Catalogue(0.0, math.nan, math.nan)
    rising, n = np.sort(times), len(times)
    gini = 1 - (2 * np.cumsum(rising).sum() / rising.sum() - 1) / n
    bits = -np.log2(np.maximum(counts, 1) / rows)  # of a column that nobody has yet as of one that one row has
    return Catalogue(float((times > 0).mean()), float(gini), float(times @ bits / times.sum()))
