"""Numba kernels of GloVe: Adagrad over the cells of a co-occurrence matrix.

Words are divided into groups, and each cell belongs to the pair of groups of its words. In a round of a tournament
every group is paired with one other, so the pairs of a round share no word and can run in parallel; all rounds cover
all pairs. No two threads write to the same row, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from polyadic.core.kernels.common import PARTS, frozen, in_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

Parameters = tuple["NDArray[np.float32]", "NDArray[np.float32]", "NDArray[np.float32]", "NDArray[np.float32]"]


@dataclass(frozen=True, eq=False)
class GloveCells:
    """Cells of a symmetric matrix in the order of the updates; see :func:`glove_arrange`.

    Attributes
    ----------
    rows, columns : int32 ndarray of shape (n,)
        Each pair of words once.
    logs, weights : float32 ndarray of shape (n,)
        Log count and weight.
    size : int
        Number of words.
    rounds : list of list of (int, int)
        Spans of cells that share no word, by round.
    """

    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    logs: NDArray[np.float32]
    weights: NDArray[np.float32]
    size: int
    rounds: list[list[tuple[int, int]]]


def glove_arrange(
    indices: NDArray[Any],
    logs: NDArray[Any],
    weights: NDArray[Any],
    *,
    size: int,
    rng: np.random.Generator,
) -> GloveCells:
    """Shuffle cells within the pairs of groups of their words, and plan the rounds.

    The cells are copied into this order: random access through a permutation would take longer than the arithmetic.

    Parameters
    ----------
    indices : ndarray of shape (n, 2)
        Each unordered pair of words below ``size`` once.
    logs, weights : ndarray of shape (n,)
        Log count and weight of each pair.
    size : int
        Number of words.
    rng : numpy.random.Generator
        Random generator of the order.
    """
    n = len(indices)
    if indices.shape != (n, 2) or not (len(logs) == len(weights) == n):
        raise ValueError(f"cells must be (n, 2) with as many logs and weights; got {indices.shape}, {len(logs)}")
    if n and not (int(indices.min()) >= 0 and int(indices.max()) < size):
        raise ValueError(f"indices must be below {size}; got {int(indices.min())} to {int(indices.max())}")
    groups = PARTS
    i, j = (indices[:, d] % groups for d in range(2))  # neighbours in frequency go to different groups
    pair = np.minimum(i, j).astype(np.int32) * groups + np.maximum(i, j)
    order = rng.permutation(n)
    order = order[np.argsort(pair[order], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(pair, minlength=groups * groups))]).tolist()
    rounds = [[(starts[p * groups + q], starts[p * groups + q + 1]) for p, q in some] for some in _tournament(groups)]
    return GloveCells(
        frozen(indices[:, 0][order], np.int32),
        frozen(indices[:, 1][order], np.int32),
        frozen(logs[order], np.float32),
        frozen(weights[order], np.float32),
        size,
        rounds,
    )


def glove_epoch(cells: GloveCells, parameters: Parameters, *, learning_rate: float, threads: int) -> float:
    r"""Update the parameters in place by Adagrad, visiting each cell once in both directions.

    .. math:: \sum_{ij} f_{ij} \tfrac12 (w_i \cdot c_j + b_i + d_j - \log x_{ij})^2

    Parameters
    ----------
    cells : GloveCells
        Result of :func:`glove_arrange`.
    parameters : tuple of float32 ndarrays of shapes (2, V, R), (2, V), (2, V, R), (2, V)
        Vectors of words and contexts, their biases, and the accumulated squares of both, initially ones.
    learning_rate : float
        Initial learning rate; with 0 nothing changes.
    threads : int
        Number of threads, at most half the number of groups.

    Returns
    -------
    float
        The sum of the losses of the cells, each before its update.
    """
    U, b, S, t = parameters
    if not (U.ndim == 3 and U.shape[:2] == b.shape == t.shape == (2, cells.size) and S.shape == U.shape):
        raise ValueError(f"parameters must fit {cells.size} words; got {[p.shape for p in parameters]}")
    if any(p.dtype != np.float32 or not p.flags.c_contiguous or not p.flags.writeable for p in parameters):
        raise ValueError("parameters must be contiguous, writeable arrays of float32")
    eta = np.float32(learning_rate)
    total = 0.0
    for spans in cells.rounds:

        def work(k: int, spans: list[tuple[int, int]] = spans) -> float:
            return _glove_cells(cells.rows, cells.columns, cells.logs, cells.weights, eta, U, b, S, t, *spans[k])

        total += sum(in_threads(work, len(spans), threads))
    return total


def _tournament(groups: int) -> list[list[tuple[int, int]]]:
    """Pair each group with itself in one round, then with every other such that each round contains each group once.

    This is the circle method: the last group is fixed, the others rotate by one place per round.
    """
    rounds = [[(g, g) for g in range(groups)]]
    others = groups - 1
    for shift in range(others):
        met = [(shift, others)]
        met += [((shift + k) % others, (shift - k) % others) for k in range(1, groups // 2)]
        rounds.append([(min(pair), max(pair)) for pair in met])
    return rounds


FAST = {"reassoc", "contract", "nsz", "arcp"}
"""As in ``cp.py``: sums may be reordered; infinities and NaN are preserved."""


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _glove_cells(rows, columns, logs, weights, learning_rate, U, b, S, t, first, last):
    """Take the gradient of ``weight (w_i . c_j + b_i + d_j - log)^2 / 2`` at cells first..last, in both directions.

    ``U`` is (2, V, R), words and contexts, ``b`` is (2, V); ``S`` and ``t``, of the same shapes, accumulate squared
    updates. Returns the sum of the losses before the updates.
    """
    rank = U.shape[2]
    one = U.dtype.type(1)
    value = 0.0
    for e in range(first, last):
        i, j = rows[e], columns[e]
        for _ in range(1 if i == j else 2):
            w, c, sw, sc = U[0, i], U[1, j], S[0, i], S[1, j]
            m = U.dtype.type(0)
            for r in range(rank):
                m += w[r] * c[r]
            error = m + b[0, i] + b[1, j] - logs[e]
            g = weights[e] * error
            value += 0.5 * g * error
            g *= learning_rate
            for r in range(rank):
                dw, dc = g * c[r], g * w[r]
                w[r] -= dw * (one / math.sqrt(sw[r]))
                c[r] -= dc * (one / math.sqrt(sc[r]))
                sw[r] += dw * dw
                sc[r] += dc * dc
            b[0, i] -= g * (one / math.sqrt(t[0, i]))
            b[1, j] -= g * (one / math.sqrt(t[1, j]))
            t[0, i] += g * g
            t[1, j] += g * g
            i, j = j, i
    return value
