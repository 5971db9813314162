"""Convex collective matrix completion, with several relations as blocks of one symmetric matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.base import TraceNormModel
from polyadic.completion.cells import ObservedEntries, cells_of, explained, pairs
from polyadic.completion.trace_norm import fit_offsets
from polyadic.core.annotations import Array
from polyadic.core.errors import InputError, check_int, check_number
from polyadic.core.losses import Convex, Squared
from polyadic.core.model import Threads
from polyadic.core.solvers.smooth import CellLosses, SeparableSum
from polyadic.core.solvers.trace_norm import Pattern, Problem

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class RelationMatrix(NamedTuple):
    """Observed cells of a relation between entities of two types, such as ``"user"`` and ``"film"``.

    Relations with the same type share its entities, in the same order. A relation within one type is symmetric, and
    each pair is given once.
    """

    row_kind: str
    column_kind: str
    X: Any
    loss: Convex = Squared()
    weight: float = 1.0


class ConvexCollective(TraceNormModel):
    r"""Convex collective matrix completion of relations that share entity types.

    All entities of all types are rows and columns of one symmetric matrix Z, and a relation is a block of it:

    .. math:: \min_{Z = Z^\top} \sum_t w_t \sum_{(i, j)\ \mathrm{known}} \ell_t(x^{(t)}_{ij}, \mu_t + z_{r_t(i) c_t(j)})
              + \lambda \|Z\|_*

    By default Z is positive semidefinite, and its trace norm is its trace. This is the convex relaxation of
    :math:`Z = U U^\top` with the penalty :math:`\lambda \|U\|_F^2`: one factor matrix for each entity type, as in
    :class:`~polyadic.completion.coupled.collective.CollectiveFactorization`. With ``relaxation="symmetric"`` Z may have
    negative eigenvalues, so that the minimum is at most as large. The two are equivalent if the entity types can be
    divided into two groups such that every relation is between the groups.

    Blocks without a relation, such as those on the diagonal, are not observed. With a single relation between two types
    the result is that of :class:`~polyadic.completion.trace_norm.TraceNormCompletion` with twice the penalty.

    Parameters
    ----------
    relaxation : {"positive", "symmetric"}
        Whether Z is positive semidefinite or any symmetric matrix.

    Attributes
    ----------
    matrix_ : Spectral
        Z, of rank ``rank_``. Columns of U are those of V, or their negatives for negative eigenvalues.
    gap_ : float
        Duality gap, an upper bound of the distance of the objective to its minimum.
    sizes_ : dict of str to int
        Number of entities of each type, in the order of Z.
    kinds_, means_ : list of (str, str), list of float
        Entity types of the rows and columns, and mean :math:`\mu_t`, of each relation.

    References
    ----------
    Bouchard, Guo, Yin (2013), Convex collective matrix factorization, eq. 4 and algorithm 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> u, v, w = (rng.standard_normal(n) for n in (12, 10, 8))
    >>> given = [RelationMatrix("user", "film", np.outer(u, v)), RelationMatrix("film", "word", np.outer(v, w))]
    >>> model = ConvexCollective(0.01).fit(given)
    >>> bool(np.abs(model.predict(0, [3], [4]) - u[3] * v[4]) < 0.05)
    True
    """

    _: KW_ONLY
    relaxation: Literal["positive", "symmetric"] = "positive"
    threads: Threads = None

    def fit(self, X: Sequence[RelationMatrix], y: Any = None) -> Self:
        """Fit the model to the observed cells of several relations.

        InputError is raised if the sizes of a type differ, a cell occurs twice, or a parameter is out of range.
        """
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
        entities, size = np.sort(np.hstack(at), axis=0), sum(sizes.values())
        order = np.lexsort(entities[::-1])
        i, j = entities[:, order]
        if ((np.diff(i) == 0) & (np.diff(j) == 0)).any():
            about = "two cells must not have the same pair of entities, even in different relations or in reverse order"
            raise InputError(f"{about}; merge such cells, or give one relation its own entity types")
        pattern, spot = Pattern(i, j, (size, size), symmetric=True, threads=self._threads), np.argsort(order)
        ends = np.cumsum([len(part.x) for part in losses])
        smooth = SeparableSum([(spot[e - len(part.x) : e], part) for e, part in zip(ends, losses, strict=True)])
        answer = self._solved(Problem(pattern, smooth, float(self.penalty), positive=self.relaxation == "positive"))
        self.sizes_, self.kinds_, self.means_ = sizes, [(r.row_kind, r.column_kind) for r in X], means
        self.matrix_, self.rank_, self.gap_ = answer.M, answer.M.rank, answer.gap
        return self

    def predict(self, relation: int, rows: ArrayLike, columns: ArrayLike) -> Array:
        """Predict the cells of the relation with the given index, or their log-odds for the logistic loss.

        ``rows`` and ``columns`` are indices of shape (n,).
        """
        check_is_fitted(self)
        check_int("relation", relation, low=0, high=len(self.kinds_) - 1)
        first, second = (self.places_[kind] for kind in self.kinds_[relation])
        i, j = pairs(rows, columns, (first.stop - first.start, second.stop - second.start))
        U, V = self.matrix_.U[first] * self.matrix_.s, self.matrix_.V[second]
        return np.asarray(self.means_[relation] + np.einsum("nr,nr->n", U[i], V[j]))

    def score(self, X: Sequence[RelationMatrix], y: Any = None) -> float:
        """Return the explained deviance of held-out cells, given as in :meth:`fit`, as its mean over relations."""
        check_is_fitted(self)
        if [each[:2] for each in X] != [tuple(kinds) for kinds in self.kinds_]:
            raise InputError("X must have the relations of the fit, in the same order")
        cells = [cells_of(each.X) for each in X]
        predicted = [self.predict(at, each.rows, each.columns) for at, each in enumerate(cells)]
        every = zip(cells, predicted, X, strict=True)
        return float(np.mean([explained(each.values, means, relation.loss) for each, means, relation in every]))

    @property
    def places_(self) -> dict[str, slice]:
        """Row slice of each entity type in the joint matrix Z."""
        check_is_fitted(self)
        return _places(self.sizes_)


def _sizes(relations: Sequence[RelationMatrix], given: list[ObservedEntries]) -> dict[str, int]:
    """Return the number of entities of each type; raise InputError if relations disagree on a number."""
    sizes: dict[str, int] = {}
    for relation, cells in zip(relations, given, strict=True):
        for kind, size in zip(relation[:2], cells.shape, strict=True):
            if sizes.setdefault(kind, size) != size:
                got = f"{sizes[kind]:,} and {size:,}"
                raise InputError(f"entity type {kind!r} must have the same size in all relations; got {got}")
    if not sizes:
        raise InputError("X must contain at least one relation")
    return sizes


def _places(sizes: dict[str, int]) -> dict[str, slice]:
    """Return the row slice of each entity type in the joint matrix."""
    ends = np.cumsum(list(sizes.values())).tolist()
    return {kind: slice(end - size, end) for (kind, size), end in zip(sizes.items(), ends, strict=True)}
