"""RESCAL with types of entities and a table beside: its solver, its model, and what it is without either."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from experiments.relations.typed import facts, roles
from helpers import refuses
from polyadic import InputError
from polyadic.relations.rescal import RESCAL, rescal, rescal_start
from polyadic.relations.typed_rescal import Attributes, Domain, RescalRidges, TypedRESCAL, _TypedObjective, typed_rescal


def typed(n=14, K=3, *, seed=0):
    """Relations with a domain each, most cells of which are zero."""
    rng = np.random.default_rng(seed)
    slices, domains = [], []
    for _ in range(K):
        s, o = (np.sort(rng.permutation(n)[: rng.integers(2, n)]) for _ in range(2))
        X = np.zeros((n, n))
        X[np.ix_(s, o)] = (rng.random((len(s), len(o))) < 0.4) * rng.normal(1.0, 0.5, (len(s), len(o)))
        slices.append(csr_array(X))
        domains.append(Domain(s, o))
    return slices, domains


def everything(n, K):
    return [Domain(np.arange(n), np.arange(n))] * K


def table(n=14, columns=5, seed=1):
    return csr_array((np.random.default_rng(seed).random((n, columns)) < 0.4).astype(float))


def dense_objective(slices, domains, factors, ridges, beside=None):
    """The objective over all possible cells, written down in full."""
    A, R, *V = factors
    value = ridges.A * np.sum(A**2) + ridges.R * np.sum(R**2)
    for X, (s, o), one in zip(slices, domains, R, strict=True):
        value += np.sum((X.toarray()[np.ix_(s, o)] - A[s] @ one @ A[o].T) ** 2)
    if beside is not None:
        value += beside.weight * np.sum((beside.table.toarray() - A @ V[0]) ** 2) + beside.ridge * np.sum(V[0] ** 2)
    return value / 2


@pytest.mark.parametrize("beside", [None, Attributes(table(), 2.0, 0.3)])
@pytest.mark.parametrize("ridges", [RescalRidges(0.5, 0.2), RescalRidges(0.0, 0.0)])
def test_no_sweep_raises_the_objective(ridges, beside):
    """The objective is that of the possible cells, never rises, and ends far below the start."""
    slices, domains = typed()
    start = rescal_start(slices, 4)
    sweeps = list(itertools.islice(typed_rescal(slices, start, domains=domains, ridges=ridges, beside=beside), 25))
    for sweep in sweeps:
        np.testing.assert_allclose(sweep.objective, dense_objective(slices, domains, sweep.factors, ridges, beside))
    values = [sweep.objective for sweep in sweeps]
    assert all(after <= before for before, after in itertools.pairwise(values))
    assert values[-1] < 0.9 * values[0]


def test_without_types_it_is_rescal():
    """Where every entity can be everything, sweeps are those of the other solver."""
    slices, _ = typed()
    start = rescal_start(slices, 3)
    one = typed_rescal(slices, start, domains=everything(14, 3), ridges=RescalRidges(1.0, 0.5))
    other = rescal(slices, start, ridge_A=1.0, ridge_R=0.5)
    for a, b in itertools.islice(zip(one, other, strict=False), 10):
        np.testing.assert_allclose(a.objective, b.objective)
        np.testing.assert_allclose(a.factors[0], b.factors[0], atol=1e-7)
        np.testing.assert_allclose(a.factors[1], b.factors[1], atol=1e-7)


@given(st.integers(0, 99), st.sampled_from([0.0, 0.4]))
def test_relations_and_attributes_are_the_best(seed, ridge):
    """For one A, no other R and V are better: the gradient vanishes."""
    slices, domains = typed(seed=seed)
    beside, ridges = Attributes(table(), 1.5, 0.3), RescalRidges(0.1, ridge)
    A = np.random.default_rng(seed).standard_normal((14, 2))
    _, R, V = _TypedObjective(slices, domains, ridges, beside, 14).reach(A).factors
    for X, (s, o), one in zip(slices, domains, R, strict=True):
        left = X.toarray()[np.ix_(s, o)] - A[s] @ one @ A[o].T
        np.testing.assert_allclose(A[s].T @ left @ A[o], ridge * one, atol=1e-7)
    np.testing.assert_allclose(1.5 * A.T @ (beside.table.toarray() - A @ V), 0.3 * V, atol=1e-8)


def test_steps_are_against_the_gradient():
    """A step lowers the objective to first order, and vanishes where the gradient does."""
    slices, domains = typed()
    ridges, beside = RescalRidges(1.0, 1.0), Attributes(table(), 0.7, 1.0)
    problem = _TypedObjective(slices, domains, ridges, beside, 14)
    *_, last = itertools.islice(
        typed_rescal(slices, rescal_start(slices, 3), domains=domains, ridges=ridges, beside=beside), 150
    )
    A = last.factors[0]
    first = np.random.default_rng(0).standard_normal(A.shape)
    assert np.abs(problem.step(*last.factors)).max() < 1e-3 * np.abs(A).max()
    sweep = problem.reach(first)
    step = problem.step(*sweep.factors)
    slope = (problem.reach(first + 1e-6 * step).objective - problem.reach(first - 1e-6 * step).objective) / 2e-6
    assert slope < 0


def test_impossible_cells_cost_nothing():
    """An entity that no relation can have ends at zero; the order of entities means nothing."""
    slices, domains = typed()
    n = 14
    wider = [csr_array((X.data, X.indices, np.append(X.indptr, X.indptr[-1])), shape=(n + 1, n + 1)) for X in slices]
    start = np.vstack([rescal_start(slices, 3), np.ones(3)])
    ridges = RescalRidges(0.5, 0.5)
    *_, found = itertools.islice(typed_rescal(wider, start, domains=domains, ridges=ridges), 5)
    assert np.abs(found.factors[0][n]).max() < 1e-12
    *_, same = itertools.islice(typed_rescal(slices, start[:n], domains=domains, ridges=ridges), 5)
    turn = np.random.default_rng(0).permutation(n)
    place = np.argsort(turn)
    turned = [Domain(np.sort(place[s]), np.sort(place[o])) for s, o in domains]
    moved = [csr_array(X.toarray()[np.ix_(turn, turn)]) for X in slices]
    *_, other = itertools.islice(typed_rescal(moved, start[turn], domains=turned, ridges=ridges), 5)
    np.testing.assert_allclose(other.factors[0], same.factors[0][turn], atol=1e-8)


def test_types_say_what_is_possible():
    """Given types widen a relation to entities alike; without them it is between those that it was seen with."""
    likes = csr_array(([1.0, 1.0], ([0, 1], [3, 4])), shape=(6, 6))
    how = {"ridge_A": 0.1, "ridge_R": 0.1}
    given_types = TypedRESCAL(2, **how).fit([likes], types=["x", "x", "x", "y", "y", "y"])
    induced = TypedRESCAL(2, **how).fit([likes])
    assert given_types.subjects_.tolist() == [[True] * 3 + [False] * 3]
    assert induced.objects_.tolist() == [[False] * 3 + [True, True, False]]
    assert np.isfinite(given_types.predict([2], [0], [5])).all()
    assert induced.predict([2, 0], [0, 0], [3, 5]).tolist() == [-np.inf] * 2
    assert np.isfinite(induced.objects([0], [0])).tolist() == induced.objects_.tolist()
    whole = TypedRESCAL(2, **how).fit([likes], types=np.zeros(6, int))
    plain = RESCAL(2, **how).fit([likes])
    np.testing.assert_allclose(whole.objects([0], [0]), plain.objects([0], [0]), atol=1e-6)


def test_a_table_beside_tells_of_new_entities():
    """An entity without facts is known by its attributes alone; without a table nothing is known of it."""
    rng = np.random.default_rng(0)
    kind = np.arange(20) % 2
    X = np.where((kind[:, None] == 0) & (kind == 1), 1.0, 0.0) * (rng.random((20, 20)) < 0.9)
    X[18] = 0  # of the first kind, but never seen as a subject
    X[:, 18] = 0
    beside = csr_array(np.eye(2)[kind])
    how = {"ridge_A": 0.1, "ridge_R": 0.1, "ridge_V": 0.1, "weight": 10.0, "tol": 1e-8}
    alone = TypedRESCAL(2, **how).fit([csr_array(X)], types=np.zeros(20, int))
    informed = TypedRESCAL(2, **how).fit([csr_array(X)], types=np.zeros(20, int), attributes=beside)
    told = informed.objects([18], [0])[0]
    assert told[kind == 1].min() > 0.4 > np.abs(told[kind == 0]).max()
    assert np.abs(alone.objects([18], [0])).max() < 0.05
    assert informed.attribute_factors_.shape == (2, 2)


def test_roles():
    """Entities are described by the places in which they were."""
    table = roles(np.array([[0, 0, 1], [0, 0, 2], [1, 1, 0]]), 3, 2)
    assert table.toarray().tolist() == [[1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 1, 0]]
    assert facts(np.array([[0, 0, 1], [0, 0, 1]]), 2, 1).values.tolist() == [1.0]


def test_what_does_not_fit_is_refused():
    """Each fault is told in a sentence."""
    slices, domains = typed()
    with pytest.raises(InputError, match="one row for each of the 14"):
        next(typed_rescal(slices, np.ones((14, 2)), domains=domains, beside=Attributes(table(13))))
    refuses("one value for each of the 14", TypedRESCAL(2).fit, slices, types=[1, 2])
    refuses("ridge_A must be", TypedRESCAL(2, ridge_A=-1).fit, slices)
