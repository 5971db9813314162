r"""Stochastic gradient descent for the factors and biases of coupled tables.

An epoch visits the observed cells of all tables once, in random order and in batches. The rows and the biases of a
batch move against the gradient of its losses and of their penalties, each of which is divided among the cells of its
row; the objective is that of :mod:`polyadic.completion.coupled.coordinate_descent`. The step of a row is :math:`\eta /
\sqrt{s}`, where :math:`s` adds the mean squares of its gradients (Adagrad).

References
----------
Bouchard, Naradowsky, Riedel, Rocktäschel, Vlachos (2015), Matrix and tensor factorization methods for natural language
processing, ACL tutorial, slide "Let's try SGD!". Singh, Gordon (2008), Relational learning via collective matrix
factorization. Duchi, Hazan, Singer (2011), Adaptive subgradient methods for online learning and stochastic
optimization.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from polyadic.completion.coupled.coordinate_descent import objective_of
from polyadic.core.annotations import AnyArray
from polyadic.core.errors import InputError
from polyadic.core.solvers.run import Sweep

if TYPE_CHECKING:
    from polyadic.completion.coupled.coupled_tables import CoupledTables, State

STEPS, BATCHES = 256, (16, 1024)
"""Number of batches of an epoch, unless they would have fewer or more cells than these."""
TINY = 1e-12  # keeps the first step of a row without a gradient finite


def collective_sgd(
    coupled: CoupledTables,
    start: State,
    *,
    ridges: Sequence[float],
    bias_ridge: float,
    count_power: float,
    learning_rate: float,
    rng: np.random.Generator,
    threads: int,
) -> Iterator[Sweep]:
    """Iterate over epochs of stochastic gradient descent; the penalties are as in ``collective``."""
    if any(coupled.zeros):
        advice = "sample zeros with n_negatives, or use solver='coordinate-descent'"
        raise InputError(f"solver='sgd' does not support weighted zeros; {advice}", "solver", "n_negatives")
    state = [np.array(part) for part in start]
    powers = [np.maximum(counts, 1.0) ** count_power for counts in coupled.counts]
    counts = np.concatenate([*coupled.counts, [0]])
    shares = np.append(np.concatenate([ridge * p for ridge, p in zip(ridges, powers, strict=True)]), 0)
    shares /= np.maximum(counts, 1)  # the penalty of a row at each of its cells
    state[0][:-1][counts[:-1] == 0] = 0
    tables = [_Table(coupled, t, powers, bias_ridge) for t in range(len(coupled.terms))]
    of = np.repeat(np.arange(len(tables)), [len(x) for x in coupled.values])
    at = np.concatenate([np.arange(len(x)) for x in coupled.values])
    squares, steps = np.full(len(state[0]), TINY), -(-len(of) // int(np.clip(len(of) // STEPS, *BATCHES)))
    while True:
        m = [coupled.products(state[0], t, threads) + coupled.biases(state[1 + t], t) for t in range(len(tables))]
        yield Sweep([part.copy() for part in state], objective_of(coupled, state, m, ridges, bias_ridge, powers))
        for batch in np.array_split(rng.permutation(len(of)), steps):
            rows, pulls = [], []
            for t in np.unique(of[batch]):
                index, pull = tables[t].gradient(state, at[batch[of[batch] == t]], learning_rate)
                rows.append(index.ravel())
                pulls.append((pull + shares[index][..., None] * state[0][index]).reshape(len(rows[-1]), -1))
            moved, place = np.unique(np.concatenate(rows), return_inverse=True)
            total = np.zeros((len(moved), state[0].shape[1]))
            np.add.at(total, place, np.concatenate(pulls))
            squares[moved] += (total**2).mean(axis=1)
            state[0][moved] -= learning_rate * total / np.sqrt(squares[moved])[:, None]


class _Table:
    """A table, with the Adagrad state and the penalties of its intercept and biases."""

    def __init__(self, coupled: CoupledTables, t: int, powers: list[AnyArray], bias_ridge: float) -> None:
        term, parts = coupled.terms[t], coupled.parts(t)
        self.t, self.loss, self.rows = t, term.loss, coupled.indices[t]
        self.values, self.weights = coupled.values[t], coupled.weights[t]
        size = 1 + sum(part.stop - part.start for part in parts)
        self.squares, ridges = np.full(size, TINY), np.zeros(size)
        # places of the intercept and the biases of each cell
        firsts = np.array([part.start for part in parts], np.int64)
        own = np.asarray(term.entries.indices, np.int64)[:, : len(parts)] + firsts
        self.places = np.column_stack([np.zeros(len(self.values), np.int64), own])
        for part, slot, _ in coupled.modes(t):
            ridges[part] = bias_ridge * powers[slot]
        self.shares = ridges / np.maximum(np.bincount(self.places.ravel(), minlength=size), 1)

    def gradient(self, state: State, cells: AnyArray, learning_rate: float) -> tuple[AnyArray, AnyArray]:
        """Update the biases of the given cells; return the rows of the factors, (n, order), and their gradients."""
        rows, places, b = self.rows[cells], self.places[cells], state[1 + self.t]
        U = state[0][rows]
        order = rows.shape[1]
        others = U[:, ::-1] if order == 2 else np.stack([np.delete(U, d, 1).prod(axis=1) for d in range(order)], axis=1)
        m = np.einsum("nr,nr->n", U[:, 0], others[:, 0]) + b[places].sum(axis=1)
        g = self.weights[cells] * self.loss.grad(self.values[cells], m)
        total = np.bincount(places.ravel(), (g[:, None] + self.shares[places] * b[places]).ravel(), len(b))
        self.squares += total**2
        b -= learning_rate * total / np.sqrt(self.squares)
        return rows, g[:, None, None] * others
