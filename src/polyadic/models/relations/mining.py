"""Rules that facts suggest: predicates that nearly always come with another, in the same order or the other one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.errors import InputError, check_int, check_number
from polyadic.text.relations.formulas import Atom, Implies, Rule

if TYPE_CHECKING:
    from polyadic.text.relations.schema import Schema


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
    >>> from polyadic.text.relations.schema import schema_of
    >>> schema = schema_of([(f"e{i}", f"f{i}", "owns") for i in range(4)] + [("f0", "e0", "owned by")])
    >>> [(str(rule), confidence) for rule, confidence, _ in mine_rules(schema, support=1)]
    [('"owned by"(x, y) => owns(y, x)', 1.0)]
    """
    if check_number("confidence", confidence, above=True) > 1:
        raise InputError(f"confidence is a share of at most 1; got {confidence}")
    check_int("support", support, low=1)
    cells = schema.cells
    at, counts = np.flatnonzero(schema.reversed_rows >= 0), np.asarray(cells.sum(axis=0)).ravel()
    both = cells.T @ cells, cells[at].T @ cells[schema.reversed_rows[at]]
    found = []
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
            found.append(Mined(rule, float(share), int(number)))
    return sorted(found, key=lambda one: (-one.confidence, -one.support, str(one.rule)))
