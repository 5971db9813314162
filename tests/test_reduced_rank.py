"""Reduced-rank regression and low-rank tasks: optimality, agreement with other libraries, planted maps, refusals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV

from polyadic import InputError, LowRankTasks, ReducedRankRegression, ReducedRankRegressionCV
from polyadic.core.losses import Huber, Logistic, Squared
from polyadic.supervised.multitask import RIDGE, Tasks
from polyadic.supervised.reduced_rank import spectrum_of

RNG = np.random.default_rng(0)


def problem(n=40, d=6, K=5, rank=2, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 2
    return X, X @ rng.normal(size=(d, rank)) @ rng.normal(size=(rank, K)) + noise * rng.normal(size=(n, K)) - 1


def objective(X, Y, U, V, ridge):
    """Give the objective at the best intercepts."""
    R = Y - Y.mean(axis=0) - (X - X.mean(axis=0)) @ U @ V.T
    return (R**2).sum() + ridge * ((U @ V.T) ** 2).sum()


@given(
    st.integers(2, 9),
    st.integers(1, 9),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from([0.1, 5.0]),
    st.booleans(),
)
def test_the_solution_is_the_best(n, d, K, rank, ridge, sparse):
    """Nothing that a search from elsewhere finds is better; sparse features make no difference."""
    rng = np.random.default_rng(n * 100 + d)
    X, Y = rng.normal(size=(n, d)) + 1, rng.normal(size=(n, K))
    model = ReducedRankRegression(rank, ridge=ridge).fit(csr_array(X) if sparse else X, Y)
    R = model.V_.shape[1]
    np.testing.assert_allclose(model.V_.T @ model.V_, np.eye(R), atol=1e-9)
    best = objective(X, Y, model.U_, model.V_, ridge)
    np.testing.assert_allclose(model.predict(X).mean(axis=0), Y.mean(axis=0), atol=1e-8)

    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)

    def value_and_slope(theta):
        U, V = theta[: d * R].reshape(d, R), theta[d * R :].reshape(K, R)
        W = 2 * (Xc.T @ (Xc @ U @ V.T - Yc) + ridge * U @ V.T)
        return objective(X, Y, U, V, ridge), np.r_[(W @ V).ravel(), (W.T @ U).ravel()]

    start = rng.normal(size=(d + K) * R)
    other = minimize(value_and_slope, start, jac=True, method="BFGS", options={"maxiter": 300})
    assert best <= other.fun + 1e-6 * (1 + other.fun)


def test_whole_rank_is_ridge_regression():
    """So it is with scikit-learn's, in both shapes of the features."""
    for n, d in ((40, 6), (8, 20)):
        X, Y = problem(n, d)
        expected = Ridge(2.0).fit(X, Y).predict(X)
        np.testing.assert_allclose(ReducedRankRegression(9, ridge=2.0).fit(X, Y).predict(X), expected, atol=1e-8)


def test_no_ridge_and_features_that_depend_on_one_another():
    """Directions that features do not have get no weight; constant features predict the mean."""
    X, Y = problem()
    twice = np.c_[X, X, np.ones(len(X))]
    plain = ReducedRankRegression(2, ridge=0).fit(X, Y).predict(X)
    np.testing.assert_allclose(ReducedRankRegression(2, ridge=0).fit(twice, Y).predict(twice), plain, atol=1e-7)
    flat = ReducedRankRegression(2).fit(np.ones((40, 3)), Y)
    np.testing.assert_allclose(flat.predict(np.ones((1, 3)))[0], Y.mean(axis=0))


def test_shifted_and_turned():
    """Shifts of features or targets move nothing; turned targets turn the predictions."""
    X, Y = problem()
    Q = np.linalg.qr(RNG.normal(size=(5, 5)))[0]
    expected = ReducedRankRegression(2).fit(X, Y).predict(X)
    np.testing.assert_allclose(ReducedRankRegression(2).fit(X + 100, Y - 7).predict(X + 100), expected - 7, atol=1e-8)
    np.testing.assert_allclose(ReducedRankRegression(2).fit(X, Y @ Q).predict(X), expected @ Q, atol=1e-8)


