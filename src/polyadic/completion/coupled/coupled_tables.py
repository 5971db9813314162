r"""Tables with shared factors, in a layout for solvers that update one factor row at a time.

Cell :math:`(i_1, \dots, i_n)` of table :math:`t` is predicted by the factors of its slots, an intercept and biases,

.. math:: m = o_t + \sum_d b^{(t, d)}_{i_d} + \sum_r \prod_d U^{(s_d)}_{i_d r}.

The rows of all factors are stacked in one array (the stack), which ends with a row of ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core import kernels
from polyadic.core.annotations import AnyArray, Array
from polyadic.core.errors import InputError
from polyadic.core.kernels import RowEntries

if TYPE_CHECKING:
    from polyadic.core.objective import Term

State = list[Array]
"""The stack, then for each table one vector of its intercept and biases (of length 1 without biases)."""


class FactorEntries(NamedTuple):
    """Entries of all tables that share a factor, sorted by factor row as :class:`~polyadic.core.kernels.RowEntries`."""

    starts: AnyArray
    columns: AnyArray  # rows of the stack
    tables: list[int]  # of the entries before sorting; a table occurs once per mode with this factor
    order: AnyArray  # sorting permutation of the entries
    sequential: bool  # whether rows refer to rows of the same factor and must be updated sequentially


class CoupledTables:
    """Tables in CP form with shared factors and biases; leading ``fixed`` rows, intercepts and noise then stay."""

    def __init__(
        self, terms: Sequence[Term], sizes: Sequence[int], *, biased: Sequence[bool], fixed: Sequence[int] | None = None
    ) -> None:
        self.terms, self.sizes, self.biased = list(terms), list(sizes), list(biased)
        self.folds, self.fixed = fixed is not None, list(fixed or [0] * len(self.sizes))
        self.offsets = np.concatenate([[0], np.cumsum(self.sizes)]).tolist()
        if any(term.zero_weight and len(set(term.slots)) < len(term.slots) for term in self.terms):
            advice = "use sampled zeros instead"
            raise InputError(f"a table with weighted zeros must have a different factor for each mode; {advice}")
        self.indices = [
            np.ascontiguousarray(term.entries.indices, np.int64) + [self.offsets[s] for s in _slots(term)]
            for term in self.terms
        ]
        self.values = [np.asarray(term.entries.values, float) for term in self.terms]
        self.weights = [
            term.weight * np.asarray(np.ones(len(x)) if term.entries.weights is None else term.entries.weights, float)
            for term, x in zip(self.terms, self.values, strict=True)
        ]
        self.zeros = [term.weight * term.zero_weight for term in self.terms]
        self.counts = [np.zeros(size, np.int64) for size in self.sizes]
        self.factor_entries = [self._factor_entries(factor) for factor in range(len(self.sizes))]

    def start(self, rank: int, rng: np.random.Generator, *, scale: float) -> State:
        """Return a random initial state: normal factors with standard deviation ``scale``, and zero biases."""
        stack = np.vstack([scale * rng.standard_normal((self.offsets[-1], rank)), np.ones((1, rank))])
        shapes = [term.entries.shape for term in self.terms]
        return [stack, *(np.zeros(1 + has * sum(n)) for n, has in zip(shapes, self.biased, strict=True))]

    def factor(self, stack: AnyArray, number: int) -> AnyArray:
        """Return a view of one factor matrix in the stack of all factors."""
        return stack[self.offsets[number] : self.offsets[number + 1]]

    def extended(self, state: State, sizes: Sequence[int]) -> State:
        """Extend a solver state to larger factor matrices, with zeros for the new rows and biases."""
        stack = _extended(state[0], [*sizes, 1], [*self.sizes, 1])
        offsets = list(state[1:])
        for t, term in enumerate(self.terms):
            if self.biased[t]:
                offsets[t] = _extended(offsets[t], [1, *(sizes[s] for s in _slots(term))], [1, *term.entries.shape])
        return [stack, *offsets]

    def free_rows(self, stack: AnyArray, number: int) -> AnyArray:
        """Return a view of the rows of a factor that are not fixed."""
        return self.factor(stack, number)[self.fixed[number] :]

    def products(self, stack: AnyArray, table: int, threads: int) -> AnyArray:
        """Return the predictions for the observed entries of a table, without intercept and biases."""
        return kernels.cp_predict(self.indices[table], stack, threads=threads)

    def parts(self, table: int) -> list[slice]:
        """Return the slice of each mode in the bias vector of a table."""
        ends = np.cumsum([1, *self.terms[table].entries.shape]).tolist()
        return [slice(a, b) for a, b in pairwise(ends)] if self.biased[table] else []

    def modes(self, table: int) -> Iterator[tuple[slice, int, AnyArray]]:
        """Yield the slice in the bias vector, the factor and the index of each entry by mode, if there are biases."""
        term = self.terms[table]
        return zip(self.parts(table), _slots(term), term.entries.indices.T, strict=False)

    def biases(self, offsets: AnyArray, table: int) -> AnyArray:
        """Return the intercept plus the biases of each observed entry, given the bias vector (or one of its layout)."""
        total = np.full(len(self.values[table]), offsets[0])
        for part, _, index in self.modes(table):
            total += offsets[part][index]
        return total

    def equations(
        self, number: int, c: Sequence[Array], y: Sequence[Array], offsets: Sequence[Array], scales: Sequence[float]
    ) -> RowEntries:
        """Return the least-squares equations for the rows of a factor.

        Biases are subtracted from the targets. The weight of zeros is subtracted from the weights, because
        :meth:`zero_precision` adds it for all cells.
        """
        starts, columns, tables, order, _ = self.factor_entries[number]
        if len(tables) == 0:
            return RowEntries(starts, columns, np.zeros(0), np.zeros(0))
        weights = [c[t] - self.zeros[t] * scales[t] for t in tables]
        right = [y[t] - c[t] * self.biases(offsets[t], t) for t in tables]
        return RowEntries(starts, columns, np.concatenate(weights)[order], np.concatenate(right)[order])

    def grams(self, stack: AnyArray, covariances: AnyArray | None = None) -> list[AnyArray]:
        """Return the Gram matrix of each factor, expected if the rows have covariances, (rows of the stack, R, R)."""
        grams = [self.factor(stack, s).T @ self.factor(stack, s) for s in range(len(self.sizes))]
        if covariances is None:
            return grams
        return [gram + self.factor(covariances, s).sum(axis=0) for s, gram in enumerate(grams)]

    def zero_precision(self, number: int, grams: Sequence[AnyArray], scales: Sequence[float]) -> AnyArray:
        """Return the contribution of weighted zeros to the precision matrix of the rows of a factor."""
        total = np.zeros_like(grams[0])
        for table, (term, z) in enumerate(zip(self.terms, self.zeros, strict=True)):
            if z and number in term.slots:
                others = [grams[s] for s in _slots(term) if s != number]
                total += scales[table] * z * np.prod(others, axis=0)
        return total

    def all_squares(self, table: int, grams: Sequence[AnyArray]) -> float:
        """Return the sum of squared predictions over all cells of a table."""
        return float(np.prod([grams[s] for s in _slots(self.terms[table])], axis=0).sum())

    def _factor_entries(self, factor: int) -> FactorEntries:
        """Collect the entries of all tables that involve a factor, sorted by row of the factor."""
        named = [(t, d) for t, term in enumerate(self.terms) for d, s in enumerate(term.slots) if s == factor]
        widest = max((self.indices[t].shape[1] - 1 for t, _ in named), default=1)
        rows, columns = [np.zeros(0, np.int64)], [np.zeros((0, widest), np.int32)]
        for t, d in named:
            others = np.delete(self.indices[t], d, axis=1)
            ones = np.full((len(others), widest - others.shape[1]), self.offsets[-1])
            rows.append(self.indices[t][:, d] - self.offsets[factor])
            columns.append(np.hstack([others, ones]).astype(np.int32))
        row = np.concatenate(rows)
        order = np.argsort(row, kind="stable")
        self.counts[factor] = np.bincount(row, minlength=self.sizes[factor])
        starts = np.concatenate([[0], np.cumsum(self.counts[factor])])[self.fixed[factor] :]
        order = order[starts[0] :]
        tables = [t for t, _ in named]
        sequential = len(set(tables)) < len(tables)
        return FactorEntries(starts - starts[0], np.concatenate(columns)[order], tables, order, sequential)


def _extended(array: AnyArray, before: Sequence[int], now: Sequence[int]) -> AnyArray:
    """Pad each block of rows with zeros to a new size."""
    blocks = np.split(array, np.cumsum(before)[:-1])
    zeros = [np.zeros((n - len(block), *block.shape[1:]), block.dtype) for block, n in zip(blocks, now, strict=True)]
    return np.concatenate([part for pair in zip(blocks, zeros, strict=True) for part in pair])


def _slots(term: Term) -> tuple[int, ...]:
    return tuple(slot for slot in term.slots if isinstance(slot, int))
