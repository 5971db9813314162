"""Trees scored by parts of several arcs: which parts there are, the climb to better trees, and the step."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic.syntax import higher_order as tree_parts
from polyadic.syntax.higher_order import MAX_HEADS, TEMPLATES, TreeLearner, TreeSearch
from polyadic.syntax.kernels.arc_tensor import DISTANCES, ArcParts, FeaturePairs, score_tensor_arcs
from polyadic.syntax.kernels.best_trees import (
    best_projective_tree,
    best_projective_trees,
    best_spanning_tree,
    best_spanning_trees,
)
from polyadic.syntax.kernels.climbing import (
    GRAND,
    GRAND_SIBLING,
    MAX_WORDS,
    SIBLING,
    THREE,
    TreeParts,
    climb_trees,
    difference_of_trees,
    move_weights,
    score_trees,
)
from small_language import rooted

SEEDS = st.integers(0, 2**32 - 1)
SOME = np.array(
    [
        [GRAND, 0, 0, -1, 0],
        [GRAND, 1, -1, -1, 1],
        [SIBLING, -1, 0, 0, 0],
        [SIBLING, -1, 1, -1, 1],
        [GRAND_SIBLING, 0, 0, 0, 0],
        [GRAND_SIBLING, 1, -1, 1, 1],
        [THREE, 0, 0, 0, 0],
        [THREE, 1, -1, 1, 1],
    ]
)


def parts_of(heads, order):
    """Twin of ``_list_parts``: kind, x, h, s, m, from lists of dependents."""
    n, above, found = len(heads), [-1, *heads], []
    for h in range(n + 1):
        left = [m for m in range(h, 0, -1) if above[m] == h]
        right = [m for m in range(h, n + 1) if m and above[m] == h]
        for side in ([h, h, *left, -1], [h, h, *right, n + 1]):
            for t, s, m in zip(side, side[1:], side[2:], strict=False):
                found.append((SIBLING, h, h, s, m))
                if h and 0 <= m <= n:
                    found.append((GRAND, above[h], h, h, m))
                if h and order == 3:
                    found.append((GRAND_SIBLING, above[h], h, s, m))
                if s != h and order == 3:
                    found.append((THREE, t, h, s, m))
    return found


def features_of(table, templates, part):
    """Twin of ``_cells``: the template, on which sides the places are, and what is known of those that count."""
    kind, x, h, s, m = part
    for at, (of, *columns) in enumerate(templates.tolist()):
        known = []
        for slot, (place, column) in enumerate(zip((x, h, s, m), columns, strict=True)):
            if column >= 0 and place == h and slot != 1:
                known.append("none")
            elif column >= 0 and not 0 <= place < len(table):
                known.append("end")
            elif column >= 0:
                known.append(int(table[place, column]))
        if of == kind and -1 not in known:
            yield (at, h < m, x < h, x < m, *known)


def case(n, seed, *, order=3, scale=2.0, bits=14):
    rng = np.random.default_rng(seed)
    table = rng.integers(-1, 6, (n + 1, 2)).astype(np.int32)
    S = scale * rng.normal(size=(n + 1, n + 1))
    return table, S, TreeParts(order, SOME, rng.normal(size=1 << bits).astype(np.float32), 0.7), rng


def climbed(table, S, parts, rng, *, projective=True, single_root=True, restarts=5, allowed=None):
    def decode(scores):
        return (best_projective_tree if projective else best_spanning_tree)(scores, single_root=single_root)[0]

    starts = np.stack([decode(S), *(decode(S + 2 * rng.gumbel(size=S.shape)) for _ in range(restarts))])
    every = np.ones(S.shape, bool) if allowed is None else allowed
    how = {"projective": projective, "single_root": single_root, "allowed": every}
    return starts, *climb_trees(table, S, starts, parts=parts, **how)


def is_tree(heads, *, projective, single_root):
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1)]
    crossing = any(a < c < b < d for (a, b), (c, d) in itertools.permutations(arcs, 2))
    return rooted(heads) and not (projective and crossing) and (not single_root or list(heads).count(0) == 1)


def every_tree(n, **kind):
    return np.array([t for t in itertools.product(range(n + 1), repeat=n) if is_tree(t, **kind)])


def test_parts_by_hand():
    """Of "a b c" below b: each side has its dependent and its end; the grandparent is the root."""
    found = parts_of([2, 0, 2], 3)
    assert (GRAND, 0, 2, 2, 1) in found
    assert (SIBLING, 2, 2, 2, 1) in found
    assert (SIBLING, 2, 2, 1, -1) in found
    assert (GRAND_SIBLING, 0, 2, 3, 4) in found
    assert (THREE, 2, 2, 3, 4) in found
    assert (SIBLING, 1, 1, 1, -1) in found
    assert Counter(kind for kind, *_ in found) == {SIBLING: 11, GRAND: 2, GRAND_SIBLING: 8, THREE: 3}


@given(st.integers(1, 7), SEEDS, st.sampled_from([1, 2, 3]))
def test_scores_are_sums_of_features(n, seed, order):
    """With all weights one the score is that of the arcs and gamma for each feature of each part, listed slowly."""
    table, S, parts, rng = case(n, seed, order=order)
    parts.weights[:] = 1
    for heads in climbed(table, S, parts, rng)[1]:
        count = sum(1 for p in parts_of(heads.tolist(), order) for _ in features_of(table, SOME, p))
        wanted = S[heads, np.arange(1, n + 1)].sum() + (0.7 * count if order > 1 else 0)
        assert score_trees(table, S, heads[None], parts)[0] == pytest.approx(wanted)


@pytest.mark.parametrize("order", [2, 3])
def test_each_feature_has_its_cell(order):
    """By how much the features of two trees differ, is as in the slow list; and is what their scores differ by."""
    for seed in range(8):
        table, S, parts, rng = case(6, seed, order=order, bits=22)
        trees = climbed(table, S, parts, rng)[0]
        heads, found = trees[0], trees[-1]
        lists = [
            Counter(f for p in parts_of(tree.tolist(), order) for f in features_of(table, SOME, p))
            for tree in (heads, found)
        ]
        lists[0].subtract(lists[1])
        delta = np.zeros(1 << 22, np.float32)
        cells, counts, squares = difference_of_trees(table, parts, heads=heads, predicted=found, delta=delta)
        assert sorted(counts[counts != 0].tolist()) == sorted(count for count in lists[0].values() if count)
        assert squares == sum(count * count for count in lists[0].values())
        assert not delta.any()
        a, b = score_trees(table, np.zeros(S.shape), np.stack([heads, found]), parts)
        assert a - b == pytest.approx(0.7 * float(parts.weights[cells] @ counts), abs=1e-4)


@given(st.integers(1, 9), SEEDS, st.sampled_from([1, 2, 3]), st.booleans(), st.booleans())
def test_a_climb_ends_at_a_tree_that_no_head_makes_better(n, seed, order, projective, single_root):
    """Scores kept step by step are those of whole trees, no less than at the start, and at a local optimum."""
    table, S, parts, rng = case(n, seed, order=order)
    kind = {"projective": projective, "single_root": single_root}
    starts, trees, values = climbed(table, S, parts, rng, **kind)
    np.testing.assert_allclose(values, score_trees(table, S, trees, parts), atol=1e-4)
    assert (values >= score_trees(table, S, starts, parts) - 1e-4).all()
    for tree, value in zip(trees, values, strict=True):
        assert is_tree(tree.tolist(), **kind)
        near = np.repeat(tree[None], n * (n + 1), axis=0)
        near[np.arange(len(near)), np.repeat(np.arange(n), n + 1)] = np.tile(np.arange(n + 1), n)
        better = np.array([one for one in near.tolist() if is_tree(one, **kind)])
        assert (score_trees(table, S, better, parts) <= value + 1e-4).all()


def leaves_first(heads):
    """Words such that each comes before its head: the rows of the tree, the lowest first."""
    rows = [0]
    for h in rows:
        below = [m for m, head in enumerate(heads, 1) if head == h]
        rows += [m for m in reversed(below) if m < h] + [m for m in below if m > h]
    return rows[:0:-1]


def slow_climb(heads, table, S, parts, *, allowed, projective, single_root):
    """Twin of ``climb``: each tree with one head changed, or with another word at the top, is scored as a whole."""

    def score(tree):
        return score_trees(table, S, np.array([tree]), parts)[0]

    heads, gained = [*heads], True
    while gained:
        gained = False
        for m in leaves_first(heads):
            if heads[m - 1] == 0 and single_root:
                continue
            new = [[*heads[: m - 1], h, *heads[m:]] for h in range(len(heads) + 1) if allowed[h, m]]
            if single_root and allowed[0, m] and allowed[m, heads.index(0) + 1]:
                new.append([0 if k == m else m if h == 0 else h for k, h in enumerate(heads, 1)])
            new = [one for one in new if is_tree(one, projective=projective, single_root=single_root)]
            best = max([heads, *new], key=score)
            if score(best) > score(heads) + 1e-5:
                heads, gained = best, True
    return heads


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("single_root", [True, False])
def test_a_climb_goes_from_the_leaves_up(projective, single_root):
    """It takes the steps that a slow one takes, which knows nothing of parts."""
    for seed in range(8):
        table, S, parts, rng = case(6, seed)
        allowed = rng.random(S.shape) < 0.7
        how = {"projective": projective, "single_root": single_root, "allowed": allowed}
        starts, trees, _ = climbed(table, S, parts, rng, restarts=2, **how)
        for start, tree in zip(starts.tolist(), trees.tolist(), strict=True):
            assert slow_climb(start, table, S, parts, **how) == tree


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("order", [2, 3])
def test_restarts_find_the_best_tree(order, projective):
    """Of all trees over five words the best is found in at least 48 of 50 cases, from the best by arcs in fewer."""
    every = every_tree(5, projective=projective, single_root=True)
    best_trees = best_projective_trees if projective else best_spanning_trees
    found = {0: 0, 20: 0}
    for seed in range(50):
        table, S, parts, rng = case(5, seed, order=order)
        best = score_trees(table, S, every, parts).max()
        for restarts in found:
            how = {"single_root": True, "restarts": restarts, "noise": 2.0, "beam": 1e9}
            trees, values = TreeSearch(lambda S: best_trees(S)[0], projective, **how)(table, S, parts=parts, rng=rng)
            assert (np.diff(values) <= 0).all()
            assert score_trees(table, S, trees[:1], parts)[0] == pytest.approx(values[0], abs=1e-4)
            assert values[0] <= best + 1e-4
            found[restarts] += values[0] >= best - 1e-4
    assert found[20] >= 48
    assert found[0] < found[20]


def test_arcs_that_are_not_allowed_are_not_made():
    """Of the arcs of a tree that was climbed to, each was allowed or there from the start."""
    for seed in range(30):
        table, S, parts, rng = case(7, seed)
        allowed = rng.random(S.shape) < 0.4
        starts, trees, _ = climbed(table, S, parts, rng, allowed=allowed)
        words = np.arange(1, 8)
        assert ((starts == trees) | allowed[trees, words]).all()


def watched(monkeypatch):
    """What a climb was told."""
    held = {}

    def climb(*args, **how):
        held.update(how)
        return climb_trees(*args, **how)

    monkeypatch.setattr(tree_parts, "climb_trees", climb)
    return held


@pytest.mark.parametrize("n", [10, MAX_HEADS - 1, MAX_HEADS + 10])
def test_the_search_looks_at_good_heads(n, monkeypatch):
    """Heads within the beam, of long sentences the best of them; those of the first start and of the tree wanted."""
    held = watched(monkeypatch)
    table, S, parts, rng = case(n, n)
    wanted = best_projective_tree(rng.normal(size=S.shape))[0]
    search = TreeSearch(lambda S: best_projective_trees(S)[0], True, single_root=True, restarts=1, noise=0.5, beam=6.0)
    search(table, S, parts=parts, rng=rng, wanted=wanted)
    start = best_projective_tree(S)[0]
    for m in range(1, n + 1):
        heads = sorted((h for h in range(n + 1) if h != m), key=lambda h: -S[h, m])
        good = {h for h in heads[:MAX_HEADS] if S[h, m] >= S[heads[0], m] - 6}
        assert {*np.flatnonzero(held["allowed"][:, m])} - {m} == good | {wanted[m - 1], start[m - 1]}


@given(st.integers(1, 9), SEEDS, st.sampled_from([2, 3]), st.booleans(), st.booleans())
def test_climbs_know_nothing_of_one_another(n, seed, order, projective, single_root):
    """From several starts each comes to where it comes alone, to the last bit, whatever was worth what before."""
    table, S, parts, rng = case(n, seed, order=order)
    allowed = rng.random(S.shape) < 0.8
    how = {"projective": projective, "single_root": single_root, "allowed": allowed}
    starts, trees, values = climbed(table, S, parts, rng, **how)
    for start, tree, value in zip(starts, trees, values, strict=True):
        alone, its = climb_trees(table, S, start[None], parts=parts, **how)
        assert alone.tolist() == [tree.tolist()]
        assert its.tolist() == [value]


def learner_of(*, gamma, C, order=3, updates="all", beam=1e9):
    """A learner of small parts, with a search among all arcs."""
    rng = np.random.default_rng(0)
    shapes = ((1 << 10,), (6, 3), (6, 3), (DISTANCES, 3))
    arcs = ArcParts(*(rng.normal(scale=0.1, size=shape).astype(np.float32) for shape in shapes))
    more = TreeParts(order, SOME, rng.normal(scale=0.1, size=1 << 12).astype(np.float32), gamma)
    search = TreeSearch(lambda S: best_projective_trees(S)[0], True, single_root=True, restarts=3, noise=1.0, beam=beam)
    pairs = FeaturePairs(np.array([[0, 1], [1, 1]]), 0)
    return TreeLearner(arcs, pairs, tree_parts=more, C=C, search=search, rng=rng, updates=updates)


@pytest.mark.parametrize(("gamma", "updates"), [(1.0, "all"), (0.3, "cyclic")])
def test_a_step_takes_the_loss_away(gamma, updates):
    """The score is linear in all that moves, without the tensor or with one factor: a step makes the loss zero."""
    steps = 0
    for seed in range(20):
        table, _, _, rng = case(6, seed)
        learner = learner_of(gamma=gamma, C=1e9, updates=updates)
        learner._steps = seed  # whose turn it is
        heads = best_projective_tree(rng.normal(size=(7, 7)))[0]
        before = learner.reached(averaged=False)
        found, loss = learner.learn(table, heads)
        if not loss:
            continue
        after = learner.reached(averaged=False)
        gains = []
        for parts in (before, after):
            for own, one in zip((*learner.parts, learner.tree_parts.weights), parts, strict=True):
                own[...] = one
            S = score_tensor_arcs(table, learner.parts, learner.pairs, gamma=gamma)[0]
            gains.append(-learner._excess(table, S, heads, found))
        assert gains[1] - gains[0] == pytest.approx(loss, rel=1e-3)
        assert gains[1] == pytest.approx((heads != found).sum(), rel=1e-3)
        assert (before[-1] != after[-1]).any()
        steps += 1
    assert steps > 10


def test_right_arcs_may_be_made_while_learning(monkeypatch):
    """However poor they are by themselves."""
    held = watched(monkeypatch)
    for seed in range(5):
        table, S, _, _ = case(6, seed)
        heads = best_projective_tree(S)[0]
        learner_of(gamma=1.0, C=0.1, beam=0.0).learn(table, heads)
        assert held["allowed"][heads, np.arange(1, 7)].all()


def test_means_are_those_of_all_moments():
    """Means of all weights are those at the start and after each sentence."""
    learner = learner_of(gamma=0.3, C=0.5)
    total, losses = [part.astype(float) for part in learner.reached(averaged=False)], []
    for seed in range(8):
        table, S, _, _ = case(6, seed)
        losses.append(learner.learn(table, best_projective_tree(S)[0])[1])
        total = [one + part for one, part in zip(total, learner.reached(averaged=False), strict=True)]
    assert max(losses) > 0
    for mean, one in zip(learner.reached(averaged=True), total, strict=True):
        np.testing.assert_allclose(mean, one / 9, atol=1e-5)


def test_doors_check_what_they_are_given():
    """What would be read or written beyond an array is refused."""
    table, S, parts, _ = case(3, 0)
    allowed, tree = np.ones(S.shape, bool), np.array([[2, 0, 2]])
    for trees in ([[2, 1, 2]], [[4, 0, 2]], [[-1, 0, 2]], [[2, 0]]):
        with pytest.raises(ValueError, match=r"heads|words|trees|table"):
            score_trees(table, S, np.array(trees), parts)
    with pytest.raises(ValueError, match="exactly one root"):
        climb_trees(table, S, np.array([[0, 0, 2]]), parts=parts, allowed=allowed, projective=False)
    with pytest.raises(ValueError, match="allowed"):
        climb_trees(table, S, tree, parts=parts, allowed=allowed[1:], projective=False)
    for wrong in (
        {"order": 4},
        {"templates": SOME[::-1]},
        {"templates": np.array([[GRAND, 2, 0, 0, 0]])},
        {"templates": np.array([[4, 0, 0, 0, 0]])},
        {"weights": np.zeros(12, np.float32)},
        {"weights": np.zeros(16)},
    ):
        with pytest.raises(ValueError, match=r"order|templates|weights"):
            score_trees(table, S, tree, parts._replace(**wrong))
    with pytest.raises(ValueError, match="delta"):
        difference_of_trees(table, parts, heads=tree[0], predicted=tree[0], delta=np.zeros(2, np.float32))
    delta = np.zeros(1 << 14, np.float32)
    cells, counts, _ = difference_of_trees(table, parts, heads=tree[0], predicted=tree[0], delta=delta)
    with pytest.raises(ValueError, match="sum"):
        move_weights(parts, cells, counts, step=1.0, clock=1, sums=np.zeros(2))
    long = np.zeros((MAX_WORDS + 2, 2), np.int32)
    with pytest.raises(ValueError, match="2 to 4095 rows"):
        score_trees(long, S, tree, parts)


def test_templates_are_of_their_kinds():
    """Each joins features of the places that its kind has, and they are in order."""
    assert (np.diff(TEMPLATES[:, 0]) >= 0).all()
    assert (TEMPLATES[TEMPLATES[:, 0] == SIBLING, 1] == -1).all()
    assert (TEMPLATES[TEMPLATES[:, 0] == GRAND, 3] == -1).all()
    assert len({tuple(row) for row in TEMPLATES.tolist()}) == len(TEMPLATES)
