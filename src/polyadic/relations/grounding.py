r"""Groundings of logic rules: variable bindings, formula probabilities, losses, and derived facts.

A rule with an atom that has all variables is grounded in every row with an observed cell of such an atom, and in as
many random rows, drawn anew in each epoch. Other rules, such as :math:`a(x, z) \land b(z, y) \Rightarrow c(x, y)`, are
grounded only where the facts of their premise, or of what their conclusion denies, are known; a variable that these do
not bind is bound to every entity, and rules without such facts are grounded everywhere. A rule and its contrapositive
have the same groundings. Groundings with an atom of a pair without a row are left out; atoms of one entity, as in
:math:`\lnot \mathrm{person}(x) \Rightarrow \lnot \mathrm{born\_in}(x, y)`, have a row for every entity
(:meth:`~polyadic.relations.schema.Schema.with_entities`).

Atoms are independent with marginals :math:`p_i = \sigma(m_i)`. The probability of a formula is the sum over the worlds
:math:`w \in \{0, 1\}^n` in which it is true:

.. math:: [F] = \sum_{w \models F} \prod_i p_i^{w_i} (1 - p_i)^{1 - w_i}, \qquad
          \frac{\partial \log [F]}{\partial m_i} = \Pr(w_i = 1 \mid F) - p_i .

If no atom occurs twice, these are the products of marginals of the paper, :math:`[\lnot A] = 1 - [A]`,
:math:`[A \land B] = [A][B]`, :math:`[A \Rightarrow B] = [A]([B] - 1) + 1`; for repeated atoms, equivalent formulas have
equal probabilities, as they do not have there: :math:`[A \land A] = p` instead of :math:`p^2`.

Forward chaining (:func:`chain`) derives the atoms of the conclusion of an implication, if that is an atom or a
conjunction of atoms, until no new fact follows. Unknown facts count as false. A derived fact has the probability of its
premise, with independent atoms, or the largest one of several derivations.

References
----------
Rocktäschel, Singh, Riedel (2015), Injecting logical background knowledge into embeddings for relation extraction,
section 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, logsumexp, softmax

from polyadic.core.annotations import AnyArray, Array, Ints, Mask
from polyadic.core.errors import InputError
from polyadic.core.losses import Logistic
from polyadic.core.resources import check_memory
from polyadic.core.settings import Within, check_setting
from polyadic.relations.formulas import Atom, Rule, atoms_of, check_predicates, worlds
from polyadic.relations.questions import AbsentCells, CellLoss

if TYPE_CHECKING:
    from polyadic.relations.schema import Schema

Bindings = dict[str, Ints]
"""Entity numbers of each variable, arrays of one shape (bindings,)."""
KnownRows = Callable[[Atom], Ints]
"""Map from an atom to the rows of pairs of which its predicate is known to hold."""


class Places:
    """Lookup table that maps the ids of one or two entities to a row index."""

    def __init__(self, schema: Schema) -> None:
        self.schema, self.arguments = schema, schema.arguments
        self.size = len(schema.entities)
        keys = np.where(schema.single, self.size**2 + self.arguments[:, 0], self.arguments @ [self.size, 1])
        self.order = np.argsort(keys)
        self.keys = keys[self.order]

    def rows(self, atom: Atom, bindings: Bindings) -> Ints:
        """Return the row index of an atom's entities in each grounding, or -1 if there is no such row."""
        subjects, *objects = (bindings[variable] for variable in atom.arguments)
        keys = subjects * self.size + objects[0] if objects else self.size**2 + subjects
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, self.order[at], -1)

    def bound(self, atom: Atom, rows: Ints) -> Bindings:
        """Bind the variables of an atom to the entities of the given rows, of those with as many entities."""
        subjects, objects = self.arguments[rows[self.fits(atom)[rows]]].T
        first, second = atom.arguments[0], atom.arguments[-1]
        if first == second:
            return {first: subjects[subjects == objects]}
        return {first: subjects, second: objects}

    def facts(self, atom: Atom) -> Ints:
        """Return the rows for which the predicate of an atom is known to hold."""
        return self.schema.rows_of(atom.predicate)

    def fits(self, atom: Atom) -> Mask:
        """Return whether each row has as many entities as the atom has arguments."""
        return self.schema.single == (len(atom.arguments) == 1)

    def every(self, rule: Rule, side: tuple[Atom, ...], facts: KnownRows) -> Bindings:
        """Return the bindings for which atoms of a side are facts, and others that bind more variables have a row."""
        atoms, rows = list(side), np.arange(len(self.arguments))
        for atom in (*rule.conclusions, *rule.atoms):
            if not set(atom.arguments) <= {variable for one in atoms for variable in one.arguments}:
                atoms.append(atom)
        return joined(atoms, self, lambda atom: facts(atom) if atom in side else rows)

    def any(self, rule: Rule) -> Bindings:
        """Return the bindings of a rule for which an atom with all variables has a row, if there is such an atom."""
        rows = np.arange(len(self.arguments))
        tables = [self.bound(atom, rows) for atom in covering(rule)]
        all_ways = [np.column_stack([table[variable] for variable in rule.variables]) for table in tables]
        return dict(zip(rule.variables, np.unique(np.concatenate(all_ways), axis=0).T, strict=True))

    def whole(self, rule: Rule, bindings: Bindings) -> Ints:
        """Return the row indices of the atoms, shape (groundings, atoms), skipping groundings with absent pairs."""
        rows = np.column_stack([self.rows(atom, bindings) for atom in rule.atoms])
        return rows[(rows >= 0).all(axis=1)]


