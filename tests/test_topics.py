"""Topics: non-negative factors, mixtures, anchors, sparse topics, what they are worth, and their number."""

import warnings
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix
from scipy.special import psi
from sklearn import decomposition, linear_model
from sklearn.base import clone

from polyadic import InputError, load, plots
from polyadic.core.errors import InputWarning
from polyadic.core.kernels import (
    RowEntries,
    divergence_rows,
    expected_rows,
    hals,
    nnls_rows,
    nonnegative_lasso,
    nonnegative_rows,
    simplex_rows,
)
from polyadic.metrics import topics as metrics
from polyadic.metrics.topics import (
    c_v_coherence,
    completion_perplexity,
    diversity,
    halves,
    in_documents,
    in_windows,
    npmi_coherence,
    stability,
)
from polyadic.text.corpus import Corpus
from polyadic.text.documents import document_table, table_of_texts
from polyadic.text.tokens import Tokenizer
from polyadic.topics import lda
from polyadic.topics.anchors import AnchorTopics, co_occurrence
from polyadic.topics.lda import LDA
from polyadic.topics.multiplicative import Divergence, cells_of, uniform
from polyadic.topics.nmf import NMF
from polyadic.topics.plsa import PLSA, Mixture
from polyadic.topics.rlsi import RLSI
from polyadic.topics.text_topics import FoldScores, TextTopics, best, cross_validate, held_out_perplexity
from strategies import tries

pytestmark = pytest.mark.filterwarnings(
    "ignore:stopped at max_iter", "ignore:Maximum number of iterations", "ignore:rows that are all zero"
)
LOSSES = ("squared", "kl")
EVERY_LOSS = (*LOSSES, 0.5, 1.5)


def table(n=30, m=20, rank=3, seed=0, noise=0.0):
    """A sparse non-negative table of low rank."""
    rng = np.random.default_rng(seed)
    W, H = (rng.random(size) * (rng.random(size) < 0.5) for size in ((n, rank), (rank, m)))
    return W @ H + noise * rng.random((n, m))


def divergence(x, m, loss, weights=1.0):
    """The objective, cell by cell."""
    beta = {"squared": 2.0, "kl": 1.0}.get(loss, loss)
    if beta == 1:
        cells = m - x + np.where(x > 0, x * np.log(np.where(x > 0, x, 1) / np.maximum(m, 1e-300)), 0)
    elif beta == 0:
        cells = x / m - np.log(x / m) - 1
    else:
        m = np.maximum(m, 1e-12)
        cells = (x**beta + (beta - 1) * m**beta - beta * x * m ** (beta - 1)) / (beta * (beta - 1))
    return (weights * cells).sum()


@tries(25)
@given(st.integers(0, 999), st.integers(1, 4), st.sampled_from(EVERY_LOSS), st.sampled_from([0.0, 0.1]))
def test_no_sweep_raises_the_objective(seed, rank, loss, l1):
    """What is reported falls, and is the objective of the factors."""
    x = table(9, 7, seed=seed, noise=0.1)
    model = NMF(rank, loss=loss, l1_W=l1, l1_H=l1, max_iter=20, tol=0, seed=seed, threads=1).fit(x)
    steps = np.diff(model.history_)
    assert (steps <= 1e-5 * abs(model.history_[0])).all()
    assert model.history_[-1] < model.history_[0]
    W, H = model.row_factors_.astype(float), model.components_.astype(float)
    assert min(W.min(), H.min()) >= 0
    total = divergence(x.astype(np.float32).astype(float), W @ H, loss) + l1 * (W.sum() + H.sum())
    assert model.history_[-1] == pytest.approx(total, rel=1e-4, abs=1e-4)


@tries(10)
@given(st.integers(0, 999), st.integers(1, 4), st.sampled_from(["mu", "anls"]), st.sampled_from([0.0, 0.1]))
def test_other_solvers_never_raise_the_objective(seed, rank, solver, penalty):
    """The same laws hold for multiplicative updates and exact alternating solutions; either start will do."""
    x = table(9, 7, seed=seed, noise=0.1)
    how = {
        "init": ("random", "nndsvd")[seed % 2],
        "l1_W": penalty,
        "l2_H": penalty,
        "max_iter": 30,
        "tol": 0,
        "seed": seed,
    }
    model = NMF(rank, solver=solver, threads=1, **how).fit(x)
    assert (np.diff(model.history_) <= 1e-5 * abs(model.history_[0])).all()
    W, H = model.row_factors_.astype(float), model.components_.astype(float)
    assert min(W.min(), H.min()) >= 0
    total = divergence(x.astype(np.float32), W @ H, "squared") + penalty * (W.sum() + (H**2).sum() / 2)
    assert model.history_[-1] == pytest.approx(total, rel=1e-4, abs=1e-4)


