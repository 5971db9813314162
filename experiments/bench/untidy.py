"""Untidy tables, as people have them, read by ``read_table`` and by the readers of DuckDB, polars and pandas.

Every file is invented. A reader passes a file if it returns the names and the cells that a person sees in it; numbers
may be numbers or text, and empty cells may be missing. The readers of other libraries get the file with their own
detection switched on, and, as a help, already decompressed and with the right suffix; if the encoding is not UTF-8,
they are tried a second time with the text converted to UTF-8.
"""

import bz2
import contextlib
import gzip
import io
import json
import lzma
import math
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from polyadic.core.streams import encoding_of
from polyadic.text import tables
from polyadic.text.tables import TableReading, open_table


class Untidy(NamedTuple):
    """File name, content, names of the columns (None: no headings), rows, and options that the reader needs."""

    file: str
    content: bytes
    names: list[str] | None
    rows: list[list[Any]]
    options: Mapping[str, Any] = MappingProxyType({})


PEOPLE = ["ann", "bob", "eve", "dan", "kim", "lee"]
FILMS = ["Alien", "Brazil", "Amélie", "Casablanca", "Dracula", "Emma"]
RATINGS = [
    [person, film, str(1 + (3 * i + 2 * j) % 5)]
    for i, person in enumerate(PEOPLE)
    for j, film in enumerate(FILMS)
    if (i + 2 * j) % 3
]
PLAIN = [[str(i + 1), str(1000 + 7 * j), str(1 + (i + j) % 5)] for i in range(6) for j in range(6) if (i + j) % 4]
FACTS = [
    ["Oslo", "capital of", "Norway"],
    ["Rome", "capital of", "Italy"],
    ["Paris", "capital of", "France"],
    ["Oslo", "lies in", "Norway"],
    ["Rome", "lies in", "Italy"],
    ["Milan", "lies in", "Italy"],
    ["Italy", "borders", "France"],
]
NAMES = ["user", "film", "rating"]
EYES = [["blue", "12", "5", "2"], ["brown", "3", "14", "9"], ["green", "6", "", "4"]]
HAIR = ["eyes", "fair", "dark", "red"]
POLISH = [
    ["Łukasz", "Zażółć gęślą jaźń", "4"],
    ["Małgorzata", "Ogniem i mieczem", "5"],
    ["Świętosława", "Potop i pożoga", "3"],
    ["Grażyna", "Kłopoty z miłością", "2"],
]
RUSSIAN = [
    ["Анна", "Война и мир", "5"],
    ["Борис", "Мастер и Маргарита", "4"],
    ["Вера", "Преступление и наказание", "3"],
    ["Глеб", "Мёртвые души", "4"],
]
GERMAN = [
    ["Jürgen", "Der Zauberberg", "5"],
    ["Käthe", "Die Blechtrommel für Anfänger", "4"],
    ["Günther", "Über den Fluss und in die Wälder", "2"],
    ["Sören", "Größenwahn, ein Märchen", "3"],
]
JAPANESE = [["太郎", "吾輩は猫である", "5"], ["花子", "坊っちゃん", "4"], ["次郎", "こころ", "3"], ["桜", "雪国", "4"]]


def lines(rows: list[list[Any]], sep: str = ",", end: str = "\n") -> str:
    """Join cells and rows."""
    return "".join(sep.join(map(str, row)) + end for row in rows)


def quoted(rows: list[list[Any]], sep: str = ",", end: str = "\n") -> str:
    """Join cells, all of them in quotes."""
    return lines([['"' + str(cell).replace('"', '""') + '"' for cell in row] for row in rows], sep, end)


def with_index(rows: list[list[Any]], first: int = 0) -> list[list[Any]]:
    """Put the number of the row in front."""
    return [[str(at), *row] for at, row in enumerate(rows, first)]


def zipped(**files: str) -> bytes:
    """Return a zip archive of text files; ``__`` in a name stands for a dot."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "."), text)
    return packed.getvalue()


def workbook(**sheets: list[list[Any]]) -> bytes:
    """Return an Excel file, with numbers as numbers."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append([float(cell) if str(cell).isdecimal() else cell for cell in row])
    packed = io.BytesIO()
    book.save(packed)
    return packed.getvalue()


