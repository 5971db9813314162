"""Settings chosen on training data alone: each candidate is trained on one part of it and scored on the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from polyadic.metrics.figures import correlation
from polyadic.sentences.pairs import ScoreRegression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    Splits = Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]
    Score = Callable[[NDArray[Any], NDArray[Any]], float]

DENSE = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1)
"""Strengths of the penalty to choose from (C), of standardised vectors."""
FEW = (0.0003, 0.003, 0.03)
"""Of those for the regression of scores, which takes six times as long."""
SPARSE = (0.03, 0.1, 0.3, 1.0, 3.0)
"""Of naive Bayes features."""
SHARES = (0.03, 0.1, 0.3)
"""How large the columns of vectors are beside other features, to choose from."""
SVM = (0.003, 0.01, 0.03, 0.1)


class Rule(NamedTuple):
    """Model selection: estimators, their strengths C, and the score.

    ``scaled`` says whether columns are standardised first.
    """

    estimator: Callable[[float], Any]
    strengths: tuple[float, ...]
    score: Score
    scaled: bool = True

    def make(self, C: float) -> Any:
        """Return the estimator of a strength."""
        made = self.estimator(C)
        return make_pipeline(StandardScaler(), made) if self.scaled else made


class Choice(NamedTuple):
    """The selected candidate.

    ``settings``: With ``"C"``. ``score``: On held out parts of the training data. ``candidate``: What the settings
    belong to.
    """

    settings: dict[str, Any]
    score: float
    candidate: Any


def pearson(y: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Return the correlation; 0 where one side is constant."""
    rows = np.stack([y, predicted], axis=1)
    return float(np.nan_to_num(correlation(rows, np.ones((1, len(rows)), np.int64))[0]))


def logistic(C: float) -> Any:
    """Logistic regression of dense columns."""
    return LogisticRegression(C=C, max_iter=2000)


def sparse_logistic(C: float) -> Any:
    """Logistic regression of sparse features as they are."""
    return LogisticRegression(C=C, solver="liblinear", max_iter=2000)


def svm(C: float) -> Any:
    """Linear support vector machine of sparse features."""
    return LinearSVC(C=C, max_iter=5000)


def scores(C: float) -> Any:
    """Ordinal regression of scores from 0 to 5."""
    return ScoreRegression(low=0, high=5, C=C, max_iter=200, tol=1e-3)


CLASSES = Rule(logistic, DENSE, accuracy_score)
BAYES = Rule(sparse_logistic, SPARSE, accuracy_score, scaled=False)
BAYES_SVM = Rule(svm, SVM, accuracy_score, scaled=False)
SCORES = Rule(scores, FEW, pearson)


def choose(
    candidates: Iterable[tuple[dict[str, Any], Any]],
    features: Callable[[Any], Any],
    y: NDArray[Any],
    rule: Rule,
    splits: Splits,
) -> Choice:
    """Return the settings and the strength with the best held-out score.

    ``candidates``: Such as a function from sentences to vectors. ``features``: Gives the features of all training data
    that a candidate makes, of shape (cases, features).
    """
    best = None
    for settings, candidate in candidates:
        X = features(candidate)
        for C in rule.strengths:
            fold_scores = [rule.score(y[b], rule.make(C).fit(X[a], y[a]).predict(X[b])) for a, b in splits]
            score = float(np.mean(fold_scores))
            if best is None or score > best.score:
                best = Choice({**settings, "C": C}, score, candidate)
    assert best is not None, "candidates are never none"
    return best
