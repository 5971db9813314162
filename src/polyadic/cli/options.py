"""Arguments and options of the verbs, each written once."""

import dataclasses
import inspect
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from polyadic.core.errors import InputError
from polyadic.core.resources import MAX_THREADS
from polyadic.interface.command_line import in_bytes
from polyadic.text.task import source as source  # noqa: PLC0414 # an explicit re-export

Verb = TypeVar("Verb", bound=Callable[..., Any])
CORPUS, COUNTS, WEIGHTS, MODEL, TESTS = "Corpus", "Counts", "Weights", "Model", "Tests"


def names(text: str) -> tuple[str, ...]:
    """Read what stands between commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def numbers(flag: str, text: str, read: Callable[[str], Any]) -> tuple[Any, ...]:
    """Read numbers between commas; ``none`` is none of them."""
    try:
        return tuple(read(part) for part in text.split(",")) if text != "none" else ()
    except ValueError:
        raise InputError(f"{flag} takes numbers between commas, or none; got {text!r}") from None


def with_defaults_of(settings: type[Any]) -> Callable[[Verb], Verb]:
    """Give the options of a command the defaults of the settings with the same names."""
    defaults = {field.name: field.default for field in dataclasses.fields(settings)}

    def decorate(verb: Verb) -> Verb:
        known = {name: name.rstrip("_") for name in inspect.signature(verb).parameters}
        verb.__kwdefaults__ = {
            **(verb.__kwdefaults__ or {}),
            **{name: defaults[setting] for name, setting in known.items() if setting in defaults},
        }
        return verb

    return decorate


def chosen(ctx: typer.Context, *, but: Collection[str] = ()) -> dict[str, Any]:
    """Return the options given on the command line, by the names of their settings."""
    sources = {name: ctx.get_parameter_source(name) for name in ctx.params if name not in but}
    return {name.rstrip("_"): ctx.params[name] for name, at in sources.items() if at and at.name == "COMMANDLINE"}


# Arguments

# Everywhere
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace what is there, if it is of the same kind.")]
Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write.")]
Threads = Annotated[int | None, typer.Option(min=1, max=MAX_THREADS, help="Threads to use.", show_default="all cores")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
Rank = Annotated[int, typer.Option(min=1, help="Length of a vector.")]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="The folder of test sets.", show_default="what POLYADIC_DATA names", rich_help_panel=TESTS
    ),
]

# Text
MinCount = Annotated[int, typer.Option(min=1, help="Drop words that are rarer.", rich_help_panel=CORPUS)]
MaxSize = Annotated[int | None, typer.Option(min=1, help="Keep only the most frequent words.", rich_help_panel=CORPUS)]
StopWords = Annotated[
    str,
    typer.Option(
        metavar="language|auto|none|LANGUAGE|FILE",
        help="Words to leave out: the list of the language, words all over the text, none, the list of another language"
        " such as german, or a file with one a line.",
        rich_help_panel=CORPUS,
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="What the files are: auto looks; text, lines (a document each), wiki, mediawiki, jsonl, csv, xlsx,"
        " parquet, html, xml, epub, docx, pdf, mail, mbox, conllu.",
        rich_help_panel=CORPUS,
    ),
]
Field = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The column of a table, field of JSON, or of CoNLL-U form or lemma, that holds text.",
        rich_help_panel=CORPUS,
    ),
]
Wrapped = Annotated[
    bool | None,
    typer.Option(
        "--wrapped/--not-wrapped",
        help="Whether lines were broken to fit a page, and an empty line ends a paragraph.",
        show_default="by the lengths of lines",
        rich_help_panel=CORPUS,
    ),
]
Language = Annotated[
    str, typer.Option(metavar="auto|CODE", help="The language, such as de; auto guesses.", rich_help_panel=CORPUS)
]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="Encoding of the text.", rich_help_panel=CORPUS)]
Errors = Annotated[
    Literal["skip", "strict", "replace", "ignore"],
    typer.Option(
        help="Of files that cannot be read, or are in another encoding: skip and name them, stop, or replace or ignore"
        " bytes.",
        rich_help_panel=CORPUS,
    ),
]
Tokenised = Annotated[
    bool, typer.Option("--tokenised", help="A line is a sentence, words lie between blanks.", rich_help_panel=CORPUS)
]
Lemmas = Annotated[
    bool, typer.Option("--lemmas", help="Take words to their lemmas: banks to bank.", rich_help_panel=CORPUS)
]
Multiwords = Annotated[
    bool, typer.Option("--multiwords", help="Make one word of two that go together: new_york.", rich_help_panel=CORPUS)
]

# Counts
Memory = Annotated[
    Any,
    typer.Option(parser=in_bytes, metavar="SIZE", help="Memory to stay below, such as 4G.", rich_help_panel=COUNTS),
]
