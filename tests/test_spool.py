"""Results left in a folder, or sent where it is not seen."""

import pickle

import numpy as np
import pytest

from polyadic.core.errors import InputError
from polyadic.core.executor.spill import SpillFile

ARRAYS = [np.arange(5, dtype=np.uint16), np.zeros(0), np.arange(6.0).reshape(2, 3).T, np.zeros((3, 0), np.uint16)]


def elsewhere(spool, folder):
    """Give the spool as a worker has it who has another folder of that name."""
    there = pickle.loads(pickle.dumps(spool))  # as it travels
    there._folder = folder
    return there


@pytest.mark.parametrize("seen", [True, False])
def test_arrays_come_back(seen, tmp_path):
    """As they were, whoever wrote them; twice the same work leaves two files, of which each is whole."""
    spool = SpillFile(tmp_path / "parts")
    (tmp_path / "other").mkdir()
    there = elsewhere(spool, tmp_path / ("parts" if seen else "other"))
    for _ in range(2):
        left = pickle.loads(pickle.dumps(there.leave(ARRAYS)))
        assert (left.sent is None) == seen
        for array, was in zip(spool.read(spool.take(left)), ARRAYS, strict=True):
            assert array.dtype == was.dtype
            np.testing.assert_array_equal(array, was)
    assert not [*(tmp_path / "other").iterdir()]
    spool.remove()
    assert not (tmp_path / "parts").exists()


def test_what_cannot_be_written_is_sent(tmp_path, monkeypatch):
    """A full disk: what is half written goes, and the one who takes it tells of the disk."""
    spool = SpillFile(tmp_path / "parts")
    files = set((tmp_path / "parts").iterdir())

    def full(self, left, arrays):
        (self._folder / left.name).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SpillFile, "_write", full)
    left = spool.leave(ARRAYS)
    assert left.sent is not None
    assert set((tmp_path / "parts").iterdir()) == files
    with pytest.raises(OSError, match="No space left"):
        spool.take(left)


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"half")])
def test_what_is_not_there_is_told(damage, tmp_path):
    """The worker may have written to a disk of its own, or its machine have lost what was not on the disk."""
    spool = SpillFile(tmp_path / "parts")
    left = spool.leave(ARRAYS)
    damage(tmp_path / "parts" / left.name)
    with pytest.raises(InputError, match="written by a worker, is missing or incomplete"):
        spool.take(left)
