r"""Probabilistic latent semantic analysis.

Mixtures of distributions of words, one mixture for each document, by expectation and maximization.

With :math:`\tilde u = P(z|d)^\tau`, :math:`\tilde v = P(w|z)^\tau` and :math:`\tilde m = \sum_z \tilde u_z \tilde v_z`
the expected counts of a topic in a document are :math:`\tilde u_z \sum_w n_{dw} \tilde v_z / \tilde m`: the
multiplicative update of the Kullback-Leibler divergence, before its result is made to sum to one.

References
----------
Hofmann (1999), Probabilistic latent semantic analysis, equations 3 to 5 and, for the temperature, section 3.4.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from polyadic.core import kernels
from polyadic.core.model import Amount, Callback, Count, Seed, Threads, Within
from polyadic.core.solvers.run import run
from polyadic.topics.base import Topics
from polyadic.topics.dirichlet import entries_of
from polyadic.topics.multiplicative import FLOOR, LARGEST_RATIO, TINY, descend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float32]


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
        See :func:`~polyadic.core.solvers.run.run`.
    seed : int, optional
        Of the random start.
    threads : int, optional
        All cores by default; the result depends on them in last digits only.
    callback : callable, optional
        Called with the :class:`~polyadic.core.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    components_ : float32 ndarray of shape (rank, words)
        :math:`P(w|z)`.
    row_factors_ : float32 ndarray of shape (documents, rank)
        :math:`P(z|d)`; uniform for a document without words.
    shares_ : ndarray of shape (rank,)
        :math:`P(z)`, with documents by their length.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`; the objective is minus the logarithm of the likelihood.

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
        rng = np.random.default_rng(self.seed)
        how: dict[str, Any] = {"temperature": self.temperature, "threads": self._threads}
        documents = Mixture(counts, sums="rows", **how)
        words = Mixture(csr_array(counts.T), sums="columns", **how)
        start = [
            half.normalized((0.5 + rng.random((size, self.rank))).astype(np.float32))
            for half, size in zip((documents, words), counts.shape, strict=True)
        ]
        W, H = self._keep(
            run(descend(documents, words, start), max_iter=self.max_iter, tol=self.tol, callback=self.callback)
        )
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


class Mixture:
    r"""A half-step on :math:`-\tfrac1\tau \sum_{dw} n_{dw} \log \sum_z (P(z|d) P(w|z))^\tau`, which it never raises.

    Parameters
    ----------
    counts : csr_array
        With the rows of the factor that is improved as rows.
    sums : {"rows", "columns"}
        Which sums of that factor are one: rows are documents, columns topics.
    temperature : float
        :math:`\tau`; 1 is maximum likelihood, less keeps topics closer together.
    threads : int
    """

    def __init__(
        self, counts: csr_array, *, sums: Literal["rows", "columns"], temperature: float = 1.0, threads: int
    ) -> None:
        self.temperature, self.threads = np.float32(temperature), threads
        self.axis = 1 if sums == "rows" else 0
        self.entries = entries_of(counts)

    def improve(self, U: Array, V: Array, *, passes: int = 1) -> float:
        """Improve ``U`` in place; give the objective, of the ``U`` that was given."""
        value = self._expect(U, V)
        for _ in range(passes - 1):
            self._expect(U, V)
        return value

    def solve(self, U: Array, V: Array, *, passes: int, tol: float = 0.0) -> None:
        """Improve each row of ``U`` until it settles, in place, at temperature 1; ``U`` becomes expected counts."""
        self._multiply(U, V, passes=passes, tol=tol)

    def penalty(self, U: Array) -> float:
        """Give nothing: distributions have no penalty."""
        del U
        return 0.0

    def beyond(self, new: Array, old: Array, step: float) -> Array:
        """Go on from ``new`` by a share of the way there from ``old``, in logarithms."""
        ratio = np.minimum(new / np.maximum(old, np.float32(TINY)), np.float32(LARGEST_RATIO))
        return self.normalized(np.asarray(new * ratio ** np.float32(step)))

    def normalized(self, U: Array) -> Array:
        """Make sums one; what sums to zero becomes uniform."""
        sums = U.sum(axis=self.axis, keepdims=True)
        shares = U / np.maximum(sums, np.float32(TINY))
        return np.where(sums > 0, shares, np.float32(1 / U.shape[self.axis]))

    def _expect(self, U: Array, V: Array) -> float:
        t = self.temperature
        counts, other = (U, V) if t == 1 else (U**t, V**t)
        value = self._multiply(counts, other, passes=1, tol=0.0)
        U[:] = self.normalized(counts)
        return value / float(t)

    def _multiply(self, U: Array, V: Array, *, passes: int, tol: float) -> float:
        how: dict[str, Any] = {
            "base": np.zeros(V.shape[1]),
            "l1": 1.0,
            "beta": 1.0,
            "floor": FLOOR,
        }  # what is below is one
        return kernels.divergence_rows(self.entries, V, U, passes=passes, tol=tol, threads=self.threads, **how)
