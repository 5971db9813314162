r"""Numba kernels for word vectors: GloVe, Poisson CP and Tucker models.

GloVe: words are divided into groups. In a round of a tournament every group is paired with one other, so the pairs of
a round share no word, and their cells are updated in parallel; all rounds cover all pairs. No two threads write to the
same row, so the result does not depend on the number of threads.

Poisson CP: all entries of a fibre share the words of its prefix, so the product of their rows is computed once. Each
leaf then costs one dot product and one vector update, for any mode. No row is stored per entry.

Tucker: ``factors`` are matrices of any widths; ``slots`` gives the factor of each mode. A factor may be shared, so all
zeros is a symmetric model. The core has the width of its factor in each mode.

The modes of an entry are a root (the first), a leaf (the last) and the middle between them; a fibre is a run of entries
that share all but the leaf. With ``k`` the Kronecker product of the middle rows of a fibre and ``s = sum_e x_e
U[leaf]`` over its entries, the contribution of a root to the contraction with all modes but the first is ``sum_fibres
k s'``: a product of two thin matrices, computed for ``BATCH`` fibres at a time. Conversely, with ``C`` the core
contracted with the row of the root, ``k' C`` predicts the leaves and ``C s`` is the gradient of ``k``. The contraction
of the core with the roots is one dense product for many roots, done by the wrappers.

Factors of different widths are concatenated in the flat array ``U``: row ``i`` of mode ``d`` begins at ``at[d] + i *
ranks[d]``. Modes that share a factor have the same ``at``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Array, Factors, Floats, Ints, Ints32
from polyadic.core.kernels.common import PARTS, checked, frozen, imap, in_threads, sum_of_parts, table

Parameters = tuple[Floats, Floats, Floats, Floats]
FAST = {"reassoc", "contract", "nsz", "arcp"}  # see ``cp.py``: sums may be reordered; infinities and NaN are preserved
BLOCK = 1 << 22  # maximum size of the core contracted with the rows of a block of roots
PART = 1 << 20
"""Entries whose gradients are summed in the precision of the factors before they are added in double precision."""
POSITION_RATE = np.float32(0.05)  # learning rate of the position weights, relative to that of the vectors
BATCH = 128  # fibres of a root that are multiplied at once: enough for a fast dense product, few enough for the cache


# ---- GloVe


@dataclass(frozen=True, eq=False)
class GloveCells:
    """Cells of a co-occurrence matrix in the order of GloVe updates, with log counts and weights."""

    rows: Ints32
    columns: Ints32
    logs: Floats
    weights: Floats
    size: int  # number of words
    rounds: list[list[tuple[int, int]]]  # spans of cells that share no word, by round


def glove_arrange(
    indices: AnyArray, logs: AnyArray, weights: AnyArray, *, size: int, rng: np.random.Generator
) -> GloveCells:
    """Copy the cells of a co-occurrence matrix in random order, in rounds that can be updated in parallel."""
    n = len(indices)
    if indices.shape != (n, 2) or not (len(logs) == len(weights) == n):
        raise ValueError(
            f"indices must have shape (n, 2), with n logs and n weights; got shape {indices.shape} and {len(logs)} logs"
        )
    if n and not (int(indices.min()) >= 0 and int(indices.max()) < size):
        raise ValueError(f"indices must be below {size}; got {int(indices.min())} to {int(indices.max())}")
    i, j = (indices[:, d] % PARTS for d in range(2))  # neighbours in frequency go to different groups
    pair = np.minimum(i, j).astype(np.int32) * PARTS + np.maximum(i, j)
    order = rng.permutation(n)
    order = order[np.argsort(pair[order], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(np.bincount(pair, minlength=PARTS * PARTS))]).tolist()
    rounds = [[(starts[p * PARTS + q], starts[p * PARTS + q + 1]) for p, q in some] for some in _tournament(PARTS)]
    rows, columns = (frozen(indices[order, d], np.int32) for d in range(2))
    return GloveCells(rows, columns, frozen(logs[order], np.float32), frozen(weights[order], np.float32), size, rounds)


def glove_epoch(cells: GloveCells, parameters: Parameters, *, learning_rate: float, threads: int) -> float:
    """Update GloVe parameters in place by one epoch of AdaGrad; return the sum of losses.

    ``parameters`` are the vectors of words and contexts (2, V, R), their biases (2, V), and the accumulated squared
    gradients of both.
    """
    U, b, S, t = parameters
    if not (U.ndim == 3 and U.shape[:2] == b.shape == t.shape == (2, cells.size) and S.shape == U.shape):
        shapes = [p.shape for p in parameters]
        raise ValueError(f"the shapes of the parameters must match {cells.size} words; got {shapes}")
    if any(p.dtype != np.float32 or not p.flags.c_contiguous or not p.flags.writeable for p in parameters):
        raise ValueError("the parameters must be contiguous, writeable float32 arrays")
    fixed = cells.rows, cells.columns, cells.logs, cells.weights, np.float32(learning_rate), *parameters
    total = 0.0
    for spans in cells.rounds:

        def work(k: int, spans: list[tuple[int, int]] = spans) -> float:
            return _glove_cells(*fixed, *spans[k])

        total += sum(in_threads(work, len(spans), threads))
    return total


def _tournament(groups: int) -> list[list[tuple[int, int]]]:
    """Return a schedule that pairs each group with itself and every other: the last is fixed, the others rotate."""
    rounds, others = [[(g, g) for g in range(groups)]], groups - 1
    for shift in range(others):
        met = [((shift + k) % others, (shift - k) % others) for k in range(1, groups // 2)]
        rounds.append([(min(pair), max(pair)) for pair in [(shift, others), *met]])
    return rounds


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _glove_cells(rows, columns, logs, weights, learning_rate, U, b, S, t, first, last):
    """Numba kernel: update the parameters of :func:`glove_epoch` on cells first..last; return the sum of losses."""
    rank = U.shape[2]
    one = U.dtype.type(1)
    value = 0.0
    for e in range(first, last):
        i, j = rows[e], columns[e]
        for _ in range(1 if i == j else 2):
            w, c, sw, sc = U[0, i], U[1, j], S[0, i], S[1, j]
            m = U.dtype.type(0)
            for r in range(rank):
                m += w[r] * c[r]
            error = m + b[0, i] + b[1, j] - logs[e]
            g = weights[e] * error
            value += 0.5 * g * error
            g *= learning_rate
            for r in range(rank):
                dw, dc = g * c[r], g * w[r]
                w[r] -= dw * (one / math.sqrt(sw[r]))
                c[r] -= dc * (one / math.sqrt(sc[r]))
                sw[r] += dw * dw
                sc[r] += dc * dc
            b[0, i] -= g * (one / math.sqrt(t[0, i]))
            b[1, j] -= g * (one / math.sqrt(t[1, j]))
            t[0, i] += g * g
            t[1, j] += g * g
            i, j = j, i
    return value


# ---- Poisson CP


def cp_poisson(
    indices: AnyArray,
    values: AnyArray,
    U: AnyArray,
    *,
    offsets: Sequence[int],
    mode: int,
    floor: float,
    permuted: bool = False,
    measured: bool = False,
    threads: int,
) -> tuple[float, AnyArray]:
    r"""Return the Poisson log-likelihood of the counts and the multiplicative update of one factor matrix.

    The log-likelihood :math:`\sum_e x_e \log m_e` of counts :math:`x` is 0 if not ``measured``.

    .. math:: \Phi_{ir} = \sum_{e:\, e_n = i} \frac{x_e}{\max(m_e, \epsilon)} \prod_{d \ne n} U_{o_d + e_d, r}, \qquad
              m_e = \sum_r \prod_d U_{o_d + e_d, r}

    ``U`` stacks the factors of all modes from the rows ``offsets``, :math:`o`; below ``floor``, :math:`\epsilon`, the
    logarithm is continued as its tangent. With ``permuted`` each entry stands for all permutations of its indices; a
    tuple that repeats an index is visited more often than it has cells: divide its value accordingly.
    """
    bounds = [*offsets, len(U)]
    if bounds[0] != 0 or bounds != sorted(bounds) or not 0 <= mode < len(offsets):
        raise ValueError(
            f"offsets must increase from 0, and mode must be below {len(offsets)}; got {list(offsets)} and {mode}"
        )
    columns, at = checked(indices, offsets, len(U))
    order, n = columns.shape
    if n and permuted and columns.max() >= np.diff(bounds).min():
        raise ValueError(
            f"indices must be below the number of rows of each mode, {np.diff(bounds).tolist()}; got {columns.max()}"
        )
    if values.shape != (n,):
        raise ValueError(f"values must have one element for each of {n} entries; got shape {values.shape}")
    values, epsilon = frozen(values, U.dtype), U.dtype.type(floor)
    orders = list(permutations(range(order))) if permuted else [tuple(range(order))]
    places = [(np.ascontiguousarray(at[list(modes)]), modes.index(mode)) for modes in orders]

    T = table(U)

    def work(first: int, last: int, phi: AnyArray) -> float:
        return sum(
            _poisson_fibres(columns, offset, values, T, target, epsilon, measured, first, last, phi)
            for offset, target in places
        )

    return sum_of_parts(work, n, [], U[bounds[mode] : bounds[mode + 1]], threads=threads)


@njit(cache=True, nogil=True)
def _fibre_end(indices, start, last):
    """Return the end of the tensor fibre that begins at entry ``start``."""
    e = start + 1
    while e < last:
        for d in range(indices.shape[0] - 1):
            if indices[d, e] != indices[d, start]:
                return e
        e += 1
    return e


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _log_likelihood(x, m, floor):
    """Return the log-likelihood term ``x log m`` of a count, linearized where ``m`` is below ``floor``."""
    if m < floor:
        return x * (math.log(floor) + (m - floor) / floor)
    return x * math.log(m)


@njit(cache=True, nogil=True, fastmath=FAST)
def _poisson_fibres(indices, offsets, values, T, target, floor, measured, first, last, phi):
    """Numba kernel: add the contributions of entries to the multiplicative Poisson update of one mode.

    Adds ``sum_e x_e / max(m_e, floor) prod_(d != target) U[o_d + e_d]`` to row ``e_target`` of ``phi``, where ``U[i]``
    is ``T[i, 0]``. Returns ``sum_e x_e log m_e`` of entries first..last if ``measured``, else 0.
    """
    rank, leaf = T.shape[2], indices.shape[0] - 1
    others, w, s = np.empty(rank, T.dtype), np.empty(rank, T.dtype), np.empty(rank, T.dtype)
    total = 0.0
    start = first
    while start < last:
        end = _fibre_end(indices, start, last)
        others[:] = 1
        for d in range(leaf):
            if d != target:
                i = offsets[d] + indices[d, start]
                for r in range(rank):
                    others[r] *= T[i, 0, r]
        if target == leaf:
            for r in range(rank):
                w[r] = others[r]
        else:
            i = offsets[target] + indices[target, start]
            for r in range(rank):
                w[r] = others[r] * T[i, 0, r]
                s[r] = 0
        for e in range(start, end):
            x = values[e]
            if x == 0:
                continue
            at = indices[leaf, e]
            k = offsets[leaf] + at
            m = T.dtype.type(0)
            for r in range(rank):
                m += w[r] * T[k, 0, r]
            if measured:
                total += _log_likelihood(x, m, floor)
            c = x / max(m, floor)
            if target == leaf:
                for r in range(rank):
                    phi[at, 0, r] += c * w[r]
            else:
                for r in range(rank):
                    s[r] += c * T[k, 0, r]
        if target != leaf:
            i = indices[target, start]
            for r in range(rank):
                phi[i, 0, r] += s[r] * others[r]
        start = end
    return total


# ---- Tucker


class _Tree(NamedTuple):
    """Sparse tensor stored as a tree of roots, fibres and leaves, with all factor matrices in one flat array."""

    columns: AnyArray
    starts: Ints  # first entry of each fibre, and the number of entries
    roots: Ints  # first fibre of each root, and the number of fibres
    at: Ints
    ranks: Ints
    U: AnyArray
    begins: Ints  # offset of each factor in ``U``

    @property
    def contracted(self) -> tuple[int, int]:
        """Shape of the core tensor contracted along the first mode: (product of the middle ranks, last rank)."""
        return math.prod(self.ranks[1:-1].tolist()), int(self.ranks[-1])

    def shares(self) -> list[range]:
        """Partition the tree roots into ranges with about equal numbers of tensor fibres."""
        fibres = np.linspace(0, self.roots[-1], max(1, min(PARTS, len(self.roots) - 1)) + 1)
        bounds = np.searchsorted(self.roots, fibres)
        bounds[0], bounds[-1] = 0, len(self.roots) - 1
        return [range(a, b) for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]

    def blocks(self, share: range) -> Iterator[tuple[int, AnyArray, Ints]]:
        """Yield, for each block of tree roots, the first root, the factor rows, and the row positions in ``U``."""
        size = max(1, BLOCK // math.prod(self.contracted))
        for first in range(share.start, share.stop, size):
            entries = self.starts[self.roots[first : min(first + size, share.stop)]]
            rows = self.at[0] + self.columns[0, entries].astype(np.int64)[:, None] * self.ranks[0]
            places = rows + np.arange(self.ranks[0])
            yield first, self.U[places], places


def tucker_core(indices: AnyArray, values: AnyArray, factors: Factors, *, slots: Sequence[int], threads: int) -> Array:
    r"""Return the core :math:`G_{r_1 \dots r_n} = \sum_e x_e \prod_d U^{(d)}_{e_d r_d}`; fastest for sorted indices."""
    tree = _tree(indices, factors, slots)
    values = _one_per_entry("values", values, tree.columns, tree.U)
    shares = tree.shares()

    def part(k: int) -> Array:
        core = np.zeros((int(tree.ranks[0]), math.prod(tree.contracted)))
        for first, rows, _ in tree.blocks(shares[k]):
            A = np.empty((len(rows), *tree.contracted), tree.U.dtype)
            _core_fibres(*tree[:5], values, tree.U, first, A)
            core += rows.T @ A.reshape(len(rows), -1)
        return core

    return _sum(part, len(shares), threads).reshape(tree.ranks)


def tucker_predict(
    indices: AnyArray, factors: Factors, core: AnyArray, *, slots: Sequence[int], threads: int
) -> AnyArray:
    r"""Return the predicted entries :math:`m_e = \sum_{r_1 \dots r_n} G_{r_1 \dots r_n} \prod_d U^{(d)}_{e_d r_d}`."""
    tree = _tree(indices, factors, slots)
    G = _unfolded(core, tree)
    predictions = np.empty(tree.columns.shape[1], tree.U.dtype)
    shares = tree.shares()

    def part(k: int) -> None:
        for first, rows, _ in tree.blocks(shares[k]):
            C = frozen((rows @ G).reshape(len(rows), *tree.contracted))
            _predict_tucker(*tree[:5], tree.U, first, C, predictions)

    in_threads(part, len(shares), threads)
    return predictions


def tucker_pullback(
    indices: AnyArray,
    derivatives: AnyArray,
    factors: Factors,
    core: AnyArray,
    *,
    slots: Sequence[int],
    threads: int,
) -> Factors:
    r"""Return the gradient :math:`\sum_e d_e\, \partial m_e / \partial U^{(d)}` of each factor matrix.

    The gradient of the core is ``tucker_core`` of the derivatives.
    """
    tree = _tree(indices, factors, slots)
    derivatives = _one_per_entry("derivatives", derivatives, tree.columns, tree.U)
    G = _unfolded(core, tree)
    shares = tree.shares()

    def part(k: int) -> AnyArray:
        total, dU, entries = np.zeros(len(tree.U)), np.zeros_like(tree.U), 0
        for first, rows, places in tree.blocks(shares[k]):
            C = frozen((rows @ G).reshape(len(rows), *tree.contracted))
            A = np.empty(C.shape, tree.U.dtype)
            _pullback_tucker(*tree[:5], derivatives, tree.U, first, C, A, dU)
            np.add.at(dU, places, A.reshape(len(rows), -1) @ G.T)
            entries += int(np.diff(tree.starts[tree.roots[[first, first + len(rows)]]])[0])
            if entries > PART:
                total += dU
                dU[:], entries = 0, 0
        total += dU
        return total

    gradients = np.split(_sum(part, len(shares), threads).astype(tree.U.dtype), tree.begins[1:].tolist())
    return [g.reshape(u.shape) for g, u in zip(gradients, factors, strict=True)]


def unfolding_gram(indices: AnyArray, values: AnyArray, Q: AnyArray, *, threads: int) -> AnyArray:
    r"""Return :math:`X_{(n)} X_{(n)}^\top Q`; entries that share all but the last index must be adjacent."""
    columns, Q = frozen(indices.T), frozen(Q)
    _refuse_outside(columns[-1], len(Q), len(columns) - 1)
    x = _one_per_entry("values", values, columns, Q)
    starts, leaves = _runs(columns[:-1]), frozen(columns[-1])
    bounds = np.linspace(0, len(starts) - 1, PARTS + 1).astype(np.int64)

    def part(k: int) -> Array:
        total, product = np.zeros(Q.shape), np.zeros(Q.shape, Q.dtype)
        size = max(1, len(starts) * PART // max(columns.shape[1], 1))
        for first in range(bounds[k], bounds[k + 1], size):
            _gram_fibres(starts, leaves, x, Q, first, min(first + size, bounds[k + 1]), product)
            total += product
            product[:] = 0
        return total

    return _sum(part, PARTS, threads).astype(Q.dtype)


def _sum(part: Callable[[int], Array], parts: int, threads: int) -> Array:
    """Compute partial sums in parallel threads and add them in a fixed order."""
    return functools.reduce(np.ndarray.__iadd__, imap(part, range(parts), threads))


def _tree(indices: AnyArray, factors: Factors, slots: Sequence[int]) -> _Tree:
    """Build the tree of roots and fibres of a sparse tensor; raise ValueError if an index is out of range."""
    if indices.ndim != 2 or indices.shape[1] < 2 or any(u.ndim != 2 for u in factors):
        got = f"shapes {indices.shape} and {[u.shape for u in factors]}"
        raise ValueError(f"indices must have at least two columns, and factors must have two dimensions; got {got}")
    if len(slots) != indices.shape[1] or not set(slots) <= set(range(len(factors))):
        raise ValueError(
            f"slots must contain a factor index from 0 to {len(factors) - 1} for each mode; got {tuple(slots)}"
        )
    columns = frozen(indices.T)
    for d, column in enumerate(columns):
        _refuse_outside(column, len(factors[slots[d]]), d)
    begins = np.cumsum([0, *(u.size for u in factors[:-1])])
    U = frozen(np.concatenate([np.ravel(u) for u in factors]), factors[0].dtype)
    starts = _runs(columns[:-1])
    roots = _runs(columns[:1, starts[:-1]])
    ranks = np.array([factors[s].shape[1] for s in slots], np.int64)
    return _Tree(columns, starts, roots, frozen(begins[list(slots)]), frozen(ranks), U, begins)


def _runs(columns: AnyArray) -> Ints:
    """Return the start of each run of equal columns, and the end of the last run."""
    changes = np.zeros(columns.shape[1], bool)
    changes[:1] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return frozen(np.append(np.flatnonzero(changes), columns.shape[1]))


def _refuse_outside(column: AnyArray, size: int, mode: int) -> None:
    if column.size and not (int(column.min()) >= 0 and int(column.max()) < size):
        allowed = f"from 0 to {size - 1}, the last row of the factor"
        raise ValueError(f"indices of mode {mode} must be {allowed}; got {column.min()} to {column.max()}")


def _one_per_entry(name: str, numbers: AnyArray, columns: AnyArray, U: AnyArray) -> AnyArray:
    if len(numbers) != columns.shape[1]:
        raise ValueError(f"{name} must have one element for each of {columns.shape[1]} entries; got {len(numbers)}")
    return frozen(numbers, U.dtype)


def _unfolded(core: AnyArray, tree: _Tree) -> AnyArray:
    """Return the core tensor unfolded along the first mode."""
    if core.shape != tuple(tree.ranks.tolist()):
        raise ValueError(f"the core must have shape {tuple(tree.ranks.tolist())}; got {core.shape}")
    return np.ascontiguousarray(core, tree.U.dtype).reshape(len(core), -1)


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _middle(indices, at, ranks, U, e, k):
    """Numba kernel: compute the Kronecker product of the factor rows of entry ``e`` in all middle modes."""
    k[0] = 1
    filled = 1
    for d in range(1, indices.shape[0] - 1):
        row = at[d] + indices[d, e] * ranks[d]
        for q in range(filled - 1, -1, -1):  # from the back, so that no value is overwritten before it is used
            before = k[q]
            for r in range(ranks[d]):
                k[q * ranks[d] + r] = before * U[row + r]
        filled *= ranks[d]


@njit(cache=True, nogil=True, fastmath=FAST, forceinline=True)
def _add_to_middle(indices, at, ranks, U, e, dk, dU):
    """Numba kernel: add the gradient of the Kronecker product to the factor rows of entry ``e`` in the middle modes."""
    last_mode = indices.shape[0] - 1
    if last_mode == 2:  # order 3, the common case: the product is the row itself
        row = at[1] + indices[1, e] * ranks[1]
        for q in range(len(dk)):
            dU[row + q] += dk[q]
        return
    for q in range(len(dk)):
        below = len(dk)
        for d in range(1, last_mode):
            below //= ranks[d]
            others, rest = dk[q], q
            for c in range(last_mode - 1, 0, -1):
                if c != d:
                    others *= U[at[c] + indices[c, e] * ranks[c] + rest % ranks[c]]
                rest //= ranks[c]
            dU[at[d] + indices[d, e] * ranks[d] + q // below % ranks[d]] += others


@njit(cache=True, nogil=True, fastmath=FAST)
def _core_fibres(indices, starts, roots, at, ranks, values, U, first, A):
    """Numba kernel: write ``A[b] = sum_e values_e middle_e leaf_e'`` for ``len(A)`` roots from ``first`` on."""
    leaf = indices.shape[0] - 1
    rank = ranks[leaf]
    K, S = np.empty((BATCH, A.shape[1]), U.dtype), np.empty((BATCH, rank), U.dtype)
    for b in range(len(A)):
        A[b] = 0
        for f in range(roots[first + b], roots[first + b + 1], BATCH):
            n = min(BATCH, roots[first + b + 1] - f)
            S[:n] = 0
            for g in range(n):
                _middle(indices, at, ranks, U, starts[f + g], K[g])
                for e in range(starts[f + g], starts[f + g + 1]):
                    row = at[leaf] + indices[leaf, e] * rank
                    for r in range(rank):
                        S[g, r] += values[e] * U[row + r]
            A[b] += np.dot(K[:n].T, S[:n])


