r"""Latent Dirichlet allocation by coordinate ascent on the variational bound.

With :math:`q(\theta_d) = \mathrm{Dir}(\gamma_d)`, :math:`q(\phi_z) = \mathrm{Dir}(\lambda_z)`,
:math:`u_{dz} = \exp \mathrm{E} \log \theta_{dz}` and :math:`v_{wz} = \exp \mathrm{E} \log \phi_{zw}`,

.. math:: \gamma_{dz} = \alpha + u_{dz} \sum_w \frac{n_{dw}}{u_d v_w^\top} v_{wz}, \qquad
          \lambda_{zw} = \eta + v_{wz} \sum_d \frac{n_{dw}}{u_d v_w^\top} u_{dz},

which are the multiplicative updates of the Kullback-Leibler divergence plus a prior. Both raise the bound, so document
mixtures need not converge before topics are updated. But as the previous mixtures fix documents to the topics of their
random start (the bound ended 4 % lower), mixtures are restarted during the first :data:`RESTART_SWEEPS` sweeps, with
:data:`RESTART_PASSES` passes each; afterwards one pass per sweep is enough.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln, psi
from sklearn.utils.validation import check_is_fitted

from polyadic.core import kernels
from polyadic.core.annotations import AnyArray, Floats
from polyadic.core.model import Amount, Callback, Positive, Seed
from polyadic.core.solvers.run import Sweep
from polyadic.topics.base import Topics
from polyadic.topics.multiplicative import MIN_MODEL, entries_of

RESTART_SWEEPS, RESTART_PASSES = 20, 10
"""Fastest of 5 to 40 sweeps and 5 to 20 passes that reach the bound of converged mixtures."""
SETTLED_TOL, MAX_PASSES = 1e-3, 100
"""Largest change of expected counts, relative to a document's largest, at convergence; maximum number of passes."""


