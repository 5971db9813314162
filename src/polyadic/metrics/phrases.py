r"""Evaluation of how well the vector of a two-word phrase represents the combined meaning.

The sense of a phrase is known if it is the title of an article: *Pearl Jam* and *Pearl Harbor* are about different
words. A case has the words of a title, the words characteristic of its article (its *own*), and those of other articles
whose titles share a word with it. With the vector :math:`p` of the phrase, words are ranked by :math:`\cos(p, w)`:

* **selection**: the share of pairs of an own word and another article's word in which the own word is ranked first. The
  dominant sense of a word does not help here; the other word of the title must select the sense.
* **retrieval**: the same against all words of the vocabulary.

Both are areas under ROC curves, 1/2 by chance. The vector of the phrase is the product of its words' vectors, their
sum, or the sum of their unit vectors. A fourth rule needs no phrase vector: the *intersection* ranks words by the
product of their cosines with each word of the title, with negative cosines set to zero.

References
----------
Bailey, Aeron (2017), Word embeddings via tensor factorization, section 6.4.1, for the product. arXiv:1704.02686
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from polyadic.core.annotations import Array, Ints
from polyadic.core.errors import InputError
from polyadic.embedding import Embedding, unit_rows
from polyadic.metrics.figures import Figure

RULES = ("product", "sum", "cosines", "intersection")
BLOCK = 256  # number of phrases ranked at a time


class PhraseCase(NamedTuple):
    """Phrase test case: title words, words typical of the article, and words of articles with overlapping titles."""

    words: tuple[str, ...]
    own: tuple[str, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Phrases:
    """Quality of phrase vectors, measured by the selection and retrieval of related words."""

    selection: dict[str, float]
    retrieval: dict[str, float]
    """Mean area under the curve, by rule."""
    best: str
    """The rule with the highest selection on the cases with even index (of those used, from 0); the first one on
    ties."""
    used: int
    total: int
    """Number of cases whose title words, and a word of each list, are known; and of all cases."""
    areas: dict[str, Array]
    """Selection and retrieval of each case, by rule; shape (used, 2)."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON, without the areas of each case."""
        return {name: getattr(self, name) for name in ("selection", "retrieval", "best", "used", "total")}

    def figures(self, prefix: str = "phrases") -> list[Figure]:
        """Return the metrics of the selected scoring rule on the cases that were not used to select the rule."""
        areas = self.areas[self.best][1::2]
        ones = np.ones(len(areas))
        return [
            Figure(f"{prefix} {name}", np.stack([column, ones], axis=1), len(areas), self.total // 2, chance=0.5)
            for name, column in zip(("selection", "retrieval"), areas.T, strict=True)
        ]

    def __str__(self) -> str:
        rules = "; ".join(f"{r} {self.selection[r]:.3f}, retrieval {self.retrieval[r]:.3f}" for r in self.selection)
        return f"phrase selection by {rules} ({self.used:,} of {self.total:,} phrases known)"


def phrases(
    embedding: Embedding, cases: Iterable[PhraseCase], *, make: Callable[[list[tuple[str, ...]]], Any] | None = None
) -> Phrases:
    """Evaluate phrase vectors by ranking the test words of each phrase by cosine similarity.

    InputError is raised if fewer than two cases are known.

    Parameters
    ----------
    embedding : Embedding
        Word vectors; their policy for unknown words is ignored, and unknown words are left out.
    cases : iterable of PhraseCase
        Test cases.
    make : callable, optional
        Custom rule: returns the vectors of a list of titles, shape (n, R). Replaces the other rules under the name
        ``"made"``.

    Examples
    --------
    >>> from polyadic.embedding import Embedding
    >>> words = Embedding(["pearl", "jam", "harbor", "band", "ship"], [[1, 1], [1, 0], [0, 1], [1, 0], [0, 1]])
    >>> jam = PhraseCase(("pearl", "jam"), ("band",), ("ship",))
    >>> harbor = PhraseCase(("pearl", "harbor"), ("ship",), ("band",))
    >>> phrases(words, [jam, harbor]).selection
    {'product': 1.0, 'sum': 1.0, 'cosines': 1.0, 'intersection': 1.0}
    """
    every = list(cases)
    found = [[[embedding.find(word) for word in words] for words in case] for case in every]
    known = [[[row for row in rows if row is not None] for rows in case] for case in found if None not in case[0]]
    usable = [tuple(np.array(rows, np.int64) for rows in case) for case in known if all(case)]
    if len(usable) < 2:
        raise InputError(
            f"at least 2 phrases must have all their words in the vocabulary of {len(embedding):,} words; got"
            f" {len(usable)} of {len(every):,}"
        )
    if make is None:
        areas = {rule: _areas(embedding, usable, rule) for rule in RULES}
    else:
        vectors = np.asarray(make([tuple(embedding.words[row] for row in words) for words, _, _ in usable]))
        areas = {"made": _areas(embedding, usable, vectors)}
    selection, retrieval = ({rule: float(areas[rule][:, k].mean()) for rule in areas} for k in range(2))
    best = max(areas, key=lambda rule: areas[rule][::2, 0].mean())
    return Phrases(selection, retrieval, best, len(usable), len(every), areas)


Cases = list[tuple[Ints, ...]]
"""Rows of the title words, of the own words, and of the words of other articles."""


def _areas(embedding: Embedding, cases: Cases, how: str | Array) -> Array:
    """Return the areas under the ROC curves for selection and retrieval of each test case; shape (n, 2)."""
    embedding = embedding.components if isinstance(how, str) and how == "product" else embedding
    areas = []
    for start in range(0, len(cases), BLOCK):
        some = slice(start, start + BLOCK)
        block = cases[some]
        titles = [words for words, _, _ in block]
        alike = _alike(embedding, titles, how) if isinstance(how, str) else _cosines(embedding, how[some])
        for row, (words, own, others) in zip(alike, block, strict=True):
            rest = np.ones(len(row), bool)
            rest[words] = rest[own] = False
            areas.append((_area(row[own], row[others]), _area(row[own], row[rest]) if rest.any() else 0.5))
    return np.array(areas)


def _alike(embedding: Embedding, titles: list[Ints], rule: str) -> Array:
    """Return the similarity of each title to every word of the vocabulary by a composition rule; shape (titles, V)."""
    if rule == "intersection":
        unit = embedding.unit
        return np.stack([np.maximum(unit[words] @ unit.T, 0).prod(axis=0) for words in titles])
    vectors = embedding.unit if rule == "cosines" else embedding.vectors
    made = [vectors[words].astype(np.float64) for words in titles]
    return _cosines(embedding, np.stack([u.prod(axis=0) if rule == "product" else u.sum(axis=0) for u in made]))


def _cosines(embedding: Embedding, phrases: Array) -> Array:
    return np.asarray(unit_rows(phrases).astype(embedding.unit.dtype) @ embedding.unit.T)


def _area(these: Array, those: Array) -> float:
    """Return the share of pairs in which the element of the first array is larger; ties count half."""
    ranked = np.sort(those)
    below, up_to = np.searchsorted(ranked, these, "left"), np.searchsorted(ranked, these, "right")
    return float((below + up_to).mean() / (2 * len(those)))
