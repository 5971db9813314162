"""Laws of the formats: the same text comes out of all of them, with what else is known of it; damage is told."""

import csv
import email.message
import io
import json
import random
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import Corpus
from polyadic.core.errors import InputError, SkippedFilesWarning
from polyadic.text import pieces, readers
from polyadic.text.formats import plain
from polyadic.text.formats.plain import is_wrapped, unwrapped
from polyadic.text.readers import documents, read, survey
from polyadic.text.tokens import Tokenizer

PARAGRAPHS = ["Mr. Darcy bowed; Größe & <naïve> text.", "It was a second paragraph, of two sentences. This is one."]
TEXT = "".join(f"{paragraph}\n" for paragraph in PARAGRAPHS)
PROSE = (
    "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in want of a "
    "wife. However little known the feelings or views of such a man may be on his first entering a neighbourhood, this "
    "truth is so well fixed in the minds of the surrounding families, that he is considered the rightful property of "
    "some one or other of their daughters."
)
VERSE = """Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date;
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance or nature's changing course untrimm'd"""


def html():
    body = "".join(f"<p>{p.replace('&', '&amp;').replace('<', '&lt;')}</p>" for p in PARAGRAPHS).replace(
        "two", "<b>two</b>"
    )
    menu = "<nav><a href='/'>Home</a></nav><script>var x = 1;</script><style>p {}</style>"
    return f"<!DOCTYPE html><html><head><title>A\n title</title></head><body>{menu}\n{body}</body></html>"


def docx():
    document = pytest.importorskip("docx").Document()
    document.core_properties.title, document.core_properties.author = "A title", "An author"
    document.add_paragraph(PARAGRAPHS[0])
    document.add_table(1, 1).cell(0, 0).text = PARAGRAPHS[1]
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def epub():
    file = io.BytesIO()
    container = '<container xmlns="c"><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>'
    package = (
        '<package xmlns="p" xmlns:dc="d"><metadata><dc:title>A title</dc:title><dc:creator>An author</dc:creator>'
        '</metadata><manifest><item id="b" href="b%20c.html"/><item id="a" href="a.html"/></manifest>'
        '<spine><itemref idref="a"/><itemref idref="b"/></spine></package>'
    )
    with zipfile.ZipFile(file, "w") as book:
        book.writestr("META-INF/container.xml", container)
        book.writestr("OPS/book.opf", package)
        for name, text in zip(("a.html", "b c.html"), PARAGRAPHS, strict=True):
            book.writestr(
                f"OPS/{name}", f"<html><body><p>{text.replace('&', '&amp;').replace('<', '&lt;')}</p></body></html>"
            )
    return file.getvalue()


def tei():
    first, second = (p.replace("&", "&amp;").replace("<", "&lt;") for p in PARAGRAPHS)
    first = first.replace("bowed", "<choice><sic>bwoed</sic><corr>bowed</corr></choice><!-- a remark -->")
    second = "".join(f"<w>{word}</w>\n" for word in second.split(" "))
    return (
        '<?xml version="1.0"?><TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>A title'
        "</title><author>An author</author></titleStmt></fileDesc></teiHeader><text><body>\n"
        f"<p>{first}</p><p>{second}</p></body></text></TEI>"
    )


def mail():
    message = email.message.EmailMessage()
    message["Subject"], message["From"], message["To"] = "A title", "An author <a@b.org>", "c@d.org"
    message.set_content(TEXT + "> what was quoted\n")
    return bytes(message)


def table(delimiter):
    file = io.StringIO(newline="")
    rows = csv.writer(file, delimiter=delimiter)
    rows.writerows([["title", "text", "year"], ["A title", TEXT, "1813"], ["", "Second", ""]])
    return "\ufeff" + file.getvalue()


def xlsx():
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (["title", "text", "year"], ["A title", TEXT, 1813], [None, "Second", None]):
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def parquet():
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet as pq

    file = io.BytesIO()
    pq.write_table(arrow.table({"title": ["A title", None], "text": [TEXT, "Second"], "year": ["1813", None]}), file)
    return file.getvalue()


def jsonl():
    return "".join(
        json.dumps(row) + "\n" for row in ({"title": "A title", "text": TEXT, "year": 1813}, {"text": "Second"})
    )


