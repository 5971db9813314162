r"""Tensor models of knowledge: vectors of entities and relations from facts, by the completion of questions.

Stochastic descent for scores of triples: every question is put to all entities, or to a sample that is weighed.

The facts that share a known end and a relation ask one question, :math:`(s, r, ?)`, with answers :math:`T`; the
scores of all candidates for it are one row of a product of two matrices. One of two losses is summed over questions,

.. math:: |T| \log \sum_o e^{m_o} - \sum_{o \in T} m_o \qquad \text{or} \qquad
          \sum_o \log(1 + e^{m_o}) - \sum_{o \in T} m_o .

The first is the cross entropy of each fact by itself, added up: with the facts of a question together it costs one row
of scores, not :math:`|T|`. For FB15k-237 that is 3.6 times less, for the same gradient.

Candidates may be a sample. Those that a batch names are then all present, and :math:`c` others, drawn from the
remaining :math:`n`, count :math:`n / c` each, so that sums over candidates are right in expectation.

References
----------
Lacroix, Usunier, Obozinski (2018), Canonical tensor decomposition for knowledge base completion, sections 4 (N3) and 5
(each relation and its reciprocal; cross entropy; Adagrad). Dettmers, Minervini, Stenetorp, Riedel (2018), Convolutional
2D knowledge graph embeddings, section 3 (one question to all entities). Zhang, Cai, Wang (2020), Duality-induced
regularizer for tensor factorization based knowledge graph completion, equation 8. Duchi, Hazan, Singer (2011), Adaptive
subgradient methods.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import KW_ONLY, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, get_args

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.core.errors import InputError, check_choice, check_int, check_number
from polyadic.core.explanation import Explanation
from polyadic.core.kernels import adagrad_step, add_rows, logistic_rows, softmax_rows, summed_rows
from polyadic.core.model import Amount, Callback, Count, Positive, Seed, Threads
from polyadic.core.progress import bar
from polyadic.core.resources import MAX_THREADS, cores
from polyadic.core.selection import SearchSpace, held_out_share
from polyadic.core.solvers.run import Sweep, run
from polyadic.relations.bilinear import Complex, Core, Diagonal, Slices
from polyadic.relations.facts import Facts, checked_triples, held_out_facts, shared, triples_by
from polyadic.relations.link_prediction import LinkPredictor, by_name, learned_facts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from polyadic.core.forms import Factors
    from polyadic.relations.bilinear import Bilinear

    _Names = tuple[list[str] | None, list[str] | None]
    from collections.abc import Iterator, Sequence

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


class KnowledgeTensor(LinkPredictor):
    r"""Scores of triples that put the entities which complete a fact above all others.

    .. math:: \min \sum_{(s, r, o)} \Big(\log \sum_{o'} e^{m_{sro'}} - m_{sro}
              + \log \sum_{s'} e^{m_{s'ro}} - m_{sro} + 2 \lambda\, \Omega_{sro}\Big),
              \qquad m_{sro} = a_s^\top M_r\, b_o

    with :math:`M_r` of one of :mod:`polyadic.relations.bilinear`, by
    :func:`~polyadic.relations.knowledge.descend_triples`.

    Parameters
    ----------
    rank : int
        Length of the vectors of entities; complex numbers in ComplEx.
    form : {"ComplEx", "CP", "DistMult", "RESCAL", "Tucker2", "TuckER", "Tucker3"}
        See :mod:`polyadic.relations.bilinear`.
    relation_rank : int, optional
        Slices of the core of TuckER and Tucker 3; as ``rank`` by default.
    reciprocal : bool
        Whether subjects are asked for by a relation of their own, the reciprocal, not by the same read backwards.
    loss : {"softmax", "logistic"}
    penalty : {"N3", "L2", "DURA"}
        :math:`\Omega`; N3 suits diagonal forms and ComplEx, DURA those with matrices. See
        :class:`~polyadic.relations.knowledge.Plan`.
    strength : float
        :math:`\lambda`.
    step : float
        Of Adagrad.
    batch : int, optional
        Questions of a step; by default 500, and fewer where an epoch would have less than 50 steps.
    candidates : int, optional
        Entities drawn as candidates beside those that a batch names; all by default.
    max_iter, tol
        See :func:`~polyadic.core.solvers.run.run`; a sweep is an epoch. With a validation part the epochs end when
        its rank has not risen for five.
    seed : int, optional
    threads : int, optional
    callback : callable, optional
        Called with the :class:`~polyadic.core.solvers.run.Result` so far after each epoch.

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
        As those of :class:`~polyadic.core.model.Model`; the objective is that of a fact, as a mean.

    References
    ----------
    Lacroix, Usunier, Obozinski (2018), Canonical tensor decomposition for knowledge base completion, and those of
    :mod:`polyadic.relations.bilinear`.

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
    callback: Callback = None

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
        self._place(
            self._keep(run(solver, max_iter=self.max_iter, tol=self.tol, callback=self.callback, measure=measure))
        )
        self.temperature_ = math.nan
        if validation is not None:
            judged = triples_by("validation", validation, names=names, sizes=(n, K))
            if shared(judged, triples) < len(judged):
                self.calibrate(validation)
        return self

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
            self._place(self._keep(run(solver, max_iter=max_iter, tol=0.0, callback=self.callback)))
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
    ) -> SearchSpace:
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

        return SearchSpace(
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
        >>> from polyadic.relations.facts import facts_of
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

    def _entities_count(self) -> int:
        return len(self.object_factors_)

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


TripleLoss = Literal["softmax", "logistic"]
LOSSES = {"softmax": softmax_rows, "logistic": logistic_rows}
Penalty = Literal["N3", "L2", "DURA"]
EPS = 1e-10
"""Keeps the first step of an element whose gradient is zero finite."""


class Questions(NamedTuple):
    """Facts by what they share: a known end and a relation.

    Attributes
    ----------
    known, relations : ndarray of shape (q,)
    starts : ndarray of shape (q + 1,)
        Question ``i`` has the answers ``answers[starts[i]:starts[i + 1]]``.
    answers : ndarray of shape (facts,)
    backwards : bool
        Whether objects are known and subjects asked for.
    """

    known: NDArray[np.int64]
    relations: NDArray[np.int64]
    starts: NDArray[np.int64]
    answers: NDArray[np.int64]
    backwards: bool

    def take(self, which: NDArray[Any]) -> Questions:
        """Give some of the questions, in that order."""
        count = np.diff(self.starts)[which]
        starts = np.concatenate([[0], np.cumsum(count)])
        places = np.repeat(self.starts[which] - starts[:-1], count) + np.arange(starts[-1])
        return Questions(self.known[which], self.relations[which], starts, self.answers[places], self.backwards)


def questions_of(facts: NDArray[np.int64], *, backwards: bool = False) -> Questions:
    """Group facts, shape (n, 3), subject, relation and object; each counts once, however often it is listed.

    Examples
    --------
    >>> asked = questions_of(np.array([[0, 0, 2], [1, 0, 2], [0, 0, 1]]))
    >>> asked.known.tolist(), asked.starts.tolist(), asked.answers.tolist()
    ([0, 1], [0, 2, 3], [1, 2, 2])
    """
    rows = np.unique(facts[:, [2, 1, 0]] if backwards else facts, axis=0)
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
    starts = np.append(np.flatnonzero(new), len(rows))
    return Questions(rows[new, 0], rows[new, 1], starts, rows[:, 2].copy(), backwards)


class Plan(NamedTuple):
    r"""How triples are fitted.

    Attributes
    ----------
    loss : {"softmax", "logistic"}
    penalty : {"N3", "L2", "DURA"}
        Of each fact: the cubes of the moduli of its three vectors; their squares; or the squares of the query and of
        the vector that answers it.
    strength : float
        :math:`\lambda` before it.
    step : float
        Of Adagrad: how far an element moves at first; of an n x n matrix, :math:`n^{-1/2}` of it.
    batch : int
        Questions of a step.
    candidates : int or None
        How many are drawn beside those that a batch names; all if None.
    """

    loss: TripleLoss = "softmax"
    penalty: Penalty = "N3"
    strength: float = 0.05
    step: float = 0.1
    batch: int = 500
    candidates: int | None = None

    def check(self) -> None:
        """Refuse what is out of range, by an InputError."""
        check_choice("loss", self.loss, get_args(TripleLoss))
        check_choice("penalty", self.penalty, get_args(Penalty))
        check_number("strength", self.strength)
        check_number("step", self.step, above=True)
        check_int("batch", self.batch, low=1)
        if self.candidates is not None:
            check_int("candidates", self.candidates, low=1)


def descend_triples(
    form: Bilinear,
    start: Factors,
    questions: Sequence[Questions],
    plan: Plan,
    *,
    ends: tuple[int, int],
    rng: np.random.Generator,
    threads: int | None = None,
    fixed: int = 0,
) -> Iterator[Sweep]:
    """Descend the loss and the penalty of all questions, in random batches.

    Parameters
    ----------
    form : Bilinear
    start : list of ndarray
        Factors of entities, of shape (n, width) each, then what the form holds of relations. Not changed.
    questions : sequence of Questions
        An epoch goes once through all of each.
    plan : Plan
    ends : (int, int)
        Which factor is that of subjects, and which that of objects.
    rng : numpy.random.Generator
    threads : int, optional
        Of what is done between products of matrices; all cores by default. Products take those of the BLAS.
    fixed : int
        Entities, the first, that stay as they are, and with them, if there are any, the relations.

    Yields
    ------
    Sweep
        After each epoch, the factors, and the objective of a fact, the mean over the epoch while they moved; at the
        start that of the first batch.

    Raises
    ------
    InputError
        If a number of the plan, or ``threads``, is out of range.
    """
    plan.check()
    threads = cores() if threads is None else check_int("threads", threads, low=1, high=MAX_THREADS)
    descent = _Descent(form, start, plan, ends, rng, threads, fixed)
    first = next(_batches(questions, plan.batch, rng))
    yield Sweep([x.copy() for x in descent.factors], descent.step(first, move=False) / len(first.answers))
    facts = sum(len(asked.answers) for asked in questions)
    while True:
        total = 0.0
        with bar("facts", facts) as advance:
            for batch in _batches(questions, plan.batch, rng):
                total += descent.step(batch)
                advance(len(batch.answers))
        yield Sweep([x.copy() for x in descent.factors], total / facts)


def _batches(questions: Sequence[Questions], batch: int, rng: np.random.Generator) -> Iterator[Questions]:
    """Give random batches of one direction each, the directions mixed."""
    parts: list[tuple[Questions, NDArray[Any]]] = []
    for asked in questions:
        order = rng.permutation(len(asked.known))
        parts += [(asked, order[low : low + batch]) for low in range(0, len(order), batch)]
    for k in rng.permutation(len(parts)).tolist():
        yield parts[k][0].take(parts[k][1])


class _Descent:
    """Factors as they move, and the squares of gradients that Adagrad remembers."""

    def __init__(
        self,
        form: Bilinear,
        start: Factors,
        plan: Plan,
        ends: tuple[int, int],
        rng: np.random.Generator,
        threads: int,
        fixed: int,
    ) -> None:
        self.form, self.plan, self.ends, self.rng, self.threads, self.fixed = form, plan, ends, rng, threads, fixed
        self.factors = [np.array(x, np.float32) for x in start]
        self.squares = [np.zeros_like(x) for x in self.factors]
        self.first = max(ends) + 1  # of what belongs to relations
        self.power = 3 if plan.penalty == "N3" else 2

    def step(self, asked: Questions, *, move: bool = True) -> float:
        """Give the objective of questions, and move."""
        given, sought = self.ends[::-1] if asked.backwards else self.ends
        A, B = self.factors[given], self.factors[sought]
        columns, weights = self._candidates(asked, B, tied=given == sought)
        place = np.empty(len(B), np.int64)
        place[columns] = np.arange(len(columns))
        answers, count = place[asked.answers], np.diff(asked.starts).astype(np.float32)
        b = B if len(columns) == len(B) else B[columns]
        kinds, r = np.unique(asked.relations, return_inverse=True)  # no other relation moves
        a, R = A[asked.known], [self.factors[self.first][kinds], *self.factors[self.first + 1 :]]
        q, pullback = self.form.query(a, r, R, backwards=asked.backwards)
        S = q @ b.T
        value = LOSSES[self.plan.loss](S, starts=asked.starts, answers=answers, weights=weights, threads=self.threads)
        db, dq = S.T @ q, S @ b
        said = np.bincount(answers, minlength=len(b)).astype(np.float32)
        value += self._penalise(b, said, db, self.form.blocks)
        if self.plan.penalty == "DURA":
            value += self._penalise(q, count, dq, self.form.blocks)
        da, dR = pullback(dq)
        if self.plan.penalty != "DURA":
            value += self._penalise(a, count, da, self.form.blocks)
            value += self._penalise_relations(R, r, count, dR)
        if move:
            scale = np.float32(1 / len(answers))
            rows, da = _summed(asked.known, da)
            if given == sought:
                add_rows(place[rows], da, db)
            else:
                self._move(given, da * scale, rows)
            self._move(sought, db * scale, columns)
            for k, gradient in enumerate(dR, self.first):
                self._move(k, gradient * scale, kinds if k == self.first else np.arange(len(gradient)))
        return value

    def _candidates(
        self, asked: Questions, B: NDArray[Any], *, tied: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
        """Give entities that are candidates, and how many each stands for; known ends, if they share a factor, too."""
        named = np.unique(np.concatenate([asked.answers, asked.known]) if tied else asked.answers)
        drawn, rest = self.plan.candidates, len(B) - len(named)
        if drawn is None or drawn >= rest:
            return np.arange(len(B)), None
        absent = np.ones(len(B), bool)
        absent[named] = False
        more = self.rng.choice(np.flatnonzero(absent), drawn, replace=False, shuffle=False)
        return np.concatenate([named, more]), np.repeat([1.0, rest / drawn], [len(named), drawn])

    def _penalise(self, x: NDArray[Any], weights: NDArray[Any], gradient: NDArray[Any], blocks: int) -> float:
        """Add the gradient of the penalty of rows, each ``weights`` times, and give its value."""
        strength = np.float32(self.plan.strength)
        if self.power == 2:
            gradient += (2 * strength) * weights[:, None] * x
            return float(strength * (weights @ (x**2).sum(axis=1)))
        parts = x.reshape(len(x), blocks, -1)
        modulus = np.sqrt((parts**2).sum(axis=1)) if blocks > 1 else np.abs(x)
        gradient += (3 * strength) * weights[:, None] * (modulus[:, None] * parts).reshape(x.shape)
        return float(strength * (weights @ (modulus**3).sum(axis=1)))

    def _penalise_relations(
        self, R: list[NDArray[Any]], r: NDArray[Any], count: NDArray[Any], dR: list[NDArray[Any]]
    ) -> float:
        """Penalise what is known of relations as often as facts have them, and what all share by every fact."""
        rows = np.bincount(r, weights=count, minlength=len(R[0])).astype(np.float32)
        value = 0.0
        for k, (x, gradient) in enumerate(zip(R, dR, strict=True)):
            weights = rows if k == 0 else np.full(len(x), count.sum(), np.float32)
            value += self._penalise(x.reshape(len(x), -1), weights, gradient.reshape(len(x), -1), self.form.blocks)
        return value

    def _move(self, k: int, gradient: NDArray[Any], rows: NDArray[Any]) -> None:
        if self.fixed:
            if k >= self.first:
                return
            gradient, rows = gradient[rows >= self.fixed], rows[rows >= self.fixed]
        x, h = (array.reshape(len(array), -1) for array in (self.factors[k], self.squares[k]))
        g = gradient.reshape(len(gradient), -1)
        # The elements of a matrix move together: as far as one of a vector each, they would soon outweigh its start.
        step = self.plan.step / np.sqrt(gradient.shape[-1] if gradient.ndim > 2 else 1)
        adagrad_step(x, h, g, rows=rows, step=step, eps=EPS, threads=self.threads)


def _summed(index: NDArray[Any], rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Add up the rows of the same index."""
    names, which = np.unique(index, return_inverse=True)
    return names, summed_rows(which, rows, len(names))
