"""Laws of the readers: every format and compression, and every way in which input can be bad."""

import bz2
import gzip
import io
import json
import lzma
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic.core import streams
from polyadic.core.errors import InputError
from polyadic.core.streams import blocks, lines
from polyadic.text import readers
from polyadic.text.formats.markup import clean_markup
from polyadic.text.pieces import PIECE, Piece, Reading
from polyadic.text.readers import Account, Files, pieces, read

zstandard = pytest.importorskip("zstandard")

TEXT = "Ein Satz. Größe, naïve — 中文.\nAnd one more line.\n" * 300
COMPRESS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
    ".zst": zstandard.ZstdCompressor().compress,
}
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\ufeff"))
PAGE = "<page><title>{}</title><ns>{}</ns><id>1</id><revision><id>2</id><text>{}</text></revision></page>"


def mediawiki(*pages):
    body = "".join(PAGE.format(*page) for page in pages)
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/"><siteinfo><x></x></siteinfo>'
    return f"{head}{body}</mediawiki>"


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressions(suffix, tmp_path):
    """A file gives the same text however it is compressed, in one part or in several."""
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(COMPRESS[suffix](TEXT.encode()))
    assert list(read(path)) == [TEXT]
    if suffix in {".gz", ".bz2", ".xz", ".zst"}:
        half = len(TEXT) // 2
        path.write_bytes(b"".join(COMPRESS[suffix](part.encode()) for part in (TEXT[:half], TEXT[half:])))
        assert list(read(str(path))) == [TEXT]


@pytest.mark.parametrize("suffix", [s for s in COMPRESS if s])
@pytest.mark.parametrize("fault", ["cut", "plain", "flipped", "empty"])
def test_broken_compression(suffix, fault, tmp_path):
    """A compressed file that is truncated, overwritten or not compressed at all is refused in one sentence."""
    if fault == "empty" and suffix in {".gz", ".zst"}:
        pytest.skip("no bytes are a valid file of no members")
    good = COMPRESS[suffix](os.urandom(5000).hex().encode())
    flipped = good[:1000] + bytes(255 - byte for byte in good[1000:1400]) + good[1400:]
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes({"cut": good[:-20], "plain": TEXT.encode(), "flipped": flipped, "empty": b""}[fault])
    if fault == "flipped" and suffix in {".lzma", ".zst"}:
        pytest.skip("the format has no checksum by default")
    with pytest.raises(InputError) as caught:
        list(read(path))
    assert str(caught.value).startswith(f"cannot decompress {path}: the file is")
    if fault == "cut":
        assert "truncated" in str(caught.value)


@given(ANY_TEXT, st.integers(1, 5))
def test_lines_do_not_depend_on_blocks(text, size):
    """Lines are those of the whole text, wherever blocks end."""
    cut = [text[i : i + size] for i in range(0, len(text), size)]
    expected = text.split("\n")
    assert list(lines(cut)) == (expected if expected[-1] else expected[:-1])


@given(ANY_TEXT, st.sampled_from(["utf-8", "utf-16", "utf-32", "utf-8-sig"]))
def test_decoding(text, encoding):
    """Any encoding gives the text back; a byte order mark is no part of it."""
    assert "".join(blocks(io.BytesIO(text.encode(encoding)), "x", encoding=encoding)) == text


@pytest.mark.parametrize(("encoding", "bad"), [("utf-8", b"\xff"), ("ascii", b"\xe9"), ("shift_jis", b"\x81\xff")])
@pytest.mark.parametrize("before", [0, 3, (1 << 20) - 1, 1 << 20, (1 << 20) + 5])
def test_wrong_encoding(encoding, bad, before, tmp_path):
    """The byte that is in error is named, also behind the first block; the other policies read on."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"a" * before + bad + b" b")
    with pytest.raises(InputError, match=rf"{path} is not {encoding}: byte {before} \(0x{bad[0]:x}\)"):
        list(read(path, encoding=encoding))
    assert "".join(read(path, encoding=encoding, errors="ignore")).endswith(" b")
    assert "\ufffd" in "".join(read(path, encoding=encoding, errors="replace"))


def test_line_ends(tmp_path):
    """Line ends of all systems are line ends."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\r\nb\rc\nd")
    assert list(read(path, format="lines")) == ["a", "b", "c", "d"]


def test_binary_files_are_refused(tmp_path):
    """A file with NUL bytes is no text, whether or not it decodes."""
    path = tmp_path / "a.txt"
    for content in (b"ab\0cd", b"\x89PNG\0\0"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"is not a text file: it contains NUL bytes"):
            list(read(path))


