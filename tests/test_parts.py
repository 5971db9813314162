"""Losses, penalties and forms: derivatives, proximal operators, adjoints."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import expit

import reference
from polyadic.core.errors import InputError
from polyadic.core.forms import CP
from polyadic.core.losses import Huber, Logistic, Poisson, Squared, WithOutliers
from polyadic.core.penalties import L1, L2, NonNegative, PositiveL1

LOSSES = [Squared(), Poisson(), Logistic(), Huber(), Huber(0.3), WithOutliers(Squared(), 0.4)]
PENALTIES = [L2(), L2(0.7), L1(), L1(0.7), NonNegative(), NonNegative(0.7)]
numbers = st.integers(-5000, 5000).map(lambda n: n / 1000)  # differences need room between a number and zero
values = st.sampled_from([0.0, 0.7, -0.7]) | numbers


def factors_of(seed, shape, rank):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((n, rank)) for n in shape]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@given(x=numbers, m=numbers)
@example(x=0.0, m=0.3)
def test_loss_gradient(loss, x, m):
    """The derivative of a loss is what differences of its values say, to a quarter of their step where it bends."""
    x, m = (abs(x), abs(m) + 0.1) if isinstance(loss, Poisson) else (x, m)
    truth = reference.numerical_gradient(lambda p: float(loss.value(np.array([x]), p)[0]), np.array([m]), 1e-5)
    assert loss.grad(np.array([x]), np.array([m])) == pytest.approx(truth, rel=1e-6, abs=3e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@given(x=numbers, m=numbers)
def test_loss_of_a_perfect_prediction(loss, x, m):
    """A perfect prediction costs nothing and is left alone; no other costs less."""
    x, m = np.array([x]), np.array([m])
    if isinstance(loss, Poisson):
        x, m = abs(x) + 0.001, abs(m)
    best = x
    if isinstance(loss, Logistic):  # log-odds of x
        x = expit(x)
    assert loss.value(x, best) == (0 if best is x else pytest.approx(-(x * np.log(x) + (1 - x) * np.log(1 - x))))
    assert loss.grad(x, best) == 0
    assert loss.value(x, m) >= loss.value(x, best) - 1e-12


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_losses_far_away(loss):
    """Losses and derivatives stay finite where predictions are far off."""
    x, m = np.array([0.0, 1.0, 1.0]), np.array([800.0, 800.0, 0.0])
    assert np.isfinite(loss.value(x, m)).all()
    assert np.isfinite(loss.grad(x, m)).all()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@given(m=st.floats(0, 9))
def test_losses_of_zeros(loss, m):
    """Where zero is observed the loss is half the square of the prediction, or the prediction, or has no formula."""
    formula = {"squares": 0.5 * m**2, "total": m}
    if loss.zeros:
        assert loss.value(np.zeros(1), np.array([m])) == pytest.approx(formula[loss.zeros])


def test_positive_l1_leaves_the_dead_alone():
    """The variant of the lasso by Bailey and Aeron: negative elements feel nothing of it."""
    u = np.array([-1.0, 0.0, 2.0])
    assert PositiveL1(0.5).value(u) == 1
    assert PositiveL1(0.5).grad(u).tolist() == [0, 0, 0.5]
    assert PositiveL1(0.5).prox(u, 2.0).tolist() == [-1, 0, 1]
    assert PositiveL1(0.5).steepest(u, u) is u


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("part", [*LOSSES, *PENALTIES, CP()], ids=repr)
def test_parts_keep_precision(part, kind):
    """Parts answer in the precision of what they are given."""
    u = np.full((2, 3), 0.5, kind)
    if isinstance(part, CP):
        m, pullback = part([u, u], np.array([[0, 1]]))
        answers = [m, *pullback(m), *part.all_cells([u, u])[1](1.0), *part.total([u, u])[1](1.0)]
    elif part in LOSSES:
        answers = [part.value(u, u), part.grad(u, u)]
    else:
        answers = [part.grad(u), part.steepest(u, u), part.prox(u, 0.1)]
        assert isinstance(part.value(u), float)
    assert [answer.dtype for answer in answers] == [kind] * len(answers)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@given(u=numbers)
def test_penalty_gradient(penalty, u):
    """Away from the kink the smallest subgradient is the derivative of the penalty, kinked part and all."""
    u = np.array([abs(u) + 0.01 if isinstance(penalty, NonNegative) else u])
    if abs(u[0]) < 0.001:
        return
    truth = reference.numerical_gradient(penalty.value, u)
    assert penalty.steepest(u, penalty.grad(u)) == pytest.approx(truth, abs=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@given(u=values, step=st.floats(0, 3))
def test_prox_is_the_minimum(penalty, u, step):
    """No point of a grid is a better compromise than the proximal point, and a step of 0 only makes it feasible."""
    v = penalty.prox(np.array([u]), step)

    def compromise(point):
        price = penalty.value(np.array([point]))
        return 0.5 * (point - u) ** 2 + (step * price if np.isfinite(price) else np.inf)

    grid = np.concatenate([np.linspace(-6, 6, 241), [u, 0.0], v + np.linspace(-0.1, 0.1, 21)])
    assert compromise(float(v[0])) <= min(map(compromise, grid.tolist())) + 1e-12
    assert np.isfinite(penalty.value(v))
    assert step or abs(v[0] - u) == (max(-u, 0) if isinstance(penalty, NonNegative) else 0)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@given(u=values, g=values)
def test_steepest_is_the_smallest_subgradient(penalty, u, g):
    """Downhill at the rate of the smallest subgradient, or, where it is zero, uphill on either side."""
    u = abs(u) if isinstance(penalty, NonNegative) else u
    point = np.array([u])

    def model(v):
        return g * (v - u) + penalty.value(np.array([v]))

    smooth = g + float(penalty.grad(point)[0])
    steepest = float(penalty.steepest(point, np.array([smooth]))[0])
    step = 1e-7
    rates = [(model(u + side * step) - model(u)) / step for side in (-1, 1)]
    assert -min(*rates, 0) == pytest.approx(abs(steepest), abs=1e-4)
    if steepest:
        assert rates[0 if steepest > 0 else 1] == pytest.approx(-abs(steepest), abs=1e-4)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@given(u=values, step=st.floats(0.1, 3))
def test_steepest_vanishes_at_the_prox(penalty, u, step):
    """The proximal point is where the smallest subgradient of its objective is zero, and no other point is."""
    point = np.array([u])

    def subgradient(v):
        return float(penalty.steepest(v, penalty.grad(v) + (v - point) / step)[0])

    v = penalty.prox(point, step)
    assert subgradient(v) == pytest.approx(0, abs=1e-9)
    assert abs(subgradient(v + 0.1)) > 0.01


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_penalty_values(penalty):
    """A penalty is zero at zero, grows with the distance, is a sum over elements, and a bound is never negotiable."""
    u = np.abs(factors_of(0, (4,), 3)[0])
    strength = getattr(penalty, "strength", getattr(penalty, "l1", None))
    assert penalty.value(np.zeros((2, 2))) == 0
    assert penalty.value(u) == pytest.approx(sum(penalty.value(row) for row in u))
    assert (penalty.value(2 * u) > penalty.value(u)) == (strength > 0)
    assert (penalty.value(-u) == np.inf) == isinstance(penalty, NonNegative)
    assert penalty.kinked == (not isinstance(penalty, L2))


def test_penalty_values_worked_by_hand():
    """For (1, 2) at strength 3: ridge 3/2 (1 + 4), lasso 3 (1 + 2)."""
    u = np.array([[1.0, 2.0]])
    assert (L2(3.0).value(u), L1(3.0).value(-u), NonNegative(3.0).value(u)) == (7.5, 9.0, 9.0)


@pytest.mark.parametrize("penalty", [L2, L1, NonNegative])
@pytest.mark.parametrize("strength", [-1.0, np.nan, np.inf, "1", True])
def test_penalty_refusals(penalty, strength):
    """Strengths are finite numbers of at least 0."""
    with pytest.raises(InputError, match="must be a finite number of at least 0; got"):
        penalty(strength)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_cp_predicts_cells(order):
    """Predictions are the cells of the sum of rank-one arrays, also where an entry is asked for twice."""
    shape = (3, 2, 4, 2, 3)[:order]
    factors = factors_of(order, shape, 3)
    indices = np.array([*np.ndindex(shape), (0,) * order])
    m, _ = CP()(factors, indices)
    assert m == pytest.approx(reference.cp(factors)[tuple(indices.T)])


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_cp_pullback(order):
    """The pullback of derivatives is the gradient, of the right shape, that differences give."""
    shape = (3, 2, 4, 2, 3)[:order]
    factors = factors_of(order, shape, 2)
    rng = np.random.default_rng(0)
    indices = rng.integers(0, shape, (6, order))
    derivatives = rng.standard_normal(6)
    gradients = CP()(factors, indices)[1](derivatives)
    for d, u in enumerate(factors):

        def value(v, d=d):
            return float(CP()([*factors[:d], v, *factors[d + 1 :]], indices)[0] @ derivatives)

        assert gradients[d].shape == u.shape
        assert gradients[d] == pytest.approx(reference.numerical_gradient(value, u), abs=1e-7)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_cp_pullback_is_the_adjoint(order):
    """Derivatives of predictions along a direction pair with any vector as the direction does with its pullback."""
    factors, directions = (factors_of(seed, (4,) * order, 3) for seed in (1, 2))
    indices = np.random.default_rng(3).integers(0, 4, (9, order))
    y = np.random.default_rng(4).standard_normal(9)
    _, pullback = CP()(factors, indices)
    forward = sum(
        CP()([*factors[:d], direction, *factors[d + 1 :]], indices)[0] for d, direction in enumerate(directions)
    )
    backward = sum(np.vdot(g, direction) for g, direction in zip(pullback(y), directions, strict=True))
    assert forward @ y == pytest.approx(backward)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_cp_of_all_cells(order):
    """The sum over all cells by Gram matrices is the sum over all cells, and so is its gradient."""
    factors = factors_of(order, (3, 2, 4, 2, 3)[:order], 2)
    total, pullback = CP().all_cells(factors)
    assert total == pytest.approx((reference.cp(factors) ** 2).sum())
    for d, (u, gradient) in enumerate(zip(factors, pullback(0.3), strict=True)):

        def value(v, d=d):
            return 0.3 * float((reference.cp([*factors[:d], v, *factors[d + 1 :]]) ** 2).sum())

        assert gradient == pytest.approx(reference.numerical_gradient(value, u), abs=1e-6)


@pytest.mark.parametrize("order", [2, 3])
def test_cp_with_a_shared_factor(order):
    """Where one factor explains several modes, adding its gradients gives the gradient."""
    (u,) = factors_of(0, (4,), 2)
    _, pullback = CP().all_cells([u] * order)
    truth = reference.numerical_gradient(lambda v: float((reference.cp([v] * order) ** 2).sum()), u)
    assert sum(pullback(1.0)) == pytest.approx(truth, abs=1e-6)
