"""What models of a database have in common: fitting to its tables, predictions, neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from polyadic import resources
from polyadic.errors import InputError, check_int, check_number
from polyadic.models.base import Model
from polyadic.models.relations.database import Database
from polyadic.models.relations.names import numbers_of
from polyadic.models.relations.similarity import mean_cosines

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from polyadic.models.relations.tables import Relation
    from polyadic.solvers.databases.linked import Linked, State

    Array = NDArray[Any]


class Prediction(NamedTuple):
    """Expected values of cells in the units of their table, and standard deviations.

    Of truth values the mean is a probability, and the deviation that of the log-odds; of counts, that of ``m`` before
    the softplus. Of numbers it holds the noise.
    """

    mean: NDArray[np.float64]
    std: NDArray[np.float64]


class DatabaseModel(Model):
    """A model of all tables of a database at once.

    Attributes
    ----------
    database_ : Database
    factors_ : dict of str to ndarray of shape (entities, rank)
        By type.
    offsets_ : dict of str to ndarray
        By relation: its intercept, then the biases of its modes, if it has them.
    unobserved_ : dict of str to bool ndarray
        Entities that no table mentions; what is said of them is what the prior expects.
    """

    rank: int
    seed: int | None
    threads: int | None

    def _prepare(self, database: Database | Mapping[str, Relation]) -> tuple[Linked, np.random.Generator, int]:
        """Check parameters, and arrange the tables."""
        check_int("rank", self.rank, low=1)
        threads = resources.cores() if self.threads is None else check_int("threads", self.threads, low=1)
        self.database_ = database if isinstance(database, Database) else Database(database)
        rng = np.random.default_rng(self.seed)
        self.unobserved_ = {entity: ~seen for entity, seen in self.database_.mentioned().items()}
        return self.database_.linked(rng), rng, threads

    def _rows(self, stack: Array) -> dict[str, Array]:
        """Give the rows of a stack (:mod:`polyadic.solvers.databases.linked`) by type, as views."""
        ends = np.cumsum([0, *self.database_.sizes.values()]).tolist()
        return {entity: stack[a:b] for entity, (a, b) in zip(self.database_.sizes, pairwise(ends), strict=True)}

    def _stacks(self) -> list[Array]:
        """Give the rows of all factors, of each draw."""
        return [self.state_[0]]

    def _keep_state(self, state: State) -> None:
        """Keep factors and biases under their names."""
        self.state_ = state
        self.factors_ = self._rows(state[0])
        self.offsets_ = {name: state[1 + t] for t, name in enumerate(self.database_.relations)}

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
        check_is_fitted(self)
        return self._distribution(relation, self.database_.locate(relation, cells))

    def predict_numbered(self, relation: str, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the expected values of cells whose entities are numbered, shape (n, order); refuse other numbers."""
        check_is_fitted(self)
        entities, sizes = self.database_.relation(relation).entities, self.database_.sizes
        if np.ndim(indices) != 2 or np.shape(indices)[1] != len(entities):
            raise InputError(f"{relation}: cells are numbered by an array of shape (n, {len(entities)})")
        columns = [numbers_of(e, i, known=None, size=sizes[e]) for e, i in zip(entities, indices.T, strict=True)]
        return self._distribution(relation, np.column_stack(columns)).mean

    def most_similar(self, entity: str, name: Any, *, n: int = 10) -> list[tuple[Any, float]]:
        """Give the entities of a type whose factors are most like those of one; refuse what is unknown.

        With the mean cosine of rows less their mean; of draws, over those kept.
        """
        check_is_fitted(self)
        check_int("n", n, low=1)
        at = int(self.database_.number(entity, [name])[0])
        cosines = mean_cosines([self._rows(stack)[entity] for stack in self._stacks()], at)
        cosines[at] = -np.inf
        names = self.database_.names[entity]
        best = np.argsort(-cosines, kind="stable")[: min(n, len(cosines) - 1)]
        return [(int(i) if names is None else names[i].item(), float(cosines[i])) for i in best]

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a folder of ``arrays.safetensors`` and ``meta.json``, without the tables; it is whole or absent."""
        from polyadic.models.relations.storage import save_model

        check_is_fitted(self)
        save_model(self, path, overwrite=overwrite)

    def _fitted(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Give arrays, and other things in types of JSON, from which :meth:`_restore` makes a fitted model."""
        arrays = {f"state_{t}": part for t, part in enumerate(self.state_)}
        return arrays | {f"unobserved_{e}": mask for e, mask in self.unobserved_.items()}, {}

    def _restore(self, arrays: Mapping[str, Array], others: Mapping[str, Any]) -> None:  # noqa: ARG002 for those below
        self._keep_state([arrays[f"state_{t}"] for t in range(1 + len(self.database_.relations))])
        self.unobserved_ = {entity: arrays[f"unobserved_{entity}"] for entity in self.database_.sizes}

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


def check_prior(name: str, values: float | Mapping[str, float], types: Mapping[str, int]) -> list[float]:
    """Give a number for each type of entity, from one for all or some by type.

    Raises
    ------
    InputError
        If a type is unknown, or a number is not positive.
    """
    if not isinstance(values, Mapping):
        return [check_number(name, values, above=True)] * len(types)
    if wrong := [entity for entity in values if entity not in types]:
        raise InputError(f"{name}: there is no entity type {wrong[0]!r}; there are {', '.join(types)}")
    if lacking := [entity for entity in types if entity not in values]:
        raise InputError(f"{name}: there is no number for {lacking[0]!r}")
    return [check_number(name, values[entity], above=True) for entity in types]
