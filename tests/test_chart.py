"""Charts of grammars agree with the enumeration of all derivations: sums, maxima, posteriors, and the k best."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic.syntax.kernels.chart import SAME, WORD, chart_rules, inside, k_best, outside, span_shares, value_of
from strategies import tries


@st.composite
def grammars(draw):
    """Draw rules over few symbols, with weights, the blocks of symbols, and which symbols words may have."""
    size = draw(st.integers(1, 4))
    symbol = st.integers(0, size - 1)
    binary = draw(st.lists(st.tuples(symbol, symbol, symbol), min_size=1, max_size=7, unique=True))
    unequal = [(a, b) for a in range(size) for b in range(size) if a != b]
    unary = draw(st.lists(st.sampled_from(unequal), max_size=3, unique=True)) if unequal else []
    n = draw(st.integers(1, 4))
    words = [sorted(draw(st.sets(symbol, min_size=1, max_size=size))) for _ in range(n)]
    rows = [(i, s) for i, symbols in enumerate(words) for s in symbols]
    weights = st.floats(0.05, 2.0)
    drawn = [draw(st.lists(weights, min_size=k, max_size=k)) for k in map(len, (binary, unary, rows))]
    block = np.r_[0, np.cumsum(draw(st.lists(st.integers(0, 1), min_size=size - 1, max_size=size - 1)))]
    return binary, unary, rows, drawn, block


def derivations(binary, unary, rows, weights):
    """Enumerate derivations: for each layer, span and symbol, nested tuples and the product of the weights."""
    b, u, w = (
        dict(zip(map(tuple, rules), values, strict=True))
        for rules, values in zip((binary, unary, rows), weights, strict=True)
    )
    n = rows[-1][0] + 1
    lower, upper = {}, {}
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            found = {}
            if width == 1:
                for (word, s), p in w.items():
                    if word == i:
                        found.setdefault(s, []).append(((s, i), p))
            for k in range(i + 1, j):
                for (a, x, y), p in b.items():
                    for (left, q), (right, r) in itertools.product(upper[i, k].get(x, []), upper[k, j].get(y, [])):
                        found.setdefault(a, []).append(((a, left, right), p * q * r))
            lower[i, j] = found
            upper[i, j] = {s: list(trees) for s, trees in found.items()}
            for (a, s), p in u.items():
                more = [((a, "unary", tree), p * q) for tree, q in found.get(s, [])]
                upper[i, j].setdefault(a, []).extend(more)
    return lower, upper, n


def rules_of(binary, unary, weights, block, *, logs):
    change = np.log if logs else np.asarray
    return chart_rules(binary, unary, weights=(change(weights[0]), change(weights[1])), block=block)


def chart_of(drawn, *, logs, allowed=None):
    binary, unary, rows, weights, block = drawn
    rules = rules_of(binary, unary, weights, block, logs=logs)
    places, symbols = zip(*rows, strict=True)
    values = np.log(weights[2]) if logs else np.array(weights[2])
    return rules, inside(rules, places, symbols, values, summed=not logs, allowed=allowed)


def slot(rules, filled, layer, i, j, s):
    start = filled.base[layer, j * (j - 1) // 2 + i, rules.block[s]]
    return start + s - rules.first[rules.block[s]] if start >= 0 else -1


@given(grammars())
def test_inside_is_the_sum_over_derivations(drawn):
    """So is each cell of both layers; and in logarithms the maximum."""
    lower, upper, n = derivations(*drawn[:4])
    for logs in (False, True):
        rules, filled = chart_of(drawn, logs=logs)
        for layer, found in ((0, lower), (1, upper)):
            for (i, j), cell in found.items():
                for s in range(len(rules.block)):
                    values = [p for _, p in cell.get(s, [])]
                    wanted = (np.log(max(values)) if values else -np.inf) if logs else sum(values)
                    np.testing.assert_allclose(filled.values[slot(rules, filled, layer, i, j, s)], wanted, rtol=1e-9)
        assert value_of(rules, filled, 0) == filled.values[slot(rules, filled, 1, 0, n, 0)]


@given(grammars())
def test_outside_completes_inside(drawn):
    """Inside times outside is the sum of the derivations that use a slot, each as often as it does."""
    _, upper, n = derivations(*drawn[:4])
    rules, filled = chart_of(drawn, logs=False)
    found = filled.values * outside(rules, filled, 0)
    wanted = np.zeros_like(found)

    def add(tree, i, p):
        """Add a derivation to the slots it uses, the upper one of its root among them; give where it ends."""
        if tree[1] == "unary":
            end = add_lower(tree[2], i, p)
            wanted[slot(rules, filled, 1, i, end, tree[0])] += p
            return end
        end = add_lower(tree, i, p)
        wanted[slot(rules, filled, 1, i, end, tree[0])] += p
        return end

    def add_lower(tree, i, p):
        end = i + 1 if len(tree) == 2 else add(tree[2], add(tree[1], i, p), p)
        wanted[slot(rules, filled, 0, i, end, tree[0])] += p
        return end

    for tree, p in upper[0, n].get(0, []):
        assert add(tree, 0, p) == n
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@given(grammars())
def test_shares_of_spans(drawn):
    """Where each symbol is a block of its own, shares are inside times outside, over the whole."""
    binary, unary, rows, weights, block = drawn
    drawn = binary, unary, rows, weights, list(range(len(block)))
    rules, filled = chart_of(drawn, logs=False)
    shares = span_shares(rules, *zip(*rows, strict=True), weights[2], 0)
    total = value_of(rules, filled, 0)
    if total == 0:
        assert shares is None
    else:
        wanted = filled.values * outside(rules, filled, 0) / total
        np.testing.assert_allclose(shares.ravel(), wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n", [9, 40])
def test_sentences_that_are_long(n):
    """A symbol that is two of itself stands for as many trees as there are ways to set brackets."""
    rules = chart_rules([(0, 0, 0)], [], weights=([0.25], []), block=[0])
    words = list(range(n)), [0] * n, [1.0] * n
    trees = [0.0, *(math.comb(2 * k - 2, k - 1) / k for k in range(1, n + 1))]
    filled = inside(rules, *words, summed=True)
    assert value_of(rules, filled, 0) == pytest.approx(trees[n] * 0.25 ** (n - 1))
    shares = span_shares(rules, *words, 0)[1, [j * (j - 1) // 2 for j in range(1, n)], 0]  # of the first j words
    np.testing.assert_allclose(shares, [trees[j] * trees[n - j + 1] / trees[n] for j in range(1, n)], rtol=1e-9)
    best = inside(chart_rules([(0, 0, 0)], [], weights=([-1.0], []), block=[0]), *words, summed=False)
    assert value_of(rules, best, 0) == n - (n - 1)


def tree_of(rules, table, row):
    """Read a derivation from the table as the enumeration writes it."""
    rule, symbol, left, right = table[row]
    if rule == WORD:
        return symbol, left
    if rule == SAME:
        return tree_of(rules, table, left)
    if rule >= len(rules.binary):
        assert rules.unary[rule - len(rules.binary)].tolist() == [symbol, table[left][1]]
        return symbol, "unary", tree_of(rules, table, left)
    assert rules.binary[rule, 0] == symbol
    assert rules.binary[rule, 1:].tolist() == [table[left][1], table[right][1]]
    return (symbol, *(tree_of(rules, table, part) for part in (left, right)))


@given(grammars(), st.integers(1, 30))
@tries(200)
def test_k_best_are_the_best(drawn, k):
    """The list has the k highest values of the enumeration, falls, and holds no derivation twice nor a false one."""
    _, upper, n = derivations(*drawn[:4])
    found = dict(upper[0, n].get(0, []))
    rules, filled = chart_of(drawn, logs=True)
    if not found:
        with pytest.raises(ValueError, match="no derivation"):
            k_best(rules, filled, 0, k=k)
        return
    listed = k_best(rules, filled, 0, k=k)
    values = listed.values[listed.best]
    assert (np.diff(values) <= 0).all()
    np.testing.assert_allclose(values, np.log(sorted(found.values(), reverse=True)[:k]), rtol=1e-9, atol=1e-9)
    table = listed.table.tolist()
    trees = [tree_of(rules, table, row) for row in listed.best.tolist()]
    assert len(set(trees)) == len(trees) == min(k, len(found))
    np.testing.assert_allclose(values, [np.log(found[tree]) for tree in trees], rtol=1e-9, atol=1e-9)


@given(grammars(), st.data())
def test_what_is_not_allowed_is_not_used(drawn, data):
    """Where blocks are shut out of cells, the chart holds the derivations that do without."""
    rules, filled = chart_of(drawn, logs=False)
    shape = filled.base.shape
    flat = data.draw(st.lists(st.booleans(), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    allowed = np.array(flat).reshape(shape)
    _, upper, n = derivations(*drawn[:4])

    def uses(tree, i):
        """Tell whether all slots of a derivation are allowed, and where it ends."""
        inner = tree[2] if tree[1] == "unary" else tree
        if len(inner) == 2:
            good, end = True, i + 1
        else:
            good, middle = uses(inner[1], i)
            more, end = uses(inner[2], middle)
            good = good and more
        cell = end * (end - 1) // 2 + i
        good = good and allowed[0, cell, rules.block[inner[0]]] and allowed[1, cell, rules.block[tree[0]]]
        return good, end

    kept = [p for tree, p in upper[0, n].get(0, []) if uses(tree, 0)[0]]
    pruned = chart_of(drawn, logs=False, allowed=allowed)[1]
    np.testing.assert_allclose(max(value_of(rules, pruned, 0), 0), sum(kept), rtol=1e-9)
    best = chart_of(drawn, logs=True, allowed=allowed)
    if kept:
        listed = k_best(*best, 0, k=1000)
        np.testing.assert_allclose(np.exp(listed.values[listed.best]), sorted(kept, reverse=True), rtol=1e-9)


def test_faults_are_named():
    """Rules and words that do not fit are refused before a loop reads beyond an array."""
    one = {"weights": ([0.5], []), "block": [0, 1]}
    with pytest.raises(ValueError, match="below 2"):
        chart_rules([(0, 1, 2)], [], **one)
    with pytest.raises(ValueError, match="must have a weight"):
        chart_rules([(0, 1, 1), (1, 1, 1)], [], **one)
    with pytest.raises(ValueError, match="increase by at most 1"):
        chart_rules([(0, 1, 1)], [], weights=([0.5], []), block=[0, 2])
    rules = chart_rules([(0, 1, 1)], [], **one)
    with pytest.raises(ValueError, match="word positions must start"):
        inside(rules, [0, 2], [1, 1], [1.0, 1.0], summed=True)
    with pytest.raises(ValueError, match="symbols must be ids from 0 to 1"):
        inside(rules, [0, 1], [1, 2], [1.0, 1.0], summed=True)
    with pytest.raises(ValueError, match="allowed must have shape"):
        inside(rules, [0, 1], [1, 1], [1.0, 1.0], summed=True, allowed=np.ones((2, 2, 2), bool))
    filled = inside(rules, [0, 1], [1, 1], [0.0, 0.0], summed=False)
    with pytest.raises(ValueError, match="at least 1"):
        k_best(rules, filled, 0, k=0)
