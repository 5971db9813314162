"""Databases of named relations between typed entities, with entity indices shared by all tables.

Cells are read by name or number, with values and weights, validated, and scaled to the units of the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import issparse

from polyadic.completion.coupled.coupled_tables import CoupledTables
from polyadic.core import frames
from polyadic.core.annotations import AnyArray, Array, Ints, Mask
from polyadic.core.containers import elements_of, entries_of
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError
from polyadic.core.forms import CP
from polyadic.core.losses import Huber, Logistic, Loss, SoftplusPoisson, Squared
from polyadic.core.objective import Term
from polyadic.core.settings import Count, Positive, check_settings
from polyadic.relations.facts import as_names, numbers_of
from polyadic.text.tables import is_empty, number_of

LOSSES: dict[str, Loss] = {"squared": Squared(), "logistic": Logistic(), "poisson": SoftplusPoisson(), "huber": Huber()}


@dataclass(frozen=True, eq=False)
class Relation:
    """A table that relates entities of two or more types; InputError is raised if fewer are named.

    Parameters
    ----------
    data : DataFrame, mapping of columns, sparse matrix, array, or Entries
        Observed cells. A frame, or a mapping of names to columns, has one row per cell and names entities; a matrix or
        Entries numbers them. Unknown cells of an array are NaN; all stored cells of a sparse matrix are observed.
    entities : sequence of str
        Entity type of each mode, such as ``("user", "item")``. A type that occurs twice shares its factor, as in
        ``("user", "user")`` for friendships; then (a, b) and (b, a) are the same cell.
    columns : sequence of str or int, optional
        Columns of a frame with the entities. By default the columns named like the types.
    value : str or int, optional
        Column of the values. Without it all values are 1.
    weight_by : str or int, optional
        Column of the weights of the cells. Without it all weights are 1.
    loss : {"squared", "logistic", "poisson", "huber"}
        Loss of a cell. Use logistic for values 0 and 1, and poisson for counts (with mean ``log(1 + exp(m))``).
    weight : float
        Weight of the table relative to the others.
    unobserved : {"missing", "zero"}
        Meaning of unobserved cells.
    zero_weight : float
        Weight of an unobserved zero under squared loss. All of them are included exactly, at no extra cost.
    n_negatives : int
        Number of unobserved cells sampled as zeros per observed one under other losses. A sampled cell is a copy of an
        observed one with one entity replaced.
    biases : bool
        Fit biases of the entities in this table. Ignored if zeros are weighted or a type occurs twice.
    """

    data: Any
    entities: Sequence[str]
    columns: Sequence[str | int] | None = None
    value: str | int | None = None
    weight_by: str | int | None = None
    loss: Literal["squared", "logistic", "poisson", "huber"] = "squared"
    weight: Positive = 1.0
    unobserved: Literal["missing", "zero"] = "missing"
    zero_weight: Positive = 1.0
    n_negatives: Count = 1
    biases: bool = True

    def __post_init__(self) -> None:
        check_settings(self)
        if len(self.entities) < 2:
            raise InputError(f"entities must contain at least two entity types; got {self.entities!r}", "entities")
        if self.columns is not None and len(self.columns) != len(self.entities):
            about = f"columns must contain {len(self.entities)} names, one per entity"
            raise InputError(f"{about}; got {self.columns!r}", "columns")

    @property
    def weighs_zeros(self) -> bool:
        """Whether all unobserved cells are treated as weighted zeros."""
        return self.unobserved == "zero" and self.loss == "squared"

    @property
    def biased(self) -> bool:
        """Whether the table has a bias for each entity."""
        return self.biases and not self.weighs_zeros and len(set(self.entities)) == len(self.entities)


class Units(NamedTuple):
    """Centre and scale of the values of a table, set before the fit: ``centre + scale * m``."""

    centre: float
    scale: float


class RelationCells(NamedTuple):
    """Cells of a relation: the entities of each mode, the values and the weights."""

    columns: list[AnyArray]  # entity of each cell by mode, as name or number
    sizes: list[int | None]  # number of entities of each mode; None where they are named
    values: Array
    weights: Array


def cells_in(name: str, relation: Relation, *, added: bool = False) -> RelationCells:
    """Return the validated cells of a relation; those ``added`` to a table may all have the same value."""
    data, order = relation.data, len(relation.entities)
    if (isinstance(data, Mapping) and not issparse(data)) or frames.is_wide(data):  # a dok_array is a mapping
        cells = _framed(name, relation)
    elif relation.value is not None or relation.weight_by is not None:
        about = f"{name}: data must be a data frame if value or"
        raise InputError(f"{about} weight_by is set; got {type(data).__name__}", "value", "weight_by")
    else:
        x = data.expand() if isinstance(data, Entries) else entries_of(data, f"{name}: data", observed=True)
        if x.order != order:
            got = f"{x.order} modes"
            raise InputError(f"{name}: data must have one mode for each of the {order} entity types; got {got}")
        weights = np.ones(len(x)) if x.weights is None else np.asarray(x.weights, float)
        columns = [np.asarray(i, np.int64) for i in x.indices.T]
        cells = RelationCells(columns, list(x.shape), np.asarray(x.values, float), weights)
    if not len(cells.values):
        raise InputError(f"{name}: data must have at least one observed cell")
    _check_values(name, relation, cells, added=added)
    return cells


def _framed(name: str, relation: Relation) -> RelationCells:
    frame, wanted = relation.data, relation.columns or relation.entities
    if frames.is_wide(frame) and not hasattr(frame, "keys"):
        frame = dict(zip(frames.names_of(frame), frames.columns_of(frame), strict=True))
    if len(set(wanted)) < len(wanted):
        raise InputError(f"{name}: columns must contain a different name for each entity; got {wanted}")
    _check_columns(name, frame, (*wanted, relation.value, relation.weight_by))
    columns = [_names(name, column, elements_of(frame[column]).values) for column in wanted]
    n = len(columns[0])
    given = [
        np.ones(n) if column is None else _numbers(name, column, elements_of(frame[column]).values)
        for column in (relation.value, relation.weight_by)
    ]
    if any(len(array) != n for array in (*columns, *given)):
        raise InputError(f"{name}: all columns must have the same length")
    return RelationCells(columns, [None] * len(columns), given[0], given[1])


def _check_columns(name: str, frame: Any, wanted: Sequence[Any]) -> None:
    if absent := [column for column in wanted if column is not None and column not in frame]:
        advice = f"existing columns are {', '.join(map(str, frame.keys()))}"
        raise InputError(f"{name}: column {absent[0]!r} is missing; {advice}")


def _names(name: str, column: Any, values: Any) -> AnyArray:
    names = as_names(values)
    if names is None:
        values = [*values]
        odd = [at for at, each in enumerate(values) if not isinstance(each, str | Integral)]
        at = next((at for at in odd if is_empty(values[at])), odd[0] if odd else 0)
        about = f"{name}: column {column!r} must contain text or whole numbers,"
        raise InputError(f"{about} without missing values; row {at + 1:,} has {values[at]!r:.40}")
    return names


def _numbers(name: str, column: Any, array: AnyArray) -> Array:
    try:
        return array.astype(float)
    except (TypeError, ValueError):
        bad = next(item for item in array if number_of(item) is None)
        raise InputError(f"{name}: column {column!r} must contain numbers; got {str(bad)!r}") from None


def _check_values(name: str, relation: Relation, cells: RelationCells, *, added: bool) -> None:
    """Raise InputError for invalid values and, unless they are ``added``, for weights of 0 or equal labels only."""
    x, w = cells.values, cells.weights
    if not np.isfinite(x).all():
        raise InputError(f"{name}: values must be finite; leave out unknown cells")
    if not np.isfinite(w).all() or (w < 0).any():
        raise InputError(f"{name}: weights must be finite and non-negative")
    if relation.loss == "logistic" and not np.isin(x, (0, 1)).all():
        raise InputError(f"{name}: values must be 0 or 1 for the logistic loss; got {x[~np.isin(x, (0, 1))][0]:g}")
    if relation.loss == "poisson" and ((x < 0) | (x != np.floor(x))).any():
        strange = x[(x < 0) | (x != np.floor(x))][0]
        raise InputError(f"{name}: values must be non-negative whole numbers for the Poisson loss; got {strange:g}")
    if added:
        return
    if not w.any():
        raise InputError(f"{name}: at least one weight must be above 0")
    if relation.loss == "logistic" and relation.unobserved == "missing" and (x == x[0]).all():
        advice = "set unobserved='zero' to treat unobserved cells as 0"
        raise InputError(f"{name}: values must include both 0 and 1; all are {x[0]:g}; {advice}", "unobserved")
    if relation.weighs_zeros and not x.any():
        raise InputError(f"{name}: at least one cell must be non-zero")


def ordered(name: str, entities: Sequence[str], indices: AnyArray) -> AnyArray:
    """Sort entities of the same type within each cell, so that (a, b) and (b, a) become the same cell."""
    indices = indices.copy()
    for entity in {e for e in entities if entities.count(e) > 1}:
        modes = [mode for mode, other in enumerate(entities) if other == entity]
        falling = np.sort(indices[:, modes], axis=1)[:, ::-1]
        if (falling[:, 1:] == falling[:, :-1]).any():
            advice = "leave out such cells"
            raise InputError(f"{name}: a cell must not relate an entity of type {entity} to itself; {advice}")
        indices[:, modes] = falling
    return indices


def columns_of(name: str, relation: Relation, cells: Any) -> list[Any]:
    """Return the columns of a data frame or a list of tuples that identify the entities of each cell."""
    if hasattr(cells, "keys"):
        wanted = relation.columns or relation.entities
        _check_columns(name, cells, wanted)
        columns = [cells[column] for column in wanted]
        if len({len(column) for column in columns}) > 1:
            raise InputError(f"{name}: all columns must have the same length")
        return columns
    if isinstance(cells, tuple | list) and cells and np.ndim(cells[0]) == 0 and len(relation.entities) > 1:
        cells = [cells]  # a single cell
    rows = [tuple(row) if hasattr(row, "__len__") else (row,) for row in cells]
    if any(len(row) != len(relation.entities) for row in rows):
        raise InputError(f"{name}: each cell must have {len(relation.entities)} entities")
    return [*zip(*rows, strict=True)] or [()] * len(relation.entities)


def units_of(relation: Relation, values: AnyArray) -> Units:
    """Return the centre and scale that standardize the values of a relation to mean 0 and variance 1.

    If zeros are weighted, the centre is 0 and the mean square becomes 1. Only values with a squared or Huber loss are
    standardized.
    """
    if relation.loss not in {"squared", "huber"}:
        return Units(0.0, 1.0)
    centre = 0.0 if relation.weighs_zeros else float(values.mean())
    if not relation.weighs_zeros and np.ptp(values) == 0:
        return Units(centre, 1.0)
    return Units(centre, float(np.sqrt(np.mean((values - centre) ** 2))) or 1.0)


class Database:
    """Database of relations, given by name, between entities of named types.

    InputError is raised if a relation has an unknown type, a type is numbered in one table and named in another, or a
    cell has several values or relates an entity to itself.

    Parameters
    ----------
    entities : mapping of str to sequence, optional
        Names of all entities of a type, in order. Other types consist of the entities that occur in tables. Entities
        without a cell are allowed here; their predictions are those of the prior, and they are flagged.

    Attributes
    ----------
    names, sizes : dict of str to ndarray or None, dict of str to int
        Names of the entities of each type, None if they are numbered; and their number.

    Examples
    --------
    >>> likes = {"user": ["ann", "ann", "bob"], "film": ["Alien", "Brazil", "Alien"], "stars": [5, 3, 4]}
    >>> kinds = {"film": ["Alien", "Brazil"], "genre": ["horror", "satire"]}
    >>> database = Database(
    ...     {
    ...         "likes": Relation(likes, ("user", "film"), value="stars"),
    ...         "kinds": Relation(kinds, ("film", "genre"), loss="logistic", unobserved="zero"),
    ...     }
    ... )
    >>> database.sizes
    {'user': 2, 'film': 2, 'genre': 2}
    """

    def __init__(self, relations: Mapping[str, Relation], *, entities: Mapping[str, Any] | None = None) -> None:
        if not isinstance(relations, Mapping) or not relations:
            raise InputError("relations must be a non-empty mapping of names to Relation objects", "relations")
        cells = {name: cells_in(name, relation) for name, relation in relations.items()}
        self.relations = {name: replace(relation, data=None) for name, relation in relations.items()}
        self.names: dict[str, AnyArray | None] = {}
        self.sizes: dict[str, int] = {}
        types = dict.fromkeys(entity for relation in self.relations.values() for entity in relation.entities)
        named = {} if entities is None else dict(entities)
        if unused := [entity for entity in named if entity not in types]:
            raise InputError(f"entity type {unused[0]!r} does not occur in a relation; types are {', '.join(types)}")
        for entity in types:
            self.names[entity], self.sizes[entity] = collect(entity, self.relations, cells, given=named.get(entity))
        self.units: dict[str, Units] = {}
        self._cells: dict[str, Entries] = {}
        for name, relation in self.relations.items():
            given = self._located(name, cells[name])
            self.units[name] = units_of(relation, given.values)
            self._cells[name] = in_units(given, self.units[name])

    def grown(self, data: Mapping[str, Any]) -> tuple[Database, dict[str, Any]]:
        """Return a database extended by new cells by relation, and the numbers of new and changed cells and entities.

        Cells are given in the form that :class:`Relation` accepts, and replace existing ones. New entities are numbered
        after the existing ones, and the units of values stay.
        """
        if not isinstance(data, Mapping) or not data:
            raise InputError("data must be a non-empty mapping of relation names to cells", "data")
        relations = {name: replace(self.relation(name), data=given) for name, given in data.items()}
        cells = {name: cells_in(name, relation, added=True) for name, relation in relations.items()}
        columns: dict[str, list[Any]] = {}
        for name, table in cells.items():
            for entity, column, size in zip(self.relations[name].entities, table.columns, table.sizes, strict=True):
                columns.setdefault(entity, []).append((column, size))
        database = copy(self)
        more = {e: enlarged(e, self.names[e], self.sizes[e], given) for e, given in columns.items()}
        database.names = self.names | {entity: names for entity, (names, _) in more.items()}
        database.sizes = self.sizes | {entity: size for entity, (_, size) in more.items()}
        new, changed = 0, 0
        for name, relation in self.relations.items():
            shape = tuple(database.sizes[entity] for entity in relation.entities)
            both = known = replace(self.cells(name), shape=shape)
            if name in cells:
                both, others = joined(known, in_units(database._located(name, cells[name]), self.units[name]))  # noqa: SLF001 of this class
                new, changed = new + len(both) - len(known), changed + others
            database.replace(name, both)
        entities = {entity: database.sizes[entity] - size for entity, size in self.sizes.items()}
        return database, {"new_cells": new, "changed_cells": changed, "new_entities": entities}

    @property
    def shape(self) -> tuple[int]:
        """Number of cells of all relations, which scikit-learn's tools divide."""
        return (sum(map(len, self._cells.values())),)

    def __getitem__(self, cells: Any) -> Database:
        """Return a database with the cells at the given indices, in the order of relations, and with all entities."""
        chosen, end = np.zeros(self.shape, bool), 0
        chosen[cells[0] if isinstance(cells, tuple) else cells] = True  # a tuple ends with an ellipsis
        part = copy(self)
        for name, entries in self._cells.items():
            part.replace(name, entries.only(chosen[end : (end := end + len(entries))]))
        return part

    def values(self, name: str) -> AnyArray:
        """Return the values of the cells of a relation."""
        centre, scale = self.units[name]
        return np.asarray(centre + scale * np.asarray(self._cells[name].values))

    def relation(self, name: str) -> Relation:
        """Return the relation with the given name, or raise InputError if there is none."""
        if name not in self.relations:
            raise InputError(f"relation {name!r} does not exist; relations are {', '.join(map(str, self.relations))}")
        return self.relations[name]

    def cells(self, name: str) -> Entries:
        """Return the cells of a relation, with standardized values."""
        return self._cells[name]

    def replace(self, name: str, cells: Entries) -> None:
        """Replace the cells of a relation by new cells with standardized values."""
        self._cells = {**self._cells, name: cells}

    def mentioned(self) -> dict[str, Mask]:
        """Return a mask of the entities of each type that occur in a table; one with weighted zeros covers them all."""
        seen = {entity: np.zeros(size, bool) for entity, size in self.sizes.items()}
        for name, relation in self.relations.items():
            for entity, index in zip(relation.entities, self._cells[name].indices.T, strict=True):
                seen[entity][slice(None) if relation.weighs_zeros else index] = True
        return seen

    def only(self, name: str) -> Database:
        """Return a database that contains only the given relation and the entities of that relation."""
        database, relation = copy(self), self.relations[name]
        database.relations, database.units = {name: relation}, {name: self.units[name]}
        database.sizes = {entity: size for entity, size in self.sizes.items() if entity in relation.entities}
        database.names = {entity: self.names[entity] for entity in database.sizes}
        database._cells = {name: self._cells[name]}  # noqa: SLF001 of the same class
        return database

    def coupled(
        self, rng: np.random.Generator, *, fixed: dict[str, int] | None = None, mention: tuple[str, int] | None = None
    ) -> CoupledTables:
        """Convert all tables to the layout of the solvers, adding sampled zeros where the settings require negatives.

        ``fixed`` (number of fixed entities by type) restricts the cells to those that involve another entity, and
        ``mention`` (type, number) to those that involve one entity.
        """
        types = list(self.sizes)
        terms = []
        for name, relation in self.relations.items():
            entries = self._cells[name]
            if relation.unobserved == "zero" and not relation.weighs_zeros:
                entries = with_negatives(entries, relation, rng)
            if fixed is not None:
                new = np.greater_equal(entries.indices, [fixed[e] for e in relation.entities])
                entries = entries.only(np.any(new, axis=1))
            if mention is not None:
                entries = entries.only(_mentioning(relation, entries, mention))
            slots = tuple(types.index(entity) for entity in relation.entities)
            z = relation.zero_weight if relation.weighs_zeros else 0.0
            terms.append(Term(entries, CP(), LOSSES[relation.loss], slots, weight=relation.weight, zero_weight=z))
        biased = [relation.biased for relation in self.relations.values()]
        held = None if fixed is None else [fixed[entity] for entity in types]
        return CoupledTables(terms, list(self.sizes.values()), biased=biased, fixed=held)

    def mentions(self, coupled: CoupledTables, entity: str, number: int) -> tuple[list[tuple[Any, ...]], list[bool]]:
        """Return the names of the entries that involve an entity, and whether each entry is observed.

        The order is that of the entity's row in :meth:`coupled`. A name is the relation, then all other entities.
        Sampled zeros are not observed.
        """
        own = coupled.factor_entries[list(self.sizes).index(entity)]
        entries = [(t, at) for t in own.tables for at in range(len(coupled.values[t]))]
        tables = list(self.relations.items())
        known = [int(_mentioning(relation, self.cells(name), (entity, number)).sum()) for name, relation in tables]
        names, listed = [], []
        for k in own.order[slice(*own.starts[number : number + 2])].tolist():
            t, at = entries[k]
            row = zip(tables[t][1].entities, coupled.terms[t].entries.indices[at].tolist(), strict=True)
            names.append((tables[t][0], *(self.name(e, i) for e, i in row if (e, i) != (entity, number))))
            listed.append(at < known[t])
        return names, listed

    def name(self, entity: str, number: int) -> Any:
        """Return the name of an entity, or the index if entities have no names."""
        names = self.names[entity]
        return number if names is None else names[number].item()

    def locate(self, name: str, cells: Any) -> AnyArray:
        """Return the entity indices of the given cells of a relation, shape (n, order).

        Cells are tuples or an array of names, or of numbers if entities are numbered, or a frame with the columns of
        the relation. InputError is raised if the relation or an entity does not exist.
        """
        relation = self.relation(name)
        columns = columns_of(name, relation, cells)
        return np.column_stack([self.number(e, column) for e, column in zip(relation.entities, columns, strict=True)])

    def located(self, name: str, other: Database) -> AnyArray:
        """Return the indices that the entities of the cells of another database have in this one, shape (n, order)."""
        given = zip(other.relations[name].entities, other.cells(name).indices.T, strict=True)
        named = ((e, index if (names := other.names[e]) is None else names[index]) for e, index in given)
        columns = [self.number(entity, index) for entity, index in named]
        return ordered(name, self.relation(name).entities, np.column_stack(columns))

    def number(self, entity: str, names: Any) -> Ints:
        """Return the indices of entities of a type, given by their names, or by numbers if they are numbered.

        InputError is raised if the type or an entity does not exist.
        """
        if entity not in self.sizes:
            raise InputError(f"entity type {entity!r} does not exist; types are {', '.join(self.sizes)}")
        return numbers_of(entity, names, known=self.names[entity], size=self.sizes[entity])

    def _located(self, name: str, cells: RelationCells) -> Entries:
        """Convert cells to Entries with entity indices; raise InputError if a cell has contradictory values."""
        relation = self.relations[name]
        given = zip(relation.entities, cells.columns, cells.sizes, strict=True)
        columns = [self.number(entity, column) if size is None else column for entity, column, size in given]
        indices = ordered(name, relation.entities, np.column_stack(columns))
        indices, first, inverse = np.unique(indices, axis=0, return_index=True, return_inverse=True)
        values, weights = cells.values[first], cells.weights[first]
        for kept, what in ((values, "values"), (weights, "weights")):
            if (other := np.flatnonzero(kept[inverse.ravel()] != getattr(cells, what))).size:
                at = tuple(str(column[other[0]]) for column in cells.columns)
                raise InputError(f"{name}: cell {at} has conflicting {what}; merge the duplicates")
        shape = tuple(self.sizes[entity] for entity in relation.entities)
        some = None if (weights == 1).all() else weights
        return Entries(indices, values, shape, some, unobserved=relation.unobserved)


