"""Truncated decompositions and low-rank operators of sparse matrices."""

from polyadic.core.linalg.sparse import SparsePlusLowRank, symmetric_matrix
from polyadic.core.linalg.spectral import Spectral, shrunk, shrunk_symmetric, top_pair
from polyadic.core.linalg.truncated import Method, truncated_eigh, truncated_svd

__all__ = [
    "Method",
    "SparsePlusLowRank",
    "Spectral",
    "shrunk",
    "shrunk_symmetric",
    "symmetric_matrix",
    "top_pair",
    "truncated_eigh",
    "truncated_svd",
]
