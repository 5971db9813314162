"""Rules of stochastic descent: how far each element of a factor moves, given the gradients it has seen.

Only the rows that a step touches move, and only their memory changes. A step is relative: 0.1 is a tenth of the root
mean square of a factor's elements at the start of an epoch, so that it fits factors of any rank and scale.

References
----------
Duchi, Hazan, Singer (2011), Adaptive subgradient methods, section 1.1, equation 4 for the proximal step.
Kingma, Ba (2015), Adam: a method for stochastic optimization, algorithm 1. arXiv:1412.6980.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from polyadic.core import kernels
from polyadic.core.errors import InputError, check_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

EPS = 1e-12
"""Keeps the first step of an element whose gradient is zero finite; far below any gradient that matters."""


class Rule(Protocol):
    """A rule of descent and the memory it needs."""

    layers: int
    """Layers of a table that it remembers by, after a row and its gradient."""

    def start(self, T: NDArray[Any]) -> NDArray[Any]:
        """Give what else it remembers, one number per row of ``T``, before the first step."""

    def move(
        self,
        touched: kernels.Touched,
        penalties: kernels.RowPenalties,
        T: NDArray[Any],
        state: NDArray[Any],
        *,
        pace: NDArray[Any],
        rank: int,
    ) -> None:
        """Move touched rows of ``T`` against their gradient by ``pace`` times the step; the gradient becomes zero."""

    def forget(self, T: NDArray[Any]) -> None:
        """Drop the direction of earlier steps, which an epoch that failed has shown to be wrong."""


@dataclass(frozen=True)
class Adam:
    r"""Adam: running means of gradients over those of their squares.

    Rows are touched at different rates, so each corrects its means by its own count of steps.

    Parameters
    ----------
    step : float
        How far an element moves at most, nearly; relative.
    decays : (float, float)
        Of the two means, per step in which the row is touched.

    Examples
    --------
    >>> Adam(0.02)
    Adam(step=0.02, decays=(0.9, 0.999))
    """

    step: float = 0.05
    decays: tuple[float, float] = (0.9, 0.999)
    layers = 2

    def __post_init__(self) -> None:
        check_number("step", self.step)
        for decay in self.decays:
            if check_number("decays", decay) >= 1:
                raise InputError(f"decays must be less than 1; got {self.decays}")

    def start(self, T: NDArray[Any]) -> NDArray[Any]:
        """Give the steps that each row has taken."""
        return np.zeros(len(T), np.int64)

    def move(
        self,
        touched: kernels.Touched,
        penalties: kernels.RowPenalties,
        T: NDArray[Any],
        state: NDArray[Any],
        *,
        pace: NDArray[Any],
        rank: int,  # noqa: ARG002 the protocol's
    ) -> None:
        """Move touched rows of ``T`` against their gradient by ``pace`` times the step; the gradient becomes zero."""
        pace = pace * T.dtype.type(self.step)
        kernels.adam_rows(touched, penalties, T, state, pace=pace, decays=self.decays, eps=EPS)

    def forget(self, T: NDArray[Any]) -> None:
        """Drop the mean of gradients; that of their squares still says how large steps may be."""
        T[:, 2] = 0


@dataclass(frozen=True)
class Adagrad:
    r"""Adagrad: gradients over the root of the sum of all their squares so far.

    Parameters
    ----------
    step : float
        How far an element moves in its first step; relative.
    whole_rows : bool
        Whether all elements of a row share one sum, the mean over the row: a memory of one number per row.

    Examples
    --------
    >>> Adagrad(0.1, whole_rows=True)
    Adagrad(step=0.1, whole_rows=True)
    """

    step: float = 0.2
    whole_rows: bool = False

    def __post_init__(self) -> None:
        check_number("step", self.step)

    @property
    def layers(self) -> int:
        """Layers of a table that it remembers by, after a row and its gradient."""
        return 0 if self.whole_rows else 1

    def start(self, T: NDArray[Any]) -> NDArray[Any]:
        """Give the sum of each row, if it is one."""
        return np.zeros(len(T), T.dtype)

    def move(
        self,
        touched: kernels.Touched,
        penalties: kernels.RowPenalties,
        T: NDArray[Any],
        state: NDArray[Any],
        *,
        pace: NDArray[Any],
        rank: int,
    ) -> None:
        """Move touched rows of ``T`` against their gradient by ``pace`` times the step; the gradient becomes zero."""
        pace = pace * T.dtype.type(self.step)
        if self.whole_rows:
            kernels.adagrad_whole_rows(touched, penalties, T, state, rank=rank, pace=pace, eps=EPS)
        else:
            kernels.adagrad_rows(touched, penalties, T, pace=pace, eps=EPS)

    def forget(self, T: NDArray[Any]) -> None:
        """Do nothing: no direction is remembered."""
