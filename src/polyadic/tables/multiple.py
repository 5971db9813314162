"""Multiple correspondence analysis of tables with a categorical variable in each column."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from polyadic.core.annotations import AnyArray
from polyadic.core.containers import validated
from polyadic.core.errors import InputError, meant
from polyadic.core.model import Count, Seed
from polyadic.tables.checks import axis_warnings, category_warnings, labels_of, matched, warn
from polyadic.tables.correspondence import CorrespondenceAnalysis, Points, PrincipalAxes, Side


class MultipleCorrespondenceAnalysis(PrincipalAxes):
    r"""Multiple correspondence analysis: correspondence analysis of the indicator matrix of categorical variables.

    Each of the :math:`Q` variables is expanded into one 0/1 column per category, the **indicator matrix** :math:`Z`.
    Correspondence analysis of :math:`Z` places observations and categories. The **Burt table** :math:`Z^\top Z` has the
    same standard coordinates of categories, and squared inertias.

    Inertias of indicators are small for any data, since each category is far from the others of its variable. The
    corrections count only the excess over :math:`1/Q`, :math:`\tilde\lambda = \big(\tfrac{Q}{Q - 1} (\lambda -
    \tfrac1Q)\big)^2` with :math:`\lambda` of the indicator matrix. Shares are of their sum (Benzecri), or of the mean
    inertia off the diagonal blocks of the Burt table (Greenacre).

    Parameters
    ----------
    n_components : int
        Number of principal axes.
    table : {"indicator", "burt"}
        Table that is analysed. It determines inertias and principal coordinates.
    correction : {"none", "benzecri", "greenacre"}
        Correction of the inertias.

    Attributes
    ----------
    row_coordinates_, column_coordinates_ : ndarray of shape (n, n_components) and (categories, n_components)
        Principal coordinates of observations, from the indicator matrix, and of categories. Corrections do not change
        them.
    variables_, levels_, categories_ : tuple of str, list of ndarray, list of str
        Names of the variables, or numbers from 0; sorted categories of each; and names ``variable=category`` of all.
    inertia_, explained_inertia_ratio_ : ndarray of shape (n_components,)
        Inertia of each axis, corrected if requested, and its share of the total ``total_inertia_``.
    analysis_ : CorrespondenceAnalysis
        Analysis of the indicator matrix.

    References
    ----------
    Greenacre (2007), Correspondence analysis in practice, chapters 18 and 19. Benzecri (1979), for the correction.

    Examples
    --------
    >>> people = [["blue", "fair"], ["blue", "fair"], ["dark", "black"], ["dark", "fair"], ["light", "black"]]
    >>> model = MultipleCorrespondenceAnalysis(1).fit(people)
    >>> model.categories_
    ['0=blue', '0=dark', '0=light', '1=black', '1=fair']
    >>> (model.row_coordinates_[:2] * model.row_coordinates_[4] < 0).all().item()
    True
    """

    n_components: Count = 2
    _: KW_ONLY
    table: Literal["indicator", "burt"] = "indicator"
    correction: Literal["none", "benzecri", "greenacre"] = "none"
    seed: Seed = None
    _tags: ClassVar[Any] = {"input_tags.categorical": True, "input_tags.string": True}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit multiple correspondence analysis to an array or data frame with a categorical variable in each column.

        ValueError is raised if there is only one observation, InputError if values are missing or cannot be sorted,
        ``n_components`` is too large, or a setting is out of range.
        """
        self.check()
        rows, variables = labels_of(X)
        values = validated(self, X, categories=True, dtype=None, ensure_min_samples=2)
        return self.fit_categories(values, variables, rows)

    def fit_categories(self, values: AnyArray, variables: tuple[str, ...] | None, rows: tuple[str, ...] | None) -> Self:
        """Fit the model to an array of categories, with the names of the variables and labels of the rows."""
        self.row_labels_, self.n_features_in_ = rows, values.shape[1]
        self.variables_ = variables or tuple(map(str, range(values.shape[1])))
        try:
            self.levels_ = OneHotEncoder().fit(values).categories_
        except TypeError:  # they cannot be sorted
            kinds = [sorted({type(each).__name__ for each in column}) for column in values.T.tolist()]
            j = next(j for j, some in enumerate(kinds) if len(some) > 1)
            raise InputError(f"column {j} of X must have categories of one type; got {', '.join(kinds[j])}") from None
        warn(category_warnings(self.levels_, self.variables_, len(values)), stacklevel=4)
        Z = self._indicator(values)
        Q, J = values.shape[1], Z.shape[1]
        if self.correction != "none" and Q < 2:
            raise InputError("X must have at least 2 variables to correct the inertias; got 1")
        self.analysis_ = plain = CorrespondenceAnalysis(self.n_components, seed=self.seed).fit_counts(Z)
        warn(axis_warnings(plain.singular_values_), stacklevel=4)
        levels = zip(self.variables_, self.levels_, strict=True)
        self.categories_ = [f"{name}={level}" for name, some in levels for level in some]
        self.column_labels_ = tuple(self.categories_)
        plain.row_labels_, plain.column_labels_ = self.row_labels_, self.column_labels_
        burt = plain
        if self.table == "burt" or self.correction == "greenacre":
            burt = CorrespondenceAnalysis(1).fit_counts(csr_array(Z.T @ Z))  # has the squared inertias of Z
        self.column_distances_ = burt.column_distances_ if self.table == "burt" else plain.column_distances_
        self.row_coordinates_, self.column_coordinates_ = (self.points(side).principal for side in ("rows", "columns"))
        self.inertia_ = (Q / max(Q - 1, 1) * np.maximum(plain.inertia_ - 1 / Q, 0)) ** 2
        if self.correction == "none" and self.table == "burt":
            self.inertia_, self.total_inertia_ = plain.inertia_**2, burt.total_inertia_
        elif self.correction == "none":
            self.inertia_, self.total_inertia_ = plain.inertia_, plain.total_inertia_
        elif self.correction == "greenacre":  # the mean of the blocks off the diagonal
            self.total_inertia_ = Q / (Q - 1) * (burt.total_inertia_ - (J - Q) / Q**2)
        else:
            every = CorrespondenceAnalysis(min(J - Q, min(Z.shape) - 1), seed=self.seed).fit_counts(Z).inertia_
            self.total_inertia_ = float(((Q / (Q - 1) * np.maximum(every - 1 / Q, 0)) ** 2).sum())
        self.explained_inertia_ratio_ = self.inertia_ / (self.total_inertia_ or 1.0)
        return self

    def transform(self, X: Any) -> AnyArray:
        """Project new observations of the same variables onto the principal axes, shape (n, n_components).

        Columns of a data frame are matched by name. Categories not seen in ``fit`` are ignored, with a warning.
        """
        check_is_fitted(self)
        X = matched(X, self.row_labels_ and self.variables_, "column")
        values = validated(self, X, categories=True, dtype=None, reset=False)
        Z = self._indicator(values)
        if new := np.flatnonzero(Z.sum(axis=1) < values.shape[1]).tolist():
            pairs = zip(values[new[0]].tolist(), (some.tolist() for some in self.levels_), strict=True)
            each, known = next((each, known) for each, known in pairs if each not in known)
            fault = f"rows with unknown categories, which are ignored: {len(new):,} of {len(values):,}, for example row"
            warn([f"{fault} {new[0]} (counted from 0) with {each!r}{meant(str(each), map(str, known))}"])
        return self.analysis_.transform(Z)

    def points(self, side: Side = "rows") -> Points:
        """Return coordinates, masses and distances of the observations (rows) or the categories (columns)."""
        check_is_fitted(self)
        points = self.analysis_.points(side)
        if side == "columns" and self.table == "burt":
            return points._replace(distances=self.column_distances_, scale=points.scale**2)
        return points

    def _indicator(self, values: AnyArray) -> csr_array:
        """Return the one-hot indicator matrix; unknown categories are ignored."""
        levels = [some.astype(object) for some in self.levels_]  # categories of another type are unknown, too
        encoder = OneHotEncoder(categories=levels, handle_unknown="ignore")
        return csr_array(encoder.fit_transform(values.astype(object)))
