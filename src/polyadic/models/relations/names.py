"""Entities of a type: collected from all tables that mention them, and numbered."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from polyadic.models.relations.cells import Cells
    from polyadic.models.relations.tables import Relation

    Array = NDArray[Any]


def as_names(values: Any) -> Array | None:
    """Give names as text or as whole numbers; None if they are neither, or some are missing."""
    array = np.asarray(values)
    if array.ndim != 1:
        return None
    if array.dtype.kind in "iu" or not len(array):
        return array.astype(np.int64)
    if array.dtype.kind == "U" and hasattr(values, "dtype"):
        return array
    if array.dtype.kind in "OU":  # a list of text with NaN in it would have become text too
        if all(isinstance(one, str) for one in values):
            return array.astype(str)
        if all(isinstance(one, Integral) and not isinstance(one, bool) for one in values):
            return array.astype(np.int64)
    return None


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
    modes = [(name, d) for name, one in relations.items() for d, other in enumerate(one.entities) if other == entity]
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


def numbers_of(entity: str, given: Any, *, known: Array | None, size: int) -> NDArray[np.int64]:
    """Give the numbers of some entities of a type.

    Parameters
    ----------
    entity : str
        The type.
    given : sequence of length n
        Names; or numbers, where none are known.
    known : ndarray of shape (size,), optional
        The names of all.
    size : int

    Raises
    ------
    InputError
        If one is unknown.
    """
    names = as_names(given)
    if names is None:
        raise InputError(f"{entity}s are named by text or whole numbers, none of them missing")
    if known is None:
        if names.dtype.kind == "U":
            raise InputError(f"{entity}s are numbered from 0 to {size - 1}; got {names[0].item()!r}")
        if len(names) and not 0 <= names.min() <= names.max() < size:
            raise InputError(f"{entity}s are numbered from 0 to {size - 1}; got {names.min()} to {names.max()}")
        return names
    if len(names) and (names.dtype.kind == "U") != (known.dtype.kind == "U"):
        kind = "text" if known.dtype.kind == "U" else "numbers"
        raise InputError(f"{entity}s are named by {kind}; got {names[0].item()!r}")
    order = np.argsort(known, kind="stable")
    found = order[np.minimum(np.searchsorted(known, names, sorter=order), size - 1)]
    if len(names) and (wrong := np.flatnonzero(known[found] != names)).size:
        raise InputError(f"there is no {entity} {names[wrong[0]].item()!r}")
    return np.asarray(found, np.int64)
