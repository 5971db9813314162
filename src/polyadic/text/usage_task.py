"""``polyadic words``, ``ngrams``, ``collocates``, ``keywords``, ``diversity``, ``trends`` and ``barcode``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from polyadic.core.errors import InputError, counted
from polyadic.core.settings import Count, File, Help, Metavar, Natural, Picture, Positive, Repeated, Share, Within
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
Where = Annotated[
    list[str],
    Metavar("FIELD=VALUE"),
    Repeated(),
    Help("Search only documents in which a metadata field has the given value; can be repeated."),
]
Top = Annotated[Count, Help("Maximum number of rows (default: 50, and all with --csv).")]
Csv = Annotated[File, Help("CSV file to write; - writes to standard output.")]
Attribute = Annotated[
    str, Help("Values to count: lc (words in lower case), word (as written), lemma, or another one, such as pos.")
]
Sort = Literal["frequency", "range", "dp", "alphabetical", "reversed"]
SETTINGS = {"reading": READING}


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


def _answer(rows: Sequence[Any], csv: Path | None, **more: Any) -> dict[str, Any] | None:
    """Return rows for printing and JSON, or write them as CSV."""
    records = [row if isinstance(row, dict) else row._asdict() for row in rows]
    if csv is None or errors.in_json():
        return {"rows": records, **more}
    output.write_csv(records, csv)
    return None


def _asked(
    corpus: str, reading: Reading, where: Sequence[str] | None, top: int | None, csv: Path | None, *, force: bool
) -> tuple[TextStore, dict[str, str], int | None]:
    """Return the text, the fields to search and the number of rows, after the check that the file can be written."""
    fields = values_of(where)
    output.check_file(csv, force=force)
    return text_of(corpus, reading), fields, TOP if top is None and csv is None else top


def _note(text: TextStore, rows: Sequence[Any], queries: Sequence[str], fields: dict[str, str], else_: str) -> None:
    """Print why there are no rows: no documents, queries without a match, or a limit."""
    if fields and not text.lines.documents_where(fields).any():
        errors.say(f"no document has {' and '.join(f'{name}={value}' for name, value in fields.items())}", "note")
        return
    absent = [query for query in queries if not text.lines.count(query, where=fields)]
    for query in absent:
        errors.say(nothing_found(text.lines, [query], fields, 0, either=True), "note")
    if not rows and not absent:
        errors.say(else_, "note")


@TASK.verb(
    example="polyadic words holmes --top 20",
    settings=SETTINGS,
    options=("list_", "attribute", "where", "min_count", "sort", "top", "csv", "field"),
    show=_columns(),
)
def words(
    corpus: CorpusOrText,
    query: Query | None = None,
    *,
    reading: Reading,
    list_: File | None = None,
    attribute: Attribute = "lc",
    where: Where | None = None,
    parts: Annotated[int, Within(2)] | None = None,
    min_count: Count = 1,
    sort: Sort = "frequency",
    top: Top | None = None,
    csv: Csv | None = None,
    force: bool = False,
) -> dict[str, Any] | None:
    """List the words of a text: frequency, frequency per million words, and dispersion over documents.

    Parameters
    ----------
    query
        Pattern, such as '*ing', or query in CQL, such as '[pos="NOUN"]', to list only matching words.
    list_
        File of words, phrases or queries to count, one on each line; a note lists entries that do not occur.
    parts
        Number of equal parts of the text over which dispersion is computed (default: over documents).
    min_count
        Minimum frequency.
    sort
        Sort order: frequency, range (number of documents), dispersion DP, alphabetical, or by word endings (reversed).
    """
    text, fields, most = _asked(corpus, reading, where, top, csv, force=force)
    listed = None if list_ is None else [line for line in map(str.strip, text_lines(str(list_))) if line]
    rows = text.word_list(
        query=query, words=listed, attribute=attribute, where=fields, parts=parts, min_count=min_count, sort=sort,
        top=most,
    )  # fmt: skip
    if not rows:
        few = f"no word occurs {counted(min_count, 'time')}; lower --min-count"
        _note(text, rows, [query] if query else [], fields, few)
    return _answer(rows, csv)


@TASK.verb(
    example="polyadic ngrams holmes --size 3",
    settings=SETTINGS,
    options=("size", "attribute", "where", "min_count", "min_range", "sort", "top", "csv", "field"),
    show=_columns(),
)
def ngrams(
    corpus: CorpusOrText,
    query: Query | None = None,
    *,
    reading: Reading,
    size: Annotated[int, Within(1, 20)] = 2,
    attribute: Attribute = "lc",
    where: Where | None = None,
    min_count: Count = 2,
    min_range: Count = 1,
    sort: Sort = "frequency",
    top: Top | None = None,
    csv: Csv | None = None,
    force: bool = False,
) -> dict[str, Any] | None:
    """List the n-grams of a text, or those that contain a query (clusters).

    Parameters
    ----------
    query
        Word, phrase or query that the listed n-grams must contain.
    size
        Number of words of an n-gram; an n-gram does not cross the end of a sentence.
    min_count
        Minimum frequency.
    min_range
        Minimum number of documents that contain the n-gram.
    sort
        Sort order: frequency, range (number of documents), dispersion DP, alphabetical, or by word endings (reversed).
    """
    text, fields, most = _asked(corpus, reading, where, top, csv, force=force)
    rows = text.ngrams(
        size, query=query, attribute=attribute, where=fields, min_count=min_count, min_range=min_range, sort=sort,
        top=most,
    )  # fmt: skip
    if not rows:
        limits = f"occurs {counted(min_count, 'time')}" + f" and in {counted(min_range, 'document')}" * (min_range > 1)
        _note(text, rows, [query] if query else [], fields, f"no sequence of {size} words {limits}; lower --min-count")
    return _answer(rows, csv)


@TASK.verb(
    example="polyadic collocates holmes goose",
    settings=SETTINGS,
    options=("left", "right", "across", "attribute", "where", "min_count", "sort", "positions", "top", "csv", "field"),
    show=_columns(
        "item", "together", "left", "right", "frequency", "log_likelihood", "pmi", "t_score", "log_dice", "delta_p"
    ),
)
def collocates(
    corpus: CorpusOrText,
    query: Query,
    *,
    reading: Reading,
    left: Natural = 5,
    right: Natural = 5,
    across: bool = False,
    attribute: Attribute = "lc",
    where: Where | None = None,
    min_count: Count = 2,
    sort: Literal[
        "log_likelihood", "chi_squared", "pmi", "mi3", "t_score", "z_score", "log_dice", "delta_p", "delta_p_backward",
        "log_ratio", "together", "frequency",
    ] = "log_likelihood",
    positions: bool = False,
    top: Top | None = None,
    csv: Csv | None = None,
    force: bool = False,
) -> dict[str, Any] | None:  # fmt: skip
    """List the collocates of a query with association measures; --json and --csv have all measures.

    Parameters
    ----------
    left
        Number of words to the left of a match.
    right
        Number of words to the right of a match.
    across
        Count collocates across sentence ends, within the document.
    min_count
        Minimum number of occurrences near the matches.
    sort
        Association measure to sort by, or the number of occurrences near the matches (together) or in the text.
    positions
        Show the number of matches that have the collocate at each position, such as L1 and R1.
    """
    text, fields, most = _asked(corpus, reading, where, top, csv, force=force)
    rows = text.collocates(
        query, left=left, right=right, across=across, attribute=attribute, where=fields, min_count=min_count, sort=sort,
        top=most,
    )  # fmt: skip
    if not rows:
        few = f"no word occurs {counted(min_count, 'time')} near {query!r}; lower --min-count"
        _note(text, rows, [query], fields, few)
    names = [*(f"L{k}" for k in range(left, 0, -1)), *(f"R{k}" for k in range(1, right + 1))]
    records = [each._asdict() for each in rows]
    for each in records:
        places = dict(zip(names, each.pop("positions"), strict=True))
        each.update(places if positions or csv or errors.in_json() else {})
    return _answer(records, csv)


@TASK.verb(
    example='polyadic keywords holmes --where "file=07 The Blue Carbuncle.txt"',
    settings=SETTINGS,
    options=("where", "against", "size", "keys", "min_count", "sort", "correction", "max_p", "top", "csv", "field"),
    show=_columns(
        "item", "frequency", "reference_frequency", "range", "reference_range", "log_likelihood", "p_value",
        "log_ratio", "simple_maths",
    ),
)  # fmt: skip
def keywords(
    corpus: CorpusOrText,
    *,
    reading: Reading,
    against: str | None = None,
    where: Where | None = None,
    size: Annotated[int, Within(1, 20)] = 1,
    attribute: Attribute = "lc",
    keys: Literal["positive", "negative", "both"] = "positive",
    min_count: Count = 5,
    sort: Literal[
        "log_likelihood", "log_ratio", "simple_maths", "percent_difference", "text_dispersion"
    ] = "log_likelihood",
    correction: Literal["holm", "benjamini-hochberg"] = "holm",
    max_p: Share | None = None,
    smoothing: Positive = 1.0,
    top: Top | None = None,
    csv: Csv | None = None,
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
    keys
        Items to list: more frequent than in the reference (positive), less frequent (negative), or both.
    min_count
        Minimum frequency in the text (for negative keywords, in the reference).
    sort
        Measure to sort by; text_dispersion is the log-likelihood ratio of the numbers of documents.
    correction
        Correction of the p-values for multiple tests.
    max_p
        Maximum corrected p-value.
    smoothing
        Constant that simple maths adds to both frequencies per million.
    """
    text, fields, most = _asked(corpus, reading, where, top, csv, force=force)
    if against is None and not fields:
        known = f"; the documents have the fields {', '.join(text.lines.fields)}" if text.lines.fields else ""
        raise InputError(f"keywords need a reference: --against OTHER-TEXT, or --where FIELD=VALUE{known}")
    other: Any = None
    if against is not None:
        inside = "=" in against and not Path(against).exists() and against.partition("=")[0] in text.lines.fields
        other = values_of([against]) if inside else text_of(against, reading)
    rows = text.keywords(
        other, n=size, attribute=attribute, where=fields, min_count=min_count, keys=keys, sort=sort,
        correction=correction, max_p=max_p, smoothing=smoothing, top=most,
    )  # fmt: skip
    if not rows:
        limits = f"{counted(min_count, 'time')}" + ("" if max_p is None else f" with a p-value of at most {max_p:g}")
        errors.say(f"no {'' if keys == 'both' else keys + ' '}keyword occurs {limits}", "note")
    return _answer(rows, csv)


