r"""Residuals of a contingency table from independence, with row and column kernels and their decomposition.

With :math:`X = N / n` and :math:`Y = r c^\top`, each function returns :math:`X \ominus Y` as a sparse matrix plus a
product of two thin ones, so that large tables are never made dense. ``linear`` is the residual of correspondence
analysis.

Kernel correspondence analysis, :math:`\max_R \mathrm{tr}(R^\top K_r A K_c)` subject to :math:`R^\top K_r R K_c = E`, is
solved by the singular value decomposition of :math:`K_r^{1/2} A K_c^{1/2}`, so only the square root of a kernel is
used. A kernel is ``"margins"`` (the inverse margins), ``"identity"``, a vector (its diagonal), a matrix, or a function
of the margins that returns a vector or a matrix.

References
----------
Niitsuma, Lee (2018), Word2Vec is a special case of kernel correspondence analysis and kernels for natural language
processing, eq. (41) to (46) and Table 2; ``similarity`` is its eq. (49). arXiv:1605.05087
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

from polyadic.core.annotations import AnyArray, Array
from polyadic.core.entries import blocks
from polyadic.core.errors import InputError, check_number
from polyadic.core.linalg import SparsePlusLowRank, SVDMethod, truncated_eigh, truncated_svd
from polyadic.core.resources import check_memory


class Residual(NamedTuple):
    r"""Residual of a contingency table from independence, stored as sparse plus low-rank, :math:`S + L M^\top`."""

    S: csr_array  # shape (m, n)
    L: Array  # shape (m, k); k may be 0
    M: Array  # shape (n, k)
    r: Array  # relative margins of rows
    c: Array  # relative margins of columns


def linear(N: csr_array) -> Residual:
    """Return the difference of the observed and expected relative frequencies of a table, :math:`X - Y`."""
    r, c, n = margins(N)
    return Residual(with_values(N, N.data / N.dtype.type(n)), -r[:, None], c[:, None], r, c)


def g_test(N: csr_array) -> Residual:
    r"""Return the terms of the G statistic divided by :math:`2n`, :math:`X (\log X - \log Y)`; 0 for empty cells."""
    r, c, n = margins(N)
    return _sparse(N, N.data / n * _pmi(N, r, c, n), r, c)


def shifted_pmi(N: csr_array, *, shift: float = 1.0, smoothing: float = 1.0, positive: bool = True) -> Residual:
    r"""Return shifted positive PMI, :math:`\max(\log X - \log Y - \log k, 0)`, with 0 for empty cells.

    Skip-gram with :math:`k` negative samples factorizes the matrix without the maximum, in which empty cells are minus
    infinity (Levy and Goldberg, 2014). With ``positive=False`` non-empty cells keep negative values, as printed, and
    empty cells are still 0. With ``smoothing`` :math:`\alpha` the margin of a column is :math:`c^\alpha / \sum
    c^\alpha`.
    """
    r, c, n = margins(N)
    powers = c ** check_number("smoothing", smoothing, above=True)
    pmi = _pmi(N, r, powers / powers.sum(), n) - np.log(check_number("shift", shift, low=1.0))
    return _sparse(N, np.maximum(pmi, 0) if positive else np.where(N.data > 0, pmi, 0), r, c)


def elementwise(N: csr_array, difference: Difference) -> Residual:
    r"""Return any residual :math:`x \ominus y` that is a function of single cells, with 0 for empty cells.

    For example, ``lambda x, y: x * np.log(x / y)`` is :func:`g_test`.
    """
    r, c, n = margins(N)
    full = np.flatnonzero(N.data)
    y = np.repeat(r, np.diff(N.indptr)) * c[N.indices]
    found = np.asarray(difference(N.data[full] / n, y[full]), float)
    if found.shape != full.shape or not np.isfinite(found).all():
        got = f"shape {found.shape}{' with infinite or NaN values' if found.shape == full.shape else ''}"
        about = f"difference must return a finite number for each of the {len(full):,} non-empty cells"
        raise InputError(f"{about}; got {got}", "difference")
    values = np.zeros(len(N.data))
    values[full] = found
    return _sparse(N, values, r, c)


def log_counts(N: csr_array, *, sweeps: int = 30) -> Residual:
    r"""Return log counts of non-empty cells minus row and column biases as in GloVe, :math:`\log n_{ij} - b_i - b_j`.

    GloVe learns its biases with its vectors; here alternating means fit them to the logarithms by least squares.
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
    r"""Return the residual of a table in which differences between words are weighted by the similarity of the words.

    With :math:`\Gamma = \beta\, 1 1^\top + T`, where :math:`T`, ``rows`` and ``columns``, holds symmetric similarity
    scores of pairs of words, the matrix is :math:`N \circ (\Gamma_r N \Gamma_c) - (\Gamma_r N) \circ (N \Gamma_c)`.
    Both parts have the same margins, so it is centred. :math:`\Gamma` is never formed: with few scores, everything
    except one product of margins is sparse. The diagonal of :math:`\Gamma` is :math:`\beta`.
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
        raise InputError("the similarity scores make the margin of a word negative; lower the scores or raise beta")
    S = ((listed - expected) / total).tocsr().astype(N.dtype)
    low = beta * beta / total
    return Residual(S, -low * r[:, None], c[:, None], row_sums / total, column_sums / total)


def margins(N: csr_array) -> tuple[Array, Array, float]:
    """Return the relative row and column margins, and the total, of a contingency table."""
    r, c = np.zeros(N.shape[0]), np.zeros(N.shape[1])
    rows = np.flatnonzero(np.diff(N.indptr))
    if len(rows):
        r[rows] = np.add.reduceat(N.data, N.indptr[rows], dtype=float)  # scipy would sum in float32
    for block in blocks(N.nnz):
        c += np.bincount(N.indices[block], N.data[block], N.shape[1])
    n = float(r.sum())
    if not 0 < n < np.inf:
        overflow = "the sum of the table overflows; scale it down"
        raise InputError(overflow if n else "the table must have at least one non-zero cell")
    return r / n, c / n, n


def with_values(N: csr_array, values: AnyArray) -> csr_array:
    """Return a sparse matrix with new values for the stored cells, sharing the index arrays of the original."""
    return csr_array((values, N.indices, N.indptr), shape=N.shape, copy=False)


def _pmi(N: csr_array, r: Array, c: Array, n: float) -> Array:
    """Return pointwise mutual information (PMI) of the stored cells, with 0 for stored zeros."""
    with np.errstate(divide="ignore"):
        log_r, log_c = np.log(r), np.log(c)
    x = np.log(N.data, where=N.data > 0, out=np.zeros(len(N.data))) - np.log(n)
    pmi = x - np.repeat(log_r, np.diff(N.indptr)) - log_c[N.indices]
    return np.where(N.data > 0, pmi, 0.0)


def _sparse(N: csr_array, values: Array, r: Array, c: Array) -> Residual:
    return Residual(with_values(N, values.astype(N.dtype)), np.zeros((N.shape[0], 0)), np.zeros((N.shape[1], 0)), r, c)


def _scaled(A: csr_array, left: Array, right: Array) -> csr_array:
    return with_values(A, A.data * np.repeat(left, np.diff(A.indptr)) * right[A.indices])


def _scores(T: Any, size: int, side: str) -> csr_array:
    if T is None:
        return csr_array((size, size))
    T = csr_array(T)
    if T.shape != (size, size) or abs(T - T.T).max() > 0:
        about = f"{side} scores must be a symmetric matrix with one row for"
        raise InputError(f"{about} each of the {size:,} words; got shape {T.shape}")
    if T.diagonal().any():
        raise InputError(f"{side} scores must be zero on the diagonal, since a word is not compared with itself")
    return T


Difference = Callable[[Array, Array], Any]
"""Function of the observed and expected relative frequencies of the non-empty cells; see :func:`elementwise`."""
Kernel = Literal["margins", "identity"] | AnyArray | Sequence[Any] | Callable[[Array], Any]
"""``"margins"``, ``"identity"``, an array of shape (n,) or (n, n), or a function that maps the margins to one."""


class Decomposition(NamedTuple):
    """Singular value decomposition, 0 for axes the table does not have, and square roots of both kernels."""

    U: AnyArray
    s: AnyArray
    V: AnyArray
    row_root: AnyArray
    column_root: AnyArray


def decompose(
    A: Residual,
    rank: int,
    *,
    kernels: tuple[Kernel, Kernel],
    symmetric: bool,
    method: SVDMethod,
    tol: float,
    seed: int | None,
) -> Decomposition:
    """Compute the truncated SVD of a residual under two kernels, :math:`K_r^{1/2} A K_c^{1/2}`."""
    size = A.S.dtype.itemsize
    basis = min(5 * rank + 200, 4 * min(A.S.shape))  # a small side is decomposed exactly, with copies
    needed = (4.0 + 2 * size) * A.S.nnz + 1.0 * size * basis * max(A.S.shape)
    what = f"a decomposition of rank {rank} of a table of {A.S.shape[0]:,} x {A.S.shape[1]:,}"
    check_memory(needed, what, "lower the rank or the size of the table")
    left, right = root(kernels[0], A.r, "row"), root(kernels[1], A.c, "column")
    rows, columns = (x if x.ndim == 1 else np.ones(len(x)) for x in (left, right))
    scale = np.repeat(rows.astype(A.S.dtype), np.diff(A.S.indptr)) * columns.astype(A.S.dtype)[A.S.indices]
    S = with_values(A.S, A.S.data * scale)
    scaled: Any = SparsePlusLowRank(S, A.L * rows[:, None], A.M * columns[:, None])
    if left.ndim == 2:
        scaled = aslinearoperator(left) @ scaled
    if right.ndim == 2:
        scaled = scaled @ aslinearoperator(right)
    alike = symmetric and left.ndim == right.ndim == 1 and np.allclose(left, right, rtol=1e-9, atol=0)
    if alike and method == "lanczos":
        w, U = truncated_eigh(scaled, rank, tol=tol, seed=seed)  # half the products
        s, V = np.abs(w), U * np.where(w < 0, -1, 1)
    else:
        U, s, V = truncated_svd(scaled, rank, method=method, tol=tol, seed=seed)
    null = np.finfo(A.S.dtype).eps * max(max(A.S.shape) * s[0], 10 * np.linalg.norm(S.data))
    return Decomposition(U, np.where(s > null, s, 0), V, left, right)


def root(kernel: Kernel, masses: Array, side: str) -> Array:
    """Return the square root of a kernel matrix, as a vector if the kernel is diagonal."""
    if callable(kernel):
        kernel = kernel(masses)
    if isinstance(kernel, str):
        if kernel not in ("margins", "identity"):
            raise InputError(f"the {side} kernel must be 'margins', 'identity', an array or a function; got {kernel!r}")
        kernel = inverse(masses) if kernel == "margins" else np.ones(len(masses))
    K = np.asarray(kernel, float)
    n = len(masses)
    if K.shape not in ((n,), (n, n)):
        raise InputError(f"the {side} kernel must have shape {(n,)} or {(n, n)}; got {K.shape}")
    if not np.isfinite(K).all() or (K.ndim == 2 and not np.allclose(K, K.T)):
        raise InputError(f"the {side} kernel must contain only finite values, and a kernel matrix must be symmetric")
    w, Q = (K, None) if K.ndim == 1 else np.linalg.eigh(K)
    if w.min() < -1e-9 * max(np.abs(w).max(), 1e-300):
        raise InputError(f"the {side} kernel must have no negative eigenvalue; the smallest is {w.min():.3g}")
    half = np.sqrt(np.maximum(w, 0))
    return half if Q is None else (Q * half) @ Q.T


def inverse(masses: Array) -> Array:
    """Return the elementwise inverse, with 0 for zeros, so that empty rows and columns have no influence."""
    return np.divide(1.0, masses, where=masses > 0, out=np.zeros(len(masses)))


def categorical_kernel(alpha: float = 1.0) -> Callable[[Array], Array]:
    r"""Return the kernel used by kernel PCA for categorical data, :math:`e^{-\alpha |e_i - e_j|^2}`.

    The exponent is printed with a plus. The kernel is :math:`(1 - a) E + a\, 1 1^\top` with :math:`a = e^{-2 \alpha}`.
    Since the columns of :math:`X - Y` sum to zero, its effect on them is a multiplication by :math:`1 - a`.
    """
    return partial(_categorical, np.exp(-2 * check_number("alpha", alpha, above=True)))


def _categorical(a: float, masses: Array) -> Array:
    return (1 - a) * np.eye(len(masses)) + a


def stop_word_kernel(
    words: Sequence[str],
    alpha: float,
    *,
    stop_words: Collection[str],
    kernel: Literal["margins", "identity"] = "margins",
) -> Callable[[Array], Array]:
    r"""Return a stop-word weighting kernel, :math:`D(1 + \alpha [i \in \text{stop words}])\, K`, eq. (45).

    :math:`K` is the ``kernel`` without weights: :math:`D(r)^{-1}`, as printed, or the identity.
    """
    if check_number("alpha", alpha, low=-1e300) <= -1:
        raise InputError(f"alpha must be above -1 (at -1 stop words have no weight); got {alpha:g}", "alpha")
    weights = np.array([1 + alpha * (word in stop_words) for word in words])
    return partial(_weighted, weights, kernel=kernel)


def _weighted(weights: Array, masses: Array, *, kernel: str = "margins") -> Array:
    if len(weights) != len(masses):
        about = f"the kernel must have one weight for each of the {len(masses):,}"
        raise InputError(f"{about} rows or columns of the table; got {len(weights):,}")
    return weights * inverse(masses) if kernel == "margins" else weights
