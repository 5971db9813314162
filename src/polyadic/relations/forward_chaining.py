"""Forward chaining: derive facts by rules until no new fact follows.

An implication derives the atoms of its conclusion, if that is an atom or a conjunction of atoms; other rules derive
nothing. Unknown facts count as false. Facts may be uncertain: a derived fact has the probability of its premise, with
independent atoms, or the largest such probability of several derivations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np

from polyadic.core.resources import check_memory
from polyadic.core.settings import Within, check_setting
from polyadic.relations.formulas import Implies, atoms_of, check_predicates, worlds
from polyadic.relations.grounding import Places, joined, probability

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from polyadic.relations.formulas import Rule
    from polyadic.relations.grounding import Bindings
    from polyadic.relations.schema import Schema

Probability = Annotated[float, Within(0, 1, above=True)]


def chain(
    schema: Schema, rules: Iterable[Rule], *, facts: csr_array | None = None, threshold: float = 0.5
) -> csr_array:
    """Return the probabilities of known facts of a schema and of all facts that rules derive from them.

    Known facts are the cells of the schema, with probability 1, or ``facts``. Only facts and premises of at least the
    threshold count. Facts of pairs without a row are not derived.
    """
    from scipy.sparse import csr_array

    check_setting("threshold", threshold, Probability)
    rules = [rule for rule in rules if rule.conclusions]
    check_predicates(rules, schema.predicates)
    columns = {atom.predicate: schema.column(atom.predicate) for rule in rules for atom in rule.atoms}
    check_memory(8.0 * len(columns) * len(schema.pairs), "forward chaining", "chain the rules part by part")
    cells = (schema.cells if facts is None else facts).tocoo()
    rows, kinds, values = (array[cells.data >= threshold] for array in (cells.row, cells.col, cells.data))
    known = {name: np.zeros(len(schema.pairs)) for name in columns}
    for name, column in columns.items():
        known[name][rows[kinds == column]] = values[kinds == column]
    places, grown = Places(schema), True
    while grown:
        grown = sum(_derive(rule, places, known, threshold) for rule in rules) > 0
    others = ~np.isin(kinds, list(columns.values()))
    derived = [(rows[others], kinds[others], values[others])]
    for name, column in columns.items():
        at = np.flatnonzero(known[name])
        derived.append((at, np.full(len(at), column), known[name][at]))
    rows, kinds, values = (np.concatenate(arrays) for arrays in zip(*derived, strict=True))
    return csr_array((values, (rows, kinds)), shape=cells.shape)


def _derive(rule: Rule, places: Places, known: dict[str, NDArray[np.float64]], threshold: float) -> bool:
    """Add the facts that a rule derives; return whether there are new ones."""
    assert isinstance(rule.formula, Implies)
    premise = rule.formula.premise
    bindings = _candidates(rule, places, known)
    atoms = atoms_of(premise)
    rows = np.column_stack([places.rows(atom, bindings) for atom in atoms])
    marginals = np.column_stack([known[atom.predicate][at] for atom, at in zip(atoms, rows.T, strict=True)])
    marginals[rows < 0] = 0
    likely = probability(worlds(premise, atoms), marginals)
    grown = False
    for atom in rule.conclusions:
        at = places.rows(atom, bindings)
        new = (likely >= threshold) & (at >= 0)
        before = known[atom.predicate].copy()
        np.maximum.at(known[atom.predicate], at[new], likely[new])
        grown |= bool((known[atom.predicate] > before).any())
    return grown


def _candidates(rule: Rule, places: Places, known: dict[str, NDArray[np.float64]]) -> Bindings:
    """Return the bindings of variables under which the premise of a rule may hold."""
    if {variable for atom in rule.binding for variable in atom.arguments} == set(rule.variables):
        return joined(rule.binding, places, lambda atom: np.flatnonzero(known[atom.predicate]))
    return places.every(rule)