@TASK.verb(
    example="polyadic diversity holmes",
    settings=SETTINGS,
    options=("by", "attribute", "where", "window", "top", "csv", "field"),
    show=_columns(),
)
def diversity(
    corpus: CorpusOrText,
    *,
    reading: Reading,
    by: str = "document",
    attribute: Attribute = "lc",
    where: Where | None = None,
    window: Count = 100,
    threshold: Share = 0.72,
    sample: Count = 42,
    top: Top | None = None,
    csv: Csv | None = None,
    force: bool = False,
) -> dict[str, Any] | None:
    """Compute the lexical diversity of each document: type-token ratio, MATTR, MTLD, HD-D, Yule's K.

    Parameters
    ----------
    by
        Unit of the results: document, a metadata field (one row per value), or all (the whole text).
    window
        Window size of MATTR, in words.
    threshold
        Type-token ratio below which MTLD ends a segment (factor).
    sample
        Sample size of HD-D, in words.
    """
    text, fields, most = _asked(corpus, reading, where, top, csv, force=force)
    how: dict[str, Any] = {"attribute": attribute, "where": fields, "window": window, "threshold": threshold}
    found = text.diversity(None if by == "all" else by, **how, sample=sample)
    _note(text, found, [], fields, f"no document with a word has the field {by!r}")
    if most is not None and len(found) > most:
        errors.say(f"the first {most:,} of {len(found):,} parts are shown; --top {len(found)} shows all", "note")
    return _answer(found[:most], csv)


