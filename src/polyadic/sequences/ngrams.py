"""N-gram probabilities of the next symbol with absolute discounting, interpolated with lower orders.

The end of a string is a symbol, and its start is part of the context. Below order 1 all symbols are equally likely.

References
----------
Ney, Essen, Kneser (1994), On structuring probabilistic dependences in stochastic language modelling, section 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np

from polyadic.core.annotations import Array, Ints, Mask
from polyadic.core.errors import InputError
from polyadic.core.model import Model, Natural, Share
from polyadic.sequences.substrings import ANYWHERE, AT_END, AT_START, WHOLE, count_substrings
from polyadic.sequences.symbols import Coded

DISCOUNTS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.97)  # candidates for the discount
CELLS = 1 << 22  # maximum size of a temporary array


def next_symbols(data: Coded, size: int) -> tuple[Ints, Ints]:
    """Return the symbol and the string index at each position, with the symbol ``size`` at the end of a string."""
    lengths = np.diff(data.edges)
    string = np.repeat(np.arange(len(lengths)), lengths + 1)
    symbols = np.full(len(string), size)
    symbols[np.arange(len(data.symbols)) + np.repeat(np.arange(len(lengths)), lengths)] = data.symbols
    return symbols, string


def contexts(data: Coded, width: int) -> Ints:
    """Return the ``width`` symbols before each position, with -1 for positions before the start of the string."""
    lengths = np.diff(data.edges)
    first = np.repeat(data.edges[:-1], lengths + 1)
    place = np.arange(len(first)) - np.repeat(np.arange(len(lengths)), lengths + 1)
    at = place[:, None] + np.arange(-width, 0)
    padded = data.symbols if len(data.symbols) else np.zeros(1, np.int64)
    return np.where(at >= first[:, None], padded[np.maximum(at, 0)], -1)


def blocks(data: Coded, size: int) -> Iterator[tuple[int, Coded]]:
    """Yield blocks of strings of bounded size, each with the index of the first string in the block."""
    rows = max(CELLS // (size + 1), 1)
    lengths = np.cumsum(np.diff(data.edges) + 1)
    first, strings = 0, len(lengths)
    while first < strings:
        done = int(lengths[first - 1]) if first else 0
        last = max(int(np.searchsorted(lengths, done + rows, side="right")), first + 1)
        edges = data.edges[first : last + 1]
        yield first, Coded(data.symbols[edges[0] : edges[-1]], edges - edges[0])
        first = last


def string_logs(data: Coded, size: int, along: Callable[[Coded], Array]) -> Array:
    """Return the log-likelihood of each string from the next-symbol probabilities of a model."""
    logs = np.zeros(len(data.edges) - 1)
    for first, block in blocks(data, size):
        symbols, string = next_symbols(block, size)
        p = along(block)[np.arange(len(symbols)), symbols]
        with np.errstate(divide="ignore"):
            logs[first : first + len(block.edges) - 1] = np.bincount(string, np.log(p))
    return logs


class NGrams(Model):
    r"""N-gram model of symbols with absolute discounting, interpolated with lower orders.

    .. math:: p(a \mid u) = \frac{\max(n_{ua} - d, 0)}{n_u} + \frac{d\, t_u}{n_u}\, p(a \mid u')

    :math:`n_u` is the count of u, :math:`t_u` the number of different symbols after it, and :math:`u'` is u without its
    first symbol.

    Parameters
    ----------
    order : int
        Length of the n-grams, including the predicted symbol: 0 is uniform, 1 uses frequencies of symbols, 3 trigrams.
    discount : float
        Discount :math:`d` that is subtracted from each count and given to the lower order.

    Attributes
    ----------
    tree_ : Substrings
        Counts of all substrings of at most ``order`` symbols.

    Examples
    --------
    >>> from polyadic.sequences.ngrams import contexts
    >>> from polyadic.sequences.symbols import coded
    >>> data = coded(["ab", "ab", "b"], {"a": 0, "b": 1})
    >>> NGrams(2, discount=0.5).fit(data, 2).next_probabilities(contexts(data, 1))[1].round(6).tolist()
    [0.0625, 0.84375, 0.09375]
    """

    order: Natural = 3
    _: KW_ONLY
    discount: Share = 0.7

    def fit(self, data: Coded, size: int = 0) -> Self:
        """Count the n-grams of strings of symbols below ``size``.

        InputError is raised if they are not encoded (:func:`~polyadic.sequences.symbols.coded`).
        """
        self.check()
        if not isinstance(data, Coded):
            raise InputError(
                "NGrams requires strings encoded by polyadic.sequences.symbols.coded, and their alphabet size"
            )
        self.tree_ = count_substrings(data, size or int(data.symbols.max(initial=-1)) + 1, max_length=self.order)
        return self

    def next_probabilities(self, before: Ints) -> Array:
        """Return the probability of each next symbol and, in the last column, of the end of the string.

        ``before`` are the last symbols, of shape (n, at least order - 1), -1 before the start: see :func:`contexts`.
        """
        tree = self.tree_
        p = np.full((len(before), tree.size + 1), 1 / (tree.size + 1))
        for length in range(self.order):
            node = np.zeros(len(before), np.int64)
            for symbols in before[:, before.shape[1] - length :].T:
                node = np.where(symbols >= 0, tree.child(node, symbols), node)
            whole = before[:, -length] >= 0 if length else np.ones(len(before), bool)  # whether the context is complete
            starts = ~whole & ((before[:, -length + 1] >= 0) if length > 1 else True)
            p = self._mixed(p, node, whole, starts)
        return p

    def _mixed(self, p: Array, node: Any, whole: Mask, starts: Mask) -> Array:
        """Interpolate the discounted n-gram probabilities of contexts with the lower-order probabilities."""
        tree, d = self.tree_, self.discount
        p = p.copy()
        for which, column, end, kind in ((whole, ANYWHERE, AT_END, 0), (starts, AT_START, WHOLE, 1)):
            rows = np.flatnonzero(which & (node >= 0))
            at = node[rows]
            known = tree.counts[at, column] > 0
            rows, at = rows[known], at[known]
            if not len(rows):
                continue
            after = tree.child(at[:, None], np.arange(tree.size))
            counts = np.column_stack([np.where(after >= 0, tree.counts[after, column], 0), tree.counts[at, end]])
            all_, kinds = tree.counts[at, column][:, None], tree.kinds[at, kind][:, None]
            p[rows] = np.maximum(counts - d, 0) / all_ + d * kinds / all_ * p[rows]
        return p

    def along(self, data: Coded) -> Array:
        """Return the next-symbol probabilities at each position and each end, shape (symbols + strings, k + 1)."""
        return self.next_probabilities(contexts(data, max(self.order - 1, 1)))

    def logs(self, data: Coded) -> Array:
        """Return the log-likelihood of each string, or minus infinity if the probability is 0."""
        return string_logs(data, self.tree_.size, self.along)


def tuned_ngrams(data: Coded, held_out: Coded, size: int, *, orders: Sequence[int] = (3,)) -> NGrams:
    """Select the order and discount of an n-gram model by the likelihood of held-out strings."""
    models = (NGrams(order, discount=discount).fit(data, size) for order in orders for discount in DISCOUNTS)
    return max(models, key=lambda model: float(model.logs(held_out).mean()))