def test_multiplicative_sweeps_are_those_of_another_library():
    """From the same factors, scikit-learn's multiplicative updates of the squared loss give the same factors."""
    x = table(noise=0.2).astype(np.float32)
    start = uniform(listed(x), 3, rng=np.random.default_rng(0))
    W, H, _ = decomposition.non_negative_factorization(
        x, W=start[0].copy(), H=start[1].T.copy(), init="custom", n_components=3, solver="mu", max_iter=20, tol=0
    )
    model = NMF(3, solver="mu", max_iter=20, tol=0, seed=0, threads=1).fit(x)
    np.testing.assert_allclose(model.row_factors_ @ model.components_, W @ H, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("solver", ["hals", "mu", "anls"])
def test_solvers_end_at_the_same_conditions(solver):
    """Gradients are zero where factors are positive; after exact sweeps they are not negative elsewhere, either."""
    x = table(noise=0.2)
    model = NMF(3, solver=solver, max_iter=2000, tol=1e-8, seed=0, threads=1).fit(x)
    W, H = model.row_factors_.astype(float), model.components_.astype(float)
    for factor, gradient in ((W, (W @ H - x) @ H.T), (H, W.T @ (W @ H - x))):
        assert np.abs(gradient[factor > 1e-2]).max() < 0.01
        assert gradient.min() > -0.02


@pytest.mark.parametrize("loss", LOSSES)
def test_in_the_end_no_factor_can_be_better(loss):
    """Gradients are zero where factors are positive, and not negative where they are zero."""
    x = table(noise=0.2)
    model = NMF(3, loss=loss, l1_W=0.02, l1_H=0.02, max_iter=2000, tol=1e-12, inner=2, seed=0, threads=1).fit(x)
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


@pytest.mark.parametrize("model", [NMF(3, seed=0), RLSI(3, seed=0), PLSA(3, seed=0), LDA(3, seed=0)], ids=repr)
def test_factors_give_the_table_back(model):
    """A table that has as many components is the product of its factors; models of probabilities have its rows."""
    rng = np.random.default_rng(0)
    x = 50 * rng.dirichlet(np.full(3, 0.2), 40) @ rng.dirichlet(np.full(12, 0.2), 3)
    made = model.set_params(max_iter=1000).inverse_transform(model.fit_transform(x))
    rows = x if isinstance(model, NMF | RLSI) else x / x.sum(axis=1, keepdims=True)
    assert np.linalg.norm(made - rows) < (0.15 if isinstance(model, LDA) else 0.02) * np.linalg.norm(rows)
    with pytest.raises(InputError, match="one column for each of the 3 components; got 2"):
        model.inverse_transform(np.ones((1, 2)))


def test_tables_with_less_in_them_than_their_size_are_reported():
    """More components than rows or columns, and rows without values, are warnings; zeros may be observed values."""
    x = table() + 0.1
    with pytest.warns(InputWarning, match="n_components should be at most 20, the number of columns; got 21"):
        NMF(21, seed=0, max_iter=2).fit(x)
    with pytest.warns(InputWarning, match="at most 3, the number of rows; got 5"):
        TextTopics(n_components=5, min_count=1, stop_words=None).fit(["a b c d e f", "a b e f c", "c d a b e"])
    x[[4, 9]] = 0
    with pytest.warns(InputWarning, match=r"rows that are all zero: 2 of 30, for example row 4 \(counted from 0\)"):
        PLSA(2, seed=0, max_iter=2).fit(x)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "rows that|n_components")
        NMF(2, seed=0, max_iter=2, unobserved="missing").fit(x)
        NMF(20, seed=0, max_iter=2, unobserved="missing").fit(x)
    x[4] = np.nan
    with pytest.warns(InputWarning, match="rows without observed values: 1 of 30, for example row 4"):
        NMF(2, seed=0, max_iter=2, unobserved="missing").fit(x)


@pytest.mark.filterwarnings("ignore:n_components should be at most")
@pytest.mark.parametrize(
    ("how", "x", "fault"),
    [
        ({}, [[1.0, -2.0], [0.0, 1.0]], "Negative values in data cannot be used; row 0 contains -2"),
        ({}, np.zeros((3, 2)), "at least one non-zero value"),
        ({"loss": 0}, table(), "must contain only positive values"),
        ({"loss": "kl", "l2_W": 1.0}, table(), "require loss='squared'"),
        ({"loss": "kl", "solver": "anls"}, table(), "solver='anls' requires loss='squared'"),
        ({"solver": "mu", "zero_weight": 0.5}, table(), "requires that all cells have weight 1"),
        ({"solver": "anls", "unobserved": "missing"}, table(), "requires that all cells have weight 1"),
        ({"loss": "kl"}, 1e-13 * table(), "too small for single precision"),
        ({}, 1e-33 * table(), "too small for single precision"),
    ],
)
def test_what_cannot_be_factorized(how, x, fault):
    """Negative tables, empty ones, and what does not go together."""
    with pytest.raises(InputError, match=fault):
        NMF(**{"n_components": 2} | how).fit(x)


