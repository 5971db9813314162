"""Reader of tagged sentences in column format, with one token per line, as in the CoNLL shared tasks."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from polyadic.core.errors import InputError
from polyadic.core.streams import name_of
from polyadic.syntax.trees import numbered_sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

    Path = str | os.PathLike[str]


_BLANKS = re.compile(r"[ \t]+")


def read_columns(path: Path, *, columns: int | None = None) -> Iterator[tuple[tuple[str, ...], ...]]:
    r"""Yield the sentences of a file in column format, such as words, parts of speech and chunk tags.

    Parameters
    ----------
    path : path
        File in UTF-8, compressed if its suffix says so; ``"-"`` is standard input. Columns are separated by spaces or
        tabs; a no-break space is part of a word.
    columns : int, optional
        Required number of columns. By default that of the first line.

    Yields
    ------
    tuple of tuple of str
        Columns of each sentence.

    Raises
    ------
    InputError
        If the file cannot be read, or a line has another number of columns; the message names the line.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "two.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("He PRP B-NP\nreckons VBZ B-VP\n\nYes UH O\n")
    >>> list(read_columns(path))
    [(('He', 'reckons'), ('PRP', 'VBZ'), ('B-NP', 'B-VP')), (('Yes',), ('UH',), ('O',))]
    """
    for first, lines in numbered_sentences(path):
        rows = [_BLANKS.split(line.strip(" \t")) for line in lines]
        columns, name = columns or len(rows[0]), name_of(os.fspath(path))
        for at, row in enumerate(rows, first):
            if len(row) != columns:
                raise InputError(
                    f"{name}, line {at} must have {columns} columns separated by spaces or tabs; got {len(row)}"
                )
        yield tuple(map(tuple, zip(*rows, strict=True)))
