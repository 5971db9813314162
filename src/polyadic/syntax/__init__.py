"""Dependency and constituency parsers, semantic role labellers, and readers of treebank files."""

from polyadic.core.lazy import attach

HOMES = {
    "ArcFactored": "polyadic.syntax.dependency",
    "HigherOrderParser": "polyadic.syntax.higher_order",
    "LatentPCFG": "polyadic.syntax.latent_pcfg",
    "LowRankParser": "polyadic.syntax.low_rank_parser",
    "MarginalParser": "polyadic.syntax.latent_marginals",
    "PCFG": "polyadic.syntax.pcfg",
    "PredicateFinder": "polyadic.syntax.predicates",
    "RoleRegression": "polyadic.syntax.role_regression",
    "SemanticRoles": "polyadic.syntax.semantic_roles",
    "SpectralGrammar": "polyadic.syntax.spectral_grammar",
    "SplitMergePCFG": "polyadic.syntax.split_merge",
    "read_phrases": "polyadic.syntax.brackets",
    "read_propositions": "polyadic.syntax.propositions",
    "read_trees": "polyadic.syntax.trees",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
