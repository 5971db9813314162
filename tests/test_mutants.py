"""Whatever is in a file, it is read or refused in one sentence; what is damaged in a saved folder is not loaded."""

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import verbs
from experiments.cao2014.groups import CandidateGroups, load_ranked, save_ranked
from models import known
from mutants import READERS, mutants
from polyadic import Corpus, Embedding, InputError, load
from polyadic.core.entries import Entries
from polyadic.core.files import check_whole
from polyadic.core.query_groups import QueryGroups
from polyadic.core.solvers.run import Sweep, run
from polyadic.text.counts import Counts, count
from polyadic.words.checkpoint import load_checkpoint, save_checkpoint

every_reader = pytest.mark.parametrize("name", sorted(READERS))
FEW = ["NMF", "InjectedLogic", "PCFG"]
"""Models of three kinds: dense arrays; sparse arrays and a nested model; text in mappings."""
BOOK = ["A rose is a rose. The cat sat on the mat.", "The dog saw the cat. A dog is a dog."]


def refused(name, number, seed, folder):
    """Let a reader have mutants; give how many it refused."""
    reader, refusals = READERS[name], 0
    for at, content in enumerate(mutants(reader.content, number, seed)):
        try:
            refusal = reader.refuses(content, folder)
        except BaseException as error:
            error.add_note(f"mutant {at} of seed {seed} of {name}: {content[:300]!r}")
            raise
        assert "\n" not in refusal.strip(), content[:300]
        refusals += bool(refusal)
    return refusals


@every_reader
def test_examples_are_valid(name, tmp_path):
    """What mutants are made of is read without an objection."""
    assert READERS[name].refuses(READERS[name].content, tmp_path) == ""


@every_reader
def test_readers_read_or_refuse(name, tmp_path):
    """Nothing else happens to what is nearly right."""
    refused(name, 20, 0, tmp_path)


@pytest.mark.slow
@every_reader
def test_readers_read_or_refuse_more(name, tmp_path):
    """Nor to ten times as much of it."""
    refused(name, 200, 1, tmp_path)


# Folders


def corpus(path):
    Corpus.build(BOOK, path=path, min_count=1)


def counts(path):
    count(Corpus.build(BOOK, min_count=1), path=path, order=3, width=3)


def ranked(path):
    cells = csr_array(np.array([[1.0, 0, 2], [0, 3, 0]]))
    costs, starts = np.array([0, 0.1]), np.array([0, 2])
    save_ranked(
        path,
        CandidateGroups(QueryGroups(cells, costs, starts), np.ones((2, 2), np.int64)),
        [("a", 1), ("b",), ("c", "d")],
    )


def words(path):
    Embedding(["cat", "dog", "Füße"], np.arange(6.0).reshape(3, 2), counts=[3, 2, 1]).save(path)


def checkpoint(path):
    save_checkpoint(run(iter([Sweep((np.arange(6.0).reshape(3, 2),), 1.0)]), max_iter=1), path)


def entries(path):
    Entries.collect([[2, 0, 1], [1, 1, 0]], [1.0, 2.0], 3).save(path)


def static(path):
    Embedding(["cat", "dog"], np.eye(2)).save_pretrained(path)


def all_of_corpus(path):
    opened = Corpus.open(path)
    [*opened.lines.find("cat", "sat")]
    return opened.titles, [opened.line(at).text for at in range(3)]


SAVED = {
    "vectors": (words, lambda path, again: load(path).save(again)),
    "checkpoint": (checkpoint, lambda path, again: save_checkpoint(load_checkpoint(path), again)),
    "lists to rank": (ranked, lambda path, again: save_ranked(again, *load_ranked(path))),
}
"""Folders that are checked when they are loaded: what makes one, and what loads it and writes what was loaded."""
SAVED |= {
    name: (
        functools.partial(lambda name, path: known(name).save(path), name),
        lambda path, again: load(path).save(again),
    )
    for name in FEW
}
ON_DISK = {
    "corpus": (corpus, all_of_corpus),
    "counts": (counts, lambda path: Counts.open(path).entries.values.sum()),
    "entries": (entries, lambda path: Entries.load(path).values.sum()),
    "static": (static, check_whole),
}
"""Folders that stay on the disk: what makes one, and what reads all of it. Of the text only ``check`` knows all."""


