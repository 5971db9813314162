r"""Why a model says what it says: a value taken apart into what it is made of, or what it rests on.

A row of factors that least squares solve for, given those of the columns, is linear in the values of its cells, and so
is whatever is computed from it: with cells of weight :math:`c_j` and right side :math:`y_j`,

.. math:: w^\top u = \sum_j y_j\, w^\top A^{-1} v_j, \qquad A = \Lambda + \sum_j c_j v_j v_j^\top .

Each term is the part of a cell. How much one column speaks for another depends on the row, through A.

References
----------
Hu, Koren, Volinsky (2008), Collaborative filtering for implicit feedback datasets, section 5
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.linalg import solve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.kernels import RowEntries


class Parts(NamedTuple):
    """What values of one row are made of.

    Attributes
    ----------
    base : ndarray of shape (n,)
        What is not due to any cell of the row.
    columns : ndarray of int of shape (m,)
        Of the cells of the row.
    parts : ndarray of shape (n, m)
        Of each value, what is due to each cell; with ``base`` they add up to it.
    """

    base: NDArray[np.float64]
    columns: NDArray[np.int64]
    parts: NDArray[np.float64]


class Explanation(NamedTuple):
    """What one value is made of, or rests on, by name.

    Attributes
    ----------
    value : float
        That which the model predicts.
    base : float
        What is not due to anything named: the value less all parts. NaN where parts are no shares of the value, but say
        how much each thing moves it.
    parts : list of (name, float)
        The largest first, whatever their sign.
    """

    value: float
    base: float
    parts: list[tuple[Any, float]]


def explanation(value: float, names: Sequence[Any], parts: NDArray[Any]) -> Explanation:
    """Explain a value by parts of it.

    Parameters
    ----------
    value : float
    names : sequence of m names
    parts : ndarray of shape (m,)

    Examples
    --------
    >>> explanation(4.0, ["Heat", "Ran"], np.array([1.0, -2.0]))
    Explanation(value=4.0, base=5.0, parts=[('Ran', -2.0), ('Heat', 1.0)])
    """
    order = np.argsort(-np.abs(parts), kind="stable").tolist()
    return Explanation(float(value), float(value - parts.sum()), [(names[at], float(parts[at])) for at in order])


def parts_of_row(
    entries: RowEntries, V: NDArray[Any], targets: NDArray[Any], *, precision: NDArray[Any]
) -> NDArray[np.float64]:
    """Take products of the row that least squares solve for apart, by its entries.

    Parameters
    ----------
    entries : RowEntries
        Of one row.
    V : ndarray of shape (columns, R)
    targets : ndarray of shape (n, R)
        What the row is multiplied by.
    precision : ndarray of shape (R, R)

    Returns
    -------
    ndarray of shape (n, entries)

    Examples
    --------
    >>> from polyadic.kernels import RowEntries
    >>> entries = RowEntries(np.array([0, 2]), np.array([0, 1]), np.ones(2), np.array([3.0, 1.0]))
    >>> parts_of_row(entries, np.eye(2), np.array([[2.0, 4.0]]), precision=np.eye(2)).round(9).tolist()
    [[3.0, 2.0]]
    """
    v = V[entries.columns].astype(float)
    A = precision + (v * entries.c[:, None]).T @ v
    return np.asarray(targets @ solve(A, (v * entries.y[:, None]).T, assume_a="pos"))
