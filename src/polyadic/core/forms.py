"""Model forms, which predict the entries of a tensor from factor matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from polyadic.core.annotations import AnyArray, Array, Factors
from polyadic.core.kernels import summed_rows

__all__ = ["CP", "Factors", "Form", "Pullback", "gram"]

ROWS = 1024  # rows whose products are added in the precision of a factor
Pullback = Callable[[AnyArray], Factors]


class Form(Protocol):
    """Interface of model forms, which predict entries from factor matrices and compute gradients of the factors."""

    def __call__(self, factors: Factors, indices: AnyArray) -> tuple[AnyArray, Pullback]:
        """Return the predicted entries, and a function that maps derivatives of predictions to factor gradients."""


@dataclass(frozen=True)
class CP:
    r"""Canonical polyadic form, :math:`m_{i_1 \dots i_n} = \sum_r \prod_d U^{(d)}_{i_d r}`.

    Examples
    --------
    >>> U = np.array([[1.0, 2.0], [3.0, 1.0]])
    >>> m, pullback = CP()([U, U], np.array([[0, 1]]))
    >>> m.tolist(), pullback(np.ones(1))[0].tolist()
    ([5.0], [[3.0, 1.0], [0.0, 0.0]])
    """

    def __call__(self, factors: Factors, indices: AnyArray) -> tuple[AnyArray, Pullback]:
        """Return the predictions, of shape (n,), and a function from derivatives of that shape to factor gradients.

        There is one factor of shape (length, R) for each mode; ``indices`` have shape (n, order).
        """
        rows = [u[i] for u, i in zip(factors, indices.T, strict=True)]

        def pullback(derivatives: AnyArray) -> Factors:
            gradients = []
            for d, u in enumerate(factors):
                others = _product([row for c, row in enumerate(rows) if c != d], rows[d])
                gradients.append(summed_rows(indices[:, d], others * derivatives[:, None], len(u)))
            return gradients

        return _product(rows, rows[0]).sum(axis=1), pullback

    def all_cells(
        self, factors: Factors, grams: dict[int, AnyArray] | None = None
    ) -> tuple[float, Callable[[float], Factors]]:
        r"""Compute the sum of squared predictions over all cells, without forming the dense tensor.

        .. math:: \sum_{i_1 \dots i_n} m_{i_1 \dots i_n}^2 = 1^\top (G_1 * \dots * G_n)\, 1, \qquad G_d = U_d^\top U_d

        Also returns a function from a number to its products with the gradients, :math:`2 U_d (G_1 * \dots)_{\ne d}`.
        ``grams`` is a cache of Gram matrices by the ``id`` of their factor; missing ones are added.
        """
        grams = {} if grams is None else grams
        for u in factors:
            if id(u) not in grams:
                grams[id(u)] = gram(u)
        products = [grams[id(u)] for u in factors]

        def pullback(derivative: float) -> Factors:
            gradients = {}  # modes that share a factor share one product
            for d, u in enumerate(factors):
                if id(u) not in gradients:
                    others = _product([g for c, g in enumerate(products) if c != d], products[d])
                    gradients[id(u)] = u @ (2 * derivative * others).astype(u.dtype)
            return [gradients[id(u)] for u in factors]

        return float(_product(products, products[0]).sum()), pullback

    def total(self, factors: Factors) -> tuple[float, Callable[[float], Factors]]:
        r"""Compute the sum of the predictions over all cells, without forming the dense tensor.

        .. math:: \sum_{i_1 \dots i_n} m_{i_1 \dots i_n} = \sum_r \prod_d \sum_i U^{(d)}_{ir}

        The function maps a number to its product with the gradient of each factor, the same for all its rows.
        """
        sums = [u.sum(axis=0, dtype=float) for u in factors]

        def pullback(derivative: float) -> Factors:
            gradients = []
            for d, u in enumerate(factors):
                row = derivative * _product([s for c, s in enumerate(sums) if c != d], sums[d])
                gradients.append(np.broadcast_to(row.astype(u.dtype), u.shape))
            return gradients

        return float(_product(sums, sums[0]).sum()), pullback


def gram(u: AnyArray) -> Array:
    """Return the Gram matrix ``u.T @ u``, accumulated over blocks of rows in double precision."""
    total = np.zeros((u.shape[1], u.shape[1]))
    for start in range(0, len(u), ROWS):
        block = u[start : start + ROWS]
        total += block.T @ block
    return total


def _product(arrays: Factors, like: AnyArray) -> AnyArray:
    """Return the elementwise product of arrays; the product of no arrays is one."""
    product = np.ones_like(like)
    for array in arrays:
        product *= array
    return product
