r"""Products and least squares of circulant matrices by their spectra.

:math:`\mathrm{Cir}(f)` has the columns :math:`f, Sf, S^2 f, \dots`, the circular shifts of :math:`f`, so its products
are circular convolutions, computed as products of discrete Fourier transforms. :math:`\mathcal F = [\mathrm{Cir}(f_1),
\dots, \mathrm{Cir}(f_L)]` has :math:`nL` columns and :math:`nL` parameters. Gram matrices of such matrices have
circulant blocks, and are block-diagonal by frequency: :math:`n` Hermitian matrices of :math:`L \times L`, which are
solved at once.

Leading axes of all arrays are batch axes; spectra are real transforms with :math:`n / 2 + 1` frequencies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

RCOND = 1e-10
"""Eigenvalues below this share of the largest count as zero."""


def shifts(f: NDArray[Any]) -> NDArray[Any]:
    """Return all circular shifts of each row, shape (..., n) -> (..., n, n): ``[..., p, :]`` is shifted by p places."""
    n = f.shape[-1]
    at = (np.arange(n)[None, :] - np.arange(n)[:, None]) % n
    return f[..., at]


def unshifted(m: NDArray[Any]) -> NDArray[Any]:
    """Shift row p back by p places, shape (..., n, n): the inverse of :func:`shifts` for each row."""
    n = m.shape[-1]
    at = (np.arange(n)[None, :] + np.arange(n)[:, None]) % n
    return np.take_along_axis(m, np.broadcast_to(at, m.shape), axis=-1)


def convolve(f: NDArray[Any], w: NDArray[Any]) -> NDArray[Any]:
    """Return the circular convolution of rows, the product of Cir(f) and w."""
    return np.fft.irfft(np.fft.rfft(f) * np.fft.rfft(w), n=f.shape[-1])


def gram(f: NDArray[Any]) -> NDArray[Any]:
    r"""Return the first columns of the blocks of :math:`\mathcal F^\top \mathcal F`; (..., L, n) -> (..., L, L, n)."""
    spectrum = np.fft.rfft(f)
    return np.fft.irfft(spectrum.conj()[..., :, None, :] * spectrum[..., None, :, :], n=f.shape[-1])


def khatri_rao_gram(*factors: NDArray[Any]) -> NDArray[Any]:
    r"""Return first columns of the blocks of :math:`(\mathcal G^\top \mathcal G) \circ (\mathcal H^\top \mathcal H)`.

    The elementwise product of two circulants is the circulant of the elementwise product of their first columns (Huang
    and Anandkumar print the product of the spectra, which belongs to the matrix product).
    """
    return np.asarray(np.prod([gram(f) for f in factors], axis=0))


def solve(blocks: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Multiply rows (..., m, L, n) by the pseudo-inverse of circulant blocks with first columns (..., L, L, n)."""
    psi = np.moveaxis(np.fft.rfft(blocks), -1, -3)  # (..., frequencies, L, L), Hermitian
    inverse = np.linalg.pinv(psi, rcond=RCOND, hermitian=True)
    rows = np.moveaxis(np.fft.rfft(right), -1, -3)  # (..., frequencies, m, L)
    # a row x times a block with first column b is the correlation of x with b: conj(b^) x^
    return np.fft.irfft(np.moveaxis(rows @ inverse.conj(), -3, -1), n=right.shape[-1])


def deconvolve(f: NDArray[Any], y: NDArray[Any], *, ridge: float = 0.0) -> NDArray[Any]:
    r"""Return the minimum-norm activations (..., L, n) of signals (..., n) in filters (..., L, m).

    .. math:: \hat w_l = \frac{\bar{\hat f_l}\, \hat y}{\sum_m |\hat f_m|^2 + \rho}

    at every frequency, with the ridge :math:`\rho`, or zero where the denominator is zero.
    """
    n = y.shape[-1]
    spectrum = np.fft.rfft(f, n=n)
    power = (np.abs(spectrum) ** 2).sum(axis=-2) + ridge
    small = power <= RCOND * power.max(axis=-1, keepdims=True)
    scaled = np.fft.rfft(y) / np.where(small, 1, power) * ~small
    return np.fft.irfft(spectrum.conj() * scaled[..., None, :], n=n)
