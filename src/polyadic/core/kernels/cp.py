"""Kernels for CP models of any order: predictions, gradients, squared loss and MTTKRP.

The factors are stacked in one tall matrix ``U``; ``offsets`` gives the first row of each mode. The default, all zeros,
is symmetric CP: every mode has the same rows.

Kernels use a table ``T``: ``T[i, 0]`` is a row ``U[i]`` and ``T[i, 1]``, adjacent in memory, its gradient ``dU[i]``. A
fibre is a run of entries that share all indices but the last, the leaf. With ``p`` the indices of its prefix, the
product ``w = prod_d U[p_d]`` is formed once; each leaf ``k`` costs one dot product ``m = w . U[k]`` and two vector
updates, ``s += g U[k]`` and ``dU[k] += g w``; the prefix gets ``dU[p_d] += s prod_(c != d) U[p_c]`` at the end. Leaves
are processed in pairs, which share each pass over ``w`` and ``s``.

Alternating least squares needs the matricized tensor times Khatri-Rao product (MTTKRP) of the data: row ``i`` of the
result for a mode sums, over the entries with index ``i`` in that mode, the value times the product of the rows of the
other modes. An array of entries times rank is never formed. For symmetric entries every permutation counts though each
tuple is listed once; a leaf then costs one gather of each of the other factors and one update, and the sum over
permutations of the prefix is formed per fibre.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray
from polyadic.core.kernels.common import checked, frozen, importances, in_spans, short_parts, sum_of_parts, table

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""Sums may be reordered for vectorization; infinities and NaN are preserved, so that an overflow is detected."""


