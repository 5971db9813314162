"""Read tables of ratings, facts, counts or labels from files, data frames and records, in one way for all tasks.

A text file is decoded (UTF-8, a byte order mark, or a detected encoding), its separator is the one that divides most
lines into the same number of cells, and its first line contains headings if :func:`is_heading` says so. Columns are
chosen by name or position, by usual names such as *user*, *item* and *rating*, or by their order.
"""

from __future__ import annotations

import contextlib
import csv
import json
import re
import warnings
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from polyadic.core.containers import is_missing
from polyadic.core.errors import InputError, InputWarning, counted, error_text, meant, needing
from polyadic.core.frames import indexed, is_wide
from polyadic.core.progress import note
from polyadic.core.settings import check_settings
from polyadic.core.streams import COMPRESSIONS, MAX_LINE_LENGTH, decoded, lines, name_of, open_bytes
from polyadic.core.urls import suffix_of, without_query
from polyadic.text.pieces import File, Reading, check_encoding

SAMPLE = 200  # rows examined to detect the separator, the headings and the decimal mark
SEPARATORS = {
    "\t": "tabs",
    ";": "semicolons",
    "::": "double colons",
    "|": "vertical bars",
    ",": "commas",
    " ": "blanks",
}
"""Separators that are detected, the more telling ones first."""
MISSING = {"", "na", "n/a", "nan", "null", "none", "<na>"}  # texts that stand for a missing value, in lower case
NO_SEPARATOR = "\x1f"  # of a table with one column, whose cells may be quoted
LEAST = 0.5  # share of lines that a separator must divide into the same number of cells
MAX_SHOWN = 3  # skipped rows shown in a warning
MAX_OPEN = 100  # lines that a quoted cell may contain; a quotation mark that is not closed by then is a stray one

Row = tuple[int, Sequence[Any]]  # its number, and its cells
Decimal = Literal[".", ","]


@dataclass(frozen=True)
class TableReading:
    """Settings for reading a table.

    Parameters
    ----------
    header : bool, optional
        Whether the first line contains the names of the columns (default: detected).
    sep : str, optional
        Separator of the columns: one or more characters, tab, or blanks for any number of blanks (default: detected).
    decimal : {".", ","}, optional
        Decimal mark of the values (default: detected).
    thousands : str, optional
        Mark between groups of three digits in the values (default: detected if the values also have decimals).
    encoding : str, optional
        Encoding of a text file (default: detected).
    sheet : str, optional
        Name of the sheet of an Excel file, or its position from 1 (default: the only sheet).
    errors : {"skip", "strict"}
        Treatment of rows that cannot be read: skip leaves them out and shows them in a warning, strict raises an error.

    Raises
    ------
    InputError
        If a setting has a value that is not allowed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "facts.txt"
    >>> _ = path.write_text("Oslo / in / Norway")
    >>> [*open_table(path, TableReading(sep="/", header=False))]
    [(1, ['Oslo', 'in', 'Norway'])]
    """

    header: bool | None = None
    sep: str | None = None
    decimal: Decimal | None = None
    thousands: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    errors: Literal["skip", "strict"] = "skip"

    def __post_init__(self) -> None:
        check_settings(self)
        if self.sep == "":
            raise InputError("sep must be at least one character", "sep")
        if self.encoding is not None:
            check_encoding(self.encoding)


class Role(NamedTuple):
    """Purpose of a column: its name, the usual headings in lower case, and whether a table must have such a column."""

    name: str
    usual: frozenset[str]
    required: bool = True


def _role(name: str, usual: str, *, required: bool = True) -> Role:
    return Role(name, frozenset([name, *usual.split()]), required)


RATINGS = (
    _role("row", "user username reader customer client person viewer member reviewer rater judge participant u"),
    _role("column", "item movie film book isbn asin product song track artist article game title question business i"),
    _role("value", "rating star stars score vote count plays listens frequency freq weight points grade",
          required=False),
)  # fmt: skip
"""Columns of a table of ratings."""
TIME = _role("time", "timestamp date datetime", required=False)
FACTS = (
    _role("subject", "head source from s h"),
    _role("relation", "predicate property rel verb r p"),
    _role("object", "tail target to o t"),
)
"""Columns of a table of facts."""


