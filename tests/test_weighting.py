"""Pointwise mutual information, against numbers worked by hand and against dense arrays."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import Corpus
from polyadic.core.errors import InputError
from polyadic.text.counts import count
from polyadic.text.weighting import ppmi
from strategies import Text, sentences, tries


def association(entries, words=None):
    """Give the value of each tuple, by its words (those of ``words``, in the order of the alphabet) or numbers."""
    rows = entries.indices.tolist()
    keys = (tuple(sorted(words[i] for i in row)) if words else tuple(row) for row in rows)
    return dict(zip(keys, entries.values.tolist(), strict=True))


def ppmi_of_text(lines, *, order, window="span", width=2, repeats=False, **how):
    corpus = Corpus.build(lines, min_count=1)
    counts = count(corpus, order=order, window=window, width=width, repeats=repeats)
    return association(ppmi(counts, **how), corpus.vocabulary.words)


def dense_probability(counts):
    """Probability of every ordered tuple: each count is spread evenly over its permutations."""
    p = np.zeros(counts.entries.shape)
    for row, n in zip(counts.entries.indices.tolist(), counts.entries.values, strict=True):
        cells = set(itertools.permutations(row))
        for cell in cells:
            p[cell] = n / len(cells) / counts.events
    return p


def independent_words(*, words=6, tokens=60_000, seed=0):
    rng = np.random.default_rng(seed)
    p = 1 / np.arange(2, words + 2)
    return Text.of([rng.choice(words, tokens, p=p / p.sum()).tolist()], words)


def some_text(seed=0, *, words=8, number=30, length=9):
    return Text.of(np.random.default_rng(seed).integers(0, words, (number, length)).tolist(), words)


def test_order_2_by_hand():
    """Of 4 pairs (red, rose) is 2: log [1/4 / (2/8 . 3/8)] = log 8/3, and so on."""
    values = ppmi_of_text(["red rose", "red rose", "blue sky", "blue rose"], order=2)
    truth = {("red", "rose"): np.log(8 / 3), ("blue", "sky"): np.log(4), ("blue", "rose"): np.log(4 / 3)}
    assert values == pytest.approx(truth)


def test_order_3_by_hand():
    """Of 3 triples (a, b, c) is 2: log [2/18 / (3/9 . 3/9 . 2/9)] = log 9/2; (a, b, d) comes to the same."""
    values = ppmi_of_text(["a b c", "a b c", "a b d"], order=3)
    assert values == pytest.approx({("a", "b", "c"): np.log(4.5), ("a", "b", "d"): np.log(4.5)})


def test_repeated_words_by_hand():
    """The one triple (a, a, b) has 3 permutations: log [1/3 / (2/3 . 2/3 . 1/3)] = log 9/4."""
    assert ppmi_of_text(["a a b"], order=3, repeats=True) == pytest.approx({("a", "a", "b"): np.log(9 / 4)})


def test_chunks_by_hand():
    """Of 3 chunks with 7 words a is in 2, b in 1: log [1/3 / (2/3 . 1/3)] = log 3/2; published, log 7/3 more."""
    text = ["a b c", "d e", "a d"]
    truth = {("a", "b"): 1.5, ("a", "c"): 1.5, ("b", "c"): 3.0, ("d", "e"): 1.5}
    logs = {words: np.log(ratio) for words, ratio in truth.items()}
    assert ppmi_of_text(text, order=2, window="chunk", normaliser="chunks") == pytest.approx(logs)
    published = {words: np.log(ratio * 7 / 3) for words, ratio in (truth | {("a", "d"): 0.75}).items()}
    assert ppmi_of_text(text, order=2, window="chunk", normaliser="tokens") == pytest.approx(published)


@tries(40)
@given(lists=sentences(), repeats=st.booleans())
def test_order_2_is_the_textbook(lists, repeats):
    """For pairs it is log p(x, y) / p(x) p(y) of the joint distribution and its own marginals, where positive."""
    try:
        counts = count(Text.of(lists, 6), order=2, width=3, repeats=repeats)
    except InputError:
        return
    p = dense_probability(counts)
    assert p.sum() == pytest.approx(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        pmi = np.log(p / np.outer(p.sum(0), p.sum(1)))
    check_positive_part(counts, lambda row: pmi[tuple(row)])


def check_positive_part(counts, truth, **how):
    """Compare all tuples with ``truth`` of a row; of numbers within rounding of zero either side will do."""
    expected = {tuple(row): truth(row) for row in counts.entries.indices.tolist()}
    try:
        values = association(ppmi(counts, **how))
    except InputError as error:
        assert "lower the shift" in str(error)  # noqa: PT017 nothing positive
        values = {}
    assert all(value > 0 for value in values.values())
    for row, value in expected.items():
        assert values.get(row, 0) == pytest.approx(max(value, 0), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("repeats", [True, False])
def test_total_correlation_is_that_of_the_dense_array(order, repeats):
    """For any order it is log p(x1..xn) / p(x1)..p(xn) of the joint distribution and its own marginals."""
    counts = count(some_text(), order=order, width=4, repeats=repeats)
    p = dense_probability(counts)
    word = p.sum(axis=tuple(range(1, order)))
    check_positive_part(counts, lambda row: np.log(p[tuple(row)] / np.prod(word[row])))


@pytest.mark.parametrize("k", [1.0, 1.3, 2.0])
def test_shift(k):
    """Shifted values are max(PMI - log k, 0)."""
    counts = count(some_text(), order=3, width=3, repeats=True)
    pmi = association(ppmi(counts))
    check_positive_part(counts, lambda row: pmi.get(tuple(row), 0) - np.log(k), shift=k)


@pytest.mark.parametrize("order", [2, 3])
def test_independent_words_have_no_association(order):
    """For words drawn independently of one another, rare or frequent, PMI is near zero and of either sign."""
    counts = count(independent_words(), order=order, width=4, repeats=True)
    x = ppmi(counts)
    assert x.values.max() < 0.1
    assert 0.1 < len(x) / len(counts.entries) < 0.9


@pytest.mark.parametrize("order", [2, 3, 4])
def test_independent_words_do_not_interact(order):
    """Nor do they interact, in any order, which fixes the signs of the parts."""
    text = independent_words(words=4)
    lower = [count(text, order=size, width=4, repeats=True) for size in range(2, order)]
    counts = count(text, order=order, width=4, repeats=True)
    assert ppmi(counts, form="specific", lower=lower).values.max() < 0.2


def test_smoothing_of_pairs():
    """For pairs it is the mean of both directions of log p(w, c) / p(w) p_a(c), with p_a the power of the marginal."""
    counts = count(some_text(), order=2, width=3, repeats=True)
    p = dense_probability(counts)
    word = p.sum(axis=0)
    smooth = word**0.75 / (word**0.75).sum()
    directed = np.log(p / np.outer(word, smooth))
    check_positive_part(counts, lambda row: (directed + directed.T)[tuple(row)] / 2, smoothing=0.75)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_smoothing_favours_the_frequent(order):
    """Smoothing takes from tuples of rare words, gives to those of frequent ones; an exponent of 1 does nothing."""
    rare = " ".join("xyzuv"[:order])
    frequent = " ".join("abcde"[:order])
    lines = [rare, *[frequent] * 20]
    how = {"order": order, "width": 5}
    plain, same, smooth = (ppmi_of_text(lines, **how, smoothing=a) for a in (1, 1.0, 0.5))
    assert same == plain
    assert smooth[tuple(sorted(rare.split()))] < plain[tuple(sorted(rare.split()))]
    assert smooth[tuple(sorted(frequent.split()))] > plain[tuple(sorted(frequent.split()))]


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("smoothing", [1.0, 0.75])
def test_published_values_are_too_large_by_a_constant(order, smoothing):
    """Counts over the number of chunks' words exceed shares of chunks by (n - 1) log of the mean chunk size."""
    text = some_text(words=30, length=20)
    counts = count(text, order=order, width=3, window="chunk")
    sizes = [len(set(s[start : start + 7])) for s in lists_of(text) for start in range(0, 20, 7)]
    excess = (order - 1) * np.log(np.mean([size for size in sizes if size >= order]))
    chunks, tokens = (
        association(ppmi(counts, normaliser=normaliser, smoothing=smoothing)) for normaliser in ("chunks", "tokens")
    )
    assert len(chunks) > 3
    assert {row: tokens[row] - excess for row in chunks} == pytest.approx(chunks, abs=1e-5)


