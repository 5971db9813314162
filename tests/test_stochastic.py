"""Stochastic descent: its batches, zeros, rules, and what they find."""

import itertools
import math
from collections import Counter
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from helpers import match_columns
from polyadic.core import kernels
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError
from polyadic.core.forms import CP
from polyadic.core.losses import Logistic, Poisson, Squared
from polyadic.core.objective import Objective, Term, parts_of
from polyadic.core.penalties import L1, L2, NonNegative
from polyadic.core.solvers.adaptive import Adagrad, Adam
from polyadic.core.solvers.quasi_newton import quasi_newton
from polyadic.core.solvers.run import run
from polyadic.core.solvers.stochastic import Batches, Zeros, cells_of, stochastic
from strategies import tries

module = import_module("polyadic.core.solvers.stochastic")  # the function of this name hides it

RULES = [Adam(0.05), Adagrad(0.5), Adagrad(0.5, whole_rows=True)]


class Recorder:
    """A rule that adds up the gradients and moves nothing."""

    layers = 0

    def start(self, T):
        self.sum = np.zeros_like(T[:, 0])
        self.gradient = self.sum[:, :2]
        return np.zeros(len(T))

    def move(self, touched, penalties, T, state, *, pace, rank):  # noqa: ARG002 the protocol's
        untouched = np.ones(len(T), bool)
        untouched[touched.rows] = False
        assert not T[untouched, 1].any()
        self.sum += T[:, 1]
        T[:, 1] = 0

    def forget(self, T):
        pass


def every_cell(factors):
    full = reference.cp(factors)
    rows = np.argwhere(np.ones(full.shape, bool))
    return Entries(np.asfortranarray(rows), full[tuple(rows.T)], full.shape)


def every_tuple(u, order):
    rows = np.array(list(itertools.combinations_with_replacement(range(len(u)), order)))
    return Entries.collect(rows, reference.cp([u] * order)[tuple(rows.T)], len(u))


def some_tuples(rng, *, size=9, order=3, number=40, weighted=True):
    rows = rng.integers(size, size=(number, order))
    x = Entries.collect(rows, rng.poisson(2, number) + 1.0, size)
    return replace(x, weights=rng.random(len(x)) + 0.5) if weighted else x


def sparse_matrix(rng, shape, number):
    flat = np.sort(rng.choice(math.prod(shape), number, replace=False))
    rows = np.asfortranarray(np.stack(np.unravel_index(flat, shape), axis=1))
    return Entries(rows, rng.poisson(2, number) + 1.0, shape)


def squared(entries, slots, penalties, *, zero_weight=0.0):
    return Objective([Term(entries, CP(), Squared(), slots, 1.0, zero_weight)], penalties, threads=1)


def first_epochs(objective, start, epochs, *, seed=0, **how):
    return run(stochastic(objective, start, seed=np.random.default_rng(seed), **how), max_iter=epochs)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_planted_factors_are_found(rule):
    """Different factors per mode, seen in small batches, come back."""
    rng = np.random.default_rng(0)
    planted = [rng.standard_normal((n, 2)) for n in (7, 8, 9)]
    objective = squared(every_cell(planted), (0, 1, 2), [L2()] * 3)
    start = [rng.random((len(u), 2)) for u in planted]
    found = first_epochs(objective, start, 40, rule=rule, batch=32).factors
    assert min(match_columns([u], [v], signs=False)[0] for u, v in zip(found, planted, strict=True)) > 0.99


@pytest.mark.parametrize("orders", [(3,), (2, 3)], ids=str)
@pytest.mark.parametrize("penalty", [L2(), NonNegative()], ids=str)
def test_planted_symmetric_factors_are_found(orders, penalty):
    """One factor that all modes of all terms share comes back."""
    rng = np.random.default_rng(1)
    planted = rng.random((12, 3)) * (rng.random((12, 3)) < 0.6)
    terms = [Term(every_tuple(planted, order), CP(), Squared(), (0,) * order) for order in orders]
    objective = Objective(terms, [penalty], threads=1)
    (found,) = first_epochs(objective, [rng.random((12, 3))], 40, rule=Adam(0.1), batch=16).factors
    assert match_columns([found], [planted], signs=False)[0] > 0.99
    assert penalty.value(found) < math.inf