@njit(cache=True, nogil=True, fastmath=FAST)
def _pullback_tucker(indices, starts, roots, at, ranks, derivatives, U, first, C, A, dU):
    """Numba kernel: add ``sum_e derivatives_e dm_e/dU`` of middle and leaf modes; write ``A`` as _core_fibres does."""
    leaf = indices.shape[0] - 1
    rank = ranks[leaf]
    K, S = np.empty((BATCH, A.shape[1]), U.dtype), np.empty((BATCH, rank), U.dtype)
    for b in range(len(A)):
        A[b] = 0
        for f in range(roots[first + b], roots[first + b + 1], BATCH):
            n = min(BATCH, roots[first + b + 1] - f)
            for g in range(n):
                _middle(indices, at, ranks, U, starts[f + g], K[g])
            W = np.dot(K[:n], C[b])
            S[:n] = 0
            for g in range(n):
                for e in range(starts[f + g], starts[f + g + 1]):
                    row = at[leaf] + indices[leaf, e] * rank
                    for r in range(rank):
                        S[g, r] += derivatives[e] * U[row + r]
                        dU[row + r] += derivatives[e] * W[g, r]
            A[b] += np.dot(K[:n].T, S[:n])
            dK = np.dot(S[:n], C[b].T)
            for g in range(n):
                _add_to_middle(indices, at, ranks, U, starts[f + g], dK[g], dU)


