"""Sentence and word segmentation of English text in the style of treebanks: *don't* is two words, *well-known* three.

The rules are those of the English Web Treebank: clitics (``n't 's 'm 're 've 'll 'd``), punctuation and symbols are
words of their own, and so are hyphens and slashes between words, but not after a prefix (*non-stop*) or within
numbers, dates, addresses and links; abbreviations keep their full stop.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from polyadic.core.annotations import Path
from polyadic.syntax.trees import Tree, numbered_sentences, untagged

TITLES = "Mr Mrs Ms Dr Prof Rev Hon St Ft Mt Gen Col Lt Sgt Capt Maj Cmdr Sen Rep Reps Gov Pres Messrs No vs Attn"
"""Abbreviations that never end a sentence."""
OTHERS = (
    "Jan Feb Mar Apr Jun Jul Aug Sept Sep Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun"
    " Inc Ltd Co Corp Jr Sr Bros etc al lb lbs oz ft approx dept est ext misc"
)
"""Abbreviations that may end a sentence."""
PREFIXES = (
    "e non pre post anti pro ex co mid re semi multi over under un sub super inter intra counter quasi neo pseudo ultra"
    " bi tri self cyber psycho socio"
)
ENDINGS = "s m re ve ll d"
NEGATED = "do does did is are was were have has had would could should wo ca ai"  # verbs before *nt*, no apostrophe
UNITS = "am pm k m b bn mm ft lb lbs oz kg km cm min hr hrs"  # units that are separated from a preceding number
WORDS = {"cannot": 3, "gonna": 3, "gotta": 3, "wanna": 3, "dunno": 2}  # words that are split, with the position

_APOSTROPHE = "['’`]"
_LETTER = r"[^\W\d_]"
_TOKEN = re.compile(
    rf"""
    (?:https?://|ftp://|www\.)[^\s<>"]*[\w/]             # links
    | (?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*          # addresses; none begins inside another token
    | (?<![\w-])(?<![\w-]\.)[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|edu|gov|info|doc|xls|pdf|txt|html?)\b
    | [:;=8][-o]?[()\[\]DPp](?!\w) | <3
    | \d{{1,2}}/\d{{1,2}}(?:/\d{{2,4}})?(?![\w/])              # dates
    | \d+-\d{{2,3}}-\d{{3,4}}(?!\d) | \d{{3}}-\d{{3,4}}(?:-\d{{4}})?(?!\d)         # telephones
    | \d{{1,2}}-\d{{1,2}}-\d{{2,4}}(?!\d)
    | (?:{_LETTER}\.){{2,}}                              # U.S.
    | (?:{"|".join([*TITLES.split(), *OTHERS.split()])})\.(?!\w)
    | [A-Z]\.(?=\s+[A-Z])                                # initials
    | (?i:{"|".join(f"{word[:cut]}(?={word[cut:]}" + chr(92) + "b)" for word, cut in WORDS.items())})
    | (?i:{"|".join(NEGATED.split())})(?=(?i:nt)\b)
    | (?<=\w)(?i:not|na|ta|nno|nt)\b                     # the second part of those
    | [.]?\d+(?:[.,:]\d+)*(?=(?i:{"|".join(UNITS.split())})\b)
    | (?i:n{_APOSTROPHE}t)(?!\w)
    | {_APOSTROPHE}(?i:{"|".join(ENDINGS.split())})(?!\w)
    | (?i:{"|".join(PREFIXES.split())})-{_LETTER}+(?!{_APOSTROPHE}t)
    | {_LETTER}+?(?=(?i:n{_APOSTROPHE}t)(?!\w))          # do, before n't
    | [A-Z]+&[A-Z]+(?!\w)
    | {_LETTER}(?:\w|{_APOSTROPHE}(?!(?i:{"|".join(ENDINGS.split())})(?!\w))(?={_LETTER}))*+
    | [.]?\d+(?:[.,:]\d+)*(?:st|nd|rd|th|s)?(?!\w)
    | \w+
    | [.?!]{{2,}} | ([^\w\s])\1*
    """,
    re.VERBOSE,
)
_CLOSING = frozenset("”’)]}»")
_QUOTES = _CLOSING | {'"', "'", "''"}
_ENDS = re.compile(r"[.?!…]+|[:;=8][-o]?[()\[\]DPp]")


class PlainSentence(NamedTuple):
    """Tokenized sentence: the words, a flag for each word that no space follows, and the text on one line."""

    forms: tuple[str, ...]
    glued: tuple[bool, ...]
    text: str

    def tree(self, number: int) -> Tree:
        """Convert the sentence to a tree without heads and annotations, with ``number`` as its ``sent_id``."""
        misc = tuple("SpaceAfter=No" if glued else "_" for glued in self.glued)
        comments = (f"# sent_id = {number}", f"# text = {self.text}")
        return replace(untagged(self.forms), misc=misc, comments=comments)


def plain_sentences(text: str, *, by_line: bool = False) -> Iterator[PlainSentence]:
    """Split English text into sentences and words; empty lines end a sentence, or every line if ``by_line``.

    >>> [s.forms for s in plain_sentences("Mr. Li can't come. (He's ill.) Sorry!")]
    [('Mr.', 'Li', 'ca', "n't", 'come', '.'), ('(', 'He', "'s", 'ill', '.', ')'), ('Sorry', '!')]
    """
    for block in re.split(r"\n" if by_line else r"\n\s*\n", text.replace("\r\n", "\n")):
        tokens: list[re.Match[str]] = []
        ended = False  # whether the last token, quotes aside, ends a sentence
        for token in _TOKEN.finditer(block):
            # a sentence begins after a space, and not in lower case
            if ended and not (tokens[-1].end() == token.start() or token[0][0].islower() or token[0] in _CLOSING):
                yield _sentence(block, tokens)
                tokens, ended = [], False
            if token[0] not in _QUOTES:
                ended = _ENDS.fullmatch(token[0]) is not None
            tokens.append(token)
        if tokens:
            yield _sentence(block, tokens)


def plain_trees(texts: Iterable[str], *, by_line: bool = False) -> Iterator[Tree]:
    """Split English texts into sentences and yield each sentence as a tree without heads."""
    sentences = (sentence for text in texts for sentence in plain_sentences(text, by_line=by_line))
    return (sentence.tree(number) for number, sentence in enumerate(sentences, 1))


def read_paragraphs(path: Path) -> Iterator[str]:
    """Yield the paragraphs of a text file, separated by empty lines."""
    return ("\n".join(lines) for _, lines in numbered_sentences(path))


def _sentence(block: str, tokens: list[re.Match[str]]) -> PlainSentence:
    starts = [token.start() for token in tokens]
    glued = [token.end() == start for token, start in zip(tokens, starts[1:], strict=False)]
    text = " ".join(block[starts[0] : tokens[-1].end()].split())
    return PlainSentence(tuple(token[0] for token in tokens), (*glued, False), text)
