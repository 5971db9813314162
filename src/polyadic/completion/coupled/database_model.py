"""Base classes for database models, with fitting, updating, prediction, similarity and evaluation.

A new entity is solved for given all others, as in a sweep: from ratings of a film, or only its genres in another table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, replace
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.cells import Prediction, explained, held_out_mask
from polyadic.completion.coupled.coordinate_descent import curves
from polyadic.completion.coupled.coupled_tables import CoupledTables, State
from polyadic.completion.coupled.database import Database, Relation, joined, with_negatives
from polyadic.completion.coupled.gibbs import Average
from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.entries import Entries, blocks
from polyadic.core.errors import InputError, check_int, check_number
from polyadic.core.explanation import Explanation, parts_of_row
from polyadic.core.kernels import RowEntries
from polyadic.core.model import Count, Model, Seed, Threads, learned
from polyadic.relations.facts import numbers_of

MAX_FOLD_IN_SWEEPS = 50  # maximum number of sweeps over new rows; new entities that share no cell converge in a few


class DatabaseModel(Model, ABC):
    """Base class for collective factorization models of a database.

    Parameters
    ----------
    rank : int
        Number of latent components (columns of each factor matrix).

    Attributes
    ----------
    database_ : Database
        The database of the fit.
    state_ : list of ndarray
        Rows of all factors, stacked by type, then for each relation its intercept and the biases of its modes, if any.
    factors_, offsets_ : dict of str to ndarray
        Factors by type, of shape (entities, rank); and intercept and biases by relation.
    unobserved_ : dict of str to bool ndarray
        Entities that occur in no table. Their predictions are those of the prior.
    updated_ : dict
        Report of the last :meth:`update`: numbers of new and changed cells and of new entities by type; with ``refit``
        also the root mean square difference to the refitted predictions, by relation.
    """

    rank: Count = 10
    _: KW_ONLY
    seed: Seed = None
    threads: Threads = None

    state_: State = learned()

    @property
    def factors_(self) -> dict[str, AnyArray]:
        """Factor matrix of each entity type."""
        return self._rows(self.state_[0])

    @property
    def offsets_(self) -> dict[str, AnyArray]:
        """Intercept and biases of each relation."""
        return dict(zip(self.database_.relations, self.state_[1:], strict=True))

    def _prepare(self, database: Database | Mapping[str, Relation]) -> tuple[CoupledTables, np.random.Generator]:
        """Store the database, and return the solver tables and random generator for a new fit."""
        rng = np.random.default_rng(self.seed)
        self._know(database if isinstance(database, Database) else Database(database))
        return self.database_.coupled(rng), rng

    def _arranged(self, database: Database, **which: Any) -> CoupledTables:
        """Convert the tables to the layout of the solvers, sampling zeros with the random seed of the fit."""
        return database.coupled(np.random.default_rng(self.seed), **which)

    def _know(self, database: Database) -> None:
        self.database_ = database
        self.unobserved_ = {entity: ~seen for entity, seen in database.mentioned().items()}

    def update(self, data: Mapping[str, Any], *, sweeps: int = 0, refit: bool = False) -> Self:
        """Update the model with new cells: solve for factors of new entities, then run ``sweeps`` over all entities.

        Parameters
        ----------
        data : mapping of str to data
            New cells by existing relation, in the form that :class:`~polyadic.completion.coupled.database.Relation`
            accepts; other settings of the relation stay. Unknown names are new entities; numbers continue after the
            existing ones. Existing cells are replaced.
        sweeps : int
            Number of sweeps over all entities, from their current factors. With 0 existing entities do not change, and
            new cells between them have no effect yet. Gibbs sampling needs as many as a fit (``burn_in + draws``).
        refit : bool
            Also fit from scratch, keep that model, and report its distance to the update.
        """
        check_is_fitted(self, "state_")
        self.check()
        check_int("sweeps", sweeps, low=0)
        sizes = self.database_.sizes
        database, facts = self.database_.grown(data)
        folded = self._arranged(database, fixed=sizes) if sizes != database.sizes else None
        model = copy(self)
        model._know(database)  # noqa: SLF001 of this class, as the next
        model._go_on(folded, [*sizes.values()], self._arranged(database) if sweeps else None, sweeps)  # noqa: SLF001
        if refit:
            fitted = clone(self).fit(database)
            facts["distance_to_refit"] = {name: _distance(model, fitted, name) for name in database.relations}
            model = fitted
        self.__dict__.update(model.__dict__, updated_=facts)  # last, so that a failure changes nothing
        return self

    @abstractmethod
    def _go_on(self, added: CoupledTables | None, sizes: list[int], coupled: CoupledTables | None, sweeps: int) -> None:
        """Solve for new entities in ``added``, then run sweeps over ``coupled``; either may be None."""

    def _rows(self, stack: AnyArray) -> dict[str, AnyArray]:
        """Split the stacked factor matrices into one view per entity type."""
        ends = np.cumsum([0, *self.database_.sizes.values()]).tolist()
        return {entity: stack[a:b] for entity, (a, b) in zip(self.database_.sizes, pairwise(ends), strict=True)}

    def _stacks(self) -> list[AnyArray]:
        """Return the stacked factors of each posterior sample."""
        return [self.state_[0]]

    def predict(self, relation: str, cells: Any) -> Array:
        """Return the expected value of each cell (the probability of 1 for binary values), shape (n,).

        Cells are tuples, an array of shape (n, order), or a frame with the columns of the relation, of names of
        entities, or of their numbers if tables number them. InputError is raised if one does not exist.
        """
        return self.predict_distribution(relation, cells).mean

    def predict_distribution(self, relation: str, cells: Any) -> Prediction:
        """Return the expected value and the standard deviation (NaN for point estimates) of each cell."""
        check_is_fitted(self, "state_")
        return self._distribution(relation, self.database_.locate(relation, cells))

    def predict_numbered(self, relation: str, indices: Ints) -> Array:
        """Return the expected values of the cells with the given entity indices, (n, order), if these are in range."""
        check_is_fitted(self, "state_")
        entities, sizes = self.database_.relation(relation).entities, self.database_.sizes
        if np.ndim(indices) != 2 or np.shape(indices)[1] != len(entities):
            raise InputError(f"{relation}: indices must have shape (n, {len(entities)}); got {np.shape(indices)}")
        columns = [numbers_of(e, i, known=None, size=sizes[e]) for e, i in zip(entities, indices.T, strict=True)]
        return self._distribution(relation, np.column_stack(columns)).mean

    def score(self, database: Database | Mapping[str, Relation], y: object = None) -> float:
        """Return the explained deviance (R² for numbers) of held-out cells, as its mean over relations.

        The cells are given as in :meth:`fit`. For relations whose unobserved cells are zeros, as many unobserved cells
        are sampled, and the measure is ``2 * AUC - 1``.
        """
        from sklearn.metrics import roc_auc_score

        check_is_fitted(self, "state_")
        given, scores = database if isinstance(database, Database) else Database(database), []
        for name in given.relations:
            values, table = given.values(name), self.database_.relation(name)
            indices, known = self.database_.located(name, given), self.database_.cells(name)
            if len(values) and table.unobserved == "zero":
                known, _ = joined(known, replace(known, indices=indices, values=values, weights=None))
                indices, values = _with_zeros(indices, values, known, table, np.random.default_rng(0))
                scores.append(2 * roc_auc_score(values > 0, self.predict_numbered(name, indices)) - 1)
            elif len(values):
                scores.append(explained(values, self.predict_numbered(name, indices), table.loss))
        return float(np.mean(scores))

    def explain(self, relation: str, cell: Sequence[Any], *, by: str | None = None) -> Explanation:
        """Decompose the prediction for a cell into contributions of the observed cells that share a given entity.

        The row of the entity is solved for again given all others, which is linear in the values of its cells. Parts
        belong to observed cells. The base is the rest: the intercept, biases, the prior mean, and sampled zeros.

        The entity is that of type ``by``, by default the first of the relation. InputError is raised if an entity of
        the cell does not exist. Values are in the units of the table: log-odds of truth values, and ``m`` before the
        softplus of counts. Parts are named by relation and other entities of the cell. For samples they are means.
        """
        check_is_fitted(self, "state_")
        database, entities = self.database_, [*self.database_.relation(relation).entities]
        by = entities[0] if by is None else by
        if by not in entities:
            about = "the setting by must be an entity type of relation"
            raise InputError(f"{about} {relation} ({', '.join(entities)}); got {by!r}", "by")
        at, mode = database.locate(relation, [cell])[0], entities.index(by)
        types, number = list(database.sizes), int(at[mode])
        coupled = self._arranged(database, mention=(by, number))
        s = types.index(by)
        others = np.delete(at + [coupled.offsets[types.index(e)] for e in entities], mode)
        base, parts = Average(), Average()
        for given in self._givens(coupled, s, number):
            target = np.prod(given.state[0][others], axis=0, dtype=float)
            offsets = given.state[1 + list(database.relations).index(relation)]
            usual, shares = shares_of(coupled, s, number, target, given)
            base.add(usual + self._biases(relation, at[None], offsets))
            parts.add(shares)
        names, listed = database.mentions(coupled, by, number)
        centre, scale = database.units[relation]
        shares = scale * parts.mean
        value = centre + scale * float(base.mean[0]) + float(shares.sum())
        known = [(name, float(p)) for name, p, has in zip(names, shares, listed, strict=True) if has]
        return Explanation.of(value, known)

    @abstractmethod
    def _givens(self, coupled: CoupledTables, s: int, row: int) -> Iterator[Given]:
        """Yield the parameters of the least-squares problem for a factor row in each posterior sample."""

    def most_similar(self, entity: str, name: Any, *, n: int = 10) -> list[tuple[Any, float]]:
        """Return the ``n`` entities of a type that are most similar to one, by the cosine similarity of their factors.

        Factors are centred, and the mean is over the stored samples, if there are any. The entity is given by its name,
        or by its number if entities are numbered. InputError is raised if there is none.
        """
        check_is_fitted(self, "state_")
        check_int("n", n, low=1)
        at = int(self.database_.number(entity, [name])[0])
        cosines = mean_cosines([self._rows(stack)[entity] for stack in self._stacks()], at)
        cosines[at] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(n, len(cosines) - 1)]
        return [(self.database_.name(entity, int(i)), float(cosines[i])) for i in best]

    def _distribution(self, relation: str, indices: AnyArray) -> Prediction:
        """Predict the cells with the given entity indices; standard deviations are NaN."""
        m = self._at(relation, indices, self.factors_, self.offsets_[relation])
        return Prediction(self._in_units(relation, m), np.full(len(m), np.nan))

    def _at(self, relation: str, indices: AnyArray, factors: Mapping[str, AnyArray], offsets: AnyArray) -> Array:
        """Return the linear predictor ``m`` of each cell, including intercept and biases."""
        entities = self.database_.relations[relation].entities
        product = np.prod([factors[e][i] for e, i in zip(entities, indices.T, strict=True)], axis=0, dtype=float)
        return np.asarray(product.sum(axis=1) + self._biases(relation, indices, offsets))

    def _biases(self, relation: str, indices: AnyArray, offsets: AnyArray) -> AnyArray:
        total = np.full(len(indices), offsets[0], float)
        if len(offsets) > 1:
            start = 1
            for entity, index in zip(self.database_.relations[relation].entities, indices.T, strict=True):
                total += offsets[start + index]
                start += self.database_.sizes[entity]
        return total

    def _in_units(self, relation: str, m: AnyArray, variance: AnyArray | float = 0.0) -> Array:
        """Return the expected value of each cell given the mean and the variance of the linear predictor ``m``."""
        loss = self.database_.relations[relation].loss
        centre, scale = self.database_.units[relation]
        if loss == "logistic":  # the probit approximation of the expected sigmoid (MacKay, 1992)
            return np.asarray(expit(m / np.sqrt(1 + np.pi * variance / 8)))
        if loss == "poisson":  # the expected softplus, by quadrature where m is uncertain
            at, share = np.polynomial.hermite_e.hermegauss(1 if np.ndim(variance) == 0 else 20)
            values = (np.logaddexp(0.0, m + root * np.sqrt(variance)) * p for root, p in zip(at, share, strict=True))
            return np.asarray(sum(values) / share.sum())
        return np.asarray(centre + scale * m)


class IterativeDatabaseModel(DatabaseModel):
    """Base class for database models fitted by an iterative solver.

    A subclass defines ``_start`` (a random position), ``_position`` (that of the fit), ``_extended`` (to new entities),
    ``_improved`` (after sweeps) and ``_take`` (into attributes).
    """

    def fit(self, database: Database | Mapping[str, Relation], y: object = None) -> Self:
        """Fit the model to all tables of a database or of a mapping of names to relations.

        InputError is raised if tables contradict each other, a parameter is out of range, or memory is insufficient.
        """
        self.check()
        coupled, rng = self._prepare(database)
        self._take(self._improved(coupled, self._start(coupled, rng), self.max_iter, self.tol))
        return self

    def _go_on(self, added: CoupledTables | None, sizes: list[int], coupled: CoupledTables | None, sweeps: int) -> None:
        position = self._position()
        if added is not None:
            start = self._extended(added, position, sizes)
            position = self._improved(added, start, MAX_FOLD_IN_SWEEPS, self.tol)
        if coupled is not None:
            position = self._improved(coupled, position, sweeps, 0.0)
        self._take(position)


def _distance(one: DatabaseModel, other: DatabaseModel, relation: str) -> float:
    """Return the root mean square difference between two models' predictions of the observed cells of a relation."""
    cells = np.asarray(other.database_.cells(relation).indices, np.int64)
    differences = one.predict_numbered(relation, cells) - other.predict_numbered(relation, cells)
    return float(np.sqrt(np.mean(differences**2)))


