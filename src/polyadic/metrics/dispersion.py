r"""Dispersion: how evenly the occurrences of a word are spread over the parts of a corpus, such as its texts.

A word occurs :math:`c_i` times in part i of n parts, :math:`f` times in all; part i has the share :math:`s_i` of the
tokens. With the relative frequencies :math:`p_i = c_i / s_i`, their mean and their population standard deviation,

.. math:: DP = \tfrac12 \sum_i \Bigl|\frac{c_i}{f} - s_i\Bigr|, \qquad DP_{norm} = \frac{DP}{1 - \min_i s_i}, \qquad
          D = 1 - \frac{\operatorname{sd}(p)}{\operatorname{mean}(p)} \frac{1}{\sqrt{n - 1}} .

For a word that is spread as the text is, Gries's DP is 0 and Juilland's D is 1; for a word in one small part, DP is
near 1 and D is 0. The average reduced frequency, with distances :math:`d_i` between the occurrences in a text of N
tokens whose end is joined to its beginning, is f for an even spread and about 1 if all occurrences are in one place:

.. math:: \mathrm{ARF} = \frac1v \sum_{i=1}^f \min(d_i, v), \qquad v = \frac{N}{f} .

References
----------
Juilland, Chang-Rodriguez (1964), Frequency dictionary of Spanish words. Gries (2008), Dispersions and adjusted
frequencies in corpora (DP, and D for parts of unequal lengths). Lijffijt, Gries (2012), Correction to the latter
(DPnorm). Savický, Hlaváčová (2002), Measures of word commonness (ARF). Egbert, Biber (2019), Incorporating text
dispersion into keyword analyses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.annotations import AnyArray, Array, ArrayLike
from polyadic.core.errors import InputError
from polyadic.metrics.association import log_likelihood


def dispersion(counts: Any, sizes: ArrayLike) -> dict[str, AnyArray]:
    """Compute the dispersion of each word; NaN for words that do not occur.

    Parameters
    ----------
    counts : sparse array or array, shape (n_words, n_parts)
        Number of occurrences of each word in each part.
    sizes : array of int, shape (n_parts,)
        Number of tokens of each part; parts without tokens are left out.

    Returns
    -------
    dict of str to array, shape (n_words,)
        ``range``, the number of parts that contain the word; ``dp``, ``dp_norm`` and ``juilland_d``.

    Examples
    --------
    >>> found = dispersion([[1, 2, 3, 4, 5]], [9, 10, 10, 10, 11])
    >>> {name: values.round(3).tolist() for name, values in found.items()}
    {'range': [5], 'dp': [0.18], 'dp_norm': [0.22], 'juilland_d': [0.785]}
    """
    c, sizes = csr_array(counts, dtype=float, copy=True), np.asarray(sizes, float)
    c.sum_duplicates()
    c.eliminate_zeros()
    if sizes.shape != c.shape[1:] or np.any(c.data > sizes[c.indices]):  # matches of queries may overlap
        raise InputError(f"sizes must be the numbers of tokens of the {c.shape[1]} parts of counts", "sizes")
    if np.any(sizes == 0):
        c, sizes = c[:, sizes > 0], sizes[sizes > 0]
    n, found, f, s = len(sizes), np.diff(c.indptr), np.asarray(c.sum(axis=1)), sizes / sizes.sum()

    def total(values: AnyArray) -> AnyArray:
        return np.asarray(csr_array((values, c.indices, c.indptr), c.shape).sum(axis=1))

    with np.errstate(divide="ignore", invalid="ignore"):
        dp = np.where(f > 0, 1 + total(np.abs(c.data / np.repeat(f, found) - s[c.indices]) - s[c.indices]), np.nan) / 2
        p = c.data / s[c.indices]
        mean = total(p) / n
        sd = np.sqrt((total((p - np.repeat(mean, found)) ** 2) + (n - found) * mean**2) / n)
        dp, D = np.maximum(dp, 0), 1 - sd / mean / np.sqrt(n - 1)
        return {"range": found, "dp": dp, "dp_norm": dp / (1 - s.min(initial=1)), "juilland_d": D}


def average_reduced_frequency(positions: ArrayLike, total: int, starts: ArrayLike | None = None) -> Array:
    """Compute the average reduced frequency (ARF) of each word.

    Parameters
    ----------
    positions : array of int, shape (n,)
        Positions of the occurrences from 0, in ascending order for each word, one word after the other.
    total : int
        Number of tokens of the text.
    starts : array of int, shape (n_words + 1,), optional
        Index of the first position of each word, and n. By default, all positions are of one word.

    Examples
    --------
    >>> average_reduced_frequency([0, 5, 0, 1], 10, [0, 2, 4, 4]).tolist()
    [2.0, 1.2, 0.0]
    """
    at = np.asarray(positions, np.int64)
    offsets = np.asarray([0, len(at)] if starts is None else starts, np.int64)
    f = np.diff(offsets)
    first, v, arf = offsets[:-1][f > 0], total / f[f > 0], np.zeros(len(f))
    d = np.diff(at, prepend=0)
    d[first] = at[first] - at[offsets[1:][f > 0] - 1] + total
    if np.any((d < 1) | (at < 0) | (at >= total)):
        raise InputError(f"positions must ascend for each word, from 0 to {total - 1:,}", "positions")
    if len(first):
        arf[f > 0] = np.add.reduceat(np.minimum(d, np.repeat(v, f[f > 0])), first) / v
    return arf


def text_dispersion_keyness(counts: Any, target: ArrayLike, measure: Callable[..., Array] = log_likelihood) -> Array:
    """Compute keyness from the numbers of texts that contain each word, not from its occurrences (Egbert, Biber 2019).

    Parameters
    ----------
    counts : sparse array or array, shape (n_words, n_texts)
        Number of occurrences of each word in each text.
    target : array of bool, shape (n_texts,)
        Whether a text is of the target corpus; the others are the reference corpus.
    measure : callable
        Function of :mod:`polyadic.metrics.association`.

    Examples
    --------
    >>> text_dispersion_keyness([[1, 1, 1, 0], [9, 0, 1, 1]], [True, True, False, False]).round(2).tolist()
    [1.73, -1.73]
    """
    occurs, chosen = (csr_array(counts) > 0).astype(np.int64), np.asarray(target, bool)
    if chosen.shape != occurs.shape[1:]:
        raise InputError(f"target must have a value for each of {occurs.shape[1]} texts", "target")
    return measure(occurs @ chosen, chosen.sum(), occurs.sum(axis=1), len(chosen))
