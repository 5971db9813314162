"""The objective: exact zeros, multiplicity, shared factors, the fused path and the general one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from polyadic.core import objective
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError
from polyadic.core.forms import CP
from polyadic.core.losses import Huber, Logistic, Poisson, Squared
from polyadic.core.objective import Objective, Term, fit, work_of
from polyadic.core.penalties import L1, L2, NonNegative
from polyadic.words.orders import symmetric_terms
from strategies import plain_entries, symmetric_entries, tries

EXACT = 1e-6
seeds = st.integers(0, 999)
zero_weights = st.sampled_from([0.0, 0.1, 1.0, 3.0])


def factors_for(seed, *sizes, rank=3, kind=np.float64):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((n, rank)).astype(kind) for n in sizes]


def symmetric_term(entries, **how):
    return Term(entries, CP(), Squared(), (0,) * entries.order, **how)


def separate_term(entries, **how):
    return Term(entries, CP(), Squared(), tuple(range(entries.order)), **how)


def check_gradient(f, factors, tolerance=1e-5):
    """Compare the gradient with differences of values."""
    _, gradients = f.value_and_gradient(factors)
    for k, u in enumerate(factors):

        def value(v, k=k):
            return f.value([*factors[:k], v, *factors[k + 1 :]])

        assert gradients[k].shape == u.shape
        assert gradients[k] == pytest.approx(reference.numerical_gradient(value, u), rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("compiled", [True, False])
@tries(70)
@given(
    entries=symmetric_entries(orders=(1, 2, 3, 4)) | symmetric_entries(orders=(5,), max_size=3),
    zero_weight=zero_weights,
    seed=seeds,
    weight=st.floats(0, 2),
)
def test_exact_zeros_of_symmetric_entries(compiled, entries, zero_weight, seed, weight):
    """The objective is the sum over every cell of the whole array, permutations, diagonals and zeros included."""
    (u,) = factors_for(seed, entries.shape[0], rank=2)
    f = Objective([symmetric_term(entries, weight=weight, zero_weight=zero_weight)], [L2()], compiled=compiled)
    truth = reference.squared_loss(entries, [u] * entries.order, zero_weight=zero_weight)
    assert f.value([u]) == pytest.approx(weight * truth, rel=EXACT, abs=EXACT)
    check_gradient(f, [u])


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("loss", [Squared(), Poisson(), Logistic(), Huber(0.5)], ids=repr)
@tries(10)
@given(entries=symmetric_entries(orders=(2, 3), max_size=4), zero_weight=zero_weights, seed=seeds)
def test_any_loss(compiled, loss, entries, zero_weight, seed):
    """Every loss is summed over the listed cells, and over the others where that has a formula."""
    entries = replace(entries, values=np.abs(entries.values))
    u = np.abs(factors_for(seed, entries.shape[0])[0]) + 0.1
    zero_weight = zero_weight if loss.zeros else 0.0
    f = Objective([Term(entries, CP(), loss, (0,) * entries.order, 0.7, zero_weight)], [L2()], compiled=compiled)
    truth = 0.7 * reference.loss_of_all_cells(entries, [u] * entries.order, loss, zero_weight=zero_weight)
    assert f.value([u]) == pytest.approx(truth, rel=EXACT, abs=EXACT)
    check_gradient(f, [u], tolerance=1e-4)


@pytest.mark.parametrize(
    "slots", [(0,), (0, 1), (0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 0, 0), (0, 1, 2), (2, 1, 0), (0, 1, 2, 3)]
)
@tries(10)
@given(data=st.data(), zero_weight=zero_weights, seed=seeds)
def test_slots_share_factors(slots, data, zero_weight, seed):
    """Modes that name the same factor share it, in any pattern; others may have different lengths."""
    n = len(set(slots))
    entries = data.draw(plain_entries(orders=(len(slots),), square=n < len(slots), max_size=3))
    factors = factors_for(seed, *(entries.shape[slots.index(slot)] for slot in range(n)))
    f = Objective([Term(entries, CP(), Squared(), slots, 1.0, zero_weight)], [L2()] * n)
    truth = reference.squared_loss(entries, [factors[s] for s in slots], zero_weight=zero_weight)
    assert f.value(factors) == pytest.approx(truth, rel=EXACT, abs=EXACT)
    check_gradient(f, factors)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("slots", [(0,), (0, 0), (0, 1), (0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 0, 2), (0, 0, 0, 0)])
@tries(15)
@given(data=st.data(), zero_weight=zero_weights, seed=seeds)
def test_zeros_count_by_the_importance_of_their_indices(compiled, slots, data, zero_weight, seed):
    """A symmetric list stands for all its permutations, whatever factors explain its modes.

    A cell that is not listed counts by the product of the importances of its indices; some slots may have none.
    """
    entries = data.draw(symmetric_entries(orders=(len(slots),), max_size=4))
    n, size = len(set(slots)), entries.shape[0]
    factors = factors_for(seed, *[size] * n)
    q = dict(enumerate(np.random.default_rng(seed).exponential(size=(data.draw(st.integers(1, n)), size))))
    term = Term(entries, CP(), Squared(), slots, 0.7, zero_weight, q)
    f = Objective([term, replace(term, importance={})], [L2()] * n, compiled=compiled)
    weights = reference.zero_weights(entries.shape, slots, zero_weight, q)
    mine = [factors[s] for s in slots]
    truth = sum(reference.squared_loss(entries, mine, zero_weight=w) for w in (weights, zero_weight))
    assert f.value(factors) == pytest.approx(0.7 * truth, rel=EXACT, abs=EXACT)
    check_gradient(f, factors, tolerance=1e-4)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("slots", [((0, 1), (0, 1)), ((0, 1), (1, 0)), ((0, 1), (0, 1), 2), (2, 2, 2)], ids=str)
@tries(10)
@given(data=st.data(), zero_weight=zero_weights, seed=seeds)
def test_factors_side_by_side_explain_a_mode_together(compiled, slots, data, zero_weight, seed):
    """A slot that names several factors is a factor of all their columns; each gets its part of the gradient."""
    entries = data.draw(symmetric_entries(orders=(len(slots),), max_size=4))
    rng = np.random.default_rng(seed)
    factors = [rng.standard_normal((entries.shape[0], rank)) for rank in (2, 1, 3)]
    q = {slots[0]: rng.exponential(size=entries.shape[0])}
    terms = [
        Term(entries, CP(), Squared(), slots, 0.7, zero_weight, q),
        Term(entries, CP(), Squared(), (0,) * entries.order),
        Term(entries, CP(), Squared(), (1,) * entries.order),
        Term(entries, CP(), Squared(), (2,) * entries.order),
    ]
    f = Objective(terms, [L2()] * 3, compiled=compiled)
    mine = [np.hstack([factors[k] for k in np.atleast_1d(slot)]) for slot in slots]
    weights = reference.zero_weights(entries.shape, slots, zero_weight, q)
    truth = 0.7 * reference.squared_loss(entries, mine, zero_weight=weights)
    truth += sum(reference.squared_loss(entries, [u] * entries.order, zero_weight=0.0) for u in factors)
    assert f.value(factors) == pytest.approx(truth, rel=EXACT, abs=EXACT)
    check_gradient(f, factors, tolerance=1e-4)
    if entries.values.any():
        apart = replace(terms[0], slots=tuple(range(len(slots))), importance={})
        assert fit(terms[0], factors) == pytest.approx(fit(apart, mine))


@pytest.mark.parametrize("compiled", [True, False])
@tries(15)
@given(entries=plain_entries(orders=(2, 3), max_size=4), seed=seeds)
def test_importance_with_poisson_loss_and_separate_factors(compiled, entries, seed):
    """The same for the loss whose zeros are sums, and where each mode has its own factor."""
    entries = replace(entries, values=np.abs(entries.values))
    factors = [np.abs(u) + 0.1 for u in factors_for(seed, *entries.shape)]
    q = {d: np.random.default_rng(seed).exponential(size=n) for d, n in enumerate(entries.shape)}
    slots = tuple(range(entries.order))
    f = Objective([Term(entries, CP(), Poisson(), slots, 1.0, 0.5, q)], [L2()] * entries.order, compiled=compiled)
    weights = reference.zero_weights(entries.shape, slots, 0.5, q)
    truth = reference.loss_of_all_cells(entries, factors, Poisson(), zero_weight=weights)
    assert f.value(factors) == pytest.approx(truth, rel=EXACT, abs=EXACT)
    check_gradient(f, factors, tolerance=1e-4)


@given(data=st.data(), power=st.sampled_from([0.5, 0.75, 1.0, 2.0]))
def test_importance_follows_degrees(data, power):
    """With a power, words count by the entries that list them, in the mean 1; a word of none counts nothing."""
    entries = data.draw(symmetric_entries(orders=(2, 3)))
    if entries.squares() == 0:
        entries = replace(entries, values=np.ones(len(entries)), weights=None)
    (term,) = symmetric_terms([entries], Squared(), zero_weight=0.1, zero_power=power)
    degrees = np.bincount(entries.indices.ravel(), minlength=entries.shape[0]).astype(float)
    q = term.importance[0]
    assert q.mean() == pytest.approx(1)
    assert np.outer(q, degrees**power) == pytest.approx(np.outer(degrees**power, q))
    assert symmetric_terms([entries], Squared(), zero_weight=0.1, zero_power=0.0)[0].importance == {}


@tries(20)
@given(data=st.data(), seed=seeds, zero_weight=zero_weights)
def test_terms_and_penalties_add(data, seed, zero_weight):
    """An objective of several tables over shared factors is the sum of theirs and of the penalties."""
    size = 4
    x, y = (data.draw(symmetric_entries(orders=(order,), min_size=size, max_size=size)) for order in (2, 3))
    z = Entries(np.array([[0, 1], [size - 1, 0]]), np.array([1.0, 2.0]), (size, 2))
    terms = [
        Term(x, CP(), Squared(), (0, 0), 0.5, zero_weight),
        Term(y, CP(), Squared(), (0, 0, 0), 2.0, zero_weight),
        Term(z, CP(), Squared(), (0, 1), 3.0),
    ]
    factors = factors_for(seed, size, 2)
    u, v = factors
    joint = Objective(terms, [L2(0.3), L1(0.2)])
    truth = (
        0.5 * reference.squared_loss(x, [u, u], zero_weight=zero_weight)
        + 2 * reference.squared_loss(y, [u, u, u], zero_weight=zero_weight)
        + 3 * reference.squared_loss(z, [u, v], zero_weight=0)
        + L2(0.3).value(u)
        + L1(0.2).value(v)
    )
    assert joint.value(factors) == pytest.approx(truth, EXACT)
    check_gradient(Objective(terms, [L2(0.3), L2(0.2)]), factors)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@tries(25)
@given(entries=symmetric_entries(), zero_weight=zero_weights, seed=seeds)
def test_symmetric_entries_stand_for_their_expansion(kind, entries, zero_weight, seed):
    """Fused path, general path, and the list of all permutations agree to rounding."""
    (u,) = factors_for(seed, entries.shape[0], kind=kind)
    how = {"weight": 0.7, "zero_weight": zero_weight}
    ways = [
        Objective([symmetric_term(entries, **how)], [L2(0.1)]),
        Objective([symmetric_term(entries, **how)], [L2(0.1)], compiled=False),
        Objective([symmetric_term(entries.expand(), **how)], [L2(0.1)]),
    ]
    answers = [way.value_and_gradient([u]) for way in ways]
    # rounding grows with what is added up and taken away again
    cells = np.abs(reference.cp([np.abs(u)] * entries.order)) ** 2
    size = float(np.finfo(kind).eps) * float(1 + cells.sum() + (entries.expand().values ** 2).sum())
    for value, (gradient,) in answers:
        assert gradient.dtype == kind
        assert value == pytest.approx(answers[0][0], abs=10 * size)
        assert np.abs(gradient - answers[0][1][0]).max() <= 100 * size


def large_list(*, seed=0, size=40, n=3000, order=3):
    rng = np.random.default_rng(seed)
    x = Entries.collect(rng.integers(0, size, (n, order)), rng.standard_normal(n), size)
    return replace(x, weights=rng.random(len(x)))


@pytest.mark.parametrize("threads", [2, 3, 50])
@pytest.mark.parametrize("part", [100, 1 << 20])
def test_threads_agree(threads, part, monkeypatch):
    """The number of threads and the length of parts change rounding only; repeated, they give the same bits."""
    monkeypatch.setattr("polyadic.core.kernels.common.MAX_PART", part)
    monkeypatch.setattr(objective, "BATCH", 257)
    x, (u,) = large_list(), factors_for(1, 40, rank=7)
    term = symmetric_term(x, zero_weight=0.1)
    value, (gradient,) = Objective([term], [L2()], compiled=False).value_and_gradient([u])
    for number in (1, threads):
        f = Objective([term], [L2()], threads=number)
        (first, (one,)), (second, (other,)) = f.value_and_gradient([u]), f.value_and_gradient([u])
        assert first == second
        assert np.array_equal(one, other)
        assert first == pytest.approx(value, rel=1e-12)
        assert one == pytest.approx(gradient, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("threads", [1, 3])
def test_evaluations_tell_how_far_they_are(threads, monkeypatch):
    """An evaluation in pieces is the same one; the shares that it tells of rise to 1, and one of them takes time."""
    x, factors = large_list(), factors_for(1, 40, 40, rank=7)
    terms = [symmetric_term(x, zero_weight=0.1), Term(x, CP(), Squared(), (1, 1, 1))]
    shares = []
    value, gradients = Objective(terms, [L2(), L2()], threads=threads, within=shares.append).value_and_gradient(factors)
    few, shares[:] = len(shares), []
    monkeypatch.setattr(objective, "MIN_PIECE", 100)
    f = Objective(terms, [L2(), L2()], threads=threads, within=shares.append)
    again, others = f.value_and_gradient(factors)
    assert again == pytest.approx(value, rel=1e-12)
    assert all(one == pytest.approx(other, rel=1e-9, abs=1e-9) for one, other in zip(gradients, others, strict=True))
    assert len(shares) > few
    assert shares[-1] == 1.0
    assert np.all(np.diff(shares) > 0)
    assert f.seconds(factors) > 0


def test_arrays_may_lie_in_memory_in_any_way(tmp_path):
    """Strided, read-only and mapped arrays, and counts that are whole numbers, give the same objective."""
    x, (u,) = large_list(n=200), factors_for(1, 40)
    whole = replace(x, values=np.rint(9 * x.values).astype(np.int64))
    truth, (gradient,) = Objective([symmetric_term(whole)], [L2()]).value_and_gradient([u])
    whole.save(tmp_path / "x")
    wide = np.repeat(u, 2, axis=1)[:, ::2]
    ways = [(Entries.load(tmp_path / "x"), u), (replace(whole, indices=np.ascontiguousarray(whole.indices)), wide)]
    for entries, v in ways:
        value, (other,) = Objective([symmetric_term(entries)], [L2()]).value_and_gradient([v])
        assert value == truth
        assert np.array_equal(other, gradient)


def test_nothing_is_changed():
    """Evaluating changes neither entries nor factors, nor a gradient handed out before."""
    x, (u,) = large_list(n=50), factors_for(0, 40)
    before = u.copy(), x.values.copy(), x.indices.copy()
    f = Objective([symmetric_term(x, zero_weight=1.0)], [L2(0.1)])
    _, (gradient,) = f.value_and_gradient([u])
    kept = gradient.copy()
    f.value_and_gradient([2 * u])
    assert np.array_equal(gradient, kept)
    assert all(np.array_equal(a, b) for a, b in zip(before, (u, x.values, x.indices), strict=True))


def test_forbidden_factors_cost_everything():
    """Outside the bound of a penalty the objective is infinite."""
    (u,) = factors_for(0, 40)
    f = Objective([symmetric_term(large_list(n=50))], [NonNegative()])
    assert f.value([u]) == np.inf
    assert np.isfinite(f.value([np.abs(u)]))


X = Entries.collect([[0, 1, 2]], [1.0], 3)
FLAT = Entries(np.array([[0, 1]]), np.array([1.0]), (2, 3))


class Other:
    """A loss or a form that is none of ours."""

    zeros = None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"slots": (0, 0)}, r"slots must name one factor for each mode; got \(0, 0\) for order 3"),
        ({"weight": -1.0}, "weight must be a finite number of at least 0; got -1"),
        ({"zero_weight": np.nan}, "zero_weight must be a finite number of at least 0; got nan"),
        (
            {"entries": replace(X, unobserved="missing")},
            "zero_weight must be 0 if unobserved entries are treated as missing",
        ),
        ({"loss": Other()}, "zero_weight requires a squared or Poisson loss and a CP form"),
        ({"form": Other()}, "zero_weight requires a squared or Poisson loss and a CP form"),
        ({"importance": {0: np.ones(2)}}, "importance of slot 0 must contain a non-negative number for each row"),
        ({"importance": {1: np.ones(3)}}, "importance of slot 1 must contain"),
        ({"importance": {0: np.array([1.0, -1.0, 1.0])}}, "importance of slot 0 must contain"),
    ],
)
def test_term_refusals(arguments, message):
    """Terms that make no sense are refused when they are made."""
    sound = {"entries": X, "form": CP(), "loss": Squared(), "slots": (0, 0, 0), "weight": 1.0, "zero_weight": 1.0}
    Term(**sound)
    with pytest.raises(InputError, match=message):
        Term(**sound | arguments)


def test_default_zeros_weigh_a_multiple_of_the_listed():
    """All zeros together weigh 6 times what listed pairs weigh, 50 times what triples do; never above 1 in the mean."""
    rng = np.random.default_rng(0)
    lists = [Entries.collect(rng.integers(90, size=(40, n)), rng.random(40) + 0.1, 90) for n in (2, 3)]
    for term, mass, cells in zip(symmetric_terms(lists, Squared()), (6, 50), (90**2 / 2, 90**3 / 6), strict=True):
        assert term.zero_weight * cells == pytest.approx(mass * len(term.entries))
        assert term.importance[0].mean() == pytest.approx(1)
    small = Entries.collect([[0, 1, 2]], [1.0], 3)
    assert symmetric_terms([small], Squared())[0].zero_weight == 1
    assert symmetric_terms([replace(small, unobserved="missing")], Squared())[0].zero_weight == 0
    (poisson,) = symmetric_terms([small], Poisson())
    assert (poisson.zero_weight, poisson.importance) == (1, {})
    for name in ("zero_weight", "zero_power"):
        with pytest.raises(InputError, match=f"{name} must be a finite number"):
            symmetric_terms([small], Squared(), **{name: -1.0})


def test_objective_refusals():
    """Penalties are one per factor, threads at least one, and factors have a row per index and one rank."""
    term = Term(FLAT, CP(), Squared(), (0, 1))
    for penalties in ([L2()], [L2()] * 3):
        with pytest.raises(
            InputError, match=r"penalties must contain one penalty per factor; got . for slots \[0, 1\]"
        ):
            Objective([term], penalties)
    for threads in (0, -1, 1.5):
        with pytest.raises(InputError, match="threads must be a whole number from 1 to 1024"):
            Objective([term], [L2(), L2()], threads=threads)
    f = Objective([term], [L2(), L2()])
    for shapes in [((3, 2), (2, 2)), ((2, 2), (3, 1)), ((2, 2), (4, 2)), ((1, 2), (3, 2)), ((2,), (3,))]:
        with pytest.raises(InputError, match="must have 2 and 3 rows, like the modes of the entries, and equal rank"):
            f.value([np.ones(shape) for shape in shapes])
    with pytest.raises(InputError, match="the factor matrices must have"):
        Objective([symmetric_term(X)], [L2()]).value([np.ones((2, 2))])


@pytest.mark.parametrize("slots", [(0, 0, 0), (0, 1, 2)])
@tries(15)
@given(entries=symmetric_entries(orders=(3,), max_size=4), seed=seeds)
def test_fit_is_what_norms_say(slots, entries, seed):
    """Fit is one less the relative error, over the listed cells and over all of them."""
    factors = factors_for(seed, *[entries.shape[0]] * len(set(slots)))
    dense, _ = reference.dense(entries)
    errors, listed = dense - reference.cp([factors[s] for s in slots]), reference.cells(entries)
    size = np.linalg.norm(dense)
    term = Term(entries, CP(), Squared(), slots)
    if size == 0:
        with pytest.raises(InputError, match="all observed values are zero"):
            fit(term, factors)
        return
    found = fit(term, factors)
    assert found.listed == pytest.approx(1 - np.linalg.norm(errors[listed]) / size)
    assert found.all_cells == pytest.approx(1 - np.linalg.norm(errors) / size)
    assert fit(replace(term, entries=replace(entries, unobserved="missing")), factors).all_cells is None


def test_work_counts_entries_and_fibres():
    """Four entries in three fibres."""
    assert work_of(np.array([[2, 1, 0], [3, 1, 0], [3, 2, 0], [3, 2, 1]])) == 4 + 2 * objective.FIBRE
