"""Word sense induction: agreement of induced senses with gold senses from a dictionary.

Each instance of a lemma (a word in context) has weighted senses: gold senses from annotators, induced senses from a
model. Names of induced senses are arbitrary. Weights are divided by the largest weight of their instance, so that they
lie in (0, 1]; below, a lemma's gold weights are :math:`G` (instances by senses) and its induced weights :math:`T`.
There are two kinds of measures:

*Clustering.* Fuzzy NMI measures how well the senses of one side predict those of the other (:func:`fuzzy_nmi`), fuzzy
B-cubed whether instances that share a sense on one side share one on the other (:func:`fuzzy_bcubed`). If each instance
has one gold sense, the V-measure and the paired F-score (:func:`paired_f`) of SemEval-2010 task 14 compare it with the
induced sense of largest weight.

*Disambiguation.* Induced senses are mapped to gold senses by their joint weights in four fifths of the instances; the
mapping is applied to the last fifth, in five folds (:func:`remap`). The Jaccard index then compares the sets of senses,
positionally weighted Kendall's tau their order, and weighted NDCG their weights (:func:`jaccard`, :func:`tau`,
:func:`wndcg`).

Definitions are those of the scorer of SemEval-2013 task 13 as used for the published results; all are recalls over the
gold instances. Three properties are unexpected. An instance that is the only one with its sense counts 0 in B-cubed, so
gold labels against themselves reach only 0.992. An answer without any known sense has a tau of 1 if there is one gold
sense, so one sense per instance reaches 0.94. The scorer's NDCG of a perfect answer is at most 0.75, because its ideal
lacks the "- 1" of the gain; this is ``wndcg_published``, beside ``wndcg``, which reaches 1.

References
----------
Jurgens and Klapaftis (2013), SemEval-2013 task 13: word sense induction for graded and non-graded senses, section 3.
Jurgens (2012), An evaluation of graded sense disambiguation using word sense induction. Manandhar, Klapaftis, Dligach,
Pradhan (2010), SemEval-2010 task 14: word sense induction and disambiguation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from polyadic.core.annotations import Array, Ints, Mask
from polyadic.core.errors import InputError, check_int
from polyadic.metrics.figures import BLOCK, Figure, ratio

Labels = Mapping[str, Mapping[str, float]]
FOLDS = 5  # each is mapped by what the others say
BINS = 10  # of weights, in the entropies of fuzzy NMI
DIGITS = 12  # kept of mapped weights, so that rounding breaks no ties


class LemmaScores(NamedTuple):
    """Scores of one lemma; ``v_measure`` and ``paired_f`` are NaN unless each instance has one gold sense."""

    instances: int
    answered: int
    jaccard: float
    tau: float
    wndcg: float
    wndcg_published: float
    fuzzy_nmi: float
    bcubed_precision: float
    bcubed_recall: float
    v_measure: float
    paired_f: float


@dataclass(frozen=True)
class Senses:
    """Agreement of induced senses with gold senses."""

    jaccard: float
    tau: float
    wndcg: float
    wndcg_published: float
    """Disambiguation scores: means over all instances."""
    fuzzy_nmi: float
    """Mean over lemmas."""
    fuzzy_bcubed: float
    """Harmonic mean of the mean precision and the mean recall of the lemmas."""
    v_measure: float
    paired_f: float
    """Means over lemmas; NaN if some instance has several gold senses."""
    answered: int
    total: int
    """Number of instances with an induced label, and of all instances with a gold label."""
    lemmas: dict[str, LemmaScores]
    """Scores of each lemma."""

    @property
    def coverage(self) -> float:
        """Share of the instances that have an induced label."""
        return self.answered / self.total

    def figures(self) -> list[Figure]:
        """Return all measures that are not NaN as metrics with bootstrap confidence intervals over lemmas."""
        return _figures(self.lemmas)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON; undefined values are None."""
        lemmas = {lemma: _without_nan(scores._asdict()) for lemma, scores in self.lemmas.items()}
        return _without_nan(asdict(self)) | {"coverage": self.coverage, "lemmas": lemmas}

    def __str__(self) -> str:
        measures = ", ".join(f"{figure.name.replace('_', ' ')} {figure.value:.3f}" for figure in self.figures())
        return f"{measures} ({self.answered:,} of {self.total:,} instances of {len(self.lemmas):,} lemmas answered)"


