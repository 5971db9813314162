"""Topics of documents."""

from polyadic._lazy import attach

HOMES = {
    "AnchorTopics": "polyadic.models.topics.anchors",
    "LDA": "polyadic.models.topics.lda",
    "NMF": "polyadic.models.topics.nmf",
    "PLSA": "polyadic.models.topics.plsa",
    "RLSI": "polyadic.models.topics.rlsi",
    "SpectralLDA": "polyadic.models.topics.spectral",
    "TextTopics": "polyadic.models.topics.text",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