def in_units(entries: Entries, units: Units) -> Entries:
    """Standardize the values of entries by subtracting the centre and dividing by the scale."""
    return replace(entries, values=(entries.values - units.centre) / units.scale)


def _mentioning(relation: Relation, entries: Entries, entity: tuple[str, int]) -> Mask:
    """Return a mask of the entries that involve the entity with the given type and index."""
    found = np.zeros(len(entries), bool)
    for other, column in zip(relation.entities, entries.indices.T, strict=True):
        found |= (other == entity[0]) & (column == entity[1])
    return found


def joined(known: Entries, new: Entries) -> tuple[Entries, int]:
    """Merge new cells into known cells, replacing existing values, and count the changed values."""
    indices = np.concatenate([np.asarray(new.indices, np.int64), np.asarray(known.indices, np.int64)])
    values = np.concatenate([new.values, known.values])
    some = new.weights is not None or known.weights is not None
    weights = np.concatenate([np.ones(len(e)) if e.weights is None else e.weights for e in (new, known)])
    indices, first, inverse = np.unique(indices, axis=0, return_index=True, return_inverse=True)
    changed = int((values[first][inverse.ravel()] != values).sum())
    return replace(known, indices=indices, values=values[first], weights=weights[first] if some else None), changed


def collect(
    entity: str, relations: Mapping[str, Relation], cells: Mapping[str, RelationCells], *, given: Any
) -> tuple[AnyArray | None, int]:
    """Return the names of all entities of a type (None if entities are given by index) and the number of entities."""
    if given is not None and (given := as_names(given)) is None:
        raise InputError(f"names of entities of type {entity} must be text or whole numbers, without missing values")
    modes = [(name, d) for name in relations for d, other in enumerate(relations[name].entities) if other == entity]
    sizes = {name: size for name, d in modes if (size := cells[name].sizes[d]) is not None}
    tables = [name for name, _ in modes if name not in sizes]
    named = [cells[name].columns[d] for name, d in modes if name not in sizes]
    if len(set(sizes.values())) > 1:
        raise InputError(f"entity type {entity} must have the same number of entities in all tables; got {sizes}")
    if sizes and named and given is None:
        advice = f"{tables[0]!r} has names, but {next(iter(sizes))!r} has indices"
        raise InputError(f"entities of type {entity} must have names in all tables or in none; {advice}")
    if sizes and given is not None and set(sizes.values()) != {len(given)}:
        about = f"entities of type {entity} must have {next(iter(sizes.values()))} names,"
        raise InputError(f"{about} one per entity in the tables; got {len(given)} names")
    if given is None and not named:
        return None, next(iter(sizes.values()))
    everything = named if given is None else [*named, given]
    if len({array.dtype.kind == "U" for array in everything}) > 1:
        about = f"names of entities of type {entity} must be text in"
        raise InputError(f"{about} all tables or numbers in all tables; got both")
    names = np.unique(np.concatenate(named)) if given is None else given
    if len(np.unique(names)) < len(names):
        raise InputError(f"names of entities of type {entity} must be unique; remove the duplicates")
    return names, len(names)


