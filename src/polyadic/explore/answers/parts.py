"""Comparison of two parts of a text, such as documents with different metadata: frequencies and contexts of words.

The contexts of a word in either part give two vectors in one space.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.errors import InputError, named
from polyadic.core.settings import Natural  # noqa: TC001 # the server reads annotations
from polyadic.embedding import unit_rows
from polyadic.explore.answers.common import Answer, Top, known_word, line_of, lists, short
from polyadic.explore.answers.words import senses_of
from polyadic.metrics.association import log_ratio
from polyadic.text.occurrences import sample
from polyadic.words.occurrences import MIN_OCCURRENCES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.explore.workspace import Workspace

    Parts = tuple[NDArray[np.bool_], NDArray[np.bool_]]

LOOKED_AT = 5_000  # maximum number of occurrences of a word in a part whose contexts are averaged


def ratios(workspace: Workspace, field: str, value: str, *, against: str | None = None) -> Answer:
    """Return the log ratio of the word frequencies in two parts of the text, for each word on the map.

    It is 0 for a word that is in neither part.
    """
    parts = parts_of(workspace, field, value, against)
    (one, other), sizes = (_counts(workspace, part) for part in parts), np.diff(workspace.corpus.text.edges)
    n, m = (sizes[part].sum() for part in parts)
    at = [workspace.corpus.vocabulary[word] for word in workspace.vectors.words[: len(workspace.places)]]
    return {"ratios": np.nan_to_num(log_ratio(one, n, one + other, n + m)[at]).round(3).tolist()}


def contrast(
    workspace: Workspace,
    word: str,
    field: str,
    value: str,
    *,
    against: str | None = None,
    lines: Natural = 3,
    top: Top = 12,
) -> Answer:
    """Compare the nearest neighbours, senses and concordance lines of a word in two parts of the text."""
    number, word = known_word(workspace, word)
    parts = parts_of(workspace, field, value, against)
    where = workspace.occurrences
    positions = where.positions(number)
    of, sizes = where.documents(positions), np.diff(workspace.corpus.text.edges)
    here = [positions[part[of]] for part in parts]
    space = workspace.senses
    found = senses_of(workspace, word, 10) if space is not None and len(positions) >= MIN_OCCURRENCES else None
    vectors = [space.vector(word, sample(some, LOOKED_AT)) if space and len(some) else None for some in here]
    known = [vector for vector in vectors if vector is not None]
    shown: list[Answer] = []
    for part, some, vector in zip(parts, here, vectors, strict=True):
        near = [] if vector is None else workspace.vectors.neighbours(vector, top=top, exclude=[word])
        rows = [line_of(workspace.corpus.line(int(at))) for at in sample(some, lines)] if lines else []
        share = 1e6 * len(some) / max(sizes[part].sum(), 1)
        shown.append({"count": len(some), "per_million": share, "neighbours": lists(near), "lines": rows})
    return {
        "word": word,
        "field": field,
        "value": value,
        "against": against,
        "cosine": short(np.dot(*unit_rows(np.stack(known)))) if len(known) == 2 else None,
        "parts": shown,
        "senses": [] if found is None else _shares(workspace, found, parts),
    }


def _shares(workspace: Workspace, found: Any, parts: Parts) -> list[Answer]:
    """Return the count and relative frequency of each sense among the occurrences of a word in two parts of a text."""
    documents = [workspace.occurrences.documents(sense.positions) for sense in found.senses]
    counts = np.array([[np.count_nonzero(part[where]) for part in parts] for where in documents])
    shares = counts / np.maximum(counts.sum(axis=0), 1)
    return [
        {"words": list(sense.substitutes), "shares": [short(each) for each in row], "counts": count}
        for sense, row, count in zip(found.senses, shares, counts.tolist(), strict=True)
    ]


def parts_of(workspace: Workspace, field: str, value: str, against: str | None) -> Parts:
    """Return Boolean masks of the documents in two parts of the text."""
    values = values_of(workspace, field)
    for each in (value, against):
        if each is not None and each not in values:
            known = f"{field} {each!r}; the values are {named(values, 10)}" if values else repr(field)
            raise InputError(f"no document has {known}")
    number = _numbers(workspace, field)
    one = number == values[value]
    other = ~one if against is None else number == values[against]
    if against == value:
        what = f"the parts to compare must have different values of {field}"
        raise InputError(f"{what}; both have {value!r}", "value", "against")
    if not other.any():
        raise InputError(f"all documents have {field} {value!r}; choose a value that some documents do not have")
    return one, other


@functools.lru_cache(maxsize=64)
def values_of(workspace: Workspace, field: str) -> dict[str, int]:
    """Return the distinct values of a metadata field as a dictionary from values to ids."""
    values = (fields.get(field) for fields in workspace.corpus.fields or ())
    return {value: at for at, value in enumerate(dict.fromkeys(value for value in values if value is not None))}


@functools.lru_cache(maxsize=16)
def _numbers(workspace: Workspace, field: str) -> NDArray[np.int64]:
    """Return the id of each document's value of a metadata field, or -1 if the document has no value."""
    values = values_of(workspace, field)
    return np.array([values.get(fields.get(field, ""), -1) for fields in workspace.corpus.fields or ()], np.int64)


def _counts(workspace: Workspace, part: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the count of each word in one part of the text."""
    corpus = workspace.corpus
    inside = np.repeat(part, workspace.occurrences.lengths())
    return np.bincount(np.asarray(corpus.ids)[inside], minlength=len(corpus.vocabulary))
