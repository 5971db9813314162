r"""Update of two factors with new cells, rows and columns.

Given V, each row of U is solved for exactly and independently:

.. math:: u_i = \arg\min_u \sum_{j\ \mathrm{known}} c_{ij} (x_{ij} - u \cdot v_j)^2 + \text{penalty}(u)

New rows are solved for given the existing columns, new columns given all rows, and all rows once more. The difference
to a fit from scratch is that existing columns do not move; sweeps over both sides follow for that.
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
"""Default number of sweeps over both sides.

One brings predictions closer to a fit from scratch than two such fits from different seeds are to each other.
"""


def check_grown(before: tuple[int, int], now: tuple[int, int]) -> None:
    """Raise InputError if there are fewer rows or columns than before."""
    if now[0] < before[0] or now[1] < before[1]:
        raise InputError(f"X must have at least the rows and columns of the fit, {before}; got {now}")


def grown(F: NDArray[Any], size: int) -> NDArray[Any]:
    """Append rows of zeros to a factor."""
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
    """Iterate over updates of factors with all cells, new rows and columns last; 0 sweeps solve only for these.

    ``solved`` solves for the rows of cells given the columns; ``improved``, if given, is its faster replacement
    in sweeps and improves given rows.
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