@dataclass
class Table:
    """Rows of a table with the names of the columns; rows are read when they are iterated over."""

    name: str
    names: list[Any]
    headed: bool
    rows: Iterable[Row]
    reading: TableReading
    about: list[str] = field(default_factory=list)
    sample: list[Row] = field(default_factory=list)
    index: bool = False  # whether the first column is the unnamed index of a data frame
    unit: str = "line"
    columns: Sequence[Any] | None = None  # that the user named
    quotes: bool = True  # whether quotation marks enclose cells that are separated by tabs
    exact: bool = False  # whether blanks around cells, and rows of empty cells, are kept
    skipped: dict[int, str] = field(default_factory=dict)
    mended: set[int] = field(default_factory=set)
    count: int = 0
    watched: Collection[int] = ()  # columns in which a first line that is no heading should occur again

    def __iter__(self) -> Iterator[Row]:
        """Yield the number and the cells of each row; afterwards, warn about skipped rows and a probable heading."""
        first: Sequence[Any] | None = None
        watched = () if self.headed or self.reading.header is not None or self.unit != "line" else self.watched
        for number, cells in self.rows:
            self.count += 1
            if watched and first is not None and any(first[at] == cells[at] for at in watched if at < len(cells)):
                watched = ()
            first = cells if first is None and len(cells) > max(watched, default=0) else first
            yield number, cells
        self.warn_skipped()
        if watched and first is not None and self.count > 2:
            message = f"{self.name}: the first line is read as data: {', '.join(map(repr, first))}"
            warnings.warn(InputWarning(f"{message}; if these are headings, set header=True", "header"), stacklevel=2)

    def where(self, number: int) -> str:
        """Return the position of a row for messages."""
        return f"{self.name}, {self.unit} {number}"

    def skip(self, number: int, reason: str) -> None:
        """Leave out a row that cannot be read, or raise InputError if ``errors`` is "strict"."""
        if self.reading.errors == "strict":
            raise InputError(f"{self.where(number)}: {reason}")
        self.skipped[number] = reason

    def warn_skipped(self) -> None:
        """Warn about skipped and repaired rows; raise InputError if more rows were skipped than read."""
        if not (n := len(self.skipped)) and not self.mended:
            return
        shown = [f"{self.unit} {at}: {reason}" for at, reason in sorted(self.skipped.items())[:MAX_SHOWN]]
        if n > (self.count - n):
            what = f"{n:,} of {self.count:,} rows of {self.name} cannot be read; {shown[0]}"
            raise InputError(f"{what}; check the settings sep and columns", "sep", "columns")
        more = [f"and {n - MAX_SHOWN:,} more"] if n > MAX_SHOWN else []
        parts = [f"skipped {n:,} of {self.count:,} rows ({'; '.join(shown + more)})"] if n else []
        if self.mended:
            parts.append(f"{counted(len(self.mended), 'row')} with stray quotation marks or separators read as text")
        warnings.warn(InputWarning(f"{self.name}: {', and '.join(parts)}"), stacklevel=2)

    def place(self, wanted: Any, setting: str = "columns") -> int:
        """Return the index of a column, given its name or its position from 1."""
        wanted = wanted.strip() if isinstance(wanted, str) else wanted
        if wanted in self.names:
            if self.names.count(wanted) > 1:
                raise InputError(f"{self.name} has several columns named {wanted!r}; give the position", setting)
            return self.names.index(wanted)
        texts = [str(name) for name in self.names]
        if str(wanted) in texts:
            return texts.index(str(wanted))
        if str(wanted).isdecimal() and 1 <= int(str(wanted)) <= len(self.names):
            return int(str(wanted)) - 1
        known = f"it has {', '.join(map(repr, texts))}" if self.headed else f"positions are from 1 to {len(texts)}"
        raise InputError(f"{self.name} has no column {str(wanted)!r}; {known}{meant(str(wanted), texts)}", setting)

    def places(
        self, roles: Sequence[Role], *, also: Mapping[str, Any] | None = None, only: bool = False
    ) -> dict[str, int]:
        """Choose a column for each role: as ``columns`` says, by usual names, or by order; note the choice.

        ``also`` gives further columns that the user named, by role; with ``only``, columns without usual names are
        refused if there are more than roles.
        """
        least = sum(role.required for role in roles)
        given = self.columns
        extra = {name: self.place(wanted, name) for name, wanted in (also or {}).items()}
        if given is not None:
            if not least <= len(given) <= len(roles):
                wanted = " and ".join(role.name for role in roles[:least])
                most = "" if least == len(roles) else f", and at most {len(roles)} columns in all"
                raise InputError(f"columns must name the columns for {wanted}{most}; got {len(given)}", "columns")
            found = {role.name: self.place(name) for role, name in zip(roles, given, strict=False)}
        else:
            found = self._by_names(roles) or self._by_order(roles, set(extra.values()), only=only)
        found |= extra
        names = [str(name) or "unnamed" for name in self.names]
        parts = [f"{role}s: {names[at] if self.headed else f'column {at + 1}'}" for role, at in found.items()]
        left = [name if self.headed else str(at + 1) for at, name in enumerate(names) if at not in found.values()]
        rest = [f"not used: {', '.join(left[:10])}{' and more' if len(left) > 10 else ''}"] if left else []
        self.note("; ".join([", ".join(parts), *rest]))
        return found

    def note(self, text: str) -> None:
        """Note how the table is understood."""
        if self.headed or self.unit == "line":  # not for lists in memory, whose cells are in the documented order
            note(f"{self.name}: {', '.join([*self.about, *([] if self.headed else ['no headings'])])}; {text}")

    def roles_named(self, roles: Sequence[Role]) -> dict[str, int]:
        """Return the columns with usual names by role; a role that fits several columns is left out."""
        found: dict[str, int] = {}
        for role in roles if self.headed else ():
            exact = [at for at, name in enumerate(self.names) if _plain(name) in role.usual]
            last = [at for at, name in enumerate(self.names) if _last_word(name) in role.usual]
            fitting = [at for at in exact or last if at not in found.values()]
            if len(fitting) == 1:
                found[role.name] = fitting[0]
        return found

    def _by_names(self, roles: Sequence[Role]) -> dict[str, int] | None:
        """Return the columns with usual names, if each required role has exactly one."""
        found = self.roles_named(roles)
        if any(role.required and role.name not in found for role in roles):
            return None
        rest = [at for at in range(len(self.names)) if at not in found.values() and not self._is_index(at)]
        optional = [role.name for role in roles if role.name not in found]
        if len(optional) == 1 and len(rest) == 1 and _last_word(self.names[rest[0]]) not in TIME.usual:
            found[optional[0]] = rest[0]
        return found

    def _by_order(self, roles: Sequence[Role], taken: set[int], *, only: bool) -> dict[str, int]:
        """Return the first columns, apart from an unnamed index and columns that are used otherwise."""
        free = [at for at in range(len(self.names)) if at not in taken and not self._is_index(at)]
        least = sum(role.required for role in roles)
        wanted = ", ".join(role.name for role in roles[:least])
        if len(free) < least:
            number, cells = next(iter(self.sample), (1, [""]))
            got = f"{self.unit} {number} has only {len(free)} ({', '.join(map(str, cells))!r:.60})"
            advice = "if the cells are separated otherwise, set sep"
            raise InputError(f"{self.name} must have columns for {wanted}; {got}; {advice}", "sep")
        found = {role.name: at for role, at in zip(roles, free, strict=False)}
        elsewhere = any(found.get(role) != at for role, at in self.roles_named(roles).items() if role in found)
        if elsewhere or (only and len(free) > len(roles)):
            what = f"the names {', '.join(map(repr, self.names))} do not show which are {wanted}"
            raise InputError(f"{self.name}: {what}; set columns to them, in this order", "columns")
        return found

    def _is_index(self, at: int) -> bool:
        return at == 0 and self.headed and (self.index or str(self.names[0]).strip().lower() in {"", "unnamed: 0"})


