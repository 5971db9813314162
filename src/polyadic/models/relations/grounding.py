r"""Groundings: the cells that the atoms of rules are, and what rules ask of them.

A rule of which one atom has all variables is grounded in every pair of which a cell says something that the rule does,
and in as many pairs drawn anew in each epoch. Others, such as :math:`a(x, z) \land b(z, y) \Rightarrow c(x, y)`, are
grounded wherever the facts that their premise needs are known, and nowhere else. Where an atom is said of a pair that
has no row, there is no grounding.

References
----------
Rocktäschel, Singh, Riedel (2015), Injecting logical background knowledge into embeddings for relation extraction,
section 3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.kernels import absent_columns
from polyadic.losses import Logistic
from polyadic.models.relations.formula_probability import truth
from polyadic.models.relations.variable_bindings import Places, covering, joined
from polyadic.text.relations.formulas import check_predicates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from polyadic.solvers.relations.questions import Judge
    from polyadic.text.relations.formulas import Atom, Rule
    from polyadic.text.relations.schema import Schema


class Asked(NamedTuple):
    """Groundings of rules that are true in the same worlds.

    Attributes
    ----------
    worlds : ndarray of bool of shape (worlds, atoms)
    cells : ndarray of shape (n, atoms, 2)
        Row and column of each atom.
    weights : ndarray of shape (n,)
    """

    worlds: NDArray[np.bool_]
    cells: NDArray[np.int64]
    weights: NDArray[np.float64]


class Groundings:
    r"""What rules ask of log-odds: :math:`-\sum_g w_g \log [F_g]` over their groundings.

    A source of questions for :func:`~polyadic.solvers.relations.questions.descend_questions`.

    Parameters
    ----------
    schema : Schema
        Rules whose atoms swap variables need the reversed pairs, see
        :meth:`~polyadic.text.relations.schema.Schema.with_reversed`.
    rules : sequence of Rule
    drawn : int
        Pairs drawn in each epoch for each grounding that a cell gives; those in which a rule has no grounding fall
        out.

    Attributes
    ----------
    counts : list of int
        Groundings of each rule that cells give.

    Raises
    ------
    InputError
        If a predicate is not there, or the memory would not suffice.

    Examples
    --------
    >>> from polyadic.text.relations.rules import parse_rule
    >>> from polyadic.text.relations.schema import schema_of
    >>> schema = schema_of([("Ann", "Tea", "bought"), ("Bob", "Car", "bought"), ("Bob", "Car", "owns")])
    >>> Groundings(schema, [parse_rule("bought(x, y) => owns(x, y)")]).counts
    [2]
    """

    def __init__(self, schema: Schema, rules: Sequence[Rule], *, drawn: int = 1) -> None:
        check_predicates(rules, schema.predicates)
        self.places, self.rules, self.drawn = Places(schema), list(rules), drawn
        self.known = [self._known(rule, schema) for rule in rules]
        self.counts = [len(rows) for rows in self.known]

    def epoch(self, rng: np.random.Generator, steps: int) -> Iterator[tuple[NDArray[np.int64], Judge]]:
        """Yield all groundings in random order, in ``steps`` batches."""
        groups = self._groups(rng)
        for step in range(steps):
            asked = [_share(group, step, steps) for group in groups]
            cells = np.concatenate([np.zeros((0, 2), np.int64), *(group.cells.reshape(-1, 2) for group in asked)])
            yield cells, judge(asked)

    def _known(self, rule: Rule, schema: Schema) -> NDArray[np.int64]:
        """Give the rows of the atoms of a rule in all groundings that cells give."""

        def facts(atom: Atom) -> NDArray[np.int64]:
            return schema.rows_of(atom.predicate)

        if not (atoms := covering(rule)):
            return np.unique(self.places.whole(rule, joined(rule.binding, self.places, facts)), axis=0)
        rows = [self.places.whole(rule, self.places.bound(atom, facts(atom))) for atom in atoms]
        return np.unique(np.concatenate(rows), axis=0)

    def _drawn(self, rule: Rule, known: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Give the rows of the atoms of a rule in groundings drawn at random."""
        if not (atoms := covering(rule)):
            return np.zeros((0, len(rule.atoms)), np.int64)
        rows = rng.integers(len(self.places.arguments), size=self.drawn * known)
        return self.places.whole(rule, self.places.bound(atoms[0], rows))

    def _groups(self, rng: np.random.Generator) -> list[Asked]:
        groups: dict[bytes, list[Asked]] = {}
        for rule, known in zip(self.rules, self.known, strict=True):
            rows = np.concatenate([known, self._drawn(rule, len(known), rng)])
            columns = np.array([self.places.schema.column(atom.predicate) for atom in rule.atoms])
            cells = np.stack([rows, np.broadcast_to(columns, rows.shape)], axis=2)
            name = bytes([len(rule.atoms)]) + rule.worlds.tobytes()
            groups.setdefault(name, []).append(Asked(rule.worlds, cells, np.full(len(rows), rule.weight)))
        return [_shuffled(group, rng) for group in groups.values()]


