r"""Sparse codes of signals in given filters.

.. math:: \min_w \tfrac12 \Big\| y - \sum_l f_l * w_l \Big\|^2 + \lambda \sum_l \|w_l\|_1

by accelerated proximal gradients with restarts: a gradient is two products of spectra, the Lipschitz constant the
largest :math:`\sum_l |\hat f_l|^2` of a frequency, and the proximal step shrinks each activation towards zero.

References
----------
Beck, Teboulle (2009), A fast iterative shrinkage-thresholding algorithm for linear inverse problems, section 4.
O'Donoghue, Candes (2015), Adaptive restart for accelerated gradient schemes, section 3.2, gradient scheme.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sparse_codes(
    f: NDArray[Any], y: NDArray[Any], penalty: NDArray[Any] | float, *, sweeps: int = 500, tol: float = 1e-4
) -> NDArray[np.float64]:
    r"""Find sparse activations of filters.

    Parameters
    ----------
    f : ndarray of shape (..., L, m)
        Filters, no longer than the signals, which they are padded to with zeros.
    y : ndarray of shape (..., n)
        Signals; leading axes broadcast against those of the filters.
    penalty : float or ndarray
        :math:`\lambda`, of each signal: shape (...) of ``y``, or what broadcasts to it.
    sweeps : int
        Gradient steps at most.
    tol : float
        A signal is done when none of its activations moves by more than this share of the largest.

    Returns
    -------
    ndarray of shape (..., L, n)

    Raises
    ------
    InputError
        If filters are longer than signals.

    Examples
    --------
    >>> f = np.array([[1.0, 0.5]])
    >>> sparse_codes(f, np.array([0.0, 1.0, 0.5, 0.0]), 0.125, tol=1e-9).round(3).tolist()
    [[0.0, 0.9, 0.0, 0.0]]
    """
    if f.shape[-1] > y.shape[-1]:
        raise InputError(f"filters of {f.shape[-1]} values are longer than signals of {y.shape[-1]}")
    lead, L, n = y.shape[:-1], f.shape[-2], y.shape[-1]
    spectrum = np.broadcast_to(np.fft.rfft(f, n=n), (*lead, L, n // 2 + 1)).reshape(-1, L, n // 2 + 1)
    signal = np.fft.rfft(y).reshape(-1, 1, n // 2 + 1)
    lipschitz = np.maximum((np.abs(spectrum) ** 2).sum(axis=1).max(axis=-1), 1e-300).reshape(-1, 1, 1)
    least = np.broadcast_to(penalty, lead).reshape(-1, 1, 1) / lipschitz
    codes = np.zeros((len(signal), L, n))
    at, w, v, t = np.arange(len(signal)), codes.copy(), codes.copy(), np.ones((len(signal), 1, 1))
    for _ in range(sweeps):
        left = (spectrum * np.fft.rfft(v)).sum(axis=1, keepdims=True) - signal
        z = v - np.fft.irfft(spectrum.conj() * left, n=n) / lipschitz
        new = np.sign(z) * np.maximum(np.abs(z) - least, 0)
        step = new - w
        # a step that the momentum took uphill: begin again from here
        uphill = ((v - new) * step).sum(axis=(1, 2), keepdims=True) > 0
        after = np.where(uphill, 1, (1 + np.sqrt(1 + 4 * t**2)) / 2)
        v = new + np.where(uphill, 0, (t - 1) / after) * step
        w, t = new, after
        moving = np.abs(step).max(axis=(1, 2)) > tol * np.abs(w).max(axis=(1, 2))
        codes[at] = w
        if not moving.any():
            break
        # go on with the signals that still move
        at, w, v, t, spectrum, signal, lipschitz, least = (
            array[moving] for array in (at, w, v, t, spectrum, signal, lipschitz, least)
        )
    return codes.reshape(*lead, L, n)
