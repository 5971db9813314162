"""Analogies: the word that is to c as b is to a."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lowrank.embedding import analogy_scores
from lowrank.errors import InputError, check_choice, check_int
from lowrank.progress import bar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lowrank.embedding import Embedding

Question = tuple[str, str, str, str]
BLOCK = 1 << 24  # numbers in the largest array made at a time


@dataclass(frozen=True)
class Section:
    """Questions of one kind: answered rightly, with all four words known, and all."""

    correct: int
    covered: int
    total: int


@dataclass(frozen=True)
class Analogies:
    """Share of the analogy questions answered rightly.

    Attributes
    ----------
    accuracy : float
        Correct answers among the covered questions.
    correct, covered, total : int
        Questions answered rightly, with all four words known, and all.
    sections : dict of str to Section
        The same for each section.
    method : str
        ``"add"`` or ``"mul"``.
    """

    accuracy: float
    correct: int
    covered: int
    total: int
    sections: dict[str, Section]
    method: str

    def as_dict(self) -> dict[str, Any]:
        """Give the fields for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        return f"accuracy {self.accuracy:.3f} ({self.covered:,} of {self.total:,} questions known)"


def analogies(
    embedding: Embedding, sections: Mapping[str, Iterable[Question]], *, method: str = "add", limit: int | None = None
) -> Analogies:
    """Answer "a is to b as c is to ?" with the word of the best score, the three words themselves left out.

    Questions with an unknown word are left out and counted; words are in lower case if the whole vocabulary is.

    Parameters
    ----------
    embedding : Embedding
        Its own policy for unknown words plays no part here.
    sections : mapping of str to iterable of (a, b, c, answer)
        Questions by section.
    method : {"add", "mul"}
        See :func:`~lowrank.embedding.analogy_scores`.
    limit : int, optional
        Know only the first words of the vocabulary, as questions and as answers.

    Raises
    ------
    InputError
        If there is no question whose four words are known.

    Examples
    --------
    >>> from lowrank.embedding import Embedding
    >>> royal = Embedding(["man", "woman", "king", "queen"], [[1, 0, 0], [0, 1, 0], [1, 0, 1], [0, 1, 1]])
    >>> print(analogies(royal, {"gender": [("man", "king", "woman", "queen"), ("man", "boy", "woman", "girl")]}))
    accuracy 1.000 (1 of 2 questions known)
    """
    check_choice("method", method, ("add", "mul"))
    size = len(embedding) if limit is None else min(check_int("limit", limit, low=1), len(embedding))
    asked = {name: list(questions) for name, questions in sections.items()}
    known = {name: _known(embedding, questions, size) for name, questions in asked.items()}
    results = {}
    with bar("analogies", total=sum(map(len, known.values()))) as advance:
        for name, rows in known.items():
            correct = 0
            # A block has at most three words per question; the cosines of each, and the scores, are rows of `size`.
            step = max(1, BLOCK // (4 * size))
            for start in range(0, len(rows), step):
                correct += _correct(embedding.unit[:size], rows[start : start + step], method)
                advance(len(rows[start : start + step]))
            results[name] = Section(correct, len(rows), len(asked[name]))
    correct, covered, total = (sum(getattr(s, f) for s in results.values()) for f in ("correct", "covered", "total"))
    if covered == 0:
        raise InputError(f"the vocabulary of {size:,} words knows all four words of none of the {total:,} questions")
    return Analogies(correct / covered, correct, covered, total, results, method)


def _known(embedding: Embedding, questions: list[Question], size: int) -> np.ndarray:
    found = [tuple(map(embedding.find, question)) for question in questions]
    rows = [row for row in found if all(word is not None and word < size for word in row)]
    return np.array(rows, dtype=np.int64).reshape(-1, 4)


def _correct(unit: np.ndarray, questions: np.ndarray, method: str) -> int:
    words, place = np.unique(questions[:, :3], return_inverse=True)
    cosines = unit[words] @ unit.T
    a, b, c = place.reshape(-1, 3).T
    scores = analogy_scores(cosines[a], cosines[b], cosines[c], method=method)
    np.put_along_axis(scores, questions[:, :3], -np.inf, axis=1)
    return int((scores.argmax(axis=1) == questions[:, 3]).sum())
