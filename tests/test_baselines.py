"""Baselines of word vectors: chance, sparse coding, GloVe, word2vec; and their loops."""

import numpy as np
import pytest

from polyadic.core import kernels
from polyadic.core.entries import Entries
from polyadic.text.corpus import Corpus
from polyadic.words.glove import GloVe
from polyadic.words.kernels import glove_arrange, glove_epoch
from polyadic.words.neural import Word2Vec
from polyadic.words.random_baseline import RandomVectors
from polyadic.words.sparse_coding import NNSE

TOPICS = ["moon rocket orbit lunar crew", "god temple oracle myth altar", "film actor award scene oscar"]


def pairs(seed=0, *, size=15, n=60, counts=False):
    rng = np.random.default_rng(seed)
    rows = np.array([row for row in np.ndindex(size, size) if row[0] > row[1]])
    rows = rows[rng.choice(len(rows), n, replace=False)]
    return Entries.collect(rows, rng.integers(1, 50, n) if counts else rng.random(n) + 0.1, size)


@pytest.fixture(scope="module")
def corpus():
    rng = np.random.default_rng(0)
    return Corpus.build([" ".join(rng.permutation(TOPICS[n % 3].split())) for n in range(300)], min_count=1)


@pytest.mark.parametrize("threads", [1, 2])
def test_codes_are_optimal(threads):
    """``nonnegative_lasso`` (loop ``lasso_rows``) ends where no coordinate can improve: at the optimum."""
    rng = np.random.default_rng(0)
    D, X = rng.standard_normal((4, 6)), rng.standard_normal((9, 6))
    A = np.zeros((9, 4), np.float32)
    undone = kernels.nonnegative_lasso(D @ D.T, X @ D.T, A, l1=0.3, tol=1e-5, sweeps=1000, threads=threads)
    slope = (A @ D - X) @ D.T + 0.3
    assert undone == 0
    assert (A >= 0).all()
    assert np.abs(slope[A > 0]).max() < 1e-3
    assert slope[A == 0].min() > -1e-3
    assert 0 < (A == 0).sum() < A.size


def test_glove_steps_follow_the_gradient():
    """One epoch of ``glove_epoch`` (loop ``glove_cells``) over one cell moves each parameter against its derivative."""
    rng = np.random.default_rng(0)
    logs, weights = np.array([1.5]), np.array([0.7])
    cells = glove_arrange(np.array([[1, 0]]), logs, weights, size=2, rng=rng)
    U, b = rng.standard_normal((2, 2, 3)).astype(np.float32), rng.standard_normal((2, 2)).astype(np.float32)
    before = U.copy(), b.copy()
    glove_epoch(cells, (U, b, np.ones_like(U), np.ones_like(b)), learning_rate=1e-3, threads=1)

    def loss(u, c):
        return sum(0.35 * (u[0, i] @ u[1, j] + c[0, i] + c[1, j] - 1.5) ** 2 for i, j in ((0, 1), (1, 0)))

    for which, moved in enumerate((U, b)):
        for place in np.ndindex(moved.shape):
            shifted = [array.astype(float) for array in before]
            shifted[which][place] += 1e-4
            higher = loss(*shifted)
            shifted[which][place] -= 2e-4
            slope = (higher - loss(*shifted)) / 2e-4
            assert moved[place] - before[which][place] == pytest.approx(-1e-3 * slope, rel=0.01, abs=1e-6)


def test_glove_visits_every_cell_once():
    """All cells are there after shuffling, and no round gives two threads the same word."""
    x = pairs(counts=True)
    rng = np.random.default_rng(0)
    cells = glove_arrange(x.indices, np.log(x.values), np.ones(len(x)), size=15, rng=rng)
    assert sorted(zip(cells.rows.tolist(), cells.columns.tolist(), strict=True)) == sorted(
        map(tuple, x.indices.tolist())
    )
    assert sum(last - first for spans in cells.rounds for first, last in spans) == len(x)
    for spans in cells.rounds:
        words = [set(cells.rows[a:b].tolist()) | set(cells.columns[a:b].tolist()) for a, b in spans]
        assert sum(map(len, words)) == len(set().union(*words))


def test_glove_falls():
    """The loss falls, and words get the rows of the vectors."""
    model = GloVe(4, epochs=20, seed=0).fit(pairs(counts=True))
    assert model.history_[-1] < 0.5 * model.history_[0]
    assert np.array_equal(model.embedding([*"abcdefghijklmno"]).vectors, model.vectors_)


def test_sparse_codes_fall():
    """The objective never rises, codes are non-negative with exact zeros, and a larger penalty gives more of them."""
    x = pairs()
    model, sparser = (NNSE(6, svd_rank=5, l1=l1, seed=0, max_iter=30, tol=0.0).fit(x) for l1 in (0.05, 0.3))
    assert np.diff(model.history_).max() <= 1e-5 * model.history_[0]
    assert (model.vectors_ >= 0).all()
    assert 0 < model.zeros_ < sparser.zeros_
    assert np.linalg.norm(model.dictionary_, axis=1).max() <= 1 + 1e-5


@pytest.mark.parametrize(("distribution", "variance"), [("normal", 0.5), ("uniform", 1 / 3)])
def test_chance_has_the_moments_of_its_distribution(distribution, variance, corpus):
    """Random vectors have mean zero and the variance of their distribution, one for each word of entries or corpus."""
    vectors = RandomVectors(500, distribution=distribution, seed=0).fit(pairs()).vectors_
    assert vectors.shape == (15, 500)
    assert abs(vectors.mean()) < 0.05
    assert vectors.var() == pytest.approx(variance, rel=0.1)
    assert len(RandomVectors(2, seed=0).fit(corpus).vectors_) == len(corpus.vocabulary)


@pytest.mark.parametrize("method", ["sgns", "cbow"])
def test_word2vec_has_the_corpus_vocabulary(method, corpus):
    """Vectors are in the order of the vocabulary and put words of a topic together; the loss falls."""
    pytest.importorskip("gensim")
    model = Word2Vec(8, method=method, sample=0, epochs=20, seed=0).fit(corpus)
    unit = model.embedding(corpus.vocabulary.words).unit
    cosines = unit @ unit.T
    topic = np.array([next(k for k in range(3) if word in TOPICS[k].split()) for word in corpus.vocabulary.words])
    same = topic[:, None] == topic
    assert cosines[same].mean() > cosines[~same].mean() + 0.1
    assert model.history_[-1] < model.history_[0]
