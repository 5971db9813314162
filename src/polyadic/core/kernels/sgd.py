"""Kernels for stochastic gradient descent on pointwise and pairwise losses of a matrix factorization."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Array, Ints, Ints32
from polyadic.core.kernels.common import frozen, in_threads

FAST = {"reassoc", "contract", "nsz", "arcp"}  # see ``cp.py``: sums may be reordered; infinities and NaN are preserved
GROUPS = 8
"""Groups of rows and of columns, so that this many blocks run in parallel; at most 16, as a byte numbers blocks."""
MIN_CELLS, MIN_WIDTH = 1 << 14, 32
"""Listed cells, and rows and columns of a group, from which groups cost nothing by themselves."""
MIN_WORK = 1 << 24  # numbers read by an epoch below which threads do not pay: they are started for each set of blocks


def sgd_cells(
    rows: AnyArray, columns: AnyArray, values: AnyArray, *, U: Array, V: Array, step: float, ridges: AnyArray
) -> None:
    r"""Run SGD on the penalized squared loss :math:`\tfrac12 (x - m)^2`, updating ``U`` and ``V`` for each cell.

    Shapes (rows, R + 1) and (columns, R + 1), the bias in the last column; ``ridges`` has one penalty per column.
    """
    _check([(rows, U), (columns, V)], len(values))
    if ridges.shape != (U.shape[1],):
        raise ValueError(f"ridges must have one element for each of {U.shape[1]} columns; got shape {ridges.shape}")
    at = [frozen(array, np.int64) for array in (rows, columns)]
    _sgd_cells(*at, frozen(values, np.float64), float(step), frozen(ridges, np.float64), U, V)


def sgd_pairs(
    rows: AnyArray,
    columns: AnyArray,
    *,
    U: AnyArray,
    V: AnyArray,
    negatives: int,
    step: float,
    ridge: float,
    rng: np.random.Generator,
    threads: int,
    everywhere: bool = False,
) -> None:
    r"""Run SGD on the BPR loss :math:`-\log \sigma(u_i \cdot (v_j - v_k))`, sampling unobserved columns as negatives.

    Each listed cell :math:`(i, j)`, sorted by row and column, is visited once, in random order, with ``negatives``
    columns :math:`k` that its row does not list. Rows and columns are divided into random groups each time, and
    :math:`k` is from the group of :math:`j`: so threads process blocks that share neither a row nor a column, with the
    same result for any number of threads, and any two columns are equally likely to meet (Gemulla, Nijkamp, Haas,
    Sismanis 2011, section 3). With ``everywhere`` the loss is :math:`-\log \sigma(u_i \cdot v_j - u_l \cdot v_k)` with
    :math:`(l, k)` uniform over all unobserved cells, without groups and on one thread.
    """
    listed = _listed(rows, columns, U, V)
    how = listed.starts, listed.columns, negatives, float(step), float(ridge), U, V
    if everywhere:
        if len(rows) == len(U) * len(V):
            raise ValueError("at least one cell must be unobserved")
        order, state = rng.permutation(len(rows)), rng.integers(2**64, dtype=np.uint64)
        _sgd_cell_pairs(listed.rows[order], listed.columns[order], state, *how)
        return

    def work(block: CellBlock) -> None:
        at = listed.rows[block.cells], listed.columns[block.cells]
        _sgd_pairs(*at, block.columns, block.state, *how)

    _in_blocks(work, listed, rng, len(rows) * (1 + negatives) * U.shape[1], threads)


def sgd_labels(
    rows: AnyArray,
    columns: AnyArray,
    labels: AnyArray,
    *,
    U: AnyArray,
    V: AnyArray,
    sums: Sequence[AnyArray],
    negatives: float,
    beside: bool,
    step: float,
    ridges: Sequence[AnyArray],
    rng: np.random.Generator,
    threads: int,
) -> None:
    r"""Run Adagrad on the logistic loss :math:`\log(1 + e^m) - x m` of observed cells and sampled zeros.

    Cells are visited as by :func:`sgd_pairs`, each with ``negatives`` unobserved ones on average, of its row if
    ``beside``, else of any row. The step of a row is :math:`\eta / \sqrt{s}` times its gradient, where :math:`s`, in
    ``sums``, adds the mean squares of its gradients (Duchi, Hazan, Singer 2011, with one number for a row). ``ridges``
    are the penalties of rows and columns at each cell.
    """
    listed = _listed(rows, columns, U, V)
    pairs = [(F, array) for of_each in (sums, ridges) for F, array in zip((U, V), of_each, strict=True)]
    if any(array.shape != (len(F),) or array.dtype != np.float64 for F, array in pairs):
        raise ValueError(f"sums and ridges must be pairs of float64 arrays with {len(U)} and {len(V)} elements")
    if len(labels) != len(rows):
        raise ValueError(f"labels must have one element for each of {len(rows)} cells; got {len(labels)}")
    labels = frozen(labels, np.float64)
    how = listed.starts, listed.columns, float(negatives), beside, float(step), tuple(ridges), tuple(sums), U, V

    def work(block: CellBlock) -> None:
        at = listed.rows[block.cells], listed.columns[block.cells], labels[block.cells]
        _sgd_labels(*at, block.rows, block.columns, block.state, *how)

    _in_blocks(work, listed, rng, len(rows) * (1 + negatives) * U.shape[1], threads)


class _Listed(NamedTuple):
    """Observed cells sorted by row, then by column; row ``i`` has the cells ``starts[i]:starts[i + 1]``."""

    rows: Ints32
    columns: Ints32
    starts: Ints
    shape: tuple[int, int]


def _listed(rows: AnyArray, columns: AnyArray, U: AnyArray, V: AnyArray) -> _Listed:
    """Check that the cells are sorted, and compute where each row starts."""
    _check([(rows, U), (columns, V)], len(rows))
    if not ((rows[1:] > rows[:-1]) | ((rows[1:] == rows[:-1]) & (columns[1:] > columns[:-1]))).all():
        raise ValueError("cells must be sorted by row, then by column, without duplicates")
    starts = np.searchsorted(rows, np.arange(len(U) + 1))
    return _Listed(frozen(rows, np.int32), frozen(columns, np.int32), starts, (len(U), len(V)))


class CellBlock(NamedTuple):
    """Block of observed cells in random order, with the row group, the column group and a random seed."""

    cells: Ints
    rows: Ints32
    columns: Ints32
    state: np.uint64


def _in_blocks(
    work: Callable[[CellBlock], None], listed: _Listed, rng: np.random.Generator, numbers: float, threads: int
) -> None:
    """Process all observed cells, in parallel over blocks that share neither a row nor a column.

    ``numbers`` is the number of values to read; one thread is used if it is below ``MIN_WORK``.
    """
    threads = threads if numbers >= MIN_WORK else 1
    for blocks in _strata(listed, rng):
        in_threads(lambda k: work(blocks[k]), len(blocks), threads)  # noqa: B023 # finished before the next iteration


def _strata(listed: _Listed, rng: np.random.Generator) -> Iterator[list[CellBlock]]:
    """Partition the cells into blocks, and yield sets of blocks that share neither a row nor a column."""
    rows, columns, _, shape = listed
    groups = GROUPS if len(rows) >= MIN_CELLS and min(shape) >= MIN_WIDTH * GROUPS else 1
    members = [np.array_split(rng.permutation(size).astype(np.int32), groups) for size in shape]
    of_rows, of_columns = (np.empty(size, np.int64) for size in shape)
    for k, (some_rows, some_columns) in enumerate(zip(*members, strict=True)):
        of_rows[some_rows], of_columns[some_columns] = k, k
    order = rng.permutation(len(rows))
    block = (of_rows * groups)[rows[order]] + of_columns[columns[order]]
    order = order[np.argsort(block.astype(np.uint8), kind="stable")]
    ends = np.cumsum(np.bincount(block, minlength=groups**2))[:-1]
    cells = np.split(order, ends)
    states = rng.integers(2**64, size=groups**2, dtype=np.uint64)
    for shift in range(groups):
        pairs = [(g, (g + shift) % groups) for g in range(groups)]
        yield [CellBlock(cells[g * groups + h], members[0][g], members[1][h], states[g * groups + h]) for g, h in pairs]


def absent_columns(
    starts: AnyArray, columns: AnyArray, rows: AnyArray, *, number: int, rng: np.random.Generator
) -> Ints:
    """Sample an unobserved column uniformly for each row; -1 if all columns of the row are observed.

    Row ``i`` lists ``columns[starts[i]:starts[i + 1]]``, ascending, of ``number`` columns.
    """
    n = len(starts) - 1
    inside = not len(rows) or 0 <= rows.min() <= rows.max() < n
    listed = not len(columns) or 0 <= columns.min() <= columns.max() < number
    if starts[0] != 0 or starts[-1] != len(columns) or (np.diff(starts) < 0).any():
        raise ValueError(f"starts must increase from 0 to the number of columns, {len(columns)}")
    if not inside:
        raise ValueError(f"rows must be indices below {n}")
    if not listed:
        raise ValueError(f"columns must be indices below {number}")
    arrays = [frozen(array, np.int64) for array in (starts, columns, rows)]
    return _absent_columns(*arrays, number, frozen(rng.random(len(rows))))


def _check(pairs: list[tuple[AnyArray, AnyArray]], n: int) -> None:
    """Validate indices and factors, because kernels do not check bounds."""
    for at, F in pairs:
        alike = F.ndim == 2 and F.shape[1] == pairs[0][1].shape[1] and F.dtype == pairs[0][1].dtype
        if not alike or F.dtype not in (np.float32, np.float64) or not F.flags.c_contiguous:
            raise ValueError("factors must be contiguous float32 or float64 arrays of the same rank and type")
        if at.shape != (n,) or (n and not 0 <= at.min() <= at.max() < len(F)):
            raise ValueError(f"rows must contain {n} row indices of U, and columns {n} row indices of V")


TINY = 1e-8  # initial sum of squared gradients
MAX_DRAWS = 20  # draws before all unobserved columns are enumerated: a row may list nearly all


@njit(cache=True, nogil=True, fastmath=FAST)
def _sgd_cells(rows, columns, values, step, ridges, U, V):
    """Numba kernel: SGD step on ``(x - a_i - b_j - u_i v_j)^2 / 2`` and penalties; biases are in the last columns."""
    rank = U.shape[1] - 1
    for e in range(len(values)):
        u, v = U[rows[e]], V[columns[e]]
        m = u[rank] + v[rank]
        for r in range(rank):
            m += u[r] * v[r]
        left = values[e] - m
        for r in range(rank):
            before = u[r]
            u[r] += step * (left * v[r] - ridges[r] * before)
            v[r] += step * (left * before - ridges[r] * v[r])
        u[rank] += step * (left - ridges[rank] * u[rank])
        v[rank] += step * (left - ridges[rank] * v[rank])


@njit(cache=True, nogil=True, inline="always")
def _random(state):
    """Return the next state of the generator and 64 random bits (splitmix64: Steele, Lea, Flood 2014)."""
    state += np.uint64(0x9E3779B97F4A7C15)
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True, inline="always")
def _lists(starts, columns, i, k):
    """Numba kernel: return whether the cell in row ``i`` and column ``k`` is observed."""
    low, size = starts[i], starts[i + 1] - starts[i]
    while size > 0:
        half = size >> 1
        if columns[low + half] < k:
            low += half + 1
            size -= half + 1
        else:
            size = half
    return low < starts[i + 1] and columns[low] == k


@njit(cache=True, nogil=True, inline="always")
def _absent(starts, columns, i, members, state):
    """Numba kernel: sample an unobserved column of row ``i`` from ``members``, or return -1 if there is none."""
    for _ in range(MAX_DRAWS):
        state, bits = _random(state)
        k = members[((bits >> np.uint64(32)) * np.uint64(len(members))) >> np.uint64(32)]
        if not _lists(starts, columns, i, k):
            return state, k
    free = 0
    for k in members:
        free += not _lists(starts, columns, i, k)
    if free:
        state, bits = _random(state)
        left = bits % np.uint64(free)
        for k in members:
            if not _lists(starts, columns, i, k):
                if left == 0:
                    return state, k
                left -= np.uint64(1)
    return state, members.dtype.type(-1)


@njit(cache=True, nogil=True, fastmath=FAST)
def _sgd_pairs(rows, better, members, state, starts, columns, negatives, step, ridge, U, V):
    """Numba kernel: SGD steps on ``log(1 + exp(-u_i (v_j - v_k)))`` and penalties, k unobserved among ``members``."""
    kept = U.dtype.type(1 - step * ridge)
    for e in range(len(rows)):
        u, v = U[rows[e]], V[better[e]]
        for _ in range(negatives):
            state, k = _absent(starts, columns, rows[e], members, state)
            if k < 0:
                break
            w, m = V[k], U.dtype.type(0)
            for r in range(U.shape[1]):
                m += u[r] * (v[r] - w[r])
            left = U.dtype.type(step / (1 + math.exp(min(m, 80.0))))
            for r in range(U.shape[1]):
                before, difference = u[r], v[r] - w[r]
                u[r] = kept * before + left * difference
                v[r] = kept * v[r] + left * before
                w[r] = kept * w[r] - left * before


@njit(cache=True, nogil=True, fastmath=FAST)
def _sgd_cell_pairs(rows, better, state, starts, columns, negatives, step, ridge, U, V):
    """Numba kernel: SGD steps on ``log(1 + exp(u_l v_k - u_i v_j))`` and penalties, (l, k) of all unobserved cells."""
    shrink = U.dtype.type(step * ridge)
    for e in range(len(rows)):
        u, v = U[rows[e]], V[better[e]]
        for _ in range(negatives):
            while True:
                state, bits = _random(state)
                other = ((bits >> np.uint64(32)) * np.uint64(len(U))) >> np.uint64(32)
                state, bits = _random(state)
                k = ((bits >> np.uint64(32)) * np.uint64(len(V))) >> np.uint64(32)
                if not _lists(starts, columns, other, k):
                    break
            w, x, m = U[other], V[k], U.dtype.type(0)
            for r in range(U.shape[1]):
                m += u[r] * v[r] - w[r] * x[r]
            left = U.dtype.type(step / (1 + math.exp(min(m, 80.0))))
            for r in range(U.shape[1]):
                a, b, c, d = u[r], v[r], w[r], x[r]  # rows and columns of both cells may be the same
                u[r] += left * b - shrink * a
                v[r] += left * a - shrink * b
                w[r] -= left * d + shrink * c
                x[r] -= left * c + shrink * d


@njit(cache=True, nogil=True, fastmath=FAST, inline="always")
def _label(U, V, sums, squares, ridges, step, x, i, j):
    """Numba kernel: Adagrad step on the penalized logistic loss ``log(1 + exp(m)) - x m`` of a cell."""
    u, v, R = U[i], V[j], U.shape[1]
    m = uu = vv = U.dtype.type(0)
    for r in range(R):
        m += u[r] * v[r]
        uu += u[r] * u[r]
        vv += v[r] * v[r]
    left, p, q = x - 1 / (1 + math.exp(min(max(-m, -80.0), 80.0))), ridges[0][i], ridges[1][j]
    sums[i] += (left * left * vv - 2 * left * p * m + p * p * uu) / R
    squares[j] += (left * left * uu - 2 * left * q * m + q * q * vv) / R
    a, b = step / math.sqrt(sums[i] + TINY), step / math.sqrt(squares[j] + TINY)
    kept, more = U.dtype.type(1 - a * p), U.dtype.type(a * left)
    also, other = U.dtype.type(1 - b * q), U.dtype.type(b * left)
    for r in range(R):
        before = u[r]
        u[r] = kept * before + more * v[r]
        v[r] = also * v[r] + other * before


@njit(cache=True, nogil=True, fastmath=FAST)
def _sgd_labels(rows, at, x, group, members, state, starts, columns, negatives, beside, step, ridges, sums, U, V):
    """Numba kernel: Adagrad steps on cells and on zeros in ``members``, of the row if ``beside``, else of ``group``."""
    for e in range(len(rows)):
        i = rows[e]
        _label(U, V, sums[0], sums[1], ridges, step, x[e], i, at[e])
        state, bits = _random(state)
        for _ in range(int(negatives + (bits >> np.uint64(11)) / 2.0**53)):
            if not beside:
                state, bits = _random(state)
                i = group[((bits >> np.uint64(32)) * np.uint64(len(group))) >> np.uint64(32)]
            state, k = _absent(starts, columns, i, members, state)
            if k >= 0:
                _label(U, V, sums[0], sums[1], ridges, step, 0.0, i, k)


@njit(cache=True, nogil=True)
def _absent_columns(starts, columns, rows, number, drawn):
    """Numba kernel: map uniform random numbers to unobserved columns of each row; -1 if all are observed."""
    absent = np.empty(len(rows), np.int64)
    for e in range(len(rows)):
        first, last = starts[rows[e]], starts[rows[e] + 1]
        free = number - (last - first)
        if free == 0:
            absent[e] = -1
            continue
        k = min(int(drawn[e] * free), free - 1)
        # the k-th unobserved column is k plus the number of listed columns before it
        low, high = first, last
        while low < high:
            middle = (low + high) // 2
            if columns[middle] - (middle - first) <= k:
                low = middle + 1
            else:
                high = middle
        absent[e] = k + (low - first)
    return absent
