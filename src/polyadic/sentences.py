"""Vectors of sentences, features of them, and classes of documents."""

from polyadic._lazy import attach

HOMES = {
    "ConvolutionalSentences": "polyadic.models.sentences.convolutional",
    "LogCountRatio": "polyadic.models.sentences.bayes",
    "MeanSentences": "polyadic.models.sentences.mean",
    "ScoreRegression": "polyadic.models.sentences.pairs",
    "TextClassifier": "polyadic.models.sentences.classifier",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
