"""Tucker models: kernels beside dense twins, the orthogonal iteration, the model of word vectors."""

import inspect
import itertools
import string
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import helpers
import reference
import strategies
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError
from polyadic.core.resources import free_memory
from polyadic.core.solvers.run import run
from polyadic.words import kernels as tucker_kernels
from polyadic.words.kernels import tucker_core, tucker_predict, tucker_pullback, unfolding_gram
from polyadic.words.tucker import Tucker, hooi, hosvd
from strategies import tries


def dense_core(X, factors):
    """Contract a whole array with a factor in each mode."""
    for u in factors:
        X = np.tensordot(X, u, (0, 0))
    return X


def dense_model(core, factors):
    """Every cell of a Tucker model."""
    return dense_core(core, [u.T for u in factors])


def dense_pullback(X, core, factors, mode):
    """Gradient of ``sum(X * model)`` for the factor of one mode, by its definition as a sum over all cells."""
    cells, ranks = string.ascii_lowercase[: X.ndim], string.ascii_uppercase[: X.ndim]
    others = [c for c in range(X.ndim) if c != mode]
    operands = ",".join([cells, ranks, *(cells[c] + ranks[c] for c in others)])
    return np.einsum(f"{operands}->{cells[mode]}{ranks[mode]}", X, core, *[factors[c] for c in others])


def planted(seed, *, size=14, rank=3, order=3, symmetric=True):
    """An array that is exactly a Tucker model, with its factors."""
    rng = np.random.default_rng(seed)
    core = rng.standard_normal((rank,) * order)
    if symmetric:
        core = sum(np.transpose(core, axes) for axes in itertools.permutations(range(order)))
        factors = [np.linalg.qr(rng.standard_normal((size, rank)))[0]] * order
    else:
        factors = [np.linalg.qr(rng.standard_normal((size + d, rank)))[0] for d in range(order)]
    return dense_model(core, factors), factors


def entries_of(X, *, symmetric=True):
    """List the cells of an array that are not zero."""
    rows = np.argwhere(X)
    if not symmetric:
        return Entries(rows, X[tuple(rows.T)], X.shape)
    rows = rows[(np.diff(rows, axis=1) <= 0).all(axis=1)]
    return Entries.collect(rows, X[tuple(rows.T)], len(X))


def congruence(found, truth):
    """Smallest cosine of an angle between two subspaces."""
    return np.linalg.svd(np.linalg.qr(found)[0].T @ np.linalg.qr(truth)[0])[1].min()


some_entries = partial(helpers.some_entries, size=20, n=200)


@tries(40)
@given(entries=strategies.plain_entries(orders=(2, 3, 4)), seed=st.integers(0, 99), threads=st.integers(1, 3))
def test_kernels_agree_with_dense_arrays(entries, seed, threads):
    """Core, predictions and gradients are those of whole arrays; widths differ, cells come in any order."""
    rng = np.random.default_rng(seed)
    X, _ = reference.dense(entries)
    ranks = rng.integers(1, 4, entries.order)
    factors = [rng.standard_normal((n, r)) for n, r in zip(entries.shape, ranks, strict=True)]
    core = rng.standard_normal(ranks)
    options = {"slots": range(entries.order), "threads": threads}
    found = tucker_core(entries.indices, entries.values, factors, **options)
    assert found == pytest.approx(dense_core(X, factors), abs=1e-9)
    predictions = tucker_predict(entries.indices, factors, core, **options)
    assert predictions == pytest.approx(dense_model(core, factors)[tuple(entries.indices.T)], abs=1e-9)
    gradients = tucker_pullback(entries.indices, entries.values, factors, core, **options)
    for mode, gradient in enumerate(gradients):
        assert gradient == pytest.approx(dense_pullback(X, core, factors, mode), abs=1e-9)


@pytest.mark.parametrize("slots", [(0, 0, 0), (0, 1, 0), (1, 0, 0)])
def test_shared_factors_get_the_sum_of_gradients(slots):
    """The pullback is the derivative of the predictions, whichever modes share a factor."""
    rng = np.random.default_rng(1)
    rows, d = rng.integers(0, 4, (9, 3)), rng.standard_normal(9)
    factors = [rng.standard_normal((4, 2)), rng.standard_normal((4, 3))][: max(slots) + 1]
    core = rng.standard_normal([factors[s].shape[1] for s in slots])
    gradients = tucker_pullback(rows, d, factors, core, slots=slots, threads=1)
    for s, gradient in enumerate(gradients):

        def value(u, s=s):
            moved = [u if k == s else f for k, f in enumerate(factors)]
            return float(d @ tucker_predict(rows, moved, core, slots=slots, threads=1))

        assert gradient == pytest.approx(reference.numerical_gradient(value, factors[s]), abs=1e-6)


