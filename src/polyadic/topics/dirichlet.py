r"""Latent Dirichlet allocation by coordinate ascent on the variational bound.

With :math:`q(\theta_d) = \mathrm{Dir}(\gamma_d)`, :math:`q(\phi_z) = \mathrm{Dir}(\lambda_z)`,
:math:`u_{dz} = \exp \mathrm{E} \log \theta_{dz}` and :math:`v_{wz} = \exp \mathrm{E} \log \phi_{zw}`,

.. math:: \gamma_{dz} = \alpha + u_{dz} \sum_w \frac{n_{dw}}{u_d v_w^\top} v_{wz}, \qquad
          \lambda_{zw} = \eta + v_{wz} \sum_d \frac{n_{dw}}{u_d v_w^\top} u_{dz},

which are the multiplicative updates of the Kullback-Leibler divergence, and a prior. Both are steps uphill, so
documents need not settle before topics move, and could go on from where they were. From the first sweep on that leaves
documents with the topics that they happened to begin with: the bound ended 4 % lower. So for :data:`AFRESH` sweeps they
forget, and are gone through :data:`PASSES` times; then one pass is enough.

References
----------
Blei, Ng, Jordan (2003), Latent Dirichlet allocation, equations 6, 7 and, with a prior on topics, section 5.4. Hoffman,
Blei, Bach (2010), Online learning for latent Dirichlet allocation, equations 3 and 5, for the bound.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln, psi

from polyadic.core import kernels
from polyadic.core.solvers.run import Sweep
from polyadic.topics.multiplicative import FLOOR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Array = NDArray[np.floating]

AFRESH, PASSES = 20, 10
"""Of 5 to 40 sweeps, and 5 to 20 passes: bounds like those of settled documents, in the least time."""
AGREED, MOST = 1e-3, 100
"""A document has settled when no expected count of it moves by more than that share of the largest; passes for that."""


class Dirichlets(NamedTuple):
    """Distributions of mixtures, a row each.

    Attributes
    ----------
    counts : ndarray of shape (n, R)
        Expected counts with the prior: parameters of the distributions.
    prior : float
    """

    counts: Array
    prior: float

    @property
    def logarithms(self) -> Array:
        """Expected logarithms of the mixtures."""
        return np.asarray(psi(self.counts) - psi(self.counts.sum(axis=1, keepdims=True)))

    def divergence(self, logarithms: Array) -> float:
        """Give the Kullback-Leibler divergence from the prior, of all rows."""
        n, R = self.counts.shape
        sums = gammaln(self.counts.sum(axis=1)).sum() - gammaln(self.counts).sum()
        return float(((self.counts - self.prior) * logarithms).sum() + sums) + n * float(
            R * gammaln(self.prior) - gammaln(R * self.prior)
        )


def dirichlet_sweeps(
    counts: csr_array, *, alpha: float, eta: float, rank: int, rng: np.random.Generator, threads: int
) -> Iterator[Sweep]:
    """Give the parameters of topics, of shape (rank, words), and minus the bound on the likelihood, after each sweep.

    Parameters
    ----------
    counts : csr_array of shape (documents, words)
    alpha, eta : float
        Priors of documents and topics.
    rank : int
    rng : Generator
        Of the start.
    threads : int
    """
    words = counts.shape[1]
    by_document, by_word = entries_of(counts), entries_of(csr_array(counts.T))
    topics = Dirichlets(rng.gamma(100.0, 0.01, (rank, words)), eta)
    for sweep in itertools.count():
        of_topics = topics.logarithms
        v = _means(of_topics.T)
        if sweep <= AFRESH:
            gamma = mixtures(by_document, v, alpha, passes=PASSES, threads=threads)
        else:
            gamma = moved(by_document, v, gamma, threads=threads)
        of_documents = gamma.logarithms
        expected = v.copy()
        value = kernels.expected_rows(by_word, _means(of_documents), expected, floor=FLOOR, threads=threads)
        yield Sweep([topics.counts], value + gamma.divergence(of_documents) + topics.divergence(of_topics))
        topics = Dirichlets(expected.T + eta, eta)


def mixtures(
    entries: kernels.RowEntries, v: NDArray[np.float32], alpha: float, *, passes: int = MOST, threads: int
) -> Dirichlets:
    """Find the mixtures of documents for topics as they are, until all have settled, or in so many passes."""
    gamma = Dirichlets(np.ones((len(entries.starts) - 1, v.shape[1])), alpha)
    for _ in range(passes):
        before, gamma = gamma.counts, moved(entries, v, gamma, threads=threads)
        if (np.abs(gamma.counts - before).max(axis=1) <= AGREED * gamma.counts.max(axis=1)).all():
            break
    return gamma


def moved(entries: kernels.RowEntries, v: NDArray[np.float32], gamma: Dirichlets, *, threads: int) -> Dirichlets:
    """Go through documents once."""
    expected = _means(gamma.logarithms)
    kernels.expected_rows(entries, v, expected, floor=FLOOR, measured=False, threads=threads)
    return Dirichlets(expected + gamma.prior, gamma.prior)


def means(weights: Array) -> NDArray[np.float32]:
    """Give the exponentials of expected logarithms of topics, for words in rows."""
    return _means(Dirichlets(weights, 0.0).logarithms.T)


def entries_of(counts: csr_array) -> kernels.RowEntries:
    """Give the counts of each row to the loop."""
    return kernels.RowEntries(counts.indptr, counts.indices, np.zeros_like(counts.data), counts.data)


def _means(logarithms: Array) -> NDArray[np.float32]:
    return np.ascontiguousarray(np.exp(logarithms), np.float32)
