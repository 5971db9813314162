"""Universal schema data: a matrix of entity pairs by predicates from text and knowledge bases."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csc_array, csr_array

from polyadic.core.errors import InputError, meant
from polyadic.relations.facts import checked_names, fact_rows, warn_of_order
from polyadic.text.tables import FACTS, TableReading, name_in, open_table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Fact = tuple[str, ...]

ORDER = "subject, object, predicate"
ROLES = FACTS[0], FACTS[2], FACTS[1]  # order of the columns of a schema's facts


@dataclass(frozen=True, eq=False)
class Schema:
    """Boolean matrix of entity pairs by predicates, with ones for known facts.

    A predicate is a relation of a knowledge base, or a pattern of words between two mentions in a text. Pairs are
    ordered: (subject, object). A predicate of one entity, such as ``person``, has its facts in rows of their own,
    tuples of one name: ``("Ann",)`` is not the pair ``("Ann", "Ann")``.

    Parameters
    ----------
    pairs : list of (str, str) or (str,)
        Unique pairs, or single entities: the rows.
    predicates : list of str
        Unique predicates: the columns.
    cells : csr_array of shape (pairs, predicates)
        1 for each known predicate of a pair; columns of a row are in ascending order.

    Raises
    ------
    InputError
        If a pair or predicate is a duplicate, the shape does not match, or a cell is not 1.

    Examples
    --------
    >>> schema = schema_of([("Ann", "Acme", "leads"), ("Ann", "Acme", "X , head of Y"), ("Acme", "Ann", "led by")])
    >>> schema.cells.toarray().tolist(), schema.reversed_rows.tolist()
    ([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [1, 0])
    """

    pairs: list[tuple[str, ...]]
    predicates: list[str]
    cells: csr_array

    def __post_init__(self) -> None:
        shape = len(self.pairs), len(self.predicates)
        if self.cells.shape != shape:
            raise InputError(f"cells must have shape (pairs, predicates) = {shape}; got {self.cells.shape}", "cells")
        if not isinstance(self.cells, csr_array) or not self.cells.has_canonical_format or (self.cells.data != 1).any():
            about = "cells must be a csr_array with sorted indices, no duplicate entries"
            raise InputError(f"{about}, and the value 1 for every entry", "cells")
        if self.cells.dtype.kind not in "iuf":
            raise InputError(f"cells must have a numeric dtype; got {self.cells.dtype}", "cells")
        if not all(0 < len(pair) < 3 for pair in self.pairs):
            raise InputError("each row must be a tuple of one or two names", "pairs")
        if len(self._rows) < len(self.pairs) or len(self._columns) < len(self.predicates):
            raise InputError("pairs and predicates must be unique; remove the duplicates")

    def row(self, *pair: str) -> int:
        """Return the row index of an entity pair, or of one entity; raise InputError if there is none."""
        if (row := self._rows.get(pair)) is None:
            what = "entity pair" if len(pair) == 2 else "row of the entity"
            absent = [name for name in pair if isinstance(name, str) and name not in self._entities]
            hint = "".join(f"; there is no entity {name!r}{meant(name, self.entities)}" for name in absent)
            raise InputError(f"there is no {what} ({', '.join(map(repr, pair))}){hint}")
        return row

    def ends(self, row: int) -> tuple[str, str | None]:
        """Return the subject and object of a row; the object is None in a row of one entity."""
        subject, *objects = self.pairs[row]
        return subject, objects[0] if objects else None

    def column(self, name: str) -> int:
        """Return the column index of a predicate; raise InputError if the predicate is unknown."""
        if (column := self._columns.get(name)) is None:
            hint = f"; it is an entity, so the columns may be in another order than {ORDER}"
            hint = hint if name in self._entities else meant(str(name), self.predicates)
            raise InputError(f"there is no predicate {name!r}{hint}")
        return column

    def rows_of(self, name: str) -> NDArray[np.int64]:
        """Return the sorted row indices of the entity pairs for which a predicate is known to hold."""
        column = self.column(name)
        return self._by_column.indices[slice(*self._by_column.indptr[column : column + 2])].astype(np.int64)

    def triples(self) -> Iterator[Fact]:
        """Yield the subject, object and predicate of each known fact, or its entity and predicate."""
        for i, j in self.indices.tolist():
            yield *self.pairs[i], self.predicates[j]

    @cached_property
    def indices(self) -> NDArray[np.int64]:
        """Row and column indices of the nonzero cells, shape (cells, 2), in row-major order."""
        rows = np.repeat(np.arange(len(self.pairs)), np.diff(self.cells.indptr))
        return np.column_stack([rows, self.cells.indices]).astype(np.int64)

    @cached_property
    def entities(self) -> list[str]:
        """Names of all entities, in order of first occurrence in the pairs."""
        return list(dict.fromkeys(name for pair in self.pairs for name in pair))

    @cached_property
    def arguments(self) -> NDArray[np.int64]:
        """Entity ids of the subject and object of each pair, shape (pairs, 2); of one entity, its id twice."""
        number = {name: at for at, name in enumerate(self.entities)}
        return np.array([(number[pair[0]], number[pair[-1]]) for pair in self.pairs], np.int64).reshape(-1, 2)

    @cached_property
    def single(self) -> NDArray[np.bool_]:
        """Whether each row is a single entity, shape (pairs,)."""
        return np.array([len(pair) == 1 for pair in self.pairs], bool)

    def applicable(self, column: int) -> NDArray[np.bool_]:
        """Return whether each row has as many entities as a fact of the predicate; True if it has no fact."""
        known = self.single[self.rows_of(self.predicates[column])]
        return np.isin(self.single, known) if len(known) else np.ones(len(self.pairs), bool)

    @cached_property
    def reversed_rows(self) -> NDArray[np.int64]:
        """Row index of the reversed pair (object, subject) of each pair; -1 if the reversed pair is absent."""
        return np.array([self._rows.get(pair[::-1], -1) for pair in self.pairs], np.int64)

    def with_reversed(self) -> Schema:
        """Return a schema with an empty row, after all others, for each missing reversed pair."""
        missing = [pair[::-1] for pair, at in zip(self.pairs, self.reversed_rows, strict=True) if at < 0]
        return self._of(self.indices, [*self.pairs, *missing])

    def with_entities(self) -> Schema:
        """Return a schema with an empty row, after all others, for each entity without one of its own, ``(name,)``."""
        missing = [(name,) for name in self.entities if (name,) not in self._rows]
        return self._of(self.indices, [*self.pairs, *missing])

    def only(self, chosen: ArrayLike) -> Schema:
        """Return a schema with all pairs and predicates, but only the cells of a mask or of rows of :attr:`indices`."""
        try:
            return self._of(self.indices[np.asarray(chosen)], self.pairs)
        except IndexError as error:
            cells = f"the {len(self.indices):,} cells of the schema"
            raise InputError(f"the argument chosen must select from {cells}: {error}", "chosen") from None

    def _of(self, indices: NDArray[np.int64], pairs: list[tuple[str, ...]]) -> Schema:
        return Schema(pairs, self.predicates, _ones(indices, (len(pairs), len(self.predicates))))

    @cached_property
    def _by_column(self) -> csc_array:
        return self.cells.tocsc()

    @cached_property
    def _rows(self) -> dict[tuple[str, ...], int]:
        return {pair: at for at, pair in enumerate(self.pairs)}

    @cached_property
    def _entities(self) -> set[str]:
        return {*self.entities}

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.predicates)}


def schema_of(triples: Iterable[Fact], *, predicates: Sequence[str] | None = None) -> Schema:
    """Build a schema from triples of subject, object and predicate; duplicates count once.

    InputError is raised if there are no triples, or a name is missing.

    Parameters
    ----------
    triples : iterable of (subject, object, predicate) or (entity, predicate), data frame, or list of dict
        Names of one or two entities, and a predicate that holds of them. The columns of a data frame are found by their
        names, as in :func:`~polyadic.relations.facts.facts_of`.
    predicates : sequence of str, optional
        Columns of the schema. Triples with other predicates are left out, but their pairs are kept. By default all
        predicates that occur, in that order.
    """
    rows: dict[tuple[str, ...], int] = {}
    columns = {} if predicates is None else {name: at for at, name in enumerate(predicates)}
    cells: list[tuple[int, int]] = []
    facts = [*fact_rows(triples, roles=ROLES)]
    what = "the names of subject, object and predicate, or of entity and predicate"
    for at, fact in enumerate(facts, 1):
        checked_names(f"fact {at}", fact, what, {2, 3})
    if predicates is None:
        warn_of_order([fact for fact in facts if len(fact) == 3], relation=2, order=ORDER)
    for *pair, predicate in facts:
        row = rows.setdefault(tuple(pair), len(rows))
        column = columns.get(predicate, -1) if predicates is not None else columns.setdefault(predicate, len(columns))
        if column >= 0:
            cells.append((row, column))
    if not rows:
        raise InputError("a schema requires at least one triple of subject, object and predicate")
    names = list(columns) if predicates is None else list(predicates)
    return Schema(list(rows), names, _ones(np.array(cells, np.int64).reshape(-1, 2), (len(rows), len(names))))


def read_schema(
    path: str | os.PathLike[str], reading: TableReading | None = None, *, columns: Sequence[Any] | None = None
) -> Schema:
    r"""Read a schema from a table file with the columns subject, object and predicate.

    A line of two cells is a fact about one entity: the entity and the predicate. In a file separated by tabs, quotation
    marks have no special meaning. Parameters and errors are those of :func:`~polyadic.relations.facts.read_facts`, with
    the subject, the object and the predicate as ``columns``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "facts.tsv"
    >>> _ = path.write_text("Ann\tAcme\tleads\n" 'Bob\tAcme\t" said' "\n" "Bob\tperson\n")
    >>> schema = read_schema(path)
    >>> schema.predicates, schema.pairs[2]
    (['leads', '" said', 'person'], ('Bob',))
    """
    return schema_of(_triples(str(path), reading, columns))


def _triples(source: Any, reading: TableReading | None, columns: Sequence[Any] | None) -> Iterator[Fact]:
    """Yield the facts of a table; rows of two cells are facts about one entity."""
    table = open_table(source, reading, columns=columns, roles=FACTS, quotes=False)
    if len(table.names) == 2:
        at = table.places(FACTS[:2])
    elif table.headed or table.columns is not None:
        at = table.places(ROLES, only=True)
    else:
        at = dict.fromkeys(("subject", "object", "predicate"), 1)
        table.note("subject, object and predicate are columns 1, 2 and 3, or entity and predicate columns 1 and 2")
    table.watched = range(len(table.names))
    named = table.headed or table.columns is not None
    for number, cells in table:
        chosen = [cells[k] for k in at.values() if k < len(cells)] if named else cells
        if len(chosen) not in ({len(at)} if named else {2, 3}):
            got = ", ".join(map(str, cells))
            table.skip(number, f"expected subject, object and predicate, or entity and predicate; got {got!r:.80}")
            continue
        yield tuple(str(name_in(table, number, cell, what)) for cell, what in zip(chosen, at, strict=False))


def _ones(indices: NDArray[np.int64], shape: tuple[int, int]) -> csr_array:
    """Return a sparse matrix with ones at the given indices, ignoring duplicates."""
    cells = csr_array((np.ones(len(indices)), (indices[:, 0], indices[:, 1])), shape=shape)
    cells.sum_duplicates()
    cells.data[:] = 1
    return cells
