"""Laws of steps that learn from lists, of where features stand in a tensor, and of means of tensors."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array

from experiments.cao2014.compared import PRINTED
from polyadic import MIRA, InputError, QueryGroups, RankingPerceptron, TensorMIRA
from polyadic.core.solvers.run import run
from polyadic.ranking import kernels as loops
from polyadic.ranking.kernels import candidate_lists, feature_cells, mira_lists, perceptron_lists, tensor_mira_lists
from polyadic.ranking.passive_aggressive import Linear, Multilinear, passive_aggressive, spacing, tensor_cells
from polyadic.ranking.tensor_mira import (
    greedy_factors,
    guided_order,
    initial_factors,
    mapped,
    mode_sizes,
    places,
    tensor_norm,
)
from strategies import tries


def made(seed=0, *, lists=40, candidates=6, features=24, density=0.3, noise=0.1):
    """Lists whose costs follow hidden weights."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, candidates + 1, lists)
    n = sizes.sum()
    X = rng.integers(1, 4, (n, features)) * (rng.random((n, features)) < density)
    hidden = rng.standard_cauchy(features)
    starts = np.r_[0, np.cumsum(sizes)]
    costs = np.concatenate([np.ptp(s) - (s - s.min()) for s in np.split(X @ hidden, starts[1:-1])])
    costs = np.round(np.abs(costs / (np.abs(costs).max() or 1) + noise * rng.standard_normal(n)), 2)
    return QueryGroups(csr_array(X.astype(float)), costs, starts.astype(np.int64))


def blocks_of(groups, edges):
    return [groups[a:b] for a, b in itertools.pairwise([0, *edges, len(groups)])]


def lists_of(groups):
    return candidate_lists(groups.features, groups.costs, groups.starts)


def contenders(s, costs, *, augmented):
    """The candidate that is chosen, the one to learn from, and the best of the cheapest."""
    right = min(range(len(s)), key=lambda c: (costs[c], -s[c]))
    return int(np.argmax(s)), int(np.argmax(s + augmented * costs)), right


def dense_tensor(factors):
    letters = "abcdefg"[: len(factors)]
    return np.einsum(",".join(f"{x}z" for x in letters) + "->" + letters, *factors)


def weights_by(factors, place):
    return dense_tensor(factors).ravel(order="F")[place]


class TensorTwin:
    """T-MIRA with dense tensors, by the definition."""

    def __init__(self, factors, place, *, C, updates, cap, augmented):
        self.factors, self.place = [w.copy() for w in factors], place
        self.C, self.updates, self.cap, self.augmented = C, updates, cap, augmented

    def learn(self, groups, turns):  # noqa: C901 the whole algorithm
        shape = tuple(len(w) for w in self.factors)
        H, D = self.factors[0].shape[1], len(shape)
        X = groups.features.toarray()
        for t in range(len(groups)):
            rows = slice(groups.starts[t], groups.starts[t + 1])
            costs, s = groups.costs[rows], X[rows] @ weights_by(self.factors, self.place)
            _, z, y = contenders(s, costs, augmented=self.augmented)
            rho = costs[z] - costs[y]
            if rho == 0:
                continue
            phi = np.bincount(self.place, X[rows][y] - X[rows][z], math.prod(shape)).reshape(shape, order="F")

            def loss(phi=phi, rho=rho):
                return rho - (dense_tensor(self.factors) * phi).sum()

            def delta(h, d, phi=phi):
                out = phi
                for e in reversed(range(D)):
                    if e != d:
                        out = np.tensordot(out, self.factors[e][:, h], axes=(e, 0))
                return out

            if loss() <= 0:
                continue
            if self.updates == "joint":
                steps = {(h, d): delta(h, d) for h in range(H) for d in range(D)}
                total = sum((x**2).sum() for x in steps.values())
                tau = min(self.C, loss() / total) if total else 0
                for (h, d), step in steps.items():
                    self.factors[d][:, h] += tau * step
                continue
            for turn in turns[t]:
                h, d = divmod(int(turn), D)
                step = delta(h, d)
                B = math.prod((self.factors[e][:, h] ** 2).sum() for e in range(D) if e != d)
                bound = {"scaled": self.C / B, "plain": self.C, "none": math.inf}[self.cap]
                square = (step**2).sum()
                if loss() > 1e-12 and square > 0:
                    self.factors[d][:, h] += min(bound, loss() / square) * step


