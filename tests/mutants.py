"""Valid input for every reader, and what damage makes of it.

A reader is given by a function of a path that reads all there is, a name for the file, its content, and what lies
beside it. ``experiments/bench/fuzz.py`` starts from the same content.
"""

from __future__ import annotations

import gzip
import io
import re
import warnings
import zipfile
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.cao2014.candidates import read_lists
from experiments.data.annotated import read_tagged_trees
from experiments.data.multilabel import read_label_names, read_labelling
from experiments.data.pautomac import pautomac_model
from polyadic.completion.coupled.database_file import read_database
from polyadic.completion.named_cells import read_cells
from polyadic.core.errors import InputError, MissingExtraError
from polyadic.core.tns import read_tns
from polyadic.datasets.senses import read_instances, read_sense_key, read_senseval
from polyadic.datasets.words import (
    GAPS,
    NAMES,
    PHRASES,
    read_candidates,
    read_gaps,
    read_outlier_group,
    read_pairs,
    read_questions,
)
from polyadic.datasets.words import read_phrases as read_made_phrases
from polyadic.embedding.formats import read_vectors
from polyadic.ranking.nbest import NBestLists
from polyadic.relations.facts import read_facts
from polyadic.relations.patterns import patterns
from polyadic.relations.rules import read_rules
from polyadic.relations.schema import read_schema
from polyadic.sequences.automata import from_text
from polyadic.sequences.symbols import read_pautomac, read_probabilities, read_strings
from polyadic.syntax.brackets import clean, read_phrases
from polyadic.syntax.columns import read_columns
from polyadic.syntax.plain_text import plain_trees, read_paragraphs
from polyadic.syntax.propositions import read_propositions
from polyadic.syntax.trees import read_trees
from polyadic.text import readers, stopwords
from polyadic.text.feature_lines import RankLines, read_feature_lines
from polyadic.text.languages import guess
from polyadic.text.tokens import Tokenizer
from polyadic.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass(frozen=True)
class Reader:
    """What reads, and a file for it."""

    read: Callable[[Path], Any]
    name: str
    content: bytes
    beside: dict[str, str] = field(default_factory=dict)

    def refuses(self, content: bytes, folder: Path) -> str:
        """Let it read, and give what it objects to, or nothing; what is neither is raised."""
        for name, text in self.beside.items():
            (folder / name).write_text(text, encoding="utf-8")
        (folder / self.name).write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                self.read(folder / self.name)
            except (InputError, MissingExtraError) as error:
                return str(error) or "no word"
        return ""


def every(read: Callable[[Path], Any], use: Callable[[Any], Any] | None = None) -> Callable[[Path], Any]:
    """Read all that a reader gives one after another, and use each."""
    return lambda path: deque(map(use or id, read(path)), 0)


def documents(path: Path, **reading: Any) -> None:
    for document in readers.documents(path, **reading):
        guess(document.text)
        Tokenizer(punctuation="keep")(document.text[:2000])


def used(phrase: Any) -> None:
    str(phrase)
    phrase.spans()
    clean(phrase)


def labelling(path: Path) -> None:
    read_labelling(path, read_label_names(path.parent / "labels.xml"))


