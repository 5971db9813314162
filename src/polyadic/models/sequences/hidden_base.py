"""What a hidden Markov chain tells of sequences: probabilities, states, what comes next, and sequences of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from polyadic.errors import InputError, check_int
from polyadic.kernels.sequences.hidden import Chain, hidden_states
from polyadic.kernels.sequences.viterbi import viterbi_states
from polyadic.models.sequences.symbols import coded

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    from polyadic.models.sequences.symbols import Coded

    Sequences = Iterable[Sequence[Hashable]]

Unknown = Literal["raise", "missing"]
NEVER = -1e30
"""Stands for the logarithm of 0 where it must be finite: no path that can be costs as much."""


class HiddenChain:
    """A chain of hidden states, each of which gives symbols.

    Attributes
    ----------
    start_ : ndarray of shape (states,)
        Probability of the first state.
    moves_ : ndarray of shape (states, states)
        Of each state (column) after each (row).
    emissions_ : ndarray of shape (states, symbols)
        Of each symbol in each state.
    symbols_ : list
        Of the columns of ``emissions_``.
    """

    unknown: Unknown
    start_: NDArray[np.float64]
    moves_: NDArray[np.float64]
    emissions_: NDArray[np.float64]
    symbols_: list[Any]

    def score(self, sequences: Sequences) -> float:
        """Give the logarithm of the probability of all sequences together; minus infinity if one cannot be.

        Parameters
        ----------
        sequences : iterable of sequences of symbols

        Raises
        ------
        InputError
            If a symbol was not seen in training, unless it counts as missing.
        """
        return float(np.sum(self.score_sequences(sequences)))

    def score_sequences(self, sequences: Sequences) -> NDArray[np.float64]:
        """Give the logarithm of the probability of each sequence; 0 for an empty one."""
        data = self._coded(sequences)
        logs = self.log_probabilities(data)
        return np.array([part.sum() for part in data.split(logs)])

    def log_probabilities(self, data: Coded) -> NDArray[np.float64]:
        """Give the logarithm of the probability of each token, given those before it."""
        return hidden_states(*data, self._chain(), smoothed=False)[1]

    def predict(self, sequences: Sequences) -> list[NDArray[np.int32]]:
        """Give the likeliest path of states of each sequence (Viterbi), in single precision."""
        data = self._coded(sequences)
        with np.errstate(divide="ignore"):
            start, moves, emit = (np.maximum(np.log(part), NEVER) for part in self._chain())
        found = viterbi_states(*data, scores=emit, start=start, move=moves)
        return data.split(found)

    def predict_proba(self, sequences: Sequences) -> list[NDArray[np.float64]]:
        """Give the distribution of the state at each place, given the whole sequence: arrays of (length, states)."""
        data = self._coded(sequences)
        return data.split(hidden_states(*data, self._chain(), smoothed=True)[0])

    def next_symbols(self, sequence: Sequence[Hashable]) -> NDArray[np.float64]:
        """Give the distribution of each symbol of a sequence given those before it, and of the one to come.

        Parameters
        ----------
        sequence : sequence of symbols

        Returns
        -------
        ndarray of shape (length + 1, symbols)
            NaN behind a symbol that cannot stand where it does.
        """
        data = self._coded([sequence])
        states, _ = hidden_states(*data, self._chain(), smoothed=False)
        return np.asarray(np.vstack([self.start_, states @ self.moves_]) @ self.emissions_)

    def sample(
        self, n: int = 1, *, length: int = 20, stop: Hashable = None, seed: int | None = None
    ) -> list[list[Any]]:
        """Draw sequences.

        Parameters
        ----------
        n : int
            How many.
        length : int
            Symbols of each, at most.
        stop : symbol, optional
            A sequence ends behind it.
        seed : int, optional

        Raises
        ------
        InputError
            If a number is out of range, or nothing was learned yet.
        """
        self._check_fitted()
        check_int("n", n, low=1)
        check_int("length", length, low=1)
        chain = Chain(self.start_, self.moves_, self.emissions_.T)
        drawn = draw_symbols(chain, n, length, rng=np.random.default_rng(seed))
        sequences = [[self.symbols_[x] for x in row] for row in drawn.tolist()]
        return [row[: row.index(stop) + 1] if stop is not None and stop in row else row for row in sequences]

    def _check_fitted(self) -> None:
        if not hasattr(self, "symbols_"):
            raise InputError(f"this {type(self).__name__} is not fitted yet; call fit first")

    def _coded(self, sequences: Sequences) -> Coded:
        self._check_fitted()
        number = {symbol: at for at, symbol in enumerate(self.symbols_)}
        return coded(sequences, number, unknown=self.unknown == "missing")

    def _chain(self) -> Chain:
        """Give the chain, with a symbol that was not seen and says nothing."""
        return Chain(self.start_, self.moves_, np.vstack([self.emissions_.T, np.ones(len(self.start_))]))


def draw_symbols(chain: Chain, n: int, length: int, *, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw sequences of one length from a chain, of shape (n, length)."""
    start, moves, emit = (np.cumsum(part, axis=-1)[..., :-1] for part in (chain.start, chain.move, chain.emit.T))
    drawn = np.empty((n, length), np.int64)
    row = start
    for place in range(length):
        states = (rng.random(n)[:, None] >= row).sum(axis=1)
        drawn[:, place] = (rng.random(n)[:, None] >= emit[states]).sum(axis=1)
        row = moves[states]
    return drawn
