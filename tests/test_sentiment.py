"""Laws of the sentiment of reviews, and of the reader of reviews."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import InputError, datasets
from polyadic.embedding import Embedding
from polyadic.metrics.figures import difference
from polyadic.metrics.sentiment import Review, check_shares, document_vectors, first, sentiment
from strategies import plain_words

WORDS = ("good", "fine", "bad", "dull", "film", "plot", "the")


def vectors(seed=0):
    """Praise and blame apart in one direction of many."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(len(WORDS), 5))
    rows[:, 0] = [3, 3, -3, -3, 0, 0, 0]
    return Embedding(WORDS, rows)


def corpus(n=200, seed=0):
    """Reviews of words of one of two kinds, and of words that say nothing."""
    rng = np.random.default_rng(seed)
    kinds = {True: ["good", "fine"], False: ["bad", "dull"]}
    return [
        Review(
            " ".join([*rng.choice(kinds[number % 2 == 0], 6), *rng.choice(WORDS[4:], 8)]),
            number % 2 == 0,
            f"{number:03}",
        )
        for number in range(n)
    ]


# ---- the measure


def test_separable_reviews_are_told_apart():
    """Where each word of praise lies on one side, few reviews suffice."""
    found = sentiment(vectors(), corpus())
    assert found.accuracy == dict.fromkeys((0.1, 0.25, 0.5, 0.75, 1.0), 1.0)
    assert found.trained == {0.1: 17, 0.25: 42, 0.5: 85, 0.75: 128, 1.0: 170}
    assert found.tested.sum(axis=1).tolist() == [30] * 5
    assert (found.coverage, found.unknown, found.positive) == (1, 0, 0.5)


def test_shuffled_labels_are_guessed():
    """Labels that have nothing to do with the words are right about half of the time."""
    rng = np.random.default_rng(0)
    drawn = [review._replace(positive=bool(rng.integers(2))) for review in corpus(400)]
    assert sentiment(vectors(), drawn, shares=[1], runs=10).accuracy[1.0] == pytest.approx(0.5, abs=0.1)


def test_document_vector_by_hand():
    """Unit vectors (.6, .8) twice and (0, 1) once; tokens are cut at white space, in lower case if all words are."""
    embedding = Embedding(["so", "it", "zero"], [[3.0, 4.0], [0.0, 7.0], [0.0, 0.0]])
    found, known, tokens = document_vectors(embedding, ["So it\tgoes ,\nso", "ago .", "", "zero"])
    np.testing.assert_allclose(found, [[1.2, 2.6], [0, 0], [0, 0], [0, 0]])
    assert (known.tolist(), tokens.tolist()) == ([3, 0, 0, 1], [5, 2, 0, 1])
    cased = Embedding(["so", "It"], [[3.0, 4.0], [0.0, 7.0]])
    np.testing.assert_allclose(document_vectors(cased, ["So so It it"])[0], [[0.6, 1.8]])


