"""Language-dependent text processing: language detection, and segmentation into sentences and words.

The language is detected by py3langid (Lui and Baldwin 2012): on pieces of 100 characters of English, German, Italian,
Spanish and Czech its accuracy is 0.98 to 1. Sentences are split by sentencex, which knows the abbreviations of some 30
languages and falls back to related ones.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Iterator
from itertools import accumulate, chain, pairwise

from polyadic.core.errors import InputError, needing

MIN_CHARACTERS = 100
"""Minimum number of characters of different words for language detection; shorter Latin text is taken to be English."""
MAX_SAMPLED = 1 << 16  # maximum number of characters examined
PARTING = {"az", "ca", "co", "fr", "it", "oc", "tr", "wa"}
"""Languages in which an apostrophe separates two words: l'eau, dell'acqua, İstanbul'da."""
COLON = {"fi", "sv"}  # languages in which a colon separates a word from its ending: EU:n, USA:s
ORDINAL = {"bs", "cs", "da", "de", "et", "eu", "fi", "fo", "hr", "hu", "is", "lb", "lv", "nb", "nn", "no", "pl", "se"}
ORDINAL |= {"sk", "sl", "sr", "tr"}
"""Languages in which a full stop after a number makes it ordinal: 3. Oktober."""
DOTTED = {"az", "tr"}  # languages in which the lower case of I is dotless, and that of İ has a dot
UNSPACED = {"ja": "japanese", "zh": "chinese", "km": "", "lo": "", "my": "", "th": ""}
"""Languages without spaces between words, with the extra that segments them."""
UNSPACED_LETTERS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Letters of these languages, as a character class body."""


def guess(text: str) -> str:
    """Return the two-letter code of the most probable language of a text; all Chinese languages are "zh"."""
    sample = " ".join(dict.fromkeys(text[:MAX_SAMPLED].split()))  # a word again and again tells no more than once
    if len(sample) < MIN_CHARACTERS and len(_OTHER_SCRIPTS.sub("", sample)) * 2 >= len(sample):  # mostly Latin
        return "en"
    import py3langid

    return next(code for code, _ in py3langid.rank(sample) if len(code) == 2)


_OTHER_SCRIPTS = re.compile("[\u0370-\u1cff\u2e80-\uabff]+")


def check(language: str) -> str:
    """Return the language code in lower case; raise InputError if it is invalid."""
    if not re.fullmatch(r"[A-Za-z]{2,3}", language):
        raise InputError(
            f"language must be auto or a code of two or three letters, such as 'en'; got {language!r}", "language"
        )
    return language.lower()


def sentences(text: str, language: str) -> Iterator[str]:
    """Split a line of text into sentences, but not after initials, abbreviations or ordinal numbers.

    Sentence ends within quotations are ignored, unless a sentence would exceed :data:`MAX_SENTENCE_LENGTH` characters.
    """
    goes_on = _GOES_ON_ORDINAL if language in ORDINAL else _GOES_ON
    waiting, end = [], ""
    for part in _parts(text, language):
        waiting.append(part)
        end = (end[-_BEFORE:] if part.strip() else end) + part
        written = end.rstrip()
        if not (written.endswith(".") and len(written) < len(end) and goes_on.search(written[-_BEFORE:])):
            yield "".join(waiting)
            waiting, end = [], ""
    if waiting:
        yield "".join(waiting)


def _parts(text: str, language: str) -> Iterator[str]:
    import sentencex

    def segment(text: str, unseen: re.Pattern[str] = _WIDE_BLANKS) -> Iterator[str]:
        ends = accumulate(map(len, sentencex.segment(language, unseen.sub(" ", text))))
        return (text[start:end] for start, end in pairwise(chain([0], ends)))

    try:
        for part in _segments(text, segment):
            if len(part) <= MAX_SENTENCE_LENGTH:
                yield part
            else:
                yield from segment(part, _QUOTES)
    except UnicodeEncodeError as error:
        near = error.object[max(error.start - 20, 0) : error.end + 20]
        raise InputError(f"a text must be valid Unicode; got an unpaired surrogate in {near!r}") from None


def _segments(text: str, segment: Callable[[str], Iterator[str]]) -> Iterator[str]:
    """Apply a sentence segmenter with quadratic cost to a long line, one chunk at a time."""
    at = 0
    while len(text) - at > STRETCH:
        blank = text.rfind(" ", at + STRETCH // 2, at + STRETCH)  # further back one would go on from where one is
        parts = [*segment(text[at : blank + 1 or at + STRETCH])]
        parts = parts[:-1] if len(parts[-1]) < STRETCH // 2 else parts  # a short last one may be incomplete
        yield from parts
        at += sum(map(len, parts))
    yield from segment(text[at:])


STRETCH = 1 << 13  # characters of a line that are segmented at once; few paragraphs are longer
MAX_SENTENCE_LENGTH = 500  # characters of a sentence; in a longer one an unpaired quotation mark may hide sentence ends
_WIDE_BLANKS = re.compile(r"[^\S\x00-\x7f]")  # behind "I" or another numeral, sentencex fails at them
_QUOTES = re.compile('["“”„«»‹›]|[^\\S\\x00-\\x7f]')
_GOES_ON = re.compile(r"(?<![^\s(\[„“\"'])[^\W\d_]\.$")
_GOES_ON_ORDINAL = re.compile(r"(?<![^\s(\[„“\"'])(?:[^\W\d_]|\d{1,2})\.$")
_BEFORE = 4  # characters that these look at, before blanks


def lowered(text: str, language: str) -> str:
    """Convert text to lower case according to the rules of a language."""
    return (text.replace("I", "ı").replace("İ", "i") if language in DOTTED else text).lower()


@functools.cache
def segmenter(language: str) -> Callable[[str], list[str]] | None:
    """Return a word segmenter for Chinese or Japanese; None for other languages or if none is installed."""
    try:
        if language == "zh":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of its age
                import jieba
            jieba.setLogLevel(60)  # or it tells how its dictionary is loaded
            return jieba.lcut
        if language == "ja":
            import sudachipy

            dictionary = sudachipy.Dictionary()
            tokenizer = dictionary.tokenizer() if hasattr(dictionary, "tokenizer") else dictionary.create()
            return lambda text: [part.surface() for part in tokenizer.tokenize(text)]
    except ImportError:
        return None
    return None


@functools.cache
def lemmatizer(language: str) -> Callable[[str], str]:
    """Return a function that lemmatizes word forms with simplemma."""
    with needing("simplemma", "lemmas", "lemmas of words"):
        from simplemma import lemmatize
    try:
        lemmatize("a", lang=language)
    except ValueError:
        raise InputError(f"lemmas are not available for the language {language!r}; omit lemmas") from None
    return functools.lru_cache(1 << 18)(functools.partial(lemmatize, lang=language))


def warn_of_unspaced(language: str) -> None:
    """Warn if a language is written without spaces and no word segmenter for this language is installed."""
    if language in UNSPACED and segmenter(language) is None:
        extra = UNSPACED[language]
        instead = f', or run pip install "polyadic[{extra}]"' if extra else ""
        what = f"the language {language} is written without spaces, so whole clauses are read as single words"
        advice = f"split the text into words and read it as tokenised text{instead}"
        warnings.warn(f"{what}; {advice}", stacklevel=3)
