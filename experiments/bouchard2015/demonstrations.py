"""Demonstrations of the tutorial on small matrices: stochastic gradients and the truncated SVD, and signs.

A matrix of full rank may have the same signs as one of rank two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.completion.factorization import StochasticMatrixFactorization
from polyadic.completion.logistic import LogisticFactorization
from polyadic.core.errors import InputError, check_int

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from polyadic.core.stage_cache import Facts

ROWS, COLUMNS, RANK, EPOCHS = 40, 30, 3, 300
SCALES = 5.0, 4.0, 3.0, 1.0, 0.5, 0.2
"""Of the components of the matrix: three strong ones."""
TINY = 1e-9
"""Of penalties, which must not be zero."""
STEPS = {"steps that fall": 0.05, "constant steps": 0.0}


def descent(*, seed: int) -> Facts:
    """Factorize a matrix all of whose cells are known, its rows and columns of mean zero, by stochastic gradients."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((ROWS, len(SCALES))) * SCALES @ rng.standard_normal((len(SCALES), COLUMNS)) / 3
    x = x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()
    sizes = np.linalg.svd(x, compute_uv=False)
    histories = {}
    for name, decay in STEPS.items():
        model = StochasticMatrixFactorization(
            RANK, ridge=TINY, bias_ridge=TINY, learning_rate=0.02, decay=decay, max_iter=EPOCHS, tol=0, seed=seed
        )
        histories[name] = model.fit(x).history_
    return {"optimum": float((sizes[RANK:] ** 2).sum()), "histories": histories}


def signs(*, seed: int) -> list[Facts]:
    """Count wrong signs of matrices of -1 and 1: ones on the diagonal, and ones above it."""
    rows = []
    for name, x in (("diagonal", np.eye(30)), ("triangle", np.triu(np.ones((30, 30))))):
        for rank, svd, logistic in wrong_signs(2 * x - 1, (2, 3, 10, 29), seed=seed):
            rows.append({"matrix": name, "rank": rank, "svd": svd, "logistic": logistic})
    return rows


class WrongSigns(NamedTuple):
    """Number of cells with the wrong sign, by truncated singular value decomposition and by logistic factorization."""

    rank: int
    svd: int
    logistic: int


def wrong_signs(X: ArrayLike, ranks: Sequence[int], *, starts: int = 3, seed: int | None = None) -> list[WrongSigns]:
    """Count the signs that truncated SVD and logistic factorization (best of ``starts``) of each rank get wrong.

    References
    ----------
    Paturi, Simon (1986), Probabilistic communication complexity, for the sign rank. Bouchard, Naradowsky, Riedel,
    Rocktäschel, Vlachos (2015), Matrix and tensor factorization methods for natural language processing, ACL tutorial.

    Examples
    --------
    >>> low, full = wrong_signs(2 * np.eye(12) - 1, [3, 12], seed=0)
    >>> low.svd > 6, low.logistic, full.svd
    (True, 0, 0)
    """
    x = np.asarray(X, float)
    if x.ndim != 2 or set(np.unique(x)) != {-1.0, 1.0}:
        raise InputError("X must be a matrix of -1 and 1, with both values")
    check_int("starts", starts, low=1)
    left, sizes, right = np.linalg.svd(x, full_matrices=False)
    rng = np.random.default_rng(seed)
    counts = []
    for rank in ranks:
        near = (left[:, :rank] * sizes[:rank]) @ right[:rank]
        wrong = []
        for _ in range(starts):
            once = int(rng.integers(2**31))
            model = LogisticFactorization(rank, ridge=1e-4, max_iter=1000, tol=0, threads=1, seed=once)
            model.fit((x > 0).astype(float))
            wrong.append(int((x * (model.row_factors_ @ model.column_factors_.T) <= 0).sum()))
        counts.append(WrongSigns(rank, int((x * near <= 0).sum()), min(wrong)))
    return counts
