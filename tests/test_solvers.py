"""Solvers and the loop that draws from them."""

import itertools
import warnings
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from helpers import match_columns
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError
from polyadic.core.forms import CP
from polyadic.core.losses import Squared
from polyadic.core.objective import Objective, Term
from polyadic.core.penalties import L1, L2, NonNegative
from polyadic.core.solvers.quasi_newton import _direction, quasi_newton
from polyadic.core.solvers.run import NotConvergedWarning, Sweep, run
from strategies import tries


class Quadratic:
    """``u' A u / 2 - b' u`` and a penalty: what a solver needs of an objective, with a known optimum."""

    def __init__(self, A, b, penalty):
        self.A, self.b, self.penalties = A, b, (penalty,)

    def value_and_gradient(self, factors):
        (u,), (penalty,) = factors, self.penalties
        smooth = self.A @ u - self.b
        return 0.5 * float(u @ (smooth - self.b)) + penalty.value(u), [smooth + penalty.grad(u)]


def regression(seed, *, n=30, p=8, penalty):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, p)) * 3.0 ** rng.integers(-1, 2, p), rng.standard_normal(n)
    return X, y, Quadratic(X.T @ X, X.T @ y, penalty)


def optimality(objective, factors):
    """Length of the smallest subgradient, which is zero exactly where nothing can improve."""
    _, gradients = objective.value_and_gradient(factors)
    parts = zip(objective.penalties, factors, gradients, strict=True)
    return float(np.sqrt(sum(np.sum(penalty.steepest(u, g).astype(float) ** 2) for penalty, u, g in parts)))


def planted(u, order):
    """List every cell of the symmetric array that a factor makes."""
    size = len(u)
    rows = np.array(list(itertools.combinations_with_replacement(range(size), order)))
    return Entries.collect(rows, reference.cp([u] * order)[tuple(rows.T)], size)


def symmetric(entries, penalty, **how):
    return Objective([Term(entries, CP(), Squared(), (0,) * entries.order, **how)], [penalty])


def best_of(objective, starts, max_iter=500):
    """Solve from several starts, as one does for a function of many valleys."""
    results = [run(quasi_newton(objective, [start]), max_iter=max_iter) for start in starts]
    return min(results, key=lambda result: result.history[-1])


def sweeps(values):
    return (Sweep([np.array([value])], float(value)) for value in values)


@given(tol=st.floats(1e-6, 0.9), rate=st.floats(0.1, 0.9))
def test_run_stops_where_the_objective_settles(tol, rate):
    """The third sweep in a row that changes the objective by at most ``tol`` of its whole change is the last."""
    values = [rate**k for k in range(300)]
    result = run(sweeps(values), max_iter=250, tol=tol)
    changes = [(values[k - 1] - values[k]) / (values[0] - values[k]) for k in range(1, 300)]
    assert result.converged
    assert result.n_iter == next(k for k, change in enumerate(changes, 1) if change <= tol) + 2
    assert result.history == values[: result.n_iter + 1]
    assert result.factors[0] == values[result.n_iter]


def test_run_draws_no_more_than_it_needs():
    """After ``max_iter`` sweeps it stops, with a warning if a tolerance was asked for; nothing more is computed."""
    drawn = []
    values = (drawn.append(k) or k for k in itertools.count(100, -1))
    result = run(sweeps(values), max_iter=5)
    assert (result.n_iter, result.converged, result.interrupted) == (5, False, False)
    assert drawn == [100, 99, 98, 97, 96, 95]
    with pytest.warns(NotConvergedWarning, match="stopped at max_iter=5 .* tol=0.01"):
        assert not run(sweeps(range(100, 0, -1)), max_iter=5, tol=0.01).converged
    assert len(result.seconds) == len(result.history) == 6
    assert result.seconds == sorted(result.seconds)


def test_run_ends_with_its_solver():
    """A solver that finds nothing left to improve has converged."""
    result = run(sweeps([3, 2, 1]), max_iter=50)
    assert (result.n_iter, result.converged) == (2, True)
    assert run(sweeps([3]), max_iter=50).history == [3]
    assert run(sweeps([3, 3, 3, 3, 2]), max_iter=50, tol=0.1).n_iter == 3


def test_run_shows_every_sweep():
    """``callback`` is called after each sweep with what was reached so far."""
    seen = []
    run(
        sweeps([5, 4, 3, 2]), max_iter=3, callback=lambda result: seen.append((result.n_iter, result.factors[0].item()))
    )
    assert seen == [(1, 4), (2, 3), (3, 2)]


