"""Doors to the loops of stochastic steps, which change a table of factors and their gradients where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.kernels.doors import checked, frozen, importances
from polyadic.kernels.loops import cp, stochastic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class RowPenalties(NamedTuple):
    """What pulls at each row of the tall matrix beside the entries; one number per row each."""

    ridge: NDArray[Any]
    lasso: NDArray[Any]
    bounded: NDArray[np.bool_]


class Touched(NamedTuple):
    """The rows a step moves, and the share of a whole epoch's penalty that is due at each."""

    rows: NDArray[np.int64]
    shares: NDArray[Any]


def add_cp_squared(
    indices: NDArray[Any],
    values: NDArray[Any],
    weights: NDArray[Any],
    T: NDArray[Any],
    *,
    offsets: Sequence[int],
    zero_weight: float,
    importance: NDArray[Any] | None = None,
    scale: float,
) -> float:
    """Add the gradient of :func:`cp_squared` to the second layer of a table of rows and give its value."""
    columns, at = checked(indices, offsets, len(T))
    n = columns.shape[1]
    if not (len(values) == len(weights) == n):
        raise ValueError(f"{n} entries need as many values and weights; got {len(values)} and {len(weights)}")
    x, w = frozen(values, T.dtype), frozen(weights, T.dtype)
    z, s, q = T.dtype.type(zero_weight), T.dtype.type(scale), importances(importance, T)
    loop = cp.squared_triples if len(columns) == 3 else cp.squared_fibres
    return loop(columns, at, x, w, z, q, s, _layers(T, 2), 0, n)


def add_cp_pullback(
    indices: NDArray[Any], derivatives: NDArray[Any], T: NDArray[Any], *, offsets: Sequence[int]
) -> None:
    """Add what :func:`cp_pullback` gives to the second layer of a table of rows."""
    columns, at = checked(indices, offsets, len(T))
    if derivatives.shape != (columns.shape[1],):
        raise ValueError(f"{columns.shape[1]} entries need as many derivatives; got {derivatives.shape}")
    cp.pullback_fibres(columns, at, frozen(derivatives, T.dtype), _layers(T, 2), 0, columns.shape[1])


