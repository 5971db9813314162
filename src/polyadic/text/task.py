"""``polyadic corpus``, ``lines`` and ``check``: encode text, search it, and verify written folders."""

from __future__ import annotations

import contextlib
import dataclasses
import glob
import os
import re
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polyadic.core.errors import InputError, counted, meant, named
from polyadic.core.files import check_replaceable, check_whole, read_meta
from polyadic.core.progress import note
from polyadic.core.settings import Count, File, Help, Metavar, Natural, Out, Repeated, Seed, Threads
from polyadic.core.streams import text_lines
from polyadic.interface import errors, output
from polyadic.interface.run import Incomplete, Saved
from polyadic.interface.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polyadic.text.concordance import Concordance, ConcordanceLine
    from polyadic.text.pieces import Reading
    from polyadic.text.store import TextStore
    from polyadic.text.tokens import Tokenizer

TASK = Task("text", "Encode text, search it, and verify what was written.")
READING = "polyadic.text.pieces:Reading"  # settings for reading files
Docs = Annotated[
    str,
    Help("Folder or glob pattern of files with one document each, file, or table (see --documents)."),
    Metavar("DOCS"),
]
Sources = Annotated[
    list[str],
    Metavar("SOURCE"),
    Help(
        "Files, folders, globs or URLs of text, tables, web pages, books or mail (also .gz .bz2 .xz .zst), or - for"
        " standard input."
    ),
]
CorpusFolder = Annotated[Path, Metavar("CORPUS"), Help("Folder created by polyadic corpus.")]
CorpusOrText = Annotated[
    str,
    Metavar("CORPUS"),
    Help("Folder created by polyadic corpus, or a text, from which a corpus is built once and saved beside it."),
]
Where = Annotated[list[str], Metavar("FIELD=VALUE"), Repeated()]
OWN = ("document", "left", "word", "right")  # columns of a table of lines besides the fields of documents
AROUND = 60  # characters shown on either side of a word on a terminal


def source(sources: Sequence[str]) -> Any:
    """Return a single source unchanged, and several sources as a list of paths."""
    from polyadic.core.urls import URL, is_url

    return sources[0] if len(sources) == 1 else [URL(each) if is_url(each) else Path(each) for each in sources]


def nothing_more(_: dict[str, Any]) -> None:
    """Print nothing, because the result of each step has already been printed."""


def corpus_in(place: str) -> TextStore | None:
    """Open a corpus folder, or the corpus in the folder of trained vectors or of ``polyadic explore``."""
    from polyadic.text.store import KIND, TextStore

    for folder in (Path(place), Path(place) / "corpus"):
        if (folder / "meta.json").is_file() and read_meta(folder)["kind"] == KIND:
            return TextStore.open(folder)
    return None


def text_of(place: str, reading: Reading | None = None) -> TextStore:
    """Open a corpus folder, or build a corpus from a text and save it beside the text until the text changes."""
    from polyadic.core.urls import is_url
    from polyadic.text.corpus import Corpus
    from polyadic.text.pieces import Reading
    from polyadic.text.readers import note_documents, stamp
    from polyadic.text.store import TextStore

    path = Path(place)
    if (corpus := corpus_in(place)) is not None:
        return corpus
    reading = reading or Reading()
    how = dataclasses.asdict(reading)
    settings: dict[str, Any] = {"min_count": 1, **how}
    if is_url(place) or not path.exists():  # also standard input and patterns
        note_documents(place, reading)
        return Corpus.build(place, **settings)
    path = path.absolute()
    stem = path.parent / (path.name.split(".")[0] or path.name)
    places = dict.fromkeys(path.parent / f"{each.name}-corpus" for each in (stem, path))
    made = {kept: read_meta(kept).get("settings", {}) for kept in places if (kept / "meta.json").is_file()}
    for kept, settings_of in made.items():
        if settings_of.get("source") == stamp(place) and all(settings_of.get(key) == how[key] for key in how):
            with contextlib.suppress(InputError):  # of an earlier version
                return TextStore.open(kept)
    alike = {path, *map(Path, glob.glob(f"{glob.escape(str(stem))}.*")), *([stem] if stem.exists() else [])}  # noqa: PTH207
    kept = [*places][0 if len(alike) == 1 else -1]  # a.txt and a.txt.gz have the same stem
    if kept in made and (made[kept].get("min_count") != 1 or made[kept].get("stop_words")):
        raise InputError(
            f"{kept} was not built from {place} as it is now; give the corpus folder instead, or delete it"
        )
    note_documents(place, reading)
    if not os.access(kept.parent, os.W_OK):
        note(f"the folder {kept.parent} is read-only, so the corpus is not saved")
        return Corpus.build(place, **settings)
    built = Corpus.build(place, kept, overwrite=True, **settings)
    sizes = f"{counted(len(built.text), 'word')}, {counted(built.sizes['documents'], 'document')}"
    note(f"{sizes}; wrote {kept}, which later commands use")
    return built


