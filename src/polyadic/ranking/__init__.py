"""Reranking of candidate lists by a perceptron, MIRA, and MIRA with low-rank tensor weights."""

from polyadic.core.lazy import attach

HOMES = {
    "QueryGroups": "polyadic.core.query_groups",
    "MIRA": "polyadic.ranking.linear_rerankers",
    "NBestLists": "polyadic.ranking.nbest",
    "RankingPerceptron": "polyadic.ranking.linear_rerankers",
    "TensorMIRA": "polyadic.ranking.tensor_mira",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
