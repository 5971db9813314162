"""Dependency trees: Eisner's algorithm against all projective trees, arcs that are learned, and lists of the k best."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.cao2014.candidates import DependencyCandidates, jackknife_dependencies, propose_dependencies
from experiments.cao2014.features import (
    ROOT,
    HeadContext,
    arcs,
    dependents,
    frames,
    grandparents,
    numbers,
    tree_heads,
)
from experiments.cao2014.groups import feature_groups
from experiments.data.annotated import web_treebank
from polyadic import InputError
from polyadic.syntax import dependency
from polyadic.syntax.dependency import ArcFactored, _coded
from polyadic.syntax.kernels.arcs import score_arcs, step_arcs
from polyadic.syntax.kernels.best_trees import best_arcs
from small_language import made, sentence


@functools.cache
def projective_trees(n, *, single_root):
    """All trees over n words whose arcs do not cross, by the definition: what an arc spans is below its head."""
    found = []
    for heads in itertools.product(range(n + 1), repeat=n):
        above = dict(enumerate(heads, 1))

        def ancestors(m, above=above):
            seen = []
            while m and m not in seen:
                seen.append(m)
                m = above[m]
            return [*seen, 0] if not m else None

        lines = {m: ancestors(m) for m in above}
        if None in lines.values() or (single_root and heads.count(0) != 1):
            continue
        if all(h in lines[x] for m, h in above.items() for x in range(min(h, m) + 1, max(h, m))):
            found.append(heads)
    return found


@given(st.integers(1, 4), st.booleans(), st.integers(1, 40), st.data())
def test_the_best_trees_are_the_best(n, single_root, k, data):
    """The k highest scores of all projective trees, falling, no tree twice; forbidden arcs are not used."""
    score = st.integers(-40, 40).map(lambda x: x / 8) | st.just(-np.inf)
    flat = data.draw(st.lists(score, min_size=(n + 1) ** 2, max_size=(n + 1) ** 2))
    S = np.array(flat).reshape(n + 1, n + 1)
    every = {
        heads: sum(S[h, m] for m, h in enumerate(heads, 1)) for heads in projective_trees(n, single_root=single_root)
    }
    wanted = sorted((value for value in every.values() if value > -np.inf), reverse=True)
    heads, values = best_arcs(S, k, single_root=single_root)
    np.testing.assert_array_equal(values, wanted[:k])
    found = [tuple(row) for row in heads.tolist()]
    assert len(set(found)) == len(found)
    assert [every[row] for row in found] == values.tolist()


@pytest.mark.parametrize(("single_root", "count"), [(False, 273), (True, 143)])
def test_every_tree_is_found(single_root, count):
    """Of five words all trees are listed if so many are asked for: C(3n, n) / (2n + 1) if the root may have several."""
    scores = np.random.default_rng(0).normal(size=(6, 6))
    heads, values = best_arcs(scores, 1000, single_root=single_root)
    assert {tuple(row) for row in heads.tolist()} == set(projective_trees(5, single_root=single_root))
    assert len(heads) == len(values) == count


def test_faults_are_named():
    """Shapes and numbers that do not fit are refused before a loop reads beyond an array."""
    for k in (0, 1.5):
        with pytest.raises(ValueError, match="at least 1"):
            best_arcs(np.zeros((2, 2)), k)
    words = np.array([1, 4, 2])
    with pytest.raises(ValueError, match="power of two"):
        score_arcs(words, words, np.zeros(3, np.float32))
    with pytest.raises(ValueError, match="including the root and the end"):
        score_arcs(words[:2], words[:2], np.zeros(4, np.float32))
    weights = np.zeros(4, np.float32)
    with pytest.raises(ValueError, match="heads must be"):
        step_arcs(words, words, np.array([3]), step=1.0, time=1, weights=weights, sums=np.zeros(4))


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_a_step_raises_the_scores_of_its_arcs(n, seed):
    """After a step for a tree its score has grown by the squared length of its features; the sums follow the clock."""
    rng = np.random.default_rng(seed)
    words, tags = rng.integers(3, 9, n + 2), rng.integers(3, 6, n + 2)
    heads = np.array([rng.choice([h for h in range(n + 1) if h != m]) for m in range(1, n + 1)])
    weights, sums = rng.normal(size=1 << 12).astype(np.float32), np.zeros(1 << 12)

    def total():
        S = score_arcs(words, tags, weights)
        return sum(S[h, m] for m, h in enumerate(heads.tolist(), 1))

    before, old = total(), weights.copy()
    step_arcs(words, tags, heads, step=0.5, time=3, weights=weights, sums=sums)
    features = (weights - old) / 0.5
    np.testing.assert_allclose(total() - before, 0.5 * float(features @ features), rtol=1e-3)
    np.testing.assert_allclose(sums, 3 * (weights - old), atol=1e-5)


def test_a_small_language_is_learned():
    """Planted rules are found, and the share of errors is recorded."""
    parser = ArcFactored(max_iter=3, bits=18, seed=0).fit(made(60, 0))
    for tree in made(20, 1):
        assert parser.parse(tree.forms, tree.xpos).tolist() == tree.heads.tolist()
    assert parser.history_[0] == 1.0
    assert parser.history_[-1] < 0.1
    assert parser.n_iter_ == 3


def test_a_pass_that_is_cut_short_leaves_no_trace(monkeypatch):
    """Weights are those of the last whole pass, here of none."""

    def stop(*parts, **more):
        step_arcs(*parts, **more)
        raise KeyboardInterrupt

    monkeypatch.setattr(dependency, "step_arcs", stop)
    parser = ArcFactored(bits=10, seed=0).fit(made(9, 0))
    assert parser.interrupted_
    assert (parser.n_iter_, np.abs(parser.weights_).max()) == (0, 0)


def test_a_fit_that_fails_changes_nothing():
    """Words, tags and weights stay together; sentences may come from a generator."""
    parser = ArcFactored(max_iter=2, bits=14, seed=0).fit(tree for tree in made(20, 0))
    words, tags = ["d1", "n2", "v9"], ["D", "N", "V"]
    before = parser.scores(words, tags)
    parser.max_iter = 0
    with pytest.raises(InputError, match="max_iter"):
        parser.fit([sentence(["x", "x"], ["X", "X"], [2, 0])])
    np.testing.assert_array_equal(parser.scores(words, tags), before)
    with pytest.raises(InputError, match="column 5"):
        ArcFactored().fit([sentence(["x", "x"], ["_", "_"], [2, 0])])


def test_averaged_weights_are_the_mean_of_all():
    """One pass over two sentences, by hand: the mean of the weights after each."""
    trees = made(2, 3)
    parser = ArcFactored(max_iter=1, bits=10, seed=0).fit(trees)
    weights, total = np.zeros(1 << 10, np.float32), np.zeros(1 << 10)
    for at in np.random.default_rng(0).permutation(2).tolist():
        words, tags = _coded(trees[at].forms, parser.words_), _coded(trees[at].xpos, parser.tags_)
        heads = best_arcs(score_arcs(words, tags, weights))[0][0]
        for tree, step in ((trees[at].heads, 1.0), (heads, -1.0)):
            step_arcs(words, tags, tree, step=step, time=0, weights=weights, sums=np.zeros(1 << 10))
        total += weights
    # The mean is over the start, where all weights are zero, and each sentence.
    np.testing.assert_allclose(parser.weights_, total / 3, atol=1e-6)


def test_features_of_a_tree_by_hand():
    """Arcs, siblings, grandparents, numbers and frames of "dogs bark loudly"."""
    words, tags = (ROOT, "dogs", "bark", "loudly"), (ROOT, "N", "V", "R")
    assert tree_heads([2, 0, 2]) == [(0, -1, (), (2,)), (1, 2, (), ()), (2, 0, (1,), (3,)), (3, 2, (), ())]
    bark = HeadContext(words, tags, 2, 0, (1,), (3,))
    assert set(arcs(bark)) >= {
        ("arc tags", "V", "N", -1),
        ("arc words", "bark", "loudly"),
        ("arc tag word", "V", "dogs", False),
    }
    assert ("siblings", "V", "-", "R", True) in set(dependents(bark))
    assert ("grandparent", ROOT, "V", "N", True, False) in set(grandparents(bark))
    assert set(numbers(bark)) == {("number", "V", 1, 1), ("number word", "bark", 1, 1)}
    assert set(frames(bark)) == {("frame", "V", "N", "-", "R"), ("frame left", "V", "N"), ("frame right", "V", "R")}
    assert list(grandparents(HeadContext(words, tags, 0, -1, (), (2,)))) == []


def test_lists_become_groups():
    """Costs are shares of wrong heads; the first feature is the parser's score; a fold is parsed by the others."""
    trees = made(30, 0)
    lists = jackknife_dependencies(trees, folds=3, k=5, parser=lambda: ArcFactored(max_iter=1, bits=12, seed=0))
    assert [one.gold for one in lists] == trees
    fold = ArcFactored(max_iter=1, bits=12, seed=0).fit(trees[10:])
    np.testing.assert_array_equal(propose_dependencies(fold, trees[:1], k=5)[0].heads, lists[0].heads)
    [ranked], names = feature_groups(lists, min_count=1)
    assert names[0] == ("score",)
    wrong = [(one.heads != one.gold.heads).mean(axis=1) for one in lists]
    np.testing.assert_allclose(ranked.groups.costs, np.concatenate(wrong))
    np.testing.assert_array_equal(ranked.counts.sum(axis=0)[1], sum(len(one.gold) * len(one.heads) for one in lists))
    with pytest.raises(InputError, match="words and tags must be non-empty"):
        fold.parse(["a"], [])
    with pytest.raises(InputError, match="split the string"):
        fold.parse("a b", "N N")
    with pytest.raises(InputError, match="at least one sentence"):
        ArcFactored().fit([])


