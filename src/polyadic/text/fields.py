"""Tables: lines of fields with a mark between them, or the rows of a Parquet, Arrow or Excel file."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from polyadic.core.errors import InputError
from polyadic.text.formats.records import parquet_rows, xlsx_rows
from polyadic.text.pieces import File, Reading
from polyadic.text.streams import open_bytes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence


BINARY = dict.fromkeys((".parquet", ".arrow", ".feather"), parquet_rows) | {".xlsx": xlsx_rows, ".xlsm": xlsx_rows}
"""Tables that are no text, by suffix."""


class Fields(NamedTuple):
    """The number of a line, from 1, and what stands between its marks, without spaces around."""

    line: int
    fields: list[str]


def read_fields(path: str | os.PathLike[str], *, marks: Sequence[str], quotes: bool = True) -> Iterator[Fields]:
    r"""Read the lines of a table that are not blank.

    Parameters
    ----------
    path : path
        Text in UTF-8; or .parquet, .arrow, .feather, .xlsx, whose names of columns are the first line.
    marks : sequence of str
        What may stand between fields: the first of them that the first line has; else the last.
    quotes : bool
        Whether quotes surround fields, as in CSV, or are letters like others, as text needs it.

    Raises
    ------
    InputError
        If the file cannot be read, its first line is empty, or quotes do not fit.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.csv"
    >>> _ = path.write_text('film,stars\n\n"Good, Bad",5\n')
    >>> [(line, fields) for line, fields in read_fields(path, marks=";,")]
    [(1, ['film', 'stars']), (3, ['Good, Bad', '5'])]
    """
    if (rows := BINARY.get(Path(path).suffix.lower())) is not None:
        with open_bytes(str(path)) as stream:
            for number, cells in rows(File(str(path), stream, Reading())):
                yield Fields(number + 1, ["" if cell is None else str(cell).strip() for cell in cells])
        return
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            if not first.strip():
                raise InputError(f"{path}, line 1 is empty; begin with a line of fields")
            mark = next((mark for mark in marks if mark in first), marks[-1])
            file.seek(0)
            lines = csv.reader(
                file, delimiter=mark, strict=True, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
            )
            for cells in lines:
                fields = [field.strip() for field in cells]
                if any(fields):
                    yield Fields(lines.line_num, fields)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    except csv.Error as error:
        raise InputError(f"{path} is no table of that kind: {error}") from None
