"""Grammars with hidden states: what labels alone cannot tell is found, and without features they are plain ones."""

import math

import numpy as np
import pytest

from polyadic import InputError
from polyadic.syntax import latent_pcfg
from polyadic.syntax.brackets import parse_phrase
from polyadic.syntax.grammar import Parse, count_rules, relative_frequencies
from polyadic.syntax.latent_grammar import PlainPCFG, nodes_of
from polyadic.syntax.latent_pcfg import LatentPCFG, inside_features, outside_features
from small_language import PHRASES

TREES = PHRASES[:3]


def agreeing(first, second):
    """A tree whose two halves should have tags of one kind."""
    return parse_phrase(f"(S (A (B ({first.upper()} {first}))) (A (B ({second.upper()} {second}))))")


def plain_log_probability(tree):
    """Return the log-probability of a tree by the relative frequencies of rules and words in all trees."""
    rules = relative_frequencies(count_rules(map(PlainPCFG().prepared, TREES)))
    tags = [(tag.label, tag.word) for one in TREES for tag in one.tags()]
    expected = sum(math.log(rules[p.rule]) for p in nodes_of(PlainPCFG().prepared(tree), "") if p.below)
    for tag in tree.tags():
        expected += math.log(tags.count((tag.label, tag.word)) / sum(tag.label == one for one, _ in tags))
    return expected


def test_without_features_it_is_the_plain_grammar(monkeypatch):
    """A tree has the product of the relative frequencies of its rules and words."""
    for name in ("inside_features", "outside_features"):
        monkeypatch.setattr(latent_pcfg, name, lambda nodes: [[""] for _ in nodes])
    model = LatentPCFG(3, rare=0).fit(TREES)
    for tree in TREES:
        assert model.log_probability(tree) == pytest.approx(plain_log_probability(tree))


def test_hidden_states_are_found():
    """Halves that always agree have states for it, two levels above their tags; a plain grammar has none."""
    trees = [agreeing("x", "x"), agreeing("y", "y")] * 10
    model = LatentPCFG(2, smoothing=0.0).fit(trees)
    for tree in trees[:2]:
        assert model.log_probability(tree) == pytest.approx(math.log(0.5))
    for tree in (agreeing("x", "y"), agreeing("y", "x")):
        assert model.log_probability(tree) < -20
    plain = LatentPCFG(1, smoothing=0.0).fit(trees)
    assert plain.log_probability(agreeing("x", "y")) > -5


@pytest.mark.parametrize("states", [2, 3, 6])
def test_exact_moments_give_probabilities(states):
    """Of trees each as often as a grammar with two hidden states says; one state has the probabilities of halves."""
    both, tag = np.array([[4, 1], [1, 4]]) / 10, np.array([[1, 1, 0], [0, 1, 1]]) / 2
    true = tag.T @ both @ tag
    pairs = [(a, b) for a in "xyz" for b in "xyz"]
    trees = [
        agreeing(*pair) for pair, n in zip(pairs, (40 * true).round().astype(int).flat, strict=True) for _ in range(n)
    ]
    model, one = LatentPCFG(states, smoothing=0.0, rare=0).fit(trees), LatentPCFG(1, smoothing=0.0, rare=0).fit(trees)
    found = np.exp([[m.log_probability(agreeing(*pair)) for pair in pairs] for m in (model, one)])
    np.testing.assert_allclose(found[0].reshape(3, 3), true, atol=1e-9)
    np.testing.assert_allclose(found[1].reshape(3, 3), np.outer(true.sum(axis=1), true.sum(axis=0)), atol=1e-9)


def test_more_states_than_there_are_change_nothing():
    """Coordinates beyond the rank are zeros."""
    trees = [agreeing("x", "x"), agreeing("y", "y"), agreeing("y", "y")]
    one, other = (LatentPCFG(m, smoothing=0.0).fit(trees) for m in (2, 7))
    assert other.log_probability(trees[0]) == pytest.approx(one.log_probability(trees[0]))
    assert other.tensors_.rules["S", "A", "A"].shape == (7, 7, 7)


def test_rare_rules_are_drawn_to_means():
    """With all weight on the means halves are independent given their rule: probabilities of both kinds multiply."""
    trees = [agreeing("x", "x"), agreeing("y", "y")] * 4
    model = LatentPCFG(2, smoothing=1e9).fit(trees)
    found = [model.log_probability(agreeing(*pair)) for pair in ("xx", "xy", "yx", "yy")]
    np.testing.assert_allclose(found, math.log(0.25), atol=1e-4)


def test_trees_are_put_in_order():
    """By what they have now; a tree with a rule that was never seen, or of negative estimate, comes last."""
    model = LatentPCFG(2, smoothing=1.0).fit([agreeing("x", "x"), agreeing("y", "y")] * 10)
    parses = [
        Parse(parse_phrase("(S (C x) (A (B (X x))))"), 0.0),
        Parse(agreeing("x", "y"), -1.0),
        Parse(agreeing("x", "x"), -2.0),
    ]
    found = model.rerank(parses)
    assert [parse.tree for parse in found] == [parses[2].tree, parses[1].tree, parses[0].tree]
    assert found[-1].log_probability == -math.inf


def test_sentences_are_parsed():
    """Trees learned from come back, words that were never seen are those of their class."""
    parser = LatentPCFG(2, rare=1).fit(TREES)
    for tree in TREES[::2]:
        assert parser.parse(tree.words()) == tree
    assert parser.parse(["the", "cat", "sees", "a", "gnu", "."]).words() == ["the", "cat", "sees", "a", "gnu", "."]
    assert math.isfinite(parser.log_probability(parse_phrase("(S (NP (PRP he)) (VP (VBZ sees) (NP (DT a) (NN gnu))))")))


def test_words_that_are_rare_or_new():
    """A rare word is its class; one that its tag was never seen with counts as a tenth of a word."""
    assert "hat" in LatentPCFG(1, rare=2).fit(TREES).known_
    assert "hat" not in LatentPCFG(1, rare=3).fit(TREES).known_
    model = LatentPCFG(1, rare=0).fit(TREES)
    old, new = (f"(S (NP (PRP he)) (VP (VBZ sees) (NP (DT a) (NN {noun}))))" for noun in ("hat", "gnu"))
    apart = model.log_probability(parse_phrase(new)) - model.log_probability(parse_phrase(old))
    assert apart == pytest.approx(math.log(0.1 / 3), abs=0.02)  # what is around them differs a little


def test_features_tell_where_a_phrase_stands():
    """The rules above a phrase and the tags beside it are around it; the rules below and its ends are in it."""
    nodes = nodes_of(TREES[2], {"he", "sees", "a", "hat", "."})
    assert [node.label for node in nodes] == ["PRP", "NP", "VBZ", "DT", "NN", "NP", ".", "VP", "S"]
    inner, outer = inside_features(nodes)[5], outside_features(nodes)[5]
    assert {"rule NP DT NN", "child 0 NP DT NN / DT a", "first DT", "last NN", "length 2"} < {*inner}
    assert {"left VBZ", "right .", "above 1 VP VBZ NP .", "above 1 VP VBZ NP . / 1 S NP VP"} < {*outer}
    assert outside_features(nodes)[-1] == ["", "left <s>", "right </s>", "beside <s> </s>"]


def test_no_trees_are_no_grammar():
    """And that is said."""
    with pytest.raises(InputError, match="at least one tree"):
        LatentPCFG().fit([])
