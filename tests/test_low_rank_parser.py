"""Parsing with a tensor of low rank: scores, steps, where it starts, and what it learns."""

import dataclasses
import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.data.annotated import web_treebank
from helpers import in_json, invoke, output, succeed
from polyadic import InputError, load
from polyadic.core.kernels.common import MEAN_ROWS, mean_weights
from polyadic.metrics.dependencies import dependency_score, match_trees
from polyadic.syntax.arc_features import (
    EDGE,
    FIRST_WORD,
    FIXED,
    PAIRS,
    ROOT,
    SHIFT,
    TAG,
    WORD,
    coded,
    known_features,
    token_features,
    with_children,
)
from polyadic.syntax.arc_learning import ArcLearner, RelationLearner, best_relations
from polyadic.syntax.higher_order import HigherOrderParser
from polyadic.syntax.kernels.arc_tensor import (
    DISTANCES,
    ArcParts,
    FeaturePairs,
    score_tensor_arcs,
    scratch_of,
    step_tensor_arcs,
    tensor_cells,
)
from polyadic.syntax.kernels.arcs import score_arc_labels, step_arc_labels
from polyadic.syntax.kernels.best_trees import best_projective_tree, best_spanning_tree
from polyadic.syntax.low_rank_parser import LowRankParser
from polyadic.syntax.low_rank_tensors import unfolded_start
from polyadic.syntax.trees import read_trees, untagged
from small_language import made, random_heads

SEEDS = st.integers(0, 2**32 - 1)


