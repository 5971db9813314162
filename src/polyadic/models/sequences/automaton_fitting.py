"""How a spectral automaton is learned: counted once, of each rank, and improved."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from polyadic import resources
from polyadic.errors import InputError, check_choice, check_int, check_number
from polyadic.models.sequences.automata import WeightedAutomaton
from polyadic.models.sequences.automaton_learning import RankWarning, hull_automaton, svd_automaton
from polyadic.models.sequences.automaton_likelihood import blurred, likelier
from polyadic.models.sequences.hankel import Hankel, Statistic, hankel
from polyadic.models.sequences.substrings import Substrings, count_substrings
from polyadic.progress import tracked
from polyadic.solvers.run import Result, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from polyadic.forms import Factors
    from polyadic.models.sequences.spectral_automaton import SpectralAutomaton
    from polyadic.models.sequences.symbols import Coded
    from polyadic.solvers.run import Sweep

Method = Literal["hull", "svd"]
CALM = 1e-4
"""Gain of a pass, in log-likelihood of a string, below which no more are made."""
BLUR = 0.1
"""Weight spread over all transitions before the first pass; 0.01 to 0.3 led to the same likelihood, none to a worse."""
FAINT = 1e-6
"""The same where there are no passes: from every state there must be an end."""
NAMES = 3
"""Numbers, times ten, that it takes to know the name of a symbol."""


@dataclass(frozen=True)
class Settings:
    """How one automaton is learned: see :class:`~polyadic.models.sequences.spectral_automaton.SpectralAutomaton`."""

    ranks: tuple[int, ...]
    method: Method
    statistic: Statistic
    basis: int | None
    longest: int
    scaling: float
    passes: int
    starts: int
    order: int
    held_out: float
    seed: int | None


def checked_settings(model: SpectralAutomaton) -> Settings:
    """Give what a model asks for, the largest rank first, or say what is allowed.

    Raises
    ------
    InputError
        If a parameter is out of range.
    """
    check_choice("method", model.method, get_args(Method))
    check_choice("statistic", model.statistic, get_args(Statistic))
    check_int("longest", model.longest, low=0)
    if model.basis is not None:
        check_int("basis", model.basis, low=1)
    ranks = [check_int("rank", rank, low=1) for rank in np.atleast_1d(model.rank).tolist()]
    starts = check_int("starts", model.starts, low=1)
    if model.seed is not None:
        check_int("seed", model.seed, low=0)
    order = check_int("order", model.order, low=0)
    if check_number("held_out", model.held_out) >= 1:
        raise InputError(f"held_out must be below 1; got {model.held_out}")
    if not ranks or (max(len(ranks), starts) > 1 and not model.held_out):
        raise InputError("to choose among ranks or starts strings must be held out; give one, or held_out above 0")
    if model.alphabet is not None:
        cells = 10.0 * len(model.alphabet) * (max(ranks) ** 2 + NAMES)
        resources.check_memory(
            8 * cells, f"an alphabet of {len(model.alphabet):,} symbols", "lower the rank, or rename rare symbols"
        )
        if not 0 < len(set(model.alphabet)) == len(model.alphabet):
            raise InputError("alphabet must be of different symbols, and of at least one")
    passes = check_int("passes", model.passes, low=0) if model.method == "hull" else 0
    return Settings(
        tuple(sorted(ranks, reverse=True)),
        model.method,
        model.statistic,
        model.basis,
        model.longest,
        check_number("scaling", model.scaling),
        passes,
        starts,
        order,
        model.held_out,
        model.seed,
    )


@dataclass
class Learner:
    """Strings, counted once where it is needed, and automata of them.

    Attributes
    ----------
    data : Coded
    size : int
        Of the alphabet.
    settings : Settings
    watch : callable, optional
        Called after each pass.
    """

    data: Coded
    size: int
    settings: Settings
    watch: Callable[[Result], None] | None = None

    @cached_property
    def table(self) -> Hankel:
        """The Hankel matrix of the strings."""
        s = self.settings
        return hankel(self.data, self.size, statistic=s.statistic, basis=s.basis, longest=s.longest)

    def automata(self, ranks: Sequence[int]) -> Iterator[WeightedAutomaton]:
        """Give an automaton for each rank, none twice; one alone is told of if the matrix does not have it."""
        with warnings.catch_warnings():
            if len(ranks) > 1:
                warnings.simplefilter("ignore", RankWarning)
            many = [self._automaton(rank) for rank in ranks] if self.settings.method == "hull" else self._leading(ranks)
        yield from {automaton.rank: automaton for automaton in many}.values()

    def _automaton(self, rank: int) -> WeightedAutomaton:
        return blurred(hull_automaton(self.table, rank, scaling=self.settings.scaling), FAINT, seed=self.settings.seed)

    def _leading(self, ranks: Sequence[int]) -> list[WeightedAutomaton]:
        largest = svd_automaton(self.table, max(ranks), scaling=self.settings.scaling)
        return [largest.leading(rank) for rank in ranks]

    def improved(self, found: WeightedAutomaton, start: int, *, passes: int, held: Coded | None) -> Result:
        """Make an automaton likelier, until strings held out or the gain of a pass say that it is enough."""
        seed = None if self.settings.seed is None else self.settings.seed + start
        return self.passed(blurred(found, BLUR, seed=seed), passes, held)

    def passed(self, automaton: WeightedAutomaton, passes: int, held: Coded | None = None) -> Result:
        """Do the same from where it is."""

        def surprise(parts: Factors) -> float:
            return math.inf if held is None else -float(WeightedAutomaton(*parts).logs(held).mean())

        steps = _until_calm(likelier(automaton, self._prefixes))
        seen = tracked(steps, f"{automaton.rank} states", total=passes)
        return run(iter(seen), max_iter=passes, measure=None if held is None else surprise, watch=self.watch)

    @cached_property
    def _prefixes(self) -> Substrings:
        return count_substrings(self.data, self.size, anywhere=False)


def _until_calm(sweeps: Iterator[Sweep]) -> Iterator[Sweep]:
    before = np.inf
    for sweep in sweeps:
        yield sweep
        if before - sweep.objective < CALM:
            return
        before = sweep.objective
