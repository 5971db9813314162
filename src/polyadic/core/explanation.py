r"""Explain predictions by decomposing them into sums of contributions.

A row of factors that solves a least-squares problem given those of the columns is linear in the values of its cells,
and so is every linear function of it: with cells of weight :math:`c_j` and right side :math:`y_j`,

.. math:: w^\top u = \sum_j y_j\, w^\top A^{-1} v_j, \qquad A = \Lambda + \sum_j c_j v_j v_j^\top .

Each term is the contribution of a cell.

A factorization machine has a contribution for each set of features that is multiplied,

.. math:: m = w_0 + \sum_j w_j x_j + \sum_{j < k} \langle v_j, v_k \rangle x_j x_k + \ldots,

and a linear model of words one for each word.

References
----------
Hu, Koren, Volinsky (2008), Collaborative filtering for implicit feedback datasets, section 5
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.linalg import solve

from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.resources import check_memory

if TYPE_CHECKING:
    from polyadic.core.kernels import RowEntries

BYTES = 256  # approximate size of a set of features and its contribution


class Contributions(NamedTuple):
    """Contributions of each observed cell in a row to predictions that equal ``base + parts.sum(axis=1)``.

    ``base`` (n,) is due to no cell; ``columns`` (m,) are those of the cells, and ``parts`` has shape (n, m).
    """

    base: Array
    columns: Ints
    parts: Array


class Explanation(NamedTuple):
    """Named contributions to a predicted value, in descending order of magnitude."""

    value: float
    base: float  # the value less all contributions; NaN where these are effects rather than shares of the value
    parts: list[tuple[Any, float]]

    @classmethod
    def of(cls, value: float, parts: Iterable[tuple[Any, float]]) -> Self:
        """Create an explanation with sorted contributions; the base value is the unexplained remainder."""
        largest = sorted(parts, key=lambda part: -abs(part[1]))
        return cls(value, value - sum(part for _, part in largest), largest)


def parts_of_row(entries: RowEntries, V: AnyArray, targets: AnyArray, *, precision: AnyArray) -> Array:
    """Return the contribution of each entry of a row to the scores of the targets, shape (targets, entries)."""
    v = V[entries.columns].astype(float)
    A = precision + (v * entries.c[:, None]).T @ v
    return np.asarray(targets @ solve(A, (v * entries.y[:, None]).T, assume_a="pos"))


def parts_of_products(
    x: Array, V: Array, names: Sequence[Any], *, orders: AnyArray
) -> Iterator[tuple[tuple[Any, ...], float]]:
    r"""Yield the contribution of each combination of features to the prediction of a factorization machine.

    The prediction is :math:`\sum_f e_{d_f}(v_{1f} x_1, v_{2f} x_2, \ldots)`. The contribution of :math:`d` features is
    :math:`\sum_f \prod_j v_{jf} x_j` over the columns f with ``orders`` :math:`d_f = d`.
    """
    sizes: list[int] = np.unique(orders).tolist()
    number = sum(comb(len(x), d) for d in sizes)
    check_memory(
        BYTES * number, f"a part for each of {number:,} sets of features", "use fewer features, or lower the order"
    )
    for d in sizes:
        sets = np.array([*combinations(range(len(x)), d)], int).reshape(-1, d)
        products = sum(z[sets].prod(axis=1) for z in (V[:, orders == d] * x[:, None]).T)
        yield from zip(combinations(names, d), np.asarray(products).tolist(), strict=True)
