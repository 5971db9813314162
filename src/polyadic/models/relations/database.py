"""A database of relations: entities numbered across its tables, cells checked, values in units of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.data import Entries
from polyadic.errors import InputError
from polyadic.forms import CP
from polyadic.models.relations.cells import Units, cells_in, columns_of, ordered, units_of
from polyadic.models.relations.names import collect, numbers_of
from polyadic.models.relations.negatives import with_negatives
from polyadic.models.relations.tables import LOSSES, Relation, described
from polyadic.objective import Term
from polyadic.solvers.databases.linked import Linked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.models.relations.cells import Cells

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

    def description(self) -> dict[str, Any]:
        """Say all but the cells, in types of JSON."""
        return {
            "relations": [
                [name, {**described(one), "units": [*self.units[name]]}] for name, one in self.relations.items()
            ],
            "entities": [[e, n if (names := self.names[e]) is None else names.tolist()] for e, n in self.sizes.items()],
        }

    @classmethod
    def described(cls, description: Mapping[str, Any]) -> Database:
        """Make a database without cells of what :meth:`description` gave: enough to predict."""
        database = cls.__new__(cls)
        entities = dict(description["entities"])
        database.names = {e: None if isinstance(n, int) else np.asarray(n) for e, n in entities.items()}
        database.sizes = {e: n if isinstance(n, int) else len(n) for e, n in entities.items()}
        told = {name: dict(one) for name, one in description["relations"]}
        database.units = {name: Units(*one.pop("units")) for name, one in told.items()}
        database.relations = {name: Relation(None, **one) for name, one in told.items()}
        return database

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
        told = self.description()
        told["relations"] = [pair for pair in told["relations"] if pair[0] == name]
        told["entities"] = [pair for pair in told["entities"] if pair[0] in self.relations[name].entities]
        database = Database.described(told)
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
        return Linked(terms, list(self.sizes.values()), biased=[one.biased for one in self.relations.values()])

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
