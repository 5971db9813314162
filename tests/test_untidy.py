# ruff: noqa: PD011
"""Tables as people have them are read as a person reads them, or refused with the setting that reads them."""

import warnings

import numpy as np
import pandas as pd
import pytest

from experiments.bench.untidy import by_polyadic, passes, untidy
from helpers import refuses
from polyadic import InputError, TableCompletion
from polyadic.completion.named_cells import CellReading, named_cells, read_cells
from polyadic.core.errors import InputWarning
from polyadic.core.streams import encoding_of
from polyadic.relations.facts import read_facts
from polyadic.tables.cross_table import cross_table
from polyadic.text.readers import documents
from polyadic.text.tables import FACTS, RATINGS, TableReading, open_table

CASES = {case.file: case for case in untidy()}


@pytest.mark.filterwarnings("ignore::polyadic.core.errors.InputWarning")
@pytest.mark.parametrize("name", CASES)
def test_untidy_tables_are_read_as_people_read_them(tmp_path, name):
    case = CASES[name]
    (tmp_path / name).write_bytes(case.content)
    assert passes(lambda path: by_polyadic(path, **case.options), tmp_path / name, case) == "yes"


def test_ratings_are_the_same_however_they_are_written(tmp_path):
    """Separator, quotes, order of the columns, encoding and compression do not matter."""
    expected = None
    for name in ("plain.csv", "windows.csv", "colons.dat", "value-first.csv", "index.csv", "utf16.txt", "packed.zip"):
        (tmp_path / name).write_bytes(CASES[name].content)
        found = read_cells(tmp_path / name)
        if name in {"colons.dat", "value-first.csv"}:
            assert len(found.rows) == 6
            continue
        expected = expected or found
        assert found[1:4] == expected[1:4]
        np.testing.assert_array_equal(found.cells.values, expected.cells.values)


def test_text_of_one_column_is_whole(tmp_path):
    """Commas, line ends, empty lines and quotation marks belong to the text of a table with one column."""
    texts = ["Hello, world", 'She said "no", twice', "one\n\ntwo", "a, b", "c, d"]
    path = tmp_path / "t.csv"
    pd.DataFrame({"text": texts}).to_csv(path, index=False)
    assert [document.text for document in documents(path)] == texts
    assert [cell for _, [cell] in open_table(path, TableReading(header=True))] == texts
    pd.DataFrame({"id": range(5), "text": texts}).to_csv(path, index=False)
    assert [cells[1] for _, cells in open_table(path)] == texts


