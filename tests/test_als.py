"""Alternating least squares: the product with all factors but one, the solver, and asymmetric CP."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from helpers import match_columns, some_entries
from polyadic.core import kernels
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError
from polyadic.core.forms import CP
from polyadic.core.losses import Logistic, Squared
from polyadic.core.objective import Objective, Term
from polyadic.core.penalties import L1, L2
from polyadic.core.solvers.run import run
from polyadic.words.asymmetric import AsymmetricCP, als
from strategies import plain_entries, symmetric_entries, tries


def normal(seed, shape, rank, kind=float):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((size, rank)).astype(kind) for size in shape]


def product(array, factors, mode):
    """Twin of the loops: the whole array times the other factors."""
    order = array.ndim
    others = [part for d, u in enumerate(factors) if d != mode for part in (u, [d, order])]
    return np.einsum(array, list(range(order)), *others, [mode, order])


def once(entries):
    """Values of symmetric entries such that all permutations of the places count each cell once."""
    return entries.values * entries.multiplicity() / math.factorial(entries.order)


def objective(entries, *, ridge=0.0, weight=1.0, threads=1):
    term = Term(replace(entries, weights=None), CP(), Squared(), tuple(range(entries.order)), weight, 1.0)
    return Objective([term], [L2(ridge)] * entries.order, threads=threads)


def listed(array):
    """List every cell of an array."""
    return Entries(np.array(list(np.ndindex(array.shape))), array.ravel(), array.shape)


@tries(40)
@given(plain_entries(orders=(2, 3, 4)), st.integers(0, 9), st.integers(1, 3))
def test_product_of_general_entries(entries, seed, threads):
    """The loops ``leaf_mode`` and ``prefix_mode`` give what the whole array gives, for every mode."""
    factors = normal(seed, entries.shape, 3)
    array, _ = reference.dense(entries)
    for mode in range(entries.order):
        M = kernels.mttkrp(entries.indices, entries.values, factors, mode=mode, threads=threads)
        assert np.allclose(M, product(array, factors, mode), rtol=1e-9, atol=1e-9)


@tries(40)
@given(symmetric_entries(orders=(2, 3, 4, 5)), st.integers(0, 9), st.integers(1, 3))
def test_product_of_symmetric_entries(entries, seed, threads):
    """Listed once or written out, ``symmetric_fibres`` and ``symmetric_triples`` count every permutation."""
    factors = normal(seed, entries.shape, 3)
    array, _ = reference.dense(entries)
    for mode in range(entries.order):
        M = kernels.mttkrp_symmetric(entries.indices, once(entries), factors, mode=mode, threads=threads)
        assert np.allclose(M, product(array, factors, mode), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("symmetric", [True, False])
def test_product_in_single_precision(symmetric):
    """Single precision, small indices and mapped files give single precision, near the double result."""
    x = some_entries(size=40, n=900)
    x = x if symmetric else x.expand()
    door, values = (kernels.mttkrp_symmetric, once(x)) if symmetric else (kernels.mttkrp, x.values)
    factors = normal(0, x.shape, 5)
    singles = [np.asfortranarray(u.astype(np.float32)) for u in factors]
    few = door(x.indices.astype(np.uint16), values, singles, mode=0, threads=2)
    assert few.dtype == np.float32
    assert few == pytest.approx(door(x.indices, values, factors, mode=0, threads=1), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("door", [kernels.mttkrp, kernels.mttkrp_symmetric])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mode": 3}, "mode must be from 0 to 2; got"),
        ({"mode": -1}, "mode must be from 0 to 2; got"),
        ({"factors": normal(0, (4, 4), 2)}, "one column for each of"),
        ({"values": np.ones(2)}, "values must have one element for each of 1 entries"),
        ({"indices": np.array([[1, 2, 4]])}, "indices of mode 2 must be from 0 to 3; got 4 to 4"),
        ({"indices": np.array([[1, -1, 0]])}, "indices of mode 1 must be from 0 to 3; got -1"),
        ({"factors": [*normal(0, (4, 4), 2), *normal(0, (4,), 3)]}, "the same rank and type"),
        ({"factors": [*normal(0, (4, 4), 2), *normal(0, (4,), 2, np.float32)]}, "the same rank and type"),
    ],
)
def test_product_refuses(door, change, message):
    """What a loop would read beyond its arrays is refused."""
    good = {"indices": np.array([[2, 1, 0]]), "values": np.ones(1), "factors": normal(0, (4,) * 3, 2), "mode": 0}
    with pytest.raises(ValueError, match=message):
        door(**(good | change), threads=1)


def test_symmetric_product_refuses_other_shapes():
    """Symmetric entries cannot meet factors of different lengths."""
    with pytest.raises(ValueError, match="symmetric entries must have the same shape"):
        kernels.mttkrp_symmetric(np.array([[1, 0]]), np.ones(1), normal(0, (3, 4), 2), mode=0, threads=1)


@tries(30)
@given(
    plain_entries(orders=(2, 3)) | symmetric_entries(orders=(2, 3, 4)),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.3]),
    st.integers(0, 9),
)
def test_objective_is_exact_and_never_rises(entries, rank, ridge, seed):
    """What each sweep says is the objective of what it yields, and no more than before, even of too high a rank."""
    f = objective(entries, ridge=ridge, weight=0.7)
    scale = 1 + float(np.sum(reference.dense(entries)[0] ** 2))
    before = math.inf
    for sweep in itertools.islice(als(f, normal(seed, entries.shape, rank)), 8):
        assert sweep.objective == pytest.approx(f.value(sweep.factors), rel=1e-9, abs=1e-9 * scale)
        assert sweep.objective <= before + 1e-9 * scale
        before = sweep.objective


def test_single_precision_never_rises():
    """In single precision the objective keeps falling too, up to the rounding of the data's square."""
    x = some_entries(n=200)
    result = run(als(objective(x), normal(1, x.shape, 10, np.float32)), max_iter=300)
    assert result.factors[0].dtype == np.float32
    assert max(np.diff(result.history)) <= 1e-6 * np.sum(reference.dense(x)[0] ** 2)
    assert result.history[-1] == pytest.approx(objective(x).value(result.factors), rel=1e-4)