def test_settings_of_the_paper_are_its_algorithm():
    """One epoch of a perceptron places features; equal entries then step in turn, and the last stay."""
    groups = made(2, lists=60)
    how = {"C": 0.02, "max_iter": 1, "shuffle": False, "seed": 3}
    model = TensorMIRA(2, **how, **PRINTED).fit(groups)
    v = perceptron_twin(groups, 1)[0]
    sizes = mode_sizes(24, 2)
    assert np.array_equal(model.place_, places("guided", 24, sizes, v=v))
    start = initial_factors("equal", sizes, 2, np.random.default_rng(3).spawn(1)[0])
    slow = TensorTwin(start, model.place_, C=0.02, updates="fixed", cap="scaled", augmented=False)
    slow.learn(groups, [range(4)] * 60)
    for mine, theirs in zip(model.factors_, slow.factors, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)
    np.testing.assert_allclose(model.weights_, weights_by(slow.factors, model.place_), atol=1e-9)


SIZES = {1: (24,), 2: (5, 5), 3: (3, 3, 3)}


def learner(groups, *, D=2, H=2, seed=0, **how):
    V = groups.features.shape[1]
    rng = np.random.default_rng(seed)
    place = places("random", V, SIZES[D], seed=seed)
    start = [
        w * rng.uniform(0.5, 1.5, w.shape) for w in initial_factors("signs", SIZES[D], H, rng)
    ]  # no two scores are equal
    return Multilinear(start, place, rng=rng, **{"C": 0.1, "averaged": False} | how), start, place


@pytest.mark.parametrize("updates", ["fixed", "rotated", "random", "joint"])
@pytest.mark.parametrize("cap", ["scaled", "plain", "none"])
@pytest.mark.parametrize("D", [2, 3])
@pytest.mark.parametrize("augmented", [False, True])
def test_an_epoch_is_its_twin(updates, cap, D, augmented):
    """``tensor_mira_lists`` moves factors as dense tensors do, in every order of vectors and under every bound."""
    groups = made(D)
    C = 0.02 if updates != "joint" or cap != "none" else 1e9
    fast, start, place = learner(groups, D=D, C=C, updates=updates, cap=cap, augmented=augmented)
    again = learner(groups, D=D, C=C, updates=updates, cap=cap, augmented=augmented)[0]
    turns = again._turns(len(groups))
    slow = TensorTwin(start, place, C=C, updates=updates, cap=cap, augmented=augmented)
    if updates == "joint" and cap == "none":
        slow.C = math.inf
    fast.learn(lists_of(groups), np.arange(len(groups)))
    slow.learn(groups, turns)
    for mine, theirs in zip(fast.reached()[1:], slow.factors, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)
    assert np.abs(fast.F - np.concatenate(start)).max() > 1e-3
    np.testing.assert_allclose(fast.norms, fast._norms(), rtol=1e-9)


def test_orders_of_vectors():
    """Fixed orders repeat, rotated ones begin with the next vector, random ones are permutations; joint has none."""
    groups = made()
    turns = {name: learner(groups, updates=name)[0]._turns(5) for name in ("fixed", "rotated", "random", "joint")}
    assert turns["fixed"].tolist() == [[0, 1, 2, 3]] * 5
    assert turns["rotated"][:, 0].tolist() == [0, 1, 2, 3, 0]
    assert all(sorted(row) == [0, 1, 2, 3] for row in turns["rotated"].tolist() + turns["random"].tolist())
    assert turns["joint"].shape == (5, 0)


