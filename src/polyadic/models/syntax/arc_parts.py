"""What a low-rank parser learns first: numbers of features, the pairs of a sparse parser, and where a tensor starts."""

from __future__ import annotations

import warnings
from collections import Counter
from itertools import chain, repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.errors import InputError
from polyadic.kernels.syntax.arc_tensor import DISTANCES, ArcParts, Pairs, tensor_cells
from polyadic.linalg.unfolded import unfolded_start
from polyadic.models.syntax.arc_vectors import vector_rows
from polyadic.progress import tracked
from polyadic.solvers.syntax.arc_tensor import ArcLearner
from polyadic.text.syntax.token_features import (
    BIAS,
    LEFT_TAGS,
    LEMMA,
    LEMMA_POS,
    POS,
    RIGHT_TAGS,
    TAG,
    WORD,
    WORD_TAG,
    token_features,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from polyadic.embedding import Embedding
    from polyadic.solvers.syntax.arc_tensor import Decoder
    from polyadic.text.syntax.token_features import TokenCoder
    from polyadic.text.syntax.trees import Tree

_PAIRS = (
    *((end, BIAS) for end in (WORD_TAG, WORD, TAG)),
    *((BIAS, end) for end in (WORD_TAG, WORD, TAG)),
    *((WORD_TAG, WORD_TAG), (TAG, WORD_TAG), (WORD, WORD_TAG), (WORD_TAG, TAG), (WORD_TAG, WORD), (WORD, WORD)),
    *((TAG, TAG), (POS, POS), (LEMMA, LEMMA), (LEMMA, POS), (POS, LEMMA), (LEMMA_POS, LEMMA_POS)),
    *((RIGHT_TAGS, LEFT_TAGS), (LEFT_TAGS, LEFT_TAGS), (RIGHT_TAGS, RIGHT_TAGS), (LEFT_TAGS, RIGHT_TAGS)),
    *((RIGHT_TAGS, TAG), (LEFT_TAGS, TAG), (TAG, LEFT_TAGS), (TAG, RIGHT_TAGS)),
)
PAIRS = Pairs(np.array(_PAIRS), TAG)
"""Features of the head and of the word that are paired (McDonald et al. 2005); tags between them come in too."""


class Sentence(NamedTuple):
    """A sentence to learn from: features of the root and the words, heads, and features that are numbers."""

    table: NDArray[np.int32]
    heads: NDArray[np.int32]
    dense: NDArray[np.float32] | None = None

    @classmethod
    def of(cls, tree: Tree, coder: TokenCoder, vectors: Embedding | None) -> Sentence:
        """Look up what a parser knows of a sentence."""
        return cls(coded_tree(tree, coder), tree.heads, vector_rows(tree.forms, vectors))


def check_trees(trees: Sequence[Tree]) -> None:
    """Refuse a treebank without sentences, sentences without words, and heads that are no tree.

    Raises
    ------
    InputError
    """
    if not trees:
        raise InputError("a parser needs at least one sentence")
    for at, tree in enumerate(trees, 1):
        if not len(tree):
            raise InputError(f"sentence {at} has no words")
        if len(tree.heads) != len(tree) or not 0 <= tree.heads.min() <= tree.heads.max() <= len(tree):
            raise InputError(f"sentence {at}: each word needs a head from 0 to {len(tree)}; got {tree.heads.tolist()}")
        above = np.concatenate([[0], tree.heads])
        for _ in range(len(tree).bit_length()):  # each time twice as far up
            above = above[above]
        if above.any():
            raise InputError(f"sentence {at}: word {int(np.flatnonzero(above)[0])} does not come up to the root")


class SeveralRootsWarning(UserWarning):
    """Sentences to learn from have several roots, which the parser does not give."""


def check_tagged(trees: Sequence[Tree]) -> None:
    """Refuse a treebank none of whose words has a part of speech.

    Raises
    ------
    InputError
    """
    if all(tag == "_" for tree in trees for tag in (*tree.xpos, *tree.upos)):
        raise InputError("no word has a part of speech, in column 4 or 5; a parser needs them: tag the words first")


def tell_of_roots(trees: Sequence[Tree]) -> None:
    """Warn of sentences of which several words are roots."""
    if several := sum(int((tree.heads == 0).sum() > 1) for tree in trees):
        warnings.warn(
            f"sentences with several roots: {several:,} of {len(trees):,}; unless one_root is off, parses have one",
            SeveralRootsWarning,
            stacklevel=3,
        )


def known_features(trees: Iterable[Tree], *, least: int) -> dict[str, int]:
    """Give numbers to the features that words of some sentences have at least so many times."""
    counts = Counter(feature for tree in trees for row in rows_of(tree) for feature in row if feature)
    return {feature: at for at, feature in enumerate(f for f, count in counts.items() if count >= least)}


def rows_of(tree: Tree) -> list[list[str]]:
    """Give the features of the root and the words of a sentence."""
    return token_features(tree.forms, tree.xpos, pos=tree.upos, lemmas=tree.lemmas, features=tree.features)


def coded_tree(tree: Tree, coder: TokenCoder) -> NDArray[np.int32]:
    """Give the numbers of features of the root and the words of a sentence."""
    return coder(tree.forms, tree.xpos, pos=tree.upos, lemmas=tree.lemmas, features=tree.features)


def coded(rows: Sequence[Sequence[str]], known: dict[str, int]) -> NDArray[np.int32]:
    """Give the numbers of features; minus one for those that are not known, and where a row is shorter."""
    width = max(map(len, rows))
    padded = chain.from_iterable([*row, *[""] * (width - len(row))] for row in rows)
    return np.fromiter(map(known.get, padded, repeat(-1)), np.int32, len(rows) * width).reshape(-1, width)


def random_parts(features: int, rank: int, *, bits: int, rng: np.random.Generator) -> ArcParts:
    """Give weights of zero and small random factors; dense values count as features."""
    draw = [rng.normal(scale=0.1, size=(rows, rank)).astype(np.float32) for rows in (features, features, DISTANCES)]
    return ArcParts(np.zeros(1 << bits, np.float32), *draw)


def surrogate_parts(
    sentences: Sequence[Sentence], parts: ArcParts, *, C: float, decode: Decoder, rng: np.random.Generator
) -> ArcParts:
    """Learn pairs alone for one epoch and put their weights into a tensor of low rank; theta is zero again.

    Parameters
    ----------
    sentences : sequence of Sentence
    parts : ArcParts
        Of the sizes wanted.
    C : float
    decode : callable
        Gives the heads of the best tree for the scores of arcs.
    rng : numpy.random.Generator
        Of the order of the sentences.
    """
    theta = np.zeros_like(parts.theta)
    learner = ArcLearner(parts._replace(theta=theta), PAIRS, gamma=1.0, C=C, decode=decode)
    used = []
    for at in tracked(rng.permutation(len(sentences)).tolist(), "learning pairs"):
        found, loss = learner.learn(sentences[at].table, sentences[at].heads)
        if loss:
            used += [(at, sentences[at].heads), (at, found)]
    weights = learner.mean().theta
    found_cells = [tensor_cells(sentences[at].table, weights, PAIRS, heads=heads) for at, heads in used]
    F, rank = parts.U.shape
    cells = np.concatenate([np.zeros((0, 3), np.int64), *(cells for cells, _ in found_cells)])
    values = np.concatenate([np.zeros(0), *(values for _, values in found_cells)])
    _, first = np.unique((cells[:, 0] * F + cells[:, 1]) * DISTANCES + cells[:, 2], return_index=True)
    first = first[values[first] != 0]
    factors = unfolded_start(cells[first], values[first], (F, F, DISTANCES), rank=rank)
    return ArcParts(np.zeros_like(theta), *(factor.astype(np.float32) for factor in factors))
