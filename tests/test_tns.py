"""Tensors as FROSTT text."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyadic import Entries, InputError, read_tns, write_tns


@st.composite
def symmetric(draw):
    order, size = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    rows = draw(hnp.arrays(np.int64, (draw(st.integers(1, 12)), order), elements=st.integers(0, size - 1)))
    values = draw(hnp.arrays(float, len(rows), elements=st.floats(-1e9, 1e9)))
    return Entries.collect(rows, values, size)


def dense(entries):
    out = np.zeros(entries.shape)
    full = entries.expand()
    out[tuple(full.indices.T)] = full.values
    return out


@given(entries=symmetric(), expand=st.booleans())
def test_round_trip(entries, expand, tmp_path_factory):
    """What is written is read back exactly, with its shape and symmetry, or as all permutations."""
    path = tmp_path_factory.mktemp("tns") / "x.tns"
    write_tns(entries, path, expand=expand)
    back = read_tns(path)
    assert back.shape == entries.shape
    assert back.symmetric is not expand
    np.testing.assert_array_equal(dense(back), dense(entries))


def test_long_files_are_read_in_pieces(tmp_path):
    """More lines than are read at once give the same entries."""
    rng = np.random.default_rng(0)
    entries = Entries(
        np.asfortranarray(rng.integers(0, 50, (70_000, 3))), rng.normal(size=70_000).astype(np.float32), (50, 50, 50)
    )
    write_tns(entries, tmp_path / "x.tns")
    back = read_tns(tmp_path / "x.tns")
    np.testing.assert_array_equal(back.indices, entries.indices)
    np.testing.assert_array_equal(back.values.astype(np.float32), entries.values)


def test_files_of_others_are_read(tmp_path):
    """Without our header the shape is that of the largest indices; comments and blank lines are passed over."""
    path = tmp_path / "x.tns"
    path.write_text("# made elsewhere\n1 4 2.5\n\n3 1 -1e3\n")
    entries = read_tns(path)
    assert (entries.shape, entries.symmetric) == ((3, 4), False)
    assert entries.indices.tolist() == [[0, 3], [2, 0]]
    assert entries.values.tolist() == [2.5, -1000.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no entries"),
        ("1 2 x\n", "x.tns:1: an entry must consist of whole numbers and a value; got '1 2 x'"),
        ("1 2.5 3\n", "x.tns:1: an entry must consist of whole numbers and a value"),
        ("1 2 3\n0 1 1\n", "x.tns:2: an entry must consist of 2 indices from 1 and a value; got '0 1 1'"),
        ("1 2 3\n1 2 3 4\n", "x.tns:2: an entry must consist of 2 indices from 1"),
        ("7\n", "x.tns:1: an entry must consist of at least one index"),
        ("1 1 nan\n", "x.tns: values must be finite; entry 0 is nan"),
        ("# polyadic symmetric shape 3 3\n1 2 1\n", "x.tns: symmetric entries must be unique tuples"),
        ("1 99999999999999999999 1\n", "x.tns:1: an index must be at most 9,007,199,254,740,992; got '1 9999"),
        (f"1 {'9' * 5000} 1\n", "x.tns:1: an entry must consist of whole numbers and a value"),
        (
            f"# polyadic general shape 2 {'9' * 5000}\n1 1 1\n",
            "x.tns:1: the length of a mode must be at most 9,007,199",
        ),
        ("# polyadic general shape 2 2\n3 1 1\n", "x.tns: index 2 of entry 0 is out of range for mode 0 of length 2"),
    ],
)
def test_faults_are_named(text, message, tmp_path):
    """A file that cannot be used is refused with its name, the line and the fault."""
    (tmp_path / "x.tns").write_text(text)
    with pytest.raises(InputError, match=message):
        read_tns(tmp_path / "x.tns")


def test_faults_of_long_lines_are_told_briefly(tmp_path):
    """Of a line without end, only the beginning is shown."""
    (tmp_path / "x.tns").write_text("a " * 50_000)
    with pytest.raises(InputError, match="an entry must consist of whole numbers and a value") as told:
        read_tns(tmp_path / "x.tns")
    assert len(str(told.value)) < 300 + len(str(tmp_path))
