"""Parsing with parts of several arcs, with the tensor and without, and search errors.

The English Web Treebank with its own tags, lemmas and morphology. A *search error* is a sentence whose tree in the
treebank has a higher score than the tree that was found.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.data.annotated import web_treebank
from polyadic.core.stage_cache import whole
from polyadic.metrics.dependencies import dependency_figures, dependency_score, match_trees
from polyadic.metrics.figures import difference
from polyadic.syntax.higher_order import HigherOrderParser
from polyadic.syntax.low_rank_parser import LowRankParser

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from polyadic.metrics.dependencies import Attached
    from polyadic.syntax.low_rank_parser import Decoding
    from polyadic.syntax.trees import Tree

    Root = str | os.PathLike[str] | None
    Facts = dict[str, Any]

PASSES = 5
"""Over the sentences, for all that are compared."""


def higher_orders(
    size: int,
    *,
    seed: int = 0,
    orders: Sequence[int] = (1, 2, 3),
    gammas: Sequence[float] = (0.3, 1.0),
    decoding: Decoding = "projective",
    part: str = "dev",
    restarts: Sequence[int] = (),
    root: Root = None,
) -> Facts:
    """Learn parsers of each order from the same sentences, and judge them on a part of the treebank.

    ``size``: Sentences, drawn from the training part. ``seed``: Of the draw and of the parsers. ``orders``: Of 1, 2 and
    3. ``gammas``: 1 is without the tensor. ``part``: Of the treebank, to judge on. ``restarts``: With how many restarts
    to parse besides the parser's own; not for order 1.
    """
    train, judged = web_treebank("train", root=root), web_treebank(part, root=root)
    drawn = np.sort(np.random.default_rng(seed).permutation(len(train))[:size])
    rows = []
    for gamma in gammas:
        first: list[Attached] = []
        for order in orders:
            how: Facts = {"gamma": gamma, "decoding": decoding, "seed": seed, "max_iter": PASSES}
            parser = HigherOrderParser(order=order, **how) if order > 1 else LowRankParser(**how)
            start = time.process_time()
            whole(parser.fit(train[at] for at in drawn))
            row: Facts = {"order": order, "gamma": gamma, "seconds": time.process_time() - start}
            matched, figures = parses(parser, judged)
            row |= figures
            first = first or matched
            gains = zip(dependency_figures(matched), dependency_figures(first), strict=True)
            row["gain"] = {figure.name: difference(figure, other)._asdict() for figure, other in gains}
            if isinstance(parser, HigherOrderParser):
                row["restarts"] = restart_curve(parser, judged, restarts)
            rows.append(row)
    return {"sentences": len(drawn), "seed": seed, "decoding": decoding, "part": part, "rows": rows}


def parses(parser: LowRankParser, trees: Sequence[Tree]) -> tuple[list[Attached], Facts]:
    """Parse sentences; gives how each compares with the treebank, and figures of all."""
    start = time.process_time()
    predicted = list(parser.annotate(trees))
    seconds = time.process_time() - start
    matched = [match_trees(gold, tree) for gold, tree in zip(trees, predicted, strict=True)]
    figures: Facts = {**dependency_score(matched).as_dict(), "sentences_a_second": len(trees) / seconds}
    if isinstance(parser, HigherOrderParser):
        pairs = [(parser.score(gold), parser.score(tree)) for gold, tree in zip(trees, predicted, strict=True)]
        figures["search_errors"] = sum(gold > score + 1e-4 for gold, score in pairs)
        figures["mean_score"] = sum(score for _, score in pairs) / len(pairs)
    return matched, figures


def restart_curve(parser: HigherOrderParser, trees: Sequence[Tree], restarts: Sequence[int]) -> list[Facts]:
    """Return the figures of a parser with other numbers of restarts, which it has again afterwards."""
    own, rows = parser.restarts, []
    for number in restarts:
        parser.restarts = number
        rows.append({"restarts": number, **parses(parser, trees)[1]})
    parser.restarts = own
    return rows
