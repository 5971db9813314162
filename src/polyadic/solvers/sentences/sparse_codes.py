r"""Sparse codes of signals in given filters.

.. math:: \min_w \tfrac12 \Big\| y - \sum_l f_l * w_l \Big\|^2 + \lambda \sum_l \|w_l\|_1

by coordinate descent: with what each filter has in common with the rest of the signal kept, an activation that stays at
zero costs a comparison, and one that moves the width of a signal. (Accelerated proximal gradients, all filters at once
by their spectra, took ten times as long.)

References
----------
Friedman, Hastie, Tibshirani (2010), Regularization paths for generalized linear models via coordinate descent, section
2.2, covariance updates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic import kernels
from polyadic.errors import InputError
from polyadic.linalg.circulant import gram
from polyadic.resources import cores

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sparse_codes(
    f: NDArray[Any], y: NDArray[Any], penalty: NDArray[Any] | float, *, sweeps: int = 500, tol: float = 1e-5
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
        Passes over the activations of a signal at most.
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
    (*lead, n), (*kinds, L, m) = y.shape, f.shape
    filters = f.reshape(-1, L, m)
    blocks = gram(np.pad(filters, ((0, 0), (0, 0), (0, n - m))))
    which = np.broadcast_to(np.arange(len(filters)).reshape(kinds), lead).ravel()
    l1 = np.broadcast_to(penalty, lead).ravel()
    signals, threads = y.reshape(-1, n), cores()
    codes = kernels.sparse_activations(
        filters, blocks, signals, which=which, l1=l1, tol=tol, sweeps=sweeps, threads=threads
    )
    return codes.reshape(*lead, L, n)
