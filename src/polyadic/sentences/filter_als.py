r"""CP decomposition with circulant factors, which estimates convolutional filters from third or fourth cumulants.

The third cumulant of patches, ``n`` adjacent values of a signal,

.. math:: C_3 = E[x \otimes x \otimes x] - 3\, \mathrm{sym}(E[x] \otimes E[x \otimes x]) + 2\, E[x]^{\otimes 3},

is computed from sums of powers, so parts of a text can be processed separately, and memory does not grow with the text.
Signals are sums of filters convolved with independent activations, :math:`x = \sum_l f_l * w_l`, so their cumulant is

.. math:: C_{abc} = \sum_{l p} \lambda_{lp}\, (S^p f_l)_a (S^p f_l)_b (S^p f_l)_c

over the circular shifts :math:`S^p` of the filters, with the cumulants :math:`\lambda_{lp}` of the activations. Each
mode in turn is solved by least squares, as in :mod:`polyadic.words.asymmetric`,

.. math:: M = C_{(1)} (H \odot G)\, \big((H^\top H) \circ (G^\top G)\big)^+ ,

whose column :math:`l, p` is an estimate of :math:`\lambda_{lp} S^p f_l`. After undoing the shifts, the columns of a
filter are one vector times its weights, up to noise: the filter is their leading singular vector. (The printed average
of normalized columns is an option; it is not the best fit.)

Filters are identifiable up to a circular shift and their order, about ``n / 6`` of them for activations with equal
cumulants at all shifts; more if filters and activations are short and zero-padded. Symmetric activations have zero
third cumulants; their filters are estimated in the same way from fourth cumulants, up to sign.

:math:`\mathrm{Cir}(f)` has the columns :math:`f, Sf, S^2 f, \dots`, the circular shifts of :math:`f`, so its products
are circular convolutions, computed as products of discrete Fourier transforms. Gram matrices of :math:`\mathcal F =
[\mathrm{Cir}(f_1), \dots, \mathrm{Cir}(f_L)]` have circulant blocks, and are block-diagonal by frequency: :math:`n`
Hermitian matrices of :math:`L \times L`, which are solved at once. Leading axes of all arrays are batch axes.

References
----------
Huang, Anandkumar (2015), Convolutional dictionary learning through tensor factorization, algorithms 3 and 4; with their
eq. (18) corrected (:func:`khatri_rao_gram`). arXiv:1506.03509. Huang, Anandkumar (2016), Unsupervised
learning of word-sequence representations from scratch via convolutional tensor decomposition, eq. (6). arXiv:1606.03153
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from polyadic.core import resources
from polyadic.core.errors import InputError, check_choice, check_int
from polyadic.core.kernels.common import in_threads
from polyadic.core.solvers.run import Sweep, run

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Batch = NDArray[np.float64]

RCOND = 1e-10  # eigenvalues below this share of the largest count as zero
PATCH_VALUES = 1 << 22  # maximum size of a temporary array of patches
WORTH = 1 << 16
"""Minimum size of a batch per thread: a sweep over it takes some milliseconds, starting a thread about one."""

Projection = Literal["svd", "average"]
NEARLY = 0.99  # share of the squared norm of a filter that its support must contain; the rest is noise


def shifts(f: NDArray[Any]) -> NDArray[Any]:
    """Return all circular shifts of each row, where ``[..., p, :]`` of the result is shifted by ``p`` positions."""
    n = f.shape[-1]
    return f[..., (np.arange(n)[None, :] - np.arange(n)[:, None]) % n]


def unshifted(m: NDArray[Any]) -> NDArray[Any]:
    """Undo the circular shifts of :func:`shifts` by shifting row ``p`` back by ``p`` positions."""
    n = m.shape[-1]
    return np.take_along_axis(m, np.broadcast_to((np.arange(n)[None, :] + np.arange(n)[:, None]) % n, m.shape), axis=-1)


def gram(f: NDArray[Any]) -> NDArray[Any]:
    r"""Return the first column of each circulant block of the Gram matrix :math:`\mathcal F^\top \mathcal F`."""
    spectrum = np.fft.rfft(f)
    return np.fft.irfft(spectrum.conj()[..., :, None, :] * spectrum[..., None, :, :], n=f.shape[-1])


def khatri_rao_gram(*factors: NDArray[Any]) -> NDArray[Any]:
    r"""Return the first column of each block of the Gram matrix of a Khatri-Rao product of circulant factors.

    It is :math:`(\mathcal G^\top \mathcal G) \circ (\mathcal H^\top \mathcal H)`, whose blocks have the elementwise
    products of first columns (Huang and Anandkumar print the product of the spectra, that of the matrix product).
    """
    return np.asarray(np.prod([gram(f) for f in factors], axis=0))


def solve(blocks: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Multiply rows (..., m, L, n) by the pseudo-inverse of a block-circulant matrix (..., L, L, n)."""
    psi = np.moveaxis(np.fft.rfft(blocks), -1, -3)  # (..., frequencies, L, L), Hermitian
    inverse = np.linalg.pinv(psi, rcond=RCOND, hermitian=True)
    rows = np.moveaxis(np.fft.rfft(right), -1, -3)  # (..., frequencies, m, L)
    # a row x times a block with first column b is the correlation of x with b: conj(b^) x^
    return np.fft.irfft(np.moveaxis(rows @ inverse.conj(), -3, -1), n=right.shape[-1])