def test_sweep_solves_for_each_factor():
    """After a sweep the gradient of the last factor is zero, and lengths within a component are equal."""
    x = some_entries()
    f = objective(x, ridge=0.2)
    *_, sweep = itertools.islice(als(f, normal(0, x.shape, 4)), 400)
    _, gradients = f.value_and_gradient(sweep.factors)
    assert [np.abs(g).max() < 1e-5 for g in gradients] == [True] * 3
    lengths = [np.linalg.norm(u, axis=0) for u in sweep.factors]
    assert np.array(lengths[1:]) == pytest.approx(np.array([lengths[0]] * 2))


@pytest.mark.parametrize("orthogonal", [0, 3])
@pytest.mark.parametrize("shape", [(9, 8, 7), (6, 7, 5, 6)])
def test_planted_factors_are_recovered(shape, orthogonal):
    """Factors that made an array are found again from a random start."""
    truth = normal(2, shape, 3)
    results = [
        run(als(objective(listed(reference.cp(truth))), normal(seed, shape, 3), orthogonal=orthogonal), max_iter=200)
        for seed in range(3)
    ]
    best = min(results, key=lambda result: result.history[-1])
    assert match_columns(best.factors, truth)[0] > 0.999


def test_matrix_is_approximated_best():
    """Of a matrix the error is that of the best matrix of this rank."""
    X = np.random.default_rng(0).standard_normal((9, 7))
    result = run(als(objective(listed(X)), normal(0, X.shape, 3)), max_iter=500)
    singular = np.linalg.svd(X, compute_uv=False)
    assert result.history[-1] == pytest.approx(0.5 * np.sum(singular[3:] ** 2), rel=1e-6)


def test_orthogonal_sweeps():
    """Orthogonal sweeps solve for the last factor with the others orthogonal; an orthogonal tensor takes few."""
    truth = [np.linalg.qr(u)[0] for u in normal(5, (20,) * 3, 8)]
    truth[0] = truth[0] * np.arange(8, 0, -1.0)
    f = objective(listed(reference.cp(truth)))
    for sweep in itertools.islice(als(f, normal(0, (20,) * 3, 8), orthogonal=40), 1, 41):
        gram = sweep.factors[1].T @ sweep.factors[1]
        assert gram == pytest.approx(np.diag(gram.diagonal()), abs=1e-9 * gram.max())
        assert sweep.objective == pytest.approx(f.value(sweep.factors), abs=1e-8)
    assert match_columns(sweep.factors, truth)[0] > 0.999


