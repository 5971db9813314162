r"""Semantic roles by multinomial logistic regression on the joined features of predicate, word and path.

.. math:: s(p, a, r) = \log \frac{P(r \mid p, a)}{P(\text{none} \mid p, a)}
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Self

import numpy as np

from polyadic.core.errors import InputError
from polyadic.core.model import Count, Positive
from polyadic.syntax.predicates import PredicateFinder
from polyadic.syntax.role_frames import check_sentences, framed, known_features, role_names
from polyadic.syntax.role_labels import Bits, Once, RoleLabels

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from polyadic.syntax.propositions import Sentence
    from polyadic.syntax.role_tensor import Frame

NEVER = -50.0
"""Logit of a role that no word near a predicate plays; finite, for the sake of sums."""


class RoleRegression(RoleLabels):
    """A role, or none, for each word by itself; then the best choice in which core roles are played once.

    It sees what the sparse part of :class:`~polyadic.syntax.semantic_roles.SemanticRoles` sees, and is what that
    model is compared with.

    Parameters
    ----------
    C : float
        The larger, the less weights are held back.
    least : int
        Words, of those that may be arguments, that must have a joined feature for it to count.
    max_iter : int
        Steps of L-BFGS.
    near, once, bits
        As in :class:`~polyadic.syntax.semantic_roles.SemanticRoles`.

    Attributes
    ----------
    weights_ : ndarray of shape (columns, roles + 1)
        The first column of none.
    columns_ : ndarray of shape (columns,)
        Cells of the joined features that count; the last row of the weights is the bias.
    known_, roles_, predicates_
        See :class:`~polyadic.syntax.role_labels.RoleLabels`.
    """

    C: Positive = 1.0
    _: KW_ONLY
    least: Count = 2
    max_iter: Count = 100
    near: bool = True
    once: Once = "core"
    bits: Bits = 20

    def fit(self, sentences: Iterable[Sentence]) -> Self:
        """Learn from sentences with roles.

        Parameters
        ----------
        sentences : iterable of Sentence

        Raises
        ------
        InputError
            If no predicate has arguments that may be found, or a parameter is out of range.
        """
        from scipy.sparse import csr_array
        from sklearn.linear_model import LogisticRegression

        self.check()
        corpus = list(sentences)
        check_sentences(corpus)
        finder = PredicateFinder().fit(corpus)
        known, names = known_features(corpus, least=1), role_names(corpus)
        frames = framed(corpus, known, names, near=self.near, bits=self.bits)
        cells = np.concatenate([frame.cells for frame, _ in frames])
        line, column = np.nonzero(cells >= 0)
        columns, place, count = np.unique(cells[line, column], return_inverse=True, return_counts=True)
        kept = count >= self.least
        if not kept.any():
            raise InputError(f"no joined feature is there {self.least} times or more; lower least")
        renumbered = np.cumsum(kept) - 1
        inside = kept[place]
        data = (np.ones(inside.sum(), np.float32), (line[inside], renumbered[place[inside]]))
        X = csr_array(data, shape=(len(cells), int(kept.sum())))
        y = np.concatenate([roles for _, roles in frames])
        fitted = LogisticRegression(C=self.C, max_iter=self.max_iter, tol=1e-3).fit(X, y)
        weights = np.zeros((X.shape[1] + 1, len(names) + 1))
        weights[-1] = NEVER
        seen = fitted.classes_ + 1
        weights[-1, seen] = 0
        own = seen[-len(fitted.coef_) :]  # of two classes the second alone has weights
        weights[:-1, own], weights[-1, own] = fitted.coef_.T, fitted.intercept_
        self.known_, self.roles_, self.predicates_ = known, names, finder
        self.columns_, self.weights_ = columns[kept], weights
        return self

    def _scores(self, frame: Frame) -> NDArray[np.float64]:
        at = np.searchsorted(self.columns_, frame.cells).clip(max=len(self.columns_) - 1)
        at[self.columns_[at] != frame.cells] = -1
        logits = np.where(at[:, :, None] >= 0, self.weights_[at], 0).sum(axis=1) + self.weights_[-1]
        return np.asarray(logits[:, 1:] - logits[:, :1])
