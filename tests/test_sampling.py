"""Hamiltonian Monte Carlo: the integrator, the no-U-turn sampler, effective sample sizes, and the factorization."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from helpers import refuses
from polyadic.completion.bayesian_pca import BayesianGeneralizedPCA, Posterior
from polyadic.core.entries import Entries
from polyadic.core.solvers.nuts import Point, _energy, leapfrog, nuts
from polyadic.metrics.chains import effective_sample_size


def normal(mean, covariance):
    """Log density of a normal distribution, and its gradient."""
    precision = np.linalg.inv(covariance)

    def density(q):
        step = precision @ (q - mean)
        return -0.5 * float((q - mean) @ step), -step

    return density


def sampled(density, start, *, warmup=400, draws=2000, seed=0):
    chain = nuts(density, start, np.random.default_rng(seed), warmup=warmup)
    return [next(chain) for _ in range(warmup + draws)][warmup:]


def quartic(q):
    return -float((q**4).sum()) / 4 - float(q @ q), -(q**3) - 2 * q


def test_leapfrog_is_reversible_and_of_second_order():
    """Steps back lead to the start; halving the step divides the error of the energy by four."""
    rng = np.random.default_rng(0)
    q, p, variance = rng.standard_normal(3), rng.standard_normal(3), rng.random(3) + 0.5
    start = Point(q, p, *quartic(q))
    errors = []
    for number in (20, 40, 80):
        at = start
        for _ in range(number):
            at = leapfrog(quartic, at, 1.0 / number, variance)
        errors.append(_energy(at, variance) - _energy(start, variance))
        for _ in range(number):
            at = leapfrog(quartic, at, -1.0 / number, variance)
        np.testing.assert_allclose([*at.q, *at.p], [*q, *p], atol=1e-12)
    assert np.divide(errors[:-1], errors[1:]) == pytest.approx([4, 4], rel=0.1)


def test_moments_of_normal_distributions():
    """Means and covariances agree within five standard errors, with scales from .05 to 20 and a correlation of .95."""
    scales = np.array([0.05, 1.0, 1.0, 20.0])
    correlations = np.eye(4)
    correlations[1, 2] = correlations[2, 1] = 0.95
    covariance, mean = correlations * np.outer(scales, scales), np.array([1.0, -2.0, 0.0, 30.0])
    path = sampled(normal(mean, covariance), np.zeros(4))
    x = (np.array([each.position for each in path]) - mean) / scales
    error = 1 / np.sqrt(effective_sample_size(x).min())
    assert np.abs(x.mean(axis=0)).max() < 5 * error
    assert np.abs(x.T @ x / len(x) - correlations).max() < 5 * np.sqrt(2) / np.sqrt(effective_sample_size(x**2).min())
    assert not any(each.diverged for each in path)
    assert np.mean([each.acceptance for each in path]) == pytest.approx(0.85, abs=0.1)


def test_posterior_of_a_logistic_regression():
    """Posterior means and variances of two weights are those of quadrature on a fine grid."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    y = (rng.random(30) < expit(X @ [1.0, -2.0])).astype(float)

    def density(w):
        m = X @ w
        return float(y @ m - np.logaddexp(0, m).sum() - 0.5 * w @ w), X.T @ (y - expit(m)) - w

    samples = np.array([each.position for each in sampled(density, np.zeros(2), warmup=300, draws=3000)])
    axis = np.linspace(-6, 6, 241)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    m = grid @ X.T
    logs = m @ y - np.logaddexp(0, m).sum(axis=1) - 0.5 * (grid**2).sum(axis=1)
    weights = np.exp(logs - logsumexp(logs))
    mean = weights @ grid
    np.testing.assert_allclose(samples.mean(axis=0), mean, atol=0.07)
    np.testing.assert_allclose(samples.var(axis=0), weights @ (grid - mean) ** 2, rtol=0.15)


