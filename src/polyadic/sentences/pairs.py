"""Pairs of sentences: comparison features, and regression of similarity scores."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from polyadic.core.containers import validated
from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Amount, Count, Model, Positive, Within

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def pair_features(left: ArrayLike, right: ArrayLike) -> NDArray[Any]:
    r"""Return the symmetric features :math:`[u \odot v, |u - v|]` of sentence vectors (Tai et al., 2015, section 4.2).

    >>> pair_features([[1.0, 2.0]], [[3.0, -1.0]]).tolist()
    [[3.0, -2.0, 2.0, 3.0]]
    """
    u, v = (x if x.dtype.kind == "f" else x.astype(float) for x in map(np.asarray, (left, right)))
    if u.shape != v.shape or u.ndim != 2:
        raise InputError(f"left and right must have the same shape (pairs, features); got {u.shape} and {v.shape}")
    return np.hstack([u * v, np.abs(u - v)])


class ScoreRegression(RegressorMixin, Model):  # type: ignore[misc]
    r"""Regression of bounded scores by a softmax distribution over integers.

    A score :math:`t` is represented by the distribution with :math:`1 - (t - \lfloor t \rfloor)` on :math:`\lfloor t
    \rfloor` and the rest on the next number. A softmax of linear functions is fitted to these by Kullback-Leibler
    divergence with a ridge penalty, and the prediction is the mean of its distribution. Numbers without a nearby score
    are ignored; with only two numbers, the difference of their functions is penalized.

    Parameters
    ----------
    low : int
        Lowest score :math:`K_1`.
    high : int
        Highest score :math:`K_2`.
    C : float
        Inverse strength of the penalty, as in scikit-learn's logistic regression.
    tol : float
        Tolerance of L-BFGS.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        The whole numbers that some score is near.
    coef_, intercept_ : ndarray of shape (c, features) and (c,)
        The linear functions; with two numbers, only their difference.

    References
    ----------
    Tai, Socher, Manning (2015), section 4.2; Huang, Anandkumar (2016), section 3.3, with its indices counted from 1.

    Examples
    --------
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> ScoreRegression(low=0, high=2, C=1e4).fit(X, 2 * X[:, 0]).predict([[0.5]]).round(2).tolist()
    [1.0]
    """

    _: KW_ONLY
    low: Annotated[int, Within(-(10**6))] = 0
    high: int = 5
    C: Positive = 1.0
    max_iter: Count = 1000
    tol: Amount = 1e-4

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the model to features and scores.

        InputError is raised if a score is out of range, all scores are the same whole number, or a setting is out of
        range.

        Features are such as those of :func:`~polyadic.sentences.pairs.pair_features`, scores from ``low`` to ``high``.
        """
        self.check()
        X, t = validated(self, X, y, y_numeric=True)
        if t.min() < self.low or t.max() > self.high:
            raise InputError(f"scores must be from {self.low} to {self.high}; got {t.min():g} to {t.max():g}")
        below = np.floor(t).astype(int)
        more = t - below
        labels, weights = np.concatenate([below, below + 1]), np.concatenate([1 - more, more])
        used = weights > 0  # each pair is there once, or twice with weights that sum to 1
        if len(np.unique(labels[used])) < 2:
            raise InputError(f"scores must contain at least two different values; all are {t[0]:g}")
        softmax = LogisticRegression(C=self.C, max_iter=self.max_iter, tol=self.tol)
        softmax.fit(np.vstack([X, X])[used], labels[used], weights[used])
        self.classes_, self.coef_, self.intercept_ = softmax.classes_, softmax.coef_, softmax.intercept_
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the predicted score of each row of features."""
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        softmax = LogisticRegression()
        softmax.classes_, softmax.coef_, softmax.intercept_ = self.classes_, self.coef_, self.intercept_
        return np.asarray(softmax.predict_proba(X) @ self.classes_)

    def check(self) -> None:
        """Raise InputError if a setting is out of range, or the score range contains fewer than two integers."""
        super().check()
        check_int("high", self.high, low=self.low + 1)