@tries(20)
@given(st.integers(0, 999), st.sampled_from([*EVERY_LOSS, 0.0]), st.booleans())
def test_unknown_cells_do_not_count(seed, loss, dense):
    """Whatever stands in cells that are unknown, or that have no weight, the objective is that of the others."""
    rng = np.random.default_rng(seed)
    x = table(12, 9, seed=seed) + 0.1 + rng.random((12, 9))
    known, w = rng.random(x.shape) < 0.7, rng.random(x.shape) + 0.1
    given_x = np.where(known, x, np.nan) if dense else csr_array(np.where(known, x, 0))
    how = {"loss": loss, "unobserved": "missing", "max_iter": 15, "tol": 0, "seed": seed, "threads": 1}
    model = NMF(2, **how).fit(given_x, weights=w)
    assert (np.diff(model.history_) <= 1e-5 * abs(model.history_[0])).all()
    m = model.row_factors_.astype(float) @ model.components_
    assert model.history_[-1] == pytest.approx(divergence(x, m, loss, known * w), rel=1e-3, abs=1e-3)
    without = NMF(2, **how).fit(x, weights=w * known)  # as well left out by a weight of zero
    np.testing.assert_allclose(without.components_, model.components_, rtol=0.02, atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_zeros_that_count_less(loss):
    """The weight of cells that are not listed is the same as their weight where they are listed."""
    x = table(12, 9, noise=0)
    weights = np.where(x > 0, 2.0, 0.3)
    how = {"loss": loss, "max_iter": 8, "tol": 0, "seed": 0, "threads": 1}
    light = NMF(2, zero_weight=0.3, **how).fit(csr_array(x), weights=weights)
    every = x.copy()
    listed = NMF(2, unobserved="missing", **how).fit(every, weights=weights)
    m = light.row_factors_.astype(float) @ light.components_
    assert light.history_[-1] == pytest.approx(divergence(x, m, loss, weights), rel=1e-3)
    np.testing.assert_allclose(listed.history_[1:], light.history_[1:], rtol=0.3)
    plain = NMF(2, **how).fit(x)
    alike = NMF(2, **how).fit(x, weights=np.ones_like(x))
    np.testing.assert_allclose(alike.components_, plain.components_, rtol=1e-2, atol=1e-3)


def test_unknown_cells_are_found_again():
    """A table of rank 3 is told from two thirds of its cells, as from all."""
    rng = np.random.default_rng(0)
    x = rng.random((40, 3)) @ rng.random((3, 30))
    known = rng.random(x.shape) < 0.67
    model = NMF(3, unobserved="missing", max_iter=3000, tol=1e-9, seed=0, threads=1).fit(np.where(known, x, np.nan))
    error = np.abs(model.row_factors_ @ model.components_ - x)[~known]
    assert error.mean() < 0.03 * x.mean()
    row = model.transform(np.where(known, x, np.nan)[:4])
    np.testing.assert_allclose(row @ model.components_, (model.row_factors_ @ model.components_)[:4], atol=0.02)


@pytest.mark.parametrize("init", ["random", "nndsvd"])
def test_ridges_are_part_of_the_objective(init):
    """With squared penalties the gradient is zero where factors are positive; either start will do."""
    x = table(noise=0.2)
    model = NMF(3, l2_W=0.1, l2_H=0.2, init=init, max_iter=500, tol=1e-12, seed=0, threads=1).fit(x)
    W, H = model.row_factors_.astype(float), model.components_.astype(float)
    for factor, gradient in ((W, (W @ H - x) @ H.T + 0.1 * W), (H, W.T @ (W @ H - x) + 0.2 * H)):
        assert np.abs(gradient[factor > 1e-3]).max() < 0.005
        assert gradient.min() > -0.005
    total = divergence(x, W @ H, "squared") + 0.05 * (W**2).sum() + 0.1 * (H**2).sum()
    assert model.history_[-1] == pytest.approx(total, rel=1e-4)


def listed(x, weights=None, zero_weight=1.0, beta=2.0):
    """Cells of a table."""
    return cells_of(csr_array(x.astype(np.float32)), weights, zero_weight=zero_weight, beta=beta)


@pytest.mark.parametrize("rank", [1, 5, 12])
def test_coordinates_of_many_rows_are_those_of_one(rank):
    """Passes over many rows at a time, over one at a time, and over the cells of a list end at the same place."""
    rng = np.random.default_rng(rank)
    x, V = rng.random((150, 20)).astype(np.float32), rng.random((20, rank)).astype(np.float32)
    start = rng.random((150, rank)).astype(np.float32)
    together, alone, by_cell = start.copy(), start.copy(), start.copy()
    value = hals(V.T @ V, x @ V, together, l1=0.1, passes=3, threads=2)
    nonnegative_lasso(V.T @ V, x @ V, alone, l1=0.1, tol=0.0, sweeps=3, threads=1)
    entries = RowEntries(csr_array(x).indptr, csr_array(x).indices, np.zeros(x.size), x.ravel())
    nonnegative_rows(entries, V, by_cell, base=V.T @ V, l1=0.1, passes=3, threads=2)
    np.testing.assert_allclose(together, alone, atol=1e-4)
    np.testing.assert_allclose(by_cell, alone, atol=1e-4)
    assert value == pytest.approx(float((start * (x @ V)).sum()), rel=1e-4)


@pytest.mark.parametrize("rank", [1, 7, 30])
def test_pivoting_solves_the_equations(rank):
    """Rows are those of SciPy's non-negative least squares from any first guess; their gradients are not negative."""
    rng = np.random.default_rng(rank)
    x, V = rng.standard_normal((40, 35)), rng.random((35, rank)) * (rng.random((35, rank)) < 0.5)
    V[:3] += 0.01
    for start in (np.zeros((40, rank)), np.ones((40, rank)), rng.standard_normal((40, rank))):
        A = start.astype(np.float32)
        nnls_rows(V.T @ V, x @ V, A, threads=2)
        np.testing.assert_allclose(A, [nnls(V, row)[0] for row in x], atol=1e-5)
    slope = A.astype(float) @ (V.T @ V) - x @ V
    assert slope.min() > -1e-3
    assert np.abs(slope[A > 0]).max() < 1e-3
    V[:, -1] = V[:, 0]  # equal components: the solution is not unique, its fit is
    nnls_rows(V.T @ V, x @ V, A, threads=1)
    fits = np.array([V @ nnls(V, row)[0] for row in x])
    np.testing.assert_allclose(A @ V.T, fits, atol=1e-4)


def test_many_passes_solve_the_equations():
    """Rows end where non-negative least squares of another library do; signed ones where the gradient is penalized."""
    rng = np.random.default_rng(0)
    x, V = rng.standard_normal((9, 15)).astype(np.float32), rng.random((15, 4)).astype(np.float32)
    A = np.ones((9, 4), np.float32)
    hals(V.T @ V, x @ V, A, passes=500, threads=1)
    np.testing.assert_allclose(A, [nnls(V.astype(float), row)[0] for row in x], atol=1e-3)
    hals(V.T @ V, x @ V, A, l1=0.3, signed=True, passes=500, threads=1)
    slope = A @ (V.T @ V) - x @ V
    assert np.abs(slope + 0.3 * np.sign(A))[A != 0].max() < 1e-3
    assert np.abs(slope[A == 0]).max(initial=0) < 0.3 + 1e-3


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0, 1.5])
def test_products_are_those_of_the_formula(beta):
    """One pass of the loop is the published update of all cells, and its value the divergence before it."""
    rng = np.random.default_rng(1)
    x, V, U = (rng.random(size).astype(np.float32) + 0.1 for size in ((7, 6), (6, 3), (7, 3)))
    m = U.astype(float) @ V.T
    power = 1 / (2 - beta) if beta < 1 else 1
    updated = U * (((x * m ** (beta - 2)) @ V) / ((m ** (beta - 1)) @ V + 0.2)) ** power
    cells = listed(x, zero_weight=0.0, beta=beta)
    found = U.copy()
    value = divergence_rows(
        cells.entries(), V, found, base=np.zeros(3), beta=beta, floor=1e-12, l1=0.2, passes=1, threads=2
    )
    np.testing.assert_allclose(found, updated, rtol=1e-4)
    assert value + cells.constant(beta) == pytest.approx(divergence(x, m, beta), rel=1e-3, abs=1e-4)


