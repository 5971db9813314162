"""Doors to the loops of CP models.

The factors come as one tall matrix ``U``; ``offsets`` says for each mode where its rows begin. All zeros, the default,
means that every mode shares the same rows: symmetric CP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lowrank.kernels.doors import frozen, in_threads
from lowrank.kernels.loops import cp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

PART = 1 << 20
"""Entries whose gradients are added in a row in the precision of the factors before they join the total."""


def cp_squared(
    indices: NDArray[Any],
    values: NDArray[Any],
    weights: NDArray[Any] | None,
    U: NDArray[Any],
    *,
    offsets: Sequence[int] | None = None,
    zero_weight: float,
    scale: float,
    threads: int,
) -> tuple[float, NDArray[Any]]:
    r"""Squared loss over listed entries of a CP model, and its gradient.

    .. math:: \tfrac{s}{2} \sum_e w_e (x_e - m_e)^2 - z\, m_e^2, \qquad m_e = \sum_r \prod_d U_{o_d + e_d, r}

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
    threads : int
        Parts worked on at the same time.

    Returns
    -------
    value : float
    gradient : ndarray of shape (rows, R)
    """
    columns, at, U = _checked(indices, offsets, U)
    n = columns.shape[1]
    weights = np.ones(n, U.dtype) if weights is None else weights
    if not (len(values) == len(weights) == n):
        raise ValueError(f"{n} entries need as many values and weights; got {len(values)} and {len(weights)}")
    values, weights = frozen(values, U.dtype), frozen(weights, U.dtype)
    z, s = U.dtype.type(zero_weight), U.dtype.type(scale)

    def work(first: int, last: int, out: NDArray[Any]) -> float:
        return cp.squared_fibres(columns, at, values, weights, z, s, U, first, last, out)

    return _sum_of_parts(work, n, U, threads)


def cp_predict(
    indices: NDArray[Any], U: NDArray[Any], *, offsets: Sequence[int] | None = None, threads: int
) -> NDArray[Any]:
    """Give the model's value of each entry: shapes (n, order), (rows, R) -> (n,)."""
    columns, at, U = _checked(indices, offsets, U)
    n = columns.shape[1]
    predictions = np.empty(n, U.dtype)
    bounds = np.linspace(0, n, threads + 1).astype(np.int64)
    in_threads(lambda t: cp.predict_fibres(columns, at, U, bounds[t], bounds[t + 1], predictions), threads)
    return predictions


def cp_pullback(
    indices: NDArray[Any],
    derivatives: NDArray[Any],
    U: NDArray[Any],
    *,
    offsets: Sequence[int] | None = None,
    threads: int,
) -> NDArray[Any]:
    r"""Take derivatives of predictions back to the factors, :math:`\sum_e d_e\, \partial m_e / \partial U`.

    Shapes (n, order), (n,), (rows, R) -> (rows, R).
    """
    columns, at, U = _checked(indices, offsets, U)
    n = columns.shape[1]
    if len(derivatives) != n:
        raise ValueError(f"{n} entries need as many derivatives; got {len(derivatives)}")
    derivatives = frozen(derivatives, U.dtype)

    def work(first: int, last: int, out: NDArray[Any]) -> float:
        cp.pullback_fibres(columns, at, derivatives, U, first, last, out)
        return 0.0

    return _sum_of_parts(work, n, U, threads)[1]


def _sum_of_parts(
    work: Callable[[int, int, NDArray[Any]], float], n: int, U: NDArray[Any], threads: int
) -> tuple[float, NDArray[Any]]:
    """Add values and gradients of parts of the entries, each part of its own sum, in a fixed order."""
    threads = max(1, min(threads, n // max(len(U), 1)))  # with fewer entries than rows a thread would mostly add zeros
    rounds = max(1, -(-n // (threads * PART)))
    size = max(1, -(-n // (threads * rounds)))  # at most PART, and as many parts for each thread

    def parts(thread: int) -> tuple[float, NDArray[Any]]:
        value, total, part = 0.0, np.zeros_like(U), np.zeros_like(U)
        for first in range(thread * size, n, threads * size):
            value += work(first, min(first + size, n), part)
            total += part
            part[:] = 0
        return value, total

    results = in_threads(parts, threads)
    gradient = results[0][1]
    for _, more in results[1:]:
        gradient += more
    return sum(value for value, _ in results), gradient


def _checked(
    indices: NDArray[Any], offsets: Sequence[int] | None, U: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[Any]]:
    """Check that every index is a row of U: a loop would read and write beyond it."""
    if indices.ndim != 2 or U.ndim != 2:
        raise ValueError(f"indices and U must be of two dimensions; got shapes {indices.shape} and {U.shape}")
    columns = frozen(indices.T)
    at = np.zeros(len(columns), np.int64) if offsets is None else np.asarray(offsets, np.int64)
    if at.shape != (len(columns),):
        raise ValueError(f"offsets must be one per mode, {len(columns)}; got shape {at.shape}")
    for column, offset in zip(columns, at, strict=True):
        if column.size and not (int(column.min()) + offset >= 0 and int(column.max()) + offset < len(U)):
            low, high = int(column.min()) + offset, int(column.max()) + offset
            raise ValueError(f"indices must be rows of U, from 0 to {len(U) - 1}; got {low} to {high}")
    return columns, at, frozen(U)
