r"""Conditional gradient (Frank-Wolfe) over matrices of bounded trace norm, with corrective steps.

.. math:: \min_M f(P M) \quad \text{such that} \quad \|M\|_* \le \tau

Along the slopes :math:`G = P^\top \nabla f`, the best matrix of the ball has rank one, :math:`-\tau u v^\top`, of the
top singular pair of G. The next iterate lies on the line to it, where f is smallest; then matrices of the same row and
column spaces are searched by accelerated steps projected on the ball, so that pairs taken in early lose what they
should not have had. (Without that, the gap falls as 1 / k and the rank grows by one each time.) How much f can still
fall is at most :math:`\langle G, M \rangle + \tau \|G\|_2`.

References
----------
Jaggi (2013), Revisiting Frank-Wolfe: projection-free sparse convex optimization, algorithms 1 and 4.
Freund, Grigas, Mazumder (2017), An extended Frank-Wolfe method with in-face directions, and its application to low-rank
matrix completion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.errors import check_number
from polyadic.core.linalg.spectral import Spectral, top_pair, zero
from polyadic.core.solvers.run import Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from polyadic.core.solvers.smooth import Smooth
    from polyadic.core.solvers.trace_norm import Pattern

    Array = NDArray[np.float64]

CORRECTIONS = 10
"""Projected steps in each sweep; on ratings of films, three and ten times as many saved no sweep."""
LOOSE = 0.1
"""Residual of the first top pair; that of sweep k is asked to be 1 / (k + 1) of it."""


@dataclass(frozen=True, eq=False)
class Ball:
    r"""Losses of known cells over matrices of bounded trace norm.

    Attributes
    ----------
    pattern : Pattern
    smooth : Smooth
        :math:`f`.
    radius : float
        :math:`\tau`.
    """

    pattern: Pattern
    smooth: Smooth
    radius: float

    def __post_init__(self) -> None:
        check_number("radius", self.radius, above=True)

    def objective(self, M: Spectral, m: Array | None = None) -> float:
        """Give the losses of a matrix; ``m`` are its known cells, if they are at hand."""
        return self.smooth.value(self.pattern.at(M) if m is None else m)

    def bound(self, M: Spectral, *, tol: float = 1e-4) -> float:
        """Give a number that the losses of no matrix of the ball are below, the closer the better M is."""
        y = self.smooth.gradient(self.pattern.at(M))
        _, norm = top_pair(self.pattern.spread(y), near=M.V, tol=tol)
        return -self.smooth.conjugate(y) - self.radius * norm

    def multiplier(self, M: Spectral) -> float:
        """Give the penalty of which M, if it is best in the ball, is the answer too."""
        y = self.smooth.gradient(self.pattern.at(M))
        return float(top_pair(self.pattern.spread(y), near=M.V)[0].s[0])

    def largest_penalty(self) -> float:
        """Give the multiplier of zero."""
        return self.multiplier(zero(*self.pattern.shape))


def conditional_gradient(ball: Ball) -> Iterator[Sweep]:
    """Go from zero to the best matrix of a ball; one sweep is one top pair with its corrective steps.

    Parameters
    ----------
    ball : Ball
        Losses, radius, known cells.

    Yields
    ------
    Sweep
        Factors are the ``U``, ``s`` and ``V`` of a :class:`~polyadic.core.linalg.Spectral`, all within the ball.
        First zero; the objective never rises. Ends where no matrix of the ball lies further down.
    """
    pattern, smooth = ball.pattern, ball.smooth
    M = zero(*pattern.shape)
    m = pattern.at(M)
    value, near, sweeps = smooth.value(m), np.zeros((pattern.shape[1], 0)), 0
    yield Sweep([*M], value)
    while True:
        y = smooth.gradient(m)
        pair, _ = top_pair(pattern.spread(y), near=near, tol=LOOSE / (sweeps + 1))
        vertex = Spectral(-pair.U, np.array([ball.radius]), pair.V)
        towards = pattern.at(vertex) - m
        if float(y @ towards) >= 0:
            return
        gamma = _exact_line(ball, m, towards)
        whole = Spectral(
            np.hstack([M.U, vertex.U]), np.concatenate([(1 - gamma) * M.s, gamma * vertex.s]), np.hstack([M.V, pair.V])
        )
        M, m = _corrected(ball, whole)
        reached = smooth.value(m)
        if reached >= value:
            return
        value, near, sweeps = reached, M.V, sweeps + 1
        yield Sweep([*M], value)


def _exact_line(ball: Ball, m: Array, towards: Array) -> float:
    """Give where on a line the losses are smallest: where their slope along it is zero, or at its end."""
    from scipy.optimize import brentq

    def slope(gamma: float) -> float:
        return float(ball.smooth.gradient(m + gamma * towards) @ towards)

    return 1.0 if slope(1.0) <= 0 else float(brentq(slope, 0.0, 1.0, xtol=1e-12))


def _corrected(ball: Ball, start: Spectral) -> tuple[Spectral, Array]:
    """Descend among matrices of the row and column spaces of ``start``, and give what is reached with its known cells.

    The spaces have bases U and V, and a matrix its coordinates C: the steps are those of FISTA on C.
    """
    pattern, smooth = ball.pattern, ball.smooth
    U, left = np.linalg.qr(start.U)
    V, right = np.linalg.qr(start.V)
    C, t = (left * start.s) @ right.T, 1.0
    M = _in_ball(U, C, V, np.inf)
    m = pattern.at(M)
    before, before_m, value = C, m, smooth.value(m)
    step = 1 / (smooth.curvature * pattern.reach)
    for _ in range(CORRECTIONS):
        following = (1 + (1 + 4 * t**2) ** 0.5) / 2
        beta = (t - 1) / following
        slopes = U.T @ np.asarray(pattern.spread(smooth.gradient(m + beta * (m - before_m))) @ V)
        reached = _in_ball(U, C + beta * (C - before) - step * slopes, V, ball.radius)
        reached_m = pattern.at(reached)
        reached_value = smooth.value(reached_m)
        if reached_value >= value:
            if not beta:
                break
            before, before_m, t = C, m, 1.0
            continue
        before, before_m, t = C, m, following
        C, M, m, value = (U.T @ reached.U * reached.s) @ (reached.V.T @ V), reached, reached_m, reached_value
    return M, m


def _in_ball(U: Array, C: Array, V: Array, radius: float) -> Spectral:
    """Give U C V' with its singular values projected on those of sum at most ``radius``."""
    P, s, Qt = np.linalg.svd(C, full_matrices=False)
    s = onto_simplex(s, radius) if s.sum() > radius else s
    kept = s > 0
    return Spectral(U @ P[:, kept], s[kept], V @ Qt[kept].T)


def onto_simplex(s: NDArray[Any], total: float) -> Array:
    """Give the nearest non-negative numbers with a given sum to falling ones.

    Examples
    --------
    >>> onto_simplex(np.array([3.0, 1.0, 0.5]), 3.0).tolist()
    [2.5, 0.5, 0.0]
    """
    excess = (np.cumsum(s) - total) / np.arange(1, len(s) + 1)
    return np.asarray(np.maximum(s - excess[np.flatnonzero(s > excess)[-1]], 0))
