"""Products with a sparse matrix whose rows are distributed over threads or the workers of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import LinearOperator

from polyadic.core import kernels, resources
from polyadic.core.executor import get_executor
from polyadic.core.executor.rows import Block, RowBlocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.core.executor import Executor


def distribute(A: Any) -> Any:
    """Distribute the rows of a sparse matrix; return anything else unchanged."""
    return DistributedMatrix(A, get_executor(resources.cores())) if issparse(A) else A


class DistributedMatrix(LinearOperator):  # type: ignore[misc] # scipy has no types
    """A sparse matrix in row blocks, one per worker; products do not depend on the blocks, as rows are independent."""

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
    """Multiply a block of rows by a matrix."""
    del given, before
    (values,) = block.listed
    return kernels.sparse_product(block.starts, block.columns, values, X, threads=threads)
