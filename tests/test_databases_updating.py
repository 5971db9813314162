"""Models of several tables go on with new cells and entities, and say what a value rests on."""

import copy

import numpy as np
import pytest
from scipy.sparse import coo_array

from helpers import refuses
from polyadic import (
    BayesianFactorization,
    CollectiveFactorization,
    InputError,
    Relation,
    VariationalFactorization,
    load,
)

MODELS = {
    "als": CollectiveFactorization(3, ridge=0.1, tol=1e-10, max_iter=2000, seed=0),
    "variational": VariationalFactorization(3, tol=1e-6, max_iter=2000, seed=0),
    "gibbs": BayesianFactorization(3, burn_in=20, draws=40, seed=0),
}


def planted(users=60, films=30, seed=0):
    """Ratings that follow from kinds of films and of people, and the kinds: frames with names."""
    rng = np.random.default_rng(seed)
    taste, kind = rng.standard_normal((users, 3)), rng.integers(0, 3, films)
    x = taste[:, kind] + 0.3 * rng.standard_normal((users, films))
    i, j = np.nonzero(rng.random(x.shape) < 0.6)
    ratings = {"user": [f"u{a}" for a in i], "film": [f"f{b}" for b in j], "stars": x[i, j]}
    kinds = {"film": [f"f{b}" for b in range(films)], "kind": [f"k{k}" for k in kind]}
    return ratings, kinds, x


def relations(ratings, kinds, **how):
    return {
        "ratings": Relation(ratings, ("user", "film"), value="stars", **how),
        "kinds": Relation(kinds, ("film", "kind"), loss="logistic", unobserved="zero"),
    }


def some(table, column, names, *, within):
    """The lines of a table whose name is, or is not, among others."""
    at = [k for k, name in enumerate(table[column]) if (name in names) == within]
    return {key: np.asarray(values)[at] for key, values in table.items()}


@pytest.mark.parametrize("name", MODELS)
def test_a_film_of_which_only_the_kind_is_known(name, tmp_path):
    """It is rated as its like are, by everybody; what was there stays, to the bit, in a folder too."""
    ratings, kinds, x = planted()
    new = {f"f{b}" for b in range(25, 30)}
    model = copy.deepcopy(MODELS[name])
    model.fit(relations(some(ratings, "film", new, within=False), some(kinds, "film", new, within=False)))
    before = copy.deepcopy(model)
    model.save(tmp_path / "m")
    model = load(tmp_path / "m").update({"kinds": some(kinds, "film", new, within=True)})
    assert model.updated_ == {
        "new_cells": 5,
        "changed_cells": 0,
        "new_entities": {"user": 0, "film": 5, "kind": 0},
    }
    cells = [(f"u{a}", f"f{b}") for a in range(60) for b in range(25, 30)]
    predicted = model.predict("ratings", cells)
    assert np.corrcoef(predicted, x[:, 25:].ravel())[0, 1] > 0.6
    old = [(f"u{a}", f"f{b}") for a in range(60) for b in range(25)]
    np.testing.assert_array_equal(model.predict("ratings", old), before.predict("ratings", old))
    assert not model.unobserved_["film"].any()
    model.save(tmp_path / "n")
    np.testing.assert_array_equal(load(tmp_path / "n").predict("ratings", cells), predicted)


@pytest.mark.parametrize("name", MODELS)
def test_new_people_are_as_after_a_fit(name):
    """Ten of sixty, folded in from their ratings: predicted as by a model that was fitted with them."""
    ratings, kinds, x = planted()
    new = {f"u{a}" for a in range(50, 60)}
    model = copy.deepcopy(MODELS[name]).fit(relations(some(ratings, "user", new, within=False), kinds))
    model.update({"ratings": some(ratings, "user", new, within=True)})
    whole = copy.deepcopy(MODELS[name]).fit(relations(ratings, kinds))
    known = {*zip(ratings["user"], ratings["film"], strict=True)}
    cells = [(a, b) for a in range(50, 60) for b in range(30) if (f"u{a}", f"f{b}") not in known]
    truth = np.array([x[cell] for cell in cells])
    named = [(f"u{a}", f"f{b}") for a, b in cells]
    folded, fitted = (np.sqrt(np.mean((m.predict("ratings", named) - truth) ** 2)) for m in (model, whole))
    assert folded < 1.1 * fitted
    assert folded < 0.7 * truth.std()


