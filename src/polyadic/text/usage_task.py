"""``polyadic words``, ``ngrams``, ``collocates``, ``keywords``, ``diversity``, ``trends`` and ``barcode``.

Their options are the parameters of the methods of :class:`polyadic.text.usage.Usage`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from polyadic.core.errors import InputError, counted
from polyadic.core.settings import Count, File, Help, Metavar, Picture, Repeated, Within
from polyadic.core.streams import text_lines
from polyadic.interface import errors, output
from polyadic.interface.task import Task
from polyadic.text.task import READING, CorpusOrText, nothing_found, text_of, values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyadic.text.pieces import Reading
    from polyadic.text.store import TextStore

TASK = Task("usage", "Count how words are used in a text.")
TOP = 50  # rows by default
BARS, CELLS = "·▁▂▃▄▅▆▇█", 50
"""Characters for the number of matches in a part of a document, and the number of parts."""
Query = Annotated[str, Metavar("QUERY"), Help("Word, phrase, pattern such as '*ing', or query in CQL.")]
Queries = Annotated[list[str], Metavar("QUERY"), Help("Words, phrases, patterns such as '*ing', or queries in CQL.")]
Size = Annotated[int, Within(1, 20)]


@dataclass
class Rows:
    """Documents to search, and rows to print or write.

    Parameters
    ----------
    where
        Search only documents in which a metadata field has the given value; can be repeated.
    top
        Maximum number of rows (default: 50, and all with --csv).
    csv
        CSV file to write; - writes to standard output.
    """

    where: Annotated[list[str], Metavar("FIELD=VALUE"), Repeated()] | None = None
    top: Count | None = None
    csv: File | None = None

    def open(self, corpus: str, reading: Reading, how: dict[str, Any], *, force: bool) -> TextStore:
        """Check the CSV file, add ``where`` and ``top`` to the arguments of the method, and return the text."""
        self.fields = how["where"] = values_of(self.where)
        output.check_file(self.csv, force=force)
        self.top = TOP if self.top is None and self.csv is None else self.top
        if "top" in how:
            how["top"] = self.top
        self.text = text_of(corpus, reading)
        return self.text

    def note(self, rows: Sequence[Any], queries: Sequence[str | None], else_: str) -> None:
        """Print why there are no rows: no documents, queries without a match, or a limit."""
        fields, lines = self.fields, self.text.lines
        if fields and not lines.documents_where(fields).any():
            errors.say(f"no document has {' and '.join(f'{name}={value}' for name, value in fields.items())}", "note")
            return
        absent = [query for query in queries if query and not lines.count(query, where=fields)]
        for query in absent:
            errors.say(nothing_found(lines, [query], fields, 0, either=True), "note")
        if not rows and not absent:
            errors.say(else_, "note")

    @property
    def for_people(self) -> bool:
        """Whether rows are printed as a table."""
        return self.csv is None and not errors.in_json()

    def answer(self, rows: Sequence[Any]) -> dict[str, Any] | None:
        """Return rows for printing and JSON, or write them as CSV."""
        records = [row if isinstance(row, dict) else row._asdict() for row in rows]
        if self.csv is None or errors.in_json():
            return {"rows": records}
        output.write_csv(records, self.csv)
        return None


def _columns(*names: str) -> Callable[[dict[str, Any]], None]:
    """Return a function that prints the named columns of rows (default: all), and any counts by position."""

    def show(result: dict[str, Any]) -> None:
        if rows := result["rows"]:
            shown = [*names, *(name for name in rows[0] if not names or re.fullmatch(r"[LR]\d+", name))]
            table = [[_shown(name, row[name]) for name in shown] for row in rows]
            output.table([*map(output.heading, shown)], table)

    return show


def _shown(name: str, value: Any) -> Any:
    """Return a value as it is printed: large relative frequencies without decimals, and p-values with two digits."""
    if name.endswith("per_million") and value >= 100:
        return round(value)
    if value != value:  # noqa: PLR0124 # not a number
        return None
    return f"{value:.2g}" if name == "p_value" else value


def _print_barcode(result: dict[str, Any]) -> None:
    """Print a bar for each document, in which higher characters mean more matches."""
    most = max((max(row["bins"]) for row in result["rows"]), default=1)
    table = [
        (row["part"], row["query"], row["frequency"], _shown("per_million", row["per_million"]),
         "".join(BARS[-(-n * (len(BARS) - 1) // most)] for n in row["bins"]))
        for row in result["rows"]
    ]  # fmt: skip
    if table:
        output.table(["part", "query", "frequency", "per million", "from start to end"], table)


def _verb(
    method: str,
    example: str,
    *options: str,
    show: Callable[[dict[str, Any]], None] | None = None,
    fixed: tuple[str, ...] = ("n", "words"),
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that makes a function a command, with the options of a method of Usage."""
    settings = {"reading": READING, "how": f"polyadic.text.usage:Usage.{method}", "rows": f"{__name__}:Rows"}
    return TASK.verb(
        example=example, settings=settings, options=(*options, "csv", "field"), show=show or _columns(), fixed=fixed
    )


