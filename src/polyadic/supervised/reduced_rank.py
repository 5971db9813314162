r"""Reduced-rank (ridge) regression of several targets on the same features.

.. math:: \min_{b, U, V} \|Y - \mathbf 1 b^\top - X U V^\top\|_F^2 + \lambda \|U V^\top\|_F^2

with :math:`U \in \mathbb R^{d \times R}` and :math:`V \in \mathbb R^{K \times R}`. Up to a constant, the objective is
the squared distance between :math:`\hat Y = [X; \sqrt\lambda I]\, \hat\Theta`, the fit of ridge regression, and the
same with :math:`U V^\top`. So the optimal V are the first R eigenvectors of :math:`\hat Y^\top \hat Y = Y^\top X
\hat\Theta`, and :math:`U = \hat\Theta V`. One decomposition gives the solutions of all ranks, and one of :math:`X^\top
X = Q \,\mathrm{diag}(w)\, Q^\top`, or of :math:`X X^\top` if that is smaller, those of all ridges: :math:`\hat\Theta =
Q\, \mathrm{diag}(1 / (w + \lambda))\, Q^\top X^\top Y`. X and Y are centred.

References
----------
Izenman (1975), Reduced-rank regression for the multivariate linear model.
Mukherjee, Zhu (2011), Reduced rank ridge regression and its kernel extensions, section 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import issparse
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from polyadic.core.annotations import Array
from polyadic.core.containers import validated
from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Count, Model, Natural, Within
from polyadic.core.resources import check_memory


class Spectrum(NamedTuple):
    """Eigendecomposition that gives the regression solutions for all ranks and ridge penalties."""

    x: Array  # means of the features
    y: Array  # means of the targets
    Q: Array  # eigenvectors of the Gram matrix of the centred features, shape (d, m)
    w: Array  # its non-zero eigenvalues
    C: Array  # Q' X' Y

    def directions(self, ridge: float) -> tuple[Array, Array]:
        """Return U and V of the largest rank, the strongest directions first, with a positive largest element in V."""
        D = self.C / (self.w + ridge)[:, None]
        V = eigh(self.C.T @ D)[1][:, ::-1][:, : len(self.w)]
        V = V * np.sign(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])])
        return self.Q @ (D @ V), V


def spectrum_of(X: Any, Y: Array) -> Spectrum:
    """Compute the decomposition for all ranks and penalties, of features (n, d), maybe sparse, and targets (n, K)."""
    n, d = X.shape
    check_memory(24.0 * min(n, d) ** 2, f"a decomposition of {min(n, d):,} directions", "use fewer rows or features")
    check_memory(24.0 * Y.shape[1] ** 2, f"a decomposition of {Y.shape[1]:,} targets", "use fewer targets")
    x, y = np.asarray(X.mean(axis=0)).ravel(), Y.mean(axis=0)
    # products of a sparse X are corrected for the mean, since subtracting it would make the matrix dense
    X, shift = (X, x) if issparse(X) else (X - x, np.zeros(d))
    w, P = eigh(_gram(X, shift))
    keep = w > max(n, d) * np.finfo(float).eps * w[-1]
    w, P = w[keep], P[:, keep]
    Q = (X.T @ P - np.outer(shift, P.sum(axis=0))) / np.sqrt(w) if n < d else P
    C = Q.T @ np.asarray(X.T @ (Y - y))  # columns of Y - y sum to zero, so the mean of X does not matter
    return Spectrum(x, y, np.asarray(Q), w, C)


def _gram(X: Any, shift: Array) -> Array:
    """Return the smaller Gram matrix (of rows or of columns) of X minus ``shift``, zero or the mean of X."""
    n, d = X.shape
    S = X @ X.T if n < d else X.T @ X
    G = S.toarray() if issparse(S) else S
    if n < d:
        m = np.asarray(X @ shift)
        return np.asarray(G - m[:, None] - m + shift @ shift)
    return np.asarray(G - n * np.outer(shift, shift))


SHARES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
r"""Default ridges, as shares of the largest eigenvalue of :math:`X^\top X`."""


class LowRankMap(RegressorMixin, Model):  # type: ignore[misc] # scikit-learn has no types
    """Base class for linear regression with low-rank coefficients ``U_`` and ``V_`` and ``intercept_``."""

    _tags: ClassVar[Any] = {"input_tags.sparse": True, "target_tags.multi_output": True}

    def predict(self, X: Any) -> Array:
        """Return the predicted targets of feature vectors, of shape (n,) or (n, targets)."""
        check_is_fitted(self, "U_")
        X = validated(self, X, accept_sparse="csr", reset=False)
        Y = np.asarray((X @ self.U_) @ self.V_.T) + self.intercept_
        return Y[:, 0] if self._flat_ else Y

    def _set(self, spectrum: Spectrum, rank: int, ridge: float, *, flat: bool) -> Self:
        U, V = spectrum.directions(float(ridge))
        self.U_, self.V_ = U[:, :rank], V[:, :rank]
        self.intercept_ = spectrum.y - (spectrum.x @ self.U_) @ self.V_.T
        self._flat_ = flat
        return self


class ReducedRankRegression(LowRankMap):
    r"""Reduced-rank ridge regression, in closed form.

    Parameters
    ----------
    rank : int
        Rank of the coefficient matrix. At the number of targets and above it is plain ridge regression.
    ridge : float
        Ridge penalty :math:`\lambda`, in units of the squared features.

    Attributes
    ----------
    U_ : ndarray of shape (features, R)
        Directions of the features. All targets are predicted from ``X @ U_``.
    V_ : ndarray of shape (targets, R)
        Coefficients of the targets on the directions, with orthonormal columns.
    intercept_ : ndarray of shape (targets,)
        Intercepts.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 8))
    >>> Y = X @ np.outer(rng.normal(size=8), [1.0, -2.0, 0.5]) + 3
    >>> bool(np.allclose(ReducedRankRegression(1, ridge=1e-9).fit(X, Y).predict(X), Y))
    True
    """

    rank: Count = 10
    _: KW_ONLY
    ridge: Amount = 1.0

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model to feature vectors, a matrix, and targets of shape (n,) or (n, targets)."""
        self.check()
        X, Y = validated(self, X, y, accept_sparse="csr", multi_output=True, y_numeric=True)
        return self._set(spectrum_of(X, _columns(Y)), self.rank, self.ridge, flat=Y.ndim == 1)


