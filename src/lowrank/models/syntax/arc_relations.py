"""The relations of dependency arcs whose heads are known, learned by passive-aggressive steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lowrank.kernels.arc_labels import score_arc_labels, step_arc_labels
from lowrank.text.token_features import (
    BIAS,
    LEFT_TAGS,
    LEFT_WORD,
    LEMMA,
    LEMMA_POS,
    POS,
    RIGHT_TAG,
    RIGHT_TAGS,
    RIGHT_WORD,
    TAG,
    THREE_TAGS,
    WORD,
    WORD_TAG,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_PAIRS = (
    *((end, BIAS) for end in (WORD_TAG, TAG, POS, LEMMA_POS)),
    *((BIAS, end) for end in (WORD_TAG, WORD, TAG, POS, LEMMA_POS, LEFT_TAGS, RIGHT_TAGS)),
    *((TAG, TAG), (POS, POS), (LEMMA_POS, TAG), (LEMMA_POS, POS), (TAG, WORD), (POS, LEMMA), (LEMMA, LEMMA)),
    *((TAG, LEFT_TAGS), (TAG, RIGHT_TAGS), (LEFT_TAGS, TAG), (RIGHT_TAGS, TAG), (LEMMA, WORD)),
    *((TAG, LEFT_WORD), (LEMMA, LEFT_WORD), (TAG, RIGHT_WORD), (TAG, THREE_TAGS), (RIGHT_TAG, TAG)),
    *((TAG, LEMMA_POS), (LEMMA_POS, LEMMA_POS), (LEMMA, LEFT_TAGS), (LEMMA, RIGHT_TAGS)),
)
PAIRS = np.array(_PAIRS)
"""Features of the head and of the word that are paired."""


class RelationLearner:
    """Weights of relations on their way, and the sums that make their means.

    Parameters
    ----------
    relations : int
        How many there are.
    C : float
        Of a step, at most.
    bits : int
        Each relation has as many weights as two to the power of it.
    """

    def __init__(self, relations: int, *, C: float, bits: int) -> None:
        self.weights = np.zeros((1 << bits, relations), np.float32)
        self.C = C
        self.clock = 0
        self._sums = np.zeros(self.weights.shape)

    def learn(self, table: NDArray[np.int32], heads: NDArray[np.int32], labels: NDArray[np.int64]) -> int:
        """Take a step for each word of a sentence; gives how many relations were wrong."""
        self.clock += 1
        return step_arc_labels(
            table, heads, labels, pairs=PAIRS, C=self.C, clock=self.clock, weights=self.weights, sums=self._sums
        )

    def mean(self) -> NDArray[np.float32]:
        """Give the mean of the weights at the start and after each sentence."""
        return (self.weights - self._sums / (self.clock + 1)).astype(np.float32)


def best_relations(
    table: NDArray[np.int32], heads: NDArray[np.int32], weights: NDArray[np.float32], names: Sequence[str]
) -> tuple[str, ...]:
    """Give the best relation of each word to its head."""
    best = score_arc_labels(table, heads, weights, pairs=PAIRS).argmax(axis=1)
    return tuple(names[at] for at in best.tolist())
