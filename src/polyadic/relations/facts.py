"""Facts of a knowledge base as text: lines of subject, relation and object."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from polyadic.core.errors import InputError, check_choice
from polyadic.text.fields import read_fields

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    Named = tuple[str, str, str]

Unknown = Literal["error", "skip"]


@dataclass(frozen=True, eq=False)
class Facts:
    """Triples of subject, relation and object by number, and the names of what is numbered.

    Parameters
    ----------
    triples : ndarray of int of shape (n, 3)
    entities, relations : list of str
        Names by number, no two alike.
    skipped : int
        Lines left out for a name that is not known.

    Raises
    ------
    InputError
        If a number has no name, or a name is given twice or is no text.

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
            if not all(isinstance(name, str) for name in names):
                other = next(name for name in names if not isinstance(name, str))
                raise InputError(f"{what} are named by text; got {other!r}")
            object.__setattr__(self, what, names)
        sizes = len(self.entities), len(self.relations), len(self.entities)
        object.__setattr__(self, "triples", checked_triples("triples", self.triples, sizes[0], sizes[1]))
        for what, names in (("entities", self.entities), ("relations", self.relations)):
            if len(set(names)) < len(names):
                twice = next(name for name, count in Counter(names).items() if count > 1)
                raise InputError(f"{what} must be different names; {twice!r} is given twice")

    def __len__(self) -> int:
        return len(self.triples)

    def named(self) -> list[Named]:
        """Give the facts by name."""
        return [(self.entities[s], self.relations[r], self.entities[o]) for s, r, o in self.triples.tolist()]


def checked_triples(what: str, triples: ArrayLike, entities: int, relations: int) -> NDArray[np.int64]:
    """Give triples as whole numbers, shape (n, 3).

    Raises
    ------
    InputError
        If they are none, or one is out of range.
    """
    array = np.asarray(triples)
    if not array.size:
        return np.zeros((0, 3), np.int64)
    if array.ndim != 2 or array.shape[1] != 3 or array.dtype.kind not in "iu":
        raise InputError(f"{what} must be whole numbers of shape (n, 3); got {array.dtype} of shape {array.shape}")
    array = array.astype(np.int64)
    for column, size, name in zip(
        array.T, (entities, relations, entities), ("subject", "relation", "object"), strict=True
    ):
        if column.min() < 0 or column.max() >= size:
            raise InputError(f"{what}: each {name} must be from 0 to {size - 1}; got {column.min()} to {column.max()}")
    return array


def triples_by(
    what: str,
    facts: Facts | ArrayLike,
    *,
    names: tuple[list[str] | None, list[str] | None],
    sizes: tuple[int, int],
) -> NDArray[np.int64]:
    """Give triples in the numbers of a model, which knows so many entities and relations, by these names or by none.

    Raises
    ------
    InputError
        If facts number their names in another way, or triples are malformed or out of range.
    """
    if not isinstance(facts, Facts):
        return checked_triples(what, facts, *sizes)
    if (facts.entities, facts.relations) != names:
        raise InputError(f"{what} numbers its names in another way than the model; read it with the names of the model")
    return facts.triples


def shared(facts: NDArray[np.int64], others: NDArray[np.int64]) -> int:
    """Count facts that are among others.

    Examples
    --------
    >>> shared(np.array([[0, 0, 1], [1, 0, 0]]), np.array([[1, 0, 0]]))
    1
    """
    known = {tuple(row) for row in others.tolist()}
    return sum(tuple(row) in known for row in facts.tolist())


