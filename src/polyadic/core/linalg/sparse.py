"""Sparse linear operators: matrices distributed by rows, and sums of a sparse and a low-rank matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse
from scipy.sparse.linalg import LinearOperator

from polyadic.core import kernels, resources
from polyadic.core.annotations import AnyArray
from polyadic.core.errors import InputError
from polyadic.core.executor import Executor, RowBlock, RowBlocks, get_executor


def distribute(A: Any) -> Any:
    """Distribute the rows of a sparse matrix over the workers; return other operators unchanged."""
    return DistributedMatrix(A, get_executor(resources.cores())) if issparse(A) else A


class DistributedMatrix(LinearOperator):  # type: ignore[misc] # scipy has no types
    """Sparse matrix distributed over workers by blocks of rows, as a linear operator."""

    def __init__(self, A: Any, executor: Executor) -> None:
        super().__init__(A.dtype, A.shape)
        rows = csr_array(A)
        rows.check_format()
        self._A, self._executor = A, executor
        self._blocks = RowBlocks(RowBlock(rows.indptr, rows.indices, (rows.data,)), rows.shape[1], executor)
        self._turned: DistributedMatrix | None = None

    def _matmat(self, X: AnyArray) -> AnyArray:
        return self._blocks.map(_product, X)

    def _transpose(self) -> DistributedMatrix:
        if self._turned is None:
            self._turned = DistributedMatrix(self._A.T, self._executor)
        return self._turned

    _adjoint = _transpose


def _product(block: RowBlock, X: AnyArray, given: None, before: None, threads: int) -> AnyArray:
    """Multiply a block of rows by a matrix."""
    del given, before
    (values,) = block.listed
    return kernels.sparse_product(block.starts, block.columns, values, X, threads=threads)


class SparsePlusLowRank(LinearOperator):  # type: ignore[misc] # scipy has no types
    r"""Linear operator :math:`S + L M^\top`, for example a sparse table minus its expectation.

    Shapes (m, n), (m, k) and (n, k); ``S`` is sparse or dense.
    """

    def __init__(self, S: Any, L: AnyArray, M: AnyArray) -> None:
        if L.shape != (S.shape[0], M.shape[1]) or M.shape != (S.shape[1], L.shape[1]):
            raise InputError(f"the shapes of S, L and M in S + L M' must match; got {S.shape}, {L.shape} and {M.shape}")
        super().__init__(S.dtype, S.shape)
        self.S, self.L, self.M = distribute(S), L.astype(S.dtype), M.astype(S.dtype)

    def _matmat(self, X: AnyArray) -> AnyArray:
        return np.asarray(self.S @ X + self.L @ (self.M.T @ X))

    def _rmatmat(self, X: AnyArray) -> AnyArray:
        return np.asarray(self.S.T @ X + self.M @ (self.L.T @ X))

    def _transpose(self) -> SparsePlusLowRank:
        return SparsePlusLowRank(self.S.T, self.M, self.L)

    _adjoint = _transpose

    def toarray(self) -> AnyArray:
        """Return the dense matrix."""
        return np.asarray(self @ np.eye(self.shape[1], dtype=self.dtype))


def symmetric_matrix(indices: AnyArray, values: AnyArray, size: int) -> Any:
    """Build a symmetric sparse matrix from distinct index pairs, shape (n, 2), and values, shape (n,)."""
    i, j = indices.T
    x = values if values.dtype == np.float32 else values.astype(float)
    off = i != j
    rows, columns = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])
    return coo_array((np.concatenate([x, x[off]]), (rows, columns)), shape=(size, size)).tocsr()
