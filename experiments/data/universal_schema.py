"""Universal schemas, published and planted: pairs of entities, textual patterns and relations.

Pairs in the New York Times and what Freebase says of them are the public part of Riedel and others (2013). The matrix
that the systems were trained on is under licence. Public are 10,000 pairs of its test part with what the text says of
them, judgements of what systems said, and the rankings of three systems.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from experiments.data.knowledge import knowledge
from polyadic.core.errors import InputError, check_choice, check_int, check_number
from polyadic.datasets.place import check_count, folder, text
from polyadic.relations.formulas import Atom, Formula, Implies, Not, Rule, SourceLocation
from polyadic.relations.rules import parse_rule
from polyadic.relations.schema import Schema, schema_of

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

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
    """Read pairs of the test part with their predicates.

    ``kinds``: Of :data:`KINDS`, which predicates to keep. Pairs that have none of them are kept, as empty rows.
    ``labelled``: Only the 2,048 pairs whose entities Freebase knows; 84 of them it relates.
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
    facts = [(subject, object_, predicate) for _, subject, object_, *said in lines for predicate in said]
    kept = dict.fromkeys(name for _, _, name in facts if name.startswith(marks) and name != UNRELATED)
    return schema_of(facts, predicates=list(kept))


def judgements(*, root: Root = None) -> dict[str, dict[Pair, bool]]:
    """Read human judgements by predicate and pair; of two judgements the later one counts."""
    path = folder(root) / "relations/universal-schema/naacl2013/naacl2013.gold.tsv"
    judged: dict[str, dict[Pair, bool]] = {}
    count = 0
    for line in text(path).split("\n"):
        if line.strip():
            count += 1
            fields = line.split("\t")
            if len(fields) < 4 or fields[0] not in {"0", "1"}:
                raise InputError(f"{path}: expected 0 or 1, predicate, subject and object between tabs; got {line!r}")
            judged.setdefault(fields[1], {})[fields[2], fields[3]] = fields[0] == "1"
    check_count(path, count, JUDGEMENTS, "judgements")
    return judged


def rankings(system: str, *, root: Root = None) -> dict[str, list[Pair]]:
    """Read the pairs that a system names for each relation, the best first.

    ``system``: One of :data:`SYSTEMS`.
    """
    check_choice("system", system, SYSTEMS)
    path = folder(root) / f"relations/universal-schema/naacl2013/structured/test-{system}.txt"
    lines = [line.split("\t") for line in text(path).split("\n") if line.strip()]
    check_count(path, len(lines), SYSTEMS[system], "pairs")
    ranked: dict[str, list[Pair]] = {}
    for number, fields in enumerate(lines, 1):
        if len(fields) != 5:
            raise InputError(f"{path}, line {number}: expected score, subject, object and two relations between tabs")
        ranked.setdefault(fields[4], []).append((fields[1], fields[2]))
    return ranked


