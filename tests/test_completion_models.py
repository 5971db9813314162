"""Matrices of which some cells are known: kernels, alternating least squares, Gibbs sampling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone

from helpers import refuses
from polyadic import Entries, InputError, load
from polyadic.completion.bayesian import BayesianMatrixFactorization
from polyadic.completion.cells import cells_of
from polyadic.completion.coupled.gibbs import Priors, draw_prior, wishart
from polyadic.completion.factorization import MatrixFactorization
from polyadic.core.kernels import RowEntries, lasso_rows, posterior_rows


def equations(n, m, R, seed):
    """Entries by row with some rows empty, the other factor and a prior."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, n)
    counts[0] = 0
    total = counts.sum()
    entries = RowEntries(
        np.concatenate([[0], np.cumsum(counts)]),
        rng.integers(0, m, total),
        rng.random(total),
        rng.standard_normal(total),
    )
    return entries, rng.standard_normal((m, R)), np.diag(rng.random(R) + 0.5), rng.standard_normal(R)


def dense(entries, V, precision, linear):
    """Matrix and right side of each row."""
    for i in range(len(entries.starts) - 1):
        part = slice(entries.starts[i], entries.starts[i + 1])
        v = V[entries.columns[part]]
        yield precision + (v * entries.c[part, None]).T @ v, linear + entries.y[part] @ v


