"""Laws of the encoded corpus: what goes in comes out, in one order, whole or not at all."""

import contextlib
import gc
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polyadic
from helpers import edit_array, edit_meta, files_no_longer_than
from polyadic.core.errors import InputError
from polyadic.text import encoder
from polyadic.text.corpus import Corpus
from polyadic.text.readers import read
from polyadic.text.tokens import Tokenizer, whitespace

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(polyadic.__file__).parents[1])}
FILES = ["documents.npy", "ids.npy", "meta.json", "rows.npy", "sentences.npy"]
FILES += [
    *("text/checksums.npy", "text/documents.npy", "text/form-counts.npy", "text/forms.npy", "text/forms.txt"),
    *("text/gaps.json", "text/gaps.npy", "text/leads.npy", "text/sentences.npy", "text/word-of.npy", "text/words.txt"),
    "vocabulary.txt",
]
DOCUMENTS = st.lists(st.lists(st.lists(st.sampled_from("abcdefg"), max_size=6), max_size=4), max_size=8)


def documents_of(corpus):
    return [corpus.document(d) for d in range(len(corpus.documents) - 1)]


def english(n):
    """Give n sentences that differ from one another."""
    return [f"Word{i % 997} of the {i % 31}rd kind is no word{i % 7}." for i in range(n)]


@given(DOCUMENTS, st.integers(1, 4), st.sets(st.sampled_from("abc")))
def test_encoding_loses_only_what_it_should(documents, min_count, stop):
    """Decoding gives the words that are frequent and no stop words, in order; empty sentences go, documents stay."""
    counts = Counter(word for document in documents for sentence in document for word in sentence)
    kept = {word for word, n in counts.items() if n >= min_count} - stop
    if not kept:
        with pytest.raises(InputError):
            Corpus.build(documents, min_count=min_count, stop_words=stop)
        return
    corpus = Corpus.build(documents, min_count=min_count, stop_words=stop)
    filtered = [[[w for w in sentence if w in kept] for sentence in document] for document in documents]
    assert documents_of(corpus) == [[sentence for sentence in document if sentence] for document in filtered]
    assert dict(zip(corpus.vocabulary.words, corpus.vocabulary.counts, strict=True)) == {w: counts[w] for w in kept}
    assert list(corpus.vocabulary.words) == sorted(kept, key=lambda word: (-counts[word], word))
    assert len(corpus) == corpus.vocabulary.counts.sum()


@given(st.lists(st.text(), min_size=1))
def test_strings_are_tokenised(texts):
    """With every word kept, documents are what the tokenizer makes of the texts."""
    expected = [Tokenizer()(text) for text in texts]
    if any(expected):
        assert documents_of(Corpus.build(texts, min_count=1)) == expected
    else:
        with pytest.raises(InputError, match="contain no words"):
            Corpus.build(texts, min_count=1)


def test_equal_counts_are_ordered_by_alphabet():
    """Of words that occur equally often, the first in the alphabet comes first, and max_size keeps it."""
    corpus = Corpus.build([["b", "a", "c", "c"]], min_count=1, max_size=2)
    assert corpus.vocabulary.words == ("c", "a")
    assert corpus.ids.tolist() == [1, 0, 0]
    assert corpus.ids.dtype == np.uint16


def test_large_vocabularies():
    """From 65,536 words on, numbers take four bytes."""
    for size, dtype in ((65_535, np.uint16), (65_536, np.uint32)):
        corpus = Corpus.build([[[str(i) for i in range(size)]]], min_count=1, jobs=1)
        assert corpus.ids.dtype == dtype
        assert int(corpus.ids.max()) == size - 1


def test_jobs_and_hashing_change_nothing(tmp_path):
    """The bytes written are the same for one process or two and for any PYTHONHASHSEED."""
    path = tmp_path / "a.txt"
    path.write_text("\n".join(english(4000)))
    chunk = path.stat().st_size // (encoder.SMALL + 2)
    code = (
        "import sys; from polyadic.core import streams; from polyadic.text import corpus, encoder;"
        f" encoder.CHUNK = streams.BLOCK = {chunk}\n"
        "corpus.Corpus.build(*sys.argv[1:3], jobs=int(sys.argv[3]))"
    )
    contents = []
    for jobs, seed in ((1, "0"), (2, "1")):
        out = tmp_path / f"{jobs}"
        command = [sys.executable, "-c", code, str(path), str(out), str(jobs)]
        subprocess.run(command, check=True, env=ENVIRONMENT | {"PYTHONHASHSEED": seed})
        assert sorted(str(file.relative_to(out)) for file in out.rglob("*.*")) == FILES
        contents.append({name: (out / name).read_bytes() for name in FILES})
    assert contents[0] == contents[1]
    assert len(Corpus.open(out).documents) == 2  # one document, though read in pieces


