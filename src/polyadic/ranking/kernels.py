"""Numba kernels for online learning from candidate lists by perceptron, MIRA and tensor MIRA.

Each list is scored in turn, and the weights are updated if a candidate other than the cheapest was chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from polyadic.core.annotations import AnyArray, Array, Ints, Ints32
from polyadic.core.kernels.common import frozen

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MAX_FEATURES = 1 << 31  # exclusive upper bound of feature indices


class CandidateLists(NamedTuple):
    """Candidate lists in the array layout of the numba kernels; see :func:`candidate_lists`."""

    starts: Ints  # first candidate of each list
    indptr: Ints
    indices: Ints32
    values: AnyArray
    costs: Array
    features: int
    scratch: tuple[Array, Ints, Array]  # scores of a list, and a difference


def candidate_lists(X: Any, costs: ArrayLike, starts: ArrayLike) -> CandidateLists:
    """Convert a CSR matrix, costs and the start of each (non-empty) list to the layout of the kernels."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    edges, price = frozen(np.asarray(starts), np.int64), frozen(np.asarray(costs), np.float64)
    if price.shape != (X.shape[0],) or edges[0] != 0 or edges[-1] != X.shape[0] or (np.diff(edges) < 1).any():
        about = f"starts must increase from 0 to {X.shape[0]} (the number of candidates),"
        raise ValueError(f"{about} and costs must have one element per candidate; got costs of shape {price.shape}")
    if len(X.indices) and not 0 <= X.indices.min() <= X.indices.max() < min(X.shape[1], MAX_FEATURES):
        raise ValueError(f"feature indices must be from 0 to {min(X.shape[1], MAX_FEATURES) - 1}")
    indptr, indices = frozen(X.indptr, np.int64), frozen(X.indices, np.int32)
    max_length = int(np.diff(edges).max(initial=0))
    room = min(2 * int(np.diff(indptr).max(initial=0)), X.shape[1]) + 1
    scratch = np.empty(max_length), np.empty(room, np.int64), np.empty(room)
    values = frozen(X.data, np.float32 if X.dtype == np.float32 else np.float64)  # without a copy in each epoch
    return CandidateLists(edges, indptr, indices, values, price, X.shape[1], scratch)


class FeatureCells(NamedTuple):
    """Tensor cell of each feature, as row indices into the stacked factors."""

    at: Ints32  # shape (features, modes)
    rows: int  # of the stacked factors


def feature_cells(place: AnyArray, sizes: tuple[int, ...]) -> FeatureCells:
    """Convert flat cell indices (first mode varying fastest) to row indices of the stacked factors."""
    if not sizes or (len(place) and not 0 <= place.min() <= place.max() < int(np.prod(sizes, dtype=np.int64))):
        raise ValueError(f"cell indices must be inside a tensor of shape {sizes}")
    offsets = np.r_[0, np.cumsum(sizes)]
    at = np.stack(np.unravel_index(place, sizes, order="F"), axis=1) + offsets[:-1]
    return FeatureCells(frozen(at, np.int32), int(offsets[-1]))


def perceptron_lists(lists: CandidateLists, order: AnyArray, *, weights: Array, summed: Array, before: int) -> Array:
    """Run a perceptron pass over candidate lists; return the total cost of choices, the loss and the updates.

    ``weights`` and ``summed``, the updates times the number of lists before them, are updated in place.
    """
    _weights(lists, weights, summed)
    return _perceptron_lists(_order(lists, order), lists, weights, summed, before)


def mira_lists(
    lists: CandidateLists,
    order: AnyArray,
    *,
    weights: Array,
    summed: Array,
    before: int,
    C: float,
    augmented: bool = False,
    best: int = 1,
) -> Array:
    r"""Run a MIRA pass over candidate lists, with arguments and result as for :func:`perceptron_lists`.

    .. math:: \min_w \tfrac12 \|w - w_t\|^2 + C \sum_j \max(0, \rho_j - w \cdot \Delta_j)

    over the ``best`` candidates of highest score (plus cost if ``augmented``). :math:`\rho_j` is the cost of a
    candidate above the cheapest one and :math:`\Delta_j` the features of the cheapest minus its own.
    """
    _weights(lists, weights, summed)
    return _mira_lists(_order(lists, order), lists, weights, summed, before, float(C), float(augmented), best)


