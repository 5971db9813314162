"""Features of sentences for a parser: feature ids, joined pairs and word vectors."""

from __future__ import annotations

import warnings
from collections import Counter
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.errors import InputError, InputWarning
from polyadic.syntax.kernels.arc_tensor import FeaturePairs
from polyadic.syntax.token_features import (
    BIAS,
    LEFT_TAGS,
    LEMMA,
    LEMMA_POS,
    MORPHOLOGY,
    POS,
    RIGHT_TAGS,
    TAG,
    WORD,
    WORD_TAG,
    TokenCoder,
    token_features,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from polyadic.embedding import Embedding
    from polyadic.syntax.trees import Tree

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

AROUND = 3
"""Number of concatenated vectors per word: its own and those of the previous and the next word."""


class CodedSentence(NamedTuple):
    """A training sentence: feature ids of the root and the words, heads, and real-valued features."""

    table: NDArray[np.int32]
    heads: NDArray[np.int32]
    dense: NDArray[np.float32] | None = None

    @classmethod
    def of(cls, tree: Tree, coder: TokenCoder, vectors: Embedding | None) -> CodedSentence:
        """Encode a sentence."""
        return cls(coded_tree(tree, coder), tree.heads, vector_rows(tree.forms, vectors))


def check_trees(trees: Sequence[Tree]) -> None:
    """Raise InputError if there are no sentences, a sentence is empty, or heads do not form a tree."""
    if not trees:
        raise InputError("a parser needs at least one sentence")
    for at, tree in enumerate(trees, 1):
        if not len(tree):
            raise InputError(f"sentence {at} has no words")
        if len(tree.heads) != len(tree) or not 0 <= tree.heads.min() <= tree.heads.max() <= len(tree):
            raise InputError(f"sentence {at}: each word needs a head from 0 to {len(tree)}; got {tree.heads.tolist()}")
        above = np.concatenate([[0], tree.heads])
        for _ in range(len(tree).bit_length()):  # doubles the distance each time
            above = above[above]
        if above.any():
            raise InputError(f"sentence {at}: word {int(np.flatnonzero(above)[0])} does not lead to the root")


class SeveralRootsWarning(InputWarning):
    """Training sentences have several roots, but the parser predicts one."""


def check_tagged(trees: Sequence[Tree]) -> None:
    """Raise InputError if no word has a part of speech."""
    if all(tag == "_" for tree in trees for tag in (*tree.xpos, *tree.upos)):
        raise InputError("no word has a part of speech in column 4 or 5; a parser needs them, so tag the words first")


def warn_several_roots(trees: Sequence[Tree]) -> None:
    """Warn of training sentences with several roots."""
    if several := sum(int((tree.heads == 0).sum() > 1) for tree in trees):
        warnings.warn(
            SeveralRootsWarning(
                f"sentences with several roots: {several:,} of {len(trees):,}; parses have one root unless"
                " one_root=False",
                "one_root",
            ),
            stacklevel=3,
        )


def known_features(trees: Iterable[Tree], *, min_count: int) -> dict[str, int]:
    """Return ids of the features that occur at least ``min_count`` times."""
    counts = Counter(feature for tree in trees for row in rows_of(tree) for feature in row if feature)
    return {feature: at for at, feature in enumerate(f for f, count in counts.items() if count >= min_count)}


def rows_of(tree: Tree) -> list[list[str]]:
    """Return the features of the root and the words of a sentence."""
    return token_features(tree.forms, tree.xpos, pos=tree.upos, lemmas=tree.lemmas, features=tree.features)


def coded_tree(tree: Tree, coder: TokenCoder) -> NDArray[np.int32]:
    """Return the feature ids of the root and the words of a sentence."""
    return coder(tree.forms, tree.xpos, pos=tree.upos, lemmas=tree.lemmas, features=tree.features)


def coded(rows: Sequence[Sequence[str]], known: dict[str, int]) -> NDArray[np.int32]:
    """Return feature ids; -1 for unknown features and for padding."""
    width = max(map(len, rows))
    padded = chain.from_iterable([*row, *[""] * (width - len(row))] for row in rows)
    return np.fromiter(map(known.get, padded, repeat(-1)), np.int32, len(rows) * width).reshape(-1, width)


def vector_rows(forms: Sequence[str], vectors: Embedding | None) -> NDArray[np.float32] | None:
    """Return the word vectors of the root (zeros) and of each word with its neighbours, or None without vectors.

    Vectors have unit length. A word without a vector is looked up in lower case, else it is zero. The result has shape
    (n + 1, 3 * rank).

    References
    ----------
    Lei, Xin, Zhang, Barzilay, Jaakkola (2014), Low-rank tensors for scoring dependency structures, table 1

    Examples
    --------
    >>> from polyadic.embedding import Embedding
    >>> vector_rows(["Dogs", "bark"], Embedding(["dogs", "bark"], [[2.0], [-3.0]])).tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]]
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
