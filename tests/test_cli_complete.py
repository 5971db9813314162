"""``polyadic complete`` and the model behind it: tables in, predictions and recommendations by name out; and errors."""

import json
import re
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import in_json, invoke, refuses
from polyadic import InputError, TableCompletion, load
from polyadic.completion.bayesian import BayesianMatrixFactorization
from polyadic.completion.cells import cells_of, rmse, split_cells
from polyadic.completion.factorization import MatrixFactorization
from polyadic.completion.implicit import ImplicitFactorization
from polyadic.completion.named_cells import named_cells, read_cells
from polyadic.completion.table_completion import connected_parts
from polyadic.core.selection import select

run, as_json = partial(invoke, "complete"), partial(in_json, "complete")


def planted(n=50, m=30, seed=0):
    """A matrix of rank one with biases, a third of it unknown."""
    rng = np.random.default_rng(seed)
    x = 3 + rng.standard_normal((n, 1)) + np.outer(rng.standard_normal(n), rng.standard_normal(m))
    return np.where(rng.random((n, m)) < 0.65, x, np.nan)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Ratings of people and things, with a line of headings."""
    x = planted()
    file = tmp_path_factory.mktemp("tables") / "ratings.csv"
    lines = [f'p{i},"thing, {j}",{x[i, j]!r}\n' for i, j in zip(*np.nonzero(~np.isnan(x)), strict=True)]
    file.write_text("who,what,how much\n" + "".join(line.replace("np.float64(", "").replace(")", "") for line in lines))
    return file


@pytest.fixture
def file(tmp_path):
    def write(content):
        path = tmp_path / "table.csv"
        path.write_text(content, encoding="utf-8")
        return path

    return write


# ---- the verbs


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["als", "bayesian", "trace-norm"])
def test_a_table_is_completed(table, tmp_path, method):
    """Cells held out are predicted better than by biases; predictions of the folder are near the truth."""
    out = tmp_path / "model"
    facts = as_json("train", table, "--out", out, "--method", method, "--hold-out", "0.2")
    assert (facts["rows"], facts["columns"], facts["parts"], facts["largest_part"]) == (50, 30, 1, [50, 30])
    assert facts["rmse"] < 0.7 * facts["rmse_of_biases"]
    pairs = tmp_path / "pairs.csv"
    pairs.write_text('p3,"thing, 4"\np0,"thing, 0"\n')
    found = as_json("predict", out, pairs)["predictions"]
    assert [(one["row"], one["column"]) for one in found] == [("p3", "thing, 4"), ("p0", "thing, 0")]
    assert ("std" in found[0]) == (method == "bayesian")
    best = as_json("recommend", out, "p3", "-n", "30")["recommended"]
    unknown = np.flatnonzero(np.isnan(planted()[3]))
    assert {one["column"] for one in best} == {f"thing, {j}" for j in unknown}
    assert [one["value"] for one in best] == sorted((one["value"] for one in best), reverse=True)
    assert "exists already" in run("train", table, "--out", out).output
    assert "the model does not know row 'nobody'" in run("recommend", out, "nobody").output


@pytest.mark.filterwarnings("ignore")
def test_what_is_listed_is_enough(tmp_path, file):
    """Without values the implicit method learns from what is listed, and other methods say so."""
    pairs = [(i, j) for i in range(20) for j in range(20) if i // 10 == j // 10 and (i + 2 * j) % 5]
    heard = file("".join(f"u{i}\ts{j}\n" for i, j in pairs))
    out = tmp_path / "model"
    facts = as_json("train", heard, "--out", out, "--method", "implicit", "--rank", 2, "--hold-out", "0.1")
    assert facts["ndcg_at_20"] >= facts["ndcg_at_20_of_most_frequent"]
    best = as_json("recommend", out, "u13", "-n", "1")["recommended"][0]["column"]
    assert int(best[1:]) >= 10
    assert "use method implicit" in run("train", heard, "--out", tmp_path / "other").output


@pytest.mark.filterwarnings("default")
def test_parts_are_told(tmp_path, file):
    """Rows and columns that no known cell links are reported with their numbers."""
    apart = file("a,x,1\nb,x,2\nb,y,3\nc,z,4\n")
    done = run("train", apart, "--out", tmp_path / "model", "--rank", "1")
    assert done.exit_code == 0
    assert "the table has 2 parts" in done.output
    assert "largest part: 2 rows, 2 columns; all others: 1 rows, 1 columns" in done.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "is empty"),
        ("user,item,rating\n", "at least one row"),
        ("word\n", "must have columns for row, column; line 1 has only 1 ('word')"),
        (
            "a,x,1\nb,x,good\nc,x,bad\n",
            "2 of 3 rows of table.csv cannot be read; line 2: the value must be a finite number",
        ),
        ("a,x,1\nb,x,nan\n", "line 2: the row has no value; use --set missing=ignore to leave out such rows"),
        ("a,x,1\n,x,2\n", "line 2: the row name is missing; give it a name or remove the line"),
        ("a,x,1\nb\nc\n", "2 of 3 rows of table.csv cannot be read; line 2: expected at least 3 cells; got 1"),
        ("a,x,1\nb,x,1\na,x,2\n", "got 2 for row 'a' and column 'x', but 1 in line 1; use --set duplicates=mean"),
        ('a,x,1\n"b,x,1\n"c,x,1\n', "line 2: a quotation mark is not closed"),
    ],
)
def test_faults_of_tables(tmp_path, file, content, fault):
    """Each is one sentence on the standard error, with the line."""
    done = run("train", file(content), "--out", tmp_path / "model")
    assert done.exit_code == 1
    *notes, message = done.output.replace(str(tmp_path) + "/", "").strip().split("\n")
    assert fault in message
    assert all(note.startswith("polyadic: table.csv: separated by commas") for note in notes)
    assert not (tmp_path / "model").exists()


@pytest.mark.filterwarnings("ignore")
def test_a_first_pair_is_no_heading(table, tmp_path):
    """A line that names a row of the model is a pair, whatever comes third; one that names nothing is of headings."""
    out, pairs = tmp_path / "model", tmp_path / "pairs.csv"
    run("train", table, "--out", out, "--rank", 1)
    for first, number in (('p0,"thing, 1",good', 2), ("who,what,remark", 1)):
        pairs.write_text(f'{first}\np1,"thing, 2",bad\n')
        assert len(as_json("predict", out, pairs)["predictions"]) == number
    pairs.write_text('who,what\np1,"thing, 2"\n')
    assert [each["row"] for each in as_json("predict", out, pairs)["predictions"]] == ["p1"]
    for first in ("p0,what", 'who,"thing, 1"'):
        pairs.write_text(f'{first}\np1,"thing, 2"\n')
        assert "line 1" in run("predict", out, pairs).output


@pytest.mark.filterwarnings("ignore")
def test_zeros_held_out_are_not_to_be_found(tmp_path, file):
    """Listed or not, they are the same to the implicit method and to how it is judged."""
    x = np.kron(np.eye(2, dtype=int), np.ones((8, 30), int))
    listed = file("".join(f"u{i},s{j},{x[i, j]}\n" for i, j in np.ndindex(*x.shape)))
    how = ("--method", "implicit", "--rank", 2, "--hold-out", "0.2", "--json")
    facts = json.loads(run("train", listed, "--out", tmp_path / "model", *how).stdout)
    assert facts["recall_at_20"] == 1


@pytest.mark.filterwarnings("ignore")
def test_ctrl_c_is_told(table, tmp_path, monkeypatch):
    """The matrix of the last sweep is kept, and the exit says that it is not the last there would have been."""
    objective = MatrixFactorization._objective
    calls = []

    def cut(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return objective(*arguments)

    monkeypatch.setattr(MatrixFactorization, "_objective", cut)
    done = run("train", table, "--out", tmp_path / "model", "--set", "choose=false")
    assert done.exit_code == 130
    assert "interrupted; kept the model of the last iteration" in done.output
    assert load(tmp_path / "model").known_.shape == (50, 30)
    calls.clear()
    assert "nothing was written" in run("train", table, "--out", tmp_path / "other", "--hold-out", "0.1").output
    calls.clear()
    assert "nothing was written" in run("train", table, "--out", tmp_path / "other").output


def test_faults_of_models(table, tmp_path):
    """Names that are not known, folders of another kind and settings of another method are refused."""
    TableCompletion(rank=0, seed=0).fit(read_cells(table)).save(tmp_path / "model")
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("p0,nothing\n")
    assert "line 1: the model has no column 'nothing'" in run("predict", tmp_path / "model", pairs).output
    pairs.write_text("\n")
    assert "is empty" in run("predict", tmp_path / "model", pairs).output
    assert "contains no output of polyadic" in run("recommend", tmp_path, "p0").output
    MatrixFactorization(0).fit(planted()).save(tmp_path / "other")
    assert "TableCompletion is required" in run("recommend", tmp_path / "other", "p0").output
    for method, name in (("trace-norm", "rank"), ("bayesian", "ridge"), ("als", "alpha")):
        done = run("train", table, "--out", tmp_path / "m", "--method", method, "--set", f"{name}=1")
        flag = "--set alpha" if name == "alpha" else f"--{name}"  # hidden settings have no option
        assert f"{flag} is not used by --method {method}, only by" in done.output
    idle = run("train", table, "--out", tmp_path / "m", "--method", "bayesian", "--set", "budget=5")
    assert "--set budget is not supported by method" in idle.output


# ---- the model behind them


def test_defaults_have_one_home():
    """Settings that are not given are those of the model of the method."""
    assert TableCompletion()._new().get_params() == MatrixFactorization().get_params()
    assert TableCompletion("implicit")._new().get_params() == ImplicitFactorization().get_params()
    assert TableCompletion("bayesian")._new().get_params() == BayesianMatrixFactorization().get_params()
    given = TableCompletion(rank=3, ridge=2.0, seed=0)._new().get_params()
    assert given == MatrixFactorization(3, ridge=2.0, seed=0).get_params()


@pytest.mark.filterwarnings("ignore:stopped at max_iter")
@pytest.mark.parametrize("method", ["als", "bayesian", "implicit", "trace-norm"])
def test_names_stand_for_numbers(method):
    """Predictions are those of the model of the method, whatever order names came in and whatever they are."""
    x = np.abs(planted())
    cells = np.random.default_rng(0).permutation(np.argwhere(~np.isnan(x)))
    model = TableCompletion(method, seed=0, threads=1).fit([(f"p{i}", int(j), x[i, j]) for i, j in cells])
    i, j = np.nonzero(np.isnan(x))
    found = model.predict_distribution([f"p{row}" for row in i], j.tolist())
    at = [model.rows_.index(f"p{row}") for row in i], [model.columns_.index(column) for column in j]
    np.testing.assert_allclose(found.mean, model.model_.predict(*at))
    assert np.isfinite(found.std).all() == (method == "bayesian")
    assert {column for column, _ in model.recommend("p3", 99)} == set(j[i == 3].tolist())
    refuses("the model does not know column 'x'; known columns include ", model.predict, ["p1"], ["x"])


@pytest.mark.filterwarnings("ignore:stopped at max_iter")
def test_units_do_not_matter():
    """Ridges of least squares are in standard deviations: in another unit predictions are those of this one."""
    x = planted()
    tables = [[(i, j, scale * x[i, j]) for i, j in np.argwhere(~np.isnan(x)).tolist()] for scale in (1, 1000)]
    one, other = (TableCompletion(rank=1, choose=False, seed=0).fit(table).predict([0, 1], [2, 3]) for table in tables)
    np.testing.assert_allclose(other / 1000, one, rtol=1e-3)


def test_lists_without_values():
    """Lines in memory are as those of a file; values are in all of them or in none."""
    assert named_cells([("a", "x"), ("b", "x")]).valued is False
    refuses("the table must have values", TableCompletion().fit, [("a", "x")])
    refuses(
        "the table, row 2: expected 2 cells, as in row 1; got 3",
        named_cells,
        [("a", "x"), ("b", "x", 1)],
    )
    refuses("got 4 for row 1 and column 2, but 3 in row 1", named_cells, [(1, 2, 3), (1, 2, 4)])
    refuses("the table must have columns for row, column", named_cells, [])


# ---- tables


def test_headings_and_places(file):
    """Columns are named by headings or by places; quotes and tabs are those of CSV; lines said twice count once."""
    content = 'time;who;what;mark\n1;a;"x;y";2\n\n2;b;z;3.5\n2;b;z;3.5\n'
    for fields in (["who", "what", "mark"], ["2", "3", "4"]):
        found = read_cells(file(content), columns=fields)
        assert (found.rows, found.columns, found.cells.values.tolist()) == (["a", "b"], ["x;y", "z"], [2, 3.5])
    assert read_cells(file("\ufeffa\tx\t1\t99\n")).rows == ["a"]
    assert read_cells(file(content), columns=["who", " what", " mark"]).columns == ["x;y", "z"]
    with pytest.raises(InputError, match="has no column 'stars'; it has 'time', 'who'"):
        read_cells(file(content), columns=["who", "what", "stars"])
    for fields in (["who"], ["1"], ["who", "what", "mark", "time"]):
        refuses(f"got {len(fields)}", read_cells, file(content), columns=fields)


names = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters=',;"'), min_size=1, max_size=5)


@given(st.dictionaries(st.tuples(names, names), st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_tables_round_trip(tmp_path_factory, cells):
    """What was written comes back, by name."""
    path = tmp_path_factory.mktemp("t") / "table.csv"
    path.write_text("".join(f"{i},{j},{value!r}\n" for (i, j), value in cells.items()), encoding="utf-8")
    found = read_cells(path)
    at = zip(found.cells.rows, found.cells.columns, found.cells.values, strict=True)
    assert {(found.rows[i], found.columns[j]): value for i, j, value in at} == cells


@given(st.integers(1, 4), st.integers(0, 99))
def test_parts_are_those_that_were_put_together(number, seed):
    """Blocks on the diagonal, shuffled: as many parts, of these sizes."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, (number, 2))
    n, m = sizes.sum(axis=0)
    x, i, j = np.full((n, m), np.nan), 0, 0
    for a, b in sizes:
        x[i : i + a, j : j + b] = 1
        i, j = i + a, j + b
    found = connected_parts(cells_of(x[rng.permutation(n)][:, rng.permutation(m)]))
    assert sorted(found) == sorted(map(tuple, sizes.tolist()))
    assert [sum(part) for part in found] == sorted((sum(part) for part in found), reverse=True)


