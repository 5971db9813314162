r"""Stochastic gradient descent over known cells, or over pairs of a listed and an unlisted cell, one at a time.

Epoch :math:`t` goes once through all, in an order of its own, with the step :math:`\eta / (1 + d t)`. Both factors of
a cell move by what they were before it.

References
----------
Robbins, Monro (1951), A stochastic approximation method, for steps whose sum diverges while that of squares does not.
Koren, Bell, Volinsky (2009), Matrix factorization techniques for recommender systems. Rendle, Freudenthaler, Gantner,
Schmidt-Thieme (2009), BPR: Bayesian personalized ranking from implicit feedback, figure 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.kernels import absent_columns, cp_predict, sgd_cells, sgd_pairs
from polyadic.solvers.run import Sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from polyadic.forms import Factors


class Steps(NamedTuple):
    r"""Length of the steps of epoch :math:`t` from 0: :math:`\eta / (1 + d t)`.

    Attributes
    ----------
    step : float
        :math:`\eta`.
    decay : float
        :math:`d`.
    """

    step: float
    decay: float

    def at(self, epoch: int) -> float:
        """Give the length in an epoch."""
        return self.step / (1 + self.decay * epoch)


class Listed(NamedTuple):
    """Listed cells sorted by row; row ``i`` has ``starts[i]:starts[i + 1]``, whose columns rise."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    starts: NDArray[np.int64]


def descend_cells(
    cells: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
    start: Factors,
    *,
    ridges: NDArray[np.float64],
    objective: Callable[[NDArray[Any], NDArray[Any]], float],
    steps: Steps,
    rng: np.random.Generator,
) -> Iterator[Sweep]:
    r"""Descend :math:`\sum (x_{ij} - a_i - b_j - u_i \cdot v_j)^2` and the penalties that are due at each cell.

    Parameters
    ----------
    cells : three ndarray of shape (n,)
        Rows, columns and values.
    start : two float64 ndarray, of shape (rows, rank + 1) and (columns, rank + 1)
        Factors, biases in the last column; they are not changed.
    ridges : ndarray of shape (rank + 1,)
        Penalty of each column, for each cell.
    objective : callable
        Gives the objective of both factors, after each epoch.
    steps : Steps
    rng : numpy.random.Generator

    Yields
    ------
    Sweep
        First the start, then the end of each epoch.
    """
    U, V = (np.array(F, float) for F in start)
    epoch = 0
    while True:
        yield Sweep([U, V], objective(U, V))
        U, V = U.copy(), V.copy()
        order = rng.permutation(len(cells[0]))
        rows, columns, values = (array[order] for array in cells)
        sgd_cells(rows, columns, values, U=U, V=V, step=steps.at(epoch), ridges=ridges)
        epoch += 1


def descend_pairs(
    listed: Listed, start: Factors, *, negatives: int, ridge: float, steps: Steps, rng: np.random.Generator
) -> Iterator[Sweep]:
    r"""Descend :math:`-\log \sigma(u_i \cdot (v_j - v_k))`, where :math:`(i, j)` is listed and :math:`(i, k)` is not.

    Of each triple the penalty is :math:`\tfrac{\lambda}{2} (\|u_i\|^2 + \|v_j\|^2 + \|v_k\|^2)`.

    Parameters
    ----------
    listed : Listed
    start : two float64 ndarray, of shape (rows, rank) and (columns, rank)
        They are not changed.
    negatives : int
        Unlisted cells of the same row drawn for each listed one in an epoch.
    ridge : float
        :math:`\lambda`.
    steps : Steps
    rng : numpy.random.Generator

    Yields
    ------
    Sweep
        First the start, then the end of each epoch. The objective is that of one unlisted cell for each listed one,
        drawn once.
    """
    U, V = (np.array(F, float) for F in start)
    measure = _Measure(_triples(listed, len(V), 1, rng), U, V, ridge)
    epoch = 0
    while True:
        yield Sweep([U, V], measure(U, V))
        U, V = U.copy(), V.copy()
        sgd_pairs(*_triples(listed, len(V), negatives, rng), U=U, V=V, step=steps.at(epoch), ridge=ridge)
        epoch += 1


def _triples(listed: Listed, number: int, negatives: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Draw rows, listed and unlisted columns, in random order; rows that list all columns have none."""
    order = rng.permutation(np.tile(np.arange(len(listed.rows)), negatives))
    rows, better = listed.rows[order], listed.columns[order]
    worse = absent_columns(listed.starts, listed.columns, rows, number=number, rng=rng)
    return [array[worse >= 0] for array in (rows, better, worse)]


class _Measure:
    """The objective of some triples."""

    def __init__(self, triples: list[NDArray[np.int64]], U: NDArray[Any], V: NDArray[Any], ridge: float) -> None:
        i, j, k = triples
        self.at = np.stack([np.concatenate([i, i]), np.concatenate([j, k])]).T
        self.counts = [np.bincount(at, minlength=len(F)) for at, F in ((i, U), (self.at[:, 1], V))]
        self.ridge = ridge

    def __call__(self, U: NDArray[Any], V: NDArray[Any]) -> float:
        m = cp_predict(self.at, np.concatenate([U, V]), offsets=[0, len(U)], threads=1)
        better, worse = np.split(m, 2)
        sizes = sum(float(n @ (F**2).sum(axis=1)) for n, F in zip(self.counts, (U, V), strict=True))
        return float(np.logaddexp(0, worse - better).sum() + 0.5 * self.ridge * sizes)
