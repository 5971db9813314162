"""Correspondence analysis of dense or sparse contingency tables.

Sparse tables are never made dense. The base classes read tables and return coordinates as embeddings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_array, check_is_fitted

from polyadic.core.containers import name_columns, numbers_of, validated
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError, check_choice, check_int, meant
from polyadic.core.explanation import Explanation
from polyadic.core.linalg import SVDMethod, symmetric_matrix
from polyadic.core.model import Amount, Count, Positive, Seed, Transformer, learned
from polyadic.core.resources import check_memory
from polyadic.embedding import Embedding
from polyadic.tables.checks import axis_warnings, check_counts, count_warnings, labels_of, matched, warn
from polyadic.tables.residuals import Decomposition, Kernel, Residual, decompose, inverse, linear, with_values

Side = Literal["rows", "columns"]


class TableTransformer(Transformer):
    """Base class for table models whose ``fit_transform`` returns the coordinates of the rows."""

    row_coordinates_: NDArray[Any] = learned()
    column_coordinates_: NDArray[Any] = learned()
    row_labels_: tuple[str, ...] | None = learned()
    column_labels_: tuple[str, ...] | None = learned()

    def coordinates(self, side: Side = "rows") -> NDArray[Any]:
        """Return the coordinates of the rows or the columns, shape (m, n_components) or (n, n_components)."""
        check_is_fitted(self)
        check_choice("side", side, get_args(Side))
        return self.row_coordinates_ if side == "rows" else self.column_coordinates_

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit the model and return the coordinates of the rows, shape (m, n_components)."""
        return self.fit(X, y).row_coordinates_.copy()

    @property
    def _n_features_out(self) -> int:
        return int(self.row_coordinates_.shape[1])


class TableAnalysis(TableTransformer):
    """Base class for models that map the rows and columns of a contingency table to coordinates.

    Parameters
    ----------
    n_components : int
        Number of principal axes. At most one less than the smaller side of the table.
    power : float
        Exponent :math:`p` of the singular values in the coordinates, :math:`S^p`. 1 gives principal and 0 standard
        coordinates; values below 1 give better word vectors.
    count_exponent : float
        Power to which counts are raised before the analysis. 1/2 (square roots) keeps rare events from dominating.
    method : {"lanczos", "randomized"}
        Algorithm of the truncated singular value decomposition (:func:`~polyadic.core.linalg.truncated_svd`). Small
        tables are decomposed exactly.
    tol : float
        Convergence tolerance of the Lanczos method.
    """

    singular_values_: NDArray[Any] = learned()
    n_components: Count = 2
    _: KW_ONLY
    power: Amount = 1.0
    count_exponent: Positive = 1.0
    method: SVDMethod = "lanczos"
    tol: Positive = 1e-2
    seed: Seed = None
    _tags: ClassVar[Any] = {"input_tags.sparse": True, "input_tags.positive_only": True}

    def embedding(
        self, words: Sequence[str], *, side: Side = "rows", counts: NDArray[np.integer] | None = None
    ) -> Embedding:
        """Return the coordinates of a side of the table as an embedding, given its labels and their frequencies."""
        return Embedding(words, self.coordinates(side), counts=counts)

    def _decompose(self, A: Residual, kernels: tuple[Kernel, Kernel], *, symmetric: bool) -> Decomposition:
        """Compute the singular value decomposition of a residual under row and column kernels."""
        how: dict[str, Any] = {"method": self.method, "tol": self.tol, "seed": self.seed}
        axes = decompose(A, self.n_components, kernels=kernels, symmetric=symmetric, **how)
        self.singular_values_ = axes.s
        return axes

    def _scale(self) -> NDArray[Any]:
        """Return the singular values raised to ``power``, with zeros for null axes."""
        s = self.singular_values_
        return np.where(s > 0, s**self.power, 0)

    def _read(self, X: Any) -> tuple[csr_array, bool]:
        """Validate a contingency table; return the transformed counts, and whether the table is symmetric."""
        self.row_labels_, self.column_labels_ = labels_of(X)
        if isinstance(X, Entries):
            if X.order != 2:
                raise InputError(f"X must be Entries of order 2 (rows and columns); got order {X.order}")
            if X.weights is not None or X.unobserved == "missing":
                raise InputError("X must be Entries of counts, without weights and missing elements", "weights")
            values, symmetric = X.values.astype(np.float32), X.symmetric
            at, shape = tuple(X.indices.T), X.shape
            N = symmetric_matrix(X.indices, values, shape[0]) if symmetric else csr_array((values, at), shape=shape)
            self.n_features_in_ = X.shape[1]
            name_columns(self, None)
            check_counts(N)
        else:
            N = self._validated(X.counts if hasattr(X, "_fields") else X, reset=True)
            if self.column_labels_ is None and hasattr(self, "feature_names_in_"):  # a data frame without an index
                self.column_labels_ = tuple(map(str, self.feature_names_in_))
            symmetric = N.shape[0] == N.shape[1] and abs(N - N.T).max() == 0
        warn(count_warnings(N, self.row_labels_, self.column_labels_), stacklevel=4)
        return _scaled_counts(N, self.count_exponent), symmetric

    def _validated(self, X: Any, *, reset: bool) -> csr_array:
        how: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        if reset:
            how |= {"ensure_min_samples": 2, "ensure_min_features": 2}
        N = csr_array(validated(self, X, reset=reset, remedy=None, **how))
        check_counts(N, self.row_labels_ if reset else labels_of(X)[0], self.column_labels_)
        return N


