"""Supervised models of feature vectors: factorization machines, reduced-rank regression and multi-task learning."""

from polyadic.core.lazy import attach

HOMES = {
    "BayesianFactorizationMachine": "polyadic.supervised.fm_gibbs",
    "BayesianFactorizationMachineClassifier": "polyadic.supervised.fm_gibbs",
    "FactorizationMachine": "polyadic.supervised.factorization_machines",
    "FactorizationMachineClassifier": "polyadic.supervised.factorization_machines",
    "FactorizationMachineRanker": "polyadic.supervised.fm_ranking",
    "FieldEncoder": "polyadic.supervised.fields",
    "LowRankTasks": "polyadic.supervised.multitask",
    "ReducedRankRegression": "polyadic.supervised.reduced_rank",
    "ReducedRankRegressionCV": "polyadic.supervised.reduced_rank",
    "TableLabels": "polyadic.supervised.table_labels",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
