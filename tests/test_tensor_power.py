"""Symmetric tensors by powers: what was planted is found, whitened or not, and nothing depends on the coordinates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import InputError
from polyadic.core.linalg.whitening import symmetrized, third_moments, whitening
from polyadic.core.solvers.tensor_power import Components, tensor_power
from strategies import tries

SEEDS = st.integers(0, 999)


def planted(k, rank, seed):
    """Weights that differ, and orthonormal vectors."""
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.standard_normal((k, k)))[0][:, :rank]
    return Components(np.sort(rng.permutation(np.arange(1, rank + 1)) + rng.random(rank))[::-1], vectors)


@tries(25)
@given(SEEDS, st.integers(1, 8), st.data())
def test_orthogonal_components_are_found(seed, k, data):
    """They come in the order of their weights, with their signs, to the last digits."""
    true = planted(k, data.draw(st.integers(1, k)), seed)
    found = tensor_power(true.toarray(), len(true.weights), seed=seed)
    np.testing.assert_allclose(found.weights, true.weights, atol=1e-9)
    np.testing.assert_allclose(found.vectors, true.vectors, atol=1e-8)
    assert found.weights.flags.owndata


@given(SEEDS)
def test_components_turn_with_the_tensor(seed):
    """Of noise added to a tensor and both turned, the components are those turned."""
    rng = np.random.default_rng(seed)
    T = planted(5, 5, seed).toarray() + 0.02 * symmetrized(rng.standard_normal((5, 5, 5)))
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    turned = tensor_power(np.einsum("abc,ia,jb,kc->ijk", T, Q, Q, Q), 5)
    found = tensor_power(T, 5)
    np.testing.assert_allclose(turned.weights, found.weights, atol=1e-6)
    np.testing.assert_allclose(turned.vectors, Q @ found.vectors, atol=1e-6)


def test_errors_are_those_of_the_noise():
    """Vectors are off by no more than a few times the noise over the weight, and half the noise halves that."""
    rng = np.random.default_rng(0)
    true = planted(8, 8, 0)._replace(weights=np.ones(8))
    noise = symmetrized(rng.standard_normal((8, 8, 8)))
    off = []
    for size in (0.02, 0.01, 0.005):
        found = tensor_power(true.toarray() + size * noise, 8).vectors
        off.append(np.abs(1 - np.abs(true.vectors.T @ found).max(axis=0)).max() ** 0.5)
    assert off[0] < 0.1
    assert 1.6 < off[0] / off[1] < 2.5
    assert 1.6 < off[1] / off[2] < 2.5


def test_components_are_improved_after_deflation():
    """Each is where powers with the others taken away do not move it."""
    T = planted(6, 6, 3).toarray() + 0.05 * symmetrized(np.random.default_rng(1).standard_normal((6, 6, 6)))
    weights, V = tensor_power(T, 6, max_iter=500)
    for r in range(6):
        others = np.arange(6) != r
        new = np.einsum("abc,b,c->a", T, V[:, r], V[:, r])
        new -= V[:, others] @ (weights[others] * (V[:, others].T @ V[:, r]) ** 2)
        np.testing.assert_allclose(new / np.linalg.norm(new), V[:, r], atol=1e-9)


@given(SEEDS, st.integers(1, 4))
def test_weights_are_never_negative(seed, k):
    """Even of what has no such components, and before anything settled; directions have unit length."""
    T = symmetrized(np.random.default_rng(seed).standard_normal((k, k, k)))
    weights, vectors = tensor_power(T, k, starts=1, max_iter=1, seed=seed)
    assert weights.min() >= 0
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), 1)


def test_the_same_seed_gives_the_same_bits():
    """Nothing else is random."""
    T = planted(5, 3, 0).toarray()
    one, other = (tensor_power(T, 3, seed=7) for _ in range(2))
    assert all((a == b).all() for a, b in zip(one, other, strict=True))


@tries(20)
@given(SEEDS, st.integers(2, 5), st.integers(0, 4))
def test_whitened_moments_give_vectors_that_are_not_orthogonal(seed, rank, more):
    """From second and third moments come the vectors and their shares."""
    rng = np.random.default_rng(seed)
    mu, w = rng.dirichlet(np.ones(rank + more), size=rank).T, rng.dirichlet(np.full(rank, 5.0))
    W, back = whitening(mu * w @ mu.T, rank)
    scale = 1 / np.abs(np.linalg.svd(mu * np.sqrt(w))[1]).min()
    np.testing.assert_allclose(W.T @ (mu * w @ mu.T) @ W, np.eye(rank), atol=1e-12 * scale**4)
    np.testing.assert_allclose(back, np.linalg.pinv(W.T), atol=1e-12 * scale**4)
    rows = (W.T @ mu).T
    weights, v = tensor_power(third_moments(rows, rows, rows, w), rank, seed=seed)
    order = np.argsort(w)
    np.testing.assert_allclose(weights, w[order] ** -0.5, rtol=1e-9 * scale**4)
    np.testing.assert_allclose(back @ v * weights, mu[:, order], atol=1e-10 * scale**4)


def test_moments_are_added_up_in_blocks(monkeypatch):
    """Blocks of any size give what one product gives."""
    rng = np.random.default_rng(0)
    a, b, c, w = rng.random((9, 2)), rng.random((9, 3)), rng.random((9, 4)), rng.random(9)
    whole = np.einsum("n,ni,nj,nk->ijk", w, a, b, c)
    np.testing.assert_allclose(third_moments(a, b, c, w), whole)
    monkeypatch.setattr("polyadic.core.linalg.whitening.BLOCK", 30)
    np.testing.assert_allclose(third_moments(a, b, c, w), whole)
    np.testing.assert_allclose(third_moments(a, b, c), np.einsum("ni,nj,nk->ijk", a, b, c))


def test_large_moments_are_only_multiplied_with():
    """A sparse matrix and the same in cells are whitened alike."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    mu = rng.random((400, 3)) * (rng.random((400, 3)) < 0.2)
    M2 = mu @ mu.T
    some, all_ = whitening(csr_array(M2), 3, tol=1e-9), whitening(M2, 3)
    np.testing.assert_allclose(some.back @ some.back.T, all_.back @ all_.back.T, atol=1e-7)


