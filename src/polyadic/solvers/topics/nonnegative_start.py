"""Where non-negative factors begin: at random numbers, or at parts of singular vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.linalg import truncated_svd

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.solvers.topics.nonnegative import Cells

    Array = NDArray[np.float32]


def level(cells: Cells, rank: int) -> float:
    """Give what both factors are about, for the model to have the mean of the table."""
    w = cells.weights
    total = cells.table.data.sum(dtype=float) if w is None else (w * cells.table.data).sum(dtype=float)
    listed = cells.table.nnz if w is None else float(w.sum(dtype=float))
    others = cells.zero_weight * (np.prod(cells.table.shape, dtype=float) - cells.table.nnz)
    return float(np.sqrt(max(total, 1e-30) / max(listed + others, 1e-30) / rank))


def uniform(cells: Cells, rank: int, *, rng: np.random.Generator) -> list[Array]:
    """Draw both factors, for the model to have about the mean of the table."""
    size = level(cells, rank)
    return [(size * rng.random((n, rank)) * 2).astype(np.float32) for n in cells.table.shape]


def nndsvd(cells: Cells, rank: int, *, rng: np.random.Generator, fill: bool) -> list[Array]:
    r"""Give the larger of the positive and negative parts of singular vectors.

    Parameters
    ----------
    cells : Cells
        Cells that are not listed are taken for zeros.
    rank : int
    rng : numpy.random.Generator
        Of the start of the iteration, and of components beyond the rank of the table.
    fill : bool
        Whether zeros become a hundredth of the level, for products to change them.

    References
    ----------
    Boutsidis, Gallopoulos (2008), SVD based initialization: a head start for nonnegative matrix factorization.
    """
    found = min(rank, *(n - 1 for n in cells.table.shape))
    factors = uniform(cells, rank, rng=rng)
    if not found:
        return factors
    U, s, V = truncated_svd(cells.table, found, method="randomized", seed=int(rng.integers(2**31)))
    up, down = ([np.maximum(sign * A, 0) for A in (U, V)] for sign in (1, -1))
    lengths = [[np.linalg.norm(A, axis=0) for A in part] for part in (up, down)]
    larger = lengths[0][0] * lengths[0][1] >= lengths[1][0] * lengths[1][1]
    for side, factor in enumerate(factors):
        part = np.where(larger, up[side], down[side]) / np.where(larger, lengths[0][side], lengths[1][side])
        scale = np.sqrt(s * np.where(larger, lengths[0][0] * lengths[0][1], lengths[1][0] * lengths[1][1]))
        factor[:, :found] = part * scale
        if fill:
            np.maximum(factor, np.float32(level(cells, rank) / 100), out=factor)
    return factors
