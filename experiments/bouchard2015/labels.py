"""Labels of documents as unknown columns of a matrix, beside logistic regression for each label."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from polyadic.completion.transductive import TransductiveCompletion
from polyadic.core.solvers.run import NotConvergedWarning
from polyadic.metrics.figures import difference
from polyadic.metrics.labels import best_threshold, label_measures, micro_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from experiments.data.multilabel import Labelling
    from polyadic.core.stage_cache import Facts

    Array = NDArray[Any]

WEIGHTS, SWEEPS = (16.0, 64.0), 300
"""How much a label counts beside a feature, which is chosen; and sweeps at most."""
STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0)
"""C of logistic regression."""
NEVER = 20.0
"""Log-odds of a label that no training document has, or (with the other sign) that all have."""


def evaluate(train: Labelling, test: Labelling, *, hidden: float, penalties: Sequence[float], seed: int) -> list[Facts]:
    """Return the labels of the test part, features being hidden at random, settings chosen within the training part.

    ``hidden``: Share of the features, of both parts, that are not known: missing for completion, the mean of the others
    of their column for logistic regression. ``penalties``: Of the trace norm, to choose from: noise grows with the root
    of the number of items.
    """
    rng = np.random.default_rng(seed)
    n = len(train.labels)
    X = np.vstack([part.features.toarray() for part in (train, test)]).astype(float)
    X[rng.random(X.shape) < hidden] = np.nan
    Y = np.vstack([part.labels for part in (train, test)]).astype(float)
    held = rng.random(n) < 0.2
    means = np.nan_to_num(np.nanmean(X[:n], axis=0))
    filled = np.where(np.isnan(X), means, X)

    def regression(rows: Array, setting: Any) -> Array:
        return _regression(filled[rows], Y[rows], filled, setting)

    def completion(rows: Array, setting: Any) -> Array:
        return _completion(X, Y, rows, setting)

    methods: list[tuple[str, Callable[[Array, Any], Array], Sequence[Any]]] = [
        ("logistic regression", regression, STRENGTHS),
        ("completion", completion, [(penalty, weight) for weight in WEIGHTS for penalty in penalties]),
    ]
    made: list[Facts] = []
    figures = []
    for name, odds, settings in methods:
        start = time.perf_counter()
        fewer = np.flatnonzero(~held)
        held_odds = [odds(fewer, setting)[:n][held] for setting in settings]
        tried = [(*best_threshold(Y[:n][held], values)[::-1], number) for number, values in enumerate(held_odds)]
        _, threshold, number = max(tried)
        predicted = odds(np.arange(n), settings[number])[n:]
        seconds = time.perf_counter() - start
        measures = label_measures(Y[n:], predicted, threshold)
        kept = {"f1": measures["micro_f1"], "ap": measures["micro_ap"], "macro_ap": measures["macro_ap"]}
        figures.append(micro_figure(Y[n:], predicted))
        gain = {"gain": difference(figures[-1], figures[0])._asdict()} if made else {}
        made.append({"name": name, **kept, **gain, "seconds": seconds, "chosen": settings[number]})
    return made


def _regression(X: Array, Y: Array, everything: Array, C: float) -> Array:
    from sklearn.linear_model import LogisticRegression

    odds = np.full((len(everything), Y.shape[1]), -NEVER)
    for label, y in enumerate(Y.T):
        if 0 < y.sum() < len(y):
            model = LogisticRegression(C=C, solver="liblinear", max_iter=1000).fit(X, y)
            odds[:, label] = model.decision_function(everything)
        elif y.any():
            odds[:, label] = NEVER
    return odds


def _completion(X: Array, Y: Array, rows: Array, setting: tuple[float, float]) -> Array:
    known = np.full_like(Y, np.nan)
    known[rows] = Y[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # sweeps are limited for all alike
        model = TransductiveCompletion(setting[0], label_weight=setting[1], tol=3e-3, max_iter=SWEEPS)
        return np.asarray(model.fit(X, known).log_odds_)
