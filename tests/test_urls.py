"""Laws of files behind URLs: the same text as from here, cut in the same places, and every fault said of its URL."""

import gzip
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from polyadic.core import urls
from polyadic.core.errors import InputError, MissingExtraError
from polyadic.core.urls import URL, open_url, parts_of, states_of
from polyadic.text import readers
from polyadic.text.corpus import Corpus
from polyadic.text.pieces import Reading
from polyadic.text.readers import Account, Files, documents, find_files, read, stamp

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

LINES = "".join(f"The {word} of {n} roses, größer.\n" for n, word in enumerate(["best", "worst", "rest"] * 400))
CONTENTS = {"a.txt": LINES.encode(), "a.txt.gz": gzip.compress(LINES.encode()), "b.txt": b"And one more line.\n"}


class Server(BaseHTTPRequestHandler):
    """Files below /parts can be had in parts, those below /whole cannot, and those below /broken end too soon."""

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        _, kind, name = self.path.split("?")[0].split("/")
        if name not in CONTENTS:
            self.send_error(404)
            return
        body, asked = CONTENTS[name], re.match(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if asked and kind == "parts":
            start, stop = int(asked[1]), min(int(asked[2]) + 1, len(body))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(body)}")
            body = body[start:stop]
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", "one")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[: len(body) // 2] if kind == "broken" else body)

    def log_message(self, *args):
        """Be silent."""


@pytest.fixture(scope="module")
def web():
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def store():
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    yield memory
    memory.store.clear()


@pytest.mark.parametrize("kind", ["parts", "whole"])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.gz?download=1"])
def test_of_the_web(web, kind, name):
    """A file of a server gives its text, packed or not, whatever stands behind its name."""
    assert list(read(f"{web}/{kind}/{name}")) == [LINES]


def test_parts_of_the_web(web, monkeypatch):
    """Where a server gives parts, a file is cut where it would be here; else it is read as a whole."""
    monkeypatch.setattr(readers, "TASK", 2000)
    for kind in ("parts", "whole"):
        whole = Files.of([f"{web}/{kind}/a.txt"], Reading(format="lines"))
        cut = whole.ranges()
        assert bool(cut) == (kind == "parts")
        assert sum(some.size for some in cut or [whole]) == whole.size == len(LINES.encode())
        texts = [piece.content for some in cut or [whole] for piece in some.pieces(Account())]
        assert "".join(texts) == LINES.replace("\n", "")
    spans = [(k, k + 1) for k in range(200)]
    assert b"".join(parts_of(f"{web}/parts/a.txt", spans)) == LINES.encode()[:200]
    with pytest.raises(InputError, match=r"whole/a.txt: .*range"), open_url(f"{web}/whole/a.txt", (9, 90)):
        pass


def test_a_store_is_a_folder(store, tmp_path):
    """Files below, patterns, names of documents and the corpus are those of the same files here; hidden ones aside."""
    for name, content in CONTENTS.items():
        (tmp_path / name).write_bytes(content)
        store.pipe(f"/texts/more/{name}", content)
    store.pipe("/texts/.hidden", b"\0")
    assert find_files("memory://texts") == [f"memory:///texts/more/{name}" for name in sorted(CONTENTS)]
    assert find_files("memory://texts/**/*.gz") == ["memory:///texts/more/a.txt.gz"]
    assert [*documents("memory://texts")] == [*documents(tmp_path)]
    several = [tmp_path / "a.txt", URL("memory://texts/more/b.txt")]
    assert [*read(several)] == [LINES, "And one more line.\n"]
    here, there = (Corpus.build(source, min_count=1, language="en") for source in (tmp_path, "memory://texts"))
    assert here.digest == there.digest


def test_many_files_are_not_asked_for_one_by_one(store, monkeypatch):
    """Before they are read: they are counted."""
    for name in "abc":
        store.pipe(f"/texts/{name}.txt", b"a rose")
    assert readers.survey("memory://texts", Reading()) == {
        "files": 3,
        "documents": 3,
        "document_is": "a file",
        "formats": ["text"],
    }
    monkeypatch.setattr(readers, "MAX_SURVEYED", 2)
    assert readers.survey("memory://texts", Reading()) == {"files": 3}


def test_a_changed_file_is_another(store, web):
    """By its size or by what its store tells."""
    store.pipe("/a.txt", b"a rose")
    before = stamp("memory://a.txt")
    assert stamp("memory://a.txt") == before
    store.pipe("/a.txt", b"a nose")
    assert stamp("memory://a.txt") != before
    assert states_of([f"{web}/whole/b.txt"]) == [(len(CONTENTS["b.txt"]), "one")]


def test_faults(store, web, monkeypatch):
    """Each in a sentence that names the URL."""
    for url, why in {
        f"{web}/whole/c.txt": r"no file found at http://.*/c.txt \(404",
        f"{web}/broken/a.txt": "cannot read http://.*/broken/a.txt: Response payload is not completed",
        "http://127.0.0.1:1/a.txt": r"no file found at http://127.0.0.1:1/a.txt \(Cannot connect",
        "memory://a.txt": "no file found at memory://a.txt",
        "memory://*.txt": r"no file found at memory://\*.txt",
        "no-such://a.txt": "cannot read no-such://a.txt: Protocol not known: no-such",
        "zip://a.txt::memory://a.zip": "names a file within an archive",
    }.items():
        with pytest.raises(InputError, match=why):
            [*read(url)]
    with pytest.raises(InputError, match="cannot read http://a: the server does not respond"), urls._told("http://a"):
        raise fsspec.exceptions.FSTimeoutError
    store.pipe("/texts/a.txt", b"\0\1" * 2000)
    store.pipe("/texts/b.txt", b"a rose")
    with pytest.warns(match="skipped 1 of 2 files: memory:///texts/a.txt is not a text file"):
        assert [*read("memory://texts")] == ["a rose"]
    for missing in ("aiohttp", "fsspec.core"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, missing, None)
            with pytest.raises(MissingExtraError, match=r"polyadic\[remote\]"):
                [*read(web)]


def test_parts_of_names():
    """Schemes, suffixes and queries, of paths too."""
    assert [urls.is_url(path) for path in ("s3://texts/a.txt", "C:/texts/a.txt", "-")] == [True, False, False]
    assert [urls.suffix_of(path) for path in ("a.txt.GZ", "https://x.org/a.xz?b=1", "-")] == [".gz", ".xz", ""]
    assert urls.without_query("https://example.org/a.xz?download=1") == "https://example.org/a.xz"