def senses(gold: Labels, induced: Labels, lemmas: Mapping[str, str], *, seed: int = 0) -> Senses:
    """Evaluate induced word senses against gold senses, lemma by lemma.

    An instance without an induced label is unanswered. It counts 0 in the disambiguation measures. For fuzzy NMI it
    belongs to no induced sense; in B-cubed and the paired F-score it shares no induced sense; for the V-measure all
    unanswered instances form one sense. A lemma without answers has 0 everywhere. Induced labels of other instances are
    ignored. InputError is raised if gold and induced labels have no instance in common, an instance has no senses or no
    lemma, or a weight is not positive and finite.

    Parameters
    ----------
    gold, induced : mapping of str to mapping of str to float
        Positive weights of the senses of each instance.
    lemmas : mapping of str to str
        Lemma of each gold instance. The same sense name in two lemmas means two senses.
    seed : int
        Seed of the folds.

    Examples
    --------
    >>> gold = {f"line.{i}": {"cord" if i % 2 else "text": 1.0} for i in range(20)}
    >>> induced = {f"line.{i}": {f"sense {i % 2}": 1.0} for i in range(19)}
    >>> found = senses(gold, induced, dict.fromkeys(gold, "line"))
    >>> round(found.jaccard, 2), found.coverage
    (0.95, 0.95)
    """
    check_int("seed", seed, low=0)
    gold = {name: _normalised("gold", name, label) for name, label in gold.items()}
    induced = {name: _normalised("induced", name, label) for name, label in induced.items() if name in gold}
    if not induced:
        raise InputError(
            f"none of the {len(gold):,} instances with gold senses has an induced sense; the names of the instances"
            " must match"
        )
    parts = {lemma: (_matrix(gold, ids), _matrix(induced, ids)) for lemma, ids in _by_lemma(gold, lemmas).items()}
    scores = {lemma: _lemma_scores(*part, seed) for lemma, part in parts.items()}
    values = {"v_measure": math.nan, "paired_f": math.nan} | {f.name: f.value for f in _figures(scores)}
    return Senses(**values, answered=len(induced), total=len(gold), lemmas=scores)


def harmonic_mean(rows: Array, times: Ints) -> Array:
    """Compute the harmonic mean of the means of two columns in each bootstrap sample."""
    means = times @ rows / times.sum(axis=1, keepdims=True)
    total = means.sum(axis=1)
    return np.asarray(2 * means.prod(axis=1) / np.where(total > 0, total, 1))


def remap(gold: Array, induced: Array, fold: Ints) -> Array:
    r"""Map the induced senses of each fold to gold senses with a mapping learned on the other folds.

    .. math:: R_i = \sum_t T_{it} M_t, \qquad M_{tg} = \frac{\sum_j T_{jt} G_{jg}}{\sum_{jg'} T_{jt} G_{jg'}}

    with :math:`j` in other folds than :math:`i`; senses not seen there are mapped to nothing (Jurgens 2012). ``fold``
    is the fold of each instance, from 0.
    """
    mapped = np.zeros_like(gold)
    for k in range(int(fold.max()) + 1):
        joint = induced[fold != k].T @ gold[fold != k]
        total = joint.sum(axis=1, keepdims=True)
        mapped[fold == k] = induced[fold == k] @ np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
    return mapped.round(DIGITS)


def jaccard(gold: Array, answer: Array) -> Array:
    """Compute the Jaccard index between the sets of gold and predicted senses of each instance."""
    ours, theirs = gold > 0, answer > 0
    return np.asarray((ours & theirs).sum(axis=1) / (ours | theirs).sum(axis=1))


