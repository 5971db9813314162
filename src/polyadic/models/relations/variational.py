"""Variational Bayes for a database: means and covariances of factors, nothing to tune but the rank."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from polyadic.kernels import RandomRows, row_moments
from polyadic.models.base import Amount, Count, Positive, Seed, Threads, Watch
from polyadic.models.relations.database_model import FOLDING, DatabaseModel, Prediction
from polyadic.models.relations.database_row import Given
from polyadic.resources import check_memory
from polyadic.solvers.databases.variational import Beliefs, GammaPrior, beliefs, extended, moments, variational
from polyadic.solvers.run import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from polyadic.models.relations.database import Database, Relation
    from polyadic.solvers.databases.linked import Linked


class VariationalFactorization(DatabaseModel):
    r"""A normal distribution for every row of every factor (:mod:`polyadic.solvers.databases.variational`).

    Noise, the size of biases and the relevance of each component are learned. Components that tables do not need
    vanish, so ``rank`` is a bound; where it reaches the number of entities of a type, all of them do.

    Parameters
    ----------
    rank : int
        Columns of each factor, at most.
    shape, rate : float
        Of the gamma distribution that precisions have before anything is seen.
    max_iter, tol
        See :func:`~polyadic.solvers.run.run`.
    seed : int, optional
        Of the start and of sampled zeros.
    threads : int, optional
        All cores by default; the result does not depend on them.
    watch : callable, optional
        Called with the :class:`~polyadic.solvers.run.Result` so far after each sweep.

    Attributes
    ----------
    database_, state_, factors_, offsets_, unobserved_
        As those of :class:`~polyadic.models.relations.database_model.DatabaseModel`; means.
    beliefs_ : Beliefs
        All of the distribution.
    relevance_ : dict of str to ndarray of shape (rank,)
        By type, the share of each component in the squares of the means: those near zero have vanished.
    bound_ : float
        On the logarithm of the probability of the tables.
    result_, history_, n_iter_, converged_, interrupted_
        The objective is the negative bound; see :class:`~polyadic.models.base.Model`.

    References
    ----------
    Klami, Bouchard, Tripathi (2014), Group-sparse embeddings in collective matrix factorization.

    Examples
    --------
    >>> from polyadic.models.relations.database import Relation
    >>> rng = np.random.default_rng(0)
    >>> x = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    >>> known = np.where(rng.random(x.shape) < 0.5, x, np.nan)
    >>> model = VariationalFactorization(3, seed=0).fit({"x": Relation(known, ("row", "column"))})
    >>> int((model.relevance_["row"] > 0.01).sum())
    1
    """

    rank: Count = 10
    _: KW_ONLY
    shape: Positive = 1.0
    rate: Positive = 1.0
    max_iter: Count = 200
    tol: Amount = 1e-4
    seed: Seed = None
    threads: Threads = None
    watch: Watch = None

    def fit(self, database: Database | Mapping[str, Relation], y: object = None) -> Self:
        """Fit to all tables.

        Parameters
        ----------
        database : Database or mapping of str to Relation

        Raises
        ------
        InputError
            If the database contradicts itself, a parameter is out of range, or memory does not suffice.
        """
        self.check()
        del y
        linked, rng = self._prepare(database)
        check_memory(5 * 8 * linked.offsets[-1] * self.rank**2, "covariances of all rows", "lower the rank")
        start = beliefs(linked, self.rank, rng, prior=self._prior(), threads=self._threads)
        self._take(self._improved(linked, start, self.max_iter, self.tol))
        return self

    def _go_on(self, folded: Linked | None, sizes: list[int], linked: Linked | None, sweeps: int) -> None:
        q = self.beliefs_
        if folded is not None:
            q = self._improved(folded, extended(folded, q, sizes), FOLDING, self.tol)
        if linked is not None:
            q = self._improved(linked, q, sweeps, 0.0)
        self._take(q)

    def _improved(self, linked: Linked, start: Beliefs, max_iter: int, tol: float) -> Beliefs:
        solver = variational(linked, start, prior=self._prior(), threads=self._threads)
        arrays = self._keep(run(solver, max_iter=max_iter, tol=tol, watch=self.watch))
        self.bound_ = -self.history_[-1]
        return Beliefs.of(arrays, len(linked.terms), len(linked.sizes))

    def _givens(self, linked: Linked, s: int, row: int) -> Iterator[Given]:
        del row
        q = self.beliefs_
        squares = [moments(linked, q, t, self._threads)[1] for t in range(len(linked.terms))]
        yield Given(q.means, q.alphas.tolist(), np.diag(q.relevance[s]), np.zeros(self.rank), q.covariances, squares)

    def _take(self, q: Beliefs) -> None:
        self.beliefs_, self.state_ = q, q.means

    def _prior(self) -> GammaPrior:
        return GammaPrior(self.shape, self.rate)

    @property
    def relevance_(self) -> dict[str, NDArray[np.float64]]:
        """By type, the share of each component in the squares of the means."""
        squares = {entity: (U**2).sum(axis=0) for entity, U in self.factors_.items()}
        return {entity: values / (values.sum() or 1.0) for entity, values in squares.items()}

    def _distribution(self, relation: str, indices: NDArray[Any]) -> Prediction:
        q = self.beliefs_
        t, types = list(self.database_.relations).index(relation), list(self.database_.sizes)
        table = self.database_.relations[relation]
        starts = np.cumsum([0, *self.database_.sizes.values()])
        stacked = indices + [starts[types.index(e)] for e in table.entities]
        product, square = row_moments(stacked, RandomRows(q.means[0], q.covariances), threads=self._threads)
        mean = product + self._biases(relation, indices, q.means[1 + t])
        variance = square - product**2 + self._biases(relation, indices, q.variances[t])
        noise, scale = 1 / q.alphas[t] if table.loss == "squared" else 0.0, self.database_.units[relation].scale
        return Prediction(self._in_units(relation, mean, variance), scale * np.sqrt(np.maximum(variance, 0) + noise))
