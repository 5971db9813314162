"""Pairs of entities in the New York Times and what Freebase says of them: the public part of Riedel and others (2013).

The matrix that the systems were trained on is under licence. Public are 10,000 pairs of its test part with what the
text says of them, judgements of what systems said, and the rankings of three systems.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyadic.datasets.knowledge import knowledge
from polyadic.datasets.place import check_count, folder, text
from polyadic.errors import InputError, check_choice
from polyadic.text.relations.schema import Schema, schema_of

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator

    Root = str | os.PathLike[str] | None
    Pair = tuple[str, str]

KINDS = {
    "path": "path#",
    "trigger": "trigger#",
    "words": "lex#",
    "left": "lc#",
    "right": "rc#",
    "tags": "pos#",
    "types": "ner#",
    "freebase": "REL$",
}
"""What is said of a pair, and how it is marked: the path of dependencies between mentions, the word on it, words
between them, before and after, parts of speech, types of entities, and relations of Freebase."""
UNRELATED = "REL$NA"
"""Said of a pair that Freebase does not relate: no predicate."""
TUPLES, LABELLED, JUDGEMENTS = 10_000, 2_048, 18_782
"""Published sizes; judgements with those that were made twice."""
TARGETS = (
    "/business/person/company",
    "/location/location/containedby",
    "/people/person/nationality",
    "/book/author/works_written",
    "/organization/parent/child",
    "/people/deceased_person/place_of_death",
    "/people/person/place_of_birth",
    "/location/neighborhood/neighborhood_of",
    "/people/person/parents",
    "/business/company/founders",
    "/film/film/directed_by",
    "/sports/sports_team/league",
    "/sports/sports_team/arena_stadium",
    "/sports/sports_team_owner/teams_owned",
    "/broadcast/broadcast/area_served",
    "/architecture/structure/architect",
    "/music/composer/compositions",
    "/people/person/religion",
    "/film/film/produced_by",
)
"""The relations that were measured; in the files each begins with ``REL$``."""
SYSTEMS = {"mintz09": 2_048, "yao11": 2_048, "surdeanu12": 1_214}
"""Systems whose rankings are public, and how many pairs they name."""


def nyt_pairs(
    *,
    kinds: Collection[str] = ("path", "trigger", "words", "left", "right", "tags", "types"),
    labelled: bool = False,
    root: Root = None,
) -> Schema:
    """Read pairs of the test part with what is said of them.

    Parameters
    ----------
    kinds : collection of str
        Of :data:`KINDS`, which predicates to keep. Pairs that have none of them are kept, as empty rows.
    labelled : bool
        Only the 2,048 pairs whose entities Freebase knows; 84 of them it relates.
    root : path, optional
        See :func:`~polyadic.datasets.folder`; the files are in ``relations/universal-schema``.

    Raises
    ------
    InputError
        If a kind is unknown, the file cannot be read, or it does not have its published size.
    """
    for kind in kinds:
        check_choice("kind", kind, KINDS)
    marks = tuple(KINDS[kind] for kind in kinds)
    name = f"nyt-freebase.test.subsample-10000{'-LABELED' if labelled else ''}.tuples.txt"
    path = folder(root) / "relations/universal-schema/naacl2013" / name
    lines = [line.split("\t") for line in text(path).split("\n") if line.strip()]
    check_count(path, len(lines), LABELLED if labelled else TUPLES, "pairs")
    for number, fields in enumerate(lines, 1):
        if len(fields) < 3:
            raise InputError(f"{path}, line {number}: expected a label, subject, object and predicates between tabs")
    facts = [(subject, object_, told) for _, subject, object_, *said in lines for told in said]
    kept = dict.fromkeys(told for _, _, told in facts if told.startswith(marks) and told != UNRELATED)
    return schema_of(facts, predicates=list(kept))


def judgements(*, root: Root = None) -> dict[str, dict[Pair, bool]]:
    """Read what people judged to be true or false, by predicate and pair; of two judgements the later one counts.

    Raises
    ------
    InputError
        If the file cannot be read, a line is malformed, or it does not have its published size.
    """
    path = folder(root) / "relations/universal-schema/naacl2013/naacl2013.gold.tsv"
    found: dict[str, dict[Pair, bool]] = {}
    count = 0
    for line in text(path).split("\n"):
        if line.strip():
            count += 1
            fields = line.split("\t")
            if len(fields) < 4 or fields[0] not in {"0", "1"}:
                raise InputError(f"{path}: expected 0 or 1, predicate, subject and object between tabs; got {line!r}")
            found.setdefault(fields[1], {})[fields[2], fields[3]] = fields[0] == "1"
    check_count(path, count, JUDGEMENTS, "judgements")
    return found


def rankings(system: str, *, root: Root = None) -> dict[str, list[Pair]]:
    """Read the pairs that a system names for each relation, the best first.

    Parameters
    ----------
    system : str
        One of :data:`SYSTEMS`.
    root : path, optional

    Raises
    ------
    InputError
        If the system is unknown, or its file cannot be read or does not have its published size.
    """
    check_choice("system", system, SYSTEMS)
    path = folder(root) / f"relations/universal-schema/naacl2013/structured/test-{system}.txt"
    lines = [line.split("\t") for line in text(path).split("\n") if line.strip()]
    check_count(path, len(lines), SYSTEMS[system], "pairs")
    found: dict[str, list[Pair]] = {}
    for number, fields in enumerate(lines, 1):
        if len(fields) != 5:
            raise InputError(f"{path}, line {number}: expected score, subject, object and two relations between tabs")
        found.setdefault(fields[4], []).append((fields[1], fields[2]))
    return found


def freebase_pairs(*, paths: int | None = 10, hub: int = 50, root: Root = None) -> Schema:
    """Read FB15k-237, all three parts, as pairs and relations, with chains of two relations in the place of text.

    The published parts serve another task: no pair of the test part is in the training part. A chain, such as
    ``born_in . in``, says of a pair that some third entity stands between them; like a pattern of text it is often
    true where a relation is, and often not. A relation against its direction bears ``^-1``.

    Parameters
    ----------
    paths : int, optional
        Chains are kept that hold of so many pairs; None leaves chains out.
    hub : int
        Entities that more facts than these mention stand between nothing: they connect everything.
    root : path, optional
        See :func:`~polyadic.datasets.folder`.

    Raises
    ------
    InputError
        If the files cannot be read.
    """
    base = knowledge("FB15k-237", root=root)
    facts = [fact for part in (base.train, base.validation, base.test) for fact in part.tolist()]
    names = [(base.entities[s], base.entities[o], base.relations[r]) for s, r, o in facts]
    if paths is None:
        return schema_of(names)
    related = {(s, o) for s, _, o in facts}
    chains: dict[str, dict[tuple[int, int], None]] = {}
    for s, o, chain in _chains(facts, base.relations, related, hub):
        chains.setdefault(chain, {})[s, o] = None
    for chain, pairs in chains.items():
        if len(pairs) >= paths:
            names += [(base.entities[s], base.entities[o], chain) for s, o in pairs]
    return schema_of(names)


def _chains(
    facts: list[list[int]], relations: list[str], related: set[tuple[int, int]], hub: int
) -> Iterator[tuple[int, int, str]]:
    """Give the pairs that are related and have a third entity between them, with both relations to it."""
    around: dict[int, list[tuple[int, str, str]]] = {}
    for s, r, o in facts:
        if s != o:
            around.setdefault(o, []).append((s, relations[r], f"{relations[r]}^-1"))
            around.setdefault(s, []).append((o, f"{relations[r]}^-1", relations[r]))
    for middle in around.values():
        if len(middle) <= hub:
            for s, towards, _ in middle:
                for o, _, onwards in middle:
                    if (s, o) in related:
                        yield s, o, f"{towards} . {onwards}"
