r"""Log-odds that a predicate holds of a pair of entities: models N, F and E, and their sums.

With :math:`r = (s, o)` a pair and :math:`c` a predicate,

.. math:: m_{rc} = \underbrace{u_r \cdot v_c}_{F} + \underbrace{\sum_{c' \in r,\ c' \ne c} w_{cc'}}_{N}
          + \underbrace{t_s \cdot d^1_c + t_o \cdot d^2_c}_{E} + a_r + b_c.

Model N uses the other known predicates of a pair, and needs no vector of the pair; weights :math:`w_{cc'}` exist for
predicates that co-occur. Model E uses vectors of the two entities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.entries import blocks
from polyadic.relations.questions import CellTerms

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from polyadic.relations.schema import Schema

    Array = NDArray[Any]


CELLS = 4096
"""Number of cells whose rows of weights are processed together."""


class Terms(NamedTuple):
    """Parameters of the log-odds; arrays without columns, and zeros, for terms that a model lacks."""

    U: Array  # shape (pairs, R)
    V: Array  # shape (predicates, R)
    W: csr_array  # shape (predicates, predicates)
    T: Array  # shape (entities + 1, R); the last row, of zeros, is for unseen entities
    D1: Array  # shape (predicates, R)
    D2: Array  # shape (predicates, R)
    a: Array  # shape (pairs,)
    b: Array  # shape (predicates,)

    def cells(self, cells: NDArray[np.int64], known: csr_array, arguments: NDArray[np.int64]) -> Array:
        """Return the log-odds of cells, shape (n, 2), of the rows of ``known`` and ``arguments``."""
        r, c = cells.T
        subjects, objects = arguments[r].T
        products = ((self.U[r], self.V[c]), (self.T[subjects], self.D1[c]), (self.T[objects], self.D2[c]))
        m = np.asarray(sum(np.einsum("nr,nr->n", x, y) for x, y in products) + self.a[r] + self.b[c], float)
        for part in blocks(len(cells), CELLS):
            m[part] += known[r[part]].multiply(self.W[c[part]]).sum(axis=1)
        return m

    def matrix(self, rows: Array, known: csr_array, arguments: NDArray[np.int64], columns: Array) -> Array:
        """Return the log-odds of given rows and columns."""
        subjects, objects = arguments[rows].T
        m = self.U[rows] @ self.V[columns].T + self.a[rows, None] + self.b[columns]
        m += self.T[subjects] @ self.D1[columns].T + self.T[objects] @ self.D2[columns].T
        return np.asarray(m + (known[rows] @ self.W[columns].T).toarray())


class PairForm:
    """Form of log-odds for :func:`~polyadic.relations.questions.descend_questions`, of some of the features N, F and E.

    The table of vectors stacks U, V, T, D1 and D2; the table of weights stacks W, b (``columns``) and a (``rows``).
    """

    def __init__(self, schema: Schema, features: str, *, rows: bool, columns: bool) -> None:
        pairs, predicates = schema.cells.shape
        self.arguments, self.predicates = schema.arguments, predicates
        self.factors, self.kinds = "F" in features, "E" in features
        self.known = schema.cells
        self.together = co_occurring(schema.cells) if "N" in features else np.zeros(0, np.int64)
        vectors = [pairs * self.factors, predicates * self.factors]
        vectors += [size * self.kinds for size in (len(schema.entities), predicates, predicates)]
        self.vectors = np.cumsum([0, *vectors]).tolist()
        self.weights = np.cumsum([0, len(self.together), predicates * columns, pairs * rows]).tolist()

    def __call__(self, cells: NDArray[np.int64]) -> CellTerms:
        """Return the terms of the log-odds of cells, shape (n, 2)."""
        r, c = cells.T
        u, v, t, d1, d2, _ = self.vectors
        _, b, a, end = self.weights
        products = []
        if self.factors:
            products.append(np.column_stack([u + r, v + c]))
        if self.kinds:
            subjects, objects = self.arguments[r].T
            products += [np.column_stack([t + subjects, d1 + c]), np.column_stack([t + objects, d2 + c])]
        none = np.zeros(0, np.int64)
        owners, weights = [none], [none]
        if b:
            owner, weight = self._neighbours(cells)
            owners, weights = [owner], [weight]
        for start, last, numbers in ((b, a, c), (a, end, r)):
            if last > start:
                owners.append(np.arange(len(cells)))
                weights.append(start + numbers)
        return CellTerms(products, np.concatenate(owners), np.concatenate(weights))

    def _neighbours(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the weights of known predicates that cells add up: the cell, from 0, and the weight."""
        starts = self.known.indptr.astype(np.int64)
        first, sizes = starts[cells[:, 0]], np.diff(starts)[cells[:, 0]]
        owners = np.repeat(np.arange(len(cells)), sizes)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        keys = cells[owners, 1] * self.predicates + self.known.indices[first[owners] + within]
        places = np.searchsorted(self.together[:-1], keys)  # without the last key, so that positions stay in range
        seen = self.together[places] == keys
        return owners[seen], places[seen]

    def terms(self, vectors: Array, weights: Array) -> Terms:
        """Unpack the tables into terms."""
        from scipy.sparse import csr_array

        P = self.predicates
        U, V, T, D1, D2 = (vectors[first:last] for first, last in zip(self.vectors[:-1], self.vectors[1:], strict=True))
        w, b, a = (weights[x:y, 0] for x, y in zip(self.weights[:-1], self.weights[1:], strict=True))
        pairs, entities, none = len(self.arguments), int(self.arguments.max()) + 1, np.zeros
        T = np.concatenate([T, none((1, T.shape[1]), T.dtype)]) if self.kinds else none((entities + 1, 0), T.dtype)
        U, V = (U, V) if self.factors else (none((pairs, 0)), none((P, 0)))
        D1, D2 = (D1, D2) if self.kinds else (none((P, 0)), none((P, 0)))
        W = csr_array((w, np.divmod(self.together, P)), shape=(P, P))
        return Terms(U, V, W, T, D1, D2, a if len(a) else none(pairs), b if len(b) else none(P))


def co_occurring(known: csr_array) -> NDArray[np.int64]:
    """Return ``c * predicates + c'`` of ordered pairs of predicates that co-occur in some pair of entities, sorted."""
    both = (known.T @ known).tocoo()
    apart = both.row != both.col
    return np.sort(both.row[apart].astype(np.int64) * known.shape[1] + both.col[apart])
