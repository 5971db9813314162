r"""Residuals of a table against independence: the operator :math:`\ominus` of kernel correspondence analysis.

With :math:`X = N / n` and :math:`Y = r c^\top`, each function returns :math:`X \ominus Y` as a sparse matrix plus a
product of two thin ones, so that large tables are never made dense. ``linear`` is the residual of correspondence
analysis.

References
----------
Niitsuma, Lee (2018), Word2Vec is a special case of kernel correspondence analysis and kernels for natural language
processing, Table 2; ``similarity`` is its eq. (49). arXiv:1605.05087
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.entries import blocks
from polyadic.core.errors import InputError, check_number

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Residual(NamedTuple):
    r"""Residual of a table against its margins, :math:`S + L M^\top`.

    Attributes
    ----------
    S : csr_array of shape (m, n)
        Sparse part.
    L, M : ndarray of shape (m, k) and (n, k)
        Low-rank part; k may be 0.
    r, c : ndarray of shape (m,) and (n,)
        Relative margins of rows and columns.
    """

    S: csr_array
    L: NDArray[np.float64]
    M: NDArray[np.float64]
    r: NDArray[np.float64]
    c: NDArray[np.float64]


def linear(N: csr_array) -> Residual:
    """Return :math:`X - Y`, whose double centring is exact.

    Examples
    --------
    >>> S, L, M, r, c = linear(csr_array([[1.0, 0.0], [1.0, 2.0]]))
    >>> (S.toarray() + L @ M.T).tolist()
    [[0.125, -0.125], [-0.125, 0.125]]
    """
    r, c, n = margins(N)
    return Residual(with_values(N, N.data / N.dtype.type(n)), -r[:, None], c[:, None], r, c)


def g_test(N: csr_array) -> Residual:
    r"""Return :math:`X (\log X - \log Y)`, 0 in empty cells; :math:`2n` times its sum is the G statistic.

    Examples
    --------
    >>> g_test(csr_array([[1.0, 0.0], [1.0, 2.0]])).S.toarray().round(3).tolist()
    [[0.173, 0.0], [-0.101, 0.144]]
    """
    r, c, n = margins(N)
    return _sparse(N, N.data / n * _pmi(N, r, c, n), r, c)


def shifted_pmi(N: csr_array, *, shift: float = 1.0, smoothing: float = 1.0) -> Residual:
    r"""Return :math:`\max(\log X - \log Y - \log k, 0)`, which skip-gram with :math:`k` negative samples factorizes.

    Negative values, and the :math:`-\infty` of empty cells, are set to 0 (Levy and Goldberg, 2014). With ``smoothing``
    :math:`\alpha` the margin of a column is :math:`c^\alpha / \sum c^\alpha`.
    """
    r, c, n = margins(N)
    powers = c ** check_number("smoothing", smoothing, above=True)
    pmi = _pmi(N, r, powers / powers.sum(), n) - np.log(check_number("shift", shift, low=1.0))
    return _sparse(N, np.maximum(pmi, 0), r, c)


def log_counts(N: csr_array, *, sweeps: int = 30) -> Residual:
    r"""Return :math:`\log n_{ij} - b_i - b_j` in the non-empty cells, PMI with biases as in GloVe.

    GloVe learns its biases with its vectors. Here they are the least-squares fit to the logarithms, by alternating
    means.
    """
    if not N.data.all():
        N = N.copy()
        N.eliminate_zeros()
    r, c, _ = margins(N)
    rows, columns = np.repeat(np.arange(N.shape[0]), np.diff(N.indptr)), N.indices
    x = np.log(N.data.astype(float))
    each = [np.maximum(np.bincount(at, minlength=size), 1) for at, size in zip((rows, columns), N.shape, strict=True)]
    b = [np.zeros(size) for size in N.shape]
    for _ in range(sweeps):
        b[0] = np.bincount(rows, x - b[1][columns], N.shape[0]) / each[0]
        b[1] = np.bincount(columns, x - b[0][rows], N.shape[1]) / each[1]
    return _sparse(N, x - b[0][rows] - b[1][columns], r, c)


def similarity(N: csr_array, *, rows: Any = None, columns: Any = None, beta: float = 1.0) -> Residual:
    r"""Residual of the word-similarity kernel, which weights differences between words by their similarity.

    With :math:`\Gamma = \beta\, 1 1^\top + T`, where :math:`T` holds the similarity scores of pairs of words, the
    matrix is :math:`N \circ (\Gamma_r N \Gamma_c) - (\Gamma_r N) \circ (N \Gamma_c)`. Both parts have the same margins,
    so it is centred. :math:`\Gamma` is never formed: with few scores, everything except one product of margins is
    sparse. The diagonal of :math:`\Gamma` is :math:`\beta`.

    Parameters
    ----------
    N : csr_array of shape (m, n)
    rows, columns : sparse array of shape (m, m) and (n, n), optional
        Symmetric scores :math:`T`, such as :math:`\alpha` times similarities from 0 to 1; by default 0.
    beta : float
        Positive.
    """
    check_number("beta", beta, above=True)
    r, c, n = margins(N)
    X = with_values(N, N.data.astype(float) / n)
    Tr, Tc = (_scores(T, size, side) for T, size, side in zip((rows, columns), N.shape, ("row", "column"), strict=True))
    TN, NT = (Tr @ X).tocsr(), (X @ Tc).tocsr()
    listed = X.multiply((Tr @ NT).tocsr()).tocsr()  # N o (Tr N Tc)
    listed = listed + _scaled(X, beta * beta + beta * (Tr @ r), np.ones(len(c)))
    listed = listed + _scaled(X, np.ones(len(r)), beta * (Tc @ c))
    expected = TN.multiply(NT).tocsr() + _scaled(TN, beta * r, np.ones(len(c))) + _scaled(NT, np.ones(len(r)), beta * c)
    row_sums = np.asarray(expected.sum(axis=1)).ravel() + beta * beta * r
    column_sums = np.asarray(expected.sum(axis=0)).ravel() + beta * beta * c
    total = row_sums.sum()
    if min(row_sums.min(), column_sums.min()) < -1e-12 * total:
        raise InputError("the scores make the margin of a word negative; lower their weight or raise beta")
    S = ((listed - expected) / total).tocsr().astype(N.dtype)
    low = beta * beta / total
    return Residual(S, -low * r[:, None], c[:, None], row_sums / total, column_sums / total)


def margins(N: csr_array) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the relative margins of rows and columns, and the total."""
    r, c = np.zeros(N.shape[0]), np.zeros(N.shape[1])
    rows = np.flatnonzero(np.diff(N.indptr))
    if len(rows):
        r[rows] = np.add.reduceat(N.data, N.indptr[rows], dtype=float)  # scipy would sum in float32
    for block in blocks(N.nnz):
        c += np.bincount(N.indices[block], N.data[block], N.shape[1])
    n = float(r.sum())
    if not 0 < n < np.inf:
        raise InputError(
            "the table is empty: all its cells are zero" if n == 0 else "the sum of the table overflows; scale it down"
        )
    return r / n, c / n, n


