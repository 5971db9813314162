r"""Weighted transducers: weighted automata over pairs of an input and an output symbol, either of which may be a gap.

.. math:: f(s, t) = \sum_{z\ \mathrm{aligns}\ s, t} \alpha_0 A_{z_1} \cdots A_{z_n} \alpha_\infty, \qquad
          f(s) = \sum_t f(s, t) = \alpha_0 G M_{s_1} G \cdots M_{s_n} G \alpha_\infty

:math:`M_a = \sum_b A_{a/b}` sums over all outputs of a, including none, and
:math:`G = (I - \sum_b A_{\epsilon/b})^{-1}` over all outputs between two input symbols. So the inputs have an automaton
of the same rank, and the probability of an output given its input is :math:`f(s, t) / f(s)`.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.annotations import Array, Ints
from polyadic.sequences.automata import WeightedAutomaton
from polyadic.sequences.kernels.automata import pair_values

if TYPE_CHECKING:
    from polyadic.sequences.symbols import Coded

    States = dict[tuple[int, ...], Array]

MAX_INSERTED = 20  # maximum number of outputs between two input symbols in a search
MIN_SHARE = 1e-6  # share of the largest weight below which a prefix is dropped


class Output(NamedTuple):
    """An output string, with the logarithm of its joint weight with the input."""

    symbols: tuple[int, ...]
    log: float


@dataclass(frozen=True, eq=False)
class WeightedTransducer:
    """Weighted transducer: an automaton over pairs of symbols.

    Row i and column j of ``ids`` have the symbol of the automaton for a pair of an input and an output symbol, or -1 if
    there is none. The last row and column are gaps.

    Examples
    --------
    >>> from polyadic.sequences.symbols import Coded
    >>> copy = WeightedAutomaton(np.array([1.0]), np.full((3, 1, 1), 0.2), np.array([0.4]))
    >>> transducer = WeightedTransducer(copy, np.array([[0, 1], [2, -1]]))  # a/b, a/-, -/b
    >>> one = Coded(np.array([0]), np.array([0, 1]))
    >>> round(float(np.exp(transducer.logs(one, one))[0]), 4)  # a/b, or a/- and -/b in either order
    0.112
    """

    automaton: WeightedAutomaton
    ids: Ints

    def logs(self, x: Coded, y: Coded) -> Array:
        """Return the logarithm of the weight of each pair, or minus infinity if the weight is not positive."""
        m = self.automaton
        values, logs = pair_values(x, y, self.ids, start=m.alpha0, A=m.A, stop=m.alpha_inf)
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(values, 0)) + logs

    @cached_property
    def inputs(self) -> WeightedAutomaton:
        """The automaton of the inputs, which sums over all outputs."""
        M = np.array([self._read(row).sum(axis=0) for row in self.ids[:-1]])
        return WeightedAutomaton(self.automaton.alpha0 @ self._written, M @ self._written, self.automaton.alpha_inf)

    @cached_property
    def _written(self) -> Array:
        """The sum over all outputs without input, G."""
        return np.asarray(np.linalg.inv(np.eye(self.automaton.rank) - self._read(self.ids[-1]).sum(axis=0)))

    def _read(self, row: Ints) -> Array:
        """Return the matrices of the pairs of one input symbol."""
        return self.automaton.A[row[row >= 0]]

    def k_best(self, x: Ints, *, k: int, beam: int) -> list[Output]:
        """Return the ``k`` outputs of the largest weight for an input, by beam search.

        After each input symbol, the ``beam`` output prefixes with the largest weights of all their continuations are
        kept; each weight sums over alignments.
        """
        G, ahead = self._written, [self.automaton.alpha_inf]  # weights of the rest of the input
        for a in x[::-1]:
            ahead.append(self._read(self.ids[a]).sum(axis=0) @ (G @ ahead[-1]))
        now: States = {(): self.automaton.alpha0}
        log = 0.0
        for i, rest in enumerate(ahead[::-1]):
            lengths = list(map(len, now)) or [0]
            for length in range(min(lengths), max(lengths) + MAX_INSERTED):
                if length > max(map(len, now), default=0):
                    break
                level = {t: now[t] for t in now if len(t) == length}
                now = _pruned(self._extended(level, self.ids[-1], now), rest, G @ rest, length, beam)
            if i < len(x):
                now = self._extended(now, self.ids[x[i]], {})
                top = max((np.abs(state).max() for state in now.values()), default=1.0) or 1.0
                now, log = {t: state / top for t, state in now.items()}, log + float(np.log(top))
                now = _pruned(now, rest, G @ ahead[-i - 2], -1, beam)
        ends = [(float(state @ self.automaton.alpha_inf), t) for t, state in now.items()]
        return [Output(t, log + float(np.log(end))) for end, t in sorted(ends, reverse=True)[:k] if end > 0]

    def _extended(self, states: States, row: Ints, reached: States) -> States:
        """Add the states after each output prefix extended by the outputs of a row of ``ids``."""
        reached, gap = dict(reached), len(row) - 1
        tails = [() if b == gap else (b,) for b in np.flatnonzero(row >= 0).tolist()]
        moves = np.einsum("nr,brt->nbt", np.array([*states.values()]).reshape(-1, self.automaton.rank), self._read(row))
        for t, moved in zip(states, moves, strict=True):
            for tail, state in zip(tails, moved, strict=True):
                reached[t + tail] = reached[t + tail] + state if t + tail in reached else state
        return reached


def _pruned(states: States, rest: Array, further: Array, length: int, beam: int) -> States:
    """Keep the prefixes with the largest weights; those longer than ``length`` can be extended without input."""
    weights = {t: float(state @ (further if len(t) > length else rest)) for t, state in states.items()}
    floor = max([*heapq.nlargest(beam, weights.values())[-1:], MIN_SHARE * max(weights.values(), default=0.0)])
    return {t: state for t, state in states.items() if weights[t] >= floor and weights[t] > 0}
