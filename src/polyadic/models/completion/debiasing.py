"""Fits with one side held: singular values with their vectors, rows with the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import check_number
from polyadic.kernels import RowEntries, posterior_rows
from polyadic.linalg.spectral import Spectral
from polyadic.models.completion.offsets import check_loss

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.losses import Convex
    from polyadic.models.completion.ratings import Cells
    from polyadic.solvers.smooth import Smooth
    from polyadic.solvers.trace_norm import Pattern

ROUNDS, SETTLED = 500, 1e-9
"""Rounds at most, and the change, relative to the largest factor, that is the last."""


def refit(M: Spectral, pattern: Pattern, smooth: Smooth) -> Spectral:
    """Fit singular values again, without penalty, to the known cells; the vectors stay.

    The trace norm takes the same from all of them, which the large ones need not have lost. A value that would be
    negative turns its vector.

    References
    ----------
    Mazumder, Hastie, Tibshirani (2010), section 7, and the function ``deBias`` of their package softImpute.
    """
    from scipy.optimize import minimize

    if not M.rank:
        return M
    design = M.U[pattern.rows] * M.V[pattern.columns] * M.s[0]  # in units of what is fitted, so the scale is no matter
    first = smooth.value(design @ (M.s / M.s[0])) or 1.0

    def value_and_slopes(s: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        m = design @ s
        return smooth.value(m) / first, design.T @ smooth.gradient(m) / first

    s = M.s[0] * minimize(value_and_slopes, M.s / M.s[0], jac=True, method="L-BFGS-B").x
    falling = np.argsort(-np.abs(s), kind="stable")
    return Spectral(M.U[:, falling] * np.sign(s[falling]), np.abs(s[falling]), M.V[:, falling])


def rows_given_columns(
    cells: Cells, V: NDArray[Any], *, loss: Convex, offsets: NDArray[Any], ridge: float, threads: int
) -> NDArray[np.float64]:
    r"""Give for each row the minimum of its losses, of predictions :math:`o_j + u \cdot v_j`, and a ridge.

    .. math:: \min_{u_i} \sum_j \ell(x_{ij}, o_{ij} + u_i \cdot v_j) + \tfrac\lambda2 \|u_i\|^2

    Each round minimizes a parabola above the losses, of their largest curvature; for squared loss the first is exact.

    Parameters
    ----------
    cells : Cells
        Rows and what is known of them.
    V : ndarray of shape (columns, R)
    loss : Convex
    offsets : ndarray of shape (n,)
        :math:`o`, by cell.
    ridge : float
        :math:`\lambda`, above 0.
    threads : int

    Returns
    -------
    ndarray of shape (rows, R)
    """
    check_loss(loss, cells.values)
    if not V.shape[1]:
        return np.zeros((cells.shape[0], 0))
    check_number("ridge", ridge, above=True)
    U, c = np.zeros((cells.shape[0], V.shape[1])), np.full(len(cells.values), loss.curvature)
    for _ in range(ROUNDS):
        m = np.einsum("nr,nr->n", U[cells.rows], V[cells.columns])
        y = c * m - loss.grad(cells.values, m + offsets)
        entries = RowEntries(cells.starts, cells.columns, c, y)
        reached = posterior_rows(entries, V, precision=ridge * np.eye(V.shape[1]), threads=threads)
        moved, U = np.abs(reached - U).max(), reached
        if moved <= SETTLED * np.abs(U).max():
            break
    return U
