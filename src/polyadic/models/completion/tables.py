"""Known cells by name: the name of a row, the name of a column and a value on each line, in a file or in memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.errors import InputError
from polyadic.models.completion.cells import Cells
from polyadic.text.relations.fields import read_fields

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

MARKS = "\t", ";", ","
"""What may stand between fields; the first of them that the first line has."""


class NamedCells(NamedTuple):
    """Known cells and the names of rows and columns, in the order in which they came.

    Attributes
    ----------
    cells : Cells
    rows, columns : list
        Texts, or whatever a table of Python's has for names.
    valued : bool
        Whether lines had values; if not, each is 1.
    """

    cells: Cells
    rows: list[Any]
    columns: list[Any]
    valued: bool


class Line(NamedTuple):
    """What a line says: where it stands, the names of row and column, and what else was asked for."""

    number: int
    row: Any
    column: Any
    rest: list[Any]


def read_lines(path: str | os.PathLike[str], *, fields: Sequence[str] | None = None) -> Iterator[Line]:
    """Read the lines of a table with two or three fields that count: comma, semicolon or tab between, quotes as in CSV.

    Parameters
    ----------
    path : path
    fields : sequence of str, optional
        The headings, or the places from 1, of the row, the column and the value. Without them they are the first
        three; a first line whose third field is no number is one of headings then.

    Raises
    ------
    InputError
        If it cannot be read, there is nothing in it, a heading is not there, or a line has too few fields.
    """
    places: list[int] | None = None
    for number, line in read_fields(path, marks=MARKS):
        if places is None:
            places, heading = _places(path, line, fields)
            if heading:
                continue
        if len(line) <= max(places):
            raise InputError(f"{path}, line {number}: expected {max(places) + 1} fields or more; got {len(line)}")
        row, column, *rest = (line[place] for place in places)
        yield Line(number, row, column, rest)


def _places(path: str | os.PathLike[str], first: list[str], fields: Sequence[str] | None) -> tuple[list[int], bool]:
    """Say which fields count, and whether the first line is one of headings."""
    if len(first) < 2:
        raise InputError(
            f"{path}, line 1 has no fields between commas, semicolons or tabs; give a row, a column and a value on each"
            f" line; got {first[0]!r:.40}"
        )
    if fields is None:
        third = len(first) > 2
        return list(range(2 + third)), third and _number(first[2]) is None
    fields = [name.strip() for name in fields]
    if not 2 <= len(fields) <= 3:
        raise InputError(
            f"name the fields of row and column, and of the value if there is one; got {len(fields)} names"
        )
    names = first
    if all(name.isdecimal() and 1 <= int(name) <= len(first) for name in fields):
        places = [int(name) - 1 for name in fields]
        return places, len(places) > 2 and _number(first[places[2]]) is None
    if absent := [name for name in fields if name not in names]:
        raise InputError(f"{path}: no column is headed {absent[0]!r}; found {', '.join(map(repr, names))}")
    return [names.index(name) for name in fields], True


def read_cells(path: str | os.PathLike[str], *, fields: Sequence[str] | None = None) -> NamedCells:
    """Read known cells; lines that say the same twice count once.

    Parameters
    ----------
    path, fields
        See :func:`read_lines`; with two fields to a line each value is 1.

    Raises
    ------
    InputError
        As there, or if a value is no finite number, two lines contradict each other, or there is no line.
    """
    return _collected(read_lines(path, fields=fields), str(path))


def named_cells(table: Iterable[Sequence[Any]]) -> NamedCells:
    """Take known cells from lines: the name of a row, the name of a column, and a value, or none in all of them.

    Raises
    ------
    InputError
        As :func:`read_cells`.

    Examples
    --------
    >>> ratings = [("ann", "Ran", 5), ("bob", "Heat", 2), ("ann", "Heat", 3)]
    >>> named_cells(ratings).cells.values.tolist(), named_cells(ratings).columns
    ([5.0, 3.0, 2.0], ['Ran', 'Heat'])
    """
    lines = (Line(number, row, column, rest) for number, (row, column, *rest) in enumerate(table, 1))
    return _collected(lines, "the table")


def _collected(lines: Iterable[Line], source: str) -> NamedCells:
    rows: dict[Any, int] = {}
    columns: dict[Any, int] = {}
    seen: dict[tuple[int, int], tuple[float, int]] = {}
    valued = False
    for line in lines:
        where = f"{source}, line {line.number}"
        if seen and valued != bool(line.rest):
            raise InputError(f"{where}: either every line has a value, or none has")
        valued = bool(line.rest)
        value = _number(line.rest[0]) if valued else 1.0
        if value is None or not math.isfinite(value):
            raise InputError(f"{where}: a value is a finite number; got {line.rest[0]!r:.40}")
        cell = rows.setdefault(line.row, len(rows)), columns.setdefault(line.column, len(columns))
        before, first = seen.setdefault(cell, (value, line.number))
        if before != value:
            pair = f"{line.row!r} and {line.column!r}"
            raise InputError(f"{where}: {pair} have the value {value:g}, but {before:g} in line {first}")
    if not seen:
        raise InputError(f"{source} has no lines of a row, a column and a value")
    indices = np.array([*seen], np.int64)
    order = np.lexsort(indices.T[::-1])
    values = np.array([value for value, _ in seen.values()])
    i, j = indices[order].T
    return NamedCells(Cells(i, j, values[order], (len(rows), len(columns))), [*rows], [*columns], valued)


def connected_parts(cells: Cells) -> list[tuple[int, int]]:
    """Count the rows and columns of each part of a matrix: no cell is known between two parts; the largest first.

    Examples
    --------
    >>> connected_parts(Cells(np.array([0, 1, 2]), np.array([0, 0, 1]), np.ones(3), (3, 2)))
    [(2, 1), (1, 1)]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = sum(cells.shape)
    links = coo_array((np.ones(len(cells.rows)), (cells.rows, cells.shape[0] + cells.columns)), shape=(size, size))
    number, part = connected_components(links, directed=False)
    counts: list[NDArray[np.int64]] = [
        np.bincount(side, minlength=number) for side in (part[: cells.shape[0]], part[cells.shape[0] :])
    ]
    return sorted(zip(*(side.tolist() for side in counts), strict=True), key=lambda part: (-sum(part), part))


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None
