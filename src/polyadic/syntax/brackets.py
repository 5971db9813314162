"""Sentences with their phrases: bracketed trees as in the Penn Treebank, read, cleaned and written.

``(S (NP (DT The) (NN dog)) (VP (VBZ barks)))``: a phrase is a label and the phrases below it; the lowest are tags, each
with one word. What is usually evaluated is a *clean* tree: without traces, without the phrases that held nothing but
traces, and with labels that name the category alone.
"""

from __future__ import annotations

import os
import re
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, cast

from polyadic.core.errors import InputError
from polyadic.text.streams import blocks, lines, open_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    Path = str | os.PathLike[str]

TOP = "TOP"
"""Label of what lies around a sentence: in the files its brackets bear none."""
TRACE = "-NONE-"
"""Tag of what is not pronounced."""
WRAPPERS = {TOP, "ROOT", "S1"}
"""What other programs write around a sentence."""
DEEPEST = 150
"""Brackets within brackets; what is done with trees is done level by level."""
PIECES = re.compile(r"[()]|[^\s()]+", re.ASCII)  # a space that does not break is part of a word


class Phrase(NamedTuple):
    """A phrase, or a tag, whose only child is its word.

    Attributes
    ----------
    label : str
    children : tuple of Phrase, or of one str

    Examples
    --------
    >>> tree = parse_phrase("(S (NP (DT The) (NN dog)) (VP (VBZ barks)))")
    >>> tree.label, tree.children[1]
    ('S', Phrase(label='VP', children=(Phrase(label='VBZ', children=('barks',)),)))
    >>> tree.words(), [tag.label for tag in tree.tags()]
    (['The', 'dog', 'barks'], ['DT', 'NN', 'VBZ'])
    """

    label: str
    children: tuple[Phrase, ...] | tuple[str]

    @property
    def word(self) -> str | None:
        """The word of a tag, None of a phrase."""
        first = self.children[0]
        return first if isinstance(first, str) else None

    @property
    def below(self) -> tuple[Phrase, ...]:
        """The phrases and tags below; none of a tag."""
        return () if isinstance(self.children[0], str) else self.children

    def walk(self) -> Iterator[Phrase]:
        """Give this phrase and all below it, each before those below it, from left to right."""
        pending = [self]
        while pending:
            phrase = pending.pop()
            yield phrase
            pending.extend(reversed(phrase.below))

    def tags(self) -> list[Phrase]:
        """Give the tags, from left to right."""
        return [phrase for phrase in self.walk() if phrase.word is not None]

    def words(self) -> list[str]:
        """Give the words, from left to right."""
        return [phrase.word for phrase in self.walk() if phrase.word is not None]

    def spans(self) -> list[tuple[str, int, int]]:
        """Give label, first word, and the word after the last of each phrase, each after those below it."""
        triples: list[tuple[str, int, int]] = []
        _spanned(self, 0, triples)
        return triples

    def __str__(self) -> str:
        """Write on one line."""
        return f"({self.label} {self.word or ' '.join(map(str, self.below))})"


def _spanned(phrase: Phrase, start: int, triples: list[tuple[str, int, int]]) -> int:
    """Add the spans of a phrase that begins at a word; gives the word after its last."""
    if phrase.word is not None:
        return start + 1
    end = start
    for child in phrase.below:
        end = _spanned(child, end, triples)
    triples.append((phrase.label, start, end))
    return end


def read_phrases(path: Path) -> Iterator[Phrase]:
    r"""Read the trees of a file as they stand; brackets without a label, as around each sentence, are labelled ``TOP``.

    Parameters
    ----------
    path : path
        In UTF-8, compressed if its suffix says so; ``"-"`` is standard input.

    Raises
    ------
    InputError
        If the file cannot be read, or brackets do not fit: with the line.

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
    """Read one tree.

    Raises
    ------
    InputError
        If brackets do not fit, or there is not exactly one tree.
    """
    phrases = list(_phrases(iter(text.split("\n")), "the tree"))
    if len(phrases) != 1:
        raise InputError(f"one tree is needed; got {len(phrases)}")
    return phrases[0]


def _phrases(text: Iterator[str], name: str) -> Iterator[Phrase]:
    """Give what stands between outermost brackets; a stack holds for each open bracket its line and what is in it."""
    open_brackets: list[tuple[int, list[str | Phrase]]] = []
    fresh = False  # whether a bracket was opened just now, so that a label may follow
    for number, line in enumerate(text, 1):
        for piece in map(itemgetter(0), PIECES.finditer(line)):
            where = f"{name}, line {number}"
            if piece == "(":
                if fresh and len(open_brackets[-1][1]) == 0:
                    open_brackets[-1][1].append(TOP)
                open_brackets.append((number, []))
                if len(open_brackets) > DEEPEST:
                    raise InputError(f"{where}: brackets are nested too deeply; {DEEPEST} within another are possible")
            elif not open_brackets:
                raise InputError(f"{where}: {piece!r} stands outside of all brackets")
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
        raise InputError(f"{name}, line {open_brackets[0][0]}: a bracket that opens there is never closed")


def _closed(content: list[str | Phrase], where: str) -> Phrase:
    """Make a phrase of what stood between brackets."""
    match content:
        case [str(label), str(word)]:
            return Phrase(label, (word,))
        case [str(label), *below] if below and all(isinstance(phrase, Phrase) for phrase in below):
            return Phrase(label, cast("tuple[Phrase, ...]", tuple(below)))
    raise InputError(f"{where}: between brackets must stand a label and one word, or a label and phrases")


def shared(tree: Phrase, known: dict[tuple[str, tuple[int | str, ...]], Phrase]) -> Phrase:
    """Give an equal tree whose parts are those of trees seen before, wherever they are equal.

    Parameters
    ----------
    tree : Phrase
    known : dict
        Parts so far, empty at first, and filled.

    Examples
    --------
    >>> known = {}
    >>> one, other = (shared(parse_phrase(text), known) for text in ("(S (NN a) (NN b))", "(X (NN a))"))
    >>> one.below[0] is other.below[0]
    True
    """
    if tree.word is not None:
        return known.setdefault((tree.label, (tree.word,)), tree)
    below = tuple(shared(child, known) for child in tree.below)
    return known.setdefault((tree.label, tuple(map(id, below))), Phrase(tree.label, below))


def category(label: str) -> str:
    """Give the category of a label, without functions, indices and second thoughts.

    Examples
    --------
    >>> [category(label) for label in ("NP-SBJ-1", "NP=2", "ADVP|PRT", "PRP$", "-LRB-", "-NONE-", "=")]
    ['NP', 'NP', 'ADVP', 'PRP$', '-LRB-', '-NONE-', '=']
    """
    return label if label.startswith("-") else re.split(r"(?<!^)[-=|]", label, maxsplit=1)[0]


def clean(tree: Phrase) -> Phrase | None:
    """Give a tree as parsers are trained on and evaluated with, or None if all of it was traces.

    Traces go, and phrases with nothing else below them; labels are cut to their :func:`category`; :data:`WRAPPERS`
    go where they hold one phrase, so that the outermost label is that of the sentence.

    Examples
    --------
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
