r"""Alternating direction method of multipliers (ADMM) for trace norms of a matrix or its blocks, and for robust PCA.

.. math:: \min_M f(P M) + \sum_b \lambda_b \|M_b\|_*, \qquad
          \min_{L + S = X} \|L\|_* + \lambda \|S\|_1

with :math:`M_b` the cells of some rows and columns. Copies :math:`Z_b = M_b` are shrunk separately, M is fitted to the
observed cells and the copies, and multipliers enforce their agreement. Dense matrices are stored and decomposed, so
this is for some thousand rows or columns.

References
----------
Boyd, Parikh, Chu, Peleato, Eckstein (2011), Distributed optimization and statistical learning via the alternating
direction method of multipliers, sections 3 and 7.
Candes, Li, Ma, Wright (2011), Robust principal component analysis?, algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core import resources
from polyadic.core.errors import InputError, check_number
from polyadic.core.linalg.spectral import MAX_DENSE, Spectral
from polyadic.core.solvers.run import Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from polyadic.core.solvers.smooth import CellLosses
    from polyadic.core.solvers.trace_norm import Pattern, Problem

    Array = NDArray[np.float64]

IMBALANCE, FACTOR = 10.0, 2.0
"""If one residual exceeds the other by this factor, the penalty parameter changes by the second (Boyd, eq. 3.13)."""
COPIES = 12
"""Number of dense matrices held at once, including those of a singular value decomposition."""
MAX_INNER_STEPS, REL_TOL = 100, 1e-12
"""Maximum number of Newton-type steps per cell, and the convergence threshold; squared loss takes one step."""


class Block(NamedTuple):
    r"""Rows and columns of a block, and the penalty :math:`\lambda_b` of its trace norm."""

    rows: NDArray[Any]
    columns: NDArray[Any]
    penalty: float


@dataclass
class _State:
    """State of ADMM: the matrix, the copies of its blocks, scaled multipliers, and the penalty parameter."""

    M: Array
    copies: list[Spectral]
    U: list[Array]
    rho: float


def block_trace_norms(pattern: Pattern, smooth: CellLosses, blocks: Sequence[Block]) -> Iterator[Sweep]:
    """Fit a matrix whose blocks have small trace norms.

    Blocks may overlap. Observed cells must be in a block; unobserved cells outside of all blocks stay zero. Yields the
    dense matrix M; the objective need not decrease.
    """
    for state in _alternate(pattern, smooth, blocks):
        norms = sum(
            b.penalty * float(np.linalg.svd(state.M[np.ix_(b.rows, b.columns)], compute_uv=False).sum()) for b in blocks
        )
        yield Sweep([state.M.copy()], smooth.value(state.M[pattern.rows, pattern.columns]) + norms)


def trace_norm_admm(problem: Problem) -> Iterator[Sweep]:
    """Solve the problem of :func:`~polyadic.core.solvers.trace_norm.proximal_gradient` on dense matrices.

    Yields the ``U``, ``s`` and ``V`` of a :class:`~polyadic.core.linalg.Spectral`.
    """
    m, n = problem.pattern.shape
    whole = Block(np.arange(m), np.arange(n), problem.penalty)
    for state in _alternate(problem.pattern, problem.smooth, [whole]):
        yield Sweep([*state.copies[0]], problem.objective(state.copies[0]))


def _alternate(pattern: Pattern, smooth: Any, blocks: Sequence[Block]) -> Iterator[_State]:
    check_size(pattern.shape)
    cover = np.zeros(pattern.shape)
    at = [np.ix_(block.rows, block.columns) for block in blocks]
    for block, where in zip(blocks, at, strict=True):
        check_number("penalty", block.penalty)
        cover[where] += 1
    if not cover[pattern.rows, pattern.columns].all():
        raise InputError("an observed cell is in no block; add a block of all rows and columns, or leave the cell out")
    covered = np.maximum(cover, 1)
    zeros = [np.zeros((len(b.rows), len(b.columns))) for b in blocks]
    state = _State(np.zeros(pattern.shape), [_shrunk_whole(z, 1.0) for z in zeros], zeros, smooth.curvature)
    yield state
    while True:
        total = np.zeros(pattern.shape)
        for where, Z, U in zip(at, state.copies, state.U, strict=True):
            total[where] += Z.toarray() - U
        M = total / covered
        weights = state.rho * cover[pattern.rows, pattern.columns]
        M[pattern.rows, pattern.columns] = _nearest(smooth, M[pattern.rows, pattern.columns], weights)
        primal = dual = 0.0
        copies, multipliers = [], []
        for block, where, Z, U in zip(blocks, at, state.copies, state.U, strict=True):
            copies.append(_shrunk_whole(M[where] + U, block.penalty / state.rho))
            dense = copies[-1].toarray()
            multipliers.append(U + M[where] - dense)
            primal += float(((M[where] - dense) ** 2).sum())
            dual += state.rho**2 * float(((dense - Z.toarray()) ** 2).sum())
        change = FACTOR if primal > IMBALANCE**2 * dual else 1 / FACTOR if dual > IMBALANCE**2 * primal else 1.0
        state = _State(M, copies, [U / change for U in multipliers], state.rho * change)
        yield state


def _nearest(smooth: CellLosses, v: Array, weights: Array) -> Array:
    r"""Minimise :math:`f(m) + \tfrac12 \sum_e w_e (m_e - v_e)^2`, cell by cell."""
    m = v
    curvature = smooth.loss.curvature * (1.0 if smooth.weights is None else smooth.weights)
    for _ in range(MAX_INNER_STEPS):
        step = (smooth.gradient(m) + weights * (m - v)) / (curvature + weights)
        m = m - step
        if np.abs(step).max() <= REL_TOL * max(np.abs(m).max(), 1.0):
            break
    return m


def robust_pca(X: Array, known: NDArray[np.bool_], *, penalty: float, tol: float) -> Iterator[Sweep]:
    r"""Split a matrix into a low-rank and a sparse part (principal component pursuit).

    Unobserved cells may have any value in S, at no cost.

    Parameters
    ----------
    X : ndarray of shape (m, n)
    known : ndarray of bool of shape (m, n)
    penalty : float
        :math:`\lambda`.
    tol : float
        Stopping threshold of the relative duality gap and of the relative residual :math:`\|X - L - S\|_F`.

    Yields
    ------
    Sweep
        ``U``, ``s`` and ``V`` of L, then S (dense, with exact zeros) and a lower bound of the objective. The objective
        is that of L and the residual of the observed cells.
    """
    check_size(X.shape)
    x = np.where(known, X, 0.0)
    size = float(np.abs(x).sum())
    if not size:
        raise InputError("all observed cells are zero; there is nothing to decompose")
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
    """Raise InputError if a matrix is too large to be stored and decomposed."""
    if min(shape) > MAX_DENSE:
        raise InputError(
            f"a dense matrix of {shape[0]:,} x {shape[1]:,} would be decomposed in each sweep; use another"
            " method if both"
            f" sides exceed {MAX_DENSE:,}"
        )
    needed = COPIES * 8.0 * shape[0] * shape[1]
    resources.check_memory(needed, f"ADMM on {shape[0]:,} x {shape[1]:,} cells", "use another method")


def _shrunk_whole(A: Array, threshold: float) -> Spectral:
    """Soft-threshold the singular values of a dense matrix."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > threshold
    return Spectral(U[:, kept], s[kept] - threshold, Vt[kept].T)