@pytest.mark.parametrize("loss", [Squared(), Poisson(), Logistic()], ids=str)
@pytest.mark.parametrize("slots", [(0, 0, 0), (0, 1, 0)], ids=str)
@pytest.mark.parametrize("batch", [7, 1000])
def test_gradients_of_an_epoch_add_up(loss, slots, batch):
    """Where nothing moves, the steps of every epoch add up to the gradient of the objective, penalties and all."""
    rng = np.random.default_rng(3)
    zero_weight = 0.3 if loss.zeros else 0.0
    matrix = Term(sparse_matrix(rng, (9, 5), 12), CP(), Squared(), (0, 2), 0.5, 0.2)
    terms = [Term(some_tuples(rng), CP(), loss, slots, 2.0, zero_weight, {0: rng.random(9)}), matrix]
    penalties = [L2(0.7), L2(0.1), L2(0.2)]
    if 1 not in slots:
        terms[1], penalties = replace(matrix, slots=(0, 1)), penalties[:2]
    objective = Objective(terms, penalties, threads=1)
    sizes = [9, 9, 5] if 1 in slots else [9, 5]
    start = [rng.random((n, 2)) for n in sizes]
    rule = Recorder()
    sweeps = stochastic(objective, start, rule=rule, batch=batch, seed=rng)
    value, gradients = objective.value_and_gradient(start)
    for epoch in range(3):
        assert next(sweeps).objective == pytest.approx(value)
        np.testing.assert_allclose(rule.gradient, epoch * np.concatenate(gradients), rtol=1e-9, atol=1e-9)


def test_smooth_penalties_of_others_are_known_by_their_gradient():
    """A penalty that the loops do not know is asked for the gradient of the touched rows."""

    class Quartic:
        kinked = False

        def value(self, u):
            return 0.25 * float((u**4).sum())

        def grad(self, u):
            return u**3

    rng = np.random.default_rng(4)
    start, rule = [rng.random((9, 2))], Recorder()
    objective = Objective([Term(some_tuples(rng), CP(), Squared(), (0, 0, 0))], [Quartic()])
    sweeps = stochastic(objective, start, rule=rule, batch=10, seed=rng)
    next(sweeps), next(sweeps)
    np.testing.assert_allclose(rule.gradient, objective.value_and_gradient(start)[1][0], rtol=1e-9)


@tries(30)
@given(sizes=st.lists(st.integers(0, 300), min_size=1, max_size=3), batch=st.integers(1, 400), seed=st.integers(0, 99))
def test_an_epoch_sees_every_entry_once(sizes, batch, seed):
    """Batches hold each entry of each part once, a share of every part, and are about as large as asked."""
    if not sum(sizes):
        return
    one = np.zeros(1, np.int64)
    parts = []
    for k, n in enumerate(sizes):
        x = Entries(np.arange(n)[:, None], np.arange(n) + 0.0, (max(n, 1),))
        parts += [p._replace(slots=(k,)) for p in parts_of(Term(x, CP(), Squared(), (0,)))]
    seen = {k: [] for k in range(len(sizes))}
    for step in Batches(parts, batch).epoch(np.random.default_rng(seed)):
        for part in step:
            np.testing.assert_array_equal(part.indices[:, 0], part.values)
            seen[part.slots[0]] += part.values.tolist()
        assert sum(len(part.values) for part in step) <= 2 * batch + len(one) * len(sizes)
    assert [sorted(values) for values in seen.values()] == [list(range(n)) for n in sizes]


def test_same_seed_same_bits():
    """Everything random comes from ``rng``."""
    rng = np.random.default_rng(5)
    x, start = some_tuples(rng, number=200, size=20), [rng.random((20, 3))]
    objective = squared(x, (0, 0, 0), [NonNegative()])
    a, b, other = (
        first_epochs(objective, start, 3, seed=seed, batch=16, zeros=0.5, rule=Adagrad(0.01)) for seed in (1, 1, 2)
    )
    assert a.history == b.history
    assert a.factors[0].tobytes() == b.factors[0].tobytes() != other.factors[0].tobytes()


