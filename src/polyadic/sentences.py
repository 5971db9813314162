"""Vectors of sentences, and features of them."""

from polyadic._lazy import attach

HOMES = {
    "ConvolutionalSentences": "polyadic.models.sentences.convolutional",
    "LogCountRatio": "polyadic.models.sentences.bayes",
    "MeanSentences": "polyadic.models.sentences.mean",
    "ScoreRegression": "polyadic.models.sentences.pairs",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
