"""Topics and word vectors by non-negative CP decomposition of counts, with the Poisson likelihood."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Self

import numpy as np

from polyadic.embedding import Embedding
from polyadic.errors import InputError, check_int
from polyadic.forms import CP
from polyadic.losses import Poisson
from polyadic.models.base import Amount, Count, Model, Seed, Threads, Watch
from polyadic.objective import Objective, Term
from polyadic.penalties import NonNegative
from polyadic.resources import check_memory
from polyadic.solvers.poisson import apr
from polyadic.solvers.run import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.data import Entries
    from polyadic.forms import Factors


class PoissonCP(Model):
    r"""Counts as a mixture of components, each a distribution over words in every mode.

    .. math:: x_e \sim \mathrm{Poisson}(m_e), \qquad m_e = \sum_r \lambda_r \prod_d A^{(d)}_{e_d r}, \qquad
              \lambda, A \ge 0, \quad \sum_i A^{(d)}_{ir} = 1

    :math:`\lambda_r` is how many of the counted tuples component r explains, :math:`A^{(d)}_{ir}` the probability of
    word i in place d of such a tuple: a topic model of tuples. It takes raw counts; association scores are not counts.

    Parameters
    ----------
    rank : int
        Components.
    max_iter, tol
        See :func:`~polyadic.solvers.run.run`.
    inner : int
        Updates of a mode before the next has its turn, see :func:`~polyadic.solvers.poisson.apr`. Of 1, 2, 3, 5 and 10
        on counted text, 1 and 2 came furthest with equal work.
    seed : int, optional
        Of the random start.
    threads : int, optional
        All cores by default. The same seed gives the same bits, however many threads.
    watch : callable, optional
        Called with the :class:`~polyadic.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    factors_ : list of ndarray of shape (size of the mode, rank)
        :math:`A^{(d)}`, one per mode.
    weights_ : ndarray of shape (rank,)
        :math:`\lambda`, falling.
    history_ : list of float
        The divergence :math:`\sum m - x + x \log(x / m)` over all cells, at the start and after each sweep.
    result_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.models.base.Model`.

    References
    ----------
    Chi, Kolda (2012), On tensors, sparsity, and nonnegative factorizations, section 3. arXiv:1112.2414.

    Examples
    --------
    >>> from polyadic.data import Entries
    >>> x = Entries.collect([[0, 1, 2], [3, 4, 5]], [4.0, 2.0], 6)
    >>> model = PoissonCP(2, seed=1).fit(x)
    >>> model.weights_.round(1).tolist()
    [24.0, 12.0]
    >>> sorted(word for word, _ in model.components(["sun", "moon", "star", "actor", "film", "role"], top=3)[1])
    ['actor', 'film', 'role']
    """

    rank: Count = 100
    _: KW_ONLY
    max_iter: Count = 100
    tol: Amount = 1e-3
    inner: Count = 2
    seed: Seed = None
    threads: Threads = None
    watch: Watch = None

    def fit(self, entries: Entries) -> Self:
        """Factorize counts, such as :attr:`polyadic.text.counts.Counts.entries`, of any order.

        A symmetric list stands for all orders of its tuples; every mode still has a factor of its own, and those of
        counted text come out alike.

        Raises
        ------
        InputError
            If nothing was counted, a count is negative, or a setting is out of range.
        """
        self.check()
        if not entries.values.any():
            raise InputError("there are no counts to factorize; lower min_count")
        self._check_memory(entries)
        term = Term(entries, CP(), Poisson(), tuple(range(entries.order)), zero_weight=1.0)
        objective = Objective([term], [NonNegative()] * entries.order, threads=self.threads)
        start = _start(entries, self.rank, np.random.default_rng(self.seed))
        solver = apr(objective, start, inner=self.inner)
        factors = self._keep(run(solver, max_iter=self.max_iter, tol=self.tol, watch=self.watch))
        sums = np.array([u.sum(axis=0, dtype=float) for u in factors])
        falling = np.argsort(-sums.prod(axis=0), kind="stable")
        self.weights_ = sums.prod(axis=0)[falling]
        whole = np.where(sums > 0, sums, 1).astype(np.float32)
        self.factors_ = [(u / s)[:, falling] for u, s in zip(factors, whole, strict=True)]
        return self

    def components(
        self, words: Sequence[str], *, top: int = 10, mode: int | None = None
    ) -> list[list[tuple[str, float]]]:
        """Give the likeliest words of each component with their probabilities, the heaviest component first.

        Parameters
        ----------
        words : sequence of str
            The vocabulary of the mode.
        top : int
            Words per component.
        mode : int, optional
            Of which mode; by default the mean of all, which must then share the vocabulary.
        """
        A = self._factor(words, mode)
        check_int("top", top, low=1)
        best = np.argsort(-A, axis=0, kind="stable")[:top].T
        return [[(words[i], float(A[i, r])) for i in rows] for r, rows in enumerate(best.tolist())]

    def embedding(
        self, words: Sequence[str], *, counts: NDArray[np.integer] | None = None, mode: int | None = None
    ) -> Embedding:
        r"""Give each word the vector :math:`\sqrt{\lambda_r A_{ir}}`; ``mode`` as in :meth:`components`.

        Its squares are in proportion to the probabilities of the components given the word, so the cosine of two words
        is the overlap :math:`\sum_r \sqrt{p_r q_r}` of two such distributions (Bhattacharyya coefficient), 1 if they
        are the same. Where all modes hold words of one kind, their mean makes steadier vectors than one alone.
        """
        return Embedding(words, np.sqrt(self._factor(words, mode) * self.weights_).astype(np.float32), counts=counts)

    def _factor(self, words: Sequence[str], mode: int | None) -> NDArray[np.float64]:
        """Give the probabilities of words in one mode or, as a mean, in all."""
        if mode is not None:
            check_int("mode", mode, low=0, high=len(self.factors_) - 1)
        chosen = self.factors_ if mode is None else [self.factors_[mode]]
        if any(len(A) != len(words) for A in chosen):
            raise InputError(
                f"words must be the vocabulary of the mode; got {len(words)} words for modes of"
                f" {[len(A) for A in chosen]}; choose one with mode="
            )
        return np.mean(chosen, axis=0, dtype=float)

    def _check_memory(self, entries: Entries) -> None:
        """Refuse a rank whose factors, sums per thread and copies of the counts would not fit."""
        rows, largest = sum(entries.shape), max(entries.shape)
        copied = 4 if entries.symmetric else 4 + 8 + entries.indices.itemsize * entries.order  # sorted, with an order
        check_memory(
            4.0 * self.rank * (5 * rows + (2 * self._threads + 3) * largest) + float(copied) * len(entries),
            f"a model of {len(entries):,} counts, {' x '.join(f'{n:,}' for n in entries.shape)}, and rank {self.rank}",
            "lower the rank or the size of the vocabulary",
        )


def _start(entries: Entries, rank: int, rng: np.random.Generator) -> Factors:
    """Draw components about the frequencies of words; together they explain as many tuples as were counted.

    A word that was never counted has probability zero from the start. Without the right scale the first sweep alone
    would be nearly the whole change of the objective, by which ``tol`` is measured.
    """
    total = float(entries.values.sum(dtype=float)) * (math.factorial(entries.order) if entries.symmetric else 1)
    frequencies = [np.zeros(n) for n in entries.shape]
    for block in entries.blocks():
        for d, n in enumerate(entries.shape):
            frequencies[d] += np.bincount(entries.indices[block, d], weights=entries.values[block], minlength=n)
    if entries.symmetric:
        frequencies = [np.sum(frequencies, axis=0)] * entries.order
    start = [rng.random((len(f), rank)) * f[:, None] for f in frequencies]
    return [(u * ((total / rank) ** (1 / entries.order) / u.sum(axis=0))).astype(np.float32) for u in start]
