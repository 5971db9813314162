"""Weighted grammars learned from strings: sums over trees, phrases, entries of the matrix, and planted grammars."""

from itertools import product

import numpy as np
import pytest

from polyadic import SpectralGrammar
from polyadic.core.errors import InputError
from polyadic.core.solvers.run import run
from polyadic.sequences.hankel import least_trace_norm
from polyadic.syntax.spectral_grammar import WeightedGrammar, binary_trees, grammar_of, inside_outside


def planted(states, symbols, seed, stop=0.6):
    rng = np.random.default_rng(seed)
    A = (1 - stop) * rng.dirichlet(np.full(states**2, 0.3), size=states).reshape(states, states, states)
    leaves = stop * rng.dirichlet(np.full(symbols, 0.3), size=states).T
    return WeightedGrammar(rng.dirichlet(np.ones(states)), A, leaves)


def trees(string):
    """List the binary trees of a string, as nested pairs."""
    if len(string) == 1:
        return [string[0]]
    return [(y, z) for m in range(1, len(string)) for y, z in product(trees(string[:m]), trees(string[m:]))]


def vector(grammar, tree):
    if not isinstance(tree, tuple):
        return grammar.leaves[tree]
    return np.einsum("abc,b,c", grammar.A, *(vector(grammar, part) for part in tree))


def phrases(tree, start=0):
    """Return the phrases of a tree, and its end."""
    if not isinstance(tree, tuple):
        return [], start + 1
    left, middle = phrases(tree[0], start)
    right, end = phrases(tree[1], middle)
    return [*left, *right, (start, end)], end


def test_weights_are_sums_over_trees():
    """The inside algorithm sums over all bracketings, signs included; their numbers are Catalan's."""
    rng = np.random.default_rng(0)
    grammar = WeightedGrammar(rng.normal(size=3), rng.normal(size=(3, 3, 3)), rng.normal(size=(2, 3)))
    for string in [(0,), (1, 0), (0, 1, 1), (1, 1, 0, 1, 0)]:
        slow = sum(grammar.root @ vector(grammar, tree) for tree in trees(string))
        assert grammar(string) == pytest.approx(slow)
    assert [len(binary_trees(n)) for n in range(1, 8)] == [1, 1, 2, 5, 14, 42, 132]


def test_phrases_have_the_largest_sum_of_weights():
    """The tree is the best of all by the weights of its phrases, each a sum over trees."""
    grammar = planted(3, 2, 1)
    for string in [(0, 1, 1, 0, 1), (1, 0, 1, 0), (0,)]:
        weights = {}
        for tree in trees(string):
            for phrase in phrases(tree)[0]:
                weights[phrase] = weights.get(phrase, 0) + grammar.root @ vector(grammar, tree)
        totals = {tuple(sorted(ps)): sum(weights[p] for p in ps) for ps in (phrases(t)[0] for t in trees(string))}
        assert tuple(grammar.brackets(string)) == max(totals, key=totals.get)


def test_entries_are_products_of_outside_and_inside_vectors():
    """Filled with the weights of a grammar, the matrix has its rank, and gives it back."""
    grammar, table = planted(2, 2, 0), inside_outside(2, 2, 2)
    weights = [
        grammar.root @ vector(grammar, t) for n in range(1, 5) for s in product(range(2), repeat=n) for t in trees(s)
    ]
    assert table.sums @ np.append(weights, np.zeros(table.sums.shape[1] - len(weights))) == pytest.approx(
        [grammar(s) for s in table.strings]
    )
    H = (table.cells @ np.append(weights, np.full(table.sums.shape[1] - len(weights), np.nan))).reshape(table.shape)
    known = np.isfinite(H).all(axis=1)
    assert np.linalg.matrix_rank(H[known], tol=1e-10) == 2


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_planted_grammar_is_recovered_from_strings(seed):
    """From the probabilities of strings of up to four symbols follow those of longer ones; one state cannot do it."""
    grammar, table = planted(2, 2, seed), inside_outside(2, 2, 2)
    shares = np.array([grammar(s) for s in table.strings])
    steps = least_trace_norm(table.cells, table.sums, shares, table.shape, 1e-4)
    f = run(steps, max_iter=1000, tol=1e-6).factors[0]
    longer = [s for n in (5, 6, 7) for s in product(range(2), repeat=n)]
    truth = np.array([grammar(s) for s in longer])
    errors = []
    for rank in (1, 2):
        found, values = grammar_of((table.cells @ f).reshape(table.shape), table, rank)
        errors.append(np.abs([found(s) for s in longer] - truth).sum() / truth.sum())
    assert errors[1] < 0.02
    assert errors[0] > 5 * errors[1]
    assert values[2] < 1e-3 * values[0]


def test_an_estimator_learns_nested_strings():
    """Probabilities of longer nested strings, which were not observed, follow; others have almost none."""
    nested = ["a" * n + "b" * n for n in range(1, 6) for _ in range(2 ** (6 - n))]
    model = SpectralGrammar(3, penalty=1e-5).fit(nested)
    p = model.probabilities(["ab", "aabb", "aaabbb", "aaaabbbb", "abab", "aabbab", ""])
    np.testing.assert_allclose(p[:4], np.array([32, 16, 8, 4]) / 62, rtol=0.2)
    assert p[4:].tolist() == pytest.approx([0, 0, 0], abs=1e-3)
    assert (1, 3) in model.brackets(["aabb"])[0]


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: SpectralGrammar(2).fit([range(30)]),
            "30 symbols have too many trees of up to 4 symbols",
        ),
        (lambda: SpectralGrammar(2).fit(["abcde"]), "must have 1 to 4 symbols; increase context"),
        (lambda: SpectralGrammar(2).brackets(["a"]), "not fitted yet; call fit first"),
        (lambda: SpectralGrammar(2, penalty=0).fit(["ab"]), "penalty must be a finite number greater than 0"),
    ],
)
def test_bad_strings_are_named(ask, message):
    """Errors are one sentence."""
    with pytest.raises(InputError, match=message):
        ask()
