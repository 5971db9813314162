"""Optimizers for stochastic gradient descent: Adam and Adagrad.

Only the rows that a step touches change, with their state. Learning rates are relative: 0.1 is a tenth of the root mean
square of a factor's elements at the start of an epoch, so that it fits factors of any rank and scale.

References
----------
Duchi, Hazan, Singer (2011), Adaptive subgradient methods, section 1.1, equation 4 for the proximal step.
Kingma, Ba (2015), Adam: a method for stochastic optimization, algorithm 1. arXiv:1412.6980.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from polyadic.core import kernels
from polyadic.core.annotations import AnyArray
from polyadic.core.errors import InputError, check_number

if TYPE_CHECKING:
    from polyadic.core.kernels import RowPenalties, Touched

EPS = 1e-12  # keeps the first step of an element with zero gradient finite; far below any relevant gradient


@dataclass(frozen=True)
class Adam:
    """Adam optimizer whose means have the ``decays``, and whose rows correct their bias by their own count of steps."""

    learning_rate: float = 0.05
    decays: tuple[float, float] = (0.9, 0.999)
    layers = 2
    """Number of table layers needed for the state, besides the rows and their gradients."""

    def __post_init__(self) -> None:
        check_number("learning_rate", self.learning_rate)
        for decay in self.decays:
            if check_number("decays", decay) >= 1:
                raise InputError(f"decays must be less than 1; got {self.decays}", "decays")

    def start(self, T: AnyArray) -> AnyArray:
        """Return the initial optimizer state, a step count of zero for each row."""
        return np.zeros(len(T), np.int64)

    def move(
        self,
        touched: Touched,
        penalties: RowPenalties,
        T: AnyArray,
        state: AnyArray,
        *,
        pace: AnyArray,
        rank: int,  # noqa: ARG002 # of all rules
    ) -> None:
        """Update the touched rows of ``T`` from their gradients, and set the gradients to zero."""
        pace = pace * T.dtype.type(self.learning_rate)
        kernels.adam_rows(touched, penalties, T, state, pace=pace, decays=self.decays, eps=EPS)

    def forget(self, T: AnyArray) -> None:
        """Reset the momentum to zero, but keep the running mean of squared gradients."""
        T[:, 2] = 0


@dataclass(frozen=True)
class Adagrad:
    """Adagrad optimizer with an initial ``learning_rate`` relative to the scale of the factors.

    With ``whole_rows`` all elements of a row share one sum, the mean over the row: a state of one number per row.
    """

    learning_rate: float = 0.2
    whole_rows: bool = False

    def __post_init__(self) -> None:
        check_number("learning_rate", self.learning_rate)

    @property
    def layers(self) -> int:
        """Number of layers that the optimizer state needs in the table of factors."""
        return 0 if self.whole_rows else 1

    def start(self, T: AnyArray) -> AnyArray:
        """Return the initial optimizer state, a sum of zero for each row."""
        return np.zeros(len(T), T.dtype)

    def move(
        self, touched: Touched, penalties: RowPenalties, T: AnyArray, state: AnyArray, *, pace: AnyArray, rank: int
    ) -> None:
        """Update the touched rows of ``T`` from their gradients, and set the gradients to zero."""
        pace = pace * T.dtype.type(self.learning_rate)
        if self.whole_rows:
            kernels.adagrad_whole_rows(touched, penalties, T, state, rank=rank, pace=pace, eps=EPS)
        else:
            kernels.adagrad_rows(touched, penalties, T, pace=pace, eps=EPS)

    def forget(self, T: AnyArray) -> None:
        """Do nothing, because Adagrad has no momentum."""


StepRule = Adam | Adagrad
