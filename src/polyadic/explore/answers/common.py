"""What all answers have in common: bounds of what is asked, spelling, lines and numbers for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from polyadic.core.settings import Within
from polyadic.text.occurrences import MAX_WIDTH
from polyadic.text.readers import name_of_document

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyadic.explore.workspace import Shelf
    from polyadic.text.lines import ConcordanceLine

Answer = dict[str, Any]
Top = Annotated[int, Within(1, 1000)]
Width = Annotated[int, Within(1, MAX_WIDTH)]
OCCURRENCES = 100_000
"""Of a word that are looked at for what stands around it; of more, so many from all of the text."""


def known_word(shelf: Shelf, word: str) -> tuple[int, str]:
    """Give the number of a word in the text, and its spelling there.

    Raises
    ------
    InputError
        If there is none; it names words that are spelt like it.
    """
    row = shelf.vectors.find(word)
    spelt = word if row is None else shelf.vectors.words[row]
    shelf.vectors[spelt]  # or it is refused
    return shelf.corpus.vocabulary[spelt], spelt


def line_of(line: ConcordanceLine) -> Answer:
    """Give a line, the places of the words in it, and its document."""
    return {
        "document": line.document,
        "name": name_of_document(line.fields) or str(line.document + 1),
        "fields": dict(line.fields),
        "text": line.text,
        "places": [list(place) for place in line.places],
    }


def lists(pairs: Iterable[tuple[str, float]]) -> list[list[Any]]:
    """Give words with numbers."""
    return [[word, short(value)] for word, value in pairs]


def short(value: Any) -> float | None:
    """Give a number to four digits behind the point; what is not finite has no place in JSON."""
    return round(float(value), 4) if np.isfinite(value) else None
