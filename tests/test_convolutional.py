"""Circulant matrices by their spectra, cumulants of patches, and filters found from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from polyadic import InputError
from polyadic.core.solvers.run import run
from polyadic.sentences.filter_als import (
    Moments,
    aligned,
    compose,
    convolutional_als,
    deconvolve,
    find_filters,
    gram,
    khatri_rao_gram,
    max_filters,
    patches,
    shifts,
    solve,
    unshifted,
)
from reference import convolve

sizes = st.tuples(st.integers(1, 4), st.integers(2, 9), st.integers(0, 999))


def circulant(f):
    """The matrix with the shifts of f as columns, cell by cell."""
    n = len(f)
    return np.array([[f[(i - j) % n] for j in range(n)] for i in range(n)])


def stacked(filters):
    return np.hstack([circulant(f) for f in filters])


# ---- circulant matrices


@given(sizes)
def test_spectra_are_matrices(case):
    """Shifts, convolutions, Gram matrices, their elementwise products and solutions agree with dense matrices."""
    L, n, seed = case
    rng = np.random.default_rng(seed)
    g, h = rng.standard_normal((2, L, n))
    w = rng.standard_normal(n)
    np.testing.assert_allclose(shifts(g[0]).T, circulant(g[0]))
    np.testing.assert_allclose(unshifted(shifts(g)), np.repeat(g[:, None], n, axis=1))
    np.testing.assert_allclose(convolve(g[0], w), circulant(g[0]) @ w, atol=1e-9)
    G, H = stacked(g), stacked(h)

    def dense(blocks):
        return np.block([[circulant(blocks[j, k]) for k in range(L)] for j in range(L)])

    np.testing.assert_allclose(dense(gram(g)), G.T @ G, atol=1e-9)
    both = (G.T @ G) * (H.T @ H)
    np.testing.assert_allclose(dense(khatri_rao_gram(g, h)), both, atol=1e-9)
    rows = rng.standard_normal((3, L, n))
    expected = rows.reshape(3, -1) @ np.linalg.pinv(both, rcond=1e-10, hermitian=True)
    found = solve(khatri_rao_gram(g, h), rows).reshape(3, -1)
    np.testing.assert_allclose(found, expected, atol=1e-6 * max(1, np.abs(expected).max()))


def test_the_printed_product_of_spectra_is_another_matrix():
    """Lemma A.3 of Huang and Anandkumar multiplies spectra, which is the product of matrices."""
    g, h = np.random.default_rng(0).standard_normal((2, 1, 5))
    printed = np.fft.ifft(np.abs(np.fft.fft(g[0])) ** 2 * np.abs(np.fft.fft(h[0])) ** 2).real
    G, H = stacked(g), stacked(h)
    np.testing.assert_allclose(circulant(printed), G.T @ G @ H.T @ H)
    assert np.abs(circulant(printed) - (G.T @ G) * (H.T @ H)).max() > 0.1


@given(sizes, st.integers(0, 5))
def test_deconvolution_is_the_pseudo_inverse(case, more):
    """Activations are those of least norm that explain a signal, of any length that filters are padded to."""
    L, n, seed = case
    rng = np.random.default_rng(seed)
    f, y = rng.standard_normal((L, n)), rng.standard_normal(n + more)
    F = stacked(np.pad(f, ((0, 0), (0, more))))
    np.testing.assert_allclose(deconvolve(f, y).ravel(), np.linalg.pinv(F, rcond=1e-6) @ y, atol=1e-5)
    ridge = 0.3
    expected = F.T @ np.linalg.solve(F @ F.T + ridge * np.eye(len(y)), y)
    np.testing.assert_allclose(deconvolve(f, y, ridge=ridge).ravel(), expected, atol=1e-8)


# ---- cumulants


@given(st.integers(0, 999), st.integers(1, 3), st.integers(1, 4))
def test_cumulants_are_central_moments(seed, K, n):
    """However patches are divided; from the fourth the products of covariances of the three pairings are taken."""
    x = np.random.default_rng(seed).poisson(1.5, (K, 30, n)) + 5.0
    z = x - x.mean(axis=1, keepdims=True)
    c = np.einsum("kia,kib->kab", z, z) / 30
    pairings = sum(np.einsum(f"k{one},k{two}->kabcd", c, c) for one, two in (("ab", "cd"), ("ac", "bd"), ("ad", "bc")))
    expected = {
        3: np.einsum("kia,kib,kic->kabc", z, z, z) / 30,
        4: np.einsum("kia,kib,kic,kid->kabcd", z, z, z, z) / 30 - pairings,
    }
    for order, cumulant in expected.items():
        moments = Moments.empty(K, n, order=order)
        moments.add(x[:, :11])
        moments.add(x[:, 11:])
        assert moments.number == 30
        np.testing.assert_allclose(moments.cumulant(), cumulant, atol=1e-7)


def test_cumulants_of_known_distributions():
    """Independent Poisson values have their mean on the diagonal, Gaussian ones nothing."""
    rng = np.random.default_rng(0)
    moments = Moments.empty(2, 3)
    for _ in range(20):
        moments.add(np.stack([rng.poisson(2.0, (20_000, 3)), rng.standard_normal((20_000, 3))]))
    poisson, gaussian = moments.cumulant()
    diagonal = np.zeros((3, 3, 3))
    diagonal[range(3), range(3), range(3)] = 2
    np.testing.assert_allclose(poisson, diagonal, atol=0.08)
    np.testing.assert_allclose(gaussian, 0, atol=0.03)


@given(st.lists(st.integers(0, 6), max_size=6), st.integers(1, 4), st.integers(1, 3))
def test_patches_of_many_signals_are_those_of_each(lengths, n, K):
    """Signals one after another have the patches that they have alone, in order."""
    signals = np.split(np.random.default_rng(0).standard_normal((sum(lengths), K)), np.cumsum(lengths)[:-1])
    signals = signals if lengths else []
    together = patches(np.concatenate([np.zeros((0, K)), *signals]), n, np.cumsum([0, *lengths]))
    apart = [patches(signal, n) for signal in signals]
    np.testing.assert_array_equal(together, np.concatenate([np.zeros((K, 0, n)), *apart], axis=1))


def test_patches():
    """All runs of neighbours, in order; none of a signal that is too short."""
    signal = np.arange(10).reshape(5, 2)
    assert patches(signal, 3).tolist() == [[[0, 2, 4], [2, 4, 6], [4, 6, 8]], [[1, 3, 5], [3, 5, 7], [5, 7, 9]]]
    assert patches(signal, 6).shape == (2, 0, 6)


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (lambda: Moments.empty(1, 2).cumulant(), "all sentences are shorter"),
        (lambda: Moments.empty(1, 2).add(np.zeros((1, 4, 3))), "patches must have shape"),
        (lambda: find_filters(np.zeros((1, 2, 2, 3)), 1), "shape"),
        (lambda: find_filters(np.full((1, 3, 3, 3), np.nan), 1), "finite"),
        (lambda: find_filters(np.zeros((1, 3, 3, 3)), 3), "number must be"),
        (lambda: find_filters(np.zeros((1, 3, 3, 3)), 1, support=4), "support must be"),
        (lambda: find_filters(np.zeros((1, 3, 3, 3)), 1, projection="mean"), "projection"),
    ],
)
def test_refusals(call, fault):
    """What cannot be is said in a sentence."""
    with pytest.raises(InputError, match=fault):
        call()


# ---- filters


def planted(n, L, *, half, seed):
    """Filters and weights; with ``half`` both lie in the first half, as if signals were padded with zeros."""
    rng = np.random.default_rng(seed)
    f, weights = np.zeros((1, L, n)), np.zeros((1, L, n))
    length = n // 2 if half else n
    f[..., :length] = rng.standard_normal((L, length))
    weights[..., :length] = 1
    return f / np.linalg.norm(f, axis=-1, keepdims=True), weights


def worst_match(found, true):
    """Smallest correlation of a filter with the true one it is matched to, over all shifts."""
    alike = np.abs(shifts(found) @ true.T).max(axis=1)
    return alike[linear_sum_assignment(-alike)].min()


def rate(n, L, *, half, tries=10, **how):
    """Share of planted cases where every filter is found."""
    good = 0
    for seed in range(tries):
        f, weights = planted(n, L, half=half, seed=seed)
        found = find_filters(compose([f] * 3, weights), L, seed=seed, sweeps=200, **how)
        good += worst_match(found.filters[0], f[0]) > 0.99
    return good / tries


def test_composition_is_the_sum_over_shifts():
    """The tensor of filters and weights, cell by cell."""
    rng = np.random.default_rng(0)
    f, g, h, w = rng.standard_normal((4, 1, 2, 4))
    expected = sum(
        w[0, k, p] * np.einsum("a,b,c->abc", *(np.roll(x[0, k], p) for x in (f, g, h)))
        for k in range(2)
        for p in range(4)
    )
    np.testing.assert_allclose(compose([f, g, h], w)[0], expected)
    weighed = compose([f, g, h, np.ones_like(f)], w)[0]  # the fourth mode sums over shifts
    np.testing.assert_allclose(weighed[..., 0], expected)
    np.testing.assert_allclose(weighed, np.repeat(weighed[..., :1], 4, axis=-1))


@pytest.mark.parametrize("signs", [1, -1])
def test_filters_of_fourth_cumulants_are_found(signs):
    """Up to sign; weights of flat distributions are negative. The error is that of the tensor of what is found."""
    f, weights = planted(10, 2, half=True, seed=1)
    C = compose([f] * 4, signs * weights)
    found = find_filters(C, 2, support=5, starts=3, seed=0)
    assert worst_match(found.filters[0], f[0]) > 0.99
    assert found.error[0] == pytest.approx(
        ((C - compose([found.filters] * 4, found.weights)) ** 2).sum() / (C**2).sum(), abs=1e-9
    )
    assert np.sign(found.weights.sum()) == signs


def test_symmetric_activations_need_the_fourth_order():
    """Third cumulants of Laplace activations are noise; from fourth cumulants their filter is found."""
    rng = np.random.default_rng(0)
    f, _ = planted(8, 1, half=True, seed=2)
    errors = {}
    w = np.zeros((50_000, 1, 8))
    w[..., :4] = rng.laplace(size=(50_000, 1, 4))
    for order in (3, 4):
        moments = Moments.empty(1, 8, order=order)
        moments.add(convolve(f[0], w).sum(axis=1)[None])
        errors[order] = 1 - worst_match(find_filters(moments.cumulant(), 1, support=4, seed=0).filters[0], f[0])
    assert errors[4] < 0.01 < errors[3]


@pytest.mark.filterwarnings(
    "ignore:the number of filters should be:UserWarning"
)  # which cannot know that activations are short
@pytest.mark.parametrize(
    ("n", "L", "half", "starts", "tries"),
    [
        (12, 2, True, 1, 5),
        pytest.param(12, 3, True, 1, 5, marks=pytest.mark.slow),
        pytest.param(16, 2, False, 10, 3, marks=pytest.mark.slow),
    ],
)
def test_joint_filters_are_found(n, L, half, starts, tries):
    """All filters together, by the leading singular vector: found from one start where activations fill half."""
    assert rate(n, L, half=half, starts=starts, tries=tries) == 1


@pytest.mark.slow
def test_averaging_and_deflation_are_worse():
    """What is printed averages columns; the authors' program finds filters one by one. Neither does as well."""
    half = {"half": True, "support": 6, "starts": 1, "tries": 6}
    best, average = rate(12, 2, **half), rate(12, 2, projection="average", **half)
    deflated = rate(12, 2, projection="average", joint=False, **half)
    assert best >= 0.9 > average > deflated
    assert average >= 0.2
    assert deflated <= 0.2