@_verb(
    "word_list", "polyadic words holmes --top 20", "list_", "attribute", "where", "min_count", "sort", "top",
)  # fmt: skip
def words(
    corpus: CorpusOrText,
    query: Query | None = None,
    *,
    reading: Reading,
    rows: Rows,
    how: dict[str, Any],
    list_: File | None = None,
    force: bool = False,
) -> dict[str, Any] | None:
    """List the words of a text: frequency, frequency per million words, and dispersion over documents.

    Parameters
    ----------
    query
        Pattern, such as '*ing', or query in CQL, such as '[pos="NOUN"]', to list only matching words.
    list_
        File of words, phrases or queries to count, one on each line; a note lists entries that do not occur.
    """
    text = rows.open(corpus, reading, how, force=force)
    if list_ is not None:
        how["words"] = [line for line in map(str.strip, text_lines(str(list_))) if line]
    found = text.word_list(**how | {"query": query})
    if not found:
        rows.note(found, [query], f"no word occurs at least {counted(how['min_count'], 'time')}; lower --min-count")
    return rows.answer(found)


@_verb(
    "ngrams", "polyadic ngrams holmes --size 3",
    *("size", "attribute", "where", "min_count", "min_range", "sort", "top"),
)  # fmt: skip
def ngrams(
    corpus: CorpusOrText,
    query: Query | None = None,
    *,
    reading: Reading,
    rows: Rows,
    how: dict[str, Any],
    size: Size = 2,
    force: bool = False,
) -> dict[str, Any] | None:
    """List the n-grams of a text, or those that contain a query (clusters).

    Parameters
    ----------
    query
        Word, phrase or query that the listed n-grams must contain.
    size
        Number of words of an n-gram; an n-gram does not cross the end of a sentence.
    """
    text = rows.open(corpus, reading, how, force=force)
    found = text.ngrams(size, **how | {"query": query})
    if not found:
        times, range_ = counted(how["min_count"], "time"), how["min_range"]
        limits = f"occurs at least {times}" + f" and in at least {counted(range_, 'document')}" * (range_ > 1)
        rows.note(found, [query], f"no sequence of {size} words {limits}; lower --min-count")
    return rows.answer(found)


@_verb(
    "collocates", "polyadic collocates holmes goose",
    *("left", "right", "across", "attribute", "where", "min_count", "sort", "positions", "top"),
    show=_columns(
        "item", "together", "left", "right", "frequency", "log_likelihood", "pmi", "t_score", "log_dice", "delta_p"
    ),
)  # fmt: skip
def collocates(
    corpus: CorpusOrText,
    query: Query,
    *,
    reading: Reading,
    rows: Rows,
    how: dict[str, Any],
    positions: bool = False,
    force: bool = False,
) -> dict[str, Any] | None:
    """List the collocates of a query with association measures; --json and --csv have all measures.

    Parameters
    ----------
    positions
        Show the number of matches that have the collocate at each position, such as L1 and R1.
    """
    text = rows.open(corpus, reading, how, force=force)
    found = [each._asdict() for each in text.collocates(query, **how)]
    if not found:
        few = f"no word occurs at least {counted(how['min_count'], 'time')} near {query!r}; lower --min-count"
        rows.note(found, [query], few)
    names = [*(f"L{k}" for k in range(how["left"], 0, -1)), *(f"R{k}" for k in range(1, how["right"] + 1))]
    for each in found:
        places = dict(zip(names, each.pop("positions"), strict=True))
        each.update({} if rows.for_people and not positions else places)
    return rows.answer(found)


