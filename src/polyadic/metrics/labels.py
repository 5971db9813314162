"""Multi-label classification: average precision, precision at k, and F1 above a threshold."""

from __future__ import annotations

import numpy as np

from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.errors import InputError
from polyadic.metrics.figures import Figure


def label_measures(truth: AnyArray, scores: AnyArray, threshold: float | None = None) -> dict[str, float]:
    """Evaluate label scores against the true labels of texts.

    InputError is raised if shapes do not match, or no text has a label.

    The result has ``micro_ap`` over all cells, ``macro_ap`` over labels that occur; ``precision_at_1``, ``_3`` and
    ``_5``, the share of the highest-scoring labels of a text that are correct; ``micro_f1`` and ``macro_f1`` likewise.

    Parameters
    ----------
    truth : ndarray of shape (texts, labels)
        True labels, zeros and ones.
    scores : ndarray of shape (texts, labels)
        Scores, higher for more probable labels, comparable over texts and labels.
    threshold : float, optional
        Score above which a label is predicted; without it F1 is not computed.

    Examples
    --------
    >>> truth, scores = np.array([[1, 0, 0], [0, 1, 0]]), np.array([[0.9, 0.2, 0.1], [0.8, 0.7, 0.3]])
    >>> found = label_measures(truth, scores, 0.6)
    >>> found["precision_at_1"], round(found["micro_ap"], 3), found["micro_f1"]
    (0.5, 0.833, 0.8)
    """
    from sklearn.metrics import average_precision_score, f1_score

    truth, scores = np.asarray(truth, bool), np.asarray(scores)
    if truth.shape != np.shape(scores) or truth.ndim != 2 or not truth.any():
        raise InputError(
            "truth and scores must be matrices of the same shape with at least one true label; got shapes"
            f" {truth.shape} and {np.shape(scores)}"
        )
    some = truth.any(axis=0)
    right = np.take_along_axis(truth, np.argsort(-scores, axis=1, kind="stable"), axis=1)
    measures = {
        "micro_ap": float(average_precision_score(truth, scores, average="micro")),
        "macro_ap": float(average_precision_score(truth[:, some], scores[:, some], average="macro")),
        **{f"precision_at_{k}": float(right[:, :k].sum() / (k * len(right))) for k in (1, 3, 5)},
    }
    if threshold is not None:
        predicted = scores > threshold
        measures["micro_f1"] = float(f1_score(truth, predicted, average="micro", zero_division=0))
        measures["macro_f1"] = float(f1_score(truth[:, some], predicted[:, some], average="macro", zero_division=0))
    return measures


def micro_precision(rows: Array, times: Ints) -> Array:
    """Compute the micro-averaged average precision of label scores in each bootstrap sample of texts.

    Examples
    --------
    >>> rows = np.array([[0.9, 0.2, 1, 0], [0.8, 0.7, 0, 1]])
    >>> micro_precision(rows, np.array([[1, 1], [0, 2]])).round(3).tolist()
    [0.833, 0.5]
    """
    scores, truth = np.split(rows, 2, axis=1)
    order = np.argsort(-scores, axis=None, kind="stable")
    text, right, scores = order // scores.shape[1], truth.ravel()[order], scores.ravel()[order]
    last = np.flatnonzero(np.diff(scores, append=-np.inf))  # of equal scores all are told or none
    found = np.full(len(times), np.nan)
    for sample, taken in enumerate(times):
        cells = taken[text]
        told, hits = np.cumsum(cells)[last], np.cumsum(cells * right)[last]
        if len(hits) and hits[-1]:
            found[sample] = np.diff(hits, prepend=0) @ (hits / np.maximum(told, 1)) / hits[-1]
    return found


def micro_figure(truth: AnyArray, scores: AnyArray) -> Figure:
    """Return the micro-averaged average precision as a metric with bootstrap confidence intervals over texts.

    Parameters are those of :func:`label_measures`.

    Examples
    --------
    >>> truth, scores = np.array([[1, 0, 0], [0, 1, 0]]), np.array([[0.9, 0.2, 0.1], [0.8, 0.7, 0.3]])
    >>> round(micro_figure(truth, scores).value, 3)
    0.833
    """
    rows = np.hstack([scores, truth]).astype(float)
    return Figure("micro-AP", rows, used=len(rows), total=len(rows), statistic=micro_precision)


def best_threshold(truth: AnyArray, scores: AnyArray) -> tuple[float, float]:
    """Return the score threshold that maximizes the micro-averaged F1 score, and the F1 score at this threshold.

    Parameters are those of :func:`label_measures`.

    Examples
    --------
    >>> threshold, f1 = best_threshold(np.array([[1, 0, 1, 0]]), np.array([[4.0, 3.0, 2.0, 1.0]]))
    >>> threshold < 2, round(f1, 3)
    (True, 0.8)
    """
    flat = np.asarray(scores).ravel()
    if np.shape(truth) != np.shape(scores) or not flat.size:
        raise InputError(
            f"truth and scores must be non-empty and have the same shape; got shapes {np.shape(truth)} and"
            f" {np.shape(scores)}"
        )
    if flat.dtype.kind != "f":  # else the threshold is to lie below the score in its own precision
        flat = flat.astype(float)
    order = np.argsort(-flat, kind="stable")
    hits = np.cumsum(np.asarray(truth).ravel()[order])
    last = np.r_[flat[order][1:] != flat[order][:-1], True]  # of equal scores all are told or none
    f = np.where(last, 2 * hits / (np.arange(1, len(order) + 1) + hits[-1]), 0.0)
    best = int(f.argmax())
    return float(np.nextafter(flat[order[best]], flat.dtype.type(-np.inf))), float(f[best])
