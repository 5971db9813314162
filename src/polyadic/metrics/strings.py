"""Perplexity of predicted string probabilities."""

from __future__ import annotations

import numpy as np

from polyadic.core.annotations import ArrayLike
from polyadic.core.errors import InputError


def string_perplexity(truth: ArrayLike, logs: ArrayLike) -> float:
    r"""Compute the perplexity of a test set of strings with known true probabilities, as in PAutomaC.

    .. math:: 2^{-\sum_x p_T(x) \log_2 p_C(x)}

    with both distributions normalized over the set. The minimum is reached if they are equal. ``truth`` are the true
    probabilities, ``logs`` natural logarithms of the predicted ones. InputError is raised if the shapes differ, or the
    true probabilities are negative, not finite or all zero.

    References
    ----------
    Verwer, Eyraud, de la Higuera (2014), PAutomaC: a probabilistic automata and hidden Markov models learning
    competition, section 4.

    Examples
    --------
    >>> string_perplexity([0.2, 0.2], np.log([0.1, 0.1]))
    2.0
    """
    p, log_q = np.asarray(truth, float), np.asarray(logs, float)
    if p.shape != log_q.shape or p.ndim != 1 or not len(p):
        raise InputError(
            f"true and predicted probabilities must be vectors of equal length; got shapes {p.shape} and {log_q.shape}"
        )
    if not (np.isfinite(p).all() and (p >= 0).all() and p.sum() > 0):
        raise InputError("true probabilities must be finite and non-negative, and at least one must be positive")
    largest = log_q.max()
    if not np.isfinite(largest):
        return float("inf") if largest == -np.inf else float("nan")
    log_q = log_q - largest - np.log(np.exp(log_q - largest).sum())
    here = p > 0
    return float(2 ** (-(p[here] / p.sum()) @ (log_q[here] / np.log(2))))
