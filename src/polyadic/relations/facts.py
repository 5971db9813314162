"""Triples of a knowledge graph (facts), with integer ids for named entities and relations."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from polyadic.core.errors import InputError, InputWarning, check_choice, meant
from polyadic.core.frames import is_wide
from polyadic.text.tables import FACTS, Role, TableReading, name_in, open_table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[Any]
    Named = tuple[str, str, str]

Unknown = Literal["error", "skip"]
ORDER = "subject, relation, object"


@dataclass(frozen=True, eq=False)
class Facts:
    """Knowledge graph stored as integer triples, with the names of entities and relations.

    Parameters
    ----------
    triples : ndarray of int of shape (n, 3)
        Subject, relation and object of each triple.
    entities, relations : list of str
        Unique names, in the order of their numbers.
    skipped : int
        Number of lines left out because of an unknown name.

    Raises
    ------
    InputError
        If a number has no name, or a name is a duplicate or not a string.

    Examples
    --------
    >>> facts = facts_of([("ann", "likes", "bob"), ("bob", "likes", "cat")])
    >>> facts.triples.tolist(), facts.entities
    ([[0, 0, 1], [1, 0, 2]], ['ann', 'bob', 'cat'])
    """

    triples: NDArray[np.int64]
    entities: list[str]
    relations: list[str]
    skipped: int = 0

    def __post_init__(self) -> None:
        for what in ("entities", "relations"):
            names = list(getattr(self, what))
            if others := [name for name in names if not isinstance(name, str)]:
                raise InputError(f"names of {what} must be strings; got {others[0]!r}")
            if twice := [name for name, count in Counter(names).items() if count > 1]:
                raise InputError(f"names of {what} must be unique; {twice[0]!r} is a duplicate")
            object.__setattr__(self, what, names)
        triples = checked_triples("triples", self.triples, len(self.entities), len(self.relations))
        object.__setattr__(self, "triples", triples)

    def __len__(self) -> int:
        return len(self.triples)

    def named(self) -> list[Named]:
        """Return the triples as names of subject, relation and object."""
        return [(self.entities[s], self.relations[r], self.entities[o]) for s, r, o in self.triples.tolist()]


def checked_triples(what: str, triples: ArrayLike, entities: int, relations: int) -> NDArray[np.int64]:
    """Validate triples and return an integer array of shape (n, 3)."""
    array = np.asarray(triples)
    if not array.size:
        return np.zeros((0, 3), np.int64)
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "iu":
        raise InputError(f"{what} must be an integer array of shape (n, 3); got {array.dtype} of shape {array.shape}")
    array = array.astype(np.int64)
    sizes = {"subject": entities, "relation": relations, "object": entities}
    for column, (name, size) in zip(array.T, sizes.items(), strict=True):
        if column.min() < 0 or column.max() >= size:
            raise InputError(f"{what}: {name} ids must be from 0 to {size - 1}; got {column.min()} to {column.max()}")
    return array


def triples_by(
    what: str, facts: Facts | ArrayLike, *, names: tuple[list[str] | None, list[str] | None], sizes: tuple[int, int]
) -> NDArray[np.int64]:
    """Return triples as an integer array; raise InputError if the triples and the model use different ids."""
    if not isinstance(facts, Facts):
        facts = by_name(facts, entities=names[0], relations=names[1])
        if not isinstance(facts, Facts):
            return checked_triples(what, facts, *sizes)
    if (facts.entities, facts.relations) != names:
        advice = "pass the model's entities and relations when reading the facts"
        raise InputError(f"{what} must use the same entity and relation ids as the model; {advice}")
    return facts.triples


def shared(facts: NDArray[np.int64], others: NDArray[np.int64]) -> int:
    """Count the triples of the first array that also occur in the second array."""
    known = {tuple(row) for row in others.tolist()}
    return sum(tuple(row) in known for row in facts.tolist())


def held_out_facts(triples: NDArray[np.int64], share: float, *, seed: int | None = 0) -> NDArray[np.bool_]:
    """Select random triples to hold out such that each entity and relation keeps at least one triple."""
    entities = np.bincount(triples[:, [0, 2]].ravel())
    relations = np.bincount(triples[:, 1])
    out = np.zeros(len(triples), bool)
    wanted = round(share * len(triples))
    for at in np.random.default_rng(seed).permutation(len(triples)).tolist():
        if wanted == 0:
            break
        s, r, o = triples[at].tolist()
        if min(entities[s], entities[o]) > 1 + (s == o) and relations[r] > 1:
            entities[s] -= 1
            entities[o] -= 1
            relations[r] -= 1
            out[at] = True
            wanted -= 1
    if not out.any():
        reason = "each entity and relation must keep at least one fact"
        raise InputError(f"none of the {len(triples):,} facts can be held out, because {reason}")
    return out


def fact_rows(table: Any, columns: Sequence[Any] | None = None, *, roles: Sequence[Role] = FACTS) -> Iterable[Any]:
    """Return the rows of a data frame or of a list of records with one column for each role; other data unchanged."""
    if not is_wide(table):
        table = table if hasattr(table, "dtype") else list(table)
        if not (len(table) and all(isinstance(row, Mapping) for row in table)):
            if columns is not None:
                raise InputError("columns can be set only for a data frame or a list of records", "columns")
            return table
    opened = open_table(table, columns=columns, roles=roles)
    at = opened.places(roles, only=True)
    return [[cells[at[role.name]] for role in roles] for _, cells in opened]


def facts_of(
    named: Iterable[Named] | Any,
    *,
    columns: Sequence[Any] | None = None,
    entities: Sequence[str] | None = None,
    relations: Sequence[str] | None = None,
    unknown: Unknown = "error",
) -> Facts:
    """Build a knowledge graph from triples of names by assigning integer ids to entities and relations.

    InputError is raised if a triple does not consist of three names, or a name is unknown.

    Parameters
    ----------
    named : iterable of (str, str, str), data frame, or list of dict
        Subject, relation and object of each triple.
    columns : sequence of three names, optional
        Columns of subject, relation and object in a data frame or in dicts. By default the columns named subject or
        head, relation or predicate, and object or tail, or else the only three columns in this order.
    entities, relations : sequence of str, optional
        Known names, in the order of their numbers; by default all names that occur, sorted.
    unknown : {"error", "skip"}
        Handling of triples with an unknown name: raise an error, or leave them out.
    """
    rows = [(f"fact {at}", fact) for at, fact in enumerate(fact_rows(named, columns), 1)]
    for where, fact in rows:
        checked_names(where, fact, "the names of subject, relation and object", {3})
    return _numbered(rows, entities, relations, unknown)


def by_name(
    X: Any, *, entities: Sequence[str] | None = None, relations: Sequence[str] | None = None, unknown: Unknown = "error"
) -> Any:
    """Convert names in an array or list of shape (n, 3), a data frame or records to Facts; return ids as an array."""
    if isinstance(X, Facts):
        return X
    given = np.asarray(X) if hasattr(X, "dtype") else np.array([*fact_rows(X)], object)  # numpy writes NaN as text
    if given.dtype.kind == "O" and given.size and all(isinstance(each, Integral) for each in given.flat):
        return given.astype(np.int64)
    if given.dtype.kind not in "UO" or given.ndim != 2:
        return given
    return facts_of(given.tolist(), entities=entities, relations=relations, unknown=unknown)


def checked_names(where: str, fact: Any, what: str, sizes: set[int]) -> None:
    """Raise InputError unless a fact is a sequence of non-empty names."""
    if isinstance(fact, str) or len(fact) not in sizes or not all(isinstance(name, str) and name for name in fact):
        raise InputError(f"{where}: expected {what}; got {fact!r:.200}")


def read_facts(
    path: str | os.PathLike[str],
    reading: TableReading | None = None,
    *,
    columns: Sequence[Any] | None = None,
    entities: Sequence[str] | None = None,
    relations: Sequence[str] | None = None,
    unknown: Unknown = "error",
) -> Facts:
    r"""Read triples from a table file with the columns subject, relation and object, or from an RDF file.

    InputError is raised if the file cannot be read, a name is missing, or a name is unknown.

    Parameters
    ----------
    path : path
        File, URL, or ``"-"`` for standard input.
    reading : TableReading, optional
        How to read the table; see :class:`~polyadic.text.tables.TableReading`.
    columns : sequence of str or int, optional
        Names or positions from 1 of the columns with the subject, the relation and the object.
    entities, relations, unknown
        Known names and handling of unknown ones; see :func:`facts_of`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "facts.tsv"
    >>> _ = path.write_text("ann\tlikes\tbob\nbob\tlikes\tdan\n")
    >>> known = read_facts(path)
    >>> read_facts(path, entities=["ann", "bob"], relations=known.relations, unknown="skip").skipped
    1
    """
    return _numbered([*named_facts(str(path), reading, columns=columns)], entities, relations, unknown)


def named_facts(
    source: Any, reading: TableReading | None = None, *, columns: Sequence[Any] | None = None
) -> Iterator[tuple[str, Named]]:
    """Yield each row of a table of facts, as subject, relation and object, with its location, ``"FILE, line N"``."""
    table = open_table(source, reading, columns=columns, roles=FACTS, quotes=False)
    at = table.places(FACTS, only=True)
    table.watched = at.values()
    for number, cells in table:
        if len(cells) <= max(at.values()):
            table.skip(number, f"expected {' and '.join(at)}; got {', '.join(cells)!r:.80}")
            continue
        s, r, o = (str(name_in(table, number, cells[at[role.name]], role.name)) for role in FACTS)
        yield table.where(number), (s, r, o)


def _numbered(
    rows: list[tuple[str, Named]], entities: Sequence[str] | None, relations: Sequence[str] | None, unknown: Unknown
) -> Facts:
    check_choice("unknown", unknown, get_args(Unknown))
    if entities is None:
        entities = sorted({end for _, (s, _, o) in rows for end in (s, o)})
    if relations is None:
        relations = sorted({r for _, (_, r, _) in rows})
        warn_of_order([fact for _, fact in rows])
    ends, kinds = ({name: at for at, name in enumerate(names)} for names in (entities, relations))
    triples, skipped = [], 0
    for where, (s, r, o) in rows:
        if s in ends and r in kinds and o in ends:
            triples.append((ends[s], kinds[r], ends[o]))
        elif unknown == "skip":
            skipped += 1
        else:
            parts = ("entity", s, ends), ("relation", r, kinds), ("entity", o, ends)
            what, name = next((what, name) for what, name, known in parts if name not in known)
            hint = f"; it is an entity, so the columns may be in another order than {ORDER}" if name in ends else ""
            hint = hint or meant(name, kinds if what == "relation" else ends)
            advice = "correct the name, or set unknown='skip' to skip the fact"
            raise InputError(f"{where}: there is no {what} {name!r}{hint}; {advice}", "unknown")
    if skipped and not triples and (swapped := sum(r in ends and r not in kinds for _, (_, r, _) in rows)):
        what = f"all {skipped:,}, of which {swapped:,} with an entity as relation; the columns must be {ORDER}"
        warnings.warn(InputWarning(f"facts skipped because of unknown names: {what}"), stacklevel=3)
    return Facts(np.array(triples, np.int64).reshape(-1, 3), list(entities), list(relations), skipped)


def warn_of_order(facts: Any, *, relation: int = 1, order: str = ORDER) -> None:
    """Warn if the column of relations seems to be one of entities: most are also ends, and more of them are distinct.

    Or there are more distinct relations than entities. Ids of relations are also ids of entities in any order, so more
    than 5 of them must be distinct, and more than twice as many.
    """
    columns = [set(column) for column in zip(*facts, strict=True)] if len(facts) else [set()] * 3
    kinds, ends = columns[relation], columns[:relation] + columns[relation + 1 :]
    entities = set().union(*ends)
    both, number = len(kinds & entities), len(kinds)
    ids = all(str(name).isdecimal() for name in kinds)
    few = max(5, 2 * min(map(len, ends))) if ids else min(map(len, ends))
    if (relation == 1 and number > max(len(entities), 5 * ids)) or 2 * both >= number > few:
        what = f"{number:,} different relations, of which {both:,} are also entities, and {len(entities):,} entities"
        message = f"the facts have {what}; the columns must be {order}, so check their order"
        warnings.warn(InputWarning(message), stacklevel=4)


def as_names(values: Any) -> Array | None:
    """Convert names to an array of strings or integers; return None if a name is missing or of another type."""
    array = np.asarray(values)
    if array.ndim != 1:
        return None
    if array.dtype.kind in "iu" or not len(array):
        return array.astype(np.int64)
    if array.dtype.kind == "U" and hasattr(values, "dtype"):
        return array
    if array.dtype.kind in "OU":  # numpy would convert NaN in a list of text to text
        if all(isinstance(name, str) for name in values):
            return array.astype(str)
        if all(isinstance(name, Integral) and not isinstance(name, bool) for name in values):
            return array.astype(np.int64)
    return None


def numbers_of(entity: str, given: Any, *, known: Array | None, size: int) -> NDArray[np.int64]:
    """Convert names of entities to integer ids, or validate given ids if the entities have no names."""
    names = as_names(given)
    if names is None:
        items = [given] if isinstance(given, str) else list(given)
        bad = next((at for at, name in enumerate(items) if as_names([name]) is None), 0)
        got = f"item {bad + 1} is {items[bad]!r:.60}"
        raise InputError(f"{entity} names must be text or whole numbers, without missing values; {got}")
    if known is None:
        if names.dtype.kind == "U":
            raise InputError(f"{entity} ids must be from 0 to {size - 1}; got {names[0].item()!r}")
        if len(names) and not 0 <= names.min() <= names.max() < size:
            raise InputError(f"{entity} ids must be from 0 to {size - 1}; got {names.min()} to {names.max()}")
        return names
    if len(names) and (names.dtype.kind == "U") != (known.dtype.kind == "U"):
        kind = "text" if known.dtype.kind == "U" else "numbers"
        raise InputError(f"{entity} names must be {kind}; got {names[0].item()!r}")
    order = np.argsort(known, kind="stable")
    numbers = order[np.minimum(np.searchsorted(known, names, sorter=order), size - 1)]
    if len(names) and (wrong := np.flatnonzero(known[numbers] != names)).size:
        name = names[wrong[0]].item()
        hint = meant(name, known.tolist()) if isinstance(name, str) else ""
        raise InputError(f"there is no {entity} {name!r}{hint}")
    return np.asarray(numbers, np.int64)


def numbered(what: str, given: Any, names: list[str] | None, size: int) -> NDArray[np.int64]:
    """Convert names of entities or relations to integer ids; validate and return given ids."""
    given = [given] if isinstance(given, str | Integral) else given
    array = as_names(given)
    by_name = names is not None and array is not None and array.dtype.kind == "U"
    return numbers_of(what, given, known=np.array(names) if by_name else None, size=size)