def test_chunks_change_nothing(monkeypatch):
    """Where chunks end does not matter, not even inside a document."""
    texts = english(300)
    whole = Corpus.build(texts, min_count=2)
    monkeypatch.setattr(encoder, "CHUNK", 100)
    assert Corpus.build(texts, min_count=2, jobs=1).digest == whole.digest


def test_long_files_are_one_document(tmp_path, monkeypatch):
    """Pieces of a file are put together again."""
    (tmp_path / "a.txt").write_text("\n".join(english(1000)))
    (tmp_path / "b.txt").write_text("")
    (tmp_path / "c.txt").write_text("Word1 again.")
    whole = Corpus.build(read(tmp_path), min_count=1)
    monkeypatch.setattr("polyadic.core.streams.BLOCK", 1000)
    monkeypatch.setattr(encoder, "CHUNK", 3000)
    parts = Corpus.build(tmp_path, min_count=1, jobs=1)
    assert parts.digest == whole.digest
    assert len(parts.documents) == 4
    assert parts.document(1) == []


def test_names_of_files_are_no_texts(tmp_path):
    """A list of strings is one of texts, so names of files in it are told; short texts are not."""
    (tmp_path / "a.txt").write_text("one two three", encoding="utf-8")
    with pytest.raises(InputError, match=r"the first is the name of a file, '.*a\.txt'; pass files as"):
        Corpus.build([str(tmp_path / "a.txt")], min_count=1)
    assert len(Corpus.build([tmp_path / "a.txt"], min_count=1)) == 3
    assert len(Corpus.build(["a.txt", str(tmp_path)], min_count=1)) > 1


def test_lambdas_work_in_workers(monkeypatch):
    """A tokenizer need not have a name to be used by several processes; one that cannot be sent is refused."""
    monkeypatch.setattr(encoder, "CHUNK", 10_000)
    texts = english(2000)
    corpus = Corpus.build(iter(texts), tokenizer=lambda text: [*text.split(), f"#{os.getpid()}"], min_count=1, jobs=2)
    assert corpus.document(0)[0][:-1] == texts[0].split()
    assert {word for word in corpus.vocabulary.words if word[0] == "#"} - {f"#{os.getpid()}"}
    assert corpus.settings["tokenizer"].endswith("<lambda>")
    lock = threading.Lock()
    with pytest.raises(InputError, match="use jobs=1"):
        Corpus.build(texts, tokenizer=lambda text: [text.split(), lock][:1], jobs=2)


def test_tokenised_text(tmp_path):
    """Text that is tokenised already is cut at white space and line ends only."""
    (tmp_path / "a.txt").write_text("The dog 's bowl .\nU.S. , 3-4\n")
    corpus = Corpus.build(tmp_path / "a.txt", tokenizer=whitespace, min_count=1)
    assert corpus.document(0) == [["The", "dog", "'s", "bowl", "."], ["U.S.", ",", "3-4"]]


@pytest.mark.parametrize("result", ["text", None, 3, [3], [[3]], [["a"], 3], [[["a"]]], [[b"a"]], [["a"], "b"]])
def test_tokenizers_are_checked(result):
    """A tokenizer that returns no lists of strings is named as the fault."""
    with pytest.raises(InputError, match=r"a tokenizer must return|tokens must be strings"):
        Corpus.build(["a"], tokenizer=lambda _: result, min_count=1)


def test_empty_tokens_vanish():
    """An empty string among tokens counts as out of vocabulary."""
    assert Corpus.build([["a", "", "b"]], min_count=1).document(0) == [["a", "b"]]


def test_stop_words_by_name():
    """The built-in English list is had by its name and recorded in the settings."""
    corpus = Corpus.build(["The cat and the dog."], min_count=1, stop_words="english")
    assert corpus.vocabulary.words == ("cat", "dog")
    assert "the" in corpus.settings["stop_words"]


