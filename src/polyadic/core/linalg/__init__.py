"""Truncated decompositions of sparse matrices, and low-rank linear operators."""

from polyadic.core.linalg.sparse import SparsePlusLowRank, symmetric_matrix
from polyadic.core.linalg.spectral import Spectral, soft_threshold, soft_threshold_symmetric, top_singular_pair
from polyadic.core.linalg.truncated import SVDMethod, truncated_eigh, truncated_svd

__all__ = [
    "SVDMethod",
    "SparsePlusLowRank",
    "Spectral",
    "soft_threshold",
    "soft_threshold_symmetric",
    "symmetric_matrix",
    "top_singular_pair",
    "truncated_eigh",
    "truncated_svd",
]
