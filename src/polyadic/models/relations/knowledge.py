"""Tensor models of knowledge: vectors of entities and relations from facts, by the completion of questions."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from polyadic.errors import InputError, check_choice, check_int
from polyadic.models.base import Amount, Count, Model, Seed, Threads, Watch
from polyadic.models.relations.asking import FORMS, Form, learned_facts, questions, start_of
from polyadic.models.relations.links import Links
from polyadic.solvers.relations.triples import Penalty, Plan, TripleLoss, descend_triples
from polyadic.solvers.run import run
from polyadic.text.relations.facts import Facts, triples_by

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from polyadic.forms import Factors

STEPS, LARGEST, WATCHED = 50, 500, 2000
"""Steps of an epoch at least, and questions of a step at most, by default; facts ranked after each epoch at most."""


class KnowledgeTensor(Links, Model):
    r"""Scores of triples that put the entities which complete a fact above all others.

    .. math:: \min \sum_{(s, r, o)} \Big(\log \sum_{o'} e^{m_{sro'}} - m_{sro}
              + \log \sum_{s'} e^{m_{s'ro}} - m_{sro} + 2 \lambda\, \Omega_{sro}\Big),
              \qquad m_{sro} = a_s^\top M_r\, b_o

    with :math:`M_r` of one of :mod:`polyadic.bilinear`, by :func:`~polyadic.solvers.relations.triples.descend_triples`.

    Parameters
    ----------
    rank : int
        Length of the vectors of entities; complex numbers in ComplEx.
    form : {"ComplEx", "CP", "DistMult", "RESCAL", "Tucker2", "TuckER", "Tucker3"}
        See :mod:`polyadic.bilinear`.
    relation_rank : int, optional
        Slices of the core of TuckER and Tucker 3; as ``rank`` by default.
    reciprocal : bool
        Whether subjects are asked for by a relation of their own, the reciprocal, not by the same read backwards.
    loss : {"softmax", "logistic"}
    penalty : {"N3", "L2", "DURA"}
        :math:`\Omega`; see :class:`~polyadic.solvers.relations.triples.Plan`.
    strength : float
        :math:`\lambda`.
    step : float
        Of Adagrad.
    batch : int, optional
        Questions of a step; by default 500, and fewer where an epoch would have less than 50 steps.
    candidates : int, optional
        Entities drawn as candidates beside those that a batch names; all by default.
    max_iter, tol
        See :func:`~polyadic.solvers.run.run`; a sweep is an epoch. With a validation part the epochs end when its rank
        has not risen for five.
    seed : int, optional
    threads : int, optional
    watch : callable, optional
        Called with the :class:`~polyadic.solvers.run.Result` so far after each epoch.

    Attributes
    ----------
    subject_factors_, object_factors_, relation_factors_, entities_, relations_, facts_
        See :class:`~polyadic.models.relations.links.Links`.
    result_, history_, n_iter_, converged_, interrupted_
        As those of :class:`~polyadic.models.base.Model`; the objective is that of a fact, as a mean.

    References
    ----------
    Lacroix, Usunier, Obozinski (2018), Canonical tensor decomposition for knowledge base completion, and those of
    :mod:`polyadic.bilinear`.

    Examples
    --------
    >>> pairs = [(s, o) for circle in ((0, 1, 2, 3), (4, 5, 6, 7)) for s in circle for o in circle if s != o]
    >>> told = [(s, 0, o) for s, o in pairs if (s, o) != (0, 3)]
    >>> model = KnowledgeTensor(4, form="ComplEx", seed=0).fit(np.array(told))
    >>> bool(model.objects([0], [0])[0, 3] > model.objects([0], [0])[0, 4:].max())
    True
    """

    rank: Count = 100
    _: KW_ONLY
    form: Form = "ComplEx"
    relation_rank: int | None = None
    reciprocal: bool = True
    loss: TripleLoss = "softmax"
    penalty: Penalty = "N3"
    strength: float = 0.05
    step: float = 0.1
    batch: int | None = None
    candidates: int | None = None
    max_iter: Count = 50
    tol: Amount = 0.0
    seed: Seed = None
    threads: Threads = None
    watch: Watch = None

    def fit(
        self,
        X: Facts | ArrayLike,
        y: object = None,
        *,
        validation: Facts | ArrayLike | None = None,
        known: Facts | ArrayLike | None = None,
    ) -> Self:
        """Learn facts.

        Parameters
        ----------
        X : Facts or array of int of shape (n, 3)
            Subject, relation and object of each; what is listed twice counts once. Of an array, numbers go from 0 to
            the largest.
        validation : Facts or array of int of shape (m, 3), optional
            Facts to predict while learning: those factors are kept that rank (at most 2,000 of) them best.
        known : Facts or array of int of shape (f, 3), optional
            What else is true, and no error there. A better model names more such facts; as errors they would stop it.

        Raises
        ------
        InputError
            If there are no facts, or none to predict, they are malformed, or a parameter is out of range.
        """
        del y
        check_choice("form", self.form, FORMS)
        check_int("rank", self.rank, low=1)
        if self.relation_rank is not None:
            check_int("relation_rank", self.relation_rank, low=1)
        triples, n, K = learned_facts(X)
        rng = np.random.default_rng(self.seed)
        both = K * (2 if self.reciprocal else 1)
        start = start_of(self.form, n, both, rank=self.rank, relation_rank=self.relation_rank, rng=rng)
        asked = questions(triples, K, reciprocal=self.reciprocal)
        fewest = max(1, min(LARGEST, sum(len(one.known) for one in asked) // STEPS))
        batch = fewest if self.batch is None else self.batch
        plan = Plan(self.loss, self.penalty, self.strength, self.step, batch, self.candidates)
        self.facts_ = triples
        self.entities_, self.relations_ = (X.entities, X.relations) if isinstance(X, Facts) else (None, None)
        self._form, ends = FORMS[self.form]
        measure = None if validation is None else self._measure(validation, known, (n, K), rng)
        solver = descend_triples(self._form, start, asked, plan, ends=ends, rng=rng, threads=self.threads)
        self._place(self._keep(run(solver, max_iter=self.max_iter, tol=self.tol, watch=self.watch, measure=measure)))
        return self

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model, whole or not at all; see :func:`~polyadic.models.relations.links_storage.save_links`."""
        from polyadic.models.relations.links_storage import save_links

        save_links(self, path, overwrite=overwrite)

    def _place(self, factors: Factors) -> None:
        """Give factors their places."""
        self._form, ends = FORMS[self.form]
        self._reciprocal = self.reciprocal
        self.subject_factors_, self.object_factors_ = factors[ends[0]], factors[ends[1]]
        self.relation_factors_ = factors[max(ends) + 1 :]

    def _measure(self, validation: Any, known: Any, sizes: tuple[int, int], rng: Any) -> Callable[[Factors], float]:
        """Give the negative mean reciprocal rank of facts by factors."""
        names = self.entities_, self.relations_
        facts = true = triples_by("validation", validation, names=names, sizes=sizes)
        if not len(facts):
            raise InputError("validation has no facts to predict; leave it out")
        if known is not None:
            true = np.concatenate([facts, triples_by("known", known, names=names, sizes=sizes)])
        if len(facts) > WATCHED:
            facts = rng.choice(facts, WATCHED, replace=False)

        def measure(factors: Factors) -> float:
            self._place(factors)
            return -self._rank(facts, true).mean_reciprocal_rank

        return measure