def tau(gold: Array, answer: Array) -> Array:
    r"""Compute a similarity based on positionally weighted Kendall's tau for each instance.

    .. math:: 1 - \frac{K(\sigma)}{\max K}, \quad
              K(\sigma) = \sum_{i < j,\ \sigma_i > \sigma_j} \bar p_i \bar p_j, \quad
              \bar p_i = \frac{p_i - p_{\sigma_i}}{i - \sigma_i}, \quad
              p_i = 1 + \sum_{k < i} \Big(1 - \frac{k - 1}{s}\Big)

    The :math:`i`-th gold sense or answer of an instance is :math:`\sigma_i`-th in the answer; if these are equal,
    :math:`\bar p_i = 1`. The lemma has :math:`s` senses, and a swap costs more at the top. Senses of equal weight are
    ranked by column, later ones first, on both sides; a single sense gives 1.
    """
    pairs, which = np.unique(np.hstack([gold, answer]), axis=0, return_inverse=True)
    different = np.array([_tau(*np.split(pair, 2)) for pair in pairs])
    return np.asarray(different[which.ravel()])


def wndcg(gold: Array, answer: Array, *, published: bool = False) -> Array:
    r"""Compute the weighted normalized discounted cumulative gain for each instance.

    .. math:: \frac{1}{Z} \sum_k \frac{\min(g_k, a_k)}{\max(g_k, a_k)}\, \frac{2^{1 + g_k} - 1}{\log_2(1 + k)}, \qquad
              Z = \sum_k \frac{2^{1 + g_{(k)}} - 1}{\log_2(1 + k)}

    with the gold weight :math:`g_k` of the sense ranked :math:`k`-th by the weights :math:`a` of the answer, ties in
    order of column, and the :math:`k`-th largest gold weight :math:`g_{(k)}`. If ``published``, :math:`Z` lacks its "-
    1", as in the scorer of the shared task.
    """
    discount = 1 / np.log2(2 + np.arange(gold.shape[1]))
    by_answer = np.argsort(-answer, axis=1, kind="stable")
    largest = np.maximum(gold, answer)
    likeness = np.divide(np.minimum(gold, answer), largest, out=np.zeros_like(gold), where=largest > 0)
    gain = likeness * (2 ** (1 + gold) - 1)
    best = -np.sort(-gold, axis=1)
    ideal = np.where(best > 0, 2 ** (1 + best) - (not published), 0)
    return np.asarray(np.take_along_axis(gain, by_answer, axis=1) @ discount / (ideal @ discount))


