"""Matrices with cells that are not known: ratings, listens, labels."""

from polyadic._lazy import attach

HOMES = {
    "BayesianMatrixFactorization": "polyadic.models.completion.bayesian",
    "ConvexCollective": "polyadic.models.completion.convex_collective",
    "GeneralizedPCA": "polyadic.models.completion.generalized_pca",
    "ImplicitFactorization": "polyadic.models.completion.implicit",
    "LogisticFactorization": "polyadic.models.completion.logistic",
    "MatrixFactorization": "polyadic.models.completion.factorization",
    "PairwiseRanking": "polyadic.models.completion.pairwise_ranking",
    "RobustPCA": "polyadic.models.completion.robust_pca",
    "StochasticMatrixFactorization": "polyadic.models.completion.factorization",
    "TableCompletion": "polyadic.models.completion.table_completion",
    "TraceNormCompletion": "polyadic.models.completion.trace_norm",
    "TransductiveCompletion": "polyadic.models.completion.transductive",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
