r"""Weighted context-free grammars learned from strings without trees, by completion of an inside-outside Hankel matrix.

With weights of the root :math:`\rho`, of binary rules A and of symbols :math:`\beta_a`, the weight of a string sums
over its binary trees,

.. math:: f(x) = \rho^\top \beta(x), \qquad \beta(a) = \beta_a, \qquad
          \beta(x) = \sum_{x = yz} A(\beta(y) \otimes \beta(z))

The rows of the matrix are contexts (u, v), its columns are strings y, and its entries are the sums over the trees of
uyv in which y is a phrase. Further rows are contexts in which a phrase z comes just before or after y and forms a
phrase with it. The rank is at most the number of states, as each entry is a product of an outside and an inside vector.
Without trees only the sums over all trees are observed, so the weights f of the trees are chosen by

.. math:: \min_f \tfrac12 \sum_x \Bigl(\hat p(x) - \sum_{t\ \mathrm{yields}\ x} f(t)\Bigr)^2 + \lambda \|H_f\|_*

which is convex. With singular vectors V of the completed matrix, :math:`\beta_a` is the row of a in V, and the rules
follow from the entries of adjacent phrases. In the paper the variables are the entries, with linear constraints.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.annotations import Array
from polyadic.core.errors import InputError
from polyadic.core.model import Callback, Count, Model, Natural, Positive
from polyadic.core.solvers.run import run
from polyadic.sequences.hankel import GAP, STEP, least_trace_norm
from polyadic.sequences.symbols import Strings, check_fitted, coded, known_symbols, listed

Tree = tuple[tuple[int, int, int], ...]
TREES = 1e6  # maximum number of entries and weights of trees that are completed


@dataclass(frozen=True, eq=False)
class WeightedGrammar:
    """Weighted context-free grammar with r states and binary rules over the symbols 0 to k - 1.

    >>> grammar = WeightedGrammar(np.ones(1), np.full((1, 1, 1), 0.3), np.full((1, 1), 0.7))
    >>> round(grammar([0, 0, 0]), 5)  # two trees of two rules and three symbols
    0.06174
    """

    root: Array  # weights of the root, shape (r,)
    A: Array  # weights of rules, from the first state to those of the left and the right part, shape (r, r, r)
    leaves: Array  # inside vectors of the symbols, shape (k, r)

    def __call__(self, string: Sequence[int]) -> float:
        """Return the weight of a string that is not empty, summed over all trees."""
        return float(self.root @ self.inside(string)[0, len(string)])

    def inside(self, string: Sequence[int]) -> Array:
        """Return the inside vector of each phrase, of shape (length + 1, length + 1, r)."""
        n, r = len(string), len(self.root)
        rules, beta = self.A.reshape(r, -1), np.zeros((n + 1, n + 1, r))
        for i, a in enumerate(string):
            beta[i, i + 1] = self.leaves[a]
        for i, j in _spans(n):
            beta[i, j] = rules @ (beta[i, i + 1 : j].T @ beta[i + 1 : j, j]).ravel()
        return beta

    def brackets(self, string: Sequence[int]) -> list[tuple[int, int]]:
        """Return the phrases of at least two symbols of the binary tree with the largest sum of phrase weights.

        The weight of a phrase sums over all trees that contain it (Goodman 1996, labelled recall).
        """
        n, beta = len(string), self.inside(string)
        alpha = np.zeros_like(beta)
        alpha[0, n] = self.root
        for i, j in reversed(list(_spans(n))):
            rules = np.einsum("a,abc->bc", alpha[i, j], self.A)
            alpha[i, i + 1 : j] += beta[i + 1 : j, j] @ rules.T
            alpha[i + 1 : j, j] += beta[i, i + 1 : j] @ rules
        best, split = np.zeros((n + 1, n + 1)), {}
        for i, j in _spans(n):
            sums = best[i, i + 1 : j] + best[i + 1 : j, j]
            split[i, j] = i + 1 + int(sums.argmax())
            best[i, j] = sums.max() + alpha[i, j] @ beta[i, j]
        phrases, waiting = [], [(0, n)]
        while waiting:
            i, j = waiting.pop()
            if j - i > 1:
                phrases.append((i, j))
                waiting += [(i, split[i, j]), (split[i, j], j)]
        return sorted(phrases)


class SpectralGrammar(Model):
    r"""Weighted context-free grammar learned from strings without trees, by singular vectors of a completed matrix.

    See :mod:`~polyadic.syntax.spectral_grammar` for the objective. Weights may be negative.

    Parameters
    ----------
    rank : int
        Number of states.
    context : int
        Maximum number of symbols around a phrase in the Hankel matrix. The probabilities of strings of up to ``context
        + 2`` symbols are used; the number of their trees limits the size of the alphabet.
    max_length : int
        Maximum length of a phrase in the Hankel matrix.
    penalty : float
        Weight of the trace norm.

    Attributes
    ----------
    grammar_ : WeightedGrammar
        The grammar, over indices of symbols; ``rank_`` is its number of states.
    symbols_, values_ : list, ndarray
        The symbols, and the singular values of the completed matrix.

    References
    ----------
    Bailly, Carreras, Luque, Quattoni (2013), Unsupervised spectral learning of WCFG as low-rank matrix completion.

    Examples
    --------
    >>> nested = ["a" * n + "b" * n for n in (1, 1, 1, 1, 2, 2, 3)]  # the longest is not used
    >>> model = SpectralGrammar(3, penalty=1e-5).fit(nested)
    >>> model.probabilities(["ab", "aabb", "aaabbb", "abab"]).round(2).tolist()
    [0.57, 0.27, 0.12, 0.0]
    """

    rank: Count = 4
    _: KW_ONLY
    context: Natural = 2
    max_length: Count = 2
    penalty: Positive = 1e-3
    max_iter: Count = 1000
    callback: Callback = None

    def fit(self, X: Strings) -> Self:
        """Learn a grammar from sequences of symbols; strings are sequences of letters.

        Empty sequences, and those that are too long, only count as sequences. InputError is raised if there are no
        symbols, too many trees, or a setting is out of range.
        """
        self.check()
        strings = listed(X)
        self.symbols_ = known_symbols(strings)
        k, deep = len(self.symbols_), self.context + 2
        entries = 3.0 * (self.context + 1) * float(k) ** (self.context + 2 * self.max_length)
        many = entries + sum(math.comb(2 * n - 2, n - 1) / n * float(k) ** n for n in range(1, deep + 1))
        if many > TREES:
            about = f"{k} symbols have too many trees of up to {deep} symbols; merge symbols, or lower context"
            raise InputError(about, "context")
        data = coded(strings, {a: at for at, a in enumerate(self.symbols_)})
        counts: dict[Any, float] = {}
        for s in data.split(data.symbols):
            counts[tuple(s)] = counts.get(tuple(s), 0) + 1 / len(strings)
        table = inside_outside(k, self.context, self.max_length)
        shares = np.array([counts.get(s, 0.0) for s in table.strings])
        if not shares.any():
            raise InputError(f"at least one sequence must have 1 to {deep} symbols; increase context", "context")
        steps = least_trace_norm(table.cells, table.sums, shares, table.shape, self.penalty, step=STEP * self.penalty)
        f = self._keep(run(steps, max_iter=self.max_iter, tol=GAP, callback=self.callback))[0]
        self.grammar_, self.values_ = grammar_of((table.cells @ f).reshape(table.shape), table, self.rank)
        self.rank_ = len(self.grammar_.root)
        return self

    def probabilities(self, X: Strings) -> Array:
        """Return the estimated probability of each sequence, at least 0; that of the empty sequence is 0."""
        return np.array([max(self.grammar_(s), 0.0) if len(s) else 0.0 for s in self._coded(X)])

    def brackets(self, X: Strings) -> list[list[tuple[int, int]]]:
        """Return the phrases of each sequence: starts and ends, see :meth:`WeightedGrammar.brackets`."""
        return [self.grammar_.brackets(s) for s in self._coded(X)]

    def _coded(self, X: Strings) -> list[Any]:
        check_fitted(self, "grammar_")
        data = coded(listed(X), {a: at for at, a in enumerate(self.symbols_)})
        return data.split(data.symbols)


class InsideOutside(NamedTuple):
    """Entries of an inside-outside Hankel matrix, and the strings, as sums over weights of trees."""

    cells: Any  # csr_array of shape (rows * columns, variables)
    sums: Any  # csr_array of shape (strings, variables)
    strings: list[tuple[int, ...]]
    contexts: int  # rows without a neighbouring phrase, which come first; then those with one before, and after
    phrases: int  # columns, ordered by length

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the matrix."""
        return self.contexts * (1 + 2 * self.phrases), self.phrases