def mean_cosines(factors: Sequence[AnyArray], at: int) -> Array:
    """Return the cosine similarity of each row to a given row, averaged over samples of centred factors.

    A single sample is unreliable, since rows with little data point in random directions.

    >>> U = np.array([[1.0, 5.0], [-1.0, 5.0], [2.0, 5.0], [-2.0, 5.0]])
    >>> mean_cosines([U, -U], 0).tolist()
    [1.0, -1.0, 1.0, -1.0]
    """
    total = np.zeros(len(factors[0]))
    for factor in factors:
        U = factor - factor.mean(axis=0, dtype=float)
        U /= np.maximum(np.linalg.norm(U, axis=1, keepdims=True), np.finfo(float).tiny)
        total += U @ U[at]
    return total / len(factors)


class HeldOut(NamedTuple):
    """Database without the held-out cells of a relation, their indices (n, order), and their original values."""

    database: Database
    relation: str
    indices: Ints
    values: Array


def hold_out(database: Database, relation: str, *, share: float, seed: int | None = None) -> HeldOut:
    """Hold out a random fraction of a relation's cells and, if unobserved cells are 0, an equal number of zeros."""
    table = database.relation(relation)
    if not 0 < check_number("share", share) < 1:
        raise InputError(f"the held-out fraction must be between 0 and 1; got {share}")
    entries, rng = database.cells(relation), np.random.default_rng(seed)
    out = held_out_mask(rng.permutation(len(entries)), share)
    fewer = copy(database)
    fewer.replace(relation, entries.only(~out))
    indices, values = np.asarray(entries.indices, np.int64)[out], database.values(relation)[out]
    if table.unobserved == "zero":
        indices, values = _with_zeros(indices, values, entries, table, rng)
    return HeldOut(fewer, relation, indices, values)


