"""Why models say what they say: parts of values add up, and move with what they are due to."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from polyadic.cli import app
from polyadic.errors import InputError
from polyadic.models.completion.factorization import MatrixFactorization
from polyadic.models.completion.implicit import ImplicitFactorization
from polyadic.models.completion.table_completion import TableCompletion
from polyadic.models.tables.correspondence import CorrespondenceAnalysis


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
        assert why.value == value
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


# ---- cells of tables of counts


@pytest.mark.parametrize("settings", [{}, {"power": 0.5}, {"temper": 0.5}], ids=str)
def test_axes_add_up_to_the_cell(settings):
    """All axes and the base, which is what independence would have, are the count by what the margins expect."""
    x = some_counts(rows=7, columns=5)
    model = CorrespondenceAnalysis(4, **settings).fit(x)
    x = x ** settings.get("temper", 1)
    times = x * x.sum() / np.outer(x.sum(axis=1), x.sum(axis=0))
    for i, j in np.ndindex(x.shape):
        why = model.explain(i, j)
        assert why.value == pytest.approx(times[i, j], abs=1e-8)
        assert why.base == pytest.approx(1)
        assert why.base + sum(part for _, part in why.parts) == pytest.approx(why.value)
        assert sorted(axis for axis, _ in why.parts) == [1, 2, 3, 4]


def test_fewer_axes_are_the_first_of_all():
    """An axis makes as much of a cell however many others are kept."""
    x = some_counts(rows=7, columns=5)
    few, every = (CorrespondenceAnalysis(rank).fit(x).explain(2, 3) for rank in (2, 4))
    assert dict(few.parts) == pytest.approx({axis: dict(every.parts)[axis] for axis in (1, 2)})


@pytest.mark.parametrize("side", ["rows", "columns"])
def test_what_is_alike_has_a_profile_like_it(side):
    """Distances in all axes are the chi-square distances of profiles, whatever the power of the coordinates."""
    x = some_counts(rows=7, columns=5)
    model = CorrespondenceAnalysis(4, power=0.3).fit(x)
    x = x if side == "rows" else x.T
    profiles, weights = x / x.sum(axis=1, keepdims=True), x.sum() / x.sum(axis=0)
    apart = np.sqrt(((profiles - profiles[1]) ** 2) @ weights)
    found = model.nearest(1, side=side, n=99)
    assert [k for k, _ in found] == [k for k in np.argsort(apart).tolist() if k != 1]
    assert [far for _, far in found] == pytest.approx(np.sort(apart)[1:].tolist(), abs=1e-7)


def test_cells_that_are_not_there():
    """Names that a table has not; and what has no observations is as expected, and near nothing."""
    x = some_counts(rows=7, columns=5)
    x[6] = 0
    model = CorrespondenceAnalysis(2).fit(x)
    assert model.explain(6, 0).value == 1
    assert 6 not in dict(model.nearest(0, n=99))
    with pytest.raises(InputError, match="no row 7; they go from 0 to 6"):
        model.explain(7, 0)
    model.column_labels_ = tuple("abcde")
    assert model.explain(0, "b") == CorrespondenceAnalysis(2).fit(x).explain(0, 1)
    with pytest.raises(InputError, match="no column 'f'"):
        model.nearest("f", side="columns")
