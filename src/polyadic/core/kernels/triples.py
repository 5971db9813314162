"""Kernels for scoring candidates: softmax and logistic losses, Adagrad steps, row sums and top-k selection."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Floats, Ints
from polyadic.core.kernels.common import frozen, in_spans


def softmax_rows(
    S: Floats, *, starts: AnyArray, answers: AnyArray, weights: AnyArray | None = None, threads: int = 1
) -> float:
    r"""Replace scores in place by the gradient of the softmax cross-entropy, and return the total loss.

    The loss of a row is :math:`t_i \log \sum_j w_j e^{s_{ij}} - \sum_a s_{ia}`. ``S`` is (n, candidates), overwritten;
    row ``i`` has the :math:`t_i` answers ``answers[starts[i]:starts[i + 1]]``; ``weights`` are positive multiplicities
    of candidates, 1 for answers and by default. The last digits of the sum depend on ``threads``.
    """
    offsets = np.zeros(S.shape[1]) if weights is None else np.log(weights)
    return _rows(_softmax_rows, S, offsets, starts, answers, threads)


def logistic_rows(
    S: Floats, *, starts: AnyArray, answers: AnyArray, weights: AnyArray | None = None, threads: int = 1
) -> float:
    r"""Replace scores in place by the gradient of the logistic loss, and return the total loss.

    The loss of a row is :math:`\sum_j w_j \log(1 + e^{s_{ij}}) - \sum_a s_{ia}`.
    """
    return _rows(_logistic_rows, S, np.ones(S.shape[1]) if weights is None else weights, starts, answers, threads)


def adagrad_step(X: Floats, H: Floats, G: Floats, *, rows: AnyArray, step: float, eps: float, threads: int = 1) -> None:
    r"""Update ``X[rows]`` with Adagrad, :math:`x \leftarrow x - \eta\, g / (\sqrt{h} + \epsilon)`.

    First adds :math:`g^2` to ``H[rows]``. ``X`` and ``H`` are (n, d), ``G`` is (m, d); ``rows``, shape (m,), are
    distinct.
    """
    if X.shape != H.shape or G.shape != (len(rows), X.shape[1]):
        raise ValueError(
            f"X and H must have the same shape, and G must have shape {len(rows), X.shape[1]}; got {G.shape}"
        )
    _inside(rows, len(X))
    work = partial(_adagrad_step, X, H, frozen(G), frozen(rows, np.int64), np.float32(step), np.float32(eps))
    in_spans(work, len(rows), threads)


def add_rows(index: AnyArray, rows: AnyArray, out: AnyArray) -> None:
    """Add ``rows[i]`` to ``out[index[i]]`` in place for each i, also for repeated indices."""
    if rows.shape != (len(index), out.shape[1]):
        raise ValueError(f"rows must have shape {len(index), out.shape[1]}, one row per index; got {rows.shape}")
    _inside(index, len(out))
    _add_rows(frozen(index, np.int64), frozen(rows, out.dtype), out)


def summed_rows(index: AnyArray, rows: AnyArray, size: int) -> AnyArray:
    """Sum the rows that have the same index, and return an array of ``size`` rows."""
    total = np.zeros((size, rows.shape[1]), rows.dtype)
    add_rows(index, rows, total)
    return total


def best_of_rows(scores: AnyArray, n: int) -> tuple[Ints, AnyArray]:
    """Return the indices and values of the n largest elements of each row, in descending order."""
    if not 1 <= n <= scores.shape[1]:
        raise ValueError(f"n must be from 1 to the number of columns, {scores.shape[1]}; got {n}")
    places, values = np.zeros((len(scores), n), np.int64), np.zeros((len(scores), n), scores.dtype)
    _best_of_rows(frozen(scores), places, values)
    return places, values


def _rows(
    loop: Callable[..., float], S: Floats, columns: AnyArray, starts: AnyArray, answers: AnyArray, threads: int
) -> float:
    if S.dtype != np.float32 or not S.flags.c_contiguous or columns.shape != (S.shape[1],):
        raise ValueError(f"S must be a contiguous float32 array with one weight per column; got shape {S.shape}")
    if starts.shape != (len(S) + 1,) or starts[0] != 0 or starts[-1] != len(answers) or (np.diff(starts) < 0).any():
        raise ValueError(f"starts must have {len(S) + 1} elements that increase from 0 to {len(answers)}")
    _inside(answers, S.shape[1])
    arrays = frozen(columns, np.float32), frozen(starts, np.int64), frozen(answers, np.int64)
    return sum(in_spans(partial(loop, S, *arrays), len(S), threads))


def _inside(index: AnyArray, size: int) -> None:
    if len(index) and not 0 <= index.min() <= index.max() < size:
        raise ValueError(f"indices must be from 0 to {size - 1}; got {index.min()} to {index.max()}")


FAST = {"reassoc", "contract", "nsz", "arcp"}  # see ``cp.py``: sums may be reordered; infinities and NaN are preserved
ORDERED = FAST | {"nnan"}  # for maxima, which are vectorized only then; NaN is detected in the sum of the losses

LOG2E, LOWEST, ROUND = np.float32(1 / math.log(2)), np.float32(-126), np.float32(0.5)
C0, C1, C2, C3, C4, C5, C6 = (np.float32(math.log(2) ** k / math.factorial(k)) for k in range(7))
"""Taylor coefficients of ``2^x``."""


@njit(cache=True, nogil=True, fastmath=FAST, inline="always")
def _exponential(x):
    """Return ``exp(x)`` for ``x`` below 88 in single precision, with relative error 1e-7 (1 + abs(x)).

    Two to the nearest whole power, by the bits of the exponent, times a Taylor series: without a call, so that it is
    vectorized. The library function takes fourteen times as long.
    """
    y = max(x * LOG2E, LOWEST)
    whole = np.floor(y + ROUND)
    rest = y - whole
    p = (((((C6 * rest + C5) * rest + C4) * rest + C3) * rest + C2) * rest + C1) * rest + C0
    bits = (np.int32(whole) + np.int32(127)) << np.int32(23)
    return p * np.int32(bits).view(np.float32)


@njit(cache=True, nogil=True, fastmath=FAST, inline="always")
def _logarithm_1p(x):
    """Return ``log(1 + x)`` for ``x`` from 0 to 1, with absolute error 3e-8 (Abramowitz, Stegun 1964, 4.1.44)."""
    p = np.float32(-0.0064535442) * x + np.float32(0.0360884937)
    p = p * x - np.float32(0.0953293897)
    p = p * x + np.float32(0.1676540711)
    p = p * x - np.float32(0.2407338084)
    p = p * x + np.float32(0.3317990258)
    p = p * x - np.float32(0.4998741238)
    p = p * x + np.float32(0.9999964239)
    return p * x


@njit(cache=True, nogil=True, fastmath=ORDERED, forceinline=True)
def _largest(row):
    """Return the maximum of a row."""
    top = row[0]
    for j in range(len(row)):
        top = max(top, row[j])
    return top


@njit(cache=True, nogil=True, fastmath=FAST)
def _softmax_rows(S, offsets, starts, answers, first, last):
    """Numba kernel: replace scores by the gradient of ``t log sum_j exp(s_j + o_j) - sum_answers s_j``; return it."""
    loss = 0.0
    for i in range(first, last):
        row = S[i]
        for j in range(len(row)):
            row[j] += offsets[j]
        top = _largest(row)
        for e in range(starts[i], starts[i + 1]):
            loss -= float(row[answers[e]]) - float(top)
        for j in range(len(row)):
            row[j] = _exponential(row[j] - top)
        total = np.float32(0)
        for j in range(len(row)):
            total += row[j]
        count = np.float32(starts[i + 1] - starts[i])
        loss += float(count) * math.log(total)
        share = count / total
        for j in range(len(row)):
            row[j] *= share
        for e in range(starts[i], starts[i + 1]):
            row[answers[e]] -= np.float32(1)
    return loss


@njit(cache=True, nogil=True, fastmath=FAST)
def _logistic_rows(S, weights, starts, answers, first, last):
    """Numba kernel: replace scores by the gradient of ``sum_j w_j log(1 + exp(s_j)) - sum_answers s_j``; return it."""
    loss = 0.0
    for i in range(first, last):
        row = S[i]
        for e in range(starts[i], starts[i + 1]):
            loss -= row[answers[e]]
        total = np.float32(0)
        for j in range(len(row)):
            total += weights[j] * (max(row[j], np.float32(0)) + _logarithm_1p(_exponential(-abs(row[j]))))
        loss += float(total)
        for j in range(len(row)):
            small = _exponential(-abs(row[j]))
            row[j] = weights[j] * (np.float32(1) if row[j] >= 0 else small) / (np.float32(1) + small)
        for e in range(starts[i], starts[i + 1]):
            row[answers[e]] -= np.float32(1)
    return loss


@njit(cache=True, nogil=True, fastmath=FAST)
def _adagrad_step(X, H, G, rows, step, eps, first, last):
    """Update ``X[rows[i]]`` with Adagrad and gradient ``G[i]``; ``H`` contains the sums of squared gradients."""
    for i in range(first, last):
        x, h, g = X[rows[i]], H[rows[i]], G[i]
        for j in range(len(g)):
            h[j] += g[j] * g[j]
        for j in range(len(g)):
            x[j] -= step * g[j] / (np.sqrt(h[j]) + eps)


@njit(cache=True, nogil=True, fastmath=FAST)
def _add_rows(index, rows, out):
    """Numba kernel: add ``rows[i]`` to ``out[index[i]]`` for each i."""
    for i in range(len(index)):
        to, what = out[index[i]], rows[i]
        for j in range(len(what)):
            to[j] += what[j]


@njit(cache=True, nogil=True)
def _best_of_rows(scores, places, values):
    """Numba kernel: select the largest elements of each row by insertion into sorted arrays."""
    n = places.shape[1]
    for i in range(len(scores)):
        held = 0
        least = values[i, n - 1]
        for j in range(scores.shape[1]):
            score = scores[i, j]
            if held == n and not score > least:
                continue
            k = min(held, n - 1)
            while k > 0 and score > values[i, k - 1]:
                values[i, k], places[i, k] = values[i, k - 1], places[i, k - 1]
                k -= 1
            values[i, k], places[i, k] = score, j
            held = min(held + 1, n)
            least = values[i, n - 1]