class ReducedRankRegressionCV(LowRankMap):
    """Reduced-rank regression with rank and ridge selected by cross-validation.

    Parameters
    ----------
    ranks : sequence of int, optional
        Ranks to try. By default all up to the number of targets, which costs little.
    ridges : sequence of float, optional
        Ridge penalties to try. By default ``SHARES`` of the largest eigenvalue of the features' Gram matrix.
    folds : int
        Number of cross-validation folds.

    Attributes
    ----------
    rank_, ridge_ : int, float
        Selected values.
    errors_ : ndarray of shape (ridges, ranks)
        Cross-validated mean squared errors.
    U_, V_, intercept_
        As for :class:`ReducedRankRegression`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 8))
    >>> Y = X @ rng.normal(size=(8, 2)) @ rng.normal(size=(2, 5)) + 0.1 * rng.normal(size=(90, 5))
    >>> ReducedRankRegressionCV().fit(X, Y).rank_
    2
    """

    _: KW_ONLY
    ranks: Sequence[Count] | None = None
    ridges: Sequence[Amount] | None = None
    folds: Annotated[int, Within(2)] = 5
    seed: Natural = 0

    def check(self) -> None:
        """Raise InputError if a setting is out of range or a grid is empty."""
        super().check()
        if 0 in (len(tried) for tried in (self.ranks, self.ridges) if tried is not None):
            raise InputError("ranks and ridges must not be empty")

    def fit(self, X: Any, y: Any) -> Self:
        """Select the rank and the ridge penalty by cross-validation, then fit the model to all rows.

        Parameters and errors are those of :meth:`ReducedRankRegression.fit`.
        """
        self.check()
        X, Y = validated(self, X, y, accept_sparse="csr", multi_output=True, y_numeric=True, ensure_min_samples=2)
        T = _columns(Y)
        ranks = list(range(1, T.shape[1] + 1) if self.ranks is None else self.ranks)
        whole = spectrum_of(X, T)
        ridges = list(whole.w.max(initial=0) * np.array(SHARES) if self.ridges is None else self.ridges)
        top = max(ranks)
        fold = np.random.default_rng(self.seed).permutation(len(T)) % min(self.folds, len(T))
        errors = np.zeros((len(ridges), top))
        for k in range(fold.max() + 1):
            errors += _errors(spectrum_of(X[fold != k], T[fold != k]), X[fold == k], T[fold == k], ridges, top)
        self.errors_ = errors[:, np.array(ranks) - 1] / T.size
        i, j = np.unravel_index(self.errors_.argmin(), self.errors_.shape)
        self.rank_, self.ridge_ = int(ranks[j]), float(ridges[i])
        return self._set(whole, self.rank_, self.ridge_, flat=Y.ndim == 1)


def _errors(spectrum: Spectrum, X: Any, Y: Array, ridges: Sequence[float], top: int) -> Array:
    """Return the sum of squared errors for each ridge penalty and each rank from 1 to ``top``."""
    R = Y - spectrum.y
    errors = np.empty((len(ridges), top))
    for at, ridge in enumerate(ridges):
        U, V = spectrum.directions(float(ridge))
        T = np.asarray(X @ U) - spectrum.x @ U
        gains = (T**2).sum(axis=0) - 2 * (T * (R @ V)).sum(axis=0)  # of each direction, since V is orthonormal
        steps = np.zeros(top)
        steps[: min(top, len(gains))] = gains[:top]
        errors[at] = (R**2).sum() + np.cumsum(steps)
    return errors


def _columns(Y: Array) -> Array:
    return Y[:, None] if Y.ndim == 1 else Y
