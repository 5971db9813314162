"""Parameter types and JSON helper functions shared by the endpoints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from polyadic.core.settings import Within
from polyadic.text.occurrences import MAX_WIDTH
from polyadic.text.readers import name_of_document

if TYPE_CHECKING:
    from polyadic.explore.workspace import Workspace
    from polyadic.text.concordance import ConcordanceLine

Answer = dict[str, Any]
Top = Annotated[int, Within(1, 1000)]
Width = Annotated[int, Within(1, MAX_WIDTH)]


def known_word(workspace: Workspace, word: str) -> tuple[int, str]:
    """Return the id and spelling of a word; raise InputError that suggests similar words if the word is unknown."""
    row = workspace.vectors.find(word)
    spelt = word if row is None else workspace.vectors.words[row]
    workspace.vectors[spelt]  # raises InputError if it is unknown
    return workspace.corpus.vocabulary[spelt], spelt


def frequencies(workspace: Workspace, words: Sequence[str]) -> list[Answer]:
    """Return the number of occurrences, the number of documents and the dispersion DP of each word in the text."""
    found = {each.item: each for each in workspace.corpus.word_list(words=words)}
    return [
        {
            "word": word,
            "count": found[word].frequency,
            "per_million": found[word].per_million,
            "documents": found[word].range,
            "deviation": 0.0 if np.isnan(found[word].dp) else found[word].dp,
        }
        for word in words
    ]


def line_of(line: ConcordanceLine) -> Answer:
    """Convert a concordance line, the positions of the search words and the document metadata to a dict for JSON."""
    return {
        "document": line.document,
        "name": name_of_document(line.fields) or str(line.document + 1),
        "fields": dict(line.fields),
        "text": line.text,
        "places": [list(place) for place in line.places],
    }


def rows(found: Iterable[Any]) -> list[Answer]:
    """Convert named tuples to records for JSON, with rounded numbers except p-values."""

    def rounded(name: str, value: Any) -> Any:
        return short(value) if isinstance(value, float) and name != "p_value" else value

    return [{name: rounded(name, value) for name, value in each._asdict().items()} for each in found]


def lists(pairs: Iterable[tuple[str, float]]) -> list[list[Any]]:
    """Convert pairs of words and scores to lists with rounded scores."""
    return [[word, short(value)] for word, value in pairs]


def short(value: Any) -> float | None:
    """Round a number to four decimals, or return None for NaN and infinity, which JSON does not support."""
    return round(float(value), 4) if np.isfinite(value) else None
