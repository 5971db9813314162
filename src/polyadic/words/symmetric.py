"""Word vectors by symmetric CP decomposition of association tensors of one or several orders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from polyadic.core import kernels
from polyadic.core.entries import Entries
from polyadic.core.forms import Factors
from polyadic.core.losses import Loss, Squared
from polyadic.core.model import Amount, Callback, Count, Model, Seed, Share, Threads
from polyadic.core.objective import Objective, fit
from polyadic.core.penalties import L2, Penalty, PositiveL1
from polyadic.core.solvers.quasi_newton import quasi_newton
from polyadic.core.solvers.run import Sweep, run
from polyadic.embedding import Embedding
from polyadic.words.orders import check_fits, plan, symmetric_terms
from polyadic.words.start import best_scale, given_start, positive_start, zero_unlisted

if TYPE_CHECKING:
    from polyadic.core.objective import Term


class SymmetricCP(Model):
    r"""One vector per word, such that the vectors of a tuple multiply to its association.

    .. math:: \min_U \sum_n \alpha_n \Big[ \sum_{e} w_e\, \ell(x_e, m_e)
              + \sum_{c\ \text{unlisted}} z_c\, \ell(0, m_c) \Big] + \mathrm{penalty}(U),
              \qquad m_e = \sum_r \prod_d U_{e_d r}, \qquad z_c \propto z \prod_d \deg_{c_d}^\kappa

    One order n makes CP-S, or CP-SN where the penalty is :class:`~polyadic.core.penalties.NonNegative`; several make
    JCP-S and JCP-SN. Each unordered tuple of different words counts once (one that repeats a word by its share of the
    permutations). The sum over the cells that are not listed is exact.

    Parameters
    ----------
    rank : int
        Columns of :math:`U`; the length of a word vector.
    loss : Loss
        :math:`\ell`; squared for associations, ``Poisson()`` for counts.
    zero_weight : float, optional
        :math:`z`, how much an unlisted cell counts, in the mean, against a listed one of weight 1; by default such that
        together they count 6 times what listed pairs do, 50 times what larger tuples do.
    zero_power : float, optional
        :math:`\kappa`, by default 0.75, how much more unlisted cells of words that many entries list count: see
        :func:`~polyadic.words.orders.symmetric_terms`.
    order_weights : sequence of float, optional
        How much each list of entries counts, relative to its size: see the same function.
    penalty : Penalty
        Applied to :math:`U`; ``NonNegative()`` gives sparse vectors of parts.
    start : ndarray of shape (V, r), optional
        Where to begin instead of at random, up to a scale: factors of another order, of a lower rank, of older text.
    solver : callable
        Takes objective and start and yields sweeps: :func:`~polyadic.core.solvers.quasi_newton`, or
        ``functools.partial(stochastic, ...)`` for tensors larger than memory.
    validation : float
        Share of the entries held out, whose loss tells when to stop; the vectors are those for which it was lowest.
    max_iter, tol
        See :func:`~polyadic.core.solvers.run.run`.
    seed : int, optional
        Of the random start and the entries held out.
    threads : int, optional
        All cores by default. The same seed gives the same bits, however many threads.
    callback : callable, optional
        Called with the Result so far after each sweep, such as a :class:`~polyadic.words.checkpoint.Checkpoint`.

    Attributes
    ----------
    factors_ : list of one ndarray of shape (V, rank)
        :math:`U`.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`.
    explained_ : list of Fit
        How much of each list is explained: see :func:`~polyadic.core.objective.fit`.

    References
    ----------
    Bailey, Aeron (2017), Word embeddings via tensor factorization, sections 4.2 to 4.4. arXiv:1704.02686.
    The exact sum over zeros carries Hu, Koren, Volinsky (2008), eq. 3, to symmetric tensors.

    Examples
    --------
    >>> from polyadic.core.entries import Entries
    >>> x = Entries.collect([[0, 1, 2], [3, 4, 5]], [1.0, 1.0], 6)
    >>> U = SymmetricCP(4, zero_weight=0.01, seed=0).fit(x).factors_[0]
    >>> bool(np.prod(U[[0, 1, 2]], axis=0).sum() > 0.9), bool(abs(np.prod(U[[0, 1, 5]], axis=0).sum()) < 0.1)
    (True, True)
    """

    rank: Count = 300
    _: KW_ONLY
    loss: Loss = Squared()
    zero_weight: Amount | None = None
    zero_power: Amount | None = None
    order_weights: Sequence[Amount] | None = None
    penalty: Penalty = L2(0.0)
    start: NDArray[Any] | None = None
    solver: Callable[[Objective, Factors], Iterator[Sweep]] = quasi_newton
    validation: Share = 0.0
    max_iter: Count = 100
    tol: Amount = 1e-3
    seed: Seed = None
    threads: Threads = None
    callback: Callback = None

    def fit(self, entries: Entries | Sequence[Entries]) -> Self:
        """Factorize symmetric entries of any order, or of several at once.

        Raises
        ------
        InputError
            If entries are not symmetric, empty, all zero or of different sizes, or a parameter is out of range.
        """
        self.check()
        rng = np.random.default_rng(self.seed)
        lists = self._lists(entries)
        known, held_out = zip(*(x.hold_out(self.validation, rng) for x in lists), strict=True)
        terms = self._terms(known)
        size = lists[0].shape[0]
        check_fits(size, self.rank, self._threads)
        if self.start is None:
            start = positive_start(size, self.rank, rng)
        else:
            start = given_start(self.start, size, rank=self.rank, rng=rng)
        start = zero_unlisted(self.penalty.prox(start, 0.0), lists)
        return self._run(terms, best_scale(terms, start, threads=self.threads), held_out if self.validation else ())

    def partial_fit(self, entries: Entries | Sequence[Entries]) -> Self:
        """Go on from the present vectors for one sweep over entries of new text with the same vocabulary.

        The sweep is one of ``solver``; take a stochastic one, for which it is an epoch. Without vectors yet this is
        :meth:`fit`.
        """
        self.check()
        if not hasattr(self, "factors_"):
            return self.fit(entries)
        terms = self._terms(self._lists(entries))
        return self._run(terms, self.factors_[0], max_iter=1, tol=0.0)

    def plan(self, entries: Entries | Sequence[Entries]) -> dict[str, float]:
        """Tell what a fit to these entries will be: its columns, and of the usual solver minutes and MiB it takes."""
        if self.solver is not quasi_newton:
            return {"rank": self.rank}
        objective = Objective(self._terms(self._lists(entries)), [self.penalty], threads=self.threads)
        return {"rank": self.rank, **plan(objective, [self.rank], max_iter=self.max_iter)}

    def predict(self, indices: NDArray[Any]) -> NDArray[np.float32]:
        """Give the association :math:`m` that the model expects of tuples; shapes (n, order) -> (n,)."""
        return kernels.cp_predict(np.asarray(indices), self.factors_[0], threads=self._threads)

    def embedding(self, words: Sequence[str], *, counts: NDArray[np.integer] | None = None) -> Embedding:
        """Give the rows of :math:`U` their words, and how often these occur."""
        U = self.factors_[0]
        return Embedding(words, np.maximum(U, 0) if isinstance(self.penalty, PositiveL1) else U, counts=counts)

    def _lists(self, entries: Entries | Sequence[Entries]) -> list[Entries]:
        lists = [entries] if isinstance(entries, Entries) else list(entries)
        self._terms(lists)  # refuses what cannot be explained before any work is done
        return lists

    def _terms(self, lists: Sequence[Entries], **how: Any) -> list[Term]:
        mine = {name: getattr(self, name) for name in ("zero_weight", "zero_power", "order_weights")}
        return symmetric_terms(lists, self.loss, **mine | how)

    def _run(self, terms: list[Term], start: NDArray[Any], held_out: Sequence[Entries] = (), **how: Any) -> Self:
        objective = Objective(terms, [self.penalty], threads=self.threads, within=self._within)
        loss = Objective(self._terms(held_out, zero_weight=0.0), [L2()], threads=self.threads) if held_out else None
        how = {"max_iter": self.max_iter, "tol": self.tol} | how
        how |= {"callback": self.callback, "measure": loss.value if loss else None}
        self.factors_ = self._keep(run(self.solver(objective, [start]), **how))
        self.explained_ = [fit(term, self.factors_, threads=self.threads) for term in terms]
        return self
