"""Multi-label transduction: joint completion of partially known labels and features."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.base import TraceNormModel
from polyadic.completion.cells import cells_of, explained
from polyadic.core import resources
from polyadic.core.annotations import Array
from polyadic.core.containers import dense_of, match_columns, name_columns
from polyadic.core.errors import InputError
from polyadic.core.kernels import RowEntries, posterior_rows
from polyadic.core.losses import Logistic, Squared
from polyadic.core.model import Positive, Threads
from polyadic.core.solvers.smooth import CellLosses, SeparableSum, WithOffsets
from polyadic.core.solvers.trace_norm import Pattern, Problem

COPIES = 16  # number of 8-byte values held per cell if all are known: indices, values and working memory


class TransductiveCompletion(TraceNormModel):
    r"""Transductive multi-label classification by joint completion of labels and features.

    .. math:: \min_{Z, b} \omega \sum_{\mathrm{known\ labels}} \log(1 + e^{-y_{il} (z_{il} + b_l)})
              + \tfrac12 \sum_{\mathrm{known\ features}} (x_{ij} - z_{i, L + j})^2 + \lambda \|Z\|_*

    with y of 1 and -1. Unlabelled items are fitted through their features (transduction), and unknown features are
    completed. This is MC-b. In MC-1 there are no :math:`b`, and a column of ones is added to the features. Here its
    cells are observed cells, with the weight that does not shorten the steps; the paper instead resets the column to
    one after each step, which has no objective.

    Parameters
    ----------
    label_weight : float
        Weight :math:`\omega` of the label losses. Up to 4, steps are as long as for features alone.
    bias : {"offsets", "ones"}
        Intercepts of the labels: offsets (MC-b) or a column of ones (MC-1).

    Attributes
    ----------
    matrix_ : Spectral
        Z, of rank ``rank_``. Columns are labels, then features, then the ones of MC-1.
    offsets_ : ndarray of shape (labels,)
        Offsets b, with a ridge of the weight of one cell, since those of labels that never occur would be infinite.
    log_odds_ : ndarray of shape (items, labels)
        Log-odds of all labels.
    gap_ : float
        Duality gap, an upper bound of the distance of the objective to its minimum.

    References
    ----------
    Goldberg, Zhu, Recht, Xu, Nowak (2010), Transduction with matrix completion: three birds with one stone, section 2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 8))
    >>> y = (x[:, :3] > 0).astype(float)
    >>> y[20:] = np.nan
    >>> model = TransductiveCompletion(0.1).fit(x, y)
    >>> bool(((model.log_odds_[20:] > 0) == (x[20:, :3] > 0)).mean() > 0.9)
    True
    """

    _: KW_ONLY
    label_weight: Positive = 4.0
    bias: Literal["offsets", "ones"] = "offsets"
    threads: Threads = None

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model to the known labels and features of items.

        X has the features, NaN where unknown; cells that a sparse matrix does not store are zero. y has the labels 0 or
        1, NaN where unknown; rows of items to classify are NaN. InputError is raised for other labels, shapes that do
        not match, or a parameter out of range.
        """
        self.check()
        features = dense_of(X, "features")
        labels = _labels(y, len(features))
        name_columns(self, X)
        if np.isnan(features).all():
            raise InputError("at least one feature must be known")
        problem, offsets = self._problem(labels, features)
        answer = self._solved(problem)
        M, L = answer.M, labels.shape[1]
        self.matrix_, self.rank_, self.gap_ = M, M.rank, answer.gap
        self.offsets_ = np.zeros(L)
        if self.bias == "offsets":
            self.offsets_ = offsets.offsets(problem.pattern.at(M)[problem.pattern.columns < L])
        self.log_odds_ = np.asarray(self.offsets_ + (M.U * M.s) @ M.V[:L].T)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the log-odds of the labels of new items, of shape (items, labels), given their features."""
        check_is_fitted(self)
        features = dense_of(X, "features")
        match_columns(self, X)
        M, L, ones = self.matrix_, len(self.offsets_), int(self.bias == "ones")
        if features.shape[1] != len(M.V) - L - ones:
            raise InputError(f"X must have {len(M.V) - L - ones:,} features; got {features.shape[1]:,}")
        cells = cells_of(np.hstack([features, np.ones((len(features), ones))]))
        V, R = M.V * np.sqrt(M.s), M.rank
        weights = np.where(cells.columns < features.shape[1], 1.0, self._weight_of_ones())
        entries = RowEntries(cells.starts, cells.columns, weights, weights * cells.values)
        U = posterior_rows(entries, V[L:], precision=self.penalty * np.eye(R), threads=1)
        return np.asarray(self.offsets_ + U @ V[:L].T)

    def score(self, X: Any, y: Any) -> float:
        """Return the explained deviance of the known labels of new items, given as in :meth:`fit`."""
        odds = self.decision_function(X)
        labels = _labels(y, len(odds))
        if labels.shape != odds.shape:
            raise InputError(f"y must have {odds.shape[1]:,} labels; got {labels.shape[1]:,}", "y")
        known = ~np.isnan(labels)
        return explained(labels[known], odds[known], Logistic())

    def _problem(self, labels: Array, features: Array) -> tuple[Problem, WithOffsets]:
        """Set up the trace norm problem for the joint matrix of labels, features and an optional column of ones."""
        weight, ones, L = float(self.label_weight), int(self.bias == "ones"), labels.shape[1]
        needed = COPIES * 8.0 * len(labels) * (L + features.shape[1])
        resources.check_memory(needed, "a matrix of all labels and features", "use fewer items or features")
        cells = cells_of(np.hstack([labels, features, np.ones((len(labels), ones))]))
        pattern = Pattern(cells.rows, cells.columns, cells.shape, threads=self._threads)
        known, rest = np.flatnonzero(cells.columns < L), np.flatnonzero(cells.columns >= L)
        x, groups, loss = cells.values[known], cells.columns[known], Logistic()
        plain = CellLosses(x, loss, np.full(len(x), weight))
        offsets = WithOffsets(x, groups, loss, weight=weight, ridge=weight, number=L)
        weights = np.where(cells.columns[rest] < L + features.shape[1], 1.0, self._weight_of_ones())
        described = CellLosses(cells.values[rest], Squared(), weights)
        smooth = SeparableSum([(known, plain if ones else offsets), (rest, described)])
        return Problem(pattern, smooth, float(self.penalty)), offsets

    def _weight_of_ones(self) -> float:
        return max(1.0, self.label_weight * Logistic().curvature)


def _labels(y: Any, items: int) -> Array:
    """Return the labels of items as an array, or raise InputError if they do not fit."""
    labels = dense_of(y, "labels")
    if labels.ndim != 2 or len(labels) != items:
        raise InputError(f"y must have one row for each of the {items:,} items; got shape {labels.shape}", "y")
    known = labels[~np.isnan(labels)]
    if not len(known) or not np.isin(known, (0, 1)).all():
        raise InputError("labels must be 0 or 1, or NaN where unknown; at least one must be known")
    return labels
