"""Supervised models of feature vectors: factorization machines, reduced-rank regression, multi-task learning."""

from polyadic.core.lazy import attach

HOMES = {
    "BayesianFactorizationMachine": "polyadic.supervised.gibbs_machines",
    "BayesianFactorizationMachineClassifier": "polyadic.supervised.gibbs_machines",
    "FactorizationMachine": "polyadic.supervised.machines",
    "FactorizationMachineClassifier": "polyadic.supervised.machines",
    "FactorizationMachineRanker": "polyadic.supervised.machine_ranking",
    "FieldEncoder": "polyadic.supervised.fields",
    "LowRankTasks": "polyadic.supervised.multitask",
    "ReducedRankRegression": "polyadic.supervised.reduced_rank",
    "ReducedRankRegressionCV": "polyadic.supervised.reduced_rank",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
