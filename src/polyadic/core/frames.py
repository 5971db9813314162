"""Convert results to records with named fields, such as the rows of a data frame.

:func:`records` yields dicts; :func:`frame` makes a pandas ``DataFrame``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Record = dict[str, Any]


def frame(answer: Any) -> Any:
    """Convert a result to a pandas ``DataFrame``.

    Parameters
    ----------
    answer : object
        Result to convert; see :func:`~polyadic.core.frames.records` for the kinds and their columns.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    InputError
        If there is no conversion for this kind of result.
    MissingExtraError
        If pandas is not installed.

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


def is_frame(table: Any) -> bool:
    """Return whether an object is a data frame of pandas, polars, Arrow or a library with an interchange protocol."""
    return any(hasattr(table, way) for way in ("__arrow_c_stream__", "__dataframe__"))


def rows_of(table: Any) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Return the column names of a data frame from any library, and an iterator over its rows."""
    try:
        import narwhals as nw
    except ImportError:
        raise MissingExtraError("narwhals", "pandas", "a data frame") from None
    try:
        frame = nw.from_native(table, eager_only=True)
    except TypeError as error:
        raise InputError(f"the table is not a data frame: {error}") from None
    return frame.columns, zip(*(frame[name].to_list() for name in frame.columns), strict=True)


def records(answer: Any) -> Iterator[Record]:
    """Yield the rows of a result as dicts; raise InputError for unsupported results.

    Results are neighbours (word, cosine); components (column, share, rank, word, value); senses of a word (word, sense,
    share, rank, substitute); concordance lines (document, left, word, right, and the fields of the document, as
    field_word if a name is taken); counts (one column for each word of a tuple, count); topics of documents (topic,
    rank, word, weight); named tuples of numbers and names or of arrays, such as recommendations (column, value) and
    predictive distributions (mean, std); an explanation (value, base, name, part); components of a table (component,
    share, column, loading); a table (row, column, count); a correspondence analysis (side, label, mass, quality, and
    coordinate, contribution and squared cosine on each axis). A dict of them has the key in the first column.
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
        yield {"value": why.value, "base": why.base, "name": name, "part": part}


def _table_component(component: Any) -> Iterator[Record]:
    for column, loading in [*component.columns, *component.against]:
        yield {"component": component.columns[0][0], "share": component.share, "column": column, "loading": loading}


def _senses(found: Any) -> Iterator[Record]:
    for number, sense in enumerate(found.senses, 1):
        about = {"word": found.word, "sense": number, "share": sense.share}
        for rank, substitute in enumerate(sense.substitutes, 1):
            yield {**about, "rank": rank, "substitute": substitute}


def _line(line: Any) -> Iterator[Record]:
    record = {name: getattr(line, name) for name in ("document", "left", "word", "right")}
    yield with_fields(record, line.fields)


def with_fields(record: Record, fields: Mapping[str, str]) -> Record:
    """Add the fields of a document to a record, with the prefix ``field_`` for names already in use."""
    return {**record, **{field_name(name, record): value for name, value in fields.items()}}


def field_name(name: str, taken: Iterable[str]) -> str:
    """Return the column name of a field, with the prefix ``field_`` if the name is already in use."""
    return f"field_{name}" if name in taken else name


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
    model.coordinates("rows")  # raises if not fitted
    for side, labels, masses in (
        ("rows", model.row_labels_, model.row_masses_),
        ("columns", model.column_labels_, model.column_masses_),
    ):
        quality, at = model.quality(side), model.coordinates(side)
        made, cosines = model.contributions(side), model.squared_cosines(side)
        for k, mass in enumerate(masses.tolist()):
            record = {"side": side, "label": labels[k] if labels else str(k + 1), "mass": mass}
            record["quality"] = float(quality[k])
            for axis in range(at.shape[1]):
                values = {"coordinate": at, "contribution": made, "squared_cosine": cosines}
                record |= {f"{name}_{axis + 1}": float(value[k, axis]) for name, value in values.items()}
            yield record


ROWS: dict[str, Callable[[Any], Iterable[Record]]] = {
    "Component": _component,
    "ConcordanceLine": _line,
    "CorrespondenceAnalysis": _correspondence,
    "Counts": _counts,
    "CrossTable": _table,
    "Explanation": _explanation,
    "SensesOfWord": _senses,
    "TextTopics": _topics,
    "TableComponent": _table_component,
    "tuple": lambda pair: (
        records({pair[0]: pair[1]}) if isinstance(pair[1], list) else [{"word": pair[0], "cosine": pair[1]}]
    ),
}
"""Conversion of each kind of result, by class name."""
