r"""Weighted automata: functions of strings as products of matrices, one per symbol.

.. math:: f(x_1 \cdots x_n) = \alpha_0 A_{x_1} \cdots A_{x_n} \alpha_\infty

If f is the probability of a string, :math:`\beta = \sum_x A_x \alpha_\infty = (I - \sum_a A_a)^{-1} \alpha_\infty`
gives the probability :math:`\alpha_0 A_u \beta` of all strings with the prefix u. The state after u is
:math:`h_u = \alpha_0 A_u / \alpha_0 A_u \beta`: the next symbol is a with probability :math:`h_u A_a \beta`, and the
string ends with probability :math:`h_u \alpha_\infty`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core import resources
from polyadic.core.annotations import Array, Ints
from polyadic.core.errors import InputError
from polyadic.sequences.kernels.automata import automaton_values, follow_automaton

if TYPE_CHECKING:
    from polyadic.sequences.symbols import Coded

FLOOR = 1e-9  # probability below which the automaton considers a symbol impossible, and its state is reset


@dataclass(frozen=True, eq=False)
class WeightedAutomaton:
    """Weighted finite automaton with r states over the symbols 0 to k - 1.

    Attributes
    ----------
    alpha0, alpha_inf : ndarray of shape (r,)
        Initial and final weights of the states, which must be finite.
    A : ndarray of shape (k, r, r)
        Transition weights of each symbol, from the state of the row to that of the column.

    Examples
    --------
    >>> half = WeightedAutomaton(np.array([1.0]), np.array([[[0.3]], [[0.2]]]), np.array([0.5]))
    >>> round(half([0, 1]), 6), half.total.round(6).tolist()
    (0.03, [1.0])
    """

    alpha0: Array
    A: Array
    alpha_inf: Array

    def __post_init__(self) -> None:
        r = len(self.alpha0)
        if self.A.ndim != 3 or self.A.shape[1:] != (r, r) or self.alpha_inf.shape != (r,) or self.alpha0.ndim != 1:
            about = "alpha0 (r,), A (symbols, r, r) and alpha_inf (r,) must have the same rank r; got shapes"
            got = f"{self.alpha0.shape}, {self.A.shape} and {self.alpha_inf.shape}"
            raise InputError(f"{about} {got}", "alpha_inf")
        if not all(np.isfinite(part).all() for part in (self.alpha0, self.A, self.alpha_inf)):
            raise InputError("the weights of an automaton must be finite")

    @property
    def rank(self) -> int:
        """Number of states."""
        return len(self.alpha0)

    @property
    def size(self) -> int:
        """Number of symbols."""
        return len(self.A)

    def __call__(self, string: Sequence[int]) -> float:
        """Return the weight of one string."""
        symbols = np.array(string, np.int64).reshape(-1)
        values, logs = self.scaled(symbols, np.array([0, len(symbols)]))
        return float(values[0] * np.exp(logs[0]))

    def scaled(self, symbols: Ints, edges: Ints) -> tuple[Array, Array]:
        """Return string weights in the form ``values * exp(logs)``, which does not underflow for long strings.

        ``symbols`` are the concatenated strings, which start and end at ``edges``, of shape (strings + 1,).
        """
        self._check(symbols)
        return automaton_values(symbols, edges, start=self.alpha0, stop=self.alpha_inf, A=self.A)

    def logs(self, data: Coded) -> Array:
        """Return the logarithm of the weight of each string, or minus infinity if the weight is not positive."""
        values, logs = self.scaled(*data)
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(values, 0)) + logs

    @cached_property
    def _inverse(self) -> Array:
        """The sum of the transition matrix products over all strings."""
        rest = np.eye(self.rank) - self.A.sum(axis=0)
        if np.linalg.matrix_rank(rest) < self.rank:
            raise InputError("the sum of the weights of all strings diverges: some states cannot reach the end")
        return np.linalg.inv(rest)

    def check_sums(self) -> None:
        """Raise InputError if the sum of the weights of all strings diverges: the largest eigenvalue is not below 1."""
        if (radius := self.radius) >= 1:
            about = f"the spectral radius is {radius:.6g}, not below 1"
            raise InputError(f"the sum of the weights of all strings diverges: {about}")

    @property
    def radius(self) -> float:
        """Spectral radius of the sum of the transition matrices; sums over all strings converge if it is below 1."""
        return float(np.abs(np.linalg.eigvals(self.A.sum(axis=0))).max(initial=0.0))

    @cached_property
    def total(self) -> Array:
        r"""The vector :math:`\beta` with the total weight of all strings from each state.

        If the sum diverges, as may happen for spectral estimates, it is the solution of :math:`\beta = \sum_a A_a \beta
        + \alpha_\infty`; raise InputError if there is none.
        """
        return np.asarray(self._inverse @ self.alpha_inf)

    @property
    def mass(self) -> float:
        """The sum of the weights of all strings, which must converge."""
        self.check_sums()
        return float(self.alpha0 @ self.total)

    @cached_property
    def anywhere(self) -> Array:
        """The expected number of visits to each state in a string."""
        return np.asarray(self.alpha0 @ self._inverse)

    def states(self, data: Coded) -> Array:
        """Return the normalized state before each symbol and before each end, of shape (symbols + strings, r).

        After an impossible symbol, the state is the expected state after that symbol alone.
        """
        self._check(data.symbols)
        start, again = self._starts
        return follow_automaton(*data, start=start, A=self.A, total=self.total, again=again, floor=FLOOR)

    def moved(self, states: Array, symbols: Ints) -> Array:
        """Return the normalized states, of shape (n, r), after appending one symbol to each of the n strings."""
        reached = np.einsum("nr,nrt->nt", states, self.A[symbols])
        mass = (reached @ self.total)[:, None]
        return np.where(mass > FLOOR, reached / np.where(mass > FLOOR, mass, 1), self._starts[1][symbols])

    @cached_property
    def _starts(self) -> tuple[Array, Array]:
        """The normalized initial state, and the state assumed after each symbol if the symbol was impossible."""
        after = self.anywhere @ self.A
        mass = (after @ self.total)[:, None]
        whole = self.alpha0 @ self.total
        start = self.alpha0 / (whole if abs(whole) > FLOOR else 1.0)
        return start, np.where(mass > FLOOR, after / np.where(mass > FLOOR, mass, 1), start)

    @cached_property
    def _onward(self) -> Array:
        """The matrix that maps states to the weights of the next symbol and of the end of the string."""
        return np.column_stack([*(self.A @ self.total), self.alpha_inf])

    def next_weights(self, states: Array) -> Array:
        """Return the weights, of either sign, of each next symbol and, last, of the end, for states of shape (n, r)."""
        return np.asarray(states @ self._onward)

    def next_probabilities(self, states: Array) -> Array:
        """Return the probability of each next symbol and, in the last column, of the end, for states of shape (n, r).

        Negative weights are set to 0 and the rest is normalized; if all are 0, the result is uniform.
        """
        weights = np.maximum(self.next_weights(states), 0)
        sums = weights.sum(axis=1, keepdims=True)
        return np.where(sums > 0, weights / np.where(sums > 0, sums, 1), 1 / weights.shape[1])

    def leading(self, rank: int) -> WeightedAutomaton:
        """Return the automaton of the first ``rank`` states: for a spectral estimate, that of lower rank."""
        return WeightedAutomaton(self.alpha0[:rank], self.A[:, :rank, :rank].copy(), self.alpha_inf[:rank])

    def _check(self, symbols: Ints) -> None:
        if len(symbols) and not 0 <= symbols.min() <= symbols.max() < self.size:
            got = f"{symbols.min()} to {symbols.max()}"
            raise InputError(f"symbols must be integer ids below {self.size}; got {got}", "symbols")


def to_text(automaton: WeightedAutomaton) -> str:
    """Format an automaton as text: states and symbols, then lines ``start i w``, ``stop i w`` and ``i a j w``."""
    lines = [f"{automaton.rank} {automaton.size}"]
    for name, weights in (("start", automaton.alpha0), ("stop", automaton.alpha_inf)):
        lines += [f"{name} {i} {float(weights[i])!r}" for i in np.flatnonzero(weights).tolist()]
    lines += [f"{i} {a} {j} {float(automaton.A[a, i, j])!r}" for a, i, j in np.argwhere(automaton.A).tolist()]
    return "\n".join(lines) + "\n"


def from_text(text: str) -> WeightedAutomaton:
    """Parse an automaton from the text format of :func:`to_text`."""
    first, *lines = text.splitlines() or [""]
    sizes = first.split()
    if len(sizes) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in sizes):
        raise InputError(f"line 1: expected the number of states and the number of symbols; got {first[:80]!r}")
    r, k = map(int, sizes)
    resources.check_memory(8.0 * k * r * r, f"an automaton of {r:,} states and {k:,} symbols", "check line 1")
    A, ends = np.zeros((k, r, r)), {"start": np.zeros(r), "stop": np.zeros(r)}
    for number, line in enumerate(lines, 2):
        parts = line.split()
        try:
            if parts[0] in ends:
                name, i, weight = parts
                ends[name][_below(i, r)] = float(weight)
            else:
                i, a, j, weight = parts
                A[_below(a, k), _below(i, r), _below(j, r)] = float(weight)
        except (ValueError, IndexError):
            wanted = f"'state symbol state weight' with numbers below {r}, {k} and {r}, or 'start|stop state weight'"
            raise InputError(f"line {number}: expected {wanted}; got {line[:80]!r}") from None
    return WeightedAutomaton(ends["start"], A, ends["stop"])


def _below(text: str, size: int) -> int:
    if not 0 <= int(text) < size:
        raise ValueError(text)
    return int(text)


def to_dot(automaton: WeightedAutomaton, symbols: Sequence[Any] | None = None, *, min_weight: float = 0.01) -> str:
    """Format an automaton as a Graphviz graph, omitting weights below ``min_weight`` in magnitude."""
    names = [str(symbol) for symbol in (range(automaton.size) if symbols is None else symbols)]
    if len(names) != automaton.size:
        raise InputError(f"each of the {automaton.size} symbols must have a name; got {len(names)} names")
    lines = ["digraph automaton {", "  rankdir=LR;"]
    for i in range(automaton.rank):
        ends = [f"{w:.2g}" if abs(w) >= min_weight else "" for w in (automaton.alpha0[i], automaton.alpha_inf[i])]
        label = "".join(f"\n{name} {w}" for name, w in zip(("start", "stop"), ends, strict=True) if w)
        shape = "doublecircle" if ends[1] else "circle"
        lines.append(f"  {i} [shape={shape}, label={json.dumps(str(i) + label)}];")
    for i, j in np.argwhere((np.abs(automaton.A) >= min_weight).any(axis=0)).tolist():
        kept = [a for a in range(automaton.size) if abs(automaton.A[a, i, j]) >= min_weight]
        label = "\n".join(f"{names[a]} {automaton.A[a, i, j]:.2g}" for a in kept)
        lines.append(f"  {i} -> {j} [label={json.dumps(label)}];")
    return "\n".join([*lines, "}"]) + "\n"
