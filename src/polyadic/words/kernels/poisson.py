"""Numba kernels of Poisson CP models: multiplicative factors of one mode.

Entries, factors and fibres are laid out as for the other CP kernels. All entries of a fibre share the words of its
prefix, so the product of their rows is computed once. Each leaf then costs one dot product and one vector update, for
any mode. No row is stored per entry.
"""

from __future__ import annotations

import math
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from polyadic.core.kernels.common import checked, frozen, sum_of_parts, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def cp_poisson(
    indices: NDArray[Any],
    values: NDArray[Any],
    U: NDArray[Any],
    *,
    offsets: Sequence[int],
    mode: int,
    floor: float,
    permuted: bool = False,
    measured: bool = False,
    threads: int,
) -> tuple[float, NDArray[Any]]:
    r"""Return the multiplicative factor of one mode of a Poisson CP model, and the log-likelihood of the counts.

    .. math:: \Phi_{ir} = \sum_{e:\, e_n = i} \frac{x_e}{\max(m_e, \epsilon)} \prod_{d \ne n} U_{o_d + e_d, r}, \qquad
              m_e = \sum_r \prod_d U_{o_d + e_d, r}

    Parameters
    ----------
    indices : ndarray of shape (n, order)
        Indices of each entry; fastest if sorted such that runs share all but the last index.
    values : ndarray of shape (n,)
        :math:`x`, not negative.
    U : ndarray of shape (rows, R)
        The stacked factors of all modes; their precision is used throughout.
    offsets : sequence of int
        :math:`o`, the first row of each mode, increasing from 0.
    mode : int
        :math:`n`.
    floor : float
        :math:`\epsilon`; below it the logarithm of a prediction is continued as its tangent.
    permuted : bool
        Whether each entry stands for all permutations of its indices, as in a symmetric list. A tuple that repeats an
        index is visited more often than it has cells: divide its value accordingly.
    measured : bool
        Whether to compute the log-likelihood.
    threads : int
        Number of threads.

    Returns
    -------
    log_likelihood : float
        :math:`\sum_e x_e \log m_e`; 0 if not ``measured``.
    phi : ndarray of shape (rows of the mode, R)
    """
    bounds = [*offsets, len(U)]
    if bounds[0] != 0 or bounds != sorted(bounds) or not 0 <= mode < len(offsets):
        raise ValueError(f"offsets must rise from 0, and mode lie below {len(offsets)}; got {list(offsets)} and {mode}")
    columns, at = checked(indices, offsets, len(U))
    order, n = columns.shape
    if n and permuted and columns.max() >= np.diff(bounds).min():
        raise ValueError(f"indices must lie within every mode of {np.diff(bounds).tolist()} rows")
    if values.shape != (n,):
        raise ValueError(f"{n} entries need as many values; got shape {values.shape}")
    values, epsilon = frozen(values, U.dtype), U.dtype.type(floor)
    orders = list(permutations(range(order))) if permuted else [tuple(range(order))]
    places = [(np.ascontiguousarray(at[list(modes)]), modes.index(mode)) for modes in orders]

    T = table(U)

    def work(first: int, last: int, phi: NDArray[Any]) -> float:
        return sum(
            _poisson_fibres(columns, offset, values, T, target, epsilon, measured, first, last, phi)
            for offset, target in places
        )

    return sum_of_parts(work, n, [], U[bounds[mode] : bounds[mode + 1]], threads=threads)


FAST = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered for SIMD; infinities and NaN are preserved, so that an overflow is detected."""


@njit(cache=True, nogil=True)
def _fibre_end(indices, start, last):
    """Return the first entry after ``start`` that is in another fibre."""
    e = start + 1
    while e < last:
        for d in range(indices.shape[0] - 1):
            if indices[d, e] != indices[d, start]:
                return e
        e += 1
    return e


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _log_likelihood(x, m, floor):
    """Return ``x log m``, continued below ``floor`` as its tangent."""
    if m < floor:
        return x * (math.log(floor) + (m - floor) / floor)
    return x * math.log(m)


@njit(cache=True, nogil=True, fastmath=FAST)
def _poisson_fibres(indices, offsets, values, T, target, floor, measured, first, last, phi):
    """Add ``sum_e x_e / max(m_e, floor) prod_(d != target) U[o_d + e_d]`` to row ``e_target`` of ``phi``.

    Row ``d`` of ``indices`` (order, n) indexes rows ``U[i] = T[i, 0]`` from ``offsets[d]`` on; ``phi`` has only the
    rows of the target. Returns ``sum_e x_e log m_e`` of entries first..last if ``measured``, else 0.
    """
    rank, leaf = T.shape[2], indices.shape[0] - 1
    others, w, s = np.empty(rank, T.dtype), np.empty(rank, T.dtype), np.empty(rank, T.dtype)
    total = 0.0
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        others[:] = 1
        for d in range(leaf):
            if d != target:
                i = offsets[d] + indices[d, start]
                for r in range(rank):
                    others[r] *= T[i, 0, r]
        if target == leaf:
            for r in range(rank):
                w[r] = others[r]
        else:
            i = offsets[target] + indices[target, start]
            for r in range(rank):
                w[r] = others[r] * T[i, 0, r]
                s[r] = 0
        for e in range(start, end):
            x = values[e]
            if x == 0:
                continue
            at = indices[leaf, e]
            k = offsets[leaf] + at
            m = T.dtype.type(0)
            for r in range(rank):
                m += w[r] * T[k, 0, r]
            if measured:
                total += _log_likelihood(x, m, floor)
            c = x / max(m, floor)
            if target == leaf:
                for r in range(rank):
                    phi[at, 0, r] += c * w[r]
            else:
                for r in range(rank):
                    s[r] += c * T[k, 0, r]
        if target != leaf:
            i = indices[target, start]
            for r in range(rank):
                phi[i, 0, r] += s[r] * others[r]
        start = end
    return total