def held_out_facts(triples: NDArray[np.int64], share: float, *, seed: int | None = 0) -> NDArray[np.bool_]:
    """Hold out a random share of facts, none of them the last that is left of an entity or a relation.

    Raises
    ------
    InputError
        If that leaves none to hold out.

    Examples
    --------
    >>> triples = np.array([[0, 0, 1], [1, 0, 2], [2, 0, 0], [3, 0, 0]])  # the last one is all that is said of 3
    >>> out = held_out_facts(triples, 0.5)
    >>> bool(out.any()), bool(out[3])
    (True, False)
    """
    entities = np.bincount(triples[:, [0, 2]].ravel())
    relations = np.bincount(triples[:, 1])
    out = np.zeros(len(triples), bool)
    wanted = round(share * len(triples))
    for at in np.random.default_rng(seed).permutation(len(triples)).tolist():
        if wanted == 0:
            break
        s, r, o = triples[at].tolist()
        entities[s] -= 1
        entities[o] -= 1
        relations[r] -= 1
        if entities[s] and entities[o] and relations[r]:
            out[at] = True
            wanted -= 1
        else:
            entities[s] += 1
            entities[o] += 1
            relations[r] += 1
    if not out.any():
        raise InputError(f"{len(triples):,} facts are too few to hold some out: each entity and relation needs others")
    return out


def facts_of(
    named: Iterable[Named],
    *,
    entities: Sequence[str] | None = None,
    relations: Sequence[str] | None = None,
    unknown: Unknown = "error",
) -> Facts:
    """Give facts their numbers.

    Parameters
    ----------
    named : iterable of (str, str, str)
        Subject, relation and object.
    entities, relations : sequence of str, optional
        The names there are; by default those that occur, sorted.
    unknown : {"error", "skip"}
        What to do with a fact of another name.

    Raises
    ------
    InputError
        If a fact is not three names, or one is not known.
    """
    rows = [(f"fact {at}", fact) for at, fact in enumerate(named, 1)]
    for where, fact in rows:
        if len(fact) != 3 or not all(isinstance(name, str) for name in fact):
            raise InputError(f"{where}: expected the names of subject, relation and object; got {fact!r}")
    return _numbered(rows, entities, relations, unknown)


def read_facts(
    path: str | os.PathLike[str],
    *,
    entities: Sequence[str] | None = None,
    relations: Sequence[str] | None = None,
    unknown: Unknown = "error",
) -> Facts:
    r"""Read lines of subject, relation and object between tabs.

    Parameters
    ----------
    path : path
        In UTF-8; blank lines behind the first are passed over.
    entities, relations, unknown
        As in :func:`facts_of`.

    Raises
    ------
    InputError
        If the file cannot be read, a line has another number of fields or an empty one, or a name is not known.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "facts.tsv"
    >>> _ = path.write_text("ann\tlikes\tbob\nbob\tlikes\tdan\n")
    >>> known = read_facts(path)
    >>> read_facts(path, entities=["ann", "bob"], relations=known.relations, unknown="skip").skipped
    1
    """
    return _numbered([*named_facts(path)], entities, relations, unknown)


def named_facts(path: str | os.PathLike[str]) -> Iterator[tuple[str, Named]]:
    """Give each fact of a file with its place, ``"FILE, line N"``; raises as :func:`read_facts`, but for names."""
    for line, fields in read_fields(path, marks="\t", quotes=False):
        if len(fields) != 3 or not all(fields):
            raise InputError(
                f"{path}, line {line}: expected subject, relation and object between tabs; got {fields!s:.200}"
            )
        yield f"{path}, line {line}", (fields[0], fields[1], fields[2])


def _numbered(
    rows: list[tuple[str, Named]],
    entities: Sequence[str] | None,
    relations: Sequence[str] | None,
    unknown: Unknown,
) -> Facts:
    check_choice("unknown", unknown, get_args(Unknown))
    if entities is None:
        entities = sorted({end for _, (s, _, o) in rows for end in (s, o)})
    if relations is None:
        relations = sorted({r for _, (_, r, _) in rows})
    ends, kinds = ({name: at for at, name in enumerate(names)} for names in (entities, relations))
    triples, skipped = [], 0
    for where, (s, r, o) in rows:
        if s in ends and r in kinds and o in ends:
            triples.append((ends[s], kinds[r], ends[o]))
        elif unknown == "skip":
            skipped += 1
        else:
            what, name = next(
                (w, x)
                for w, x, known in (("entity", s, ends), ("relation", r, kinds), ("entity", o, ends))
                if x not in known
            )
            raise InputError(f"{where}: there is no {what} {name!r}; correct it, or skip what is unknown")
    return Facts(np.array(triples, np.int64).reshape(-1, 3), list(entities), list(relations), skipped)
