"""Bayesian factorization of a database by Gibbs sampling: predictions with their uncertainty."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.errors import InputError, check_int
from polyadic.models.base import Count, Seed, Threads
from polyadic.models.relations.base import DatabaseModel, Prediction
from polyadic.solvers.databases.draws import Average, Chain, Memory
from polyadic.solvers.databases.gibbs import Draw, Priors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from polyadic.models.relations.database import Database
    from polyadic.models.relations.tables import Relation


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
    database_, factors_, offsets_, unobserved_
        As those of :class:`~polyadic.models.relations.base.DatabaseModel`; the last draw.
    draws_ : list of Draw
        Those kept.
    interrupted_ : bool
        Whether Ctrl-C ended the draws; those made are kept.

    References
    ----------
    Salakhutdinov, Mnih (2008), Bayesian probabilistic matrix factorization using Markov chain Monte Carlo.

    Examples
    --------
    >>> from polyadic.models.relations.tables import Relation
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
    burn_in: int = 20
    draws: int = 80
    kept: int = 100
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
        del y
        for name, low in (("burn_in", 0), ("draws", 1), ("kept", 0)):
            check_int(name, getattr(self, name), low=low)
        linked, rng, threads = self._prepare(database)
        self._at_cells = {name: self.database_.locate(name, cells) for name, cells in (at or {}).items()}
        if not self.kept and not self._at_cells:
            raise InputError("with kept=0 nothing would be left; name cells to predict with at=")
        self._averages = {name: (Average(), Average()) for name in self._at_cells}
        self._noise = Average()
        start = Draw(linked.start(self.rank, rng, scale=0.1), np.ones(len(linked.terms)))
        self.chain_ = Chain(linked, start, rng, priors=self.priors or Priors(), kept=self.kept, threads=threads)
        self.chain_.run(self.draws, burn_in=self.burn_in, seen=self._seen)
        return self._finished()

    def more(self, draws: int, *, database: Database | Mapping[str, Relation] | None = None) -> Self:
        """Go on where the draws ended: as if ``draws`` had been that many more. A loaded model needs its tables again.

        Raises
        ------
        InputError
            If ``draws`` is not positive, or tables are needed or others than the model's.
        """
        check_is_fitted(self)
        check_int("draws", draws, low=1)
        if database is not None:
            before = self.database_, self.unobserved_
            linked, _, threads = self._prepare(database)
            if self.database_.description() != before[0].description():
                self.database_, self.unobserved_ = before
                raise InputError("draws go on with the tables that they began with; fit a new model to these")
            priors = self.priors or Priors()
            self.chain_ = Chain.of(linked, self._memory, priors=priors, kept=self.kept, threads=threads)
        elif not hasattr(self, "chain_"):
            raise InputError("a model that was loaded needs its tables to go on; name them with database=")
        self.chain_.run(draws, seen=self._seen)
        return self._finished()

    def _distribution(self, relation: str, indices: NDArray[Any]) -> Prediction:
        if not self.draws_:
            raise InputError("no draw was kept; set kept above 0, or see averages()")
        averages = Average(), Average()
        for draw in self.draws_:
            self._add(relation, indices, draw, averages)
        return self._prediction(relation, averages)

    def averages(self, relation: str) -> Prediction:
        """Give the prediction of the cells that ``fit`` was asked for, over all draws; refuse if there are none."""
        check_is_fitted(self)
        if relation not in self._averages:
            raise InputError(f"no cells of {relation!r} were named when the model was fitted")
        return self._prediction(relation, self._averages[relation])

    def _seen(self, draw: Draw) -> None:
        self._noise.add(draw.alphas**-0.5)
        for name, indices in self._at_cells.items():
            self._add(name, indices, draw, self._averages[name])

    def _add(self, relation: str, indices: NDArray[Any], draw: Draw, averages: tuple[Average, Average]) -> None:
        t = list(self.database_.relations).index(relation)
        m = self._at(relation, indices, self._rows(draw.state[0]), draw.state[1 + t])
        averages[0].add(self._in_units(relation, m))
        averages[1].add(m)

    def _prediction(self, relation: str, averages: tuple[Average, Average]) -> Prediction:
        t, one = list(self.database_.relations).index(relation), self.database_.relations[relation]
        noise, (values, m) = self._noise.mean[t] ** 2 if one.loss == "squared" else 0.0, averages
        return Prediction(values.mean, self.database_.units[relation].scale * np.sqrt(m.variance + noise))

    def _finished(self) -> Self:
        self._memory, self.draws_, self.interrupted_ = self.chain_.memory(), self.chain_.draws, self.chain_.interrupted
        self._keep_state(self.chain_.last.state)
        return self

    def _stacks(self) -> list[NDArray[Any]]:
        return [draw.state[0] for draw in self.draws_] or super()._stacks()

    @property
    def noise_(self) -> dict[str, float]:
        """Give the standard deviation of the noise of each squared table, in its units, the mean over draws."""
        named = zip(self.database_.relations.items(), self._noise.mean.tolist(), strict=True)
        return {name: self.database_.units[name].scale * s for (name, one), s in named if one.loss == "squared"}

    def _fitted(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, others = super()._fitted()
        arrays |= self._memory.arrays() | {"noise": np.stack(self._noise.memory())}
        for k, (cells, (x, m)) in enumerate(zip(self._at_cells.values(), self._averages.values(), strict=True)):
            arrays |= {f"at_{k}": cells, f"averages_{k}": np.stack([*x.memory(), *m.memory()])}
        return arrays, others | {"chain": self._memory.others(), "at": list(self._at_cells)}

    def _restore(self, arrays: Mapping[str, NDArray[Any]], others: Mapping[str, Any]) -> None:
        super()._restore(arrays, others)
        self._noise, at = Average.of(list(arrays["noise"])), list(enumerate(others["at"]))
        self._at_cells = {name: arrays[f"at_{k}"] for k, name in at}
        parts = {name: list(arrays[f"averages_{k}"]) for k, name in at}
        self._averages = {name: (Average.of(both[:3]), Average.of(both[3:])) for name, both in parts.items()}
        self._memory = Memory.of(arrays, others["chain"])
        self.draws_, self.interrupted_ = self._memory.draws, False
