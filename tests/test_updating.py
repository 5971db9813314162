"""Models of tables go on with new cells: folding in, warm sweeps, what they add up to, and tables in and out."""

import copy

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from scipy.stats import beta

from helpers import invoke, refuses
from polyadic import (
    BayesianMatrixFactorization,
    ImplicitFactorization,
    InputError,
    KnowledgeTensor,
    MatrixFactorization,
    StochasticMatrixFactorization,
    TableCompletion,
    TraceNormCompletion,
    complete,
    load,
)
from polyadic.completion.cells import ObservedEntries, cells_of
from polyadic.completion.named_cells import CellReading, joined, named_cells, read_cells
from polyadic.metrics.figures import conformal_radius
from polyadic.metrics.recommendation import catalogue, recommendation
from polyadic.relations.facts import facts_of

MODELS = {
    "als": MatrixFactorization(3, seed=0),
    "counts": MatrixFactorization(3, count_power=0.5, seed=0),
    "sgd": StochasticMatrixFactorization(3, max_iter=30, tol=0, seed=0),
    "implicit": ImplicitFactorization(3, seed=0),
    "exact": ImplicitFactorization(3, steps=None, seed=0),
    "bayesian": BayesianMatrixFactorization(3, burn_in=5, draws=8, seed=0),
    "trace-norm": TraceNormCompletion(2.0, offsets="biases", tol=1e-9),
}


def planted(n=40, m=25, seed=0):
    """Values of at least zero, near rank two, half of them unknown."""
    rng = np.random.default_rng(seed)
    x = 1 + rng.random((n, 2)) @ rng.random((2, m)) + 0.1 * rng.standard_normal((n, m))
    return np.where(rng.random((n, m)) < 0.5, np.abs(x), np.nan)


def part(x, rows, columns):
    """The upper left corner."""
    return cells_of(x[:rows, :columns])


@pytest.mark.parametrize("name", MODELS)
def test_augmented_factors_are_the_predictions(name):
    """Whatever the offsets are."""
    x = planted()
    model = copy.deepcopy(MODELS[name]).fit(x)
    U, V = model.augmented()
    i, j = (at.ravel() for at in np.indices(x.shape))
    np.testing.assert_allclose((U @ V.T).ravel(), model.predict(i, j), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["als", "counts", "sgd", "implicit", "exact"])
def test_folding_in_is_the_conditional_solve(name):
    """Without sweeps columns stay as they were, and rows are what `transform` gives."""
    x = planted()
    model = copy.deepcopy(MODELS[name]).fit(part(x, 30, 25))
    before = model.column_factors_.copy()
    model.update(x, sweeps=0)
    np.testing.assert_array_equal(model.column_factors_, before)
    folded = model.transform(x)
    np.testing.assert_allclose(model.row_factors_, folded[:, :3], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["als", "counts", "implicit", "exact"])
def test_sweeps_go_down_to_an_optimum(name):
    """Each lowers the objective; where they end no row and no column has a reason to move."""
    x = planted()
    model = copy.deepcopy(MODELS[name]).fit(part(x, 30, 18)).update(x, sweeps=400)
    history = np.array(model.history_)
    assert (np.diff(history) <= 1e-6 * history[0]).all()
    again = copy.deepcopy(model).update(x, sweeps=1)
    np.testing.assert_allclose(again.column_factors_, model.column_factors_, atol=2e-3)
    assert model.row_factors_.shape == (40, 3)
    assert model.column_factors_.shape == (25, 3)


def test_a_row_that_has_not_changed_keeps_its_draws():
    """Draws of other rows and of all columns stay as they are, to the bit; and those of new rows predict."""
    x = planted(60, 40)
    model = BayesianMatrixFactorization(3, seed=0).fit(part(x, 50, 40))
    new = x.copy()
    new[7, np.flatnonzero(np.isnan(x[7]))[0]] = 2.0
    before = [draw.state[0].copy() for draw in model.memory_.draws]
    model.update(new)
    same = [i for i in range(50) if i != 7]
    for draw, was in zip(model.memory_.draws, before, strict=True):
        np.testing.assert_array_equal(draw.state[0][same], was[same])
        np.testing.assert_array_equal(draw.state[0][60:], was[50:])
        assert (draw.state[0][7] != was[7]).all()
    truth, fresh = planted(60, 40), BayesianMatrixFactorization(3, seed=0).fit(new)
    i, j = np.nonzero(~np.isnan(truth[50:]))
    errors = [np.abs(one.predict(i + 50, j) - truth[50:][i, j]).mean() for one in (model, fresh)]
    assert errors[0] < 1.5 * errors[1]


