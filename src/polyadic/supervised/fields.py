"""Encoding of table columns as sparse feature vectors, with one feature per distinct value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.utils.validation import check_is_fitted

from polyadic.core.annotations import AnyArray, Ints
from polyadic.core.containers import is_missing
from polyadic.core.errors import InputError
from polyadic.core.frames import indexed, is_wide
from polyadic.core.model import Model

if TYPE_CHECKING:
    Columns = Mapping[str, Sequence[Any]] | Any

LISTS = (list, tuple, set, frozenset)  # types that hold several values of a row


class FieldEncoder(Model):
    """Encode the columns of a table as sparse feature vectors.

    A column of floats is one numeric feature. In other columns each distinct value (by its string form) is one feature:
    the value of a row is 1, and each of n values in a list is 1/n. A missing value (None, NaN or NA) has no feature,
    like an empty list; a column of floats must have none.

    Parameters
    ----------
    unknown : {"skip", "error"}
        Values in :meth:`transform` that were not seen in :meth:`fit`: skip and count them, or raise an error.

    Attributes
    ----------
    values_ : dict
        Values of each field in the order of their features; None for numeric fields.
    names_ : list of str
        Feature names, such as ``user=7``.
    groups_ : ndarray of int of shape (features,)
        Field of each feature.
    skipped_ : dict
        Number of values of each field that the last call of :meth:`transform` skipped.

    Examples
    --------
    >>> table = {"user": ["ann", "bob"], "genres": [["war", "love"], []], "age": [31.0, 50.0]}
    >>> encoder = FieldEncoder()
    >>> encoder.fit_transform(table).toarray().tolist()
    [[1.0, 0.0, 0.5, 0.5, 31.0], [0.0, 1.0, 0.0, 0.0, 50.0]]
    >>> encoder.names_
    ['user=ann', 'user=bob', 'genres=love', 'genres=war', 'age']
    >>> _ = encoder.transform({"user": ["eve"], "genres": [["war"]], "age": [1.0]})
    >>> encoder.skipped_["user"]
    1
    """

    _: KW_ONLY
    unknown: Literal["skip", "error"] = "skip"

    def fit(self, columns: Columns, y: Any = None) -> Self:
        """Learn the distinct values of each field of a mapping of str to sequence, a data frame, or a list of dict.

        A dict of a list is one row, and a field that it lacks is missing. InputError is raised if lengths of fields
        differ, there is no field or row, or a number of a column of floats is missing or not finite.
        """
        self.check()
        columns = columns_of(columns)
        if not _rows(columns):
            raise InputError("columns must have at least one row", "columns")
        values: dict[str, list[str] | None] = {}
        for name, column in columns.items():
            if _is_float(column):
                _numbers(name, column)
            values[name] = None if _is_float(column) else sorted(set(_written(column)[0]))
        self.values_ = values
        return self

    def transform(self, columns: Columns) -> csr_array:
        """Encode rows with the fields of the fit as sparse feature vectors, shape (rows, features).

        InputError is raised if fields differ from those of the fit, lengths differ, a float is not finite, or a value
        is unknown with ``unknown="error"``.
        """
        check_is_fitted(self)
        columns = columns_of(columns, self.values_)
        if set(columns) != set(self.values_):
            about = f"columns must have the fields {', '.join(self.values_)}, as in fit"
            raise InputError(f"{about}; got {', '.join(columns)}", "columns")
        n = _rows(columns)
        self.skipped_: dict[str, int] = {}
        return csr_array(hstack([self._block(name, columns[name], n) for name in self.values_], format="csr"))

    def fit_transform(self, columns: Columns, y: Any = None) -> csr_array:
        """Learn the distinct values of each field and return the encoded rows."""
        return self.fit(columns, y).transform(columns)

    @property
    def names_(self) -> list[str]:
        """Name of each feature."""
        fields = self.values_.items()
        named = ([name] if known is None else [f"{name}={value}" for value in known] for name, known in fields)
        return [*chain.from_iterable(named)]

    @property
    def groups_(self) -> Ints:
        """Index of the field of each feature."""
        widths = [1 if known is None else len(known) for known in self.values_.values()]
        return np.repeat(np.arange(len(widths)), widths)

    def _block(self, name: str, column: Sequence[Any], n: int) -> csr_array:
        known = self.values_[name]
        if known is None:
            return csr_array(_numbers(name, column)[:, None])
        words, at, lengths = _written(column)
        places = {word: place for place, word in enumerate(known)}
        which = np.array([places.get(word, -1) for word in words], np.int64)[at]
        rows, seen = np.repeat(np.arange(n), lengths), which >= 0
        self.skipped_[name] = int((~seen).sum())
        if self.unknown == "error" and self.skipped_[name]:
            first = int(np.argmin(seen))
            about = f"row {rows[first]}: value {words[at[first]]!r:.60} of field {name} was not seen in fit"
            raise InputError(f"{about}; set unknown='skip' to skip unseen values", "unknown")
        shares = 1 / np.maximum(lengths, 1)
        return csr_array((shares[rows[seen]], (rows[seen], which[seen])), shape=(n, len(known)))


def columns_of(table: Any, fields: Iterable[str] = ()) -> Columns:
    """Return the columns of a mapping, a data frame or a list of records, some of which may lack some ``fields``."""
    if hasattr(table, "items"):
        return table
    if is_wide(table):
        names, columns, _ = indexed(table)
        return dict(zip(names, columns, strict=True))
    if not isinstance(table, LISTS) or not all(isinstance(row, Mapping) for row in table):
        about = "columns must be a mapping of fields, a data frame or a list of dicts"
        raise InputError(f"{about}; got {type(table).__name__}", "columns")
    names = [*dict.fromkeys([*fields, *(name for row in table for name in row)])]
    return {name: [row.get(name) for row in table] for name in names}


def _rows(columns: Columns) -> int:
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) != 1:
        about = "columns must contain at least one field, and all fields must have the same length"
        raise InputError(f"{about}; got {sizes}", "columns")
    return next(iter(sizes.values()))


def _is_float(column: Any) -> bool:
    kind = getattr(getattr(column, "dtype", None), "kind", "O")
    if kind != "O":
        return str(kind) == "f"
    return any(isinstance(value, float | np.floating) and not is_missing(value) for value in column)


def _numbers(name: str, column: Any) -> AnyArray:
    try:
        numbers = np.array([np.nan if is_missing(value) else value for value in column], float)
    except (TypeError, ValueError) as error:
        raise InputError(f"field {name} must contain only numbers: {error}") from None
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        about = f"field {name} must contain only finite numbers; row {row} does not. Replace missing numbers,"
        raise InputError(f"{about} or convert the field to text to get one feature for each value")
    return numbers


def _written(column: Sequence[Any]) -> tuple[list[str], Ints, Ints]:
    """Return the distinct values as strings, the indices of all values in the column, and the number per row."""
    if all(issubclass(kind, str | int | np.integer) for kind in set(map(type, column))):
        values, at = np.unique(np.asarray(column), return_inverse=True)
        return [*map(str, values.tolist())], at, np.ones(len(at), np.int64)
    rows = (value if isinstance(value, LISTS) else (value,) for value in column)
    lists = [[each for each in row if not is_missing(each)] for row in rows]
    places: dict[str, int] = {}
    which = [places.setdefault(str(value), len(places)) for values in lists for value in values]
    return [*places], np.array(which, np.int64), np.array([len(values) for values in lists], np.int64)
