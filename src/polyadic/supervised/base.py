"""Base classes for factorization machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.containers import validated
from polyadic.core.errors import InputError
from polyadic.core.explanation import Explanation, parts_of_products
from polyadic.core.model import Amount, Callback, Count, Model, Natural, Seed, Threads
from polyadic.supervised.fm_solvers import Ridge, orders_of, started
from polyadic.supervised.kernels import FeatureTable, anova_scores

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Rank = Natural | tuple[Natural, ...]


class FactorizationMachineBase(Model):
    """Base class for factorization machines, with linear weights and factors for each interaction order.

    Parameters
    ----------
    rank : int or tuple of int
        Dimension of the factor vector of each feature, or one dimension per interaction order from 2 on.
    order : int
        Maximum number of features in a product; 1 gives a linear model.
    scale : float
        Standard deviation of the initial factors.
    """

    rank: Rank = 8
    _: KW_ONLY
    order: Count = 2
    scale: Amount = 0.1
    seed: Seed = None
    threads: Threads = None
    _tags: ClassVar[Any] = {"input_tags.sparse": True}

    def check(self) -> None:
        """Raise InputError if a setting is out of range or ``rank`` does not match ``order``."""
        super().check()
        if isinstance(self.rank, tuple) and len(self.rank) != self.order - 1:
            about = f"rank must be one number, or one for each order from 2 to {self.order}"
            raise InputError(f"{about}; got {self.rank}", "rank")

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the model is fitted."""
        return hasattr(self, "V_") or hasattr(self, "draws_")

    def explain(self, X: Any, names: Sequence[Any] | None = None) -> Explanation:
        r"""Decompose the score of a row into contributions of single features and of feature products.

        .. math:: m(x) = w_0 + \sum_j w_j x_j + \sum_{j < k} \langle v_j, v_k \rangle x_j x_k + \ldots

        The base is :math:`w_0`. Each feature of the row has a part, each pair, and with a higher ``order`` each larger
        set. The score is the prediction, or its logarithm (``loss="poisson"``), or the log-odds of the second of two
        classes. For posterior samples the parts are means, as predictions are. InputError is raised if predictions are
        not a sum of parts: probabilities averaged over samples, and clipped values.

        Parameters
        ----------
        X : csr or array of shape (1, features)
            Feature vector of one row.
        names : sequence of shape (features,), optional
            Feature names, such as ``names_`` of a :class:`~polyadic.supervised.fields.FieldEncoder`. By default the
            column names of the fitted data frame, or indices.

        Examples
        --------
        >>> from polyadic import FactorizationMachine
        >>> X = np.array([[0.0, 0, 1], [0, 1, 0], [1, 0, 1], [1, 1, 0]])
        >>> why = FactorizationMachine(1, ridge=0.01, seed=0).fit(X, [0, 0, 0, 4]).explain(X[[3]], names="abc")
        >>> why.parts[0][0], round(why.value, 1), len(why.parts)
        (('a', 'b'), 4.0, 3)
        """
        check_is_fitted(self)
        table = self._table(X)
        if table.shape[0] != 1:
            raise InputError(f"X must have exactly one row; got {table.shape[0]:,}")
        called = getattr(self, "feature_names_in_", range(table.shape[1])) if names is None else names
        if len(called) != table.shape[1]:
            about = f"names must have one name for each of the {table.shape[1]:,} features"
            raise InputError(f"{about}; got {len(called):,}", "names")
        score, machines, unit = self._sum(X)
        _, columns, x = table.rows
        V = np.hstack([V[columns] for V in machines]).astype(float)  # a sum of machines is a machine
        some = [called[j] for j in columns.tolist()]
        parts = parts_of_products(x, V, some, orders=np.tile(self._orders, len(machines)))
        return Explanation.of(float(score), ((name, unit * part) for name, part in parts))

    def _sum(self, X: Any) -> tuple[float, Sequence[AnyArray], float]:
        """Return a row's score, and parameters and scale of the machines that add up to it without a constant."""
        del X  # unused
        about = f"explanations are not supported by {type(self).__name__}, because averages of probabilities cannot"
        raise InputError(f"{about} be decomposed; use FactorizationMachineClassifier (solver als, adagrad or sgd)")

    @property
    def _orders(self) -> Ints:
        """Interaction order of each parameter column."""
        return orders_of(self.rank if isinstance(self.rank, tuple) else (self.rank,) * (self.order - 1))

    def _table(self, X: Any) -> FeatureTable:
        return FeatureTable(canonical(validated(self, X, accept_sparse="csr", reset=False, order="C")))

    def _table_and_targets(self, X: Any, y: ArrayLike, *, reset: bool, numeric: bool) -> tuple[FeatureTable, Any]:
        if reset:
            self._forget()
        X, targets = validated(self, X, y, accept_sparse="csr", reset=reset, y_numeric=numeric, order="C")
        return FeatureTable(canonical(X)), targets.astype(float) if numeric else targets

    def _forget(self) -> None:
        """Delete all fitted attributes, so that a failed refit leaves no outdated attributes."""
        for name in self._state():
            delattr(self, name)


