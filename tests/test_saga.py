"""Stochastic average gradients, SAG and SAGA."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

from helpers import refuses
from polyadic import FactorizationMachine, FactorizationMachineClassifier, LogisticFactorization, MatrixFactorization
from polyadic.completion.factorization import StochasticMatrixFactorization
from polyadic.core.kernels import LinearExamples, saga_epoch

SLOPES = {
    0: lambda m, y: m - y,
    1: lambda m, y: 1 / (1 + np.exp(-m)) - y,
    2: lambda m, y: np.clip(m - y, -1, 1),
}


def binary(n=200, d=12, seed=0):
    """Sparse features and labels that they do not separate."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.4)
    return X, (X @ rng.standard_normal(d) + rng.standard_normal(n) > 0.3).astype(float)


def examples(X, y, weights, offsets):
    x = csr_array(X)
    return LinearExamples(np.array([0, len(y)]), x.indptr, x.indices, x.data, y, offsets, weights)


def epoch_of_the_papers(X, y, weights, offsets, w, memory, kind, l2, l1, sag, rng):
    """An epoch as printed, with dense features and all weights moved at each step."""
    n = len(y)
    w, memory = w.copy(), memory.copy()
    mean = memory @ X / n
    L = (0.25 if kind == 1 else 1) * (weights * (X**2).sum(axis=1)).max() + l2.max()
    step = 1 / L if sag else 1 / (3 * L)
    for e in (rng.random(n) * n).astype(int):
        new = weights[e] * SLOPES[kind](X[e] @ w + offsets[e], y[e])
        change = (new - memory[e]) * X[e]
        direction = mean + change / n if sag else mean + change
        memory[e], mean = new, mean + change / n
        w = w - step * (direction + l2 * w)
        w = np.sign(w) * np.maximum(np.abs(w) - step * l1, 0)
    return w, memory, mean


@pytest.mark.parametrize("sag", [True, False])
@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize("lasso", [0.0, 0.02])
def test_an_epoch_is_that_of_the_papers(sag, kind, lasso):
    """Weights that are moved when their feature next occurs are those that are moved at each step."""
    X, y = binary(60)
    rng = np.random.default_rng(1)
    weights, offsets, w, memory = rng.random(60) + 0.5, rng.normal(size=60), rng.normal(size=12), rng.normal(size=60)
    l2, l1 = np.where(np.arange(12) % 3, 0.05, 0.0), np.full(12, lasso)
    expected = epoch_of_the_papers(X, y, weights, offsets, w, memory, kind, l2, l1, sag, np.random.default_rng(2))
    W = w[None].copy()
    how = {"kind": kind, "l2": l2[None], "l1": l1[None], "sag": sag, "rng": np.random.default_rng(2), "threads": 1}
    mean = saga_epoch(examples(X, y, weights, offsets), W, memory, **how)
    for found, wanted in zip((W[0], memory, mean[0]), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(mean[0], memory @ X / 60, atol=1e-12)  # the average is that of the memory


@pytest.mark.parametrize("solver", ["sag", "saga"])
def test_the_optimum_is_that_of_quasi_newton_and_is_approached_geometrically(solver):
    X, y = binary()

    def objective(z):
        m = X @ z[:-1] + z[-1]
        return (np.logaddexp(0, m) - y * m).sum() + 0.5 * z[:-1] @ z[:-1]

    best = minimize(objective, np.zeros(13), method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    model = FactorizationMachineClassifier(order=1, solver=solver, count_power=0, max_iter=60, tol=0, seed=0)
    model.fit(X, y)
    np.testing.assert_allclose(np.append(model.weights_, model.bias_), best.x, atol=1e-4)
    gaps = np.array(model.history_) - model.history_[-1]
    assert (gaps[10:50:10] < 0.5 * gaps[:40:10]).all()
    assert gaps[30] < 1e-3 * gaps[0]


@pytest.mark.parametrize("machine", [FactorizationMachine, FactorizationMachineClassifier])
def test_weights_with_an_l1_penalty_meet_the_conditions_of_the_optimum(machine):
    X, y = binary()
    model = machine(order=1, solver="saga", linear_ridge=0.5, l1=6, count_power=0, max_iter=400, tol=0, seed=0)
    model.fit(csr_array(X), y)
    m = X @ model.weights_ + model.bias_
    g = X.T @ SLOPES[int(machine is FactorizationMachineClassifier)](m, y) + 0.5 * model.weights_
    zero = model.weights_ == 0
    assert 0 < zero.sum() < 12
    assert (np.abs(g[zero]) <= 6).all()
    np.testing.assert_allclose(g[~zero], -6 * np.sign(model.weights_[~zero]), atol=1e-4)


@pytest.mark.parametrize("solver", ["sag", "saga"])
def test_factors_of_labels_are_stationary(solver):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20)) > 0).astype(float)
    x[rng.random(x.shape) < 0.3] = np.nan
    model = LogisticFactorization(2, ridge=0.5, solver=solver, max_iter=400, tol=0, seed=0).fit(x)
    U, V = model.row_factors_, model.column_factors_
    slopes = np.where(np.isnan(x), 0, SLOPES[1](U @ V.T, np.nan_to_num(x)))
    np.testing.assert_allclose(slopes @ V + 0.5 * U, 0, atol=2e-3)
    np.testing.assert_allclose(slopes.T @ U + 0.5 * V, 0, atol=2e-3)
    lbfgs = LogisticFactorization(2, ridge=0.5, max_iter=400, tol=0, seed=0).fit(x)
    assert model.history_[-1] == pytest.approx(lbfgs.history_[-1], rel=1e-3)