def enlarged(
    entity: str, names: AnyArray | None, size: int, columns: Sequence[tuple[AnyArray, int | None]]
) -> tuple[AnyArray | None, int]:
    """Add new entities of a type that occur in new cells, and return all names and the number of entities."""
    if names is not None and any(n not in (None, size) for _, n in columns):
        about = f"entities of type {entity} must have names,"
        raise InputError(f"{about} because the model was fitted with names; got indices")
    if names is None:
        if any(column.dtype.kind == "U" for column, _ in columns):
            about = f"entities of type {entity} must have indices, because the model was fitted"
            raise InputError(f"{about} with indices; got names: use indices from {size} for new entities")
        if any(n is not None and n < size for _, n in columns):
            about = f"new tables must have at least {size:,} entities of type {entity},"
            raise InputError(f"{about} the number in the fitted model")
        return None, max(size, *(int(column.max(initial=-1)) + 1 if n is None else n for column, n in columns))
    named = [column for column, n in columns if n is None]
    kind = "text" if names.dtype.kind == "U" else "numbers"
    if any((column.dtype.kind == "U") != (names.dtype.kind == "U") for column in named):
        about = f"names of entities of type {entity} must be {kind},"
        raise InputError(f"{about} because the model was fitted with {kind} as names")
    new = np.setdiff1d(np.concatenate([names[:0], *named]), names)
    return np.concatenate([names, new]), size + len(new)


def with_negatives(entries: Entries, relation: Relation, rng: np.random.Generator) -> Entries:
    """Add up to ``n_negatives`` zeros per observed cell, sampled by replacing one entity of the cell at random."""
    order, shape = entries.order, np.array(entries.shape, np.int64)
    drawn = np.repeat(np.asarray(entries.indices, np.int64), relation.n_negatives, axis=0)
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
    indices = np.concatenate([np.asarray(entries.indices, np.int64), new])
    values = np.concatenate([entries.values, np.zeros(len(new))])
    return Entries(indices, values, entries.shape, weights, unobserved="missing")
