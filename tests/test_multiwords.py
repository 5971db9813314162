"""Two words that are one."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import Corpus
from polyadic.text import encoder
from polyadic.text.multiwords import THRESHOLD, join_pairs, join_words, pairs, select_pairs
from polyadic.text.tokens import Tokenizer

SENTENCES = st.lists(st.lists(st.integers(0, 5), max_size=8), max_size=8)


def packed(sentences):
    numbers = np.array([number for sentence in sentences for number in sentence], np.uint32)
    return numbers, np.array([len(sentence) for sentence in sentences], np.uint32)


def key(a, b):
    return (a << 32) + b


@given(st.lists(SENTENCES, max_size=4), st.lists(st.booleans(), min_size=6, max_size=6), st.integers(1, 3))
def test_pairs_are_counted_within_sentences(chunks, usable, fewest):
    """As one by one, whatever the chunks, empty sentences and empty chunks included."""
    expected = {}
    for sentence in (sentence for chunk in chunks for sentence in chunk):
        for a, b in itertools.pairwise(sentence):
            if usable[a] and usable[b]:
                expected[key(a, b)] = expected.get(key(a, b), 0) + 1
    keys, n = pairs(lambda: map(packed, chunks), np.array(usable), min_count=fewest)
    expected = {pair: often for pair, often in expected.items() if often >= fewest}
    assert dict(zip(keys.tolist(), n.tolist(), strict=True)) == expected
    assert keys.tolist() == sorted(expected)


@given(SENTENCES, st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1))
def test_pairs_are_joined_from_the_left(sentences, taken):
    """As by hand; of two that overlap the first."""
    names = {pair: 10 + i for i, pair in enumerate(taken)}
    pairs_of = {name: pair for pair, name in names.items()}
    expected = []
    for sentence in sentences:
        row, i = [], 0
        while i < len(sentence):
            pair = tuple(sentence[i : i + 2])
            row.append(names.get(pair, sentence[i]))
            i += 2 if pair in names else 1
        expected.append(row)
    keys = np.array([key(*pair) for pair in names], np.uint64)
    assert [join_words([f"{n}" for n in sentence], {f"{a}_{b}" for a, b in names}) for sentence in sentences] == [
        ["_".join(map(str, pairs_of[n])) if n in pairs_of else str(n) for n in row] for row in expected
    ]
    numbers, lengths = join_pairs(*packed(sentences), keys, np.array(list(names.values()), np.uint32))
    assert numbers.tolist() == packed(expected)[0].tolist()
    assert lengths.tolist() == packed(expected)[1].tolist()


def test_the_measure_is_normalised():
    """1 for words that are never apart, 0 for words that meet as often as by chance."""
    keys, n = np.array([key(0, 1), key(2, 3)], np.uint64), np.array([50, 10])
    occurrences = np.array([50, 50, 100, 100, 711])
    assert occurrences.sum() == 1011
    assert select_pairs((keys, n), occurrences, threshold=1.0).tolist() == [key(0, 1)]
    npmi = np.log(10 * 1011 / 100**2) / np.log(1011 / 10)
    assert select_pairs((keys, n), occurrences, threshold=npmi - 1e-9).tolist() == [key(0, 1), key(2, 3)]
    assert select_pairs((keys, n), occurrences, threshold=npmi + 1e-9).tolist() == [key(0, 1)]
    assert npmi < THRESHOLD


@pytest.fixture
def texts():
    generator = np.random.default_rng(0)
    filler = np.array([f"w{i}" for i in range(60)])
    lines = [" ".join(generator.choice(filler, 8)) + " in New York of the day." for _ in range(40)]
    return [
        *lines,
        *(" ".join(generator.choice(filler, 8)) + f" of new {generator.choice(filler)}." for _ in range(40)),
    ]


@pytest.mark.parametrize("chunk", [1, 1_000_000])
def test_corpora_have_them(texts, chunk, tmp_path, monkeypatch):
    """They are words, found again with their lines, whatever the chunks; stop words are in none."""
    monkeypatch.setattr(encoder, "CHUNK", chunk)
    corpus = Corpus.build(texts, tmp_path / "c", multiwords=True, min_count=5, stop_words=["of", "the", "in"], jobs=1)
    words = corpus.vocabulary
    assert {word for word in words.words if "_" in word} == {"new_york"}
    assert words.counts[words.index["new_york"]] == 40
    assert words.counts[words.index["new"]] == 40
    assert "york" not in words.index
    assert len(list(corpus.lines.find("new_york"))) == len(list(corpus.lines.find("new york"))) == 40
    assert corpus.tokenize("To New York. New new york!") == [["to", "new_york"], ["new", "new_york"]]
    assert corpus.settings["multiwords"] == ["new_york"]
    plain = Corpus.build(texts, min_count=5, stop_words=["of", "the", "in"])
    assert corpus.digest != plain.digest
    assert not any("_" in word for word in plain.vocabulary.words)
    assert sorted(path.name for path in corpus.path.iterdir() if path.name in ("spill", "joined")) == []


def test_text_without_any_is_as_it_is():
    """Nothing is joined, and the corpus is the same."""
    texts = ["a b c d", "d c b a"]
    options = {"min_count": 1, "stop_words": None}
    assert (
        Corpus.build(texts, multiwords=True, **options).digest
        == Corpus.build(texts, multiwords=False, **options).digest
    )


def test_words_that_are_joined_already():
    """Text that has "new_york" as a word adds to the same."""
    corpus = Corpus.build(
        ["he saw new york"] * 20 + ["in new_york"] * 5 + [f"x{i}" for i in range(60)],
        multiwords=True,
        min_count=1,
        stop_words=["he", "saw", "in"],
    )
    assert corpus.vocabulary.counts[corpus.vocabulary.index["new_york"]] == 25


def test_no_pair_takes_its_words_away():
    """Words are joined only where the pair comes into the vocabulary: by the least count, and by the size."""
    texts = ["we saw new york"] * 60 + ["a new one"] * 20 + ["in york here"] * 15 + [f"x{i} y{i}" for i in range(200)]
    how = {"stop_words": ["we", "saw", "a", "one", "in", "here"], "jobs": 1}
    for least in (10, 60, 61, 70, 80):
        plain = Corpus.build(texts, min_count=least, **how)
        together_ = Corpus.build(texts, min_count=least, multiwords=True, **how)
        joined_ = together_.settings["multiwords"]
        assert joined_ == (["new_york"] if least <= 60 else [])
        assert set(plain.vocabulary.words) <= {*together_.vocabulary.words, "new", "york"}
        if not joined_:
            assert plain.digest == together_.digest
    texts += ["old york"] * 15
    for size in (1, 2, 3):
        corpus = Corpus.build(texts, min_count=1, max_size=size, multiwords=True, **how)
        assert all(pair in corpus.vocabulary for pair in corpus.settings["multiwords"])


def test_lines_of_pairs_of_lemmas(tmp_path):
    """Forms of both words are found where they stand."""
    pytest.importorskip("simplemma")
    texts = ["The bank holidays were long."] * 15 + [f"Thing{i} ran." for i in range(300)]
    how = {"min_count": 5, "stop_words": ["the", "be", "run"], "language": "en"}
    corpus = Corpus.build(texts, tmp_path / "c", multiwords=True, tokenizer=Tokenizer(lemmas=True), **how)
    assert "bank_holiday" in corpus.settings["multiwords"]
    for word in ("bank_holiday", "bank holiday"):
        assert [line.word for line in corpus.lines.find(word)] == ["bank holidays"] * 15
    [at, *_] = np.flatnonzero(np.asarray(corpus.ids) == corpus.vocabulary["bank_holiday"])
    assert corpus.line(int(at)).word == "bank holidays"
    assert corpus.tokenize("Bank holidays, foo bar") == [["bank_holiday", "foo", "bar"]]


def test_underscores_of_the_text():
    """A word that has one there is found, and other text is not joined to it."""
    texts = ["A foo_bar was there."] * 15 + ["He saw New York."] * 15 + [f"x{i} y" for i in range(300)]
    corpus = Corpus.build(texts, min_count=5, stop_words=["saw"], multiwords=True)
    assert "new_york" in corpus.settings["multiwords"]
    assert [line.word for line in corpus.lines.find("foo_bar")] == ["foo_bar"] * 15
    assert corpus.tokenize("foo bar New York") == [["foo", "bar", "new_york"]]


def test_marks_are_in_no_pair():
    """Not even where they are words."""
    corpus = Corpus.build(
        ["York ; New"] * 40 + [f"x{i} y" for i in range(300)],
        multiwords=True,
        min_count=5,
        tokenizer=Tokenizer(punctuation="keep"),
    )
    assert corpus.settings["multiwords"] == []
