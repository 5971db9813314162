"""Sequences of symbols as concatenated numbers."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray


class Coded(NamedTuple):
    """Concatenated sequences.

    Attributes
    ----------
    symbols : ndarray of int64 of shape (N,)
        Ids of symbols; the number of known symbols stands for unknown ones.
    edges : ndarray of int64 of shape (sequences + 1,)
        Start and end of each sequence.
    """

    symbols: NDArray[np.int64]
    edges: NDArray[np.int64]

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Split an array with a row per position into one array per sequence."""
        return np.split(values, self.edges[1:-1]) if len(self.edges) > 1 else []

    def taken(self, which: NDArray[np.bool_]) -> Coded:
        """Return the sequences for which ``which`` is true.

        Examples
        --------
        >>> Coded(np.array([4, 5, 6, 7]), np.array([0, 1, 4])).taken(np.array([False, True])).symbols.tolist()
        [5, 6, 7]
        """
        lengths = np.diff(self.edges)
        return Coded(self.symbols[np.repeat(which, lengths)], np.concatenate([[0], np.cumsum(lengths[which])]))

    def runs(self, length: int) -> NDArray[np.int64]:
        """Return all n-grams of ``length`` symbols within a sequence, shape (n-grams, length).

        Examples
        --------
        >>> Coded(np.array([4, 5, 6, 7]), np.array([0, 1, 4])).runs(2).tolist()
        [[5, 6], [6, 7]]
        """
        first = np.arange(max(len(self.symbols) - length + 1, 0))
        ends = np.repeat(self.edges[1:], np.diff(self.edges))[: len(first)]
        first = first[first + length <= ends]
        return self.symbols[first[:, None] + np.arange(length)]


def listed(sequences: Iterable[Sequence[Hashable]]) -> list[Sequence[Hashable]]:
    """Return sequences as a list; raise InputError for a string, whose letters would be taken as sequences."""
    if isinstance(sequences, str):
        raise InputError("sequences must be a list of sequences; got a single string", "sequences")
    return list(sequences)


def split(data: Coded, share: float, seed: int | None) -> tuple[Coded, Coded]:
    """Split sequences at random into two non-empty parts; the second has the share ``share``."""
    second = held_out(len(data.edges) - 1, share, seed)
    return data.taken(~second), data.taken(second)


def held_out(many: int, share: float, seed: int | None) -> NDArray[np.bool_]:
    """Return a random mask of a share of the sequences: at least one, and not all."""
    if many < 2:
        raise InputError(f"holding out sequences needs at least 2 sequences; got {many}")
    second = np.zeros(many, bool)
    second[np.random.default_rng(seed).permutation(many)[: min(max(round(share * many), 1), many - 1)]] = True
    return second


def known_symbols(sequences: Iterable[Sequence[Hashable]]) -> list[Any]:
    """Return the distinct symbols, sorted if they are of one type; numpy scalars become Python ones.

    Examples
    --------
    >>> known_symbols(["ba", "c"])
    ['a', 'b', 'c']
    """
    different = dict.fromkeys(chain.from_iterable(listed(sequences)))
    if not different:
        raise InputError("there are no symbols to learn from")
    plain = [symbol.item() if isinstance(symbol, np.generic) else symbol for symbol in different]
    return sorted(plain) if len({type(symbol) for symbol in plain}) == 1 else plain


def coded(sequences: Iterable[Sequence[Hashable]], number: dict[Any, int], *, unknown: bool = False) -> Coded:
    """Encode sequences as ids of symbols.

    Parameters
    ----------
    sequences : iterable of sequences
        Sequences of symbols.
    number : dict
        Id of each known symbol, from 0 on.
    unknown : bool
        Whether to accept unknown symbols; otherwise they raise InputError.
    """
    strings = listed(sequences)
    numbers = [number.get(symbol, len(number)) for symbol in chain.from_iterable(strings)]
    data = Coded(np.array(numbers, np.int64), np.cumsum([0, *map(len, strings)], dtype=np.int64))
    if not unknown and numbers and data.symbols.max() == len(number):
        at = int((data.symbols == len(number)).argmax())
        k = int(np.searchsorted(data.edges, at, side="right")) - 1
        symbol = strings[k][at - int(data.edges[k])]
        raise InputError(f"sequence {k + 1} has the symbol {symbol!r}, which was not seen in training")
    return data
