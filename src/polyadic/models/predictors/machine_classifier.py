"""Factorization machines that tell two classes apart."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from polyadic.models.base import Amount, Count, Seed, Threads, Watch
from polyadic.models.predictors.machine_base import Rank, TwoClasses
from polyadic.models.predictors.machine_descent import DescendingMachine, Solver, checked_weights, goes_on
from polyadic.solvers.predictors.machines import Observed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Part = tuple[Any, ArrayLike]


class FactorizationMachineClassifier(TwoClasses, DescendingMachine):
    r"""One of two classes from features and their products: :math:`P(y = 1) = \sigma(m(x))`, by the logistic loss.

    Parameters and attributes are those of :class:`~polyadic.models.predictors.machines.FactorizationMachine`, save
    ``loss``; ``classes_`` are the two, of which the score is for the second. More classes:
    ``sklearn.multiclass.OneVsRestClassifier``.

    References
    ----------
    Rendle (2010), Factorization machines, section III.B.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 4))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "alike", "apart")
    >>> FactorizationMachineClassifier(2, seed=0).fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.9
    True
    """

    loss = "logistic"

    rank: Rank = 8
    _: KW_ONLY
    order: int = 2
    solver: Solver = "als"
    ridge: float = 1.2
    linear_ridge: float = 1.0
    count_power: float = 0.5
    scale: float = 0.1
    step: float | None = None
    decay: float = 0.0
    batch: int | None = None
    max_iter: Count = 100
    tol: Amount = 1e-4
    seed: Seed = None
    threads: Threads = None
    watch: Watch = None

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, validation: Part | None = None
    ) -> Self:
        """Fit to rows of features, and to their classes.

        Parameters
        ----------
        X : csr or array of shape (rows, features)
        y : array of shape (rows,)
            Of two classes.
        sample_weight : array of shape (rows,), optional
        validation : (X, y), optional
            The sweep of the lowest loss there is kept, and five without a gain end the fit.

        Raises
        ------
        InputError, ValueError
            If values are not finite, there are not two classes, or a parameter is out of range.
        """
        table, labels = self._table_and_targets(X, y, reset=True, numeric=False)
        data = Observed(table, self._learned(labels), checked_weights(sample_weight, X))
        held_out = None
        if validation is not None:
            other, labels = self._table_and_targets(*validation, reset=False, numeric=False)
            held_out = Observed(other, self._truth(labels))
        return self._fit(data, held_out)

    @available_if(goes_on)  # type: ignore[untyped-decorator] # scikit-learn has no types
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Go once through more rows, in their order, with a stochastic solver; ``classes`` are due at the first call.

        Raises
        ------
        InputError, ValueError
            As in :meth:`fit`, or if a row is of another class.
        """
        first = not hasattr(self, "_V")
        table, labels = self._table_and_targets(X, y, reset=first, numeric=False)
        if first:
            self._learned(labels if classes is None else np.asarray(classes))
        return self._partial(Observed(table, self._truth(labels), checked_weights(sample_weight, X)))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Give the log-odds of the second class."""
        return self._scores(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the probabilities of both classes, of shape (rows, 2)."""
        from scipy.special import expit

        m = self._scores(X)
        return np.column_stack([expit(-m), expit(m)])
