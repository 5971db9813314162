"""Readers for labelled feature vectors in svmlight format, which libsvm, libFM and SVMrank also use."""

from __future__ import annotations

import math
import os
import weakref
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.sparse import csr_array, vstack

from polyadic.core.errors import InputError, check_int
from polyadic.core.files import folder_or_temporary
from polyadic.core.query_groups import QueryGroups
from polyadic.core.streams import open_bytes

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 1 << 24  # bytes read at a time
PARSED = 1 << 18  # approximate number of bytes parsed at once
MAX_FEATURES = 1 << 31  # feature numbers must be below this


class FeatureLines(NamedTuple):
    """Features, labels and query ids parsed from svmlight lines such as ``1 qid:3 7:0.5 9:1 # a comment``.

    Column i of ``features`` holds the values of feature ``i:``; column 0 is empty in files that number from 1.
    """

    features: csr_array
    labels: NDArray[np.float64]
    groups: NDArray[np.int64]


def read_feature_lines(path: str | os.PathLike[str], *, features: int | None = None) -> FeatureLines:
    """Read a file in svmlight format into a feature matrix with at least ``features`` columns."""
    parts = [*feature_blocks(path)]
    if not parts:
        raise InputError(f"{path} must contain at least one sample; got only comments and empty lines")
    lines = _joined(parts)
    if features is not None and lines.features.shape[1] < check_int("features", features, low=1):
        lines.features.resize((len(lines.labels), features))
    return lines


def feature_blocks(path: str | os.PathLike[str], *, size: int = BLOCK) -> Iterator[FeatureLines]:
    """Read a file in svmlight format in blocks of about ``size`` bytes, without splitting a query group."""
    check_int("size", size, low=1)
    rest, line = None, 1
    with open_bytes(str(path)) as file:
        while piece := file.read(size):
            piece += file.readline()
            lines = _parsed(piece.removeprefix(BOM_UTF8) if line == 1 else piece, f"{path}", line)
            line += piece.count(b"\n")
            lines = lines if rest is None else _joined([rest, lines])
            at = len(lines.labels)
            if at and lines.groups[-1] >= 0 and file.peek(1):  # the last query group may be incomplete
                at = int(np.flatnonzero(np.diff(lines.groups, prepend=-1))[-1])
            rest = _part(lines, slice(at, None))
            if at:
                yield _part(lines, slice(at))
    if rest is None:
        raise InputError(f"{path} is empty")


def _part(lines: FeatureLines, rows: slice) -> FeatureLines:
    return FeatureLines(lines.features[rows], lines.labels[rows], lines.groups[rows])


def _joined(parts: list[FeatureLines]) -> FeatureLines:
    width = max(part.features.shape[1] for part in parts)
    for part in parts:
        part.features.resize((part.features.shape[0], width))
    X, y, groups = zip(*parts, strict=True)
    return FeatureLines(vstack(X, format="csr"), np.concatenate(y), np.concatenate(groups))


def _parsed(piece: bytes, path: str, line: int) -> FeatureLines:
    """Parse lines in small batches, because scikit-learn's reader takes quadratic time on lines with ``qid:``."""
    parts, at, number = [], 0, line
    while at < len(piece):
        end = piece.find(b"\n", at + PARSED) + 1 or len(piece)
        parts.append(_few(piece[at:end], path, number))
        number += piece.count(b"\n", at, end)
        at = end
    grouped = {bool(part.groups[0] >= 0) for part in parts if len(part.groups)}
    return _joined(parts) if len(grouped) < 2 else _slowly(piece, path, line)


def _few(piece: bytes, path: str, line: int) -> FeatureLines:
    """Parse lines with scikit-learn, or with a slower parser if feature indices are unsorted or a line is invalid."""
    from sklearn.datasets import load_svmlight_file

    try:
        X, y, groups = load_svmlight_file(BytesIO(piece), query_id=True, zero_based=True)
    except (ValueError, OverflowError):
        return _slowly(piece, path, line)
    odd = len(groups) and (groups.min() < 0 or len(groups) != len(y))
    if odd or not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        return _slowly(piece, path, line)
    return FeatureLines(csr_array(X), y, groups.astype(np.int64) if len(groups) else np.full(len(y), -1))


