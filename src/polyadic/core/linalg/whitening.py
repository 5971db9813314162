r"""Whitening of second moments, and third moments in whitened coordinates.

If :math:`M_2 = \sum_i w_i \mu_i \mu_i^\top` and :math:`W^\top M_2 W = I`, the vectors :math:`\sqrt{w_i} W^\top \mu_i`
are orthonormal, and :math:`M_3 = \sum_i w_i \mu_i^{\otimes 3}` becomes :math:`\sum_i w_i^{-1/2} (\sqrt{w_i} W^\top
\mu_i)^{\otimes 3}`, whose components the tensor power method finds.

References
----------
Anandkumar, Ge, Hsu, Kakade, Telgarsky (2014), Tensor decompositions for learning latent variable models, section 4.3
"""

from __future__ import annotations

from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import eye_array
from scipy.sparse.linalg import aslinearoperator

from polyadic.core.annotations import Array
from polyadic.core.errors import InputError, check_int
from polyadic.core.linalg.truncated import truncated_eigh

MIN_EIGENVALUE = 1e-10  # relative size below which an eigenvalue is a rounding error
BLOCK = 1 << 22  # elements of the largest temporary array


class Whitening(NamedTuple):
    r"""Whitening matrix :math:`W = U \Lambda^{-1/2}` and pseudo-inverse of :math:`W^\top`, both of shape (n, rank)."""

    W: Array
    back: Array


def whitening(M2: Any, rank: int, *, magnitudes: bool = False, tol: float = 1e-6, seed: int = 0) -> Whitening:
    """Compute a whitening matrix from the largest eigenvalues of the matrix of second moments, which is symmetric.

    With ``magnitudes``, eigenvalues of largest magnitude are taken whatever their sign: directions that noise made
    negative are meaningless, but may do as a start. Otherwise fewer positive ones than ``rank`` are an InputError.
    """
    n = M2.shape[0]
    check_int("rank", rank, low=1, high=n)
    if isinstance(M2, np.ndarray) or rank >= n - 1:
        whole = M2 if isinstance(M2, np.ndarray) else np.asarray(M2 @ np.eye(n))
        values, vectors = np.linalg.eigh((whole + whole.T) / 2)
        order = np.argsort(-np.abs(values) if magnitudes else -values, kind="stable")[:rank]
    else:
        values, vectors = truncated_eigh(M2, rank, tol=tol, seed=seed)
        if not magnitudes and (values < 0).any():
            # negative ones displaced positive ones: shift the spectrum so that none is negative
            shift = float(np.abs(values).max())
            shifted = aslinearoperator(M2) + shift * aslinearoperator(eye_array(n))
            values, vectors = truncated_eigh(shifted, rank, tol=tol, seed=seed)
            values = values - shift
        order = np.argsort(-values, kind="stable")
    values, vectors = np.abs(values[order]) if magnitudes else values[order], vectors[:, order]
    positive = int((values > MIN_EIGENVALUE * np.abs(values).max()).sum())
    if positive < rank:
        raise InputError(
            f"the matrix of second moments has only {positive} positive eigenvalues, but {rank} are required; use a"
            " lower rank"
        )
    root = np.sqrt(values)
    return Whitening(vectors / root, vectors * root)


def third_moments(a: Array, b: Array, c: Array, weights: Array | None = None) -> Array:
    r"""Compute the third-moment tensor :math:`\sum_n w_n\, a_n \otimes b_n \otimes c_n`, shape (i, j, k)."""
    i, j, k = a.shape[1], b.shape[1], c.shape[1]
    total = np.zeros((i, j * k))
    step = max(1, BLOCK // (j * k))
    for first in range(0, len(a), step):
        rows = slice(first, first + step)
        left = a[rows] if weights is None else a[rows] * weights[rows, None]
        total += left.T @ (b[rows, :, None] * c[rows, None, :]).reshape(-1, j * k)
    return total.reshape(i, j, k)


def symmetrized(T: Array) -> Array:
    """Return the mean of a tensor over all permutations of its modes."""
    orders = list(permutations(range(T.ndim)))
    return np.asarray(sum(T.transpose(order) for order in orders) / len(orders))
