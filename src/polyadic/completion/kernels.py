"""Numba kernels for matrix completion: expectation propagation for ordinal values of cells with features."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from polyadic.core.annotations import Array, Ints

LOOPS = 3  # rounds of messages between the thresholds and the latent value of a cell
ROUNDS = 2  # rounds of messages between the two factors of a product
TAIL = -6.0
"""Point below which the ratio of the normal density and distribution function is computed by a continued fraction."""


class Features(NamedTuple):
    """Feature vectors of rows or columns in the CSR format."""

    starts: Ints
    indices: Ints
    values: Array


class Messages(NamedTuple):
    """Precisions, and precisions times means, of normal messages from each cell to weights and thresholds."""

    rows: Array  # shape (2, n, rank + 1), with a row per non-zero feature of a cell, as are those of columns
    columns: Array
    first: Ints  # first row of each cell, shape (cells, 2), for rows and columns
    thresholds: Array  # shape (2, cells, levels - 1)


@njit(cache=True)
def truncated(t):
    r"""Return v and w: the mean of :math:`x \sim N(t, 1)` given :math:`x > 0` is :math:`t + v`, its variance 1 - w."""
    if t > TAIL:
        v = math.exp(-0.5 * t * t) / math.sqrt(0.5 * math.pi) / math.erfc(-t / math.sqrt(2.0))
    else:
        v = -t
        for k in range(20, 0, -1):
            v = -t + k / v
    return v, v * (v + t)


@njit(cache=True)
def _without(belief, message, features, at, start, mean, variance):
    """Remove the messages of a cell from the weights of its features; set the mean and variance of the traits."""
    mean[:] = 0.0
    variance[:] = 0.0
    for e in range(features.starts[at], features.starts[at + 1]):
        f, x, place = features.indices[e], features.values[e], start + e - features.starts[at]
        for k in range(len(mean)):
            belief[0, f, k] -= message[0, place, k]
            belief[1, f, k] -= message[1, place, k]
            mean[k] += x * belief[1, f, k] / belief[0, f, k]
            variance[k] += x * x / belief[0, f, k]


@njit(cache=True)
def _with(belief, message, features, at, start, mean, variance, to):
    """Divide the messages to the traits among the weights, given all others, and add them."""
    for e in range(features.starts[at], features.starts[at + 1]):
        f, x, place = features.indices[e], features.values[e], start + e - features.starts[at]
        for k in range(len(mean)):
            p, m = belief[0, f, k], belief[1, f, k] / belief[0, f, k]
            shrunk = 1.0 + to[0, k] * max(variance[k] - x * x / p, 0.0)
            message[0, place, k] = x * x * to[0, k] / shrunk
            message[1, place, k] = x * (to[1, k] - to[0, k] * (mean[k] - x * m)) / shrunk
            belief[0, f, k] += message[0, place, k]
            belief[1, f, k] += message[1, place, k]


@njit(cache=True)
def _ordinal(level, m, v, thresholds, message, sites):
    """Set messages to thresholds; return precision and linear term of that to the value, and the log probability."""
    sites[:] = 0.0
    precision, linear, total = 1.0 / v, m / v, 0.0
    for loop in range(LOOPS):
        for i in range(thresholds.shape[1]):
            side = 1.0 if level > i else -1.0
            p = precision - sites[0, i]
            mean, variance = (linear - sites[1, i]) / p, 1.0 / p
            centre, width = thresholds[1, i] / thresholds[0, i], 1.0 / thresholds[0, i]
            deviation = math.sqrt(variance + width)
            t = side * (mean - centre) / deviation
            a, w = truncated(t)
            if loop == 0 and t > TAIL:
                total += math.log(0.5 * math.erfc(-t / math.sqrt(2.0)))
            elif loop == 0:
                total += -0.5 * t * t - 0.5 * math.log(2 * math.pi) - math.log(a)
            a, c = side * a / deviation, w / (deviation * deviation)
            rest = 1.0 - variance * c
            precision += c / rest - sites[0, i]
            linear += (a + mean * c) / rest - sites[1, i]
            sites[0, i], sites[1, i] = c / rest, (a + mean * c) / rest
            rest = 1.0 - width * c
            message[0, i] = c / rest
            message[1, i] = (centre * c - a) / rest
    return sites[0].sum(), sites[1].sum(), total


@njit(cache=True)
def propagate(order, cells, x, y, beliefs, messages):
    """Pass the messages of each cell once, in the given order, and return the sum of logarithms of its probability.

    ``cells`` are the row, the column, the level and the group of thresholds of each cell. The ``beliefs`` are the
    precisions, and precisions times means, of the weights of row features (x) and column features (y), shape (2,
    features, rank + 1), and of the thresholds, shape (2, groups, levels - 1). Beliefs and messages are updated in
    place. The probability of a cell is that before its own message.
    """
    U, V, B = beliefs
    rows, columns, levels, groups = cells
    R, H = U.shape[2] - 1, B.shape[2]
    s, t, z = np.empty((2, R + 1)), np.empty((2, R + 1)), np.empty((2, R + 1))  # means and variances without the cell
    to_s, to_t = np.empty((2, R + 1)), np.empty((2, R + 1))
    b, to_b, sites = np.empty((2, H)), np.empty((2, H)), np.empty((2, H))
    total = 0.0
    for d in order:
        i, j, g = rows[d], columns[d], groups[d]
        _without(U, messages.rows, x, i, messages.first[d, 0], s[0], s[1])
        _without(V, messages.columns, y, j, messages.first[d, 1], t[0], t[1])
        for k in range(R):
            z[0, k] = s[0, k] * t[0, k]
            z[1, k] = s[1, k] * t[1, k] + s[1, k] * t[0, k] ** 2 + t[1, k] * s[0, k] ** 2
        z[0, R], z[1, R] = s[0, R] + t[0, R], s[1, R] + t[1, R]
        m, v = z[0].sum(), z[1].sum()
        b[:] = B[:, g] - messages.thresholds[:, d]
        precision, linear, probability = _ordinal(levels[d], m, v + 1.0, b, to_b, sites)
        total += probability
        precision, linear = precision / (1.0 + precision), linear / (1.0 + precision)  # noise of variance 1
        for k in range(R):
            shrunk = 1.0 + precision * (v - z[1, k])
            p, e = precision / shrunk, (linear - precision * (m - z[0, k])) / shrunk
            mean, square = t[0, k], t[1, k] + t[0, k] ** 2
            for _ in range(ROUNDS):
                for trait, to in ((s, to_s), (t, to_t)):
                    to[0, k], to[1, k] = p * square, e * mean
                    q = 1.0 / trait[1, k] + to[0, k]
                    mean = (trait[0, k] / trait[1, k] + to[1, k]) / q
                    square = mean * mean + 1.0 / q
        for other, to in ((t, to_s), (s, to_t)):  # biases
            shrunk = 1.0 + precision * (v - z[1, R] + other[1, R])
            to[0, R] = precision / shrunk
            to[1, R] = (linear - precision * (m - z[0, R] + other[0, R])) / shrunk
        _with(U, messages.rows, x, i, messages.first[d, 0], s[0], s[1], to_s)
        _with(V, messages.columns, y, j, messages.first[d, 1], t[0], t[1], to_t)
        messages.thresholds[:, d] = to_b
        B[:, g] = b + to_b
    return total