def planted(n=60, m=40, rank=2, share=0.5, noise=0.0, seed=0):
    """A matrix of low rank with biases, and the same with unknown cells."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, m))
    x += 2 + rng.standard_normal((n, 1)) + rng.standard_normal((1, m)) + noise * rng.standard_normal((n, m))
    return x, np.where(rng.random(x.shape) < share, x, np.nan)


# ---- kernels


@given(st.integers(1, 7), st.integers(1, 5), st.integers(1, 6), st.integers(0, 99), st.integers(1, 3))
def test_rows_solve_their_equations(n, m, R, seed, threads):
    """Rows are solutions of dense systems, whatever the threads; noise is turned by the root of the covariance."""
    entries, V, precision, linear = equations(n, m, R, seed)
    noise = np.random.default_rng(seed).standard_normal((n, R))
    found = posterior_rows(entries, V, precision=precision, linear=linear, threads=threads)
    drawn = posterior_rows(entries, V, precision=precision, linear=linear, noise=noise, threads=threads)
    for i, (A, b) in enumerate(dense(entries, V, precision, linear)):
        np.testing.assert_allclose(found[i], np.linalg.solve(A, b), atol=1e-9)
        np.testing.assert_allclose(np.linalg.cholesky(A).T @ (drawn[i] - found[i]), noise[i], atol=1e-9)


def test_loops_are_guarded():
    """Columns that are not there and matrices that are not positive definite are refused."""
    entries, V, precision, _ = equations(4, 3, 2, 0)
    with pytest.raises(ValueError, match="columns must contain row indices of V"):
        posterior_rows(entries._replace(columns=entries.columns + 3), V, precision=precision, threads=1)
    with pytest.raises(ValueError, match="row 0 is not positive definite"):
        posterior_rows(entries, V, precision=-precision, threads=1)


# ---- alternating least squares


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_the_objective_falls_to_a_stationary_point(power):
    """No sweep raises it, and no small change of a factor or a bias lowers it in the end."""
    _, known = planted(noise=0.3)
    model = MatrixFactorization(2, ridge=0.5, bias_ridge=0.2, count_power=power, max_iter=1000, tol=1e-11, seed=0)
    model.fit(known)
    assert (np.diff(model.history_) <= 1e-9 * model.history_[0]).all()

    def objective(U, V, a, b):
        size = np.sqrt((~np.isnan(known)).sum(axis=0).mean() * (~np.isnan(known)).sum(axis=1).mean())
        counts = [(np.maximum((~np.isnan(known)).sum(axis=axis), 1.0) / size) ** power for axis in (1, 0)]
        left = known - known[~np.isnan(known)].mean() - a[:, None] - b - U @ V.T
        sizes = [0.5 * np.nanstd(known) * (F**2).sum(axis=1) + 0.2 * c**2 for F, c in ((U, a), (V, b))]
        return np.nansum(left**2) + sum(n @ size for n, size in zip(counts, sizes, strict=True))

    parts = [model.row_factors_, model.column_factors_, model.row_biases_, model.column_biases_]
    assert objective(*parts) == pytest.approx(model.history_[-1])
    rng = np.random.default_rng(0)
    for k in range(4):
        step = rng.standard_normal(parts[k].shape)
        ends = [objective(*(p + s * step if at == k else p for at, p in enumerate(parts))) for s in (1e-4, -1e-4)]
        assert abs(ends[0] - ends[1]) / 2e-4 < 1e-3 * np.linalg.norm(step)


# ---- L1 penalty


def test_rows_without_a_penalty_solve_their_equations():
    """Coordinate descent with an L1 penalty of zero agrees with the solution of the equations; shapes are checked."""
    entries, V, precision, _ = equations(9, 6, 4, 0)
    U = np.zeros((9, 4))
    lasso_rows(entries, V, U, precision=precision, l1=np.zeros(4), threads=2)
    np.testing.assert_allclose(U, posterior_rows(entries, V, precision=precision, threads=1), atol=1e-6)
    with pytest.raises(ValueError, match="precision and l1 must have shapes"):
        lasso_rows(entries, V, U, precision=precision, l1=np.zeros(3), threads=1)


def test_rows_with_an_l1_penalty_are_those_of_scikit_learn():
    """Given V, each row is a lasso or an elastic net; a row that lacks cells is folded in alike."""
    from sklearn.linear_model import ElasticNet

    _, known = planted(30, 25, rank=3, noise=0.3)
    for ridge in (1e-12, 0.5):
        model = MatrixFactorization(3, ridge=ridge, l1=0.8, bias_ridge=1e12, max_iter=5, tol=0, seed=0).fit(known)
        rows, s = model.transform(known), model.scale_
        assert (rows[:, :3] == 0).any()
        for x, row in zip(known, rows, strict=True):
            seen = np.flatnonzero(~np.isnan(x))
            lasso, l2 = 0.8 * s**1.5 / (2 * len(seen)), ridge * s / len(seen)
            net = ElasticNet(lasso + l2, l1_ratio=lasso / (lasso + l2), fit_intercept=False, tol=1e-12, max_iter=10**5)
            net.fit(model.column_factors_[seen], x[seen] - model.mean_)
            np.testing.assert_allclose(row[:3], net.coef_, atol=1e-6)
            assert ((row[:3] == 0) == (net.coef_ == 0)).all()


def test_an_l1_penalty_is_at_a_minimum_and_its_objective_never_rises():
    _, known = planted(noise=0.3)
    model = MatrixFactorization(4, ridge=0.5, l1=2.0, count_power=0.5, max_iter=400, tol=0, seed=0).fit(known)
    assert (np.diff(model.history_) <= 1e-9).all()
    seen, s = ~np.isnan(known), model.scale_
    a, b = model.row_biases_[:, None], model.column_biases_[None]
    rest = np.where(seen, known - model.mean_ - a - b - model.row_factors_ @ model.column_factors_.T, 0)
    zeros = 0
    for F, other, residual, n in (
        (model.row_factors_, model.column_factors_, rest, seen.sum(axis=1)),
        (model.column_factors_, model.row_factors_, rest.T, seen.sum(axis=0)),
    ):
        share = (n / model.size_)[:, None] ** 0.5
        g = -2 * residual @ other + 2 * share * 0.5 * s * F  # of the smooth part
        bound = share * 2.0 * s**1.5
        zeros += (F == 0).sum()
        assert (np.abs(g) <= bound + 1e-4)[F == 0].all()
        np.testing.assert_allclose((g + bound * np.sign(F))[F != 0], 0, atol=1e-3)
    assert 0 < zeros < model.row_factors_.size + model.column_factors_.size


def test_a_large_l1_penalty_leaves_biases_and_units_do_not_matter():
    _, known = planted(noise=0.3)
    i, j = np.argwhere(np.isnan(known)).T
    alone, none = (MatrixFactorization(rank, l1=1e3, seed=0, tol=1e-9).fit(known) for rank in (0, 3))
    assert not none.row_factors_.any()
    np.testing.assert_allclose(none.predict(i, j), alone.predict(i, j), atol=1e-3)
    how = {"l1": 0.5, "ridge": 1.0, "max_iter": 400, "tol": 0, "seed": 0}
    one, other = (MatrixFactorization(3, **how).fit(c * known).predict(i, j) for c in (1, 100))
    np.testing.assert_allclose(other / 100, one, atol=1e-3)
    with pytest.raises(InputError, match="explanations require l1=0"):
        none.explain(known[:1], [0])


def test_planted_cells_are_found():
    """Without noise unknown cells are predicted; biases alone are the ridge regression on indicators."""
    x, known = planted()
    model = MatrixFactorization(2, ridge=1e-4, bias_ridge=1e-4, max_iter=300, tol=1e-6, seed=0).fit(known)
    i, j = np.nonzero(np.isnan(known))
    assert np.sqrt(np.mean((model.predict(i, j) - x[i, j]) ** 2)) < 0.05
    alone = MatrixFactorization(0, bias_ridge=0.5, count_power=0, max_iter=2000, tol=1e-12).fit(known)
    i, j = np.nonzero(~np.isnan(known))
    D = np.hstack([np.eye(60)[i], np.eye(40)[j]])
    beta = np.linalg.solve(D.T @ D + 0.5 * np.eye(100), D.T @ (known[i, j] - known[i, j].mean()))
    np.testing.assert_allclose(alone.predict(i, j), known[i, j].mean() + D @ beta, atol=1e-5)


def test_new_rows_are_folded_in():
    """A row that was fitted, given again, has the factors it had; one without cells has zeros."""
    _, known = planted(noise=0.1)
    model = MatrixFactorization(2, max_iter=2000, tol=1e-11, seed=0).fit(known)
    found = model.transform(np.vstack([known[:3], np.full((1, 40), np.nan)]))
    np.testing.assert_allclose(found[:3, :-1], model.row_factors_[:3], atol=1e-4)
    np.testing.assert_allclose(found[:3, -1], model.row_biases_[:3], atol=1e-4)
    assert not found[3].any()


def test_kinds_of_matrices():
    """Entries, sparse matrices and arrays are the same cells; zeros that are listed are known."""
    i, j, v = np.array([2, 0, 1]), np.array([0, 1, 1]), np.array([3.0, 0.0, 2.0])
    full = np.full((3, 2), np.nan)
    full[i, j] = v
    same = [full, coo_array((v, (i, j)), shape=(3, 2)), csr_array((v, (i, j)), shape=(3, 2))]
    same.append(Entries(np.column_stack([i, j]), v, (3, 2), unobserved="missing"))
    for X in same:
        cells = cells_of(X)
        assert (cells.rows.tolist(), cells.columns.tolist(), cells.values.tolist()) == ([0, 1, 2], [1, 1, 0], [0, 2, 3])
        assert cells.turned().turned().values.tolist() == cells.values.tolist()


@pytest.mark.parametrize(
    ("X", "fault"),
    [
        (np.full((2, 2), np.nan), "with 0 observed cells"),
        (np.array([["5", "3"]]), "numeric matrix"),
        (
            coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2)),
            "each cell only once; merge the duplicates of row 0, column 1",
        ),
        (np.array([[1.0, np.inf]]), "X must be finite; row 0, column 1 contains inf"),
        (Entries.collect([[0, 1]], [1.0], 2), "must not be marked as symmetric"),
    ],
)
@pytest.mark.parametrize("model", [MatrixFactorization(1), BayesianMatrixFactorization(1)])
def test_what_cannot_be_completed(model, X, fault):
    """What is no matrix with known cells is refused in a sentence."""
    refuses(fault, clone(model).fit, X)


def test_cells_outside_are_refused():
    """Predictions are of cells of the matrix."""
    model = MatrixFactorization(1, seed=0, max_iter=3, tol=1).fit(planted()[1])
    refuses("row indices must be from 0 to 59; got 60", model.predict, [60], [0])
    refuses("column indices must be .* got -1", model.predict, [0], [-1])


# ---- Gibbs sampling


def test_wishart_has_its_moments():
    """Mean n S, and variance n (S_ij^2 + S_ii S_jj)."""
    rng = np.random.default_rng(0)
    S = np.array([[1.0, 0.3], [0.3, 0.5]])
    drawn = np.stack([wishart(S, 5, rng) for _ in range(20_000)])
    np.testing.assert_allclose(drawn.mean(axis=0), 5 * S, rtol=0.03)
    d = np.diag(S)
    np.testing.assert_allclose(drawn.var(axis=0), 5 * (S**2 + np.outer(d, d)), rtol=0.06)


def test_priors_are_drawn_from_their_posterior():
    """Means are those of the formulas: n / (beta + n) times that of the rows, (R + n) times the inverse scatter."""
    rng = np.random.default_rng(1)
    U = rng.standard_normal((40, 2)) @ np.array([[1.0, 0.5], [0.0, 0.7]]) + [1.0, -2.0]
    drawn = [draw_prior(U, Priors(), rng) for _ in range(2000)]
    mean = U.mean(axis=0)
    np.testing.assert_allclose(np.mean([mu for mu, _ in drawn], axis=0), 40 / 42 * mean, atol=0.01)
    scatter = np.eye(2) + (U - mean).T @ (U - mean) + 2 * 40 / 42 * np.outer(mean, mean)
    np.testing.assert_allclose(np.mean([p for _, p in drawn], axis=0), 42 * np.linalg.inv(scatter), rtol=0.02)


def test_predictions_know_their_uncertainty(tmp_path):
    """Unknown cells lie within two standard deviations as often as they should, and the noise is found."""
    x, known = planted(n=80, m=60, noise=0.5, share=0.4)
    model = BayesianMatrixFactorization(4, seed=0).fit(known)
    i, j = np.nonzero(np.isnan(known))
    found = model.predict_distribution(i, j)
    assert model.noise_ == pytest.approx(0.5, rel=0.1)
    assert 0.92 < np.mean(np.abs(found.mean - x[i, j]) < 2 * found.std) < 0.98
    als = MatrixFactorization(4, seed=0).fit(known)
    assert np.mean((found.mean - x[i, j]) ** 2) < np.mean((als.predict(i, j) - x[i, j]) ** 2)
    assert clone(model).set_params(threads=1).fit(known).noise_ == model.noise_
    clone(model).set_params(draws=50).fit(known).save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").more(30).predict(i, j), found.mean)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(scale):
    """Values in other units, and from elsewhere, are predicted in these units, with as much uncertainty."""
    _, known = planted(noise=0.3)
    i, j = np.nonzero(np.isnan(known))
    one, other = (BayesianMatrixFactorization(3, draws=20, seed=0).fit(x) for x in (known, scale * (known + 5)))
    first, second = (model.predict_distribution(i, j) for model in (one, other))
    np.testing.assert_allclose(second.mean / scale - 5, first.mean, atol=1e-6)
    np.testing.assert_allclose(second.std / scale, first.std, rtol=1e-6)
    assert other.noise_ / scale == pytest.approx(one.noise_)


@pytest.mark.filterwarnings("ignore:.*have no observed cell")
def test_rows_without_cells_are_as_the_prior():
    """They are flagged, and predicted with more uncertainty than others."""
    _, known = planted()
    known[3] = np.nan
    model = BayesianMatrixFactorization(4, seed=0).fit(known)
    assert np.flatnonzero(~model.known_rows_).tolist() == [3]
    assert model.known_columns_.all()
    other = model.predict_distribution(np.full(40, 3), np.arange(40)).std
    assert other.mean() > 2 * model.predict_distribution(np.full(40, 4), np.arange(40)).std.mean()


@pytest.mark.filterwarnings("ignore:.* no observed cell")
@pytest.mark.realdata
def test_ratings(realdata):
    """MovieLens 100K, first fold: below biases alone, and the Bayesian below that."""
    folds = [np.loadtxt(realdata / "ratings" / "ml-100k" / f"u1.{part}", dtype=int)[:, :3] for part in ("base", "test")]
    train, test = folds
    X = coo_array((train[:, 2].astype(float), (train[:, 0] - 1, train[:, 1] - 1)), shape=(943, 1682))
    models = [MatrixFactorization(0), MatrixFactorization(10, seed=0)]
    models.append(BayesianMatrixFactorization(10, draws=30, seed=0))
    errors = [np.sqrt(np.mean((m.fit(X).predict(test[:, 0] - 1, test[:, 1] - 1) - test[:, 2]) ** 2)) for m in models]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.915
