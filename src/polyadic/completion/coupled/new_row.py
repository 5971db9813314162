"""One row of a factor of coupled tables, solved for given all others, and the contribution of each of its entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.completion.coupled.coordinate_descent import curves
from polyadic.core.entries import blocks
from polyadic.core.explanation import parts_of_row
from polyadic.core.kernels import RowEntries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.completion.coupled.coupled_tables import CoupledTables, State

    Array = NDArray[Any]


class Given(NamedTuple):
    """Quantities that one row of a factor is solved from, for one sample; the last two only if rows are random."""

    state: State
    alphas: Sequence[float]  # precision of the cells of each table, besides their weights
    precision: Array  # of the prior of the row, shape (R, R)
    linear: Array  # precision times mean of the prior, shape (R,)
    covariances: Array | None = None  # shape (rows of the stack, R, R)
    squares: list[Array] | None = None  # expected squared predictions of the entries of each table


BLOCK = 1 << 10
"""Number of entries whose moments are held at once."""


def shares_of(coupled: CoupledTables, s: int, row: int, target: Array, given: Given) -> tuple[float, Array]:
    """Return the contributions of the prior and of each entry to the product of a target with the solved row."""
    stack, *offsets = given.state
    tables = range(len(coupled.terms))
    biases = [coupled.biases(offsets[t], t) for t in tables]
    m = [coupled.products(stack, t, 1) + biases[t] for t in tables]
    c, y = curves(coupled, m, given.squares)
    c, y = ([alpha * values for alpha, values in zip(given.alphas, side, strict=True)] for side in (c, y))
    left = [right - kappa * bias for right, kappa, bias in zip(y, c, biases, strict=True)]
    listed = [kappa - z * alpha for kappa, z, alpha in zip(c, coupled.zeros, given.alphas, strict=True)]
    starts, columns, c_, y_ = coupled.equations(s, listed, left)
    some = slice(starts[row], starts[row + 1])
    v = np.prod(stack[columns[some]], axis=1, dtype=float)
    precision = given.precision
    if any(coupled.zeros):
        grams = coupled.grams(stack)
        if given.covariances is not None:
            grams = [gram + coupled.factor(given.covariances, k).sum(axis=0) for k, gram in enumerate(grams)]
        precision = precision + coupled.zero_precision(s, grams, given.alphas)
    if given.covariances is not None:
        precision = precision + _spread(stack, given.covariances, columns[some], c_[some])
    entries = RowEntries(np.array([0, len(v)]), np.arange(len(v)), c_[some], y_[some])
    A = precision + (v * c_[some, None]).T @ v
    usual = float(target @ np.linalg.solve(A, given.linear))
    return usual, parts_of_row(entries, v, target[None], precision=precision)[0]


def _spread(stack: Array, covariances: Array, columns: Array, c: Array) -> Array:
    """Return the excess of the expected products of random rows over the products of their means."""
    total = np.zeros(covariances.shape[1:])
    for block in blocks(len(c), BLOCK):
        rows, spread = stack[columns[block]], covariances[columns[block]]
        squares = np.einsum("nkr,nks->nkrs", rows, rows)
        total += np.einsum("n,nrs->rs", c[block], np.prod(squares + spread, axis=1) - np.prod(squares, axis=1))
    return total
