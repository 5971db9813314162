"""Strategies of hypothesis that several test files draw from."""

from dataclasses import dataclass, replace
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from polyadic.core.entries import Entries
from polyadic.embedding import Embedding
from polyadic.relations.formulas import And, Atom, Implies, Not, Or
from polyadic.text.vocabulary import Vocabulary

# Letters, marks, numbers and signs of any script, but no blanks or controls: what every vector format can hold.
plain_words = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=8)


def tries(number):
    """Try so many examples, or the share of them that a run tries of all: see ``conftest.py``."""
    return settings(max_examples=max(1, number * settings.default.max_examples // 100))


@st.composite
def embeddings(draw, *, words=plain_words, min_words=1, max_words=12, min_rank=1, max_rank=6, largest=1e6):
    """Draw an embedding in float32 that may have zero rows, repeated rows and numbers of very different size."""
    vocabulary = draw(st.lists(words, min_size=min_words, max_size=max_words, unique=True))
    rank = draw(st.integers(min_rank, max_rank))
    numbers = st.floats(-largest, largest, width=32) | st.sampled_from([0.0, -0.0, 1.0, -1.0])
    return Embedding(vocabulary, draw(hnp.arrays(np.float32, (len(vocabulary), rank), elements=numbers)))


@dataclass
class Text:
    """What counting needs of a corpus, without its files."""

    ids: Any
    sentences: Any
    vocabulary: Vocabulary
    digest: str = "none"

    @classmethod
    def of(cls, sentences, size):
        """Make one of lists of word numbers below ``size``."""
        ids = np.array(
            [word for sentence in sentences for word in sentence], np.uint16 if size <= 1 << 16 else np.uint32
        )
        starts = np.cumsum([0, *map(len, sentences)])
        return cls(ids, starts, Vocabulary(tuple(f"w{k}" for k in range(size)), np.bincount(ids, minlength=size)))


def sentences(*, words=6, longest=9, most=6):
    """Draw lists of word numbers; some are empty, some words are missing, many repeat."""
    return st.lists(st.lists(st.integers(0, words - 1), max_size=longest), min_size=1, max_size=most)


@st.composite
def symmetric_entries(draw, *, orders=(2, 3, 4), min_size=1, max_size=5, max_entries=12):
    """Draw symmetric entries, with words repeated in a tuple and zero values among them, with or without weights."""
    order, size = draw(st.sampled_from(orders)), draw(st.integers(min_size, max_size))
    rows = st.lists(st.integers(0, size - 1), min_size=order, max_size=order)
    tuples = draw(st.lists(rows, min_size=1, max_size=max_entries, unique_by=lambda row: tuple(sorted(row))))
    values = draw(hnp.arrays(float, len(tuples), elements=st.floats(-3, 3, width=16)))
    entries = Entries.collect(tuples, values, size)
    return draw(weighted(entries))


@st.composite
def plain_entries(draw, *, orders=(1, 2, 3), max_size=4, max_entries=12, square=False):
    """Draw entries that are not symmetric, of modes of different lengths unless ``square``."""
    order, size = draw(st.sampled_from(orders)), st.integers(1, max_size)
    shape = (draw(size),) * order if square else tuple(draw(size) for _ in range(order))
    cell = st.tuples(*(st.integers(0, n - 1) for n in shape))
    rows = draw(st.lists(cell, min_size=1, max_size=max_entries, unique=True))
    values = draw(hnp.arrays(float, len(rows), elements=st.floats(-3, 3, width=16)))
    return draw(weighted(Entries(np.array(rows), values, shape)))


@st.composite
def weighted(draw, entries):
    """Draw the same entries with weights, or without."""
    if not draw(st.booleans()):
        return entries
    return replace(entries, weights=draw(hnp.arrays(float, len(entries), elements=st.floats(0, 4, width=16))))


some_predicates = st.sampled_from("abc")


@st.composite
def formulas(draw, *, names=some_predicates, depth=3):
    """Draw a formula of logic in which atoms may occur several times, of variables x and y."""
    kind = draw(st.sampled_from(["atom", "not", "and", "or", "implies"])) if depth else "atom"
    inner = formulas(names=names, depth=depth - 1) if depth else st.nothing()
    if kind == "atom":
        return Atom(draw(names), draw(st.sampled_from([("x", "y"), ("y", "x"), ("x", "x")])))
    if kind == "not":
        return Not(draw(inner))
    if kind == "implies":
        return Implies(draw(inner), draw(inner))
    return (And if kind == "and" else Or)(tuple(draw(st.lists(inner, min_size=2, max_size=3))))
