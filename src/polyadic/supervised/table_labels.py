"""Prediction of several label columns of a table from its other columns, which may be numbers, categories or texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.core.annotations import AnyArray, Array
from polyadic.core.containers import is_missing
from polyadic.core.errors import InputError, meant
from polyadic.core.model import Amount, Callback, Count, Model
from polyadic.core.selection import select
from polyadic.supervised.fields import FieldEncoder, columns_of
from polyadic.supervised.multitask import LossName, LowRankTasks
from polyadic.text.tokens import Tokenizer

if TYPE_CHECKING:
    from scipy.sparse import csr_array

TOKENIZER = Tokenizer(digits="drop")
MARKS = {"no": 0.0, "false": 0.0, "yes": 1.0, "true": 1.0}  # values of binary labels that are not numbers
MIN_ROWS = 20  # minimum number of rows for the selection of settings


class TableLabels(Model):
    r"""Several labels of each row of a table, predicted from its other columns with low-rank weights.

    The labels are the tasks of :class:`~polyadic.supervised.multitask.LowRankTasks`. They are numbers, or yes and no
    (true and false); missing ones are unknown. If all are 0 or 1, they are predicted by logistic regression, else by
    least squares. A column of numbers is a standardized feature, of which a missing value counts as the mean; a column
    of ``texts`` is a bag of words of length 1, and each value of another column is a feature.

    Parameters
    ----------
    rank : int, optional
        Number of shared directions; by default selected on held-out rows.
    ridge : float, optional
        Penalty :math:`\lambda`; by default selected on held-out rows.
    loss : {"logistic", "squared", "huber"}, optional
        Loss of a label; by default logistic if all labels are 0 or 1, else squared.
    texts, categories : list of str
        Columns of text, and columns of numbers of which each value is a feature.
    budget : float, optional
        Time limit of the selection in seconds.

    Attributes
    ----------
    labels_ : list of str
        Names of the labels.
    encoder_ : FieldEncoder
        Encoder of the columns.
    scales_ : dict of str to list of float
        Mean and standard deviation of each column of numbers.
    model_ : LowRankTasks
        Fitted weights.

    Examples
    --------
    >>> table = {"text": ["war and love", "love", "war", "peace"] * 9, "year": [1, 2, 3, 4] * 9}
    >>> table |= {"romance": [1, 1, 0, 0] * 9, "history": ["yes", "no", "yes", "no"] * 9}
    >>> model = TableLabels(texts=["text"]).fit(table, ["romance", "history"])
    >>> model.predict({"text": ["love and war"], "year": [1]}).tolist()
    [[True, True]]
    """

    rank: Count | None = None
    _: KW_ONLY
    ridge: Amount | None = None
    loss: LossName | None = None
    texts: Sequence[str] = ()
    categories: Sequence[str] = ()
    budget: Amount | None = None
    max_iter: Count = 500
    tol: Amount = 1e-4
    callback: Callback = None

    def fit(self, X: Any, y: Sequence[str]) -> Self:
        """Fit the model to a table.

        ``X``, a mapping of str to sequence, a data frame, or a list of dict, has the columns of features and of labels;
        ``y`` are the names of the columns of labels. InputError is raised if a column is missing, a label is neither a
        number nor yes or no, or all labels are unknown.
        """
        self.check()
        table, names = columns_of(X), [y] if isinstance(y, str) else list(y)
        Y = self._targets(table, names)
        features = {name: column for name, column in table.items() if name not in names}
        if not features:
            raise InputError("the table must have a column of features beside the labels")
        self.labels_, self.scales_, self.encoder_ = names, {}, FieldEncoder()
        plain = [name for name in features if name not in {*self.texts, *self.categories}]
        for name, numbers in ((name, _numbers(features[name])) for name in plain):
            if numbers is not None:
                self.scales_[name] = [float(np.nanmean(numbers)), float(np.nanstd(numbers)) or 1.0]
        X = self._encoded(features, [*features, *self.texts, *self.categories])
        if not X.shape[1]:
            raise InputError("the table must have a value in a column of features; all are missing")
        loss: Any = self.loss or ("logistic" if np.isin(Y[~np.isnan(Y)], (0, 1)).all() else "squared")
        given = {name: value for name in ("rank", "ridge") if (value := getattr(self, name)) is not None}
        model = LowRankTasks(loss=loss, max_iter=self.max_iter, tol=self.tol, callback=self.callback, **given)
        if len(Y) < MIN_ROWS or len(given) == 2:
            self.model_ = model.fit(X, Y)
        else:
            self.model_ = select(model, X, y=Y, keep=given, budget=self.budget)
            self.selection_ = self.model_.selection_
        self._keep(self.model_.result_)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the predicted labels, or the log-odds of logistic regression, of shape (rows, labels)."""
        return self._fitted.decision_function(self._encoded(columns_of(X)))

    def predict(self, X: Any) -> AnyArray:
        """Predict the labels of each row, of shape (rows, labels); columns that the fit did not have are ignored."""
        return self._fitted.predict(self._encoded(columns_of(X)))

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each label, of shape (rows, labels); only for labels of 0 and 1."""
        return self._fitted.predict_proba(self._encoded(columns_of(X)))

    def targets(self, X: Any) -> Array:
        """Return the labels in the columns of a table, NaN where unknown, of shape (rows, labels)."""
        return self._targets(columns_of(X), self.labels_)

    def score(self, X: Any, y: object = None) -> float:
        """Return the negative mean loss of the known labels of a table."""
        return self._fitted.score(self._encoded(columns_of(X)), self.targets(X))

    @property
    def _fitted(self) -> LowRankTasks:
        check_is_fitted(self, "model_")
        return self.model_

    def _targets(self, table: Mapping[str, Any], labels: Sequence[str]) -> Array:
        if not labels or len(set(labels)) < len(labels):
            raise InputError("labels must be the names of one or more columns, each given once", "labels")
        found = []
        for name in labels:
            values = [MARKS.get(str(value).strip().lower(), value) for value in _column(table, name)]
            if (numbers := _numbers(values)) is None:
                about = f"label {name} must contain numbers, or yes and no"
                raise InputError(f"{about}; {_first(values)}. Of categories, make one column of 0 and 1 each")
            found.append(numbers)
        return np.column_stack(found)

    def _encoded(self, table: Mapping[str, Any], fields: Sequence[str] | None = None) -> csr_array:
        """Return the feature vectors of the rows of a table; in the fit, of the given fields."""
        columns: dict[str, Any] = {}
        for name in fields or self.encoder_.values_:
            column = list(_column(table, name))
            if name in self.texts:
                words = ([] if is_missing(text) else chain.from_iterable(TOKENIZER(str(text))) for text in column)
                columns[name] = [list(some) for some in words]
            elif name in self.scales_:
                mean, scale = self.scales_[name]
                if (numbers := _numbers(column)) is None:
                    raise InputError(f"column {name} must contain numbers, as in the training table; {_first(column)}")
                columns[name] = np.nan_to_num((numbers - mean) / scale)
            else:
                columns[name] = [None if is_missing(value) or value == "" else str(value) for value in column]
        X = (self.encoder_.fit(columns) if fields else self.encoder_).transform(columns)
        rows, field = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), self.encoder_.groups_[X.indices]
        for here in (field == at for at, name in enumerate(self.encoder_.values_) if name in self.texts):
            X.data[here] /= np.sqrt(np.bincount(rows[here], X.data[here] ** 2, X.shape[0]))[rows[here]]
        return X


def _column(table: Mapping[str, Any], name: str) -> Any:
    if name not in table:
        hint = meant(name, map(str, table)) or f"; its columns are {', '.join(map(str, table))}"
        raise InputError(f"the table has no column {name!r}{hint}")
    return table[name]


def _numbers(column: Sequence[Any]) -> Array | None:
    """Return a column as numbers, NaN where missing; None if a value is no finite number, or all are missing."""
    try:
        numbers = np.array([np.nan if is_missing(value) or value == "" else value for value in column], float)
    except (TypeError, ValueError):
        return None
    return None if np.isinf(numbers).any() or np.isnan(numbers).all() else numbers


def _first(column: Sequence[Any]) -> str:
    """Return the row and the value of the first cell that is no number, for a message."""
    wrong = (f"row {at} is {value!r:.60}" for at, value in enumerate(column, 1) if _numbers([value, 0]) is None)
    return next(wrong, "all are missing")
