"""Matricized tensor times Khatri-Rao product (MTTKRP): what alternating least squares needs of the data.

Row ``i`` of the result for a mode sums, over the entries with index ``i`` in that mode, the value times the product of
the rows of the other modes. A fibre is a run of entries that share all indices but the last, the leaf; what depends on
the other indices, the prefix, is computed once per fibre. An array of entries times rank is never formed.

For symmetric entries every permutation counts though each tuple is listed once. A leaf then costs one gather of each of
the other factors and one update; the sum over permutations of the prefix is formed per fibre.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from polyadic.core.kernels.common import frozen, sum_of_parts, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def mttkrp(
    indices: NDArray[Any], values: NDArray[Any], factors: Sequence[NDArray[Any]], *, mode: int, threads: int
) -> NDArray[Any]:
    r"""Multiply listed entries by the factors of all modes but one (Bader and Kolda 2007, section 5.2.4).

    .. math:: M_{i r} = \sum_{e:\, e_{\mathrm{mode}} = i} x_e \prod_{d \ne \mathrm{mode}} U^{(d)}_{e_d r}

    Shapes (n, order), (n,) and (length of the mode, R) each -> (length of ``mode``, R). Of the factor of ``mode`` only
    shape and type are used. Fast if entries are sorted, as fibres share work.
    """
    columns, values = _checked(indices, values, factors, mode)
    others = [u for d, u in enumerate(factors) if d != mode]
    T = table(np.concatenate(others))
    # the other factors are stacked; the offset of ``mode`` is not used
    sizes = [0 if d == mode else len(u) for d, u in enumerate(factors)]
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)

    def work(first: int, last: int, M: NDArray[Any]) -> float:
        if mode == len(factors) - 1:
            _leaf_mode(columns, offsets, values, T, first, last, M)
        else:
            _prefix_mode(columns, offsets, values, T, mode, first, last, M)
        return 0.0

    return sum_of_parts(work, columns.shape[1], [], factors[mode], threads=threads)[1]


def mttkrp_symmetric(
    indices: NDArray[Any], values: NDArray[Any], factors: Sequence[NDArray[Any]], *, mode: int, threads: int
) -> NDArray[Any]:
    r"""Multiply all permutations of listed entries by the factors of all modes but one, without listing them.

    .. math:: M_{i r} = \sum_e x_e \sum_{p \in S_n:\, e_{p(\mathrm{mode})} = i} \prod_{d \ne \mathrm{mode}}
              U^{(d)}_{e_{p(d)} r}

    All :math:`n!` permutations of a tuple count. If it repeats an index they are not distinct: scale its value by
    :meth:`polyadic.core.entries.Entries.multiplicity` over :math:`n!` to count each cell once.
    """
    columns, values = _checked(indices, values, factors, mode)
    if len({u.shape for u in factors}) > 1:
        raise ValueError(f"symmetric entries need factors of one shape; got {[u.shape for u in factors]}")
    layers = [u for d, u in enumerate(factors) if d != mode]
    loop = _symmetric_triples if len(factors) == 3 else _symmetric_fibres

    def work(first: int, last: int, T: NDArray[Any]) -> float:
        loop(columns, values, T, first, last)
        return 0.0

    return sum_of_parts(work, columns.shape[1], layers, factors[mode], threads=threads)[1]


def _checked(
    indices: NDArray[Any], values: NDArray[Any], factors: Sequence[NDArray[Any]], mode: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Check that every index is a row of its factor, as kernels do not check bounds."""
    order = len(factors)
    if indices.ndim != 2 or indices.shape[1] != order or order < 2 or not 0 <= mode < order:
        raise ValueError(
            f"indices must be (n, order) with a factor per mode, two at least, and mode one of them; got shape"
            f" {indices.shape}, {order} factors, mode {mode}"
        )
    if len({(u.dtype, u.shape[1:]) for u in factors}) > 1 or factors[0].ndim != 2:
        raise ValueError(f"factors must be matrices of one rank and type; got {[(u.dtype, u.shape) for u in factors]}")
    if values.shape != indices.shape[:1]:
        raise ValueError(f"{len(indices)} entries need as many values; got shape {values.shape}")
    columns = frozen(indices.T)
    for d, (column, u) in enumerate(zip(columns, factors, strict=True)):
        if column.size and not (column.min() >= 0 and column.max() < len(u)):
            raise ValueError(
                f"indices of mode {d} must be from 0 to {len(u) - 1}; got {column.min()} to {column.max()}"
            )
    return columns, frozen(values, factors[0].dtype)


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


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _prefix_product(indices, offsets, T, e, mode, w):
    """Multiply the rows of all indices of entry ``e`` but the leaf and that of ``mode``."""
    w[:] = 1
    for d in range(indices.shape[0] - 1):
        if d != mode:
            i = offsets[d] + indices[d, e]
            for r in range(len(w)):
                w[r] *= T[i, 0, r]


@njit(cache=True, nogil=True, fastmath=FAST)
def _leaf_mode(indices, offsets, values, T, first, last, M):
    """Add ``x_e prod_(d < order - 1) U[offsets[d] + e_d]`` to the row of ``M`` of the leaf of each entry."""
    leaf = indices.shape[0] - 1
    w = np.empty(M.shape[2], T.dtype)
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        _prefix_product(indices, offsets, T, start, leaf, w)
        for e in range(start, end):
            k, x = indices[leaf, e], values[e]
            for r in range(len(w)):
                M[k, 0, r] += x * w[r]
        start = end


