"""Loss functions of a prediction ``m`` for an observed value ``x``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np
from scipy.special import entr, expit, logit, xlogy

from polyadic.core.annotations import AnyArray
from polyadic.core.errors import check_number

Zeros = Literal["squares", "total"]


class Loss(Protocol):
    """Interface of elementwise loss functions and their derivatives with respect to the prediction."""

    @property
    def zeros(self) -> Zeros | None:
        """Closed form for the total loss of zero cells: ``"squares"``, ``"total"``, or None if there is none.

        ``"squares"`` is half the sum of squared predictions, ``"total"`` the sum of predictions.
        """

    def value(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the loss of each entry."""

    def grad(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the derivative of the loss of each entry with respect to the prediction."""


class Convex(Loss, Protocol):
    """Interface of convex losses with a Lipschitz-continuous derivative, as required for duality gaps."""

    @property
    def curvature(self) -> float:
        """Lipschitz constant of the derivative of the loss."""

    def conjugate(self, x: AnyArray, y: AnyArray) -> AnyArray:
        r"""Return the convex conjugate :math:`\sup_m y m - f(x, m)` of the loss of each entry."""

    def inverse(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """Return a prediction at which the derivative is ``y``."""


@dataclass(frozen=True)
class Squared:
    """Squared loss, half the squared difference ``(x - m)^2 / 2``.

    Examples
    --------
    >>> import numpy as np
    >>> Squared().value(np.array([1.0, 2.0]), np.array([1.0, 5.0])).tolist()
    [0.0, 4.5]
    """

    zeros: ClassVar[Zeros | None] = "squares"
    curvature: ClassVar[float] = 1.0

    def value(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the loss of each entry."""
        return 0.5 * (x - m) ** 2

    def grad(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the derivative of the loss of each entry with respect to the prediction."""
        return m - x

    def conjugate(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """Return the convex conjugate of the loss of each entry."""
        return y * (x + 0.5 * y)

    def inverse(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """Return the prediction at which the derivative is ``y``."""
        return x + y


@dataclass(frozen=True)
class Poisson:
    r"""Poisson loss of counts with mean m: :math:`m - x + x \log(x / m)` (Chi and Kolda 2012, eq. 3.1).

    Below ``floor`` the logarithm of a prediction continues as its tangent, so that a zero prediction of a positive
    count has a large but finite loss.
    """

    floor: float = 1e-10
    zeros: ClassVar[Zeros | None] = "total"

    def __post_init__(self) -> None:
        check_number("floor", self.floor, above=True)

    def value(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the loss of each entry."""
        above = np.maximum(m, m.dtype.type(self.floor))
        return m - x + xlogy(x, x / above) - x * (m - above) / above

    def grad(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the derivative of the loss of each entry with respect to the prediction."""
        return 1 - x / np.maximum(m, m.dtype.type(self.floor))


@dataclass(frozen=True)
class LogPoisson:
    """Poisson loss of counts with mean :math:`e^m`, minus its minimum (Collins et al. 2001, section 3).

    Above m = 80, near the limit of single precision, the exponential continues as its tangent.
    """

    zeros: ClassVar[Zeros | None] = None
    last: ClassVar[float] = 80.0

    def value(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the loss of each entry."""
        most = np.minimum(m, m.dtype.type(self.last))
        return np.exp(most) * (1 + m - most) - x * m + xlogy(x, x) - x

    def grad(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the derivative of the loss of each entry with respect to the prediction."""
        return np.exp(np.minimum(m, m.dtype.type(self.last))) - x


@dataclass(frozen=True)
class Logistic:
    r"""Logistic loss :math:`\log(1 + e^m) - x m` of log-odds m, with labels or probabilities x from 0 to 1."""

    zeros: ClassVar[Zeros | None] = None
    curvature: ClassVar[float] = 0.25

    def value(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the loss of each entry."""
        return np.logaddexp(m.dtype.type(0), m) - x * m

    def grad(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the derivative of the loss of each entry with respect to the prediction."""
        return expit(m) - x

    def conjugate(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """Return the convex conjugate of the loss of each entry; infinite unless ``x + y`` is between 0 and 1."""
        return -entr(x + y) - entr(1 - x - y)

    def inverse(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """Return the prediction at which the derivative is ``y``; ``x + y`` is between 0 and 1."""
        return logit(x + y)


@dataclass(frozen=True)
class Huber:
    r"""Huber loss, quadratic for residuals up to :math:`\delta` and linear beyond, hence robust to outliers.

    Examples
    --------
    >>> Huber(1.0).value(np.array([0.0, 0.0]), np.array([1.0, 3.0])).tolist()
    [0.5, 2.5]
    """

    delta: float = 1.0
    zeros: ClassVar[Zeros | None] = None
    curvature: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        check_number("delta", self.delta, above=True)

    def value(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the loss of each entry."""
        near = np.minimum(np.abs(m - x), m.dtype.type(self.delta))
        return near * (np.abs(m - x) - 0.5 * near)

    def grad(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the derivative of the loss of each entry with respect to the prediction."""
        return np.clip(m - x, m.dtype.type(-self.delta), m.dtype.type(self.delta))

    def conjugate(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """Return the convex conjugate of the loss of each entry; infinite where ``abs(y)`` exceeds ``delta``."""
        return np.where(np.abs(y) <= self.delta, y * (x + 0.5 * y), np.inf)

    def inverse(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """Return a prediction at which the derivative is ``y``, the one nearest to x."""
        return x + y


@dataclass(frozen=True)
class WithOutliers:
    r"""Loss minimized over an outlier s of each entry, with an L1 penalty: :math:`\min_s \ell(x, m + s) + \lambda |s|`.

    Its derivative is that of :math:`\ell`, clipped to :math:`\pm\lambda`, so it is :math:`\ell` up to that slope and
    linear beyond. With the squared loss it is the Huber loss with :math:`\delta = \lambda`.
    """

    loss: Convex
    penalty: float
    zeros: ClassVar[Zeros | None] = None

    def __post_init__(self) -> None:
        check_number("penalty", self.penalty, above=True)

    @property
    def curvature(self) -> float:
        """Lipschitz constant of the derivative, that of the loss."""
        return self.loss.curvature

    def outlier(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the outlier of each entry, zero where the derivative is not clipped."""
        y, s = self.grad(x, m), np.zeros_like(m)
        at = self.loss.grad(x, m) != y
        s[at] = self.loss.inverse(x[at], y[at]) - m[at]
        return s

    def value(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the loss of each entry."""
        s = self.outlier(x, m)
        return self.loss.value(x, m + s) + self.penalty * np.abs(s)

    def grad(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the derivative of the loss of each entry with respect to the prediction."""
        return np.clip(self.loss.grad(x, m), -self.penalty, self.penalty)

    def conjugate(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """Return the convex conjugate of the loss of each entry; infinite where ``abs(y)`` exceeds the penalty."""
        return np.where(np.abs(y) <= self.penalty, self.loss.conjugate(x, y), np.inf)

    def inverse(self, x: AnyArray, y: AnyArray) -> AnyArray:
        """Return a prediction at which the derivative is ``y``, without an outlier."""
        return self.loss.inverse(x, y)


@dataclass(frozen=True)
class SoftplusPoisson:
    r"""Poisson loss of counts with mean :math:`\log(1 + e^m)`, minus its minimum (Seeger, Bouchard 2012, 4.2).

    The softplus is almost :math:`m` for large and :math:`e^m` for small m, so that one model covers rare and frequent
    events without bounds on its factors.
    """

    zeros: ClassVar[Zeros | None] = None

    def value(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the loss of each entry."""
        mean = np.logaddexp(m.dtype.type(0), m)
        return mean - x - np.where(x > 0, x * log_softplus(m), 0) + xlogy(x, x)

    def grad(self, x: AnyArray, m: AnyArray) -> AnyArray:
        """Return the derivative of the loss of each entry with respect to the prediction."""
        return expit(m) - x * np.exp(np.minimum(-np.logaddexp(m.dtype.type(0), -m) - log_softplus(m), 0))


def log_softplus(m: AnyArray) -> AnyArray:
    """Return ``log(log(1 + exp(m)))`` without underflow."""
    low = m < -30  # where log1p(exp(m)) rounds to exp(m)
    return np.where(low, m, np.log(np.logaddexp(m.dtype.type(0), np.where(low, 0, m))))
