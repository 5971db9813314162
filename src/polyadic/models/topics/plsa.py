"""Probabilistic latent semantic analysis."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from polyadic.models.base import Amount, Count, Seed, Threads, Watch, Within
from polyadic.models.topics.base import Topics
from polyadic.solvers.run import run
from polyadic.solvers.topics.mixture import Mixture
from polyadic.solvers.topics.nonnegative import descend

if TYPE_CHECKING:
    from numpy.typing import NDArray


class PLSA(Topics):
    r"""Documents as mixtures of topics, which are distributions of words, of maximum likelihood.

    .. math:: \max \sum_{dw} n_{dw} \log \sum_z P(z|d) P(w|z)

    by expectation and maximization, for documents and for words in turn, with extrapolation; no sweep lowers the
    likelihood. It is non-negative factorization by Kullback-Leibler divergence up to scale: with :math:`X \approx W H`,
    :math:`A` the column sums of :math:`W` and :math:`B` the row sums of :math:`H`, topic :math:`z` has the probability
    :math:`A_z B_z / \sum A B`, and the rows of :math:`H / B` are its words.

    Parameters
    ----------
    rank : int
        Topics.
    temperature : float
        :math:`\tau`, the power of :math:`P(z|d) P(w|z)` by which a word is shared among topics; 1 is maximum
        likelihood. Less keeps the model from fitting its documents too closely.
    max_iter, tol
        See :func:`~polyadic.solvers.run.run`.
    seed : int, optional
        Of the random start.
    threads : int, optional
        All cores by default; the result depends on them in last digits only.
    watch : callable, optional
        Called with the :class:`~polyadic.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    components_ : float32 ndarray of shape (rank, words)
        :math:`P(w|z)`.
    row_factors_ : float32 ndarray of shape (documents, rank)
        :math:`P(z|d)`; uniform for a document without words.
    shares_ : ndarray of shape (rank,)
        :math:`P(z)`, with documents by their length.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.models.base.Model`; the objective is minus the logarithm of the likelihood.

    References
    ----------
    Hofmann (1999), Probabilistic latent semantic analysis. Gaussier, Goutte (2005), Relation between PLSA and NMF and
    implications.

    Examples
    --------
    >>> counts = [[4, 4, 0, 0], [2, 2, 0, 0], [0, 0, 1, 3]]
    >>> model = PLSA(2, seed=0).fit(counts)
    >>> abs(model.row_factors_ @ model.components_).round(2).tolist()
    [[0.5, 0.5, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.25, 0.75]]
    """

    rank: Count = 10
    _: KW_ONLY
    temperature: Annotated[float, Within(0, 1, above=True)] = 1.0
    max_iter: Count = 200
    tol: Amount = 1e-4
    seed: Seed = None
    threads: Threads = None
    watch: Watch = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to counts of words.

        Parameters
        ----------
        X : sparse matrix or array of shape (documents, words)

        Raises
        ------
        InputError
            If a value is negative, all are zero, or a parameter is out of range.
        """
        del y
        self.check()
        counts = self._table(X, reset=True)
        rng, how = np.random.default_rng(self.seed), {"temperature": self.temperature, "threads": self._threads}
        documents = Mixture(counts, sums="rows", **how)  # type: ignore[arg-type]
        words = Mixture(csr_array(counts.T), sums="columns", **how)  # type: ignore[arg-type]
        start = [
            half.normalized((0.5 + rng.random((size, self.rank))).astype(np.float32))
            for half, size in zip((documents, words), counts.shape, strict=True)
        ]
        W, H = self._keep(run(descend(documents, words, start), max_iter=self.max_iter, tol=self.tol, watch=self.watch))
        lengths = counts.sum(axis=1, dtype=float)
        self.row_factors_, self.components_ = W, np.ascontiguousarray(H.T)
        self.shares_ = lengths @ W / lengths.sum()
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Give :math:`P(z|d)` of other documents, at temperature 1, with the topics as they are; each by itself."""
        check_is_fitted(self)
        return mixtures(self._table(X, reset=False), self.components_, max_iter=self.max_iter, threads=self._threads)


def mixtures(
    counts: csr_array, components: NDArray[Any], *, max_iter: int, threads: int, tol: float = 1e-4
) -> NDArray[np.float32]:
    """Give the mixture of topics of each document that makes its words most likely; uniform where none is known.

    Parameters
    ----------
    counts : csr_array of shape (documents, words)
    components : ndarray of shape (rank, words)
        A distribution of words in each row.
    max_iter : int
        Steps of expectation and maximization at most.
    tol : float
        A document is done when none of its shares changes by more, relative to the largest.
    """
    half = Mixture(counts, sums="rows", threads=threads)
    W = half.normalized(np.ones((counts.shape[0], len(components)), np.float32))
    W *= counts.sum(axis=1, dtype=np.float32)[:, None]
    half.solve(W, np.ascontiguousarray(components.T, np.float32), passes=max_iter, tol=tol)
    return half.normalized(W)
