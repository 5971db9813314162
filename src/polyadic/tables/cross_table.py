"""Contingency tables, read from a file or computed by cross-tabulation of records or documents."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.errors import InputError, check_int
from polyadic.tables.correspondence import CorrespondenceAnalysis
from polyadic.text.corpus import Corpus
from polyadic.text.formats.records import ROWS, filled, named, names_of
from polyadic.text.pieces import File, Reading
from polyadic.text.readers import format_of
from polyadic.text.streams import open_bytes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

WORDS = 500
"""Default number of most frequent words of a corpus; rarer words would dominate with few documents."""
AXES = 5
BLOCK = 1 << 22
"""Number of tokens counted at once."""


class CrossTable(NamedTuple):
    """Contingency table of shape (rows, columns), with labels in order of first occurrence."""

    counts: csr_array
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    def analyse(self, *, n_components: int | None = None) -> CorrespondenceAnalysis:
        """Fit correspondence analysis to the table, by default with 5 axes, or all axes if there are fewer."""
        m, n = self.counts.shape
        if min(m, n) < 2:
            raise InputError(f"a table must have at least two rows and two columns; got {m:,} and {n:,}")
        axes = min(AXES, m - 1, n - 1) if n_components is None else n_components
        model = CorrespondenceAnalysis(axes, seed=0).fit(self.counts)
        model.row_labels_, model.column_labels_ = self.rows, self.columns
        return model

    def association(self) -> dict[str, Any]:
        """Test the independence of rows and columns by Pearson's chi-square test."""
        from scipy.stats import chi2

        n, r, c = float(self.counts.sum()), self.counts.sum(axis=1), self.counts.sum(axis=0)
        cells = self.counts.tocoo()
        expected = r[cells.coords[0]] * c[cells.coords[1]]
        statistic = n * max(float(np.sum(cells.data[expected > 0] ** 2 / expected[expected > 0]) - 1), 0.0)
        degrees = max((int(np.count_nonzero(r)) - 1) * (int(np.count_nonzero(c)) - 1), 0)
        chance = float(chi2.sf(statistic, degrees)) if degrees else 1.0  # a single row is independent of the columns
        return {"observations": n, "chi2": statistic, "degrees": degrees, "p": chance}


def cross_table(
    source: str | os.PathLike[str] | Corpus,
    *,
    rows: str | None = None,
    columns: str | None = None,
    counts: str | None = None,
    words: int | None = None,
    format: str | None = None,  # noqa: A002 # as in Reading
    encoding: str | None = None,
    errors: str | None = None,
) -> CrossTable:
    r"""Read a contingency table from a file, or compute one from records or a corpus.

    Parameters
    ----------
    source : path or Corpus
        A CSV, Excel or Parquet file, a corpus, or a corpus folder.
    rows, columns : str, optional
        Columns of the file, or document fields of the corpus, to cross-tabulate. If both are omitted, the file must be
        a table of counts with row labels in its first column. A corpus needs ``rows``; without ``columns`` its words
        are the columns.
    counts : str, optional
        Column of the file with the count of each record. By default each record counts once.
    words : int, optional
        Number of most frequent words of the corpus used as columns. 500 by default.
    format, encoding, errors : str, optional
        How to read the file; see :class:`~polyadic.text.pieces.Reading`.

    Raises
    ------
    InputError
        If the file cannot be read, a name is unknown, a value is not a count, or a setting has no effect.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("eye,hair\nblue,fair\ndark,black\nblue,fair\nblue,black\n")
    >>> table = cross_table(path, rows="eye", columns="hair")
    >>> table.rows, table.columns, table.counts.toarray().tolist()
    (('blue', 'dark'), ('fair', 'black'), [[2.0, 1.0], [0.0, 1.0]])
    """
    given = {"format": format, "encoding": encoding, "errors": errors}
    reading: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if isinstance(source, Corpus) or (Path(source) / "meta.json").is_file():
        corpus = source if isinstance(source, Corpus) else Corpus.open(source)
        idle = next(iter(reading if counts is None else ["counts"]), None)
        if idle is not None:
            raise InputError(f"{idle} is supported only for files; leave it out for the corpus {corpus.path}", idle)
        if words is not None and columns is not None:
            raise InputError("words and columns are mutually exclusive; leave one of them out", "words", "columns")
        return _of_corpus(corpus, rows, columns, check_int("words", WORDS if words is None else words, low=2))
    if words is not None:
        raise InputError(f"the setting words is supported only for a corpus, but {source} is a file", "words")
    if (rows is None) != (columns is None) or (rows is None and counts is not None):
        raise InputError("rows and columns must be set together, each to the name of a file column", "rows", "columns")
    path = str(source)
    with open_bytes(path, None) as stream:
        file = File(path, stream, Reading(**reading))
        kind = format_of(file, table=True)
        if kind not in ROWS:
            raise InputError(
                f"{file.name} seems to be a file of type {kind}, but a table must be {', '.join(ROWS)}; if the file is"
                " CSV, set format='csv'",
                "format",
            )
        body = ROWS[kind](file)
        names = names_of(file, body)
        if rows is None or columns is None:
            return _of_counts(file, names, filled(file, names, body))
        return _of_records(file, names, filled(file, names, body), (rows, columns, counts))


