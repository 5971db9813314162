"""Convex functions of the known cells of a matrix: sums of losses, with optional fitted offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from polyadic.core.annotations import Array, Ints

if TYPE_CHECKING:
    from polyadic.core.losses import Convex

MAX_STEPS, SLOPE_TOL = 60, 1e-10
"""Maximum number of Newton steps for offsets, and the gradient at convergence relative to the weight of a group."""
PROBE = 1e-6  # step of the finite difference for the second derivative
MAX_LENGTH = 4.0  # longest Newton step: the scale on which log-odds bend


class Smooth(Protocol):
    """Interface of convex functions of the known cells with a Lipschitz-continuous gradient."""

    @property
    def curvature(self) -> float:
        """Lipschitz constant of the gradient."""

    def value(self, m: Array) -> float:
        """Return the value of the function at the predictions."""

    def gradient(self, m: Array) -> Array:
        """Return the gradient of the function with respect to the predictions."""

    def conjugate(self, y: Array) -> float:
        r"""Return the convex conjugate, :math:`\sup_m y \cdot m - f(m)`."""


@dataclass(frozen=True, eq=False)
class CellLosses:
    r"""Weighted sum of the losses of the known cells, :math:`\sum_e w_e \ell(x_e, m_e + b_e)`.

    Weights :math:`w` are 1 and offsets :math:`b` 0 by default.
    """

    x: Array
    loss: Convex
    weights: Array | None = None
    offsets: Array | None = None

    @property
    def curvature(self) -> float:
        """Lipschitz constant of the gradient, determined by the largest weight."""
        return self.loss.curvature * (1.0 if self.weights is None else float(self.weights.max()))

    def value(self, m: Array) -> float:
        """Return the weighted sum of the losses."""
        values = self.loss.value(self.x, m if self.offsets is None else m + self.offsets)
        return float(values.sum() if self.weights is None else self.weights @ values)

    def gradient(self, m: Array) -> Array:
        """Return the weighted derivative of the loss of each cell."""
        slopes = self.loss.grad(self.x, m if self.offsets is None else m + self.offsets)
        return slopes if self.weights is None else self.weights * slopes

    def conjugate(self, y: Array) -> float:
        """Return the convex conjugate, computed from the conjugates of the losses."""
        w = 1.0 if self.weights is None else self.weights
        shift = 0.0 if self.offsets is None else float(y @ self.offsets)
        return float(np.sum(w * self.loss.conjugate(self.x, y / w))) - shift


@dataclass(frozen=True, eq=False)
class SeparableSum:
    """Sum of convex functions, each of which depends on a separate subset of the cells."""

    parts: Sequence[tuple[Ints, Smooth]]

    @property
    def curvature(self) -> float:
        """Largest Lipschitz constant of the gradients of the functions."""
        return max(part.curvature for _, part in self.parts)

    def value(self, m: Array) -> float:
        """Return the sum of the functions at the predictions."""
        return sum(part.value(m[at]) for at, part in self.parts)

    def gradient(self, m: Array) -> Array:
        """Return the gradient, assembled from the gradients of the functions."""
        slopes = np.empty_like(m)
        for at, part in self.parts:
            slopes[at] = part.gradient(m[at])
        return slopes

    def conjugate(self, y: Array) -> float:
        """Return the convex conjugate, the sum of the conjugates of the functions."""
        return sum(part.conjugate(y[at]) for at, part in self.parts)


@dataclass(frozen=True, eq=False)
class WithOffsets:
    r"""Sum of losses of grouped cells, minimized over an offset for each group.

    .. math:: g(m) = \min_b \sum_e w \ell(x_e, m_e + b_{g(e)}) + \tfrac\gamma2 \|b\|^2

    The minimand is jointly convex in m and b, so g is convex with at most the curvature of the losses, and its gradient
    is theirs at the best b. Its conjugate is theirs plus :math:`\sum_g (\sum_{e \in g} y_e)^2 / 2 \gamma`. The
    ``ridge`` :math:`\gamma > 0` keeps the log-odds of events that never occur finite; ``number`` is the number of
    groups, some of which may be empty.
    """

    x: Array
    groups: Ints
    loss: Convex
    weight: float
    ridge: float
    number: int

    @property
    def curvature(self) -> float:
        """Lipschitz constant of the gradient of the losses."""
        return self.weight * self.loss.curvature

    def value(self, m: Array) -> float:
        """Return the sum of the losses and the ridge penalty at the optimal offsets."""
        b = self.offsets(m)
        return self.weight * float(self.loss.value(self.x, m + b[self.groups]).sum()) + 0.5 * self.ridge * float(b @ b)

    def gradient(self, m: Array) -> Array:
        """Return the derivative of the loss of each cell at the optimal offsets."""
        return self.weight * self.loss.grad(self.x, m + self.offsets(m)[self.groups])

    def conjugate(self, y: Array) -> float:
        """Return the convex conjugate, the sum of the conjugates of the losses and of the ridge penalty."""
        sums = np.bincount(self.groups, y, self.number)
        apart = self.weight * float(self.loss.conjugate(self.x, y / self.weight).sum())
        return apart + float(sums @ sums) / (2 * self.ridge)

    def offsets(self, m: Array) -> Array:
        """Compute the optimal offset of each group by Newton steps, safeguarded by bisection."""
        counts = np.bincount(self.groups, minlength=self.number)
        b, low, high = np.zeros(len(counts)), np.full(len(counts), -np.inf), np.full(len(counts), np.inf)
        for _ in range(MAX_STEPS):
            slope = self._slope(m, b)
            low, high = np.where(slope <= 0, b, low), np.where(slope >= 0, b, high)
            if np.abs(slope).max() <= SLOPE_TOL * self.weight * counts.max():
                break
            bend = np.maximum((self._slope(m, b + PROBE) - slope) / PROBE, self.ridge)
            reached = b - np.clip(slope / bend, -MAX_LENGTH, MAX_LENGTH)
            b = np.where((reached >= low) & (reached <= high), reached, (low + high) / 2)
        return b

    def _slope(self, m: Array, b: Array) -> Array:
        slopes = self.loss.grad(self.x, m + b[self.groups])
        return np.asarray(self.weight * np.bincount(self.groups, slopes, self.number) + self.ridge * b)
