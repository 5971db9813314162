"""Tensor models of knowledge: vectors of entities and relations from facts, by the completion of questions."""

from __future__ import annotations

import math
import warnings
from copy import copy
from dataclasses import KW_ONLY, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax
from sklearn.utils.validation import check_is_fitted

from polyadic.bilinear import Complex, Core, Diagonal, Slices
from polyadic.errors import InputError, SeenFactsWarning, check_int
from polyadic.metrics.ranking import MEMORY, Ranking, ranking
from polyadic.models.base import Amount, Count, Model, Positive, Seed, Threads, Watch
from polyadic.models.chosen import Search, held_out_share
from polyadic.models.explaining import Explanation
from polyadic.models.relations.entity_names import as_names, numbers_of
from polyadic.solvers.relations.triples import Penalty, Plan, Questions, TripleLoss, descend_triples, questions_of
from polyadic.solvers.run import run
from polyadic.text.relations.facts import Facts, checked_triples, facts_of, held_out_facts, shared, triples_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from polyadic.bilinear import Bilinear
    from polyadic.forms import Factors

    _Names = tuple[list[str] | None, list[str] | None]
    Names = Sequence[int] | Sequence[str] | Sequence[int | str] | NDArray[Any]

Form = Literal["CP", "DistMult", "ComplEx", "RESCAL", "Tucker2", "TuckER", "Tucker3"]
FORMS: dict[str, tuple[Bilinear, tuple[int, int]]] = {
    "CP": (Diagonal(), (0, 1)),
    "DistMult": (Diagonal(), (0, 0)),
    "ComplEx": (Complex(), (0, 0)),
    "RESCAL": (Slices(), (0, 0)),
    "Tucker2": (Slices(), (0, 1)),
    "TuckER": (Core(), (0, 0)),
    "Tucker3": (Core(), (0, 1)),
}
"""The form of each, and which factor is that of subjects and which that of objects."""
CALIBRATING, MOST_SCORES = 1_000, 1 << 25
"""Facts by which scores are calibrated at most, and their scores in either direction."""
LEAST_SURE = 1e-3
"""The least 1 / T that is tried; the largest is its inverse."""
EPOCHS = 20
"""Of questions about new entities: with fewer they are not yet told apart, with more no better (CoDEx-S)."""
SPREAD = 1e-3
"""Standard deviation of the start of vectors. The first step of Adagrad is as long for any."""
STEPS, LARGEST, WATCHED = 50, 500, 2000
"""Steps of an epoch at least, and questions of a step at most, by default; facts ranked after each epoch at most."""
BLOCK = 1 << 16
"""Triples whose scores are computed at once."""


VALUES = {
    "strength": (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005),
    "rank": (12, 25, 50, 100, 200, 400),
}
"""What facts held out choose from."""
OF_MATRICES = {"strength": VALUES["strength"], "penalty": ("N3", "DURA"), "reciprocal": (True, False)} | VALUES
"""The same where relations are matrices, for which neither penalty, and neither way to ask, is best on all sets.

The strength comes first: at a wrong one the penalties cannot be compared."""


class EmptyRelationWarning(UserWarning):
    """A relation has no facts to learn from."""


