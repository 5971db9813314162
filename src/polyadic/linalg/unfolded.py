r"""A tensor of order 3 near a sparse one, from singular vectors of an unfolding: where a fit may start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.linalg.svd import truncated_svd

if TYPE_CHECKING:
    from numpy.typing import NDArray


def unfolded_start(
    cells: NDArray[np.int64], values: NDArray[np.float64], shape: tuple[int, int, int], *, rank: int, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    r"""Give factors whose tensor is near a sparse one.

    .. math:: T_{(1)} \approx \sum_{r=1}^R \sigma_r u_r x_r^\top, \qquad x_r \approx \sigma'_r v_r \otimes w_r

    and :math:`U = (u_r)`, :math:`V = (v_r)`, :math:`W = (\sigma_r \sigma'_r w_r)`. It is exact where the tensor has
    that rank and the columns of U are orthogonal; in general not the nearest tensor of its rank.

    Parameters
    ----------
    cells : ndarray of int of shape (n, 3)
        Where the tensor is not zero; of a cell that is there more than once, the values are added.
    values : ndarray of shape (n,)
    shape : (int, int, int)
    rank : int
    seed : int
        Of the start of the iteration.

    Returns
    -------
    U, V, W : ndarrays of shapes (shape[k], rank)
        With zeros in the last columns if the unfolding has a lower rank, or is too small for it.

    References
    ----------
    Lei, Xin, Zhang, Barzilay, Jaakkola (2014), Low-rank tensors for scoring dependency structures, section 5

    Examples
    --------
    >>> cells = np.array([[0, 1, 2], [1, 0, 0]])
    >>> U, V, W = unfolded_start(cells, np.array([3.0, -2.0]), (2, 2, 3), rank=2)
    >>> np.einsum("ir,jr,kr->ijk", U, V, W)[tuple(cells.T)].round(6).tolist()
    [3.0, -2.0]
    """
    from scipy.sparse import csr_array

    U, V, W = (np.zeros((size, rank)) for size in shape)
    rows, row_at = np.unique(cells[:, 0], return_inverse=True)
    columns, column_at = np.unique(cells[:, 1] * shape[2] + cells[:, 2], return_inverse=True)
    unfolded = csr_array((values, (row_at, column_at)), shape=(len(rows), len(columns)))
    small = min(unfolded.shape)
    if rank < small and small > 1:
        u, s, x = truncated_svd(unfolded, rank, method="randomized", seed=seed)
    elif small:
        left, s, right = np.linalg.svd(unfolded.toarray(), full_matrices=False)
        u, x = left, right.T
    else:
        return U, V, W
    for r in range(min(rank, len(s))):
        matrix = np.zeros((shape[1], shape[2]))
        matrix[columns // shape[2], columns % shape[2]] = x[:, r]
        _, vectors = np.linalg.eigh(matrix.T @ matrix)
        w = vectors[:, -1]
        v = matrix @ w  # its length is the singular value
        length = float(np.linalg.norm(v))
        if length > 0:
            U[rows, r], V[:, r], W[:, r] = u[:, r], v / length, s[r] * length * w
    return U, V, W