def test_mapped_entries_give_the_same(tmp_path):
    """Entries on disk are read in slices and give the bits of those in memory."""
    rng = np.random.default_rng(6)
    x, start = some_tuples(rng, number=200, size=20), [rng.random((20, 3))]
    x.save(tmp_path / "x")
    results = [
        first_epochs(squared(e, (0, 0, 0), [L2()]), start, 3, batch=16, zeros=0.3)
        for e in (x, Entries.load(tmp_path / "x"))
    ]
    assert results[0].factors[0].tobytes() == results[1].factors[0].tobytes()


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_rows_that_nothing_concerns_stay(rule):
    """A row without entries keeps its bits; a penalty moves it."""
    rng = np.random.default_rng(7)
    x = replace(some_tuples(rng, size=9), shape=(12, 12, 12))
    start = [rng.random((12, 2))]
    for penalty, stays in ((L2(), True), (L2(0.1), False), (L1(0.1), False)):
        objective = squared(x, (0, 0, 0), [penalty])
        (found,) = first_epochs(objective, start, 3, rule=rule, batch=8).factors
        assert (found[9:] == start[0][9:]).all() == stays
        assert (found[:9] != start[0][:9]).any()


@tries(20)
@given(seed=st.integers(0, 99), rule=st.sampled_from([*RULES, Adam(5.0), Adagrad(50.0)]))
def test_the_objective_never_rises(seed, rule):
    """An epoch that fails, even by overflow, is undone; factors and objective agree."""
    rng = np.random.default_rng(seed)
    objective = squared(some_tuples(rng), (0, 0, 0), [NonNegative(0.01)], zero_weight=0.1)
    sweeps = list(itertools.islice(stochastic(objective, [rng.random((9, 2))], rule=rule, batch=9, seed=rng), 6))
    values = [sweep.objective for sweep in sweeps]
    assert values == sorted(values, reverse=True)
    assert [objective.value(sweep.factors) for sweep in sweeps] == pytest.approx(values)
    assert len({id(sweep.factors[0]) for sweep in sweeps}) == len(sweeps)


@pytest.mark.parametrize("penalty", [L2(0.3), L1(0.5), NonNegative(0.2)], ids=str)
def test_it_ends_where_quasi_newton_ends(penalty):
    """Penalties, exact zeros and weights lead to the same minimum as the full gradient, zeros included."""
    rng = np.random.default_rng(8)
    x = sparse_matrix(rng, (12, 10), 60)
    objective = squared(x, (0, 1), [penalty] * 2, zero_weight=0.5)
    start = [rng.random((n, 2)) for n in x.shape]
    start[0][0] = 0  # comes back to life
    best = run(quasi_newton(objective, start), max_iter=400)
    result = first_epochs(objective, start, 120, rule=Adam(0.1), batch=20)
    # at a kink, steps of batches that disagree leave a little noise
    assert result.history[-1] == pytest.approx(best.history[-1], rel=1e-2)
    if penalty.kinked:
        assert sum((u == 0).sum() for u in result.factors) > 0
        assert result.factors[0][0].any()


@tries(25)
@given(seed=st.integers(0, 999), order=st.integers(2, 4), symmetric=st.booleans())
def test_zeros_are_absent_and_distinct(seed, order, symmetric):
    """Cells drawn are not listed; for symmetric entries they are tuples of different words, falling."""
    rng = np.random.default_rng(seed)
    if symmetric:
        x = some_tuples(rng, size=6, order=order, number=12, weighted=False)
    else:
        x = sparse_matrix(rng, (4, 5, 3, 2)[:order], 7)
    term = Term(x, CP(), Squared(), (0,) * order if symmetric else tuple(range(order)))
    (part, *_) = parts_of(term)
    drawn = Zeros(term, 1.0).draw(300, part, rng).indices
    listed = set(map(tuple, x.indices.tolist()))
    assert listed.isdisjoint(map(tuple, drawn.tolist()))
    assert drawn.min(initial=0) >= 0
    assert (drawn < np.array(x.shape)).all()
    if symmetric:
        assert (drawn[:, 1:] < drawn[:, :-1]).all()


@pytest.mark.parametrize("symmetric", [True, False])
def test_zeros_are_drawn_uniformly(symmetric):
    """Every cell that is not listed is drawn as often, at the rate that the class states."""
    rng = np.random.default_rng(9)
    x = some_tuples(rng, size=6, number=12, weighted=False) if symmetric else sparse_matrix(rng, (4, 3, 2), 7)
    term = Term(x, CP(), Squared(), (0, 0, 0) if symmetric else (0, 1, 2))
    number = 400_000
    drawn = Zeros(term, 1.0).draw(number, parts_of(term)[0], rng).indices
    _, times = np.unique(drawn, axis=0, return_counts=True)
    listed = sum(len(set(row)) == 3 for row in x.indices.tolist()) if symmetric else len(x)
    assert len(times) == cells_of(x) - listed
    # leaves of one prefix are drawn together, so the counts vary eight times as much as independent ones
    expected = number / cells_of(x)
    assert np.abs(times - expected).max() < 5 * math.sqrt(8 * expected)


