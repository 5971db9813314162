"""Attachment scores: by hand, their laws, and the tables by relation and by distance."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.data.annotated import web_treebank
from polyadic import InputError
from polyadic.metrics.dependencies import (
    Attached,
    by_distance,
    by_relation,
    dependency_figures,
    dependency_score,
    match_trees,
)
from polyadic.syntax.trees import Tree


def sentence(heads, relations, upos=None):
    none = ("_",) * len(heads)
    return Tree(none, none, tuple(upos or none), none, none, np.array(heads, np.int32), tuple(relations), none, none)


@st.composite
def sentences(draw, n=None):
    """A sentence with heads and relations of any kind, most of them no tree: the figures do not mind."""
    n = n or draw(st.integers(1, 12))
    heads = draw(st.lists(st.integers(0, n), min_size=n, max_size=n))
    relations = draw(st.lists(st.sampled_from(["a", "a:b", "b"]), min_size=n, max_size=n))
    return sentence(heads, relations, draw(st.lists(st.sampled_from(["NOUN", "PUNCT"]), min_size=n, max_size=n)))


@st.composite
def pairs(draw):
    gold = draw(sentences())
    return gold, draw(sentences(len(gold)))


def test_by_hand():
    """ "The dog barks ." with the dog below itself: two heads of four are right, and one relation of these."""
    gold = sentence([2, 3, 0, 3], ["det", "nsubj", "root", "punct"], ["DET", "NOUN", "VERB", "PUNCT"])
    found = sentence([3, 3, 0, 2], ["det", "obj", "root", "punct"])
    counts = match_trees(gold, found)
    assert counts == Attached(words=4, heads=2, both=1, plain_words=3, plain_heads=2, plain_both=1)
    score = dependency_score([counts, match_trees(gold, gold)])
    assert (score.uas, score.las) == (6 / 8, 5 / 8)
    assert (score.plain_uas, score.plain_las) == (5 / 6, 4 / 6)
    assert (score.exact, score.exact_labelled, score.words, score.sentences) == (0.5, 0.5, 8, 2)
    assert {row.name: row.matched for row in by_relation([gold], [found])} == {
        "det": 0,
        "nsubj": 0,
        "obj": 0,
        "punct": 0,
        "root": 1,
    }
    assert [tuple(row) for row in by_distance([gold], [found])] == [("root", 1, 1, 1), ("1", 3, 1, 1), ("2", 0, 2, 0)]


def test_tables_by_hand():
    """Groups of lengths at their edges: 3, 4, 6, 7, 10 and 11 words away; precision, recall and F of a relation."""
    heads = [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    gold = sentence(heads, ["root", *"abababababa"])
    found = sentence([0, 1, 2, *heads[3:]], ["root", *"aaaabbbbbbb"])
    table = {row.name: tuple(row)[1:] for row in by_distance([gold], [found])}
    assert table == {
        "root": (1, 1, 1),
        "1": (1, 2, 1),
        "2": (1, 0, 0),  # the third word was put below the second
        "3": (1, 1, 1),
        "4 to 6": (3, 3, 3),
        "7 to 10": (4, 4, 4),
        "over 10": (1, 1, 1),
    }
    [a] = [row for row in by_relation([gold], [found]) if row.name == "a"]
    # "a" at words 2, 4, 6, 8, 10, 12 of the treebank and at 2 to 5 of the parse: both at 2 and 4, heads right
    assert tuple(a) == ("a", 6, 4, 2)
    assert (a.precision, a.recall, a.f1) == (2 / 4, 2 / 6, 4 / 10)


@given(st.lists(pairs(), min_size=1, max_size=6))
def test_laws(corpus):
    """LAS is at most UAS, and no lower without subtypes; a parse is right about itself; tables add up to figures."""
    golds, founds = zip(*corpus, strict=True)
    counts = [match_trees(*pair) for pair in corpus]
    score = dependency_score(counts)
    assert 0 <= score.exact_labelled <= score.exact <= 1
    assert score.las <= score.uas
    assert dependency_score([match_trees(*pair, subtypes=False) for pair in corpus]).las >= score.las
    assert dependency_score([match_trees(gold, gold) for gold in golds]).las == 1
    words = sum(map(len, golds))
    distances, relations = by_distance(golds, founds), by_relation(golds, founds)
    for rows in (distances, relations):
        assert sum(row.gold for row in rows) == sum(row.found for row in rows) == words
    assert sum(row.matched for row in distances) == sum(one.heads for one in counts)
    assert sum(row.matched for row in relations) == sum(one.both for one in counts)
    assert all(0 <= row.f1 <= 1 and row.matched <= min(row.gold, row.found) for row in relations)


@given(st.lists(pairs(), min_size=1, max_size=5))
def test_figures_are_the_scores(corpus):
    """The figure of each name is the score of that name; of one sentence there is nothing to sample."""
    counts = [match_trees(*pair) for pair in corpus]
    score = dependency_score(counts)
    for figure, wanted in zip(dependency_figures(counts), score[:4], strict=True):
        assert figure.value == pytest.approx(wanted, nan_ok=True)
        if len(counts) == 1 and not math.isnan(wanted):
            assert figure.interval(resamples=200) == pytest.approx((wanted, wanted))
    assert len(dependency_figures(counts)[0].rows) == len(corpus)


def test_order_of_sentences_does_not_matter():
    """Scores are sums over sentences."""
    rows = [Attached(4, 3, 2, 3, 2, 1), Attached(9, 1, 0, 7, 1, 0), Attached(2, 2, 2, 2, 2, 2)]
    assert dependency_score(rows) == dependency_score(rows[::-1])


def test_only_punctuation():
    """Where there is nothing but punctuation, the figures without it are not defined, and null in JSON."""
    gold = sentence([0], ["root"], ["PUNCT"])
    score = dependency_score([match_trees(gold, gold)])
    assert math.isnan(score.plain_uas)
    assert score.as_dict()["plain_las"] is None
    assert score.as_dict()["uas"] == 1


def test_faults_are_named():
    """Sentences of other lengths, and none at all."""
    one, two = sentence([0], ["root"]), sentence([0, 1], ["root", "x"])
    with pytest.raises(InputError, match="got 1 and 2"):
        match_trees(one, two)
    with pytest.raises(InputError, match="got 1 and 2"):
        by_distance([one], [two])
    with pytest.raises(InputError, match="got 1 and 0"):
        by_relation([one], [])
    with pytest.raises(InputError, match="no words"):
        dependency_score([])


@pytest.mark.realdata
def test_a_chain_on_a_treebank(realdata):
    """The parse in which each word depends on the next one has the figure that counting by hand gives."""
    trees = web_treebank("dev", root=realdata)
    chained = [
        dataclasses.replace(tree, heads=np.array([*range(2, len(tree) + 1), 0], np.int32), relations=("x",) * len(tree))
        for tree in trees
    ]
    score = dependency_score([match_trees(gold, found) for gold, found in zip(trees, chained, strict=True)])
    right = sum(
        head == (at + 1 if at < len(tree) else 0) for tree in trees for at, head in enumerate(tree.heads.tolist(), 1)
    )
    assert score.words == sum(map(len, trees))
    assert score.uas == right / score.words
    assert score.las == 0
