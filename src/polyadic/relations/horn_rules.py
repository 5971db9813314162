"""Link prediction with explanations, by Horn rules mined from a knowledge graph."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from polyadic.core.annotations import AnyArray, Array, Floats, Ints, Ints32
from polyadic.core.errors import check_int
from polyadic.core.explanation import Explanation
from polyadic.core.model import Count, Positive, Seed, Share, Within
from polyadic.core.progress import bar, tracked
from polyadic.core.resources import check_memory
from polyadic.relations.facts import Facts, by_name, shared, triples_by
from polyadic.relations.formulas import And, Atom, Implies
from polyadic.relations.kernels import (
    Graph,
    RuleIndex,
    RuleScorer,
    graph_of,
    joining_paths,
    path_counts,
    property_counts,
)
from polyadic.relations.link_prediction import LinkPredictor, Triples, learned_facts

SEARCH_FACTOR = 200  # steps of the search for paths of three per relation, in multiples of ``steps``
MAX_LONG_PATHS = 1_000  # maximum number of paths of three that are measured per relation: those of most facts
PATHS_AT_ONCE = 256  # number of paths that are measured together
BYTES_PER_RULE = 60  # memory per property rule while sorting
BLOCK = 1 << 22  # number of scores that are computed together
MAX_CONFIDENCE = 1 - 1e-7
"""Largest confidence, in single precision, so that rules without counterexamples remain comparable."""


class HornRule(NamedTuple):
    """Horn rule with two counts: entity pairs that satisfy the premise, and pairs that also satisfy the conclusion."""

    formula: Implies
    tried: int
    right: int

    def __str__(self) -> str:
        return str(self.formula)


class Reason(NamedTuple):
    """Rule that derives a fact, with examples of known facts that satisfy the premise."""

    rule: HornRule
    groundings: list[list[tuple[int | str, int | str, int | str]]]

    def __str__(self) -> str:
        facts = ", ".join(" & ".join(" ".join(map(str, fact)) for fact in grounding) for grounding in self.groundings)
        return f"{self.rule} ({self.rule.right:,} of {self.rule.tried:,}){': ' if facts else ''}{facts}"


class HornRules(LinkPredictor):
    r"""Link prediction by Horn rules mined from the triples of a knowledge graph.

    Two kinds of rules are mined: by a path between both ends, and by a property of one of them, with a and c constant
    entities and z any entity:

    .. math:: h(x, y) \leftarrow b_1(x, z_1) \wedge b_2(z_1, z_2) \wedge \dots, \qquad
              h(x, a) \leftarrow b(x, c), \qquad h(x, a) \leftarrow b(x, z)

    and likewise for subjects. Relations b are read in either direction, and the entities of a path are distinct. The
    confidence of a rule is

    .. math:: \hat p = \frac{\text{pairs of which premise and conclusion hold}}{\text{pairs of which the premise holds}
              + \lambda}

    over the training triples; unobserved triples count as false. With noisy-or, the score of an answer is
    :math:`-\log \prod (1 - \hat p)` over the k best rules of each kind that derive it: by a path, by a property of the
    known end, by a property of the answer, and :math:`h(x, a) \leftarrow h(x, z)`, the frequency of the answer a. With
    maximum, the best rule decides, and ties are broken by the next best.

    Parameters
    ----------
    max_length : int
        Maximum length of a rule's path in edges, from 1 to 3.
    support : int
        Minimum support of a rule: the number of entity pairs for which its premise and conclusion hold.
    confidence : float
        Minimum confidence of a rule.
    smoothing : float
        Constant :math:`\lambda` added to the denominator of the confidence.
    aggregation : {"noisy-or", "maximum"}
        Aggregation of the confidences of all rules that derive an answer.
    k : int
        Number of the most confident rules of each kind that are aggregated.
    steps : int
        Maximum number of edges followed to measure the confidence of a path. Paths that need fewer are measured
        exactly, others on random start entities.

    Attributes
    ----------
    paths_ : int32 ndarray of shape (m, 4)
        Head and relations of each path rule, -1 after the end of the path; r + K is the inverse of relation r.
    path_counts_ : int64 ndarray of shape (m, 2)
        Number of pairs of which the premise holds, and of which the conclusion holds, too.
    properties_ : int32 ndarray of shape (q, 2)
        Premise and conclusion of each property rule, numbered as in :mod:`polyadic.relations.kernels`.
    property_counts_ : int32 ndarray of shape (q,)
        Number of entities with both properties.
    entities_, relations_ : list of str or None
        Names by number; None if the facts had no names.
    facts_ : ndarray of shape (n, 3)
        Training triples.
    temperature_ : float
        Temperature of :meth:`calibrate`, fitted on the validation set; NaN without one.

    References
    ----------
    Meilicke, Chekol, Ruffinelli, Stuckenschmidt (2019), Anytime bottom-up rule learning for knowledge graph completion:
    the kinds of rules (section 3), confidence with a constant and the maximum (section 4). Galárraga, Teflioudi, Hose,
    Suchanek (2013), AMIE. Pearl (1988), Probabilistic reasoning in intelligent systems, section 4.3.2 (noisy-or).

    Examples
    --------
    >>> from polyadic import facts_of
    >>> facts = [(f"person {i}", "born in", f"town {i % 3}") for i in range(9)]
    >>> facts += [(f"town {i}", "lies in", f"land {i % 2}") for i in range(3)]
    >>> facts += [(f"person {i}", "citizen of", f"land {i % 3 % 2}") for i in range(8)]
    >>> model = HornRules().fit(facts_of(facts))
    >>> [str(rule) for rule in model.rules("citizen of", k=1)]
    ['"born in"(x, z) & "lies in"(z, y) => "citizen of"(x, y)']
    >>> from polyadic import complete
    >>> complete(model, subject="person 8", relation="citizen of", k=1)[0].name
    'land 0'
    """

    max_length: Annotated[int, Within(1, 3)] = 2
    _: KW_ONLY
    support: Count = 2
    confidence: Share = 0.001
    smoothing: Positive = 2.0
    aggregation: Literal["noisy-or", "maximum"] = "noisy-or"
    k: Count = 3
    steps: Count = 100_000
    seed: Seed = None

    unsaid: ClassVar[float] = 0.0

    def fit(self, X: Triples, y: object = None, *, validation: Triples | None = None) -> Self:
        """Mine rules from the triples of a knowledge graph.

        Scores are calibrated on the validation triples (:meth:`calibrate`). Parameters and errors are those of
        :meth:`KnowledgeTensor.fit <polyadic.relations.knowledge.KnowledgeTensor.fit>`.
        """
        self.check()
        X = by_name(X)
        self.facts_, n, K = learned_facts(X)
        self.shape_ = n, K
        self.entities_, self.relations_ = (X.entities, X.relations) if isinstance(X, Facts) else (None, None)
        names = self.entities_, self.relations_
        judged = None if validation is None else triples_by("validation", validation, names=names, sizes=(n, K))
        graph = graph_of(self.facts_, n, K)
        self.paths_, self.path_counts_ = self._mine_paths(graph)
        self.properties_, self.property_counts_ = self._mine_properties(graph)
        self._prepare(graph)
        self.temperature_ = math.nan
        if judged is not None and shared(judged, self.facts_) < len(judged):
            self.calibrate(judged)
        return self

    def _mine_paths(self, graph: Graph) -> tuple[Ints32, Ints]:
        """Find relation paths between the entities of triples, and count the entity pairs connected by each path."""
        K = self.shape_[1]
        rng = np.random.default_rng(self.seed)
        found = []
        for r in tracked(range(K), "finding rules", total=K):
            facts = rng.permutation(self.facts_[self.facts_[:, 1] == r][:, [0, 2]])
            how = {"max_length": self.max_length, "steps": SEARCH_FACTOR * self.steps, "support": self.support}
            paths, counts = joining_paths(graph, facts, r, **how)
            long = np.flatnonzero(paths[:, 2] >= 0)
            spared = long[np.argsort(-counts[long], kind="stable")][MAX_LONG_PATHS:]
            paths = np.delete(paths, spared, axis=0)
            found.append(np.column_stack([np.full(len(paths), r), paths]))
        every = np.concatenate(found)
        every = every[np.lexsort(every.T[[0, 3, 2, 1]])]
        bodies, starts = np.unique(every[:, 1:], axis=0, return_index=True)
        heads = np.split(every[:, 0], starts[1:])
        order = np.lexsort([rng.random(len(graph.relation)), graph.relation])
        pairs, right = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        lows = range(0, len(bodies), PATHS_AT_ONCE)
        for low in tracked(lows, "measuring rules", total=len(lows)):
            part = slice(low, low + PATHS_AT_ONCE)
            tried, held = path_counts(graph, order, bodies[part], heads[part], max_steps=self.steps)
            pairs.append(np.repeat(tried, [len(head) for head in heads[part]]))
            right.append(held)
        counts = np.column_stack([np.concatenate(pairs), np.concatenate(right)])
        kept = counts[:, 1] >= np.maximum(self.support, self.confidence * (counts[:, 0] + self.smoothing))
        return every[kept].astype(np.int32), counts[kept]

    def _mine_properties(self, graph: Graph) -> tuple[Ints32, Ints32]:
        """Find frequent pairs of entity properties, and count the entities that have both properties."""
        how: dict[str, Any] = {"support": self.support, "confidence": self.confidence, "smoothing": self.smoothing}
        pairs, counts, number = [], [], 0
        with bar("counting properties", 1.0) as advance:
            for share, bodies, places, together in property_counts(graph, **how):
                number += len(bodies)
                what = f"{number:,} rules by properties"
                check_memory(BYTES_PER_RULE * number, what, "increase support or confidence")
                pairs.append(np.column_stack([bodies, places]))
                counts.append(together.astype(np.int32))
                advance(share)
        return np.concatenate(pairs), np.concatenate(counts)

    def _prepare(self, graph: Graph) -> None:
        """Build an index from conclusions to weighted rules."""
        K = self.shape_[1]
        paths = self.paths_.astype(np.int64)
        backwards = np.where(paths >= 0, (paths + K) % (2 * K), -1)
        at = (paths[:, 1:] >= 0).sum(axis=1)[:, None] - [1, 2, 3]
        turned = np.where(at >= 0, np.take_along_axis(backwards[:, 1:], np.maximum(at, 0), axis=1), -1)
        both = np.concatenate([paths, np.column_stack([backwards[:, 0], turned])])
        order = np.lexsort(both.T[::-1])
        self._path = order % max(len(paths), 1)
        both = both[order]
        bodies, heads = self.properties_.T
        column = np.argsort(heads, kind="stable")
        sizes = np.diff(graph.bounds)
        rules = RuleIndex(
            paths=np.searchsorted(both[:, 0], np.arange(2 * K + 1)),
            first=both[:, 1].copy(),
            second=both[:, 2].copy(),
            third=both[:, 3].copy(),
            path_weight=self._weights(*self.path_counts_.T)[self._path],
            rows=np.searchsorted(bodies, np.arange(len(sizes) + 1)),
            head=heads.copy(),
            weight=self._weights(sizes[bodies], self.property_counts_),
            columns=np.searchsorted(heads[column], np.arange(len(graph.relation) + 1)),
            column=column.astype(np.int32),
            body=bodies.copy(),
        )
        self._reasoner = RuleScorer(graph, rules)

    def _weights(self, tried: AnyArray, right: AnyArray) -> Floats:
        return (-np.log1p(-np.minimum(right / (tried + self.smoothing), MAX_CONFIDENCE))).astype(np.float32)

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        self._prepare(graph_of(self.facts_, *self.shape_))

    @property
    def _sizes(self) -> tuple[int, int]:
        return int(self.shape_[0]), int(self.shape_[1])

    def _ask(self, known: Ints, r: Ints, *, backwards: bool) -> AnyArray:
        r = r + self.shape_[1] * backwards
        return self._reasoner.scores(known, r, k=self.k, summed=self.aggregation == "noisy-or")

    def _triples(self, s: Ints, r: Ints, o: Ints) -> Array:
        scores = np.zeros(len(s))
        for known, answers, backwards in ((s, o, False), (o, s, True)):
            questions, at = np.unique(np.column_stack([known, r]), axis=0, return_inverse=True)
            order = np.argsort(at, kind="stable")
            starts = np.searchsorted(at[order], np.arange(len(questions) + 1))
            rows = max(1, BLOCK // self._sizes[0])
            for low in range(0, len(questions), rows):
                part = order[starts[low] : starts[min(low + rows, len(questions))]]
                asked = self._ask(*questions[low : low + rows].T, backwards=backwards)
                scores[part] += asked[at[part] - low, answers[part]] / 2
        return scores

    def predict_proba(self, subjects: Any, relations: Any, objects: Any) -> Array:
        r"""Return the probabilities of triples under the noisy-or model, shape (m,).

        For a triple of score m the probability is :math:`1 - e^{-m}`. Rules are not independent, so that noisy-or is
        overconfident. For the probability of an answer among all entities, see :meth:`calibrate`. Parameters and errors
        are those of :meth:`predict`.
        """
        return -np.expm1(-self.predict(subjects, relations, objects))

    def rules(self, relation: int | str | None = None, *, k: int = 10, properties: bool = True) -> list[HornRule]:
        """Return the k rules with the highest confidence, by default for conclusions of all relations.

        ``properties`` includes property rules, which are numerous.
        """
        check_int("k", k, low=1)
        graph, K = self._reasoner.graph, self.shape_[1]
        weights = [self._weights(*self.path_counts_.T)]
        weights.append(self._weights(np.diff(graph.bounds)[self.properties_[:, 0]], self.property_counts_))
        about = self.paths_[:, 0], graph.relation[graph.listed[self.properties_[:, 1]]] % K
        found: list[tuple[float, int, int]] = []
        for kind, w in enumerate(weights[: 1 + properties]):
            if relation is not None:
                w = np.where(about[kind] == self.number_of("relation", relation), w, 0)  # noqa: PLW2901
            best = np.argsort(-w, kind="stable")[:k]
            found += [(-float(w[at]), kind, int(at)) for at in best if w[at]]
        return [self._path_rule(at) if kind == 0 else self._property_rule(at) for _, kind, at in sorted(found)[:k]]

    def explain(self, subject: int | str, relation: int | str, object: int | str, *, k: int = 10) -> Explanation:  # noqa: A002
        """Attribute the score of a triple to the rules that derive it and the triples that satisfy their premises.

        The score is that of :meth:`predict`, and each contribution is named by a :class:`Reason`. Parameters and errors
        are those of :meth:`KnowledgeTensor.explain <polyadic.relations.knowledge.KnowledgeTensor.explain>`, except that
        ``k`` is the maximum number of groundings of a rule.

        Examples
        --------
        >>> from polyadic import facts_of
        >>> facts = [("Oslo", "in", "Norway"), ("Moss", "in", "Norway"), ("Lund", "in", "Sweden")]
        >>> facts += [("Malmö", "in", "Sweden"), ("Oslo", "near", "Moss"), ("Lund", "near", "Malmö")]
        >>> facts += [("Ås", "near", "Moss")]
        >>> model = HornRules().fit(facts_of(facts))
        >>> print(model.explain("Ås", "in", "Norway").parts[0][0])
        near(x, z) & in(z, y) => in(x, y) (2 of 3): Ås near Moss & Moss in Norway
        """
        check_int("k", k, low=1)
        s, r, o = *self._ends("subject", [subject]), *self._kinds([relation]), *self._ends("object", [object])
        parts: dict[tuple[bool, int], float] = {}
        how: dict[str, Any] = {"k": self.k, "summed": self.aggregation == "noisy-or"}
        for question in ((s, r, o), (o, r + self.shape_[1], s)):
            for by_path, number, part in self._reasoner.rules_for(*map(int, question), **how):
                rule = by_path, int(self._path[number]) if by_path else number
                parts[rule] = parts.get(rule, 0.0) + part / 2
        value = float(self._triples(np.array([s]), np.array([r]), np.array([o]))[0])
        return Explanation.of(value, [(self._reason(rule, (s, r, o), k), part) for rule, part in parts.items()])

    def _reason(self, rule: tuple[bool, int], fact: tuple[Any, Any, Any], k: int) -> Reason:
        by_path, number = rule
        s, _, o = map(int, fact)
        if by_path:
            path = self.paths_[number, 1:].tolist()
            walks = islice(self._walks(s, o, [r for r in path if r >= 0], [s]), k)
            found = [[self._fact(*edge) for edge in zip(path, walk, walk[1:], strict=False)] for walk in walks]
            return Reason(self._path_rule(number), found)
        graph, G, K = self._reasoner.graph, len(self._reasoner.graph.relation), self.shape_[1]
        body, place = self.properties_[number].tolist()
        head = graph.relation[graph.listed[place]]
        member = o if head < K else s
        if body < G:
            facts = [[self._fact(int(graph.relation[body]), int(graph.entity[body]), member)]]
        elif body - G == (head + K) % (2 * K):
            facts = []  # the frequency of the answer does not follow from facts of this entity
        else:
            others = self._reasoner.targets(member, body - G)[:k].tolist()
            facts = [[self._fact(body - G, member, other)] for other in others]
        return Reason(self._property_rule(number), facts)

    def _walks(self, x: int, y: int, path: list[int], walk: list[int]) -> Iterator[list[int]]:
        """Yield all walks from entity ``x`` to entity ``y`` along a path of relations, without repeated entities."""
        for z in self._reasoner.targets(x, path[0]).tolist():
            if len(path) == 1 and z == y and z not in walk:
                yield [*walk, z]
            elif len(path) > 1 and z != y and z not in walk:
                yield from self._walks(z, y, path[1:], [*walk, z])

    def _path_rule(self, number: int) -> HornRule:
        head, *path = (int(r) for r in self.paths_[number] if r >= 0)
        ends = {1: "xy", 2: "xzy", 3: "xzwy"}[len(path)]
        premise = [self._atom(r, a, b) for r, a, b in zip(path, ends, ends[1:], strict=False)]
        formula = Implies(premise[0] if len(premise) == 1 else And(tuple(premise)), self._atom(head, "x", "y"))
        return HornRule(formula, *self.path_counts_[number].tolist())

    def _property_rule(self, number: int) -> HornRule:
        graph, G, K = self._reasoner.graph, len(self._reasoner.graph.relation), self.shape_[1]
        body, place = self.properties_[number].tolist()
        g = int(graph.listed[place])
        head = int(graph.relation[g])
        member = "y" if head < K else "x"
        if body < G:
            premise = self._atom(int(graph.relation[body]), self._name(graph.entity[body]), member)
        else:
            premise = self._atom(body - G, member, "z")
        tried = int(graph.bounds[body + 1] - graph.bounds[body])
        formula = Implies(premise, self._atom(head, self._name(graph.entity[g]), member))
        return HornRule(formula, tried, int(self.property_counts_[number]))

    def _name(self, entity: int) -> str:
        return str(entity) if self.entities_ is None else self.entities_[entity]

    def _atom(self, r: int, a: str, b: str) -> Atom:
        K = self.shape_[1]
        name = str(r % K) if self.relations_ is None else self.relations_[r % K]
        return Atom(name, (a, b) if r < K else (b, a))

    def _fact(self, r: int, a: int, b: int) -> tuple[int | str, int | str, int | str]:
        K = self.shape_[1]
        E: Any = self.entities_ or range(self.shape_[0])
        s, o = (a, b) if r < K else (b, a)
        return E[s], r % K if self.relations_ is None else self.relations_[r % K], E[o]