def test_held_out_errors_are_those_of_fits():
    """The table of all ranks and ridges is what fitting each of them gives, and the smallest is chosen."""
    X, Y = problem(noise=1.0)
    model = ReducedRankRegressionCV(ranks=[3, 1, 8], ridges=[0.5, 50.0], folds=4, seed=3).fit(X, Y)
    fold = np.random.default_rng(3).permutation(len(Y)) % 4
    for i, ridge in enumerate([0.5, 50.0]):
        for j, rank in enumerate([3, 1, 8]):
            wrong = 0.0
            for k in range(4):
                fitted = ReducedRankRegression(rank, ridge=ridge).fit(X[fold != k], Y[fold != k])
                wrong += ((fitted.predict(X[fold == k]) - Y[fold == k]) ** 2).sum()
            assert model.errors_[i, j] == pytest.approx(wrong / Y.size)
    i, j = np.unravel_index(model.errors_.argmin(), (2, 3))
    assert (model.rank_, model.ridge_) == ([3, 1, 8][j], [0.5, 50.0][i])
    same = ReducedRankRegression(model.rank_, ridge=model.ridge_).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), same.predict(X))


def test_the_planted_rank_is_found():
    """With enough rows, held-out rows know the rank."""
    X, Y = problem(n=300, d=10, K=8, rank=3)
    assert ReducedRankRegressionCV().fit(X, Y).rank_ == 3


def test_something_to_choose_from():
    """An empty list of ranks or ridges is refused."""
    with pytest.raises(InputError, match="must not be empty"):
        ReducedRankRegressionCV(ranks=[]).fit(*problem())


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Huber()])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_gradient_of_tasks(loss, missing, sparse):
    """The gradient is the slope of the value, with cells missing or not."""
    X, Y = problem(12, 4, 3)
    Y = (np.median(Y) < Y).astype(float) if isinstance(loss, Logistic) else Y
    if missing:
        Y[RNG.random(Y.shape) < 0.4] = np.nan
    tasks = Tasks(csr_array(X) if sparse else X, Y, loss=loss, ridge=0.7)
    shapes = [(4, 2), (3, 2), (3,)]
    cuts = np.cumsum([8, 6])

    def parts(theta):
        return [part.reshape(shape) for part, shape in zip(np.split(theta, cuts), shapes, strict=True)]

    def value(theta):
        return tasks.value_and_gradient(parts(theta))[0]

    def gradient(theta):
        return np.concatenate([g.ravel() for g in tasks.value_and_gradient(parts(theta))[1]])

    assert check_grad(value, gradient, RNG.normal(size=17)) < 1e-4
    start = np.concatenate([u.ravel() for u in tasks.start(2)])
    assert value(start) < value(np.r_[np.zeros(14), start[14:]])


def test_enough_rank_is_the_trace_norm():
    """With a rank that does not bind, the optimum is that of the convex problem, solved by another library."""
    cvxpy = pytest.importorskip("cvxpy")
    X, Y = problem(20, 5, 4, noise=1.0)
    Y[RNG.random(Y.shape) < 0.3] = np.nan
    model = LowRankTasks(4, ridge=8.0, tol=1e-13, max_iter=5000).fit(X, Y)
    theta, b = cvxpy.Variable((5, 4)), cvxpy.Variable((1, 4))
    known = ~np.isnan(Y)
    R = cvxpy.multiply(known, X @ theta + np.ones((20, 1)) @ b - np.nan_to_num(Y))
    cost = cvxpy.sum_squares(R) / 2 + 8.0 * cvxpy.normNuc(theta) + RIDGE / 2 * cvxpy.sum_squares(b - np.nanmean(Y))
    best = cvxpy.Problem(cvxpy.Minimize(cost)).solve()
    assert model.history_[-1] == pytest.approx(best, rel=1e-4)
    np.testing.assert_allclose(model.U_ @ model.V_.T, theta.value, atol=0.02)


def test_one_label_is_logistic_regression():
    """One label of one direction: the trace norm of a vector is its length."""
    X, Y = problem(60, 4, 1, rank=1)
    X = X - X.mean(axis=0)
    y = (np.median(Y) < Y).astype(float)
    model = LowRankTasks(1, loss="logistic", ridge=2.0, tol=1e-12, max_iter=3000).fit(X, y)
    w = (model.U_ @ model.V_.T).ravel()
    plain = LogisticRegression(C=np.linalg.norm(w) / 2.0, tol=1e-10, max_iter=9999).fit(X, y.ravel())
    np.testing.assert_allclose(w, plain.coef_[0], rtol=2e-3)  # where the gradients of both penalties are the same
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], plain.predict_proba(X)[:, 1], atol=5e-3)
    assert model.predict(X).dtype == bool


