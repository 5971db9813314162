"""The two tasks: constituents and dependencies, each from a treebank to lists of candidates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.cao2014.candidates import jackknife_dependencies, propose_dependencies
from experiments.cao2014.groups import feature_groups
from experiments.cao2014.lists import Lists, describe, featured, parse_parts, penn_parts
from experiments.data.annotated import web_treebank
from polyadic.core.stage_cache import whole
from polyadic.syntax.dependency import ArcFactored

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from polyadic.core.stage_cache import Facts

    Root = str | os.PathLike[str] | None

EVERY = 4
"""One in this many sentences of the Web Treebank is for training, as many as the other task has."""


def penn(*, k: int, seed: int, root: Root = None) -> tuple[Lists, Facts]:
    """Make lists of constituents of the Penn Treebank sample.

    ``k``: Candidates of a sentence, at most. ``seed``: Not used.
    """
    del seed
    parsed = parse_parts(*penn_parts(root=root), k=k)
    lists = featured(parsed)
    return lists, {"features": len(lists.names), **describe(parsed)}


def ewt(*, k: int, seed: int, root: Root = None) -> tuple[Lists, Facts]:
    """Make lists of dependencies of the English Web Treebank, by a first-order parser; likewise.

    ``seed``: Of the parser.
    """

    def parser() -> ArcFactored:
        return ArcFactored(seed=seed)

    train, dev, test = (web_treebank(part, root=root)[::EVERY] for part in ("train", "dev", "test"))
    fitted = whole(parser().fit(train))
    parts = [jackknife_dependencies(train, k=k, parser=parser)]
    parts += [propose_dependencies(fitted, trees, k=k) for trees in (dev, test)]
    groups, names = feature_groups(*parts)
    sizes = {
        name: {"sentences": len(part.groups), "candidates": len(part.groups.costs)}
        for name, part in zip(("train", "dev", "test"), groups, strict=True)
    }
    first, second, third = groups
    return Lists(first, second, third, names), {"features": len(names), **sizes}


TASKS: dict[str, Callable[..., tuple[Lists, Facts]]] = {"penn": penn, "ewt": ewt}
