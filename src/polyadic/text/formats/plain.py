r"""Readers for plain text (one document per file or per line), WikiExtractor output, and CoNLL-U.

Hard-wrapped lines are joined. A wrapped line ends because the next word did not fit: with :math:`W` the 0.95 quantile
of line lengths, nearly every continued line is *full*,

.. math:: |l_i| + 1 + |\text{first word of } l_{i+1}| > W,

while few lines of verse, or lines of one sentence each, are. Only lines that are followed by another line and end in a
letter or digit are considered; in text without sentence-final punctuation, lines are taken as sentences. Shares of full
lines: novels wrapped by hand 0.89 to 1, pages wrapped by a program 0.99 to 1, licences 0.58 to 0.98; the King James
Bible with one verse per line 0.17, one sentence per line 0.02, lines of ten syllables 0.40, short messages 0.07,
reviews with one sentence per line at most 0.25.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from polyadic.core.errors import InputError
from polyadic.core.streams import lines
from polyadic.text.languages import UNSPACED_LETTERS
from polyadic.text.pieces import PIECE, File, Piece, Sentence, Tokens
from polyadic.text.tokens import composed

if TYPE_CHECKING:
    Part = str | Mapping[str, str]  # text, or the fields of the part of a document that begins

MIN_FULL = 0.5  # share of full lines from which a text is considered wrapped
WIDTH_QUANTILE = 0.95  # quantile of line lengths that is the width; some lines stick out
MIN_CONTINUED = 3  # minimum number of continued lines for a decision
MIN_WORDS = 4  # minimum median number of words of a line; shorter lines are a list
_WORD = re.compile(rf"[{UNSPACED_LETTERS}]|[^\s{UNSPACED_LETTERS}]+")  # a line may be broken behind each
_WIDE = re.compile("[\u1100-\u115f\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]")
_FULL_STOP = re.compile(r"[.!?。！？]")
_LETTERS = r"(?<![^\W\d_])([^\W\d_]++)"  # from the first to the last that stand together, looked at once
JOIN, GLUE, LINE = "\x02", "\x04", "\x03"  # control characters that stand for breaks in texts with markup
_HYPHENS = "-\u2010\u00ac\u2e17\u00ad"  # that a break inside a word follows
_ATTRIBUTE = re.compile(r'\b(\w+)="([^"]*)"')
COLUMNS = {"form": 1, "lemma": 2}
LAYERS = {"lemma": 2, "pos": 3, "tag": 4}  # columns of lemmas, universal and language-specific parts of speech
N_COLUMNS = 10  # columns of CoNLL-U: those of words, and their number


def is_wrapped(text: str) -> bool:
    """Return whether the lines of a text are hard-wrapped."""
    rows = [row.strip() for row in text.split("\n")]
    written = [row for row in rows if row]
    if not _FULL_STOP.search(text) or len(written) <= MIN_CONTINUED:
        return False
    if sorted(len(_WORD.findall(row)) for row in written)[len(written) // 2] < MIN_WORDS:
        return False
    width = sorted(map(_columns, written))[int(WIDTH_QUANTILE * (len(written) - 1))]
    going = [(a, _WORD.match(b)) for a, b in pairwise(rows) if a and b and a[-1].isalnum()]
    full = sum(_columns(a) + 1 + _columns(word[0]) > width for a, word in going if word)
    return len(going) >= MIN_CONTINUED and full >= MIN_FULL * len(going)


def unwrapped(text: str) -> str:
    """Join hard-wrapped lines into paragraphs, and rejoin words that are hyphenated only at line ends."""
    text = re.sub(r"(?<![ \t])[ \t]++(?=\n)", "", text)
    theirs = set(re.findall(rf"{_LETTERS}-(?=([^\W\d_]+))", text))  # words with a hyphen of their own

    def joined(match: re.Match[str]) -> str:
        first, second = match.groups()
        return f"{first}-{second}" if (first, second) in theirs or not second.islower() else first + second

    text = re.sub(rf"{_LETTERS}-\n[ \t]*([^\W\d_]+)", joined, text)
    text = re.sub(rf"(?<=[{UNSPACED_LETTERS}，、；：。！？])\n[ \t]*(?=[{UNSPACED_LETTERS}])", "", text)
    return re.sub(r"(?<=[^\n])\n[ \t]*(?=[^\s])", " ", text)


def _columns(text: str) -> int:
    """Return the display width of a line; Chinese and Japanese characters occupy two columns."""
    return len(text) + len(_WIDE.findall(text))


def unescaped(text: str) -> str:
    """Replace HTML entities with characters; invalid code points become U+FFFD."""
    return html.unescape(NO_CHARACTER.sub("\ufffd", text))


def whole_characters(text: str) -> str:
    """Join pairs of surrogates, and replace unpaired ones, which result from truncated text, with U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


