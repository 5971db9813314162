"""Kernel correspondence analysis: decomposition of a table's residual under row and column kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from polyadic.core.errors import InputError
from polyadic.core.model import Positive, Within
from polyadic.tables import residuals
from polyadic.tables.checks import axis_warnings, warn
from polyadic.tables.correspondence import TableAnalysis
from polyadic.tables.residuals import Difference, Kernel, Residual

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DifferenceName = Literal["linear", "g-test", "shifted-pmi", "log-counts", "similarity"]
ResidualName = Literal["ca", "gini", "g-test", "sgns", "glove", "categorical-pca"]

PLAIN: dict[str, Any] = {"row_kernel": "identity", "column_kernel": "identity"}
CASES: dict[ResidualName, dict[str, Any]] = {
    "ca": {},
    "gini": PLAIN,
    "g-test": {"difference": "g-test", **PLAIN},
    "sgns": {"difference": "shifted-pmi", **PLAIN},
    "glove": {"difference": "log-counts", **PLAIN},
    "categorical-pca": {**PLAIN, "row_kernel": residuals.categorical_kernel(1.0)},
}
"""Known methods as settings of :class:`KernelCorrespondenceAnalysis` (Niitsuma and Lee, 2018, Table 2)."""


class KernelCorrespondenceAnalysis(TableAnalysis):
    r"""Kernel correspondence analysis of a contingency table.

    .. math:: K_r^{1/2} (X \ominus Y) K_c^{1/2} \approx U S V^\top, \qquad
              F = K_r^{1/2} U S, \qquad G = K_c^{1/2} V S,

    where :math:`X = N / n`, :math:`Y = r c^\top`, and :math:`\ominus` is one of the residuals of
    :mod:`polyadic.tables.residuals`. With :math:`X - Y` and the inverse margins as kernels it is correspondence
    analysis. :data:`CASES` lists other known methods, such as ``KernelCorrespondenceAnalysis(100, **CASES["g-test"])``.

    Parameters
    ----------
    difference : {"linear", "g-test", "shifted-pmi", "log-counts", "similarity"} or callable
        Residual :math:`\ominus` of the table against independence. A function receives the observed and the expected
        relative frequencies of the non-empty cells, two arrays, and returns the residual of each; empty cells are 0.
    row_kernel, column_kernel : "margins", "identity", array or callable
        Kernels :math:`K_r` and :math:`K_c` of rows and columns; see :mod:`polyadic.tables.residuals`.
    shift, smoothing, positive : float, float, bool
        Number of negative samples :math:`k` of the residual ``"shifted-pmi"``, exponent of the column margins, and
        whether negative values are replaced by 0, which the paper does not print; see
        :func:`~polyadic.tables.residuals.shifted_pmi`.
    row_scores, column_scores, beta : sparse array, sparse array, float
        Similarity scores of pairs of rows and of columns for the residual ``"similarity"``, and weight of pairs without
        a score; see :func:`~polyadic.tables.residuals.similarity`.

    Attributes
    ----------
    row_coordinates_, column_coordinates_ : ndarray of shape (m, n_components) and (n, n_components)
        :math:`F` and :math:`G`; ``singular_values_`` is :math:`S`.
    row_masses_, column_masses_ : ndarray of shape (m,) and (n,)
        Relative margins.

    References
    ----------
    Niitsuma, Lee (2018), Word2Vec is a special case of kernel correspondence analysis and kernels for natural language
    processing, sections 4 and 5. arXiv:1605.05087

    Examples
    --------
    >>> fisher = [[326, 38, 241, 110, 3], [688, 116, 584, 188, 4], [343, 84, 909, 412, 26], [98, 48, 403, 681, 85]]
    >>> KernelCorrespondenceAnalysis(2).fit(fisher).singular_values_.round(5).tolist()
    [0.44637, 0.17346]
    >>> KernelCorrespondenceAnalysis(2, **CASES["g-test"]).fit_transform(fisher).round(3).tolist()
    [[-0.025, -0.022], [-0.055, -0.037], [0.0, 0.045], [0.09, -0.029]]
    >>> roots = KernelCorrespondenceAnalysis(2, **{**CASES["g-test"], "difference": lambda x, y: x**0.5 - y**0.5})
    >>> roots.fit(fisher).singular_values_.round(3).tolist()
    [0.227, 0.074]
    """

    _: KW_ONLY
    difference: DifferenceName | Difference = "linear"
    row_kernel: Kernel = "margins"
    column_kernel: Kernel = "margins"
    shift: Annotated[float, Within(1)] = 1.0
    smoothing: Positive = 1.0
    positive: bool = True
    row_scores: Any = None
    column_scores: Any = None
    beta: Positive = 1.0

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model to a contingency table, as :class:`~polyadic.tables.correspondence.CorrespondenceAnalysis`."""
        self.check()
        N, symmetric = self._read(X)
        A = self._residual(N)
        alike = self.smoothing == 1 and self.row_scores is self.column_scores and self.difference != "log-counts"
        axes = self._decompose(A, (self.row_kernel, self.column_kernel), symmetric=symmetric and alike)
        warn(axis_warnings(self.singular_values_))
        self.row_masses_, self.column_masses_ = A.r, A.c
        self.row_coordinates_ = _applied(axes.row_root, axes.U) * self._scale()
        self.column_coordinates_ = _applied(axes.column_root, axes.V) * self._scale()
        return self

    def check(self) -> None:
        """Raise InputError if a setting is out of range or has no effect with the chosen residual."""
        super().check()
        scores = {name: getattr(self, name) is not None for name in ("row_scores", "column_scores")}
        own = {
            "shifted-pmi": {"shift": self.shift != 1, "smoothing": self.smoothing != 1, "positive": not self.positive},
            "similarity": scores | {"beta": self.beta != 1},
        }
        for difference, given in own.items():
            if difference != self.difference and (idle := [name for name, there in given.items() if there]):
                message = f"{idle[0]} requires difference={difference!r}; got difference={self.difference!r}"
                raise InputError(message, "difference")

    def _residual(self, N: csr_array) -> Residual:
        if callable(self.difference):
            return residuals.elementwise(N, self.difference)
        if self.difference == "shifted-pmi":
            return residuals.shifted_pmi(N, shift=self.shift, smoothing=self.smoothing, positive=self.positive)
        if self.difference == "similarity":
            return residuals.similarity(N, rows=self.row_scores, columns=self.column_scores, beta=self.beta)
        plain = {"linear": residuals.linear, "g-test": residuals.g_test, "log-counts": residuals.log_counts}
        return plain[self.difference](N)


def _applied(root: Any, vectors: Any) -> Any:
    return root[:, None] * vectors if root.ndim == 1 else root @ vectors