def _scaled_counts(N: csr_array, power: float) -> csr_array:
    return N if power == 1 else with_values(N, N.data**power)


def squared_distances(P: csr_array, r: NDArray[Any], c: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    r"""Return squared chi-square distances to the mean profile: :math:`\sum_j p_{ij}^2 / (r_i^2 c_j) - 1` for rows."""
    rows = np.repeat(np.arange(len(r)), np.diff(P.indptr))
    squares = P.data.astype(float) ** 2 * inverse(r)[rows] * inverse(c)[P.indices]
    return (
        np.maximum(np.bincount(rows, squares, len(r)) * inverse(r) - (r > 0), 0),
        np.maximum(np.bincount(P.indices, squares, len(c)) * inverse(c) - (c > 0), 0),
    )


class Points(NamedTuple):
    """Rows or columns of a fitted table, from which their statistics are computed."""

    standard: NDArray[Any]  # standard coordinates, shape (points, n_components)
    masses: NDArray[Any]
    distances: NDArray[Any]  # squared chi-square distances to the mean profile
    scale: NDArray[Any]  # factors of principal coordinates, the singular values
    labels: tuple[str, ...] | None

    @property
    def principal(self) -> NDArray[Any]:
        """Principal coordinates, shape (points, n_components)."""
        return np.asarray(self.standard * self.scale)


class Eigenvalue(NamedTuple):
    """Principal inertia of an axis, its share of the total inertia, and the share of all axes up to it."""

    axis: int
    inertia: float
    share: float
    cumulative_share: float


class PrincipalAxes(TableTransformer):
    """Base class for analyses of tables with principal axes, which have the same statistics of axes and points."""

    inertia_: NDArray[Any] = learned()
    explained_inertia_ratio_: NDArray[Any] = learned()

    def points(self, side: Side = "rows") -> Points:
        """Return coordinates, masses, distances and labels of the rows or the columns."""
        check_is_fitted(self)
        check_choice("side", side, get_args(Side))
        names = ("standard_coordinates_", "masses_", "distances_", "labels_")
        standard, masses, distances, labels = (getattr(self, f"{side[:-1]}_{name}") for name in names)
        return Points(standard, masses, distances, self.singular_values_, labels)

    def eigenvalues(self) -> list[Eigenvalue]:
        """Return the principal inertia, its share of the total and the cumulative share of each axis."""
        check_is_fitted(self)
        shares = self.explained_inertia_ratio_
        columns = (values.tolist() for values in (self.inertia_, shares, shares.cumsum()))
        return [Eigenvalue(axis, *values) for axis, values in enumerate(zip(*columns, strict=True), 1)]

    def contributions(self, side: Side = "rows") -> NDArray[Any]:
        """Return contributions of points to the inertia of axes, shape (points, n_components); columns sum to 1."""
        points = self.points(side)
        return np.asarray(points.masses[:, None] * points.standard**2)

    def squared_cosines(self, side: Side = "rows") -> NDArray[Any]:
        """Return the share of each point's inertia that is explained by each axis, shape (points, n_components)."""
        points = self.points(side)
        return np.asarray(points.principal**2 * inverse(np.maximum(points.distances, 0))[:, None])

    def quality(self, side: Side = "rows") -> NDArray[Any]:
        """Return the share of each point's inertia that is explained by all computed axes, shape (points,)."""
        return np.asarray(self.squared_cosines(side).sum(axis=1))

    def nearest(self, name: str | int, *, side: Side = "rows", n: int = 10) -> list[tuple[Any, float]]:
        r"""Return the rows or columns with the most similar profiles, and their chi-square distances.

        .. math:: d_{ii'}^2 = \sum_j \frac{1}{c_j} \Big(\frac{p_{ij}}{r_i} - \frac{p_{i'j}}{r_{i'}}\Big)^2
                  \approx \sum_k (f_{ik} - f_{i'k})^2

        The distance is computed on the fitted axes and is exact if these are all axes. Points without observations are
        left out. The row or column is given by its label, or by its index in a table without labels. InputError is
        raised if there is none.

        Examples
        --------
        >>> CorrespondenceAnalysis(1).fit([[30, 10], [10, 30], [20, 10]]).nearest(0, n=1)[0][0]
        2
        """
        check_int("n", n, low=1)
        at, points = self._place_of(side, name), self.points(side)
        apart = np.linalg.norm(points.principal - points.principal[at], axis=1)
        apart[points.masses == 0] = np.inf
        labels = points.labels
        others = [k for k in np.argsort(apart, kind="stable").tolist() if k != at and np.isfinite(apart[k])]
        return [(labels[k] if labels else k, float(apart[k])) for k in others[:n]]

    def _place_of(self, side: Side, name: str | int) -> int:
        """Return the index of a row or column, given its label or index."""
        points = self.points(side)
        labels, known = points.labels, points.labels or range(len(points.masses))
        if name not in known:
            hint = f"; indices are 0 to {known[-1]}" if labels is None else meant(str(name), labels)
            raise InputError(f"the table has no {side[:-1]} {name!r}{hint}")
        if (number := known.count(name)) > 1:  # type: ignore[arg-type] # it is one of them
            raise InputError(f"the table has {number} {side} with the label {name!r}; rename them")
        return known.index(name)  # type: ignore[arg-type]


class CorrespondenceAnalysis(PrincipalAxes, TableAnalysis):
    r"""Correspondence analysis of a contingency table.

    With the relative frequencies :math:`P = N / n` and their margins :math:`r, c`,

    .. math:: D_r^{-1/2} (P - r c^\top) D_c^{-1/2} \approx U S V^\top, \qquad
              F = D_r^{-1/2} U S, \qquad G = D_c^{-1/2} V S .

    Distances between points approximate chi-square distances between profiles. The squared singular values are the
    **principal inertias**; they sum to :math:`\chi^2 / n`. Rows and columns without observations are placed at the
    origin and do not influence the result.

    Attributes
    ----------
    row_coordinates_, column_coordinates_ : ndarray of shape (m, n_components) and (n, n_components)
        :math:`F` and :math:`G`. On each axis the row with the largest absolute element of :math:`U` is positive.
    row_standard_coordinates_, column_standard_coordinates_ : ndarray of shape (m, n_components) and (n, n_components)
        :math:`D_r^{-1/2} U` and :math:`D_c^{-1/2} V`.
    row_masses_, column_masses_ : ndarray of shape (m,) and (n,)
        :math:`r` and :math:`c`.
    singular_values_, inertia_ : ndarray of shape (n_components,)
        Singular values :math:`S` and principal inertias :math:`S^2`.
    row_distances_, column_distances_ : ndarray of shape (m,) and (n,)
        Squared chi-square distances to the mean profile, over all axes.
    total_, total_inertia_ : float
        Sum :math:`n` of the table; and inertia of all axes, :math:`\chi^2 / n`, including those not computed.
    explained_inertia_ratio_ : ndarray of shape (n_components,)
        Share of the total inertia explained by each axis.

    References
    ----------
    Greenacre (2007), Correspondence analysis in practice, appendix A. Niitsuma, Lee (2018), eq. (4), (5), (18) to (20),
    where margins are counts: their :math:`F` is the one here divided by :math:`n^{3/2}`, and eq. (6) has a wrong sign.
    Hsu, Hsieh (2022), On the expressivity of correspondence analysis, for roots of counts.

    Examples
    --------
    Eye colours (rows: blue, light, medium, dark) and hair colours (fair, red, medium, dark, black) in Caithness:

    >>> fisher = [[326, 38, 241, 110, 3], [688, 116, 584, 188, 4], [343, 84, 909, 412, 26], [98, 48, 403, 681, 85]]
    >>> model = CorrespondenceAnalysis(2).fit(fisher)
    >>> model.inertia_.round(5).tolist(), round(model.total_inertia_, 5)
    ([0.19924, 0.03009], 0.23019)
    >>> model.row_coordinates_.round(3).tolist()
    [[-0.4, -0.165], [-0.441, -0.088], [0.034, 0.245], [0.703, -0.134]]
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit correspondence analysis to a table of counts: an array, data frame, sparse matrix or Entries of order 2.

        ValueError is raised if the table is empty or has negative, infinite or missing values, InputError if
        ``n_components`` is too large for the table or a setting is out of range.
        """
        self.check()
        N, symmetric = self._read(X)
        self.fit_counts(N, symmetric=symmetric)
        warn(axis_warnings(self.singular_values_))
        return self

    def fit_counts(self, N: csr_array, *, symmetric: bool = False) -> Self:
        """Fit the model to validated counts without warnings; see :meth:`fit`."""
        self.n_features_in_ = N.shape[1]
        self.total_, A = float(N.sum(dtype=float)), linear(N)
        axes = self._decompose(A, ("margins", "margins"), symmetric=symmetric)
        self.inertia_ = self.singular_values_**2
        self.row_masses_, self.column_masses_ = A.r, A.c
        self.row_standard_coordinates_ = axes.row_root[:, None] * axes.U
        self.column_standard_coordinates_ = axes.column_root[:, None] * axes.V
        self.row_coordinates_ = self.row_standard_coordinates_ * self._scale()
        self.column_coordinates_ = self.column_standard_coordinates_ * self._scale()
        self.row_distances_, self.column_distances_ = squared_distances(A.S, A.r, A.c)
        self.total_inertia_ = float(A.r @ self.row_distances_)
        self.explained_inertia_ratio_ = self.inertia_ / (self.total_inertia_ or 1.0)
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Project supplementary rows onto the principal axes, shape (m, n_components).

        X has counts of the same columns. A row is placed at the mean of the columns' standard coordinates, weighted by
        its profile. Rows of the fitted table get their own coordinates; a row without observations is placed at the
        origin.
        """
        check_is_fitted(self)
        N = self._validated(matched(X, self.column_labels_, "column"), reset=False)
        return self._place(_scaled_counts(N, self.count_exponent), self.column_standard_coordinates_)

    def transform_columns(self, X: Any) -> NDArray[Any]:
        """Project supplementary columns onto the principal axes, shape (columns, n_components).

        X has counts of the same rows; those of a data frame are matched by name. InputError is raised for other rows.
        """
        check_is_fitted(self)
        labels = labels_of(X)
        X = matched(X, self.row_labels_, "row")
        N = csr_array(numbers_of(X).values, dtype=float)  # a copy
        N.sum_duplicates()
        if N.shape[0] != len(self.row_masses_):
            raise InputError(f"X must have {len(self.row_masses_)} rows, like the fitted table; got {N.shape[0]}")
        check_counts(N, self.row_labels_, labels[1])
        return self._place(_scaled_counts(N, self.count_exponent).T.tocsr(), self.row_standard_coordinates_)

    def inverse_transform(self, X: Any, *, totals: Any = None) -> NDArray[Any]:
        r"""Return the dense table that coordinates of rows describe, :math:`n_i c_j (1 + \sum_k f_{ik} g_{jk} / s_k)`.

        With the coordinates X of the fitted rows on all axes, this is the fitted table (the reconstitution formula).
        With fewer axes, values can be negative. ``totals`` are the sums :math:`n_i` of the rows, after
        ``count_exponent``; InputError is raised if they are missing, unless X contains the coordinates of the fitted
        rows. With 1, the result contains profiles.
        """
        check_is_fitted(self)
        F, scale = check_array(X), self._scale()
        if F.shape[1] != len(scale):
            raise InputError(f"X must have one column for each of the {len(scale)} axes; got {F.shape[1]}")
        if totals is None:
            if F.shape != self.row_coordinates_.shape or not np.allclose(F, self.row_coordinates_):
                raise InputError("totals must be given for rows that are not those of the fitted table", "totals")
            totals = self.total_ * self.row_masses_
        n = np.asarray(totals, float)
        if n.shape not in ((), (len(F),)):
            about = f"totals must contain one sum for each of the {len(F):,} rows"
            raise InputError(f"{about}; got shape {n.shape}", "totals")
        check_memory(16.0 * len(F) * len(self.column_masses_), "the dense table", "pass fewer rows")
        parts = F * inverse(scale) * self.singular_values_
        table = n.reshape(-1, 1) * self.column_masses_ * (1 + parts @ self.column_standard_coordinates_.T)
        return table if self.count_exponent == 1 else np.maximum(table, 0) ** (1 / self.count_exponent)

    def explain(self, row: str | int, column: str | int) -> Explanation:
        r"""Decompose the ratio of observed to expected frequency of a cell into contributions of the axes.

        .. math:: \frac{p_{ij}}{r_i c_j} = 1 + \sum_k \frac{f_{ik}\, g_{jk}}{s_k}

        with principal coordinates (the reconstitution formula, exact with all axes). The base is 1, the ratio under
        independence. The row and the column are given by their labels, or by their indices in a table without labels.
        InputError is raised if there is none.

        Examples
        --------
        >>> model = CorrespondenceAnalysis(1).fit([[30, 10], [10, 30]])
        >>> why = model.explain(0, 1)
        >>> round(why.value, 6), round(why.base, 6), [(axis, round(part, 6)) for axis, part in why.parts]
        (0.5, 1.0, [(1, -0.5)])
        """
        i, j = self._place_of("rows", row), self._place_of("columns", column)
        parts = self.row_standard_coordinates_[i] * self.column_standard_coordinates_[j] * self.singular_values_
        return Explanation.of(float(1 + parts.sum()), enumerate(parts.tolist(), 1))

    def _place(self, N: csr_array, standard: NDArray[Any]) -> NDArray[Any]:
        means = (N @ standard) * inverse(np.asarray(N.sum(axis=1)).ravel())[:, None]
        return np.asarray(means * inverse(self.singular_values_) * self._scale())
