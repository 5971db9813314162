"""What all factorization machines share: their columns, rows of features, and their folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from polyadic import resources
from polyadic.errors import InputError, check_int
from polyadic.kernels.predictors.machines import FeatureTable
from polyadic.models.base import Model, Natural, learned
from polyadic.solvers.predictors.machines import orders_of

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

Rank = Natural | tuple[Natural, ...]


class MachineBase(Model):
    """Base of models with linear weights and with factors for each order from 2 on."""

    rank: Rank
    order: int
    threads: int | None
    n_features_in_: int = learned()

    def __sklearn_tags__(self) -> Any:
        """Say that features may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Say whether there is a whole fit; the number of features is known before."""
        return hasattr(self, "_V") or hasattr(self, "draws_")

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the fitted model into a folder, whole or not at all; :func:`polyadic.load_machine` reads it.

        Raises
        ------
        InputError
            If something else is there.
        """
        from polyadic.models.predictors.machine_storage import save_machine

        check_is_fitted(self)
        save_machine(self, path, overwrite=overwrite)

    @property
    def _orders(self) -> NDArray[np.int64]:
        """The order of each column."""
        high = check_int("order", self.order, low=1)
        if isinstance(self.rank, tuple):
            if len(self.rank) != high - 1:
                raise InputError(f"rank must be one number, or one for each order from 2 to {high}; got {self.rank}")
            return orders_of(tuple(check_int("rank", r, low=0) for r in self.rank))
        return orders_of((check_int("rank", self.rank, low=0),) * (high - 1))

    @property
    def _threads(self) -> int:
        return resources.cores() if self.threads is None else check_int("threads", self.threads, low=1)

    def _table(self, X: Any, *, reset: bool = False) -> FeatureTable:
        return FeatureTable(
            canonical(validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset, order="C"))
        )

    def _table_and_targets(self, X: Any, y: ArrayLike, *, reset: bool, numeric: bool) -> tuple[FeatureTable, Any]:
        if reset:
            self._forget()
        X, found = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, reset=reset, y_numeric=numeric, order="C"
        )
        return FeatureTable(canonical(X)), found.astype(float) if numeric else found

    def _forget(self) -> None:
        """Drop an earlier fit, so that one that fails does not leave half of each."""
        for name in ("_V", "draws_"):
            if name in vars(self):
                delattr(self, name)


class TwoClasses(ClassifierMixin):  # type: ignore[misc]
    """What machines that tell two classes apart share; ``decision_function`` is theirs."""

    classes_: NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        """Say that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the likelier class of each row."""
        second = self.decision_function(X) > 0
        return self.classes_[second.astype(int)]

    def _learned(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Learn what the classes are; give 1 where y is the second, 0 elsewhere."""
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise InputError(
                f"Only binary classification is supported. The type of the target is {kind}; for more classes wrap the"
                " model in sklearn.multiclass.OneVsRestClassifier"
            )
        classes = np.unique(y)
        if len(classes) < 2:
            raise InputError(f"there must be two classes; got 1 class, {str(classes[0])!r}")
        self.classes_ = classes
        return self._truth(y)

    def _truth(self, y: NDArray[Any]) -> NDArray[np.float64]:
        if (strange := ~np.isin(y, self.classes_)).any():
            raise InputError(f"class {str(y[strange][0])!r} is none of {self.classes_.tolist()}")
        return (y == self.classes_[1]).astype(float)


def canonical(X: Any) -> csr_array:
    """Give a sparse array in rows, whose columns rise and which lists no zero, of what may be dense."""
    table = csr_array(X)
    if not table.has_canonical_format or not table.data.all():
        table = table.copy()
        table.sum_duplicates()
        table.eliminate_zeros()
    return table


def checked_groups(groups: ArrayLike | None, features: int) -> NDArray[np.int64]:
    """Give the group of each feature, all in one by default.

    Raises
    ------
    InputError
        If there is not one whole number from 0 on for each feature.
    """
    if groups is None:
        return np.zeros(features, np.int64)
    found = np.asarray(groups)
    if found.shape != (features,) or not np.issubdtype(found.dtype, np.integer) or (features and found.min() < 0):
        raise InputError(f"groups must be a whole number from 0 for each of {features} features; got {found!r:.80}")
    return np.asarray(np.unique(found, return_inverse=True)[1], np.int64)
