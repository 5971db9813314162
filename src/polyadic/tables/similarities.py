r"""Kernels of rows and columns, and the decomposition of a residual under them.

Kernel correspondence analysis, :math:`\max_R \mathrm{tr}(R^\top K_r A K_c)` subject to :math:`R^\top K_r R K_c = E`, is
solved by the singular value decomposition of :math:`K_r^{1/2} A K_c^{1/2}`, so only the square root of a kernel is
used. A kernel is ``"margins"`` (the inverse margins), ``"identity"``, a vector (its diagonal), a matrix, or a function
of the margins that returns a vector or a matrix.

References
----------
Niitsuma, Lee (2018), eq. (41) to (46) and Table 2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import aslinearoperator

from polyadic.core.errors import InputError, check_number
from polyadic.core.linalg import SparsePlusLowRank, truncated_eigh, truncated_svd
from polyadic.core.resources import check_memory
from polyadic.tables.residuals import with_values

if TYPE_CHECKING:
    from collections.abc import Collection

    from polyadic.core.linalg import SVDMethod
    from polyadic.tables.residuals import Residual

Kernel = Literal["margins", "identity"] | NDArray[Any] | Sequence[Any] | Callable[[NDArray[np.float64]], Any]
"""``"margins"``, ``"identity"``, an array of shape (n,) or (n, n), or a function that maps the margins to one."""


class Decomposition(NamedTuple):
    """Singular vectors, singular values (0 for axes the table does not have), and square roots of the kernels."""

    U: NDArray[Any]
    s: NDArray[Any]
    V: NDArray[Any]
    row_root: NDArray[Any]
    column_root: NDArray[Any]


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
    """Decompose :math:`K_r^{1/2} A K_c^{1/2}`; options as in :func:`~polyadic.core.linalg.truncated_svd`."""
    size = A.S.dtype.itemsize
    basis = min(5 * rank + 200, 4 * min(A.S.shape))  # a small side is decomposed exactly, with copies
    check_memory(
        (4.0 + 2 * size) * A.S.nnz + 1.0 * size * basis * max(A.S.shape),
        f"a decomposition of rank {rank} of a table of {A.S.shape[0]:,} x {A.S.shape[1]:,}",
        "lower the rank or the size of the table",
    )
    left, right = root(kernels[0], A.r, "row"), root(kernels[1], A.c, "column")
    rows, columns = (x if x.ndim == 1 else np.ones(len(x)) for x in (left, right))
    scale = np.repeat(rows.astype(A.S.dtype), np.diff(A.S.indptr)) * columns.astype(A.S.dtype)[A.S.indices]
    scaled: Any = SparsePlusLowRank(with_values(A.S, A.S.data * scale), A.L * rows[:, None], A.M * columns[:, None])
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
    null = np.finfo(A.S.dtype).eps * max(A.S.shape) * s[0]
    return Decomposition(U, np.where(s > null, s, 0), V, left, right)


def root(kernel: Kernel, masses: NDArray[np.float64], side: str) -> NDArray[np.float64]:
    """Return the square root of a kernel, as a vector if it is diagonal.

    Examples
    --------
    >>> root("margins", np.array([0.25, 0.75, 0.0]), "row").round(3).tolist()
    [2.0, 1.155, 0.0]
    """
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
        raise InputError(f"the {side} kernel must be finite and symmetric")
    w, Q = (K, None) if K.ndim == 1 else np.linalg.eigh(K)
    if w.min() < -1e-9 * max(np.abs(w).max(), 1e-300):
        raise InputError(f"the {side} kernel must have no negative eigenvalue; the smallest is {w.min():.3g}")
    half = np.sqrt(np.maximum(w, 0))
    return half if Q is None else (Q * half) @ Q.T


def inverse(masses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the elementwise inverse, with 0 for 0, so that empty rows and columns have no influence."""
    return np.divide(1.0, masses, where=masses > 0, out=np.zeros(len(masses)))


def categorical_kernel(alpha: float = 1.0) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    r"""Return the kernel of kernel PCA for categorical data, :math:`e^{-\alpha |e_i - e_j|^2}` (printed with a plus).

    It is :math:`(1 - a) E + a\, 1 1^\top` with :math:`a = e^{-2 \alpha}`. Since the columns of :math:`X - Y` sum to
    zero, its effect on them is a multiplication by :math:`1 - a`.

    Examples
    --------
    >>> categorical_kernel(0.5)(np.array([0.5, 0.5])).round(3).tolist()
    [[1.0, 0.368], [0.368, 1.0]]
    """
    return partial(_categorical, np.exp(-2 * check_number("alpha", alpha, above=True)))


def _categorical(a: float, masses: NDArray[np.float64]) -> NDArray[np.float64]:
    return (1 - a) * np.eye(len(masses)) + a


def stop_word_kernel(
    words: Sequence[str], alpha: float, *, stop_words: Collection[str]
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    r"""Return the stop-word kernel, :math:`D(1 + \alpha\, [i \in \text{stop words}])\, D(r)^{-1}`, eq. (45).

    Negative ``alpha`` (above -1) weights stop words less than correspondence analysis does.

    Examples
    --------
    >>> stop_word_kernel(["the", "moon"], -0.5, stop_words={"the"})(np.array([0.5, 0.5])).tolist()
    [1.0, 2.0]
    """
    if check_number("alpha", alpha, low=-1e300) <= -1:
        raise InputError(f"alpha must be above -1 (at -1 stop words have no weight); got {alpha:g}", "alpha")
    weights = np.array([1 + alpha * (word in stop_words) for word in words])
    return partial(_weighted, weights)


def _weighted(weights: NDArray[np.float64], masses: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(weights) != len(masses):
        raise InputError(f"the kernel has size {len(weights):,}, but the side of the table has size {len(masses):,}")
    return weights * inverse(masses)
