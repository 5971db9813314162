"""Doors to the loops of Poisson CP models."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.kernels.doors import checked, frozen, sum_of_parts, table
from polyadic.kernels.loops import poisson

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def cp_poisson(
    indices: NDArray[Any],
    values: NDArray[Any],
    U: NDArray[Any],
    *,
    offsets: Sequence[int],
    mode: int,
    floor: float,
    permuted: bool = False,
    measured: bool = False,
    threads: int,
) -> tuple[float, NDArray[Any]]:
    r"""Multiplicative factor of one mode of a Poisson CP model, and the log-likelihood of the counts.

    .. math:: \Phi_{ir} = \sum_{e:\, e_n = i} \frac{x_e}{\max(m_e, \epsilon)} \prod_{d \ne n} U_{o_d + e_d, r}, \qquad
              m_e = \sum_r \prod_d U_{o_d + e_d, r}

    Parameters
    ----------
    indices : ndarray of shape (n, order)
        Indices of each entry; runs that share all but the last make it fast.
    values : ndarray of shape (n,)
        :math:`x`, not negative.
    U : ndarray of shape (rows, R)
        The factors of all modes, one under the other; single or double precision, which everything else follows.
    offsets : sequence of int
        :math:`o`: where the rows of each mode begin, from 0 on, rising.
    mode : int
        :math:`n`.
    floor : float
        :math:`\epsilon`; below it the logarithm of a prediction continues as its tangent.
    permuted : bool
        Whether each entry stands for itself with its indices in all orders, as in a symmetric list. A tuple that
        repeats an index is met more often than it has cells: divide its value accordingly.
    measured : bool
        Whether the log-likelihood is wanted.
    threads : int
        Parts worked on at the same time.

    Returns
    -------
    log_likelihood : float
        :math:`\sum_e x_e \log m_e`; 0 if not ``measured``.
    phi : ndarray of shape (rows of the mode, R)
    """
    bounds = [*offsets, len(U)]
    if bounds[0] != 0 or bounds != sorted(bounds) or not 0 <= mode < len(offsets):
        raise ValueError(f"offsets must rise from 0, and mode lie below {len(offsets)}; got {list(offsets)} and {mode}")
    columns, at = checked(indices, offsets, len(U))
    order, n = columns.shape
    if n and permuted and columns.max() >= np.diff(bounds).min():
        raise ValueError(f"indices must lie within every mode of {np.diff(bounds).tolist()} rows")
    if values.shape != (n,):
        raise ValueError(f"{n} entries need as many values; got shape {values.shape}")
    values, epsilon = frozen(values, U.dtype), U.dtype.type(floor)
    orders = list(permutations(range(order))) if permuted else [tuple(range(order))]
    places = [(np.ascontiguousarray(at[list(modes)]), modes.index(mode)) for modes in orders]

    T = table(U)

    def work(first: int, last: int, phi: NDArray[Any]) -> float:
        return sum(
            poisson.poisson_fibres(columns, offset, values, T, target, epsilon, measured, first, last, phi)
            for offset, target in places
        )

    return sum_of_parts(work, n, [], U[bounds[mode] : bounds[mode + 1]], threads=threads)