def case(n, seed, *, bits=14, rank=3, features=20, values=0):
    """A table of features, some missing, and parts in which nothing is zero."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-1, features, (n + 1, 6)).astype(np.int32)
    shapes = ((1 << bits,), (features + values, rank), (features + values, rank), (DISTANCES, rank))
    parts = ArcParts(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))
    return table, parts, FeaturePairs(np.array([[0, 1], [2, 2], [1, 3], [4, 0]]), 5), rng


def two_trees(n, rng):
    """Two trees that differ."""
    while True:
        one, other = random_heads(n, rng), random_heads(n, rng)
        if (one != other).any():
            return one, other


def score_of(scores, heads):
    return scores[heads, np.arange(1, len(scores))].sum()


def bin_of(h, m):
    away = abs(h - m)
    return (away if away <= 5 else 6 if away <= 10 else 7) + (7 if h < m else 0)


def step(table, parts, pairs, *, dense=None, **how):
    """A step on copies; gives alpha, the new parts and their sums."""
    new, sums = (ArcParts(*map(change, parts)) for change in (np.copy, np.zeros_like))
    _, products = score_tensor_arcs(table, parts, pairs, gamma=how["gamma"], dense=dense)
    scratch = delta, place = scratch_of(parts)
    alpha = step_tensor_arcs(table, new, pairs, products=products, sums=sums, scratch=scratch, dense=dense, **how)
    assert not delta.any()
    assert (place == -1).all()
    return alpha, new, sums


@given(st.integers(1, 14), SEEDS)
def test_the_tensor_scores_all_combinations(n, seed):
    """With gamma 0 the score is the tensor, written out, summed over features of both ends, any and this distance."""
    table, parts, pairs, _ = case(n, seed)
    T = np.einsum("ir,jr,dr->ijd", *(part.astype(float) for part in parts[1:]))
    S = score_tensor_arcs(table, parts, pairs, gamma=0.0)[0]
    for h, m in itertools.product(range(n + 1), range(1, n + 1)):
        if h != m:
            block = T[np.ix_(table[h][table[h] >= 0], table[m][table[m] >= 0])]
            assert S[h, m] == pytest.approx(block[..., [0, bin_of(h, m)]].sum(), rel=1e-4, abs=1e-3)


@given(st.integers(1, 10), SEEDS)
def test_dense_features_are_more_rows(n, seed):
    """A value times a row of U: whole numbers score as that feature would so many times."""
    table, parts, pairs, rng = case(n, seed, values=2)
    dense = rng.integers(0, 3, (n + 1, 2)).astype(np.float32)
    repeated = [np.where(np.arange(2)[None] < dense[:, [k]], 20 + k, -1) for k in range(2)]
    wide = np.concatenate([table, *repeated], axis=1).astype(np.int32)
    for gamma in (0.0, 0.4):
        S = score_tensor_arcs(table, parts, pairs, gamma=gamma, dense=dense)[0]
        T = score_tensor_arcs(wide, parts, pairs, gamma=gamma)[0]
        np.testing.assert_allclose(S, T, rtol=1e-4, atol=1e-2)
    with pytest.raises(ValueError, match="dense must have type float32"):
        score_tensor_arcs(table, parts, pairs, gamma=0.5, dense=dense[1:])
    with pytest.raises(ValueError, match="feature ids must be"):
        score_tensor_arcs(np.full_like(table, 20), parts, pairs, gamma=0.5, dense=dense)


@given(st.integers(1, 14), SEEDS)
def test_the_sparse_part_scores_pairs(n, seed):
    """With gamma 1 and no tags between, the score of an arc is the sum of the weights of the cells that it has."""
    table, parts, pairs, rng = case(n, seed)
    table[:, pairs.tag] = -1
    S = score_tensor_arcs(table, parts, pairs, gamma=1.0)[0]
    heads = random_heads(n, rng)
    cells, values = tensor_cells(table, parts.theta, pairs, heads=heads)
    assert values.sum() == pytest.approx(score_of(S, heads), rel=1e-4, abs=1e-3)
    for a, b, d in cells.tolist():
        assert any(a in table[h] and b in table[m] and d in (0, bin_of(h, m)) for m, h in enumerate(heads.tolist(), 1))


@given(st.integers(1, 12), SEEDS, st.floats(0, 1))
def test_parts_are_weighed(n, seed, gamma):
    """The score is gamma times that of pairs and 1 - gamma times that of the tensor."""
    table, parts, pairs, _ = case(n, seed)
    pure = [score_tensor_arcs(table, parts, pairs, gamma=g)[0] for g in (0.0, 1.0)]
    mixed = score_tensor_arcs(table, parts, pairs, gamma=gamma)[0]
    np.testing.assert_allclose(mixed, (1 - gamma) * pure[0] + gamma * pure[1], rtol=1e-4, atol=1e-2)


@given(st.integers(2, 8), SEEDS, st.sampled_from([0.0, 0.3, 1.0]), st.booleans())
def test_a_step_is_along_the_gradient(n, seed, gamma, with_values):
    """What a step adds is alpha times the derivative of the difference of scores, by central differences."""
    table, parts, pairs, rng = case(n, seed, features=8, bits=10, values=2 * with_values)
    dense = rng.normal(size=(n + 1, 2)).astype(np.float32) if with_values else None
    heads, found = two_trees(n, rng)
    how = {"heads": heads, "predicted": found, "loss": 1.0, "gamma": gamma, "C": 1e-3, "clock": 1}
    alpha, new, _ = step(table, parts, pairs, dense=dense, **how)
    assert 0 < alpha <= 1e-3

    def gain(which, at, by):
        shifted = ArcParts(*map(np.copy, parts))
        shifted[which][at] += by
        S = score_tensor_arcs(table, shifted, pairs, gamma=gamma, dense=dense)[0]
        return score_of(S, heads) - score_of(S, found)

    for which, part in enumerate(parts):
        change = (new[which] - part).astype(float) / alpha
        places = [tuple(int(rng.integers(size)) for size in part.shape) for _ in range(4)]
        places.append(tuple(np.unravel_index(np.abs(change).argmax(), part.shape)))
        for at in places:
            slope = (gain(which, at, 0.25) - gain(which, at, -0.25)) / 0.5  # the score is linear in each part
            assert change[at] == pytest.approx(slope, rel=2e-2, abs=0.3)


@given(st.integers(1, 10), SEEDS, st.floats(0.1, 5))
def test_a_step_takes_the_loss_away(n, seed, loss):
    """Without a tensor the difference of scores grows by the loss exactly; a small C caps the step."""
    table, parts, pairs, rng = case(n, seed)
    if n == 1:
        return
    heads, found = two_trees(n, rng)
    how = {"heads": heads, "predicted": found, "loss": loss, "gamma": 1.0, "clock": 3}
    alpha, new, sums = step(table, parts, pairs, C=1e9, **how)
    gains = []
    for each in (parts, new):
        S = score_tensor_arcs(table, each, pairs, gamma=1.0)[0]
        gains.append(score_of(S, heads) - score_of(S, found))
    if alpha:  # pairs of which no feature is known make no difference
        assert gains[1] - gains[0] == pytest.approx(loss, rel=1e-3, abs=1e-3)
    capped, _, _ = step(table, parts, pairs, C=alpha / 2 or 1.0, **how)
    assert capped == pytest.approx(alpha / 2)
    np.testing.assert_allclose(sums.theta, 3.0 * (new.theta - parts.theta), atol=1e-5)


@given(st.integers(2, 8), SEEDS)
def test_a_small_loss_is_taken_away_by_all_at_once(n, seed):
    """To first order the tensor too gains what was lost: of a small loss nearly all, by theta, U, V and W together."""
    table, parts, pairs, rng = case(n, seed)
    heads, found = two_trees(n, rng)
    how = {"heads": heads, "predicted": found, "gamma": 0.3, "C": 1e9, "clock": 2}
    alpha, new, sums = step(table, parts, pairs, loss=0.05, **how)
    exact = [ArcParts(*(part.astype(float) for part in each)) for each in (parts, new)]
    difference = sum(float((a - b).ravel() @ (a - b).ravel()) for a, b in zip(*exact, strict=True))
    # alpha times the squared norm is the loss, and alpha squared times it the squared length of the step
    assert difference == pytest.approx(alpha * 0.05, rel=2e-2)
    for part, old, total in zip(new, parts, sums, strict=True):
        np.testing.assert_allclose(total, 2.0 * (part - old), atol=1e-5)


@given(st.integers(2, 8), SEEDS, st.integers(0, 2))
def test_factors_may_move_in_turn(n, seed, turn):
    """Only the factor whose turn it is moves, as far as the loss asks for with the others fixed: then exactly."""
    table, parts, pairs, rng = case(n, seed, values=2)
    dense = rng.normal(size=(n + 1, 2)).astype(np.float32)
    heads, found = two_trees(n, rng)
    moves = tuple(k == turn for k in range(3))
    how = {"heads": heads, "predicted": found, "loss": 0.5, "gamma": 0.3, "clock": 1}
    alpha, new, _ = step(table, parts, pairs, dense=dense, moves=moves, C=1e9, **how)
    assert [bool((a != b).any()) for a, b in zip(new[1:], parts[1:], strict=True)] == list(moves)
    gains = []
    for each in (parts, new):  # the score is linear in theta and one factor, so the whole loss is gone
        S = score_tensor_arcs(table, each, pairs, gamma=0.3, dense=dense)[0]
        gains.append(score_of(S, heads) - score_of(S, found))
    assert gains[1] - gains[0] == pytest.approx(0.5, rel=2e-2, abs=2e-2)
    assert alpha > 0


def test_means_of_many_rows():
    """Of more rows than are looked at together: the mean of what the weights were at the start and after each step."""
    rng = np.random.default_rng(0)
    w = np.zeros((2 * MEAN_ROWS + 3, 2), np.float32)
    s, seen = np.zeros(w.shape), [w.copy()]
    for t in range(1, 5):
        moves = rng.integers(-8, 9, w.shape)
        w, s = (w + moves).astype(np.float32), s + t * moves
        seen.append(w)
    np.testing.assert_allclose(mean_weights(w, s, 4), np.mean(seen, axis=0), rtol=1e-6)


def test_means_are_those_of_all_moments():
    """The mean kept lazily is that of the parts at the start and after each sentence."""
    rng = np.random.default_rng(0)
    trees = made(6, 0)
    known = known_features(trees, min_count=1)
    shapes = ((1 << 10,), (len(known), 3), (len(known), 3), (DISTANCES, 3))
    parts = ArcParts(*(rng.normal(scale=0.1, size=shape).astype(np.float32) for shape in shapes))
    total = [part.astype(float) for part in parts]
    learner = ArcLearner(parts, PAIRS, gamma=0.3, C=0.5, decode=LowRankParser()._decode)
    losses = []
    for tree in trees:
        losses.append(learner.learn(coded(token_features(tree), known), tree.heads)[1])
        total = [one + part for one, part in zip(total, learner.parts, strict=True)]
    assert max(losses) > 0
    for mean, one in zip(learner.mean(), total, strict=True):
        np.testing.assert_allclose(mean, one / (len(trees) + 1), atol=1e-5)


@given(SEEDS, st.integers(1, 4))
def test_a_planted_tensor_is_found(seed, rank):
    """Of a tensor of that rank, two sides orthogonal and its lengths falling, the start is the tensor."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.normal(size=(9, rank)))[0]
    V, W = (x / np.linalg.norm(x, axis=0) for x in (rng.normal(size=(7, rank)), rng.normal(size=(5, rank))))
    T = np.einsum("ir,jr,kr,r->ijk", U, V, W, 3.0 ** -np.arange(rank))
    cells = np.argwhere(T)
    found = unfolded_start(cells, T[tuple(cells.T)], T.shape, rank=rank)
    # Orthogonal on one side only, singular vectors of the unfolding mix components, unless there is one.
    rest = np.linalg.norm(np.einsum("ir,jr,kr->ijk", *found) - T) / np.linalg.norm(T)
    assert rest < (1e-6 if rank == 1 else 0.9)
    Q = np.linalg.qr(rng.normal(size=(7, rank)))[0]
    T = np.einsum("ir,jr,kr,r->ijk", U, Q, W, 3.0 ** -np.arange(rank))
    found = unfolded_start(cells, T[tuple(cells.T)], T.shape, rank=rank)
    np.testing.assert_allclose(np.einsum("ir,jr,kr->ijk", *found), T, atol=1e-6)


