r"""Door to the loop that draws Polya-Gamma variables, which make a logistic likelihood a normal one.

.. math:: \frac{e^{x m}}{1 + e^m} \propto \int e^{(x - 1/2) m - \omega m^2 / 2}\, p(\omega)\, d\omega, \qquad
          \omega \mid m \sim \mathrm{PG}(1, m)

References
----------
Polson, Scott, Windle (2013), Bayesian inference for logistic models using Polya-Gamma latent variables, section 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.kernels.doors import frozen
from polyadic.kernels.loops import polya_gamma as loops

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def polya_gamma(m: ArrayLike, rng: np.random.Generator) -> NDArray[np.float64]:
    r"""Draw from PG(1, m), which has the mean :math:`\tanh(m / 2) / (2 m)`.

    Parameters
    ----------
    m : array of shape (n,)
        Finite.
    rng : Generator

    Returns
    -------
    ndarray of shape (n,)
    """
    tilt = frozen(np.asarray(m, float))
    if tilt.ndim != 1 or not np.isfinite(tilt).all():
        raise ValueError(f"m must be finite, of shape (n,); got shape {tilt.shape}")
    drawn = np.empty(len(tilt))
    loops.polya_gamma(tilt, rng, drawn)
    return drawn
