r"""Effective sample size of a Markov chain.

The variance of the mean of n correlated samples is that of

.. math:: n_\mathrm{eff} = n \Big/ \Big( 1 + 2 \sum_{k \ge 1} \rho_k \Big)

independent ones, with the autocorrelations :math:`\rho_k`. The sum ends where the sum of two neighbouring
autocorrelations becomes negative, and these sums are not allowed to increase.

References
----------
Geyer (1992), Practical Markov chain Monte Carlo, section 3.3: initial monotone sequence estimator.
"""

from __future__ import annotations

import numpy as np

from polyadic.core.annotations import Array, ArrayLike
from polyadic.core.errors import InputError


def effective_sample_size(samples: ArrayLike) -> Array:
    """Return the effective sample size of the mean of each quantity along one chain, of shape (quantities,).

    It may exceed n where samples are negatively correlated; NaN for constant quantities. InputError is raised if there
    are fewer than 4 samples, or a value is not finite.
    ``samples``, of shape (n, quantities), has the values of each quantity in the order of the chain.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal(1000)
    >>> bool(effective_sample_size(np.repeat(x, 4)[:, None])[0] < 1200)
    True
    """
    x = np.asarray(samples, float)
    if x.ndim != 2 or len(x) < 4 or not np.isfinite(x).all():
        raise InputError(
            f"samples must be finite and have shape (n, quantities) with n of at least 4; got {x.shape}", "samples"
        )
    n = len(x)
    spectrum = np.abs(np.fft.rfft(x - x.mean(axis=0), 2 * n, axis=0)) ** 2
    covariances = np.fft.irfft(spectrum, axis=0)[: n - n % 2]
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = (covariances / covariances[0]).reshape(n // 2, 2, -1).sum(axis=1)
        kept = np.logical_and.accumulate(sums > 0, axis=0)
        sums = np.minimum.accumulate(np.where(kept, sums, 0.0), axis=0)
        size = n / (2 * sums.sum(axis=0) - 1)
    return np.where(np.ptp(x, axis=0) > 0, size, np.nan)
