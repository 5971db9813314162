"""Words and their pronunciations: task 1 of SIGMORPHON 2020, in the format of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from polyadic.core.errors import InputError
from polyadic.datasets.place import text

if TYPE_CHECKING:
    from pathlib import Path


class Pronunciations(NamedTuple):
    """Letters of words, and their sounds."""

    letters: list[list[str]]
    sounds: list[list[str]]


PRONUNCIATIONS = "sequences/sigmorphon2020"  # in the folder of test sets


def pronunciations(language: str, part: str, *, place: Path) -> Pronunciations:
    """Read a part ("train", "dev" or "test") of a language: 3,600, 450 and 450 words.

    ``place`` is the folder ``task1/data`` of https://github.com/sigmorphon/2020. The words are from Wiktionary (CC
    BY-SA).

    References
    ----------
    Gorman, Ashby, Goyzueta, McCarthy, Wu, You (2020), The SIGMORPHON 2020 shared task on multilingual
    grapheme-to-phoneme conversion
    """
    path = place / part / f"{language}_{part}.tsv"
    rows = [line.split("\t") for line in text(path).splitlines()]
    if not rows or any(len(row) != 2 for row in rows):
        raise InputError(f"{path}: each line must have a word, a tab and its sounds")
    return Pronunciations([list(word) for word, _ in rows], [sounds.split() for _, sounds in rows])
