r"""Weighted automata: functions of strings as products of matrices, one for each symbol.

.. math:: f(x_1 \cdots x_n) = \alpha_0 A_{x_1} \cdots A_{x_n} \alpha_\infty

Where f is the probability of a string, :math:`\beta = \sum_x A_x \alpha_\infty = (I - \sum_a A_a)^{-1} \alpha_\infty`
gives the probability :math:`\alpha_0 A_u \beta` of all strings that begin with u, and the state
:math:`h_u = \alpha_0 A_u / \alpha_0 A_u \beta` all that can be said of what follows:
:math:`h_u A_a \beta` is how likely the next symbol is a, and :math:`h_u \alpha_\infty` that the string ends.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core import resources
from polyadic.core.errors import InputError
from polyadic.sequences.kernels.automata import automaton_values, follow_automaton

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.sequences.symbols import Coded

    Array = NDArray[np.float64]

FLOOR = 1e-9
"""What an automaton says to be less likely than this cannot happen, by its word: it has lost its way."""


@dataclass(frozen=True, eq=False)
class WeightedAutomaton:
    r"""A weighted automaton of r states over the symbols 0 to k - 1.

    Attributes
    ----------
    alpha0, alpha_inf : ndarray of shape (r,)
    A : ndarray of shape (k, r, r)
        From the state of the row to that of the column.

    Raises
    ------
    InputError
        If shapes do not fit or a number is not finite.

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
            raise InputError(
                f"alpha0 (r,), A (symbols, r, r) and alpha_inf (r,) must be of one rank; got shapes"
                f" {self.alpha0.shape}, {self.A.shape} and {self.alpha_inf.shape}"
            )
        if not all(np.isfinite(part).all() for part in (self.alpha0, self.A, self.alpha_inf)):
            raise InputError("the weights of an automaton must be finite")

    @property
    def rank(self) -> int:
        """How many states."""
        return len(self.alpha0)

    @property
    def size(self) -> int:
        """How many symbols."""
        return len(self.A)

    def __call__(self, string: Sequence[int]) -> float:
        """Give the weight of one string."""
        symbols = np.array(string, np.int64).reshape(-1)
        values, logs = self.scaled(symbols, np.array([0, len(symbols)]))
        return float(values[0] * np.exp(logs[0]))

    def scaled(self, symbols: NDArray[np.int64], edges: NDArray[np.int64]) -> tuple[Array, Array]:
        """Give the weights of strings as ``values * exp(logs)``, which do not vanish where strings are long."""
        self._check(symbols)
        return automaton_values(symbols, edges, start=self.alpha0, stop=self.alpha_inf, A=self.A)

    def logs(self, data: Coded) -> Array:
        """Give the logs of the weights of strings; minus infinity where a weight is not positive."""
        values, logs = self.scaled(*data)
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(values, 0)) + logs

    @cached_property
    def _inverse(self) -> Array:
        """The sum of the products of matrices of all strings, where there is one."""
        rest = np.eye(self.rank) - self.A.sum(axis=0)
        if np.linalg.matrix_rank(rest) < self.rank:
            raise InputError("the weights of all strings have no sum: from some state there is no end")
        return np.linalg.inv(rest)

    def check_sums(self) -> None:
        """Refuse an automaton whose weights of all strings have no sum.

        Raises
        ------
        InputError
            If the largest eigenvalue is not below 1.
        """
        if (radius := self.radius) >= 1:
            raise InputError(f"the weights of all strings have no sum: an eigenvalue is {radius:.6g}, not below 1")

    @property
    def radius(self) -> float:
        """The largest eigenvalue of the sum of the matrices; below 1 where the weights of all strings have a sum."""
        return float(np.abs(np.linalg.eigvals(self.A.sum(axis=0))).max(initial=0.0))

    @cached_property
    def total(self) -> Array:
        r""":math:`\beta`: the sum of the weights of all strings, from each state.

        Of an automaton of singular vectors whose sums do not converge it is what solves
        :math:`\beta = \sum_a A_a \beta + \alpha_\infty` all the same.

        Raises
        ------
        InputError
            If nothing does.
        """
        return np.asarray(self._inverse @ self.alpha_inf)

    @property
    def mass(self) -> float:
        """The sum of the weights of all strings, which must exist."""
        self.check_sums()
        return float(self.alpha0 @ self.total)

    @cached_property
    def anywhere(self) -> Array:
        """How often each state is expected along a string: the start of the automaton of substrings."""
        return np.asarray(self.alpha0 @ self._inverse)

    def states(self, data: Coded) -> Array:
        """Give the states before each symbol and before the end of each string, of mass 1; shape (N + strings, r).

        After a symbol that could not come, the state is what it is expected to be after that symbol alone.
        """
        self._check(data.symbols)
        start, again = self._starts
        return follow_automaton(*data, start=start, A=self.A, total=self.total, again=again, floor=FLOOR)

    def moved(self, states: Array, symbols: NDArray[np.int64]) -> Array:
        """Give the states after one symbol each."""
        reached = np.einsum("nr,nrt->nt", states, self.A[symbols])
        mass = (reached @ self.total)[:, None]
        return np.where(mass > FLOOR, reached / np.where(mass > FLOOR, mass, 1), self._starts[1][symbols])

    @cached_property
    def _starts(self) -> tuple[Array, Array]:
        """Where strings begin, and where the automaton goes on after a symbol that could not come."""
        after = self.anywhere @ self.A
        mass = (after @ self.total)[:, None]
        whole = self.alpha0 @ self.total
        start = self.alpha0 / (whole if abs(whole) > FLOOR else 1.0)
        return start, np.where(mass > FLOOR, after / np.where(mass > FLOOR, mass, 1), start)

    @cached_property
    def _onward(self) -> Array:
        """Columns that give the weights of the next symbols, and of the end."""
        return np.column_stack([*(self.A @ self.total), self.alpha_inf])

    def next_weights(self, states: Array) -> Array:
        """Give what the automaton says of the next symbol and, last, of the end; it may be negative."""
        return np.asarray(states @ self._onward)

    def next_probabilities(self, states: Array) -> Array:
        """Give probabilities of the next symbol and, last, of the end: weights below 0 become 0, the rest adds to 1.

        Where nothing is left, all are equal.
        """
        weights = np.maximum(self.next_weights(states), 0)
        sums = weights.sum(axis=1, keepdims=True)
        return np.where(sums > 0, weights / np.where(sums > 0, sums, 1), 1 / weights.shape[1])

    def leading(self, rank: int) -> WeightedAutomaton:
        """Give the automaton of the first states alone; of one by singular vectors, that of the smaller rank."""
        return WeightedAutomaton(self.alpha0[:rank], self.A[:, :rank, :rank].copy(), self.alpha_inf[:rank])

    def _check(self, symbols: NDArray[np.int64]) -> None:
        if len(symbols) and not 0 <= symbols.min() <= symbols.max() < self.size:
            raise InputError(f"symbols must be numbers below {self.size}; got {symbols.min()} to {symbols.max()}")


