"""Databases of relations and their models."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone

from helpers import refuses
from polyadic import Entries, InputError, load
from polyadic.completion.coupled.bayesian import BayesianFactorization
from polyadic.completion.coupled.collective import CollectiveFactorization
from polyadic.completion.coupled.database import Database, Relation, with_negatives
from polyadic.completion.coupled.variational import VariationalFactorization

LIKES = {"user": ["ann", "ann", "bob", "cid"], "film": ["Jaws", "Up", "Jaws", "M"], "stars": [5.0, 1, 4, 2]}
MODELS = [
    CollectiveFactorization(3, ridge=0.3, bias_ridge=1.0, max_iter=30, tol=0, seed=0),
    VariationalFactorization(3, max_iter=30, tol=0, seed=0),
    BayesianFactorization(3, burn_in=20, draws=40, seed=0),
]


def likes(**changes):
    return Relation({**LIKES, **changes}, ("user", "film"), value="stars")


def planted(seed=0, n=80, m=60, k=40, rank=3, share=0.06, noise=0.1):
    """Ratings of which few are known, and features of the films that follow from the same factors."""
    rng = np.random.default_rng(seed)
    U, V, W = (rng.standard_normal((size, rank)) for size in (n, m, k))
    x = 3 + U @ V.T + noise * rng.standard_normal((n, m))
    known = np.where(rng.random(x.shape) < share, x, np.nan)
    return x, known, V @ W.T + noise * rng.standard_normal((m, k)), (V @ W.T > 0).astype(float)


# ---- tables


def test_kinds_of_data_say_the_same():
    """A frame, a mapping, a sparse matrix, an array with NaN and Entries: one list of cells."""
    x = np.array([[1.0, np.nan, 2.0], [np.nan, 3.0, np.nan]])
    i, j = np.nonzero(~np.isnan(x))
    frame = pd.DataFrame({"a": i, "b": j, "x": x[i, j]})
    listed = coo_array((x[i, j], (i, j)), shape=x.shape)
    kinds = [
        Relation(frame, ("a", "b"), value="x"),
        Relation({"p": i, "q": j, "x": x[i, j]}, ("a", "b"), columns=("p", "q"), value="x"),
        Relation(x, ("a", "b")),
        Relation(listed, ("a", "b")),
        Relation(csr_array(listed), ("a", "b")),
        Relation(Entries(np.column_stack([i, j]), x[i, j], x.shape), ("a", "b")),
    ]
    found = []
    for relation in kinds:
        database = Database({"r": relation})
        coupled = database.coupled(np.random.default_rng(0))
        assert database.sizes == {"a": 2, "b": 3}
        (centre, scale), t = database.units["r"], 0
        found.append((coupled.indices[t].tolist(), (centre + scale * np.asarray(coupled.values)[t]).round(9).tolist()))
    assert all(one == found[0] for one in found)
    assert found[0][1] == [1.0, 2.0, 3.0]


def test_entities_are_found_across_tables():
    """Names of one type are collected from all tables; those that are declared keep their order."""
    people = Relation(
        {"user": ["dan", "ann"], "town": ["Rome", "Bath"]}, ("user", "town"), loss="logistic", unobserved="zero"
    )
    database = Database({"likes": likes(), "people": people})
    assert database.names["user"].tolist() == ["ann", "bob", "cid", "dan"]
    assert database.locate("likes", [("cid", "Up"), ("dan", "M")]).tolist() == [[2, 2], [3, 1]]
    declared = Database({"likes": likes()}, entities={"user": ["cid", "bob", "ann", "eve"]})
    assert declared.locate("likes", {"user": ["ann", "eve"], "film": ["Up", "M"]}).tolist() == [[2, 2], [3, 1]]
    for model in MODELS:
        fitted = clone(model).fit(declared)
        assert fitted.unobserved_["user"].tolist() == [False, False, False, True]
        assert not fitted.unobserved_["film"].any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (dict, "relations must be a non-empty mapping"),
        (lambda: {"r": likes(stars=["5", "good", "4", "2"])}, "r: column 'stars' must contain numbers; got 'good'"),
        (lambda: {"r": likes(stars=[5, np.inf, 4, 2])}, "r: values must be finite; leave out unknown cells"),
        (
            lambda: {"r": likes(user=["ann", None, "bob", "cid"])},
            "column 'user' must contain text or whole numbers",
        ),
        (lambda: {"r": likes(user=["ann", "bob"])}, "r: all columns must have the same length"),
        (
            lambda: {"r": Relation(LIKES, ("user", "movie"))},
            "column 'movie' is missing; existing columns are user, film, stars",
        ),
        (
            lambda: {"r": Relation(LIKES, ("user", "film"), value="stars", loss="logistic")},
            "r: values must be 0 or 1 for the logistic loss; got 5",
        ),
        (
            lambda: {"r": Relation({"a": [1], "b": [2], "x": [1.5]}, ("a", "b"), value="x", loss="poisson")},
            "non-negative whole numbers for the Poisson loss; got 1.5",
        ),
        (lambda: {"r": likes(film=["Jaws", "Jaws", "Up", "M"])}, r"r: cell \('ann', 'Jaws'\) has conflicting values"),
        (
            lambda: {"r": likes(), "s": Relation(np.eye(3), ("user", "town"))},
            "entities of type user must have names in all tables or in none; 'r' has names, but 's' has indices",
        ),
        (
            lambda: {"r": likes(), "s": likes(user=[1, 2, 3, 4])},
            "names of entities of type user must be text in all tables or numbers in all tables",
        ),
        (
            lambda: {"r": Relation(np.eye(3), ("a", "b")), "s": Relation(np.eye(4), ("a", "c"))},
            "entity type a must have the same number of entities in all tables",
        ),
        (
            lambda: {"r": Relation(np.eye(3), ("a", "a"))},
            "r: a cell must not relate an entity of type a to itself; leave out such cells",
        ),
        (lambda: {"r": Relation(np.eye(3), ("a", "b", "c"))}, "one mode for each of the 3 entity types; got 2 modes"),
        (lambda: {"r": Relation(np.full((2, 2), np.nan), ("a", "b"))}, "r: data must have at least one observed cell"),
        (lambda: {"r": Relation("ratings.csv", ("a", "b"))}, "r: data must be an array, .* got a str"),
        (
            lambda: {"r": Relation({"x": [1], "y": [2]}, ("a", "a"))},
            "r: columns must contain a different name for each entity",
        ),
        (lambda: {"r": likes(user=["ann", np.nan, "bob", "cid"])}, "column 'user' must contain text or whole"),
        (lambda: {"r": likes(user=["ann", 3, "bob", "cid"])}, "column 'user' must contain text or whole"),
        (lambda: {"r": Relation(np.eye(3), ("a", "b"), value="x")}, "r: data must be a data frame if value"),
        (
            lambda: {"r": Relation({**LIKES, "w": [0] * 4}, ("user", "film"), value="stars", weight_by="w")},
            "r: at least one weight must be above 0",
        ),
        (
            lambda: {"r": Relation({"a": [1, 1], "b": [2, 2], "w": [1, 9]}, ("a", "b"), weight_by="w")},
            r"r: cell \('1', '2'\) has conflicting weights",
        ),
        (lambda: {"r": Relation(LIKES, ("user", "film"), loss="logistic")}, "0 and 1; all are 1; set unobserved="),
    ],
)
def test_data_that_contradicts_itself_is_refused(make, message):
    """One sentence that names the table and what is wrong."""
    refuses(message, Database, make())


def test_names_of_any_kind():
    """Text and whole numbers, as pandas and numpy hold them, in tables, in lists of entities and in what is asked."""
    frame = pd.DataFrame(LIKES, index=[7, 3, 3, 1])
    people = ["cid", "bob", "ann", "eve"]
    numbered = {"ann": 3, "bob": 9, "cid": 7, "eve": 1}
    for kind in ("str", "string", "category", object):
        asked = frame.astype({"user": kind, "film": kind})
        for listed in (pd.Series(people), pd.Index(people), pd.Categorical(people), np.array(people, object)):
            database = Database({"r": Relation(asked, ("user", "film"), value="stars")}, entities={"user": listed})
            assert database.locate("r", asked).tolist() == [[2, 0], [2, 2], [1, 0], [0, 1]]
    for kind in ("int32", "Int64", "category", object):
        asked = frame.assign(user=frame["user"].map(numbered).astype(kind))
        database = Database({"r": Relation(asked, ("user", "film"), value="stars")})
        assert database.names["user"].tolist() == [3, 7, 9]
        assert database.locate("r", asked)[:, 0].tolist() == [0, 0, 2, 1]
    refuses("type user must be text or whole numbers", Database, {"r": likes()}, entities={"user": [*people, np.nan]})


def test_data_is_not_changed():
    """A sparse matrix stays as it was; one of three modes is a table of three types; no cell has two values."""
    x = coo_array((np.array([1.0, 2.0, 3.0]), (np.array([1, 0, 1]), np.array([0, 1, 1]))), shape=(2, 2))
    Database({"r": Relation(x, ("a", "b"))})
    assert (x.data.tolist(), x.coords[0].tolist()) == ([1.0, 2.0, 3.0], [1, 0, 1])
    x.coords[1][2] = 0
    refuses("merge the duplicates of row 1, column 0", Database, {"r": Relation(x, ("a", "b"))})
    database = Database({"r": Relation(coo_array(np.arange(8.0).reshape(2, 2, 2)), ("a", "b", "c"))})
    assert database.sizes == {"a": 2, "b": 2, "c": 2}


def test_equal_values_have_no_units():
    """Whatever rounding makes of their mean."""
    assert Database({"r": Relation(np.full((4, 3), 0.1), ("a", "b"))}).units["r"].scale == 1


def test_relations_that_make_no_sense_are_refused():
    """Before data is read."""
    refuses("entities must be a sequence, each text; got 'user'", Relation, LIKES, "user")
    refuses("entities must contain at least two entity types", Relation, LIKES, ("user",))
    with pytest.raises(InputError, match="loss must be one of 'squared', 'logistic', 'poisson', 'huber'; got 'hinge'"):
        Relation(LIKES, ("user", "film"), loss="hinge")
    with pytest.raises(InputError, match="entity type 'town' does not occur in a relation; types are user, film"):
        Database({"r": likes()}, entities={"town": ["Rome"]})
    refuses("there is no user 'bob'", Database, {"r": likes()}, entities={"user": ["ann", "cid"]})
    database = Database({"r": likes()})
    for cells, message in (
        ([("ann", "Psycho")], "there is no film 'Psycho'"),
        ([("ann",)], "r: each cell must have 2 entities"),
        ([(1, "Up")], "user names must be text; got 1"),
        ([("ann", np.nan)], "film names must be text or whole numbers, without missing values"),
        (("ann", 1), "film names must be text; got 1"),
        ({"user": ["ann"]}, "r: column 'film' is missing; existing columns are user"),
        ({"user": ["ann"], "film": ["Up", "M"]}, "r: all columns must have the same length"),
    ):
        refuses(message, database.locate, "r", cells)
    refuses("relation 'rates' does not exist; relations are r", database.locate, "rates", [])
    numbered = Database({"r": Relation(np.eye(3), ("a", "b"))})
    refuses("b ids must be from 0 to 2; got 0 to 3", numbered.locate, "r", [(0, 0), (0, 3)])
    refuses("a ids must be from 0 to 2; got 'x'", numbered.locate, "r", [("x", 0)])
    refuses("r: each cell must have 2 entities", numbered.locate, "r", (0, 1, 2))
    refuses("biases must be True or False; got 'no'", Relation, LIKES, ("user", "film"), biases="no")
    for model in MODELS:  # a number beyond one type must not be a row of the next
        fitted = clone(model).fit(numbered)
        for wrong, message in (
            ([[3, 0]], "a ids must be from 0 to 2"),
            ([[0, -1]], "b ids must"),
            ([[0]], "shape .n, 2"),
        ):
            refuses(message, fitted.predict_numbered, "r", np.array(wrong))


def test_a_type_named_twice_has_unordered_cells():
    """(a, b) and (b, a) are one cell; contradictions are found."""
    friends = {"one": ["ann", "bob", "ann"], "other": ["bob", "ann", "cid"], "x": [1, 1, 0]}
    relation = Relation(friends, ("user", "user"), columns=("one", "other"), value="x", loss="logistic")
    coupled = Database({"friends": relation}).coupled(np.random.default_rng(0))
    assert coupled.indices[0].tolist() == [[1, 0], [2, 0]]
    model = CollectiveFactorization(2, seed=0).fit({"friends": relation})
    assert model.predict("friends", [("ann", "bob")]) == model.predict("friends", [("bob", "ann")])
    with pytest.raises(InputError, match="has conflicting values"):
        Database(
            {"friends": Relation({**friends, "x": [1, 0, 0]}, ("user", "user"), columns=("one", "other"), value="x")}
        )


def test_drawn_zeros_are_unobserved_cells():
    """Each differs from a listed cell in one entity; none is listed, drawn twice or, in one type, on the diagonal."""
    rng = np.random.default_rng(0)
    for entities, shape in ((("a", "b"), (30, 20)), (("a", "b", "c"), (9, 8, 7)), (("a", "a"), (25, 25))):
        cells = np.unique(np.sort([[rng.integers(n) for n in shape] for _ in range(60)], axis=1)[:, ::-1], axis=0)
        if len(set(entities)) == 1:
            cells = cells[cells[:, 0] > cells[:, 1]]
        cells = cells[(cells < shape).all(axis=1)]
        listed = Entries(cells, np.ones(len(cells)), shape)
        both = with_negatives(listed, Relation(np.eye(2), entities, n_negatives=3), rng)
        new = both.indices[len(cells) :]
        assert both.squares() == len(cells)
        assert len(cells) < len(new) <= 3 * len(cells)
        assert len(np.unique(both.indices, axis=0)) == len(both)
        assert ((new[:, None] == cells[None]).sum(axis=2).max(axis=1) == len(shape) - 1).all() or len(
            set(entities)
        ) == 1
        if len(set(entities)) == 1:
            assert (new[:, 0] > new[:, 1]).all()


# ---- models


@pytest.mark.parametrize("model", MODELS)
def test_a_second_table_helps(model):
    """Six of a hundred ratings of rank 3 are too few; with features of the films they are nearly enough."""
    x, known, features, signs = planted()
    cells = np.argwhere(np.isnan(known))
    truth = x[tuple(cells.T)]

    def error(**more):
        fitted = clone(model).fit({"ratings": Relation(known, ("user", "film")), **more})
        return np.sqrt(np.mean((fitted.predict("ratings", cells) - truth) ** 2))

    alone = error()
    assert error(features=Relation(features, ("film", "feature"))) < 0.75 * alone
    assert error(signs=Relation(signs, ("film", "feature"), loss="logistic")) < 0.9 * alone


@pytest.mark.parametrize("model", MODELS)
def test_names_do_not_matter(model):
    """Numbered or named, entities get the same factors; threads do not matter."""
    _, known, _, _ = planted()
    i, j = np.nonzero(~np.isnan(known))
    named = {"user": [f"u{a:03}" for a in i], "film": [f"f{b:03}" for b in j], "x": known[i, j]}
    names = {"user": [f"u{a:03}" for a in range(80)], "film": [f"f{b:03}" for b in range(60)]}
    one = clone(model).fit({"r": Relation(known, ("user", "film"))})
    other = (
        clone(model)
        .set_params(threads=1)
        .fit(Database({"r": Relation(named, ("user", "film"), value="x")}, entities=names))
    )
    np.testing.assert_array_equal(one.factors_["film"], other.factors_["film"])
    np.testing.assert_array_equal(one.predict("r", [(3, 4)]), other.predict("r", [("u003", "f004")]))


@pytest.mark.parametrize("model", MODELS)
def test_units_do_not_matter(model):
    """Ratings in other units are predicted in these."""
    _, known, _, _ = planted()
    cells = np.argwhere(np.isnan(known))[:50]
    one = clone(model).fit({"r": Relation(known, ("user", "film"))}).predict("r", cells)
    other = clone(model).fit({"r": Relation(100 + 20 * known, ("user", "film"))}).predict("r", cells)
    np.testing.assert_allclose(other, 100 + 20 * one, rtol=1e-5)


@pytest.mark.parametrize("model", MODELS[1:])
def test_uncertainty_covers(model):
    """Some nineteen of twenty unseen cells within two standard deviations; unknown entities have larger ones."""
    x, known, features, _ = planted(share=0.3, noise=0.5)
    known[5] = np.nan
    fitted = clone(model).fit(
        {"ratings": Relation(known, ("user", "film")), "f": Relation(features, ("film", "feature"))}
    )
    cells = np.argwhere(np.isnan(known))
    found = fitted.predict_distribution("ratings", cells)
    new = cells[:, 0] == 5
    inside = np.abs(found.mean - x[tuple(cells.T)]) < 2 * found.std
    assert 0.88 < inside[~new].mean() < 0.99
    assert found.std[new].mean() > 1.5 * found.std[~new].mean()
    assert fitted.unobserved_["user"].tolist() == [i == 5 for i in range(80)]


@pytest.mark.parametrize("model", MODELS[1:])
def test_weights_do_not_hide_noise(model):
    """Observations that count four times are as noisy as they were: the noise found is the planted one."""
    _, known, _, _ = planted(share=0.5, noise=0.5)
    one, four = (
        clone(model).fit({"r": Relation(known, ("user", "film"), weight=w)}).predict_distribution("r", [(0, 0), (5, 7)])
        for w in (1.0, 4.0)
    )
    assert (four.std > 0.45).all()
    assert (four.std < one.std).all()


@pytest.mark.parametrize("model", MODELS)
def test_two_types_of_three_are_the_same(model):
    """Who with whom where, named from the last to the first: planted values are found, in either order."""
    rng = np.random.default_rng(0)
    u, w, names = rng.standard_normal(15), rng.standard_normal(6), [f"p{i}" for i in range(15)]
    cells = np.argwhere(np.ones((15, 15, 6)))
    cells = cells[cells[:, 0] > cells[:, 1]]
    x = u[cells[:, 0]] * u[cells[:, 1]] * w[cells[:, 2]]
    seen = rng.random(len(cells)) < 0.6
    one, other = ([names[i] for i in column] for column in cells.T[:2])
    frame = pd.DataFrame(
        {"one": one, "other": other, "where": cells[:, 2], "x": x + 0.05 * rng.standard_normal(len(x))}
    )
    relation = Relation(frame[seen], ("who", "who", "where"), columns=("one", "other", "where"), value="x")
    database = Database({"met": relation}, entities={"who": names[::-1]})
    fitted = clone(model).set_params(rank=2).fit(database)
    found = fitted.predict("met", frame[~seen])
    assert np.corrcoef(found, x[~seen])[0, 1] > 0.97
    turned = frame[~seen].rename(columns={"one": "other", "other": "one"})
    np.testing.assert_allclose(fitted.predict("met", turned), found, rtol=1e-9)


@pytest.mark.parametrize("model", MODELS)
def test_tensors_and_truth_values(model):
    """A table of three types with truth values, positive cells only: unseen positives rank above others."""
    rng = np.random.default_rng(0)
    U, V, W = (rng.standard_normal((n, 2)) for n in (20, 15, 10))
    m = np.einsum("ir,jr,kr->ijk", U, V, W)
    positive = np.argwhere(m > np.quantile(m, 0.8))
    rng.shuffle(positive)
    seen, held = positive[:450], positive[450:]
    entries = Entries(seen, np.ones(len(seen)), m.shape)
    fitted = (
        clone(model)
        .set_params(rank=2)
        .fit({"says": Relation(entries, ("who", "what", "where"), loss="logistic", unobserved="zero", n_negatives=3)})
    )
    others = np.argwhere(m <= np.quantile(m, 0.8))
    positive_scores, other_scores = fitted.predict("says", held), fitted.predict("says", others)
    assert ((positive_scores >= 0) & (positive_scores <= 1)).all()
    assert np.mean(positive_scores[:, None] > other_scores[None]) > 0.8


def test_counts():
    """Counts are non-negative means; variational and point estimates find the planted ones, draws are refused."""
    rng = np.random.default_rng(0)
    m = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 50)) + 2
    x = rng.poisson(np.logaddexp(0, m)).astype(float)
    hidden = rng.random(x.shape) < 0.3
    table = {"r": Relation(np.where(hidden, np.nan, x), ("a", "b"), loss="poisson")}
    for model in (CollectiveFactorization(2, ridge=0.5, seed=0), VariationalFactorization(3, tol=1e-3, seed=0)):
        found = model.fit(table).predict("r", np.argwhere(hidden))
        assert (found > 0).all()
        assert np.corrcoef(found, np.logaddexp(0, m)[hidden])[0, 1] > 0.8
    refuses("Gibbs sampling supports only squared and logistic losses", BayesianFactorization(2).fit, table)


def test_uncertain_counts_have_larger_means():
    """The expected softplus of a normal variable, as sampled."""
    model = VariationalFactorization(1, max_iter=2, tol=0, seed=0)
    model.fit({"r": Relation(np.arange(6.0).reshape(3, 2), ("a", "b"), loss="poisson")})
    drawn = np.random.default_rng(0).standard_normal(1_000_000)
    for mean, variance in ((-3.0, 4.0), (0.0, 1.0), (2.0, 9.0)):
        found = model._in_units("r", np.array([mean]), np.array([variance]))
        assert found[0] == pytest.approx(np.logaddexp(0, mean + variance**0.5 * drawn).mean(), rel=0.01)


def test_draws_are_averaged_on_the_way():
    """Averages over all draws at the cells asked for are predictions from all draws; more draws go on."""
    _, known, _, _ = planted()
    cells = np.argwhere(np.isnan(known))[:40]
    table = {"r": Relation(known, ("user", "film"))}
    whole = BayesianFactorization(2, burn_in=3, draws=12, seed=1).fit(table, at={"r": cells})
    kept = whole.predict_distribution("r", cells)
    np.testing.assert_allclose(whole.averages("r").mean, kept.mean, rtol=1e-5)
    np.testing.assert_allclose(whole.averages("r").std, kept.std, rtol=1e-4)
    parts = BayesianFactorization(2, burn_in=3, draws=5, n_samples=0, seed=1).fit(table, at={"r": cells}).more(7)
    np.testing.assert_array_equal(parts.averages("r").mean, whole.averages("r").mean)
    assert parts.draws_ == []
    refuses("no stored samples", parts.predict, "r", cells)
    refuses("n_samples=0 stores no samples", BayesianFactorization(2, n_samples=0).fit, table)
    refuses("relation 's' has no averaged predictions", whole.averages, "s")


def test_similar_entities():
    """Films with the same ratings are each other's neighbours; names come back."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 10))
    x[:, 7] = x[:, 2]
    films = [f"f{j}" for j in range(10)]
    i, j = np.nonzero(np.ones_like(x))
    table = {"user": i, "film": np.array(films)[j], "x": x[i, j]}
    model = CollectiveFactorization(2, seed=0).fit({"r": Relation(table, ("user", "film"), value="x")})
    (name, cosine), *rest = model.most_similar("film", "f2", n=3)
    assert (name, round(cosine, 3), len(rest)) == ("f7", 1.0, 2)
    assert len(model.most_similar("user", 3, n=99)) == 29
    half = {"user": i, "film": np.array(films)[j], "x": x[i, j] + 3 * rng.standard_normal(len(i))}
    draws = BayesianFactorization(2, burn_in=50, draws=200, seed=0).fit(
        {"r": Relation(half, ("user", "film"), value="x")}
    )
    names = [name for name, _ in draws.most_similar("film", "f2", n=9)]
    cosines = [np.corrcoef(x[:, 2], x[:, k])[0, 1] for k in range(10)]
    assert "f7" in names[:4]
    assert np.mean([cosines[int(name[1])] for name in names[:3]]) > np.mean(
        [cosines[int(name[1])] for name in names[3:]]
    )


