"""Automata as text: numbers that are read back as they were, and pictures for graphviz."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic import resources
from polyadic.errors import InputError
from polyadic.models.sequences.automata import WeightedAutomaton

if TYPE_CHECKING:
    from collections.abc import Sequence


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


def to_dot(automaton: WeightedAutomaton, symbols: Sequence[Any] | None = None, *, least: float = 0.01) -> str:
    """Draw an automaton for graphviz; weights below ``least`` in magnitude are left out.

    Parameters
    ----------
    automaton : WeightedAutomaton
    symbols : sequence, optional
        Names of the symbols, instead of their numbers.
    least : float

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
        ends = [f"{w:.2g}" if abs(w) >= least else "" for w in (automaton.alpha0[i], automaton.alpha_inf[i])]
        label = "".join(f"\n{name} {w}" for name, w in zip(("start", "stop"), ends, strict=True) if w)
        shape = "doublecircle" if ends[1] else "circle"
        lines.append(f"  {i} [shape={shape}, label={json.dumps(str(i) + label)}];")
    for i, j in np.argwhere((np.abs(automaton.A) >= least).any(axis=0)).tolist():
        kept = [a for a in range(automaton.size) if abs(automaton.A[a, i, j]) >= least]
        label = "\n".join(f"{names[a]} {automaton.A[a, i, j]:.2g}" for a in kept)
        lines.append(f"  {i} -> {j} [label={json.dumps(label)}];")
    return "\n".join([*lines, "}"]) + "\n"
