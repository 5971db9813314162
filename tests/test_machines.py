"""Factorization machines: their form against explicit sums, exact steps, draws, and what a user meets."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, sparse, stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from polyadic import (
    BayesianFactorizationMachine,
    BayesianFactorizationMachineClassifier,
    FactorizationMachine,
    FactorizationMachineClassifier,
    FactorizationMachineRanker,
    FieldEncoder,
    InputError,
    load,
)
from polyadic.completion.coupled.gibbs import Priors
from polyadic.core.losses import Huber, Logistic, Squared
from polyadic.core.solvers.run import NotConvergedWarning
from polyadic.core.solvers.sgd import LearningRate
from polyadic.supervised.fm_gibbs import draw_machines, first_draw, latent
from polyadic.supervised.fm_solvers import Machine, Observed, Ridge, Stepper, descend_features, orders_of, started
from polyadic.supervised.kernels import FeatureTable, GradientBuffer, anova_scores, anova_sweep

pytestmark = pytest.mark.filterwarnings("ignore::polyadic.core.solvers.run.NotConvergedWarning")


def features(rng, rows=12, size=7, density=0.5):
    X = sparse.random_array((rows, size), density=density, rng=rng, data_sampler=rng.standard_normal)
    return sparse.csr_array(X)


def explicit(X, V, orders):
    """Sum over sets of features, one by one, for all rows."""
    total = np.zeros(len(X))
    for v, d in zip(V.T, orders, strict=True):
        for chosen in itertools.combinations(range(X.shape[1]), int(d)):
            total += np.prod((v * X)[:, chosen], axis=1)
    return total


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


# ---- the form


@given(seed=st.integers(0, 10**6), order=st.integers(1, 4), density=st.sampled_from([0.0, 0.3, 1.0]))
def test_scores_are_the_explicit_sums_over_pairs_triples_and_so_on(seed, order, density):
    """Anova_scores of any orders, by threads or not, for all rows or some."""
    rng = np.random.default_rng(seed)
    X, orders = features(rng, density=density), orders_of((2,) * (order - 1))
    V, table = rng.standard_normal((7, len(orders))), FeatureTable(X)
    found = anova_scores(table, V, orders=orders)
    np.testing.assert_allclose(found, explicit(X.toarray(), V, orders), atol=1e-9)
    rows = np.array([3, 3, 0])
    np.testing.assert_array_equal(anova_scores(table, V, orders=orders, rows=rows), found[rows])


def test_a_machine_worked_by_hand():
    """1 + (1*2 - 1*3) + <(1, 2), (3, 1)> * 2 * 3 = 1 - 1 + 30."""
    model = FactorizationMachine(2)
    model.bias_, model.V_, model.n_features_in_ = 1.0, np.array([[1.0, 1.0, 2.0], [-1.0, 3.0, 1.0], [9.0, 9.0, 9.0]]), 3
    assert model.predict([[2.0, 3.0, 0.0]]).tolist() == [30.0]


def test_gradients_are_those_of_finite_differences():
    """What anova_pull collects is the derivative of weighted scores, for orders 1 to 3."""
    rng = np.random.default_rng(0)
    X, orders, rows = features(rng), orders_of((2, 2)), np.array([0, 4, 4, 9])
    table, V, slopes = FeatureTable(X), rng.standard_normal((7, 5)), rng.standard_normal(4)
    moves = GradientBuffer(V.shape)
    moves.pull(table, V, orders=orders, rows=rows, slopes=slopes)

    def total(flat):
        return float(slopes @ anova_scores(table, flat.reshape(V.shape), orders=orders, rows=rows))

    np.testing.assert_allclose(moves._G.ravel(), optimize.approx_fprime(V.ravel(), total), atol=1e-5)


def test_an_exact_step_is_the_best_value_of_a_parameter():
    """A step of anova_sweep finds what brute force finds; with anova_terms it keeps what rows leave unexplained."""
    rng = np.random.default_rng(1)
    for order in (1, 2, 3):
        X, y, w = features(rng, rows=30, density=0.7), rng.standard_normal(30), rng.random(30)
        table, v, ridge = FeatureTable(X), rng.standard_normal(7), np.full(7, 0.3)
        orders = np.array([order])

        def objective(value, v=v, table=table, orders=orders, y=y, w=w):
            left = y - anova_scores(table, np.r_[value, v[1:]][:, None], orders=orders)
            return 0.7 * w @ left**2 + 0.3 * value**2

        C = np.zeros((30, order))
        C[:, 0] = y - anova_scores(table, v[:, None], orders=orders)
        best = optimize.minimize_scalar(objective).x
        anova_sweep(table, v, C, ridge=ridge, precision=0.7, weights=w)
        # feature 0 is solved for first, given the others as they were
        assert v[0] == pytest.approx(best, abs=1e-6)
        np.testing.assert_allclose(C[:, 0], y - anova_scores(table, v[:, None], orders=orders), atol=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_what_is_kept_up_need_not_be_made_anew(order, kind):
    """Sweeps that go on from the polynomials of the last one do what others do; in either precision."""
    rng = np.random.default_rng(2)
    X, y = features(rng, rows=60, density=0.7), rng.standard_normal(60)
    table, ridge, start = FeatureTable(X), np.full(7, 0.3), rng.standard_normal(7)
    ends = []
    for precise, keeps in ((np.float64, False), (kind, False), (kind, True)):
        v, C = start.copy(), np.zeros((60, order), precise)
        C[:, 0] = y - anova_scores(table, v[:, None], orders=np.array([order]))
        for sweep in range(3):
            anova_sweep(table, v, C, ridge=ridge, reuse_terms=keeps and sweep > 0)
        ends.append(v)
    for end in ends[1:]:
        np.testing.assert_allclose(end, ends[0], atol=1e-12 if kind is np.float64 else 1e-4)


def test_threads_do_not_change_a_sweep(monkeypatch):
    """Features of one field meet in no row, so that they may be solved for side by side: the same bits."""
    monkeypatch.setattr("polyadic.supervised.kernels.MIN_PARALLEL_SIZE", 1)
    rng = np.random.default_rng(0)
    X = FieldEncoder().fit_transform({name: rng.integers(0, 20, 300).tolist() for name in "abc"})
    y, found = rng.standard_normal(300), []
    assert len(FeatureTable(X).runs) == 3
    assert sum(len(step) > 1 for step in FeatureTable(X).parts(3)) == 3
    for threads in (1, 3):
        model = FactorizationMachine(3, order=3, max_iter=4, tol=0, seed=0, threads=threads).fit(X, y)
        found.append(model.V_)
    np.testing.assert_array_equal(*found)
    together = np.concatenate([np.concatenate(step) for step in FeatureTable(X).parts(3)])
    assert sorted(together.tolist()) == [*range(X.shape[1])]


# ---- descent


@pytest.mark.parametrize("loss", [Squared(), Huber(0.5), Logistic()])
@pytest.mark.parametrize("weighted", [False, True])
def test_exact_steps_never_raise_the_objective(loss, weighted):
    """For every loss of bounded curvature; the objective is what the formula says, and where it ends is stationary."""
    rng = np.random.default_rng(2)
    X, orders = features(rng, rows=60), orders_of((2, 1))
    y = (rng.random(60) < 0.5).astype(float) if isinstance(loss, Logistic) else rng.standard_normal(60)
    w = rng.random(60) if weighted else None
    data, ridge = Observed(FeatureTable(X), y, w), Ridge(np.array([0.1, 0.5, 0.5, 0.7]), 0.5)
    start = Machine(0.3, started(data.table, orders, 0.5, rng))
    solver = descend_features(data, start, orders=orders, loss=loss, ridge=ridge)
    history = [next(solver) for _ in range(400)]
    values = np.array([sweep.objective for sweep in history])
    assert (np.diff(values) <= 1e-9 * values[0]).all()
    dense, counts = X.toarray(), (X.toarray() != 0).T @ (np.ones(60) if w is None else w)

    def objective(flat):
        V = flat[1:].reshape(7, 4)
        m = flat[0] + explicit(dense, V, orders)
        parts = loss.value(y, m)
        return float((parts if w is None else w * parts).sum() + 0.5 * counts**0.5 @ (V**2 @ ridge.columns))

    bias, V = history[-1].factors
    flat = np.r_[bias, V.ravel()]
    assert objective(flat) == pytest.approx(values[-1])
    assert np.abs(optimize.approx_fprime(flat, objective, 1e-7)).max() < 1e-3


@pytest.mark.parametrize(("solver", "step"), [("sgd", 0.02), ("adagrad", 0.1)])
def test_stochastic_steps_descend_to_where_exact_ones_end(solver, step):
    """All solvers have one objective: from one start they reach nearly the same value."""
    rng = np.random.default_rng(3)
    X = FieldEncoder().fit_transform({"a": rng.integers(0, 8, 400).tolist(), "b": rng.integers(0, 9, 400).tolist()})
    y = rng.standard_normal((8, 2))[X[:, :8].argmax(axis=1)].sum(axis=1) + 0.1 * rng.standard_normal(400)
    how = {"ridge": 1.0, "seed": 0, "tol": 0}
    exact = FactorizationMachine(2, max_iter=100, **how).fit(X, y)
    found = FactorizationMachine(2, solver=solver, learning_rate=step, decay=0.05, max_iter=150, batch=8, **how).fit(
        X, y
    )
    gained = exact.history_[0] - exact.history_[-1]
    assert found.history_[-1] < exact.history_[-1] + 0.02 * gained


def test_a_plain_step_of_one_row_is_that_of_the_textbook():
    """By sgd_features V moves by the slope times its derivative, then shrinks; the bias by the slope."""
    V, x, y = np.array([[0.5, 1.0], [0.2, -2.0]]), np.array([[1.0, 3.0]]), np.array([1.0])
    data = Observed(FeatureTable(sparse.csr_array(x)), y)
    steps, ridge = LearningRate(0.1, 0.0), Ridge(np.array([0.0, 2.0]), 0.0)
    stepper = Stepper(Machine(0.1, V), orders=orders_of((1,)), ridge=ridge, steps=steps, batch=1, adagrad=False)
    stepper.counts = stepper.rows = np.array([1.0, 4.0])
    stepper.epoch(data, Squared(), np.array([0]))
    slope = 0.1 + 0.5 + 0.6 + 1.0 * -2.0 * 3.0 - 1.0
    assert stepper.bias == pytest.approx(0.1 - 0.1 * slope)
    np.testing.assert_allclose(stepper.V[:, 0], [0.5 - 0.1 * slope, 0.2 - 0.3 * slope])
    moved = [(1.0 - 0.1 * slope * -6.0) / (1 + 0.1 * 2.0), (-2.0 - 0.1 * slope * 3.0) / (1 + 0.1 * 2.0 / 4)]
    np.testing.assert_allclose(stepper.V[:, 1], moved)


def test_adagrad_divides_by_the_root_of_squares_so_far():
    """Two steps of adagrad_features, worked by hand: sums over the rows of a step; what no row has stays."""
    table = FeatureTable(sparse.csr_array([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0]]))
    V, moves, orders = np.zeros((2, 1)), GradientBuffer((2, 1)), np.array([1])
    for rows, slopes in (([0, 1], [1.0, 1.0]), ([1, 0], [1.0, 0.0])):
        moves.pull(table, V, orders=orders, rows=np.array(rows), slopes=np.array(slopes))
        moves.adagrad(V, shares=np.zeros(2), ridges=np.zeros(1), step=0.1, eps=0.0)
    np.testing.assert_allclose(V, [[-0.1 * (4 / 4 + 3 / 5)], [0.0]])  # squares are 16, then 16 + 9
    assert moves.squares.tolist() == [[25.0], [0.0]]


@pytest.mark.parametrize(("solver", "step"), [("sgd", 0.005), ("adagrad", 0.1)])
def test_a_weight_stands_for_as_many_rows(solver, step):
    """Also in the penalty: rows of weight 5 have the optimum of rows that come five times."""
    rng = np.random.default_rng(18)
    X, y = features(rng, rows=40), rng.standard_normal(40)
    how = {"ridge": 5.0, "linear_ridge": 5.0, "tol": 0, "seed": 0}
    stochastic = FactorizationMachine(2, solver=solver, learning_rate=step, decay=0.1, batch=4, max_iter=150, **how)
    weighted = stochastic.fit(X, y, np.full(40, 5.0))
    exact = FactorizationMachine(2, max_iter=100, **how).fit(sparse.vstack([X] * 5, format="csr"), np.tile(y, 5))
    gained = exact.history_[0] - exact.history_[-1]
    assert weighted.history_[-1] == pytest.approx(exact.history_[-1], abs=0.05 * gained)


@pytest.mark.parametrize("solver", ["als", "adagrad", "sgd"])
def test_features_of_no_row_predict_nothing(solver):
    """They have no random share in predictions; a partial fit that first meets them learns factors for them."""
    X, y, _ = ratings(np.random.default_rng(19))
    known = X[:, [0]].toarray()[:, 0] == 0
    model = FactorizationMachine(3, solver=solver, max_iter=10, seed=0).fit(X[known], y[known])
    stranger, nobody = X[~known], X[~known].tolil()
    nobody[:, 0] = 0
    np.testing.assert_array_equal(model.predict(stranger), model.predict(nobody.tocsr()))
    if solver != "als":
        model.partial_fit(stranger, y[~known])
        assert model.factors_[0][0].all()


def test_zeros_that_are_listed_are_no_values():
    """Dense rows, and sparse ones that list all their zeros, make one machine; and the caller's arrays stay."""
    rng = np.random.default_rng(20)
    D, y = features(rng, rows=40).toarray(), rng.standard_normal(40)
    listed = sparse.csr_array((D.ravel(), np.tile(np.arange(7), 40), np.arange(0, 281, 7)), shape=D.shape)
    model = FactorizationMachine(2, max_iter=20, tol=0, seed=0)
    np.testing.assert_array_equal(model.fit(listed, y).predict(D), clone(model).fit(D, y).predict(D))
    FactorizationMachineRanker(max_iter=1).fit_choices(np.eye(40), np.eye(7), listed)
    assert listed.nnz == 280