@pytest.mark.parametrize(("cells", "values"), [([], []), ([[1, 2, 0]] * 2 + [[2, 1, 0]] * 2, [5, -5, 1, -1])])
def test_a_start_from_zeros(cells, values):
    """No cells, or those whose values cancel: zeros, in the precision of the values."""
    kind = np.float32
    factors = unfolded_start(np.array(cells, np.int64).reshape(-1, 3), np.array(values, kind), (4, 4, 3), rank=1)
    for factor in factors:
        assert factor.dtype == kind
        assert not factor.any()


def test_a_start_beyond_the_unfolding():
    """Columns beyond its rank are zeros."""
    U, V, W = unfolded_start(np.array([[1, 2, 0]]), np.array([5.0]), (4, 4, 3), rank=3)
    assert np.einsum("ir,jr,kr->ijk", U, V, W)[1, 2, 0] == pytest.approx(5)
    assert not W[:, 1:].any()


@given(st.integers(1, 10), SEEDS)
def test_relations_are_learned(n, seed):
    """Scores are sums of rows; repeated steps make the right relation of each word that has features the best."""
    table, _, pairs, rng = case(n, seed)
    table[:, 0] = np.arange(n + 1)  # words that can be told apart
    table[:, 1] = np.arange(n + 1)
    heads, labels = random_heads(n, rng), rng.integers(0, 4, n)
    weights, sums = np.zeros((2, 1 << 12, 4), np.float32)
    how = {"pairs": pairs.columns, "C": 1e9, "weights": weights, "sums": sums}
    first = step_arc_labels(table, heads, labels, clock=0, **how)
    assert first >= int(n > 0)
    wrong = [step_arc_labels(table, heads, labels, clock=0, **how) for _ in range(60)]
    assert wrong[-1] == 0
    assert (score_arc_labels(table, heads, weights, pairs=pairs.columns).argmax(axis=1) == labels).all()
    assert not sums.any()
    np.testing.assert_allclose(weights.sum(axis=1), 0, atol=1e-4)


