"""Expectation propagation for ordinal ratings: moments, posteriors against quadrature, planted factors, features."""

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm, truncnorm

from helpers import refuses
from polyadic import TableCompletion
from polyadic.completion.kernels import Features, Messages, propagate, truncated
from polyadic.completion.matchbox import MatchboxFactorization


@pytest.mark.parametrize("t", [-30.0, -8.0, -6.01, -5.99, -1.0, 0.0, 2.0, 7.0])
def test_moments_of_truncated_normal_variables(t):
    """Mean and variance of a normal variable that is known to be positive agree with scipy's."""
    v, w = truncated(t)
    mean, variance = truncnorm.stats(-t, np.inf, loc=t)
    assert t + v == pytest.approx(mean, rel=1e-6, abs=1e-9)
    if t > -8:  # scipy's variance of far tails is not accurate
        assert 1 - w == pytest.approx(variance, rel=1e-5)
    assert 0 < w < 1


def test_probability_of_a_single_cell():
    """Before its messages it is that of a normal latent value and a normal threshold."""
    own, cell = Features(np.array([0, 1]), np.array([0]), np.ones(1)), np.zeros(1, np.int64)
    U, V, B = np.array([[[4.0]], [[2.0]]]), np.array([[[4.0]], [[2.0]]]), np.array([[[2.0]], [[1.0]]])
    messages = Messages(*np.zeros((2, 2, 1, 1)), np.zeros((1, 2), np.int64), np.zeros((2, 1, 1)))
    found = propagate(cell, (cell, cell, cell + 1, cell), own, own, (U, V, B), messages)
    assert found == pytest.approx(log_ndtr((0.5 + 0.5 - 0.5) / np.sqrt(0.25 + 0.25 + 1 + 0.5)))
    np.testing.assert_allclose(B - messages.thresholds, [[[2.0]], [[1.0]]])


def test_ordinal_regression_against_quadrature():
    """Posterior means and variances of one weight, with known thresholds, are those of a fine grid.

    All cells are in one row; its bias and those of the columns, which have little data, are integrated out.
    """
    levels = np.array([1, 3, 3, 2, 3, 3, 1, 3], float)
    model = MatchboxFactorization(
        0, thresholds="shared", bias_std=0.8, threshold_std=1e-3, max_iter=200, tol=1e-9, seed=0
    )
    model.fit(levels[None])
    (h, _), (a, variance) = model.thresholds_[:, 0], model.row_weights_[:, 0, 0]
    grid = np.linspace(-5, 5, 4001)
    bounds = np.array([-np.inf, *h, np.inf])
    noise = np.sqrt(1 + 0.8**2)  # of a cell and the bias of its column
    logs = norm.logpdf(grid, scale=0.8)
    for level in levels:
        low, high = bounds[int(level) - 1 : int(level) + 1]
        logs += np.log(ndtr((high - grid) / noise) - ndtr((low - grid) / noise))
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    assert a == pytest.approx(weights @ grid, abs=0.01)
    assert variance == pytest.approx(weights @ (grid - weights @ grid) ** 2, rel=0.05)


