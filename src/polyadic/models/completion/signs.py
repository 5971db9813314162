"""What rank it takes to get signs right: a matrix of full rank may have the signs of one of rank two."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.errors import InputError, check_int
from polyadic.models.completion.logistic import LogisticFactorization

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


class WrongSigns(NamedTuple):
    """Cells of which a matrix of some rank has the wrong sign.

    Attributes
    ----------
    rank : int
    svd : int
        By the matrix of that rank that is nearest.
    logistic : int
        By logistic factorization.
    """

    rank: int
    svd: int
    logistic: int


def wrong_signs(X: ArrayLike, ranks: Sequence[int], *, starts: int = 3, seed: int | None = None) -> list[WrongSigns]:
    """Compare how many signs the truncated singular value decomposition and logistic factorization get wrong.

    Parameters
    ----------
    X : array of shape (rows, columns)
        -1 and 1, both of them.
    ranks : sequence of int
    starts : int
        Random starts of logistic factorization, the best of which counts: the problem is not convex.
    seed : int, optional

    Raises
    ------
    InputError
        If values are others, or a rank is out of range.

    References
    ----------
    Paturi, Simon (1986), Probabilistic communication complexity, for the sign rank. Bouchard, Naradowsky, Riedel,
    Rocktäschel, Vlachos (2015), Matrix and tensor factorization methods for natural language processing, ACL tutorial.

    Examples
    --------
    >>> one_on_the_diagonal = 2 * np.eye(12) - 1
    >>> low, full = wrong_signs(one_on_the_diagonal, [3, 12], seed=0)
    >>> low.svd > 6, low.logistic, full.svd
    (True, 0, 0)
    """
    x = np.asarray(X, float)
    if x.ndim != 2 or set(np.unique(x)) != {-1.0, 1.0}:
        raise InputError("signs are a matrix of -1 and 1, with both of them")
    check_int("starts", starts, low=1)
    left, sizes, right = np.linalg.svd(x, full_matrices=False)
    rng = np.random.default_rng(seed)
    counts = []
    for rank in ranks:
        near = (left[:, :rank] * sizes[:rank]) @ right[:rank]
        wrong = []
        for _ in range(starts):
            once = int(rng.integers(2**31))
            model = LogisticFactorization(rank, ridge=1e-4, max_iter=1000, tol=0, threads=1, seed=once)
            model.fit((x > 0).astype(float))
            wrong.append(int((x * (model.row_factors_ @ model.column_factors_.T) <= 0).sum()))
        counts.append(WrongSigns(rank, int((x * near <= 0).sum()), min(wrong)))
    return counts
