"""Universal schemas with planted factors, and rules that hold of them as often as is asked."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from polyadic.errors import InputError, check_int, check_number
from polyadic.text.relations.rules import parse_rule
from polyadic.text.relations.schema import Schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.text.relations.formulas import Rule

RANK = 10
"""Of the planted factors."""
DENSITY = 0.1
"""Share of the pairs of which a relation holds."""


class Planted(NamedTuple):
    """A schema, and what it leaves out.

    Attributes
    ----------
    schema : Schema
        What is told.
    rules : list of Rule
        One for each relation: what its first pattern says implies it.
    relations : list of str
    held : ndarray of shape (n,)
        Rows of the schema of which no relation is told.
    truth : ndarray of bool of shape (n, relations)
        What holds of them.
    """

    schema: Schema
    rules: list[Rule]
    relations: list[str]
    held: NDArray[np.int64]
    truth: NDArray[np.bool_]


def planted_schema(
    pairs: int = 4000,
    *,
    relations: int = 8,
    patterns: int = 5,
    recall: float = 0.3,
    confidence: float = 0.9,
    told: float = 0.0,
    seed: int | None = None,
) -> Planted:
    r"""Make pairs of entities, relations between them, and patterns that say the same less reliably.

    A relation :math:`t` holds of the tenth of the pairs :math:`r` with the largest :math:`u_r \cdot v_t`, of vectors of
    10 normal numbers. A pattern of a relation is found with some of the pairs of which it holds, and with a few others.
    Of every other relation the first pattern has subject and object swapped, and so has its rule.

    Parameters
    ----------
    pairs : int
        In one order; those of swapped patterns come on top. A quarter is held out.
    relations : int
    patterns : int
        Of each relation.
    recall : float
        Share of the pairs of a relation with which a pattern is found.
    confidence : float
        Share of the pairs with which a pattern is found of which the relation holds: how often its rule is right.
    told : float
        Share of the facts of relations that are told of pairs that are not held out; 0 for relations of which no fact
        is known.
    seed : int, optional

    Raises
    ------
    InputError
        If a share is above 1 or no share, or there is nothing to make.

    Examples
    --------
    >>> made = planted_schema(400, relations=2, told=0.5, seed=0)
    >>> [str(rule) for rule in made.rules], made.truth.shape
    (['pattern0.0(x, y) => relation0(x, y)', 'pattern1.0(y, x) => relation1(x, y)'], (100, 2))
    """
    for name, number, low in (("pairs", pairs, 40), ("relations", relations, 1), ("patterns", patterns, 1)):
        check_int(name, number, low=low)
    for name, share in (("recall", recall), ("confidence", confidence), ("told", told)):
        if check_number(name, share, above=name != "told") > 1:
            raise InputError(f"{name} is a share of at most 1; got {share}")
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((pairs, RANK)) @ rng.standard_normal((RANK, relations))
    truth = scores >= np.quantile(scores, 1 - DENSITY, axis=0)
    held = np.sort(rng.permutation(pairs)[: pairs // 4])
    shown = truth & (rng.random(truth.shape) < told)
    shown[held] = False
    columns, swapped = {f"relation{t}": np.flatnonzero(shown[:, t]) for t in range(relations)}, []
    for t, k in product(range(relations), range(patterns)):
        columns[f"pattern{t}.{k}"] = _found(truth[:, t], recall, confidence, rng)
        swapped += [f"pattern{t}.{k}"] * (k == 0 and t % 2)
    rules = [parse_rule(f"pattern{t}.0({'y, x' if t % 2 else 'x, y'}) => relation{t}(x, y)") for t in range(relations)]
    return Planted(_schema(_pairs(pairs, rng), columns, swapped), rules, list(columns)[:relations], held, truth[held])


def _found(truth: NDArray[np.bool_], recall: float, confidence: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the pairs with which a pattern is found."""
    right = np.flatnonzero(truth & (rng.random(len(truth)) < recall))
    others = rng.permutation(np.flatnonzero(~truth))
    return np.concatenate([right, others[: round(len(right) * (1 - confidence) / confidence)]])


def _pairs(number: int, rng: np.random.Generator) -> list[tuple[str, str]]:
    """Draw pairs, none of which is the reverse of another."""
    entities = int(np.ceil(2 * np.sqrt(number)))
    ends = np.transpose(np.triu_indices(entities, 1))
    return [(f"e{s}", f"e{o}") for s, o in ends[rng.permutation(len(ends))[:number]].tolist()]


def _schema(pairs: list[tuple[str, str]], columns: dict[str, NDArray[np.int64]], swapped: list[str]) -> Schema:
    """Gather what is told; the pairs of swapped columns are the reverse of those whose rows are given."""
    rows = {pair: row for row, pair in enumerate(pairs)}
    cells = []
    for column, (name, told) in enumerate(columns.items()):
        for row in told.tolist():
            pair = pairs[row][::-1] if name in swapped else pairs[row]
            cells.append((rows.setdefault(pair, len(rows)), column))
    if not cells:
        raise InputError("no fact would be told; make more pairs, or raise recall")
    at = np.array(cells, np.int64).T
    shape = len(rows), len(columns)
    matrix = csr_array((np.ones(len(cells)), (at[0], at[1])), shape=shape)
    matrix.sort_indices()
    return Schema(list(rows), list(columns), matrix)
