"""Hankel matrices of automata, as if all strings had been counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from lowrank.models.sequences.automaton_algebra import converted
from lowrank.models.sequences.hankel import Hankel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lowrank.models.sequences.automata import WeightedAutomaton
    from lowrank.models.sequences.hankel import Statistic

    Array = NDArray[np.float64]


def exact_hankel(
    automaton: WeightedAutomaton,
    prefixes: Sequence[Sequence[int]],
    suffixes: Sequence[Sequence[int]],
    *,
    statistic: Statistic = "string",
) -> Hankel:
    """Give the Hankel matrix of an automaton of probabilities, as if all strings had been counted.

    Parameters
    ----------
    automaton : WeightedAutomaton
    prefixes, suffixes : sequence of sequences of int
    statistic : {"string", "prefix", "factor"}
    """
    f = converted(automaton, before="string", after=statistic)
    u, v = ([tuple(string) for string in given] for given in (prefixes, suffixes))
    forward = np.array([_product(f.alpha0, f.A, string) for string in u])
    backward = np.array([_product(f.alpha_inf, f.A.transpose(0, 2, 1), string[::-1]) for string in v])
    shifted = np.concatenate([forward @ a @ backward.T for a in automaton.A])
    begin = backward @ automaton.alpha0
    everything = automaton.alpha_inf if statistic == "string" else f.alpha_inf
    row = automaton.total if statistic == "string" else everything
    column = automaton.anywhere
    before = f.alpha0 if statistic == "factor" else column
    return Hankel(
        u,
        v,
        csr_array(forward @ backward.T),
        csr_array(shifted),
        begin,
        np.stack([backward @ (automaton.alpha0 @ a) for a in automaton.A]),
        forward @ automaton.alpha_inf,
        forward @ row,
        np.column_stack([forward @ a @ row for a in automaton.A]),
        backward @ before,
        np.array([*(automaton.alpha0 @ automaton.A @ automaton.total), automaton.alpha0 @ automaton.alpha_inf]),
        statistic,
        0,
    )


def _product(state: Array, A: Array, string: Sequence[int]) -> Array:
    for symbol in string:
        state = state @ A[symbol]
    return state
