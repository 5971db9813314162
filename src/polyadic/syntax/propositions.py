"""Sentences with trees, predicates and the roles of their arguments: files of Universal Propositions, without loss."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from polyadic.core.errors import InputError
from polyadic.syntax.trees import COLUMNS, numbered_sentences, tree_of
from polyadic.text.streams import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from polyadic.syntax.trees import Path, Tree

PREDICATE = "V"
"""What the column of a predicate says at the predicate itself."""
NONE = ("_", "")


class Argument(NamedTuple):
    """A word that plays a role.

    Attributes
    ----------
    place : int
        Number of the word, from 1.
    role : str
        Such as ``"ARG0"`` or ``"ARGM-TMP"``.
    """

    place: int
    role: str


class Proposition(NamedTuple):
    """A predicate and its arguments.

    Attributes
    ----------
    place : int
        Number of the word that is the predicate, from 1.
    sense : str
        Such as ``"come.03"``.
    arguments : tuple of Argument
        In the order of the words.
    marks : tuple of int
        Words that the column calls ``V``: the predicate, or other words of it.
    """

    place: int
    sense: str
    arguments: tuple[Argument, ...]
    marks: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Sentence:
    """A tree and what is said in it.

    Attributes
    ----------
    tree : Tree
    propositions : tuple of Proposition
        One per predicate, in the order of the words.
    told : bool
        Whether the file says which words are predicates, if only that there are none.
    spare : tuple of str
        What stands in further columns, ``"_"`` or nothing; if nothing is told, in all beyond the ten.
    tails : tuple of str
        What stands beyond the ten columns of lines that are no words.
    """

    tree: Tree
    propositions: tuple[Proposition, ...]
    told: bool = True
    spare: tuple[str, ...] = ()
    tails: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.tree)

    def with_propositions(self, propositions: Sequence[Proposition]) -> Sentence:
        """Give the same tree with other propositions, in the order of the words."""
        ordered = tuple(sorted(propositions, key=lambda p: p.place))
        empty = "\t".join(["", "_", *["_"] * len(ordered)])
        return replace(self, propositions=ordered, told=True, spare=(), tails=(empty,) * len(self.tree.skipped))

    def conllu(self) -> str:
        """Give the lines of the sentence as they stood, and the empty one after it."""
        cells = [[*["_"] * (self.told + len(self.propositions)), *self.spare] for _ in range(len(self))]
        for column, proposition in enumerate(self.propositions, 1):
            cells[proposition.place - 1][0] = proposition.sense
            for place, role in (*((mark, PREDICATE) for mark in proposition.marks), *proposition.arguments):
                cells[place - 1][column] = role
        words, others = iter(cells), iter(self.tails)
        lines = self.tree.conllu().split("\n")
        first = len(self.tree.comments)
        for at in range(first, len(lines) - 2):
            is_word = lines[at].partition("\t")[0].isdecimal()
            lines[at] += "".join(f"\t{cell}" for cell in next(words)) if is_word else next(others)
        return "\n".join(lines)


def with_trees(sentences: Iterable[Sentence], trees: Iterable[Tree]) -> list[Sentence]:
    """Put other trees of the same words, such as a parser's, in place of those that sentences have."""
    return [replace(sentence, tree=tree) for sentence, tree in zip(sentences, trees, strict=True)]


def read_propositions(path: Path, *, heads: bool = True) -> Iterator[Sentence]:
    r"""Read sentences with their predicates and arguments.

    Beyond the ten columns of CoNLL-U, the eleventh tells the sense of each word that is a predicate, ``_`` if it is
    none; then there is one column per predicate, in the order of the words, with the roles of its arguments. Files of
    ten columns, and sentences where the eleventh is empty, do not say which words are predicates.

    Parameters
    ----------
    path : path
        In UTF-8, compressed if its suffix says so; ``"-"`` is standard input.
    heads : bool
        As in :func:`~polyadic.syntax.trees.read_trees`.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is malformed: with the line, and what is wrong.

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
        cut = [
            line if line.startswith("#") else "\t".join(row[:COLUMNS]) for line, row in zip(lines, rows, strict=True)
        ]
        tree = tree_of(cut, start, name, heads=heads)
        if tree is not None:
            yield _sentence(tree, rows[comments:], start + comments, name)


def _sentence(tree: Tree, rows: list[list[str]], start: int, path: Path) -> Sentence:
    """Put the columns beyond those of a tree together."""
    width = len(next(row for row in rows if row[0].isdecimal()))
    for at, row in enumerate(rows, start):
        if row[0].isdecimal() and len(row) != width:
            raise InputError(
                f"{path}, line {at} must have {width} columns, as the first word of its sentence; got {len(row)}"
            )
    words = [(at, row[COLUMNS:]) for at, row in enumerate(rows, start) if row[0].isdecimal()]
    tails = tuple("".join(f"\t{cell}" for cell in row[COLUMNS:]) for row in rows if not row[0].isdecimal())
    if not any(cell for _, cells in words for cell in cells):  # columns that are empty from top to bottom
        return Sentence(tree, (), told=False, spare=("",) * (width - COLUMNS), tails=tails)
    predicates = [(place, cells[0]) for place, (_, cells) in enumerate(words, 1) if cells[0] not in NONE]
    columns = width - COLUMNS - 1
    if columns < len(predicates):
        raise InputError(
            f"{path}, sentence from line {start}: {len(predicates)} predicates need a column each; got {columns}"
        )
    _check_cells(words, len(predicates), path)
    propositions = []
    for column, (place, sense) in enumerate(predicates, 1):
        labelled = [Argument(at, cells[column]) for at, (_, cells) in enumerate(words, 1) if cells[column] not in NONE]
        marks = tuple(at for at, role in labelled if role == PREDICATE)
        propositions.append(Proposition(place, sense, tuple(a for a in labelled if a.role != PREDICATE), marks))
    return Sentence(tree, tuple(propositions), spare=tuple(words[0][1][len(predicates) + 1 :]), tails=tails)


def _check_cells(words: list[tuple[int, list[str]]], predicates: int, path: Path) -> None:
    """Refuse roles of predicates that are not there, and empty cells where one of a predicate should be."""
    spare = words[0][1][predicates + 1 :]
    for at, cells in words:
        if "" in cells[: predicates + 1]:
            raise InputError(f"{path}, line {at}: column {COLUMNS + 1 + cells.index('')} is empty; `_` stands for none")
        if cells[predicates + 1 :] != spare or any(cell not in NONE for cell in spare):
            raise InputError(
                f"{path}, line {at}: there are roles for more predicates than the {predicates} that column"
                f" {COLUMNS + 1} names"
            )