def test_folding_in_is_the_conditional_solve():
    """Of squares: the normal equations of a new person, given films and their biases, by hand."""
    ratings, kinds, _ = planted()
    table = some(ratings, "user", {"u59"}, within=False)
    model = CollectiveFactorization(3, ridge=0.7, bias_ridge=0.2, count_power=0.5, max_iter=20, tol=1e-14, seed=0)
    with pytest.warns(UserWarning, match="stopped at max_iter"):
        model.fit(relations(table, kinds))
    theirs = some(ratings, "user", {"u59"}, within=True)
    films = model.factors_["film"][model.database_.number("film", theirs["film"])].astype(float)
    offset, users = model.offsets_["ratings"], model.database_.sizes["user"]
    levels = offset[1 + users + model.database_.number("film", theirs["film"])]
    centre, scale = model.database_.units["ratings"]
    left = (theirs["stars"] - centre) / scale - offset[0] - levels
    V, power = np.column_stack([films, np.ones(len(films))]), len(films) ** 0.5
    solved = np.linalg.solve(V.T @ V + power * np.diag([0.7, 0.7, 0.7, 0.2]), V.T @ left)
    model.update({"ratings": theirs})
    np.testing.assert_allclose(model.factors_["user"][-1], solved[:3], rtol=1e-5, atol=1e-7)
    assert model.offsets_["ratings"][1 + users] == pytest.approx(solved[3], rel=1e-5)


@pytest.mark.parametrize("name", ["als", "variational"])
def test_sweeps_go_on_to_an_optimum(name):
    """As low as a fit of everything, from where the model was."""
    ratings, kinds, _ = planted()
    new = {f"u{a}" for a in range(50, 60)}
    model = copy.deepcopy(MODELS[name]).fit(relations(some(ratings, "user", new, within=False), kinds))
    units = model.database_.units
    swept = model.update({"ratings": some(ratings, "user", new, within=True)}, sweeps=200)
    assert swept.database_.units == units
    assert (np.diff(swept.history_) <= 1e-9 * abs(swept.history_[0])).all()
    assert swept.n_iter_ == 200
    assert swept.history_[0] - swept.history_[-1] > 0
    again = copy.deepcopy(swept).update({"ratings": some(ratings, "user", {"u3"}, within=True)}, sweeps=1)
    assert again.updated_["new_cells"] == again.updated_["changed_cells"] == 0
    assert abs(again.history_[-1] - swept.history_[-1]) < 1e-3 * abs(swept.history_[-1])


@pytest.mark.parametrize("name", MODELS)
def test_how_far_from_a_fit(name):
    """It is kept, and the distance is that of what both expect of all known cells; folded in is not far."""
    ratings, kinds, _ = planted()
    new = {f"u{a}" for a in range(50, 60)}
    model = copy.deepcopy(MODELS[name]).fit(relations(some(ratings, "user", new, within=False), kinds))
    news = {"ratings": some(ratings, "user", new, within=True)}
    folded = copy.deepcopy(model).update(news)
    fitted = copy.deepcopy(MODELS[name]).fit(folded.database_)
    distance = model.update(news, refit=True).updated_["distance_to_refit"]
    cells = [*zip(ratings["user"], ratings["film"], strict=True)]
    np.testing.assert_array_equal(model.predict("ratings", cells), fitted.predict("ratings", cells))
    away = folded.predict("ratings", cells) - fitted.predict("ratings", cells)
    assert distance["ratings"] == pytest.approx(np.sqrt(np.mean(away**2)))
    assert distance["ratings"] < 0.3 * np.std(ratings["stars"])
    assert set(distance) == {"ratings", "kinds"}


def test_draws_go_on_with_what_is_new():
    """A chain of all tables from the last draw; then more, as ever."""
    ratings, kinds, _ = planted()
    new = {f"u{a}" for a in range(50, 60)}
    model = copy.deepcopy(MODELS["gibbs"]).fit(relations(some(ratings, "user", new, within=False), kinds))
    model.update({"ratings": some(ratings, "user", new, within=True)}, sweeps=25)
    assert len(model.draws_) == 20
    assert len(model.more(10).draws_) == 30
    assert 0.2 < model.noise_["ratings"] < 0.45


