"""Truth values: logistic factorization, pairwise ranking, generalized principal components and sign rank."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from experiments.bouchard2015.demonstrations import wrong_signs
from helpers import refuses
from polyadic.completion.cells import positive_cells
from polyadic.completion.generalized_pca import GeneralizedPCA
from polyadic.completion.logistic import LogisticFactorization
from polyadic.completion.pairwise_ranking import PairwiseRanking
from polyadic.completion.recommending import best_columns
from polyadic.core.kernels import sgd_pairs
from polyadic.core.losses import LogPoisson

pytestmark = pytest.mark.filterwarnings("ignore:.*have no observed cell")


def blocks(n=40, m=30, share=0.3, seed=0):
    """Ones in two blocks, of which only a share is listed."""
    rng = np.random.default_rng(seed)
    x = np.kron(np.eye(2), np.ones((n // 2, m // 2)))
    return x, x * (rng.random(x.shape) < share)


# ---- logistic factorization


def test_rows_are_logistic_regressions():
    """In the end each row is the regression of its labels on the factors of columns, and raising it helps not."""
    rng = np.random.default_rng(0)
    m = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 25))
    x = np.where(rng.random(m.shape) < 0.7, (rng.random(m.shape) < 1 / (1 + np.exp(-2 * m))).astype(float), np.nan)
    model = LogisticFactorization(2, ridge=0.5, max_iter=3000, tol=1e-10, seed=0).fit(x)
    assert (np.diff(model.history_) <= 0).all()
    for i in range(3):
        known = ~np.isnan(x[i])
        alone = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-8).fit(model.column_factors_[known], x[i, known])
        np.testing.assert_allclose(model.row_factors_[i], alone.coef_[0], atol=1e-3)
    i, j = np.nonzero(np.isnan(x))
    assert ((model.predict(i, j) > 0.5) == (m[i, j] > 0)).mean() > 0.75


@pytest.mark.parametrize("within", ["row", "column", "all"])
def test_true_cells_alone(within):
    """With zeros drawn, unobserved cells of the right block come before others; more of one side are no hindrance."""
    truth, x = blocks(n=60, m=20)
    model = LogisticFactorization(2, ridge=0.5, n_negatives=2, sampling_axis=within, max_iter=40, tol=0, seed=0).fit(x)
    i, j = np.nonzero(x == 0)
    assert roc_auc_score(truth[i, j], model.predict(i, j)) > 0.95
    assert model.row_factors_.shape == (60, 2)


@pytest.mark.parametrize(
    ("X", "how", "fault"),
    [
        (np.array([[0.0, 2.0, 1.0]]), {}, r"labels must be 0 or 1; got 2 \(1 invalid\)"),
        (np.array([[-1.0, 1.0]]), {}, "labels must be 0 or 1; got -1"),
        (np.zeros((2, 2)), {}, "all labels are 0"),
        (np.array([[1.0, np.nan]]), {}, "set n_negatives above 0"),
        (np.eye(2), {"sampling_axis": "table"}, "sampling_axis must be one of"),
    ],
)
def test_labels(X, how, fault):
    """Labels that are none, and true ones alone without false ones drawn, are refused in a sentence."""
    refuses(fault, LogisticFactorization(1, **how).fit, X)


# ---- pairwise ranking


@pytest.mark.parametrize("within", ["row", "column"])
def test_listed_before_unobserved(within):
    """Of cells never listed those of the right block come first, among columns of a row or rows of a column."""
    truth, x = blocks(n=60, m=20)
    model = PairwiseRanking(2, sampling_axis=within, seed=0).fit(x)
    U, V, wanted, known = model.row_factors_, model.column_factors_, truth, x
    if within == "column":
        U, V, wanted, known = V, U, truth.T, x.T
    first = best_columns(U, V, 1, without=positive_cells(known)).columns[:, 0]
    assert wanted[np.arange(len(U)), first].mean() > 0.95
    assert model.history_[-1] < 0.6 * model.history_[0]
    np.testing.assert_array_equal(clone(model).fit(x > 0).row_factors_, model.row_factors_)


def test_negatives_of_all_cells():
    """An epoch of small steps is, on average, the gradient over all pairs of an observed and an unobserved cell."""
    rng = np.random.default_rng(0)
    x = rng.random((4, 3)) < 0.4
    U, V = rng.standard_normal((4, 2)), rng.standard_normal((3, 2))
    dU, dV = np.zeros_like(U), np.zeros_like(V)
    for i, j in np.argwhere(x):
        for k, l in np.argwhere(~x):  # noqa: E741 the names of the formula
            slope = 1 / (1 + np.exp(U[i] @ V[j] - U[k] @ V[l])) / (~x).sum()
            dU[i] += slope * V[j] - 0.1 * U[i] / (~x).sum()
            dV[j] += slope * U[i] - 0.1 * V[j] / (~x).sum()
            dU[k] -= slope * V[l] + 0.1 * U[k] / (~x).sum()
            dV[l] -= slope * U[k] + 0.1 * V[l] / (~x).sum()
    n, step = 40_000, 1e-8
    moved = [U.copy(), V.copy()]
    how = {"negatives": n, "step": step, "ridge": 0.1, "rng": rng, "threads": 1, "everywhere": True}
    sgd_pairs(*np.nonzero(x), U=moved[0], V=moved[1], **how)
    for new, old, gradient in ((moved[0], U, dU), (moved[1], V, dV)):
        np.testing.assert_allclose((new - old) / (n * step), gradient, atol=0.03)
    refuses("at least one cell must be unobserved", PairwiseRanking(1, sampling_axis="all").fit, np.ones((2, 2)))


def test_scores_of_rows_compare():
    """With negatives of all cells, a planted order over the whole matrix is found, not only within rows."""
    truth, x = blocks(n=60, m=20)
    model = PairwiseRanking(2, sampling_axis="all", seed=0).fit(x)
    i, j = np.nonzero(x == 0)
    assert roc_auc_score(truth[i, j], model.predict(i, j)) > 0.95
    assert model.history_[-1] < 0.6 * model.history_[0]


def test_what_cannot_be_ranked():
    """A matrix listed everywhere has no cell to be ranked below."""
    refuses("at least one row must have both", PairwiseRanking(1).fit, np.ones((2, 2)))
    half = np.array([[1.0, 1.0], [0.0, 0.0]])
    refuses("at least one row must have both observed and unobserved cells", PairwiseRanking(1).fit, half)
    assert PairwiseRanking(1, sampling_axis="column", max_iter=2).fit(half).n_iter_ == 2
    refuses("learning_rate must be", PairwiseRanking(1, learning_rate=0).fit, np.eye(2))


# ---- generalized principal components


def test_normal_components_are_principal():
    """Without a penalty the normal family gives the projection of principal component analysis."""
    x = np.random.default_rng(0).standard_normal((30, 8)) * np.arange(8, 0, -1)
    model = GeneralizedPCA(2, ridge=0, max_iter=5000, tol=1e-12, seed=0).fit(x)
    pca = PCA(2).fit(x)
    fitted = model.inverse_transform(model.row_factors_)
    np.testing.assert_allclose(fitted, pca.inverse_transform(pca.transform(x)), atol=1e-3)


@pytest.mark.parametrize("family", ["normal", "bernoulli", "poisson"])
def test_planted_means_are_found(family):
    """Means are nearer to the truth than values are, totals of columns are kept, and rows given again fold in."""
    rng = np.random.default_rng(1)
    m = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 40)) * 0.8 + 0.5
    draw = {
        "normal": lambda: m + rng.standard_normal(m.shape),
        "bernoulli": lambda: (rng.random(m.shape) < 1 / (1 + np.exp(-m))).astype(float),
        "poisson": lambda: rng.poisson(np.exp(m)).astype(float),
    }
    mean = {"normal": m, "bernoulli": 1 / (1 + np.exp(-m)), "poisson": np.exp(m)}[family]
    x = draw[family]()
    model = GeneralizedPCA(2, family=family, ridge=0.5, max_iter=3000, tol=1e-9, seed=0).fit(x)
    fitted = model.inverse_transform(model.row_factors_)
    even = np.sqrt if family == "poisson" else np.positive  # to about the same noise everywhere
    assert ((even(fitted) - even(mean)) ** 2).mean() < 0.4 * ((even(x) - even(mean)) ** 2).mean()
    np.testing.assert_allclose(fitted.mean(axis=0), x.mean(axis=0), atol=0.02 * x.std())
    np.testing.assert_allclose(model.transform(x[:5]), model.row_factors_[:5], atol=0.02)


def test_unknown_values_do_not_count():
    """What stands at unknown cells plays no part; known ones of a wrong kind are refused."""
    x = (np.random.default_rng(0).random((9, 6)) < 0.5).astype(float)
    x[0, :3] = np.nan
    model = GeneralizedPCA(1, family="bernoulli", seed=0).fit(x)
    assert np.isfinite(model.row_factors_).all()
    refuses("between 0 and 1", clone(model).fit, 2 * x)
    refuses("between 0 and inf", GeneralizedPCA(1, family="poisson").fit, -x)
    refuses("at least one observed cell", GeneralizedPCA(1).fit, np.full((2, 2), np.nan))
    refuses("a numeric matrix", GeneralizedPCA(1).fit, [["a", "b"]])


def test_counts_with_a_logarithm():
    """The derivative is that of the loss, which is zero at its best, and goes on beyond where exponentials end."""
    loss, rng = LogPoisson(), np.random.default_rng(0)
    for x, m in zip(rng.poisson(3.0, 20).astype(float), [*rng.normal(0, 2, 18), 81.0, 300.0], strict=True):
        one = np.array([x])
        error = check_grad(lambda p, c=one: loss.value(c, p)[0], lambda p, c=one: loss.grad(c, p), np.array([m]))
        assert error < 1e-4 * max(1.0, abs(loss.grad(one, np.array([m]))[0]))
    counts = np.array([1.0, 5.0])
    np.testing.assert_allclose(loss.value(counts, np.log(counts)), 0, atol=1e-12)
    assert np.isfinite(loss.value(counts.astype(np.float32), np.float32([800, -800]))).all()


# ---- sign rank


def test_signs_need_less_rank_than_values():
    """The identity has full rank and sign rank three, a triangle full rank and sign rank two."""
    n = 12
    identity, triangle = 2 * np.eye(n) - 1, 2 * np.triu(np.ones((n, n))) - 1
    assert np.linalg.matrix_rank(identity) == np.linalg.matrix_rank(triangle) == n
    three, nearly = wrong_signs(identity, [3, n - 1], seed=0)
    assert three.logistic == 0
    assert three.svd > n // 2
    assert nearly.svd > 0
    assert wrong_signs(triangle, [2], seed=0)[0].logistic == 0
    refuses("-1 and 1", wrong_signs, np.eye(3), [1])
    refuses("starts must be", wrong_signs, identity, [3], starts=0)