FILES = {
    "a.html": html, "a.docx": docx, "a.epub": epub, "a.tei": tei, "a.eml": mail, "a.csv": lambda: table(","),
    "semicolons.csv": lambda: table(";"), "a.tsv": lambda: table("\t"), "a.xlsx": xlsx, "a.parquet": parquet,
    "a.jsonl": jsonl,
}  # fmt: skip
TABLES = [name for name in FILES if name.endswith(("csv", "tsv", "xlsx", "parquet", "jsonl"))]
DOCUMENTS = [name for name in FILES if name not in TABLES]
ANY_CELL = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), max_size=12).map(
    lambda cell: cell.replace("\ufeff", "")
)


def written(folder, name):
    content = FILES[name]()
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def lined(text):
    return [" ".join(line.split()) for line in text.split("\n") if line.strip()]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_give_their_paragraphs_and_their_title(name, tmp_path):
    """Each format gives the same paragraphs, a line each, without what is no running text; the title is a field."""
    if name.endswith(("html", "epub")):
        pytest.importorskip("bs4")
    (document,) = documents(written(tmp_path, name))
    assert lined(document.text) == PARAGRAPHS
    assert document.fields["title"] == "A title"
    assert document.fields.get("author", "An author") == "An author"


@pytest.mark.parametrize("name", TABLES)
def test_tables_give_a_column_and_keep_the_others(name, tmp_path):
    """A row is a document; its other cells, where they hold anything, stay with it."""
    path = written(tmp_path, name)
    assert [(d.text, dict(d.fields)) for d in documents(path, field="text")] == [
        (TEXT, {"title": "A title", "year": "1813"}),
        ("Second", {}),
    ]
    with pytest.raises(
        InputError,
        match=r"field must name the column of .*probably 'text'; the columns are 'title', 'text', 'year'",
    ):
        list(read(path))
    with pytest.raises(
        InputError, match=r"has no (column|field) 'body'; its (columns|fields) are 'title', 'text', 'year'"
    ):
        list(read(path, field="body"))


@given(st.lists(st.lists(ANY_CELL, min_size=2, max_size=2), min_size=1, max_size=5), st.sampled_from(",;\t|"))
def test_any_cell_comes_through_csv(tmp_path_factory, rows, delimiter):
    """Quotes, separators and line ends inside a cell are part of it."""
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([["name", "text"], *rows])
    told = [(d.fields.get("name", ""), d.text) for d in documents(path, field="text")]
    assert told == [tuple(row) for row in rows]


def test_rows_that_do_not_fit(tmp_path):
    """A row with more cells than there are names, a column named twice, and an open quote are told with their place."""
    path = tmp_path / "a.csv"
    for content, fault in (
        ("text,year\na,1,2\nb,3,4\n", "2 of 3 rows of .* cannot be read; line 2: expected 2 cells; got 3"),
        ("text,text\na,b\n", "two columns named 'text'"),
        ('text,year\n"a,1\n"b,2\n', "2 of 3 rows of .* cannot be read; line 2: a quotation mark is not closed"),
    ):
        path.write_text(content)
        with pytest.raises(InputError, match=fault):
            list(read(path, field="text"))


def test_one_column_is_the_text(tmp_path):
    """A table of one column needs no field."""
    (tmp_path / "a.csv").write_text("text\na b\nc\n")
    assert list(read(tmp_path / "a.csv")) == ["a b", "c"]