@pytest.mark.parametrize("symmetric", [True, False])
def test_zeros_beside_listed_entries(symmetric):
    """A fibre is drawn from as often as it has listed entries, and each of its unobserved cells at the same rate."""
    rng = np.random.default_rng(9)
    x = some_tuples(rng, size=6, number=12, weighted=False) if symmetric else sparse_matrix(rng, (4, 3, 5), 9)
    term = Term(x, CP(), Squared(), (0, 0, 0) if symmetric else (0, 1, 2))
    part = next(part for part in parts_of(term) if not symmetric or len(set(part.indices[0].tolist())) == 3)
    number = 400_000
    drawn = Zeros(term, 1.0, beside=True).draw(number, part, rng).indices
    times = Counter(map(tuple, drawn.tolist()))
    listed = set(map(tuple, x.indices.tolist()))
    expected = Counter()
    for *prefix, _ in part.indices.tolist():
        leaves = range(prefix[-1] if symmetric else 5)
        for leaf in leaves:
            if (*prefix, leaf) not in listed:
                expected[*prefix, leaf] += number / len(part.values) / len(leaves)
    assert times.keys() == expected.keys()
    assert all(abs(times[cell] - expected[cell]) < 5 * math.sqrt(8 * expected[cell]) for cell in expected)


def test_drawn_zeros_stand_for_all_of_them():
    """Drawn at a rate of all cells, they measure, and lead to, what an exact zero weight of one does."""
    rng = np.random.default_rng(10)
    x = sparse_matrix(rng, (12, 10), 40)
    start, penalties = [rng.random((n, 2)) for n in x.shape], [L2(0.1)] * 2
    exact = squared(x, (0, 1), penalties, zero_weight=1.0)
    rate = cells_of(x) / len(x)
    drawn = first_epochs(squared(x, (0, 1), penalties), start, 100, rule=Adam(0.02), batch=10, zeros=rate)
    alone = first_epochs(squared(x, (0, 1), penalties), start, 100, rule=Adam(0.02), batch=10)
    assert drawn.history[0] == pytest.approx(exact.value(start), rel=0.2)
    best = run(quasi_newton(exact, start), max_iter=200).history[-1]
    assert exact.value(drawn.factors) < 1.1 * best < 1.3 * best < exact.value(alone.factors)


def test_other_losses_learn_from_drawn_zeros():
    """Log-odds of pairs within a group come out above those across, where only some of the former are listed."""
    rng = np.random.default_rng(11)
    group = rng.integers(3, size=30)
    pairs = np.array(list(itertools.combinations(range(30), 2)))
    same = group[pairs[:, 0]] == group[pairs[:, 1]]
    kept = pairs[same & (rng.random(len(pairs)) < 0.6)]
    x = Entries.collect(kept, np.ones(len(kept)), 30)
    objective = Objective([Term(x, CP(), Logistic(), (0, 0))], [L2(1.0)], threads=1)
    start = [rng.standard_normal((30, 4))]
    (u,) = first_epochs(objective, start, 60, rule=Adam(0.05), batch=20, zeros=1.0).factors
    m = (u @ u.T)[tuple(pairs.T)]
    assert np.mean(m[same][:, None] > m[~same]) > 0.95


