"""Penalties: what factors we prefer.

Each is ``smooth(u) + kinked(u)``. The smooth part has a gradient; the kinked part is an absolute value or a bound at
zero, where exact zeros come from. ``steepest`` is the smallest subgradient of the whole, zero exactly at a minimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from polyadic.core.errors import check_number

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Penalty(Protocol):
    """A penalty of one factor."""

    kinked: bool
    """Whether there is a kink or a bound at zero."""

    def value(self, u: NDArray[Any]) -> float:
        """Give the penalty of a factor; infinite where it is forbidden."""

    def grad(self, u: NDArray[Any]) -> NDArray[Any]:
        """Give the gradient of the smooth part."""

    def steepest(self, u: NDArray[Any], g: NDArray[Any]) -> NDArray[Any]:
        """Give the smallest element of ``g + d kinked(u)``, where ``g`` is the gradient of all that is smooth."""

    def prox(self, u: NDArray[Any], step: float) -> NDArray[Any]:
        """Give ``argmin_v |v - u|^2 / 2 + step * penalty(v)``."""


@dataclass(frozen=True)
class L2:
    r"""Ridge, :math:`\tfrac{\lambda}{2}\|U\|_F^2`.

    Examples
    --------
    >>> L2(2.0).value(np.array([[1.0, 2.0]]))
    5.0
    """

    strength: float = 0.0
    kinked = False

    def __post_init__(self) -> None:
        check_number("strength", self.strength)

    def value(self, u: NDArray[Any]) -> float:
        """Give the penalty."""
        return 0.5 * self.strength * float(np.vdot(u, u))

    def grad(self, u: NDArray[Any]) -> NDArray[Any]:
        """Give its gradient."""
        return u * u.dtype.type(self.strength)

    def steepest(self, u: NDArray[Any], g: NDArray[Any]) -> NDArray[Any]:  # noqa: ARG002 nothing is kinked
        """Give ``g``."""
        return g

    def prox(self, u: NDArray[Any], step: float) -> NDArray[Any]:
        """Give ``u / (1 + step * strength)``."""
        return u / u.dtype.type(1 + step * self.strength)


@dataclass(frozen=True)
class L1:
    r"""Lasso, :math:`\lambda\|U\|_1`: exact zeros, either sign.

    Examples
    --------
    >>> L1(1.0).prox(np.array([-3.0, 0.5]), 1.0).tolist()
    [-2.0, 0.0]
    """

    strength: float = 0.0
    kinked = True

    def __post_init__(self) -> None:
        check_number("strength", self.strength)

    def value(self, u: NDArray[Any]) -> float:
        """Give the penalty."""
        return self.strength * float(np.abs(u).sum(dtype=float))

    def grad(self, u: NDArray[Any]) -> NDArray[Any]:
        """Give zeros: the absolute value is all kink."""
        return np.zeros_like(u)

    def steepest(self, u: NDArray[Any], g: NDArray[Any]) -> NDArray[Any]:
        """Give ``g + strength sign(u)``; at zero, ``g`` shrunk towards zero."""
        strength = u.dtype.type(self.strength)
        at_zero = np.sign(g) * np.maximum(np.abs(g) - strength, 0)
        return np.where(u == 0, at_zero, g + strength * np.sign(u))

    def prox(self, u: NDArray[Any], step: float) -> NDArray[Any]:
        """Shrink towards zero by ``step * strength``."""
        return np.sign(u) * np.maximum(np.abs(u) - u.dtype.type(step * self.strength), 0)


@dataclass(frozen=True)
class NonNegative:
    r"""Parts-based factors: :math:`U \ge 0`, with :math:`\lambda \sum U` for more exact zeros.

    Examples
    --------
    >>> NonNegative(1.0).prox(np.array([-3.0, 0.5, 3.0]), 1.0).tolist()
    [0.0, 0.0, 2.0]
    """

    l1: float = 0.0
    kinked = True

    def __post_init__(self) -> None:
        check_number("l1", self.l1)

    def value(self, u: NDArray[Any]) -> float:
        """Give the penalty; infinite if an element is negative."""
        return float("inf") if (u < 0).any() else self.l1 * float(u.sum(dtype=float))

    def grad(self, u: NDArray[Any]) -> NDArray[Any]:
        """Give zeros: the bound is all kink."""
        return np.zeros_like(u)

    def steepest(self, u: NDArray[Any], g: NDArray[Any]) -> NDArray[Any]:
        """Give ``g + l1``; at zero only where it leads upward."""
        g = g + u.dtype.type(self.l1)
        return np.where(u > 0, g, np.minimum(g, 0))

    def prox(self, u: NDArray[Any], step: float) -> NDArray[Any]:
        """Subtract ``step * l1`` and cut at zero."""
        return np.maximum(u - u.dtype.type(step * self.l1), 0)


@dataclass(frozen=True)
class PositiveL1:
    r"""The sum of the positive elements, :math:`\lambda \sum \max(U, 0)`, as Bailey and Aeron trained CP-SN.

    Negative elements cost nothing and are taken for zeros in the end, so one that has become negative feels the loss
    only; :class:`NonNegative` is what the formula of the paper says.

    Examples
    --------
    >>> PositiveL1(2.0).value(np.array([-3.0, 0.5]))
    1.0
    """

    strength: float = 0.0
    kinked = False

    def __post_init__(self) -> None:
        check_number("strength", self.strength)

    def value(self, u: NDArray[Any]) -> float:
        """Give the penalty."""
        return self.strength * float(np.maximum(u, 0).sum(dtype=float))

    def grad(self, u: NDArray[Any]) -> NDArray[Any]:
        """Give a subgradient: the strength where an element is positive."""
        return (u > 0) * u.dtype.type(self.strength)

    def steepest(self, u: NDArray[Any], g: NDArray[Any]) -> NDArray[Any]:  # noqa: ARG002 as TensorFlow did
        """Give ``g``: at zero the subgradient of a penalty not yet felt."""
        return g

    def prox(self, u: NDArray[Any], step: float) -> NDArray[Any]:
        """Subtract ``step * strength`` from positive elements, as far as zero."""
        return np.where(u > 0, np.maximum(u - u.dtype.type(step * self.strength), 0), u)