def open_table(
    source: Any,
    reading: TableReading | None = None,
    *,
    columns: Sequence[Any] | None = None,
    roles: Sequence[Role] = (),
    quotes: bool = True,
) -> Table:
    """Open a table: a path, URL, ``"-"`` (standard input), data frame, iterable of rows or records, or dict of columns.

    ``columns`` are names or positions from 1 of the columns to read, in the order of the roles, whose usual names help
    to recognise headings. With ``quotes``, quotation marks also enclose cells that are separated by tabs.
    """
    reading = TableReading() if reading is None else reading
    columns = [columns] if isinstance(columns, (str, int)) else columns
    if hasattr(source, "__fspath__") or isinstance(source, str):
        return _of_file(str(source), reading, roles, columns=columns, quotes=quotes)
    table = _of_memory(source, reading)
    table.columns = columns
    return table


def _of_memory(source: Any, reading: TableReading) -> Table:
    """Open a table in memory."""
    if is_wide(source) or hasattr(source, "to_frame"):
        names, columns, index = indexed(source)
        return _in_memory(names, zip(*columns, strict=True), reading, index=index)
    if isinstance(source, Mapping):
        lists = [each for each in source.values() if hasattr(each, "__len__") and not isinstance(each, str)]
        if len(lists) < len(source) or len({*map(len, lists)}) != 1:
            wanted = "a list of values, all of the same length, for each name of a column"
            raise InputError(f"a table given as a dict must have {wanted}")
        return _in_memory([*source], zip(*source.values(), strict=True), reading)
    rows = source.tolist() if hasattr(source, "tolist") else source
    if not isinstance(rows, Iterable):
        raise InputError(f"a table must be a file, a data frame or a list of rows; got {type(source).__name__}")
    rows = iter(rows)
    first: Any = next(rows, None)
    if isinstance(first, Mapping):
        records = [first, *rows]
        names = [*dict.fromkeys(name for record in records for name in record)]
        return _in_memory(names, ([record.get(name) for name in names] for record in records), reading)
    every: Iterable[Any] = rows if first is None else chain([first], rows)
    if first is not None and (isinstance(first, str) or not isinstance(first, Sized)):
        raise InputError(f"each row of a table must be a tuple or a list of cells; row 1 is {first!r:.60}")
    table = _in_memory([str(at + 1) for at in range(len(first or ()))], _same_width(every), reading)
    table.headed = False
    return table


