"""Labels of texts: reduced-rank regression and low-rank tasks beside logistic regressions and partial least squares."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.data.multilabel import multilabel
from polyadic.core.stage_cache import whole
from polyadic.metrics.figures import difference
from polyadic.metrics.labels import best_threshold, label_measures, micro_figure
from polyadic.supervised.multitask import LowRankTasks
from polyadic.supervised.reduced_rank import ReducedRankRegression

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from polyadic.core.stage_cache import Facts
    from polyadic.metrics.figures import Figure

    Array = NDArray[np.float64]
    Settings = Mapping[str, Any]

SETS = ("medical", "enron", "bibtex")
SHARE = 0.2
"""Validation share of the training part, on which settings and a threshold are selected."""
NEVER = 20.0
"""Log-odds of a label that no training text has."""


class Method(NamedTuple):
    """A method, its grid of settings, and the method that it is compared with."""

    name: str
    scores: Callable[[Any, Array, Any, Settings], Array]
    settings: Sequence[Settings]
    beside: str = "logistic regressions"


def logistic(X: Any, Y: Array, Z: Any, chosen: Settings) -> Array:
    """Fit a logistic regression for each label alone."""
    from sklearn.linear_model import LogisticRegression

    odds = np.full((Z.shape[0], Y.shape[1]), -NEVER)
    for k in np.flatnonzero((Y.min(axis=0) == 0) & (Y.max(axis=0) == 1)):
        model = LogisticRegression(C=chosen["C"], solver="liblinear", max_iter=1000)
        odds[:, k] = model.fit(X, Y[:, k]).decision_function(Z)
    return odds


def least_squares(X: Any, Y: Array, Z: Any, chosen: Settings) -> Array:
    """Fit reduced-rank regression."""
    return ReducedRankRegression(**chosen).fit(X, Y).predict(Z)


def embedded(X: Any, Y: Array, Z: Any, chosen: Settings) -> Array:
    """Fit logistic regressions whose weights are of low rank."""
    return whole(LowRankTasks(loss="logistic", **chosen).fit(X, Y)).decision_function(Z)


def partial(X: Any, Y: Array, Z: Any, chosen: Settings) -> Array:
    """Fit partial least squares."""
    from sklearn.cross_decomposition import PLSRegression

    model = PLSRegression(chosen["rank"], scale=False).fit(X.toarray(), Y)
    return np.asarray(model.predict(Z.toarray()))


def methods(labels: int) -> list[Method]:
    """Return the methods with their grids, by the number of labels."""
    ranks = [r for r in (10, 20, 50, 100) if r < labels]
    ridges = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
    return [
        Method("logistic regressions", logistic, [{"C": C} for C in (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)]),
        Method("partial least squares", partial, [{"rank": r} for r in ranks[:3]]),
        Method("ridge regression", least_squares, [{"rank": labels, "ridge": ridge} for ridge in ridges]),
        Method(
            "reduced rank",
            least_squares,
            [{"rank": r, "ridge": ridge} for r in ranks for ridge in ridges],
            beside="ridge regression",
        ),
        Method(
            "low-rank tasks",
            embedded,
            [{"rank": r, "ridge": v} for r in ranks[1:3] or ranks for v in (1.0, 3.0, 10.0, 30.0)],
        ),
    ]


def compared(name: str, *, seed: int, root: str | os.PathLike[str] | None = None) -> list[Facts]:
    """Choose settings of each method within the training part of a set, fit it to that, and measure the test part.

    ``name``: Of a set of :func:`~experiments.data.multilabel.multilabel`. ``seed``: Of what is held out.
    """
    train, test = multilabel(name, root)
    X, Y, Z, T = (
        train.features.astype(float),
        train.labels.astype(float),
        test.features.astype(float),
        test.labels.astype(float),
    )
    held = np.random.default_rng(seed).random(len(Y)) < SHARE
    rows: list[Facts] = []
    figures: dict[str, Figure] = {}
    for method in methods(Y.shape[1]):
        began = time.perf_counter()
        tried = [method.scores(X[~held], Y[~held], X[held], setting) for setting in method.settings]
        precisions = [label_measures(Y[held], scores)["micro_ap"] for scores in tried]
        best = int(np.argmax(precisions))
        threshold = best_threshold(Y[held], tried[best])[0]
        fit = time.perf_counter()
        scores = method.scores(X, Y, Z, method.settings[best])
        ended = time.perf_counter()
        figures[method.name] = figure = micro_figure(T, scores)
        gain = {"gain": difference(figure, figures[method.beside])._asdict()} if rows else {}
        rows.append(
            {"name": method.name, **label_measures(T, scores, threshold), **gain, "validation": precisions[best]}
            | {"chosen": dict(method.settings[best]), "fit_seconds": ended - fit, "seconds": ended - began}
        )
    return rows
