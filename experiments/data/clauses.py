"""Data sets on verbs and their arguments, with human judgements.

Sentences of subject, verb and object: whether they are plausible (PEP-3K), how much two are alike (ELLDIS, ELLSIM).
Prepositional phrases: whether one belongs to the verb or to the noun before it.

The folder that ``POLYADIC_DATA`` names holds the files as published, under ``relations/svo`` and
``relations/ppattach``.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.data.verb_clauses import Clause
from polyadic.core.errors import InputError, check_choice
from polyadic.datasets.place import check_count, folder, text

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray

    Root = str | os.PathLike[str] | None

EVENTS = 1540
"""Plausible ones, and as many implausible."""
ELLIPSES = {"ELLDIS": (398, 9167), "ELLSIM": (432, 9842)}
"""Pairs of sentences, and judgements of them."""
_ELLIPSIS = re.compile(r"(\S+) (\S+) (\S+) and (\S+) does too")


class Elliptical(NamedTuple):
    """Two sentences such as *child write word and father does too*, and how alike people found them, from 1 to 7.

    ``first``, ``second``: Without the ellipsis. ``others``: Who does too, in the first and in the second. ``ratings``:
    By participant.
    """

    first: Clause
    second: Clause
    others: tuple[str, str]
    ratings: dict[str, float]

    @property
    def mean(self) -> float:
        """Mean rating."""
        return math.fsum(self.ratings.values()) / len(self.ratings)


def plausible_events(*, root: Root = None) -> tuple[list[Clause], NDArray[np.bool_]]:
    """Read the events of PEP-3K, and whether most of five people found each plausible: *cloth absorb oil*.

    References
    ----------
    Wang, Durrett, Erk (2018), Modeling semantic plausibility by injecting world knowledge.
    """
    where = folder(root) / "relations" / "svo"
    parts = [_events(where / name) for name in ("pos-all.txt", "neg-all.txt")]
    return parts[0] + parts[1], np.repeat([True, False], [len(part) for part in parts])


def ellipses(name: str, *, root: Root = None) -> list[Elliptical]:
    """Read pairs of transitive sentences with an ellipsis, and ratings of them.

    ``ELLDIS`` extends the verb disambiguation of Grefenstette and Sadrzadeh (2011): the two sentences of a pair differ
    in the verb alone. ``ELLSIM`` extends the similarity of Kartsaklis and Sadrzadeh (2013). What was rated are the
    longer sentences; each transitive pair is there with several others.

    References
    ----------
    Wijnholds, Sadrzadeh (2019), Evaluating composition models for verb phrase elliptical sentence embeddings.
    """
    check_choice("name", name, ELLIPSES)
    where = folder(root) / "relations" / "svo" / f"{name}.txt"
    pairs: dict[tuple[str, str], Elliptical] = {}
    judgements = 0
    heading, *lines = text(where).split("\n")
    if heading.split("\t") != ["participant", "sent1", "sent2", "score"]:
        raise InputError(f"{where}, line 1 must name the columns participant, sent1, sent2 and score; got {heading!r}")
    for at, line in enumerate(lines, 2):
        if not line.strip():
            continue
        fields = line.split("\t")
        matches = [_ELLIPSIS.fullmatch(sentence) for sentence in fields[1:3]]
        if len(fields) != 4 or not all(matches) or fields[3] not in set("1234567"):
            raise InputError(
                f"{where}, line {at}: expected participant, two elliptical sentences and a rating from 1 to 7"
            )
        (*first, other), (*second, another) = (match.groups() for match in matches if match)
        pair = pairs.setdefault(
            (fields[1], fields[2]), Elliptical(Clause(*first), Clause(*second), (other, another), {})
        )
        pair.ratings[fields[0]] = float(fields[3])
        judgements += 1
    check_count(where, len(pairs), ELLIPSES[name][0], "pairs of sentences")
    check_count(where, judgements, ELLIPSES[name][1], "judgements")
    return list(pairs.values())


def _events(path: Path) -> list[Clause]:
    events = []
    for at, line in enumerate(text(path).split("\n"), 1):
        words = line.split()
        if words and len(words) != 3:
            raise InputError(f"{path}, line {at}: expected subject, verb and object; got {line!r:.80}")
        if words:
            events.append(Clause(*words))
    check_count(path, len(events), EVENTS, "events")
    return events


SIZES = {"training": 20_801, "devset": 4_039, "test": 3_097}
"""Files, and how many phrases each holds."""

Words = tuple[str, str, str, str]


class Phrases(NamedTuple):
    """Phrases and where they belong.

    ``words``: Verb, noun, preposition and the noun after it: *ate pizza with anchovies*. ``verbal``: Whether the phrase
    of the preposition belongs to the verb, and not to the noun.
    """

    words: list[Words]
    verbal: NDArray[np.bool_]


class Attachment(NamedTuple):
    """Phrases for training, development and testing."""

    train: Phrases
    validation: Phrases
    test: Phrases


def attachment(*, root: Root = None) -> Attachment:
    """Read the phrases of the Wall Street Journal.

    References
    ----------
    Ratnaparkhi, Reynar, Roukos (1994), A maximum entropy model for prepositional phrase attachment.
    """
    where = folder(root) / "relations" / "ppattach"
    return Attachment(*(_phrases(where / name, size) for name, size in SIZES.items()))


def _phrases(path: Path, size: int) -> Phrases:
    words: list[Words] = []
    verbal = []
    for at, line in enumerate(text(path).split("\n"), 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 6 or fields[5] not in {"V", "N"}:
            raise InputError(f"{path}, line {at}: expected a number, four words, and V or N; got {line!r:.80}")
        words.append((fields[1], fields[2], fields[3], fields[4]))
        verbal.append(fields[5] == "V")
    check_count(path, len(words), size, "phrases")
    return Phrases(words, np.array(verbal))
