r"""Learning to score dependency arcs: passive-aggressive steps, sentence by sentence.

The tree that the model would choose if each wrong head earned one more (cost-augmented) is compared with the right one:

.. math:: \text{loss} = \text{cost}(\hat y) + S(\hat y) - S(y), \qquad \hat y = \arg\max_{y'} S(y') + \text{cost}(y')

and theta, U, V and W move together by :func:`~polyadic.syntax.kernels.arc_tensor.step_tensor_arcs`, as in the authors'
program;
or, as in the paper, theta and one of U, V and W, in turn from step to step.

The parts used in the end are means of those after each sentence: of each factor by itself, as in the authors' program,
and so not the factors of the mean score, which is of no low rank. Of 1,000 sentences of the English Web treebank it
parses the development part with a UAS of .820, the last parts with .816.

References
----------
Lei, Xin, Zhang, Barzilay, Jaakkola (2014), Low-rank tensors for scoring dependency structures. Crammer et al. (2006),
Online passive-aggressive algorithms
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from polyadic.core.kernels.averaging import mean_weights
from polyadic.syntax.kernels.arc_tensor import ArcParts, Moves, Pairs, Scratch, score_tensor_arcs, step_tensor_arcs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Decoder = Callable[[NDArray[np.float64]], NDArray[np.int32]]

Updates = Literal["all", "cyclic"]
_TURNS = (Moves(True, False, False), Moves(False, True, False), Moves(False, False, True))


class ArcLearner:
    """Parts on their way, and the sums that make their means.

    Parameters
    ----------
    parts : ArcParts
        Changed in place.
    pairs : Pairs
    gamma, C : float
    decode : callable
        Gives the heads of the best tree for each table of scores of arcs.
    updates : {"all", "cyclic"}
        Whether a step moves all of U, V and W, or one in turn.
    """

    def __init__(
        self, parts: ArcParts, pairs: Pairs, *, gamma: float, C: float, decode: Decoder, updates: Updates = "all"
    ) -> None:
        self.parts = parts
        self.pairs = pairs
        self.gamma = gamma
        self.C = C
        self.decode = decode
        self.updates = updates
        self.clock = 0
        self._steps = 0
        self._sums = ArcParts(*map(np.zeros_like, parts))
        self._scratch = Scratch.of(parts)

    def learn(
        self, table: NDArray[np.int32], heads: NDArray[Any], dense: NDArray[np.float32] | None = None
    ) -> tuple[NDArray[np.int32], float]:
        """Take one step for a sentence; gives the tree that was compared, and the loss."""
        scored = score_tensor_arcs(table, self.parts, self.pairs, gamma=self.gamma, dense=dense)
        words = np.arange(1, len(table))
        augmented = scored.scores + 1
        augmented[heads, words] -= 1
        predicted = self._best(table, augmented, heads)
        wrong = int((predicted != heads).sum())
        self.clock += 1
        if not wrong:
            return predicted, 0.0
        loss = wrong + self._excess(table, scored.scores, heads, predicted)
        if loss > 0:
            how: dict[str, Any] = {"gamma": self.gamma, "C": self.C, "clock": self.clock}
            how |= {"sums": self._sums, "scratch": self._scratch, "dense": dense}
            how["moves"] = _TURNS[self._steps % 3] if self.updates == "cyclic" else Moves()
            self._steps += 1
            how |= {"scored": scored, "heads": heads, "predicted": predicted, "loss": loss}
            self._step(table, how)
        return predicted, max(loss, 0.0)

    def _best(self, _: NDArray[np.int32], scores: NDArray[np.float64], __: NDArray[Any]) -> NDArray[np.int32]:
        """Give the best tree of a sentence for scores of arcs; some learners look at its words and its right tree."""
        return self.decode(scores[None])[0]

    def _excess(
        self, _: NDArray[np.int32], S: NDArray[np.float64], heads: NDArray[Any], predicted: NDArray[Any]
    ) -> float:
        """Give by how much the score of the tree found exceeds that of the right one."""
        words = np.arange(1, len(S))
        return float(S[predicted, words].sum() - S[heads, words].sum())

    def _step(self, table: NDArray[np.int32], how: dict[str, Any]) -> float:
        """Move the parts; gives the step."""
        return step_tensor_arcs(table, self.parts, self.pairs, **how)

    def reached(self, *, averaged: bool) -> list[NDArray[np.float32]]:
        """Give copies of the parts as they are, or their means."""
        return list(self.mean()) if averaged else [part.copy() for part in self.parts]

    def mean(self) -> ArcParts:
        """Give the mean of the parts at the start and after each sentence."""
        pairs = zip(self.parts, self._sums, strict=True)
        return ArcParts(*(mean_weights(part, sums, self.clock) for part, sums in pairs))
