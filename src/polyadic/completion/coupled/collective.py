"""Collective factorization of a database: one factor per entity type, shared by all tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from polyadic.completion.coupled.coordinate_descent import collective
from polyadic.completion.coupled.database_model import Given, IterativeDatabaseModel
from polyadic.completion.coupled.gradient_descent import collective_sgd
from polyadic.core.errors import InputError
from polyadic.core.model import Amount, Callback, Count, Positive
from polyadic.core.solvers.run import run

if TYPE_CHECKING:
    from polyadic.completion.coupled.coupled_tables import CoupledTables, State


class CollectiveFactorization(IterativeDatabaseModel):
    r"""Collective factorization of a database with point estimates.

    .. math:: \min \sum_t w_t \sum_e \ell_t(x_e, m_e)
              + \tfrac12 \sum_s \lambda_s \sum_i n_i^\gamma \|u^{(s)}_i\|^2 + \tfrac{\rho}{2} \sum n_i^\gamma b_i^2,
              \qquad m = o_t + \sum_d b_{i_d} + \sum_r \prod_d u_{i_d r}

    An entity type has the same factor in all tables, so that data on an entity in one table improves predictions in
    others. Numeric values are standardized table by table; see :mod:`polyadic.completion.coupled.coordinate_descent`.

    Parameters
    ----------
    ridge : float or mapping of str to float
        Ridge penalty :math:`\lambda_s` on the factors: one value for all entity types, or one per entity type.
    bias_ridge : float
        Ridge penalty on the biases. In the formula, :math:`\rho`.
    count_power : float, optional
        Exponent of the number of observed cells of an entity in its penalty (default: 0.5, or 0 if a table weights its
        unobserved zeros). In the formula, :math:`\gamma` and :math:`n_i`. With the default ridges these gave the best
        predictions of held-out ratings and play counts.
    solver : {"coordinate-descent", "sgd"}
        Solver: block coordinate descent, which never increases the objective, or stochastic gradient descent with
        Adagrad (:mod:`polyadic.completion.coupled.gradient_descent`). New entities in :meth:`update` are always solved
        for by coordinate descent.
    learning_rate : float
        Initial learning rate of stochastic gradient descent.

    Attributes
    ----------
    database_, state_, factors_, offsets_, unobserved_
        As for :class:`~polyadic.completion.coupled.database_model.DatabaseModel`.

    References
    ----------
    Singh, Gordon (2008), Relational learning via collective matrix factorization.

    Examples
    --------
    >>> from polyadic.completion.coupled.database import Relation
    >>> likes = {"user": ["ann", "ann", "bob", "bob"], "film": ["Jaws", "Up", "Jaws", "M"], "stars": [5, 1, 5, 3]}
    >>> model = CollectiveFactorization(1, seed=0).fit({"likes": Relation(likes, ("user", "film"), value="stars")})
    >>> low, high = model.predict("likes", [("bob", "Up"), ("ann", "M")])
    >>> bool(low < high)
    True
    """

    _: KW_ONLY
    ridge: Positive | Mapping[str, Positive] = 1.0
    bias_ridge: Positive = 0.3
    count_power: Amount | None = None
    solver: Literal["coordinate-descent", "sgd"] = "coordinate-descent"
    learning_rate: Positive = 0.3
    max_iter: Count = 100
    tol: Amount = 1e-4
    callback: Callback = None

    def _start(self, coupled: CoupledTables, rng: np.random.Generator) -> State:
        return coupled.start(self.rank, rng, scale=self.rank**-0.5)

    def _position(self) -> State:
        return self.state_

    def _extended(self, coupled: CoupledTables, position: State, sizes: list[int]) -> State:
        return coupled.extended(position, sizes)

    def _improved(self, coupled: CoupledTables, start: State, max_iter: int, tol: float) -> State:
        how: dict[str, Any] = {"ridges": self._ridges(), "bias_ridge": self.bias_ridge, "threads": self._threads}
        how["count_power"] = self._power(coupled)
        if self.solver == "sgd" and not coupled.folds:
            rng = np.random.default_rng(self.seed)
            solver = collective_sgd(coupled, start, learning_rate=self.learning_rate, rng=rng, **how)
        else:
            solver = collective(coupled, start, **how)
        return self._keep(run(solver, max_iter=max_iter, tol=tol, callback=self.callback))

    def _take(self, position: State) -> None:
        self.state_ = position

    def _givens(self, coupled: CoupledTables, s: int, row: int) -> Iterator[Given]:
        penalty = self._ridges()[s] * max(int(coupled.counts[s][row]), 1) ** self._power(coupled)
        yield Given(self.state_, [1.0] * len(coupled.terms), penalty * np.eye(self.rank), np.zeros(self.rank))

    def _power(self, coupled: CoupledTables) -> float:
        weighed = any(coupled.zeros)
        if self.count_power and weighed:
            about = "count_power must be 0 for tables with weighted zeros,"
            raise InputError(f"{about} because all rows have the same number of cells", "count_power")
        default = 0.0 if weighed else 0.5
        return default if self.count_power is None else self.count_power

    def _ridges(self) -> list[float]:
        """Return the ridge penalty of each entity type."""
        types = self.database_.sizes
        if not isinstance(self.ridge, Mapping):
            return [float(self.ridge)] * len(types)
        if unknown := [entity for entity in self.ridge if entity not in types]:
            about = f"ridge contains an unknown entity type {unknown[0]!r}"
            raise InputError(f"{about}; types are {', '.join(types)}", "ridge")
        if lacking := [entity for entity in types if entity not in self.ridge]:
            raise InputError(f"ridge must have a value for each entity type; {lacking[0]!r} is missing", "ridge")
        return [float(self.ridge[entity]) for entity in types]