def test_lists_do_not_look_at_the_tree():
    """With other heads for the same words and tags, candidates and features are the same, and only costs differ."""
    parser = ArcFactored(max_iter=1, bits=12, seed=0).fit(made(30, 0))
    right = made(8, 1)
    wrong = [sentence(tree.forms, tree.xpos, range(len(tree))) for tree in right]  # a chain
    one, other, same = (
        propose_dependencies(parser, trees, k=5, threads=n) for trees, n in ((right, 1), (wrong, 1), (right, 2))
    )
    ([a], names), ([b], others), ([c], _) = (feature_groups(lists, min_count=1) for lists in (one, other, same))
    assert names == others
    np.testing.assert_array_equal(a.groups.features.toarray(), b.groups.features.toarray())
    np.testing.assert_array_equal(a.groups.features.toarray(), c.groups.features.toarray())
    assert (a.groups.costs != b.groups.costs).any()


def test_folds_stop_with_a_fit():
    """A parser that Ctrl-C left half taught makes no lists."""

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        jackknife_dependencies(made(6, 0), folds=2, k=2, parser=lambda: ArcFactored(bits=10, callback=stop))


@pytest.mark.realdata
def test_a_web_treebank_is_learned(realdata):
    """Two passes over 800 sentences attach two of three words of the development part rightly; lists hold better."""
    train, dev = web_treebank("train", root=realdata), web_treebank("dev", root=realdata)[:200]
    parser = ArcFactored(max_iter=2, seed=0).fit(train[:800])
    lists = propose_dependencies(parser, dev, k=20)
    assert all(isinstance(one, DependencyCandidates) for one in lists)
    first = np.array([one.counts[0] for one in lists]).sum(axis=0)
    best = np.array([one.counts[one.costs.argmin()] for one in lists]).sum(axis=0)
    assert 0.66 < first[0] / first[1] < 0.9
    assert best[0] / best[1] > first[0] / first[1] + 0.05
    with pytest.raises(InputError, match="one of 'train', 'dev', 'test'"):
        web_treebank("eval", root=realdata)
