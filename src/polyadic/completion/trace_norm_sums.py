"""Completion of matrices, views and tensors with sums of trace norms, such as those of blocks or unfoldings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from scipy.linalg import block_diag
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.admm import NormTerm, trace_norm_sum
from polyadic.completion.base import TraceNormModel
from polyadic.completion.cells import cells_of, explained
from polyadic.completion.trace_norm import check_loss
from polyadic.core.annotations import Array, Ints
from polyadic.core.containers import entries_of, match_columns, name_columns
from polyadic.core.errors import InputError, check_number
from polyadic.core.kernels import RowEntries, posterior_rows
from polyadic.core.linalg.spectral import Spectral
from polyadic.core.losses import Convex, Squared
from polyadic.core.model import Positive, Transformer
from polyadic.core.solvers.run import run
from polyadic.core.solvers.smooth import CellLosses
from polyadic.core.solvers.trace_norm import warn_of_gap

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class Block(NamedTuple):
    """Rows and columns of a block of a matrix, as slices or arrays of indices, and the penalty on its trace norm."""

    rows: Any
    columns: Any
    penalty: float


class TraceNormSum(TraceNormModel):
    r"""Completion of a tensor with the trace norms of its unfoldings, or of a matrix with those of blocks.

    .. math:: \min_X \sum_{e\ \mathrm{known}} \ell(y_e, x_e) + \lambda \sum_k \|X_{(k)}\|_* \qquad \text{or} \qquad
              \min_X \sum_{e\ \mathrm{known}} \ell(y_e, x_e) + \sum_k \lambda_k \|\mathrm{blk}_k(X)\|_*

    The unfolding :math:`X_{(k)}` has one row for each index of mode k. This overlapped form suits tensors of low rank
    in all modes, such as Tucker decompositions. In the latent form, :math:`X = \sum_k X^{(k)}`, and the penalty is on
    one unfolding or block of each summand, which is zero outside of its block. It suits tensors of low rank in some
    modes. The ranks are a result of the fit. Values are not centered, and the array is stored densely.

    Parameters
    ----------
    penalty : float
        Penalty :math:`\lambda` on the trace norm of each unfolding, in units of the values. Blocks have their own.
    form : {"overlapped", "latent"}
        Penalty on several matrices of one array (overlapped), or on one matrix of each of several summands (latent).
    loss : Convex
        Loss of a known element: :class:`~polyadic.core.losses.Squared`, :class:`~polyadic.core.losses.Huber`, or
        :class:`~polyadic.core.losses.Logistic` for values from 0 to 1, with log-odds as predictions.

    Attributes
    ----------
    array_ : ndarray
        Predictions of all elements.
    parts_ : list of Spectral
        Matrix of each norm, of the rank in ``ranks_``: a copy of the unfolding or block (overlapped), or a summand.
    gap_ : float
        Duality gap, an upper bound of the distance of the objective to its minimum.

    References
    ----------
    Tomioka, Hayashi, Kashima (2010), Estimation of low-rank tensors via convex optimization, for both forms, which are
    called constraint and mixture.
    Tomioka, Suzuki, Hayashi, Kashima (2011), Statistical performance of convex tensor decomposition.
    Bouchard, Naradowsky, Riedel, Rocktäschel, Vlachos (2015), Matrix and tensor factorization methods for natural
    language processing, ACL tutorial, slide "Combining regularizations", for blocks.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.einsum("i,j,k->ijk", *(rng.standard_normal(n) for n in (9, 8, 7)))
    >>> known = np.where(rng.random(x.shape) < 0.6, x, np.nan)
    >>> bool(np.abs(TraceNormSum(0.01).fit(known).array_ - x).max() < 0.1)
    True
    >>> whole, left = Block(slice(None), slice(None), 0.01), Block(slice(None), slice(5), 0.01)
    >>> TraceNormSum().fit(known[:, :, 0], [whole, left]).array_.shape
    (9, 8)
    """

    _: KW_ONLY
    form: Literal["overlapped", "latent"] = "overlapped"
    loss: Convex = Squared()

    def fit(self, X: Any, y: Sequence[Block] | None = None) -> Self:
        """Fit the model to the observed elements of a matrix or tensor X and, of a matrix, to blocks y.

        X is Entries, a sparse matrix, of which explicit zeros are observed, or an array with NaN for unknown elements.
        Blocks may overlap. Every observed cell must be in a block; cells in no block are zero.

        InputError is raised if no element is observed, one occurs twice, the array is too large, a block does not fit,
        or a parameter is out of range.
        """
        self.check()
        known, values, shape = _elements(X)
        check_loss(self.loss, values)
        numbers = np.arange(np.prod(shape)).reshape(shape)
        if y is None:
            unfoldings = (np.moveaxis(numbers, k, 0).reshape(size, -1) for k, size in enumerate(shape))
            norms = [NormTerm(cells, float(self.penalty)) for cells in unfoldings]
        else:
            norms = [_norm(block, numbers) for block in y]
        if not np.isin(known, np.concatenate([[-1], *(term.cells.ravel() for term in norms)])).all():
            raise InputError("every observed cell must be in a block; add a block of all rows and columns")
        latent = self.form == "latent"
        sweeps = trace_norm_sum(CellLosses(values, self.loss), known, norms, latent=latent, tol=float(self.tol))
        x, bound, *parts = self._keep(run(sweeps, max_iter=self.max_iter, callback=self.callback))
        self.array_ = np.pad(x, (0, numbers.size - len(x))).reshape(shape)
        self.parts_ = [Spectral(*parts[k : k + 3]) for k in range(0, len(parts), 3)]
        self.ranks_ = [part.rank for part in self.parts_]
        self.gap_ = max(self.history_[-1] - float(bound), 0.0)
        warn_of_gap(self.result_, self.gap_, tol=self.tol)
        return self

    def predict(self, *indices: ArrayLike) -> Array:
        """Predict the elements with the given indices, one array of shape (n,) for each mode, such as rows and columns.

        For the logistic loss these are log-odds.
        """
        check_is_fitted(self)
        at, shape = [np.asarray(index) for index in indices], self.array_.shape
        fits = (i.shape == at[0].shape and i.dtype.kind in "iu" for i in at)
        inside = (((i >= 0) & (i < size)).all() for i, size in zip(at, shape, strict=False))
        if len(at) != len(shape) or not all(fits) or not all(inside):
            raise InputError(f"indices must be {len(shape)} integer arrays of the same length, within shape {shape}")
        return np.asarray(self.array_[tuple(at)])

    def score(self, X: Any, y: Any = None) -> float:
        """Return the explained deviance (R²) of held-out elements, given as in :meth:`fit`."""
        check_is_fitted(self)
        numbers, values, shape = _elements(X)
        if shape != self.array_.shape:
            raise InputError(f"X must have the shape of the fit, {self.array_.shape}; got {shape}")
        return explained(values, self.array_.ravel()[numbers], self.loss)


def _elements(X: Any) -> tuple[Ints, Array, tuple[int, ...]]:
    """Return the increasing numbers, in C order, of the observed elements of an array, their values, and its shape."""
    entries = entries_of(X, "X", observed=True)
    shape = entries.shape
    width = int(np.prod(shape[1:]))
    if entries.order > 2 and not entries.symmetric:
        at = np.ravel_multi_index(tuple(entries.indices.T), shape)
        entries = replace(entries, indices=np.stack([at // width, at % width]).T, shape=(shape[0], width))
    cells = cells_of(entries)
    return cells.rows * width + cells.columns, cells.values, shape


def _norm(block: Block, numbers: Ints) -> NormTerm:
    """Return the trace norm of a block of a matrix of the numbers of its cells."""
    try:
        cells = numbers[block.rows][:, block.columns]
    except IndexError as error:
        raise InputError(f"blocks must be within a matrix; {error}") from None
    if cells.ndim != 2 or not cells.size or len(np.unique(cells)) < cells.size:
        raise InputError("blocks must have at least one row and one column, and list each once")
    return NormTerm(cells, check_number("penalty", block.penalty, above=True))


class ConvexCCA(Transformer, TraceNormModel):
    r"""Convex canonical correlation analysis: several views with a shared part and parts of their own.

    .. math:: \min_{L, P} \tfrac12 \sum_v \sum_{(i, j)\ \mathrm{known}}
              (x^{(v)}_{ij} - \mu^{(v)}_j - l^{(v)}_{ij} - p^{(v)}_{ij})^2
              + \lambda \|[L^{(1)} \cdots L^{(V)}]\|_* + \gamma \lambda \sum_v \|P^{(v)}\|_*

    Rows are the same cases in all views. This is the latent sum of the trace norms of the joined views and of each
    view, a convex relaxation of probabilistic CCA in which the noise of a view has low-rank structure. Unlike in
    classical CCA, views are not whitened, so the scales of columns matter, and cells may be missing.

    Parameters
    ----------
    penalty : float
        Penalty :math:`\lambda` on the trace norm of the shared part.
    ratio : float, optional
        Ratio :math:`\gamma` of the penalty on own parts. From 1 on, own parts are not needed, and up to
        :math:`1 / \sqrt V` for V views a shared part is not needed. The default is the mean of the two.

    Attributes
    ----------
    shared_, own_ : Spectral and list of Spectral
        L, of rank ``rank_``, and :math:`P^{(v)}`. Rows of V are the columns of all views, in order, or of a view.
    means_ : list of ndarray
        Means :math:`\mu^{(v)}` of the observed cells of each column, fitted first.
    gap_ : float
        Duality gap, an upper bound of the distance of the objective to its minimum.

    References
    ----------
    Bouchard, Naradowsky, Riedel, Rocktäschel, Vlachos (2015), Matrix and tensor factorization methods for natural
    language processing, ACL tutorial, slide "Combining regularizations": convex CCA as a sum of trace norms.
    Bach, Jordan (2005), A probabilistic interpretation of canonical correlation analysis, section 4.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((50, 1))
    >>> model = ConvexCCA(0.1).fit([z @ [[1.0, -1.0, 1.0]], z @ np.ones((1, 4))])
    >>> model.rank_, model.predict([np.full((1, 3), np.nan), np.full((1, 4), 2.0)])[0].round()
    (1, array([[ 2., -2.,  2.]]))
    """

    _: KW_ONLY
    ratio: Positive | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model to the observed cells of several views.

        Parameters
        ----------
        X : sequence of arrays with NaN for unknown cells, of shapes (rows, columns of the view)
            Two or more views, or the first of two.
        y : array, optional
            The second view, if X is the first.

        Raises
        ------
        InputError
            If views do not have the same rows, a column has no observed cell, or a parameter is out of range.
        """
        self.check()
        X = X if y is None else [X, y]
        views = [cells_of(view, f"view {k}", empty=True).array() for k, view in enumerate(X)]
        if len(views) < 2 or any(len(view) != len(views[0]) for view in views):
            raise InputError("X must contain two or more matrices with the same number of rows")
        if any(np.isnan(view).all(axis=0).any() for view in views):
            raise InputError("every column of each view must have an observed cell; leave out empty columns")
        name_columns(self, X)
        self.means_ = [np.nanmean(view, axis=0) for view in views]
        model = TraceNormSum(form="latent", max_iter=self.max_iter, tol=self.tol, callback=self.callback)
        every = slice(None)
        own = [Block(every, place, self._own_penalty) for place in self._places]
        model.fit(np.hstack(views) - np.hstack(self.means_), [Block(every, every, self.penalty), *own])
        self._keep(model.result_)
        self.shared_, *self.own_ = model.parts_
        self.rank_, self.gap_ = self.shared_.rank, model.gap_
        return self

    def transform(self, X: Sequence[Any]) -> Array:
        """Return the coordinates of new rows in the shared part, of shape (rows, rank).

        X has all views, as for :meth:`fit`; cells of an unknown view are NaN.
        """
        return self._rows(X)[0][:, : self.rank_]

    def predict(self, X: Sequence[Any]) -> list[Array]:
        """Return all views of new rows, given as for :meth:`transform`, with predictions of all cells."""
        rows, V = self._rows(X)
        joined = np.hstack(self.means_) + rows @ V.T
        return [joined[:, place] for place in self._places]

    def score(self, X: Any, y: Any = None) -> float:
        """Return R² of the last view of new rows, given as in :meth:`fit`, predicted from the other views."""
        views = X if y is None else [X, y]
        cells = cells_of(views[-1], "the last view")
        rows, V = self._rows(views, hide_last=True)
        predicted = self.means_[-1] + rows @ V[self._places[-1]].T
        return explained(cells.values, predicted[cells.rows, cells.columns])

    def _rows(self, X: Sequence[Any], *, hide_last: bool = False) -> tuple[Array, Array]:
        """Return coordinates in all parts by ridge regression on V, whose minimum is the trace norm, and V."""
        check_is_fitted(self)
        sizes = [len(mean) for mean in self.means_]
        views = [cells_of(view, f"view {k}", empty=True).array() for k, view in enumerate(X)]
        match_columns(self, X)
        if [view.shape[1] for view in views] != sizes:
            raise InputError(f"X must contain matrices with {', '.join(map(str, sizes))} columns")
        if hide_last:
            views[-1] = np.full_like(views[-1], np.nan)
        own = block_diag(*(part.V * np.sqrt(part.s) for part in self.own_))
        V = np.hstack([self.shared_.V * np.sqrt(self.shared_.s), own])
        cells = cells_of(np.hstack(views) - np.hstack(self.means_), empty=True)
        ridge = np.where(np.arange(V.shape[1]) < self.rank_, self.penalty, self._own_penalty)
        entries = RowEntries(cells.starts, cells.columns, np.ones(len(cells.values)), cells.values)
        return posterior_rows(entries, V, precision=np.diag(ridge), threads=1), V

    @property
    def _own_penalty(self) -> float:
        """Penalty on the own part of each view."""
        return self.penalty * ((1 + len(self.means_) ** -0.5) / 2 if self.ratio is None else self.ratio)

    @property
    def _places(self) -> list[slice]:
        """Columns of each view in the joined matrix."""
        ends = np.cumsum([0, *(len(mean) for mean in self.means_)]).tolist()
        return [slice(*ends[v : v + 2]) for v in range(len(self.means_))]

    @property
    def _n_features_out(self) -> int:
        return int(self.rank_)