class LDA(Topics):
    r"""Latent Dirichlet allocation by variational inference.

    .. math:: \theta_d \sim \mathrm{Dir}(\alpha), \quad \phi_z \sim \mathrm{Dir}(\eta), \quad
              n_d \sim \mathrm{Mult}(\theta_d \Phi)

    Documents are mixtures of topics, and topics are distributions of words. The fit is coordinate ascent on the
    evidence lower bound (:mod:`~polyadic.topics.lda`).

    Parameters
    ----------
    document_prior, word_prior : float, optional
        Dirichlet parameters :math:`\alpha` of the document mixtures and :math:`\eta` of the topics;
        ``1 / n_components`` by default.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, words)
        Posterior mean of :math:`\phi`: each row is a distribution of words.
    row_factors_ : ndarray of shape (documents, n_components)
        Posterior mean of :math:`\theta`: the topic mixture of each document.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`; the objective is the negative evidence lower bound.

    References
    ----------
    Blei, Ng, Jordan (2003), Latent Dirichlet allocation, equations 6, 7 and, with a prior on topics, section 5.4.
    Hoffman, Blei, Bach (2010), Online learning for latent Dirichlet allocation, equations 3 and 5, for the bound.

    Examples
    --------
    >>> counts = np.repeat([[9, 9, 0, 0], [0, 0, 9, 9]], 10, axis=0)
    >>> model = LDA(2, seed=0, threads=1).fit(counts)
    >>> sorted(model.components_.round(1).tolist())
    [[0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 0.0, 0.0]]
    """

    _: KW_ONLY
    document_prior: Positive | None = None
    word_prior: Positive | None = None
    tol: Amount = 1e-4
    seed: Seed = None
    callback: Callback = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the topic model to word counts; see :meth:`Topics.fit <polyadic.topics.base.Topics.fit>`."""
        self.check()
        counts = self._table(X, reset=True)
        alpha, eta = self._prior(self.document_prior), self._prior(self.word_prior)
        how: dict[str, Any] = {"rng": np.random.default_rng(self.seed), "threads": self._threads}
        sweeps = dirichlet_sweeps(counts, alpha=alpha, eta=eta, n_components=self.n_components, **how)
        (self.weights_,) = self._optimize(sweeps)
        self.components_ = self.weights_ / self.weights_.sum(axis=1, keepdims=True)
        self.row_factors_ = self._mixtures(counts)
        return self

    def transform(self, X: Any) -> AnyArray:
        """Return the mean topic mixtures of new documents, with the topics fixed; shape (documents, n_components)."""
        check_is_fitted(self)
        return self._mixtures(self._table(X, reset=False))

    def _mixtures(self, counts: csr_array) -> AnyArray:
        alpha, v = self._prior(self.document_prior), means(self.weights_)
        gamma = mixtures(entries_of(counts), v, alpha, threads=self._threads).counts
        return np.asarray(gamma / gamma.sum(axis=1, keepdims=True))

    def _prior(self, given: float | None) -> float:
        return 1 / self.n_components if given is None else given


class Dirichlets(NamedTuple):
    """Variational Dirichlet distributions, one per row: expected counts plus the prior, and the symmetric prior."""

    counts: AnyArray
    prior: float

    @property
    def logarithms(self) -> AnyArray:
        """Expected logarithms of the Dirichlet variables."""
        return np.asarray(psi(self.counts) - psi(self.counts.sum(axis=1, keepdims=True)))

    def divergence(self, logarithms: AnyArray) -> float:
        """Return the Kullback-Leibler divergence between the distributions and the prior, summed over rows."""
        n, R = self.counts.shape
        sums = gammaln(self.counts.sum(axis=1)).sum() - gammaln(self.counts).sum()
        of_prior = float(R * gammaln(self.prior) - gammaln(R * self.prior))
        return float(((self.counts - self.prior) * logarithms).sum() + sums) + n * of_prior


def dirichlet_sweeps(
    counts: csr_array, *, alpha: float, eta: float, n_components: int, rng: np.random.Generator, threads: int
) -> Iterator[Sweep]:
    """Yield topic parameters, shape (n_components, words), and the negative variational bound of each sweep."""
    words = counts.shape[1]
    by_document, by_word = entries_of(counts), entries_of(csr_array(counts.T))
    topics = Dirichlets(rng.gamma(100.0, 0.01, (n_components, words)), eta)
    for sweep in itertools.count():
        of_topics = topics.logarithms
        v = _means(of_topics.T)
        if sweep <= RESTART_SWEEPS:
            gamma = mixtures(by_document, v, alpha, passes=RESTART_PASSES, threads=threads)
        else:
            gamma = update_mixtures(by_document, v, gamma, threads=threads)
        of_documents = gamma.logarithms
        expected = v.copy()
        value = kernels.expected_rows(by_word, _means(of_documents), expected, floor=MIN_MODEL, threads=threads)
        yield Sweep([topics.counts], value + gamma.divergence(of_documents) + topics.divergence(of_topics))
        topics = Dirichlets(expected.T + eta, eta)


def mixtures(
    entries: kernels.RowEntries, v: Floats, alpha: float, *, passes: int = MAX_PASSES, threads: int
) -> Dirichlets:
    """Infer the topic mixtures of documents with the topics fixed, in at most ``passes`` iterations."""
    gamma = Dirichlets(np.ones((len(entries.starts) - 1, v.shape[1])), alpha)
    for _ in range(passes):
        before, gamma = gamma.counts, update_mixtures(entries, v, gamma, threads=threads)
        if (np.abs(gamma.counts - before).max(axis=1) <= SETTLED_TOL * gamma.counts.max(axis=1)).all():
            break
    return gamma


def update_mixtures(entries: kernels.RowEntries, v: Floats, gamma: Dirichlets, *, threads: int) -> Dirichlets:
    """Update the topic mixtures of all documents once."""
    expected = _means(gamma.logarithms)
    kernels.expected_rows(entries, v, expected, floor=MIN_MODEL, measured=False, threads=threads)
    return Dirichlets(expected + gamma.prior, gamma.prior)


def means(weights: AnyArray) -> Floats:
    """Return the exponentials of the expected log-probabilities of words in topics, with words in rows."""
    return _means(Dirichlets(weights, 0.0).logarithms.T)


def _means(logarithms: AnyArray) -> Floats:
    return np.ascontiguousarray(np.exp(logarithms), np.float32)
