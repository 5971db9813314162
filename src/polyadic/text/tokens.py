"""From a document to sentences of tokens.

Marks that belong to the words or numbers around them, for whatever says what a word is.
"""

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
    """Split a document into sentences and sentences into words.

    The text is brought into Unicode's composed form (NFC), typographic apostrophes become ``'`` and soft hyphens
    vanish. Then

    * a sentence ends at a line end and where :func:`~polyadic.text.languages.sentences` says: not behind initials
      ("J. Smith"), abbreviations of the language ("Mr.", "z. B.") and, where they are written so, ordinal numbers;
    * a word is a run of letters and digits with their combining marks, in any script, as in Unicode's annex 29; an
      apostrophe or underscore between two letters belongs to it ("don't", "o'neil", "new_york"), as do marks that other
      languages have there ("col·lecció", "צה״ל"), a comma or full stop between two digits ("3.14", "1,000") and a full
      stop between single letters ("U.S." is "u.s"); a hyphen does not ("well-known" is two words);
    * in Catalan, French, Italian, Turkish and their kin an apostrophe parts two words ("l'eau" is "l" and "eau"); in
      Finnish and Swedish a colon joins them ("EU:n");
    * a final "'s" is cut off ("dog's" becomes "dog"), as it would divide the counts of every noun by two.

    Chinese is cut into words by jieba and Japanese by SudachiPy, where they are installed (the extras ``chinese`` and
    ``japanese``). Other text without spaces keeps each run of letters as one token: cut it into words first and pass it
    with ``tokenizer=whitespace``, or pass a tokenizer of your own.

    Parameters
    ----------
    lowercase : bool
        Whether words are put in lower case.
    digits : {"keep", "drop", "zero"}
        ``"drop"`` leaves out words that begin with a digit ("1984", "21st"; "mp3" stays); ``"zero"`` turns every digit
        into ``0``, so that all years are one word.
    punctuation : {"drop", "keep"}
        ``"keep"`` makes each punctuation mark or symbol, and "'s", a token of its own.
    lemmas : bool
        Whether words are taken to their lemmas ("banks" to "bank", "ging" to "gehen"), word by word, by the lists and
        rules of simplemma (the extra ``lemmas``), which know some 50 languages.
    language : str, optional
        The code of the language, such as "de". By default that of the corpus, where one is built; elsewhere English.

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
        """Return the sentences of ``text``, each a list of tokens; sentences without tokens are left out."""
        return [tokens for _, tokens in self.sentences(text)]

    def sentences(self, text: str) -> list[tuple[str, list[str]]]:
        """Return the sentences of ``text`` as they stand in it, with their tokens; none without tokens."""
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
    r"""Split text that is tokenised already: one sentence a line, white space between tokens.

    Examples
    --------
    >>> whitespace("The dog 's bowl .\n\nIt is empty .")
    [['The', 'dog', "'s", 'bowl', '.'], ['It', 'is', 'empty', '.']]
    """
    return [tokens for line in text.split("\n") if (tokens := line.split())]


def tokenizer_of(
    *, tokenised: bool, lemmas: bool, digits: str = "keep", punctuation: str = "drop"
) -> Callable[[str], list[list[str]]]:
    """Give the tokenizer of text that is tokenised already, or one with settings.

    Raises
    ------
    InputError
        If lemmas are asked for of text that is tokenised.
    """
    if tokenised and lemmas:
        raise InputError("lemmas are for words that are cut here; leave out tokenised")
    return whitespace if tokenised else Tokenizer(digits=digits, punctuation=punctuation, lemmas=lemmas)


@functools.cache
def _pattern(punctuation: str, kind: str, *, plain: bool) -> re.Pattern[str]:
    """Compile what a token is; built on first use because the list of combining marks takes some milliseconds.

    For ``plain`` text, which is ASCII, in a third of the time: letters are a range, and nothing is tried twice.
    """
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
"""Combining marks in a row; more are parted by an invisible one, as Unicode's annex 15 says of stream-safe text."""


def composed(text: str) -> str:
    r"""Bring a text into Unicode's composed form (NFC).

    To put n marks in order takes n^2 steps; hence there are no more than :data:`MARKS` in a row.

    Examples
    --------
    >>> composed("e\u0301") == "\u00e9"
    True
    """
    perhaps, surely = _many_marks()
    if not text.isascii() and perhaps.search(text):
        text = surely.sub("\\1\u034f", text)
    return unicodedata.normalize("NFC", text)


@functools.cache
def _many_marks() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile what is fast and finds more than marks, and what finds marks alone."""
    rare = "\U000101fd"  # the first mark beyond 2^16; a class of single ones beyond would be slow
    within = f"[{marks().partition(rare)[0]}{rare}-\U0010ffff]"
    return re.compile(f"{within}{{{MARKS + 1}}}"), re.compile(f"([{marks()}]{{{MARKS}}})(?=[{marks()}])")


@functools.cache
def marks() -> str:
    r"""Return the body of a character class of all combining marks, which ``\w`` leaves out.

    Without them the vowel signs of Devanagari or Tamil would cut words apart.
    """
    first, last = 0x300, 0x1FFFF  # no mark lies outside, but for variation selectors
    codes = [code for code in range(first, last) if unicodedata.category(chr(code)).startswith("M")]
    starts = [code for code in codes if unicodedata.category(chr(code - 1))[0] != "M" or code == first]
    ends = [code for code in codes if unicodedata.category(chr(code + 1))[0] != "M"]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


INNER = "\u00b7\u0387\u055b-\u055f\u05f3\u05f4\u2027"
"""Marks within words: the dot of Catalan, those of Armenian and Hebrew (annex 29's MidLetter, less the colon)."""
POINTS = ".,\u066b\u066c"
"""Marks within numbers."""