def to_text(automaton: WeightedAutomaton) -> str:
    """Write an automaton as lines: ``states symbols``, then ``start i w``, ``stop i w`` and ``i a j w``; no zeros.

    Examples
    --------
    >>> half = WeightedAutomaton(np.array([1.0]), np.array([[[0.25]]]), np.array([0.75]))
    >>> to_text(half).splitlines()
    ['1 1', 'start 0 1.0', 'stop 0 0.75', '0 0 0 0.25']
    """
    lines = [f"{automaton.rank} {automaton.size}"]
    for name, weights in (("start", automaton.alpha0), ("stop", automaton.alpha_inf)):
        lines += [f"{name} {i} {float(weights[i])!r}" for i in np.flatnonzero(weights).tolist()]
    lines += [f"{i} {a} {j} {float(automaton.A[a, i, j])!r}" for a, i, j in np.argwhere(automaton.A).tolist()]
    return "\n".join(lines) + "\n"


def from_text(text: str) -> WeightedAutomaton:
    r"""Read what :func:`to_text` wrote.

    Raises
    ------
    InputError
        If a line is of another form, or names a state or symbol that there is not.

    Examples
    --------
    >>> from_text("1 1\nstart 0 1.0\nstop 0 0.75\n0 0 0 0.25\n").total.tolist()
    [1.0]
    """
    first, *lines = text.splitlines() or [""]
    sizes = first.split()
    if len(sizes) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in sizes):
        raise InputError(f"line 1: the numbers of states and symbols are needed; got {first[:80]!r}")
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
            wanted = (
                f"a state, a symbol, a state and a weight, below {r}, {k} and {r}; or start or stop, a state and one"
            )
            raise InputError(f"line {number}: {wanted} are needed; got {line[:80]!r}") from None
    return WeightedAutomaton(ends["start"], A, ends["stop"])


def _below(text: str, size: int) -> int:
    if not 0 <= int(text) < size:
        raise ValueError(text)
    return int(text)


def to_dot(automaton: WeightedAutomaton, symbols: Sequence[Any] | None = None, *, min_weight: float = 0.01) -> str:
    """Draw an automaton for graphviz; weights below ``min_weight`` in magnitude are left out.

    Parameters
    ----------
    automaton : WeightedAutomaton
    symbols : sequence, optional
        Names of the symbols, instead of their numbers.
    min_weight : float

    Examples
    --------
    >>> half = WeightedAutomaton(np.array([1.0]), np.array([[[0.25]]]), np.array([0.75]))
    >>> "0 -> 0" in to_dot(half, ["a"])
    True
    """
    names = [str(symbol) for symbol in (range(automaton.size) if symbols is None else symbols)]
    if len(names) != automaton.size:
        raise InputError(f"each of {automaton.size} symbols needs a name; got {len(names)}")
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