def _same_width(rows: Iterable[Any]) -> Iterator[Sequence[Any]]:
    """Yield rows; raise InputError if one has more or fewer cells than the first."""
    width: int | None = None
    for number, row in enumerate(rows, 1):
        if len(row) != (width := len(row) if width is None else width):
            raise InputError(f"the table, row {number}: expected {width} cells, as in row 1; got {len(row)}")
        yield row


def _in_memory(names: list[Any], rows: Iterable[Any], reading: TableReading, *, index: bool = False) -> Table:
    table = Table("the table", names, True, (), replace(reading, errors="strict"), index=index, unit="row")
    numbered = enumerate(rows, 1)
    table.sample = [*islice(numbered, SAMPLE)]
    table.rows = chain(table.sample, numbered)
    return table


def _of_file(path: str, reading: TableReading, roles: Sequence[Role], **how: Any) -> Table:
    """Open a table file; the format is that of the suffix, or else delimited text."""
    name = Path(without_query(path))
    suffix = (name.with_suffix("") if suffix_of(path) in COMPRESSIONS else name).suffix.lower()
    if suffix in REFUSED:
        raise InputError(f"{path} is in a format that is not supported; {REFUSED[suffix]}")
    if suffix not in EXCEL and reading.sheet is not None:
        raise InputError(f"sheet is supported only for Excel files, but {path} is not one", "sheet")
    table = Table(name_of(path), [], True, (), reading, **how)
    if suffix not in EXCEL | ARROW:
        table.rows = _text_rows(table, path, suffix, roles)
        return table
    table.unit, rows = "row", _binary_rows(table, path, suffix)
    if (first := next(rows, None)) is None:
        raise InputError(f"{table.name} is empty")
    table.sample = [*islice(rows, SAMPLE)]
    _take_heading(table, first, roles, sure=suffix in ARROW)
    table.rows = chain(table.sample, rows)
    return table


