"""New rows given by their items, scores of held-out cells, single names, and warnings of results without content."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import d2_log_loss_score, d2_tweedie_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from helpers import in_json, invoke, refuses, sentence
from polyadic import (
    BayesianMatrixFactorization,
    CollectiveFactorization,
    ConvexCCA,
    ConvexCollective,
    Database,
    GeneralizedPCA,
    ImplicitFactorization,
    InputError,
    MatchboxFactorization,
    MatrixFactorization,
    Relation,
    RobustPCA,
    TableCompletion,
    TraceNormCompletion,
    TraceNormSum,
    TransductiveCompletion,
    VariationalFactorization,
    frame,
)
from polyadic.completion.cells import cells_of, explained, split_cells
from polyadic.completion.convex_collective import RelationMatrix
from polyadic.core.errors import InputWarning
from polyadic.core.losses import Logistic
from polyadic.relations.link_prediction import Completed

GROUPS = np.kron(np.eye(2), np.ones((5, 3)))
GROUPS[[0, 3, 6, 9], [2, 0, 4, 5]] = 0


def ratings(n=40, m=12, seed=0):
    """Ratings from 1 to 5 of a planted rank-one table with biases, two thirds of them known."""
    rng = np.random.default_rng(seed)
    x = 3 + rng.standard_normal((n, 1)) / 2 + 1.5 * np.outer(rng.standard_normal(n), rng.standard_normal(m))
    return np.where(rng.random((n, m)) < 0.67, np.clip(x, 1, 5), np.nan)


def lines(x):
    return [(f"r{i}", f"c{j}", float(x[i, j])) for i, j in np.argwhere(~np.isnan(x)).tolist()]


@pytest.fixture(scope="module")
def table():
    return TableCompletion(rank=2, ridge=1.0, hold_out=0.2, choose=False, seed=0).fit(lines(ratings()))


@pytest.fixture(scope="module")
def likes():
    pairs = [(f"r{i}", f"c{j}") for i, j in np.argwhere(GROUPS).tolist()]
    with pytest.warns(UserWarning, match="2 parts"):
        return TableCompletion("implicit", rank=2, ridge=0.5, alpha=3.0, choose=False, seed=0).fit(pairs)


# ---- new rows


def test_a_new_row_of_ratings_is_the_ridge_solution(table):
    """u and its bias minimise the squared errors of the items, given all columns; unknown items follow from them."""
    items, m = {"c1": 5.0, "c4": 1.0, "c7": 2.0}, table.model_
    at = [table.columns_.index(name) for name in items]
    X = np.column_stack([m.column_factors_, np.ones(len(table.columns_))])
    A = X[at].T @ X[at] + np.diag([m.ridge * m.scale_] * 2 + [m.bias_ridge])
    w = np.linalg.solve(A, X[at].T @ (np.array([*items.values()]) - m.mean_ - m.column_biases_[at]))
    expected = dict(zip(table.columns_, m.mean_ + m.column_biases_ + X @ w, strict=True))
    best = table.recommend(None, items=items, n=99)
    assert {name for name, _ in best} == {*table.columns_} - {*items}
    assert dict(best) == pytest.approx({name: expected[name] for name, _ in best})
    assert [value for _, value in best] == sorted((value for _, value in best), reverse=True)
    why = table.explain(None, best[0].column, items=items)[0]
    assert (why.value, {name for name, _ in why.parts}) == (pytest.approx(best[0].value), {*items})
    assert why.base + sum(part for _, part in why.parts) == pytest.approx(why.value)


def test_a_new_row_of_likes_is_the_weighted_ridge_solution(likes):
    """Equation 4 of Hu, Koren and Volinsky (2008), with the confidence 1 + alpha of the items."""
    V = likes.model_.column_factors_.astype(float)
    c = np.where(np.isin(likes.columns_, ["c0", "c1"]), 4.0, 1.0)
    u = np.linalg.solve((V.T * c) @ V + 4 * 0.5 * np.eye(2), V.T @ np.where(c > 1, c, 0))
    best = likes.recommend(None, items=["c0", "c1"], n=2)
    assert best[0].column == "c2"
    assert dict(best) == pytest.approx({name: u @ V[likes.columns_.index(name)] for name, _ in best}, abs=1e-5)


def test_implicit_agrees():
    """With the same factors of columns, the library implicit recommends the same columns with the same scores."""
    als = pytest.importorskip("implicit.cpu.als")
    model = ImplicitFactorization(2, ridge=0.5, alpha=3.0, seed=0).fit(GROUPS)
    other = als.AlternatingLeastSquares(2, regularization=2.0, num_threads=1)
    other.item_factors, other.user_factors = model.column_factors_, np.zeros((1, 2), np.float32)
    new = csr_matrix([[1.0, 1, 0, 0, 0, 0]])
    columns, scores = other.recommend([0], 4 * new, N=4, recalculate_user=True)
    best = model.fold_in(new).recommend(0, 4, without=new)
    assert best.columns.tolist() == columns.tolist()
    assert best.scores == pytest.approx(scores, abs=1e-5)


@pytest.mark.parametrize("method", ["bayesian", "trace-norm"])
def test_other_methods_update_a_copy(method):
    x = lines(ratings(20, 8))
    model = TableCompletion(method, choose=False, seed=0, **({"ridge": 2.0} if method == "trace-norm" else {})).fit(x)
    best = model.recommend(None, items={"c1": 5, "c2": 1})
    assert len(model.rows_) == 20
    assert best == model.update([("new row", "c1", 5), ("new row", "c2", 1)]).recommend("new row")


def test_items_that_cannot_be_used_are_refused(table, likes):
    for items, message in (
        (["c1"], "method als requires values of items; got 'c1' without"),
        ({"c99": 5}, "does not know column 'c99'; did you mean 'c9'"),
        ([("c1", 5), ("c1", 2)], "single value"),
    ):
        with pytest.raises(InputError, match=message):
            table.recommend(None, items=items)
    with pytest.raises(InputError, match="either a row or the items"):
        table.recommend("r1", items={"c1": 5})
    ordinal = TableCompletion("ordinal", rank=1, choose=False, seed=0).fit(
        [(i, j, (i * j) % 3) for i in range(6) for j in range(5)]
    )
    with pytest.raises(InputError, match="does not support updates"):
        ordinal.recommend(None, items={1: 2})
    assert (
        likes.recommend(None, items="c0", n=1)
        == likes.recommend(None, items=["c0"], n=1)
        == likes.recommend(None, items={"c0": 1}, n=1)
    )


# ---- names


def test_a_name_stands_for_a_sequence_of_one(table):
    one = table.predict(["r1"], ["c2"])
    assert table.predict("r1", "c2") == table.predict(("r1", "c2")) == table.predict(["r1", "c2"]) == one
    several = table.predict(["r1", "r1"], ["c2", "c3"])
    assert table.predict("r1", ["c2", "c3"]).tolist() == several.tolist()
    assert table.predict(["r1", "r2"], "c2").tolist() == table.predict([("r1", "c2"), ("r2", "c2")]).tolist()
    assert table.explain("r1", "c2") == table.explain("r1", ["c2"])
    best = {name: pytest.approx(dict(table.recommend(name, 2))) for name in ("r1", "r2")}
    assert {name: dict(found) for name, found in table.recommend(["r1", "r2"], 2).items()} == best
    assert table.similar(["c1", "c2"], 1) == {name: table.similar(name, 1) for name in ("c1", "c2")}
    model = MatrixFactorization(1, seed=0).fit(ratings())
    assert model.predict(0, [2, 3]).tolist() == model.predict([0, 0], [2, 3]).tolist()
    assert ImplicitFactorization(2, ridge=0.5, seed=0).fit(GROUPS).recommend(0, 2).columns.shape == (1, 2)


def test_names_of_another_kind_are_refused_with_the_nearest(table):
    for ask, message in (
        (lambda: table.predict("r1"), "pairs of names; got 'r1'"),
        (lambda: table.explain(["r1", "r2"], "c1"), "a single row; got 2"),
        (lambda: table.similar("c111"), "did you mean 'c11'"),
        (lambda: table.recommend("R1 "), "did you mean 'r1'"),
        (lambda: MatrixFactorization(1).fit(ratings()).predict("r1", "c1"), "use TableCompletion"),
        (
            lambda: MatrixFactorization(1).fit(pd.DataFrame(lines(ratings()))),
            "of names and values, use TableCompletion",
        ),
    ):
        with pytest.raises(InputError, match=message):
            ask()


def test_a_single_cell_of_coupled_tables():
    cells = {"u": ["ab", "ab", "cd", "cd"], "i": ["xy", "zw", "xy", "zw"], "v": [1.0, 2.0, 3.0, 5.0]}
    model = VariationalFactorization(1, seed=0).fit(Database({"r": Relation(cells, ("u", "i"), value="v")}))
    assert model.predict("r", ("ab", "zw")).tolist() == model.predict("r", [("ab", "zw")]).tolist()


# ---- scores


@pytest.mark.parametrize(
    "model",
    [
        MatrixFactorization(1, ridge=1.0, seed=0),
        BayesianMatrixFactorization(1, draws=20, burn_in=20, seed=0),
        MatchboxFactorization(1, seed=0),
        TraceNormCompletion(3.0, offsets="biases"),
    ],
)
def test_the_score_is_r_squared_of_held_out_cells(model):
    kept, out = split_cells(cells_of(np.round(ratings())), 0.2, seed=0)
    model.fit(kept)
    assert model.score(out) == pytest.approx(r2_score(out.values, model.predict(out.rows, out.columns)))
    assert model.score(kept) > model.score(out)


@pytest.mark.filterwarnings("ignore::polyadic.core.solvers.run.NotConvergedWarning")
def test_scores_of_convex_models_are_r_squared():
    """The score of held-out cells is that of scikit-learn for the predictions."""
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(12, 2)) @ rng.normal(size=(2, 10))
    held = rng.random(truth.shape) < 0.2
    given, asked = np.where(held, np.nan, truth), np.where(held, truth, np.nan)
    i, j = np.nonzero(held)
    for model, predict in (
        (TraceNormSum(0.1, max_iter=50, tol=1e-2), lambda model: model.predict(i, j)),
        (RobustPCA(max_iter=50, tol=1e-3), lambda model: model.matrix_.toarray()[i, j]),
    ):
        model.fit(given)
        assert model.score(asked) == pytest.approx(r2_score(truth[held], predict(model)))
    coupled = ConvexCollective(0.1, max_iter=50, tol=1e-2).fit([RelationMatrix("a", "b", given)])
    score = r2_score(truth[held], coupled.predict(0, i, j))
    assert coupled.score([RelationMatrix("a", "b", asked)]) == pytest.approx(score)
    refuses("the same order", coupled.score, [RelationMatrix("b", "a", asked)])


def test_cross_validation_over_rows_predicts_new_rows():
    """Rows that were not fitted are folded in, even if they are as many; without factors of them this is refused."""
    x = ratings(60)
    for cv in (2, 3):
        search = GridSearchCV(MatrixFactorization(ridge=0.5, seed=0), {"rank": [0, 1]}, cv=cv).fit(x)
        assert search.best_params_ == {"rank": 1}
        assert search.best_score_ > 0.6
    model = MatrixFactorization(1, ridge=0.5, seed=0).fit(x[:30])
    given, out = split_cells(cells_of(x[30:]), 0.2, seed=0)
    assert model.score(x[30:]) == model.fold_in(given).score(out)
    assert cross_val_score(TraceNormCompletion(3.0), x, cv=2).min() > 0
    with pytest.raises(InputError, match="BayesianMatrixFactorization cannot predict new rows"):
        cross_val_score(BayesianMatrixFactorization(1, draws=5, burn_in=5), x, cv=2, error_score="raise")


def test_explained_deviance_agrees_with_scikit_learn():
    """The explained deviance is R² of numbers, and D² of probabilities and of counts."""
    rng = np.random.default_rng(0)
    p = rng.random(50)
    x, counts = (rng.random(50) < p).astype(float), rng.poisson(5 * p)
    assert explained(p, x) == pytest.approx(r2_score(p, x))
    assert explained(x, p, "bernoulli") == pytest.approx(d2_log_loss_score(x, p))
    assert explained(x, np.log(p / (1 - p)), Logistic()) == pytest.approx(d2_log_loss_score(x, p))
    assert explained(counts, 5 * p, "poisson") == pytest.approx(d2_tweedie_score(counts, 5 * p, power=1))


@pytest.mark.parametrize(
    ("model", "setting"),
    [
        (GeneralizedPCA(3, seed=0), {"ridge": [1000.0, 0.1]}),
        (GeneralizedPCA(seed=0, family="bernoulli", ridge=1.0), {"ridge": [1000.0, 1.0]}),
        (ConvexCCA(tol=0.01), {"penalty": [50.0, 0.5]}),
        (TransductiveCompletion(tol=0.01), {"penalty": [50.0, 0.1]}),
    ],
)
def test_models_of_rows_are_selected_by_their_scores(model, setting):
    """A grid search selects the rank of a planted matrix of rank 3, and means have the score 0."""
    x = np.random.default_rng(0).standard_normal((60, 3)) @ np.random.default_rng(1).standard_normal((3, 14))
    given, y = (pd.DataFrame(x).add_prefix("c"), None) if isinstance(model, GeneralizedPCA) else (x[:, :8], x[:, 8:])
    if isinstance(model, TransductiveCompletion):
        y = np.where(np.arange(60)[:, None] % 7 == 0, np.nan, y > 0)
    elif isinstance(model, ConvexCCA):
        given, y = pd.DataFrame(given), pd.DataFrame(y).add_prefix("c")
    elif getattr(model, "family", "") == "bernoulli":
        given = given > 0
    search = GridSearchCV(model, setting, cv=2, error_score="raise").fit(given, y)
    worst, best = search.cv_results_["mean_test_score"]
    assert best > 0.2 > worst
    assert search.score(given, y) > 0.3


def test_databases_are_divided_by_cells():
    """A grid search finds the rank of one relation; entities are matched by name; zeros count as 2 AUC - 1."""
    rng = np.random.default_rng(0)
    U, V = rng.standard_normal((25, 2)), rng.standard_normal((15, 2))
    i, j = np.indices((25, 15)).reshape(2, -1)
    stars = {"u": np.char.add("u", i.astype(str)), "f": j, "v": (U @ V.T).ravel()}
    f, g = np.nonzero(V @ rng.standard_normal((6, 2)).T > 0.5)
    kinds = Relation({"f": f, "g": g}, ("f", "g"), loss="logistic", unobserved="zero")
    database = Database({"stars": Relation(stars, ("u", "f"), value="v"), "kinds": kinds})
    assert database.shape[0] == 375 + len(f)
    search = GridSearchCV(
        CollectiveFactorization(seed=0, max_iter=30), {"rank": [1, 2]}, cv=KFold(3, shuffle=True, random_state=0)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = search.fit(database).best_estimator_
    assert search.best_params_ == {"rank": 2}
    held = {"stars": Relation({name: column[:40][::-1] for name, column in stars.items()}, ("u", "f"), value="v")}
    predicted = model.predict("stars", held["stars"].data)
    assert model.score(held) == pytest.approx(r2_score(held["stars"].data["v"], predicted))
    assert 0.5 < model.score({"kinds": kinds}) <= 1
    assert model.score(database) == pytest.approx(
        (model.score({"stars": Relation(stars, ("u", "f"), value="v")}) + model.score({"kinds": kinds})) / 2
    )
    other = Relation({"u": ["u1"], "f": [99], "v": [1.0]}, ("u", "f"), value="v")
    refuses("there is no f 99", model.score, {"stars": other})


def test_the_score_of_implicit_feedback_is_ndcg():
    x = np.kron(np.eye(2), np.ones((8, 8)))
    out = np.zeros_like(x)
    out[0, 3], out[9, 12] = 1, 1
    model = ImplicitFactorization(2, ridge=0.5, seed=0).fit(x - out)
    assert model.score(out, without=x - out) == 1
    assert model.score(out) < 1  # the cells of the fit take the first ranks
    assert cross_val_score(ImplicitFactorization(2, ridge=0.5, seed=0), x, cv=[(range(1, 16), [0])] * 2).min() > 0.5
    pairs = pd.DataFrame(np.argwhere(x - out), columns=["u", "i"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = TableCompletion("implicit", rank=2, ridge=0.5, choose=False, seed=0).fit(pairs)
    assert table.score([(0, 3), (9, 12)]) == 1


# ---- results without content


def test_vanished_factors_are_told():
    with pytest.warns(InputWarning, match=r"nearly zero \(products of at most .*lower ridge \(now 6\)"):
        ImplicitFactorization(2, seed=0).fit(GROUPS)


def test_rows_and_columns_without_cells_are_told():
    x = GROUPS.copy()
    x[4] = x[:, 1] = 0
    with pytest.warns(InputWarning) as told:
        model = ImplicitFactorization(2, ridge=0.5, seed=0).fit(x)
    assert [str(each.message) for each in told] == [
        "1 of 10 rows have no observed cell (first: row 4)",
        "1 of 6 columns have no observed cell (first: column 1)",
    ]
    with pytest.warns(InputWarning, match=r"1 of 2 rows \(first: 4\), because no cell of the row"):
        assert model.recommend([0, 4], 2).columns[1].tolist() == [-1, -1]


def test_rows_whose_columns_are_all_known_are_told():
    model = TableCompletion(rank=0).fit([(i, j, i * j) for i in range(3) for j in range(3)])
    with pytest.warns(InputWarning, match=r"1 of 1 rows \(first: 1\), because all columns are known"):
        assert model.recommend(1) == []
    assert len(model.recommend(1, seen=True)) == 3


# ---- intervals and explanations


def test_intervals_stay_on_the_scale_and_differ_by_row(table):
    low, high = table.predict_interval([(row, column) for row in table.rows_ for column in table.columns_])
    assert (low.min(), high.max()) == (np.nanmin(ratings()), np.nanmax(ratings()))
    free = (low > low.min()) & (high < high.max())
    assert len(np.unique((high - low)[free].round(6))) > 10


def test_a_known_cell_is_explained_by_the_others(table):
    """Its value is that of the row without it, which is folded in anew."""
    row, column = "r1", table.columns_[table.known_.take(np.array([table.rows_.index("r1")])).columns[0]]
    others = {c: v for r, c, v in lines(ratings()) if r == row and c != column}
    (why,) = table.explain(row, column)
    assert {name for name, _ in why.parts} == {*others}
    assert why.value == pytest.approx(dict(table.recommend(None, items=others, n=99))[column])
    assert why.base + sum(part for _, part in why.parts) == pytest.approx(why.value)


def test_correlations_are_at_most_one(table):
    assert max(found.correlation for found in table.similar("c1", 11)) <= 1


# ---- frames, times, and the command


def test_results_become_frames(table):
    several = frame(table.recommend(["r1", "r2"], 2))
    assert several["query"].tolist() == ["r1", "r1", "r2", "r2"]
    assert list(several) == ["query", "column", "value"]
    assert frame(table.recommend_all(2, rows=["r1", "r2"])).equals(several)
    assert list(frame(table.similar("c1", 2))) == ["name", "correlation"]
    assert (
        frame(table.predict_distribution("r1", ["c1", "c2"]))["mean"].tolist()
        == table.predict("r1", ["c1", "c2"]).tolist()
    )
    answers = [Completed("Oslo", 2.0, 0.9), Completed("Rome", 1.0)]
    assert frame(answers)["name"].tolist() == ["Oslo", "Rome"]
    with pytest.raises(InputError, match="cannot be converted"):
        frame(table.known_)


def test_times_are_a_column_of_a_frame():
    data = pd.DataFrame(lines(ratings()), columns=["who", "what", "stars"])
    data["when"] = pd.date_range("2020", periods=len(data))[::-1]
    model = TableCompletion(rank=0, hold_out=0.2, hold_out_by="time", choose=False)
    found = model.fit(data, times="when").held_out_
    assert found == model.fit(data, times=range(len(data), 0, -1)).held_out_
    for times, message in (
        ("whne", "no column 'whne'; it has 'who', 'what', 'stars', 'when'; did you mean 'when'"),
        (None, "give times to fit"),
    ):
        with pytest.raises(InputError, match=message):
            model.fit(data, times=times)


def test_the_command_takes_items_and_explains_cells(table, tmp_path):
    out, pairs = tmp_path / "model", tmp_path / "pairs.csv"
    table.save(out)
    found = in_json("complete", "recommend", out, "--items", "c1=5, c4=1", "--items", "c7=2", "-n", 3, "--why", 2)
    best = table.recommend(None, items={"c1": 5, "c4": 1, "c7": 2}, n=3)
    assert [line["column"] for line in found["recommended"]] == [name for name, _ in best]
    assert {len(line["why"]) for line in found["recommended"]} == {2}
    pairs.write_text("r1,c2\nr2,c3\n")
    for by in ("cells", "components"):
        shown = in_json("complete", "predict", out, pairs, "--why", 1, "--by", by)["predictions"]
        value = table.explain("r1", "c2", by=by)[0]
        assert shown[0]["base"] == pytest.approx(value.base, abs=1e-6)
        assert len(shown[0]["why"]) == 1
    for arguments, message in (
        (("predict", out, pairs, "--by", "components"), "--by requires --why"),
        (("recommend", out, "r1", "--by", "cells"), "--by requires --why"),
        (("recommend", out, "--items", "c1=x"), "the value of item 'c1' must be a number; got 'x'"),
        (("recommend", out, "r1", "--items", "c1=5"), "--items of a new row"),
    ):
        assert message in sentence(invoke("complete", *arguments))
