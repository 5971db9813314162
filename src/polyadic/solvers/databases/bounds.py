r"""Parabolas that lie above a loss and touch it: with them, every loss is solved like a squared one.

.. math:: \ell(x, m) \le \tfrac{\kappa}{2} m^2 - y\, m + \mathrm{const}

Minimising the parabola cannot raise the loss (majorisation-minimisation). Where :math:`m` is random, the parabolas are
those that are lowest in expectation.

References
----------
Jaakkola, Jordan (2000), Bayesian parameter estimation via variational methods, eq. 8 (logistic).
Seeger, Bouchard (2012), Fast variational Bayesian inference for non-conjugate matrix factorization models, section 4.2
(counts: the curvature of the softplus model is at most .25 + .17 x).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.errors import InputError
from polyadic.losses import Huber, Logistic, SoftplusPoisson, Squared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polyadic.losses import Loss

    Array = NDArray[Any]

BOUNDED = (Squared, Logistic, SoftplusPoisson, Huber)
"""Losses that have a parabola."""


def parabola(loss: Loss, x: Array, mean: Array, square: Array | None = None) -> tuple[Array, Array]:
    r"""Give :math:`\kappa` and :math:`y` of each entry.

    Parameters
    ----------
    loss : Squared, Logistic, SoftplusPoisson or Huber
    x : ndarray of shape (n,)
        What is observed.
    mean : ndarray of shape (n,)
        Prediction where the parabola touches.
    square : ndarray of shape (n,), optional
        Expected square of a random prediction.

    Raises
    ------
    InputError
        If no parabola is known.

    Examples
    --------
    >>> kappa, y = parabola(Logistic(), np.array([1.0]), np.array([0.0]))
    >>> kappa.tolist(), y.tolist()
    ([0.25], [0.5])
    """
    if isinstance(loss, Squared):
        return np.ones_like(mean), x
    if isinstance(loss, Logistic):
        xi = np.sqrt(mean**2 if square is None else square)
        return logistic_curvature(xi), x - 0.5
    if isinstance(loss, SoftplusPoisson):
        kappa = 0.25 + 0.17 * x
        return kappa, kappa * mean - loss.grad(x, mean)
    if isinstance(loss, Huber):
        kappa = loss.delta / np.maximum(np.abs(mean - x), loss.delta)
        return kappa, kappa * x
    allowed = ", ".join(kind.__name__ for kind in BOUNDED)
    raise InputError(f"rows are solved for under one of the losses {allowed}; got {type(loss).__name__}")


def logistic_curvature(xi: Array) -> Array:
    r"""Give :math:`\tanh(\xi / 2) / (2 \xi)`, the mean of a Polya-Gamma variable; 1/4 at zero.

    Examples
    --------
    >>> logistic_curvature(np.array([0.0, 2.0])).round(4).tolist()
    [0.25, 0.1904]
    """
    small = np.abs(xi) < 1e-4  # there the series has all digits: 1/4 - xi^2 / 48
    safe = np.where(small, 1, xi)
    return np.where(small, 0.25 - xi**2 / 48, np.tanh(safe / 2) / (2 * safe))
