"""What is counted around words when asked agrees with what is counted in all of the text."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polyadic.text.corpus import Corpus
from polyadic.text.counts import count
from polyadic.text.occurrences import Occurrences, sample

TEXTS = st.lists(
    st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=12).map(" ".join), min_size=1, max_size=4).map(
        ". ".join
    ),
    min_size=1,
    max_size=4,
)


def built(texts):
    return Corpus.build(texts, min_count=1, stop_words="none", language="en", jobs=1)


@given(TEXTS, st.integers(1, 5))
def test_pairs_and_triples_are_those_of_counts(texts, width):
    """Around all occurrences of a word stand the pairs and the triples that counting finds with it."""
    corpus = built(texts)
    where = Occurrences(corpus)
    for order, around in ((2, where.pairs), (3, where.triples)):
        try:
            counts = count(corpus, order=order, width=width, threads=1)
        except ValueError:  # nothing stands together
            counts = None
        listed = (
            {}
            if counts is None
            else {
                tuple(sorted(row)): int(n)
                for row, n in zip(counts.entries.indices.tolist(), counts.entries.values, strict=True)
            }
        )
        for number in range(len(corpus.vocabulary)):
            others, n = around(where.positions(number), width)
            found = {
                tuple(sorted((number, *np.atleast_1d(some)))): int(k)
                for some, k in zip(others.tolist(), n, strict=True)
                if number not in np.atleast_1d(some)
            }
            assert found == {key: k for key, k in listed.items() if number in key}


@given(TEXTS)
def test_positions_and_documents(texts):
    """Each word stands where its number stands, in the document whose words say so."""
    corpus = built(texts)
    where = Occurrences(corpus)
    ids = np.asarray(corpus.ids)
    for number in range(len(corpus.vocabulary)):
        assert where.positions(number).tolist() == np.flatnonzero(ids == number).tolist()
    lengths = [sum(map(len, corpus.document(d))) for d in range(len(corpus.documents) - 1)]
    assert where.lengths().tolist() == lengths
    assert where.documents(np.arange(len(ids))).tolist() == np.repeat(np.arange(len(lengths)), lengths).tolist()


def test_words_together():
    """Words are together where all stand within reach of the rarest, in one sentence."""
    corpus = built(["ape bee cat dog elk", "ape bee! Cat", "cat ape dog dog dog dog bee", "cat cat cat"])
    where = Occurrences(corpus)
    number = corpus.vocabulary.index
    for words, width, found in (("ape bee cat", 2, 1), ("ape bee cat", 6, 2), ("ape bee", 1, 2), ("elk", 1, 1)):
        assert len(where.together([number[word] for word in words.split()], width)) == found, words


def test_samples_are_spread():
    """A sample has the first and the last, and what lies between at even steps."""
    assert sample(np.arange(1000), 5).tolist() == [0, 250, 500, 749, 999]
    assert sample(np.arange(3), 5).tolist() == [0, 1, 2]
