"""Bayesian factorization of ordinal ratings with features, by expectation propagation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from scipy.sparse import csr_array, eye_array, hstack
from scipy.special import log_ndtr, ndtri
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.base import DistributionModel, SearchedModel
from polyadic.completion.cells import ObservedEntries, Prediction, cells_of, pairs
from polyadic.completion.kernels import Features, Messages, propagate
from polyadic.core.annotations import Array, Ints
from polyadic.core.containers import complete, numbers_of
from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Callback, Count, Natural, Positive, Seed
from polyadic.core.resources import check_memory
from polyadic.core.solvers.run import Sweep

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MAX_LEVELS = 50  # maximum number of levels of ordinal values
NODES = 32  # number of nodes of the Gauss-Hermite quadrature over the latent value
BLOCK = 1 << 14  # number of cells predicted at a time


class MatchboxFactorization(DistributionModel, SearchedModel):
    r"""Bayesian factorization of ordinal values, such as ratings, by expectation propagation (Matchbox).

    Feature vectors x of a row and y of a column are mapped to traits s and t. A latent value is compared with
    thresholds :math:`h_1, \dots, h_{L-1}`, which are shared or belong to the row:

    .. math:: s = U x, \quad t = V y, \qquad r = s \cdot t + a \cdot x + b \cdot y + \epsilon, \quad
              \epsilon \sim N(0, 1), \qquad P(x_{ij} = l \mid r, h) = \prod_{k < l} [r > h_k] \prod_{k \ge l} [r < h_k]

    The weights U, V, a, b and the thresholds have independent normal priors and approximate posteriors. The vectors x
    and y contain an indicator of the row or column, and the given features. A row without known cells is thus predicted
    from its features.

    Messages pass cell by cell, in several passes, of which the first is assumed-density filtering. Approximations are:

    * of each threshold, expectation propagation: the moments of the truncated normal distribution of
      :math:`r - h_k`, in three rounds over the thresholds of a cell;
    * of a product :math:`s_k t_k`, its exact mean and variance without the messages of the cell for the message to the
      sum, and the variational message :math:`\exp \langle \log p \rangle` for the messages to :math:`s_k` and
      :math:`t_k`, in two rounds between them.

    Parameters
    ----------
    rank : int
        Number of traits; 0 fits weights a and b only, which is ordinal probit regression.
    thresholds : {"row", "shared"}
        Whether each row has its own thresholds.
    trait_std, bias_std, threshold_std : float
        Standard deviations of the priors of the weights of traits, of the weights a and b, and of the thresholds, in
        units of the noise. The prior means of the thresholds are quantiles of the levels of all cells.

    Attributes
    ----------
    levels_, thresholds_ : ndarray of shape (L,) and (2, rows or 1, L - 1)
        Values in increasing order, and posterior means and variances of the thresholds.
    row_weights_, column_weights_ : ndarray of shape (2, features, rank + 1)
        Posterior means and variances of the weights of the indicators and features: U and V, with a and b last.
    row_traits_, column_traits_ : ndarray of shape (2, rows, rank + 1) and (2, columns, rank + 1)
        Posterior means and variances of s and t, with the biases as last column.
    history_ : list of float
        Log loss of each pass: the sum of the negative logarithms of the probabilities of cells, before their messages.

    References
    ----------
    Stern, Herbrich, Graepel (2009), Matchbox: large scale online Bayesian recommendations.

    Examples
    --------
    >>> stars = np.kron([[5.0, 1.0], [1.0, 5.0]], np.ones((6, 6)))
    >>> stars[0, 0] = np.nan
    >>> model = MatchboxFactorization(1, trait_std=1.0, seed=0).fit(stars)
    >>> model.predict_levels([0], [0]).shape
    (1, 2)
    >>> bool(model.predict([0], [0])[0] > 3)
    True
    """

    rank: Natural = 10
    _: KW_ONLY
    thresholds: Literal["row", "shared"] = "row"
    trait_std: Positive = 0.3
    bias_std: Positive = 0.5
    threshold_std: Positive = 0.5
    max_iter: Count = 100
    tol: Amount = 1e-3
    seed: Seed = None
    callback: Callback = None
    _grid: ClassVar[Any] = {"trait_std": (0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.5), "rank": (0, 1, 2, 3, 5, 10, 20, 40)}

    def fit(self, X: Any, y: Any = None, *, row_features: Any = None, column_features: Any = None) -> Self:
        """Fit the model to the observed cells of a matrix, with 2 to 50 different values.

        See :meth:`~polyadic.completion.base.CompletionModel.fit`.

        Parameters
        ----------
        row_features, column_features : array or sparse matrix of shape (rows, p) and (columns, q), optional
            Features of rows and columns. InputError is raised if they do not match the matrix.
        """
        self.check()
        cells = self._sampled(self._read(X), X)
        x = _features("row_features", row_features, cells.shape[0])
        return self._fit(cells, [x, _features("column_features", column_features, cells.shape[1])])

    def _read(self, X: Any, *, empty: bool = False) -> ObservedEntries:
        cells = cells_of(X, empty=empty)
        if not 2 <= (number := len(np.unique(cells.values))) <= MAX_LEVELS:
            got = f"{number:,}; use another method"
            raise InputError(f"ordinal factorization requires from 2 to {MAX_LEVELS} different values; got {got}")
        return cells

    def _fit(self, cells: ObservedEntries, features: list[csr_array]) -> Self:
        self.levels_, level = np.unique(cells.values, return_inverse=True)
        parts = [matrix[index] for matrix, index in zip(features, (cells.rows, cells.columns), strict=True)]
        size = sum(part.nnz for part in parts) * (self.rank + 1) + len(level) * (len(self.levels_) - 1)
        check_memory(16.0 * size, "the messages", "lower the rank or leave out features")
        solver = self._passes(cells, level, features)
        beliefs = self._optimize(solver)
        weights = [np.stack([linear / precision, 1 / precision]) for precision, linear in beliefs]
        self.row_weights_, self.column_weights_, self.thresholds_ = weights
        pairs = zip(features, weights, strict=False)
        traits = (np.stack([matrix @ means, matrix**2 @ variances]) for matrix, (means, variances) in pairs)
        self.row_traits_, self.column_traits_ = traits
        return self

    def _passes(self, cells: ObservedEntries, level: Ints, features: list[csr_array]) -> Iterator[Sweep]:
        """Iterate over passes of expectation propagation; yield the beliefs of weights and thresholds."""
        rng = np.random.default_rng(self.seed)
        L, R = len(self.levels_), self.rank
        group = cells.rows if self.thresholds == "row" else np.zeros(len(level), np.int64)
        precision = np.array([self.trait_std**-2.0] * R + [self.bias_std**-2.0])
        beliefs = [np.stack([np.tile(precision, (n, 1)), np.zeros((n, R + 1))]) for n in (x.shape[1] for x in features)]
        spread = np.sqrt(1 + 2 * self.bias_std**2 + R * self.trait_std**4)
        below = np.cumsum(np.bincount(level))[:-1] / len(level)
        prior = np.stack([np.ones(L - 1), spread * ndtri(below)]) * self.threshold_std**-2.0
        beliefs.append(np.tile(prior[:, None], (1, cells.shape[0] if self.thresholds == "row" else 1, 1)))
        counts = [np.diff(x.indptr)[at] for x, at in zip(features, (cells.rows, cells.columns), strict=True)]
        first = np.stack([np.cumsum(count) - count for count in counts], axis=1)
        rows, columns = (np.zeros((2, count.sum(), R + 1)) for count in counts)
        messages = Messages(rows, columns, first, np.zeros((2, len(level), L - 1)))
        x, y = (Features(x.indptr.astype(np.int64), x.indices.astype(np.int64), x.data) for x in features)
        U, V, B = beliefs
        known = cells.rows, cells.columns, level, group
        # With all means zero, the messages to the traits would stay zero. These means are removed after the first pass.
        start = rng.standard_normal((features[1].shape[1], R)) * precision[:R] ** 0.5
        V[1, :, :R] += start
        yield Sweep([belief.copy() for belief in beliefs], len(level) * np.log(L))
        while True:
            total = propagate(rng.permutation(len(level)), known, x, y, (U, V, B), messages)
            V[1, :, :R] -= start
            start = np.zeros_like(start)
            yield Sweep([belief.copy() for belief in beliefs], -total)

    @property
    def _shape(self) -> tuple[int, int]:
        return self.row_traits_.shape[1], self.column_traits_.shape[1]

    def augmented(self) -> tuple[Array, Array]:
        """Return row and column factors whose products are the posterior means of the latent values."""
        check_is_fitted(self)
        (s, a), (t, b) = (np.split(part[0], [self.rank], axis=1) for part in (self.row_traits_, self.column_traits_))
        return np.hstack([s, a, np.ones_like(a)]), np.hstack([t, np.ones_like(b), b])

    def _distribution(self, i: Ints, j: Ints) -> Prediction:
        p = self.predict_levels(i, j)
        mean = p @ self.levels_
        return Prediction(mean, np.sqrt(np.maximum(p @ self.levels_**2 - mean**2, 0)))

    def predict_levels(self, rows: ArrayLike, columns: ArrayLike) -> Array:
        """Return the probability of each of ``levels_`` in each cell, shape (n, L); see :meth:`predict` for cells."""
        check_is_fitted(self)
        i, j = pairs(rows, columns, self._shape)
        blocks = [slice(at, at + BLOCK) for at in range(0, len(i), BLOCK)]
        return np.concatenate([np.zeros((0, len(self.levels_))), *(self._levels(i[at], j[at]) for at in blocks)])

    def _levels(self, i: Ints, j: Ints) -> Array:
        (s, sv), (t, tv) = self.row_traits_[:, i], self.column_traits_[:, j]
        (s, a), (sv, av), (t, b), (tv, bv) = (np.split(part, [self.rank], axis=1) for part in (s, sv, t, tv))
        mean = (s * t).sum(axis=1) + (a + b)[:, 0]
        variance = 1 + (av + bv)[:, 0] + (sv * tv + sv * t**2 + tv * s**2).sum(axis=1)
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        h, hv = self.thresholds_[:, i if self.thresholds == "row" else np.zeros_like(i)]
        r = mean[:, None] + np.sqrt(variance)[:, None] * nodes
        above = (r[:, None] - h[:, :, None]) / np.sqrt(hv)[:, :, None]  # shape (n, L - 1, nodes)
        up, down = log_ndtr(above), log_ndtr(-above)
        empty = np.zeros((len(i), 1, NODES))
        logs = np.concatenate([empty, up.cumsum(axis=1)], axis=1)
        logs += np.concatenate([down[:, ::-1].cumsum(axis=1)[:, ::-1], empty], axis=1)
        p = np.exp(logs) @ weights
        return np.asarray(p / p.sum(axis=1, keepdims=True))


def _features(name: str, given: Any, size: int) -> csr_array:
    """Return a matrix of indicators, followed by the given features."""
    own = eye_array(size, format="csr")
    if given is None:
        return own
    matrix = csr_array(complete(numbers_of(given, name), name).values, dtype=float)
    if matrix.shape[0] != size:
        raise InputError(f"{name} must have {size:,} rows; got shape {matrix.shape}", name)
    return csr_array(hstack([own, matrix], format="csr"))