@given(st.lists(st.lists(plain_words, max_size=5), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_order_of_words_does_not_matter(texts, rng):
    """A document is the sum of its words in any order, and the sum of its parts."""
    words = sorted({word for text in texts for word in text} | {"a"})
    embedding = Embedding(words, np.random.default_rng(0).normal(size=(len(words), 3)))
    whole, known, _ = document_vectors(embedding, map(" ".join, texts))
    shuffled = [" ".join(rng.sample(text, len(text))) for text in texts]
    np.testing.assert_allclose(document_vectors(embedding, shuffled)[0], whole, atol=1e-12)
    together, n, _ = document_vectors(embedding, [" ".join(word for text in texts for word in text)])
    np.testing.assert_allclose(together[0], whole.sum(axis=0), atol=1e-12)
    assert n[0] == known.sum()


def test_scale_does_not_matter():
    """Vectors are brought to length 1 first."""
    embedding, reviews = vectors(), corpus()
    longer = Embedding(WORDS, embedding.vectors * np.array([[1], [9], [0.1], [5], [3], [2], [7]]))
    for a, b in zip(*(sentiment(e, reviews, runs=2).right.values() for e in (embedding, longer)), strict=True):
        np.testing.assert_array_equal(a, b)


def noisy(n=200):
    """Reviews of which one in four has the wrong label."""
    return [review._replace(positive=review.positive ^ (k % 8 < 2)) for k, review in enumerate(corpus(n))]


def test_order_of_reviews_does_not_matter():
    """Reviews are divided by their names, and without names by their texts."""
    for reviews in (noisy(), [review._replace(name="") for review in noisy()]):
        a, b = sentiment(vectors(), reviews), sentiment(vectors(), reviews[::-1])
        assert a.as_dict() == b.as_dict()
        assert a.reviews == b.reviews
        np.testing.assert_array_equal(a.tested, b.tested)


def test_divisions_depend_on_seed_and_names_only():
    """Two models are tested on the same reviews; a seed repeats itself, another differs, as do the runs of one."""
    reviews = noisy()
    one, two = sentiment(vectors(), reviews), sentiment(vectors(1), reviews)
    np.testing.assert_array_equal(one.tested, two.tested)
    assert one.as_dict() == sentiment(vectors(), reviews).as_dict()
    assert (one.tested != sentiment(vectors(), reviews, seed=1).tested).any()
    assert len({tuple(run) for run in one.tested.tolist()}) == 5
    assert all((right <= one.tested).all() for right in one.right.values())


def test_figures_are_the_accuracies():
    """One row per tested review: times right, times tested; two models can be compared."""
    reviews = noisy()
    found, blind = sentiment(vectors(), reviews), sentiment(Embedding(["the"], [[1.0]]), reviews)
    figures = found.figures("polarity")
    assert figures[0].name == "polarity accuracy at 10%"
    assert [f.value for f in figures] == pytest.approx(list(found.accuracy.values()))
    assert len(figures[0].rows) == figures[0].used == found.tested.any(axis=0).sum()
    assert (figures[0].rows[:, 1].sum(), figures[0].total) == (150, 200)
    assert figures[0].chance == max(found.positive, 1 - found.positive)
    assert difference(figures[-1], blind.figures("polarity")[-1]).certain
    assert found.accuracy[1.0] == pytest.approx(np.mean(found.per_run[1.0]))


def test_unknown_words_are_counted():
    """Reviews without a known word stay, as zeros, so that all models are tested on the same ones."""
    reviews = [*corpus(), Review("quite unheard of", positive=True, name="last")]
    found = sentiment(vectors(), reviews, shares=[1])
    assert (found.unknown, found.coverage) == (1, pytest.approx(2800 / 2803))
    read = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert (read["reviews"], read["tested"], read["runs"], read["unknown"]) == (201, 30, 5, 1)
    assert read["accuracy"]["1.0"] == found.accuracy[1.0]
    assert str(found).endswith("at 100% (201 reviews, 100% of the tokens known)")
    assert "Review(" not in repr(found)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"shares": [0]}, "shares of the training set must be above 0 and at most 1; got 0"),
        ({"shares": [0.5, 1.01]}, "at most 1; got 1.01"),
        ({"shares": [math.nan]}, "at most 1; got nan"),
        ({"shares": []}, "shares must contain at least one share of the training set; got none"),
        ({"shares": [0.001, 1]}, "are all of the same class"),
        ({"test": 1}, "test must be a share between 0 and 1; got 1"),
        ({"test": 0.001}, "0.001 of 200 reviews leaves no reviews for testing"),
        ({"runs": 0}, "runs must be a whole number of at least 1; got 0"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_options_are_refused(options, fault):
    """One sentence names the option, what is allowed, and what came."""
    with pytest.raises(InputError, match=fault):
        sentiment(vectors(), corpus(), **options)


def test_useless_reviews_are_refused():
    """No review, reviews of one class, or none with a known word."""
    with pytest.raises(InputError, match="0 reviews leaves no reviews"):
        sentiment(vectors(), [])
    with pytest.raises(InputError, match="all of the same class"):
        sentiment(vectors(), [review for review in corpus() if review.positive])
    with pytest.raises(InputError, match="none of the 200 reviews contains a word with a vector"):
        sentiment(Embedding(["z"], [[1.0]]), corpus())


@given(st.lists(st.integers(), min_size=1), st.floats(0.01, 1), st.floats(0.01, 1))
def test_small_shares_are_parts_of_large_ones(training, a, b):
    """A share is the beginning of the training set, all of it at 1, and never empty."""
    small, large = (first(np.array(training, dtype=object), share).tolist() for share in sorted((a, b)))
    assert large[: len(small)] == small
    assert small
    assert first(np.array(training, dtype=object), 1.0).tolist() == training
    assert check_shares([b, a, a]) == tuple(sorted({a, b}))


# ---- the reader


def test_incomplete_reviews_are_refused(tmp_path):
    """A folder that is absent, too small, or holds an empty file is named."""
    with pytest.raises(InputError, match="pos: expected 1,000 reviews, as published; found 0"):
        datasets.polarity(tmp_path)
    for label in ("pos", "neg"):
        (tmp_path / "sentences" / "polarity-v2" / label).mkdir(parents=True)
        for number in range(1000):
            (tmp_path / "sentences" / "polarity-v2" / label / f"cv{number:03}_1.txt").write_text(f"{label} {number}\n")
    found = datasets.polarity(tmp_path)
    assert found[0] == Review("pos 0\n", positive=True, name="cv000_1")
    assert (found[-1].positive, found[-1].name) == (False, "cv999_1")
    (tmp_path / "sentences" / "polarity-v2" / "neg" / "cv007_1.txt").write_text(" \n")
    with pytest.raises(InputError, match=r"cv007_1\.txt is empty; a review must contain at least one word"):
        datasets.polarity(tmp_path)


@pytest.mark.realdata
def test_published_reviews(realdata):
    """All 2,000 are there, each with a name of its own; a few words tell more than half of them apart."""
    reviews = datasets.polarity(realdata)
    assert (len(reviews), sum(review.positive for review in reviews)) == (2000, 1000)
    assert len({review.name for review in reviews}) == 2000
    assert reviews[0].name == "cv000_29590"
    assert reviews[0].text.startswith("films adapted from comic books have had plenty of success ,")
    words = Embedding(["bad", "worst", "plot", "great", "life", "perfect"], np.eye(6))
    found = sentiment(words, reviews, shares=[1], runs=2)
    assert 0.6 < found.accuracy[1.0] < 0.75
