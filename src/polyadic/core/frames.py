"""Convert results to records with named fields, such as the rows of a data frame.

:func:`records` yields dicts; :func:`frame` makes a pandas ``DataFrame``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from polyadic.core.annotations import AnyArray
from polyadic.core.errors import InputError, MissingExtraError

Record = dict[str, Any]


def frame(answer: Any) -> Any:
    """Convert a result to a pandas ``DataFrame``.

    See :func:`~polyadic.core.frames.records` for the kinds of results and their columns. InputError is raised if there
    is no conversion for the result, MissingExtraError if pandas is not installed.

    Examples
    --------
    >>> from polyadic import Embedding
    >>> vectors = Embedding(["bank", "money", "river"], [[1.0, 2.0], [0.0, 3.0], [4.0, 0.0]])
    >>> frame(vectors.neighbours("bank", top=2))
        word    cosine
    0  money  0.894427
    1  river  0.447214
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("pandas", "pandas", "a data frame") from None
    return pd.DataFrame.from_records(list(records(answer)))


def indexed(table: Any) -> tuple[list[Any], list[list[Any]], bool]:
    """Return the names and the values of the columns of a data frame, and whether the first is an unnamed index.

    The index of a pandas frame comes first, unless it only numbers the rows; names of several levels are joined.
    """
    table = table.to_frame() if getattr(table, "ndim", 2) == 1 else table
    names = [" ".join(map(str, name)) if isinstance(name, tuple) else name for name in names_of(table)]
    columns = [column.tolist() if hasattr(column, "tolist") else column.to_list() for column in _series(table)]
    index = getattr(table, "index", None)
    if not hasattr(table, "iloc") or index is None or hasattr(index, "start"):  # a RangeIndex
        return names, columns, False
    named = index.names != [None]
    if not named and index.dtype.kind in "iu":  # numbers without a name remain when rows are selected
        return names, columns, False
    levels = [index.get_level_values(at).tolist() for at in range(index.nlevels)]
    return [*("" if name is None else name for name in index.names), *names], [*levels, *columns], not named


def is_wide(table: Any) -> bool:
    """Return whether an object is a data frame, no series, of pandas, polars, Arrow or with an interchange protocol."""
    protocol = any(hasattr(table, way) for way in ("__arrow_c_stream__", "__dataframe__"))
    return protocol and len(getattr(table, "shape", (0, 0))) == 2


def refuse_named(data: Any, name: str) -> None:
    """Raise InputError for a dict or a data frame, whose keys or column names would be read as the data."""
    if isinstance(data, Mapping) or is_wide(data):
        kind = type(data).__name__
        raise InputError(f"{name} must be a list; got a {kind}, pass a list of its values or one of its columns", name)


def names_of(table: Any) -> tuple[Any, ...]:
    """Return the column names of a data frame; those of pandas may be of any type, and repeat."""
    names = table.columns if hasattr(table, "iloc") else _native(table).columns
    return tuple(name if isinstance(name, str | int | float | tuple) else str(name) for name in names)


def columns_of(table: Any) -> list[AnyArray]:
    """Return the columns of a data frame as arrays; missing numbers are NaN or None."""
    columns = _series(table)
    if not hasattr(table, "iloc"):
        return [each.to_numpy() if each.dtype.is_numeric() else np.array(each.to_list(), object) for each in columns]
    nullable = [each.dtype.kind in "biuf" and not isinstance(each.dtype, np.dtype) for each in columns]
    return [
        each.to_numpy(dtype=float, na_value=np.nan) if null else each.to_numpy()
        for each, null in zip(columns, nullable, strict=True)
    ]


def _series(table: Any) -> list[Any]:
    """Return the columns of a data frame, as series of pandas or narwhals."""
    if hasattr(table, "iloc"):
        return [table.iloc[:, j] for j in range(table.shape[1])]
    frame = _native(table)
    return [frame[name] for name in frame.columns]


def _native(table: Any) -> Any:
    """Return a data frame of any library as one of narwhals."""
    try:
        import narwhals as nw
    except ImportError:
        raise MissingExtraError("narwhals", "pandas", "a data frame") from None
    try:
        return nw.from_native(table, eager_only=True)
    except TypeError as error:
        raise InputError(f"the table is not a data frame: {error}") from None


def records(answer: Any) -> Iterator[Record]:
    """Yield the rows of a result as dicts; raise InputError for unsupported results.

    Results are neighbours (word, cosine); components (column, share, rank, word, value); senses of a word (word, sense,
    share, rank, substitute); concordance lines (document, left, word, right, and the fields of the document, as
    field_word if a name is taken); counts (one column for each word of a tuple, count); topics of documents (topic,
    rank, word, weight); collocates (item, together, ...); occurrences of queries (query, part, position, words); named
    tuples of numbers and names or of arrays, such as recommendations (column, value),
    answers of ``complete`` (name, score, probability, known) and predictive distributions (mean, std); mined rules
    (rule, premises, right); an explanation (value, base, name, part); components of a table (component, share, column,
    loading); a table (row, column, count); a simple or multiple correspondence analysis (side, label, mass, quality,
    and coordinate, contribution and squared cosine on each axis). A dict of them has the key in the first column.
    """
    if isinstance(answer, Mapping):
        return ({"query": query, **row} for query, one in answer.items() for row in records(one))
    if isinstance(answer, Iterable) and not hasattr(answer, "_fields"):
        return (row for one in answer for row in _rows_of(one))
    return iter(_rows_of(answer))


