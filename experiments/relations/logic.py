"""Rules and factorization: five ways to use both, on relations of which few facts are known or none.

Each is asked which pairs of entities a relation holds of, where no fact of it was told; pairs are ranked, and the mean
over relations of the average precision is the measure (MAP). ``planted`` makes relations, patterns and rules
(:func:`~experiments.data.universal_schema.planted_schema`). ``freebase`` takes pairs of FB15k-237: rules are mined on
one half, before most facts of the relations that they conclude are hidden there; the other half, where all are, is
asked about.
``newswire`` takes pairs of the New York Times and what its text says of them, no fact of a knowledge base, and the
rules that were published; what people judged is asked about.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import clone

from experiments.data.universal_schema import (
    freebase_pairs,
    judgements,
    nyt_pairs,
    planted_schema,
    read_published_rules,
)
from polyadic.core.stage_cache import whole
from polyadic.datasets.place import folder
from polyadic.relations.grounding import Groundings
from polyadic.relations.logic import InjectedLogic
from polyadic.relations.rule_mining import mine_rules
from polyadic.relations.schema import schema_of
from polyadic.relations.universal import UniversalSchema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from polyadic.core.stage_cache import Facts
    from polyadic.relations.formulas import Atom, Rule
    from polyadic.relations.logic import Regime
    from polyadic.relations.schema import Schema

REGIMES: tuple[Regime, ...] = ("mf", "inference", "post", "pre", "joint")
TOLD = (0.0, 0.03, 0.1, 0.3, 1.0)
"""Shares of the facts of relations that are told."""
FEWEST = 20
"""Facts of a relation to ask about, at least."""
TRUE = 3
"""True pairs of a relation that was judged, at least."""


class Problem(NamedTuple):
    """Training facts and test questions.

    ``schema``: With the reversed pairs. ``rules``: Each of one premise and one conclusion. ``rows``: Pairs asked about.
    ``known``: Whether there is a truth to compare with.
    """

    schema: Schema
    rules: list[Rule]
    relations: list[str]
    rows: NDArray[np.int64]
    truth: NDArray[np.bool_]
    known: NDArray[np.bool_]


def planted(*, share: float, seed: int, confidence: float = 0.9) -> Problem:
    """Make 4,000 pairs with 8 relations of 5 patterns each."""
    made = planted_schema(told=share, confidence=confidence, seed=seed)
    every = np.ones(made.truth.shape, bool)
    return Problem(made.schema.with_reversed(), made.rules, made.relations, made.held, made.truth, every)


def freebase(*, share: float, seed: int, confidence: float = 0.7, root: Path | None = None) -> Problem:
    """Hide relations of FB15k-237 that others imply.

    A relation is asked about if a mined rule concludes it whose premise is not, and at least :data:`FEWEST` of its
    facts are in the half asked about; the most confident rules choose first.

    ``share``: Share of their facts that is told in the half on which rules were mined. ``confidence``: Of rules on that
    half, at least.
    """
    rng = np.random.default_rng(seed)
    schema = freebase_pairs(paths=None, root=root).with_reversed()
    unordered = np.sort(schema.arguments, axis=1) @ [len(schema.entities), 1]
    _, number = np.unique(unordered, return_inverse=True)
    asked = (rng.random(number.max() + 1) < 0.5)[number]  # a pair and its reverse fall into one half
    rows, columns = schema.indices.T
    mined = [candidate.rule for candidate in mine_rules(schema.only(~asked[rows]), confidence=confidence)]
    relations, rules = _hidden(mined, np.bincount(columns[asked[rows]], minlength=len(schema.predicates)), schema)
    numbers = [schema.column(name) for name in relations]
    hidden = np.isin(columns, numbers) & (asked[rows] | (rng.random(len(rows)) >= share))
    train = schema.only(~hidden)
    seen = np.diff(train.cells.indptr) > 0
    at = np.flatnonzero(asked & (seen | seen[schema.reversed_rows]))
    truth = schema.cells[at][:, numbers].toarray() > 0
    return Problem(train, rules, relations, at, truth, np.ones(truth.shape, bool))


def newswire(*, root: Path | None = None) -> Problem:
    """Take 10,000 pairs of the New York Times and the published rules of which the text has the premise.

    A relation is asked about if at least :data:`TRUE` of the pairs that were judged are true. No rule swaps variables:
    patterns that have object before subject are predicates of their own.
    """
    text = nyt_pairs(root=root)
    path = folder(root) / "relations/universal-schema/formulae/filtered.txt"
    rules = [
        rule for rule in read_published_rules(path, inverses="columns") if rule.atoms[0].predicate in text.predicates
    ]
    concluded = list(dict.fromkeys(rule.atoms[1].predicate for rule in rules))
    schema = schema_of(text.triples(), predicates=[*text.predicates, *concluded])
    rows = {pair: row for row, pair in enumerate(schema.pairs)}
    labels = judgements(root=root)
    judged = {name: {rows[p]: true for p, true in labels.get(name, {}).items() if p in rows} for name in concluded}
    relations = [name for name, by_row in judged.items() if sum(by_row.values()) >= TRUE]
    at = np.array(sorted({row for name in relations for row in judged[name]}), np.int64)
    truth, known = np.zeros((2, len(at), len(relations)), bool)
    for column, name in enumerate(relations):
        here = np.searchsorted(at, list(judged[name]))
        known[here, column], truth[here, column] = True, list(judged[name].values())
    return Problem(schema, rules, relations, at, truth, known)


def _hidden(mined: Sequence[Rule], counts: NDArray[np.int64], schema: Schema) -> tuple[list[str], list[Rule]]:
    """Return relations that rules conclude from others, whose facts are given, and those rules."""
    hidden: dict[str, list[Rule]] = {}
    kept: set[str] = set()
    for rule in mined:
        premise, conclusion = (atom.predicate for atom in rule.atoms[:2])
        if (
            premise == conclusion
            or premise in hidden
            or conclusion in kept
            or counts[schema.column(conclusion)] < FEWEST
        ):
            continue
        kept.add(premise)
        hidden.setdefault(conclusion, []).append(rule)
    return list(hidden), [rule for rules in hidden.values() for rule in rules]


def regimes(problem: Problem, model: UniversalSchema) -> Iterator[Facts]:
    """Measure all five, the premises of rules alone, and joint training as it was published.

    Yields
    ------
    dict
        ``name``, ``map``, ``weighted`` (by how many pairs are true), ``unswapped`` (the mean over relations whose rules
        swap no variables, if there are any), ``ap`` of each relation, ``seconds``.
    """
    for regime in REGIMES:
        began = time.perf_counter()
        fitted = InjectedLogic(problem.rules, regime=regime, model=model).fit(problem.schema)
        yield _measured(regime, problem, whole(fitted).column_probabilities(_columns(problem))[problem.rows], began)
        if regime == "mf":
            yield _measured("premise", problem, premises(problem, fitted), began)
    published = {"joint, nothing false drawn": Groundings}
    if model.features == "F":
        published["joint, as in the published code"] = AsPublished
    for name, kind in published.items():
        began = time.perf_counter()
        fitted = clone(model).fit(problem.schema, beside=[kind(problem.schema, problem.rules)])
        yield _measured(name, problem, whole(fitted).column_log_odds(_columns(problem))[problem.rows], began)


def on_planted(*, share: float, seed: int) -> list[Facts]:
    """Measure regimes on a planted schema, by factors of rank 20, 50 epochs."""
    model = UniversalSchema(20, features="F", max_iter=50, seed=seed)
    return list(regimes(planted(share=share, seed=seed), model))


def on_newswire(*, seed: int, root: Path | None = None) -> list[Facts]:
    """Measure regimes on pairs of the New York Times without facts of relations, by factors of rank 50, 40 epochs."""
    model = UniversalSchema(50, features="F", max_iter=40, batch=1024, seed=seed)
    return list(regimes(newswire(root=root), model))


def on_freebase(*, share: float, seed: int, root: Path | None = None) -> list[Facts]:
    """Measure regimes on FB15k-237 with mined rules, by factors of rank 50, 20 epochs."""
    model = UniversalSchema(50, features="F", max_iter=20, batch=4096, seed=seed)
    return list(regimes(freebase(share=share, seed=seed, root=root), model))


def premises(problem: Problem, fitted: InjectedLogic) -> NDArray[Any]:
    """Return how likely a factorization finds the likeliest premise of each relation, shape (rows, relations)."""
    schema, scores = problem.schema, np.zeros(problem.truth.shape)
    for rule in problem.rules:
        premise, conclusion = rule.atoms
        rows = schema.reversed_rows[problem.rows] if _swap(premise, conclusion) else problem.rows
        likely = expit(fitted.model_.column_log_odds([schema.column(premise.predicate)]))[rows, 0]
        at = [name == conclusion.predicate for name in problem.relations]
        scores[:, at] = np.maximum(scores[:, at], likely[:, None])
    return scores


class AsPublished(Groundings):
    """Groundings as in the code of Rocktäschel, Singh, Riedel (2015), for the feature F alone.

    There, in groundings that cells give, the vector of the pair is that of the predicate of the cell. Vectors of
    predicates lie below those of pairs in the table, so that they are asked for by rows that are too large.
    """

    def __init__(self, schema: Schema, rules: Sequence[Rule], *, drawn: int = 1) -> None:
        super().__init__(schema, rules, drawn=drawn)
        counts = np.diff(schema.cells.tocsc().indptr)
        for at, rule in enumerate(rules):
            columns = np.array([schema.column(atom.predicate) for atom in rule.atoms])
            vectors = len(schema.pairs) + np.repeat(columns, counts[columns])
            self.known[at] = np.repeat(vectors[:, None], len(columns), axis=1)


def _columns(problem: Problem) -> list[int]:
    return [problem.schema.column(name) for name in problem.relations]


def _measured(name: str, problem: Problem, scores: NDArray[Any], began: float) -> Facts:
    from sklearn.metrics import average_precision_score

    columns = zip(problem.truth.T, scores.T, problem.known.T, strict=True)
    each = [float(average_precision_score(truth[known], predicted[known])) for truth, predicted, known in columns]
    swapped = {atoms[1].predicate for atoms in (rule.atoms for rule in problem.rules) if _swap(*atoms)}
    unswapped = [ap for ap, relation in zip(each, problem.relations, strict=True) if relation not in swapped]
    seconds = time.perf_counter() - began
    mean = float(np.mean(unswapped)) if unswapped else None
    weighted = float(np.average(each, weights=problem.truth.sum(axis=0)))
    measures = {"map": float(np.mean(each)), "weighted": weighted, "unswapped": mean, "ap": each}
    return {"name": name, **measures, "seconds": seconds}


def _swap(premise: Atom, conclusion: Atom) -> bool:
    return premise.arguments != conclusion.arguments