def _take_heading(table: Table, first: Row, roles: Sequence[Role], *, sure: bool = False) -> None:
    """Use the first row as headings, or put it back in front of the sample."""
    cells, rest = [text_of(cell) for cell in first[1]], [row for _, row in table.sample]
    widths = Counter(len(row) for row in rest)
    width = max(widths, key=lambda w: (widths[w], w), default=len(cells))
    if len(rest) > 1 and sum(map(bool, cells)) == 1 and is_heading(below := [*map(text_of, rest[0])], rest[1:], roles):
        table.about.append(f"without the title {' '.join(filter(None, cells))!r:.60}")  # a line above the headings
        first, table.sample, rest, cells = table.sample[0], table.sample[1:], rest[1:], below
    headed = sure or table.reading.header
    if headed is None:
        asked = any(str(name) in cells and not str(name).isdecimal() for name in table.columns or ())  # not by position
        headed = asked or is_heading(cells, rest, roles)
    if headed:
        if width == len(cells) + 1 and rest:  # names of rows without a heading, or a separator at the end of each line
            empty_ends = all(not text_of(row[-1]) for row in rest if len(row) == width)
            cells = [*cells, ""] if empty_ends else ["", *cells]
        names = [cell.lstrip("\ufeff") for cell in cells]
        while len(names) > 1 and not names[-1] and all(not text_of(c) for row in rest for c in row[len(names) - 1 :]):
            names.pop()
        table.names, table.headed = names, True
    else:
        table.sample.insert(0, first)
        table.names, table.headed = [str(at) for at in range(1, max(width, len(cells)) + 1)], False


def is_heading(first: Sequence[str], rows: Sequence[Sequence[Any]], roles: Sequence[Role] = ()) -> bool:
    """Return whether the cells of the first line of a table are the names of its columns.

    Names are different texts that are not numbers (the first may be empty). They are headings if the cells below one of
    them are all numbers, or if at least two are usual names for the ``roles`` of columns.

    >>> is_heading(["who", "what", "stars"], [["ann", "Emma", "4"], ["bob", "Emma", "2"]])
    True
    >>> is_heading(["head", "relation", "tail"], [["Oslo", "in", "Norway"]], FACTS)
    True
    >>> is_heading(["Oslo", "in", "Norway"], [["Rome", "in", "Italy"]], FACTS)
    False
    """
    names = [cell for cell in first if cell]
    if not names or len({*names}) < len(names) or any(number_of(cell) is not None for cell in names):
        return False
    if not all(first[1:-1]):
        return False
    for at in range(len(first)):
        below = [text_of(row[at]) for row in rows if at < len(row) and not is_empty(row[at])]
        if first[at] and below and all(map(_NUMBER.fullmatch, below)):
            return True
    matched = {role.name for role in roles for name in names if {_plain(name), _last_word(name)} & role.usual}
    return len(matched) >= 2


def _text_rows(table: Table, path: str, suffix: str, roles: Sequence[Role]) -> Iterator[Row]:
    """Return the rows of a text file, after the separator, the headings and the encoding are detected."""
    numbered = dropwhile(lambda each: not each[1].strip(), enumerate(_decoded_lines(table, path), 1))
    head = [*islice(numbered, SAMPLE)]
    if not head:
        raise InputError(f"{table.name} is empty")
    start = head[0][1].lstrip()
    if start[:14].lower().startswith(("<!doctype", "<html", "<?xml")):
        raise InputError(f"{table.name} is a web page or XML, not a table; save the table as .csv or .xlsx")
    if suffix in {".json", ".jsonl", ".ndjson"} or re.match(r"\{.*\}\s*$|\[?\s*\{?\s*$|\[\s*\{", start):
        return _json_rows(table, chain(head, numbered))
    if suffix in RDF or re.match(r"<\S+> <\S+> .+\.\s*$", start):
        return _rdf_rows(table, path, RDF.get(suffix, "nt"))
    sep = separator_of(table.reading)
    if sep is None and (marked := re.fullmatch(r"sep=(.)\s*", head[0][1], re.IGNORECASE)):  # as Excel writes it
        sep, head = marked[1], head[1:]
    while len(head) > 1 and head[0][1].startswith("#") and not head[-1][1].startswith("#"):
        head = head[1:]
    if sep is None:
        sep = separator([line for _, line in head if line.strip()])
    table.about += [f"separated by {SEPARATORS.get(sep, repr(sep))}"] if sep else ["one column"]
    rows = records(table, chain(head, numbered), sep)
    if (first := next(rows, None)) is None:
        table.warn_skipped()
        raise InputError(f"{table.name} contains no rows")
    table.sample = [*islice(rows, SAMPLE)]
    _take_heading(table, first, roles)
    return _fitted(table, chain(table.sample, rows))


