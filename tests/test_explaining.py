"""Why a value is what it is: parts add up to it, and move with what they are due to."""

import json
from itertools import chain, combinations

import numpy as np
import pytest
from scipy import sparse
from typer.testing import CliRunner

from polyadic import (
    BayesianFactorizationMachine,
    BayesianFactorizationMachineClassifier,
    FactorizationMachine,
    FactorizationMachineClassifier,
    FactorizationMachineRanker,
    FieldEncoder,
)
from polyadic.cli import app
from polyadic.errors import InputError
from polyadic.models.completion.factorization import MatrixFactorization
from polyadic.models.completion.implicit import ImplicitFactorization
from polyadic.models.completion.table_completion import TableCompletion


def some_table(seed=0, *, rows=30, columns=20, share=0.4):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 3)) @ rng.standard_normal((3, columns)) + rng.standard_normal(columns)
    return np.where(rng.random(x.shape) < share, x, np.nan)


def some_counts(seed=0, *, rows=30, columns=20):
    rng = np.random.default_rng(seed)
    return rng.poisson(0.2 + 2.0 * (np.arange(rows)[:, None] % 3 == np.arange(columns) % 3)).astype(float)


@pytest.mark.parametrize("count_power", [0.0, 0.5])
def test_parts_and_base_are_the_value(count_power):
    """Of a row that was fitted to, alternating least squares end with what its parts add up to."""
    x = some_table()
    model = MatrixFactorization(4, count_power=count_power, seed=0).fit(x)
    columns = np.arange(x.shape[1])
    for row in (0, 7):
        base, known, parts = model.explain(x[[row]], columns)
        np.testing.assert_array_equal(known, np.flatnonzero(np.isfinite(x[row])))
        np.testing.assert_allclose(base, model.mean_ + model.column_biases_)
        np.testing.assert_allclose(base + parts.sum(axis=1), model.predict(np.full(20, row), columns))


def test_a_part_is_what_its_cell_moves():
    """Where a value moves by a share of what biases leave of it, predictions do by that share of its part."""
    x = some_table()
    model = MatrixFactorization(4, seed=0).fit(x)
    columns = np.arange(x.shape[1])

    def predicted(row):
        u = model.transform(row)[0]
        return model.mean_ + model.column_biases_ + u[-1] + model.column_factors_ @ u[:-1]

    _, known, parts = model.explain(x[[3]], columns)
    for place, column in enumerate(known[:3]):
        moved = x[[3]].copy()
        moved[0, column] += 0.1 * (moved[0, column] - model.mean_ - model.column_biases_[column])
        np.testing.assert_allclose(predicted(moved) - predicted(x[[3]]), 0.1 * parts[:, place], atol=1e-12)


def test_parts_of_implicit_feedback():
    """They add up to the products of the row as it is folded in, known or new."""
    x = some_counts()
    model = ImplicitFactorization(3, seed=0).fit(x[1:])
    for row in (x[[0]], x[[5]]):
        base, known, parts = model.explain(row, np.arange(20))
        assert not base.any()
        np.testing.assert_array_equal(known, np.flatnonzero(row[0]))
        np.testing.assert_allclose(
            parts.sum(axis=1), model.column_factors_ @ model.transform(row)[0], rtol=1e-5, atol=1e-6
        )
    assert model.explain(np.zeros((1, 20)), [0, 3]).parts.shape == (2, 0)
    exact = ImplicitFactorization(3, steps=None, tol=0, seed=0).fit(x)
    _, _, parts = exact.explain(x[[4]], [0, 2])
    np.testing.assert_allclose(parts.sum(axis=1), exact.predict([4, 4], [0, 2]))