def test_rows_on_the_simplex():
    """No weight can be moved to a smaller slope; rows that are corners are found as such."""
    rng = np.random.default_rng(0)
    D = rng.random((6, 20))
    x = np.vstack([D, rng.random((30, 20)), rng.dirichlet(np.ones(6), 10) @ D])
    A = np.full((len(x), 6), 1 / 6)
    assert simplex_rows(D @ D.T, x @ D.T, A, tol=1e-10, threads=2) == 0
    assert A.min() >= 0
    np.testing.assert_allclose(A.sum(axis=1), 1, atol=1e-9)
    slope = A @ (D @ D.T) - x @ D.T
    worst = np.where(A > 0, slope, -np.inf).max(axis=1) - slope.min(axis=1)
    assert worst.max() <= 1e-9
    np.testing.assert_allclose(A[:6], np.eye(6), atol=1e-6)
    np.testing.assert_allclose(A[36:] @ D, x[36:], atol=1e-6)
    assert simplex_rows(D @ D.T, x @ D.T, np.full((len(x), 6), 1 / 6), steps=1, threads=1) > 0


def test_doors_refuse_what_does_not_fit():
    """Shapes and types are checked before the loops read."""
    entries, V = RowEntries(np.array([0, 1]), np.array([2]), np.ones(1), np.ones(1)), np.ones((2, 3), np.float32)
    U = np.ones((1, 3), np.float32)
    with pytest.raises(ValueError, match="columns must contain row indices of V"):
        nonnegative_rows(entries, V, U, base=np.eye(3), threads=1)
    with pytest.raises(ValueError, match="contiguous"):
        hals(np.eye(3), np.ones((1, 3)), U.astype(float), threads=1)
    with pytest.raises(ValueError, match="beta must be from 0 to 2"):
        divergence_rows(entries._replace(columns=np.array([1])), V, U, base=np.ones(3), beta=3, floor=0, threads=1)
    with pytest.raises(ValueError, match="zero_weight must be 0 unless beta is 1"):
        Divergence(listed(np.ones((2, 2))), beta=1.5, threads=1)


def counts(seed=0, documents=60, words=30, rank=3, length=50):
    """Counts of documents that are mixtures of topics."""
    rng = np.random.default_rng(seed)
    phi, theta = rng.dirichlet(np.full(words, 0.2), rank), rng.dirichlet(np.full(rank, 0.3), documents)
    return np.array([rng.multinomial(length, p / p.sum()) for p in theta @ phi]).astype(float)


@tries(15)
@given(st.integers(0, 999), st.integers(1, 4), st.sampled_from([1.0, 0.7]))
def test_plsa_never_loses_likelihood(seed, rank, temperature):
    """Factors are distributions; the objective falls, and is the likelihood that the formula gives."""
    n = counts(seed, 20, 12)
    model = PLSA(rank, temperature=temperature, max_iter=15, tol=0, seed=seed, threads=1).fit(n)
    assert (np.diff(model.history_) <= 1e-5 * abs(model.history_[0])).all()
    W, H = model.row_factors_.astype(float), model.components_.astype(float)
    for factor in (W, H, model.shares_[None]):
        np.testing.assert_allclose(factor.sum(axis=1), 1, atol=1e-5)
    m = np.maximum((W**temperature) @ (H**temperature), 1e-12)
    assert model.history_[-1] == pytest.approx(-(n * np.log(m)).sum() / temperature, rel=1e-4)


def test_plsa_is_nmf_by_divergence():
    """Half-steps are the same up to scale: documents by their lengths, topics by their share of all words."""
    rng, n = np.random.default_rng(0), counts().astype(np.float32)
    P, Q = (rng.random(size).astype(np.float32) for size in ((60, 3), (30, 3)))
    P /= P.sum(axis=1, keepdims=True)
    Q /= Q.sum(axis=0)
    documents, words = (Mixture(csr_array(x), sums=s, threads=1) for x, s in ((n, "rows"), (n.T, "columns")))
    rows, columns = (Divergence(listed(x, beta=1.0), beta=1.0, threads=1) for x in (n, n.T))
    for _ in range(5):
        U = n.sum(axis=1, keepdims=True) * P
        likelihood, value = documents.improve(P, Q), rows.improve(U, Q)
        np.testing.assert_allclose(U, n.sum(axis=1, keepdims=True) * P, rtol=1e-3, atol=1e-5)
        V, before = Q.copy(), words.improve(Q, P)
        columns.improve(V, U)
        np.testing.assert_allclose(V / V.sum(axis=0), Q, rtol=1e-3, atol=1e-6)
        assert before <= likelihood
        assert value > 0


def test_the_end_of_nmf_is_one_of_plsa():
    """Where divergence is least, W and H give P(z|d), P(w|z) and P(z) by their sums: the model, and no step beyond."""
    n = counts()
    model = NMF(3, loss="kl", max_iter=5000, tol=1e-10, seed=0, threads=1).fit(n)
    W, H = model.row_factors_.astype(float), model.components_.astype(float)
    A, B = W.sum(axis=0), H.sum(axis=1)
    assert (A * B).sum() == pytest.approx(n.sum(), rel=1e-3)
    P, Q = ((W * B) / (W @ B)[:, None]).astype(np.float32), (H.T / B).astype(np.float32)
    np.testing.assert_allclose(n.sum(axis=1, keepdims=True) * P @ Q.T, W @ H, rtol=0.02, atol=1e-3)
    P_next, Q_next = P.copy(), Q.copy()
    Mixture(csr_array(n.astype(np.float32)), sums="rows", threads=1).improve(P_next, Q)
    Mixture(csr_array(n.T.astype(np.float32)), sums="columns", threads=1).improve(Q_next, P)
    np.testing.assert_allclose(P_next, P, atol=2e-3)
    np.testing.assert_allclose(Q_next, Q, atol=2e-3)
    np.testing.assert_allclose(n.sum(axis=1) @ P / n.sum(), A * B / (A * B).sum(), atol=2e-3)


