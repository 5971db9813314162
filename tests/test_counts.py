"""Counts of tuples of words, against their slow twin."""

import errno
import itertools
import tempfile
from collections import Counter
from functools import partialmethod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from helpers import edit_array, edit_meta, files_no_longer_than
from polyadic import Corpus
from polyadic.core.arrays import ArrayWriter
from polyadic.core.errors import InputError
from polyadic.text import counts as module
from polyadic.text import kernels
from polyadic.text.counts import Counts, count, plan
from polyadic.text.tokens import Tokenizer
from strategies import Text, sentences, tries

ROSES = [[0, 1, 2, 0, 1], [2, 0, 1, 3]]
WINDOWS = ("span", "centred", "chunk")


def as_counter(counts):
    rows = map(tuple, counts.entries.indices.tolist())
    return Counter(dict(zip(rows, counts.entries.values.tolist(), strict=True)))


def same(a, b):
    assert as_counter(a) == as_counter(b)
    assert a.events == b.events
    assert a.marginals.tolist() == b.marginals.tolist()
    assert a.vocabulary == b.vocabulary
    assert a.settings == b.settings
    for x, y in zip(a.chunks or (), b.chunks or (), strict=True):
        assert np.array_equal(x, y)


def check_against_twin(text, lists, *, min_count=1, **how):
    """Compare everything that counting gives with what the twin sees."""
    seen = reference.counts(lists, **{"repeats": False, **{k: v for k, v in how.items() if k in REFERENCE_ARGUMENTS}})
    kept = {words: n for words, n in seen.items() if n >= min_count}
    if not kept:
        with pytest.raises(InputError, match="no tuple of"):
            count(text, min_count=min_count, **how)
        return
    counts = count(text, min_count=min_count, **how)
    assert as_counter(counts) == kept
    assert counts.events == seen.total()
    members = Counter(word for words, n in seen.items() for word in words for _ in range(n))
    assert counts.marginals.tolist() == [members[word] for word in range(len(text.vocabulary))]
    assert counts.marginals.sum() == counts.entries.order * counts.events


REFERENCE_ARGUMENTS = ("order", "window", "width", "repeats")


