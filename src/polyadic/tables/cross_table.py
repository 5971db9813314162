"""Contingency tables, read from a file or computed by cross-tabulation of records or documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.errors import InputError, check_int, named
from polyadic.tables.correspondence import CorrespondenceAnalysis
from polyadic.text.corpus import Corpus
from polyadic.text.tables import Numbers, Table, TableReading, name_in, open_table, text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORDS = 500  # default number of most frequent words of a corpus; rarer words would dominate with few documents
AXES = 5
BLOCK = 1 << 22  # number of tokens counted at once


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
        return CorrespondenceAnalysis(axes, seed=0).fit(self)

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
    source: Any,
    *,
    rows: str | None = None,
    columns: str | None = None,
    counts: str | None = None,
    words: int | None = None,
    reading: TableReading | None = None,
) -> CrossTable:
    r"""Read a contingency table from a file or a data frame, or compute one from records or a corpus.

    The source is a file or a table in memory (:func:`~polyadic.text.tables.open_table`), a corpus, or a corpus folder.
    InputError is raised if it cannot be read, a name is unknown, a value is not a count, or a setting has no effect.

    Parameters
    ----------
    rows, columns : str, optional
        Columns of the file, or document fields of the corpus, to cross-tabulate. If both are omitted, the file must be
        a table of counts with row labels in its first column. A corpus needs ``rows``; without ``columns`` its words
        are the columns.
    counts : str, optional
        Column of the file with the count of each record. By default each record counts once.
    words : int, optional
        Number of most frequent words of the corpus used as columns. 500 by default.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("eye,hair\nblue,fair\ndark,black\nblue,fair\nblue,black\n")
    >>> table = cross_table(path, rows="eye", columns="hair")
    >>> table.rows, table.columns, table.counts.toarray().tolist()
    (('blue', 'dark'), ('fair', 'black'), [[2.0, 1.0], [0.0, 1.0]])
    """
    how = TableReading() if reading is None else reading
    if isinstance(source, Corpus) or (isinstance(source, (str, Path)) and (Path(source) / "meta.json").is_file()):
        corpus = source if isinstance(source, Corpus) else Corpus.open(source)
        changed = (f.name for f in fields(how) if getattr(how, f.name) != f.default)
        idle = "counts" if counts is not None else next(changed, None)
        if idle is not None:
            raise InputError(f"{idle} is supported only for files; leave it out for the corpus {corpus.path}", idle)
        if words is not None and columns is not None:
            raise InputError("words and columns are mutually exclusive; leave one of them out", "words", "columns")
        return _of_corpus(corpus, rows, columns, check_int("words", WORDS if words is None else words, low=2))
    if words is not None:
        raise InputError("the setting words is supported only for a corpus, but the source is a table", "words")
    if (rows is None) != (columns is None) or (rows is None and counts is not None):
        raise InputError("rows and columns must be set together, each to the name of a column", "rows", "columns")
    if rows is None or columns is None:
        return _of_counts(open_table(source, how if how.header is not None else replace(how, header=True)))
    return _of_records(open_table(source, how, columns=[rows, columns]), (rows, columns, counts))


def _of_counts(table: Table) -> CrossTable:
    """Parse a table of counts with labelled rows and columns."""
    columns, values = tuple(str(name) for name in table.names[1:]), []
    if twice := next((name for name, n in Counter(table.names).items() if n > 1 and name), None):
        raise InputError(f"{table.name} has two columns named {twice!r}; rename one of them")
    if "" in columns:
        raise InputError(f"{table.name}: column {columns.index('') + 2} of counts has no name in the first row")
    labels: dict[str, int] = {}
    places = [*range(1, len(table.names))]
    table.note(f"counts with row labels in the first column and {len(columns):,} column{'s' * (len(columns) > 1)}")
    numbers = Numbers(table, places)
    for number, cells in table:
        label = str(name_in(table, number, cells[0], "label of the row"))
        if label in labels:
            advice = f"{label!r} is also in {table.unit} {labels[label]}"
            raise InputError(f"{table.where(number)}: row labels must be unique; {advice}")
        labels[label] = number
        values.append([_count(table, number, at, cells, numbers) for at in places])
    if not values or not columns:
        advice = "a table must have labels in the first row and in the first column"
        raise InputError(f"{table.name} contains no counts; {advice}")
    return CrossTable(csr_array(np.array(values, float)), tuple(labels), columns)


def _of_records(table: Table, chosen: tuple[str, str, str | None]) -> CrossTable:
    """Cross-tabulate two columns of a table."""
    row, column = (table.place(name, what) for name, what in zip(chosen, ("rows", "columns"), strict=False))
    weight = None if chosen[2] is None else table.place(chosen[2], "counts")
    numbers = None if weight is None else Numbers(table, [weight])
    table.note(f"rows: {table.names[row]}, columns: {table.names[column]}")
    first, second, counts = [], [], []
    for number, cells in table:
        if len(cells) <= max(row, column, weight or 0):
            table.skip(number, f"expected {len(table.names)} cells; got {len(cells)}")
            continue
        first.append(cells[row])
        second.append(cells[column])
        counts.append(1.0 if weight is None or numbers is None else _count(table, number, weight, cells, numbers))
    return _crossed(first, second, np.array(counts, float))


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
    texts = [text_of(value) for value in values]
    index = {text: k for k, text in enumerate(dict.fromkeys(text for text in texts if text))}
    return tuple(index), np.array([index.get(text, -1) for text in texts], np.int64)


def _count(table: Table, number: int, at: int, cells: Sequence[Any], numbers: Numbers) -> float:
    """Parse a count from a table cell; empty cells are 0."""
    cell = cells[at] if at < len(cells) else None
    value = numbers(cell) if text_of(cell) else 0.0
    if value is None or not 0 <= value < np.inf:
        about = f"{table.where(number)}: {str(table.names[at])!r} must contain non-negative counts; got {cell!r:.60}"
        advice = "to cross-tabulate two columns instead, set rows='NAME' and columns='NAME'"
        raise InputError(f"{about}; {advice}", "columns", "rows")
    return value