@pytest.mark.parametrize(("solver", "l1"), [("sag", 0.0), ("saga", 0.0), ("saga", 0.5)])
def test_factors_of_values_reach_the_objective_of_alternating_least_squares(solver, l1):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30)) + 0.1 * rng.standard_normal((40, 30))
    x[rng.random(x.shape) < 0.4] = np.nan
    how = {"ridge": 1.0, "l1": l1, "tol": 0, "seed": 0}
    exact = MatrixFactorization(2, count_power=1, max_iter=300, **how).fit(x)
    model = StochasticMatrixFactorization(2, solver=solver, max_iter=600, **how).fit(x)
    assert model.history_[-1] == pytest.approx(exact.history_[-1], rel=1e-3)


def test_threads_do_not_change_the_result():
    x = np.random.default_rng(0).integers(0, 2, (300, 200)).astype(float)
    one, two = (
        LogisticFactorization(2, solver="saga", max_iter=2, tol=0, seed=0, threads=threads).fit(x) for threads in (1, 2)
    )
    np.testing.assert_array_equal(one.row_factors_, two.row_factors_)


def test_settings_that_do_not_fit_together_are_refused():
    X, y = binary(20)
    refuses("solver='saga' fits linear models only", FactorizationMachine(solver="saga").fit, X, y)
    refuses("l1 requires solver='saga'; got solver='als'", FactorizationMachine(order=1, l1=1.0).fit, X, y)
    refuses("l1 requires solver='saga'; got solver='sgd'", StochasticMatrixFactorization(l1=1.0).fit, X)
    refuses("solver='sag' requires n_negatives=0", LogisticFactorization(solver="sag", n_negatives=1).fit, np.eye(4))
    assert not hasattr(FactorizationMachine(order=1, solver="sag"), "partial_fit")
    with pytest.raises(ValueError, match="one row for each model"):
        saga_epoch(
            examples(X, y, np.ones(20), np.zeros(20)), np.zeros((2, 12)), np.zeros(20), kind=0,
            l2=np.zeros((2, 12)), l1=np.zeros((2, 12)), sag=True, rng=np.random.default_rng(0), threads=1,
        )  # fmt: skip
