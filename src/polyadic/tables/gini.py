r"""Gini index and covariance of categorical variables.

Observations are one-hot vectors :math:`e(x)`, so two observations differ by 0 or 1. The **Gini index** is half the mean
difference over all pairs, :math:`\sigma^2(x) = \frac{1}{2 n^2} \sum_{ab} [x_a \ne x_b] = \frac12 (1 - \sum_i p_i^2)`.
The covariance of two variables, which have different categories, maximises over rotations of one set of one-hot
vectors:

.. math:: \sigma^2(x, y) = \max_{R} \frac{1}{4 n^2} \sum_{ab} (e(x_a) - e(x_b))^\top R\, (e(y_a) - e(y_b))
          = \max_R \tfrac12 \operatorname{tr}(R^\top \Xi) = \tfrac12 \|\Xi\|_*, \qquad \Xi = P - r c^\top,

over matrices with orthonormal columns or rows, whichever are fewer. With the singular value decomposition :math:`\Xi =
U S V^\top` the maximum is at :math:`R = U V^\top`. If one-hot vectors are scaled by the margins, :math:`D^{-1} e`, and
the constraint likewise, the same problem is correspondence analysis, and the value is half the sum of its singular
values.

References
----------
Niitsuma, Lee (2018), eq. (11) to (29); their eq. (13) has R'R = E, which cannot hold where there are fewer rows than
columns. Okada (2000), A note on covariances for categorical data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.containers import categories_of, complete, numbers_of
from polyadic.core.errors import InputError, check_choice
from polyadic.tables.checks import check_counts
from polyadic.tables.residuals import linear, root

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MAX_CATEGORIES = 2000  # maximum number of categories of a variable, since all singular values are computed


class Covariance(NamedTuple):
    """Covariance of two categorical variables, with the rotation matrix (rows, columns) that maximizes it."""

    value: float
    rotation: NDArray[np.float64]


def gini_index(categories: ArrayLike) -> float:
    """Return the Gini index: half the probability that two observations, drawn with replacement, differ in category."""
    counts = np.unique(categories_of(categories, "categories").values, return_counts=True)[1]
    if not len(counts):
        raise InputError("categories must contain at least one observation", "categories")
    return float(1 - ((counts / counts.sum()) ** 2).sum()) / 2


def contingency_table(x: ArrayLike, y: ArrayLike) -> NDArray[np.int64]:
    """Return the contingency table of two categorical variables, with categories in sorted order."""
    (_, i), (_, j) = (np.unique(categories_of(each, "variables").values, return_inverse=True) for each in (x, y))
    if i.shape != j.shape or not len(i):
        got = f"shapes {i.shape} and {j.shape}"
        raise InputError(f"both variables must have the same number of observations, at least one; got {got}")
    table = np.zeros((i.max() + 1, j.max() + 1), np.int64)
    np.add.at(table, (i, j), 1)
    return table


def categorical_covariance(table: Any, *, scaled: Literal["identity", "margins"] = "identity") -> Covariance:
    r"""Return the covariance of two categorical variables, maximized over rotations, from their contingency table.

    With ``scaled="margins"`` one-hot vectors are scaled by the margins, as in correspondence analysis, and the rotation
    is :math:`\check R = D_r^{1/2} U V^\top D_c^{1/2}`.
    """
    check_choice("scaled", scaled, ("identity", "margins"))
    N = csr_array(complete(numbers_of(table, "table"), "table").values).astype(float)
    if max(N.shape) > MAX_CATEGORIES:
        got = f"a table of shape {N.shape}"
        raise InputError(f"the covariance supports at most {MAX_CATEGORIES:,} categories per variable; got {got}")
    check_counts(N)
    A = linear(N)
    left, right = root(scaled, A.r, "row"), root(scaled, A.c, "column")
    U, s, V = np.linalg.svd(left[:, None] * (A.S.toarray() + A.L @ A.M.T) * right, full_matrices=False)
    inner = U @ V
    with np.errstate(divide="ignore"):
        unscaled = np.where(left > 0, 1 / left, 0)[:, None] * inner * np.where(right > 0, 1 / right, 0)
    return Covariance(float(s.sum() / 2), unscaled)
