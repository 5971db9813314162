"""Rows of features: factorization machines, regression of low rank, lists of candidates."""

from polyadic._lazy import attach

HOMES = {
    "BayesianFactorizationMachine": "polyadic.models.predictors.bayesian_machines",
    "BayesianFactorizationMachineClassifier": "polyadic.models.predictors.bayesian_machines",
    "FactorizationMachine": "polyadic.models.predictors.machines",
    "FactorizationMachineClassifier": "polyadic.models.predictors.machines",
    "FactorizationMachineRanker": "polyadic.models.predictors.machine_ranking",
    "FieldEncoder": "polyadic.models.predictors.fields",
    "Groups": "polyadic.groups",
    "LowRankTasks": "polyadic.models.predictors.tasks",
    "MIRA": "polyadic.models.predictors.linear_rerankers",
    "NBestLists": "polyadic.text.predictors.nbest",
    "RankingPerceptron": "polyadic.models.predictors.linear_rerankers",
    "ReducedRankRegression": "polyadic.models.predictors.reduced_rank",
    "ReducedRankRegressionCV": "polyadic.models.predictors.reduced_rank",
    "TensorMIRA": "polyadic.models.predictors.tensor_mira",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