def lists_of(text):
    return [text.ids[a:b].tolist() for a, b in itertools.pairwise(text.sentences)]


def test_chunk_shares_are_those_of_sets():
    """With shares of chunks, log p(x, y) / p(x) p(y) is that of the events that words are in a chunk."""
    text = some_text(length=14)
    counts = count(text, order=2, width=3, window="chunk")
    sets = [set(s[start : start + 7]) for s in lists_of(text) for start in (0, 7)]
    has = np.array([[word in chunk for word in range(8)] for chunk in sets if len(chunk) > 1], float)
    p, joint = has.mean(axis=0), has.T @ has / len(has)
    check_positive_part(counts, lambda row: np.log(joint[tuple(row)] / np.prod(p[row])), normaliser="chunks")


@pytest.mark.parametrize("window", ["span", "chunk"])
def test_specific_interaction_of_pairs_is_pmi(window):
    """A pair tells nothing beyond its parts but its PMI."""
    counts = count(some_text(), order=2, width=3, window=window)
    assert association(ppmi(counts, form="specific")) == association(ppmi(counts))


@pytest.mark.parametrize("repeats", [True, False])
def test_specific_interaction_of_triples(repeats):
    """For triples it is log of p(x, y, z) p(x) p(y) p(z) over p(x, y) p(x, z) p(y, z)."""
    how = {"width": 4, "repeats": repeats}
    pairs, counts = count(some_text(), order=2, **how), count(some_text(), order=3, **how)
    three, two = dense_probability(counts), dense_probability(pairs)
    one = three.sum(axis=(1, 2))

    def truth(row):
        x, y, z = row
        return np.log(three[x, y, z] * one[x] * one[y] * one[z] / (two[x, y] * two[x, z] * two[y, z]))

    check_positive_part(counts, truth, form="specific", lower=[pairs])


