"""Small treebanks for parsers to learn, and what trees of heads are."""

import numpy as np

from polyadic.syntax.brackets import parse_phrase
from polyadic.syntax.trees import Tree

PHRASES = [
    parse_phrase(text)
    for text in (
        "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN man)) (PP (IN with) (NP (DT a) (NN hat)))))",
        "(S (NP (DT the) (NN man)) (VP (VBZ sees) (NP (NP (DT the) (NN dog)) (PP (IN with) (NP (DT the) (NN hat))))))",
        "(S (NP (PRP he)) (VP (VBZ sees) (NP (DT a) (NN hat)) (. .)))",
        "(S (NP (NNS dogs)) (VP (VBP see) (NP (NNS hats))))",
    )
]


def sentence(words, tags, heads, relations=None):
    """Return a tree of words, tags, heads and relations alone."""
    none = ("_",) * len(words)
    relations = tuple(relations or none)
    return Tree(tuple(words), none, none, tuple(tags), none, np.array(heads, np.int32), relations, none, none)


def made(count, seed):
    """Return sentences of a small language: determiners before nouns, verbs with a subject and sometimes an object."""
    rng, trees = np.random.default_rng(seed), []
    for _ in range(count):
        words, tags, heads, relations = ["d", "n", "v"], ["D", "N", "V"], [2, 3, 0], ["det", "subj", "root"]
        if rng.random() < 0.5:
            words, tags, heads = [*words, "d", "n"], [*tags, "D", "N"], [*heads, 5, 3]
            relations = [*relations, "det", "obj"]
        if rng.random() < 0.5:
            words, tags, heads, relations = [*words, "."], [*tags, "."], [*heads, 3], [*relations, "punct"]
        trees.append(sentence([f"{w}{rng.integers(5)}" for w in words], tags, heads, relations))
    return trees


def random_heads(n, rng):
    """Return the heads of a random tree: each word is below one that was placed before it."""
    order, heads = rng.permutation(n) + 1, np.zeros(n, np.int32)
    for at, word in enumerate(order[1:], 1):
        heads[word - 1] = order[rng.integers(at)]
    return heads


def rooted(heads):
    """Return whether all words lead to the root."""
    reached = np.array([0, *heads])
    for _ in heads:
        reached = reached[reached]
    return not reached.any()
