"""Tokenizer that splits documents into sentences and words."""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyadic.core.errors import InputError, check_choice
from polyadic.text import languages

if TYPE_CHECKING:
    from collections.abc import Callable

_JOINERS = "\u200c\u200d"  # invisible, part of words in Persian and the scripts of India


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
        Treatment of digits. ``"drop"`` removes words that begin with a digit ("1984", "21st", but not "mp3");
        ``"zero"`` replaces every digit by ``0``, so that all years become one word.
    punctuation : {"drop", "keep"}
        Treatment of punctuation. ``"keep"`` makes each punctuation mark, each symbol and "'s" a token of its own.
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
    """

    lowercase: bool = True
    digits: str = "keep"
    punctuation: str = "drop"
    lemmas: bool = False
    language: str | None = None

    def __post_init__(self) -> None:
        check_choice("digits", self.digits, ("keep", "drop", "zero"))
        check_choice("punctuation", self.punctuation, ("drop", "keep"))
        if self.language is not None:
            languages.check(self.language)

    def __call__(self, text: str) -> list[list[str]]:
        """Return the sentences of ``text`` as lists of tokens; sentences without tokens are dropped."""
        return [tokens for _, tokens in self.sentences(text)]

    def sentences(self, text: str) -> list[tuple[str, list[str]]]:
        """Return the sentences of ``text`` as written, each with its tokens; sentences without tokens are dropped."""
        language = self.language or "en"
        text = composed(text)
        kind = "parting" if language in languages.PARTING else "colon" if language in languages.COLON else ""
        find, find_plain = (_pattern(self.punctuation, kind, plain=plain).findall for plain in (False, True))
        cut = languages.segmenter(language)
        lemma = languages.lemmatizer(language) if self.lemmas else None
        sentences = []
        for line in text.split("\n"):
            for sentence in languages.sentences(line, language):
                words = sentence.replace("’", "'").replace("\u00ad", "")
                words = words if cut is None else " ".join(cut(words))
                if self.lowercase:
                    words = languages.lowered(words, language)
                plain = words.isascii()
                if self.lowercase and not plain:
                    words = composed(words)
                if self.digits == "zero":
                    words = re.sub(r"\d", "0", words)
                tokens = find_plain(words) if plain else find(words)
                if self.digits == "drop":
                    tokens = [token for token in tokens if not token[0].isdecimal()]
                if lemma is not None:
                    tokens = [lemma(token) for token in tokens]
                    tokens = [languages.lowered(token, language) for token in tokens] if self.lowercase else tokens
                if tokens:
                    sentences.append((sentence.strip(), tokens))
        return sentences


def whitespace(text: str) -> list[list[str]]:
    """Split pre-tokenized text: one sentence per line, tokens separated by white space."""
    return [tokens for line in text.split("\n") if (tokens := line.split())]


def tokenizer_of(
    *, tokenised: bool, lemmas: bool, digits: str = "keep", punctuation: str = "drop"
) -> Callable[[str], list[list[str]]]:
    """Return ``whitespace`` for pre-tokenized text, otherwise a Tokenizer with the given settings."""
    if tokenised and lemmas:
        raise InputError(
            "lemmas cannot be combined with tokenised, because pre-tokenized words are not changed",
            "lemmas",
            "tokenised",
        )
    return whitespace if tokenised else Tokenizer(digits=digits, punctuation=punctuation, lemmas=lemmas)


@functools.cache
def _pattern(punctuation: str, kind: str, *, plain: bool) -> re.Pattern[str]:
    """Return the regular expression of tokens; the ``plain`` one matches ASCII text three times as fast."""
    if plain:
        some = "[A-Za-z0-9]++"
        joint = rf"(?:_|(?<=\baujourd)'){some}" if kind == "parting" else rf"['_](?!s\b){some}"
        joint += rf"|:(?=[A-Za-z]){some}" * (kind == "colon")
        inner = rf"{joint}|(?<=[0-9])[.,][0-9][A-Za-z0-9]*+|(?<=\b[A-Za-z])\.[A-Za-z]\b"
        word = rf"{some}(?:(?=[.,:'_])(?:{inner}))*+"
        mark = r"'s\b|[!-/:-@\[-`{-~]"
        return re.compile(rf"({word})(?:'s\b)?" if punctuation == "drop" else rf"{word}|{mark}", re.ASCII)
    joint = r"(?:_|(?<=\baujourd)')[^\W_]+" if kind == "parting" else r"['_](?!s\b)[^\W_]+"
    joint += rf"|[{INNER}{':' * (kind == 'colon')}](?=[^\W\d_])[^\W_]+|(?<=[\u05d0-\u05ea])\"(?=[\u05d0-\u05ea])[^\W_]+"
    word = rf"[^\W_]+(?:[{marks()}{_JOINERS}]+[^\W_]*|{joint}|(?<=\d)[{POINTS}]\d[^\W_]*|(?<=\b[^\W\d_])\.[^\W\d_]\b)*"
    if punctuation == "drop":
        return re.compile(rf"({word})(?:'s\b)?")
    return re.compile(rf"{word}|'s\b|[^\w\s{marks()}{_JOINERS}\u200b\u2060\ufeff\x00-\x1f\x7f-\x9f]|_")


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
