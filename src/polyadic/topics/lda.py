"""Latent Dirichlet allocation."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.core.model import Amount, Callback, Count, Positive, Seed, Threads
from polyadic.core.solvers.run import run
from polyadic.topics.base import Topics
from polyadic.topics.dirichlet import dirichlet_sweeps, entries_of, means, mixtures

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array


class LDA(Topics):
    r"""Documents as mixtures of topics, both drawn from Dirichlet distributions, by variational inference.

    .. math:: \theta_d \sim \mathrm{Dir}(\alpha), \quad \phi_z \sim \mathrm{Dir}(\eta), \quad
              n_d \sim \mathrm{Mult}(\theta_d \Phi)

    By coordinate ascent on the bound of the likelihood, until that has settled
    (:mod:`~polyadic.topics.dirichlet`).

    Parameters
    ----------
    rank : int
        Topics.
    document_prior, word_prior : float, optional
        :math:`\alpha` and :math:`\eta`; 1 / rank by default.
    max_iter, tol
        See :func:`~polyadic.core.solvers.run.run`.
    seed : int, optional
        Of the random start.
    threads : int, optional
        See :class:`~polyadic.core.model.Model`.
    callback : callable, optional
        Called with the :class:`~polyadic.core.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    components_ : ndarray of shape (rank, words)
        The mean of :math:`\phi`, a distribution of words in each row.
    row_factors_ : ndarray of shape (documents, rank)
        The mean of :math:`\theta`.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`; the objective is minus the bound on the
        logarithm of the likelihood.

    References
    ----------
    Blei, Ng, Jordan (2003), Latent Dirichlet allocation. Hoffman, Blei, Bach (2010), Online learning for latent
    Dirichlet allocation.

    Examples
    --------
    >>> counts = np.repeat([[9, 9, 0, 0], [0, 0, 9, 9]], 10, axis=0)
    >>> model = LDA(2, seed=0, threads=1).fit(counts)
    >>> sorted(model.components_.round(1).tolist())
    [[0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 0.0, 0.0]]
    """

    rank: Count = 10
    _: KW_ONLY
    document_prior: Positive | None = None
    word_prior: Positive | None = None
    max_iter: Count = 200
    tol: Amount = 1e-4
    seed: Seed = None
    threads: Threads = None
    callback: Callback = None

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
        alpha, eta = self._prior(self.document_prior), self._prior(self.word_prior)
        rng = np.random.default_rng(self.seed)
        sweeps = dirichlet_sweeps(counts, alpha=alpha, eta=eta, rank=self.rank, rng=rng, threads=self._threads)
        result = run(sweeps, max_iter=self.max_iter, tol=self.tol, callback=self.callback)
        (self.weights_,) = self._keep(result)
        self.components_ = self.weights_ / self.weights_.sum(axis=1, keepdims=True)
        self.row_factors_ = self._mixtures(counts)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Give the mean mixture of other documents, with the topics as they are."""
        check_is_fitted(self)
        return self._mixtures(self._table(X, reset=False))

    def _mixtures(self, counts: csr_array) -> NDArray[Any]:
        alpha, v = self._prior(self.document_prior), means(self.weights_)
        gamma = mixtures(entries_of(counts), v, alpha, threads=self._threads).counts
        return np.asarray(gamma / gamma.sum(axis=1, keepdims=True))

    def _prior(self, given: float | None) -> float:
        return 1 / self.rank if given is None else given
