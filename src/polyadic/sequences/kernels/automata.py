"""Numba kernels for weighted automata and transducers: states along strings, alignments, and transition counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.kernels.common import frozen

if TYPE_CHECKING:
    from polyadic.sequences.symbols import Coded

MIN_PROBABILITY = 1e-300  # probability assigned to impossible strings


def automaton_values(symbols: AnyArray, edges: AnyArray, *, start: Array, stop: Array, A: Array) -> tuple[Array, Array]:
    r"""Return string weights :math:`\alpha_0 A_{x_1} \cdots A_{x_n} \alpha_\infty` as ``values * exp(logs)``."""
    symbols, edges, A = _checked(symbols, edges, start, A)
    if stop.shape != start.shape:
        raise ValueError(f"start and stop must have the same length; got {len(start)} and {len(stop)}")
    values, logs = np.empty(len(edges) - 1), np.empty(len(edges) - 1)
    _automaton_values(symbols, edges, frozen(start, float), frozen(stop, float), A, values, logs)
    return values, logs


def follow_automaton(
    symbols: AnyArray, edges: AnyArray, *, start: Array, A: Array, total: Array, again: Array, floor: float
) -> Array:
    """Return the normalized state before each symbol and end; states of a mass up to ``floor`` become ``again``."""
    symbols, edges, A = _checked(symbols, edges, start, A)
    if again.shape != A.shape[:2] or total.shape != start.shape:
        about = f"{A.shape[:2]} and {start.shape}; got {again.shape} and {total.shape}"
        raise ValueError(f"the arrays again and total must have shapes {about}")
    states = np.empty((len(symbols) + len(edges) - 1, len(start)))
    first = (frozen(array, float) for array in (total, again))
    _follow_automaton(symbols, edges, frozen(start, float), A, *first, floor, states)
    return states


class Transitions(NamedTuple):
    """Sparse transitions of an automaton, sorted by symbol and source state."""

    bounds: Ints  # those of symbol a from state i are between bounds[a, i] and bounds[a, i + 1]
    to: Ints
    weights: Array


def listed_transitions(A: Array, *, above: float = 0.0) -> Transitions:
    """Convert transition matrices of shape (k, r, r) to sparse transitions with weights above a bound."""
    k, r, _ = A.shape
    a, i, j = np.nonzero(above < A)
    ends = np.cumsum(np.bincount(a * r + i, minlength=k * r)).reshape(k, r)
    begins = np.concatenate([[0], ends[:-1, -1]])
    return Transitions(np.column_stack([begins, ends]).astype(np.int64), j.astype(np.int64), A[a, i, j])


def transition_counts(
    parent: Ints, last: Ints, passing: Ints, *, ending: Ints, start: Array, stop: Array, transitions: Transitions
) -> tuple[float, Array, Array, Array]:
    """Return the log-likelihood of strings, and the expected counts of transitions, ends and starts.

    ``passing`` and ``ending`` count the strings that pass through a node of a tree of prefixes, and end there.
    """
    k, r = len(transitions.bounds), len(start)
    if transitions.bounds.shape != (k, r + 1) or stop.shape != (r,):
        raise ValueError(f"start, stop and transitions must have the same number of states; got {r} and {len(stop)}")
    inner = parent[1:]
    if len(inner) and not (inner.min() >= 0 and (inner < np.arange(1, len(parent))).all()):
        raise ValueError("each parent must come before its child nodes")
    if len(inner) and not 0 <= last[1:].min() <= last[1:].max() < k:
        raise ValueError(f"symbols must be below {k}; got {last[1:].min()} to {last[1:].max()}")
    taken, stopped, began = np.zeros(len(transitions.to)), np.zeros(r), np.zeros(r)
    whole = (frozen(array, np.int64) for array in (parent, last))
    real = (frozen(array, float) for array in (passing, ending, start, stop))
    lists = (frozen(transitions.bounds), frozen(transitions.to), frozen(transitions.weights))
    fit = _transition_counts(*whole, *real, *lists, MIN_PROBABILITY, taken, stopped, began)
    return float(fit), taken, stopped, began


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


def _checked(symbols: AnyArray, edges: AnyArray, start: Array, A: Array) -> tuple[Any, Any, Any]:
    """Validate strings and transition matrices and convert them to the types of the kernels."""
    r = len(start)
    if A.ndim != 3 or A.shape[1:] != (r, r):
        raise ValueError(f"A must have shape (symbols, {r}, {r}); got {A.shape}")
    edges = frozen(edges, np.int64)
    if edges[0] != 0 or edges[-1] != len(symbols) or (np.diff(edges) < 0).any():
        raise ValueError(f"edges must increase from 0 to {len(symbols)}")
    if len(symbols) and not 0 <= symbols.min() <= symbols.max() < len(A):
        raise ValueError(f"symbols must be below {len(A)}; got {symbols.min()} to {symbols.max()}")
    return frozen(symbols, np.int64), edges, frozen(A, float)


@njit(cache=True, nogil=True)
def _automaton_values(symbols, edges, start, stop, A, values, logs):
    """Write the weight of each string as ``values * exp(logs)``, normalizing the state at each step."""
    size = len(start)
    now, then = np.empty(size), np.empty(size)
    for s in range(len(edges) - 1):
        now[:] = start
        logs[s] = 0.0
        for i in range(edges[s], edges[s + 1] + 1):
            largest = 0.0
            for j in range(size):
                largest = max(largest, abs(now[j]))
            if largest == 0.0:
                break
            logs[s] += np.log(largest)
            now /= largest
            if i == edges[s + 1]:
                break
            then[:] = 0.0
            for j in range(size):
                x = now[j]
                if x != 0.0:
                    for t in range(size):
                        then[t] += x * A[symbols[i], j, t]
            now, then = then, now
        values[s] = 0.0
        for j in range(size):
            values[s] += now[j] * stop[j]


@njit(cache=True, nogil=True)
def _follow_automaton(symbols, edges, start, A, total, again, floor, states):
    """Compute the states; the total weight of all continuations of a normalized state is 1."""
    size = len(start)
    row = 0
    for s in range(len(edges) - 1):
        states[row] = start
        for i in range(edges[s], edges[s + 1]):
            a = symbols[i]
            row += 1
            states[row] = 0.0
            for j in range(size):
                x = states[row - 1, j]
                if x != 0.0:
                    for t in range(size):
                        states[row, t] += x * A[a, j, t]
            mass = 0.0
            for t in range(size):
                mass += states[row, t] * total[t]
            if mass > floor:
                for t in range(size):
                    states[row, t] /= mass
            else:
                states[row] = again[a]
        row += 1


@njit(cache=True, nogil=True)
def _transition_counts(parent, last, passing, ending, start, stop, bounds, to, weights, floor, taken, stopped, began):
    """Add the expected transition counts for strings in a prefix tree and return the log-likelihood."""
    nodes, size = len(parent), len(start)
    ahead = np.empty((nodes, size))
    mass = np.empty(nodes)
    back = np.zeros((nodes, size))
    ahead[0] = start
    fit = 0.0
    for v in range(nodes):
        if v > 0:
            a, before = last[v], ahead[parent[v]]
            ahead[v] = 0.0
            for i in range(size):
                if before[i] != 0.0:
                    for e in range(bounds[a, i], bounds[a, i + 1]):
                        ahead[v, to[e]] += before[i] * weights[e]
            total = 0.0
            for i in range(size):
                total += ahead[v, i]
            mass[v] = max(total, floor)
            fit += passing[v] * np.log(mass[v])
            if total > floor:
                for i in range(size):
                    ahead[v, i] /= total
            else:
                ahead[v] = 0.0
        if ending[v] > 0:
            total = 0.0
            for i in range(size):
                total += ahead[v, i] * stop[i]
            fit += ending[v] * np.log(max(total, floor))
            if total > floor:
                for i in range(size):
                    share = ending[v] * stop[i] / total
                    back[v, i] = share
                    stopped[i] += share * ahead[v, i]
    for v in range(nodes - 1, 0, -1):
        a, p = last[v], parent[v]
        for i in range(size):
            x = ahead[p, i]
            if x != 0.0:
                for e in range(bounds[a, i], bounds[a, i + 1]):
                    share = weights[e] * back[v, to[e]] / mass[v]
                    back[p, i] += share
                    taken[e] += x * share
    began += start * back[0]
    return fit


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