def _rows_of(one: Any) -> Iterable[Record]:
    """Convert a single result to records, using the converter that is registered for the class of the result."""
    kinds = [kind.__name__ for kind in type(one).__mro__]
    of = next((ROWS[kind] for kind in kinds if kind in ROWS and (kind != "tuple" or kinds[0] == kind)), None)
    if of is None and hasattr(one, "_fields"):
        if all(isinstance(value, np.ndarray) for value in one):
            return (dict(zip(one._fields, row, strict=True)) for row in zip(*map(np.ndarray.tolist, one), strict=True))
        if not any(isinstance(value, list | tuple | Mapping | np.ndarray) for value in one):
            return [one._asdict()]
    if of is None or (kinds[0] == "tuple" and len(one) != 2):
        raise InputError(
            f"a result of type {kinds[0]} cannot be converted to a table; supported types are"
            f" {', '.join(sorted({*ROWS} - {'tuple'}))}"
        )
    return of(one)


def _component(component: Any) -> Iterator[Record]:
    for rank, (word, value) in enumerate(component.words, 1):
        yield {"column": component.column, "share": component.share, "rank": rank, "word": word, "value": value}


def _explanation(why: Any) -> Iterator[Record]:
    for name, part in why.parts:
        called = str(name) if hasattr(name, "groundings") else name  # a mined rule is written out
        yield {"value": why.value, "base": why.base, "name": called, "part": part}


def _table_component(component: Any) -> Iterator[Record]:
    for column, loading in [*component.columns, *component.against]:
        yield {"component": component.columns[0][0], "share": component.share, "column": column, "loading": loading}


def _senses(found: Any) -> Iterator[Record]:
    for number, sense in enumerate(found.senses, 1):
        about = {"word": found.word, "sense": number, "share": sense.share}
        for rank, substitute in enumerate(sense.substitutes, 1):
            yield {**about, "rank": rank, "substitute": substitute}


def with_fields(record: Record, fields: Mapping[str, str]) -> Record:
    """Add the fields of a document to a record, with the prefix ``field_`` for names already in use."""
    return {**record, **{field_name(name, record): value for name, value in fields.items()}}


def field_name(name: str, taken: Iterable[str]) -> str:
    """Return the column name of a field, with the prefix ``field_`` if the name is already in use."""
    return f"field_{name}" if name in taken else name


def _occurrences(found: Any) -> Iterator[Record]:
    for position in found.positions:
        yield {"query": found.query, "part": found.part, "position": position, "words": found.words}


def _counts(counts: Any) -> Iterator[Record]:
    words, listed = counts.vocabulary.words, counts.entries
    names = [f"word_{mode}" for mode in range(1, listed.order + 1)]
    for row, count in zip(listed.indices.tolist(), np.asarray(listed.values).tolist(), strict=True):
        yield {**dict(zip(names, (words[k] for k in row), strict=True)), "count": count}


def _table(table: Any) -> Iterator[Record]:
    cells = table.counts.tocoo()
    for i, j, count in zip(*(each.tolist() for each in (*cells.coords, cells.data)), strict=True):
        yield {"row": table.rows[i], "column": table.columns[j], "count": count}


def _topics(model: Any) -> Iterator[Record]:
    weights = model.word_weights_
    for topic, row in enumerate(weights):
        best = (-row).argsort(kind="stable")
        for rank, k in enumerate(best[row[best] != 0].tolist(), 1):
            yield {"topic": topic, "rank": rank, "word": model.words_[k], "weight": float(row[k])}


def _correspondence(model: Any) -> Iterator[Record]:
    for side in ("rows", "columns"):
        values = {"coordinate": model.coordinates(side), "contribution": model.contributions(side)}
        values["squared_cosine"], points = model.squared_cosines(side), model.points(side)
        quality, labels = values["squared_cosine"].sum(axis=1).tolist(), points.labels
        for k, mass in enumerate(points.masses.tolist()):
            record = {"side": side, "label": labels[k] if labels else str(k + 1), "mass": mass, "quality": quality[k]}
            for axis in range(values["coordinate"].shape[1]):
                record |= {f"{name}_{axis + 1}": float(value[k, axis]) for name, value in values.items()}
            yield record


ROWS: dict[str, Callable[[Any], Iterable[Record]]] = {
    "Collocate": lambda one: [{**one._asdict(), "positions": " ".join(map(str, one.positions))}],
    "Component": _component,
    "ConcordanceLine": lambda one: [
        with_fields({name: getattr(one, name) for name in ("document", "left", "word", "right")}, one.fields)
    ],
    "Counts": _counts,
    "CrossTable": _table,
    "Explanation": _explanation,
    "HornRule": lambda rule: [{"rule": str(rule), "premises": rule.tried, "right": rule.right}],
    "Occurrences": _occurrences,
    "PrincipalAxes": _correspondence,
    "SensesOfWord": _senses,
    "TextTopics": _topics,
    "TableComponent": _table_component,
    "tuple": lambda pair: (
        records({pair[0]: pair[1]}) if isinstance(pair[1], list) else [{"word": pair[0], "cosine": pair[1]}]
    ),
}
"""Conversion of each kind of result, by class name."""
