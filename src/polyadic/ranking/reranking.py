"""Base class for rerankers, with fitting to candidate lists or labels, scoring and model comparison.

Classification is treated as reranking: every row has one candidate per class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.containers import complete, match_columns, name_columns, numbers_of, targets_of
from polyadic.core.errors import InputError, check_choice
from polyadic.core.model import Callback, Count, Model, Seed
from polyadic.core.progress import tracked
from polyadic.core.query_groups import QueryGroups
from polyadic.core.solvers.run import run
from polyadic.ranking.passive_aggressive import Linear, Multilinear, passive_aggressive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy.sparse import csr_array

    from polyadic.core.forms import Factors

BLOCK_SIZE = 1 << 23  # approximate number of values per block


class ClassGroups:
    """Candidate lists of a classification problem, generated block by block.

    Feature ``j`` of a row is feature ``c d + j`` of its candidate ``c``, so the weights are a matrix with one column
    per class. A label below 0 gives all candidates cost 1.
    """

    def __init__(self, X: csr_array, labels: AnyArray, classes: int, *, rng: np.random.Generator | None = None) -> None:
        if labels.shape != (X.shape[0],):
            raise InputError(f"labels must have shape ({X.shape[0]},), one per row; got {labels.shape}", "labels")
        order = np.arange(X.shape[0]) if rng is None else rng.permutation(X.shape[0])
        self._rows, self._labels, self._classes = X[order], labels[order], classes
        self._step = max(1, int(BLOCK_SIZE * X.shape[0] / (classes * max(X.nnz, 1))))

    def __iter__(self) -> Iterator[QueryGroups]:
        from scipy.sparse import csr_array

        K, d = self._classes, self._rows.shape[1]
        for first in range(0, self._rows.shape[0], self._step):
            part = slice(first, first + self._step)
            X, labels = self._rows[part], self._labels[part]
            many = X[np.repeat(np.arange(len(labels)), K)]
            shift = np.tile(np.arange(K, dtype=np.int64) * d, len(labels))
            columns = many.indices + np.repeat(shift, np.diff(many.indptr))
            features = csr_array((many.data, columns, many.indptr), shape=(len(labels) * K, K * d))
            costs = (np.arange(K) != labels[:, None]).astype(float).ravel()
            yield QueryGroups(features, costs, np.arange(len(labels) + 1, dtype=np.int64) * K)


def as_rows(X: Any) -> csr_array:
    """Convert rows to a CSR matrix with a constant feature appended; raise InputError for non-finite values."""
    from scipy.sparse import csr_array, hstack

    rows = csr_array(complete(numbers_of(X, "rows"), "rows").values, dtype=np.float64)
    return csr_array(hstack([rows, np.ones((rows.shape[0], 1))], format="csr"))


Unknown = Literal["ignore", "error"]


class Reranker(ClassifierMixin, Model, ABC):  # type: ignore[misc] # scikit-learn has no types
    """Base class for models that choose the candidate with the highest score.

    The objective is the mean cost of the choices, each made before the update for its list.

    Parameters
    ----------
    averaged : bool
        Use the mean of the weights over all updates instead of the last weights.
    shuffle : bool
        Visit the lists of a block in a new random order in each epoch.

    Attributes
    ----------
    weights_, names_ : ndarray of shape (features,), list of str or None
        Feature weights, and feature names if the lists have them.
    classes_ : ndarray
        Classes, if fitted to rows and labels.
    """

    _: KW_ONLY
    max_iter: Count = 10
    averaged: bool = True
    shuffle: bool = True
    seed: Seed = 0
    callback: Callback = None

    @abstractmethod
    def _learner(self, blocks: Iterable[QueryGroups], V: int, rng: np.random.Generator) -> Linear | Multilinear:
        """Return the online learner for blocks of candidate lists with V features."""

    def fit(self, X: Any, y: ArrayLike | None = None, *, validation: Any = None) -> Self:
        """Fit the model to candidate lists or to labelled rows; InputError is raised if there is nothing to learn from.

        Parameters
        ----------
        X : QueryGroups, iterable of QueryGroups, or array or sparse matrix of shape (rows, features)
            Candidate lists; re-iterable blocks of them, such as :class:`~polyadic.ranking.nbest.NBestLists`, of which
            one is held at a time; or rows to classify, each class with its own weights and an intercept.
        y : array of shape (rows,), optional
            Labels of the rows.
        validation : as X, or a pair of rows and labels, optional
            Validation data. The weights of the epoch with the lowest cost on it are kept.
        """
        self.check()
        rng = np.random.default_rng(self.seed)
        blocks, classes = self._blocks(X, y, rng)
        sizes = [(check_block(block).features.shape[1], len(block)) for block in blocks]
        V, count = max((width for width, _ in sizes), default=0), sum(count for _, count in sizes)
        if not V or not count:
            raise InputError(f"X must contain at least one {'candidate list' if V else 'feature'}")
        learner = self._learner(blocks, V, rng.spawn(1)[0])  # the order of lists does not depend on the model
        solver = passive_aggressive(blocks, learner, rng=rng if self.shuffle else None)
        measure = None if validation is None else held_out_cost(validation, classes, V)
        result = run(solver, max_iter=self.max_iter, callback=self.callback, measure=measure)
        self.weights_, *parts = self._keep(result)  # an earlier fit is unchanged until here
        self._keep_parts(learner, parts)
        self.names_ = None if y is not None else getattr(X, "names", None)
        self.__dict__.pop("classes_", None)
        if classes is not None:
            self.classes_ = classes
        return self

    def decision_function(self, X: Any, *, unknown: Unknown = "ignore") -> Array:
        """Return the scores of candidates, shape (candidates,), or of the classes of rows, shape (rows, classes).

        For two classes it is the score of the second minus that of the first, shape (rows,). Features of candidates
        that were not seen in ``fit`` are ignored, unless ``unknown`` is "error". InputError is raised if the features
        of rows do not match those of ``fit``.
        """
        check_is_fitted(self)
        check_choice("unknown", unknown, get_args(Unknown))
        if isinstance(X, QueryGroups):
            return candidate_scores(X, self.weights_, unknown)
        if not hasattr(self, "classes_"):
            raise InputError("X must be QueryGroups, because the model was fitted to candidate lists")
        W = self.weights_.reshape(len(self.classes_), -1)
        rows = as_rows(X)
        match_columns(self, X)
        if rows.shape[1] != W.shape[1]:
            raise InputError(f"rows must have the same {W.shape[1] - 1} features as in fit; got {rows.shape[1] - 1}")
        scores = np.asarray(rows @ W.T)
        return scores[:, 1] - scores[:, 0] if len(W) == 2 else scores

    def rerank(self, groups: QueryGroups, *, unknown: Unknown = "ignore") -> Ints:
        """Return the index of the highest-scored candidate of each list; ties go to the first."""
        return groups.choice(self.decision_function(groups, unknown=unknown))

    def predict(self, X: Any) -> AnyArray:
        """Predict the class of each row, or the chosen candidate of each list."""
        if isinstance(X, QueryGroups):
            return self.rerank(X)
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)])

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy on rows, or the negative mean cost of the choices on lists."""
        if isinstance(X, QueryGroups):
            return -X.cost(self.rerank(X))
        weights = None if sample_weight is None else np.asarray(targets_of(sample_weight, "sample_weight"), float)
        return float(np.average(self.predict(X) == np.asarray(y), weights=weights))

    def _keep_parts(self, learner: Any, parts: Factors) -> None:
        """Store the factors of the weights in attributes, in models with low-rank weights."""

    def _blocks(
        self, X: Any, y: ArrayLike | None, rng: np.random.Generator
    ) -> tuple[Iterable[QueryGroups], AnyArray | None]:
        """Return the training lists, and the classes if the lists come from labels."""
        if y is None:
            return as_blocks(X), None
        classes, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) < 2:
            raise InputError("labels must have at least two classes")
        name_columns(self, X)
        return ClassGroups(as_rows(X), labels, len(classes), rng=rng if self.shuffle else None), classes


