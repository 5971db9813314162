"""What rerankers share: learning from lists or from classes, scores by one weight for each feature, choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from lowrank.errors import InputError, check_choice, check_int
from lowrank.groups import Groups
from lowrank.models.predictors.class_groups import ClassGroups, as_rows
from lowrank.solvers.passive_aggressive import passive_aggressive
from lowrank.solvers.run import Fitted, run

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from lowrank.forms import Factors
    from lowrank.solvers.passive_aggressive import Learner
    from lowrank.solvers.run import Result

Unknown = Literal["ignore", "error"]


class Reranker(Fitted, ClassifierMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Base of models that choose from lists: each feature has a weight, and the highest score is chosen.

    Attributes
    ----------
    weights_ : ndarray of shape (features,)
    names_ : list of str or None
        Names of features, where lists have them.
    classes_ : ndarray
        If fitted to rows and labels.
    result_, history_, n_iter_, converged_, interrupted_
        As those of :class:`~lowrank.solvers.run.Fitted`; the objective is the mean cost of what was chosen, each list
        by the weights before it.
    """

    weights_: NDArray[np.float64]
    names_: Sequence[str] | None
    classes_: NDArray[Any]
    max_iter: int
    shuffle: bool
    seed: int | None
    watch: Callable[[Result], None] | None

    def fit(self, X: Any, y: ArrayLike | None = None, *, validation: Any = None) -> Self:
        """Learn from lists, or to classify.

        Parameters
        ----------
        X : Groups, iterable of Groups, or array or sparse matrix of shape (rows, features)
            Lists; blocks of them that can be gone through again and again, such as
            :class:`~lowrank.text.nbest.NBestLists`, of which one is held at a time; or what is to be classified. Each
            class then has weights of its own, and a constant feature.
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
        self.__dict__.pop("classes_", None)
        rng = np.random.default_rng(self.seed)
        blocks = self._blocks(X, y, rng)
        V = max(map(_width, blocks), default=0)
        if not V:
            raise InputError("there are no features to learn from")
        learner = self._learner(blocks, V, rng.spawn(1)[0])  # the order of lists does not depend on the model
        solver = passive_aggressive(blocks, learner, rng=rng if self.shuffle else None)
        measure = None if validation is None else self._measure(validation)
        result = run(solver, max_iter=self.max_iter, watch=self.watch, measure=measure)
        self.weights_, *parts = self._keep(result)
        self._place(parts)
        self.names_ = getattr(X, "names", None)
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
            return self._scores(X, self.weights_, unknown)
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
        """Write the model, whole or not at all; see :func:`~lowrank.models.predictors.reranker_storage.save_reranker`.

        Raises
        ------
        InputError
            If something else is there.
        """
        from lowrank.models.predictors.reranker_storage import save_reranker

        save_reranker(self, path, overwrite=overwrite)

    def _learner(self, blocks: Iterable[Groups], V: int, rng: np.random.Generator) -> Learner:
        """Check options; give what learns."""
        raise NotImplementedError

    def _place(self, parts: Factors) -> None:
        """Keep what weights are made of."""

    def _blocks(self, X: Any, y: ArrayLike | None, rng: np.random.Generator) -> Iterable[Groups]:
        if y is not None:
            self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
            if len(self.classes_) < 2:
                raise InputError("labels must be of two classes at least")
            return ClassGroups(as_rows(X), labels, len(self.classes_), rng=rng if self.shuffle else None)
        if isinstance(X, Groups):
            return [X]
        if not hasattr(X, "__iter__") or isinstance(X, np.ndarray) or hasattr(X, "tocsr"):
            raise InputError("give Groups, blocks of Groups, or rows with labels y")
        if iter(X) is X:
            raise InputError("give blocks that can be gone through again, such as a list; this iterator ends")
        blocks: Iterable[Groups] = X
        return blocks

    def _measure(self, validation: Any) -> Callable[[Factors], float]:
        """Give the mean cost of choices by weights."""
        if hasattr(self, "classes_"):
            rows, labels = validation
            which = np.searchsorted(self.classes_, labels).clip(max=len(self.classes_) - 1)
            which = np.where(self.classes_[which] == np.asarray(labels), which, -1)
            validation = ClassGroups(as_rows(rows), which, len(self.classes_))
        blocks = [validation] if isinstance(validation, Groups) else validation

        def measure(factors: Factors) -> float:
            paid = [(block.cost(block.choice(self._scores(block, factors[0]))), len(block)) for block in blocks]
            if not paid:
                raise InputError("validation has no groups")
            return float(np.average([cost for cost, _ in paid], weights=[count for _, count in paid]))

        return measure

    def _scores(self, groups: Groups, weights: NDArray[np.float64], unknown: Unknown = "ignore") -> Any:
        X, V = groups.features, len(weights)
        if X.shape[1] > V:
            if unknown == "error" and (X.indices >= V).any():
                raise InputError(f"feature {X.indices.max()} was not learned; there are {V:,}, from 0")
            X = X[:, :V]
        return np.asarray(X @ weights[: X.shape[1]])

    def _class_weights(self) -> NDArray[np.float64]:
        if not hasattr(self, "classes_"):
            raise InputError("the model was fitted to groups; give Groups")
        return self.weights_.reshape(len(self.classes_), -1)


def _width(block: object) -> int:
    if not isinstance(block, Groups):
        raise InputError(f"blocks must be Groups; got {type(block).__name__}")
    return int(block.features.shape[1])
