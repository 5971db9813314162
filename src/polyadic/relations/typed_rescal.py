r"""RESCAL whose relations know their entities, with what else is known of the entities beside them.

RESCAL where each relation is between entities of its own, and what is known of entities beside their relations.

.. math:: \min_{A, R, V} \tfrac12 \sum_k \|X_k - A_{S_k} R_k A_{O_k}^\top\|_F^2 + \tfrac{\mu}{2} \|D - A V\|_F^2
          + \tfrac{\lambda_A}{2} \|A\|_F^2 + \tfrac{\lambda_R}{2} \sum_k \|R_k\|_F^2 + \tfrac{\lambda_V}{2} \|V\|_F^2

:math:`A_{S_k}` are the rows of entities that can be a subject of relation k, :math:`A_{O_k}` of those that can be an
object: cells of others do not count. Only Gram matrices of these rows are formed: with
:math:`A_{S_k}^\top A_{S_k} = P \,\mathrm{diag}(s)\, P^\top`, :math:`A_{O_k}^\top A_{O_k} = Q \,\mathrm{diag}(t)\,
Q^\top` and :math:`M_k = A_{S_k}^\top X_k A_{O_k}` the best R is :math:`P \frac{P^\top M_k Q}{s t^\top + \lambda_R}
Q^\top`.

References
----------
Chang, Yih, Yang, Meek (2014), Typed tensor decomposition of knowledge bases for relation extraction, section 3.
Nickel, Tresp, Kriegel (2012), Factorizing YAGO: scalable machine learning for linked data, section 4.1 (attributes).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.errors import InputError, check_int, check_number
from polyadic.core.model import Amount, Callback, Count, Seed
from polyadic.core.solvers.run import Sweep, run
from polyadic.relations.rescal import RESCAL, relation_slices
from polyadic.relations.rescal_als import guarded, rescal_start

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from polyadic.core.entries import Entries

    Array = NDArray[np.float64]


class TypedRESCAL(RESCAL):
    r"""RESCAL in which a relation is between entities of the types that it is between.

    .. math:: \min_{A, R, V} \tfrac12 \sum_k \|X_k - A_{S_k} R_k A_{O_k}^\top\|_F^2 + \tfrac{\mu}{2} \|D - A V\|_F^2
              + \mathrm{ridges}(A, R, V)

    Triples of other types are impossible: they cost nothing to fit and score minus infinity. What is known of entities
    beside their relations, such as their kind or the words that describe them, shares their vectors.

    Parameters
    ----------
    rank, ridge_A, ridge_R, max_iter, tol, seed, callback
        See :class:`~polyadic.relations.rescal.RESCAL`.
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
        See :class:`~polyadic.core.model.Model`.

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
    callback: Callback = None

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
            See :meth:`RESCAL.fit <polyadic.relations.rescal.RESCAL.fit>`.
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
        beside = (
            None if attributes is None else Attributes(csr_array(attributes, dtype=float), self.weight, self.ridge_V)
        )
        start = rescal_start(slices, rank, seed=self.seed)
        ridges = RescalRidges(self.ridge_A, self.ridge_R)
        solver = typed_rescal(slices, start, domains=domains, ridges=ridges, beside=beside)
        result = run(solver, max_iter=self.max_iter, tol=self.tol, callback=self.callback)
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


MEMORY = 64 << 20
"""Budget in bytes for the matrices of groups of entities that are solved together."""


class Domain(NamedTuple):
    """Which entities can be subjects, and which objects, of a relation; sorted numbers, each once."""

    subjects: NDArray[np.int64]
    objects: NDArray[np.int64]


class Attributes(NamedTuple):
    """What is known of entities: a sparse table of entities by attributes, how much it counts, and its ridge."""

    table: Any
    weight: float = 1.0
    ridge: float = 0.0


class RescalRidges(NamedTuple):
    """RescalRidges of the entities and of the relations."""

    A: float = 0.0
    R: float = 0.0


NO_RIDGES = RescalRidges()


def typed_rescal(
    slices: Sequence[Any],
    start: NDArray[Any],
    *,
    domains: Sequence[Domain],
    ridges: RescalRidges = NO_RIDGES,
    beside: Attributes | None = None,
) -> Iterator[Sweep]:
    """Move A, then solve for R and V; one sweep does each once.

    Each row of A is moved to its best, the other side of every relation held still, and the whole step is halved until
    it does not raise the objective: see :func:`~polyadic.relations.rescal_als.rescal`, which this is where every
    entity can be both in all relations and nothing stands beside.

    Parameters
    ----------
    slices : sequence of sparse arrays of shape (n, n)
        :math:`X_k`; cells outside their domain must not be listed.
    start : ndarray of shape (n, R)
        A to begin with; it is not changed.
    domains : sequence of Domain
        One per relation.
    ridges : RescalRidges
    beside : Attributes, optional
        D, of shape (n, attributes).

    Yields
    ------
    Sweep
        Factors ``[A, R]``, or ``[A, R, V]`` with V of shape (R, attributes). The objective never rises.

    Raises
    ------
    InputError
        If shapes do not fit, a cell lies outside its domain, or a ridge is negative.

    Examples
    --------
    >>> X = csr_array([[0, 1.0, 1.0], [0, 0, 0], [0, 0, 0]])
    >>> domain = Domain(np.array([0]), np.array([1, 2]))
    >>> sweeps = typed_rescal([X], np.ones((3, 1)), domains=[domain], ridges=RescalRidges(0.1, 0.1))
    >>> next(sweeps).objective > next(sweeps).objective
    True
    """
    problem = _TypedObjective(
        slices, domains, RescalRidges(*map(check_number, ("ridge_A", "ridge_R"), ridges)), beside, len(start)
    )
    yield from guarded(np.array(start, float), problem.reach, problem.step)


