"""Losses: how far a prediction ``m`` is from an observation ``x``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Loss(Protocol):
    """A loss per entry and its derivative with respect to the prediction."""

    def value(self, x: NDArray[Any], m: NDArray[Any]) -> NDArray[Any]:
        """Give the loss of each entry."""

    def grad(self, x: NDArray[Any], m: NDArray[Any]) -> NDArray[Any]:
        """Give the derivative of each entry's loss with respect to ``m``."""


@dataclass(frozen=True)
class Squared:
    """Half the squared difference, ``(x - m)^2 / 2``.

    Examples
    --------
    >>> import numpy as np
    >>> Squared().value(np.array([1.0, 2.0]), np.array([1.0, 5.0])).tolist()
    [0.0, 4.5]
    """

    def value(self, x: NDArray[Any], m: NDArray[Any]) -> NDArray[Any]:
        """Give the loss of each entry."""
        return 0.5 * (x - m) ** 2

    def grad(self, x: NDArray[Any], m: NDArray[Any]) -> NDArray[Any]:
        """Give the derivative of each entry's loss with respect to ``m``."""
        return m - x
