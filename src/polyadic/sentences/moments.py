r"""Cumulants of patches of signals, collected in one pass.

A sentence is a signal for each coordinate of its word vectors; a patch is ``n`` adjacent values. The third cumulant of
patches,

.. math:: C_3 = E[x \otimes x \otimes x] - 3\, \mathrm{sym}(E[x] \otimes E[x \otimes x]) + 2\, E[x]^{\otimes 3},

is the mean of the third powers of centred patches. Sums of powers are collected, so parts of a text can be processed
separately and added, and memory does not grow with the text.

References
----------
Huang, Anandkumar (2016), Unsupervised learning of word-sequence representations from scratch via convolutional tensor
decomposition, eq. (6). arXiv:1606.03153
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from polyadic.core.errors import InputError, check_int

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

BLOCK = 1 << 22
"""Maximum size of a temporary array of patches."""


def patches(signal: ArrayLike, n: int, edges: ArrayLike | None = None) -> NDArray[Any]:
    """Return all runs of ``n`` adjacent values of each coordinate, shape (K, patches, n).

    Parameters
    ----------
    signal : array-like of shape (T, K)
        Concatenated signals.
    n : int
        Length of a patch.
    edges : array-like of shape (S + 1,), optional
        Signal ``s`` is ``signal[edges[s]:edges[s + 1]]``; by default there is one. No patch crosses an edge.

    Examples
    --------
    >>> patches([[1], [2], [3]], 2).tolist()
    [[[1, 2], [2, 3]]]
    >>> patches([[1], [2], [3], [4], [5]], 2, [0, 3, 5]).tolist()
    [[[1, 2], [2, 3], [4, 5]]]
    """
    values = np.asarray(signal)
    if len(values) < n:
        return np.zeros((values.shape[1], 0, n), values.dtype)
    runs = np.swapaxes(sliding_window_view(values, n, axis=0), 0, 1)
    if edges is None:
        return runs
    ends = np.asarray(edges)[1:]
    last = np.repeat(ends, np.diff(np.asarray(edges)))[: runs.shape[1]]
    return runs[:, np.arange(runs.shape[1]) + n <= last]


@dataclass
class Moments:
    r"""Sums of powers of patches, for each of K coordinates.

    Attributes
    ----------
    number : int
        Number of patches.
    sums : list of ndarray
        Sums of :math:`x`, :math:`x x^\top`, ... , of shape (K, n), (K, n, n), ...
    """

    number: int
    sums: list[NDArray[np.float64]]

    @classmethod
    def empty(cls, coordinates: int, n: int, *, order: int = 3) -> Self:
        """Return the moments of no patches."""
        check_int("coordinates", coordinates, low=1)
        check_int("n", n, low=1)
        check_int("order", order, low=3, high=4)
        return cls(0, [np.zeros((coordinates, *(n,) * k)) for k in range(1, order + 1)])

    @property
    def order(self) -> int:
        """The highest power."""
        return len(self.sums)

    def add(self, x: NDArray[Any]) -> None:
        """Add patches of shape (K, N, n)."""
        K, N, n = x.shape
        if (K, n) != self.sums[0].shape:
            raise InputError(f"patches must have shape {self.sums[0].shape}, N between them; got {x.shape}")
        step = max(1, BLOCK // (K * n * n))
        for start in range(0, N, step):
            some = np.ascontiguousarray(x[:, start : start + step], np.float64)
            squares = (some[..., None] * some[..., None, :]).reshape(K, -1, n * n)
            self.sums[0] += some.sum(axis=1)
            powers = ((some, some), (squares, some), (squares, squares))
            for k, (left, right) in enumerate(powers[: self.order - 1], 1):
                self.sums[k] += (np.swapaxes(left, 1, 2) @ right).reshape(self.sums[k].shape)
        self.number += N

    def __add__(self, other: Moments) -> Moments:
        """Return the sum of two collections."""
        if [s.shape for s in self.sums] != [s.shape for s in other.sums]:
            raise InputError("moments of different coordinates, lengths or orders cannot be added")
        return Moments(self.number + other.number, [a + b for a, b in zip(self.sums, other.sums, strict=True)])

    def cumulant(self, order: int = 3) -> NDArray[np.float64]:
        """Return the cumulants of an order, shape (K, n, n, n) for order 3.

        Examples
        --------
        >>> moments = Moments.empty(1, 2)
        >>> moments.add(np.array([[[0.0, 0.0], [0.0, 0.0], [3.0, 3.0]]]))
        >>> moments.cumulant().round(9).tolist()
        [[[[2.0, 2.0], [2.0, 2.0]], [[2.0, 2.0], [2.0, 2.0]]]]
        """
        check_int("order", order, low=3, high=self.order)
        if not self.number:
            raise InputError("there are no patches: every sentence is shorter than a patch")
        m1, m2, m3, *m4 = (total / self.number for total in self.sums)
        if order == 3:
            return np.asarray(m3 - _spread(m1, m2, "a,bc b,ac c,ab") + 2 * np.einsum("ka,kb,kc->kabc", m1, m1, m1))
        c2, squares = m2 - _spread(m1, m1, "a,b"), _spread(m1, m1, "a,b")
        central = m4[0] - _spread(m1, m3, "a,bcd b,acd c,abd d,abc")
        central += _spread(squares, m2, "ab,cd ac,bd ad,bc bc,ad bd,ac cd,ab") - 3 * _spread(squares, squares, "ab,cd")
        return np.asarray(central - _spread(c2, c2, "ab,cd ac,bd ad,bc"))


def _spread(a: NDArray[Any], b: NDArray[Any], places: str) -> NDArray[Any]:
    """Sum outer products with the modes of the two arguments permuted, such as ``"a,bc b,ac c,ab"``."""
    split = [place.split(",") for place in places.split()]
    full = "".join(sorted("".join(split[0])))
    return np.asarray(sum(np.einsum(f"k{left},k{right}->k{full}", a, b) for left, right in split))
