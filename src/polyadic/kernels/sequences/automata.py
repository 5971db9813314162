"""Doors to the loops of weighted automata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops.sequences import automata

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEAST = 1e-300
"""Probability of what an automaton cannot make."""


def automaton_values(
    symbols: NDArray[Any], edges: NDArray[Any], *, start: Array, stop: Array, A: Array
) -> tuple[Array, Array]:
    r"""Give the weights of strings, :math:`\alpha_0 A_{x_1} \cdots A_{x_n} \alpha_\infty`, as numbers and logs.

    Parameters
    ----------
    symbols, edges : ndarray of int of shape (N,) and (strings + 1,)
        Strings one after another, and where each begins and ends.
    start, stop : ndarray of shape (r,)
    A : ndarray of shape (k, r, r)

    Returns
    -------
    values, logs : ndarray of shape (strings,)
        The weight is ``values * exp(logs)``; the logs are those of the length of the last states.
    """
    symbols, edges, A = _checked(symbols, edges, start, A)
    if stop.shape != start.shape:
        raise ValueError(f"start and stop must be as long; got {len(start)} and {len(stop)}")
    values, logs = np.empty(len(edges) - 1), np.empty(len(edges) - 1)
    automata.automaton_values(symbols, edges, frozen(start, float), frozen(stop, float), A, values, logs)
    return values, logs


def follow_automaton(
    symbols: NDArray[Any],
    edges: NDArray[Any],
    *,
    start: Array,
    A: Array,
    total: Array,
    again: Array,
    floor: float,
) -> Array:
    """Give the states of an automaton along strings, each of mass 1.

    Parameters
    ----------
    symbols, edges, start, A
        As of :func:`automaton_values`; the start has mass 1.
    total : ndarray of shape (r,)
        Mass of all that may come, from each state.
    again : ndarray of shape (k, r)
        Where to go on after a symbol of no mass.
    floor : float
        The mass that counts as none.

    Returns
    -------
    ndarray of shape (N + strings, r)
        Before each symbol, and before the end of each string.
    """
    symbols, edges, A = _checked(symbols, edges, start, A)
    if again.shape != A.shape[:2] or total.shape != start.shape:
        raise ValueError(f"again and total must fit {A.shape[:2]}; got shapes {again.shape} and {total.shape}")
    states = np.empty((len(symbols) + len(edges) - 1, len(start)))
    first = (frozen(array, float) for array in (total, again))
    automata.follow_automaton(symbols, edges, frozen(start, float), A, *first, floor, states)
    return states


class Transitions(NamedTuple):
    """Transitions listed by symbol and state.

    Attributes
    ----------
    bounds : ndarray of int64 of shape (k, r + 1)
        Those of a symbol from a state stand between two bounds.
    to : ndarray of int64 of shape (n,)
    weights : ndarray of shape (n,)
    """

    bounds: NDArray[np.int64]
    to: NDArray[np.int64]
    weights: Array


def listed_transitions(A: Array, *, above: float = 0.0) -> Transitions:
    """List the weights of matrices of shape (k, r, r) that are above a bound."""
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
    """Give the log-likelihood of strings, and how often transitions, ends and starts are expected in them.

    Parameters
    ----------
    parent, last : ndarray of int of shape (n,)
        A tree of prefixes: the node without the last symbol, which comes earlier, and that symbol. Node 0 is the root.
    passing, ending : ndarray of shape (n,)
        How many strings go through each, and end there.
    start, stop : ndarray of shape (r,)
        Not negative, as the transitions.
    transitions : Transitions

    Returns
    -------
    float
    taken : ndarray of shape (transitions,)
    stopped, began : ndarray of shape (r,)
    """
    k, r = len(transitions.bounds), len(start)
    if transitions.bounds.shape != (k, r + 1) or stop.shape != (r,):
        raise ValueError(f"start, stop and transitions must be of as many states; got {r} and {len(stop)}")
    inner = parent[1:]
    if len(inner) and not (inner.min() >= 0 and (inner < np.arange(1, len(parent))).all()):
        raise ValueError("parents must come before their nodes")
    if len(inner) and not 0 <= last[1:].min() <= last[1:].max() < k:
        raise ValueError(f"symbols must be below {k}; got {last[1:].min()} to {last[1:].max()}")
    taken, stopped, began = np.zeros(len(transitions.to)), np.zeros(r), np.zeros(r)
    whole = (frozen(array, np.int64) for array in (parent, last))
    real = (frozen(array, float) for array in (passing, ending, start, stop))
    lists = (frozen(transitions.bounds), frozen(transitions.to), frozen(transitions.weights))
    fit = automata.transition_counts(*whole, *real, *lists, LEAST, taken, stopped, began)
    return float(fit), taken, stopped, began


def _checked(symbols: NDArray[Any], edges: NDArray[Any], start: Array, A: Array) -> tuple[Any, Any, Any]:
    """Refuse shapes that do not fit and symbols that are none."""
    r = len(start)
    if A.ndim != 3 or A.shape[1:] != (r, r):
        raise ValueError(f"A must be of shape (symbols, {r}, {r}); got {A.shape}")
    edges = frozen(edges, np.int64)
    if edges[0] != 0 or edges[-1] != len(symbols) or (np.diff(edges) < 0).any():
        raise ValueError(f"edges must rise from 0 to {len(symbols)}")
    if len(symbols) and not 0 <= symbols.min() <= symbols.max() < len(A):
        raise ValueError(f"symbols must be below {len(A)}; got {symbols.min()} to {symbols.max()}")
    return frozen(symbols, np.int64), edges, frozen(A, float)
