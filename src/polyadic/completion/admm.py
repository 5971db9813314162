r"""Alternating direction method of multipliers (ADMM) for sums of trace norms and robust PCA.

.. math:: \min_x f(P x) + \sum_k \lambda_k \|A_k x\|_*, \qquad \min_{L + S = X} \|L\|_* + \lambda \|S\|_1

:math:`A_k` arranges elements of x as a matrix: a block of a matrix, or an unfolding of a tensor. Copies
:math:`Z_k = A_k x` are shrunk, x is fitted to the observed cells and the copies, and multipliers enforce their
agreement. In the latent form each norm has a matrix of its own, and the observed cells are those of their sum:

.. math:: \min_Z f(P \textstyle\sum_k A_k^\top Z_k) + \sum_k \lambda_k \|Z_k\|_*

Dense matrices are stored and decomposed, so this is for some thousand rows or columns.

References
----------
Boyd, Parikh, Chu, Peleato, Eckstein (2011), Distributed optimization and statistical learning via the alternating
direction method of multipliers, sections 3 and 7.
Tomioka, Hayashi, Kashima (2010), Estimation of low-rank tensors via convex optimization, section 3.
Candes, Li, Ma, Wright (2011), Robust principal component analysis?, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core import resources
from polyadic.core.annotations import Array, Ints, Mask
from polyadic.core.errors import InputError
from polyadic.core.linalg.spectral import MAX_DENSE, Spectral
from polyadic.core.solvers.run import Sweep

if TYPE_CHECKING:
    from polyadic.core.solvers.smooth import CellLosses
    from polyadic.core.solvers.trace_norm import Problem

IMBALANCE, FACTOR = 10.0, 2.0
"""If one residual exceeds the other by this factor, the penalty parameter changes by the second (Boyd, eq. 3.13)."""
LATENT = 10.0  # weight of the dual residual in the latent form, which saved two thirds of the steps
COPIES = 12  # number of dense matrices held at once, including those of a singular value decomposition
MAX_INNER_STEPS, REL_TOL = 100, 1e-12
"""Maximum number of Newton-type steps per cell, and the convergence threshold; squared loss takes one step."""


def trace_norm_admm(problem: Problem) -> Iterator[Sweep]:
    """Solve a trace norm problem by ADMM, yielding U, s and V after each sweep, as ``proximal_gradient`` does."""
    pattern = problem.pattern
    norm = NormTerm(np.arange(pattern.shape[0] * pattern.shape[1]).reshape(pattern.shape), problem.penalty)
    known = norm.cells[pattern.rows, pattern.columns]
    for _, (Z,), _ in _iterates(problem.smooth, known, [norm], latent=False):
        yield Sweep([*Z], problem.objective(Z))


class NormTerm(NamedTuple):
    """Trace norm of the matrix ``x[cells]`` of elements of a flat array x, each at most once, times a penalty."""

    cells: Ints
    penalty: float


def trace_norm_sum(smooth: Any, known: Ints, norms: Sequence[NormTerm], *, latent: bool, tol: float) -> Iterator[Sweep]:
    """Minimize a loss of known elements plus trace norms of matrices of elements.

    Yields the array, a lower bound of the objective and factors of the matrices, until the relative gap is at most
    ``tol``.
    """
    count, bound = np.maximum(_scatter(norms, [np.ones(term.cells.shape) for term in norms]), 1), -np.inf
    for x, Z, W in _iterates(smooth, known, norms, latent=latent):
        y, G = smooth.gradient(x[known]), np.zeros_like(x)
        G[known] = y
        if latent:
            sizes, W = [M.norm for M in Z], [-G[term.cells] for term in norms]  # noqa: PLW2901
        else:  # multipliers that add up to the gradient, with its sign changed
            sizes = [float(np.linalg.norm(x[term.cells], "nuc")) for term in norms]
            excess = (_scatter(norms, W) + G) / count
            W = [w - excess[term.cells] for w, term in zip(W, norms, strict=True)]  # noqa: PLW2901
        shares = (term.penalty / (float(np.linalg.norm(w, 2)) or np.inf) for w, term in zip(W, norms, strict=True))
        bound = max(bound, -smooth.conjugate(y * min(1.0, *shares)))
        objective = smooth.value(x[known]) + sum(t.penalty * size for t, size in zip(norms, sizes, strict=True))
        yield Sweep([x, np.array(bound), *(array for M in Z for array in M)], objective)
        if objective - bound <= tol * abs(objective):
            return


def _iterates(
    smooth: Any, known: Ints, norms: Sequence[NormTerm], *, latent: bool
) -> Iterator[tuple[Array, list[Spectral], list[Array]]]:
    """Yield the array, the shrunk matrices and their multipliers of each step of ADMM."""
    for term in norms:
        check_size(term.cells.shape)
    count, rho = np.maximum(_scatter(norms, [np.ones(term.cells.shape) for term in norms]), 1), smooth.curvature
    U: list[Array] = [np.zeros(term.cells.shape) for term in norms]
    Z, x = [_shrunk_whole(u, 1.0) for u in U], np.zeros(len(count))
    copies = [M.toarray() for M in Z]
    while True:
        yield x, Z, [rho * u for u in U]
        targets = [copy - u for copy, u in zip(copies, U, strict=True)]
        x = _scatter(norms, targets)
        if latent:  # elements of all summands move by the same amount
            moved = np.zeros_like(x)
            moved[known] = (_nearest(smooth, x[known], rho / count[known]) - x[known]) / count[known]
            wanted = [M + moved[term.cells] for M, term in zip(targets, norms, strict=True)]
        else:
            x /= count
            x[known] = _nearest(smooth, x[known], rho * count[known])
            wanted = [x[term.cells] for term in norms]
        Z = [_shrunk_whole(M + u, term.penalty / rho) for M, u, term in zip(wanted, U, norms, strict=True)]
        before, copies = copies, [M.toarray() for M in Z]
        x = _scatter(norms, copies) if latent else x
        primal = sum(float(((M - copy) ** 2).sum()) for M, copy in zip(wanted, copies, strict=True))
        moves = sum(float(((copy - old) ** 2).sum()) for copy, old in zip(copies, before, strict=True))
        dual = (rho * LATENT if latent else rho) ** 2 * moves
        change = FACTOR if primal > IMBALANCE**2 * dual else 1 / FACTOR if dual > IMBALANCE**2 * primal else 1.0
        U = [(u + M - copy) / change for u, M, copy in zip(U, wanted, copies, strict=True)]
        rho *= change


def _scatter(norms: Sequence[NormTerm], matrices: Sequence[Array]) -> Array:
    """Return the flat array to whose elements matrices of elements add up."""
    x = np.zeros(1 + max(int(term.cells.max()) for term in norms))
    for term, M in zip(norms, matrices, strict=True):
        x[term.cells] += M
    return x


def _nearest(smooth: CellLosses, v: Array, rho: Any) -> Array:
    r"""Return :math:`\arg\min_m f(m) + \tfrac\rho2 \|m - v\|^2`; ``rho`` may differ between cells."""
    m = v
    curvature = smooth.loss.curvature * (1.0 if smooth.weights is None else smooth.weights)
    for _ in range(MAX_INNER_STEPS):
        step = (smooth.gradient(m) + rho * (m - v)) / (curvature + rho)
        m = m - step
        if np.abs(step).max() <= REL_TOL * max(np.abs(m).max(), 1.0):
            break
    return m


def robust_pca(X: Array, known: Mask, *, penalty: float, tol: float) -> Iterator[Sweep]:
    """Decompose a matrix into a low-rank matrix L and a sparse matrix S by principal component pursuit.

    Yields ``U``, ``s`` and ``V`` of L, then S (dense, zero where unknown) and a lower bound of the objective, until the
    relative duality gap and the relative residual of the observed cells are at most ``tol``.
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
        got = f"{shape[0]:,} x {shape[1]:,} cells; use another method"
        raise InputError(f"the smaller dimension of X must be at most {MAX_DENSE:,} for this method; got {got}")
    needed = COPIES * 8.0 * shape[0] * shape[1]
    resources.check_memory(needed, f"ADMM on {shape[0]:,} x {shape[1]:,} cells", "use another method")


def _shrunk_whole(A: Array, threshold: float) -> Spectral:
    """Soft-threshold the singular values of a dense matrix."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    kept = s > threshold
    return Spectral(U[:, kept], s[kept] - threshold, Vt[kept].T)
