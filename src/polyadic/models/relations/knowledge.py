"""Tensor models of knowledge: vectors of entities and relations from facts, by the completion of questions."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import KW_ONLY, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.bilinear import Complex, Core, Diagonal, Slices
from polyadic.errors import InputError, check_int
from polyadic.models.base import Amount, Count, Positive, Seed, Threads, Watch
from polyadic.models.chosen import Search, held_out_share
from polyadic.models.explaining import Explanation
from polyadic.models.relations.link_prediction import LinkPredictor, by_name, learned_facts
from polyadic.solvers.relations.triples import Penalty, Plan, Questions, TripleLoss, descend_triples, questions_of
from polyadic.solvers.run import run
from polyadic.text.relations.facts import Facts, checked_triples, held_out_facts, shared, triples_by

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from polyadic.bilinear import Bilinear
    from polyadic.forms import Factors

    _Names = tuple[list[str] | None, list[str] | None]

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
