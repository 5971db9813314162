"""Files of strings: one per line with spaces between symbols, or in the format of the PAutomaC competition."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from polyadic.core.errors import InputError
from polyadic.text.streams import blocks, lines, name_of, open_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    Path = str | os.PathLike[str]


class NumberStrings(NamedTuple):
    """Strings of symbols below ``size``.

    Attributes
    ----------
    strings : list of tuple of int
    size : int
        Size of the alphabet; some symbols may not occur.
    """

    strings: list[tuple[int, ...]]
    size: int


def read_strings(path: Path) -> list[tuple[str, ...]]:
    r"""Read one string per line with spaces between its symbols; an empty line is the empty string.

    Compressed files are decompressed by their suffix; ``"-"`` is standard input.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "strings.txt"
    >>> _ = file.write_text("a b a\n\nb\n")
    >>> read_strings(file)
    [('a', 'b', 'a'), (), ('b',)]
    """
    strings = [tuple(line.split()) for line in _lines(os.fspath(path))]
    if not strings:
        raise InputError(f"{name_of(os.fspath(path))} has no strings; expected one per line")
    return strings


def read_pautomac(path: Path) -> NumberStrings:
    """Read strings of PAutomaC: ``number size`` in the first line, then ``length symbol symbol ...`` for each string.

    References
    ----------
    Verwer, Eyraud, de la Higuera (2014), PAutomaC: a probabilistic automata and hidden Markov models learning
    competition.
    """
    name = name_of(os.fspath(path))
    rows = ((f"{name}, line {number}", line) for number, line in enumerate(_lines(os.fspath(path)), 1))
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
            claim = f"length {length}" if length >= 0 else "no length"
            raise InputError(f"{where}: the line declares {claim} but has {len(string)} symbols")
        if string and max(string) >= size:
            raise InputError(f"{where}: the first line declares symbols below {size}; got {max(string)}")
        strings.append(tuple(string))
    if len(strings) < many:
        raise InputError(f"{name}: the first line declares {many:,} strings, but there are {len(strings):,}")
    return NumberStrings(strings, size)


def read_probabilities(path: Path) -> list[float]:
    """Read a solution of PAutomaC: the number of probabilities, then one per line."""
    name = name_of(os.fspath(path))
    rows = ((f"{name}, line {number}", line.strip()) for number, line in enumerate(_lines(os.fspath(path)), 1))
    where, line = next(rows, (f"{name}, line 1", ""))
    many = _numbers(where, line)
    if len(many) != 1:
        raise InputError(f"{where}: expected the number of probabilities; got {line[:80]!r}")
    values = []
    for where, line in rows:
        try:
            value = float(line)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise InputError(f"{where}: expected a probability; got {line[:80]!r}")
        values.append(value)
    if len(values) != many[0]:
        raise InputError(f"{name}: the first line declares {many[0]:,} probabilities, but there are {len(values):,}")
    return values


def _numbers(where: str, line: str) -> list[int]:
    parts = line.split()
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise InputError(f"{where}: expected whole numbers separated by spaces; got {line[:80]!r}")
    return list(map(int, parts))


def _lines(path: str) -> Iterator[str]:
    with open_bytes(path) as stream:
        yield from lines(blocks(stream, path))