NO_CHARACTER = re.compile("&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{8,});?")
"""Code points that are too large, which are replaced before the numbers are parsed."""

_LINK = re.compile(r"(?:https?://|\bwww\.|\b(?:t\.co|pic\.twitter\.com)/)[^\s<>\"]*[^\s<>\".,;:!?…)\]}’”»]")
_LINK_MARKS = ("http", "www.", "t.co/", "pic.twitter.com/")


def without_links(file: File, text: str) -> str:
    """Remove URLs from a text, unless ``include`` names links."""
    without, n = _LINK.subn("", text) if any(mark in text for mark in _LINK_MARKS) else (text, 0)
    return without.replace("  ", " ").rstrip(" ") if n and file.leaves_out("links", n) else text


def read_text(file: File) -> Iterator[Piece]:
    """Read a file as one document; a paragraph ends at a line break or, if lines are hard-wrapped, at an empty line."""
    return text_pieces(file.texts(), wrapped=file.reading.wrapped)


GUTENBERG = re.compile(
    r"^\*(?:\*\* ?START OF TH(?:E|IS) PROJECT GUTENBERG E(?:BOOK|TEXT)[^*]*\*\*\*|END[ *]*THE SMALL PRINT!)[^\n]*\n",
    re.MULTILINE,
)
_GUTENBERG_END = re.compile(
    r"^(?:End of (?:the |this )?Project Gutenberg|\*\*\* ?END OF TH(?:E|IS) PROJECT GUTENBERG).*\Z",
    re.MULTILINE | re.DOTALL | re.IGNORECASE,
)


def read_gutenberg(file: File) -> Iterator[Piece]:
    """Read the text of Project Gutenberg between its START and END lines; title and author become metadata."""
    text = "".join(file.texts())
    start = GUTENBERG.search(text)
    front = text[: start.end()] if start else ""
    fields = {name.lower(): value.strip() for name, value in re.findall(r"^(Title|Author): (.+)$", front, re.MULTILINE)}
    end = _GUTENBERG_END.search(text, len(front))
    if (front or end) and file.leaves_out("boilerplate", bool(front) + bool(end)):
        text = text[len(front) : end.start() if end else len(text)].strip("\n") + "\n"
    return text_pieces([text], wrapped=file.reading.wrapped, fields=fields)


def read_fasttext(file: File) -> Iterator[Piece]:
    """Read a file of fastText with a document on each line; its labels become metadata."""
    for line in lines(file.texts()):
        labels = re.match(r"(?:__label__\S+\s+)*", line)
        found = labels[0] if labels else ""
        yield Piece(line[len(found) :], fields={"label": found.replace("__label__", "").strip()} if found else {})


def text_pieces(
    texts: Iterable[Part], *, wrapped: bool | None, fields: Mapping[str, str] | None = None
) -> Iterator[Piece]:
    """Split a document into pieces at paragraph boundaries or, if there are none, at line breaks or white space.

    A mapping among the texts has the fields of the part that begins there: see :class:`~polyadic.text.pieces.Piece`.
    """
    texts = iter(texts)
    first = next(texts, "")
    wrapped = is_wrapped(first) if wrapped is None and isinstance(first, str) else bool(wrapped)
    waiting, starts = "", True
    described = fields or {}

    def piece(cut: int) -> Piece:
        text = waiting[:cut]
        return Piece(unwrapped(text) if wrapped else text, starts, fields=described)

    for text in chain([first], texts, [{}]):
        if not isinstance(text, str):
            if waiting or starts:
                yield piece(len(waiting))
                waiting, starts, described = "", False, {}
            described = {**described, **text}
            continue
        waiting += text
        cut = waiting.rfind("\n\n") + 2 if wrapped and "\n\n" in waiting else 0
        if not cut and (not wrapped or len(waiting) > 4 * PIECE):
            cut = waiting.rfind("\n") + 1
        if not cut and len(waiting) > 4 * PIECE:
            cut = waiting.rfind(" ") + 1 or len(waiting)
        if cut:
            yield piece(cut)
            waiting, starts, described = waiting[cut:], False, {}


