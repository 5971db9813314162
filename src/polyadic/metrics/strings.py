"""How well probabilities of strings fit those that are true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def string_perplexity(truth: ArrayLike, logs: ArrayLike) -> float:
    r"""Give the perplexity of a test set of strings by their true probabilities, as PAutomaC has it.

    .. math:: 2^{-\sum_x p_T(x) \log_2 p_C(x)}

    with both made to add to 1 over the set. It is least where both are equal.

    Parameters
    ----------
    truth : array of shape (n,)
        Probabilities of different strings.
    logs : array of shape (n,)
        Natural logs of those that a model gives them.

    Raises
    ------
    InputError
        If there are not as many of each, or the truth is no distribution.

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
        raise InputError(f"each string needs two probabilities; got shapes {p.shape} and {log_q.shape}")
    if not (np.isfinite(p).all() and (p >= 0).all() and p.sum() > 0):
        raise InputError("true probabilities must not be negative, and some above 0")
    largest = log_q.max()
    if not np.isfinite(largest):
        return float("inf") if largest == -np.inf else float("nan")
    log_q = log_q - largest - np.log(np.exp(log_q - largest).sum())
    here = p > 0
    return float(2 ** (-(p[here] / p.sum()) @ (log_q[here] / np.log(2))))
