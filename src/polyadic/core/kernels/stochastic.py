"""Kernels for stochastic gradient descent: minibatch gradients, optimizers, and lookup of unobserved cells.

Factors are the rows of a table ``T``, as in ``cp.py``: ``T[i, 0]`` is a row ``U[i]``, ``T[i, 1]`` its gradient, and
further layers are the state of a step rule. The cost is proportional to the rows that a step touches; their gradients
are left as zeros for the next step. The padding of a row is zero and stays zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Ints, Mask
from polyadic.core.kernels import cp
from polyadic.core.kernels.common import checked, frozen, importances

FAST = {"reassoc", "contract", "nsz", "arcp"}  # see ``cp.py``: sums may be reordered; infinities and NaN are preserved


class RowPenalties(NamedTuple):
    """Penalties of the stacked factor matrix, with one value per row."""

    ridge: AnyArray
    lasso: AnyArray
    bounded: Mask


class Touched(NamedTuple):
    """Rows updated in an SGD step, and the fraction of an epoch's penalty to apply to each row."""

    rows: Ints
    shares: AnyArray


def add_cp_squared(
    indices: AnyArray,
    values: AnyArray,
    weights: AnyArray,
    T: AnyArray,
    *,
    offsets: Sequence[int],
    zero_weight: float,
    importance: AnyArray | None = None,
    scale: float,
) -> float:
    """Return the loss of :func:`cp_squared`, and add the gradient to the second layer of a table of rows."""
    columns, at = checked(indices, offsets, len(T))
    n = columns.shape[1]
    if not (len(values) == len(weights) == n):
        raise ValueError(
            f"values and weights must have one element for each of {n} entries; got {len(values)}, {len(weights)}"
        )
    x, w = frozen(values, T.dtype), frozen(weights, T.dtype)
    z, s, q = T.dtype.type(zero_weight), T.dtype.type(scale), importances(importance, T)
    loop = cp.squared_triples if len(columns) == 3 else cp.squared_fibres
    return loop(columns, at, x, w, z, q, s, _layers(T, 2), 0, n)


def add_cp_pullback(indices: AnyArray, derivatives: AnyArray, T: AnyArray, *, offsets: Sequence[int]) -> None:
    """Add the gradient of :func:`cp_pullback` to the second layer of a table of rows."""
    columns, at = checked(indices, offsets, len(T))
    if derivatives.shape != (columns.shape[1],):
        raise ValueError(f"derivatives must have shape ({columns.shape[1]},), one per entry; got {derivatives.shape}")
    cp.pullback_fibres(columns, at, frozen(derivatives, T.dtype), _layers(T, 2), 0, columns.shape[1])


def touch_rows(indices: AnyArray, offsets: Sequence[int], *, stamp: Ints, now: int, rows: Ints) -> Ints:
    """Append the factor rows of the entries to ``rows``, except for rows already touched in the current step.

    ``stamp``, one number per row of U, holds the last step that touched it; ``now`` increases from step to step.
    """
    columns = frozen(indices.T)
    at = np.asarray(offsets, np.int64)
    room = np.empty(len(rows) + min(len(stamp), columns.size), np.int64)
    room[: len(rows)] = rows
    for column, offset in zip(columns, at, strict=True):
        if column.size and not (int(column.min()) + offset >= 0 and int(column.max()) + offset < len(stamp)):
            raise ValueError(f"indices must be row indices of U, from 0 to {len(stamp) - 1}")
    return room[: _touch_rows(columns, at, stamp, now, room, len(rows))]


def pull_rows(touched: Touched, ridge: AnyArray, pull: AnyArray, T: AnyArray) -> None:
    """Add the gradient of the penalties to the gradients of the touched rows, scaled by the share of each row.

    The gradient is ``ridge * U + pull``; ``pull`` may be empty.
    """
    _check_rows(touched, T, ridge)
    if len(pull) and (len(pull) != len(T) or pull.shape[1] > T.shape[2]):
        raise ValueError(f"the array pull must have {len(T)} rows and no more columns than T; got {pull.shape}")
    _pull_rows(*touched, ridge, pull, _layers(T, 2))


