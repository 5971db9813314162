"""Pairs of sentences: features that do not depend on their order, and regression of scores people gave."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.exceptions import NotFittedError

from polyadic import InputError, ScoreRegression
from polyadic.sentences.pairs import pair_features

RNG = np.random.default_rng(0)
X = RNG.standard_normal((80, 3))
NOISY = X @ [1.0, 0.5, 0.0] + 0.3 * RNG.standard_normal(80)


def scores(low, high):
    """Give the rows scores of a range, some of them its ends and other whole numbers."""
    t = np.clip((low + high) / 2 + NOISY, low, high)
    return np.where(np.arange(80) % 4, t, np.round(t))


def least_divergence(X, t, low, high, C):
    """Minimise C KL(p || softmax(W x + b)) + |W|^2 / 2 directly, and give the means of the distributions."""
    numbers = np.arange(low, high + 1)
    p = np.maximum(0, 1 - np.abs(t[:, None] - numbers))  # a triangle around the score
    K, d = len(numbers), X.shape[1]

    def objective(parameters):
        W, b = parameters[: K * d].reshape(K, d), parameters[K * d :]
        Z = X @ W.T + b
        logs = Z - np.logaddexp.reduce(Z, axis=1, keepdims=True)
        rest = C * (np.exp(logs) - p)
        value = -C * (p * logs).sum() + 0.5 * (W**2).sum()
        return value, np.concatenate([(rest.T @ X + W).ravel(), rest.sum(axis=0)])

    options = {"maxiter": 10_000, "ftol": 1e-14, "gtol": 1e-8}
    found = minimize(objective, np.zeros(K * (d + 1)), jac=True, method="L-BFGS-B", options=options).x
    Z = X @ found[: K * d].reshape(K, d).T + found[K * d :]
    return np.exp(Z - np.logaddexp.reduce(Z, axis=1, keepdims=True)) @ numbers


# ---- features

tables = hnp.array_shapes(min_dims=2, max_dims=2, max_side=4).flatmap(
    lambda shape: st.tuples(*[hnp.arrays(float, shape, elements=st.integers(-5, 5).map(float))] * 2)
)


@given(tables)
def test_the_order_of_a_pair_means_nothing(case):
    """Two sentences compare as the same two the other way round; a sentence and itself differ in nothing."""
    u, v = case
    features = pair_features(u, v)
    np.testing.assert_array_equal(features, pair_features(v, u))
    product, distance = np.hsplit(features, 2)
    np.testing.assert_array_equal(distance**2 + 2 * product, u**2 + v**2)
    assert (distance >= 0).all()


@pytest.mark.parametrize(("left", "right"), [([[1.0]], [[1.0, 2.0]]), ([1.0], [2.0]), ([[1.0]], [[1.0], [2.0]])])
def test_pairs_have_one_shape(left, right):
    """What cannot be compared is refused with both shapes."""
    with pytest.raises(InputError, match=r"the same shape \(pairs, features\); got \(.*\) and \(.*\)"):
        pair_features(left, right)


# ---- scores


@pytest.mark.parametrize(("low", "high"), [(0, 2), (1, 5), (-3, 2)])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_scores_are_as_near_as_can_be(low, high, C):
    """The fit is that of a direct minimisation of the divergence from a score's two neighbouring numbers, and ridge."""
    t = scores(low, high)
    found = ScoreRegression(low=low, high=high, C=C).fit(X, t).predict(X)
    np.testing.assert_allclose(found, least_divergence(X, t, low, high, C), atol=5e-3)


def test_numbers_that_nobody_gave_are_never_predicted():
    """A number with no score near it has no probability, just as in the minimum over all numbers."""
    t = np.where(scores(0, 5) > 2.5, 5, RNG.choice([0, 1], 80)).astype(float)
    model = ScoreRegression(low=0, high=5).fit(X, t)
    assert model.classes_.tolist() == [0, 1, 5]
    np.testing.assert_allclose(model.predict(X), least_divergence(X, t, 0, 5, 1.0), atol=5e-3)


def test_a_range_may_be_moved_and_turned():
    """Scores moved by 3, or turned upside down, are predicted moved, or upside down, and never outside the range."""
    t = scores(0, 5)
    found = ScoreRegression().fit(X, t).predict(X)
    assert ((found >= 0) & (found <= 5)).all()
    np.testing.assert_allclose(ScoreRegression(low=3, high=8).fit(X, t + 3).predict(X), found + 3, atol=1e-3)
    np.testing.assert_allclose(ScoreRegression().fit(X, 5 - t).predict(X), 5 - found, atol=1e-2)


def test_linear_scores_are_recovered():
    """Scores that grow with a direction of the features are predicted for rows that were not seen."""
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1, 1, (600, 4))
    t = 2.5 + rows @ [1.2, -0.8, 0.4, 0.0]
    model = ScoreRegression(C=100.0).fit(rows[:400], t[:400])
    found = model.predict(rows[400:])
    assert np.corrcoef(found, t[400:])[0, 1] > 0.99
    assert np.abs(found - t[400:]).max() < 0.4


def test_one_score_between_two_numbers_is_itself():
    """Where all scores are alike but not whole, they are what is predicted."""
    np.testing.assert_allclose(ScoreRegression().fit(X, np.full(80, 2.25)).predict(X), 2.25, atol=1e-3)


@pytest.mark.parametrize(
    ("how", "t", "fault"),
    [
        ({"high": 4}, [0, 4.5, 1], "scores must be from 0 to 4; got 0 to 4.5"),
        ({"low": 1}, [0.5, 2, 3], "scores must be from 1 to 5; got 0.5 to 3"),
        ({}, [3, 3, 3], "scores must contain at least two different values; all are 3"),
        ({}, [0, np.nan, 1], "NaN"),
        ({"low": 2, "high": 2}, [2, 2, 2], "high must be a whole number of at least 3; got 2"),
        ({}, [1, 2], "inconsistent numbers of samples"),
    ],
)
def test_scores_that_are_refused(how, t, fault):
    """Scores out of range or all alike, and a range of one number."""
    with pytest.raises(ValueError, match=fault):
        ScoreRegression(**how).fit(X[:3], t)


def test_it_is_an_estimator_of_scikit_learn():
    """Unfitted it says so; rows must be as long as those it was fitted to; it scores itself by R^2."""
    model = ScoreRegression(low=0, high=5, C=3.0, max_iter=50)
    with pytest.raises(NotFittedError):
        model.predict(X)
    t = scores(0, 5)
    model.fit(X, t)
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.predict(X[:, :2])
    rest = ((t - model.predict(X)) ** 2).sum() / ((t - t.mean()) ** 2).sum()
    assert model.score(X, t) == pytest.approx(1 - rest)
