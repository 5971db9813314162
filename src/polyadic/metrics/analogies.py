"""Analogy questions: find the word that is to c as b is to a."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from polyadic.core.annotations import AnyArray, Array, Ints, Mask
from polyadic.core.errors import InputError, check_choice, check_int
from polyadic.core.progress import bar
from polyadic.embedding import Embedding, analogy_scores
from polyadic.metrics.figures import Figure

Question = tuple[str, str, str, str]
KINDS = ("semantic", "syntactic")
BLOCK = 1 << 24  # numbers in the largest array made at a time
MAX_PAIRS = 4000  # whose table takes 256 MB; Google's questions combine 549, those of MSR 799


@dataclass(frozen=True)
class Section:
    """Counts of analogy questions in a section: answered correctly, with four known words, and in total."""

    correct: int
    covered: int
    total: int


@dataclass(frozen=True)
class Analogies:
    """Accuracy on analogy questions."""

    accuracy: float
    """Share of correct answers among the covered questions."""
    correct: int
    covered: int
    total: int
    """Number of questions answered correctly, with four known words, and in total."""
    sections: dict[str, Section]
    """The same numbers for each section."""
    method: str
    """Scoring rule, ``"add"`` or ``"mul"``."""
    answers: dict[str, list[tuple[Question, bool]]] = field(default_factory=dict, repr=False)
    """Covered questions of each section, and whether they were answered correctly."""

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary for JSON, without the individual answers."""
        return {name: value for name, value in asdict(self).items() if name != "answers"}

    def __str__(self) -> str:
        return f"accuracy {self.accuracy:.3f} ({self.covered:,} of {self.total:,} questions known)"

    def figures(self, prefix: str) -> list[Figure]:
        """Return the accuracy over all questions and, if both kinds occur, over semantic and over syntactic questions.

        See :func:`kind_of` and :func:`pair_figure`.
        """
        figures = []
        kinds = KINDS if len({kind_of(name) for name in self.sections}) > 1 else ()
        for kind in ("", *kinds):
            names = [name for name in self.answers if kind in {"", kind_of(name)}]
            asked = [(question, float(right), 1.0) for name in names for question, right in self.answers[name]]
            if asked:
                total = sum(self.sections[name].total for name in names)
                name = " ".join(filter(None, (prefix, kind, "accuracy")))
                figures.append(pair_figure(name, asked, used=len(asked), total=total))
        return figures