def test_what_is_left_of_an_empty_corpus(tmp_path):
    """An empty corpus is refused, and a too high min_count says what would keep some words."""
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(InputError, match="contains no documents"):
        Corpus.build([], tmp_path / "c")
    with pytest.raises(InputError, match="its documents contain no words"):
        Corpus.build(tmp_path / "empty.txt", tmp_path / "c")
    with pytest.raises(InputError, match=r"has 3 types .* most frequent occurs 2 times; min_count=2 or less keeps"):
        Corpus.build(["a b c b"], tmp_path / "c")
    assert [path.name for path in tmp_path.iterdir()] == ["empty.txt"]


def test_options_are_checked_before_reading():
    """A wrong option is refused before the source is touched."""

    def untouched():
        raise AssertionError
        yield

    for options, fault in (
        ({"min_count": 0}, "min_count must be"),
        ({"max_size": 0}, "max_size must be"),
        ({"jobs": 0}, "jobs must be"),
        ({"tokenizer": "spacy"}, "tokenizer must be"),
        ({"stop_words": "klingon"}, "stop_words must be"),
        ({"format": "word"}, "format must be"),
        ({"language": "klingon"}, "language must be"),
        ({"errors": "hide"}, "errors must be"),
    ):
        with pytest.raises(InputError, match=fault):
            Corpus.build(untouched(), **options)


@pytest.mark.parametrize("jobs", [1, 2])
def test_errors_of_the_source_leave_nothing(tmp_path, jobs, monkeypatch):
    """When the source or the tokenizer fails half-way, its error arrives and no folder is left."""
    monkeypatch.setattr(encoder, "CHUNK", 10_000)
    texts = english(2000)

    def failing():
        yield from texts
        raise RuntimeError("the database is gone")

    with pytest.raises(RuntimeError, match="the database is gone"):
        Corpus.build(failing(), tmp_path / "c", jobs=jobs)
    with pytest.raises(ZeroDivisionError):
        Corpus.build(texts, tmp_path / "c", tokenizer=lambda _: 1 / 0, jobs=jobs)
    assert list(tmp_path.iterdir()) == []


def test_overwriting(tmp_path):
    """A corpus is replaced only when asked, and survives a replacement that fails."""
    Corpus.build(["a"], tmp_path / "c", min_count=1)
    with pytest.raises(InputError, match="exists already"):
        Corpus.build(["b"], tmp_path / "c", min_count=1)
    with pytest.raises(InputError, match="min_count"):
        Corpus.build(["b"], tmp_path / "c", min_count=2, overwrite=True)
    assert Corpus.open(tmp_path / "c").vocabulary.words == ("a",)
    Corpus.build(["b"], tmp_path / "c", min_count=1, overwrite=True)
    assert Corpus.open(tmp_path / "c").vocabulary.words == ("b",)
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_temporary_corpora_vanish():
    """Without a path the folder lives as long as the object."""
    corpus = Corpus.build(["a"], min_count=1)
    folder = corpus.path
    assert folder.is_dir()
    del corpus
    gc.collect()
    assert not folder.parent.exists()


def test_arrays_are_mapped(tmp_path):
    """An opened corpus holds read-only maps of its files, and the same digest, settings and words as when built."""
    built = Corpus.build(english(50), tmp_path / "c", min_count=1)
    opened = Corpus.open(tmp_path / "c")
    for array in (opened.ids, opened.sentences, opened.documents):
        assert isinstance(array, np.memmap)
        assert not array.flags.writeable
    assert (opened.digest, opened.settings, opened.vocabulary) == (built.digest, built.settings, built.vocabulary)
    assert opened.document(-1) == opened.document(49)
    with pytest.raises(IndexError, match="50 documents"):
        opened.document(50)


def test_digest_is_of_the_content(tmp_path):
    """The digest is the hash of the hashes of the files, so anyone can check it; other content has another."""
    corpus = Corpus.build(english(9), tmp_path / "c", min_count=1)
    names = ["ids.npy", "sentences.npy", "documents.npy", "vocabulary.txt"]
    hashes = b"".join(hashlib.sha256((corpus.path / name).read_bytes()).digest() for name in names)
    assert corpus.digest == hashlib.sha256(hashes).hexdigest()
    assert Corpus.build(english(10), min_count=1).digest != corpus.digest


def change_meta(key, value):
    return lambda folder: edit_meta(folder, **{key: value})


