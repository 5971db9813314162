r"""Semantic role labelling by multinomial logistic regression on joint features of predicate, word and path.

.. math:: s(p, a, r) = \log \frac{P(r \mid p, a)}{P(\text{none} \mid p, a)}
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.annotations import Array
from polyadic.core.errors import InputError
from polyadic.core.model import Count, Positive
from polyadic.syntax.role_features import Frame, Known, framed, known_features
from polyadic.syntax.role_labels import Bits, Once, RoleLabels

if TYPE_CHECKING:
    from polyadic.syntax.propositions import Sentence

UNSEEN_LOGIT = -50.0  # logit of a role that no candidate word has in training; finite, so that sums are defined


class RoleRegression(RoleLabels):
    """Semantic role labeller by logistic regression, with joint assignment of at most one word per core role.

    It uses the sparse features of :class:`~polyadic.syntax.semantic_roles.SemanticRoles` and is its baseline.

    Parameters
    ----------
    C : float
        Inverse regularization strength of the regression.
    min_count : int
        Minimum number of candidate words that have a joined feature.
    bits : int
        Base-2 logarithm of the number of hashed features.

    Attributes
    ----------
    columns_, weights_ : ndarray of shape (columns,) and (columns + 1, roles + 1)
        Hashed features that are used, and their weights; the last row is the bias, the first column no role.
    known_, roles_, predicates_
        See :class:`~polyadic.syntax.role_labels.RoleLabels`.
    """

    C: Positive = 1.0
    _: KW_ONLY
    min_count: Count = 2
    max_iter: Count = 100
    near: bool = True
    once: Once = "core"
    bits: Bits = 20

    def _learn(self, sentences: list[Sentence], names: list[str]) -> Known:
        from sklearn.linear_model import LogisticRegression

        known = known_features(sentences, min_count=1)
        frames = framed(sentences, known, names, near=self.near, bits=self.bits)
        cells = np.concatenate([frame.cells for frame, _ in frames])
        line, column = np.nonzero(cells >= 0)
        columns, place, count = np.unique(cells[line, column], return_inverse=True, return_counts=True)
        kept = count >= self.min_count
        if not kept.any():
            raise InputError(f"no joint feature occurs at least {self.min_count} times; lower min_count", "min_count")
        renumbered = np.cumsum(kept) - 1
        inside = kept[place]
        data = (np.ones(inside.sum(), np.float32), (line[inside], renumbered[place[inside]]))
        X = csr_array(data, shape=(len(cells), int(kept.sum())))
        y = np.concatenate([roles for _, roles in frames])
        fitted = LogisticRegression(C=self.C, max_iter=self.max_iter, tol=1e-3).fit(X, y)
        weights = np.zeros((X.shape[1] + 1, len(names) + 1))
        weights[-1] = UNSEEN_LOGIT
        seen = fitted.classes_ + 1
        weights[-1, seen] = 0
        own = seen[-len(fitted.coef_) :]  # with two classes only the second has weights
        weights[:-1, own], weights[-1, own] = fitted.coef_.T, fitted.intercept_
        self.columns_, self.weights_ = columns[kept], weights
        return known

    def _scores(self, frame: Frame) -> Array:
        at = np.searchsorted(self.columns_, frame.cells).clip(max=len(self.columns_) - 1)
        at[self.columns_[at] != frame.cells] = -1
        logits = np.where(at[:, :, None] >= 0, self.weights_[at], 0).sum(axis=1) + self.weights_[-1]
        return np.asarray(logits[:, 1:] - logits[:, :1])
