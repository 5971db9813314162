"""Kernel of the stochastic average gradient methods SAG and SAGA for linear models with sparse features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Array
from polyadic.core.kernels.common import frozen, in_spans


class LinearExamples(NamedTuple):
    """Examples of independent linear models: model ``p`` has the examples ``models[p]:models[p + 1]``.

    Example ``e`` has the features ``columns[starts[e]:starts[e + 1]]`` with the values ``data``, a target, an offset of
    its score, and a weight of its loss.
    """

    models: AnyArray
    starts: AnyArray
    columns: AnyArray
    data: AnyArray
    y: AnyArray
    offsets: AnyArray
    weights: AnyArray


def saga_epoch(
    examples: LinearExamples,
    W: Array,
    memory: Array,
    *,
    kind: int,
    l2: AnyArray,
    l1: AnyArray,
    sag: bool,
    shorter: float = 1.0,
    rng: np.random.Generator,
    threads: int,
) -> Array:
    r"""Run one epoch of SAGA, or SAG, for each model, updating ``W`` and ``memory``; return the average gradients.

    A model :math:`w`, a row of ``W`` (P, d), minimizes the mean of :math:`\omega_e \ell(y_e, x_e \cdot w + o_e)` over
    its examples plus :math:`\sum_j \tfrac12 \lambda_j w_j^2 + \mu_j |w_j|`, with ``l2`` and ``l1`` of the shape of
    ``W``; models without examples become zero. ``kind`` is 0 for half the squared error, 1 for the logistic and 2 for
    the Huber loss. The gradient of an example is :math:`\alpha_e x_e`, so ``memory``, one scalar :math:`\alpha_e` for
    each example, holds the gradient last seen of each. An epoch draws as many examples, with replacement, as the
    model has. Steps are :math:`1/3L` for SAGA and :math:`1/L`, divided by ``shorter``, for SAG, :math:`L` being the
    largest curvature of an example of the model. Features that an example lacks are updated when they next occur.
    Results do not depend on ``threads``.
    """
    models, starts = (frozen(array, np.int64) for array in examples[:2])
    columns = frozen(examples.columns, np.int32)
    data, y, offsets, weights = (frozen(array, np.float64) for array in examples[3:])
    n, n_models = len(y), len(models) - 1
    if W.shape != l2.shape or W.shape != l1.shape or len(W) != n_models or not len(memory) == n == len(starts) - 1:
        raise ValueError("W, l2 and l1 must have one row for each model, and memory one element for each example")
    if columns.size and not 0 <= columns.min() <= columns.max() < W.shape[1]:
        raise ValueError("columns must contain column indices of W")
    counts = np.diff(models)
    drawn = np.repeat(models[:-1], counts) + (rng.random(n) * np.repeat(counts, counts)).astype(np.int64)
    arrays = models, starts, columns, data, y, offsets, weights, drawn, frozen(l2, np.float64), frozen(l1, np.float64)
    average = np.zeros_like(W)
    in_spans(lambda first, last: _saga(*arrays, kind, sag, shorter, first, last, W, memory, average), n_models, threads)
    return average


@njit(cache=True, nogil=True)
def _saga(
    models, starts, columns, data, y, offsets, weights, drawn, l2, l1, kind, sag, shorter, first, last, W, memory, mean
):
    """Numba kernel: an epoch of SAG or SAGA for a range of models."""
    behind = np.empty(W.shape[1], np.int64)
    for p in range(first, last):
        n = models[p + 1] - models[p]
        w, g, ridge, lasso = W[p], mean[p], l2[p], l1[p]
        if n == 0:
            w[:] = 0
            continue
        largest = 0.0
        for e in range(models[p], models[p + 1]):
            squares = 0.0
            for a in range(starts[e], starts[e + 1]):
                g[columns[a]] += memory[e] * data[a] / n
                squares += data[a] * data[a]
            largest = max(largest, weights[e] * squares)
        L = (0.25 if kind == 1 else 1.0) * largest + ridge.max()
        if L == 0:
            continue
        step = 1 / (shorter * L) if sag else 1 / (3 * L)
        behind[:] = 0
        for t in range(n):
            e = drawn[models[p] + t]
            m = offsets[e]
            for a in range(starts[e], starts[e + 1]):
                j = columns[a]
                w[j] = _moved(w[j], g[j], step, ridge[j], lasso[j], t - behind[j])
                behind[j] = t + 1
                m += data[a] * w[j]
            slope = m - y[e]
            if kind == 1:
                slope = 1 / (1 + np.exp(-m)) - y[e]
            elif kind == 2:
                slope = min(max(slope, -1.0), 1.0)
            change = weights[e] * slope - memory[e]
            memory[e] += change
            for a in range(starts[e], starts[e + 1]):
                j = columns[a]
                more = change * data[a]
                w[j] = _moved(w[j], g[j] + (more / n if sag else more), step, ridge[j], lasso[j], 1)
                g[j] += more / n
        for j in range(len(w)):
            w[j] = _moved(w[j], g[j], step, ridge[j], lasso[j], n - behind[j])


@njit(cache=True, nogil=True)
def _moved(w, g, step, ridge, lasso, times):
    """Apply proximal gradient steps with a constant gradient ``g`` of the losses to a weight."""
    if lasso == 0 and times > 1:
        rate = 1 - step * ridge
        power = rate**times
        return power * w - g * ((1 - power) / ridge if ridge > 0 else step * times)
    for _ in range(times):
        new = w - step * (g + ridge * w)
        size = max(abs(new) - step * lasso, 0.0)
        new = size if new > 0 else -size
        if new == w:
            break
        w = new
    return w
