r"""Detection of multiword names: sequences of adjacent words are ranked by predicted association.

Bailey and Aeron (2017), section 6.5, suggest the n-way association predicted by a model as a feature for named entity
recognition. Here the candidates are runs of adjacent words; those that are titles of articles are names. Candidates are
ranked by the predicted association of their words, of all words jointly or of pairs,

.. math:: \text{product: } \sum_r \prod_d u^{(d)}_r \qquad \text{sum: } \sum_{d < e} u^{(d)} \cdot u^{(e)}
          \qquad \text{cosines: } \sum_{d < e} \cos(u^{(d)}, u^{(e)})

and the measure is the area under the ROC curve, 1/2 by chance.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.annotations import Array, Ints
from polyadic.core.errors import InputError
from polyadic.metrics.completion import RULES
from polyadic.metrics.figures import Figure

if TYPE_CHECKING:
    from polyadic.embedding import Embedding

BLOCK = 1 << 14  # number of runs scored at a time


class Candidate(NamedTuple):
    """Candidate for a multiword name: a sequence of adjacent words, and whether it is a name."""

    words: tuple[str, ...]
    name: bool


@dataclass(frozen=True, eq=False)
class Multiwords:
    """Area under the ROC curve for ranking multiword names above other word sequences."""

    auc: dict[str, float]
    """Area under the ROC curve, by scoring rule."""
    best: str
    """The rule with the highest area on the names with even index (of those known, from 0); the first one on ties."""
    names: int
    used: int
    total: int
    """Number of names with known words, of candidates with known words, and of all candidates."""
    shares: dict[str, Array]
    """Share of the other runs that are ranked below each name, by rule; shape (names,)."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON, without the shares of each name."""
        return {key: getattr(self, key) for key in ("auc", "best", "names", "used", "total")}

    def figures(self, prefix: str = "names") -> list[Figure]:
        """Return the AUC of the selected scoring rule on the names that were not used to select the rule.

        The resampling units are the names; the other runs, which are far more numerous, are fixed.
        """
        shares = self.shares[self.best][1::2]
        rows = np.stack([shares, np.ones(len(shares))], axis=1)
        return [Figure(f"{prefix} AUC", rows, self.used - self.names + len(shares), self.total, chance=0.5)]

    def __str__(self) -> str:
        rules = ", ".join(f"{rule} {self.auc[rule]:.3f}" for rule in RULES)
        return f"AUC of {self.names:,} names among {self.used:,} runs of words, by {rules}"


def multiwords(embedding: Embedding, candidates: Iterable[Candidate]) -> Multiwords:
    """Rank sequences of adjacent words by the association predicted from word vectors, to detect names.

    Runs with an unknown word are left out; all must have the same length of at least 2. InputError is raised if the
    runs have different lengths, or there are fewer than two names or no other run with known words.

    Examples
    --------
    >>> from polyadic.embedding import Embedding
    >>> words = Embedding(["new", "york", "old", "hat"], [[1, 1], [1, 1], [1, 0], [0, 1]])
    >>> runs = [Candidate(("new", "york"), True), Candidate(("york", "new"), True), Candidate(("old", "hat"), False)]
    >>> multiwords(words, runs).auc["sum"]
    1.0
    """
    every = list(candidates)
    if len({len(c.words) for c in every}) > 1 or (every and len(every[0].words) < 2):
        raise InputError("all candidates must have the same number of words, at least 2")
    parts = [([embedding.find(word) for word in c.words], c.name) for c in every]
    known = [(rows, name) for rows, name in parts if None not in rows]
    name = np.array([name for _, name in known], bool)
    if name.sum() < 2 or name.all():
        raise InputError(
            "ranking requires at least two names and one other candidate with all words in the vocabulary of"
            f" {len(embedding):,} words; got {int(name.sum())} names and {int((~name).sum())} other candidates"
        )
    rows = np.array([rows for rows, _ in known])
    blocks = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
    shares = {}
    for rule in RULES:
        scores = np.concatenate([_scores(embedding, block, rule) for block in blocks])
        others = np.sort(scores[~name])
        below, up_to = (np.searchsorted(others, scores[name], side) for side in ("left", "right"))
        shares[rule] = (below + up_to) / (2 * len(others))  # ties count half
    best = max(RULES, key=lambda rule: shares[rule][::2].mean())
    auc = {rule: float(shares[rule].mean()) for rule in RULES}
    return Multiwords(auc, best, int(name.sum()), len(known), len(every), shares)


def _scores(embedding: Embedding, rows: Ints, rule: str) -> Array:
    embedding = embedding.components if rule == "product" else embedding
    vectors = embedding.unit if rule == "cosines" else embedding.vectors
    words = [vectors[column].astype(np.float64) for column in rows.T]
    if rule == "product":
        return np.asarray(np.prod(words, axis=0).sum(axis=1))
    total = np.sum(words, axis=0)  # the square of a sum holds each pair twice, and the squares
    return np.asarray((np.sum(total**2, axis=1) - sum(np.sum(w**2, axis=1) for w in words)) / 2)