def change(name, edit):
    return lambda folder: edit_array(folder / name, edit)


def put(where, value):
    def edit(array):
        array[where] = value
        return array

    return edit


def cut(name, size):
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size - size)


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (change_meta("kind", "counts"), "of kind 'counts', but a folder of kind 'corpus' is required"),
        (change_meta("version", 4), "version 4"),
        (change_meta("digest", None), "has no key 'digest'"),
        (change_meta("settings", 1), "has no key 'settings'"),
        (lambda folder: (folder / "meta.json").unlink(), "has no meta.json"),
        (lambda folder: (folder / "ids.npy").unlink(), "ids.npy is missing"),
        (lambda folder: (folder / "vocabulary.txt").unlink(), "vocabulary.txt: No such file"),
        (lambda folder: (folder / "ids.npy").write_bytes(b"text"), "ids.npy is damaged"),
        (lambda folder: (folder / "ids.npy").write_bytes(b""), "ids.npy is damaged"),
        (cut("ids.npy", 2), "ids.npy is damaged"),
        (cut("sentences.npy", 8), "sentences.npy is damaged"),
        (lambda folder: os.truncate(folder / "ids.npy", 1000), "ids.npy is damaged: it contains more than"),
        (change("ids.npy", lambda a: a.astype(np.float32)), "ids.npy must contain a vector of type uint16 or uint32"),
        (change("ids.npy", lambda a: a[:, None]), "ids.npy must contain a vector"),
        (change("ids.npy", put(3, 60_000)), "ids.npy is damaged: it contains the id 60000"),
        (change("ids.npy", put(3, 0)), "ids.npy does not match vocabulary.txt"),
        (change("ids.npy", lambda a: a[:-1]), "sentences.npy is damaged: the last offset"),
        (change("sentences.npy", put(0, 1)), "sentences.npy is damaged: the offsets must start"),
        (change("sentences.npy", put(2, 1)), "sentences.npy is damaged: offset 2 is smaller"),
        (change("sentences.npy", lambda a: a[:0]), "sentences.npy is damaged"),
        (change("documents.npy", put(-1, 99)), "documents.npy is damaged: the last offset must be"),
        (change("documents.npy", put(1, -1)), "documents.npy is damaged: offset 1 is smaller"),
        (cut("vocabulary.txt", 1), "vocabulary.txt is truncated"),
    ],
)
def test_damage_is_named(damage, fault, tmp_path):
    """A corpus of another kind or version, or with a missing, cut or inconsistent file, is refused by name."""
    built = Corpus.build(["aa bb cc. bb cc cc. cc aa bb aa aa aa.", "aa bb"], tmp_path / "c", min_count=1)
    shutil.copytree(built.path, tmp_path / "damaged")
    damage(tmp_path / "damaged")
    with pytest.raises(InputError) as caught:
        Corpus.open(tmp_path / "damaged")
    assert fault in str(caught.value)
    assert str(tmp_path / "damaged") in str(caught.value)


def test_full_disk_leaves_nothing(tmp_path):
    """When a file cannot grow, the system's error arrives and no folder is left, whatever file it was."""
    texts = english(3000)
    for limit in (5_000, 40_000, 100_000):
        with pytest.raises(OSError, match="File too large"), files_no_longer_than(limit):
            Corpus.build(texts, tmp_path / "c", min_count=1)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("jobs", "processes"), [(1, 1), (2, 3)])
def test_interrupt_leaves_nothing(jobs, processes, tmp_path):
    """Ctrl-C ends the parent and its workers, quietly, and removes the unfinished folder."""
    code = f"""
import contextlib
import itertools, signal, sys
from polyadic.text import encoder
from polyadic.text.corpus import Corpus
encoder.CHUNK = 10_000
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
def texts():
    for i in itertools.count():
        if i == 20: print("running", flush=True)
        yield "the cat sat on the mat. " * 500
try:
    Corpus.build(texts(), sys.argv[1], jobs={jobs})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "c")]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, env=ENVIRONMENT, text=True, start_new_session=True
    ) as build:
        try:
            assert build.stdout.readline() == "running\n"
            end = time.monotonic() + 60
            while len(in_session(build.pid)) < processes and time.monotonic() < end:
                time.sleep(0.02)
            assert len(in_session(build.pid)) >= processes
            os.killpg(build.pid, signal.SIGINT)
            assert build.communicate(timeout=300) == ("interrupted\n", "")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(build.pid, signal.SIGKILL)
    assert list(tmp_path.iterdir()) == []
    end = time.monotonic() + 60
    while time.monotonic() < end and in_session(build.pid):
        time.sleep(0.05)
    assert in_session(build.pid) == []


def in_session(leader):
    """Give the processes of a session that still run."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(session) == leader and state != "Z":
            found.append(stat.parent.name)
    return found