def covering(rule: Rule) -> list[Atom]:
    """Return the atoms that contain all variables of a rule."""
    return [atom for atom in rule.atoms if set(rule.variables) == set(atom.arguments)]


def check_rules(rules: Iterable[Rule], schema: Schema) -> None:
    """Raise InputError if a rule has an unknown predicate, or one whose facts have another number of entities."""
    rules = list(rules)
    check_predicates(rules, schema.predicates)
    for atom in (atom for rule in rules for atom in rule.atoms):
        single = schema.single[schema.rows_of(atom.predicate)]
        if len(single) and not (single == (len(atom.arguments) == 1)).any():
            found, needed = ("one argument", "two") if len(atom.arguments) == 1 else ("two arguments", "one")
            where = f"{atom.place}: " if atom.place else ""
            raise InputError(f"{where}the predicate {atom.predicate!r} has {found} in a rule and {needed} in the facts")


def joined(atoms: Sequence[Atom], places: Places, facts: KnownRows) -> Bindings:
    """Return all variable bindings for which every given atom is a known fact."""
    left = list(atoms)
    bindings = places.bound(left[0], facts(left.pop(0)))
    while left:
        atom = next((atom for atom in left if set(atom.arguments) & set(bindings)), left[0])
        left.remove(atom)
        bindings = _matched(bindings, places.bound(atom, facts(atom)), places.size)
    return bindings


def _matched(left: Bindings, right: Bindings, size: int) -> Bindings:
    """Join two tables of variable bindings on their common variables."""
    keys = [np.zeros(len(next(iter(table.values()))), np.int64) for table in (left, right)]
    for variable in set(left) & set(right):
        keys = [key * size + table[variable] for key, table in zip(keys, (left, right), strict=True)]
    order = np.argsort(keys[1], kind="stable")
    starts, ends = (np.searchsorted(keys[1][order], keys[0], side) for side in ("left", "right"))
    counts = ends - starts
    needed = 8.0 * int(counts.sum()) * (len(left) + len(right) + 2)
    names = ", ".join(sorted({*left, *right}))
    what = f"a rule with {int(counts.sum()):,} ways to bind the variables {names}"
    check_memory(needed, what, "leave out the rule, or add atoms that bind more of its variables")
    at_left = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(at_left)) - np.repeat(np.cumsum(counts) - counts, counts)
    at_right = order[np.repeat(starts, counts) + within]
    both: list[tuple[Bindings, Ints]] = [(right, at_right), (left, at_left)]
    return {variable: table[variable][at] for table, at in both for variable in table}


class Truth(NamedTuple):
    """Log-probability of a formula in each grounding, with derivatives with respect to the atoms' log-odds."""

    logarithms: AnyArray  # shape (n,)
    derivatives: AnyArray  # shape (n, atoms)