def fuzzy_nmi(gold: Array, induced: Array) -> float:
    r"""Compute the normalized mutual information of overlapping clusters with graded membership.

    .. math:: \frac{H(G) - H(G \mid T) + H(T) - H(T \mid G)}{2 \max(H(G), H(T))}, \qquad
              H(G) = \sum_g H(g), \quad H(G \mid T) = \sum_g \min_t H(g \mid t)

    The entropy of a sense is that of its weights over the instances, in ten bins of which the lowest contains 0. The
    minimum excludes those :math:`t` that are closer to the complement of :math:`g` (eq. B.14), and is :math:`H(g)` if
    none remain. Two clusterings of one cluster each have the value 1.

    Examples
    --------
    >>> gold = np.array([[1.0, 0.0], [1.0, 0.2], [0.0, 1.0], [0.0, 1.0]])
    >>> fuzzy_nmi(gold, gold[:, ::-1]), fuzzy_nmi(gold, np.ones((4, 1)))
    (1.0, 0.0)
    """
    n, step = len(gold), max(1, BLOCK // (BINS * max(len(gold), BINS * gold.shape[1])))
    bins = _in_bins(gold)
    of_gold = _entropy(bins.mean(axis=0).reshape(-1, BINS))
    given_induced, of_induced, given_gold = of_gold, 0.0, 0.0
    for start in range(0, induced.shape[1], step):
        some = induced[:, start : start + step]
        there = _in_bins(some)
        entropy = _entropy(there.mean(axis=0).reshape(-1, BINS))
        joint = (bins.T @ there / n).reshape(gold.shape[1], BINS, -1, BINS).swapaxes(1, 2)
        both = _entropy(joint.reshape(*joint.shape[:2], -1))
        both = np.where(_complements(gold > 0, some > 0), np.inf, both)
        given_induced = np.minimum(given_induced, (both - entropy).min(axis=1))
        given_gold += np.minimum(entropy, (both - of_gold[:, None]).min(axis=0)).sum()
        of_induced += entropy.sum()
    largest = max(of_gold.sum(), of_induced)
    shared = of_gold.sum() - given_induced.sum() + of_induced - given_gold
    return float(shared / (2 * largest)) if largest > 0 else 1.0


def fuzzy_bcubed(gold: Array, induced: Array) -> tuple[float, float]:
    r"""Compute B-cubed precision and recall of overlapping clusters with graded membership.

    .. math:: R = \frac1n \sum_i \operatorname*{mean}_{j \ne i,\ g_{ij} > 0} \frac{\min(g_{ij}, t_{ij})}{g_{ij}}, \quad
              P = \frac1n \sum_i \operatorname*{mean}_{j \ne i,\ t_{ij} > 0} \frac{\min(g_{ij}, t_{ij})}{t_{ij}}, \quad
              g_{ij} = \sum_{k:\ G_{ik} G_{jk} > 0} 1 - |G_{ik} - G_{jk}|

    and :math:`t_{ij}` likewise. An empty mean is 0.
    """
    n, step, sums = len(gold), max(1, BLOCK // len(gold)), np.zeros(2)
    for start in range(0, n, step):
        agree = np.stack([_agreement(weights, start, min(start + step, n)) for weights in (induced, gold)])
        shares = np.divide(agree.min(axis=0), agree, out=np.zeros_like(agree), where=agree > 0)
        sums += (shares.sum(axis=2) / np.maximum((agree > 0).sum(axis=2), 1)).sum(axis=1)
    precision, recall = sums / n
    return float(precision), float(recall)


def paired_f(gold: Array, induced: Array) -> float:
    """Compute the F-score of pairs of instances with the same induced sense against pairs with the same gold sense.

    Instances without an induced sense share none; on ties the first of the heaviest senses counts. The value is 1 if
    neither side has pairs.
    """
    first, second, there = gold.argmax(axis=1), induced.argmax(axis=1), induced.any(axis=1)
    table = np.unique(np.stack([first, second])[:, there], axis=1, return_counts=True)[1]
    sizes = (table, np.bincount(first), np.bincount(second[there]))
    both, ours, theirs = (int((size * (size - 1)).sum()) for size in sizes)
    return 2 * both / (ours + theirs) if ours + theirs else 1.0


def _normalised(side: str, name: str, label: Mapping[str, Any]) -> dict[str, float]:
    weights = [float(weight) if isinstance(weight, Real) else math.nan for weight in label.values()]
    if not weights or not all(0 < weight < math.inf for weight in weights):
        raise InputError(
            f"the {side} senses of the instance {name!r} must have positive, finite weights; got {dict(label)}"
        )
    return dict(zip(label, np.divide(weights, max(weights)).tolist(), strict=True))


def _by_lemma(names: Iterable[str], lemmas: Mapping[str, str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in sorted(names):  # a fixed order: folds must not depend on the one that came
        if name not in lemmas:
            raise InputError(f"lemmas must contain the lemma of every instance; {name!r} is missing", "lemmas")
        groups.setdefault(lemmas[name], []).append(name)
    return dict(sorted(groups.items()))


def _matrix(labels: Labels, names: list[str]) -> Array:
    columns = {sense: k for k, sense in enumerate(sorted({sense for name in names for sense in labels.get(name, ())}))}
    weights = np.zeros((len(names), len(columns)))
    for row, name in enumerate(names):
        for sense, weight in labels.get(name, {}).items():
            weights[row, columns[sense]] = weight
    return weights


def _lemma_scores(gold: Array, induced: Array, seed: int) -> LemmaScores:
    from sklearn.metrics import v_measure_score

    n, answered = len(gold), induced.any(axis=1)
    hard = bool(((gold > 0).sum(axis=1) == 1).all())
    if not answered.any():
        zero = 0.0 if hard else math.nan
        return LemmaScores(n, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, zero, zero)
    answer = remap(gold, induced, np.random.default_rng(seed).permutation(n) % FOLDS)
    by_instance = (jaccard(gold, answer), tau(gold, answer), wndcg(gold, answer), wndcg(gold, answer, published=True))
    means = [float(values[answered].sum() / n) for values in by_instance]
    clusters = np.where(answered, induced.argmax(axis=1), -1)
    v_measure = float(v_measure_score(gold.argmax(axis=1), clusters))
    pairs = [v_measure, paired_f(gold, induced)] if hard else [math.nan] * 2
    scores = [*means, fuzzy_nmi(gold, induced), *fuzzy_bcubed(gold, induced), *pairs]
    return LemmaScores._make([n, int(answered.sum()), *scores])


def _figures(lemmas: Mapping[str, LemmaScores]) -> list[Figure]:
    of = dict(zip(LemmaScores._fields, np.array(list(lemmas.values())).T, strict=True))
    size, ones = of["instances"], np.ones(len(lemmas))
    rows = {name: (of[name] * size, size) for name in ("jaccard", "tau", "wndcg", "wndcg_published")}
    rows |= {"fuzzy_nmi": (of["fuzzy_nmi"], ones), "fuzzy_bcubed": (of["bcubed_precision"], of["bcubed_recall"])}
    rows |= {name: (of[name], ones) for name in ("v_measure", "paired_f") if not np.isnan(of[name]).any()}
    total, means = int(size.sum()), {"fuzzy_bcubed": harmonic_mean}  # unanswered ones count too
    return [Figure(name, np.stack(pair, 1), total, total, means.get(name, ratio)) for name, pair in rows.items()]


def _without_nan(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in fields.items()}


def _tau(gold: Array, answer: Array) -> float:
    senses = np.flatnonzero((gold > 0) | (answer > 0))[::-1]
    n = len(senses)
    if n == 1:
        return 1.0
    place = np.arange(n)
    by_gold, by_answer = (senses[np.argsort(-weights[senses], kind="stable")] for weights in (gold, answer))
    penalty = np.concatenate([[1.0], 1 + np.cumsum(1 - place[:-1] / len(gold))])

    def distance(other: Ints) -> float:
        moved = place - other
        mean = np.divide(penalty - penalty[other], moved, out=np.ones(n), where=moved != 0)
        swapped = np.triu(other[:, None] > other, 1)
        return float(mean @ swapped @ mean)

    ranks = np.empty(len(gold), np.int64)
    ranks[by_answer] = place
    return 1 - distance(ranks[by_gold]) / distance(place[::-1])


def _in_bins(weights: Array) -> Array:
    """Return a one-hot encoding of the weight bin of each sense; bin bounds belong to the lower bin."""
    bounds = np.arange(1, BINS) / BINS
    return np.asarray(np.eye(BINS)[np.searchsorted(bounds, weights)].reshape(len(weights), -1))


def _entropy(shares: Array) -> Array:
    return np.asarray(-(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=-1))


def _complements(ours: Mask, theirs: Mask) -> Mask:
    a, b = (side.astype(np.float64) for side in (ours, theirs))
    both, a_only, b_only, none = (x.T @ y / len(a) for x, y in ((a, b), (a, 1 - b), (1 - a, b), (1 - a, 1 - b)))
    return np.asarray(_entropy(np.stack([both, none], -1)) < _entropy(np.stack([a_only, b_only], -1)))


def _agreement(weights: Array, start: int, stop: int) -> Array:
    """Return the pairwise agreement of a range of instances with all instances, with 0 on the diagonal."""
    agree = np.zeros((stop - start, len(weights)))
    for column in weights.T:
        rows = np.flatnonzero(column)
        some = rows[slice(*np.searchsorted(rows, [start, stop]))]
        agree[np.ix_(some - start, rows)] += 1 - np.abs(column[some, None] - column[rows])
    agree[np.arange(stop - start), np.arange(start, stop)] = 0
    return agree
