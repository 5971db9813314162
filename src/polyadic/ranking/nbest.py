"""N-best lists as JSON lines, one list per line; each candidate has a cost and named features.

    {"id": 7, "candidates": [{"text": "...", "cost": 0.2, "score": -12.1, "features": {"rule NP": 2}}, ...]}

``features`` is an object of numbers, or a list of names that count 1 each. ``score`` is the score of the base model,
higher is better. Minus the highest score of the list it becomes the feature ``(score)``. ``id``, ``text`` and ``score``
are optional; ``score`` must be given for all candidates of a list or for none.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from polyadic.core.annotations import AnyArray
from polyadic.core.errors import InputError, check_choice, check_int
from polyadic.core.query_groups import QueryGroups
from polyadic.core.streams import name_of, open_bytes
from polyadic.text.feature_lines import KeptBlocks

Unknown = Literal["ignore", "error"]
SCORE = "(score)"
BLOCK = 1 << 22  # approximate number of values per block


class NBest(NamedTuple):
    """N-best list parsed from a line of a file, with file name and line number in ``where``."""

    where: str
    id: Any
    texts: list[str | None]
    costs: list[float]
    features: list[dict[str, float]]


class NBestLists:
    """Re-iterable blocks of candidate lists (QueryGroups) from a JSON Lines file.

    The file may be compressed; see :mod:`polyadic.ranking.nbest`. It is parsed once; later passes read cached blocks.
    InputError is raised if it cannot be read or is empty, or a line is not a list of candidates, has a missing or
    non-finite number, or an unknown feature. The message names the line.

    Parameters
    ----------
    names : sequence of str, optional
        Known features, in the order of their indices. By default they are collected from the file in a first pass.
    min_count : int
        Minimum number of lists in which a feature must occur.
    unknown : {"ignore", "error"}
        Treatment of features that are not among the given ``names``.
    costs : bool
        Require a cost for each candidate. Otherwise costs are not read and set to 0.
    size : int
        Approximate number of values per block.

    Attributes
    ----------
    names, ignored : list of str, int
        Features by index, and number of values of unknown features that were ignored in the last pass.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "lists.jsonl"
    >>> _ = path.write_text('{"candidates": [{"cost": 1, "features": {"a": 2}}, {"cost": 0, "features": ["b"]}]}')
    >>> lists = NBestLists(path)
    >>> [groups.features.toarray().tolist() for groups in lists], lists.names
    ([[[2.0, 0.0], [0.0, 1.0]]], ['a', 'b'])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        names: Sequence[str] | None = None,
        min_count: int = 1,
        unknown: Unknown = "ignore",
        costs: bool = True,
        size: int = BLOCK,
    ) -> None:
        self.path, self._costs = path, costs
        self._unknown = "ignore" if names is None else check_choice("unknown", unknown, get_args(Unknown))
        self._size, self.ignored = check_int("size", size, low=1), 0
        self.names = self._found(check_int("min_count", min_count, low=1)) if names is None else list(names)
        self._number = {name: at for at, name in enumerate(self.names)}
        self._kept = KeptBlocks(lambda: (groups for groups, _ in self.blocks()))

    def __iter__(self) -> Iterator[QueryGroups]:
        return iter(self._kept)

    def blocks(self) -> Iterator[tuple[QueryGroups, list[NBest]]]:
        """Yield blocks of lists as QueryGroups, together with the parsed N-best lists."""
        block: list[NBest] = []
        self.ignored, size = 0, 0
        for candidates in read_nbest(self.path, costs=self._costs):
            block.append(candidates)
            size += sum(map(len, candidates.features))
            if size >= self._size:
                yield self._groups(block), block
                block, size = [], 0
        if block:
            yield self._groups(block), block

    def _found(self, min_count: int) -> list[str]:
        """Return the features that occur in at least ``min_count`` lists, in order of first occurrence."""
        count: Counter[str] = Counter()
        for candidates in read_nbest(self.path, costs=self._costs):
            count.update(dict.fromkeys((name for features in candidates.features for name in features), 1))
        return [name for name, times in count.items() if times >= min_count]

    def _groups(self, lists: list[NBest]) -> QueryGroups:
        from scipy.sparse import csr_array

        columns: list[int] = []
        values: list[float] = []
        ends = [0]
        for candidates in lists:
            for features in candidates.features:
                known = [(self._number[name], x) for name, x in features.items() if name in self._number]
                if len(known) < len(features):
                    self.ignored += len(features) - len(known)
                    if self._unknown == "error":
                        name = next(name for name in features if name not in self._number)
                        raise InputError(f"{candidates.where}: unknown feature {name!r:.60}")
                columns += [at for at, _ in known]
                values += [x for _, x in known]
                ends.append(len(columns))
        X: Any = csr_array((np.array(values, float), columns, ends), shape=(len(ends) - 1, len(self.names)))
        X.sort_indices()
        costs: AnyArray = np.array([cost for candidates in lists for cost in candidates.costs])
        starts = np.r_[0, np.cumsum([len(candidates.costs) for candidates in lists])]
        return QueryGroups(X, costs, starts.astype(np.int64))