def test_what_goes_together_carries():
    """Of two groups that nobody mixed, a row that knows both has parts from the group of the column alone."""
    model = ImplicitFactorization(2, ridge=0.1, seed=0).fit(np.kron(np.eye(2), np.ones((9, 6))))
    row = np.zeros((1, 12))
    row[0, [0, 1, 7]] = 1
    for column, carried in ((4, [True, True, False]), (9, [False, False, True])):
        (parts,) = model.explain(row, [column]).parts
        assert (np.abs(parts) > 0.05).tolist() == carried
        assert np.abs(parts[np.logical_not(carried)]).max() < 0.01


@pytest.mark.parametrize("model", [MatrixFactorization(2, seed=0), ImplicitFactorization(2, seed=0)])
def test_refusals(model):
    """Several rows at once, and columns that are not there."""
    model.fit(some_counts())
    with pytest.raises(InputError, match="one row; got 2 rows"):
        model.explain(some_counts()[:2], [0])
    with pytest.raises(InputError, match="column 20"):
        model.explain(some_counts()[:1], [20])


@pytest.mark.parametrize("method", ["als", "implicit"])
def test_reasons_by_name(method, tmp_path):
    """From the command line too: parts of a recommendation are among what is known of its row, the largest first."""
    x = some_counts()
    lines = [(f"r{i}", f"c{j}", x[i, j]) for i, j in zip(*np.nonzero(x), strict=True)]
    model = TableCompletion(method, choose=False, seed=0).fit(lines)
    named = model.recommend("r4", 5)
    for (column, value), why in zip(named, model.explain("r4", [column for column, _ in named]), strict=True):
        assert why.value == pytest.approx(value)
        assert {name for name, _ in why.parts} == {column for row, column, _ in lines if row == "r4"} - {column}
        assert sorted(why.parts, key=lambda part: -abs(part[1])) == why.parts
        assert why.base + sum(part for _, part in why.parts) == pytest.approx(value)
    model.save(tmp_path / "model")
    said = CliRunner().invoke(
        app, ["complete", "recommend", str(tmp_path / "model"), "r4", "-n", "5", "--why", "2", "--json"]
    )
    (first, *_) = json.loads(said.stdout)["recommended"]
    assert [each["column"] for each in first["why"]] == [
        name for name, _ in model.explain("r4", [first["column"]])[0].parts[:2]
    ]


def test_methods_without_parts():
    """A Bayesian prediction is a mean over draws, each with parts of its own."""
    model = TableCompletion("bayesian", seed=0).fit([("a", "x", 1), ("a", "y", 2), ("b", "x", 3)])
    with pytest.raises(InputError, match="als and implicit do"):
        model.explain("b", ["y"])


# ---- machines


MACHINES = [
    FactorizationMachine(2, max_iter=5, tol=0, seed=0),
    FactorizationMachine(order=1, max_iter=5, tol=0, seed=0),
    FactorizationMachine((2, 0, 1), order=4, solver="sgd", loss="poisson", max_iter=5, seed=0),
    FactorizationMachineClassifier((2, 3), order=3, solver="adagrad", max_iter=5, tol=0, seed=0),
    FactorizationMachineRanker((2, 1), order=3, max_iter=5, seed=0),
    BayesianFactorizationMachine((3, 2), order=3, draws=5, burn_in=1, seed=0),
]


def some_rows(seed=0):
    """Sparse features of forty rows, the last without any."""
    X = sparse.random_array((40, 6), density=0.5, rng=np.random.default_rng(seed), format="csr")
    X[[39]] *= 0
    return X


def score(model, X):
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return np.log(model.predict(X)) if getattr(model, "loss", "") == "poisson" else model.predict(X)