def test_pdf(tmp_path):
    """The lines of a page are paragraphs again; one without text, and one that is none, are refused."""
    pytest.importorskip("pypdf")
    plt = pytest.importorskip("matplotlib.pyplot")
    with plt.rc_context({"pdf.fonttype": 42}):
        for name, lines in (("a", textwrap.wrap(PROSE, 60)), ("empty", [])):
            figure = plt.figure(figsize=(8, 8))
            for number, line in enumerate(lines):
                figure.text(0.05, 0.95 - number / 20, line, fontsize=10)
            figure.savefig(tmp_path / f"{name}.pdf", metadata={"Title": "A title"})
            plt.close(figure)
    (document,) = documents(tmp_path / "a.pdf")
    assert lined(document.text) == [PROSE]
    assert document.fields["title"] == "A title"
    with pytest.raises(InputError, match="contains no text, only images of pages"):
        list(read(tmp_path / "empty.pdf"))
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.4 garbage")
    code = f"import contextlib\nwith contextlib.suppress(ValueError): list(read({str(tmp_path / 'bad.pdf')!r}))"
    code = f"from polyadic.text.readers import read; {code}".replace("; import", "\nimport")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def test_mailboxes(tmp_path):
    """Each message of a mailbox is a document."""
    mailbox = b"".join(b"From a@b.org Mon Nov 23\n" + mail() + b"\n>From the start\n\n" for _ in range(2))
    (tmp_path / "a.mbox").write_bytes(mailbox)
    told = list(documents(tmp_path / "a.mbox"))
    assert [document.fields["title"] for document in told] == ["A title"] * 2
    assert [lined(document.text) for document in told] == [[*PARAGRAPHS, "From the start"]] * 2


@pytest.mark.parametrize("name", [n for n in FILES if not n.endswith(("html", "eml", "csv", "tsv", "jsonl"))])
@pytest.mark.parametrize("damage", ["cut", "other", "empty"])
@pytest.mark.filterwarnings("ignore")  # of the libraries, beside their errors
def test_damage_is_told(name, damage, tmp_path):
    """A file that is cut short, is something else or is empty is refused in one sentence that names it."""
    path = written(tmp_path, name)
    content = path.read_bytes()
    path.write_bytes({"cut": content[: len(content) // 2], "other": b"no such thing at all", "empty": b""}[damage])
    with pytest.raises(InputError, match=rf"{path} cannot be read as "):
        list(read(path, field="text"))


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("a.html", "<p>a<![y]>b", "cannot be read as HTML: unknown status keyword"),
        ("a.xml", '<?xml version="1.0" encoding="utf-88"?><a/>', "cannot be read as XML: unknown encoding"),
        ("a.xml", '<?xml version="1.0" encoding="gb18030"?><a/>', "cannot be read as XML: multi-byte"),
        ("a.eml", "Content-Type: " + "(" * 2000, "contains a message that cannot be read"),
        (
            "a.eml",
            'Content-Type: text/plain; charset="nonsense"\n\na',
            "contains a message .* unknown encoding: nonsense",
        ),
        ("a.mbox", "From a\nContent-Type: text/html\n\na<![y]>b", "contains a message that cannot be read"),
        (
            "a.eml",
            "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(3000)),
            "contains a message that cannot be read",
        ),
    ],
)
def test_odd_files_are_told(name, content, fault, tmp_path):
    """Markup, encodings and nesting that a parser does not survive are refused in one sentence."""
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=fault) as told:
        list(read(tmp_path / name, field="text"))
    assert len(str(told.value)) < 500


def test_long_types_are_not_taken_apart(tmp_path):
    """What follows the type of a message takes no more time than there is of it."""
    (tmp_path / "a.eml").write_text("Content-Type: text/plain; a=" + "a b " * 100_000 + "\n\nA text\n")
    assert list(read(tmp_path / "a.eml")) == ["A text\n"]


@pytest.mark.parametrize("header", ["From", "To", "Subject", "Date"])
@pytest.mark.parametrize(
    "content",
    [
        *("a (" * 3000, '{"a":' * 3000, "Ann <a@b.org>, " * 3000, "a b " * 50_000),
        *("(" * 100_000, "," * 100_000, "<" * 100_000, "=?utf-8?q?a?= " * 9_000),
    ],
)
def test_long_headers_are_read(header, content, tmp_path):
    """A header is read as it stands, however long it is."""
    (tmp_path / "a.eml").write_text(f"{header}: {content.strip()}\n\nA text\n")
    [document] = documents(tmp_path / "a.eml")
    assert document.text == "A text\n"
    assert document.fields == {"title" if header == "Subject" else header.lower(): content.strip()}


@pytest.mark.parametrize("name", ["a.epub", "a.xlsx", "a.parquet", "a.docx"])
@pytest.mark.filterwarnings("ignore")  # of the libraries, beside their errors
def test_wrong_bytes_are_told_on_one_line(name, tmp_path):
    """Whichever byte is wrong, the file is read, or what a library says of it is passed on in one line."""
    path = written(tmp_path, name)
    content = path.read_bytes()
    for at in range(0, len(content), len(content) // 40):
        path.write_bytes(content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :])
        try:
            list(read(path, field="text"))
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017 # it may be read


