"""Word vectors: the object, its folder on disk, and the text and binary formats of other tools."""

from lowrank.embedding.formats import read_vectors, write_vectors
from lowrank.embedding.vectors import Embedding, analogy_scores, unit_rows

__all__ = ["Embedding", "analogy_scores", "read_vectors", "unit_rows", "write_vectors"]
