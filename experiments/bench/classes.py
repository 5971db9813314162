"""Document classification by standard pipelines and by ``TextClassifier``.

Each set is a folder with train.csv and test.csv, of columns text and label. Printed are the accuracy on the test
documents and the seconds of processor time of all fits together. One thread.
"""

import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from experiments.bench.choosing import classes
from experiments.bench.common import heading, row, timed
from polyadic import LogCountRatio, MeanSentences, TextClassifier, select


class WithVectors:
    """The features of ``TextClassifier``, means of word vectors beside them, and a logistic regression of both."""

    def fit(self, texts, y):
        self.words = TextClassifier(share=0).fit(texts, y)
        self.vectors = MeanSentences().fit(texts)
        self.model = OneVsRestClassifier(LogisticRegression(C=30, solver="liblinear", tol=1e-2)).fit(
            self._table(texts), y
        )
        return self

    def predict(self, texts):
        return self.model.predict(self._table(texts))

    def _table(self, texts):
        X = self.words._features(self.words._numbered(texts))  # noqa: SLF001 # nothing else makes the same features
        X = hstack([X, csr_array(normalize(self.vectors.transform(texts)))], format="csr")
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return X


CONTENDERS = {
    "TF-IDF, SVM": lambda: make_pipeline(TfidfVectorizer(), LinearSVC()),
    "TF-IDF of pairs, SVM": lambda: make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LinearSVC()),
    "`MeanSentences`, logistic": lambda: make_pipeline(MeanSentences(), LogisticRegression(max_iter=1000)),
    "`LogCountRatio`, logistic": lambda: OneVsRestClassifier(
        make_pipeline(LogCountRatio(), LogisticRegression(max_iter=1000))
    ),
    "`TextClassifier(share=0)`": lambda: TextClassifier(share=0),
    "the same with word vectors beside": WithVectors,
    "`TextClassifier()`": TextClassifier,
    "chosen": None,
}


def main(sources: tuple[Path, ...]) -> None:
    warnings.simplefilter("ignore")
    sets = [classes(source) for source in sources]
    heading("", *(source.stem for source in sources), "mean", "seconds")
    for name, make in CONTENDERS.items():

        def fit(make=make):
            return [
                1 - error(make().fit(texts, np.array(parts["y"])) if make else select(model, texts, **parts))
                for model, texts, parts, error in sets
            ]

        _, seconds, right = timed(fit)
        row(name, *(f"{x:.3f}" for x in (*right, np.mean(right))), f"{seconds:,.0f}")
