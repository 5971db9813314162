r"""Probabilistic latent semantic analysis by expectation maximization.

With :math:`\tilde u = P(z|d)^\tau`, :math:`\tilde v = P(w|z)^\tau` and :math:`\tilde m = \sum_z \tilde u_z \tilde v_z`
the expected counts of a topic in a document are :math:`\tilde u_z \sum_w n_{dw} \tilde v_z / \tilde m`: the
multiplicative update of the Kullback-Leibler divergence before normalization.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from polyadic.core import kernels
from polyadic.core.annotations import AnyArray, Floats
from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Callback, Seed, Within
from polyadic.topics.base import Topics
from polyadic.topics.multiplicative import MIN_FACTOR, MIN_MODEL, Divergence, WeightedCells, descend


class MixtureTopics(Topics):
    """Base class for topic models whose documents are maximum-likelihood mixtures of topics."""

    def transform(self, X: Any) -> Floats:
        """Return the topic mixtures :math:`P(z|d)` of new documents at temperature 1, with the topics fixed."""
        check_is_fitted(self)
        return mixtures(self._table(X, reset=False), self.components_, max_iter=self.max_iter, threads=self._threads)

    def _counts(self, X: Any) -> csr_array:
        """Validate a table of whole counts."""
        counts = self._table(X, reset=True)
        if (counts.data != np.rint(counts.data)).any():
            raise InputError("X must contain word counts, which are whole numbers; do not apply weights such as TF-IDF")
        return counts


class PLSA(MixtureTopics):
    r"""Probabilistic latent semantic analysis: maximum-likelihood mixtures of topics.

    .. math:: \max \sum_{dw} n_{dw} \log \sum_z P(z|d) P(w|z)

    Documents are mixtures of topics, and topics are distributions of words. EM updates documents and words in turn,
    with extrapolation; no sweep lowers the likelihood. The model equals non-negative matrix factorization with the
    Kullback-Leibler divergence up to scale: with :math:`X \approx W H`, :math:`A` the column sums of :math:`W` and
    :math:`B` the row sums of :math:`H`, topic :math:`z` has probability :math:`A_z B_z / \sum A B`, and the rows of
    :math:`H / B` are the word distributions.

    Parameters
    ----------
    temperature : float
        Tempering exponent :math:`\tau` of the topic posterior :math:`P(z|d) P(w|z)`; 1 is maximum likelihood, and
        smaller values reduce overfitting.

    Attributes
    ----------
    components_ : float32 ndarray of shape (n_components, words)
        Word distributions :math:`P(w|z)` of the topics.
    row_factors_ : float32 ndarray of shape (documents, n_components)
        Topic mixtures :math:`P(z|d)` of the documents; uniform for a document without words.
    shares_ : ndarray of shape (n_components,)
        Topic proportions :math:`P(z)`, documents weighted by length.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`; the objective is the negative log-likelihood.

    References
    ----------
    Hofmann (1999), Probabilistic latent semantic analysis, equations 3 to 5 and, for the temperature, section 3.4.
    Gaussier, Goutte (2005), Relation between PLSA and NMF and implications.

    Examples
    --------
    >>> counts = [[4, 4, 0, 0], [2, 2, 0, 0], [0, 0, 1, 3]]
    >>> model = PLSA(2, seed=0).fit(counts)
    >>> abs(model.row_factors_ @ model.components_).round(2).tolist()
    [[0.5, 0.5, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.25, 0.75]]
    """

    _: KW_ONLY
    temperature: Annotated[float, Within(0, 1, above=True)] = 1.0
    tol: Amount = 1e-4
    seed: Seed = None
    callback: Callback = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the topic model to word counts; see :meth:`Topics.fit <polyadic.topics.base.Topics.fit>`."""
        self.check()
        counts = self._table(X, reset=True)
        rng = np.random.default_rng(self.seed)
        how: dict[str, Any] = {"temperature": self.temperature, "threads": self._threads}
        documents = Mixture(counts, sums="rows", **how)
        words = Mixture(csr_array(counts.T), sums="columns", **how)
        start = [
            half.normalized((0.5 + rng.random((size, self.n_components))).astype(np.float32))
            for half, size in zip((documents, words), counts.shape, strict=True)
        ]
        sweeps = descend(documents, words, start)
        W, H = self._optimize(sweeps)
        lengths = counts.sum(axis=1, dtype=float)
        self.row_factors_, self.components_ = W, np.ascontiguousarray(H.T)
        self.shares_ = lengths @ W / lengths.sum()
        return self


def mixtures(counts: csr_array, components: AnyArray, *, max_iter: int, threads: int, tol: float = 1e-4) -> Floats:
    """Return the maximum-likelihood topic mixture of each document; uniform for documents without known words."""
    half = Mixture(counts, sums="rows", threads=threads)
    W = half.normalized(np.ones((counts.shape[0], len(components)), np.float32))
    W *= counts.sum(axis=1, dtype=np.float32)[:, None]
    half.solve(W, np.ascontiguousarray(components.T, np.float32), passes=max_iter, tol=tol)
    return half.normalized(W)


class Mixture(Divergence):
    r"""EM update of one factor of PLSA, whose rows (documents) or columns (topics) sum to 1.

    It never increases :math:`-\tfrac1\tau \sum_{dw} n_{dw} \log \sum_z (P(z|d) P(w|z))^\tau`.
    """

    def __init__(
        self, counts: csr_array, *, sums: Literal["rows", "columns"], temperature: float = 1.0, threads: int
    ) -> None:
        super().__init__(WeightedCells(counts), beta=1.0, threads=threads)
        self.temperature, self.axis = np.float32(temperature), 1 if sums == "rows" else 0

    def improve(self, U: Floats, V: Floats, *, passes: int = 1) -> float:
        """Update the factor ``U`` in place, and return the objective before the update."""
        value = self._expect(U, V)
        for _ in range(passes - 1):
            self._expect(U, V)
        return value

    def solve(self, U: Floats, V: Floats, *, passes: int, tol: float = 0.0) -> float:
        """Replace each row of ``U`` by expected counts until convergence, at temperature 1; return the objective."""
        base = np.zeros(V.shape[1])  # with an L1 penalty of 1, the denominator is 1
        how: dict[str, Any] = {"base": base, "l1": 1.0, "beta": 1.0, "floor": MIN_MODEL}
        return kernels.divergence_rows(self.entries, V, U, passes=passes, tol=tol, threads=self.threads, **how)

    def beyond(self, new: Floats, old: Floats, step: float) -> Floats:
        """Extrapolate from ``old`` through ``new`` in log space, and normalize the result."""
        return self.normalized(super().beyond(new, old, step))

    def normalized(self, U: Floats) -> Floats:
        """Normalize a factor to probability distributions; sums of zero become uniform distributions."""
        sums = U.sum(axis=self.axis, keepdims=True)
        shares = U / np.maximum(sums, np.float32(MIN_FACTOR))
        return np.where(sums > 0, shares, np.float32(1 / U.shape[self.axis]))

    def _expect(self, U: Floats, V: Floats) -> float:
        t = self.temperature
        counts, other = (U, V) if t == 1 else (U**t, V**t)
        value = self.solve(counts, other, passes=1)
        U[:] = self.normalized(counts)
        return value / float(t)
