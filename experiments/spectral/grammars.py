"""Grammars with hidden states, by singular vectors and by EM, beside grammars without."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from experiments.cao2014.lists import penn_parts
from polyadic.core.errors import InputError
from polyadic.core.progress import tracked
from polyadic.metrics.brackets import bracket_figure, bracket_score, match_brackets
from polyadic.metrics.figures import difference
from polyadic.syntax.brackets import bracketing
from polyadic.syntax.latent_grammar import PlainPCFG
from polyadic.syntax.latent_marginals import MarginalParser
from polyadic.syntax.latent_pcfg import LatentPCFG
from polyadic.syntax.pcfg import PCFG
from polyadic.syntax.split_merge import SplitMergePCFG

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from polyadic.core.stage_cache import Facts
    from polyadic.metrics.brackets import MatchedBrackets
    from polyadic.syntax.brackets import Phrase
    from polyadic.syntax.grammar import Parse
    from polyadic.syntax.latent_grammar import LatentGrammar

    Root = str | os.PathLike[str] | None
    Lists = list[tuple[Phrase, list[Parse]]]

COSTS = (0.3, 0.4, 0.5)
"""Costs of a phrase, to select from."""


def grammars(
    states: Sequence[int] = (8, 32),
    *,
    marginal_states: Sequence[int] = (8, 16),
    smoothing: Sequence[float] = (20.0, 50.0),
    cycles: Sequence[int] = (2, 3, 4),
    uses: Sequence[float] = (10.0, 30.0),
    sentences: int | None = None,
    candidates: int = 50,
    root: Root = None,
) -> Facts:
    """Parse the sample of the Penn Treebank.

    ``states``: Hidden states to choose from, on the development part. ``marginal_states``: The same, for parsing by
    marginals. ``smoothing``: The same. ``cycles``: How often states are split in two, to choose from. ``uses``: Their
    smoothing, to choose from. ``sentences``: Of the development and the test part each, the first; all by default.
    ``candidates``: Trees of a list.
    """
    train, dev, test = penn_parts(root=root)
    kinds = {"plain": PlainPCFG, "annotated": PCFG}
    lists = {
        (name, part): listed(kind().fit(train), trees[:sentences], candidates)
        for name, kind in kinds.items()
        for part, trees in {"dev": dev, "test": test}.items()
    }
    models = [LatentPCFG(m, smoothing=s).fit(train) for m in tracked(states, "hidden states") for s in smoothing]
    few = (LatentPCFG(m, smoothing=s).fit(train) for m in marginal_states for s in smoothing)
    split = (SplitMergePCFG(n, smoothing=s).fit(train) for n in cycles for s in uses)
    parts = lists["annotated", "dev"], lists["annotated", "test"]
    spectral, matches = by_marginals(few, *parts)
    merged, _ = by_marginals(split, *parts, beside=matches)
    return {
        "parts": {name: judged(models, lists[name, "dev"], lists[name, "test"]) for name in kinds},
        "marginals": {"singular vectors": spectral, "split and merged": merged},
    }


def listed(parser: PCFG, trees: Sequence[Phrase], k: int) -> Lists:
    """Return each tree with the best ones of a parser."""
    return [(tree, parser.k_best(tree.words(), k=k)) for tree in tracked(trees, "parsing")]


def judged(models: Sequence[LatentGrammar], dev: Lists, test: Lists) -> Facts:
    """Choose a model and the weight of the parser's own score on one part, and judge it on the other."""
    trials = [
        (bracket_score(matched(dev, chosen)).f1, weight, model)
        for model in models
        for weight, chosen in reranked(model, dev, (0.0, 0.5, 1.0, 2.0)).items()
    ]
    f, weight, model = max(trials, key=lambda row: row[0])
    first = matched(test, [0] * len(test))
    best = [max((_match(tree, parse) for parse in parses), key=lambda match: match.f1) for tree, parses in test]
    chosen = matched(test, reranked(model, test, (weight,))[weight])
    facts: Facts = {**_settings(model), "weight": weight, "dev_f1": f}
    facts |= {"first": bracket_score(first).f1, "latent": bracket_score(chosen).f1, "best": bracket_score(best).f1}
    gain = difference(bracket_figure("latent", chosen), bracket_figure("first", first))
    return facts | {"gain": gain._asdict(), "sentences": len(test)}


def by_marginals(
    models: Iterable[LatentGrammar], dev: Lists, test: Lists, *, beside: list[MatchedBrackets] | None = None
) -> tuple[Facts, list[MatchedBrackets]]:
    """Select a model and a cost of phrases on one part; evaluate them on the other, beside the first trees of lists.

    ``models``: Fitted; those that are not chosen are let go. ``beside``: Of another parser on the test part, to be
    compared with too.
    """
    best, highest = None, -1.0
    for model in tracked(models, "parsing by marginals"):
        for cost in COSTS:
            parser = MarginalParser(model, cost=cost).use(model)
            if (f := bracket_score(parsed(parser, dev)).f1) > highest:
                best, highest = parser, f
    if best is None:
        raise InputError("there are no grammars to choose from")
    began = time.process_time()
    matches, first = parsed(best, test), matched(test, [0] * len(test))
    seconds = (time.process_time() - began) / len(test)
    figure = bracket_figure("marginals", matches)
    facts: Facts = {**_settings(best.grammar_), "cost": best.cost, "dev_f1": highest, "f1": figure.value}
    facts |= {"first": bracket_score(first).f1, "gain": difference(figure, bracket_figure("first", first))._asdict()}
    facts |= {"tagging": bracket_score(matches).tagging, "sentences": len(test), "seconds": seconds}
    if beside is not None:
        facts["over_other"] = difference(figure, bracket_figure("other", beside))._asdict()
    return facts, matches


def _settings(model: LatentGrammar) -> Facts:
    """Return the selected settings of a model."""
    names = ("states", "cycles", "smoothing")
    return {name: value for name, value in model.get_params(deep=False).items() if name in names}


def parsed(parser: MarginalParser, lists: Lists) -> list[MatchedBrackets]:
    """Parse the sentences of lists anew, and compare."""
    return [match_brackets(bracketing(tree), bracketing(parser.parse(tree.words()))) for tree, _ in lists]


def reranked(model: LatentGrammar, lists: Lists, weights: Sequence[float]) -> dict[float, list[int]]:
    """Return the places of the trees of highest sum of both logarithms, that of the parser times a weight."""
    chosen: dict[float, list[int]] = {weight: [] for weight in weights}
    for _, parses in lists:
        logs = np.array([model.log_probability(parse.tree) for parse in parses])
        own = np.array([parse.log_probability for parse in parses])
        logs = np.where(np.isfinite(logs), logs, -1e9)
        for weight, places in chosen.items():
            places.append(int((logs + weight * own).argmax()))
    return chosen


def matched(lists: Lists, places: Sequence[int]) -> list[MatchedBrackets]:
    """Compare the tree at a place of each list with that of the treebank."""
    return [_match(tree, parses[place]) for (tree, parses), place in zip(lists, places, strict=True)]


def _match(tree: Phrase, parse: Parse) -> MatchedBrackets:
    return match_brackets(bracketing(tree), bracketing(parse.tree))
