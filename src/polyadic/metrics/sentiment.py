"""Sentiment classification of reviews with a linear classifier on sums of word vectors.

If few labelled reviews suffice, the vectors encode sentiment; hence the accuracy is measured for several shares of the
training part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.annotations import Array, Ints, Mask
from polyadic.core.errors import InputError, check_int
from polyadic.core.progress import bar
from polyadic.metrics.figures import Figure

if TYPE_CHECKING:
    from polyadic.embedding import Embedding

SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)  # shares of the training part, as in the paper

MAX_ITER = 10_000  # five hundred were needed at most; the 100 of scikit-learn stop before the optimum


class Review(NamedTuple):
    """Text of a review, and whether it is positive."""

    text: str
    positive: bool
    name: str = ""


@dataclass(frozen=True, eq=False)
class Sentiment:
    """Accuracy of sentiment classification on unseen reviews."""

    coverage: float
    """Share of all tokens that are known."""
    unknown: int
    """Number of reviews without any known word; they are kept, as vectors of zeros."""
    positive: float
    """Share of the reviews that are positive."""
    trained: dict[float, int]
    """Number of training reviews, by share of the training part."""
    reviews: list[Review] = field(repr=False)
    """The reviews, in the order of the columns of the arrays below."""
    tested: Mask = field(repr=False)
    """Whether each review was in the test part of each run; shape (runs, reviews)."""
    right: dict[float, Mask] = field(repr=False)
    """Whether it was classified correctly, by share; shape (runs, reviews)."""

    @property
    def accuracy(self) -> dict[float, float]:
        """Accuracy over all runs for each share of the training set."""
        return {share: float(right.sum() / self.tested.sum()) for share, right in self.right.items()}

    @property
    def per_run(self) -> dict[float, list[float]]:
        """Accuracy of each run for each share of the training set."""
        tests = self.tested.sum(axis=1)
        return {share: (right.sum(axis=1) / tests).tolist() for share, right in self.right.items()}

    def as_dict(self) -> dict[str, Any]:
        """Return the results as a dictionary for JSON, in which the keys are strings."""
        return {
            "accuracy": {str(share): value for share, value in self.accuracy.items()},
            "per_run": {str(share): values for share, values in self.per_run.items()},
            "trained": {str(share): size for share, size in self.trained.items()},
            "coverage": self.coverage,
            "unknown": self.unknown,
            "positive": self.positive,
            "reviews": len(self.reviews),
            "tested": int(self.tested[0].sum()),
            "runs": len(self.tested),
        }

    def __str__(self) -> str:
        shares = ", ".join(f"{value:.3f} at {share:.0%}" for share, value in self.accuracy.items())
        return f"accuracy {shares} ({len(self.reviews):,} reviews, {self.coverage:.0%} of the tokens known)"

    def figures(self, prefix: str) -> list[Figure]:
        """Return the accuracy at each training share as metrics with bootstrap confidence intervals over test reviews.

        A unit has the number of times a review was classified correctly, and tested. All models are tested on the same
        reviews whatever their vocabulary, so they can be compared.
        """
        times = self.tested.sum(axis=0)
        some = times > 0
        return [
            Figure(
                f"{prefix} accuracy at {share:.0%}",
                np.column_stack([right.sum(axis=0), times])[some].astype(float),
                used=int(some.sum()),
                total=len(self.reviews),
                chance=max(self.positive, 1 - self.positive),
            )
            for share, right in self.right.items()
        ]


def sentiment(
    embedding: Embedding,
    reviews: Iterable[Review],
    *,
    shares: Iterable[float] = SHARES,
    test: float = 0.15,
    runs: int = 5,
    seed: int = 0,
) -> Sentiment:
    r"""Classify reviews by logistic regression on sums of unit vectors.

    .. math:: x = \sum_w n_w \frac{u_w}{\|u_w\|}, \qquad P(\text{positive}) = \sigma(v \cdot x + b)

    where word :math:`w` occurs :math:`n_w` times in the text split at white space. Words are in lower case if the whole
    vocabulary is; unknown words are left out. The regression is scikit-learn's with default settings (L2 penalty, C =
    1), run to convergence. Each run draws a test part; the rest is the training part, of which the first reviews are
    used. The splits depend only on the seed and the set of reviews: these are first sorted by name (then by label and
    text). InputError is raised if no review has a known word, a share is out of range, or a training part has reviews
    of only one class.

    Parameters
    ----------
    embedding : Embedding
        Word vectors; their policy for unknown words is ignored.
    reviews : iterable of Review
        Labelled reviews, for instance :func:`~polyadic.datasets.polarity`.
    shares : iterable of float
        Shares of the training part to learn from, in (0, 1].
    test : float
        Share of the reviews in the test part, in (0, 1).
    runs : int
        Number of random splits.
    seed : int
        Seed of the splits.

    References
    ----------
    Bailey and Aeron (2017), Word embeddings via tensor factorization, section 6.2.2. arXiv:1704.02686. Pang and Lee
    (2004), A sentimental education (the reviews).

    Examples
    --------
    >>> from polyadic.embedding import Embedding
    >>> words = Embedding(["good", "bad", "film"], [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    >>> reviews = [Review(f"a {w} film", w == "good", f"{w} {n}") for w in ("good", "bad") for n in range(9)]
    >>> print(sentiment(words, reviews, shares=[1.0]))
    accuracy 1.000 at 100% (18 reviews, 67% of the tokens known)
    """
    from sklearn.linear_model import LogisticRegression

    shares, test = check_shares(shares), check_test(test)
    check_int("runs", runs, low=1)
    check_int("seed", seed, low=0)
    every = sorted((Review(*review) for review in reviews), key=lambda each: (each.name, each.positive, each.text))
    truth = np.array([review.positive for review in every], dtype=bool)
    divisions = [_divide(truth, test, shares, np.random.default_rng([seed, run])) for run in range(runs)]
    documents, known, tokens = document_vectors(embedding, [review.text for review in every])
    if not known.any():
        raise InputError(f"none of the {len(every):,} reviews contains a word with a vector")
    tested = np.zeros((runs, len(every)), dtype=bool)
    right = {share: np.zeros_like(tested) for share in shares}
    with bar("sentiment", total=runs * len(shares)) as advance:
        for run, (training, testing) in enumerate(divisions):
            tested[run, testing] = True
            for share in shares:
                part = first(training, share)
                model = LogisticRegression(max_iter=MAX_ITER).fit(documents[part], truth[part])
                right[share][run, testing] = model.predict(documents[testing]) == truth[testing]
                advance()
    return Sentiment(
        coverage=float(known.sum() / tokens.sum()),
        unknown=int((known == 0).sum()),
        positive=float(truth.mean()),
        trained={share: len(first(divisions[0][0], share)) for share in shares},
        reviews=every,
        tested=tested,
        right=right,
    )


def document_vectors(embedding: Embedding, texts: Iterable[str]) -> tuple[Array, Ints, Ints]:
    """Sum the unit vectors of the known words in each text; texts are split at white space.

    Returns the sums, (n, R), in which repeated words count repeatedly, and the numbers of known words and of all words
    of each text, (n,).

    Examples
    --------
    >>> from polyadic.embedding import Embedding
    >>> vectors, known, tokens = document_vectors(Embedding(["so", "it"], [[3.0, 4.0], [0.0, 2.0]]), ["So so , it"])
    >>> vectors.round(6).tolist(), known.tolist(), tokens.tolist()
    ([[1.2, 2.6]], [3], [4])
    """
    counts = [Counter(text.split()) for text in texts]
    vectors = np.zeros((len(counts), embedding.rank))
    known = np.zeros(len(counts), np.int64)
    for at, words in enumerate(counts):
        pairs = [(row, times) for word, times in words.items() if (row := embedding.find(word)) is not None]
        if pairs:
            rows, times = np.array(pairs).T
            vectors[at] = times @ embedding.unit[rows].astype(np.float64)
            known[at] = times.sum()
    return vectors, known, np.array([words.total() for words in counts], dtype=np.int64)


def check_shares(shares: Iterable[float]) -> tuple[float, ...]:
    """Validate shares of the training set and return the distinct shares in ascending order."""
    given = list(shares)
    for share in given:
        if not 0 < share <= 1:
            raise InputError(f"shares of the training set must be above 0 and at most 1; got {share!r}")
    if not given:
        raise InputError("shares must contain at least one share of the training set; got none", "shares")
    return tuple(sorted(set(map(float, given))))


def check_test(test: float) -> float:
    """Return the share of the test set as a float; raise InputError unless it is between 0 and 1."""
    if not 0 < test < 1:
        raise InputError(f"test must be a share between 0 and 1; got {test!r}", "test")
    return float(test)


def first(training: Ints, share: float) -> Ints:
    """Return the first items of a training set, up to the given share, but at least one item."""
    return training[: max(1, round(share * len(training)))]


def _divide(truth: Mask, test: float, shares: tuple[float, ...], rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Split the reviews at random into a training set in random order and a test set."""
    order = rng.permutation(len(truth))
    size = round(test * len(truth))
    training, testing = order[size:], order[:size]
    if not len(testing) or not len(training):
        raise InputError(
            f"a test share of {test:g} of {len(truth):,} reviews leaves no reviews for testing or for training; use"
            " more reviews"
        )
    for share in shares:
        part = truth[first(training, share)]
        if part.all() or not part.any():
            raise InputError(
                f"the first {len(part):,} training reviews (a share of {share:g}) are all of the same class; use more"
                " reviews of the other class, or larger shares"
            )
    return training, testing
