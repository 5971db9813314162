"""Sequences of symbols as numbers, one after another."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray


class Coded(NamedTuple):
    """Sequences one after another.

    Attributes
    ----------
    symbols : ndarray of int64 of shape (N,)
        Numbers; one beyond the last stands for what is not known.
    edges : ndarray of int64 of shape (sequences + 1,)
        Where each begins and ends.
    """

    symbols: NDArray[np.int64]
    edges: NDArray[np.int64]

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Divide what there is a row of for each place."""
        return np.split(values, self.edges[1:-1]) if len(self.edges) > 1 else []

    def taken(self, which: NDArray[np.bool_]) -> Coded:
        """Give the sequences for which ``which`` is true.

        Examples
        --------
        >>> Coded(np.array([4, 5, 6, 7]), np.array([0, 1, 4])).taken(np.array([False, True])).symbols.tolist()
        [5, 6, 7]
        """
        lengths = np.diff(self.edges)
        return Coded(self.symbols[np.repeat(which, lengths)], np.concatenate([[0], np.cumsum(lengths[which])]))

    def runs(self, length: int) -> NDArray[np.int64]:
        """Give all runs of so many symbols within a sequence, of shape (runs, length).

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
    """Give sequences as a list.

    Raises
    ------
    InputError
        If a text stands in their place, for its letters would be taken.
    """
    if isinstance(sequences, str):
        raise InputError("sequences must be a list of sequences; got one text")
    return list(sequences)


def split(data: Coded, share: float, seed: int | None) -> tuple[Coded, Coded]:
    """Divide sequences by chance; the second part has the share, and at least one of them, as has the first."""
    second = held_out(len(data.edges) - 1, share, seed)
    return data.taken(~second), data.taken(second)


def held_out(many: int, share: float, seed: int | None) -> NDArray[np.bool_]:
    """Draw a share of so many sequences: at least one, and not all.

    Raises
    ------
    InputError
        If there are less than two.
    """
    if many < 2:
        raise InputError(f"to hold sequences out there must be at least 2; got {many}")
    second = np.zeros(many, bool)
    second[np.random.default_rng(seed).permutation(many)[: min(max(round(share * many), 1), many - 1)]] = True
    return second


def known_symbols(sequences: Iterable[Sequence[Hashable]]) -> list[Any]:
    """Give the different symbols, in their order if they have one, else as they come; those of numpy become plain.

    Raises
    ------
    InputError
        If there are none, or a text stands in the place of the sequences.

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
    """Give the number of each symbol.

    Parameters
    ----------
    sequences : iterable of sequences
    number : dict
        Of each known symbol, from 0 on.
    unknown : bool
        Whether other symbols may come.

    Raises
    ------
    InputError
        If another symbol comes and may not, or a text stands in the place of the sequences.
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
