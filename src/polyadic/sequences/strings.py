"""Files of strings: one a line with spaces between symbols, or in the format of the PAutomaC competition."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from polyadic.core.errors import InputError
from polyadic.text.streams import blocks, lines, name_of, open_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    Path = str | os.PathLike[str]


class NumberStrings(NamedTuple):
    """Strings over the numbers below a size.

    Attributes
    ----------
    strings : list of tuple of int
    size : int
        Of the alphabet; some of its symbols may not occur.
    """

    strings: list[tuple[int, ...]]
    size: int


def read_strings(path: Path) -> list[tuple[str, ...]]:
    r"""Read one string a line, its symbols between spaces; an empty line is the empty string.

    Parameters
    ----------
    path : path
        Decompressed if its suffix says so; ``"-"`` is standard input.

    Raises
    ------
    InputError
        If the file cannot be read, or has no line.

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
        raise InputError(f"{name_of(os.fspath(path))} has no strings; each line is one")
    return strings


def read_pautomac(path: Path) -> NumberStrings:
    r"""Read strings of PAutomaC: ``number size`` in the first line, then ``length symbol symbol ...`` for each.

    Parameters
    ----------
    path : path

    Raises
    ------
    InputError
        If the file cannot be read, is not of this format, or is not as its first line or the length of a string says.

    References
    ----------
    Verwer, Eyraud, de la Higuera (2014), PAutomaC: a probabilistic automata and hidden Markov models learning
    competition.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "strings.txt"
    >>> _ = file.write_text("2 3\n2 0 2\n0\n")
    >>> read_pautomac(file)
    NumberStrings(strings=[(0, 2), ()], size=3)
    """
    name = name_of(os.fspath(path))
    rows = ((f"{name}, line {number}", line) for number, line in enumerate(_lines(os.fspath(path)), 1))
    where, line = next(rows, (f"{name}, line 1", ""))
    header = _numbers(where, line)
    if len(header) != 2 or header[0] < 1 or header[1] < 1:
        raise InputError(f"{where}: the number of strings and the size of the alphabet are needed; got {line[:80]!r}")
    many, size = header
    strings: list[tuple[int, ...]] = []
    for where, line in rows:
        if len(strings) == many:
            if line.strip():
                raise InputError(f"{where}: the first line says {many:,} strings; here is one more")
            continue
        length, *string = _numbers(where, line) or [-1]
        if length != len(string):
            claim = f"length {length}" if length >= 0 else "nothing"
            raise InputError(f"{where}: the line says {claim} and has {len(string)} symbols")
        if string and max(string) >= size:
            raise InputError(f"{where}: the first line says symbols are below {size}; got {max(string)}")
        strings.append(tuple(string))
    if len(strings) < many:
        raise InputError(f"{name}: the first line says {many:,} strings; there are {len(strings):,}")
    return NumberStrings(strings, size)


def read_probabilities(path: Path) -> list[float]:
    """Read a solution of PAutomaC: how many, then one probability a line.

    Parameters
    ----------
    path : path

    Raises
    ------
    InputError
        If the file cannot be read, a line is no probability, or there are not as many as the first line says.
    """
    name = name_of(os.fspath(path))
    rows = ((f"{name}, line {number}", line.strip()) for number, line in enumerate(_lines(os.fspath(path)), 1))
    where, line = next(rows, (f"{name}, line 1", ""))
    many = _numbers(where, line)
    if len(many) != 1:
        raise InputError(f"{where}: the number of probabilities is needed; got {line[:80]!r}")
    values = []
    for where, line in rows:
        try:
            value = float(line)
        except ValueError:
            value = -1.0
        if not 0 <= value <= 1:
            raise InputError(f"{where}: a probability is needed; got {line[:80]!r}")
        values.append(value)
    if len(values) != many[0]:
        raise InputError(f"{name}: the first line says {many[0]:,} probabilities; there are {len(values):,}")
    return values


def _numbers(where: str, line: str) -> list[int]:
    parts = line.split()
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise InputError(f"{where}: whole numbers with spaces between are needed; got {line[:80]!r}")
    return list(map(int, parts))


def _lines(path: str) -> Iterator[str]:
    with open_bytes(path) as stream:
        yield from lines(blocks(stream, path))