@pytest.mark.parametrize("C", [0.001, 0.05, 10.0])
@pytest.mark.parametrize("d", [0, 1, 2])
def test_the_closed_form_solves_the_problem_of_one_mode(C, d):
    """The first vector moved is the minimum of problem (4) over that vector, whatever the norms of the others."""
    rng = np.random.default_rng(d)
    sizes = (2, 3, 2)
    groups = QueryGroups(csr_array(rng.integers(0, 3, (2, 12)).astype(float)), np.array([0.0, 1.5]), np.array([0, 2]))
    start = [rng.standard_normal((n, 1)) * scale for n, scale in zip(sizes, (0.5, 1.0, 1.7), strict=True)]
    place = np.arange(12)
    phi = mapped((groups.features[[0]] - groups.features[[1]]).toarray()[0], place, sizes)
    if (dense_tensor(start) * phi).sum() > 0:
        start[0] *= -1  # the dear candidate is to be chosen

    def moved(w):
        return dense_tensor([w[:, None] if e == d else x for e, x in enumerate(start)])

    def paid(x):
        return 0.5 * ((moved(x[:-1]) - dense_tensor(start)) ** 2).sum() + C * x[-1]

    kept = {"type": "ineq", "fun": lambda x: x[-1] - 1.5 + (moved(x[:-1]) * phi).sum()}
    zero = {"type": "ineq", "fun": lambda x: x[-1]}
    found = minimize(
        paid,
        np.r_[start[d][:, 0], 9.0],
        constraints=[kept, zero],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 999},
    )
    factors, norms = np.concatenate(start), np.array([[(w**2).sum() for w in start]])
    turns = np.array([[d, (d + 1) % 3, (d + 2) % 3]])  # each vector moves but once
    how = {"factors": factors, "cells": feature_cells(place, sizes), "norms": norms, "C": C}
    tensor_mira_lists(lists_of(groups), np.arange(1), turns=turns, **how)
    edges = np.r_[0, np.cumsum(sizes)]
    np.testing.assert_allclose(factors[edges[d] : edges[d + 1], 0], found.x[:-1], atol=2e-4)
    assert np.abs(found.x[:-1] - start[d][:, 0]).max() > 1e-3 * C


@given(st.integers(0, 10**6), st.sampled_from([1e-3, 1e-2, 0.1, 1.0]), st.sampled_from([2, 3]))
@tries(40)
def test_no_subproblem_raises_its_objective(seed, C, D):
    """Each vector's half squared step times B, with C times the loss after it, costs at most C times that before."""
    groups = made(seed, lists=1, candidates=4, noise=0.5)
    model, start, place = learner(groups, D=D, H=2, seed=seed, C=C, updates="random")
    turn = learner(groups, D=D, H=2, seed=seed, C=C, updates="random")[0]._turns(1)[0]
    X = groups.features.toarray()
    _, z, y = contenders(X @ weights_by(start, place), groups.costs, augmented=False)
    model.learn(lists_of(groups), np.arange(1))
    ended, now = model.reached()[1:], [w.copy() for w in start]

    def loss():
        return max(0.0, groups.costs[z] - groups.costs[y] - weights_by(now, place) @ (X[y] - X[z]))

    for h, d in (divmod(int(k), D) for k in turn):
        before, old = loss(), now[d][:, h].copy()
        now[d][:, h] = ended[d][:, h]
        B = math.prod((now[e][:, h] ** 2).sum() for e in range(D) if e != d)
        assert 0.5 * B * ((now[d][:, h] - old) ** 2).sum() + C * loss() <= C * before + 1e-9


def test_a_tensor_of_order_one_is_mira():
    """T-MIRA of one mode and one component, each feature in a cell of its own, has the weights of MIRA."""
    groups = made(3)
    for how in ({"C": 0.05}, {"C": 10.0, "augmented": True}, {"C": 0.05, "averaged": False}):
        tensor = TensorMIRA(1, order=1, mapping="sequential", max_iter=3, **{"augmented": False} | how).fit(groups)
        linear = MIRA(max_iter=3, **{"augmented": False} | how).fit(groups)
        np.testing.assert_allclose(tensor.weights_, linear.weights_, atol=1e-12)
        assert np.abs(linear.weights_).max() > 0
        np.testing.assert_allclose(tensor.history_, linear.history_)


