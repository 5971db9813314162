"""The best dependency tree, projective or among all, against all trees of few words."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic.syntax.kernels.best_trees import (
    best_arcs,
    best_projective_tree,
    best_projective_trees,
    best_spanning_tree,
    best_spanning_trees,
)
from small_language import rooted

SEEDS = st.integers(0, 2**32 - 1)


@functools.cache
def trees(n, *, single_root):
    """All assignments of heads in which every word comes up to the root; by Cayley's formula (n + 1)^(n - 1)."""
    every = itertools.product(range(n + 1), repeat=n)
    return [heads for heads in every if rooted(heads) and (not single_root or heads.count(0) == 1)]


def value_of(S, heads):
    return sum(S[h, m] for m, h in enumerate(heads, 1))


def test_the_twin_counts_trees():
    """The slow twin knows as many trees as there are: 6^4 over five words and the root, 5 * 5^3 with a single root."""
    assert len(trees(5, single_root=False)) == 6**4
    assert len(trees(5, single_root=True)) == 5**4


def projective(heads):
    """Whether no two arcs cross, the root at the left of all words."""
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1)]
    return not any(a < c < b < d for (a, b), (c, d) in itertools.permutations(arcs, 2))


@pytest.mark.parametrize("best", [best_spanning_tree, best_projective_tree])
@given(n=st.integers(1, 5), single_root=st.booleans(), data=st.data())
def test_no_tree_is_better(best, n, single_root, data):
    """The tree is one of all, or of those whose arcs do not cross; its value is the highest, without forbidden arcs."""
    score = st.integers(-40, 40).map(lambda x: x / 8) | st.just(-np.inf)
    S = np.array(data.draw(st.lists(score, min_size=(n + 1) ** 2, max_size=(n + 1) ** 2))).reshape(n + 1, n + 1)
    heads, value = best(S, single_root=single_root)
    every = {one: value_of(S, one) for one in trees(n, single_root=single_root)}
    if best is best_projective_tree:
        every = {one: total for one, total in every.items() if projective(one)}
    assert value == pytest.approx(max(every.values()))
    assert every[tuple(heads.tolist())] == pytest.approx(value) if value > -np.inf else (heads == -1).all()


@given(st.integers(1, 40), st.booleans(), st.integers(0, 2**32 - 1))
def test_one_tree_of_many(n, single_root, seed):
    """The best projective tree is the first of the k best."""
    S = np.random.default_rng(seed).normal(size=(n + 1, n + 1))
    heads, value = best_projective_tree(S, single_root=single_root)
    several, values = best_arcs(S, 2, single_root=single_root)
    assert heads.tolist() == several[0].tolist()
    assert value == pytest.approx(values[0])


@pytest.mark.parametrize("single_root", [False, True])
def test_tables_are_solved_one_by_one(single_root):
    """Several tables have the trees and values that each has alone, one that allows no tree among them."""
    S = np.random.default_rng(0).normal(size=(4, 8, 8))
    S[2, :, 3] = -np.inf
    for one, several in ((best_projective_tree, best_projective_trees), (best_spanning_tree, best_spanning_trees)):
        heads, values = several(S, single_root=single_root)
        alone = [one(table, single_root=single_root) for table in S]
        assert heads.tolist() == [tree.tolist() for tree, _ in alone]
        assert values.tolist() == [value for _, value in alone]


@pytest.mark.parametrize("single_root", [False, True])
def test_cycles_within_cycles(single_root):
    """Of five words many random tables have nested cycles; each is solved as by trying all trees."""
    rng, every = np.random.default_rng(0), np.array(trees(5, single_root=single_root))
    for _ in range(200):
        S = rng.normal(size=(6, 6)) + np.eye(6, k=1) * rng.integers(0, 6) + np.eye(6, k=-1) * rng.integers(0, 6)
        heads, value = best_spanning_tree(S, single_root=single_root)
        values = S[every, np.arange(1, 6)].sum(axis=1)
        assert value == pytest.approx(values.max())
        assert heads.tolist() == every[values.argmax()].tolist()


@given(st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_long_sentences(n, seed):
    """The result is a tree with one root, at least as good as the best projective one; the table is left as it was."""
    S = np.random.default_rng(seed).normal(size=(n + 1, n + 1))
    before = S.copy()
    heads, value = best_spanning_tree(S)
    np.testing.assert_array_equal(S, before)
    assert rooted(heads)
    assert (heads == 0).sum() == 1
    assert value >= best_arcs(S)[1][0] - 1e-9


@given(st.integers(2, 6), st.integers(0, 2**32 - 1), st.floats(-50, 50))
def test_a_constant_for_a_word_changes_nothing(n, seed, shift):
    """Each word has one head, so what is added to a column is added to every tree."""
    S = np.random.default_rng(seed).normal(size=(n + 1, n + 1))
    moved = S.copy()
    moved[:, 1] += shift
    assert best_spanning_tree(moved)[0].tolist() == best_spanning_tree(S)[0].tolist()


@given(st.integers(1, 8), SEEDS, st.sampled_from([np.nan, np.inf, -np.inf, 1e300]))
def test_what_is_no_arc_is_not_looked_at(n, seed, junk):
    """Column 0 and the diagonal may hold anything."""
    S = np.random.default_rng(seed).normal(size=(n + 1, n + 1))
    np.fill_diagonal(S, 0.0)
    S[:, 0] = 0.0
    other = S.copy()
    np.fill_diagonal(other, junk)
    other[:, 0] = junk
    before = other.copy()
    for best in (best_spanning_tree, best_projective_tree):
        assert best(other)[0].tolist() == best(S)[0].tolist()
        assert best(other)[1] == best(S)[1]
    assert best_arcs(other)[0].tolist() == best_arcs(S)[0].tolist()
    np.testing.assert_array_equal(other, before)


def test_faults_are_named():
    """Shapes and numbers that do not fit are refused."""
    for scores, fault in (([[0.0]], "square"), (np.zeros((2, 3)), "square"), (np.full((2, 2), np.nan), "NaN")):
        for best in (best_spanning_tree, best_projective_tree, best_arcs):
            with pytest.raises(ValueError, match=fault):
                best(scores)
