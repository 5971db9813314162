"""Topics that each have a word of their own: no random start, no local optimum."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import csr_array, diags_array
from sklearn.utils.validation import check_is_fitted

from polyadic.core import kernels, resources
from polyadic.core.errors import InputError
from polyadic.core.model import Count, Threads
from polyadic.topics.base import Topics
from polyadic.topics.plsa import mixtures

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST = 1e-10
"""Share of the longest row's square below which what is left of a row is an error of rounding."""

RARE = 20
"""Documents for each one in which an anchor must occur; with one in a hundred, chance made anchors of "v" and "la"."""


class AnchorTopics(Topics):
    r"""Topics found from words that occur in one topic only, their anchors; deterministic.

    Rows :math:`\bar q_i` of the matrix of co-occurrence, each divided by its sum, lie within the hull of the rows of
    anchors. Anchors are corners of that hull; each word is then the mixture of anchors

    .. math:: \min_{c \ge 0,\, \sum c = 1} \Big\|\bar q_i - \sum_k c_k \bar q_{s_k}\Big\|^2, \qquad
              P(w = i | z = k) \propto c_{ik} P(w = i)

    Parameters
    ----------
    rank : int
        Topics.
    min_documents : int, optional
        Documents in which a word must occur to be an anchor; a twentieth of all by default, and at least 3. What is
        rare lies far out by chance.
    max_iter : int
        Steps of expectation and maximization for the mixtures of documents at most.
    threads : int, optional
        All cores by default; the result does not depend on them.

    Attributes
    ----------
    components_ : ndarray of shape (rank, words)
        :math:`P(w|z)`.
    row_factors_ : float32 ndarray of shape (documents, rank)
        :math:`P(z|d)`, of the greatest likelihood given the topics.
    anchors_ : ndarray of shape (rank,)
        The column of the anchor of each topic.
    shares_ : ndarray of shape (rank,)
        :math:`P(z)`.

    References
    ----------
    Arora et al. (2013), A practical algorithm for topic modeling with provable guarantees, algorithms 3 (with squares)
    and 4, and the unbiased co-occurrence of its section 4.1. arXiv:1212.4777

    Examples
    --------
    >>> counts = np.repeat([[4, 2, 0, 0], [2, 2, 0, 0], [0, 1, 2, 3], [0, 1, 2, 0]], 5, axis=0)
    >>> model = AnchorTopics(2, threads=1).fit(counts)
    >>> sorted(model.anchors_.tolist())
    [0, 3]
    """

    rank: Count = 10
    _: KW_ONLY
    min_documents: Count | None = None
    max_iter: Count = 200
    threads: Threads = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find topics in counts of words.

        Parameters
        ----------
        X : sparse matrix or array of shape (documents, words)

        Raises
        ------
        InputError
            If a value is negative or no whole number, all are zero, there are not so many anchors, or a parameter is
            out of range.
        """
        del y
        self.check()
        counts, threads = self._table(X, reset=True), self._threads
        least = max(3, counts.shape[0] // RARE) if self.min_documents is None else self.min_documents
        Q, shares = co_occurrence(counts)
        candidates = np.flatnonzero((np.bincount(counts.indices, minlength=len(shares)) >= least) & (shares > 0))
        self.anchors_, B = find_anchors(Q, candidates, self.rank)
        C = np.full(B.shape, 1 / self.rank)
        kernels.simplex_rows(B[self.anchors_], B, C, threads=threads)
        joint = (C * shares[:, None]).T
        self.shares_ = joint.sum(axis=1)
        self.components_ = joint / self.shares_[:, None]
        self.row_factors_ = mixtures(counts, self.components_, max_iter=self.max_iter, threads=threads)
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Give :math:`P(z|d)` of other documents, with the topics as they are; each by itself."""
        check_is_fitted(self)
        counts = self._table(X, reset=False)
        return mixtures(counts, self.components_, max_iter=self.max_iter, threads=self._threads)


def co_occurrence(counts: csr_array) -> tuple[csr_array, NDArray[np.float64]]:
    r"""Give how probable each word is beside each other one, :math:`P(j | i)`, and how probable by itself.

    A document of :math:`n` words is :math:`n (n - 1)` pairs of places; documents count alike.

    Raises
    ------
    InputError
        If counts are not whole numbers, no document has two words, or the matrix would not fit into memory.
    """
    if (counts.data != np.rint(counts.data)).any():
        raise InputError("anchors are found in counts, which are whole numbers; leave out weights such as TF-IDF")
    n = counts.sum(axis=1, dtype=float)
    pairs = n * (n - 1)
    kept = csr_array(counts[pairs > 0], dtype=float)
    if not kept.shape[0]:
        raise InputError("no document has two words; there is nothing that occurs together")
    listed = min(float((np.diff(kept.indptr).astype(float) ** 2).sum()), float(kept.shape[1]) ** 2)
    resources.check_memory(36 * listed, "the co-occurrence of words", "leave out rare words (min_count)")
    weighted = csr_array(diags_array(1 / pairs[pairs > 0]) @ kept)
    Q = csr_array(kept.T @ weighted)
    Q = csr_array(Q - diags_array(weighted.sum(axis=0)))
    Q.data[Q.data < LEAST * Q.data.max()] = 0  # what is left of the diagonal of words that never meet themselves
    sums = Q.sum(axis=1)
    return csr_array(diags_array(1 / np.where(sums > 0, sums, 1)) @ Q), sums / sums.sum()


def find_anchors(Q: csr_array, candidates: NDArray[np.int64], rank: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Give rows that are corners of the hull of all, and the products of all rows with them.

    One after another the candidate farthest from the span of those before; then each in turn is replaced by the
    candidate farthest from the span of all others.

    Raises
    ------
    InputError
        If there are not so many.
    """
    squares = np.asarray((Q * Q).sum(axis=1))
    left, chosen = squares[candidates].copy(), []
    basis = np.zeros((rank, Q.shape[1]))
    for k in range(rank):
        if not len(left) or left.max() <= LEAST * squares.max():
            most = f"so rank can be {k} at most; " if k else "each is in too few documents; "
            raise InputError(f"only {k} words can be anchors, {most}lower min_documents or rank")
        chosen.append(int(candidates[left.argmax()]))
        row = Q[[chosen[k]]].toarray()[0]
        for _ in range(2):  # once more, for what rounding has left
            row -= basis[:k].T @ (basis[:k] @ row)
        basis[k] = row / np.linalg.norm(row)
        left -= (Q @ basis[k])[candidates] ** 2
    anchors = np.array(chosen)
    B = Q @ Q[anchors].T.toarray()
    for k in range(rank):
        inverse = np.linalg.inv(B[anchors])
        shares = B @ inverse
        far = squares - np.einsum("ik,ik->i", shares, B) + shares[:, k] ** 2 / inverse[k, k]
        far[np.delete(anchors, k)] = 0
        best = int(candidates[far[candidates].argmax()])
        if best != anchors[k]:
            anchors[k] = best
            B[:, k] = Q @ Q[[best]].toarray()[0]
    return anchors, B
