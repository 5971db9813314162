"""Facts, universal schemas, rules, and databases of several tables."""

from polyadic._lazy import attach

HOMES = {
    "BayesianFactorization": "polyadic.models.relations.bayesian",
    "CollectiveFactorization": "polyadic.models.relations.collective",
    "Database": "polyadic.models.relations.database",
    "Facts": "polyadic.text.relations.facts",
    "HornRules": "polyadic.models.relations.horn_rules",
    "InjectedLogic": "polyadic.models.relations.logic",
    "KnowledgeTensor": "polyadic.models.relations.knowledge",
    "RESCAL": "polyadic.models.relations.rescal",
    "Relation": "polyadic.models.relations.database",
    "Schema": "polyadic.text.relations.schema",
    "TransitiveVerbs": "polyadic.models.relations.composition",
    "TupleClassifier": "polyadic.models.relations.attachment",
    "TypedRESCAL": "polyadic.models.relations.typed_rescal",
    "UniversalSchema": "polyadic.models.relations.universal",
    "VariationalFactorization": "polyadic.models.relations.variational",
    "complete": "polyadic.models.relations.link_prediction",
    "facts_of": "polyadic.text.relations.facts",
    "mine_rules": "polyadic.models.relations.rule_mining",
    "pattern_triples": "polyadic.text.relations.patterns",
    "read_facts": "polyadic.text.relations.facts",
    "read_rules": "polyadic.text.relations.rules",
    "read_schema": "polyadic.text.relations.schema",
    "train_facts": "polyadic.recipes.relations",
    "schema_of": "polyadic.text.relations.schema",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