def test_plsa_by_hand():
    """One step of expectation and maximization, term by term."""
    n = np.array([[2.0, 1.0], [0.0, 3.0]])
    P, Q = np.array([[0.6, 0.4], [0.5, 0.5]], np.float32), np.array([[0.7, 0.2], [0.3, 0.8]], np.float32)
    expected = np.zeros((2, 2))
    for d, w, z in np.ndindex(2, 2, 2):
        expected[d, z] += n[d, w] * P[d, z] * Q[w, z] / (P[d] @ Q[w])
    found = P.copy()
    Mixture(csr_array(n.astype(np.float32)), sums="rows", threads=1).improve(found, Q)
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), rtol=1e-5)


def separable(documents=3000, seed=0):
    """Topics that each have a word of their own, and documents of them."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(20, 0.5), 4)
    phi = np.hstack([0.1 * np.eye(4), 0.9 * phi])
    theta = rng.dirichlet(np.full(4, 0.3), documents)
    return phi, np.array([rng.multinomial(100, p / p.sum()) for p in theta @ phi])


def test_anchors_find_planted_topics():
    """Topics with a word each of their own are found by it, whatever the order, and twice the same."""
    phi, n = separable()
    model = AnchorTopics(4, threads=1).fit(csr_array(n))
    assert sorted(model.anchors_.tolist()) == [0, 1, 2, 3]
    found = model.components_[np.argsort(model.anchors_)]
    assert np.abs(found - phi).sum(axis=1).max() < 0.1
    again = AnchorTopics(4, threads=2).fit(csr_array(n))
    np.testing.assert_array_equal(again.components_, model.components_)
    assert model.shares_.sum() == pytest.approx(1)


def test_co_occurrence_is_unbiased():
    """The matrix counts pairs of different places of a document, by hand; it has no diagonal from one place alone."""
    Q, shares = co_occurrence(csr_array(np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])))
    joint = np.array([[2 / 6, 2 / 6, 0], [2 / 6, 0, 0], [0, 0, 0]])
    joint += np.array([[0, 0, 0], [0, 0, 1 / 2], [0, 1 / 2, 0]])
    np.testing.assert_allclose(shares, joint.sum(axis=1) / joint.sum())
    np.testing.assert_allclose(Q.toarray(), joint / joint.sum(axis=1, keepdims=True))


PAIRS = [(words, documents) for words in ("l1", "l2") for documents in ("l1", "l2")]


@tries(4)
@pytest.mark.parametrize(("words", "documents"), PAIRS)
@given(st.integers(0, 999), st.sampled_from([0.01, 0.3]), st.sampled_from([0.01, 1.0]))
def test_rlsi_never_raises_its_objective(words, documents, seed, on_words, on_documents):
    """The objective falls and is that of the factors; neither factor can be improved given the other."""
    x = table(20, 15, noise=0.1, seed=seed)
    how = {"word_norm": words, "document_norm": documents, "word_penalty": on_words, "document_penalty": on_documents}
    model = RLSI(3, **how, max_iter=1000, tol=1e-8, inner=3, seed=0, threads=1).fit(x)
    assert (np.diff(model.history_) <= 1e-6 * (x**2).sum()).all()
    assert model.history_[-1] < model.history_[0]
    W, H = model.row_factors_.astype(float), model.components_.astype(float)
    total = ((x - W @ H) ** 2).sum()
    for factor, norm, penalty in ((H, words, on_words), (W, documents, on_documents)):
        total += penalty * (np.abs(factor).sum() if norm == "l1" else (factor**2).sum())
    assert model.history_[-1] == pytest.approx(total, rel=1e-4, abs=1e-4)
    np.testing.assert_allclose(model.transform(x), W, atol=0.01)
    for factor, slope, norm, penalty in (
        (H, 2 * W.T @ (W @ H - x), words, on_words),
        (W, 2 * (W @ H - x) @ H.T, documents, on_documents),
    ):
        if norm == "l1":
            assert np.abs(slope + penalty * np.sign(factor))[factor != 0].max(initial=0) < 0.05
            assert np.abs(slope[factor == 0]).max(initial=0) < penalty + 0.05
        else:
            assert np.abs(slope + 2 * penalty * factor).max() < 0.05


@pytest.mark.parametrize(("words", "documents"), PAIRS)
def test_rlsi_rows_are_lasso_or_ridge_regressions(words, documents):
    """Rows of both factors, and of new documents, are those of scikit-learn's regressions on the other factor."""
    x = table(25, 15, noise=0.1, seed=3)
    how = {"word_norm": words, "document_norm": documents, "word_penalty": 0.2, "document_penalty": 0.3}
    model = RLSI(3, **how, max_iter=3000, tol=1e-9, inner=5, seed=0, threads=1).fit(x)
    W, H = model.row_factors_.astype(float), model.components_.astype(float)

    def regressions(y, D, norm, penalty):
        make = linear_model.Ridge(penalty, fit_intercept=False)
        if norm == "l1":
            make = linear_model.Lasso(penalty / 2 / len(D), fit_intercept=False, tol=1e-10, max_iter=100_000)
        return np.array([make.fit(D, row).coef_ for row in y])

    np.testing.assert_allclose(W, regressions(x, H.T, documents, 0.3), atol=0.01)
    np.testing.assert_allclose(H.T, regressions(x.T, W, words, 0.2), atol=0.01)
    new = table(6, 15, noise=0.3, seed=4)
    np.testing.assert_allclose(model.transform(new), regressions(new, H.T, documents, 0.3), atol=1e-3)