def test_what_cannot_be_read_is_skipped_counted_and_shown(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('user,item,rating\na,x,1\nb\nc,x,good\nd,x,2\ne,x,3\n"f,x,4\ng,y,5\n')
    with pytest.warns(InputWarning, match=r"skipped 3 of 7 rows \(line 3: .* got 1; line 4: .* 'good'; line 7: "):
        assert read_cells(path).rows == ["a", "d", "e", "g"]
    refuses("line 7: a quotation mark is not closed", read_cells, path, CellReading(errors="strict"))
    path.write_text("user,item,rating\na,x,1\na,,2\n")
    refuses("line 3: the column name is missing", read_cells, path)
    path.write_text("user,item,rating\na,x,1\nb,x,NA\n")
    refuses("line 3: the row has no value; set missing='ignore'", read_cells, path)
    assert read_cells(path, CellReading(missing="ignore")).rows == ["a"]


@pytest.mark.parametrize(("rule", "value"), [("first", 1.0), ("last", 5.0), ("mean", 3.0), ("sum", 6.0)])
def test_several_values_of_a_cell(rule, value):
    lines = [("a", "x", 1), ("a", "x", 5), ("b", "x", 2)]
    refuses("got 5 for row 'a' and column 'x', but 1 in row 1; set duplicates=", named_cells, lines)
    assert named_cells(lines, reading=CellReading(duplicates=rule)).cells.values.tolist() == [value, 2]


@pytest.mark.parametrize(
    ("numbers", "values"),
    [
        (["1,5", "2", "3,25"], [1.5, 2, 3.25]),
        (["1.234,5", "2", "3,25"], [1234.5, 2, 3.25]),
        (["1,234.5", "2", "3.25"], [1234.5, 2, 3.25]),
        (["1,234,567", "2", "3"], [1234567, 2, 3]),
        (["1.500", "2.250", "3.000"], [1.5, 2.25, 3]),
        (["1e3", "-2", "+.5"], [1000, -2, 0.5]),
        (["1,5", "2.5", "3"], [2.5, 3]),  # which of the two is the decimal mark? 1,5 is not grouped
        (["1,234", "2", "3"], None),
        (["1.234", "950", "3"], None),
    ],
)
def test_decimal_and_thousands_marks(tmp_path, numbers, values):
    """Marks are recognised unless they may mean either, which is refused."""
    path = tmp_path / "t.csv"
    path.write_text("user;item;rating\n" + "".join(f"{name};x;{n}\n" for name, n in zip("abc", numbers, strict=True)))
    if values is None:
        refuses("may separate decimals or thousands; set decimal='.' or decimal=','", read_cells, path)
        assert read_cells(path, CellReading(decimal=".", thousands=",")).cells.values[0] in {1234, 1.234}
    elif len(values) < len(numbers):
        with pytest.warns(InputWarning, match="skipped 1 of 3 rows .*must be a finite number; got '1,5'"):
            assert read_cells(path).cells.values.tolist() == values
    else:
        assert read_cells(path).cells.values.tolist() == values


def test_wide_tables(tmp_path):
    """A row of the matrix in each row: in files, in frames with names or an index, and as arrays."""
    frame = pd.DataFrame({"x": [5, np.nan, 2.0], "y": [3.0, 4.0, 5.0]}, index=["a", "b", "c"])
    expected = named_cells(frame)
    assert (expected.rows, expected.columns, expected.cells.values.tolist()) == (
        ["a", "b", "c"],
        ["x", "y"],
        [5, 3, 4, 2, 5],
    )
    frame.to_csv(tmp_path / "t.csv")
    tables = [read_cells(tmp_path / "t.csv"), named_cells(frame.rename_axis("who").assign(z=np.nan))]
    tables.append(read_cells(tmp_path / "t.csv", CellReading(layout="wide")))
    for table in tables:
        np.testing.assert_array_equal(table.cells.values, expected.cells.values)
    nameless = pd.DataFrame(frame.to_numpy())
    for matrix in (frame.to_numpy(), np.ma.masked_invalid(frame.to_numpy()), nameless):
        assert named_cells(matrix).cells.values.tolist() == expected.cells.values.tolist()
    (tmp_path / "t.csv").write_text("kunde,artikel,menge\n1,10,3\n2,11,4\n")
    refuses("set layout='long' or layout='wide'", read_cells, tmp_path / "t.csv")
    (tmp_path / "u.csv").write_text("who,NA,y,z\na,1,2,3\nb,4,5,6\n")
    assert read_cells(tmp_path / "u.csv").columns == ["NA", "y", "z"]
    (tmp_path / "u.csv").write_text("who,x,,z\na,1,2,3\nb,4,5,6\n")
    refuses("column 3 has no name", read_cells, tmp_path / "u.csv", CellReading(layout="wide", header=True))
    (tmp_path / "u.csv").write_text("leser,rating,buch\nann,4,Emma\n")
    refuses("'leser', 'rating', 'buch' do not show which are row, column; set columns", read_cells, tmp_path / "u.csv")
    assert read_cells(tmp_path / "t.csv", CellReading(layout="long")).columns == ["10", "11"]


def test_tables_in_memory():
    """Records, columns, tuples and frames with integer or several levels of names are the same table."""
    lines = [("a", "x", 1.0), ("b", "x", 2.0), ("b", "y", 3.0)]
    user, item, stars = (list(column) for column in zip(*lines, strict=True))
    frame = pd.DataFrame({"stars": stars, "user": user, "item": item})
    levels = pd.DataFrame(
        lines, columns=pd.MultiIndex.from_tuples([("who", "user"), ("what", "item"), ("how", "stars")])
    )
    tables = [
        *(frame, frame.astype({"user": "category"}), frame.set_index(["user", "item"])["stars"], levels),
        *({"user": user, "item": item, "stars": stars}, frame.to_dict("records"), pd.DataFrame(lines)),
    ]
    expected = named_cells(lines)
    for table in tables:
        found = named_cells(table)
        assert found[1:] == expected[1:]
        np.testing.assert_array_equal(found.cells.values, expected.cells.values)
    assert named_cells(frame[["item", "stars", "user"]], columns=["user", "item", "stars"])[1:] == expected[1:]
    refuses("row 2: the row name is missing", named_cells, frame.assign(user=["a", None, "b"]))
    ids = pd.DataFrame([(1, 20, 4, 881), (2, 20, 3, 882), (2, 30, 5, 883)])
    assert named_cells(ids).rows == [1, 2]
    assert named_cells(pd.DataFrame(np.arange(10).reshape(2, 5))).rows == [0, 1]
    gap = frame.assign(stars=[1, 2, np.nan])
    refuses("row 3: the row has no value; set missing='ignore'", TableCompletion(rank=0).fit, gap)
    model = TableCompletion(rank=0, choose=False).fit(gap, reading=CellReading(missing="ignore"))
    assert model.columns_ == ["x"]
    refuses("must have a list of values", named_cells, {("a", "x"): 1.0})
    refuses("each row of a table must be a tuple or a list of cells; row 1 is 'a'", named_cells, ["a", "b"])


def test_facts_are_the_same_however_they_are_written(tmp_path):
    expected = None
    for name in ("facts.tsv", "facts-with-headings.tsv", "facts-with-headings.csv"):
        (tmp_path / name).write_bytes(CASES[name].content)
        found = read_facts(tmp_path / name)
        expected = expected or found
        assert found.named() == expected.named()
    (tmp_path / "facts.nt").write_bytes(CASES["facts.nt"].content)
    assert read_facts(tmp_path / "facts.nt").relations[0] == "http://e.org/borders"
    (tmp_path / "german.csv").write_text("Subjekt,Beziehung,Objekt\nOslo,in,Norwegen\nRom,in,Italien\nOslo,an,Fjord\n")
    with pytest.warns(InputWarning, match="the first line is read as data: 'Subjekt', 'Beziehung', 'Objekt'; if these"):
        assert len(read_facts(tmp_path / "german.csv")) == 4
    assert len(read_facts(tmp_path / "german.csv", TableReading(header=True))) == 3
    (tmp_path / "four.tsv").write_text("Oslo\tin\tNorway\t1\nRome\tin\tItaly\t1\n")
    refuses("do not show which are subject, relation, object; set columns", read_facts, tmp_path / "four.tsv")
    assert len(read_facts(tmp_path / "four.tsv", columns=[1, 2, 3])) == 2


def test_a_contingency_table_of_a_frame():
    people = pd.DataFrame({"eye": ["blue", "dark", "blue"], "hair": ["fair", "black", "fair"]})
    assert cross_table(people, rows="eye", columns="hair").counts.toarray().tolist() == [[2, 0], [0, 1]]
    counts = pd.DataFrame({"fair": [2, 0], "black": [1, 4]}, index=["blue", "dark"])
    assert cross_table(counts).rows == ("blue", "dark")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Łukasz ogląda Zażółć gęślą jaźń\n", "cp1250"),
        ("Анна читает Войну и мир\n", "cp1251"),
        ("Jürgen mag Größenwahn für Anfänger\n", "cp1252"),
        ("太郎は吾輩は猫であるを読む\n", "shift_jis"),
        ("Amélie\n", "utf-8"),
        ("Amélie and others\n", "utf-16-le"),
        ("plain\n", "ascii"),
    ],
)
def test_encodings_are_detected(text, encoding):
    content = (text * 4).encode(encoding)
    assert content.decode(encoding_of(content)) == text * 4


