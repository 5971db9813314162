"""Stochastic gradient descent over cells and over pairs: its steps, its end, and the draws of unobserved cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from polyadic import InputError
from polyadic.completion.factorization import MatrixFactorization, StochasticMatrixFactorization
from polyadic.core.kernels import absent_columns, sgd_cells, sgd_labels, sgd_pairs
from polyadic.core.kernels import sgd as sgd_doors
from polyadic.core.kernels import sgd as sgd_loops
from polyadic.core.solvers import sgd as sgd_solver
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
    U, V, how = rng.standard_normal((2, 3)), rng.standard_normal((2, 3)), {"negatives": 1, "rng": rng, "threads": 1}

    def loss():
        return np.log1p(np.exp(-U[1] @ (V[1] - V[0]))) + 0.5 * 0.2 * ((U[1] ** 2).sum() + (V**2).sum())

    wanted = [F - 0.1 * numerical(loss, F) for F in (U, V)]
    sgd_pairs(np.array([1]), np.array([1]), U=U, V=V, step=0.1, ridge=0.2, **how)
    np.testing.assert_allclose(U, wanted[0], atol=1e-8)
    np.testing.assert_allclose(V, wanted[1], atol=1e-8)
    far = np.full((1, 1), 1e4)
    sgd_pairs(np.array([0]), np.array([0]), U=far, V=np.array([[1.0], [0.0]]), step=0.1, ridge=0.0, **how)
    assert far[0, 0] == 1e4


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_a_label_moves_down_its_gradient(label, beside):
    """A listed cell, then a zero, move their rows by the gradient over the root of its mean squares so far."""
    rng = np.random.default_rng(0)
    U, V, ridges = rng.standard_normal((1, 3)), rng.standard_normal((2, 3)), (np.array([0.3]), np.array([0.2, 0.1]))
    F, sums, wanted = [U, V], [np.zeros(1), np.zeros(2)], [U.copy(), V.copy()]
    squares = [np.full(1, 1e-8), np.full(2, 1e-8)]
    for j, x in ((1, label), (0, 0.0)):
        u, v = wanted[0][0].copy(), wanted[1][j].copy()
        left = 1 / (1 + np.exp(-u @ v)) - x
        for G, s, at, g in (
            (wanted[0], squares[0], 0, left * v + 0.3 * u),
            (wanted[1], squares[1], j, left * u + ridges[1][j] * v),
        ):
            s[at] += np.mean(g**2)
            G[at] -= 0.1 * g / np.sqrt(s[at])
    how = {"negatives": 1, "beside": beside, "step": 0.1, "ridges": ridges, "rng": rng, "threads": 1}
    sgd_labels(np.array([0]), np.array([1]), np.array([label]), U=U, V=V, sums=sums, **how)
    for each, other in zip([*F, *sums], [*wanted, *squares], strict=True):
        np.testing.assert_allclose(each, other, atol=2e-8)


def test_what_is_drawn_beside_is_not_listed():
    """Each column that a row does not list is as likely, be they two of a hundred; a row that lists all has none."""
    starts, columns = np.array([0, 98, 198]), np.concatenate([np.delete(np.arange(100), [17, 60]), np.arange(100)])
    state, drawn = np.uint64(5), []
    for _ in range(2000):
        state, k = sgd_loops._absent(starts, columns, 0, np.arange(100), np.uint64(state))
        drawn.append(int(k))
    assert set(drawn) == {17, 60}
    assert abs(drawn.count(17) - 1000) < 5 * np.sqrt(500)
    assert sgd_loops._absent(starts, columns, 1, np.arange(100), np.uint64(5))[1] == -1
    assert sgd_loops._absent(starts, columns, 0, np.array([3, 60]), np.uint64(5))[1] == 60


@pytest.mark.parametrize("beside", [True, False])
def test_ridges_know_how_many_cells_are_met(beside):
    """As many as an epoch has of each row and column on average, those drawn too; rows that list all draw none."""
    rng = np.random.default_rng(3)
    dense = rng.random((12, 9)) < np.linspace(0.05, 0.9, 9)
    dense[4], dense[:, 0] = True, True
    rows, columns = np.nonzero(dense)
    starts = np.searchsorted(rows, np.arange(13))
    of_rows, of_columns = sgd_solver._cells_met((rows, columns, starts), (12, 9), 2.0, beside=beside)
    met, epochs = [np.zeros(12), np.zeros(9)], 4000
    for _ in range(epochs):
        asked = np.repeat(rows, 2) if beside else rng.integers(12, size=2 * len(rows))
        drawn = absent_columns(starts, columns, asked, number=9, rng=rng)
        for sums, listed, more in ((met[0], rows, asked), (met[1], columns, drawn)):
            np.add(sums, np.bincount(np.concatenate([listed, more[drawn >= 0]]), minlength=len(sums)), out=sums)
    np.testing.assert_allclose(met[0] / epochs, of_rows, rtol=0.02)
    np.testing.assert_allclose(met[1] / epochs, of_columns, rtol=0.02)


def test_blocks_share_nothing(monkeypatch):
    """All cells once, those worked on together in other rows and columns; the same bits for any number of threads."""
    monkeypatch.setattr(sgd_doors, "MIN_CELLS", 1)
    monkeypatch.setattr(sgd_doors, "MIN_WORK", 1)
    rng = np.random.default_rng(0)
    rows, columns = np.nonzero(rng.random((300, 280)) < 0.1)
    start = [rng.standard_normal((n, 5)).astype(np.float32) for n in (300, 280)]
    listed = sgd_doors._listed(rows, columns, *start)
    together = [*sgd_doors._strata(listed, rng)]
    assert [len(blocks) for blocks in together] == [8] * 8
    assert np.sort(np.concatenate([block.cells for blocks in together for block in blocks])).tolist() == [
        *range(len(rows))
    ]
    for blocks in together:
        for of, at in (("rows", rows), ("columns", columns)):
            assert np.sort(np.concatenate([getattr(block, of) for block in blocks])).tolist() == [*range(at.max() + 1)]
            assert all(set(at[block.cells]) <= set(getattr(block, of)) for block in blocks)
    ends = []
    for threads in (1, 4):
        (U, V), rng = [F.copy() for F in start], np.random.default_rng(1)
        sgd_pairs(rows, columns, U=U, V=V, negatives=2, step=0.1, ridge=0.1, rng=rng, threads=threads)
        how = {"sums": [np.zeros(300), np.zeros(280)], "ridges": [np.ones(300), np.ones(280)], "beside": False}
        sgd_labels(
            rows, columns, np.ones(len(rows)), U=U, V=V, negatives=1.5, step=0.1, rng=rng, threads=threads, **how
        )
        ends.append([U, V])
    np.testing.assert_array_equal(ends[0][0], ends[1][0])
    np.testing.assert_array_equal(ends[0][1], ends[1][1])
    assert np.isfinite(ends[0][0]).all()


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
    model = StochasticMatrixFactorization(3, learning_rate=0.02, decay=0.05, **how).fit(x)
    best = (sizes[3:] ** 2).sum()
    assert best <= model.history_[-1] < 1.001 * best
    for F, wanted in ((model.row_factors_, left[:, :3]), (model.column_factors_, right[:3].T)):
        basis, _ = np.linalg.qr(F - F.mean(axis=0))
        assert np.linalg.svd(basis.T @ wanted, compute_uv=False).min() > 0.9999
    ax = descent({"falling steps": model.history_, "best": [best]}, best)
    (line, nothing), above = ax.lines, np.array(model.history_) / best - 1
    np.testing.assert_allclose(line.get_ydata(), above)
    assert np.isnan(nothing.get_ydata()).all()
    with pytest.raises(InputError, match="must be positive"):
        descent({"none": []}, best)


def test_the_objective_is_that_of_alternating_least_squares():
    """On known cells with noise both end at about the same objective and predict the same."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random((40, 30)) < 0.6, centred() + 0.3 * rng.standard_normal((40, 30)) + 2, np.nan)
    shared = {"ridge": 1.0, "bias_ridge": 0.4, "seed": 0}
    exact = MatrixFactorization(2, count_power=1, max_iter=500, tol=1e-8, **shared).fit(x)
    model = StochasticMatrixFactorization(2, learning_rate=0.02, decay=0.03, max_iter=2000, tol=0, **shared).fit(x)
    assert model.history_[-1] == pytest.approx(exact.history_[-1], rel=0.005)
    i, j = np.nonzero(np.isnan(x))
    difference = model.predict(i, j) - exact.predict(i, j)
    assert np.sqrt(np.mean(difference**2)) < 0.1 * exact.predict(i, j).std()
    again = clone(model).set_params(max_iter=3)
    np.testing.assert_array_equal(again.fit(x).row_factors_, clone(again).fit(x).row_factors_)


