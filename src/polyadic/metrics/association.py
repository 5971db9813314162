r"""Association measures for two words, or for a word and a text (keyness), from a contingency table.

A table of two rows and two columns has :math:`K` in its first cell, the totals :math:`R` of the first row and :math:`C`
of the first column, and the grand total :math:`N`; the expected count is :math:`E = R C / N`. For collocations, the row
is the words near the node and the column the collocate; each token counts once, even if it is near two occurrences of
the node. For keywords, the row is the target text, the column the word, and the reference text has :math:`N - R` words.
With the relative frequencies :math:`p = K / R` and :math:`q = (C - K) / (N - R)` of the column,

.. math:: \begin{gathered}
          \mathrm{PMI} = \log_2 \tfrac{K}{E}, \quad \mathrm{MI3} = \log_2 \tfrac{K^3}{E}, \quad
          \mathrm{logDice} = 14 + \log_2 \tfrac{2 K}{R + C}, \quad t = \tfrac{K - E}{\sqrt K}, \quad
          z = \tfrac{K - E}{\sqrt E}, \\ G^2 = 2 \sum_{\text{4 cells}} K \log \tfrac{K}{E}, \quad
          \chi^2 = \sum_{\text{4 cells}} \tfrac{(K - E)^2}{E}, \quad \Delta P = p - q, \quad
          \mathrm{log\ ratio} = \log_2 \tfrac{p}{q}, \quad \%\mathrm{DIFF} = 100\, \tfrac{p - q}{q}. \end{gathered}

:data:`MEASURES` lists the measures by name, with the words that each ranks high:

>>> print(*(f"{name} {measure.function(8, 10, 40, 100):.2f}" for name, measure in MEASURES.items()), sep=", ")
log_likelihood 7.45, log_likelihood_2 3.55, chi_squared 5.67, pmi 1.00, mi3 7.00, t_score 1.41, z_score 2.00,
log_dice 12.36, delta_p 0.44, delta_p_backward 0.17, log_ratio 1.17, simple_maths 2.25, percent_difference 125.00

References
----------
Church, Hanks (1990), Word association norms, mutual information, and lexicography. Dunning (1993), Accurate methods for
the statistics of surprise and coincidence. Daille (1994), Approche mixte (MI3). Rayson, Garside (2000), Comparing
corpora using frequency profiling. Evert (2005), The statistics of word cooccurrences (t, z). Rychlý (2008), A
lexicographer-friendly association score. Kilgarriff (2009), Simple maths for keywords. Gabrielatos, Marchi (2012),
Keyness: appropriate metrics (%DIFF). Gries (2013), 50-something years of work on collocations (Delta P). Hardie (2014),
Log ratio: an informal introduction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import erfc

from polyadic.core.annotations import Array, ArrayLike
from polyadic.core.errors import InputError, check_choice


def pmi(together: ArrayLike, row: ArrayLike, column: ArrayLike, total: ArrayLike) -> Array:
    """Compute the pointwise mutual information in bits; minus infinity if the joint count is 0.

    Parameters
    ----------
    together, row, column, total : array of float
        Joint count K, marginal counts R and C, and grand total N, broadcast against each other. All measures raise an
        :class:`~polyadic.core.errors.InputError` if a cell of a table is negative.

    Examples
    --------
    >>> pmi(8, 10, 40, 100).tolist()
    1.0
    """
    K, E, *_ = _table(together, row, column, total)
    return _log2(_divide(K, E))


def mi3(together: ArrayLike, row: ArrayLike, column: ArrayLike, total: ArrayLike) -> Array:
    """Compute MI3, which favours frequent words more than PMI; arguments are those of :func:`pmi`."""
    K, E, *_ = _table(together, row, column, total)
    return _log2(_divide(K**3, E))


def log_dice(together: ArrayLike, row: ArrayLike, column: ArrayLike) -> Array:
    """Compute logDice, 14 plus the binary logarithm of Dice's coefficient; minus infinity if the joint count is 0.

    Arguments are those of :func:`pmi`; R is the number of occurrences of the node.

    Examples
    --------
    >>> log_dice([8, 16], 16, 16).tolist()
    [13.0, 14.0]
    """
    K, R, C = (np.asarray(each, float) for each in (together, row, column))
    return 14 + _log2(_divide(2 * K, R + C))


def t_score(together: ArrayLike, row: ArrayLike, column: ArrayLike, total: ArrayLike) -> Array:
    """Compute the t-score; minus infinity if the joint count is 0; arguments are those of :func:`pmi`."""
    K, E, *_ = _table(together, row, column, total)
    return _divide(K - E, np.sqrt(K))


def z_score(together: ArrayLike, row: ArrayLike, column: ArrayLike, total: ArrayLike) -> Array:
    """Compute the z-score, without a correction for continuity; arguments are those of :func:`pmi`."""
    K, E, *_ = _table(together, row, column, total)
    return _divide(K - E, np.sqrt(E))


def log_likelihood(
    together: ArrayLike, row: ArrayLike, column: ArrayLike, total: ArrayLike, *, cells: Literal[2, 4] = 4
) -> Array:
    """Compute the log-likelihood ratio G² of a contingency table, negative if the joint count is below expectation.

    Its absolute value has a chi-squared distribution with one degree of freedom under independence: the critical values
    are 3.84 for 5 % and 10.83 for 0.1 %. Arguments are those of :func:`pmi`.

    Parameters
    ----------
    cells : {4, 2}
        Number of cells in the sum: all four (Dunning 1993, and quanteda without correction), or only the counts of the
        word in the two texts (Rayson and Garside 2000, and the calculator of UCREL). The latter is smaller by a
        share of about the relative frequency of the word.

    Examples
    --------
    >>> log_likelihood([8, 4, 2], 10, 40, 100).round(2).tolist()
    [7.45, 0.0, -2.01]
    """
    if cells not in (2, 4):
        raise InputError(f"cells must be 2 or 4; got {cells!r}", "cells")
    K, E, R, C, N = _table(together, row, column, total)
    G = np.zeros(K.shape)
    for cell, rows, columns in ((K, R, C), (C - K, N - R, C), (R - K, R, N - C), (N - R - C + K, N - R, N - C))[:cells]:
        G = G + cell * np.log(np.where(cell > 0, _divide(cell * N, rows * columns), 1))
    return np.asarray(np.where(K >= E, 2, -2) * np.maximum(G, 0))


def chi_squared(
    together: ArrayLike, row: ArrayLike, column: ArrayLike, total: ArrayLike, *, yates: bool = True
) -> Array:
    """Compute Pearson's chi-squared statistic, negative if the joint count is below expectation.

    Its distribution is that of :func:`log_likelihood`. Arguments are those of :func:`pmi`.

    Parameters
    ----------
    yates : bool
        Reduce the deviations from expectation by one half in tables with an expected count below 5, unless they are
        smaller than that; as in quanteda.
    """
    K, E, R, C, N = _table(together, row, column, total)
    smallest, largest = (_divide(pick(R, N - R) * pick(C, N - C), N) for pick in (np.minimum, np.maximum))
    deviation = np.abs(K - E)
    deviation = deviation - np.where(yates & (smallest < 5) & (deviation >= 0.5), 0.5, 0)
    chi = np.where(smallest > 0, _divide(deviation**2 * N, smallest * largest), 0)
    return np.asarray(np.where(K >= E, chi, -chi))


def delta_p(together: ArrayLike, row: ArrayLike, column: ArrayLike, total: ArrayLike) -> Array:
    """Compute how much more probable the column is in the row than elsewhere; arguments are those of :func:`pmi`."""
    K, _, R, C, N = _table(together, row, column, total)
    return _divide(K, R) - _divide(C - K, N - R)


def delta_p_backward(together: ArrayLike, row: ArrayLike, column: ArrayLike, total: ArrayLike) -> Array:
    """Compute how much more probable the row is in the column than elsewhere; arguments are those of :func:`pmi`."""
    return delta_p(together, column, row, total)


def log_ratio(together: ArrayLike, row: ArrayLike, column: ArrayLike, total: ArrayLike) -> Array:
    """Compute the log ratio of two relative frequencies: 1 means twice as frequent; NaN if both counts are 0.

    If one count is 0, it is replaced by 0.5; all other counts are used unchanged (Hardie 2014). Arguments are those of
    :func:`pmi`.
    """
    K, _, R, C, N = _table(together, row, column, total)
    a, b = (np.where((count == 0) & (C > 0), 0.5, count) for count in (K, C - K))
    return _log2(_divide(a * (N - R), b * R))


def simple_maths(
    together: ArrayLike, row: ArrayLike, column: ArrayLike, total: ArrayLike, *, smoothing: float = 1.0
) -> Array:
    r"""Compute Kilgarriff's ratio of smoothed frequencies per million, :math:`(10^6 p + n) / (10^6 q + n)`.

    Arguments are those of :func:`pmi`.

    Parameters
    ----------
    smoothing : float
        Positive number n; the default is that of Sketch Engine. A larger number favours more frequent words.
    """
    if not smoothing > 0:
        raise InputError(f"smoothing must be positive; got {smoothing}", "smoothing")
    K, _, R, C, N = _table(together, row, column, total)
    return _divide(1e6 * _divide(K, R) + smoothing, 1e6 * _divide(C - K, N - R) + smoothing)


def percent_difference(together: ArrayLike, row: ArrayLike, column: ArrayLike, total: ArrayLike) -> Array:
    """Compute %DIFF, by how many percent the first relative frequency exceeds the second.

    It is infinite if the second frequency is 0, which Gabrielatos and Marchi replace by an arbitrary small number.
    Arguments are those of :func:`pmi`.
    """
    K, _, R, C, N = _table(together, row, column, total)
    return 100 * (_divide(K * (N - R), (C - K) * R) - 1)


def p_value(statistic: ArrayLike) -> Array:
    """Compute the p-values of chi-squared statistics with one degree of freedom, such as G²; signs are ignored.

    Small p-values have full relative precision; below 1e-308 (G² above 1,408) they lose it, and then become 0.

    Examples
    --------
    >>> p_value([3.84, -10.83, 1000]).tolist()
    [0.0500..., 0.00099..., 1.79...e-219]
    """
    return np.asarray(erfc(np.sqrt(np.abs(np.asarray(statistic, float)) / 2)))


def adjusted_p_values(p_values: ArrayLike, method: Literal["holm", "benjamini-hochberg"] = "holm") -> Array:
    """Correct the p-values of many tests, such as one for each word; the results are compared with the usual level.

    Parameters
    ----------
    p_values : array of float, shape (n,)
        p-values of all tests that were made, significant or not.
    method : {"holm", "benjamini-hochberg"}
        Bound the probability of a false positive (Holm; never less powerful than Bonferroni), or the expected share of
        false positives among the significant results (Benjamini, Hochberg).

    Examples
    --------
    >>> adjusted_p_values([0.01, 0.02, 0.04]).tolist()
    [0.03, 0.04, 0.04]
    """
    check_choice("method", method, ("holm", "benjamini-hochberg"))
    p = np.asarray(p_values, float)
    if p.ndim != 1 or not np.all((p >= 0) & (p <= 1)):
        raise InputError("p_values must be a one-dimensional array of numbers from 0 to 1", "p_values")
    order, rank, adjusted = np.argsort(p, kind="stable"), np.arange(1, len(p) + 1), np.empty(len(p))
    if method == "holm":
        adjusted[order] = np.maximum.accumulate(p[order] * rank[::-1])
    else:
        adjusted[order] = np.minimum.accumulate((p[order] * len(p) / rank)[::-1])[::-1]
    return np.minimum(adjusted, 1)


class Measure(NamedTuple):
    """Function of K, R, C and N, the words that it ranks high, and what it is used for."""

    function: Callable[..., Array]
    favours: str
    uses: tuple[str, ...] = ("collocations",)


_KEYWORDS, _BOTH = ("keywords",), ("collocations", "keywords")
MEASURES = {
    "log_likelihood": Measure(log_likelihood, "frequent words, by evidence", _BOTH),
    "log_likelihood_2": Measure(partial(log_likelihood, cells=2), "frequent words, by evidence", _KEYWORDS),
    "chi_squared": Measure(chi_squared, "frequent words, by evidence", _BOTH),
    "pmi": Measure(pmi, "rare words", _BOTH),
    "mi3": Measure(mi3, "frequent words, by evidence and effect size"),
    "t_score": Measure(t_score, "frequent words"),
    "z_score": Measure(z_score, "rare words, but less than pmi"),
    "log_dice": Measure(lambda K, R, C, _: log_dice(K, R, C), "words that rarely occur apart, in corpora of any size"),
    "delta_p": Measure(delta_p, "words that the node predicts"),
    "delta_p_backward": Measure(delta_p_backward, "words that predict the node"),
    "log_ratio": Measure(log_ratio, "rare words, by effect size", _BOTH),
    "simple_maths": Measure(simple_maths, "words above a frequency, by effect size", _KEYWORDS),
    "percent_difference": Measure(percent_difference, "rare words, by effect size", _KEYWORDS),
}
"""Association measures by name."""


def _table(*counts: Any) -> tuple[Array, ...]:
    """Return K, E, R, C and N as arrays of one shape."""
    K, R, C, N = np.broadcast_arrays(*(np.asarray(each, float) for each in counts))
    for at in np.flatnonzero(np.minimum.reduce([K, R - K, C - K, N - R - C + K]) < -1e-9 * N)[:1]:
        K, R, C, N = (each.flat[at] for each in (K, R, C, N))
        raise InputError(
            f"a cell of the contingency table with joint count {K:g}, row {R:g}, column {C:g} and total {N:g} is "
            "negative; count each token once, even if it is near two occurrences of a word"
        )
    return K, _divide(R * C, N), R, C, N


def _divide(a: Any, b: Any) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(a / b)


def _log2(a: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log2(a))