def inside_outside(k: int, context: int, max_length: int) -> InsideOutside:
    """Return the sums that fill an inside-outside Hankel matrix of all short contexts and phrases.

    The variables are the weights of the trees of up to ``context + 2`` symbols, and the entries of longer strings.
    """
    words = [s for n in range(max(context, max_length) + 1) for s in product(range(k), repeat=n)]
    outer = sorted(((u, v) for u in words for v in words if len(u) + len(v) <= context), key=lambda o: len(o[0] + o[1]))
    inner = [y for y in words if 0 < len(y) <= max_length]
    rows, columns = ({part: at for at, part in enumerate(parts)} for parts in (outer, inner))
    m, n = len(outer), len(inner)

    def entries(o: Any, *parts: Any) -> list[int]:
        """Return the entries of a phrase, or of two adjacent phrases, in a context: none if they are too long."""
        if o not in rows or not all(part in columns for part in parts):
            return []
        at, (y, *rest) = rows[o], [columns[part] for part in parts]
        return [at * n + y] if not rest else [(m + at * n + y) * n + rest[0], (m + m * n + at * n + rest[0]) * n + y]

    strings = [s for length in range(1, context + 3) for s in product(range(k), repeat=length)]
    variables = [
        [
            *(cell for i in range(len(s)) for cell in entries((s[:i], s[i + 1 :]), s[i : i + 1])),
            *(cell for i, _, j in rules for cell in entries((s[:i], s[j:]), s[i:j])),
            *(cell for i, h, j in rules for cell in entries((s[:i], s[j:]), s[i:h], s[h:j])),
        ]
        for s in strings
        for rules in binary_trees(len(s))
    ]
    trees = [len(binary_trees(len(s))) for s in strings]
    for (u, v), y in product(outer, inner):
        size = len(u + v + y)
        if size > context + 2:
            variables.append(entries((u, v), y))
        variables += [entries((u, v), y, z) for z in inner if size + len(z) > context + 2]
    many = np.repeat(np.arange(len(variables)), list(map(len, variables)))
    cells = np.array([cell for each in variables for cell in each])
    C = csr_array((np.ones(len(cells)), (cells, many)), shape=(m * (1 + 2 * n) * n, len(variables)))
    which = np.repeat(np.arange(len(strings)), trees)
    B = csr_array((np.ones(len(which)), (which, np.arange(len(which)))), shape=(len(strings), len(variables)))
    return InsideOutside(C, B, strings, m, n)


