r"""Log-odds of predicates for entity pairs, trained by stochastic gradient descent.

With :math:`r = (s, o)` a pair and :math:`c` a predicate,

.. math:: m_{rc} = \underbrace{u_r \cdot v_c}_{F} + \underbrace{\sum_{c' \in r,\ c' \ne c} w_{cc'}}_{N}
          + \underbrace{t_s \cdot d^1_c + t_o \cdot d^2_c}_{E}
          + \underbrace{\textstyle\sum_k x_{sk}\, y_{ck}\, z_{ok}}_{T} + a_r + b_c.

Model N uses the other known predicates of a pair; weights :math:`w_{cc'}` exist for predicates that co-occur. Model E
uses vectors of the two entities, each by itself. Model T is a CP decomposition of the tensor of subjects, predicates
and objects, with separate vectors of an entity as subject and as object.

A batch consists of cells and a loss of their log-odds. Batches come from several sources: observed cells with sampled
negatives, groundings of rules, or any other loss of log-odds. A step takes one batch of each source and updates only
the rows of factors that take part. A vector pays the penalty :math:`\lambda \|t\|^2` for each of its products, so that
frequent and rare vectors are regularized equally relative to their loss.

References
----------
Riedel, Yao, McCallum, Marlin (2013), Relation extraction with matrix factorization and universal schemas, section 3.
Rocktäschel, Singh, Riedel (2015), Injecting logical background knowledge into embeddings for relation extraction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array

from polyadic.core import kernels
from polyadic.core.annotations import AnyArray, Ints, Mask
from polyadic.core.entries import blocks
from polyadic.core.losses import Logistic
from polyadic.core.resources import check_memory
from polyadic.core.solvers.adaptive import Adagrad, Adam
from polyadic.core.solvers.run import Sweep

if TYPE_CHECKING:
    from polyadic.core.forms import Factors
    from polyadic.relations.schema import Schema

CellLoss = Callable[[AnyArray], tuple[float, AnyArray]]
"""Map from the log-odds of n cells to their loss and its derivatives, shape (n,)."""
MEASURED = 1 << 17  # approximate number of cells on which the loss is measured after each epoch
CELLS = 4096  # number of cells whose rows of weights are processed together


class CellTerms(NamedTuple):
    """Indices of the parameters that contribute to the log-odds of a batch of cells."""

    products: list[Ints]  # rows of the table of vectors that are multiplied, shape (n, 2) or (n, 3) each
    owners: Ints  # cells, from 0, that weights are added to
    weights: Ints  # rows of the table of weights


class Source(Protocol):
    """Protocol of data sources that yield batches of cells and a loss for each batch."""

    def epoch(self, rng: np.random.Generator, steps: int) -> Iterator[tuple[Ints, CellLoss]]:
        """Yield the ``steps`` batches of one epoch, each with cells of shape (n, 2) and a loss function."""


class Ridges(NamedTuple):
    r"""L2 penalty strengths :math:`\lambda` of vectors and of scalar weights."""

    vectors: float
    weights: float


class Terms(NamedTuple):
    """Parameters of the log-odds of a universal schema; those a model lacks have no columns, or are zeros."""

    U: AnyArray  # shape (pairs, R)
    V: AnyArray  # shape (predicates, R)
    W: csr_array  # shape (predicates, predicates)
    T: AnyArray  # shape (entities + 1, R); the last row, of zeros, is for unseen entities
    D1: AnyArray  # shape (predicates, R)
    D2: AnyArray  # shape (predicates, R)
    a: AnyArray  # shape (pairs,)
    b: AnyArray  # shape (predicates,)
    X: AnyArray = np.zeros((0, 0))  # vectors of subjects, shape (entities + 1, R); the last row is zero as in T
    Y: AnyArray = np.zeros((0, 0))  # vectors of predicates in the tensor, shape (predicates, R)
    Z: AnyArray = np.zeros((0, 0))  # vectors of objects, as X

    def cells(self, cells: Ints, known: csr_array, arguments: Ints) -> AnyArray:
        """Return the log-odds of cells, given as row and column indices of shape (n, 2)."""
        r, c = cells.T
        subjects, objects = arguments[r].T
        products = [(self.U[r], self.V[c]), (self.T[subjects], self.D1[c]), (self.T[objects], self.D2[c])]
        if self.Y.size:
            products.append((self.X[subjects] * self.Z[objects], self.Y[c]))
        m = np.asarray(sum(np.einsum("nr,nr->n", x, y) for x, y in products) + self.a[r] + self.b[c], float)
        for part in blocks(len(cells), CELLS):
            m[part] += known[r[part]].multiply(self.W[c[part]]).sum(axis=1)
        return m

    def matrix(self, rows: AnyArray, known: csr_array, arguments: Ints, columns: AnyArray) -> AnyArray:
        """Return the matrix of log-odds for the given rows and columns."""
        subjects, objects = arguments[rows].T
        m = self.U[rows] @ self.V[columns].T + self.a[rows, None] + self.b[columns]
        m += self.T[subjects] @ self.D1[columns].T + self.T[objects] @ self.D2[columns].T
        if self.Y.size:
            m += (self.X[subjects] * self.Z[objects]) @ self.Y[columns].T
        return np.asarray(m + (known[rows] @ self.W[columns].T).toarray())


class PairForm:
    """Log-odds of a universal schema with the terms named in ``features``.

    One table stacks the vectors U, V, T, D1, D2, X, Y and Z, the other the weights W, b (``columns``) and a (``rows``).
    """

    def __init__(self, schema: Schema, features: str, *, rows: bool, columns: bool) -> None:
        pairs, predicates = schema.cells.shape
        self.arguments, self.predicates = schema.arguments, predicates
        self.factors, self.kinds, self.tensor = ("F" in features), ("E" in features), ("T" in features)
        self.known = schema.cells
        self.together = co_occurring(schema.cells) if "N" in features else np.zeros(0, np.int64)
        vectors = [pairs * self.factors, predicates * self.factors]
        entities = len(schema.entities)
        vectors += [size * self.kinds for size in (entities, predicates, predicates)]
        vectors += [size * self.tensor for size in (entities, predicates, entities)]
        self.vectors = np.cumsum([0, *vectors]).tolist()
        self.weights = np.cumsum([0, len(self.together), predicates * columns, pairs * rows]).tolist()

    def __call__(self, cells: Ints) -> CellTerms:
        """Return the parameter indices that contribute to the log-odds of each cell."""
        r, c = cells.T
        u, v, t, d1, d2, x, y, z, _ = self.vectors
        _, b, a, end = self.weights
        products = []
        if self.factors:
            products.append(np.column_stack([u + r, v + c]))
        subjects, objects = self.arguments[r].T if self.kinds or self.tensor else (r, r)
        if self.kinds:
            products += [np.column_stack([t + subjects, d1 + c]), np.column_stack([t + objects, d2 + c])]
        if self.tensor:
            products.append(np.column_stack([x + subjects, y + c, z + objects]))
        none, every = np.zeros(0, np.int64), np.arange(len(cells))
        weighed = [self._neighbours(cells) if b else (none, none)]
        weighed += [(every, start + at) for start, last, at in ((b, a, c), (a, end, r)) if last > start]
        return CellTerms(products, *map(np.concatenate, zip(*weighed, strict=True)))

    def _neighbours(self, cells: Ints) -> tuple[Ints, Ints]:
        """Return the neighbour weights that contribute to each cell, as arrays of cell indices and weight indices."""
        starts = self.known.indptr.astype(np.int64)
        first, sizes = starts[cells[:, 0]], np.diff(starts)[cells[:, 0]]
        owners = np.repeat(np.arange(len(cells)), sizes)
        within = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        keys = cells[owners, 1] * self.predicates + self.known.indices[first[owners] + within]
        places = np.searchsorted(self.together[:-1], keys)  # without the last key, so that positions stay in range
        seen = self.together[places] == keys
        return owners[seen], places[seen]

    def terms(self, vectors: AnyArray, weights: AnyArray) -> Terms:
        """Split the tables of vectors and weights into the named parameters."""
        P = self.predicates
        U, V, T, D1, D2, X, Y, Z = (vectors[first:last] for first, last in pairwise(self.vectors))
        w, b, a = (weights[first:last, 0] for first, last in pairwise(self.weights))
        pairs, entities, none = len(self.arguments), int(self.arguments.max()) + 1, np.zeros
        T = np.concatenate([T, none((1, T.shape[1]), T.dtype)]) if self.kinds else none((entities + 1, 0), T.dtype)
        U, V = (U, V) if self.factors else (none((pairs, 0)), none((P, 0)))
        D1, D2 = (D1, D2) if self.kinds else (none((P, 0)), none((P, 0)))
        if self.tensor:
            X, Z = (np.concatenate([F, none((1, F.shape[1]), F.dtype)]) for F in (X, Z))
        W = csr_array((w, np.divmod(self.together, P)), shape=(P, P))
        return Terms(U, V, W, T, D1, D2, a if len(a) else none(pairs), b if len(b) else none(P), X, Y, Z)


def co_occurring(known: csr_array) -> Ints:
    """Return the sorted keys ``c * predicates + d`` of all ordered pairs (c, d) of predicates that co-occur."""
    both = (known.T @ known).tocoo()
    apart = both.row != both.col
    return np.sort(both.row[apart].astype(np.int64) * known.shape[1] + both.col[apart])


class AbsentCells:
    """Sampler of cells that are not listed, from the column of a given cell (``axis`` "column") or from all ("all").

    A cell is drawn from rows with the same number of entities, one or two, as the row of the given cell. With ``axis``
    "all", only predicates that occur in such rows are drawn.
    """

    def __init__(self, cells: Ints, shape: tuple[int, int], *, axis: str, single: Mask | None = None) -> None:
        self.axis, self.single = axis, np.zeros(shape[0], bool) if single is None else single
        self.parts = []
        for kind in (False, True):
            rows, mine = np.flatnonzero(self.single == kind), cells[self.single[cells[:, 0]] == kind]
            columns = np.unique(mine[:, 1]) if self.single.any() else np.arange(shape[1])
            groups, at, number = mine[:, 1], np.searchsorted(rows, mine[:, 0]), len(rows)
            if axis == "all":
                groups, at = np.zeros_like(groups), at * len(columns) + np.searchsorted(columns, groups)
                number *= len(columns)
            order = np.lexsort((at, groups))
            starts = np.searchsorted(groups[order], np.arange((1 if axis == "all" else shape[1]) + 1))
            self.parts.append((rows, columns, starts, at[order], number))

    def beside(self, cells: Ints, rng: np.random.Generator) -> Ints:
        """Sample an absent cell for each given cell, uniformly; its row is -1 if there is none."""
        found = cells.copy()
        for kind, (rows, columns, starts, at, number) in enumerate(self.parts):
            mine = np.flatnonzero(self.single[cells[:, 0]] == kind)
            if not len(mine):
                continue
            groups = np.zeros(len(mine), np.int64) if self.axis == "all" else cells[mine, 1]
            drawn = kernels.absent_columns(starts, at, groups, number=number, rng=rng)
            row = drawn
            if self.axis == "all":
                row, column = np.divmod(drawn, len(columns))
                found[mine, 1] = columns[column]
            found[mine, 0] = np.where(drawn < 0, -1, rows[row])
        return found


class SampledNegatives:
    r"""Sampler that pairs each observed cell with unobserved cells, the negatives.

    Negatives are sampled anew in each epoch, uniformly from the rows without the column (``axis`` "column"), or from
    all unobserved cells ("all"); see :class:`AbsentCells`. In the logistic loss each cell has a term of its own; in
    ``"bpr"`` the positive :math:`a` is compared with the negative :math:`b`:

    .. math:: -\log \sigma(m_a) - w \log \sigma(-m_b) \quad\text{or}\quad -\log \sigma(m_a - m_b).
    """

    def __init__(
        self,
        cells: Ints,
        shape: tuple[int, int],
        *,
        loss: str,
        n_negatives: int,
        weight: float,
        axis: str = "column",
        single: Mask | None = None,
    ) -> None:
        self.cells = cells[np.lexsort((cells[:, 0], cells[:, 1]))]
        self.absent = AbsentCells(cells, shape, axis=axis, single=single)
        self.loss, self.n_negatives, self.weight = loss, n_negatives, weight

    def epoch(self, rng: np.random.Generator, steps: int) -> Iterator[tuple[Ints, CellLoss]]:
        """Yield all observed cells with sampled negatives in random order, split into ``steps`` batches."""
        order = rng.permutation(len(self.cells))
        bounds = np.linspace(0, len(order), steps + 1).astype(np.int64)
        for first, last in pairwise(bounds.tolist()):
            listed = self.cells[order[first:last]]
            better = np.tile(listed, (self.n_negatives, 1))
            drawn = self.absent.beside(better, rng)
            here = drawn[:, 0] >= 0  # a column that holds for every row has no negatives
            if self.loss == "bpr":
                yield np.concatenate([better[here], drawn[here]]), _pairs
            else:
                yield np.concatenate([listed, drawn[here]]), self._cells(len(listed))

    def _cells(self, listed: int) -> CellLoss:
        """Return a function that computes the logistic loss of positive cells followed by negative cells."""

        def judge(m: AnyArray) -> tuple[float, AnyArray]:
            x = (np.arange(len(m)) < listed).astype(m.dtype)
            w = np.where(x, 1, self.weight).astype(m.dtype)
            return float(np.sum(w * Logistic().value(x, m), dtype=float)), w * Logistic().grad(x, m)

        return judge


def _pairs(m: AnyArray) -> tuple[float, AnyArray]:
    """Return the Bayesian personalized ranking (BPR) loss of positives (first half) over negatives (second half)."""
    better, worse = np.split(m, 2)
    ones = np.ones_like(better)
    slopes = Logistic().grad(ones, better - worse)
    return float(np.sum(Logistic().value(ones, better - worse), dtype=float)), np.concatenate([slopes, -slopes])


def descend_questions(
    form: PairForm,
    start: Factors,
    sources: Sequence[Source],
    *,
    steps: int,
    rng: np.random.Generator,
    rule: Adagrad | Adam = Adagrad(0.1),  # noqa: B008 frozen
    ridges: Ridges = Ridges(0.01, 0.01),  # noqa: B008 frozen
) -> Iterator[Sweep]:
    """Minimize the losses of all data sources by stochastic gradient descent, with ``steps`` updates per epoch.

    ``start`` are tables of vectors and of weights, shape (weights, 1). The objective is the loss of one epoch of
    batches drawn at the start, or of a part of them, scaled up.
    """
    descent = _CellDescent(form, start, rule, ridges)
    batches = list(zip(*(source.epoch(rng, steps) for source in sources), strict=True))
    cells = sum(len(batch) for asked in batches for batch, _ in asked)
    kept = max(1, min(steps, int(steps * MEASURED / max(cells, 1))))
    measured = [question for asked in batches[:kept] for question in asked]
    del batches
    while True:
        loss = steps / kept * sum(descent.value(*question) for question in measured)
        yield Sweep([table.rows.copy() for table in descent.tables], loss)
        for asked in zip(*(source.epoch(rng, steps) for source in sources), strict=True):
            descent.step(list(asked))


class _Table:
    """Parameter table with gradients and optimizer state."""

    def __init__(self, rows: AnyArray, rule: Adagrad | Adam, ridge: float) -> None:
        layers = 2 + rule.layers
        if rows.shape[1] == 1:  # without the padding that aligns rows to cache lines
            self.T = np.zeros((len(rows), layers, 1), rows.dtype)
            self.T[:, 0] = rows
        else:
            self.T = kernels.table(rows, *[np.zeros_like(rows)] * (layers - 1))
        self.rows, self.rule, self.ridge, self.rank = self.T[:, 0, : rows.shape[1]], rule, ridge, rows.shape[1]
        self.state = rule.start(self.T)
        none, kind = np.zeros(len(rows), rows.dtype), rows.dtype.type
        self.pace = none + kind(1)
        self.penalties = kernels.RowPenalties(none + kind(2 * ridge), none, np.zeros(len(rows), bool))

    def move(self, indices: Ints) -> None:
        """Update the rows at the given indices, applying the L2 penalty once for each occurrence of an index."""
        rows, counts = np.unique(indices, return_counts=True)
        touched = kernels.Touched(rows, counts.astype(self.T.dtype))
        if self.ridge:
            kernels.pull_rows(touched, self.penalties.ridge, np.zeros((0, self.rank), self.T.dtype), self.T)
        self.rule.move(touched, self.penalties, self.T, self.state, pace=self.pace, rank=self.rank)

    def penalty(self, indices: Ints) -> float:
        """Return the total L2 penalty of the rows at the given indices, counting repeated indices."""
        rows, counts = np.unique(indices, return_counts=True)
        return self.ridge * float(counts @ np.square(self.rows[rows], dtype=float).sum(axis=1))


class _CellDescent:
    """Stochastic gradient descent on the vectors and weights of a universal schema."""

    def __init__(self, form: PairForm, start: Factors, rule: Adagrad | Adam, ridges: Ridges) -> None:
        needed = sum((4 + rule.layers) * factor.nbytes for factor in start)
        size = f"{start[0].shape[0]:,} vectors of rank {start[0].shape[1]}"
        check_memory(needed, f"stochastic descent of {size}", "lower the rank")
        self.form = form
        self.tables = [_Table(factor, rule, ridge) for factor, ridge in zip(start, ridges, strict=True)]

    def log_odds(self, parts: CellTerms, n: int) -> AnyArray:
        """Return the log-odds of each cell in a batch, shape (n,)."""
        vectors, weights = self.tables
        m = np.bincount(parts.owners, weights.rows[parts.weights, 0], n).astype(vectors.T.dtype)
        for product in parts.products:
            m += kernels.cp_predict(product, vectors.T, threads=1)
        return m

    def value(self, cells: Ints, judge: CellLoss) -> float:
        """Return the loss of a batch of cells plus the penalty."""
        parts = self.form(cells)
        vectors, weights = self.tables
        value = judge(self.log_odds(parts, len(cells)))[0]
        if parts.products and vectors.ridge:
            value += vectors.penalty(np.concatenate([product.ravel() for product in parts.products]))
        return value + weights.penalty(parts.weights)

    def step(self, asked: list[tuple[Ints, CellLoss]]) -> None:
        """Compute the gradient on one batch from each data source, and update the parameters involved."""
        cells = np.concatenate([batch for batch, _ in asked])
        parts, (vectors, weights) = self.form(cells), self.tables
        bounds = np.cumsum([len(batch) for batch, _ in asked])[:-1]
        answers = np.split(self.log_odds(parts, len(cells)), bounds)
        slopes = np.concatenate([judge(m)[1] for (_, judge), m in zip(asked, answers, strict=True)])
        slopes = slopes.astype(vectors.T.dtype, copy=False)
        for product in parts.products:
            kernels.add_cp_pullback(product, slopes, vectors.T, offsets=[0] * product.shape[1])
        if parts.products:
            vectors.move(np.concatenate([product.ravel() for product in parts.products]))
        if len(parts.weights):
            kernels.add_cp_pullback(parts.weights[:, None], slopes[parts.owners], weights.T, offsets=[0])
            weights.move(parts.weights)
