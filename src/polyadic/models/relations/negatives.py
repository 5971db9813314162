"""Zeros drawn for a table of which only positive cells are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyadic.data import Entries

if TYPE_CHECKING:
    from polyadic.models.relations.tables import Relation


def with_negatives(entries: Entries, relation: Relation, rng: np.random.Generator) -> Entries:
    """Add unlisted cells as zeros: copies of listed ones with one entity replaced by any of its type.

    As many as ``relation.negatives`` for each listed cell, less those that happen to be listed or drawn before.
    """
    order, shape = entries.order, np.array(entries.shape, np.int64)
    drawn = np.repeat(np.asarray(entries.indices, np.int64), relation.negatives, axis=0)
    mode = rng.integers(0, order, len(drawn))
    drawn[np.arange(len(drawn)), mode] = (rng.random(len(drawn)) * shape[mode]).astype(np.int64)
    for entity in {e for e in relation.entities if relation.entities.count(e) > 1}:
        modes = [d for d, other in enumerate(relation.entities) if other == entity]
        drawn[:, modes] = np.sort(drawn[:, modes], axis=1)[:, ::-1]
        drawn = drawn[(np.diff(drawn[:, modes], axis=1) != 0).all(axis=1)]
    drawn = np.unique(drawn, axis=0)
    both = np.concatenate([np.asarray(entries.indices, np.int64), drawn])
    _, first = np.unique(both, axis=0, return_index=True)
    new = drawn[first[first >= len(entries)] - len(entries)]
    weights = None if entries.weights is None else np.concatenate([entries.weights, np.ones(len(new))])
    return Entries(
        np.concatenate([np.asarray(entries.indices, np.int64), new]),
        np.concatenate([entries.values, np.zeros(len(new))]),
        entries.shape,
        weights,
        unlisted="missing",
    )
