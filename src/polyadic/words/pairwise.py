"""Word vectors by truncated singular value decomposition of a PPMI matrix."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np

from polyadic.core.errors import InputError
from polyadic.core.linalg import symmetric_matrix, truncated_eigh, truncated_svd
from polyadic.core.linalg.truncated import MAX_BASIS
from polyadic.core.model import Amount
from polyadic.core.resources import check_memory
from polyadic.words.base import SMALLER, WordModel, listed


class PPMISVD(WordModel):
    r"""Word vectors by truncated SVD of a PPMI matrix.

    .. math:: X \approx U_R \Sigma_R V_R^\top, \qquad \text{vectors} = U_R \Sigma_R^{p}

    Weights of entries are not used: every cell, zero or not, has weight 1. If :math:`X` is symmetric, the columns of
    :math:`U` are its eigenvectors and :math:`\Sigma` holds the magnitudes of its eigenvalues. For a negative eigenvalue
    the column of :math:`V` is that of :math:`U` with the opposite sign, so the inner product of two word vectors counts
    this column with the wrong sign. Few of the large eigenvalues are negative.

    Shift and smoothing are options of :func:`~polyadic.text.weighting.ppmi`.

    Parameters
    ----------
    power : float
        Exponent :math:`p` of the singular values; 0.5 treats words and contexts symmetrically, 0 ignores the values.

    Attributes
    ----------
    vectors_ : ndarray of shape (V, rank)
        Word vectors, one row per word.
    singular_values_ : ndarray of shape (rank,)
        Singular values in decreasing order.

    References
    ----------
    Levy, Goldberg (2014), Neural word embedding as implicit matrix factorization, section 5.1, symmetric SVD.
    Levy, Goldberg, Dagan (2015), Improving distributional similarity, section 3.3, for the power.

    Examples
    --------
    >>> from polyadic.core.entries import Entries
    >>> x = Entries.collect([[0, 1], [2, 3], [2, 2]], [1.0, 2.0, 1.0], 4)
    >>> PPMISVD(2).fit(x).singular_values_.round(3).tolist()
    [2.562, 1.562]
    """

    _: KW_ONLY
    power: Amount = 0.5

    def fit(self, entries: Any) -> Self:
        """Factorize a matrix of word associations.

        Parameters
        ----------
        entries : Entries, array or sparse array
            Associations of order 2, such as those of :func:`~polyadic.text.weighting.ppmi`.

        Raises
        ------
        InputError
            If the entries are not a matrix, or the rank is too large.
        """
        self.check()
        entries = listed(entries)
        if entries.order != 2:
            raise InputError(f"PPMI-SVD requires a matrix, that is, entries of order 2; got order {entries.order}")
        itemsize = 4.0 if entries.symmetric and entries.values.dtype == np.float32 else 8.0
        needed = 48.0 * len(entries) + itemsize * (MAX_BASIS + 1) * max(entries.shape) * self.rank
        what = f"a decomposition of rank {self.rank} of {len(entries):,} entries of {max(entries.shape):,} words"
        check_memory(needed, what, SMALLER)
        if entries.symmetric:
            X = symmetric_matrix(entries.indices, entries.values, entries.shape[0])
            w, U = truncated_eigh(X, self.rank, seed=self.seed)
            s = np.abs(w)
        else:
            U, s, _ = truncated_svd(entries.to_coo().tocsr().astype(float), self.rank, seed=self.seed)
        self.vectors_ = (U * s**self.power).astype(np.float32)
        self.singular_values_ = s
        return self