def adam_rows(
    touched: Touched,
    penalties: RowPenalties,
    T: AnyArray,
    seen: Ints,
    *,
    pace: AnyArray,
    decays: tuple[float, float],
    eps: float,
) -> None:
    r"""Update the touched rows with Adam and reset their gradients to zero.

    .. math:: m \leftarrow \beta m + (1 - \beta) g, \quad v \leftarrow \gamma v + (1 - \gamma) g^2, \quad
              u \leftarrow \mathrm{prox}\Big(u - \eta\, \frac{m / (1 - \beta^t)}{\sqrt{v / (1 - \gamma^t)} +
              \epsilon}\Big)

    The proximal operator has the step of the element. ``pace`` is :math:`\eta` per row, the layers of ``T`` are u, g, m
    and v, and ``seen`` is t per row.
    """
    _check_rows(touched, T, *penalties, pace, seen)
    kind = T.dtype.type
    rules = (penalties.lasso, penalties.bounded)
    _adam_rows(*touched, *rules, pace, np.array(decays, T.dtype), kind(eps), _layers(T, 4), seen)


def adagrad_rows(touched: Touched, penalties: RowPenalties, T: AnyArray, *, pace: AnyArray, eps: float) -> None:
    r"""Update the touched rows with Adagrad and reset their gradients to zero.

    .. math:: a \leftarrow a + g^2, \quad u \leftarrow \mathrm{prox}\Big(u - \eta\, \frac{g}{\sqrt a + \epsilon}\Big)

    ``pace`` is :math:`\eta` per row, the layers of ``T`` are u, g and a.
    """
    _check_rows(touched, T, *penalties, pace)
    _adagrad_rows(*touched, penalties.lasso, penalties.bounded, pace, T.dtype.type(eps), _layers(T, 3))


def adagrad_whole_rows(
    touched: Touched, penalties: RowPenalties, T: AnyArray, total: AnyArray, *, rank: int, pace: AnyArray, eps: float
) -> None:
    """Update the touched rows with Adagrad, using one sum of squared gradients per row.

    As :func:`adagrad_rows`, with the sum in ``total`` of the mean of :math:`g^2` over the ``rank`` elements of a row.
    """
    _check_rows(touched, T, *penalties, pace, total)
    kind = T.dtype.type
    rules = (penalties.lasso, penalties.bounded)
    _adagrad_whole_rows(*touched, *rules, pace, kind(eps), kind(rank), _layers(T, 2), total)


def absent_cells(indices: AnyArray, starts: Ints, prefixes: Ints, leaves: Ints) -> Mask:
    """Return whether each cell is unobserved, given entries in lexicographic order.

    A cell has one of ``prefixes`` (p, order - 1) and one of its ``leaves`` (p, l); ``starts`` are the offsets of each
    first index. The result has shape (p, l).
    """
    columns, order = frozen(indices.T), indices.shape[1]
    if order < 2:
        raise ValueError(f"indices must have at least two columns; got {order}")
    if prefixes.shape != (len(leaves), order - 1):
        raise ValueError(f"prefixes must have shape {len(leaves), order - 1}; got {prefixes.shape}")
    if prefixes.size and not 0 <= prefixes[:, 0].min() <= prefixes[:, 0].max() < len(starts) - 1:
        raise ValueError(f"the first column of prefixes must contain indices from 0 to {len(starts) - 2}")
    absent = np.empty(leaves.shape, np.bool_)
    _absent_cells(columns, frozen(starts, np.int64), frozen(prefixes.T), frozen(leaves), absent)
    return absent


def _layers(T: AnyArray, least: int) -> AnyArray:
    """Check that the table has enough layers, and is contiguous so that kernels can update it in place."""
    if T.ndim != 3 or T.shape[1] < least or not T.flags.c_contiguous:
        raise ValueError(f"the table must be contiguous and have at least {least} layers; got shape {T.shape}")
    return T


def _check_rows(touched: Touched, T: AnyArray, *columns: AnyArray) -> None:
    rows, shares = touched
    if len(rows) != len(shares):
        raise ValueError(f"shares must have one element for each of {len(rows)} rows; got {len(shares)}")
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(T):
        raise ValueError(f"rows must be indices from 0 to {len(T) - 1}")
    if not all(column.shape == (len(T),) for column in columns):
        raise ValueError(f"penalties, pace and memory must have one element for each of {len(T)} rows of T")


@njit(cache=True, nogil=True)
def _touch_rows(indices, offsets, stamp, now, rows, count):
    """Numba kernel: append each row that is not yet marked with ``now`` to ``rows``; return the row count."""
    for d in range(indices.shape[0]):
        column, offset = indices[d], offsets[d]
        for e in range(len(column)):
            i = offset + column[e]
            if stamp[i] != now:
                stamp[i] = now
                rows[count] = i
                count += 1
    return count


