"""Predictors from features: factorization machines, rerankers, maps of low rank, tasks, fields."""

import copy

import numpy as np

from examples import Example
from polyadic import (
    MIRA,
    BayesianFactorizationMachine,
    BayesianFactorizationMachineClassifier,
    FactorizationMachine,
    FactorizationMachineClassifier,
    FactorizationMachineRanker,
    FieldEncoder,
    LowRankTasks,
    QueryGroups,
    RankingPerceptron,
    ReducedRankRegression,
    ReducedRankRegressionCV,
    TableLabels,
    TensorMIRA,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 4))
Y = X @ RNG.standard_normal((4, 2)) @ RNG.standard_normal((2, 3)) + 1
SOME = np.where(RNG.random(Y.shape) < 0.3, np.nan, Y)
LABELS = np.where(Y[:, 0] > 1, "yes", "no")
LISTS = QueryGroups.of(X, costs=RNG.random(30), group=np.arange(30) // 5)
LABELLED = {"text": ["war and love", "love", "war", "peace"] * 3, "year": [1, 2, 3, 4] * 3}
LABELLED |= {"a": [1, 1, 0, 0] * 3, "b": ["yes", "no", "", "no"] * 3}
TABLE = {"user": ["ann", "bob"], "genres": [["war", "love"], []], "age": [31.0, 50.0]}
STRANGERS = {"user": ["eve"], "genres": [["war"]], "age": [1.0]}

RANDOM = "rows come in a random order, so that one that is left out changes all after it"
WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")


def regressed(model):
    return [model.predict(X), model.score(X, Y[:, 0])]


def classified(model):
    return [model.predict(X), model.predict_proba(X), model.decision_function(X), model.score(X, LABELS)]


def parameters(model):
    return [model.V_, model.weights_, model.factors_, model.explain(X[:1])]


def reranked(model):
    return [model.decision_function(LISTS), model.rerank(LISTS), model.predict(LISTS), model.score(LISTS)]


EXAMPLES = [
    Example(
        make=lambda: FactorizationMachine(2, solver="adagrad", max_iter=3, seed=0, threads=1),
        fit=lambda model: model.fit(X, Y[:, 0]),
        ask=lambda model: [
            *regressed(model),
            *parameters(model),
            regressed(copy.deepcopy(model).partial_fit(X, Y[:, 1])),  # it goes on from where it was
        ],
        rows=True,
        exempt=dict.fromkeys(WEIGHTS, RANDOM),
    ),
    Example(
        make=lambda: FactorizationMachineClassifier((2, 1), order=3, max_iter=3, seed=0, threads=1),
        fit=lambda model: model.fit(X, LABELS),
        ask=lambda model: [*classified(model), *parameters(model)],
        rows=True,
    ),
    Example(
        make=lambda: FactorizationMachine(2, max_iter=20, seed=0, threads=1),
        fit=lambda model: model.fit(X, Y[:, 0]),
        ask=lambda model: [*regressed(model), *parameters(model)],
        rows=True,
        variant="als",
    ),
    Example(
        make=lambda: FactorizationMachineClassifier(2, solver="sgd", max_iter=20, seed=0, threads=1),
        fit=lambda model: model.fit(X, LABELS),
        ask=lambda model: [*classified(model), *parameters(model)],
        rows=True,
        exempt=dict.fromkeys(WEIGHTS, RANDOM),
        variant="sgd",
    ),
    Example(
        make=lambda: FactorizationMachineRanker(2, max_iter=3, seed=0, threads=1),
        fit=lambda model: model.fit(X, Y[:, 0], groups=np.arange(30) // 5),
        ask=lambda model: [model.predict(X), *parameters(model)],
    ),
    Example(
        make=lambda: BayesianFactorizationMachine(2, burn_in=2, draws=10, seed=0, threads=1),
        fit=lambda model: model.fit(X, Y[:, 0]),
        ask=lambda model: [*regressed(model), model.predict(X, return_std=True), model.explain(X[:1])],
        rows=True,
    ),
    Example(
        make=lambda: BayesianFactorizationMachineClassifier(2, burn_in=2, draws=10, seed=0, threads=1),
        fit=lambda model: model.fit(X, LABELS),
        ask=classified,
        rows=True,
    ),
    Example(
        make=lambda: RankingPerceptron(max_iter=3),
        fit=lambda model: model.fit(X, LABELS, validation=(X, LABELS)),
        ask=lambda model: [model.predict(X), model.decision_function(X), model.score(X, LABELS)],
    ),
    Example(
        make=lambda: MIRA(max_iter=3, best=2),
        fit=lambda model: model.fit(LISTS),
        ask=reranked,
    ),
    Example(
        make=lambda: TensorMIRA(max_iter=3, sizes=(2, 3)),
        fit=lambda model: model.fit(LISTS),
        ask=reranked,
    ),
    Example(
        make=lambda: ReducedRankRegression(2),
        fit=lambda model: model.fit(X, Y),
        ask=lambda model: [model.predict(X), model.score(X, Y)],
        rows=True,
    ),
    Example(
        make=lambda: ReducedRankRegressionCV(ridges=[0.1, 1.0]),
        fit=lambda model: model.fit(X, Y[:, 0]),
        ask=regressed,
        rows=True,
    ),
    Example(
        make=lambda: LowRankTasks(2, loss="logistic", max_iter=3),
        fit=lambda model: model.fit(X, np.where(np.isnan(SOME), SOME, SOME > 1)),
        ask=lambda model: [
            model.predict(X),
            model.predict_proba(X),
            model.decision_function(X),
            model.predict_tasks(X, np.arange(30) % 3),
            model.score(X, Y > 1),
        ],
    ),
    Example(
        make=lambda: TableLabels(2, ridge=1.0, texts=["text"], max_iter=5),
        fit=lambda model: model.fit(LABELLED, ["a", "b"]),
        ask=lambda model: [
            model.predict(LABELLED),
            model.predict_proba(LABELLED),
            model.decision_function(LABELLED),
            model.targets(LABELLED),
            model.score(LABELLED),
        ],
    ),
    Example(
        make=lambda: FieldEncoder(unknown="skip"),
        fit=lambda model: model.fit(TABLE),
        ask=lambda model: [model.transform(STRANGERS), model.skipped_, model.names_, model.groups_],
    ),
]