def grammar_of(H: Array, table: InsideOutside, rank: int) -> tuple[WeightedGrammar, Array]:
    """Return the grammar of an inside-outside Hankel matrix, and the singular values of the matrix."""
    _, s, Vt = np.linalg.svd(H, full_matrices=False)
    V = Vt[: min(rank, int((s > 1e-10 * s[0]).sum()))].T
    o, n = table.contexts, table.phrases
    outside = H[:o] @ V
    after = H[o : o + o * n].reshape(o, n, n)
    A = np.einsum("ro,oyz,ya,zb->rab", np.linalg.pinv(outside), after, V, V, optimize=True)
    k = sum(len(string) == 1 for string in table.strings)
    return WeightedGrammar(outside[0], A, V[:k].copy()), s


@functools.cache
def binary_trees(n: int) -> tuple[Tree, ...]:
    """Return the binary trees of n leaves, each as the start, middle and end of its rules."""
    if n == 1:
        return ((),)
    return tuple(
        (*left, *((i + m, j + m, k + m) for i, j, k in right), (0, m, n))
        for m in range(1, n)
        for left in binary_trees(m)
        for right in binary_trees(n - m)
    )


def _spans(n: int) -> Iterable[tuple[int, int]]:
    """Return the phrases of at least two symbols, short ones first."""
    return ((i, i + length) for length in range(2, n + 1) for i in range(n - length + 1))