def test_weights():
    """Weights are functions of the counts: 1, c, log(1 + c), min(1, (c / x_max)^a)."""
    counts = count(some_text(), order=2, width=3)
    seen = association(counts.entries)
    for weights, truth in [
        ("uniform", lambda _: 1.0),
        ("count", float),
        ("log", np.log1p),
        ((18.0, 0.5), lambda c: min(1, (c / 18) ** 0.5)),
    ]:
        x = ppmi(counts, weights=weights)
        expected = [truth(seen[tuple(row)]) for row in x.indices.tolist()]
        assert x.weights.tolist() == pytest.approx(expected, rel=1e-6)
        assert association(x) == association(ppmi(counts))
    assert len(set(expected)) > 2


def test_result():
    """The result is symmetric, weighted, in single precision, without zeros, and a valid list in order."""
    counts = count(some_text(), order=3, width=4)
    x = ppmi(counts)
    assert (x.symmetric, x.unobserved, x.shape) == (True, "zero", counts.entries.shape)
    assert x.values.dtype == x.weights.dtype == np.float32
    assert (x.values > 0).all()
    assert 0 < len(x) < len(counts.entries)
    replace(x)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"shift": 0.5}, "shift must be a finite number of at least 1; got 0.5"),
        ({"shift": 1e9}, "no tuple has a PMI above log 1e[+]09; lower the shift"),
        ({"smoothing": 0.0}, "smoothing must be a finite number greater than 0; got 0"),
        ({"form": "spam"}, "form must be one of 'total', 'specific'; got 'spam'"),
        ({"normaliser": "spam"}, "normaliser must be one of 'tuples', 'chunks', 'tokens'; got 'spam'"),
        (
            {"normaliser": "chunks"},
            "normaliser 'chunks' requires counts with window 'chunk'; got counts with window 'span'",
        ),
        ({"weights": "spam"}, "weights must be one of 'uniform', 'count', 'log'; got 'spam'"),
        ({"weights": (0.0, 0.5)}, "x_max of weights must be a finite number greater than 0"),
        ({"weights": (1.0, -0.5)}, "a of weights must be a finite number of at least 0"),
        ({"form": "specific"}, "form 'specific' of order 3 requires counts of order 2 in `lower`"),
        (
            {"form": "specific", "smoothing": 0.75},
            "form 'specific' requires smoothing 1 and normaliser 'tuples'",
        ),
        ({"form": "specific", "normaliser": "chunks"}, "form 'specific' requires smoothing 1"),
    ],
)
def test_refusals(arguments, message):
    """Arguments that are out of range or do not fit the counts are refused in a sentence."""
    with pytest.raises(InputError, match=message):
        ppmi(count(some_text(), order=3, width=3), **arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": replace(some_text(), digest="other")}, "of order 2 in `lower` must have the same corpus"),
        ({"width": 4}, "must have the same width"),
        ({"window": "chunk"}, "must have the same window"),
        ({"repeats": True}, "must have the same repeats"),
        ({"min_count": 22}, "form 'specific' requires the counts of all sub-tuples of order 2"),
    ],
)
def test_lower_counts_must_fit(change, message):
    """Counts of pairs of another corpus or window, or not of all pairs, do not serve for triples."""
    how = {"text": some_text(), "width": 3, "order": 2} | change
    lower = count(how.pop("text"), **how)
    with pytest.raises(InputError, match=message):
        ppmi(count(some_text(), order=3, width=3), form="specific", lower=[lower])


def test_of_some_pairs():
    """Tuples that hold a pair have the association that they have among all; there may be none."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefg"), 6)) for _ in range(40)]
    counts = count(Corpus.build(texts, min_count=1), order=3, width=3)
    index = counts.vocabulary.index
    pairs = [[index["a"], index["b"]], [index["g"], index["c"]]]
    whole, some = ppmi(counts), ppmi(counts, holding=pairs)
    held = whole.holding(pairs)
    assert 0 < len(some) < len(whole)
    for one, other in ((some.indices, held.indices), (some.values, held.values), (some.weights, held.weights)):
        np.testing.assert_array_equal(one, other)
    assert len(ppmi(counts, holding=[])) == 0
