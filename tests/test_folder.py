"""What folders of models can hold: whatever is written comes back as it was."""

import json
from functools import partial
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import array_shapes, arrays
from safetensors.numpy import load as unpacked
from safetensors.numpy import save as packed
from scipy import sparse

from polyadic import InputError, load
from polyadic.core.losses import Huber
from polyadic.core.model import Model
from polyadic.core.serialization import LARGE, Reader, Writer, _text
from polyadic.core.solvers.quasi_newton import quasi_newton
from polyadic.sequences.kernels.hidden import HiddenChain

NUMBERS = ["?", "i1", "u2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"]
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES = st.recursive(
    PLAIN,
    lambda some: (
        st.lists(some, max_size=3)
        | st.tuples(some, some)
        | st.dictionaries(st.text(max_size=3), some, max_size=3)
        | st.dictionaries(st.integers() | st.tuples(st.integers()), some, max_size=3)
    ),
    max_leaves=8,
)


def back(value):
    """Write a value and read it again."""
    writer = Writer()
    text = _text(writer(value))
    return Reader(unpacked(packed(writer.arrays)))(json.loads(text))


@given(VALUES)
def test_plain_values_come_back(value):
    """Numbers, texts, lists, tuples and mappings: types, order and NaN included."""
    assert repr(back(value)) == repr(value)


@given(st.sampled_from(NUMBERS).flatmap(lambda dtype: arrays(dtype, array_shapes(min_dims=0, max_dims=3, min_side=0))))
def test_arrays_come_back(array):
    """Every bit, type and shape of arrays of numbers, as they lie in memory."""
    for laid in (array, np.asfortranarray(array)):
        again = back(laid)
        assert again.dtype == laid.dtype
        assert again.shape == laid.shape
        assert again.tobytes() == laid.tobytes()
        assert again.flags.f_contiguous or not laid.flags.f_contiguous or laid.ndim == 0 or laid.dtype.kind == "c"


@given(st.integers(0, 20), st.sampled_from(["f4", "f8", "i4"]))
def test_rows_of_zeros_take_no_room(some, dtype):
    """Of a large array whose rows are mostly zero the others are kept; -0.0 and NaN are no zeros."""
    array = np.zeros((LARGE, 3), dtype)
    array[:some, 1] = np.array([-0.0, np.nan] * 10)[:some] if dtype != "i4" else 1
    writer = Writer()
    written = writer(array)
    assert sum(part.size for part in writer.arrays.values()) < array.size / 2
    assert Reader(dict(writer.arrays))(written).tobytes() == array.tobytes()


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "coo_array", "csr_matrix"])
def test_sparse_arrays_come_back(kind):
    """Sparse arrays of three formats, of their class."""
    table = getattr(sparse, kind)(np.array([[0.0, 1.5], [2.0, 0.0], [0.0, 0.0]]))
    again = back(table)
    assert type(again) is type(table)
    assert again.shape == table.shape
    assert (again != table).nnz == 0


def test_one_array_stays_one():
    """An array that stands in two places is written once, and is one again."""
    array = np.arange(4.0)
    left, right = back((array, [array]))
    assert left is right[0]


@pytest.mark.parametrize(
    "value",
    [
        Huber(0.5),
        HiddenChain(np.ones(2), np.eye(2), np.ones((3, 2))),
        quasi_newton,
        partial(quasi_newton, memory=3),
        np.array(["a", "bc"]),
        np.array(["a", 1, None], object),
        {"a", "b"},
        frozenset({1}),
        np.dtype("f4"),
        3 + 4j,
        range(3),
        np.float32(0.1),
        np.int16(3),
        "\udc80 of bytes that were no text",
    ],
    ids=lambda value: type(value).__name__,
)
def test_things_of_this_library_come_back(value):
    """Losses, named tuples, functions and the like are named, and made again of their parts."""
    again = back(value)
    assert type(again) is type(value)
    assert repr(again) == repr(value)


@pytest.mark.parametrize(
    "value",
    [lambda x: x, open, object(), np.datetime64("2026-01-01", "ns"), Any, np.ma.array([1.0], mask=[True])],
    ids=["lambda", "builtin", "object", "date", "type", "masked"],
)
def test_what_is_not_ours_is_refused(value):
    """A function or an object of elsewhere is refused, and nothing is pickled."""
    with pytest.raises(TypeError, match=r"not supported|is not part of polyadic"):
        Writer()(value)


class Keeper(Model):
    """A model of this test, which is none of the library."""

    def fit(self, value):
        self.check()
        self.value_ = value
        return self


def test_errors_name_what_cannot_be_saved(tmp_path):
    """The attribute that cannot be written is named, and no folder is left."""
    with pytest.raises(InputError, match=r"^value_ cannot be saved: .*lambda.* is not part of polyadic"):
        Keeper().fit(lambda x: x).save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="there is no folder"):
        load(tmp_path / "model")