def test_rlsi_with_two_ridges_shrinks_singular_values():
    """The product is the truncated decomposition whose values are reduced by the root of the penalties' product."""
    x = table(25, 15, noise=0.5, seed=1)
    how = {"word_penalty": 0.5, "document_penalty": 0.18, "tol": 1e-10, "seed": 0, "threads": 1}
    model = RLSI(4, word_norm="l2", document_norm="l2", **how).fit(x)
    U, s, V = np.linalg.svd(x, full_matrices=False)
    expected = (U[:, :4] * np.maximum(s[:4] - 0.3, 0)) @ V[:4]
    np.testing.assert_allclose(model.row_factors_ @ model.components_, expected, atol=1e-3)


def test_lda_climbs_the_bound_of_another_library(monkeypatch):
    """The objective is scikit-learn's bound, and the fold-in its fold-in; sweeps that go on from the last lower it."""
    n, alpha, eta = counts(), 0.4, 0.2
    monkeypatch.setattr(lda, "SETTLED_TOL", 1e-6)
    model = LDA(3, document_prior=alpha, word_prior=eta, seed=0, threads=1).fit(n)
    theirs = decomposition.LatentDirichletAllocation(
        3, doc_topic_prior=alpha, topic_word_prior=eta, mean_change_tol=1e-6
    )
    theirs.partial_fit(n)
    theirs.components_ = model.weights_
    theirs.exp_dirichlet_component_ = np.exp(psi(model.weights_) - psi(model.weights_.sum(axis=1, keepdims=True)))
    assert model.history_[-1] == pytest.approx(-theirs.score(n), rel=1e-5)
    np.testing.assert_allclose(model.transform(n), theirs.transform(n), atol=2e-3)
    np.testing.assert_allclose(model.row_factors_, model.transform(n))
    monkeypatch.setattr(lda, "RESTART_SWEEPS", 0)
    falling = np.array(LDA(3, max_iter=30, tol=0, seed=0, threads=1).fit(n).history_)
    assert (np.diff(falling) <= 1e-6 * falling[0]).all()
    assert falling[-1] < falling[0]


def test_lda_steps_are_those_of_the_formula():
    """One pass over documents and topics, beside loops over every count of every topic."""
    n, rng = counts().astype(int), np.random.default_rng(0)
    gamma, weights = 1 + rng.random((len(n), 3)), 1 + rng.random((3, n.shape[1]))
    u, v = (np.exp(psi(x) - psi(x.sum(axis=1, keepdims=True))) for x in (gamma, weights))
    of_documents, of_topics = np.full(gamma.shape, 0.4), np.zeros(weights.shape)
    for d, w in np.argwhere(n):
        share = u[d] * v[:, w] / (u[d] @ v[:, w])  # of each topic in each of these words
        of_documents[d] += n[d, w] * share
        of_topics[:, w] += n[d, w] * share
    table, words = (lda.entries_of(csr_array(x.astype(np.float32))) for x in (n, n.T))
    moved = lda.update_mixtures(table, lda.means(weights), lda.Dirichlets(gamma, 0.4), threads=1)
    np.testing.assert_allclose(moved.counts, of_documents, rtol=1e-4)
    expected = lda.means(weights)
    value = expected_rows(words, u.astype(np.float32), expected, floor=1e-30, threads=1)
    np.testing.assert_allclose(expected, of_topics.T, rtol=1e-4)
    assert value == pytest.approx(-(n * np.log(u @ v)).sum(), rel=1e-5)


def window_counts(documents, words, window):
    """Count windows one by one."""
    together, total = np.zeros((len(words), len(words))), 0
    for document in documents:
        for start in range(max(len(document) - window + 1, 1)):
            inside = np.array([word in document[start : start + window] for word in words], float)
            together += np.outer(inside, inside)
            total += 1
    return together, total


@tries(30)
@given(
    st.lists(st.lists(st.integers(0, 6), max_size=12), min_size=1, max_size=6), st.integers(1, 8), st.integers(1, 99)
)
def test_windows_are_counted_as_one_by_one(documents, window, block):
    """Also where a word is in a window twice, where documents are short or empty, and however many at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "BLOCK", block)
        found = in_windows(documents, range(5), window=window)
    together, total = window_counts(documents, list(range(5)), window)
    np.testing.assert_array_equal(found.together, together)
    assert found.windows == total


def test_coherence_is_that_of_gensim():
    """Both measures agree with gensim's to the last digits, on texts that repeat no word in a window."""
    coherencemodel = pytest.importorskip("gensim.models.coherencemodel")
    from gensim.corpora import Dictionary

    rng = np.random.default_rng(0)
    texts = [[f"w{i}" for i in rng.permutation(200)[: rng.integers(1, 180)]] for _ in range(40)]
    topics = [[f"w{i}" for i in range(k, k + 6)] for k in (0, 8, 16)]
    words = [word for topic in topics for word in topic]
    how = {"topics": topics, "texts": texts, "dictionary": Dictionary(texts), "processes": 1}
    for name, window, ours in (("c_npmi", 10, npmi_coherence), ("c_v", 110, c_v_coherence)):
        theirs = coherencemodel.CoherenceModel(coherence=name, **how).get_coherence_per_topic()
        np.testing.assert_allclose(ours(topics, in_windows(texts, words, window=window)), theirs, rtol=1e-9)


def test_documents_are_windows_without_end():
    """Counting in a table is counting in windows as long as documents."""
    texts = [["a", "b", "a"], ["b", "c"], ["c"]]
    n = csr_array(np.array([[2.0, 1, 0], [0, 1, 1], [0, 0, 1]]))
    table_found, text_found = in_documents(n, [0, 1, 2]), in_windows(texts, "abc", window=3)
    np.testing.assert_array_equal(table_found.together, text_found.together)
    assert table_found.windows == text_found.windows == 3
    assert npmi_coherence([[0, 1]], table_found)[0] == pytest.approx(np.log((1 / 3) / (1 / 3 * 2 / 3)) / np.log(3))


