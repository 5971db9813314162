"""States that are split and merged: EM on given trees, against all states of small trees and what was planted."""

import itertools
import math

import numpy as np
import pytest

from polyadic.syntax.brackets import parse_phrase
from polyadic.syntax.kernels.latent_chart import Tensors, tree_sums
from polyadic.syntax.latent_grammar import PlainPCFG, nodes_of
from polyadic.syntax.latent_pcfg import LatentPCFG
from polyadic.syntax.split_merge import (
    SplitMergePCFG,
    TensorLayout,
    divided,
    gathered,
    improved,
    in_arrays,
    pair_losses,
)
from test_latent_pcfg import TREES, plain_log_probability

PAIRS = [(a, b) for a in "xyz" for b in "pqr"]
BOTH, TAG = np.array([[4, 1], [1, 4]]) / 10, np.array([[1, 1, 0], [0, 1, 1]]) / 2
TRUE = TAG.T @ BOTH @ TAG


def beside(inside, outside):
    """A phrase whose tag tells of the one beside it, by a state that its label hides."""
    return parse_phrase(f"(S (A ({inside.upper()} {inside})) ({outside.upper()} {outside}))")


PLANTED = [beside(*pair) for pair, n in zip(PAIRS, (40 * TRUE).round().astype(int).flat, strict=True) for _ in range(n)]


def drawn(trees, *, seed):
    """Give trees as arrays, and states and probabilities drawn for them."""
    plain = PlainPCFG()
    rules, arrays = in_arrays([nodes_of(plain.prepared(tree), {"the", "a"}) for tree in trees])
    rng = np.random.default_rng(seed)
    states = rng.integers(1, 4, arrays.rules[:, 0].max() + 1)
    states[arrays.symbols[arrays.roots]] = 1
    shape = TensorLayout.of(arrays.rules, states)
    return rules, arrays, states, shape, improved(rng.uniform(size=len(shape.parents)), shape, smoothing=0)


@pytest.mark.parametrize("seed", range(3))
def test_sums_over_states_are_those_of_all_states(seed):
    """Probability of a tree, and how often each number is used, by every way to give its nodes states."""
    tree = parse_phrase("(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a))))")
    _, trees, states, shape, numbers = drawn([tree], seed=seed)
    log, counts, inner, outer = tree_sums(
        trees.edges, Tensors(numbers, shape.starts), states[trees.symbols], trees.roots
    )
    expected, total = np.zeros(len(numbers)), 0.0
    sizes = states[trees.symbols]
    for given in itertools.product(*map(range, sizes)):
        places, p = [], 1.0
        for rule, node, *children in trees.edges.tolist():
            below = [child for child in children if child >= 0]
            where = np.ravel_multi_index([given[k] for k in (node, *below)], [sizes[k] for k in (node, *below)])
            places.append(shape.starts[rule] + where)
            p *= numbers[places[-1]]
        total += p
        for place in places:
            expected[place] += p
    assert log == pytest.approx(math.log(total))
    np.testing.assert_allclose(counts, expected / total, atol=1e-12)
    through = (inner * outer).sum(axis=1)
    assert (through > 0).all()
    np.testing.assert_allclose(counts.sum(), len(sizes))


def test_the_first_grammar_is_the_plain_one():
    """Without a split a tree has the product of relative frequencies of its rules and words."""
    model = SplitMergePCFG(0, rare=0).fit(TREES)
    for tree in TREES:
        assert model.log_probability(tree) == pytest.approx(plain_log_probability(tree))


def test_the_likelihood_never_falls():
    """Between splits, where nothing is merged or smoothed; in the end it is that of the model."""
    model = SplitMergePCFG(2, rare=0, sweeps=6, merged=0.0, smoothing=0.0).fit(TREES + PLANTED)
    for cycle in range(2):
        assert (np.diff(model.history_[1 + 12 * cycle : 13 + 12 * cycle]) <= 1e-9).all()
    assert model.history_[-1] < model.history_[0]
    mean = np.mean([model.log_probability(tree) for tree in TREES + PLANTED])
    assert model.history_[-1] == pytest.approx(-mean)


