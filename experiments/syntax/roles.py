"""Semantic role labelling of the Universal Propositions of English Web text, with the tensor and without.

The training part is not public. Each fifth document of the development part, counted over all of them, is held out to
choose settings; models learn from the others and are judged on the test part. Trees, parts of speech, lemmas and
places of predicates are the treebank's; senses of predicates are not looked at.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.data.annotated import split_documents, web_propositions, web_treebank
from polyadic.core.stage_cache import whole
from polyadic.metrics.figures import difference
from polyadic.metrics.roles import match_roles, role_figures, role_score
from polyadic.syntax.low_rank_parser import LowRankParser
from polyadic.syntax.propositions import with_trees
from polyadic.syntax.role_regression import RoleRegression
from polyadic.syntax.semantic_roles import SemanticRoles

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from polyadic.core.stage_cache import Facts
    from polyadic.metrics.figures import Figure
    from polyadic.metrics.roles import MatchedRoles
    from polyadic.syntax.propositions import Sentence
    from polyadic.syntax.role_labels import RoleLabels

    Root = str | os.PathLike[str] | None


def models(seed: int) -> dict[str, Callable[[Sequence[Sentence]], RoleLabels]]:
    """Return the ways to learn that are compared: with the tensor, without, and by logistic regression."""
    return {
        "tensor": lambda sentences: SemanticRoles(seed=seed).fit(sentences),
        "sparse": lambda sentences: SemanticRoles(gamma=1.0, seed=seed).fit(sentences),
        "regression": lambda sentences: RoleRegression().fit(sentences),
    }


def parts(root: Root = None) -> tuple[list[Sentence], list[Sentence], list[Sentence]]:
    """Return the training, development and test sentences."""
    train, held = split_documents(web_propositions("dev", root=root))
    test = [sentence for document in web_propositions("test", root=root) for sentence in document]
    return train, held, test


def curve(shares: Sequence[float], *, seeds: Sequence[int], judge: str = "test", root: Root = None) -> list[Facts]:
    """Train on shares of the sentences and evaluate all models on the test or the development part.

    ``shares``: Of the sentences to learn from, drawn by each seed; larger draws hold the smaller ones. ``seeds``: Of
    the draw, and of the order in which a model sees its sentences.
    """
    train, held, test = parts(root)
    rows = []
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(train))
        for share in shares:
            chosen = [train[at] for at in np.sort(order[: round(share * len(train))])]
            row = compared(chosen, test if judge == "test" else held, seed=seed)
            rows.append({"share": share, **row})
    return rows


def by_parser(shares: Sequence[float], *, seeds: Sequence[int], root: Root = None) -> list[Facts]:
    """Evaluate labellers on parsed trees, trained on gold or on parsed trees.

    The parser learned from the training part of the treebank, which has no propositions.

    ``shares``, ``seeds``, ``root``: As for :func:`curve`.
    """
    train, _, test = parts(root)
    parser = whole(LowRankParser(seed=0).fit(web_treebank("train", root=root)))
    gold = [sentence for sentence in test if sentence.annotated]
    met, seen = (
        with_trees(sentences, parser.annotate([sentence.tree for sentence in sentences])) for sentences in (gold, train)
    )
    rows = []
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(train))
        for share in shares:
            at = np.sort(order[: round(share * len(train))])
            own, found = ([sentences[k] for k in at] for sentences in (train, seen))
            judged: dict[str, Figure] = {}
            for trees, sentences in (("treebank", own), ("parser", found), ("both", [*own, *found])):
                for name in ("tensor", "sparse"):
                    model = whole(models(seed)[name](sentences))
                    counts = [match_roles(*pair) for pair in zip(gold, model.annotate(met), strict=True)]
                    judged[f"{trees}, {name}"] = role_figures(counts)[2]
            pairs = [("parser, tensor", "treebank, tensor"), ("both, tensor", "parser, tensor")]
            pairs += [(f"{trees}, tensor", f"{trees}, sparse") for trees in ("treebank", "parser", "both")]
            rows.append(
                {
                    "seed": seed,
                    "share": share,
                    "sentences": len(at),
                    "figures": {name: figure.as_dict() for name, figure in judged.items()},
                    "worth": [{"one": a, "other": b, **difference(judged[a], judged[b])._asdict()} for a, b in pairs],
                }
            )
    return rows


def compared(train: Sequence[Sentence], test: Sequence[Sentence], *, seed: int) -> Facts:
    """Learn with the tensor, without, and by logistic regression, and judge all three.

    ``train``, ``test``: Those of ``test`` that do not say which words are predicates do not count.
    """
    gold = [sentence for sentence in test if sentence.annotated]
    predicates = [proposition for sentence in train for proposition in sentence.propositions]
    row: Facts = {"seed": seed, "sentences": len(train), "predicates": len(predicates)}
    row["arguments"] = sum(len(proposition.arguments) for proposition in predicates)
    judged: dict[str, list[MatchedRoles]] = {}
    for name, learn in models(seed).items():
        start = time.process_time()
        model = whole(learn(train))
        seconds = time.process_time() - start
        judged[name] = _matched(gold, model.annotate(gold))
        row[name] = {**_told(judged[name]), "seconds": seconds}
        if name == "tensor":
            row["found predicates"] = _told(_matched(gold, model.annotate(gold, find=True)))
    figures = {name: role_figures(counts)[:4] for name, counts in judged.items()}
    row["worth"] = {
        name: {a.name: difference(a, b)._asdict() for a, b in zip(figures["tensor"], figures[name], strict=True)}
        for name in ("sparse", "regression")
    }
    return row


def _matched(gold: Sequence[Sentence], predicted: Any) -> list[MatchedRoles]:
    return [match_roles(*pair) for pair in zip(gold, predicted, strict=True)]


def _told(counts: list[MatchedRoles]) -> Facts:
    return {"score": role_score(counts).as_dict(), "figures": [figure.as_dict() for figure in role_figures(counts)]}
