r"""Stochastic gradient descent on single observed cells, or on pairs of an observed and an unobserved cell.

Epoch :math:`t` visits all in a new random order, with learning rate :math:`\eta / (1 + d t)`. Both factors of a cell
are updated from their values before it.

References
----------
Robbins, Monro (1951), A stochastic approximation method, for steps whose sum diverges while that of squares does not.
Koren, Bell, Volinsky (2009), Matrix factorization techniques for recommender systems. Rendle, Freudenthaler, Gantner,
Schmidt-Thieme (2009), BPR: Bayesian personalized ranking from implicit feedback, figure 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from polyadic.core.annotations import AnyArray, Array, Factors, Ints
from polyadic.core.kernels import absent_columns, cp_predict, sgd_cells, sgd_labels, sgd_pairs, table
from polyadic.core.solvers.run import Sweep

STEP = 0.3  # initial learning rate of Adagrad; .1 to 1 were tried on two sets
MAX_MEASURED = 1 << 16  # maximum number of listed cells for which the objective is reported


class LearningRate(NamedTuple):
    r"""Learning rate :math:`\eta / (1 + d t)` of epoch :math:`t`; ``initial`` is :math:`\eta`, ``decay`` :math:`d`."""

    initial: float
    decay: float

    def at(self, epoch: int) -> float:
        """Return the learning rate of an epoch."""
        return self.initial / (1 + self.decay * epoch)


def descend_cells(
    cells: tuple[AnyArray, AnyArray, AnyArray],
    start: Factors,
    *,
    ridges: Array,
    objective: Callable[[AnyArray, AnyArray], float],
    steps: LearningRate,
    rng: np.random.Generator,
) -> Iterator[Sweep]:
    r"""Fit a biased matrix factorization to the observed cells by SGD; yield the start and each epoch.

    Minimizes :math:`\sum (x_{ij} - a_i - b_j - u_i \cdot v_j)^2` plus penalties for each cell. ``cells`` are rows,
    columns and values; biases are in the last columns of the factors, and ``ridges`` the penalty of each column.
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
    listed: tuple[AnyArray, AnyArray, AnyArray],
    start: Factors,
    *,
    negatives: int,
    ridge: float,
    steps: LearningRate,
    rng: np.random.Generator,
    threads: int,
    everywhere: bool = False,
) -> Iterator[Sweep]:
    r"""Minimize the BPR loss :math:`-\log \sigma(u_i \cdot (v_j - v_k))` by SGD; yield the start and each epoch.

    Cell :math:`(i, j)` is observed and :math:`(i, k)` is not. The penalty of a triple is :math:`\tfrac{\lambda}{2}
    (\|u_i\|^2 + \|v_j\|^2 + \|v_k\|^2)`. ``listed`` are rows and columns of cells in ascending order, and the offset of
    each row; ``negatives`` unobserved cells of the same row are drawn for each in an epoch, or with ``everywhere`` of
    all rows: :math:`-\log \sigma(u_i \cdot v_j - u_l \cdot v_k)`. Factors are in single precision; the objective is
    estimated from one unobserved cell for each of at most :data:`MAX_MEASURED` listed ones.
    """
    rank = start[0].shape[1]
    U, V = (np.asarray(F, np.float32) for F in start)
    better, worse = _cell_pairs(listed, (len(U), len(V)), rng, everywhere=everywhere)
    at = np.concatenate([better, worse])
    met = (at if everywhere else better)[:, 0], at[:, 1]
    counts = [np.bincount(each, minlength=len(F)) for each, F in zip(met, (U, V), strict=True)]
    scale = len(listed[0]) / min(len(listed[0]), MAX_MEASURED)

    def objective(U: AnyArray, V: AnyArray) -> float:
        m = cp_predict(at, np.concatenate([U, V]), offsets=[0, len(U)], threads=threads)
        high, low = np.split(m, 2)
        sizes = sum(float(n @ (F**2).sum(axis=1)) for n, F in zip(counts, (U, V), strict=True))
        return scale * float(np.logaddexp(0, low - high).sum() + 0.5 * ridge * sizes)

    epoch = 0
    while True:
        yield Sweep([U[:, :rank], V[:, :rank]], objective(U[:, :rank], V[:, :rank]))
        U, V = table(U)[:, 0], table(V)[:, 0]  # copies; rows do not share cache lines between threads
        how: dict[str, Any] = {"negatives": negatives, "step": steps.at(epoch), "ridge": ridge}
        sgd_pairs(*listed[:2], U=U, V=V, rng=rng, threads=threads, everywhere=everywhere, **how)
        epoch += 1


