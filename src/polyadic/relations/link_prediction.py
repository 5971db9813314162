"""What completes facts: questions about an end or a relation, filtered ranks, how sure scores are."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax
from sklearn.utils.validation import check_is_fitted

from polyadic.core.errors import InputError, SeenFactsWarning, check_int
from polyadic.core.model import Model, learned
from polyadic.metrics.ranking import MEMORY, Ranking, ranking
from polyadic.relations.entity_names import as_names, numbers_of
from polyadic.relations.facts import Facts, checked_triples, facts_of, shared, triples_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

    Names = Sequence[int] | Sequence[str] | Sequence[int | str] | NDArray[Any]

MAX_CALIBRATION_FACTS, MAX_SCORES = 1_000, 1 << 25
"""Facts by which scores are calibrated at most, and their scores in either direction."""
MIN_INVERSE_TEMPERATURE = 1e-3
"""The least 1 / T that is tried; the largest is its inverse."""


class EmptyRelationWarning(UserWarning):
    """A relation has no facts to learn from."""


class LinkPredictor(Model):
    """A model that scores all entities as the end that a fact lacks.

    A subclass says how many entities and relations there are, scores the answers of questions (``_ask``) and single
    triples (``_triples``), and leaves ``facts_``, ``entities_``, ``relations_`` and ``temperature_``.
    """

    facts_: NDArray[np.int64] = learned()
    entities_: list[str] | None = learned()
    relations_: list[str] | None = learned()
    temperature_: float = learned()
    unsaid: ClassVar[float] = -math.inf
    """The score of what nothing speaks for, which completes no fact."""

    @abstractmethod
    def _entities_count(self) -> int: ...

    @abstractmethod
    def _relations_count(self) -> int: ...

    @abstractmethod
    def _ask(self, known: NDArray[np.int64], r: NDArray[np.int64], *, backwards: bool) -> NDArray[Any]:
        """Give the scores of all objects, or of all subjects, for what is known of triples."""

    @abstractmethod
    def _triples(self, s: NDArray[np.int64], r: NDArray[np.int64], o: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the scores of triples."""

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
        >>> from polyadic import KnowledgeTensor
        >>> model = KnowledgeTensor(4, seed=0).fit(learned)
        >>> bool(model.calibrate([(1, 0, 0), (4, 0, 3)]).temperature_ > 0)
        True
        """
        check_is_fitted(self)
        n, rng = self._entities_count(), np.random.default_rng(self.seed)
        asked = triples_by("facts", facts, names=(self.entities_, self.relations_), sizes=(n, self._relations_count()))
        learned = {*map(tuple, self.facts_.tolist())}
        asked = asked[[tuple(fact) not in learned for fact in asked.tolist()]]
        if not len(asked):
            raise InputError("there are no facts to calibrate by but those that were learned")
        asked = rng.permutation(asked)[: max(1, min(MAX_CALIBRATION_FACTS, MAX_SCORES // n))]
        rows, right = [], []
        for hidden, known in ((2, 0), (0, 2)):
            S = self._ask(asked[:, known], asked[:, 1], backwards=hidden == 0).astype(float)
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

    def _answers(self, asked: NDArray[np.int64], hidden: int) -> Iterator[NDArray[np.int64]]:
        """Give, for each triple, what answers it without its hidden end by a learned fact."""
        given = [part for part in range(3) if part != hidden]
        order = np.lexsort(self.facts_[:, given].T)
        keys, width = self.facts_[order][:, given[::-1]], np.int64(max(self._entities_count(), 1 << 20))
        listed, wanted = (pairs[:, 0] * width + pairs[:, 1] for pairs in (keys, asked[:, given[::-1]]))
        for low, high in zip(*(np.searchsorted(listed, wanted, side) for side in ("left", "right")), strict=True):
            yield self.facts_[order[low:high], hidden]

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
        names, sizes = (self.entities_, self.relations_), (self._entities_count(), self._relations_count())
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
        n, K = self._entities_count(), self._relations_count()
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
            entities=self._entities_count(),
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

    def _ends(self, what: str, given: Names) -> NDArray[np.int64]:
        return _numbered(what, given, self.entities_, self._entities_count())

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
    model: LinkPredictor,
    *,
    subject: int | str | None = None,
    relation: int | str | None = None,
    object: int | str | None = None,  # noqa: A002 the field's word
    k: int = 10,
    known: bool = False,
) -> list[Completed]:
    """Give the k best of what is left out of a triple, best first; of mined rules, those that a rule concludes.

    Parameters
    ----------
    model : KnowledgeTensor or HornRules
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
    order = [at for at in np.argsort(-scores, kind="stable")[:k].tolist() if scores[at] > model.unsaid]
    return [Completed(names[at] if names else at, float(scores[at]), chances[at]) for at in order]


def _learned(model: LinkPredictor, parts: list[Any], hidden: int) -> Any:
    """Give what completes the facts that were learned."""
    same = np.ones(len(model.facts_), bool)
    for at, name in enumerate(parts):
        if at != hidden:
            same &= model.facts_[:, at] == model.number_of(("entity", "relation", "entity")[at], name)
    return model.facts_[same, hidden]
