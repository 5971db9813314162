"""Penalties on factor matrices, each the sum of a smooth and a non-smooth part.

The kinked part is an absolute value or a bound at zero and produces exact zeros. ``steepest`` is the smallest
subgradient of the objective, which is zero at a minimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from polyadic.core.annotations import AnyArray
from polyadic.core.errors import check_number


class Penalty(Protocol):
    """Interface of penalties on a factor matrix."""

    kinked: bool
    """Whether there is a kink or a bound at zero."""

    def value(self, u: AnyArray) -> float:
        """Return the value of the penalty; infinite if the factor violates a constraint."""

    def grad(self, u: AnyArray) -> AnyArray:
        """Return the gradient of the smooth part of the penalty."""

    def steepest(self, u: AnyArray, g: AnyArray) -> AnyArray:
        """Return the minimum-norm subgradient of the objective, given the gradient ``g`` of its smooth part."""

    def prox(self, u: AnyArray, step: float) -> AnyArray:
        """Apply the proximal operator, ``argmin_v |v - u|^2 / 2 + step * penalty(v)``."""


@dataclass(frozen=True)
class L2:
    r"""Ridge penalty :math:`\tfrac{\lambda}{2}\|U\|_F^2`; :math:`\lambda` is the ``strength``.

    Examples
    --------
    >>> L2(2.0).value(np.array([[1.0, 2.0]]))
    5.0
    """

    strength: float = 0.0
    kinked = False

    def __post_init__(self) -> None:
        check_number("strength", self.strength)

    def value(self, u: AnyArray) -> float:
        """Return the value of the penalty."""
        return 0.5 * self.strength * float(np.vdot(u, u))

    def grad(self, u: AnyArray) -> AnyArray:
        """Return the gradient of the penalty."""
        return u * u.dtype.type(self.strength)

    def steepest(self, u: AnyArray, g: AnyArray) -> AnyArray:  # noqa: ARG002 nothing is kinked
        """Return the gradient ``g`` unchanged, because the penalty is smooth."""
        return g

    def prox(self, u: AnyArray, step: float) -> AnyArray:
        """Apply the proximal operator, ``u / (1 + step * strength)``."""
        return u / u.dtype.type(1 + step * self.strength)


@dataclass(frozen=True)
class L1:
    r"""Lasso penalty :math:`\lambda\|U\|_1`, which sets elements exactly to zero; :math:`\lambda` is the ``strength``.

    Examples
    --------
    >>> L1(1.0).prox(np.array([-3.0, 0.5]), 1.0).tolist()
    [-2.0, 0.0]
    """

    strength: float = 0.0
    kinked = True

    def __post_init__(self) -> None:
        check_number("strength", self.strength)

    def value(self, u: AnyArray) -> float:
        """Return the value of the penalty."""
        return self.strength * float(np.abs(u).sum(dtype=float))

    def grad(self, u: AnyArray) -> AnyArray:
        """Return zeros, because the penalty has no smooth part."""
        return np.zeros_like(u)

    def steepest(self, u: AnyArray, g: AnyArray) -> AnyArray:
        """Return the minimum-norm subgradient, given the gradient ``g`` of the smooth objective.

        It is ``g + strength sign(u)``; at zero, ``g`` shrunk towards zero.
        """
        strength = u.dtype.type(self.strength)
        at_zero = np.sign(g) * np.maximum(np.abs(g) - strength, 0)
        return np.where(u == 0, at_zero, g + strength * np.sign(u))

    def prox(self, u: AnyArray, step: float) -> AnyArray:
        """Apply the proximal operator: shrink elements towards zero by ``step * strength``."""
        return np.sign(u) * np.maximum(np.abs(u) - u.dtype.type(step * self.strength), 0)


@dataclass(frozen=True)
class NonNegative:
    r"""Constraint :math:`U \ge 0`, with a lasso penalty :math:`\lambda \sum U` for sparsity; :math:`\lambda` is ``l1``.

    Examples
    --------
    >>> NonNegative(1.0).prox(np.array([-3.0, 0.5, 3.0]), 1.0).tolist()
    [0.0, 0.0, 2.0]
    """

    l1: float = 0.0
    kinked = True

    def __post_init__(self) -> None:
        check_number("l1", self.l1)

    def value(self, u: AnyArray) -> float:
        """Return the value of the penalty; infinite if an element is negative."""
        return float("inf") if (u < 0).any() else self.l1 * float(u.sum(dtype=float))

    def grad(self, u: AnyArray) -> AnyArray:
        """Return zeros, because the penalty has no smooth part."""
        return np.zeros_like(u)

    def steepest(self, u: AnyArray, g: AnyArray) -> AnyArray:
        """Return the minimum-norm subgradient, given the gradient ``g`` of the smooth objective.

        It is ``g + l1``; at zero, only its negative part.
        """
        g = g + u.dtype.type(self.l1)
        return np.where(u > 0, g, np.minimum(g, 0))

    def prox(self, u: AnyArray, step: float) -> AnyArray:
        """Apply the proximal operator: subtract ``step * l1`` and clip at zero."""
        return np.maximum(u - u.dtype.type(step * self.l1), 0)


@dataclass(frozen=True)
class PositiveL1:
    r"""Penalty :math:`\lambda \sum \max(U, 0)` on positive elements, used by Bailey and Aeron for CP-SN.

    Negative elements cost nothing and are set to zero in the end; the formula of the paper is :class:`NonNegative`.
    """

    strength: float = 0.0
    kinked = False

    def __post_init__(self) -> None:
        check_number("strength", self.strength)

    def value(self, u: AnyArray) -> float:
        """Return the value of the penalty."""
        return self.strength * float(np.maximum(u, 0).sum(dtype=float))

    def grad(self, u: AnyArray) -> AnyArray:
        """Return a subgradient of the penalty: ``strength`` at positive elements and zero elsewhere."""
        return (u > 0) * u.dtype.type(self.strength)

    def steepest(self, u: AnyArray, g: AnyArray) -> AnyArray:  # noqa: ARG002 as TensorFlow did
        """Return the gradient ``g`` unchanged, ignoring the kink of the penalty at zero."""
        return g

    def prox(self, u: AnyArray, step: float) -> AnyArray:
        """Apply the proximal operator: reduce positive elements by ``step * strength``, but not below zero."""
        return np.where(u > 0, np.maximum(u - u.dtype.type(step * self.strength), 0), u)
