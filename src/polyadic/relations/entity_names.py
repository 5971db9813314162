"""Names of entities, as text or as whole numbers, and their numbers."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]


def as_names(values: Any) -> Array | None:
    """Return names as an array of text or of whole numbers; None if they are neither, or some are missing."""
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
    """Return the numbers of entities of one type, given by name, or by number where names are unknown."""
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
    numbers = order[np.minimum(np.searchsorted(known, names, sorter=order), size - 1)]
    if len(names) and (wrong := np.flatnonzero(known[numbers] != names)).size:
        raise InputError(f"there is no {entity} {names[wrong[0]].item()!r}")
    return np.asarray(numbers, np.int64)
