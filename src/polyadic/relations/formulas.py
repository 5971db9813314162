"""First-order formulas over predicates of one or two entities, and weighted logic rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.errors import InputError, check_number, meant

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_ATOMS = 12  # maximum number of distinct atoms of a rule; each grounding enumerates up to 2 ** 12 = 4,096 worlds
BARE = r'[^\s()&|!,="#]+'
"""Pattern of predicate names that need no quotes."""


class SourceLocation(NamedTuple):
    """Location in a file: line and column, counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}, column {self.column}"


@dataclass(frozen=True)
class Atom:
    """Atomic formula: a predicate applied to one or two variables."""

    predicate: str
    arguments: tuple[str, ...]
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        name = self.predicate
        if not re.fullmatch(BARE, name) or is_number(name):
            name = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
        return f"{name}({', '.join(self.arguments)})"


@dataclass(frozen=True)
class Not:
    """Negation of a formula."""

    inner: Formula

    def __str__(self) -> str:
        return f"!{_within(self.inner, 3)}"


@dataclass(frozen=True)
class And:
    """Conjunction of formulas."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " & ".join(_within(part, 3) for part in self.parts)


@dataclass(frozen=True)
class Or:
    """Disjunction of formulas."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " | ".join(_within(part, 2) for part in self.parts)


@dataclass(frozen=True)
class Implies:
    """Implication: the conclusion holds whenever the premise holds."""

    premise: Formula
    conclusion: Formula

    def __str__(self) -> str:
        return f"{_within(self.premise, 1)} => {_within(self.conclusion, 0)}"


Formula = Atom | Not | And | Or | Implies
STRENGTH = {Implies: 0, Or: 1, And: 2, Not: 3, Atom: 4}  # precedence of each operator


@dataclass(frozen=True)
class Rule:
    """Weighted first-order rule that should hold for all entities.

    >>> bought, owns, sells = Atom("bought", ("x", "y")), Atom("owns", ("x", "y")), Atom("sells", ("y", "x"))
    >>> Rule(Implies(bought, And((owns, Not(sells))))).worlds.astype(int).tolist()
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 1, 0]]
    """

    formula: Formula
    weight: float = 1.0
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_number("the weight of a rule", self.weight, above=True)
        if len(self.atoms) > MAX_ATOMS:
            raise InputError(f"{self._name} has {len(self.atoms)} distinct atoms; at most {MAX_ATOMS} are allowed")
        if len(self.worlds) in {0, 2 ** len(self.atoms)}:
            raise InputError(f"{self._name} is always {'true' if len(self.worlds) else 'false'}; remove the rule")

    def __str__(self) -> str:
        return f"{'' if self.weight == 1 else f'{self.weight!r} '}{self.formula}"

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """Unique atoms of the rule, in order of first occurrence."""
        return atoms_of(self.formula)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Unique variables of the rule, in order of first occurrence."""
        return tuple(dict.fromkeys(variable for atom in self.atoms for variable in atom.arguments))

    @cached_property
    def worlds(self) -> NDArray[np.bool_]:
        """Truth assignments of the atoms that satisfy the rule, shape (assignments, atoms)."""
        return worlds(self.formula, self.atoms)

    @cached_property
    def implication(self) -> Implies | None:
        """The rule as an implication, or its contrapositive if both sides are negated; None for other formulas.

        >>> x, y = Atom("person", ("x",)), Atom("born_in", ("x", "y"))
        >>> print(Rule(Implies(Not(x), Not(y))).implication)
        born_in(x, y) => person(x)
        """
        match self.formula:
            case Implies(Not(conclusion), Not(premise)):
                return Implies(premise, conclusion)
            case Implies():
                return self.formula
        return None

    @cached_property
    def binding(self) -> tuple[Atom, ...]:
        """Atoms that must be true for the premise of the implication to be true."""
        return conjuncts(self.implication.premise) if self.implication else ()

    @property
    def conclusions(self) -> tuple[Atom, ...]:
        """Atoms that follow if the premise of the implication is true."""
        return conjuncts(self.implication.conclusion) if self.implication else ()

    @cached_property
    def sides(self) -> list[tuple[Atom, ...]]:
        """Atoms of a true premise, and atoms of a false conclusion; the same for a rule and its contrapositive."""
        match self.formula:
            case Implies(premise, Not(denied)):
                return [conjuncts(premise), conjuncts(denied)]
            case Implies(premise, _):
                return [conjuncts(premise)]
            case Not(denied):
                return [conjuncts(denied)]
        return []

    @property
    def _name(self) -> str:
        return f"{self.place}: the rule" if self.place else "the rule"


def worlds(formula: Formula, atoms: tuple[Atom, ...]) -> NDArray[np.bool_]:
    """Return all truth assignments of the atoms that satisfy a formula, shape (assignments, atoms)."""
    all_ways = np.array(list(product([False, True], repeat=len(atoms))))
    return all_ways[holds(formula, lambda atom: all_ways[:, atoms.index(atom)])]


def holds(formula: Formula, of: Callable[[Atom], NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Evaluate a formula elementwise, given the truth values of its atoms."""
    match formula:
        case Atom():
            return of(formula)
        case Not(inner):
            return ~holds(inner, of)
        case And(parts):
            return np.logical_and.reduce([holds(part, of) for part in parts])
        case Or(parts):
            return np.logical_or.reduce([holds(part, of) for part in parts])
        case Implies(premise, conclusion):
            return ~holds(premise, of) | holds(conclusion, of)


def check_predicates(rules: Iterable[Rule], predicates: Collection[str]) -> None:
    """Raise InputError if a rule contains an unknown predicate, suggesting a similar name."""
    known = set(predicates)
    for atom in (atom for rule in rules for atom in rule.atoms):
        if atom.predicate not in known:
            hint = meant(atom.predicate, sorted(known))
            raise InputError(f"{_at(atom)}there is no predicate {atom.predicate!r}{hint}")


def atoms_of(formula: Formula) -> tuple[Atom, ...]:
    """Return the unique atoms of a formula in order of first occurrence."""
    return tuple(dict.fromkeys(_atoms(formula)))


def _atoms(formula: Formula) -> Iterator[Atom]:
    match formula:
        case Atom():
            yield formula
        case Not(inner):
            yield from _atoms(inner)
        case And(parts) | Or(parts):
            for part in parts:
                yield from _atoms(part)
        case Implies(premise, conclusion):
            yield from _atoms(premise)
            yield from _atoms(conclusion)


def conjuncts(formula: Formula) -> tuple[Atom, ...]:
    """Return the atoms of a conjunction or of a single atom, or an empty tuple for other formulas."""
    match formula:
        case Atom():
            return (formula,)
        case And(parts):
            return tuple(dict.fromkeys(atom for part in parts for atom in conjuncts(part)))
        case _:
            return ()


def _at(atom: Atom) -> str:
    return f"{atom.place}: " if atom.place else ""


def _within(formula: Formula, least: int) -> str:
    """Format a formula, in parentheses if its precedence is below ``least``."""
    return str(formula) if STRENGTH[type(formula)] >= least else f"({formula})"


def is_number(name: str) -> bool:
    """Return whether a name would be parsed as a number."""
    try:
        float(name)
    except ValueError:
        return False
    return True
