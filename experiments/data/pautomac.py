"""Problems of the PAutomaC competition: strings drawn from a probabilistic automaton, and the automaton."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.errors import InputError, check_choice
from polyadic.datasets.place import folder, text
from polyadic.sequences.automata import WeightedAutomaton
from polyadic.sequences.symbols import read_pautomac, read_probabilities

if TYPE_CHECKING:
    import os
    from pathlib import Path

    Root = str | os.PathLike[str] | None

PROBLEMS = (1, 3, 7, 24, 29, 42)
"""Numbers of the available problems."""
PARTS = {"I": 1, "F": 1, "S": 2, "T": 3}
"""Sections of a model file, and their numbers in brackets: start, end, symbols, transitions."""
LINE = re.compile(r"\(\s*(\d{1,9}(?:\s*,\s*\d{1,9})*)\s*\)\s+(\S+)", re.ASCII)


class Problem(NamedTuple):
    """A problem with its solution.

    ``size``: Of the alphabet. ``truth``: Probabilities of test strings. ``automaton``: That they were drawn from.
    """

    train: list[tuple[int, ...]]
    test: list[tuple[int, ...]]
    size: int
    truth: np.ndarray
    automaton: WeightedAutomaton


def pautomac_problem(number: int, *, root: Root = None) -> Problem:
    """Read a problem.

    ``number``: One of :data:`PROBLEMS`. ``root``: See :func:`~polyadic.datasets.folder`; the files are in
    ``sequences/pautomac``.

    References
    ----------
    Verwer, Eyraud, de la Higuera (2014), PAutomaC: a probabilistic automata and hidden Markov models learning
    competition.
    """
    check_choice("number", str(number), [str(each) for each in PROBLEMS])
    where = folder(root) / "sequences" / "pautomac"
    (train, size), (test, other) = (read_pautomac(where / f"{number}.pautomac.{part}") for part in ("train", "test"))
    truth = np.array(read_probabilities(where / f"{number}.pautomac_solution.txt"))
    if other != size or len(truth) != len(test):
        raise InputError(
            f"{where}: test and training of problem {number} must be of one alphabet, and each test string have its"
            f" probability; got alphabets of {size} and {other}, {len(test)} strings and {len(truth)}"
        )
    model = pautomac_model(where / f"{number}.pautomac_model.txt", size)
    return Problem(train, test, size, truth, model)


def pautomac_model(path: Path, size: int) -> WeightedAutomaton:
    r"""Read a model: initial, final, emission and transition probabilities.

    In state i it ends with probability :math:`F_i`; else it says a with :math:`S_{ia}` and goes to j with
    :math:`T_{iaj}`, so :math:`A_a[i, j] = (1 - F_i) S_{ia} T_{iaj}`.

    ``size``: Of the alphabet.
    """
    tables: dict[str, dict[tuple[int, ...], float]] = {part: {} for part in PARTS}
    part = ""
    for number, line in enumerate(text(path).split("\n"), 1):
        where = f"{path}, line {number}"
        head, colon, _ = line.partition(":")
        if colon and head.strip() in PARTS:
            part = head.strip()
        elif line.strip():
            key, value = _cell(line, where, part)
            tables[part][key] = value
    states = 1 + max((n for p in "IF" for key in tables[p] for n in key), default=-1)
    states = max([states, *(1 + max(key[0], key[-1]) for key in tables["T"])])
    if any(key[1] >= size for part in "ST" for key in tables[part]):
        raise InputError(f"{path}: a symbol is not below {size}, the size of the alphabet")
    if states > sum(map(len, tables.values())):
        raise InputError(f"{path}: states are numbered from 0 without gaps; got {states - 1}")
    start, stop, A = np.zeros(states), np.zeros(states), np.zeros((size, states, states))
    for (i,), value in tables["I"].items():
        start[i] = value
    for (i,), value in tables["F"].items():
        stop[i] = value
    for (i, a, j), value in tables["T"].items():
        A[a, i, j] = (1 - stop[i]) * tables["S"].get((i, a), 0.0) * value
    sums = A.sum(axis=(0, 2)) + stop
    if abs(start.sum() - 1) > 1e-6 or np.abs(sums[sums > 0] - 1).max(initial=0) > 1e-6:
        raise InputError(f"{path}: probabilities of starts, and of what each state does, must add to 1")
    return WeightedAutomaton(start, A, stop)


def _cell(line: str, where: str, part: str) -> tuple[tuple[int, ...], float]:
    match = LINE.fullmatch(line.strip())
    key = tuple(int(each) for each in match[1].split(",")) if match else ()
    try:
        value = float(match[2]) if match else -1.0
    except ValueError:
        value = -1.0
    if not part or len(key) != PARTS[part] or not 0 <= value <= 1 + 1e-9:
        wanted = f"{PARTS[part]} numbers in brackets and a probability" if part else "I:, F:, S: or T:"
        raise InputError(f"{where}: {wanted} are needed; got {line.strip()[:80]!r}")
    return key, value