def with_values(N: csr_array, values: NDArray[Any]) -> csr_array:
    """Return a matrix with the same stored cells and other values; the indices are shared, not copied."""
    return csr_array((values, N.indices, N.indptr), shape=N.shape, copy=False)


def _pmi(N: csr_array, r: NDArray[np.float64], c: NDArray[np.float64], n: float) -> NDArray[np.float64]:
    """PMI of the non-empty cells, 0 where a zero is stored."""
    with np.errstate(divide="ignore"):
        log_r, log_c = np.log(r), np.log(c)
    x = np.log(N.data, where=N.data > 0, out=np.zeros(len(N.data))) - np.log(n)
    pmi = x - np.repeat(log_r, np.diff(N.indptr)) - log_c[N.indices]
    return np.where(N.data > 0, pmi, 0.0)


def _sparse(N: csr_array, values: NDArray[np.float64], r: NDArray[np.float64], c: NDArray[np.float64]) -> Residual:
    return Residual(with_values(N, values.astype(N.dtype)), np.zeros((N.shape[0], 0)), np.zeros((N.shape[1], 0)), r, c)


def _scaled(A: csr_array, left: NDArray[np.float64], right: NDArray[np.float64]) -> csr_array:
    return with_values(A, A.data * np.repeat(left, np.diff(A.indptr)) * right[A.indices])


def _scores(T: Any, size: int, side: str) -> csr_array:
    if T is None:
        return csr_array((size, size))
    T = csr_array(T)
    if T.shape != (size, size) or abs(T - T.T).max() > 0:
        raise InputError(f"{side} scores must be a symmetric matrix of {size:,} words; got shape {T.shape}")
    if T.diagonal().any():
        raise InputError(f"{side} scores must be zero on the diagonal, since a word is not compared with itself")
    return T
