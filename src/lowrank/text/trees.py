"""Sentences with their dependency trees: CoNLL-U files, read and written without loss."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from lowrank.errors import InputError
from lowrank.text.streams import blocks, lines, open_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Path = str | os.PathLike[str]

COLUMNS = 10
"""Of CoNLL-U: number, form, lemma, upos, xpos, features, head, relation, enhanced, misc."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A sentence of n words, each but the roots below another; columns as in the file, ``"_"`` where it says nothing.

    Attributes
    ----------
    forms, lemmas : tuple of str
    upos, xpos : tuple of str
        Universal part of speech, and that of the treebank.
    features : tuple of str
        Such as ``"Number=Plur"``, several with ``|`` between.
    heads : ndarray of int32, of shape (n,)
        Number of the word above each, from 1; 0 for a root.
    relations : tuple of str
        How each word depends on its head: ``"nsubj:pass"``.
    enhanced, misc : tuple of str
    comments : tuple of str
        Lines before the sentence, which begin with ``#``.
    skipped : tuple of (int, str)
        Lines that are no words, of multiword tokens (``3-4``) and empty nodes (``8.1``), and how many words precede.
    """

    forms: tuple[str, ...]
    lemmas: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    features: tuple[str, ...]
    heads: NDArray[np.int32]
    relations: tuple[str, ...]
    enhanced: tuple[str, ...]
    misc: tuple[str, ...]
    comments: tuple[str, ...] = ()
    skipped: tuple[tuple[int, str], ...] = ()

    def __len__(self) -> int:
        return len(self.forms)

    def children(self) -> list[list[int]]:
        """Give the words below each, from 0 and in order; those below the root of all come last."""
        below: list[list[int]] = [[] for _ in range(len(self) + 1)]
        for word, head in enumerate(self.heads.tolist()):
            below[head - 1].append(word)
        return below

    def conllu(self) -> str:
        """Give the lines of the sentence as they stood, and the empty one after it."""
        heads = map(str, self.heads.tolist())
        columns = (self.forms, self.lemmas, self.upos, self.xpos, self.features, heads)
        rows = zip(*columns, self.relations, self.enhanced, self.misc, strict=True)
        words = [f"{number}\t" + "\t".join(row) for number, row in enumerate(rows, 1)]
        for before, line in reversed(self.skipped):
            words.insert(before, line)
        return "\n".join([*self.comments, *words, "", ""])


def read_trees(path: Path, *, heads: bool = True) -> Iterator[Tree]:
    r"""Read the sentences of a CoNLL-U file, or one in the older CoNLL-X format.

    Parameters
    ----------
    path : path
        In UTF-8, compressed if its suffix says so; ``"-"`` is standard input.
    heads : bool
        Whether to read heads. If not, the column is not looked at, and may be empty: all heads are 0.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is malformed: with the line, and what is wrong.

    References
    ----------
    Universal Dependencies, CoNLL-U format, https://universaldependencies.org/format.html

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
    for start, sentence in _sentences(path):
        comments = [line for line in sentence if line.startswith("#")]
        words: list[list[str]] = []
        skipped = []
        for at, line in enumerate(sentence[len(comments) :], start + len(comments)):
            fields = line.split("\t")
            if len(fields) != COLUMNS:
                raise InputError(f"{path}, line {at} must have {COLUMNS} columns between tabs; got {len(fields)}")
            if fields[0] == str(len(words) + 1):
                words.append(fields)
            elif re.fullmatch(r"[0-9]+[-.][0-9]+", fields[0]):
                skipped.append((len(words), line))
            else:
                raise InputError(f"{path}, line {at} should be word {len(words) + 1}; it says {fields[0]!r}")
        if words:
            _, forms, lemmas, upos, xpos, features, above, *rest = map(tuple, zip(*words, strict=True))
            tops = _heads(above if heads else ("0",) * len(words), f"{path}, sentence from line {start}")
            relations, enhanced, misc = rest
            yield Tree(
                forms, lemmas, upos, xpos, features, tops, relations, enhanced, misc, tuple(comments), tuple(skipped)
            )


def read_tagged_trees(path: Path) -> Iterator[Tree]:
    """Read sentences whose lines are form, part of speech and head, as in the Penn Treebank sample of dependencies.

    Parameters
    ----------
    path : path
        As for :func:`read_trees`; a fourth column is the relation.

    Raises
    ------
    InputError
        As in :func:`read_trees`.
    """
    for start, sentence in _sentences(path):
        rows = [line.split("\t") for line in sentence]
        for at, row in enumerate(rows, start):
            if len(row) != len(rows[0]) or len(row) not in {3, 4}:
                raise InputError(f"{path}, line {at} must have 3 or 4 columns, as all of its sentence; got {len(row)}")
        forms, tags, above, *rest = map(tuple, zip(*rows, strict=True))
        heads = _heads(above, f"{path}, sentence from line {start}")
        none = ("_",) * len(rows)
        yield Tree(forms, none, none, tags, none, heads, rest[0] if rest else none, none, none)


def _sentences(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Give the lines of each sentence, and the number of the first of them."""
    name = os.fspath(path)
    held: list[str] = []
    with open_bytes(name) as stream:
        # The empty line at the end closes a last sentence that none follows.
        for number, line in enumerate(chain(lines(blocks(stream, name, "utf-8", "strict")), [""]), 1):
            if line.strip():
                held.append(line)
            elif held:
                yield number - len(held), held
                held = []


def _heads(above: Sequence[str], where: str) -> NDArray[np.int32]:
    """Check that all heads are words of the sentence and that nothing is below itself."""
    n = len(above)
    odd = next((h for h in above if not (h.isdecimal() and int(h) <= n)), None)
    if odd is not None:
        raise InputError(f"{where}: a head must be a number from 0 to {n}; got {odd!r}")
    heads = np.array([int(h) for h in above], np.int32)
    reached = np.concatenate([np.zeros(1, np.int32), heads])
    for _ in range(n.bit_length()):  # each time twice as far up
        reached = reached[reached]
    if reached.any():
        raise InputError(f"{where}: word {int(np.flatnonzero(reached)[0])} is below itself; heads must form a tree")
    return heads