def tensor_mira_lists(
    lists: CandidateLists,
    order: AnyArray,
    *,
    turns: AnyArray,
    factors: Array,
    cells: FeatureCells,
    norms: Array,
    C: float,
    scaled: bool = True,
    augmented: bool = False,
) -> Array:
    """Run a tensor MIRA pass over candidate lists, updating one factor vector at a time.

    ``turns``, shape (lists, H D), orders the vectors ``h D + d`` of each list; without columns all are updated at once.
    The stacked ``factors``, shape (rows, H), and the squared ``norms`` of vectors, shape (H, D), are updated in place.
    A step is at most C, or if ``scaled`` C over the squared norms of the other vectors. The result is as for
    :func:`perceptron_lists`.
    """
    D, H = cells.at.shape[1], factors.shape[1]
    if len(cells.at) < lists.features or norms.shape != (H, D) or len(factors) != cells.rows:
        about = f"cells must have at least {lists.features} rows, factors {cells.rows} rows, and norms shape"
        raise ValueError(f"{about} {H, D}; got {len(cells.at)} rows, {len(factors)} rows, and shape {norms.shape}")
    if turns.shape not in {(len(order), H * D), (len(order), 0)}:
        raise ValueError(f"turns must have shape ({len(order)}, {H * D}) or ({len(order)}, 0); got {turns.shape}")
    if turns.size and not 0 <= turns.min() <= turns.max() < H * D:
        raise ValueError(f"turns must contain vector indices below {H * D}")
    _owned(factors, norms)
    each, turns = _order(lists, order), frozen(turns, np.int64)
    return _tensor_mira_lists(each, turns, lists, factors, cells.at, norms, float(C), scaled, float(augmented))


def _order(lists: CandidateLists, order: AnyArray) -> Ints:
    rows = frozen(order, np.int64)
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(lists.starts) - 1:
        raise ValueError(f"the argument order must contain list indices below {len(lists.starts) - 1}")
    return rows


def _weights(lists: CandidateLists, *arrays: Array) -> None:
    for array in arrays:
        if array.ndim != 1 or len(array) < lists.features:
            got = array.shape
            raise ValueError(f"weights must have at least {lists.features} elements, one per feature; got {got}")
    _owned(*arrays)


def _owned(*arrays: Array) -> None:
    for array in arrays:
        if array.dtype != np.float64 or not array.flags.c_contiguous:
            raise ValueError("arrays that are updated in place must be contiguous and of dtype float64")


MAX_ROUNDS = 100  # maximum number of rounds through the constraints of one list
REL_TOL = 1e-10  # convergence threshold of a round, relative to the largest step


@njit(cache=True, nogil=True)
def _list_scores(w, indptr, indices, values, first, last, s):
    """Numba kernel: compute the linear score of each candidate of a list."""
    for c in range(first, last):
        total = 0.0
        for k in range(indptr[c], indptr[c + 1]):
            total += values[k] * w[indices[k]]
        s[c - first] = total


@njit(cache=True, nogil=True)
def _multilinear_scores(F, cells, indptr, indices, values, first, last, s, w, weighed, turn):
    """Numba kernel: score the candidates of a list by low-rank weights, caching feature weights in ``w``."""
    D, H = cells.shape[1], F.shape[1]
    for c in range(first, last):
        total = 0.0
        for k in range(indptr[c], indptr[c + 1]):
            f = indices[k]
            if weighed[f] != turn:
                weighed[f] = turn
                weight = 0.0
                for h in range(H):
                    product = F[cells[f, 0], h]
                    for d in range(1, D):
                        product *= F[cells[f, d], h]
                    weight += product
                w[f] = weight
            total += values[k] * w[f]
        s[c - first] = total


@njit(cache=True, nogil=True)
def _contenders(s, costs, first, n, augmented):
    """Return the highest-scoring, the most violating and the best of the cheapest candidates of a list."""
    best, wrong, right = 0, 0, 0
    for c in range(1, n):
        cost = costs[first + c]
        if s[c] > s[best]:
            best = c
        if s[c] + augmented * cost > s[wrong] + augmented * costs[first + wrong]:
            wrong = c
        if cost < costs[first + right] or (cost == costs[first + right] and s[c] > s[right]):
            right = c
    return best, wrong, right