class KnowledgeTensor(Model):
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
        :math:`\Omega`; N3 suits diagonal forms and ComplEx, DURA those with matrices. See
        :class:`~polyadic.solvers.relations.triples.Plan`.
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
    subject_factors_, object_factors_ : ndarray of shape (n, width)
        Vectors of entities in either place; one array if they are the same.
    relation_factors_ : list of ndarray
        What the form holds of relations; of each reciprocal behind them all, if there are any.
    entities_, relations_ : list of str or None
        Names by number, if the facts had any.
    facts_ : ndarray of shape (m, 3)
        Those that were learned.
    temperature_ : float
        See :meth:`calibrate`, which a validation part is used for; NaN without.
    updated_ : dict
        What :meth:`update` has added, last time.
    result_, history_, n_iter_, converged_, interrupted_
        As those of :class:`~polyadic.models.base.Model`; the objective is that of a fact, as a mean.

    References
    ----------
    Lacroix, Usunier, Obozinski (2018), Canonical tensor decomposition for knowledge base completion, and those of
    :mod:`polyadic.bilinear`.

    Examples
    --------
    >>> pairs = [(s, o) for circle in ((0, 1, 2, 3), (4, 5, 6, 7)) for s in circle for o in circle if s != o]
    >>> facts = [(s, 0, o) for s, o in pairs if (s, o) != (0, 3)]
    >>> model = KnowledgeTensor(4, form="ComplEx", seed=0).fit(np.array(facts))
    >>> bool(model.objects([0], [0])[0, 3] > model.objects([0], [0])[0, 4:].max())
    True
    """

    rank: Count = 100
    _: KW_ONLY
    form: Form = "ComplEx"
    relation_rank: Count | None = None
    reciprocal: bool = True
    loss: TripleLoss = "softmax"
    penalty: Penalty = "N3"
    strength: Amount = 0.02
    step: Positive = 0.1
    batch: Count | None = None
    candidates: Count | None = None
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
        X : Facts, or array of int or of text, of shape (n, 3)
            Subject, relation and object of each; what is listed twice counts once. Of an array of numbers, they go from
            0 to the largest.
        validation : Facts or array of int of shape (m, 3), optional
            Facts to predict while learning: those factors are kept that rank (at most 2,000 of) them best, and scores
            are calibrated by them.
        known : Facts or array of int of shape (f, 3), optional
            What else is true, and no error there. A better model names more such facts; as errors they would stop it.

        Raises
        ------
        InputError
            If there are no facts, or none to predict, they are malformed, or a parameter is out of range.
        """
        self.check()
        del y
        X = by_name(X)
        triples, n, K = learned_facts(X)
        rng = np.random.default_rng(self.seed)
        both = K * (2 if self.reciprocal else 1)
        start = start_of(self.form, n, both, rank=self.rank, relation_rank=self.relation_rank, rng=rng)
        asked = questions(triples, K, reciprocal=self.reciprocal)
        fewest = max(1, min(LARGEST, sum(len(part.known) for part in asked) // STEPS))
        batch = fewest if self.batch is None else self.batch
        plan = Plan(self.loss, self.penalty, self.strength, self.step, batch, self.candidates)
        names: _Names = (X.entities, X.relations) if isinstance(X, Facts) else (None, None)
        measure = None if validation is None else self._measure(validation, known, names, (n, K), rng)
        self.facts_, (self.entities_, self.relations_) = triples, names
        form, ends = FORMS[self.form]
        solver = descend_triples(form, start, asked, plan, ends=ends, rng=rng, threads=self._threads)
        self._place(self._keep(run(solver, max_iter=self.max_iter, tol=self.tol, watch=self.watch, measure=measure)))
        self.temperature_ = math.nan
        if validation is not None:
            judged = triples_by("validation", validation, names=names, sizes=(n, K))
            if shared(judged, triples) < len(judged):
                self.calibrate(validation)
        return self

    def calibrate(self, facts: Facts | ArrayLike) -> Self:
        r"""Learn from facts that were not learned how sure scores are.

        .. math:: P(o \mid s, r) = \frac{e^{m_{sro} / T}}{\sum_{o'} e^{m_{sro'} / T}}

        over all :math:`o'` but those that are learned answers: of what is not known yet, how likely this is the answer.
        Subjects likewise. The temperature T, ``temperature_``, is that at which the facts given are likeliest.

        Parameters
        ----------
        facts : Facts or array of int of shape (m, 3)
            At most 1,000 of them are asked for in either direction.

        Raises
        ------
        InputError
            If there are none but those that were learned, or they are malformed.

        References
        ----------
        Guo, Pleiss, Sun, Weinberger (2017), On calibration of modern neural networks, section 4.2.

        Examples
        --------
        >>> learned = np.array([(0, 0, 1), (0, 0, 2), (1, 0, 2), (3, 0, 4), (3, 0, 5), (4, 0, 5)])
        >>> model = KnowledgeTensor(4, seed=0).fit(learned)
        >>> bool(model.calibrate([(1, 0, 0), (4, 0, 3)]).temperature_ > 0)
        True
        """
        check_is_fitted(self)
        n, rng = len(self.object_factors_), np.random.default_rng(self.seed)
        asked = triples_by("facts", facts, names=(self.entities_, self.relations_), sizes=(n, self._relations_count()))
        learned = {*map(tuple, self.facts_.tolist())}
        asked = asked[[tuple(fact) not in learned for fact in asked.tolist()]]
        if not len(asked):
            raise InputError("there are no facts to calibrate by but those that were learned")
        asked = rng.permutation(asked)[: max(1, min(CALIBRATING, MOST_SCORES // n))]
        rows, right = [], []
        for hidden, known in ((2, 0), (0, 2)):
            S = self._ask(asked[:, known], asked[:, 1], backwards=hidden == 0).astype(float)
            right.append(S[np.arange(len(S)), asked[:, hidden]])
            for row, at in zip(S, self._answers(asked, hidden), strict=True):
                row[at] = -np.inf
            rows.append(S)
        scores, true = np.concatenate(rows), np.concatenate(right)
        low, high = np.log(LEAST_SURE), np.log(1 / LEAST_SURE)

        def loss(log_sureness: float) -> float:
            sure = math.exp(log_sureness)
            return float((logsumexp(sure * scores, axis=1) - sure * true).mean())

        self.temperature_ = math.exp(-minimize_scalar(loss, bounds=(low, high), method="bounded").x)
        return self

    def _answers(self, asked: NDArray[np.int64], hidden: int) -> Iterator[NDArray[np.int64]]:
        """Give, for each triple, what answers it without its hidden end by a learned fact."""
        given = [part for part in range(3) if part != hidden]
        order = np.lexsort(self.facts_[:, given].T)
        keys, width = self.facts_[order][:, given[::-1]], np.int64(max(len(self.object_factors_), 1 << 20))
        listed, wanted = (pairs[:, 0] * width + pairs[:, 1] for pairs in (keys, asked[:, given[::-1]]))
        for low, high in zip(*(np.searchsorted(listed, wanted, side) for side in ("left", "right")), strict=True):
            yield self.facts_[order[low:high], hidden]

    def update(self, X: Facts | ArrayLike, *, max_iter: int = EPOCHS) -> Self:
        """Learn what new entities are, given all others and the relations, which stay as they are (fold-in).

        The questions that new entities take part in are descended as in :meth:`fit`, and as many others, which tell
        where they do not belong. New facts between entities that were there are known from now on, and change no
        vector.

        Parameters
        ----------
        X : Facts or array of int of shape (n, 3)
            New facts alone. Names that the model has not are new entities; of an array, numbers from as many as there
            are on.
        max_iter : int
            Epochs.

        Returns
        -------
        self
            With ``updated_``: how many facts and entities are new, and how many facts name no new entity.

        Raises
        ------
        InputError
            If there are no facts, they are malformed, or a relation was not learned.
        """
        check_is_fitted(self)
        check_int("max_iter", max_iter, low=1)
        n, K = len(self.object_factors_), self._relations_count()
        triples, entities = self._numbered_anew(X)
        size = max(n, int(triples[:, [0, 2]].max()) + 1)
        known = np.unique(np.concatenate([self.facts_, triples]), axis=0)
        fresh = (triples[:, [0, 2]] >= n).any(axis=1)
        self.updated_ = {
            "new_facts": len(known) - len(self.facts_),
            "new_entities": size - n,
            "of_known_entities": int((~fresh).sum()),
        }
        form, ends = FORMS[self.form]
        rng = np.random.default_rng(self.seed)
        vectors = [self.subject_factors_, self.object_factors_][: max(ends) + 1]
        rows = [SPREAD * rng.standard_normal((size - n, vectors[0].shape[1])).astype(np.float32) for _ in vectors]
        start = [np.concatenate(pair) for pair in zip(vectors, rows, strict=True)]
        self.facts_, self.entities_ = known, entities
        if size > n:
            asked = [_naming(part, n, rng) for part in questions(known, K, reciprocal=self.reciprocal)]
            plan = Plan(self.loss, self.penalty, self.strength, self.step, LARGEST, self.candidates)
            solver = descend_triples(
                form, [*start, *self.relation_factors_], asked, plan, ends=ends, rng=rng, threads=self._threads, fixed=n
            )
            self._place(self._keep(run(solver, max_iter=max_iter, tol=0.0, watch=self.watch)))
        return self

    def _numbered_anew(self, X: Facts | ArrayLike) -> tuple[NDArray[np.int64], list[str] | None]:
        """Give facts in the numbers of the model, and the names of all entities."""
        n, K = len(self.object_factors_), self._relations_count()
        if not isinstance(X, Facts):
            if self.entities_ is not None:
                raise InputError("the entities of this model have names; give facts by name")
            given = np.asarray(X)
            most = int(given.max(initial=0)) + 1 if given.dtype.kind in "iu" else n
            triples, names = checked_triples("facts", given, max(n, most), K), None
        else:
            if self.entities_ is None or self.relations_ is None:
                raise InputError("the entities of this model have numbers; give an array of facts")
            names = [*dict.fromkeys([*self.entities_, *X.entities])]
            number = {name: at for at, name in enumerate(names)}
            at = np.array([number[name] for name in X.entities], np.int64)
            if absent := [name for name in X.relations if name not in self.relations_]:
                raise InputError(f"the model has no relation {absent[0]!r}; train anew to learn of it")
            kinds = np.array([self.relations_.index(name) for name in X.relations], np.int64)
            triples = np.stack([at[X.triples[:, 0]], kinds[X.triples[:, 1]], at[X.triples[:, 2]]], axis=1)
        if not len(triples):
            raise InputError("there are no facts to learn from")
        return triples, names

    def search(
        self,
        X: Facts | ArrayLike,
        *,
        seed: int | None = 0,
        validation: Facts | ArrayLike | None = None,
        known: Facts | ArrayLike | None = None,
    ) -> Search:
        """Judge the penalty, its strength and the rank by facts to predict: by the logarithm of their ranks.

        They are those given for that, as for :meth:`fit`, or a tenth of the facts, of entities and relations that have
        others. Among those may be many that are true and not listed, which a good model names first: the logarithm is
        less noisy then than the reciprocal, and since both are too noisy to tell an epoch, all are made.
        """
        part: Any = X
        judged: Any = validation
        if validation is None:
            triples, *_ = learned_facts(X)
            out = held_out_facts(triples, held_out_share(len(triples)), seed=seed)
            part, judged = triples[~out], triples[out]
            if isinstance(X, Facts):
                part, judged = (replace(X, triples=some) for some in (part, judged))

        def losses(model: KnowledgeTensor) -> NDArray[np.float64]:
            ranks = model.evaluate(judged, known=known)
            return (np.log(ranks.objects) + np.log(ranks.subjects)) / 2

        return Search(
            values=VALUES if isinstance(FORMS[self.form][0], (Diagonal, Complex)) else OF_MATRICES,
            fit=lambda model: model.fit(part, validation=validation, known=known),
            last=lambda model: model.fit(X, validation=validation, known=known),
            losses=losses,
            units="facts",
            measure="geometric mean rank",
            figure=math.exp,
            whole=validation is not None,
        )

    def _place(self, factors: Factors) -> None:
        """Give factors their places."""
        subjects, objects = FORMS[self.form][1]
        self.subject_factors_, self.object_factors_ = factors[subjects], factors[objects]
        self.relation_factors_ = factors[max(subjects, objects) + 1 :]

    def _measure(
        self, validation: Any, known: Any, names: _Names, sizes: tuple[int, int], rng: np.random.Generator
    ) -> Callable[[Factors], float]:
        """Give the negative mean reciprocal rank of facts by factors."""
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

    def objects(self, subjects: Names, relations: Names) -> NDArray[Any]:
        """Give the scores of all entities as objects, shape (m, n), of m subjects and relations, by number or name.

        Raises
        ------
        InputError
            If one is unknown, or the lengths differ.
        """
        return self._ask(*_alike(self._ends("subject", subjects), self._kinds(relations)), backwards=False)

    def subjects(self, objects: Names, relations: Names) -> NDArray[Any]:
        """Give the scores of all entities as subjects, shape (m, n), of m objects and relations, likewise."""
        return self._ask(*_alike(self._ends("object", objects), self._kinds(relations)), backwards=True)

    def predict(self, subjects: Names, relations: Names, objects: Names) -> NDArray[np.float64]:
        """Give the scores of m triples, shape (m,).

        Where relations have reciprocals, a triple has two scores, one as its object is asked for and one as its subject
        is; this is their mean. Elsewhere they are the same.

        Raises
        ------
        InputError
            As in :meth:`objects`.
        """
        given = self._ends("subject", subjects), self._kinds(relations), self._ends("object", objects)
        return self._triples(*_alike(*given))

    def relations(self, subjects: Names, objects: Names) -> NDArray[np.float64]:
        """Give the scores of all relations, shape (m, K), between m subjects and objects; see :meth:`predict`."""
        s, o = _alike(self._ends("subject", subjects), self._ends("object", objects))
        K = self._relations_count()
        return self._triples(np.repeat(s, K), np.tile(np.arange(K), len(s)), np.repeat(o, K)).reshape(len(s), K)

    def explain(self, subject: int | str, relation: int | str, object: int | str, *, k: int = 10) -> Explanation:  # noqa: A002
        r"""Say which known facts a score rests on: those that would move it most if they were learned a little more.

        A small step along the gradient of the score of a fact g moves that of the fact f asked about by its length
        times their inner product; the part of g is that by what a step for f itself would do,

        .. math:: \frac{\kappa(f, g)}{\kappa(f, f)}, \qquad
                  \kappa(f, g) = \sum_\theta \frac{\partial m_f}{\partial \theta} \frac{\partial m_g}{\partial \theta}

        over all vectors and what is held of relations. Facts of the same object count by how alike their queries are,
        facts of the same relation by how alike both ends are. What is below 0 speaks against f. The parts add up to
        nothing.

        Parameters
        ----------
        subject, relation, object : int or str
            By number or name; the fact need not be known.
        k : int
            Parts, at most.

        Returns
        -------
        Explanation
            With the parts of known facts that share an entity or the relation, other than f, each named by its subject,
            relation and object.

        Raises
        ------
        InputError
            If one is unknown, or k is out of range.

        References
        ----------
        Charpiat, Girard, Felardos, Tarabalka (2019), Input similarity from the neural network perspective. Bhardwaj,
        Kelleher, Costabello, O'Sullivan (2021), Adversarial attacks on knowledge graph embeddings via instance
        attribution methods.

        Examples
        --------
        >>> from polyadic.text.relations.facts import facts_of
        >>> towns = {"Oslo": "Norway", "Bergen": "Norway", "Turin": "Italy", "Rome": "Italy"}
        >>> facts = facts_of([(town, "in", land) for town, land in towns.items()] + [("Rome", "near", "Turin")])
        >>> KnowledgeTensor(4, seed=0).fit(facts).explain("Oslo", "in", "Norway", k=1).parts[0][0]
        ('Bergen', 'in', 'Norway')
        """
        check_int("k", k, low=1)
        asked = *self._ends("subject", [subject]), *self._kinds([relation]), *self._ends("object", [object])
        fact = np.array([asked])
        touched = np.isin(self.facts_[:, [0, 2]], fact[0, [0, 2]]).any(axis=1) | (self.facts_[:, 1] == fact[0, 1])
        known = self.facts_[touched & (self.facts_ != fact).any(axis=1)]
        *moved, own = self._moved(fact, np.concatenate([known, fact]))
        parts = np.array(moved) / own if own else np.zeros(len(known))
        first = np.argsort(-np.abs(parts), kind="stable")[:k]
        E = self.entities_ or range(len(self.object_factors_))
        K = self.relations_ or range(self._relations_count())
        names = [(E[s], K[r], E[o]) for s, r, o in known[first].tolist()]
        value = float(self._triples(*fact.T)[0])
        return Explanation(value, math.nan, [*zip(names, parts[first].tolist(), strict=True)])

    def _moved(self, fact: NDArray[np.int64], facts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the inner products of the gradient of the score of a fact with those of the scores of others.

        A score is linear in each of its factors: the product is what it is with one of them replaced by the gradient.
        """
        form, K = FORMS[self.form][0], self._relations_count()
        A, B, R = self.subject_factors_, self.object_factors_, self.relation_factors_
        dA, dR = np.zeros_like(A), [np.zeros_like(x) for x in R]
        dB = dA if A is B else np.zeros_like(B)
        ways = [fact, fact[:, ::-1] + [0, K, 0]] if self.reciprocal else [fact]
        for s, r, o in (way.T for way in ways):
            q, pullback = form.query(A[s], r, R)
            da, dw = pullback(B[o])
            dA[s] += da / len(ways)
            dB[o] += q / len(ways)
            dR = [whole + part / len(ways) for whole, part in zip(dR, dw, strict=True)]
        others: list[tuple[str, Any]] = [("subject_factors_", dA), ("object_factors_", dB)]
        others += [("relation_factors_", [*R[:at], d, *R[at + 1 :]]) for at, d in enumerate(dR)]
        moved = np.zeros(len(facts))
        for name, factor in others:
            turned = copy(self)
            setattr(turned, name, factor)
            moved += turned.predict(*facts.T)
        return moved

    def evaluate(
        self,
        test: Facts | ArrayLike,
        *,
        known: Facts | ArrayLike | None = None,
        relations: bool = False,
        memory: int = MEMORY,
    ) -> Ranking:
        """Rank the true ends of facts among all entities, those of other known facts left out.

        Parameters
        ----------
        test : Facts or array of int of shape (m, 3)
        known : Facts or array of int of shape (f, 3), optional
            What is known to be true besides the facts that were learned and those of ``test``.
        relations : bool
            Whether to rank relations between both ends, too.
        memory : int
            See :func:`~polyadic.metrics.ranking.ranking`.

        Raises
        ------
        InputError
            If triples are malformed or name what the model does not.
        """
        names, sizes = (self.entities_, self.relations_), (len(self.object_factors_), self._relations_count())
        facts = triples_by("test", test, names=names, sizes=sizes)
        if seen := shared(facts, self.facts_):
            warnings.warn(f"{seen:,} of {len(facts):,} facts to predict were learned", SeenFactsWarning, stacklevel=2)
        more = [] if known is None else [triples_by("known", known, names=names, sizes=sizes)]
        true = np.concatenate([facts, *more])
        return self._rank(facts, true, relations=relations, memory=memory)

    def score(self, X: Facts | ArrayLike, y: object = None) -> float:
        """Give the mean reciprocal rank of the ends of facts, for tools that compare models.

        Facts of an entity or relation that was not learned, as divisions of facts may leave them, count as 0.

        Parameters
        ----------
        X : Facts, or array of int or of text, of shape (m, 3)
        """
        del y
        check_is_fitted(self)
        n, K = len(self.object_factors_), self._relations_count()
        X = by_name(X)
        if isinstance(X, Facts):
            if self.entities_ is None or self.relations_ is None:
                raise InputError("the entities of this model have numbers; give an array of facts")
            known = {"entities": self.entities_, "relations": self.relations_}
            facts = facts_of(X.named(), **known, unknown="skip").triples
            number = len(X.triples)
        else:
            given = np.asarray(X)
            number, facts = len(given), given[((given >= 0) & (given < [n, K, n])).all(axis=1)]
        if not len(facts):
            return 0.0
        return self._rank(facts, facts).mean_reciprocal_rank * len(facts) / number

    def _rank(
        self, facts: NDArray[np.int64], true: NDArray[np.int64], *, relations: bool = False, memory: int = MEMORY
    ) -> Ranking:
        return ranking(
            facts,
            np.concatenate([self.facts_, true]),
            entities=len(self.object_factors_),
            objects=lambda s, r: self._ask(s, r, backwards=False),
            subjects=lambda o, r: self._ask(o, r, backwards=True),
            relations=(self._relations_count(), self.relations) if relations else None,
            memory=memory,
        )

    def number_of(self, what: Literal["entity", "relation"], name: int | str) -> int:
        """Give the number of an entity or a relation.

        Raises
        ------
        InputError
            If there is none of that name.
        """
        return int((self._kinds([name]) if what == "relation" else self._ends(what, [name]))[0])

    def _relations_count(self) -> int:
        return len(self.relation_factors_[0]) // (2 if self.reciprocal else 1)

    def _ask(self, known: NDArray[np.int64], r: NDArray[np.int64], *, backwards: bool) -> NDArray[Any]:
        """Give the scores of all objects, or of all subjects, for what is known of triples."""
        q, sought = self._query(known, r, backwards=backwards)
        return np.asarray(q @ sought.T)

    def _query(
        self, known: NDArray[np.int64], r: NDArray[np.int64], *, backwards: bool
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Give queries and the vectors that they meet."""
        ends = self.subject_factors_, self.object_factors_
        if backwards and self.reciprocal:
            r, backwards = r + self._relations_count(), False
        given, sought = ends[::-1] if backwards else ends
        form, _ = FORMS[self.form]
        return form.query(given[known], r, self.relation_factors_, backwards=backwards)[0], sought

    def _triples(self, s: NDArray[np.int64], r: NDArray[np.int64], o: NDArray[np.int64]) -> NDArray[np.float64]:
        scores = np.empty(len(s))
        for low in range(0, len(s), BLOCK):
            part = slice(low, low + BLOCK)
            q, sought = self._query(s[part], r[part], backwards=False)
            scores[part] = (q * sought[o[part]]).sum(axis=1)
            if self.reciprocal:
                q, sought = self._query(o[part], r[part], backwards=True)
                scores[part] = (scores[part] + (q * sought[s[part]]).sum(axis=1)) / 2
        return scores

    def _ends(self, what: str, given: Names) -> NDArray[np.int64]:
        return _numbered(what, given, self.entities_, len(self.object_factors_))

    def _kinds(self, given: Names) -> NDArray[np.int64]:
        return _numbered("relation", given, self.relations_, self._relations_count())


def by_name(X: Facts | ArrayLike) -> Any:
    """Make facts of an array of names, shape (n, 3); leave others as they are."""
    if isinstance(X, Facts):
        return X
    given = np.asarray(X)
    return facts_of([tuple(row) for row in given.tolist()]) if given.dtype.kind in "UO" and given.ndim == 2 else given


def learned_facts(X: Facts | ArrayLike) -> tuple[NDArray[np.int64], int, int]:
    """Give triples, each once, how many entities there are, and how many relations.

    Raises
    ------
    InputError
        If there are none, or they are malformed.
    """
    if isinstance(X, Facts):
        triples, sizes = X.triples, (len(X.entities), len(X.relations))
    else:
        given = np.asarray(X)
        if given.ndim != 2 or given.shape[1] != 3 or given.dtype.kind not in "iu":
            raise InputError(f"facts must be whole numbers of shape (n, 3); got {given.dtype} of shape {given.shape}")
        given = given.astype(np.int64)
        sizes = (int(given[:, [0, 2]].max(initial=-1)) + 1, int(given[:, 1].max(initial=-1)) + 1)
        triples = checked_triples("facts", given, *sizes)
    if not len(triples):
        raise InputError("there are no facts to learn from")
    if sizes[0] < 2:
        raise InputError("all facts are about one entity; there is nothing to tell it from")
    empty = np.setdiff1d(np.arange(sizes[1]), triples[:, 1])
    if len(empty):
        name = repr(X.relations[empty[0]]) if isinstance(X, Facts) else empty[0]
        warnings.warn(
            f"{len(empty)} of {sizes[1]} relations have no fact to learn from, such as {name}; their scores"
            " mean nothing",
            EmptyRelationWarning,
            stacklevel=3,
        )
    return np.unique(triples, axis=0), *sizes


def start_of(form: str, n: int, K: int, *, rank: int, relation_rank: int | None, rng: np.random.Generator) -> Factors:
    """Give small random factors of entities, then what the form holds of relations.

    Matrices start symmetric and neither small nor large: who is a subject of what may be its object, until facts deny.
    """
    kind, ends = FORMS[form]
    vectors = [SPREAD * rng.standard_normal((n, kind.width(rank))) for _ in range(max(ends) + 1)]
    R = [rng.standard_normal(shape) for shape in kind.shapes(rank, K, relation_rank or rank)]
    matrices = R[-1].ndim > 2
    R = [(x + x.swapaxes(1, 2) if x.ndim > 2 else x) * ((2 * x.shape[-1]) ** -0.5 if matrices else SPREAD) for x in R]
    return [x.astype(np.float32) for x in (*vectors, *R)]


def questions(triples: NDArray[np.int64], K: int, *, reciprocal: bool) -> list[Questions]:
    """Ask for the objects and the subjects of facts; by a reciprocal relation, ``r + K``, both are objects."""
    if reciprocal:
        return [questions_of(np.concatenate([triples, triples[:, ::-1] + [0, K, 0]]))]
    return [questions_of(triples), questions_of(triples, backwards=True)]


def _naming(asked: Questions, first: int, rng: np.random.Generator) -> Questions:
    """Give the questions that entities from ``first`` on take part in, known or as an answer, and as many others.

    Without others new entities come too early where they do not belong.
    """
    answered = np.add.reduceat(asked.answers >= first, asked.starts[:-1]) > 0
    naming = answered | (asked.known >= first)
    others = rng.permutation(np.flatnonzero(~naming))[: naming.sum()]
    return asked.take(np.concatenate([np.flatnonzero(naming), others]))


def _numbered(what: str, given: Names, names: list[str] | None, size: int) -> NDArray[np.int64]:
    """Give the numbers of names, or of numbers if they are in range."""
    array = as_names(given)
    by_name = names is not None and array is not None and array.dtype.kind == "U"
    return numbers_of(what, given, known=np.array(names) if by_name else None, size=size)


def _alike(*columns: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    if len({len(column) for column in columns}) > 1:
        raise InputError(f"give as many of each part of a triple; got {' and '.join(str(len(c)) for c in columns)}")
    return columns


class Completed(NamedTuple):
    """An entity or a relation that may complete a fact, and the score of that fact.

    Attributes
    ----------
    name : int or str
    score : float
    probability : float or None
        That one more answer is this entity, of a model that is calibrated.
    """

    name: int | str
    score: float
    probability: float | None = None


def complete(
    model: KnowledgeTensor,
    *,
    subject: int | str | None = None,
    relation: int | str | None = None,
    object: int | str | None = None,  # noqa: A002 the field's word
    k: int = 10,
    known: bool = False,
) -> list[Completed]:
    """Give the k best of what is left out of a triple, best first.

    Parameters
    ----------
    model : KnowledgeTensor
        A fitted one.
    subject, relation, object : int or str, optional
        Two of the three, by number or name.
    k : int
    known : bool
        Whether to give what makes a fact that was learned, too.

    Raises
    ------
    InputError
        If not exactly one is left out, or one is unknown.

    Examples
    --------
    >>> from polyadic.text.relations.facts import facts_of
    >>> towns = {"Oslo": "Norway", "Bergen": "Norway", "Turin": "Italy", "Rome": "Italy"}
    >>> facts = [(town, "in", land) for town, land in towns.items()]
    >>> facts += [("Oslo", "near", "Bergen"), ("Turin", "near", "Rome")]
    >>> model = KnowledgeTensor(4, form="DistMult", seed=0).fit(facts_of(facts))
    >>> [entity.name for entity in complete(model, relation="in", object="Norway", k=2, known=True)]
    ['Oslo', 'Bergen']
    """
    parts: list[Any] = [subject, relation, object]
    if parts.count(None) != 1:
        raise InputError("give two of subject, relation and object; the third is what is completed")
    check_int("k", k, low=1)
    hidden = parts.index(None)
    ask: Any = (model.subjects, model.relations, model.objects)[hidden]
    first, second = (object, relation) if hidden == 0 else (part for part in parts if part is not None)
    scores = ask([first], [second])[0].astype(float)
    others = scores.copy()
    others[_learned(model, parts, hidden)] = -np.inf
    chances: list[float | None] = [None] * len(scores)
    if hidden != 1 and np.isfinite(model.temperature_) and np.isfinite(others).any():
        chances = softmax(others / model.temperature_).tolist()
    scores = scores if known else others
    names = model.relations_ if hidden == 1 else model.entities_
    order = [at for at in np.argsort(-scores, kind="stable")[:k].tolist() if scores[at] > -np.inf]
    return [Completed(names[at] if names else at, float(scores[at]), chances[at]) for at in order]


def _learned(model: KnowledgeTensor, parts: list[Any], hidden: int) -> Any:
    """Give what completes the facts that were learned."""
    same = np.ones(len(model.facts_), bool)
    for at, name in enumerate(parts):
        if at != hidden:
            same &= model.facts_[:, at] == model.number_of(("entity", "relation", "entity")[at], name)
    return model.facts_[same, hidden]
