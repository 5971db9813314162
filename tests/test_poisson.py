"""Poisson CP of counts: the compiled loop, the multiplicative updates and the model."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from helpers import match_columns
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError
from polyadic.core.forms import CP
from polyadic.core.losses import Poisson, Squared
from polyadic.core.objective import Objective, Term
from polyadic.core.penalties import L2, NonNegative
from polyadic.core.solvers.run import run
from polyadic.words.kernels import cp_poisson
from polyadic.words.poisson import PoissonCP, apr
from strategies import plain_entries, symmetric_entries, tries

FLOOR = Poisson().floor


def counted(entries):
    """Make counts of entries of any sign."""
    return replace(entries, values=np.abs(np.round(entries.values)), weights=None)


BOUND = NonNegative()


def objective(entries, *, penalty=BOUND, **how):
    slots = tuple(range(entries.order))
    term = Term(entries, CP(), Poisson(), **{"slots": slots, "zero_weight": 1.0} | how)
    return Objective([term], [penalty] * (max(term.slots) + 1), threads=1)


def some_start(entries, *, rank=3, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.random((n, rank)) + 0.05 for n in entries.shape]


def listed(values):
    """List the cells of an array that are not zero."""
    rows = np.argwhere(values > 0)
    return Entries(rows, values[tuple(rows.T)].astype(float), values.shape)


def some_counts(shape=(7, 6, 5), *, seed=0, rank=3, total=3000):
    """Draw counts about planted components, and give both."""
    rng = np.random.default_rng(seed)
    planted = [rng.random((n, rank)) * (rng.random((n, rank)) < 0.6) + 0.01 for n in shape]
    planted = [u / u.sum(axis=0) * (total / rank) ** (1 / len(shape)) for u in planted]
    return listed(rng.poisson(reference.cp(planted))), planted


def explained(entries, factors, mode, *, threads=1, measured=True):
    values = entries.values * entries.multiplicity()
    return cp_poisson(
        entries.indices,
        values / math.factorial(entries.order) if entries.symmetric else values,
        np.concatenate(factors),
        offsets=np.cumsum([0, *entries.shape[:-1]]),
        mode=mode,
        floor=FLOOR,
        permuted=entries.symmetric,
        measured=measured,
        threads=threads,
    )


@tries(60)
@given(entries=symmetric_entries() | plain_entries(), seed=st.integers(0, 99), zeros=st.booleans())
def test_factor_and_log_likelihood(entries, seed, zeros):
    """``cp_poisson`` (kernel ``poisson_fibres``) gives what a look at every cell gives, in every mode."""
    entries = counted(entries)
    factors = some_start(entries, seed=seed)
    if zeros:  # predictions of zero where something was counted
        for u in factors:
            u[0] = 0
    loss = Poisson().value(reference.dense(entries)[0], reference.cp(factors))
    nothing = Poisson().value(reference.dense(entries)[0], np.ones(entries.shape)) - 1
    likelihood = np.sum(reference.cp(factors)) - np.sum(loss - nothing)
    for mode in range(entries.order):
        value, phi = explained(entries, factors, mode)
        np.testing.assert_allclose(phi, reference.poisson_phi(entries, factors, mode, FLOOR), rtol=1e-9)
        assert value == pytest.approx(likelihood, rel=1e-9, abs=1e-9 * np.abs(loss).sum())
        assert explained(entries, factors, mode, measured=False)[0] == 0


def test_threads_share_the_work():
    """Any number of threads gives the same sums up to rounding, and the same number the same bits."""
    rng = np.random.default_rng(0)
    entries = Entries.collect(rng.integers(0, 9, (400, 3)), rng.integers(1, 9, 400), 9)
    factors = some_start(entries)
    once, (_, again), (_, twice) = (explained(entries, factors, 1, threads=t) for t in (1, 3, 3))
    assert again == pytest.approx(once[1])
    assert np.array_equal(again, twice)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": [0, 7]}, "offsets must have one element for each of 3 modes"),
        ({"offsets": [0, 12, 7]}, "offsets must increase from 0"),
        ({"offsets": [1, 7, 13]}, "offsets must increase from 0"),
        ({"mode": 3}, "mode must be below 3; got .* and 3"),
        ({"offsets": [0, 6, 13]}, "indices must be row indices of U, from 0 to 5; got 0 to 6"),
        ({"permuted": True}, r"indices must be below the number of rows of each mode, \[7, 6, 5\]; got 6"),
        ({"values": np.ones(3)}, r"entries; got shape \(3,\)"),
        ({"U": np.ones((17, 2))}, "indices must be row indices of U, from 0 to 3; got 0 to 4"),
    ],
)
def test_door_refuses(change, message):
    """A loop would read and write beyond its arrays: what does not fit is refused before."""
    x, _ = some_counts()
    fits = {"indices": x.indices, "values": x.values, "U": np.ones((18, 2)), "offsets": [0, 7, 13], "mode": 0}
    with pytest.raises(ValueError, match=message):
        cp_poisson(**{**fits, "floor": FLOOR, "threads": 1, **change})


@tries(30)
@given(
    entries=symmetric_entries(orders=(2, 3)) | plain_entries(),
    seed=st.integers(0, 99),
    inner=st.sampled_from([1, 2, 10]),
)
def test_objective_never_rises(entries, seed, inner):
    """Each sweep is no higher than the one before, is what the objective says, and predicts what was counted in all."""
    entries = counted(entries)
    f, start = objective(entries), some_start(entries, seed=seed)
    before = [u.copy() for u in start]
    seen = list(itertools.islice(apr(f, start, inner=inner), 12))
    values = np.array([sweep.objective for sweep in seen])
    total = float((entries.values * entries.multiplicity()).sum())
    assert (np.diff(values) <= 1e-12 * max(total, 1)).all()
    assert [f.value(sweep.factors) for sweep in seen] == pytest.approx(values.tolist(), rel=1e-9, abs=1e-9 * total)
    for sweep in seen[1:]:
        sums = [u.sum(axis=0) for u in sweep.factors]
        assert np.prod(sums, axis=0).sum() == pytest.approx(total)
        assert all(s == pytest.approx(sums[0]) for s in sums)
        assert all((u >= 0).all() for u in sweep.factors)
    assert all(np.array_equal(a, b) for a, b in zip(start, before, strict=True))
    for d in range(entries.order):
        assert len({id(sweep.factors[d]) for sweep in seen}) == len(seen)


@pytest.mark.parametrize("inner", [1, 10])
def test_same_sweeps_as_pyttb(inner):
    """From the same start every sweep is that of another implementation, as long as nothing is stuck at zero."""
    ttb = pytest.importorskip("pyttb")
    x, _ = some_counts()
    start = some_start(x)
    theirs = ttb.sptensor(x.indices.copy(), x.values[:, None].copy(), x.shape)
    sweeps = list(itertools.islice(apr(objective(x), start, inner=inner, kappa=0, inner_tol=0), 9))
    for k in (1, 8):
        found, _, _ = ttb.cp_apr(
            theirs,
            3,
            init=ttb.ktensor([u.copy() for u in start]),
            maxiters=k,
            maxinneriters=inner,
            stoptol=0,
            kappatol=0,
            printitn=0,
        )
        np.testing.assert_allclose(reference.cp(sweeps[k].factors), found.full().data, rtol=1e-8, atol=1e-10)


def test_a_matrix_is_that_of_scikit_learn():
    """On a matrix one update per turn is the non-negative factorization of Lee and Seung under the divergence."""
    from sklearn.decomposition import non_negative_factorization

    x, _ = some_counts((9, 8))
    start = some_start(x)
    found = run(apr(objective(x), start, inner=1, kappa=0, inner_tol=0), max_iter=20).factors
    W, H, _ = non_negative_factorization(
        reference.dense(x)[0],
        W=start[0].copy(),
        H=start[1].T.copy(),
        init="custom",
        n_components=3,
        solver="mu",
        beta_loss="kullback-leibler",
        max_iter=20,
        tol=0,
    )
    np.testing.assert_allclose(reference.cp(found), W @ H, rtol=1e-6, atol=1e-8)


@given(entries=symmetric_entries(orders=(2, 3), max_size=4))
@tries(15)
def test_symmetric_list_stands_for_all_its_orders(entries):
    """A symmetric list and the list of all its permutations lead to the same factors."""
    entries = counted(entries)
    start = some_start(entries)
    short, long = (run(apr(objective(e), start), max_iter=4).factors for e in (entries, entries.expand()))
    for a, b in zip(short, long, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def test_rank_one_is_the_product_of_frequencies():
    """One component has the frequencies of each mode, after one sweep from any start: independence."""
    x, _ = some_counts()
    dense, _ = reference.dense(x)
    sweep = next(itertools.islice(apr(objective(x), some_start(x, rank=1)), 1, None))
    frequencies = [dense.sum(axis=tuple({0, 1, 2} - {d})) / dense.sum() for d in range(3)]
    expected = dense.sum() * np.einsum("i,j,k->ijk", *frequencies)
    np.testing.assert_allclose(reference.cp(sweep.factors), expected)


def test_ends_at_the_optimum():
    """It ends by itself where no element can improve, zeros included, and does not move from there."""
    x, _ = some_counts(total=300)
    f = objective(x)
    result = run(apr(f, some_start(x), inner_tol=1e-6), max_iter=5000)
    assert result.converged
    _, gradients = f.value_and_gradient(result.factors)
    for u, g in zip(result.factors, gradients, strict=True):
        assert np.abs(np.minimum(u, g)).max() < 1e-4
    assert run(apr(f, result.factors, inner_tol=1e-5), max_iter=5).n_iter == 0


def test_zeros_of_the_start_are_left():
    """Elements that ought not to be zero leave it, unless they are forbidden to."""
    x, _ = some_counts(total=30_000)
    start = some_start(x)
    start[0][:3, 0] = start[1][2:, 1] = 0
    free = run(apr(objective(x), start), max_iter=300)
    bound = run(apr(objective(x), start, kappa=0), max_iter=300)
    usual = run(apr(objective(x), some_start(x)), max_iter=300)
    assert free.history[-1] < 1.01 * usual.history[-1] < 0.7 * bound.history[-1]
    assert (bound.factors[0][:3, 0] == 0).all()


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("shape", [(12, 10, 11), (6, 7, 6, 5)])
def test_planted_components_are_recovered(shape, exact):
    """The components that counts were drawn from are found again; so are those of means that are no counts."""
    x, planted = some_counts(shape, total=200_000, seed=len(shape))
    if exact:
        x = listed(reference.cp(planted))
    results = [run(apr(objective(x), some_start(x, seed=seed)), max_iter=150) for seed in range(3)]
    found = min(results, key=lambda result: result.history[-1]).factors
    assert min(match_columns([u], [v])[0] for u, v in zip(found, planted, strict=True)) > 0.99


X, _ = some_counts()
SYMMETRIC = Entries.collect([[0, 1, 2], [1, 2, 3]], [1.0, 2.0], 4)


@pytest.mark.parametrize(
    ("f", "start", "options", "message"),
    [
        (
            Objective([Term(X, CP(), Squared(), (0, 1, 2))], [NonNegative()] * 3),
            None,
            {},
            "a single CP term with Poisson loss",
        ),
        (Objective(objective(X).terms * 2, [NonNegative()] * 3), None, {}, "CP-APR supports only a single CP term"),
        (
            objective(SYMMETRIC, slots=(0, 0, 0)),
            None,
            {},
            "a separate factor for each mode, .* use quasi_newton with Poiss",
        ),
        (
            objective(X, zero_weight=0.5),
            None,
            {},
            "does not support weights; remove the entry weights and set zero_weight=1",
        ),
        (
            objective(replace(X, weights=np.ones(len(X)))),
            None,
            {},
            "does not support weights; remove the entry weights and set zero_weight=1",
        ),
        (objective(X, penalty=L2()), None, {}, r"requires the penalty NonNegative\(\) for each factor"),
        (objective(X, penalty=NonNegative(0.1)), None, {}, r"requires the penalty NonNegative\(\) for each factor"),
        (objective(replace(X, values=-X.values)), None, {}, "counts must not be negative; entry .* is -"),
        (objective(X), np.ones((9, 3)), {}, "the factor matrices must have"),
        (objective(X), np.ones((5, 2)), {}, "the factor matrices must have"),
        (objective(X), -np.ones((5, 3)), {}, "initial factors for CP-APR must be non-negative; the smallest .* -1.0"),
        (objective(X), None, {"inner": 0}, "inner must be a whole number of at least 1; got 0"),
        (objective(X), None, {"kappa": -1}, "kappa must be a finite number of at least 0; got -1"),
        (objective(X), None, {"inner_tol": -1}, "inner_tol must be a finite number of at least 0; got -1"),
    ],
)
def test_solver_refuses(f, start, options, message):
    """What the updates are not made for, a start whose last factor does not fit, options out of range."""
    *others, last = some_start(f.terms[0].entries)
    with pytest.raises(InputError, match=message):
        next(apr(f, [*others, last if start is None else start], **options))


def topics(seed=0):
    """Count triples of words, each triple from one of three topics of five words; word 15 never occurs."""
    rng = np.random.default_rng(seed)
    triples = rng.integers(0, 3, 3000)[:, None] * 5 + rng.integers(0, 5, (3000, 3))
    return Entries.collect(triples, np.ones(3000), 16)


WORDS = [f"w{k}" for k in range(16)]


def test_topics_are_components():
    """Components are the topics that tuples were drawn from, distributions that explain as much as was counted."""
    x = topics()
    model = PoissonCP(3, seed=0, threads=1).fit(x)
    assert {frozenset(word for word, _ in best) for best in model.components(WORDS, top=5)} == {
        frozenset(WORDS[k : k + 5]) for k in (0, 5, 10)
    }
    for A in model.factors_:
        assert (A.shape, A.dtype) == ((16, 3), np.float32)
        assert A.sum(axis=0) == pytest.approx(np.ones(3))
        assert (A[15] == 0).all()
    assert model.weights_.tolist() == sorted(model.weights_, reverse=True)
    assert model.weights_.sum() == pytest.approx((x.values * x.multiplicity()).sum(), rel=1e-5)
    assert len(model.history_) == model.n_iter_ + 1
    assert (model.converged_, model.interrupted_) == (True, False)


def test_embedding_compares_topics():
    """The cosine of two words is the overlap of their distributions over components."""
    model = PoissonCP(3, seed=0, threads=1).fit(topics())
    embedding = model.embedding(WORDS, counts=np.arange(16))
    assert {word for word, _ in embedding.neighbours("w6", top=4)} == {"w5", "w7", "w8", "w9"}
    p = np.mean(model.factors_, axis=0) * model.weights_
    p /= np.maximum(p.sum(axis=1, keepdims=True), 1e-9)
    assert embedding.similarity("w1", "w7") == pytest.approx(np.sqrt(p[1] * p[7]).sum(), abs=1e-6)
    assert model.embedding(WORDS, mode=1).vectors ** 2 == pytest.approx(model.factors_[1] * model.weights_, rel=1e-5)


def test_modes_of_different_vocabularies():
    """Where modes differ, each has its own words, and asking for all of them at once is refused."""
    x, planted = some_counts((12, 10, 11), total=200_000)
    model = PoissonCP(3, seed=2, tol=1e-6, max_iter=500, threads=1).fit(x)
    assert min(match_columns([u], [v])[0] for u, v in zip(model.factors_, planted, strict=True)) > 0.99
    words = [f"v{k}" for k in range(10)]
    likeliest = [best[0][0] for best in model.components(words, top=1, mode=1)]
    assert likeliest == [words[k] for k in model.factors_[1].argmax(axis=0)]
    for ask in (model.components, model.embedding):
        with pytest.raises(InputError, match=r"got 10 words for factors with \[12, 10, 11\] rows: set mode"):
            ask(words)
        with pytest.raises(InputError, match="mode must be a whole number from 0 to 2; got 3"):
            ask(words, mode=3)
    with pytest.raises(InputError, match="top must be a whole number of at least 1; got 0"):
        model.components(words, mode=1, top=0)


@pytest.mark.parametrize(
    ("parameters", "entries", "message"),
    [
        ({"rank": 10**12}, SYMMETRIC, "2 counts, 4 x 4 x 4, and rank .* MiB are free; lower the rank"),
        ({}, replace(SYMMETRIC, values=np.zeros(2)), "all counts are zero"),
        ({}, replace(SYMMETRIC, values=np.array([3.0, -1.0])), "counts must not be negative; entry 1 is -1.0"),
        ({}, replace(SYMMETRIC, weights=np.ones(2)), "does not support weights"),
        ({}, replace(SYMMETRIC, unobserved="missing"), "elements must be known"),
    ],
)
def test_model_refuses(parameters, entries, message):
    """Ranks and entries that cannot be used are refused by ``fit``, in a sentence."""
    with pytest.raises(InputError, match=message):
        PoissonCP(**{"rank": 2} | parameters).fit(entries)
