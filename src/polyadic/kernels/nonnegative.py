"""Doors to the loops of non-negative factors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.kernels.doors import frozen, in_spans
from polyadic.kernels.loops import nonnegative

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.kernels.rows import RowEntries

UNROLLED = 4
"""Rows of the Gram matrix that the loop takes at once."""


def hals(
    G: NDArray[Any],
    B: NDArray[Any],
    A: NDArray[np.float32],
    *,
    l1: float = 0.0,
    signed: bool = False,
    passes: int = 1,
    threads: int,
) -> float:
    r"""Improve non-negative rows that share their equations, in place; no step raises the objective.

    .. math:: \min_{A \ge 0} \tfrac12 \|X - A D\|_F^2 + \lambda \|A\|_1
              \quad\text{with}\quad G = D D^\top, \; B = X D^\top

    As :func:`~polyadic.kernels.nonnegative_lasso`, for a few passes over all coordinates.

    Parameters
    ----------
    G : ndarray of shape (R, R)
    B : ndarray of shape (n, R)
    A : float32 ndarray of shape (n, R)
        Where to begin, not negative; overwritten.
    l1 : float
        :math:`\lambda`.
    signed : bool
        Whether elements may be negative.
    passes : int
        Over the coordinates of each row.
    threads : int
        Rows do not depend on one another, so neither do they on the threads; the sum that is returned does, in its
        last digits.

    Returns
    -------
    float
        :math:`\langle A, B \rangle`, of the rows as they came.
    """
    n, rank = _writeable(A)
    if G.shape != (rank, rank) or B.shape != (n, rank):
        raise ValueError(f"G and B must be of shapes {(rank, rank)} and {(n, rank)}; got {G.shape} and {B.shape}")
    more = -rank % UNROLLED
    G, B = frozen(np.pad(G, (0, more)), np.float32), frozen(B, np.float32)
    how = (np.float32(l1), np.float32(signed), passes)
    return _summed(lambda a, b: nonnegative.hals(G, B, *how, a, b, A), n, threads)


def simplex_rows(
    G: NDArray[Any], B: NDArray[Any], A: NDArray[np.float64], *, tol: float = 1e-9, steps: int = 10_000, threads: int
) -> int:
    r"""Minimize over rows that sum to one and share their equations, in place; no step raises the objective.

    .. math:: \min_{a \ge 0,\, a 1 = 1} \tfrac12 \|x - a D\|^2 \quad\text{with}\quad G = D D^\top, \; b = x D^\top

    Parameters
    ----------
    G : ndarray of shape (R, R)
    B : ndarray of shape (n, R)
    A : float64 ndarray of shape (n, R)
        Where to begin, on the simplex; overwritten.
    tol : float
        A row is done when no two slopes between which weight could move differ by more.
    steps : int
        At most for a row.
    threads : int
        Parts worked on at the same time; rows do not depend on one another.

    Returns
    -------
    int
        Rows that were not done within ``steps``.
    """
    n, rank = A.shape
    if G.shape != (rank, rank) or B.shape != (n, rank):
        raise ValueError(f"G and B must be of shapes {(rank, rank)} and {(n, rank)}; got {G.shape} and {B.shape}")
    if A.dtype != np.float64 or not A.flags.c_contiguous or not A.flags.writeable:
        raise ValueError("A must be a contiguous, writeable array of float64")
    G, B = frozen(G, np.float64), frozen(B, np.float64)
    return int(_summed(lambda a, b: nonnegative.simplex_rows(G, B, float(tol), steps, a, b, A), n, threads))


def nonnegative_rows(
    entries: RowEntries,
    V: NDArray[np.float32],
    U: NDArray[np.float32],
    *,
    base: NDArray[Any],
    l1: float = 0.0,
    passes: int = 1,
    tol: float = 0.0,
    threads: int,
) -> float:
    r"""Improve non-negative rows of which each has equations of its own, in place; no step raises the objective.

    .. math:: \min_{u_i \ge 0} \tfrac12 u_i \Lambda u_i^\top
              + \sum_e \big(\tfrac12 c_e m_e^2 - y_e m_e\big) + \lambda \|u_i\|_1, \qquad m_e = u_i v_e^\top

    With weights :math:`w` of listed cells :math:`x` and :math:`z` of all others, :math:`c = w - z`, :math:`y = w x`
    and :math:`\Lambda = z V^\top V` make it :math:`\tfrac12 \sum w (x - m)^2`. The equations are never formed: a pass
    costs as much as the model of the cells.

    Parameters
    ----------
    entries : RowEntries
    V : float32 ndarray of shape (m, R)
        The other factor.
    U : float32 ndarray of shape (n, R)
        Where to begin, not negative; overwritten.
    base : ndarray of shape (R, R)
        :math:`\Lambda`, such that the whole is convex.
    l1 : float
        :math:`\lambda`.
    passes : int
        Over the coordinates of a row at most.
    tol : float
        A row is done when no coordinate moved by more than this times the largest.
    threads : int
        Parts worked on at the same time; see :func:`hals`.

    Returns
    -------
    float
        The sum of the first two terms over all rows as they came.
    """
    n, rank = _writeable(U)
    arrays = _listed(entries, V, U)
    if base.shape != (rank, rank):
        raise ValueError(f"base must be of shape {(rank, rank)}; got {base.shape}")
    rest = (frozen(base, np.float32), np.float32(l1), passes, np.float32(tol))
    return _summed(lambda a, b: nonnegative.nonnegative_rows(*arrays, *rest, a, b, U), n, threads)


def divergence_rows(
    entries: RowEntries,
    V: NDArray[np.float32],
    U: NDArray[np.float32],
    *,
    base: NDArray[Any],
    beta: float,
    floor: float,
    l1: float = 0.0,
    passes: int = 1,
    tol: float = 0.0,
    threads: int,
) -> float:
    r"""Improve non-negative rows by products, in place; none raises the :math:`\beta`-divergence.

    .. math:: u_{ik} \leftarrow u_{ik} \Big(\frac{\sum_e y_e m_e^{\beta - 2} v_{ek}}
              {b_k + \lambda + \sum_e c_e m_e^{\beta - 1} v_{ek}}\Big)^\gamma, \qquad m_e = u_i v_e^\top

    with :math:`\gamma = 1 / (2 - \beta)` if :math:`\beta < 1` and 1 if :math:`1 \le \beta \le 2`.

    Parameters
    ----------
    entries : RowEntries
        With weights :math:`w` of listed cells :math:`x` and :math:`z` of all others, :math:`c = w - z`,
        :math:`y = w x`.
    V, U, l1, passes, tol, threads
        As those of :func:`nonnegative_rows`; with no pass at all, rows stay and are measured.
    base : ndarray of shape (R,)
        :math:`b`: for :math:`\beta = 1` the sum over all columns, :math:`z \sum_j v_j`.
    beta : float
        From 0 to 2.
    floor : float
        What :math:`m` is at least.

    Returns
    -------
    float
        The divergence of the rows as they came, without terms of the data alone.

    References
    ----------
    Fevotte, Idier (2011), Algorithms for nonnegative matrix factorization with the beta-divergence, table 2.
    """
    n, rank = _writeable(U)
    arrays = _listed(entries, V, U)
    if base.shape != (rank,) or not 0 <= beta <= 2:
        raise ValueError(f"base must be of shape {(rank,)} and beta from 0 to 2; got {base.shape} and {beta}")
    power = 1 / (2 - beta) if beta < 1 else 1.0
    rest = (frozen(base, np.float64), float(beta), power, np.float32(floor), float(l1), passes, float(tol))
    return _summed(lambda a, b: nonnegative.divergence_rows(*arrays, *rest, a, b, U), n, threads)


def expected_rows(
    entries: RowEntries,
    V: NDArray[np.float32],
    U: NDArray[np.float32],
    *,
    floor: float,
    measured: bool = True,
    threads: int,
) -> float:
    r"""Divide what rows list among coordinates, in place.

    .. math:: u_{ik} \leftarrow u_{ik} \sum_e \frac{y_e v_{ek}}{m_e}, \qquad m_e = u_i v_e^\top

    Parameters
    ----------
    entries : RowEntries
        Of which the weights ``c`` have no part in it.
    V, U, threads
        As those of :func:`nonnegative_rows`.
    floor : float
        What :math:`m` is at least.
    measured : bool
        Whether the value is needed.

    Returns
    -------
    float
        :math:`-\sum_e y_e \log m_e` of the rows as they came; 0 if it is not measured.
    """
    n, _ = _writeable(U)
    starts, columns, _, y, V = _listed(entries, V, U)
    least = np.float32(floor)
    return _summed(lambda a, b: nonnegative.expected_rows(starts, columns, y, V, least, measured, a, b, U), n, threads)


def _summed(work: Any, n: int, threads: int) -> float:
    return float(sum(in_spans(work, n, threads)))


def _writeable(U: NDArray[np.float32]) -> tuple[int, int]:
    if U.ndim != 2 or U.dtype != np.float32 or not U.flags.c_contiguous or not U.flags.writeable:
        raise ValueError("the rows to improve must be a contiguous, writeable array of float32, of two dimensions")
    return U.shape


def _listed(entries: RowEntries, V: NDArray[Any], U: NDArray[Any]) -> list[NDArray[Any]]:
    """Give arrays of one type; a loop would read beyond columns that are not there."""
    starts, columns, c, y = entries
    fit = len(columns) == len(c) == len(y) == starts[-1] and starts[0] == 0 and (np.diff(starts) >= 0).all()
    if not fit or (len(columns) and not 0 <= columns.min() <= columns.max() < len(V)):
        raise ValueError("entries must be by row, with columns that are rows of V")
    if len(starts) != len(U) + 1 or V.shape[1] != U.shape[1]:
        raise ValueError(f"entries of {len(starts) - 1} rows, V and U do not fit: {V.shape} and {U.shape}")
    kinds = (np.int64, np.int32, np.float32, np.float32, np.float32)
    return [frozen(array, kind) for array, kind in zip((starts, columns, c, y, V), kinds, strict=True)]