@pytest.mark.parametrize("name", ["a.doc", "b.numbers", "c.rar", "d.pptx", "e.xls", "f.mobi"])
def test_formats_that_are_not_read(name, tmp_path):
    """What cannot be read comes with what to do instead."""
    (tmp_path / name).write_bytes(b"\xd0\xcf\x11\xe0")
    with pytest.raises(InputError, match=r"is in an unsupported format: [a-z]+ "):
        list(read(tmp_path / name))


def test_bad_files_are_skipped_counted_and_named(tmp_path):
    """Of several files those that cannot be read are left out whole, and a warning names them; strict stops."""
    for number in range(9):
        (tmp_path / f"{number}.txt").write_bytes("größer\n".encode() * 200_000 + (b"\xff" if number < 7 else b""))
    with pytest.warns(
        SkippedFilesWarning, match=r"skipped 7 of 9 files: .*0.txt is not utf-8: byte 1800000 .*; and 2 more"
    ):
        told = list(documents(tmp_path))
    assert [document.fields["file"] for document in told] == ["7.txt", "8.txt"]
    with pytest.raises(InputError, match=r"0.txt is not utf-8"):
        list(read(tmp_path, errors="strict"))
    for number in (7, 8):
        (tmp_path / f"{number}.txt").write_bytes("größer\n".encode() * 9 + b"\xff")
    with pytest.raises(InputError, match="none of the 9 files could be read; the first error is:"):
        list(read(tmp_path))


