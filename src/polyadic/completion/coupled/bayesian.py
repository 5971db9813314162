"""Bayesian collective factorization of a database by Gibbs sampling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.completion.cells import Prediction
from polyadic.completion.coupled.database_model import DatabaseModel, Given
from polyadic.completion.coupled.gibbs import Average, Draw, MarkovChain, Memory, Priors, expected_prior, gibbs
from polyadic.core.annotations import AnyArray
from polyadic.core.errors import InputError, check_int
from polyadic.core.model import Count, Natural, learned
from polyadic.core.progress import tracked

if TYPE_CHECKING:
    from polyadic.completion.coupled.coupled_tables import CoupledTables
    from polyadic.completion.coupled.database import Database, Relation

FOLD_IN_DRAWS = 5  # draws of new rows per stored sample; the last one is stored


class BayesianFactorization(DatabaseModel):
    """Bayesian collective factorization of a database by Gibbs sampling.

    See :mod:`polyadic.completion.coupled.gibbs`. Every table has its own noise. Predictions are means over posterior
    samples, and their spread plus the noise is the uncertainty. A table of three or more entity types is a CP tensor.

    Parameters
    ----------
    n_samples : int
        Maximum number of posterior samples stored for predictions, evenly spaced. With 0 only averages over all draws
        at the cells given to ``fit`` are available.
    priors : Priors, optional
        Hyperparameters of the prior.

    Attributes
    ----------
    database_, state_, factors_, offsets_, unobserved_
        As for :class:`~polyadic.completion.coupled.database_model.DatabaseModel`, from the last draw.
    memory_, draws_ : Memory, list of Draw
        State of the chain, and stored samples.
    noise_, interrupted_ : dict of str to float, bool
        Posterior mean of the noise standard deviation of each squared-loss table; and whether Ctrl-C ended the sampling
        early. Samples drawn before are kept.

    References
    ----------
    Salakhutdinov, Mnih (2008), Bayesian probabilistic matrix factorization using Markov chain Monte Carlo.

    Examples
    --------
    >>> from polyadic.completion.coupled.database import Relation
    >>> rng = np.random.default_rng(0)
    >>> x = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    >>> known = np.where(rng.random(x.shape) < 0.5, x, np.nan)
    >>> model = BayesianFactorization(1, seed=0).fit({"x": Relation(known, ("row", "column"), biases=False)})
    >>> cells = np.argwhere(np.isnan(known))
    >>> bool(np.abs(model.predict("x", cells) - x[tuple(cells.T)]).mean() < 0.1)
    True
    """

    _: KW_ONLY
    burn_in: Natural = 20
    draws: Count = 80
    n_samples: Natural = 100
    priors: Priors | None = None
    memory_: Memory = learned()

    def fit(
        self, database: Database | Mapping[str, Relation], y: object = None, *, at: Mapping[str, Any] | None = None
    ) -> Self:
        """Sample the factors from the posterior distribution given all tables of a database.

        Parameters
        ----------
        database : Database or mapping of str to Relation
            Tables. InputError is raised if they contradict each other.
        at : mapping of str to cells, optional
            Cells by relation, as in :meth:`predict`, whose predictions are averaged over all draws.
        """
        self.check()
        coupled, rng = self._prepare(database)
        self._cells_ = {name: self.database_.locate(name, cells) for name, cells in (at or {}).items()}
        if not self.n_samples and not self._cells_:
            advice = "pass the cells to predict to fit (argument at), or increase n_samples"
            raise InputError(f"n_samples=0 stores no samples; {advice}", "n_samples")
        self._averages_ = {name: (Average(), Average()) for name in self._cells_}
        self._noise_ = Average()
        start = Draw(coupled.start(self.rank, rng, scale=0.1), np.ones(len(coupled.terms)))
        chain = MarkovChain.of(coupled, start, rng, **self._sampling)
        return self._run(chain, self.draws, burn_in=self.burn_in)

    def more(self, draws: int) -> Self:
        """Draw further samples from the Markov chain, as if ``fit`` had been called with more draws."""
        check_is_fitted(self, "state_")
        check_int("draws", draws, low=1)
        return self._run(MarkovChain.resumed(self._arranged(self.database_), self.memory_, **self._sampling), draws)

    def _priors(self) -> Priors:
        return self.priors or Priors()

    @property
    def _sampling(self) -> dict[str, Any]:
        return {"priors": self._priors(), "n_samples": self.n_samples, "threads": self._threads}

    def _go_on(self, added: CoupledTables | None, sizes: list[int], coupled: CoupledTables | None, sweeps: int) -> None:
        """Sample factors of new entities for each stored sample, then run a new chain from the last draw if asked."""
        memory, rng = self.memory_, np.random.default_rng()
        rng.bit_generator.state = memory.rng
        if added is not None:
            states = tracked([memory.last, *memory.draws], "sampling", total=1 + len(memory.draws))
            last, *draws = (self._folded(added, draw, sizes, rng) for draw in states)
            memory = memory._replace(last=last, draws=draws, rng=dict(rng.bit_generator.state))
        self.interrupted_ = False
        if coupled is None:
            self.memory_, self.state_ = memory, memory.last.state
            return
        chain = MarkovChain.of(coupled, memory.last, rng, **self._sampling)
        self._noise_, self._averages_ = Average(), {name: (Average(), Average()) for name in self._cells_}
        self._run(chain, sweeps - sweeps // 5, burn_in=sweeps // 5)

    def _folded(self, folded: CoupledTables, draw: Draw, sizes: list[int], rng: np.random.Generator) -> Draw:
        state = folded.extended([part.astype(float) for part in draw.state], sizes)
        chain = gibbs(folded, Draw(state, draw.alphas), priors=self._priors(), rng=rng, threads=self._threads)
        *_, found = islice(chain, FOLD_IN_DRAWS)
        return Draw([part.astype(old.dtype) for part, old in zip(found.state, draw.state, strict=True)], draw.alphas)

    def _run(self, chain: MarkovChain, draws: int, *, burn_in: int = 0) -> Self:
        chain.run(draws, burn_in=burn_in, seen=self._seen)
        self.memory_, self.interrupted_ = chain.memory(), chain.interrupted
        self.state_ = chain.last.state
        return self

    def _givens(self, coupled: CoupledTables, s: int, row: int) -> Iterator[Given]:
        del row
        if not self.draws_:
            raise InputError("the model has no stored samples; fit the model with n_samples above 0", "n_samples")
        for state, alphas in self.draws_:
            mu, precision = expected_prior(coupled.factor(state[0], s).astype(float), self._priors())
            yield Given(state, alphas.tolist(), precision, precision @ mu)

    def _distribution(self, relation: str, indices: AnyArray) -> Prediction:
        if not self.draws_:
            about = "the model has no stored samples"
            raise InputError(f"{about}; fit the model with n_samples above 0, or use averages()", "n_samples")
        averages = Average(), Average()
        for draw in self.draws_:
            self._add(relation, indices, draw, averages)
        return self._prediction(relation, averages)

    def averages(self, relation: str) -> Prediction:
        """Return the predictions of the cells given to ``fit``, averaged over all draws; InputError if none were."""
        check_is_fitted(self, "state_")
        if relation not in self._averages_:
            advice = "pass cells of the relation to fit (argument at)"
            raise InputError(f"relation {relation!r} has no averaged predictions; {advice}")
        return self._prediction(relation, self._averages_[relation])

    def _seen(self, draw: Draw) -> None:
        self._noise_.add(draw.alphas**-0.5)
        for name, indices in self._cells_.items():
            self._add(name, indices, draw, self._averages_[name])

    def _add(self, relation: str, indices: AnyArray, draw: Draw, averages: tuple[Average, Average]) -> None:
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
        """Stored posterior samples."""
        return self.memory_.draws

    def _stacks(self) -> list[AnyArray]:
        return [draw.state[0] for draw in self.draws_] or super()._stacks()

    @property
    def noise_(self) -> dict[str, float]:
        """Posterior mean of the standard deviation of the noise in each table, in units of the table's values."""
        named = zip(self.database_.relations.items(), self._noise_.mean.tolist(), strict=True)
        return {name: self.database_.units[name].scale * s for (name, table), s in named if table.loss == "squared"}