def parquet(names: list[str], rows: list[list[Any]]) -> bytes:
    """Return a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    packed = io.BytesIO()
    pq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), packed)
    return packed.getvalue()


def untidy() -> list[Untidy]:
    """Make all files."""
    text = lines([NAMES, *RATINGS])
    comma = [[a, b, c + ",5"] for a, b, c in RATINGS]
    big = [[a, b, f"1.2{c}4,5"] for a, b, c in RATINGS]
    grouped = [[a, b, f"1,2{c}4.5"] for a, b, c in RATINGS]
    timed = [[*row, str(881250949 + 1000 * at)] for at, row in enumerate(PLAIN)]
    objects = [dict(zip(NAMES, [a, b, int(c)], strict=True)) for a, b, c in RATINGS]
    triples = "".join(
        f"<http://e.org/{s}> <http://e.org/{r.replace(' ', '_')}> <http://e.org/{o}> .\n" for s, r, o in FACTS
    )
    iris = [[f"http://e.org/{cell.replace(' ', '_')}" for cell in row] for row in FACTS]
    titles = [["1", "Alien, the 8th passenger", "4"], ["2", 'He said "no"', "3"], ["3", "Two\nlines", "5"]]
    return [
        Untidy("plain.csv", text.encode(), NAMES, RATINGS),
        Untidy("without-headings.csv", lines(RATINGS).encode(), None, RATINGS),
        Untidy("ids-without-headings.csv", lines(PLAIN).encode(), None, PLAIN),
        Untidy("windows.csv", quoted([NAMES, *RATINGS], ";", "\r\n").encode(), NAMES, RATINGS),
        Untidy("u.data", lines(timed, "\t").encode(), None, timed),
        Untidy("colons.dat", lines(timed, "::").encode(), None, timed),
        Untidy("titles-colons.dat", lines([[*r[:2], *r[2:]] for r in RATINGS], "::").encode(), None, RATINGS),
        Untidy("blanks.txt", lines(PLAIN, "   ").encode(), None, PLAIN),
        Untidy("padded.txt", "".join(f"{a:>6} {b:>8} {c:>4}\n" for a, b, c in PLAIN).encode(), None, PLAIN),
        Untidy("tabs-and-blanks.data", lines(PLAIN, "\t ").encode(), None, PLAIN),
        Untidy("pipes.txt", lines([NAMES, *RATINGS], "|").encode(), NAMES, RATINGS),
        Untidy("spaces-after-commas.csv", lines([NAMES, *RATINGS], ", ").encode(), NAMES, RATINGS),
        Untidy("excel-sep.csv", ("sep=;\r\n" + lines([NAMES, *RATINGS], ";", "\r\n")).encode(), NAMES, RATINGS),
        Untidy("bom.csv", text.encode("utf-8-sig"), NAMES, RATINGS),
        Untidy("utf16.txt", lines([NAMES, *RATINGS], "\t", "\r\n").encode("utf-16"), NAMES, RATINGS),
        Untidy("latin1.csv", lines([NAMES, *GERMAN], ";").encode("latin-1"), NAMES, GERMAN),
        Untidy("cp1250.csv", lines([NAMES, *POLISH], ";").encode("cp1250"), NAMES, POLISH),
        Untidy("cp1251.csv", lines([NAMES, *RUSSIAN], ";").encode("cp1251"), NAMES, RUSSIAN),
        Untidy("shift-jis.csv", lines([NAMES, *JAPANESE]).encode("shift_jis"), NAMES, JAPANESE),
        Untidy("mac.csv", text.replace("\n", "\r").encode(), NAMES, RATINGS),
        Untidy("decimal-comma.csv", lines([NAMES, *comma], ";").encode(), NAMES, comma),
        Untidy("thousands-dot.csv", lines([NAMES, *big], ";").encode(), NAMES, big),
        Untidy("thousands-comma.csv", quoted([NAMES, *grouped]).encode(), NAMES, grouped),
        Untidy("index.csv", lines([["", *NAMES], *with_index(RATINGS)]).encode(), ["", *NAMES], with_index(RATINGS)),
        Untidy(
            "write-table.txt",
            (lines([NAMES], " ") + quoted(with_index(RATINGS, 1), " ")).encode(),
            ["", *NAMES],
            with_index(RATINGS, 1),
        ),
        Untidy("empty-lines.csv", text.replace("\nbob", "\n\nbob", 1).encode() + b"\n\n  \n", NAMES, RATINGS),
        Untidy("trailing-commas.csv", lines([[*row, ""] for row in [NAMES, *RATINGS]]).encode(), NAMES, RATINGS),
        Untidy(
            "only-rows-have-trailing-commas.csv",
            lines([NAMES, *([*row, ""] for row in RATINGS)]).encode(),
            NAMES,
            RATINGS,
        ),
        Untidy("too-short.csv", text.replace("\nbob,", "\noops\nbob,", 1).encode(), NAMES, RATINGS),
        Untidy("too-long.csv", text.replace("\nbob,", "\nzoe,Rome, open city,5\nbob,", 1).encode(), NAMES, RATINGS),
        Untidy("quotes.csv", quoted([["id", "title", "stars"], *titles]).encode(), ["id", "title", "stars"], titles),
        Untidy(
            "stray-quote.csv",
            (lines([["id", "title", "stars"]]) + '1,The 5" screen,2\n2,"An "odd" title",4\n' + "3,Emma,5\n").encode(),
            ["id", "title", "stars"],
            [["1", 'The 5" screen', "2"], ["2", 'An "odd" title', "4"], ["3", "Emma", "5"]],
        ),
        Untidy(
            "unclosed-quote.csv",
            (text + '"zoe,Emma,4\n' + lines([["pat", "Emma", "1"]])).encode(),
            NAMES,
            [*RATINGS, ["pat", "Emma", "1"]],
        ),
        Untidy("comments.csv", ("# exported 2026-11-01\n# ratings of a film club\n" + text).encode(), NAMES, RATINGS),
        Untidy(
            "value-first.csv",
            lines([["Book-Rating", "User-ID", "ISBN"], *([c, a, b] for a, b, c in PLAIN)]).encode(),
            ["Book-Rating", "User-ID", "ISBN"],
            [[c, a, b] for a, b, c in PLAIN],
        ),
        Untidy(
            "missing-values.csv",
            text.encode() + b"zoe,Emma,NA\nzoe,Alien,\nzoe,Brazil,NULL\n",
            NAMES,
            [*RATINGS, ["zoe", "Emma", "NA"], ["zoe", "Alien", ""], ["zoe", "Brazil", "NULL"]],
        ),
        Untidy("facts.tsv", lines(FACTS, "\t").encode(), None, FACTS),
        Untidy(
            "facts-with-headings.tsv",
            lines([["head", "relation", "tail"], *FACTS], "\t").encode(),
            ["head", "relation", "tail"],
            FACTS,
        ),
        Untidy(
            "facts-with-headings.csv",
            lines([["subject", "predicate", "object"], *FACTS]).encode(),
            ["subject", "predicate", "object"],
            FACTS,
        ),
        Untidy("facts.nt", triples.encode(), ["subject", "predicate", "object"], iris),
        Untidy("counts.csv", lines([HAIR, *EYES]).encode(), HAIR, EYES),
        Untidy("counts-corner-empty.tsv", lines([["", *HAIR[1:]], *EYES], "\t").encode(), ["", *HAIR[1:]], EYES),
        Untidy(
            "reviews.csv",
            b"text\nHello, world\nGood morning, everyone, and welcome\nBye\n",
            ["text"],
            [["Hello, world"], ["Good morning, everyone, and welcome"], ["Bye"]],
            {"header": True},
        ),
        Untidy("objects.jsonl", "".join(json.dumps(each) + "\n" for each in objects).encode(), NAMES, RATINGS),
        Untidy("objects.json", json.dumps(objects, indent=1).encode(), NAMES, RATINGS),
        Untidy("one-sheet.xlsx", workbook(ratings=[NAMES, *RATINGS]), NAMES, RATINGS),
        Untidy(
            "two-sheets.xlsx",
            workbook(read_me=[["Ratings of a film club"]], ratings=[NAMES, *RATINGS]),
            NAMES,
            RATINGS,
            {"sheet": "ratings"},
        ),
        Untidy("table.parquet", parquet(NAMES, RATINGS), NAMES, RATINGS),
        Untidy("packed.csv.gz", gzip.compress(text.encode()), NAMES, RATINGS),
        Untidy("packed.csv.bz2", bz2.compress(text.encode()), NAMES, RATINGS),
        Untidy("packed.tsv.xz", lzma.compress(text.replace(",", "\t").encode()), NAMES, RATINGS),
        Untidy("packed.zip", zipped(ratings__csv=text), NAMES, RATINGS),
    ]


def same(found: Any, expected: Any) -> bool:
    """Compare two cells."""
    if found is None or (isinstance(found, float) and math.isnan(found)):
        return expected in {"", "NA", "NULL"}
    if str(found).strip() == expected:
        return True
    for text in (expected, expected.replace(",", ""), expected.replace(".", "").replace(",", ".")):
        with contextlib.suppress(ValueError, TypeError):
            if float(found) == float(text):
                return True
    return False


def passes(read: Callable[[Path], tuple[list[Any], list[list[Any]]]], path: Path, case: Untidy) -> str:
    """Return "yes", or what is wrong; a table without headings may have any names."""
    try:
        names, rows = read(path)
    except Exception as error:  # noqa: BLE001 # whatever a reader raises is its answer
        return f"{type(error).__name__}: {' '.join(str(error).split())[:60]}"
    if case.names is not None and [str(name).strip() for name in names] != case.names:
        unnamed = [("" if str(n).startswith(("Unnamed", "column0", "_duplicated")) else str(n).strip()) for n in names]
        if unnamed != case.names:
            return f"names {[str(name) for name in names][:4]}"
    if len(rows) != len(case.rows):
        return f"{len(rows)} rows for {len(case.rows)}"
    for row, expected in zip(rows, case.rows, strict=True):
        if len(row) != len(expected) or not all(map(same, row, expected)):
            return f"{row} for {expected}"[:70]
    return "yes"


def by_duckdb(path: Path) -> tuple[list[Any], list[list[Any]]]:
    """Read with DuckDB's sniffer; rows that do not fit are skipped."""
    import duckdb

    with duckdb.connect() as base:
        if path.suffix in {".json", ".jsonl"}:
            table = base.read_json(str(path))
        elif path.suffix == ".parquet":
            table = base.read_parquet(str(path))
        else:
            table = base.read_csv(str(path), ignore_errors=True)
        return table.columns, [list(row) for row in table.fetchall()]


