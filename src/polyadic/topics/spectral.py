"""Latent Dirichlet allocation by the method of moments and the tensor power method."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator

from polyadic.core.annotations import AnyArray, Array
from polyadic.core.errors import InputError, check_int
from polyadic.core.linalg.whitening import symmetrized, third_moments, whitening
from polyadic.core.model import Positive, Seed
from polyadic.core.solvers.tensor_power import tensor_power
from polyadic.topics.plsa import MixtureTopics, mixtures


class SpectralLDA(MixtureTopics):
    r"""Latent Dirichlet allocation by the method of moments and the tensor power method.

    Let :math:`x_1, x_2, x_3` be words of a document as one-hot vectors, :math:`M_1 = E[x_1]`, and :math:`\alpha_0` the
    sum of the parameters of the Dirichlet distribution of topic mixtures. Then

    .. math:: M_2 &= E[x_1 x_2^\top] - \tfrac{\alpha_0}{\alpha_0 + 1} M_1 M_1^\top
              = \sum_z \tfrac{\alpha_z}{\alpha_0 (\alpha_0 + 1)}\, \phi_z \phi_z^\top \\
              M_3 &= E[x_1 \otimes x_2 \otimes x_3] - \tfrac{3 \alpha_0}{\alpha_0 + 2}\,
              \mathrm{sym}(E[x_1 \otimes x_2] \otimes M_1)
              + \tfrac{2 \alpha_0^2}{(\alpha_0 + 1)(\alpha_0 + 2)} M_1^{\otimes 3} \\
              &= \sum_z \tfrac{2 \alpha_z}{\alpha_0 (\alpha_0 + 1)(\alpha_0 + 2)}\, \phi_z^{\otimes 3}

    Moments are averaged over all pairs and triples of word positions of a document, and then over documents. Words are
    scaled by the inverse square roots of their frequencies. :math:`M_2` is used only through matrix products, and
    :math:`M_3` is formed only in the ``n_components`` whitened coordinates. Negative values of the recovered topics are
    set to 0.

    Parameters
    ----------
    alpha0 : float
        Sum :math:`\alpha_0` of the Dirichlet parameters; as it approaches 0, each document has a single topic.
    max_iter : int
        Maximum number of EM iterations for the topic mixtures of documents.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, words)
        Topics :math:`\phi`: each row is a distribution of words.
    row_factors_ : float32 ndarray of shape (documents, n_components)
        Maximum-likelihood topic mixtures :math:`P(z|d)` of the documents, given the topics.
    shares_ : ndarray of shape (n_components,)
        Estimated topic proportions :math:`\alpha_z / \alpha_0`.

    References
    ----------
    Anandkumar, Foster, Hsu, Kakade, Liu (2012), A spectral algorithm for latent Dirichlet allocation.
    Anandkumar, Ge, Hsu, Kakade, Telgarsky (2014), Tensor decompositions for learning latent variable models,
    theorem 3.5. Zou, Hsu, Parkes, Adams (2013), Contrastive learning using spectral methods, for moments of documents
    of any length.

    Examples
    --------
    >>> counts = np.repeat([[3, 2, 0, 0], [4, 1, 0, 0], [0, 0, 2, 3], [0, 0, 1, 4]], 5, axis=0)
    >>> model = SpectralLDA(2, alpha0=0.01, threads=1).fit(counts)
    >>> sorted((model.components_.round(1) + 0).tolist())
    [[0.0, 0.0, 0.3, 0.7], [0.7, 0.3, 0.0, 0.0]]
    """

    _: KW_ONLY
    alpha0: Positive = 1.0
    seed: Seed = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Estimate topics from whole counts; see :meth:`Topics.fit <polyadic.topics.base.Topics.fit>`.

        At least one document must have three words, and the second moments as many positive eigenvalues as topics.
        """
        self.check()
        before = dict(vars(self))
        try:
            self._learn(self._counts(X))
        except BaseException:
            self.__dict__ = before  # also attributes set by input validation
            raise
        return self

    def _learn(self, counts: csr_array) -> None:
        counts, seed = csr_array(counts, dtype=float), 0 if self.seed is None else int(self.seed)
        moments = WordMoments(counts, self.alpha0)
        check_int("n_components", self.n_components, low=1, high=counts.shape[1])
        W, back = whitening(moments, self.n_components, seed=seed)
        weight, v = tensor_power(moments.third(W), self.n_components, seed=seed)
        topics = np.maximum((moments.roots[:, None] * (back @ v)).T * weight[:, None], 0)
        sums = topics.sum(axis=1, keepdims=True)
        topics = np.where(sums > 0, topics / np.where(sums > 0, sums, 1), moments.roots**2)
        shares = 1 / np.maximum(weight, np.finfo(float).tiny) ** 2
        self.components_, self.shares_ = topics, shares / shares.sum()
        self.row_factors_ = mixtures(counts, topics, max_iter=self.max_iter, threads=self._threads)


class WordMoments(LinearOperator):  # type: ignore[misc] # scipy has no types
    """Second moments of words as a linear operator, :math:`D M_2 D`; :math:`D^{-1}` are ``roots`` of frequencies."""

    def __init__(self, counts: csr_array, alpha0: float) -> None:
        n = counts.sum(axis=1)
        self._C = csr_array(counts[n >= 3])
        if not self._C.shape[0]:
            raise InputError("at least one document must have three or more words")
        n = n[n >= 3]
        D = len(n)
        self._twos, self._threes = 1 / (D * n * (n - 1)), 1 / (D * n * (n - 1) * (n - 2))
        mean = self._C.T @ (1 / (D * n))
        self.roots = np.sqrt(mean)
        self._scale = np.divide(1, self.roots, out=np.zeros(len(mean)), where=mean > 0)[:, None]
        self._same = self._C.T @ self._twos  # pairs of a position with itself
        self._mean, self._alpha0 = mean, alpha0
        super().__init__(np.dtype(float), (len(mean), len(mean)))

    def _matmat(self, X: AnyArray) -> AnyArray:
        Y = self._scale * X
        pairs = self._C.T @ (self._twos[:, None] * (self._C @ Y)) - self._same[:, None] * Y
        a = self._alpha0
        return np.asarray(self._scale * (pairs - a / (a + 1) * self._mean[:, None] * (self._mean @ Y)))

    def third(self, W: Array) -> Array:
        """Return the third moments projected on the columns of W, in one pass over the documents."""
        a, U = self._alpha0, self._scale * W
        Y, t = self._C @ U, self._threes
        T = third_moments(Y, Y, Y, t)
        T -= 3 * symmetrized(third_moments(U, U, self._C.T @ (t[:, None] * Y)))
        T += 2 * third_moments(U, U, U, self._C.T @ t)
        m = (self._mean @ U)[None]
        pairs = (Y * self._twos[:, None]).T @ Y - (U * self._same[:, None]).T @ U
        T -= 3 * a / (a + 2) * symmetrized(pairs[:, :, None] * m[0])
        return T + 2 * (a / (a + 1)) * (a / (a + 2)) * third_moments(m, m, m)
