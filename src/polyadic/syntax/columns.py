"""Reader of tagged sentences in column format, with one token per line, as in the CoNLL shared tasks."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, dropwhile, islice

from polyadic.core.annotations import Path
from polyadic.core.errors import InputError
from polyadic.core.streams import name_of
from polyadic.syntax.trees import numbered_sentences

Columns = tuple[tuple[str, ...], ...]
_BLANKS = re.compile(r"[ \t]+")
BOUNDARY = "-DOCSTART-"  # first column of the line before a document in CoNLL-2003
FIRST = 1000  # sentences that determine the number of columns and the tags of a file


def read_columns(path: Path, *, columns: int | None = None) -> Iterator[Columns]:
    r"""Yield the columns of each sentence in a file, such as words, parts of speech and chunk tags, as tuples of str.

    The file is in UTF-8, compressed if its suffix says so; ``"-"`` is standard input. Columns are separated by spaces
    or tabs; a no-break space is part of a word. Lines ``-DOCSTART-`` are document boundaries. A line before the first
    word of a sentence that begins with ``#`` is a comment, unless it has as many columns as the other lines and the
    last column of one of them.

    InputError is raised if the file cannot be read, or a line does not have the given number of ``columns``, by default
    the most frequent one in the first 1,000 sentences; the message names the line.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "two.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("He PRP B-NP\nreckons VBZ B-VP\n\nYes UH O\n")
    >>> list(read_columns(path))
    [(('He', 'reckons'), ('PRP', 'VBZ'), ('B-NP', 'B-VP')), (('Yes',), ('UH',), ('O',))]
    """
    return (rows for _, rows in headed_columns(path, columns=columns) if rows)


def headed_columns(path: Path, *, columns: int | None = None) -> Iterator[tuple[list[str], Columns]]:
    """Yield the boundary and comment lines before each sentence, and its columns; see :func:`read_columns`."""
    stream, name = numbered_sentences(path), name_of(os.fspath(path))
    begun = list(islice(stream, FIRST))
    rows = [row for _, lines in begun for row in dropwhile(_before_words, map(_split, lines))]
    columns = columns or next((size for size, _ in Counter(map(len, rows)).most_common(1)), 1)
    tags = {row[-1] for row in rows}
    for first, lines in chain(begun, stream):
        split, at = list(map(_split, lines)), 0
        for row in split:
            token = columns == 1 == len(row) or (len(row) == columns and row[-1] in tags)
            if not _before_words(row) or (row[0] != BOUNDARY and token):
                break
            at += 1
        for number, row in enumerate(split[at:], first + at):
            if len(row) != columns:
                about = f"{columns} columns separated by spaces or tabs; got {len(row)}"
                raise InputError(f"{name}, line {number} must have {about}")
        tags.update(row[-1] for row in split[at:])
        yield lines[:at], tuple(map(tuple, zip(*split[at:], strict=True)))


def _before_words(row: list[str]) -> bool:
    return row[0] == BOUNDARY or row[0].startswith("#")


def _split(line: str) -> list[str]:
    return _BLANKS.split(line.strip(" \t"))
