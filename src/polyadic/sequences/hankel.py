r"""Hankel matrices: a row for each prefix, a column for each suffix, and the value of their concatenation in the cell.

.. math:: H_{u,v} = f(uv), \qquad (H_a)_{u,v} = f(u a v)

f is one of three functions of strings, each with an automaton of the same matrices :math:`A_a`: the probability of a
string, the probability of strings with this prefix, or the expected number of occurrences as a substring. The rank of
:math:`H` is at most the number of states of an automaton of f. The initial and final weights of the automaton of
probabilities are estimated from the probability that a string begins with each suffix (equals it, for the first
function), and the expected number that end with each prefix (equal it, for the first two).

References
----------
Balle, Carreras, Luque, Quattoni (2014), Spectral learning of weighted automata, section 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from polyadic.core import resources
from polyadic.core.errors import InputError, check_choice, check_int
from polyadic.sequences.substrings import ANYWHERE, AT_END, AT_START, WHOLE, Substrings, count_substrings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from polyadic.sequences.symbols import Coded

    Array = NDArray[np.float64]

Statistic = Literal["string", "prefix", "factor"]


class Columns(NamedTuple):
    """Columns of substring counts that a statistic uses: for cells, rows, columns, beginnings and ends."""

    cell: int
    row: int
    column: int
    begins: int
    ends: int


COUNTS: dict[str, Columns] = {
    "string": Columns(WHOLE, AT_START, AT_END, WHOLE, WHOLE),
    "prefix": Columns(AT_START, AT_START, ANYWHERE, AT_START, WHOLE),
    "factor": Columns(ANYWHERE, ANYWHERE, ANYWHERE, AT_START, AT_END),
}
"""Rows are prefixes of strings, or substrings for factors; columns are substrings, or suffixes for whole strings."""


class Hankel(NamedTuple):
    """Blocks of a Hankel matrix of P prefixes, S suffixes and k symbols; all values are means over strings.

    Attributes
    ----------
    prefixes, suffixes : list of tuple of int
    H : csr_array of shape (P, S)
    shifted : csr_array of shape (k P, S)
        The stacked blocks of all symbols.
    begins, shifted_begins : ndarray of shape (S,) and (k, S)
        Probability that a string begins with a suffix, and with a symbol and a suffix.
    ends : ndarray of shape (P,)
        Expected number of strings that end with a prefix.
    rows, shifted_rows, columns : ndarray of shape (P,), (P, k) and (S,)
        Frequencies of prefixes, of prefixes followed by a symbol, and of suffixes. For whole strings they are the sums
        of rows and columns over all suffixes and prefixes, in the matrix or not.
    first : ndarray of shape (k + 1,)
        Probability that a string begins with each symbol, and last that it is empty.
    statistic : str
    strings : int
        Number of strings.
    """

    prefixes: list[tuple[int, ...]]
    suffixes: list[tuple[int, ...]]
    H: Any
    shifted: Any
    begins: Array
    shifted_begins: Array
    ends: Array
    rows: Array
    shifted_rows: Array
    columns: Array
    first: Array
    statistic: str
    strings: int

    def block(self, symbol: int) -> Any:
        """Return the block of a symbol, of shape (P, S)."""
        return self.shifted[symbol * len(self.prefixes) : (symbol + 1) * len(self.prefixes)]


def hankel(
    data: Coded | Substrings,
    size: int,
    *,
    statistic: Statistic = "factor",
    basis: int | None = None,
    max_length: int = 4,
    prefixes: Sequence[Sequence[int]] | None = None,
    suffixes: Sequence[Sequence[int]] | None = None,
) -> Hankel:
    """Estimate a Hankel matrix from strings.

    Parameters
    ----------
    data : Coded or Substrings
        Strings of symbols below ``size``; or their substrings, up to twice the basis length plus one.
    size : int
        Size of the alphabet.
    statistic : {"string", "prefix", "factor"}
        Function of strings.
    basis : int, optional
        Maximum number of prefixes and of suffixes, the most frequent; by default all that occur.
    max_length : int
        Maximum length of a prefix and of a suffix.
    prefixes, suffixes : sequence of sequences of int, optional
        A given basis, instead of the most frequent.

    Examples
    --------
    >>> from polyadic.sequences.symbols import coded
    >>> table = hankel(coded(["ab", "b", "ab", "a"], {"a": 0, "b": 1}), 2, statistic="string")
    >>> table.prefixes, table.suffixes
    ([(), (0,), (1,), (0, 1)], [(), (0,), (1,), (0, 1)])
    >>> table.H.toarray().tolist()[:2]
    [[0.0, 0.25, 0.25, 0.5], [0.25, 0.0, 0.5, 0.0]]
    """
    check_choice("statistic", statistic, get_args(Statistic))
    check_int("max_length", max_length, low=0)
    if basis is not None:
        check_int("basis", basis, low=1)
    max_length = max([max_length, *map(len, prefixes or ()), *map(len, suffixes or ())])
    deep = 2 * max_length + 1
    tree = data if isinstance(data, Substrings) else count_substrings(data, size, max_length=deep)
    if not tree.strings:
        raise InputError("a Hankel matrix needs at least one string")
    kind = COUNTS[statistic]
    chosen = [
        _frequent(tree, kind[side], basis, max_length) if given is None else _given(given, size, name)
        for given, side, name in ((prefixes, 1, "prefixes"), (suffixes, 2, "suffixes"))
    ]
    return _counted(tree, chosen[0], chosen[1], statistic)


def _frequent(tree: Substrings, column: int, basis: int | None, max_length: int) -> list[tuple[int, ...]]:
    """Return the most frequent strings in the order of nodes; ties go to the first."""
    counts = np.where(tree.lengths <= max_length, tree.counts[:, column], 0)
    best = np.argsort(-counts, kind="stable")[:basis]
    return [tree.spell(node) for node in np.sort(best[counts[best] > 0]).tolist()]


def _given(strings: Sequence[Sequence[int]], size: int, name: str) -> list[tuple[int, ...]]:
    chosen = [tuple(map(int, string)) for string in strings]
    if len(set(chosen)) < len(chosen) or not chosen:
        raise InputError(f"{name} must be one or more different strings")
    if any(not 0 <= symbol < size for string in chosen for symbol in string):
        raise InputError(f"the symbols of {name} must be below {size}")
    return chosen


def _counted(tree: Substrings, prefixes: list[Any], suffixes: list[Any], statistic: str) -> Hankel:
    kind, k, n = COUNTS[statistic], np.arange(tree.size), tree.strings
    cells = (tree.size + 1.0) * (len(prefixes) + len(suffixes))
    resources.check_memory(24 * cells, "the blocks of all symbols", "lower basis, or merge rare symbols")
    rows = np.array([tree.find(u) for u in prefixes])
    after = np.stack([tree.child(rows, a) for a in k])  # (k, P)
    first = tree.child(0, k)

    def at(nodes: NDArray[np.int64], column: int) -> Array:
        return np.where(nodes >= 0, tree.counts[nodes, column], 0) / n

    columns = np.array([tree.find(v) for v in suffixes])
    every = tree.table(np.concatenate([rows, after.ravel()]), suffixes, kind.cell)
    begins = tree.table(np.array([0, *first]), suffixes, kind.begins).toarray()
    return Hankel(
        prefixes,
        suffixes,
        every[: len(rows)],
        every[len(rows) :],
        begins[0],
        begins[1:],
        at(rows, kind.ends),
        at(rows, kind.row),
        at(after, kind.row).T.copy(),
        at(columns, kind.column),
        np.append(at(first, AT_START), tree.counts[0, WHOLE] / n),
        statistic,
        n,
    )