def test_loops_work_in_batches():
    """Fibres beyond one batch, and blocks of roots, are added like the first."""
    rng = np.random.default_rng(0)
    X = rng.random((3, 300, 2))
    x = entries_of(X, symmetric=False)
    factors = [rng.standard_normal((n, 2)) for n in X.shape]
    core = rng.standard_normal((2, 2, 2))
    G = tucker_core(x.indices, x.values, factors, slots=(0, 1, 2), threads=1)
    assert pytest.approx(dense_core(X, factors)) == G
    gradients = tucker_pullback(x.indices, x.values, factors, core, slots=(0, 1, 2), threads=2)
    for mode, gradient in enumerate(gradients):
        assert gradient == pytest.approx(dense_pullback(X, core, factors, mode))
    fibres = {"_core_fibres", "_gram_fibres", "_predict_tucker", "_pullback_tucker"}
    assert fibres <= set(dir(tucker_kernels))


@pytest.mark.parametrize("threads", [1, 3])
def test_gram_of_unfolding(threads):
    """The product with the Gram matrix of the last unfolding is that of the whole array."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 5, 6)) * (rng.random((4, 5, 6)) < 0.4)
    x, Q = entries_of(X, symmetric=False), rng.standard_normal((6, 2))
    unfolding = X.reshape(-1, 6)
    found = unfolding_gram(x.indices, x.values, Q, threads=threads)
    assert found == pytest.approx(unfolding.T @ unfolding @ Q)


ROWS, FACTORS = np.array([[0, 1]]), [np.ones((3, 2)), np.ones((4, 2))]


@pytest.mark.parametrize(
    ("door", "change", "message"),
    [
        (
            tucker_core,
            {"indices": np.array([[0, 4]])},
            "mode 1 must be from 0 to 3, the last row of the factor; got 4 to 4",
        ),
        (tucker_core, {"indices": np.array([[0, -1]])}, "indices of mode 1 must be from 0 to"),
        (tucker_core, {"indices": np.array([[0]])}, "indices must have at least two columns"),
        (tucker_core, {"slots": (0, 2)}, "slots must contain a factor index from 0 to 1 for each mode"),
        (tucker_core, {"values": np.ones(2)}, "values must have one element for each of 1 entries; got 2"),
        (tucker_predict, {"core": np.ones((2, 3))}, r"the core must have shape \(2, 2\); got \(2, 3\)"),
        (
            tucker_pullback,
            {"derivatives": np.ones(3)},
            "derivatives must have one element for each of 1 entries; got 3",
        ),
        (unfolding_gram, {"Q": np.ones((1, 2))}, "mode 1 must be from 0 to 0, the last row of the factor; got 1 to 1"),
        (unfolding_gram, {"values": np.ones(2)}, "values must have one element for each of 1 entries; got 2"),
    ],
)
def test_kernels_refuse(door, change, message):
    """What would make a loop read beyond its arrays is refused."""
    known = {"indices": ROWS, "values": np.ones(1), "derivatives": np.ones(1), "factors": FACTORS, "slots": (0, 1)}
    known |= {"core": np.ones((2, 2)), "Q": np.ones((2, 2)), "threads": 1} | change
    with pytest.raises(ValueError, match=message):
        door(**{name: known[name] for name in inspect.signature(door).parameters})


@tries(40)
@given(entries=strategies.symmetric_entries() | strategies.plain_entries(orders=(2, 3)), seed=st.integers(0, 99))
def test_objective_is_the_error_and_never_rises(entries, seed):
    """Each sweep tells half the squared error over all cells; factors are orthonormal, a symmetric core symmetric."""
    rng = np.random.default_rng(seed)
    X, _ = reference.dense(entries)
    sizes = entries.shape[:1] if entries.symmetric else entries.shape
    start = [rng.standard_normal((n, min(n, 2))) for n in sizes]
    last = np.inf
    for (*factors, core), objective in itertools.islice(hooi(entries, start, threads=1), 6):
        modes = factors * entries.order if entries.symmetric else factors
        error = 0.5 * np.sum((X - dense_model(core, modes)) ** 2)
        assert objective == pytest.approx(error, abs=1e-9 + 1e-9 * np.sum(X**2))
        assert objective <= last
        for u in factors:
            assert u.T @ u == pytest.approx(np.eye(u.shape[1]), abs=1e-9)
        if entries.symmetric:
            assert core == pytest.approx(np.swapaxes(core, 0, -1), abs=1e-9)
        last = objective


def test_shift_rescues_signed_arrays():
    """On signed arrays the plain iteration falls back now and then; the shifted one climbs to a stationary point."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((6, 6, 6))
        X = sum(np.transpose(X, axes) for axes in itertools.permutations(range(3)))
        result = run(hooi(entries_of(X), [rng.standard_normal((6, 2))], threads=1), max_iter=300)
        u, core = result.factors
        gradient = dense_pullback(X, core, [u] * 3, 0)
        assert np.linalg.norm(gradient - u @ (u.T @ gradient)) < 0.02 * np.linalg.norm(gradient)


