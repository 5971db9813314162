"""Continuous bag of words with position weights: comparison with plain numpy, and texts with known patterns."""

import json

import numpy as np
import pytest

from helpers import invoke
from polyadic import Corpus, PositionCBOW
from polyadic.core.errors import InputError
from polyadic.words.kernels import POSITION_RATE, cbow_epoch
from polyadic.words.position_cbow import contexts_of


def loss_of(U, C, D, targets, places):
    """Negative log-likelihood of targets in places, without negative samples, in plain numpy."""
    total = 0.0
    for t, place in zip(targets, places, strict=True):
        h = np.mean([D[j] * C[c] for j, c in place], axis=0)
        total += np.log1p(np.exp(-U[t] @ h))
    return total


def index_of(model):
    return {word: row for row, word in enumerate(model.words_)}


def test_an_epoch_is_a_step_along_the_gradient():
    """Without negative samples and with a small learning rate, an epoch is a gradient step."""
    rng = np.random.default_rng(0)
    ids, sentences = np.array([2, 0, 1, 3, 1, 0], np.int32), np.array([0, 3, 6])  # 3 is unknown
    before = [rng.standard_normal((n, 4)) for n in (3, 3, 4)]
    after = [each.astype(np.float32) for each in before]
    rate = 1e-3
    none = {"negative": 0, "rates": (rate, rate), "state": np.uint64(1)}
    loss, words = cbow_epoch(ids, sentences, *after, np.ones(3), np.zeros(2, np.int32), **none)
    places = [[(2, 0), (3, 1)], [(1, 2), (2, 1)], [(0, 2), (1, 0)], [(3, 0)], [(0, 1)]]
    places[3], places[4] = [(2, 0)], [(1, 1)]  # the unknown word takes up a position
    targets = [2, 0, 1, 1, 0]
    assert words == 5
    assert loss == pytest.approx(loss_of(*before, targets, places), rel=1e-2)

    numbers = [2, 2, 2, 1, 1]  # of context words; the gradient is not divided by them, as in word2vec
    for k, scale in ((0, 1.0), (1, None), (2, None)):
        gradient = np.zeros_like(before[k])
        for t, place, n in zip(targets, places, numbers, strict=True):
            for at in np.ndindex(before[k].shape):
                step = np.zeros_like(before[k])
                step[at] = 1e-6
                moved = [each + step if m == k else each for m, each in enumerate(before)]
                slope = (loss_of(*moved, [t], [place]) - loss_of(*before, [t], [place])) / 1e-6
                gradient[at] += slope * (n if scale is None else scale)
        expected = -rate * gradient * (POSITION_RATE if k == 2 else 1)
        assert after[k] - before[k] == pytest.approx(expected, abs=5e-6)


def test_words_that_fit_a_place_are_predicted():
    """Words that occur before a noun are distinguished from words after it, unlike in a bag of words."""
    rng = np.random.default_rng(1)
    nouns, before, after = ([f"{kind}{k}" for k in range(6)] for kind in ("noun", "left", "right"))
    rows = [" ".join(rng.choice(each) for each in (before, nouns, after)) for _ in range(3000)]
    corpus = Corpus.build(rows, min_count=1, stop_words=[])
    model = PositionCBOW(12, width=2, epochs=5, sample=0, seed=0).fit(corpus)
    index = index_of(model)
    first = model.places([[-1, -1, index["noun3"], index["right1"]]])  # a place before a noun
    last = model.places([[index["left1"], index["noun3"], -1, -1]])
    for h, words in ((first, before), (last, after)):
        scores = model.vectors_ @ h[0] + model.log_noise_
        assert {model.words_[k] for k in np.argsort(-scores)[:6]} == {*words}
    assert model.history_[-1] < model.history_[1] < model.history_[0]
    again = PositionCBOW(12, width=2, epochs=5, sample=0, seed=0).fit(corpus)
    assert np.array_equal(again.vectors_, model.vectors_)


