"""Training data of semantic role labellers: feature ids, joined features and frames of predicates."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.errors import InputError
from polyadic.core.progress import tracked
from polyadic.syntax import role_features as f
from polyadic.syntax import token_features as t
from polyadic.syntax.arc_features import coded
from polyadic.syntax.kernels.role_cells import hashed_cells
from polyadic.syntax.role_tensor import Frame

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from polyadic.syntax.propositions import Proposition, Sentence
    from polyadic.syntax.trees import Tree

_ANY, _PATH = t.BIAS, f.ANY_PATH
_TRIPLES = (
    *((end, _ANY, _PATH) for end in (t.WORD, t.LEMMA, t.TAG, f.LEMMA_VOICE)),
    *((_ANY, end, _PATH) for end in (t.WORD, t.LEMMA, t.TAG, t.POS, t.LEFT_TAGS, t.RIGHT_TAGS, t.LEFT_WORD)),
    *((_ANY, end, _PATH) for end in (t.RIGHT_WORD, f.RELATION, f.CASE, f.RELATION_CASE)),
    *((t.LEMMA, end, _PATH) for end in (t.LEMMA, t.TAG, f.CASE, f.RELATION_CASE, f.RELATION)),
    *((t.POS, end, _PATH) for end in (t.LEMMA, t.TAG, f.RELATION_CASE)),
    *((_ANY, _ANY, way) for way in (f.PATH, f.PLAIN_PATH, f.TAG_PATH, f.LENGTH, f.SIDE)),
    *((end, _ANY, f.PATH) for end in (t.LEMMA, t.POS, t.TAG, f.VOICE, f.LEMMA_VOICE, f.FRAME)),
    *((_ANY, end, f.PATH) for end in (t.LEMMA, t.POS, t.TAG, f.CASE)),
    *((end, _ANY, f.SIDE) for end in (f.VOICE, f.LEMMA_VOICE, t.TAG)),
    *((t.POS, t.POS, f.PATH), (t.LEMMA, f.CASE, f.PATH), (f.VOICE, f.RELATION, f.SIDE), (_ANY, f.CASE, f.SIDE)),
)
TRIPLES = np.array(_TRIPLES)
"""Columns of predicate, word and path whose features are joined, after Johansson (2009), and the case of the word."""


class Known(NamedTuple):
    """Ids of the features of words and of paths."""

    words: dict[str, int]
    paths: dict[str, int]


def known_features(sentences: Iterable[Sentence], *, min_count: int) -> Known:
    """Return ids of the features that occur at least ``min_count`` times in predicates, arguments and their paths."""
    words: Counter[str] = Counter()
    paths: Counter[str] = Counter()
    for sentence in sentences:
        rows = f.word_features(sentence.tree) if sentence.propositions else []
        for proposition in sentence.propositions:
            places = [argument.place for argument in proposition.arguments]
            words.update(feature for place in (proposition.place, *places) for feature in rows[place - 1] if feature)
            paths.update(
                feature for row in f.path_features(sentence.tree, proposition.place, places) for feature in row
            )
    kept = ((feature for feature, count in counts.items() if count >= min_count) for counts in (words, paths))
    known = Known(*({feature: at for at, feature in enumerate(names)} for names in kept))
    if not all(known):
        raise InputError(
            f"no feature of words, or none of paths, occurs at least {min_count} times; lower min_count", "min_count"
        )
    return known


def frames_of(
    tree: Tree, predicates: Iterable[int], known: Known, *, near: bool, bits: int
) -> Iterator[tuple[list[int], Frame]]:
    """Yield the candidate arguments of each predicate, and its frame; words and predicates are numbered from 1."""
    table = coded(f.word_features(tree), known.words)
    for place in predicates:
        words = f.near_words(tree, place) if near else [k for k in range(1, len(tree) + 1) if k != place]
        ways = f.path_features(tree, place, words)
        paths = coded(ways, known.paths) if words else np.zeros((0, f.SIDE + 1), np.int32)
        predicate, others = table[place - 1 : place], table[np.array(words, int) - 1]
        joined = (predicate[:, TRIPLES[:, 0]], others[:, TRIPLES[:, 1]], paths[:, TRIPLES[:, 2]])
        yield words, Frame(predicate, others, paths, hashed_cells(joined, bits=bits))


def role_names(sentences: Iterable[Sentence]) -> list[str]:
    """Return the names of the roles of some sentences, sorted."""
    propositions = (proposition for sentence in sentences for proposition in sentence.propositions)
    return sorted({role for proposition in propositions for _, role in proposition.arguments})


def framed(
    sentences: Iterable[Sentence], known: Known, names: Sequence[str], *, near: bool, bits: int
) -> list[tuple[Frame, NDArray[np.int64]]]:
    """Return the frame of each predicate that has candidate arguments, and their roles."""
    number = {name: at for at, name in enumerate(names)}
    framed_roles = []
    for sentence in tracked(list(sentences), "reading frames"):
        places = [proposition.place for proposition in sentence.propositions]
        frames = frames_of(sentence.tree, places, known, near=near, bits=bits)
        for proposition, (words, frame) in zip(sentence.propositions, frames, strict=True):
            if words:
                framed_roles.append((frame, roles_of(proposition, words, number)))
    if not any((roles >= 0).any() for _, roles in framed_roles):
        where = "near its predicate in the tree; set near=False" if near else "another word than its predicate"
        raise InputError(f"no argument to learn from is {where}")
    return framed_roles


def roles_of(proposition: Proposition, words: Sequence[int], number: dict[str, int]) -> NDArray[np.int64]:
    """Return the index of the role of each word, -1 for none."""
    role_at = dict(proposition.arguments)
    return np.array([number.get(role_at.get(word, ""), -1) for word in words], np.int64)


def check_sentences(sentences: Sequence[Sentence]) -> None:
    """Raise InputError if no predicate has an argument."""
    if not any(proposition.arguments for sentence in sentences for proposition in sentence.propositions):
        raise InputError("no predicate has arguments to learn semantic roles from")
