"""Sentence vectors, sentence features, and document classification."""

from polyadic.core.lazy import attach

HOMES = {
    "ConvolutionalSentences": "polyadic.sentences.convolutional",
    "LogCountRatio": "polyadic.sentences.bayes",
    "MeanSentences": "polyadic.sentences.mean",
    "ScoreRegression": "polyadic.sentences.pairs",
    "TextClassifier": "polyadic.sentences.classifier",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
