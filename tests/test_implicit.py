"""Implicit feedback: conjugate gradient steps, the loss over all cells, recommendations and how they are judged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone

from helpers import refuses
from polyadic import Entries
from polyadic.completion.cells import cells_of
from polyadic.completion.implicit import ImplicitFactorization
from polyadic.completion.recommending import best_columns
from polyadic.core.kernels import RowEntries, conjugate_rows, posterior_rows
from polyadic.metrics.recommendation import recommendation


def equations(n, m, R, seed, kind):
    """Entries by row with some rows empty, the other factor, a start and a prior."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, n)
    total = counts.sum()
    starts = np.concatenate([[0], np.cumsum(counts)])
    entries = RowEntries(starts, rng.integers(0, m, total), rng.random(total), rng.standard_normal(total))
    V, U = (rng.standard_normal((size, R)).astype(kind) for size in (m, n))
    return entries, V, U, np.diag(rng.random(R) + 0.5)


def heard(n=40, m=30, seed=0):
    """Counts with two groups of rows and of columns."""
    rng = np.random.default_rng(seed)
    mean = np.kron(np.array([[0.5, 0.02], [0.02, 0.5]]), np.ones((n // 2, m // 2)))
    return rng.poisson(mean).astype(float)


# ---- conjugate gradients


@given(st.integers(1, 7), st.integers(1, 5), st.integers(1, 6), st.integers(0, 99), st.integers(1, 3))
def test_as_many_steps_as_columns_solve(n, m, R, seed, threads):
    """R steps reach what elimination reaches, and threads do not matter."""
    entries, V, U, precision = equations(n, m, R, seed, np.float64)
    other = U.copy()
    conjugate_rows(entries, V, U, precision=precision, steps=R + 2, threads=threads)
    conjugate_rows(entries, V, other, precision=precision, steps=R + 2, threads=1)
    np.testing.assert_allclose(U, posterior_rows(entries, V, precision=precision, threads=1), atol=1e-7)
    np.testing.assert_array_equal(U, other)


def test_bits_do_not_depend_on_memory():
    """Wherever the rows lie in memory, sums are added in one order."""
    entries, V, U, precision = equations(1, 2, 4, 4, np.float64)
    found = set()
    for offset in range(50):
        placed = np.empty(200)[offset : offset + U.size].reshape(U.shape)
        placed[:] = U
        conjugate_rows(entries, V, placed, precision=precision, steps=6, threads=1)
        found.add(placed.tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_each_step_lowers_the_quadratic(kind):
    """The first step is steepest descent with an exact line search; no step raises u'Au - 2b'u."""
    entries, V, U, precision = equations(6, 9, 5, 1, kind)
    for i in range(6):
        part = slice(entries.starts[i], entries.starts[i + 1])
        v = V[entries.columns[part]].astype(float)
        A, b = precision + (v * entries.c[part, None]).T @ v, entries.y[part] @ v
        values = []
        for steps in range(4):
            u = U.copy()
            conjugate_rows(entries, V, u, precision=precision, steps=steps, threads=1)
            values.append(u[i] @ A @ u[i] - 2 * b @ u[i])
            if steps == 1 and len(v):
                g = b - A @ U[i]
                np.testing.assert_allclose(u[i], U[i] + g @ g / (g @ A @ g) * g, rtol=1e-4, atol=1e-5)
        assert (np.diff(values) <= 1e-5 * max(map(abs, values))).all()


def test_small_residuals_do_no_harm():
    """Rows that are solved stay; rows without entries become zeros at once, whatever is smaller than float32 holds."""
    entries, V, U, precision = equations(6, 9, 3, 0, np.float32)
    for _ in range(40):
        conjugate_rows(entries, V, U, precision=precision, steps=3, threads=1)
    np.testing.assert_allclose(U, posterior_rows(entries, V, precision=precision, threads=1), atol=1e-4)
    U[:] = 1e-20
    conjugate_rows(entries, V, U, precision=precision, steps=3, threads=1)
    assert np.isfinite(U).all()
    assert not U[np.diff(entries.starts) == 0].any()


def test_the_loop_is_guarded():
    """What does not fit is refused, and so is a matrix that is not positive definite."""
    entries, V, U, precision = equations(6, 9, 3, 0, np.float64)
    with pytest.raises(ValueError, match="columns must contain row indices of V"):
        conjugate_rows(entries, V[:1], U, precision=precision, steps=1, threads=1)
    with pytest.raises(ValueError, match="U and precision must have shapes"):
        conjugate_rows(entries, V, U[:5], precision=precision, steps=1, threads=1)
    with pytest.raises(ValueError, match="is not positive definite"):
        conjugate_rows(entries, V, U, precision=-9 * precision, steps=3, threads=1)


# ---- the model


@pytest.mark.parametrize("steps", [None, 3])
@pytest.mark.parametrize("z", [0.3, 1.0])
def test_the_objective_is_that_of_all_cells(steps, z):
    """The history is the loss written out over every cell; no sweep raises it."""
    x = heard()
    model = ImplicitFactorization(3, alpha=0.7, zero_weight=z, ridge=0.5, steps=steps, max_iter=30, tol=0, seed=0).fit(
        x
    )
    M = model.row_factors_.astype(float) @ model.column_factors_.T
    weights = np.where(x > 0, 1 + 0.7 * x / x[x > 0].mean(), z)
    norms = (model.row_factors_**2).sum() + (model.column_factors_**2).sum()
    loss = (weights * ((x > 0) - M) ** 2).sum() + 0.5 * 1.7 * norms
    assert model.history_[-1] == pytest.approx(loss, rel=1e-5)
    assert (np.diff(model.history_) <= 1e-6 * model.history_[0]).all()


def test_exact_rows_are_stationary():
    """In the end no row can be improved alone: each solves its weighted ridge regression over all columns."""
    x = heard()
    model = ImplicitFactorization(2, alpha=1.5, ridge=0.5, steps=None, max_iter=3, tol=0, seed=0).fit(x)
    V = model.column_factors_
    for i in (0, 7, 39):
        w = 1 + 1.5 * x[i] / x[x > 0].mean()
        solution = np.linalg.solve((V.T * w) @ V + 0.5 * 2.5 * np.eye(2), (V.T * w) @ (x[i] > 0))
        np.testing.assert_allclose(model.row_factors_[i], solution, atol=1e-9)
    np.testing.assert_allclose(model.transform(x[:9]), model.row_factors_[:9], atol=1e-9)


def test_steps_end_where_elimination_ends():
    """Both ways reach the same objective; kinds of matrices and threads do not matter."""
    x = heard()
    exact = ImplicitFactorization(2, steps=None, max_iter=200, tol=1e-7, seed=0).fit(x)
    steps = ImplicitFactorization(2, max_iter=200, tol=1e-7, seed=0, threads=1).fit(csr_array(x))
    assert steps.history_[-1] == pytest.approx(exact.history_[-1], rel=1e-3)
    i, j = np.nonzero(x)
    listed = Entries(np.column_stack([i, j]), x[i, j], x.shape)
    np.testing.assert_array_equal(clone(steps).set_params(threads=2).fit(listed).row_factors_, steps.row_factors_)


def test_groups_are_found():
    """What is recommended to a row, and was not heard, is of its group; rows can be new."""
    x = heard()
    model = ImplicitFactorization(2, seed=0).fit(x)
    found = model.recommend(np.arange(40), 2, without=x)
    own = (np.arange(40) // 20)[:, None] == found.columns // 15
    assert own[found.columns >= 0].mean() > 0.95
    assert not x[np.arange(40)[:, None], found.columns][found.columns >= 0].any()
    np.testing.assert_allclose(model.predict([3], found.columns[3, :1]), found.scores[3, :1], rtol=1e-5)
    folded = model.transform(np.vstack([x[:1], np.eye(30)[[20]]]))
    assert (best_columns(folded, model.column_factors_, 3).columns // 15 == [[0], [1]]).all()


@pytest.mark.parametrize(
    ("X", "fault"),
    [
        (np.array([[1.0, -1.0]]), "negative values; got -1"),
        (np.zeros((2, 2)), "at least one value above 0"),
    ],
)
def test_faults(X, fault):
    """Values out of range are refused."""
    refuses(fault, ImplicitFactorization(1).fit, X)
    model = ImplicitFactorization(1, ridge=0.1, seed=0, max_iter=2, tol=0).fit(np.eye(3))
    refuses("got 3", model.recommend, [3])
    refuses(r"must have shape \(3, 3\)", model.recommend, [0], without=np.eye(2))


def test_nothing_to_leave_out():
    """An empty list of what is known leaves all columns, and no rows have no recommendations."""
    model = ImplicitFactorization(1, ridge=0.1, seed=0, max_iter=2, tol=0).fit(np.eye(3))
    every = model.recommend([0, 2], 3).columns
    for nothing in (csr_array((3, 3)), np.zeros((3, 3)), np.full((3, 3), np.nan)):
        np.testing.assert_array_equal(model.recommend([0, 2], 3, without=nothing).columns, every)
    assert model.recommend([], 2, without=np.eye(3)).columns.shape == (0, 2)
    assert model.predict([], []).shape == (0,)


# ---- recommendations


@given(st.integers(1, 6), st.integers(1, 9), st.integers(1, 12), st.integers(0, 99))
def test_best_columns_are_those_of_a_sort(rows, columns, n, seed):
    """As a stable sort of all scores without those that are known; ties go to the first, the rest is filled up."""
    rng = np.random.default_rng(seed)
    U, V = rng.integers(-2, 3, (rows, 2)).astype(float), rng.integers(-2, 3, (columns, 2)).astype(float)
    known = rng.random((rows, columns)) < 0.4
    known[0, 0] = True
    found = best_columns(U, V, n, without=cells_of(np.where(known, 1.0, np.nan)))
    for i in range(rows):
        left = [j for j in np.argsort(-(V @ U[i]), kind="stable").tolist() if not known[i, j] and U[i].any()][:n]
        assert found.columns[i].tolist() == left + [-1] * (n - len(left))
        np.testing.assert_array_equal(found.scores[i, : len(left)], (V @ U[i])[left])


def test_judged_by_hand():
    """Two of three found, at the first and the third place; a row that holds nothing out does not count."""
    found = recommendation([[5, 1, 7, -1], [2, 3, 4, 5]], [0, 0, 0], [5, 7, 2])
    best = 1 + 1 / np.log2(3) + 0.5
    assert found.recall[0] == pytest.approx(2 / 3)
    assert found.ndcg[0] == pytest.approx(1.5 / best)
    assert np.isnan([found.recall[1], found.ndcg[1]]).all()
    assert recommendation([[4]], [0, 0], [4, 9]).recall.tolist() == [1.0]
    refuses("rows must contain row indices of the recommendations, from 0 to 0; got 1", recommendation, [[4]], [1], [0])
    assert np.isnan(recommendation([[4]], [], []).recall).all()
    for faulty in ([-1], [0.5]):  # what is filled up with -1 names no column
        refuses("must contain integers", recommendation, [[4, -1]], [0], faulty)


@pytest.mark.filterwarnings("ignore::polyadic.core.errors.InputWarning")
@pytest.mark.realdata
def test_listeners(realdata):
    """Last.fm: what was held out is found far better than by how often artists are heard."""
    from experiments.data.ratings import lastfm

    x = lastfm(root=realdata).listens
    held = np.random.default_rng(0).random(len(x)) < 0.2
    i, j = x.indices.T
    train = csr_array((np.log1p(x.values[~held]), (i[~held], j[~held])), shape=x.shape)
    model = ImplicitFactorization(32, alpha=5, ridge=2, max_iter=15, tol=0, seed=0).fit(train)
    named = model.recommend(np.arange(x.shape[0]), 20, without=train).columns
    found = np.nanmean(recommendation(named, i[held], j[held]).ndcg)
    counts = np.bincount(j[~held], minlength=x.shape[1])[:, None].astype(float)
    common = best_columns(np.ones((x.shape[0], 1)), counts, 20, without=cells_of(train)).columns
    assert found > 0.27 > 2 * np.nanmean(recommendation(common, i[held], j[held]).ndcg)
