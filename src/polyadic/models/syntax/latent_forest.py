"""The derivations of a sentence that a plain grammar holds likely enough to be looked at more closely."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.kernels.syntax.chart import inside, outside, value_of
from polyadic.kernels.syntax.latent_chart import forest_edges
from polyadic.models.syntax.derivations import plain_scores, word_rows
from polyadic.models.syntax.pcfg import ROOT, SCALE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.kernels.syntax.chart import ChartRules
    from polyadic.models.syntax.pcfg import PCFG


class Forest(NamedTuple):
    """The derivations of a sentence that are looked at.

    Attributes
    ----------
    edges : ndarray of int32 of shape (edges, 4)
        See :func:`~polyadic.kernels.syntax.latent_chart.forest_edges`.
    nodes : ndarray of int of shape (nodes, 3)
        Layer, cell and symbol of each.
    leaves : dict of int to int
        Place of the word of each node that is a tag.
    root : int
    """

    edges: NDArray[np.int32]
    nodes: NDArray[np.int64]
    leaves: dict[int, int]
    root: int


def plain_forest(
    plain: PCFG, rules: ChartRules, words: Sequence[str], *, tags: Sequence[str] | None = None, threshold: float
) -> Forest | None:
    """List the derivations whose nodes have at least some marginal by a plain grammar; None if it has none.

    Parameters
    ----------
    plain : PCFG
    rules : ChartRules
        Of its grammar, each symbol a block of its own.
    words : sequence of str
    tags : sequence of str, optional
        As for :meth:`~polyadic.models.syntax.pcfg.PCFG.k_best`.
    threshold : float
    """
    number = {name: at for at, name in enumerate(plain.grammar_.symbols)}
    scores = plain.word_scores(words, tags)
    coarse = plain.allowed(plain_scores(scores))
    places, symbols, values = word_rows(scores, number)
    best = np.array([max(found.values()) for found in scores])
    weights = SCALE * np.exp(np.array(values) - best[places])
    fine = None if coarse is None else coarse[:, :, plain.grammar_.block]
    filled = inside(rules, places, symbols, weights, summed=True, allowed=fine)
    total = value_of(rules, filled, number[ROOT])
    if not 0 < total < np.inf:
        return None
    shares = np.append(filled.values * outside(rules, filled, number[ROOT]) / total, -1)
    kept = (shares[filled.base] >= threshold) & (shares[filled.base] > 0)
    nodes = np.argwhere(kept)
    slots = np.full(kept.shape, -1, np.int32)
    slots[kept] = np.arange(len(nodes))
    cells = np.arange(1, len(words) + 1) * np.arange(2, len(words) + 2) // 2 - 1
    leaves = {int(slots[0, cells[i], s]): i for i, s in zip(places, symbols, strict=True)}
    root = int(slots[1, len(words) * (len(words) - 1) // 2, number[ROOT]])
    return Forest(forest_edges(rules, slots), nodes, {k: i for k, i in leaves.items() if k >= 0}, root)
