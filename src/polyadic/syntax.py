"""Treebanks: parsers, grammars, semantic roles."""

from polyadic._lazy import attach

HOMES = {
    "ArcFactored": "polyadic.models.syntax.dependency",
    "HigherOrderParser": "polyadic.models.syntax.higher_order",
    "LatentPCFG": "polyadic.models.syntax.latent_pcfg",
    "LowRankParser": "polyadic.models.syntax.low_rank_parser",
    "MarginalParser": "polyadic.models.syntax.latent_marginals",
    "PCFG": "polyadic.models.syntax.pcfg",
    "PredicateFinder": "polyadic.models.syntax.predicates",
    "RoleRegression": "polyadic.models.syntax.role_regression",
    "SemanticRoles": "polyadic.models.syntax.semantic_roles",
    "SplitMergePCFG": "polyadic.models.syntax.split_merge",
    "read_phrases": "polyadic.text.syntax.brackets",
    "read_propositions": "polyadic.text.syntax.propositions",
    "read_trees": "polyadic.text.syntax.trees",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
