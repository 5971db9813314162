"""Door to the loop that finds the best projective dependency trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops.syntax import eisner

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def best_arcs(
    scores: ArrayLike, k: int = 1, *, single_root: bool = True
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    r"""Give the projective trees of highest score, :math:`\sum_m S_{h_m m}`, best first.

    A cost that is a sum over words is decoded with, if it is added to the scores of the arcs, and labels, if the score
    of an arc is that of its best label. Threads may call this at the same time.

    Parameters
    ----------
    scores : array of shape (n + 1, n + 1)
        :math:`S`: of the arc from each word (row) to each word (column), numbered from 1; row 0 is the root. Column 0
        and the diagonal are not looked at; minus infinity forbids an arc.
    k : int
        Trees, at most.
    single_root : bool
        Whether exactly one word depends on the root.

    Returns
    -------
    heads : ndarray of int32 of shape (trees, n)
        Head of each word, 0 for the root; all rows differ. No rows, if no tree is allowed.
    values : ndarray of float64 of shape (trees,)

    Raises
    ------
    ValueError
        If the shape does not fit, there are no words, a score that is looked at is NaN or plus infinity, or ``k`` is
        not a whole number of at least 1.

    References
    ----------
    Eisner (1996), Three new probabilistic models for dependency parsing. Huang, Chiang (2005), Better k-best parsing,
    algorithm 2

    Examples
    --------
    >>> heads, values = best_arcs([[0, 1, 5], [0, 0, 2], [0, 4, 0]], k=2)
    >>> heads.tolist(), values.tolist()
    ([[2, 0], [0, 1]], [9.0, 3.0])

    With 7 for each wrong head, where the right ones are 2 and 0:

    >>> cost = np.full((3, 3), 7.0)
    >>> cost[[2, 0], [1, 2]] = 0
    >>> heads, values = best_arcs(np.add([[0, 1, 5], [0, 0, 2], [0, 4, 0]], cost))
    >>> heads.tolist(), values.tolist()
    ([[0, 1]], [17.0])
    """
    table = np.array(scores, np.float64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < 2:
        raise ValueError(f"scores must be square, of the root and at least one word; got shape {table.shape}")
    np.fill_diagonal(table, -np.inf)
    table[:, 0] = -np.inf
    if np.isnan(table).any() or (table == np.inf).any():
        raise ValueError("scores must be numbers below infinity")
    if k < 1 or k != int(k):
        raise ValueError(f"k must be a whole number of at least 1; got {k}")
    heads, values = eisner.eisner_kbest(frozen(table), int(k), bool(single_root))
    return heads, values