@pytest.mark.parametrize("size", [1e3, 1e6])
def test_large_features_are_fitted_as_well(size):
    """Prices or years do not throw a fit so far off that it seems to settle on its way back."""
    rng = np.random.default_rng(21)
    X = rng.standard_normal((200, 4))
    y = 1 + X[:, 0] + 2 * X[:, 1] * X[:, 2]
    for model in (FactorizationMachine(2, seed=0), BayesianFactorizationMachine(2, draws=40, seed=0)):
        assert model.fit(size * X, y).score(size * X, y) > 0.99


@pytest.mark.parametrize("order", [2, 3])
def test_planted_machines_are_found(order):
    """Noiseless scores of a machine are predicted on other rows."""
    rng = np.random.default_rng(order)
    orders = orders_of((2, 1)[: order - 1])
    V, X = rng.standard_normal((8, len(orders))), rng.standard_normal((600, 8))
    y = 0.5 + anova_scores(FeatureTable(sparse.csr_array(X)), V, orders=orders)
    exact = FactorizationMachine((2, 1)[: order - 1], order=order, ridge=1e-3, linear_ridge=1e-3, max_iter=300, seed=0)
    drawn = BayesianFactorizationMachine((2, 1)[: order - 1], order=order, draws=50, burn_in=100, seed=0)
    for model in (exact, drawn):
        assert model.fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.99