TREE = """# text = Dogs bark.
1-2\tDogs bark\t_\t_\t_\t_\t_\t_\t_\t_
1\tDogs\tdog\tPROPN\tNNP\tNumber=Plur\t2\tnsubj\t2:nsubj\tSpaceAfter=No
2\tbark\tbark\tVERB\tVBP\t_\t0\troot\t_\t_
2.1\tloud\tloud\tADV\t_\t_\t_\t_\t0:root\t_
3\tRex\tRex\tPROPN\tNNP\t_\t2\tobj\t_\t_

1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_

"""
PROPOSITIONS = """# text = Dogs bark.
1\tDogs\tdog\tNOUN\t_\t_\t2\tnsubj\t_\t_\t_\tARG0
2\tbark\tbark\tVERB\t_\t_\t0\troot\t_\t_\tbark.01\tV

1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_

"""
DECLARED = """[relations.ratings]
table = "ratings.csv"
entities = ["user", "film"]
value = "stars"
weight = 2.0

[entities]
film = "films.txt"
"""
RATINGS = 'user,film,stars\nann,Ran,5\nbob,"Heat",3\nann,Heat,1.5\n'
MODEL = "I: (state)\n\t(0) 1.0\nF: (state)\n\t(0) 0.5\n\t(1) 0.5\nS: (state,symbol)\n\t(0,0) 1.0\n\t(1,1) 1.0\n"
MODEL += "T: (state,symbol,state)\n\t(0,0,1) 1.0\n\t(1,1,0) 1.0\n"
PAGE = "<!DOCTYPE html><html><head><title>A title</title><script>var x;</script></head><body><nav>Home</nav>\n"
PAGE += "<p>Mr. Darcy &amp; <b>two</b> others.</p><pre>as it\n stands</pre><!-- a remark --></body></html>"
TEI = '<?xml version="1.0" encoding="utf-8"?><TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><title>A title</title>'
TEI += "</teiHeader><text><p>He <choice><sic>bwoed</sic><corr>bowed</corr></choice>.</p><l>A verse</l></text></TEI>"
WIKI = (
    '<doc id="1" url="u" title="Cats &amp; dogs">\nCats &amp; dogs\n\nThe cat sat.\n</doc>\n<doc id="2">\nB\n</doc>\n'
)
DUMP = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/"><page><title>Cat</title><ns>0</ns><id>1</id>'
DUMP += "<revision><id>2</id><text>'''Cats''' [[are|be]] {{small|x}} == Kin ==\n* lions <ref>a</ref></text></revision>"
DUMP += "</page></mediawiki>"
MAIL = "Subject: =?utf-8?q?A_title?=\nFrom: Ann <a@b.org>\nTo: c@d.org\nDate: Mon, 01 Jan 2024 10:00:00 +0000\n"
MAIL += 'MIME-Version: 1.0\nContent-Type: multipart/alternative; boundary="x"\n\n--x\nContent-Type: text/plain;'
MAIL += ' charset="utf-8"\nContent-Transfer-Encoding: quoted-printable\n\nDear =C3=84nn,\n> quoted\n--x\nContent-Type:'
MAIL += " text/html\n\n<p>Dear</p>\n--x--\n"
PROSE = (
    "It is a truth universally acknowledged, that a single man in pos-\nsession of a good fortune, must be in want\n"
)
PROSE += (
    "of a wife. However little known the feelings or views of such a man may be on\nhis first entering a place, 3.\n"
)
JSONL = '{"text": "The cat sat.", "year": 1813, "title": null}\n\n{"text": ["a", "b"], "more": {"x": [1.5]}}\n'
NBEST = '{"id": 7, "candidates": [{"text": "a", "cost": 0.5, "score": -12.1, "features": {"rule NP": 2}},'
NBEST += ' {"cost": 0, "score": -1e1, "features": ["a", "a"]}]}\n{"candidates": [{"cost": 1}]}\n'
INSTANCES = '<instances><instance id="add.v.1" lemma="add" partOfSpeech="v" token="adds" tokenStart="3" tokenEnd="7">'
INSTANCES += "He adds salt.</instance></instances>"
LEXELT = '<corpus><lexelt item="hard-a"><instance id="1"><answer instance="1" senseid="HARD1"/><context>'
LEXELT += '<s><wf pos="NN">It</wf></s> is <head><wf pos="JJ">hard</wf></head> FRASL work</context>'
LEXELT += "</instance></lexelt></corpus>"
ARFF = "@relation x\n@attribute 'a \\'b' numeric\n@attribute c {0,1}\n@data\n% a remark\n{0 1.5, 1 1}\n{}\n"
LABELS = '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="c"/></labels>'
PARSES = '{"gold": "(S (NN a) (VB b))", "parses": [["(S (NN a) (VB b))", -1.5], ["(S (VB a) (NN b))", -2]]}\n'
PDF = """%PDF-1.4
1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj
2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj
3 0 obj <</Type /Page /Parent 2 0 R /Contents 4 0 R /Resources <</Font <</F 5 0 R>>>> /MediaBox [0 0 99 99]>> endobj
4 0 obj <</Length 38>> stream
BT /F 12 Tf 9 9 Td (The cat sat) Tj ET
endstream endobj
5 0 obj <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>> endobj
6 0 obj <</Title (A title)>> endobj
trailer <</Root 1 0 R /Info 6 0 R /Size 7>>
startxref
0
%%EOF
"""


