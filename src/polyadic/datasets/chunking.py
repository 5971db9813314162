"""Chunks of the CoNLL-2000 shared task: words, parts of speech by a tagger, and tags of chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from polyadic.datasets.place import check_count, folder
from polyadic.errors import check_choice
from polyadic.text.syntax.columns import read_columns

if TYPE_CHECKING:
    import os

CONLL2000 = {"train": (8_936, 211_727), "test": (2_012, 47_377)}
"""Sentences and words of each part: sections 15 to 18 of the Wall Street Journal, and section 20."""


class Chunked(NamedTuple):
    """Words of a sentence, their parts of speech, and tags of chunks such as ``B-NP``."""

    forms: tuple[str, ...]
    tags: tuple[str, ...]
    chunks: tuple[str, ...]


def chunks(part: str, *, root: str | os.PathLike[str] | None = None) -> list[Chunked]:
    """Read a part of the data.

    Parameters
    ----------
    part : str
        One of :data:`CONLL2000`.
    root : path, optional
        See :func:`~polyadic.datasets.folder`; the files are in ``syntax/conll2000``.

    Raises
    ------
    InputError
        If the part is unknown, the file cannot be read, a line is malformed, or a size is not the published one.

    References
    ----------
    Tjong Kim Sang, Buchholz (2000), Introduction to the CoNLL-2000 shared task: chunking
    """
    check_choice("part", part, CONLL2000)
    path = folder(root) / "syntax" / "conll2000" / f"{part}.txt"
    sentences = [Chunked(*columns) for columns in read_columns(path, columns=3)]
    check_count(path, len(sentences), CONLL2000[part][0], "sentences")
    check_count(path, sum(len(sentence.forms) for sentence in sentences), CONLL2000[part][1], "words")
    return sentences