def test_files_that_are_no_tables_are_refused(tmp_path):
    for name, content, message in (
        ("t.xls", b"x", "save it as .xlsx or as .csv"),
        ("t.csv", b"", "is empty"),
        ("t.json", b"[1, 2]", "must be a JSON object"),
        ("t.html", b"<html></html>", "is a web page or XML"),
        ("t.nt", b"<http://a> <http://b>\n", "is not valid RDF"),
        ("t.zip", b"PK", "cannot decompress"),
    ):
        (tmp_path / name).write_bytes(content)
        with warnings.catch_warnings(), pytest.raises(InputError, match=message):
            [*open_table(tmp_path / name)]
    (tmp_path / "t.csv").write_text("user,item\na,x\n")
    refuses("sheet is supported only for Excel files", open_table, tmp_path / "t.csv", TableReading(sheet="one"))
    refuses(
        "has no column 'usr'; it has 'user', 'item'; did you mean 'user'",
        open_table(tmp_path / "t.csv", columns=["usr", "item"], roles=RATINGS).places,
        RATINGS,
    )
    assert open_table(tmp_path / "t.csv", roles=FACTS).headed is False
    (tmp_path / "two.xlsx").write_bytes(CASES["two-sheets.xlsx"].content)
    refuses("sheet must name one of the 2 sheets of .*'read_me', 'ratings'", open_table, tmp_path / "two.xlsx")