def test_substitutes_fit_the_word_and_the_place():
    """Substitutes of a word with two senses fit the sentence, and the score follows the formula."""
    rng = np.random.default_rng(2)
    animals, tools = ["bat", "owl", "fox", "cat"], ["bat", "saw", "axe", "rod"]
    rows = [f"the wild {rng.choice(animals)} slept" for _ in range(800)]
    rows += [f"a wooden {rng.choice(tools)} broke" for _ in range(800)]
    corpus = Corpus.build(rows, min_count=1, stop_words=[])
    model = PositionCBOW(10, width=2, epochs=8, sample=0, seed=0).fit(corpus)
    for sentence, expected in (("the wild bat slept", animals), ("a wooden bat broke", tools)):
        found = model.substitutes(sentence, "bat", top=3)
        assert {each.word for each in found} == {*expected} - {"bat"}
        assert found == model.substitutes(sentence.split(), "bat", top=3)
        for each in found:
            expected_score = each.similarity / model.scales_[0] + each.place_fit / model.scales_[1]
            assert each.score == pytest.approx(expected_score, rel=1e-5)
    (only,) = model.substitutes("the wild bat slept", "bat", candidates=["saw", "unknown"])
    u, v = (vectors / np.linalg.norm(vectors, axis=1)[:, None] for vectors in (model.vectors_, model.contexts_))
    s, b = index_of(model)["saw"], index_of(model)["bat"]
    assert only.similarity == pytest.approx((u[s] @ u[b] + v[s] @ v[b]) / 2, rel=1e-4)
    with pytest.raises(InputError, match="'bot' is not in the vocabulary; did you mean 'bat'"):
        model.substitutes("the wild bot slept", "bot")
    with pytest.raises(InputError, match="does not contain the word 'fox'"):
        model.substitutes("the wild bat slept", "fox")


def test_function_words_are_in_every_corpus():
    """The model does not depend on the stop words of the corpus, and contains the frequent words."""
    rows = ["the red rose and the blue sky", "a red rose"] * 9 + ["rare"]
    models = [
        PositionCBOW(3, width=1, epochs=2, seed=0).fit(Corpus.build(rows, min_count=1, stop_words=stop))
        for stop in ([], ["the", "and", "a"])
    ]
    assert sorted(models[0].words_) == ["a", "and", "blue", "red", "rose", "sky", "the"]
    assert np.array_equal(models[0].vectors_, models[1].vectors_)
    with pytest.raises(InputError, match="0 words of the text occur at least 99 times; lower min_count"):
        PositionCBOW(3, min_count=99).fit(Corpus.build(rows, min_count=1))


def test_contexts_are_words_of_the_sentence():
    """The context of a position contains the words of its sentence, and -1 outside the sentence."""
    ids, sentences = np.arange(10, 17), np.array([0, 4, 7])
    found = contexts_of(ids, sentences, np.array([0, 3, 4]), 2)
    assert found.tolist() == [[-1, -1, 11, 12], [11, 12, -1, -1], [-1, -1, 15, 16]]


def test_contexts_of_another_width_are_refused():
    model = PositionCBOW(2, width=2, epochs=1, min_count=1, seed=0).fit(
        Corpus.build(["a b c"] * 3, min_count=1, stop_words=[])
    )
    with pytest.raises(InputError, match="contexts must have 4 columns"):
        model.places([[0, 1]])


def test_commands(tmp_path):
    """One command trains a model on a text, the other lists substitutes for a word of a sentence."""
    (tmp_path / "a.txt").write_text("the wild owl slept. the wild fox slept. a wooden axe broke. " * 200)
    how = ["--rank", "8", "--epochs", "10", "--set", "sample=0"]
    made = invoke("substitutes", "train", tmp_path / "a.txt", "--out", tmp_path / "m", *how, "--json")
    assert json.loads(made.stdout)["words"] == 9
    asked = invoke("substitutes", "list", tmp_path / "m", "the wild owl slept", "owl", "--top", "1", "--json")
    (found,) = json.loads(asked.stdout)["substitutes"]
    assert (found["word"], {*found}) == ("fox", {"word", "score", "similarity", "place_fit"})
    assert "does not contain the word 'axe'" in invoke("substitutes", "list", tmp_path / "m", "the owl", "axe").output
