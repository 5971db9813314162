"""Binary classification of word tuples by a low-rank tensor model over word features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import csr_array, hstack
from scipy.special import expit

from polyadic.core.containers import complete, numbers_of, targets_of
from polyadic.core.errors import InputError
from polyadic.core.forms import CP, Factors
from polyadic.core.losses import Logistic
from polyadic.core.model import Amount, Callback, Count, Model, Seed
from polyadic.core.penalties import L2
from polyadic.core.solvers.quasi_newton import quasi_newton

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

SPREAD = 0.1  # standard deviation of the initial factors


class TupleClassifier(Model):
    r"""Binary classifier of word tuples: a CP tensor model over the features of each word.

    .. math:: \min_\Theta \sum_n \ell\big(y_n, m_n\big) + \tfrac{\lambda}{2} \sum_d \|\Theta_d\|^2, \qquad
              m_n = \sum_r \prod_d \big[(c, f_{n_d}) \Theta_d\big]_r

    with the logistic loss. The constant feature c makes the product include all lower-order interactions: a word
    without features leaves the product of the others, as in back-off.

    Parameters
    ----------
    rank : int
        Number of CP components.
    ridge : float
        Strength :math:`\lambda` of the L2 penalty.
    constant : float
        Constant feature c; larger values favour lower-order interactions.
    starts : int
        Number of fits from different random starts, whose log-odds are averaged (an ensemble of rank
        ``starts * rank``). Ctrl-C ends the current fit and skips the remaining ones.
    max_iter : int
        Maximum number of iterations. The default stops early to avoid overfitting.

    Attributes
    ----------
    factors_ : list of ndarray of shape (words, starts * rank)
        Word factors of each position; the log-odds of a tuple are the sum of the elementwise product of its rows.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`; for the last start.

    References
    ----------
    Lei, Zhang, Marquez, Moschitti, Barzilay (2015), High-order low-rank tensors for semantic role labeling (a CP over
    features). Blondel, Fujino, Ueda, Ishihata (2016), Higher-order factorization machines (subsets).

    Examples
    --------
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [True, False, False, True]
    >>> model = TupleClassifier(2, ridge=0.01, seed=0).fit(X, y, features=[np.eye(2), np.eye(2)])
    >>> model.predict(X).tolist()
    [True, False, False, True]
    """

    rank: Count = 20
    _: KW_ONLY
    ridge: Amount = 5.0
    constant: Amount = 2.0
    starts: Count = 5
    max_iter: Count = 60
    tol: Amount = 0.0
    seed: Seed = None
    callback: Callback = None

    def fit(self, X: ArrayLike, y: ArrayLike, *, features: Sequence[Any]) -> Self:
        """Fit the classifier to labelled word tuples.

        ``X``, of shape (n, order), has the number of the word in each position, and ``y`` the label of each tuple.
        ``features`` are a matrix for each position, sparse or dense, with a row for each of its words, including words
        that occur only in later predictions.
        """
        self.check()
        known = [_with_constant(f, self.constant) for f in features]
        numbers = _numbers(X, [f.shape[0] for f in known])
        truth = np.asarray(targets_of(y), float)
        if truth.shape != (len(numbers),) or not np.isin(truth, [0, 1]).all() or not len(truth):
            about = f"y must contain one label (True or False) for each of the {len(numbers)} tuples"
            raise InputError(f"{about}; got shape {truth.shape}", "y")
        rng, fitted = np.random.default_rng(self.seed), []
        problem = _TupleObjective(known, numbers, truth, L2(self.ridge))
        for _ in range(self.starts):
            start = [rng.normal(scale=SPREAD, size=(f.shape[1], self.rank)) for f in known]
            for theta in start:
                theta[0] += rng.choice([-1, 1], self.rank) * self.rank ** (-1 / len(known))
            solver = quasi_newton(problem, start)
            fitted.append(self._optimize(solver))
            if self.interrupted_:
                break
        share = len(fitted) ** (-1 / len(known))
        self.factors_ = [np.hstack([share * (f @ theta[d]) for theta in fitted]) for d, f in enumerate(known)]
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the log-odds of the positive class for each tuple, shape (n,)."""
        return np.asarray(CP()(self.factors_, _numbers(X, [len(u) for u in self.factors_]))[0])

    def predict(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Predict the label of each tuple: True if the probability is above one half, shape (n,)."""
        return np.asarray(self.decision_function(X) > 0)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probabilities of the classes False and True for each tuple, shape (n, 2)."""
        true = expit(self.decision_function(X))
        return np.stack([1 - true, true], axis=1)


class _TupleObjective:
    """Regularized logistic loss of a tuple classifier as a function of the feature weights."""

    def __init__(self, features: list[csr_array], X: NDArray[np.int64], y: NDArray[np.float64], penalty: L2) -> None:
        self.features, self.X, self.y = features, X, y
        self.penalties = [penalty] * len(features)
        self.turned = [csr_array(f.T) for f in features]

    def value_and_gradient(self, factors: Factors) -> tuple[float, Factors]:
        m, pullback = CP()([f @ theta for f, theta in zip(self.features, factors, strict=True)], self.X)
        value = float(Logistic().value(self.y, m).sum())
        gradients = [t @ g for t, g in zip(self.turned, pullback(Logistic().grad(self.y, m)), strict=True)]
        ridged = zip(self.penalties, factors, gradients, strict=True)
        value += sum(penalty.value(theta) for penalty, theta in zip(self.penalties, factors, strict=True))
        return value, [g + penalty.grad(theta) for penalty, theta, g in ridged]


def _with_constant(features: Any, constant: float) -> csr_array:
    table = csr_array(complete(numbers_of(features, "features"), "features").values, dtype=float)
    return csr_array(hstack([csr_array(np.full((table.shape[0], 1), constant)), table]))


def _numbers(X: ArrayLike, sizes: list[int]) -> NDArray[np.int64]:
    numbers = np.asarray(X)
    if numbers.ndim != 2 or numbers.shape[1] != len(sizes) or numbers.dtype.kind not in "iu":
        got = f"{numbers.dtype} of shape {numbers.shape}"
        raise InputError(f"tuples must be an integer array of shape (n, {len(sizes)}); got {got}")
    if numbers.size and ((numbers < 0).any() or (numbers >= sizes).any()):
        about = "word indices must be non-negative and less than the vocabulary size of each position"
        raise InputError(f"{about}; sizes are {sizes}")
    return numbers.astype(np.int64)