@pytest.mark.slow
def test_too_many_filters_cannot_be_found():
    """Two filters of eight values whose activations are alike everywhere are more than the tensor tells apart."""
    with pytest.warns(UserWarning, match="at most about 1 for patches of this length; got 2"):
        assert rate(8, 2, half=False, starts=5, tries=5) <= 0.2


@pytest.mark.slow
@pytest.mark.parametrize(("n", "half"), [(12, True), (12, False)])
def test_as_many_as_are_promised_can_be_found(n, half):
    """Up to ``max_filters`` there is no warning, and filters are mostly found; one more is warned of."""
    support = n // 2 if half else n
    most = max_filters(n, support)
    assert rate(n, most, half=half, support=support, tries=3) > 0.6
    with pytest.warns(UserWarning, match=f"at most about {most} for patches of this length; got {most + 1}"):
        find_filters(np.zeros((1, n, n, n)), most + 1, support=support, starts=1, sweeps=1)


def test_the_fit_is_told_and_the_same_again():
    """The error is that of the tensor made of what is found; the same seed finds the same; batches do not mix."""
    cases = [planted(9, 2, half=True, seed=seed) for seed in (0, 1)]
    C = np.concatenate([compose([f] * 3, w) for f, w in cases])
    C = C + 0.01 * np.random.default_rng(0).standard_normal(C.shape)
    found = find_filters(C, 2, support=4, seed=0)
    rest = C - compose([found.filters] * 3, found.weights)
    shares = (rest**2).sum(axis=(1, 2, 3)) / (C**2).sum(axis=(1, 2, 3))
    assert (found.error < 0.1).all()
    np.testing.assert_allclose(shares, found.error)
    assert (found.weights.sum(axis=-1) > 0).all()
    again = find_filters(C, 2, support=4, seed=0)
    np.testing.assert_array_equal(found.filters, again.filters)
    norms = np.linalg.norm(found.weights, axis=-1)
    assert (norms[:, 0] >= norms[:, 1]).all()