@_verb(
    "keywords", 'polyadic keywords holmes --where "file=07 The Blue Carbuncle.txt"',
    *("where", "against", "size", "keys", "min_count", "sort", "correction", "max_p", "top"),
    show=_columns(
        "item", "frequency", "reference_frequency", "range", "reference_range", "log_likelihood", "p_value",
        "log_ratio", "simple_maths",
    ),
)  # fmt: skip
def keywords(
    corpus: CorpusOrText,
    *,
    reading: Reading,
    rows: Rows,
    how: dict[str, Any],
    against: str | None = None,
    size: Size = 1,
    force: bool = False,
) -> dict[str, Any] | None:
    """List the words that are more frequent in a text than in a reference text; --json and --csv have all measures.

    Parameters
    ----------
    against
        Reference: another text or corpus, or FIELD=VALUE of documents of the same text (default: all other documents).
    where
        Compare only documents in which a metadata field has the given value; can be repeated.
    size
        Number of words per item; 2 compares bigrams.
    """
    text = rows.open(corpus, reading, how, force=force)
    fields = text.lines.fields
    if against is None and not rows.fields:
        known = f"; the documents have the fields {', '.join(fields)}" if fields else ""
        raise InputError(f"keywords need a reference: --against OTHER-TEXT, or --where FIELD=VALUE{known}")
    other: Any = None
    if against is not None:
        inside = "=" in against and not Path(against).exists() and against.partition("=")[0] in fields
        other = values_of([against]) if inside else text_of(against, reading)
    found = text.keywords(other, n=size, **how)
    if not found:
        sign, most = "" if how["keys"] == "both" else how["keys"] + " ", how["max_p"]
        limits = counted(how["min_count"], "time") + ("" if most is None else f" with a p-value of at most {most:g}")
        errors.say(f"no {sign}keyword occurs at least {limits}", "note")
    return rows.answer(found)


@_verb("diversity", "polyadic diversity holmes", "by", "attribute", "where", "window", "top")
def diversity(
    corpus: CorpusOrText,
    *,
    reading: Reading,
    rows: Rows,
    how: dict[str, Any],
    by: str = "document",
    force: bool = False,
) -> dict[str, Any] | None:
    """Compute the lexical diversity of each document: type-token ratio, MATTR, MTLD, HD-D, Yule's K.

    Parameters
    ----------
    by
        Unit of the results: document, a metadata field (one row per value), or all (the whole text).
    """
    text = rows.open(corpus, reading, how, force=force)
    found = text.diversity(None if by == "all" else by, **how)
    rows.note(found, [], f"no document that contains words has the field {by!r}")
    if rows.top is not None and len(found) > rows.top:
        errors.say(f"the first {rows.top:,} of {len(found):,} parts are shown; --top {len(found)} shows all", "note")
    return rows.answer(found[: rows.top])


@_verb("trends", "polyadic trends stories.csv goose bird --field text --by story", "by", "where", fixed=("top",))
def trends(
    corpus: CorpusOrText, queries: Queries, *, reading: Reading, rows: Rows, how: dict[str, Any], force: bool = False
) -> dict[str, Any] | None:
    """Count queries by value of a metadata field, such as a year: frequency per million words of each value.

    Parameters
    ----------
    by
        Metadata field whose values are compared; numbers are sorted by size and dates by time.
    """
    text, by = rows.open(corpus, reading, how, force=force), how["by"]
    found = text.trends(queries, **how)
    rows.note(found, queries, f"no document that is searched has the field {by!r}")
    if by in text.lines.fields and (left := sum(by not in each for each in text.fields or ())):
        errors.say(f"{left:,} documents have no field {by!r} and are left out", "note")
    return rows.answer(found)


@_verb(
    "occurrences", "polyadic barcode holmes goose --picture goose.png", "by", "where", "picture", "top",
    show=_print_barcode,
)  # fmt: skip
def barcode(
    corpus: CorpusOrText,
    queries: Queries,
    *,
    reading: Reading,
    rows: Rows,
    how: dict[str, Any],
    picture: Picture = None,
    force: bool = False,
) -> dict[str, Any] | None:
    """Draw a dispersion plot: the positions of the matches of queries in each document; --csv has all positions."""
    from polyadic.core.frames import records
    from polyadic.text.usage import fullest

    output.check_picture(picture)
    found = rows.open(corpus, reading, how, force=force).occurrences(queries, **how)
    rows.note(found, queries, "")
    if rows.top is not None and len(found) > rows.top:
        errors.say(f"the {rows.top:,} of {len(found):,} parts with the most matches are shown", "note")
        found = fullest(found, rows.top)
    if picture is not None and found:
        from polyadic.plots import barcode as plotted
        from polyadic.plots.axes import save_figure

        save_figure(plotted(found), picture)
    if rows.csv is not None and not errors.in_json():
        return rows.answer([*records(found)])
    return {"rows": [{**each._asdict(), "bins": each.binned(CELLS)} for each in found]}
