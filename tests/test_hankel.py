"""Substrings, Hankel matrices and their completion."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.spectral.automata import SLIDE, slide_table
from polyadic.core.errors import InputError
from polyadic.sequences.automata import WeightedAutomaton
from polyadic.sequences.automaton_algebra import converted
from polyadic.sequences.hankel import completed_hankel, hankel, shared_cells
from polyadic.sequences.substrings import count_substrings
from polyadic.sequences.symbols import Coded, coded
from reference import exact_hankel
from strategies import tries

STRINGS = st.lists(st.lists(st.integers(0, 2), max_size=6), min_size=1, max_size=8)
KINDS = ("string", "prefix", "factor")


def of(strings, size=3):
    return coded(strings, {a: a for a in range(size)})


def occurrences(x, strings):
    """How often x occurs anywhere, at the start, at the end, and as the whole string."""
    x, n = list(x), len(x)
    places = [(s, i) for s in strings for i in range(len(s) - n + 1) if list(s[i : i + n]) == x]
    return [
        len(places),
        sum(i == 0 for _, i in places),
        sum(i + n == len(s) for s, i in places),
        sum(list(s) == x for s in strings),
    ]


def value(x, strings, kind):
    return occurrences(x, strings)[{"string": 3, "prefix": 1, "factor": 0}[kind]] / len(strings)


def two_states():
    A = np.array([[[0.3, 0.1], [0.0, 0.2]], [[0.1, 0.2], [0.4, 0.1]]])
    return WeightedAutomaton(np.array([0.7, 0.3]), A, 1 - A.sum(axis=(0, 2)))


def test_the_table_of_the_tutorial():
    """The sixteen strings of the slide give its table, to all digits."""
    assert slide_table() == [[3 / 16, 4 / 16], [5 / 16, 1 / 16], [1 / 16, 0], [0, 2 / 16]]
    shown = [[0.19, 0.25], [0.31, 0.06], [0.06, 0.00], [0.00, 0.13]]
    np.testing.assert_allclose(slide_table(), shown, atol=0.0051)


@given(STRINGS, st.integers(0, 5))
@tries(40)
def test_substrings_are_those_that_occur(strings, longest):
    """Every substring up to the length is there with its counts, in order, and nothing else."""
    tree = count_substrings(of(strings), 3, max_length=longest)
    found = {tree.spell(n): tree.counts[n].tolist() for n in range(len(tree))}
    every = {tuple(s[i:j]) for s in strings for i in range(len(s) + 1) for j in range(i, min(i + longest, len(s)) + 1)}
    assert found == {x: occurrences(x, strings) for x in every}
    assert list(found) == sorted(found, key=lambda x: (len(x), x))
    assert all(tree.find(x) == n for n, x in enumerate(found))
    assert tree.find([0] * (longest + 1)) == -1


def test_prefixes_alone_are_counted():
    """With ``anywhere=False`` the tree is that of prefixes, of any length."""
    strings = [[0, 1, 0], [0, 1], [], [1]]
    tree = count_substrings(of(strings), 3, anywhere=False)
    assert [tree.spell(n) for n in range(len(tree))] == [(), (0,), (1,), (0, 1), (0, 1, 0)]
    assert tree.counts[:, 1].tolist() == [4, 2, 1, 2, 1]
    assert tree.counts[:, 3].tolist() == [1, 0, 1, 1, 1]


@given(STRINGS, st.sampled_from(KINDS))
@tries(40)
def test_cells_are_frequencies(strings, kind):
    """Each cell of each block, and each sum, is what the definition says."""
    table = hankel(of(strings), 3, statistic=kind, max_length=2)
    H, shifted = table.H.toarray(), table.shifted.toarray()
    for (i, u), (j, v) in product(enumerate(table.prefixes), enumerate(table.suffixes)):
        assert H[i, j] == pytest.approx(value((*u, *v), strings, kind))
        for a in range(3):
            assert shifted[a * len(table.prefixes) + i, j] == pytest.approx(value((*u, a, *v), strings, kind))
            assert table.block(a).toarray()[i, j] == shifted[a * len(table.prefixes) + i, j]
    begins = "string" if kind == "string" else "prefix"
    for j, v in enumerate(table.suffixes):
        assert table.begins[j] == pytest.approx(value(v, strings, begins))
        assert table.shifted_begins[1, j] == pytest.approx(value((1, *v), strings, begins))
    for i, u in enumerate(table.prefixes):
        assert table.ends[i] == pytest.approx(occurrences(u, strings)[2 if kind == "factor" else 3] / len(strings))
    assert table.first.sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", KINDS)
def test_prefixes_and_suffixes_are_counted_with_all_that_goes_on(kind):
    """With all strings in the basis, counts are sums of the matrix, or of what comes next."""
    strings = [[0, 1, 1], [1], [], [0, 0], [2, 0, 1]]
    table = hankel(of(strings), 3, statistic=kind, max_length=4)
    if kind != "factor":
        np.testing.assert_allclose(table.H.sum(axis=0), table.columns)
    if kind == "string":
        np.testing.assert_allclose(table.H.sum(axis=1), table.rows)
        np.testing.assert_allclose(table.shifted_rows[:, 1], table.block(1).sum(axis=1))
    else:  # the sum over all symbols and the end is the row of the empty suffix
        np.testing.assert_allclose(table.rows, table.shifted_rows.sum(axis=1) + table.ends)


def test_the_basis_is_the_most_frequent():
    """A budget keeps the strings of the largest sums, shorter ones first among equals."""
    table = hankel(of([[0, 1], [0, 1], [0, 2]]), 3, statistic="prefix", basis=3, max_length=2)
    assert table.prefixes == [(), (0,), (0, 1)]
    assert table.suffixes == [(), (0,), (1,)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hankel(of([[0, 1]]), 3, statistic="infix"), "statistic must be one of"),
        (
            lambda: hankel(of([[0, 1]]), 3, prefixes=[(0,), (0,)], suffixes=[()]),
            "a non-empty list of distinct strings",
        ),
        (
            lambda: hankel(of([[0, 1]]), 3, prefixes=[()], suffixes=[(3,)]),
            "suffixes must contain only symbols from 0 to 2",
        ),
        (lambda: hankel(of([]), 3), "at least one string"),
        (lambda: hankel(of([[0, 1]]), 3, basis=0), "basis must be a whole number of at least 1; got 0"),
        (lambda: completed_hankel(few(), 0.1, min_count=1000), "no string of the basis occurs at least 1000 times"),
        (lambda: completed_hankel(few(), 0), "penalty must be a finite number greater than 0"),
    ],
)
def test_bad_requests_are_refused(call, message):
    """What cannot be counted or completed is named."""
    with pytest.raises(InputError, match=message):
        call()


def test_only_empty_strings_have_a_table_of_one_cell():
    """Strings without symbols are counted like others."""
    table = hankel(of([[], []]), 3, statistic="string")
    assert table.prefixes == table.suffixes == [()]
    assert table.H.toarray().tolist() == [[1.0]]
    assert table.shifted.nnz == 0


@pytest.mark.parametrize("kind", KINDS)
def test_exact_tables_are_those_of_the_automaton(kind):
    """Cells are the values of the automaton of the statistic; sums are limits of sums over many strings."""
    automaton = two_states()
    basis = [x for n in range(3) for x in product(range(2), repeat=n)]
    table = exact_hankel(automaton, basis, basis, statistic=kind)
    f = converted(automaton, before="string", after=kind)
    assert table.block(1).toarray()[2, 5] == pytest.approx(f((1, 1, *basis[5])))
    many = [x for n in range(9) for x in product(range(2), repeat=n)]
    assert table.first[-1] == pytest.approx(automaton([]))
    anywhere = f((0,)) if kind == "factor" else sum(f((*x, 0)) for x in many)
    assert table.columns[1] == pytest.approx(anywhere, rel=0.1)
    if kind == "string":
        assert table.rows[1] == pytest.approx(sum(f((0, *x)) for x in many), rel=0.1)


def few():
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(["a", "b"], size=rng.integers(0, 4))) for _ in range(40)]
    return hankel(coded(strings, {"a": 0, "b": 1}), 2, statistic="string", max_length=2)


@pytest.mark.parametrize("structure", ["constrained", "averaged"])
def test_equal_strings_share_a_completed_cell(structure):
    """What is completed is a Hankel matrix again."""
    table = few()
    done = completed_hankel(table, 0.02, structure=structure, min_count=1)
    cells = shared_cells(table)
    dense = np.vstack([done.H.toarray(), done.shifted.toarray()])
    for string in range(cells.max() + 1):
        assert np.ptp(dense[cells == string]) == pytest.approx(0, abs=1e-12)
    assert done.begins.tolist() == dense[0].tolist()
    assert done.ends.tolist() == dense[: len(done.prefixes), 0].tolist()


def test_the_constrained_completion_is_the_best():
    """No other numbers of strings have a smaller objective."""
    table, penalty = few(), 0.03
    cells = shared_cells(table)
    data = np.vstack([table.H.toarray(), table.shifted.toarray()])
    known = data > 0
    done = completed_hankel(table, penalty, min_count=1, max_iter=2000)
    dense = np.vstack([done.H.toarray(), done.shifted.toarray()])
    f = np.bincount(cells.ravel(), dense.ravel()) / np.bincount(cells.ravel())

    def objective(f):
        return 0.5 * ((f[cells] - data)[known] ** 2).sum() + penalty * np.linalg.norm(f[cells], "nuc")

    rng = np.random.default_rng(1)
    for scale in (0.3, 0.03, 0.003):
        assert all(objective(f + scale * rng.standard_normal(len(f))) > objective(f) for _ in range(20))
    slopes = [(objective(f + 1e-3 * e) - objective(f)) / 1e-3 for s in (1, -1) for e in s * np.eye(len(f))]
    assert min(slopes) > -2e-3


def test_completion_finds_cells_of_low_rank():
    """Strings hidden from an exact matrix of rank 2 come back better than as zeros."""
    basis = [x for n in range(3) for x in product(range(2), repeat=n)]
    table = exact_hankel(two_states(), basis, basis)._replace(strings=10**6)
    dense = np.vstack([table.H.toarray(), table.shifted.toarray()])
    hidden = np.isin(shared_cells(table), [4, 9, 14])
    holes = np.where(hidden, 0.0, dense)
    P = len(basis)
    given_ = table._replace(H=type(table.H)(holes[:P]), shifted=type(table.H)(holes[P:]))
    done = completed_hankel(given_, 1e-4, min_count=1, max_iter=3000)
    found = np.vstack([done.H.toarray(), done.shifted.toarray()])
    assert np.abs(found - dense)[hidden].max() < 0.2 * dense[hidden].max()


def test_the_slide_is_counted_by_hand():
    """Sixteen strings, of which five are aa."""
    assert len(SLIDE.split()) == 16
    assert SLIDE.split().count("aa") == 5
    table = hankel(Coded(np.array([0]), np.array([0, 1])), 1, statistic="string")
    assert table.H.toarray().tolist() == [[0.0, 1.0], [1.0, 0.0]]