def deconvolve(f: NDArray[Any], y: NDArray[Any], *, ridge: float = 0.0) -> NDArray[Any]:
    r"""Compute the minimum-norm activations, of shape (..., L, n), of signals (..., n) for filters (..., L, m).

    .. math:: \hat w_l = \frac{\bar{\hat f_l}\, \hat y}{\sum_m |\hat f_m|^2 + \rho}

    at every frequency, with the ridge :math:`\rho`, or zero where the denominator is zero.
    """
    n = y.shape[-1]
    spectrum = np.fft.rfft(f, n=n)
    power = (np.abs(spectrum) ** 2).sum(axis=-2) + ridge
    small = power <= RCOND * power.max(axis=-1, keepdims=True)
    scaled = np.fft.rfft(y) / np.where(small, 1, power) * ~small
    return np.fft.irfft(spectrum.conj() * scaled[..., None, :], n=n)


def patches(signal: ArrayLike, n: int, edges: ArrayLike | None = None) -> NDArray[Any]:
    """Return all windows of ``n`` adjacent positions within sentences as an array of shape (K, patches, n)."""
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
    """Accumulated moments of patches of orders 1 to 3 or 4, of shapes (K, n), (K, n, n), (K, n, n, n) and so on."""

    number: int
    sums: list[NDArray[np.float64]]

    @classmethod
    def empty(cls, coordinates: int, n: int, *, order: int = 3) -> Self:
        """Return the moments of an empty set of patches."""
        return cls(0, [np.zeros((coordinates, *(n,) * k)) for k in range(1, order + 1)])

    def add(self, x: NDArray[Any]) -> None:
        """Add patches of shape (K, N, n) to the moments."""
        K, N, n = x.shape
        if (K, n) != self.sums[0].shape:
            rows, columns = self.sums[0].shape
            raise InputError(f"patches must have shape ({rows}, N, {columns}); got {x.shape}")
        step = max(1, PATCH_VALUES // (K * n ** (len(self.sums) - 1)))
        for start in range(0, N, step):
            powers = some = np.ascontiguousarray(x[:, start : start + step], np.float64)
            self.sums[0] += some.sum(axis=1)
            for k in range(1, len(self.sums)):
                if k > 1:
                    powers = (powers[..., None] * some[..., None, :]).reshape(K, -1, n**k)
                self.sums[k] += (np.swapaxes(powers, 1, 2) @ some).reshape(self.sums[k].shape)
        self.number += N

    def cumulant(self) -> NDArray[np.float64]:
        r"""Return the cumulant of the highest order of the patches of each coordinate, of shape (K, n, n, n) for three.

        It is the sum over all partitions of the modes into b blocks of :math:`(-1)^{b-1} (b - 1)!` times the outer
        product of the moments of the blocks.
        """
        if not self.number:
            raise InputError("at least one sentence must be as long as a patch; all sentences are shorter")
        moments, modes = [total / self.number for total in self.sums], "abcd"[: len(self.sums)]
        total = np.zeros_like(moments[-1])
        for blocks in _partitions(modes):
            product = np.einsum(f"k{',k'.join(blocks)}->k{modes}", *(moments[len(block) - 1] for block in blocks))
            total += (-1) ** (len(blocks) - 1) * math.factorial(len(blocks) - 1) * product
        return total


def _partitions(modes: str) -> Iterator[list[str]]:
    """Yield all partitions of a set of letters into blocks."""
    if not modes:
        yield []
    for blocks in _partitions(modes[1:]) if modes else ():
        yield [modes[0], *blocks]
        for k, block in enumerate(blocks):
            yield [*blocks[:k], modes[0] + block, *blocks[k + 1 :]]


class Filters(NamedTuple):
    """Filters and weights estimated for each tensor of a batch, with the reconstruction errors."""

    filters: Batch  # unit vectors, shifted to begin at the first position, shape (K, L, n)
    weights: Batch  # lambda of each shift, with a positive sum for each filter if the order is odd, shape (K, L, n)
    error: Batch  # share of the squared tensor that is not explained, shape (K,)


def convolutional_als(
    C: Batch, number: int, *, support: int, projection: Projection = "svd", rng: np.random.Generator, threads: int = 1
) -> Iterator[Sweep]:
    """Run ALS on symmetric tensors (K, n, ..., n); yields the factor of each mode and weights, shape (K, number, n)."""
    K, n = C.shape[:2]
    order = C.ndim - 1
    factors = [_unit(rng.standard_normal((K, number, n))) for _ in range(order)]
    weights = np.ones((K, number, n))
    size = _size(C)
    while True:
        for mode in range(order):
            others = [factors[k] for k in range(order) if k != mode]
            update = partial(_update, support=support, projection=projection)
            factors[mode], weights = _in_parts(update, [C, *others], threads)
        (left,) = _in_parts(_left, [C, *factors, weights], threads)
        yield Sweep([*factors, weights], float((left / size).sum()))


def _in_parts(work: Callable[..., tuple[Batch, ...]], arrays: list[Batch], threads: int) -> tuple[Batch, ...]:
    """Split a batch among threads if it is large enough, and concatenate the results."""
    threads = max(1, min(threads, len(arrays[0]), arrays[0].size // WORTH))
    parts = list(zip(*(np.array_split(array, threads) for array in arrays), strict=True))
    return tuple(map(np.concatenate, zip(*in_threads(lambda t: work(*parts[t]), threads, threads), strict=True)))


def _left(C: Batch, *parts: Batch) -> tuple[Batch]:
    """Return the sum of squared residuals of each tensor, for its factors and weights."""
    *factors, weights = parts
    return (_squares(C - compose(factors, weights)),)


def max_filters(n: int, support: int) -> int:
    """Return the approximate number of identifiable filters: n / 6, or n / 4 if half of the values are padding."""
    return max(n // 6 if support > n // 2 else n // 4, 1)


def find_filters(
    C: Batch,
    number: int,
    *,
    support: int | None = None,
    starts: int = 10,
    sweeps: int = 100,
    joint: bool = True,
    projection: Projection = "svd",
    seed: int | None = None,
    threads: int | None = None,
) -> Filters:
    """Estimate the filters of symmetric tensors (K, n, n, n) or (K, n, n, n, n), the best of several random starts.

    With order 4, the sign of a filter is not determined, and weights can be negative. ``support`` is the number of
    positions of activations, n by default. Without ``joint``, filters are fitted one after another to the residual of
    the others, as in the authors' program, which is worse.
    """
    C = np.asarray(C, float)
    if C.ndim not in (4, 5) or len({*C.shape[1:]}) != 1 or not np.isfinite(C).all():
        raise InputError(
            f"tensors must have finite values and shape (K, n, n, n) or (K, n, n, n, n); got shape {C.shape}"
        )
    n = C.shape[1]
    check_int("number", number, low=1, high=max(n - 1, 1))
    support = n if support is None else check_int("support", support, low=1, high=n)
    check_int("starts", starts, low=1)
    check_int("sweeps", sweeps, low=1)
    threads = resources.cores() if threads is None else check_int("threads", threads, low=1, high=resources.MAX_THREADS)
    check_choice("projection", projection, get_args(Projection))
    if C.ndim == 4 and number > (identifiable := max_filters(n, support)):
        what = f"the number of filters should be at most about {identifiable} for patches of this length"
        warnings.warn(f"{what}; got {number}: use longer patches or fewer filters", stacklevel=2)
    rng = np.random.default_rng(seed)
    scale = np.abs(C).max(axis=tuple(range(1, C.ndim)), keepdims=True)  # avoids underflow of squares
    C = C / np.where(scale > 0, scale, 1)
    scale = scale.reshape(-1, 1, 1)
    how: dict[str, Any] = {"support": support, "projection": projection, "rng": rng, "threads": threads}
    if joint:
        best = _best(C, number, starts, sweeps, how)
        return Filters(*aligned(best.filters, best.weights * scale), best.error)
    fits, rest = [], C
    for _ in range(number):
        fit = _best(rest, 1, starts, sweeps, how)
        fits.append(fit)
        rest = rest - compose([fit.filters] * (C.ndim - 1), fit.weights)
    error = _squares(rest) / _size(C)
    filters, weights = (np.concatenate([fit[k] for fit in fits], axis=1) for k in range(2))
    return Filters(*aligned(filters, weights * scale), error)


def aligned(f: Batch, weights: Batch) -> tuple[Batch, Batch]:
    """Shift each filter to begin at the first position, and shift its weights in the opposite direction."""
    n = f.shape[-1]
    held = np.cumsum(shifts(f) ** 2, axis=-1)
    values = (held < NEARLY * held[..., -1:]).sum(axis=-1)  # needed at each shift, less one
    first = values.argmin(axis=-1)[..., None]
    at = (np.arange(n) - first) % n
    against = (np.arange(n) + first) % n
    return np.take_along_axis(f, at, axis=-1), np.take_along_axis(weights, against, axis=-1)


def _best(C: Batch, number: int, starts: int, sweeps: int, how: dict[str, Any]) -> Filters:
    """Fit from several random starts at once and keep the best result for each tensor."""
    K = len(C)
    many = np.repeat(C, starts, axis=0)
    result = run(convolutional_als(many, number, **how), max_iter=sweeps, tol=0.0)
    if result.interrupted:
        raise KeyboardInterrupt
    f, weights = _weighed(many, result.factors[0], how["support"])
    error = _left(many, *[f] * (C.ndim - 1), weights)[0] / _size(many)
    best = np.arange(K) * starts + error.reshape(K, starts).argmin(axis=1)
    order = np.argsort(-np.linalg.norm(weights[best], axis=-1), axis=1, kind="stable")[..., None]  # the heaviest first
    return Filters(np.take_along_axis(f[best], order, 1), np.take_along_axis(weights[best], order, 1), error[best])


def _weighed(C: Batch, f: Batch, support: int) -> tuple[Batch, Batch]:
    """Return the filters and the optimal weights, whose sums are made positive by the signs of filters if possible."""
    K, L, n = f.shape
    order = C.ndim - 1
    b = np.einsum("kap,kpa->kp", _contracted(C, [f] * (order - 1)), shifts(f).reshape(K, L * n, n))
    weights = np.where(np.arange(n) < support, solve(khatri_rao_gram(*[f] * order), b.reshape(K, 1, L, n))[:, 0], 0)
    turned = np.where(weights.sum(axis=-1, keepdims=True) < 0, -1, 1) if order % 2 else np.ones((K, L, 1))
    return f * turned, weights * turned


def _contracted(C: Batch, factors: Sequence[Batch]) -> Batch:
    """Multiply each tensor by the same shifted filter in all modes but the first, giving an array (K, n, L n)."""
    (K, L, n), (*others, last) = factors[-1].shape, factors
    # contiguous, as BLAS rounding depends on strides, which are ambiguous for a batch of one
    moved = np.ascontiguousarray(np.swapaxes(shifts(last).reshape(K, L * n, n), 1, 2))
    result = (C.reshape(K, -1, n) @ moved).reshape(*C.shape[:-1], L * n)
    for f in reversed(others):
        result = np.einsum("k...bp,kpb->k...p", result, shifts(f).reshape(K, L * n, n))
    return result


def _squares(C: Batch) -> Batch:
    return np.asarray((C**2).sum(axis=tuple(range(1, C.ndim))))


def _size(C: Batch) -> Batch:
    return np.maximum(_squares(C), 1e-300)


def compose(factors: Sequence[Batch], weights: Batch) -> Batch:
    """Compose tensors of shape (K, n, n, n), or of another order, from filters and weights."""
    K, L, n = weights.shape
    first, *others = (shifts(f).reshape(K, L * n, n) for f in factors)
    rest = reduce(lambda rows, f: (rows[..., None] * f[..., None, :]).reshape(K, L * n, -1), others)
    return np.einsum("kpa,kpx->kax", first * weights.reshape(K, -1, 1), rest).reshape(K, *(n,) * len(factors))


def _update(C: Batch, *others: Batch, support: int, projection: Projection) -> tuple[Batch, Batch]:
    """Solve for the filters and weights of one mode, with the filters of the other modes fixed."""
    K, L, n = others[0].shape
    M = _contracted(C, others).reshape(K, n, L, n)
    estimates = np.moveaxis(solve(khatri_rao_gram(*others), M), 1, -1)  # (K, L, shifts, n)
    columns = np.where(np.arange(n)[:, None] < support, unshifted(estimates), 0)
    if projection == "average":
        norms = np.linalg.norm(columns, axis=-1, keepdims=True)
        f = _unit((columns / np.maximum(norms, 1e-300)).sum(axis=-2))
        return f, norms[..., 0]
    # the leading singular vector of the columns, as the eigenvector of a small matrix
    f = np.linalg.eigh(np.swapaxes(columns, -1, -2) @ columns)[1][..., -1]
    weights = np.einsum("klpn,kln->klp", columns, f)
    turned = np.where(weights.sum(axis=-1, keepdims=True) < 0, -1, 1)
    return f * turned, weights * turned


def _unit(f: Batch) -> Batch:
    return f / np.maximum(np.linalg.norm(f, axis=-1, keepdims=True), 1e-300)