def test_cells_are_held_out():
    """A share of the cells, and the others; none left on one side is refused."""
    cells = cells_of(planted())
    train, held = split_cells(cells, 0.2, seed=3)
    assert len(held.values) == round(0.2 * len(cells.values))
    together = np.sort(np.concatenate([part.rows * 30 + part.columns for part in (train, held)]))
    np.testing.assert_array_equal(together, cells.rows * 30 + cells.columns)
    refuses("leaves the training set or the held-out set empty", split_cells, cells, 1e-9)


# ---- settings that cells held out choose


def test_what_is_not_given_is_chosen(table, tmp_path):
    """What is given stays; the verb says in one line, and to programs, what it chose and what that cost."""
    done = run("train", table, "--out", tmp_path / "model", "--ridge", "0.5", "--set", "seed=1")
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("selected ")]
    assert re.fullmatch(
        r"selected count_power \S+, bias_ridge \S+, rank \d+: RMSE \S+ on 95 held-out cells.*\(\d+ fits in .* s\)", line
    )
    model = load(tmp_path / "model")
    assert model.model_.ridge == 0.5
    assert model.model_.rank == model.selection_.settings["rank"] > 0
    facts = as_json("train", table, "--out", tmp_path / "other", "--set", "budget=0")["choice"]
    assert (facts["fits"], facts["complete"], facts["figure"]) == (1, False, facts["default"])
    plain = run("train", table, "--out", tmp_path / "plain", "--set", "choose=false")
    assert "chose" not in plain.stdout
    assert load(tmp_path / "plain").model_.get_params() == MatrixFactorization(seed=0).get_params()


