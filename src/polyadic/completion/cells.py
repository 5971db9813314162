"""Observed cells of a matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, kl_div, rel_entr

from polyadic.core.annotations import AnyArray, Array, Ints, Mask
from polyadic.core.containers import NotNumericError, entries_of
from polyadic.core.errors import InputError, check_number
from polyadic.core.frames import is_wide
from polyadic.core.losses import Logistic

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Prediction(NamedTuple):
    """Predictive means and standard deviations of matrix cells, including the noise.

    For truth values the mean is a probability and the deviation that of the log-odds; for counts it is that of ``m``
    before the softplus.
    """

    mean: Array
    std: Array


@dataclass(frozen=True, eq=False)
class ObservedEntries:
    """Observed cells of a matrix, sorted by row."""

    rows: Ints
    columns: Ints
    values: Array
    shape: tuple[int, int]

    @cached_property
    def starts(self) -> Ints:
        """Row pointers as in the CSR format: the cells of row ``i`` are ``starts[i]:starts[i + 1]``."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.rows, minlength=self.shape[0]))])

    @cached_property
    def indices(self) -> Ints:
        """Row and column index of each cell, shape (n, 2), in Fortran order."""
        return np.stack([self.rows, self.columns]).T

    def array(self) -> Array:
        """Return the matrix, with NaN for unknown cells."""
        X = np.full(self.shape, np.nan)
        X[self.rows, self.columns] = self.values
        return X

    def less(self, amount: float) -> ObservedEntries:
        """Return the cells with a constant subtracted from each value."""
        return replace(self, values=self.values - amount)

    def at(self, chosen: AnyArray) -> ObservedEntries:
        """Select cells by increasing indices or by a boolean mask."""
        return replace(self, rows=self.rows[chosen], columns=self.columns[chosen], values=self.values[chosen])

    def take(self, rows: Ints) -> ObservedEntries:
        """Select rows by index, in the given order and possibly more than once, as in ``X[rows]``."""
        counts = np.diff(self.starts)[rows]
        first = np.repeat(self.starts[rows] - np.cumsum(counts) + counts, counts)
        chosen = self.at(first + np.arange(len(first)))
        return replace(chosen, rows=np.repeat(np.arange(len(rows)), counts), shape=(len(rows), self.shape[1]))

    def turned(self) -> ObservedEntries:
        """Return the cells of the transposed matrix."""
        order = np.argsort(self.columns, kind="stable")
        return ObservedEntries(self.columns[order], self.rows[order], self.values[order], self.shape[::-1])


def cells_of(X: Any, name: str = "X", *, empty: bool = False) -> ObservedEntries:
    """Convert a container to observed cells: explicit zeros of a sparse array are observed, and missing values not."""
    if isinstance(X, ObservedEntries):
        return X
    try:
        entries = entries_of(X, name, order=2, observed=True)
    except NotNumericError as error:
        hint = "; for a table of names and values, use TableCompletion" if is_wide(X) else ""
        raise NotNumericError(f"{error}{hint}") from None
    if entries.order != 2 or entries.symmetric or entries.weights is not None:
        raise InputError(f"{name} must have order 2 and no weights, and must not be marked as symmetric")
    (rows, columns), values, shape = entries.indices.T, entries.values.astype(float), entries.shape
    if not (empty or len(values)):
        raise InputError(f"{name} must have at least one observed cell; got shape {shape} with 0 observed cells")
    order = np.lexsort((columns, rows))
    i, j = rows[order].astype(np.int64), columns[order].astype(np.int64)
    cells = ObservedEntries(i, j, values[order], (shape[0], shape[1]))
    same = np.flatnonzero((np.diff(cells.rows) == 0) & (np.diff(cells.columns) == 0))
    if len(same):
        row, column = cells.rows[same[0]], cells.columns[same[0]]
        raise InputError(f"{name} must contain each cell only once; merge the duplicates of row {row}, column {column}")
    return cells


def positive_cells(X: Any, *, empty: bool = False) -> ObservedEntries:
    """Return the cells with positive values; zeros and NaN are treated as unobserved."""
    cells = cells_of(X, empty=empty)
    if cells.values.min(initial=0) < 0:
        raise InputError(f"X must not contain negative values; got {cells.values.min():g}")
    if not (empty or cells.values.any()):
        raise InputError("X must contain at least one value above 0")
    return cells.at(cells.values > 0)