def test_start_without_a_density_is_refused():
    refuses(
        "not finite; rescale the data",
        next,
        nuts(lambda q: (np.nan, q), np.ones(2), np.random.default_rng(0), warmup=0),
    )


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, -0.3])
def test_effective_sample_size_of_autoregressions(correlation):
    """The size of an autoregressive process is n (1 - r) / (1 + r)."""
    rng = np.random.default_rng(0)
    x = np.zeros((20_000, 3))
    for at, noise in enumerate(rng.standard_normal(x.shape)[1:], 1):
        x[at] = correlation * x[at - 1] + noise
    sizes = effective_sample_size(x)
    assert np.mean(sizes) == pytest.approx(len(x) * (1 - correlation) / (1 + correlation), rel=0.15)
    assert np.isnan(effective_sample_size(np.ones((10, 1)))[0])
    refuses("n of at least 4", effective_sample_size, np.ones((3, 1)))


# ---- factorization


@pytest.mark.parametrize("family", ["normal", "bernoulli", "poisson"])
def test_gradient_of_the_posterior(family):
    """The gradient is that of central differences."""
    rng = np.random.default_rng(0)
    x = rng.poisson(1.0, (6, 5)).astype(float)
    x = np.minimum(x, 1) if family == "bernoulli" else x
    at = np.argwhere(rng.random(x.shape) < 0.7)
    entries = Entries(at, x[tuple(at.T)], x.shape, unobserved="missing")
    posterior = Posterior(entries, family, 2, threads=1)
    q = 0.7 * rng.standard_normal(len(posterior.start(rng)))
    steps = 1e-5 * np.eye(len(q))
    differences = [(posterior(q + step)[0] - posterior(q - step)[0]) / 2e-5 for step in steps]
    np.testing.assert_allclose(posterior(q)[1], differences, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.* no observed cell")
def test_a_single_cell_agrees_with_quadrature():
    """The predictive mean of a second column, of which nothing is known, is an integral over the prior and the cells.

    In a row with one positive cell of its only known column, of rank 1, the log-odds are a sum of an intercept, biases
    and a product; samples from the prior, weighted by the likelihood, give the same mean.
    """
    rng = np.random.default_rng(0)
    c, a, b0, b1 = 5 * rng.standard_normal(1 << 20), *rng.standard_normal((3, 1 << 20))
    u, v0, v1 = rng.standard_normal((3, 1 << 20))
    s, sa, sb = np.abs(rng.standard_normal((3, 1 << 20)))
    weight = expit(c + sa * a + sb * b0 + s * u * v0)
    expected = weight @ expit(c + sa * a + sb * b1 + s * u * v1) / weight.sum()
    model = BayesianGeneralizedPCA(1, family="bernoulli", threads=1, burn_in=300, draws=1500, n_samples=1500, seed=0)
    found = model.fit(np.array([[1.0, np.nan]])).predict([0], [1])[0]
    assert found == pytest.approx(expected, abs=0.04)


@pytest.mark.parametrize("family", ["normal", "poisson"])
def test_planted_factors(family):
    """Held-out cells are predicted better than by their mean; the noise and the coverage are those planted."""
    rng = np.random.default_rng(0)
    m = np.outer(rng.standard_normal(40), rng.standard_normal(30))
    x = 3 + m + 0.3 * rng.standard_normal(m.shape) if family == "normal" else rng.poisson(np.exp(m)).astype(float)
    known = rng.random(m.shape) < 0.6
    model = BayesianGeneralizedPCA(2, family=family, burn_in=150, draws=50, max_depth=4, seed=0, threads=1)
    model.fit(np.where(known, x, np.nan))
    i, j = np.nonzero(~known)
    mean, std = model.predict_distribution(i, j)
    if family == "normal":
        assert np.std(mean - x[i, j]) < 0.4
        assert model.noise_.mean() == pytest.approx(0.3, rel=0.15)
        assert np.mean(np.abs(mean - x[i, j]) < 1.645 * std) == pytest.approx(0.9, abs=0.05)
    else:
        assert np.corrcoef(mean, np.exp(m[i, j]))[0, 1] > 0.9
        refuses("values between 0 and inf", model.fit, -x)
    assert model.n_diverged_ <= 2