@njit(cache=True, nogil=True, fastmath=FAST)
def _prefix_mode(indices, offsets, values, T, mode, first, last, M):
    """Add ``x_e prod_(d != mode) U[offsets[d] + e_d]`` to the row of ``M`` of the index of each entry in ``mode``."""
    leaf = indices.shape[0] - 1
    w, s = np.empty(M.shape[2], T.dtype), np.empty(M.shape[2], T.dtype)
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        _prefix_product(indices, offsets, T, start, mode, w)
        s[:] = 0
        for e in range(start, end):
            k, x = offsets[leaf] + indices[leaf, e], values[e]
            for r in range(len(s)):
                s[r] += x * T[k, 0, r]
        i = indices[mode, start]
        for r in range(len(s)):
            M[i, 0, r] += s[r] * w[r]
        start = end


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _assignments(indices, T, e, skip, table):
    """Sum over all assignments of the indices of a prefix but one to different factors.

    ``table[S]`` becomes the sum for the set of factors ``S`` (a bit mask), which takes as many of the indices of entry
    ``e``, without index ``skip``, as ``S`` has members.
    """
    factors = T.shape[1] - 1
    table[:] = 0
    table[0] = 1
    for taken in range(1 << factors):
        word = 0
        for c in range(factors):
            word += (taken >> c) & 1
        if word >= factors - 1:
            continue
        if word >= skip:
            word += 1
        i = indices[word, e]
        for c in range(factors):
            if (taken >> c) & 1 == 0:
                more = taken | (1 << c)
                for r in range(T.shape[2]):
                    table[more, r] += table[taken, r] * T[i, c, r]


@njit(cache=True, nogil=True, fastmath=FAST)
def _symmetric_fibres(indices, values, T, first, last):
    """Add ``x_e prod_c T[e_p(c), c]`` to ``T[e_p(last), last]``, for all ``order!`` permutations ``p`` of an entry.

    ``T`` is (V, order, R): the factors of the other modes and the result.
    """
    factors, rank = T.shape[1] - 1, T.shape[2]
    everyone = (1 << factors) - 1
    table = np.empty((1 << factors, rank), T.dtype)
    w, s = np.empty(rank, T.dtype), np.empty((factors, rank), T.dtype)
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        _assignments(indices, T, start, 0, table)
        w[:] = 0
        for c in range(factors):
            i, rest = indices[0, start], everyone ^ (1 << c)
            for r in range(rank):
                w[r] += T[i, c, r] * table[rest, r]
        s[:] = 0
        for e in range(start, end):
            k, x = indices[factors, e], values[e]
            for c in range(factors):
                for r in range(rank):
                    s[c, r] += x * T[k, c, r]
            for r in range(rank):
                T[k, factors, r] += x * w[r]
        for word in range(factors):
            if word > 0:
                _assignments(indices, T, start, word, table)
            for c in range(factors):
                i, rest = indices[word, start], everyone ^ (1 << c)
                for r in range(rank):
                    T[i, factors, r] += s[c, r] * table[rest, r]
        start = end


@njit(cache=True, nogil=True, fastmath=FAST)
def _symmetric_triples(indices, values, T, first, last):
    """``_symmetric_fibres`` for order 3, the common case.

    Half of the fibres of word counts have one or two leaves: a single one needs no sums, and two share each pass over
    the sums. Loops are short, as the compiler can prove only few arrays not to overlap.
    """
    rank = T.shape[2]
    w, a, b = np.empty(rank, T.dtype), np.empty(rank, T.dtype), np.empty(rank, T.dtype)
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        i, j, k, x = indices[0, start], indices[1, start], indices[2, start], values[start]
        if end == start + 1:
            for r in range(rank):
                T[k, 2, r] += x * (T[i, 0, r] * T[j, 1, r] + T[i, 1, r] * T[j, 0, r])
            for r in range(rank):
                T[i, 2, r] += x * (T[j, 0, r] * T[k, 1, r] + T[j, 1, r] * T[k, 0, r])
            for r in range(rank):
                T[j, 2, r] += x * (T[i, 0, r] * T[k, 1, r] + T[i, 1, r] * T[k, 0, r])
            start = end
            continue
        odd = (end - start) % 2
        for r in range(rank):
            w[r] = T[i, 0, r] * T[j, 1, r] + T[i, 1, r] * T[j, 0, r]
        x *= T.dtype.type(odd)  # of an odd number of leaves the first begins the sums, else they begin at zero
        for r in range(rank):
            a[r] = x * T[k, 0, r]
        for r in range(rank):
            b[r] = x * T[k, 1, r]
        for e in range(start + odd, end, 2):
            k, h, x, y = indices[2, e], indices[2, e + 1], values[e], values[e + 1]
            for r in range(rank):
                a[r] += x * T[k, 0, r] + y * T[h, 0, r]
            for r in range(rank):
                b[r] += x * T[k, 1, r] + y * T[h, 1, r]
        for e in range(start, end):
            k, x = indices[2, e], values[e]
            for r in range(rank):
                T[k, 2, r] += x * w[r]
        for r in range(rank):
            T[i, 2, r] += T[j, 1, r] * a[r] + T[j, 0, r] * b[r]
        for r in range(rank):
            T[j, 2, r] += T[i, 1, r] * a[r] + T[i, 0, r] * b[r]
        start = end
