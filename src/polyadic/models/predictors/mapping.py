r"""Where the features of a linear model stand in a tensor of weights, so that its rank is low.

Position :math:`a`, from 0, is the cell :math:`(i_1, \dots, i_D)` with :math:`a = \sum_d i_d \prod_{k < d} n_k`: the
first mode is the fastest. The guided mapping (figure 2a) lays sorted weights of a model learned before, positive ones
from the largest down and negative ones from the lowest up, into slices of the last mode, :math:`u` to each; a slice is
of one sign as far as that goes, and slices are about proportional.

References
----------
Cao, Khudanpur (2014), Online learning in tensor space, sections 3.2 to 3.4.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from polyadic.errors import InputError, check_choice, check_int

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

Mapping = Literal["guided", "sequential", "random", "hashed"]


def mode_sizes(V: int, D: int) -> tuple[int, ...]:
    r"""Give the sizes of ``D`` modes of at least ``V`` cells and the least sum, each :math:`V^{1/D}` rounded.

    Raises
    ------
    InputError
        If a number is below 1.

    Examples
    --------
    >>> [sum(mode_sizes(1_333_000, D)) for D in (2, 3, 4)]
    [2310, 331, 136]
    """
    check_int("V", V, low=1)
    check_int("D", D, low=1)
    low = round(V ** (1 / D))
    low -= low**D > V
    ups = next(k for k in itertools.count() if low ** (D - k) * (low + 1) ** k >= V)
    return (low,) * (D - ups) + (low + 1,) * ups


def guided_order(v: ArrayLike, u: int) -> NDArray[np.int64]:
    """Give the features of weights ``v`` in the order of positions, slices of ``u`` to a sign.

    Examples
    --------
    >>> v = np.array([5.5, -5.5, 4.5, -4.5, 3.5, -3.5, 2.5, -2.5, 1.5, -1.5, 0.5, -0.5])
    >>> v[guided_order(v, 4)].reshape(3, 4).tolist()
    [[5.5, 4.5, 3.5, 2.5], [-5.5, -4.5, -3.5, -2.5], [1.5, 0.5, -1.5, -0.5]]
    """
    weights = np.asarray(v, float)
    order = np.argsort(-np.abs(weights), kind="stable")
    plus, minus = order[weights[order] >= 0], order[weights[order] < 0]
    e, f = len(plus) - len(plus) % u, len(minus) - len(minus) % u
    return np.concatenate([plus[:e], minus[:f], plus[e:], minus[f:]])


def places(
    mapping: Mapping, V: int, sizes: Sequence[int], *, v: ArrayLike | None = None, seed: int | None = None
) -> NDArray[np.int64]:
    """Give the cell of each feature.

    Parameters
    ----------
    mapping : {"guided", "sequential", "random", "hashed"}
        By the weights ``v``; in the order of features; by chance; by a hash of the number of a feature, which some
        share.
    V : int
        Features.
    sizes : sequence of int
        Of the modes.
    v : array of shape (V,), optional
        Weights of a linear model; for "guided".
    seed : int, optional
        For "random".

    Returns
    -------
    ndarray of int of shape (V,)
        Positions; cells that no feature has are padding.

    Raises
    ------
    InputError
        If the tensor has fewer cells than there are features, or weights are missing.
    """
    check_choice("mapping", mapping, get_args(Mapping))
    for size in sizes:
        check_int("sizes", size, low=1)
    room = math.prod(sizes)
    if mapping == "hashed":
        return (_mixed(np.arange(V, dtype=np.uint64)) % np.uint64(room)).astype(np.int64)
    if room < V:
        raise InputError(f"sizes {tuple(sizes)} have {room:,} cells, and there are {V:,} features")
    order = np.arange(V)
    if mapping == "random":
        order = np.random.default_rng(seed).permutation(room)
        return order[:V]
    if mapping == "guided":
        weights = np.asarray([] if v is None else v, float)
        if weights.shape != (V,):
            raise InputError(f"the guided mapping needs a weight for each of {V:,} features; got {weights.shape}")
        order = guided_order(weights, room // sizes[-1])
    place = np.empty(V, np.int64)
    place[order] = np.arange(V)
    return place


def mapped(v: ArrayLike, place: NDArray[Any], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Lay weights into a dense tensor; features of one cell are added up."""
    W = np.bincount(place, weights=np.asarray(v, float), minlength=math.prod(sizes))
    return W.astype(float).reshape(tuple(sizes), order="F")


def mapped_spectrum(v: ArrayLike, place: NDArray[Any], sizes: Sequence[int]) -> NDArray[np.float64]:
    """Give the singular values of weights as a matrix of slices, of which the last mode tells which (figure 4).

    Examples
    --------
    >>> v = 1 / np.arange(1.0, 401.0) * np.where(np.arange(400) % 3, 1, -1)
    >>> for mapping in ("guided", "random"):
    ...     s = mapped_spectrum(v, places(mapping, 400, (20, 20), v=v, seed=0), (20, 20))
    ...     print(round(float(s[0] ** 2 / (s**2).sum()), 2))
    0.95
    0.68
    """
    from scipy.linalg import svdvals

    return np.asarray(svdvals(mapped(v, place, sizes).reshape((-1, sizes[-1]), order="F")))


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of numbers, the same everywhere: the finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
