"""A sparse matrix whose rows lie on the workers of a cluster, as products with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.sparse.linalg import LinearOperator

from polyadic.workers import cluster, row_spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.workers import Workers


def spread(A: Any) -> Any:
    """Give a sparse matrix to the cluster that work goes to, if there is one; anything else stays as it is."""
    team = cluster()
    return SpreadMatrix(A, team) if team is not None and issparse(A) else A


class SpreadMatrix(LinearOperator):  # type: ignore[misc] # scipy has no types
    """Rows of a sparse matrix in as many blocks as there are workers, of as many entries each.

    Products with blocks of vectors have the bits that they have here: rows do not depend on one another. The transposed
    matrix is spread too when it is first asked for.

    Parameters
    ----------
    A : sparse array of shape (m, n)
    team : Workers
    """

    def __init__(self, A: Any, team: Workers) -> None:
        super().__init__(A.dtype, A.shape)
        rows = csr_array(A)
        self._A, self._team = A, team
        self._held = team.hold([_block(rows, span) for span in row_spans(rows.indptr, team)])
        self._turned: SpreadMatrix | None = None

    def _matmat(self, X: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate(self._team.each(_product, self._held, X))

    def _matvec(self, x: NDArray[Any]) -> NDArray[Any]:
        return self._matmat(x.reshape(-1, 1))

    def _transpose(self) -> SpreadMatrix:
        if self._turned is None:
            self._turned = SpreadMatrix(self._A.T, self._team)
        return self._turned

    _adjoint = _transpose


Block = tuple["NDArray[Any]", "NDArray[Any]", "NDArray[Any]", int]
"""Values, columns and starts of rows, and how many columns there are."""


def _block(rows: Any, span: slice) -> Block:
    starts = rows.indptr[span.start : span.stop + 1]
    some = slice(int(starts[0]), int(starts[-1]))
    return rows.data[some], rows.indices[some], starts - starts[0], rows.shape[1]


def _product(block: Block, X: NDArray[Any], own: None, threads: int) -> NDArray[Any]:
    """Multiply rows by a block of vectors, as scipy does, in one thread."""
    del own, threads
    data, indices, indptr, columns = block
    return np.asarray(csr_array((data, indices, indptr), shape=(len(indptr) - 1, columns)) @ X)
