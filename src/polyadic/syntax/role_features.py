"""Features for semantic role labelling: predicates, candidate arguments and the dependency paths between them.

Candidate arguments are those of Xue, Palmer (2004), Calibrating features for semantic role labeling, and Zhao et al.
(2009), Multilingual dependency learning, section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.annotations import AnyArray, Ints, Ints32
from polyadic.core.errors import InputError
from polyadic.core.progress import tracked
from polyadic.syntax import arc_features as t
from polyadic.syntax.arc_features import coded, numbered, token_features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.syntax.propositions import Sentence
    from polyadic.syntax.trees import Tree

RELATION, VOICE, LEMMA_VOICE, CASE, RELATION_CASE, FRAME, HEAD_LEMMA, HEAD_TAG = range(t.FIXED, t.FIXED + 8)
"""Columns of a word's features after those of :func:`~polyadic.syntax.arc_features.token_features`."""
FIXED = t.FIXED + 8  # number of features of each word before those of its morphology
ANY_PATH, PATH, PLAIN_PATH, TAG_PATH, LENGTH, SIDE = range(6)  # columns of the features of a path
FUNCTION = ("case", "mark")  # relations of function words that link a phrase to its clause
CORE = ("nsubj", "csubj", "obj", "iobj", "ccomp", "xcomp", "obl", "expl", "compound", "aux", "cop", "conj")
"""Relations, without subtypes, that make up the frame of a predicate."""


def word_features(tree: Tree) -> list[list[str]]:
    """Return the feature names of each word and its position in the dependency tree, with morphology last."""
    rows = token_features(tree)[1:]
    children, heads = tree.children(), tree.heads.tolist()
    lemmas = lemmas_of(tree)
    for at, row in enumerate(rows):
        below = children[at]
        voice = "passive" if _passive(tree, at, below) else "active"
        case = " ".join(lemmas[child] for child in below if tree.relations[child].partition(":")[0] in FUNCTION)
        order = sorted([*below, at])
        frame = [_plain(tree.relations[i]) if i != at else "V" for i in order]
        relation, head = tree.relations[at], heads[at] - 1
        own = [f"d={relation}", f"v={voice}", f"lv={lemmas[at]} {voice}", f"c={case}", f"dc={relation} {case}"]
        own.append(f"fr={' '.join(name for name in frame if name in (*CORE, 'V'))}")
        lemma, tag = (lemmas[head], tree.upos[head]) if head >= 0 else ("", "")
        row[t.FIXED : t.FIXED] = [*own, f"hl={lemma}", f"ht={tag}"]
    return rows


def lemmas_of(tree: Tree) -> list[str]:
    """Return the lemma of each word, or its lower-cased form if there is none."""
    return [form.lower() if lemma == "_" else lemma for form, lemma in zip(tree.forms, tree.lemmas, strict=True)]


def path_features(tree: Tree, predicate: int, words: Sequence[int]) -> list[list[str]]:
    """Return the features of the dependency path from the predicate to each of the given words."""
    above = _above(tree, predicate)
    rows = []
    for word in words:
        down = _above(tree, word)
        up = next(k for k, node in enumerate(above) if node in down)
        ups, downs = above[:up], down[: down.index(above[up])][::-1]
        relations = [f"^{tree.relations[k - 1]}" for k in ups] + [f"!{tree.relations[k - 1]}" for k in downs]
        tags = [tree.upos[k - 1] for k in (*ups, *([above[up]] if above[up] else []), *downs)]
        side = "before" if word < predicate else "after"
        row = ["*path", f"h={' '.join(relations)}", f"hp={' '.join(map(_plain, relations))}"]
        row += [f"hu={up} {' '.join(tags)}", f"n={up} {len(downs)} {side}"]
        rows.append([*row, f"s={side} {min(abs(word - predicate), 4)}"])
    return rows


def near_words(tree: Tree, predicate: int) -> list[int]:
    """Return the candidate arguments of a predicate: its ancestors, and the children of the predicate and ancestors."""
    above = [word for word in _above(tree, predicate) if word]
    children = tree.children()
    return sorted({*above, *(child + 1 for word in above for child in children[word - 1])} - {predicate})


def _above(tree: Tree, word: int) -> list[int]:
    """Return the positions of a word and its ancestors, ending with 0 for the root."""
    heads, way = tree.heads, [word]
    while way[-1]:
        way.append(int(heads[way[-1] - 1]))
    return way


def _plain(relation: str) -> str:
    return relation.partition(":")[0]


def _passive(tree: Tree, word: int, below: Sequence[int]) -> bool:
    marked = "Voice=Pass" in tree.features[word] or any(":pass" in tree.relations[child] for child in below)
    # A participle that modifies a noun is passive: "the dog seen there".
    return marked or (tree.xpos[word] == "VBN" and _plain(tree.relations[word]) in {"acl", "amod"})


