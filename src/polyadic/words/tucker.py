r"""Word vectors by Tucker decomposition.

Higher-order orthogonal iteration (HOOI): the Tucker model of a tensor whose unobserved cells are zero.

With orthonormal factors the optimal core is :math:`G = X \times_1 U_1^\top \dots \times_n U_n^\top`, and

.. math:: \tfrac12 \|X - G \times_1 U_1 \dots \times_n U_n\|^2 = \tfrac12 \big(\|X\|^2 - \|G\|^2\big),

so :math:`f(U) = \tfrac12 \|G\|^2` is maximized. Its gradient for the factor of one mode is :math:`Y_d G_{(d)}^\top`,
where :math:`Y_d` is the unfolding of X contracted with all other factors. Published HOOI takes the leading left
singular vectors of :math:`Y_d`. Here a factor moves to an orthonormal basis of

.. math:: \nabla f + \alpha\, U_d,

which with :math:`\alpha = 0` is one step of orthogonal iteration for these vectors, as :math:`\nabla f = Y_d Y_d^\top
U_d`. The maximum is the same, and :math:`Y_d`, which has a column for every combination of the other widths, is never
formed. For a factor of one mode f is convex and such a step never decreases it. For a factor shared by several modes f
need not be convex; if a step would decrease it, :math:`\alpha` is increased until it does not. A large :math:`\alpha`
is a small step of projected gradient ascent.

References
----------
Kolda, Sun (2008), Scalable tensor decompositions for multi-aspect data mining, on what must not be formed.
Regalia (2013), Monotonically convergent algorithms for symmetric tensor approximation, on shifts of shared factors.
Jin, Kileel, Kolda, Ward (2024), Scalable symmetric Tucker tensor decomposition, on projected gradients.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, replace
from itertools import permutations
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Amount, Count
from polyadic.core.resources import check_memory, thread_count
from polyadic.core.solvers.run import Sweep, run
from polyadic.core.unfolding import mode_dot, unfold
from polyadic.embedding import Embedding
from polyadic.words.base import SMALLER, TensorModel, listed
from polyadic.words.kernels import tucker_core, tucker_predict, tucker_pullback, unfolding_gram

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.core.entries import Entries
    from polyadic.core.forms import Factors


class Tucker(TensorModel):
    r"""Tucker decomposition: orthonormal factor matrices for each mode, and a core tensor of interactions.

    .. math:: \min_{G, U} \tfrac12 \sum_c (x_c - m_c)^2, \qquad
              m_c = \sum_{r_1 \dots r_n} G_{r_1 \dots r_n} \prod_d U^{(d)}_{c_d r_d}, \qquad U^{(d)\top} U^{(d)} = I

    The sum is over all cells; unobserved cells are zeros. Weights of entries are not used. Symmetric entries have one U
    for all modes and a symmetric core, others a U for each mode. The axes of each U are those of the higher-order
    singular value decomposition of the model: the slices of the core along a mode are mutually orthogonal, and their
    norms, the singular values, decrease.

    Parameters
    ----------
    rank : int or sequence of int
        Number of columns of U, or one number per mode for entries that are not symmetric. The core has the product of
        the ranks of all modes as its number of elements. For Tucker1 and Tucker2, give an uncompressed mode its full
        length.
    start : {"random", "hosvd"}
        Initial factors: random, or the leading singular vectors of each unfolding. The latter need more memory and
        time, and are safer for symmetric matrices and for values of both signs.
    power : float
        Exponent :math:`p` of the singular values :math:`\Sigma` in the vectors :math:`U \Sigma^p`. With 1, inner
        products of vectors are those of the slices of the model; 0 ignores the singular values.
    callback : callable, optional
        Function called with the :class:`~polyadic.core.solvers.run.Result` so far after each sweep; its last factor is
        the core.

    Attributes
    ----------
    factors_ : list of ndarray of shape (size of the mode, rank)
        U; one, or one per mode.
    core_ : ndarray of shape (rank, ..., rank)
        G.
    singular_values_ : list of ndarray of shape (rank,)
        :math:`\Sigma` of each factor in decreasing order.
    vectors_ : list of ndarray of shape (size of the mode, rank)
        :math:`U \Sigma^p` of each factor.
    explained_ : float
        Share of the sum of squares of all cells that the model explains.
    history_ : list of float
        Half the squared error at the start and after each sweep.

    References
    ----------
    De Lathauwer, De Moor, Vandewalle (2000), A multilinear singular value decomposition, theorem 2.
    The same authors (2000), On the best rank-1 and rank-(R1, ..., RN) approximation of higher-order tensors, section 4
    and algorithm 4.2.

    Examples
    --------
    >>> from polyadic.core.entries import Entries
    >>> x = Entries.collect([[0, 0, 0], [1, 1, 1], [2, 2, 2]], [1.0, 3.0, 2.0], 3)
    >>> model = Tucker(2, seed=0).fit(x)
    >>> model.singular_values_[0].round(3).tolist(), round(model.explained_, 3)
    ([3.0, 2.0], 0.929)
    >>> abs(model.predict([[1, 1, 1], [0, 1, 2]])).round(3).tolist()
    [3.0, 0.0]
    """

    rank: Count | Sequence[Count] = 50  # type: ignore[assignment] # of several modes
    _: KW_ONLY
    start: Literal["random", "hosvd"] = "random"
    power: Amount = 0.5
    max_iter: Count = 50

    def fit(self, entries: Any) -> Self:
        """Factorize associations of order two or more, Entries or an array or sparse array with zeros elsewhere.

        InputError is raised if there are no entries, unobserved cells are missing values, a setting is out of range, or
        memory is insufficient.
        """
        self.check()
        entries = listed(entries)
        slots = (0,) * entries.order if entries.symmetric else tuple(range(entries.order))
        number = max(slots) + 1
        ranks = list(self.rank) if isinstance(self.rank, Iterable) else [self.rank] * number
        if len(ranks) != number:
            raise InputError(
                f"rank must be a single number or one number for each of {number} factors; got {self.rank}", "rank"
            )
        sizes = [entries.shape[slots.index(s)] for s in range(number)]
        for n, r in zip(sizes, ranks, strict=True):
            check_int("rank", r, low=1, high=n)
        numbers = sum(n * r for n, r in zip(sizes, ranks, strict=True))
        size = math.prod(ranks[s] for s in slots)
        fibres = 56.0 * entries.order * len(entries) if self.start == "hosvd" else 0.0
        needed = (40 + 12 * self._threads) * numbers + (32 + 8 * self._threads) * size + 8.0 * len(entries) + fibres
        what = f"a Tucker model of {max(entries.shape):,} rows and ranks {', '.join(str(ranks[s]) for s in slots)}"
        check_memory(needed, what, f'{SMALLER}, or use start="random"')
        rng = np.random.default_rng(self.seed)
        if self.start == "hosvd":
            start = hosvd(entries, ranks, rng=rng, threads=self.threads)
        else:
            start = [rng.standard_normal((n, r)).astype(np.float32) for n, r in zip(sizes, ranks, strict=True)]
        solver = hooi(entries, start, threads=self.threads)
        *factors, core = self._keep(run(solver, max_iter=self.max_iter, tol=self.tol, callback=self.callback))
        self.factors_, self.core_, self.singular_values_ = _principal_axes(factors, core, slots)
        self.vectors_ = [
            (u * s**self.power).astype(np.float32) for u, s in zip(self.factors_, self.singular_values_, strict=True)
        ]
        explained = float(np.vdot(core, core))
        self.explained_ = explained / (explained + 2 * self.history_[-1] or 1.0)
        return self

    def _predicted(self, tuples: NDArray[Any]) -> NDArray[np.float32]:
        slots = (0,) * self.core_.ndim if len(self.factors_) == 1 else range(self.core_.ndim)
        return tucker_predict(tuples, self.factors_, self.core_, slots=slots, threads=self._threads)

    def embedding(self, words: Sequence[str], *, counts: NDArray[np.integer] | None = None, mode: int = 0) -> Embedding:
        """Return the word vectors of one mode as an Embedding with words and counts.

        Symmetric entries have one factor for all modes; ``mode`` is the index of the factor.
        """
        check_int("mode", mode, low=0, high=len(self.vectors_) - 1)
        return Embedding(words, self.vectors_[mode], counts=counts)


def _principal_axes(
    factors: list[NDArray[Any]], core: NDArray[np.float64], slots: tuple[int, ...]
) -> tuple[list[NDArray[np.float32]], NDArray[np.float64], list[NDArray[np.float64]]]:
    """Rotate the factors and the core tensor to principal axes, in decreasing order of singular values."""
    turned, singular_values = [], []
    for s, u in enumerate(factors):
        unfolding = unfold(core, slots.index(s))
        squares, axes = np.linalg.eigh(unfolding @ unfolding.T)
        squares, axes = squares[::-1], axes[:, ::-1]
        v = u.astype(float) @ axes
        signs = np.where(v[np.abs(v).argmax(axis=0), np.arange(v.shape[1])] < 0, -1.0, 1.0)
        turned.append((v * signs).astype(np.float32))
        singular_values.append(np.sqrt(np.maximum(squares, 0)))
        for mode, slot in enumerate(slots):
            if slot == s:
                core = mode_dot(core, (axes * signs).T, mode)
    return turned, core, singular_values


LARGEST_SHIFT = 1e4
"""Largest shift, relative to the largest eigenvalue of ``U' grad f``; smaller steps are below rounding errors."""
POWERS = 3  # passes of orthogonal iteration for a start; later sweeps refine it


