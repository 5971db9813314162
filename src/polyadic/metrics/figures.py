"""Evaluation metrics that store the results of test cases, for confidence intervals and paired comparisons.

A figure is a statistic of resampling units: the groups of an outlier test, the questions of an analogy test, the lemmas
of a sense test. The bootstrap draws units with replacement: the spread of the statistic over such samples is the
uncertainty of the figure. The spread of the difference of two models over the *same* samples is the uncertainty of
their difference; it is smaller because units that are hard for one model are often hard for the other.

A *statistic* (:func:`ratio`, :func:`correlation`, :func:`rank_correlation`, ...) is a function of ``rows``, an array of
shape (n, k) with the data of each unit, and ``times``, an array of shape (B, n) that says how often each unit is drawn
in each of B samples. It returns its value in each sample, shape (B,), NaN where it is undefined.

References
----------
Efron, Tibshirani (1993), An introduction to the bootstrap, sections 13.3 and 16.4.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from polyadic.core.annotations import Array, Ints
from polyadic.core.errors import InputError, check_int

Statistic = Callable[[Array, Ints], Array]
BLOCK = 1 << 22  # maximum number of elements of a temporary array


def ratio(rows: Array, times: Ints) -> Array:
    """Compute the ratio of the sums of two columns in each bootstrap sample.

    Examples
    --------
    >>> ratio(np.array([[1.0, 2.0], [4.0, 4.0]]), np.array([[1, 1], [0, 1]])).tolist()
    [0.8333333333333334, 1.0]
    """
    sums = times @ rows
    return np.asarray(np.divide(sums[:, 0], sums[:, 1], out=np.full(len(times), math.nan), where=sums[:, 1] != 0))


def rank_correlation(rows: Array, times: Ints) -> Array:
    """Compute the Spearman correlation of two columns in each bootstrap sample; ties have their average rank.

    Examples
    --------
    >>> rows = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 15.0]])
    >>> rank_correlation(rows, np.array([[1, 1, 1], [1, 1, 0]])).tolist()
    [0.5, 1.0]
    """
    ranks = np.stack([_average_ranks(column, times) for column in rows.T])  # (2, B, n)
    total = np.maximum(times.sum(axis=1), 1)
    ranks -= ((times * ranks).sum(axis=2) / total)[..., None]
    covariance = (times * ranks[0] * ranks[1]).sum(axis=1)
    scale = np.sqrt((times * ranks**2).sum(axis=2).prod(axis=0))
    return np.asarray(np.divide(covariance, scale, out=np.full(len(times), math.nan), where=scale > 0))


def correlation(rows: Array, times: Ints) -> Array:
    """Compute the Pearson correlation of two columns in each bootstrap sample.

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 4.0]])
    >>> correlation(rows, np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0]])).round(3).tolist()
    [0.982, 1.0, nan]
    """
    total = np.maximum(times.sum(axis=1), 1)[:, None]
    x, y = ((column - times @ column[:, None] / total) for column in rows.T)
    covariance, scale = (times * x * y).sum(axis=1), (times * x**2).sum(axis=1) * (times * y**2).sum(axis=1)
    small = 1e-24 * (rows**2).sum(axis=0).prod()  # what rounding leaves of a constant side
    return np.asarray(np.divide(covariance, np.sqrt(scale), out=np.full(len(times), math.nan), where=scale > small))


def _average_ranks(column: Array, times: Ints) -> Array:
    """Return the average rank of each value in bootstrap samples that repeat each value ``times`` times."""
    _, level = np.unique(column, return_inverse=True)
    at = np.argsort(level, kind="stable")
    first = np.flatnonzero(np.diff(level[at], prepend=-1))
    copies = np.add.reduceat(times[:, at], first, axis=1)  # of each different value
    ranks = np.cumsum(copies, axis=1) - (copies - 1) / 2
    return np.asarray(ranks[:, level])


@dataclass(frozen=True, eq=False)
class Figure:
    """Evaluation metric that stores the resampling units from which bootstrap confidence intervals are computed.

    Examples
    --------
    >>> rows = np.array([[3.0, 4.0], [1.0, 4.0]])
    >>> Figure("accuracy", rows, used=8, total=10).value
    0.5
    """

    name: str
    """Name of the measure, such as ``"wikisem500 OD2 accuracy"``."""
    rows: Array
    """Data of each unit for the statistic, such as its shares in numerator and denominator; shape (n, k)."""
    used: int
    total: int
    """Number of cases used, and of all cases; the others have unknown words, or served for training or model
    selection."""
    statistic: Statistic = ratio
    """Function of the rows and their multiplicities: :func:`ratio`, :func:`correlation` or :func:`rank_correlation`."""
    chance: float | None = None
    """Value reached by guessing on the same cases."""

    @property
    def value(self) -> float:
        """Value of the metric on all test cases; NaN if undefined."""
        return float(self.statistic(self.rows, np.ones((1, len(self.rows)), np.int64))[0])

    def interval(self, *, resamples: int = 1000, level: float = 0.95, seed: int = 0) -> tuple[float, float]:
        """Compute the bootstrap percentile interval of the metric; NaN if the metric is undefined in all samples.

        ``resamples`` is the number of bootstrap samples, ``level`` the confidence level, between 0 and 1.
        """
        _check_level(level)
        return _interval(_resampled([self], resamples, seed)[0], level)

    def as_dict(self) -> dict[str, Any]:
        """Return the value, interval, number of cases and chance level as a dictionary for JSON, with None for NaN."""
        low, high = self.interval()
        values = {"value": self.value, "low": low, "high": high, "chance": self.chance}
        numbers = {key: None if x is None or math.isnan(x) else x for key, x in values.items()}
        return {"name": self.name, **numbers, "used": self.used, "total": self.total}


class Difference(NamedTuple):
    """Difference between two metrics with a bootstrap confidence interval; NaN if a metric is undefined."""

    value: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Whether the confidence interval excludes zero."""
        return self.low > 0 or self.high < 0