def cp_squared(
    indices: AnyArray,
    values: AnyArray,
    weights: AnyArray | None,
    U: AnyArray,
    *,
    offsets: Sequence[int] | None = None,
    zero_weight: float,
    importance: AnyArray | None = None,
    scale: float,
    threads: int,
    spare: list[AnyArray] | None = None,
) -> tuple[float, AnyArray]:
    r"""Compute the squared loss of a CP model over the observed entries, and the gradient of the loss.

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
        raise ValueError(
            f"values and weights must have one element for each of {n} entries; got {len(values)}, {len(weights)}"
        )
    values, weights = frozen(values, U.dtype), frozen(weights, U.dtype)
    z, s, q = U.dtype.type(zero_weight), U.dtype.type(scale), importances(importance, U)

    loop = squared_triples if len(columns) == 3 else squared_fibres

    def work(first: int, last: int, T: AnyArray) -> float:
        return loop(columns, at, values, weights, z, q, s, T, first, last)

    return sum_of_parts(work, n, [U], U, threads=threads, parts=short_parts(n), spare=spare)


def cp_predict(indices: AnyArray, U: AnyArray, *, offsets: Sequence[int] | None = None, threads: int) -> AnyArray:
    """Predict entries of a CP model: shapes (n, order), (rows, R) -> (n,); ``U`` may be a table of rows."""
    T = U if U.ndim == 3 else table(_matrix(U))
    columns, at = checked(indices, offsets, len(T))
    n = columns.shape[1]
    predictions = np.empty(n, U.dtype)
    in_spans(lambda first, last: _predict_fibres(columns, at, T, first, last, predictions), n, threads)
    return predictions


def cp_pullback(
    indices: AnyArray,
    derivatives: AnyArray,
    U: AnyArray,
    *,
    offsets: Sequence[int] | None = None,
    threads: int,
    spare: list[AnyArray] | None = None,
) -> AnyArray:
    r"""Compute the gradient of a loss with respect to the factors from the derivative of each entry's loss.

    .. math:: \sum_e d_e\, \partial m_e / \partial U
    """
    columns, at = checked(indices, offsets, len(_matrix(U)))
    n = columns.shape[1]
    if len(derivatives) != n:
        raise ValueError(f"derivatives must have one element for each of {n} entries; got {len(derivatives)}")
    derivatives = frozen(derivatives, U.dtype)

    def work(first: int, last: int, T: AnyArray) -> float:
        pullback_fibres(columns, at, derivatives, T, first, last)
        return 0.0

    return sum_of_parts(work, n, [U], U, threads=threads, parts=short_parts(n), spare=spare)[1]


def mttkrp(indices: AnyArray, values: AnyArray, factors: Sequence[AnyArray], *, mode: int, threads: int) -> AnyArray:
    r"""Compute the matricized tensor times Khatri-Rao product of a sparse tensor (Bader, Kolda 2007, section 5.2.4).

    .. math:: M_{i r} = \sum_{e:\, e_{\mathrm{mode}} = i} x_e \prod_{d \ne \mathrm{mode}} U^{(d)}_{e_d r}

    Shapes (n, order), (n,) and (length of the mode, R) each -> (length of ``mode``, R). Of the factor of ``mode`` only
    shape and type are used. Fast if entries are sorted, as fibres share work.
    """
    columns, values = _fitting(indices, values, factors, mode)
    others = [u for d, u in enumerate(factors) if d != mode]
    T = table(np.concatenate(others))
    # the other factors are stacked; the offset of ``mode`` is not used
    sizes = [0 if d == mode else len(u) for d, u in enumerate(factors)]
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)

    def work(first: int, last: int, M: AnyArray) -> float:
        if mode == len(factors) - 1:
            _leaf_mode(columns, offsets, values, T, first, last, M)
        else:
            _prefix_mode(columns, offsets, values, T, mode, first, last, M)
        return 0.0

    return sum_of_parts(work, columns.shape[1], [], factors[mode], threads=threads)[1]


def mttkrp_symmetric(
    indices: AnyArray, values: AnyArray, factors: Sequence[AnyArray], *, mode: int, threads: int
) -> AnyArray:
    r"""Compute the matricized tensor times Khatri-Rao product of a symmetric tensor without listing permutations.

    .. math:: M_{i r} = \sum_e x_e \sum_{p \in S_n:\, e_{p(\mathrm{mode})} = i} \prod_{d \ne \mathrm{mode}}
              U^{(d)}_{e_{p(d)} r}

    All :math:`n!` permutations of a tuple count. If it repeats an index they are not distinct: scale its value by
    :meth:`polyadic.core.entries.Entries.multiplicity` over :math:`n!` to count each cell once.
    """
    columns, values = _fitting(indices, values, factors, mode)
    if len({u.shape for u in factors}) > 1:
        raise ValueError(f"the factors of symmetric entries must have the same shape; got {[u.shape for u in factors]}")
    layers = [u for d, u in enumerate(factors) if d != mode]
    loop = _symmetric_triples if len(factors) == 3 else _symmetric_fibres

    def work(first: int, last: int, T: AnyArray) -> float:
        loop(columns, values, T, first, last)
        return 0.0

    return sum_of_parts(work, columns.shape[1], layers, factors[mode], threads=threads)[1]


def _fitting(indices: AnyArray, values: AnyArray, factors: Sequence[AnyArray], mode: int) -> tuple[AnyArray, AnyArray]:
    """Validate indices, values and factors, because kernels do not check bounds; return contiguous arrays."""
    order = len(factors)
    if order < 2:
        raise ValueError(f"factors must contain at least two matrices; got {order}")
    if not 0 <= mode < order:
        raise ValueError(f"mode must be from 0 to {order - 1}; got {mode}")
    if indices.ndim != 2 or indices.shape[1] != order:
        raise ValueError(f"indices must have one column for each of {order} factors; got shape {indices.shape}")
    if len({(u.dtype, u.shape[1:]) for u in factors}) > 1 or factors[0].ndim != 2:
        raise ValueError(
            f"factors must be matrices of the same rank and type; got {[(u.dtype, u.shape) for u in factors]}"
        )
    if values.shape != indices.shape[:1]:
        raise ValueError(f"values must have one element for each of {len(indices)} entries; got shape {values.shape}")
    columns = frozen(indices.T)
    for d, (column, u) in enumerate(zip(columns, factors, strict=True)):
        if column.size and not (column.min() >= 0 and column.max() < len(u)):
            raise ValueError(
                f"indices of mode {d} must be from 0 to {len(u) - 1}; got {column.min()} to {column.max()}"
            )
    return columns, frozen(values, factors[0].dtype)


def _matrix(U: AnyArray) -> AnyArray:
    if U.ndim != 2:
        raise ValueError(f"U must have two dimensions; got shape {U.shape}")
    return U


@njit(cache=True, nogil=True)
def _fibre_end(indices, start, last):
    """Return the index after the last entry of the fibre that begins at entry ``start``."""
    e = start + 1
    while e < last:
        for d in range(indices.shape[0] - 1):
            if indices[d, e] != indices[d, start]:
                return e
        e += 1
    return e


@njit(cache=True, inline="always")
def _prefix_product(indices, offsets, T, e, w):
    """Numba kernel: multiply the factor rows of an entry elementwise in all modes but the last."""
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
    """Numba kernel: add the contribution of a fibre to the gradients of the factor rows in all modes but the last."""
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
    """Numba kernel: add the gradient of the squared loss over a range of entries to ``T``, and return the loss."""
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
    """Numba kernel: faster specialization of ``squared_fibres`` for tensors of order 3."""
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
    """Numba kernel: compute the CP predictions ``sum_r prod_d U[indices[d, e], r]`` of a range of entries."""
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
    """Numba kernel: backpropagate the derivatives of a range of predictions, and add the gradient to ``T``."""
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


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _rest_product(indices, offsets, T, e, mode, w):
    """Numba kernel: multiply the factor rows of an entry elementwise in all modes but ``mode`` and the last."""
    w[:] = 1
    for d in range(indices.shape[0] - 1):
        if d != mode:
            i = offsets[d] + indices[d, e]
            for r in range(len(w)):
                w[r] *= T[i, 0, r]


@njit(cache=True, nogil=True, fastmath=FAST)
def _leaf_mode(indices, offsets, values, T, first, last, M):
    """Numba kernel: add ``x_e prod_(d < order - 1) U[offsets[d] + e_d]`` to the row of ``M`` of each entry's leaf."""
    leaf = indices.shape[0] - 1
    w = np.empty(M.shape[2], T.dtype)
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        _rest_product(indices, offsets, T, start, leaf, w)
        for e in range(start, end):
            k, x = indices[leaf, e], values[e]
            for r in range(len(w)):
                M[k, 0, r] += x * w[r]
        start = end


@njit(cache=True, nogil=True, fastmath=FAST)
def _prefix_mode(indices, offsets, values, T, mode, first, last, M):
    """Numba kernel: add ``x_e prod_(d != mode) U[offsets[d] + e_d]`` to the row of ``M`` of each entry's ``mode``."""
    leaf = indices.shape[0] - 1
    w, s = np.empty(M.shape[2], T.dtype), np.empty(M.shape[2], T.dtype)
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        _rest_product(indices, offsets, T, start, mode, w)
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
    """Numba kernel: sum the products of factor rows over all assignments of an entry's indices to factors.

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
    """Numba kernel: compute the MTTKRP of symmetric entries over all permutations of their indices.

    Adds ``x_e prod_c T[e_p(c), c]`` to ``T[e_p(last), last]``, for all ``order!`` permutations ``p`` of an entry. ``T``
    is (V, order, R): the factors of the other modes and the result.
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
    """Numba kernel: specialization of ``_symmetric_fibres`` for tensors of order 3.

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
