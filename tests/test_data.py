"""Listed entries of matrices and tensors."""

import errno
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from helpers import edit_meta
from polyadic.core import entries as data
from polyadic.core.entries import Entries
from polyadic.core.errors import InputError
from strategies import plain_entries, symmetric_entries, tries

any_entries = symmetric_entries(orders=(1, 2, 3, 4)) | plain_entries()


def same(a, b):
    assert a.indices.tolist() == b.indices.tolist()
    assert a.values.tolist() == b.values.tolist()
    assert (a.weights is None) == (b.weights is None)
    assert a.weights is None or a.weights.tolist() == b.weights.tolist()
    assert (a.shape, a.unobserved, a.symmetric) == (b.shape, b.unobserved, b.symmetric)


@given(
    order=st.integers(1, 4),
    size=st.integers(1, 5),
    kind=st.sampled_from([np.int64, np.uint16]),
    data=st.data(),
)
def test_collect_sums_tuples_in_any_order(order, size, kind, data):
    """``collect`` lists each unordered tuple once, in order, with the sum of its values; nothing is lost."""
    row = st.lists(st.integers(0, size - 1), min_size=order, max_size=order)
    rows = data.draw(st.lists(row, min_size=1, max_size=20))
    values = data.draw(st.lists(st.integers(-9, 9), min_size=len(rows), max_size=len(rows)))
    sums = {}
    for words, value in zip(rows, values, strict=True):
        key = tuple(sorted(words, reverse=True))
        sums[key] = sums.get(key, 0) + value
    entries = Entries.collect(np.array(rows, kind), values, size)
    assert list(zip(map(tuple, entries.indices.tolist()), entries.values.tolist(), strict=True)) == sorted(sums.items())
    assert entries.shape == (size,) * order
    assert entries.symmetric


@given(entries=symmetric_entries(orders=(1, 2, 3, 4, 5), max_size=4))
def test_multiplicity_counts_permutations(entries):
    """A tuple stands for as many cells as it has different permutations."""
    truth = [len(set(itertools.permutations(row))) for row in entries.indices.tolist()]
    assert entries.multiplicity().tolist() == truth


@given(entries=any_entries)
def test_expand_lists_every_cell(entries):
    """Expanded entries are all permutations, each once, with the value and the weight of their tuple."""
    full = entries.expand()
    for a, b in zip(reference.dense(full), reference.dense(entries), strict=True):
        assert np.array_equal(a, b)
    assert len(full) == len({*map(tuple, full.indices.tolist())}) == entries.multiplicity().sum()
    assert not full.symmetric
    same(full, full.expand())


@given(entries=symmetric_entries() | plain_entries(orders=(2, 3)))
def test_coo_is_the_whole_array(entries):
    """The sparse array of scipy holds the same numbers."""
    assert np.array_equal(entries.to_coo().toarray(), reference.dense(entries)[0])


