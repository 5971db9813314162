"""Classification as the choice from a list: every row has a candidate for each class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import InputError
from polyadic.groups import Groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

LARGEST = 1 << 23
"""Numbers of a block, more or less."""


class ClassGroups:
    """Groups of classes, made block by block: feature ``j`` of a row is number ``c d + j`` of its candidate ``c``.

    As a tensor of sizes (d, classes), features in sequence, weights are thus a matrix with a column for each class.

    Parameters
    ----------
    X : csr_array of shape (rows, d)
    labels : ndarray of int of shape (rows,)
        The class that costs nothing; below 0 all cost 1, as the others do.
    classes : int
    rng : numpy.random.Generator, optional
        Of the order of rows; as they are without one.

    Examples
    --------
    >>> (groups,) = ClassGroups(as_rows(np.array([[5.0]])), np.array([1]), 2)
    >>> groups.features.toarray().tolist(), groups.costs.tolist()
    ([[5.0, 1.0, 0.0, 0.0], [0.0, 0.0, 5.0, 1.0]], [1.0, 0.0])
    """

    def __init__(
        self, X: csr_array, labels: NDArray[Any], classes: int, *, rng: np.random.Generator | None = None
    ) -> None:
        if labels.shape != (X.shape[0],):
            raise InputError(f"there are {X.shape[0]:,} rows and labels of shape {labels.shape}")
        order = np.arange(X.shape[0]) if rng is None else rng.permutation(X.shape[0])
        self._rows, self._labels, self._classes = X[order], labels[order], classes
        self._step = max(1, int(LARGEST * X.shape[0] / (classes * max(X.nnz, 1))))

    def __iter__(self) -> Iterator[Groups]:
        for first in range(0, self._rows.shape[0], self._step):
            part = slice(first, first + self._step)
            yield self._block(self._rows[part], self._labels[part])

    def _block(self, X: csr_array, labels: NDArray[Any]) -> Groups:
        from scipy.sparse import csr_array

        (n, d), K = X.shape, self._classes
        many = X[np.repeat(np.arange(n), K)]
        shift = np.tile(np.arange(K, dtype=np.int64) * d, n)
        columns = many.indices + np.repeat(shift, np.diff(many.indptr))
        features = csr_array((many.data, columns, many.indptr), shape=(n * K, K * d))
        costs = (np.arange(K) != labels[:, None]).astype(float).ravel()
        return Groups(features, costs, np.arange(n + 1, dtype=np.int64) * K)


def as_rows(X: Any) -> csr_array:
    """Give rows of features with a one behind them.

    Raises
    ------
    InputError
        If they are no table of finite numbers.
    """
    from scipy.sparse import csr_array, hstack

    try:
        rows = csr_array(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"rows must be a table of numbers: {error}") from None
    if rows.ndim != 2 or not np.isfinite(rows.data).all():
        raise InputError("rows must be a table of finite numbers")
    return csr_array(hstack([rows, np.ones((rows.shape[0], 1))], format="csr"))
