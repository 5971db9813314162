r"""Lexical diversity: how varied the words of a text are.

A text has N tokens and V types, of which type v occurs :math:`f_v` times. Its type-token ratios :math:`V / N` and
:math:`V / \sqrt N` depend on its length, so compare them between texts of one length only. The other measures depend
on it less. MATTR is the mean type-token ratio of all windows of w tokens. MTLD is the mean length of a factor, a
stretch of text whose type-token ratio falls to a threshold; what is left at the end, with the ratio r, counts as
:math:`(1 - r) / (1 - \text{threshold})` of a factor, and the result is the mean of both directions. HD-D is the
expected type-token ratio of a random sample of m tokens, which vocd-D estimates. Yule's K is small for varied texts:

.. math:: \mathrm{HD\text{-}D} = \frac1m \sum_v \biggl(1 - \binom{N - f_v}{m} \bigg/ \binom{N}{m}\biggr), \qquad
          K = 10^4\, \frac{\sum_v f_v^2 - N}{N^2} .

References
----------
Yule (1944), The statistical study of literary vocabulary. McCarthy, Jarvis (2007), vocd: a theoretical and empirical
evaluation (HD-D). Covington, McFall (2010), Cutting the Gordian knot: the moving-average type-token ratio (MATTR).
McCarthy, Jarvis (2010), MTLD, vocd-D, and HD-D: a validation study.
"""

from __future__ import annotations

import numpy as np

from polyadic.core.annotations import ArrayLike, Ints
from polyadic.core.errors import InputError


def lexical_diversity(
    tokens: ArrayLike, *, window: int = 100, threshold: float = 0.72, sample: int = 42
) -> dict[str, float]:
    """Compute all measures of a text.

    Parameters
    ----------
    tokens : array, shape (n_tokens,)
        Ids of the tokens, or words.
    window : int
        Number of tokens of a window of MATTR.
    threshold : float
        Type-token ratio at which a factor of MTLD ends.
    sample : int
        Number of tokens of a sample of HD-D.

    Returns
    -------
    dict of str to float
        ``tokens``, ``types``, ``ttr``, ``root_ttr``, ``mattr`` (NaN if the text is shorter than the window), ``mtld``
        (infinite if no word occurs twice), ``hdd`` (NaN if the text is shorter than the sample), ``yule_k``, and
        ``hapax_share``, the share of the types that occur once.

    Examples
    --------
    >>> found = lexical_diversity("a b c d d e e f f f".split(), window=5, sample=5)
    >>> print(*(f"{name} {value:.4g}" for name, value in found.items()))
    tokens 10 types 6 ttr 0.6 root_ttr 1.897 mattr 0.6333 mtld 4.167 hdd 0.7944 yule_k 1000 hapax_share 0.5
    """
    words = np.asarray(tokens)
    if words.ndim != 1 or not len(words):
        raise InputError(f"tokens must be a list of at least one word or id; got shape {words.shape}", "tokens")
    if window < 1 or sample < 1 or not 0 < threshold < 1:
        raise InputError("window and sample must be at least 1, and threshold between 0 and 1", "window", "sample")
    N, i, order = len(words), np.arange(len(words)), np.argsort(words, kind="stable")
    first = np.concatenate([[True], words[order[1:]] != words[order[:-1]], [True]])
    f, types = np.unique(np.diff(np.flatnonzero(first)), return_counts=True)  # how many types occur f times
    before, after = np.empty(N, np.int64), np.empty(N, np.int64)  # where the word occurs next, on either side
    before[order] = np.where(first[:-1], -1, np.concatenate([[-1], order[:-1]]))
    after[order] = np.where(first[1:], N, np.concatenate([order[1:], [N]]))
    # the windows in which token i is the first of its type begin after `before`, and at i at the latest
    new = np.maximum(np.minimum(i, N - window) - np.maximum(before, i - window), 0)
    with np.errstate(divide="ignore"):
        mtld = N / np.array([_factors(before, threshold), _factors(N - 1 - after[::-1], threshold)])
        # log of the probability that a sample misses a type
        absent = np.log1p(-np.minimum(f[:, None] / (N - np.arange(min(sample, N))), 1)).sum(axis=1)
    V = int(types.sum())
    return {
        "tokens": N,
        "types": V,
        "ttr": V / N,
        "root_ttr": V / N**0.5,
        "mattr": float(new.sum() / window / (N - window + 1)) if window <= N else np.nan,
        "mtld": float(mtld.mean()),
        "hdd": float(types @ -np.expm1(absent) / sample) if sample <= N else np.nan,
        "yule_k": 1e4 * float(types @ (f * (f - 1.0))) / N**2,
        "hapax_share": float(types @ (f == 1) / V),
    }


def _factors(before: Ints, threshold: float) -> float:
    """Return the number of factors of MTLD, given the position of the previous occurrence of each token's word."""
    start = factors = types = 0
    for at, previous in enumerate(memoryview(np.ascontiguousarray(before)), 1):  # type: ignore[arg-type]
        types += previous < start
        if types / (at - start) <= threshold:
            start, factors, types = at, factors + 1, 0
    rest = len(before) - start
    return factors + (1 - types / rest) / (1 - threshold) if rest else factors
