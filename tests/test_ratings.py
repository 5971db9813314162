"""Users and what they rated, heard or kept: numbers in place of names, sizes as published, faults with their line."""

from pathlib import Path

import numpy as np
import pytest

from experiments.data import ratings
from experiments.data.ratings import citeulike, lastfm, movielens, movielens_fold
from polyadic import InputError

FILES = {
    "user_artists.dat": "userID\tartistID\tweight\r\n7\t30\t5\r\n2\t30\t4\r\n2\t9\t3\r\n",
    "user_friends.dat": "userID\tfriendID\r\n2\t7\r\n7\t2\r\n",
    "user_taggedartists.dat": "userID\tartistID\ttagID\tday\tmonth\tyear\r\n7\t30\t11\t1\t2\t2009\r\n",
    "user_taggedartists_2.dat": "userID\tartistID\ttagID\tday\tmonth\tyear\r\n2\t10\t4\t1\t2\t2009\r\n",
    "artists.dat": "id\tname\turl\tpictureURL\n30\tBjörk\tu\tp\n9\tLow\tu\t\n",
    "tags.dat": "tagID\ttagValue\r\n4\trock français\r\n11\tpop\r\n",
}


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A Last.fm of two users, in the layout and the encodings of the real one."""
    folder = tmp_path / "ratings" / "lastfm-2k"
    folder.mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content.encode("latin-1" if name == "tags.dat" else "utf-8"))
    sizes = {"LISTENERS": 2, "ARTISTS": 2, "TAGS": 2, "LISTENS": 3, "FRIENDS": 2, "ASSIGNMENTS": (2, 2)}
    for name, size in sizes.items():
        monkeypatch.setattr(ratings, name, size)
    return tmp_path


def test_numbers_are_places(small):
    """Rows are users by number, artists with a name come first, all relations name the same artists."""
    found = lastfm(root=small)
    assert (found.users, found.artists, found.tags) == (["2", "7"], ["Low", "Björk", "10"], ["rock français", "pop"])
    assert found.listens.to_coo().toarray().tolist() == [[3, 4, 0], [0, 5, 0]]
    assert found.friends.to_coo().toarray().tolist() == [[0, 1], [1, 0]]
    assert found.assignments.indices.tolist() == [[0, 2, 0], [1, 1, 1]]


@pytest.mark.parametrize(
    ("file", "content", "fault"),
    [
        ("user_artists.dat", "head\n2\t9\n", r"user_artists.dat, line 2: expected 3 fields; got '2\\t9'"),
        ("user_artists.dat", "head\n2\tx\t1\n", r"line 2: expected a whole number; got 'x'"),
        ("user_artists.dat", "head\n2\t9\t1\n", r"expected 3 listens, as published; found 1"),
        ("user_friends.dat", "head\n2\t8\n8\t2\n", "number 8 is used, but in no list"),
        ("tags.dat", "head\n4\trock\n4\tpop\n", "expected 2 tags, as published; found 1"),
        ("user_taggedartists.dat", "head\n", "holds 1 tags given to artists"),
    ],
)
def test_faults_are_named(small, file, content, fault):
    """A file that is not as it should be is refused, with its line."""
    (small / "ratings" / "lastfm-2k" / file).write_text(content)
    with pytest.raises(InputError, match=fault):
        lastfm(root=small)


def test_lists_of_numbers(tmp_path, monkeypatch):
    """Lines of CiteULike-a hold a count and so many numbers; an article's citation of itself is left out."""
    folder = tmp_path / "ratings" / "citeulike-a"
    folder.mkdir(parents=True)
    for name, size in {"READERS": 2, "ARTICLES": 3, "KEYWORDS": 2, "KEPT": 3}.items():
        monkeypatch.setattr(ratings, name, size)
    for name, content in {
        "users.dat": "1 2\n2 2 0\n",
        "item-tag.dat": "0\n1 1\n0\n",
        "citations.dat": "1 1\n2 0 1\n0\n",
        "tags.dat": "a\nb\n",
    }.items():
        (folder / name).write_text(content)
    found = citeulike(root=tmp_path)
    assert found.kept.to_coo().toarray().tolist() == [[0, 0, 1], [1, 0, 1]]
    assert (found.tagged.indices.tolist(), found.citations.indices.tolist()) == ([[1, 1]], [[1, 0]])
    (folder / "users.dat").write_text("1 2\n3 2 0\n")
    with pytest.raises(InputError, match=r"users.dat, line 2: expected a count and so many numbers below 3"):
        citeulike(root=tmp_path)


def test_folds_have_names():
    """There are seven folds."""
    with pytest.raises(InputError, match="name must be one of 'u1'"):
        movielens_fold("u6", root=Path.cwd())


@pytest.mark.realdata
def test_movielens(realdata):
    """Ratings, users and films as published; test parts of the five folds are all ratings, each once."""
    found = movielens(root=realdata)
    assert (found.ratings.shape, found.ratings.unobserved) == ((943, 1682), "missing")
    assert found.ratings.values.mean() == pytest.approx(3.52986)
    assert found.users[0] == (24, "M", "technician", "85711")
    assert found.films[0] == ("Toy Story (1995)", 1995, ("Animation", "Children's", "Comedy"))
    assert [film.title for film in found.films if film.year is None] == ["unknown"]
    assert found.films[72].title == "Maverick (1994)"
    assert any(film.title.startswith("Misérables") for film in found.films)
    assert (len(found.genres), found.genres[-1]) == (19, "Western")
    folds = [movielens_fold(f"u{k}", root=realdata) for k in range(1, 6)]
    total = sum(fold.test.to_coo().toarray() for fold in folds)
    np.testing.assert_array_equal(total, found.ratings.to_coo().toarray())
    for fold in (*folds, movielens_fold("ub", root=realdata)):
        np.testing.assert_array_equal((fold.train.to_coo() + fold.test.to_coo()).toarray(), total)


@pytest.mark.realdata
def test_lastfm(realdata):
    """Names fit numbers: the artist heard most often by one user, and by most users, is known."""
    found = lastfm(root=realdata)
    assert (found.listens.shape, found.assignments.shape) == ((1892, 18022), (1892, 18022, 11946))
    assert (len(found.friends), found.friends.symmetric) == (12717, True)
    assert found.artists[found.listens.indices[found.listens.values.argmax(), 1]] == "Depeche Mode"
    assert found.artists[np.bincount(found.listens.indices[:, 1]).argmax()] == "Lady Gaga"
    assert found.tags[np.bincount(found.assignments.indices[:, 2]).argmax()] == "rock"
    assert "rock français" in found.tags
    assert found.listens.indices[:, 1].max() == 17631


@pytest.mark.realdata
def test_citeulike(realdata):
    """Sizes, and the first citations of the first article, which cite it back."""
    found = citeulike(root=realdata)
    assert (found.kept.shape, found.tagged.shape, len(found.tags)) == ((5551, 16980), (16980, 46391), 46391)
    near = found.citations.to_coo().tocsr()[[0]].nonzero()[1]
    assert near.tolist() == [2, 485, 3284]
    assert found.tags[0] == "ucsc-browser"
