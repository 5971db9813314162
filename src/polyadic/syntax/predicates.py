"""Identification of predicates by logistic regression, with the most frequent sense of each lemma."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.errors import InputError
from polyadic.core.model import Model, Positive
from polyadic.syntax.arc_features import BIAS, coded, numbered
from polyadic.syntax.role_features import lemmas_of, word_features

if TYPE_CHECKING:
    from polyadic.syntax.propositions import Sentence
    from polyadic.syntax.trees import Tree


class PredicateFinder(Model):
    """Classifier that finds the predicates of a sentence.

    Parameters
    ----------
    C : float
        Inverse regularization strength of the logistic regression.

    Attributes
    ----------
    features_ : dict of str to int
        Ids of the features.
    weights_ : ndarray of shape (features,)
        Weights of the features. A word is a predicate if they sum to more than 0.
    senses_ : dict of str to str
        Most frequent sense of each lemma and part of speech; others get the lemma with ``.01``.
    """

    C: Positive = 1.0

    def fit(self, sentences: Sequence[Sentence]) -> Self:
        """Fit the classifier to sentences with annotated predicates, ignoring sentences without annotation.

        InputError is raised if no word, or every word, is a predicate.
        """
        from sklearn.linear_model import LogisticRegression

        self.check()
        corpus = [sentence for sentence in sentences if sentence.annotated]
        rows = [row for sentence in corpus for row in word_features(sentence.tree)]
        places = [{proposition.place for proposition in sentence.propositions} for sentence in corpus]
        pairs = zip(corpus, places, strict=True)
        wanted = np.array([at in here for sentence, here in pairs for at in range(1, len(sentence) + 1)])
        if not wanted.any() or wanted.all():
            raise InputError("the training sentences must contain both predicates and words that are not predicates")
        known = numbered(Counter(feature for row in rows for feature in row if feature), min_count=2)
        table = coded(rows, known)
        line, column = np.nonzero(table >= 0)
        X = csr_array((np.ones(len(line), np.float32), (line, table[line, column])), shape=(len(rows), len(known)))
        # Each word has the bias feature, which takes the intercept.
        fitted = LogisticRegression(C=self.C, max_iter=200, tol=1e-3).fit(X, wanted)
        weights = fitted.coef_[0].astype(np.float32)
        weights[known[rows[0][BIAS]]] += np.float32(fitted.intercept_[0])
        self.features_, self.weights_, self.senses_ = known, weights, _frequent_senses(corpus)
        return self

    def find(self, tree: Tree) -> list[tuple[int, str]]:
        """Return the position, counted from 1, and the sense of each predicate of a sentence."""
        table = coded(word_features(tree), self.features_)
        scores = np.where(table >= 0, self.weights_[table], 0).sum(axis=1)
        lemmas = lemmas_of(tree)
        named = [(at, lemmas[at], tree.upos[at]) for at in np.flatnonzero(scores > 0).tolist()]
        return [(at + 1, self.senses_.get(f"{lemma} {tag}", f"{lemma}.01")) for at, lemma, tag in named]


def _frequent_senses(sentences: Sequence[Sentence]) -> dict[str, str]:
    """Return the most frequent sense of each lemma and part of speech; ties go to the first in alphabetical order."""
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        lemmas = lemmas_of(sentence.tree)
        for proposition in sentence.propositions:
            at = proposition.place - 1
            seen[f"{lemmas[at]} {sentence.tree.upos[at]}"][proposition.sense] += 1
    return {name: min(counts, key=lambda sense: (-counts[sense], sense)) for name, counts in seen.items()}
