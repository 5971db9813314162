"""Bayesian factorization of a database by Gibbs sampling: predictions with their uncertainty."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.errors import InputError, check_int
from polyadic.models.base import Count, Natural, Seed, Threads
from polyadic.models.relations.database_model import DatabaseModel, Prediction
from polyadic.solvers.databases.draws import Average, Chain
from polyadic.solvers.databases.gibbs import Draw, Priors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from polyadic.models.relations.database import Database, Relation


class BayesianFactorization(DatabaseModel):
    r"""Factors and biases drawn again and again from their distribution given all tables.

    See :mod:`polyadic.solvers.databases.gibbs`. Every table has its own noise. Predictions are means over draws; their
    spread and the noise are the uncertainty. A table of three types or more is a CP tensor.

    Parameters
    ----------
    rank : int
    burn_in, draws : int
        Sweeps before draws count, and draws that count.
    kept : int
        Draws kept at most, evenly spread, to predict any cell from. With 0 there are only the averages at the cells
        that ``fit`` was asked for, over all draws.
    priors : Priors
    seed : int, optional
        Of the draws and of sampled zeros.
    threads : int, optional
        All cores by default; the result does not depend on them.

    Attributes
    ----------
    database_, state_, factors_, offsets_, unobserved_
        As those of :class:`~polyadic.models.relations.database_model.DatabaseModel`; the last draw.
    draws_ : list of Draw
        Those kept.
    memory_ : Memory
        All that the draws go on from.
    noise_ : dict of str to float
        By squared table.
    interrupted_ : bool
        Whether Ctrl-C ended the draws; those made are kept.

    References
    ----------
    Salakhutdinov, Mnih (2008), Bayesian probabilistic matrix factorization using Markov chain Monte Carlo.

    Examples
    --------
    >>> from polyadic.models.relations.database import Relation
    >>> rng = np.random.default_rng(0)
    >>> x = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    >>> known = np.where(rng.random(x.shape) < 0.5, x, np.nan)
    >>> model = BayesianFactorization(1, seed=0).fit({"x": Relation(known, ("row", "column"), biases=False)})
    >>> cells = np.argwhere(np.isnan(known))
    >>> bool(np.abs(model.predict("x", cells) - x[tuple(cells.T)]).mean() < 0.1)
    True
    """

    rank: Count = 10
    _: KW_ONLY
    burn_in: Natural = 20
    draws: Count = 80
    kept: Natural = 100
    priors: Priors | None = None
    seed: Seed = None
    threads: Threads = None

    def fit(
        self, database: Database | Mapping[str, Relation], y: object = None, *, at: Mapping[str, Any] | None = None
    ) -> Self:
        """Draw factors given all tables.

        Parameters
        ----------
        database : Database or mapping of str to Relation
        at : mapping of str to cells, optional
            Cells by relation, as for :meth:`predict`, whose predictions are averaged on the way.

        Raises
        ------
        InputError
            If the database contradicts itself, or a parameter is out of range.
        """
        self.check()
        del y
        self._linked, rng = self._prepare(database)
        self._cells_ = {name: self.database_.locate(name, cells) for name, cells in (at or {}).items()}
        if not self.kept and not self._cells_:
            raise InputError("with kept=0 nothing would be left; name cells to predict with at=")
        self._averages_ = {name: (Average(), Average()) for name in self._cells_}
        self._noise_ = Average()
        start = Draw(self._linked.start(self.rank, rng, scale=0.1), np.ones(len(self._linked.terms)))
        chain = Chain(self._linked, start, rng, priors=self.priors or Priors(), kept=self.kept, threads=self._threads)
        return self._run(chain, self.draws, burn_in=self.burn_in)

    def more(self, draws: int, *, database: Database | Mapping[str, Relation] | None = None) -> Self:
        """Go on where the draws ended: as if ``draws`` had been that many more. A loaded model needs its tables again.

        Raises
        ------
        InputError
            If ``draws`` is not positive, or tables are needed or others than the model's.
        """
        check_is_fitted(self, "state_")
        check_int("draws", draws, low=1)
        if database is not None:
            before = self.database_, self.unobserved_
            linked, _ = self._prepare(database)
            if self.database_.description() != before[0].description():
                self.database_, self.unobserved_ = before
                raise InputError("draws go on with the tables that they began with; fit a new model to these")
            self._linked = linked
        elif not hasattr(self, "_linked"):
            raise InputError("a model that was loaded needs its tables to go on; name them with database=")
        priors = self.priors or Priors()
        return self._run(
            Chain.of(self._linked, self.memory_, priors=priors, kept=self.kept, threads=self._threads), draws
        )

    def _run(self, chain: Chain, draws: int, *, burn_in: int = 0) -> Self:
        chain.run(draws, burn_in=burn_in, seen=self._seen)
        self.memory_, self.interrupted_ = chain.memory(), chain.interrupted
        self.state_ = chain.last.state
        return self

    def _distribution(self, relation: str, indices: NDArray[Any]) -> Prediction:
        if not self.draws_:
            raise InputError("no draw was kept; set kept above 0, or see averages()")
        averages = Average(), Average()
        for draw in self.draws_:
            self._add(relation, indices, draw, averages)
        return self._prediction(relation, averages)

    def averages(self, relation: str) -> Prediction:
        """Give the prediction of the cells that ``fit`` was asked for, over all draws; refuse if there are none."""
        check_is_fitted(self, "state_")
        if relation not in self._averages_:
            raise InputError(f"no cells of {relation!r} were named when the model was fitted")
        return self._prediction(relation, self._averages_[relation])

    def _seen(self, draw: Draw) -> None:
        self._noise_.add(draw.alphas**-0.5)
        for name, indices in self._cells_.items():
            self._add(name, indices, draw, self._averages_[name])

    def _add(self, relation: str, indices: NDArray[Any], draw: Draw, averages: tuple[Average, Average]) -> None:
        t = list(self.database_.relations).index(relation)
        m = self._at(relation, indices, self._rows(draw.state[0]), draw.state[1 + t])
        averages[0].add(self._in_units(relation, m))
        averages[1].add(m)

    def _prediction(self, relation: str, averages: tuple[Average, Average]) -> Prediction:
        t, table = list(self.database_.relations).index(relation), self.database_.relations[relation]
        noise, (values, m) = self._noise_.mean[t] ** 2 if table.loss == "squared" else 0.0, averages
        return Prediction(values.mean, self.database_.units[relation].scale * np.sqrt(m.variance + noise))

    @property
    def draws_(self) -> list[Draw]:
        """Those kept."""
        return self.memory_.draws

    def _stacks(self) -> list[NDArray[Any]]:
        return [draw.state[0] for draw in self.draws_] or super()._stacks()

    @property
    def noise_(self) -> dict[str, float]:
        """Give the standard deviation of the noise of each squared table, in its units, the mean over draws."""
        named = zip(self.database_.relations.items(), self._noise_.mean.tolist(), strict=True)
        return {name: self.database_.units[name].scale * s for (name, table), s in named if table.loss == "squared"}