def test_threads_change_nothing(monkeypatch):
    """As many threads as there are cores, or tensors, or more: the same bits."""
    monkeypatch.setattr("polyadic.sentences.filter_als.WORTH", 1)
    C = np.random.default_rng(0).standard_normal((3, 6, 6, 6))
    one, *others = (find_filters(C, 1, starts=2, sweeps=5, seed=0, threads=threads) for threads in (1, 2, 9))
    for other in others:
        np.testing.assert_array_equal(other.filters, one.filters)


def test_the_solver_is_one_of_ours():
    """It can be run, watched and stopped as the others."""
    f, weights = planted(10, 2, half=True, seed=3)
    C = compose([f] * 3, weights)
    solver = convolutional_als(C, 2, support=10, rng=np.random.default_rng(0))
    result = run(solver, max_iter=100, tol=1e-6)
    assert result.history[-1] < 0.1 * result.history[0]
    assert result.factors[0].shape == (1, 2, 10)


def test_filters_of_real_activations():
    """From signals to filters: Poisson activations of two filters, padded with zeros, 100,000 patches."""
    rng = np.random.default_rng(0)
    n, half = 12, 6
    f, _ = planted(n, 2, half=True, seed=5)
    moments = Moments.empty(1, n)
    for _ in range(10):
        w = np.zeros((10_000, 2, n))
        w[..., :half] = rng.poisson(0.2, (10_000, 2, half))
        moments.add(convolve(f[0], w).sum(axis=1)[None])
    found = find_filters(moments.cumulant(), 2, support=half, seed=0)
    assert worst_match(found.filters[0], f[0]) > 0.97


