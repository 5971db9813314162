"""Doors to the loops that multiply a sparse tensor by all factors but one (MTTKRP)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.kernels.doors import frozen, sum_of_parts, table
from polyadic.kernels.loops import mttkrp as loops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def mttkrp(
    indices: NDArray[Any], values: NDArray[Any], factors: Sequence[NDArray[Any]], *, mode: int, threads: int
) -> NDArray[Any]:
    r"""Multiply listed entries by the factors of all modes but one.

    .. math:: M_{i r} = \sum_{e:\, e_{\mathrm{mode}} = i} x_e \prod_{d \ne \mathrm{mode}} U^{(d)}_{e_d r}

    Parameters
    ----------
    indices : ndarray of shape (n, order)
        Indices of each entry; runs that share all but the last make it fast.
    values : ndarray of shape (n,)
        :math:`x_e`.
    factors : sequence of ndarray of shape (size of the mode, R)
        :math:`U^{(d)}`, in single or double precision. Of the factor of ``mode`` only the shape and type count.
    mode : int
        Which factor is left out.
    threads : int
        Parts worked on at the same time.

    Returns
    -------
    M : ndarray of shape (size of the mode, R)

    References
    ----------
    Bader, Kolda (2007), Efficient MATLAB computations with sparse and factored tensors, section 5.2.4.

    Examples
    --------
    >>> U = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> mttkrp(np.array([[0, 1]]), np.array([5.0]), [U, U], mode=0, threads=1).tolist()
    [[15.0, 20.0], [0.0, 0.0]]
    """
    columns, values = _checked(indices, values, factors, mode)
    others = [u for d, u in enumerate(factors) if d != mode]
    T = table(np.concatenate(others))
    # rows of the other factors stand one below the other; where those of ``mode`` would begin is not used
    sizes = [0 if d == mode else len(u) for d, u in enumerate(factors)]
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)

    def work(first: int, last: int, M: NDArray[Any]) -> float:
        if mode == len(factors) - 1:
            loops.leaf_mode(columns, offsets, values, T, first, last, M)
        else:
            loops.prefix_mode(columns, offsets, values, T, mode, first, last, M)
        return 0.0

    return sum_of_parts(work, columns.shape[1], [], factors[mode], threads=threads)[1]


def mttkrp_symmetric(
    indices: NDArray[Any], values: NDArray[Any], factors: Sequence[NDArray[Any]], *, mode: int, threads: int
) -> NDArray[Any]:
    r"""Multiply the permutations of listed entries by the factors of all modes but one, without listing them.

    .. math:: M_{i r} = \sum_e x_e \sum_{p \in S_n:\, e_{p(\mathrm{mode})} = i} \prod_{d \ne \mathrm{mode}}
              U^{(d)}_{e_{p(d)} r}

    All :math:`n!` permutations of the places of a tuple count. Where a word repeats they are not all different: scale
    its value by :meth:`polyadic.data.Entries.multiplicity` over :math:`n!` to count each cell once.

    Parameters
    ----------
    indices, values, factors, mode, threads
        As in :func:`mttkrp`; all factors have one shape.

    Returns
    -------
    M : ndarray of shape (V, R)

    Examples
    --------
    >>> U = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> mttkrp_symmetric(np.array([[1, 0]]), np.array([5.0]), [U, U], mode=0, threads=1).tolist()
    [[15.0, 20.0], [5.0, 10.0]]
    """
    columns, values = _checked(indices, values, factors, mode)
    if len({u.shape for u in factors}) > 1:
        raise ValueError(f"symmetric entries need factors of one shape; got {[u.shape for u in factors]}")
    layers = [u for d, u in enumerate(factors) if d != mode]
    loop = loops.symmetric_triples if len(factors) == 3 else loops.symmetric_fibres

    def work(first: int, last: int, T: NDArray[Any]) -> float:
        loop(columns, values, T, first, last)
        return 0.0

    return sum_of_parts(work, columns.shape[1], layers, factors[mode], threads=threads)[1]


def _checked(
    indices: NDArray[Any], values: NDArray[Any], factors: Sequence[NDArray[Any]], mode: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Check that every index is a row of its factor: a loop would read and write beyond it."""
    order = len(factors)
    if indices.ndim != 2 or indices.shape[1] != order or order < 2 or not 0 <= mode < order:
        raise ValueError(
            f"indices must be (n, order) with a factor per mode, two at least, and mode one of them; got shape"
            f" {indices.shape}, {order} factors, mode {mode}"
        )
    if len({(u.dtype, u.shape[1:]) for u in factors}) > 1 or factors[0].ndim != 2:
        raise ValueError(f"factors must be matrices of one rank and type; got {[(u.dtype, u.shape) for u in factors]}")
    if values.shape != indices.shape[:1]:
        raise ValueError(f"{len(indices)} entries need as many values; got shape {values.shape}")
    columns = frozen(indices.T)
    for d, (column, u) in enumerate(zip(columns, factors, strict=True)):
        if column.size and not (column.min() >= 0 and column.max() < len(u)):
            raise ValueError(
                f"indices of mode {d} must be from 0 to {len(u) - 1}; got {column.min()} to {column.max()}"
            )
    return columns, frozen(values, factors[0].dtype)
