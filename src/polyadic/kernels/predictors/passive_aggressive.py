"""Doors to the loops that learn from lists of candidates: perceptron, MIRA, and MIRA with products as weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops.predictors import passive_aggressive as loops

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


WIDEST = 1 << 31
"""Features are numbered below it."""


class CandidateLists(NamedTuple):
    """Lists of candidates as the loops read them; made by :func:`candidate_lists`.

    Attributes
    ----------
    starts : ndarray of shape (lists + 1,)
    indptr, indices, values : ndarray
        Of the rows of candidates in CSR form, without duplicates, sorted.
    costs : ndarray of shape (candidates,)
    features : int
        Above every index.
    scratch : tuple of ndarray
        Room for the scores of a list, and for the features that differ between two candidates, and their values.
    """

    starts: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[Any]
    costs: NDArray[np.float64]
    features: int
    scratch: tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]


def candidate_lists(X: Any, costs: ArrayLike, starts: ArrayLike) -> CandidateLists:
    """Lay lists out for the loops.

    Parameters
    ----------
    X : sparse array of shape (candidates, features)
        In CSR form.
    costs : array of shape (candidates,)
    starts : array of int of shape (lists + 1,)
        Each list has a candidate.

    Raises
    ------
    ValueError
        If shapes do not fit or an index is outside.
    """
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    edges, price = frozen(np.asarray(starts), np.int64), frozen(np.asarray(costs), np.float64)
    if price.shape != (X.shape[0],) or edges[0] != 0 or edges[-1] != X.shape[0] or (np.diff(edges) < 1).any():
        raise ValueError(f"starts must rise from 0 to {X.shape[0]}, the number of costs; got {price.shape} costs")
    if len(X.indices) and not 0 <= X.indices.min() <= X.indices.max() < min(X.shape[1], WIDEST):
        raise ValueError(f"indices must be from 0 to {min(X.shape[1], WIDEST) - 1}")
    indptr, indices = frozen(X.indptr, np.int64), frozen(X.indices, np.int32)
    longest = int(np.diff(edges).max(initial=0))
    room = min(2 * int(np.diff(indptr).max(initial=0)), X.shape[1]) + 1
    scratch = np.empty(longest), np.empty(room, np.int64), np.empty(room)
    values = frozen(X.data, np.float32 if X.dtype == np.float32 else np.float64)  # read as they are: no copy each epoch
    return CandidateLists(edges, indptr, indices, values, price, X.shape[1], scratch)


class FeatureCells(NamedTuple):
    """Where features stand in a tensor, as the loops read it; made by :func:`feature_cells`.

    Attributes
    ----------
    at : ndarray of shape (features, D)
        Rows of the factors of all modes, one below the other.
    rows : int
        Above every one of them.
    """

    at: NDArray[np.int32]
    rows: int


def feature_cells(place: NDArray[Any], sizes: tuple[int, ...]) -> FeatureCells:
    """Take numbers of cells, the first mode the fastest, apart into rows of factors.

    Parameters
    ----------
    place : ndarray of int of shape (features,)
    sizes : tuple of int

    Raises
    ------
    ValueError
        If there is no mode, or a cell is outside the tensor.
    """
    if not sizes or (len(place) and not 0 <= place.min() <= place.max() < int(np.prod(sizes, dtype=np.int64))):
        raise ValueError(f"cells must lie in a tensor of sizes {sizes}")
    offsets = np.r_[0, np.cumsum(sizes)]
    at = np.stack(np.unravel_index(place, sizes, order="F"), axis=1) + offsets[:-1]
    return FeatureCells(frozen(at, np.int32), int(offsets[-1]))


def perceptron_lists(
    lists: CandidateLists,
    order: NDArray[Any],
    *,
    weights: NDArray[np.float64],
    summed: NDArray[np.float64],
    before: int,
) -> NDArray[np.float64]:
    """Go through lists, and where a choice is not the cheapest add that and take away the chosen one.

    Parameters
    ----------
    lists : CandidateLists
    order : ndarray of int
        Lists, in the order to learn from them.
    weights, summed : ndarray of shape (features,)
        Changed: weights, and the sum of their steps, each times the number of lists before it.
    before : int
        Lists that were learned from earlier.

    Returns
    -------
    ndarray of shape (3,)
        Sums over lists: costs of what was chosen, losses, steps.

    Raises
    ------
    ValueError
        If shapes do not fit.
    """
    sums = np.zeros(3)
    rows = _order(lists, order)
    _weights(lists, weights, summed)
    loops.perceptron_lists(rows, *lists[:5], weights, summed, before, sums, *lists.scratch)
    return sums


def mira_lists(
    lists: CandidateLists,
    order: NDArray[Any],
    *,
    weights: NDArray[np.float64],
    summed: NDArray[np.float64],
    before: int,
    C: float,
    augmented: bool = False,
    best: int = 1,
) -> NDArray[np.float64]:
    r"""Go through lists, each time to the nearest weights that leave no loss, or the least of both.

    .. math:: \min_w \tfrac12 \|w - w_t\|^2 + C \sum_j \max(0, \rho_j - w \cdot \Delta_j)

    over the ``best`` candidates of highest score, :math:`\rho_j` what each costs more than the cheapest and
    :math:`\Delta_j` the features of the cheapest less those of it.

    Parameters
    ----------
    lists, order, weights, summed, before
        As those of :func:`perceptron_lists`.
    C : float
        Positive.
    augmented : bool
        Whether costs are added to scores in the search of the best.
    best : int

    Returns
    -------
    ndarray of shape (3,)
        As that of :func:`perceptron_lists`.

    Raises
    ------
    ValueError
        If shapes do not fit.
    """
    sums = np.zeros(3)
    rows = _order(lists, order)
    _weights(lists, weights, summed)
    room = np.empty(best, np.int64), np.empty(best)
    arrays = (*lists[:5], weights, summed)
    loops.mira_lists(rows, *arrays, before, float(C), float(augmented), sums, *lists.scratch, *room)
    return sums


def tensor_mira_lists(
    lists: CandidateLists,
    order: NDArray[Any],
    *,
    turns: NDArray[Any],
    factors: NDArray[np.float64],
    cells: FeatureCells,
    norms: NDArray[np.float64],
    C: float,
    scaled: bool = True,
    augmented: bool = False,
) -> NDArray[np.float64]:
    r"""Go through lists with weights :math:`\sum_h \prod_d w^d_h`, and step by one vector :math:`w^d_h` at a time.

    Parameters
    ----------
    lists, order
        As those of :func:`perceptron_lists`.
    turns : ndarray of int of shape (len(order), H D) or (len(order), 0)
        For each list the order of vectors, ``h D + d`` for mode ``d`` of component ``h``; without columns all step at
        once.
    factors : ndarray of shape (rows, H)
        Those of all modes, one below the other. Changed.
    cells : FeatureCells
        The rows of factors whose product is the weight of a feature, one in each mode.
    norms : ndarray of shape (H, D)
        Squared norms of the vectors. Changed.
    C : float
        Positive; infinite for no bound.
    scaled : bool
        Whether the bound of a step is C divided by the squared norms of the other vectors, as the problem has it, or C.
    augmented : bool
        As that of :func:`mira_lists`.

    Returns
    -------
    ndarray of shape (3,)
        As that of :func:`perceptron_lists`.

    Raises
    ------
    ValueError
        If shapes do not fit, or a number is outside.
    """
    D, H = cells.at.shape[1], factors.shape[1]
    if len(cells.at) < lists.features or norms.shape != (H, D) or len(factors) != cells.rows:
        raise ValueError(f"there are {lists.features} features, {len(cells.at)} with cells, and norms {norms.shape}")
    if turns.shape not in {(len(order), H * D), (len(order), 0)}:
        raise ValueError(f"turns must have {H * D} columns, or none, for each of {len(order)} lists; got {turns.shape}")
    if turns.size and not 0 <= turns.min() <= turns.max() < H * D:
        raise ValueError(f"turns must be below {H * D}")
    _owned(factors, norms)
    sums = np.zeros(3)
    s, at, x = lists.scratch
    room = np.empty((D, len(at)), np.int64), np.empty_like(factors), np.zeros(len(factors), bool)
    rows = _order(lists, order)
    loops.tensor_mira_lists(
        rows, frozen(turns, np.int64), *lists[:5], factors, cells.at, norms, float(C), scaled, float(augmented),
        sums, s, at, x, *room, np.empty(lists.features), np.zeros(lists.features, np.int64),
    )  # fmt: skip
    return sums


def _order(lists: CandidateLists, order: NDArray[Any]) -> NDArray[np.int64]:
    rows = frozen(order, np.int64)
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(lists.starts) - 1:
        raise ValueError(f"order must name lists, below {len(lists.starts) - 1}")
    return rows


def _weights(lists: CandidateLists, *arrays: NDArray[np.float64]) -> None:
    for array in arrays:
        if array.ndim != 1 or len(array) < lists.features:
            raise ValueError(f"weights must be at least {lists.features}, one for each feature; got {array.shape}")
    _owned(*arrays)


def _owned(*arrays: NDArray[np.float64]) -> None:
    for array in arrays:
        if array.dtype != np.float64 or not array.flags.c_contiguous:
            raise ValueError("what is changed must be contiguous and in double precision")
