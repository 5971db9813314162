"""Sentences of subject, verb and object: whether they are plausible (PEP-3K), how much two are alike (ELLDIS, ELLSIM).

The folder that ``POLYADIC_DATA`` names holds the files as published, under ``relations/svo``.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.datasets.place import check_count, folder, text
from polyadic.errors import InputError, check_choice
from polyadic.text.syntax.clauses import Clause

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

    Attributes
    ----------
    first, second : Clause
        Without the ellipsis.
    others : (str, str)
        Who does too, in the first and in the second.
    ratings : dict of str to float
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

    Parameters
    ----------
    root : path, optional
        See :func:`~polyadic.datasets.folder`.

    Returns
    -------
    events : list of Clause
        First the plausible ones.
    plausible : ndarray of bool

    Raises
    ------
    InputError
        If a file is absent or malformed, or does not hold the published number of events.

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

    Parameters
    ----------
    name : {"ELLDIS", "ELLSIM"}
    root : path, optional
        See :func:`~polyadic.datasets.folder`.

    Raises
    ------
    InputError
        If the file is absent or malformed, or does not hold the published number of judgements.

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
        found = [_ELLIPSIS.fullmatch(sentence) for sentence in fields[1:3]]
        if len(fields) != 4 or not all(found) or fields[3] not in set("1234567"):
            raise InputError(
                f"{where}, line {at}: expected participant, two elliptical sentences and a rating from 1 to 7"
            )
        (*one, other), (*two, another) = (match.groups() for match in found if match)
        pair = pairs.setdefault((fields[1], fields[2]), Elliptical(Clause(*one), Clause(*two), (other, another), {}))
        pair.ratings[fields[0]] = float(fields[3])
        judgements += 1
    check_count(where, len(pairs), ELLIPSES[name][0], "pairs of sentences")
    check_count(where, judgements, ELLIPSES[name][1], "judgements")
    return list(pairs.values())


def _events(path: Path) -> list[Clause]:
    found = []
    for at, line in enumerate(text(path).split("\n"), 1):
        words = line.split()
        if words and len(words) != 3:
            raise InputError(f"{path}, line {at}: expected subject, verb and object; got {line!r:.80}")
        if words:
            found.append(Clause(*words))
    check_count(path, len(found), EVENTS, "events")
    return found
