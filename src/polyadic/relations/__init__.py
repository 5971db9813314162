"""Knowledge graphs: link prediction, rule mining, and universal schemas."""

from polyadic.core.lazy import attach

HOMES = {
    "BayesianFactorization": "polyadic.completion.coupled.bayesian",
    "CollectiveFactorization": "polyadic.completion.coupled.collective",
    "Database": "polyadic.completion.coupled.database",
    "Facts": "polyadic.relations.facts",
    "HornRules": "polyadic.relations.horn_rules",
    "InjectedLogic": "polyadic.relations.logic",
    "KnowledgeTensor": "polyadic.relations.knowledge",
    "RESCAL": "polyadic.relations.rescal",
    "Relation": "polyadic.completion.coupled.database",
    "Schema": "polyadic.relations.schema",
    "TransitiveVerbs": "polyadic.relations.composition",
    "TupleClassifier": "polyadic.relations.attachment",
    "TypedRESCAL": "polyadic.relations.typed_rescal",
    "UniversalSchema": "polyadic.relations.universal",
    "VariationalFactorization": "polyadic.completion.coupled.variational",
    "complete": "polyadic.relations.link_prediction",
    "facts_of": "polyadic.relations.facts",
    "mine_rules": "polyadic.relations.rule_mining",
    "pattern_triples": "polyadic.relations.patterns",
    "read_facts": "polyadic.relations.facts",
    "read_rules": "polyadic.relations.rules",
    "read_schema": "polyadic.relations.schema",
    "train_facts": "polyadic.relations.training",
    "schema_of": "polyadic.relations.schema",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