def _fitted(table: Table, rows: Iterable[Row]) -> Iterator[Row]:
    """Drop empty cells at the end of rows, and skip rows that are too long."""
    width = len(table.names)
    for number, cells in rows:
        if any(map(text_of, cells[width:])):
            table.count += 1
            table.skip(number, f"expected {width} cells; got {len(cells)}")
        else:
            yield number, cells[:width]


def separator_of(reading: TableReading) -> str | None:
    """Return the separator that is set, with the names tab and blanks replaced."""
    return {"tab": "\t", "\\t": "\t", "blanks": " "}.get(str(reading.sep), reading.sep)


def separator(sample: Sequence[str], *, blanks: bool = True) -> str | None:
    """Return the separator that divides most lines into the same number of cells, or None for a single column.

    >>> separator(["a;b;c", "Emma;1,5;x", "Kim, a novel;2,5;y"]), separator(["text", "Hello, world", "Bye"])
    (';', None)
    """
    if not sample:
        return None
    shares: dict[str, float] = {}
    for rank, sep in enumerate(each for each in SEPARATORS if each != " "):
        widths = Counter(len(_cells(line, sep, quotes=sep != "\t") or ()) for line in sample)
        width = max(widths, key=lambda w: (widths[w], w), default=1)
        share = max(widths[width] / len(sample), LEAST if min(widths) > 1 else 0)
        if width > 1 and share >= LEAST:
            shares[sep] = share - 0.02 * rank + 0.03 * min(width, 6)
    if shares:
        return max(shares, key=shares.__getitem__)
    widths = Counter(len(_cells(line, " ") or ()) for line in sample[1:] or sample)
    if blanks and len(widths) == 1 and min(widths) > 1:
        return " "
    return next((sep for sep in SEPARATORS if sep != " " and sep in sample[0]), None)


def _cells(line: str, sep: str, *, quotes: bool = True, exact: bool = False) -> list[str] | None:
    """Split a line into cells, or return None if a quoted cell goes on in the next line or is not valid."""
    if '"' not in line or len(sep) > 1 or (sep == "\t" and not quotes):
        return line.split() if sep == " " else [cell if exact else cell.strip() for cell in line.split(sep)]
    text = line.strip() if sep == " " else line
    escapes = (None, "\\") if '\\"' in line else (None,)  # in a quoted cell, quotation marks are doubled or escaped
    for escape in escapes:
        how: Any = {"skipinitialspace": not exact, "strict": True, "escapechar": escape, "doublequote": not escape}
        with contextlib.suppress(csv.Error):
            found = next(csv.reader([text], delimiter=sep, **how))
            return found if exact else [cell.strip() for cell in found]
    return None


def _marks(line: str) -> int:
    """Return the number of quotation marks without those that a backslash escapes."""
    return line.count('"') - line.count('\\"')


