"""Numba kernels for weighted transducers: sums over the alignments of two strings, and expected transition counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from polyadic.core.kernels.common import frozen

if TYPE_CHECKING:
    from polyadic.core.annotations import AnyArray, Array
    from polyadic.sequences.symbols import Coded


def pair_values(x: Coded, y: Coded, ids: AnyArray, *, start: Array, A: Array, stop: Array) -> tuple[Array, Array]:
    """Return the weight of each pair of strings, summed over alignments, as ``values * exp(logs)``."""
    values, logs, *_ = _summed(x, y, ids, start, A, stop, count=False)
    return values, logs


def pair_counts(
    x: Coded, y: Coded, ids: AnyArray, *, start: Array, A: Array, stop: Array
) -> tuple[float, Array, Array, Array]:
    """Return the log-likelihood of possible pairs, and the counts of transitions, of final and of initial states."""
    values, logs, *counts = _summed(x, y, ids, start, A, stop, count=True)
    seen = values > 0
    return float((np.log(values[seen]) + logs[seen]).sum()), counts[0], counts[1], counts[2]


def _summed(x: Coded, y: Coded, ids: AnyArray, *weights: Array, count: bool) -> tuple[Array, ...]:
    start, A, stop = (frozen(part, float) for part in weights)
    r, k = len(start), len(A)
    if len(x.edges) != len(y.edges):
        raise ValueError(f"each input must have an output; got {len(x.edges) - 1} and {len(y.edges) - 1}")
    for symbols, limit in ((x.symbols, ids.shape[0]), (y.symbols, ids.shape[1]), (ids.ravel(), k)):
        if len(symbols) and not -1 <= symbols.min() <= symbols.max() < limit:
            raise ValueError(f"symbols must be below {limit}; got {symbols.min()} to {symbols.max()}")
    if A.shape[1:] != (r, r) or stop.shape != (r,):
        raise ValueError(f"A and stop must have shapes (symbols, {r}, {r}) and ({r},); got {A.shape} and {stop.shape}")
    values, logs = np.empty(len(x.edges) - 1), np.empty(len(x.edges) - 1)
    counts = np.zeros(A.shape if count else (0, r, r)), np.zeros(r), np.zeros(r)
    strings = (frozen(part, np.int64) for part in (*x, *y, ids))
    _sum_alignments(*strings, start, A, stop, values, logs, *counts)
    return values, logs, *counts


@njit(cache=True, nogil=True)
def _sum_alignments(x, x_edges, y, y_edges, ids, start, A, stop, values, logs, taken, stopped, began):
    """Sum over alignments by rows of the input, scaling each row; count transitions if ``taken`` has any."""
    r, gap_in, gap_out = len(start), ids.shape[0] - 1, ids.shape[1] - 1
    for p in range(len(x_edges) - 1):
        s, t = x[x_edges[p] : x_edges[p + 1]], y[y_edges[p] : y_edges[p + 1]]
        n, m = len(s), len(t)
        ahead, scale = np.zeros((n + 1, m + 1, r)), np.ones(n + 1)
        ahead[0, 0] = start
        logs[p] = 0.0
        for i in range(n + 1):
            largest = 0.0
            for j in range(m + 1):
                for step in range(3):  # read and write a symbol, read one, or write one
                    u, v = i - (step < 2), j - (step != 1)
                    if u < 0 or v < 0:
                        continue
                    z = ids[s[u] if step < 2 else gap_in, t[v] if step != 1 else gap_out]
                    if z >= 0:
                        for a in range(r):
                            w = ahead[u, v, a]
                            if w != 0.0:
                                for b in range(r):
                                    ahead[i, j, b] += w * A[z, a, b]
                largest = max(largest, np.abs(ahead[i, j]).max())
            if largest > 0.0:
                scale[i] = largest
                ahead[i] /= largest
                logs[p] += np.log(largest)
        values[p] = (ahead[n, m] * stop).sum()
        if len(taken) == 0 or values[p] <= 0.0:
            continue
        back = np.zeros((n + 1, m + 1, r))
        back[n, m] = stop / values[p]
        stopped += ahead[n, m] * back[n, m]
        for i in range(n, -1, -1):
            for j in range(m, -1, -1):
                for step in range(3):
                    u, v = i + (step < 2), j + (step != 1)
                    if u > n or v > m:
                        continue
                    z = ids[s[i] if step < 2 else gap_in, t[j] if step != 1 else gap_out]
                    if z >= 0:
                        unit = scale[u] if step < 2 else 1.0
                        for a in range(r):
                            w, total = ahead[i, j, a], 0.0
                            for b in range(r):
                                passed = A[z, a, b] * back[u, v, b] / unit
                                total += passed
                                taken[z, a, b] += w * passed
                            back[i, j, a] += total
        began += start * back[0, 0] / scale[0]
