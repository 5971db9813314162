r"""Alternating direction method of multipliers (ADMM) for trace norm minimisation and robust PCA.

.. math:: \min_M f(P M) + \lambda \|M\|_*, \qquad \min_{L + S = X} \|L\|_* + \lambda \|S\|_1

A copy :math:`Z = M` is shrunk, M is fitted to the observed cells and the copy, and multipliers U enforce their
agreement. Dense matrices are stored and decomposed, so this is for some thousand rows or columns.

References
----------
Boyd, Parikh, Chu, Peleato, Eckstein (2011), Distributed optimization and statistical learning via the alternating
direction method of multipliers, sections 3 and 7.
Candes, Li, Ma, Wright (2011), Robust principal component analysis?, algorithm 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core import resources
from polyadic.core.errors import InputError
from polyadic.core.linalg.spectral import MAX_DENSE, Spectral
from polyadic.core.solvers.run import Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from polyadic.core.solvers.smooth import CellLosses
    from polyadic.core.solvers.trace_norm import Problem

    Array = NDArray[np.float64]

IMBALANCE, FACTOR = 10.0, 2.0
"""If one residual exceeds the other by this factor, the penalty parameter changes by the second (Boyd, eq. 3.13)."""
COPIES = 12
"""Number of dense matrices held at once, including those of a singular value decomposition."""
MAX_INNER_STEPS, REL_TOL = 100, 1e-12
"""Maximum number of Newton-type steps per cell, and the convergence threshold; squared loss takes one step."""


def trace_norm_admm(problem: Problem) -> Iterator[Sweep]:
    """Solve a trace norm problem by ADMM, yielding the factors U, s and V after each sweep.

    The factors are those of :func:`~polyadic.core.solvers.trace_norm.proximal_gradient`.
    """
    check_size(problem.pattern.shape)
    smooth: Any = problem.smooth
    known = problem.pattern.rows, problem.pattern.columns
    U, rho = np.zeros(problem.pattern.shape), smooth.curvature
    Z = _shrunk_whole(U, 1.0)
    copy = Z.toarray()
    while True:
        yield Sweep([*Z], problem.objective(Z))
        M = copy - U
        M[known] = _nearest(smooth, M[known], rho)
        Z, before = _shrunk_whole(M + U, problem.penalty / rho), copy
        copy = Z.toarray()
        primal, dual = float(((M - copy) ** 2).sum()), rho**2 * float(((copy - before) ** 2).sum())
        change = FACTOR if primal > IMBALANCE**2 * dual else 1 / FACTOR if dual > IMBALANCE**2 * primal else 1.0
        U, rho = (U + M - copy) / change, rho * change


def _nearest(smooth: CellLosses, v: Array, rho: float) -> Array:
    r"""Evaluate the proximal operator of the loss for each cell, :math:`\arg\min_m f(m) + \tfrac\rho2 \|m - v\|^2`."""
    m = v
    curvature = smooth.loss.curvature * (1.0 if smooth.weights is None else smooth.weights)
    for _ in range(MAX_INNER_STEPS):
        step = (smooth.gradient(m) + rho * (m - v)) / (curvature + rho)
        m = m - step
        if np.abs(step).max() <= REL_TOL * max(np.abs(m).max(), 1.0):
            break
    return m


def robust_pca(X: Array, known: NDArray[np.bool_], *, penalty: float, tol: float) -> Iterator[Sweep]:
    """Decompose a matrix into a low-rank matrix L and a sparse matrix S by principal component pursuit.

    Unknown cells may have any value in S, at no cost. Yields ``U``, ``s`` and ``V`` of L, then S (dense, with exact
    zeros) and a lower bound of the objective, which is that of L and the residual of the observed cells. Ends when the
    relative duality gap and the relative residual are at most ``tol``.
    """
    check_size(X.shape)
    x = np.where(known, X, 0.0)
    size = float(np.abs(x).sum())
    if not size:
        raise InputError("X must have at least one non-zero observed cell")
    mu = known.sum() / (4 * size)  # the rule of Candes et al. for all cells
    S, Y, bound = np.zeros_like(x), np.zeros_like(x), 0.0
    yield Sweep([*_shrunk_whole(S, 1.0), S, np.array(bound)], penalty * size)
    while True:
        L = _shrunk_whole(x - S + Y / mu, 1 / mu)
        dense = L.toarray()
        left = x - dense + Y / mu
        S = np.where(known, np.sign(left) * np.maximum(np.abs(left) - penalty / mu, 0), left)
        Y = np.where(known, Y + mu * (x - dense - S), 0.0)
        bound = max(bound, float((x * Y).sum()) * min(1.0, 1 / float(np.linalg.norm(Y, 2))))
        objective = L.norm + penalty * float(np.abs(x - dense)[known].sum())
        yield Sweep([*L, np.where(known, S, 0.0), np.array(bound)], objective)
        apart = np.linalg.norm((x - dense - S)[known]) / np.linalg.norm(x)
        if objective - bound <= tol * objective and apart <= tol:
            return


def check_size(shape: tuple[int, ...]) -> None:
    """Raise InputError if a matrix is too large to be decomposed in dense form."""
    if min(shape) > MAX_DENSE:
        raise InputError(
            f"the smaller dimension of X must be at most {MAX_DENSE:,} for this method; got {shape[0]:,} x {shape[1]:,}"
            " cells; use another method"
        )
    needed = COPIES * 8.0 * shape[0] * shape[1]
    resources.check_memory(needed, f"ADMM on {shape[0]:,} x {shape[1]:,} cells", "use another method")


def _shrunk_whole(A: Array, threshold: float) -> Spectral:
    """Soft-threshold the singular values of a dense matrix."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > threshold
    return Spectral(U[:, kept], s[kept] - threshold, Vt[kept].T)