def test_completion_perplexity_by_hand():
    """Uniform guesses get the size of the vocabulary, the truth its own; scale does not matter."""
    hidden, truth = HIDDEN, TRUTH
    assert perplexity() == pytest.approx(4)
    exact = completion_perplexity(hidden, 7 * np.eye(2), truth, background=np.ones(4), background_share=0)
    assert exact == pytest.approx(np.exp(-(2 * np.log(0.5)) / 4))
    mixed = completion_perplexity(hidden, np.eye(2), truth, background=np.ones(4), background_share=0.2)
    chances = [0.8 * 0.5 + 0.05, 0.8 * 0.5 + 0.05, 0.85, 0.85]
    assert mixed == pytest.approx(np.exp(-np.log(chances).mean()))
    by_column = completion_perplexity(csc_array(hidden), np.eye(2), truth, background=np.ones(4), background_share=0.2)
    assert by_column == mixed
    with pytest.raises(InputError, match="has probability 0"):
        completion_perplexity(hidden, np.ones((2, 1)), truth[:1], background=np.ones(4), background_share=0)


@given(st.integers(0, 999))
def test_halves_are_the_whole(seed):
    """Each occurrence is seen or hidden, and about half of each document is seen."""
    n = csr_array(np.random.default_rng(seed).poisson(0.7, (8, 6)).astype(np.float32))
    seen, hidden = halves(n, seed=seed)
    np.testing.assert_array_equal((seen + hidden).toarray(), n.toarray())
    np.testing.assert_array_equal(seen.sum(axis=1), np.ceil(n.sum(axis=1) / 2))
    assert min(seen.data.min(initial=1), hidden.data.min(initial=1)) >= 1
    for same in (csc_array(n), n.toarray()):
        np.testing.assert_array_equal(halves(same, seed=seed)[0].toarray(), seen.toarray())


@given(st.integers(0, 999))
def test_stability_matches_as_well_as_can_be(seed):
    """No other matching is better; order and scale of topics do not matter."""
    first, second = np.random.default_rng(seed).random((2, 4, 6))
    unit = [A / np.linalg.norm(A, axis=1, keepdims=True) for A in (first, second)]
    cosines = unit[0] @ unit[1].T
    every = max(cosines[range(4), list(order)].mean() for order in permutations(range(4)))
    assert stability(first, second) == pytest.approx(every)
    assert stability(first, 3 * first[::-1]) == pytest.approx(1)


def test_diversity_of_words():
    """Different words by all words."""
    assert diversity([["a", "b"], ["a", "c"], ["a", "d"]]) == pytest.approx(4 / 6)


SUBJECTS = {"sky": "sun moon star cloud", "law": "court judge trial jury", "sea": "ship wave port sail"}


def texts(seed=0, size=90):
    """Documents of three subjects."""
    rng, names = np.random.default_rng(seed), list(SUBJECTS)
    labels = [names[k % 3] for k in range(size)]
    return [" ".join(["the", *rng.choice(SUBJECTS[label].split(), 12)]) for label in labels], labels


@pytest.mark.parametrize("method", ["nmf", "kl", "plsa", "lda", "anchors", "spectral", "rlsi"])
def test_text_has_its_topics(method):
    """Each subject is a topic; documents have the topic of their subject."""
    documents, labels = texts()
    model = TextTopics(method, n_components=3, min_count=1, seed=0, threads=1).fit(documents)
    assert sorted(map(sorted, model.top_words(4))) == sorted(sorted(words.split()) for words in SUBJECTS.values())
    weights = model.transform(documents)
    groups = {
        label: {int(k) for k, at in zip(weights.argmax(axis=1), labels, strict=True) if at == label}
        for label in SUBJECTS
    }
    assert sorted(len(group) for group in groups.values()) == [1, 1, 1]
    index = {word: k for k, word in enumerate(model.words_)}
    assert held_out_perplexity(model, table_of_texts(texts(1)[0], index, Tokenizer())) < 7


def test_options_are_those_of_the_method(tmp_path):
    """A penalty reaches the model of the method, is kept with it, and no name is taken that means nothing there."""
    documents, _ = texts()
    how = {"n_components": 3, "min_count": 1, "seed": 0, "threads": 1}
    assert TextTopics("rlsi", options={"word_penalty": 0.5}, **how).fit(documents).model_.word_penalty == 0.5
    for norm in ("l1", "l2"):
        assert TextTopics("rlsi", word_norm=norm, document_norm="l1", **how).fit(documents).model_.word_norm == norm
    with pytest.raises(InputError, match="word_norm requires method='rlsi'"):
        TextTopics("nmf", word_norm="l1", **how).fit(documents)
    model = TextTopics("anchors", options={"min_documents": 5}, **how).fit(documents)
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").model_.min_documents == 5
    unread = (pytest.fail("read before settings were looked at") for _ in range(1))
    for options, fault in (
        (
            {"n_components": 2, "loss": "kl"},
            r"unknown options of rlsi: loss, n_components; choose from document_norm, document_penalty, inner",
        ),
        ({"word_penalty": -1.0}, "word_penalty must be a finite number greater than 0"),
        ({"word_norm": "l3"}, "word_norm must be"),
    ):
        with pytest.raises(InputError, match=fault):
            TextTopics("rlsi", options=options, **how).fit(unread)