def by_polars(path: Path) -> tuple[list[Any], list[list[Any]]]:
    """Read with polars, which detects types but no separator."""
    import polars as pl

    readers = {".json": pl.read_json, ".jsonl": pl.read_ndjson, ".parquet": pl.read_parquet}
    if path.suffix == ".xlsx":
        table = pl.read_excel(path, engine="openpyxl")
    elif path.suffix in readers:
        table = readers[path.suffix](path)
    else:
        table = pl.read_csv(path, ignore_errors=True, truncate_ragged_lines=True)
    return table.columns, [list(row) for row in table.iter_rows()]


def by_pandas(path: Path) -> tuple[list[Any], list[list[Any]]]:
    """Read with pandas and its detection of separators; rows that do not fit are skipped."""
    import pandas as pd

    if path.suffix == ".xlsx":
        table = pd.read_excel(path)
    elif path.suffix == ".parquet":
        table = pd.read_parquet(path)
    elif path.suffix in {".json", ".jsonl"}:
        table = pd.read_json(path, lines=path.suffix == ".jsonl")
    else:
        table = pd.read_csv(path, sep=None, engine="python", on_bad_lines="skip")
    return list(table.columns), table.astype(object).to_numpy().tolist()


def by_polyadic(path: Path, **options: Any) -> tuple[list[Any], list[list[Any]]]:
    """Read with ``open_table``; rows that lack cells are skipped, as commands do."""
    table = open_table(path, TableReading(**options), roles=(*tables.RATINGS, *tables.FACTS))
    rows = [list(cells) for number, cells in table if len(cells) >= len(table.names) or table.skip(number, "too short")]
    return table.names, rows


