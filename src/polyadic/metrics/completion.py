r"""Held-out completion: choosing the word that completes a tuple which did not occur in training.

A case has the given words, the answer, which completes them in held-out text, and a wrong word. A model scores both
words; the measure is the share of the cases in which the answer has the higher score (ties count half), which is the
area under the ROC curve for such pairs, 1/2 by chance. A model of tuples scores the joint association, a model of pairs
only the association of the answer with each given word:

.. math:: \text{product: } \sum_r w_r \prod_d u^{(d)}_r \qquad
          \text{sum: } \sum_d u^{(d)} \cdot w \qquad \text{cosines: } \sum_d \cos(u^{(d)}, w)

References
----------
Bailey, Aeron (2017), Word embeddings via tensor factorization, section 6.4.1, for the product. arXiv:1704.02686
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.annotations import Array, Ints
from polyadic.core.errors import InputError
from polyadic.metrics.figures import Figure, rank_correlation

if TYPE_CHECKING:
    from polyadic.embedding import Embedding

RULES = ("product", "sum", "cosines")
BLOCK = 1 << 14  # number of cases scored at a time


class Gap(NamedTuple):
    """Completion test case: given words, correct answer, two wrong answers, and the association of the true tuple.

    ``wrong`` is any word, drawn by frequency. ``matched`` occurred with each of the given words in training, like the
    answer, and has a similar frequency, so that pairs alone are not informative.
    """

    given: tuple[str, ...]
    answer: str
    wrong: str
    matched: str
    association: float


@dataclass(frozen=True, eq=False)
class Completion:
    """Accuracy of completing held-out tuples."""

    auc: dict[str, float]
    matched: dict[str, float]
    correlation: dict[str, float]
    """Scores by rule: answers against wrong words, answers against matched words, and the Spearman correlation of the
    score of the answer with the association in the held-out text; NaN if either is constant."""
    best: str
    """The rule with the highest ``auc`` on the cases with even index (of those known, from 0); the first one on
    ties."""
    used: int
    total: int
    """Number of cases whose words are all known, and of all cases."""
    scores: dict[str, Array]
    """Scores of the answer, the wrong and the matched word, by rule; shape (used, 3)."""
    associations: Array
    """Associations of the known cases; shape (used,)."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON, without the scores of each case; undefined values are None."""
        values = {name: getattr(self, name) for name in ("auc", "matched", "best", "used", "total")}
        return values | {"correlation": {rule: None if math.isnan(x) else x for rule, x in self.correlation.items()}}

    def figures(self, prefix: str = "completion") -> list[Figure]:
        """Return the metrics of the selected scoring rule on the cases that were not used to select the rule."""
        scores, odd = self.scores[self.best], slice(1, None, 2)
        used, total = len(scores[odd]), self.total // 2
        ranked = np.stack([scores[odd, 0], self.associations[odd]], axis=1)
        return [
            Figure(f"{prefix} AUC", _wins(scores[odd, :2]), used, total, chance=0.5),
            Figure(f"{prefix} AUC, matched", _wins(scores[odd, ::2]), used, total, chance=0.5),
            Figure(f"{prefix} correlation", ranked, used, total, statistic=rank_correlation, chance=0.0),
        ]

    def __str__(self) -> str:
        rules = "; ".join(f"{rule} {self.auc[rule]:.3f}, matched {self.matched[rule]:.3f}" for rule in RULES)
        return f"completion AUC by {rules} ({self.used:,} of {self.total:,} cases known)"


def completion(embedding: Embedding, gaps: Iterable[Gap]) -> Completion:
    """Evaluate how often the correct answer has a higher score than a wrong answer, for each scoring rule.

    Cases with an unknown word are left out; all must have the same number of given words, at least one. InputError is
    raised if the cases have different numbers of given words, or none, an association is not finite, or fewer than two
    cases are known.

    Examples
    --------
    >>> from polyadic.embedding import Embedding
    >>> words = Embedding(["pearl", "jam", "band", "ship"], [[1, 1], [1, 0], [1, 0], [0, 1]])
    >>> gaps = [Gap(("pearl", "jam"), "band", "ship", "ship", 2.0)] * 2
    >>> completion(words, gaps).auc
    {'product': 1.0, 'sum': 1.0, 'cosines': 1.0}
    """
    cases = list(gaps)
    if len({len(case.given) for case in cases}) > 1 or not all(case.given for case in cases):
        raise InputError("all cases must have the same number of given words, at least 1")
    if not all(math.isfinite(case.association) for case in cases):
        raise InputError("the association of every case must be a finite number")
    places = [[embedding.find(w) for w in (*case.given, case.answer, case.wrong, case.matched)] for case in cases]
    known = [k for k, words in enumerate(places) if None not in words]
    if len(known) < 2:
        raise InputError(
            f"at least 2 cases must have all their words in the vocabulary of {len(embedding):,} words; got"
            f" {len(known)} of {len(cases):,}"
        )
    rows = np.array([places[k] for k in known])
    blocks = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
    scores = {rule: np.concatenate([_scores(embedding, block, rule) for block in blocks]) for rule in RULES}
    associations = np.array([cases[k].association for k in known])
    auc, matched = (
        {rule: float(_wins(scores[rule][:, columns])[:, 0].mean()) for rule in RULES} for columns in ([0, 1], [0, 2])
    )
    once = np.ones((1, len(known)), np.int64)
    correlation = {
        rule: float(rank_correlation(np.stack([scores[rule][:, 0], associations], axis=1), once)[0]) for rule in RULES
    }
    best = max(RULES, key=lambda rule: _wins(scores[rule][::2, [0, 1]])[:, 0].mean())
    return Completion(auc, matched, correlation, best, len(known), len(cases), scores, associations)


def _scores(embedding: Embedding, rows: Ints, rule: str) -> Array:
    """Return the scores of the correct answer and of both wrong answers of each test case."""
    embedding = embedding.components if rule == "product" else embedding
    vectors = embedding.unit if rule == "cosines" else embedding.vectors
    given = vectors[rows[:, :-3]].astype(np.float64)
    context = given.prod(axis=1) if rule == "product" else given.sum(axis=1)
    return np.stack([np.einsum("nr,nr->n", context, vectors[rows[:, -3 + k]]) for k in range(3)], axis=1)


def _wins(scores: Array) -> Array:
    """Return 1 for each row whose first score is higher than the last, 1/2 for ties, and a second column of ones."""
    first, second = scores[:, 0], scores[:, -1]
    return np.stack([(first > second) + 0.5 * (first == second), np.ones(len(scores))], axis=1)
