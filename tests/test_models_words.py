"""Models of word vectors: symmetric CP and the pairwise baseline."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helpers
import reference
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError
from polyadic.core.forms import CP
from polyadic.core.losses import Squared
from polyadic.core.objective import Objective, Term
from polyadic.core.penalties import L2, NonNegative
from polyadic.embedding import Embedding
from polyadic.words.glove import GloVe
from polyadic.words.joint import JointCP
from polyadic.words.orders import best_scale
from polyadic.words.pairwise import PPMISVD
from polyadic.words.phrases import phrase_vectors
from polyadic.words.poisson import PoissonCP
from polyadic.words.sparse_coding import NNSE
from polyadic.words.symmetric import SymmetricCP
from polyadic.words.tucker import Tucker


def full(values):
    """List the cells of a symmetric array."""
    order, size = values.ndim, len(values)
    rows = np.array([row for row in np.ndindex(values.shape) if list(row) == sorted(row, reverse=True)])
    return Entries.collect(rows.reshape(-1, order), values[tuple(rows.T)], size)


some_entries = partial(helpers.some_entries, size=20, n=80)


def test_attributes():
    """The result has its shape and precision, history is as long as the sweeps, words get the rows of the factor."""
    model = SymmetricCP(4, seed=0, tol=1e-3, max_iter=500).fit(some_entries())
    (u,) = model.factors_
    assert (u.shape, u.dtype) == ((20, 4), np.float32)
    assert len(model.history_) == model.n_iter_ + 1
    assert (model.converged_, model.interrupted_) == (True, False)
    assert model.history_ == sorted(model.history_, reverse=True)
    assert np.array_equal(model.embedding([f"w{k}" for k in range(20)])["w7"], u[7])


def test_bound_gives_zeros():
    """Non-negative vectors have no negative element and some that are exactly zero."""
    (u,) = SymmetricCP(5, penalty=NonNegative(), zero_weight=1.0, seed=0, max_iter=500).fit(some_entries()).factors_
    assert (u >= 0).all()
    assert 0.05 < (u == 0).mean() < 0.95


@pytest.mark.parametrize("rank", [1, 3, 8])
def test_matrix_is_approximated_best(rank):
    """For a positive matrix, with zeros of full weight, the error is that of the best matrix of this rank."""
    rng = np.random.default_rng(0)
    root = rng.random((12, 12)) + 0.2
    X = root @ root.T
    model = SymmetricCP(rank, zero_weight=1.0, tol=1e-9, max_iter=3000, seed=0).fit(full(X))
    (u,) = model.factors_
    values = np.linalg.eigvalsh(X)[::-1]
    error = np.linalg.norm(X - u.astype(float) @ u.T)
    assert error**2 == pytest.approx((values[rank:] ** 2).sum(), rel=1e-2, abs=1e-5 * (values**2).sum())


@pytest.mark.parametrize("order", [3, 4])
def test_planted_vectors_are_recovered(order):
    """Positive vectors that made a symmetric array are found again, up to the order of columns."""
    rng = np.random.default_rng(order)
    planted = rng.random((10, 2)) * (rng.random((10, 2)) < 0.7) + 0.05
    x = full(reference.cp([planted] * order))
    models = [SymmetricCP(2, zero_weight=1.0, tol=1e-9, max_iter=2000, seed=seed).fit(x) for seed in range(3)]
    found = min(models, key=lambda model: model.history_[-1]).factors_[0]
    cosines = np.abs(found / np.linalg.norm(found, axis=0)).T @ (planted / np.linalg.norm(planted, axis=0))
    assert sorted(cosines.max(axis=0) > 0.99) == [True, True]
    assert set(cosines.argmax(axis=0)) == {0, 1}


def test_zeros_pull_unobserved_cells_down():
    """The more weight zeros have, the smaller are predictions of unobserved tuples."""
    x = some_entries(size=12, n=40)
    listed = reference.cells(x)
    sums = []
    for zero_weight in (0.0, 0.01, 1.0):
        (u,) = SymmetricCP(6, zero_weight=zero_weight, seed=0, tol=1e-6, max_iter=2000).fit(x).factors_
        sums.append(float((reference.cp([u] * 3)[~listed] ** 2).sum()))
    assert sums[0] > sums[1] > sums[2]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("zero_weight", [0.0, 0.1, 1.0])
def test_best_scale_is_the_best(order, zero_weight):
    """No other multiple of the start has a lower objective."""
    rng = np.random.default_rng(order)
    x = some_entries(order=order, size=8, n=20)
    term = Term(x, CP(), Squared(), (0,) * order, 0.3, zero_weight)
    f = Objective([term], [L2()])
    start = best_scale([term], np.abs(rng.standard_normal((8, 3))) * 7)
    best = f.value([start])
    for t in (0.0, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0):
        assert f.value([t * start]) > best


@pytest.mark.parametrize("seed", range(6))
def test_smallest_problem(seed):
    """One tuple of three words can be fitted from any start, even where a bound cuts the start to zero."""
    x = Entries.collect([[0, 1, 2]], [2.0], 3)
    model = SymmetricCP(1, zero_weight=0.0, penalty=NonNegative(), seed=seed, max_iter=200).fit(x)
    assert np.isfinite(model.factors_[0]).all()
    assert model.history_[-1] <= model.history_[0]


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_pairwise_vectors_are_those_of_numpy(power):
    """Vectors are left singular vectors times a power of the singular values, the largest element positive."""
    x = some_entries(order=2, size=15, n=60)
    dense, _ = reference.dense(x)
    model = PPMISVD(4, power=power, seed=0).fit(x)
    U, s, _ = np.linalg.svd(dense)
    assert model.singular_values_ == pytest.approx(s[:4])
    truth = U[:, :4] * np.sign(U[np.abs(U[:, :4]).argmax(axis=0), np.arange(4)]) * s[:4] ** power
    assert model.vectors_ == pytest.approx(truth, abs=1e-5)
    assert model.vectors_.dtype == np.float32


def test_predictions_are_sums_of_products():
    """``predict`` gives the sum over columns of the products of the rows of a tuple."""
    entries = Entries.collect([[0, 1, 2], [2, 3, 4], [1, 3, 4]], [1.0, 2.0, 3.0], 5)
    model = SymmetricCP(3, seed=0, max_iter=5, tol=0).fit(entries)
    tuples = np.array([[0, 1, 2], [4, 4, 0]])
    np.testing.assert_allclose(model.predict(tuples), model.factors_[0][tuples].prod(axis=1).sum(axis=1), rtol=1e-5)


# ---- joint


def joint_entries(seed=0, *, size=30, groups=3):
    """Pairs and triples of words that belong to one of some groups each."""
    rng = np.random.default_rng(seed)
    group = np.arange(size) % groups
    lists = []
    for order, number in ((2, 300), (3, 600)):
        rows = rng.integers(size, size=(number, order))
        rows = rows[(group[rows] == group[rows[:, :1]]).all(axis=1) & (np.diff(np.sort(rows, axis=1)) > 0).all(axis=1)]
        unique = np.unique(np.sort(rows, axis=1), axis=0)
        lists.append(Entries.collect(unique, np.full(len(unique), 2.0), size))
    return lists, group


def test_components_keep_groups_apart():
    """Where words fall into groups, components are not negative, and triples of two groups have no association."""
    lists, group = joint_entries()
    model = JointCP(12, n_nonnegative=6, seed=1, max_iter=200).fit(lists)
    assert (model.factors_[1] >= 0).all()
    rows = np.random.default_rng(2).integers(30, size=(500, 3))
    within = (group[rows] == group[rows[:, :1]]).all(axis=1)
    across = (group[rows] != group[rows[:, :1]]).any(axis=1)
    assert np.mean(model.predict(rows[across])) < 0.01 * np.mean(model.predict(rows[within]))
    words = model.embedding([str(k) for k in range(30)])
    assert (words.rank, words.components.rank) == (12, 6)
    for found in (words.neighbours("0", "3", top=5), words.neighbours("0", top=5)):
        assert all(group[int(word)] == 0 for word, _ in found)


def test_joint_predictions_are_what_was_fitted():
    """Pairs are inner products of whole vectors, triples products of non-negative components in their units."""
    lists, _ = joint_entries()
    model = JointCP(6, n_nonnegative=3, pair_scale=0.4, seed=1, max_iter=200).fit(lists)
    A, C = model.factors_
    U = np.hstack([A, C])
    np.testing.assert_allclose(model.predict(np.array([[3, 5]])), [U[3] @ U[5]], rtol=1e-5)
    np.testing.assert_allclose(model.predict(np.array([[3, 5, 7]])), [(C[3] * C[5] * C[7]).sum() / 0.4**3], rtol=1e-4)
    explained = [1 - np.linalg.norm(x.values - model.predict(x.indices)) / np.linalg.norm(x.values) for x in lists]
    assert [f.listed for f in model.explained_] == pytest.approx(explained, abs=1e-5)
    assert min(explained) > 0.1


def test_joint_objective_never_rises():
    """More iterations never raise the objective."""
    model = JointCP(6, seed=3, max_iter=20, tol=0).fit(joint_entries()[0])
    assert model.history_ == sorted(model.history_, reverse=True)
    assert (model.n_iter_, model.converged_) == (20, False)


def test_joint_goes_on_where_it_stopped():
    """Given the vectors of a fit that was cut short, the next begins at its objective."""
    lists, _ = joint_entries()
    first = JointCP(6, n_nonnegative=2, seed=3, max_iter=5, tol=0).fit(lists)
    second = JointCP(6, n_nonnegative=2, start=np.hstack(first.factors_), max_iter=5, tol=0).fit(lists)
    assert second.history_[0] == pytest.approx(first.history_[-1], rel=1e-5)
    assert second.history_[-1] < first.history_[-1]


@pytest.mark.parametrize(
    ("parameters", "choose", "message"),
    [
        ({"start": np.ones((30, 5))}, slice(None), r"start must have 6 columns, .* got shape \(30, 5\)"),
        ({"start": -np.ones((30, 6))}, slice(None), "the last 3 with non-negative values only"),
        ({"start": np.ones((29, 6))}, slice(None), "start must have 30 rows, one per word"),
        ({"n_nonnegative": 6}, slice(None), "n_nonnegative"),
        (
            {"rank": 60},
            slice(None),
            "rank must be below 60, the sum of 30 words and 30 non-negative components; got 60",
        ),
        ({}, slice(1), r"requires entries of order 2, followed by entries of higher orders; got orders \[2\]"),
        ({}, slice(None, None, -1), r"got orders \[3, 2\]"),
        ({"order_weights": [1.0]}, slice(None), "order_weights must contain one weight per tensor"),
    ],
)
def test_joint_refusals(parameters, choose, message):
    """What makes no sense is refused in a sentence."""
    lists, _ = joint_entries()
    with pytest.raises(InputError, match=message):
        JointCP(**{"rank": 6} | parameters).fit(lists[choose])


LISTED = Entries(np.array([[1, 0]]), np.ones(1), (2, 2), symmetric=True)


@pytest.mark.parametrize(
    ("model", "entries", "message"),
    [
        (SymmetricCP(2), replace(LISTED, symmetric=False), "must be symmetric Entries"),
        (SymmetricCP(2), replace(LISTED, indices=LISTED.indices[:0], values=np.empty(0)), "there are no entries"),
        (SymmetricCP(2, zero_weight=0.1), replace(LISTED, unobserved="missing"), "zero_weight must be 0 if unobserved"),
        (PPMISVD(2), some_entries(), "entries of order 2; got order 3"),
        (PPMISVD(20), some_entries(order=2), "rank must be below 20, the smaller dimension of the matrix; got 20"),
        (NNSE(2), some_entries(), "NNSE requires a symmetric matrix"),
        (GloVe(2), some_entries(), "symmetric co-occurrence counts"),
    ],
)
def test_entries_that_cannot_be_used_are_refused(model, entries, message):
    """By ``fit``, in a sentence."""
    with pytest.raises(InputError, match=message):
        model.fit(entries)


# ---- phrases from triples


@given(seed=st.integers(0, 99), blend=st.sampled_from([0.0, 0.5, 2.0]))
def test_phrase_vectors_are_sums_over_triples(seed, blend):
    """The vector of a phrase is the weighted sum of the words that occur with both, in any order of its words."""
    rng = np.random.default_rng(seed)
    x = Entries.collect(rng.integers(7, size=(25, 3)), rng.random(25) + 0.1, 7)
    x = Entries(
        *(a[(np.diff(x.indices, axis=1) < 0).all(axis=1)] for a in (x.indices, x.values)), x.shape, symmetric=True
    )
    words = Embedding(list("abcdefg"), rng.normal(size=(7, 4)))
    full = reference.dense(x)[0]
    pairs = [("a", "b"), ("f", "c"), ("a", "b"), ("g", "e")]
    found = phrase_vectors(words, x, pairs, blend=blend)
    for (u, v), vector in zip(pairs, found, strict=True):
        i, j = words.index[u], words.index[v]
        row, both = full[i, j] @ words.unit, words.unit[i] + words.unit[j]
        truth = row / (np.linalg.norm(row) or 1) + blend * both / np.linalg.norm(both)
        np.testing.assert_allclose(vector, truth, atol=1e-6)
    turned = phrase_vectors(words, x, [(v, u) for u, v in pairs], blend=blend)
    np.testing.assert_allclose(turned, found, atol=1e-12)


def test_phrase_vectors_of_other_vocabularies():
    """Triples may be of other words: those that the vectors lack are left out."""
    x = Entries.collect([[0, 1, 2], [0, 1, 3]], [1.0, 5.0], 4)
    words = Embedding(["ship", "pearl", "harbor"], np.eye(3))
    (vector,) = phrase_vectors(words, x, [("pearl", "harbor")], words=["pearl", "harbor", "ship", "unknown"], blend=0.0)
    assert vector.tolist() == [1, 0, 0]
    assert phrase_vectors(words, x, [], words=["pearl", "harbor", "ship", "unknown"]).shape == (0, 3)
    for triples, phrase, names, message in (
        (x, ("pearl", "pearl"), ["pearl", "harbor", "ship", "x"], "two different known words; got 'pearl pearl'"),
        (x, ("pearl", "x"), ["pearl", "harbor", "ship", "x"], "two different known words; got 'pearl x'"),
        (x, ("pearl", "harbor"), None, r"shape \(3, 3, 3\) for 3 words; got a symmetric tensor of shape \(4, 4, 4\)"),
        (
            Entries.collect([[0, 1]], [1.0], 3),
            ("pearl", "harbor"),
            None,
            r"for 3 words; got a symmetric tensor of shape \(3, 3\)",
        ),
    ):
        with pytest.raises(InputError, match=message):
            phrase_vectors(words, triples, [phrase], words=names)


@pytest.mark.parametrize(
    "model", [SymmetricCP(2, max_iter=2, tol=0), PoissonCP(2, max_iter=2, tol=0), Tucker(2, max_iter=2, tol=0)]
)
def test_fits_leave_entries_as_they_were(model):
    """Values and indices are copied where a solver changes them."""
    x = some_entries(size=12, n=40)
    before = x.values.copy(), x.indices.copy()
    model.fit(x)
    assert np.array_equal(x.values, before[0])
    assert np.array_equal(x.indices, before[1])