def marked_lines(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield text with one paragraph or row of a table per line, and marks; words across breaks are joined.

    ``JOIN`` joins parts of a word and removes a hyphen before it, ``GLUE`` removes blanks beside it, and ``LINE`` is a
    line break.
    """
    held: list[str] = []
    blanks = f" \t\r\n{LINE}"
    for part in chain(parts, [{}]):
        if isinstance(part, str):
            held.append(part)
            continue
        pieces = re.split(f"([{JOIN}{GLUE}])", "".join(held))
        for at in range(1, len(pieces), 2):
            left = pieces[at - 1].rstrip(blanks)
            pieces[at - 1] = left.rstrip(_HYPHENS).rstrip(blanks) if pieces[at] == JOIN else left
            pieces[at], pieces[at + 1] = "", pieces[at + 1].lstrip(blanks)
        text = "".join(pieces)
        rows = (unwrapped(row.replace(LINE, "\n")) if LINE in row else row for row in text.split("\n"))
        cells = ("\t".join(" ".join(cell.split()) for cell in row.split("\t")).strip() for row in rows)
        if text := "".join(f"{row}\n" for row in cells if row):
            yield text
        if part:
            yield part
        held = []


def read_lines(file: File) -> Iterator[Piece]:
    """Read one document per line; an empty line is an empty document."""
    return (Piece(line) for line in lines(file.texts()))


def read_wiki(file: File) -> Iterator[Piece]:
    """Read the ``<doc>`` elements written by WikiExtractor as documents without title lines; ignore other text."""
    part: list[str] = []
    size, starts, title = 0, True, None
    fields: dict[str, str] | None = None  # of the article, or None outside of one
    for line in chain(lines(file.texts()), ["</doc>"]):
        begins, ends = line.startswith("<doc "), line.startswith("</doc>")
        if fields is not None and (begins or ends or size > PIECE):
            yield Piece("".join(part), starts, fields=fields)
            part, size, starts = [], 0, False
        if begins:
            fields = {name: unescaped(value) for name, value in _ATTRIBUTE.findall(line)}
            starts, title = True, fields.get("title") or None
        elif ends:
            fields = None
        elif fields is not None and (title is None or unescaped(line.strip()) != title):
            part.append(line + "\n")
            size += len(line)
            title = None if line.strip() else title
        else:
            title = None


def read_conllu(file: File) -> Iterator[Piece]:
    """Read the words or lemmas of a CoNLL-U file, with lemmas and tags as layers; ``# newdoc`` begins a document.

    Punctuation is written between words. Contractions are read as their parts, a missing lemma is replaced by the word,
    and blanks in words become "_".
    """
    field = file.reading.field or "form"
    if field not in COLUMNS:
        raise InputError(f"field must be 'form' or 'lemma' for the CoNLL-U file {file.name}; got {field!r}")
    starting: Mapping[str, str] | None = None
    held: list[Sentence] = []
    size = 0
    for begins, sentence in _sentences(file, COLUMNS[field]):
        if held and (begins is not None or size >= PIECE):
            yield Piece(Tokens(held), starting is not None, fields=starting or {})
            starting, held, size = None, [], 0
        starting = starting if begins is None else begins
        held.append(sentence)
        size += sum(map(len, sentence[0]))
    if held:
        yield Piece(Tokens(held), starting is not None, fields=starting or {})


def _sentences(file: File, column: int) -> Iterator[tuple[Mapping[str, str] | None, Sentence]]:
    """Yield each sentence with words of a CoNLL-U file, with metadata of the document if the sentence begins one."""
    begins: Mapping[str, str] | None = {}
    parts, until = [""], ""
    layers: dict[str, list[str]] = {name: [] for name in LAYERS}
    for number, line in enumerate(chain(lines(file.texts()), [""]), start=1):
        if line.startswith("# newdoc"):
            name = line.partition("=")[2].strip()
            begins = {"title": name} if name else {}
        elif line.strip() and not line.startswith("#"):
            cells = line.split("\t")
            if len(cells) != N_COLUMNS:
                where = f"{file.name}, line {number}"
                raise InputError(f"{where} must have ten tab-separated columns, as in CoNLL-U; got {len(cells)}")
            glued = "SpaceAfter=No" in cells[-1]
            if "-" in cells[0]:  # a contraction, whose words follow
                until, after = cells[0].partition("-")[2], glued
            if not cells[0].isdecimal():
                continue
            glued, until = (after, "") if cells[0] == until else (glued, until)
            word = cells[1] if cells[column].strip() in ("", "_") else cells[column]
            word = "_".join(composed(word.replace("\u00ad", "")).split())
            if any(letter.isalnum() for letter in word):
                parts += [word, "" if glued else " "]
                for name, at in LAYERS.items():
                    value = cells[at].strip()
                    layers[name].append(word.lower() if name == "lemma" and value in ("", "_") else value)
            else:
                parts[-1] += word + ("" if glued else " ")
        elif not line.strip() and len(parts) > 1:
            parts[-1] = parts[-1].rstrip() + "\n"
            yield begins, (parts, layers)
            begins, parts, layers = None, [""], {name: [] for name in LAYERS}
