"""Test sets made from text, as tab-separated files with a header line: gaps, phrases and names.

``gaps.tsv``: the given words (separated by spaces), the answer, the wrong word, the matched word, the association.
``phrases.tsv``: the words of the title, those characteristic of its article, and those of others. ``names.tsv``: the
words of a run, and 1 if it is a name, else 0.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from polyadic.core.errors import InputError
from polyadic.core.files import whole_file
from polyadic.datasets.place import text
from polyadic.metrics.completion import Gap
from polyadic.metrics.multiwords import Candidate
from polyadic.metrics.phrases import PhraseCase

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    Where = str | os.PathLike[str]

GAPS = ("given", "answer", "wrong", "matched", "association")
PHRASES = ("words", "own", "others")
NAMES = ("words", "name")


def write_gaps(path: Where, gaps: Iterable[Gap]) -> None:
    """Write cases of held-out completion.

    Parameters
    ----------
    path : path
        File to write.
    gaps : iterable of Gap
        Test cases.
    """
    _write(path, GAPS, ((" ".join(g.given), g.answer, g.wrong, g.matched, f"{g.association:.6g}") for g in gaps))


def read_gaps(path: Where) -> list[Gap]:
    """Read cases of held-out completion.

    Parameters
    ----------
    path : path
        File written by :func:`write_gaps`.

    Raises
    ------
    InputError
        If the file is malformed; the message names file and line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "gaps.tsv"
    >>> write_gaps(file, [Gap(("pearl", "jam"), "band", "ship", "war", 2.5)])
    >>> read_gaps(file)
    [Gap(given=('pearl', 'jam'), answer='band', wrong='ship', matched='war', association=2.5)]
    """
    return [
        Gap(
            _words(where, given),
            _word(where, answer),
            _word(where, wrong),
            _word(where, matched),
            _number(where, association),
        )
        for where, (given, answer, wrong, matched, association) in _rows(path, GAPS)
    ]


def write_phrases(path: Where, phrases: Iterable[PhraseCase]) -> None:
    """Write test cases of phrases.

    Parameters
    ----------
    path : path
        File to write.
    phrases : iterable of PhraseCase
        Test cases.
    """
    _write(path, PHRASES, ([" ".join(words) for words in phrase] for phrase in phrases))


def read_phrases(path: Where) -> list[PhraseCase]:
    """Read test cases of phrases.

    Parameters
    ----------
    path : path
        File written by :func:`write_phrases`.

    Raises
    ------
    InputError
        If the file is malformed; the message names file and line.
    """
    return [PhraseCase(*(_words(where, field) for field in fields)) for where, fields in _rows(path, PHRASES)]


def write_candidates(path: Where, candidates: Iterable[Candidate]) -> None:
    """Write runs of words, and whether each is a name.

    Parameters
    ----------
    path : path
        File to write.
    candidates : iterable of Candidate
        Runs of words.
    """
    _write(path, NAMES, ((" ".join(c.words), str(int(c.name))) for c in candidates))


def read_candidates(path: Where) -> list[Candidate]:
    """Read runs of words, and whether each is a name.

    Parameters
    ----------
    path : path
        File written by :func:`write_candidates`.

    Raises
    ------
    InputError
        If the file is malformed; the message names file and line.
    """
    rows = list(_rows(path, NAMES))
    for where, (_, name) in rows:
        if name not in ("0", "1"):
            raise InputError(f"{where}: expected 1 for a name, else 0; found {name!r}")
    return [Candidate(_words(where, words), name == "1") for where, (words, name) in rows]


def _write(path: Where, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with whole_file(Path(path)) as draft:
        lines = ("\t".join(fields) + "\n" for fields in [headings, *rows])
        draft.write_text("".join(lines), encoding="utf-8", newline="\n")


def _rows(path: Where, headings: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    lines = text(Path(path)).split("\n")
    if lines[0].rstrip("\r").split("\t") != [*headings]:
        raise InputError(f"{path}, line 1: expected the headings {', '.join(headings)}, between tabs")
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        fields = line.rstrip("\r").split("\t")
        if len(fields) != len(headings):
            raise InputError(
                f"{path}, line {number}: expected {len(headings)} fields between tabs; found {len(fields)}"
            )
        yield f"{path}, line {number}", fields


def _word(where: str, field: str) -> str:
    words = _words(where, field)
    if len(words) > 1:
        raise InputError(f"{where}: expected one word; found {field!r}")
    return words[0]


def _words(where: str, field: str) -> tuple[str, ...]:
    words = tuple(field.split())
    if not words:
        raise InputError(f"{where}: a field that should hold words is empty")
    return words


def _number(where: str, field: str) -> float:
    try:
        value = float(field)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where}: expected a number; found {field!r}")
    return value