@given(st.integers(1, 9), SEEDS)
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


def test_features_of_words_by_hand():
    """Neighbours, tags around, morphology; what is not said is empty."""
    columns = {"xpos": ("NNS", "VBP"), "upos": ("NOUN", "VERB"), "features": ("Number=Plur|X=Y", "_")}
    rows = token_features(dataclasses.replace(untagged(["Dogs", "bark"]), **columns))
    assert rows[0][WORD] == f"w={ROOT}"
    assert rows[1][FIXED:] == ["f=Number=Plur", "f=X=Y"]
    assert {f"w-={ROOT}", "w+=bark", "t+=VBP", f"tt={ROOT} NNS VBP", "p=NOUN", "p+=VERB", "l"} & set(rows[1]) == {
        f"w-={ROOT}",
        "w+=bark",
        "t+=VBP",
        f"tt={ROOT} NNS VBP",
        "p=NOUN",
        "p+=VERB",
    }
    assert rows[2][TAG] == "t=VBP"
    assert f"w+={EDGE}" in rows[2]
    assert not any(feature.startswith(("l=", "l+", "l-")) for row in rows for feature in row)
    assert all(len(row) >= FIXED for row in rows)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("init", ["svd", "random"])
@pytest.mark.parametrize("decoding", ["projective", "any"])
def test_a_small_language_is_learned(gamma, init, decoding):
    """Planted rules are found with and without the tensor; relations too; the loss falls."""
    options = {"gamma": gamma, "init": init, "decoding": decoding, "C": 0.1, "bits": 14, "seed": 0}
    parser = LowRankParser(5, max_iter=6, **options).fit(made(60, 0))
    new = made(20, 1)
    score = dependency_score([match_trees(*pair) for pair in zip(new, parser.annotate(new), strict=True)])
    assert score.las == 1
    assert parser.history_[-1] < parser.history_[0] / 5
    assert parser.n_iter_ == 6