class _TypedObjective:
    """The objective as a function of A, and steps that lower it."""

    def __init__(
        self, slices: Sequence[Any], domains: Sequence[Domain], ridges: RescalRidges, beside: Attributes | None, n: int
    ) -> None:
        if not len(slices) == len(domains) > 0 or any(X.shape != (n, n) for X in slices):
            raise InputError(
                f"there must be a domain for each relation, of shape ({n}, {n}); got {len(domains)} domains"
            )
        if beside is not None and beside.table.shape[0] != n:
            raise InputError(f"attributes must have a row for each of {n} entities; got {beside.table.shape[0]} rows")
        self.domains, self.ridges, self.beside = domains, ridges, beside
        self.inner = [csr_array(csr_array(X)[d.subjects][:, d.objects]) for X, d in zip(slices, domains, strict=True)]
        if any(x.nnz != X.nnz for x, X in zip(self.inner, slices, strict=True)):
            raise InputError("a relation has cells outside its domain; add their entities to it")
        self.squares = float(sum((x.data.astype(float) ** 2).sum() for x in self.inner))
        self.groups, self.group = _alike(domains, n)

    def reach(self, A: Array) -> Sweep:
        """Solve for R and V."""
        R = np.empty((len(self.inner), A.shape[1], A.shape[1]))
        error = self.squares + self.ridges.A * float(np.vdot(A, A))
        for k, (x, domain) in enumerate(zip(self.inner, self.domains, strict=True)):
            S, O = A[domain.subjects], A[domain.objects]  # noqa: E741 subjects and objects
            M, G, H = S.T @ (x @ O), S.T @ S, O.T @ O
            R[k] = _best(M, G, H, self.ridges.R)
            error += float(np.vdot(R[k], G @ R[k] @ H + self.ridges.R * R[k]) - 2 * np.vdot(R[k], M))
        if self.beside is None:
            return Sweep([A, R], 0.5 * error)
        D, weight, ridge = self.beside
        product = (D.T @ A).T
        G = A.T @ A
        V = np.linalg.lstsq(weight * G + ridge * np.eye(len(G)), weight * product, rcond=None)[0]
        squares = float((D.data.astype(float) ** 2).sum()) - 2 * float(np.vdot(V, product)) + float(np.vdot(V, G @ V))
        return Sweep([A, R, V], 0.5 * (error + weight * squares + ridge * float(np.vdot(V, V))))

    def step(self, A: Array, R: Array, V: Array | None = None) -> Array:
        """Give what brings each row to its best, the rows that it meets held still."""
        right, size = -self.ridges.A * A, A.shape[1]
        shared = self.ridges.A * np.eye(size)
        H = np.empty((2 * len(R), size, size))  # of each relation, for its subjects and for its objects
        for k, (x, (s, o)) in enumerate(zip(self.inner, self.domains, strict=True)):
            S, O = A[s], A[o]  # noqa: E741
            H[2 * k], H[2 * k + 1] = R[k] @ (O.T @ O) @ R[k].T, R[k].T @ (S.T @ S) @ R[k]
            right[s] += (x @ O) @ R[k].T - S @ H[2 * k]
            right[o] += (x.T @ S) @ R[k] - O @ H[2 * k + 1]
        if V is not None and self.beside is not None:
            right += self.beside.weight * (self.beside.table @ V.T - A @ (V @ V.T))
            shared += self.beside.weight * (V @ V.T)
        moved = np.empty_like(A)
        block = max(1, MEMORY // (8 * size**2))
        flat = H.reshape(len(H), -1)
        for first in range(0, self.groups.shape[0], block):
            some = (self.groups[first : first + block] @ flat).reshape(-1, size, size) + shared
            inverses = np.linalg.pinv(some, hermitian=True) if self.ridges.A == 0 else np.linalg.inv(some)
            rows = np.flatnonzero((self.group >= first) & (self.group < first + block))
            for row in rows:
                moved[row] = right[row] @ inverses[self.group[row] - first]
        return moved


def _best(M: Array, G: Array, H: Array, ridge: float) -> Array:
    """Give the best matrix of a relation; with ridge 0, the shortest of the best."""
    s, P = np.linalg.eigh(G)
    t, Q = np.linalg.eigh(H)
    W = np.outer(np.maximum(s, 0), np.maximum(t, 0))
    kept = np.finfo(float).eps * len(W) * W.max() < W
    return np.asarray(P @ np.where(kept, (P.T @ M @ Q) / np.where(kept, W + ridge, 1.0), 0.0) @ Q.T)


def _alike(domains: Sequence[Domain], n: int) -> tuple[csr_array, NDArray[np.int64]]:
    """Group entities that are in the same domains: the domains of each group, and the group of each entity."""
    places = [part for domain in domains for part in domain]
    if any(p.size and not (p.min() >= 0 and p.max() < n and (np.diff(p) > 0).all()) for p in places):
        raise InputError(f"domains must be sorted numbers of entities below {n}, each once")
    columns = np.repeat(np.arange(len(places)), [len(part) for part in places])
    member = csr_array((np.ones(len(columns)), (np.concatenate(places), columns)), shape=(n, len(places)))
    member.sort_indices()
    numbers: dict[bytes, int] = {}
    bounds = member.indptr
    keys = [member.indices[bounds[e] : bounds[e + 1]].tobytes() for e in range(n)]
    group = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    _, first = np.unique(group, return_index=True)
    return member[first], group
