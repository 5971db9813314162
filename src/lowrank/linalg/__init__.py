"""Dense linear algebra on top of sparse operators."""

from lowrank.linalg.lanczos import truncated_eigh
from lowrank.linalg.sparse import SparsePlusLowRank, symmetric_matrix
from lowrank.linalg.spectral import Spectral, shrunk, shrunk_symmetric, top_pair
from lowrank.linalg.svd import Method, truncated_svd

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