def test_probabilities_of_levels_are_an_integral():
    """They agree with simulation of weights, thresholds and noise, given that the thresholds are consistent."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((12, 9)) < 0.7, rng.integers(1, 4, (12, 9)), np.nan)
    model = MatchboxFactorization(2, trait_std=1.0, max_iter=5, tol=0, seed=0).fit(X)
    i, j = 3, 4
    (s, sv), (t, tv), (h, hv) = model.row_traits_[:, i], model.column_traits_[:, j], model.thresholds_[:, i]
    size = (400_000, 1)
    s, t, h = (m + np.sqrt(v) * rng.standard_normal((size[0], len(m))) for m, v in ((s, sv), (t, tv), (h, hv)))
    z = s[:, :2] * t[:, :2]
    # the product has the mean and variance of the normal approximation
    total = z.mean(axis=0).sum() + np.sqrt(z.var(axis=0).sum()) * rng.standard_normal(size)
    r = total + s[:, 2:] + t[:, 2:] + rng.standard_normal(size)
    above = (r > h).T
    one, two, three = ~above[0] & ~above[1], above[0] & ~above[1], above[0] & above[1]
    counts = np.array([one.sum(), two.sum(), three.sum()])
    np.testing.assert_allclose(model.predict_levels([i], [j])[0], counts / counts.sum(), atol=0.005)


def planted(seed=0, n=80, m=50):
    """Ordinal values from traits of rows and columns; those of columns follow from three groups."""
    rng = np.random.default_rng(seed)
    group = np.arange(m) % 3
    u, v = 1.2 * rng.standard_normal((n, 2)), 1.2 * rng.standard_normal((3, 2))[group]
    r = u @ v.T + 0.5 * rng.standard_normal((n, 1))
    x = 1.0 + (r + rng.standard_normal(r.shape) > np.array([-1.5, -0.5, 0.5, 1.5])[:, None, None]).sum(axis=0)
    return x, r, np.eye(3)[group], rng


@pytest.mark.filterwarnings("ignore:.*have no observed cell")
def test_planted_factors_and_features():
    """Unknown cells follow the latent values; features of columns predict those without any known cell."""
    x, r, groups, rng = planted()
    known = rng.random(x.shape) < 0.4
    known[:, :6] = False
    X = np.where(known, x, np.nan)
    i, j = np.nonzero(~known)
    new = j < 6
    plain = MatchboxFactorization(2, trait_std=0.6, seed=0).fit(X)
    featured = MatchboxFactorization(2, trait_std=0.6, seed=0).fit(X, column_features=groups)
    assert np.corrcoef(plain.predict(i, j)[~new], r[i, j][~new])[0, 1] > 0.8
    assert np.corrcoef(featured.predict(i, j)[new], r[i, j][new])[0, 1] > 0.8
    p = featured.predict_levels(i, j)
    hits = p[np.arange(len(i)), x[i, j].astype(int) - 1]
    assert (
        np.log(hits).mean()
        > np.log(np.bincount(x[known].astype(int), minlength=6)[1:] / known.sum())[x[i, j].astype(int) - 1].mean() + 0.1
    )
    calibrated = [(p[:, k].mean(), (x[i, j] == k + 1).mean()) for k in range(5)]
    assert np.abs(np.diff(calibrated)).max() < 0.08
    assert featured.history_[-1] < featured.history_[1] < featured.history_[0]


def test_the_start_is_forgotten():
    """Two seeds lead to similar predictions, although traits differ by a rotation."""
    x, _, _, rng = planted()
    X = np.where(rng.random(x.shape) < 0.5, x, np.nan)
    i, j = np.nonzero(np.isnan(X))
    first, second = (
        MatchboxFactorization(2, trait_std=0.6, max_iter=300, tol=1e-4, seed=seed).fit(X).predict(i, j)
        for seed in (0, 1)
    )
    assert np.corrcoef(first, second)[0, 1] > 0.97


def test_values_and_features_are_checked():
    x = np.array([[1.0, 2.0], [2.0, 1.0]])
    refuses("from 2 to 50 different values; got 1", MatchboxFactorization(1).fit, np.ones((2, 2)))
    refuses("row_features must have 2 rows", MatchboxFactorization(1).fit, x, row_features=np.ones((3, 1)))
    refuses(
        "row 0, column 0 of column_features is missing",
        MatchboxFactorization(1).fit,
        x,
        column_features=np.array([[np.nan], [1.0]]),
    )


def test_tables_of_ratings():
    """``TableCompletion`` predicts means of levels, recommends by them, and refuses what the method does not have."""
    x, _, _, rng = planted(n=40, m=20)
    known = rng.random(x.shape) < 0.6
    table = [(f"user {i}", f"film {j}", x[i, j]) for i, j in np.argwhere(known)]
    model = TableCompletion("ordinal", rank=2, hold_out=0.2, seed=0).fit(table)
    assert model.held_out_["rmse"] < model.held_out_["rmse_of_biases"]
    mean, std = model.predict_distribution(["user 3"], ["film 4"])
    i, j = model.rows_.index("user 3"), model.columns_.index("film 4")
    assert (mean, std) == model.model_.predict_distribution([i], [j])
    best = model.recommend("user 3", 20)
    assert {name for name, _ in best} == {f"film {j}" for j in np.flatnonzero(~known[3])}
    assert [value for _, value in best] == pytest.approx(
        model.predict(["user 3"] * len(best), [name for name, _ in best])
    )
    assert np.corrcoef([value for _, value in best], range(len(best)))[0, 1] < -0.9
    refuses("does not support updates", model.update, table)
    refuses("cannot explain predictions", model.explain, "user 3", ["film 4"])
    refuses("unknown must be 'refuse' for method ordinal", TableCompletion("ordinal", unknown="mean").check)
