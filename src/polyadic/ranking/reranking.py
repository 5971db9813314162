"""What rerankers share: learning from lists or from classes, a weight for each feature, choices; and which is best.

Classification is the choice from a list: every row has a candidate for each class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from polyadic.core.errors import InputError, check_choice
from polyadic.core.model import Callback, Count, Model, Seed
from polyadic.core.progress import tracked
from polyadic.core.query_groups import QueryGroups
from polyadic.core.solvers.run import run
from polyadic.ranking.passive_aggressive import Learner, passive_aggressive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    from polyadic.core.forms import Factors


LARGEST = 1 << 23
"""Numbers of a block, more or less."""


class ClassGroups:
    """Groups of classes, made block by block: feature ``j`` of a row is number ``c d + j`` of its candidate ``c``.

    As a tensor of sizes (d, classes), features in sequence, weights are thus a matrix with a column for each class.

    Parameters
    ----------
    X : csr_array of shape (rows, d)
    labels : ndarray of int of shape (rows,)
        The class that costs nothing; below 0 all cost 1, as the others do.
    classes : int
    rng : numpy.random.Generator, optional
        Of the order of rows; as they are without one.

    Examples
    --------
    >>> (groups,) = ClassGroups(as_rows(np.array([[5.0]])), np.array([1]), 2)
    >>> groups.features.toarray().tolist(), groups.costs.tolist()
    ([[5.0, 1.0, 0.0, 0.0], [0.0, 0.0, 5.0, 1.0]], [1.0, 0.0])
    """

    def __init__(
        self, X: csr_array, labels: NDArray[Any], classes: int, *, rng: np.random.Generator | None = None
    ) -> None:
        if labels.shape != (X.shape[0],):
            raise InputError(f"there are {X.shape[0]:,} rows and labels of shape {labels.shape}")
        order = np.arange(X.shape[0]) if rng is None else rng.permutation(X.shape[0])
        self._rows, self._labels, self._classes = X[order], labels[order], classes
        self._step = max(1, int(LARGEST * X.shape[0] / (classes * max(X.nnz, 1))))

    def __iter__(self) -> Iterator[QueryGroups]:
        for first in range(0, self._rows.shape[0], self._step):
            part = slice(first, first + self._step)
            yield self._block(self._rows[part], self._labels[part])

    def _block(self, X: csr_array, labels: NDArray[Any]) -> QueryGroups:
        from scipy.sparse import csr_array

        (n, d), K = X.shape, self._classes
        many = X[np.repeat(np.arange(n), K)]
        shift = np.tile(np.arange(K, dtype=np.int64) * d, n)
        columns = many.indices + np.repeat(shift, np.diff(many.indptr))
        features = csr_array((many.data, columns, many.indptr), shape=(n * K, K * d))
        costs = (np.arange(K) != labels[:, None]).astype(float).ravel()
        return QueryGroups(features, costs, np.arange(n + 1, dtype=np.int64) * K)


def as_rows(X: Any) -> csr_array:
    """Give rows of features with a one behind them.

    Raises
    ------
    InputError
        If they are no table of finite numbers.
    """
    from scipy.sparse import csr_array, hstack

    try:
        rows = csr_array(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"rows must be a table of numbers: {error}") from None
    if rows.ndim != 2 or not np.isfinite(rows.data).all():
        raise InputError("rows must be a table of finite numbers")
    return csr_array(hstack([rows, np.ones((rows.shape[0], 1))], format="csr"))


Unknown = Literal["ignore", "error"]


class Reranker(ClassifierMixin, Model, ABC):  # type: ignore[misc] # scikit-learn has no types
    """Base of models that choose from lists: each feature has a weight, and the highest score is chosen.

    Attributes
    ----------
    weights_ : ndarray of shape (features,)
    names_ : list of str or None
        Names of features, where lists have them.
    classes_ : ndarray
        If fitted to rows and labels.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`; the objective is the mean cost of what was chosen, each list
        by the weights before it.
    """

    max_iter: Count
    shuffle: bool
    seed: Seed
    callback: Callback

    @abstractmethod
    def _learner(self, blocks: Iterable[QueryGroups], V: int, rng: np.random.Generator) -> Learner:
        """Give what learns from blocks of so many features."""

    def fit(self, X: Any, y: ArrayLike | None = None, *, validation: Any = None) -> Self:
        """Learn from lists, or to classify.

        Parameters
        ----------
        X : QueryGroups, iterable of QueryGroups, or array or sparse matrix of shape (rows, features)
            Lists; blocks of them that can be gone through again and again, such as
            :class:`~polyadic.ranking.nbest.NBestLists`, of which one is held at a time; or what is to be
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
        self.check()
        rng = np.random.default_rng(self.seed)
        blocks, classes = self._blocks(X, y, rng)
        sizes = [(check_block(block).features.shape[1], len(block)) for block in blocks]
        V, count = max((width for width, _ in sizes), default=0), sum(count for _, count in sizes)
        if not V or not count:
            raise InputError(f"there are no {'lists' if V else 'features'} to learn from")
        learner = self._learner(blocks, V, rng.spawn(1)[0])  # the order of lists does not depend on the model
        solver = passive_aggressive(blocks, learner, rng=rng if self.shuffle else None)
        measure = None if validation is None else held_out_cost(validation, classes, V)
        result = run(solver, max_iter=self.max_iter, callback=self.callback, measure=measure)
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
        X : QueryGroups, or array or sparse matrix of shape (rows, features)
        unknown : {"ignore", "error"}
            What to do with features of candidates beyond those learned.

        Raises
        ------
        InputError
            If features do not fit.
        """
        check_is_fitted(self)
        check_choice("unknown", unknown, get_args(Unknown))
        if isinstance(X, QueryGroups):
            return candidate_scores(X, self.weights_, unknown)
        W = self._class_weights()
        rows = as_rows(X)
        if rows.shape[1] != W.shape[1]:
            raise InputError(f"rows have {rows.shape[1] - 1} features; {W.shape[1] - 1} were learned from")
        scores = np.asarray(rows @ W.T)
        return scores[:, 1] - scores[:, 0] if len(W) == 2 else scores

    def rerank(self, groups: QueryGroups, *, unknown: Unknown = "ignore") -> NDArray[np.int64]:
        """Give the candidate of highest score of each group, the first of equals; as :meth:`decision_function`."""
        return groups.choice(self.decision_function(groups, unknown=unknown))

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the class of each row, or the choice of each group."""
        if isinstance(X, QueryGroups):
            return self.rerank(X)
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)])

    def score(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Give the share of rows classified rightly; of groups, the negative mean cost of choices."""
        if isinstance(X, QueryGroups):
            return -X.cost(self.rerank(X))
        weights = None if sample_weight is None else np.asarray(sample_weight, float)
        return float(np.average(self.predict(X) == np.asarray(y), weights=weights))

    def _keep_parts(self, learner: Any, parts: Factors) -> None:
        """Keep what weights are made of."""

    def _blocks(
        self, X: Any, y: ArrayLike | None, rng: np.random.Generator
    ) -> tuple[Iterable[QueryGroups], NDArray[Any] | None]:
        """Give lists to learn from, and the classes if they are made of labels."""
        if y is None:
            return as_blocks(X), None
        classes, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(classes) < 2:
            raise InputError("labels must be of two classes at least")
        return ClassGroups(as_rows(X), labels, len(classes), rng=rng if self.shuffle else None), classes

    def _class_weights(self) -> NDArray[np.float64]:
        if not hasattr(self, "classes_"):
            raise InputError("the model was fitted to groups; give QueryGroups")
        return self.weights_.reshape(len(self.classes_), -1)


def candidate_scores(
    groups: QueryGroups, weights: NDArray[np.float64], unknown: Unknown = "ignore"
) -> NDArray[np.float64]:
    """Score candidates; features beyond the weights score nothing.

    Raises
    ------
    InputError
        If there are such, and ``unknown`` is "error".
    """
    X, V = groups.features, len(weights)
    if X.shape[1] > V:
        if unknown == "error" and (X.indices >= V).any():
            raise InputError(f"feature {X.indices.max()} was not learned; there are {V:,}, from 0")
        X = X[:, :V]
    return np.asarray(X @ weights[: X.shape[1]])


def as_blocks(X: Any) -> Iterable[QueryGroups]:
    """Give blocks of lists that can be gone through again and again.

    Raises
    ------
    InputError
        If they cannot.
    """
    if isinstance(X, QueryGroups):
        return [X]
    if not hasattr(X, "__iter__") or isinstance(X, np.ndarray) or hasattr(X, "tocsr"):
        raise InputError("give QueryGroups, blocks of QueryGroups, or rows with labels y")
    if iter(X) is X:
        raise InputError("give blocks that can be gone through again, such as a list; this iterator ends")
    blocks: Iterable[QueryGroups] = X
    return blocks


def check_block(block: object) -> QueryGroups:
    """Refuse a block that is none."""
    if not isinstance(block, QueryGroups):
        raise InputError(f"blocks must be QueryGroups; got {type(block).__name__}")
    return block


def held_out_cost(validation: Any, classes: NDArray[Any] | None, V: int) -> Callable[[Factors], float]:
    """Give what tells the mean cost of choices by ``V`` weights from lists held out, or from a pair of rows and labels.

    Raises
    ------
    InputError
        If rows have other features than those that are learned from; later, if there are no lists.
    """
    blocks = as_blocks(validation) if classes is None else _labelled(validation, classes, V)

    def cost(factors: Factors) -> float:
        paid = [
            (block.costs[block.choice(candidate_scores(block, factors[0]))].sum(), len(block))
            for block in map(check_block, blocks)
        ]
        total, count = np.sum(paid, axis=0) if paid else (0.0, 0)
        if not count:
            raise InputError("validation has no groups")
        return float(total / count)

    return cost


def _labelled(validation: Any, classes: NDArray[Any], V: int) -> ClassGroups:
    """Make lists of rows and labels; a label that is not learned costs, whatever is chosen."""
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        raise InputError("validation of classes is a pair of rows and labels")
    rows, labels = as_rows(validation[0]), np.asarray(validation[1])
    if rows.shape[1] * len(classes) != V:
        width = V // len(classes) - 1
        raise InputError(f"validation has {rows.shape[1] - 1} features; {width} are learned from")
    which = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    return ClassGroups(rows, np.where(classes[which] == labels, which, -1), len(classes))


class Chosen(NamedTuple):
    """The model that costs least, fitted, and what each costs.

    Attributes
    ----------
    best : Reranker
    costs : list of float
        Mean cost over the lists held out in the best epoch of each model, in the order of the models.
    """

    best: Any
    costs: list[float]


def choose(models: Sequence[Reranker], X: Any, y: Any = None, *, validation: Any) -> Chosen:
    """Fit each of some models, keep its best epoch, and take the model that costs least; the first of equals.

    Parameters
    ----------
    models : sequence of Reranker
        They are cloned; of different orders, ranks, C.
    X, y, validation
        See :meth:`~polyadic.ranking.reranking.Reranker.fit`.

    Raises
    ------
    InputError
        If there is no model, or as ``fit``.

    Examples
    --------
    >>> from polyadic.core.query_groups import QueryGroups
    >>> from polyadic.ranking.linear_rerankers import MIRA
    >>> lists = QueryGroups.of([[1, 0], [0, 1], [1, 1], [0, 1]], costs=[1, 0, 1, 0], group=[0, 0, 1, 1])
    >>> choose([MIRA(C=0.1), MIRA(C=1.0)], lists, validation=lists).costs
    [0.0, 0.0]
    """
    if not models:
        raise InputError("there is no model to choose from")
    fitted, costs = [], []
    for model in tracked(models, "choosing", total=len(models)):
        fitted.append(clone(model).fit(X, y, validation=validation))
        if fitted[-1].interrupted_:
            raise KeyboardInterrupt  # a fit that Ctrl-C ended early cannot be compared
        costs.append(min(fitted[-1].result_.measured))
    return Chosen(fitted[int(np.argmin(costs))], costs)
