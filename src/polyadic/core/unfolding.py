r"""Matricization (unfolding) of dense and sparse tensors, and products of a tensor with a matrix along a mode.

The columns of an unfolding are the fibres of a mode. They are in the order of Kolda and Bader: the first of the
remaining indices varies fastest,

.. math:: j = \sum_{k \neq n} i_k \prod_{m < k,\, m \neq n} I_m \quad\text{(all indices from 0)}, \qquad
          \mathcal T = \mathcal G \times_1 A^{(1)} \cdots \times_N A^{(N)} \iff
          T_{(n)} = A^{(n)} G_{(n)} \big(A^{(N)} \otimes \cdots \otimes A^{(n+1)} \otimes A^{(n-1)} \otimes \cdots
          \otimes A^{(1)}\big)^\top.

Some libraries, such as tensorly, let the last index vary fastest (C order), with the Kronecker product in ascending
order of the modes: the same columns in another order, ``unfold(T.transpose(), T.ndim - 1 - n)``.

References
----------
Kolda, Bader (2009), Tensor decompositions and applications, sections 2.4 and 2.5. Bouchard, Naradowsky, Riedel,
Rocktäschel, Vlachos (2015), Matrix and tensor factorization methods for natural language processing, ACL tutorial,
slides "Tensor Operations".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array, issparse

from polyadic.core.annotations import AnyArray, ArrayLike
from polyadic.core.containers import elements_of, entries_of
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError, check_int

Tensor = TypeVar("Tensor", AnyArray, Entries)


def unfold(T: Tensor, mode: int) -> Tensor:
    """Arrange the fibres of a mode as the columns of a matrix, the first remaining index varying fastest.

    The result has the shape (T.shape[mode], product of the other lengths). Entries keep their order, weights and the
    meaning of unobserved cells. Symmetric entries are expanded to all permutations of their indices. The index of
    ``mode``, from 0, becomes the row index. InputError is raised if there are too many columns for 64-bit integers.

    Examples
    --------
    >>> T = np.arange(24).reshape(3, 4, 2)
    >>> unfold(T, 0)[0].tolist()
    [0, 2, 4, 6, 1, 3, 5, 7]
    """
    X, dense = _tensor(T)
    others, shape = _matrix(X.shape, mode)
    if dense:
        return np.moveaxis(X, mode, 0).reshape(shape, order="F")
    column = np.zeros(len(X), np.int64)
    for d in reversed(others):
        column = column * X.shape[d] + X.indices[:, d]
    return replace(X, indices=np.stack([X.indices[:, mode], column]).T, shape=shape)


def fold(M: Tensor, mode: int, shape: Sequence[int]) -> Tensor:
    """Arrange the columns of a matrix as the fibres of a tensor; the inverse of :func:`unfold`.

    ``M``, an array or Entries, has the shape of the unfolding along ``mode``, from 0, of a tensor of the given shape.

    Examples
    --------
    >>> T = np.arange(24).reshape(3, 4, 2)
    >>> bool((fold(unfold(T, 1), 1, T.shape) == T).all())
    True
    """
    X, dense = _tensor(M)
    lengths: tuple[int, ...] = tuple(check_int("shape", n, low=0) for n in shape)
    others: list[int]
    others, wanted = _matrix(lengths, mode)
    if X.shape != wanted:
        raise InputError(
            f"M must have shape {wanted} to be folded along mode {mode} into a tensor of shape {lengths}; got shape"
            f" {X.shape}"
        )
    if dense:
        return np.moveaxis(X.reshape((lengths[mode], *(lengths[d] for d in others)), order="F"), 0, mode)
    indices, column = np.empty((len(lengths), len(X)), np.int64), X.indices[:, 1]
    indices[mode] = X.indices[:, 0]
    for d in others:
        column, indices[d] = np.divmod(column, max(lengths[d], 1))
    return replace(X, indices=indices.T, shape=lengths)


def mode_dot(T: Tensor, M: ArrayLike, mode: int) -> Tensor:
    r"""Multiply each fibre of a mode by a matrix, :math:`\mathcal T \times_n M`, or by a vector.

    .. math:: (\mathcal T \times_n M)_{i_1 \dots k \dots i_N} = \sum_{i_n} t_{i_1 \dots i_N} m_{k i_n}

    Parameters
    ----------
    T : ndarray or Entries
        Tensor. Unobserved entries must be zeros; weights are not used. The result lists all K cells of each fibre in
        which T has an entry.
    M : array of shape (K, T.shape[mode]) or (T.shape[mode],)
        Matrix, or a vector, with which the result has one mode less.
    mode : int
        Mode, from 0.

    Examples
    --------
    >>> T = np.arange(24).reshape(3, 4, 2)
    >>> mode_dot(T, [[1, 1, 1], [0, 0, 1]], 0).shape, mode_dot(T, [1, 1, 1], 0)[0].tolist()
    ((2, 4, 2), [24, 27])
    """
    X, dense = _tensor(T)
    A = np.asarray(M)
    others = _matrix(X.shape, mode)[0]
    if A.ndim not in (1, 2) or A.shape[-1] != X.shape[mode]:
        raise InputError(
            f"M must be a matrix with {X.shape[mode]} columns, or a vector of that length, to multiply mode {mode} of a"
            f" tensor of shape {X.shape}; got shape {A.shape}"
        )
    if dense:
        product: Any = np.tensordot(A, X, (A.ndim - 1, mode))
        return np.moveaxis(product, 0, mode) if A.ndim == 2 else product
    if X.unobserved == "missing":
        raise InputError("a product along a mode requires unobserved entries that are zero; those of T are missing")
    rows, columns = unfold(X, mode).indices.T
    _, first, at = np.unique(columns, return_index=True, return_inverse=True)
    product = np.atleast_2d(A) @ csr_array((X.values, (rows, at)), (X.shape[mode], len(first)))
    shape = list(X.shape)
    indices = np.tile(X.indices[first].astype(np.int64), (len(product), 1))
    indices[:, mode], shape[mode] = np.repeat(np.arange(len(product)), len(first)), len(product)
    kept = others if A.ndim == 1 else range(X.order)
    whole: Any = Entries(indices[:, kept], product.ravel(), tuple(shape[d] for d in kept))
    return whole


def _tensor(T: Any) -> tuple[Any, bool]:
    """Return an array or expanded entries, and whether it is an array."""
    if isinstance(T, Entries) or issparse(T):
        return entries_of(T, "T").expand(), False
    return elements_of(T, "T").values, True


def _matrix(shape: tuple[int, ...], mode: int) -> tuple[list[int], tuple[int, int]]:
    """Return the modes in the columns of an unfolding, and its shape."""
    check_int("mode", mode, low=0, high=len(shape) - 1)
    others = [d for d in range(len(shape)) if d != mode]
    columns = math.prod(shape[d] for d in others)
    if columns > np.iinfo(np.int64).max:
        raise InputError(f"the unfolding of a tensor of shape {shape} has too many columns for 64-bit integers")
    return others, (shape[mode], columns)
