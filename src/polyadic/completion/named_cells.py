"""Cells with named rows and columns, read from a file, a data frame, a matrix or an iterable of tuples."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import issparse

from polyadic.completion.cells import ObservedEntries, cells_of
from polyadic.core.annotations import Array
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError, InputWarning, meant
from polyadic.core.frames import is_wide, names_of
from polyadic.text.tables import (
    RATINGS,
    Numbers,
    Table,
    TableReading,
    is_empty,
    name_in,
    number_of,
    open_table,
    text_of,
)

if TYPE_CHECKING:
    Path = str | os.PathLike[str]


class NamedCells(NamedTuple):
    """Known cells of a table, with row and column names in order of first occurrence."""

    cells: ObservedEntries
    rows: list[Any]
    columns: list[Any]
    valued: bool  # whether lines had values; if not, each is 1
    times: Array | None = None  # of the first line of each cell, if the table has times


@dataclass(frozen=True)
class CellReading(TableReading):
    """Settings for reading the cells of a matrix from a table.

    Parameters
    ----------
    layout : {"long", "wide"}, optional
        Whether a row contains one value with its names (long), or all values of a row of the matrix after its name,
        with the names of the columns in the headings (wide; default: detected).
    missing : {"refuse", "ignore"}
        Treatment of rows without a value, such as an empty cell or NA: raise an error, or leave them out.
    duplicates : {"refuse", "first", "last", "mean", "sum"}
        Treatment of several values of a cell: raise an error if they differ, or use one, the mean or the sum.

    Examples
    --------
    >>> lines = [("ann", "Emma", 4), ("ann", "Emma", 3)]
    >>> named_cells(lines, reading=CellReading(duplicates="mean")).cells.values.tolist()
    [3.5]
    """

    layout: Literal["long", "wide"] | None = None
    missing: Literal["refuse", "ignore"] = "refuse"
    duplicates: Literal["refuse", "first", "last", "mean", "sum"] = "refuse"


class Line(NamedTuple):
    """Row of a long table: its number, row name, column name, value and time."""

    number: int
    row: Any
    column: Any
    value: float = 1.0
    time: Any = None


def read_cells(
    source: Path, reading: CellReading | None = None, *, columns: Sequence[Any] | None = None, time: Any = None
) -> NamedCells:
    r"""Read the known cells of a table file; without values they are 1, and equal lines count once.

    A long table has a row name, a column name and optionally a value on each line; a wide table has the names of the
    columns in the first line and the name of a row at the beginning of each other line, and its empty cells are
    unknown. The source is a file, a URL, or ``"-"`` for standard input. InputError is raised if it cannot be read, a
    name is missing, or a cell has several values.

    ``columns`` are the names or positions from 1 of the columns with the row name, the column name and optionally the
    value; by default those with usual names, such as user, item and rating, or else the first. ``time`` is that of the
    column with a timestamp: a number, or an ISO 8601 date.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "ratings.dat"
    >>> _ = path.write_text("ann::Emma::4\nbob::Emma::3\n")
    >>> read_cells(path).rows
    ['ann', 'bob']
    """
    return named_cells(str(source), reading=reading, columns=columns, time=time)


def named_cells(
    source: Any,
    values: Any = None,
    *,
    columns: Sequence[Any] | None = None,
    times: Any = None,
    time: Any = None,
    reading: CellReading | None = None,
) -> NamedCells:
    """Convert a table, as ``TableCompletion.fit`` takes it, to named cells, with ``values`` and ``times`` of rows."""
    if isinstance(source, NamedCells):
        return source
    if _is_matrix(source):
        cells = cells_of(source)
        return NamedCells(cells, [*range(cells.shape[0])], [*range(cells.shape[1])], valued=True)
    how = CellReading() if reading is None else reading
    table = open_table(source, how, columns=columns, roles=RATINGS)
    if values is None and times is None and _is_wide(table, how.layout):
        return _collected(table, _wide_lines(table), how, valued=True)
    at = table.places(RATINGS if values is None else RATINGS[:2], also={} if time is None else {"time": time})
    table.watched = () if "value" in at else at.values()
    added = {name: [*each] for name, each in (("value", values), ("time", times)) if each is not None}
    if added:  # as further columns
        rows = [[cells[place] for place in at.values()] for _, cells in table]
        for name, each in added.items():
            if len(each) != len(rows):
                got = f"{len(each):,} for {len(rows):,} pairs"
                raise InputError(f"{name}s must have one element for each pair of names; got {got}", f"{name}s")
        at = {name: place for place, name in enumerate([*at, *added])}
        table = open_table([(*row, *more) for row, more in zip(rows, zip(*added.values(), strict=True), strict=True)])
    return _collected(table, _lines(table, at, how), how, valued="value" in at)


def _is_matrix(source: Any) -> bool:
    """Return whether a numeric array or nameless data frame is a matrix, rather than rows of indices and values."""
    if issparse(source) or isinstance(source, Entries | np.ma.MaskedArray):
        return True
    if hasattr(getattr(source, "index", None), "start") and is_wide(source):  # a RangeIndex
        x, names = source.to_numpy(), [*range(source.shape[1])]
        missing = x.dtype.kind == "f" and bool(np.isnan(x[:, :2]).any())  # names in these columns could not be missing
        return [*names_of(source)] == names and x.dtype.kind in "iufb" and (len(names) > 4 or missing)
    array = isinstance(source, np.ndarray) and source.ndim == 2 and source.dtype.kind in "iufb"
    return array and (source.shape[1] not in {2, 3} or bool(np.isnan(source.astype(float)).any()))


def _is_wide(table: Table, layout: str | None) -> bool:
    """Return whether a table has one row for each row of the matrix."""
    if layout or table.columns is not None:
        return layout == "wide"
    if not table.headed or len(table.names) < 3 or len(table.roles_named(RATINGS)) > 1:
        return False
    names = [name for _, (name, *_) in table.sample]
    values = [cell for _, (_, *cells) in table.sample for cell in cells if not is_empty(cell)]
    if not table.index and (len({*map(str, names)}) < len(names) or len(names) < 2):
        return False
    if not values or not all(number_of(str(value).replace(",", ".")) is not None for value in values):
        return False
    if len(table.names) == 3 and not (table.index or table.names[0] == ""):
        about = f"{table.name} may contain a row name, a column name and a value in each row,"
        raise InputError(f"{about} or the values of two columns; set layout='long' or layout='wide'", "layout")
    return True


def _wide_lines(table: Table) -> Iterator[Line]:
    """Yield the cells of a wide table that are not empty."""
    columns = [*range(1, len(table.names))]
    if unnamed := [at for at in columns if not text_of(table.names[at])]:
        raise InputError(f"{table.name}: column {unnamed[0] + 1} has no name in the headings; name it or remove it")
    numbers = Numbers(table, columns)
    table.note(f"one row of the matrix in each {table.unit}; {len(columns):,} columns")
    for number, cells in table:
        row = name_in(table, number, cells[0], "row name")
        for at in columns:
            if at < len(cells) and not is_empty(cells[at]):
                if (value := numbers(cells[at])) is None:
                    got = f"{cells[at]!r:.40}"
                    raise InputError(f"{table.where(number)}: {table.names[at]!r} must be a number; got {got}")
                yield Line(number, row, table.names[at], value)


def _lines(table: Table, at: dict[str, int], how: CellReading) -> Iterator[Line]:
    """Yield the rows of a long table."""
    last, place = max(at.values()), at.get("value")
    numbers = None if place is None else Numbers(table, [place])
    for number, cells in table:
        if len(cells) <= last:
            table.skip(number, f"expected at least {last + 1} cells; got {len(cells)}")
            continue
        row, column = (name_in(table, number, cells[at[side]], f"{side} name") for side in ("row", "column"))
        value: float | None = 1.0
        if place is not None and numbers is not None:
            if is_empty(cells[place]):
                if how.missing == "ignore":
                    continue
                advice = "set missing='ignore' to leave out such rows"
                raise InputError(f"{table.where(number)}: the row has no value; {advice}", "missing")
            value = numbers(cells[place])
        if value is None or not math.isfinite(value):
            table.skip(number, f"the value must be a finite number; got {cells[place or 0]!r:.40}")
            continue
        yield Line(number, row, column, value, cells[at["time"]] if "time" in at else None)


def read_pairs(
    path: Path,
    rows: Sequence[Any],
    columns: Sequence[Any],
    reading: TableReading | None = None,
    *,
    fields: Sequence[Any] | None = None,
    known_only: bool = True,
) -> list[Line]:
    """Read the pairs of row and column names to predict; a first line without known names is a header."""
    known = {"row": {*rows}, "column": {*columns}}
    table = open_table(str(path), reading, columns=fields, roles=RATINGS)
    if table.headed and table.reading.header is None and any(map(known["row"].__contains__, table.names)):
        table = open_table(str(path), replace(table.reading, header=False), columns=fields)  # whatever follows them
    lines = [*_lines(table, table.places(RATINGS[:2]), CellReading())]
    if not lines:
        raise InputError(f"{path} must contain at least one line with a row and a column")
    if not known_only:
        return lines
    first = lines[0]
    if not table.headed and len(lines) > 1 and first.row not in known["row"] and first.column not in known["column"]:
        about = f"the first line is read as headings, because the model knows neither {first.row!r} nor"
        text = f"{path}: {about} {first.column!r}; set header=True or header=False"
        warnings.warn(InputWarning(text, "header"), stacklevel=2)
        lines = lines[1:]
    for what, names in known.items():
        for line in lines:
            if (name := getattr(line, what)) not in names:
                hint = meant(str(name), map(str, names))
                about = f"{table.where(line.number)}: the model has no {what} {name!r}{hint}"
                raise InputError(f"{about}; set unknown='mean' to predict cells with unknown names", "unknown")
    return lines


def named_pairs(table: Any) -> tuple[list[Any], list[Any]]:
    """Return the row names and the column names in a data frame or an iterable of tuples."""
    opened = open_table(table, roles=RATINGS)
    lines = [*_lines(opened, opened.places(RATINGS[:2]), CellReading())]
    return [line.row for line in lines], [line.column for line in lines]


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


def _collected(table: Table, lines: Iterator[Line], how: CellReading, *, valued: bool) -> NamedCells:
    """Collect lines to cells; a cell with several values is treated as ``duplicates`` says."""
    rows: dict[Any, int] = {}
    columns: dict[Any, int] = {}
    seen: dict[tuple[int, int], tuple[float, int]] = {}
    number_of_values: dict[tuple[int, int], int] = {}
    times: list[float] = []
    rule = how.duplicates
    for line in lines:
        cell = rows.setdefault(line.row, len(rows)), columns.setdefault(line.column, len(columns))
        if cell not in seen:
            seen[cell] = line.value, line.number
            if line.time is not None:
                times.append(_time(line.time, table.where(line.number)))
            continue
        before, first = seen[cell]
        if rule in {"sum", "mean"}:
            seen[cell] = before + line.value, first
            number_of_values[cell] = number_of_values.get(cell, 1) + 1
        elif rule == "last":
            seen[cell] = line.value, first
        elif rule == "refuse" and before != line.value:
            got = f"got {line.value:g} for row {line.row!r} and column {line.column!r}, but {before:g} in {table.unit}"
            about = f"{table.where(line.number)}: each cell must have a single value; {got} {first}"
            advice = "set duplicates='mean', or 'sum', 'first' or 'last', to allow several"
            raise InputError(f"{about}; {advice}", "duplicates")
    if not seen:
        raise InputError(f"{table.name} must contain at least one row with a row name, a column name and a value")
    indices = np.array([*seen], np.int64)
    order = np.lexsort(indices.T[::-1])
    divisor = number_of_values if rule == "mean" else {}
    values = np.array([value / divisor.get(cell, 1) for cell, (value, _) in seen.items()])
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
