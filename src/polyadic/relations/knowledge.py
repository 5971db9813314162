r"""Tensor factorization of knowledge graphs: embeddings of entities and relations for link prediction.

Stochastic gradient descent on scores of triples: every question is scored against all entities (1-vs-all), or against
sampled negatives with importance weights.

Triples that share a known end and a relation form one question, :math:`(s, r, ?)`, with answers :math:`T`. The scores
of all candidates are one row of a matrix product. One of two losses is summed over questions,

.. math:: |T| \log \sum_o e^{m_o} - \sum_{o \in T} m_o \qquad \text{or} \qquad
          \sum_o \log(1 + e^{m_o}) - \sum_{o \in T} m_o .

The first is the cross entropy of each triple, summed: grouping the triples of a question costs one row of scores
instead of :math:`|T|`. With sampled negatives, the candidates are all entities named in a batch, and :math:`c` of the
remaining :math:`n`, of weight :math:`n / c` each, so that sums over candidates are unbiased.

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
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.errors import InputError, check_int, meant
from polyadic.core.explanation import Explanation
from polyadic.core.kernels import adagrad_step, add_rows, logistic_rows, softmax_rows, summed_rows
from polyadic.core.model import Amount, Callback, Count, Positive, Seed, Threads
from polyadic.core.progress import bar
from polyadic.core.selection import SearchSpace, held_out_share
from polyadic.core.solvers.run import Sweep, run
from polyadic.relations.bilinear import Bilinear, Complex, Diagonal, Slices, TuckerCore
from polyadic.relations.facts import Facts, by_name, checked_triples, facts_of, held_out_facts, shared, triples_by
from polyadic.relations.link_prediction import LinkPredictor, Triples, check_named, learned_facts

if TYPE_CHECKING:
    from polyadic.core.forms import Factors

    _Names = tuple[list[str] | None, list[str] | None]

Form = Literal["CP", "DistMult", "ComplEx", "RESCAL", "Tucker2", "TuckER", "Tucker3"]
FORMS: dict[str, tuple[Bilinear, tuple[int, int]]] = {
    "CP": (Diagonal(), (0, 1)),
    "DistMult": (Diagonal(), (0, 0)),
    "ComplEx": (Complex(), (0, 0)),
    "RESCAL": (Slices(), (0, 0)),
    "Tucker2": (Slices(), (0, 1)),
    "TuckER": (TuckerCore(), (0, 0)),
    "Tucker3": (TuckerCore(), (0, 1)),
}
"""Bilinear form of each model, and the numbers of the subject and the object factor."""
EPOCHS = 20  # default number of epochs for new entities: fewer separate them too little, more give no gain (CoDEx-S)
SPREAD = 1e-3  # standard deviation of initial vectors. Adagrad's first step has the same length for any
STEPS, MAX_BATCH, MAX_VALIDATION = 50, 500, 2000
"""Minimum number of steps per epoch, maximum default batch size, and maximum number of triples for validation."""
BLOCK = 1 << 16  # number of triples scored together
VALUES = {
    "strength": (1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005),
    "rank": (12, 25, 50, 100, 200, 400),
}
"""Values that model selection compares."""
MATRIX_VALUES = {"strength": VALUES["strength"], "penalty": ("N3", "DURA"), "reciprocal": (True, False)} | VALUES
"""Values for forms with relation matrices, where no penalty or use of reciprocals is best on all data sets.