@pytest.mark.filterwarnings("ignore::polyadic.solvers.run.NotConvergedWarning")
@pytest.mark.parametrize("model", MACHINES, ids=repr)
def test_parts_of_a_machine_are_its_score(model):
    """Each is the score of its features without all that fewer of them say; with the base they add up."""
    X, y = some_rows(), np.arange(40) % 2
    model.fit(X, y, **({"groups": np.arange(40) // 4} if "Ranker" in repr(model) else {}))
    for i in (0, 7, 39):
        row = X[[i]].toarray()
        value, base, parts = model.explain(X[[i]])
        columns = np.flatnonzero(row).tolist()
        sizes = [
            d for d in range(1, model.order + 1) if not (isinstance(model.rank, tuple) and (1, *model.rank)[d - 1] == 0)
        ]
        sets = [*chain.from_iterable(combinations(columns, d) for d in sizes)]
        assert {name for name, _ in parts} == {*sets}
        assert len(parts) == len(sets)
        assert value == score(model, X[[i]])[0]
        assert base == pytest.approx(score(model, np.zeros((1, 6)))[0], abs=1e-10)
        assert base + sum(part for _, part in parts) == pytest.approx(value, abs=1e-12)
        assert sorted(parts, key=lambda part: -abs(part[1])) == parts
        for name, part in parts:
            within = [some for d in range(len(name) + 1) for some in combinations(name, d)]
            kept = np.array([np.isin(np.arange(6), some) * row[0] for some in within])
            signs = [(-1) ** (len(name) - len(some)) for some in within]
            assert part == pytest.approx(signs @ score(model, kept), abs=1e-10)


@pytest.mark.parametrize("model", [FactorizationMachine(1, seed=0), BayesianFactorizationMachine(1, seed=0)], ids=repr)
def test_what_is_multiplied_is_named(model):
    """Who likes which film, and nothing else, comes from the pair; a film that all like from the film."""
    who, what = (each.ravel().tolist() for each in np.meshgrid(list("abcdef"), list("uvwxyz"), indexing="ij"))
    y = [3 * ((user < "d") == (film < "x")) + 4 * (film == "w") for user, film in zip(who, what, strict=True)]
    encoder = FieldEncoder()
    model.fit(encoder.fit_transform({"user": who, "film": what}), y)

    def largest(user, film):
        return model.explain(encoder.transform({"user": [user], "film": [film]}), encoder.names_).parts[0]

    for user, film in (("a", "u"), ("e", "u"), ("a", "z"), ("e", "z")):
        name, part = largest(user, film)
        assert name == (f"user={user}", f"film={film}")
        assert (part > 0) == ((user < "d") == (film < "x"))
    assert largest("a", "w")[0] == ("film=w",)


def test_names_of_a_data_frame():
    """Are those of parts, unless others are given."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(np.random.default_rng(0).standard_normal((60, 3)), columns=["age", "price", "year"])
    model = FactorizationMachine(1, ridge=0.01, seed=0).fit(X, X["age"] * X["year"])
    assert model.explain(X[:1]).parts[0][0] == ("age", "year")
    assert model.explain(X[:1], "apy").parts[0][0] == ("a", "y")


@pytest.mark.filterwarnings("ignore::polyadic.solvers.run.NotConvergedWarning")
def test_machines_that_cannot_be_taken_apart(monkeypatch):
    """And rows that cannot: each in a sentence."""
    X, y = some_rows(), np.arange(40) % 2
    model = FactorizationMachine(2, order=4, max_iter=2, seed=0).fit(X, y)
    with pytest.raises(InputError, match="one row; got 2 rows"):
        model.explain(X[:2])
    with pytest.raises(InputError, match="names must be one for each of 6 features; got 2"):
        model.explain(X[:1], "ab")
    with pytest.raises(InputError, match="means of probabilities over draws, to which features do not add up"):
        BayesianFactorizationMachineClassifier(2, draws=2, seed=0).fit(X, y).explain(X[:1])
    clipped = BayesianFactorizationMachine(2, draws=2, clip=True, seed=0).fit(X, y)
    with pytest.raises(InputError, match="set clip=False"):
        clipped.explain(X[:1])
    assert clipped.set_params(clip=False).explain(X[:1]).value == clipped.predict(X[:1])[0]
    monkeypatch.setattr("polyadic.resources.free_memory", lambda: 1)
    with pytest.raises(InputError, match=r"for each of 56 sets of features .* leave features out, or lower the order"):
        model.explain(np.ones((1, 6)))