def test_start_is_not_changed_and_threads_agree():
    """A solver works on its own arrays; the number of threads changes rounding alone."""
    x = some_entries()
    start = normal(0, x.shape, 3)
    copies = [u.copy() for u in start]
    one, two = (run(als(objective(x, threads=threads), start), max_iter=5) for threads in (1, 2))
    assert all(np.array_equal(u, v) for u, v in zip(start, copies, strict=True))
    assert one.history == pytest.approx(two.history)


@pytest.mark.parametrize("order", [3, 4])
def test_pyttb_agrees(order):
    """From the same start pyttb reaches the same fit, weights and factors after as many sweeps."""
    ttb = pytest.importorskip("pyttb")
    x = some_entries(order=order, size=6, n=25).expand()
    start = normal(3, x.shape, 3)
    tensor = ttb.sptensor(np.array(x.indices), x.values[:, None], x.shape)
    theirs, _, how = ttb.cp_als(tensor, 3, init=ttb.ktensor(start), maxiters=9, stoptol=0, printitn=0, fixsigns=False)
    ours = run(als(objective(x), start), max_iter=9)
    assert 1 - math.sqrt(ours.history[-1] / (0.5 * np.sum(x.values**2))) == pytest.approx(how["fit"], abs=1e-9)
    assert reference.cp(ours.factors) == pytest.approx(theirs.full().double(), abs=1e-8)
    lengths = np.prod([np.linalg.norm(u, axis=0) for u in ours.factors], axis=0)
    assert np.sort(lengths) == pytest.approx(np.sort(theirs.weights))


X = some_entries(n=8)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"slots": (0, 0, 0)}, "slots 0, 1, ...\\); got slots \\(0, 0, 0\\)"),
        ({"loss": Logistic(), "zero_weight": 0.0}, "squared loss"),
        ({"zero_weight": 0.1}, "zero_weight 1 and a positive term weight; got 0.1 and 1"),
        ({"weight": 0.0}, "positive term weight; got 1 and 0"),
        ({"entries": replace(X, weights=np.full(len(X), 2.0))}, "does not support entry weights"),
        ({"penalty": L1(0.1)}, "als requires L2 penalties of the same strength; got L1"),
        (
            {"start": normal(0, (12, 12, 11), 2)},
            "start must contain one factor for each mode, with row counts",
        ),
        ({"start": normal(0, (12, 12), 2)}, "start must contain one factor"),
        ({"start": [*normal(0, (12, 12), 2), *normal(0, (12,), 2, np.float32)]}, "equal ranks and equal dtypes"),
        ({"orthogonal": -1}, "orthogonal must be a whole number of at least 0; got -1"),
        ({"orthogonal": 1, "start": normal(0, (12,) * 3, 13)}, "a mode with 12 rows cannot have 13 orthogonal columns"),
    ],
)
def test_solver_refuses(how, message):
    """What cannot be solved is refused in one sentence."""
    how = {"entries": X, "loss": Squared(), "slots": (0, 1, 2), "weight": 1.0, "zero_weight": 1.0} | how
    term = Term(how["entries"], CP(), how["loss"], how["slots"], how["weight"], how["zero_weight"])
    f = Objective([term], [how.get("penalty", L2())] * len(set(how["slots"])))
    with pytest.raises(InputError, match=message):
        next(als(f, how.get("start", normal(0, (12,) * 3, 2)), orthogonal=how.get("orthogonal", 0)))


def test_solver_takes_one_term_and_weights_of_one():
    """Two terms are refused, weights that say nothing are taken."""
    term = Term(replace(X, weights=np.ones(len(X))), CP(), Squared(), (0, 1, 2), zero_weight=1.0)
    assert next(als(Objective([term], [L2()] * 3), normal(0, X.shape, 2))).objective > 0
    with pytest.raises(InputError, match="a single CP term"):
        next(als(Objective([term, term], [L2()] * 3), normal(0, X.shape, 2)))


