"""Numba kernels of factorization machines: ANOVA scores, gradients and coordinate descent.

Column ``f`` of ``V`` has an order ``d``. For a row with values ``x`` it contributes the elementary symmetric polynomial
``e_d`` of ``z_j = V[j, f] x_j``, the sum over all sets of d features of the products. Columns are sorted by ``d``;
those of order t start at ``first[t]``, and ``first[-1]`` is their number. All gradients follow from the recursion
without feature j,

    e_t(without j) = e_t - z_j e_{t-1}(without j)
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Array, Floats, Ints, Ints32
from polyadic.core.kernels.common import frozen, in_threads

FAST = {"reassoc", "contract", "nsz", "arcp"}  # see ``cp.py``: sums may be reordered; infinities and NaN are preserved
MIN_PARALLEL_SIZE = 1 << 18  # minimum number of feature values for which threads are worth their overhead


class FeatureTable:
    """Feature vectors in CSR and CSC format, validated once for the numba kernels."""

    def __init__(self, X: Any) -> None:
        if X.format != "csr" or not X.has_canonical_format:
            raise ValueError("X must be a CSR array in canonical format")
        if max(X.shape) > np.iinfo(np.int32).max:
            raise ValueError(f"the numbers of rows and features must be below 2^31; got {X.shape}")
        self.shape: tuple[int, int] = X.shape
        self._X = X
        self.rows = frozen(X.indptr, np.int64), frozen(X.indices, np.int32), frozen(X.data, np.float64)

    @cached_property
    def features(self) -> tuple[Ints, Ints32, Array]:
        """CSC arrays: column pointers, row indices and values."""
        turned = self._X.tocsc()
        return frozen(turned.indptr, np.int64), frozen(turned.indices, np.int32), frozen(turned.data, np.float64)

    @cached_property
    def single(self) -> tuple[Floats, Floats]:
        """Values in CSR order and in CSC order, in single precision."""
        return frozen(self.rows[2], np.float32), frozen(self.features[2], np.float32)

    @cached_property
    def counts(self) -> Ints:
        """Number of rows in which each feature occurs."""
        return np.bincount(self.rows[1], minlength=self.shape[1])

    @cached_property
    def sizes(self) -> Array:
        """Root mean square of the stored values of each feature, or 0 for features without values."""
        squares = np.bincount(self.rows[1], self.rows[2] ** 2, self.shape[1])
        return np.asarray(np.sqrt(squares / np.maximum(self.counts, 1)))

    def times(self, rows: AnyArray) -> Ints:
        """Count how often each feature occurs in the given rows, which may repeat."""
        often = np.bincount(_inside(rows, self.shape[0]), minlength=self.shape[0])
        listed = np.repeat(often, np.diff(self.rows[0]))
        return np.bincount(self.rows[1], listed, minlength=self.shape[1]).astype(np.int64)

    @cached_property
    def runs(self) -> list[tuple[int, int]]:
        """Runs of consecutive features that never share a row (one-hot features) and can be updated in parallel."""
        starts, columns, _ = self.rows
        before = np.full(self.shape[1], -1)
        inner = np.ones(len(columns), bool)
        inner[starts[:-1][np.diff(starts) > 0]] = False
        places = np.flatnonzero(inner)
        np.maximum.at(before, columns[places], columns[places - 1])
        ends = [0]
        for j, other in enumerate(before.tolist()):
            if other >= ends[-1]:
                ends.append(j)
        return [*zip(ends, [*ends[1:], self.shape[1]], strict=True)]

    def parts(self, threads: int) -> list[list[Ints]]:
        """Split the features into sequential steps of parts to update in parallel; small runs share a step."""
        starts = self.features[0]
        steps: list[list[Ints]] = []
        waiting = 0
        for low, high in self.runs if threads > 1 else []:
            size = starts[high] - starts[low]
            if size < MIN_PARALLEL_SIZE:
                continue
            cuts = low + np.searchsorted(starts[low : high + 1], starts[low] + size * np.arange(1, threads) / threads)
            bounds = np.unique([low, *cuts.tolist(), high]).tolist()
            steps.append([np.arange(waiting, low)])
            steps.append([np.arange(a, b) for a, b in pairwise(bounds)])
            waiting = high
        steps.append([np.arange(waiting, self.shape[1])])
        return [parts for step in steps if (parts := [part for part in step if len(part)])]


def anova_scores(table: FeatureTable, V: Array, *, orders: Ints, rows: Ints | None = None, threads: int = 1) -> Array:
    r"""Return the ANOVA kernel score of each row, :math:`\sum_f e_{d_f}(v_{1f} x_1, v_{2f} x_2, \ldots)`.

    V has shape (features, K); ``orders``, :math:`d_f` of shape (K,), must not decrease.
    """
    first = _checked(table, V, orders)
    wanted = np.arange(table.shape[0]) if rows is None else _inside(rows, table.shape[0])
    out = np.zeros(len(wanted))
    arrays = *table.rows, frozen(wanted, np.int64), first, frozen(V, np.float64)
    if threads == 1 or len(table.rows[1]) * V.shape[1] < MIN_PARALLEL_SIZE:
        _anova_scores(*arrays, out)
        return out
    bounds = np.linspace(0, len(wanted), threads + 1).astype(int).tolist()

    def work(k: int) -> None:
        low, high = bounds[k], bounds[k + 1]
        _anova_scores(*arrays[:3], arrays[3][low:high], *arrays[4:], out[low:high])

    in_threads(work, threads, threads)
    return out


class GradientBuffer:
    """Buffer for the gradients of a mini-batch and the squared gradients accumulated by Adagrad."""

    def __init__(self, shape: tuple[int, ...], *, squares: Array | None = None) -> None:
        self.squares = np.zeros(shape) if squares is None else np.array(squares, float)
        self._G, self._seen, self._touched = np.zeros(shape), np.zeros(shape[0], np.int64), np.zeros(shape[0], np.int64)

    def pull(self, table: FeatureTable, V: Array, *, orders: AnyArray, rows: AnyArray, slopes: Array) -> None:
        """Compute the gradient of the weighted sum of scores, ``slopes @ anova_scores(rows)``, for the next step."""
        first = _checked(table, V, orders)
        wanted = frozen(_inside(rows, table.shape[0]), np.int64)
        if slopes.shape != wanted.shape or V.shape != self._G.shape:
            about = f"slopes must have one element per row, and V shape {self._G.shape}"
            raise ValueError(f"{about}; got {slopes.shape}, {V.shape}")
        slopes = frozen(slopes, np.float64)
        work = *table.rows, wanted, slopes, first, frozen(V, np.float64), self._G, self._seen, self._touched
        self._found = _anova_pull(*work)

    def sgd(self, V: Array, *, shares: Array, ridges: Array, step: float) -> None:
        r"""Update the parameters of features in :math:`n_j > 0` rows of the batch in place by an SGD step.

        The new value is :math:`(v_{jf} - \eta g_{jf} / n_j) / (1 + \eta s_j \lambda_f)` with the ``shares`` s,
        ``ridges`` :math:`\lambda` and ``step`` :math:`\eta`, so that no penalty reverses a sign.
        """
        _sgd_features(*self._work(V, shares, ridges), float(step), V, self._G)

    def adagrad(self, V: Array, *, shares: Array, ridges: Array, step: float, eps: float) -> None:
        r"""Update the parameters of features in :math:`n_j > 0` rows of the batch in place by an Adagrad step.

        It is :math:`-\eta g / (\epsilon + \sqrt h)` with :math:`g = g_{jf} + n_j s_j \lambda_f v_{jf}`; first,
        :math:`g^2` is added to :math:`h`.
        """
        work = self._work(V, shares, ridges)
        _adagrad_features(*work, float(step), float(eps), V, self._G, self.squares)

    def _work(self, V: Array, shares: Array, ridges: Array) -> tuple[AnyArray, ...]:
        if V.shape != self._G.shape or V.dtype != np.float64 or not V.flags.c_contiguous:
            raise ValueError(f"V must be contiguous float64 of shape {self._G.shape}; got {V.dtype} of shape {V.shape}")
        if shares.shape != V.shape[:1] or ridges.shape != V.shape[1:]:
            about = "shares must have an element per feature, ridges per column"
            raise ValueError(f"{about}; got {shares.shape}, {ridges.shape}")
        return self._touched[: self._found], self._seen, frozen(shares, np.float64), frozen(ridges, np.float64)


def anova_sweep(
    table: FeatureTable,
    v: Array,
    C: AnyArray,
    *,
    ridge: Array,
    pull: Array | None = None,
    noise: Array | None = None,
    precision: float = 1.0,
    weights: Array | None = None,
    reuse_terms: bool = False,
    threads: int = 1,
) -> None:
    r"""Update each parameter :math:`v_j` of one column in turn, by exact minimisation or by Gibbs sampling.

    .. math:: v_j \leftarrow \frac{\alpha \sum_i w_i h_{ij} (e_i + h_{ij} v_j) + p_j}{\alpha \sum_i w_i h_{ij}^2 +
              \lambda_j} + \frac{z_j}{\sqrt{\alpha \sum_i w_i h_{ij}^2 + \lambda_j}}

    with the derivative :math:`h_{ij}` of the score of row i; see Rendle (2012), eq. 13 and 31. ``ridge``, ``pull`` and
    ``noise`` are :math:`\lambda`, :math:`p` and :math:`z`, ``precision`` :math:`\alpha`. C has shape (rows, order of
    the column), float32 or float64: ``C[:, 0]`` are the residuals :math:`e`; the others are polynomials of the column,
    computed first unless ``reuse_terms``. v, float64, and C are updated.
    """
    rows, size = table.shape
    single = C.dtype == np.float32
    for A, shape, kind in ((v, (size,), np.float64), (C, (rows, C.shape[-1]), C.dtype if single else np.float64)):
        if A.shape != shape or A.dtype != kind or not A.flags.c_contiguous or not C.shape[-1]:
            raise ValueError(f"v and C must be contiguous {np.dtype(kind)} of shape {shape}; got {A.dtype}, {A.shape}")
    by_row, by_feature = table.single if single else (table.rows[2], table.features[2])
    zeros = np.zeros(size)
    own = [frozen(zeros if x is None else x, np.float64) for x in (ridge, pull, noise)]
    w = frozen(np.zeros(0) if weights is None else weights, np.float64)
    if any(x.shape != (size,) for x in own) or w.shape not in {(0,), (rows,)}:
        raise ValueError(f"ridge, pull and noise must each have {size} elements, and weights {rows} or be None")
    if C.shape[1] > 1 and not reuse_terms:
        _anova_terms(*table.rows[:2], by_row, v, C)
    features = *table.features[:2], by_feature
    for parts in table.parts(threads):

        def work(k: int, parts: list[Ints] = parts) -> None:
            _anova_sweep(*features, frozen(parts[k]), float(precision), w, *own, v, C)

        in_threads(work, len(parts), threads)


def _checked(table: FeatureTable, V: Array, orders: AnyArray) -> Ints:
    """Validate the parameter matrix, and return the index of the first column of each interaction order."""
    if V.shape != (table.shape[1], len(orders)):
        raise ValueError(f"V must have shape ({table.shape[1]}, {len(orders)}); got {V.shape}")
    return _first(tuple(orders.tolist()))


@lru_cache(maxsize=64)
def _first(orders: tuple[int, ...]) -> Ints:
    d = np.array(orders, np.int64)
    if d.min(initial=1) < 1 or (np.diff(d) < 0).any():
        raise ValueError(f"orders must be at least 1 and non-decreasing; got {orders}")
    return frozen(np.searchsorted(d, np.arange(d.max(initial=1) + 2)), np.int64)


def _inside(rows: AnyArray, size: int) -> AnyArray:
    if len(rows) and not 0 <= rows.min() <= rows.max() < size:
        raise ValueError(f"rows must contain indices from 0 to {size - 1}; got {rows.min()} to {rows.max()}")
    return rows


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _symmetric(columns, values, low, high, first, V, A):
    """Numba kernel: store the elementary symmetric polynomials of a row for all parameter columns in ``A``."""
    order, K = len(first) - 2, V.shape[1]
    A[0] = 1
    A[1:] = 0
    for p in range(low, high):
        j, x = columns[p], values[p]
        for t in range(order, 0, -1):
            for f in range(first[t], K):
                A[t, f] += A[t - 1, f] * (V[j, f] * x)


@njit(cache=True, nogil=True, fastmath=FAST)
def _anova_scores(starts, columns, values, rows, first, V, out):
    """Numba kernel: add the ANOVA kernel score of each given row to ``out``."""
    order = len(first) - 2
    A = np.empty((order + 1, V.shape[1]))
    for k in range(len(rows)):
        i = rows[k]
        _symmetric(columns, values, starts[i], starts[i + 1], first, V, A)
        total = 0.0
        for t in range(1, order + 1):
            for f in range(first[t], first[t + 1]):
                total += A[t, f]
        out[k] += total


@njit(cache=True, nogil=True, fastmath=FAST)
def _anova_pull(starts, columns, values, rows, slopes, first, V, G, seen, touched):
    """Numba kernel: add the gradient of the weighted scores to ``G``.

    ``touched`` lists the features of the rows, and ``seen`` counts the rows of each.
    """
    order, K = len(first) - 2, V.shape[1]
    A = np.empty((order + 1, K))
    B = np.empty(K)
    count = 0
    for k in range(len(rows)):
        i, g = rows[k], slopes[k]
        _symmetric(columns, values, starts[i], starts[i + 1], first, V, A)
        for p in range(starts[i], starts[i + 1]):
            j, x = columns[p], values[p]
            if seen[j] == 0:
                touched[count] = j
                count += 1
            seen[j] += 1
            B[:] = 1
            for t in range(1, order):
                for f in range(first[t + 1], K):
                    B[f] = A[t, f] - V[j, f] * x * B[f]
            for f in range(K):
                G[j, f] += g * x * B[f]
    return count


@njit(cache=True, nogil=True, fastmath=FAST)
def _sgd_features(touched, seen, shares, ridges, step, V, G):
    """Numba kernel: take an SGD step with L2 shrinkage for the features of a batch, and reset the gradients."""
    for k in range(len(touched)):
        j = touched[k]
        each = 1.0 / seen[j]
        seen[j] = 0
        for f in range(V.shape[1]):
            V[j, f] = (V[j, f] - step * each * G[j, f]) / (1 + step * shares[j] * ridges[f])
            G[j, f] = 0


@njit(cache=True, nogil=True, fastmath=FAST)
def _adagrad_features(touched, seen, shares, ridges, step, eps, V, G, H):
    """Numba kernel: take an Adagrad step for the features of a batch, and reset the gradients."""
    for k in range(len(touched)):
        j = touched[k]
        share = shares[j] * seen[j]
        seen[j] = 0
        for f in range(V.shape[1]):
            g = G[j, f] + share * ridges[f] * V[j, f]
            G[j, f] = 0
            H[j, f] += g * g
            V[j, f] -= step * g / (np.sqrt(H[j, f]) + eps)


@njit(cache=True, nogil=True, fastmath=FAST)
def _anova_terms(starts, columns, values, v, C):
    """Numba kernel: store the elementary symmetric polynomials of each row for one parameter column in ``C``."""
    order = C.shape[1]
    for i in range(len(C)):
        if order == 2:  # in a register: twice as fast
            total = 0.0
            for p in range(starts[i], starts[i + 1]):
                total += v[columns[p]] * values[p]
            C[i, 1] = total
            continue
        C[i, 1:] = 0
        for p in range(starts[i], starts[i + 1]):
            z = v[columns[p]] * values[p]
            for t in range(order - 1, 1, -1):
                C[i, t] += C[i, t - 1] * z
            if order > 1:
                C[i, 1] += z


@njit(cache=True, nogil=True, fastmath=FAST)
def _anova_sweep(starts, rows, values, features, precision, weights, ridge, pull, noise, v, C):
    """Numba kernel of :func:`anova_sweep`, with slopes ``h = x_j e_{d-1}(without j)``; empty ``weights`` are ones."""
    d = C.shape[1]
    h = np.empty(max([starts[j + 1] - starts[j] for j in features]) if d > 2 else 0, C.dtype)
    for j in features:
        low, high, before = starts[j], starts[j + 1], C.dtype.type(v[j])
        S, R = 0.0, 0.0
        if d == 1:
            for p in range(low, high):
                i, x = rows[p], values[p]
                w = weights[i] * x if len(weights) else x
                S += w * x
                R += w * C[i, 0]
        elif d == 2:  # the most common case: unrolled, it takes half as long
            for p in range(low, high):
                i, x = rows[p], values[p]
                b = (C[i, 1] - before * x) * x
                w = weights[i] * b if len(weights) else b
                S += w * b
                R += w * C[i, 0]
        else:
            for p in range(low, high):
                i, x = rows[p], values[p]
                b = C.dtype.type(1)
                for t in range(1, d):
                    b = C[i, t] - before * x * b
                b *= x
                h[p - low] = b
                w = weights[i] * b if len(weights) else b
                S += w * b
                R += w * C[i, 0]
        total = precision * S + ridge[j]
        if total <= 0:
            continue
        after = (precision * (R + S * v[j]) + pull[j]) / total + noise[j] / np.sqrt(total)
        moved = C.dtype.type(after - v[j])
        v[j] = after
        if d == 1:
            for p in range(low, high):
                C[rows[p], 0] -= moved * values[p]
        elif d == 2:
            for p in range(low, high):
                i, x = rows[p], values[p]
                C[i, 0] -= moved * ((C[i, 1] - before * x) * x)
                C[i, 1] += moved * x
        else:
            for p in range(low, high):
                i, x = rows[p], values[p]
                C[i, 0] -= moved * h[p - low]
                b = C.dtype.type(1)
                for t in range(1, d):
                    without = C[i, t] - before * x * b
                    C[i, t] += moved * x * b
                    b = without
