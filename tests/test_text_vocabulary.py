"""Laws of the vocabulary."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic.core.errors import InputError
from polyadic.text.vocabulary import Vocabulary

WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r"), min_size=1, max_size=5)
COUNTS = st.dictionaries(WORDS, st.integers(1, 5), min_size=1, max_size=30)


@given(COUNTS, st.integers(1, 5), st.integers(1, 40), st.randoms())
def test_choice(counts, min_count, max_size, random):
    """What is kept is the best by count, then alphabet, whatever order the counts come in."""
    items = list(counts.items())
    random.shuffle(items)
    best = sorted((word for word in counts if counts[word] >= min_count), key=lambda word: (-counts[word], word))
    if not best:
        with pytest.raises(InputError, match=rf"min_count={max(counts.values())} or less keeps some"):
            Vocabulary.choose(dict(items), min_count=min_count)
        return
    vocabulary = Vocabulary.choose(dict(items), min_count=min_count, max_size=max_size)
    assert list(vocabulary.words) == best[:max_size]
    assert vocabulary.counts.tolist() == [counts[word] for word in vocabulary.words]
    assert [vocabulary[word] for word in vocabulary.words] == list(range(len(vocabulary)))


@given(COUNTS)
def test_round_trip(tmp_path_factory, counts):
    """A vocabulary comes back from its file as it was, also with words of strange characters."""
    path = tmp_path_factory.mktemp("vocabulary") / "v.txt"
    vocabulary = Vocabulary.choose(counts)
    vocabulary.save(path)
    again = Vocabulary.load(path)
    assert again == vocabulary
    assert hash(again) == hash(vocabulary)
    assert again.counts.dtype == np.int64


def test_stop_words_are_left_out():
    """Stop words and the empty word take no number, and a corpus of nothing else is refused."""
    assert Vocabulary.choose(Counter("abca"), stop_words=["a"]).words == ("b", "c")
    assert Vocabulary.choose({"": 5, "x": 1}).words == ("x",)
    with pytest.raises(InputError, match="all 3 types of the corpus are stop words"):
        Vocabulary.choose(Counter("abc"), stop_words="abc")
    with pytest.raises(InputError, match="no word is left"):
        Vocabulary.choose({})


@pytest.mark.parametrize("word", ["a\tb", "a\nb", "a\r", "\ud800"])
def test_words_that_no_file_holds(word, tmp_path):
    """A word with a tab, a line break or half a surrogate pair is refused before anything is written."""
    with pytest.raises(InputError, match=r"a word must (not|be)"):
        Vocabulary.choose({word: 1})
    with pytest.raises(InputError, match=r"a word must (not|be)"):
        Vocabulary((word,), np.array([1])).save(tmp_path / "v.txt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"a\t2\nb\n", "line 2"),
        (b"a\t2\n\t3\n", "line 2"),
        (b"a\tmany\n", "line 1"),
        (b"a\t-1\n", "line 1"),
        (b"a\t2", "truncated"),
        (b"a\t2\na\t1\n", "'a' twice"),
        (b"\xff\t2\n", "byte 0"),
    ],
)
def test_damage_is_named(content, fault, tmp_path):
    """A damaged file is refused with its name and the line."""
    path = tmp_path / "v.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=fault) as caught:
        Vocabulary.load(path)
    assert str(path) in str(caught.value)


def test_misuse():
    """An absent file, counts that do not fit and impossible limits are refused."""
    with pytest.raises(InputError, match="No such file"):
        Vocabulary.load("absent.txt")
    with pytest.raises(InputError, match="one count for each of 1 words"):
        Vocabulary(("a",), np.array([1, 2]))
    for limits in ({"min_count": 0}, {"max_size": 0}, {"min_count": 2.5}):
        with pytest.raises(InputError, match="must be a whole number"):
            Vocabulary.choose({"a": 1}, **limits)
    assert Vocabulary(("a",), np.array([1])) != "a"
    assert repr(Vocabulary.choose(Counter("abcdef"))) == "Vocabulary(6 words: a, b, c, d, e, ...)"
