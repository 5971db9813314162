"""Doors to the loops of CP models.

The factors come as one tall matrix ``U``; ``offsets`` says for each mode where its rows begin. All zeros, the default,
means that every mode shares the same rows: symmetric CP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.kernels.doors import checked, frozen, importances, in_spans, short_parts, sum_of_parts, table
from polyadic.kernels.loops import cp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def cp_squared(
    indices: NDArray[Any],
    values: NDArray[Any],
    weights: NDArray[Any] | None,
    U: NDArray[Any],
    *,
    offsets: Sequence[int] | None = None,
    zero_weight: float,
    importance: NDArray[Any] | None = None,
    scale: float,
    threads: int,
    spare: list[NDArray[Any]] | None = None,
) -> tuple[float, NDArray[Any]]:
    r"""Squared loss over listed entries of a CP model, and its gradient.

    .. math:: \tfrac{s}{2} \sum_e w_e (x_e - m_e)^2 - z_e\, m_e^2, \qquad m_e = \sum_r \prod_d U_{o_d + e_d, r},
              \qquad z_e = z \prod_d q_{o_d + e_d}

    Parameters
    ----------
    indices : ndarray of shape (n, order)
        Indices of each entry; runs that share all but the last make it fast.
    values, weights : ndarray of shape (n,)
        :math:`x_e` and :math:`w_e`; no weights means ones.
    U : ndarray of shape (rows, R)
        The factors; single or double precision, which everything else follows.
    offsets : sequence of int
        :math:`o`, one per mode.
    zero_weight, scale : float
        :math:`z` and :math:`s`.
    importance : ndarray of shape (rows,), optional
        :math:`q`; ones if absent.
    threads : int
        Parts worked on at the same time: entries are divided only where they are too many for one sum.
    spare : list, optional
        Tables of ``U`` from calls before, to which the one made here is added.

    Returns
    -------
    value : float
    gradient : ndarray of shape (rows, R)
    """
    columns, at = checked(indices, offsets, len(_matrix(U)))
    n = columns.shape[1]
    weights = np.ones(n, U.dtype) if weights is None else weights
    if not (len(values) == len(weights) == n):
        raise ValueError(f"{n} entries need as many values and weights; got {len(values)} and {len(weights)}")
    values, weights = frozen(values, U.dtype), frozen(weights, U.dtype)
    z, s, q = U.dtype.type(zero_weight), U.dtype.type(scale), importances(importance, U)

    loop = cp.squared_triples if len(columns) == 3 else cp.squared_fibres

    def work(first: int, last: int, T: NDArray[Any]) -> float:
        return loop(columns, at, values, weights, z, q, s, T, first, last)

    return sum_of_parts(work, n, [U], U, threads=threads, parts=short_parts(n), spare=spare)


def cp_predict(
    indices: NDArray[Any], U: NDArray[Any], *, offsets: Sequence[int] | None = None, threads: int
) -> NDArray[Any]:
    """Give the model's value of each entry: shapes (n, order), (rows, R) -> (n,). ``U`` may be a table of rows."""
    T = U if U.ndim == 3 else table(_matrix(U))
    columns, at = checked(indices, offsets, len(T))
    n = columns.shape[1]
    predictions = np.empty(n, U.dtype)
    in_spans(lambda first, last: cp.predict_fibres(columns, at, T, first, last, predictions), n, threads)
    return predictions


def cp_pullback(
    indices: NDArray[Any],
    derivatives: NDArray[Any],
    U: NDArray[Any],
    *,
    offsets: Sequence[int] | None = None,
    threads: int,
    spare: list[NDArray[Any]] | None = None,
) -> NDArray[Any]:
    r"""Take derivatives of predictions back to the factors, :math:`\sum_e d_e\, \partial m_e / \partial U`.

    Shapes (n, order), (n,), (rows, R) -> (rows, R). Threads and ``spare`` are as in :func:`cp_squared`.
    """
    columns, at = checked(indices, offsets, len(_matrix(U)))
    n = columns.shape[1]
    if len(derivatives) != n:
        raise ValueError(f"{n} entries need as many derivatives; got {len(derivatives)}")
    derivatives = frozen(derivatives, U.dtype)

    def work(first: int, last: int, T: NDArray[Any]) -> float:
        cp.pullback_fibres(columns, at, derivatives, T, first, last)
        return 0.0

    return sum_of_parts(work, n, [U], U, threads=threads, parts=short_parts(n), spare=spare)[1]


def _matrix(U: NDArray[Any]) -> NDArray[Any]:
    if U.ndim != 2:
        raise ValueError(f"U must be of two dimensions; got shape {U.shape}")
    return U
