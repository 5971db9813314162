"""A language of a few rules, for parsers to learn."""

import numpy as np

from polyadic.syntax.trees import Tree


def sentence(words, tags, heads, relations):
    """Give a tree of words, tags, heads and relations alone."""
    none = ("_",) * len(words)
    return Tree(tuple(words), none, none, tuple(tags), none, np.array(heads, np.int32), tuple(relations), none, none)


def made(count, seed):
    """Sentences of a small language: determiners before nouns, verbs with a subject and sometimes an object."""
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
