"""``polyadic corpus``, ``lines`` and ``check``: encode text, search it, and verify written folders."""

from __future__ import annotations

import dataclasses
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from polyadic.core.errors import InputError
from polyadic.core.files import check_replaceable, check_whole
from polyadic.core.settings import Count, File, Help, Metavar, Natural, Out, Repeated, Threads
from polyadic.interface import errors, output
from polyadic.interface.run import Incomplete, Saved
from polyadic.interface.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polyadic.text.lines import ConcordanceLine
    from polyadic.text.pieces import Reading

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
OWN = ("document", "left", "word", "right")  # columns of a table of lines besides the fields of documents
AROUND = 60  # characters shown on either side of a word on a terminal


def source(sources: Sequence[str]) -> Any:
    """Return a single source unchanged, and several sources as a list of paths."""
    from polyadic.core.urls import URL, is_url

    return sources[0] if len(sources) == 1 else [URL(each) if is_url(each) else Path(each) for each in sources]


def nothing_more(_: dict[str, Any]) -> None:
    """Print nothing, because the result of each step has already been printed."""


@TASK.verb(example="polyadic lines work/corpus case --sort right")
def lines(
    corpus: CorpusFolder,
    words: Annotated[list[str], Metavar("WORD")],
    *,
    width: Natural | None = None,
    either: bool = False,
    sort: Literal["document", "left", "right", "relevance"] = "document",
    where: Annotated[list[str], Metavar("FIELD=VALUE"), Repeated()] | None = None,
    start: Natural = 0,
    top: Count | None = None,
    csv: File | None = None,
    force: bool = False,
) -> dict[str, Any] | None:
    """Print a concordance: the sentences that contain the given words, each with its document.

    The corpus must be made with --keep-text.

    Parameters
    ----------
    words
        Words to search for in the same sentence; 'two words' is a phrase, and 'wo*' matches words that begin with wo.
    width
        Maximum number of other words between the search words (default: anywhere in the sentence).
    either
        Find sentences that contain any of the words instead of all words.
    sort
        Order of the lines: as in the text (document), by the context to the left or right of the first word (left,
        right), or by BM25 score (relevance).
    where
        Search only documents in which a metadata field has the given value; can be repeated.
    start
        Number of concordance lines to skip.
    top
        Maximum number of concordance lines to print (default: all).
    csv
        CSV file to write, with all metadata fields of the documents; - writes to standard output.
    """
    from polyadic.text.lines import Lines

    text = Lines(corpus)
    fields = {}
    for each in where or ():
        name, sign, value = each.partition("=")
        if not sign or not name:
            raise InputError(f"--where must have the form FIELD=VALUE, such as year=1813; got {each!r}")
        fields[name] = value
    out = None if csv is None or str(csv) == "-" else csv
    output.check_file(out, force=force)
    found = text.find(*words, width=width, either=either, sort=sort, where=fields, start=start, top=top)
    first = next(found, None)
    if first is None:
        if unknown := fields.keys() - set(text.fields):
            known = f"have the fields {', '.join(text.fields)}" if text.fields else "have no fields"
            raise InputError(f"no document has the field {min(unknown)!r}; the documents of this corpus {known}")
        errors.say(
            f"no line contains {(' or ' if either else ' and ').join(map(repr, words))}"
            + (f" in documents with {' and '.join(where)}" if where else "")
            + (" from there on" if start else ""),
            "note",
        )
    found = chain([] if first is None else [first], found)
    if errors.in_json():
        rows: list[dict[str, Any]] = [{**output.line(line), "places": line.places} for line in found]
        return {"count": text.count(*words, width=width, either=either, where=fields), "lines": rows}
    if csv is not None:
        _write_csv(found, text.fields, out)
    else:
        _print_lines(found)
    return None


def _write_csv(found: Iterator[ConcordanceLine], fields: Any, out: Path | None) -> None:
    """Write concordance lines and the metadata of the documents as CSV."""
    from polyadic.core.frames import field_name, records

    names = [*OWN, *(field_name(name, OWN) for name in fields)]
    rows = ([record.get(name, "") for name in names] for record in records(found))
    output.write_lines((output.csv_line(*row) for row in chain([names], rows)), out)


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
    settings={"reading": READING},
    options=("min_count", "max_size", "language", "stop_words", "format", "field", "keep_text"),
    show=nothing_more,
    distributed=True,
)
def corpus(
    sources: Sources,
    reading: Reading,
    *,
    out: Out,
    min_count: Count = 10,
    max_size: Count | None = None,
    language: str = "auto",
    stop_words: str = "language",
    digits: Literal["keep", "drop", "zero"] = "keep",
    punctuation: Literal["keep", "drop"] = "drop",
    tokenised: bool = False,
    lemmas: bool = False,
    multiwords: bool = False,
    keep_text: bool = False,
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
    digits
        Keep numbers, drop them, or write each digit as 0.
    punctuation
        Keep punctuation marks as words, or drop them.
    tokenised
        Read pre-tokenized text, with one sentence per line and spaces between words.
    lemmas
        Replace words by their lemmas: banks by bank.
    multiwords
        Join two-word collocations, such as new_york.
    keep_text
        Also store the original sentences, as required by polyadic lines.
    jobs
        Number of processes (default: all cores).
    """
    from polyadic.text.corpus import KIND, Corpus
    from polyadic.text.readers import survey
    from polyadic.text.tokens import tokenizer_of

    texts = source(sources)
    check_replaceable(out, KIND, overwrite=force)
    tokenizer = tokenizer_of(tokenised=tokenised, lemmas=lemmas, digits=digits, punctuation=punctuation)
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
            tokenizer=tokenizer,
            multiwords=multiwords,
            keep_text=keep_text,
            jobs=jobs,
            overwrite=force,
            **dataclasses.asdict(reading),
        )
        facts.update(built.sizes)
    saved = Saved(out=str(out), steps=steps.done)
    saved.next = "count", out, "--out", "counts"
    return saved


def _print_checked(result: dict[str, Any]) -> None:
    """Print a table of the undamaged folders and the number of files in each folder."""
    output.table(["undamaged folder", "files"], list(result["whole"].items()))


@TASK.verb(example="polyadic check vectors work", show=_print_checked)
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
