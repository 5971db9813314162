"""Synthetic Latin sentences with dependency trees and semantic roles, in free word order with case endings.

Nouns and verbs are combined at random, so that a parser can be learned in seconds. For demonstration only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

FEMININE = ("puella", "regina", "femina", "domina", "magistra", "Iulia", "Livia", "Cornelia")
MASCULINE = ("servus", "dominus", "amicus", "medicus", "discipulus", "lupus", "equus", "Marcus", "Quintus", "Titus")
THINGS = ("rosa", "epistula", "fabula", "corona", "sagitta", "hortus", "gladius", "liber")
PLACES = ("villa", "silva", "via", "insula", "hortus", "campus")
ADJECTIVES = ("bonus", "magnus", "parvus", "laetus", "novus", "clarus")
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
    """Word with its head, another word of the sentence by identity; None for the root."""

    form: str
    lemma: str
    upos: str
    features: str
    relation: str
    head: Word | None
    role: str = "_"


def sentence(rng: np.random.Generator) -> list[Word]:
    """Generate a sentence as its words in order; its first verb is the predicate."""
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
        *others, place = _phrase(rng, PLACES, "Abl", "Sing", "obl", verb, "ARGM-LOC", alone=True)
        phrases.append([Word("in", "in", "ADP", "_", "case", place), *others, place])
    order = rng.permutation(len(phrases)).tolist()
    words = [word for at in order for word in phrases[at]]
    if rng.random() < 0.3:  # an adverb stands before its verb
        adverb = str(rng.choice(ADVERBS))
        role = "ARGM-NEG" if adverb == "non" else "ARGM-TMP"
        at = words.index(verb)
        words.insert(at, Word(adverb, adverb, "ADV", "_", "advmod", verb, role))
    return [*words, Word(".", ".", "PUNCT", "_", "punct", verb)]


def _written(words: Sequence[Word]) -> list[str]:
    """Return the forms, with the first one capitalized."""
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
    """Generate a noun, optionally with an adjective or a genitive on either side."""
    number = number or ("Plur" if rng.random() < 0.3 else "Sing")
    noun = _noun(str(rng.choice(lemmas)), case, number, relation, head, role)
    gender = "Fem" if "Gender=Fem" in noun.features else "Masc"
    chance = 1.0 if alone else rng.random()
    if chance < 0.25:
        lemma = str(rng.choice(ADJECTIVES))
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
    """Return a sentence in CoNLL-U format; with ``roles``, with columns for the predicate and its arguments."""
    lines = [f"# text = {plain(words)}"]
    places = {id(word): place for place, word in enumerate(words, 1)}
    for (place, word), form in zip(enumerate(words, 1), _written(words), strict=True):
        head = places[id(word.head)] if word.head else 0
        columns = [place, form, word.lemma, word.upos, "_", word.features, head, word.relation, "_", "_"]
        columns += [f"{word.lemma}.01" if word.role == "V" else "_", word.role] if roles else []
        lines.append("\t".join(map(str, columns)))
    return "\n".join(lines) + "\n\n"


def plain(words: Sequence[Word]) -> str:
    """Return the sentence as text."""
    return " ".join(_written(words)).replace(" .", ".")
