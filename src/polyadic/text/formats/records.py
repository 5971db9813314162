"""Tables of documents: JSON lines, CSV, spreadsheets and Parquet, a document a row, one column its text.

The other columns stay with the document, as strings. Rows are read one after another, by the csv module of the standard
library, openpyxl and pyarrow, which pandas calls too; pandas itself would load the table whole.
"""

from __future__ import annotations

import csv
import json
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from polyadic.errors import InputError, MissingExtraError
from polyadic.text.pieces import Piece, checked
from polyadic.text.streams import lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from polyadic.text.pieces import File

SAMPLED = 50
"""Rows that are looked at to say which column might hold the text."""
SEPARATORS = ",;\t|"


def read_jsonl(file: File) -> Iterator[Piece]:
    """Read a JSON object a line, with the document in a field: a string, or tokens."""
    for number, line in enumerate(lines(file.texts()), start=1):
        where = f"{file.name}, line {number}"
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where} is not JSON: {error}") from None
        if not isinstance(record, dict):
            raise InputError(f"{where} must be a JSON object; got {type(record).__name__}")
        field = _column(file, list(record), [record])
        if field not in record:
            raise InputError(f"{where} has no field {field!r}; its fields are {_named(record)}")
        content = checked(record[field], f"{where}: the field {field!r}")
        yield Piece(content, fields=_strings({name: value for name, value in record.items() if name != field}))


def read_csv(file: File) -> Iterator[Piece]:
    """Read a table of text, its columns between commas, semicolons, tabs or bars, named in its first line."""
    texts = file.texts()
    first = next(texts, "")
    heading = first.split("\n", 1)[0]
    separator = max(SEPARATORS, key=heading.count)  # the first of them where there is none
    csv.field_size_limit(1 << 30)
    rows = csv.reader((line + "\n" for line in lines(chain([first], texts))), delimiter=separator, strict=True)

    def numbered() -> Iterator[tuple[int, Sequence[str]]]:
        try:
            for row in rows:
                if row:
                    yield rows.line_num, row
        except csv.Error as error:
            raise InputError(f"{file.name}, line {rows.line_num}, is no row of a table: {error}") from None

    return _documents(file, numbered())


def read_xlsx(file: File) -> Iterator[Piece]:
    """Read the first sheet of an Excel file, its columns named in its first row."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtraError("openpyxl", "files", "reading Excel files") from None
    try:
        book = load_workbook(file.whole(), read_only=True, data_only=True)
    except Exception as error:  # noqa: BLE001 # of zipfile, of its XML, its own: all say that the file is broken
        raise InputError(f"{file.name} is no Excel file that can be read: {error}") from None
    rows = enumerate(book.worksheets[0].iter_rows(values_only=True), 1) if book.worksheets else iter(())
    return _documents(file, ((n, row) for n, row in rows if any(value is not None for value in row)))


def read_parquet(file: File) -> Iterator[Piece]:
    """Read a Parquet file, some rows at a time."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", "reading Parquet files") from None
    try:
        table = parquet.ParquetFile(file.whole())
        rows = (list(row.values()) for batch in table.iter_batches(1 << 12) for row in batch.to_pylist())
        yield from _documents(file, enumerate(chain([table.schema_arrow.names], rows)))
    except (ArrowException, OSError) as error:
        raise InputError(f"{file.name} is no Parquet file that can be read: {error}") from None


def _documents(file: File, rows: Iterator[tuple[int, Sequence[Any]]]) -> Iterator[Piece]:
    """Make documents of rows below one of names."""
    _, heading = next(rows, (0, ()))
    names = ["" if name is None else str(name).strip().lstrip("\ufeff") for name in heading]
    twice = next((name for k, name in enumerate(names) if name and name in names[:k]), None)
    if twice is not None:
        raise InputError(f"{file.name} must have other names for its columns: {twice!r} stands twice in the first row")
    sample = list(islice(rows, SAMPLED))
    field = _column(file, names, [dict(zip(names, row, strict=False)) for _, row in sample])
    if field not in names:
        raise InputError(f"{file.name} has no column {field!r}; its columns are {_named(names)}")
    for number, row in chain(sample, rows):
        if len(row) > len(names):
            raise InputError(f"{file.name}, row {number}, has {len(row)} cells below {len(names)} names of columns")
        record = _strings(dict(zip(names, row, strict=False)))
        yield Piece(record.pop(field, ""), fields=record)


def _column(file: File, names: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """Say which column holds the text; where that was not said and there are several, name the one with the longest."""
    if file.reading.field is not None or len(names) == 1:
        return file.reading.field or names[0]
    sizes = dict.fromkeys(names, 0)
    for record in records:
        for name, value in record.items():
            sizes[name] += len(str(value or ""))
    longest = max(sizes, key=sizes.__getitem__, default="NAME")
    raise InputError(
        f"field must name the column of the table {file.name} that holds the text, such as {longest!r};"
        f" its columns are {_named(names)}"
    )


def _strings(record: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in record.items() if name and value is not None and value != ""}


def _named(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
