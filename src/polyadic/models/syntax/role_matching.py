r"""The best roles for the words of a predicate, where some roles are played once at most.

.. math:: \max_y \sum_a s(a, y_a), \qquad \#\{a : y_a = r\} \le 1 \text{ for each role } r \text{ that is played once}

A word that plays none scores that of none. For each word the best of none and of the roles that may be played again is
found by itself; what a role that is played once adds to it is the weight of an edge between word and role, and a
matching of the greatest weight is the rest.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Once = Literal["core", "all", "none"]
CORE = re.compile(r"(ARG|A)[0-9A](-DSP)?")
"""Names of roles that belong to a predicate, in the letters of either tradition."""


def played_once(roles: Sequence[str], once: Once) -> NDArray[np.bool_]:
    """Tell which roles are played by one word at most: those of the predicate itself, all, or none.

    Examples
    --------
    >>> played_once(["ARG0", "ARGM-TMP", "A1", "C-ARG1"], "core").tolist()
    [True, False, True, False]
    """
    return np.array([once == "all" or (once == "core" and bool(CORE.fullmatch(role))) for role in roles], bool)


def best_roles(
    scores: NDArray[np.float64], none: NDArray[np.float64] | None = None, *, once: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Give the role of each word in the choice of the highest score, minus one for none.

    Parameters
    ----------
    scores : ndarray of shape (n, roles)
    none : ndarray of shape (n,), optional
        Scores of playing none; 0 by default.
    once : ndarray of bool of shape (roles,)

    References
    ----------
    Kuhn (1955), The Hungarian method for the assignment problem

    Examples
    --------
    >>> scores = np.array([[3.0, 1.0, 0.0], [2.0, 0.5, 1.0]])
    >>> best_roles(scores, once=np.array([True, True, False])).tolist()
    [0, 2]
    """
    n, rows = len(scores), np.arange(len(scores))
    free = np.flatnonzero(~once)
    best, roles = np.zeros(n) if none is None else none.copy(), np.full(n, -1, np.int64)
    if len(free) and n:
        at = free[scores[:, free].argmax(axis=1)]
        better = scores[rows, at] > best
        best[better], roles[better] = scores[rows, at][better], at[better]
    single = np.flatnonzero(once)
    gain = np.maximum(scores[:, single] - best[:, None], 0)
    words, columns = (np.flatnonzero((gain > 0).any(axis=axis)) for axis in (1, 0))
    if len(words):
        from scipy.optimize import linear_sum_assignment

        gain = gain[np.ix_(words, columns)]
        a, r = linear_sum_assignment(gain, maximize=True)
        taken = gain[a, r] > 0
        roles[words[a[taken]]] = single[columns[r[taken]]]
    return roles
