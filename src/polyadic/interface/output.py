"""Output of commands: tables on a terminal, tab-separated lines in a pipe, JSON with ``--json``."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import typer

from polyadic.core.errors import InputError, MissingExtraError, needing
from polyadic.core.files import plain, whole_file
from polyadic.interface.errors import BAD_INPUT, interrupted, keeping, say
from polyadic.interface.errors import in_json as json_wanted
from polyadic.interface.run import Incomplete

if TYPE_CHECKING:
    from polyadic.core.explanation import Explanation

    Words = Sequence[object]

_CAPITALS = ("MRR", "MAP", "RMSE", "NDCG", "NPMI", "C_V", "F1", "MiB", "DP", "PMI", "MI3", "TTR", "MATTR", "MTLD")
METRICS = {
    **{name.lower().replace("_", " "): name for name in _CAPITALS},
    "hdd": "HD-D",
    "yule k": "Yule's K",
    "juilland d": "Juilland's D",
    "log dice": "logDice",
    "delta p": "Delta P",
}
"""Usual spelling of metrics in headings, by the words of their keys."""
GROUP = 1 << 16  # rows of a Parquet file that are held before they are written


def result(values: Any, *, as_json: bool, printed: Callable[..., None] | None = None) -> None:
    """Print the result of a command as one JSON object or as tables; exit with the code for what went wrong, if any."""
    if values is None:  # it was printed meanwhile
        return
    if as_json:
        in_json(values)
    else:
        (printed or _printed)(values)
        for note in getattr(values, "notes", ()):
            typer.echo(note)
        if hint := getattr(values, "next", ()):
            wrote(values["out"], hint=hint)
    if kept := getattr(values, "kept", ()):
        raise interrupted(kept=kept)
    for fault in values.get("refused", {}).values():
        say(fault)
    if values.get("refused") or isinstance(values, Incomplete):
        raise typer.Exit(BAD_INPUT)


def _printed(values: Mapping[str, Any]) -> None:
    """Print each list of records as a table, or all values in one table if there are no lists."""
    lists = {name: value for name, value in values.items() if _is_records(value)}
    for records in lists.values():
        keys = [*records[0]] if records else []
        table([*map(heading, keys)], [[_joined(record[key]) for key in keys] for record in records])
    if not lists:
        single = {name: value for name, value in values.items() if name not in ("out", "choice")}
        table(["name", "value"], [(heading(name), value) for name, value in single.items()])


def heading(name: str) -> str:
    """Format the key of a result as a column heading or a row name.

    >>> [heading(name) for name in ("new_cells", "validation_mrr", "hits_at_10", "yule_k")]
    ['new cells', 'validation MRR', 'Hits@10', "Yule's K"]
    """
    spaced = re.sub(r"\b(recall|ndcg|map) at (?=\d)", r"\1@", name.replace("_", " "))
    spaced = re.sub(r"\bhits at (?=\d)", "Hits@", spaced)
    for key, metric in METRICS.items():
        spaced = re.sub(rf"\b{key}\b", metric, spaced, flags=re.IGNORECASE)
    return spaced


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _joined(value: Any) -> Any:
    """Format a table cell that contains records on one line."""
    if not value or not _is_records(value):
        return value
    return in_words(value) if "part" in value[0] else ", ".join(str(next(iter(each.values()))) for each in value)


class Steps:
    """Timer for the steps of a run, which records seconds and sizes and prints a line when each step ends."""

    def __init__(self, *, silent: bool | None = None) -> None:
        self.silent = json_wanted() if silent is None else silent
        self.done: dict[str, dict[str, Any]] = {}

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[dict[str, Any]]:
        """Time a step in a ``with`` statement, and yield a dictionary to which the step can add results."""
        facts: dict[str, Any] = {}
        start = time.perf_counter()
        yield facts
        seconds = round(time.perf_counter() - start, 3)
        self.done[name] = {"seconds": seconds, **facts}
        if not self.silent:
            sizes = ", ".join(f"{heading(key)} {_cell(value)}" for key, value in facts.items())
            typer.echo(f"{name:<10}{seconds:>9.1f} s   {sizes}".rstrip())


def in_json(result: Mapping[str, Any]) -> None:
    """Print a result as one JSON object, in which non-finite numbers become null."""
    typer.echo(json.dumps(plain(result), ensure_ascii=False, indent=2))


def table(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table on a terminal, or a header and tab-separated lines when piped."""
    if not sys.stdout.isatty():
        for row in [headings, *rows]:
            typer.echo("\t".join(_cell(value) for value in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    numbers = [all(isinstance(row[k], int | float) for row in rows) for k in range(len(headings))]
    drawn = Table(box=None, header_style="bold")
    for heading, number in zip(headings, numbers, strict=True):
        drawn.add_column(heading, justify="right" if number else "left")
    for row in rows:
        drawn.add_row(*(Text(_cell(value)) for value in row))
    Console().print(drawn)


def reasons(why: Explanation, most: int, of: str | Sequence[str]) -> dict[str, Any]:
    """Convert the explanation of a prediction to a record with its value, base value and largest contributions."""
    sums = {} if math.isnan(why.base) else {"value": round(why.value, 6), "base": round(why.base, 6)}
    named = [
        ({of: name} if isinstance(of, str) else dict(zip(of, name, strict=True)), part) for name, part in why.parts
    ]
    return {**sums, "why": [{**name, "part": round(part, 6)} for name, part in named[:most]]}


def in_words(why: Sequence[Mapping[str, Any]]) -> str:
    """Format the contributions returned by :func:`reasons` as one table cell."""
    names = [[" * ".join(map(str, n)) if isinstance(n, tuple) else str(n) for n in each.values()][:-1] for each in why]
    return ", ".join(f"{' '.join(name)} {each['part']:+.3g}" for name, each in zip(names, why, strict=True))


def reasoned(headings: Sequence[str], lines: Sequence[dict[str, Any]]) -> None:
    """Print a table whose rows may contain explanations returned by :func:`reasons`."""
    for line in lines:
        if "why" in line:
            line["why"] = in_words(line["why"])
    table(headings, [[*line.values()] for line in lines])


def facts(values: Mapping[str, Any]) -> None:
    """Print a dictionary as a table with one row."""
    table([*map(heading, values)], [tuple(values.values())])


def wrote(out: Path | str, *, hint: Words = ()) -> None:
    """Print the path of the written result, and a suggestion for the next command."""
    typer.echo(f"wrote {out}" + (f"; next: {command(hint)}" if hint else ""))


def command(words: Words) -> str:
    """Format a polyadic command for a shell, with quoting."""
    return shlex.join(["polyadic", *map(str, words)])


def write_lines(lines: Iterable[str], out: Path | None) -> None:
    """Write UTF-8 lines to standard output ("-" or None) or atomically to a file, with line feeds on all platforms."""
    sent = 0
    with contextlib.ExitStack() as stack:
        file: BinaryIO = sys.stdout.buffer
        if out is None or str(out) == "-":
            stack.enter_context(keeping(lambda: ["what was printed until then"] if sent else []))
        else:
            file = stack.enter_context(stack.enter_context(whole_file(out)).open("wb"))
        for line in lines:
            sent += file.write(line.encode())


def check_picture(file: Path | None) -> None:
    """Raise InputError if an image file cannot be written, before any computation starts."""
    if file is not None and file.suffix not in {".png", ".svg", ".pdf"}:
        raise InputError(f"image files must be .png, .svg or .pdf; got {file}")
    if file is not None and find_spec("matplotlib") is None:
        raise MissingExtraError("matplotlib", "plot", "a picture")
    check_file(file, force=True)


def check_server() -> None:
    """Raise MissingExtraError if the packages for the server are not installed, before any computation starts."""
    try:
        import fastapi  # noqa: F401 # only whether it is there
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(str(error.name), "explore", "a server") from None


def check_file(file: Path | None, *, force: bool) -> None:
    """Raise InputError if an output file cannot be written, before any computation starts."""
    if file is None or str(file) == "-":
        return
    if not file.parent.is_dir():
        raise InputError(f"cannot write {file}: the folder {file.parent} does not exist")
    if file.is_dir() or (file.exists() and not force):
        raise InputError(f"{file} exists already; choose another name" + ("" if file.is_dir() else " or --force"))


def write_csv(records: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Write records with the same fields as CSV with a header; see :func:`write_lines`."""
    write_lines((csv_line(*row) for row in chain(records[:1], (each.values() for each in records))), file)


def csv_line(*values: Any) -> str:
    """Format values as a CSV line, quoted where necessary."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(values)
    return line.getvalue()


def write_table(headings: Sequence[str], rows: Iterable[tuple[Any, ...]], out: Path) -> None:
    """Write a table atomically to a Parquet or CSV file, depending on the extension, in bounded memory."""
    if out.suffix.lower() != ".parquet":
        lines = ((f"{value:.6g}" if isinstance(value, float) else value for value in row) for row in rows)
        write_lines((csv_line(*line) for line in chain([headings], lines)), out)
        return
    with needing("pyarrow", "parquet", "a Parquet file"):
        import pyarrow as pa
        from pyarrow import parquet
    left = iter(rows)
    with whole_file(out) as draft, contextlib.ExitStack() as stack:
        writer = None
        while (some := [*islice(left, GROUP)]) or writer is None:
            columns = dict(zip(headings, zip(*some, strict=True) if some else [()] * len(headings), strict=True))
            batch = pa.table(columns, None if writer is None else writer.schema)
            if writer is None:
                writer = stack.enter_context(parquet.ParquetWriter(draft, batch.schema))
            writer.write_table(batch)


class Answers(dict[str, Any]):
    """Dictionary of answers by query; ``refused`` contains the error message of each query without an answer."""

    def __init__(self, queries: Iterable[str], answer: Callable[[str], Any]) -> None:
        super().__init__()
        self.refused: dict[str, str] = {}
        for query in queries:
            try:
                self[query] = answer(query)
            except InputError as error:
                self.refused[query] = str(error)

    @property
    def in_json(self) -> dict[str, Any]:
        """Return the refused queries as a dictionary for JSON."""
        return {"refused": self.refused} if self.refused else {}


def pairs(lists: Mapping[str, Sequence[tuple[str, float]]]) -> dict[str, list[dict[str, Any]]]:
    """Convert the nearest neighbours of each query to records for JSON."""
    return {query: [{"word": w, "cosine": round(c, 6)} for w, c in nearest] for query, nearest in lists.items()}


def line(found: Any) -> dict[str, Any]:
    """Convert a concordance line and the document metadata to a record for JSON."""
    from polyadic.core.frames import with_fields

    return with_fields({"document": found.document, "text": found.text}, found.fields)


def neighbours(lists: Mapping[str, Sequence[tuple[str, float]]]) -> None:
    """Print the nearest words of each query: side by side on a terminal, one per line when piped."""
    if not sys.stdout.isatty():
        rows = [(query, word, cosine) for query, nearest in lists.items() for word, cosine in nearest]
        table(["query", "neighbour", "cosine"], rows)
        return
    for query, nearest in lists.items():
        table([query, "cosine"], nearest)
        typer.echo()


def _cell(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, list | tuple):
        return (" to " if isinstance(value, tuple) else " and ").join(map(_cell, value))
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) >= 1 else f"{value:z.3f}"
    return f"{value:,}" if isinstance(value, int) and sys.stdout.isatty() else str(value)
