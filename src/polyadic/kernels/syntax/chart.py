"""Door to the loops that fill charts of context-free grammars and list the best derivations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops.syntax import chart, spans
from polyadic.resources import check_memory

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class ChartRules(NamedTuple):
    """Rules of a weighted grammar in the orders that the loops want; made by :func:`chart_rules`.

    Attributes
    ----------
    binary, unary : ndarray of int32 of shape (rules, 3) and (rules, 2)
        Parent and children of each rule, in the order of the weights, which is that of the (left) child.
    binary_weights, unary_weights : ndarray of float64
    """

    binary: NDArray[np.int32]
    unary: NDArray[np.int32]
    binary_weights: NDArray[np.float64]
    unary_weights: NDArray[np.float64]
    by_child: tuple[Any, Any]
    by_parent: tuple[Any, Any]
    by_block: tuple[Any, ...]
    by_pair: tuple[Any, ...]
    block: NDArray[np.int32]
    first: NDArray[np.int32]


class Chart(NamedTuple):
    """Slots of a chart and the value of each: see :func:`inside`.

    Attributes
    ----------
    length : int
        Words of the sentence.
    base : ndarray of int64 of shape (2, cells, blocks)
        For the lower and the upper layer the slot of the first symbol of each block in each cell, or -1.
    values : ndarray of float64 of shape (slots,)
    """

    length: int
    base: NDArray[np.int64]
    values: NDArray[np.float64]


def chart_rules(
    binary: ArrayLike, unary: ArrayLike, *, weights: tuple[ArrayLike, ArrayLike], block: ArrayLike
) -> ChartRules:
    """Sort the rules of a grammar for the loops.

    Parameters
    ----------
    binary : array of int of shape (rules, 3)
        Parent, left child, right child.
    unary : array of int of shape (rules, 2)
        Parent and child; a rule may stand for a chain of rules, and no two are used in a row.
    weights : pair of arrays
        Of the binary and of the unary rules: probabilities for sums, logarithms for maxima.
    block : array of int of shape (symbols,)
        The coarse symbol of each, from 0 and not falling; ``arange(symbols)`` where there are none.

    Raises
    ------
    ValueError
        If shapes do not fit, a symbol does not exist, or blocks are not in order.
    """
    blocks = frozen(np.asarray(block), np.int32)
    if not len(blocks) or blocks[0] != 0 or not np.isin(np.diff(blocks), (0, 1)).all():
        raise ValueError("blocks must rise from 0 in steps of at most 1")
    size = len(blocks)
    parts = []
    for given, weight, width in ((binary, weights[0], 3), (unary, weights[1], 2)):
        rules, values = np.asarray(given, np.int32).reshape(-1, width), np.asarray(weight, float)
        if values.shape != (len(rules),):
            raise ValueError(f"each rule needs a weight; got {len(rules)} rules and weights of shape {values.shape}")
        if len(rules) and not 0 <= rules.min() <= rules.max() < size:
            raise ValueError(f"rules must be of symbols below {size}; got {rules.min()} to {rules.max()}")
        order = np.argsort(rules[:, 1], kind="stable")
        parts.append((np.ascontiguousarray(rules[order].T), frozen(values[order])))
    (b, bw), (u, uw) = parts
    places = np.arange(size + 1)
    b_order, u_order = (np.argsort(rules[0], kind="stable").astype(np.int32) for rules in (b, u))
    starts = [np.searchsorted(keys, places).astype(np.int32) for keys in (b[1], u[1], b[0][b_order], u[0][u_order])]
    by_child = (starts[0], b[2], b[0], bw), (starts[1], u[0], uw)
    by_parent = (starts[2], b_order, b[1], b[2], bw), (starts[3], u_order, u[1], uw)
    first = np.searchsorted(blocks, np.arange(blocks[-1] + 2)).astype(np.int32)
    return ChartRules(
        b.T, u.T, bw, uw, by_child, by_parent, _by_block(b, bw, blocks, first), _by_pair(b, bw), blocks, first
    )


def _by_block(b: NDArray[np.int32], weights: NDArray[np.float64], block: Any, first: Any) -> tuple[Any, ...]:
    """Gather binary rules whose symbols are of the same three blocks."""
    of = block[b]
    order = np.lexsort((b[0], b[2], b[1], of[0], of[2], of[1]))
    (parent, left, right), (above, one, other) = b[:, order], of[:, order]
    starts = np.flatnonzero(np.diff(np.stack([one, other, above]), prepend=-1).any(axis=0))
    groups = np.searchsorted(one[starts], np.arange(len(first)))
    names = np.ascontiguousarray(left), np.ascontiguousarray(right), parent - first[above]
    return groups, other[starts], above[starts], np.append(starts, len(order)), *names, frozen(weights[order])


def _by_pair(b: NDArray[np.int32], weights: NDArray[np.float64]) -> tuple[Any, ...]:
    """Gather binary rules with the same two children."""
    order = np.lexsort((b[2], b[1]))
    children = b[1:, order].T
    starts = np.flatnonzero(np.diff(children, axis=0, prepend=-1).any(axis=1))
    return np.ascontiguousarray(children[starts]), np.append(starts, len(order)), b[0][order], frozen(weights[order])


def inside(
    rules: ChartRules,
    words: ArrayLike,
    symbols: ArrayLike,
    values: ArrayLike,
    *,
    summed: bool,
    allowed: NDArray[np.bool_] | None = None,
) -> Chart:
    """Fill a chart: the sum over derivations of products of weights, or the maximum of sums of their logarithms.

    Parameters
    ----------
    rules : ChartRules
    words, symbols, values : arrays of shape (N,)
        Which symbols each word may have, and the weight of each: places of words from 0, rising, none left out.
    summed : bool
        Whether weights are multiplied and derivations added, or weights added and the best derivation taken.
    allowed : ndarray of bool of shape (2, cells, blocks), optional
        Symbols of which blocks may stand in each cell, below and above its unary rules; all, if not given. The cell
        of words from ``i`` to ``j - 1`` is ``j (j - 1) / 2 + i``.

    Raises
    ------
    ValueError
        If words are not as above, or shapes do not fit.
    InputError
        If the chart would not fit in memory.
    """
    n, at, kinds, weights = _words(rules, words, symbols, values)
    cells, blocks, symbols_of = n * (n + 1) // 2, len(rules.first) - 1, np.diff(rules.first)
    if allowed is not None and allowed.shape != (2, cells, blocks):
        raise ValueError(f"allowed must have shape {(2, cells, blocks)}; got {allowed.shape}")
    used = 2 * cells if allowed is None else allowed.sum(axis=(0, 1))
    # a value for each symbol of a cell, its number among those asked for, and, of one in ten, a place in a row
    _check_room(n, 16.0 * float(np.sum(used * symbols_of)))
    if allowed is None:
        allowed = np.ones((2, cells, blocks), bool)
    sizes = np.where(allowed, symbols_of, 0).astype(np.int64)
    ends = np.cumsum(sizes).reshape(sizes.shape)
    base = np.where(allowed, ends - sizes, -1)
    filled = np.full(int(ends[-1, -1, -1]), 0.0 if summed else -np.inf)
    u = rules.by_child[1]
    how = rules.by_block, u, rules.block, rules.first, base
    chart.chart_inside(n, np.searchsorted(at, np.arange(n + 1)), kinds, weights, *how, filled, summed)
    return Chart(n, base, filled)


def _check_room(n: int, needed: float) -> None:
    """Refuse a chart that would fill the memory."""
    check_memory(needed, f"a chart of {n:,} words", "split the sentence")


def _words(rules: ChartRules, words: ArrayLike, symbols: ArrayLike, values: ArrayLike) -> tuple[int, Any, Any, Any]:
    """Give the number of words, and the arrays as a loop wants them; refuse what it would read beyond."""
    at, kinds = frozen(np.asarray(words), np.int32), frozen(np.asarray(symbols), np.int32)
    weights = frozen(np.asarray(values), np.float64)
    n = int(at[-1]) + 1 if len(at) else 0
    if not n or at[0] != 0 or not np.isin(np.diff(at), (0, 1)).all():
        raise ValueError("words must rise from 0 in steps of at most 1")
    if not at.shape == kinds.shape == weights.shape or not 0 <= kinds.min() <= kinds.max() < len(rules.block):
        raise ValueError("each word needs symbols of the grammar, and a weight for each")
    return n, at, kinds, weights


def span_shares(
    rules: ChartRules, words: ArrayLike, symbols: ArrayLike, values: ArrayLike, root: int, *, least: float = 0.0
) -> NDArray[np.float64] | None:
    """Give which share of the sum over all derivations goes through each symbol of each cell.

    The same as inside values times those outside, of :func:`inside` and :func:`outside`, over that of the whole; for
    grammars of few symbols, with each a block of its own, an order of magnitude faster.

    Parameters
    ----------
    rules, words, symbols, values
        As for :func:`inside`, with probabilities.
    root : int
    least : float
        As for :func:`outside`.

    Returns
    -------
    ndarray of shape (2, cells, symbols), or None
        None if the words have no derivation from the root, or their sum is out of range.

    Raises
    ------
    ValueError, InputError
        As :func:`inside`.
    """
    n, *given = _words(rules, words, symbols, values)
    size = len(rules.block)
    _check_room(n, 64.0 * n * (n + 1) * size)  # eight numbers for each symbol of each layer of a cell
    children, starts, parent, weight = rules.by_pair
    unary = rules.unary[:, 1].copy(), rules.unary[:, 0].copy(), rules.unary_weights
    how = (children, starts), parent, weight, unary
    low, left, right = np.zeros((n * (n + 1) // 2, size)), np.zeros((n, size, n + 1)), np.zeros((n + 1, size, n))
    left_ends, right_ends = (np.tile(np.array([n + 1, 0]), (rows, size, 1)) for rows in (n, n + 1))
    spans.span_inside(n, *given, *how, low, left, right, left_ends, right_ends)
    total = left[0, root, n]
    if not 0 < total < np.inf:
        return None
    around, of_left, of_right = np.zeros_like(low), np.zeros_like(left), np.zeros_like(right)
    spans.span_outside(n, root, *how, low, left, right, left_ends, right_ends, least * total, around, of_left, of_right)
    j = np.repeat(np.arange(1, n + 1), np.arange(1, n + 1))
    i = np.arange(len(j)) - j * (j - 1) // 2
    shares = np.stack([low * around, left[i, :, j] * (of_left[i, :, j] + of_right[j, :, i])])
    shares /= total
    return shares


def outside(rules: ChartRules, filled: Chart, root: int, *, least: float = 0.0) -> NDArray[np.float64]:
    """Give for each slot the sum of products of what surrounds it in derivations of all words from ``root``.

    Times the inside value it is the sum of all derivations that go through the slot. Slots of the lower layer through
    which a smaller share than ``least`` goes are not gone below: what is in them lacks these derivations.
    """
    n, base, values = filled
    result = np.zeros_like(values)
    if base[1, n * (n - 1) // 2, rules.block[root]] >= 0:
        rows, size = rules.by_parent[0], len(rules.block)
        ends = np.tile(np.array([n + 1, 0], np.int32), (2, n + 1, size, 1))
        how = rows, rules.by_child[1], rules.block, rules.first, base, values
        chart.chart_outside(n, root, *how, least * value_of(rules, filled, root), *ends, result)
    return result


def value_of(rules: ChartRules, filled: Chart, root: int) -> float:
    """Give the value of all words as the symbol ``root``: 0 or minus infinity if it has no derivation."""
    start = filled.base[1, filled.length * (filled.length - 1) // 2, rules.block[root]]
    return float(filled.values[start + root - rules.first[rules.block[root]]]) if start >= 0 else -np.inf


class Derivations(NamedTuple):
    """The best derivations of a sentence, which share their parts.

    Attributes
    ----------
    table : ndarray of int32 of shape (derivations, 4)
        Rule (of the binary ones, or beyond those of the unary ones; ``SAME`` from the upper to the lower layer,
        ``WORD`` for a word), symbol, and the rows of the parts: -1 where there is none, the place of a word.
    values : ndarray of float64
        Sum of the weights of each.
    best : ndarray of int32
        Rows of the derivations of the whole, best first.
    """

    table: NDArray[np.int32]
    values: NDArray[np.float64]
    best: NDArray[np.int32]


WORD, SAME = chart.WORD, chart.SAME


def k_best(rules: ChartRules, filled: Chart, root: int, *, k: int) -> Derivations:
    """List the ``k`` best derivations of all words from ``root``, fewer if there are not so many.

    Parameters
    ----------
    rules : ChartRules
        With logarithms as weights.
    filled : Chart
        Of maxima, of the same rules.
    root : int
    k : int

    Raises
    ------
    ValueError
        If ``k`` is not positive, or ``root`` has no derivation.

    References
    ----------
    Huang, Chiang (2005), Better k-best parsing, algorithm 3
    """
    if k < 1:
        raise ValueError(f"k must be at least 1; got {k}")
    if value_of(rules, filled, root) == -np.inf:
        raise ValueError("the words have no derivation from the root")
    return Derivations(
        *chart.chart_kbest(
            filled.length, root, k, *rules.by_parent, rules.block, rules.first, filled.base, filled.values
        )
    )