@given(seed=st.integers(0, 999))
@tries(20)
def test_adam_rows_are_adam(seed):
    """Each touched row follows the published rule by its own clock; the others keep their bits."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((5, 3))
    T, seen = kernels.table(U, *[np.zeros((5, 3))] * 3), np.zeros(5, np.int64)
    rows = [rng.permutation(5)[: rng.integers(1, 6)] for _ in range(4)]
    gradients = rng.standard_normal((4, 5, 3))
    lasso, bounded = np.array([0, 0, 0.5, 0.5, 0]), np.array([False, True, False, True, False])
    pace = np.array([0.1, 0.1, 0.2, 0.1, 0.2])
    twin, m, v, t = U.copy(), np.zeros((5, 3)), np.zeros((5, 3)), np.zeros(5)
    penalties = kernels.RowPenalties(np.zeros(5), lasso, bounded)
    for touched, g in zip(rows, gradients, strict=True):
        T[touched, 1, :3] = g[touched]
        shares = np.full(len(touched), 0.5)
        kernels.adam_rows(kernels.Touched(touched, shares), penalties, T, seen, pace=pace, decays=(0.8, 0.9), eps=1e-8)
        for i in touched:
            t[i] += 1
            m[i], v[i] = 0.8 * m[i] + 0.2 * g[i], 0.9 * v[i] + 0.1 * g[i] ** 2
            step = pace[i] / (np.sqrt(v[i] / (1 - 0.9 ** t[i])) + 1e-8)
            twin[i] = shrunk(twin[i] - step * m[i] / (1 - 0.8 ** t[i]), 0.5 * step * lasso[i], bounded[i])
    np.testing.assert_allclose(T[:, 0, :3], twin, atol=1e-12)
    assert not T[:, 1].any()
    assert not T[:, :, 3:].any()


@given(seed=st.integers(0, 999), whole_rows=st.booleans())
@tries(20)
def test_adagrad_rows_are_adagrad(seed, whole_rows):
    """Touched rows follow the published rule, ``adagrad_rows``, or with one sum per row ``adagrad_whole_rows``."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((5, 3))
    T, sums = kernels.table(U, *[np.zeros((5, 3))] * (1 if whole_rows else 2)), np.zeros(5)
    lasso, bounded = np.array([0, 0, 0.5, 0.5, 0]), np.array([False, True, False, True, False])
    pace = np.array([0.1, 0.1, 0.2, 0.1, 0.2])
    twin, total = U.copy(), np.zeros((5, 3))
    penalties = kernels.RowPenalties(np.zeros(5), lasso, bounded)
    for _ in range(4):
        touched, g = rng.permutation(5)[: rng.integers(1, 6)], rng.standard_normal((5, 3))
        T[touched, 1, :3] = g[touched]
        due = kernels.Touched(touched, np.full(len(touched), 0.5))
        if whole_rows:
            kernels.adagrad_whole_rows(due, penalties, T, sums, rank=3, pace=pace, eps=1e-12)
        else:
            kernels.adagrad_rows(due, penalties, T, pace=pace, eps=1e-12)
        for i in touched:
            total[i] += np.mean(g[i] ** 2) if whole_rows else g[i] ** 2
            step = pace[i] / (np.sqrt(total[i]) + 1e-12)
            twin[i] = shrunk(twin[i] - step * g[i], 0.5 * step * lasso[i], bounded[i])
    np.testing.assert_allclose(T[:, 0, :3], twin, atol=1e-12)
    assert not T[:, 1].any()
    assert not T[:, :, 3:].any()


def shrunk(u, by, bounded):
    return np.maximum(u - by, 0) if bounded else np.sign(u) * np.maximum(np.abs(u) - by, 0)


@given(seed=st.integers(0, 999))
@tries(20)
def test_gradients_are_added_to_what_is_there(seed):
    """The doors that add give what those that return give; rows are listed once a step; shares scale the pull."""
    rng = np.random.default_rng(seed)
    indices = np.asfortranarray(rng.integers(4, size=(12, 3)))
    U, before, pull = rng.random((9, 2)), rng.random((9, 2)), rng.random((9, 2))
    values, weights, offsets = rng.random(12), rng.random(12), [0, 5, 0]
    value, gradient = kernels.cp_squared(
        indices, values, weights, U, offsets=offsets, zero_weight=0.2, scale=3.0, threads=1
    )
    T = kernels.table(U, before)
    dU, how = T[:, 1, :2], {"offsets": offsets, "zero_weight": 0.2, "scale": 3.0}
    assert kernels.add_cp_squared(indices, values, weights, T, **how) == pytest.approx(value)
    np.testing.assert_allclose(dU, before + gradient, atol=1e-12)
    kernels.add_cp_pullback(indices, values, T, offsets=offsets)
    more = kernels.cp_pullback(indices, values, U, offsets=offsets, threads=1)
    np.testing.assert_allclose(dU, before + gradient + more, atol=1e-12)

    stamp, rows = np.zeros(9, np.int64), np.empty(0, np.int64)
    for half in (indices[:6], indices[6:]):
        rows = kernels.touch_rows(half, offsets, stamp=stamp, now=1, rows=rows)
    assert sorted(rows.tolist()) == sorted(set((indices + np.array(offsets)).ravel().tolist()))
    touched, ridge, dU[:] = kernels.Touched(rows, rng.random(len(rows))), rng.random(9), 0
    kernels.pull_rows(touched, ridge, pull, T)
    expected = touched.shares[:, None] * (ridge[rows, None] * U[rows] + pull[rows])
    np.testing.assert_allclose(dU[rows], expected, atol=1e-12)