def perceptron_twin(groups, epochs):
    X, w, seen = groups.features.toarray(), np.zeros(groups.features.shape[1]), []
    for _ in range(epochs):
        for first, last in itertools.pairwise(groups.starts):
            s, costs = X[first:last] @ w, groups.costs[first:last]
            z, _, y = contenders(s, costs, augmented=False)
            if costs[z] > costs[y]:
                w = w + X[first + y] - X[first + z]
            seen.append(w)
    return w, np.mean(seen, axis=0)


def test_the_perceptron_is_its_twin():
    """``perceptron_lists`` reaches the weights, and the mean over all lists, of plain numpy."""
    groups = made(1)
    last, mean = perceptron_twin(groups, 3)
    how = {"max_iter": 3, "shuffle": False}
    np.testing.assert_allclose(RankingPerceptron(averaged=False, **how).fit(groups).weights_, last)
    np.testing.assert_allclose(RankingPerceptron(**how).fit(groups).weights_, mean)
    w, u = np.zeros(24), np.zeros(24)
    perceptron_lists(lists_of(groups), np.arange(len(groups)), weights=w, summed=u, before=0)
    np.testing.assert_allclose(w, perceptron_twin(groups, 1)[0])


@pytest.mark.parametrize("C", [0.003, 0.1, 100.0])
@pytest.mark.parametrize("best", [1, 3])
def test_mira_solves_its_problem(C, best):
    """``mira_lists`` moves to the minimum over weights of half the squared step and C times the losses."""
    groups = made(5, lists=1, candidates=6, features=8)
    groups = next(one for seed in range(5, 40) if len((one := made(seed, lists=1, features=8)).costs) >= 4)
    rng = np.random.default_rng(0)
    w0 = rng.standard_normal(8) * 0.1
    X, costs = groups.features.toarray(), groups.costs
    s = X @ w0
    _, _, y = contenders(s, costs, augmented=False)
    top = [c for c in np.argsort(-(s + costs), kind="stable")[:best] if costs[c] > costs[y]]
    assert top
    Delta, rho = X[y] - X[top], costs[top] - costs[y]

    def dual(a):
        step = a @ Delta
        return 0.5 * step @ step - a @ (rho - Delta @ w0)

    found = minimize(dual, np.zeros(len(top)), bounds=[(0, C)] * len(top), method="L-BFGS-B", options={"ftol": 1e-15})
    w, u = w0.copy(), np.zeros(8)
    mira_lists(lists_of(groups), np.arange(1), weights=w, summed=u, before=0, C=C, best=best, augmented=True)
    np.testing.assert_allclose(w, w0 + found.x @ Delta, atol=1e-5)


def test_mode_sizes_are_those_of_the_paper():
    """The sums for 1.33 million features are 2310, 331 and 136, and no other sizes of that kind have a smaller one."""
    for V in (1_332_871, 1_334_025):
        assert [sum(mode_sizes(V, D)) for D in (2, 3, 4)] == [2310, 331, 136]
    assert mode_sizes(1_333_000, 3) == (110, 110, 111)
    assert mode_sizes(1_332_870, 2) == (1154, 1155)


@given(st.integers(1, 10**7), st.integers(1, 6))
def test_mode_sizes_hold_all_features_in_the_fewest_parameters(V, D):
    """Every combination of the root rounded down and up that holds V cells has as large a sum."""
    sizes = mode_sizes(V, D)
    low = next(n for n in itertools.count(int(V ** (1 / D)) + 1, -1) if n**D <= V)
    assert math.prod(sizes) >= V
    assert set(sizes) <= {low, low + 1}
    enough = [k for k in range(D + 1) if low ** (D - k) * (low + 1) ** k >= V]
    assert sum(sizes) == D * low + min(enough)