def test_long_documents_come_in_pieces(tmp_path):
    """A long file stays one document though it is handed on in pieces, cut at line ends or else at white space."""
    path = tmp_path / "a.txt"
    for text in ("one line\n" * 400_000, "no line " * 800_000, "x" * 6_000_000):
        path.write_text(text)
        parts = list(pieces(path, Reading()))
        assert len(parts) > 1
        assert [part.starts for part in parts] == [True] + [False] * (len(parts) - 1)
        assert all(len(part.content) <= 6 * PIECE for part in parts)
        assert all(part.content[-1].isspace() for part in parts[:-1]) or " " not in text
        assert list(read(path)) == [text]
    article = "".join(f"paragraph {i}\n" for i in range(200_000))
    path.write_text(f'<doc id="1" title="A">\nA\n\n{article}</doc>\n<doc id="2" title="B">\nB\n\nshort\n</doc>\n')
    assert [part.starts for part in pieces(path, Reading())] == [True, False, False, True]
    assert list(read(path)) == ["\n" + article, "\nshort\n"]


def test_wikiextractor(tmp_path):
    """Each ``<doc>`` is a document without the title it repeats; an unfinished last one counts too."""
    path = tmp_path / "wiki_00"
    path.write_text(
        '\n<doc id="1" url="u" title="A &amp; B">\nA & B\n\nA & B\nText.\n\n</doc>\nbetween\n'
        '<doc id="2" title="C">\nother\n</doc>\n<doc id="3" title="D">\n</doc>\n<doc id="4">\nD\n'
    )
    assert list(read(path)) == list(read(path, format="wiki")) == ["\nA & B\nText.\n\n", "other\n", "", "D\n"]
    assert next(read(path, format="lines")) == ""


