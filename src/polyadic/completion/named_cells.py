"""Cells with named rows and columns, read from a file, a data frame or an iterable of tuples."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import issparse

from polyadic.completion.cells import ObservedEntries, cells_of
from polyadic.core.containers import dense_of
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError, InputWarning
from polyadic.core.frames import is_wide, rows_of
from polyadic.text.formats.records import read_fields

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray


Decimal = Literal[".", ","]
MARKS = "\t", ";", ","
"""Field separators; the first of them that occurs in the first line is used."""


class NamedCells(NamedTuple):
    """Known cells of a table, with row and column names in order of first occurrence."""

    cells: ObservedEntries
    rows: list[Any]
    columns: list[Any]
    valued: bool  # whether lines had values; if not, each is 1
    times: NDArray[np.float64] | None = None  # of the first line of each cell, if the table has times


class Line(NamedTuple):
    """Line of a table file: line number, row name, column name and further fields."""

    number: int
    row: Any
    column: Any
    rest: list[Any]
    time: Any = None


def read_lines(
    path: str | os.PathLike[str],
    *,
    fields: Sequence[str] | None = None,
    decimal: Decimal = ".",
    time: str | None = None,
) -> Iterator[Line]:
    """Iterate over the lines of a delimited file, each with a row name, a column name and optionally a value.

    Fields are separated by commas, semicolons or tabs, and quoted as in CSV. ``fields`` are headings, or positions from
    1, of the row, the column and the value. By default they are the first three, and the first line holds headings if
    its third field is not a number. ``decimal`` is the decimal mark of the values, and ``time`` the heading or position
    of a timestamp: a number, or an ISO 8601 date.
    """
    places: list[int] | None = None
    for number, line in read_fields(path, marks=MARKS):
        if places is None:
            places, heading = _places(path, line, fields, decimal)
            when = None if time is None else _place(path, line, time)
            if heading:
                continue
        if len(line) <= (last := max(places) if when is None else max(*places, when)):
            raise InputError(f"{path}, line {number}: expected at least {last + 1} fields; got {len(line)}")
        row, column, *rest = (line[place] for place in places)
        rest = [_pointed(text, decimal) for text in rest]
        yield Line(number, row, column, rest, None if when is None else line[when])


def read_pairs(
    path: str | os.PathLike[str],
    rows: Sequence[Any],
    columns: Sequence[Any],
    *,
    fields: Sequence[str] | None = None,
    known_only: bool = True,
) -> list[Line]:
    """Read the pairs of row and column names to predict; a first line without known names is a header."""
    known = {"row": {*rows}, "column": {*columns}}
    lines = list(read_lines(path, fields=fields))
    every = list(read_lines(path, fields=["1", "2"])) if fields is None else []
    if any(line.row in known["row"] or line.column in known["column"] for line in every[:1]):
        lines = every  # the first line holds known names, so it is no heading whatever follows them
    if not lines:
        raise InputError(f"{path} must contain at least one line with a row and a column")
    if not known_only:
        return lines
    first = lines[0]
    if len(lines) > 1 and first.number == 1 and first.row not in known["row"] and first.column not in known["column"]:
        warnings.warn(
            InputWarning(
                f"{path}: the first line is read as headings, because the model knows neither {first.row!r} nor"
                f" {first.column!r}; set columns to avoid this warning",
                "columns",
            ),
            stacklevel=2,
        )
        lines = lines[1:]
    for what, names in known.items():
        for line in lines:
            if (name := getattr(line, what)) not in names:
                raise InputError(
                    f"{path}, line {line.number}: the model has no {what} {name!r}; set unknown='mean' to predict cells"
                    " with unknown names",
                    "unknown",
                )
    return lines


def _places(
    path: str | os.PathLike[str], first: list[str], fields: Sequence[str] | None, decimal: Decimal = "."
) -> tuple[list[int], bool]:
    """Return the position of each field, and whether the first line contains headings."""
    if len(first) < 2:
        raise InputError(
            f"{path}: each line must contain a row, a column and a value, separated by commas, semicolons or tabs; got"
            f" {first[0]!r:.40} on line 1"
        )
    if fields is None:
        third = len(first) > 2
        return list(range(2 + third)), third and number_of(_pointed(first[2], decimal)) is None
    fields = [name.strip() for name in fields]
    if not 2 <= len(fields) <= 3:
        raise InputError(
            "columns must specify the row field, the column field and optionally the value field; got"
            f" {len(fields)} fields",
            "columns",
        )
    names = first
    if all(name.isdecimal() and 1 <= int(name) <= len(first) for name in fields):
        places = [int(name) - 1 for name in fields]
        return places, len(places) > 2 and number_of(_pointed(first[places[2]], decimal)) is None
    return [_place(path, names, name) for name in fields], True


def _place(path: str | os.PathLike[str], headings: list[str], name: str) -> int:
    """Return the position of a field, given its heading or its 1-based position."""
    if name in headings:
        return headings.index(name)
    if name.isdecimal() and 1 <= int(name) <= len(headings):
        return int(name) - 1
    raise InputError(f"{path}: column {name!r} is missing; existing columns are {', '.join(map(repr, headings))}")


def read_cells(
    path: str | os.PathLike[str],
    *,
    fields: Sequence[str] | None = None,
    decimal: Decimal = ".",
    time: str | None = None,
) -> NamedCells:
    """Read the known cells of a file (:func:`read_lines`); without values they are 1, and equal lines count once."""
    table = _collected(read_lines(path, fields=fields, decimal=decimal, time=time), str(path))
    alone = all((side == 0).sum() == 1 for side in (table.cells.rows, table.cells.columns))
    if fields is None and not table.valued and alone and len(table.cells.values) > 1:
        warnings.warn(
            InputWarning(
                f"{path}: the first line is read as row {table.rows[0]!r} and column {table.columns[0]!r}; if these are"
                " headings, set columns to the headings",
                "columns",
            ),
            stacklevel=2,
        )
    return table


def named_cells(table: Any, values: Any = None, *, times: Any = None) -> NamedCells:
    """Convert a data frame or an iterable of (row, column, value) or (row, column) tuples to named cells.

    Sparse, masked and other numeric arrays are matrices, with numbers for names, unless they have 2 or 3 columns.
    """
    if isinstance(table, NamedCells):
        return table
    numeric = isinstance(table, np.ndarray) and table.dtype.kind in "fiubc" and table.ndim == 2
    lines_ = numeric and table.shape[1] in {2, 3} and not isinstance(table, np.ma.MaskedArray)
    if issparse(table) or isinstance(table, Entries) or (numeric and not lines_):
        cells = cells_of(table)
        return NamedCells(cells, [*range(cells.shape[0])], [*range(cells.shape[1])], valued=True)
    rows = _rows(table)
    if values is not None:
        names, numbers = [*rows], dense_of(values, "values", "array").tolist()
        if len(names) != len(numbers):
            raise InputError(
                f"values must have one element for each pair of names; got {len(numbers):,} values for"
                f" {len(names):,} pairs",
                "values",
            )
        rows = ([*name[:2], number] for name, number in zip(names, numbers, strict=True))
    when = repeat(None) if times is None else list(times)
    lines = (
        Line(number, row, column, rest[:1], time)
        for number, ((row, column, *rest), time) in enumerate(zip(rows, when, strict=times is not None), 1)
    )
    return _collected(lines, "the table")


def named_pairs(table: Any) -> tuple[list[Any], list[Any]]:
    """Return the row names and the column names in a data frame or an iterable of tuples."""
    names = [(row, column) for row, column, *_ in _rows(table)]
    return [row for row, _ in names], [column for _, column in names]


def _rows(table: Any) -> Iterable[Sequence[Any]]:
    """Return the rows of a data frame, an array or an iterable, with NumPy scalars converted to Python objects."""
    if isinstance(table, Mapping):
        raise InputError("the table must be a data frame, an array or tuples; got a dict, use pandas.DataFrame(table)")
    if is_wide(table):
        return rows_of(table)[1]
    if len(getattr(table, "shape", (0, 0))) == 1 and not getattr(getattr(table, "dtype", None), "names", None):
        raise InputError(
            f"the table must have lines of row, column and value; got a {type(table).__name__} of one column"
        )
    return table.tolist() if isinstance(table, np.ndarray) else table


def joined(before: NamedCells, more: NamedCells, *, sums: bool = False) -> NamedCells:
    """Merge new cells, rows and columns into old ones; new values replace old ones or are added (``sums``)."""
    if before.valued != more.valued:
        raise InputError(f"new lines must {'' if before.valued else 'not '}have values, like the existing lines")
    names = [[*dict.fromkeys([*old, *new])] for old, new in ((before.rows, more.rows), (before.columns, more.columns))]
    numbers = [{name: at for at, name in enumerate(side)} for side in names]
    i, j = (
        np.array([number[name] for name in new], np.int64)[at]
        for number, new, at in zip(numbers, more[1:3], (more.cells.rows, more.cells.columns), strict=True)
    )
    rows, columns = np.concatenate([before.cells.rows, i]), np.concatenate([before.cells.columns, j])
    values = np.concatenate([before.cells.values, more.cells.values])
    order = np.lexsort((columns, rows))  # stable: of one cell the later comes last
    rows, columns, values = rows[order], columns[order], values[order]
    last = np.append((np.diff(rows) > 0) | (np.diff(columns) > 0), True)
    summed = np.add.reduceat(values, np.flatnonzero(np.append(True, last[:-1]))) if sums else values[last]
    cells = ObservedEntries(rows[last], columns[last], summed, (len(names[0]), len(names[1])))
    return NamedCells(cells, names[0], names[1], before.valued)


def _collected(lines: Iterable[Line], source: str) -> NamedCells:
    rows: dict[Any, int] = {}
    columns: dict[Any, int] = {}
    seen: dict[tuple[int, int], tuple[float, int]] = {}
    times: list[float] = []
    valued = False
    for line in lines:
        where = f"{source}, line {line.number}"
        if seen and valued != bool(line.rest):
            raise InputError(f"{where}: values must be given on all lines or on none")
        valued = bool(line.rest)
        value = number_of(line.rest[0]) if valued else 1.0
        if value is None or not math.isfinite(value):
            comma = number_of(_pointed(line.rest[0], ",")) is not None
            hint = "; for numbers such as 3,5 set decimal to ','" if comma else ""
            message = f"{where}: a value must be a finite number; got {line.rest[0]!r:.40}{hint}"
            raise InputError(message, *(["decimal"] if comma and "decimal" not in f"{where}{line.rest[0]}" else []))
        cell = rows.setdefault(line.row, len(rows)), columns.setdefault(line.column, len(columns))
        if line.time is not None and cell not in seen:
            times.append(_time(line.time, where))
        before, first = seen.setdefault(cell, (value, line.number))
        if before != value:
            raise InputError(
                f"{where}: each cell must have a single value; got {value:g} for row {line.row!r} and column"
                f" {line.column!r}, but {before:g} on line {first}"
            )
    if not seen:
        raise InputError(f"{source} must contain at least one line with a row, a column and a value")
    indices = np.array([*seen], np.int64)
    order = np.lexsort(indices.T[::-1])
    values = np.array([value for value, _ in seen.values()])
    i, j = indices[order].T
    cells = ObservedEntries(i, j, values[order], (len(rows), len(columns)))
    return NamedCells(cells, [*rows], [*columns], valued, np.array(times)[order] if times else None)


def _time(text: Any, where: str) -> float:
    """Convert a timestamp, given as a number or an ISO 8601 date, to seconds."""
    if (number := number_of(text)) is not None and math.isfinite(number):
        return number
    try:
        when = text if isinstance(text, datetime) else datetime.fromisoformat(str(text))
    except ValueError:
        raise InputError(f"{where}: a time must be a number or a date such as 2026-11-25; got {text!r:.40}") from None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def _pointed(text: Any, decimal: Decimal) -> Any:
    """Replace a decimal comma by a decimal point if ``decimal`` is a comma."""
    return text.replace(",", ".") if decimal == "," and isinstance(text, str) and "." not in text else text


def number_of(text: Any) -> float | None:
    """Return the number that a text or another object stands for, or None."""
    try:
        return float(text)
    except (TypeError, ValueError):
        return None
