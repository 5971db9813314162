r"""Universal schemas: factorization of a matrix whose rows are entity pairs and whose columns are predicates.

New pairs get a vector by fold-in, with vectors of predicates fixed. The expected loss of a new row per epoch of
training is a convex function of its vector. With :math:`n_c` of :math:`n` pairs listed by column c and k negatives
sampled for each, a row without c is sampled :math:`\kappa_c = k n_c / (n - n_c)` times (if negatives are sampled from
all columns: k times the ratio of observed to unobserved cells), and

.. math:: \min_u \sum_{c \in r} -\log \sigma(m_c) - \sum_{c \notin r} w \kappa_c \log \sigma(-m_c)
          + \lambda \Big(|r| + \sum_{c \notin r} \kappa_c\Big) \|u\|^2 .

In the BPR loss, :math:`m_c` is compared with the log-odds of a fixed sample of other rows with and without c (or of all
observed and unobserved cells).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from polyadic.core.annotations import AnyArray, Ints
from polyadic.core.entries import blocks
from polyadic.core.errors import InputError, InputWarning, SeenFactsWarning, check_int
from polyadic.core.explanation import Explanation
from polyadic.core.kernels import absent_columns
from polyadic.core.model import Amount, Callback, Count, Model, Positive, Seed
from polyadic.core.progress import tracked
from polyadic.core.resources import check_memory
from polyadic.core.solvers.adaptive import Adagrad
from polyadic.metrics.judged import Judged, ranked_cells
from polyadic.relations.facts import fact_rows
from polyadic.relations.questions import (
    AbsentCells,
    PairForm,
    Ridges,
    SampledNegatives,
    Source,
    Terms,
    descend_questions,
)
from polyadic.relations.schema import ROLES, Schema, schema_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

N_COMPARED = 16  # number of rows of each kind that a cell is compared with
SOLVED_AT_ONCE = 256  # number of new rows that are solved together
GRADIENT_TOL, MAX_NEWTON_STEPS = 1e-5, 500
"""Largest gradient element at convergence, and maximum number of quasi-Newton steps."""


class ExpectedLoss(NamedTuple):
    """Expected training loss of one row of a universal schema."""

    listed: AnyArray  # number of times that an observed cell takes part in an epoch, shape (predicates,)
    weight: float  # of a sampled negative
    drawn: AnyArray  # κ, shape (predicates,)
    below: AnyArray  # log-odds that observed cells should exceed, shape (predicates, k); zeros in the logistic loss
    above: AnyArray  # log-odds that unobserved cells should stay below, likewise

    def __call__(self, m: AnyArray, listed: AnyArray) -> tuple[float, AnyArray]:
        """Return the loss of a batch of rows and its derivatives by the log-odds, shape (rows, predicates)."""
        weights = np.where(listed, self.listed, self.weight * self.drawn) / self.below.shape[1]
        value, slopes = 0.0, np.zeros_like(m)
        for below, above in zip(self.below.T, self.above.T, strict=True):
            short = np.where(listed, below - m, m - above)
            value += float(np.sum(weights * np.logaddexp(0, short)))
            slopes += np.where(listed, -1.0, 1.0) * weights * expit(short)
        return value, slopes


def expected(
    schema: Schema, terms: Terms, model: UniversalSchema, *, rng: np.random.Generator, single: bool = False
) -> ExpectedLoss:
    """Estimate the expected training loss of one row of a universal schema, a row of one entity if ``single``."""
    mine = np.flatnonzero(schema.single == single)
    columns = schema.cells[mine].tocsc()
    n, counts = len(mine), np.diff(columns.indptr)
    total, size = int(counts.sum()), n * (np.count_nonzero(counts) if schema.single.any() else len(counts))
    everywhere = model.sampling_axis == "all"
    observed, absent = (total, size - total) if everywhere else (counts, n - counts)
    drawn = np.where(absent > 0, model.n_negatives * observed / np.maximum(absent, 1), 0.0) + np.zeros(len(counts))
    if everywhere and schema.single.any():
        drawn[counts == 0] = 0.0  # cells of a pair and a predicate of one entity, or the reverse, are not sampled
    if model.loss == "logistic" or not total:
        none = np.zeros((len(counts), 1))
        return ExpectedLoss(np.ones(len(counts)), model.negative_weight, drawn, none, none)
    numbers = np.repeat(np.arange(len(counts)), N_COMPARED)
    if everywhere:
        cells = schema.indices[schema.single[schema.indices[:, 0]] == single]
        seen = cells[rng.integers(total, size=len(numbers))]
        absent_cells = AbsentCells(schema.indices, schema.cells.shape, axis="all", single=schema.single)
        unseen, usable = absent_cells.beside(seen, rng), np.ones(len(numbers), bool)
    else:
        out = absent_columns(columns.indptr, columns.indices, numbers, number=n, rng=rng)
        places = columns.indptr[numbers] + (rng.random(len(numbers)) * counts[numbers]).astype(np.int64)
        rows = columns.indices[np.minimum(places, total - 1)]
        usable = (out >= 0) & (counts[numbers] > 0)
        unseen, seen = (np.column_stack([mine[np.maximum(at, 0)], numbers]) for at in (out, rows))
    levels = [np.where(usable, terms.cells(at, schema.cells, schema.arguments), 0.0) for at in (unseen, seen)]
    below, above = (level.reshape(-1, N_COMPARED) for level in levels)
    times = np.where(absent > 0, float(model.n_negatives), 0.0) + np.zeros(len(counts))  # without negatives, none
    return ExpectedLoss(times, 1.0, drawn, below, above)


def fold_in(terms: Terms, known: csr_array, arguments: Ints, model: UniversalSchema, cost: ExpectedLoss) -> Terms:
    """Infer vectors and biases of new pairs with all else fixed; ``arguments`` are entity ids, -1 if unseen."""
    rank, row_biases = terms.V.shape[1], model.biases in {"rows", "both"}
    new = terms._replace(U=np.zeros((known.shape[0], rank)), a=np.zeros(known.shape[0]))
    if not rank and not row_biases:
        return new
    V = terms.V.astype(float)
    V = np.column_stack([V, np.ones(len(V))]) if row_biases else V
    ridges = np.r_[np.full(rank, model.ridge), np.full(V.shape[1] - rank, model.weight_ridge)]
    every = np.arange(len(V))
    parts = list(blocks(known.shape[0], SOLVED_AT_ONCE))
    for part in tracked(parts, "folding in", total=len(parts)) if len(parts) > 1 else parts:
        rows = np.arange(part.start, part.stop)
        listed = known[rows].toarray() > 0
        times = listed @ cost.listed + (~listed) @ cost.drawn
        u = _solved(new.matrix(rows, known, arguments, every), listed, V, np.outer(times, ridges), cost)
        new.U[rows], new.a[rows] = u[:, :rank], u[:, rank] if row_biases else 0.0
    return new


def _solved(offsets: AnyArray, listed: AnyArray, V: AnyArray, ridges: AnyArray, cost: ExpectedLoss) -> AnyArray:
    """Minimize the expected loss over the vectors of several pairs; ``ridges`` has the shape of the vectors."""
    from scipy.optimize import minimize

    def objective(flat: AnyArray) -> tuple[float, AnyArray]:
        u = flat.reshape(ridges.shape)
        value, slopes = cost(offsets + u @ V.T, listed)
        return value + float(np.sum(ridges * u * u)), (slopes @ V + 2 * ridges * u).ravel()

    options = {"maxiter": MAX_NEWTON_STEPS, "gtol": GRADIENT_TOL, "ftol": 0.0, "maxcor": 20}
    settled = minimize(objective, np.zeros(ridges.size), jac=True, method="L-BFGS-B", options=options)
    if np.abs(objective(settled.x)[1]).max() > 100 * GRADIENT_TOL * max(1.0, float(ridges.max())):
        raise InputError(f"the vectors of {len(listed)} entity pairs did not converge: {settled.message}")
    return np.asarray(settled.x).reshape(ridges.shape)


Features = Literal["F", "N", "E", "T", "NF", "NE", "NT", "FE", "FT", "ET", "NFE", "NFT", "NET", "FET", "NFET"]
Biases = Literal["none", "columns", "rows", "both"]
LossName = Literal["logistic", "bpr"]

SCALE = 0.1
"""Published standard deviation of the initial vectors; in the tensor, its power 2/3, so that products are as large."""
STEPS, BATCHES = 128, (16, 1024)
"""Default number of steps per epoch, and bounds of the default batch size."""
ROWS = 4096  # number of rows of log-odds that are computed together


class LikelyPair(NamedTuple):
    """Entity pair with the probability that a predicate holds for it."""

    subject: str
    object: str | None  # None for a predicate of one entity
    probability: float
    known: bool = False  # whether the fact is in the training data


class SchemaModel(Model):
    """Base class for models that predict which predicates hold for entity pairs."""

    def predict(self, pairs: Sequence[tuple[str, ...]], predicates: Sequence[str]) -> AnyArray:
        """Return the probability of each predicate for its entity pair, shape (n,).

        A pair is a tuple of subject and object, or of one name for a predicate of one entity. The other known
        predicates of a pair are used as evidence, but not the predicate that is predicted. InputError is raised if a
        pair or a predicate is unknown, or the lengths differ.
        """
        check_is_fitted(self, "schema_")
        if len(pairs) != len(predicates):
            got = f"{len(pairs)} pairs and {len(predicates)} predicates"
            raise InputError(f"pairs and predicates must have the same length; got {got}")
        rows = [self.schema_.row(*pair) for pair in pairs]
        return self._predict(np.array([rows, [self.schema_.column(name) for name in predicates]], np.int64).T)

    @abstractmethod
    def _predict(self, cells: Ints) -> AnyArray: ...


class UniversalSchema(SchemaModel):
    r"""Universal schema model of the log-odds that predicates hold for entity pairs.

    .. math:: m_{rc} = u_r \cdot v_c + \sum_{c' \in r,\ c' \ne c} w_{cc'} + t_s \cdot d^1_c + t_o \cdot d^2_c
              + \sum_k x_{sk}\, y_{ck}\, z_{ok} + b_c

    Rows :math:`r = (s, o)` are ordered pairs of entities, columns :math:`c` predicates: relations of a knowledge base
    and patterns of text alike. Observed cells are positives; unobserved cells of the same column, sampled anew in each
    epoch, are negatives (:class:`~polyadic.relations.questions.SampledNegatives`). Probabilities therefore refer to the
    ratio of positives to sampled negatives; with the loss ``"bpr"`` only their order within a predicate is meaningful.
    A row of one entity has :math:`s = o`.

    Parameters
    ----------
    rank : int
        Length of the vectors.
    features : {"F", "N", "E", "T", "NF", "NE", "NT", "FE", "FT", "ET", "NFE", "NFT", "NET", "FET", "NFET"}
        Terms of the log-odds: factors of the matrix (F), neighbours (N: other known predicates of the pair), entities
        (E), and a CP decomposition of the tensor of subjects, predicates and objects (T).
    loss : {"logistic", "bpr"}
        Training loss: logistic regression, or Bayesian personalized ranking.
    biases : {"none", "columns", "rows", "both"}
        Biases to learn: none, of columns :math:`b_c`, of rows :math:`a_r`, or of both.
    n_negatives : int
        Number of sampled negatives per observed cell.
    sampling_axis : {"column", "all"}
        Cells from which negatives are sampled: the same column (another pair, the same predicate), or all.
    negative_weight : float
        Weight of a sampled negative in the logistic loss.
    ridge : float
        Strength of the ridge penalty on each vector, for each occurrence in an update. It is :math:`\lambda` in
        :math:`\lambda \|x\|^2`; the default is the published value. The tensor (T) needs less, such as 0.003, because
        products of three vectors shrink to zero.
    weight_ridge : float
        Strength of the ridge penalty on each weight and bias, for each occurrence in an update. The default predicts
        held-out paths better than 0.01.
    learning_rate : float
        Initial learning rate of Adagrad.
    batch : int, optional
        Number of observed cells per batch; by default a 128th of all, at least 16 and at most 1,024.

    Attributes
    ----------
    schema_ : Schema
        Training data.
    terms_ : Terms
        Parameters U, V, W, T, D1, D2, a and b; T has a row of zeros for unseen entities.

    References
    ----------
    Riedel, Yao, McCallum, Marlin (2013), Relation extraction with matrix factorization and universal schemas, sections
    2 and 3. Rocktäschel, Singh, Riedel (2015), Injecting logical background knowledge into embeddings for relation
    extraction, for the settings. Singh, Rocktäschel, Riedel (2015), Towards combined matrix and tensor factorization
    for universal schema relation extraction, for matrix and tensor together.

    Examples
    --------
    >>> from polyadic.relations.schema import schema_of
    >>> staff = [(f"person {i}", f"firm {i}", what) for i in range(8) for what in ("works for", ", head of")]
    >>> towns = [(f"town {i}", f"land {i}", what) for i in range(8) for what in ("lies in", ", a town in")]
    >>> model = UniversalSchema(4, seed=0).fit(schema_of((staff + towns)[1:]))
    >>> [(pair.subject, pair.object) for pair in model.likeliest("works for", n=1)]
    [('person 0', 'firm 0')]
    """

    rank: Count = 100
    _: KW_ONLY
    features: Features = "NF"
    loss: LossName = "logistic"
    biases: Biases = "columns"
    n_negatives: Count = 1
    sampling_axis: Literal["column", "all"] = "column"
    negative_weight: Positive = 1.0
    ridge: Amount = 0.01
    weight_ridge: Amount = 0.001
    learning_rate: Amount = 0.1
    batch: Count | None = None
    max_iter: Count = 100
    tol: Amount = 0.0
    seed: Seed = None
    callback: Callback = None

    def fit(self, schema: Schema, y: Any = None, *, beside: Sequence[Source] = ()) -> Self:
        """Fit the model to a universal schema.

        ``schema`` may be what :func:`~polyadic.relations.schema.schema_of` converts to one. ``beside`` are further
        sources of losses of its cells, such as groundings of rules. InputError is raised if no cell is observed, no
        negative can be sampled, or a parameter is out of range.
        """
        self.check()
        schema = schema if isinstance(schema, Schema) else schema_of(schema)
        if not (counts := np.bincount(schema.indices[:, 1])).size or counts.max() < 1:
            raise InputError("the schema must contain at least one fact")
        how: dict[str, Any] = {"loss": self.loss, "n_negatives": self.n_negatives, "weight": self.negative_weight}
        how |= {"axis": self.sampling_axis, "single": schema.single}
        negatives = SampledNegatives(schema.indices, schema.cells.shape, **how)
        if not (negatives.absent.beside(schema.indices, np.random.default_rng(0))[:, 0] >= 0).any():
            reason = "each predicate with facts holds for all entity pairs"
            raise InputError(f"no negatives can be sampled, because {reason}")
        rng = np.random.default_rng(self.seed)
        biased = {side: self.biases in {side, "both"} for side in ("rows", "columns")}
        form = PairForm(schema, self.features, **biased)
        vectors = (SCALE * rng.standard_normal((form.vectors[-1], self.rank))).astype(np.float32)
        vectors[form.vectors[5] :] *= SCALE ** (-1 / 3)
        start = [vectors, np.zeros((form.weights[-1], 1), np.float32)]
        batch = int(np.clip(len(schema.indices) // STEPS, *BATCHES)) if self.batch is None else self.batch
        steps = max(1, round(len(schema.indices) / batch))
        ridges = Ridges(self.ridge, self.weight_ridge)
        how = {"steps": steps, "rng": rng, "rule": Adagrad(self.learning_rate), "ridges": ridges}
        solver = descend_questions(form, start, [negatives, *beside], **how)
        self.schema_, self.terms_ = schema, form.terms(*self._optimize(solver))
        return self

    def _predict(self, cells: Ints) -> AnyArray:
        return np.asarray(expit(self.log_odds(cells)))

    def log_odds(self, cells: ArrayLike) -> AnyArray:
        """Return the log-odds of cells of the schema, given by row and column, shape (n, 2); or raise InputError."""
        check_is_fitted(self)
        at, shape = np.asarray(cells), self.schema_.cells.shape
        if at.ndim != 2 or at.shape[1] != 2 or at.dtype.kind not in "iu":
            got = f"{at.dtype} of shape {at.shape}"
            raise InputError(f"cells must be an integer array of shape (n, 2); got {got}", "cells")
        if at.size and (at.min() < 0 or (at.max(axis=0) >= shape).any()):
            columns = f"column indices from 0 to {shape[1] - 1:,}"
            raise InputError(f"cells must have row indices from 0 to {shape[0] - 1:,} and {columns}", "cells")
        return self.terms_.cells(at.astype(np.int64), self.schema_.cells, self.schema_.arguments)

    def explain(self, pair: tuple[str, ...], predicate: str) -> Explanation:
        """Attribute the log-odds of a predicate to the other known predicates of the same entity pair.

        The contributions are the weights :math:`w_{cc'}` of the known predicates of the pair, and the base is the
        contribution of vectors and biases. A model without neighbours has no contributions. InputError is raised if the
        pair or the predicate is unknown.

        Examples
        --------
        >>> from polyadic.relations.schema import schema_of
        >>> staff = [(f"person {i}", f"firm {i}", what) for i in range(8) for what in ("works for", ", head of")]
        >>> towns = [(f"town {i}", f"land {i}", what) for i in range(8) for what in ("lies in", ", a town in")]
        >>> model = UniversalSchema(features="N", seed=0).fit(schema_of((staff + towns)[1:]))
        >>> [name for name, weight in model.explain(("person 0", "firm 0"), "works for").parts]
        [', head of']
        """
        check_is_fitted(self)
        row, column = self.schema_.row(*pair), self.schema_.column(predicate)
        weights = self.schema_.cells[[row]].multiply(self.terms_.W[[column]]).tocoo()
        names = [self.schema_.predicates[at] for at in weights.col.tolist()]
        parts = zip(names, weights.data.astype(float).tolist(), strict=True)
        return Explanation.of(float(self.log_odds([[row, column]])[0]), parts)

    def column_log_odds(self, columns: ArrayLike) -> AnyArray:
        """Return the log-odds of the predicates with the given columns for all entity pairs, shape (pairs, columns).

        InputError is raised if a column does not exist.
        """
        check_is_fitted(self)
        schema, at = self.schema_, columns_at(columns, self.schema_)
        _check_room(len(schema.pairs), len(at))
        m = np.empty((len(schema.pairs), len(at)))
        for part in blocks(len(m), ROWS):
            m[part] = self.terms_.matrix(np.arange(part.start, part.stop), schema.cells, schema.arguments, at)
        return m

    def likeliest(self, predicate: str, *, n: int = 10, listed: bool = False) -> list[LikelyPair]:
        """Return at most n entity pairs for which a predicate is most probable, in descending order.

        With ``listed``, pairs of which the predicate is known to hold are included; their attribute ``known`` is True.
        """
        check_int("n", n, low=1)
        check_is_fitted(self)
        scores, known = self._scores(self.schema_.column(predicate)), self.schema_.rows_of(predicate)
        if not listed:
            scores[known] = -np.inf
        rows = [row for row in np.argsort(-scores, kind="stable")[:n].tolist() if np.isfinite(scores[row])]
        if not rows:
            message = f"no pair is left, because {predicate!r} is a known fact of all {len(known):,} pairs"
            warnings.warn(InputWarning(f"{message}; set listed=True to list them", "listed"), stacklevel=2)
        return [LikelyPair(*self.schema_.ends(row), float(expit(scores[row])), row in known) for row in rows]

    def _scores(self, column: int) -> AnyArray:
        """Return the log-odds of a predicate for all rows; -inf for pairs if it is of one entity, and the reverse."""
        scores = self.column_log_odds([column])[:, 0]
        return np.where(self.schema_.applicable(column), scores, -np.inf)

    def most_similar(self, predicate: str, *, n: int = 10) -> list[tuple[str, float]]:
        """Return at most n predicates with the most similar vectors, and their cosine similarities.

        InputError is raised if the predicate is unknown, or the model has no vectors.
        """
        check_is_fitted(self)
        check_int("n", n, low=1)
        parts = [F for F in (self.terms_.V, self.terms_.D1, self.terms_.D2, self.terms_.Y) if F.size]
        if not parts:
            advice = "train a model with features 'F', 'E' or 'T'"
            about = "similar predicates require predicate vectors, which features='N' lacks"
            raise InputError(f"{about}; {advice}", "features")
        vectors = np.column_stack(parts).astype(float)
        at = self.schema_.column(predicate)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(float).tiny)
        cosines = vectors @ vectors[at]
        cosines[at] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(n, len(cosines) - 1)]
        return [(self.schema_.predicates[j], float(cosines[j])) for j in best]

    def evaluate(self, test: Iterable[tuple[str, ...]]) -> Judged:
        """Rank the test pairs of each predicate among all pairs that lack the predicate in the training data.

        A test fact is a tuple of subject, object and predicate, or of entity and predicate; training facts are left out
        with a warning. InputError is raised if a pair or predicate is unknown, or no test triple remains.
        """
        check_is_fitted(self)
        schema = self.schema_
        facts = fact_rows(test, roles=ROLES)
        cells = np.array([(schema.row(*pair), schema.column(p)) for *pair, p in facts], np.int64).reshape(-1, 2)
        if not len(cells):
            raise InputError("the test data must contain at least one fact")
        new = np.array(schema.cells[*cells.T] == 0).ravel()
        if not new.any():
            raise InputError("the test data must contain a fact that does not occur in the training data")
        if not new.all():
            seen = len(cells) - int(new.sum())
            what = f"left out {seen:,} of {len(cells):,} test facts that occur in the training data"
            warnings.warn(what, SeenFactsWarning, stacklevel=2)
        return ranked_cells(self._scores, schema.cells, cells[new], names=schema.predicates)

    def predict_unseen(self, schema: Schema) -> AnyArray:
        """Predict the probabilities of all predicates for new entity pairs (fold-in).

        The shape is (pairs, predicates of the model). Vectors of new pairs minimize the expected training loss given
        their known predicates; see :mod:`polyadic.relations.universal`. Unseen entities have zero vectors. Predicates
        of the schema that are unknown to the model are ignored. InputError is raised if all predicates are unknown to
        the model, or memory is too small.
        """
        check_is_fitted(self)
        known, arguments = self._renumbered(schema)
        _check_room(*known.shape)
        likely, every = np.empty(known.shape), np.arange(known.shape[1])
        for single in np.unique(schema.single):
            rows = np.flatnonzero(schema.single == single)
            new = known[rows], arguments[rows]
            cost = expected(self.schema_, self.terms_, self, rng=np.random.default_rng(0), single=single)
            terms = fold_in(self.terms_, *new, self, cost)
            for part in blocks(len(rows), ROWS):
                likely[rows[part]] = expit(terms.matrix(np.arange(part.start, part.stop), *new, every))
        return likely

    def _renumbered(self, schema: Schema) -> tuple[Any, Ints]:
        """Return another schema's known cells and entity ids, mapped to the indices of this model."""
        mine = {name: at for at, name in enumerate(self.schema_.predicates)}
        columns = np.array([mine.get(name, -1) for name in schema.predicates], np.int64)
        if (columns < 0).all():
            raise InputError("the facts must contain at least one predicate that is known to the model")
        rows, places = schema.indices.T
        here = columns[places] >= 0
        shape = len(schema.pairs), len(mine)
        known = csr_array((np.ones(here.sum()), (rows[here], columns[places[here]])), shape=shape)
        entities = {name: at for at, name in enumerate(self.schema_.entities)}
        numbers = np.array([entities.get(name, -1) for name in schema.entities], np.int64)
        return known, numbers[schema.arguments]


def columns_at(columns: ArrayLike, schema: Schema) -> Ints:
    """Validate column indices and return them as an integer array."""
    at, number = np.asarray(columns), len(schema.predicates)
    if at.ndim != 1 or (at.size and (at.dtype.kind not in "iu" or at.min() < 0 or at.max() >= number)):
        about = f"columns must be a list of whole numbers from 0 to {number - 1:,}"
        raise InputError(f"{about}; got {columns!r:.60}", "columns")
    return at.astype(np.int64)


def _check_room(pairs: int, predicates: int) -> None:
    what = f"a matrix of {pairs:,} pairs by {predicates:,} predicates"
    check_memory(8.0 * pairs * predicates, what, "predict fewer at a time")
