"""The greedy power method: planted tensors of any order, deflation, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import InputError
from polyadic.syntax.low_rank_tensors import greedy_power, rank_one_power
from strategies import tries

SEEDS = st.integers(0, 2**32 - 1)


def sparse(T):
    """Cells and values of a dense tensor."""
    cells = np.argwhere(T != 0)
    return cells, T[tuple(cells.T)]


def dense(sigma, factors):
    letters = "abcdef"[: len(factors)]
    return np.einsum("r," + ",".join(f"{x}r" for x in letters) + f"->{letters}", sigma, *factors)


def planted(shape, rank, rng):
    """A sum of tensors whose vectors are orthogonal in each mode, with lengths that differ."""
    factors = [np.linalg.qr(rng.normal(size=(size, rank)))[0] for size in shape]
    sigma = np.sort(rng.uniform(1, 5, rank))[::-1] + np.arange(rank)[::-1]
    return sigma, factors


@tries(12)
@given(SEEDS, st.sampled_from([(6, 5), (6, 5, 7), (5, 6, 4, 4), (4, 4, 5, 4, 4)]), st.integers(1, 3))
def test_a_planted_tensor_is_found(seed, shape, rank):
    """Of orthogonal components all are found, whatever the order of the tensor, and nothing is left."""
    rng = np.random.default_rng(seed)
    sigma, factors = planted(shape, rank, rng)
    T = dense(sigma, factors)
    cells, values = sparse(T)
    found, vectors = greedy_power(cells, values, shape, rank=rank + 1, tol=1e-10, max_iter=2000, seed=seed)
    if len(shape) > 2:
        np.testing.assert_allclose(np.sort(found)[::-1][:rank], sigma, rtol=1e-5)
    np.testing.assert_allclose(dense(found, vectors), T, atol=1e-4)
    assert found[-1] < 1e-3
    for vector in vectors:
        lengths = np.linalg.norm(vector, axis=0)
        assert (np.isclose(lengths, 1) | (lengths == 0)).all()


@tries(12)
@given(SEEDS, st.sampled_from([(4, 5, 3), (3, 4, 3, 2)]))
def test_what_is_left_grows_smaller(seed, shape):
    """Each component takes its squared length away from the tensor: at the optimum the rest is orthogonal to it."""
    rng = np.random.default_rng(seed)
    T = rng.normal(size=shape) * (rng.random(shape) < 0.5)
    T.flat[0] = 1.0
    cells, values = sparse(T)
    sigma, factors = greedy_power(cells, values, shape, rank=4, seed=seed)
    left = float((T**2).sum())
    for r in range(4):
        rest = T - dense(sigma[: r + 1], [factor[:, : r + 1] for factor in factors])
        assert (rest**2).sum() == pytest.approx(left - sigma[r] ** 2, abs=1e-8)
        left = float((rest**2).sum())


@given(SEEDS)
@tries(12)
def test_a_stationary_point_is_reached(seed):
    """Where the search has ended no vector of a mode by itself does better than the one found."""
    rng = np.random.default_rng(seed)
    shape = (3, 4, 5, 2)
    T = rng.normal(size=shape)
    found = rank_one_power(*sparse(T), shape, rng=rng, tol=1e-13, max_iter=20_000)
    if not found.converged:
        return
    for mode in range(4):
        others = [(vector, [k]) for k, vector in enumerate(found.vectors) if k != mode]
        product = np.einsum(T, range(4), *(x for pair in others for x in pair), [mode])
        np.testing.assert_allclose(product, found.sigma * found.vectors[mode], atol=1e-4 * found.sigma)


@given(SEEDS)
@tries(12)
def test_what_is_found_does_not_hang_on_the_unit(seed):
    """A tensor a million times as small, or as large, has the same vectors, after the same rounds."""
    rng = np.random.default_rng(seed)
    shape, T = (3, 4, 3), rng.normal(size=(3, 4, 3))
    cells, values = sparse(T)
    one, *others = (rank_one_power(cells, values * unit, shape) for unit in (1.0, 2.0**-20, 2.0**20))
    for unit, other in zip((2.0**-20, 2.0**20), others, strict=True):
        assert (other.n_iter, other.sigma) == (one.n_iter, one.sigma * unit)
        for a, b in zip(one.vectors, other.vectors, strict=True):
            np.testing.assert_array_equal(a, b)


def test_values_of_one_cell_are_added():
    """A cell that is listed twice counts with the sum of its values."""
    cells = np.array([[0, 1, 2], [0, 1, 2], [1, 0, 0]])
    sigma, _ = greedy_power(cells, np.array([1.5, 2.5, -1.0]), (2, 2, 3), rank=2)
    assert sorted(sigma) == pytest.approx([1, 4])


def test_a_tensor_of_one_way_is_a_vector():
    """It is found at once, and nothing is left for a second."""
    sigma, [factor] = greedy_power(np.array([[0], [2]]), np.array([3.0, -4.0]), (3,), rank=2)
    np.testing.assert_allclose(sigma, [5, 0], atol=1e-12)
    np.testing.assert_allclose(factor @ sigma, [3, 0, -4])


def test_nothing_is_found_in_zeros():
    """A tensor of zeros, or without cells, has no component."""
    for cells, values in ((np.zeros((0, 3), int), np.zeros(0)), (np.zeros((1, 3), int), np.zeros(1))):
        sigma, factors = greedy_power(cells, values, (2, 3, 4), rank=2)
        assert not sigma.any()
        assert [factor.shape for factor in factors] == [(2, 2), (3, 2), (4, 2)]
        assert not any(factor.any() for factor in factors)


def test_faults_are_named():
    """Shapes that do not fit, cells outside, and parameters."""
    cells, values = np.array([[0, 1]]), np.array([1.0])
    for what, options, fault in (
        ((cells, values, (2, 2, 2)), {}, "indices and values must have shapes"),
        ((cells, values[:0], (2, 2)), {}, "must have shapes"),
        ((cells, values, (1, 1)), {}, "must be within the shape"),
        ((cells, values * np.nan, (2, 2)), {}, "must be finite"),
        ((cells * 1.0, values, (2, 2)), {}, "must be integers; got float64"),
        ((cells, values, (2, 2)), {"rank": 0}, "rank must be"),
        ((cells, values, (2, 2)), {"max_iter": 0}, "max_iter must be"),
    ):
        with pytest.raises(InputError, match=fault):
            greedy_power(*what, **{"rank": 1, **options})
