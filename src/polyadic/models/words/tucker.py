"""Word vectors by Tucker decomposition: few directions for words, and a core that says how these combine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from polyadic import kernels
from polyadic.embedding import Embedding
from polyadic.errors import InputError, check_int
from polyadic.models.base import Amount, Count, Model, Seed, Threads, Watch
from polyadic.resources import check_memory
from polyadic.solvers.hooi import hooi, hosvd
from polyadic.solvers.run import run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.data import Entries


class Tucker(Model):
    r"""Orthonormal directions for each mode, and a core of how strongly each combination of them occurs.

    .. math:: \min_{G, U} \tfrac12 \sum_c (x_c - m_c)^2, \qquad
              m_c = \sum_{r_1 \dots r_n} G_{r_1 \dots r_n} \prod_d U^{(d)}_{c_d r_d}, \qquad U^{(d)\top} U^{(d)} = I

    The sum is over all cells; those that are not listed are zeros. Weights of entries are not used. Symmetric entries
    have one U for all modes and a symmetric core, others a U for each mode. The axes of each U are those of the
    higher-order singular value decomposition of the model: the slices of the core along a mode are orthogonal to each
    other, and their norms, the singular values, fall.

    Parameters
    ----------
    rank : int or sequence of int
        Columns of U; for entries that are not symmetric one number per mode, if they differ. The core has the product
        of the ranks of all modes as its number of elements. A mode that is not to be compressed has its own length
        (Tucker 1 and 2).
    start : {"random", "hosvd"}
        Random directions, or the leading ones of each unfolding, which take more memory and time and are the safer
        start for symmetric matrices and values of both signs.
    power : float
        :math:`p` in the vectors :math:`U \Sigma^p`, with the singular values :math:`\Sigma`. With 1, inner products
        of vectors are those of the model's slices; 0 leaves directions alone.
    max_iter, tol
        See :func:`~polyadic.solvers.run.run`.
    seed : int, optional
        Of the start.
    threads : int, optional
        All cores by default. The same seed gives the same bits, however many threads.
    watch : callable, optional
        Called with the :class:`~polyadic.solvers.run.Result` so far after each sweep; its last factor is the core.

    Attributes
    ----------
    factors_ : list of ndarray of shape (size of the mode, rank)
        U; one, or one per mode.
    core_ : ndarray of shape (rank, ..., rank)
        G.
    singular_values_ : list of ndarray of shape (rank,)
        :math:`\Sigma` for each factor, falling.
    vectors_ : list of ndarray of shape (size of the mode, rank)
        :math:`U \Sigma^p` for each factor.
    explained_ : float
        Share of the sum of squares of all cells that the model explains.
    history_ : list of float
        Half the squared error at the start and after each sweep.
    result_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.models.base.Model`.

    References
    ----------
    De Lathauwer, De Moor, Vandewalle (2000), A multilinear singular value decomposition, theorem 2.
    The same authors (2000), On the best rank-1 and rank-(R1, ..., RN) approximation of higher-order tensors, section 4.

    Examples
    --------
    >>> from polyadic.data import Entries
    >>> x = Entries.collect([[0, 0, 0], [1, 1, 1], [2, 2, 2]], [1.0, 3.0, 2.0], 3)
    >>> model = Tucker(2, seed=0).fit(x)
    >>> model.singular_values_[0].round(3).tolist(), round(model.explained_, 3)
    ([3.0, 2.0], 0.929)
    >>> abs(model.predict([[1, 1, 1], [0, 1, 2]])).round(3).tolist()
    [3.0, 0.0]
    """

    rank: Count | Sequence[Count] = 50
    _: KW_ONLY
    start: Literal["random", "hosvd"] = "random"
    power: Amount = 0.5
    max_iter: Count = 50
    tol: Amount = 1e-3
    seed: Seed = None
    threads: Threads = None
    watch: Watch = None

    def fit(self, entries: Entries) -> Self:
        """Factorize entries of any order from two on.

        Raises
        ------
        InputError
            If there are no entries, unlisted ones are missing, a setting is out of range, or memory would not do.
        """
        self.check()
        if not len(entries):
            raise InputError("there are no entries to factorize; lower the shift or min_count")
        slots = (0,) * entries.order if entries.symmetric else tuple(range(entries.order))
        ranks = self._ranks(entries, slots)
        self._check_memory(entries, ranks, slots)
        rng = np.random.default_rng(self.seed)
        if self.start == "hosvd":
            start = hosvd(entries, ranks, rng=rng, threads=self.threads)
        else:
            sizes = [entries.shape[slots.index(s)] for s in range(len(ranks))]
            start = [rng.standard_normal((n, r)).astype(np.float32) for n, r in zip(sizes, ranks, strict=True)]
        solver = hooi(entries, start, threads=self.threads)
        *factors, core = self._keep(run(solver, max_iter=self.max_iter, tol=self.tol, watch=self.watch))
        self.factors_, self.core_, self.singular_values_ = _principal_axes(factors, core, slots)
        self.vectors_ = [
            (u * s**self.power).astype(np.float32) for u, s in zip(self.factors_, self.singular_values_, strict=True)
        ]
        explained = float(np.vdot(core, core))
        self.explained_ = explained / (explained + 2 * self.history_[-1] or 1.0)
        return self

    def predict(self, indices: NDArray[Any]) -> NDArray[np.float32]:
        """Give the association that the model expects of tuples; shapes (n, order) -> (n,)."""
        slots = (0,) * self.core_.ndim if len(self.factors_) == 1 else range(self.core_.ndim)
        tuples = np.asarray(indices)
        return kernels.tucker_predict(tuples, self.factors_, self.core_, slots=slots, threads=self._threads)

    def embedding(self, words: Sequence[str], *, counts: NDArray[np.integer] | None = None, mode: int = 0) -> Embedding:
        """Give the vectors of a mode their words, and how often these occur; symmetric entries have one for all."""
        check_int("mode", mode, low=0, high=len(self.vectors_) - 1)
        return Embedding(words, self.vectors_[mode], counts=counts)

    def _ranks(self, entries: Entries, slots: tuple[int, ...]) -> list[int]:
        """Give the rank of each factor, at most the length of its mode."""
        factors = max(slots) + 1
        ranks = list(self.rank) if isinstance(self.rank, Iterable) else [self.rank] * factors
        if len(ranks) != factors:
            raise InputError(f"rank must be one number, or one for each of {factors} factors; got {self.rank}")
        return [check_int("rank", r, low=1, high=entries.shape[slots.index(s)]) for s, r in enumerate(ranks)]

    def _check_memory(self, entries: Entries, ranks: list[int], slots: tuple[int, ...]) -> None:
        """Refuse ranks whose core, or entries whose fibres, would not fit."""
        threads = self._threads
        numbers = sum(entries.shape[slots.index(s)] * r for s, r in enumerate(ranks))
        core = math.prod(ranks[s] for s in slots)
        fibres = 56.0 * entries.order * len(entries) if self.start == "hosvd" else 0.0
        check_memory(
            (40 + 12 * threads) * numbers + (32 + 8 * threads) * core + 8.0 * len(entries) + fibres,
            f"a Tucker model of {max(entries.shape):,} rows and ranks {', '.join(str(ranks[s]) for s in slots)}",
            'lower the rank or the size of the vocabulary, or use start="random"',
        )


def _principal_axes(
    factors: list[NDArray[Any]], core: NDArray[np.float64], slots: tuple[int, ...]
) -> tuple[list[NDArray[np.float32]], NDArray[np.float64], list[NDArray[np.float64]]]:
    """Turn factors and core so that slices of the core are orthogonal, largest first; the model stays the same."""
    turned, singular_values = [], []
    for s, u in enumerate(factors):
        unfolding = np.moveaxis(core, slots.index(s), 0).reshape(u.shape[1], -1)
        squares, axes = np.linalg.eigh(unfolding @ unfolding.T)
        squares, axes = squares[::-1], axes[:, ::-1]
        v = u.astype(float) @ axes
        signs = np.where(v[np.abs(v).argmax(axis=0), np.arange(v.shape[1])] < 0, -1.0, 1.0)
        turned.append((v * signs).astype(np.float32))
        singular_values.append(np.sqrt(np.maximum(squares, 0)))
        for mode, slot in enumerate(slots):
            if slot == s:
                core = np.moveaxis(np.tensordot(axes * signs, core, (0, mode)), 0, mode)
    return turned, core, singular_values
