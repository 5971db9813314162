"""Naive Bayes features: words and pairs of words, weighted by their log-count ratios."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import KW_ONLY
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from polyadic.core.errors import InputError
from polyadic.core.model import Count, Model, Positive, Within
from polyadic.sentences.words import words_of

if TYPE_CHECKING:
    from polyadic.sentences.words import Sentence


class LogCountRatio(TransformerMixin, Model):  # type: ignore[misc]
    r"""Binary features of words and bigrams, weighted by their log-count ratios.

    .. math:: r = \log \frac{p / \|p\|_1}{q / \|q\|_1}, \qquad p = \alpha + \sum_{i: y_i = 1} f_i, \quad
              q = \alpha + \sum_{i: y_i = 0} f_i

    :math:`f_i` are the binary features of sentence :math:`i`. A linear classifier of the weighted features is NB-SVM.

    Parameters
    ----------
    alpha : float
        Pseudo-count added to all counts.
    max_length : int
        Maximum length of the n-grams: 1 for words, 2 for words and bigrams.
    min_count : int
        Minimum number of sentences that contain an n-gram.

    Attributes
    ----------
    ratio_ : ndarray of shape (features,)
        Log-count ratio :math:`r` of each feature.
    features_ : dict
        Column of each n-gram, a tuple of words.
    classes_ : ndarray of shape (2,)
        The class of :math:`q`, then the class of :math:`p`.

    References
    ----------
    Wang, Manning (2012), Baselines and bigrams: simple, good sentiment and topic classification, section 2.

    Examples
    --------
    >>> model = LogCountRatio(max_length=1).fit(["good film", "good one", "bad film", "bad one"], [1, 1, 0, 0])
    >>> {run[0]: round(float(model.ratio_[at]), 3) for run, at in model.features_.items()}
    {'good': 1.099, 'film': 0.0, 'one': 0.0, 'bad': -1.099}
    """

    _: KW_ONLY
    alpha: Positive = 1.0
    max_length: Annotated[int, Within(1, 2)] = 2
    min_count: Count = 1

    def fit(self, sentences: Iterable[Sentence], y: Any) -> Self:
        """Compute the log-count ratio of each n-gram from sentences of two classes.

        Sentences are texts or lists of words. InputError is raised if there are not two classes in ``y``, or not one
        label for each sentence.
        """
        self.check()
        runs = [self._runs(words) for words in words_of(sentences)]
        labels = np.asarray(y)
        self.classes_ = np.unique(labels)
        if labels.shape != (len(runs),) or len(self.classes_) != 2:
            got = f"shape {labels.shape} and {len(self.classes_):,} classes"
            raise InputError(f"y must have shape ({len(runs)},) and contain two classes; got {got}", "y")
        counts = Counter(chain.from_iterable(runs))
        self.features_ = {run: at for at, run in enumerate(run for run, n in counts.items() if n >= self.min_count)}
        if not self.features_:
            what = f"no word or bigram occurs in at least {self.min_count} sentences"
            raise InputError(f"{what}; lower min_count", "min_count")
        F = self._indicators(runs)
        p, q = (self.alpha + np.asarray(F[labels == c].sum(axis=0)).ravel() for c in self.classes_[::-1])
        self.ratio_ = np.log((p / p.sum()) / (q / q.sum()))
        return self

    def fit_transform(self, sentences: Iterable[Sentence], y: Any = None) -> csr_array:
        """Return the features of sentences to which the model is fitted; an iterator is first read into memory."""
        kept = list(words_of(sentences))
        return self.fit(kept, y).transform(kept)

    def transform(self, sentences: Iterable[Sentence]) -> csr_array:
        """Return the features of sentences, of shape (sentences, features), ignoring unknown n-grams."""
        check_is_fitted(self)
        return self._indicators([self._runs(words) for words in words_of(sentences)]).multiply(self.ratio_).tocsr()

    def _runs(self, words: list[str]) -> dict[tuple[str, ...], None]:
        pairs = pairwise(words) if self.max_length > 1 else ()
        return dict.fromkeys([*((word,) for word in words), *pairs])

    def _indicators(self, runs: list[dict[tuple[str, ...], None]]) -> csr_array:
        known = [[self.features_[run] for run in some if run in self.features_] for some in runs]
        edges = np.cumsum([0, *(len(some) for some in known)], dtype=np.int32)
        columns = np.array([at for some in known for at in some], np.int32)  # required by liblinear
        return csr_array((np.ones(len(columns)), columns, edges), shape=(len(runs), len(self.features_)))
