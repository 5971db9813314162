"""Readers for tables of documents (JSON lines, CSV, Excel, Parquet), with the text of each document in one column.

The other columns become metadata, as strings. Rows are streamed with the csv module, openpyxl and pyarrow; pandas would
load the whole table.
"""

from __future__ import annotations

import json
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from polyadic.core.errors import InputError, MissingExtraError, error_text
from polyadic.core.streams import lines
from polyadic.text.pieces import File, Piece, checked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

Row = tuple[int, "Sequence[Any]"]
"""Row number in its file, and its cells."""

SAMPLE_SIZE = 50  # number of rows examined to suggest the text column
LAST_ROW = 1 << 20
"""Number of rows of an Excel sheet; openpyxl generates missing rows, so a row far beyond would take very long."""
MAX_LISTED = 100  # maximum number of names in a message
ARROW = b"ARROW1"  # magic bytes of Arrow and Feather files


def read_jsonl(file: File) -> Iterator[Piece]:
    """Read a JSON lines file with one document per line; the text field is a string or a list of tokens."""
    for number, line in enumerate(lines(file.texts()), start=1):
        where = f"{file.name}, line {number}"
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            record = _with_whole_characters(record) if "\\u" in line else record
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where} is not valid JSON: {error}") from None
        if not isinstance(record, dict):
            raise InputError(f"{where} must be a JSON object; got {type(record).__name__}")
        field = _column(file, list(record), [record])
        if field not in record:
            raise InputError(f"{where} has no field {field!r}; its fields are {named(record)}")
        content = checked(record[field], f"{where}: the field {field!r}")
        yield Piece(content, fields=_strings({name: value for name, value in record.items() if name != field}))


def csv_rows(file: File) -> Iterator[Row]:
    """Yield the non-empty rows of a CSV file or another delimited text file."""
    from polyadic.text.tables import Table, TableReading, records, separator

    numbered = enumerate(lines(file.texts()), 1)
    sample = [*islice(numbered, SAMPLE_SIZE)]
    reading = TableReading(errors="strict" if file.reading.errors == "strict" else "skip")
    table = Table(file.name, [], True, (), reading, exact=True)
    text = [line for _, line in sample if line.strip()]
    mark = separator(text, blanks=False)
    table.rows = records(table, chain(sample, numbered), mark if mark and mark in text[0] else None)
    return iter(table)


def xlsx_rows(file: File) -> Iterator[Row]:
    """Yield the non-empty rows of a sheet of an Excel file; by default the only one."""
    sheet = file.reading.sheet
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtraError("openpyxl", "files", "reading Excel files") from None
    try:
        book = load_workbook(file.archive(), read_only=True, data_only=True)
        names = [each.title for each in book.worksheets]
        at = names.index(sheet) if sheet in names else int(sheet) - 1 if str(sheet).isdecimal() else -1  # type: ignore[arg-type]
        if not 0 <= (at := 0 if sheet is None and len(names) < 2 else at) < max(len(names), 1):
            got = "" if sheet is None else f"; got {sheet!r}"
            raise InputError(  # noqa: TRY301 # passed on below
                f"sheet must name one of the {len(names)} sheets of {file.name}, {named(names)}{got}", "sheet"
            )
        rows = book.worksheets[at].iter_rows(values_only=True, max_row=LAST_ROW) if names else ()
        yield from ((n, row) for n, row in enumerate(rows, 1) if any(value is not None for value in row))
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 # of zipfile, of its XML, its own: all say that the file is broken
        raise InputError(f"{file.name} cannot be read as an Excel file: {error_text(error)}") from None


def parquet_rows(file: File) -> Iterator[Row]:
    """Yield the column names and the rows of a Parquet or Arrow file; the columns of a pandas index come first."""
    try:
        from pyarrow import ipc, parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet", "reading Parquet and Arrow files") from None
    whole = file.whole()
    try:
        if whole.getbuffer()[: len(ARROW)] == ARROW:
            arrow = ipc.open_file(whole)
            schema, batches = arrow.schema, map(arrow.get_batch, range(arrow.num_record_batches))
        else:
            table = parquet.ParquetFile(whole)
            schema, batches = table.schema_arrow, table.iter_batches(1 << 12)
        index = (schema.pandas_metadata or {}).get("index_columns", ())
        names = [
            *(name for name in index if name in schema.names),
            *(name for name in schema.names if name not in index),
        ]
        rows = ([row[name] for name in names] for batch in batches for row in batch.to_pylist())
        yield from enumerate(chain([names], rows))
    except Exception as error:  # noqa: BLE001 # its own, and of what it makes of broken bytes
        raise InputError(f"{file.name} cannot be read as a Parquet or Arrow file: {error_text(error)}") from None


ROWS = {"csv": csv_rows, "xlsx": xlsx_rows, "parquet": parquet_rows}
"""Row readers by format; the first row names the columns."""


def names_of(file: File, rows: Iterator[Row]) -> list[str]:
    """Return the column names from the first row of a table; raise InputError if a name is repeated."""
    _, heading = next(rows, (0, ()))
    names = ["" if name is None else str(name).strip().lstrip("\ufeff") for name in heading]
    seen: set[str] = set()
    for name in filter(None, names):
        if name in seen:
            raise InputError(f"{file.name} has two columns named {name!r:.80}; rename one in the first row")
        seen.add(name)
    return names


def filled(file: File, names: Sequence[str], rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows of a table; raise InputError if a row has more cells than there are columns."""
    for number, row in rows:
        if len(row) > len(names):
            raise InputError(
                f"{file.name}, row {number}: expected at most {len(names)} cells, one for each column name; got"
                f" {len(row)}"
            )
        yield number, row


def read_table(file: File, table_rows: Callable[[File], Iterator[Row]]) -> Iterator[Piece]:
    """Read one document per row of a table whose first row names the columns."""
    rows = table_rows(file)
    names = names_of(file, rows)
    sample = list(islice(rows, SAMPLE_SIZE))
    field = _column(file, names, [dict(zip(names, row, strict=False)) for _, row in sample])
    if field not in names:
        raise InputError(f"{file.name} has no column {field!r}; its columns are {named(names)}")
    for _, row in filled(file, names, chain(sample, rows)):
        record = _strings(dict(zip(names, row, strict=False)))
        yield Piece(record.pop(field, ""), fields=record)


def _column(file: File, names: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """Return the name of the text column, or raise InputError with a suggested column if the name is not set."""
    if not names:
        raise InputError(f"{file.name} has no columns or fields")
    if file.reading.field is not None or len(names) == 1:
        return file.reading.field or names[0]
    sizes = dict.fromkeys(names, 0)
    for record in records:
        for name, value in record.items():
            sizes[name] += len(str(value or ""))
    fullest = max(sizes, key=sizes.__getitem__)
    raise InputError(
        f"field must name the column of {file.name} that contains the text, which is probably {fullest!r}; the columns"
        f" are {named(names)}",
        "field",
    )


def _with_whole_characters(value: Any) -> Any:
    """Replace unpaired surrogates, which result from truncated text, with U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_with_whole_characters(each) for each in value]
    if isinstance(value, dict):
        return {_with_whole_characters(name): _with_whole_characters(each) for name, each in value.items()}
    return value


def _strings(record: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in record.items() if name and value is not None and value != ""}


def named(names: Iterable[str]) -> str:
    """Format a list of names for an error message."""
    names = list(names)
    more = f" and {len(names) - MAX_LISTED:,} more" if len(names) > MAX_LISTED else ""
    return (", ".join(f"{name!r:.80}" for name in names[:MAX_LISTED]) or "none") + more
