"""Completion of partially observed matrices, such as ratings, play counts and labels."""

from polyadic.core.lazy import attach

HOMES = {
    "BayesianGeneralizedPCA": "polyadic.completion.bayesian_pca",
    "BayesianMatrixFactorization": "polyadic.completion.bayesian",
    "CellReading": "polyadic.completion.named_cells",
    "ConvexCCA": "polyadic.completion.trace_norm_sums",
    "ConvexCollective": "polyadic.completion.convex_collective",
    "GeneralizedPCA": "polyadic.completion.generalized_pca",
    "ImplicitFactorization": "polyadic.completion.implicit",
    "LogisticFactorization": "polyadic.completion.logistic",
    "MatchboxFactorization": "polyadic.completion.matchbox",
    "MatrixFactorization": "polyadic.completion.factorization",
    "PairwiseRanking": "polyadic.completion.pairwise_ranking",
    "RobustPCA": "polyadic.completion.robust_pca",
    "StochasticMatrixFactorization": "polyadic.completion.factorization",
    "TableCompletion": "polyadic.completion.table_completion",
    "TraceNormCompletion": "polyadic.completion.trace_norm",
    "TraceNormSum": "polyadic.completion.trace_norm_sums",
    "TransductiveCompletion": "polyadic.completion.transductive",
    "read_cells": "polyadic.completion.named_cells",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
