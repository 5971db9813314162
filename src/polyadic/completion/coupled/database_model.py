r"""What models of a database have in common: fitting, going on with more, predictions, neighbours, how good they are.

An entity that is new is solved for given all others, as any row is in each sweep of a fit: from ratings of a film, or
from nothing but its genres, which tables beside have given factors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import KW_ONLY, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.coupled.coupled_tables import State
from polyadic.completion.coupled.database import Database, part_of, with_negatives
from polyadic.completion.coupled.draws import Average
from polyadic.completion.coupled.new_row import shares_of
from polyadic.core.errors import InputError, check_int, check_number
from polyadic.core.explanation import Explanation
from polyadic.core.model import Count, Model, Seed, Threads, learned
from polyadic.relations.entity_names import numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyadic.completion.coupled.coupled_tables import CoupledTables
    from polyadic.completion.coupled.database import Relation
    from polyadic.completion.coupled.new_row import Given


Array = NDArray[Any]
FOLDING = 50
"""Sweeps over new rows at most; those of new entities that share no cell with one another need only a few."""


class Prediction(NamedTuple):
    """Expected values of cells in the units of their table, and standard deviations.

    Of truth values the mean is a probability, and the deviation that of the log-odds; of counts, that of ``m`` before
    the softplus. Of numbers it holds the noise.
    """

    mean: NDArray[np.float64]
    std: NDArray[np.float64]


class DatabaseModel(Model, ABC):
    """A model of all tables of a database at once, which it keeps, to go on with more and to explain.

    Attributes
    ----------
    database_ : Database
    state_ : list of ndarray
        Rows of all factors, one type below the other, then of each relation its intercept and the biases of its modes,
        if it has them.
    factors_ : dict of str to ndarray of shape (entities, rank)
        By type.
    offsets_ : dict of str to ndarray
        Intercept and biases by relation.
    unobserved_ : dict of str to bool ndarray
        Entities that no table mentions; what is said of them is what the prior expects.
    updated_ : dict
        Of the last :meth:`update`: how many cells are new or have changed, and how many entities are new, by type; with
        ``refit`` how far predictions of the known cells of each relation were from it (root mean square).
    """

    rank: Count = 10
    _: KW_ONLY
    seed: Seed = None
    threads: Threads = None

    state_: State = learned()

    @property
    def factors_(self) -> dict[str, Array]:
        """Rows of factors by type."""
        return self._rows(self.state_[0])

    @property
    def offsets_(self) -> dict[str, Array]:
        """Intercept and biases by relation."""
        return dict(zip(self.database_.relations, self.state_[1:], strict=True))

    def _prepare(self, database: Database | Mapping[str, Relation]) -> tuple[CoupledTables, np.random.Generator]:
        """Arrange the tables."""
        rng = np.random.default_rng(self.seed)
        self._know(database if isinstance(database, Database) else Database(database))
        return self.database_.coupled(rng), rng

    def _arranged(self, database: Database, **which: Any) -> CoupledTables:
        """Arrange tables as for the fit, with the zeros that it drew."""
        return database.coupled(np.random.default_rng(self.seed), **which)

    def _know(self, database: Database) -> None:
        self.database_ = database
        self.unobserved_ = {entity: ~seen for entity, seen in database.mentioned().items()}

    def update(self, data: Mapping[str, Any], *, sweeps: int = 0, refit: bool = False) -> Self:
        """Learn what is new: entities first, given all others, then with sweeps over everything.

        Parameters
        ----------
        data : mapping of str to data
            By relation its new cells alone, as :class:`~polyadic.completion.coupled.database.Relation` takes them; what
            was said of the relation holds. Names that the model has not are new entities; numbers go on from those
            there. Cells that are known are replaced.
        sweeps : int
            Over all entities, from where they are. With 0, those that were there stay as they are, and so does what
            new cells between them say, until the next sweep. Draws need as many as a fit has (``burn_in + draws``).
        refit : bool
            Whether to fit from the start as well, and keep that: it tells how far the update is from it.

        Raises
        ------
        InputError
            As for fits, or if there is no such relation.
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
        self.__dict__.update(model.__dict__, updated_=facts)  # at the end: what fails before has changed nothing
        return self

    @abstractmethod
    def _go_on(
        self, folded: CoupledTables | None, sizes: list[int], coupled: CoupledTables | None, sweeps: int
    ) -> None:
        """Find the rows that ``folded``, where given, has beyond sizes; then sweep over all tables, if given."""

    def _rows(self, stack: Array) -> dict[str, Array]:
        """Give the rows of a stack (:mod:`polyadic.completion.coupled.coupled_tables`) by type, as views."""
        ends = np.cumsum([0, *self.database_.sizes.values()]).tolist()
        return {entity: stack[a:b] for entity, (a, b) in zip(self.database_.sizes, pairwise(ends), strict=True)}

    def _stacks(self) -> list[Array]:
        """Give the rows of all factors, of each draw."""
        return [self.state_[0]]

    def predict(self, relation: str, cells: Any) -> NDArray[np.float64]:
        """Give the expected values of cells of a relation: probabilities of truth values, means of counts.

        Parameters
        ----------
        relation : str
        cells : sequence of tuples, array of shape (n, order), or frame with the columns of the relation
            Names of entities, or their numbers where the tables number them.

        Raises
        ------
        InputError
            If there is no such relation or entity.
        """
        return self.predict_distribution(relation, cells).mean

    def predict_distribution(self, relation: str, cells: Any) -> Prediction:
        """Give the expected values of cells and their standard deviations; NaN for the latter of point estimates.

        Raises
        ------
        InputError
            If there is no such relation or entity.
        """
        check_is_fitted(self, "state_")
        return self._distribution(relation, self.database_.locate(relation, cells))

    def predict_numbered(self, relation: str, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the expected values of cells whose entities are numbered, shape (n, order); refuse other numbers."""
        check_is_fitted(self, "state_")
        entities, sizes = self.database_.relation(relation).entities, self.database_.sizes
        if np.ndim(indices) != 2 or np.shape(indices)[1] != len(entities):
            raise InputError(f"{relation}: cells are numbered by an array of shape (n, {len(entities)})")
        columns = [numbers_of(e, i, known=None, size=sizes[e]) for e, i in zip(entities, indices.T, strict=True)]
        return self._distribution(relation, np.column_stack(columns)).mean

    def explain(self, relation: str, cell: Sequence[Any], *, by: str | None = None) -> Explanation:
        """Take the value of a cell apart, by all that is known of one of its entities, in whatever table.

        The row of the entity is solved for once more, given all others: that is linear in what the cells say that
        mention it. Parts are of what is known; the base is the rest: the intercept, biases, what is expected of any
        entity, and cells that were drawn as zeros.

        Parameters
        ----------
        relation : str
        cell : sequence of length order
            Its entities.
        by : str, optional
            The type of the entity whose cells are the parts; the first of the relation by default.

        Returns
        -------
        Explanation
            In the units of the table; of truth values log-odds, of counts ``m`` before the softplus. Parts are named by
            relation and the other entities of the known cell. Of draws the means.

        Raises
        ------
        InputError
            If there is no such relation, type or entity.
        """
        check_is_fitted(self, "state_")
        database, entities = self.database_, [*self.database_.relation(relation).entities]
        by = entities[0] if by is None else by
        if by not in entities:
            raise InputError(f"{relation} relates {', '.join(entities)}; got {by!r}")
        at, mode = database.locate(relation, [cell])[0], entities.index(by)
        types, number = list(database.sizes), int(at[mode])
        coupled = self._arranged(database, mention=(by, number))
        s = types.index(by)
        others = [
            coupled.offsets[types.index(e)] + i for d, (e, i) in enumerate(zip(entities, at, strict=True)) if d != mode
        ]
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
        return Explanation.of(
            value, [(name, float(p)) for name, p, has in zip(names, shares, listed, strict=True) if has]
        )

    @abstractmethod
    def _givens(self, coupled: CoupledTables, s: int, row: int) -> Iterator[Given]:
        """Give what a row of a factor is solved for by; of draws, one after the other."""

    def most_similar(self, entity: str, name: Any, *, n: int = 10) -> list[tuple[Any, float]]:
        """Give the entities of a type whose factors are most like those of one; refuse what is unknown.

        With the mean cosine of rows less their mean; of draws, over those kept.
        """
        check_is_fitted(self, "state_")
        check_int("n", n, low=1)
        at = int(self.database_.number(entity, [name])[0])
        cosines = mean_cosines([self._rows(stack)[entity] for stack in self._stacks()], at)
        cosines[at] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(n, len(cosines) - 1)]
        return [(self.database_.name(entity, int(i)), float(cosines[i])) for i in best]

    def _distribution(self, relation: str, indices: Array) -> Prediction:
        """Do it for numbered entities; here, of point estimates."""
        m = self._at(relation, indices, self.factors_, self.offsets_[relation])
        return Prediction(self._in_units(relation, m), np.full(len(m), np.nan))

    def _at(self, relation: str, indices: Array, factors: Mapping[str, Array], offsets: Array) -> NDArray[np.float64]:
        """Give ``m`` of cells."""
        entities = self.database_.relations[relation].entities
        product = np.prod([factors[e][i] for e, i in zip(entities, indices.T, strict=True)], axis=0, dtype=float)
        return np.asarray(product.sum(axis=1) + self._biases(relation, indices, offsets))

    def _biases(self, relation: str, indices: Array, offsets: Array) -> Array:
        total = np.full(len(indices), offsets[0], float)
        if len(offsets) > 1:
            start = 1
            for entity, index in zip(self.database_.relations[relation].entities, indices.T, strict=True):
                total += offsets[start + index]
                start += self.database_.sizes[entity]
        return total

    def _in_units(self, relation: str, m: Array, variance: Array | float = 0.0) -> NDArray[np.float64]:
        """Give the expected value of cells given the mean and the variance of ``m``."""
        loss = self.database_.relations[relation].loss
        centre, scale = self.database_.units[relation]
        if loss == "logistic":  # the probit approximation of the expected sigmoid (MacKay, 1992)
            return np.asarray(expit(m / np.sqrt(1 + np.pi * variance / 8)))
        if loss == "poisson":  # the expected softplus, by quadrature where m is uncertain
            at, share = np.polynomial.hermite_e.hermegauss(1 if np.ndim(variance) == 0 else 20)
            values = (np.logaddexp(0.0, m + root * np.sqrt(variance)) * p for root, p in zip(at, share, strict=True))
            return np.asarray(sum(values) / share.sum())
        return np.asarray(centre + scale * m)


def _distance(one: DatabaseModel, other: DatabaseModel, relation: str) -> float:
    """Give the root mean square difference of what two models expect of the known cells of a relation."""
    cells = np.asarray(other.database_.cells(relation).indices, np.int64)
    return float(
        np.sqrt(np.mean((one.predict_numbered(relation, cells) - other.predict_numbered(relation, cells)) ** 2))
    )


def mean_cosines(factors: Sequence[NDArray[Any]], at: int) -> NDArray[np.float64]:
    """Give the cosines of all rows with one, less the mean of all rows, averaged over draws of a factor.

    Without the mean: it is what all have in common. One draw alone says little: rows of which little is known point
    anywhere in it, and near by chance.

    Examples
    --------
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
    """Cells that a database no longer has.

    Attributes
    ----------
    database : Database
        Without them; entities stay.
    relation : str
        Whose cells they are.
    indices : ndarray of shape (n, order)
    values : ndarray of shape (n,)
        In the units of the table.
    """

    database: Database
    relation: str
    indices: NDArray[np.int64]
    values: NDArray[np.float64]

    def alone(self) -> Database:
        """Give the database with no other table than the one that cells are held out of."""
        return self.database.only(self.relation)


def hold_out(database: Database, relation: str, *, share: float, seed: int | None = None) -> HeldOut:
    """Hold a random share of the cells of a relation out.

    Where unlisted cells are zeros, as many of them as cells held out are added to those to be told, so that a model can
    be asked which are which.

    Raises
    ------
    InputError
        If there is no such relation, or the share holds nothing or everything out.
    """
    if relation not in database.relations:
        raise InputError(f"there is no relation {relation!r}; there are {', '.join(database.relations)}")
    if not 0 < check_number("share", share) < 1:
        raise InputError(f"the share held out must be between 0 and 1; got {share}")
    entries, rng = database.cells(relation), np.random.default_rng(seed)
    number = round(share * len(entries))
    if not 0 < number < len(entries):
        raise InputError(f"a share of {share:g} of {len(entries)} cells holds out {number}; choose another")
    out = np.zeros(len(entries), bool)
    out[rng.permutation(len(entries))[:number]] = True
    asked = part_of(entries, out)
    table = database.relations[relation]
    if table.unlisted == "zero":
        both = with_negatives(entries, replace(table, n_negatives=1), rng)
        zeros = both.indices[len(entries) :]
        zeros = zeros[rng.permutation(len(zeros))[:number]]
        asked = replace(
            asked,
            indices=np.concatenate([asked.indices, zeros]),
            values=np.concatenate([asked.values, np.zeros(len(zeros))]),
            weights=None,
        )
    centre, scale = database.units[relation]
    fewer = copy(database)
    fewer.replace(relation, part_of(entries, ~out))
    return HeldOut(fewer, relation, np.asarray(asked.indices, np.int64), centre + scale * np.asarray(asked.values))


def score(model: DatabaseModel, cells: HeldOut) -> dict[str, float]:
    """Say how well a model tells cells held out.

    Returns
    -------
    dict of str to float
        ``rmse`` of numbers and counts; of truth values the logarithmic loss, in nats; where unlisted cells are zeros
        the share of pairs of a listed and an unlisted cell that it ranks rightly (``auc``).
    """
    from sklearn.metrics import roc_auc_score

    table = cells.database.relations[cells.relation]
    expected = model.predict_numbered(cells.relation, cells.indices)
    if table.unlisted == "zero":
        return {"auc": float(roc_auc_score(cells.values > 0, expected))}
    if table.loss == "logistic":
        p = np.clip(np.where(cells.values > 0, expected, 1 - expected), np.finfo(float).tiny, None)
        return {"log_loss": float(-np.log(p).mean())}
    return {"rmse": float(np.sqrt(np.mean((expected - cells.values) ** 2)))}
