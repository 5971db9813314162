"""``polyadic lines``: the lines of a corpus in which words stand."""

import io
import sys
from csv import writer
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from polyadic.cli import options as o
from polyadic.core.errors import InputError
from polyadic.interface import errors, output

Folder = Annotated[Path, typer.Argument(metavar="CORPUS", help="A corpus made with --keep-text.")]
Words = Annotated[
    list[str],
    typer.Argument(
        metavar="WORD...", help="Words that stand in one sentence; 'two words' is a phrase, 'wo*' a beginning."
    ),
]
Width = Annotated[
    int | None, typer.Option(min=0, help="Other words between them at most.", show_default="the sentence")
]
Either = Annotated[bool, typer.Option("--either", help="One of the words is enough.")]
Sort = Annotated[
    Literal["document", "left", "right", "relevance"],
    typer.Option(
        help="As in the text, by what stands to the left or right of the first word, or by most of the words."
    ),
]
Where = Annotated[
    list[str] | None, typer.Option(metavar="FIELD=VALUE", help="Only documents whose field is this; may be repeated.")
]
Start = Annotated[int, typer.Option(min=0, help="Leave out the first lines, to go on from there.")]
Most = Annotated[int | None, typer.Option("--top", "-n", min=1, help="How many to output.", show_default="all")]
CsvFile = Annotated[
    Path | None,
    typer.Option("--csv", metavar="FILE", help="Write all fields of the lines as a table with commas; - prints it."),
]
OWN = ("document", "left", "word", "right")
AROUND = 60
"""Characters to either side, on a terminal or in a pipe."""


def lines(
    folder: Folder,
    words: Words,
    *,
    width: Width = None,
    either: Either = False,
    sort: Sort = "document",
    where: Where = None,
    start: Start = 0,
    top: Most = None,
    csv: CsvFile = None,
    force: o.Force = False,
    as_json: o.AsJson = False,
) -> None:
    """Show the lines in which words stand, each with what stands around the first of them, and its document."""
    from polyadic.core.frames import field_name, records
    from polyadic.text.lines import Lines
    from polyadic.text.readers import name_of_document

    text = Lines(folder)
    fields = dict(_pair(each) for each in where or ())
    out = None if csv is None or str(csv) == "-" else csv
    output.check_file(out, force=force)
    found = text.find(*words, width=width, either=either, sort=sort, where=fields, start=start, top=top)
    first = next(found, None)
    if first is None:
        errors.say(
            f"no line has {(' or ' if either else ' and ').join(map(repr, words))}"
            + (f" in documents with {' and '.join(where)}" if where else "")
            + (" from there on" if start else ""),
            "note",
        )
    found = chain([] if first is None else [first], found)
    if as_json:
        rows: list[dict[str, Any]] = [{**output.line(line), "places": line.places} for line in found]
        output.in_json({"count": text.count(*words, width=width, either=either, where=fields), "lines": rows})
    elif csv is not None:
        names = [*OWN, *(field_name(name, OWN) for name in text.fields)]
        table = (_row([record.get(name, "") for name in names]) for record in records(found))
        output.write_lines(chain([_row(names)], table), out)
    else:
        for line in found:
            name = name_of_document(line.fields) or str(line.document + 1)
            if sys.stdout.isatty():
                left, right = line.left[-AROUND:].rjust(AROUND), line.right[:AROUND].ljust(AROUND)
                typer.echo(left + typer.style(line.word, bold=True) + right + "  " + typer.style(name, dim=True))
            else:
                typer.echo(f"{name}\t{line.left}\t{line.word}\t{line.right}")


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise InputError(f"--where takes FIELD=VALUE, such as year=1813; got {text!r}")
    return name, value


def _row(cells: list[Any]) -> str:
    file = io.StringIO(newline="")
    writer(file, lineterminator="\n").writerow(cells)
    return file.getvalue()
