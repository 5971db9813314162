"""Factorization machines: linear models with products of features whose weights have a low rank."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if

from polyadic.errors import InputError, check_choice
from polyadic.models.base import Amount, Count, Seed, Threads, Watch
from polyadic.models.predictors.machine_base import Rank
from polyadic.models.predictors.machine_descent import DescendingMachine, Solver, checked_weights, goes_on
from polyadic.solvers.predictors.machines import Observed

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Part = tuple[Any, ArrayLike]


class FactorizationMachine(RegressorMixin, DescendingMachine):  # type: ignore[misc]
    r"""Numbers from features and from their products.

    .. math:: m(x) = w_0 + \sum_j w_j x_j + \sum_{j < k} \langle v_j, v_k \rangle x_j x_k + \ldots, \quad
              \min \sum_i \ell(y_i, m(x_i)) + \tfrac12 \sum_j n_j^\gamma (\lambda_w w_j^2 + \lambda \|v_j\|^2)

    where feature j stands in :math:`n_j` rows; with ``order=3`` there are products of three features, with factors of
    their own. A score costs time in proportion to what is not zero in a row.

    Parameters
    ----------
    rank : int or tuple of int
        Length of :math:`v_j`; a tuple has one for each order from 2 on.
    order : int
        Features in a product at most; 1 for a linear model.
    loss : {"squared", "huber", "poisson"}
        Half the squared error; absolute beyond 1; of counts whose logarithms are :math:`m`.
    solver : {"als", "adagrad", "sgd"}
        One parameter solved for after another, which never raises the objective; or stochastic steps, which serve
        ``partial_fit``.
    ridge, linear_ridge : float
        :math:`\lambda` and :math:`\lambda_w`.
    count_power : float
        :math:`\gamma`: 0 penalises all features alike, 1 by their rows.
    scale : float
        Standard deviation of the factors at the start.
    step, decay : float
        Epoch :math:`t` from 0 takes steps of :math:`\eta / (1 + d t)`; 0.3 for Adagrad, 0.02 without, by default.
    batch : int, optional
        Rows of a step; 256, or fewer if that makes less than 64 steps an epoch.
    max_iter, tol
        See :func:`~polyadic.solvers.run.run`.
    seed : int, optional
    threads : int, optional
        All cores by default; the result does not depend on them.
    watch : callable, optional
        Called with the :class:`~polyadic.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    bias_ : float
        :math:`w_0`.
    weights_ : ndarray of shape (features,)
        :math:`w`.
    factors_ : list of ndarray of shape (features, rank)
        Of order 2, of order 3, ...
    history_, n_iter_, converged_, interrupted_
        As those of :class:`~polyadic.models.words.symmetric.SymmetricCP`.

    References
    ----------
    Rendle (2010), Factorization machines, eq. 1 and 5. Blondel, Fujino, Ueda, Ishihata (2016), Higher-order
    factorization machines, eq. 2 and 5.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 6))
    >>> y = 1 + X[:, 0] + 2 * X[:, 1] * X[:, 2]
    >>> FactorizationMachine(2, ridge=1e-3, seed=0).fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.99
    True
    """

    rank: Rank = 8
    _: KW_ONLY
    order: int = 2
    loss: Literal["squared", "huber", "poisson"] = "squared"
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
        """Fit to rows of features, and to their numbers.

        Parameters
        ----------
        X : csr or array of shape (rows, features)
        y : array of shape (rows,)
        sample_weight : array of shape (rows,), optional
        validation : (X, y), optional
            The sweep of the lowest loss there is kept, and five without a gain end the fit.

        Raises
        ------
        InputError, ValueError
            If values are not finite, shapes do not fit, or a parameter is out of range.
        """
        data = self._observed(X, y, sample_weight, reset=True)
        return self._fit(data, None if validation is None else self._observed(*validation, None, reset=False))

    @available_if(goes_on)  # type: ignore[untyped-decorator] # scikit-learn has no types
    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Go once through more rows, in their order, with a stochastic solver; shapes and errors as in :meth:`fit`."""
        return self._partial(self._observed(X, y, sample_weight, reset=not hasattr(self, "_V")))

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Give the number of each row."""
        m = self._scores(X)
        return np.exp(m) if self.loss == "poisson" else m

    def _observed(self, X: Any, y: ArrayLike, weight: ArrayLike | None, *, reset: bool) -> Observed:
        check_choice("loss", self.loss, ("squared", "huber", "poisson"))
        table, numbers = self._table_and_targets(X, y, reset=reset, numeric=True)
        if self.loss == "poisson" and numbers.min() < 0:
            raise InputError(f"loss='poisson' is for counts; got {numbers.min():g}")
        return Observed(table, numbers, checked_weights(weight, X))