@pytest.mark.parametrize("magnitudes", [False, True])
def test_negative_eigenvalues_of_large_moments_are_passed_over(magnitudes):
    """However large they are; in magnitude they count where that is asked for. As in cells, so in a sparse matrix."""
    from scipy.sparse import csr_array

    M2 = np.diag(np.concatenate([[-9.0, 5, -8, 4, 3], np.full(295, 0.01)]))
    for kind in (M2, csr_array(M2)):
        W, back = whitening(kind, 3, magnitudes=magnitudes, tol=1e-9)
        found = np.sort((back**2).sum(axis=0))
        np.testing.assert_allclose(found, [5, 8, 9] if magnitudes else [3, 4, 5])
        np.testing.assert_allclose(np.abs(W.T @ M2 @ W), np.eye(3), atol=1e-7)


def test_symmetrized_is_symmetric():
    """The mean over all orders does not depend on the order, and leaves what is symmetric as it is."""
    T = np.random.default_rng(0).random((3, 3, 3))
    S = symmetrized(T)
    np.testing.assert_allclose(S, S.transpose(2, 0, 1))
    np.testing.assert_allclose(symmetrized(S), S)


def test_negative_moments():
    """Noise that makes second moments negative is refused, or its magnitude is taken where that is asked for."""
    with pytest.raises(InputError, match="second moments has only 1 positive eigenvalues, but 2 are required"):
        whitening(np.diag([4.0, -9.0, 0.0]), 2)
    W, _ = whitening(np.diag([4.0, -9.0, 0.0]), 2, magnitudes=True)
    np.testing.assert_allclose(np.abs(W), [[0, 1 / 2], [1 / 3, 0], [0, 0]])


@pytest.mark.parametrize(
    ("T", "rank", "how", "message"),
    [
        (np.zeros((2, 3, 2)), 1, {}, r"modes of equal length; got shape \(2, 3, 2\)"),
        (np.zeros((2, 2)), 1, {}, "have order 3"),
        (np.full((2, 2, 2), np.nan), 1, {}, "the tensor must not contain infinite or NaN values"),
        (np.zeros((2, 2, 2)), 3, {}, "rank must be a whole number from 1 to 2; got 3"),
        (np.zeros((2, 2, 2)), 1, {"starts": 0}, "starts must be"),
        (np.zeros((2, 2, 2)), 1, {"max_iter": 0}, "max_iter must be"),
    ],
)
def test_bad_input_is_named(T, rank, how, message):
    """One sentence says what is allowed and what came."""
    with pytest.raises(InputError, match=message):
        tensor_power(T, rank, **how)


def test_a_tensor_of_zeros_has_components_of_no_weight():
    """Nothing divides by zero."""
    found = tensor_power(np.zeros((3, 3, 3)), 2)
    assert found.weights.tolist() == [0, 0]
