"""Rules tried on facts: how often a premise holds, and the conclusion with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.models.relations.bindings import Places, joined
from polyadic.text.relations.formulas import And, Implies, check_predicates, holds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.text.relations.formulas import Atom, Rule
    from polyadic.text.relations.schema import Schema


class Tried(NamedTuple):
    """Groundings whose premise is known to hold, and those of them whose conclusion is."""

    premises: int
    right: int


def tried(schema: Schema, rule: Rule) -> Tried:
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
    >>> from polyadic.text.relations.rules import parse_rule
    >>> from polyadic.text.relations.schema import schema_of
    >>> facts = [("Ann", "Tea", "bought"), ("Bob", "Tea", "bought"), ("Bob", "Tea", "owns")]
    >>> tried(schema_of(facts), parse_rule("bought(x, y) => owns(x, y)"))
    Tried(premises=2, right=1)
    """
    check_predicates([rule], schema.predicates)
    places = Places(schema)

    def facts(atom: Atom) -> NDArray[np.int64]:
        return schema.rows_of(atom.predicate)

    if {one for atom in rule.binding for one in atom.arguments} == set(rule.variables):
        bindings = joined(rule.binding, places, facts)
    else:
        bindings = places.every(rule)

    def known(atom: Atom) -> NDArray[np.bool_]:
        rows = places.rows(atom, bindings)
        return (rows >= 0) & np.isin(rows, facts(atom))

    size = len(next(iter(bindings.values())))
    premise = holds(rule.formula.premise, known) if isinstance(rule.formula, Implies) else np.ones(size, bool)
    conclusion = rule.formula.conclusion if isinstance(rule.formula, Implies) else And((rule.formula,))
    return Tried(int(premise.sum()), int((premise & holds(conclusion, known)).sum()))
