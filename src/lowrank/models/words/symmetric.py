"""Word vectors by symmetric CP decomposition of an n-way association tensor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lowrank import kernels, resources
from lowrank.embedding import Embedding
from lowrank.errors import InputError, check_int
from lowrank.forms import CP
from lowrank.losses import Squared
from lowrank.objective import Objective, Term
from lowrank.penalties import L2, Penalty
from lowrank.resources import check_memory
from lowrank.solvers.quasi_newton import quasi_newton
from lowrank.solvers.run import run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from lowrank.data import Entries
    from lowrank.solvers.run import Result


class SymmetricCP:
    r"""One vector per word, such that the vectors of a tuple multiply to its association.

    .. math:: \min_U \tfrac12 \sum_{e} w_e (x_e - m_e)^2 + \tfrac{z}{2} \sum_{c\ \text{unlisted}} m_c^2
              + \mathrm{penalty}(U), \qquad m_e = \sum_r \prod_d U_{e_d r}

    Each unordered tuple of different words counts once (one that repeats a word by its share of the permutations). The
    sum over the cells that are not listed is exact.

    Parameters
    ----------
    rank : int
        Columns of :math:`U`; the length of a word vector.
    zero_weight : float
        :math:`z`, how much an unlisted cell counts against a listed one of weight 1.
    penalty : Penalty
        Applied to :math:`U`; ``NonNegative()`` gives sparse vectors of parts.
    max_iter, tol
        See :func:`~lowrank.solvers.run.run`.
    memory : int
        See :func:`~lowrank.solvers.quasi_newton.quasi_newton`.
    seed : int, optional
        Of the random start.
    threads : int, optional
        All cores by default. The same seed and threads give the same bits.
    watch : callable, optional
        Called with the :class:`~lowrank.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    factors_ : list of one ndarray of shape (V, rank)
        :math:`U`.
    history_ : list of float
        The objective at the start and after each sweep.
    n_iter_, converged_, interrupted_
        Sweeps; whether the objective settled; whether Ctrl-C stopped the sweeps.

    References
    ----------
    Bailey, Aeron (2017), Word embeddings via tensor factorization, section 4.2 (CP-S). arXiv:1704.02686.
    The exact sum over zeros carries Hu, Koren, Volinsky (2008), eq. 3, to symmetric tensors.

    Examples
    --------
    >>> from lowrank.data import Entries
    >>> x = Entries.collect([[0, 1, 2], [3, 4, 5]], [1.0, 1.0], 6)
    >>> U = SymmetricCP(4, zero_weight=0.01, seed=0).fit(x).factors_[0]
    >>> bool(np.prod(U[[0, 1, 2]], axis=0).sum() > 0.9), bool(abs(np.prod(U[[0, 1, 5]], axis=0).sum()) < 0.1)
    (True, True)
    """

    def __init__(
        self,
        rank: int = 300,
        *,
        zero_weight: float = 0.1,
        penalty: Penalty = L2(0.0),
        max_iter: int = 100,
        tol: float = 1e-3,
        memory: int = 10,
        seed: int | None = None,
        threads: int | None = None,
        watch: Callable[[Result], None] | None = None,
    ) -> None:
        self.rank = rank
        self.zero_weight = zero_weight
        self.penalty = penalty
        self.max_iter = max_iter
        self.tol = tol
        self.memory = memory
        self.seed = seed
        self.threads = threads
        self.watch = watch

    def fit(self, entries: Entries) -> Self:
        """Factorize symmetric entries of any order.

        Raises
        ------
        InputError
            If the entries are not symmetric or empty, or a parameter is out of range.
        """
        check_int("rank", self.rank, low=1)
        if not entries.symmetric:
            raise InputError("symmetric CP needs symmetric entries; Entries.collect makes them")
        if not len(entries):
            raise InputError("there are no entries to factorize; lower the shift or min_count")
        self._check_memory(entries)
        rng = np.random.default_rng(self.seed)
        each_tuple_once = 1 / math.factorial(entries.order)
        every_mode_shares_u = (0,) * entries.order
        term = Term(entries, CP(), Squared(), every_mode_shares_u, each_tuple_once, self.zero_weight)
        objective = Objective([term], [self.penalty], threads=self.threads)
        # associations are positive, so random rows around a common positive direction start nearer than centred ones
        random = (1 + rng.standard_normal((entries.shape[0], self.rank))).astype(np.float32)
        loss_alone = Objective([term], [L2(0.0)], threads=self.threads)
        start = _best_scale(loss_alone, self.penalty.prox(random, 0.0), entries.order)
        solver = quasi_newton(objective, [start], memory=self.memory)
        result = run(solver, max_iter=self.max_iter, tol=self.tol, watch=self.watch)
        self.factors_ = result.factors
        self.history_ = result.history
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self.interrupted_ = result.interrupted
        return self

    def predict(self, indices: NDArray[Any]) -> NDArray[np.float32]:
        """Give the association :math:`m` that the model expects of tuples; shapes (n, order) -> (n,)."""
        threads = self.threads or resources.cores()
        return kernels.cp_predict(np.asarray(indices), self.factors_[0], threads=threads)

    def embedding(self, words: Sequence[str], *, counts: NDArray[np.integer] | None = None) -> Embedding:
        """Give the rows of :math:`U` their words, and how often these occur."""
        return Embedding(words, self.factors_[0], counts=counts)

    def _check_memory(self, entries: Entries) -> None:
        """Refuse a rank whose factor, its history of steps and gradients per thread would not fit."""
        copies = 2 * self.memory + 8 + 2 * (self.threads or resources.cores())
        check_memory(
            4.0 * copies * entries.shape[0] * self.rank,
            f"a model of {entries.shape[0]:,} words and rank {self.rank}",
            "lower the rank or the size of the vocabulary",
        )


def _best_scale(objective: Objective, u: NDArray[np.float32], order: int) -> NDArray[np.float32]:
    """Scale a start so that the objective is lowest along its ray.

    Predictions scale with ``s = t^order`` when ``u`` scales with ``t``, so the squared loss is ``f(0) - b s + c s^2``;
    one gradient gives ``b`` and ``c``.
    """
    at_zero = objective.value([np.zeros_like(u)])
    at_one, (gradient,) = objective.value_and_gradient([u])
    slope = float(np.vdot(gradient.astype(float), u)) / order
    c = slope - (at_one - at_zero)
    if c <= 0:  # every prediction is zero, whatever the scale
        return u
    s = (2 * c - slope) / (2 * c)
    return u * np.float32(max(s, float(np.finfo(np.float32).tiny)) ** (1 / order))
