"""Pairs of sentences: paraphrases (MSRP) and scores of similarity (STS 2012), by every kind of vectors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from experiments.huang2017.choosing import SHARES, choose
from experiments.huang2017.encoders import encoders
from polyadic.sentences.pairs import pair_features
from polyadic.sentences.words import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from experiments.data.sentences import Compared
    from experiments.huang2017.choosing import Rule
    from experiments.huang2017.encoders import Grid, Texts

    Encode = Callable[[Texts], NDArray[Any]]

COMMON = "words in common"
JOINED = ("convolutional", "mean of words")
"""Vectors that are also tried together with those."""
PLAIN = (0.01, 0.03, 0.1, 0.3)
"""Strengths of the penalty then."""


def evaluate(
    train: Sequence[Compared],
    tests: Mapping[str, Sequence[Compared]],
    rule: Rule,
    grid: Grid,
    seed: int,
    *,
    rounds: int = 5,
) -> dict[str, Any]:
    """Train every method on pairs, with settings selected on some of five folds, and predict others."""
    texts = [text for pair in train for text in (pair.left, pair.right)]
    y = np.array([pair.score for pair in train])
    splits = list(KFold(5, shuffle=True, random_state=seed).split(y))[:rounds]
    results = {}
    for name, candidates in encoders(texts, grid, seed).items():
        choice = choose(candidates(), lambda encode: features(encode, train), y, rule, splits)
        make = partial(features, choice.candidate)
        results[name] = _predicted(rule, choice.settings, make, train, tests)
        results[name]["cosine"] = {key: _cosines(choice.candidate, pairs) for key, pairs in tests.items()}
        if name in JOINED:
            scaler = StandardScaler().fit(_with_common(choice.candidate, train))
            shares = [
                ({**choice.settings, "share": share}, partial(_joined, choice.candidate, scaler, share))
                for share in SHARES
            ]
            plain = rule._replace(scaled=False, strengths=PLAIN)
            chosen = choose(shares, lambda make: make(train), y, plain, splits)
            results[f"{COMMON}, {name}"] = _predicted(plain, chosen.settings, chosen.candidate, train, tests)
    choice = choose([({}, common)], lambda make: make(train), y, rule, splits)
    results[COMMON] = _predicted(rule, choice.settings, common, train, tests)
    return results


def features(encode: Encode, pairs: Sequence[Compared]) -> NDArray[Any]:
    """Compare the vectors of pairs."""
    return pair_features(encode([pair.left for pair in pairs]), encode([pair.right for pair in pairs]))


def _with_common(encode: Encode, pairs: Sequence[Compared]) -> NDArray[Any]:
    """Compare vectors, then words, and the cosine of the vectors."""
    return np.hstack([features(encode, pairs), common(pairs), np.array(_cosines(encode, pairs))[:, None]])


def _joined(encode: Encode, scaler: StandardScaler, share: float, pairs: Sequence[Compared]) -> NDArray[Any]:
    """Standardise all columns, and make those of vectors small."""
    X = scaler.transform(_with_common(encode, pairs))
    X[:, :-4] *= share
    return np.asarray(X)


def common(pairs: Sequence[Compared]) -> NDArray[np.float64]:
    """Return the share of words of one sentence that are in the other, both ways, sorted, and the difference in length.

    Examples
    --------
    >>> from experiments.data import Compared
    >>> common([Compared("a good film", "a film", 1.0)]).round(2).tolist()
    [[0.67, 1.0, 1.0]]
    """
    rows = []
    for pair in pairs:
        left, right = words_of([pair.left, pair.right])
        shared = len({*left} & {*right})
        shares = sorted(shared / max(len({*side}), 1) for side in (left, right))
        rows.append([*shares, abs(len(left) - len(right))])
    return np.array(rows, float)


def _predicted(
    rule: Rule,
    settings: dict[str, Any],
    make: Callable[[Sequence[Compared]], NDArray[Any]],
    train: Sequence[Compared],
    tests: Mapping[str, Sequence[Compared]],
) -> dict[str, Any]:
    fitted = rule.make(settings["C"]).fit(make(train), np.array([pair.score for pair in train]))
    return {
        "settings": settings,
        "predicted": {name: fitted.predict(make(pairs)).round(4).tolist() for name, pairs in tests.items()},
    }


def _cosines(encode: Encode, pairs: Sequence[Compared]) -> list[float]:
    u, v = encode([pair.left for pair in pairs]), encode([pair.right for pair in pairs])
    scale = np.linalg.norm(u, axis=1) * np.linalg.norm(v, axis=1)
    return ((u * v).sum(axis=1) / np.where(scale > 0, scale, 1)).round(4).tolist()
