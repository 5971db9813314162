r"""Hankel matrices, whose rows are prefixes, columns are suffixes, and entries are values of concatenated strings.

.. math:: H_{u,v} = f(uv), \qquad (H_a)_{u,v} = f(u a v)

f is one of three functions of strings, each with an automaton of the same matrices :math:`A_a`: the probability of a
string, the probability of strings with this prefix, or the expected number of occurrences as a substring. The rank of
:math:`H` is at most the number of states of an automaton of f. The initial and final weights of the automaton of
probabilities are estimated from the probability that a string begins with each suffix (equals it, for the first
function), and the expected number that end with each prefix (equal it, for the first two).

A matrix can be completed with small trace norm,

.. math:: \min_f \tfrac12 \sum_{uv\ \mathrm{known}} (\hat f(uv) - f(uv))^2 + \lambda \|H_f\|_*

over functions f of strings: cells of equal strings, such as (a, ba) and (ab, a), are one variable. The solver is ADMM:
a copy :math:`Z = H_f` is shrunk separately, and each f(x) is the mean of the data and of the cells of Z. The matrix
contains all prefixes with and without a further symbol, so that all blocks are completed together. Without the
constraint cells are completed independently, and those of equal strings averaged afterwards.

References
----------
Balle, Carreras, Luque, Quattoni (2014), Spectral learning of weighted automata, section 4.
Bailly, Carreras, Luque, Quattoni (2013), Unsupervised spectral learning of WCFG as low-rank matrix completion,
section 4.
Boyd, Parikh, Chu, Peleato, Eckstein (2011), Distributed optimization and statistical learning via the alternating
direction method of multipliers, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import factorized

from polyadic.core import resources
from polyadic.core.annotations import Array, Ints
from polyadic.core.errors import InputError, check_choice, check_int, check_number
from polyadic.core.linalg.spectral import soft_threshold, zero
from polyadic.core.losses import Squared
from polyadic.core.solvers.run import Sweep, run
from polyadic.core.solvers.smooth import CellLosses
from polyadic.core.solvers.trace_norm import Pattern, Problem, proximal_gradient, solve
from polyadic.sequences.substrings import ANYWHERE, AT_END, AT_START, WHOLE, Substrings, count_substrings

if TYPE_CHECKING:
    from polyadic.sequences.symbols import Coded

Statistic = Literal["string", "prefix", "factor"]
Structure = Literal["constrained", "averaged"]
RIDGE = 1e-9  # added to the normal equations, as some values may be undetermined
STEP = 50.0  # step of ADMM relative to the penalty, for probabilities observed as sums
EXACT, GAP = 1e-8, 1e-4  # residual of singular vectors, and duality gap at which the solver stops

COUNTS = {  # positions of the occurrences to count: cells, rows, columns, beginnings, ends
    "string": (WHOLE, AT_START, AT_END, WHOLE, WHOLE),
    "prefix": (AT_START, AT_START, ANYWHERE, AT_START, WHOLE),
    "factor": (ANYWHERE, ANYWHERE, ANYWHERE, AT_START, AT_END),
}
"""Rows are prefixes of strings, or substrings for factors; columns are substrings, or suffixes for whole strings."""


class Hankel(NamedTuple):
    """Estimated Hankel matrix of P prefixes and S suffixes, with a shifted block for each of k symbols."""

    prefixes: list[tuple[int, ...]]
    suffixes: list[tuple[int, ...]]
    H: Any  # csr_array of shape (P, S)
    shifted: Any  # the stacked blocks of all symbols, csr_array of shape (k P, S)
    begins: Array  # probability that a string begins with a suffix
    shifted_begins: Array  # probability that it begins with a symbol and a suffix, shape (k, S)
    ends: Array  # expected number of strings that end with a prefix
    rows: Array  # mean frequency of prefixes; for whole strings, the sum over all suffixes
    shifted_rows: Array  # the same of prefixes followed by a symbol, shape (P, k)
    columns: Array  # the same of suffixes
    first: Array  # probability that a string begins with each symbol, and last that it is empty
    statistic: str
    strings: int

    def block(self, symbol: int) -> Any:
        """Return the Hankel block of a symbol, of shape (P, S)."""
        return self.shifted[symbol * len(self.prefixes) : (symbol + 1) * len(self.prefixes)]

    def with_values(self, dense: Array) -> Hankel:
        """Return a Hankel matrix with other entries, of shape ((k + 1) P, S)."""
        P, begins, shifted_begins, ends = len(self.prefixes), self.begins, self.shifted_begins, self.ends
        if self.statistic == "string" and () in self.prefixes:
            at = self.prefixes.index(())
            begins, shifted_begins = dense[at], dense[P + at :: P]
        if self.statistic == "string" and () in self.suffixes:
            ends = dense[:P, self.suffixes.index(())]
        blocks = {"H": csr_array(dense[:P]), "shifted": csr_array(dense[P:])}
        return self._replace(**blocks, begins=begins, shifted_begins=shifted_begins, ends=ends)


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
    """Estimate a Hankel matrix from strings over ``size`` symbols, or from their substring counts.

    By default its rows and columns are the ``basis`` most frequent strings of at most ``max_length`` symbols.
    """
    check_choice("statistic", statistic, get_args(Statistic))
    check_int("max_length", max_length, low=0)
    if basis is not None:
        check_int("basis", basis, low=1)
    max_length = max([max_length, *map(len, prefixes or ()), *map(len, suffixes or ())])
    tree = data if isinstance(data, Substrings) else count_substrings(data, size, max_length=2 * max_length + 1)
    if not tree.strings:
        raise InputError("a Hankel matrix requires at least one string")
    of_cells, of_rows, of_columns, of_begins, of_ends = COUNTS[statistic]
    us, vs = (
        _frequent(tree, kind, basis, max_length) if given is None else _given(given, size, name)
        for given, kind, name in ((prefixes, of_rows, "prefixes"), (suffixes, of_columns, "suffixes"))
    )
    cells = (tree.size + 1.0) * (len(us) + len(vs))
    resources.check_memory(24 * cells, "the blocks of all symbols", "lower basis, or merge rare symbols")
    k = np.arange(tree.size)
    rows, columns = (np.array([tree.find(string) for string in strings]) for strings in (us, vs))
    after = np.stack([tree.child(rows, a) for a in k])  # (k, P)
    first = tree.child(0, k)
    every = tree.table(np.concatenate([rows, after.ravel()]), vs, of_cells)
    begins = tree.table(np.array([0, *first]), vs, of_begins).toarray()

    def at(nodes: Ints, column: int) -> Array:
        return np.where(nodes >= 0, tree.counts[nodes, column], 0) / tree.strings

    blocks = every[: len(rows)], every[len(rows) :], begins[0], begins[1:], at(rows, of_ends)
    sums = at(rows, of_rows), at(after, of_rows).T.copy(), at(columns, of_columns)
    starts = np.append(at(first, AT_START), tree.counts[0, WHOLE] / tree.strings)
    return Hankel(us, vs, *blocks, *sums, starts, statistic, tree.strings)


def _frequent(tree: Substrings, column: int, basis: int | None, max_length: int) -> list[tuple[int, ...]]:
    """Return the most frequent substrings, ordered by length and then by symbols."""
    counts = np.where(tree.lengths <= max_length, tree.counts[:, column], 0)
    best = np.argsort(-counts, kind="stable")[:basis]
    return [tree.spell(node) for node in np.sort(best[counts[best] > 0]).tolist()]


def _given(strings: Sequence[Sequence[int]], size: int, name: str) -> list[tuple[int, ...]]:
    chosen = [tuple(map(int, string)) for string in strings]
    if len(set(chosen)) < len(chosen) or not chosen:
        raise InputError(f"{name} must be a non-empty list of distinct strings")
    if any(not 0 <= symbol < size for string in chosen for symbol in string):
        raise InputError(f"{name} must contain only symbols from 0 to {size - 1}")
    return chosen


def shared_cells(table: Hankel) -> Ints:
    """Return an id for each entry of all blocks, shape ((k + 1) P, S), equal for entries of the same string."""
    k = len(table.shifted_begins)
    rows = [*table.prefixes, *((*u, a) for a in range(k) for u in table.prefixes)]
    number: dict[tuple[int, ...], int] = {}
    return np.array([[number.setdefault((*u, *v), len(number)) for v in table.suffixes] for u in rows])


def completed_hankel(
    table: Hankel, penalty: float, *, min_count: int = 0, structure: Structure = "constrained", max_iter: int = 500
) -> Hankel:
    """Complete a Hankel matrix by trace norm minimization; strings seen fewer than ``min_count`` times are missing.

    With ``min_count=0`` unseen strings count as rare, with 1 as unknown, which helped less with strings from planted
    automata. Cells of equal strings are one variable ("constrained"), or are averaged afterwards. For whole strings,
    beginnings and ends come from the blocks if the empty string is in the basis.
    """
    check_number("penalty", penalty, above=True)
    check_int("min_count", min_count, low=0)
    check_choice("structure", structure, get_args(Structure))
    cells = shared_cells(table)
    dense = np.vstack([table.H.toarray(), table.shifted.toarray()])
    known = np.round(dense * table.strings) >= min_count
    if not known.any():
        raise InputError(f"no string of the basis occurs at least {min_count} times; lower min_count", "min_count")
    if structure == "constrained":
        C, B = (selection(which, int(cells.max()) + 1) for which in (cells, cells[known]))
        f = run(least_trace_norm(C, B, dense[known], dense.shape, penalty), max_iter=max_iter, tol=GAP).factors[0]
    else:
        rows, columns = np.nonzero(known)
        problem = Problem(Pattern(rows, columns, dense.shape), CellLosses(dense[known], Squared()), penalty)
        M = solve(problem, proximal_gradient(problem), max_iter=max_iter, tol=GAP).M.toarray()
        f = np.bincount(cells.ravel(), M.ravel()) / np.bincount(cells.ravel())
    return table.with_values(f[cells])


def least_trace_norm(
    cells: Any, sums: Any, observed: Array, shape: tuple[int, int], penalty: float, *, step: float = 1.0
) -> Iterator[Sweep]:
    r"""Fit values to sums of them, with a trace norm penalty on a matrix of other sums, by ADMM.

    .. math:: \min_f \tfrac12 \|B f - y\|^2 + \lambda \|\mathrm{mat}(C f)\|_*

    ``cells`` is C, ``sums`` is B and ``observed`` is y. At the start, each sum is divided equally. Singular values are
    shrunk by ``penalty / step``.
    """
    normal = step * (cells.T @ cells) + sums.T @ sums
    solve = factorized((normal + RIDGE * step * eye_array(normal.shape[0])).tocsc())
    data = sums.T @ observed
    f = data / np.maximum(sums.T @ sums.sum(axis=1), 1)
    U, near = np.zeros(shape), zero(*shape)
    while True:
        H = (cells @ f).reshape(shape)
        norm = float(np.linalg.svd(H, compute_uv=False).sum())
        yield Sweep([f], 0.5 * float(((observed - sums @ f) ** 2).sum()) + penalty * norm)
        near = soft_threshold(H + U, penalty / step, near=near, tol=EXACT)
        Z = near.toarray()
        U = U + H - Z
        f = solve(data + step * (cells.T @ (Z - U).ravel()))


def selection(which: Ints, size: int) -> Any:
    """Return the sparse matrix that selects the values with the given indices among ``size`` values."""
    return csr_array((np.ones(which.size), (np.arange(which.size), which.ravel())), shape=(which.size, size))