def records(table: Table, numbered: Iterable[tuple[int, str]], sep: str | None) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the number of the first line, and the cells, of each row that is not empty."""
    csv.field_size_limit(MAX_LINE_LENGTH)
    sep = NO_SEPARATOR if sep is None else sep
    source, back = iter(numbered), deque[tuple[int, str]]()
    while (item := back.popleft() if back else next(source, None)) is not None:
        number, text = item
        if not (text if table.exact else text.strip()):
            continue
        more: list[tuple[int, str]] = []
        quotes, most = (_marks(text) if len(sep) == 1 else 0), MAX_OPEN << (13 * table.exact)
        while quotes % 2 and len(more) < most and (table.quotes or sep != "\t"):
            if (following := back.popleft() if back else next(source, None)) is None:
                break
            more.append(following)
            quotes += _marks(following[1])
        text = "\n".join([text, *(line for _, line in more)])
        cells = _cells(text, sep, quotes=table.quotes, exact=table.exact)
        if cells is None:  # a stray quotation mark: read the first line as it is
            back.extendleft(reversed(more))
            cells = [cell if table.exact else cell.strip() for cell in item[1].split(sep)]
            whole = [cell[1:-1] if cell[:1] == cell[-1:] == '"' and len(cell) > 1 else cell for cell in cells]
            if any(cell[:1] == '"' for cell in whole):
                table.count += 1
                table.skip(number, f"a quotation mark is not closed ({item[1].strip()!r:.60})")
                continue
            table.mended.add(number)
            cells = whole
        if table.exact or any(cells):
            yield number, cells


def _decoded_lines(table: Table, path: str) -> Iterator[str]:
    """Yield the lines of a text file without line ends, and note an encoding other than UTF-8."""
    with open_bytes(path) as stream:
        texts, encoding = decoded(stream, path, table.reading.encoding)
        if encoding != "utf-8":
            table.about.append(f"encoded as {encoding}")
        yield from lines(texts)


def _json_rows(table: Table, numbered: Iterable[tuple[int, str]]) -> Iterator[Row]:
    """Return the rows of a JSON array of objects, or of JSON lines."""
    every = [*numbered]
    text = "\n".join(line for _, line in every)
    try:
        if text.lstrip().startswith("["):
            records = [*enumerate(json.loads(text), 1)]
            table.unit = "object"
        else:
            records = [(number, json.loads(line)) for number, line in every if line.strip()]
    except (ValueError, RecursionError) as error:
        raise InputError(f"{table.name} is not valid JSON: {error}") from None
    odd = next((number for number, record in records if not isinstance(record, dict)), None)
    if odd is not None or not records:
        raise InputError(f"{table.where(odd or 1)} must be a JSON object with the cells of a row")
    table.about.append("JSON")
    table.names = [*dict.fromkeys(name for _, record in records for name in record)]
    rows: list[Row] = [(number, [record.get(name) for name in table.names]) for number, record in records]
    table.sample = rows[:SAMPLE]
    return iter(rows)


def _rdf_rows(table: Table, path: str, kind: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Return the triples of an RDF file (N-Triples, N-Quads, Turtle), with IRIs and literals as text."""
    with needing("pyoxigraph", "rdf", "reading RDF files"):
        import pyoxigraph as ox
    table.names, table.headed, table.unit = ["subject", "predicate", "object"], True, "triple"
    table.about.append("RDF")

    def rows() -> Iterator[tuple[int, Sequence[str]]]:
        with open_bytes(path) as stream:
            try:
                for number, each in enumerate(ox.parse(stream, ox.RdfFormat.from_extension(kind)), 1):
                    terms = (each.subject, each.predicate, each.object)
                    yield number, [getattr(term, "value", str(term)) for term in terms]
            except SyntaxError as error:
                raise InputError(f"{table.name} is not valid RDF: {error_text(error)}") from None

    every = rows()
    table.sample = [*islice(every, SAMPLE)]
    return chain(table.sample, every)


RDF = {".nt": "nt", ".nq": "nq", ".ttl": "ttl"}


def _binary_rows(table: Table, path: str, suffix: str) -> Iterator[Row]:
    """Yield the rows of an Excel, Parquet or Arrow file."""
    from polyadic.text.formats.records import parquet_rows, xlsx_rows

    with open_bytes(path) as stream:
        file = File(path, stream, Reading(sheet=table.reading.sheet))
        yield from (xlsx_rows if suffix in EXCEL else parquet_rows)(file)


EXCEL, ARROW = {".xlsx", ".xlsm"}, {".parquet", ".arrow", ".feather"}
REFUSED = {
    **dict.fromkeys((".xls", ".ods", ".numbers"), "save it as .xlsx or as .csv"),
    **dict.fromkeys((".sav", ".dta", ".sas7bdat", ".rds", ".rdata"), "export it as .csv"),
    **dict.fromkeys((".pkl", ".pickle"), "save the data frame as .parquet or .csv"),
    **dict.fromkeys((".sqlite", ".db"), "export the table as .csv"),
}
"""Suffixes of files that are not read, with advice."""


def _plain(name: Any) -> str:
    """Return a heading in lower case without punctuation and without a final "id": "user" for "User-ID"."""
    text = re.sub(r"[\W_]+", "", str(name)).lower()
    return text.removesuffix("id") if text not in {"id", "uid", "iid"} else text


def _last_word(name: Any) -> str:
    """Return the last word of a heading, other than "id", in lower case: "time" for "unixReviewTime"."""
    words = re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name)))
    words = [word.lower() for word in words if word.lower() not in {"id", "name"}]
    return words[-1] if words else ""