def as_utf8(path: Path, case: Untidy) -> Path:
    """Convert a text in another encoding to UTF-8, for readers that detect none."""
    content = path.read_bytes()
    if path.suffix in {".csv", ".txt", ".dat", ".data", ".tsv"} and not case.file.startswith("packed"):
        with contextlib.suppress(LookupError):
            path.write_text(content.decode(encoding_of(content)), encoding="utf-8", newline="")
    return path


def main() -> None:
    """Read all files with each library that is installed, and print what went wrong."""
    readers = {"polyadic": by_polyadic, "DuckDB": by_duckdb, "polars": by_polars, "pandas": by_pandas}
    passed = dict.fromkeys(readers, 0)
    helped = dict.fromkeys(readers, 0)
    cases = untidy()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in cases:
            path = Path(folder) / case.file
            found = []
            for name, read in readers.items():
                path.write_bytes(case.content)
                how = partial(read, **case.options) if name == "polyadic" else read
                said = passes(how, path, case)
                again = said if said == "yes" else passes(how, as_utf8(path, case), case)
                passed[name] += said == "yes"
                helped[name] += "yes" in (said, again)
                found.append(f"{name}: {said}")
            print(f"{case.file:36}", " | ".join(found))
    for name in readers:
        print(f"{name}: {passed[name]} of {len(cases)}; {helped[name]} with the text converted to UTF-8")
