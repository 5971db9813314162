"""Dense linear algebra on sparse operators, against numpy."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

from polyadic.core.errors import InputError
from polyadic.core.linalg import truncated, truncated_eigh, truncated_svd


def some_matrix(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) * (rng.random(shape) < 0.5)


@pytest.mark.parametrize("shape", [(9, 9), (12, 7), (7, 12)])
@pytest.mark.parametrize("rank", [1, 3, 6])
@pytest.mark.parametrize("kind", [np.asarray, csr_array, aslinearoperator])
def test_truncated_svd_is_that_of_numpy(shape, rank, kind):
    """Values fall and are numpy's, vectors are numpy's up to sign, for arrays, sparse arrays and operators."""
    A = some_matrix(shape)
    left, singular, right = np.linalg.svd(A)
    U, s, V = truncated_svd(kind(A), rank, seed=0)
    assert (U.shape, s.shape, V.shape) == ((shape[0], rank), (rank,), (shape[1], rank))
    assert s == pytest.approx(singular[:rank])
    best = (left[:, :rank] * singular[:rank]) @ right[:rank]
    assert (U * s) @ V.T == pytest.approx(best, abs=1e-8)
    for vectors in (U, V):
        assert vectors.T @ vectors == pytest.approx(np.eye(rank), abs=1e-8)


def test_signs_are_fixed():
    """The largest element of a left vector is positive, so the start of the iteration does not show."""
    A = some_matrix((10, 8))
    U, s, V = truncated_svd(A, 4, seed=0)
    assert (U[np.abs(U).argmax(axis=0), np.arange(4)] > 0).all()
    for seed in (1, 2, None):
        for a, b in zip((U, s, V), truncated_svd(A, 4, seed=seed), strict=True):
            assert a == pytest.approx(b, abs=1e-8)


def test_same_seed_same_bits():
    """The same start gives the same bits."""
    A = some_matrix((10, 8))
    for a, b in zip(truncated_svd(A, 4, seed=3), truncated_svd(A, 4, seed=3), strict=True):
        assert np.array_equal(a, b)


def test_rank_beyond_that_of_the_matrix():
    """Where the matrix is of lower rank, the further singular values are zero and everything is finite."""
    A = np.outer(np.arange(1.0, 7), np.arange(1.0, 6))
    U, s, V = truncated_svd(A, 3, seed=0)
    assert s == pytest.approx([np.linalg.norm(A), 0, 0], abs=1e-6)
    assert (U * s) @ V.T == pytest.approx(A, abs=1e-6)
    assert np.isfinite(U).all()
    assert np.isfinite(V).all()


@pytest.mark.parametrize("rank", [0, -1, 5, 99, 1.5, True])
def test_refusals(rank):
    """The rank is at least 1 and below the smaller side."""
    with pytest.raises(InputError, match="rank must be"):
        truncated_svd(some_matrix((5, 8)), rank)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("spectrum", ["falling", "pairs", "low rank", "equal", "blocks"])
def test_truncated_eigh_of_a_large_matrix(spectrum, kind):
    """Eigenvalues are those of LAPACK and vectors satisfy A v = w v, whatever the spectrum looks like."""
    rng = np.random.default_rng(0)
    n, rank = 400, 6
    values = {
        "falling": 10 / np.arange(1, n + 1),
        "pairs": np.repeat(10 / np.arange(1, n // 2 + 1), 2) * np.tile([1, -1], n // 2),
        "low rank": np.where(np.arange(n) < 4, 5.0, 0.0),
        "equal": np.ones(n),
        "blocks": np.repeat([9.0, 4.0, 1.0, 0.1], n // 4),
    }[spectrum]
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    A = ((Q * values) @ Q.T).astype(kind)
    w, V = truncated_eigh(A, rank, seed=0)
    truth = np.sort(np.abs(values))[::-1][:rank]
    assert V.dtype == kind
    assert np.abs(w) == pytest.approx(truth, rel=1e-3, abs=1e-4)
    assert np.linalg.norm(A @ V - V * w, axis=0).max() <= 0.011 * max(truth[-1], 1e-3)
    assert np.allclose(V.T @ V, np.eye(rank), atol=1e-4)


@pytest.mark.parametrize("n", [9, 400])
def test_truncated_eigh_refuses_what_is_not_finite(n):
    """A matrix that overflows has no eigenvalues, small or large."""
    with np.errstate(all="ignore"), pytest.raises(InputError, match="not finite"):
        truncated_eigh(np.full((n, n), np.inf), 2, seed=0)


def test_truncated_eigh_says_where_it_stopped(monkeypatch):
    """What cannot converge ends all the same: a product that is never the same has no eigenvectors."""
    monkeypatch.setattr(truncated, "MAX_RESTARTS", 2)
    rng = np.random.default_rng(0)

    class Noise:
        shape, dtype = (400, 400), np.dtype(float)

        def __matmul__(self, x):
            return rng.standard_normal(x.shape)

    with pytest.warns(UserWarning, match="eigenvectors have relative residuals"):
        truncated_eigh(Noise(), 2, seed=1)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("what", ["empty rows", "equal groups", "identical rows"])
def test_a_basis_that_cannot_grow(what, kind):
    """Where products lead nowhere new (empty rows, groups without a connection), eigenvalues are still right."""
    rng = np.random.default_rng(0)
    n = 700
    A = np.zeros((n, n))
    if what == "empty rows":
        some = rng.poisson(1.0, (150, 150))
        A[:150, :150] = some + some.T
    elif what == "equal groups":
        A = np.kron(np.eye(10), np.ones((70, 70)))
    else:
        A[:] = np.repeat(np.repeat(rng.random((5, 5)), n // 5, axis=0), n // 5, axis=1)
        A += A.T
    truth = np.linalg.eigvalsh(A)
    truth = truth[np.argsort(-np.abs(truth))][:20]
    w, V = truncated_eigh(csr_array(A.astype(kind)), 20, seed=0)
    scale = np.abs(truth[0])
    assert np.abs(w) == pytest.approx(np.abs(truth), abs=2e-3 * scale)
    assert pytest.approx(np.eye(20), abs=1e-3) == V.T @ V
    s = truncated_svd(csr_array(A.astype(kind)), 20, seed=0)[1]
    assert s == pytest.approx(np.abs(truth), abs=2e-3 * scale)


@pytest.mark.parametrize("method", ["lanczos", "randomized"])
def test_large_matrices(method):
    """Values of a large matrix are LAPACK's, whole numbers are read as floats, the same seed gives the same bits."""
    rng = np.random.default_rng(0)
    A = rng.poisson(1.0, (500, 12)) @ rng.poisson(1.0, (12, 420))
    truth = np.linalg.svd(A, compute_uv=False)[:8]
    found = truncated_svd(csr_array(A), 8, method=method, tol=1e-6, seed=0)
    assert found[1] == pytest.approx(truth, rel=1e-6)
    for a, b in zip(found, truncated_svd(csr_array(A), 8, method=method, tol=1e-6, seed=0), strict=True):
        assert np.array_equal(a, b)
    for a, b in zip(found, truncated_svd(csr_array(A), 8, method=method, tol=1e-6, seed=1), strict=True):
        assert a == pytest.approx(b, abs=1e-4 * truth[0])