@pytest.mark.parametrize("kind", [csr_matrix, csc_array, coo_array, csr_array.toarray])
def test_tables_of_any_kind_are_the_same(kind):
    """Counts may be sparse in any way, or dense, and list zeros or a pair twice; they are left as they are."""
    corpus = Corpus.build(texts()[0], min_count=1, stop_words="english")
    n, words = document_table(corpus), corpus.vocabulary.words
    given_n = kind(n)
    for method in ("nmf", "plsa"):
        model, other = (
            TextTopics(method, n_components=3, seed=0, threads=1).fit_table(one, words) for one in (n, given_n)
        )
        for name in ("idf_", "background_", "word_weights_"):
            np.testing.assert_array_equal(getattr(other, name), getattr(model, name))
        np.testing.assert_array_equal(other.transform_table(given_n), model.transform_table(n))
    assert cross_validate(model, given_n, words, n_components=[3], folds=2) == cross_validate(
        model, n, words, n_components=[3], folds=2
    )
    twice = csr_array((np.array([1.0, 0, 1, 1]), np.array([1, 0, 1, 0]), np.array([0, 3, 4])), shape=(2, 2))
    plain = TextTopics(n_components=1, seed=0, threads=1).fit_table(csr_array(np.array([[0.0, 2], [1, 0]])), "ab")
    np.testing.assert_array_equal(TextTopics(n_components=1, seed=0).fit_table(twice, "ab").idf_, plain.idf_)
    assert twice.nnz == 4


def text_model():
    return TextTopics(n_components=3, min_count=1, seed=0, threads=1).fit(texts()[0])


HIDDEN, TRUTH = csr_array(np.array([[1.0, 0, 1, 0], [0, 2, 0, 0]])), np.array([[0.5, 0, 0.5, 0], [0, 1.0, 0, 0]])


def perplexity(mixtures=2, words=4, background=4, **how):
    how = {"background": np.ones(background)} | how
    return completion_perplexity(HIDDEN, np.ones((mixtures, 1)), np.ones((1, words)), **how)


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (lambda: text_model().transform("sun moon"), "pass \\[text\\]"),
        (lambda: text_model().transform(["sun", 3]), "got an element of type int"),
        (lambda: text_model().transform([]), "at least one document is required"),
        (lambda: cross_validate(TextTopics(), counts(), "ab", n_components=[]), "must contain at least one"),
        (lambda: diversity([]), "requires at least one topic"),
        (lambda: halves(-np.ones((2, 2))), "non-negative integer counts"),
        (lambda: npmi_coherence([[0, 7]], in_documents(HIDDEN, [0, 1])), "was not counted"),
        (lambda: perplexity(background_share=1.5), "must be at most 1"),
        (lambda: perplexity(mixtures=3), "mixtures, words and background must have the shapes"),
        (lambda: perplexity(words=5), "mixtures, words and background must have the shapes"),
        (lambda: perplexity(background=5), "mixtures, words and background must have the shapes"),
        (lambda: AnchorTopics(25, threads=1).fit(separable(300)[1]), "number of possible anchor words, "),
        (
            lambda: AnchorTopics(2, min_documents=9999).fit(separable(300)[1]),
            "number of possible anchor words, 0; lower",
        ),
        (lambda: AnchorTopics(4, threads=1).fit(separable(300)[1] * 0.3), "whole numbers; do not apply weights"),
    ],
)
@pytest.mark.filterwarnings("ignore:n_components should be at most")
def test_refusals(call, fault):
    """What is no text, no count, and of which there is nothing is refused in a sentence."""
    with pytest.raises(InputError, match=fault):
        call()


def test_tables_of_text():
    """A corpus and the same text, word by word, give the same table; a tokenizer may give one sentence, flat."""
    np.testing.assert_array_equal(table_of_texts(["ab a"], {"ab": 0, "a": 1, "b": 2}, str.split).toarray(), [[1, 1, 0]])
    documents = ["A rose is a rose.", "", "Is it? It is!"]
    corpus = Corpus.build(documents, min_count=1)
    index = {word: k for k, word in enumerate(corpus.vocabulary.words)}
    tables = [document_table(corpus), table_of_texts(documents, index, Tokenizer())]
    for found in tables:
        assert [dict(zip(index, row, strict=True)) for row in found.toarray()] == [
            {
                word: text.lower().replace("?", "").replace("!", "").replace(".", "").split().count(word)
                for word in index
            }
            for text in documents
        ]


def test_the_number_of_topics_that_was_planted():
    """Three subjects are foretold best, and found again best, by three topics."""
    corpus = Corpus.build(texts()[0], min_count=1, stop_words="english")
    table_, words = document_table(corpus), corpus.vocabulary.words
    choices = cross_validate(TextTopics("plsa", threads=1), table_, words, n_components=[1, 3, 8], folds=2)
    assert [one.n_components for one in choices] == [1, 3, 8]
    assert best(choices).n_components == 3
    assert best(choices, "coherence").n_components == 3
    made = [FoldScores(5, 10.0, 0.1, 0.2, 0.9), FoldScores(2, 10.0, 0.1, 0.3, 0.8)]
    assert [best(made, by).n_components for by in ("perplexity", "coherence", "stability")] == [2, 2, 5]


def test_pictures_show_words_and_shares():
    """Bars have the words of topics in order; groups have the shares of their documents."""
    documents, labels = texts()
    model = TextTopics(n_components=3, min_count=1, seed=0, threads=1).fit(documents)
    ax = plots.topic_words(model, [2, 0], top=3)
    shown = [text.get_text() for text in ax.texts]
    assert shown == model.top_words(3)[2] + model.top_words(3)[0]
    assert plots.topic_words(model, ax=ax) is ax
    with pytest.raises(InputError, match="topics must be indices from 0 to 2"):
        plots.topic_words(model, [3])
    weights = model.transform(documents)
    ax = plots.topic_groups(weights, labels)
    shares = np.asarray(ax.images[0].get_array())
    assert shares.shape == (3, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert (np.diag(shares) > 0.9).all()
    with pytest.raises(InputError, match="must have one row for each"):
        plots.topic_groups(weights, labels[:5])


@pytest.mark.realdata
def test_published_sets_have_their_sizes(realdata):
    """News and posts are as many as published."""
    from polyadic.datasets.documents import BBC, bbc, kos

    articles = bbc(realdata)
    assert {label: sum(one.label == label for one in articles) for label in BBC} == BBC
    assert any("£" in one.text for one in articles if one.label == "sport" and one.name == "199")
    posts = kos(realdata)
    assert (posts.shape, posts.nnz) == ((3430, 6906), 353160)
    assert posts.data.min() >= 1