The strength comes first, since penalties cannot be compared at a wrong strength.
"""


class KnowledgeTensor(LinkPredictor):
    r"""Tensor factorization of a knowledge graph for link prediction.

    .. math:: \min \sum_{(s, r, o)} \Big(\log \sum_{o'} e^{m_{sro'}} - m_{sro}
              + \log \sum_{s'} e^{m_{s'ro}} - m_{sro} + 2 \lambda\, \Omega_{sro}\Big),
              \qquad m_{sro} = a_s^\top M_r\, b_o

    The score :math:`m_{sro}` of a triple has one of the forms of :mod:`polyadic.relations.bilinear`. The loss ranks the
    entities that complete a triple above all others; it is minimized by Adagrad
    (:func:`~polyadic.relations.knowledge.descend_triples`).

    Parameters
    ----------
    rank : int
        Dimension of the entity vectors; for ComplEx, the number of complex elements.
    form : {"ComplEx", "CP", "DistMult", "RESCAL", "Tucker2", "TuckER", "Tucker3"}
        Form of the scores; see :mod:`polyadic.relations.bilinear`.
    relation_rank : int, optional
        Number of core slices of TuckER and Tucker 3; ``rank`` by default.
    reciprocal : bool
        Whether to learn a reciprocal of each relation for subject queries; if not, the relation itself is inverted.
    loss : {"softmax", "logistic"}
        Loss of a query: cross entropy over all candidate entities (softmax), or binary cross entropy of each
        (logistic).
    penalty : {"N3", "L2", "DURA"}
        Regularizer :math:`\Omega`; N3 suits diagonal forms and ComplEx, DURA suits forms with matrices. See
        :class:`~polyadic.relations.knowledge.DescentSettings`.
    strength : float
        Regularization strength :math:`\lambda`.
    learning_rate : float
        Initial learning rate of Adagrad.
    batch : int, optional
        Number of queries per batch; by default 500, or fewer so that an epoch has at least 50 steps.
    n_negatives : int, optional
        Number of sampled negative entities per batch, in addition to the entities named in it; by default all entities
        are candidates.
    max_iter : int
        Maximum number of epochs. With a validation set, the fit stops when its mean reciprocal rank has not improved
        for five epochs.

    Attributes
    ----------
    subject_factors_, object_factors_ : ndarray of shape (n, width)
        Entity vectors as subjects and as objects; one shared array in forms with a single factor.
    relation_factors_ : list of ndarray
        Relation parameters of the form; reciprocals follow all relations.
    entities_, relations_ : list of str or None
        Names by number; None if the facts had no names.
    facts_ : ndarray of shape (m, 3)
        Training triples.
    temperature_ : float
        Temperature of :meth:`calibrate`, fitted on the validation set; NaN without one.
    updated_ : dict
        Numbers of new triples, of new entities, and of triples without a new entity in the last :meth:`update`.
    result_, history_, n_iter_, converged_, interrupted_
        See :class:`~polyadic.core.model.Model`; the objective is a mean per triple.

    References
    ----------
    Those of :mod:`polyadic.relations.knowledge` and :mod:`polyadic.relations.bilinear`.

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
    learning_rate: Positive = 0.1
    batch: Count | None = None
    n_negatives: Count | None = None
    max_iter: Count = 50
    tol: Amount = 0.0
    seed: Seed = None
    threads: Threads = None
    callback: Callback = None

    def fit(
        self, X: Triples, y: object = None, *, validation: Triples | None = None, known: Triples | None = None
    ) -> Self:
        """Fit the model to the triples of a knowledge graph.

        InputError is raised if there are no training or validation triples, they are malformed, or a parameter is out
        of range.

        Parameters
        ----------
        X : Facts, or array of int or of text, of shape (n, 3)
            Subject, relation and object of each triple; duplicates count once. Numbers of an array go from 0 to the
            largest.
        validation : Facts or array of int of shape (m, 3), optional
            Validation triples: the epoch with the best mean reciprocal rank of at most 2,000 of them is kept, and
            scores are calibrated on them.
        known : Facts or array of int of shape (f, 3), optional
            Other true triples, which the ranks of validation triples are filtered by.
        """
        self.check()
        X = by_name(X)
        triples, n, K = learned_facts(X)
        rng = np.random.default_rng(self.seed)
        both = K * (2 if self.reciprocal else 1)
        start = start_of(self.form, n, both, rank=self.rank, relation_rank=self.relation_rank, rng=rng)
        asked = questions(triples, K, reciprocal=self.reciprocal)
        fewest = max(1, min(MAX_BATCH, sum(len(part.known) for part in asked) // STEPS))
        batch = fewest if self.batch is None else self.batch
        names: _Names = (X.entities, X.relations) if isinstance(X, Facts) else (None, None)
        measure = None if validation is None else self._measure(validation, known, names, (n, K), rng)
        self.facts_, (self.entities_, self.relations_) = triples, names
        self._place(self._optimize(self._descent(start, asked, batch, rng), measure=measure))
        self.temperature_ = math.nan
        if validation is not None:
            judged = triples_by("validation", validation, names=names, sizes=(n, K))
            if shared(judged, triples) < len(judged):
                self.calibrate(validation)
        return self

    def update(self, X: Triples, *, max_iter: int = EPOCHS) -> Self:
        """Learn vectors of new entities with all other parameters fixed (fold-in).

        Training is as in :meth:`fit`, on the questions with new entities and as many others, which serve as negatives.
        New triples between known entities are added to the known triples, but change no vector. ``X`` has new triples
        only. Unknown names are new entities; in an array, so are numbers from the number of entities on. InputError is
        raised if there are no triples, they are malformed, or a relation is unknown.
        """
        check_is_fitted(self)
        check_int("max_iter", max_iter, low=1)
        n, K = self._sizes
        triples, entities = self._numbered_anew(X)
        size = max(n, int(triples[:, [0, 2]].max()) + 1)
        known = np.unique(np.concatenate([self.facts_, triples]), axis=0)
        fresh = (triples[:, [0, 2]] >= n).any(axis=1)
        self.updated_ = {"new_facts": len(known) - len(self.facts_), "new_entities": size - n}
        self.updated_["of_known_entities"] = int((~fresh).sum())
        rng = np.random.default_rng(self.seed)
        vectors = [self.subject_factors_, self.object_factors_][: max(FORMS[self.form][1]) + 1]
        rows = [SPREAD * rng.standard_normal((size - n, vectors[0].shape[1])).astype(np.float32) for _ in vectors]
        start = [np.concatenate(pair) for pair in zip(vectors, rows, strict=True)]
        self.facts_, self.entities_ = known, entities
        if size > n:
            asked = [_naming(part, n, rng) for part in questions(known, K, reciprocal=self.reciprocal)]
            solver = self._descent([*start, *self.relation_factors_], asked, MAX_BATCH, rng, fixed=n)
            self._place(self._keep(run(solver, max_iter=max_iter, tol=0.0, callback=self.callback)))
        return self

    def _descent(
        self, start: Factors, asked: list[Questions], batch: int, rng: np.random.Generator, *, fixed: int = 0
    ) -> Iterator[Sweep]:
        plan = DescentSettings(self.loss, self.penalty, self.strength, self.learning_rate, batch, self.n_negatives)
        form, ends = FORMS[self.form]
        return descend_triples(form, start, asked, plan, ends=ends, rng=rng, threads=self._threads, fixed=fixed)

    def _numbered_anew(self, X: Triples) -> tuple[Ints, list[str] | None]:
        """Return new triples as integer ids, and the names of all known and new entities."""
        n, K = self._sizes
        X = by_name(X)
        if not isinstance(X, Facts):
            if self.entities_ is not None:
                raise InputError("this model identifies entities by name; pass facts with names instead of integer ids")
            given = np.asarray(X)
            most = int(given.max(initial=0)) + 1 if given.dtype.kind in "iu" else n
            triples, names = checked_triples("facts", given, max(n, most), K), None
        else:
            check_named(self.entities_)
            assert self.entities_ is not None
            assert self.relations_ is not None
            names = [*dict.fromkeys([*self.entities_, *X.entities])]
            if absent := [name for name in X.relations if name not in self.relations_]:
                hint = f"{meant(absent[0], self.relations_)}; train a new model to add relations"
                raise InputError(f"the model has no relation {absent[0]!r}{hint}")
            triples = facts_of(X.named(), entities=names, relations=self.relations_).triples
        if not len(triples):
            raise InputError("at least one new fact is required")
        return triples, names

    def search(
        self, X: Triples, *, seed: int | None = 0, validation: Triples | None = None, known: Triples | None = None
    ) -> SearchSpace:
        """Return the search space of penalty, strength and rank, evaluated by the mean log-rank of validation triples.

        The validation triples are those given, as for :meth:`fit`, or a tenth of the triples such that entities and
        relations keep others. The log-rank is less noisy than the reciprocal rank, but too noisy to choose an epoch.
        """
        part: Any = X
        judged: Any = validation
        if validation is None:
            triples, *_ = learned_facts(X)
            out = held_out_facts(triples, held_out_share(len(triples)), seed=seed)
            part, judged = triples[~out], triples[out]
            if isinstance(X, Facts):
                part, judged = (replace(X, triples=some) for some in (part, judged))

        def losses(model: KnowledgeTensor) -> Array:
            ranks = model.evaluate(judged, known=known)
            return (np.log(ranks.objects) + np.log(ranks.subjects)) / 2

        return SearchSpace(
            values=VALUES if isinstance(FORMS[self.form][0], (Diagonal, Complex)) else MATRIX_VALUES,
            fit=lambda model: model.fit(part, validation=validation, known=known),
            last=lambda model: model.fit(X, validation=validation, known=known),
            losses=losses,
            units="facts",
            measure="geometric mean rank",
            figure=math.exp,
            whole=validation is not None,
        )

    def _place(self, factors: Factors) -> None:
        """Store the factors in the attributes of the fitted model."""
        subjects, objects = FORMS[self.form][1]
        self.subject_factors_, self.object_factors_ = factors[subjects], factors[objects]
        self.relation_factors_ = factors[max(subjects, objects) + 1 :]

    def _measure(
        self, validation: Any, known: Any, names: _Names, sizes: tuple[int, int], rng: np.random.Generator
    ) -> Callable[[Factors], float]:
        """Return a function that computes the negative mean reciprocal rank of the validation triples."""
        facts = true = triples_by("validation", validation, names=names, sizes=sizes)
        if not len(facts):
            advice = "add facts, or leave out validation"
            raise InputError(f"validation must contain at least one fact; {advice}", "validation")
        if known is not None:
            true = np.concatenate([facts, triples_by("known", known, names=names, sizes=sizes)])
        if len(facts) > MAX_VALIDATION:
            facts = rng.choice(facts, MAX_VALIDATION, replace=False)

        def measure(factors: Factors) -> float:
            self._place(factors)
            return -self._rank(facts, true).mean_reciprocal_rank

        return measure

    def explain(self, subject: int | str, relation: int | str, object: int | str, *, k: int = 10) -> Explanation:  # noqa: A002
        r"""Attribute the score of a triple to known triples, by the effect of a gradient step on each known triple.

        A small step along the gradient of the score of a triple g changes the score of the explained triple f in
        proportion to the inner product of both gradients. The contribution of g is relative to that of a step for f
        itself,

        .. math:: \frac{\kappa(f, g)}{\kappa(f, f)}, \qquad
                  \kappa(f, g) = \sum_\theta \frac{\partial m_f}{\partial \theta} \frac{\partial m_g}{\partial \theta}

        summed over all entity vectors and relation parameters. Triples with the same object contribute by the
        similarity of their queries, triples with the same relation by the similarity of both ends. Negative
        contributions are evidence against f. Contributions overlap and do not sum to the score.

        The triple, given by numbers or names, need not be known. The k largest contributions are returned, of known
        triples that share an entity or the relation with f, each named by its subject, relation and object.

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
        K = self.relations_ or range(self._sizes[1])
        names = [(E[s], K[r], E[o]) for s, r, o in known[first].tolist()]
        value = float(self._triples(*fact.T)[0])
        return Explanation(value, math.nan, [*zip(names, parts[first].tolist(), strict=True)])

    def _moved(self, fact: Ints, facts: Ints) -> Array:
        """Return the inner products of the gradient of one triple's score with the gradients of other triples' scores.

        A score is linear in each factor, so an inner product is a sum of scores with one factor replaced by a gradient.
        """
        form, K = FORMS[self.form][0], self._sizes[1]
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

    @property
    def _sizes(self) -> tuple[int, int]:
        return len(self.object_factors_), len(self.relation_factors_[0]) // (2 if self.reciprocal else 1)

    def _ask(self, known: Ints, r: Ints, *, backwards: bool) -> AnyArray:
        """Return the scores of all entities as the missing object or subject of each question."""
        q, sought = self._query(known, r, backwards=backwards)
        return np.asarray(q @ sought.T)

    def _all_triples(self, known: Ints, r: Ints, *, backwards: bool) -> AnyArray:
        """Return the mean scores of both queries, for all entities as the missing object or subject."""
        scores = self._ask(known, r, backwards=backwards)
        if not self.reciprocal:
            return scores
        form, r = FORMS[self.form][0], r + (0 if backwards else self._sizes[1])
        q, _ = form.query(self.object_factors_[known], r, self.relation_factors_, backwards=True)
        return np.asarray((scores + q @ self.subject_factors_.T) / 2)

    def _query(self, known: Ints, r: Ints, *, backwards: bool) -> tuple[AnyArray, AnyArray]:
        """Return the query vector of each question, and the vectors of all candidate entities."""
        ends = self.subject_factors_, self.object_factors_
        if backwards and self.reciprocal:
            r, backwards = r + self._sizes[1], False
        given, sought = ends[::-1] if backwards else ends
        form, _ = FORMS[self.form]
        return form.query(given[known], r, self.relation_factors_, backwards=backwards)[0], sought

    def _triples(self, s: Ints, r: Ints, o: Ints) -> Array:
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
    """Return small random parameters; relation matrices are symmetric, so that subjects are likely objects."""
    kind, ends = FORMS[form]
    vectors = [SPREAD * rng.standard_normal((n, kind.width(rank))) for _ in range(max(ends) + 1)]
    R = [rng.standard_normal(shape) for shape in kind.shapes(rank, K, relation_rank or rank)]
    matrices = R[-1].ndim > 2
    R = [(x + x.swapaxes(1, 2) if x.ndim > 2 else x) * ((2 * x.shape[-1]) ** -0.5 if matrices else SPREAD) for x in R]
    return [x.astype(np.float32) for x in (*vectors, *R)]


def questions(triples: Ints, K: int, *, reciprocal: bool) -> list[Questions]:
    """Group triples into questions; with reciprocal relations r + K all are for objects."""
    if reciprocal:
        return [questions_of(np.concatenate([triples, triples[:, ::-1] + [0, K, 0]]))]
    return [questions_of(triples), questions_of(triples, backwards=True)]


def _naming(asked: Questions, first: int, rng: np.random.Generator) -> Questions:
    """Select the questions with new entities and as many others, without which new entities rank too high."""
    answered = np.add.reduceat(asked.answers >= first, asked.starts[:-1]) > 0
    naming = answered | (asked.known >= first)
    others = rng.permutation(np.flatnonzero(~naming))[: naming.sum()]
    return asked.take(np.concatenate([np.flatnonzero(naming), others]))


TripleLoss = Literal["softmax", "logistic"]
LOSSES = {"softmax": softmax_rows, "logistic": logistic_rows}
Penalty = Literal["N3", "L2", "DURA"]
EPS = 1e-10  # keeps Adagrad's first step of an element with zero gradient finite


class Questions(NamedTuple):
    """Triples grouped into link prediction questions with the same known entity and relation."""

    known: Ints
    relations: Ints
    starts: Ints  # question i has the answers answers[starts[i]:starts[i + 1]]
    answers: Ints
    backwards: bool  # whether objects are known and subjects are the answers

    def take(self, which: AnyArray) -> Questions:
        """Return the questions at the given indices."""
        count = np.diff(self.starts)[which]
        starts = np.concatenate([[0], np.cumsum(count)])
        places = np.repeat(self.starts[which] - starts[:-1], count) + np.arange(starts[-1])
        return Questions(self.known[which], self.relations[which], starts, self.answers[places], self.backwards)


def questions_of(facts: Ints, *, backwards: bool = False) -> Questions:
    """Group triples, shape (n, 3), into link prediction questions; duplicates count once."""
    rows = np.unique(facts[:, [2, 1, 0]] if backwards else facts, axis=0)
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:, :2] != rows[:-1, :2]).any(axis=1)
    starts = np.append(np.flatnonzero(new), len(rows))
    return Questions(rows[new, 0], rows[new, 1], starts, rows[:, 2].copy(), backwards)


class DescentSettings(NamedTuple):
    """Settings of stochastic gradient descent for knowledge graph embeddings.

    The penalty of each triple is of cubed moduli of its three vectors (N3), of their squares (L2), or of squares of the
    query and of the answer's vector (DURA). The learning rate is multiplied by :math:`n^{-1/2}` for n x n matrices.
    """

    loss: TripleLoss = "softmax"
    penalty: Penalty = "N3"
    strength: float = 0.05
    learning_rate: float = 0.1
    batch: int = 500
    n_negatives: int | None = None


def descend_triples(
    form: Bilinear,
    start: Factors,
    questions: Sequence[Questions],
    plan: DescentSettings,
    *,
    ends: tuple[int, int],
    rng: np.random.Generator,
    threads: int,
    fixed: int = 0,
) -> Iterator[Sweep]:
    """Minimize the regularized link prediction loss by stochastic gradient descent over batches of questions.

    ``start`` has entity factors, shape (n, width), then relation parameters; ``ends`` number the subject and the object
    factor. The first ``fixed`` entities and the relations do not change. Yields factors after each epoch, and the mean
    objective per triple during it; at the start that of the first batch.
    """
    descent = _TripleDescent(form, start, plan, ends, rng, threads, fixed)
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
    """Yield random batches of questions; each batch asks only for objects or only for subjects."""
    parts: list[tuple[Questions, AnyArray]] = []
    for asked in questions:
        order = rng.permutation(len(asked.known))
        parts += [(asked, order[low : low + batch]) for low in range(0, len(order), batch)]
    for k in rng.permutation(len(parts)).tolist():
        yield parts[k][0].take(parts[k][1])


@dataclass
class _TripleDescent:
    """State of stochastic gradient descent: the factors and AdaGrad's accumulated squared gradients."""

    form: Bilinear
    factors: Factors
    plan: DescentSettings
    ends: tuple[int, int]
    rng: np.random.Generator
    threads: int
    fixed: int

    def __post_init__(self) -> None:
        self.factors = [np.array(x, np.float32) for x in self.factors]
        self.squares = [np.zeros_like(x) for x in self.factors]
        self.first = max(self.ends) + 1  # number of the first relation parameter

    def step(self, asked: Questions, *, move: bool = True) -> float:
        """Compute the objective of a batch of questions, and update the factors."""
        given, sought = self.ends[::-1] if asked.backwards else self.ends
        A, B = self.factors[given], self.factors[sought]
        columns, weights = self._candidates(asked, B, tied=given == sought)
        place = np.empty(len(B), np.int64)
        place[columns] = np.arange(len(columns))
        answers, count = place[asked.answers], np.diff(asked.starts).astype(np.float32)
        b = B if len(columns) == len(B) else B[columns]
        kinds, r = np.unique(asked.relations, return_inverse=True)  # other relations are not updated
        a, R = A[asked.known], [self.factors[self.first][kinds], *self.factors[self.first + 1 :]]
        q, pullback = self.form.query(a, r, R, backwards=asked.backwards)
        S = q @ b.T
        value = LOSSES[self.plan.loss](S, starts=asked.starts, answers=answers, weights=weights, threads=self.threads)
        db, dq = S.T @ q, S @ b
        said = np.bincount(answers, minlength=len(b)).astype(np.float32)
        value += self._penalise(b, said, db)
        if self.plan.penalty == "DURA":
            value += self._penalise(q, count, dq)
        da, dR = pullback(dq)
        if self.plan.penalty != "DURA":
            value += self._penalise(a, count, da)
            value += self._penalise_relations(R, r, count, dR)
        if move:
            scale = np.float32(1 / len(answers))
            rows, which = np.unique(asked.known, return_inverse=True)
            da = summed_rows(which, da, len(rows))
            if given == sought:
                add_rows(place[rows], da, db)
            else:
                self._move(given, da * scale, rows)
            self._move(sought, db * scale, columns)
            for k, gradient in enumerate(dR, self.first):
                self._move(k, gradient * scale, kinds if k == self.first else np.arange(len(gradient)))
        return value

    def _candidates(self, asked: Questions, B: AnyArray, *, tied: bool) -> tuple[Ints, Array | None]:
        """Return the candidates of a batch (with ``tied`` ends known entities, too) and their importance weights."""
        named = np.unique(np.concatenate([asked.answers, asked.known]) if tied else asked.answers)
        drawn, rest = self.plan.n_negatives, len(B) - len(named)
        if drawn is None or drawn >= rest:
            return np.arange(len(B)), None
        absent = np.ones(len(B), bool)
        absent[named] = False
        more = self.rng.choice(np.flatnonzero(absent), drawn, replace=False, shuffle=False)
        return np.concatenate([named, more]), np.repeat([1.0, rest / drawn], [len(named), drawn])

    def _penalise(self, x: AnyArray, weights: AnyArray, gradient: AnyArray) -> float:
        """Add the gradient of the weighted row penalties in place, and return the total penalty."""
        strength = np.float32(self.plan.strength)
        if self.plan.penalty != "N3":
            gradient += (2 * strength) * weights[:, None] * x
            return float(strength * (weights @ (x**2).sum(axis=1)))
        blocks = self.form.blocks
        parts = x.reshape(len(x), blocks, -1)
        modulus = np.sqrt((parts**2).sum(axis=1)) if blocks > 1 else np.abs(x)
        gradient += (3 * strength) * weights[:, None] * (modulus[:, None] * parts).reshape(x.shape)
        return float(strength * (weights @ (modulus**3).sum(axis=1)))

    def _penalise_relations(self, R: list[AnyArray], r: AnyArray, count: AnyArray, dR: list[AnyArray]) -> float:
        """Add penalty gradients of relations, in proportion to their triples, in place; return the penalty."""
        rows = np.bincount(r, weights=count, minlength=len(R[0])).astype(np.float32)
        value = 0.0
        for k, (x, gradient) in enumerate(zip(R, dR, strict=True)):
            weights = rows if k == 0 else np.full(len(x), count.sum(), np.float32)
            value += self._penalise(x.reshape(len(x), -1), weights, gradient.reshape(len(x), -1))
        return value

    def _move(self, k: int, gradient: AnyArray, rows: AnyArray) -> None:
        if self.fixed:
            if k >= self.first:
                return
            gradient, rows = gradient[rows >= self.fixed], rows[rows >= self.fixed]
        x, h = (array.reshape(len(array), -1) for array in (self.factors[k], self.squares[k]))
        g = gradient.reshape(len(gradient), -1)
        # Matrices need smaller steps: with those of vectors, the sum of n x n elements outweighs the initial value.
        step = self.plan.learning_rate / np.sqrt(gradient.shape[-1] if gradient.ndim > 2 else 1)
        adagrad_step(x, h, g, rows=rows, step=step, eps=EPS, threads=self.threads)
