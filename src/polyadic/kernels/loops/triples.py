"""Loops over scores of all candidates: losses that are turned into derivatives in place, and steps of Adagrad."""

import math

import numpy as np
from numba import njit

FAST = {"reassoc", "contract", "nsz", "arcp"}
"""As in ``cp.py``: sums may be reordered; infinities and NaN stay what they are."""
ORDERED = FAST | {"nnan"}
"""For maxima, which are only then taken of many numbers at once; what is NaN is found by the sum of the losses."""

LOG2E = np.float32(1.4426950408889634)
LOWEST = np.float32(-126)
ROUND = np.float32(0.5)
C0 = np.float32(1.0)
C1 = np.float32(0.6931471805599453)
C2 = np.float32(0.2402265069591007)
C3 = np.float32(0.05550410866482158)
C4 = np.float32(0.009618129107628477)
C5 = np.float32(0.0013333558146428443)
C6 = np.float32(0.00015403530393381608)


@njit(cache=True, nogil=True, fastmath=FAST, inline="always")
def exponential(x):
    """Give e to the power of ``x`` below 88, in single precision, relative error 1e-7 (1 + abs(x)).

    2 to the nearest whole power, by the bits of the exponent, times the Taylor series of the rest: no call, so that the
    compiler works on as many numbers at once as the processor can. The library's takes fourteen times as long.
    """
    y = max(x * LOG2E, LOWEST)
    whole = np.floor(y + ROUND)
    rest = y - whole
    p = C6 * rest + C5
    p = p * rest + C4
    p = p * rest + C3
    p = p * rest + C2
    p = p * rest + C1
    p = p * rest + C0
    bits = (np.int32(whole) + np.int32(127)) << np.int32(23)
    return p * np.int32(bits).view(np.float32)


@njit(cache=True, nogil=True, fastmath=FAST, inline="always")
def logarithm_1p(x):
    """Give log(1 + x) for ``x`` from 0 to 1, absolute error 3e-8 (Abramowitz, Stegun 1964, 4.1.44)."""
    p = np.float32(-0.0064535442) * x + np.float32(0.0360884937)
    p = p * x - np.float32(0.0953293897)
    p = p * x + np.float32(0.1676540711)
    p = p * x - np.float32(0.2407338084)
    p = p * x + np.float32(0.3317990258)
    p = p * x - np.float32(0.4998741238)
    p = p * x + np.float32(0.9999964239)
    return p * x


@njit(cache=True, nogil=True, fastmath=ORDERED, forceinline=True)
def largest(row):
    """Give the largest number of a row."""
    top = row[0]
    for j in range(len(row)):
        top = max(top, row[j])
    return top


@njit(cache=True, nogil=True, fastmath=FAST)
def softmax_rows(S, offsets, starts, answers, first, last):
    """Turn rows of scores into derivatives of the cross entropy of their answers; give its sum.

    A row of ``t`` answers adds ``t log sum_j exp(s_j + o_j) - sum_answers s_j``. Offsets of answers are zero.
    """
    loss = 0.0
    for i in range(first, last):
        row = S[i]
        for j in range(len(row)):
            row[j] += offsets[j]
        top = largest(row)
        for e in range(starts[i], starts[i + 1]):
            loss -= float(row[answers[e]]) - float(top)
        for j in range(len(row)):
            row[j] = exponential(row[j] - top)
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
def logistic_rows(S, weights, starts, answers, first, last):
    """Turn rows of scores into derivatives of the logistic loss of all candidates; give its sum.

    A row adds ``sum_j w_j log(1 + exp(s_j)) - sum_answers s_j``. Weights of answers are one.
    """
    loss = 0.0
    for i in range(first, last):
        row = S[i]
        for e in range(starts[i], starts[i + 1]):
            loss -= row[answers[e]]
        total = np.float32(0)
        for j in range(len(row)):
            total += weights[j] * (max(row[j], np.float32(0)) + logarithm_1p(exponential(-abs(row[j]))))
        loss += float(total)
        for j in range(len(row)):
            small = exponential(-abs(row[j]))
            row[j] = weights[j] * (np.float32(1) if row[j] >= 0 else small) / (np.float32(1) + small)
        for e in range(starts[i], starts[i + 1]):
            row[answers[e]] -= np.float32(1)
    return loss


@njit(cache=True, nogil=True, fastmath=FAST)
def adagrad_step(X, H, G, rows, step, eps, first, last):
    """Move ``X[rows[i]]`` against ``G[i]`` by ``step`` over the root of the squares seen, which ``H`` adds up."""
    for i in range(first, last):
        x, h, g = X[rows[i]], H[rows[i]], G[i]
        for j in range(len(g)):
            h[j] += g[j] * g[j]
        for j in range(len(g)):
            x[j] -= step * g[j] / (np.sqrt(h[j]) + eps)


@njit(cache=True, nogil=True, fastmath=FAST)
def add_rows(index, rows, out):
    """Add each of ``rows`` to the row of ``out`` that ``index`` names, one after another."""
    for i in range(len(index)):
        to, what = out[index[i]], rows[i]
        for j in range(len(what)):
            to[j] += what[j]
