"""Low-rank parsing of the English Web Treebank by training size, with the tensor and without.

Tags, lemmas and morphology are the treebank's. The parser with the tensor has the settings that it comes with, which
were chosen on the development part; the one without (gamma = 1) learns for as many of :data:`PASSES` as is best there.
"""

from __future__ import annotations

import time
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.data.annotated import web_treebank
from polyadic.core.errors import check_int
from polyadic.core.stage_cache import whole
from polyadic.metrics.dependencies import dependency_figures, dependency_score, match_trees
from polyadic.metrics.figures import difference
from polyadic.syntax.arc_features import PAIRS, TokenCoder, check_trees, known_features
from polyadic.syntax.kernels.arc_tensor import DISTANCES, hashed_cells, tensor_cells
from polyadic.syntax.low_rank_parser import LowRankParser
from polyadic.syntax.text_tagger import TextTagger

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from polyadic.core.stage_cache import Facts
    from polyadic.metrics.dependencies import Attached
    from polyadic.syntax.trees import Tree

    Root = str | os.PathLike[str] | None

GAMMA = 0.3
PASSES = (5, 8)
FOLDS = 5


def curve(sizes: Sequence[int], *, seed: int, root: Root = None) -> list[Facts]:
    """Train with and without the tensor on the given number of sentences, and evaluate both on the test part.

    ``sizes``: Sentences, drawn from the training part; larger draws hold the smaller ones. ``seed``: Of the draw, and
    of the order of the sentences.
    """
    train, dev, test = (web_treebank(part, root=root) for part in ("train", "dev", "test"))
    order = np.random.default_rng(seed).permutation(len(train))
    return [
        compared([train[at] for at in np.sort(order[:size])], dev=dev, test=test, seed=seed)
        for size in dict.fromkeys(min(size, len(train)) for size in sizes)
    ]


def compared(train: list[Tree], *, dev: list[Tree], test: list[Tree], seed: int) -> Facts:
    """Learn with the tensor and without; the row of :func:`curve`."""
    with_tensor = _learned(train, seed=seed)
    without = max(
        (_learned(train, seed=seed, gamma=1.0, max_iter=passes) for passes in PASSES),
        key=lambda trained: dependency_score(_matched(trained[0], dev)).las,
    )
    row: Facts = {"sentences": len(train), "seed": seed}
    judged = {}
    for name, (parser, seconds) in {"with": with_tensor, "without": without}.items():
        start = time.process_time()
        judged[name] = _matched(parser, test)
        rate = len(test) / (time.process_time() - start)
        row[name] = {
            "dev": dependency_score(_matched(parser, dev)).as_dict(),
            "test": [figure.as_dict() for figure in dependency_figures(judged[name])],
            "passes": parser.n_iter_,
            "losses": parser.history_[1:],
            "seconds": seconds,
            "sentences_a_second": rate,
        }
    figures = zip(*(dependency_figures(judged[name]) for name in ("with", "without")), strict=True)
    row["worth"] = {figure.name: difference(figure, other)._asdict() for figure, other in figures}
    return row


def tagged(*, seed: int, root: Root = None) -> Facts:
    """Parse with parts of speech, lemmas and morphology that are found too; all models learn from all sentences."""
    train, test = (web_treebank(part, root=root) for part in ("train", "test"))
    cut = [train[fold::FOLDS] for fold in range(FOLDS)]
    predicted = list(whole(TextTagger(seed=seed).fit(train)).annotate(test))
    folds = [
        tree
        for fold, part in enumerate(cut)
        for tree in whole(TextTagger(seed=seed).fit(chain(*cut[:fold], *cut[fold + 1 :]))).annotate(part)
    ]
    own, learned = (_learned(trees, seed=seed)[0] for trees in (train, folds))
    sides = {"gold": (own, test), "found": (own, predicted), "folds": (learned, predicted)}
    return {"seed": seed} | {
        name: [figure.as_dict() for figure in dependency_figures(_matched(parser, trees, gold=test))]
        for name, (parser, trees) in sides.items()
    }


def _learned(
    train: list[Tree], *, seed: int, gamma: float = GAMMA, max_iter: int = PASSES[0]
) -> tuple[LowRankParser, float]:
    """Return a parser, and the seconds of processor time in which it learned."""
    start = time.process_time()
    parser = whole(LowRankParser(gamma=gamma, max_iter=max_iter, seed=seed).fit(train))
    return parser, time.process_time() - start


def _matched(parser: LowRankParser, trees: Sequence[Tree], *, gold: Sequence[Tree] = ()) -> list[Attached]:
    """Compare what a parser finds with the treebank, sentence by sentence."""
    return [match_trees(*pair) for pair in zip(gold or trees, parser.annotate(trees), strict=True)]


class Collisions(NamedTuple):
    """Number of feature pairs, number of hashed cells in use, and share of pairs that share a cell."""

    pairs: int
    cells: int
    shared: float


def pair_collisions(trees: Iterable[Tree], *, bits: int = 22, min_count: int = 1) -> Collisions:
    """Count the feature pairs of the arcs of trees, with and without distance, and their hash collisions.

    Pairs of wrongly predicted arcs and of tags between the ends of arcs use the same cells but are not counted.

    Examples
    --------
    >>> from polyadic.syntax.trees import Tree
    >>> none, heads = ("_", "_"), np.array([2, 0], np.int32)
    >>> dogs = Tree(("Dogs", "bark"), none, none, ("NNS", "VBP"), none, heads, none, none, none)
    >>> pair_collisions([dogs, dogs], bits=20)
    Collisions(pairs=84, cells=84, shared=0.0)
    """
    check_int("bits", bits, low=4, high=30)
    check_int("min_count", min_count, low=1)
    treebank = list(trees)
    check_trees(treebank)
    known = known_features(treebank, min_count=min_count)
    coder = TokenCoder(known)
    no_weights = np.zeros(16, np.float32)
    keys = []
    for tree in treebank:
        triples, _ = tensor_cells(coder(tree), no_weights, PAIRS, heads=tree.heads)
        keys.append((triples[:, 0] * len(known) + triples[:, 1]) * DISTANCES + triples[:, 2])
    ends, away = np.divmod(np.unique(np.concatenate(keys)), DISTANCES)
    cells = hashed_cells(np.stack([*np.divmod(ends, len(known)), away], axis=1), bits=bits)
    used, times = np.unique(cells, return_counts=True)
    alone = int((times == 1).sum())
    return Collisions(len(cells), len(used), 1 - alone / len(cells) if len(cells) else 0.0)