def test_parameters_are_checked():
    """By name."""
    table = {"r": likes()}
    with pytest.raises(InputError, match="ridge contains an unknown entity type 'town'; types are user, film"):
        CollectiveFactorization(2, ridge={"town": 1.0}).fit(table)
    refuses("entity type; 'film' is missing", CollectiveFactorization(2, ridge={"user": 1.0}).fit, table)
    zeros = {"r": Relation(np.eye(4), ("a", "b"), unobserved="zero")}
    refuses("count_power must be 0 for tables", CollectiveFactorization(2, count_power=1.0).fit, zeros)


def test_weighted_zeros_of_all_cells():
    """Zero weight 1 is plain least squares of the whole table: the error is that of the truncated SVD."""
    rng = np.random.default_rng(0)
    x = (rng.random((20, 15)) < 0.2).astype(float)
    table = {"r": Relation(csr_array(x), ("a", "b"), unobserved="zero", zero_weight=1.0)}
    model = CollectiveFactorization(3, ridge=1e-6, max_iter=500, tol=0, seed=0).fit(table)
    found = model.predict("r", np.argwhere(np.ones_like(x))).reshape(x.shape)
    s = np.linalg.svd(x, compute_uv=False)
    assert np.sum((x - found) ** 2) == pytest.approx(np.sum(s[3:] ** 2), rel=1e-3)


