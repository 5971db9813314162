"""How a spectral automaton is learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from lowrank.errors import InputError, check_choice, check_int, check_number

if TYPE_CHECKING:
    from lowrank.models.sequences.hankel import Statistic
    from lowrank.models.sequences.spectral_automaton import SpectralAutomaton

Method = Literal["hull", "svd"]


@dataclass(frozen=True)
class Settings:
    """How one automaton is learned: see :class:`~lowrank.models.sequences.spectral_automaton.SpectralAutomaton`."""

    method: Method
    statistic: Statistic
    basis: int | None
    longest: int
    scaling: float
    passes: int
    starts: int
    seed: int | None


def checked_settings(model: SpectralAutomaton) -> tuple[list[int], Settings]:
    """Give ranks, the largest first, and settings, or say what is allowed.

    Raises
    ------
    InputError
        If a parameter is out of range.
    """
    check_choice("method", model.method, get_args(Method))
    ranks = [check_int("rank", rank, low=1) for rank in np.atleast_1d(model.rank).tolist()]
    starts = check_int("starts", model.starts, low=1)
    check_int("order", model.order, low=0)
    if check_number("held_out", model.held_out) >= 1:
        raise InputError(f"held_out must be below 1; got {model.held_out}")
    if not ranks or (max(len(ranks), starts) > 1 and not model.held_out):
        raise InputError("to choose among ranks or starts strings must be held out; give one, or held_out above 0")
    passes = check_int("passes", model.passes, low=0) if model.method == "hull" else 0
    how = (model.basis, model.longest, check_number("scaling", model.scaling), passes, starts, model.seed)
    return sorted(ranks, reverse=True), Settings(model.method, model.statistic, *how)
