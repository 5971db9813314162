"""Training data of a reranker: features and costs of candidate trees, and their storage.

Only differences between the candidates of a sentence matter, so the smallest value of each feature in a list is
subtracted. Features are kept if they distinguish candidates of enough training sentences (five in Charniak & Johnson
2005).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from experiments.cao2014.features import SCORE, Feature
from polyadic.core.errors import InputError, check_int
from polyadic.core.files import check_whole, damage_as_input_error, read_meta, whole_folder, write_meta
from polyadic.core.progress import tracked
from polyadic.core.query_groups import QueryGroups

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array


KIND, VERSION = "candidates", 1


class CandidateGroups(NamedTuple):
    """QueryGroups of candidates with the match counts of each candidate.

    Attributes
    ----------
    groups : QueryGroups
        Features and costs: 1 - F of each candidate, or for dependencies the share of words with a wrong head.
    counts : ndarray of int64 of shape (candidates, 5), or (candidates, 2) for dependencies
        Input of ``bracket_score(counts[choice])`` of :mod:`polyadic.metrics.brackets`; for dependencies the number of
        words with the correct head, and of words.
    """

    groups: QueryGroups
    counts: NDArray[np.int64]

    @property
    def one_best(self) -> NDArray[np.int64]:
        """First candidate of each group: the parser's own choice."""
        return self.groups.starts[:-1]

    def only(self, groups: ArrayLike) -> CandidateGroups:
        """Return the groups with the given indices, in this order."""
        at = np.asarray(groups, np.int64)
        rows = [np.arange(self.groups.starts[group], self.groups.starts[group + 1]) for group in at.tolist()]
        return CandidateGroups(self.groups.only(at), self.counts[np.concatenate(rows)])

    def concatenated(self, *others: CandidateGroups) -> CandidateGroups:
        """Concatenate groups with the same features."""
        from scipy.sparse import vstack

        every = (self, *others)
        sizes = np.concatenate([np.diff(each.groups.starts) for each in every])
        groups = QueryGroups(
            vstack([each.groups.features for each in every], format="csr"),
            np.concatenate([each.groups.costs for each in every]),
            np.r_[0, np.cumsum(sizes)],
        )
        return CandidateGroups(groups, np.concatenate([each.counts for each in every]))