def test_jsonl(tmp_path):
    """The field of each line is a document: a string, tokens or tokenised sentences."""
    path = tmp_path / "a.jsonl.gz"
    records = [
        {"text": "a b"},
        {"text": ["a", "b"], "n": 1},
        {"text": [["a"], ["b"]]},
        {"text": "\u2028"},
        {"text": "smile 😀 \ud83d"},
    ]
    path.write_bytes(gzip.compress("\n\n".join(map(json.dumps, records)).encode()))
    assert list(read(path, field="text")) == ["a b", "a b", "a\nb", "\u2028", "smile 😀 \ufffd"]
    with pytest.raises(InputError, match="field must name the column of"):
        list(read(path))


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("3", "must be a JSON object; got int"),
        ('{"txt": "a"}', "has no field 'text'; its fields are 'txt'"),
        ('{"text": 3}', "must be a string, a list of tokens or a list of sentences; got int"),
        ('{"text": null}', "got NoneType"),
        ('{"text": [1]}', "got a list of int"),
        ('{"text": [[1]]}', "got the token 1"),
        ('{"text": [["a", null]]}', "got the token None"),
    ],
)
def test_bad_json_lines(line, fault, tmp_path):
    """A line that is not JSON, or not as promised, is named by file and number."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "fine"}\n\n' + line + "\n")
    with pytest.raises(InputError) as caught:
        list(read(path, field="text"))
    assert str(caught.value).startswith(f"{path}, line 3")
    assert fault in str(caught.value)


def test_mediawiki(tmp_path):
    """Of a dump the articles are read, without markup, redirects and other namespaces; paragraphs stay lines."""
    pytest.importorskip("gensim")
    text = "'''Bold''' [[link|shown]]{{template}}&lt;ref&gt;note&lt;/ref&gt; text.\n== Head ==\n* item"
    dump = mediawiki(("A", 0, text), ("Talk:A", 1, "talk"), ("R", 0, "#REDIRECT [[A]]"), ("E", 0, ""), ("B", 0, "it's"))
    path = tmp_path / "dump.xml.bz2"
    path.write_bytes(bz2.compress(dump.encode()))
    assert [piece.markup for piece in pieces(path, Reading())] == [True, True]
    first, second = read(path)
    assert [line.strip() for line in first.split("\n")] == ["Bold shown text.", "Head", "item"]
    assert second == "it's"
    path.write_bytes(bz2.compress(dump.encode()[:-100]))
    with pytest.raises(InputError, match="is not a complete MediaWiki dump"):
        list(read(path))
    for wrong in (b"<mediawiki><page></page></mediawiki>", mediawiki().replace("</s", "<page></page></s").encode()):
        path.write_bytes(bz2.compress(wrong))
        with pytest.raises(InputError, match="is not a MediaWiki dump"):
            list(read(path))


def test_folders_and_globs(tmp_path):
    """Folders are read to the bottom in alphabetical order without hidden files; patterns match files.

    A file whose name looks like a pattern is that file.
    """
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "a[1].txt").write_text("x")
    assert list(read(tmp_path / "odd" / "a[1].txt")) == ["x"]
    tmp_path = tmp_path / "even"
    for name in ("b.txt", "a/z.txt", "a/b/c.md", ".hidden", ".git/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    assert list(read(tmp_path)) == ["a/b/c.md", "a/z.txt", "b.txt"]
    assert list(read(f"{tmp_path}/**/*.txt")) == ["a/z.txt", "b.txt"]
    assert list(read([tmp_path / "b.txt", tmp_path / "a"])) == ["b.txt", "a/b/c.md", "a/z.txt"]
    assert list(read(iter([tmp_path / "b.txt", "text"]))) == ["b.txt", "text"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="contains no files"):
        list(read(tmp_path / "empty"))


def test_absent_and_unreadable(tmp_path):
    """What is absent or cannot be opened is named, and a text passed by mistake gets a hint."""
    with pytest.raises(InputError, match=r"no file found at .*in a list of documents"):
        list(read("It was a dark and stormy night. " * 100))
    for name in (tmp_path / "absent.txt", f"{tmp_path}/*.none"):
        with pytest.raises(InputError, match="no file"):
            list(read(name))
    path = tmp_path / "secret.txt"
    path.write_text("x")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(InputError, match="Permission denied"):
        list(read(path))


def test_unreadable_by_the_system(tmp_path, monkeypatch):
    """A file that the system refuses to open is reported with its reason."""

    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "a.txt"
    path.write_text("x")
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match=r"a.txt cannot be read: Permission denied"):
        list(read(path))


def test_iterables_are_read_once():
    """A generator is drawn from once, item by item."""
    drawn = []

    def documents():
        for i in range(3):
            drawn.append(i)
            yield f"text {i}"

    stream = read(documents())
    assert next(stream) == "text 0"
    assert len(drawn) <= 2
    assert list(stream) == ["text 1", "text 2"]
    assert drawn == [0, 1, 2]


@pytest.mark.parametrize(
    "item", [b"bytes", 3, None, {"text": "a"}, [1], ["a", ["b"]], [["a", 1]], [[None]], [[["a"]]], [b"a"]]
)
def test_items_that_are_no_documents(item):
    """What is neither text nor tokens is refused with its place and kind."""
    with pytest.raises(
        InputError, match=r"document 1 must (be a string, a list of tokens or a list of sentences|contain only strings)"
    ):
        list(read(["fine", item]))


def test_options_are_checked():
    """Unknown formats, policies and encodings, and a source that is none, are refused."""
    for options, fault in (
        ({"format": "word"}, "format must be one of"),
        ({"errors": "hide"}, "errors must be one of"),
        ({"encoding": "utf-9"}, "encoding must be auto or a known name"),
    ):
        with pytest.raises(InputError, match=fault):
            list(read(["a"], **options))
    with pytest.raises(InputError, match="path or an iterable"):
        list(read(3))


def test_standard_input():
    """``"-"`` reads standard input and leaves it open."""
    code = "import sys; from polyadic.text.readers import read; print(list(read('-')), sys.stdin.buffer.closed)"
    text = '<doc id="1" title="T">\nT\nbody é\n</doc>\n'
    environment = os.environ | {"PYTHONPATH": str(Path(readers.__file__).parents[2])}
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, input=text.encode(), capture_output=True, env=environment, check=True)
    assert run.stdout.decode("ascii", "backslashreplace").endswith("body \\xc3\\xa9\\n'] False\n")


def test_progress_counts_compressed_bytes(tmp_path):
    """The amounts reported add up to the size of the files on disk."""
    sizes = 0
    for suffix, compress in COMPRESS.items():
        path = tmp_path / f"a.txt{suffix}"
        path.write_bytes(compress(TEXT.encode()))
        sizes += path.stat().st_size
    told = []
    assert all(isinstance(piece, Piece) for piece in pieces(tmp_path, Reading(), advance=told.append))
    assert sum(told) == sizes


def test_missing_extra(tmp_path, monkeypatch):
    """A package that is not installed is named with the command that installs it."""
    (tmp_path / "a.zst").write_bytes(COMPRESS[".zst"](b"a"))
    (tmp_path / "a.xml").write_text(mediawiki(("A", 0, "x")))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "gensim.corpora.wikicorpus", None)
    with pytest.raises(ImportError, match=r'pip install "polyadic\[zst\]"'):
        list(read(tmp_path / "a.zst"))
    with pytest.raises(ImportError, match=r'pip install "polyadic\[gensim\]"'):
        list(read(tmp_path / "a.xml"))
    with pytest.raises(ImportError, match=r'pip install "polyadic\[gensim\]"'):
        clean_markup("x")


def test_lines_have_an_end(monkeypatch):
    """A line without end is refused before it fills the memory; as many short ones as there are do not count."""
    monkeypatch.setattr(streams, "MAX_LINE_LENGTH", 3 * streams.BLOCK)
    block = "a" * streams.BLOCK
    with pytest.raises(
        InputError, match="line 2 is longer than 3,145,728 characters; the file is probably not a text file"
    ):
        list(streams.lines(["a\n", *[block] * 9]))
    assert len(list(streams.lines([f"{block}\n"] * 9))) == 9


WRITTEN = {
    "text": st.lists(st.text("aß€ .\r𝄞", max_size=9)).map("\n".join),
    "lines": st.lists(st.text("aß€ .\r𝄞", max_size=9)).map("\n".join),
    "wiki": st.lists(st.sampled_from(['<doc title="ß">', "<doc >", "</doc>", "ß", "€ a", ""])).map("\n".join),
}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("kind", WRITTEN)
@given(data=st.data(), task=st.integers(1, 20))
def test_ranges_of_a_file_give_the_whole(kind, end, data, task):
    """Wherever it is cut: the same documents of the same lines, with their fields, and one file in the account."""
    content = "\ufeff" + data.draw(WRITTEN[kind]).replace("\n", end)

    def documents(files):
        account, whole = Account(), []
        for some in files:
            for piece in some.pieces(account):
                whole += [[dict(piece.fields), ""]] if piece.starts else []
                whole[-1][1] += piece.content
        assert account.formats == {kind: 1}
        return whole

    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "a.txt"
        path.write_bytes(content.encode())
        whole = Files.of([str(path)], Reading(format=kind, wrapped=False))
        patch.setattr(readers, "TASK", task)
        cut = whole.ranges()
        assert sum(some.size for some in cut) == (whole.size if whole.size > 2 * task else 0)
        if cut:
            assert documents(cut) == documents([whole])


def test_what_is_not_cut(tmp_path, monkeypatch):
    """Small files, wrapped and packed ones, tables, other encodings; and what may have to be skipped."""
    monkeypatch.setattr(readers, "TASK", 100)
    monkeypatch.setattr(streams, "BLOCK", 300)
    line = "It was the best of times.\n"
    prose = "It was the best of times. It was\nthe worst of times. It was the age\nof wisdom, it was the age\n"

    def cut(name, content, *others, **reading):
        (tmp_path / name).write_bytes(content)
        files = Files.of([str(tmp_path / each) for each in (name, *others)], Reading(**reading))
        return bool(files._replace(paths=files.paths[:1]).ranges())

    assert cut("a.txt", 20 * line.encode())
    assert not cut("small.txt", 4 * line.encode())
    assert not cut("wrapped.txt", 20 * prose.encode())
    assert cut("wrapped.txt", 20 * prose.encode(), wrapped=False)
    assert not cut("a.txt.gz", gzip.compress(random.Random(0).randbytes(1000)))
    assert not cut("a.csv", b"a,b\n" * 100)
    assert not cut("latin.txt", 20 * line.encode(), encoding="latin-1")
    assert not cut("windows.txt", 20 * (line + "café\n").encode("cp1252"))
    bad = 20 * (line + "café\n").encode() + b"\xff"
    assert cut("bad.txt", bad), "told where it is read, as the only file is never skipped"
    assert not cut("bad.txt", bad, "a.txt")
    monkeypatch.setattr(readers, "MAX_HELD", 10)
    assert cut("bad.txt", bad, "a.txt"), "so much was read before that it is no longer skipped"
    (*_, last) = Files.of([str(tmp_path / "bad.txt")], Reading()).ranges()
    with pytest.raises(InputError, match=r"bad.txt is not utf-8: byte 640 \(0xff\) is invalid"):
        [*last.pieces(Account())]
    monkeypatch.setattr(readers, "READ", 300)
    assert not cut("long.txt", b"It was. " * 200)


def test_files_need_no_standard_input(tmp_path, monkeypatch):
    """Processes without one, as workers and windows are, read files."""
    monkeypatch.setattr("sys.stdin", None)
    (tmp_path / "a.txt").write_bytes(b"words")
    with streams.open_bytes(str(tmp_path / "a.txt")) as stream:
        assert stream.read() == b"words"
