"""Matricization and products along a mode, of dense and sparse tensors."""

import numpy as np
import pytest

from polyadic import Entries, InputError, fold, mode_dot, unfold

KOLDA_BADER = np.arange(1, 25).reshape((3, 4, 2), order="F")
"""The tensor of section 2.4 of Kolda and Bader (2009): its frontal slices hold 1 to 12 and 13 to 24, by columns."""


def entries(dense, **how):
    at = np.argwhere(dense)
    return Entries(at, dense[tuple(at.T)], dense.shape, **how)


def dense(x):
    out = np.zeros(x.shape)
    np.add.at(out, tuple(x.indices.T), x.values)
    return out


@pytest.fixture
def sparse_tensor():
    rng = np.random.default_rng(0)
    return np.where(rng.random((3, 4, 2, 5)) < 0.2, rng.normal(size=(3, 4, 2, 5)), 0)


def test_the_unfoldings_are_those_that_kolda_and_bader_print():
    one = [[1, 4, 7, 10, 13, 16, 19, 22], [2, 5, 8, 11, 14, 17, 20, 23], [3, 6, 9, 12, 15, 18, 21, 24]]
    two = [[1, 2, 3, 13, 14, 15], [4, 5, 6, 16, 17, 18], [7, 8, 9, 19, 20, 21], [10, 11, 12, 22, 23, 24]]
    three = [list(range(1, 13)), list(range(13, 25))]
    for mode, printed in enumerate((one, two, three)):
        np.testing.assert_array_equal(unfold(KOLDA_BADER, mode), printed)
        np.testing.assert_array_equal(dense(unfold(entries(KOLDA_BADER), mode)), printed)


def test_the_product_is_that_which_kolda_and_bader_print():
    product = mode_dot(KOLDA_BADER, [[1, 3, 5], [2, 4, 6]], 0)
    np.testing.assert_array_equal(product[:, :, 0], [[22, 49, 76, 103], [28, 64, 100, 136]])
    np.testing.assert_array_equal(product[:, :, 1], [[130, 157, 184, 211], [172, 208, 244, 280]])


@pytest.mark.parametrize("mode", range(4))
def test_sparse_and_dense_products_agree_with_einsum(sparse_tensor, mode):
    M = np.random.default_rng(1).normal(size=(6, sparse_tensor.shape[mode]))
    letters = "abcd"
    for array, out in ((M, letters.replace(letters[mode], "k")), (M[0], letters.replace(letters[mode], ""))):
        names = "k" * (array.ndim - 1) + letters[mode]
        expected = np.einsum(f"{letters},{names}->{out}", sparse_tensor, array)
        np.testing.assert_allclose(mode_dot(sparse_tensor, array, mode), expected, atol=1e-12)
        np.testing.assert_allclose(dense(mode_dot(entries(sparse_tensor), array, mode)), expected, atol=1e-12)


@pytest.mark.parametrize("mode", range(4))
def test_folding_undoes_unfolding(sparse_tensor, mode):
    np.testing.assert_array_equal(fold(unfold(sparse_tensor, mode), mode, sparse_tensor.shape), sparse_tensor)
    x = entries(sparse_tensor, unobserved="missing", weights=np.arange(1.0, 1 + np.count_nonzero(sparse_tensor)))
    matrix = unfold(x, mode)
    np.testing.assert_array_equal(dense(matrix), unfold(sparse_tensor, mode))
    back = fold(matrix, mode, x.shape)
    for name in ("indices", "values", "weights"):
        np.testing.assert_array_equal(getattr(back, name), getattr(x, name))
    assert (back.unobserved, back.shape) == (x.unobserved, x.shape)


def test_c_order_is_the_unfolding_of_the_reversed_tensor(sparse_tensor):
    for mode in range(4):
        c_order = np.moveaxis(sparse_tensor, mode, 0).reshape(sparse_tensor.shape[mode], -1)
        np.testing.assert_array_equal(unfold(sparse_tensor.transpose(), 3 - mode), c_order)


def test_tucker_tensors_unfold_to_kronecker_products():
    rng = np.random.default_rng(2)
    G, factors = rng.normal(size=(2, 3, 2)), [rng.normal(size=(n, r)) for n, r in ((4, 2), (5, 3), (3, 2))]
    T = np.einsum("abc,ia,jb,kc->ijk", G, *factors)
    A, B, C = factors
    np.testing.assert_allclose(unfold(T, 1), B @ unfold(G, 1) @ np.kron(C, A).T, atol=1e-12)


def test_symmetric_entries_are_expanded():
    x = Entries.collect([[0, 1, 2], [3, 3, 0]], [1.0, 5.0], 4)
    np.testing.assert_array_equal(dense(unfold(x, 1)), unfold(dense(x.expand()), 1))


def test_errors_name_the_shapes():
    x = entries(KOLDA_BADER, unobserved="missing")
    with pytest.raises(InputError, match="mode must be a whole number from 0 to 2; got 3"):
        unfold(x, 3)
    with pytest.raises(InputError, match=r"M must have shape \(4, 6\) to be folded"):
        fold(np.ones((4, 5)), 1, (3, 4, 2))
    with pytest.raises(InputError, match=r"M must be a matrix with 4 columns, .* got shape \(2, 3\)"):
        mode_dot(KOLDA_BADER, np.ones((2, 3)), 1)
    with pytest.raises(InputError, match="those of T are missing"):
        mode_dot(x, np.ones(3), 0)
    with pytest.raises(InputError, match="too many columns for 64-bit"):
        unfold(Entries(np.zeros((1, 3), int), np.ones(1), (2, 2**40, 2**40)), 0)