def test_the_guided_mapping_by_hand():
    """Twelve weights in a tensor of 2, 2 and 3: four large ones, four low ones, and the rest, first index fastest."""
    v = np.array([0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 3.5, -3.5, 4.5, -4.5, 5.5, -5.5])
    place = places("guided", 12, (2, 2, 3), v=v)
    T = mapped(v, place, (2, 2, 3))
    assert T.reshape(4, 3, order="F").T.tolist() == [
        [5.5, 4.5, 3.5, 2.5],
        [-5.5, -4.5, -3.5, -2.5],
        [1.5, 0.5, -1.5, -0.5],
    ]
    assert (T[0, 0, 0], T[1, 0, 0], T[0, 1, 0], T[0, 0, 1]) == (5.5, 4.5, 3.5, -5.5)


@given(st.integers(1, 400), st.integers(1, 4), st.integers(0, 100))
def test_mappings_give_each_feature_a_cell(V, D, seed):
    """Guided, sequential and random mappings share no cell; a hash gives the same cells however many features."""
    v = np.round(np.random.default_rng(seed).standard_normal(V), 1)
    sizes = mode_sizes(V, D)
    for mapping in ("guided", "sequential", "random"):
        place = places(mapping, V, sizes, v=v, seed=seed)
        assert len(set(place.tolist())) == V
        assert 0 <= place.min() <= place.max() < math.prod(sizes)
    hashed = places("hashed", V, sizes)
    assert hashed.max() < math.prod(sizes)
    assert np.array_equal(hashed[: V // 2], places("hashed", V // 2, sizes)) or V < 2


def test_hashes_never_change():
    """Models that were saved find their features again."""
    assert places("hashed", 4, (1000, 1000)).tolist() == HASHED


HASHED = [607535, 822465, 348110, 139053]


def test_the_guided_mapping_is_nearly_of_rank_one():
    """On weights with heavy tails one component has above .9 of the energy, in the order of features below .1."""
    v = np.random.default_rng(0).standard_t(1.5, 40_000)
    v = np.clip(v, *np.quantile(v, [0.0005, 0.9995]))
    sizes = mode_sizes(len(v), 2)

    def energy(mapping):
        s = np.linalg.svd(mapped(v, places(mapping, len(v), sizes, v=v, seed=0), sizes), compute_uv=False)
        return s[0] ** 2 / (s**2).sum()

    assert energy("guided") > 0.9
    assert energy("sequential") < 0.1
    assert energy("random") < 0.1


def test_orders_of_weights_do_not_depend_on_features():
    """Guided cells go with weights, however features are numbered, where no two weights are alike."""
    v = np.random.default_rng(0).standard_normal(60)
    turn = np.random.default_rng(1).permutation(60)
    assert np.array_equal(turn[guided_order(v[turn], 8)], guided_order(v, 8))


@pytest.mark.parametrize("mapping", ["guided", "sequential"])
def test_features_in_another_order(mapping):
    """T-MIRA by the guided mapping chooses as before if features are numbered anew; in sequence it does not."""
    groups = made(2, lists=60)
    turn = np.random.default_rng(0).permutation(24)
    other = QueryGroups(csr_array(groups.features[:, turn]), groups.costs, groups.starts)
    v = np.random.default_rng(1).standard_normal(24)

    def weights(lists, surrogate):
        sizes = mode_sizes(24, 2)
        place = places(mapping, 24, sizes, v=surrogate)
        start = initial_factors("signs", sizes, 2, np.random.default_rng(0))
        model = Multilinear(start, place, C=0.1, rng=np.random.default_rng(0))
        return run(passive_aggressive([lists], model), max_iter=3).factors[0]

    same = np.allclose(weights(groups, v)[turn], weights(other, v[turn]), atol=1e-9)
    assert same == (mapping == "guided")


def brute_mean(model_args, groups, epochs):
    """The mean of the weights after each list, one list at a time."""
    model, _, place = learner(groups, **model_args)
    seen = []
    lists = lists_of(groups)
    for _ in range(epochs):
        for t in range(len(groups)):
            model.learn(lists, np.array([t]))
            seen.append(weights_by(model.reached()[1:], place))
    return np.array(seen)


@pytest.mark.parametrize("D", [1, 2, 3])
def test_the_mean_of_few_lists_is_exact(D):
    """Up to 128 lists, scores by the mean of tensors are the means of the scores after each list."""
    groups = made(4, lists=25)
    model = learner(groups, D=D, averaged=True)[0]
    for _ in range(5):
        model.learn(lists_of(groups), np.arange(25))
    brute = brute_mean({"D": D}, groups, 5)
    np.testing.assert_allclose(groups.features @ model.reached()[0], groups.features @ brute.mean(axis=0), atol=1e-9)
    assert np.abs(brute[-1] - brute.mean(axis=0)).max() > 1e-3  # the last weights are other ones


def test_the_mean_of_many_lists_is_near():
    """Beyond, the error of the mean is a small part of how far it is from the last weights."""
    groups = made(4, lists=300)
    model = learner(groups, averaged=True)[0]
    for _ in range(6):
        model.learn(lists_of(groups), np.arange(300))
    brute = brute_mean({}, groups, 6)
    apart = np.linalg.norm(brute[-1] - brute.mean(axis=0))
    assert np.linalg.norm(model.reached()[0] - brute.mean(axis=0)) < 0.1 * apart


def test_moments_are_as_far_apart_as_said():
    """Between two moments there are never more lists than a 64th of those before."""
    at = 0
    for _ in range(5000):
        assert spacing(at) <= max(1, at / 64)
        at += spacing(at)
    assert at > 10**5


@pytest.mark.parametrize("D", [2, 3, 4])
def test_means_take_little_room(D):
    """Adding up the tensors of 3,000 lists takes little beside a dozen vectors of weights, of any order."""
    V = 1_000_000
    sizes = mode_sizes(V, D)
    model = Multilinear(
        initial_factors("signs", sizes, 3, np.random.default_rng(0)), np.arange(V), C=0.1, rng=np.random.default_rng(0)
    )
    start = weights_by(model.parts(model.F), np.arange(V))
    tracemalloc.start()
    while model.before < 3000:
        model.before = model.moment + spacing(model.moment)
        model._remember()
    weights = model.reached()[0]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(weights, start, atol=1e-12)  # nothing moved
    assert most < 12 * 8 * V


@pytest.mark.parametrize("D", [1, 2, 3, 4])
def test_cells_are_sums_of_products(D):
    """``tensor_cells`` lays out the sum of outer products with the first mode the fastest."""
    rng = np.random.default_rng(D)
    factors = [rng.standard_normal((n, 2)) for n in (3, 4, 2, 5)[:D]]
    np.testing.assert_allclose(tensor_cells(factors), dense_tensor(factors).ravel(order="F"))


@pytest.mark.parametrize("sizes", [(7,), (4, 6), (3, 4, 2)])
def test_starts_have_unit_norm(sizes):
    """Random signs are of one size in a mode, the tensor has norm 1; of a matrix components are singular vectors."""
    rng = np.random.default_rng(0)
    start = initial_factors("signs", sizes, 3, rng)
    assert np.linalg.norm(dense_tensor(start)) == pytest.approx(1)
    assert tensor_norm(start) == pytest.approx(1)
    assert all(np.ptp(np.abs(w)) < 1e-12 for w in start)
    equal, drawn = (dense_tensor(initial_factors(init, sizes, 3, rng)) for init in ("equal", "uniform"))
    np.testing.assert_allclose(equal, math.prod(sizes) ** -0.5)  # of norm 1
    assert np.linalg.norm(drawn) == pytest.approx(1)
    assert drawn.min() >= 0
    assert np.ptp(drawn) > 0
    T = rng.standard_normal(sizes)
    found = dense_tensor(greedy_factors(T, 2, rng))
    assert np.linalg.norm(found) == pytest.approx(1)
    if len(sizes) == 2:
        U, s, Vt = np.linalg.svd(T)
        best = (U[:, :2] * s[:2]) @ Vt[:2]
        np.testing.assert_allclose(found, best / np.linalg.norm(best), atol=1e-2)
    assert np.isfinite(dense_tensor(greedy_factors(np.zeros(sizes), 2, rng))).all()


@pytest.mark.parametrize("updates", ["fixed", "rotated", "random", "joint"])
@pytest.mark.parametrize("averaged", [False, True])
def test_streams_are_as_one_block(updates, averaged):
    """Lists in blocks, not shuffled, give the same bits as all of them in memory."""
    groups = made(6, lists=700)
    how = {"updates": updates, "averaged": averaged, "shuffle": False, "max_iter": 3, "C": 0.1}
    whole = TensorMIRA(2, **how).fit(groups)
    parts = TensorMIRA(2, **how).fit(blocks_of(groups, [1, 7, 300, 305]))
    assert np.array_equal(whole.weights_, parts.weights_)
    assert all(np.array_equal(a, b) for a, b in zip(whole.factors_, parts.factors_, strict=True))
    for model in (RankingPerceptron(shuffle=False, averaged=averaged), MIRA(shuffle=False, averaged=averaged, best=3)):
        assert np.array_equal(model.fit(groups).weights_, model.fit(blocks_of(groups, [90, 91])).weights_)


def test_lists_that_cannot_teach_are_passed_over():
    """Groups of one, of equal costs, and of equal candidates change nothing; learning ends when no list does."""
    X = np.array([[1.0, 0], [0, 1], [1, 1], [2, 3], [2, 3]])
    groups = QueryGroups.of(X, costs=[1, 1, 0.5, 1, 0], group=[0, 0, 1, 2, 2])
    for model in (RankingPerceptron(), MIRA(), MIRA(best=3), TensorMIRA(), TensorMIRA(updates="joint")):
        model.fit(groups)
        assert model.n_iter_ == 1
        assert model.converged_
    assert not MIRA().fit(groups).weights_.any()


def test_linear_learners_start_from_zero():
    """Before a list is seen all scores are equal and the first candidate is chosen."""
    groups = made(7)
    first = next(passive_aggressive([groups], Linear(24)))
    assert not first.factors[0].any()
    assert first.objective == pytest.approx(groups.cost(groups.starts[:-1]))


@pytest.mark.parametrize(("sizes", "words"), [((3, 3), "must be at least 24"), ((3, 3, 3), "2 modes")])
def test_sizes_must_hold_the_features(sizes, words):
    """And be one for each mode."""
    with pytest.raises(InputError, match=words):
        TensorMIRA(sizes=sizes).fit(made())


GROUPS, W = made(), np.zeros(24)


def tensor_epoch(**how):
    cells, F, norms = feature_cells(np.arange(24), (5, 5)), np.ones((10, 2)), np.ones((2, 2))
    how = {"turns": np.zeros((40, 4), int), "factors": F, "cells": cells, "norms": norms, "C": 1.0} | how
    tensor_mira_lists(lists_of(GROUPS), np.arange(40), **how)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: perceptron_lists(lists_of(GROUPS), np.arange(40), weights=W[:3], summed=W, before=0), "at least 24"),
        (lambda: mira_lists(lists_of(GROUPS), np.array([40]), weights=W, summed=W.copy(), before=0, C=1.0), "below"),
        (lambda: mira_lists(lists_of(GROUPS), [0], weights=W.astype("f4"), summed=W, before=0, C=1.0), "float64"),
        (lambda: candidate_lists(GROUPS.features, GROUPS.costs, GROUPS.starts[:-1]), "starts"),
        (lambda: candidate_lists(csr_array(([1.0], [2**32], [0, 1]), (1, 2**33)), [0.0], [0, 1]), "indices must be"),
        (lambda: feature_cells(np.array([25]), (5, 5)), "cell indices"),
        (lambda: tensor_epoch(turns=np.zeros((40, 3), int)), "turns"),
        (lambda: tensor_epoch(turns=np.full((40, 4), 9)), "turns"),
        (lambda: tensor_epoch(factors=np.ones((9, 2))), "norms"),
        (lambda: tensor_epoch(norms=np.ones((1, 2))), "norms"),
    ],
)
def test_kernels_refuse_what_does_not_fit(call, message):
    """Shapes that do not fit, and rows that are not there, never reach a loop."""
    with pytest.raises(ValueError, match=message):
        call()