@njit(cache=True, nogil=True, fastmath=FAST)
def _predict_tucker(indices, starts, roots, at, ranks, U, first, C, predictions):
    """Numba kernel: write ``m_e = middle_e' C[root] leaf_e`` for the entries of ``len(C)`` roots from ``first`` on."""
    leaf = indices.shape[0] - 1
    rank = ranks[leaf]
    K = np.empty((BATCH, C.shape[1]), U.dtype)
    for b in range(len(C)):
        for f in range(roots[first + b], roots[first + b + 1], BATCH):
            n = min(BATCH, roots[first + b + 1] - f)
            for g in range(n):
                _middle(indices, at, ranks, U, starts[f + g], K[g])
            W = np.dot(K[:n], C[b])
            for g in range(n):
                for e in range(starts[f + g], starts[f + g + 1]):
                    row = at[leaf] + indices[leaf, e] * rank
                    m = U.dtype.type(0)
                    for r in range(rank):
                        m += W[g, r] * U[row + r]
                    predictions[e] = m


@njit(cache=True, nogil=True, fastmath=FAST)
def _gram_fibres(starts, leaves, values, Q, first, last, product):
    """Numba kernel: add the product ``X X' Q`` to ``product``, for a range of columns of the sparse matrix ``X``."""
    rank = Q.shape[1]
    t = np.empty(rank, Q.dtype)
    for f in range(first, last):
        t[:] = 0
        for e in range(starts[f], starts[f + 1]):
            for r in range(rank):
                t[r] += values[e] * Q[leaves[e], r]
        for e in range(starts[f], starts[f + 1]):
            for r in range(rank):
                product[leaves[e], r] += values[e] * t[r]


