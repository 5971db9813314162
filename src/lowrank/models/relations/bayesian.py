"""Bayesian factorization of a database by Gibbs sampling: predictions with their uncertainty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowrank.errors import InputError, check_int
from lowrank.models.relations.base import DatabaseModel, Prediction
from lowrank.solvers.chain import Average, Chain
from lowrank.solvers.gibbs import Draw, Priors

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lowrank.models.relations.database import Database
    from lowrank.models.relations.tables import Relation


class BayesianFactorization(DatabaseModel):
    r"""Factors and biases drawn again and again from their distribution given all tables.

    See :mod:`lowrank.solvers.gibbs`. Every table has its own noise. Predictions are means over draws; their spread and
    the noise are the uncertainty. A table of three types or more is a CP tensor.

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
        As those of :class:`~lowrank.models.relations.base.DatabaseModel`; the last draw.
    chain_ : Chain
        Its ``draws`` are those kept.
    noise_ : dict of str to float
        Standard deviation of the noise of each squared table, in its units, the mean over draws.
    interrupted_ : bool
        Whether Ctrl-C ended the draws; those made are kept.

    References
    ----------
    Salakhutdinov, Mnih (2008), Bayesian probabilistic matrix factorization using Markov chain Monte Carlo.

    Examples
    --------
    >>> from lowrank.models.relations.tables import Relation
    >>> rng = np.random.default_rng(0)
    >>> x = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    >>> known = np.where(rng.random(x.shape) < 0.5, x, np.nan)
    >>> model = BayesianFactorization(1, seed=0).fit({"x": Relation(known, ("row", "column"), biases=False)})
    >>> cells = np.argwhere(np.isnan(known))
    >>> bool(np.abs(model.predict("x", cells) - x[tuple(cells.T)]).mean() < 0.1)
    True
    """

    def __init__(
        self,
        rank: int = 10,
        *,
        burn_in: int = 20,
        draws: int = 80,
        kept: int = 100,
        priors: Priors | None = None,
        seed: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.rank = rank
        self.burn_in = burn_in
        self.draws = draws
        self.kept = kept
        self.priors = priors
        self.seed = seed
        self.threads = threads

    def fit(
        self,
        database: Database | Mapping[str, Relation],
        y: object = None,
        *,
        at: Mapping[str, Any] | None = None,
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
        priors = Priors() if self.priors is None else self.priors
        self.chain_ = Chain(linked, start, rng, priors=priors, kept=self.kept, threads=threads)
        self.chain_.run(self.draws, burn_in=self.burn_in, seen=self._seen)
        return self._finished()

    def more(self, draws: int) -> Self:
        """Go on where the draws ended: as if ``draws`` had been that many more.

        Raises
        ------
        InputError
            If ``draws`` is not positive.
        """
        check_is_fitted(self)
        check_int("draws", draws, low=1)
        self.chain_.run(draws, seen=self._seen)
        return self._finished()

    def predict(self, relation: str, cells: Any) -> NDArray[np.float64]:
        """Give the expected values of cells; see :class:`~lowrank.models.relations.base.DatabaseModel`."""
        return self.predict_distribution(relation, cells).mean

    def predict_distribution(self, relation: str, cells: Any) -> Prediction:
        """Give the expected values of cells and their standard deviations, over the draws that were kept.

        Raises
        ------
        InputError
            If there is no such relation or entity, or no draw was kept.
        """
        check_is_fitted(self)
        if not self.chain_.draws:
            raise InputError("no draw was kept; set kept above 0, or see averages()")
        indices = self.database_.locate(relation, cells)
        averages = Average(), Average()
        for draw in self.chain_.draws:
            self._add(relation, indices, draw, averages)
        return self._prediction(relation, averages)

    def averages(self, relation: str) -> Prediction:
        """Give the prediction of the cells that ``fit`` was asked for, over all draws.

        Raises
        ------
        InputError
            If it was asked for none of this relation.
        """
        check_is_fitted(self)
        if relation not in self._averages:
            raise InputError(f"no cells of {relation!r} were named when the model was fitted")
        return self._prediction(relation, self._averages[relation])

    def _seen(self, draw: Draw) -> None:
        self._noise.add(draw.alphas**-0.5)
        for name, indices in self._at_cells.items():
            self._add(name, indices, draw, self._averages[name])

    def _add(self, relation: str, indices: NDArray[Any], draw: Draw, averages: tuple[Average, Average]) -> None:
        """Add a draw to the averages of the values and of ``m``."""
        t = list(self.database_.relations).index(relation)
        factors = {e: self._linked.factor(draw.state[0], s) for s, e in enumerate(self.database_.sizes)}
        m = self._at(relation, indices, factors, draw.state[1 + t])
        averages[0].add(self._in_units(relation, m))
        averages[1].add(m)

    def _prediction(self, relation: str, averages: tuple[Average, Average]) -> Prediction:
        values, m = averages
        t, one = list(self.database_.relations).index(relation), self.database_.relations[relation]
        noise = self._noise.mean[t] ** 2 / one.weight if one.loss == "squared" else 0.0
        return Prediction(values.mean, self.database_.units[relation].scale * np.sqrt(m.variance + noise))

    def _finished(self) -> Self:
        self._keep_state(self.chain_.last.state)
        self.interrupted_ = self.chain_.interrupted
        squared = [(t, name) for t, (name, one) in enumerate(self.database_.relations.items()) if one.loss == "squared"]
        self.noise_ = {name: float(self._noise.mean[t]) * self.database_.units[name].scale for t, name in squared}
        return self