def candidate_scores(groups: QueryGroups, weights: Array, unknown: Unknown = "ignore") -> Array:
    """Return the linear score of each candidate; features beyond the weights score 0, or raise InputError."""
    X, V = groups.features, len(weights)
    if X.shape[1] > V:
        if unknown == "error" and (X.indices >= V).any():
            raise InputError(f"feature {X.indices.max()} was not seen in fit; features are 0 to {V - 1:,}")
        X = X[:, :V]
    return np.asarray(X @ weights[: X.shape[1]])


def as_blocks(X: Any) -> Iterable[QueryGroups]:
    """Return re-iterable blocks of candidate lists, or raise InputError for other input."""
    if isinstance(X, QueryGroups):
        return [X]
    if not hasattr(X, "__iter__") or isinstance(X, np.ndarray) or hasattr(X, "tocsr"):
        raise InputError("X must be QueryGroups, blocks of QueryGroups, or rows with labels y")
    if iter(X) is X:
        raise InputError("blocks must be re-iterable; pass a list instead of an iterator")
    blocks: Iterable[QueryGroups] = X
    return blocks


def check_block(block: object) -> QueryGroups:
    """Return a block of candidate lists, or raise InputError if its type is not QueryGroups."""
    if not isinstance(block, QueryGroups):
        raise InputError(f"blocks must be QueryGroups; got {type(block).__name__}")
    return block


