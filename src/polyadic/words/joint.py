"""Word vectors with unconstrained dimensions for pairs and non-negative dimensions for larger word tuples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray

from polyadic.core import kernels
from polyadic.core.errors import InputError, check_int
from polyadic.core.losses import Squared
from polyadic.core.model import Amount, Count, Within
from polyadic.core.objective import Objective, Slot, Term, fit
from polyadic.core.penalties import L2, NonNegative
from polyadic.core.solvers.quasi_newton import quasi_newton
from polyadic.core.solvers.run import run
from polyadic.words import orders
from polyadic.words.base import TensorModel, listed
from polyadic.words.pairwise import PPMISVD

if TYPE_CHECKING:
    from polyadic.core.entries import Entries

ALL = (0, 1)  # slot of both factors, concatenated
PAIRS = 1 / 3
"""Weight of pairs relative to each larger order; 0.1, 1/3 and 1 give equal word vectors, see third-order.md."""


class JointCP(TensorModel):
    r"""Joint CP decomposition: unconstrained columns for pairs, non-negative components for pairs and larger tuples.

    .. math:: \min_{A,\, C \ge 0}\ \alpha_2 \sum_{ij} w_{ij} \big(x_{ij} - (AA^\top + CC^\top)_{ij}\big)^2
              + \sum_{n > 2} \alpha_n \sum_e w_e \Big(x_e - c^{-n} \sum_r \prod_d C_{e_d r}\Big)^2 + \text{zeros}

    A single factor for all orders, as in JCP-S, has conflicting goals. Pairs ask for bipolar axes, such as the
    eigenvectors of the PPMI matrix. At a negative pole the product of two values is positive but that of three is
    negative, so such an axis cannot explain a triple of these words. Here each order has its own weights of the
    columns: those of :math:`A` explain pairs only, and those of :math:`C`, the non-negative components,
    explain all orders. Products of the non-negative components select word senses; inner products of whole vectors
    measure the relatedness of two words.

    The sum over unobserved cells is exact, and weights them by the degrees of their words: see
    :func:`~polyadic.words.orders.symmetric_terms`.

    Parameters
    ----------
    rank : int
        Dimension of the word vectors, the columns of :math:`A` and :math:`C` together.
    n_nonnegative : int, optional
        Number of non-negative components, the columns of :math:`C`; by default half of the rank.
    pair_scale : float
        Scale :math:`c` of the non-negative components in the explanation of pairs.
    order_weights : sequence of float, optional
        Weight of each order, as in :func:`~polyadic.words.orders.symmetric_terms`; by default pairs have a third of the
        weight of the others.
    l1 : float
        Strength of the L1 penalty on the non-negative components.
    start : ndarray of shape (V, rank), optional
        Initial vectors, :math:`A` and :math:`C` concatenated, such as those of an interrupted fit.
    seed : int, optional
        Seed of the random start of :math:`C`; :math:`A` starts at eigenvectors.

    Attributes
    ----------
    factors_ : list of two ndarrays of shape (V, rank - n_nonnegative) and (V, n_nonnegative)
        :math:`A` and :math:`C`, which :meth:`embedding` concatenates.
    explained_ : list of Fit
        Explained share of each order: see :func:`~polyadic.core.objective.fit`.

    References
    ----------
    Bailey, Aeron (2017), Word embeddings via tensor factorization, section 4.2.2, for one factor. arXiv:1704.02686

    Examples
    --------
    >>> from polyadic.core.entries import Entries
    >>> pairs = Entries.collect([[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]], [1.0] * 6, 6)
    >>> triples = Entries.collect([[0, 1, 2], [3, 4, 5]], [2.0, 2.0], 6)
    >>> model = JointCP(4, n_nonnegative=2, seed=0, max_iter=200).fit([pairs, triples])
    >>> listed, unobserved = model.predict(np.array([[0, 1, 2], [0, 1, 5]]))
    >>> bool(listed > 100 * abs(unobserved))
    True
    """

    rank: Annotated[int, Within(2)] = 300
    _: KW_ONLY
    n_nonnegative: Count | None = None
    pair_scale: Annotated[float, Within(0, 1, above=True)] = 0.5
    order_weights: Sequence[Amount] | None = None
    l1: Amount = 0.0
    start: NDArray[Any] | None = None

    def fit(self, lists: Sequence[Any]) -> Self:
        """Factorize associations of pairs and of one or more higher orders, one list per order, pairs first.

        They are Entries or symmetric arrays or sparse arrays. InputError is raised if pairs or larger tuples are
        missing, entries are not symmetric, empty, all zero or of different sizes, or a setting is out of range.
        """
        self.check()
        lists = [listed(each, symmetric=True) for each in lists]
        size, larger, objective = self._objective(lists)
        orders.check_fits(size, self.rank, self._threads)
        A, C = self._start(lists, larger) if self.start is None else self._given(size)
        sweeps = quasi_newton(objective, [A, C])
        self.factors_ = self._keep(run(sweeps, max_iter=self.max_iter, tol=self.tol, callback=self.callback))
        self.explained_ = [fit(term, self.factors_, threads=self.threads) for term in objective.terms]
        return self

    def plan(self, lists: Sequence[Any]) -> dict[str, float]:
        """Return the rank, the number of non-negative components, and the estimated time and memory of a fit."""
        widths = [self.rank - self._n_nonnegative, self._n_nonnegative]
        about = orders.plan(self._objective(lists)[2], widths, max_iter=self.max_iter)
        return {"rank": self.rank, "n_nonnegative": self._n_nonnegative, **about}

    def _objective(self, lists: Sequence[Any]) -> tuple[int, list[Term], Objective]:
        """Return the vocabulary size, the objective terms of the higher orders, and the complete objective."""
        lists = [listed(each, symmetric=True) for each in lists]
        found = [entries.order for entries in lists]
        if len(found) < 2 or found[0] != 2 or min(found[1:]) < 3:
            wanted = "entries of order 2, followed by entries of higher orders"
            raise InputError(f"joint factorization requires {wanted}; got orders {found}")
        size, n_nonnegative = lists[0].shape[0], self._n_nonnegative
        if self.start is None and self.rank >= size + n_nonnegative:  # before an evaluation, which takes minutes here
            limit = f"{size + n_nonnegative:,}, the sum of {size:,} words and {n_nonnegative:,} non-negative components"
            raise InputError(f"rank must be below {limit}; got {self.rank:,}", "rank")
        scaled = [replace(x, values=x.values * np.float32(self.pair_scale**x.order)) for x in lists[1:]]
        weights = [PAIRS] + [1.0] * len(scaled) if self.order_weights is None else self.order_weights
        pairs, *larger = orders.symmetric_terms([lists[0], *scaled], Squared(), order_weights=weights)
        terms = [_explained_by(ALL, pairs), *(_explained_by(1, term) for term in larger)]
        return size, larger, Objective(terms, [L2(), NonNegative(self.l1)], threads=self.threads, within=self._within)

    def _start(self, lists: Sequence[Entries], larger: list[Term]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Initialize unconstrained columns by PPMI-SVD, and non-negative columns by scaled random numbers."""
        A = PPMISVD(self.rank - self._n_nonnegative, seed=self.seed).fit(lists[0]).vectors_
        C = orders.positive_start(len(A), self._n_nonnegative, np.random.default_rng(self.seed))
        C = orders.zero_unobserved(NonNegative().prox(C, 0.0), lists[1:])
        return A, orders.best_scale(larger, C, threads=self.threads)

    def _given(self, size: int) -> tuple[NDArray[Any], NDArray[Any]]:
        given, n_nonnegative = np.asarray(self.start), self._n_nonnegative
        U = orders.given_start(given, size, rank=self.rank, rng=np.random.default_rng(self.seed))
        if given.shape != U.shape or (U[:, -n_nonnegative:] < 0).any():
            wanted = f"{self.rank} columns, the last {n_nonnegative} with non-negative values only"
            raise InputError(f"start must have {wanted}; got shape {given.shape}", "start")
        return U[:, :-n_nonnegative], U[:, -n_nonnegative:]

    def _predicted(self, tuples: NDArray[Any]) -> NDArray[np.float32]:
        if tuples.ndim == 2 and tuples.shape[1] == 2:
            return kernels.cp_predict(tuples, np.hstack(self.factors_), threads=self._threads)
        return kernels.cp_predict(tuples, self.factors_[1] / np.float32(self.pair_scale), threads=self._threads)

    def _rows(self) -> NDArray[Any]:
        return np.hstack(self.factors_)

    @property
    def _n_components(self) -> int:
        return int(self.factors_[1].shape[1])

    def check(self) -> None:
        """Raise InputError if a setting is out of range; the number of components must be below the rank."""
        super().check()
        check_int("n_nonnegative", self._n_nonnegative, low=1, high=self.rank - 1)

    @property
    def _n_nonnegative(self) -> int:
        return self.rank // 2 if self.n_nonnegative is None else self.n_nonnegative


def _explained_by(slot: Slot, term: Term) -> Term:
    """Return a copy of an objective term in which all modes share the given factor."""
    return replace(term, slots=(slot,) * len(term.slots), importance=dict.fromkeys([slot], *term.importance.values()))
