"""Doors to the loops that find the best dependency trees: one or k projective ones, or the best of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops.syntax import best_trees

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def best_projective_tree(scores: ArrayLike, *, single_root: bool = True) -> tuple[NDArray[np.int32], float]:
    r"""Give the tree of highest score whose arcs do not cross, and that score.

    What :func:`~polyadic.kernels.syntax.best_trees.best_arcs` gives with ``k=1``, several times faster; of trees of
    equal score it may give another.

    Parameters
    ----------
    scores, single_root
        As in :func:`best_spanning_tree`.

    Returns
    -------
    heads : ndarray of int32 of shape (n,)
        Minus one for all words if no tree is allowed.
    value : float
        Minus infinity if no tree is allowed.

    Raises
    ------
    ValueError
        If the shape does not fit, there are no words, or a score that is looked at is NaN or plus infinity.

    References
    ----------
    Eisner (1996), Three new probabilistic models for dependency parsing

    Examples
    --------
    >>> heads, value = best_projective_tree([[0, 1, 5], [0, 0, 2], [0, 4, 0]])
    >>> heads.tolist(), value
    ([2, 0], 9.0)
    """
    heads, values = best_projective_trees(np.asarray(scores)[None], single_root=single_root)
    return heads[0], float(values[0])


def best_projective_trees(
    scores: ArrayLike, *, single_root: bool = True
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Give what :func:`best_projective_tree` gives for each of several tables of scores.

    Parameters
    ----------
    scores : array of shape (tables, n + 1, n + 1)
    single_root : bool

    Returns
    -------
    heads : ndarray of int32 of shape (tables, n)
    values : ndarray of shape (tables,)
    """
    tables = _checked(scores)
    heads, values = np.full((len(tables), tables.shape[1] - 1), -1, np.int32), np.empty(len(tables))
    best_trees.projective_trees(frozen(tables), single_root, heads, values)
    return heads, values


def best_spanning_tree(scores: ArrayLike, *, single_root: bool = True) -> tuple[NDArray[np.int32], float]:
    r"""Give the tree of highest score, :math:`\sum_m S_{h_m m}`, among all, projective or not, and that score.

    Sums are rounded to the spread of the scores times the square of the words: of trees that differ by less than some
    1e-15 of that any may be given. So do not forbid arcs by huge negative numbers, but by minus infinity.

    Parameters
    ----------
    scores : array of shape (n + 1, n + 1)
        :math:`S`: of the arc from each word (row) to each word (column), numbered from 1; row 0 is the root. Column 0
        and the diagonal are not looked at; minus infinity forbids an arc.
    single_root : bool
        Whether exactly one word depends on the root. All arcs from the root are then made so much worse that a tree
        has no more of them than it must.

    Returns
    -------
    heads : ndarray of int32 of shape (n,)
        Head of each word, 0 for the root; minus one for all words if no tree is allowed.
    value : float
        Minus infinity if no tree is allowed.

    Raises
    ------
    ValueError
        If the shape does not fit, there are no words, or a score that is looked at is NaN or plus infinity.

    References
    ----------
    McDonald, Pereira, Ribarov, Hajič (2005), Non-projective dependency parsing using spanning tree algorithms.
    Stanojević, Cohen (2021), A root of a problem: optimizing single-root dependency parsing, for the single root

    Examples
    --------
    >>> heads, value = best_spanning_tree([[0, 1, 5], [0, 0, 2], [0, 4, 0]])
    >>> heads.tolist(), value
    ([2, 0], 9.0)
    """
    [table] = _checked(np.asarray(scores)[None])
    n = len(table) - 1
    allowed = table > -np.inf
    low, high = table[allowed].min(), table[allowed].max()
    values = table - low
    span = (high - low) * n + 1.0  # more than any two trees differ by
    if single_root:
        values[0] -= span
        span *= n + 1
    values[~allowed] = -span * (n + 1)
    above = np.empty(n + 1, np.int64)
    best_trees.spanning_tree(values, above)
    heads = above[1:].astype(np.int32)
    value = float(table[heads, np.arange(1, n + 1)].sum())
    if value == -np.inf or (single_root and (heads == 0).sum() != 1):
        return np.full(n, -1, np.int32), -np.inf
    return heads, value


def best_spanning_trees(
    scores: ArrayLike, *, single_root: bool = True
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Give what :func:`best_spanning_tree` gives for each of several tables of scores.

    Parameters
    ----------
    scores : array of shape (tables, n + 1, n + 1)
    single_root : bool

    Returns
    -------
    heads : ndarray of int32 of shape (tables, n)
    values : ndarray of shape (tables,)
    """
    found = [best_spanning_tree(table, single_root=single_root) for table in np.asarray(scores)]
    return np.stack([heads for heads, _ in found]), np.array([value for _, value in found])


def _checked(scores: ArrayLike) -> NDArray[np.float64]:
    """Give a copy of tables of scores, zeros where it is not looked at."""
    tables = np.array(scores, np.float64)
    if tables.ndim != 3 or tables.shape[1] != tables.shape[2] or tables.shape[1] < 2:
        raise ValueError(f"scores must be square, of the root and at least one word; got shape {tables.shape[1:]}")
    words = np.arange(tables.shape[1])
    tables[:, words, words] = tables[:, :, 0] = 0.0
    if not (tables < np.inf).all():  # NaN is not below either
        raise ValueError("scores must be numbers below infinity")
    return tables


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
    heads, values = best_trees.eisner_kbest(frozen(table), int(k), bool(single_root))
    return heads, values
