r"""Gibbs sampling of factorization machines.

.. math:: y \sim N(m(x), \alpha^{-1}) \ \text{or}\ P(y = 1) = \Phi(m(x)), \quad
          v_{jf} \sim N(\mu_{gf}, \lambda_{gf}^{-1}), \quad \mu_{gf} \sim N(0, (\beta_0 \lambda_{gf})^{-1}), \quad
          \alpha, \lambda_{gf} \sim \Gamma(a_0, b_0), \quad w_0 \sim N(0, \rho_0^{-1})

where feature j is of group g. Given all else, each is drawn from its distribution, so penalties are learned, one for
each column and group. Truth values become normal given a variable of unit variance that is above 0 where they are true.

References
----------
Rendle (2012), Factorization machines with libFM, section 3.3 and figure 4. Albert, Chib (1993), Bayesian analysis of
binary and polychotomous response data, section 3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.kernels.predictors.machines import anova_scores, anova_sweep
from polyadic.solvers.databases.gibbs import Draw, Priors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from polyadic.solvers.predictors.machines import Observed

    Array = NDArray[np.float64]

PRIORS = Priors(beta=1.0, shape=0.5, rate=0.5, intercept=1.0)
"""Those of libFM, save that it knows nothing of the bias; here values are in standard deviations from their mean."""

KEPT = 1 << 28
"""Bytes at most of what is kept of all rows from draw to draw, to be kept up and not computed anew."""


def first_draw(V: Array, groups: int) -> Draw:
    """Begin at these parameters, a bias of 0, and hyper-parameters of 0 and 1."""
    K = V.shape[1]
    return Draw([np.zeros(1), V, np.zeros((groups, K)), np.ones((groups, K))], np.ones(1))


def draw_machines(
    data: Observed,
    start: Draw,
    *,
    orders: NDArray[np.int64],
    groups: NDArray[np.int64],
    priors: Priors,
    probit: bool,
    rng: np.random.Generator,
    threads: int = 1,
) -> Iterator[Draw]:
    r"""Draw machines one after another.

    Parameters
    ----------
    data : Observed
        With ``probit``, y is 0 or 1; weights are not used.
    start : Draw
        Of the state ``[bias, V, means, precisions]``, the latter of shape (groups, K), and :math:`\alpha`.
    orders : ndarray of shape (K,)
        Rising.
    groups : ndarray of int of shape (features,)
        From 0 on.
    priors : Priors
    probit : bool
        Whether y is true or false; :math:`\alpha` is 1 then.
    rng : Generator
    threads : int
        The draws do not depend on them.
    """
    table, y, _ = data
    bias, V = float(start.state[0][0]), start.state[1]
    means, precisions = (part.copy() for part in start.state[2:])
    W, alpha = np.ascontiguousarray(V.T, float).copy(), float(start.alphas[0])
    sizes = np.bincount(groups, minlength=len(means))
    # single precision halves what a draw reads; what is left adds up changes in double precision
    kept = 4 * table.shape[0] * int(orders.sum()) <= KEPT
    shared = {d: np.zeros((table.shape[0], d), np.float32) for d in orders.tolist()}
    caches = [shared[d].copy() if kept else shared[d] for d in orders.tolist()]
    kept_up = False
    left = y - bias - anova_scores(table, V, orders=orders, threads=threads)
    z = y
    while True:
        if probit:
            m = z - left
            z = latent(y, m, rng)
            left = z - m
        else:
            alpha = float(rng.gamma(priors.shape + len(y) / 2, 1 / (priors.rate + float(left @ left) / 2)))
        known = alpha * len(y) + priors.intercept
        moved = (alpha * (float(left.sum()) + len(y) * bias)) / known + rng.standard_normal() / np.sqrt(known) - bias
        bias += moved
        left = left - moved
        for f, (v, C) in enumerate(zip(W, caches, strict=True)):
            precisions[:, f], means[:, f] = _draw_priors(v, groups, sizes, means[:, f], priors, rng)
            ridge = precisions[groups, f]
            C[:, 0] = before = left.astype(np.float32)
            pull, noise = ridge * means[groups, f], rng.standard_normal(len(v))
            how: dict[str, Any] = {"precision": alpha, "kept_up": kept_up, "threads": threads}
            anova_sweep(table, v, C, ridge=ridge, pull=pull, noise=noise, **how)
            left = left + (C[:, 0] - before)
        kept_up = kept
        state = [np.array([bias]), np.ascontiguousarray(W.T), means.copy(), precisions.copy()]
        yield Draw(state, np.array([alpha]))


def _draw_priors(
    v: Array, groups: NDArray[np.int64], sizes: NDArray[np.int64], mean: Array, priors: Priors, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw the precision of each group given its mean, then the mean."""
    squares = np.bincount(groups, (v - mean[groups]) ** 2, minlength=len(sizes)) + priors.beta * mean**2
    precision = rng.gamma(priors.shape + (sizes + 1) / 2, 1 / (priors.rate + squares / 2))
    total = np.bincount(groups, v, minlength=len(sizes))
    spread = np.sqrt(precision * (sizes + priors.beta))
    return precision, total / (sizes + priors.beta) + rng.standard_normal(len(sizes)) / spread


def latent(y: Array, m: Array, rng: np.random.Generator) -> Array:
    """Draw normal variables of means ``m`` and variance 1, above 0 where ``y`` is 1, below where it is 0."""
    from scipy.special import log_ndtr, ndtri_exp

    sign = 2 * y - 1
    u = np.log1p(-rng.random(len(m)))  # of numbers above 0
    return np.asarray(m - sign * ndtri_exp(u + log_ndtr(sign * m)))
