"""RESCAL: entities of one type, many relations between them, one factor for subjects and objects."""

from __future__ import annotations

from dataclasses import KW_ONLY
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from polyadic.core.entries import Entries
from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Amount, Callback, Count, Model, Seed
from polyadic.core.solvers.run import run
from polyadic.relations.bilinear import Slices
from polyadic.relations.rescal_als import rescal, rescal_start

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray


class RESCAL(Model):
    r"""One vector for each entity, one matrix for each relation; a triple scores :math:`a_s^\top R_k\, a_o`.

    .. math:: \min_{A, R} \tfrac12 \sum_k \|X_k - A R_k A^\top\|_F^2
              + \tfrac{\lambda_A}{2} \|A\|_F^2 + \tfrac{\lambda_R}{2} \sum_k \|R_k\|_F^2

    An entity has one vector as subject and as object, so that what is known of its neighbours reaches it; relations
    need not be symmetric. Every unobserved triple counts as zero. See :mod:`polyadic.relations.rescal_als`.

    Parameters
    ----------
    rank : int
        Length of the vectors, below the number of entities.
    ridge_A, ridge_R : float
        :math:`\lambda_A` and :math:`\lambda_R`; 10 as published for kinship, where 0 and 1 tell held-out triples worse.
    max_iter, tol
        See :func:`~polyadic.core.solvers.run.run`; a sweep moves A and solves for R.
    seed : int, optional
        Of the eigenvectors at which the fit starts; with few entities they are exact.
    callback : callable, optional
        Called with the :class:`~polyadic.core.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    entity_factors_ : ndarray of shape (n, rank)
        A.
    relation_factors_ : ndarray of shape (K, rank, rank)
        R.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`.

    References
    ----------
    Nickel, Tresp, Kriegel (2011), A three-way model for collective learning on multi-relational data.

    Examples
    --------
    Who likes whom; ann and bob like cat and dan, one of the four likings is not listed.

    >>> from scipy.sparse import csr_array
    >>> likes = csr_array([[0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    >>> model = RESCAL(2, ridge_A=0.1, ridge_R=0.1).fit([likes])
    >>> bob, dan = 1, 3
    >>> there, back = model.predict([bob, dan], [0, 0], [dan, bob])
    >>> bool(there > 0.2 > abs(back))
    True
    """

    rank: Count = 10
    _: KW_ONLY
    ridge_A: Amount = 10.0
    ridge_R: Amount = 10.0
    max_iter: Count = 500
    tol: Amount = 1e-4
    seed: Seed = None
    callback: Callback = None

    def fit(self, X: Entries | Sequence[Any], y: object = None) -> Self:
        """Fit to all triples.

        Parameters
        ----------
        X : Entries of shape (n, K, n), or sequence of K sparse arrays of shape (n, n)
            Triples of subject, relation and object, unobserved ones zero; or the subjects by objects of each relation.

        Raises
        ------
        InputError
            If the data are of another kind, or a parameter is out of range.
        """
        self.check()
        del y
        slices = relation_slices(X)
        rank = check_int("rank", self.rank, low=1, high=slices[0].shape[0] - 1)
        start = rescal_start(slices, rank, seed=self.seed)
        solver = rescal(slices, start, ridge_A=self.ridge_A, ridge_R=self.ridge_R)
        result = run(solver, max_iter=self.max_iter, tol=self.tol, callback=self.callback)
        self.entity_factors_, self.relation_factors_ = self._keep(result)
        return self

    def predict(self, subjects: ArrayLike, relations: ArrayLike, objects: ArrayLike) -> NDArray[np.float64]:
        """Give the scores of m triples, shape (m,).

        Parameters
        ----------
        subjects, relations, objects : array of int of shape (m,)

        Raises
        ------
        InputError
            If a number stands for nothing that was fitted, or the lengths differ.
        """
        s, k = self._pairs("subject", subjects, relations)
        o = _numbers("objects", objects, len(self.entity_factors_))
        if len(o) != len(s):
            raise InputError(f"each triple needs an object; got {len(o)} objects for {len(s)} subjects")
        queries, _ = Slices().query(self.entity_factors_[s], k, [self.relation_factors_])
        return np.asarray((queries * self.entity_factors_[o]).sum(axis=1))

    def objects(self, subjects: ArrayLike, relations: ArrayLike) -> NDArray[np.float64]:
        """Give the scores of all objects for m pairs of subject and relation, shape (m, n); refuse unknown numbers."""
        return self._ask(*self._pairs("subject", subjects, relations), backwards=False)

    def subjects(self, objects: ArrayLike, relations: ArrayLike) -> NDArray[np.float64]:
        """Give the scores of all subjects for m pairs of object and relation, shape (m, n); refuse unknown numbers."""
        return self._ask(*self._pairs("object", objects, relations), backwards=True)

    def _ask(self, known: NDArray[np.int64], k: NDArray[np.int64], *, backwards: bool) -> NDArray[np.float64]:
        queries, _ = Slices().query(self.entity_factors_[known], k, [self.relation_factors_], backwards=backwards)
        return np.asarray(queries @ self.entity_factors_.T)

    def _pairs(self, what: str, ends: ArrayLike, relations: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        known = _numbers(f"{what}s", ends, len(self.entity_factors_))
        k = _numbers("relations", relations, len(self.relation_factors_))
        if len(known) != len(k):
            raise InputError(f"each {what} needs a relation; got {len(known)} {what}s and {len(k)} relations")
        return known, k


def _numbers(name: str, given: ArrayLike, size: int) -> NDArray[np.int64]:
    numbers = np.asarray(given)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise InputError(f"{name} must be a list of whole numbers; got {numbers.dtype} of shape {numbers.shape}")
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < size:
        raise InputError(f"{name} must lie from 0 to {size - 1}; got {numbers.min()} to {numbers.max()}")
    return numbers.astype(np.int64)


def relation_slices(X: Entries | Sequence[Any]) -> list[Any]:
    """Give a sparse matrix of subjects by objects for each relation."""
    from scipy.sparse import csr_array, issparse

    if isinstance(X, Entries):
        return _slices_of_entries(X)
    if not len(X) or not all(issparse(x) and x.shape == (X[0].shape[0],) * 2 for x in X):
        shapes = [np.shape(x) for x in X[:3]]
        raise InputError(f"relations must be sparse square matrices of one size, at least one; got shapes {shapes}")
    slices = [csr_array(x, dtype=float) for x in X]
    if not all(np.isfinite(x.data).all() for x in slices):
        raise InputError("relations must be finite; remove what is infinite or NaN")
    return slices


def _slices_of_entries(X: Entries) -> list[Any]:
    from scipy.sparse import csr_array

    if X.order != 3 or X.shape[0] != X.shape[2] or X.symmetric:
        raise InputError(f"entries must be triples of shape (n, K, n), not symmetric; got shape {X.shape}")
    if X.unlisted != "zero" or X.weights is not None:
        raise InputError(
            "RESCAL counts every unobserved triple as zero and all alike; leave weights and 'missing' away"
        )
    n, K, _ = X.shape
    subjects, relations, objects = X.indices.T
    order = np.argsort(relations, kind="stable")
    bounds = np.searchsorted(relations[order], np.arange(K + 1))
    parts = [order[low:high] for low, high in pairwise(bounds)]
    return [csr_array((X.values[p].astype(float), (subjects[p], objects[p])), shape=(n, n)) for p in parts]