# ---- where filters begin


@given(sizes)
def test_aligned_filters_make_the_same_tensor(case):
    """Moving filters one way and activations the other changes neither signals nor cumulants; twice moves no more."""
    L, n, seed = case
    f, weights = np.random.default_rng(seed).standard_normal((2, 3, L, n))
    moved, against = aligned(f, weights)
    np.testing.assert_allclose(compose([moved] * 3, against), compose([f] * 3, weights), atol=1e-9)
    np.testing.assert_allclose(convolve(moved, against), convolve(f, weights), atol=1e-9)
    for once, twice in zip((moved, against), aligned(moved, against), strict=True):
        np.testing.assert_array_equal(once, twice)


@given(st.data())
def test_short_filters_come_back_to_the_beginning(data):
    """A filter of few values, none of them small, is found again at place 0, however far it was moved."""
    n = data.draw(st.integers(2, 12))
    values = data.draw(st.lists(st.floats(0.5, 1) | st.floats(-1, -0.5), min_size=1, max_size=(n + 1) // 2))
    f = np.pad(values, (0, n - len(values)))
    weights = np.arange(float(n))
    by = data.draw(st.integers(0, n - 1))
    back, against = aligned(np.roll(f, by)[None, None], np.roll(weights, -by)[None, None])
    np.testing.assert_array_equal(back[0, 0], f)
    np.testing.assert_array_equal(against[0, 0], weights)