def test_a_figure_to_report_is_of_cells_that_chose_nothing():
    """Cells held out to be predicted are not among those that choose: as if they had never been there."""
    cells = named_cells([(i, j, planted()[i, j]) for i, j in np.argwhere(~np.isnan(planted())).tolist()])
    model = TableCompletion(rank=1, hold_out=0.2, seed=0, threads=1).fit(cells)
    train, test = split_cells(cells.cells, 0.2, seed=0)
    alone = select(MatrixFactorization(1, seed=0, threads=1), train, keep=["rank"])
    assert model.held_out_["rmse"] == rmse(alone, test)


def test_ctrl_c_keeps_the_best_so_far(table, tmp_path, monkeypatch):
    """What was tried before is kept, and known to have been cut short."""
    fit, calls = MatrixFactorization.fit, []

    def cut(self, X, y=None):
        calls.append(self.ridge)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return fit(self, X, y)

    monkeypatch.setattr(MatrixFactorization, "fit", cut)
    done = run("train", table, "--out", tmp_path / "model")
    assert (done.exit_code, len(calls)) == (130, 4)
    assert "kept the model of the last iteration" in done.output
    model = load(tmp_path / "model")
    assert (len(model.selection_.trials), model.selection_.complete, model.interrupted_) == (3, False, True)


