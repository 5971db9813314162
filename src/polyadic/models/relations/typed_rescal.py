"""RESCAL whose relations know their entities, with what else is known of the entities beside them."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import csr_array

from polyadic.errors import InputError, check_int
from polyadic.models.base import Amount, Count, Seed, Watch
from polyadic.models.relations.rescal import RESCAL, relation_slices
from polyadic.solvers.relations.rescal import rescal_start
from polyadic.solvers.relations.typed_rescal import Beside, Domain, Ridges, typed_rescal
from polyadic.solvers.run import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from polyadic.data import Entries


class TypedRESCAL(RESCAL):
    r"""RESCAL in which a relation is between entities of the types that it is between.

    .. math:: \min_{A, R, V} \tfrac12 \sum_k \|X_k - A_{S_k} R_k A_{O_k}^\top\|_F^2 + \tfrac{\mu}{2} \|D - A V\|_F^2
              + \mathrm{ridges}(A, R, V)

    Triples of other types are impossible: they cost nothing to fit and score minus infinity. What is known of entities
    beside their relations, such as their kind or the words that describe them, shares their vectors.

    Parameters
    ----------
    rank, ridge_A, ridge_R, max_iter, tol, seed, watch
        See :class:`~polyadic.models.relations.rescal.RESCAL`.
    ridge_V : float
        Of the attributes' factor.
    weight : float
        :math:`\mu`, how much the attributes count.

    Attributes
    ----------
    entity_factors_, relation_factors_
        A of shape (n, rank), and R of shape (K, rank, rank).
    attribute_factors_ : ndarray of shape (rank, attributes)
        V; only after a fit with attributes.
    subjects_, objects_ : bool ndarray of shape (K, n)
        Which entities each relation can have.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.models.base.Model`.

    References
    ----------
    Chang, Yih, Yang, Meek (2014), Typed tensor decomposition of knowledge bases for relation extraction.
    Nickel, Tresp, Kriegel (2012), Factorizing YAGO: scalable machine learning for linked data.

    Examples
    --------
    Two persons live in two towns; a town lives nowhere.

    >>> lives = csr_array(([1.0, 1.0], ([0, 1], [2, 3])), shape=(4, 4))
    >>> model = TypedRESCAL(2, ridge_A=0.1, ridge_R=0.1).fit([lives], types=["person", "person", "town", "town"])
    >>> scores = model.predict([0, 0, 2], [0, 0, 0], [2, 3, 0])
    >>> bool(scores[0] > scores[1]), float(scores[2])
    (True, -inf)
    """

    rank: Count = 10
    _: KW_ONLY
    ridge_A: Amount = 10.0
    ridge_R: Amount = 10.0
    ridge_V: Amount = 10.0
    weight: Amount = 1.0
    max_iter: Count = 500
    tol: Amount = 1e-4
    seed: Seed = None
    watch: Watch = None

    def fit(
        self,
        X: Entries | Sequence[Any],
        y: object = None,
        *,
        types: ArrayLike | None = None,
        attributes: Any = None,
    ) -> Self:
        """Fit to all possible triples.

        Parameters
        ----------
        X : Entries of shape (n, K, n), or sequence of K sparse arrays of shape (n, n)
            See :meth:`RESCAL.fit <polyadic.models.relations.rescal.RESCAL.fit>`.
        types : array of shape (n,), optional
            The type of each entity, a number or a name: a relation can have entities of all types that it has in
            ``X`` on that side. By default each entity is its own type: it can be where it was seen.
        attributes : sparse matrix of shape (n, attributes), optional
            D; what is not listed is zero.

        Raises
        ------
        InputError
            If the data do not fit one another, or a parameter is out of range.
        """
        self.check()
        del y
        slices = relation_slices(X)
        n = slices[0].shape[0]
        rank = check_int("rank", self.rank, low=1, high=n - 1)
        self.subjects_, self.objects_ = _possible(slices, types)
        sides = zip(self.subjects_, self.objects_, strict=True)
        domains = [Domain(np.flatnonzero(s), np.flatnonzero(o)) for s, o in sides]
        beside = None if attributes is None else Beside(csr_array(attributes, dtype=float), self.weight, self.ridge_V)
        start = rescal_start(slices, rank, seed=self.seed)
        ridges = Ridges(self.ridge_A, self.ridge_R)
        solver = typed_rescal(slices, start, domains=domains, ridges=ridges, beside=beside)
        result = run(solver, max_iter=self.max_iter, tol=self.tol, watch=self.watch)
        self.entity_factors_, self.relation_factors_, *attribute_factors = self._keep(result)
        self.__dict__.pop("attribute_factors_", None)  # of a fit before, with attributes
        if attribute_factors:
            [self.attribute_factors_] = attribute_factors
        return self

    def predict(self, subjects: ArrayLike, relations: ArrayLike, objects: ArrayLike) -> NDArray[np.float64]:
        """Give the scores of m triples, shape (m,); minus infinity for impossible ones."""
        scores = super().predict(subjects, relations, objects)
        k = np.asarray(relations)
        possible = self.subjects_[k, np.asarray(subjects)] & self.objects_[k, np.asarray(objects)]
        return np.where(possible, scores, -np.inf)

    def objects(self, subjects: ArrayLike, relations: ArrayLike) -> NDArray[np.float64]:
        """Give the scores of all objects for m pairs of subject and relation, shape (m, n).

        Objects that the relation cannot have score minus infinity; the subject was asked for, and is taken as possible.
        """
        return np.where(self.objects_[np.asarray(relations)], super().objects(subjects, relations), -np.inf)

    def subjects(self, objects: ArrayLike, relations: ArrayLike) -> NDArray[np.float64]:
        """Give the scores of all subjects for m pairs of object and relation, shape (m, n), likewise."""
        return np.where(self.subjects_[np.asarray(relations)], super().subjects(objects, relations), -np.inf)


def _possible(slices: Sequence[Any], types: ArrayLike | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which entities each relation can have as subjects, and as objects."""
    n = slices[0].shape[0]
    kinds = np.arange(n) if types is None else np.unique(np.asarray(types), return_inverse=True)[1]
    if kinds.shape != (n,):
        raise InputError(f"types must be one for each of {n} entities; got shape {kinds.shape}")
    possible = []
    for side in range(2):
        seen = np.zeros((len(slices), kinds.max() + 1), bool)
        for k, X in enumerate(slices):
            seen[k, kinds[X.nonzero()[side]]] = True
        possible.append(seen[:, kinds])
    return possible[0], possible[1]