@njit(cache=True, nogil=True)
def _difference(indptr, indices, values, a, b, at, x):
    """Numba kernel: compute the feature difference of two candidates, and return the number of non-zeros."""
    i, j, m = indptr[a], indptr[b], 0
    while i < indptr[a + 1] or j < indptr[b + 1]:
        if j == indptr[b + 1] or (i < indptr[a + 1] and indices[i] < indices[j]):
            at[m], x[m] = indices[i], values[i]
            i += 1
        elif i == indptr[a + 1] or indices[j] < indices[i]:
            at[m], x[m] = indices[j], -values[j]
            j += 1
        else:
            at[m], x[m] = indices[i], np.float64(values[i]) - np.float64(values[j])
            i += 1
            j += 1
        if x[m] != 0.0:
            m += 1
    return m


@njit(cache=True, nogil=True)
def _perceptron_lists(order, lists, w, u, before):
    """Run a perceptron pass; ``u`` sums the updates times the number of lists before them."""
    starts, indptr, indices, values, costs, _, (s, at, x) = lists
    sums = np.zeros(3)
    for t in range(len(order)):
        first, last = starts[order[t]], starts[order[t] + 1]
        _list_scores(w, indptr, indices, values, first, last, s)
        best, _, right = _contenders(s, costs, first, last - first, 0.0)
        sums[0] += costs[first + best]
        cost = costs[first + best] - costs[first + right]
        if cost == 0.0:
            continue
        sums[1] += cost + s[best] - s[right]
        m = _difference(indptr, indices, values, first + right, first + best, at, x)
        sums[2] += m > 0
        for k in range(m):
            w[at[k]] += x[k]
            u[at[k]] += (before + t) * x[k]
    return sums


@njit(cache=True, nogil=True)
def _highest(s, costs, first, n, augmented, top):
    """Numba kernel: store the candidates with the highest (augmented) scores in ``top``, and return their number."""
    count = 0
    for c in range(n):
        value = s[c] + augmented * costs[first + c]
        place = count
        while place > 0 and value > s[top[place - 1]] + augmented * costs[first + top[place - 1]]:
            place -= 1
        if place == len(top):
            continue
        count = min(count + 1, len(top))
        for k in range(count - 1, place, -1):
            top[k] = top[k - 1]
        top[place] = c
    return count


@njit(cache=True, nogil=True)
def _mira_lists(order, lists, w, u, before, C, augmented, constraints):
    """Numba kernel: MIRA pass by dual coordinate ascent, which has a closed form for one constraint per list."""
    starts, indptr, indices, values, costs, _, (s, at, x) = lists
    sums, top, alpha = np.zeros(3), np.empty(constraints, np.int64), np.empty(constraints)
    for t in range(len(order)):
        first, last = starts[order[t]], starts[order[t] + 1]
        _list_scores(w, indptr, indices, values, first, last, s)
        best, wrong, right = _contenders(s, costs, first, last - first, augmented)
        sums[0] += costs[first + best]
        if costs[first + wrong] > costs[first + right]:
            sums[1] += max(0.0, costs[first + wrong] - costs[first + right] - (s[right] - s[wrong]))
        count = _highest(s, costs, first, last - first, augmented, top)
        alpha[:] = 0.0
        moved, worst = 0, 0.0
        for _ in range(1 if count == 1 else MAX_ROUNDS):
            largest = 0.0
            for j in range(count):
                cost = costs[first + top[j]] - costs[first + right]
                if cost == 0.0:
                    continue
                m = _difference(indptr, indices, values, first + right, first + top[j], at, x)
                margin, square = s[right] - s[top[j]], 0.0
                if moved > 0:
                    margin = 0.0
                    for k in range(m):
                        margin += w[at[k]] * x[k]
                for k in range(m):
                    square += x[k] * x[k]
                if square == 0.0:
                    continue
                tau = min(max(alpha[j] + (cost - margin) / square, 0.0), C) - alpha[j]
                if tau == 0.0:
                    continue
                moved = 1
                alpha[j] += tau
                largest = max(largest, abs(tau) * square)
                for k in range(m):
                    w[at[k]] += tau * x[k]
                    u[at[k]] += (before + t) * (tau * x[k])
            worst = max(worst, largest)
            if largest <= REL_TOL * worst:
                break
        sums[2] += moved
    return sums


