"""Sentences with labels: one fold of MR or SUBJ by every method, settings chosen within its training part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from experiments.huang2017.choosing import BAYES, BAYES_SVM, CLASSES, SHARES, choose
from experiments.huang2017.encoders import encoders
from polyadic.sentences.bayes import LogCountRatio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from experiments.data.sentences import Labelled
    from experiments.huang2017.choosing import Rule
    from experiments.huang2017.encoders import Grid

    Split = tuple[NDArray[np.int64], NDArray[np.int64]]

JOINED = ("convolutional", "mean of words")
"""Vectors that are also tried together with naive Bayes features."""


def folds(labels: NDArray[np.int64], number: int, seed: int) -> list[Split]:
    """Divide sentences, each label alike."""
    return list(StratifiedKFold(number, shuffle=True, random_state=seed).split(labels, labels))


def evaluate(cases: Sequence[Labelled], split: Split, grid: Grid, seed: int) -> dict[str, Any]:
    """Train every method on one part and test it on the other."""
    train, test = ([cases[at] for at in part] for part in split)
    texts, tested = ([case.words for case in part] for part in (train, test))
    y, z = (np.array([case.label for case in part]) for part in (train, test))
    inner = folds(y, 5, seed)[:1]  # one split: a tenth of a per cent of accuracy costs minutes
    results, vectors = {}, {}
    for name, candidates in encoders(texts, grid, seed).items():
        choice = choose(candidates(), lambda encode: encode(texts), y, CLASSES, inner)
        encode = choice.candidate
        X, Z = encode(texts), encode(tested)
        results[name] = judged(CLASSES, choice.settings, X, y, Z, z)
        vectors[name] = X, Z
    bayes = LogCountRatio().fit(texts, y)
    F, G = bayes.transform(texts), bayes.transform(tested)
    # what is chosen on held out sentences must not have seen their labels
    part, _ = inner[0]
    honest = LogCountRatio().fit([texts[at] for at in part], y[part]).transform(texts)
    for name, rule in (("NB features", BAYES), ("NB-SVM", BAYES_SVM)):
        choice = choose([({}, honest)], lambda X: X, y, rule, inner)
        results[name] = judged(rule, choice.settings, F, y, G, z)
    for name in JOINED:
        X, Z = vectors[name]
        scaler = StandardScaler().fit(X)
        X, Z = scaler.transform(X), scaler.transform(Z)
        shares = [({"share": share}, joined(honest, X, share)) for share in SHARES]
        choice = choose(shares, lambda X: X, y, BAYES, inner)
        share = choice.settings["share"]
        results[f"NB features, {name}"] = judged(BAYES, choice.settings, joined(F, X, share), y, joined(G, Z, share), z)
    return results


def joined(features: csr_array, X: NDArray[Any], share: float) -> csr_array:
    """Put scaled vectors beside sparse features."""
    joined = hstack([features, csr_array(X * share)]).tocsr()
    # liblinear takes no longer numbers
    joined.indices, joined.indptr = joined.indices.astype(np.int32), joined.indptr.astype(np.int32)
    return joined


def judged(rule: Rule, settings: dict[str, Any], X: Any, y: NDArray[Any], Z: Any, z: NDArray[Any]) -> dict[str, Any]:
    """Train on one part and say which cases of the other are right."""
    predicted = rule.make(settings["C"]).fit(X, y).predict(Z)
    return {"settings": settings, "right": (predicted == z).astype(int).tolist()}
