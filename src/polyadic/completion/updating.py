r"""Go on with two factors when there are more cells, rows and columns.

Given V, rows of U are solved for exactly and alone, so a new one needs no other:

.. math:: u_i = \arg\min_u \sum_{j\ \mathrm{known}} c_{ij} (x_{ij} - u \cdot v_j)^2 + \text{penalty}(u)

New rows are solved for given the columns that are there, new columns given all rows, and all rows once more; what is
left to a fit from the start is how the columns that were there move, for which sweeps over both sides follow.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.core.errors import InputError, check_int
from polyadic.core.solvers.run import Sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from polyadic.completion.cells import ObservedEntries

SWEEPS = 1
"""Over both sides, after what is new was solved for: it brings predictions nearer to those of a fit from the start than
those of two such fits from other seeds are to each other."""


def check_grown(before: tuple[int, int], now: tuple[int, int]) -> None:
    """Refuse what has fewer rows or columns than before.

    Raises
    ------
    InputError
    """
    if now[0] < before[0] or now[1] < before[1]:
        raise InputError(f"what is known must have all that the model was fitted to, {before}, or more; got {now}")


def grown(F: NDArray[Any], size: int) -> NDArray[Any]:
    """Give a factor more rows, of zeros."""
    return np.concatenate([F, np.zeros((size - len(F), *F.shape[1:]), F.dtype)])


def updates(
    cells: ObservedEntries,
    factors: tuple[NDArray[Any], NDArray[Any]],
    *,
    solved: Callable[[ObservedEntries, NDArray[Any]], NDArray[Any]],
    improved: Callable[[ObservedEntries, NDArray[Any], NDArray[Any]], NDArray[Any]] | None = None,
    objective: Callable[[ObservedEntries, NDArray[Any], NDArray[Any]], float],
    sweeps: int,
) -> Iterator[Sweep]:
    """Go on from factors with all that is known now.

    Parameters
    ----------
    cells : ObservedEntries
        What was known and what is new; new rows and columns stand behind those there.
    factors : (ndarray, ndarray)
        Of the rows and columns fitted to.
    solved : callable
        Gives the rows of cells, given the columns.
    improved : callable, optional
        What sweeps do in its stead, where there is something quicker: gives better rows, given columns and rows.
    objective : callable
    sweeps : int
        0 to solve for what is new alone.

    Raises
    ------
    InputError
        If rows or columns that were fitted to are not there, or ``sweeps`` is below 0.
    """
    check_int("sweeps", sweeps, low=0)
    check_grown((len(factors[0]), len(factors[1])), cells.shape)
    return islice(
        _updates(cells, factors, solved, improved or (lambda cells, V, _: solved(cells, V)), objective), sweeps + 1
    )


def _updates(cells: ObservedEntries, factors: Any, solved: Any, improved: Any, objective: Any) -> Iterator[Sweep]:
    across = cells.turned()
    (rows, columns), (U, V) = map(len, factors), (grown(F, n) for F, n in zip(factors, cells.shape, strict=True))
    U[rows:] = solved(cells.take(np.arange(rows, len(U))), V)
    V[columns:] = solved(across.take(np.arange(columns, len(V))), U)
    U = solved(cells, V)
    while True:
        yield Sweep([U, V], objective(cells, U, V))
        V = improved(across, U, V)
        U = improved(cells, V, U)