def fitted(**options):
    return LowRankParser(4, **{"max_iter": 2, "bits": 12, "seed": 3, **options}).fit(made(30, 0))


def test_averages_are_not_the_last_parts():
    """The setting makes a difference."""
    assert (fitted(averaged=False).parts_.U != fitted().parts_.U).any()


def test_the_parse_is_the_best_tree():
    """By the scores that the parser gives, over all trees where arcs may cross."""
    tree = made(1, 5)[0]
    for decoding, best in (("projective", best_projective_tree), ("any", best_spanning_tree)):
        parser = fitted(decoding=decoding, max_iter=1)
        wanted, _ = best(parser.scores(tree.forms, tree.xpos))
        assert parser.parse(tree.forms, tree.xpos).heads.tolist() == wanted.tolist()


def test_without_relations():
    """Heads alone: relations of parses say nothing."""
    parser = fitted(labels=False)
    assert parser.parse(["d1", "n1"], ["D", "N"]).relations == ("_", "_")
    assert parser.relation_weights_.size == 0


def test_faults_are_named():
    """No sentences, gold heads that are no tree, and columns that do not fit."""
    cycle = dataclasses.replace(made(1, 0)[0])
    object.__setattr__(cycle, "heads", np.array([2, 1, *cycle.heads[2:]], np.int32))
    outside = dataclasses.replace(made(1, 0)[0])
    object.__setattr__(outside, "heads", np.full(len(outside), 99, np.int32))
    for trees, fault in (
        ([], "at least one sentence"),
        ([cycle], "heads must form a tree; the heads above word 1 do not lead to the root"),
        ([outside], "a head from 0 to"),
    ):
        with pytest.raises(InputError, match=fault):
            LowRankParser(2, bits=10).fit(trees)
    parser = fitted()
    for words, tags in ((["a"], []), ([], [])):
        with pytest.raises(InputError, match="must be non-empty and of equal length"):
            parser.parse(words, tags)


def test_doors_refuse_what_does_not_fit():
    """A loop would read beyond an array."""
    table, parts, pairs, _ = case(3, 0)
    for wrong, fault in (
        ((table.astype(np.int64), parts, pairs), "int32"),
        ((table + np.int32(99), parts, pairs), "feature ids must be"),
        ((table, parts._replace(theta=parts.theta[:20]), pairs), "power of two"),
        ((table, parts._replace(W=parts.W[:3]), pairs), "do not match"),
        ((table, parts, FeaturePairs(np.array([[0, 6]]), 5)), "pairs of column indices below 6"),
        ((table, parts, pairs._replace(tag=6)), "column of the tag must be"),
    ):
        with pytest.raises(ValueError, match=fault):
            score_tensor_arcs(*wrong, gamma=0.5)
    with pytest.raises(ValueError, match="each word must have a head"):
        step(
            table, parts, pairs, heads=np.array([0, 1]), predicted=np.array([0, 1]), loss=1.0, gamma=0.5, C=1.0, clock=1
        )
    with pytest.raises(ValueError, match="each word must have a head"):
        tensor_cells(table, parts.theta, pairs, heads=np.array([0, 1, 4]))
    with pytest.raises(ValueError, match="power of two"):
        score_arc_labels(table, np.array([0, 1, 1]), np.zeros((9, 2), np.float32), pairs=pairs.columns)


