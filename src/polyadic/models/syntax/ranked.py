"""Groups of candidate trees with the counts that figures are made of, their parts, and the folder they are kept in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.errors import InputError, check_int
from polyadic.files import damage_told, read_arrays, read_meta, whole_folder, write_meta
from polyadic.groups import Groups

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    from polyadic.text.syntax.rerank_features import Feature

KIND, VERSION = "candidates", 1


class Ranked(NamedTuple):
    """Groups of candidates, and the brackets of each.

    Attributes
    ----------
    groups : Groups
        With 1 - F of each candidate as its cost; of dependencies, the share of words with a wrong head.
    counts : ndarray of int64 of shape (candidates, 5), of dependencies (candidates, 2)
        ``bracket_score(counts[choice])`` of :mod:`polyadic.metrics.brackets` gives the figures of a corpus for whatever
        is chosen; of dependencies they are words with the right head, and words.
    """

    groups: Groups
    counts: NDArray[np.int64]

    @property
    def one_best(self) -> NDArray[np.int64]:
        """The first candidate of each group: the parser's own choice."""
        return self.groups.starts[:-1]

    def only(self, groups: ArrayLike) -> Ranked:
        """Give the groups of these numbers, in this order."""
        at = np.asarray(groups, np.int64)
        rows = [np.arange(self.groups.starts[one], self.groups.starts[one + 1]) for one in at.tolist()]
        return Ranked(self.groups.only(at), self.counts[np.concatenate(rows)])


def narrowed(
    training: Ranked, *others: Ranked, names: Sequence[Feature], least: int = 5
) -> tuple[list[Ranked], list[Feature]]:
    """Keep the features that tell candidates of enough training sentences apart, and the first in any case.

    Of a part of the training sentences this gives the features that would have been found with that part alone, if
    ``least`` is not below what it was then.

    Parameters
    ----------
    training : Ranked
        Which features are kept, these tell.
    *others : Ranked
        Groups with the same features.
    names : sequence of tuple
        Of the features.
    least : int
        Sentences in which a feature must tell candidates apart.
    """
    check_int("least", least, low=1)
    X = training.groups.features
    group = np.repeat(np.arange(len(training.groups)), np.diff(training.groups.starts))
    pairs = np.unique(X.indices * np.int64(len(training.groups)) + np.repeat(group, np.diff(X.indptr)))
    kept = np.bincount(pairs // len(training.groups), minlength=X.shape[1]) >= least
    kept[0] = True
    columns = np.flatnonzero(kept)
    parts = [
        Ranked(Groups(part.groups.features[:, columns], part.groups.costs, part.groups.starts), part.counts)
        for part in (training, *others)
    ]
    return parts, [names[at] for at in columns.tolist()]


def save_ranked(
    path: str | os.PathLike[str], ranked: Ranked, names: Sequence[Feature], *, overwrite: bool = False
) -> None:
    """Write groups and the names of their features into a folder, whole.

    Raises
    ------
    InputError
        If the folder exists and may not be replaced.
    """
    from safetensors.numpy import save

    groups, counts = ranked
    X = groups.features
    arrays = {"indptr": X.indptr.astype(np.int64), "indices": X.indices.astype(np.int32), "data": X.data}
    with whole_folder(path, kind=KIND, overwrite=overwrite) as draft:
        content = save({**arrays, "costs": groups.costs, "starts": groups.starts, "counts": counts})
        (draft / "arrays.safetensors").write_bytes(content)
        text = "".join(json.dumps(name, ensure_ascii=False) + "\n" for name in names)
        (draft / "features.jsonl").write_text(text, encoding="utf-8")
        write_meta(draft, KIND, VERSION, features=len(names), groups=len(groups))


def load_ranked(path: str | os.PathLike[str]) -> tuple[Ranked, list[Feature]]:
    """Read what :func:`save_ranked` wrote.

    Raises
    ------
    InputError
        If it is no such folder, or damaged.
    """
    from scipy.sparse import csr_array

    folder = Path(path)
    meta = read_meta(folder, KIND, VERSION)
    with damage_told(folder):
        held = read_arrays(folder)
        text = (folder / "features.jsonl").read_text(encoding="utf-8")  # a word may hold what splitlines cuts at
        names: list[Feature] = [tuple(json.loads(line)) for line in text.removesuffix("\n").split("\n")]
        shape = len(held["indptr"]) - 1, len(names)
        features: csr_array = csr_array((held["data"], held["indices"], held["indptr"]), shape=shape)
        features.check_format(full_check=True)  # products would read beyond the arrays
        counts = held["counts"]
        if len(names) != meta["features"] or counts.dtype != np.int64 or len(counts) != shape[0]:
            raise InputError("names, counts and features do not fit")
        return Ranked(Groups(features, held["costs"], held["starts"]), counts), names