def analogies(
    embedding: Embedding, sections: Mapping[str, Iterable[Question]], *, method: str = "add", limit: int | None = None
) -> Analogies:
    """Answer "a is to b as c is to ?" with the highest-scoring word, excluding the three words of the question.

    Questions with an unknown word are left out and counted; words are in lower case if the whole vocabulary is.
    InputError is raised if there is no question whose four words are known.

    Parameters
    ----------
    embedding : Embedding
        Word vectors; their policy for unknown words is ignored.
    sections : mapping of str to iterable of (a, b, c, answer)
        Questions by section.
    method : {"add", "mul"}
        Scoring rule; see :func:`~polyadic.embedding.analogy_scores`.
    limit : int, optional
        Size of the vocabulary: only the first words are used, in questions and as answers.

    Examples
    --------
    >>> from polyadic.embedding import Embedding
    >>> royal = Embedding(["man", "woman", "king", "queen"], [[1, 0, 0], [0, 1, 0], [1, 0, 1], [0, 1, 1]])
    >>> print(analogies(royal, {"gender": [("man", "king", "woman", "queen"), ("man", "boy", "woman", "girl")]}))
    accuracy 1.000 (1 of 2 questions known)
    """
    check_choice("method", method, ("add", "mul"))
    size = len(embedding) if limit is None else min(check_int("limit", limit, low=1), len(embedding))
    asked = {name: list(questions) for name, questions in sections.items()}
    for question in (question for questions in asked.values() for question in questions):
        if len(question) != 4:
            raise InputError(f"a question must consist of four words; got {question!r}")
    known = {name: known_questions(embedding, questions, size) for name, questions in asked.items()}
    results, answers = {}, {}
    with bar("analogies", total=sum(len(rows) for _, rows in known.values())) as advance:
        for name, (questions, rows) in known.items():
            right: list[bool] = []
            # A block has at most three words per question; the cosines of each, and the scores, are rows of `size`.
            step = max(1, BLOCK // (4 * size))
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                words, place = np.unique(some[:, :3], return_inverse=True)
                cosines = embedding.unit[words] @ embedding.unit[:size].T
                a, b, c = place.reshape(-1, 3).T
                right += answered(analogy_scores(cosines[a], cosines[b], cosines[c], method=method), some).tolist()
                advance(len(some))
            answers[name] = list(zip(questions, right, strict=True))
            results[name] = Section(sum(right), len(rows), len(asked[name]))
    correct, covered, total = (sum(getattr(s, f) for s in results.values()) for f in ("correct", "covered", "total"))
    if covered == 0:
        raise InputError(f"none of the {total:,} questions has all four words in the vocabulary of {size:,} words")
    return Analogies(correct / covered, correct, covered, total, results, method, answers)


def known_questions(embedding: Embedding, questions: Iterable[Question], size: int) -> tuple[list[Question], Ints]:
    """Return the questions whose words are all among the first ``size`` words, and the word indices, shape (n, 4)."""
    rows = [(question, tuple(map(embedding.find, question))) for question in questions]
    known = [(question, row) for question, row in rows if all(word is not None and word < size for word in row)]
    return [question for question, _ in known], np.array([row for _, row in known], dtype=np.int64).reshape(-1, 4)


def answered(scores: AnyArray, questions: Ints, *, exclude: bool = True) -> Mask:
    """Return whether the highest-scoring word is the correct answer to each analogy question.

    ``scores`` has the shape (questions, words) and may be overwritten; ``questions`` contains word indices, shape
    (questions, 4). The first three words are not answers if ``exclude``.

    Examples
    --------
    >>> answered(np.array([[0.9, 0.2, 0.1, 0.5]]), np.array([[0, 1, 2, 3]]))
    array([ True])
    """
    if exclude:
        np.put_along_axis(scores, questions[:, :3], -np.inf, axis=1)
    return np.asarray(scores.argmax(axis=1) == questions[:, 3])


def kind_of(section: str) -> str:
    """Return "semantic" or "syntactic", depending on the name of an analogy section.

    Google's syntactic sections have names that begin with "gram"; MSR, which has no sections, is syntactic.

    Examples
    --------
    >>> kind_of("gram2-opposite"), kind_of("family"), kind_of("")
    ('syntactic', 'semantic', 'syntactic')
    """
    return "syntactic" if section.startswith("gram") or not section else "semantic"


def pairs_of(questions: Iterable[Question]) -> Ints:
    """Encode the two word pairs of each question as indices of the sorted distinct pairs; shape (n, 2).

    Examples
    --------
    >>> pairs_of([("a", "b", "c", "d"), ("d", "c", "a", "d")]).tolist()
    [[0, 2], [2, 1]]
    """
    ends = [(tuple(sorted((a, b))), tuple(sorted((c, d)))) for a, b, c, d in questions]
    place = {pair: at for at, pair in enumerate(sorted({pair for two in ends for pair in two}))}
    return np.array([(place[p], place[q]) for p, q in ends], dtype=np.int64).reshape(-1, 2)


def pair_figure(name: str, asked: Iterable[tuple[Question, float, float]], *, used: int, total: int) -> Figure:
    r"""Create a metric for the accuracy on analogy questions, with bootstrap confidence intervals over word pairs.

    Test sets combine few pairs into many questions, so questions are not independent: a pair that a model does not know
    affects all of its questions. Therefore pairs :math:`p` are resampled, and a question that combines two pairs counts
    as often as the product of their multiplicities,

    .. math:: \frac{\sum_{pq} t_p t_q\, r_{pq}}{\sum_{pq} t_p t_q\, n_{pq}} ,

    with :math:`t_p` the multiplicity of a pair, :math:`r_{pq}` correct answers and :math:`n_{pq}` answers. Resampling
    single questions would give intervals that are much too narrow (a fifth of the correct width for 30 pairs that
    differ in difficulty), and resampling by first pair only would give half of it.

    References
    ----------
    Snijders and Borgatti (1999), Non-parametric standard errors and tests for network statistics (the bootstrap of
    vertices; questions are the edges of a graph of pairs).

    Examples
    --------
    >>> asked = [(("a", "b", "c", "d"), 1.0, 1.0), (("c", "d", "e", "f"), 0.0, 1.0)]
    >>> pair_figure("accuracy", asked, used=2, total=2).value
    0.5
    """
    answers = list(asked)
    if not answers:
        raise InputError(f"the metric {name!r} requires at least one question")
    questions, right, tested = zip(*answers, strict=True)
    p, q = pairs_of(questions).T
    n = int(max(p.max(), q.max())) + 1
    if n > MAX_PAIRS:
        raise InputError(f"questions must combine at most {MAX_PAIRS:,} distinct word pairs; got {n:,}")
    rows = np.zeros((n, 2 * n))
    np.add.at(rows, (p, q), right)
    np.add.at(rows, (p, n + q), tested)
    return Figure(name, rows, used=used, total=total, statistic=pair_ratio)


def pair_ratio(rows: Array, times: Ints) -> Array:
    """Compute the accuracy on analogy questions in each bootstrap sample of word pairs.

    ``rows`` contains the number of correct answers and of questions for each two pairs, shape (pairs, 2 * pairs).

    Examples
    --------
    >>> rows = np.array([[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 1.0, 0.0]])  # of pairs 0 and 1: 1 of 2 right, and 0 of 1
    >>> pair_ratio(rows, np.array([[1, 1], [2, 1], [2, 0]])).tolist()
    [0.3333333333333333, 0.3333333333333333, nan]
    """
    right, tested = (((times @ part) * times).sum(axis=1) for part in np.hsplit(rows, 2))
    return np.asarray(np.divide(right, tested, out=np.full(len(times), np.nan), where=tested > 0))