@njit(cache=True, nogil=True)
def _touched(cells, at, m, marked, rows, counts):
    """Numba kernel: collect the distinct factor rows of each mode that belong to the given features."""
    for d in range(len(counts)):
        counts[d] = 0
        for k in range(m):
            r = cells[at[k], d]
            if not marked[r]:
                marked[r] = True
                rows[d, counts[d]] = r
                counts[d] += 1
        for k in range(counts[d]):
            marked[rows[d, k]] = False


@njit(cache=True, nogil=True)
def _mode_difference(F, cells, at, x, m, h, d, rows, delta):
    """Numba kernel: contract a feature difference in all modes but ``d``, and return the squared norm of the result."""
    for k in range(len(rows)):
        delta[rows[k], h] = 0.0
    for k in range(m):
        product = x[k]
        for e in range(cells.shape[1]):
            if e != d:
                product *= F[cells[at[k], e], h]
        delta[cells[at[k], d], h] += product
    square = 0.0
    for k in range(len(rows)):
        square += delta[rows[k], h] * delta[rows[k], h]
    return square


@njit(cache=True, nogil=True)
def _move(F, norms, h, d, rows, delta, tau):
    """Numba kernel: update the vector of mode ``d`` of component ``h``, and the squared norm of the vector."""
    for k in range(len(rows)):
        step = tau * delta[rows[k], h]
        norms[h, d] += step * (2 * F[rows[k], h] + step)
        F[rows[k], h] += step


@njit(cache=True, nogil=True)
def _step_in_turn(turn, F, cells, norms, loss, C, scaled, at, x, m, rows, counts, delta):
    """Numba kernel: update one factor vector after another in the order of ``turn`` until the loss is zero."""
    H, D = norms.shape
    moved = False
    for k in range(H * D):
        h, d = turn[k] // D, turn[k] % D
        here = rows[d, : counts[d]]
        square = _mode_difference(F, cells, at, x, m, h, d, here, delta)
        B = 1.0
        if scaled:
            for e in range(D):
                if e != d:
                    B *= norms[h, e]
        if square == 0.0 or B <= 0.0:
            continue
        tau = min(C / B, loss / square)
        _move(F, norms, h, d, here, delta, tau)
        moved = True
        if tau == loss / square:
            break
        loss -= tau * square
    return moved


@njit(cache=True, nogil=True)
def _step_at_once(F, cells, norms, loss, C, at, x, m, rows, counts, delta):
    """Numba kernel: update all factor vectors at once with a common step length."""
    H, D = norms.shape
    total = 0.0
    for h in range(H):
        for d in range(D):
            total += _mode_difference(F, cells, at, x, m, h, d, rows[d, : counts[d]], delta)
    if total == 0.0:
        return False
    for h in range(H):
        for d in range(D):
            _move(F, norms, h, d, rows[d, : counts[d]], delta, min(C, loss / total))
    return True


@njit(cache=True, nogil=True)
def _tensor_mira_lists(order, turns, lists, F, cells, norms, C, scaled, augmented):
    """Numba kernel: tensor MIRA pass; if ``turns`` has no columns, all factor vectors are updated at once."""
    starts, indptr, indices, values, costs, features, (s, at, x) = lists
    D = cells.shape[1]
    sums, counts, rows = np.zeros(3), np.zeros(D, np.int64), np.empty((D, len(at)), np.int64)
    delta, marked = np.empty_like(F), np.zeros(len(F), np.bool_)
    w, weighed = np.empty(features), np.zeros(features, np.int64)
    for t in range(len(order)):
        first, last = starts[order[t]], starts[order[t] + 1]
        _multilinear_scores(F, cells, indptr, indices, values, first, last, s, w, weighed, t + 1)
        best, wrong, right = _contenders(s, costs, first, last - first, augmented)
        sums[0] += costs[first + best]
        cost = costs[first + wrong] - costs[first + right]
        loss = cost - (s[right] - s[wrong])
        if cost == 0.0 or loss <= 0.0:
            continue
        sums[1] += loss
        m = _difference(indptr, indices, values, first + right, first + wrong, at, x)
        _touched(cells, at, m, marked, rows, counts)
        if turns.shape[1]:
            moved = _step_in_turn(turns[t], F, cells, norms, loss, C, scaled, at, x, m, rows, counts, delta)
        else:
            moved = _step_at_once(F, cells, norms, loss, C, at, x, m, rows, counts, delta)
        sums[2] += moved
    return sums
