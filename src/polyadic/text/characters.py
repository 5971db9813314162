r"""Normalization of equivalent characters, and detection of wrongly decoded text.

UTF-8 that was decoded as another encoding ("mojibake") has pairs such as "Ã©" for "é": a character for the first byte
of a letter or punctuation mark in UTF-8, and characters for the bytes that continue it. In scripts other than Latin
such pairs follow one another.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from polyadic.core.errors import InputWarning, counted
from polyadic.core.progress import note

MAX_NAMED = 3  # files named in a message
MIN_PLACES, MAX_APART = 2, 100_000
"""Minimum number of such places in a reported file (one may be intended), and maximum mean distance in characters."""
MAX_SHOWN = 40  # characters of an example

_CONTROLS = re.compile("[\x80-\x84\x86-\x9f]")  # U+0085 is a line end
_NEXT, _NEXT_1251 = (
    f"[\x80-\xbf{re.escape(bytes(range(0x80, 0xC0)).decode(encoding, 'ignore'))}]" for encoding in ("cp1252", "cp1251")
)
_PERHAPS = re.compile(f"[Â-ÅÎ-Ñ×-Ùà-ïРС][{_NEXT[1:-1]}{_NEXT_1251[1:-1]}]")
_MOJIBAKE = re.compile(
    f"[ÂÃÄÅ]{_NEXT}|â[\x80-\x84€‚ƒ„]{_NEXT}|(?:[ÎÏÐÑ×ØÙ]{_NEXT}){{2}}|(?:[à-ï]{_NEXT}{{2}}){{2}}|(?:[РС]{_NEXT_1251}){{3}}"
)

_LETTERS = (
    *("\u0132\u0133\u013f\u0140\u0149\u017f\u01c4-\u01cc\u01f1-\u01f3\u1e9b\u2f00-\u2fd5\ufb00-\ufb06\ufb13-\ufb17"),
    *("\ufb20-\ufb28\ufb4f-\ufbb1\ufbd3-\ufd3d\ufd50-\ufdf9\ufe70-\ufefc\uff10-\uff19\uff21-\uff3a\uff41-\uff5a"),
    *("\uff66-\uff9f\U0001d400-\U0001d7ff"),
)
_FOLDED = re.compile(f"[{''.join(_LETTERS)}]+|(?<=[０-９])[，．](?=[０-９])|＇")
"""Ligatures, the long s, digraphs, Kangxi radicals, presentation forms, letters of full and half width, mathematics."""
_SHORT_VOWELS = "\u064b-\u0652\u0656-\u065f\u0670\u0610-\u061a\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
_MARKS = {
    "ar": f"[{_SHORT_VOWELS}]",
    "he": "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]",
    **dict.fromkeys(("ru", "uk", "be", "bg"), "\u0301(?<=[аеиоуыэюяєіїёАЕИОУЫЭЮЯЄІЇЁ]\u0301)"),
}
"""Marks that help to pronounce a word and are usually not written, by language."""
_TATWEEL = "\u0640"


def folded(text: str, language: str, marks: Literal["auto", "keep", "drop"] = "auto") -> str:
    """Normalize a text: replace ligatures and other variant forms of letters by the usual letters.

    Replaced by the usual letters are ligatures ("ﬁ"), the long s, the digraphs of Croatian and Dutch, the presentation
    forms of Armenian, Hebrew and Arabic, letters and digits of full width, katakana of half width, Kangxi radicals and
    the letters of mathematics. Superscripts, fractions, symbols and full-width punctuation stay.

    Parameters
    ----------
    text : str
        Text.
    language : str
        Language code, such as "ar".
    marks : {"auto", "keep", "drop"}
        Treatment of marks that are usually not written. ``"auto"`` removes vowel points of Arabic and Hebrew and the
        stress marks of Russian, Ukrainian, Belarusian and Bulgarian from texts in these languages, and the tatweel
        from all texts; ``"drop"`` removes them all, and ``"keep"`` none.

    Examples
    --------
    >>> folded("The ﬁrſt ﬂower costs １２ x²", "en")
    'The first flower costs 12 x²'
    >>> folded("за́мок, йод", "ru"), folded("за́мок", "ru", "keep") == "за́мок"
    ('замок, йод', True)
    """
    # a blank before a mark that is shown alone goes, so that the mark follows the letter before it
    text = _FOLDED.sub(lambda match: unicodedata.normalize("NFKC", match[0]).replace(" ", ""), text)
    if text.isascii() or marks == "keep":
        return text
    known = dict.fromkeys(_MARKS.values()) if marks == "drop" else [_MARKS[language]] if language in _MARKS else []
    return re.sub("|".join([_TATWEEL, *known]), "", text)


@dataclass
class Decoding:
    """Encodings of files other than UTF-8, and characters that suggest that a file was decoded wrongly, by file."""

    encodings: dict[str, str] = field(default_factory=dict)
    controls: Counter[str] = field(default_factory=Counter)  # number of control characters
    mojibake: Counter[str] = field(default_factory=Counter)  # number of occurrences
    examples: dict[str, str] = field(default_factory=dict)  # text around the first one
    sizes: Counter[str] = field(default_factory=Counter)  # number of characters

    def add(self, other: Decoding) -> None:
        """Add the results of other files, or of other parts of the same files."""
        self.encodings |= other.encodings
        self.controls.update(other.controls)
        self.mojibake.update(other.mojibake)
        self.sizes.update(other.sizes)
        self.examples = other.examples | self.examples

    def watched(self, texts: Iterable[str], name: str) -> Iterator[str]:
        """Pass on the blocks of a text, and count the characters that suggest a wrong encoding."""
        for text in texts:
            self.sizes[name] += len(text)
            looked_for = (self.controls, _CONTROLS, _CONTROLS), (self.mojibake, _PERHAPS, _MOJIBAKE)
            for places, may_be, pattern in looked_for:
                if not text.isascii() and may_be.search(text) and (first := pattern.search(text)):
                    places[name] += sum(1 for _ in pattern.finditer(text))
                    self.examples.setdefault(name, _around(text, first.start()))
            yield text

    def report(self) -> None:
        """Log the encodings other than UTF-8, and warn about characters that suggest a wrong encoding."""
        for encoding in sorted({*self.encodings.values()}):
            note(f"read as {encoding}: {_some(name for name, used in self.encodings.items() if used == encoding)}")
        self._warn(
            {name: n for name, n in self.controls.items() if name not in self.mojibake},
            "control characters (U+0080 to U+009F)",
            "the text was probably written in cp1252 or cp1250; try encoding='cp1252' or encoding='cp1250'",
        )
        self._warn(
            self.mojibake,
            "UTF-8 that was decoded wrongly",
            "repair the text, for example with ftfy, or try encoding='utf-8' if another encoding was set",
        )

    def _warn(self, places: Mapping[str, int], what: str, advice: str) -> None:
        if often := {name: n for name, n in places.items() if n >= max(MIN_PLACES, self.sizes[name] / MAX_APART)}:
            example, n = self.examples[next(iter(often))], sum(often.values())
            message = f"found {what} at {n:,} places, such as {example!r}, in {_some(often)}; {advice}"
            warnings.warn(InputWarning(message, "encoding"), stacklevel=4)


def _around(text: str, at: int) -> str:
    """Return the word at a position and the words beside it."""
    start = text.rfind(" ", max(at - MAX_SHOWN // 2, 0), at) + 1 or max(at - MAX_SHOWN // 2, 0)
    return " ".join(text[start : start + MAX_SHOWN].split())


def _some(names: Iterable[str]) -> str:
    """Return the number of files and the names of some."""
    names = [*names]
    more = f" and {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else ""
    return f"{counted(len(names), 'file')} ({', '.join(names[:MAX_NAMED])}{more})"