def _with_zeros(
    indices: AnyArray, values: AnyArray, known: Entries, table: Relation, rng: np.random.Generator
) -> tuple[AnyArray, AnyArray]:
    """Append as many unobserved cells with the value 0 to held-out cells."""
    zeros = with_negatives(known, replace(table, n_negatives=1), rng).indices[len(known) :]
    zeros = zeros[rng.permutation(len(zeros))[: len(indices)]]
    return np.concatenate([indices, zeros]), np.concatenate([values, np.zeros(len(zeros))])


def score(model: DatabaseModel, cells: HeldOut) -> dict[str, float]:
    """Evaluate predictions of held-out cells by RMSE, log loss or AUC, depending on the settings of the relation."""
    from sklearn.metrics import roc_auc_score

    table = cells.database.relations[cells.relation]
    expected = model.predict_numbered(cells.relation, cells.indices)
    if table.unobserved == "zero":
        return {"auc": float(roc_auc_score(cells.values > 0, expected))}
    if table.loss == "logistic":
        p = np.clip(np.where(cells.values > 0, expected, 1 - expected), np.finfo(float).tiny, None)
        return {"log_loss": float(-np.log(p).mean())}
    return {"rmse": float(np.sqrt(np.mean((expected - cells.values) ** 2)))}


class Given(NamedTuple):
    """Least-squares problem of a factor row in a posterior sample; the last two fields are those of random rows."""

    state: State
    alphas: Sequence[float]  # precision of the cells of each table, besides their weights
    precision: AnyArray  # of the prior of the row, shape (R, R)
    linear: AnyArray  # precision times mean of the prior, shape (R,)
    covariances: AnyArray | None = None  # shape (rows of the stack, R, R)
    squares: list[AnyArray] | None = None  # expected squared predictions of the entries of each table


