"""Labels of documents from few labelled documents and labelled words: documents, words and labels in three tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.preprocessing import normalize

from polyadic.completion.coupled.collective import CollectiveFactorization
from polyadic.completion.coupled.database import Relation
from polyadic.core.entries import Entries
from polyadic.datasets import bbc
from polyadic.datasets.place import text
from polyadic.text.corpus import Corpus
from polyadic.text.documents import document_table
from polyadic.text.tokens import Tokenizer

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from polyadic.core.stage_cache import Facts

LEAST = {"bbc": 5, "newsgroups": 5}
"""Minimum frequency of a word."""
RANK = 20
"""Components of the collective factorization."""
MESSAGES = {"train": 200, "test": 100}
"""Messages that are drawn from each newsgroup."""
LABELLED_WORDS = 10
"""Labelled words per label, those with the highest mutual information with it in the training part."""
TABLES = {"documents x labels": 0.003, "words x labels": 0.003}
"""Weights relative to documents x words."""
RIDGE, SWEEPS = 0.1, 10


class Labelled(NamedTuple):
    """Counts of words, the label of each document, which documents are for testing, and words and names of labels."""

    counts: csr_array
    labels: NDArray[np.int64]
    test: NDArray[np.bool_]
    words: tuple[str, ...]
    names: tuple[str, ...]


def news(root: Path | None = None, *, seed: int = 0) -> Labelled:
    """Read BBC news; a random half is for testing."""
    articles = bbc(root)
    test = np.random.default_rng(seed).random(len(articles)) < 0.5
    return _labelled([a.text for a in articles], [a.label for a in articles], test, LEAST["bbc"])


def newsgroups(folder: Path, *, seed: int = 0) -> Labelled:
    """Read some messages of 20 newsgroups by date, without their headers."""
    rng, files = np.random.default_rng(seed), []
    for part, number in MESSAGES.items():
        for group in sorted((folder / f"20news-bydate-{part}").glob("*.*/")):
            some = sorted(group.glob("[0-9]*"))
            files += [(part == "test", some[k]) for k in sorted(rng.choice(len(some), number, replace=False))]
    texts = [text(file, encoding="latin-1").partition("\n\n")[2] for _, file in files]
    return _labelled(texts, [f.parent.name for _, f in files], np.array([t for t, _ in files]), LEAST["newsgroups"])


def _labelled(texts: list[str], labels: list[str], test: NDArray[np.bool_], least: int) -> Labelled:
    tokenizer = Tokenizer(digits="drop")
    corpus = Corpus.build(texts, min_count=least, stop_words="english", tokenizer=tokenizer, language="en")
    names, numbers = np.unique(labels, return_inverse=True)
    return Labelled(document_table(corpus), numbers, test, corpus.vocabulary.words, tuple(names.tolist()))


def labelled_words(data: Labelled, *, per_label: int = LABELLED_WORDS) -> NDArray[np.bool_]:
    """Return which words have which label: those that say most about it by their mutual information, each word once.

    The labels of all training documents are used, in place of a person who names words.
    """
    x = csr_array(data.counts[~data.test], copy=True)
    x.data = np.ones(x.nnz)
    y = np.eye(len(data.names))[data.labels[~data.test]]
    n, joint = len(y), np.asarray(x.T @ y)
    words, classes = joint.sum(axis=1, keepdims=True), y.sum(axis=0)
    information = np.zeros(joint.shape)
    for cell, expected in (
        (joint, words * classes / n),
        (words - joint, words * (n - classes) / n),
        (classes - joint, (n - words) * classes / n),
        (n - words - classes + joint, (n - words) * (n - classes) / n),
    ):
        information += cell / n * np.log(np.maximum(cell, 1e-12) / np.maximum(expected, 1e-12))
    information[joint <= words * classes / n] = 0  # words that speak against a label
    best = information * (information == information.max(axis=1, keepdims=True))
    chosen = np.zeros(joint.shape, bool)
    for label in range(joint.shape[1]):
        chosen[np.argsort(-best[:, label], kind="stable")[:per_label], label] = True
    return chosen


def evaluate(data: Labelled, *, per_label: int, rank: int, seed: int) -> Facts:
    """Return the accuracy of each method on the test part, from random labelled documents, with and without words."""
    rng = np.random.default_rng(seed)
    every = range(len(data.names))
    known = [rng.choice(np.flatnonzero(~data.test & (data.labels == k)), per_label, replace=False) for k in every]
    some, words, right = np.concatenate(known), labelled_words(data), data.labels[data.test]
    accuracy: dict[str, float] = {}
    for named, of_words in (("", None), (", labelled words", words)):
        for name, model, X in (
            ("logistic regression", LogisticRegression(C=10, max_iter=1000), _tfidf(data.counts)),
            ("naive Bayes", MultinomialNB(), data.counts),
        ):
            fitted = model.fit(*with_words(X, some, data.labels[some], of_words))
            accuracy[name + named] = float((fitted.predict(X[data.test]) == right).mean())
        told = collective(data, some, of_words, rank=rank, seed=seed)[data.test]
        accuracy["collective" + named] = float((told == right).mean())
    return {"per_label": per_label, "accuracy": accuracy}


def collective(data: Labelled, known: NDArray[np.int64], words: Any, *, rank: int, seed: int) -> NDArray[np.int64]:
    """Predict the labels of all documents by collective factorization; ``words`` is None or labels of words."""
    X, classes = _tfidf(data.counts), len(data.names)
    shape = (X.shape[0], classes)
    tables = {
        "words": Relation(
            Entries(np.column_stack(X.nonzero()), X.data, X.shape), ("document", "word"), unobserved="zero"
        ),
        "labels": _table(known, np.eye(classes)[data.labels[known]], shape, "document", TABLES["documents x labels"]),
    }
    if words is not None:
        some = np.flatnonzero(words.any(axis=1))
        tables["named"] = _table(some, words[some], (X.shape[1], classes), "word", TABLES["words x labels"])
    model = CollectiveFactorization(rank, ridge=RIDGE, max_iter=SWEEPS, tol=0, seed=seed, threads=1).fit(tables)
    cells = np.indices(shape).reshape(2, -1).T
    return np.asarray(model.predict_numbered("labels", cells).reshape(shape).argmax(axis=1))


def _table(rows: NDArray[np.int64], values: Any, shape: tuple[int, int], entity: str, weight: float) -> Relation:
    cells = np.column_stack([np.repeat(rows, shape[1]), np.tile(np.arange(shape[1]), len(rows))])
    return Relation(
        Entries(cells, np.ravel(values).astype(float), shape, unobserved="missing"), (entity, "label"), weight=weight
    )


def _tfidf(counts: csr_array) -> csr_array:
    idf = 1 + np.log((1 + counts.shape[0]) / (1 + np.bincount(counts.indices, minlength=counts.shape[1])))
    return csr_array(normalize(csr_array(counts * idf[None, :])))


def with_words(X: csr_array, known: NDArray[np.int64], y: NDArray[np.int64], words: Any) -> tuple[csr_array, Any]:
    """Return the rows of labelled documents, and a row for each labelled word if there are any."""
    if words is None:
        return X[known], y
    some, label = np.nonzero(words)
    rows = csr_array((np.ones(len(some)), (np.arange(len(some)), some)), shape=(len(some), X.shape[1]))
    return csr_array(vstack([X[known], rows])), np.concatenate([y, label])