def test_predictions_do_not_depend_on_the_order_of_rows_and_only_a_scale_of_features_matters():
    """Rows in another order give the same machine; a feature in other units too, if nothing is penalised."""
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((80, 5)), rng.standard_normal(80)
    model = FactorizationMachine(2, max_iter=20, tol=0, seed=0)
    order = rng.permutation(80)
    np.testing.assert_allclose(clone(model).fit(X[order], y[order]).predict(X), model.fit(X, y).predict(X), rtol=1e-8)
    free = FactorizationMachine(1, ridge=0, linear_ridge=0, max_iter=1500, tol=0, seed=0)
    units = np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    found = clone(free).fit(X * units, y).predict(X * units)
    np.testing.assert_allclose(found, free.fit(X, y).predict(X), atol=1e-3)


def test_a_linear_machine_is_ridge_regression():
    """With order 1 and no factors, as scikit-learn has it."""
    from sklearn.linear_model import Ridge as Linear

    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((50, 4)), rng.standard_normal(50)
    ours = FactorizationMachine(order=1, linear_ridge=3.0, count_power=0, max_iter=300, tol=0).fit(X, y)
    theirs = Linear(3.0).fit(X, y)
    np.testing.assert_allclose(ours.weights_, theirs.coef_, atol=1e-8)
    assert ours.bias_ == pytest.approx(theirs.intercept_)


