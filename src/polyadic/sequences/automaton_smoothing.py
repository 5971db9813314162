r"""Proper probabilities from an automaton whose estimates may be negative.

.. math:: p(a \mid u) = \lambda\, \frac{\max(h_u A_a \beta, 0)}{\sum_b \max(h_u A_b \beta, 0)}
                        + (1 - \lambda)\, q(a \mid u)

The end of the string is one of the symbols. Negative values are set to 0, the rest is normalized and mixed with n-gram
probabilities q, which are uniform for order 0. The weight :math:`\lambda` maximizes the likelihood of held-out strings.
The probability of a string is the product over its symbols and its end, so the probabilities of all strings sum to at
most 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from polyadic.core.errors import check_int
from polyadic.sequences.ngrams import NGrams, blocks, next_symbols, string_logs
from polyadic.sequences.symbols import Coded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.sequences.automata import WeightedAutomaton

    Array = NDArray[np.float64]

HALVINGS = 50


@dataclass(frozen=True, eq=False)
class SmoothedAutomaton:
    """A mixture of an automaton and n-grams.

    Attributes
    ----------
    automaton : WeightedAutomaton
    ngrams : NGrams
        With the same symbols.
    share : float
        Weight of the automaton.
    """

    automaton: WeightedAutomaton
    ngrams: NGrams
    share: float

    def next_probabilities(self, data: Coded) -> Array:
        """Return the probabilities of each symbol and, last, of the end; shape (N + strings, k + 1)."""
        p, q = self.parts(data)
        return self.share * p + (1 - self.share) * q

    def parts(self, data: Coded) -> tuple[Array, Array]:
        """Return the corrected probabilities of the automaton, and those of the n-grams."""
        p = self.automaton.next_probabilities(self.automaton.states(data))
        return p, self.ngrams.along(data)

    def after(self, data: Coded) -> Array:
        """Return the probabilities of the next symbol and, last, of the end; shape (strings, k + 1)."""
        p = np.empty((len(data.edges) - 1, self.automaton.size + 1))
        for first, block in blocks(data, self.automaton.size):
            ends = block.edges[1:] + np.arange(len(block.edges) - 1)
            p[first : first + len(ends)] = self.next_probabilities(block)[ends]
        return p

    def logs(self, data: Coded) -> Array:
        """Return the log-likelihood of each string; minus infinity if its probability is 0."""
        return string_logs(data, self.automaton.size, self.next_probabilities)

    def tuned(self, held_out: Coded) -> tuple[SmoothedAutomaton, float]:
        """Return a copy with the weight of the highest likelihood, and the mean log-likelihood of a string."""
        said = []
        for _, block in blocks(held_out, self.automaton.size):
            symbols, _ = next_symbols(block, self.automaton.size)
            said.append(np.stack([part[np.arange(len(symbols)), symbols] for part in self.parts(block)]))
        p, q = np.concatenate(said, axis=1)
        share = best_share(p, q)
        with np.errstate(divide="ignore"):
            mean = float(np.log(share * p + (1 - share) * q).sum() / (len(held_out.edges) - 1))
        return SmoothedAutomaton(self.automaton, self.ngrams, share), mean

    def sample(self, many: int, rng: np.random.Generator, *, max_length: int = 1000) -> list[list[int]]:
        """Draw strings of at most ``max_length`` symbols."""
        check_int("n", many, low=0)
        check_int("max_length", max_length, low=0)
        strings: list[list[int]] = [[] for _ in range(many)]
        alive, width = np.arange(many), max(self.ngrams.order - 1, 1)
        empty = Coded(np.zeros(0, np.int64), np.zeros(2, np.int64))
        states = np.repeat(self.automaton.states(empty), many, axis=0)
        before = np.full((many, width), -1)
        for _ in range(max_length):
            if not len(alive):
                break
            p = self.share * self.automaton.next_probabilities(states)
            p += (1 - self.share) * self.ngrams.next_probabilities(before)
            drawn = (np.cumsum(p, axis=1) < rng.random(len(p))[:, None]).sum(axis=1).clip(max=p.shape[1] - 1)
            on = drawn < self.automaton.size
            alive, drawn = alive[on], drawn[on]
            for at, symbol in zip(alive.tolist(), drawn.tolist(), strict=True):
                strings[at].append(symbol)
            before = np.column_stack([before[on][:, 1:], drawn])
            states = self.automaton.moved(states[on], drawn)
        return strings


def best_share(p: Array, q: Array) -> float:
    """Return the weight of the first of two models that maximizes the likelihood, found by bisection on its slope.

    Parameters
    ----------
    p, q : ndarray of shape (n,)
        Probabilities of the observations under both models.

    Examples
    --------
    >>> round(best_share(np.array([0.9, 0.1]), np.array([0.1, 0.9])), 6)
    0.5
    """
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        share = (low + high) / 2
        mixed = share * p + (1 - share) * q
        slope = np.divide(p - q, mixed, out=np.zeros_like(mixed), where=mixed > 0).sum()
        low, high = (share, high) if slope > 0 else (low, share)
    return (low + high) / 2
