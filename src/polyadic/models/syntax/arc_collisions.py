"""How many pairs of features a treebank has, and how many of them share a weight since they are hashed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.errors import check_int
from polyadic.kernels.syntax.arc_tensor import DISTANCES, hashed_cells, tensor_cells
from polyadic.models.syntax.arc_features import PAIRS, check_trees, coded_tree, known_features
from polyadic.text.syntax.token_features import TokenCoder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyadic.text.syntax.trees import Tree


class Collisions(NamedTuple):
    """Pairs that a treebank has, cells that they have their weights in, and the share of pairs not alone in theirs."""

    pairs: int
    cells: int
    shared: float


def pair_collisions(trees: Iterable[Tree], *, bits: int = 22, least: int = 1) -> Collisions:
    r"""Count the pairs of features, with and without distance, of the arcs of some trees, and those that collide.

    A parser has weights for arcs that it found by mistake too, and for tags between the ends of arcs; they are in the
    same cells and not counted here.

    Parameters
    ----------
    trees : iterable of Tree
    bits : int
        There are :math:`2^\text{bits}` cells.
    least : int
        Times that a feature must be seen to be known.

    Raises
    ------
    InputError
        If there are no sentences, heads are no tree, or a parameter is out of range.

    Examples
    --------
    >>> from polyadic.text.syntax.trees import Tree
    >>> none, heads = ("_", "_"), np.array([2, 0], np.int32)
    >>> dogs = Tree(("Dogs", "bark"), none, none, ("NNS", "VBP"), none, heads, none, none, none)
    >>> pair_collisions([dogs, dogs], bits=20)
    Collisions(pairs=84, cells=84, shared=0.0)
    """
    check_int("bits", bits, low=4, high=30)
    check_int("least", least, low=1)
    treebank = list(trees)
    check_trees(treebank)
    known = known_features(treebank, least=least)
    coder = TokenCoder(known)
    room = np.zeros(16, np.float32)  # weights are not asked for
    keys = []
    for tree in treebank:
        triples, _ = tensor_cells(coded_tree(tree, coder), room, PAIRS, heads=tree.heads)
        keys.append((triples[:, 0] * len(known) + triples[:, 1]) * DISTANCES + triples[:, 2])
    ends, away = np.divmod(np.unique(np.concatenate(keys)), DISTANCES)
    cells = hashed_cells(np.stack([*np.divmod(ends, len(known)), away], axis=1), bits=bits)
    used, times = np.unique(cells, return_counts=True)
    alone = int((times == 1).sum())
    return Collisions(len(cells), len(used), 1 - alone / len(cells) if len(cells) else 0.0)
