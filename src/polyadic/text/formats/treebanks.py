"""Treebanks and tagged text in CoNLL-U: sentences of word forms or lemmas."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from polyadic.core.errors import InputError
from polyadic.text.pieces import PIECE, Piece
from polyadic.text.streams import lines
from polyadic.text.tokens import composed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyadic.text.pieces import File

COLUMNS = {"form": 1, "lemma": 2}
TEN = 10


def read_conllu(file: File) -> Iterator[Piece]:
    """Read words or lemmas in lower case without punctuation; ``# newdoc`` begins a document.

    Contractions are read as their parts, a missing lemma is replaced by the word, and blanks in words become "_".
    """
    field = file.reading.field or "form"
    if field not in COLUMNS:
        raise InputError(f"field must be 'form' or 'lemma' for CoNLL-U such as {file.name}; got {field!r}")
    starting: Mapping[str, str] | None = None
    held: list[list[str]] = []
    size = 0
    for begins, words in _sentences(file, COLUMNS[field]):
        if held and (begins is not None or size >= PIECE):
            yield Piece(held, starting is not None, fields=starting or {})
            starting, held, size = None, [], 0
        starting = starting if begins is None else begins
        held.append(words)
        size += sum(map(len, words))
    if held:
        yield Piece(held, starting is not None, fields=starting or {})


def _sentences(file: File, column: int) -> Iterator[tuple[Mapping[str, str] | None, list[str]]]:
    """Yield the words of each non-empty sentence, with the fields of the document if one begins there."""
    begins: Mapping[str, str] | None = {}
    words: list[str] = []
    for number, line in enumerate(chain(lines(file.texts()), [""]), start=1):
        if line.startswith("# newdoc"):
            name = line.partition("=")[2].strip()
            begins = {"title": name} if name else {}
        elif line.strip():
            words += [] if line.startswith("#") else _word(line.split("\t"), column, f"{file.name}, line {number}")
        elif words:
            yield begins, words
            begins, words = None, []


def _word(cells: list[str], column: int, where: str) -> list[str]:
    """Return the word of a line as a list; empty for contractions, empty nodes and punctuation."""
    if len(cells) != TEN:
        raise InputError(f"{where} must have ten columns between tabs, as CoNLL-U has; got {len(cells)}")
    word = cells[1] if cells[column].strip() in ("", "_") else cells[column]
    word = "_".join(composed(word.lower().replace("’", "'").replace("\u00ad", "")).split())
    return [word] if cells[0].isdecimal() and any(letter.isalnum() for letter in word) else []
