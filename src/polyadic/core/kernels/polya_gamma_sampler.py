r"""Sample Pólya-Gamma variables, which make a logistic likelihood conditionally normal.

.. math:: \frac{e^{x m}}{1 + e^m} \propto \int e^{(x - 1/2) m - \omega m^2 / 2}\, p(\omega)\, d\omega, \qquad
          \omega \mid m \sim \mathrm{PG}(1, m)

PG(1, m) is drawn by Devroye's rejection sampler: a proposal of two pieces, accepted by an alternating series.

References
----------
Polson, Scott, Windle (2013), Bayesian inference for logistic models using Polya-Gamma latent variables, section 4.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from polyadic.core.annotations import Array, ArrayLike
from polyadic.core.kernels.common import frozen


def polya_gamma(m: ArrayLike, rng: np.random.Generator) -> Array:
    r"""Sample from the Pólya-Gamma distribution PG(1, m) for each element of ``m``.

    The mean is :math:`\tanh(m / 2) / (2 m)`; ``m`` has shape (n,).
    """
    tilt = frozen(np.asarray(m, float))
    if tilt.ndim != 1 or not np.isfinite(tilt).all():
        raise ValueError(f"m must be a one-dimensional array of finite numbers; got shape {tilt.shape}")
    drawn = np.empty(len(tilt))
    _polya_gamma(tilt, rng, drawn)
    return drawn


CUT = 0.64  # boundary of the inverse Gaussian and exponential pieces, for which the series decreases everywhere


@njit(cache=True, nogil=True)
def _term(n, x):
    """Return the ``n``-th coefficient of the alternating series for the untilted Pólya-Gamma density at ``x``."""
    k = (n + 0.5) * math.pi
    if x > CUT:
        return k * math.exp(-k * k * x / 2)
    return k * (2 / (math.pi * x)) ** 1.5 * math.exp(-2 * (n + 0.5) ** 2 / x)


@njit(cache=True, nogil=True)
def _inverse_gaussian(z, rng):
    """Sample from the inverse Gaussian distribution with mean ``1 / z`` and shape 1, truncated at ``CUT``."""
    if z < 1 / CUT:
        while True:
            while True:
                first, second = rng.standard_exponential(), rng.standard_exponential()
                if first * first <= 2 * second / CUT:
                    break
            x = CUT / (1 + CUT * first) ** 2
            if rng.random() <= math.exp(-z * z * x / 2):
                return x
    mean = 1 / z
    while True:
        y = mean * rng.standard_normal() ** 2
        x = mean * (1 + 0.5 * (y - math.sqrt(y * (4 + y))))
        if rng.random() > mean / (mean + x):
            x = mean * mean / x
        if x <= CUT:
            return x


@njit(cache=True, nogil=True)
def _normal_below(x):
    """Return the logarithm of the standard normal distribution function."""
    if x > -30:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2)))
    return -0.5 * x * x - math.log(-x) - 0.5 * math.log(2 * math.pi)  # first term of the tail; to 1 in 900


@njit(cache=True, nogil=True)
def _exponential_share(z, rate):
    """Return the probability of sampling from the exponential part of the proposal distribution."""
    root = math.sqrt(1 / CUT)
    base = math.log(rate) + rate * CUT
    below = base - z + _normal_below(root * (CUT * z - 1))
    above = base + z + _normal_below(-root * (CUT * z + 1))
    return 1 / (1 + 4 / math.pi * (math.exp(below) + math.exp(above)))


@njit(cache=True, nogil=True)
def _polya_gamma(m, rng, drawn):
    """Numba kernel: fill ``drawn`` with samples from PG(1, m)."""
    for e in range(len(m)):
        z = abs(m[e]) / 2
        rate = math.pi * math.pi / 8 + z * z / 2
        share = _exponential_share(z, rate)
        accepted = False
        while not accepted:
            tail = rng.random() < share
            x = CUT + rng.standard_exponential() / rate if tail else _inverse_gaussian(z, rng)
            total = _term(0, x)
            y = rng.random() * total
            n = 0
            while True:  # partial sums bound the density from both sides
                n += 1
                if n % 2:
                    total -= _term(n, x)
                    if y <= total:
                        accepted = True
                        break
                else:
                    total += _term(n, x)
                    if y > total:
                        break
        drawn[e] = x / 4