def test_cells_are_replaced_and_numbers_go_on():
    """Matrices may have more rows; cells that are known take what is said last."""
    known = np.where(np.eye(6, 5) > 0, np.nan, np.arange(30.0).reshape(6, 5))
    model = CollectiveFactorization(1, seed=0).fit({"r": Relation(known, ("a", "b"), biases=False)})
    model.update({"r": coo_array((np.array([9.0, 2.0]), ([0, 7], [1, 4])), shape=(8, 5))})
    assert model.updated_ == {"new_cells": 1, "changed_cells": 1, "new_entities": {"a": 2, "b": 0}}
    assert model.unobserved_["a"].tolist() == [False] * 6 + [True, False]
    model.update({"r": {"a": [8], "b": [0], "ignored": ["x"]}})
    assert model.database_.sizes == {"a": 9, "b": 5}
    assert np.isfinite(model.predict("r", [(8, 0)])).all()


def test_friends_of_a_new_person():
    """A type that is named twice: who likes the same as one group is their friend."""
    group = np.arange(20) % 2
    one, other = np.triu_indices(20, 1)
    same = group[one] == group[other]
    friends = {"one": one[same], "other": other[same]}
    model = CollectiveFactorization(2, ridge=0.3, seed=0)
    how = {"columns": ("one", "other"), "loss": "logistic", "unobserved": "zero"}
    model.fit({"friends": Relation(friends, ("user", "user"), **how)})
    model.update({"friends": {"one": [20, 20, 20], "other": [1, 3, 5]}})
    odd, even = (model.predict("friends", [(20, b) for b in range(start, 20, 2)]).mean() for start in (1, 0))
    assert odd > 0.7
    assert even < 0.4


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "data must be a non-empty mapping"),
        ({"stars": {}}, "relation 'stars' does not exist"),
        ({"ratings": {"user": ["u1"], "film": ["f1"]}}, "column 'stars' is missing"),
        ({"ratings": {"user": [1], "film": ["f1"], "stars": [1.0]}}, "names of entities of type user must be text"),
        ({"ratings": np.ones((3, 3))}, "data must be a data frame if value"),
        ({"kinds": {"film": ["f1", "f1"], "kind": ["k1"]}}, "all columns must have the same length"),
        ({"ratings": {"user": ["u1"], "film": ["f1"], "stars": [np.nan]}}, "values must be finite"),
    ],
)
def test_what_cannot_be_learnt_changes_nothing(data, message):
    """One sentence, and the model as it was."""
    ratings, kinds, _ = planted()
    model = CollectiveFactorization(1, max_iter=3, tol=0, seed=0).fit(relations(ratings, kinds))
    before = model.factors_["user"].copy()
    refuses(message, model.update, data)
    np.testing.assert_array_equal(model.factors_["user"], before)
    assert not hasattr(model, "updated_")


def test_numbers_and_names_are_not_mixed():
    """Names where tables number, and tables that number fewer."""
    model = CollectiveFactorization(1, seed=0).fit({"r": Relation(np.arange(12.0).reshape(4, 3), ("a", "b"))})
    with pytest.raises(InputError, match="entities of type a must have indices"):
        model.update({"r": {"a": ["x"], "b": [0]}})
    refuses("new tables must have at least 4 entities of type a", model.update, {"r": np.ones((3, 3))})


# ---- why


@pytest.mark.parametrize("by", ["user", "film"])
@pytest.mark.parametrize("name", MODELS)
def test_parts_and_base_are_the_value(name, by):
    """Of a row at the optimum; of draws nearly, since draws are not their means."""
    ratings, kinds, _ = planted()
    model = copy.deepcopy(MODELS[name]).fit(relations(ratings, kinds))
    cell = ("u3", "f7")
    why = model.explain("ratings", cell, by=by)
    assert why.base + sum(part for _, part in why.parts) == pytest.approx(why.value)
    assert why.value == pytest.approx(
        model.predict("ratings", [cell])[0], abs={"gibbs": 0.15, "variational": 0.01}.get(name, 2e-4)
    )
    column, other = ("user", "film") if by == "user" else ("film", "user")
    named = {("ratings", n) for n in some(ratings, column, {cell[by == "film"]}, within=True)[other]}
    assert {n for n, _ in why.parts} == (named if by == "user" else named | {("kinds", k) for k in kinds["kind"][7:8]})


