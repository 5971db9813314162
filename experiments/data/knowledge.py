"""Knowledge graphs: Kinship, UMLS, Nations, Countries, FB15k-237 and WN18RR.

A fact is a triple of subject, relation and object. Entities and relations are numbered from 0 in the order of their
names, over all parts of a set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.data.matlab import matlab
from polyadic.core.errors import InputError, check_choice
from polyadic.datasets.place import check_count, folder
from polyadic.relations.facts import named_facts

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray

    Root = str | os.PathLike[str] | None
    Triple = tuple[str, str, str]

PARTS = "train", "valid", "test"


class Size(NamedTuple):
    """Published size of a set: entities, relations, and triples of each part."""

    entities: int
    relations: int
    train: int
    validation: int = 0
    test: int = 0


KNOWLEDGE = {
    "alyawarra": Size(104, 26, 10_790),
    "kinship": Size(104, 25, 8_544, 1_068, 1_074),
    "umls": Size(135, 46, 5_216, 652, 661),
    "nations": Size(14, 55, 1_592, 199, 201),
    "countries_S1": Size(271, 2, 1_111, 24, 24),
    "countries_S2": Size(271, 2, 1_063, 24, 24),
    "countries_S3": Size(271, 2, 985, 24, 24),
    "FB15k-237": Size(14_541, 237, 272_115, 17_535, 20_466),
    "WN18RR": Size(40_943, 11, 86_835, 3_034, 3_134),
}
"""Names and sizes of the sets; ``alyawarra`` has one part."""


class Knowledge(NamedTuple):
    """Facts to learn from, to choose a model by, and to predict.

    ``train``, ``validation``, ``test``: Subject, relation and object of each, in the order of the file. ``entities``,
    ``relations``: Names by number, sorted.
    """

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]
    entities: list[str]
    relations: list[str]


def knowledge(name: str, *, root: Root = None) -> Knowledge:
    """Read a set of facts.

    ``alyawarra`` holds all terms of kinship that were recorded, without a split; ``kinship`` is the same without
    term 23, which each person used of nobody but himself, and split. Both name persons and terms alike.

    ``name``: One of :data:`KNOWLEDGE`.

    References
    ----------
    Denham (1973), The detection of patterns in Alyawarra nonverbal behavior. Kemp, Tenenbaum, Griffiths, Yamada, Ueda
    (2006), Learning systems of concepts with an infinite relational model (Kinship, UMLS, Nations). Bouchard, Singh,
    Trouillon (2015), On approximate reasoning capabilities of low-rank vector spaces (Countries). Toutanova, Chen
    (2015), Observed versus latent features for knowledge base and text inference (FB15k-237). Dettmers, Minervini,
    Stenetorp, Riedel (2018), Convolutional 2D knowledge graph embeddings (WN18RR, and the splits of the first three).
    """
    check_choice("name", name, KNOWLEDGE)
    where = folder(root) / "relations"
    if name == "alyawarra":
        where /= "alyawarradata.mat"
        parts: list[list[Triple]] = [_cells(where), [], []]
    else:
        where = where / "countries" / name if name.startswith("countries") else where / name
        parts = [[fact for _, fact in named_facts(where / f"{part}.txt")] for part in PARTS]
    entities = sorted({end for part in parts for subject, _, object_ in part for end in (subject, object_)})
    relations = sorted({relation for part in parts for _, relation, _ in part})
    size = Size(len(entities), len(relations), *map(len, parts))
    for count, published, what in zip(size, KNOWLEDGE[name], Size._fields, strict=True):
        check_count(where, count, published, what if what in {"entities", "relations"} else f"{what} triples")
    ends, kinds = ({named: at for at, named in enumerate(names)} for names in (entities, relations))
    numbered = [[(ends[s], kinds[r], ends[o]) for s, r, o in part] for part in parts]
    train, validation, test = (np.array(part, np.int64).reshape(-1, 3) for part in numbered)
    return Knowledge(train, validation, test, entities, relations)


def _cells(path: Path) -> list[Triple]:
    """Read the ones of a MATLAB array ``Rs`` of persons, persons and terms."""
    with matlab(path, "an array Rs") as arrays:
        array = arrays["Rs"]
    if array.ndim != 3 or array.shape[0] != array.shape[1]:
        raise InputError(f"{path}: expected persons x persons x terms; got an array of shape {array.shape}")
    return [(f"person{i}", f"term{k}", f"person{j}") for i, j, k in np.argwhere(array).tolist()]
