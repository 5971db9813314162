"""Formulas of first-order logic about the predicates of pairs of entities, and rules: formulas that hold for all."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.errors import InputError, check_number

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from numpy.typing import NDArray

MAX_ATOMS = 12
"""Distinct atoms of a rule: all 2 ** 12 = 4,096 ways in which they may hold are looked at for each grounding."""
BARE = r'[^\s()&|!,="#]+'
"""What the name of a predicate is like that needs no quotes."""


class SourceLocation(NamedTuple):
    """Where something is written: the file, the line and the column, both from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}, column {self.column}"


@dataclass(frozen=True)
class Atom:
    """A predicate and the two variables of which it is said."""

    predicate: str
    arguments: tuple[str, str]
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{_quoted(self.predicate)}({', '.join(self.arguments)})"


@dataclass(frozen=True)
class Not:
    """That a formula does not hold."""

    inner: Formula

    def __str__(self) -> str:
        return f"!{_within(self.inner, 3)}"


@dataclass(frozen=True)
class And:
    """That all of some formulas hold."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " & ".join(_within(part, 3) for part in self.parts)


@dataclass(frozen=True)
class Or:
    """That one of some formulas holds, or several."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return " | ".join(_within(part, 2) for part in self.parts)


@dataclass(frozen=True)
class Implies:
    """That a conclusion holds wherever a premise does."""

    premise: Formula
    conclusion: Formula

    def __str__(self) -> str:
        return f"{_within(self.premise, 1)} => {_within(self.conclusion, 0)}"


Formula = Atom | Not | And | Or | Implies
STRENGTH = {Implies: 0, Or: 1, And: 2, Not: 3, Atom: 4}
"""How closely each binds."""


@dataclass(frozen=True)
class Rule:
    """A formula that holds for all entities, and how much it counts.

    Parameters
    ----------
    formula : Formula
    weight : float
        Of the logarithm of its probability; above 0.
    place : SourceLocation, optional
        Where it begins.

    Raises
    ------
    InputError
        If it cannot fail or cannot hold, has too many atoms, or a variable that its premise does not bind.

    Examples
    --------
    >>> bought, owns, sells = Atom("bought", ("x", "y")), Atom("owns", ("x", "y")), Atom("sells", ("y", "x"))
    >>> rule = Rule(Implies(bought, And((owns, Not(sells)))))
    >>> [str(atom) for atom in rule.atoms]
    ['bought(x, y)', 'owns(x, y)', 'sells(y, x)']
    >>> rule.worlds.astype(int).tolist()
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 1, 0]]
    """

    formula: Formula
    weight: float = 1.0
    place: SourceLocation | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_number("the weight of a rule", self.weight, above=True)
        if len(self.atoms) > MAX_ATOMS:
            raise InputError(f"{self._name}has {len(self.atoms)} distinct atoms; at most {MAX_ATOMS} are possible")
        _check_bound(self)
        if len(self.worlds) in {0, 2 ** len(self.atoms)}:
            raise InputError(f"{self._name}{'holds' if len(self.worlds) else 'fails'} whatever its atoms are; drop it")

    def __str__(self) -> str:
        return f"{'' if self.weight == 1 else f'{self.weight!r} '}{self.formula}"

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """Its atoms, each once, in the order in which they are written."""
        return atoms_of(self.formula)

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Its variables, each once, in the order in which they are written."""
        return tuple(dict.fromkeys(variable for atom in self.atoms for variable in atom.arguments))

    @cached_property
    def worlds(self) -> NDArray[np.bool_]:
        """The ways in which its atoms may hold such that it does, shape (worlds, atoms)."""
        return worlds(self.formula, self.atoms)

    @cached_property
    def binding(self) -> tuple[Atom, ...]:
        """The atoms that must hold for the premise to do so; a search for what it is true of begins with them."""
        return _conjuncts(self.formula.premise) if isinstance(self.formula, Implies) else ()

    @property
    def conclusions(self) -> tuple[Atom, ...]:
        """The atoms that hold if the premise does."""
        return _conjuncts(self.formula.conclusion) if isinstance(self.formula, Implies) else ()

    @property
    def _name(self) -> str:
        return f"{self.place}: the rule " if self.place else "the rule "


def worlds(formula: Formula, atoms: tuple[Atom, ...]) -> NDArray[np.bool_]:
    """Give the ways in which atoms may hold such that a formula does, shape (worlds, atoms)."""
    all_ways = np.array(list(product([False, True], repeat=len(atoms))))
    return all_ways[holds(formula, lambda atom: all_ways[:, atoms.index(atom)])]


def holds(formula: Formula, of: Callable[[Atom], NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Say where a formula holds, given where its atoms do."""
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
    """Check that all predicates of rules are there.

    Raises
    ------
    InputError
        If one is not; the message names where it is written, and a name like it that is there.

    Examples
    --------
    >>> rule = Rule(Implies(Atom("bougt", ("x", "y")), Atom("owns", ("x", "y"))))
    >>> check_predicates([rule], ["bought", "owns"])
    Traceback (most recent call last):
    polyadic.core.errors.InputError: there is no predicate 'bougt'; did you mean 'bought'?
    """
    known = set(predicates)
    for atom in (atom for rule in rules for atom in rule.atoms):
        if atom.predicate not in known:
            alike = difflib.get_close_matches(atom.predicate, sorted(known), n=1)
            meant = f"; did you mean {alike[0]!r}?" if alike else ""
            raise InputError(f"{_at(atom)}there is no predicate {atom.predicate!r}{meant}")


def atoms_of(formula: Formula) -> tuple[Atom, ...]:
    """Give the atoms of a formula, each once, in the order in which they are written."""
    return tuple(dict.fromkeys(_atoms(formula)))


def _check_bound(rule: Rule) -> None:
    """Refuse variables of which nothing says what they may be."""
    if isinstance(rule.formula, Implies):
        of_premise = {variable for atom in _atoms(rule.formula.premise) for variable in atom.arguments}
        for atom in _atoms(rule.formula.conclusion):
            _refuse(atom, of_premise)
    if not any(set(rule.variables) <= set(atom.arguments) for atom in rule.atoms):
        bound = {variable for atom in rule.binding for variable in atom.arguments}
        for atom in rule.atoms:
            _refuse(atom, bound)


def _refuse(atom: Atom, bound: Collection[str]) -> None:
    for variable in atom.arguments:
        if variable not in bound:
            raise InputError(f"{_at(atom)}the premise does not bind {variable}, of which {atom.predicate!r} is said")


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


def _conjuncts(formula: Formula) -> tuple[Atom, ...]:
    """Give the atoms that hold if a formula does, as far as its form tells."""
    match formula:
        case Atom():
            return (formula,)
        case And(parts):
            return tuple(dict.fromkeys(atom for part in parts for atom in _conjuncts(part)))
        case _:
            return ()


def _at(atom: Atom) -> str:
    return f"{atom.place}: " if atom.place else ""


def _within(formula: Formula, least: int) -> str:
    """Write a formula, in parentheses if it binds less closely than is needed."""
    return str(formula) if STRENGTH[type(formula)] >= least else f"({formula})"


def is_number(name: str) -> bool:
    """Say whether a name is read as a number."""
    try:
        float(name)
    except ValueError:
        return False
    return True


def _quoted(name: str) -> str:
    if re.fullmatch(BARE, name) and not is_number(name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
