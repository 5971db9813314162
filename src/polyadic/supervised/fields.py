"""Features from the columns of a table: one for each value of a field."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.utils.validation import check_is_fitted

from polyadic.core.errors import InputError
from polyadic.core.model import Model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Columns = Mapping[str, Sequence[Any]]

LISTS = (list, tuple, set, frozenset)
"""What holds several values of a row."""


class FieldEncoder(Model):
    """Turn fields into rows of features: values into ones, several values of a row into shares, floats into themselves.

    A column of floats is one feature. In any other each value that was seen has a feature of its own, by how it is
    written; where a row has a list of n values, each is 1/n. A field may be empty: ``None`` or an empty list.

    Parameters
    ----------
    unknown : {"skip", "error"}
        What :meth:`transform` does with values that were not seen: leave them out and count them, or refuse them.

    Attributes
    ----------
    values_ : dict
        The values of each field in the order of their features; None for floats.
    names_ : list of str
        Of all features, such as ``user=7``.
    groups_ : ndarray of int of shape (features,)
        The field of each.
    skipped_ : dict
        How many values of each field were left out, at the last call.

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
        """Learn the values of each field.

        Parameters
        ----------
        columns : mapping of str to sequence
            Fields of one length.

        Raises
        ------
        InputError
            If lengths differ, there is no field, or a float is not finite.
        """
        del y
        self.check()
        if not _rows(columns):
            raise InputError("fields must have a row at least, to learn their values from")
        values: dict[str, list[str] | None] = {}
        for name, column in columns.items():
            if _is_float(column):
                _numbers(name, column)
            values[name] = None if _is_float(column) else sorted(set(_written(column)[0]))
        self.values_ = values
        return self

    def transform(self, columns: Columns) -> csr_array:
        """Give rows of features, of shape (rows, features).

        Raises
        ------
        InputError
            If fields are not those learned, lengths differ, a float is not finite, or a value is unknown and refused.
        """
        check_is_fitted(self)
        if set(columns) != set(self.values_):
            raise InputError(f"fields must be {', '.join(self.values_)}; got {', '.join(columns)}")
        n = _rows(columns)
        self.skipped_: dict[str, int] = {}
        return csr_array(hstack([self._block(name, columns[name], n) for name in self.values_], format="csr"))

    def fit_transform(self, columns: Columns, y: Any = None) -> csr_array:
        """Learn the values of each field, and give rows of features."""
        return self.fit(columns, y).transform(columns)

    @property
    def names_(self) -> list[str]:
        """Names of all features."""
        return [
            word
            for name, known in self.values_.items()
            for word in ([name] if known is None else [f"{name}={value}" for value in known])
        ]

    @property
    def groups_(self) -> NDArray[np.int64]:
        """The field of each feature."""
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
            raise InputError(
                f"row {rows[first]}: {name} {words[at[first]]!r:.60} was not seen; unknown='skip' leaves it out"
            )
        shares = 1 / np.maximum(lengths, 1)
        return csr_array((shares[rows[seen]], (rows[seen], which[seen])), shape=(n, len(known)))


def _rows(columns: Columns) -> int:
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) != 1:
        raise InputError(f"give fields, all of one length; got {sizes}")
    return next(iter(sizes.values()))


def _is_float(column: Sequence[Any]) -> bool:
    return isinstance(next(iter(column), None), float | np.floating)


def _numbers(name: str, column: Any) -> NDArray[Any]:
    try:
        numbers = np.asarray(column, float)  # None becomes NaN
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers, as it did where it was learned: {error}") from None
    if not np.isfinite(numbers).all():
        raise InputError(f"row {int(np.argmin(np.isfinite(numbers)))}: {name} is not finite")
    return numbers


def _written(column: Sequence[Any]) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    """Give the values of a column as they are written, the place of each among them, and how many each row has."""
    if not any(issubclass(kind, (*LISTS, type(None))) for kind in set(map(type, column))):
        values, at = np.unique(np.asarray(column), return_inverse=True)
        return [*map(str, values.tolist())], at, np.ones(len(at), np.int64)
    lists = [() if value is None else value if isinstance(value, LISTS) else (value,) for value in column]
    places: dict[str, int] = {}
    which = [places.setdefault(str(value), len(places)) for values in lists for value in values]
    return [*places], np.array(which, np.int64), np.array([len(values) for values in lists], np.int64)