@pytest.mark.parametrize("place", ["solver", "callback"])
def test_run_keeps_the_last_sweep_when_interrupted(place):
    """Ctrl-C in the solver or in ``callback`` ends the loop, and what was reached is there."""

    def interrupted():
        yield from sweeps([5, 4, 3])
        raise KeyboardInterrupt

    def callback(result):
        if place == "callback" and result.n_iter == 2:
            raise KeyboardInterrupt

    result = run(interrupted(), max_iter=10, tol=0.001, callback=callback)
    assert (result.history, result.factors[0]) == ([5, 4, 3], 3)
    assert (result.interrupted, result.converged) == (True, False)


def test_other_errors_are_not_swallowed():
    """Only Ctrl-C is taken for a wish to stop."""

    def broken():
        yield from sweeps([5, 4])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(broken(), max_iter=10)


@pytest.mark.parametrize(
    ("values", "arguments", "message"),
    [
        ([np.nan], {}, "the objective is nan at the start"),
        ([np.inf], {}, "the objective is inf at the start; check the values and the penalty"),
        ([1], {"max_iter": 0}, "max_iter must be a whole number of at least 1; got 0"),
        ([1], {"tol": -1}, "tol must be a finite number of at least 0; got -1"),
    ],
)
def test_run_refuses(values, arguments, message):
    """A start that is not finite, and options out of range, are refused."""
    with pytest.raises(InputError, match=message):
        run(sweeps(values), **{"max_iter": 5, **arguments})


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("memory", [1, 10])
def test_quadratic_reaches_its_optimum(seed, memory):
    """A convex quadratic with a ridge ends at the solution of its linear system."""
    X, y, objective = regression(seed, penalty=L2(0.5))
    truth = np.linalg.solve(X.T @ X + 0.5 * np.eye(8), X.T @ y)
    result = run(quasi_newton(objective, [np.ones(8)], memory=memory), max_iter=2000)
    assert result.factors[0] == pytest.approx(truth, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("strength", [0.5, 5.0, 1e4])
def test_lasso_is_that_of_scikit_learn(seed, strength):
    """With an absolute value the optimum is that of scikit-learn's lasso, exact zeros included."""
    from sklearn.linear_model import Lasso

    X, y, objective = regression(seed, penalty=L1(strength))
    truth = Lasso(strength / len(y), fit_intercept=False, tol=1e-14, max_iter=100_000).fit(X, y).coef_
    for start in (np.zeros(8), np.ones(8)):
        (u,) = run(quasi_newton(objective, [start]), max_iter=1000).factors
        assert u == pytest.approx(truth, abs=1e-6)
        assert ((u == 0) == (truth == 0)).all()


@pytest.mark.parametrize("seed", range(3))
def test_bound_is_that_of_scipy(seed):
    """With a bound at zero the optimum is that of scipy's non-negative least squares, exact zeros included."""
    from scipy.optimize import nnls

    X, y, objective = regression(seed, penalty=NonNegative())
    truth, _ = nnls(X, y)
    for start in (np.zeros(8), np.ones(8)):
        (u,) = run(quasi_newton(objective, [start]), max_iter=1000).factors
        assert u == pytest.approx(truth, abs=1e-6)
        assert ((u == 0) == (truth == 0)).all()


PENALTIES = [L2(), L2(0.1), L1(0.1), NonNegative(), NonNegative(0.1)]


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("order", [2, 3])
@tries(5)
@given(seed=st.integers(0, 999), zero_weight=st.sampled_from([0.0, 0.3]))
def test_objective_never_rises(penalty, order, seed, zero_weight):
    """Each sweep is lower than the one before, is what the objective says, and is an array of its own."""
    rng = np.random.default_rng(seed)
    x = Entries.collect(rng.integers(0, 8, (25, order)), rng.standard_normal(25), 8)
    objective = symmetric(x, penalty, zero_weight=zero_weight)
    start = [np.abs(rng.standard_normal((8, 3)))]
    before = start[0].copy()
    seen = list(itertools.islice(quasi_newton(objective, start), 30))
    values = [sweep.objective for sweep in seen]
    assert values == sorted(values, reverse=True)
    assert [objective.value(sweep.factors) for sweep in seen] == pytest.approx(values, rel=1e-9)
    assert np.array_equal(start[0], before)
    assert np.array_equal(seen[0].factors[0], before)
    assert len({id(sweep.factors[0]) for sweep in seen}) == len(seen)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_ends_where_nothing_improves(penalty):
    """It ends at a point without descent, and from there it does not move."""
    rng = np.random.default_rng(5)
    x = Entries.collect(rng.integers(0, 8, (40, 3)), rng.random(40), 8)
    objective = symmetric(x, penalty, zero_weight=0.3)
    start = [np.abs(rng.standard_normal((8, 3)))]
    result = run(quasi_newton(objective, start), max_iter=3000)
    assert optimality(objective, result.factors) < 1e-4 * optimality(objective, start)
    again = run(quasi_newton(objective, result.factors), max_iter=20)
    assert again.factors[0] == pytest.approx(result.factors[0], abs=1e-4)
    # fresh curvature finds what is left within rounding, which differs from processor to processor
    assert again.history[-1] == pytest.approx(result.history[-1], rel=1e-7)


def test_optimum_is_a_fixed_point():
    """From a point whose smallest subgradient is exactly zero there is no sweep."""
    objective = Quadratic(np.diag([1.0, 2.0]), np.array([3.0, -1.0]), NonNegative())
    result = run(quasi_newton(objective, [np.array([3.0, 0.0])]), max_iter=5)
    assert (result.n_iter, result.converged) == (0, True)
    for start in ([0.0, 0.0], [9.0, 9.0]):
        assert run(quasi_newton(objective, [np.array(start)]), max_iter=50).factors[0] == pytest.approx([3.0, 0.0])


@pytest.mark.parametrize("order", [3, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("penalty", [L2(), NonNegative()], ids=repr)
def test_planted_factors_are_recovered(order, penalty):
    """The columns that made a symmetric array are found again, up to their order and, without a bound, sign."""
    rng = np.random.default_rng(order)
    u = rng.standard_normal((9, 3))
    u = np.abs(u) if isinstance(penalty, NonNegative) else u
    starts = [np.abs(rng.standard_normal((9, 3))) for _ in range(4)]
    result = best_of(symmetric(planted(u, order), penalty), starts)
    assert result.history[-1] < 1e-6 * result.history[0]
    assert match_columns([u], result.factors[:1], signs=False)[0] > 0.99


def test_planted_sparse_parts_are_recovered():
    """With a bound and a small price columns with zeros are found again; nearly all zeros are exact, none is large."""
    rng = np.random.default_rng(1)
    u = rng.random((10, 3)) + 0.5
    u[rng.random(u.shape) < 0.5] = 0
    objective = symmetric(planted(u, 3), NonNegative(1e-3))
    (found,) = best_of(objective, [rng.random((10, 3)) for _ in range(4)]).factors
    smallest, match = match_columns([u], [found], signs=False)
    found = found[:, match]
    assert smallest > 0.99
    assert found == pytest.approx(u, abs=1e-3)
    assert np.mean(found[u == 0] == 0) > 0.8


def test_planted_matrix_is_recovered():
    """In order 2 factors are known up to a rotation only: their products are found again."""
    rng = np.random.default_rng(2)
    u = rng.standard_normal((12, 3))
    (found,) = best_of(symmetric(planted(u, 2), L2()), [rng.standard_normal((12, 3)) for _ in range(2)]).factors
    assert found @ found.T == pytest.approx(u @ u.T, abs=1e-3)


def test_planted_factors_are_recovered_from_joint_tables():
    """A matrix and a tensor that share a factor, and a second factor that explains the matrix alone, are found."""
    rng = np.random.default_rng(3)
    u, v = rng.standard_normal((8, 2)), rng.standard_normal((6, 2))
    cells = np.array(list(np.ndindex(8, 6)))
    matrix = Entries(cells, (u @ v.T)[tuple(cells.T)], (8, 6))
    terms = [Term(planted(u, 3), CP(), Squared(), (0, 0, 0)), Term(matrix, CP(), Squared(), (0, 1))]
    objective = Objective(terms, [L2(), L2()])
    starts = [[rng.standard_normal(f.shape) for f in (u, v)] for _ in range(4)]
    results = [run(quasi_newton(objective, start), max_iter=500) for start in starts]
    found = min(results, key=lambda result: result.history[-1]).factors
    assert match_columns([u], found[:1], signs=False)[0] > 0.99
    assert match_columns([v], found[1:], signs=False)[0] > 0.99


def test_single_precision_is_kept():
    """Factors stay in the precision of the start, and settle instead of stumbling over rounding."""
    rng = np.random.default_rng(4)
    u = rng.standard_normal((9, 3))
    objective = symmetric(planted(u, 3), L2(1e-3))
    start = [rng.standard_normal((9, 3)).astype(np.float32)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run(quasi_newton(objective, start), max_iter=500, tol=1e-6)
    assert result.factors[0].dtype == np.float32
    assert result.converged


@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize("penalty", [L2(), L1(0.1)], ids=repr)
def test_direction(penalty, number):
    """The curvature kept maps the last change of the gradient to the last step, and kinks only take what descends."""
    rng = np.random.default_rng(number)
    root = rng.standard_normal((6, 6))
    pairs = deque()
    for _ in range(number):
        s = rng.standard_normal(6)
        y = root @ root.T @ s
        pairs.append(([s], [y], s @ y))
    objective = Quadratic(root, None, penalty)
    (d,) = _direction(objective, [y], pairs.copy())
    assert d[d != 0] == pytest.approx(-s[d != 0])
    assert (d != 0).tolist() == ((s * y > 0) | (not penalty.kinked)).tolist()
    (d,) = _direction(objective, [y], deque())
    assert d == pytest.approx(-y)
