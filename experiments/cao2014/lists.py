"""The lists that are reranked: the 50 best trees of each sentence of the Penn Treebank sample.

Cao & Khudanpur take 50-best lists of the Charniak parser of sections 2 to 9, 24 and 23 of the Penn Treebank, of which
only 5 % may be had freely, all from sections 0 and 1. So the lists are made here: articles 1 to 149 of the sample to
train on, each fold parsed by a grammar of the others; 150 to 170 to choose settings by and 171 to 199 to judge with,
parsed by a grammar of all training sentences. The parser was tuned on the middle part.

References
----------
Cao, Khudanpur (2014), Online learning in tensor space, section 5. ACL
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.cao2014.candidates import (
    Candidates,
    jackknife,
    oracle_counts,
    propose,
    read_lists,
    selected_counts,
    write_lists,
)
from experiments.cao2014.groups import CandidateGroups, feature_groups, load_ranked, narrowed, save_ranked
from experiments.data.annotated import penn_sample
from polyadic.core.errors import InputError, check_int, check_number
from polyadic.core.files import made_folder
from polyadic.metrics.brackets import bracket_score
from polyadic.syntax.pcfg import PCFG

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from experiments.cao2014.features import Feature
    from polyadic.syntax.brackets import Phrase

ENDS = 149, 170
"""Last article of the training part, and of the one to choose settings by."""
PARTS = "train", "dev", "test"
BLOCKS = 10
"""Blocks of neighbouring sentences in each fold."""


class Parsed(NamedTuple):
    """Lists of candidates of each part."""

    train: list[Candidates]
    dev: list[Candidates]
    test: list[Candidates]


class Lists(NamedTuple):
    """Lists for rerankers: groups of each part, and the names of the features."""

    train: CandidateGroups
    dev: CandidateGroups
    test: CandidateGroups
    names: list[Feature]


def penn_parts(*, root: str | os.PathLike[str] | None = None) -> tuple[list[Phrase], list[Phrase], list[Phrase]]:
    """Return the trees of the three parts."""
    files = penn_sample(root=root)
    first, second = ENDS
    parts = files[:first], files[first:second], files[second:]
    train, dev, test = ([tree for file in part for tree in file] for part in parts)
    return train, dev, test


def parse_parts(
    train: Sequence[Phrase],
    dev: Sequence[Phrase],
    test: Sequence[Phrase],
    *,
    k: int = 50,
    folds: int = 10,
    threads: int = 1,
    parser: Callable[[], PCFG] = PCFG,
) -> Parsed:
    """Make the lists of the three parts: about 0.1 seconds a sentence.

    ``k``: Candidates of a sentence, at most. ``folds``: See :func:`~experiments.cao2014.candidates.jackknife`.
    ``threads``: Sentences parsed at the same time. ``parser``: Makes a parser that is not fitted.
    """
    lists = jackknife(train, folds=folds, k=k, threads=threads, parser=parser)
    fitted = parser().fit(train)
    return Parsed(lists, propose(fitted, dev, k=k, threads=threads), propose(fitted, test, k=k, threads=threads))


def save_parsed(folder: str | os.PathLike[str], parsed: Parsed) -> None:
    """Write ``train.jsonl.gz``, ``dev.jsonl.gz`` and ``test.jsonl.gz`` into a folder, made if it is not there."""
    with made_folder(Path(folder)):
        for name, lists in zip(PARTS, parsed, strict=True):
            write_lists(Path(folder) / f"{name}.jsonl.gz", lists)


def load_parsed(folder: str | os.PathLike[str]) -> Parsed:
    """Read what :func:`save_parsed` wrote."""
    return Parsed(*(list(read_lists(Path(folder) / f"{name}.jsonl.gz")) for name in PARTS))


def describe(parsed: Parsed) -> dict[str, dict[str, Any]]:
    """Return the sizes of each part, and the figures of the parser and the oracle."""
    return {
        name: {
            "sentences": len(lists),
            "candidates": sum(len(candidates.parses) for candidates in lists),
            "one_best": bracket_score(selected_counts(lists)).as_dict(),
            "oracle": bracket_score(oracle_counts(lists)).as_dict(),
        }
        for name, lists in zip(PARTS, parsed, strict=True)
    }


def featured(parsed: Parsed, *, least: int = 5) -> Lists:
    """Find the features of all candidates: some minutes.

    ``least``: Training sentences in which a feature must tell candidates apart.
    """
    (train, dev, test), names = feature_groups(parsed.train, parsed.dev, parsed.test, min_count=least)
    return Lists(train, dev, test, names)


def make_lists(
    train: Sequence[Phrase],
    dev: Sequence[Phrase],
    test: Sequence[Phrase],
    *,
    k: int = 50,
    folds: int = 10,
    least: int = 5,
    threads: int = 1,
) -> Lists:
    """Parse, and find features: :func:`parse_parts`, then :func:`featured`.

    ``k``, ``folds``, ``threads``: See :func:`parse_parts`. ``least``: See :func:`featured`.
    """
    return featured(parse_parts(train, dev, test, k=k, folds=folds, threads=threads), least=least)


def crossed(lists: Lists, folds: int, fold: int) -> Lists:
    """Divide the lists of all parts anew: one fold for testing, the next for development, the rest for training.

    All lists are of parsers that had not seen their sentences, so that any may be judged with. Sentences are dealt to
    folds in blocks of neighbours, so that a text is seldom in two, and each fold has some of every text that is long.

    ``folds``: One leaves the parts as they are. ``fold``: From 0.
    """
    if folds == 1:
        return lists
    check_int("folds", folds, low=3)
    check_int("fold", fold, low=0, high=folds - 1)
    whole = lists.train.concatenated(lists.dev, lists.test)
    blocks = np.array_split(np.arange(len(whole.groups)), folds * BLOCKS)
    test, dev, *train = (np.concatenate(blocks[(fold + at) % folds :: folds]) for at in range(folds))
    return Lists(whole.only(np.sort(np.concatenate(train))), whole.only(dev), whole.only(test), lists.names)


def portion(lists: Lists, share: float, *, seed: int = 0, least: int = 5) -> Lists:
    """Return a random share of the training sentences, with the features that occur in them.

    The shares of one seed contain one another. The parser stays the same, as in the paper: what grows is what the
    reranker learns from.

    ``share``: Of the training sentences, above 0 and at most 1. ``least``: As for :func:`featured`, and not below what
    it was there.
    """
    check_int("least", least, low=1)
    if check_number("share", share, above=True) > 1:
        raise InputError(f"share must be at most 1; got {share}", "share")
    total = len(lists.train.groups)
    drawn = np.random.default_rng(seed).permutation(total)[: max(1, round(share * total))]
    (train, dev, test), names = narrowed(
        lists.train.only(np.sort(drawn)), lists.dev, lists.test, names=lists.names, min_count=least
    )
    return Lists(train, dev, test, names)


def save_lists(folder: str | os.PathLike[str], lists: Lists, *, overwrite: bool = True) -> None:
    """Write the folders ``train``, ``dev`` and ``test`` into a folder, which is made if it is not there.

    ``overwrite``: Whether lists that are there are replaced.
    """
    with made_folder(Path(folder)):
        for name, ranked in zip(PARTS, (lists.train, lists.dev, lists.test), strict=True):
            save_ranked(Path(folder) / name, ranked, lists.names, overwrite=overwrite)


def load_lists(folder: str | os.PathLike[str]) -> Lists:
    """Read what :func:`save_lists` wrote."""
    (train, names), *others = [load_ranked(Path(folder) / name) for name in PARTS]
    if any(features != names for _, features in others):
        raise InputError(f"the parts in {folder} have different features")
    (dev, _), (test, _) = others
    return Lists(train, dev, test, names)