def test_validation_keeps_the_best_sweep():
    """What is kept predicts the part held out best of all sweeps."""
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((60, 10)), rng.standard_normal(60)
    model = FactorizationMachine(4, ridge=0.01, max_iter=50, tol=0, seed=0).fit(
        X[:40], y[:40], validation=(X[40:], y[40:])
    )
    assert model.result_.best < model.n_iter_ < 50
    assert 0.5 * ((model.predict(X[40:]) - y[40:]) ** 2).sum() == pytest.approx(min(model.result_.measured))


def test_counts_and_wild_values():
    """The Poisson loss predicts means; Huber's is not moved by one wild value as squares are."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((800, 3))
    mean = np.exp(0.5 + 0.4 * X[:, 0] + 0.4 * X[:, 1] * X[:, 2])
    y = rng.poisson(mean)
    model = FactorizationMachine(
        2, loss="poisson", solver="adagrad", learning_rate=0.1, decay=0.1, max_iter=60, seed=0
    ).fit(X, y)
    assert np.corrcoef(model.predict(X), mean)[0, 1] > 0.95
    with pytest.raises(InputError, match="loss='poisson' is not supported by solver='als'"):
        FactorizationMachine(loss="poisson").fit(X, y)
    with pytest.raises(InputError, match="targets must not be negative"):
        FactorizationMachine(loss="poisson", solver="sgd").fit(X, y - 1)
    line = X[:, 0].copy()
    line[0] += 1e4
    found = {loss: FactorizationMachine(order=1, loss=loss).fit(X, line).predict(X) for loss in ("squared", "huber")}
    assert rmse(found["huber"], X[:, 0]) < 0.1 < rmse(found["squared"], X[:, 0])


def test_partial_fits_go_on(tmp_path):
    """Two passes in parts are those of one model."""
    rng = np.random.default_rng(8)
    X = features(rng, rows=200)
    y = X.sum(axis=1) + 0.1 * rng.standard_normal(200)
    for solver in ("sgd", "adagrad"):
        model = FactorizationMachine(2, solver=solver, seed=0)
        model.partial_fit(X[:100], y[:100])
        model.save(tmp_path / solver)
        loaded = load(tmp_path / solver)  # with what adapts the steps
        for one in (model, loaded):
            one.partial_fit(X[100:], y[100:])
            for _ in range(30):
                one.partial_fit(X, y)
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert rmse(model.predict(X), y) < 0.5 * y.std()
    assert not hasattr(FactorizationMachine(), "partial_fit")


def test_settings_of_a_partial_fit_are_those_of_now():
    """A step or a solver that was changed between two is heeded."""
    rng = np.random.default_rng(22)
    X, y = features(rng, rows=50), rng.standard_normal(50)
    first = FactorizationMachine(2, solver="adagrad", learning_rate=0.01, seed=0).partial_fit(X, y)
    moved = []
    for change in ({}, {"learning_rate": 0.2}, {"solver": "sgd"}):
        model = copy.deepcopy(first).set_params(**change).partial_fit(X, y)
        moved.append(np.abs(model.weights_ - first.weights_).max())
    assert moved[1] > 5 * moved[0]
    assert moved[2] != moved[0]


def test_a_partial_fit_that_diverges_leaves_the_model_as_it_was():
    """It is told, and nothing becomes NaN."""
    rng = np.random.default_rng(23)
    X, y = features(rng, rows=50), rng.standard_normal(50)
    model = FactorizationMachine(2, solver="sgd", seed=0).partial_fit(X, y)
    before = model.predict(X)
    with pytest.raises(InputError, match="lower learning_rate"):
        model.partial_fit(X, 1e9 * y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_a_fit_that_fails_leaves_no_half_of_one():
    """Neither with new classes on old parameters nor with a width alone is a model fitted."""
    X, y = np.eye(4), ["a", "b", "a", "b"]
    model = FactorizationMachineClassifier(2, max_iter=2, seed=0).fit(X, y)
    with pytest.raises(InputError, match="Only binary classification"):
        model.fit(X, ["c", "d", "e", "d"])
    bayesian = BayesianFactorizationMachine(2)
    with pytest.raises(InputError, match="groups must have"):
        bayesian.fit(X, [1.0, 2.0, 3.0, 4.0], groups=[0])
    ranker = FactorizationMachineRanker(2)
    with pytest.raises(InputError, match="different grades"):
        ranker.fit(X, [0.0, 0.0, 0.0, 0.0], groups=[0, 0, 0, 0])
    for failed in (model, bayesian, ranker):
        with pytest.raises(NotFittedError):
            failed.predict(X)


# ---- draws


@pytest.mark.slow
def test_the_chain_leaves_the_joint_distribution_alone():
    """Drawing parameters given data and data given parameters in turn, parameters keep their priors (Geweke)."""
    rng = np.random.default_rng(0)
    X, orders = sparse.csr_array(rng.standard_normal((5, 4)) * (rng.random((5, 4)) < 0.8)), orders_of((1, 1))
    priors, groups = Priors(beta=2.0, shape=3.0, rate=2.0, intercept=1.0), np.array([0, 0, 1, 1])
    for probit in (False, True):
        data = Observed(FeatureTable(X), np.zeros(5))
        start = first_draw(rng.standard_normal((4, 3)), 2)
        chain = draw_machines(data, start, orders=orders, groups=groups, priors=priors, probit=probit, rng=rng)
        kept = []
        for sweep in range(4_000):
            draw = next(chain)
            bias, V, means, precisions = draw.state
            m = bias[0] + anova_scores(data.table, V, orders=orders)
            if probit:
                data.y[:] = m + rng.standard_normal(5) > 0
            else:
                data.y[:] = m + rng.standard_normal(5) / np.sqrt(draw.alphas[0])
            chain = draw_machines(data, draw, orders=orders, groups=groups, priors=priors, probit=probit, rng=rng)
            if sweep % 8 == 0:
                kept.append(
                    [draw.alphas[0], bias[0], precisions[1, 0], precisions[0, 2], V[0, 0], V[3, 1], means[1, 2]]
                )
        alpha, bias, *precisions, w, v, mean = np.array(kept).T
        gamma = stats.gamma(3.0, scale=1 / 2.0).cdf
        for column in (*precisions, *([] if probit else [alpha])):
            assert stats.kstest(column, gamma).pvalue > 0.001
        assert stats.kstest(bias, stats.norm.cdf).pvalue > 0.001
        spread = np.sqrt(2.0 / 3.0)  # a normal variable of gamma precision
        for column in (w, v):
            assert stats.kstest(column, stats.t(6.0, scale=spread * np.sqrt(1 + 1 / 2.0)).cdf).pvalue > 0.001
        assert stats.kstest(mean, stats.t(6.0, scale=spread * np.sqrt(1 / 2.0)).cdf).pvalue > 0.001


def test_a_bias_alone_has_its_conjugate_posterior():
    """Rows without features: the moments of a normal mean, given the noise of each draw."""
    rng = np.random.default_rng(1)
    data = Observed(FeatureTable(sparse.csr_array((20, 2))), 3 + rng.standard_normal(20))
    how = {"orders": orders_of((1,)), "groups": np.zeros(2, int), "priors": Priors(intercept=2.0), "probit": False}
    chain = draw_machines(data, first_draw(np.zeros((2, 2)), 1), rng=rng, **how)
    bias, alpha = np.array([(draw.state[0][0], draw.alphas[0]) for draw in itertools.islice(chain, 4000)]).T
    known = 20 * alpha + 2
    # each bias was drawn given the noise of its own sweep
    standard = (bias - alpha * data.y.sum() / known) * np.sqrt(known)
    assert stats.kstest(standard, stats.norm.cdf).pvalue > 0.001


def test_latent_variables_are_truncated_normal():
    """Also far in the tail, where probabilities are no numbers any more."""
    rng = np.random.default_rng(0)
    drawn = latent(np.ones(4000), np.full(4000, -1.0), rng)
    assert stats.kstest(drawn, stats.truncnorm(1.0, np.inf, loc=-1.0).cdf).pvalue > 0.001
    assert (
        stats.kstest(latent(np.zeros(4000), np.full(4000, 1.0), rng), stats.truncnorm(-np.inf, -1, 1).cdf).pvalue
        > 0.001
    )
    far = latent(np.array([1.0, 0.0]), np.array([-300.0, 300.0]), rng)
    assert 0 < far[0] < 0.1
    assert -0.1 < far[1] < 0


def ratings(rng, people=40, things=30, noise=0.5):
    U, V = rng.standard_normal((people, 2)), rng.standard_normal((things, 2))
    i, j = np.divmod(rng.permutation(people * things), things)
    y = (U[i] * V[j]).sum(axis=1) + noise * rng.standard_normal(len(i))
    encoder = FieldEncoder().fit({"person": i.tolist(), "thing": j.tolist()})
    return encoder.transform({"person": i.tolist(), "thing": j.tolist()}), y, encoder.groups_


def test_averages_of_draws_beat_the_last_draw_and_know_their_error():
    """On rows held out; two thirds of truth is within a standard deviation."""
    X, y, groups = ratings(np.random.default_rng(9))
    model = BayesianFactorizationMachine(4, draws=80, seed=0).fit(X[:800], y[:800], groups=groups)
    mean, std = model.predict(X[800:], return_std=True)
    assert model.n_draws_ == len(model.draws_) == 80
    assert 0.45 < model.noise_ < 0.6
    assert 0.55 < np.mean(np.abs(mean - y[800:]) < std) < 0.8
    model.draws_ = model.draws_[-1:]
    assert rmse(mean, y[800:]) < 0.95 * rmse(model.predict(X[800:]), y[800:])
    assert model.penalties_.shape == (2, 5)


def test_kept_draws_are_thinned_and_clipped_predictions_stay_in_range():
    """No more than asked for are kept, spread over all; with clip nothing is beyond what was seen."""
    X, y, _ = ratings(np.random.default_rng(10))
    model = BayesianFactorizationMachine(2, draws=30, n_samples=8, clip=True, seed=0).fit(
        X[:600], y[:600].clip(-0.5, 0.5)
    )
    assert len(model.draws_) <= 8
    assert model.n_draws_ == 30
    assert np.abs(model.predict(X)).max() <= 0.5


@pytest.mark.parametrize("order", [1, 2])
def test_probabilities_are_calibrated(order):
    """Of probit truth values the probabilities predicted agree with those they were drawn by."""
    from scipy.special import ndtr

    rng = np.random.default_rng(11)
    X = rng.standard_normal((3000, 3))
    p = ndtr(0.3 + X[:, 0] + (0.8 * X[:, 1] * X[:, 2] if order == 2 else 0))
    y = np.where(rng.random(3000) < p, "yes", "no")
    model = BayesianFactorizationMachineClassifier(2, order=order, draws=60, seed=0).fit(X[:2000], y[:2000])
    assert rmse(model.predict_proba(X[2000:])[:, 1], p[2000:]) < 0.05
    score = FactorizationMachineClassifier(2, order=order, ridge=0.1, seed=0).fit(X[:2000], y[:2000])
    assert rmse(score.predict_proba(X[2000:])[:, 1], p[2000:]) < 0.05
    assert (score.predict(X) == score.classes_[(score.decision_function(X) > 0).astype(int)]).all()


# ---- ranking


def test_choices_rank_above_what_was_not_chosen():
    """Held-out choices of two camps are found among the things of their camp; by features of things too."""
    rng = np.random.default_rng(13)
    camp = np.kron(np.eye(2), np.ones((20, 15)))
    chosen = camp * (rng.random(camp.shape) < 0.5)
    people, things = sparse.eye_array(40, format="csr"), sparse.eye_array(30, format="csr")
    model = FactorizationMachineRanker(4, max_iter=60, seed=0).fit_choices(people, things, chosen)
    rows = sparse.hstack([sparse.kron(people, np.ones((30, 1))), sparse.vstack([things] * 40)], format="csr")
    scores = model.predict(rows).reshape(40, 30)
    won = [np.mean(s[(c > 0) & (k == 0)][:, None] > s[c == 0]) for s, c, k in zip(scores, camp, chosen, strict=True)]
    assert np.mean(won) > 0.9
    assert model.history_[-1] < model.history_[0]


def test_grades_of_groups_are_put_in_order():
    """What is learned of some groups orders others; shifts of a group do not matter."""
    rng = np.random.default_rng(14)
    X, groups = rng.standard_normal((600, 4)), np.repeat(np.arange(60), 10)
    truth = X[:, 0] + X[:, 1] * X[:, 2]
    grades = np.digitize(truth, [-1, 0, 1])
    first = groups < 40
    model = FactorizationMachineRanker(2, max_iter=60, seed=0).fit(X[first], grades[first], groups=groups[first])
    found = [stats.spearmanr(model.predict(X[groups == g]), truth[groups == g]).statistic for g in range(40, 60)]
    assert np.mean(found) > 0.9
    with pytest.raises(InputError, match="different grades"):
        FactorizationMachineRanker().fit(X, np.zeros(600), groups=groups)
    with pytest.raises(InputError, match="at least one context must have both"):
        FactorizationMachineRanker().fit_choices(np.eye(2), np.eye(2), np.ones((2, 2)))


# ---- fields


def test_fields_become_features_and_unknown_values_are_counted_or_refused():
    """Names, groups, several values, numbers, missing ones."""
    table = {"user": [3, 1, 3], "tags": [["a", "b"], [], None], "age": [1.5, 2.0, 3.0]}
    encoder = FieldEncoder()
    X = encoder.fit_transform(table)
    assert X.toarray().tolist() == [[0, 1, 0.5, 0.5, 1.5], [1, 0, 0, 0, 2.0], [0, 1, 0, 0, 3.0]]
    assert encoder.names_ == ["user=1", "user=3", "tags=a", "tags=b", "age"]
    assert encoder.groups_.tolist() == [0, 0, 1, 1, 2]
    new = {"user": [7, 1], "tags": [["b", "z"], ["a"]], "age": [0.0, 0.0]}
    assert encoder.transform(new).toarray().tolist() == [[0, 0, 0, 0.5, 0], [1, 0, 1, 0, 0]]
    assert encoder.skipped_ == {"user": 1, "tags": 1}
    with pytest.raises(InputError, match="row 0: value '7' of field user was not seen"):
        clone(encoder).set_params(unknown="error").fit(table).transform(new)
    for faulty, message in (
        ({"age": ["a", "b"]}, "field age must contain only numbers"),
        ({"age": [1.0, np.inf]}, "field age must contain only finite numbers; row 1 does not"),
    ):
        with pytest.raises(InputError, match=message):
            encoder.transform({"user": [1, 1], "tags": [[], []]} | faulty)
    assert encoder.transform({"user": [], "tags": [], "age": []}).shape == (0, 5)
    with pytest.raises(InputError, match="at least one row"):
        encoder.fit({"user": []})
    with pytest.raises(InputError, match="field age must contain only finite numbers"):
        encoder.fit(table | {"age": [1.0, np.nan, 2.0]})
    with pytest.raises(InputError, match="all fields must have the same length"):
        encoder.fit(table | {"age": [1.0]})
    with pytest.raises(InputError, match="columns must have the fields user, tags, age"):
        encoder.transform({"user": [1]})


def test_records_frames_and_missing_values():
    """The same features from columns, records and data frames; a missing value has none, and a number must be there."""
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    table = {"user": ["a", None, "b", "a"], "year": [1, 2, None, 2], "age": [1.0, 2.0, 3.0, 4.0]}
    right = [[1, 0, 1, 0, 1], [0, 0, 0, 1, 2], [0, 1, 0, 0, 3], [1, 0, 0, 1, 4]]
    records = [
        {name: value for name, value in zip(table, row, strict=True) if value}
        for row in zip(*table.values(), strict=True)
    ]
    nullable = pandas.DataFrame(table | {"year": pandas.array(table["year"], dtype="Int64")})
    floating = table | {"user": ["a", float("nan"), "b", "a"], "year": [1, 2, np.float32("nan"), 2]}
    for each in (table, records, nullable, arrow.table(table), floating):
        encoder = FieldEncoder().fit(each)
        assert encoder.names_ == ["user=a", "user=b", "year=1", "year=2", "age"]
        assert encoder.transform(each).toarray().tolist() == right
    assert encoder.transform([{"age": 5.0}]).toarray().tolist() == [[0, 0, 0, 0, 5]]
    assert FieldEncoder().fit_transform({"tags": [["a", None, "b"], [None]]}).toarray().tolist() == [[0.5, 0.5], [0, 0]]
    with pytest.raises(InputError, match=r"field age must contain only finite numbers; row 1 does not\. Replace"):
        FieldEncoder().fit([{"age": 1.0}, {}])
    for wrong in ([1, 2], "abc", np.ones((2, 2))):
        with pytest.raises(InputError, match="columns must be a mapping of fields, a data frame or a list of dicts"):
            FieldEncoder().fit(wrong)


def test_columns_without_a_first_place():
    """What is taken from the middle of a data frame keeps its labels, of which 0 may be none."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"user": ["a", "b", "c"], "age": [1.0, 2.0, 3.0]})
    assert FieldEncoder().fit_transform(table[1:]).toarray().tolist() == [[1, 0, 2], [0, 1, 3]]