@pytest.mark.parametrize("start", ["random", "hosvd"])
@pytest.mark.parametrize(("order", "symmetric"), [(2, True), (3, True), (4, True), (3, False)])
def test_planted_subspaces_are_recovered(order, symmetric, start):
    """An array that is a Tucker model is explained wholly, and its subspaces are found."""
    X, factors = planted(order, order=order, symmetric=symmetric, size=14 if order < 4 else 8)
    x = entries_of(X, symmetric=symmetric)
    model = Tucker(3, start=start, seed=0, tol=0.0, max_iter=60, threads=1).fit(x)
    assert model.explained_ > 0.9999
    for found, truth in zip(model.factors_, factors, strict=False):
        assert congruence(found, truth) > 0.999
    assert model.predict(x.indices) == pytest.approx(x.values, abs=1e-2 * np.abs(x.values).max())


def test_partly_shared_factors():
    """Slots may tie some modes: relations between members of one set."""
    rng = np.random.default_rng(0)
    u, v = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (9, 4))
    X = dense_model(rng.standard_normal((2, 2, 2)), [u, v, u])
    x = entries_of(X, symmetric=False)
    start = [rng.standard_normal((9, 2)), rng.standard_normal((4, 2))]
    result = run(hooi(x, start, slots=(0, 1, 0), threads=1), max_iter=200)
    assert result.history[-1] < 1e-3 * np.sum(X**2)
    assert congruence(result.factors[0], u) > 0.99


@pytest.mark.parametrize("symmetric", [True, False])
def test_hosvd_gives_leading_singular_vectors(symmetric):
    """The start spans the leading left singular vectors of the unfoldings, repeated indices included."""
    X, _ = planted(0, symmetric=symmetric, size=9)
    X[np.abs(X) < 0.1] = 0
    X += 0.5 * (X > 0.8)
    factors = hosvd(entries_of(X, symmetric=symmetric), [2] if symmetric else [2, 3, 1], rng=np.random.default_rng(0))
    for mode, u in enumerate(factors):
        unfolding = np.moveaxis(X, mode, 0).reshape(X.shape[mode], -1)
        truth = np.linalg.svd(unfolding)[0][:, : u.shape[1]]
        assert congruence(u, truth) > 0.999


@pytest.mark.parametrize("symmetric", [True, False])
def test_agrees_with_pyttb(symmetric):
    """The fit reached is that of alternating least squares in another library, from the same start."""
    ttb = pytest.importorskip("pyttb")
    X, _ = planted(3, symmetric=symmetric, size=8)
    X = np.round(X, 1)
    x = entries_of(X, symmetric=symmetric)
    full = x.expand()
    tensor = ttb.sptensor(full.indices.astype(int), full.values[:, None].astype(float), full.shape)
    rng = np.random.default_rng(0)
    start = [rng.standard_normal((n, 2)) for n in X.shape]
    theirs, _, _ = ttb.tucker_als(tensor, [2, 2, 2], init=start, stoptol=1e-9, maxiters=300, printitn=0)
    error = 0.5 * np.sum((X - theirs.full().data) ** 2)
    ours = min(
        run(hooi(x, rng_start, threads=1), max_iter=300).history[-1]
        for rng_start in ([start[:1], hosvd(x, [2], rng=rng)] if symmetric else [start])
    )
    assert ours == pytest.approx(error, rel=1e-3)


def test_matrix_is_approximated_best():
    """Of a matrix, the singular values and the error are those of its singular value decomposition."""
    x = some_entries(order=2)
    X, _ = reference.dense(x)
    model = Tucker(4, start="hosvd", seed=0, tol=0.0, max_iter=200, threads=1).fit(x)
    values = np.linalg.svd(X)[1]
    assert model.history_[-1] == pytest.approx(0.5 * np.sum(values[4:] ** 2), rel=1e-3)
    assert model.singular_values_[0] == pytest.approx(values[:4], rel=1e-2)


