r"""Association of co-occurring words: pointwise mutual information of any order.

With :math:`N` tuples seen, :math:`\#(x_1 \dots x_n)` of them of these words, :math:`\mu` the number of permutations of
the tuple and :math:`m_x` the number of places in tuples that a word takes, the probabilities of an ordered tuple and of
a word in a place are

.. math:: p(x_1 \dots x_n) = \frac{\#(x_1 \dots x_n)}{\mu N}, \qquad p(x) = \frac{m_x}{n N},

so both sum to one, and independent words have an expected PMI near zero. Logarithms are natural.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from polyadic.core.entries import BLOCK, Entries
from polyadic.core.errors import InputError, check_choice, check_number
from polyadic.core.progress import tracked

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from polyadic.text.counts import Counts

Form = Literal["total", "specific"]
Normaliser = Literal["tuples", "chunks", "tokens"]
Weights = Literal["uniform", "count", "log"]


def ppmi(
    counts: Counts,
    *,
    shift: float = 1.0,
    smoothing: float = 1.0,
    form: Form = "total",
    lower: Sequence[Counts] = (),
    normaliser: Normaliser = "tuples",
    weights: Weights | tuple[float, float] = "log",
    holding: ArrayLike | None = None,
) -> Entries:
    r"""Compute the shifted positive PMI of each counted tuple, :math:`\max(\mathrm{PMI} - \log k, 0)`, without zeros.

    The result is symmetric, weighted and float32.

    Parameters
    ----------
    counts : Counts
        Counts of any order.
    shift : float
        Shift :math:`k \ge 1`; 1 means no shift.
    smoothing : float
        Exponent :math:`\alpha` of context-distribution smoothing. :math:`p_\alpha(x) \propto m_x^\alpha` replaces the
        probability of all words of a tuple but one; the geometric mean over that one makes the result symmetric,
        :math:`p(x)^{1/n} p_\alpha(x)^{(n-1)/n}`. 1 means no smoothing.
    form : {"total", "specific"}
        Generalization of PMI. ``total``, total correlation: :math:`\log p(x_1 \dots x_n) / \prod_d p(x_d)`.
        ``specific``, interaction information, the association beyond that of the parts: :math:`\sum_{S \subseteq
        \{1..n\}, S \ne \emptyset} (-1)^{n-|S|} \log p(x_S)`.
    lower : sequence of Counts
        Counts of the orders 2 to n - 1 of the same corpus and window with ``min_count=1``; needed by ``specific``.
    normaliser : {"tuples", "chunks", "tokens"}
        Denominator of probabilities. ``tuples``: as in the module. Only for the chunk window: ``chunks``, the number of
        chunks; and ``tokens``, the number of words in chunks, as in the published computation, whose values are too
        large by :math:`(n-1) \log` of the mean chunk size.
    weights : {"uniform", "count", "log"} or (x_max, a)
        Weight of an entry seen :math:`c` times: :math:`1`, :math:`c`, :math:`\log(1 + c)`, or
        :math:`\min(1, (c / x_{max})^a)`.
    holding : array of int of shape (m, 2), optional
        Pairs of words: only tuples that contain both words of a pair are computed. The result may then be empty.

    Raises
    ------
    InputError
        If an argument is out of range or does not match the counts, or no tuple has a positive association.

    References
    ----------
    Bailey, Aeron (2017), section 2.1: total correlation is their PMI_2; specific interaction is their PMI_1 with
    reversed sign, so that order 2 gives PMI. Levy, Goldberg, Dagan (2015), section 3, for shift and smoothing.

    Examples
    --------
    >>> from polyadic import Corpus, count
    >>> corpus = Corpus.build(["red rose", "red rose", "blue sky", "blue rose"], min_count=1)
    >>> x = ppmi(count(corpus, order=2, width=1))
    >>> [[corpus.vocabulary.words[i] for i in row] for row in x.indices], x.values.astype(float).round(3).tolist()
    ([['blue', 'rose'], ['red', 'rose'], ['sky', 'blue']], [0.288, 0.981, 1.386])
    """
    check_number("shift", shift, low=1.0)
    check_number("smoothing", smoothing, above=True)
    check_choice("form", form, get_args(Form))
    check_choice("normaliser", normaliser, get_args(Normaliser))
    if form == "specific" and (smoothing != 1 or normaliser != "tuples"):
        raise InputError("form 'specific' requires smoothing 1 and normaliser 'tuples'")
    _weigh(np.empty(0), weights)  # refuse wrong ones before the work, not after
    if holding is not None:
        counts = replace(counts, entries=counts.entries.holding(holding))
    entries = counts.entries
    parts = _parts(counts, form, lower, _log_word(counts, smoothing, normaliser))
    kept, values, seen = [entries.indices.T[:, :0]], [np.empty(0, np.float32)], [entries.values[:0]]
    for block in tracked(entries.blocks(), "weighing", total=-(-len(entries) // BLOCK)):
        pmi = _log_tuple(counts, block, normaliser) - np.log(shift)
        for sign, places, part in parts:
            pmi += sign * part(entries.indices[block][:, places])
        positive = np.flatnonzero(pmi > 0)
        kept.append(entries.indices.T[:, block].take(positive, axis=1))
        values.append(pmi[positive].astype(np.float32))
        seen.append(entries.values[block][positive])
    if holding is None and not any(map(len, values)):
        raise InputError(f"no tuple has a PMI above log {shift:g}; lower the shift")
    weight = _weigh(np.concatenate(seen), weights)
    return Entries(np.concatenate(kept, axis=1).T, np.concatenate(values), entries.shape, weight, symmetric=True)


def _weigh(seen: NDArray[Any], weights: Weights | tuple[float, float]) -> NDArray[np.float32]:
    """Compute the weight of each entry from the co-occurrence count."""
    if isinstance(weights, tuple):
        if len(weights) != 2:
            raise InputError(
                f"weights must be the name of a weighting or two numbers (x_max, a); got {weights}", "weights", "x_max"
            )
        x_max, a = weights
        check_number("x_max of weights", x_max, above=True)
        check_number("a of weights", a)
        return np.minimum(1, (seen / x_max) ** a).astype(np.float32)
    check_choice("weights", weights, get_args(Weights))
    if weights == "uniform":
        return np.ones(len(seen), np.float32)
    return (seen if weights == "count" else np.log1p(seen)).astype(np.float32)


def _log_tuple(counts: Counts, block: slice, normaliser: Normaliser) -> NDArray[np.float64]:
    """Return the log probability of each tuple in a block of entries."""
    log_count = np.log(counts.entries.values[block], dtype=float)
    if normaliser == "tuples":
        entries = counts.entries
        part = Entries(entries.indices[block], entries.values[block], entries.shape, symmetric=True)
        return log_count - np.log(counts.events) - np.log(part.multiplicity())
    return log_count - np.log(_chunk_total(counts, normaliser))


def _log_word(counts: Counts, smoothing: float, normaliser: Normaliser) -> NDArray[np.float64]:
    """Return the (optionally smoothed) log probability of each word of the vocabulary."""
    n = counts.entries.order
    if normaliser == "tuples":
        marginals, total = counts.marginals, n * counts.events
    else:
        total = _chunk_total(counts, normaliser)
        marginals = counts.chunks.marginals if counts.chunks else counts.marginals
    with np.errstate(divide="ignore"):  # words in no tuple are never looked up
        log_p = np.log(marginals / total)
        smooth = marginals**smoothing
        log_smooth = np.log(smooth / smooth.sum()) + np.log(marginals.sum() / total)
    return log_p / n + log_smooth * (n - 1) / n if smoothing != 1 else log_p


def _chunk_total(counts: Counts, normaliser: Normaliser) -> int:
    if counts.chunks is None:
        got = f"counts with window {counts.settings.get('window')!r}"
        raise InputError(f"normaliser {normaliser!r} requires counts with window 'chunk'; got {got}")
    return counts.chunks.number if normaliser == "chunks" else counts.chunks.words


Parts = list[tuple[int, tuple[int, ...], Callable[["NDArray[Any]"], "NDArray[np.float64]"]]]
"""Sign, places in a tuple, and the lookup of the log probability of the words in these places."""


def _log_of(rows: NDArray[Any], counts: Counts, log: NDArray[np.float64]) -> NDArray[np.float64]:
    """Look up the log probability of tuples of a lower order."""
    at, order = counts.entries.find(rows), counts.entries.order
    if (at < 0).any():
        what = f"form 'specific' requires the counts of all sub-tuples of order {order}"
        advice = f"count order {order} of the same corpus with the same window and min_count=1"
        raise InputError(f"{what}; {advice}", "min_count")
    return log[at]


def _parts(counts: Counts, form: Form, lower: Sequence[Counts], log_word: NDArray[np.float64]) -> Parts:
    """Return the signed terms of a tuple's PMI: one for each word, or if specific for each proper subset."""
    order = counts.entries.order
    sign = (-1) ** (order - 1) if form == "specific" else -1
    parts: Parts = [(sign, (d,), lambda rows: log_word[rows[:, 0]]) for d in range(order)]
    if form == "total":
        return parts
    by_order = {c.entries.order: c for c in lower}
    if order > 2 and counts.settings.get("window") == "centred":
        why = "because a centred triple contains pairs that are not centred"
        raise InputError(f"form 'specific' requires window 'span' or 'chunk', {why}")
    for size in range(2, order):
        if size not in by_order:
            raise InputError(f"form 'specific' of order {order} requires counts of order {size} in `lower`")
        for key in ("corpus", "window", "width", "distance", "repeats"):
            if by_order[size].settings.get(key) != counts.settings.get(key):
                raise InputError(f"the counts of order {size} in `lower` must have the same {key} as `counts`")
        table = partial(_log_of, counts=by_order[size], log=_log_tuple(by_order[size], slice(None), "tuples"))
        parts += [((-1) ** (order - size), places, table) for places in combinations(range(order), size)]
    return parts