@njit(cache=True, nogil=True, fastmath=FAST)
def _pull_rows(rows, shares, ridge, pull, T):
    """Numba kernel: add the gradient of the penalties to the gradient of each touched row."""
    for k in range(len(rows)):
        i, share = rows[k], shares[k]
        strength = share * ridge[i]
        if strength != 0:
            for r in range(T.shape[2]):
                T[i, 1, r] += strength * T[i, 0, r]
        if len(pull):
            for r in range(pull.shape[1]):
                T[i, 1, r] += share * pull[i, r]


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _shrink_row(u, steps, lasso, bounded):
    """Numba kernel: apply the proximal operator of a lasso penalty to a row, clipping at zero if ``bounded``."""
    zero = u.dtype.type(0)
    if bounded:
        for r in range(len(u)):
            u[r] = max(u[r] - lasso * steps[r], zero)
    else:
        for r in range(len(u)):
            size = max(abs(u[r]) - lasso * steps[r], zero)
            u[r] = size if u[r] > 0 else -size


@njit(cache=True, nogil=True, fastmath=FAST)
def _adam_rows(rows, shares, lasso, bounded, pace, betas, eps, T, seen):
    """Numba kernel: update rows with Adam and reset their gradients to zero."""
    beta, gamma = betas[0], betas[1]
    one = T.dtype.type(1)
    steps = np.empty(T.shape[2], T.dtype)
    for k in range(len(rows)):
        i = rows[k]
        seen[i] += 1
        # one square root of the bias correction per row, with eps scaled accordingly
        root = T.dtype.type(math.sqrt(1 - float(gamma) ** seen[i]))
        step, small = pace[i] * root, eps * root
        unbias = T.dtype.type(1 / (1 - float(beta) ** seen[i]))
        for r in range(T.shape[2]):
            g = T[i, 1, r]
            T[i, 1, r] = 0
            m = beta * T[i, 2, r] + (one - beta) * g
            v = gamma * T[i, 3, r] + (one - gamma) * g * g
            T[i, 2, r] = m
            T[i, 3, r] = v
            steps[r] = step / (np.sqrt(v) + small)
            T[i, 0, r] -= unbias * steps[r] * m
        if bounded[i] or lasso[i] != 0:
            _shrink_row(T[i, 0], steps, shares[k] * lasso[i], bounded[i])


@njit(cache=True, nogil=True, fastmath=FAST)
def _adagrad_rows(rows, shares, lasso, bounded, pace, eps, T):
    """Numba kernel: update rows with Adagrad and reset their gradients to zero."""
    steps = np.empty(T.shape[2], T.dtype)
    for k in range(len(rows)):
        i = rows[k]
        for r in range(T.shape[2]):
            g = T[i, 1, r]
            T[i, 1, r] = 0
            total = T[i, 2, r] + g * g
            T[i, 2, r] = total
            steps[r] = pace[i] / (np.sqrt(total) + eps)
            T[i, 0, r] -= steps[r] * g
        if bounded[i] or lasso[i] != 0:
            _shrink_row(T[i, 0], steps, shares[k] * lasso[i], bounded[i])


@njit(cache=True, nogil=True, fastmath=FAST)
def _adagrad_whole_rows(rows, shares, lasso, bounded, pace, eps, rank, T, total):
    """Numba kernel: update rows with Adagrad, using one sum of mean squared gradients per row."""
    steps = np.empty(T.shape[2], T.dtype)
    for k in range(len(rows)):
        i = rows[k]
        squares = T.dtype.type(0)
        for r in range(T.shape[2]):
            squares += T[i, 1, r] * T[i, 1, r]
        total[i] += squares / rank
        step = pace[i] / (np.sqrt(total[i]) + eps)
        for r in range(T.shape[2]):
            T[i, 0, r] -= step * T[i, 1, r]
            T[i, 1, r] = 0
        if bounded[i] or lasso[i] != 0:
            steps[:] = step
            _shrink_row(T[i, 0], steps, shares[k] * lasso[i], bounded[i])


@njit(cache=True, nogil=True)
def _first_at_least(column, low, high, value):
    """Return the first position from ``low`` whose element is at least ``value``, or ``high``, in a sorted column."""
    while low < high:
        middle = (low + high) // 2
        if column[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _absent_cells(indices, starts, prefixes, leaves, absent):
    """Numba kernel: mark unobserved cells, given the leading indices and the last index of each cell."""
    order = indices.shape[0]
    for p in range(leaves.shape[0]):
        low, high = 0, indices.shape[1]
        for d in range(order - 1):
            value = prefixes[d, p]
            if d == 0:
                low, high = starts[value], starts[value + 1]
            else:
                low = _first_at_least(indices[d], low, high, value)
                high = _first_at_least(indices[d], low, high, value + 1)
        for c in range(leaves.shape[1]):
            at = _first_at_least(indices[order - 1], low, high, leaves[p, c])
            absent[p, c] = at == high or indices[order - 1, at] != leaves[p, c]
