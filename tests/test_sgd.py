"""Stochastic gradient descent over cells and over pairs: its steps, where it ends, and the draws of unlisted cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from polyadic import InputError
from polyadic.kernels import absent_columns, sgd_cells, sgd_pairs
from polyadic.models.completion.factorization import MatrixFactorization, StochasticMatrixFactorization
from polyadic.plots import descent


def centred(n=40, m=30, seed=0):
    """A matrix of which rows and columns add up to zero: biases explain nothing of it."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 6)) * [5, 4, 3, 1, 0.5, 0.2] @ rng.standard_normal((6, m)) / 3
    return x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()


def numerical(f, F):
    """Give the gradient of f by F, by differences."""
    found = np.zeros_like(F)
    for at in np.ndindex(*F.shape):
        ends = []
        for h in (1e-6, -1e-6):
            F[at] += h
            ends.append(f())
            F[at] -= h
        found[at] = (ends[0] - ends[1]) / 2e-6
    return found


def test_a_cell_moves_down_its_gradient():
    """One cell moves both rows, and the biases, by the step times the gradient where they were."""
    rng = np.random.default_rng(0)
    U, V, ridges = rng.standard_normal((2, 4)), rng.standard_normal((3, 4)), np.array([0.3, 0.3, 0.3, 0.1])

    def loss():
        m = U[1, :3] @ V[2, :3] + U[1, 3] + V[2, 3]
        return 0.5 * (1.7 - m) ** 2 + 0.5 * ridges @ (U[1] ** 2 + V[2] ** 2)

    wanted = [F - 0.1 * numerical(loss, F) for F in (U, V)]
    sgd_cells(np.array([1]), np.array([2]), np.array([1.7]), U=U, V=V, step=0.1, ridges=ridges)
    np.testing.assert_allclose(U, wanted[0], atol=1e-8)
    np.testing.assert_allclose(V, wanted[1], atol=1e-8)


def test_a_pair_moves_down_its_gradient():
    """One triple moves three rows by the step times the gradient of -log sigma where they were."""
    rng = np.random.default_rng(0)
    U, V = rng.standard_normal((2, 3)), rng.standard_normal((4, 3))

    def loss():
        sizes = (U[1] ** 2).sum() + (V[[3, 0]] ** 2).sum()
        return np.log1p(np.exp(-U[1] @ (V[3] - V[0]))) + 0.5 * 0.2 * sizes

    wanted = [F - 0.1 * numerical(loss, F) for F in (U, V)]
    sgd_pairs(np.array([1]), np.array([3]), np.array([0]), U=U, V=V, step=0.1, ridge=0.2)
    np.testing.assert_allclose(U, wanted[0], atol=1e-8)
    np.testing.assert_allclose(V, wanted[1], atol=1e-8)
    far = np.full((1, 1), 1e4)
    sgd_pairs(np.array([0]), np.array([0]), np.array([1]), U=far, V=np.array([[1.0], [0.0]]), step=0.1, ridge=0.0)
    assert far[0, 0] == 1e4


@given(st.integers(1, 5), st.integers(1, 8), st.integers(0, 99))
def test_drawn_columns_are_not_listed(n, m, seed):
    """None is listed, each other one comes up; a row that lists all has none."""
    rng = np.random.default_rng(seed)
    listed = rng.random((n, m)) < 0.5
    columns = np.nonzero(listed)[1]
    starts = np.concatenate([[0], np.cumsum(listed.sum(axis=1))])
    asked = np.repeat(np.arange(n), 60 * m)
    drawn = absent_columns(starts, columns, asked, number=m, rng=rng).reshape(n, -1)
    for i in range(n):
        assert set(drawn[i].tolist()) == (set(np.flatnonzero(~listed[i]).tolist()) or {-1})


def test_descent_ends_at_the_singular_value_decomposition():
    """On a matrix known everywhere the error comes down to that of the truncated SVD, and so do the subspaces."""
    x = centred()
    left, sizes, right = np.linalg.svd(x, full_matrices=False)
    how = {"ridge": 1e-9, "bias_ridge": 1e-9, "max_iter": 1500, "tol": 0, "seed": 0}
    model = StochasticMatrixFactorization(3, step=0.02, decay=0.05, **how).fit(x)
    best = (sizes[3:] ** 2).sum()
    assert best <= model.history_[-1] < 1.001 * best
    for F, wanted in ((model.row_factors_, left[:, :3]), (model.column_factors_, right[:3].T)):
        basis, _ = np.linalg.qr(F - F.mean(axis=0))
        assert np.linalg.svd(basis.T @ wanted, compute_uv=False).min() > 0.9999
    ax = descent({"falling steps": model.history_, "best": [best]}, best)
    (line, nothing), above = ax.lines, np.array(model.history_) / best - 1
    np.testing.assert_allclose(line.get_ydata(), above)
    assert np.isnan(nothing.get_ydata()).all()
    with pytest.raises(InputError, match="above 0"):
        descent({"none": []}, best)


def test_the_objective_is_that_of_alternating_least_squares():
    """On known cells with noise both end at about the same objective and predict the same."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random((40, 30)) < 0.6, centred() + 0.3 * rng.standard_normal((40, 30)) + 2, np.nan)
    shared = {"ridge": 1.0, "bias_ridge": 0.4, "seed": 0}
    exact = MatrixFactorization(2, count_power=1, max_iter=500, tol=1e-8, **shared).fit(x)
    model = StochasticMatrixFactorization(2, step=0.02, decay=0.03, max_iter=2000, tol=0, **shared).fit(x)
    assert model.history_[-1] == pytest.approx(exact.history_[-1], rel=0.005)
    i, j = np.nonzero(np.isnan(x))
    difference = model.predict(i, j) - exact.predict(i, j)
    assert np.sqrt(np.mean(difference**2)) < 0.1 * exact.predict(i, j).std()
    again = clone(model).set_params(max_iter=3)
    np.testing.assert_array_equal(again.fit(x).row_factors_, clone(again).fit(x).row_factors_)


def test_guards():
    """What loops would read beyond, and steps that cannot work, are refused."""
    U, V, at = np.zeros((2, 3)), np.zeros((2, 3)), np.array([0, 2])
    with pytest.raises(ValueError, match="2 cells must be rows"):
        sgd_cells(at, at, np.ones(2), U=U, V=V, step=0.1, ridges=np.zeros(3))
    with pytest.raises(ValueError, match="contiguous float64"):
        sgd_pairs(at, at, at, U=U.astype(np.float32), V=V, step=0.1, ridge=0)
    with pytest.raises(ValueError, match="ridges must be 3 numbers"):
        sgd_cells(at[:1], at[:1], np.ones(1), U=U, V=V, step=0.1, ridges=np.zeros(2))
    with pytest.raises(ValueError, match="rows below 1"):
        absent_columns(np.array([0, 1]), np.array([0]), np.array([1]), number=2, rng=np.random.default_rng())
    with pytest.raises(InputError, match="take a shorter one"):
        StochasticMatrixFactorization(1, step=10).fit(centred())