class PointMachine(FactorizationMachineBase):
    r"""Base class for factorization machines with point estimates of the parameters.

    ``V_`` has shape (features, columns), with the linear weights first.

    Parameters
    ----------
    ridge : float
        Ridge penalty :math:`\lambda` on the factors.
    linear_ridge : float
        Ridge penalty :math:`\lambda_w` on the linear weights.
    count_power : float
        Exponent :math:`\gamma` of a feature's number of rows in its penalty: 0 penalises all alike, 1 in proportion.
    decay : float
        Decay :math:`d` of the learning rate.
    """

    _: KW_ONLY
    ridge: Amount
    linear_ridge: Amount
    count_power: Amount = 0.5
    decay: Amount = 0.0
    callback: Callback = None
    bias_ = 0.0
    """0 unless it is fitted."""

    @property
    def weights_(self) -> Array:
        """Linear weight of each feature."""
        check_is_fitted(self)
        return self.V_[:, 0]

    @property
    def factors_(self) -> list[Array]:
        """Factor matrix of each interaction order above 1, of shape (features, rank of the order)."""
        check_is_fitted(self)
        orders = self._orders
        return [self.V_[:, orders == d] for d in range(2, self.order + 1)]

    @property
    def _ridge(self) -> Ridge:
        columns = np.where(self._orders == 1, self.linear_ridge, self.ridge).astype(float)
        return Ridge(columns, float(self.count_power))

    def _started(self, table: FeatureTable, rng: np.random.Generator) -> Array:
        """Initialize factors with small random values, or zeros for features that occur in no row."""
        V = started(table, self._orders, self.scale, rng)
        V[table.counts == 0] = 0
        return V

    def _scores(self, X: Any) -> Array:
        """Return the score of each row, before any link function."""
        check_is_fitted(self)
        return self.bias_ + anova_scores(self._table(X), self.V_, orders=self._orders, threads=self._threads)

    def _sum(self, X: Any) -> tuple[float, Sequence[AnyArray], float]:
        return self._scores(X)[0], [self.V_], 1.0


class BinaryClassifier(ClassifierMixin):  # type: ignore[misc]
    """Mixin for binary classifiers whose subclasses define ``decision_function``."""

    def __sklearn_tags__(self) -> Any:
        """Declare that only binary classification is supported."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def predict(self, X: Any) -> AnyArray:
        """Predict the class of each row."""
        second = self.decision_function(X) > 0
        return np.asarray(self.classes_[second.astype(int)])

    def _learned(self, y: AnyArray) -> Array:
        """Store the two classes, and return the targets encoded as 0 and 1."""
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            about = f"Only binary classification is supported. The type of the target is {kind}"
            raise InputError(f"{about}; for more classes wrap the model in sklearn.multiclass.OneVsRestClassifier")
        classes = np.unique(y)
        if len(classes) < 2:
            raise InputError(f"y must have two classes; got 1 class, {str(classes[0])!r}", "y")
        self.classes_ = classes
        return self._truth(y)

    def _truth(self, y: AnyArray) -> Array:
        if (strange := ~np.isin(y, self.classes_)).any():
            raise InputError(f"labels must be among the classes {self.classes_.tolist()}; got {str(y[strange][0])!r}")
        return (y == self.classes_[1]).astype(float)


def canonical(X: Any) -> csr_array:
    """Return a CSR array in canonical format without explicit zeros."""
    table = csr_array(X)
    if not table.has_canonical_format or not table.data.all():
        table = table.copy()
        table.sum_duplicates()
        table.eliminate_zeros()
    return table
