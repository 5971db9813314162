"""Lemmas of tagged words, learned from a treebank: the lemma seen most often, else that of the longest known ending."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LONGEST_ENDING = 6


class Lemmas:
    """What lemmas words have.

    Parameters
    ----------
    known : dict of (str, str) to str
        Lemma of each word, in lower case, and its tag.
    capitals : collection of str
        Tags of words whose lemma keeps their capitals.

    Examples
    --------
    >>> lemmas = Lemmas.counted([("Dogs", "NNS", "dog"), ("Alps", "NNPS", "Alps")])
    >>> lemmas.lemma("Cats", "NNS"), lemmas.lemma("Andes", "NNPS")
    ('cat', 'Andes')
    """

    def __init__(self, known: dict[tuple[str, str], str], capitals: Iterable[str] = ()) -> None:
        self.known = known
        self.capitals = frozenset(capitals)

    @cached_property
    def _edits(self) -> dict[tuple[str, str], tuple[int, str]]:
        """Letters to take from the end and to put there, by ending and tag: what most words have."""
        edits: defaultdict[tuple[str, str], Counter[tuple[int, str]]] = defaultdict(Counter)
        for (word, tag), lemma in self.known.items():
            low = lemma.lower()
            shared = next((k for k, (a, b) in enumerate(zip(word, low, strict=False)) if a != b), None)
            shared = min(len(word), len(low)) if shared is None else shared
            for length in range(min(LONGEST_ENDING, len(word)) + 1):
                edits[word[len(word) - length :], tag][len(word) - shared, low[shared:]] += 1
        return {key: max(times, key=times.__getitem__) for key, times in edits.items()}

    @classmethod
    def counted(cls, rows: Iterable[tuple[str, str, str]]) -> Lemmas:
        """Keep the most frequent lemma of each word and tag; capitals where most capitalised words keep theirs.

        Parameters
        ----------
        rows : iterable of (str, str, str)
            Form, tag and lemma of words.
        """
        counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        kept: Counter[str] = Counter()
        for form, tag, lemma in rows:
            counts[form.lower(), tag][lemma] += 1
            if form[:1].isupper():
                kept[tag] += 1 if lemma[:1].isupper() else -1
        known = {key: max(times, key=times.__getitem__) for key, times in counts.items()}
        return cls(known, [tag for tag, more in kept.items() if more > 0])

    def lemma(self, form: str, tag: str) -> str:
        """Give the lemma of a word: as seen, else as that of words with the longest equal ending."""
        word = form.lower()
        known = self.known.get((word, tag))
        if known is not None:
            return known
        made = word
        for length in range(min(LONGEST_ENDING, len(word) - 1), -1, -1):
            edit = self._edits.get((word[len(word) - length :], tag))
            if edit is not None and edit[0] < len(word):
                made = word[: len(word) - edit[0]] + edit[1]
                break
        if tag not in self.capitals:
            return made
        same = [a if a.lower() == b else b for a, b in zip(form, made, strict=False)]
        return "".join(same) + made[len(same) :]
