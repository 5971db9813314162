r"""CP decomposition with circulant factors: the filters of a convolutional model from its third cumulant.

Signals are sums of filters convolved with independent activations, :math:`x = \sum_l f_l * w_l`, so their cumulant is

.. math:: C_{abc} = \sum_{l p} \lambda_{lp}\, (S^p f_l)_a (S^p f_l)_b (S^p f_l)_c

over the circular shifts :math:`S^p` of the filters, with the cumulants :math:`\lambda_{lp}` of the activations. Each
mode in turn is solved by least squares, as in :mod:`polyadic.words.asymmetric`,

.. math:: M = C_{(1)} (H \odot G)\, \big((H^\top H) \circ (G^\top G)\big)^+ ,

whose column :math:`l, p` is an estimate of :math:`\lambda_{lp} S^p f_l`. After undoing the shifts, the columns of a
filter are one vector times its weights, up to noise: the filter is their leading singular vector. (The printed average
of normalized columns is an option; it is not the best fit.)

Filters are identifiable up to a circular shift and their order. For activations with equal cumulants at all shifts the
tensor has about ``n^2 / 6`` independent values, so that some ``n / 6`` filters are identifiable; more if filters and
activations are short and zero-padded. Symmetric activations have zero third cumulants, so nothing can be estimated.

References
----------
Huang, Anandkumar (2015), Convolutional dictionary learning through tensor factorization, algorithms 3 and 4; with their
eq. (18) corrected (:mod:`polyadic.sentences.circulant`). arXiv:1506.03509
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from polyadic.core import resources
from polyadic.core.errors import InputError, check_choice, check_int
from polyadic.core.kernels.common import in_threads
from polyadic.core.solvers.run import Sweep, run
from polyadic.sentences.circulant import khatri_rao_gram, shifts, solve, unshifted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Batch = NDArray[np.float64]

WORTH = 1 << 16
"""Minimum size of a batch per thread: a sweep over it takes some milliseconds, starting a thread about one."""

Projection = Literal["svd", "average"]
NEARLY = 0.99
"""Share of the squared norm of a filter that its support must contain; the rest is noise."""


class Filters(NamedTuple):
    r"""Filters of each tensor of a batch, and their error.

    Attributes
    ----------
    filters : ndarray of shape (K, L, n)
        Unit vectors, shifted to begin at the first position: see :func:`aligned`.
    weights : ndarray of shape (K, L, n)
        :math:`\lambda` of each shift, with a positive sum for each filter.
    error : ndarray of shape (K,)
        Share of the squared tensor that is not explained.
    """

    filters: Batch
    weights: Batch
    error: Batch


def convolutional_als(
    C: Batch,
    number: int,
    *,
    support: int,
    projection: Projection = "svd",
    rng: np.random.Generator,
    threads: int = 1,
) -> Iterator[Sweep]:
    """Alternate least squares over the three modes, for a batch of tensors at once.

    Parameters
    ----------
    C : ndarray of shape (K, n, n, n)
        Symmetric tensors.
    number : int
        Number of filters L of each tensor.
    support : int
        Number of positions of activations, from the first; n for all.
    projection : {"svd", "average"}
        How a filter is estimated from its shifted estimates.
    rng : Generator
        Random generator of the start.
    threads : int
        Number of threads; the result does not depend on it.

    Yields
    ------
    Sweep
        Factors F, G, H and weights, of shape (K, L, n) each; the sum of the shares not explained.
    """
    K, n = C.shape[:2]
    factors = [_unit(rng.standard_normal((K, number, n))) for _ in range(3)]
    weights = np.ones((K, number, n))
    size = _size(C)
    while True:
        for mode in range(3):
            G, H = (factors[k] for k in range(3) if k != mode)
            factors[mode], weights = _in_parts(
                lambda C, G, H: _update(C, G, H, support, projection), [C, G, H], threads
            )
        (left,) = _in_parts(_left, [C, *factors, weights], threads)
        yield Sweep([*factors, weights], float((left / size).sum()))


def _in_parts(work: Callable[..., tuple[Batch, ...]], arrays: list[Batch], threads: int) -> tuple[Batch, ...]:
    """Split a batch among threads if it is large enough, and concatenate the results."""
    threads = max(1, min(threads, len(arrays[0]), arrays[0].size // WORTH))
    parts = list(zip(*(np.array_split(array, threads) for array in arrays), strict=True))
    return tuple(map(np.concatenate, zip(*in_threads(lambda t: work(*parts[t]), threads, threads), strict=True)))


def _left(C: Batch, F: Batch, G: Batch, H: Batch, weights: Batch) -> tuple[Batch]:
    """Return the squared residuals."""
    return (((C - compose([F, G, H], weights)) ** 2).sum(axis=(1, 2, 3)),)


def max_filters(n: int, support: int) -> int:
    """Return the approximate number of identifiable filters: a sixth of the size, a quarter if half is padding.

    Examples
    --------
    >>> max_filters(12, 12), max_filters(12, 6)
    (2, 3)
    """
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
    """Estimate the filters of each tensor of a batch, by the best of several random starts.

    Parameters
    ----------
    C : ndarray of shape (K, n, n, n)
        Symmetric tensors, such as third cumulants.
    number : int
        Number of filters of each tensor, at most n - 1.
    support : int, optional
        Number of positions of activations, from the first, for zero-padded signals; by default all.
    starts, sweeps : int
        Number of random starts, and of sweeps of each.
    joint : bool
        Whether to fit all filters together, or one after another to the residual of the others (as the authors' program
        does, which is worse).
    projection : {"svd", "average"}
        How a filter is estimated from its shifted estimates.
    seed : int, optional
        Seed of the starts.
    threads : int, optional
        Number of threads; all cores by default.

    Warns
    -----
    UserWarning
        If there are more filters than are identifiable: see :func:`max_filters`.
    """
    C = np.asarray(C, float)
    if C.ndim != 4 or len({*C.shape[1:]}) != 1 or not np.isfinite(C).all():
        raise InputError(f"tensors must be finite and of shape (K, n, n, n); got {C.shape}")
    n = C.shape[1]
    check_int("number", number, low=1, high=max(n - 1, 1))
    support = n if support is None else check_int("support", support, low=1, high=n)
    check_int("starts", starts, low=1)
    check_int("sweeps", sweeps, low=1)
    threads = resources.cores() if threads is None else check_int("threads", threads, low=1, high=resources.MAX_THREADS)
    check_choice("projection", projection, get_args(Projection))
    if number > (identifiable := max_filters(n, support)):
        about = f"tensors of {n} values with activations at {support} positions identify about {identifiable} filters"
        warnings.warn(f"{about}, not {number}; use longer patches or fewer filters", stacklevel=2)
    rng = np.random.default_rng(seed)
    scale = np.abs(C).max(axis=(1, 2, 3), keepdims=True)  # avoids underflow of squares
    C = C / np.where(scale > 0, scale, 1)
    how: dict[str, Any] = {"support": support, "projection": projection, "rng": rng, "threads": threads}
    if joint:
        best = _best(C, number, starts, sweeps, how)
        return Filters(*aligned(best.filters, best.weights * scale[..., 0]), best.error)
    fits, rest = [], C
    for _ in range(number):
        fit = _best(rest, 1, starts, sweeps, how)
        fits.append(fit)
        rest = rest - compose([fit.filters] * 3, fit.weights)
    error = (rest**2).sum(axis=(1, 2, 3)) / _size(C)
    filters, weights = (np.concatenate([fit[k] for fit in fits], axis=1) for k in range(2))
    return Filters(*aligned(filters, weights * scale[..., 0]), error)


def aligned(f: Batch, weights: Batch) -> tuple[Batch, Batch]:
    """Shift filters such that the shortest support begins at the first position, and shift weights oppositely.

    A shift of a filter and the opposite shift of its activations cancel. In a longer signal, where filters are
    zero-padded, they must begin at the first position.

    Examples
    --------
    >>> f, weights = aligned(np.array([[[0.6, 0.0, 0.0, 0.8]]]), np.array([[[0.0, 1.0, 0.0, 0.0]]]))
    >>> f.tolist(), weights.tolist()
    ([[[0.8, 0.6, 0.0, 0.0]]], [[[1.0, 0.0, 0.0, 0.0]]])
    """
    n = f.shape[-1]
    held = np.cumsum(shifts(f) ** 2, axis=-1)
    values = (held < NEARLY * held[..., -1:]).sum(axis=-1)  # needed at each shift, less one
    first = values.argmin(axis=-1)[..., None]
    at = (np.arange(n) - first) % n
    against = (np.arange(n) + first) % n
    return np.take_along_axis(f, at, axis=-1), np.take_along_axis(weights, against, axis=-1)


def _best(C: Batch, number: int, starts: int, sweeps: int, how: dict[str, Any]) -> Filters:
    """Run from several starts at once, and keep the best of each tensor."""
    K = len(C)
    many = np.repeat(C, starts, axis=0)
    result = run(convolutional_als(many, number, **how), max_iter=sweeps, tol=0.0)
    if result.interrupted:
        raise KeyboardInterrupt
    f, weights = _weighed(many, result.factors[0], how["support"])
    error = _left(many, f, f, f, weights)[0] / _size(many)
    best = np.arange(K) * starts + error.reshape(K, starts).argmin(axis=1)
    order = np.argsort(-np.linalg.norm(weights[best], axis=-1), axis=1, kind="stable")[..., None]  # the heaviest first
    return Filters(np.take_along_axis(f[best], order, 1), np.take_along_axis(weights[best], order, 1), error[best])


def _weighed(C: Batch, f: Batch, support: int) -> tuple[Batch, Batch]:
    """Return the optimal weights of filters used in all three modes, and filters with a positive sum of weights."""
    K, L, n = f.shape
    moved = shifts(f).reshape(K, L * n, n)
    partial = _in_last_mode(C, moved)
    b = np.einsum("kabp,kpa,kpb->kp", partial, moved, moved).reshape(K, 1, L, n)
    weights = np.where(np.arange(n) < support, solve(khatri_rao_gram(f, f, f), b)[:, 0], 0)
    turned = np.where(weights.sum(axis=-1, keepdims=True) < 0, -1, 1)
    return f * turned, weights * turned


def _in_last_mode(C: Batch, moved: Batch) -> Batch:
    """Multiply tensors by shifted filters in their last mode, shape (K, n, n, L n).

    Filters are copied into contiguous order, because BLAS rounding depends on strides, which are ambiguous for a batch
    of one.
    """
    K, n = C.shape[:2]
    return (C.reshape(K, n * n, n) @ np.ascontiguousarray(np.swapaxes(moved, 1, 2))).reshape(K, n, n, -1)


def _size(C: Batch) -> Batch:
    return np.maximum((C**2).sum(axis=(1, 2, 3)), 1e-300)


def compose(factors: list[Batch], weights: Batch) -> Batch:
    """Return the tensors of filters and weights, shape (K, n, n, n)."""
    K, L, n = weights.shape
    a, b, c = (shifts(f).reshape(K, L * n, n) for f in factors)
    return np.einsum(
        "kpa,kpx->kax", a * weights.reshape(K, -1, 1), (b[..., None] * c[..., None, :]).reshape(K, L * n, -1)
    ).reshape(K, n, n, n)


def _update(C: Batch, G: Batch, H: Batch, support: int, projection: Projection) -> tuple[Batch, Batch]:
    """Solve for the filters of the first mode, and the weights."""
    K, L, n = G.shape
    g, h = (shifts(f).reshape(K, L * n, n) for f in (G, H))
    partial = _in_last_mode(C, h)
    M = np.einsum("kabp,kpb->kap", partial, g).reshape(K, n, L, n)
    estimates = np.moveaxis(solve(khatri_rao_gram(G, H), M), 1, -1)  # (K, L, shifts, n)
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
