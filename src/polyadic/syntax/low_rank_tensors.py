r"""Low-rank approximations of sparse tensors, used to initialize tensor models.

The greedy power method finds rank-one terms of a tensor of any order one after another:

.. math:: \max \langle T, u^{(1)} \otimes \dots \otimes u^{(N)} \rangle, \quad \|u^{(k)}\| = 1, \qquad
          u^{(k)} \leftarrow T(u^{(1)}, \dots, \cdot, \dots, u^{(N)}) \text{ normalized}

Each term is subtracted (deflation) before the next is computed; the difference is never stored, only its products with
vectors are formed. The method recovers orthogonally decomposable tensors; in general it gives a good start, not the
nearest tensor of that rank.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.annotations import AnyArray, Array
from polyadic.core.errors import InputError, check_int, check_number

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RankOne(NamedTuple):
    """Rank-one tensor found by the power method: norm, unit vectors, number of iterations and convergence flag."""

    sigma: float
    vectors: list[Array]
    n_iter: int
    converged: bool


def rank_one_power(
    indices: AnyArray,
    values: Array,
    shape: Sequence[int],
    *,
    taken: Sequence[Array] | None = None,
    rng: np.random.Generator | None = None,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> RankOne:
    """Find a rank-one approximation of a sparse tensor, less that of the factors ``taken``, by the power method.

    ``indices`` of shape (n, N) are the nonzero cells; values of repeated cells are added. De Lathauwer, De Moor,
    Vandewalle (2000), On the best rank-1 and rank-(R1, ..., RN) approximation of higher-order tensors. Lei et al.
    (2015), High-order low-rank tensors for semantic role labeling, section 4.
    """
    columns, weights = _checked(indices, values, shape)
    check_int("max_iter", max_iter, low=1)
    check_number("tol", tol)
    rng = np.random.default_rng(0) if rng is None else rng
    vectors = [_unit(rng.normal(size=size)) for size in shape]
    sigma, before = 0.0, math.inf
    for n_iter in range(1, max_iter + 1):
        for mode in range(len(shape)):
            vector = _product(columns, weights, vectors, mode)
            if taken is not None:
                others = [vectors[k] @ taken[k] for k in range(len(shape)) if k != mode]
                vector -= taken[mode] @ np.prod(others, axis=0) if others else taken[mode].sum(axis=1)
            sigma = float(np.linalg.norm(vector))
            vectors[mode] = _unit(vector)
        if abs(sigma - before) <= tol * sigma:
            return RankOne(sigma, vectors, n_iter, converged=True)
        before = sigma
    return RankOne(sigma, vectors, max_iter, converged=False)


def greedy_power(
    indices: AnyArray,
    values: Array,
    shape: Sequence[int],
    *,
    rank: int,
    seed: int = 0,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> tuple[Array, list[Array]]:
    r"""Compute a CP approximation of a sparse tensor by the greedy power method with deflation.

    .. math:: T \approx \sum_{r=1}^R \sigma_r \, u^{(1)}_r \otimes \dots \otimes u^{(N)}_r

    >>> indices = np.array([[0, 1, 2, 0], [1, 0, 0, 1]])
    >>> sigma, factors = greedy_power(indices, np.array([3.0, -2.0]), (2, 2, 3, 2), rank=2)
    >>> sorted(sigma.round(6).tolist())
    [2.0, 3.0]
    """
    check_int("rank", rank, low=1)
    rng = np.random.default_rng(seed)
    sigma, factors = np.zeros(rank), [np.zeros((size, rank)) for size in shape]
    # A smaller term is a rounding error of the deflation.
    negligible = 1e-10 * float(np.linalg.norm(values)) if len(values) else 0.0
    for r in range(rank):
        taken = [factors[0][:, :r] * sigma[:r], *(factor[:, :r] for factor in factors[1:])]
        best = rank_one_power(indices, values, shape, taken=taken, rng=rng, max_iter=max_iter, tol=tol)
        if best.sigma <= negligible:
            break
        sigma[r] = best.sigma
        for factor, vector in zip(factors, best.vectors, strict=True):
            factor[:, r] = vector
    return sigma, factors


def _product(columns: AnyArray, values: Array, vectors: list[Array], mode: int) -> Array:
    """Contract a sparse tensor with a vector in every mode except one."""
    parts = values.copy()
    for k, vector in enumerate(vectors):
        if k != mode:
            parts *= vector[columns[k]]
    return np.bincount(columns[mode], weights=parts, minlength=len(vectors[mode])).astype(float)


def _unit(vector: Array) -> Array:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector


def _checked(indices: AnyArray, values: Array, shape: Sequence[int]) -> tuple[AnyArray, Array]:
    if indices.ndim != 2 or indices.shape[1] != len(shape) or not len(shape) or values.shape != indices.shape[:1]:
        got = f"{indices.shape} and {values.shape}"
        raise InputError(f"indices and values must have shapes (n, {len(shape)}) and (n,); got {got}")
    if indices.dtype.kind not in "iu":
        raise InputError(f"indices must be integers; got {indices.dtype}", "indices")
    if len(indices) and ((indices < 0).any() or (indices >= np.array(shape)).any()):
        raise InputError(f"indices must be within the shape {tuple(shape)} of the tensor", "indices")
    if not np.isfinite(values).all():
        raise InputError("the values of a tensor must be finite; some are NaN or infinite")
    return np.ascontiguousarray(indices.T), np.asarray(values, float)


def unfolded_start(
    cells: NDArray[np.integer], values: AnyArray, shape: tuple[int, int, int], *, rank: int, seed: int = 0
) -> tuple[AnyArray, AnyArray, AnyArray]:
    r"""Return CP factor matrices U, V and W that approximate a sparse third-order tensor with indices ``cells``.

    .. math:: T_{(1)} \approx \sum_{r=1}^R \sigma_r u_r x_r^\top, \qquad x_r \approx \sigma'_r v_r \otimes w_r

    and :math:`U = (u_r)`, :math:`V = (v_r)`, :math:`W = (\sigma_r \sigma'_r w_r)`: Lei, Xin, Zhang, Barzilay, Jaakkola
    (2014), section 5. This is exact if the tensor has that rank and the columns of U are orthogonal. The last columns
    are zero if the rank of the unfolding is lower. The computation has the precision of ``values``.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    kind = np.result_type(values, np.float32)
    U, V, W = (np.zeros((size, rank), kind) for size in shape)
    rows, row_at = np.unique(cells[:, 0], return_inverse=True)
    columns, column_at = np.unique(cells[:, 1].astype(np.int64) * shape[2] + cells[:, 2], return_inverse=True)
    unfolded = csr_array((values.astype(kind), (row_at, column_at)), shape=(len(rows), len(columns)))
    del row_at, column_at
    if not unfolded.count_nonzero():
        return U, V, W
    if rank < min(unfolded.shape):  # the other singular vectors are far longer; they are computed one by one
        start = np.random.default_rng(seed).standard_normal(min(unfolded.shape)).astype(kind)
        u = svds(unfolded, rank, v0=start, return_singular_vectors="u")[0][:, ::-1]
    else:
        u = np.linalg.svd(unfolded.toarray(), full_matrices=False)[0]
    for r in range(min(rank, u.shape[1])):
        matrix = np.zeros((shape[1], shape[2]), kind)
        matrix[columns // shape[2], columns % shape[2]] = unfolded.T @ u[:, r]
        _, vectors = np.linalg.eigh(matrix.T @ matrix)
        w = vectors[:, -1]
        v = matrix @ w  # its length is the singular value
        length = float(np.linalg.norm(v))
        if length > 0:
            U[rows, r], V[:, r], W[:, r] = u[:, r], v / length, length * w
    return U, V, W