@pytest.mark.parametrize("orthogonal", [0, 2])
def test_model(orthogonal):
    """Unit columns, positive falling weights, a fixed sign, a history that begins with nothing explained."""
    x = some_entries(n=200)
    model = AsymmetricCP(4, orthogonal=orthogonal, tol=0, max_iter=9, seed=1, threads=2).fit(x)
    assert np.array([np.linalg.norm(u, axis=0) for u in model.factors_]) == pytest.approx(np.ones((3, 4)), abs=1e-5)
    assert (np.diff(model.weights_) <= 0).all()
    assert model.weights_[-1] > 0
    assert all(u[np.abs(u).argmax(axis=0), range(4)].min() > 0 for u in model.factors_[1:])
    X, _ = reference.dense(x)
    assert model.history_[0] == pytest.approx(0.5 * np.sum(X**2))
    cells = np.array(list(np.ndindex(X.shape)))
    assert 0.5 * np.sum((X.ravel() - model.predict(cells)) ** 2) == pytest.approx(model.history_[-1], rel=1e-4)
    assert (model.n_iter_, model.converged_, model.interrupted_) == (9, False, False)


def test_model_gives_vectors():
    """The weights go to all modes in equal parts: vectors multiply to the prediction."""
    x = some_entries()
    names = [f"w{k}" for k in range(12)]
    model = AsymmetricCP(3, seed=0, tol=0, max_iter=3).fit(x)
    parts = {}
    for vectors in ("words", "contexts", "all"):
        model.vectors = vectors
        parts[vectors] = np.array([model.embedding(names)[name] for name in names])
    assert np.array_equal(parts["all"][:, :3], parts["words"])
    assert np.array_equal(parts["all"][:, 3:6], parts["contexts"])
    W, C, D = np.split(parts["all"], 3, axis=1)
    assert (W[1] * C[2] * D[3]).sum() == pytest.approx(model.predict([[1, 2, 3]])[0], abs=1e-6)


def test_model_takes_modes_of_different_length():
    """Entries that are not symmetric may have a vocabulary per mode; then there is no common row."""
    x = listed(reference.cp([u + 1 for u in normal(0, (6, 5, 4), 2)]))
    model = AsymmetricCP(2, seed=0, tol=1e-6, max_iter=200, vectors="all").fit(x)
    assert [u.shape for u in model.factors_] == [(6, 2), (5, 2), (4, 2)]
    with pytest.raises(
        InputError, match="vectors='all' requires modes with the same vocabulary; got modes with \\[6, 5, 4\\] rows"
    ):
        model.embedding([f"w{k}" for k in range(6)])


def test_model_of_a_matrix():
    """Of a matrix the weights are its singular values."""
    x = some_entries(order=2)
    values = np.linalg.svd(x.to_coo().toarray(), compute_uv=False)
    model = AsymmetricCP(3, seed=0, tol=0, max_iter=300, orthogonal=300).fit(x)
    assert model.weights_ == pytest.approx(values[:3], rel=1e-3)
    assert AsymmetricCP(2, seed=0, max_iter=500).fit(x).converged_


@pytest.mark.parametrize(
    ("parameters", "entries", "message"),
    [
        ({"orthogonal": 1, "rank": 13}, X, "12 rows cannot have 13 orthogonal columns"),
        ({"orthogonal": 1}, replace(X, unobserved="missing"), "orthogonal must be 0 if elements are missing"),
        ({}, replace(X, indices=X.indices[:0], values=X.values[:0]), "there are no entries to factorize"),
        ({"rank": 10**13}, X, "lower the rank or the size of the vocabulary"),
    ],
)
def test_model_refuses(parameters, entries, message):
    """Bad input is refused before any work."""
    with pytest.raises(InputError, match=message):
        AsymmetricCP(**({"rank": 2} | parameters)).fit(entries)


def test_prediction_refuses_what_lies_in_another_mode():
    """Factors stand one below the other inside: an index beyond its own mode is no row of the next."""
    indices = np.array([[0, 1, 2], [2, 0, 1], [1, 2, 0]])
    model = AsymmetricCP(2, max_iter=2, tol=0, seed=0).fit(Entries(indices, np.ones(3), (3, 3, 3)))
    for bad in ([[3, 0, 0]], [[0, -1, 0]], [[0, 0, 3]]):
        with pytest.raises(ValueError, match="indices must be row indices of U, from 0 to 2"):
            model.predict(np.array(bad))