def test_the_loops_inside():
    """Each of the small loops by hand, as Python: scores, contenders, differences, rows that are touched, steps."""
    X = csr_array(np.array([[1.0, 0, 2], [0, 3, 2], [1, 0, 2]]))
    arrays = X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data
    s = np.empty(3)
    loops._list_scores.py_func(np.array([1.0, 10, 100]), *arrays, 0, 3, s)
    assert s.tolist() == [201, 230, 201]
    F, cells = np.array([[2.0, 1], [3, 1], [5, 1], [7, 2]]), np.array([[0, 2], [1, 2], [1, 3]], np.int32)
    loops._multilinear_scores.py_func(F, cells, *arrays, 0, 3, s, np.empty(len(cells)), np.zeros(len(cells), int), 1)
    assert s.tolist() == [11 + 46, 48 + 46, 11 + 46]
    costs = np.array([1.0, 0.5, 0.5])
    assert loops._contenders.py_func(np.array([3.0, 1, 2]), costs, 0, 3, 0.0) == (0, 0, 2)
    assert loops._contenders.py_func(np.array([3.0, 3.2, 1]), costs, 0, 3, 1.0) == (1, 0, 1)
    top = np.empty(2, np.int64)
    assert loops._highest.py_func(np.array([1.0, 3, 2]), costs, 0, 3, 0.0, top) == 2
    assert top.tolist() == [1, 2]
    at, x = np.empty(4, np.int64), np.empty(4)
    assert loops._difference.py_func(*arrays, 0, 1, at, x) == 2
    assert (at[:2].tolist(), x[:2].tolist()) == ([0, 1], [1, -3])
    assert loops._difference.py_func(*arrays, 0, 2, at, x) == 0
    loops._difference.py_func(*arrays, 0, 1, at, x)
    rows, counts, marked = np.empty((2, 4), np.int64), np.zeros(2, np.int64), np.zeros(4, bool)
    loops._touched.py_func(cells, at, 2, marked, rows, counts)
    assert (counts.tolist(), rows[0, :2].tolist(), rows[1, 0], marked.any()) == ([2, 1], [0, 1], 2, False)
    delta, norms = np.zeros((4, 2)), np.array([[13.0, 74], [2, 5]])
    square = loops._mode_difference.py_func(F, cells, at, x, 2, 0, 0, rows[0, :2], delta)
    assert (square, delta[:2, 0].tolist()) == (25 + 225, [5, -15])
    loops._move.py_func(F, norms, 0, 0, rows[0, :2], delta, 0.1)
    assert F[:2, 0].tolist() == [2.5, 1.5]
    assert norms[0, 0] == pytest.approx(2.5**2 + 1.5**2)


