r"""Outlier detection: find the word that does not belong to a group, by comparing two or more words at a time.

A group has cluster words and outliers. A case is one outlier together with the cluster words, :math:`W`. The
compactness of the rest of :math:`W` without a word, with a similarity of :math:`n` words at once, is

.. math:: c(w) = \sum_{S \subset W \setminus \{w\},\ |S| = n} \operatorname{sim}(S), \qquad
          \operatorname{sim}(\{a, b\}) = \cos(a, b), \qquad
          \operatorname{sim}(S) = \Big(\frac1n \sum_{i \in S} \|u_i - \bar u_S\|\Big)^{-1} \text{ for } n > 2,

and the outlier's position is the number of cluster words with a smaller :math:`c`. The outlier is detected if that is
all of them.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from polyadic.core.errors import InputError, check_int
from polyadic.embedding import Embedding, unit_rows
from polyadic.metrics.figures import Figure

COINCIDENT = 1e5  # similarity of three or more words that share one vector, where the formula would divide by zero
MAX_SIMILARITY = 1e30  # keeps similarities within float32


class OutlierGroup(NamedTuple):
    """Group of related words, and outliers that do not belong to the group."""

    cluster: Sequence[str]
    outliers: Sequence[str]
    name: str = ""


MAX_ELEMENTS = 5_000_000
"""Maximum number of array elements for the subsets of one cluster; the published clusters of eight words need 560."""


@dataclass(frozen=True)
class Outliers:
    """Outlier position percentage (OPP) and accuracy."""

    opp: float
    accuracy: float
    """Mean of position / cluster size, and share of detected cases, both in [0, 1]."""
    opp_interval: tuple[float, float]
    accuracy_interval: tuple[float, float]
    """Bootstrap percentile intervals over whole groups, because the cases of a group share their cluster."""
    chance_opp: float
    chance_accuracy: float
    """Expected values of a random order on the same cases. (Random vectors may reach more: items share words.)"""
    cases: int
    total_cases: int
    groups: int
    total_groups: int
    """Number of cases and groups used, and of all. Figures over different cases are not comparable."""
    order: int
    """Number of words compared at once."""
    unit: bool
    """Whether vectors were normalized to length 1."""
    level: float
    """Confidence level of the intervals."""
    sums: np.ndarray = field(repr=False, compare=False)
    """Sums of each group: positions / cluster size, detected cases, and cases; shape (groups, 3)."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON, except for the sums of each group."""
        return {key: value for key, value in vars(self).items() if key != "sums"}

    def figures(self, prefix: str = "outliers") -> list[Figure]:
        """Return OPP and accuracy as metrics with bootstrap confidence intervals over groups."""
        measures = (("OPP", self.chance_opp), ("accuracy", self.chance_accuracy))
        return [
            Figure(f"{prefix} OD{self.order} {name}", self.sums[:, [k, 2]], self.cases, self.total_cases, chance=chance)
            for k, (name, chance) in enumerate(measures)
        ]

    def __str__(self) -> str:
        low, high = self.opp_interval
        bottom, top = self.accuracy_interval
        return (
            f"OD{self.order}: OPP {self.opp:.3f} ({low:.3f} to {high:.3f}; chance {self.chance_opp:.3f}),"
            f" accuracy {self.accuracy:.3f} ({bottom:.3f} to {top:.3f}; chance {self.chance_accuracy:.3f}),"
            f" {self.cases:,} of {self.total_cases:,} cases in {self.groups:,} of {self.total_groups:,} groups"
        )


