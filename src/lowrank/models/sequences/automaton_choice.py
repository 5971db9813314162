"""What a spectral automaton learns and chooses: learned from one part of the strings, judged by another."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from lowrank.errors import InputError
from lowrank.models.sequences.automata import WeightedAutomaton
from lowrank.models.sequences.automaton_learning import RankWarning, hull_automaton, svd_automaton
from lowrank.models.sequences.automaton_likelihood import blurred, likelier
from lowrank.models.sequences.automaton_smoothing import SmoothedAutomaton
from lowrank.models.sequences.hankel import Hankel, hankel
from lowrank.models.sequences.ngrams import NGrams, tuned_ngrams
from lowrank.models.sequences.substrings import Substrings, count_substrings
from lowrank.models.sequences.symbols import Coded
from lowrank.progress import tracked
from lowrank.solvers.run import Result, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lowrank.forms import Factors
    from lowrank.models.sequences.automaton_settings import Settings
    from lowrank.solvers.run import Sweep
CALM = 1e-4
"""Gain of a pass, in log-likelihood of a string, below which no more are made."""
AFTERWARDS = 10
"""Passes over all strings from where those over a part have led."""
BLUR = 0.1
"""Weight spread over all transitions before the first pass; 0.01 to 0.3 led to the same likelihood, none to a worse."""
FAINT = 1e-6
"""The same where there are no passes: from every state there must be an end."""


@dataclass
class Tried:
    """A rank, what was learned with it, and what strings held out say.

    Attributes
    ----------
    rank : int
        That of the automaton, which may be below the one asked for.
    model : SmoothedAutomaton
    held_out : float
        Mean log-likelihood of strings held out; NaN if there are none.
    result : Result, optional
        Of the passes.
    """

    rank: int
    model: SmoothedAutomaton
    held_out: float
    result: Result | None = None


@dataclass
class Learner:
    """Strings, counted once, and automata of them.

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
    table: Hankel = field(init=False)

    def __post_init__(self) -> None:
        s = self.settings
        self.table = hankel(self.data, self.size, statistic=s.statistic, basis=s.basis, longest=s.longest)

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


def choose(learner: Learner, held: Coded | None, ranks: Sequence[int], order: int) -> list[Tried]:
    """Learn an automaton of each rank, smooth it, and tell how likely it makes strings held out.

    Ctrl-C keeps those that are done, and the one at hand if it has begun to improve.
    """
    size, passes = learner.size, learner.settings.passes
    if held is None:
        ngrams = NGrams(order).fit(learner.data, size)
    else:
        ngrams = tuned_ngrams(learner.data, held, size, orders=(order,))
    tried = []
    for found, seed in product(learner.automata(ranks), range(learner.settings.starts if passes else 1)):
        result, automaton = None, found
        if passes:
            result = learner.improved(found, seed, passes=passes, held=held)
            automaton = WeightedAutomaton(*result.factors)
        model, mean = SmoothedAutomaton(automaton, ngrams, 1.0), float("nan")
        if held is not None:
            model, mean = model.tuned(held)
        tried.append(Tried(found.rank, model, mean, result))
        if result is not None and result.interrupted:
            break
    return tried


def learned(data: Coded, best: Tried, learner: Learner) -> tuple[SmoothedAutomaton, Result | None]:
    """Learn the chosen automaton again from all strings; after passes, go on from where they have led."""
    chosen, size = best.model, learner.size
    whole = Learner(data, size, learner.settings, learner.watch)
    ngrams = NGrams(chosen.ngrams.order, discount=chosen.ngrams.discount).fit(data, size)
    if best.result is None:
        automaton, result = next(whole.automata([best.rank])), None
    else:
        result = whole.passed(chosen.automaton, AFTERWARDS)
        automaton = WeightedAutomaton(*result.factors)
    return SmoothedAutomaton(automaton, ngrams, chosen.share), result


def split(data: Coded, share: float, seed: int | None) -> tuple[Coded, Coded]:
    """Divide strings by chance; the second part has the share, and at least one string, as has the first."""
    many = len(data.edges) - 1
    if many < 2:
        raise InputError(f"to hold strings out there must be at least 2; got {many}")
    held = np.zeros(many, bool)
    held[np.random.default_rng(seed).permutation(many)[: min(max(round(share * many), 1), many - 1)]] = True
    return taken(data, ~held), taken(data, held)


def taken(data: Coded, which: Any) -> Coded:
    """Give the strings of which ``which``, an array of bool, is true."""
    lengths = np.diff(data.edges)
    return Coded(data.symbols[np.repeat(which, lengths)], np.concatenate([[0], np.cumsum(lengths[which])]))
