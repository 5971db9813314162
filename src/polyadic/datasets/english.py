"""Synthetic English sentences with phrase structure.

Words are combined at random, with agreement of subject and verb, so that a grammar can be learned in seconds. For
demonstration only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyadic.syntax.brackets import Phrase

if TYPE_CHECKING:
    import numpy as np

NAMES = ("Ann", "Bob", "Carol", "Dora", "Emil")
NOUNS = ("dog", "girl", "boy", "teacher", "bird", "neighbour", "doctor", "farmer")
PLACES = ("garden", "house", "street", "river", "kitchen", "tree")
ADJECTIVES = ("old", "small", "happy", "tired", "young")
VERBS = ("see", "hear", "like", "find", "follow", "watch")
ALONE = ("sleep", "sing", "wait", "laugh")
SAID = ("say", "think", "know")
BESIDE, AFTER = ("with", "near", "behind"), ("in", "near", "behind")
MAX_DEPTH = 2
"""Maximum nesting of clauses and of prepositional phrases."""


def tree(rng: np.random.Generator) -> Phrase:
    """Generate a sentence, with its full stop, as a Penn Treebank tree."""
    clause = _clause(rng, 0)
    first = next(phrase for phrase in clause.walk() if phrase.word is not None)
    return Phrase("S", (*_capital(clause, first).below, Phrase(".", (".",))))


def _capital(phrase: Phrase, first: Phrase) -> Phrase:
    """Capitalize the first word of a phrase."""
    if phrase is first:
        return Phrase(phrase.label, (str(phrase.word)[0].upper() + str(phrase.word)[1:],))
    head, *rest = phrase.below
    return Phrase(phrase.label, (_capital(head, first), *rest))


def _clause(rng: np.random.Generator, depth: int) -> Phrase:
    plural = bool(rng.random() < 0.4)
    return Phrase("S", (_noun_phrase(rng, plural, NOUNS, depth), _verb_phrase(rng, plural, depth)))


def _noun_phrase(rng: np.random.Generator, plural: bool, nouns: tuple[str, ...], depth: int) -> Phrase:  # noqa: FBT001
    chance = rng.random()
    if chance < 0.15 and nouns is NOUNS:
        return Phrase("NP", (Phrase("PRP", ("they" if plural else str(rng.choice(("he", "she"))),)),))
    if chance < 0.35 and nouns is NOUNS and not plural:
        return Phrase("NP", (Phrase("NNP", (str(rng.choice(NAMES)),)),))
    article = str(rng.choice(("the", "some", "two") if plural else ("the", "a", "every")))
    tag = "CD" if article == "two" else "DT"
    words = [Phrase(tag, (article,)), Phrase("NNS" if plural else "NN", (f"{rng.choice(nouns)}{'s' * plural}",))]
    if rng.random() < 0.3:
        words.insert(1, Phrase("JJ", (str(rng.choice(ADJECTIVES[article == "a" :])),)))
    whole = Phrase("NP", tuple(words))
    if depth < MAX_DEPTH and rng.random() < 0.2:
        return Phrase("NP", (whole, _preposition(rng, BESIDE, NOUNS, depth)))
    return whole


def _preposition(rng: np.random.Generator, words: tuple[str, ...], nouns: tuple[str, ...], depth: int) -> Phrase:
    other = _noun_phrase(rng, bool(rng.random() < 0.3), nouns, depth + 1)
    while other.below[0].label == "PRP":  # "with he" is none
        other = _noun_phrase(rng, plural=False, nouns=nouns, depth=depth + 1)
    return Phrase("PP", (Phrase("IN", (str(rng.choice(words)),)), other))


def _verb_phrase(rng: np.random.Generator, plural: bool, depth: int) -> Phrase:  # noqa: FBT001
    chance, tag = rng.random(), "VBP" if plural else "VBZ"

    def verb(words: tuple[str, ...]) -> Phrase:
        word = str(rng.choice(words))
        return Phrase(tag, (word if plural else word + ("es" if word.endswith("ch") else "s"),))

    if chance < 0.15 and depth < MAX_DEPTH:
        said = Phrase("SBAR", (Phrase("IN", ("that",)), _clause(rng, depth + 1)))
        return Phrase("VP", (verb(SAID), said))
    parts = [verb(ALONE if chance < 0.4 else VERBS)]
    if chance >= 0.4:
        other = _noun_phrase(rng, bool(rng.random() < 0.3), NOUNS, depth)
        while other.below[0].label == "PRP":
            other = _noun_phrase(rng, plural=False, nouns=NOUNS, depth=depth)
        parts.append(other)
    if rng.random() < 0.4:
        parts.append(_preposition(rng, AFTER, PLACES, depth))
    return Phrase("VP", tuple(parts))