# ---- new lines, all rows, similar columns, intervals


@pytest.fixture(scope="module")
def halves(table, tmp_path_factory):
    """A model of the first lines of the table, with cells held out, and a file of the others."""
    folder = tmp_path_factory.mktemp("halves")
    heading, *lines = table.read_text().splitlines(keepends=True)
    for name, some in (("first.csv", lines[:700]), ("later.csv", lines[700:])):
        (folder / name).write_text(heading + "".join(some))
    facts = run(
        "train", folder / "first.csv", "--out", folder / "m", "--hold-out", "0.3", "--set", "choose=false", "--json"
    )
    assert facts.exit_code == 0
    return folder, sum(1 for _ in lines) - 700


def test_lines_are_added(halves, tmp_path):
    """What is new is counted, judged before it is learnt, and known afterwards; the model before stays."""
    folder, number = halves
    added = as_json("add", folder / "m", folder / "later.csv", "--out", tmp_path / "m")
    assert (added["new_cells"], added["changed_cells"]) == (number, 0)
    assert added["new_rows"] > 0 < added["moved"]
    assert "does not know row 'p49'" in run("recommend", folder / "m", "p49").output
    best = as_json("recommend", tmp_path / "m", "p49", "-n", 30)["recommended"]
    assert {each["column"] for each in best} == {f"thing, {j}" for j in np.flatnonzero(np.isnan(planted()[49]))}
    assert "exists already" in run("add", folder / "m", folder / "later.csv", "--out", tmp_path / "m").output
    again = run("add", tmp_path / "m", folder / "later.csv", "--out", tmp_path / "m", "--force", "--refit", "--json")
    assert json.loads(again.stdout)["new_cells"] == 0
    assert json.loads(again.stdout)["distance_to_refit"] > 0


