"""Word vectors by symmetric CP decomposition of association tensors of one or several orders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from polyadic.core import kernels
from polyadic.core.containers import entries_of
from polyadic.core.forms import Factors
from polyadic.core.losses import Loss, Squared
from polyadic.core.model import Amount, Share
from polyadic.core.objective import Objective, Term, fit
from polyadic.core.penalties import L2, Penalty, PositiveL1
from polyadic.core.solvers.quasi_newton import quasi_newton
from polyadic.core.solvers.run import Sweep, run
from polyadic.words import orders
from polyadic.words.base import TensorModel

if TYPE_CHECKING:
    from polyadic.core.entries import Entries


class SymmetricCP(TensorModel):
    r"""Symmetric CP decomposition: one vector per word, with products that approximate the association of tuples.

    .. math:: \min_U \sum_n \alpha_n \Big[ \sum_{e} w_e\, \ell(x_e, m_e)
              + \sum_{c\ \text{unobserved}} z_c\, \ell(0, m_c) \Big] + \mathrm{penalty}(U),
              \qquad m_e = \sum_r \prod_d U_{e_d r}, \qquad z_c \propto z \prod_d \deg_{c_d}^\kappa

    One order n gives CP-S, or CP-SN with the penalty :class:`~polyadic.core.penalties.NonNegative`; several orders give
    JCP-S and JCP-SN. Each unordered tuple of different words counts once (a tuple that repeats a word by its share of
    the permutations). The sum over unobserved cells is exact.

    Parameters
    ----------
    loss : Loss
        Loss :math:`\ell` of a cell: squared for associations, ``Poisson()`` for counts.
    zero_weight : float, optional
        Mean weight :math:`z` of an unobserved cell relative to an observed one of weight 1. By default all unobserved
        cells together have 6 times the weight of observed pairs, and 50 times that of larger observed tuples.
    zero_power : float, optional
        Exponent :math:`\kappa` of the word degrees in the weights of unobserved cells, by default 0.75. See
        :func:`~polyadic.words.orders.symmetric_terms`.
    order_weights : sequence of float, optional
        Weight of each list of entries relative to its size; see the same function.
    penalty : Penalty
        Penalty of :math:`U`; ``NonNegative()`` gives sparse vectors.
    start : ndarray of shape (V, r), optional
        Initial vectors up to a scale, instead of random ones: factors of another order, of a lower rank, or of older
        text.
    solver : callable
        Function from an objective and a start to an iterator of sweeps: :func:`~polyadic.core.solvers.quasi_newton`, or
        ``functools.partial(stochastic, ...)`` for tensors larger than memory.
    validation : float
        Fraction of the entries held out for early stopping. The vectors with the lowest held-out loss are kept.

    Attributes
    ----------
    factors_ : list of one ndarray of shape (V, rank)
        :math:`U`.
    explained_ : list of Fit
        Explained share of each list: see :func:`~polyadic.core.objective.fit`.

    References
    ----------
    Bailey, Aeron (2017), Word embeddings via tensor factorization, sections 4.2 to 4.2.2. arXiv:1704.02686.
    Hu, Koren, Volinsky (2008), Collaborative filtering for implicit feedback datasets, eq. 3, for the sum over zeros,
    here extended to symmetric tensors.

    Examples
    --------
    >>> from polyadic.core.entries import Entries
    >>> x = Entries.collect([[0, 1, 2], [3, 4, 5]], [1.0, 1.0], 6)
    >>> U = SymmetricCP(4, zero_weight=0.01, seed=0).fit(x).factors_[0]
    >>> bool(np.prod(U[[0, 1, 2]], axis=0).sum() > 0.9), bool(abs(np.prod(U[[0, 1, 5]], axis=0).sum()) < 0.1)
    (True, True)
    """

    _: KW_ONLY
    loss: Loss = Squared()
    zero_weight: Amount | None = None
    zero_power: Amount | None = None
    order_weights: Sequence[Amount] | None = None
    penalty: Penalty = L2(0.0)
    start: NDArray[Any] | None = None
    solver: Callable[[Objective, Factors], Iterator[Sweep]] = quasi_newton
    validation: Share = 0.0

    def fit(self, entries: Any) -> Self:
        """Factorize associations or counts of one order, or a sequence of one list per order.

        They are Entries or symmetric arrays or sparse arrays. InputError is raised if entries are not symmetric, empty,
        all zero or of different sizes, or a setting is out of range.
        """
        self.check()
        rng = np.random.default_rng(self.seed)
        lists = self._lists(entries)
        known, held_out = zip(*(x.hold_out(self.validation, rng) for x in lists), strict=True)
        terms = self._terms(known)
        size = lists[0].shape[0]
        orders.check_fits(size, self.rank, self._threads)
        if self.start is None:
            start = orders.positive_start(size, self.rank, rng)
        else:
            start = orders.given_start(self.start, size, rank=self.rank, rng=rng)
        start = orders.zero_unobserved(self.penalty.prox(start, 0.0), lists)
        start = orders.best_scale(terms, start, threads=self.threads)
        return self._run(terms, start, held_out if self.validation else ())

    def partial_fit(self, entries: Any) -> Self:
        """Update the vectors with one sweep over the entries of new text with the same vocabulary.

        The sweep is one of ``solver``; a sweep of a stochastic solver is an epoch. If the model is not fitted, this is
        :meth:`fit`.
        """
        self.check()
        if not hasattr(self, "factors_"):
            return self.fit(entries)
        return self._run(self._terms(self._lists(entries)), self.factors_[0], max_iter=1, tol=0.0)

    def plan(self, entries: Any) -> dict[str, float]:
        """Return the rank and, for the default solver, the estimated time and memory of a fit."""
        if self.solver is not quasi_newton:
            return {"rank": self.rank}
        objective = Objective(self._terms(self._lists(entries)), [self.penalty], threads=self.threads)
        return {"rank": self.rank, **orders.plan(objective, [self.rank], max_iter=self.max_iter)}

    def _predicted(self, tuples: NDArray[Any]) -> NDArray[np.float32]:
        return kernels.cp_predict(tuples, self.factors_[0], threads=self._threads)

    def _rows(self) -> NDArray[Any]:
        U = self.factors_[0]
        return np.maximum(U, 0) if isinstance(self.penalty, PositiveL1) else U

    def _lists(self, entries: Any) -> list[Entries]:
        several = isinstance(entries, list | tuple) and all(hasattr(each, "shape") for each in entries)
        lists = [entries_of(each, symmetric=True) for each in (entries if several else [entries])]
        self._terms(lists)  # raises InputError for invalid lists before any work is done
        return lists

    def _terms(self, lists: Sequence[Entries], **how: Any) -> list[Term]:
        mine = {name: getattr(self, name) for name in ("zero_weight", "zero_power", "order_weights")}
        return orders.symmetric_terms(lists, self.loss, **mine | how)

    def _run(self, terms: list[Term], start: NDArray[Any], held_out: Sequence[Entries] = (), **how: Any) -> Self:
        objective = Objective(terms, [self.penalty], threads=self.threads, within=self._within)
        loss = Objective(self._terms(held_out, zero_weight=0.0), [L2()], threads=self.threads) if held_out else None
        how = {"max_iter": self.max_iter, "tol": self.tol} | how
        how |= {"callback": self.callback, "measure": loss.value if loss else None}
        self.factors_ = self._keep(run(self.solver(objective, [start]), **how))
        self.explained_ = [fit(term, self.factors_, threads=self.threads) for term in terms]
        return self