@pytest.mark.parametrize("name", ["als", "variational"])
def test_parts_by_any_loss_and_order(name):
    """Truth values in log-odds, counts, weighted zeros, and a tensor, all of them of one entity."""
    rng = np.random.default_rng(0)
    cube = np.where(rng.random((8, 7, 5)) < 0.7, rng.standard_normal((8, 7, 5)), np.nan)
    tables = {
        "signs": Relation((rng.random((8, 6)) < 0.5).astype(float), ("a", "b"), loss="logistic"),
        "counts": Relation(rng.poisson(2.0, (8, 4)).astype(float), ("a", "c"), loss="poisson"),
        "zeros": Relation(
            coo_array((rng.random((8, 9)) < 0.4).astype(float)), ("a", "d"), unobserved="zero", zero_weight=0.3
        ),
        "cube": Relation(cube, ("a", "e", "f")),
    }
    model = copy.deepcopy(MODELS[name]).set_params(rank=2).fit(tables)
    for relation, cell in (("signs", (2, 3)), ("counts", (2, 3)), ("zeros", (2, 3)), ("cube", (2, 3, 1))):
        why = model.explain(relation, cell)
        found = model.predict(relation, [cell])[0]
        if relation == "signs" and name == "als":
            found = np.log(found / (1 - found))
        elif relation == "counts" and name == "als":
            found = np.log(np.expm1(found))
        if name == "als" or relation in {"zeros", "cube"}:
            assert why.value == pytest.approx(found, rel=0.01, abs=0.01)
        assert len(why.parts) == 6 + 4 + int((model.database_.cells("zeros").indices[:, 0] == 2).sum()) + int(
            np.isfinite(cube[2]).sum()
        )


def test_a_part_is_that_of_the_equations():
    """Each by hand: what a rating adds to the row, times the film asked for."""
    ratings, _, _ = planted()
    model = CollectiveFactorization(3, ridge=0.4, count_power=0.0, tol=1e-12, max_iter=3000, seed=0)
    model.fit({"ratings": Relation(ratings, ("user", "film"), value="stars")})
    theirs = some(ratings, "user", {"u3"}, within=True)
    V = model.factors_["film"][model.database_.number("film", theirs["film"])]
    offset, users = model.offsets_["ratings"], model.database_.sizes["user"]
    levels = offset[0] + offset[1 + model.database_.number("user", ["u3"])]
    levels = levels + offset[1 + users + model.database_.number("film", theirs["film"])]
    centre, scale = model.database_.units["ratings"]
    y = (theirs["stars"] - centre) / scale - levels
    w = model.factors_["film"][model.database_.number("film", ["f7"])[0]]
    parts = scale * (np.linalg.solve(V.T @ V + 0.4 * np.eye(3), (V * y[:, None]).T).T @ w)
    why = dict(model.explain("ratings", ("u3", "f7")).parts)
    for film, part in zip(theirs["film"], parts, strict=True):
        assert why["ratings", film] == pytest.approx(part, abs=1e-9)


def test_what_cannot_be_explained():
    """A type that the relation does not name, and draws that were not kept."""
    ratings, kinds, _ = planted()
    model = CollectiveFactorization(1, max_iter=2, tol=0, seed=0).fit(relations(ratings, kinds))
    with pytest.raises(InputError, match=r"by must be an entity type of relation ratings \(user, film\); got 'kind'"):
        model.explain("ratings", ("u1", "f1"), by="kind")
    refuses("there is no film 'f99'", model.explain, "ratings", ("u1", "f99"))
    draws = BayesianFactorization(1, burn_in=1, draws=2, n_samples=0, seed=0)
    draws.fit(relations(ratings, kinds), at={"ratings": [("u1", "f1")]})
    refuses("no stored samples", draws.explain, "ratings", ("u1", "f1"))