def test_principal_axes():
    """Slices of the core are orthogonal, their norms fall, signs are fixed, vectors are scaled by a power."""
    model = Tucker(4, seed=0, power=0.3, max_iter=500, threads=1).fit(some_entries())
    core, (u,), (s,) = model.core_, model.factors_, model.singular_values_
    unfolding = core.reshape(4, -1)
    assert unfolding @ unfolding.T == pytest.approx(np.diag(s**2), abs=1e-6 * s[0] ** 2)
    assert (np.diff(s) <= 0).all()
    assert (u[np.abs(u).argmax(axis=0), range(4)] > 0).all()
    assert model.vectors_[0] == pytest.approx(u * s**0.3, rel=1e-5)
    X, _ = reference.dense(some_entries())
    assert model.explained_ == pytest.approx(1 - 2 * model.history_[-1] / np.sum(X**2), rel=1e-5)
    assert dense_core(X, [u] * 3) == pytest.approx(core, abs=1e-4)


def test_attributes_and_embedding():
    """Results have their shapes and precision, for one factor and for one per mode; words get their rows."""
    model = Tucker(4, seed=0, max_iter=500, threads=1).fit(some_entries())
    assert [(u.shape, u.dtype) for u in model.factors_] == [((20, 4), np.float32)]
    assert model.core_.shape == (4, 4, 4)
    assert len(model.history_) == model.n_iter_ + 1
    assert (model.converged_, model.interrupted_) == (True, False)
    assert np.array_equal(model.embedding([f"w{k}" for k in range(20)])["w7"], model.vectors_[0][7])
    X, _ = planted(0, symmetric=False)
    model = Tucker((3, 2, 1), seed=0, max_iter=500, threads=1).fit(entries_of(X, symmetric=False))
    assert [u.shape for u in model.factors_] == [(14, 3), (15, 2), (16, 1)]
    assert np.array_equal(model.embedding([f"w{k}" for k in range(15)], mode=1)["w7"], model.vectors_[1][7])
    with pytest.raises(InputError, match="mode must be a whole number from 0 to 2; got 3"):
        model.embedding(["a"], mode=3)


def test_zero_array():
    """An array of zeros has a core of zeros."""
    model = Tucker(1, seed=0).fit(Entries.collect([[0, 1, 2]], [0.0], 3))
    assert (model.explained_, model.history_[-1]) == (0.0, 0.0)


TWICE = Entries(np.array([[0, 1], [0, 1]]), np.ones(2), (2, 2))


@pytest.mark.parametrize(
    ("parameters", "entries", "message"),
    [
        ({"rank": 21}, None, "rank must be a whole number from 1 to 20; got 21"),
        ({"rank": (2, 2)}, None, r"rank must be a single number or one number for each of 1 factors; got \(2, 2\)"),
        ({}, Entries(np.empty((0, 2), int), np.empty(0), (2, 2), symmetric=True), "there are no entries to factorize"),
        (
            {},
            Entries(np.array([[1, 0]]), np.ones(1), (2, 2), unobserved="missing"),
            "elements must be known",
        ),
        ({"rank": 1}, Entries(np.array([[1]]), np.ones(1), (2,)), "HOOI requires entries with at least two modes"),
        ({}, TWICE, "each cell to be listed only once; sum duplicates with Entries.collect"),
    ],
)
def test_model_refusals(parameters, entries, message):
    """Ranks and entries that cannot be used are refused by ``fit``, in a sentence."""
    with pytest.raises(InputError, match=message):
        Tucker(**{"rank": 2} | parameters).fit(some_entries() if entries is None else entries)


@pytest.mark.skipif(free_memory() is None, reason="this system does not tell how much memory is free")
def test_memory_is_checked_before_it_is_taken():
    """A core that does not fit is refused, with what to do."""
    x = Entries.collect([[0, 1, 2]], [1.0], 60_000)
    with pytest.raises(InputError, match=r"Tucker model of 60,000 rows and ranks 9000, 9000, 9000 needs .* lower the"):
        Tucker(9000).fit(x)


PLAIN = Entries(np.array([[0, 1, 1]]), np.ones(1), (2, 2, 2))


@pytest.mark.parametrize(
    ("entries", "shape", "slots", "message"),
    [
        (PLAIN, (2, 1), (0, 1), "slots must contain one factor index for each mode"),
        (PLAIN, (2, 1), (0, 0, 0), "slots must contain the indices of all 2 factors"),
        (some_entries(), (20, 1), (0, 1, 1), "symmetric entries must share a single factor"),
        (some_entries(), (19, 1), None, "factor 0 must have 20 rows and no more columns than rows; got shape"),
        (some_entries(), (20, 21), None, "factor 0 must have 20 rows"),
        (some_entries(), (20,), None, "factor 0 must have 20 rows"),
        (some_entries(), (20, 0), None, "factor 0 must have 20 rows"),
    ],
)
def test_solver_refusals(entries, shape, slots, message):
    """The solver refuses slots and starts that do not fit the entries."""
    with pytest.raises(InputError, match=message):
        next(hooi(entries, [np.ones(shape)] * (2 if slots else 1), slots=slots))