def test_files_are_called_by_their_places(tmp_path, monkeypatch):
    """Several files have names below what they share, wherever they are named from."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b/c.txt", "b/d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    named = [document.fields["file"] for document in documents([Path("a.txt"), tmp_path / "b"])]
    assert named == ["a.txt", "b/c.txt", "b/d.txt"]
    assert [document.fields["file"] for document in documents(tmp_path / "b")] == ["c.txt", "d.txt"]
    assert [dict(document.fields) for document in documents("a.txt")] == [{}]


def test_what_was_handed_on_is_not_skipped(tmp_path, monkeypatch):
    """A file that is too long to be held back stops the work where it is bad."""
    monkeypatch.setattr(readers, "MAX_HELD", 1 << 20)
    (tmp_path / "a.txt").write_text("fine\n")
    (tmp_path / "b.txt").write_bytes(b"fine words\n" * 400_000 + b"\xff")
    with pytest.raises(InputError, match=r"b.txt is not utf-8"):
        list(read(tmp_path))


def test_survey(tmp_path):
    """What files are is told from their beginnings, bad ones among them."""
    written(tmp_path, "a.csv")
    (tmp_path / "a.txt").write_text("\n".join(textwrap.wrap(PROSE, 60)))
    (tmp_path / "b.txt").write_text(VERSE)
    (tmp_path / "c.doc").write_text("x")
    assert survey(tmp_path, pieces.Reading()) == {
        "files": 4,
        "document_is": "a file or a row",
        "formats": ["text (2)", "csv (1)", "unknown (1)"],
        "wrapped": 1,
    }
    assert survey(["a text"], pieces.Reading()) == {}


def test_every_format_has_a_reader():
    """The formats that can be asked for are those that there are readers for."""
    assert set(readers.READERS) == set(pieces.FORMATS)
    assert set(readers.SUFFIXES.values()) <= set(pieces.FORMATS)


@pytest.mark.parametrize("width", [40, 60, 72, 100])
@pytest.mark.parametrize("between", ["\n\n", "\n"])
def test_wrapped_prose_is_told_and_joined(width, between):
    """Prose broken at any width is known by the lengths of its lines, and its paragraphs come back."""
    text = between.join("\n".join(textwrap.wrap(PROSE, width, break_on_hyphens=False)) for _ in range(5))
    assert is_wrapped(text)
    assert unwrapped(text).split() == PROSE.split() * 5
    assert between == "\n" or unwrapped(text) == between.join([PROSE] * 5)


@pytest.mark.parametrize("width", [20, 36])
def test_wrapped_text_without_spaces(width):
    """Chinese broken at any column is joined without a space; a sentence a line stays."""
    sentence = (
        "那座房子坐落在一条长长的路的尽头，村里从来没有人见过它的门在夜里打开。大家都说那里住着一位老人，他有很多书。"
    )
    text = "\n\n".join("\n".join(textwrap.wrap(sentence * 3, width)) for _ in range(4))
    assert is_wrapped(text)
    assert unwrapped(text) == "\n\n".join([sentence * 3] * 4)
    assert not is_wrapped("\n".join(sentence.replace("，", "。").split("。")))


def test_verse_sentences_and_lists_are_not_wrapped():
    """Verse, a sentence a line, short messages and lists of words keep their lines."""
    draw = random.Random(0)
    words = PROSE.replace(",", "").replace(".", "").split()
    messages = "\n".join(" ".join(draw.choices(words, k=draw.randint(3, 25))) for _ in range(200))
    for text in (VERSE, PROSE.replace(". ", ".\n").replace(", ", ",\n"), messages, "\n".join(words), ""):
        assert not is_wrapped(text)


@given(st.lists(st.text("ab -\n.", min_size=1), max_size=6))
def test_joining_loses_no_word(texts):
    """Joined lines hold the letters of the text, in order."""
    text = "\n".join(texts)
    assert [c for c in unwrapped(text) if c in "ab."] == [c for c in text if c in "ab."]


@pytest.mark.parametrize("sign", "a \t-")
def test_joining_long_runs(sign):
    """Of a sign a million times on end nothing is joined; the work does not grow with the square."""
    assert unwrapped(f"b{sign * 1_000_000}b") == f"b{sign * 1_000_000}b"


def test_wrapped_can_be_said(tmp_path):
    """Whether lines are wrapped is said where it is known."""
    (tmp_path / "a.txt").write_text(VERSE)
    assert list(read(tmp_path / "a.txt")) == [VERSE]
    assert list(read(tmp_path / "a.txt", wrapped=True)) == [VERSE.replace("\n", " ")]
    (tmp_path / "a.txt").write_text("\n".join(textwrap.wrap(PROSE, 60)))
    assert list(read(tmp_path / "a.txt")) == [PROSE]
    assert len(next(read(tmp_path / "a.txt", wrapped=False)).split("\n")) > 5


def test_long_wrapped_texts_come_in_pieces_that_end_with_paragraphs(tmp_path):
    """Pieces of a long wrapped text are cut between paragraphs, or between lines where there are none."""
    paragraph = "\n".join(textwrap.wrap(PROSE, 70))
    for between in ("\n\n", "\n"):
        text = between.join([paragraph] * 20_000)
        (tmp_path / "a.txt").write_text(text)
        parts = list(readers.pieces(tmp_path / "a.txt", pieces.Reading()))
        assert len(parts) > 1
        assert max(len(part.content) for part in parts) <= 6 * pieces.PIECE
        assert "".join(part.content for part in parts).split() == text.split()
        if between == "\n\n":
            assert all(part.content.rstrip("\n").endswith("daughters.") for part in parts)


def test_misspelt_options_of_reading_are_refused():
    """What no reader knows is refused."""
    with pytest.raises(TypeError, match="encodng"):
        list(read(["a"], encodng="utf-8"))


BANK = """# newdoc id = first
# text = Dogs don't bark.
1\tDogs\tdog\tNOUN\t_\t_\t0\t_\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\t_\t_\t1\t_\t_\t_
3\tn't\tnot\tPART\t_\t_\t1\t_\t_\t_
4\tbark\t_\tVERB\t_\t_\t1\t_\t_\t_
5\t.\t.\tPUNCT\t_\t_\t1\t_\t_\t_

# newpar
1\tCats\tcat\tNOUN\t_\t_\t0\t_\t_\t_

# newdoc
1\t!\t!\tPUNCT\t_\t_\t0\t_\t_\t_

