"""Synthetic sentences for demonstrations, from which a grammar or parser can be learned in seconds.

English sentences have phrase structure, with agreement of subject and verb. Latin sentences have dependency trees and
semantic roles, in free word order with case endings. Words are combined at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

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
MAX_DEPTH = 2  # maximum nesting of clauses and of prepositional phrases


def english_tree(rng: np.random.Generator) -> Phrase:
    """Generate an English sentence, with a full stop, as a Penn Treebank tree."""
    clause = _clause(rng, 0)
    first = next(phrase for phrase in clause.walk() if phrase.word is not None)
    return Phrase("S", (*_capital(clause, first).below, Phrase(".", (".",))))


def _capital(phrase: Phrase, first: Phrase) -> Phrase:
    """Capitalize the first word of a phrase structure tree."""
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
        said = Phrase("SBAR", (Phrase("IN", ("that",)), _clause(rng, depth + 1)))  # before the verb is drawn
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


FEMININE = ("puella", "regina", "femina", "domina", "magistra", "Iulia", "Livia", "Cornelia")
MASCULINE = ("servus", "dominus", "amicus", "medicus", "discipulus", "lupus", "equus", "Marcus", "Quintus", "Titus")
THINGS = ("rosa", "epistula", "fabula", "corona", "sagitta", "hortus", "gladius", "liber")
LATIN_PLACES = ("villa", "silva", "via", "insula", "hortus", "campus")
LATIN_ADJECTIVES = ("bonus", "magnus", "parvus", "laetus", "novus", "clarus")
SEEN = ("amat", "videt", "laudat", "quaerit", "portat", "spectat")
GIVEN = ("dat", "mittit", "ostendit")
ADVERBS = ("saepe", "hodie", "semper", "nunc", "non")
ENDINGS = {
    ("Fem", "Sing"): {"Nom": "a", "Gen": "ae", "Dat": "ae", "Acc": "am", "Abl": "a"},
    ("Fem", "Plur"): {"Nom": "ae", "Gen": "arum", "Dat": "is", "Acc": "as", "Abl": "is"},
    ("Masc", "Sing"): {"Nom": "us", "Gen": "i", "Dat": "o", "Acc": "um", "Abl": "o"},
    ("Masc", "Plur"): {"Nom": "i", "Gen": "orum", "Dat": "is", "Acc": "os", "Abl": "is"},
}
"""Endings of the first two declensions by gender and number, and by case."""
PLURALS = {"dat": "dant", "mittit": "mittunt", "ostendit": "ostendunt", "quaerit": "quaerunt", "videt": "vident"}


class Word(NamedTuple):
    """Word of a dependency tree, with another word of the sentence as head, or None for the root."""

    form: str
    lemma: str
    upos: str
    features: str
    relation: str
    head: Word | None
    role: str = "_"


def latin_sentence(rng: np.random.Generator) -> list[Word]:
    """Generate a Latin sentence as a list of words with dependencies and semantic roles."""
    plural = rng.random() < 0.3
    gives = rng.random() < 0.3
    lemma = str(rng.choice(GIVEN if gives else SEEN))
    form = PLURALS.get(lemma, f"{lemma[:-1]}nt") if plural else lemma
    number = "Plur" if plural else "Sing"
    verb = Word(form, lemma, "VERB", f"Mood=Ind|Number={number}|Person=3|Tense=Pres|VerbForm=Fin", "root", None, "V")
    phrases = [[verb], _phrase(rng, FEMININE + MASCULINE, "Nom", number, "nsubj", verb, "ARG0")]
    phrases.append(_phrase(rng, THINGS if gives else FEMININE + MASCULINE + THINGS, "Acc", None, "obj", verb, "ARG1"))
    if gives:
        phrases.append(_phrase(rng, FEMININE + MASCULINE, "Dat", None, "obl:arg", verb, "ARG2"))
    if rng.random() < 0.35:
        *others, place = _phrase(rng, LATIN_PLACES, "Abl", "Sing", "obl", verb, "ARGM-LOC", alone=True)
        phrases.append([Word("in", "in", "ADP", "_", "case", place), *others, place])
    words = [word for at in rng.permutation(len(phrases)).tolist() for word in phrases[at]]
    if rng.random() < 0.3:  # an adverb stands before its verb
        adverb = str(rng.choice(ADVERBS))
        role = "ARGM-NEG" if adverb == "non" else "ARGM-TMP"
        at = words.index(verb)
        words.insert(at, Word(adverb, adverb, "ADV", "_", "advmod", verb, role))
    return [*words, Word(".", ".", "PUNCT", "_", "punct", verb)]


def _written(words: Sequence[Word]) -> list[str]:
    """Return the word forms of a sentence, with the first form capitalized."""
    return [words[0].form[0].upper() + words[0].form[1:], *(word.form for word in words[1:])]


def _phrase(
    rng: np.random.Generator,
    lemmas: tuple[str, ...],
    case: str,
    number: str | None,
    relation: str,
    head: Word,
    role: str,
    *,
    alone: bool = False,
) -> list[Word]:
    """Generate a Latin noun, optionally with an adjective or a genitive on either side."""
    number = number or ("Plur" if rng.random() < 0.3 else "Sing")
    noun = _noun(str(rng.choice(lemmas)), case, number, relation, head, role)
    gender = "Fem" if "Gender=Fem" in noun.features else "Masc"
    chance = 1.0 if alone else rng.random()
    if chance < 0.25:
        lemma = str(rng.choice(LATIN_ADJECTIVES))
        form = lemma.removesuffix("us") + ENDINGS[gender, number][case]
        words = [noun, Word(form, lemma, "ADJ", f"Case={case}|Gender={gender}|Number={number}", "amod", noun)]
    elif chance < 0.4:
        words = [noun, _noun(str(rng.choice(FEMININE + MASCULINE)), "Gen", "Sing", "nmod", noun)]
    else:
        return [noun]
    return words if rng.random() < 0.5 else words[::-1]


def _noun(lemma: str, case: str, number: str, relation: str, head: Word, role: str = "_") -> Word:
    gender = "Fem" if lemma.endswith("a") else "Masc"
    stem = lemma.removesuffix("a").removesuffix("us")
    form = lemma if (lemma, case, number) == ("liber", "Nom", "Sing") else stem.replace("liber", "libr")
    if form != lemma or lemma != "liber":
        form += ENDINGS[gender, number][case]
    kind = "PROPN" if lemma[0].isupper() else "NOUN"
    return Word(form, lemma, kind, f"Case={case}|Gender={gender}|Number={number}", relation, head, role)


def conllu(words: Sequence[Word], *, roles: bool) -> str:
    """Return a sentence in CoNLL-U format, optionally with columns for the predicate and the semantic roles."""
    lines = [f"# text = {plain(words)}"]
    places = {id(word): place for place, word in enumerate(words, 1)}
    for (place, word), form in zip(enumerate(words, 1), _written(words), strict=True):
        head = places[id(word.head)] if word.head else 0
        columns = [place, form, word.lemma, word.upos, "_", word.features, head, word.relation, "_", "_"]
        columns += [f"{word.lemma}.01" if word.role == "V" else "_", word.role] if roles else []
        lines.append("\t".join(map(str, columns)))
    return "\n".join(lines) + "\n\n"


def plain(words: Sequence[Word]) -> str:
    """Return a sentence as plain text."""
    return " ".join(_written(words)).replace(" .", ".")