def hooi(
    entries: Entries, start: Factors, *, slots: Sequence[int] | None = None, threads: int | None = None
) -> Iterator[Sweep]:
    """Fit a Tucker decomposition by higher-order orthogonal iteration, updating each factor matrix once per sweep.

    ``slots`` names the factor of each mode; by default one per mode, or one for all modes of symmetric entries. A sweep
    has the core as its last factor, and half the squared error, which never increases, over all cells.
    """
    tensor = _Tensor(entries, slots, threads)
    if set(tensor.slots) != set(range(len(start))):
        raise InputError(f"slots must contain the indices of all {len(start)} factors; got {tensor.slots}", "slots")
    for s, n in zip(tensor.slots, entries.shape, strict=True):
        if start[s].ndim != 2 or not n == len(start[s]) >= start[s].shape[1] > 0:
            raise InputError(f"factor {s} must have {n} rows and no more columns than rows; got shape {start[s].shape}")
    U = [np.linalg.qr(u)[0] for u in start]
    G = tensor.core(U)
    size = _square(G)
    yield Sweep([*U, G], 0.5 * (tensor.norm - size))
    while True:
        before = size
        for s in range(len(U)):
            U, G, size = _ascend(tensor, U, G, s)
        if size <= before:
            return
        yield Sweep([*U, G], 0.5 * (tensor.norm - size))


