r"""Text format for logic rules over predicates of entity pairs and of single entities.

A file has one rule per line; ``#`` begins a comment::

    # premise => conclusion
    "X , head of Y"(x, y) => leads(x, y)
    leads(x, y) & !retired(x, x) => works_for(x, y)
    owns(x, y) => part_of(y, x)                     # with variables swapped
    capital_of(x, z) & country_of(z, y) => in(x, y)
    !person(x) => !place_of_birth(x, y)             # a predicate of one entity
    0.5 parent(x, y) => !parent(y, x)               # weight 0.5

Precedence in descending order: ``!``, ``&``, ``|``, ``=>``; parentheses group. A predicate is quoted if its name
contains a space or one of ``( ) & | ! , = # "``, or is a number; within quotes, ``\"`` is a quote and ``\\`` a
backslash. A number before a rule is its weight. All variables are universally quantified. ``person(x)`` is about the
entity alone and ``person(x, x)`` about the pair of the entity with itself; these are different atoms.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from polyadic.core.errors import InputError, InputWarning
from polyadic.core.streams import text_lines
from polyadic.relations.formulas import (
    BARE,
    And,
    Atom,
    Formula,
    Implies,
    Not,
    Or,
    Rule,
    SourceLocation,
    check_predicates,
    is_number,
)

BLANKS = re.compile(r"\s*")
TOKEN = re.compile(rf'(?P<mark>=>|[()&|!,])|"(?P<quoted>[^"\\]*+(?:\\["\\][^"\\]*+)*+)"|(?P<name>{BARE})')

MAX_DEPTH = 50  # maximum depth of a formula, since formulas are processed recursively


def read_rules(path: str | os.PathLike[str], *, predicates: Collection[str] | None = None) -> list[Rule]:
    """Read logic rules from a text file with one rule per line.

    By default all ``predicates`` are allowed; see :mod:`polyadic.relations.rules` for the format.

    Raises
    ------
    InputWarning
        If a variable of a conclusion does not occur in the premise.
    InputError
        If the file cannot be read or has no rules; or a rule is malformed or has an unknown predicate. The message has
        file, line and column.
    """
    read = (_Reader(line, str(path), number).whole() for number, line in enumerate(text_lines(str(path)), 1))
    rules = _known(path, [rule for rule in read if rule], predicates)
    for rule in rules:
        bound = {name for atom in rule.binding for name in atom.arguments}
        free = sorted({name for atom in rule.conclusions for name in atom.arguments} - bound)
        if rule.binding and free:
            about = f"{rule.place}: the variable {free[0]} of the conclusion does not occur in the premise"
            warnings.warn(f"{about}, so the rule concerns all entities", InputWarning, stacklevel=2)
    return rules


def parse_rule(text: str, *, predicates: Collection[str] | None = None) -> Rule:
    """Parse a logic rule from a string.

    Errors are those of :func:`read_rules`, with ``rule`` as the file name.

    >>> print(parse_rule('2 (a(x,y)) & !(b(y,x) | c(x,y)) => "d e"(x,y)'))
    2.0 a(x, y) & !(b(y, x) | c(x, y)) => "d e"(x, y)
    """
    rule = _Reader(text, "rule", 1).whole()
    return _known("rule", [rule] if rule else [], predicates)[0]


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


class _Reader:
    """Recursive-descent parser for one line of a rules file."""

    def __init__(self, line: str, file: str, number: int) -> None:
        self.file, self.number = file, number
        self.tokens = list(self._split(line))
        self.at = self.depth = 0

    def whole(self) -> Rule | None:
        if self.tokens[0].kind == "end":
            return None
        weight = self._weight()
        start = self._place()
        formula = self._implication()
        self._take("end", "=>, &, | or the end of the line")
        return Rule(formula, weight, start)

    def _split(self, line: str) -> Iterator[_Token]:
        at = 0
        while (at := BLANKS.match(line, at).end()) < len(line) and line[at] != "#":  # type: ignore[union-attr] # it fits
            match = TOKEN.match(line, at)
            if not match:
                what = f"a predicate name that contains {line[at]!r} must be quoted"
                if line[at] == '"':
                    what = "the quoted name is not closed, or contains an invalid escape sequence"
                raise InputError(f"{SourceLocation(self.file, self.number, at + 1)}: {what}")
            kind = str(match.lastgroup)
            text = re.sub(r"\\(.)", r"\1", match[kind]) if kind == "quoted" else match[kind]
            yield _Token(text if kind == "mark" else kind, text, at + 1)
            at = match.end()
        yield _Token("end", "the end of the line", at + 1)

    def _weight(self) -> float:
        token = self.tokens[0]
        if token.kind != "name" or not is_number(token.text):
            return 1.0
        if not 0 < (weight := float(token.text)) < math.inf:
            raise self._fault(f"the weight of a rule must be a finite number above 0; found {token.text:.80}")
        self.at += 1
        return weight

    def _implication(self) -> Formula:
        premise = self._several("|", Or, lambda: self._several("&", And, self._negation))
        return Implies(premise, self._inner(self._implication)) if self._skip("=>") else premise

    def _several(self, mark: str, kind: type[And | Or], inner: Callable[[], Formula]) -> Formula:
        parts = [inner()]
        while self._skip(mark):
            parts.append(inner())
        return parts[0] if len(parts) == 1 else kind(tuple(parts))

    def _negation(self) -> Formula:
        if self._skip("!"):
            return Not(self._inner(self._negation))
        if self._skip("("):
            inner = self._inner(self._implication)
            self._take(")", "')'")
            return inner
        place = self._place()
        predicate = self._take("quoted" if self.tokens[self.at].kind == "quoted" else "name", "a predicate, '!' or '('")
        self._take("(", f"'(' and the variables of {predicate!r:.80}")
        arguments = [self._variable()]
        if self._skip(","):
            arguments.append(self._variable())
        self._take(")", "')' after two variables" if len(arguments) == 2 else "',' or ')' after a variable")
        return Atom(predicate, tuple(arguments), place)

    def _inner(self, read: Callable[[], Formula]) -> Formula:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self._fault("formulas are nested too deeply")
        formula = read()
        self.depth -= 1
        return formula

    def _variable(self) -> str:
        if not self.tokens[self.at].text.isidentifier():
            raise self._fault(f"expected a variable; found {self._found()}")
        return self._take("name", "a variable")

    def _skip(self, kind: str) -> bool:
        there = self.tokens[self.at].kind == kind
        self.at += there
        return there

    def _take(self, kind: str, expected: str) -> str:
        if not self._skip(kind):
            raise self._fault(f"expected {expected}; found {self._found()}")
        return self.tokens[self.at - 1].text

    def _found(self) -> str:
        token = self.tokens[self.at]
        return token.text if token.kind == "end" else f"{token.text!r:.80}"

    def _place(self) -> SourceLocation:
        return SourceLocation(self.file, self.number, self.tokens[self.at].column)

    def _fault(self, what: str) -> InputError:
        return InputError(f"{self._place()}: {what}")


def _known(path: str | os.PathLike[str], rules: list[Rule], predicates: Collection[str] | None) -> list[Rule]:
    if not rules:
        raise InputError(f"{path} contains no rules")
    if predicates is not None:
        check_predicates(rules, predicates)
    return rules