def difference(a: Figure, b: Figure, *, resamples: int = 1000, level: float = 0.95, seed: int = 0) -> Difference:
    """Compute the difference ``a - b`` of two metrics on the same test cases, with a paired bootstrap interval.

    Units are paired by position; the caller must ensure that both figures are from the same test. InputError is raised
    if the figures have different numbers of units or cases, or different statistics.

    Further arguments are those of :meth:`Figure.interval`.

    Examples
    --------
    >>> right = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    >>> a, b = Figure("a", right, used=4, total=4), Figure("b", 1 - right * [1, 0], used=4, total=4)
    >>> difference(a, b).value
    0.5
    """
    if len(a.rows) != len(b.rows) or (a.used, a.statistic) != (b.used, b.statistic):
        raise InputError(
            f"{a.name} over {a.used:,} cases cannot be compared with {b.name} over {b.used:,} cases;"
            " evaluate both on the same cases"
        )
    _check_level(level)
    first, second = _resampled([a, b], resamples, seed)
    return Difference(a.value - b.value, *_interval(first - second, level))


def _resampled(figures: list[Figure], resamples: int, seed: int) -> Array:
    """Return the values of several metrics on the same bootstrap samples; shape (figures, resamples)."""
    check_int("resamples", resamples, low=1)
    rng, n = np.random.default_rng(seed), len(figures[0].rows)
    values = np.full((len(figures), resamples), math.nan)
    if not n:
        return values
    step = max(1, BLOCK // n)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        times = rng.multinomial(n, np.full(n, 1 / n), size=size)
        for k, figure in enumerate(figures):
            values[k, start : start + size] = figure.statistic(figure.rows, times)
    return values


def conformal_radius(scores: Array, level: float) -> float:
    r"""Compute the radius of split conformal prediction intervals.

    For ``n`` scores :math:`|y - \hat y| / \hat\sigma` of held-out units it is the :math:`\lceil (n + 1) p \rceil`-th
    smallest score. A unit from the same distribution is within it with a probability of at least ``level``, for any
    model. InputError is raised if the level is out of range, or there are too few held-out units for it.

    References
    ----------
    Lei, G'Sell, Rinaldo, Tibshirani, Wasserman (2018), Distribution-free predictive inference for regression,
    algorithm 2.

    Examples
    --------
    >>> conformal_radius(np.arange(1, 10.0), 0.9)
    9.0
    """
    _check_level(level)
    place = math.ceil(round((len(scores) + 1) * level, 9))  # .9 of 10 are 9, whatever binary fractions say
    if place > len(scores):
        needed = math.ceil(round(level / (1 - level), 9))
        raise InputError(f"a level of {level:g} requires at least {needed:,} held-out scores; got {len(scores):,}")
    return float(np.partition(scores, place - 1)[place - 1])


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise InputError(f"level must be between 0 and 1; got {level!r}", "level")


def _interval(values: Array, level: float) -> tuple[float, float]:
    defined = values[~np.isnan(values)]
    if not len(defined):
        return math.nan, math.nan
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