def packed(files: dict[str, bytes]) -> bytes:
    """Pack files as on any other day."""
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as written:
        for name, content in files.items():
            written.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return package.getvalue()


DATES = rb"<dcterms:(created|modified).*?</dcterms:\1>"


def undated(content: bytes) -> bytes:
    """Pack what a package has packed again, without the time."""
    with zipfile.ZipFile(io.BytesIO(content)) as files:
        return packed({name: re.sub(DATES, b"", files.read(name)) for name in files.namelist()})


def epub() -> bytes:
    book = '<package xmlns:dc="d"><dc:title>A title</dc:title><item id="a" href="a%20b.html"/><itemref idref="a"/>'
    container = b'<container><rootfile full-path="OPS/book.opf"/></container>'
    files = {"META-INF/container.xml": container, "OPS/book.opf": f"{book}</package>".encode()}
    return packed({**files, "OPS/a b.html": PAGE.encode()})


def xlsx() -> bytes:
    from openpyxl import Workbook

    book, file = Workbook(), io.BytesIO()
    for row in (["title", "text", "year"], ["A title", "The cat sat.", 1813], [None, "Second", None]):
        book.active.append(row)
    book.save(file)
    return undated(file.getvalue())


def docx() -> bytes:
    from docx import Document

    document, file = Document(), io.BytesIO()
    document.add_paragraph("The cat sat.")
    document.add_table(1, 1).cell(0, 0).text = "A cell"
    document.save(file)
    return undated(file.getvalue())


def parquet() -> bytes:
    from pyarrow import parquet, table

    file = io.BytesIO()
    parquet.write_table(table({"title": ["A title", None], "text": ["The cat sat.", "b"], "year": [1813, 1]}), file)
    return file.getvalue()


def binary_vectors() -> bytes:
    rows = {b"cat": [1, 0.5], b"dog": [-2, 3]}
    return b"2 2\n" + b"".join(w + b" " + np.array(r, "<f4").tobytes() + b"\n" for w, r in rows.items())


