"""Link prediction in knowledge graphs: queries, filtered ranking evaluation, and calibration."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax
from sklearn.utils.validation import check_is_fitted

from polyadic.core.annotations import AnyArray, Array, Ints
from polyadic.core.errors import InputError, InputWarning, SeenFactsWarning, check_int
from polyadic.core.model import Model, learned
from polyadic.metrics.ranking import MEMORY, Ranking, ranking
from polyadic.relations.facts import Facts, by_name, checked_triples, numbered, shared, triples_by, warn_of_order

Names = Sequence[int] | Sequence[str] | Sequence[int | str] | AnyArray
Triples = Facts | ArrayLike
MAX_CALIBRATION_FACTS, MAX_SCORES = 1_000, 1 << 25
"""Maximum number of calibration triples, and of their scores in each direction."""
PARTS = "subject", "relation", "object"
MIN_INVERSE_TEMPERATURE = 1e-3  # minimum of 1 / T in calibration; the maximum is its inverse


class EmptyRelationWarning(UserWarning):
    """Warning that a relation has no training triples."""


class TripleModel(Model):
    """Base class for models that score all entities as the missing subject or object of a triple."""

    @property
    @abstractmethod
    def _sizes(self) -> tuple[int, int]:
        """Number of entities and number of relations."""

    @abstractmethod
    def _triples(self, s: Ints, r: Ints, o: Ints) -> Array:
        """Return the score of each triple."""

    @abstractmethod
    def _ask(self, known: Ints, r: Ints, *, backwards: bool) -> AnyArray:
        """Return the scores of all entities as the missing object or subject of each question."""

    def objects(self, subjects: Names, relations: Names) -> AnyArray:
        """Return the scores of the object query: of all entities as objects of subjects and relations, shape (m, n).

        Subjects and relations, of shape (m,), are given by number, or by name if the model has names. InputError is
        raised if a name or number is unknown, or the lengths differ.
        """
        return self._ask(*_alike(self._ends("subject", subjects), self._kinds(relations)), backwards=False)

    def subjects(self, objects: Names, relations: Names) -> AnyArray:
        """Return the scores of the subject query: of all entities as subjects of relations and objects, shape (m, n).

        Parameters and errors are as for :meth:`objects`.
        """
        return self._ask(*_alike(self._ends("object", objects), self._kinds(relations)), backwards=True)

    def predict(self, subjects: Names, relations: Names, objects: Names) -> Array:
        """Return the score of each triple, shape (m,).

        With reciprocal relations and with mined rules, the score is the mean of those of the object query and of the
        subject query. Parameters and errors are as for :meth:`objects`; one number or name is an array of one.
        """
        given = self._ends("subject", subjects), self._kinds(relations), self._ends("object", objects)
        return self._triples(*_alike(*given))

    def _ends(self, what: str, given: Names) -> Ints:
        return numbered(what, given, getattr(self, "entities_", None), self._sizes[0])

    def _kinds(self, given: Names) -> Ints:
        return numbered("relation", given, getattr(self, "relations_", None), self._sizes[1])


class LinkPredictor(TripleModel):
    """Base class for link prediction models, with the names of entities and relations and the training triples."""

    facts_: Ints = learned()
    entities_: list[str] | None = learned()
    relations_: list[str] | None = learned()
    temperature_: float = learned()
    unsaid: ClassVar[float] = -math.inf
    """Score of answers without any support, which are not returned."""

    def _all_triples(self, known: Ints, r: Ints, *, backwards: bool) -> AnyArray:
        """Return the scores of the triples that complete each question, which are those of :meth:`predict`."""
        return self._ask(known, r, backwards=backwards)

    def calibrate(self, facts: Triples) -> Self:
        r"""Calibrate scores on held-out triples by temperature scaling.

        .. math:: P(o \mid s, r) = \frac{e^{m_{sro} / T}}{\sum_{o'} e^{m_{sro'} / T}}

        over all :math:`o'` that are not training answers: the probability of an answer among those not known yet.
        Subjects likewise. The temperature T, ``temperature_``, maximizes the likelihood of the given triples.

        At most 1,000 triples are used in each direction. InputError is raised if all are training triples.

        References
        ----------
        Guo, Pleiss, Sun, Weinberger (2017), On calibration of modern neural networks, section 4.2.

        Examples
        --------
        >>> learned = np.array([(0, 0, 1), (0, 0, 2), (1, 0, 2), (3, 0, 4), (3, 0, 5), (4, 0, 5)])
        >>> from polyadic import KnowledgeTensor
        >>> model = KnowledgeTensor(4, seed=0).fit(learned)
        >>> bool(model.calibrate([(1, 0, 0), (4, 0, 3)]).temperature_ > 0)
        True
        """
        check_is_fitted(self)
        n, rng = self._sizes[0], np.random.default_rng(self.seed)
        asked = self._triples_by("facts", facts)
        learned = {*map(tuple, self.facts_.tolist())}
        asked = asked[[tuple(fact) not in learned for fact in asked.tolist()]]
        if not len(asked):
            raise InputError("calibration requires held-out facts, but all given facts occur in the training data")
        asked = rng.permutation(asked)[: max(1, min(MAX_CALIBRATION_FACTS, MAX_SCORES // n))]
        rows, right = [], []
        for hidden, known in ((2, 0), (0, 2)):
            S = self._all_triples(asked[:, known], asked[:, 1], backwards=hidden == 0).astype(float)
            right.append(S[np.arange(len(S)), asked[:, hidden]])
            for row, at in zip(S, self._answers(asked, hidden), strict=True):
                row[at] = -np.inf
            rows.append(S)
        scores, true = np.concatenate(rows), np.concatenate(right)
        low, high = np.log(MIN_INVERSE_TEMPERATURE), np.log(1 / MIN_INVERSE_TEMPERATURE)

        def loss(log_sureness: float) -> float:
            sure = math.exp(log_sureness)
            return float((logsumexp(sure * scores, axis=1) - sure * true).mean())

        self.temperature_ = math.exp(-minimize_scalar(loss, bounds=(low, high), method="bounded").x)
        return self

    def _answers(self, asked: Ints, hidden: int) -> Iterator[Ints]:
        """Yield the entities that complete each partial triple to a training triple."""
        given = [part for part in range(3) if part != hidden]
        order = np.lexsort(self.facts_[:, given].T)
        keys, width = self.facts_[order][:, given[::-1]], np.int64(max(self._sizes[0], 1 << 20))
        listed, wanted = (pairs[:, 0] * width + pairs[:, 1] for pairs in (keys, asked[:, given[::-1]]))
        for low, high in zip(*(np.searchsorted(listed, wanted, side) for side in ("left", "right")), strict=True):
            yield self.facts_[order[low:high], hidden]

    def relations(self, subjects: Names, objects: Names) -> Array:
        """Return the scores of all relations between each subject and object, shape (m, K).

        Scores, parameters and errors are those of :meth:`predict`.
        """
        s, o = _alike(self._ends("subject", subjects), self._ends("object", objects))
        K = self._sizes[1]
        return self._triples(np.repeat(s, K), np.tile(np.arange(K), len(s)), np.repeat(o, K)).reshape(len(s), K)

    def evaluate(
        self, test: Triples, *, known: Triples | None = None, relations: bool = False, memory: int = MEMORY
    ) -> Ranking:
        """Rank the true entities of test triples among all entities, filtering out other true triples.

        Each query is ranked by its own scores (:meth:`objects`, :meth:`subjects`), as in the literature.

        ``known`` are true triples to filter by, in addition to the training and test triples; with ``relations``, the
        relations between both ends are ranked, too. ``memory`` is as for :func:`~polyadic.metrics.ranking.ranking`.
        InputError is raised if triples are malformed, or a name or number is unknown.
        """
        facts = self._triples_by("test", test)
        if seen := shared(facts, self.facts_):
            what = f"test facts that occur in the training data: {seen:,} of {len(facts):,}"
            warnings.warn(what, SeenFactsWarning, stacklevel=2)
        true = facts if known is None else np.concatenate([facts, self._triples_by("known", known)])
        return self._rank(facts, true, relations=relations, memory=memory)

    def score(self, X: Triples, y: object = None) -> float:
        """Return the mean reciprocal rank of the test triples X, for scikit-learn model selection.

        Triples with an unknown entity or relation, as may occur in cross-validation, count as 0.
        """
        check_is_fitted(self)
        n, K = self._sizes
        given = X.named() if isinstance(X, Facts) and len(X) else X
        names: dict[str, Any] = {"entities": self.entities_, "relations": self.relations_, "unknown": "skip"}
        X = by_name(given, **(names if self.entities_ else {}))
        if isinstance(X, Facts):
            check_named(self.entities_)
            facts, number = X.triples, len(X) + X.skipped
        else:
            given = np.asarray(X)
            number, facts = len(given), given[((given >= 0) & (given < [n, K, n])).all(axis=1)]
        if not len(facts):
            return 0.0
        return self._rank(facts, facts).mean_reciprocal_rank * len(facts) / number

    def _rank(self, facts: Ints, true: Ints, *, relations: bool = False, memory: int = MEMORY) -> Ranking:
        return ranking(
            facts,
            np.concatenate([self.facts_, true]),
            entities=self._sizes[0],
            objects=lambda s, r: self._ask(s, r, backwards=False),
            subjects=lambda o, r: self._ask(o, r, backwards=True),
            relations=(self._sizes[1], self.relations) if relations else None,
            memory=memory,
        )

    def number_of(self, what: str, name: int | str) -> int:
        """Return the id of an entity or relation, given by name or number; raise InputError if it is unknown."""
        return int((self._kinds([name]) if what == "relation" else self._ends(what, [name]))[0])

    def _triples_by(self, what: str, facts: Triples) -> Ints:
        return triples_by(what, facts, names=(self.entities_, self.relations_), sizes=self._sizes)


def check_named(names: list[str] | None) -> None:
    """Raise InputError if a model has no names of entities, but facts are given by name."""
    if names is None:
        raise InputError("this model identifies entities by integer ids, not names; pass facts as an integer array")


def learned_facts(X: Triples) -> tuple[Ints, int, int]:
    """Validate training triples; return the unique triples and the numbers of entities and relations."""
    if isinstance(X, Facts):
        triples, sizes = X.triples, (len(X.entities), len(X.relations))
    else:
        given = np.asarray(X)
        if given.ndim != 2 or given.shape[1] != 3 or given.dtype.kind not in "iu":
            got = f"{given.dtype} of shape {given.shape}"
            raise InputError(f"facts must be an integer array of shape (n, 3); got {got}")
        given = given.astype(np.int64)
        sizes = (int(given[:, [0, 2]].max(initial=-1)) + 1, int(given[:, 1].max(initial=-1)) + 1)
        triples = checked_triples("facts", given, *sizes)
        warn_of_order(triples.tolist())
    if not len(triples):
        raise InputError("the training data must contain at least one fact")
    if sizes[0] < 2:
        raise InputError("the training data must contain at least two entities; all facts are about one entity")
    empty = np.setdiff1d(np.arange(sizes[1]), triples[:, 1])
    if len(empty):
        name = repr(X.relations[empty[0]]) if isinstance(X, Facts) else empty[0]
        what = f"relations without training facts: {len(empty):,} of {sizes[1]:,}, for example {name}"
        message = f"{what}; the scores of these relations are meaningless"
        warnings.warn(message, EmptyRelationWarning, stacklevel=3)
    return np.unique(triples, axis=0), *sizes


def _alike(*columns: Ints) -> tuple[Ints, ...]:
    if len({len(column) for column in columns}) > 1:
        got = " and ".join(str(len(column)) for column in columns)
        raise InputError(f"subjects, relations and objects must have the same length; got {got}")
    return columns


class Completed(NamedTuple):
    """Candidate for the missing part of a triple."""

    name: int | str
    """Number or name of the candidate."""
    score: float
    """Score of the completed triple, that of :meth:`LinkPredictor.predict`."""
    probability: float | None = None
    """Probability if exactly one answer is missing from the training triples; see :meth:`LinkPredictor.calibrate`.
    None for known answers, and if the model is not calibrated."""
    known: bool = False
    """Whether the completed triple is a training triple."""


def complete(
    model: LinkPredictor,
    *,
    subject: int | str | None = None,
    relation: int | str | None = None,
    object: int | str | None = None,  # noqa: A002 the field's word
    k: int = 10,
    known: bool = False,
) -> list[Completed]:
    """Return the k highest-scoring candidates for the missing part of a triple.

    The score of a candidate is that of :meth:`LinkPredictor.predict`. Answers in the training triples are left out,
    unless ``known`` is set. Mined rules return only candidates that a rule derives from the given parts.

    Parameters
    ----------
    model : KnowledgeTensor or HornRules
        Fitted model.
    subject, relation, object : int or str, optional
        Numbers or names of exactly two of the three parts.
    k : int
        Maximum number of candidates.
    known : bool
        Whether to include candidates that form a training triple; their attribute ``known`` is True.

    Examples
    --------
    >>> from polyadic.relations.facts import facts_of
    >>> towns = {"Oslo": "Norway", "Bergen": "Norway", "Turin": "Italy", "Rome": "Italy"}
    >>> facts = [(town, "in", land) for town, land in towns.items()]
    >>> facts += [("Oslo", "near", "Bergen"), ("Turin", "near", "Rome")]
    >>> from polyadic import KnowledgeTensor
    >>> model = KnowledgeTensor(4, form="DistMult", seed=0).fit(facts_of(facts))
    >>> [entity.name for entity in complete(model, relation="in", object="Norway", k=2, known=True)]
    ['Oslo', 'Bergen']
    """
    parts: list[Any] = [subject, relation, object]
    if parts.count(None) != 1:
        raise InputError("give exactly two of subject, relation and object", "subject", "relation", "object")
    check_int("k", k, low=1)
    hidden = parts.index(None)
    named = zip(PARTS, parts, strict=True)
    given = [np.array([model.number_of(what, part)]) for what, part in named if part is not None]
    if hidden == 1:
        scores = model.relations(*given)[0].astype(float)
    else:
        end, kind = given if hidden else given[::-1]
        scores = model._all_triples(end, kind, backwards=hidden == 0)[0].astype(float)  # noqa: SLF001
    others, is_known = scores.copy(), np.isin(np.arange(len(scores)), known_answers(model, *parts))
    others[is_known] = -np.inf
    if is_known.all() and not known:
        what = "relations" if hidden == 1 else "entities"
        message = f"no answer is left, because all {len(scores):,} {what} complete a training fact; set known"
        warnings.warn(InputWarning(f"{message} to list them", "known"), stacklevel=2)
    chances = np.full(len(scores), np.nan)
    if hidden != 1 and np.isfinite(model.temperature_) and np.isfinite(others).any():
        chances[~is_known] = softmax(others / model.temperature_)[~is_known]
    ranked = scores if known else others
    best = [at for at in np.argsort(-ranked, kind="stable")[:k].tolist() if ranked[at] > model.unsaid]
    facts = np.insert(np.tile(np.concatenate(given), (len(best), 1)), hidden, best, axis=1)
    values = model._triples(*facts.T)  # noqa: SLF001 # those of predict
    names = model.relations_ if hidden == 1 else model.entities_
    found = zip(best, values.tolist(), chances[best].tolist(), is_known[best].tolist(), strict=True)
    answers = [Completed(names[at] if names else at, m, None if math.isnan(p) else p, old) for at, m, p, old in found]
    return sorted(answers, key=lambda answer: -answer.score)


def known_answers(model: LinkPredictor, *parts: int | str | None) -> Ints:
    """Return the ids that complete a partial triple to a training triple."""
    same = np.ones(len(model.facts_), bool)
    for at, name in enumerate(parts):
        if name is not None:
            same &= model.facts_[:, at] == model.number_of(PARTS[at], name)
    return model.facts_[same, parts.index(None)]
