"""What rows and columns add to every cell, found before anything else is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from polyadic.errors import InputError
from polyadic.losses import Logistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.losses import Convex
    from polyadic.models.completion.cells import Cells

Kind = Literal["none", "mean", "biases"]
STEPS, SETTLED = 200, 1e-8
"""Rounds at most, and the largest change of the last, relative to the largest value."""


class Offsets(NamedTuple):
    r"""The numbers :math:`\mu + a_i + b_j`.

    Attributes
    ----------
    mean : float
    rows, columns : ndarray
    """

    mean: float
    rows: NDArray[np.float64]
    columns: NDArray[np.float64]

    def at(self, i: NDArray[Any], j: NDArray[Any]) -> NDArray[np.float64]:
        """Give those of some cells."""
        return np.asarray(self.mean + self.rows[i] + self.columns[j])


def fit_offsets(cells: Cells, loss: Convex, kind: Kind, *, ridge: float) -> Offsets:
    r"""Minimize the loss of known cells and :math:`\tfrac\gamma2(\|a\|^2 + \|b\|^2)` over offsets alone.

    Each round goes from the slopes of the loss and its largest curvature to what is best for the mean, for all rows,
    then for all columns, which never raises the loss; for squared loss each of the three is exact. Where such rounds
    are too short, as for the log-odds of what is rare, a quasi-Newton method goes on from them.

    Parameters
    ----------
    cells : Cells
    loss : Convex
    kind : {"none", "mean", "biases"}
    ridge : float
        :math:`\gamma`, above 0 for biases: a row with one cell would else follow it wherever it lies.

    Raises
    ------
    InputError
        If values do not fit the loss.

    Examples
    --------
    >>> from polyadic.losses import Squared
    >>> from polyadic.models.completion.cells import cells_of
    >>> cells = cells_of(np.array([[1.0, 2.0], [4.0, 5.0]]))
    >>> offsets = fit_offsets(cells, Squared(), "biases", ridge=1e-9)
    >>> offsets.at(np.array([0, 1]), np.array([1, 0])).round(6).tolist()
    [2.0, 4.0]
    """
    check_loss(loss, cells.values)
    rows, columns, x = cells.rows, cells.columns, cells.values
    mean, a, b = 0.0, np.zeros(cells.shape[0]), np.zeros(cells.shape[1])
    if kind == "none":
        return Offsets(mean, a, b)
    counts = [np.bincount(at, minlength=len(v)) for at, v in ((rows, a), (columns, b))]
    for _ in range(STEPS):
        step = -float(loss.grad(x, mean + a[rows] + b[columns]).mean()) / loss.curvature
        mean += step
        moved = abs(step)
        for at, v, n in ((rows, a, counts[0]), (columns, b, counts[1])) if kind == "biases" else ():
            slopes = loss.grad(x, mean + a[rows] + b[columns])
            total = np.bincount(at, slopes, minlength=len(v)) + ridge * v
            steps = -total / (loss.curvature * n + ridge)
            v[:] = v + steps
            moved = max(moved, float(np.abs(steps).max()))
        if moved <= SETTLED * float(np.abs(x).max()):
            return Offsets(mean, a, b)
    return _finished(Offsets(mean, a, b), cells, loss, biased=kind == "biases", ridge=ridge)


def _finished(start: Offsets, cells: Cells, loss: Convex, *, biased: bool, ridge: float) -> Offsets:
    """Go on by a quasi-Newton method, in units of the largest value and of the first loss."""
    from scipy.optimize import minimize

    rows, columns, x = cells.rows, cells.columns, cells.values
    size, ends = float(np.abs(x).max()) or 1.0, [1, 1 + len(start.rows)]

    def value_and_slopes(z: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        (mean,), a, b = np.split(z * size, ends)
        m = mean + a[rows] + b[columns]
        slopes = loss.grad(x, m)
        sides = [np.bincount(at, slopes, len(v)) + ridge * v for at, v in ((rows, a), (columns, b))]
        value = float(loss.value(x, m).sum()) + 0.5 * ridge * float(a @ a + b @ b)
        return value, size * np.concatenate([[slopes.sum()], *(side * biased for side in sides)])

    z = np.concatenate([[start.mean], start.rows, start.columns]) / size
    first = value_and_slopes(z)[0] or 1.0
    how = {"maxiter": 10 * STEPS, "ftol": np.finfo(float).eps, "gtol": SETTLED}
    best = minimize(
        lambda z: tuple(part / first for part in value_and_slopes(z)), z, jac=True, method="L-BFGS-B", options=how
    )
    (mean,), a, b = np.split(best.x * size, ends)
    return Offsets(float(mean), a, b)


def check_loss(loss: Convex, x: NDArray[np.float64]) -> None:
    """Refuse what is no convex loss with a bounded slope of slopes, and values that it is not of.

    Raises
    ------
    InputError
        If it is none, or the loss is logistic and a value not from 0 to 1.
    """
    if not (hasattr(loss, "conjugate") and hasattr(loss, "curvature")):
        raise InputError(f"loss must be Squared(), Huber() or Logistic() of polyadic.losses; got {loss!r}")
    if isinstance(loss, Logistic) and len(x) and not 0 <= x.min() <= x.max() <= 1:
        raise InputError("logistic loss is of values from 0 to 1; scale them, or take another loss")