def truth(worlds: Mask, log_odds: AnyArray) -> Truth:
    """Return log-probabilities of a formula, given the worlds in which it holds and log-odds, shape (n, atoms)."""
    m = np.asarray(log_odds, float)
    scores = -np.logaddexp(0, -m) @ worlds.T - np.logaddexp(0, m) @ ~worlds.T
    return Truth(np.minimum(logsumexp(scores, axis=1), 0), softmax(scores, axis=1) @ worlds - expit(m))


def probability(worlds: Mask, marginals: AnyArray) -> AnyArray:
    """Return the probability of a formula in each grounding, given the marginals of its atoms, shape (n, atoms)."""
    total = np.zeros(len(marginals))
    for world in worlds:
        total += np.where(world, marginals, 1 - marginals).prod(axis=1)
    return total


class GroundingBatch(NamedTuple):
    """Batch of rule groundings with the same satisfying truth assignments."""

    worlds: Mask  # shape (worlds, atoms)
    cells: Ints  # row and column of each atom, shape (n, atoms, 2)
    weights: Array  # shape (n,)


class Groundings:
    r"""Negative log-likelihood of rules over their groundings: :math:`-\sum_g w_g \log [F_g]`.

    ``drawn`` is the number of random pairs per epoch for each of the ``counts`` groundings of a rule with an observed
    cell. Rules with swapped variables need reversed pairs (:meth:`~polyadic.relations.schema.Schema.with_reversed`).
    """

    def __init__(self, schema: Schema, rules: Sequence[Rule], *, drawn: int = 1) -> None:
        check_rules(rules, schema)
        self.places, self.rules, self.drawn = Places(schema), list(rules), drawn
        self.known = [self._known(rule) for rule in rules]
        self.counts = [len(rows) for rows in self.known]

    def epoch(self, rng: np.random.Generator, steps: int) -> Iterator[tuple[Ints, CellLoss]]:
        """Yield all groundings in random order, split into ``steps`` batches."""
        groups = self._groups(rng)
        for step in range(steps):
            asked = [_share(group, step, steps) for group in groups]
            cells = np.concatenate([np.zeros((0, 2), np.int64), *(group.cells.reshape(-1, 2) for group in asked)])
            yield cells, batch_loss(asked)

    def _known(self, rule: Rule) -> Ints:
        """Return the row indices of a rule's atoms in all groundings with a known fact; see the module."""
        if atoms := covering(rule):
            bindings = [self.places.bound(atom, self.places.facts(atom)) for atom in atoms]
        else:
            sides = [side for side in rule.sides if side] or [()]
            bindings = [self.places.every(rule, side, self.places.facts) for side in sides]
        return np.unique(np.concatenate([self.places.whole(rule, table) for table in bindings]), axis=0)

    def _drawn(self, rule: Rule, known: int, rng: np.random.Generator) -> Ints:
        """Return the row indices of a rule's atoms in randomly sampled groundings."""
        if not (atoms := covering(rule)):
            return np.zeros((0, len(rule.atoms)), np.int64)
        rows = np.flatnonzero(self.places.fits(atoms[0]))
        drawn = rows[rng.integers(max(len(rows), 1), size=self.drawn * known * (len(rows) > 0))]
        return self.places.whole(rule, self.places.bound(atoms[0], drawn))

    def _groups(self, rng: np.random.Generator) -> list[GroundingBatch]:
        groups: dict[bytes, list[GroundingBatch]] = {}
        for rule, known in zip(self.rules, self.known, strict=True):
            rows = np.concatenate([known, self._drawn(rule, len(known), rng)])
            columns = np.array([self.places.schema.column(atom.predicate) for atom in rule.atoms])
            cells = np.stack([rows, np.broadcast_to(columns, rows.shape)], axis=2)
            name = bytes([len(rule.atoms)]) + rule.worlds.tobytes()
            groups.setdefault(name, []).append(GroundingBatch(rule.worlds, cells, np.full(len(rows), rule.weight)))
        return [_shuffled(group, rng) for group in groups.values()]