def descend_labels(
    listed: tuple[AnyArray, AnyArray, AnyArray],
    labels: AnyArray,
    start: Factors,
    *,
    negatives: float,
    beside: bool,
    ridge: float,
    rng: np.random.Generator,
    threads: int,
    step: float = STEP,
) -> Iterator[Sweep]:
    r"""Minimize the log loss :math:`\sum \log(1 + e^{m_{ij}}) - x_{ij} m_{ij}` over observed cells and sampled zeros.

    The penalty :math:`\tfrac{\lambda}{2} (\|U\|_F^2 + \|V\|_F^2)` is divided among the expected number of cells of each
    row in an epoch. ``listed`` is as for :func:`descend_pairs`, ``labels`` are zeros and ones; ``negatives`` unobserved
    cells are drawn for each listed one, from its row if ``beside``, with Adagrad steps of initial rate ``step``.
    """
    rank = start[0].shape[1]
    U, V = (np.asarray(F, np.float32) for F in start)
    sums = [np.zeros(len(F)) for F in (U, V)]
    ridges = [ridge / np.maximum(n, 1) for n in _cells_met(listed, (len(U), len(V)), negatives, beside=beside)]
    at = rng.permutation(len(labels))[:MAX_MEASURED]
    rows = listed[0][at] if beside else rng.integers(len(U), size=len(at))
    zeros = absent_columns(listed[2], listed[1], rows, number=len(V), rng=rng)
    where = np.stack(
        [np.concatenate([listed[0][at], rows[zeros >= 0]]), np.concatenate([listed[1][at], zeros[zeros >= 0]])]
    )
    known = np.concatenate([labels[at], np.zeros(len(where[0]) - len(at))])
    weights = np.where(np.arange(len(known)) < len(at), 1.0, negatives) * len(labels) / len(at)

    def objective() -> float:
        m = cp_predict(where.T, np.concatenate([U, V]), offsets=[0, len(U)], threads=threads).astype(float)
        return float(weights @ (np.logaddexp(0, m) - known * m)) + 0.5 * ridge * sum(
            float((F**2).sum()) for F in (U, V)
        )

    while True:
        yield Sweep([U[:, :rank], V[:, :rank]], objective())
        U, V = table(U)[:, 0], table(V)[:, 0]
        how: dict[str, Any] = {"negatives": negatives, "beside": beside, "step": step, "ridges": ridges}
        sgd_labels(*listed[:2], labels, U=U, V=V, sums=sums, rng=rng, threads=threads, **how)


def _cells_met(
    listed: tuple[AnyArray, AnyArray, AnyArray], shape: tuple[int, int], negatives: float, *, beside: bool
) -> tuple[Array, Array]:
    """Return the expected number of cells in each row and column per epoch, including sampled cells."""
    rows, columns, starts = listed
    n = np.diff(starts)
    free = shape[1] - n
    drawn = negatives * (n if beside else np.full(shape[0], n.mean())) * (free > 0)
    each = drawn / np.maximum(free, 1)
    of_columns = np.bincount(columns, minlength=shape[1]) + each.sum()
    return n + drawn, of_columns - np.bincount(columns, weights=each[rows], minlength=shape[1])


def _cell_pairs(
    listed: tuple[AnyArray, ...], shape: tuple[int, int], rng: np.random.Generator, *, everywhere: bool
) -> tuple[Ints, Ints]:
    """Sample observed cells and an unobserved cell for each, of the same row or of all; shape (n, 2) each."""
    rows, columns, starts = listed
    at = rng.permutation(len(rows))[:MAX_MEASURED]
    better = np.column_stack([rows[at], columns[at]]).astype(np.int64)
    if everywhere:
        one, cells = np.zeros(len(at), np.int64), np.asarray(rows, np.int64) * shape[1] + columns
        places = absent_columns(np.array([0, len(rows)]), cells, one, number=shape[0] * shape[1], rng=rng)
        return better, np.column_stack(np.divmod(places, shape[1]))
    worse = absent_columns(starts, columns, rows[at], number=shape[1], rng=rng)
    return better[worse >= 0], np.column_stack([better[:, 0], worse])[worse >= 0]
