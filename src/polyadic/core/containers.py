"""Conversion of the containers of numeric matrices and tensors, with missing values, names and positions of errors.

Containers are NumPy arrays and what converts to them, masked arrays, scipy arrays of every format, data frames, and
:class:`~polyadic.core.entries.Entries`. NaN, None and masked elements are missing. The values of an element that a
scipy array lists several times are summed; where elements are observations, such an array is refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse

from polyadic.core import frames
from polyadic.core.annotations import AnyArray, Array
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError, InputWarning
from polyadic.core.resources import check_memory

IMPUTE = "replace missing values, or leave out the rows that have them"
"""Advice for missing values, for models without a setting for them."""


class NotNumericError(InputError, TypeError):
    """Error for input that is not numeric; a TypeError as well, as in scikit-learn."""


class Numbers(NamedTuple):
    """Elements of a container."""

    values: Any
    """Array with NaN for missing elements, or scipy array in CSR, CSC or COO format."""
    columns: tuple[Any, ...] | None = None
    """Column names of a data frame."""
    missing: bool = False
    """Whether elements that a sparse array does not list are missing rather than zero."""


def numbers_of(X: Any, name: str = "X", kind: str = "matrix") -> Numbers:
    """Convert a container to real numbers; refuse infinite values and everything that is no number by position.

    ``kind`` describes it in messages; a ``"matrix"`` must have two dimensions.
    """
    given = elements_of(X, name)
    values = _real(given, f"{name} must be a numeric {kind}")
    if kind == "matrix" and values.ndim != 2:
        raise InputError(
            f"{name} must be a numeric matrix; got shape {values.shape}. Reshape your data;"
            " reshape(1, -1) makes one row"
        )
    given = given._replace(values=values)
    if (bad := position(given, np.isinf)) is not None:
        raise InputError(f"{name} must be finite; {bad} contains inf")
    return given


def complete(X: Numbers, name: str = "X", *, remedy: str = IMPUTE) -> Numbers:
    """Return the elements of a container if none is missing; else raise InputError, with the remedy."""
    if X.missing:
        raise InputError(f"{name} is Entries with unobserved='missing'; {remedy}", "unobserved")
    if (bad := position(X, np.isnan)) is not None:
        raise InputError(f"{bad} of {name} is missing (NaN); {remedy}")
    return X


def dense_of(X: Any, name: str = "X", kind: str = "matrix") -> Array:
    """Convert a container to an array of floats with NaN for missing elements; see :func:`numbers_of`."""
    values, _, missing = numbers_of(X, name, kind)
    if not issparse(values):
        return np.asarray(values, float)
    check_memory(8.0 * values.shape[0] * values.shape[1], f"all cells of {name}", "use fewer rows or columns")
    if not missing:
        return np.asarray(values.toarray(), float)
    dense = np.full(values.shape, np.nan)
    dense[values.coords] = values.data
    return dense


def categories_of(X: Any, name: str = "X") -> Numbers:
    """Convert a container to categories of any type, none of them missing."""
    given = elements_of(X, name)
    if issparse(given.values) or given.values.dtype.kind == "c":
        kind = "Sparse" if issparse(given.values) else "Complex"
        raise InputError(f"{kind} data not supported: {name} must be a data frame or an array of categories")
    missing = [(x := _number(each)) is not None and not np.isfinite(x) for each in given.values.ravel().tolist()]
    if any(missing):
        at = _place(given, missing.index(True))
        raise InputError(f"{at} of {name} is no category but missing (NaN, None) or inf; {IMPUTE}")
    return given


def entries_of(
    X: Any,
    name: str = "entries",
    *,
    order: int | None = None,
    observed: bool = False,
    symmetric: bool = False,
    remedy: str | None = None,
) -> Entries:
    """Convert a container of a matrix or tensor to :class:`~polyadic.core.entries.Entries`.

    What is not listed is zero, or missing if any element is missing or if elements are ``observed``: then the result
    lists all others, also zeros. With a ``remedy``, missing elements are refused.
    """
    if isinstance(X, Entries):
        if symmetric and not X.symmetric:
            raise InputError(f"{name} must be symmetric Entries; create them with Entries.collect")
        if remedy is not None and X.unobserved == "missing":
            raise InputError(f"{name} must not have unobserved='missing'; {remedy}", "unobserved")
        return X
    numbers = numbers_of(X, name, "matrix" if order == 2 else "matrix or tensor")
    values = numbers.values if remedy is None else complete(numbers, name, remedy=remedy).values
    if values.ndim < 2:
        raise InputError(f"{name} must be a numeric matrix or tensor; got shape {values.shape}")
    if issparse(values):
        table = values.tocoo()
        if observed:
            _refuse_unclear(X, table, name, order)
        elif not table.has_canonical_format:
            table = table.copy()
            table.sum_duplicates()
        known = ~np.isnan(table.data)
        indices, numbers, missing = np.stack(table.coords)[:, known].T, table.data[known], observed or not known.all()
    else:
        known = ~np.isnan(values)
        missing = observed or not known.all()
        at = np.nonzero(known if missing else values)
        indices, numbers = np.stack(at).T, values[at]
    listed = Entries(indices, numbers, values.shape, unobserved="missing" if missing else "zero")
    return _symmetric(listed, name) if symmetric else listed


def _symmetric(listed: Entries, name: str) -> Entries:
    """Return the entries of a symmetric array, one for all permutations of its indices."""
    if len(set(listed.shape)) > 1:
        raise InputError(f"{name} must be a symmetric array; got shape {listed.shape}")
    tuples = np.sort(listed.indices, axis=1)[:, ::-1]
    unique, first, group, n = np.unique(tuples, axis=0, return_index=True, return_inverse=True, return_counts=True)
    values, group = listed.values[first], group.ravel()
    whole = Entries(unique, values, listed.shape, unobserved=listed.unobserved, symmetric=True)
    wrong = (n != whole.multiplicity())[group] | ~np.isclose(listed.values, values[group], rtol=1e-9, atol=0)
    if wrong.any():
        at = where(listed.indices[wrong.argmax()])
        raise InputError(f"{name} must be a symmetric array; {at} differs from a permutation of its indices")
    return whole


def _refuse_unclear(X: Any, table: coo_array, name: str, order: int | None) -> None:
    """Raise InputError if it is not clear which elements of a sparse array are observed, and with which value."""
    if X.format in {"bsr", "dia"} and not np.all(X.data):
        raise InputError(
            f"{name} is a scipy array in {X.format.upper()} format, which stores zeros as padding, so that observed"
            " zeros are unclear; use the COO format, which lists observed elements only"
        )
    if order != 2 and not table.has_canonical_format:  # of a matrix, the caller looks for duplicates
        unique, n = np.unique(np.stack(table.coords), axis=1, return_counts=True)
        if len(n) < table.nnz:
            at = where(unique[:, n.argmax()])
            raise InputError(f"{name} must contain each cell only once; merge the duplicates of {at}")


def validated(
    model: Any, X: Any, *y: Any, reset: bool = True, remedy: str | None = IMPUTE, categories: bool = False, **how: Any
) -> Any:
    """Convert and check the input of an estimator, as :func:`sklearn.utils.validation.validate_data` does.

    Columns of a data frame are compared with those of ``fit`` by their names. ``remedy`` says what to do about missing
    values; with None they are NaN in the result. ``how`` has the arguments of :func:`sklearn.utils.check_array`.
    """
    from sklearn.utils.validation import check_array, check_X_y, validate_data

    given = categories_of(X) if categories else numbers_of(X)
    if remedy is not None and not categories:
        complete(given, remedy=remedy)
    values = csr_array(given.values) if issparse(given.values) else given.values
    if issparse(values) and not values.has_canonical_format:
        values = values.copy()  # not of the caller
        values.sum_duplicates()
    if issparse(values) and not how.get("accept_sparse"):
        raise InputError(f"{type(model).__name__} does not support sparse data; use X.toarray()")
    how = {"dtype": np.float64, **how, "ensure_all_finite": False}
    targets = [targets_of(each, numeric=how.get("y_numeric", False)) for each in y]
    if reset:
        checked = validate_data(model, values, *targets, **how)
        name_columns(model, X)
        return checked
    match_columns(model, X)
    checks: Any = check_X_y if targets else check_array
    checked = checks(values, *targets, estimator=model, **how)
    if (n := values.shape[1]) != model.n_features_in_:
        raise InputError(
            f"X has {n} features, but {type(model).__name__} is expecting {model.n_features_in_} features as input"
        )
    return checked


def targets_of(y: Any, name: str = "y", *, numeric: bool = True) -> Any:
    """Return targets without mask; numbers must be finite and complete."""
    if y is None or not (numeric or isinstance(y, np.ma.MaskedArray) or np.asarray(y).dtype.kind == "f"):
        return y
    return complete(numbers_of(y, name, "array"), name).values


def names_of(X: Any) -> tuple[Any, ...] | None:
    """Return the column names of a data frame or a list of data frames, or None for other containers."""
    views = X if isinstance(X, list | tuple) else [X]
    if not len(views) or not all(map(frames.is_wide, views)):
        return None
    return tuple(name for view in views for name in frames.names_of(view))


def name_columns(model: Any, X: Any) -> None:
    """Store the names of columns in ``feature_names_in_``; columns that are numbered from 0 have no names."""
    vars(model).pop("feature_names_in_", None)
    columns = names_of(X)
    if columns is not None and tuple(columns) != tuple(range(len(columns))):
        model.feature_names_in_ = np.fromiter(columns, object, len(columns))


def match_columns(model: Any, X: Any, *, more: bool = False) -> None:
    """Raise InputError if the names of columns are not those of ``fit``, in that order; ``more`` may follow."""
    known: Any = getattr(model, "feature_names_in_", None)
    columns: Any = names_of(X)
    if columns is not None and all(isinstance(each, int) for each in columns):
        numbered = tuple(range(len(columns)))
        if known is None:
            known = numbered
        elif columns == numbered and all(isinstance(each, str) for each in known):
            columns = None
    if (known is None) != (columns is None):
        without = "X" if columns is None else f"the X of {type(model).__name__}.fit"
        message = f"{without} has no column names; columns are taken in the order of fit"
        warnings.warn(InputWarning(message), stacklevel=3)
    elif columns is not None and list(columns[: len(known)] if more else columns) != list(known):
        message = "The feature names should match those that were passed during fit.\n"  # as scikit-learn
        new, gone = (
            [each for each in one if each not in {*other}] for one, other in ((columns, known), (known, columns))
        )
        for what, names in (("unseen at fit time", new), ("seen at fit time, yet now missing", gone)):
            message += f"Feature names {what}:\n" + "".join(f"- {each}\n" for each in names[:5]) if names else ""
        raise InputError(
            message + ("" if new or gone else "Feature names must be in the same order as they were in fit.\n")
        )
    if more and columns is not None:
        name_columns(model, X)


def position(X: Numbers, wrong: Any) -> str | None:
    """Return the position of the first element for which a function of arrays is true, or None."""
    data = X.values.data if issparse(X.values) else X.values.ravel()
    bad: Any = np.flatnonzero(wrong(data)) if data.dtype.kind == "f" else ()
    return _place(X, bad[0]) if len(bad) else None


def _place(X: Numbers, k: Any) -> str:
    """Describe the position of an element, given its index among all in C order, or among those of a sparse array."""
    sparse = issparse(X.values)
    return where([i[k] for i in X.values.tocoo().coords] if sparse else np.unravel_index(k, X.values.shape), X.columns)


def where(at: Any, columns: Sequence[Any] | None = None) -> str:
    """Describe the position of an element, with the name of its column.

    >>> where([2, 0], ["age"]), where([4]), where([0, 1, 2])
    ("row 2, column 'age'", 'row 4', 'index (0, 1, 2)')
    """
    if len(at) > 2:
        return f"index {tuple(map(int, at))}"
    return f"row {at[0]}" + "".join(f", column {columns[j]!r}" if columns else f", column {j}" for j in at[1:])


def elements_of(X: Any, name: str = "X") -> Numbers:
    """Return the elements of a container, of any type."""
    if isinstance(X, str | bytes | Mapping | AbstractSet) and not issparse(X):
        kind = type(X).__name__
        raise NotNumericError(f"{name} must be an array, a sparse array, a data frame or Entries; got a {kind}")
    if isinstance(X, Entries):
        if X.weights is not None:
            raise InputError(f"{name} must be Entries without weights, which would be ignored")
        return Numbers(X.to_coo(), missing=X.unobserved == "missing")
    if issparse(X):
        return Numbers(X if X.format in {"csr", "csc", "coo"} else coo_array(X))
    if frames.is_wide(X):
        parts = frames.columns_of(X)
        if not all(part.dtype.kind in "fiub" for part in parts):
            parts = [np.fromiter(part, object, len(part)) for part in parts]
        return Numbers(np.stack(parts, axis=1) if parts else np.empty((len(X), 0)), frames.names_of(X))
    return Numbers(_array(X, name))


def _array(X: Any, name: str) -> AnyArray:
    """Return an array, with NaN or None for masked elements."""
    if isinstance(X, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in X):
        X = np.ma.array(X)  # numpy would drop the masks
    if isinstance(X, np.ma.MaskedArray):
        mask, values = np.ma.getmaskarray(X), np.ma.getdata(X)
        none: Any = np.nan if values.dtype.kind in "fiubc" else None
        return np.asarray(np.where(mask, none, values) if mask.any() else values)
    try:
        values = np.asarray(X)
    except ValueError:
        sizes = [np.shape(row)[:1] for row in X]
        at = next((i for i, size in enumerate(sizes) if size != sizes[0]), 0)
        raise InputError(
            f"{name} must have rows of the same length; row {at} has shape {sizes[at]}, row 0 has shape {sizes[0]}"
        ) from None
    return np.asarray(X, object) if values.dtype.kind in "USc" and isinstance(X, list | tuple) else values


def _real(X: Numbers, message: str) -> Any:
    """Return real numbers, with NaN for missing objects."""
    sparse = issparse(X.values)
    values = X.values.tocoo() if sparse and X.values.dtype.kind not in "fiub" else X.values
    data = values.data if sparse else values
    if data.dtype.kind in "fiub":
        return values
    flat = [*data.ravel()]
    numbers = [_number(each) for each in flat]
    if None in numbers:
        item = flat[k := numbers.index(None)]
        if isinstance(item, complex | np.complexfloating):
            message = f"Complex data not supported: {message}"
        kind = (
            "" if isinstance(item, str) else f" (the argument must be no string or {type(item).__name__} but a number)"
        )
        raise NotNumericError(f"{message}; {_place(X, k)} contains {str(item)!r:.40}{kind}")
    real = np.array(numbers, float).reshape(data.shape)
    return coo_array((real, values.coords), shape=values.shape) if sparse else real


def is_missing(each: Any) -> bool:
    """Return whether an object has no value: None, NaN, a masked element, or NA or NaT of pandas."""
    if each is None or each is np.ma.masked or type(each).__name__ in {"NAType", "NaTType"}:
        return True
    return isinstance(each, float | np.floating) and bool(np.isnan(each))


def _number(each: Any) -> float | None:
    """Return an object as a number, NaN if it stands for a missing value, or None if it is no number."""
    if is_missing(each):
        return np.nan
    return float(each) if isinstance(each, Real | Decimal | np.bool_) else None
