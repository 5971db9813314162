"""Files of lists of parses: compressed, a sentence on each line."""

from __future__ import annotations

import gzip
import json
import math
import os
from typing import TYPE_CHECKING

from polyadic.errors import InputError
from polyadic.files import whole_file
from polyadic.models.syntax.derivations import Parse
from polyadic.models.syntax.lists import Candidates, judged
from polyadic.text.streams import blocks, lines, open_bytes
from polyadic.text.syntax.brackets import Phrase, parse_phrase, shared

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Path = str | os.PathLike[str]


def write_lists(path: Path, lists: Sequence[Candidates]) -> None:
    """Write lists, a sentence on each line as JSON, compressed: its tree, and trees and log-probabilities.

    Raises
    ------
    InputError
        If the folder does not exist.
    """
    with whole_file(path) as draft, gzip.GzipFile(draft, "wb", compresslevel=4, mtime=0) as file:
        for gold, parses, _ in lists:
            row = {"gold": str(gold), "parses": [[str(tree), value] for tree, value in parses]}
            file.write((json.dumps(row, ensure_ascii=False) + "\n").encode())


def read_lists(path: Path) -> Iterator[Candidates]:
    """Read what :func:`write_lists` wrote.

    Raises
    ------
    InputError
        If the file cannot be read, or is no such file: with the line.
    """
    name = os.fspath(path)
    with open_bytes(name) as stream:
        for number, line in enumerate(lines(blocks(stream, name)), 1):
            try:
                row = json.loads(line)
                known: dict[tuple[str, tuple[int | str, ...]], Phrase] = {}
                gold = parse_phrase(row["gold"])
                parses = [Parse(shared(parse_phrase(tree), known), float(value)) for tree, value in row["parses"]]
                _check(gold, parses)
                found = judged(gold, parses)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise InputError(f"{path}, line {number} holds no list of parses: {error}") from None
            yield found


def _check(gold: Phrase, parses: Sequence[Parse]) -> None:
    words = gold.words()
    if not parses:
        raise InputError("there is no candidate")
    for place, (tree, value) in enumerate(parses, 1):
        if tree.words() != words:
            raise InputError(f"candidate {place} has other words than the tree of the treebank")
        if not math.isfinite(value):
            raise InputError(f"candidate {place} has a log-probability of {value}")
