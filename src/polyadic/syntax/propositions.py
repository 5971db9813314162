"""Sentences with trees, predicates and semantic roles: lossless reading and writing of Universal Propositions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from polyadic.core.annotations import Path
from polyadic.core.errors import InputError
from polyadic.core.streams import name_of
from polyadic.syntax.trees import COLUMNS, Tree, numbered_sentences, tree_of

PREDICATE = "V"  # label of the predicate itself in its column
NONE = ("_", "")


class Argument(NamedTuple):
    """Argument of a predicate: a word position, counted from 1, and a role such as ``"ARG0"`` or ``"ARGM-TMP"``."""

    place: int
    role: str


class Proposition(NamedTuple):
    """Predicate with its position, its sense, such as ``"come.03"``, and its arguments in the order of the words."""

    place: int
    sense: str
    arguments: tuple[Argument, ...]
    marks: tuple[int, ...]  # words labelled V in the column: the predicate, or other words of it


@dataclass(frozen=True, eq=False)
class Sentence:
    """Sentence with a dependency tree and a proposition for each predicate, in the order of the words."""

    tree: Tree
    propositions: tuple[Proposition, ...]
    annotated: bool = True  # whether the file marks predicates, or their absence
    spare: tuple[str, ...] = ()  # unused columns, "_" or empty; without annotation, all columns after the tenth
    tails: tuple[str, ...] = ()  # contents after the tenth column in lines that are not words

    def __len__(self) -> int:
        return len(self.tree)

    def with_propositions(self, propositions: Sequence[Proposition]) -> Sentence:
        """Return a copy of the sentence with new propositions, sorted by the position of the predicate."""
        ordered = tuple(sorted(propositions, key=lambda p: p.place))
        empty = "\t".join(["", "_", *["_"] * len(ordered)])
        return replace(self, propositions=ordered, annotated=True, spare=(), tails=(empty,) * len(self.tree.skipped))

    def conllu(self) -> str:
        """Format the sentence as CoNLL-U lines with predicate and role columns, followed by an empty line."""
        cells = [[*["_"] * (self.annotated + len(self.propositions)), *self.spare] for _ in range(len(self))]
        for column, proposition in enumerate(self.propositions, 1):
            cells[proposition.place - 1][0] = proposition.sense
            for place, role in (*((mark, PREDICATE) for mark in proposition.marks), *proposition.arguments):
                cells[place - 1][column] = role
        words, others = iter(cells), iter(self.tails)
        lines = self.tree.conllu().split("\n")
        for at in range(len(self.tree.comments), len(lines) - 2):
            is_word = lines[at].partition("\t")[0].isdecimal()
            lines[at] += "".join(f"\t{cell}" for cell in next(words)) if is_word else next(others)
        return "\n".join(lines)


def with_trees(sentences: Iterable[Sentence], trees: Iterable[Tree]) -> list[Sentence]:
    """Replace the dependency trees of sentences, for example by trees that a parser predicted."""
    return [replace(sentence, tree=tree) for sentence, tree in zip(sentences, trees, strict=True)]


def read_propositions(path: Path, *, heads: bool = True) -> Iterator[Sentence]:
    r"""Yield the sentences of a file with their dependency trees, predicates and semantic roles.

    After the ten columns of CoNLL-U, the eleventh holds the sense of each predicate, or ``_``; then one column per
    predicate, in the order of the words, holds the roles of its arguments. Predicates are unknown in files of ten
    columns and in sentences whose eleventh column is empty. Files, ``heads`` and errors are as for
    :func:`~polyadic.syntax.trees.read_trees`.

    References
    ----------
    Akbik et al. (2015), Generating high quality proposition banks for multilingual semantic role labeling

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "two.conllu")
    >>> with open(path, "w") as file:
    ...     _ = file.write("1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_\t_\tARG0\n")
    ...     _ = file.write("2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_\tbark.01\tV\n\n")
    >>> [sentence] = read_propositions(path)
    >>> sentence.propositions
    (Proposition(place=2, sense='bark.01', arguments=(Argument(place=1, role='ARG0'),), marks=(2,)),)
    """
    name = name_of(os.fspath(path))
    for start, lines in numbered_sentences(path):
        comments = sum(line.startswith("#") for line in lines)
        rows = [line.split("\t") for line in lines]
        cut = [line if line[0] == "#" else "\t".join(row[:COLUMNS]) for line, row in zip(lines, rows, strict=True)]
        tree = tree_of(cut, start, name, heads=heads)
        if tree is not None:
            yield _sentence(tree, rows[comments:], start + comments, name)


def _sentence(tree: Tree, rows: list[list[str]], start: int, path: Path) -> Sentence:
    """Parse the predicate and role columns of a sentence."""
    width = len(next(row for row in rows if row[0].isdecimal()))
    for at, row in enumerate(rows, start):
        if row[0].isdecimal() and len(row) != width:
            about = f"all words of a sentence must have the same number of columns; got {len(row)} instead of {width}"
            raise InputError(f"{path}, line {at}: {about}")
    words = [(at, row[COLUMNS:]) for at, row in enumerate(rows, start) if row[0].isdecimal()]
    tails = tuple("".join(f"\t{cell}" for cell in row[COLUMNS:]) for row in rows if not row[0].isdecimal())
    if not any(cell for _, cells in words for cell in cells):  # all columns are empty
        return Sentence(tree, (), annotated=False, spare=("",) * (width - COLUMNS), tails=tails)
    predicates = [(place, cells[0]) for place, (_, cells) in enumerate(words, 1) if cells[0] not in NONE]
    columns = width - COLUMNS - 1
    if columns < len(predicates):
        about = f"the number of role columns must be at least {len(predicates)}, the number of predicates"
        raise InputError(f"{path}, sentence from line {start}: {about}; got {columns}")
    filled = len(predicates) + 1
    spare = words[0][1][filled:]
    for at, cells in words:
        if "" in cells[:filled]:
            column = COLUMNS + 1 + cells.index("")
            raise InputError(f"{path}, line {at}: column {column} must not be empty; write _ for a missing value")
        if cells[filled:] != spare or any(cell not in NONE for cell in spare):
            about = f"at most {len(predicates)} of the role columns may be filled, one for each predicate in"
            raise InputError(f"{path}, line {at}: {about} column {COLUMNS + 1}")
    propositions = []
    for column, (place, sense) in enumerate(predicates, 1):
        labelled = [Argument(at, cells[column]) for at, (_, cells) in enumerate(words, 1) if cells[column] not in NONE]
        marks = tuple(at for at, role in labelled if role == PREDICATE)
        propositions.append(Proposition(place, sense, tuple(a for a in labelled if a.role != PREDICATE), marks))
    return Sentence(tree, tuple(propositions), spare=tuple(spare), tails=tails)
