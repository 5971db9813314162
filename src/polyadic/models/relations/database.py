"""A database of relations: entities numbered across its tables, cells checked, values in units of the model."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.data import Entries
from polyadic.errors import InputError
from polyadic.forms import CP
from polyadic.models.relations.entity_names import as_names, numbers_of
from polyadic.models.relations.tables import LOSSES, Relation, cells_in, columns_of, ordered, units_of
from polyadic.objective import Term
from polyadic.solvers.databases.linked import Linked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.models.relations.tables import Cells, Units

    Array = NDArray[Any]


class Database:
    """Relations with named types of entities.

    Parameters
    ----------
    relations : mapping of str to Relation
    entities : mapping of str to sequence, optional
        Names of all entities of a type, in order; types left out consist of what tables name. Entities that no table
        mentions are allowed here: they get what the prior expects, and are flagged.

    Attributes
    ----------
    names : dict of str to ndarray or None
        Names of the entities of each type; None where tables number them.
    sizes : dict of str to int

    Raises
    ------
    InputError
        If a relation names an unknown type, types are numbered in one table and named in another, a cell is given twice
        with different values, or relates an entity with itself.

    Examples
    --------
    >>> likes = {"user": ["ann", "ann", "bob"], "film": ["Alien", "Brazil", "Alien"], "stars": [5, 3, 4]}
    >>> kinds = {"film": ["Alien", "Brazil"], "genre": ["horror", "satire"]}
    >>> database = Database(
    ...     {
    ...         "likes": Relation(likes, ("user", "film"), value="stars"),
    ...         "kinds": Relation(kinds, ("film", "genre"), loss="logistic", unlisted="zero"),
    ...     }
    ... )
    >>> database.sizes
    {'user': 2, 'film': 2, 'genre': 2}
    """

    def __init__(
        self, relations: Mapping[str, Relation], *, entities: Mapping[str, Sequence[Any]] | None = None
    ) -> None:
        if not isinstance(relations, Mapping) or not relations:
            raise InputError("a database needs relations by name")
        self.relations = dict(relations)
        cells = {name: cells_in(name, relation) for name, relation in self.relations.items()}
        self.names: dict[str, Array | None] = {}
        self.sizes: dict[str, int] = {}
        types = dict.fromkeys(entity for relation in self.relations.values() for entity in relation.entities)
        given = {} if entities is None else dict(entities)
        if unused := [entity for entity in given if entity not in types]:
            raise InputError(f"no relation names the entity type {unused[0]!r}; there are {', '.join(types)}")
        for entity in types:
            self.names[entity], self.sizes[entity] = collect(entity, self.relations, cells, given=given.get(entity))
        self.units: dict[str, Units] = {}
        self._cells = {name: self._entries(name, cells[name]) for name in self.relations}

    def without_cells(self) -> Database:
        """Give what is needed to predict: names of entities, units, and what was said of the tables."""
        database = copy(self)
        database.relations = {name: replace(relation, data=None) for name, relation in self.relations.items()}
        database._cells = {}  # noqa: SLF001 of the same class
        return database

    def description(self) -> tuple[Any, ...]:
        """Say all but the cells, to compare it."""
        others = [field.name for field in fields(Relation) if field.name not in {"data", "entities", "columns"}]
        relations = [
            (name, [*table.entities], table.columns and [*table.columns], [getattr(table, other) for other in others])
            for name, table in self.relations.items()
        ]
        names = [(entity, None if known is None else known.tolist()) for entity, known in self.names.items()]
        return relations, self.units, self.sizes, names

    def relation(self, name: str) -> Relation:
        """Give a relation, or refuse a name that there is not."""
        if name not in self.relations:
            raise InputError(f"there is no relation {name!r}; there are {', '.join(map(str, self.relations))}")
        return self.relations[name]

    def cells(self, name: str) -> Entries:
        """Give the cells of a relation, in units of the model."""
        return self._cells[name]

    def replace(self, name: str, cells: Entries) -> None:
        """Put other cells, in units of the model, in the place of those of a relation."""
        self._cells = {**self._cells, name: cells}

    def mentioned(self) -> dict[str, NDArray[np.bool_]]:
        """Tell by type which entities a table mentions; one that weighs all its zeros says something of each."""
        seen = {entity: np.zeros(size, bool) for entity, size in self.sizes.items()}
        for name, relation in self.relations.items():
            for entity, index in zip(relation.entities, self._cells[name].indices.T, strict=True):
                seen[entity][slice(None) if relation.weighs_zeros else index] = True
        return seen

    def only(self, name: str) -> Database:
        """Give a database with one of the relations, and its entities."""
        database, relation = copy(self), self.relations[name]
        database.relations, database.units = {name: relation}, {name: self.units[name]}
        database.sizes = {entity: size for entity, size in self.sizes.items() if entity in relation.entities}
        database.names = {entity: self.names[entity] for entity in database.sizes}
        database._cells = {name: self._cells[name]}  # noqa: SLF001 of the same class
        return database

    def linked(self, rng: np.random.Generator) -> Linked:
        """Arrange the tables for a solver; sampled zeros, where there are any, are new ones."""
        types = list(self.sizes)
        terms = []
        for name, relation in self.relations.items():
            entries = self._cells[name]
            if relation.unlisted == "zero" and not relation.weighs_zeros:
                entries = with_negatives(entries, relation, rng)
            slots = tuple(types.index(entity) for entity in relation.entities)
            z = relation.zero_weight if relation.weighs_zeros else 0.0
            terms.append(Term(entries, CP(), LOSSES[relation.loss], slots, weight=relation.weight, zero_weight=z))
        return Linked(
            terms, list(self.sizes.values()), biased=[relation.biased for relation in self.relations.values()]
        )

    def locate(self, name: str, cells: Any) -> Array:
        """Give the numbers of the entities of cells of a relation, shape (n, order).

        Parameters
        ----------
        cells : sequence of tuples, array of shape (n, order), or frame with the columns of the relation
            Names, or numbers where its tables number entities.

        Raises
        ------
        InputError
            If there is no such relation, or an entity is unknown.
        """
        relation = self.relation(name)
        columns = columns_of(name, relation, cells)
        return np.column_stack([self.number(e, column) for e, column in zip(relation.entities, columns, strict=True)])

    def number(self, entity: str, names: Any) -> NDArray[np.int64]:
        """Give the numbers of entities of a type.

        Raises
        ------
        InputError
            If the type or one of them is unknown.
        """
        if entity not in self.sizes:
            raise InputError(f"there is no entity type {entity!r}; there are {', '.join(self.sizes)}")
        return numbers_of(entity, names, known=self.names[entity], size=self.sizes[entity])

    def _entries(self, name: str, cells: Cells) -> Entries:
        """Give cells by number and values in units of the model; refuse contradictions."""
        relation = self.relations[name]
        indices = np.column_stack(
            [
                column if size is not None else self.number(entity, column)
                for entity, column, size in zip(relation.entities, cells.columns, cells.sizes, strict=True)
            ]
        )
        repeated = len(set(relation.entities)) < len(relation.entities)
        if repeated:
            indices = ordered(name, relation.entities, indices)
        indices, first, inverse = np.unique(indices, axis=0, return_index=True, return_inverse=True)
        values, weights = cells.values[first], cells.weights[first]
        for kept, what in ((values, "values"), (weights, "weights")):
            if (other := np.flatnonzero(kept[inverse.ravel()] != getattr(cells, what))).size:
                at = tuple(str(column[other[0]]) for column in cells.columns)
                raise InputError(f"{name}: the cell {at} has several {what}; take their mean, or the last")
        self.units[name] = units_of(relation, values)
        centre, scale = self.units[name]
        shape = tuple(self.sizes[entity] for entity in relation.entities)
        some = None if (weights == 1).all() else weights
        return Entries(indices, (values - centre) / scale, shape, some, unlisted=relation.unlisted)


def collect(
    entity: str, relations: Mapping[str, Relation], cells: Mapping[str, Cells], *, given: Any
) -> tuple[Array | None, int]:
    """Give the names of all entities of a type, None where tables number them, and how many there are.

    Parameters
    ----------
    entity : str
        The type.
    relations, cells : mapping
        By name.
    given : sequence, optional
        Their names, where the user says.

    Raises
    ------
    InputError
        If tables contradict one another or what is given.
    """
    if given is not None and (given := as_names(given)) is None:
        raise InputError(f"{entity}: names are a list of text or of whole numbers, none of them missing")
    modes = [(name, d) for name in relations for d, other in enumerate(relations[name].entities) if other == entity]
    sizes = {name: size for name, d in modes if (size := cells[name].sizes[d]) is not None}
    tables = [name for name, _ in modes if name not in sizes]
    named = [cells[name].columns[d] for name, d in modes if name not in sizes]
    if len(set(sizes.values())) > 1:
        raise InputError(f"{entity}: tables number different amounts of them: {sizes}")
    if sizes and named and given is None:
        raise InputError(f"{entity}s are numbered in {next(iter(sizes))!r} and named in {tables[0]!r}")
    if sizes and given is not None and set(sizes.values()) != {len(given)}:
        raise InputError(f"{entity}: {len(given)} are named, tables number {next(iter(sizes.values()))}")
    if given is None and not named:
        return None, next(iter(sizes.values()))
    everything = named if given is None else [*named, given]
    if len({array.dtype.kind == "U" for array in everything}) > 1:
        raise InputError(f"{entity}s are named by text in one table and by numbers in another")
    names = np.unique(np.concatenate(named)) if given is None else given
    if len(np.unique(names)) < len(names):
        raise InputError(f"{entity}: a name is given twice")
    return names, len(names)


def with_negatives(entries: Entries, relation: Relation, rng: np.random.Generator) -> Entries:
    """Add unlisted cells as zeros: copies of listed ones with one entity replaced by any of its type.

    As many as ``relation.negatives`` for each listed cell, less those that happen to be listed or drawn before.
    """
    order, shape = entries.order, np.array(entries.shape, np.int64)
    drawn = np.repeat(np.asarray(entries.indices, np.int64), relation.negatives, axis=0)
    mode = rng.integers(0, order, len(drawn))
    drawn[np.arange(len(drawn)), mode] = (rng.random(len(drawn)) * shape[mode]).astype(np.int64)
    for entity in {e for e in relation.entities if relation.entities.count(e) > 1}:
        modes = [d for d, other in enumerate(relation.entities) if other == entity]
        drawn[:, modes] = np.sort(drawn[:, modes], axis=1)[:, ::-1]
        drawn = drawn[(np.diff(drawn[:, modes], axis=1) != 0).all(axis=1)]
    drawn = np.unique(drawn, axis=0)
    both = np.concatenate([np.asarray(entries.indices, np.int64), drawn])
    _, first = np.unique(both, axis=0, return_index=True)
    new = drawn[first[first >= len(entries)] - len(entries)]
    weights = None if entries.weights is None else np.concatenate([entries.weights, np.ones(len(new))])
    return Entries(
        np.concatenate([np.asarray(entries.indices, np.int64), new]),
        np.concatenate([entries.values, np.zeros(len(new))]),
        entries.shape,
        weights,
        unlisted="missing",
    )