class CandidateList(Protocol):
    """Protocol of the candidates of a sentence."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """Match counts of each candidate."""

    @property
    def costs(self) -> NDArray[np.float64]:
        """Cost of each candidate."""

    def describe(self, number: Callable[[Feature], int]) -> tuple[list[NDArray[np.int64]], list[dict[Feature, float]]]:
        """Return the ids of the counted features and the values of the real-valued features of each candidate."""


def feature_groups(
    training: Sequence[CandidateList], *others: Sequence[CandidateList], min_count: int = 5
) -> tuple[list[CandidateGroups], list[Feature]]:
    """Compute the features of candidate lists; those of the training lists define the feature set.

    A feature is kept if it distinguishes candidates of at least ``min_count`` training sentences. The first feature is
    the parser's own score.
    """
    check_int("min_count", min_count, low=1)
    if not training:
        raise InputError("there are no training lists")
    numbers: dict[Feature, int] = {SCORE: 0}
    rows = [
        _sentence(listed, lambda name: numbers.setdefault(name, len(numbers)))
        for listed in tracked(training, "features")
    ]
    telling = np.bincount(np.concatenate([np.unique(columns) for _, columns, _ in rows]), minlength=len(numbers))
    kept = telling >= min_count
    kept[0] = True
    names = [name for name, number in numbers.items() if kept[number]]
    places = np.cumsum(kept) - 1
    known = {name: at for at, name in enumerate(names)}
    wanted = [kept[columns] for _, columns, _ in rows]
    first = [(row[use], places[at[use]], value[use]) for (row, at, value), use in zip(rows, wanted, strict=True)]
    groups = [_ranked(training, first, len(names))]
    for lists in others:
        cells = [_sentence(listed, lambda name: known.get(name, -1)) for listed in tracked(lists, "features")]
        groups.append(_ranked(lists, cells, len(names)))
    return groups, names


def narrowed(
    training: CandidateGroups, *others: CandidateGroups, names: Sequence[Feature], min_count: int = 5
) -> tuple[list[CandidateGroups], list[Feature]]:
    """Keep the features that distinguish candidates of enough training sentences, and always the first.

    For a part of the training sentences this equals the features computed from that part alone, unless ``min_count`` is
    lower than it was then.
    """
    check_int("min_count", min_count, low=1)
    X = training.groups.features
    group = np.repeat(np.arange(len(training.groups)), np.diff(training.groups.starts))
    pairs = np.unique(X.indices * np.int64(len(training.groups)) + np.repeat(group, np.diff(X.indptr)))
    kept = np.bincount(pairs // len(training.groups), minlength=X.shape[1]) >= min_count
    kept[0] = True
    columns = np.flatnonzero(kept)
    parts = [
        CandidateGroups(
            QueryGroups(part.groups.features[:, columns], part.groups.costs, part.groups.starts), part.counts
        )
        for part in (training, *others)
    ]
    return parts, [names[at] for at in columns.tolist()]


def save_ranked(
    path: str | os.PathLike[str], ranked: CandidateGroups, names: Sequence[Feature], *, overwrite: bool = False
) -> None:
    """Write groups and the names of their features into a folder, atomically."""
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


def load_ranked(path: str | os.PathLike[str]) -> tuple[CandidateGroups, list[Feature]]:
    """Read the groups that :func:`save_ranked` wrote."""
    from safetensors.numpy import load
    from scipy.sparse import csr_array

    folder = Path(path)
    meta = read_meta(folder, KIND, VERSION)
    check_whole(folder)
    with damage_as_input_error(folder):
        arrays = load((folder / "arrays.safetensors").read_bytes())
        text = (folder / "features.jsonl").read_text(
            encoding="utf-8"
        )  # splitlines would split at characters that words may contain
        names: list[Feature] = [tuple(json.loads(line)) for line in text.removesuffix("\n").split("\n")]
        shape = len(arrays["indptr"]) - 1, len(names)
        indptr = arrays["indptr"]
        if len(arrays["data"]) <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)  # otherwise scipy widens the indices to 64 bits
        features: csr_array = csr_array((arrays["data"], arrays["indices"], indptr), shape=shape)
        features.check_format(full_check=True)  # else products may read beyond the arrays
        counts = arrays["counts"]
        if len(names) != meta["features"] or counts.dtype != np.int64 or len(counts) != shape[0]:
            raise InputError("names, counts and features differ in length")
        return CandidateGroups(QueryGroups(features, arrays["costs"], arrays["starts"]), counts), names


SparseEntries = tuple["NDArray[np.int32]", "NDArray[np.int32]", "NDArray[np.float32]"]


def _sentence(listed: CandidateList, number: Callable[[Feature], int]) -> SparseEntries:
    """Return rows, columns and values of the features that differ between the candidates of a sentence."""
    counted, dense = listed.describe(number)
    size = len(counted)
    rows = np.repeat(np.arange(size), [len(columns) for columns in counted])
    columns = np.concatenate(counted)
    known = columns >= 0
    keys, values = np.unique(columns[known] * size + rows[known], return_counts=True)
    columns, rows = np.divmod(keys, size)
    for at, numbers in ((number(name), [row[name] for row in dense]) for name in dense[0]):
        if at >= 0:
            columns, rows = np.r_[columns, np.full(size, at)], np.r_[rows, np.arange(size)]
            values = np.r_[values, numbers]
    return _telling(rows, columns, values, size)


def _telling(
    rows: NDArray[np.int64], columns: NDArray[np.int64], values: NDArray[np.float64], size: int
) -> SparseEntries:
    """Subtract the smallest value of each feature in the list, which is 0 unless all candidates have it."""
    order = np.argsort(columns, kind="stable")
    rows, columns, values = rows[order], columns[order], np.asarray(values, float)[order]
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    sizes = np.diff(starts, append=len(columns))
    smallest = np.where(sizes == size, np.minimum.reduceat(values, starts), 0.0) if len(starts) else values
    values = values - np.repeat(smallest, sizes)
    kept = values != 0
    return rows[kept].astype(np.int32), columns[kept].astype(np.int32), values[kept].astype(np.float32)


def _ranked(lists: Sequence[CandidateList], cells: Sequence[SparseEntries], width: int) -> CandidateGroups:
    """Concatenate the features of sentences."""
    from scipy.sparse import csr_array

    starts = np.r_[0, np.cumsum([len(listed.counts) for listed in lists])].astype(np.int64)
    rows = np.concatenate([row + start for (row, _, _), start in zip(cells, starts[:-1], strict=True)])
    columns, values = (np.concatenate([cell[part] for cell in cells]) for part in (1, 2))
    features: csr_array = csr_array((values, (rows, columns)), shape=(int(starts[-1]), width))
    costs = np.concatenate([listed.costs for listed in lists])
    return CandidateGroups(QueryGroups(features, costs, starts), np.concatenate([listed.counts for listed in lists]))
