"""Constituency trees in the bracket format of the Penn Treebank: reading, cleaning and writing.

In ``(S (NP (DT The) (NN dog)) (VP (VBZ barks)))`` a phrase is a label and the phrases below it; the lowest ones are
tags, each with one word. Parsers are usually evaluated on *clean* trees: without traces, without phrases that hold only
traces, and with labels reduced to the category.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from operator import itemgetter
from typing import NamedTuple, cast

from polyadic.core.annotations import Path
from polyadic.core.errors import InputError
from polyadic.core.streams import blocks, lines, open_bytes
from polyadic.metrics.brackets import Bracketing

TOP = "TOP"  # label of the brackets around a sentence, which are unlabelled in treebank files
TRACE = "-NONE-"  # tag of traces and other empty elements
WRAPPERS = {TOP, "ROOT", "S1"}  # labels that treebanks and parsers put around a sentence
MAX_DEPTH = 150  # maximum nesting of brackets; trees are processed recursively
PIECES = re.compile(r"[()]|[^\s()]+", re.ASCII)  # a no-break space is part of a word


class Phrase(NamedTuple):
    """Node of a constituency tree: a phrase, or a part-of-speech tag above a single word.

    >>> tree = parse_phrase("(S (NP (DT The) (NN dog)) (VP (VBZ barks)))")
    >>> tree.label, tree.children[1]
    ('S', Phrase(label='VP', children=(Phrase(label='VBZ', children=('barks',)),)))
    >>> tree.words(), [tag.label for tag in tree.tags()]
    (['The', 'dog', 'barks'], ['DT', 'NN', 'VBZ'])
    """

    label: str  # category of the phrase, or the tag
    children: tuple[Phrase, ...] | tuple[str]

    @property
    def word(self) -> str | None:
        """The word below a part-of-speech tag, or None for a phrase."""
        first = self.children[0]
        return first if isinstance(first, str) else None

    @property
    def below(self) -> tuple[Phrase, ...]:
        """The child nodes, or an empty tuple for a part-of-speech tag."""
        return () if isinstance(self.children[0], str) else self.children

    def walk(self) -> Iterator[Phrase]:
        """Yield a phrase and all its descendants in pre-order."""
        pending = [self]
        while pending:
            phrase = pending.pop()
            yield phrase
            pending.extend(reversed(phrase.below))

    def tags(self) -> list[Phrase]:
        """Return the part-of-speech nodes of the tree from left to right."""
        return [phrase for phrase in self.walk() if phrase.word is not None]

    def words(self) -> list[str]:
        """Return the words of the tree from left to right."""
        return [phrase.word for phrase in self.walk() if phrase.word is not None]

    def spans(self) -> list[tuple[str, int, int]]:
        """Return the label, start and exclusive end of each phrase in post-order."""
        triples: list[tuple[str, int, int]] = []

        def visit(phrase: Phrase, start: int) -> int:
            if phrase.word is not None:
                return start + 1
            end = start
            for child in phrase.below:
                end = visit(child, end)
            triples.append((phrase.label, start, end))
            return end

        visit(self, 0)
        return triples

    def __str__(self) -> str:
        """Format the tree in bracket notation on one line."""
        return f"({self.label} {self.word or ' '.join(map(str, self.below))})"


def bracketing(tree: Phrase) -> Bracketing:
    """Return the words, tags and labelled spans of a tree for bracket evaluation."""
    return Bracketing(tree.words(), [tag.label for tag in tree.tags()], tree.spans())


def read_phrases(path: Path) -> Iterator[Phrase]:
    r"""Yield the constituency trees of a file in bracket format; unlabelled outer brackets get the label ``TOP``.

    The file is in UTF-8, compressed if its suffix says so; ``"-"`` is standard input. Trees are not cleaned. InputError
    is raised if the file cannot be read, or brackets do not match; the message names the line.

    References
    ----------
    Marcus, Santorini, Marcinkiewicz (1993), Building a large annotated corpus of English: the Penn Treebank

    Examples
    --------
    >>> import tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "one.mrg")
    >>> with open(path, "w") as file:
    ...     _ = file.write("( (S (NP-SBJ (PRP It))\n (VP (VBZ is))))\n")
    >>> [str(tree) for tree in read_phrases(path)]
    ['(TOP (S (NP-SBJ (PRP It)) (VP (VBZ is))))']
    """
    name = os.fspath(path)
    with open_bytes(name) as stream:
        yield from _phrases(lines(blocks(stream, name)), name)


def parse_phrase(text: str) -> Phrase:
    """Parse one tree in bracket format."""
    phrases = list(_phrases(iter(text.split("\n")), "the tree"))
    if len(phrases) != 1:
        raise InputError(f"the text must contain exactly one tree; got {len(phrases)}")
    return phrases[0]


def _phrases(text: Iterator[str], name: str) -> Iterator[Phrase]:
    """Parse lines of text in bracket format and yield each tree."""
    open_brackets: list[tuple[int, list[str | Phrase]]] = []
    fresh = False  # whether the last piece opened a bracket
    for number, line in enumerate(text, 1):
        for piece in map(itemgetter(0), PIECES.finditer(line)):
            where = f"{name}, line {number}"
            if piece == "(":
                if fresh and len(open_brackets[-1][1]) == 0:
                    open_brackets[-1][1].append(TOP)
                open_brackets.append((number, []))
                if len(open_brackets) > MAX_DEPTH:
                    raise InputError(f"{where}: brackets are nested more than {MAX_DEPTH} levels deep")
            elif not open_brackets:
                raise InputError(f"{where}: {piece!r} is outside all brackets")
            elif piece != ")":
                open_brackets[-1][1].append(piece)
            else:
                phrase = _closed(open_brackets.pop()[1], where)
                if open_brackets:
                    open_brackets[-1][1].append(phrase)
                else:
                    yield phrase
            fresh = piece == "("
    if open_brackets:
        raise InputError(f"{name}, line {open_brackets[0][0]}: a bracket opened on this line is never closed")


def _closed(content: list[str | Phrase], where: str) -> Phrase:
    """Build a phrase from the contents of a pair of brackets, or raise InputError if they are malformed."""
    match content:
        case [str(label), str(word)]:
            return Phrase(label, (word,))
        case [str(label), *below] if below and all(isinstance(phrase, Phrase) for phrase in below):
            return Phrase(label, cast("tuple[Phrase, ...]", tuple(below)))
    raise InputError(f"{where}: brackets must contain a label and one word, or a label and phrases")


def category(label: str) -> str:
    """Return the category of a treebank label, without function tags, indices and alternatives.

    >>> [category(label) for label in ("NP-SBJ-1", "NP=2", "ADVP|PRT", "PRP$", "-LRB-", "-NONE-", "=")]
    ['NP', 'NP', 'ADVP', 'PRP$', '-LRB-', '-NONE-', '=']
    """
    return label if label.startswith("-") else re.split(r"(?<!^)[-=|]", label, maxsplit=1)[0]


def clean(tree: Phrase) -> Phrase | None:
    """Remove the traces and function tags of a tree, or return None if it contains only traces.

    Labels are reduced to their :func:`category`, and :data:`WRAPPERS` are removed where they hold one phrase.

    >>> str(clean(parse_phrase("( (S (NP-SBJ-1 (-NONE- *)) (VP (VB Go) (PP=2 (NP (-NONE- *T*-1)))) (. .)))")))
    '(S (VP (VB Go)) (. .))'
    """
    if tree.word is not None:
        return None if tree.label == TRACE else Phrase(category(tree.label), tree.children)
    below = tuple(kept for child in tree.below if (kept := clean(child)) is not None)
    if not below:
        return None
    if tree.label in WRAPPERS and len(below) == 1:
        return below[0]
    return Phrase(category(tree.label), below)
