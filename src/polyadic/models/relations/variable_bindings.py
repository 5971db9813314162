"""Bindings: the entities that the variables of rules stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polyadic.resources import check_memory
from polyadic.text.relations.formulas import Atom

if TYPE_CHECKING:
    from polyadic.text.relations.formulas import Rule
    from polyadic.text.relations.schema import Schema

Bindings = dict[str, NDArray[np.int64]]
"""The number of the entity that each variable stands for, arrays of one shape (bindings,)."""
Facts = Callable[[Atom], NDArray[np.int64]]
"""From an atom to the rows of pairs of which its predicate is known."""


class Places:
    """Rows of pairs, by the numbers of their entities."""

    def __init__(self, schema: Schema) -> None:
        self.schema, self.arguments = schema, schema.arguments
        self.size = len(schema.entities)
        keys = self.arguments @ [self.size, 1]
        self.order = np.argsort(keys)
        self.keys = keys[self.order]

    def rows(self, atom: Atom, bindings: Bindings) -> NDArray[np.int64]:
        """Give the row of the pair of which an atom is said in each grounding, -1 where there is none."""
        subjects, objects = (bindings[variable] for variable in atom.arguments)
        keys = subjects * self.size + objects
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.order[at], -1)

    def bound(self, atom: Atom, rows: NDArray[np.int64]) -> Bindings:
        """Give what the variables of an atom stand for where it is said of the pairs of rows."""
        subjects, objects = self.arguments[rows].T
        first, second = atom.arguments
        if first == second:
            return {first: subjects[subjects == objects]}
        return {first: subjects, second: objects}

    def every(self, rule: Rule) -> Bindings:
        """Give what the variables of a rule stand for where an atom that has them all is said of a pair, each once."""
        rows = np.arange(len(self.arguments))
        tables = [self.bound(atom, rows) for atom in covering(rule)]
        all_ways = [np.column_stack([table[variable] for variable in rule.variables]) for table in tables]
        return dict(zip(rule.variables, np.unique(np.concatenate(all_ways), axis=0).T, strict=True))

    def whole(self, rule: Rule, bindings: Bindings) -> NDArray[np.int64]:
        """Give the row of each atom, shape (groundings, atoms), of groundings whose pairs all have rows."""
        rows = np.column_stack([self.rows(atom, bindings) for atom in rule.atoms])
        return rows[(rows >= 0).all(axis=1)]


def covering(rule: Rule) -> list[Atom]:
    """Give the atoms that have all variables of a rule."""
    return [atom for atom in rule.atoms if set(rule.variables) == set(atom.arguments)]


def joined(atoms: Sequence[Atom], places: Places, facts: Facts) -> Bindings:
    """Give all ways to bind variables such that atoms hold of facts.

    Raises
    ------
    InputError
        If the memory would not suffice.
    """
    left = list(atoms)
    bindings = places.bound(left[0], facts(left.pop(0)))
    while left:
        atom = next((atom for atom in left if set(atom.arguments) & set(bindings)), left[0])
        left.remove(atom)
        bindings = _matched(bindings, places.bound(atom, facts(atom)), places.size)
    return bindings


def _matched(left: Bindings, right: Bindings, size: int) -> Bindings:
    """Bind what two tables bind alike."""
    keys = [np.zeros(len(next(iter(table.values()))), np.int64) for table in (left, right)]
    for variable in set(left) & set(right):
        keys = [key * size + table[variable] for key, table in zip(keys, (left, right), strict=True)]
    order = np.argsort(keys[1], kind="stable")
    starts, ends = (np.searchsorted(keys[1][order], keys[0], side) for side in ("left", "right"))
    counts = ends - starts
    needed = 8.0 * int(counts.sum()) * (len(left) + len(right) + 2)
    check_memory(needed, f"{int(counts.sum()):,} ways to bind variables", "leave out the rule with the widest premise")
    at_left = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(at_left)) - np.repeat(np.cumsum(counts) - counts, counts)
    at_right = order[np.repeat(starts, counts) + within]
    both: list[tuple[Bindings, NDArray[np.int64]]] = [(right, at_right), (left, at_left)]
    return {variable: table[variable][at] for table, at in both for variable in table}