def split_cells(
    cells: ObservedEntries, share: float, *, seed: int | None = None, times: AnyArray | None = None
) -> tuple[ObservedEntries, ObservedEntries]:
    """Split observed cells into training and held-out cells, at random or, if ``times`` is given, by time."""
    if check_number("share", share, above=True) >= 1:
        raise InputError(f"the held-out fraction must be less than 1; got {share!r}")
    n = len(cells.values)
    order = np.random.default_rng(seed).permutation(n) if times is None else np.argsort(-times, kind="stable")
    out = held_out_mask(order, share)
    return cells.at(~out), cells.at(out)


def held_out_mask(order: Ints, share: float) -> Mask:
    """Return a mask of the first cells of an order, a share of all; raise InputError if that is none or all."""
    number, out = round(share * len(order)), np.zeros(len(order), bool)
    if not 0 < number < len(order):
        about = f"holding out the fraction {share:g} of {len(order):,} cells leaves the training set"
        raise InputError(f"{about} or the held-out set empty; change the fraction")
    out[order[:number]] = True
    return out


def compared(before: ObservedEntries, now: ObservedEntries) -> tuple[Mask, Mask]:
    """Return a mask of the cells in ``now`` that exist in ``before``, and a mask of the cells with unchanged values.

    >>> before, now = cells_of([[1.0, 2.0], [3.0, np.nan]]), cells_of([[1.0, 5.0], [3.0, 4.0]])
    >>> [side.tolist() for side in compared(before, now)]
    [[True, True, True, False], [True, False, True, False]]
    """
    width = max(before.shape[1], now.shape[1])
    was, at = (cells.rows * width + cells.columns for cells in (before, now))
    place = np.minimum(np.searchsorted(was, at), len(was) - 1)
    known = was[place] == at
    return known, known & (before.values[place] == now.values)


def pairs(rows: ArrayLike, columns: ArrayLike, shape: tuple[int, int]) -> tuple[Ints, Ints]:
    """Validate the row and column indices of cells; a single index stands for all cells given with it."""
    i, j = np.asarray(rows), np.asarray(columns)
    if not (i.ndim and j.ndim):
        i, j = map(np.atleast_1d, np.broadcast_arrays(i, j))
    if i.shape != j.shape or i.ndim != 1 or any(at.size and at.dtype.kind not in "iu" for at in (i, j)):
        got = f"{rows!r:.40} and {columns!r:.40}; for rows and columns with names, use TableCompletion"
        raise InputError(f"rows and columns must be integer arrays of the same length; got {got}")
    for name, at, size in (("row", i, shape[0]), ("column", j, shape[1])):
        if len(at) and not 0 <= at.min() <= at.max() < size:
            got = at.min() if at.min() < 0 else at.max()
            raise InputError(f"{name} indices must be from 0 to {size - 1:,}; got {got}")
    return i.astype(np.int64), j.astype(np.int64)


def columns_of_row(cells: ObservedEntries, columns: ArrayLike, size: int) -> Ints:
    """Check that ``cells`` has a single row, and return the validated column indices."""
    if cells.shape[0] != 1:
        raise InputError(f"X must have exactly one row; got {cells.shape[0]:,}")
    pairs(cells.rows, cells.columns, (1, size))
    return pairs(np.zeros_like(columns), columns, (1, size))[1]


def rmse(model: Any, cells: ObservedEntries) -> float:
    """Return the root mean squared error of a model's predictions for the given cells."""
    return float(np.sqrt(np.mean((model.predict(cells.rows, cells.columns) - cells.values) ** 2)))


def _log_loss(x: AnyArray, p: AnyArray) -> AnyArray:
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return rel_entr(x, p) + rel_entr(1 - x, 1 - p)


DEVIANCES = {"bernoulli": _log_loss, "logistic": _log_loss, "poisson": kl_div}
"""Deviance of values from their expected values, up to a constant factor, where it is not the squared difference."""


def explained(values: ArrayLike, expected: ArrayLike, family: Any = "normal") -> float:
    """Return the share of the deviance from the mean of the values that is explained by expected values.

    The family is a name or a loss; with the loss ``Logistic``, log-odds are given instead of expected values. For the
    normal distribution the share is the coefficient of determination R².
    """
    x, m = np.asarray(values, float), np.asarray(expected, float)
    if isinstance(family, Logistic):
        m, family = expit(m), "bernoulli"
    deviance: Any = DEVIANCES.get(family, lambda x, m: (x - m) ** 2)
    left, total = deviance(x, m).sum(), deviance(x, x.mean()).sum()
    return float(1 - left / total) if total else float(left == 0)
