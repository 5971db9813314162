"""Marginals of a grammar with hidden states, and trees by them, against all trees of small sentences."""

from __future__ import annotations

import numpy as np
import pytest

from polyadic.syntax.brackets import parse_phrase
from polyadic.syntax.kernels.chart import inside
from polyadic.syntax.kernels.latent_chart import best_edges, forest_of, in_a_row, latent_sums, tree_sums
from polyadic.syntax.latent_grammar import nodes_of
from polyadic.syntax.latent_marginals import MarginalParser
from polyadic.syntax.latent_pcfg import LatentPCFG
from polyadic.syntax.split_merge import SplitMergePCFG

BANK = [
    "(S (NP (D the) (N man)) (VP (V saw) (NP (NP (D a) (N dog)) (PP (P with) (NP (D a) (N hat))))))",
    "(S (NP (D a) (N dog)) (VP (V saw) (NP (D the) (N man)) (PP (P with) (NP (D the) (N hat)))))",
    "(S (NP (N men)) (VP (V slept)))",
    "(S (VP (V look) (PP (P with) (NP (N care)))))",
    "(S (NP (NP (D a) (N man)) (PP (P with) (NP (N care)))) (VP (VP (V slept)) (PP (P with) (NP (N men)))))",
]
SENTENCES = ["men slept", "a dog saw men with a hat", "the man saw a dog with the hat with care", "look with men"]


MODELS = {
    "one state": LatentPCFG(1, rare=0, smoothing=1.0),
    "three states": LatentPCFG(3, rare=0, smoothing=1.0),
    "split": SplitMergePCFG(2, rare=0, sweeps=3, smoothing=0.1),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    """Give a grammar with hidden states."""
    return MODELS[request.param].fit(map(parse_phrase, BANK))


def weights(model, words):
    """Give all trees that the plain grammar has, the product of tensors of each, and its labelled rows of words."""
    rules, unseen, first = model.tensors_
    found = []
    for parse in model.plain_.k_best(words, k=5000):
        values = []
        nodes = nodes_of(model.plain_.prepared(parse.tree), model.known_)
        for node in nodes:
            tensor = rules.get(node.rule, unseen.get(node.label))
            for child in reversed(node.below):
                tensor = tensor @ values[child]
            values.append(tensor)
        found.append((parse.tree, float(first @ values[-1]), nodes))
    return found


@pytest.mark.parametrize("sentence", SENTENCES)
def test_marginals_are_those_of_all_trees(model, sentence):
    """Each is the share of the products of trees that have the phrase, negative ones too."""
    words = sentence.split()
    model.plain_.threshold = 0
    trees = weights(model, words)
    assert len(trees) < 5000
    total = sum(weight for _, weight, _ in trees)
    expected = {}
    for _, weight, nodes in trees:
        for key in {(node.label, *node.span) for node in nodes}:
            expected[key] = expected.get(key, 0) + weight / total
    found = MarginalParser(model, threshold=0).use(model).marginals(words)
    assert {key: found.get(key, 0) for key in expected} == pytest.approx(expected, abs=1e-9)
    assert found["()", 0, len(words)] == pytest.approx(1)
    assert found.keys() <= expected.keys()


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("cost", [0.0, 0.4])
def test_the_tree_has_the_likeliest_phrases(model, sentence, cost):
    """Of all trees it has the largest sum of marginals of phrases, less the cost of each, and of tags."""
    words = sentence.split()
    model.plain_.threshold = 0
    trees = weights(model, words)
    total = sum(weight for _, weight, _ in trees)

    def phrases(nodes):
        return [n for n in nodes if not n.label.startswith("@") and n.label != "()"]

    shares = {}
    for _, weight, nodes in trees:
        for key in {(n.label, n.span) for n in phrases(nodes)}:
            shares[key] = shares.get(key, 0) + weight / total

    def worth(nodes):
        return sum(np.clip(shares[n.label, n.span], 0, 1) - cost * bool(n.below) for n in phrases(nodes))

    found = MarginalParser(model, threshold=0, cost=cost).use(model).parse(words)
    [nodes] = [nodes for tree, _, nodes in trees if tree == found]
    assert worth(nodes) == pytest.approx(max(worth(nodes) for _, _, nodes in trees))


def test_a_sentence_without_a_tree(model):
    """It gets the tree that the model has for it; unknown words are words too."""
    parser = MarginalParser(model).use(model)
    for words in (["with"], ["a", "unicorn", "slept"], ["the", "the", "the"]):
        tree = parser.parse(words)
        assert tree.words() == words


def test_pruning_keeps_the_tree(model):
    """What is left out has small marginals only, and the best tree none of it; of hundreds of words in a row too."""
    parsers = [MarginalParser(model, threshold=threshold).use(model) for threshold in (0, 1e-3)]
    model.plain_.threshold = 1e-6
    for sentence in SENTENCES:
        words = sentence.split()
        one, other = (parser.parse(words) for parser in parsers)
        assert one == other
        every, kept = (parser.marginals(words) for parser in parsers)
        assert kept.keys() <= every.keys()
        assert all(abs(every[key] - share) < 0.01 for key, share in kept.items())
    words = ["the", "man", "saw", "a", "dog", *60 * ["with", "the", "hat", "with", "care"]]
    assert parsers[1].parse(words).words() == words


def test_doors_refuse_what_does_not_fit(model):
    """Shapes are named."""
    rules = MarginalParser(model).use(model)._rules
    chart = inside(rules, [0], [0], [1.0], summed=True)
    with pytest.raises(ValueError, match="the chart must have the symbols of the rules"):
        forest_of(rules, chart, np.ones(2, bool))
    edges = np.array([[0, 2, 0, 1]], np.int32)
    with pytest.raises(ValueError, match="node ids from 0 to 1"):
        best_edges(edges, np.zeros(1), np.zeros(2))
    with pytest.raises(ValueError, match="must have a gain"):
        best_edges(edges, np.zeros(2), np.zeros(3))
    tensors, states = in_a_row([np.zeros((2, 2, 2))]), np.full(3, 2)
    with pytest.raises(ValueError, match="words and first must have shapes"):
        latent_sums(edges, tensors, states, np.zeros((3, 3)), root=2, first=np.ones(2))
    with pytest.raises(ValueError, match="size of each rule tensor"):
        latent_sums(edges, tensors, np.array([2, 3, 2]), np.zeros((3, 3)), root=2, first=np.ones(2))
    with pytest.raises(ValueError, match="below 1"):
        latent_sums(edges + 1, tensors, np.full(4, 2), np.zeros((4, 2)), root=2, first=np.ones(2))
    with pytest.raises(ValueError, match="each root must have one state"):
        tree_sums(edges, tensors, states, np.array([2]))
    same = np.array([[-1, 1, 0, -1]], np.int32)
    with pytest.raises(ValueError, match="same number of states"):
        latent_sums(same, tensors, np.array([1, 2]), np.zeros((2, 2)), root=1, first=np.ones(2))