def test_a_chain_goes_on_with_what_is_new():
    """Sweeps replace the draws; new rows, columns and cells are in them."""
    x = planted(60, 40)
    model = BayesianMatrixFactorization(2, seed=0).fit(part(x, 50, 30)).update(x, sweeps=100)
    assert len(model.memory_.draws) == 80
    i, j = np.nonzero(~np.isnan(x))
    assert np.sqrt(np.mean((model.predict(i, j) - x[i, j]) ** 2)) < 0.2


def test_one_optimum_from_any_start():
    """The trace norm is convex: going on ends where a fit does."""
    x = planted()
    model = copy.deepcopy(MODELS["trace-norm"])
    went = copy.deepcopy(model).fit(part(x, 30, 20)).update(x)
    fitted = model.fit(x)
    assert went.history_[-1] == pytest.approx(fitted.history_[-1], rel=1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_what_was_fitted_to_stays(name):
    """Fewer rows or columns than the model has are refused."""
    x = planted()
    model = copy.deepcopy(MODELS[name]).fit(x)
    for less in (x[:-1], x[:, :-1]):
        refuses("as in fit; got shape", copy.deepcopy(model).update, less)


def lines_of(x):
    return [(f"r{i}", f"c{j}", float(x[i, j])) for i, j in zip(*np.nonzero(~np.isnan(x)), strict=True)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["als", "implicit", "bayesian", "trace-norm"])
def test_lines_are_added_by_name(method, tmp_path):
    """New names, new cells and other values are counted; the model that is saved knows them."""
    lines = lines_of(planted())
    first, later = lines[:300], [*lines[300:], (*lines[0][:2], 4.5)]
    model = TableCompletion(method, choose=False, seed=0).fit(first)
    model.update(later)
    facts = model.updated_
    assert facts["new_cells"] == len(lines) - 300
    assert facts["changed_cells"] == 1
    assert facts["new_rows"] == len({row for row, *_ in lines} - {row for row, *_ in first}) > 0
    assert facts["moved"] > 0
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    names = [line[0] for line in lines], [line[1] for line in lines]
    np.testing.assert_array_equal(again.predict(*names), model.predict(*names))
    assert {column for column, _ in model.recommend("r39", 25)} == {
        f"c{j}" for j in np.flatnonzero(np.isnan(planted()[39]))
    }
    refit = TableCompletion(method, choose=False, seed=0).fit(first).update(later, refit=True)
    whole = TableCompletion(method, choose=False, seed=0).fit([*lines[1:], later[-1]])
    if method != "bayesian":  # names are in another order, which draws depend on
        assert np.abs(refit.predict(*names) - whole.predict(*names)).max() < 1e-1
    assert 0 < refit.updated_["distance_to_refit"] < 0.3 or method == "trace-norm"


@pytest.mark.parametrize("method", ["als", "implicit", "bayesian"])
def test_what_cannot_be_learnt_changes_nothing(method):
    """Lines of another kind are refused, and Ctrl-C before the first sweep is over leaves the model as it was."""
    model = TableCompletion(method, choose=False, seed=0).fit(lines_of(planted()))
    before, names = model.predict(["r1", "r2"], ["c1", "c2"]), list(model.rows_)
    refuses("new lines must have values, like the existing lines", model.update, [("r1", "c1")])
    refuses("sweeps must be", model.update, [("r99", "c1", 1.0)], sweeps=-1)
    assert model.rows_ == names
    np.testing.assert_array_equal(model.predict(["r1", "r2"], ["c1", "c2"]), before)
    model.update([("r1", "c1", 0.0)])  # a zero is no news of what is listed
    assert model.updated_["new_cells"] + model.updated_["changed_cells"] == 1


def test_values_replace_or_add():
    """Of one cell the later counts, or their sum."""
    first = named_cells([("a", "x", 1), ("b", "y", 2)])
    more = named_cells([("b", "y", 5), ("a", "z", 7), ("c", "x", 3)])
    both = joined(first, more)
    assert (both.rows, both.columns, both.cells.values.tolist()) == (["a", "b", "c"], ["x", "y", "z"], [1, 7, 5, 3])
    assert joined(first, more, sums=True).cells.values.tolist() == [1, 7, 7, 3]
    refuses("new lines must have values, like the existing lines", joined, first, named_cells([("a", "x")]))


# ---- how sure


def test_intervals_cover_as_they_say():
    """Over many divisions of exchangeable scores the share covered has the distribution that is proved for it."""
    rng, n, level = np.random.default_rng(0), 99, 0.9
    covered = [
        (rng.exponential(size=400) <= conformal_radius(rng.exponential(size=n), level)).mean() for _ in range(2000)
    ]
    expected = beta(90, 10)  # of the 90th of 99 uniform numbers
    assert np.mean(covered) == pytest.approx(expected.mean(), abs=0.004)
    refuses("requires at least 9 held-out scores; got 8", conformal_radius, np.ones(8), 0.9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["als", "bayesian", "trace-norm"])
def test_other_cells_lie_within(method):
    """ObservedEntries that nothing has seen lie within their intervals about as often as is said."""
    rng = np.random.default_rng(1)
    x = 3 + rng.standard_normal((100, 1)) + np.outer(rng.standard_normal(100), rng.standard_normal(60))
    x += 0.5 * rng.standard_normal(x.shape)
    lines = lines_of(np.where(rng.random(x.shape) < 0.4, x, np.nan))
    rng.shuffle(lines)
    lines = [(str(row), str(column), float(value)) for row, column, value in lines]
    model = TableCompletion(method, hold_out=0.3, choose=False, ridge=None, seed=0).fit(lines[:1800])
    low, high = model.predict_interval(
        [line[0] for line in lines[1800:]], [line[1] for line in lines[1800:]], level=0.8
    )
    values = np.array([line[2] for line in lines[1800:]])
    assert 0.74 < ((low <= values) & (values <= high)).mean() < 0.9  # .8; a little more, since the model saw all
    with pytest.raises(InputError, match="fit with hold_out"):
        TableCompletion(method, choose=False, seed=0).fit(lines).predict_interval(["r0"], ["c0"])


def test_the_mean_for_names_that_are_not_there():
    """What is expected of a new row is the mean over rows; without leave it is refused."""
    x = planted()
    for method in ("als", "implicit", "bayesian"):
        model = TableCompletion(method, choose=False, unknown="mean", seed=0).fit(lines_of(x))
        rows = [f"r{i}" for i in range(40)]
        mean = model.predict(rows, ["c3"] * 40).mean()
        assert model.predict(["nobody"], ["c3"])[0] == pytest.approx(mean, rel=1e-5)
        assert np.isfinite(model.predict(["nobody"], ["nothing"])).all()
        refuses("does not know row 'nobody'", model.set_params(unknown="refuse").predict, ["nobody"], ["c3"])
    std = (
        TableCompletion("bayesian", unknown="mean", seed=0)
        .fit(lines_of(x))
        .predict_distribution(["nobody", "r0"], ["c3"] * 2)
        .std
    )
    assert std[0] > std[1]


# ---- recommending


@pytest.mark.parametrize("method", ["als", "implicit", "bayesian", "trace-norm"])
@pytest.mark.filterwarnings("ignore")
def test_recommendations_are_the_largest_predictions(method):
    """For all rows as for one; filters leave out what they say."""
    x = planted()
    model = TableCompletion(method, choose=False, seed=0).fit(lines_of(x))
    columns = [f"c{j}" for j in range(25)]
    for i, (row, best) in enumerate(model.recommend_all(25)):
        alone = model.recommend(row, 25)
        assert [name for name, _ in alone] == [name for name, _ in best]
        np.testing.assert_allclose([value for _, value in alone], [value for _, value in best], rtol=1e-6)
        values = model.predict([row] * 25, columns)
        values[~np.isnan(x[i])] = -np.inf
        known = np.isneginf(values)
        order = [columns[j] for j in np.argsort(-values, kind="stable") if not known[j]]
        assert [name for name, _ in best] == order
        np.testing.assert_allclose([value for _, value in best], -np.sort(-values)[: len(best)], rtol=1e-5)
    some, all_of = ["c3", "c9", "c20"], {"n": 25, "seen": True}
    assert {name for name, _ in model.recommend("r5", **all_of)} == {*columns}
    assert {name for name, _ in model.recommend("r5", **all_of, allowed=some)} == {*some}
    assert {name for name, _ in model.recommend("r5", **all_of, allowed=some, blocked=["c9"])} == {"c3", "c20"}
    assert {name for name, _ in model.recommend("r5", 25, allowed=some)} <= {
        name for name, _ in model.recommend("r5", 25)
    } & {*some}
    assert model.recommend("r5", allowed=[]) == []
    refuses("does not know column 'c99'", model.recommend, "r5", blocked=["c99"])


def test_recommendations_of_all_in_parquet(tmp_path, monkeypatch):
    """The same lines as in CSV, whatever is held at a time."""
    from polyadic.interface import output

    lines = [(f"r{i}", f"c{j}", 1.0 + i + j) for i in range(9) for j in range(7) if (i + j) % 3]
    TableCompletion(rank=1, choose=False, seed=0).fit(lines).save(tmp_path / "m")
    monkeypatch.setattr(output, "GROUP", 4)
    for name in ("top.csv", "top.parquet"):
        asked = ["complete", "recommend", str(tmp_path / "m"), "--out", str(tmp_path / name), "-n", "2"]
        assert invoke(*asked).exit_code == 0
    text, parquet = pyarrow.csv.read_csv(tmp_path / "top.csv"), pyarrow.parquet.read_table(tmp_path / "top.parquet")
    assert (text.num_rows, text.schema.names) == (18, parquet.schema.names)
    for one, other in zip(text.to_pylist(), parquet.to_pylist(), strict=True):
        assert one.pop("value") == pytest.approx(other.pop("value"), rel=1e-5)
        assert one == other


def test_similar_columns_by_their_predictions():
    """Correlations of predictions over all rows, whatever factors they come from."""
    x = planted()
    for method in ("als", "implicit", "bayesian"):
        model = TableCompletion(method, choose=False, seed=0).fit(lines_of(x))
        U, V = model.model_.augmented()
        expected = np.corrcoef((U @ V.T).T)[model.columns_.index("c4")]
        for name, value in model.similar("c4", 24):
            assert value == pytest.approx(expected[model.columns_.index(name)], abs=1e-4)
        assert len(model.similar("r4", 39, of="row")) == 39
    with pytest.raises(InputError, match="are constant"):
        TableCompletion(rank=0, choose=False).fit([("a", "x", 1), ("a", "y", 2)]).similar("x")


def test_a_catalogue_against_its_definitions():
    """Share recommended, Gini coefficient by all pairs, mean surprise."""
    rng = np.random.default_rng(0)
    named, known = rng.integers(-1, 12, (30, 5)), rng.integers(1, 40, 15)
    times = np.array([(named == j).sum() for j in range(15)])
    found = catalogue(named, known, 40)
    assert found.coverage == (times > 0).mean()
    assert found.gini == pytest.approx(np.abs(times[:, None] - times).sum() / (2 * 15**2 * times.mean()))
    assert found.novelty == pytest.approx(np.mean([-np.log2(known[j] / 40) for j in named.ravel() if j >= 0]))
    assert catalogue([], known, 40).coverage == 0
    refuses("column indices must be below 15", catalogue, [[15]], known, 40)


# ---- tables in


def test_frames_are_tables(tmp_path):
    """Of pandas and Arrow, and in files, with whatever else they hold behind: the same cells."""
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    from pyarrow import feather

    lines = [("ann", "Ran", 5.0), ("bob", "Ran, or so", 2.5), ("ann", "Heat", 3.0)]
    frame = pd.DataFrame(lines, columns=["who", "what", "stars"]).assign(day=[1, 2, 3])
    expected = named_cells(lines)
    arrow = pa.Table.from_pandas(frame)
    frame.to_parquet(tmp_path / "t.parquet")
    feather.write_feather(arrow, str(tmp_path / "t.feather"))
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    frame.to_csv(tmp_path / "t.csv", index=False, encoding="utf-8-sig")
    frame.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    frame.to_csv(tmp_path / "t2.csv", index=False, sep=";", decimal=",")
    tables = [named_cells(frame), named_cells(arrow), named_cells(frame[["who", "what"]], frame["stars"])]
    tables += [read_cells(tmp_path / f"t.{suffix}") for suffix in ("parquet", "feather", "xlsx", "csv", "tsv")]
    tables += [read_cells(tmp_path / "t2.csv"), read_cells(tmp_path / "t2.csv", CellReading(decimal=","))]
    for table in tables:
        assert table[1:] == expected[1:]
        np.testing.assert_array_equal(table.cells.values, expected.cells.values)
    (tmp_path / "b.parquet").write_text("no")
    refuses("cannot be read as a Parquet or Arrow file", read_cells, tmp_path / "b.parquet")


def test_a_heading_that_might_be_a_pair_is_told(tmp_path):
    """Of two fields nothing tells a heading from a pair but that neither is named again."""
    (tmp_path / "t.csv").write_text("one,other\na,x\nb,x\n")
    with pytest.warns(UserWarning, match="the first line is read as data: 'one', 'other'; if these are headings"):
        assert len(read_cells(tmp_path / "t.csv").cells.values) == 3
    assert len(read_cells(tmp_path / "t.csv", columns=["one", "other"]).cells.values) == 2
    (tmp_path / "t.csv").write_text("a,y\na,x\nb,x\n")
    assert len(read_cells(tmp_path / "t.csv").cells.values) == 3


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_chooses_and_validates():
    """Pairs of names are rows, values are targets: its tools do the rest."""
    from sklearn.model_selection import GridSearchCV, KFold, cross_validate

    rng = np.random.default_rng(0)
    x = np.outer(rng.standard_normal(40), rng.standard_normal(25))
    lines = lines_of(np.where(rng.random(x.shape) < 0.5, x, np.nan))
    pairs, values = [line[:2] for line in lines], np.array([line[2] for line in lines])
    model, folds = (
        TableCompletion(ridge=0.1, choose=False, unknown="mean", seed=0),
        KFold(3, shuffle=True, random_state=0),
    )
    search = GridSearchCV(model, {"rank": [0, 2]}, scoring="neg_root_mean_squared_error", cv=folds).fit(pairs, values)
    assert search.best_params_ == {"rank": 2}
    scores = cross_validate(model.set_params(rank=2), pairs, values, cv=folds)["test_score"]
    assert (scores > 0.2).all()
    assert search.predict([("r1", "c1")]).shape == (1,)


def test_lines_that_do_not_fit():
    """Each has its sentence."""
    model = TableCompletion(rank=0, choose=False).fit([("a", "x", 1), ("a", "y", 2)])
    refuses("rows and columns must have the same number of names; got 2 and 1", model.predict, ["a", "a"], ["x"])
    refuses("pair of names; got 2 for 1 pairs", named_cells, [("a", "x")], [1, 2])
    with pytest.raises(InputError, match="leave out sweeps"):
        TableCompletion("trace-norm", ridge=1.0).fit([("a", "x", 1), ("a", "y", 2)]).update([("b", "x", 1)], sweeps=1)
    refuses("sweeps must be", model.update, [("b", "x", 1)], sweeps=-1)
    assert isinstance(model.known_, ObservedEntries)


def test_the_latest_are_held_out(tmp_path):
    """Times are numbers or dates; the share that is held out is the latest, whatever the order of lines."""
    rng = np.random.default_rng(0)
    lines = lines_of(planted())
    days = rng.permutation(len(lines))
    texts = [
        f"{row},{column},{value!r},{np.datetime64('2020-01-01') + np.timedelta64(int(day), 'D')}"
        for (row, column, value), day in zip(lines, days, strict=True)
    ]
    (tmp_path / "t.csv").write_text("r,c,v,day\n" + "\n".join(texts))
    read = read_cells(tmp_path / "t.csv", time="day")
    np.testing.assert_array_equal(np.argsort(read.times), np.argsort(named_cells(lines, times=days).times))
    first = len(lines) - round(0.3 * len(lines))
    later = named_cells(
        [(row, column, value + 100 * (day >= first)) for (row, column, value), day in zip(lines, days, strict=True)],
        times=days,
    )
    model = TableCompletion(rank=0, hold_out=0.3, hold_out_by="time", choose=False, seed=0).fit(later)
    assert 95 < model.held_out_["rmse"] < 105
    assert model.scores_.min() > 50  # relative to the residuals of row and column
    refuses("requires timestamps", TableCompletion(hold_out=0.3, hold_out_by="time").fit, lines)
    (tmp_path / "t.csv").write_text("r,c,v,day\na,b,1,soon\n")
    refuses("line 2: a time must be a number or a date such as", read_cells, tmp_path / "t.csv", time="day")
    refuses("has no column 'when'", read_cells, tmp_path / "t.csv", time="when")


def test_average_precision_by_hand():
    """Precision at the places of hits, over as many as could be."""
    found = recommendation([[5, 1, 7, 2], [0, 3, 4, 6]], [0, 0, 0, 1], [5, 7, 9, 6])
    np.testing.assert_allclose(found.map, [(1 + 2 / 3) / 3, 1 / 4])


# ---- entities


def circles(extra=0):
    """Everybody likes all others of a circle of their own; ``extra`` come to the first circle last."""
    names = [f"{circle}{i}" for circle in "ab" for i in range(5)] + [f"a{5 + i}" for i in range(extra)]
    return [(s, "likes", o) for s in names for o in names if s != o and s[0] == o[0]]


@pytest.mark.parametrize("form", ["ComplEx", "CP", "RESCAL", "TuckER"])
@pytest.mark.parametrize("reciprocal", [True, False])
def test_new_entities_are_learned_beside_what_was(form, reciprocal):
    """What was there stays to the bit; who is new is named where it belongs, also by facts that were left out."""
    model = KnowledgeTensor(4, form=form, reciprocal=reciprocal, strength=0.002, seed=0).fit(facts_of(circles()))
    before = [model.subject_factors_.copy(), model.object_factors_.copy(), *(x.copy() for x in model.relation_factors_)]
    new = [fact for fact in circles(2) if {"a5", "a6"} & {fact[0], fact[2]}]
    left_out = [("a5", "likes", "a1"), ("a2", "likes", "a6")]
    model.update(facts_of([fact for fact in new if fact not in left_out]), max_iter=60)
    assert model.updated_ == {"new_facts": len(new) - 2, "new_entities": 2, "of_known_entities": 0}
    for was, now in zip(before, [model.subject_factors_, model.object_factors_, *model.relation_factors_], strict=True):
        np.testing.assert_array_equal(now[: len(was)], was)
    assert len(model.subject_factors_) == len(model.object_factors_) == len(model.entities_) == 12
    others = [model.number_of("entity", f"b{i}") for i in range(5)]
    for s, r, o in left_out:
        scores = model.objects([s], [r])[0]
        assert scores[model.number_of("entity", o)] > scores[others].max()


def test_facts_of_known_entities_change_no_vector():
    """They are known from now on, and left out of what is asked for."""
    facts = circles()
    model = KnowledgeTensor(4, seed=0).fit(facts_of(facts[1:]))
    before = model.object_factors_.copy()
    model.update(facts_of(facts[:1]))
    assert model.updated_ == {"new_facts": 1, "new_entities": 0, "of_known_entities": 1}
    np.testing.assert_array_equal(model.object_factors_, before)
    assert len(model.facts_) == len(facts)


def test_numbered_entities_are_added():
    """Of an array, numbers from as many as there are on are new."""
    model = KnowledgeTensor(2, max_iter=3, seed=0).fit([[0, 0, 1], [1, 0, 2]])
    assert len(model.update([[0, 0, 3]], max_iter=2).object_factors_) == 4
    for wrong, message in [
        ([[0, 1, 3]], "relation ids must be from 0 to 0"),
        (np.zeros((0, 3), int), "at least one new fact"),
        (facts_of([("a", "r", "b")]), "integer ids, not names; pass facts as an integer array"),
    ]:
        refuses(message, model.update, wrong)
    named = KnowledgeTensor(2, max_iter=3, seed=0).fit(facts_of([("a", "r", "b")]))
    refuses("no relation 's'; train a new model", named.update, facts_of([("a", "s", "b")]))
    refuses("identifies entities by name; pass facts with names", named.update, [[0, 0, 1]])


@pytest.mark.parametrize("reciprocal", [True, False])
def test_scores_are_as_sure_as_facts_say(reciprocal):
    """At the temperature facts are likelier than at any near it; of what is not known chances add up to one."""
    facts, rng = circles(3), np.random.default_rng(0)
    out = [facts[at] for at in rng.choice(len(facts), 12, replace=False)]
    learned = facts_of([fact for fact in facts if fact not in out])
    held = facts_of(out, entities=learned.entities, relations=learned.relations)
    model = KnowledgeTensor(4, reciprocal=reciprocal, max_iter=8, seed=0).fit(learned)
    assert np.isnan(model.temperature_)
    assert complete(model, subject="a1", relation="likes")[0].probability is None
    best = model.calibrate(held).temperature_

    def likelihood(temperature):
        model.temperature_, total = temperature, 0.0
        for s, r, o in out:
            for hidden, name in (("object", o), ("subject", s)):
                given = {key: value for key, value in (("subject", s), ("object", o)) if key != hidden}
                found = {one.name: one.probability for one in complete(model, relation=r, k=99, **given)}
                assert sum(found.values()) == pytest.approx(1)
                total += np.log(found[name])
        return total

    assert likelihood(best) > max(likelihood(best * 1.1), likelihood(best / 1.1))
    fitted = KnowledgeTensor(4, reciprocal=reciprocal, max_iter=8, seed=0).fit(learned, validation=held)
    assert np.isfinite(fitted.temperature_)
    refuses("all given facts occur in the training data", model.calibrate, learned)