BINARY: dict[str, tuple[str, Callable[[], bytes], dict[str, Any]]] = {
    "epub": ("a.epub", epub, {}),
    "xlsx": ("a.xlsx", xlsx, {"field": "text"}),
    "docx": ("a.docx", docx, {}),
    "parquet": ("a.parquet", parquet, {"field": "text"}),
}
"""Formats of documents whose bytes other packages write."""
DOCUMENTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "html": ("a.html", PAGE, {}),
    "xml": ("a.tei", TEI, {}),
    "wiki": ("a.txt", WIKI, {"format": "wiki"}),
    "mediawiki": ("a.xml", DUMP, {"format": "mediawiki"}),
    "mail": ("a.eml", MAIL, {}),
    "mbox": ("a.mbox", f"From a@b.org\n{MAIL}\nFrom a@b.org\nSubject: b\n\n>From me\n", {}),
    "csv": ("a.csv", 'title,text\n"A ""title""","The cat\nsat."\nB,b\n', {"field": "text"}),
    "jsonl": ("a.jsonl", JSONL, {"field": "text"}),
    "conllu": ("a.conllu", f"# newdoc id = a\n{TREE}", {}),
    "text": ("a.txt", PROSE, {"wrapped": True}),
    "lines": ("a.txt", PROSE, {"format": "lines"}),
    "utf-16": ("a.txt", "The cat sat.\n", {"format": "text", "encoding": "utf-16"}),
    "pdf": ("a.pdf", PDF, {}),
}
"""Formats of documents: a name, a text, and how it is read."""
TEXTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "rules": (every(read_rules, str), 'a(x, y) & !("b c"(y, x) | d(x, y)) => e(x, y)  # so\n0.5 a(x,y) => b(y,x)\n'),
    "brackets": (every(read_phrases, used), "( (S (NP-SBJ-1 (PRP It)) (VP (VBZ is) (NP=2 (-NONE- *)))) )\n(X (A b))\n"),
    "lists of parses": (every(read_lists), PARSES),
    "trees": (every(partial(read_trees, invalid="skip"), lambda tree: (tree.conllu(), [*patterns(tree)])), TREE),
    "tagged trees": (every(read_tagged_trees), "Dogs\tNNS\t2\nbark\tVB\t0\n\nYes\tUH\t0\troot\n"),
    "propositions": (every(read_propositions, lambda sentence: sentence.conllu()), PROPOSITIONS),
    "columns": (every(read_columns), "He PRP B-NP\nreckons VBZ B-VP\n\nYes UH O\n"),
    "paragraphs": (lambda path: [*plain_trees(read_paragraphs(path))], 'It is. He said: "No." Mr. A!\n\nYes 3.5\n'),
    "feature lines": (read_feature_lines, "1 7:0.5 9:1 # a comment\n-1 3:2e-3\n"),
    "ranked lines": (lambda path: [*RankLines(path)], "1 qid:3 7:0.5\n0 qid:3 1:1\n2 qid:4 2:1\n"),
    "n-best lists": (lambda path: [*NBestLists(path)], NBEST),
    "tensors": (read_tns, "# polyadic general shape 3 4\n1 1 2.5\n3 4 -1e-3\n"),
    "symmetric tensors": (read_tns, "# polyadic symmetric shape 3 3 3\n3 2 1 5.0\n3 3 1 1\n"),
    "facts": (read_facts, "ann\tlikes\tbob\nbob\tlikes\tcat\n"),
    "schema": (lambda path: read_schema(path).reversed_rows, "Ann\tAcme\tleads\nAcme\tAnn\tX , head of Y\n"),
    "cells": (read_cells, RATINGS),
    "strings": (read_strings, "a b a\n\nb\n"),
    "PAutomaC strings": (read_pautomac, "2 3\n2 0 2\n0\n"),
    "PAutomaC probabilities": (read_probabilities, "2\n0.5\n1e-3\n"),
    "PAutomaC models": (lambda path: pautomac_model(path, 2), MODEL),
    "automata": (lambda path: from_text(path.read_text("utf-8", "replace")), "1 2\nstart 0 1\nstop 0 0.5\n0 1 0 0.5\n"),
    "vectors": (read_vectors, "2 2\ncat 1 0.5\ndog -2e-1 3\n"),
    "vectors without a head": (read_vectors, "cat 1 0.5\nhot dog -2e-1 3\n"),
    "vocabulary": (Vocabulary.load, "the\t12\ncat\t3\n"),
    "stop words": (stopwords.stop_words, "the\nof\n\n"),
    "pairs": (read_pairs, "word1,word2,POS,SimLex999\nold,new,A,1.58\nbig,small,A,2\n"),
    "outliers": (read_outlier_group, "cat\ndog\n\nstone\n"),
    "questions": (read_questions, ": capitals\nParis France Rome Italy\n"),
    "gaps": (read_gaps, "\t".join(GAPS) + "\npearl jam\tband\tship\twar\t2.5\n"),
    "made phrases": (read_made_phrases, "\t".join(PHRASES) + "\n" + "\t".join("ab" for _ in PHRASES) + "\n"),
    "candidates": (read_candidates, "\t".join(NAMES) + "\npearl harbor\t1\nbig dog\t0\n"),
    "instances": (read_instances, INSTANCES),
    "sense key": (read_sense_key, "add.v add.v.1 add%1/4 add%2/1 !! a remark\nadd.v add.v.2 add%2\n"),
    "senseval": (read_senseval, LEXELT),
    "labels": (read_label_names, LABELS),
}  # fmt: skip
READERS = {name: Reader(read, "a.txt", content.encode()) for name, (read, content) in TEXTS.items()}
READERS |= {
    f"documents: {kind}": Reader(partial(documents, **reading), name, content.encode(reading.get("encoding", "utf-8")))
    for kind, (name, content, reading) in DOCUMENTS.items()
}
READERS |= {
    f"documents: {kind}": Reader(partial(documents, **reading), name, make())
    for kind, (name, make, reading) in BINARY.items()
}
READERS |= {
    "database": Reader(
        read_database, "a.toml", DECLARED.encode(), {"ratings.csv": RATINGS, "films.txt": "Ran\nHeat\n"}
    ),
    "tables of a database": Reader(
        lambda path: read_database(path.with_name("a.toml")),
        "ratings.csv",
        RATINGS.encode(),
        {"a.toml": DECLARED, "films.txt": "Ran\nHeat\n"},
    ),
    "labelled items": Reader(labelling, "a.arff", ARFF.encode(), {"labels.xml": LABELS}),
    "binary vectors": Reader(read_vectors, "a.bin", binary_vectors()),
    "documents: gzip": Reader(documents, "a.txt.gz", gzip.compress(PROSE.encode(), mtime=0)),
}

