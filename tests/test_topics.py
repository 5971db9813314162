"""Non-negative factorization of tables of documents and words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn import decomposition
from sklearn.base import clone

from lowrank import InputError
from lowrank.models.topics.nmf import NMF

pytestmark = pytest.mark.filterwarnings("ignore:stopped at max_iter", "ignore:Maximum number of iterations")
LOSSES = ("squared", "kl")


def table(n=30, m=20, rank=3, seed=0, noise=0.0):
    """A sparse non-negative table of low rank."""
    rng = np.random.default_rng(seed)
    W, H = (rng.random(size) * (rng.random(size) < 0.5) for size in ((n, rank), (rank, m)))
    return W @ H + noise * rng.random((n, m))


def divergence(x, m, loss):
    """The objective, cell by cell."""
    if loss == "squared":
        return ((x - m) ** 2).sum() / 2
    known = x > 0
    return (x[known] * np.log(x[known] / m[known])).sum() - x.sum() + m.sum()


@settings(max_examples=25)
@given(st.integers(0, 999), st.integers(1, 4), st.sampled_from(LOSSES), st.sampled_from([0.0, 0.1]))
def test_no_sweep_raises_the_objective(seed, rank, loss, l1):
    """What is reported falls, and is the objective of the factors."""
    x = table(9, 7, seed=seed, noise=0.1)
    model = NMF(rank, loss=loss, l1_W=l1, l1_H=l1, max_iter=20, tol=0, seed=seed, threads=1).fit(x)
    steps = np.diff(model.history_)
    assert (steps <= 1e-5 * abs(model.history_[0])).all()
    W, H = model.row_factors_.astype(float), model.components_.astype(float)
    assert min(W.min(), H.min()) >= 0
    total = divergence(x.astype(np.float32).astype(float), W @ H, loss) + l1 * (W.sum() + H.sum())
    assert model.history_[-1] == pytest.approx(total, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_in_the_end_no_factor_can_be_better(loss):
    """Gradients are zero where factors are positive, and not negative where they are zero."""
    x = table(noise=0.2)
    model = NMF(3, loss=loss, l1_W=0.02, l1_H=0.02, max_iter=10_000, tol=1e-12, inner=2, seed=0, threads=1).fit(x)
    W, H = model.row_factors_.astype(float), model.components_.astype(float)
    left = W @ H - x if loss == "squared" else 1 - x / (W @ H)
    for factor, gradient in ((W, left @ H.T + 0.02), (H, W.T @ left + 0.02)):
        used = factor > 1e-3
        assert np.abs(gradient[used]).max() < 0.005
        assert gradient.min() > -0.005


@pytest.mark.parametrize("loss", LOSSES)
def test_as_low_as_another_library(loss):
    """From several starts the best objective is that of scikit-learn."""
    x = table(40, 25, noise=0.3)
    how = {"solver": "cd"} if loss == "squared" else {"solver": "mu", "beta_loss": "kullback-leibler"}
    theirs = min(
        divergence(
            x,
            (model := decomposition.NMF(4, init="random", random_state=seed, max_iter=2000, **how)).fit_transform(x)
            @ model.components_,
            loss,
        )
        for seed in range(3)
    )
    ours = min(
        NMF(4, loss=loss, max_iter=2000, tol=1e-7, seed=seed, threads=1).fit(x).history_[-1] for seed in range(3)
    )
    assert ours < 1.02 * theirs


def test_planted_factors_explain_everything():
    """A table of rank 3 is explained by 3 components."""
    x = table()
    model = NMF(3, max_iter=3000, tol=1e-9, seed=1, threads=1).fit(x)
    assert np.abs(model.row_factors_ @ model.components_ - x).max() < 0.02


@pytest.mark.parametrize("loss", LOSSES)
def test_sparse_and_dense_tables_are_the_same(loss):
    """Zeros need not be listed; threads change nothing; the same seed, the same factors."""
    x = table()
    model = NMF(3, loss=loss, max_iter=30, tol=0, seed=0, threads=1).fit(x)
    for other in (csr_array(x), x):
        again = clone(model).set_params(threads=2).fit(other)
        np.testing.assert_allclose(again.components_, model.components_, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_rows_are_transformed_alone(loss):
    """Factors of fitted rows, found again from the components, explain them as well."""
    x = table(noise=0.1)
    model = NMF(3, loss=loss, max_iter=3000, tol=1e-7, seed=0, threads=1).fit(x)
    W = model.transform(x[:5])
    found, fitted = (divergence(x[:5], F.astype(float) @ model.components_, loss) for F in (W, model.row_factors_[:5]))
    assert found < 1.01 * fitted + 1e-3
    assert model.get_feature_names_out().tolist() == ["nmf0", "nmf1", "nmf2"]


@pytest.mark.parametrize(
    ("how", "x", "fault"),
    [
        ({}, [[1.0, -2.0], [0.0, 1.0]], "must not be negative; row 0 holds -2"),
        ({}, np.zeros((3, 2)), "every value is zero"),
        ({"rank": 0}, table(), "rank must be"),
        ({"loss": "hinge"}, table(), "loss must be"),
        ({"l1_W": -1}, table(), "l1_W must be"),
    ],
)
def test_what_cannot_be_factorized(how, x, fault):
    """Negative tables, empty ones, and parameters out of range."""
    with pytest.raises(InputError, match=fault):
        NMF(**{"rank": 2} | how).fit(x)
