"""Topics by moments: planted topics are found, moments are those of all pairs and triples, conventions are kept."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from experiments.spectral.topics import planted_documents, recovery, topic_error
from polyadic import InputError
from polyadic.topics.anchors import AnchorTopics
from polyadic.topics.spectral import SpectralLDA, WordMoments
from strategies import tries


def listed(counts, alpha0):
    """Second and third moments from all pairs and triples of places, one by one."""
    D, V = counts.shape
    one, two, three = np.zeros(V), np.zeros((V, V)), np.zeros((V, V, V))
    for row in counts:
        places = np.repeat(np.arange(V), row)
        n = len(places)
        for x in places:
            one[x] += 1 / n / D
        for pair in permutations(places.tolist(), 2):
            two[pair] += 1 / (n * (n - 1)) / D
        for triple in permutations(places.tolist(), 3):
            three[triple] += 1 / (n * (n - 1) * (n - 2)) / D
    a = alpha0
    sides = sum(np.einsum(f"ij,k->{to}", two, one) for to in ("ijk", "ikj", "kij"))
    third = three - a / (a + 2) * sides + 2 * a**2 / ((a + 1) * (a + 2)) * np.einsum("i,j,k->ijk", one, one, one)
    return one, two - a / (a + 1) * np.outer(one, one), third


@tries(15)
@given(st.integers(0, 999), st.floats(0.01, 20))
def test_moments_are_those_of_all_pairs_and_triples(seed, alpha0):
    """Of documents of any length, between any coordinates, words divided by the roots of their shares."""
    rng = np.random.default_rng(seed)
    counts = rng.poisson(1, size=(4, 5)) + np.eye(4, 5, dtype=int) * 3
    one, M2, M3 = listed(counts, alpha0)
    D = np.divide(1, np.sqrt(one), out=np.zeros(5), where=one > 0)
    moments = WordMoments(csr_array(counts, dtype=float), alpha0)
    W = rng.standard_normal((5, 2))
    np.testing.assert_allclose(moments.roots, np.sqrt(one))
    np.testing.assert_allclose(moments @ W, D[:, None] * (M2 @ (D[:, None] * W)), atol=1e-10)
    U = D[:, None] * W
    np.testing.assert_allclose(moments.third(W), np.einsum("abc,ai,bj,ck->ijk", M3, U, U, U), atol=1e-9)


def test_short_documents_are_left_out():
    """Two words say nothing of three."""
    counts = np.array([[2, 1, 0], [0, 1, 3]])
    more = np.vstack([counts, [[1, 1, 0], [0, 0, 0]]])
    one, other = (WordMoments(csr_array(c, dtype=float), 1.0) @ np.eye(3) for c in (counts, more))
    np.testing.assert_allclose(one, other)
    with pytest.raises(InputError, match="must have three or more words"):
        SpectralLDA(1).fit([[1, 1], [0, 2]])


def test_errors_fall_with_the_root_of_the_documents():
    """Planted topics without anchors are found as fast as sampling allows, and nearer than by anchors."""
    found = recovery((500, 2000, 8000))
    assert found["errors"][-1]["spectral"] < 0.03
    assert -0.7 < found["slopes"]["spectral"] < -0.3
    assert all(row["spectral"] < row["anchors"] for row in found["errors"])


def test_shares_of_topics():
    """Parameters of the Dirichlet distribution of mixtures are found, up to the sum that is given."""
    topics = np.random.default_rng(0).dirichlet(np.full(30, 0.2), size=3)
    alpha = np.array([1.0, 0.5, 0.25])
    counts = planted_documents(6000, topics=topics, alpha=alpha, length=50, seed=0)
    model = SpectralLDA(3, alpha0=1.75, threads=1).fit(counts)
    assert topic_error(model.components_, topics) < 0.02
    np.testing.assert_allclose(np.sort(model.shares_), np.sort(alpha) / 1.75, atol=0.03)
    mixtures = model.row_factors_.mean(axis=0)
    np.testing.assert_allclose(np.sort(mixtures), np.sort(alpha) / 1.75, atol=0.03)


def test_conventions():
    """Topics and mixtures are distributions; the same seed gives the same bits; the order of documents is nothing."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(20, 0.3), size=3)
    counts = planted_documents(400, topics=topics, alpha=np.ones(3) / 3, length=40, seed=1)
    one, other = (SpectralLDA(3, seed=4, threads=1).fit(counts) for _ in range(2))
    assert (one.components_ == other.components_).all()
    assert one.components_.min() >= 0
    np.testing.assert_allclose(one.components_.sum(axis=1), 1)
    np.testing.assert_allclose(one.row_factors_.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(one.transform(counts[:5]), one.row_factors_[:5], atol=1e-6)
    turned = SpectralLDA(3, seed=4, threads=1).fit(counts[rng.permutation(400)])
    np.testing.assert_allclose(turned.components_, one.components_, atol=1e-6)


def test_few_short_documents():
    """Of three words each: an eigenvalue below 0, of larger magnitude than that of a topic, is in nobody's way."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(60, 0.5), size=4)
    counts = planted_documents(1000, topics=topics, alpha=np.ones(4) / 4, length=3, seed=1)
    moments = WordMoments(csr_array(counts, dtype=float), 1.0)
    assert np.linalg.eigvalsh(moments @ np.eye(60))[[0, -4]].sum() < 0
    assert topic_error(SpectralLDA(4, threads=1).fit(counts).components_, topics) < 0.3


def test_words_that_do_not_occur_have_no_share():
    """A column of zeros is no word of any topic."""
    topics = np.array([[0.6, 0.4, 0, 0, 0], [0, 0, 0, 0.5, 0.5]])
    counts = planted_documents(200, topics=topics, alpha=np.ones(2) / 9, length=20, seed=0)
    assert SpectralLDA(2, alpha0=0.2, threads=1).fit(counts).components_[:, 2].tolist() == [0, 0]


@pytest.mark.filterwarnings("ignore:n_components should be at most")
@pytest.mark.parametrize(
    ("X", "how", "message"),
    [
        ([[1.5, 2], [3, 1]], {}, "whole numbers; do not apply weights"),
        ([[4, 2], [2, 4]], {"alpha0": 0}, "alpha0 must be a finite number greater than 0"),
        ([[4, 2], [2, 4]], {"n_components": 3}, "n_components must be a whole number from 1 to 2"),
        ([[4, 4, 0], [4, 4, 0]], {"n_components": 3}, "positive eigenvalues"),
        ([[-1, 4], [2, 2]], {}, "Negative values"),
    ],
)
def test_bad_input_is_named(X, how, message):
    """One sentence says what is allowed; what was fitted stays."""
    model = SpectralLDA(1, threads=1).fit([[4, 2], [2, 4]])
    before, width = model.components_.copy(), model.n_features_in_
    for name, value in how.items():
        setattr(model, name, value)
    with pytest.raises(InputError, match=message):
        model.fit(np.array(X))
    assert (model.components_ == before).all()
    assert model.n_features_in_ == width


def test_an_interrupted_fit_changes_nothing(monkeypatch):
    """Topics and mixtures are of one fit."""
    model = SpectralLDA(1, threads=1).fit([[4, 2], [2, 4]])
    before = model.components_.copy()

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("polyadic.topics.spectral.mixtures", stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit([[4, 2, 1], [2, 4, 1]])
    assert (model.components_ == before).all()
    assert model.n_features_in_ == 2


def test_documents_may_all_have_one_mixture():
    """Towards infinity that is what the parameter says; nothing overflows."""
    found = SpectralLDA(1, alpha0=1e9, threads=1).fit([[4, 2], [2, 4]])
    other = SpectralLDA(1, alpha0=1e200, threads=1)
    np.testing.assert_allclose(found.components_.sum(axis=1), 1)
    with pytest.raises(InputError, match="second moments has only 0 positive eigenvalues"):
        other.fit([[4, 2], [2, 4]])


@pytest.mark.realdata
def test_news_has_coherent_topics():
    """On BBC news words of a topic belong together more than those of topics by anchors."""
    from experiments.bouchard2015.topics import bbc
    from polyadic.metrics.topics import in_documents, npmi_coherence

    found = bbc()
    table = found.table[::4]
    table = table[:, np.flatnonzero(np.bincount(table.indices, minlength=table.shape[1]) >= 10)]
    coherence = {}
    for kind in (SpectralLDA, AnchorTopics):
        tops = np.argsort(-kind(8, max_iter=1, threads=1).fit(table).components_, axis=1)[:, :10]
        coherence[kind] = npmi_coherence(tops.tolist(), in_documents(table, np.unique(tops))).mean()
    assert coherence[SpectralLDA] > coherence[AnchorTopics]
