"""Parameters and output tables shared by the treebank commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from polyadic.core.errors import InputError
from polyadic.core.settings import File, Help, Metavar
from polyadic.interface import output

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Item = TypeVar("Item")
Input = Annotated[
    Path,
    Metavar("INPUT"),
    Help("File of sentences in CoNLL-U, or of plain text if --text is given; - reads standard input."),
]
Text = Annotated[bool, Help("Read plain English text, with paragraphs separated by empty lines.")]
ByLine = Annotated[bool, Help("End a sentence at the end of each line of the text.")]
Written = Annotated[File | None, Help("File to write the output to (default: standard output).")]


def some(items: Iterable[Item], message: str) -> list[Item]:
    """Return the items as a list, or raise InputError with the given message if there are none."""
    if listed := list(items):
        return listed
    raise InputError(message)


def counts_in_json(counts: Iterable[Any], *measures: str) -> list[dict[str, Any]]:
    """Convert the counts and the named measures of each category to JSON-serializable dictionaries."""
    return [each._asdict() | {name: getattr(each, name.lower()) for name in measures} for each in counts]


def print_figures(figures: Sequence[Mapping[str, Any]], used: str = "") -> None:
    """Print a table of metrics with confidence intervals and, if ``used`` is given, the number of cases."""
    rows = [(each["name"], each["value"], (each["low"], each["high"]), each["used"]) for each in figures]
    headings = ["metric", "value", "95 % interval", *([used] if used else [])]
    output.table(headings, [row[: len(headings)] for row in rows])


def print_counts(kind: str, counts: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of counts, precision and recall by category, with F1 if available."""
    names = {"name": kind, "gold": "gold", "found": "found", "precision": "precision", "recall": "recall"}
    names |= {name: "F1" for each in counts[:1] for name in each if name in ("f1", "F1")}
    output.table([*names.values()], [[each[name] for name in names] for each in counts])