def batch_loss(asked: Sequence[GroundingBatch]) -> CellLoss:
    """Return a function that computes the loss of rule groundings from the log-odds of their atoms."""

    def judged(log_odds: AnyArray) -> tuple[float, AnyArray]:
        value, slopes, at = 0.0, [np.zeros(0)], 0
        for group in asked:
            size, shape = group.cells.size // 2, group.cells.shape[:2]
            logarithms, derivatives = truth(group.worlds, log_odds[at : at + size].reshape(shape))
            value -= float(group.weights @ logarithms)
            slopes.append(-(group.weights[:, None] * derivatives).ravel())
            at += size
        return value, np.concatenate(slopes)

    return judged


def _shuffled(group: list[GroundingBatch], rng: np.random.Generator) -> GroundingBatch:
    cells, weights = (np.concatenate([asked[at] for asked in group]) for at in (1, 2))
    order = rng.permutation(len(weights))
    return GroundingBatch(group[0].worlds, cells[order], weights[order])


def _share(group: GroundingBatch, step: int, steps: int) -> GroundingBatch:
    """Return the slice of a batch of groundings that belongs to a given step."""
    part = slice(len(group.weights) * step // steps, len(group.weights) * (step + 1) // steps)
    return GroundingBatch(group.worlds, group.cells[part], group.weights[part])


class DerivedNegatives:
    """Sampler of ``n_negatives`` for each derived cell that is not observed, anew in each epoch.

    ``derived`` contains observed facts, too; no negative is derived. Without negatives, a conclusion that holds of all
    pairs satisfies a rule.
    """

    def __init__(
        self, listed: csr_array, derived: csr_array, *, n_negatives: int, weight: float, single: Mask | None = None
    ) -> None:
        cells = np.column_stack(derived.nonzero())
        self.absent = AbsentCells(cells.astype(np.int64), derived.shape, axis="column", single=single)
        new = np.column_stack((derived - derived.multiply(listed)).nonzero()).astype(np.int64)
        self.cells = np.repeat(new[np.lexsort((new[:, 0], new[:, 1]))], n_negatives, axis=0)
        self.weight = weight

    def epoch(self, rng: np.random.Generator, steps: int) -> Iterator[tuple[Ints, CellLoss]]:
        """Yield the sampled negatives in random order, split into ``steps`` batches."""
        drawn = self.absent.beside(self.cells[rng.permutation(len(self.cells))], rng)
        cells = drawn[drawn[:, 0] >= 0]  # a predicate derived for every pair has no negatives
        for step in range(steps):
            yield cells[len(cells) * step // steps : len(cells) * (step + 1) // steps], self._loss

    def _loss(self, m: AnyArray) -> tuple[float, AnyArray]:
        false = np.zeros_like(m)
        value, slopes = Logistic().value(false, m), Logistic().grad(false, m)
        return self.weight * float(np.sum(value, dtype=float)), self.weight * slopes


Probability = Annotated[float, Within(0, 1, above=True)]


def chain(
    schema: Schema, rules: Iterable[Rule], *, facts: csr_array | None = None, threshold: float = 0.5
) -> csr_array:
    """Infer new facts of pairs that have a row by forward chaining; return the probabilities of all facts.

    Known facts are the cells of the schema, with probability 1, or ``facts``. Only facts and premises of at least the
    threshold count.
    """
    check_setting("threshold", threshold, Probability)
    rules = [rule for rule in rules if rule.conclusions]
    check_rules(rules, schema)
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


def _derive(rule: Rule, places: Places, known: dict[str, Array], threshold: float) -> bool:
    """Add the facts derived by one rule to the known facts; return whether any probability increased."""
    assert rule.implication
    premise = rule.implication.premise
    bindings = bindings_of(rule, rule.binding, places, lambda atom: np.flatnonzero(known[atom.predicate]))
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


def bindings_of(rule: Rule, side: tuple[Atom, ...], places: Places, facts: KnownRows) -> Bindings:
    """Return the variable bindings of a rule for which all atoms of a side may be true."""
    if covering(rule) and {variable for atom in side for variable in atom.arguments} != set(rule.variables):
        return places.any(rule)
    return places.every(rule, side, facts)
