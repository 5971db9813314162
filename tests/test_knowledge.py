"""Sets of facts: numbers in the order of names, over all parts; sizes as published, faults with their line."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from experiments.data.knowledge import KNOWLEDGE, Size, knowledge
from polyadic import InputError

FILES = {
    "train.txt": "usa\tallies\tuk\r\negypt\tvisits\tusa\r\n",
    "valid.txt": "uk\tallies\tusa\n",
    "test.txt": "brazil\tallies\tegypt\n",
}


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A set of four nations."""
    folder = tmp_path / "relations" / "nations"
    folder.mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content.encode())
    monkeypatch.setitem(KNOWLEDGE, "nations", Size(4, 2, 2, 1, 1))
    return tmp_path


def test_numbers_follow_names(small):
    """Entities of the test part alone have numbers too; triples stay in the order of the file."""
    found = knowledge("nations", root=small)
    assert (found.entities, found.relations) == (["brazil", "egypt", "uk", "usa"], ["allies", "visits"])
    assert found.train.tolist() == [[3, 0, 2], [1, 1, 3]]
    assert (found.validation.tolist(), found.test.tolist()) == ([[2, 0, 3]], [[0, 0, 1]])
    assert {part.dtype for part in found[:3]} == {np.dtype(np.int64)}


@pytest.mark.parametrize(
    ("file", "content", "fault"),
    [
        (
            "train.txt",
            "usa\tallies\tuk\n\nusa\tuk\nuk\tusa\n",
            r"2 of 3 rows of .*train.txt cannot be read; line 3: expected subject",
        ),
        ("train.txt", "usa\t\tuk\n", r"line 1: the relation is missing"),
        ("valid.txt", "", r"valid.txt is empty"),
        ("valid.txt", "usa\tallies\tuk\n" * 2, "expected 1 validation triples, as published; found 2"),
        ("test.txt", "peru\tallies\tegypt\nbrazil\tallies\tuk\n", "expected 4 entities, as published; found 5"),
    ],
)
def test_faults_are_named(small, file, content, fault):
    """A file that is not as it should be is refused."""
    (small / "relations" / "nations" / file).write_text(content)
    with pytest.raises(InputError, match=fault):
        knowledge("nations", root=small)


def test_array_without_split(tmp_path, monkeypatch):
    """Ones of an array of subjects, objects and relations are one part; the others are empty, of three columns."""
    (tmp_path / "relations").mkdir()
    path = tmp_path / "relations" / "alyawarradata.mat"
    array = np.zeros((2, 2, 3), np.uint8)
    array[0, 1, 2] = array[1, 1, 0] = 1
    savemat(path, {"Rs": array})
    monkeypatch.setitem(KNOWLEDGE, "alyawarra", Size(2, 2, 2))
    found = knowledge("alyawarra", root=tmp_path)
    assert (found.entities, found.relations) == (["person0", "person1"], ["term0", "term2"])
    assert found.train.tolist() == [[0, 1, 1], [1, 0, 1]]
    assert found.validation.shape == found.test.shape == (0, 3)
    savemat(path, {"Rs": array[:1]})
    with pytest.raises(InputError, match=r"expected persons x persons x terms; got an array of shape \(1, 2, 3\)"):
        knowledge("alyawarra", root=tmp_path)
    savemat(path, {"other": array})
    with pytest.raises(InputError, match="cannot be read as a MATLAB file with an array Rs"):
        knowledge("alyawarra", root=tmp_path)
    savemat(path, {"Rs": array}, do_compression=True)
    whole, newer = path.read_bytes(), b"MATLAB 7.3".ljust(124) + b"\x00\x02IM" + bytes(100)
    for content in (whole[:9], whole[:150], whole[:140] + bytes(8) + whole[148:], newer):
        path.write_bytes(content)
        with pytest.raises(InputError, match="cannot be read as a MATLAB file with an array Rs"):
            knowledge("alyawarra", root=tmp_path)


def test_sets_have_names():
    """An unknown name is refused before anything is read."""
    with pytest.raises(InputError, match="name must be one of 'alyawarra'"):
        knowledge("FB15k", root=Path.cwd())


@pytest.mark.realdata
@pytest.mark.parametrize("name", KNOWLEDGE)
def test_sizes(realdata, name):
    """All sets have their published size; names are sorted and each is used."""
    found = knowledge(name, root=realdata)
    triples = np.concatenate(found[:3])
    assert found.entities == sorted(found.entities)
    assert np.unique(triples[:, [0, 2]]).tolist() == list(range(len(found.entities)))
    assert np.unique(triples[:, 1]).tolist() == list(range(len(found.relations)))


@pytest.mark.realdata
def test_kinship_is_alyawarra(realdata):
    """The split set has the facts of the whole one, in the same direction, but term 23: everyone of himself."""

    def named(found):
        parts = np.concatenate(found[:3]).tolist()
        return {(found.entities[s], found.relations[r], found.entities[o]) for s, r, o in parts}

    rest = named(knowledge("alyawarra", root=realdata)) - named(knowledge("kinship", root=realdata))
    assert rest == {(f"person{n}", "term23", f"person{n}") for n in range(104)}


@pytest.mark.realdata
def test_first_facts(realdata):
    """The first line of FB15k-237 is about the Dominican Republic; line ends are no part of names."""
    found = knowledge("FB15k-237", root=realdata)
    s, r, o = found.train[0]
    assert (found.entities[s], found.entities[o]) == ("/m/027rn", "/m/06cx9")
    assert found.relations[r] == "/location/country/form_of_government"
