r"""The best map of low rank from one set of variables to another.

.. math:: \min_{b, U, V} \|Y - \mathbf 1 b^\top - X U V^\top\|_F^2 + \lambda \|U V^\top\|_F^2

is, but for a constant, the distance between :math:`\hat Y = [X; \sqrt\lambda I]\, \hat\Theta`, the fit of plain (ridge)
regression, and the same of :math:`U V^\top`. So the best V are the first R eigenvectors of :math:`\hat Y^\top \hat Y =
Y^\top X \hat\Theta`, and :math:`U = \hat\Theta V`. One decomposition gives every rank, and one of :math:`X^\top X = Q
\,\mathrm{diag}(w)\, Q^\top`, or of :math:`X X^\top` if that is smaller, every ridge: :math:`\hat\Theta = Q\,
\mathrm{diag}(1 / (w + \lambda))\, Q^\top X^\top Y`. X and Y are centred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import issparse

from polyadic.resources import check_memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Spectrum(NamedTuple):
    r"""What the solutions of all ranks and ridges are made of.

    Attributes
    ----------
    x, y : ndarray of shape (d,) and (K,)
        Means of features and targets.
    Q, w : ndarray of shape (d, m) and (m,)
        Eigenvectors and eigenvalues of the Gram matrix of the centred features, but for those of zero.
    C : ndarray of shape (m, K)
        :math:`Q^\top X^\top Y`.
    """

    x: Array
    y: Array
    Q: Array
    w: Array
    C: Array

    def directions(self, ridge: float) -> tuple[Array, Array]:
        """Give U and V of the largest rank, the strongest first; the largest element of a column of V is positive."""
        D = self.C / (self.w + ridge)[:, None]
        V = eigh(self.C.T @ D)[1][:, ::-1][:, : len(self.w)]
        V = V * np.sign(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])])
        return self.Q @ (D @ V), V


def spectrum_of(X: Any, Y: Array) -> Spectrum:
    """Decompose features, sparse or dense, of shape (n, d), beside targets of shape (n, K).

    Raises
    ------
    InputError
        If memory does not suffice.

    Examples
    --------
    >>> found = spectrum_of(np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([[1.0], [5.0]]))
    >>> U, V = found.directions(0.0)
    >>> (U @ V.T).tolist(), found.w.tolist()
    ([[2.0], [0.0]], [2.0])
    """
    n, d = X.shape
    check_memory(24.0 * min(n, d) ** 2, f"a decomposition of {min(n, d):,} directions", "use fewer rows or features")
    check_memory(24.0 * Y.shape[1] ** 2, f"a decomposition of {Y.shape[1]:,} targets", "use fewer")
    x, y = np.asarray(X.mean(axis=0)).ravel(), Y.mean(axis=0)
    shift = np.zeros(d)
    if issparse(X):
        shift = x  # products are corrected for the mean, as subtracting it would fill the matrix
    else:
        X = X - x
    w, P = eigh(_gram(X, shift))
    keep = w > max(n, d) * np.finfo(float).eps * w[-1]
    w, P = w[keep], P[:, keep]
    Q = (X.T @ P - np.outer(shift, P.sum(axis=0))) / np.sqrt(w) if n < d else P
    C = Q.T @ np.asarray(X.T @ (Y - y))  # those of Y - y add up to zero, so the mean of X makes no difference
    return Spectrum(x, y, np.asarray(Q), w, C)


def _gram(X: Any, shift: Array) -> Array:
    """Give the smaller Gram matrix of X less a shift, which is zero or its mean."""
    n, d = X.shape
    S = X @ X.T if n < d else X.T @ X
    G = S.toarray() if issparse(S) else S
    if n < d:
        m = np.asarray(X @ shift)
        return np.asarray(G - m[:, None] - m + shift @ shift)
    return np.asarray(G - n * np.outer(shift, shift))