@TASK.verb(
    example="polyadic trends stories.csv goose bird --field text --by story",
    settings=SETTINGS,
    options=("where", "csv", "field"),
    show=_columns(),
)
def trends(
    corpus: CorpusOrText,
    queries: Queries,
    *,
    reading: Reading,
    by: str,
    where: Where | None = None,
    csv: Csv | None = None,
    force: bool = False,
) -> dict[str, Any] | None:
    """Count queries by value of a metadata field, such as a year: frequency per million words of each value.

    Parameters
    ----------
    by
        Metadata field whose values are compared; numbers are sorted by size and dates by time.
    """
    text, fields, _ = _asked(corpus, reading, where, None, csv, force=force)
    rows = text.trends(queries, by, where=fields)
    _note(text, rows, queries, fields, f"no document that is searched has the field {by!r}")
    if by in text.lines.fields and (left := sum(by not in each for each in text.fields or ())):
        errors.say(f"{left:,} documents have no field {by!r} and are left out", "note")
    return _answer(rows, csv)


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


@TASK.verb(
    example="polyadic barcode holmes goose --picture goose.png",
    settings=SETTINGS,
    options=("by", "where", "picture", "top", "csv", "field"),
    show=_print_barcode,
)
def barcode(
    corpus: CorpusOrText,
    queries: Queries,
    *,
    reading: Reading,
    by: str = "document",
    where: Where | None = None,
    picture: Picture = None,
    top: Top | None = None,
    csv: Csv | None = None,
    force: bool = False,
) -> dict[str, Any] | None:
    """Draw a dispersion plot: the positions of the matches of queries in each document; --csv has all positions.

    Parameters
    ----------
    by
        Unit of a row: document, or a metadata field (one row per value).
    """
    from polyadic.core.frames import records
    from polyadic.text.usage import fullest

    output.check_picture(picture)
    text, fields, most = _asked(corpus, reading, where, top, csv, force=force)
    found = text.occurrences(queries, by, where=fields)
    _note(text, found, queries, fields, "")
    if most is not None and len(found) > most:
        errors.say(f"the {most:,} of {len(found):,} parts with the most matches are shown", "note")
        found = fullest(found, most)
    if picture is not None and found:
        from polyadic.plots import barcode as plotted
        from polyadic.plots.axes import save_figure

        save_figure(plotted(found), picture)
    if csv is not None and not errors.in_json():
        return _answer([*records(found)], csv)
    return {"rows": [{**each._asdict(), "bins": each.binned(CELLS)} for each in found]}
