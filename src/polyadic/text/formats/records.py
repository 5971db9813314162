"""Readers for tables of documents (JSON lines, CSV, Excel, Parquet), with the text of each document in one column.

The other columns become metadata, as strings. Rows are streamed with the csv module, openpyxl and pyarrow; pandas would
load the whole table.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from polyadic.core.errors import InputError, named, needing
from polyadic.core.progress import note
from polyadic.core.streams import lines
from polyadic.text.formats.plain import unescaped, whole_characters, without_links
from polyadic.text.pieces import Content, File, Piece, checked

Row = tuple[int, "Sequence[Any]"]  # row number in the file, and cells

SAMPLE_SIZE = 50  # number of rows examined to suggest the text column
LAST_ROW = 1 << 20
"""Number of rows of an Excel sheet; openpyxl generates missing rows, so a row far beyond would take very long."""
ARROW = b"ARROW1"  # magic bytes of Arrow and Feather files


def read_json(file: File) -> Iterator[Piece]:
    """Read JSON: an object on each line, an array of objects, or one object; the text is a string or a list of tokens.

    Nested fields have names such as ``user.name``. Of one object with a list of objects, these are the documents.
    """
    numbered = ((number, line) for number, line in enumerate(lines(file.texts()), start=1) if line.strip())
    first = next(numbered, (1, ""))
    by_line = Path(file.path).suffix != ".json" and not first[1].lstrip("\ufeff \t").startswith("[")
    begun = [first, *islice(numbered, 1)]
    with contextlib.suppress(ValueError, RecursionError):
        by_line = by_line or (len(begun) > 1 and isinstance(json.loads(first[1]), dict))
    every = ((f"{file.name}, line {number}", line) for number, line in chain(begun, numbered))
    for where, text in every if by_line else [(file.name, "\n".join(line for _, line in every))]:
        if by_line and not text:
            continue
        try:
            found = json.loads(text)
            found = json.loads(whole_characters(json.dumps(found, ensure_ascii=False))) if "\\u" in text else found
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where} is not valid JSON: {error}") from None
        records, field = ([found], file.reading.field) if by_line else _documents_in(found, file.reading.field)
        for number, record in enumerate(records, 1):
            at = where if by_line else f"{where}, object {number}"
            if isinstance(record, str) and not by_line:
                yield Piece(_clean(file, record))
                continue
            if not isinstance(record, dict):
                raise InputError(f"{at} must be a JSON object; got {type(record).__name__}")
            flat = _flat(record)
            field = field or _column(file, [*flat], [flat])
            if field not in flat:
                raise InputError(f"{at} has no field {field!r}; its fields are {named(flat)}")
            yield Piece(_clean(file, checked(flat.pop(field), f"{at}: the field {field!r}")), fields=_strings(flat))


def _documents_in(found: Any, field: str | None) -> tuple[list[Any], str | None]:
    """Return the documents of a JSON file, which are an array or a list in one object, and the field of their text."""
    if not isinstance(found, dict) or field in found:
        return found if isinstance(found, list) else [found], field
    lists = [name for name, value in found.items() if value and _are_objects(value)]
    name = next((name for name in lists if (field or "").startswith(f"{name}.")), lists[0] if len(lists) == 1 else None)
    return ([found], field) if name is None else (found[name], field and field.removeprefix(f"{name}."))


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of nested objects by dotted names; texts in lists of objects are joined as paragraphs."""
    if not any(isinstance(value, (dict, list)) for value in record.values()):
        return dict(record)
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{key}": each for key, each in _flat(value).items()}
        elif value and _are_objects(value):
            for key, each in (item for inner in value for item in _flat(inner).items()):
                flat[f"{name}.{key}"] = f"{flat[f'{name}.{key}']}\n{each}" if f"{name}.{key}" in flat else each
        else:
            flat[name] = value
    return flat


def _clean(file: File, content: Content) -> Content:
    """Return a text with characters instead of entities ("&amp;") and without links; tokens stay as they are."""
    return without_links(file, unescaped(content)) if isinstance(content, str) else content


def csv_rows(file: File) -> Iterator[Row]:
    """Yield the non-empty rows of a CSV file or another delimited text file."""
    from polyadic.text.tables import Table, TableReading, records, separator

    numbered = enumerate(lines(file.texts()), 1)
    sample = [*islice(numbered, SAMPLE_SIZE)]
    reading = TableReading(errors="strict" if file.reading.errors == "strict" else "skip")
    table = Table(file.name, [], True, (), reading, exact=True)
    text = [line for _, line in sample if line.strip()]
    mark = separator(text, blanks=False)
    mark = mark if mark and mark in text[0] else None
    table.rows = records(table, chain(sample, numbered), mark)
    rows = iter(table)
    heading = next(rows, (0, ()))
    yield heading
    width = len(heading[1])
    text_last = width > 0 and heading[1][-1].strip() == file.reading.field and reading.errors != "strict"
    for number, row in rows:
        if any(row[width:]) and not text_last:
            table.skip(number, f"expected {width} cells; got {len(row)}")
            continue
        if any(row[width:]):  # separators in a text without quotation marks
            table.mended.add(number)
            row = [*row[: width - 1], (mark or "").join(row[width - 1 :])]  # noqa: PLW2901
        yield number, row[:width]