def touch_rows(
    indices: NDArray[Any], offsets: Sequence[int], *, stamp: NDArray[np.int64], now: int, rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Give ``rows`` and after them the rows of the entries that no call has given yet with the same ``now``.

    ``stamp``, one number per row of U, remembers when a row was last given; ``now`` rises from step to step.
    """
    columns = frozen(indices.T)
    at = np.asarray(offsets, np.int64)
    room = np.empty(len(rows) + min(len(stamp), columns.size), np.int64)
    room[: len(rows)] = rows
    for column, offset in zip(columns, at, strict=True):
        if column.size and not (int(column.min()) + offset >= 0 and int(column.max()) + offset < len(stamp)):
            raise ValueError(f"indices must be rows of U, from 0 to {len(stamp) - 1}")
    return room[: stochastic.touch_rows(columns, at, stamp, now, room, len(rows))]


def pull_rows(touched: Touched, ridge: NDArray[Any], pull: NDArray[Any], T: NDArray[Any]) -> None:
    """Add to the gradient of each touched row its share of ``ridge U + pull``; an empty pull is none."""
    _check_touched(touched, T)
    _check_rows(T, ridge)
    if len(pull) and (len(pull) != len(T) or pull.shape[1] > T.shape[2]):
        raise ValueError(f"pull must have a row per row of T, {len(T)}, no longer; got {pull.shape}")
    stochastic.pull_rows(*touched, ridge, pull, _layers(T, 2))


def adam_rows(
    touched: Touched,
    penalties: RowPenalties,
    T: NDArray[Any],
    seen: NDArray[np.int64],
    *,
    pace: NDArray[Any],
    decays: tuple[float, float],
    eps: float,
) -> None:
    r"""Move the touched rows by Adam and make their gradient zero.

    .. math:: m \leftarrow \beta m + (1 - \beta) g, \quad v \leftarrow \gamma v + (1 - \gamma) g^2, \quad
              u \leftarrow \mathrm{prox}\Big(u - \eta\, \frac{m / (1 - \beta^t)}{\sqrt{v / (1 - \gamma^t)} +
              \epsilon}\Big)

    The step of the proximal operator is that of the element. ``pace`` holds :math:`\eta` per row, the layers of ``T``
    u, g, m and v, and ``seen`` t per row.
    """
    _check_touched(touched, T)
    _check_rows(T, *penalties, pace, seen)
    kind = T.dtype.type
    rules = (penalties.lasso, penalties.bounded)
    stochastic.adam_rows(*touched, *rules, pace, np.array(decays, T.dtype), kind(eps), _layers(T, 4), seen)


def adagrad_rows(touched: Touched, penalties: RowPenalties, T: NDArray[Any], *, pace: NDArray[Any], eps: float) -> None:
    r"""Move the touched rows by Adagrad and make their gradient zero.

    .. math:: a \leftarrow a + g^2, \quad u \leftarrow \mathrm{prox}\Big(u - \eta\, \frac{g}{\sqrt a + \epsilon}\Big)

    ``pace`` holds :math:`\eta` per row, the layers of ``T`` u, g and a.
    """
    _check_touched(touched, T)
    _check_rows(T, *penalties, pace)
    stochastic.adagrad_rows(*touched, penalties.lasso, penalties.bounded, pace, T.dtype.type(eps), _layers(T, 3))


def adagrad_whole_rows(
    touched: Touched,
    penalties: RowPenalties,
    T: NDArray[Any],
    total: NDArray[Any],
    *,
    rank: int,
    pace: NDArray[Any],
    eps: float,
) -> None:
    """Do the same with one :math:`a` per row, ``total``: the mean of :math:`g^2` over its ``rank`` elements."""
    _check_touched(touched, T)
    _check_rows(T, *penalties, pace, total)
    kind = T.dtype.type
    rules = (penalties.lasso, penalties.bounded)
    stochastic.adagrad_whole_rows(*touched, *rules, pace, kind(eps), kind(rank), _layers(T, 2), total)


def absent_cells(
    indices: NDArray[Any], starts: NDArray[np.int64], prefixes: NDArray[np.int64], leaves: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Tell which cells a list in lexicographic order does not hold.

    Parameters
    ----------
    indices : ndarray of shape (n, order)
        The list.
    starts : ndarray of shape (size of the first mode + 1,)
        Where the entries of each first index begin.
    prefixes : ndarray of shape (p, order - 1)
        All indices of a cell but the last.
    leaves : ndarray of shape (p, l)
        Last indices that go with each prefix.

    Returns
    -------
    ndarray of shape (p, l)
    """
    columns, order = frozen(indices.T), indices.shape[1]
    if order < 2 or prefixes.shape != (len(leaves), order - 1):
        raise ValueError(f"prefixes must have shape ({len(leaves)}, {order - 1}), at least one; got {prefixes.shape}")
    if prefixes.size and not 0 <= prefixes[:, 0].min() <= prefixes[:, 0].max() < len(starts) - 1:
        raise ValueError(f"first indices must be from 0 to {len(starts) - 2}")
    absent = np.empty(leaves.shape, np.bool_)
    stochastic.absent_cells(columns, frozen(starts, np.int64), frozen(prefixes.T), frozen(leaves), absent)
    return absent


def _layers(T: NDArray[Any], least: int) -> NDArray[Any]:
    """Loops write into these: a copy made to fit would be lost."""
    if T.ndim != 3 or T.shape[1] < least or not T.flags.c_contiguous:
        raise ValueError(f"a table must be contiguous, of at least {least} layers; got shape {T.shape}")
    return T


def _check_rows(T: NDArray[Any], *columns: NDArray[Any]) -> None:
    if not all(column.shape == (len(T),) for column in columns):
        raise ValueError(f"penalties, pace and memory must be one number per row of T, {len(T)}")


def _check_touched(touched: Touched, T: NDArray[Any]) -> None:
    rows, shares = touched
    if len(rows) != len(shares) or (len(rows) and not 0 <= rows.min() <= rows.max() < len(T)):
        raise ValueError(f"rows must be from 0 to {len(T) - 1}, each with a share")
