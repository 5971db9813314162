"""Grammars read off trees: probabilities, the lexicon, the best trees of sentences, and lists of them."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.cao2014.candidates import (
    fold_splits,
    jackknife,
    oracle_counts,
    propose,
    read_lists,
    selected_counts,
    write_lists,
)
from experiments.data.annotated import penn_sample
from polyadic import InputError
from polyadic.metrics.brackets import bracket_score
from polyadic.syntax.binarising import annotate, binarise, without_loops
from polyadic.syntax.brackets import TOP, Phrase, parse_phrase
from polyadic.syntax.grammar import Grammar, count_rules, projected, relative_frequencies
from polyadic.syntax.lexicon import Lexicon
from polyadic.syntax.pcfg import PCFG
from small_language import PHRASES


def prepared(tree, **how):
    return binarise(Phrase(TOP, (annotate(without_loops(tree), **how),)), horizontal=1)


def test_probabilities_are_relative_frequencies():
    """Rules of each parent add up to one; a rule has the share that the trees give it."""
    counts = count_rules(map(prepared, PHRASES))
    probabilities = relative_frequencies(counts)
    totals = Counter()
    for rule, p in probabilities.items():
        totals[rule[0]] += p
    np.testing.assert_allclose(list(totals.values()), 1.0)
    assert probabilities["TOP", "S^TOP"] == 1.0
    assert probabilities["NP^S^base", "DT^NP", "NN^NP"] == 0.5
    assert probabilities["VP^S^fin", "VBZ^VP", "NP^VP"] == 1 / 4
    coarse = relative_frequencies(projected(counts))
    assert coarse["NP", "DT", "NN"] == 7 / 11  # of eleven noun phrases, seven are a determiner and a noun
    assert coarse["PP", "IN", "NP"] == 1.0


def test_chains_are_products():
    """A chain of unary rules has the product of their probabilities; none goes in a circle, none is too long."""
    rules = {("A", "B"): 0.5, ("B", "C"): 0.25, ("C", "A"): 0.5, ("C", "D"): 0.5, ("A", "D", "D"): 0.5}
    grammar = Grammar.of(rules, max_length=3)
    named = {
        tuple(grammar.symbols[at] for at in chain): p
        for chain, p in zip(grammar.chains, grammar.chain_values, strict=True)
    }
    assert named["A", "B", "C", "D"] == 0.5 * 0.25 * 0.5
    assert named["B", "C", "A"] == 0.125
    assert all(len(set(chain)) == len(chain) <= 4 for chain in named)
    assert ("A", "B", "C", "D") not in {
        tuple(grammar.symbols[at] for at in chain) for chain in Grammar.of(rules, max_length=2).chains
    }
    assert len(Grammar.of(rules, floor=0.2).chains) == 5


def test_words_speak_for_tags():
    """Probabilities of plain tags add up to one; those of annotated ones too, whatever the word."""
    sentences = [[(tag.word, tag.label) for tag in prepared(tree).tags()] for tree in PHRASES]
    lexicon = Lexicon(sentences, min_share=0.0)
    for word in ("dog", "sees", "unseen", "Unseen", "hats", "."):
        assert sum(lexicon.plain(word).values()) == pytest.approx(1.0)
        scores = lexicon.scores(word)
        assert sum(math.exp(s) * lexicon.fine[tag] / lexicon.total for tag, s in scores.items()) == pytest.approx(1.0)
    assert max(lexicon.plain("cats"), key=lexicon.plain("cats").get) == "NNS"  # its ending is that of rare nouns
    assert set(lexicon.scores("dog", tag="VBZ")) <= {"VBZ^VP", "VBZ^VP^U"}
    tried = Lexicon(sentences).scores("the")
    assert set(tried) <= set(lexicon.scores("the"))
    assert "DT^NP" in tried


def log_probability(parser, tree):
    """Sum the logarithms of rules and of scores of tags, straight from the tree."""
    rules = relative_frequencies(count_rules(map(prepared, PHRASES)))
    narrow = prepared(tree)
    total = sum(math.log(rules[rule]) * n for rule, n in count_rules([narrow]).items())
    tags = narrow.tags()
    return total + sum(parser.lexicon_.scores(tag.word, first=i == 0)[tag.label] for i, tag in enumerate(tags))


@pytest.mark.parametrize("threshold", [0.0, 1e-7])
def test_probabilities_of_trees_are_those_of_their_rules(threshold):
    """Each listed tree has the probability that its own rules and tags give it; all differ; the best come first."""
    parser = PCFG(threshold=threshold).fit(PHRASES)
    words = ["the", "dog", "sees", "a", "man", "with", "the", "hat"]
    parses = parser.k_best(words, k=20)
    values = [parse.log_probability for parse in parses]
    assert values == sorted(values, reverse=True)
    assert len({parse.tree for parse in parses}) == len(parses) > 1
    for tree, value in parses:
        assert tree.words() == words
        assert without_loops(tree) == tree
        assert log_probability(parser, tree) == pytest.approx(value)
    attached = {str(tree) for tree, _ in parses}
    assert any("(NP (NP (DT a) (NN man)) (PP" in text for text in attached)
    assert any("(NN man)) (PP" in text and "(NP (NP (DT a)" not in text for text in attached)


def test_without_pruning_nothing_better_is_found():
    """Trees of a pruned search are among those of the whole one, with the same probability."""
    words = ["he", "sees", "dogs", "with", "a", "hat", "."]
    whole = dict(PCFG(threshold=0.0).fit(PHRASES).k_best(words, k=200))
    pruned = dict(PCFG(threshold=1e-3).fit(PHRASES).k_best(words, k=200))
    assert set(pruned) <= set(whole)
    assert all(whole[tree] == pytest.approx(value) for tree, value in pruned.items())
    assert max(whole.values()) >= max(pruned.values())


def test_given_tags_are_kept():
    """They are those of the trees; a tag that the grammar does not know is passed over."""
    parser = PCFG().fit(PHRASES)
    words, tags = ["hats", "see", "the", "man"], ["NNS", "VBP", "DT", "NN"]
    assert [tag.label for tag in parser.parse(words, tags=tags).tags()] == tags
    assert parser.parse(words, tags=["???", "VBP", "DT", "NN"]).words() == words
    with pytest.raises(InputError, match="words and tags must be non-empty and of equal length; got lengths 4 and 1"):
        parser.parse(words, tags=["NN"])


@given(
    st.lists(
        st.sampled_from(["the", "dog", "sees", "see", "he", ".", "with", "never", "Never", "12"]),
        min_size=1,
        max_size=6,
    )
)
def test_every_sentence_has_a_tree(words):
    """If not of the grammar, then of the coarse one, or a flat one: words are all there, in order."""
    parses = PCFG().fit(PHRASES).k_best(words, k=3)
    assert 1 <= len(parses) <= 3
    for tree, value in parses:
        assert tree.words() == words
        assert math.isfinite(value)


@pytest.mark.parametrize("threshold", [1e-5, 0.0])
def test_charts_that_do_not_fit(threshold, monkeypatch):
    """A sentence whose chart would fill the memory is refused."""
    parser = PCFG(threshold=threshold).fit(PHRASES)
    monkeypatch.setattr("polyadic.core.resources.free_memory", lambda: 1 << 18)
    with pytest.raises(InputError, match=r"a chart of 100 words needs .* MiB of memory, .*; split the sentence"):
        parser.parse(["dog"] * 100)


def test_faults_are_named():
    """No trees, no words, no candidates."""
    with pytest.raises(InputError, match="at least one tree"):
        PCFG().fit([])
    parser = PCFG().fit(PHRASES)
    with pytest.raises(InputError, match="must be non-empty"):
        parser.parse([])
    with pytest.raises(InputError, match="split the string"):
        parser.parse("he sees")
    with pytest.raises(InputError, match="k must be"):
        parser.k_best(["he"], k=0)


@given(st.integers(2, 30), st.integers(2, 10))
def test_folds_part_the_sentences(count, folds):
    """Each sentence is in one fold, and learned from in all the others."""
    if count < folds:
        with pytest.raises(InputError, match="folds need at least"):
            list(fold_splits(range(count), folds))
        return
    parts = list(fold_splits(list(range(count)), folds))
    assert list(itertools.chain(*(fold for _, fold in parts))) == list(range(count))
    assert all(sorted([*rest, *fold]) == list(range(count)) for rest, fold in parts)
    assert max(len(fold) for _, fold in parts) - min(len(fold) for _, fold in parts) <= 1


def test_lists_are_kept(tmp_path):
    """Judged against the treebank, written and read again; threads change nothing; a fold does not see itself."""
    parser = PCFG().fit(PHRASES)
    lists = propose(parser, PHRASES, k=5)
    assert [one.parses for one in propose(parser, PHRASES, k=5, threads=2)] == [one.parses for one in lists]
    write_lists(tmp_path / "lists.jsonl.gz", lists)
    for one, other in zip(lists, read_lists(tmp_path / "lists.jsonl.gz"), strict=True):
        assert (one.gold, one.parses) == (other.gold, other.parses)
        np.testing.assert_array_equal(one.counts, other.counts)
    assert bracket_score(selected_counts(lists)).f1 <= bracket_score(oracle_counts(lists)).f1
    for one in lists:
        for parse, cost in zip(one.parses, one.costs, strict=True):
            assert (cost == 0) == (Counter(parse.tree.spans()) == Counter(one.gold.spans())) or "." in one.gold.words()
    first = jackknife(PHRASES, folds=4, k=5)[0]
    assert first.parses == PCFG().fit(PHRASES[1:]).k_best(PHRASES[0].words(), k=5)


@pytest.mark.parametrize(
    "line",
    [
        '{"gold": "(S"}',
        '{"gold": 5, "parses": []}',
        '{"gold": "(NN a)", "parses": []}',
        '{"gold": "(NN a)", "parses": [["(NN b)", 0]]}',
        '{"gold": "(NN a)", "parses": [["(S (NN a) (NN a))", 0]]}',
        '{"gold": "(NN a)", "parses": [["(NN a)", NaN]]}',
        '{"gold": "(NN a)", "parses": [[5, 0]]}',
        "[1]",
        "[" * 100_000,
    ],
)
def test_damaged_lists_are_refused(tmp_path, line):
    """Trees of other words, no trees, and numbers that are none, with the line."""
    (tmp_path / "bad.jsonl").write_text('{"gold": "(NN a)", "parses": [["(NN a)", 0]]}\n' + line + "\n")
    with pytest.raises(InputError, match=r"line 2 is not a list of parses"):
        list(read_lists(tmp_path / "bad.jsonl"))


def test_lists_do_not_look_at_the_tree():
    """A flat tree with other tags has the same candidates: words are all that is taken from the treebank."""
    parser = PCFG().fit(PHRASES)
    flat = [Phrase("X", tuple(Phrase("UH", (word,)) for word in tree.words())) for tree in PHRASES]
    for one, other in zip(propose(parser, PHRASES, k=5), propose(parser, flat, k=5), strict=True):
        assert one.parses == other.parses
        assert one.describe(hash)[1] == other.describe(hash)[1]
        assert list(map(list, one.describe(hash)[0])) == list(map(list, other.describe(hash)[0]))
        assert max(one.costs) < min(other.costs)


def test_a_phrase_may_be_called_top():
    """Where only the plain grammar has a tree, such a phrase is not taken for what stands around all trees."""
    trees = "(TOP (NP (NN a)) (. .))", "(S (VP (VB c) (NP (DT d) (NN e))))"
    for threshold in (0.0, 1e-5):
        parser = PCFG(threshold=threshold).fit(map(parse_phrase, trees))
        found = parser.k_best(["d", "e", "."], k=5, tags=["DT", "NN", "."])
        assert [str(tree) for tree, _ in found] == ["(TOP (NP (DT d) (NN e)) (. .))"]


def test_new_words_where_none_is_rare():
    """All words then tell of what a new one may be."""
    assert PCFG().fit(PHRASES[:1] * 3).parse(["the", "cat", "sees", "a", "man"]).words()[1] == "cat"
    lexicon = Lexicon([[("dog", "NN"), ("barks", "VBZ")]] * 3)
    assert lexicon.plain("cat") == {"NN": 0.5, "VBZ": 0.5}


@pytest.mark.realdata
def test_a_treebank_is_parsed(realdata):
    """Of short sentences of unseen articles: F is what such grammars reach, and the lists hold much better trees."""
    trees = [tree for file in penn_sample(root=realdata) for tree in file]
    parser = PCFG().fit(trees[:1500])
    lists = propose(parser, [tree for tree in trees[3300:3400] if len(tree.words()) <= 15], k=20)
    first, best = bracket_score(selected_counts(lists)).f1, bracket_score(oracle_counts(lists)).f1
    assert 0.72 < first < 0.92
    assert first + 0.05 < best < 1