@pytest.mark.parametrize("name", ["step_in_turn", "step_at_once"])
def test_steps_take_away_a_loss(name):
    """Without a bound, one vector takes away the whole loss; all at once, to first order."""
    rng = np.random.default_rng(0)
    F, cells = rng.standard_normal((6, 1)), np.array([[i, 3 + j] for i in range(3) for j in range(3)], np.int32)
    at, x = np.arange(9), rng.standard_normal(9) * 1e-4
    norms = np.array([[(F[:3] ** 2).sum(), (F[3:] ** 2).sum()]])
    rows, counts = np.array([[0, 1, 2], [3, 4, 5]]), np.array([3, 3])
    before = x @ (F[cells[:, 0], 0] * F[cells[:, 1], 0])
    loss, room = 1e-9, (at, x, 9, rows, counts, np.zeros((6, 1)))
    if name == "step_in_turn":
        moved = loops._step_in_turn.py_func(np.array([1, 0]), F, cells, norms, loss, np.inf, True, *room)
    else:
        moved = loops._step_at_once.py_func(F, cells, norms, loss, np.inf, *room)
    gained = x @ (F[cells[:, 0], 0] * F[cells[:, 1], 0]) - before
    assert moved
    assert gained == pytest.approx(loss, rel=1e-6 if name == "step_in_turn" else 1e-2)
