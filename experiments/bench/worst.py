"""Time and memory of readers on adversarial files, each in a process of its own, at two sizes.

A line for each file: seconds of processor time and peak memory at both sizes (of the file, unpacked), the ratio of the
times, and marks: SLOW if time grows much faster than the size, LARGE if memory does, FAULT for an exception other than
InputError, LOUD if its message is very long. A process that takes too long or too much memory is killed.
"""

import bz2
import gzip
import io
import json
import lzma
import resource
import subprocess
import tempfile
import time
import zipfile
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Annotated

from experiments.bench.common import command, own_process
from experiments.experiment import Argument, Option
from polyadic.core.errors import InputError

Make = Callable[[int], bytes]

SPACE = 6 << 30
"""Bytes of memory that a process may use."""
GROWTH, FEWEST = 1.5, 0.5
"""SLOW: time grows this many times faster than the size, and is at least this many seconds."""
SPARE, TIMES = 300, 20
"""LARGE: memory is more than this many MB and this many times the size."""
SHORT = 2000
"""Characters of an error message; longer ones are LOUD."""


def times(unit: str, before: str = "", after: str = "") -> Make:
    """Return a maker of files that repeat a unit; ``%d`` in it is a number that increases."""

    def make(size: int) -> bytes:
        if "%d" in unit:
            count = size // len((unit % size).encode()) + 1
            return (before + "".join(unit % n for n in range(1, count + 1)) + after).encode()
        return before.encode() + unit.encode() * (size // len(unit.encode()) + 1) + after.encode()

    return make


def nested(opening: str, closing: str, inside: str = "", before: str = "", after: str = "") -> Make:
    """Return a maker of nested files."""

    def make(size: int) -> bytes:
        count = size // len((opening + closing).encode()) + 1
        return (before + opening * count + inside + closing * count + after).encode()

    return make


def packed(pack: Callable[[bytes], bytes], unit: bytes) -> Make:
    """Return a maker of compressed files."""
    return lambda size: pack(unit * (size // len(unit) + 1))


def zipped(parts: Callable[[int], dict[str, bytes]]) -> Make:
    """Return a maker of archives."""

    def make(size: int) -> bytes:
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in parts(size).items():
                archive.writestr(name, content)
        return target.getvalue()

    return make


def zstandard(content: bytes) -> bytes:
    import zstandard

    return zstandard.compress(content)


PROSE = {
    "letters": times("a"),
    "blanks": times(" ", "a", "a"),
    "line ends": times("\n", "a", "a"),
    "full stops": times("."),
    "quotes": times('"'),
    "apostrophes": times("'"),
    "opening quotes": times("“"),
    "quotes and blanks": times('" '),
    "quoted stops": times('." '),
    "brackets": times("("),
    "initials": times("A. "),
    "initials in brackets": times("(a. "),
    "abbreviations": times("Mr. "),
    "questions": times("? "),
    "digits": times("1"),
    "commas": times("1,"),
    "hyphens": times("-"),
    "hyphens and stops": times("-."),
    "hyphened letters": times("a-"),
    "hyphens at line ends": times("ab-\n"),
    "apostrophed letters": times("a'"),
    "marks": times("\u0301", "a"),
    "unordered marks": times("\u0301\u0316", "a"),
    "ideographs": times("中"),
    "ideographs and stops": times("。中"),
    "words": times("the dog "),
    "different words": times("w%d "),
    "wrapped lines": times("it was the best of times and it was the worst-\n", "It. "),
    "addresses": times("a.a@"),
    "links": times("http://"),
    "half a pair": lambda size: b"\xed\xa0\x80" * (size // 3),
    "bytes of nothing": lambda size: b"\xff" * size,
}
MARKUP = {
    "smaller": times("<"),
    "tags unclosed": times("<a "),
    "attributes unclosed": times('<a b="'),
    "attributes": times(" b=c", "<a", ">"),
    "comments unclosed": times("<!-- > "),
    "comments open": times("<!--"),
    "declarations open": times("<!"),
    "sections unclosed": times("<![CDATA[ > "),
    "instructions": times("<?"),
    "ends unclosed": times("</"),
    "scripts unclosed": times("<script>"),
    "entities": times("&amp;"),
    "ampersands": times("&"),
    "entities unclosed": times("&a"),
    "a number": times("9", "&#", ";"),
    "paragraphs": times("<p>a b c</p>\n"),
    "paragraphs unclosed": times("<p>a"),
    "nested": nested("<b>a", "</b>"),
    "nested blocks": nested("<div>a", "</div>"),
    "never closed": times("<b>"),
    "closed only": times("</b>"),
    "nested, others closed": nested("<b>", "</i>"),
    "words": times("word ", "<p>", "</p>"),
    "one title": times("a ", "<title>", "</title>"),
    "titles": times("<title>a</title>"),
    "lines of pre": times("a\n", "<pre>", "</pre>"),
}
WIKI = {
    "templates open": times("{{"),
    "templates": nested("{{", "}}"),
    "template": times("{{a}}"),
    "links open": times("[["),
    "links": times("[[a|b]] "),
    "bars": times("|", "[", "[" * 1000),
    "files": times("[[File:a|b]]"),
    "files open": times("[[File:"),
    "addresses open": times("[http://a "),
    "address": times(" ", "[http://a"),
    "comments open": times("<!--"),
    "footnotes open": times("<ref "),
    "smaller": times("<"),
    "math open": times("<math>"),
    "tables": times("{|"),
    "cells": times("  !"),
    "languages": times("\n[[de:a]]", "", "\na"),
    "categories open": times("[[Category:"),
    "entities": times("&amp;"),
    "apostrophes": times("'"),
    "lines": times("\n* a [[b]] '''c'''"),
}
XML = {
    "nested": nested("<a>", "</a>"),
    "nested text": nested("<a>b", "</a>"),
    "titles in titles": nested("<title>", "</title>", "a", "<TEI><teiHeader>", "</teiHeader></TEI>"),
    "elements": times("<a>b</a>", "<r>", "</r>"),
    "one text": times("b ", "<r>", "</r>"),
    "one comment": times("b", "<r><!--", "--></r>"),
    "one attribute": times("b", '<r a="', '"/>'),
    "attributes": times(' a%d="b"', "<r", "/>"),
    "not closed": times("b", "<r><!--"),
    "entities": times(
        "&c;",
        '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaaaaaaaaaaaa">'
        '<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
        '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><r>',
        "</r>",
    ),
}
WORD = "1\ta\ta\tNOUN\t_\t_\t0\troot\t_\t_\n"
CONLLU = {
    "one token": times("a", "1\t", WORD[3:] + "\n"),
    "one sentence": lambda size: rows(size, lambda n: f"{n}\ta\ta\tNOUN\t_\t_\t{n - 1}\tdep\t_\t_\n"),
    "one name": lambda size: rows(size, lambda n: f"{n}\tA\tA\tPROPN\t_\t_\t{n - 1}\tflat\t_\t_\n"),
    "names": lambda size: rows(size, lambda n: f"{n}\tA\tA\tPROPN\t_\t_\t{n - 1}\tobj\t_\t_\n"),
    "joined verbs": lambda size: rows(size, lambda n: f"{n}\ta\ta\tVERB\t_\t_\t{n - 1}\tconj\t_\t_\n"),
    "contractions": lambda size: rows(size, lambda n: f"{n}-{n}{'	_' * 9}\n{n}\ta\ta\tX\t_\t_\t0\troot\t_\t_\n"),
    "sentences": times(WORD + "\n"),
    "comments": times("# a\n"),
    "tabs": times("\t"),
    "digits": times("1", "", WORD),
    "unordered marks": times("\u0301\u0316", "1\ta", WORD[3:]),
    "blank lines": times(" \n"),
    "heads": lambda size: rows(size, lambda n: f"{n}\ta\ta\tX\t_\t_\t{'9' * 9}\tdep\t_\t_\n"),
}


def rows(size: int, row: Callable[[int], str]) -> bytes:
    """Return numbered lines of the given size."""
    lines, written, number = [], 0, 0
    while written < size:
        number += 1
        lines.append(row(number))
        written += len(lines[-1])
    return "".join(lines).encode()


TABLES = {
    "quote not closed": times("a b\n", 'text,b\n"'),
    "quotes": times('"', "text,b\n"),
    "columns": times("c%d,"),
    "columns of one name": times("a,"),
    "one cell": times("a ", "text,b\n", ",c\n"),
    "rows": times("a b,c\n", "text,b\n"),
    "separators": times(",", "text,b\n"),
    "blank lines": times("\n", "text,b\n"),
}
LISTS = {
    "nested": nested("[", "]"),
    "nested objects": nested('{"a":', "}", "1"),
    "nested open": times("["),
    "one text": times("a ", '{"text": "', '"}'),
    "escapes": times("\\u0041", '{"text": "', '"}'),
    "digits": times("9", '{"text": ', "}"),
    "fields": times('"a%d": 1, ', "{", '"text": "a", "b": "c"}'),
    "lines": times('{"text": "a"}\n'),
    "tokens": times('"a", ', '{"text": [', '"a"]}'),
    "quote not closed": times("a", '{"text": "'),
}


def nested_parts(size: int) -> bytes:
    """Return a message in a message, and so on."""
    return rows(size, lambda n: f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n")


MAIL = {
    "header lines": times("A: b\n"),
    "one subject": times("a ", "Subject: ", "\n\na\n"),
    "encoded subject": times(" =?utf-8?q?a?=", "Subject:", "\n\na\n"),
    "encoded open": times("=?", "Subject: ", "\n\na\n"),
    "brackets": times("(", "From: ", "\n\na\n"),
    "commas": times(",", "To: ", "\n\na\n"),
    "receivers": times("a@b.c, ", "To: ", "d@e.f\n\na\n"),
    "quotes": times('"', "To: ", "\n\na\n"),
    "smaller": times("<", "To: ", "\n\na\n"),
    "type": times(";a", "Content-Type: text/plain", "\n\na\n"),
    "parts": times("--x\n\na\n", "Content-Type: multipart/mixed; boundary=x\n\n"),
    "nested parts": nested_parts,
    "body": times("a b c\n", "Subject: a\n\n"),
    "quoted body": times("> a\n", "Subject: a\n\n"),
    "one line": times("a ", "Subject: a\n\n"),
    "carriage returns": times("\r", "Subject: a\n\n"),
    "base64": times("YWFh\n", "Content-Transfer-Encoding: base64\n\n"),
    "quoted-printable": times("=", "Content-Transfer-Encoding: quoted-printable\n\n"),
    "messages": times("From a\nSubject: b\n\nc\n"),
}


BRACKETS = {
    "nested": nested("(A ", ")", "b", "", "\n"),
    "open": times("("),
    "closed": times(")"),
    "letters": times("a", "(A "),
    "one tree": times("(A b)", "(S ", ")\n"),
    "one line": times("(S (A b))"),
    "words": times("a ", "(S "),
}
RULES = {
    "atoms": times("a(x, y) & ", "", "a(x, y) => b(x, y)\n"),
    "different atoms": times("a%d(x, y) & ", "", "a(x, y) => b(x, y)\n"),
    "brackets": times("("),
    "negations": times("!"),
    "nested": nested("(", ")", "a(x, y)", "", " => b(x, y)\n"),
    "arrows": times("a(x, y) => ", "", "b(x, y)\n"),
    "one name": times("a", "", "(x, y) => b(x, y)\n"),
    "quote not closed": times("a", '"'),
    "quoted": times("\\\\", '"', '"(x, y) => b(x, y)\n'),
    "blanks": times(" ", "a(x, y)", "=> b(x, y)\n"),
    "digits": times("1", "", " a(x, y) => b(x, y)\n"),
    "commas": times(","),
    "rules": times("a(x, y) => b(x, y)\n"),
    "remarks": times("#\n", "", "a(x, y) => b(x, y)\n"),
}
NUMBERS = {
    "one line": times(" 1"),
    "one number": times("1", "1 "),
    "digits of a fraction": times("1", "1 0."),
    "zeros": times("0", "1 1e"),
    "lines": times("1 2 0.5\n"),
    "comment": times("1 ", "# polyadic general shape ", "\n1 1\n"),
    "one word": times("a"),
    "blanks": times(" "),
    "blank lines": times("\n"),
    "nothing": lambda size: b"\0" * size,
}
VECTORS = NUMBERS | {
    "many promised": times("a 1\n", "1000000000000 1\n"),
    "wide": times("1 ", "1000000000000 16777215\n"),
    "wide vector": lambda size: b"1 %d\na%s\n" % (size // 2, b" 1" * (size // 2)),
    "one word, then a number": times("a", "1 1\n", " 1\n"),
    "words": times("w%d 0.5 0.5\n"),
    "words with blanks": times("a ", "", "1 1\nb 1 1\n"),
    "no numbers": times("a "),
    "wide binary": lambda size: b"1000000000000 16777215\na " + b"\xff" * size,
    "one binary word": lambda size: b"1 2\n" + b"\xff" * size,
}
FEATURES = {
    "one line": times(" %d:1", "1"),
    "features": times("1 1:1 7:0.5\n"),
    "one list": times("1 qid:1 1:1\n"),
    "one list, slowly": times("1 qid:1 2:1 1:1 # a\n", "", "1 qid:1 1:x\n"),
    "same feature": times(" 1:1", "1"),
    "digits": times("1", "1 1:"),
    "one number": times("9", "1 ", ":1\n"),
    "colons": times(":", "1 "),
    "comment": times("a", "1 1:1 #"),
    "far apart": times("1 2147483000:1\n"),
    "letters": times("a"),
}
NBEST = {name: make for name, make in LISTS.items() if name.startswith(("nested", "quote", "digits"))} | {
    "features": times('"a%d": 1, ', '{"candidates": [{"cost": 1, "features": {', '"b": 1}}]}\n'),
    "names": times('"a", ', '{"candidates": [{"cost": 1, "features": [', '"b"]}]}\n'),
    "candidates": times('{"cost": 1}, ', '{"candidates": [', '{"cost": 0}]}\n'),
    "lists": times('{"candidates": [{"cost": 1, "features": ["a"]}]}\n'),
    "one name": times("a", '{"candidates": [{"cost": 1, "features": ["', '"]}]}\n'),
    "half a pair": times("\\ud800", '{"candidates": [{"cost": 1, "features": ["', '"]}]}\n'),
}
TOML = {
    "dotted": times("a.", "", "a = 1\n"),
    "nested": times("[", "a = "),
    "tables": times("[a%d]\n"),
    "tables below": times("a.", "[", "a]\n"),
    "one text": times("a", 'a = "', '"\n'),
    "digits": times("1", "a = "),
    "relations": times('[relations.r%d]\ntable = "a"\nentities = ["a", "b"]\n'),
    "comments": times("#\n"),
    "blanks": times(" ", "a ="),
    "array": times("1,", "a = [", "]\n"),
}
FACTS = {
    "tabs": times("\t", "a"),
    "letters": times("a"),
    "facts": times("a\tb\tc\n"),
    "different facts": times("a%d\tb\tc\n"),
    "quotes": times('"'),
    "blank lines": times("\n", "a\tb\tc\n"),
    "one name": times("a", "a\tb\t", "\n"),
    "carriage returns": times("\r", "a\tb\tc\n"),
}
SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    '<row r="1"><c r="A1" t="inlineStr"><is><t>text</t></is></c></row>'
)
WORDML = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'


def workbook(rows_: Make, strings: Make | None = None) -> Make:
    """Return a maker of Excel files with a heading and the given rows."""

    def parts(size: int) -> dict[str, bytes]:
        from openpyxl import Workbook

        saved = io.BytesIO()
        book = Workbook()
        book.active.append(["text"])
        book.save(saved)
        with zipfile.ZipFile(saved) as archive:
            found = {name: archive.read(name) for name in archive.namelist()}
        found["xl/worksheets/sheet1.xml"] = SHEET.encode() + rows_(size) + b"</sheetData></worksheet>"
        if strings is not None:
            found["xl/sharedStrings.xml"] = strings(size)
        return found

    return zipped(parts)


def word(body: Make) -> Make:
    """Return a maker of Word documents."""

    def parts(size: int) -> dict[str, bytes]:
        from docx import Document

        saved = io.BytesIO()
        Document().save(saved)
        with zipfile.ZipFile(saved) as archive:
            found = {name: archive.read(name) for name in archive.namelist()}
        found["word/document.xml"] = WORDML.encode() + body(size) + b"</w:body></w:document>"
        return found

    return zipped(parts)


def book(chapter: Make) -> Make:
    """Return a maker of books of one chapter."""
    place = b'<container><rootfile full-path="p.opf"/></container>'
    package = b'<p><item id="a" href="a.html"/><itemref idref="a"/></p>'
    return zipped(lambda size: {"META-INF/container.xml": place, "p.opf": package, "a.html": chapter(size)})


XLSX = {
    "rows": workbook(times('<row><c t="inlineStr"><is><t>a b c</t></is></c></row>')),
    "a far row": workbook(times(" ", '<row r="1000000000"/>')),
    "far columns": workbook(times('<row><c r="ZZZ%d"><v>1</v></c></row>')),
    "one cell": workbook(times("a ", '<row><c t="inlineStr"><is><t>', "</t></is></c></row>")),
    "shared strings": workbook(times(" "), times("<si><t>a</t></si>", "<sst>", "</sst>")),
    "blanks": workbook(times(" ")),
    "nested": workbook(nested("<a>", "</a>")),
}
DOCX = {
    "paragraphs": word(times("<w:p><w:r><w:t>a b c</w:t></w:r></w:p>")),
    "one text": word(times("a ", "<w:p><w:r><w:t>", "</w:t></w:r></w:p>")),
    "runs": word(times("<w:r><w:t>a</w:t></w:r>", "<w:p>", "</w:p>")),
    "cells": word(times("<w:tc><w:p/></w:tc>", "<w:tbl><w:tblGrid/><w:tr>", "</w:tr></w:tbl>")),
    "rows": word(times("<w:tr><w:tc><w:p/></w:tc></w:tr>", "<w:tbl><w:tblGrid/>", "</w:tbl>")),
    "a wide cell": word(
        times(
            " ",
            '<w:tbl><w:tblGrid/><w:tr><w:tc><w:tcPr><w:gridSpan w:val="1000000000"/></w:tcPr><w:p/></w:tc></w:tr>',
            "</w:tbl>",
        )
    ),
    "cells below": word(
        times(
            "<w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc></w:tr>",
            "<w:tbl><w:tblGrid/><w:tr><w:tc><w:p/></w:tc></w:tr>",
            "</w:tbl>",
        )
    ),
    "nested": word(nested("<w:tbl><w:tblGrid/><w:tr><w:tc>", "<w:p/></w:tc></w:tr></w:tbl>")),
    "blanks": word(times(" ")),
}
PACKED = {
    f"{unit!r} in {suffix}": packed(pack, unit)
    for unit in (b"\0", b"a", b"a ")
    for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstandard))
}


def drawn(items: Iterable[object]) -> None:
    """Consume an iterable."""
    deque(items, maxlen=0)


def documents(path: str, **reading: object) -> None:
    from polyadic.text.readers import read

    drawn(read(path, **reading))


def tokens(path: str, language: str = "en", **options: str) -> None:
    from polyadic.text.tokens import Tokenizer

    tokenizer = Tokenizer(language=language, **options)
    drawn(tokenizer(Path(path).read_text(encoding="utf-8", errors="replace")) for _ in range(1))


def plain(path: str) -> None:
    from polyadic.syntax.plain_text import plain_sentences

    drawn(plain_sentences(Path(path).read_text(encoding="utf-8", errors="replace")))


def markup(path: str) -> None:
    from polyadic.text.formats.markup import clean_markup

    clean_markup(Path(path).read_text(encoding="utf-8"))


def dump(path: str) -> None:
    from xml.sax.saxutils import escape

    text = escape(Path(path).read_text(encoding="utf-8"))
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/"><siteinfo/>'
    page = f"<page><title>a</title><ns>0</ns><id>1</id><revision><text>{text}</text></revision></page>"
    Path(path).write_text(f"{head}{page}</mediawiki>", encoding="utf-8")
    documents(path, format="mediawiki")


def trees(path: str) -> None:
    from polyadic.syntax.trees import read_trees

    for tree in read_trees(path):
        tree.conllu()


def clauses(path: str) -> None:
    from experiments.data.verb_clauses import clauses_of_tree
    from polyadic.syntax.trees import read_trees

    drawn(map(clauses_of_tree, read_trees(path)))


def patterns(path: str) -> None:
    from polyadic.relations.patterns import pattern_triples
    from polyadic.syntax.trees import read_trees

    drawn(pattern_triples(read_trees(path)))


def tagged(path: str) -> None:
    """Search for clauses among tags that are one letter each."""
    from experiments.data.verb_clauses import ACTIVE, PASSIVE

    letters = Path(path).read_text(encoding="utf-8")
    drawn(ACTIVE.finditer(letters))
    drawn(PASSIVE.finditer(letters))


def phrases(path: str) -> None:
    from polyadic.syntax.brackets import clean, read_phrases

    for tree in read_phrases(path):
        clean(tree)
        str(tree)


def call(module: str, name: str, path: str) -> None:
    from importlib import import_module

    found = attrgetter(name)(import_module(f"polyadic.{module}"))(path)
    if hasattr(found, "__next__"):
        drawn(found)


def lists(path: str) -> None:
    from polyadic.ranking.nbest import NBestLists

    drawn(NBestLists(path))


def ranked(path: str) -> None:
    from polyadic.text.feature_lines import RankLines

    drawn(RankLines(path))


def of(kind: str, **options: str) -> Callable[[str], None]:
    return partial(documents, format=kind, errors="strict", **options)


TAGS = {
    "nouns": times("N"),
    "nouns and determiners": times("ND"),
    "with prepositions": times("NDIND"),
    "with verbs": times("NDV"),
    "auxiliaries": times("M", "N"),
    "participles": times("HR", "N", "E"),
    "adverbs": times("R", "N"),
    "passive": times("NDB", "", "EY"),
}
COLUMNS = {
    "one line": times("a "),
    "one sentence": times("a b c\n"),
    "blanks": times(" ", "a", "b"),
    "letters": times("a"),
    "tabs": times("\t"),
}
STRINGS = {
    "one string": times("1 ", "10 10\n5 "),
    "strings": times("1 1\n", "1000000 10\n"),
    "digits": times("9"),
    "blank lines": times("\n"),
}

READERS: dict[str, tuple[Callable[[str], None], dict[str, Make], str]] = {
    "text": (of("text"), PROSE, ".txt"),
    "text/wrapped": (partial(documents, format="text", wrapped=True), PROSE, ".txt"),
    "text/tokens": (tokens, PROSE, ".txt"),
    "text/marks": (partial(tokens, punctuation="keep"), PROSE, ".txt"),
    "text/fr": (partial(tokens, language="fr"), PROSE, ".txt"),
    "text/zh": (partial(tokens, language="zh"), PROSE, ".txt"),
    "text/ja": (partial(tokens, language="ja"), PROSE, ".txt"),
    "text/lemmas": (partial(tokens, lemmas=True), PROSE, ".txt"),
    "text/plain": (plain, PROSE, ".txt"),
    "lines": (of("lines"), PROSE, ".txt"),
    "wiki": (
        of("wiki"),
        {
            f"{k} in a title": v
            for k, v in {
                "letters": times("a", '<doc title="', '">\nb\n</doc>\n'),
                "attributes": times('a="', "<doc ", ">\nb\n</doc>\n"),
                "attributes of one letter": times(' a="b"', "<doc ", ">\nb\n</doc>\n"),
                "a number": times("9", '<doc title="&#', ';">\nb\n</doc>\n'),
                "ampersands": times("&", '<doc title="', '">\nb\n</doc>\n'),
                "a number below": times("9", '<doc title="a">\n&#', ";\n</doc>\n"),
                "articles": times('<doc title="a">\na\nb\n</doc>\n'),
                "lines": times("a\n", '<doc title="a">\n'),
            }.items()
        },
        ".txt",
    ),
    "mediawiki": (dump, WIKI | {"words": times("a b "), "paragraphs": times("\nit was")}, ".xml"),
    "mediawiki/markup": (markup, WIKI, ".txt"),
    "jsonl": (of("jsonl", field="text"), LISTS, ".jsonl"),
    "jsonl/any": (of("jsonl"), LISTS, ".jsonl"),
    "csv": (of("csv", field="text"), TABLES, ".csv"),
    "csv/any": (of("csv"), TABLES, ".csv"),
    "xlsx": (of("xlsx"), XLSX, ".xlsx"),
    "docx": (of("docx"), DOCX, ".docx"),
    "epub": (of("epub"), {k: book(v) for k, v in MARKUP.items() if k in ("words", "nested", "paragraphs")}, ".epub"),
    "html": (of("html"), MARKUP, ".html"),
    "xml": (of("xml"), XML, ".xml"),
    "mail": (of("mail"), MAIL, ".eml"),
    "mbox": (of("mbox"), MAIL, ".mbox"),
    "conllu": (of("conllu"), CONLLU, ".conllu"),
    "trees": (trees, CONLLU, ".conllu"),
    "trees/clauses": (clauses, CONLLU, ".conllu"),
    "trees/patterns": (patterns, CONLLU, ".conllu"),
    "propositions": (partial(call, "syntax.propositions", "read_propositions"), CONLLU, ".conllu"),
    "columns": (partial(call, "syntax.columns", "read_columns"), COLUMNS, ".txt"),
    "clauses": (tagged, TAGS, ".txt"),
    "brackets": (phrases, BRACKETS, ".mrg"),
    "rules": (partial(call, "relations.rules", "read_rules"), RULES, ".txt"),
    "facts": (partial(call, "relations.facts", "read_facts"), FACTS, ".tsv"),
    "schema": (partial(call, "relations.schema", "read_schema"), FACTS, ".tsv"),
    "features": (partial(call, "text.feature_lines", "read_feature_lines"), FEATURES, ".txt"),
    "features/lists": (ranked, FEATURES, ".txt"),
    "nbest": (lists, NBEST, ".jsonl"),
    "strings": (partial(call, "sequences.symbols", "read_strings"), STRINGS, ".txt"),
    "strings/pautomac": (partial(call, "sequences.symbols", "read_pautomac"), STRINGS, ".txt"),
    "vocabulary": (
        partial(call, "text.vocabulary", "Vocabulary.load"),
        {"a line": times("a"), "words": times("w%d\t1\n")},
        ".txt",
    ),
    "tns": (partial(call, "core.tns", "read_tns"), NUMBERS, ".tns"),
    "vectors": (partial(call, "embedding.formats", "read_vectors"), VECTORS, ".txt"),
    "database": (partial(call, "completion.coupled.database_file", "read_database"), TOML, ".toml"),
    "packed/text": (of("text"), PACKED, "packed"),
    "packed/lines": (of("lines"), PACKED, "packed"),
    "packed/vectors": (
        partial(call, "embedding.formats", "read_vectors"),
        {name: make for name, make in PACKED.items() if name.endswith(".gz")},
        "packed",
    ),
}


def main(
    readers: Annotated[tuple[str, ...], Argument(f"Some of {', '.join(READERS)}; default: all.")] = (),
    *,
    megabytes: Annotated[tuple[float, ...], Option("Sizes of the two files.")] = (1.0, 10.0),
    seconds: Annotated[int, Option("Processor time after which a process is killed.")] = 120,
    marked: Annotated[bool, Option("Show only files with a mark.")] = False,
) -> None:
    if unknown := set(readers) - set(READERS):
        raise InputError(f"there is no reader {min(unknown)}; there are {', '.join(READERS)}")
    few, many = megabytes
    print(f"{'':44}{f'{few:g} MB':>18}{f'{many:g} MB':>18}  ratio")
    for reader in readers or READERS:
        for name in READERS[reader][1]:
            small = process(reader, name, int(few * 1e6), seconds)
            large = None if small["cut"] else process(reader, name, int(many * 1e6), seconds)
            marks = marks_of(small, large, few, many)
            if marks or not marked:
                line = f"{reader + ', ' + name:44}{shown(small)}{shown(large)} {ratio(small, large)}  {marks}"
                print(line, flush=True)


def make(reader: str, name: str, size: int, path: str) -> None:
    Path(path).write_bytes(READERS[reader][1][name](size))


def process(reader: str, name: str, size: int, seconds: int) -> dict[str, object]:
    """Read a file in a process of its own."""
    suffix = READERS[reader][2]
    suffix = name.rpartition(" ")[2] if suffix == "packed" else suffix
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"worst{suffix}"
        own_process(make, reader, name, size, path)  # its memory would count for the processes that this one starts
        done = subprocess.run(
            command(measured, reader, path), capture_output=True, text=True,
            preexec_fn=partial(bounded, seconds), check=False,
        )  # fmt: skip
    if done.returncode == 0:
        return json.loads(done.stdout) | {"cut": ""}
    last = (done.stderr.strip().split("\n")[-1] or "killed")[:60]
    return {"cut": f"after {seconds} s" if done.returncode in (-9, -24) else last}


def bounded(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def measured(reader: str, path: str) -> dict[str, object]:
    """Read a file; return seconds, peak memory in MB, and the error."""
    read = READERS[reader][0]
    started = time.process_time()
    fault = message = ""
    try:
        read(path)
    except InputError as error:
        message = str(error)
    except Exception as error:  # noqa: BLE001 what it is, is what is asked
        fault = type(error).__name__
        where = error.__traceback__
        while (
            where is not None and where.tb_next is not None and "polyadic" in where.tb_next.tb_frame.f_code.co_filename
        ):
            where = where.tb_next
        fault += f" at {Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno}" if where else ""
    seconds = time.process_time() - started
    status = Path("/proc/self/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    return {"seconds": seconds, "peak": peak, "fault": fault, "message": message[:100], "length": len(message)}


def marks_of(small: dict[str, object], large: dict[str, object] | None, few: float, many: float) -> str:
    """Return the marks of a file."""
    marks = []
    last = large or small
    slow = large and not last["cut"] and last["seconds"] > max(FEWEST, GROWTH * many / few * small["seconds"])
    if slow or str(last["cut"]).startswith("after"):
        marks.append("SLOW")
    elif last["cut"]:
        marks.append(f"CUT {last['cut']}")
    if not last["cut"] and last["peak"] > SPARE + TIMES * (many if large else few):
        marks.append("LARGE")
    if last.get("fault"):
        marks.append(f"FAULT {last['fault']}")
    if last.get("length", 0) > SHORT:
        marks.append(f"LOUD {last['length']:,}")
    return "  ".join(marks)


def shown(run: dict[str, object] | None) -> str:
    if run is None:
        return f"{'-':>18}"
    return f"{'cut':>18}" if run["cut"] else f"{run['seconds']:8.2f} s{run['peak']:5.0f} MB"


def ratio(small: dict[str, object], large: dict[str, object] | None) -> str:
    return "     -" if large is None or large["cut"] else f"{large['seconds'] / max(small['seconds'], 1e-3):6.1f}"
