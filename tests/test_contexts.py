"""Words counted with their contexts, against sentences read one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import Corpus, InputError, count
from polyadic.core.linalg import symmetric_matrix
from polyadic.text import contexts as module
from polyadic.text.contexts import contexts

sentences = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=9), min_size=1, max_size=8)


def slow(corpus, side, width, positional, lists):
    """Count as the docstring says."""
    size = len(corpus.vocabulary)
    places = [d for d in range(-width, width + 1) if d and (side == "both" or (d < 0) == (side == "left"))]
    table = np.zeros((size, size * (len(places) if positional else 1)), int)
    for ids in lists:
        for at, word in enumerate(ids):
            for k, d in enumerate(places):
                if 0 <= at + d < len(ids) and None not in (word, ids[at + d]):
                    table[word, ids[at + d] + (k * size if positional else 0)] += 1
    return table


@given(sentences, st.sampled_from(["both", "left", "right"]), st.integers(1, 4), st.booleans(), st.integers(1, 40))
def test_contexts_are_those_of_sentences(text, side, width, positional, block):
    """Every side, width and kind, in kept or running words, in blocks of any size."""
    corpus = Corpus.build([*text, ["b"]], min_count=1, stop_words=["a"], jobs=1)
    of = corpus.vocabulary.index.get
    lists = {"running": [[*map(of, words)] for words in text]}
    lists["kept"] = [[i for i in ids if i is not None] for ids in lists["running"]]
    for distance, ids in lists.items():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "BLOCK", block)
            found = contexts(corpus, side=side, width=width, positional=positional, distance=distance)
        assert found.toarray().tolist() == slow(corpus, side, width, positional, ids).tolist()


@given(sentences, st.integers(1, 4))
def test_sides_are_halves_of_the_whole(text, width):
    """Left and right contexts are transposes of one another; together they are the symmetric counts of pairs."""
    corpus = Corpus.build(text, min_count=1, jobs=1)
    left, right, both = (contexts(corpus, side=side, width=width).toarray() for side in ("left", "right", "both"))
    assert (left == right.T).all()
    assert (both == left + right).all()
    if any(len(set(words)) > 1 for words in text) and (both - np.diag(np.diag(both))).any():
        x = count(corpus, order=2, width=width).entries
        pairs = symmetric_matrix(x.indices, x.values, x.shape[0]).toarray()
        off = ~np.eye(len(both), dtype=bool)
        assert (both[off] == pairs[off]).all()


def test_contexts_refuse():
    """Sides and widths that do not exist."""
    corpus = Corpus.build(["a b"], min_count=1, jobs=1)
    with pytest.raises(InputError, match="side"):
        contexts(corpus, side="above")
    with pytest.raises(InputError, match="width"):
        contexts(corpus, width=0)
