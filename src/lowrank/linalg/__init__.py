"""Dense linear algebra on top of sparse operators."""

from lowrank.linalg.lanczos import truncated_eigh
from lowrank.linalg.sparse import SparsePlusLowRank, symmetric_matrix
from lowrank.linalg.svd import Method, truncated_svd

__all__ = ["Method", "SparsePlusLowRank", "symmetric_matrix", "truncated_eigh", "truncated_svd"]
