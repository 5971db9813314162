"""Tokenizer that splits documents into sentences and words."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Literal

from polyadic.core.errors import InputError
from polyadic.core.settings import check_settings
from polyadic.text import languages
from polyadic.text.characters import folded

_JOINERS = "\u00ad\u200c\u200d"  # invisible: the soft hyphen, and joiners in Persian and the scripts of India


@dataclass(frozen=True)
class Tokenizer:
    """Tokenizer that splits a document into sentences and sentences into words.

    The text is normalized to Unicode NFC, typographic apostrophes become ``'`` and soft hyphens are removed. Then

    * a sentence ends at a line break and at the boundaries found by :func:`~polyadic.text.languages.sentences`, which
      skips initials ("J. Smith"), abbreviations of the language ("Mr.", "z. B.") and ordinal numbers where the language
      writes them with a full stop;
    * a word is a run of letters and digits with their combining marks, in any script, as in Unicode annex 29. An
      apostrophe or underscore between two letters is part of the word ("don't", "o'neil", "new_york"), and so are the
      word-internal marks of other languages ("col·lecció", "צה״ל"), a comma or full stop between digits ("3.14",
      "1,000") and a full stop between single letters ("U.S." becomes "u.s"). A hyphen separates words ("well-known" is
      two words);
    * in Catalan, French, Italian, Turkish and related languages an apostrophe separates two words ("l'eau" becomes "l"
      and "eau"); in Finnish and Swedish a colon joins them ("EU:n");
    * a final "'s" is removed ("dog's" becomes "dog"), so that both forms share one count.

    Chinese is segmented by jieba and Japanese by SudachiPy if they are installed (extras ``chinese`` and ``japanese``).
    In other scripts without spaces each run of letters stays one token: segment such text first and pass
    ``tokenizer=whitespace``, or pass your own tokenizer.

    Parameters
    ----------
    lowercase : bool
        Whether to convert words to lower case.
    digits : {"keep", "drop", "zero"}
        Keep digits, drop words that begin with a digit ("1984", "21st", but not "mp3"), or replace each digit by 0
        (zero), so that all years become one word.
    punctuation : {"drop", "keep"}
        Drop punctuation, or keep each punctuation mark, each symbol and "'s" as a word.
    hashtags : bool
        Whether hashtags ("#metoo"), mentions ("@ada") and emoji are words. Otherwise hashtags and mentions are words
        without the sign, and emoji are punctuation.
    marks : {"auto", "keep", "drop"}
        Treatment of vowel points, stress marks and the tatweel: auto (dropped in languages that usually do not write
        them), keep, or drop. See :func:`~polyadic.text.characters.folded`.
    lemmas : bool
        Whether to replace words by their lemmas ("banks" by "bank", "ging" by "gehen"), using the word lists and rules
        of simplemma for some 50 languages (extra ``lemmas``).
    language : str, optional
        Language code, such as "de". Defaults to the language of the corpus being built, and to English elsewhere.

    Examples
    --------
    >>> Tokenizer()("Don't panic! It's the U.S. army's 42nd well-known towel.")
    [["don't", 'panic'], ['it', 'the', 'u.s', 'army', '42nd', 'well', 'known', 'towel']]
    >>> Tokenizer(lowercase=False, digits="zero", punctuation="keep")("In 1984, Zoë's cat.")
    [['In', '0000', ',', 'Zoë', "'s", 'cat', '.']]
    >>> Tokenizer(language="fr")("L'eau d'aujourd'hui.")
    [['l', 'eau', 'd', "aujourd'hui"]]
    >>> Tokenizer(hashtags=True)("@ada: we won 👩‍🚀! #MeToo")
    [['@ada', 'we', 'won', '👩\u200d🚀'], ['#metoo']]
    """

    lowercase: bool = True
    digits: Literal["keep", "drop", "zero"] = "keep"
    punctuation: Literal["drop", "keep"] = "drop"
    hashtags: bool = False
    marks: Literal["auto", "keep", "drop"] = "auto"
    lemmas: bool = False
    language: str | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        if self.language is not None:
            languages.check(self.language)

    def __call__(self, text: str) -> list[list[str]]:
        """Return the sentences of ``text`` as lists of tokens; sentences without tokens are dropped."""
        return [tokens for _, tokens in self.sentences(text)]

    def sentences(self, text: str) -> list[tuple[str, list[str]]]:
        """Return the sentences of ``text`` as written, each with its tokens; sentences without tokens are dropped."""
        normal = functools.cache(self.normal)
        split = (("".join(parts).strip(), list(filter(None, map(normal, parts[1::2])))) for parts in self.parts(text))
        return [(sentence, tokens) for sentence, tokens in split if tokens]

    def parts(self, text: str) -> Iterator[list[str]]:
        """Yield each sentence of ``text`` as its words as written, between what is written before, between and after.

        >>> list(Tokenizer().parts("Well-known! No."))
        [['', 'Well', '-', 'known', '! '], ['', 'No', '.']]
        """
        language = self.language or "en"
        kind = "parting" if language in languages.PARTING else "colon" if language in languages.COLON else ""
        split, split_plain = (
            _pattern(kind, punctuation=self.punctuation == "keep", hashtags=self.hashtags, plain=plain).split
            for plain in (False, True)
        )
        cut = languages.segmenter(language)
        lines = composed(text).split("\n")
        for number, line in enumerate(lines, 1):
            parts: list[str] = []
            for sentence in languages.sentences(line, language) if line.strip() else ():
                if parts:
                    yield parts
                if cut is None:
                    parts = split_plain(sentence) if sentence.isascii() else split(sentence)
                else:
                    parts = [part.replace(_CUT, "") for part in split(_CUT.join(cut(sentence)))]
            parts = parts or [line]
            if number < len(lines):
                parts[-1] += "\n"
            yield parts

    def normal(self, word: str) -> str:
        """Return the normalized word, such as "bank" for "Bank", or an empty string if it is left out."""
        language = self.language or "en"
        word = word.replace("’", "'").replace("\u00ad", "")
        word = word if word.isascii() else folded(word, language, self.marks)
        if self.lowercase:
            word = languages.lowered(word, language)
            word = word if word.isascii() else composed(word)
        if self.digits == "drop" and word[:1].isdecimal():
            return ""
        if self.digits == "zero":
            word = re.sub(r"\d", "0", word)
        if self.lemmas:
            word = languages.lemmatizer(language)(word)
            word = languages.lowered(word, language) if self.lowercase else word
        return word


_CUT = "\x1f"  # mark between the words of a language without spaces


def whitespace(text: str) -> list[list[str]]:
    """Split pre-tokenized text: one sentence per line, tokens separated by white space."""
    return [tokens for line in text.split("\n") if (tokens := line.split())]


def tokenizer_of(tokenizer: Tokenizer, *, tokenised: bool) -> Callable[[str], list[list[str]]]:
    """Return ``whitespace`` for pre-tokenized text, otherwise the tokenizer."""
    for field in fields(Tokenizer) if tokenised else ():
        if getattr(tokenizer, field.name) != field.default:
            message = f"{field.name} cannot be combined with tokenised, because pre-tokenized words are not changed"
            raise InputError(message, field.name, "tokenised")
    return whitespace if tokenised else tokenizer


@functools.cache
def _pattern(kind: str, *, punctuation: bool, hashtags: bool, plain: bool) -> re.Pattern[str]:
    """Return the regular expression of words as a group; the ``plain`` one matches ASCII text three times as fast."""
    tag = r"(?<![\w#@])[#@](?=[^\W\d_])"  # sign before a word
    aujourd = "(?<=\\b[aA][uU][jJ][oO][uU][rR][dD])"
    if plain:
        some = "[A-Za-z0-9]++"
        joint = rf"(?:_|{aujourd}'){some}" if kind == "parting" else rf"['_](?![sS]\b){some}"
        joint += rf"|:(?=[A-Za-z]){some}" * (kind == "colon")
        inner = rf"{joint}|(?<=[0-9])[.,][0-9][A-Za-z0-9]*+|(?<=\b[A-Za-z])\.[A-Za-z]\b"
        word = rf"{some}(?:(?=[.,:'_])(?:{inner}))*+"
        mark = r"'[sS]\b|[!-/:-@\[-`{-~]"
        possessive = r"(?!(?<=[A-Za-z0-9_]')[sS]\b)"
        before = rf"{tag}[A-Za-z0-9_]+|" * hashtags
        return re.compile(rf"({before}{word}|{mark})" if punctuation else rf"({before}{possessive}{word})", re.ASCII)
    joint = rf"(?:_|{aujourd}['’])[^\W_]+" if kind == "parting" else r"['’_](?![sS]\b)[^\W_]+"
    joint += rf"|[{INNER}{':' * (kind == 'colon')}](?=[^\W\d_])[^\W_]+|(?<=[\u05d0-\u05ea])\"(?=[\u05d0-\u05ea])[^\W_]+"
    within = f"{marks()}{_JOINERS}"
    word = rf"[^\W_]+(?:[{within}]+[^\W_]*|{joint}|(?<=\d)[{POINTS}]\d[^\W_]*|(?<=\b[^\W\d_])\.[^\W\d_]\b)*"
    before = rf"{tag}[\w{within}]+|" * hashtags + f"{_EMOJI}|" * (punctuation or hashtags)
    if not punctuation:
        return re.compile(rf"({before}(?!(?<=[\w{marks()}]['’])[sS]\b){word})")
    return re.compile(rf"({before}{word}|['’][sS]\b|[^\w\s{within}\u200b\u2060\ufeff\x00-\x1f\x7f-\x9f]|_)")


_PICTURE = (
    "[\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u25aa-\u27bf\u2934-\u2b55"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_MODIFIED = f"{_PICTURE}[\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]*"
_EMOJI = f"[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\ufe0f?\u20e3|{_MODIFIED}(?:\u200d{_MODIFIED})*"
"""Regular expression of an emoji: a flag, a keycap, or joined pictures with modifiers (Unicode standard 51)."""

MARKS = 30
"""Maximum number of consecutive combining marks; longer runs are split, as in stream-safe text (Unicode annex 15)."""


def composed(text: str) -> str:
    """Normalize a text to Unicode NFC."""
    perhaps, surely = _many_marks()
    if not text.isascii() and perhaps.search(text):
        text = surely.sub("\\1\u034f", text)
    return unicodedata.normalize("NFC", text)


@functools.cache
def _many_marks() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile a fast approximate pattern and an exact pattern for long runs of combining marks."""
    rare = "\U000101fd"  # the first mark beyond 2^16; a class of single ones beyond would be slow
    within = f"[{marks().partition(rare)[0]}{rare}-\U0010ffff]"
    return re.compile(f"{within}{{{MARKS + 1}}}"), re.compile(f"([{marks()}]{{{MARKS}}})(?=[{marks()}])")


@functools.cache
def marks() -> str:
    r"""Return the body of a regular-expression character class of all combining marks, which ``\w`` does not match."""
    first, last = 0x300, 0x1FFFF  # no mark lies outside, but for variation selectors
    codes = [code for code in range(first, last) if unicodedata.category(chr(code)).startswith("M")]
    starts = [code for code in codes if unicodedata.category(chr(code - 1))[0] != "M" or code == first]
    ends = [code for code in codes if unicodedata.category(chr(code + 1))[0] != "M"]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


INNER = "\u00b7\u0387\u055b-\u055f\u05f3\u05f4\u2027"
"""Word-internal marks: the dot of Catalan and those of Armenian and Hebrew (annex 29's MidLetter without the colon)."""
POINTS = ".,\u066b\u066c"  # number-internal marks
