"""Mine implications between two predicates from facts, and count how often rules hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.annotations import Mask
from polyadic.core.errors import check_int
from polyadic.core.settings import check_setting
from polyadic.relations.formulas import And, Atom, Formula, Implies, Rule, atoms_of, conjuncts, holds
from polyadic.relations.grounding import Bindings, Places, Probability, bindings_of, check_rules

if TYPE_CHECKING:
    from polyadic.relations.schema import Schema


class Mined(NamedTuple):
    """Mined rule with its confidence and support."""

    rule: Rule
    confidence: float
    support: int


def mine_rules(schema: Schema, *, confidence: float = 0.8, support: int = 10) -> list[Mined]:
    r"""Mine implications between two predicates, in descending order of confidence.

    The implications are :math:`a(x, y) \Rightarrow b(x, y)`, :math:`a(x, y) \Rightarrow b(y, x)`,
    :math:`a(x, y) \Rightarrow a(y, x)` and, for predicates of one entity, :math:`a(x) \Rightarrow b(x)`. Confidence is
    the share of facts of :math:`a` whose conclusion is a fact; unobserved facts count as false.

    Parameters
    ----------
    schema : Schema
        Pairs of entities and their known predicates.
    confidence : float
        Minimum confidence, above 0 and at most 1.
    support : int
        Minimum number of facts of :math:`a` whose conclusion is a fact.

    References
    ----------
    Galárraga, Teflioudi, Hose, Suchanek (2013), AMIE: association rule mining under incomplete evidence in ontological
    knowledge bases (standard confidence).

    Examples
    --------
    >>> from polyadic.relations.schema import schema_of
    >>> schema = schema_of([(f"e{i}", f"f{i}", "owns") for i in range(4)] + [("f0", "e0", "owned by")])
    >>> [(str(rule), confidence) for rule, confidence, _ in mine_rules(schema, support=1)]
    [('"owned by"(x, y) => owns(y, x)', 1.0)]
    """
    check_setting("confidence", confidence, Probability)
    check_int("support", support, low=1)
    cells, single = schema.cells, schema.single
    at = np.flatnonzero((schema.reversed_rows >= 0) & ~single)
    pairs, entities, turned = cells[~single], cells[single], cells[schema.reversed_rows[at]]
    rules = []
    for premises, conclusions, arguments in (
        (pairs, pairs, ("x", "y")),
        (cells[at], turned, ("y", "x")),
        (entities, entities, ("x",)),
    ):
        listed = (premises.T @ conclusions).tocoo()
        counts = np.asarray((entities if len(arguments) == 1 else pairs).sum(axis=0)).ravel()
        shares = listed.data / counts[listed.row]
        enough = (shares >= confidence) & (listed.data >= support)
        enough &= (listed.row != listed.col) | (arguments == ("y", "x"))
        found = (array[enough].tolist() for array in (listed.row, listed.col, shares, listed.data))
        for a, b, share, number in zip(*found, strict=True):
            premise = Atom(schema.predicates[a], tuple(sorted(arguments)))
            rule = Rule(Implies(premise, Atom(schema.predicates[b], arguments)))
            rules.append(Mined(rule, share, int(number)))
    return sorted(rules, key=lambda mined: (-mined.confidence, -mined.support, str(mined.rule)))


class RuleCounts(NamedTuple):
    """Number of groundings whose premise is true, and number whose premise and conclusion are both true."""

    premises: int
    right: int


def count_groundings(schema: Schema, rule: Rule) -> RuleCounts:
    """Count the groundings of a rule whose premise is true, and those whose conclusion is also true.

    Unobserved facts count as false. The premise of a rule that is not an implication counts as true.
    """
    check_rules([rule], schema)
    written = rule.formula.premise if isinstance(rule.formula, Implies) else And(())
    bindings, known = _grounded(rule, written, schema)
    size = len(next(iter(bindings.values())))
    premise = holds(written, known) if isinstance(rule.formula, Implies) else np.ones(size, bool)
    conclusion = rule.formula.conclusion if isinstance(rule.formula, Implies) else And((rule.formula,))
    return RuleCounts(int(premise.sum()), int((premise & holds(conclusion, known)).sum()))


class Derivation(NamedTuple):
    """Rule that derives a fact, with the rule's counts and the premise facts of each derivation."""

    rule: Rule
    counts: RuleCounts
    groundings: list[list[tuple[str, ...]]]


def derivations(schema: Schema, rules: Iterable[Rule], fact: tuple[str, ...]) -> list[Derivation]:
    """Return the rules that derive a fact from other known facts, in descending order of confidence.

    ``fact`` is subject, object and predicate, or entity and predicate, and need not be known.
    """
    found = []
    names, (*pair, predicate) = schema.entities, fact
    for rule in rules:
        alike = (atom.arguments for atom in rule.conclusions if atom.predicate == predicate)
        concluding = [arguments for arguments in alike if len(arguments) == len(pair)]
        if not concluding or not rule.implication or not {*pair} <= set(names):
            continue
        premise, at_ends = rule.implication.premise, [names.index(name) for name in pair]
        bindings, known = _grounded(rule, premise, schema)
        ends = (zip(variables, at_ends, strict=True) for variables in concluding)
        concluded = np.any([np.all([bindings[x] == end for x, end in each], axis=0) for each in ends], axis=0)
        premises = [(atom, known(atom)) for atom in atoms_of(premise)]
        groundings = [
            [
                (*(names[bindings[each][at]] for each in atom.arguments), atom.predicate)
                for atom, true in premises
                if true[at]
            ]
            for at in np.flatnonzero(concluded & holds(premise, known))
        ]
        if others := [facts for facts in groundings if fact not in facts]:
            found.append(Derivation(rule, count_groundings(schema, rule), others))
    return sorted(found, key=lambda one: -one.counts.right / one.counts.premises)


def _grounded(rule: Rule, premise: Formula, schema: Schema) -> tuple[Bindings, Callable[[Atom], Mask]]:
    """Return variable bindings for which the premise may be true, and a function that evaluates atoms."""
    places = Places(schema)
    bindings = bindings_of(rule, conjuncts(premise), places, places.facts)

    def known(atom: Atom) -> Mask:
        rows = places.rows(atom, bindings)
        return (rows >= 0) & np.isin(rows, places.facts(atom))

    return bindings, known
