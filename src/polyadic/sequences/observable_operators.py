r"""Spectral hidden Markov models without explicit states, by observable operators.

.. math:: b_1 = U^\top P_1, \quad b_\infty = (P_{21}^\top U)^+ P_1, \quad B_x = U^\top P_{3x1} (U^\top P_{21})^+, \qquad
          P(x_1 \dots x_n) = b_\infty^\top B_{x_n} \cdots B_{x_1} b_1

U are the leading left singular vectors of :math:`P_{21}`, with rows and columns divided by the square roots of the
symbol frequencies. Pairs and triples are counted at all positions, the first symbol separately.

Estimates can be negative. Therefore the next-symbol distribution is the nearest distribution to the estimate, mixed
with the symbol frequencies; the probability of a sequence is the product of these. Errors accumulate from operator to
operator, so the state after a symbol is mixed with the mean state after that symbol, and is replaced by it if the
estimated probability of the symbol is not positive. Neither is in the paper.

References
----------
Hsu, Kakade, Zhang (2012), A spectral algorithm for learning hidden Markov models. arXiv:0811.4413
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.annotations import Array
from polyadic.core.errors import check_int
from polyadic.core.model import Count, Model, Share
from polyadic.core.solvers.conditional_gradient import onto_simplex
from polyadic.sequences.hidden_spectral import leading, scales, triples
from polyadic.sequences.symbols import Strings, check_fitted, coded, known_symbols, listed

MIN_PROBABILITY = 1e-9  # minimum estimated probability of a symbol for an update of the state


class ObservableOperators(Model):
    r"""Spectral hidden Markov model by observable operators, estimated in closed form from symbol triples.

    Parameters
    ----------
    rank : int
        Number of states of the corresponding hidden Markov model, at most the number of symbols.
    background : float
        Weight of the symbol frequencies in the next-symbol distribution.
    fresh : float
        Weight of the mean state after a symbol in the state after it: 0 is the published method, 1 depends only on the
        last symbol. 0.6 to 0.8 predicted universal parts of speech best.

    Attributes
    ----------
    first_, anywhere_, last_ : ndarray of shape (rank,)
        :math:`b_1`, of the first symbols; the same at any position; and :math:`b_\infty`.
    operators_ : ndarray of shape (symbols, rank, rank)
        :math:`B_x`.
    symbols_, shares_ : list and ndarray of shape (symbols,)
        The symbols and their relative frequencies.

    Examples
    --------
    >>> model = ObservableOperators(2).fit(["abababab", "babab", "ababab"])
    >>> model.next_symbols("ab")[-1].round(2).tolist()
    [1.0, 0.0]
    """

    rank: Count = 10
    _: KW_ONLY
    background: Share = 1e-3
    fresh: Share = 0.6

    def fit(self, sequences: Strings) -> Self:
        """Estimate the operators from sequences of symbols; strings are sequences of letters.

        InputError is raised if no sequence has three symbols, pairs have a lower rank, or a setting is out of range.
        """
        self.check()
        strings = listed(sequences)
        symbols = known_symbols(strings)
        data = coded(strings, {symbol: at for at, symbol in enumerate(symbols)})
        V = len(symbols)
        check_int("rank", self.rank, low=1, high=V)
        x, weights = triples(data, V)
        share = np.bincount(x.ravel(), np.repeat(weights, 3), minlength=V) / 3
        D = scales(share)[:, 0]
        P21 = csr_array((weights * D[x[:, 1]] * D[x[:, 0]], (x[:, 1], x[:, 0])), shape=(V, V))
        U, s, right = leading(P21, self.rank)
        U, inverse = D[:, None] * U, D[:, None] * right / s
        operators = np.zeros((V, self.rank, self.rank))
        order = np.argsort(x[:, 1], kind="stable")
        x, weights = x[order], weights[order]
        for some in np.split(np.arange(len(x)), np.flatnonzero(np.diff(x[:, 1])) + 1):
            before, symbol, after = x[some].T
            operators[symbol[0]] = (weights[some, None] * U[after]).T @ inverse[before]
        first = np.bincount(data.symbols[data.edges[:-1][np.diff(data.edges) > 0]], minlength=V)
        P1 = np.bincount(x[:, 0], weights, minlength=V)
        self.first_, self.anywhere_ = U.T @ (first / first.sum()), U.T @ P1
        self.last_, self.operators_ = P1 @ inverse, operators
        self.shares_, self.symbols_ = np.bincount(data.symbols, minlength=V) / len(data.symbols), symbols
        return self

    def next_symbols(self, sequence: Sequence[Hashable]) -> Array:
        """Return the predictive distribution of each symbol given its predecessors, including the next symbol.

        The shape is (length + 1, symbols). Symbols must have been seen in training.
        """
        x = coded(listed([sequence]), self._number).symbols
        steps = np.einsum("r,xrs->xs", self.last_, self.operators_)
        b, rows = self.first_, []
        for symbol in [*x.tolist(), None]:
            estimates = steps @ b
            falling = np.argsort(-estimates)
            row = self.background * self.shares_
            row[falling] += (1 - self.background) * onto_simplex(estimates[falling], 1.0)
            rows.append(row)
            if symbol is not None:
                b = self._after(symbol, b, steps)
        return np.array(rows)

    def raw_probability(self, sequence: Sequence[Hashable]) -> float:
        """Return the uncorrected estimate of the probability of a sequence, which may be negative."""
        x = coded(listed([sequence]), self._number).symbols
        b = self.first_
        for symbol in x:
            b = self.operators_[symbol] @ b
        return float(self.last_ @ b)

    def score(self, sequences: Strings) -> float:
        """Return the total log-probability of the sequences under the distributions of :meth:`next_symbols`."""
        number, total = self._number, 0.0
        for sequence in listed(sequences):
            rows = self.next_symbols(sequence)
            chances = rows[np.arange(len(sequence)), [number[symbol] for symbol in sequence]]
            with np.errstate(divide="ignore"):
                total += float(np.log(chances).sum())
        return total

    @property
    def _number(self) -> dict[Any, int]:
        check_fitted(self, "symbols_")
        return {symbol: at for at, symbol in enumerate(self.symbols_)}

    def _after(self, symbol: int, b: Array, steps: Array) -> Array:
        """Return the normalized state after observing a symbol."""
        states: list[Array] = []
        for before in (b, self.anywhere_):
            chance = float(steps[symbol] @ before)
            if chance > MIN_PROBABILITY:
                states.append(self.operators_[symbol] @ before / chance)
        if len(states) < 2:
            return states[0] if states else self.anywhere_
        return (1 - self.fresh) * states[0] + self.fresh * states[1]