NASTY = [
    *(b"nan", b"inf", b"-inf", b"1e999", b"-0", b"-1", b"0", b"1e-400", b"0x10", b"1_0", b"999999999", b"2147483648"),
    *(b"9223372036854775808", b"1" * 30, b"1" * 5000, b"0" * 400, b"1e5", "٣".encode(), "²".encode(), "½".encode()),
    *(b"\0", b"\x01", b"\x1a", b"\x1c", b"\x85", b"\r", b"\n", b"\n\n", b"\r\n", b"\t", b" ", b"\x0b", b"\x0c"),
    *(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\xff\xfe", "\u2028".encode()),
    *("\u00a0".encode(), "\u0130".encode(), "e\u0301".encode() * 50, "\U0001f600".encode(), "\u202e".encode()),
    *(b'"', b"'", b"\\", b'\\"', b"\\ud800", b"\\u0000", b"#", b"%", b":", b",", b";", b"|", b"=", b"_", b"/", b"*"),
    *(
        b"(",
        b")",
        b"[",
        b"]",
        b"{",
        b"}",
        b"<",
        b">",
        b"&",
        b"&#0;",
        b"&#xd800;",
        b"<!",
        b"<![",
        b"<!--",
        b"<?",
        b"]]>",
    ),
    *(b"null", b"true", b"[]", b"{}", b'""', b"None", b"../../etc", b"/dev/null", b"a" * 70_000, b"a b " * 20_000),
    *(b"(" * 10_000, b"!" * 10_000, b"!" * 400, b"((" * 400, b"[" * 10_000, b'{"a":' * 10_000, b"<a>" * 10_000),
    *(b"(S " * 2_000 + b"(A b)" + b")" * 2_000, b"<a>" * 5_000 + b"</a>" * 5_000, b"[" * 5_000 + b"]" * 5_000),
    *(b"<p>" * 3_000 + b"</p>" * 3_000, b"{{" * 5_000, b"[[" * 5_000, b"<p>" * 3_000, b"\n" * 10_000, b"\t" * 10_000),
    *(b'"' * 10_000, b"'" * 10_000),
]
"""What people, programs and foes put into files."""


def damaged(content: bytes, rng: np.random.Generator, others: list[bytes] = NASTY) -> bytes:
    """Damage content once: a bit, a byte, a piece, a line; dropped, doubled, moved; or something nasty put in."""
    size = len(content)
    start, end = np.sort(rng.integers(size + 1, size=2))
    if rng.random() < 0.5:  # a token, or what surrounds it
        start = end = int(rng.integers(size + 1))
        while end < size and content[end : end + 1].isalnum():
            end += 1
    part, other, rows = content[start:end], others[int(rng.integers(len(others)))], content.split(b"\n")
    bit, at = 1 << int(rng.integers(8)), start % (size or 1)
    ways = [
        content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :] if size else b"\0",
        content[:start],
        content[:start] + content[end:],
        content[:end] + part + content[end:],
        content[start:] + content[:start],
        b"\n".join([*rows, rows[at % len(rows)], *rows[::-1]]),
        content[:start] + other + content[start:],
        content[:start] + other + content[end:],
        content[:start] + other + content[end:],
    ]
    return ways[int(rng.integers(len(ways)))]


def mutants(content: bytes, number: int, seed: int = 0) -> Iterator[bytes]:
    """Give damaged content, some of it damaged again and again; nothing at all comes first."""
    rng = np.random.default_rng(seed)
    yield b""
    for _ in range(number - 1):
        mutant = content
        for _ in range(1 + int(rng.integers(3)) * int(rng.integers(2))):
            mutant = damaged(mutant, rng)
        yield mutant
