"""CP models of any order: predictions, pullback of derivatives, and loss with gradient for squared loss.

The factors are stacked in one tall matrix ``U``; ``offsets`` gives the first row of each mode. The default, all zeros,
is symmetric CP: every mode has the same rows.

Kernels use a table ``T``: ``T[i, 0]`` is a row ``U[i]`` and ``T[i, 1]``, adjacent in memory, its gradient ``dU[i]``. A
fibre is a run of entries that share all indices but the last, the leaf. With ``p`` the indices of its prefix, the
product ``w = prod_d U[p_d]`` is formed once; each leaf ``k`` costs one dot product ``m = w . U[k]`` and two vector
updates, ``s += g U[k]`` and ``dU[k] += g w``; the prefix gets ``dU[p_d] += s prod_(c != d) U[p_c]`` at the end. Leaves
are processed in pairs, which share each pass over ``w`` and ``s``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from polyadic.core.kernels.common import checked, frozen, importances, in_spans, short_parts, sum_of_parts, table

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

    ``indices`` (n, order) are fast if sorted, as fibres share work; ``values`` :math:`x` and ``weights`` :math:`w` have
    shape (n,), ``U`` (rows, R), ``offsets`` :math:`o` one number per mode, ``importance`` :math:`q` shape (rows,).
    ``zero_weight`` is :math:`z` and ``scale`` :math:`s`. ``spare`` holds tables of ``U`` from earlier calls, for reuse.
    Returns the value and a gradient of shape (rows, R).
    """
    columns, at = checked(indices, offsets, len(_matrix(U)))
    n = columns.shape[1]
    weights = np.ones(n, U.dtype) if weights is None else weights
    if not (len(values) == len(weights) == n):
        raise ValueError(f"{n} entries need as many values and weights; got {len(values)} and {len(weights)}")
    values, weights = frozen(values, U.dtype), frozen(weights, U.dtype)
    z, s, q = U.dtype.type(zero_weight), U.dtype.type(scale), importances(importance, U)

    loop = squared_triples if len(columns) == 3 else squared_fibres

    def work(first: int, last: int, T: NDArray[Any]) -> float:
        return loop(columns, at, values, weights, z, q, s, T, first, last)

    return sum_of_parts(work, n, [U], U, threads=threads, parts=short_parts(n), spare=spare)


def cp_predict(
    indices: NDArray[Any], U: NDArray[Any], *, offsets: Sequence[int] | None = None, threads: int
) -> NDArray[Any]:
    """Predict entries: shapes (n, order), (rows, R) -> (n,). ``U`` may be a table of rows."""
    T = U if U.ndim == 3 else table(_matrix(U))
    columns, at = checked(indices, offsets, len(T))
    n = columns.shape[1]
    predictions = np.empty(n, U.dtype)
    in_spans(lambda first, last: _predict_fibres(columns, at, T, first, last, predictions), n, threads)
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
    r"""Pull derivatives (n,) back to the factors, :math:`\sum_e d_e\, \partial m_e / \partial U`, shape (rows, R)."""
    columns, at = checked(indices, offsets, len(_matrix(U)))
    n = columns.shape[1]
    if len(derivatives) != n:
        raise ValueError(f"{n} entries need as many derivatives; got {len(derivatives)}")
    derivatives = frozen(derivatives, U.dtype)

    def work(first: int, last: int, T: NDArray[Any]) -> float:
        pullback_fibres(columns, at, derivatives, T, first, last)
        return 0.0

    return sum_of_parts(work, n, [U], U, threads=threads, parts=short_parts(n), spare=spare)[1]


def _matrix(U: NDArray[Any]) -> NDArray[Any]:
    if U.ndim != 2:
        raise ValueError(f"U must be of two dimensions; got shape {U.shape}")
    return U