def freebase_pairs(*, paths: int | None = 10, hub: int = 50, root: Root = None) -> Schema:
    """Read FB15k-237, all three parts, as pairs and relations, with chains of two relations in the place of text.

    The published parts serve another task: no pair of the test part is in the training part. A chain, such as
    ``born_in . in``, says of a pair that some third entity stands between them; like a pattern of text it is often
    true where a relation is, and often not. A relation against its direction bears ``^-1``.

    ``paths``: Chains are kept that hold of so many pairs; None leaves chains out. ``hub``: Entities that more facts
    than these mention stand between nothing: they connect everything.
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
    """Return the pairs that are related and have a third entity between them, with both relations to it."""
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


RANK = 10
"""Of planted factors."""
DENSITY = 0.1
"""Share of the pairs of which a planted relation holds."""


class Planted(NamedTuple):
    """A planted schema and its held-out truth.

    ``schema``: What is told. ``rules``: One for each relation: what its first pattern says implies it. ``held``: Rows
    of the schema of which no relation is told. ``truth``: What holds of them.
    """

    schema: Schema
    rules: list[Rule]
    relations: list[str]
    held: NDArray[np.int64]
    truth: NDArray[np.bool_]


def planted_schema(
    pairs: int = 4000,
    *,
    relations: int = 8,
    patterns: int = 5,
    recall: float = 0.3,
    confidence: float = 0.9,
    told: float = 0.0,
    seed: int | None = None,
) -> Planted:
    r"""Return drawn pairs of entities, relations between them, and less reliable patterns of each relation.

    A relation :math:`t` holds of the tenth of the pairs :math:`r` with the largest :math:`u_r \cdot v_t`, of vectors of
    10 normal numbers. A pattern of a relation is found with some of the pairs of which it holds, and with a few others.
    Of every other relation the first pattern has subject and object swapped, and so has its rule.

    ``pairs``: In one order; those of swapped patterns come on top. A quarter is held out. ``patterns``: Of each
    relation. ``recall``: Share of the pairs of a relation with which a pattern is found. ``confidence``: Share of the
    pairs with which a pattern is found of which the relation holds: how often its rule is right. ``told``: Share of the
    facts of relations that are told of pairs that are not held out; 0 for relations of which no fact is known.

    Examples
    --------
    >>> made = planted_schema(400, relations=2, told=0.5, seed=0)
    >>> [str(rule) for rule in made.rules], made.truth.shape
    (['pattern0.0(x, y) => relation0(x, y)', 'pattern1.0(y, x) => relation1(x, y)'], (100, 2))
    """
    for name, number, low in (("pairs", pairs, 40), ("relations", relations, 1), ("patterns", patterns, 1)):
        check_int(name, number, low=low)
    for name, share in (("recall", recall), ("confidence", confidence), ("told", told)):
        if check_number(name, share, above=name != "told") > 1:
            raise InputError(f"{name} is a share of at most 1; got {share}")
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((pairs, RANK)) @ rng.standard_normal((RANK, relations))
    truth = scores >= np.quantile(scores, 1 - DENSITY, axis=0)
    hidden = np.sort(rng.permutation(pairs)[: pairs // 4])
    shown = truth & (rng.random(truth.shape) < told)
    shown[hidden] = False
    columns, swapped = {f"relation{t}": np.flatnonzero(shown[:, t]) for t in range(relations)}, []
    for t, k in product(range(relations), range(patterns)):
        columns[f"pattern{t}.{k}"] = _found(truth[:, t], recall, confidence, rng)
        swapped += [f"pattern{t}.{k}"] * (k == 0 and t % 2)
    rules = [parse_rule(f"pattern{t}.0({'y, x' if t % 2 else 'x, y'}) => relation{t}(x, y)") for t in range(relations)]
    return Planted(
        _schema(_pairs(pairs, rng), columns, swapped), rules, list(columns)[:relations], hidden, truth[hidden]
    )


def _found(truth: NDArray[np.bool_], recall: float, confidence: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw the pairs with which a pattern is found."""
    right = np.flatnonzero(truth & (rng.random(len(truth)) < recall))
    others = rng.permutation(np.flatnonzero(~truth))
    return np.concatenate([right, others[: round(len(right) * (1 - confidence) / confidence)]])


def _pairs(number: int, rng: np.random.Generator) -> list[tuple[str, str]]:
    """Draw pairs, none of which is the reverse of another."""
    entities = int(np.ceil(2 * np.sqrt(number)))
    ends = np.transpose(np.triu_indices(entities, 1))
    return [(f"e{s}", f"e{o}") for s, o in ends[rng.permutation(len(ends))[:number]].tolist()]


def _schema(pairs: list[tuple[str, str]], columns: dict[str, NDArray[np.int64]], swapped: list[str]) -> Schema:
    """Return the schema of the shown cells; pairs of swapped columns are reversed."""
    rows = {pair: row for row, pair in enumerate(pairs)}
    cells = []
    for column, (name, at_rows) in enumerate(columns.items()):
        for row in at_rows.tolist():
            pair = pairs[row][::-1] if name in swapped else pairs[row]
            cells.append((rows.setdefault(pair, len(rows)), column))
    if not cells:
        raise InputError("no fact would be in the training data; use more pairs or a higher recall")
    at = np.array(cells, np.int64).T
    shape = len(rows), len(columns)
    matrix = csr_array((np.ones(len(cells)), (at[0], at[1])), shape=shape)
    matrix.sort_indices()
    return Schema(list(rows), list(columns), matrix)


def read_published_rules(
    path: str | os.PathLike[str], *, inverses: Literal["swapped", "columns"] = "swapped"
) -> list[Rule]:
    """Read rules in the published format: implications between predicates without variables.

    Lines are ``premise => conclusion`` or ``premise => !conclusion``; ``//`` begins a comment line. A premise that ends
    in ``:INV`` has swapped variables, or a name with that mark for schemas with such columns (``inverses="columns"``).

    References
    ----------
    Rocktäschel, Singh, Riedel (2015), Injecting logical background knowledge into embeddings for relation extraction.
    """
    rules = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip() or line.startswith("//"):
            continue
        sides = line.split(" => ")
        if len(sides) != 2 or not all(side.strip() for side in sides):
            raise InputError(f"{path}, line {number}: expected 'premise => conclusion'; got {line.strip()!r:.80}")
        atoms: list[Formula] = []
        for side, start in zip(sides, (0, len(sides[0]) + 4), strict=True):
            name = side.strip().removeprefix("!")
            swapped = inverses == "swapped" and name.endswith(":INV")
            place = SourceLocation(str(path), number, start + 1 + side.find(name))
            atom = Atom(name.removesuffix(":INV") if swapped else name, ("y", "x") if swapped else ("x", "y"), place)
            atoms.append(Not(atom) if side.strip().startswith("!") else atom)
        rules.append(Rule(Implies(*atoms), place=SourceLocation(str(path), number, 1)))
    return rules
