"""Numba kernels for weighted automata: states along strings, and expected counts of transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from polyadic.core.kernels.common import frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

MIN_PROBABILITY = 1e-300  # probability assigned to impossible strings


def automaton_values(
    symbols: NDArray[Any], edges: NDArray[Any], *, start: Array, stop: Array, A: Array
) -> tuple[Array, Array]:
    r"""Return string weights :math:`\alpha_0 A_{x_1} \cdots A_{x_n} \alpha_\infty` as ``values * exp(logs)``."""
    symbols, edges, A = _checked(symbols, edges, start, A)
    if stop.shape != start.shape:
        raise ValueError(f"start and stop must have the same length; got {len(start)} and {len(stop)}")
    values, logs = np.empty(len(edges) - 1), np.empty(len(edges) - 1)
    _automaton_values(symbols, edges, frozen(start, float), frozen(stop, float), A, values, logs)
    return values, logs


def follow_automaton(
    symbols: NDArray[Any], edges: NDArray[Any], *, start: Array, A: Array, total: Array, again: Array, floor: float
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

    bounds: NDArray[np.int64]  # those of symbol a from state i are between bounds[a, i] and bounds[a, i + 1]
    to: NDArray[np.int64]
    weights: Array


def listed_transitions(A: Array, *, above: float = 0.0) -> Transitions:
    """Convert transition matrices of shape (k, r, r) to sparse transitions with weights above a bound."""
    k, r, _ = A.shape
    a, i, j = np.nonzero(above < A)
    ends = np.cumsum(np.bincount(a * r + i, minlength=k * r)).reshape(k, r)
    begins = np.concatenate([[0], ends[:-1, -1]])
    return Transitions(np.column_stack([begins, ends]).astype(np.int64), j.astype(np.int64), A[a, i, j])


def transition_counts(
    parent: NDArray[Any],
    last: NDArray[Any],
    passing: NDArray[Any],
    *,
    ending: NDArray[Any],
    start: Array,
    stop: Array,
    transitions: Transitions,
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


def _checked(symbols: NDArray[Any], edges: NDArray[Any], start: Array, A: Array) -> tuple[Any, Any, Any]:
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
