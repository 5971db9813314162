"""Test sets for word vectors, and readers for their file formats.

The folder given by ``POLYADIC_DATA`` has the published files in ``words/similarity``, ``words/wikisem500-en``,
``words/outlier-8-8-8`` and ``words/analogy``; their sizes are checked, and nothing is downloaded. Other files are read
by ``read_pairs``, ``read_outlier_group`` and ``read_questions``.

Test sets made from text are tab-separated files with a header line. ``gaps.tsv``: the given words (separated by
spaces), the answer, the wrong word, the matched word, the association. ``phrases.tsv``: the words of the title, those
characteristic of its article, and those of others. ``names.tsv``: the words of a run, and 1 if it is a name, else 0.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from polyadic.core.errors import InputError, check_choice, needing
from polyadic.core.files import whole_file
from polyadic.core.streams import text_lines
from polyadic.datasets.place import check_count, folder, text
from polyadic.metrics.completion import Gap
from polyadic.metrics.multiwords import Candidate
from polyadic.metrics.outliers import OutlierGroup
from polyadic.metrics.phrases import PhraseCase
from polyadic.text import tables
from polyadic.text.tables import Role, TableReading, open_table

Where = str | os.PathLike[str]
Pair = tuple[str, str, float]
Question = tuple[str, str, str, str]

SIMILARITY = {  # name: file, number of pairs
    "ws353": ("ws353.txt", 353),
    "ws353-similarity": ("ws353_similarity.txt", 203),
    "ws353-relatedness": ("ws353_relatedness.txt", 252),
    "men": ("bruni_men.txt", 3000),
    "mturk-287": ("radinsky_mturk.txt", 287),
    "mturk-771": ("EN-MTurk-771.txt", 771),
    "rare-words": ("luong_rare.txt", 2034),
    "simlex-999": ("EN-SIMLEX-999.txt", 999),
    "simverb-3500": ("EN-SimVerb-3500.txt", 3500),
    "rg-65": ("EN-RG-65.txt", 65),
}
OUTLIERS = {"wikisem500": ("wikisem500-en", 500, 2812), "8-8-8": ("outlier-8-8-8", 8, 64)}  # folder, groups, cases
ANALOGIES = {"google": ("questions-words.txt", 19544), "msr": ("msr.txt", 8000)}  # file, number of questions
GAPS = ("given", "answer", "wrong", "matched", "association")
PHRASES = ("words", "own", "others")
NAMES = ("words", "name")
PAIR = (
    Role("word 1", frozenset(["word1", "w1", "first", "target", "cue", "wordone"])),
    Role("word 2", frozenset(["word2", "w2", "second", "response", "wordtwo"])),
    Role("score", frozenset(["similarity", "rating", "simlex999", "mean", "relatedness", "humanmean", "score"])),
)
"""Columns of a table of word pairs."""


def similarity_sets(root: str | os.PathLike[str] | None = None) -> dict[str, list[Pair]]:
    """Load ten word similarity data sets as a dictionary by name.

    They are ``ws353``, ``ws353-similarity``, ``ws353-relatedness``, ``men``, ``mturk-287``, ``mturk-771``,
    ``rare-words``, ``simlex-999``, ``simverb-3500`` and ``rg-65``.
    """
    where = folder(root) / "words" / "similarity"
    sets = {}
    for name, (file, number) in SIMILARITY.items():
        sets[name] = read_pairs(where / file)
        check_count(where / file, len(sets[name]), number, "pairs")
    return sets


def outlier_groups(name: str = "wikisem500", *, root: str | os.PathLike[str] | None = None) -> list[OutlierGroup]:
    """Load the groups of an outlier detection test set, sorted by file name.

    ``name`` is that of the English WikiSem500 (500 groups, 2,812 cases), or "8-8-8" (8 groups, 64 cases).
    """
    check_choice("name", name, OUTLIERS)
    place, groups, cases = OUTLIERS[name]
    where = folder(root) / "words" / place
    read = read_outlier_groups(where)
    check_count(where, len(read), groups, "groups")
    check_count(where, sum(len(group.outliers) for group in read), cases, "cases")
    return read


def analogy_questions(name: str = "google", *, root: str | os.PathLike[str] | None = None) -> dict[str, list[Question]]:
    """Load the questions of an analogy test set by section: the 19,544 of "google" (14 sections), or 8,000 of "msr"."""
    check_choice("name", name, ANALOGIES)
    file, number = ANALOGIES[name]
    where = folder(root) / "words" / "analogy" / file
    sections = read_questions(where)
    check_count(where, sum(map(len, sections.values())), number, "questions")
    return sections


def gensim_file(name: str) -> Path:
    """Return the path of a test file included in gensim, such as ``wordsim353.tsv`` or ``questions-words.txt``.

    MissingExtraError is raised if gensim is not installed.
    """
    with needing("gensim", "gensim", f"the test file {name}"):
        from gensim.test.utils import datapath
    path = Path(datapath(name))
    if not path.is_file():
        raise InputError(f"gensim has no test file {name!r} in {path.parent}")
    return path


def read_pairs(
    path: str | os.PathLike[str], reading: TableReading | None = None, *, columns: Sequence[str | int] | None = None
) -> list[Pair]:
    r"""Read word pairs with scores from a table with two words and a score in each row.

    The table may have any format that a ``reading`` describes, :class:`~polyadic.text.tables.TableReading`. ``columns``
    are names or positions from 1 of the columns of the words and of the scores: by default those with usual names such
    as *word1*, *word2* and *similarity*, else the first three. (The original SimVerb file has no headings and needs
    ``columns=[1, 2, 4]``.)

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "pairs.txt"
    >>> _ = file.write_text("word1,word2,POS,SimLex999\nold,new,A,1.58\n")
    >>> read_pairs(file)
    [('old', 'new', 1.58)]
    """
    table = open_table(path, reading, columns=columns, roles=PAIR, quotes=False)
    at = [*table.places(PAIR).values()]
    parse, pairs = tables.Numbers(table, at[2:]), []
    for number, cells in table:
        score = parse(cells[at[2]]) if len(cells) > max(at) else None
        if score is None or not math.isfinite(score):
            found = f"{len(cells)} cells" if len(cells) <= max(at) else repr(cells[at[2]])
            table.skip(number, f"expected two words and a number in column {at[2] + 1}; found {found}")
            continue
        first, second = (str(tables.name_in(table, number, cells[place], "word")) for place in at[:2])
        pairs.append((first, second, score))
    if not pairs:
        raise InputError(f"{path} contains no word pairs")
    return pairs


def read_outlier_group(path: str | os.PathLike[str]) -> OutlierGroup:
    """Read an outlier group from a text file: cluster words, an empty line, and outliers, one word per line."""
    file = Path(path)
    numbered = enumerate(map(str.strip, text(file).splitlines()), 1)
    parts = [[*words] for filled, words in groupby(numbered, key=lambda line: line[1] != "") if filled]
    if len(parts) != 2:
        at, found = (f", line {parts[2][0][0]}", "a third block") if parts[2:] else ("", "no empty line between words")
        raise InputError(f"{file}{at}: expected cluster words, an empty line and outliers; found {found}")
    cluster, outliers = (tuple(word for _, word in part) for part in parts)
    return OutlierGroup(cluster, outliers, file.stem)


def read_outlier_groups(path: str | os.PathLike[str]) -> list[OutlierGroup]:
    """Read the outlier groups in a folder with one ``.txt`` file per group, sorted by file name."""
    if not Path(path).exists():
        raise InputError(f"there is no folder {path}")
    files = sorted(Path(path).glob("*.txt"))
    if not files:
        raise InputError(f"{path} contains no .txt files; each outlier group is one .txt file")
    return [read_outlier_group(file) for file in files]


def read_questions(path: str | os.PathLike[str], reading: TableReading | None = None) -> dict[str, list[Question]]:
    """Read analogy questions from a text file, four words per line; a line ``: name`` starts a section.

    Questions before the first section are in the section ``""``. The encoding, the separator and the treatment of bad
    lines are those of the reading.
    """
    how, section, of = reading or TableReading(), "", dict[int, str]()
    numbered = [*enumerate(text_lines(str(path), how.encoding), 1)]
    for number, line in numbered:
        section = line[1:].strip() if line.startswith(":") else section
        if line.strip() and line[0] not in ":#":
            of[number] = section
    asked = [(number, line) for number, line in numbered if number in of]
    blanks = sum(len(line.split()) == 4 for _, line in asked) * 2 >= len(asked)
    sep = tables.separator_of(how) or (
        " " if blanks else tables.separator([line for _, line in asked[: tables.SAMPLE]])
    )
    table, sections = tables.Table(str(path), [*"1234"], False, (), how), dict[str, list[Question]]()
    table.rows = tables.records(table, asked, sep)
    for number, cells in table:
        if len(cells) != 4 or not all(cells):
            table.skip(number, f"expected four words; found {len(cells)}")
            continue
        a, b, c, answer = cells
        sections.setdefault(of[number], []).append((a, b, c, answer))
    if not sections:
        raise InputError(f"{path} contains no questions")
    return sections


def write_gaps(path: Where, gaps: Iterable[Gap]) -> None:
    """Write completion test cases (given words, correct answer and two wrong answers) to a tab-separated file."""
    _write(path, GAPS, ((" ".join(g.given), g.answer, g.wrong, g.matched, f"{g.association:.6g}") for g in gaps))


def read_gaps(path: Where) -> list[Gap]:
    """Read completion test cases from a file written by :func:`write_gaps`.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "gaps.tsv"
    >>> write_gaps(file, [Gap(("pearl", "jam"), "band", "ship", "war", 2.5)])
    >>> read_gaps(file)
    [Gap(given=('pearl', 'jam'), answer='band', wrong='ship', matched='war', association=2.5)]
    """
    gaps = []
    for where, (given, *others, x) in _rows(path, GAPS):
        (answer,), (wrong,), (matched,) = (_words(where, field, most=1) for field in others)
        if (association := tables.number_of(x)) is None or not math.isfinite(association):
            raise InputError(f"{where}: expected a number; found {x!r}")
        gaps.append(Gap(_words(where, given), answer, wrong, matched, association))
    return gaps


def write_phrases(path: Where, phrases: Iterable[PhraseCase]) -> None:
    """Write phrase test cases to a tab-separated file."""
    _write(path, PHRASES, ([" ".join(words) for words in phrase] for phrase in phrases))


def read_phrases(path: Where) -> list[PhraseCase]:
    """Read phrase test cases from a file written by :func:`write_phrases`."""
    return [PhraseCase(*(_words(where, field) for field in fields)) for where, fields in _rows(path, PHRASES)]


def write_candidates(path: Where, candidates: Iterable[Candidate]) -> None:
    """Write candidates for multiword names to a tab-separated file, with a flag that marks true names."""
    _write(path, NAMES, ((" ".join(c.words), str(int(c.name))) for c in candidates))


def read_candidates(path: Where) -> list[Candidate]:
    """Read candidates for multiword names from a file written by :func:`write_candidates`."""
    rows = list(_rows(path, NAMES))
    for where, (_, name) in rows:
        if name not in ("0", "1"):
            raise InputError(f"{where}: expected 1 for a name or 0 otherwise; found {name!r}")
    return [Candidate(_words(where, words), name == "1") for where, (words, name) in rows]


def _write(path: Where, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with whole_file(Path(path)) as draft:
        lines = ("\t".join(fields) + "\n" for fields in [headings, *rows])
        draft.write_text("".join(lines), encoding="utf-8", newline="\n")


def _rows(path: Where, headings: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    table = open_table(path, TableReading(sep="tab", header=True, errors="strict"), quotes=False)
    if table.names != [*headings]:
        raise InputError(f"{path}, line 1: expected the tab-separated headings {', '.join(headings)}")
    for number, cells in table:
        if len(cells) != len(headings):
            raise InputError(f"{table.where(number)}: expected {len(headings)} cells; got {len(cells)}")
        yield table.where(number), [*cells]


def _words(where: str, field: str, *, most: float = math.inf) -> tuple[str, ...]:
    words = tuple(field.split())
    if not words:
        raise InputError(f"{where}: a field that should contain words is empty")
    if len(words) > most:
        raise InputError(f"{where}: expected one word; found {field!r}")
    return words