@pytest.mark.realdata
def test_the_tensor_helps_where_sentences_are_few(realdata):
    """After 400 sentences of the web treebank, heads are better with the tensor than without, and relations follow."""
    train, dev = web_treebank("train", root=realdata)[:400], web_treebank("dev", root=realdata)[:300]
    scores = {}
    for gamma in (0.3, 1.0):
        parser = LowRankParser(20, gamma=gamma, max_iter=4, bits=18, labels=gamma < 1, seed=0).fit(train)
        scores[gamma] = dependency_score([match_trees(*two) for two in zip(dev, parser.annotate(dev), strict=True)])
    assert scores[0.3].uas > scores[1.0].uas + 0.01
    assert 0.65 < scores[0.3].las < scores[0.3].uas < 0.9


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("cls", [LowRankParser, HigherOrderParser])
def test_the_pass_that_parses_best_is_kept(cls, labels):
    """It is the first of them, what it gives is that of so many passes, and it was measured as others measure."""
    train, judged = made(12, 0), made(20, 1)
    how = {"bits": 10, "C": 0.01, "seed": 3, "labels": labels}
    parser = cls(2, max_iter=12, **how).fit(train, validation=iter(judged))
    errors, best = parser.result_.measured, parser.result_.best
    assert best == max(at for at, error in enumerate(errors) if error == min(errors))
    score = dependency_score([match_trees(*pair) for pair in zip(judged, parser.annotate(judged), strict=True)])
    assert min(errors) == 1 - (score.las if labels else score.uas)
    same = cls(2, max_iter=max(best, 1), **how).fit(train)
    assert best == 0 or (same.parts_.U == parser.parts_.U).all()
    assert parser.n_iter_ - best <= 5
    with pytest.raises(InputError, match="at least one sentence"):
        cls(2, **how).fit(train, validation=[])


def test_what_fails_leaves_the_parser_as_it_was():
    """A refit that is refused or interrupted changes nothing; trees may come from a generator; words are no string."""
    train, new = made(30, 0), made(5, 1)
    parser = LowRankParser(3, max_iter=2, bits=10, C=0.1).fit(iter(train))
    before = [(tree.heads.tolist(), tree.relations) for tree in parser.annotate(new)]

    def interrupt(_):
        raise RuntimeError("no further")

    parser.callback = interrupt
    words = dataclasses.replace(train[0], forms=tuple(word.upper() for word in train[0].forms))
    with pytest.raises(RuntimeError, match="no further"):
        parser.fit([words])
    with pytest.raises(InputError, match="at least one sentence"):
        parser.fit([])
    assert [(tree.heads.tolist(), tree.relations) for tree in parser.annotate(new)] == before
    for more in ({"tags": "NN"}, {"tags": ["N", "N"], "pos": "NN"}, {"tags": ["N", "N"], "features": "__"}):
        with pytest.raises(InputError, match="lists of strings"):
            parser.parse(["a", "b"], **more)
    assert parser.parse(np.array(["a", "b"]), np.array(["N", "V"])).heads.tolist() in ([2, 0], [0, 1])


def test_the_command_line(tmp_path):
    """Train, parse what has no heads yet, and evaluate; the parses are those of the library."""
    call = partial(succeed, "parse")
    train, bare, out = tmp_path / "train.conllu", tmp_path / "bare.conllu", tmp_path / "out.conllu"
    train.write_text("".join(tree.conllu() for tree in made(40, 0)))
    new = made(10, 1)
    rows = [line.split("\t") for tree in new for line in tree.conllu().split("\n")[:-1]]
    bare.write_text("\n".join("\t".join([*row[:6], "_", "_", *row[8:]]) if len(row) > 1 else "" for row in rows) + "\n")
    options = ["--set", "rank=4", "--set", "C=0.1", "--max-iter", 5, "--validation", train]
    told = in_json("parse", "train", train, "--out", tmp_path / "model", *options)
    assert (told["sentences"], told["relations"]) == (40, 5)
    assert 0 <= told["best_epoch"] <= told["epochs"] <= 5
    assert told["validation_error"] < 0.1
    (tmp_path / "none.conllu").write_text("")
    refused = invoke("parse", "train", train, "--out", tmp_path / "m", "--validation", tmp_path / "none.conllu")
    assert "none.conllu has no sentences to validate on" in refused.output
    call("apply", tmp_path / "model", bare, "--out", out)
    model = load(tmp_path / "model")
    for one, other in zip(read_trees(out), model.annotate(new), strict=True):
        assert one.heads.tolist() == other.heads.tolist()
        assert one.relations == other.relations
    assert call("apply", tmp_path / "model", bare) == out.read_text()
    gold = tmp_path / "gold.conllu"
    gold.write_text("".join(tree.conllu() for tree in new))
    found = in_json("parse", "evaluate", tmp_path / "model", gold, "--tables")
    assert found["uas"] == found["las"] == 1
    assert {row["name"] for row in found["relation"]} >= {"det", "subj", "root"}
    assert "UAS" in call("evaluate", tmp_path / "model", gold)
    gold.write_text("")
    for words in (["train", gold, "--out", tmp_path / "other"], ["evaluate", tmp_path / "model", gold]):
        assert f"{gold} has no sentences" in output("parse", *words, code=1).replace("\n", "")
    assert not (tmp_path / "other").exists()
