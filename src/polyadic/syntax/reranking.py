"""Groups of candidate trees for a reranker: their features, what a choice costs, and the folder they are kept in.

A feature that has the same value for all candidates of a sentence tells nothing about which to choose, so of each
feature its smallest value in the list is taken away. Only features that tell candidates of enough training sentences
apart are kept (Charniak & Johnson 2005 ask for five).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from polyadic.core.errors import InputError, check_int
from polyadic.core.files import check_whole, damage_as_input_error, read_arrays, read_meta, whole_folder, write_meta
from polyadic.core.progress import tracked
from polyadic.core.query_groups import QueryGroups
from polyadic.syntax.rerank_features import SCORE, Feature

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array


KIND, VERSION = "candidates", 1


class Ranked(NamedTuple):
    """Groups of candidates, and the brackets of each.

    Attributes
    ----------
    groups : QueryGroups
        With 1 - F of each candidate as its cost; of dependencies, the share of words with a wrong head.
    counts : ndarray of int64 of shape (candidates, 5), of dependencies (candidates, 2)
        ``bracket_score(counts[choice])`` of :mod:`polyadic.metrics.brackets` gives the figures of a corpus for whatever
        is chosen; of dependencies they are words with the right head, and words.
    """

    groups: QueryGroups
    counts: NDArray[np.int64]

    @property
    def one_best(self) -> NDArray[np.int64]:
        """The first candidate of each group: the parser's own choice."""
        return self.groups.starts[:-1]

    def only(self, groups: ArrayLike) -> Ranked:
        """Give the groups of these numbers, in this order."""
        at = np.asarray(groups, np.int64)
        rows = [np.arange(self.groups.starts[group], self.groups.starts[group + 1]) for group in at.tolist()]
        return Ranked(self.groups.only(at), self.counts[np.concatenate(rows)])

    def followed(self, *others: Ranked) -> Ranked:
        """Put groups of the same features below one another."""
        from scipy.sparse import vstack

        every = (self, *others)
        sizes = np.concatenate([np.diff(each.groups.starts) for each in every])
        groups = QueryGroups(
            vstack([each.groups.features for each in every], format="csr"),
            np.concatenate([each.groups.costs for each in every]),
            np.r_[0, np.cumsum(sizes)],
        )
        return Ranked(groups, np.concatenate([each.counts for each in every]))


class Listed(Protocol):
    """The candidates of a sentence, of phrases or of dependencies: what is needed of them."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """What a figure of a corpus is made of, for each candidate."""

    @property
    def costs(self) -> NDArray[np.float64]:
        """What is lost if a candidate is chosen."""

    def describe(self, number: Callable[[Feature], int]) -> tuple[list[NDArray[np.int64]], list[dict[Feature, float]]]:
        """Give the numbers of the features of each candidate that are counted, and those that have values."""


def feature_groups(
    training: Sequence[Listed], *others: Sequence[Listed], least: int = 5
) -> tuple[list[Ranked], list[Feature]]:
    """Make groups of lists.

    Parameters
    ----------
    training : sequence of Listed
        Which features there are, these tell.
    *others : sequence of Listed
        Lists to choose settings by and to judge with, described by the same features.
    least : int
        Training sentences in which a feature must tell candidates apart.

    Returns
    -------
    groups : list of Ranked
        Of the training lists and of each of the others.
    names : list of tuple
        Of the features: the first is the parser's own score.

    Raises
    ------
    InputError
        If there are no training lists.
    """
    check_int("least", least, low=1)
    if not training:
        raise InputError("features need training lists")
    numbers: dict[Feature, int] = {SCORE: 0}
    rows = [
        _sentence(listed, lambda name: numbers.setdefault(name, len(numbers)))
        for listed in tracked(training, "features")
    ]
    telling = np.bincount(np.concatenate([np.unique(columns) for _, columns, _ in rows]), minlength=len(numbers))
    kept = telling >= least
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
        Ranked(QueryGroups(part.groups.features[:, columns], part.groups.costs, part.groups.starts), part.counts)
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
    check_whole(folder)
    with damage_as_input_error(folder):
        arrays = read_arrays(folder)
        text = (folder / "features.jsonl").read_text(encoding="utf-8")  # a word may hold what splitlines cuts at
        names: list[Feature] = [tuple(json.loads(line)) for line in text.removesuffix("\n").split("\n")]
        shape = len(arrays["indptr"]) - 1, len(names)
        indptr = arrays["indptr"]
        if len(arrays["data"]) <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)  # as wide as the indices, which would be widened to 64 bits beside it
        features: csr_array = csr_array((arrays["data"], arrays["indices"], indptr), shape=shape)
        features.check_format(full_check=True)  # products would read beyond the arrays
        counts = arrays["counts"]
        if len(names) != meta["features"] or counts.dtype != np.int64 or len(counts) != shape[0]:
            raise InputError("names, counts and features do not fit")
        return Ranked(QueryGroups(features, arrays["costs"], arrays["starts"]), counts), names


Cells = tuple["NDArray[np.int32]", "NDArray[np.int32]", "NDArray[np.float32]"]


def _sentence(listed: Listed, number: Callable[[Feature], int]) -> Cells:
    """Give rows, columns and values of the features that differ between the candidates of a sentence."""
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


def _telling(rows: NDArray[np.int64], columns: NDArray[np.int64], values: NDArray[np.float64], size: int) -> Cells:
    """Take from each feature its smallest value in the list, which is 0 unless all candidates have it."""
    order = np.argsort(columns, kind="stable")
    rows, columns, values = rows[order], columns[order], np.asarray(values, float)[order]
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    sizes = np.diff(starts, append=len(columns))
    least = np.where(sizes == size, np.minimum.reduceat(values, starts), 0.0) if len(starts) else values
    values = values - np.repeat(least, sizes)
    kept = values != 0
    return rows[kept].astype(np.int32), columns[kept].astype(np.int32), values[kept].astype(np.float32)


def _ranked(lists: Sequence[Listed], cells: Sequence[Cells], width: int) -> Ranked:
    """Put the sentences below one another."""
    from scipy.sparse import csr_array

    starts = np.r_[0, np.cumsum([len(listed.counts) for listed in lists])].astype(np.int64)
    rows = np.concatenate([row + start for (row, _, _), start in zip(cells, starts[:-1], strict=True)])
    columns, values = (np.concatenate([cell[part] for cell in cells]) for part in (1, 2))
    features: csr_array = csr_array((values, (rows, columns)), shape=(int(starts[-1]), width))
    costs = np.concatenate([listed.costs for listed in lists])
    return Ranked(QueryGroups(features, costs, starts), np.concatenate([listed.counts for listed in lists]))