def values_of(where: Sequence[str] | None) -> dict[str, str]:
    """Return the fields and values of options of the form FIELD=VALUE."""
    fields = {}
    for each in where or ():
        name, sign, value = each.partition("=")
        if not sign or not name:
            raise InputError(f"--where must have the form FIELD=VALUE, such as year=1813; got {each!r}")
        fields[name] = value
    return fields


@TASK.verb(
    example="polyadic lines holmes goose --sort right",
    settings={"reading": READING},
    options=(
        *("width", "either", "sort", "where", "context", "sample", "match_case", "ignore_diacritics", "top", "csv"),
        *("queries", "field", "documents", "include"),
    ),
)
def lines(
    corpus: CorpusOrText,
    words: Annotated[list[str], Metavar("QUERY")] | None = None,
    *,
    reading: Reading,
    width: Natural | None = None,
    either: bool = False,
    sort: Literal["document", "left", "right", "relevance"] = "document",
    where: Where | None = None,
    context: Natural | None = None,
    sample: Count | None = None,
    match_case: bool = False,
    ignore_diacritics: bool = False,
    start: Natural = 0,
    top: Count | None = None,
    queries: File | None = None,
    csv: File | None = None,
    seed: Seed = 0,
    force: bool = False,
) -> dict[str, Any] | None:
    """Print a concordance: a line for each match of a query, with its context and its document.

    Parameters
    ----------
    words
        Word or phrase, in which * matches any letters and ? one letter, such as '*ing', or query in CQL, such as
        '[lemma="go"] []{0,2} "home"'. With several queries: matches of the first in sentences that match all.
    width
        Maximum number of other words between the matches of several queries (default: anywhere in the sentence).
    either
        Print the matches of every query (default: those of the first query in sentences that match all).
    sort
        Order of the lines: as in the text (document), by the context to the left or right (left, right), or by BM25
        score of the sentence (relevance).
    where
        Search only documents in which a metadata field has the given value; can be repeated.
    context
        Number of words of context on either side (default: the whole sentence).
    sample
        Number of lines to draw at random.
    match_case
        Match case in plain queries.
    ignore_diacritics
        Ignore diacritics in plain queries, so that cafe finds café.
    start
        Number of concordance lines to skip.
    top
        Maximum number of concordance lines to print (default: all).
    queries
        File with a query on each line; the matches of every query are printed.
    csv
        CSV file for the lines with all metadata fields of the documents; - writes to standard output.
    seed
        Random seed for the sample.
    """
    from polyadic.core.frames import field_name, records

    if not words and queries is None:
        raise InputError("give a word, a phrase or a query to search for")
    words = list(words or ())
    text = text_of(corpus, reading).lines
    fields = values_of(where)
    output.check_file(csv, force=force)
    how: dict[str, Any] = {"where": fields, "case": match_case, "diacritics": not ignore_diacritics}
    if queries is not None:
        listed = [line for line in map(str.strip, text_lines(str(queries))) if line]
        absent = [query for query in listed if not text.count(query, **how)]
        if absent:
            errors.say(f"{len(absent)} of {len(listed)} queries have no match: {named(absent, 10)}", "note")
        words, either = [*words, *listed], True
    found = text.find(
        *words, width=width, either=either, sort=sort, start=start, top=top, context=context, sample=sample,
        seed=seed or 0, **how,
    )  # fmt: skip
    if not found.count or start >= found.count:
        errors.say(nothing_found(text, words, fields, start if found.count else 0, either=either), "note")
    if errors.in_json():
        rows: list[dict[str, Any]] = [{**output.line(line), "places": line.places} for line in found]
        return {"count": found.count, "lines": rows}
    if csv is not None:
        names = [*OWN, *(field_name(name, OWN) for name in text.fields)]
        table = ([record.get(name, "") for name in names] for record in records(found))
        output.write_lines((output.csv_line(*row) for row in chain([names], table)), csv)
    else:
        _print_lines(found)
    return None


