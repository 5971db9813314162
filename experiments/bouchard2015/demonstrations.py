"""Demonstrations of the tutorial on small matrices: stochastic gradients and the truncated SVD, and signs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.completion.factorization import StochasticMatrixFactorization
from polyadic.completion.logistic import wrong_signs

if TYPE_CHECKING:
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
