"""Lexical diversity: values of other libraries, slow twins, invariances."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic.core.errors import InputError
from polyadic.metrics.diversity import lexical_diversity

TEXTS = st.lists(st.integers(-2, 6), min_size=1, max_size=40)


def slow_mtld(words, threshold):
    """Return the mean length of a factor, forward only."""
    factors, seen, length = 0.0, set(), 0
    for word in words:
        seen.add(word)
        length += 1
        if len(seen) / length <= threshold:
            factors, seen, length = factors + 1, set(), 0
    if length:
        factors += (1 - len(seen) / length) / (1 - threshold)
    return len(words) / factors if factors else math.inf


@given(TEXTS, st.integers(1, 12), st.sampled_from([0.4, 0.5, 0.72, 0.9]))
def test_slow_twins(words, window, threshold):
    """MATTR and MTLD by their definitions, HD-D of pairs as the mean over all pairs."""
    found = lexical_diversity(words, window=window, threshold=threshold, sample=2)
    windows = [len(set(words[at : at + window])) / window for at in range(len(words) - window + 1)]
    assert found["mattr"] == pytest.approx(np.mean(windows) if windows else math.nan, nan_ok=True)
    assert found["mtld"] == pytest.approx((slow_mtld(words, threshold) + slow_mtld(words[::-1], threshold)) / 2)
    pairs = [len(set(pair)) / 2 for pair in combinations(words, 2)]
    assert found["hdd"] == pytest.approx(np.mean(pairs) if pairs else math.nan, nan_ok=True)
    assert (found["tokens"], found["types"]) == (len(words), len(set(words)))


def test_values_of_quanteda():
    """MATTR and Yule's K, from the tests of quanteda.textstats (the latter from koRpus)."""
    text = ["one", "one", "two", "one", "one", "two", "one"]
    assert lexical_diversity(text, window=2)["mattr"] == pytest.approx((1 / 2 + 1 + 1 + 1 / 2 + 1 + 1) / 6)
    assert lexical_diversity(text, window=3)["mattr"] == pytest.approx(2 / 3)
    for text, K in {"abcddeefff": 1000, "abcddeefffgggg": 1122.449}.items():
        assert lexical_diversity([*text])["yule_k"] == pytest.approx(K, abs=5e-4)


def test_value_of_yule():
    """Chapter 1 of St John in Latin: frequencies of Miranda-García and Calle-Martín (2005), as quanteda computes K."""
    once_each = {10, 11, 16, 17, 19, 21, 59}
    times = {1: 212, 2: 51, 3: 26, 4: 13, 5: 6, 6: 6, 7: 3, 8: 4, 13: 3} | dict.fromkeys(once_each, 1)
    words = np.repeat(np.arange(331), np.repeat([*times], [*times.values()]))
    found = lexical_diversity(words)
    assert (found["tokens"], found["types"]) == (755, 331)
    assert found["yule_k"] == pytest.approx(112.767, abs=5e-4)
    assert found["hapax_share"] == pytest.approx(212 / 331)
    assert found["root_ttr"] == pytest.approx(331 / math.sqrt(755))


def test_example_of_mtld():
    """McCarthy and Jarvis (2010): the first factor of this sentence ends with the second *people*."""
    text = ["of", "the", "people", "by", "the", "people", "for", "the", "people"]
    assert slow_mtld(text[:6], 0.72) == 6
    found = lexical_diversity(text)["mtld"]
    # forward, the ratio is 4/6 after six words and 1 at the end; backward it is 4/6 after six, too
    assert found == pytest.approx(9)


def test_a_type_that_no_sample_misses():
    """Expected type-token ratio of two of four tokens, three of which are equal: 1/2 for half of the samples."""
    assert lexical_diversity(["a", "a", "a", "b"], sample=2)["hdd"] == pytest.approx(0.75)
    assert lexical_diversity(["a", "a", "a", "b"], sample=4)["hdd"] == pytest.approx(0.5)


def test_long_texts_keep_their_digits():
    """Results are exact for 5,000 different tokens, and for a million tokens in which each word occurs twice."""
    found = lexical_diversity(np.arange(5000))
    assert (found["mattr"], found["mtld"], found["hdd"], found["yule_k"]) == (1, math.inf, pytest.approx(1), 0)
    N = 1_000_000
    found = lexical_diversity(np.arange(N) // 2, sample=2)
    assert 1 - found["hdd"] == pytest.approx(1 / 2 / (N - 1), rel=1e-9)
    assert found["mtld"] == 2


def test_ids_and_words_are_alike():
    """The measures do not depend on the words themselves."""
    text = ["the", "cat", "the", "dog", "a", "cat", "the"]
    ids = [9, 4, 9, 1, -3, 4, 9]
    assert lexical_diversity(text, window=3, sample=3) == lexical_diversity(np.array(ids), window=3, sample=3)


@pytest.mark.parametrize("tokens", [[], "a text", [["a"], ["b"]], None])
def test_a_text_is_a_list_of_words(tokens):
    """Tokens must be a list of words or ids, not a string."""
    with pytest.raises(InputError, match="tokens must be a list of at least one word or id"):
        lexical_diversity(tokens)


@pytest.mark.parametrize("setting", [{"window": 0}, {"sample": 0}, {"threshold": 1}, {"threshold": 0}])
def test_settings_are_checked(setting):
    """Window, threshold and sample have bounds."""
    with pytest.raises(InputError, match="at least 1, and threshold between 0 and 1"):
        lexical_diversity(["a"], **setting)
