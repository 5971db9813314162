"""Several relations between things of several kinds, completed together as blocks of one symmetric matrix."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.cells import cells_of, pairs
from polyadic.completion.trace_norm import fit_offsets
from polyadic.core.errors import InputError, check_int, check_number
from polyadic.core.losses import Squared
from polyadic.core.model import Amount, Callback, Count, Model, Positive, Threads
from polyadic.core.solvers.proximal import proximal_gradient
from polyadic.core.solvers.smooth import CellLosses, SeparableSum
from polyadic.core.solvers.trace_norm import Pattern, Problem, solve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from polyadic.completion.cells import Cells
    from polyadic.core.losses import Convex


class Relation(NamedTuple):
    """Known cells of a relation between things of two kinds.

    Attributes
    ----------
    row_kind, column_kind : str
        Such as ``"user"`` and ``"film"``. Relations that name the same kind share its things, in the same order.
    X : Entries, sparse matrix or array with NaN for unknown cells
        Within one kind a relation is symmetric, and each pair is given once.
    loss : Convex
    weight : float
        Of its losses.
    """

    row_kind: str
    column_kind: str
    X: Any
    loss: Convex = Squared()
    weight: float = 1.0


class ConvexCollective(Model):
    r"""Relations that share kinds of things, completed together without local minima.

    All things of all kinds are rows and columns of one symmetric matrix Z, and a relation is a block of it:

    .. math:: \min_{Z = Z^\top} \sum_t w_t \sum_{(i, j)\ \mathrm{known}} \ell_t(x^{(t)}_{ij}, \mu_t + z_{r_t(i) c_t(j)})
              + \lambda \|Z\|_*

    What no relation says anything about, such as the blocks on the diagonal, is free. With one relation, the trace norm
    of Z is twice that of the block, so it is completed as by
    :class:`~polyadic.completion.trace_norm.TraceNormCompletion` of twice the penalty.

    Parameters
    ----------
    penalty : float
        :math:`\lambda`.
    max_iter, tol
        Sweeps at most, and the duality gap at which to stop, relative to the objective.
    threads : int, optional
        All cores by default; the result does not depend on them.
    callback : callable, optional
        Called with the :class:`~polyadic.core.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    matrix_ : Spectral
        Z; columns of U are those of V or their negatives.
    rank_ : int
    gap_ : float
        How much smaller the objective can be at most.
    sizes_ : dict of str to int
        How many things there are of each kind, in the order in which they stand in Z.
    kinds_ : list of (str, str)
        Of the rows and the columns of each relation.
    means_ : list of float
        :math:`\mu_t`, found first.
    history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`.

    References
    ----------
    Bouchard, Guo, Yin (2013), Convex collective matrix factorization, eq. 4 and algorithm 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> u, v, w = (rng.standard_normal(n) for n in (12, 10, 8))
    >>> given = [Relation("user", "film", np.outer(u, v)), Relation("film", "word", np.outer(v, w))]
    >>> model = ConvexCollective(0.01).fit(given)
    >>> bool(np.abs(model.predict(0, [3], [4]) - u[3] * v[4]) < 0.05)
    True
    """

    penalty: Positive = 1.0
    _: KW_ONLY
    max_iter: Count = 1000
    tol: Amount = 1e-3
    threads: Threads = None
    callback: Callback = None

    def fit(self, X: Sequence[Relation], y: Any = None) -> Self:
        """Fit to the known cells of relations.

        Raises
        ------
        InputError
            If a kind is not of one size, a cell is given twice, or a parameter is out of range.
        """
        del y
        self.check()
        given = [cells_of(relation.X) for relation in X]
        sizes = _sizes(X, given)
        places = _places(sizes)
        means, losses, at = [], [], []
        for relation, cells in zip(X, given, strict=True):
            offsets = fit_offsets(cells, relation.loss, "mean", ridge=0.0)
            weights = np.full(len(cells.values), check_number("weight", relation.weight, above=True))
            mean = np.full(len(cells.values), offsets.mean)
            losses.append(CellLosses(cells.values, relation.loss, weights, mean))
            first, second = (places[kind].start for kind in relation[:2])
            at.append(np.stack([cells.rows + first, cells.columns + second]))
            means.append(offsets.mean)
        pattern, order = _pattern(np.sort(np.hstack(at), axis=0), sum(sizes.values()), self._threads)
        spot = np.argsort(order)
        ends = np.cumsum([len(part.x) for part in losses])
        smooth = SeparableSum([(spot[e - len(part.x) : e], part) for e, part in zip(ends, losses, strict=True)])
        problem = Problem(pattern, smooth, float(self.penalty))
        sweeps = proximal_gradient(problem)
        answer = solve(problem, sweeps, max_iter=self.max_iter, tol=self.tol, callback=self.callback)
        self._keep(answer.result)
        self.sizes_, self.kinds_, self.means_ = sizes, [(r.row_kind, r.column_kind) for r in X], means
        self.matrix_, self.rank_, self.gap_ = answer.M, answer.M.rank, answer.gap
        return self

    def predict(self, relation: int, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Give the values of cells of a relation, named by its number, known or not; log-odds for logistic loss."""
        check_is_fitted(self)
        check_int("relation", relation, low=0, high=len(self.kinds_) - 1)
        first, second = (self.places_[kind] for kind in self.kinds_[relation])
        i, j = pairs(rows, columns, (first.stop - first.start, second.stop - second.start))
        U, V = self.matrix_.U[first] * self.matrix_.s, self.matrix_.V[second]
        return np.asarray(self.means_[relation] + np.einsum("nr,nr->n", U[i], V[j]))

    @property
    def places_(self) -> dict[str, slice]:
        """The rows of Z that are things of a kind."""
        check_is_fitted(self)
        return _places(self.sizes_)


def _sizes(relations: Sequence[Relation], given: list[Cells]) -> dict[str, int]:
    """Count the things of each kind, in the order in which kinds are named."""
    sizes: dict[str, int] = {}
    for relation, cells in zip(relations, given, strict=True):
        for kind, size in zip(relation[:2], cells.shape, strict=True):
            if sizes.setdefault(kind, size) != size:
                raise InputError(f"there are {sizes[kind]:,} of kind {kind!r} in one relation and {size:,} in another")
    if not sizes:
        raise InputError("at least one relation is completed; got none")
    return sizes


def _places(sizes: dict[str, int]) -> dict[str, slice]:
    """Give each kind its rows."""
    ends = np.cumsum(list(sizes.values())).tolist()
    return {kind: slice(end - size, end) for (kind, size), end in zip(sizes.items(), ends, strict=True)}


def _pattern(at: NDArray[np.int64], size: int, threads: int) -> tuple[Pattern, NDArray[np.int64]]:
    """Sort cells of the upper triangle, and give the order that does."""
    order = np.lexsort((at[1], at[0]))
    rows, columns = at[:, order]
    if ((np.diff(rows) == 0) & (np.diff(columns) == 0)).any():
        raise InputError(
            "two things are related twice; give each pair of a symmetric relation once, and things that are in two"
            " relations to one another a second kind"
        )
    return Pattern(rows, columns, (size, size), symmetric=True, threads=threads), order
