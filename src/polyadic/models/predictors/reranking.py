"""What rerankers share: learning from lists or from classes, scores by one weight for each feature, choices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from polyadic.errors import InputError, check_choice, check_int
from polyadic.groups import Groups
from polyadic.models.base import Model, learned
from polyadic.models.predictors.class_groups import ClassGroups, as_rows
from polyadic.models.predictors.held_out import Unknown, as_blocks, candidate_scores, check_block, held_out_cost
from polyadic.solvers.predictors.passive_aggressive import Learner, passive_aggressive
from polyadic.solvers.run import Result, run

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike

    from polyadic.forms import Factors


class Reranker(ClassifierMixin, Model):  # type: ignore[misc] # scikit-learn has no types
    """Base of models that choose from lists: each feature has a weight, and the highest score is chosen.

    Attributes
    ----------
    weights_ : ndarray of shape (features,)
    names_ : list of str or None
        Names of features, where lists have them.
    classes_ : ndarray
        If fitted to rows and labels.
    result_, history_, n_iter_, converged_, interrupted_
        As those of :class:`~polyadic.models.base.Model`; the objective is the mean cost of what was chosen, each list
        by the weights before it.
    """

    weights_: NDArray[np.float64] = learned()
    names_: Sequence[str] | None = learned()
    classes_: NDArray[Any] = learned()
    max_iter: int
    shuffle: bool
    seed: int | None
    watch: Callable[[Result], None] | None
    _learner: Callable[[Iterable[Groups], int, np.random.Generator], Learner] = learned()
    """Check options; give what learns from blocks of so many features. A method of each model."""

    def fit(self, X: Any, y: ArrayLike | None = None, *, validation: Any = None) -> Self:
        """Learn from lists, or to classify.

        Parameters
        ----------
        X : Groups, iterable of Groups, or array or sparse matrix of shape (rows, features)
            Lists; blocks of them that can be gone through again and again, such as
            :class:`~polyadic.text.predictors.nbest.NBestLists`, of which one is held at a time; or what is to be
            classified. Each class then has weights of its own, and a constant feature.
        y : array of shape (rows,), optional
            Labels of rows.
        validation : as X, or a pair of rows and labels, optional
            The epoch is kept that costs least there.

        Raises
        ------
        InputError
            If there is nothing to learn from, or a parameter is out of range.
        """
        check_int("max_iter", self.max_iter, low=1)
        rng = np.random.default_rng(self.seed)
        blocks, classes = self._blocks(X, y, rng)
        sizes = [(check_block(block).features.shape[1], len(block)) for block in blocks]
        V, count = max((width for width, _ in sizes), default=0), sum(count for _, count in sizes)
        if not V or not count:
            raise InputError(f"there are no {'lists' if V else 'features'} to learn from")
        learner = self._learner(blocks, V, rng.spawn(1)[0])  # the order of lists does not depend on the model
        solver = passive_aggressive(blocks, learner, rng=rng if self.shuffle else None)
        measure = None if validation is None else held_out_cost(validation, classes, V)
        result = run(solver, max_iter=self.max_iter, watch=self.watch, measure=measure)
        self.weights_, *parts = self._keep(result)  # nothing of an earlier fit has changed until here
        self._keep_parts(learner, parts)
        self.names_ = None if y is not None else getattr(X, "names", None)
        self.__dict__.pop("classes_", None)
        if classes is not None:
            self.classes_ = classes
        return self

    def decision_function(self, X: Any, *, unknown: Unknown = "ignore") -> NDArray[np.float64]:
        """Give the scores of candidates, or of classes by row, shape (rows, classes); of two, by how much the second.

        Parameters
        ----------
        X : Groups, or array or sparse matrix of shape (rows, features)
        unknown : {"ignore", "error"}
            What to do with features of candidates beyond those learned.

        Raises
        ------
        InputError
            If features do not fit.
        """
        check_is_fitted(self)
        check_choice("unknown", unknown, get_args(Unknown))
        if isinstance(X, Groups):
            return candidate_scores(X, self.weights_, unknown)
        W = self._class_weights()
        rows = as_rows(X)
        if rows.shape[1] != W.shape[1]:
            raise InputError(f"rows have {rows.shape[1] - 1} features; {W.shape[1] - 1} were learned from")
        scores = np.asarray(rows @ W.T)
        return scores[:, 1] - scores[:, 0] if len(W) == 2 else scores

    def rerank(self, groups: Groups, *, unknown: Unknown = "ignore") -> NDArray[np.int64]:
        """Give the candidate of highest score of each group, the first of equals; as :meth:`decision_function`."""
        return groups.choice(self.decision_function(groups, unknown=unknown))

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class of each row, or the choice of each group."""
        if isinstance(X, Groups):
            return self.rerank(X)
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)])

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Give the share of rows classified rightly; of groups, the negative mean cost of choices."""
        if isinstance(X, Groups):
            return -X.cost(self.rerank(X))
        weights = None if sample_weight is None else np.asarray(sample_weight, float)
        return float(np.average(self.predict(X) == np.asarray(y), weights=weights))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model, whole or not at all; see :func:`~polyadic.models.predictors.reranker_storage.save_reranker`.

        Raises
        ------
        InputError
            If something else is there.
        """
        from polyadic.models.predictors.reranker_storage import save_reranker

        save_reranker(self, path, overwrite=overwrite)

    def _keep_parts(self, learner: Any, parts: Factors) -> None:
        """Keep what weights are made of."""

    def _blocks(
        self, X: Any, y: ArrayLike | None, rng: np.random.Generator
    ) -> tuple[Iterable[Groups], NDArray[Any] | None]:
        """Give lists to learn from, and the classes if they are made of labels."""
        if y is None:
            return as_blocks(X), None
        classes, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) < 2:
            raise InputError("labels must be of two classes at least")
        return ClassGroups(as_rows(X), labels, len(classes), rng=rng if self.shuffle else None), classes

    def _class_weights(self) -> NDArray[np.float64]:
        if not hasattr(self, "classes_"):
            raise InputError("the model was fitted to groups; give Groups")
        return self.weights_.reshape(len(self.classes_), -1)
