"""Read tables: delimited text lines, or rows of Parquet, Arrow or Excel files."""

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
"""Readers of binary tables by suffix."""


class Fields(NamedTuple):
    """Line number, from 1, and its fields without surrounding spaces."""

    line: int
    fields: list[str]


def read_fields(path: str | os.PathLike[str], *, marks: Sequence[str], quotes: bool = True) -> Iterator[Fields]:
    """Yield the non-blank lines of a table of text, or column names and rows of .parquet, .arrow, .feather or .xlsx.

    Fields are separated by the first of ``marks`` that occurs in the first line, else by the last; ``quotes`` enclose
    fields, as in CSV, or are ordinary characters.
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
                raise InputError(f"{path}, line 1 is empty; the first line must have the fields")
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
        raise InputError(f"{path} is not a valid table: {error}") from None