BLOCK = 1 << 10  # number of entries whose moments are held at once


def shares_of(coupled: CoupledTables, s: int, row: int, target: AnyArray, given: Given) -> tuple[float, AnyArray]:
    """Decompose the inner product of a vector and a factor row into contributions of the prior and of each entry."""
    stack, *offsets = given.state
    m = [coupled.products(stack, t, 1) + coupled.biases(part, t) for t, part in enumerate(offsets)]
    c, y = curves(coupled, m, given.squares)
    c, y = ([alpha * values for alpha, values in zip(given.alphas, side, strict=True)] for side in (c, y))
    starts, columns, c_, y_ = coupled.equations(s, c, y, offsets, given.alphas)
    some = slice(starts[row], starts[row + 1])
    v = np.prod(stack[columns[some]], axis=1, dtype=float)
    precision = given.precision
    if any(coupled.zeros):
        precision = precision + coupled.zero_precision(s, coupled.grams(stack, given.covariances), given.alphas)
    if given.covariances is not None:
        precision = precision + _spread(stack, given.covariances, columns[some], c_[some])
    entries = RowEntries(np.array([0, len(v)]), np.arange(len(v)), c_[some], y_[some])
    A = precision + (v * c_[some, None]).T @ v
    usual = float(target @ np.linalg.solve(A, given.linear))
    return usual, parts_of_row(entries, v, target[None], precision=precision)[0]


def _spread(stack: AnyArray, covariances: AnyArray, columns: AnyArray, c: AnyArray) -> AnyArray:
    """Return the weighted sum of the covariance matrices of elementwise products of random factor rows."""
    total = np.zeros(covariances.shape[1:])
    for block in blocks(len(c), BLOCK):
        rows, spread = stack[columns[block]], covariances[columns[block]]
        squares = np.einsum("nkr,nks->nkrs", rows, rows)
        total += np.einsum("n,nrs->rs", c[block], np.prod(squares + spread, axis=1) - np.prod(squares, axis=1))
    return total