1\tEnd\tend\tNOUN\t_\t_\t0\t_\t_\t_"""


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_treebanks(size, tmp_path, monkeypatch):
    """Sentences and words are as they are told, by either column, in any pieces; empty documents vanish."""
    monkeypatch.setattr(plain, "PIECE", size)
    (tmp_path / "bank.conllu").write_text(BANK, encoding="utf-8")
    corpus = Corpus.build(tmp_path / "bank.conllu", min_count=1)
    assert [corpus.document(k) for k in range(2)] == [[["dogs", "do", "n't", "bark"], ["cats"]], [["end"]]]
    assert corpus.titles == ("first", "")
    corpus = Corpus.build(tmp_path / "bank.conllu", min_count=1, field="lemma")
    assert [corpus.document(k) for k in range(2)] == [[["dog", "do", "not", "bark"], ["cat"]], [["end"]]]


@pytest.mark.parametrize(
    ("text", "reading", "fault"),
    [
        ("1\tDogs\tdog\n", {}, r"bank\.conllu, line 1 must have ten tab-separated columns, as in CoNLL-U; got 3"),
        (BANK, {"field": "lema"}, "field must be 'form' or 'lemma' for the CoNLL-U file .*; got 'lema'"),
        (BANK, {"tokenizer": Tokenizer(lemmas=True)}, "lemmas cannot be computed for pre-tokenized text"),
        ("# newdoc\n", {}, "the source contains no documents"),
    ],
)
def test_what_is_no_treebank(text, reading, fault, tmp_path):
    (tmp_path / "bank.conllu").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=fault):
        Corpus.build(tmp_path / "bank.conllu", min_count=1, **reading)


def test_words_of_treebanks_are_told_apart_already(tmp_path, recwarn):
    """No warning that clauses of Chinese would become words."""
    rows = "\n".join(f"{k}\t{word}\t_\t_\t_\t_\t0\t_\t_\t_" for k, word in enumerate(["我们", "学习", "中文"], 1))
    (tmp_path / "bank.conllu").write_text(rows, encoding="utf-8")
    assert len(Corpus.build(tmp_path / "bank.conllu", min_count=1, language="zh")) == 3
    assert not recwarn.list


def row(form, lemma="_"):
    return f"1\t{form}\t{lemma}\t_\t_\t_\t0\t_\t_\t_\n\n"


def test_words_of_treebanks_are_spelled_as_those_of_text(tmp_path):
    """Composed, with plain apostrophes and without soft hyphens; blanks are no blanks, and nothing is no word."""
    (tmp_path / "bank").write_text(
        "# text = x\n" + row("cafe\u0301") + row("L’") + row("10 000") + row("hy\u00adphen") + row("Dogs", " "),
        encoding="utf-8",
    )
    corpus = Corpus.build(tmp_path / "bank", min_count=1)  # without a suffix, too
    assert corpus.settings["formats"] == {"conllu": 1}
    assert set(corpus.vocabulary.words) == {"café", "l'", "10_000", "hyphen", "dogs"}
    assert corpus.tokenize("Dogs!") == [["dogs"]]
    corpus = Corpus.build(tmp_path / "bank", min_count=1, field="lemma", format="conllu")
    assert "dogs" in corpus.vocabulary
    with pytest.raises(InputError, match="contains lemmas from CoNLL-U files"):
        corpus.tokenize("Dogs!")


def test_tokens_are_held_back_by_their_size(tmp_path, monkeypatch):
    """A long file of sentences is passed on, not held until its end."""
    monkeypatch.setattr(readers, "MAX_HELD", 100)
    monkeypatch.setattr(plain, "PIECE", 50)
    for name in "ab":
        (tmp_path / f"{name}.conllu").write_text(row("word") * 50, encoding="utf-8")
    parts = pieces.Reading()
    first = next(iter(readers.pieces(tmp_path, parts)))
    assert len(first.content) < 50
    held = readers._held(iter([first] * 10))
    next(held)
    assert len(list(held)) == 9


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>a" * 20_000, "a\n" * 20_000),
        ("<b>a" * 20_000 + "</i></b>" * 20_000, "a" * 20_000 + "\n"),
        ("<div>" * 20_000 + "a" + "</div>" * 20_000, "a\n"),
        ("<p>a</p>" + "<a b='" * 20_000, "a\n" + "<a b='" * 20_000 + "\n"),
        ("<p>a</p>" + "<!-- > " * 20_000, "a\n" + " ".join(["<!-- >"] * 20_000) + "\n"),
        ("<p>a&#" + "9" * 100_000 + ";</p>", "a\ufffd\n"),
        ("<form>" * 20_000 + "b</div></form>" * 20_000 + "a", "a\n"),
        ("<ruby>a<rt>b</rt></ruby><p>c<form>d</p>e<br></br>f", "a\nc\ne\nf\n"),
    ],
)
def test_pages_are_read_however_they_nest(tmp_path, page, text):
    """What is nested 20,000 deep, or is not closed, is read as what is not."""
    (tmp_path / "page.html").write_text(page)
    assert next(read(tmp_path / "page.html")) == text


@pytest.mark.parametrize("depth", [1, 20_000])
def test_elements_are_read_however_they_nest(tmp_path, depth):
    """XML that is nested 20,000 deep is read as what is not; of titles in titles the outermost is the title."""
    header = f"<teiHeader>{'<title>' * depth}b{'</title>' * depth}</teiHeader>"
    (tmp_path / "a.xml").write_text(f"<TEI>{header}{'<a>' * depth}c d{'</a>' * depth}</TEI>")
    assert list(documents(tmp_path / "a.xml")) == [("c d\n", {"title": "b"})]


def test_archives_of_little_that_hold_much_are_told(tmp_path):
    """A chapter of 100 MB of blanks in 100 KB is not unpacked."""
    with zipfile.ZipFile(tmp_path / "a.epub", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.html", " " * 100_000_000)
    with pytest.raises(InputError, match="the content has 100,000,000 bytes, more than 100 times the size"):
        list(read(tmp_path / "a.epub"))


def test_cells_are_read_once_however_wide(tmp_path):
    """A cell that spans a thousand million columns, or several rows, is read once."""
    document = pytest.importorskip("docx").Document()
    table = document.add_table(3, 2)
    table.cell(0, 0).merge(table.cell(2, 0)).text = "tall"
    table.cell(1, 1).text = "wide"
    table.cell(1, 1)._tc.grid_span = 1_000_000_000
    document.save(tmp_path / "a.docx")
    assert next(read(tmp_path / "a.docx")).split() == ["tall", "wide"]


def test_rows_far_below_are_not_waited_for(tmp_path):
    """A sheet that says its next row is the thousand millionth ends there."""
    book = pytest.importorskip("openpyxl").Workbook()
    book.active.append(["text"])
    book.active.append(["a"])
    book.save(tmp_path / "a.xlsx")
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "b.xlsx", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content.replace(b"</sheetData>", b'<row r="1000000000"/></sheetData>'))
    assert list(read(tmp_path / "b.xlsx")) == ["a"]


def test_many_columns_are_told_briefly(tmp_path):
    """Of 100,000 columns the first are named, where one must be chosen, and any that stands twice."""
    names = [f"c{n}" for n in range(100_000)]
    (tmp_path / "a.csv").write_text(",".join(names) + "\n")
    with pytest.raises(InputError, match="'c99' and 99,900 more"):
        list(read(tmp_path / "a.csv"))
    assert list(read(tmp_path / "a.csv", field="c5")) == []
    (tmp_path / "a.csv").write_text(",".join([*names, "c7"]) + "\n")
    with pytest.raises(InputError, match="two columns named 'c7'"):
        list(read(tmp_path / "a.csv", field="c5"))


def test_numbers_of_no_character_are_none(tmp_path):
    """An entity with thousands of digits is no character, in titles too."""
    (tmp_path / "a.txt").write_text(f'<doc title="a&#{"9" * 5000};">\nb\n</doc>\n')
    assert list(documents(tmp_path / "a.txt")) == [("b\n", {"title": "a\ufffd"})]


def test_hyphens_stay_where_words_have_them():
    """A hyphen at a line's end is kept if the same whole words are joined by one elsewhere."""
    assert unwrapped("a well-\nknown law, state-of-the-\nart\n\nwell-known the-art") == (
        "a well-known law, state-of-the-art\n\nwell-known the-art"
    )
    assert unwrapped("so-\nda, also-dark\n") == "soda, also-dark\n"
    lines = "".join(f"{'abcdefghij'[n % 10]}{'xyz' * (n % 90)}-\nb{'xyz' * (n % 97)} " for n in range(20_000))
    assert "-" not in unwrapped(lines)