def is_empty(cell: Any) -> bool:
    """Return whether a cell has no value: a missing object, or a text such as "NA" or an empty one."""
    return cell.strip().lower() in MISSING if isinstance(cell, str) else is_missing(cell)


def text_of(cell: Any) -> str:
    """Return a cell as text; missing cells are empty, and whole numbers have no decimals."""
    if isinstance(cell, str):
        return cell.strip()
    if is_missing(cell):
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def name_in(table: Table, number: int, cell: Any, what: str) -> Any:
    """Return a cell as a name: text from files, and the object itself from data in memory; refuse a missing name."""
    text = text_of(cell)
    if not text:
        raise InputError(f"{table.where(number)}: the {what} is missing; give it a name or remove the {table.unit}")
    return cell if table.name == "the table" and not isinstance(cell, str) else text


def number_of(cell: Any) -> float | None:
    """Return the number that a text or another object stands for, or None."""
    try:
        return None if isinstance(cell, str) and "_" in cell else float(cell)
    except (TypeError, ValueError):
        return None


_NUMBER = re.compile(r"(?=.*\d)[-+]?(\d{1,3}([., '\u00a0\u202f]\d{3})+|\d+)?([.,]\d+)?([eE][-+]?\d+)?%?")
_GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}[.,]\d{3}")


def _other(mark: str) -> Decimal:
    return "." if mark == "," else ","


class Numbers:
    """Parser of the numbers in a column, with the decimal and thousands marks that are set or detected."""

    def __init__(self, table: Table, places: Sequence[int]) -> None:
        how = table.reading
        cells = [row[place] for _, row in table.sample for place in places if place < len(row)]
        texts = [cell.strip() for cell in cells if isinstance(cell, str) and not is_empty(cell)]
        self.decimal, self.thousands = how.decimal, how.thousands
        self._detect(table, texts)
        if self.decimal == self.thousands:
            raise InputError("decimal and thousands must be different characters", "decimal", "thousands")
        if (self.decimal, self.thousands) != (".", None) and (how.decimal, how.thousands) == (None, None):
            shown = "" if not self.thousands else f" and {self.thousands!r} between thousands"
            note(f"{table.name}: numbers with decimal {'comma' if self.decimal == ',' else 'point'}{shown}")

    def _detect(self, table: Table, texts: list[str]) -> None:
        """Choose the marks from a sample of numbers; marks that may mean either are refused."""
        marked = {mark: [text for text in texts if mark in text] for mark in ",."}
        both = [text for text in texts if "," in text and "." in text]
        twice = next((mark for mark in ",." if any(text.count(mark) > 1 for text in texts)), None)
        alone = next((mark for mark in ",." if len(marked[mark]) and not marked[_other(mark)]), None)
        decimal = self.decimal
        if decimal is None and both:
            decimal = "," if both[0].rfind(",") > both[0].rfind(".") else "."
        elif decimal is None and (self.thousands or twice) in {",", "."}:
            decimal = _other(str(self.thousands or twice))
        elif decimal is None:
            decimal = "," if alone == "," else "."
            grouped = alone is not None and all(map(_GROUPED.fullmatch, marked[alone]))
            if grouped and (alone == "," or len(marked["."]) < len(texts)):
                mark = f"{'comma' if alone == ',' else 'point'} in numbers such as {marked[decimal][0]!r}"
                advice = "set decimal='.' or decimal=','"
                raise InputError(f"{table.name}: the {mark} may separate decimals or thousands; {advice}", "decimal")
        self.decimal = decimal
        if self.thousands is None and marked[_other(str(decimal))]:
            self.thousands = _other(str(decimal))

    def __call__(self, cell: Any) -> float | None:
        """Return a number, or None if the cell contains none, or has thousands marks at other places than groups."""
        if isinstance(cell, str):
            whole, mark, rest = cell.strip().partition(str(self.decimal))
            if self.thousands and self.thousands in whole:
                first, *groups = whole.split(self.thousands)
                if len(first.lstrip("+-")) > 3 or any(len(group) != 3 for group in groups):
                    return None
                whole = first + "".join(groups)
            if mark and not {",", "."}.isdisjoint(whole + rest):
                return None
            cell = f"{whole}{'.' if mark else ''}{rest}"
        return number_of(cell)
