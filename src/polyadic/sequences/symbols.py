"""Encoding of symbol sequences as concatenated ids, and readers of sequence files.

A file has one string per line with spaces between symbols, or the format of the PAutomaC competition (Verwer, Eyraud,
de la Higuera 2014, PAutomaC: a probabilistic automata and hidden Markov models learning competition).
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from polyadic.core.annotations import AnyArray, Array, Ints, Mask, Path
from polyadic.core.containers import is_missing
from polyadic.core.errors import InputError, InputWarning, check_int
from polyadic.core.streams import blocks as text_blocks
from polyadic.core.streams import lines, name_of, open_bytes

Strings = Iterable[Sequence[Hashable]]
Sequences = Strings | Sequence[Hashable]


class Coded(NamedTuple):
    """Sequences of symbol ids, concatenated in one array."""

    symbols: Ints  # ids; the number of known symbols stands for unknown ones
    edges: Ints  # start and end of each sequence, shape (sequences + 1,)

    def split(self, values: AnyArray) -> list[AnyArray]:
        """Split an array with a row per position into one array per sequence."""
        return np.split(values, self.edges[1:-1]) if len(self.edges) > 1 else []

    def taken(self, which: Mask) -> Coded:
        """Return the sequences selected by a boolean mask.

        >>> Coded(np.array([4, 5, 6, 7]), np.array([0, 1, 4])).taken(np.array([False, True])).symbols.tolist()
        [5, 6, 7]
        """
        lengths = np.diff(self.edges)
        return Coded(self.symbols[np.repeat(which, lengths)], np.concatenate([[0], np.cumsum(lengths[which])]))

    def runs(self, length: int) -> Ints:
        """Return all n-grams of ``length`` symbols within sequences, of shape (n-grams, length)."""
        first = np.arange(max(len(self.symbols) - length + 1, 0))
        ends = np.repeat(self.edges[1:], np.diff(self.edges))[: len(first)]
        first = first[first + length <= ends]
        return self.symbols[first[:, None] + np.arange(length)]


def listed(sequences: Sequences, lengths: Sequence[int] | None = None, *, gaps: bool = False) -> list[Any]:
    """Return sequences of symbols as a list of strings, tuples and lists.

    A flat list, one-dimensional array, series or string is one sequence, or several of the given ``lengths``. Raise
    InputError if the order of symbols is not clear, or one is missing (unless ``gaps``) or not hashable.
    """
    values = [sequences] if isinstance(sequences, str) else items("sequences", sequences)
    if lengths is not None:
        flat = [value[0] if isinstance(value, list) and len(value) == 1 else value for value in values]
        values = stacked(sequences if isinstance(sequences, str) else flat, lengths)
    elif getattr(sequences, "ndim", 1) == 2 and len(values) > 1 == len(values[0]):
        advice = "pass X.ravel() if it is one sequence, or lengths of several"
        raise InputError(f"a column of {len(values):,} symbols is not a list of sequences; {advice}", "lengths")
    elif values and not any(hasattr(value, "__len__") for value in values):
        values = [values]
    strings = [value if isinstance(value, str) else items(f"sequence {k}", value) for k, value in enumerate(values, 1)]
    try:
        fine = gaps or not any(map(absent, set(chain.from_iterable(strings))))
    except TypeError:  # not hashable
        fine = False
    if not fine:
        for k, string in enumerate(strings, 1):
            for i, symbol in enumerate(string, 1):
                where = f"sequence {k}, place {i}: the symbol {symbol!r:.40}"
                try:
                    hash(symbol)
                except TypeError:
                    raise InputError(f"{where} must be hashable, such as text or a number") from None
                if absent(symbol):
                    raise InputError(f"{where} is missing; remove or replace it")
    return strings


def items(what: str, values: Any) -> Any:
    """Return the items of an ordered collection, which is not a mapping, set, data frame or sparse matrix."""
    unordered = isinstance(values, Mapping | AbstractSet) or hasattr(values, "columns") or hasattr(values, "tocsr")
    if unordered or not hasattr(values, "__iter__") or getattr(values, "ndim", 1) == 0:
        got = type(values).__name__ + ("" if unordered else f" {values!r:.40}")
        raise InputError(f"{what} must be a list or array, in the order of the observations; got {got}")
    convert = getattr(values, "tolist", getattr(values, "to_pylist", None))
    return values if isinstance(values, tuple | list) else list(values) if convert is None else convert()


def stacked(values: Any, lengths: Sequence[int]) -> list[Any]:
    """Split one list or array of observations into sequences of the given lengths."""
    ends = np.cumsum([0, *(check_int("lengths", length, low=0) for length in lengths)]).tolist()
    if ends[-1] != len(values):
        about = f"the number of observations, {len(values):,}; got {ends[-1]:,}"
        raise InputError(f"lengths must sum to {about}", "lengths")
    return [values[low:high] for low, high in pairwise(ends)]


def absent(symbol: object) -> bool:
    """Return whether a symbol stands for a missing value: None, NaN, or empty text."""
    return is_missing(symbol) or (isinstance(symbol, str) and not symbol)


def split(data: Coded, share: float, seed: int | None) -> tuple[Coded, Coded]:
    """Split sequences at random into two non-empty parts, where ``share`` is the fraction in the second part."""
    second = held_out(len(data.edges) - 1, share, seed)
    return data.taken(~second), data.taken(second)


def held_out(many: int, share: float, seed: int | None) -> Mask:
    """Return a random mask of held-out sequences, with at least one sequence held out and one kept."""
    if many < 2:
        raise InputError(f"at least 2 sequences are required, because some are held out; got {many}")
    second = np.zeros(many, bool)
    second[np.random.default_rng(seed).permutation(many)[: min(max(round(share * many), 1), many - 1)]] = True
    return second


def known_symbols(strings: Sequence[Any]) -> list[Any]:
    """Return the distinct symbols of listed sequences, sorted if they have the same type, as Python objects."""
    different = dict.fromkeys(chain.from_iterable(strings))
    if not different:
        raise InputError("the training sequences must contain at least one symbol")
    n = sum(map(len, strings))
    if 2 * len(different) > n and any(isinstance(symbol, float) and symbol % 1 for symbol in different):
        about = f"the {n:,} observations are numbers with {len(different):,} different values, each taken as a symbol"
        advice = "round the numbers, or use HiddenMarkov(emissions='gaussian')"
        warnings.warn(f"{about}; {advice}", InputWarning, stacklevel=3)
    plain = [symbol.item() if isinstance(symbol, np.generic) else symbol for symbol in different]
    return sorted(plain) if len({type(symbol) for symbol in plain}) == 1 else plain


def coded(strings: Sequence[Any], number: dict[Any, int], *, unknown: bool = False) -> Coded:
    """Encode listed sequences as symbol ids, raising InputError for unknown symbols unless ``unknown``."""
    numbers = [number.get(symbol, len(number)) for symbol in chain.from_iterable(strings)]
    data = Coded(np.array(numbers, np.int64), np.cumsum([0, *map(len, strings)], dtype=np.int64))
    if not unknown and numbers and data.symbols.max() == len(number):
        at = int((data.symbols == len(number)).argmax())
        k = int(np.searchsorted(data.edges, at, side="right")) - 1
        symbol = strings[k][at - int(data.edges[k])]
        raise InputError(f"sequence {k + 1} has the symbol {symbol!r}, which does not occur in the training sequences")
    return data


def check_fitted(model: object, name: str) -> None:
    """Raise InputError if a model does not have a fitted attribute."""
    if not hasattr(model, name):
        raise InputError(f"this {type(model).__name__} is not fitted yet; call fit first")


def read_strings(path: Path) -> list[tuple[str, ...]]:
    """Read one string per line with spaces between its symbols; an empty line is the empty string."""
    strings = [tuple(line.split()) for _, line in _lines(path)]
    if not strings:
        raise InputError(f"{name_of(os.fspath(path))} must contain at least one string, one per line")
    return strings


def read_numbers(path: Path) -> list[Array]:
    """Read sequences of vectors: one vector of numbers per line, empty lines between sequences, an optional heading."""
    rows, sequences = list[list[float]](), list[Any]()
    for at, (where, line) in enumerate(chain(_lines(path), [("", "")])):
        cells = re.split(r"\s*[,;\t]\s*|\s+", line.strip().lstrip("\ufeff"))
        try:
            numbers = list(map(float, cells)) if line.strip() else []
        except ValueError:
            if at == 0 and not any(cell[:1].isdigit() for cell in cells):
                continue  # a heading
            got = repr(line[:80])
            raise InputError(f"{where} must contain numbers separated by spaces or commas; got {got}") from None
        if rows and numbers and len(numbers) != len(rows[0]):
            raise InputError(f"{where} must have {len(rows[0])} numbers; got {len(numbers)}")
        if not all(map(math.isfinite, numbers)):
            raise InputError(f"{where} has a number that is missing or not finite; got {line[:80]!r}")
        if numbers:
            rows.append(numbers)
        elif rows:
            sequences.append(np.array(rows))
            rows = []
    return sequences


def read_pautomac(path: Path) -> tuple[list[tuple[int, ...]], int]:
    """Read strings and alphabet size (PAutomaC format: ``number size``, then ``length symbol symbol ...`` a line)."""
    name, rows = name_of(os.fspath(path)), _lines(path)
    where, line = next(rows, (f"{name}, line 1", ""))
    header = _numbers(where, line)
    if len(header) != 2 or header[0] < 1 or header[1] < 1:
        raise InputError(f"{where}: expected the number of strings and the size of the alphabet; got {line[:80]!r}")
    many, size = header
    strings: list[tuple[int, ...]] = []
    for where, line in rows:
        if len(strings) == many:
            if line.strip():
                raise InputError(f"{where}: the first line declares {many:,} strings, but there are more")
            continue
        length, *string = _numbers(where, line) or [-1]
        if length != len(string):
            claim = f"{length}" if length >= 0 else "an empty line"
            raise InputError(f"{where}: the line must begin with the number of its symbols, {len(string)}; got {claim}")
        if string and max(string) >= size:
            limit = f"{size}, the alphabet size in the first line"
            raise InputError(f"{where}: symbols must be below {limit}; got {max(string)}")
        strings.append(tuple(string))
    if len(strings) < many:
        raise InputError(f"{name}: the first line declares {many:,} strings, but there are {len(strings):,}")
    return strings, size


def read_probabilities(path: Path) -> list[float]:
    """Read a solution file of PAutomaC: the number of probabilities, then one probability per line."""
    name, rows = name_of(os.fspath(path)), ((where, line.strip()) for where, line in _lines(path))
    where, line = next(rows, (f"{name}, line 1", ""))
    many = _numbers(where, line)
    if len(many) != 1:
        raise InputError(f"{where}: expected the number of probabilities; got {line[:80]!r}")
    values = []
    for where, line in rows:
        try:
            values.append(float(line))
        except ValueError:
            values.append(-1.0)
        if not 0 <= values[-1] <= 1:
            raise InputError(f"{where}: expected a probability from 0 to 1; got {line[:80]!r}")
    if len(values) != many[0]:
        raise InputError(f"{name}: the first line declares {many[0]:,} probabilities, but there are {len(values):,}")
    return values


def _numbers(where: str, line: str) -> list[int]:
    parts = line.split()
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise InputError(f"{where}: expected whole numbers separated by spaces; got {line[:80]!r}")
    return list(map(int, parts))


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and number of each line of a file, and its text."""
    name = os.fspath(path)
    with open_bytes(name) as stream:
        for number, line in enumerate(lines(text_blocks(stream, name)), 1):
            yield f"{name_of(name)}, line {number}", line
