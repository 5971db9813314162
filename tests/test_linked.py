"""Solvers of coupled tables: point estimates, draws and variational distributions of shared factors."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit

from helpers import refuses
from polyadic import CP, CollectiveFactorization, Entries, InputError, Objective, Relation, Squared, Term
from polyadic.completion.coupled.coordinate_descent import collective, parabola
from polyadic.completion.coupled.coupled_tables import CoupledTables
from polyadic.completion.coupled.gibbs import Average, Draw, MarkovChain, Priors, gibbs
from polyadic.completion.coupled.gradient_descent import collective_sgd
from polyadic.completion.coupled.variational import Beliefs, GammaPrior, beliefs, variational
from polyadic.core.kernels import RandomRows, RowEntries, polya_gamma, posterior_rows, row_moments, variational_rows
from polyadic.core.losses import Huber, Logistic, Poisson, SoftplusPoisson
from polyadic.core.penalties import L2
from polyadic.core.solvers.quasi_newton import quasi_newton
from polyadic.core.solvers.run import run

SIZES = (12, 9, 7)


def table(slots, loss, *, seed, share=0.5, weighted=False, zero_weight=0.0, weight=1.0):
    """Some cells of random values that the loss allows."""
    rng = np.random.default_rng(seed)
    shape = tuple(SIZES[s] for s in slots)
    cells = np.argwhere(rng.random(shape) < share)
    if len(set(slots)) < len(slots):
        cells = cells[cells[:, 0] > cells[:, 1]]
    x = rng.standard_normal(len(cells))
    if isinstance(loss, Logistic):
        x = (x > 0).astype(float)
    if isinstance(loss, SoftplusPoisson):
        x = rng.poisson(1.5, len(cells)).astype(float)
    weights = rng.random(len(cells)) + 0.5 if weighted else None
    entries = Entries(cells, x, shape, weights, unobserved="zero" if zero_weight else "missing")
    return Term(entries, CP(), loss, tuple(slots), weight=weight, zero_weight=zero_weight)


def many(*extra):
    """Tables of all kinds, coupled."""
    terms = [
        table((0, 1), Squared(), seed=0, weighted=True),
        table((1, 2), Logistic(), seed=1),
        table((0, 0), Squared(), seed=2, weight=0.5),
        table((0, 1, 2), Squared(), seed=3, share=0.2),
        table((0, 2), Squared(), seed=4, zero_weight=0.3),
        *extra,
    ]
    biased = [len(set(t.slots)) == len(t.slots) and not t.zero_weight for t in terms]
    return CoupledTables(terms, SIZES, biased=biased)


# ---- kernels


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 3), st.integers(0, 99))
def test_random_rows_solve_expected_equations(n, R, k, seed):
    """Means and covariances are those of dense equations with the expected products of rows."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, n)
    total, m = counts.sum(), 6
    V = rng.standard_normal((m, R))
    roots = rng.standard_normal((m, R, R))
    S = roots @ roots.transpose(0, 2, 1)
    starts = np.concatenate([[0], np.cumsum(counts)])
    columns = np.stack([rng.permutation(m)[:k] for _ in range(total)]) if total else np.zeros((0, k), int)
    entries = RowEntries(starts, columns, rng.random(total), rng.standard_normal(total))
    out = RandomRows(np.empty((n, R)), np.empty((n, R, R)))
    variational_rows(entries, RandomRows(V, S), out, precision=np.eye(R), threads=2)
    points = posterior_rows(entries, V, precision=np.eye(R), threads=1)
    expected = np.einsum("er,es->ers", V, V) + S
    for i in range(n):
        part = slice(starts[i], starts[i + 1])
        A = np.eye(R) + np.einsum("e,ers->rs", entries.c[part], expected[columns[part]].prod(axis=1))
        v = V[columns[part]].prod(axis=1)
        b = entries.y[part] @ v
        np.testing.assert_allclose(out.covariance[i], np.linalg.inv(A), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(out.mean[i], np.linalg.solve(A, b), rtol=1e-8, atol=1e-10)
        fixed = np.eye(R) + (v * entries.c[part, None]).T @ v
        np.testing.assert_allclose(points[i], np.linalg.solve(fixed, b), rtol=1e-8, atol=1e-10)


def test_moments_are_those_of_samples():
    """Mean and expected square of products of independent rows."""
    rng = np.random.default_rng(0)
    V, roots = rng.standard_normal((4, 3)), 0.5 * rng.standard_normal((4, 3, 3))
    S = roots @ roots.transpose(0, 2, 1)
    for cell in ([0, 1], [3, 1, 2]):
        mean, square = row_moments(np.array([cell]), RandomRows(V, S), threads=1)
        drawn = [rng.multivariate_normal(V[i], S[i], 400_000) for i in cell]
        m = np.prod(drawn, axis=0).sum(axis=1)
        assert m.mean() == pytest.approx(mean[0], abs=5 * m.std() / 632)
        assert np.mean(m**2) == pytest.approx(square[0], abs=5 * (m**2).std() / 632)


@pytest.mark.parametrize("m", [0.0, -0.3, 1.0, 3.3, 12.0, 80.0])
def test_polya_gamma_variables(m):
    """Their Laplace transform is cosh(m / 2) / cosh(sqrt(m^2 / 4 + s / 2)); the sign of m does not matter."""
    drawn = polya_gamma(np.full(100_000, m), np.random.default_rng(0))
    for s in (0.5, 2.0, 10.0):
        inner = np.sqrt(m * m / 4 + s / 2)
        expected = np.exp(np.logaddexp(m / 2, -m / 2) - np.logaddexp(inner, -inner))
        powers = np.exp(-s * drawn)
        assert powers.mean() == pytest.approx(expected, abs=4.5 * powers.std() / np.sqrt(len(drawn)))


# ---- parabolas


@pytest.mark.parametrize("loss", [Squared(), Logistic(), SoftplusPoisson(), Huber(0.7)])
def test_parabolas_lie_above_losses_and_touch_them(loss):
    """From wherever they are made."""
    m = np.linspace(-15, 15, 301)
    for x in (0.0, 1.0) if isinstance(loss, Logistic) else (0.0, 1.0, 7.0):
        for touch in (-9.0, -1.0, 0.0, 0.4, 3.0, 12.0):
            at = np.array([touch])
            kappa, y = (one[0] for one in parabola(loss, np.array([x]), at))
            shift = loss.value(np.array([x]), at)[0] - (kappa / 2 * touch**2 - y * touch)
            assert (kappa / 2 * m**2 - y * m + shift >= loss.value(np.full_like(m, x), m) - 1e-9).all()
            assert kappa * touch - y == pytest.approx(loss.grad(np.array([x]), at)[0], abs=1e-9)


def test_losses_without_a_parabola_are_refused():
    """With a sentence that names those that have one."""
    with pytest.raises(InputError, match="loss must be one of Squared, Logistic, SoftplusPoisson, Huber; got Poisson"):
        parabola(Poisson(), np.ones(1), np.ones(1))


# ---- point estimates


def test_sweeps_never_raise_the_objective():
    """With all kinds of tables, biases, weighted zeros; and threads do not matter."""
    coupled = many(table((1, 2), SoftplusPoisson(), seed=6), table((0, 2), Huber(0.5), seed=7))
    start = coupled.start(3, np.random.default_rng(0), scale=0.5)
    results = [
        run(collective(coupled, start, ridges=[0.1, 0.2, 0.3], bias_ridge=0.2, threads=t), max_iter=40) for t in (1, 2)
    ]
    history = np.array(results[0].history)
    assert (np.diff(history) <= 1e-10 * history[0]).all()
    assert results[1].history == results[0].history


def test_point_estimates_are_stationary():
    """The gradient of the objective of the general path vanishes; no biases there, so none here."""
    terms = [
        table((0, 1), Squared(), seed=0, weighted=True),
        table((1, 2), Logistic(), seed=1, weight=2.0),
        table((0, 1, 2), Squared(), seed=3, share=0.2),
        table((0, 2), Squared(), seed=4, zero_weight=0.3),
    ]
    coupled = CoupledTables(terms, SIZES, biased=[False] * 4)
    start = coupled.start(2, np.random.default_rng(0), scale=0.5)
    ridges = [0.5, 0.6, 0.7]
    state = run(collective(coupled, start, ridges=ridges, bias_ridge=1, threads=1), max_iter=400, tol=0).factors
    shifted = []
    for t, term in enumerate(terms):  # a squared or logistic table with an intercept is one with other values
        if term.zero_weight or isinstance(term.loss, Logistic):
            shifted.append(term)
        else:
            x = term.entries
            values = x.values - state[1 + t][0]
            shifted.append(
                Term(Entries(x.indices, values, x.shape, x.weights, unobserved="missing"), CP(), Squared(), term.slots)
            )
    factors = [coupled.factor(state[0], s) for s in range(3)]
    squared = [term for term in shifted if not isinstance(term.loss, Logistic)]
    _, gradient = Objective(squared, [L2(r) for r in ridges]).value_and_gradient(factors)
    logistic = terms[1]
    m = coupled.products(state[0], 1, 1) + state[2][0]
    d = 2.0 * (expit(m) - logistic.entries.values)
    np.add.at(gradient[1], logistic.entries.indices[:, 0], d[:, None] * factors[2][logistic.entries.indices[:, 1]])
    np.add.at(gradient[2], logistic.entries.indices[:, 1], d[:, None] * factors[1][logistic.entries.indices[:, 0]])
    assert max(np.abs(g).max() for g in gradient) < 1e-5


def test_agrees_with_quasi_newton():
    """A matrix and weighted zeros: both solvers reach one objective."""
    terms = [table((0, 1), Squared(), seed=5, zero_weight=1.0)]
    coupled = CoupledTables(terms, SIZES[:2], biased=[False])
    start = coupled.start(3, np.random.default_rng(0), scale=0.5)
    ours = run(collective(coupled, start, ridges=[0.1, 0.1], bias_ridge=1, threads=1), max_iter=500, tol=0)
    factors = [coupled.factor(start[0], s).copy() for s in range(2)]
    theirs = run(quasi_newton(Objective(terms, [L2(0.1), L2(0.1)]), factors), max_iter=500, tol=0)
    assert ours.history[0] == pytest.approx(theirs.history[0])
    assert ours.history[-1] == pytest.approx(theirs.history[-1], rel=1e-4)


def test_stochastic_gradients_reach_the_objective_of_coordinate_descent():
    """With all kinds of tables and biases, from one start."""
    terms = [
        table((0, 1), Squared(), seed=0, weighted=True),
        table((1, 2), Logistic(), seed=1),
        table((0, 0), Squared(), seed=2, weight=0.5),
        table((0, 1, 2), Squared(), seed=3, share=0.2),
        table((1, 2), SoftplusPoisson(), seed=6),
        table((0, 2), Huber(), seed=7),
    ]
    coupled = CoupledTables(terms, SIZES, biased=[len(set(t.slots)) == len(t.slots) for t in terms])
    start = coupled.start(2, np.random.default_rng(0), scale=0.5)
    how = {"ridges": [2.0, 3.0, 4.0], "bias_ridge": 1.0, "count_power": 0.5, "threads": 1}
    exact = run(collective(coupled, start, **how), max_iter=400, tol=1e-9)
    ours = run(
        collective_sgd(coupled, start, learning_rate=0.3, rng=np.random.default_rng(0), **how), max_iter=50, tol=0
    )
    assert ours.history[0] == pytest.approx(exact.history[0])
    assert ours.history[-1] == pytest.approx(exact.history[-1], rel=3e-3)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_stochastic_gradients_find_planted_tables(loss):
    """Users by films, and films by genres; predictions agree with those of coordinate descent."""
    rng = np.random.default_rng(0)
    U, V, W = (rng.standard_normal((n, 2)) for n in (25, 20, 10))
    x, z = U @ V.T, (V @ W.T > 0).astype(float)
    x = (x > 0).astype(float) if loss == "logistic" else x
    seen = rng.random(x.shape) < 0.6
    database = {
        "likes": Relation(np.where(seen, x, np.nan), ("user", "film"), loss=loss),
        "kinds": Relation(z, ("film", "genre"), loss="logistic"),
    }
    exact = CollectiveFactorization(2, tol=1e-6, seed=0).fit(database)
    model = CollectiveFactorization(2, solver="sgd", max_iter=40, tol=0, seed=0).fit(database)
    assert model.history_[-1] == pytest.approx(exact.history_[-1], rel=5e-3)
    cells = np.argwhere(~seen)
    ours, theirs = (fitted.predict("likes", cells) for fitted in (model, exact))
    assert np.corrcoef(ours, theirs)[0, 1] > 0.98
    more = np.full((26, 20), np.nan)
    more[25, 0] = 1  # of a new user
    model.update({"likes": more})
    assert len(model.factors_["user"]) == 26


def test_stochastic_gradients_refuse_weighted_zeros():
    coupled = many()
    start = coupled.start(2, np.random.default_rng(0), scale=0.5)
    how = {"ridges": [1, 1, 1], "bias_ridge": 1, "count_power": 0, "learning_rate": 0.1, "threads": 1}
    refuses("does not support weighted zeros", lambda: next(collective_sgd(coupled, start, rng=None, **how)))


def test_weighted_zeros_of_a_shared_factor_are_refused():
    """They would be no sum over separate factors."""
    refuses(
        "sampled zeros instead", CoupledTables, [table((0, 0), Squared(), seed=0, zero_weight=1.0)], SIZES, biased=[0]
    )


# ---- draws


@pytest.mark.slow
def test_the_chain_leaves_the_joint_distribution_alone():
    """Drawing parameters given data and data given parameters in turn, parameters keep their priors (Geweke).

    Tables: numbers with biases, truth values, one between rows of the same factor, a tensor.
    """
    rng = np.random.default_rng(2)
    priors, sizes = Priors(beta=2.0, shape=3.0, rate=2.0, intercept=1.0), (3, 2, 2)
    slots, losses = [(0, 1), (1, 2), (0, 0), (0, 1, 2)], [Squared(), Logistic(), Squared(), Squared()]
    terms = []
    for names, loss in zip(slots, losses, strict=True):
        shape = tuple(sizes[s] for s in names)
        cells = np.argwhere(np.ones(shape))
        cells = cells[cells[:, 0] > cells[:, 1]] if names == (0, 0) else cells
        terms.append(Term(Entries(cells, np.zeros(len(cells)), shape, unobserved="missing"), CP(), loss, names))
    coupled = CoupledTables(terms, sizes, biased=[True, False, False, False])
    chain = gibbs(coupled, Draw(coupled.start(1, rng, scale=1), np.full(4, 1.5)), priors=priors, rng=rng, threads=1)
    kept = []
    for sweep in range(12_000):
        draw = next(chain)
        for t, loss in enumerate(losses):
            m = coupled.products(draw.state[0], t, 1) + coupled.biases(draw.state[1 + t], t)
            if isinstance(loss, Logistic):
                coupled.values[t] = (rng.random(len(m)) < expit(m)).astype(float)
            else:
                coupled.values[t] = m + rng.standard_normal(len(m)) / np.sqrt(draw.alphas[t])
        if sweep % 12 == 0:
            kept.append([*draw.alphas, *(offsets[0] for offsets in draw.state[1:]), draw.state[1][1]])
    columns = np.array(kept).T
    for t in (0, 2, 3):
        assert stats.kstest(columns[t], stats.gamma(3.0, scale=1 / 2.0).cdf).pvalue > 0.001
    for intercept in columns[4:8]:
        assert stats.kstest(intercept, stats.norm.cdf).pvalue > 0.001
    marginal = stats.t(2 * 3.0, scale=np.sqrt(2.0 / 3.0))  # a normal variable of gamma precision
    assert stats.kstest(columns[8], marginal.cdf).pvalue > 0.001


def test_chains_go_on_as_if_they_had_not_stopped():
    """And keep no more draws than they may; averages are those of all draws."""
    coupled = many()

    def chain(kept):
        rng = np.random.default_rng(3)
        start = Draw(coupled.start(2, rng, scale=0.1), np.ones(5))
        return MarkovChain.of(coupled, start, rng, priors=Priors(), n_samples=kept, threads=2)

    whole, parts, seen, average = chain(1000), chain(5), [], Average()
    whole.run(20, burn_in=3, seen=seen.append)
    for draws in (7, 13):
        parts.run(draws, burn_in=3 if draws == 7 else 0, seen=lambda draw: average.add(draw.state[0]))
    for one, other in zip(whole.last.state, parts.last.state, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (parts.made, parts.sweeps, len(whole.draws)) == (20, 23, 20)
    assert len(parts.draws) == 5
    np.testing.assert_array_equal(parts.draws[1].state[0], whole.draws[4].state[0])
    np.testing.assert_allclose(average.mean, np.mean([draw.state[0] for draw in seen], axis=0))
    np.testing.assert_allclose(average.variance, np.var([draw.state[0] for draw in seen], axis=0), atol=1e-12)


def interrupted(monkeypatch, module, call):
    """Press Ctrl-C when rows of a factor are solved for that often."""
    solve, calls = posterior_rows, []

    def pressed(*args, **options):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return solve(*args, **options)

    monkeypatch.setattr(import_module(f"polyadic.completion.coupled.{module}"), "posterior_rows", pressed)


def test_chains_go_on_after_ctrl_c(monkeypatch):
    """With the draws that there would have been."""
    coupled = many()

    def chain():
        rng = np.random.default_rng(3)
        start = Draw(coupled.start(2, rng, scale=0.1), np.ones(5))
        return MarkovChain.of(coupled, start, rng, priors=Priors(), n_samples=9, threads=1)

    whole, cut = chain(), chain()
    whole.run(8, seen=lambda _: None)
    interrupted(monkeypatch, "gibbs", 11)  # the second of three factors, in the fourth sweep
    cut.run(8, seen=lambda _: None)
    assert (cut.interrupted, cut.made) == (True, 3)
    again = MarkovChain.resumed(coupled, cut.memory(), priors=Priors(), n_samples=9, threads=1)
    for one in (cut, again):
        one.run(5, seen=lambda _: None)
        assert not one.interrupted
        for part, other in zip(one.last.state, whole.last.state, strict=True):
            np.testing.assert_array_equal(part, other)


def test_priors_are_checked():
    """Before the first draw."""
    refuses("rate must be", Priors, rate=0.0)
    refuses("intercept must be", Priors, intercept=-1.0)


def test_draws_are_refused_for_other_losses():
    """Counts have none, and truth values no weights."""
    coupled = CoupledTables([table((0, 1), SoftplusPoisson(), seed=0)], SIZES, biased=[True])
    start = Draw(coupled.start(2, np.random.default_rng(0), scale=1), np.ones(1))
    with pytest.raises(InputError, match=r"got SoftplusPoisson; use variational Bayes for counts"):
        next(gibbs(coupled, start, priors=Priors(), rng=np.random.default_rng(0), threads=1))
    coupled = CoupledTables([table((0, 1), Logistic(), seed=0, weighted=True)], SIZES, biased=[True])
    with pytest.raises(InputError, match="weights must be 1 for logistic loss"):
        next(gibbs(coupled, start, priors=Priors(), rng=np.random.default_rng(0), threads=1))


# ---- variational distributions


def fitted(coupled, *, rank=3, sweeps=200):
    prior = GammaPrior()
    start = beliefs(coupled, rank, np.random.default_rng(0), prior=prior, threads=1)
    return run(variational(coupled, start, prior=prior, threads=2), max_iter=sweeps, tol=0)


def bound(coupled, q):
    return -next(variational(coupled, q, prior=GammaPrior(), threads=1)).objective


@pytest.fixture(scope="module")
def coupled():
    return many(table((1, 2), SoftplusPoisson(), seed=6))


@pytest.fixture(scope="module")
def distribution(coupled):
    return fitted(coupled, sweeps=150)


def test_the_bound_never_falls(distribution):
    """With all kinds of tables."""
    history = np.array(distribution.history)
    assert (np.diff(history) <= 1e-9 * np.abs(history[0])).all()


def test_nothing_near_has_a_higher_bound(coupled, distribution):
    """After the last sweep, moving any part of the distribution a little lowers the bound."""
    arrays = distribution.factors
    rng = np.random.default_rng(1)
    best = bound(coupled, Beliefs.of(arrays, len(coupled.terms), 3))
    for number, array in enumerate(arrays):
        zeros = 1 <= number <= len(coupled.terms) and coupled.zeros[number - 1]
        if not array.size or zeros:  # a table of weighted zeros has no intercept
            continue
        for _ in range(3):
            q = Beliefs.of([one.copy() for one in arrays], len(coupled.terms), 3)
            moved = q.arrays()
            change = 0.02 * rng.standard_normal(array.shape) * (np.abs(array) if number > 6 else 0.1)
            if array.ndim == 2:
                change[-1] = 0  # the row of ones
            if array.ndim == 3:
                change = np.einsum("n,nrs->nrs", 0.05 * rng.standard_normal(len(array)), array)
            moved[number] = array + change
            assert bound(coupled, Beliefs.of(moved, len(coupled.terms), 3)) <= best + 1e-6 * abs(best)


def test_the_bound_lies_below_the_evidence():
    """One row, one column, one observation, precisions almost known: the integral is done on a grid."""
    x = 1.3
    prior = GammaPrior(1e6, 1e6)  # precisions of 1, to a thousandth
    coupled = CoupledTables(
        [Term(Entries(np.array([[0, 0]]), np.array([x]), (1, 1)), CP(), Squared(), (0, 1))], (1, 1), biased=[False]
    )
    start = beliefs(coupled, 1, np.random.default_rng(0), prior=prior, threads=1)
    result = run(variational(coupled, start, prior=prior, threads=1), max_iter=500, tol=0)
    grid = np.linspace(-8, 8, 801)
    u, v = np.meshgrid(grid, grid)
    o = result.factors[1][0]  # a point, so part of the model
    density = stats.norm.pdf(u) * stats.norm.pdf(v) * stats.norm.pdf(x - o - u * v)
    evidence = np.log(density.sum() * (grid[1] - grid[0]) ** 2)
    assert evidence - 0.7 < -result.history[-1] <= evidence + 1e-3


def test_the_bound_lies_below_the_evidence_of_counts():
    """One cell that was counted: the likelihood is a probability, log x! included."""
    x, prior = 5.0, GammaPrior(1e6, 1e6)
    coupled = CoupledTables(
        [Term(Entries(np.array([[0, 0]]), np.array([x]), (1, 1)), CP(), SoftplusPoisson(), (0, 1))],
        (1, 1),
        biased=[False],
    )
    start = beliefs(coupled, 1, np.random.default_rng(0), prior=prior, threads=1)
    result = run(variational(coupled, start, prior=prior, threads=1), max_iter=500, tol=0)
    grid = np.linspace(-8, 8, 801)
    u, v = np.meshgrid(grid, grid)
    counted = stats.poisson.pmf(x, np.logaddexp(0, result.factors[1][0] + u * v))
    evidence = np.log((stats.norm.pdf(u) * stats.norm.pdf(v) * counted).sum() * (grid[1] - grid[0]) ** 2)
    assert evidence - 1 < -result.history[-1] <= evidence + 1e-3


def test_ctrl_c_before_there_is_a_distribution(monkeypatch):
    """Ends the fit: nothing would be kept."""
    interrupted(monkeypatch, "coordinate_descent", 4)
    with pytest.raises(KeyboardInterrupt):
        beliefs(many(), 2, np.random.default_rng(0), prior=GammaPrior(), threads=1)


def test_components_that_are_not_needed_vanish():
    """Planted rank 2, rank 5 allowed: three lose all relevance, and the noise is found."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 40)) + 0.3 * rng.standard_normal((60, 40))
    cells = np.argwhere(rng.random(x.shape) < 0.4)
    entries = Entries(cells, x[tuple(cells.T)], x.shape, unobserved="missing")
    coupled = CoupledTables([Term(entries, CP(), Squared(), (0, 1))], x.shape, biased=[False])
    q = Beliefs.of(fitted(coupled, rank=5, sweeps=200).factors, 1, 2)
    squares = np.sort(np.prod([(coupled.factor(q.means[0], s) ** 2).sum(axis=0) for s in (0, 1)], axis=0))
    assert (squares[:3] < 0.01 * squares[3]).all()
    assert q.alphas[0] ** -0.5 == pytest.approx(0.3, rel=0.1)
    left = x - coupled.factor(q.means[0], 0) @ coupled.factor(q.means[0], 1).T - q.means[1][0]
    hidden = np.ones(x.shape, bool)
    hidden[tuple(cells.T)] = False
    assert np.sqrt(np.mean(left[hidden] ** 2)) < 0.4


def test_truth_values_of_a_planted_matrix():
    """A logistic table's unseen cells: nearly as well told as by the planted log-odds."""
    rng = np.random.default_rng(0)
    m = 2 * rng.standard_normal((80, 2)) @ rng.standard_normal((2, 60))
    x = (rng.random(m.shape) < expit(m)).astype(float)
    seen = rng.random(m.shape) < 0.5
    cells = np.argwhere(seen)
    entries = Entries(cells, x[seen], m.shape, unobserved="missing")
    coupled = CoupledTables([Term(entries, CP(), Logistic(), (0, 1))], m.shape, biased=[False])
    q = Beliefs.of(fitted(coupled, rank=3, sweeps=60).factors, 1, 2)
    found = coupled.factor(q.means[0], 0) @ coupled.factor(q.means[0], 1).T + q.means[1][0]
    truth = np.mean((m > 0)[~seen] == x[~seen])
    assert np.mean((found > 0)[~seen] == x[~seen]) > truth - 0.04
