r"""The Gini index as a variance of categories, and the covariance of two categorical variables that it leads to.

A category is a one-hot vector :math:`e(x)`; two observations differ by 0 or 1. Half the mean difference over all pairs
is the **Gini index**, :math:`\sigma^2(x) = \frac{1}{2 n^2} \sum_{ab} [x_a \ne x_b] = \frac12 (1 - \sum_i p_i^2)`. Two
variables have different categories, so the one-hot vectors of one are rotated towards those of the other:

.. math:: \sigma^2(x, y) = \max_{R} \frac{1}{4 n^2} \sum_{ab} (e(x_a) - e(x_b))^\top R\, (e(y_a) - e(y_b))
          = \max_R \tfrac12 \operatorname{tr}(R^\top \Xi) = \tfrac12 \|\Xi\|_*, \qquad \Xi = P - r c^\top,

over matrices with orthonormal columns or rows, whichever there are fewer of; with the singular value decomposition
:math:`\Xi = U S V^\top` the best is :math:`R = U V^\top`. With one-hot vectors scaled by the margins,
:math:`D^{-1} e`, and the constraint scaled likewise, the same problem is correspondence analysis: its value is half the
sum of the singular values of correspondence analysis.

References
----------
Niitsuma, Lee (2018), eq. (11) to (29); their eq. (13) has R'R = E, which cannot hold where there are fewer rows than
columns. Okada (2000), A note on covariances for categorical data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from polyadic.core.errors import InputError, check_choice
from polyadic.tables.correspondence import check_counts
from polyadic.tables.residuals import linear
from polyadic.tables.similarities import root

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MAX_CATEGORIES = 2000
"""Categories of a variable at most: all singular values are needed."""


class Covariance(NamedTuple):
    """A covariance of categories, and the rotation that it is reached by, of shape (rows, columns)."""

    value: float
    rotation: NDArray[np.float64]


def gini_index(categories: ArrayLike) -> float:
    """Half the share of pairs of observations that differ, each observation with itself among them.

    Parameters
    ----------
    categories : array of shape (n,)
        Of each observation.

    Raises
    ------
    InputError
        If there are no observations.

    Examples
    --------
    >>> gini_index(["blue", "blue", "dark", "light"])
    0.3125
    """
    counts = np.unique(np.asarray(categories), return_counts=True)[1]
    if not len(counts):
        raise InputError("the Gini index needs at least one observation")
    return float(1 - ((counts / counts.sum()) ** 2).sum()) / 2


def contingency_table(x: ArrayLike, y: ArrayLike) -> NDArray[np.int64]:
    """Count how often each category of one variable meets each of another; categories in sorted order.

    Raises
    ------
    InputError
        If there are not as many of one as of the other.

    Examples
    --------
    >>> contingency_table(["a", "a", "b"], ["u", "v", "v"]).tolist()
    [[1, 1], [0, 1]]
    """
    (_, i), (_, j) = (np.unique(np.asarray(each), return_inverse=True) for each in (x, y))
    if i.shape != j.shape or not len(i):
        raise InputError(f"two variables need as many observations, at least one; got {i.shape} and {j.shape}")
    table = np.zeros((i.max() + 1, j.max() + 1), np.int64)
    np.add.at(table, (i, j), 1)
    return table


def categorical_covariance(table: Any, *, scaled: Literal["identity", "margins"] = "identity") -> Covariance:
    r"""Give the rotated covariance of two categorical variables.

    Parameters
    ----------
    table : array or sparse matrix of shape (m, n)
        How often their categories meet.
    scaled : {"identity", "margins"}
        Plain one-hot vectors, or those scaled by the margins, which is correspondence analysis. (For the latter the
        rotation is :math:`\check R = D_r^{1/2} U V^\top D_c^{1/2}`.)

    Returns
    -------
    value : float
        The covariance.
    rotation : ndarray of shape (m, n)
        What maximises it.

    Raises
    ------
    InputError
        If the table is empty, too large, or holds something that is no count.

    Examples
    --------
    >>> fisher = [[326, 38, 241, 110, 3], [688, 116, 584, 188, 4], [343, 84, 909, 412, 26], [98, 48, 403, 681, 85]]
    >>> round(categorical_covariance(fisher).value, 5), round(categorical_covariance(fisher, scaled="margins").value, 5)
    (0.08125, 0.32457)
    """
    check_choice("scaled", scaled, ("identity", "margins"))
    N = csr_array(table if issparse(table) else np.asarray(table, float)).astype(float)
    if max(N.shape) > MAX_CATEGORIES:
        raise InputError(
            f"a covariance needs all singular values: at most {MAX_CATEGORIES:,} categories; got {N.shape}"
        )
    check_counts(N.data)
    A = linear(N)
    left, right = root(scaled, A.r, "row"), root(scaled, A.c, "column")
    U, s, V = np.linalg.svd(left[:, None] * (A.S.toarray() + A.L @ A.M.T) * right, full_matrices=False)
    inner = U @ V
    with np.errstate(divide="ignore"):
        unscaled = np.where(left > 0, 1 / left, 0)[:, None] * inner * np.where(right > 0, 1 / right, 0)
    return Covariance(float(s.sum() / 2), unscaled)
