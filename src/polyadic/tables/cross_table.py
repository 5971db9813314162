"""Tables of counts as people have them: what ``polyadic table`` analyses, callable.

A table is one already, or it is counted: two columns of a file against each other, two fields of the documents of a
corpus, or a field of them against the words that they use.
"""

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
"""The most frequent words of a corpus; rare ones say most about the few documents that have them."""
AXES = 5
BLOCK = 1 << 22
"""Tokens that are counted at once."""


class CrossTable(NamedTuple):
    """A table of counts with names.

    Attributes
    ----------
    counts : csr_array of shape (rows, columns)
    rows, columns : tuple of str
        Their names, in the order in which they were met.
    """

    counts: csr_array
    rows: tuple[str, ...]
    columns: tuple[str, ...]

    def analyse(self, *, n_components: int | None = None) -> CorrespondenceAnalysis:
        """Give the correspondence analysis, which knows the names.

        Parameters
        ----------
        n_components : int, optional
            Axes; by default five, or all if there are fewer.

        Raises
        ------
        InputError
            If there are fewer than two rows or columns, or the rank does not fit.
        """
        m, n = self.counts.shape
        if min(m, n) < 2:
            raise InputError(f"a table needs two rows and two columns at least; this has {m:,} and {n:,}")
        model = CorrespondenceAnalysis(min(AXES, m - 1, n - 1) if n_components is None else n_components, seed=0).fit(
            self.counts
        )
        model.row_labels_, model.column_labels_ = self.rows, self.columns
        return model

    def association(self) -> dict[str, Any]:
        """Tell whether rows and columns have to do with each other: chi-square, degrees of freedom, and its chance.

        Examples
        --------
        >>> eyes = CrossTable(csr_array([[30.0, 10.0], [10.0, 30.0]]), ("blue", "dark"), ("fair", "black"))
        >>> eyes.association()
        {'observations': 80.0, 'chi2': 20.0, 'degrees': 1, 'p': 7.7...e-06}
        """
        from scipy.stats import chi2

        n, r, c = float(self.counts.sum()), self.counts.sum(axis=1), self.counts.sum(axis=0)
        cells = self.counts.tocoo()
        expected = r[cells.coords[0]] * c[cells.coords[1]]
        statistic = n * max(float(np.sum(cells.data[expected > 0] ** 2 / expected[expected > 0]) - 1), 0.0)
        degrees = max((int(np.count_nonzero(r)) - 1) * (int(np.count_nonzero(c)) - 1), 0)
        chance = float(chi2.sf(statistic, degrees)) if degrees else 1.0  # one row surprises nobody
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
    r"""Read a table of counts, or count one.

    Parameters
    ----------
    source : path or Corpus
        A CSV, Excel or Parquet file, a corpus, or the folder of one.
    rows, columns : str, optional
        Columns of the file, or fields of the documents, to count against each other. Without both, the file is a table
        of counts with the names of the rows in its first column; a corpus needs ``rows``, and without ``columns`` its
        words are that.
    counts : str, optional
        A column of the file that says how often its row counts; once, unless given.
    words : int, optional
        Of a corpus, how many of its most frequent words are counted; by default 500.
    format, encoding, errors : str, optional
        Of a file: see :class:`~polyadic.text.pieces.Reading`.

    Raises
    ------
    InputError
        If the file cannot be read, a name is unknown, a count is none, or a setting has no effect.

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
            raise InputError(f"{idle} is for files, and {corpus.path} is a corpus; leave it out")
        if words is not None and columns is not None:
            raise InputError("words is for a field against words; leave out columns, or this")
        return _of_corpus(corpus, rows, columns, check_int("words", WORDS if words is None else words, low=2))
    if words is not None:
        raise InputError(f"words is for a corpus, and {source} is none; leave it out")
    if (rows is None) != (columns is None) or (rows is None and counts is not None):
        raise InputError("rows and columns are two columns of the file, to be counted against each other; name both")
    path = str(source)
    with open_bytes(path, None) as stream:
        file = File(path, stream, Reading(**reading))
        kind = format_of(file, table=True)
        if kind not in ROWS:
            raise InputError(
                f"a table is {', '.join(ROWS)}, and {file.name} looks like {kind}; if it is one, say so: format='csv'"
            )
        body = ROWS[kind](file)
        names = names_of(file, body)
        if rows is None or columns is None:
            return _of_counts(file, names, filled(file, names, body))
        return _of_records(file, names, filled(file, names, body), (rows, columns, counts))


def _of_counts(file: File, names: list[str], body: Iterator[tuple[int, Sequence[Any]]]) -> CrossTable:
    """Read numbers below names of columns, beside names of rows."""
    columns, values = tuple(names[1:]), []
    labels: dict[str, int] = {}
    for number, (label, *cells) in body:
        text = "" if label is None else str(label).strip()
        if text in labels:
            raise InputError(f"{file.name}, row {number}: {text!r} names row {labels[text]} already")
        labels[text] = number
        values.append([_number(file, number, name, cell) for name, cell in zip_longest(columns, cells)])
    if not values or not columns:
        raise InputError(f"{file.name} has no cells below names of columns and beside names of rows")
    return CrossTable(csr_array(np.array(values, float)), tuple(labels), columns)


def _of_records(
    file: File, names: list[str], body: Iterator[tuple[int, Sequence[Any]]], chosen: tuple[str, str, str | None]
) -> CrossTable:
    """Count two columns against each other."""
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
    """Count documents by two of their fields, or words by one."""
    known = dict.fromkeys(name for fields in corpus.fields or () for name in fields)
    for what, name in (("rows", rows), ("columns", columns)):
        if name not in known and not (name is None and what == "columns"):
            fault = f"{what} must be a field of the documents of the corpus, which are {named(known)}"
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
    """Add up weights by two variables, leaving out what lacks a value of either."""
    (rows, i), (columns, j) = _numbered(first), _numbered(second)
    known = (i >= 0) & (j >= 0)
    if not known.any():
        raise InputError("there is nothing to count: no row has a value in both columns")
    return CrossTable(csr_array((weights[known], (i[known], j[known])), (len(rows), len(columns))), rows, columns)


def _numbered(values: list[Any]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Give different values in the order of their first, and the number of each, -1 where there is none."""
    texts = ["" if value is None else str(value).strip() for value in values]
    index = {text: k for k, text in enumerate(dict.fromkeys(text for text in texts if text))}
    return tuple(index), np.array([index.get(text, -1) for text in texts], np.int64)


def _number(file: File, row: int, name: str, cell: Any) -> float:
    """Read a count; an empty cell is none."""
    cell = cell.strip() if isinstance(cell, str) else cell
    if cell is None or cell == "":
        return 0.0
    try:
        value = -1.0 if "_" in str(cell) else float(cell)  # which Python takes for a separator
    except (TypeError, ValueError):
        value = -1.0
    if not 0 <= value < np.inf:
        raise InputError(
            f"{file.name}, row {row}: {name!r} must hold counts, numbers of at least 0; got {cell!r:.60}. To count two"
            " columns against each other name them: rows='NAME', columns='NAME'"
        )
    return value
