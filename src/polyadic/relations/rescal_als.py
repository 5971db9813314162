r"""Alternating least squares for RESCAL, where all relations share one factor of entities.

.. math:: \min_{A, R} \tfrac12 \sum_k \|X_k - A R_k A^\top\|_F^2
          + \tfrac{\lambda_A}{2} \|A\|_F^2 + \tfrac{\lambda_R}{2} \sum_k \|R_k\|_F^2

With :math:`A = U \,\mathrm{diag}(s)\, V^\top` the optimal :math:`R_k` has a closed form:

.. math:: R_k = V (P * Z_k) V^\top, \qquad Z_k = U^\top X_k U, \qquad P_{ij} = \frac{s_i s_j}{s_i^2 s_j^2 + \lambda_R}.

In these coordinates :math:`A R_k A^\top = U C_k U^\top` with :math:`C_k = s s^\top * P * Z_k`, so the squared error is
:math:`\|X_k\|^2 - 2 \langle Z_k, C_k \rangle + \|C_k\|^2`, and no dense matrix of entities by entities is formed.

References
----------
Nickel, Tresp, Kriegel (2011), A three-way model for collective learning on multi-relational data, section 4.
Nickel (2013), Tensor factorization for relational learning, section 4.2 (the singular value form of R).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.errors import InputError, check_number
from polyadic.core.linalg import truncated_eigh
from polyadic.core.solvers.run import Sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

MAX_HALVINGS = 40
"""Maximum number of halvings of a step; a share of 1e-12 changes the objective by rounding errors only."""


def rescal_start(slices: Sequence[Any], rank: int, *, seed: int | None = None) -> NDArray[np.float64]:
    r"""Return the eigenvectors of :math:`\sum_k X_k + X_k^\top` with the largest eigenvalues in magnitude.

    The rank is at most ``n - 1``. The seed is that of the Lanczos method; small problems are decomposed exactly.
    """
    total = sum(slices[1:], start=slices[0])
    return np.asarray(truncated_eigh(total + total.T, rank, seed=seed)[1], float)


def rescal(
    slices: Sequence[Any], start: NDArray[Any], *, ridge_A: float = 0.0, ridge_R: float = 0.0
) -> Iterator[Sweep]:
    r"""Yield sweeps that update A and then solve for all R, of shapes (n, R) and (K, R, R), from the start with its R.

    The published update of A keeps the A on the other side of each relation fixed,

    .. math:: A \leftarrow \Bigl(\sum_k X_k A R_k^\top + X_k^\top A R_k\Bigr)
              \Bigl(\sum_k R_k A^\top A R_k^\top + R_k^\top A^\top A R_k + \lambda_A I\Bigr)^{-1},

    so it need not decrease the objective. Its direction is the negative gradient times a positive semidefinite matrix,
    however, so a fraction of it does. The full step is tried first, then its half, its quarter and so on, each with the
    optimal R, until the objective does not increase. The solver stops when no fraction decreases it.
    """
    check_number("ridge_A", ridge_A)
    check_number("ridge_R", ridge_R)
    n = len(start)
    if not slices or start.ndim != 2 or any(X.shape != (n, n) for X in slices):
        raise InputError(
            f"each relation must be a matrix of shape ({n}, {n}) to fit a start of shape {start.shape}, and there must"
            f" be one; got {[X.shape for X in slices[:3]]}"
        )
    squares = float(sum((X.data.astype(float) ** 2).sum() for X in slices))

    def reach(A: NDArray[Any]) -> Sweep:
        R, error = relation_factors(slices, A, ridge_R=ridge_R)
        ridges = ridge_A * float(np.vdot(A, A)) + ridge_R * float(np.vdot(R, R))
        return Sweep([A, R], 0.5 * (squares + error + ridges))

    yield from guarded(np.array(start, float), reach, lambda A, R: _step(slices, A, R, ridge_A))


def guarded(
    start: NDArray[np.float64],
    reach: Callable[[NDArray[np.float64]], Sweep],
    step: Callable[..., NDArray[np.float64]],
) -> Iterator[Sweep]:
    """Take steps of A, or fractions of them, that never increase the objective.

    ``reach`` returns the sweep with a given A, and ``step`` the update of A from the factors of a sweep. Ends when no
    fraction of a step decreases the objective.
    """
    now = reach(start)
    yield now
    while True:
        A = now.factors[0]
        whole = step(*now.factors)
        for halving in range(MAX_HALVINGS):
            reached = reach(A + 0.5**halving * whole)
            if reached.objective <= now.objective:
                break
        else:
            return
        now = reached
        yield now


def relation_factors(
    slices: Sequence[Any], A: NDArray[Any], *, ridge_R: float = 0.0
) -> tuple[NDArray[np.float64], float]:
    r"""Return the optimal R given A, of minimum norm, and :math:`\sum_k \|X_k - A R_k A^\top\|^2 - \|X_k\|^2`."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    Z = np.stack([U.T @ (X @ U) for X in slices])
    W = np.outer(s, s)
    kept = np.finfo(float).eps * max(A.shape) * W.max() < W
    P = np.where(kept, W / np.where(kept, W**2 + ridge_R, 1.0), 0.0)
    C = W * P * Z
    return Vt.T @ (P * Z) @ Vt, float(np.vdot(C, C) - 2 * np.vdot(Z, C))


def _step(slices: Sequence[Any], A: NDArray[Any], R: NDArray[Any], ridge_A: float) -> NDArray[Any]:
    """Return the published update of A minus A; zeros where its matrix is singular."""
    gram = A.T @ A
    right = -ridge_A * A
    H = ridge_A * np.eye(A.shape[1])
    for X, Rk in zip(slices, R, strict=True):
        right += (X @ A) @ Rk.T + (X.T @ A) @ Rk
        term = Rk @ gram @ Rk.T + Rk.T @ gram @ Rk
        right -= A @ term
        H += term
    return np.asarray(right @ np.linalg.pinv(H, hermitian=True), float)