def files_of(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def damages(written, number, seed):
    """Give folders, as contents by name, in each of which something is damaged."""
    rng = np.random.default_rng(seed)
    for name, content in written.items():
        yield {other: kept for other, kept in written.items() if other != name}
        for one in written:
            if written[one] != content:
                yield written | {name: written[one], one: content}
        changed = [
            b"",
            content[:-1],
            content[: len(content) // 2],
            content + b" ",
            content + content,
            b"\0" * len(content),
        ]
        for at in rng.integers(len(content), size=number):
            flipped = bytes([content[at] ^ 1 << rng.integers(8)])
            changed += [content[:at] + flipped + content[at + 1 :], content[:at] + content[at + 1 :], content[:at]]
        for new in changed:
            if new != content:
                yield written | {name: new}


def damaged_folders(make, number, folder):
    """Write folders in each of which something is damaged, and give what was written at first."""
    make(folder / "whole")
    written = files_of(folder / "whole")
    for at, contents in enumerate(damages(written, number, 0)):
        path = folder / f"damaged {at}"
        path.mkdir()
        for name, content in contents.items():
            (path / name).parent.mkdir(exist_ok=True)
            (path / name).write_bytes(content)
        yield path, written
        shutil.rmtree(path)


def refused_or_same(name, number, folder):
    make, again = SAVED[name]
    for path, written in damaged_folders(make, number, folder):
        try:
            again(path, folder / "again")
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017 # it may be loaded
            assert path.name in str(error)  # noqa: PT017
        else:  # such as without the last line feed
            assert files_of(folder / "again") == written, path
            shutil.rmtree(folder / "again")


@pytest.mark.parametrize("name", SAVED)
def test_damaged_folders_are_not_loaded(name, tmp_path):
    """Whatever happened to a file of a folder, what is loaded is what was saved, or nothing."""
    refused_or_same(name, 6, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAVED)
def test_damaged_folders_are_not_loaded_more(name, tmp_path):
    """The same holds for more damage."""
    refused_or_same(name, 12, tmp_path)


def told(name, number, folder):
    make, read = ON_DISK[name]
    for path, _ in damaged_folders(make, number, folder):
        try:
            assert check_whole(path)
        except InputError as error:
            assert path.name in str(error)  # noqa: PT017 # it may be whole
        else:
            assert files_of(path).keys() == files_of(folder / "whole").keys()
        try:
            read(path)
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017 # it may be read
        else:
            check_whole(
                path, but=["text/forms.npy", "text/gaps.npy"]
            )  # but for their headers, their blocks are checked


@pytest.mark.parametrize("name", ON_DISK)
def test_damage_on_disk_is_told(name, tmp_path):
    """``check``, and opening and reading a folder, report all damage of folders on disk."""
    told(name, 6, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_DISK)
def test_damage_on_disk_is_told_more(name, tmp_path):
    """The same of more damage."""
    told(name, 50, tmp_path)


# The command line


def answered(folder, seed, number):
    """Call every verb in a child, rightly and changed; whatever it is called with, it works or says what is wrong."""
    script = Path(__file__).with_name("verbs.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, script, folder, seed, number]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        assert "raised" not in row, row["call"]
        assert row["code"] in (0, 1, 2), row["call"]
        assert row["outside"] == [], row["call"]
        assert row["code"] != 1 or row["said"].startswith(("polyadic: ", '{"error": "')), row["call"]
    return rows


def test_every_verb_is_called():
    """A new verb is called here too: this test asks for a call."""
    assert {verb for verb, _ in verbs.verbs()} - verbs.NOT_CALLED == {*verbs.TRAINED, *verbs.CALLED} - {*verbs.MADE}


def test_verbs_answer(tmp_path):
    """Every verb works as it is called here, and with something changed ends in a sentence at the worst."""
    rows = answered(tmp_path, 3, 1)
    right = {row["verb"]: row["code"] for row in rows[::-1]}
    assert {verb for verb, code in right.items() if code} == set()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_verbs_answer_more(seed, tmp_path):
    """The same of more changes."""
    answered(tmp_path, seed, 5)
