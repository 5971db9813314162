"""Checks of tables: errors with positions, warnings about improbable counts and categories, and matching of labels."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.entries import blocks
from polyadic.core.errors import InputError, InputWarning, meant, named
from polyadic.tables.residuals import margins

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Labels = tuple[str, ...] | None


def labels_of(X: Any) -> tuple[Labels, Labels]:
    """Return the labels of the rows and columns of a pandas DataFrame or cross table, or None for other tables."""
    if hasattr(X, "_fields"):  # CrossTable
        return X.rows, X.columns
    if not (hasattr(X, "index") and hasattr(X, "columns")):
        return None, None
    rows, columns = tuple(map(str, X.index)), tuple(map(str, X.columns))
    if len(set(columns)) < len(columns):
        label, number = Counter(columns).most_common(1)[0]
        raise InputError(f"the columns of a data frame must have different labels; {number:,} are called {label!r}")
    return rows, columns


def matched(X: Any, known: Labels, side: str) -> Any:
    """Return a DataFrame with its rows or columns in the order of the fitted labels; leave other tables unchanged."""
    names = labels_of(X)[side == "column"]
    if names is None or known is None or names == known:
        return X
    lost, new = ([name for name in some if name not in {*others}] for some, others in ((known, names), (names, known)))
    if lost or new or len(names) != len(known):
        more = named(lost or names, 3)
        fault = f"does not have: {named(new, 3)}{meant(new[0], lost)}" if new else f"has in addition: {more}"
        about = f"the {side}s of the data frame must have the labels of the fitted table,"
        raise InputError(f"{about} which {fault}; to match by position, pass the array of its values")
    order = [names.index(name) for name in known]
    return X.iloc[order] if side == "row" else X.iloc[:, order]


def check_counts(N: csr_array, rows: Labels = None, columns: Labels = None) -> None:
    """Raise InputError if a count is negative, infinite or missing."""
    bad = np.flatnonzero(~((N.data >= 0) & (N.data < np.inf)))
    if len(bad):
        value = N.data[bad[0]]
        start, shown = "Negative values in data: " if value < 0 else "", "NaN" if np.isnan(value) else f"{value:g}"
        got = f"{shown} in {_cell(N, bad[0], rows, columns)}"
        raise InputError(f"{start}counts must be non-negative and finite, without missing values; got {got}")


def warn(messages: Iterable[str], stacklevel: int = 3) -> None:
    """Issue an InputWarning for each message."""
    for message in messages:
        settings = ["n_components"] if "n_components" in message else []
        warnings.warn(InputWarning(message, *settings), stacklevel=stacklevel)


def count_warnings(N: csr_array, rows: Labels = None, columns: Labels = None) -> Iterator[str]:
    """Yield warnings about values that are not whole, totals, empty rows and columns, and repeated labels."""
    odd = sum(int(np.count_nonzero(N.data[block] % 1)) for block in blocks(N.nnz))
    if odd:
        at = int(np.flatnonzero(N.data % 1)[0])
        what = f"{odd:,} of {N.nnz:,}, for example {N.data[at]:g} in {_cell(N, at, rows, columns)}"
        reason = "correspondence analysis and its chi-square test are defined for counts"
        yield f"values that are not whole numbers: {what}; {reason}"
    r, c, n = margins(N)
    for side, shares, others, labels in (("row", r, c, rows), ("column", c, r, columns)):
        top, size = int(shares.argmax()), len(shares)
        if size > 2 and np.isclose(shares[top], 0.5, rtol=1e-6):
            line = (N[[top]] if side == "row" else N[:, [top]]).toarray().ravel()
            if np.allclose(2 * line, n * others, rtol=1e-6):
                what = f"the sum of the other {size - 1:,} {side}s ({n / 2:,.10g} of {n:,.10g} counts)"
                advice = "remove totals from the table, because they count each observation twice"
                yield f"{_name(side, top, labels)} is {what}; {advice}"
        if empty := np.flatnonzero(shares == 0).tolist():
            first = _name(side, empty[0], labels)
            yield f"{side}s without counts: {len(empty):,} of {size:,}, for example {first}; their coordinates are 0"
        label, number = Counter(labels or [""]).most_common(1)[0]
        if number > 1:
            yield f"{number:,} {side}s have the label {label!r}; they are analysed as separate {side}s"


def axis_warnings(s: NDArray[Any]) -> Iterator[str]:
    """Yield a warning if some axes have no inertia."""
    if not s.any():
        yield "rows and columns are independent (the total inertia is 0), so all coordinates are 0"
    elif not s.all():
        some = f"{np.count_nonzero(s == 0):,} of {len(s):,}"
        yield f"axes without inertia: {some}; coordinates on them are 0; lower n_components"


def category_warnings(levels: Sequence[NDArray[Any]], variables: Sequence[str], n: int) -> Iterator[str]:
    """Yield warnings about variables that are probably continuous numbers or identifiers, and constant ones."""
    for name, some in zip(variables, levels, strict=True):
        if len(some) == 1:
            yield f"the variable {name!r} has the value {some[0]!s} in all {n:,} rows, so it has no influence"
        elif len(some) > 4 and (
            2 * len(some) > n or (len(some) > 20 and any(x % 1 for x in some if isinstance(x, float)))
        ):
            what = f"{len(some):,} different values in {n:,} rows, such as {some[0]!s}, and each is a category"
            advice = "group continuous numbers into classes, and leave out identifiers"
            yield f"the variable {name!r} has {what}; {advice}"


def _name(side: str, at: int, labels: Labels) -> str:
    return f"{side} {labels[at]!r}" if labels else f"{side} {at} (counted from 0)"


def _cell(N: csr_array, at: int, rows: Labels, columns: Labels) -> str:
    """Return the row and the column of a stored value in words."""
    row, column = int(np.searchsorted(N.indptr, at, side="right")) - 1, int(N.indices[at])
    if rows and columns:
        return f"row {rows[row]!r}, column {columns[column]!r}"
    return f"row {row}, column {column} (counted from 0)"