def judge(asked: Sequence[Asked]) -> Judge:
    """Judge the log-odds of the cells of groundings, one group after another."""

    def judged(log_odds: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        value, slopes, at = 0.0, [np.zeros(0)], 0
        for worlds, cells, weights in asked:
            logarithms, derivatives = truth(worlds, log_odds[at : at + cells.size // 2].reshape(cells.shape[:2]))
            value -= float(weights @ logarithms)
            slopes.append(-(weights[:, None] * derivatives).ravel())
            at += cells.size // 2
        return value, np.concatenate(slopes)

    return judged


def _shuffled(group: list[Asked], rng: np.random.Generator) -> Asked:
    cells, weights = (np.concatenate([asked[at] for asked in group]) for at in (1, 2))
    order = rng.permutation(len(weights))
    return Asked(group[0].worlds, cells[order], weights[order])


def _share(group: Asked, step: int, steps: int) -> Asked:
    """Give what falls to one step of several."""
    part = slice(len(group.weights) * step // steps, len(group.weights) * (step + 1) // steps)
    return Asked(group.worlds, group.cells[part], group.weights[part])


class Unlisted:
    """Cells that are held to be false because others of their predicate follow from rules; drawn anew in each epoch.

    Nothing else would say of what such a predicate does not hold: a rule is content with a conclusion that is true of
    all. There are ``negatives`` for each cell that follows and is not listed, none of them one that follows.

    Parameters
    ----------
    listed, derived : csr_array of shape (pairs, predicates)
        What is listed, and that with what follows, see :func:`~polyadic.models.relations.forward_chaining.chain`.
    negatives : int
    weight : float
        Of each.
    """

    def __init__(self, listed: csr_array, derived: csr_array, *, negatives: int, weight: float) -> None:
        cells = derived.tocsc()
        cells.sort_indices()
        self.rows, self.starts = cells.indices.astype(np.int64), cells.indptr.astype(np.int64)
        self.size = cells.shape[0]
        new = np.diff(self.starts) - np.bincount(listed.indices, minlength=listed.shape[1])
        self.columns = np.repeat(np.arange(len(new)), new * negatives)
        self.weight = weight

    def epoch(self, rng: np.random.Generator, steps: int) -> Iterator[tuple[NDArray[np.int64], Judge]]:
        """Yield cells in random order, in ``steps`` batches."""
        columns = rng.permutation(self.columns)
        rows = absent_columns(self.starts, self.rows, columns, number=self.size, rng=rng)
        cells = np.column_stack([rows, columns])[rows >= 0]  # a predicate that follows of every pair has none
        for step in range(steps):
            yield cells[len(cells) * step // steps : len(cells) * (step + 1) // steps], self._judge

    def _judge(self, m: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        false = np.zeros_like(m)
        value, slopes = Logistic().value(false, m), Logistic().grad(false, m)
        return self.weight * float(np.sum(value, dtype=float)), self.weight * slopes
