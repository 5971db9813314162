"""Topic models of documents."""

from polyadic.core.lazy import attach

HOMES = {
    "AnchorTopics": "polyadic.topics.anchors",
    "LDA": "polyadic.topics.lda",
    "NMF": "polyadic.topics.nmf",
    "PLSA": "polyadic.topics.plsa",
    "RLSI": "polyadic.topics.rlsi",
    "SpectralLDA": "polyadic.topics.spectral",
    "TextTopics": "polyadic.topics.text_topics",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