@pytest.mark.filterwarnings("ignore:no recommendation for")
def test_all_rows_go_to_a_file(halves, tmp_path):
    """A line for each recommendation, as for one row; how widely they are spread is told."""
    import csv

    folder, _ = halves
    (tmp_path / "some.txt").write_text("thing, 3\nthing, 4\n\nthing, 5\n")
    limits = ["-n", "2", "--allowed", tmp_path / "some.txt"]
    facts = as_json("recommend", folder / "m", "--out", tmp_path / "top.csv", *limits)
    with (tmp_path / "top.csv").open(newline="") as file:
        lines = [*csv.DictReader(file)]
    assert len(lines) == facts["recommended"]
    assert {line["column"] for line in lines} <= {"thing, 3", "thing, 4", "thing, 5"}
    alone = as_json("recommend", folder / "m", "p5", *limits)["recommended"]
    assert [line["column"] for line in lines if line["row"] == "p5"] == [each["column"] for each in alone]
    assert 0 < facts["coverage"] <= 0.1
    assert "exists already" in run("recommend", folder / "m", "--out", tmp_path / "top.csv").output
    assert "or set --out to a file for the recommendations of all rows" in run("recommend", folder / "m").output
    assert (
        "or set --out to a file for the recommendations of all rows"
        in run("recommend", folder / "m", "p5", "--out", tmp_path / "o.csv").output
    )
    assert (
        "--why requires a row name" in run("recommend", folder / "m", "--out", tmp_path / "o.csv", "--why", "2").output
    )
    assert "there is no file" in run("recommend", folder / "m", "p5", "--blocked", tmp_path / "none.txt").output


def test_intervals_and_unknown_names(halves, file):
    """Ends stand beside values; names that the model has not are predicted where it is asked for."""
    folder, _ = halves
    pairs = file('p3,"thing, 4"\nnobody,"thing, 4"\n')
    assert (
        "line 2: the model has no row 'nobody'; set --unknown mean to predict"
        in run("predict", folder / "m", pairs).output
    )
    wanted = ["predict", folder / "m", pairs, "--unknown", "mean", "--interval", "0.8", "--json"]
    for one in json.loads(run(*wanted).stdout)["predictions"]:
        assert one["low"] < one["value"] < one["high"]


def test_similar_columns_and_rows(halves):
    """Correlations, the largest first."""
    folder, _ = halves
    for name, more in (("thing, 4", []), ("p4", ["--rows"])):
        alike = as_json("similar", folder / "m", name, "-n", "5", *more)["similar"]
        values = [each["correlation"] for each in alike]
        assert len(values) == 5
        assert values == sorted(values, reverse=True)
        assert values[0] <= 1


def test_decimal_commas_are_recognised(file, tmp_path):
    """A comma between digits is a decimal mark unless it may separate thousands."""
    table = file("who;what;mark\na;x;1,5\nb;x;2,5\na;y;3\n")
    said = run("train", table, "--out", tmp_path / "m").output
    assert "numbers with decimal comma" in said.replace("\n", " ")
    other = file("who;what;mark\na;x;1,500\nb;x;2,500\na;y;3\n")
    assert (
        "such as '1,500' may separate decimals or thousands; use --set decimal='.'"
        in run("train", other, "--out", tmp_path / "n").output
    )
    assert (
        "--time can be used only together with --hold-out"
        in run("train", table, "--time", "3", "--out", tmp_path / "m").output
    )
    done = run("train", table, "--set", "decimal=,", "--force", "--out", tmp_path / "m", "--rank", "0", "--json")
    assert json.loads(done.stdout)["cells"] == 3