# ---- folders


def test_loaded_chains_go_on(tmp_path):
    """As if they had not stopped."""
    _, known, _, signs = planted()
    tables = {
        "ratings": Relation(known, ("user", "film")),
        "signs": Relation(coo_array(signs), ("film", "sign"), loss="logistic", unobserved="zero"),
    }
    whole = BayesianFactorization(2, burn_in=3, draws=12, n_samples=6, seed=1).fit(tables)
    BayesianFactorization(2, burn_in=3, draws=5, n_samples=6, seed=1).fit(tables).save(tmp_path / "m")
    loaded = load(tmp_path / "m").more(7)
    np.testing.assert_array_equal(loaded.predict("ratings", [(1, 2)]), whole.predict("ratings", [(1, 2)]))
    assert loaded.noise_ == pytest.approx(whole.noise_)


def test_loaded_averages_go_on(tmp_path):
    """Without any draw kept too."""
    _, known, _, _ = planted()
    table, cells = {"r": Relation(known, ("user", "film"))}, np.argwhere(np.isnan(known))[:40]
    whole = BayesianFactorization(2, burn_in=3, draws=12, n_samples=0, seed=1).fit(table, at={"r": cells})
    parts = BayesianFactorization(2, burn_in=3, draws=5, n_samples=0, seed=1).fit(table, at={"r": cells})
    parts.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.averages("r").std, parts.averages("r").std)
    loaded.more(7)
    np.testing.assert_array_equal(loaded.averages("r").mean, whole.averages("r").mean)
