"""Tables as people have them: counted, read, analysed, drawn and written."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import chi2_contingency

from helpers import invoke
from polyadic import (
    Corpus,
    CorrespondenceAnalysis,
    InputError,
    MultipleCorrespondenceAnalysis,
    cross_table,
    frame,
    load,
)
from polyadic.core.errors import InputWarning
from polyadic.core.frames import records
from polyadic.interface import errors
from polyadic.tables.cross_table import CrossTable
from polyadic.text.tables import TableReading

FISHER = [[326, 38, 241, 110, 3], [688, 116, 584, 188, 4], [343, 84, 909, 412, 26], [98, 48, 403, 681, 85]]
EYES, HAIR = ("blue", "light", "medium", "dark"), ("fair", "red", "medium", "dark", "black")


def write(path, rows, separator=","):
    path.write_text("".join(separator.join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def fisher(tmp_path):
    return write(
        tmp_path / "fisher.csv", [("eye", *HAIR), *((eye, *row) for eye, row in zip(EYES, FISHER, strict=True))]
    )


@pytest.fixture
def people(tmp_path):
    """Write a row for each cell, and how many people it stands for."""
    cells = [(eye, hair, n) for eye, row in zip(EYES, FISHER, strict=True) for hair, n in zip(HAIR, row, strict=True)]
    return write(tmp_path / "people.tsv", [("eye", "hair", "n"), *cells], "\t")


def test_one_table_however_it_is_written(fisher, people, tmp_path):
    """A table of counts, records with counts, people one by one, Excel and Parquet give the same table."""
    one_by_one = [
        (e, h) for e, row in zip(EYES, FISHER, strict=True) for h, n in zip(HAIR, row, strict=True) for _ in range(n)
    ]
    everybody = write(tmp_path / "everybody.csv", [("eye", "hair"), *one_by_one], ";")
    pd.read_csv(fisher).to_excel(tmp_path / "fisher.xlsx", index=False)
    pd.read_csv(people, sep="\t").to_parquet(tmp_path / "people.parquet")
    names = {"rows": "eye", "columns": "hair"}
    tables = [
        cross_table(fisher),
        cross_table(tmp_path / "fisher.xlsx"),
        cross_table(people, **names, counts="n"),
        cross_table(tmp_path / "people.parquet", **names, counts="n"),
        cross_table(everybody, **names),
    ]
    for table in tables:
        assert (table.rows, table.columns) == (EYES, HAIR)
        assert table.counts.toarray().tolist() == FISHER


def test_association_is_that_of_scipy(fisher):
    found, known = cross_table(fisher).association(), chi2_contingency(FISHER)
    assert found["chi2"] == pytest.approx(known.statistic)
    assert (found["degrees"], found["observations"]) == (known.dof, np.sum(FISHER))
    assert found["p"] == pytest.approx(known.pvalue)


def test_values_that_are_missing_are_left_out(tmp_path):
    """A row without a value in one of the columns counts nowhere; short rows and empty cells are that."""
    path = write(tmp_path / "t.csv", [("a", "b"), ("x", "u"), ("x", ""), ("", "u"), ("y", "v"), ("y",)])
    with pytest.warns(InputWarning, match=r"t\.csv: skipped 1 of 5 rows \(line 6: expected 2 cells; got 1\)"):
        table = cross_table(path, rows="a", columns="b")
    assert (table.rows, table.columns, table.counts.toarray().tolist()) == (("x", "y"), ("u", "v"), [[1, 0], [0, 1]])


def test_words_of_a_corpus_by_a_field(tmp_path):
    """Words are counted by the field of their documents; those of documents without it are not."""
    rows = [
        ("who", "text", "year"),
        ("ann", "red rose", 1),
        ("bob", "blue sea blue", 2),
        ("ann", "red sea", 2),
        ("", "red", 3),
    ]
    corpus = Corpus.build(write(tmp_path / "t.csv", rows), tmp_path / "corpus", min_count=1, field="text")
    table = cross_table(tmp_path / "corpus", rows="who")
    shown = pd.DataFrame(table.counts.toarray(), table.rows, table.columns)
    assert shown.to_dict("index") == {
        "ann": {"red": 2, "rose": 1, "sea": 1, "blue": 0},
        "bob": {"red": 0, "rose": 0, "sea": 1, "blue": 2},
    }
    assert set(cross_table(corpus, rows="who", words=2).columns) == {"red", "blue"}
    by_year = cross_table(corpus, rows="who", columns="year")
    assert (by_year.columns, by_year.counts.toarray().tolist()) == (("1", "2", "3"), [[1, 1, 0], [0, 1, 0]])


def test_blocks_of_a_corpus_do_not_matter(tmp_path, monkeypatch):
    texts = [f"w{k % 7} w{k % 5} w{k % 3}" for k in range(50)]
    path = write(tmp_path / "t.csv", [("text", "part"), *((text, k % 4) for k, text in enumerate(texts))])
    corpus = Corpus.build(path, min_count=1, field="text")
    whole = cross_table(corpus, rows="part")
    monkeypatch.setattr("polyadic.tables.cross_table.BLOCK", 13)
    parts = cross_table(corpus, rows="part")
    assert (whole.counts != parts.counts).nnz == 0
    assert whole.counts.sum() == 150


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([("eye", "hair"), ("blue", "fair")], {}, "'hair' must contain non-negative counts.*got 'fair'"),
        ([("eye", "hair"), ("blue", -1)], {}, "must contain non-negative counts; got '-1'"),
        ([("eye", "hair"), ("blue", "nan")], {}, "must contain non-negative counts"),
        ([("eye", "n"), ("blue", 1), ("blue", 2)], {}, "line 3: row labels must be unique; 'blue' is also in line 2"),
        ([("eye", "eye"), ("blue", 1)], {}, "has two columns named 'eye'"),
        ([("eye", "n")], {}, "contains no counts"),
        ([("eye",), ("blue",)], {}, "contains no counts"),
        ([("eye", "hair"), ("blue", "fair")], {"rows": "eye"}, "must be set together"),
        ([("eye", "hair"), ("blue", "fair")], {"counts": "n"}, "must be set together"),
        ([("eye", "hair"), ("blue", "fair")], {"rows": "eye", "columns": "hat"}, "no column 'hat'"),
        ([("eye", "hair"), ("", "fair")], {"rows": "eye", "columns": "hair"}, "at least one record"),
        ([("a", "b", "n"), ("x", "y", "?")], {"rows": "a", "columns": "b", "counts": "n"}, "line 2: 'n' must contain"),
    ],
)  # fmt: skip
def test_tables_that_are_none(rows, options, message, tmp_path):
    with pytest.raises(InputError, match=message):
        cross_table(write(tmp_path / "t.csv", rows), **options)


def test_corpora_without_fields(tmp_path):
    corpus = Corpus.build(["a rose", "a sea"], min_count=1)
    with pytest.raises(InputError, match="rows must be a document field"):
        cross_table(corpus)
    with pytest.raises(InputError, match=r"rows must be a document field.* got 'who'"):
        cross_table(corpus, rows="who")
    with pytest.raises(InputError, match="counts is supported only for files"):
        cross_table(corpus, counts="n")


def test_tables_too_small_and_files_of_text(tmp_path):
    with pytest.raises(InputError, match="two rows and two columns"):
        cross_table(write(tmp_path / "t.csv", [("eye", "a", "b"), ("blue", 1, 2)])).analyse()
    (tmp_path / "page.html").write_text("<html><p>no table</p></html>", encoding="utf-8")
    with pytest.raises(InputError, match=r"page\.html is a web page or XML, not a table"):
        cross_table(tmp_path / "page.html")


def test_where_nothing_can_surprise():
    """Chi-square is never negative, and of one row or column with observations the chance is 1."""
    for counts, chance in (([[1.0, 2.0], [0.0, 0.0]], 1.0), ([[2.0, 4.0], [1.0, 2.0]], 1.0)):
        found = CrossTable(csr_array(counts), ("x", "y"), ("a", "b")).association()
        assert (found["chi2"], found["p"]) == (0.0, chance)


def test_an_index_of_pandas_names_the_rows(tmp_path):
    """Parquet keeps a named index behind the columns; as a table it stands before them."""
    years = pd.Index([1999, 2000, 2001], name="year")
    pd.DataFrame({"a": [1, 2, 3], "b": [4, 6, 1]}, index=years).to_parquet(tmp_path / "y.parquet")
    table = cross_table(tmp_path / "y.parquet")
    assert (table.rows, table.columns) == (("1999", "2000", "2001"), ("a", "b"))
    assert table.counts.toarray().tolist() == [[1, 4], [2, 6], [3, 1]]


def test_settings_without_effect_are_refused(fisher, tmp_path):
    """What is for a corpus is refused for a file, and the other way round, each by its name."""
    texts = [{"text": "a b", "year": "1"}, {"text": "b c", "year": "2"}]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, texts)), encoding="utf-8")
    corpus = Corpus.build(tmp_path / "d.jsonl", tmp_path / "c", min_count=1, field="text")
    for source, options, fault in (
        (fisher, {"words": 3}, "^the setting words is supported only for a corpus"),
        (corpus, {"rows": "year", "counts": "n"}, "^counts is supported only for files"),
        (
            corpus,
            {"rows": "year", "reading": TableReading(encoding="latin-1")},
            "^encoding is supported only for files",
        ),
        (corpus, {"rows": "year", "columns": "year", "words": 3}, "^words and columns are mutually exclusive"),
        (corpus, {"rows": "year", "columns": "zz"}, "^columns must be a document field .* 'year'; got 'zz'"),
        (corpus, {}, "^rows must be a document field .* 'year'$"),
    ):
        with pytest.raises(InputError, match=fault):
            cross_table(source, **options)
    told = invoke("table", tmp_path / "c", "--rows", "year", "--set", "encoding=latin-1")
    assert (told.exit_code, told.stderr.startswith("polyadic: --set encoding is supported only for files")) == (1, True)
    (tmp_path / "old.csv").write_bytes("eye,caf\xe9,th\xe9\nx,1,2\ny,3,1\n".encode("latin-1"))
    done = invoke("table", tmp_path / "old.csv")
    assert (done.exit_code, "encoded as cp1252" in done.stderr, "café" in done.stdout) == (0, True, True)
    assert "encoding must be a known name" in invoke("table", tmp_path / "old.csv", "--set", "encoding=nonsense").stderr


def test_a_table_of_two_columns_is_drawn_on_a_line(tmp_path):
    """There is one axis, and the picture shows it."""
    table = write(tmp_path / "t.csv", [("eye", "a", "b"), ("blue", 1, 2), ("dark", 5, 1), ("green", 2, 2)])
    done = invoke("table", table, "--picture", tmp_path / "t.svg")
    assert (done.exit_code, (tmp_path / "t.svg").is_file()) == (0, True), done.output
    assert next(iter(records(cross_table(table)))) == {"row": "blue", "column": "a", "count": 1.0}


def test_the_verb_shows_draws_writes_and_keeps(fisher, tmp_path):
    """What is written is the analysis of the table, with its names; it is found again where it was kept."""
    out = {name: tmp_path / name for name in ("eyes.svg", "eyes.csv", "model")}
    where = ("--picture", out["eyes.svg"], "--csv", out["eyes.csv"], "--out", out["model"])
    done = invoke("table", fisher, *where, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    truth = CorrespondenceAnalysis(3, seed=0).fit(FISHER)
    assert found["axes"]["inertia"] == pytest.approx(truth.inertia_)
    assert found["chi2"] == pytest.approx(chi2_contingency(FISHER).statistic)
    with out["eyes.csv"].open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert [(row["side"], row["label"]) for row in written] == [("rows", e) for e in EYES] + [
        ("columns", h) for h in HAIR
    ]
    first = np.concatenate([truth.row_coordinates_[:, 0], truth.column_coordinates_[:, 0]])
    assert [float(row["coordinate_1"]) for row in written] == pytest.approx(first)
    assert "<svg" in out["eyes.svg"].read_text(encoding="utf-8")
    kept = load(out["model"])
    assert (kept.row_labels_, kept.column_labels_) == (EYES, HAIR)
    assert frame(kept)["label"].tolist() == [*EYES, *HAIR]
    again = invoke("table", fisher, "--csv", out["eyes.csv"])
    assert again.exit_code == errors.BAD_INPUT
    assert "exists already" in again.stderr
    shown = invoke("table", fisher, "-n", "2")
    assert "below 0.001" in shown.stdout
    assert "dark\t0.244" in shown.stdout


@pytest.mark.filterwarnings("ignore:rows without counts")
def test_the_verb_takes_a_cell_apart(fisher):
    """Once, what the axes add, and what axes that are not kept do, make what was counted by what was expected."""
    result = invoke("table", fisher, "--set", "n_components=1", "--why", "dark", "black", "--json")
    cell = json.loads(result.stdout)["why"]
    N = np.array(FISHER)
    assert cell["times"] == pytest.approx(85 * N.sum() / N[3].sum() / N[:, 4].sum(), abs=1e-6)
    assert cell["count"] == pytest.approx(cell["times"] * cell["expected"], rel=1e-5)
    parts = cell["base"] + sum(each["part"] for each in cell["why"]) + cell["other_axes"]
    assert parts == pytest.approx(cell["times"], abs=1e-5)
    assert [each["name"] for each in cell["alike"]["rows"]] == ["medium", "blue", "light"]
    shown = invoke("table", fisher, "--why", "dark", "black").output
    for heading in (
        "ratio\tbase\taxis 1\taxis 2\taxis 3\tother axes",
        "nearest rows\tdistance",
        "nearest columns\tdistance",
    ):
        assert heading in shown
    assert "no column 'green'" in invoke("table", fisher, "--why", "dark", "green").output
    empty = write(fisher.parent / "empty.csv", [("", "a", "b"), ("x", 1, 2), ("y", 3, 1), ("z", 0, 0)])
    assert "'z' or 'a' has no observations" in invoke("table", empty, "--why", "z", "a").output


@pytest.mark.filterwarnings("default:records with an empty cell")
def test_the_verb_analyses_several_variables(tmp_path):
    """Figures are those of the class; incomplete records are left out and counted; other names are refused."""
    rng = np.random.default_rng(0)
    people = [
        [rng.choice(["blue", "dark"]), rng.choice(["fair", "red", "black"]), rng.choice([*"xyz"])] for _ in range(30)
    ]
    path = write(tmp_path / "people.csv", [("eye", "hair", "group"), *people, ("", "red", "x")])
    out = {name: tmp_path / name for name in ("m.svg", "m.csv", "model")}
    where = ("--picture", out["m.svg"], "--csv", out["m.csv"], "--out", out["model"], "--json")
    done = invoke("table", path, "--variables", "eye,hair,group", "--set", "correction=greenacre", *where)
    assert done.exit_code == 0, done.output
    assert "records with an empty cell, which are left out: 1 of 31 (eye 1)" in done.stderr
    found = json.loads(done.stdout)
    truth = MultipleCorrespondenceAnalysis(5, correction="greenacre", seed=0).fit(people)
    assert found["axes"]["share"] == pytest.approx(truth.explained_inertia_ratio_)
    assert (found["variables"], found["categories"], found["observations"], found["chi2"]) == (3, 8, 30, None)
    kept = load(out["model"])
    assert kept.column_labels_[:3] == ("eye=blue", "eye=dark", "hair=black")
    assert frame(kept)["label"].tolist()[:2] == ["1", "2"]
    assert kept.column_coordinates_ == pytest.approx(truth.column_coordinates_)
    assert len(out["m.csv"].read_text().splitlines()) == 1 + 30 + 8
    assert out["m.svg"].is_file()
    write(path, [("eye", "hair", "group"), *people])
    assert "categories\tmass" in invoke("table", path, "--variables", "hair,group").stdout
    for options, fault in (
        (
            ("--variables", "eye,hiar"),
            "has no column 'hiar'; it has 'eye', 'hair', 'group'; did you mean 'hair'?",
        ),
        (("--variables", "eye,eye"), "--variables must be at least two different names"),
        (("--variables", "eye,hair", "--why", "a", "b"), "--why and --variables are mutually exclusive"),
        (("--set", "correction=none"), "correction requires --variables"),
    ):
        assert fault in invoke("table", path, *options).stderr


def test_fields_of_documents_are_variables(tmp_path):
    """The fields of a corpus are analysed as the columns of a file."""
    rows = [("text", "year", "place"), *((f"word {k}", 1900 + k % 2, "abc"[k % 3]) for k in range(12))]
    Corpus.build(write(tmp_path / "t.csv", rows), tmp_path / "c", min_count=1, field="text")
    found = json.loads(invoke("table", tmp_path / "c", "--variables", "year,place", "--json").stdout)
    assert (found["observations"], found["categories"]) == (12, 5)
