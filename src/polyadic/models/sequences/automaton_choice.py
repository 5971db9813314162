"""What a spectral automaton learns and chooses: learned from one part of the strings, judged by another."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from polyadic.models.sequences.automata import WeightedAutomaton
from polyadic.models.sequences.automaton_fitting import Learner
from polyadic.models.sequences.automaton_smoothing import SmoothedAutomaton
from polyadic.models.sequences.ngrams import NGrams, tuned_ngrams
from polyadic.models.sequences.symbols import split

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyadic.models.sequences.automaton_fitting import Settings
    from polyadic.models.sequences.symbols import Coded
    from polyadic.solvers.run import Result

AFTERWARDS = 10
"""Passes over all strings, at most, from where those over a part have led."""


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


class Chosen(NamedTuple):
    """What comes of it.

    Attributes
    ----------
    model : SmoothedAutomaton
    result : Result, optional
        Of its last passes.
    tried : list of Tried
    interrupted : bool
        Whether Ctrl-C came.
    """

    model: SmoothedAutomaton
    result: Result | None
    tried: list[Tried]
    interrupted: bool


def chosen(data: Coded, size: int, settings: Settings, *, watch: Callable[[Result], None] | None = None) -> Chosen:
    """Learn automata from a part of the strings, choose by those held out, and learn the chosen one from all.

    Ctrl-C keeps the best of those that are done, and of the one at hand if its passes have begun.

    Raises
    ------
    InputError
        If there are too few strings.
    """
    part, held = split(data, settings.held_out, settings.seed) if settings.held_out else (data, None)
    learner = Learner(part, size, settings, watch)
    tried, interrupted = _all_tried(learner, held)
    best = max(tried, key=lambda one: one.held_out) if held is not None else tried[0]
    model, result = best.model, best.result
    if held is not None and not interrupted:
        try:
            model, result = _learned_again(best, Learner(data, size, settings, watch))
        except KeyboardInterrupt:
            interrupted = True
    return Chosen(model, result, tried, interrupted or (result is not None and result.interrupted))


def _all_tried(learner: Learner, held: Coded | None) -> tuple[list[Tried], bool]:
    """Learn an automaton of each rank and start; and tell whether Ctrl-C came."""
    size, settings, tried = learner.size, learner.settings, list[Tried]()
    if held is None:
        ngrams = NGrams(settings.order).fit(learner.data, size)
    else:
        ngrams = tuned_ngrams(learner.data, held, size, orders=(settings.order,))
    try:
        for found, start in product(learner.automata(settings.ranks), range(settings.starts if settings.passes else 1)):
            tried.append(_tried(learner, found, start, held, ngrams))
            if (result := tried[-1].result) is not None and result.interrupted:
                return tried, True
    except KeyboardInterrupt:
        if not tried:
            raise
        return tried, True
    return tried, False


def _tried(learner: Learner, found: WeightedAutomaton, start: int, held: Coded | None, ngrams: NGrams) -> Tried:
    """Improve an automaton, mix it with n-grams, and tell how likely it makes strings held out."""
    result, automaton = None, found
    if passes := learner.settings.passes:
        result = learner.improved(found, start, passes=passes, held=held)
        automaton = WeightedAutomaton(*result.factors)
    model, mean = SmoothedAutomaton(automaton, ngrams, 1.0), float("nan")
    if held is not None:
        model, mean = model.tuned(held)
    return Tried(found.rank, model, mean, result)


def _learned_again(best: Tried, whole: Learner) -> tuple[SmoothedAutomaton, Result | None]:
    """Learn the chosen automaton from all strings; after passes, go on from where they have led."""
    old = best.model
    ngrams = NGrams(old.ngrams.order, discount=old.ngrams.discount).fit(whole.data, whole.size)
    if best.result is None:
        automaton, result = next(whole.automata([best.rank])), None
    else:
        result = whole.passed(old.automaton, min(AFTERWARDS, whole.settings.passes))
        automaton = WeightedAutomaton(*result.factors)
    return SmoothedAutomaton(automaton, ngrams, old.share), result