@pytest.mark.realdata
@pytest.mark.slow
def test_wikipedia(realdata):
    """Part 1 of the Wikipedia data is encoded as 6,801 documents whose most frequent words are those of English."""
    corpus = Corpus.build(realdata / "corpora" / "enwiki-2014-part1.txt.xz")
    assert len(corpus.documents) - 1 == 6801
    assert 16_500_000 < len(corpus) < 17_500_000
    assert corpus.vocabulary.words[:5] == ("the", "of", "and", "in", "to")
    assert corpus.document(0)[0][:5] == ["anarchism", "is", "a", "political", "philosophy"]


# ---- titles, and parts of a corpus


WIKI = """<doc id="1" title="Pearl Harbor">
Pearl Harbor

Ships sank. Ships burnt.
</doc>
<doc id="2" title="Pearl &amp; Jam">
Pearl &amp; Jam

A band sang.
</doc>
<doc id="3" title="">
Ships sang.
</doc>
"""


def test_titles_are_kept_with_their_documents(tmp_path):
    """WikiExtractor's titles come out in the order of the documents; texts without titles have none."""
    (tmp_path / "wiki.txt").write_text(WIKI)
    corpus = Corpus.build(tmp_path / "wiki.txt", tmp_path / "corpus", min_count=1)
    assert corpus.titles == ("Pearl Harbor", "Pearl & Jam", "")
    assert Corpus.open(tmp_path / "corpus").titles == corpus.titles
    assert Corpus.build(["no titles here"], min_count=1).titles is None


def test_titles_of_another_number_are_refused(tmp_path):
    """A file of titles and other fields that lost a line, or holds none, is damaged."""
    (tmp_path / "wiki.txt").write_text(WIKI)
    corpus = Corpus.build(tmp_path / "wiki.txt", tmp_path / "corpus", min_count=1)
    for content, fault in (
        ('{"title": "Pearl Harbor"}\n', "it must have 3 lines; got 1"),
        ("{\n" * 3, "Expecting"),
        ("[]\n" * 3, "a line is not a JSON object"),
    ):
        (tmp_path / "corpus" / "documents.jsonl").write_text(content)
        with pytest.raises(InputError, match=f"documents.jsonl is damaged: {fault}"):
            _ = corpus.titles


@given(
    texts=st.lists(st.lists(st.lists(st.sampled_from("abcde"), max_size=4), max_size=3), min_size=1, max_size=6),
    data=st.data(),
)
def test_a_part_reads_like_the_whole(texts, data):
    """The documents selected hold what they held, and their vocabulary counts it; none selected is refused."""
    texts = [*texts, [["a"]]]  # there is a word
    corpus = Corpus.build(texts, min_count=1)
    chosen = data.draw(st.lists(st.integers(0, len(texts) - 1), unique=True))
    words = [word for d in chosen for sentence in corpus.document(d) for word in sentence]
    if not words:
        with pytest.raises(InputError):
            corpus.select(chosen)
        return
    part = corpus.select(chosen)
    assert [part.document(k) for k in range(len(chosen))] == [corpus.document(d) for d in sorted(chosen)]
    assert dict(zip(part.vocabulary.words, part.vocabulary.counts, strict=True)) == Counter(words)


def test_a_part_keeps_titles_and_refuses_unknown_documents(tmp_path):
    """Titles go with their documents; a number beyond the last, or one named twice, is refused."""
    (tmp_path / "wiki.txt").write_text(WIKI)
    corpus = Corpus.build(tmp_path / "wiki.txt", min_count=1)
    assert corpus.select([2, 0]).titles == ("Pearl Harbor", "")
    assert corpus.select([0], tmp_path / "part").digest == Corpus.open(tmp_path / "part").digest
    for wrong in ([3], [-1], [0, 0]):
        with pytest.raises(InputError, match="distinct document indices from 0 to 2"):
            corpus.select(wrong)