def test_guards():
    """What loops would read beyond, and steps that cannot work, are refused."""
    U, V, at = np.zeros((2, 3)), np.zeros((2, 3)), np.array([0, 2])
    with pytest.raises(ValueError, match="rows must contain 2 row indices of U, and columns 2 row indices of V"):
        sgd_cells(at, at, np.ones(2), U=U, V=V, step=0.1, ridges=np.zeros(3))
    how = {"negatives": 1, "step": 0.1, "rng": np.random.default_rng(), "threads": 1}
    with pytest.raises(ValueError, match="contiguous float32 or float64 arrays of the same rank"):
        sgd_pairs(at[:1], at[:1], U=U.astype(np.float32), V=V, ridge=0, **how)
    with pytest.raises(ValueError, match="cells must be sorted by row"):
        sgd_pairs(at[[0, 0]], at[[0, 0]], U=U, V=V, ridge=0, **how)
    with pytest.raises(ValueError, match="pairs of float64 arrays with 2 and 2 elements"):
        sgd_labels(
            at[:1], at[:1], np.ones(1), U=U, V=V, sums=[U[:, 0]] * 2, ridges=[np.ones(3)] * 2, beside=True, **how
        )
    with pytest.raises(ValueError, match="labels must have one element for each of 1 cells; got 2"):
        sgd_labels(at[:1], at[:1], np.ones(2), U=U, V=V, sums=[U[:, 0]] * 2, ridges=[U[:, 0]] * 2, beside=True, **how)
    with pytest.raises(ValueError, match="ridges must have one element for each of 3 columns"):
        sgd_cells(at[:1], at[:1], np.ones(1), U=U, V=V, step=0.1, ridges=np.zeros(2))
    with pytest.raises(ValueError, match="rows must be indices below 1"):
        absent_columns(np.array([0, 1]), np.array([0]), np.array([1]), number=2, rng=np.random.default_rng())
    with pytest.raises(InputError, match="is too high for the ridge penalties; lower learning_rate"):
        StochasticMatrixFactorization(1, learning_rate=10).fit(centred())
