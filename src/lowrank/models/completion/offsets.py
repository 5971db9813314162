"""What rows and columns add to every cell, found before anything else is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from lowrank.errors import check_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lowrank.losses import Convex
    from lowrank.models.completion.ratings import Cells

Kind = Literal["none", "mean", "biases"]
STEPS, SETTLED = 200, 1e-8
"""Rounds at most, and the largest change, in units of the values, of the last."""


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
    then for all columns, which never raises the loss; for squared loss each of the three is exact.

    Parameters
    ----------
    cells : Cells
    loss : Convex
    kind : {"none", "mean", "biases"}
    ridge : float
        :math:`\gamma`, above 0 for biases: a row with one cell would else follow it wherever it lies.

    Examples
    --------
    >>> from lowrank.losses import Squared
    >>> from lowrank.models.completion.ratings import cells_of
    >>> cells = cells_of(np.array([[1.0, 2.0], [4.0, 5.0]]))
    >>> offsets = fit_offsets(cells, Squared(), "biases", ridge=1e-9)
    >>> offsets.at(np.array([0, 1]), np.array([1, 0])).round(6).tolist()
    [2.0, 4.0]
    """
    check_number("ridge", ridge, above=kind == "biases")
    rows, columns, x = cells.rows, cells.columns, cells.values
    mean, a, b = 0.0, np.zeros(cells.shape[0]), np.zeros(cells.shape[1])
    counts = [np.bincount(at, minlength=len(v)) for at, v in ((rows, a), (columns, b))]
    for _ in range(STEPS if kind != "none" else 0):
        step = -float(loss.grad(x, mean + a[rows] + b[columns]).mean()) / loss.curvature
        mean += step
        moved = abs(step)
        for at, v, n in ((rows, a, counts[0]), (columns, b, counts[1])) if kind == "biases" else ():
            slopes = loss.grad(x, mean + a[rows] + b[columns])
            total = np.bincount(at, slopes, minlength=len(v)) + ridge * v
            steps = -total / (loss.curvature * n + ridge)
            v[:] = v + steps
            moved = max(moved, float(np.abs(steps).max()))
        if moved <= SETTLED:
            break
    return Offsets(mean, a, b)
