"""Topic models that recover topics from anchor words, which occur in one topic only."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, diags_array

from polyadic.core import kernels, resources
from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.errors import InputError
from polyadic.core.model import Count
from polyadic.topics.plsa import MixtureTopics, mixtures

ROUNDING_TOL = 1e-10  # residual of a row, as a share of the longest squared row, that counts as rounding error

ANCHOR_SHARE = 20
"""An anchor occurs in at least one of this many documents; with 100 noise such as "v" and "la" became anchors."""


class AnchorTopics(MixtureTopics):
    r"""Deterministic topic model that recovers topics from anchor words, which occur in one topic only.

    The normalized rows :math:`\bar q_i` of the co-occurrence matrix lie in the convex hull of the rows of the anchors,
    which are its vertices. Each word is then a mixture of anchors,

    .. math:: \min_{c \ge 0,\, \sum c = 1} \Big\|\bar q_i - \sum_k c_k \bar q_{s_k}\Big\|^2, \qquad
              P(w = i | z = k) \propto c_{ik} P(w = i)

    Parameters
    ----------
    min_documents : int, optional
        Minimum number of documents in which an anchor occurs; by default a twentieth of all documents, and at least 3.
        Rare words are extreme by chance.
    max_iter : int
        Maximum number of EM iterations for the topic mixtures of documents.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, words)
        Word distributions :math:`P(w|z)` of the topics.
    row_factors_ : float32 ndarray of shape (documents, n_components)
        Maximum-likelihood topic mixtures :math:`P(z|d)` of the documents, given the topics.
    anchors_ : ndarray of shape (n_components,)
        Column of the anchor word of each topic.
    shares_ : ndarray of shape (n_components,)
        Topic proportions :math:`P(z)`.

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

    _: KW_ONLY
    min_documents: Count | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Estimate topics from whole counts; see :meth:`Topics.fit <polyadic.topics.base.Topics.fit>`."""
        self.check()
        counts, threads = self._counts(X), self._threads
        least = max(3, counts.shape[0] // ANCHOR_SHARE) if self.min_documents is None else self.min_documents
        Q, shares = co_occurrence(counts)
        candidates = np.flatnonzero((np.bincount(counts.indices, minlength=len(shares)) >= least) & (shares > 0))
        self.anchors_, B = find_anchors(Q, candidates, self.n_components)
        C = np.full(B.shape, 1 / self.n_components)
        kernels.simplex_rows(B[self.anchors_], B, C, threads=threads)
        joint = (C * shares[:, None]).T
        self.shares_ = joint.sum(axis=1)
        self.components_ = joint / self.shares_[:, None]
        self.row_factors_ = mixtures(counts, self.components_, max_iter=self.max_iter, threads=threads)
        return self


def co_occurrence(counts: csr_array) -> tuple[csr_array, Array]:
    """Return the co-occurrence probabilities :math:`P(j | i)` and the marginal probabilities :math:`P(i)` of words."""
    n = counts.sum(axis=1, dtype=float)
    pairs = n * (n - 1)  # of positions in a document; documents have equal weight
    kept = csr_array(counts[pairs > 0], dtype=float)
    if not kept.shape[0]:
        raise InputError("at least one document must have two or more words")
    listed = min(float((np.diff(kept.indptr).astype(float) ** 2).sum()), float(kept.shape[1]) ** 2)
    resources.check_memory(36 * listed, "the co-occurrence of words", "leave out rare words (min_count)")
    weighted = csr_array(diags_array(1 / pairs[pairs > 0]) @ kept)
    Q = csr_array(kept.T @ weighted)
    Q = csr_array(Q - diags_array(weighted.sum(axis=0)))
    Q.data[Q.data < ROUNDING_TOL * Q.data.max()] = 0  # remove rounding errors on the diagonal
    sums = Q.sum(axis=1)
    return csr_array(diags_array(1 / np.where(sums > 0, sums, 1)) @ Q), sums / sums.sum()


def find_anchors(Q: csr_array, candidates: Ints, n_components: int) -> tuple[Ints, AnyArray]:
    """Return the anchors, vertices of the convex hull of all rows, and the products of all rows with those of anchors.

    Candidates are added greedily by distance from the span of the previous ones; then each is replaced by the candidate
    farthest from the span of the others.
    """
    squares = np.asarray((Q * Q).sum(axis=1))
    left, chosen = squares[candidates].copy(), []
    basis = np.zeros((n_components, Q.shape[1]))
    for k in range(n_components):
        if not len(left) or left.max() <= ROUNDING_TOL * squares.max():
            about = f"n_components must not exceed the number of possible anchor words, {k}"
            advice = "lower n_components, or min_documents to allow more words"
            raise InputError(f"{about}; {advice}", "min_documents", "n_components")
        chosen.append(int(candidates[left.argmax()]))
        row = Q[[chosen[k]]].toarray()[0]
        for _ in range(2):  # twice, against rounding errors
            row -= basis[:k].T @ (basis[:k] @ row)
        basis[k] = row / np.linalg.norm(row)
        left -= (Q @ basis[k])[candidates] ** 2
    anchors = np.array(chosen)
    B = Q @ Q[anchors].T.toarray()
    for k in range(n_components):
        inverse = np.linalg.inv(B[anchors])
        shares = B @ inverse
        far = squares - np.einsum("ik,ik->i", shares, B) + shares[:, k] ** 2 / inverse[k, k]
        far[np.delete(anchors, k)] = 0
        best = int(candidates[far[candidates].argmax()])
        if best != anchors[k]:
            anchors[k] = best
            B[:, k] = Q @ Q[[best]].toarray()[0]
    return anchors, B
