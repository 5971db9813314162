r"""RESCAL with typed relations, which hold only between certain entities, and with entity attributes.

.. math:: \min_{A, R, V} \tfrac12 \sum_k \|X_k - A_{S_k} R_k A_{O_k}^\top\|_F^2 + \tfrac{\mu}{2} \|D - A V\|_F^2
          + \tfrac{\lambda_A}{2} \|A\|_F^2 + \tfrac{\lambda_R}{2} \sum_k \|R_k\|_F^2 + \tfrac{\lambda_V}{2} \|V\|_F^2

:math:`A_{S_k}` are the rows of entities that can be a subject of relation k, :math:`A_{O_k}` of those that can be an
object; other cells are ignored. Only Gram matrices of these rows are formed: with
:math:`A_{S_k}^\top A_{S_k} = P \,\mathrm{diag}(s)\, P^\top`,
:math:`A_{O_k}^\top A_{O_k} = Q \,\mathrm{diag}(t)\, Q^\top` and :math:`M_k = A_{S_k}^\top X_k A_{O_k}` the optimal R is
:math:`P \frac{P^\top M_k Q}{s t^\top + \lambda_R} Q^\top`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.annotations import AnyArray, Array, Ints, Mask
from polyadic.core.containers import complete, numbers_of
from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Amount
from polyadic.core.solvers.run import Sweep
from polyadic.relations.rescal import RESCAL, guarded, relation_slices, rescal_start

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class TypedRESCAL(RESCAL):
    r"""RESCAL with typed relations: each relation holds only between entities of certain types.

    The objective is that of :mod:`polyadic.relations.typed_rescal`. Triples of other types are impossible: they do not
    enter the loss, and score minus infinity. Questions for objects take the given subject as possible, and those for
    subjects the object. Attributes of entities, such as categories or words of a description, share their vectors.

    Parameters
    ----------
    ridge_V : float
        Strength of the L2 penalty of the attribute factor.
    weight : float
        Weight :math:`\mu` of the attributes.

    Attributes
    ----------
    entity_factors_, relation_factors_
        Entity vectors A of shape (n, rank), and relation matrices R of shape (K, rank, rank).
    attribute_factors_ : ndarray of shape (rank, attributes)
        Attribute factor V; only after a fit with attributes.
    subjects_, objects_ : bool ndarray of shape (K, n)
        Possible subjects and objects of each relation.

    References
    ----------
    Chang, Yih, Yang, Meek (2014), Typed tensor decomposition of knowledge bases for relation extraction, section 3.
    Nickel, Tresp, Kriegel (2012), Factorizing YAGO: scalable machine learning for linked data, section 4.1.

    Examples
    --------
    Two persons live in two towns; towns do not live anywhere.

    >>> lives = csr_array(([1.0, 1.0], ([0, 1], [2, 3])), shape=(4, 4))
    >>> model = TypedRESCAL(2, ridge_A=0.1, ridge_R=0.1).fit([lives], types=["person", "person", "town", "town"])
    >>> scores = model.predict([0, 0, 2], [0, 0, 0], [2, 3, 0])
    >>> bool(scores[0] > scores[1]), float(scores[2])
    (True, -inf)
    """

    _: KW_ONLY
    ridge_V: Amount = 10.0
    weight: Amount = 1.0

    def fit(self, X: Any, y: object = None, *, types: ArrayLike | None = None, attributes: Any = None) -> Self:
        """Fit the model to all triples that the entity types allow.

        Parameters
        ----------
        X : Entries, array or sparse array of shape (n, K, n), or list of K arrays or sparse arrays of shape (n, n)
            Triples, or one matrix per relation; see :meth:`RESCAL.fit <polyadic.relations.rescal.RESCAL.fit>`.
        types : array of shape (n,), optional
            Type of each entity, a number or a name. A relation can have the entities of all types that occur on that
            side in ``X``. By default each entity is its own type.
        attributes : sparse matrix of shape (n, attributes), optional
            Attributes D; unobserved ones are zero.
        """
        self.check()
        slices = relation_slices(X)
        n = slices[0].shape[0]
        rank = check_int("rank", self.rank, low=1, high=n - 1)
        self.subjects_, self.objects_ = _possible(slices, types)
        sides = zip(self.subjects_, self.objects_, strict=True)
        domains = [Domain(np.flatnonzero(s), np.flatnonzero(o)) for s, o in sides]
        beside = None
        if attributes is not None:
            D = csr_array(complete(numbers_of(attributes, "attributes"), "attributes").values, dtype=float)
            beside = Attributes(D, self.weight, self.ridge_V)
        start = rescal_start(slices, rank, seed=self.seed)
        ridges = RescalRidges(self.ridge_A, self.ridge_R)
        solver = typed_rescal(slices, start, domains=domains, ridges=ridges, beside=beside)
        self.entity_factors_, self.relation_factors_, *attribute_factors = self._optimize(solver)
        self.__dict__.pop("attribute_factors_", None)  # left by a previous fit with attributes
        if attribute_factors:
            [self.attribute_factors_] = attribute_factors
        return self

    def _triples(self, s: Ints, k: Ints, o: Ints) -> Array:
        return np.where(self.subjects_[k, s] & self.objects_[k, o], super()._triples(s, k, o), -np.inf)

    def _ask(self, known: Ints, k: Ints, *, backwards: bool) -> Array:
        possible = self.subjects_ if backwards else self.objects_
        return np.where(possible[k], super()._ask(known, k, backwards=backwards), -np.inf)


def _possible(slices: Sequence[Any], types: ArrayLike | None) -> tuple[Mask, Mask]:
    """Return boolean masks of the possible subjects and objects of each relation."""
    n = slices[0].shape[0]
    kinds = np.arange(n) if types is None else np.unique(np.asarray(types), return_inverse=True)[1]
    if kinds.shape != (n,):
        raise InputError(f"types must contain one value for each of the {n} entities; got shape {kinds.shape}", "types")
    possible = []
    for side in range(2):
        seen = np.zeros((len(slices), kinds.max() + 1), bool)
        for k, X in enumerate(slices):
            seen[k, kinds[X.nonzero()[side]]] = True
        possible.append(seen[:, kinds])
    return possible[0], possible[1]


MEMORY = 64 << 20  # memory budget in bytes for the matrices of entity groups that are solved together


class Domain(NamedTuple):
    """Possible subjects and objects of a relation, as sorted arrays of entity ids."""

    subjects: Ints
    objects: Ints


class Attributes(NamedTuple):
    """Sparse matrix of entities by attributes, with its loss weight and ridge strength."""

    table: Any
    weight: float = 1.0
    ridge: float = 0.0


class RescalRidges(NamedTuple):
    """Ridge strengths for entity factors and relation matrices."""

    A: float = 0.0
    R: float = 0.0


def typed_rescal(
    slices: Sequence[Any],
    start: AnyArray,
    *,
    domains: Sequence[Domain],
    ridges: RescalRidges = RescalRidges(),  # noqa: B008 # a named tuple
    beside: Attributes | None = None,
) -> Iterator[Sweep]:
    """Alternate between updating entity factors and solving for relation and attribute factors; yield each sweep.

    Each row of A is set to its optimum with the other side of every relation fixed, by steps that are halved until the
    objective does not increase, as in :func:`~polyadic.relations.rescal.rescal`.
    """
    problem = _TypedObjective(slices, domains, ridges, beside, len(start))
    yield from guarded(np.array(start, float), problem.reach, problem.step)


class _TypedObjective:
    """Objective of typed RESCAL as a function of the entity factors."""

    def __init__(
        self, slices: Sequence[Any], domains: Sequence[Domain], ridges: RescalRidges, beside: Attributes | None, n: int
    ) -> None:
        if beside is not None and beside.table.shape[0] != n:
            got = f"{beside.table.shape[0]} rows"
            raise InputError(f"attributes must have one row for each of the {n} entities; got {got}")
        self.domains, self.ridges, self.beside = domains, ridges, beside
        self.inner = [csr_array(csr_array(X)[d.subjects][:, d.objects]) for X, d in zip(slices, domains, strict=True)]
        self.squares = float(sum((x.data.astype(float) ** 2).sum() for x in self.inner))
        self.groups, self.group = _alike(domains, n)

    def reach(self, A: Array) -> Sweep:
        """Solve for the relation and attribute factors, given the entity factors."""
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
        """Return the step of each entity vector to its optimum, with all other vectors fixed."""
        right, size = -self.ridges.A * A, A.shape[1]
        shared = self.ridges.A * np.eye(size)
        H = np.empty((2 * len(R), size, size))  # subject and object side of each relation
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
    """Return the optimal matrix of a relation (the minimum-norm solution if the ridge is 0)."""
    s, P = np.linalg.eigh(G)
    t, Q = np.linalg.eigh(H)
    W = np.outer(np.maximum(s, 0), np.maximum(t, 0))
    kept = np.finfo(float).eps * len(W) * W.max() < W
    return np.asarray(P @ np.where(kept, (P.T @ M @ Q) / np.where(kept, W + ridge, 1.0), 0.0) @ Q.T)


def _alike(domains: Sequence[Domain], n: int) -> tuple[csr_array, Ints]:
    """Group entities by their possible relations; return the domains of each group and the group of each entity."""
    places = [part for domain in domains for part in domain]
    columns = np.repeat(np.arange(len(places)), [len(part) for part in places])
    member = csr_array((np.ones(len(columns)), (np.concatenate(places), columns)), shape=(n, len(places)))
    member.sort_indices()
    numbers: dict[bytes, int] = {}
    bounds = member.indptr
    keys = [member.indices[bounds[e] : bounds[e + 1]].tobytes() for e in range(n)]
    group = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    _, first = np.unique(group, return_index=True)
    return member[first], group