@given(entries=any_entries, length=st.integers(1, 5))
def test_blocks_cover_entries(entries, length):
    """Blocks are disjoint and cover all entries in order, and a list that is valid is so for any length of blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "BLOCK", length)
        assert [e for block in entries.blocks() for e in range(len(entries))[block]] == list(range(len(entries)))
        same(entries, replace(entries))


@tries(20)
@given(
    entries=any_entries,
    indices=st.sampled_from(np.typecodes["AllInteger"]),
    values=st.sampled_from(["float32", "float64", "int16", "uint32", "int64"]),
    unobserved=st.sampled_from(["zero", "missing"]),
)
def test_entries_survive_the_disk(entries, indices, values, unobserved, tmp_path_factory):
    """What is saved is loaded again, whatever the types of its numbers."""
    path = tmp_path_factory.mktemp("data") / "x"
    small = replace(
        entries,
        indices=entries.indices.astype(indices),
        values=np.trunc(np.abs(entries.values)).astype(values),
        unobserved=unobserved,
    )
    small.save(path)
    loaded = Entries.load(path)
    same(small, loaded)
    assert (loaded.indices.dtype, loaded.values.dtype) == (small.indices.dtype, small.values.dtype)
    loaded.save(path, overwrite=True)
    same(small, Entries.load(path))
    assert [other.name for other in path.parent.iterdir()] == ["x"]


ROWS = np.array([[1, 0, 0], [2, 1, 0], [2, 2, 1]])
VALUES = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": ROWS.astype(float)}, "indices must be an integer array"),
        ({"indices": ROWS[0]}, r"shape \(n, order\)"),
        ({"indices": ROWS[:2]}, r"values must have shape \(2,\)"),
        ({"shape": (3, 3)}, r"shape must contain one length for each of 3 columns of indices; got \(3, 3\)"),
        ({"shape": (3, 3, 4)}, "must have equal lengths"),
        ({"shape": (2, 2, 2)}, "index 2 of entry 1 is out of range for mode 0 of length 2"),
        ({"indices": ROWS - [0, 0, 1]}, "index -1 of entry 0 is out of range for mode 2"),
        ({"values": np.array([1.0, np.nan, 2.0])}, "values must be finite; entry 1 is nan"),
        ({"values": np.array([1.0, 2.0, -np.inf])}, "values must be finite; entry 2 is -inf"),
        ({"weights": np.array([1.0, np.inf, 2.0])}, "weights must be finite; entry 1 is inf"),
        ({"weights": np.ones(2)}, r"weights must have shape \(3,\), one value per entry; got shape \(2,\)"),
        ({"unobserved": "null"}, "unobserved must be one of 'zero', 'missing'; got 'null'"),
        ({"indices": ROWS[:, ::-1]}, "order is violated near entry 0"),
        ({"indices": ROWS[[1, 0, 2]]}, "order is violated near entry 0"),
        ({"indices": ROWS[[0, 1, 1]]}, "order is violated near entry 1"),
        ({"indices": np.array([[1, 0, 0], [2, 0, 1], [2, 2, 1]])}, "Entries.collect sorts tuples"),
    ],
)
@pytest.mark.parametrize("block", [1, 2, 100])
def test_refusals(change, message, block, monkeypatch):
    """Whatever is wrong with a list is said in a sentence, wherever blocks begin."""
    monkeypatch.setattr(data, "BLOCK", block)
    arguments = {"indices": ROWS, "values": VALUES, "shape": (3, 3, 3), "symmetric": True}
    Entries(**arguments)
    message = message if block == 100 else message.replace("near entry 0", "near entry").replace("near entry 1", "near")
    with pytest.raises(InputError, match=message):
        Entries(**arguments | change)


@pytest.mark.parametrize(
    ("indices", "values", "message"),
    [
        ([[0, 1]], [1.0, 2.0], r"got \(1, 2\) and \(2,\)"),
        ([], [], r"got \(0,\) and \(0,\)"),
        ([0, 1], [1.0, 2.0], r"got \(2,\) and \(2,\)"),
        ([[0, 9]], [1.0], "index 9 of entry 0 is out of range"),
        ([[0, -1]], [1.0], "index -1 of entry 0 is out of range"),
        ([[0, 1]], [np.nan], "values must be finite"),
        ([[0.0, 1.0]], [1.0], "an integer array"),
    ],
)
def test_collect_refuses(indices, values, message):
    """``collect`` refuses what are no tuples, too."""
    with pytest.raises(InputError, match=message):
        Entries.collect(indices, values, 3)


def test_nothing_listed_is_valid():
    """An array of zeros has no entries, symmetric or not."""
    none = Entries(np.empty((0, 3), int), np.empty(0), (4, 4, 4), symmetric=True)
    assert len(none) == len(none.expand()) == none.to_coo().nnz == none.multiplicity().sum() == 0


@pytest.fixture
def folder(tmp_path):
    Entries(ROWS, VALUES, (3, 3, 3), np.ones(3), symmetric=True).save(tmp_path / "x")
    return tmp_path / "x"


def test_damaged_content(folder):
    """Arrays on disk go through the same checks as arrays in memory, and the folder is named."""
    np.save(folder / "values.npy", np.array([1.0, np.nan, 3.0]))
    with pytest.raises(InputError, match=f"{folder}: values must be finite; entry 1 is nan"):
        Entries.load(folder)
    np.save(folder / "values.npy", VALUES)
    np.save(folder / "indices.npy", ROWS[::-1].T)
    with pytest.raises(InputError, match=f"{folder}: symmetric entries"):
        Entries.load(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "embedding"}, "of kind .embedding., but a folder of kind .entries. is required"),
        ({"version": 2}, "version 2 of the entries format, but this version of polyadic reads version 1"),
        ({"unobserved": "whatever"}, "unobserved must be one of"),
        ({"shape": [2, 2, 2]}, "is out of range"),
        *(({key: None}, f"meta.json has no key '{key}'") for key in ("shape", "unobserved", "symmetric", "weighted")),
    ],
)
def test_damaged_meta(folder, change, message):
    """A folder of another kind or version, or whose description does not fit or lacks something, is refused."""
    edit_meta(folder, **change)
    with pytest.raises(InputError, match=message):
        Entries.load(folder)


def test_disk_that_is_full(tmp_path, monkeypatch):
    """Saving to a full disk leaves the old folder as it was, and no other."""
    old = Entries(ROWS, VALUES, (3, 3, 3), symmetric=True)
    old.save(tmp_path / "x")

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(data, "write_meta", full)
    for name in ("x", "y"):
        with pytest.raises(OSError, match="No space left"):
            replace(old, values=VALUES + 1).save(tmp_path / name, overwrite=True)
    same(old, Entries.load(tmp_path / "x"))
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_order_of_a_large_list():
    """A list that spans several blocks is checked as a whole: two rows swapped anywhere are found."""
    size = 60
    rows = np.array(sorted(itertools.combinations_with_replacement(range(size), 2), key=lambda r: r[::-1]))[:, ::-1]
    assert len(rows) == math.comb(size + 1, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data, "BLOCK", 100)
        Entries(rows, np.ones(len(rows)), (size, size), symmetric=True)
        for at in range(0, len(rows) - 1, 33):
            swapped = rows.copy()
            swapped[[at, at + 1]] = rows[[at + 1, at]]
            with pytest.raises(InputError, match="order is violated near entry"):
                Entries(swapped, np.ones(len(rows)), (size, size), symmetric=True)


def test_indices_are_kept_by_column():
    """However they come, each column is contiguous: loops would copy all of them at every call."""
    rows = np.array([[2, 1, 0], [3, 1, 0], [3, 2, 1]])
    for indices in (rows, np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2]):
        x = Entries(indices, np.ones(3), (4, 4, 4), symmetric=True)
        assert x.indices.T.flags.c_contiguous
        assert np.array_equal(x.indices, rows)


# ---- finding


@given(
    order=st.integers(1, 4),
    size=st.integers(1, 5),
    kind=st.sampled_from([np.int64, np.uint16, np.int8]),
    asked_kind=st.sampled_from([np.int64, np.uint16, np.int32, np.uint64]),
    data=st.data(),
)
def test_find_is_a_dictionary(order, size, kind, asked_kind, data):
    """Every tuple is found at its place, its words in any order; a tuple that is not listed, or cannot be, is not."""
    row = st.lists(st.integers(0, size - 1), min_size=order, max_size=order)
    listed = data.draw(st.lists(row, min_size=1, max_size=20))
    whole = Entries.collect(listed, np.ones(len(listed)), size)
    few = data.draw(st.integers(0, len(whole)))
    entries = replace(whole, indices=whole.indices[:few].astype(kind), values=whole.values[:few])
    place = {tuple(words): at for at, words in enumerate(entries.indices.tolist())}
    beyond = st.lists(st.integers(0, size + 1), min_size=order, max_size=order)
    asked = data.draw(st.lists(st.sampled_from(listed).flatmap(st.permutations) | beyond, max_size=12))
    found = entries.find(np.array(asked, asked_kind).reshape(-1, order))
    assert found.tolist() == [place.get(tuple(sorted(words, reverse=True)), -1) for words in asked]


@given(entries=symmetric_entries(orders=(1, 2, 3, 4)), length=st.integers(1, 3), data=st.data())
def test_entries_that_hold_pairs(entries, length, data):
    """They are those of whose words two are the pair, in the order that they had, with values and weights."""
    word = st.integers(0, entries.shape[0] - 1)
    pairs = data.draw(st.lists(st.tuples(word, word), max_size=4))
    wanted = [
        row
        for row, words in enumerate(entries.indices.tolist())
        if {tuple(sorted(pair)) for pair in pairs} & {tuple(sorted(two)) for two in itertools.combinations(words, 2)}
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("polyadic.core.entries.BLOCK", length)
        held = entries.holding(pairs)
    assert held.indices.tolist() == entries.indices[wanted].tolist()
    assert held.values.tolist() == entries.values[wanted].tolist()
    assert (held.weights is None) == (entries.weights is None)
    with pytest.raises(InputError, match=r"Entries\.holding requires symmetric entries"):
        replace(entries, symmetric=False).holding(pairs)


@given(entries=symmetric_entries(orders=(1, 2, 3, 4, 5)), data=st.data())
def test_entries_find_themselves(entries, data):
    """The places of all tuples are their numbers, whatever the order of their words and however they are stored."""
    order = data.draw(st.permutations(range(entries.order)))
    assert entries.find(entries.indices[:, order]).tolist() == list(range(len(entries)))
    assert entries.find(entries.indices.tolist()).tolist() == list(range(len(entries)))
    assert entries.find(entries.indices[:0]).tolist() == []


def test_find_in_a_long_list():
    """Of all pairs of even numbers, every one is found and no other pair, in lists of any length."""
    size = 40
    even = np.array(list(itertools.combinations_with_replacement(range(0, size, 2), 2)))
    every = np.array(list(itertools.product(range(size), repeat=2)))
    for length in (1, 2, 3, 4, 5, 7, 8, 9, 127, 128, 129, len(even)):
        whole = Entries.collect(even, np.ones(len(even)), size)
        part = replace(whole, indices=whole.indices[:length].astype(np.uint16), values=whole.values[:length])
        found = part.find(every)
        listed = {tuple(words) for words in part.indices.tolist()}
        assert [tuple(sorted(words, reverse=True)) in listed for words in every.tolist()] == (found >= 0).tolist()
        rows = np.sort(every[found >= 0], axis=1)[:, ::-1]
        assert np.array_equal(part.indices[found[found >= 0]], rows)


def test_nothing_is_found_in_nothing():
    """No entries, no tuples, or neither; and numbers that no word can have."""
    none = Entries(np.empty((0, 3), np.uint16), np.empty(0), (4, 4, 4), symmetric=True)
    assert none.find([[0, 1, 2], [3, 3, 3]]).tolist() == [-1, -1]
    assert none.find(np.empty((0, 3), int)).tolist() == []
    some = Entries.collect([[0, 1, 2]], [1.0], 4)
    assert some.find(np.empty((0, 3), int)).tolist() == []
    assert some.find([[-1, 1, 2], [2, 1, 99], [0, 1, 2**40], [2, 1, 0]]).tolist() == [-1, -1, -1, 0]


@pytest.mark.parametrize(
    ("tuples", "message"),
    [
        ([0, 1, 2], r"an integer array of shape \(m, 3\); got int64 of shape \(3,\)"),
        ([[0, 1]], r"got int64 of shape \(1, 2\)"),
        ([[[0, 1, 2]]], r"got int64 of shape \(1, 1, 3\)"),
        ([[0.0, 1.0, 2.0]], "got float64 of shape"),
        ([["a", "b", "c"]], "got <U1 of shape"),
        ([[True, False, True]], "got bool of shape"),
        ([], r"got float64 of shape \(0,\)"),
    ],
)
def test_find_refuses(tuples, message):
    """What are no tuples of the order of the entries, and entries that are in no order."""
    entries = Entries.collect([[0, 1, 2]], [1.0], 4)
    with pytest.raises(InputError, match=message):
        entries.find(tuples)
    with pytest.raises(InputError, match=r"Entries\.find requires sorted symmetric entries"):
        entries.expand().find([[0, 1, 2]])