def hosvd(entries: Entries, ranks: Sequence[int], *, rng: np.random.Generator, threads: int | None = None) -> Factors:
    r"""Return approximate leading left singular vectors of each mode's unfolding, shape (size, rank).

    A few passes of orthogonal iteration are made with :math:`X_{(d)} X_{(d)}^\top`, which is never formed.
    """
    tensor = _Tensor(entries, None, threads)
    factors = []
    for s, rank in enumerate(ranks):
        mode = tensor.slots.index(s)
        size = entries.shape[mode]
        check_int("rank", rank, low=1, high=size)
        indices, values = tensor.along(mode)
        spare = min(size, rank + 10)  # the last columns converge slowly and are dropped
        Q = np.linalg.qr(rng.standard_normal((size, spare)))[0].astype(np.float32)
        for _ in range(POWERS):
            Q = np.linalg.qr(unfolding_gram(indices, values, Q, threads=tensor.threads))[0]
        _, vectors = np.linalg.eigh((Q.T @ unfolding_gram(indices, values, Q, threads=tensor.threads)).astype(float))
        factors.append((Q @ vectors[:, ::-1][:, :rank]).astype(np.float32))
    return factors


class _Tensor:
    """Sparse tensor that can be multiplied by factor matrices in all modes."""

    def __init__(self, entries: Entries, slots: Sequence[int] | None, threads: int | None) -> None:
        if entries.unobserved == "missing":
            raise InputError('HOOI treats unobserved cells as zeros; use entries with unobserved="zero"')
        if entries.order < 2:
            raise InputError(f"HOOI requires entries with at least two modes; got order {entries.order}")
        default = (0,) * entries.order if entries.symmetric else range(entries.order)
        self.slots = tuple(default if slots is None else slots)
        if len(self.slots) != entries.order:
            got = f"{self.slots} for order {entries.order}"
            raise InputError(f"slots must contain one factor index for each mode; got {got}", "slots")
        if entries.symmetric and len(set(self.slots)) > 1:
            raise InputError(f"symmetric entries must share a single factor; got slots {self.slots}")
        if not entries.symmetric:
            order = np.lexsort(entries.indices.T[::-1])
            indices = entries.indices.T[:, order].T
            if (indices[1:] == indices[:-1]).all(axis=1).any():
                raise InputError("HOOI requires each cell to be listed only once; sum duplicates with Entries.collect")
            entries = replace(entries, indices=indices, values=entries.values[order], weights=None)
        self.entries, self.threads = entries, thread_count(threads)
        self._values = entries.values * entries.multiplicity() if entries.symmetric else entries.values
        self.norm = float(np.dot(self._values.astype(float), entries.values))

    def core(self, U: Factors) -> NDArray[np.float64]:
        """Contract the tensor with the factor matrices in all modes, and return the core tensor."""
        G = tucker_core(self.entries.indices, self._values, U, slots=self.slots, threads=self.threads)
        if not self.entries.symmetric:
            return G
        symmetric = np.zeros_like(G)
        for axes in permutations(range(G.ndim)):  # each entry stands for its permutations
            symmetric += np.transpose(G, axes)
        return symmetric / math.factorial(G.ndim)

    def gradients(self, U: Factors, G: NDArray[np.float64]) -> Factors:
        r"""Return the gradients of :math:`\|G\|^2 / 2`, for the core tensor G."""
        return tucker_pullback(self.entries.indices, self._values, U, G, slots=self.slots, threads=self.threads)

    def along(self, mode: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the entries sorted into fibres along a mode; a fibre of symmetric ones stands for its permutations."""
        entries = self.entries
        if not entries.symmetric:
            others = [c for c in range(entries.order) if c != mode]
            order = np.lexsort(entries.indices[:, others[::-1]].T)
            return entries.indices[order][:, [*others, mode]], entries.values[order]
        columns, parts, sources = entries.indices.T, [], []
        for leaf in range(entries.order):
            others = [c for c in range(entries.order) if c != leaf]
            new = columns[leaf] != columns[leaf - 1] if leaf else np.ones(len(entries), bool)  # not the same cell twice
            parts.append(columns[[*others, leaf]][:, new])
            sources.append(np.flatnonzero(new))
        cells, source = np.concatenate(parts, axis=1), np.concatenate(sources)
        order = np.lexsort(cells[-2::-1])
        cells, values = cells[:, order], entries.values[source[order]].astype(float)
        starts = np.flatnonzero(np.r_[True, (cells[:-1, 1:] != cells[:-1, :-1]).any(axis=0)])
        fibres = replace(
            entries, indices=cells[:-1, starts].T, values=values[starts], shape=entries.shape[1:], weights=None
        )
        values *= np.repeat(np.sqrt(fibres.multiplicity()), np.diff(starts, append=len(values)))
        return cells.T, values


def _ascend(tensor: _Tensor, U: Factors, G: NDArray[np.float64], s: int) -> tuple[Factors, NDArray[np.float64], float]:
    """Update one factor matrix to increase the norm of the core tensor, unless no step does."""
    size, P = _square(G), tensor.gradients(U, G)[s]
    unit = float(np.linalg.norm(U[s].T @ P, 2))
    shift = 0.0
    while shift <= LARGEST_SHIFT:
        basis = np.linalg.qr(P.astype(float) + shift * unit * U[s])[0]
        moved = [basis.astype(u.dtype) if k == s else u for k, u in enumerate(U)]
        larger = tensor.core(moved)
        if _square(larger) > size:
            return moved, larger, _square(larger)
        shift = max(1.0, 10 * shift)
    return U, G, size


def _square(G: NDArray[np.float64]) -> float:
    return float(np.vdot(G, G))