def outliers(
    embedding: Embedding,
    groups: Iterable[OutlierGroup],
    *,
    order: int = 2,
    unit: bool = True,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> Outliers:
    """Detect the outlier among cluster words by comparing ``order`` words at a time.

    An item ``A_b_c`` has the mean vector of its known parts, and is unknown only if all parts are; words are in lower
    case if the whole vocabulary is. Unknown items are left out. A group is used if at least ``order`` cluster words and
    one outlier remain, so two orders may average over different cases. Repeated words are kept. Ties count against the
    outlier; similarities are compared as float32, so that rounding does not break ties. InputError is raised if no
    group can be used.

    Parameters
    ----------
    embedding : Embedding
        Word vectors; their policy for unknown words is ignored.
    groups : iterable of OutlierGroup
        Cluster words, outliers, and a name.
    order : {2, 3, 4}
        Number of words compared at once.
    unit : bool
        Whether to normalize vectors to length 1 first. Lengths matter for orders above 2: means of several words are
        shorter than words.
    resamples, level, seed
        As for :meth:`Figure.interval <polyadic.metrics.figures.Figure.interval>`.

    References
    ----------
    Camacho-Collados and Navigli (2016), Find the word that does not belong, section 3. Bailey and Aeron (2017), Word
    embeddings via tensor factorization, section 6.2.1. arXiv:1704.02686

    Examples
    --------
    >>> from polyadic.embedding import Embedding
    >>> words = Embedding(["sun", "star", "moon", "ice"], [[1.0, 0.0], [0.9, 0.1], [0.9, 0.2], [0.0, 1.0]])
    >>> outliers(words, [OutlierGroup(["sun", "star", "moon"], ["ice"])]).accuracy
    1.0
    """
    check_int("order", order, low=2, high=4)
    check_int("resamples", resamples, low=1)
    every = list(groups)
    used = [(p / size, size) for p, size in (_positions(embedding, group, order, unit) for group in every) if len(p)]
    if not used:
        raise InputError(
            f"none of the {len(every)} groups has {order} known cluster words and a known outlier"
            f" in the vocabulary of {len(embedding):,} words"
        )
    sums = np.array([(opp.sum(), (opp == 1).sum(), len(opp)) for opp, _ in used], float)
    cases = int(sums[:, 2].sum())
    measured = Outliers(
        opp=float(sums[:, 0].sum() / cases),
        accuracy=float(sums[:, 1].sum() / cases),
        opp_interval=(0.0, 1.0),
        accuracy_interval=(0.0, 1.0),
        chance_opp=0.5,
        chance_accuracy=float(sum(len(opp) / (size + 1) for opp, size in used) / cases),
        cases=cases,
        total_cases=sum(len(group.outliers) for group in every),
        groups=len(used),
        total_groups=len(every),
        order=order,
        unit=unit,
        level=level,
        sums=sums,
    )
    intervals = [figure.interval(resamples=resamples, level=level, seed=seed) for figure in measured.figures()]
    return replace(measured, opp_interval=intervals[0], accuracy_interval=intervals[1])


def _positions(embedding: Embedding, group: OutlierGroup, order: int, unit: bool) -> tuple[np.ndarray, int]:  # noqa: FBT001 private
    """Return the positions of the known outliers, empty if the group is unusable, and the number of cluster words."""
    cluster = _vectors(embedding, group.cluster)
    others = _vectors(embedding, group.outliers)
    size = len(cluster)
    if size < order or len(others) == 0:
        return np.empty(0), size
    if size * math.comb(size, order) > MAX_ELEMENTS:
        raise InputError(
            f"a cluster of {size} words has {math.comb(size, order):,} subsets of {order} words, which is too many;"
            " split the cluster"
        )
    rows = np.concatenate([cluster, others])
    inner, inner_without = _subsets(size, order)
    outer, outer_without = _subsets(size, order - 1)
    outlier = np.arange(size, len(rows))[:, None, None]
    sets = np.concatenate(
        [np.broadcast_to(outer, (len(others), *outer.shape)), np.broadcast_to(outlier, (len(others), len(outer), 1))], 2
    )
    vectors = unit_rows(rows) if unit or order == 2 else rows
    if order == 2:
        alike = vectors @ vectors.T
    else:  # not from dot products: equal words must have distance 0 exactly
        difference = vectors[:, None] - vectors[None]
        alike = np.einsum("ijr,ijr->ij", difference, difference)
    similar = _pairs if order == 2 else _closeness
    # c of each cluster word: the subsets of cluster words without it, and those that hold the outlier too
    inside = similar(alike, inner)
    compactness = inner_without @ inside + similar(alike, sets) @ outer_without.T
    return (compactness < inside.sum()).sum(axis=1), size


def _vectors(embedding: Embedding, items: Sequence[str]) -> np.ndarray:
    """Return the mean word vector of each known item in float64."""
    known = [[row for part in item.split("_") if (row := embedding.find(part)) is not None] for item in items]
    means = [embedding.vectors[rows].mean(axis=0, dtype=np.float64) for rows in known if rows]
    return np.array(means).reshape(-1, embedding.rank)


@functools.lru_cache
def _subsets(size: int, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all subsets of ``order`` words, and for each word an indicator of the subsets without this word."""
    subsets = np.array(list(itertools.combinations(range(size), order)))
    lack = (subsets[None] != np.arange(size)[:, None, None]).all(axis=2)
    return subsets, lack.astype(np.float64)


def _pairs(cosines: np.ndarray, sets: np.ndarray) -> np.ndarray:
    return _float32(cosines[sets[..., 0], sets[..., 1]])


def _closeness(squared: np.ndarray, sets: np.ndarray) -> np.ndarray:
    r"""Return the inverse mean distance to the centroid of each subset, given squared distances between words.

    .. math:: \|u_i - \bar u_S\|^2 = \frac1n \sum_j D_{ij} - \frac{1}{2 n^2} \sum_{jk} D_{jk}
    """
    within = squared[sets[..., :, None], sets[..., None, :]]
    to_centroid = within.mean(axis=-1) - within.mean(axis=(-2, -1))[..., None] / 2
    distance = np.sqrt(np.maximum(to_centroid, 0)).mean(axis=-1)
    return _float32(np.divide(1, distance, out=np.full_like(distance, COINCIDENT), where=distance > 0))


def _float32(similarities: np.ndarray) -> np.ndarray:
    """Round similarities to float32 precision, so that float64 sums are exact in practice and ties are preserved."""
    return np.asarray(np.minimum(similarities, MAX_SIMILARITY).astype(np.float32).astype(np.float64))
