"""Latent Dirichlet allocation."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.utils.validation import check_is_fitted

from polyadic.models.base import Amount, Count, Positive, Seed, Threads, Watch
from polyadic.models.topics.base import Topics
from polyadic.solvers.run import Sweep, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from scipy.sparse import csr_array


class LDA(Topics):
    r"""Documents as mixtures of topics, both drawn from Dirichlet distributions, by variational inference.

    .. math:: \theta_d \sim \mathrm{Dir}(\alpha), \quad \phi_z \sim \mathrm{Dir}(\eta), \quad
              n_d \sim \mathrm{Mult}(\theta_d \Phi)

    The inference is scikit-learn's, in batches of all documents; here each of its steps is measured, so that it ends
    when the bound on the likelihood has settled.

    Parameters
    ----------
    rank : int
        Topics.
    document_prior, word_prior : float, optional
        :math:`\alpha` and :math:`\eta`; 1 / rank by default.
    max_iter, tol
        See :func:`~polyadic.solvers.run.run`.
    seed : int, optional
        Of the random start.
    threads : int, optional
        Of other models of topics; here one does the work.
    watch : callable, optional
        Called with the :class:`~polyadic.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    components_ : ndarray of shape (rank, words)
        The mean of :math:`\phi`, a distribution of words in each row.
    row_factors_ : ndarray of shape (documents, rank)
        The mean of :math:`\theta`.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.models.base.Model`; the objective is minus the bound on the
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
    max_iter: Count = 50
    tol: Amount = 1e-3
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
        result = run(self._sweeps(counts), max_iter=self.max_iter, tol=self.tol, watch=self.watch)
        (self.weights_,) = self._keep(result)
        self.components_ = self.weights_ / self.weights_.sum(axis=1, keepdims=True)
        self.row_factors_ = self._inference(counts.shape[0]).transform(counts)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Give the mean mixture of other documents, with the topics as they are."""
        check_is_fitted(self)
        counts = self._table(X, reset=False)
        return np.asarray(self._inference(counts.shape[0]).transform(counts))

    def _sweeps(self, counts: csr_array) -> Iterator[Sweep]:
        model = self._new(counts.shape[0])
        while True:
            model.partial_fit(counts)
            yield Sweep([model.components_.copy()], -float(model.score(counts)))

    def _new(self, documents: int) -> LatentDirichletAllocation:
        return LatentDirichletAllocation(
            self.rank,
            doc_topic_prior=self.document_prior,
            topic_word_prior=self.word_prior,
            learning_decay=0.0,  # a step forgets all before it: the online steps become those of batches
            batch_size=documents,
            total_samples=documents,
            random_state=self.seed,
            n_jobs=1,  # its processes took longer than one alone: 18.2 and 16.1 s for ten sweeps over KOS
        )

    def _inference(self, documents: int) -> LatentDirichletAllocation:
        """Give scikit-learn's model with the topics that were found."""
        model = self._new(documents)
        with_rows = np.ones((1, self.weights_.shape[1]), np.float32)
        model.partial_fit(with_rows)
        model.components_ = self.weights_
        model.exp_dirichlet_component_ = _expected(self.weights_)
        return model


def _expected(weights: NDArray[Any]) -> NDArray[Any]:
    """Give the exponential of the expected logarithm of topics of Dirichlet distributions."""
    from scipy.special import psi

    return np.asarray(np.exp(psi(weights) - psi(weights.sum(axis=1, keepdims=True))))