# ---- bad input


def test_bad_ranks_groups_and_classes_are_refused():
    """A rank for each order or one for all, one whole number a feature; two classes."""
    X, y = np.eye(3), [1.0, 2.0, 3.0]
    with pytest.raises(InputError, match="rank must be one number, or one for each order from 2 to 2; got"):
        FactorizationMachine((2, 2)).fit(X, y)
    with pytest.raises(InputError, match="groups must have a non-negative integer"):
        BayesianFactorizationMachine(2).fit(X, y, groups=[0, 1])
    with pytest.raises(InputError, match="Only binary classification"):
        FactorizationMachineClassifier(2).fit(X, ["a", "b", "c"])
    model = FactorizationMachineClassifier(2, solver="sgd").partial_fit(X, ["a", "b", "b"])
    with pytest.raises(InputError, match=r"labels must be among the classes .* got 'c'"):
        model.partial_fit(X, ["a", "b", "c"])


@pytest.mark.realdata
def test_ratings_of_films_are_predicted_from_what_is_known_of_people(realdata):
    """MovieLens 100K, fold u1: a short chain is well below biases (.962), and its average below its last draw."""
    from experiments.predictors.machines import drawn

    told = drawn("u1", attributes=True, rank=4, draws=20, root=realdata)
    assert told["rmse"] < min(0.92, told["last_draw"] - 0.02)


def test_settled_fits_say_so():
    """Without an end to the sweeps there is a warning."""
    rng = np.random.default_rng(17)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    with pytest.warns(NotConvergedWarning):
        FactorizationMachine(2, max_iter=1).fit(X, y)
    assert FactorizationMachine(2, max_iter=2000, seed=0).fit(X, y).converged_