FAST = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered for vectorization; infinities and NaN are preserved, so that an overflow is detected."""


@njit(cache=True, nogil=True)
def _fibre_end(indices, start, last):
    """Return the end of the fibre that begins at entry ``start``."""
    e = start + 1
    while e < last:
        for d in range(indices.shape[0] - 1):
            if indices[d, e] != indices[d, start]:
                return e
        e += 1
    return e


@njit(cache=True, inline="always")
def _prefix_product(indices, offsets, T, e, w):
    """Multiply the rows of all indices of entry ``e`` but the leaf."""
    for r in range(len(w)):
        w[r] = 1
    for d in range(indices.shape[0] - 1):
        i = offsets[d] + indices[d, e]
        for r in range(len(w)):
            w[r] *= T[i, 0, r]


@njit(cache=True, inline="always")
def _dot(T, k, w):
    m = T.dtype.type(0)
    for r in range(len(w)):
        m += w[r] * T[k, 0, r]
    return m


@njit(cache=True, inline="always")
def _dots(T, k, h, w):
    m, n = T.dtype.type(0), T.dtype.type(0)
    for r in range(len(w)):
        m += w[r] * T[k, 0, r]
        n += w[r] * T[h, 0, r]
    return m, n


@njit(cache=True, inline="always")
def _add_leaf(T, k, g, w, s):
    for r in range(len(w)):
        s[r] += g * T[k, 0, r]
        T[k, 1, r] += g * w[r]


@njit(cache=True, inline="always")
def _add_leaves(T, k, h, g, f, w, s):
    for r in range(len(w)):
        s[r] += g * T[k, 0, r] + f * T[h, 0, r]
        T[k, 1, r] += g * w[r]
        T[h, 1, r] += f * w[r]


@njit(cache=True, inline="always")
def _add_to_prefix(indices, offsets, T, e, s, rest):
    """Add ``s`` times the rows of the other indices to the gradient of each index of the prefix of entry ``e``."""
    prefix = indices.shape[0] - 1
    for d in range(prefix):
        for r in range(len(s)):
            rest[r] = s[r]
        for c in range(prefix):
            if c != d:
                j = offsets[c] + indices[c, e]
                for r in range(len(s)):
                    rest[r] *= T[j, 0, r]
        i = offsets[d] + indices[d, e]
        for r in range(len(s)):
            T[i, 1, r] += rest[r]


@njit(cache=True, nogil=True, fastmath=FAST)
def squared_fibres(indices, offsets, values, weights, zero_weight, importance, scale, T, first, last):
    """Add the gradient of ``scale/2 sum_e [weights_e (x_e - m_e)^2 - z_e m_e^2]`` over entries first..last.

    ``z_e`` is ``zero_weight`` times the ``importance`` of each index. ``indices`` is (order, n), ``T`` is (rows, 2, R).
    Returns the value, summed in double precision.
    """
    rank, last_mode = T.shape[2], indices.shape[0] - 1
    leaf, offset = indices[last_mode], offsets[last_mode]
    w, s, rest = np.empty(rank, T.dtype), np.empty(rank, T.dtype), np.empty(rank, T.dtype)
    value = 0.0
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        _prefix_product(indices, offsets, T, start, w)
        z = zero_weight
        for d in range(last_mode):
            z *= importance[offsets[d] + indices[d, start]]
        for r in range(rank):
            s[r] = 0
        e = start
        while e + 1 < end:
            k, h = offset + leaf[e], offset + leaf[e + 1]
            m, n = _dots(T, k, h, w)
            a, b = m - values[e], n - values[e + 1]
            p, q = z * importance[k] * m, z * importance[h] * n
            value += weights[e] * a * a - p * m + weights[e + 1] * b * b - q * n
            g, f = weights[e] * a - p, weights[e + 1] * b - q
            _add_leaves(T, k, h, scale * g, scale * f, w, s)
            e += 2
        if e < end:
            k = offset + leaf[e]
            m = _dot(T, k, w)
            a, p = m - values[e], z * importance[k] * m
            value += weights[e] * a * a - p * m
            _add_leaf(T, k, scale * (weights[e] * a - p), w, s)
        _add_to_prefix(indices, offsets, T, start, s, rest)
        start = end
    return 0.5 * scale * value


@njit(cache=True, nogil=True, fastmath=FAST)
def squared_triples(indices, offsets, values, weights, zero_weight, importance, scale, T, first, last):
    """``squared_fibres`` for order 3, the common case; takes a fifth less time."""
    rank, leaf, offset = T.shape[2], indices[2], offsets[2]
    w, s = np.empty(rank, T.dtype), np.empty(rank, T.dtype)
    value = 0.0
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        i, j = offsets[0] + indices[0, start], offsets[1] + indices[1, start]
        z = zero_weight * importance[i] * importance[j]
        for r in range(rank):
            w[r] = T[i, 0, r] * T[j, 0, r]
            s[r] = 0
        for e in range(start, end - 1, 2):
            k, h = offset + leaf[e], offset + leaf[e + 1]
            m, n = _dots(T, k, h, w)
            a, b = m - values[e], n - values[e + 1]
            p, q = z * importance[k] * m, z * importance[h] * n
            value += weights[e] * a * a - p * m + weights[e + 1] * b * b - q * n
            g, f = weights[e] * a - p, weights[e + 1] * b - q
            _add_leaves(T, k, h, scale * g, scale * f, w, s)
        if (end - start) % 2:
            k = offset + leaf[end - 1]
            m = _dot(T, k, w)
            a, p = m - values[end - 1], z * importance[k] * m
            value += weights[end - 1] * a * a - p * m
            _add_leaf(T, k, scale * (weights[end - 1] * a - p), w, s)
        for r in range(rank):
            T[i, 1, r] += T[j, 0, r] * s[r]
            T[j, 1, r] += T[i, 0, r] * s[r]
        start = end
    return 0.5 * scale * value


@njit(cache=True, nogil=True, fastmath=FAST)
def _predict_fibres(indices, offsets, T, first, last, predictions):
    """Write ``m_e = sum_r prod_d U[indices[d, e], r]`` for entries first..last."""
    last_mode = indices.shape[0] - 1
    leaf, offset = indices[last_mode], offsets[last_mode]
    w = np.empty(T.shape[2], T.dtype)
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        _prefix_product(indices, offsets, T, start, w)
        e = start
        while e + 1 < end:
            predictions[e], predictions[e + 1] = _dots(T, offset + leaf[e], offset + leaf[e + 1], w)
            e += 2
        if e < end:
            predictions[e] = _dot(T, offset + leaf[e], w)
        start = end


@njit(cache=True, nogil=True, fastmath=FAST)
def pullback_fibres(indices, offsets, derivatives, T, first, last):
    """Add ``sum_e derivatives_e dm_e/dU`` over entries first..last to the gradients."""
    rank, last_mode = T.shape[2], indices.shape[0] - 1
    leaf, offset = indices[last_mode], offsets[last_mode]
    w, s, rest = np.empty(rank, T.dtype), np.empty(rank, T.dtype), np.empty(rank, T.dtype)
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        _prefix_product(indices, offsets, T, start, w)
        for r in range(rank):
            s[r] = 0
        e = start
        while e + 1 < end:
            k, h = offset + leaf[e], offset + leaf[e + 1]
            _add_leaves(T, k, h, derivatives[e], derivatives[e + 1], w, s)
            e += 2
        if e < end:
            _add_leaf(T, offset + leaf[e], derivatives[e], w, s)
        _add_to_prefix(indices, offsets, T, start, s, rest)
        start = end
