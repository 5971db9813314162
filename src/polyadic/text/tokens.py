"""From a document to sentences of tokens: the default rules for any language that puts spaces between words."""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass

from polyadic.errors import check_choice

_END = re.compile(
    r"[.!?…](?<!\b[^\W\d_]\.)[.!?…]*[\"'”’»)\]]*\s+"  # Full stop and space, but not the one of an initial: J. Smith
    r"|[。！？｡]+[\"'”’」』）)]*"  # these need no space after them
    r"|\n"
)
_JOINERS = "\u200c\u200d"  # invisible, part of words in Persian and the scripts of India


@dataclass(frozen=True)
class Tokenizer:
    """Split a document into sentences and sentences into words.

    The text is brought into Unicode's composed form (NFC), typographic apostrophes become ``'`` and soft hyphens
    vanish. Then

    * a sentence ends at a line end, at ``. ! ? …`` (with closing quotes or brackets) before white space, and at
      ``。 ！ ？``; the full stop of a single letter ("J. Smith", "the U.S. army") ends nothing, that of any other
      abbreviation does;
    * a word is a run of letters and digits with their combining marks, in any script; an apostrophe or underscore
      between two letters belongs to it ("don't", "o'neil", "new_york"), as do a comma or full stop between two digits
      ("3.14", "1,000") and a full stop between single letters ("U.S." is "u.s"); a hyphen does not ("well-known" is
      two words);
    * a final "'s" is cut off ("dog's" becomes "dog"), as it would divide the counts of every noun by two.

    Scripts that put no spaces between words (Chinese, Japanese, Thai) keep each run of letters as one token: segment
    such text first and pass it with ``tokenizer=whitespace``, or pass a tokenizer of your own.

    Parameters
    ----------
    lowercase : bool
        Whether words are put in lower case.
    digits : {"keep", "drop", "zero"}
        ``"drop"`` leaves out words that begin with a digit ("1984", "21st"; "mp3" stays); ``"zero"`` turns every digit
        into ``0``, so that all years are one word.
    punctuation : {"drop", "keep"}
        ``"keep"`` makes each punctuation mark or symbol, and "'s", a token of its own.

    Examples
    --------
    >>> Tokenizer()("Don't panic! It's the U.S. army's 42nd well-known towel.")
    [["don't", 'panic'], ['it', 'the', 'u.s', 'army', '42nd', 'well', 'known', 'towel']]
    >>> Tokenizer(lowercase=False, digits="zero", punctuation="keep")("In 1984, Zoë's cat.")
    [['In', '0000', ',', 'Zoë', "'s", 'cat', '.']]
    """

    lowercase: bool = True
    digits: str = "keep"
    punctuation: str = "drop"

    def __post_init__(self) -> None:
        check_choice("digits", self.digits, ("keep", "drop", "zero"))
        check_choice("punctuation", self.punctuation, ("drop", "keep"))

    def __call__(self, text: str) -> list[list[str]]:
        """Return the sentences of ``text``, each a list of tokens; sentences without tokens are left out."""
        if self.lowercase:
            text = text.lower()
        text = unicodedata.normalize("NFC", text).replace("’", "'").replace("\u00ad", "")
        if self.digits == "zero":
            text = re.sub(r"\d", "0", text)
        find = _pattern(self.punctuation).findall
        sentences = [tokens for sentence in _split(text) if (tokens := find(sentence))]
        if self.digits != "drop":
            return sentences
        kept = ([token for token in tokens if not token[0].isdecimal()] for tokens in sentences)
        return [tokens for tokens in kept if tokens]


def whitespace(text: str) -> list[list[str]]:
    r"""Split text that is tokenised already: one sentence a line, white space between tokens.

    Examples
    --------
    >>> whitespace("The dog 's bowl .\n\nIt is empty .")
    [['The', 'dog', "'s", 'bowl', '.'], ['It', 'is', 'empty', '.']]
    """
    return [tokens for line in text.split("\n") if (tokens := line.split())]


def _split(text: str) -> list[str]:
    """Cut ``text`` behind each sentence end."""
    ends = [end.end() for end in _END.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


@functools.cache
def _pattern(punctuation: str) -> re.Pattern[str]:
    """Compile what a token is; built on first use because the list of combining marks takes some milliseconds."""
    marks = _marks()
    word = (
        rf"[^\W_]+(?:[{marks}{_JOINERS}]+[^\W_]*|['_](?!s\b)[^\W_]+|(?<=\d)[.,]\d[^\W_]*|(?<=\b[^\W\d_])\.[^\W\d_]\b)*"
    )
    if punctuation == "drop":
        return re.compile(rf"({word})(?:'s\b)?")
    return re.compile(rf"{word}|'s\b|[^\w\s{marks}{_JOINERS}\u200b\u2060\ufeff\x00-\x1f\x7f-\x9f]|_")


def _marks() -> str:
    r"""Return the body of a character class of all combining marks, which ``\w`` leaves out.

    Without them the vowel signs of Devanagari or Tamil would cut words apart.
    """
    first, last = 0x300, 0x1FFFF  # no mark lies outside, but for variation selectors
    codes = [code for code in range(first, last) if unicodedata.category(chr(code)).startswith("M")]
    starts = [code for code in codes if unicodedata.category(chr(code - 1))[0] != "M" or code == first]
    ends = [code for code in codes if unicodedata.category(chr(code + 1))[0] != "M"]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))
