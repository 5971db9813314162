"""Where a low-rank parser starts: at random, or at a tensor near the weights of a sparse parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.kernels.syntax.arc_tensor import DISTANCES, ArcParts, tensor_cells
from polyadic.linalg.unfolded import unfolded_start
from polyadic.models.syntax.arc_features import PAIRS
from polyadic.progress import tracked
from polyadic.solvers.syntax.arc_tensor import ArcLearner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyadic.models.syntax.arc_features import Sentence
    from polyadic.solvers.syntax.arc_tensor import Decoder


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
        predicted, loss = learner.learn(sentences[at].table, sentences[at].heads)
        if loss:
            used += [(at, sentences[at].heads), (at, predicted)]
    weights = learner.mean().theta
    listed = [tensor_cells(sentences[at].table, weights, PAIRS, heads=heads) for at, heads in used]
    F, rank = parts.U.shape
    cells = np.concatenate([np.zeros((0, 3), np.int64), *(cells for cells, _ in listed)])
    values = np.concatenate([np.zeros(0), *(values for _, values in listed)])
    _, first = np.unique((cells[:, 0] * F + cells[:, 1]) * DISTANCES + cells[:, 2], return_index=True)
    first = first[values[first] != 0]
    factors = unfolded_start(cells[first], values[first], (F, F, DISTANCES), rank=rank)
    return ArcParts(np.zeros_like(theta), *(factor.astype(np.float32) for factor in factors))