def xlsx_rows(file: File) -> Iterator[Row]:
    """Yield the non-empty rows of a sheet of an Excel file; by default the only one."""
    sheet = file.reading.sheet
    with needing("openpyxl", "files", "reading Excel files"):
        from openpyxl import load_workbook
    with file.read_as("an Excel file"):
        book = load_workbook(file.archive(), read_only=True, data_only=True)
        names = [each.title for each in book.worksheets]
        at = names.index(sheet) if sheet in names else int(sheet) - 1 if str(sheet).isdecimal() else -1  # type: ignore[arg-type]
        if not 0 <= (at := 0 if sheet is None and len(names) < 2 else at) < max(len(names), 1):
            got = named(names) + ("" if sheet is None else f"; got {sheet!r}")
            raise InputError(f"sheet must name one of the {len(names)} sheets of {file.name}, {got}", "sheet")
        rows = book.worksheets[at].iter_rows(values_only=True, max_row=LAST_ROW) if names else ()
        yield from ((n, row) for n, row in enumerate(rows, 1) if any(value is not None for value in row))


def parquet_rows(file: File) -> Iterator[Row]:
    """Yield the column names and the rows of a Parquet or Arrow file; the columns of a pandas index come first."""
    with needing("pyarrow", "parquet", "reading Parquet and Arrow files"):
        from pyarrow import ipc, parquet
    whole = file.whole()
    with file.read_as("a Parquet or Arrow file"):
        if whole.getbuffer()[: len(ARROW)] == ARROW:
            arrow = ipc.open_file(whole)
            schema, batches = arrow.schema, map(arrow.get_batch, range(arrow.num_record_batches))
        else:
            table = parquet.ParquetFile(whole)
            schema, batches = table.schema_arrow, table.iter_batches(1 << 12)
        index = (schema.pandas_metadata or {}).get("index_columns", ())
        names = [name for name in index if name in schema.names]
        names += [name for name in schema.names if name not in index]
        rows = ([row[name] for name in names] for batch in batches for row in batch.to_pylist())
        yield from enumerate(chain([names], rows))


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


def read_table(file: File, table_rows: Callable[[File], Iterator[Row]]) -> Iterator[Piece]:
    """Read one document per row of a table whose first row names the columns."""
    rows = table_rows(file)
    names = names_of(file, rows)
    sample = list(islice(rows, SAMPLE_SIZE))
    field = _column(file, names, [dict(zip(names, row, strict=False)) for _, row in sample])
    if field not in names:
        raise InputError(f"{file.name} has no column {field!r}; its columns are {named(names)}")
    for number, row in chain(sample, rows):
        if len(row) > len(names):
            what = f"expected at most {len(names)} cells, one for each column name; got {len(row)}"
            raise InputError(f"{file.name}, row {number}: {what}")
        record = _strings(dict(zip(names, row, strict=False)))
        yield Piece(_clean(file, record.pop(field, "")), fields=record)


def read_xlsx(file: File) -> Iterator[Piece]:
    """Read one document per row of an Excel file: of the sheet that is set, or of all sheets that have the column."""
    whole, field = file.stream.read(), file.reading.field

    def part(sheet: str | None) -> File:
        stream: Any = io.BufferedReader(io.BytesIO(whole))
        return file._replace(stream=stream, reading=replace(file.reading, sheet=sheet))

    names: list[str] = []
    with contextlib.suppress(Exception):  # told where a sheet is read
        from openpyxl import load_workbook

        names = [] if file.reading.sheet or field is None else load_workbook(part(None).archive(), True).sheetnames
    those = [name for name in names if field in names_of(file, xlsx_rows(part(name)))]
    if len(names) < 2 or not those:
        yield from read_table(part(file.reading.sheet), xlsx_rows)
        return
    if others := [name for name in names if name not in those]:
        note(f"{file.name}: sheets without a column {field!r} were not read: {named(others)}")
    for name in those:
        pieces = read_table(part(name), xlsx_rows)
        yield from (piece._replace(fields={"sheet": name, **piece.fields}) for piece in pieces)


def _column(file: File, names: Sequence[str], records: Iterable[Mapping[str, Any]]) -> str:
    """Return the name of the text column, or raise InputError with a suggested column if the name is not set."""
    if not names:
        raise InputError(f"{file.name} has no columns or fields")
    if file.reading.field is not None or len(names) == 1:
        return file.reading.field or names[0]
    records = [*records]
    fullest = max(dict.fromkeys(names), key=lambda name: sum(len(str(each.get(name) or "")) for each in records))
    what = f"field must name the column of {file.name} that contains the text, which is probably {fullest!r}"
    raise InputError(f"{what}; the columns are {named(names)}", "field")


def _strings(record: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in record.items() if name and value is not None and value != ""}