def nothing_found(text: Concordance, words: Sequence[str], fields: dict[str, str], start: int, *, either: bool) -> str:
    """Return why a query has no match, such as a word that does not occur in the text."""
    said = f"no match for {(' or ' if either else ' and ').join(map(repr, words))}"
    said += f" in documents with {' and '.join(f'{name}={value}' for name, value in fields.items())}" * bool(fields)
    if start:
        return said + f" from line {start + 1:,} on"
    for word in words:
        parts = [part for part in word.split() if re.search(r"\w", part)]
        if re.search(r'[\[\]"*?]', word):
            continue
        for part in parts:
            if not text.count(part):
                return f"{said}; {part!r} does not occur in the text{meant(part.lower(), text.text.words)}"
    return said


def _print_lines(found: Iterator[ConcordanceLine]) -> None:
    """Print concordance lines as they are found: aligned at the word on a terminal, otherwise separated by tabs."""
    from polyadic.text.readers import name_of_document

    for line in found:
        name = name_of_document(line.fields) or str(line.document + 1)
        if sys.stdout.isatty():
            left, right = line.left[-AROUND:].rjust(AROUND), line.right[:AROUND].ljust(AROUND)
            typer.echo(left + typer.style(line.word, bold=True) + right + "  " + typer.style(name, dim=True))
        else:
            typer.echo(f"{name}\t{line.left}\t{line.word}\t{line.right}")


@TASK.verb(
    example="polyadic corpus holmes --out corpus --min-count 5",
    settings={"reading": READING, "tokenizer": "polyadic.text.tokens:Tokenizer"},
    options=("min_count", "max_size", "language", "stop_words", "format", "field", "documents", "include"),
    show=nothing_more,
    distributed=True,
)
def corpus(
    sources: Sources,
    reading: Reading,
    tokenizer: Tokenizer,
    *,
    out: Out,
    min_count: Count = 10,
    max_size: Count | None = None,
    language: str = "auto",
    stop_words: str = "language",
    tokenised: bool = False,
    multiwords: bool = False,
    tagger: File | None = None,
    jobs: Threads = None,
    force: bool = False,
) -> Saved:
    """Encode text as a corpus folder, which other commands can read quickly.

    Parameters
    ----------
    min_count
        Minimum frequency of a word.
    max_size
        Maximum size of the vocabulary (default: unlimited).
    language
        Language code of the text, such as de; auto detects it.
    stop_words
        Stop words to remove: language (the list for the language of the text), auto (words that occur throughout the
        text), none, the name of a language such as german, or a file.
    tokenised
        Read pre-tokenized text, with one sentence per line and spaces between words.
    multiwords
        Join two-word collocations, such as new_york.
    tagger
        Tagger written by polyadic tag train; its parts of speech and lemmas can be searched.
    jobs
        Number of processes (default: all cores).
    """
    from polyadic.core.serialization import load
    from polyadic.text.corpus import Corpus
    from polyadic.text.readers import survey
    from polyadic.text.store import KIND
    from polyadic.text.tokens import tokenizer_of

    texts = source(sources)
    check_replaceable(out, KIND, overwrite=force)
    tokenize = tokenizer_of(tokenizer, tokenised=tokenised)
    if tokenised:
        reading = dataclasses.replace(reading, wrapped=False)
    steps = output.Steps()
    with steps("text") as facts:
        facts.update(survey(texts, reading))
    with steps("corpus") as facts:
        built = Corpus.build(
            texts,
            out,
            min_count=min_count,
            max_size=max_size,
            language=language,
            stop_words=stop_words,
            tokenizer=tokenize,
            multiwords=multiwords,
            tagger=None if tagger is None else load(tagger),
            jobs=jobs,
            overwrite=force,
            **dataclasses.asdict(reading),
        )
        facts.update(built.sizes)
    saved = Saved(out=str(out), steps=steps.done)
    saved.next = "count", out, "--out", "counts"
    return saved


@TASK.verb(
    example="polyadic check vectors work",
    show=lambda result: output.table(["undamaged folder", "files"], list(result["whole"].items())),
)
def check(folders: Annotated[list[str], Metavar("FOLDER")]) -> dict[str, Any]:
    """Verify the checksums of all files in folders written by polyadic.

    Parameters
    ----------
    folders
        Folders of vectors, models, corpora or counts, or folders that contain such folders.
    """
    checked, damaged = {}, []
    for folder in folders:
        if not Path(folder).exists():
            raise InputError(f"there is no folder {folder}")
        ours = sorted(path.parent for path in Path(folder).rglob("meta.json"))
        if not ours:
            raise InputError(f"{Path(folder)} contains no polyadic output")
        for each in ours:
            try:
                checked[str(each)] = check_whole(each)
            except InputError as error:
                damaged.append(str(each))
                errors.say(str(error))
    result = {"whole": checked, "damaged": damaged}
    return Incomplete(result) if damaged else result
