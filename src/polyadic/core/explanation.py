r"""Attribution of predictions: a value as a sum of contributions.

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

from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.linalg import solve

from polyadic.core.resources import check_memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from polyadic.core.kernels import RowEntries

BYTES = 256
"""Approximate size of a set of features and its contribution."""


class Contributions(NamedTuple):
    """Contributions to several values of one row.

    Attributes
    ----------
    base : ndarray of shape (n,)
        The part of each value that is not due to a cell of the row.
    columns : ndarray of int of shape (m,)
        Columns of the cells of the row.
    parts : ndarray of shape (n, m)
        Contribution of each cell to each value; ``base`` plus their sum is the value.
    """

    base: NDArray[np.float64]
    columns: NDArray[np.int64]
    parts: NDArray[np.float64]


class Explanation(NamedTuple):
    """Contributions to one predicted value, by name.

    Attributes
    ----------
    value : float
        Predicted value.
    base : float
        The value less all contributions. NaN where contributions are effects rather than shares of the value.
    parts : list of (name, float)
        Contributions in descending order of magnitude.
    """

    value: float
    base: float
    parts: list[tuple[Any, float]]

    @classmethod
    def of(cls, value: float, parts: Iterable[tuple[Any, float]]) -> Self:
        """Sort the contributions to a value; the base is the remainder.

        Examples
        --------
        >>> Explanation.of(4.5, [("a", 1.0), ("b", -2.0)])
        Explanation(value=4.5, base=5.5, parts=[('b', -2.0), ('a', 1.0)])
        """
        largest = sorted(parts, key=lambda part: -abs(part[1]))
        return cls(value, value - sum(part for _, part in largest), largest)


def parts_of_row(
    entries: RowEntries, V: NDArray[Any], targets: NDArray[Any], *, precision: NDArray[Any]
) -> NDArray[np.float64]:
    """Attribute products of a least-squares row to its entries.

    ``V`` is (columns, R), ``targets``, shape (n, R), are the vectors that the row is multiplied by, and ``precision``
    is (R, R). Returns an array of shape (n, entries).

    Examples
    --------
    >>> from polyadic.core.kernels import RowEntries
    >>> entries = RowEntries(np.array([0, 2]), np.array([0, 1]), np.ones(2), np.array([3.0, 1.0]))
    >>> parts_of_row(entries, np.eye(2), np.array([[2.0, 4.0]]), precision=np.eye(2)).round(9).tolist()
    [[3.0, 2.0]]
    """
    v = V[entries.columns].astype(float)
    A = precision + (v * entries.c[:, None]).T @ v
    return np.asarray(targets @ solve(A, (v * entries.y[:, None]).T, assume_a="pos"))


def parts_of_products(
    x: NDArray[np.float64], V: NDArray[np.float64], names: Sequence[Any], *, orders: NDArray[Any]
) -> Iterator[tuple[tuple[Any, ...], float]]:
    r"""Yield the contribution of each set of features to :math:`\sum_f e_{d_f}(v_{1f} x_1, v_{2f} x_2, \ldots)`.

    Shapes (features,), (features, K), (features,), and (K,) for ``orders``, the :math:`d_f`. The contribution of a set
    of :math:`d` features is :math:`\sum_f \prod_j v_{jf} x_j` over the columns of that order. Raises InputError if
    there are more sets than memory holds.

    Examples
    --------
    >>> x, V = np.array([2.0, 3.0]), np.array([[1.0, 1.0], [-1.0, 4.0]])
    >>> [*parts_of_products(x, V, "ab", orders=np.array([1, 2]))]
    [(('a',), 2.0), (('b',), -3.0), (('a', 'b'), 24.0)]
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