# ---- continuous bag of words with position weights


def cbow_epoch(
    ids: Ints32,
    sentences: Ints,
    U: Floats,
    C: Floats,
    D: Floats,
    kept: Array,
    table: Ints32,
    *,
    negative: int,
    rates: Sequence[float],
    state: np.uint64,
) -> tuple[float, int]:
    """Update the vectors in place on the words of some sentences; return the loss and the number of predicted words.

    An id that is not a row of ``U`` is an unknown word; it takes up a position, but is not used. A word is predicted
    with the probability ``kept``, and negative samples are drawn from ``table``. The learning rate changes linearly
    from the first of ``rates`` to the second.
    """
    if not (U.shape == C.shape and D.shape[1] == U.shape[1] and len(D) % 2 == 0 and len(kept) == len(U)):
        shapes = f"{U.shape}, {C.shape}, {D.shape} and {kept.shape}"
        raise ValueError(f"the shapes of U, C, D and kept do not match: {shapes}")
    if len(table) & (len(table) - 1) or table.min() < 0 or table.max() >= len(U) or sentences[-1] > len(ids):
        raise ValueError("table must have 2^k ids that are rows of U, and sentences must end inside ids")
    return _cbow(ids, sentences, U, C, D, kept, table, negative, rates[0], rates[1], np.uint64(state))


