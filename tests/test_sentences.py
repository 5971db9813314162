"""Sentence vectors: convolutional ones against their definition, and naive Bayes features."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from polyadic import Embedding, InputError
from polyadic.sentences.bayes import LogCountRatio
from polyadic.sentences.convolutional import ConvolutionalSentences
from polyadic.sentences.filter_als import deconvolve
from polyadic.sentences.words import words_of

GOOD, BAD = ["good", "fine", "great", "lovely"], ["bad", "poor", "awful", "dull"]


def reviews(n=200, seed=0):
    """Sentences of praise and blame in a common frame, and which they are."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    frame = ["the", "film", "is", "a", "very", "story", "with", "actors"]
    texts = [
        " ".join([*rng.choice(frame, rng.integers(2, 6)), *rng.choice(GOOD if y else BAD, 2), *rng.choice(frame, 3)])
        for y in labels
    ]
    return texts, labels


@pytest.fixture(scope="module")
def model():
    return ConvolutionalSentences(2, length=4, pooling="largest", rank=6, starts=2, seed=0).fit(reviews()[0])


@pytest.mark.parametrize("pooling", ["largest", "all"])
def test_vectors_are_the_largest_activations(model, pooling):
    """A sentence's vector is what its decoding has at its largest, for each filter or coordinate."""
    texts, _ = reviews(9, seed=1)
    model = clone(model).set_params(pooling=pooling).fit(reviews()[0])
    found = model.transform(texts)
    for text, vector in zip(texts, found, strict=True):
        signal = model.embedding_.lookup(text.split()).T.astype(float)
        w = model.activations(text)
        padded = np.pad(signal, ((0, 0), (0, w.shape[-1] - signal.shape[1])))
        np.testing.assert_allclose(w, deconvolve(model.filters_, padded, ridge=model.ridge), atol=1e-7)
        w = w[..., : signal.shape[1]]
        w = w.reshape(6, 1, -1) if pooling == "all" else w
        np.testing.assert_allclose(vector, -np.sort(-w, axis=-1)[..., :2].ravel(), atol=1e-5)
    assert found.shape[1] == len(model.get_feature_names_out())


def test_given_embedding_and_shapes():
    """Any word vectors serve; unpadded filters are as long as patches."""
    words = sorted({word for text in reviews()[0] for word in text.split()})
    vectors = Embedding(words, np.random.default_rng(0).standard_normal((len(words), 3)))
    model = ConvolutionalSentences(1, length=6, pool=1, padded=False, words=vectors, seed=0).fit(reviews()[0])
    assert model.filters_.shape == (3, 1, 6)
    assert model.embedding_ is vectors
    np.testing.assert_allclose(np.linalg.norm(model.filters_, axis=-1), 1)


def test_they_tell_praise_from_blame(model):
    """A linear classifier of the vectors learns what sentences say, if not all of it: chance is 0.5."""
    texts, labels = reviews(300, seed=3)
    X = model.transform(texts)
    fitted = LogisticRegression(max_iter=1000).fit(X[:200], labels[:200])
    assert fitted.score(X[200:], labels[200:]) > 0.65


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ({"filters": 8}, "filters must be"),
        ({"words": "glove"}, "words must be one of"),
        ({"length": 50}, "length must be at most 10, .* got 50"),
        ({"rank": 500}, "rank must be below"),
        ({"min_count": 10_000}, "min_count|10000|10,000"),
    ],
)
def test_what_cannot_be_fitted(how, fault):
    """Texts without what is needed."""
    with pytest.raises(InputError, match=fault):
        ConvolutionalSentences(**{"filters": 1, "length": 4, "rank": 4, "seed": 0} | how).fit(reviews(40)[0])


def test_too_many_filters_are_warned_of():
    """More filters than a cumulant tells apart are found, with a warning; so are those of too few patches."""
    with pytest.warns(UserWarning, match="at most about 2 for patches of this length; got 5"):
        ConvolutionalSentences(5, length=4, rank=3, starts=1, seed=0).fit(reviews(60)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConvolutionalSentences(2, length=4, rank=3, starts=1, seed=0).fit(reviews(60)[0])
    with pytest.warns(UserWarning, match=r"third cumulant has 56 entries, .* from only \d+ patches"):
        ConvolutionalSentences(2, length=6, rank=3, starts=1, seed=0).fit(reviews(10)[0])


# ---- naive Bayes features


def test_log_count_ratios_are_those_of_the_formula():
    """Each feature is weighed by the logarithm of the ratio of its smoothed shares in both classes."""
    texts, labels = reviews(50)
    model = LogCountRatio(alpha=0.5).fit(texts, labels)
    words = list(words_of(texts))
    runs = list(model.features_)
    has = np.array([[run in {*((w,) for w in some), *pairwise(some)} for run in runs] for some in words])
    p, q = (0.5 + has[labels == c].sum(axis=0) for c in (1, 0))
    np.testing.assert_allclose(model.ratio_, np.log((p / p.sum()) / (q / q.sum())))
    np.testing.assert_allclose(model.transform(texts).toarray(), has * model.ratio_)
    turned = LogCountRatio(alpha=0.5).fit(texts, 1 - labels)
    assert {run: turned.ratio_[at] for run, at in turned.features_.items()} == pytest.approx(
        {run: -model.ratio_[at] for run, at in model.features_.items()}
    )


def test_bayes_features_in_a_pipeline():
    """They classify what they were made for; unknown runs are left out."""
    texts, labels = reviews(300)
    pipe = make_pipeline(LogCountRatio(min_count=2), LogisticRegression()).fit(texts[:200], labels[:200])
    assert pipe.score(texts[200:], labels[200:]) > 0.95
    assert not LogCountRatio().fit(texts, labels).transform(["xyzzy"]).toarray().any()


@pytest.mark.parametrize(
    ("how", "y", "fault"),
    [
        ({}, [1, 1], "two classes"),
        ({}, [0, 1, 1], r"must have shape \(2,\)"),
        ({"min_count": 3}, [0, 1], "no word or bigram occurs in at least 3 sentences"),
    ],
)
def test_bayes_features_refuse(how, y, fault):
    """Labels that do not fit, and counts that no run of words has."""
    with pytest.raises(InputError, match=fault):
        LogCountRatio(**how).fit(["a good film", "a bad film"], y)