@pytest.mark.parametrize("order", [2, 3, 4, 5])
@pytest.mark.parametrize("window", WINDOWS)
@tries(20)
@given(lists=sentences(), width=st.integers(1, 4), repeats=st.booleans(), min_count=st.integers(1, 3), data=st.data())
def test_counts_equal_their_twin(window, order, lists, width, repeats, min_count, data):
    """Tuples, counts, events and marginals are those of the definition, however the work is cut into parts."""
    threads, part = data.draw(st.sampled_from([1, 3])), data.draw(st.sampled_from([1, 20, 4e6]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PART", part)
        how = {"order": order, "window": window, "width": width, "repeats": repeats}
        check_against_twin(Text.of(lists, 6), lists, **how, min_count=min_count, threads=threads)


@pytest.mark.parametrize(("order", "length", "number", "spread"), [(2, 80, 20, 1), (3, 40, 12, 1), (3, 30, 12, 9000)])
@pytest.mark.parametrize("words", [3, 7])
def test_many_counts_equal_their_twin(order, length, number, spread, words):
    """The twin also agrees where a word has tens of thousands of tuples, and where numbers of words are large."""
    drawn = np.random.default_rng(order).integers(0, words, (number, length)) * spread
    text = Text.of(drawn.tolist(), (words - 1) * spread + 1)
    check_against_twin(text, drawn.tolist(), order=order, window="span", width=length, repeats=True)


def test_keys_of_64_bits():
    """Order 5 counts right with the largest vocabulary that it allows, and refuses a word more."""
    top = 65_535
    lists = [[top, top - 1, 40_000, 3, 0, top, 32_768, 32_767, top - 1], [top, 1, 2, 3, 4, top, top]]
    for repeats in (False, True):
        how = {"order": 5, "window": "centred", "width": 4, "repeats": repeats}
        check_against_twin(Text.of(lists, top + 1), lists, **how)
    with pytest.raises(InputError, match="tuples of order 5 can be counted for at most 65,536 words; got 65,537"):
        count(Text.of([[0, 1, 2, 3, 4]], top + 2), order=5)


@pytest.mark.parametrize("window", WINDOWS)
def test_counting_a_corpus(window):
    """A corpus built from text gives what its sentences give."""
    corpus = Corpus.build(["A rose is a rose. Is it? A rose, red as a rose is, is it.", "No rose."], min_count=1)
    lists = np.split(np.array(corpus.ids), corpus.sentences[1:-1])
    check_against_twin(corpus, [s.tolist() for s in lists], order=3, window=window, width=2)


@tries(30)
@given(sentences(), st.integers(2, 5), st.sampled_from(WINDOWS), st.integers(1, 4), st.booleans())
def test_running_words_equal_their_twin(lists, order, window, width, repeats):
    """A removed word takes up a position and is not in any tuple, in all windows."""
    kept = [[None if word > 3 else word for word in sentence] for sentence in lists]
    text, running = Text.of([[w for w in sentence if w is not None] for sentence in kept], 4), Text.of(lists, 6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "positioned", lambda *_: (np.minimum(running.ids, 4), running.sentences))
        how = {"order": order, "window": window, "width": width, "repeats": repeats, "distance": "running"}
        check_against_twin(text, kept, **how)


def test_positions_of_running_words():
    """Stop words, rare words and numbers have a position without a word; a sentence of them alone has no words."""
    how = {"min_count": 2, "stop_words": ["the"], "tokenizer": Tokenizer(language="en", digits="drop"), "jobs": 1}
    corpus = Corpus.build(["Rose the red 7 zebra rose. The 7.", "", "RED the."], **how)
    ids, edges = module.positioned(corpus, "running")
    words = [*corpus.vocabulary.words, "-"]
    found = [" ".join(words[i] for i in ids[a:b]) for a, b in itertools.pairwise(edges)]
    assert found == ["rose - red - - rose", "- -", "red -"]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("order", [2, 3, 4])
def test_running_words_are_kept_words_if_none_is_removed(order, window):
    """Both values of distance give the same counts if no word is removed."""
    drawn = np.random.default_rng(order).integers(0, 9, (5, 20)).tolist()
    corpus = Corpus.build([[f"w{k}" for k in line] for line in drawn], min_count=1, jobs=1)
    kept, running = (count(corpus, order=order, window=window, width=4, distance=d) for d in ("kept", "running"))
    assert [kept.settings.pop("distance"), running.settings.pop("distance")] == ["kept", "running"]
    same(kept, running)


def test_joined_words_are_at_the_place_of_their_first():
    """A joined pair takes up two positions, the second of which is empty, also if a number is between its words."""
    text = ["we saw new york with bees", "new york new york is new", "new 7 york bees"] + ["new york"] * 20
    how = {"stop_words": ["is", "with"], "tokenizer": Tokenizer(language="en", digits="drop"), "jobs": 1}
    corpus = Corpus.build(text, min_count=1, multiwords=True, **how)
    ids, edges = module.positioned(corpus, "running")
    words = [*corpus.vocabulary.words, "-"]
    found = [" ".join(words[i] for i in ids[a:b]) for a, b in itertools.pairwise(edges)]
    assert found[:3] == ["we saw new_york - - bees", "new_york - new_york - - new", "new_york - - bees"]


def test_running_words_are_refused_where_there_are_none(tmp_path):
    """A part of a corpus has no running words, and those of another text do not match."""
    corpus = Corpus.build(["a rose", "a red rose"], tmp_path / "corpus", min_count=1)
    with pytest.raises(InputError, match="is part of a corpus, without running words"):
        count(corpus.select([0]), order=2, distance="running")
    with pytest.raises(InputError, match="distance must be one of 'kept', 'running'; got 'written'"):
        count(corpus, order=2, distance="written")
    corpus.ids = corpus.ids[::-1]
    with pytest.raises(InputError, match=r"is damaged: the running words do not match ids\.npy"):
        count(corpus, order=2, distance="running")


@given(lists=sentences(most=4), window=st.sampled_from(WINDOWS), order=st.integers(2, 4))
@tries(20)
def test_sentences_are_apart(lists, window, order):
    """No tuple crosses a sentence: the counts of a text are the sum of those of its sentences."""

    def counted(some):
        try:
            counts = count(Text.of(some, 6), order=order, window=window, width=9, repeats=True)
        except InputError:  # no tuple at all
            return Counter()
        return as_counter(counts)

    assert counted(lists) == sum((counted([sentence]) for sentence in lists), Counter())


@pytest.mark.parametrize("window", WINDOWS)
def test_counts_do_not_depend_on_how_they_are_made(window, monkeypatch):
    """Threads, parts and the budget of memory change how the work is cut, not its result."""
    lists = np.random.default_rng(0).integers(0, 30, (20, 25)).tolist()
    text = Text.of(lists, 30)
    how = {"order": 3, "window": window, "width": 4}
    counts = count(text, **how, threads=1)
    same(counts, count(text, **how, threads=5))
    least = next(2**b for b in range(10, 40) if is_enough(text, 2**b, how))
    assert len(plan(text, **how, memory=least, threads=1).parts) > 1
    same(counts, count(text, **how, memory=least, threads=1))
    monkeypatch.setattr(module, "PART", 1)
    assert len(plan(text, **how).parts) > 25
    same(counts, count(text, **how, threads=3))


def is_enough(text, memory, how):
    try:
        plan(text, **how, memory=memory, threads=1)
    except InputError as error:
        assert "raise the limit, or use" in str(error)  # noqa: PT017 every refusal on the way is the right one
        return False
    return True


@pytest.mark.parametrize("window", WINDOWS)
def test_plan_is_a_bound(window):
    """The plan promises no fewer tuples than are found, and covers every word once, in order."""
    lists = np.random.default_rng(1).integers(0, 9, (20, 15)).tolist()
    for order in (2, 3, 5):
        how = {"order": order, "window": window, "width": 4, "repeats": True}
        planned, counts = plan(Text.of(lists, 9), **how), count(Text.of(lists, 9), **how)
        assert planned.tuples >= counts.events
        assert planned.disk >= counts.entries.indices.nbytes + counts.entries.values.nbytes
        assert [word for first, last, _ in planned.parts for word in range(first, last)] == list(range(9))


@pytest.mark.parametrize("window", WINDOWS)
def test_counts_survive_the_disk(window, tmp_path):
    """Counts made in a folder, opened, saved and opened again are the same, and may replace one another."""
    text = Text.of(ROSES, 4)
    counts = count(text, tmp_path / "a", window=window, width=2)
    same(counts, count(text, window=window, width=2))
    same(counts, Counts.open(tmp_path / "a"))
    counts.save(tmp_path / "b")
    same(counts, Counts.open(tmp_path / "b"))
    with pytest.raises(InputError, match="exists already"):
        counts.save(tmp_path / "b")
    other = count(text, tmp_path / "b", order=2, overwrite=True)
    same(other, Counts.open(tmp_path / "b"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_temporary_counts_vanish(tmp_path, monkeypatch):
    """Without a path the files live as long as the counts."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    counts = count(Text.of(ROSES, 4))
    assert list(tmp_path.iterdir())
    del counts
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"order": 1}, "order must be a whole number from 2 to 5; got 1"),
        ({"order": 6}, "order must be a whole number from 2 to 5; got 6"),
        ({"width": 0}, "width must be a whole number from 1 to 1000; got 0"),
        ({"width": 1001}, "got 1001"),
        ({"width": 2.0}, "got 2.0"),
        ({"window": "spam"}, "window must be one of 'span', 'centred', 'chunk'; got 'spam'"),
        ({"min_count": 0}, "min_count must be a whole number of at least 1; got 0"),
        ({"min_count": 99}, "no tuple of 3 words occurs at least 99 times .*; lower min_count"),
        ({"memory": 0}, "memory must be a whole number of at least 1; got 0"),
        ({"memory": 100}, "counting needs .* but the limit is"),
        ({"threads": 0}, "threads must be a whole number from 1 to 1024; got 0"),
        ({"order": 5, "window": "chunk", "width": 1}, "no tuple of 5 words"),
    ],
)
def test_refusals(arguments, message, tmp_path):
    """What cannot be counted is refused in a sentence, and nothing is left on the disk."""
    with pytest.raises(InputError, match=message):
        count(Text.of(ROSES, 4), tmp_path / "counts", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_existing_folder_is_kept(tmp_path):
    """Counting into a folder that is something else fails and leaves it as it was."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "poem.txt").write_text("a rose")
    for overwrite in (False, True):
        with pytest.raises(InputError):
            count(Text.of(ROSES, 4), tmp_path / "mine", overwrite=overwrite)
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "poem.txt"]


class Trouble:
    """Stand in for a function; raise from the third call on."""

    def __init__(self, function, error):
        self.function, self.error, self.calls = function, error, 0

    def __call__(self, *arguments, **named):
        self.calls += 1
        if self.calls >= 3:
            raise self.error
        return self.function(*arguments, **named)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("place", ["count", "write", "meta"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_failure_leaves_nothing_new(error, place, overwrite, tmp_path, monkeypatch):
    """Ctrl-C or a full disk, in the middle or near the end, leaves no new file and every old one."""
    text, target = Text.of(ROSES, 4), tmp_path / "counts"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    old = count(text, target, order=2) if overwrite else None
    before = sorted(path.name for path in tmp_path.rglob("*"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PART", 1)
        if place == "count":
            patch.setattr(kernels, "count_tuples", Trouble(kernels.count_tuples, error))
        elif place == "write":
            patch.setattr(ArrayWriter, "append", partialmethod(Trouble(ArrayWriter.append, error)))
        else:
            patch.setattr(module, "write_meta", lambda *_, **__: (_ for _ in ()).throw(error))
        for path in (target, None):
            with pytest.raises(type(error)):
                count(text, path, threads=2, overwrite=overwrite)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
    if overwrite:
        same(old, Counts.open(target))


def test_disk_that_is_full(tmp_path):
    """Where files cannot grow beyond a size counting fails with an error that says so, and leaves nothing."""
    text = Text.of(np.random.default_rng(0).integers(0, 40, (50, 30)).tolist(), 40)
    column = count(text, width=2).entries.indices.nbytes // 3
    for limit in (column // 2, column * 5 // 2):  # no column fits; the columns fit but not the table made of them
        with pytest.raises(OSError, match="too large"), files_no_longer_than(limit):
            count(text, tmp_path / "counts", width=2)
        assert list(tmp_path.iterdir()) == []


@pytest.fixture
def folder(tmp_path):
    count(Text.of(ROSES, 4), tmp_path / "counts", window="chunk", width=2)
    return tmp_path / "counts"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "corpus"}, "of kind .corpus., but a folder of kind .counts. is required"),
        ({"version": 99}, "version 99 of the counts format"),
        ({"shape": [5, 5, 5]}, "4 words and 4 marginals"),
        ({"shape": [3, 3, 3]}, "index 3 of entry .* is out of range"),
        ({"shape": [4, 4]}, "one length for each of 3 columns"),
    ],
)
def test_folders_of_other_kinds(folder, change, message):
    """Another kind or version is refused, and so are parts that do not fit one another."""
    edit_meta(folder, **change)
    with pytest.raises(InputError, match=message):
        Counts.open(folder)


SPOILT = {
    "values of zero": lambda folder: edit_array(folder / "values.npy", lambda values: values * 0),
    "other values": lambda folder: edit_array(folder / "values.npy", lambda values: values + 1000),
    "no marginals": lambda folder: edit_array(folder / "marginals.npy", lambda marginals: marginals * 0),
    "shuffled marginals": lambda folder: edit_array(folder / "marginals.npy", lambda marginals: marginals[::-1]),
    "fewer events": lambda folder: edit_meta(folder, events=1),
    "events in words": lambda folder: edit_meta(folder, events="many"),
    "no settings": lambda folder: edit_meta(folder, settings=None),
    "one length": lambda folder: edit_meta(folder, shape=5),
    "broken lengths": lambda folder: edit_meta(folder, shape=[1.5, 2.5, 3.5]),
    "not symmetric": lambda folder: edit_meta(folder, symmetric=False),
    "missing cells": lambda folder: edit_meta(folder, unobserved="missing"),
    "nested": lambda folder: (folder / "meta.json").write_text("[" * 100_000),
    "a long number": lambda folder: (folder / "meta.json").write_text('{"kind": ' + "1" * 5000 + "}"),
    "a spoilt header": lambda folder: (folder / "values.npy").write_bytes(
        b"\x93NUMPY\x01\x00\x10\x00" + b"{'descr': ((((, " * 9
    ),
}


@pytest.mark.parametrize("fault", SPOILT)
def test_spoilt_folders(folder, fault):
    """Content that no count could have written is refused in one sentence, not computed with."""
    SPOILT[fault](folder)
    with pytest.raises(InputError, match=str(folder)):
        Counts.open(folder)
