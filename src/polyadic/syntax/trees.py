"""Sentences with dependency trees: lossless reading and writing of CoNLL-U and CoNLL-X.

A file that follows the format, with line feeds and one empty line after each sentence, is written byte for byte as it
was read. Other line endings, a byte order mark, extra or missing empty lines, and comments without words are accepted
but not reproduced.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, takewhile
from typing import Literal, get_args

import numpy as np

from polyadic.core.annotations import Ints32, Path
from polyadic.core.errors import InputError, check_choice
from polyadic.core.streams import blocks, lines, name_of, open_bytes

Invalid = Literal["raise", "skip"]
COLUMNS = 10
"""Number of columns of CoNLL-U: number, form, lemma, upos, xpos, features, head, relation, enhanced, misc.

CoNLL-X has coarse and fine parts of speech in place of upos and xpos, and PHEAD and PDEPREL at the end.
"""


class InvalidTreesWarning(UserWarning):
    """Warning issued when sentences are skipped because their heads do not form a tree."""


class NoTreeError(InputError):
    """Error raised when the heads of a sentence do not form a tree."""


@dataclass(frozen=True, eq=False)
class Tree:
    """Sentence with its dependency tree, in the columns of CoNLL-U (``"_"`` for an empty column)."""

    forms: tuple[str, ...]
    lemmas: tuple[str, ...]
    upos: tuple[str, ...]  # universal parts of speech
    xpos: tuple[str, ...]  # treebank parts of speech
    features: tuple[str, ...]  # morphology such as "Number=Plur", separated by |
    heads: Ints32  # number of the head of each word, from 1; 0 for a root
    relations: tuple[str, ...]  # of each word to its head, such as "nsubj:pass"
    enhanced: tuple[str, ...]  # in CoNLL-X, PHEAD
    misc: tuple[str, ...]  # in CoNLL-X, PDEPREL
    comments: tuple[str, ...] = ()  # lines before the sentence, with their #
    skipped: tuple[tuple[int, str], ...] = ()  # multiword tokens (3-4), empty nodes (8.1); number of words before each

    def __len__(self) -> int:
        return len(self.forms)

    def children(self) -> list[list[int]]:
        """Return the dependents of each word, counted from 0, with the dependents of the root last."""
        below: list[list[int]] = [[] for _ in range(len(self) + 1)]
        for word, head in enumerate(self.heads.tolist()):
            below[head - 1].append(word)
        return below

    def with_heads(self, heads: Ints32, relations: Sequence[str]) -> Tree:
        """Return a copy with new heads and relations, without columns and empty nodes that depend on the old tree."""
        none = ("_",) * len(self)
        projective = any(map(str.isdecimal, self.enhanced))  # PHEAD is a number, enhanced dependencies are not
        kept = tuple(line for line in self.skipped if "." not in line[1].partition("\t")[0])
        misc = none if projective else self.misc
        return replace(self, heads=heads, relations=tuple(relations), enhanced=none, misc=misc, skipped=kept)

    def conllu(self) -> str:
        """Format the sentence in CoNLL-U, followed by an empty line."""
        columns = (self.forms, self.lemmas, self.upos, self.xpos, self.features, map(str, self.heads.tolist()))
        rows = zip(*columns, self.relations, self.enhanced, self.misc, strict=True)
        words = [f"{number}\t" + "\t".join(row) for number, row in enumerate(rows, 1)]
        for before, line in reversed(self.skipped):
            words.insert(before, line)
        return "\n".join([*self.comments, *words, "", ""])


def untagged(forms: Sequence[str]) -> Tree:
    """Return a sentence that has only words, with empty columns and heads of 0."""
    none = ("_",) * len(forms)
    return Tree(tuple(forms), none, none, none, none, np.zeros(len(forms), np.int32), none, none, none)


def check_words(words: Sequence[str], tags: Sequence[str] | None) -> None:
    """Raise InputError if a sentence is a single string, has no words, or has no tag for some word."""
    if isinstance(words, str):
        raise InputError("words must be a list of strings; got a single string: split the string into words", "words")
    size = len(words if tags is None else tags)
    if not words or len(words) != size:
        raise InputError(f"words and tags must be non-empty and of equal length; got lengths {len(words)} and {size}")


def read_trees(path: Path, *, heads: bool = True, invalid: Invalid = "raise") -> Iterator[Tree]:
    r"""Read the sentences of a file in CoNLL-U or the older CoNLL-X; a sentence may have several roots.

    The file is in UTF-8, compressed if its suffix says so; ``"-"`` is standard input. InputError is raised if it cannot
    be read, or a line is malformed; the message names the line.

    Parameters
    ----------
    heads : bool
        Whether to read heads. If not, the column is ignored, may be empty, and all heads are 0.
    invalid : {"raise", "skip"}
        Treatment of a sentence whose heads do not form a tree because of a cycle, a number beyond the sentence or a
        missing head. Skipped sentences are counted in an :class:`InvalidTreesWarning`.

    References
    ----------
    Universal Dependencies, CoNLL-U format, https://universaldependencies.org/format.html. Buchholz, Marsi (2006),
    CoNLL-X shared task on multilingual dependency parsing

    Examples
    --------
    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "two.conllu")
    >>> with open(path, "w") as file:
    ...     _ = file.write("1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_\n\n")
    >>> [tree] = read_trees(path)
    >>> tree.lemmas, tree.heads.tolist(), tree.relations
    (('dog', 'bark'), [2, 0], ('nsubj', 'root'))
    """
    check_choice("invalid", invalid, get_args(Invalid))
    name, faults = name_of(os.fspath(path)), []
    for start, sentence in numbered_sentences(path):
        try:
            tree = tree_of(sentence, start, name, heads=heads)
        except NoTreeError as fault:
            if invalid == "raise":
                raise
            faults.append(str(fault))
            continue
        if tree is not None:
            yield tree
    if faults:
        about = f"number of skipped sentences whose heads do not form a tree: {len(faults):,}"
        warnings.warn(f"{about}; first error: {faults[0]}", InvalidTreesWarning, stacklevel=2)


def tree_of(sentence: Sequence[str], start: int, path: Path, *, heads: bool = True) -> Tree | None:
    """Parse the lines of one sentence, numbered from ``start``; return None if there are only comments."""
    comments = list(takewhile(lambda line: line.startswith("#"), sentence))
    words: list[list[str]] = []
    skipped = []
    for at, line in enumerate(sentence[len(comments) :], start + len(comments)):
        fields = line.split("\t")
        if line.startswith("#"):
            raise InputError(f"{path}, line {at} is a comment; comments must come before the words of a sentence")
        if len(fields) != COLUMNS:
            raise InputError(f"{path}, line {at} must have {COLUMNS} columns separated by tabs; got {len(fields)}")
        if fields[0] == str(len(words) + 1):
            words.append([*map(sys.intern, fields)])  # values repeat
        elif re.fullmatch(r"[0-9]+[-.][0-9]+", fields[0]):
            skipped.append((len(words), line))
        else:
            raise InputError(f"{path}, line {at} must begin with word number {len(words) + 1}; got {fields[0]!r:.40}")
    if not words:
        return None
    _, forms, lemmas, upos, xpos, features, above, relations, enhanced, misc = map(tuple, zip(*words, strict=True))
    tops = parsed_heads(above if heads else ("0",) * len(words), f"{path}, sentence from line {start}")
    return Tree(forms, lemmas, upos, xpos, features, tops, relations, enhanced, misc, tuple(comments), tuple(skipped))


def numbered_sentences(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line and the lines of each sentence in a file."""
    name = os.fspath(path)
    sentence: list[str] = []
    with open_bytes(name) as stream:
        # The extra empty line closes the last sentence.
        for number, line in enumerate(chain(lines(blocks(stream, name)), [""]), 1):
            if line.strip():
                sentence.append(line)
            elif sentence:
                yield number - len(sentence), sentence
                sentence = []


def parsed_heads(above: Sequence[str], where: str) -> Ints32:
    """Parse a column of heads, and raise NoTreeError if a head is out of range or the heads contain a cycle."""
    n = len(above)
    odd = next((h for h in above if not (h.isdecimal() and len(h) < 10 and int(h) <= n)), None)
    if odd is not None:
        raise NoTreeError(f"{where}: a head must be a number from 0 to {n}; got {odd[:20]!r}")
    heads = np.array([int(h) for h in above], np.int32)
    check_heads(heads, where)
    return heads


def check_heads(heads: Ints32, where: str) -> None:
    """Raise NoTreeError if a word is not connected to the root."""
    reached = np.concatenate([np.zeros(1, np.int32), heads])
    for _ in range(len(heads).bit_length()):  # doubles the distance each time
        reached = reached[reached]
    if lost := int(np.argmax(reached > 0)):
        raise NoTreeError(f"{where}: heads must form a tree; the heads above word {lost} do not lead to the root")
