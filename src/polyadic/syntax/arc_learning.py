r"""Online passive-aggressive learning of dependency arcs and their relation labels.

The best tree under cost-augmented scores, where each wrong head adds one, is compared with the correct tree:

.. math:: \text{loss} = \text{cost}(\hat y) + S(\hat y) - S(y), \qquad \hat y = \arg\max_{y'} S(y') + \text{cost}(y')

A step (:func:`~polyadic.syntax.kernels.arc_tensor.step_tensor_arcs`) updates theta, U, V and W together, as in the
authors' program, or theta and one of U, V and W in turn, as in the paper. The final parameters are averages over the
sentences, as in the program. Each factor is averaged by itself, so they are not the factors of the mean score, which
does not have low rank. After learning from 1,000 sentences of the English Web Treebank, the UAS of the development part
is .820 with averages and .816 with the last parameters.

Features of relations include the first and last dependent of a word, which are known once the tree is: a noun with a
preposition below it is ``obl`` or ``nmod``. On the same part they lower the share of wrong relations, given the correct
head, from 8 % to 5 %. Morphology adds five points of LAS in Hungarian and four in Turkish.

References
----------
Lei, Xin, Zhang, Barzilay, Jaakkola (2014), Low-rank tensors for scoring dependency structures. Crammer et al. (2006),
Online passive-aggressive algorithms
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from polyadic.core.annotations import AnyArray, Array, Floats, Ints, Ints32
from polyadic.core.kernels.common import mean_weights
from polyadic.syntax.arc_features import RELATION_PAIRS, with_children
from polyadic.syntax.kernels.arc_tensor import ArcParts, FeaturePairs, score_tensor_arcs, scratch_of, step_tensor_arcs
from polyadic.syntax.kernels.arcs import score_arc_labels, step_arc_labels

Decoder = Callable[[Array], Ints32]
Updates = Literal["all", "cyclic"]
_TURNS = ((True, False, False), (False, True, False), (False, False, True))  # which of U, V and W is updated


class ArcLearner:
    """Online passive-aggressive learner of arc scores; ``decode`` maps tables of scores to the best heads."""

    def __init__(
        self, parts: ArcParts, pairs: FeaturePairs, *, gamma: float, C: float, decode: Decoder, updates: Updates = "all"
    ) -> None:
        self.parts, self.pairs, self.gamma, self.C = parts, pairs, gamma, C
        self.decode, self.updates = decode, updates
        self.clock = self._steps = 0
        self._sums = ArcParts(*map(np.zeros_like, parts))
        self._scratch = scratch_of(parts)

    def learn(self, table: Ints32, heads: AnyArray, dense: Floats | None = None) -> tuple[Ints32, float]:
        """Update the parameters on one sentence and return the predicted tree and the loss."""
        scores, products = score_tensor_arcs(table, self.parts, self.pairs, gamma=self.gamma, dense=dense)
        words = np.arange(1, len(table))
        augmented = scores + 1
        augmented[heads, words] -= 1
        predicted = self._best(table, augmented, heads)
        wrong = int((predicted != heads).sum())
        self.clock += 1
        if not wrong:
            return predicted, 0.0
        loss = wrong + self._excess(table, scores, heads, predicted)
        if loss > 0:
            moves = _TURNS[self._steps % 3] if self.updates == "cyclic" else (True, True, True)
            self._steps += 1
            how: dict[str, Any] = {"gamma": self.gamma, "C": self.C, "clock": self.clock, "moves": moves}
            how |= {"sums": self._sums, "scratch": self._scratch, "dense": dense}
            self._step(table, how | {"products": products, "heads": heads, "predicted": predicted, "loss": loss})
        return predicted, max(loss, 0.0)

    def _best(self, _: Ints32, scores: Array, __: AnyArray) -> Ints32:
        """Return the heads of the highest-scoring tree."""
        return self.decode(scores[None])[0]

    def _excess(self, _: Ints32, S: Array, heads: AnyArray, predicted: AnyArray) -> float:
        """Return the score of the predicted tree minus the score of the correct tree."""
        words = np.arange(1, len(S))
        return float(S[predicted, words].sum() - S[heads, words].sum())

    def _step(self, table: Ints32, how: dict[str, Any]) -> float:
        """Update the parameters and return the step size."""
        return step_tensor_arcs(table, self.parts, self.pairs, **how)

    def reached(self, *, averaged: bool) -> list[Floats]:
        """Return copies of the current parameters, or the averaged parameters if ``averaged``."""
        return list(self.mean()) if averaged else [part.copy() for part in self.parts]

    def mean(self) -> ArcParts:
        """Return the parameters averaged over the initial values and the values after each sentence."""
        pairs = zip(self.parts, self._sums, strict=True)
        return ArcParts(*(mean_weights(part, sums, self.clock) for part, sums in pairs))


class RelationLearner:
    """Online passive-aggressive learner of relation labels, with ``2 ** bits`` hashed weights per relation."""

    def __init__(self, relations: int, *, C: float, bits: int) -> None:
        self.weights, self._sums = np.zeros((2, 1 << bits, relations), np.float32)
        self.C, self.clock = C, 0

    def learn(self, table: Ints32, heads: Ints32, labels: Ints) -> int:
        """Update the weights on a sentence and return the number of wrongly predicted relations."""
        self.clock += 1
        how: dict[str, Any] = {"pairs": RELATION_PAIRS, "C": self.C, "clock": self.clock, "sums": self._sums}
        return step_arc_labels(with_children(table, heads), heads, labels, weights=self.weights, **how)

    def mean(self) -> Floats:
        """Return the weights averaged over the initial values and the values after each sentence."""
        return mean_weights(self.weights, self._sums, self.clock)


def best_relations(table: Ints32, heads: Ints32, weights: Floats, names: Sequence[str]) -> tuple[str, ...]:
    """Return the highest-scoring relation between each word and its head."""
    best = score_arc_labels(with_children(table, heads), heads, weights, pairs=RELATION_PAIRS).argmax(axis=1)
    return tuple(names[at] for at in best.tolist())
