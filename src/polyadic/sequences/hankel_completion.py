r"""Completion of Hankel matrices with small trace norm.

.. math:: \min_f \tfrac12 \sum_{uv\ \mathrm{known}} (\hat f(uv) - f(uv))^2 + \lambda \|H_f\|_*

over functions f of strings: cells of equal strings, such as (a, ba) and (ab, a), are one variable. The solver is ADMM:
a copy :math:`Z = H_f` is shrunk separately, and each f(x) is the mean of the data and of the cells of Z. The matrix
contains all prefixes with and without a further symbol, so that all blocks are completed together. Without the
constraint cells are completed independently, and those of equal strings averaged afterwards.

References
----------
Bailly, Carreras, Luque, Quattoni (2013), Unsupervised spectral learning of WCFG as low-rank matrix completion,
section 4.
Boyd, Parikh, Chu, Peleato, Eckstein (2011), Distributed optimization and statistical learning via the alternating
direction method of multipliers, section 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.errors import InputError, check_choice, check_int, check_number
from polyadic.core.linalg.spectral import soft_threshold, zero
from polyadic.core.losses import Squared
from polyadic.core.solvers.run import Sweep, run
from polyadic.core.solvers.smooth import CellLosses
from polyadic.core.solvers.trace_norm import Pattern, Problem, proximal_gradient, solve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from polyadic.sequences.hankel import Hankel

    Array = NDArray[np.float64]

Structure = Literal["constrained", "averaged"]
EXACT, GAP = 1e-8, 1e-4
"""Residual of singular vectors, and duality gap at which the solver stops."""


def shared_cells(table: Hankel) -> NDArray[np.int64]:
    """Return the id of the string in each cell of the matrix and of all its blocks; shape ((k + 1) P, S).

    Examples
    --------
    >>> from polyadic.sequences.hankel import hankel
    >>> from polyadic.sequences.symbols import coded
    >>> table = hankel(coded(["a"], {"a": 0}), 1, statistic="string", prefixes=[(), (0,)], suffixes=[(), (0,)])
    >>> shared_cells(table).tolist()
    [[0, 1], [1, 2], [1, 2], [2, 3]]
    """
    k = len(table.shifted_begins)
    rows = [*table.prefixes, *((*u, a) for a in range(k) for u in table.prefixes)]
    number: dict[tuple[int, ...], int] = {}
    return np.array([[number.setdefault((*u, *v), len(number)) for v in table.suffixes] for u in rows])


def completed_hankel(
    table: Hankel,
    penalty: float,
    *,
    min_count: int = 0,
    structure: Structure = "constrained",
    max_iter: int = 500,
) -> Hankel:
    r"""Complete the cells of strings seen fewer than ``min_count`` times, and shrink all cells.

    Parameters
    ----------
    table : Hankel
        Stored densely, so for some hundred prefixes and suffixes.
    penalty : float
        :math:`\lambda`, in units of the cells.
    min_count : int
        With 0 unseen strings count as rare, with 1 as unknown, which helped less with strings from planted automata.
    structure : {"constrained", "averaged"}
        Whether cells of equal strings are one variable, or are averaged afterwards.
    max_iter : int
        Maximum number of iterations.

    Returns
    -------
    Hankel
        With the completed blocks. For whole strings, beginnings and ends come from the blocks if the empty string is in
        the basis; for other statistics they are unchanged.
    """
    check_number("penalty", penalty, above=True)
    check_int("min_count", min_count, low=0)
    check_choice("structure", structure, get_args(Structure))
    cells = shared_cells(table)
    dense = np.vstack([table.H.toarray(), table.shifted.toarray()])
    known = np.round(dense * table.strings) >= min_count
    if not known.any():
        raise InputError(f"no string of the basis occurs {min_count} times; lower min_count", "min_count")
    if structure == "constrained":
        f = run(_constrained(dense, known, cells, penalty), max_iter=max_iter, tol=GAP).factors[0]
    else:
        rows, columns = np.nonzero(known)
        problem = Problem(Pattern(rows, columns, dense.shape), CellLosses(dense[known], Squared()), penalty)
        M = solve(problem, proximal_gradient(problem), max_iter=max_iter, tol=GAP).M.toarray()
        f = np.bincount(cells.ravel(), M.ravel()) / np.bincount(cells.ravel())
    return _filled(table, f[cells])


def _constrained(dense: Array, known: NDArray[np.bool_], cells: NDArray[np.int64], penalty: float) -> Iterator[Sweep]:
    """ADMM iterations over the values of strings and a shrunk copy of their matrix."""
    flat, where = cells.ravel(), known.ravel()
    times = np.bincount(flat)
    seen = np.bincount(flat, where)
    data = np.bincount(flat, np.where(where, dense.ravel(), 0.0))
    f = np.where(seen > 0, data / np.maximum(seen, 1), 0.0)
    U, near = np.zeros_like(dense), zero(*dense.shape)
    while True:
        H = f[cells]
        norm = float(np.linalg.svd(H, compute_uv=False).sum())
        yield Sweep([f], 0.5 * float(((dense - H)[known] ** 2).sum()) + penalty * norm)
        near = soft_threshold(H + U, penalty, near=near, tol=EXACT)
        Z = near.toarray()
        U = U + H - Z
        f = (data + np.bincount(flat, (Z - U).ravel())) / (seen + times)


def _filled(table: Hankel, dense: Array) -> Hankel:
    P = len(table.prefixes)
    begins, shifted_begins, ends = table.begins, table.shifted_begins, table.ends
    if table.statistic == "string" and () in table.prefixes:
        at = table.prefixes.index(())
        begins, shifted_begins = dense[at], dense[P + at :: P]
    if table.statistic == "string" and () in table.suffixes:
        ends = dense[:P, table.suffixes.index(())]
    blocks = {"H": csr_array(dense[:P]), "shifted": csr_array(dense[P:])}
    return table._replace(**blocks, begins=begins, shifted_begins=shifted_begins, ends=ends)