def test_all_merged_is_the_plain_grammar():
    """States that are split and all merged again leave relative frequencies."""
    one, other = (SplitMergePCFG(cycles, rare=0, merged=1.0, smoothing=0.0).fit(TREES) for cycles in (0, 1))
    assert set(other.tensors_.states.values()) == {1}
    for tree in TREES:
        assert other.log_probability(tree) == pytest.approx(one.log_probability(tree))


def test_smoothing_without_end_is_the_plain_grammar():
    """States that are drawn to their symbol with all force are all like it."""
    one, other = (SplitMergePCFG(cycles, rare=0, smoothing=1e9).fit(TREES) for cycles in (0, 1))
    for tree in TREES:
        assert other.log_probability(tree) == pytest.approx(one.log_probability(tree), abs=1e-6)


def test_planted_states_are_found():
    """A tag and what is beside its phrase come as often as two hidden states say; without them they are independent."""
    fitted = [SplitMergePCFG(cycles, rare=0, smoothing=0.0, sweeps=50).fit(PLANTED) for cycles in (1, 0)]
    found, plain = (np.exp([[m.log_probability(beside(*pair)) for pair in PAIRS]]).reshape(3, 3) for m in fitted)
    np.testing.assert_allclose(found, TRUE, atol=0.002)
    np.testing.assert_allclose(plain, np.outer(TRUE.sum(axis=1), TRUE.sum(axis=0)), atol=1e-9)


def test_states_that_are_of_use_stay():
    """Merging half keeps the states of what agrees."""
    model = SplitMergePCFG(1, rare=0, smoothing=0.0, sweeps=50).fit([beside("x", "p"), beside("y", "q")] * 10)
    states = model.tensors_.states
    assert states["A"] == 2
    assert model.log_probability(beside("x", "p")) == pytest.approx(math.log(0.5), abs=1e-3)
    assert model.log_probability(beside("x", "q")) < -5


def test_splitting_and_merging_are_each_others_inverse():
    """A state divided without noise is two of the same; added up again it is what it was."""
    rules, trees, states, shape, numbers = drawn(TREES, seed=0)
    halves, more = divided(numbers, trees.rules, states, states > 0, np.random.default_rng(0))
    assert (more == 2 * states).all()
    np.testing.assert_allclose(np.bincount(TensorLayout.of(trees.rules, more).parents, halves), 1)
    together, fewer = gathered(halves, trees.rules, more, [np.arange(n) // 2 for n in more.tolist()])
    assert (fewer == states).all()
    np.testing.assert_allclose(improved(together, shape, smoothing=0), numbers, rtol=0.02)
    assert len(rules) == len(trees.rules)


def test_equal_states_are_lost_for_nothing():
    """The likelihood falls by nothing without one of two equal states, and by what is known where they differ."""
    outer = np.array([[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0]])
    inner = np.array([[0.5, 0.5, 1.0, 0.0], [0.2, 0.2, 0.0, 1.0]])
    same, apart = pair_losses(inner[:, :2], outer[:, :2])[0], pair_losses(inner[:, 2:], outer[:, 2:])[0]
    assert same == pytest.approx(0)
    assert apart == pytest.approx(2 * math.log(2))  # each of both states is there half the time


def test_it_reranks_as_the_spectral_one_does():
    """Both are grammars with hidden states: what is asked of one can be asked of the other."""
    for model in (SplitMergePCFG(1, rare=1), LatentPCFG(2, rare=1)):
        model.fit(TREES)
        parses = model.plain_.k_best(TREES[0].words(), k=5)
        logs = [parse.log_probability for parse in model.rerank(parses)]
        assert logs == sorted(logs, reverse=True)
        assert model.parse(TREES[2].words()) == TREES[2]