def held_out_cost(validation: Any, classes: AnyArray | None, V: int) -> Callable[[Factors], float]:
    """Return a function that computes the mean cost on candidate lists, or on a pair of rows and labels."""
    blocks = as_blocks(validation) if classes is None else _labelled(validation, classes, V)

    def cost(factors: Factors) -> float:
        paid = [(b.costs[b.choice(candidate_scores(b, factors[0]))].sum(), len(b)) for b in map(check_block, blocks)]
        total, count = np.sum(paid, axis=0) if paid else (0.0, 0)
        if not count:
            raise InputError("validation must contain at least one candidate list", "validation")
        return float(total / count)

    return cost


def _labelled(validation: Any, classes: AnyArray, V: int) -> ClassGroups:
    """Convert rows and labels to candidate lists; for an unknown label every choice has cost 1."""
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        raise InputError("validation data of a classifier must be a pair of rows and labels")
    rows, labels = as_rows(validation[0]), np.asarray(validation[1])
    if rows.shape[1] * len(classes) != V:
        about = f"the same {V // len(classes) - 1} features as the training data; got {rows.shape[1] - 1}"
        raise InputError(f"validation must have {about}", "validation")
    which = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    return ClassGroups(rows, np.where(classes[which] == labels, which, -1), len(classes))


class BestReranker(NamedTuple):
    """Fitted model with the lowest validation cost, and the validation cost of each compared model."""

    best: Any
    costs: list[float]


def choose(models: Sequence[Reranker], X: Any, y: Any = None, *, validation: Any) -> BestReranker:
    """Fit clones of several models and return the one with the lowest validation cost; ties go to the first."""
    if not models:
        raise InputError("models must contain at least one model", "models")
    fitted, costs = [], []
    for model in tracked(models, "model selection", total=len(models)):
        fitted.append(clone(model).fit(X, y, validation=validation))
        if fitted[-1].interrupted_:
            raise KeyboardInterrupt  # a fit that Ctrl-C ended early cannot be compared
        costs.append(min(fitted[-1].result_.measured))
    return BestReranker(fitted[int(np.argmin(costs))], costs)