_ANY, _PATH = t.BIAS, ANY_PATH
_TRIPLES = (
    *((end, _ANY, _PATH) for end in (t.WORD, t.LEMMA, t.TAG, LEMMA_VOICE)),
    *((_ANY, end, _PATH) for end in (t.WORD, t.LEMMA, t.TAG, t.POS, t.LEFT_TAGS, t.RIGHT_TAGS, t.LEFT_WORD)),
    *((_ANY, end, _PATH) for end in (t.RIGHT_WORD, RELATION, CASE, RELATION_CASE)),
    *((t.LEMMA, end, _PATH) for end in (t.LEMMA, t.TAG, CASE, RELATION_CASE, RELATION)),
    *((t.POS, end, _PATH) for end in (t.LEMMA, t.TAG, RELATION_CASE)),
    *((_ANY, _ANY, way) for way in (PATH, PLAIN_PATH, TAG_PATH, LENGTH, SIDE)),
    *((end, _ANY, PATH) for end in (t.LEMMA, t.POS, t.TAG, VOICE, LEMMA_VOICE, FRAME)),
    *((_ANY, end, PATH) for end in (t.LEMMA, t.POS, t.TAG, CASE)),
    *((end, _ANY, SIDE) for end in (VOICE, LEMMA_VOICE, t.TAG)),
    *((t.POS, t.POS, PATH), (t.LEMMA, CASE, PATH), (VOICE, RELATION, SIDE), (_ANY, CASE, SIDE)),
)
TRIPLES = np.array(_TRIPLES)
"""Columns of predicate, word and path whose features are joined, after Johansson (2009), and the case of the word."""


class Frame(NamedTuple):
    """Feature ids of a predicate, its candidate arguments and the paths to them, with -1 for missing features."""

    predicate: Ints32  # (1, word features)
    words: Ints32  # (n, word features)
    paths: Ints32  # (n, path features)
    cells: Ints32  # (n, triples), see hashed_cells


class Known(NamedTuple):
    """Dictionaries of feature ids for words and for dependency paths."""

    words: dict[str, int]
    paths: dict[str, int]


def known_features(sentences: Iterable[Sentence], *, min_count: int) -> Known:
    """Return the ids of the features of predicates, arguments and paths that occur at least ``min_count`` times."""
    words, paths = Counter[str](), Counter[str]()
    for sentence in sentences:
        rows = word_features(sentence.tree) if sentence.propositions else []
        for proposition in sentence.propositions:
            places = [argument.place for argument in proposition.arguments]
            words.update(feature for place in (proposition.place, *places) for feature in rows[place - 1] if feature)
            paths.update(feature for row in path_features(sentence.tree, proposition.place, places) for feature in row)
    known = Known(numbered(words, min_count=min_count), numbered(paths, min_count=min_count))
    if not all(known):
        about = f"no word feature or no path feature occurs at least {min_count} times; lower min_count"
        raise InputError(about, "min_count")
    return known


def frames_of(
    tree: Tree, places: Iterable[int], known: Known, *, near: bool, bits: int
) -> Iterator[tuple[list[int], Frame]]:
    """Yield the positions of the candidate arguments (from 1) and the feature ids of each predicate."""
    places = list(places)
    if odd := [place for place in places if not 1 <= place <= len(tree)]:
        raise InputError(f"predicates must be word positions from 1 to {len(tree)}; got {odd[0]!r}")
    table = coded(word_features(tree), known.words)
    for place in places:
        words = near_words(tree, place) if near else [k for k in range(1, len(tree) + 1) if k != place]
        paths = coded(path_features(tree, place, words), known.paths) if words else np.zeros((0, SIDE + 1), np.int32)
        predicate, others = table[place - 1 : place], table[np.array(words, int) - 1]
        joined = (predicate[:, TRIPLES[:, 0]], others[:, TRIPLES[:, 1]], paths[:, TRIPLES[:, 2]])
        yield words, Frame(predicate, others, paths, hashed_cells(joined, bits=bits))


def hashed_cells(features: tuple[AnyArray, AnyArray, AnyArray], *, bits: int) -> Ints32:
    """Hash each triple of feature ids to an integer below ``2 ** bits``, or -1 if one of the ids is missing."""
    first, second, third = np.broadcast_arrays(*(np.asarray(part, np.int64) for part in features))
    missing = (first < 0) | (second < 0) | (third < 0)
    a, b, c = (part.astype(np.uint64) for part in (first, second, third))
    key = _scrambled(_scrambled((a << np.uint64(32)) ^ b) ^ c)
    return np.where(missing, -1, (key >> np.uint64(64 - bits)).astype(np.int64)).astype(np.int32)


def _scrambled(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit keys by the finalizer of splitmix64 (Steele et al. 2014)."""
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))


def role_names(sentences: Iterable[Sentence]) -> list[str]:
    """Return the sorted names of the semantic roles in the given sentences."""
    propositions = (proposition for sentence in sentences for proposition in sentence.propositions)
    return sorted({role for proposition in propositions for _, role in proposition.arguments})


def framed(
    sentences: Iterable[Sentence], known: Known, names: Sequence[str], *, near: bool, bits: int
) -> list[tuple[Frame, Ints]]:
    """Return the feature frame and the role ids of the candidate arguments of each predicate, with -1 for no role."""
    number = {name: at for at, name in enumerate(names)}
    framed_roles = []
    for sentence in tracked(list(sentences), "reading frames"):
        places = [proposition.place for proposition in sentence.propositions]
        frames = frames_of(sentence.tree, places, known, near=near, bits=bits)
        for proposition, (words, frame) in zip(sentence.propositions, frames, strict=True):
            if words:
                role_at = dict(proposition.arguments)
                roles = np.array([number.get(role_at.get(word, ""), -1) for word in words], np.int64)
                framed_roles.append((frame, roles))
    if not any((roles >= 0).any() for _, roles in framed_roles):
        where = "near its predicate in the tree; set near=False" if near else "a word other than its predicate"
        raise InputError(f"the training sentences must contain an argument that is {where}")
    return framed_roles