@given(seed=st.integers(0, 999), order=st.integers(2, 4))
@tries(20)
def test_absent_cells_are_those_not_listed(seed, order):
    """Membership is that of a set of tuples."""
    rng = np.random.default_rng(seed)
    x = sparse_matrix(rng, (4,) * order, 10)
    starts = np.searchsorted(x.indices[:, 0], np.arange(5))
    prefixes, leaves = rng.integers(4, size=(6, order - 1)), rng.integers(4, size=(6, 3))
    listed = set(map(tuple, x.indices.tolist()))
    absent = [[(*p, k) not in listed for k in row] for p, row in zip(prefixes.tolist(), leaves.tolist(), strict=True)]
    assert kernels.absent_cells(x.indices, starts, prefixes, leaves).tolist() == absent


@pytest.mark.parametrize(("number", "most", "batch"), [(30, 65_536, 256), (100_000, 65_536, 390), (100_000, 300, 300)])
def test_batches_are_a_256th_of_the_entries(number, most, batch, monkeypatch):
    """Within bounds, unless another length is asked for."""
    taken = []
    monkeypatch.setattr(module, "_Descent", lambda *_, batch, **__: taken.append(batch) or SimpleNamespace(sweeps=list))
    monkeypatch.setattr(module, "BATCHES", (256, most))
    x = Entries(np.zeros((number, 2), int), np.ones(number), (1, 1))
    objective = Objective([Term(x, CP(), Squared(), (0, 1))], [L2()] * 2)
    stochastic(objective, [np.ones((1, 2))] * 2)
    stochastic(objective, [np.ones((1, 2))] * 2, batch=7)
    assert taken == [batch, 7]


def refusals():
    rng = np.random.default_rng(0)
    x = sparse_matrix(rng, (4, 3), 6)
    term, start = Term(x, CP(), Squared(), (0, 1)), [np.ones((4, 2)), np.ones((3, 2))]

    class Other(CP):
        pass

    class Kinked(L2):
        kinked = True

    yield {"batch": 0}, term, start, L2(), "batch must be a whole number of at least 1; got 0"
    yield {"zeros": -1}, term, start, L2(), "zeros must be a finite number of at least 0; got -1"
    yield {"zeros": 1}, replace(term, zero_weight=1.0), start, L2(), "zeros and zero_weight are mutually exclusive"
    missing = replace(term, entries=replace(x, unobserved="missing"))
    yield {"zeros": 1}, missing, start, L2(), "zeros must be 0 if unobserved entries are treated as missing"
    shuffled = replace(x, indices=np.asfortranarray(x.indices[::-1]))
    yield {"zeros": 1}, replace(term, entries=shuffled), start, L2(), "zeros requires entries in lexicographic order"
    yield {}, replace(term, form=object()), start, L2(), "stochastic descent supports only the CP form"
    yield {}, term, start, Kinked(), "stochastic descent supports are L1 and NonNegative; got"
    yield (
        {},
        term,
        [start[0], np.ones((3, 3))],
        L2(),
        "start must contain matrices of the same rank and floating-point type",
    )
    yield {}, term, [start[0][:2], start[1]], L2(), "must have 4 and 3 rows"
    yield {}, replace(term, entries=replace(x, indices=x.indices[:0], values=x.values[:0])), start, L2(), "no entries"


@pytest.mark.parametrize(("how", "term", "start", "penalty", "message"), list(refusals()))
def test_bad_input_is_refused(how, term, start, penalty, message):
    """At once, in one sentence."""
    objective = Objective([term], [penalty] * 2)
    with pytest.raises(InputError, match=message):
        stochastic(objective, start, seed=np.random.default_rng(0), **how)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Adam(-1), "learning_rate must be a finite number of at least 0; got -1"),
        (lambda: Adam(decays=(0.9, 1.0)), r"decays must be less than 1; got \(0.9, 1.0\)"),
        (lambda: Adagrad(math.nan), "learning_rate must be a finite number of at least 0; got nan"),
    ],
)
def test_rules_refuse(make, message):
    """Numbers out of range."""
    with pytest.raises(InputError, match=message):
        make()