@njit(cache=True, nogil=True, inline="always")
def _random(state):
    """Return the next state of the generator and 64 random bits (splitmix64: Steele, Lea, Flood 2014)."""
    state += np.uint64(0x9E3779B97F4A7C15)
    z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state, z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _cbow(ids, sentences, U, C, D, kept, table, negative, first_rate, last_rate, state):
    V, rank = U.shape
    width = len(D) // 2
    mask, unit = np.uint64(len(table) - 1), 1.0 / (1 << 53)
    h, g = np.empty(rank, np.float32), np.empty(rank, np.float32)
    loss, words = 0.0, 0
    for s in range(len(sentences) - 1):
        low, high = sentences[s], sentences[s + 1]
        rate = np.float32(first_rate + (last_rate - first_rate) * s / (len(sentences) - 1))
        for i in range(low, high):
            t = ids[i]
            if t < 0 or t >= V:
                continue
            state, bits = _random(state)
            if (bits >> np.uint64(11)) * unit >= kept[t]:
                continue
            h[:] = 0
            n = 0
            for j in range(max(low, i - width), min(high, i + width + 1)):
                c = ids[j]
                if j != i and 0 <= c < V:
                    v, d = C[c], D[j - i + width - (j > i)]
                    for r in range(rank):
                        h[r] += d[r] * v[r]
                    n += 1
            if n == 0:
                continue
            for r in range(rank):
                h[r] /= np.float32(n)
            g[:] = 0
            for k in range(negative + 1):
                w = t
                if k > 0:
                    state, bits = _random(state)
                    w = table[bits & mask]
                    if w == t:
                        continue
                u = U[w]
                z = np.float32(0)
                for r in range(rank):
                    z += u[r] * h[r]
                z = z if k == 0 else -z
                e = np.float32(1 / (1 + math.exp(z)))  # the derivative of log(sigma(z))
                loss += math.log1p(math.exp(-abs(z))) + max(-z, np.float32(0))
                e = rate * e if k == 0 else -rate * e
                for r in range(rank):
                    g[r] += e * u[r]
                    u[r] += e * h[r]
            words += 1
            for j in range(max(low, i - width), min(high, i + width + 1)):
                c = ids[j]
                if j != i and 0 <= c < V:
                    v, d = C[c], D[j - i + width - (j > i)]
                    for r in range(rank):
                        before = v[r]
                        v[r] += g[r] * d[r]
                        d[r] += POSITION_RATE * g[r] * before
    return loss, words
