"""Token features for dependency parsers: feature names and ids, feature pairs of arcs, and word vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.annotations import Floats, Ints32
from polyadic.core.errors import InputError, InputWarning
from polyadic.syntax.kernels.arc_tensor import FeaturePairs
from polyadic.syntax.trees import Tree, check_heads

if TYPE_CHECKING:
    from polyadic.embedding import Embedding

ROOT, EDGE, ANY = "<root>", "<edge>", "*"

BIAS, WORD, LEMMA, TAG, POS, WORD_TAG, LEFT_TAGS, RIGHT_TAGS, LEMMA_POS, LEFT_WORD, RIGHT_WORD = range(11)
"""Columns of the first features in each row; morphology comes last."""
RIGHT_TAG, THREE_TAGS, MORPHOLOGY = 14, 17, 20
FIXED = 21  # number of features of each word before those of its morphology


def token_features(tree: Tree) -> list[list[str]]:
    """Return the features of Lei et al. (2014), table 1, of the root and each word, "" if missing, morphology last."""
    columns = [[x and f"{kind}={x}" for x in column] if kind else column for kind, column in _columns(tree)]
    rows = [list(row) for row in zip(*columns, strict=True)]
    for row, morphology in zip(rows[1:], _present(tree.features, len(tree)), strict=True):
        row += [f"f={feature}" for feature in morphology.split("|") if feature]
    return rows


class TokenCoder:
    """Encoder of token features as ids, several times faster than looking up the names from :func:`token_features`."""

    def __init__(self, known: dict[str, int]) -> None:
        self._numbers: dict[str, dict[str, int]] = {}
        for name, at in known.items():
            kind, _, value = name.partition("=") if name != ANY else ("", "", ANY)
            self._numbers.setdefault(kind, {})[value] = at
        self._morphology: dict[str, list[int]] = {"": []}

    def __call__(self, tree: Tree) -> Ints32:
        """Return the feature ids of the root and of each word, with -1 for unknown or missing features."""
        more = [[], *map(self._numbers_of, _present(tree.features, len(tree)))]
        table = np.full((len(tree) + 1, FIXED + max(map(len, more))), -1, np.int32)
        numbered = (map(self._numbers.get(kind, {}).get, column, repeat(-1)) for kind, column in _columns(tree))
        ids = np.fromiter(chain.from_iterable(numbered), np.int32, FIXED * len(table))
        table[:, :FIXED] = ids.reshape(FIXED, -1).T
        for row, numbers in enumerate(more):
            if numbers:
                table[row, FIXED : FIXED + len(numbers)] = numbers
        return table

    def _numbers_of(self, morphology: str) -> list[int]:
        """Return the ids of the morphological features in a string such as ``Case=Nom|Number=Sing``."""
        known = self._morphology.get(morphology)
        if known is None:
            numbers = self._numbers.get("f", {})
            known = self._morphology[morphology] = [numbers.get(x, -1) for x in morphology.split("|") if x]
        return known


def _columns(tree: Tree) -> list[tuple[str, list[str]]]:
    """Return the name prefix and the values of each token feature, with the empty string for a missing value."""
    n = len(tree)
    p = [ROOT if tree.upos else "", *_present(tree.upos, n)]
    # a missing tag is replaced by the universal one
    t = [ROOT, *(tag if tag != "_" or not x else x for tag, x in zip(tree.xpos, p[1:], strict=True))]
    w, s = [ROOT, *tree.forms], ["", *_present(tree.lemmas, n)]
    before, after = [EDGE, *t[:-1]], [*t[1:], EDGE]
    return [
        ("", [ANY] * len(w)),
        ("w", w),
        ("l", s),
        ("t", t),
        ("p", p),
        ("wt", [f"{x} {y}" for x, y in zip(w, t, strict=True)]),
        ("tl", [f"{x} {y}" for x, y in zip(before, t, strict=True)]),
        ("tr", [f"{x} {y}" for x, y in zip(t, after, strict=True)]),
        ("lp", [x and f"{x} {y}" for x, y in zip(s, p, strict=True)]),
        ("w-", [EDGE, *w[:-1]]),
        ("w+", [*w[1:], EDGE]),
        ("l-", ["", *s[:-1]]),
        ("l+", [*s[1:], ""]),
        ("t-", before),
        ("t+", after),
        ("t--", [EDGE, *before[:-1]]),
        ("t++", [*after[1:], EDGE]),
        ("tt", [f"{x} {y} {z}" for x, y, z in zip(before, t, after, strict=True)]),
        ("p-", ["", *p[:-1]]),
        ("p+", [*p[1:], ""]),
        ("m", ["", *_present(tree.features, n)]),
    ]


def _present(column: Sequence[str], n: int) -> list[str]:
    return ["" if x == "_" else x for x in column] if column else [""] * n


_PAIRS = (
    *((end, BIAS) for end in (WORD_TAG, WORD, TAG)),
    *((BIAS, end) for end in (WORD_TAG, WORD, TAG)),
    *((WORD_TAG, WORD_TAG), (TAG, WORD_TAG), (WORD, WORD_TAG), (WORD_TAG, TAG), (WORD_TAG, WORD), (WORD, WORD)),
    *((TAG, TAG), (POS, POS), (LEMMA, LEMMA), (LEMMA, POS), (POS, LEMMA), (LEMMA_POS, LEMMA_POS)),
    *((RIGHT_TAGS, LEFT_TAGS), (LEFT_TAGS, LEFT_TAGS), (RIGHT_TAGS, RIGHT_TAGS), (LEFT_TAGS, RIGHT_TAGS)),
    *((RIGHT_TAGS, TAG), (LEFT_TAGS, TAG), (TAG, LEFT_TAGS), (TAG, RIGHT_TAGS)),
    *((end, MORPHOLOGY) for end in (BIAS, TAG, LEMMA, MORPHOLOGY)),
    *((MORPHOLOGY, end) for end in (BIAS, TAG, LEMMA)),
)
PAIRS = FeaturePairs(np.array(_PAIRS), TAG)
"""Columns of head and dependent that are paired (McDonald et al. 2005, and morphology), and the tag column."""

FIRST_WORD, FIRST_TAG, LAST_WORD, LAST_TAG = range(FIXED, FIXED + 4)
"""Columns for the word and tag of the first and last dependent; they follow the columns of the word itself."""
SHIFT = 26  # bit from which on the features of dependents are numbered, above the numbers of all other features

_RELATION_PAIRS = (
    *((end, BIAS) for end in (WORD_TAG, TAG, POS, LEMMA_POS)),
    *((BIAS, end) for end in (WORD_TAG, WORD, TAG, POS, LEMMA_POS, LEFT_TAGS, RIGHT_TAGS)),
    *((TAG, TAG), (POS, POS), (LEMMA_POS, TAG), (LEMMA_POS, POS), (TAG, WORD), (POS, LEMMA), (LEMMA, LEMMA)),
    *((TAG, LEFT_TAGS), (TAG, RIGHT_TAGS), (LEFT_TAGS, TAG), (RIGHT_TAGS, TAG), (LEMMA, WORD)),
    *((TAG, LEFT_WORD), (LEMMA, LEFT_WORD), (TAG, RIGHT_WORD), (TAG, THREE_TAGS), (RIGHT_TAG, TAG)),
    *((TAG, LEMMA_POS), (LEMMA_POS, LEMMA_POS), (LEMMA, LEFT_TAGS), (LEMMA, RIGHT_TAGS)),
    *((end, MORPHOLOGY) for end in (BIAS, TAG, POS, LEMMA, LEMMA_POS, MORPHOLOGY)),
    *((MORPHOLOGY, end) for end in (BIAS, TAG)),
    *((end, child) for end in (BIAS, TAG) for child in (FIRST_WORD, FIRST_TAG, LAST_WORD, LAST_TAG)),
)
RELATION_PAIRS = np.array(_RELATION_PAIRS)  # columns of head and dependent that are paired for relations

AROUND = 3  # number of concatenated vectors per word: its own and those of the previous and the next word


class CodedSentence(NamedTuple):
    """Encoded training sentence: the feature ids of each token, the heads, and optional real-valued features."""

    table: Ints32
    heads: Ints32
    dense: Floats | None = None


def check_trees(trees: Sequence[Tree]) -> None:
    """Raise InputError if there are no sentences, a sentence is empty, or heads do not form a tree."""
    if not trees:
        raise InputError("a parser requires at least one sentence")
    for at, tree in enumerate(trees, 1):
        if not len(tree):
            raise InputError(f"sentence {at} has no words")
        if len(tree.heads) != len(tree) or not 0 <= tree.heads.min() <= tree.heads.max() <= len(tree):
            got = tree.heads.tolist()
            raise InputError(f"sentence {at}: each word must have a head from 0 to {len(tree)}; got {got}")
        check_heads(tree.heads, f"sentence {at}")


class SeveralRootsWarning(InputWarning):
    """Warning issued when training sentences have several roots but the parser predicts only one."""


def known_features(trees: Iterable[Tree], *, min_count: int) -> dict[str, int]:
    """Return the ids of the features that occur at least ``min_count`` times."""
    counts = Counter(feature for tree in trees for row in token_features(tree) for feature in row if feature)
    return numbered(counts, min_count=min_count)


def numbered(counts: Counter[str], *, min_count: int) -> dict[str, int]:
    """Return the ids of the features whose count is at least ``min_count``."""
    return {feature: at for at, feature in enumerate(f for f, count in counts.items() if count >= min_count)}


def coded(rows: Sequence[Sequence[str]], known: dict[str, int]) -> Ints32:
    """Encode feature names as ids, with -1 for unknown features and padding."""
    width = max(map(len, rows))
    padded = chain.from_iterable([*row, *[""] * (width - len(row))] for row in rows)
    return np.fromiter(map(known.get, padded, repeat(-1)), np.int32, len(rows) * width).reshape(-1, width)


def vector_rows(forms: Sequence[str], vectors: Embedding | None) -> Floats | None:
    """Return the vectors of each word and its neighbours, shape (n + 1, 3 * rank), or None without vectors.

    Vectors have unit length. A word without a vector is looked up in lower case, else it is zero.
    """
    if vectors is None:
        return None
    at = np.array([vectors.index.get(form, vectors.index.get(form.lower(), -1)) for form in forms])
    rank = vectors.rank
    rows = np.zeros((len(forms) + 1, AROUND * rank), np.float32)
    rows[1:, :rank] = np.where(at[:, None] >= 0, vectors.unit[at], 0)
    rows[2:, rank : 2 * rank] = rows[1:-1, :rank]
    rows[1:-1, 2 * rank :] = rows[2:, :rank]
    return rows


def with_children(table: Ints32, heads: Ints32) -> Ints32:
    """Replace the morphological features of each word by the word and tag of its first and last dependent."""
    words = np.arange(1, len(table))
    below = np.zeros((4, len(table)), np.int64)
    below[:2, heads[::-1]] = words[::-1]  # the last assignment, the first word, wins
    below[2:, heads] = words
    children = table[below, np.array([WORD, TAG, WORD, TAG])[:, None]]
    numbers = np.where(below == 0, 0, np.where(children < 0, -1, children + 1))
    numbers += np.where(numbers < 0, 0, (np.arange(1, 5) << SHIFT)[:, None])
    return np.concatenate([table[:, :FIXED], numbers.T], axis=1, dtype=np.int32)
