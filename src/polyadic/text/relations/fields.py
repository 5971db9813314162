"""Tables as text: lines of fields with a mark between them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from polyadic.errors import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence


class Fields(NamedTuple):
    """The number of a line, from 1, and what stands between its marks, without spaces around."""

    line: int
    fields: list[str]


def read_fields(path: str | os.PathLike[str], *, marks: Sequence[str], quotes: bool = True) -> Iterator[Fields]:
    r"""Read the lines of a table that are not blank.

    Parameters
    ----------
    path : path
        In UTF-8.
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
