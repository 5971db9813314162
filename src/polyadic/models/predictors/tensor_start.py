"""Vectors of a tensor of low rank to begin with, of unit norm as a whole."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SWEEPS = 30
"""Of power iterations; a start need not be exact."""


def by_signs(sizes: Sequence[int], H: int, rng: np.random.Generator) -> list[NDArray[np.float64]]:
    """Give vectors of random signs: equal entries would make all components alike, and zeros would stay."""
    return _unit([rng.choice([-1.0, 1.0], (n, H)) for n in sizes])


def by_components(T: NDArray[np.float64], H: int, rng: np.random.Generator) -> list[NDArray[np.float64]]:
    """Give vectors whose product is near ``T``: each is the best for what those before it leave.

    Of a matrix these are the singular vectors.
    """
    rest, components = T.copy(), []
    for _ in range(H):
        vectors = [_normed(rng.standard_normal(n)) for n in T.shape]
        size = 0.0
        for _ in range(SWEEPS):
            for d in range(T.ndim):
                vectors[d] = _against(rest, vectors, d)
                size = float(np.linalg.norm(vectors[d]))
                vectors[d] = _normed(vectors[d])
        components.append([size ** (1 / T.ndim) * w for w in vectors])
        rest -= size * reduce(np.multiply.outer, vectors)
    if not components[0][0].any():
        return by_signs(T.shape, H, rng)
    return _unit([np.stack([part[d] for part in components], axis=1) for d in range(T.ndim)])


def tensor_norm(factors: Sequence[NDArray[Any]]) -> float:
    """Give the Frobenius norm of a sum of outer products, of vectors in columns."""
    return float(np.sqrt(max(reduce(np.multiply, [w.T @ w for w in factors]).sum(), 0.0)))


def _against(T: NDArray[Any], vectors: list[NDArray[Any]], d: int) -> NDArray[Any]:
    """Multiply a tensor in all modes but one."""
    for e in reversed(range(T.ndim)):
        if e != d:
            T = np.tensordot(T, vectors[e], axes=(e, 0))
    return T


def _normed(w: Any) -> NDArray[Any]:
    size = np.linalg.norm(w)
    return w / size if size > 0 else w


def _unit(factors: list[NDArray[Any]]) -> list[NDArray[np.float64]]:
    size = tensor_norm(factors)
    scale = size ** (-1 / len(factors)) if size > 0 else 1.0
    return [w * scale for w in factors]
