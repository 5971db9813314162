"""States of weighted automata along strings, and how often their transitions are taken."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def automaton_values(symbols, edges, start, stop, A, values, logs):
    """Write the weight of each string, ``values`` times ``exp(logs)``; states are kept at length 1 on the way."""
    size = len(start)
    now, then = np.empty(size), np.empty(size)
    for s in range(len(edges) - 1):
        for j in range(size):
            now[j] = start[j]
        logs[s] = 0.0
        for i in range(edges[s], edges[s + 1] + 1):
            largest = 0.0
            for j in range(size):
                largest = max(largest, abs(now[j]))
            if largest == 0.0:
                break
            logs[s] += np.log(largest)
            for j in range(size):
                now[j] /= largest
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
def follow_automaton(symbols, edges, start, A, total, again, floor, states):
    """Write the state before each symbol and before the end of each string, of mass 1.

    ``total`` is the mass of all that may come from each state. Where a symbol has no more than ``floor`` of it, the
    automaton goes on from ``again[symbol]``.
    """
    size = len(start)
    row = 0
    for s in range(len(edges) - 1):
        states[row] = start
        for i in range(edges[s], edges[s + 1]):
            a = symbols[i]
            row += 1
            for t in range(size):
                states[row, t] = 0.0
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
                for t in range(size):
                    states[row, t] = again[a, t]
        row += 1


@njit(cache=True, nogil=True)
def transition_counts(parent, last, passing, ending, start, stop, bounds, to, weights, least, taken, stopped, began):
    """Add how often transitions are expected to be taken by strings in a tree of prefixes; return their log-likelihood.

    Transitions of symbol ``a`` from state ``i`` go to ``to`` with ``weights``, both from ``bounds[a, i]`` to
    ``bounds[a, i + 1]``. ``passing`` and ``ending`` count the strings that go through a node, and end there.
    A string that the automaton cannot make counts as one of probability ``least``, and takes no transition.
    """
    nodes, size = len(parent), len(start)
    ahead = np.empty((nodes, size))
    mass = np.empty(nodes)
    back = np.zeros((nodes, size))
    for i in range(size):
        ahead[0, i] = start[i]
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
            mass[v] = max(total, least)
            fit += passing[v] * np.log(mass[v])
            if total > least:
                for i in range(size):
                    ahead[v, i] /= total
            else:
                ahead[v] = 0.0
        if ending[v] > 0:
            total = 0.0
            for i in range(size):
                total += ahead[v, i] * stop[i]
            fit += ending[v] * np.log(max(total, least))
            if total > least:
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
    for i in range(size):
        began[i] += start[i] * back[0, i]
    return fit
