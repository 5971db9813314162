"""Rules measured on facts: how often one is right, and those that are right nearly always."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.errors import check_int
from polyadic.core.settings import check_setting
from polyadic.relations.formulas import And, Atom, Implies, Rule, atoms_of, check_predicates, holds
from polyadic.relations.forward_chaining import Probability
from polyadic.relations.grounding import Places, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from polyadic.relations.grounding import Bindings
    from polyadic.relations.schema import Schema


class Mined(NamedTuple):
    """A rule, how often it is right, and how often it was."""

    rule: Rule
    confidence: float
    support: int


def mine_rules(schema: Schema, *, confidence: float = 0.8, support: int = 10) -> list[Mined]:
    r"""Give the implications between two predicates that hold of enough pairs, the most confident first.

    They are :math:`a(x, y) \Rightarrow b(x, y)`, :math:`a(x, y) \Rightarrow b(y, x)` and :math:`a(x, y) \Rightarrow
    a(y, x)`. Confidence is the share of the facts of :math:`a` of which the conclusion is a fact; what is not listed
    counts as false.

    Parameters
    ----------
    schema : Schema
    confidence : float
        At least; above 0 and at most 1.
    support : int
        Facts of :math:`a` of which the conclusion is one, at least.

    Raises
    ------
    InputError
        If a parameter is out of range.

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
    cells = schema.cells
    at, counts = np.flatnonzero(schema.reversed_rows >= 0), np.asarray(cells.sum(axis=0)).ravel()
    both = cells.T @ cells, cells[at].T @ cells[schema.reversed_rows[at]]
    rules = []
    for together, arguments in zip(both, (("x", "y"), ("y", "x")), strict=True):
        listed = together.tocoo()
        shares = listed.data / counts[listed.row]
        enough = (shares >= confidence) & (listed.data >= support)
        enough &= (listed.row != listed.col) | (arguments == ("y", "x"))
        for a, b, share, number in zip(
            *(array[enough] for array in (listed.row, listed.col, shares, listed.data)), strict=True
        ):
            premise, conclusion = (schema.predicates[int(column)] for column in (a, b))
            rule = Rule(Implies(Atom(premise, ("x", "y")), Atom(conclusion, arguments)))
            rules.append(Mined(rule, float(share), int(number)))
    return sorted(rules, key=lambda mined: (-mined.confidence, -mined.support, str(mined.rule)))


class RuleCounts(NamedTuple):
    """Groundings whose premise is known to hold, and those of them whose conclusion is."""

    premises: int
    right: int


def count_groundings(schema: Schema, rule: Rule) -> RuleCounts:
    """Try a rule on the pairs of a schema; what is not listed counts as false.

    A rule that is no implication has no premise: it is tried on all pairs.

    Parameters
    ----------
    schema : Schema
    rule : Rule

    Raises
    ------
    InputError
        If a predicate is not there, or the memory would not suffice.

    Examples
    --------
    >>> from polyadic.relations.rules import parse_rule
    >>> from polyadic.relations.schema import schema_of
    >>> facts = [("Ann", "Tea", "bought"), ("Bob", "Tea", "bought"), ("Bob", "Tea", "owns")]
    >>> count_groundings(schema_of(facts), parse_rule("bought(x, y) => owns(x, y)"))
    RuleCounts(premises=2, right=1)
    """
    check_predicates([rule], schema.predicates)
    bindings, known = _grounded(rule, schema)
    size = len(next(iter(bindings.values())))
    premise = holds(rule.formula.premise, known) if isinstance(rule.formula, Implies) else np.ones(size, bool)
    conclusion = rule.formula.conclusion if isinstance(rule.formula, Implies) else And((rule.formula,))
    return RuleCounts(int(premise.sum()), int((premise & holds(conclusion, known)).sum()))


class Derivation(NamedTuple):
    """A rule that concludes a fact, how often it is tried and right, and from which facts: those of each grounding."""

    rule: Rule
    counts: RuleCounts
    groundings: list[list[tuple[str, str, str]]]


def derivations(schema: Schema, rules: Iterable[Rule], fact: tuple[str, str, str]) -> list[Derivation]:
    """Give the rules that conclude a fact from others that are known, the most confident first.

    Parameters
    ----------
    schema : Schema
    rules : iterable of Rule
        Those that are no implication conclude nothing.
    fact : (str, str, str)
        Subject, object and predicate; it need not be known.

    Raises
    ------
    InputError
        If a predicate is not there, or the memory would not suffice.

    Examples
    --------
    >>> from polyadic.relations.rules import parse_rule
    >>> from polyadic.relations.schema import schema_of
    >>> facts = [("Ann", "Tea", "bought"), ("Bob", "Tea", "bought"), ("Bob", "Tea", "owns")]
    >>> (found,) = derivations(schema_of(facts), [parse_rule("bought(x, y) => owns(x, y)")], ("Ann", "Tea", "owns"))
    >>> found.counts, found.groundings
    (RuleCounts(premises=2, right=1), [[('Ann', 'Tea', 'bought')]])
    """
    found = []
    names, (subject, object_, predicate) = schema.entities, fact
    for rule in rules:
        concluding = [atom.arguments for atom in rule.conclusions if atom.predicate == predicate]
        if not concluding or not isinstance(rule.formula, Implies) or not {subject, object_} <= set(names):
            continue
        bindings, known = _grounded(rule, schema)
        s, o = names.index(subject), names.index(object_)
        concluded = np.logical_or.reduce([(bindings[x] == s) & (bindings[y] == o) for x, y in concluding])
        premises = [(atom, known(atom)) for atom in atoms_of(rule.formula.premise)]
        groundings = [
            [
                (*(names[bindings[each][at]] for each in atom.arguments), atom.predicate)
                for atom, true in premises
                if true[at]
            ]
            for at in np.flatnonzero(concluded & holds(rule.formula.premise, known))
        ]
        if others := [facts for facts in groundings if fact not in facts]:
            found.append(Derivation(rule, count_groundings(schema, rule), others))
    return sorted(found, key=lambda one: -one.counts.right / one.counts.premises)


def _grounded(rule: Rule, schema: Schema) -> tuple[Bindings, Callable[[Atom], NDArray[np.bool_]]]:
    """Give what the variables of a rule stand for where its premise may hold, and where atoms are known to."""
    places = Places(schema)

    def facts(atom: Atom) -> NDArray[np.int64]:
        return schema.rows_of(atom.predicate)

    if {variable for atom in rule.binding for variable in atom.arguments} == set(rule.variables):
        bindings = joined(rule.binding, places, facts)
    else:
        bindings = places.every(rule)

    def known(atom: Atom) -> NDArray[np.bool_]:
        rows = places.rows(atom, bindings)
        return (rows >= 0) & np.isin(rows, facts(atom))

    return bindings, known
