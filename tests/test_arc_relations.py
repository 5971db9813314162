"""Relations of arcs: what is below a word, and what can be learned from it alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from polyadic.syntax.arc_features import FIRST_WORD, FIXED, SHIFT, TAG, WORD, with_children
from polyadic.syntax.arc_learning import RelationLearner, best_relations


@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_children_are_the_first_and_the_last(n, seed):
    """Each column agrees with a search; numbers of different columns never meet, unknown ones stay unknown."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-1, 40, size=(n + 1, FIXED + 2)).astype(np.int32)
    heads = rng.integers(0, n + 1, size=n).astype(np.int32)
    found = with_children(table, heads)
    assert (found[:, :FIXED] == table[:, :FIXED]).all()
    for word in range(n + 1):
        below = [m for m in range(1, n + 1) if heads[m - 1] == word]
        wanted = []
        for j, (child, column) in enumerate([(0, WORD), (0, TAG), (-1, WORD), (-1, TAG)], 1):
            number = table[below[child], column] + 1 if below else 0
            wanted.append(-1 if below and number == 0 else number + (j << SHIFT))
        assert found[word, FIRST_WORD:].tolist() == wanted


def test_a_relation_that_only_a_child_tells():
    """Two nouns below a verb, alike but for the word below them, come to have their own relations."""
    rng = np.random.default_rng(0)
    learner = RelationLearner(3, C=1.0, bits=12)
    names = ["case", "obl", "obj"]

    def sentence(marked):
        """Give root, verb, noun and a word below the noun: 5 is a preposition, 6 is none."""
        table = np.full((4, FIXED), -1, np.int32)
        table[:, 0] = 0
        table[1:, WORD] = [1, 2 + rng.integers(3), 5 if marked else 6]
        table[1:, TAG] = [7, 8, 9]
        return table, np.array([0, 1, 2], np.int32), np.array([0, 1 if marked else 2, 0])

    for _ in range(20):
        learner.learn(*sentence(rng.random() < 0.5))
    for marked in (True, False):
        table, heads, _ = sentence(marked)
        assert best_relations(table, heads, learner.mean(), names)[1] == names[1 if marked else 2]
