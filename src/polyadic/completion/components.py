r"""Varimax-rotated principal components of the predictions of a matrix factorization.

Predictions :math:`m_{ij} = u_i \cdot v_j`, minus the means of their rows and columns, are

.. math:: m_{ij} - \bar m_{i \cdot} - \bar m_{\cdot j} + \bar m = \sum_r z_{ir} \ell_{jr}

with uncorrelated scores :math:`z` of unit variance, and loadings :math:`\ell`, the varimax rotation of the principal
axes of the predictions (:func:`~polyadic.completion.components.varimax`), so that most loadings are small. The row
means hold how generous a row is and the column means how popular a column is; components hold preferences beyond these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polyadic.core.annotations import AnyArray, Array

EXACT = 1e-9  # share of the largest variance below which an axis is attributed to rounding


class TableComponent(NamedTuple):
    """A component of a completed matrix, described by the columns with the largest positive and negative loadings.

    A loading is the increase of predictions per standard deviation of the score; ``share`` is that of the variance of
    the predictions, after removal of row and column means.
    """

    share: float
    columns: list[tuple[Any, float]]
    against: list[tuple[Any, float]]


class RotatedComponents(NamedTuple):
    """Components of a completed matrix, in decreasing order of explained variance."""

    scores: Array  # shape (rows, r)
    loadings: Array  # shape (columns, r)
    shares: Array  # shape (r,)


def rotated_components(U: AnyArray, V: AnyArray, number: int) -> RotatedComponents:
    """Return at most ``number`` varimax-rotated principal components of the prediction matrix U V^T."""
    U, V = U - U.mean(axis=0, dtype=float), V - V.mean(axis=0, dtype=float)
    variances, E = np.linalg.eigh(U.T @ U / max(len(U), 1))
    kept = variances > EXACT * variances.max(initial=0)
    axes = E[:, kept] * np.sqrt(variances[kept])
    A, s, Bt = np.linalg.svd(V @ axes, full_matrices=False)
    here = np.flatnonzero(s**2 > EXACT * s.max(initial=0) ** 2)[:number]
    T = varimax(A[:, here] * s[here])
    loadings = (A[:, here] * s[here]) @ T
    scores = U @ (E[:, kept] / np.sqrt(variances[kept])) @ Bt[here].T @ T
    signs = np.where((loadings**3).sum(axis=0) < 0, -1.0, 1.0)
    shares = (loadings**2).sum(axis=0) / max(float((s**2).sum()), np.finfo(float).tiny)
    order = np.argsort(-shares, kind="stable")
    return RotatedComponents((scores * signs)[:, order], (loadings * signs)[:, order], shares[order])


STEPS = 1000
TOLERANCE = 1e-6  # relative improvement of the criterion; of 20 columns, all are named as at 1e-10, and 19 at 1e-5


def varimax(L: AnyArray) -> Array:
    r"""Return the rotation matrix T for which the loadings :math:`X = L T` maximise the varimax criterion.

    .. math:: \max_T \sum_r \Big(\sum_j x_{jr}^4 - \tfrac1n \big(\sum_j x_{jr}^2\big)^2\Big)

    by repeated singular value decompositions, each of which increases the criterion: Kaiser (1958), The varimax
    criterion for analytic rotation in factor analysis.
    """
    L = np.asarray(L, float)
    T, before = np.eye(L.shape[1]), 0.0
    for _ in range(STEPS if L.size else 0):
        X = L @ T
        squares = X * X
        U, s, Vt = np.linalg.svd(L.T @ (X * (squares - squares.mean(axis=0))))
        T = U @ Vt
        if s.sum() <= before * (1 + TOLERANCE):
            break
        before = s.sum()
    return np.asarray(T)