def _slowly(piece: bytes, path: str, line: int) -> FeatureLines:
    labels: list[float] = []
    groups: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    starts = [0]
    for number, written in enumerate(piece.split(b"\n"), line):
        words = written.partition(b"#")[0].decode("utf-8", "replace").split()
        if not words:
            continue
        try:
            label, group, features = _fields(words)
        except ValueError as fault:
            raise InputError(f"{path}, line {number}: {fault}") from None
        if groups and (groups[-1] < 0) != (group < 0):
            raise InputError(f"{path}, line {number}: query ids (qid:) must be given on all lines or on no line")
        labels.append(label)
        groups.append(group)
        columns += sorted(features)
        values += [features[at] for at in sorted(features)]
        starts.append(len(columns))
    X = csr_array((values, columns, starts), shape=(len(labels), 1 + max(columns, default=-1)), dtype=np.float64)
    return FeatureLines(X, np.array(labels), np.array(groups, np.int64))


def _fields(words: list[str]) -> tuple[float, int, dict[int, float]]:
    """Split a line into label, query id and features; raise ValueError if the line is malformed."""
    if ":" in words[0]:
        raise ValueError(f"expected a label at the beginning of the line; got {words[0]!r:.40}")
    label, group = _number(words[0]), -1
    features: dict[int, float] = {}
    for word in words[1:]:
        name, mark, value = word.partition(":")
        if name == "qid" and group < 0 and not features:
            group = _whole(value)
            continue
        if word.count(":") in (0, 2):
            fields = ", as in libFFM's field:index:value; remove the fields" if mark else ""
            raise ValueError(f"expected index:value; got {word!r:.40}{fields}")
        if (at := _whole(name)) in features:
            raise ValueError(f"the feature index {at} occurs twice")
        features[at] = _number(value)
    return label, group, features


def _number(word: str) -> float:
    try:
        if math.isfinite(number := float(word)):
            return number
    except ValueError:
        pass
    raise ValueError(f"expected a finite number; got {word!r:.40}")


def _whole(word: str) -> int:
    if not word.isdecimal() or int(word) >= MAX_FEATURES:
        raise ValueError(f"expected an integer from 0 to 2**31 - 1; got {word!r:.40}")
    return int(word)


class KeptBlocks:
    """Iterable over blocks of query groups that caches the blocks on disk during the first iteration."""

    def __init__(self, make: Callable[[], Iterable[QueryGroups]]) -> None:
        self._make = make
        self._folder: Path | None = None
        self._count = 0

    def __iter__(self) -> Iterator[QueryGroups]:
        if self._folder is None:
            with folder_or_temporary(None) as (folder, release):
                weakref.finalize(self, release)
                folder.mkdir()
                for count, groups in enumerate(self._make(), 1):
                    X, costs, starts = groups.features, groups.costs, groups.starts
                    parts = {"indptr": X.indptr, "indices": X.indices, "data": X.data, "costs": costs, "starts": starts}
                    if groups.grades is not None:
                        parts["grades"] = groups.grades
                    np.savez(folder / f"{count}.npz", shape=X.shape, **parts)
                    self._count = count
                self._folder = folder
        for k in range(1, self._count + 1):
            with np.load(self._folder / f"{k}.npz", allow_pickle=False) as file:
                X = csr_array((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"].tolist()))
                groups = QueryGroups(X, file["costs"], file["starts"], file.get("grades"))
            yield groups


class RankLines:
    """Iterable over the query groups of a file, in blocks; the file is read only once.

    The cost of a candidate is the highest relevance of its list minus its own.
    """

    def __init__(self, path: str | os.PathLike[str], *, size: int = BLOCK) -> None:
        self.path, self._size = path, size
        self._kept = KeptBlocks(self._read)

    def __iter__(self) -> Iterator[QueryGroups]:
        return iter(self._kept)

    def _read(self) -> Iterator[QueryGroups]:
        seen: set[int] = set()
        for X, y, group in feature_blocks(self.path, size=self._size):
            if group[0] < 0:
                raise InputError(f"{self.path}: every line must have a query id (qid:)")
            starts = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
            here = group[starts].tolist()
            if len(set(here)) < len(here) or not seen.isdisjoint(here):
                raise InputError(f"{self.path}: the lines of a query must be consecutive; sort the lines by qid")
            seen.update(here)
            highest = np.repeat(np.maximum.reduceat(y, starts), np.diff(np.r_[starts, len(y)]))
            yield QueryGroups(X, highest - y, np.r_[starts, len(y)].astype(np.int64), y)
