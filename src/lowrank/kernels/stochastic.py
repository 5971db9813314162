"""Doors to the loops of stochastic steps, which change the factors ``U`` and their gradient ``dU`` where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowrank.kernels.doors import checked as _checked
from lowrank.kernels.doors import frozen
from lowrank.kernels.loops import cp, stochastic

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
    *,
    offsets: Sequence[int],
    U: NDArray[Any],
    dU: NDArray[Any],
    zero_weight: float,
    scale: float,
) -> float:
    """Add the gradient of :func:`cp_squared` to ``dU`` and give its value."""
    columns, at, rows = _checked(indices, offsets, U)
    _check_twin(U, dU)
    n = columns.shape[1]
    if not (len(values) == len(weights) == n):
        raise ValueError(f"{n} entries need as many values and weights; got {len(values)} and {len(weights)}")
    x, w = frozen(values, U.dtype), frozen(weights, U.dtype)
    z, s = U.dtype.type(zero_weight), U.dtype.type(scale)
    return cp.squared_fibres(columns, at, x, w, z, s, rows, 0, n, dU)


def add_cp_pullback(
    indices: NDArray[Any], derivatives: NDArray[Any], *, offsets: Sequence[int], U: NDArray[Any], dU: NDArray[Any]
) -> None:
    """Add what :func:`cp_pullback` gives to ``dU``."""
    columns, at, rows = _checked(indices, offsets, U)
    _check_twin(U, dU)
    if derivatives.shape != (columns.shape[1],):
        raise ValueError(f"{columns.shape[1]} entries need as many derivatives; got {derivatives.shape}")
    cp.pullback_fibres(columns, at, frozen(derivatives, U.dtype), rows, 0, columns.shape[1], dU)


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


def pull_rows(touched: Touched, ridge: NDArray[Any], pull: NDArray[Any], U: NDArray[Any], *, dU: NDArray[Any]) -> None:
    """Add to each touched row of ``dU`` its share of ``ridge U + pull``; an empty pull is none."""
    _check_touched(touched, U, dU)
    if len(pull):
        _check_twin(U, pull)
    stochastic.pull_rows(*touched, ridge, pull, U, dU)


def adam_rows(
    touched: Touched,
    penalties: RowPenalties,
    state: Sequence[NDArray[Any]],
    *,
    U: NDArray[Any],
    dU: NDArray[Any],
    pace: NDArray[Any],
    decays: tuple[float, float],
    eps: float,
) -> None:
    r"""Move the touched rows by Adam and make their gradient zero.

    .. math:: m \leftarrow \beta m + (1 - \beta) g, \quad v \leftarrow \gamma v + (1 - \gamma) g^2, \quad
              u \leftarrow \mathrm{prox}\Big(u - \eta\, \frac{m / (1 - \beta^t)}{\sqrt{v / (1 - \gamma^t)} +
              \epsilon}\Big)

    The step of the proximal operator is that of the element. ``pace`` holds :math:`\eta` per
    row, ``state`` m and v of the shape of U and t per row.
    """
    _check_touched(touched, U, dU)
    _check_rows(U, penalties, pace)
    for moment in state[:2]:
        _check_twin(U, moment)
    kind = U.dtype.type
    betas = np.array(decays, U.dtype)
    rules = (penalties.lasso, penalties.bounded)
    stochastic.adam_rows(*touched, *rules, pace, betas, kind(eps), U, dU, *state)


def adagrad_rows(
    touched: Touched,
    penalties: RowPenalties,
    total: NDArray[Any],
    *,
    U: NDArray[Any],
    dU: NDArray[Any],
    pace: NDArray[Any],
    eps: float,
) -> None:
    r"""Move the touched rows by Adagrad and make their gradient zero.

    .. math:: a \leftarrow a + g^2, \quad u \leftarrow \mathrm{prox}\Big(u - \eta\, \frac{g}{\sqrt a + \epsilon}\Big)

    ``pace`` holds :math:`\eta` per row, ``total`` :math:`a`; if it has one column, the mean of :math:`g^2` over a row
    stands for all its elements.
    """
    _check_touched(touched, U, dU)
    _check_rows(U, penalties, pace)
    if len(total) != len(U) or total.shape[1] not in (1, U.shape[1]):
        raise ValueError(f"total must have a row per row of U and 1 or {U.shape[1]} columns; got {total.shape}")
    kind = U.dtype.type
    rules = (penalties.lasso, penalties.bounded)
    stochastic.adagrad_rows(*touched, *rules, pace, kind(eps), U, dU, total)


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


def _check_twin(U: NDArray[Any], other: NDArray[Any]) -> None:
    """Loops write into these: a copy made to fit would be lost."""
    if other.shape != U.shape or other.dtype != U.dtype or not other.flags.c_contiguous or not U.flags.c_contiguous:
        raise ValueError(f"arrays of rows must be contiguous, {U.dtype} {U.shape}; got {other.dtype} {other.shape}")


def _check_rows(U: NDArray[Any], penalties: RowPenalties, pace: NDArray[Any]) -> None:
    if not all(array.shape == (len(U),) for array in (*penalties, pace)):
        raise ValueError(f"penalties and pace must be one number per row of U, {len(U)}")


def _check_touched(touched: Touched, U: NDArray[Any], dU: NDArray[Any]) -> None:
    _check_twin(U, dU)
    rows, shares = touched
    if len(rows) != len(shares) or (len(rows) and not 0 <= rows.min() <= rows.max() < len(U)):
        raise ValueError(f"rows must be from 0 to {len(U) - 1}, each with a share")
