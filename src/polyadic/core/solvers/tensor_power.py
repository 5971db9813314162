r"""Tensor power method: components of symmetric tensors of order 3.

.. math:: T = \sum_{i=1}^r \lambda_i\, v_i \otimes v_i \otimes v_i, \qquad
          v \leftarrow \frac{T(I, v, v)}{\|T(I, v, v)\|}, \qquad T(I, v, v) = \sum_i \lambda_i (v_i^\top v)^2 v_i

Orthonormal :math:`v_i` are attractors, and convergence is quadratic; other tensors are whitened first
(:func:`~polyadic.core.linalg.whitening.whitening`). Of several starts the one with the largest :math:`T(v, v, v)` is
kept, subtracted from the tensor (deflation), and the next is sought. Finally each component is refined with the others
subtracted, so that errors do not accumulate.

References
----------
Anandkumar, Ge, Hsu, Kakade, Telgarsky (2014), Tensor decompositions for learning latent variable models, algorithm 1.
The final refinement is not theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from polyadic.core.annotations import Array
from polyadic.core.errors import InputError, check_int, check_number

Product = Callable[[Array], Array]
MAX_REFINEMENTS = 5  # maximum number of refinements of each component


class Components(NamedTuple):
    """Non-negative weights of a symmetric tensor, (rank,), in descending order, and unit vectors, (k, rank)."""

    weights: Array
    vectors: Array

    def toarray(self) -> Array:
        """Return the dense tensor."""
        return np.einsum("r,ar,br,cr->abc", self.weights, *[self.vectors] * 3, optimize=True)


def tensor_power(
    T: Array, rank: int, *, starts: int = 30, max_iter: int = 100, tol: float = 1e-10, seed: int = 0
) -> Components:
    """Decompose a symmetric tensor of order 3 by the tensor power method with deflation.

    The shape is (k, k, k); symmetry is not checked. Each component is sought from ``starts`` random directions by at
    most ``max_iter`` steps, until a direction changes by less than ``tol``.
    """
    T = np.asarray(T, float)
    if T.ndim != 3 or len({*T.shape}) > 1:
        raise InputError(f"the tensor must have order 3 and modes of equal length; got shape {T.shape}")
    if not np.isfinite(T).all():
        raise InputError("the tensor must not contain infinite or NaN values")
    k = len(T)
    check_int("rank", rank, low=1, high=k)
    check_int("starts", starts, low=1)
    check_int("max_iter", max_iter, low=1)
    check_number("tol", tol)
    rng, rows = np.random.default_rng(seed), T.reshape(k, k * k)

    def apply(V: Array) -> Array:
        """Map columns :math:`v` to :math:`T(I, v, v)`."""
        return np.asarray(rows @ (V[:, None, :] * V[None, :, :]).reshape(k * k, -1))

    weights, vectors = np.zeros(0), np.zeros((k, 0))
    for _ in range(rank):
        first = _unit(rng.standard_normal((k, starts)))
        weight, v = _strongest(_less(apply, weights, vectors), first, max_iter, tol)
        weights, vectors = np.append(weights, weight), np.column_stack([vectors, v])
    for _ in range(MAX_REFINEMENTS if rank > 1 else 0):
        before = vectors.copy()
        for r in range(rank):
            others = np.arange(rank) != r
            left = _less(apply, weights[others], vectors[:, others])
            weights[r], vectors[:, r] = _strongest(left, vectors[:, [r]], max_iter, tol)
        if np.abs(vectors - before).max() <= tol:
            break
    order = np.argsort(-weights, kind="stable")
    return Components(weights[order], vectors[:, order])


def _less(apply: Product, weights: Array, vectors: Array) -> Product:
    """Deflate a tensor, given as a function, by subtracting components."""
    return lambda V: apply(V) - vectors @ (weights[:, None] * (vectors.T @ V) ** 2)


def _strongest(apply: Product, V: Array, max_iter: int, tol: float) -> tuple[float, Array]:
    """Run power iterations from all columns of ``V``; return the weight and vector of the strongest component."""
    for _ in range(max_iter):
        new = _unit(apply(V))
        moved = np.abs(new - V).max()
        V = new
        if moved <= tol:
            break
    values = (V * apply(V)).sum(axis=0)
    best = int(values.argmax())
    v: Any = V[:, best]
    return (float(values[best]), v) if values[best] >= 0 else (-float(values[best]), -v)


def _unit(V: Array) -> Array:
    return np.asarray(V / np.maximum(np.linalg.norm(V, axis=0), np.finfo(float).tiny))