def test_tasks_share_what_they_have():
    """Tasks with fewer rows than features are learned from one another; scikit-learn can search for settings."""
    rng = np.random.default_rng(4)
    X, task = rng.normal(size=(240, 12)), np.arange(240) % 30
    theta = rng.normal(size=(12, 2)) @ rng.normal(size=(2, 30))
    y = np.einsum("nd,dn->n", X, theta[:, task]) + 0.1 * rng.normal(size=240)
    Y = np.full((240, 30), np.nan)
    Y[np.arange(240), task] = y
    model = LowRankTasks(2, ridge=0.1, tol=1e-7).fit(X, Y)
    Z, at = rng.normal(size=(300, 12)), rng.integers(0, 30, 300)
    truth = np.einsum("nd,dn->n", Z, theta[:, at])
    assert np.corrcoef(model.predict_tasks(Z, at), truth)[0, 1] > 0.98
    apart = np.array([Ridge(0.1).fit(X[task == k], y[task == k]).predict(Z) for k in range(30)])[at, np.arange(300)]
    assert np.corrcoef(apart, truth)[0, 1] < 0.9
    search = GridSearchCV(LowRankTasks(ridge=0.1), {"rank": [1, 2, 10]}, cv=3).fit(X, Y)
    assert search.best_params_["rank"] > 1


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_shifted_targets_shift_predictions(loss):
    """By no less, however far; a task of which nothing is known has the mean of all."""
    X, Y = problem(60, 4, 3)
    Y[:, 1] = np.nan
    model = LowRankTasks(2, loss=loss, tol=1e-8)
    expected = model.fit(X, Y).predict(X)
    np.testing.assert_allclose(model.fit(X, Y + 1e4).predict(X) - 1e4, expected, atol=1e-3)
    np.testing.assert_allclose(model.predict(X)[:, 1], np.nanmean(Y) + 1e4)


def test_a_label_that_nothing_has():
    """Its probability is low, and the others are as without it."""
    X, Y = problem(60, 4, 3)
    Y = (np.median(Y) < Y).astype(float)
    with_it = LowRankTasks(2, loss="logistic", tol=1e-9).fit(X, np.c_[Y, np.zeros(60)])
    without = LowRankTasks(2, loss="logistic", tol=1e-9).fit(X, Y)
    assert with_it.predict_proba(X)[:, 3].max() < 0.02
    np.testing.assert_allclose(with_it.predict_proba(X)[:, :3], without.predict_proba(X), atol=1e-2)


def test_tasks_refuse():
    """What does not fit is named."""
    X, Y = problem(10, 4, 3)
    for targets, fault in (
        (Y[:5], "targets must have 10 rows"),
        (Y[:, 0], "targets must have 10 rows"),
        (np.full_like(Y, np.nan), "one target must be known"),
        (np.where(Y > 0, np.inf, Y), "must be finite"),
    ):
        with pytest.raises(InputError, match=fault):
            LowRankTasks(2).fit(X, targets)
    with pytest.raises(InputError, match="must be from 0 to 1"):
        LowRankTasks(2, loss="logistic").fit(X, Y)
    with pytest.raises(ValueError, match="NaN"):
        LowRankTasks(2).fit(np.full((10, 4), np.nan), Y)
    model = LowRankTasks(2).fit(X, Y)
    for tasks in ([0, 1], np.full(10, 3), np.full(10, -1), np.zeros(10)):
        with pytest.raises(InputError, match="tasks must contain an index from 0 to"):
            model.predict_tasks(X, tasks)
    with pytest.raises(InputError, match="predict_proba requires"):
        model.predict_proba(X)
    with pytest.raises(InputError, match="targets must have shape"):
        model.score(X, Y[:, :2])


def test_spectrum_in_both_shapes():
    """More features than rows or fewer: the same maps."""
    X, Y = problem(7, 7)
    wide = np.c_[X, np.zeros((7, 1))]
    U, V = spectrum_of(X, Y).directions(0.3)
    W, T = spectrum_of(csr_array(wide), Y).directions(0.3)
    np.testing.assert_allclose(U @ V.T, (W @ T.T)[:7], atol=1e-8)