def read_nbest(path: str | os.PathLike[str], *, costs: bool = True) -> Iterator[NBest]:
    """Yield the N-best lists of a file, skipping blank lines."""
    number = -1
    with open_bytes(str(path)) as file:
        for line, written in enumerate(file, 1):
            if not written.strip():
                continue
            number += 1
            where = f"{name_of(str(path))}, line {line}"
            try:
                yield _list(written, where, number, costs=costs)
            except UnicodeEncodeError:
                raise InputError(f"{where}: text must not contain unpaired surrogates") from None
            except (ValueError, RecursionError) as fault:
                raise InputError(f"{where}: {fault}") from None
    if number < 0:
        raise InputError(f"{path} must contain at least one candidate list")


def _list(written: bytes, where: str, number: int, *, costs: bool) -> NBest:
    try:
        said = json.loads(written)
    except ValueError as fault:
        raise ValueError(f"invalid JSON: {fault}") from None
    if b"\\ud" in written.lower():  # names and texts must be encodable
        json.dumps(said, ensure_ascii=False).encode()
    candidates = said.get("candidates") if isinstance(said, dict) else None
    if not isinstance(candidates, list) or not candidates or not all(isinstance(each, dict) for each in candidates):
        raise ValueError('expected {"candidates": [{...}, ...]} with at least one candidate')
    paid = [_number("cost", candidate.get("cost")) if costs else 0.0 for candidate in candidates]
    if min(paid) < 0:
        raise ValueError(f"a cost must not be negative; got {min(paid):g}")
    features = [_features(candidate.get("features", {})) for candidate in candidates]
    scored = [candidate["score"] for candidate in candidates if "score" in candidate]
    if scored:
        if len(scored) < len(candidates):
            raise ValueError("either all candidates of a list or no candidate must have a score")
        scores = [_number("score", score) for score in scored]
        highest = max(scores)
        for named, score in zip(features, scores, strict=True):
            if SCORE in named:
                about = f"a candidate must not have both a score and a feature {SCORE!r},"
                raise ValueError(f"{about} which is derived from the score")
            named[SCORE] = score - highest
    return NBest(where, said.get("id", number), [candidate.get("text") for candidate in candidates], paid, features)


def _features(said: Any) -> dict[str, float]:
    if isinstance(said, list):
        if not all(isinstance(name, str) for name in said):
            raise ValueError("the names in a list of features must be strings")
        return {name: float(times) for name, times in Counter(said).items()}
    if not isinstance(said, dict):
        raise ValueError(f"features must be a list of names or an object with numeric values; got {said!r:.40}")  # noqa: TRY004 all errors are ValueError
    return {name: _number(f"feature {name!r:.40}", value) for name, value in said.items()}


def _number(what: str, value: Any) -> float:
    if value is None:
        raise ValueError(f"{what} is missing")
    number = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # JSON integers are unbounded
            number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{what} must be a finite number; got {value!r:.40}")
    return number
