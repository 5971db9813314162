"""Word embeddings: the Embedding class, its storage format, and the file formats of other tools."""

from polyadic.embedding.components import Component, components, components_of
from polyadic.embedding.formats import read_vectors, write_projector, write_vectors
from polyadic.embedding.vectors import Embedding, analogy_scores, unit_rows

__all__ = [
    "Component",
    "Embedding",
    "analogy_scores",
    "components",
    "components_of",
    "read_vectors",
    "unit_rows",
    "write_projector",
    "write_vectors",
]
