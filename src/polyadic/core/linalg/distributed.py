"""A sparse matrix as products with it, by threads of this machine or workers of a cluster that hold its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import LinearOperator

from polyadic.core import kernels, resources
from polyadic.core.executor import get_executor
from polyadic.core.executor.rows import Block, RowBlocks

if TYPE_CHECKING:
    from numpy.typing import NDArray


def distribute(A: Any) -> Any:
    """Give a sparse matrix to those who multiply by it; anything else stays as it is."""
    return DistributedMatrix(A, get_executor(resources.cores())) if issparse(A) else A


class DistributedMatrix(LinearOperator):  # type: ignore[misc] # scipy has no types
    """Rows of a sparse matrix, in as many blocks as there are workers, of as many entries each.

    Products have the same bits whoever makes them: rows do not depend on one another. The transposed matrix is spread
    too when it is first asked for.

    Parameters
    ----------
    A : sparse array of shape (m, n)
        Floats of 4 or 8 bytes.
    executor : Executor
    """

    def __init__(self, A: Any, executor: Executor) -> None:
        super().__init__(A.dtype, A.shape)
        rows = csr_array(A)
        rows.check_format()
        self._A, self._executor = A, executor
        self._blocks = RowBlocks(Block(rows.indptr, rows.indices, (rows.data,)), rows.shape[1], executor)
        self._turned: DistributedMatrix | None = None

    def _matmat(self, X: NDArray[Any]) -> NDArray[Any]:
        return self._blocks.map(_product, X)

    def _matvec(self, x: NDArray[Any]) -> NDArray[Any]:
        return self._matmat(x.reshape(-1, 1))

    def _transpose(self) -> DistributedMatrix:
        if self._turned is None:
            self._turned = DistributedMatrix(self._A.T, self._executor)
        return self._turned

    _adjoint = _transpose


def _product(block: Block, X: NDArray[Any], given: None, before: None, threads: int) -> NDArray[Any]:
    """Multiply rows by a block of vectors."""
    del given, before
    (values,) = block.listed
    return kernels.sparse_product(block.starts, block.columns, values, X, threads=threads)
