"""Factorization machines are estimators in scikit-learn's sense."""

import warnings

from sklearn.utils.estimator_checks import parametrize_with_checks

from polyadic import (
    BayesianFactorizationMachine,
    BayesianFactorizationMachineClassifier,
    FactorizationMachine,
    FactorizationMachineClassifier,
)

RANDOM = "rows come in a random order, so that one that is left out changes all after it"


def expected_failures(model):
    if getattr(model, "solver", "als") == "als":
        return {}
    checks = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")
    return dict.fromkeys(checks, RANDOM)


@parametrize_with_checks(
    [
        FactorizationMachine(2, max_iter=20, seed=0),
        FactorizationMachine(2, solver="adagrad", max_iter=20, seed=0),
        FactorizationMachineClassifier(2, max_iter=20, seed=0),
        FactorizationMachineClassifier(2, solver="sgd", max_iter=20, seed=0),
        BayesianFactorizationMachine(2, draws=10, seed=0),
        BayesianFactorizationMachineClassifier(2, draws=10, seed=0),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_conventions(estimator, check):
    """Each is an estimator in scikit-learn's sense."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