def _of_counts(file: File, names: list[str], body: Iterator[tuple[int, Sequence[Any]]]) -> CrossTable:
    """Parse a table of counts with labelled rows and columns."""
    columns, values = tuple(names[1:]), []
    labels: dict[str, int] = {}
    for number, (label, *cells) in body:
        text = "" if label is None else str(label).strip()
        if text in labels:
            raise InputError(
                f"{file.name}, row {number}: row labels must be unique; {text!r} is also in row {labels[text]}"
            )
        labels[text] = number
        values.append([_number(file, number, name, cell) for name, cell in zip_longest(columns, cells)])
    if not values or not columns:
        raise InputError(
            f"{file.name} contains no counts; a table must have labels in the first row and in the first column"
        )
    return CrossTable(csr_array(np.array(values, float)), tuple(labels), columns)


def _of_records(
    file: File, names: list[str], body: Iterator[tuple[int, Sequence[Any]]], chosen: tuple[str, str, str | None]
) -> CrossTable:
    """Cross-tabulate two columns of a file."""
    unknown = next((name for name in chosen if name is not None and name not in names), None)
    if unknown is not None:
        raise InputError(f"{file.name} has no column {unknown!r}; its columns are {named(names)}")
    row, column, weight = chosen
    first, second, numbers = [], [], []
    for number, cells in body:
        record = dict(zip_longest(names, cells))
        first.append(record[row])
        second.append(record[column])
        numbers.append(1.0 if weight is None else _number(file, number, weight, record[weight]))
    return _crossed(first, second, np.array(numbers, float))


def _of_corpus(corpus: Corpus, rows: str | None, columns: str | None, words: int) -> CrossTable:
    """Cross-tabulate two document fields of a corpus, or a document field and the words."""
    known = dict.fromkeys(name for fields in corpus.fields or () for name in fields)
    for what, name in (("rows", rows), ("columns", columns)):
        if name not in known and not (name is None and what == "columns"):
            fault = f"{what} must be a document field of the corpus; its fields are {named(known)}"
            raise InputError(fault + ("" if name is None else f"; got {name!r}"))
    values = [[fields.get(name) for fields in corpus.fields or ()] for name in (rows, columns) if name is not None]
    if columns is not None:
        return _crossed(values[0], values[1], np.ones(len(values[0])))
    labels, group = _numbered(values[0])
    counted = csr_array((len(labels), len(corpus.vocabulary)))
    ends = np.asarray(corpus.sentences)[np.asarray(corpus.documents)]
    for start in range(0, len(corpus.ids), BLOCK):
        ids = np.asarray(corpus.ids[start : start + BLOCK], np.int64)
        at = group[np.searchsorted(ends, np.arange(start, start + len(ids)), side="right") - 1]
        inside = at >= 0
        counted = counted + csr_array((np.ones(inside.sum()), (at[inside], ids[inside])), shape=counted.shape)
    most = np.sort(np.argsort(-counted.sum(axis=0), kind="stable")[:words])
    return CrossTable(csr_array(counted[:, most]), labels, tuple(corpus.vocabulary.words[k] for k in most))


def _crossed(first: list[Any], second: list[Any], weights: NDArray[np.float64]) -> CrossTable:
    """Cross-tabulate two variables with weights, leaving out records with missing values."""
    (rows, i), (columns, j) = _numbered(first), _numbered(second)
    known = (i >= 0) & (j >= 0)
    if not known.any():
        raise InputError("at least one record must have a value in both columns")
    return CrossTable(csr_array((weights[known], (i[known], j[known])), (len(rows), len(columns))), rows, columns)


def _numbered(values: list[Any]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the distinct values in order of first occurrence, and the index of each value (-1 if missing)."""
    texts = ["" if value is None else str(value).strip() for value in values]
    index = {text: k for k, text in enumerate(dict.fromkeys(text for text in texts if text))}
    return tuple(index), np.array([index.get(text, -1) for text in texts], np.int64)


def _number(file: File, row: int, name: str, cell: Any) -> float:
    """Parse a count from a table cell; empty cells are 0."""
    cell = cell.strip() if isinstance(cell, str) else cell
    if cell is None or cell == "":
        return 0.0
    try:
        value = -1.0 if "_" in str(cell) else float(cell)  # Python accepts underscores in numbers
    except (TypeError, ValueError):
        value = -1.0
    if not 0 <= value < np.inf:
        raise InputError(
            f"{file.name}, row {row}: {name!r} must contain non-negative counts; got {cell!r:.60}; to"
            " cross-tabulate two columns instead, set rows='NAME' and columns='NAME'",
            "columns",
            "rows",
        )
    return value
