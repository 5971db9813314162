"""Ratings, listens and bookmarks: MovieLens 100K, Last.fm 2K and CiteULike-a.

Whatever has a number in a set is numbered anew from 0, in the order of its old number; names go with it.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyadic.core.entries import Entries
from polyadic.core.errors import InputError, check_choice
from polyadic.datasets.place import check_count, folder, text

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray

    from polyadic.core.entries import Unobserved

    Root = str | os.PathLike[str] | None

FOLDS = {"u1": 20_000, "u2": 20_000, "u3": 20_000, "u4": 20_000, "u5": 20_000, "ua": 9_430, "ub": 9_430}
"""Folds of MovieLens 100K and the ratings of their test parts: five of a fifth each, two of ten ratings a user."""
USERS, FILMS, RATINGS = 943, 1_682, 100_000
LISTENERS, ARTISTS, TAGS, LISTENS, FRIENDS = 1_892, 17_632, 11_946, 92_834, 25_434
ASSIGNMENTS = 186_478, 186_479
"""Tags given in Last.fm 2K: as often distributed, without the line at which its file was cut, and as published."""
READERS, ARTICLES, KEYWORDS, KEPT = 5_551, 16_980, 46_391, 204_986
YEAR = re.compile(r"\((\d{4})\)")


class Viewer(NamedTuple):
    """A user of MovieLens: age in years, gender ``M`` or ``F``, occupation, and postal code."""

    age: int
    gender: str
    occupation: str
    place: str


class Film(NamedTuple):
    """A film of MovieLens: title with its year, the year (None for the one that is unknown), and genres."""

    title: str
    year: int | None
    genres: tuple[str, ...]


class MovieLens(NamedTuple):
    """MovieLens 100K.

    ``ratings``: From 1 to 5, in order of user and film; what is not listed is missing. ``genres``: All 19, ``unknown``
    among them.
    """

    ratings: Entries
    users: list[Viewer]
    films: list[Film]
    genres: list[str]


class Fold(NamedTuple):
    """Ratings to learn from and ratings to predict, of the same users and films."""

    train: Entries
    test: Entries


class LastFM(NamedTuple):
    """Last.fm 2K.

    ``listens``: How often a user heard an artist. ``friends``: 12,717 pairs of friends, symmetric. ``assignments``:
    Which user gave which artist which tag: ones. ``users``: Their numbers in the set; they have no names. ``artists``:
    Those that were heard come first, 17,632; the others have tags alone and their number for a name.
    """

    listens: Entries
    friends: Entries
    assignments: Entries
    users: list[str]
    artists: list[str]
    tags: list[str]


class CiteULike(NamedTuple):
    """CiteULike-a.

    ``kept``: Which user keeps which article: ones. ``tagged``: Which article has which tag: ones. ``citations``: 44,661
    pairs of articles one of which cites the other, symmetric.
    """

    kept: Entries
    tagged: Entries
    citations: Entries
    tags: list[str]


def movielens(*, root: Root = None) -> MovieLens:
    """Read MovieLens 100K: 100,000 ratings of 1,682 films by 943 users, with attributes of both.

    References
    ----------
    Harper, Konstan (2015), The MovieLens datasets: history and context.
    """
    where = folder(root) / "ratings" / "ml-100k"
    genres = [line.split("|")[0] for line in _lines(where / "u.genre")]
    users = [
        Viewer(_whole(where / "u.user", at, age), *rest)
        for at, (_, age, *rest) in _fields(where / "u.user", 5, mark="|", encoding="latin-1")
    ]
    films = [
        Film(title, _year(title), tuple(g for g, flag in zip(genres, rest[3:], strict=True) if flag == "1"))
        for _, (_, title, *rest) in _fields(where / "u.item", 5 + len(genres), mark="|", encoding="latin-1")
    ]
    check_count(where / "u.user", len(users), USERS, "users")
    check_count(where / "u.item", len(films), FILMS, "films")
    return MovieLens(_ratings(where / "u.data", RATINGS), users, films, genres)


def movielens_fold(name: str, *, root: Root = None) -> Fold:
    """Read a fold of MovieLens 100K.

    ``name``: The test parts of the first five are a fifth each and share nothing; the last two have ten ratings a user.
    ``root``: See :func:`movielens`.
    """
    check_choice("name", name, FOLDS)
    where = folder(root) / "ratings" / "ml-100k"
    train = _ratings(where / f"{name}.base", RATINGS - FOLDS[name])
    return Fold(train, _ratings(where / f"{name}.test", FOLDS[name]))


def lastfm(*, root: Root = None) -> LastFM:
    """Read Last.fm 2K of HetRec 2011: listens, friends, and tags of artists.

    Tags may be in several
    files, all named ``user_taggedartists*.dat``.

    References
    ----------
    Cantador, Brusilovsky, Kuflik (2011), Second workshop on information heterogeneity and fusion in recommender
    systems.
    """
    where = folder(root) / "ratings" / "lastfm-2k"
    listens = _numbers(where / "user_artists.dat", 3, skip=1)
    friends = _numbers(where / "user_friends.dat", 2, skip=1)
    files = sorted(where.glob("user_taggedartists*.dat"))
    given = np.concatenate([_numbers(file, 6, skip=1)[:, :3] for file in files] or [np.zeros((0, 3), np.int64)])
    names = _names(where / "artists.dat", 4)
    tags = _names(where / "tags.dat", 2, encoding="latin-1")
    check_count(where / "user_artists.dat", len(listens), LISTENS, "listens")
    check_count(where / "user_friends.dat", len(friends), FRIENDS, "friends")
    check_count(where / "artists.dat", len(names), ARTISTS, "artists")
    check_count(where / "tags.dat", len(tags), TAGS, "tags")
    if len(given) not in ASSIGNMENTS:
        raise InputError(
            f"{where} holds {len(given):,} tags given to artists; the published set has {ASSIGNMENTS[1]:,}"
        )
    users = np.unique(listens[:, 0])
    check_count(where / "user_artists.dat", len(users), LISTENERS, "users")
    named = np.array([*names])
    artists = np.concatenate([named, np.setdiff1d(given[:, 1], named)])
    size = len(users), len(artists), len(tags)
    numbers = users, artists, np.array([*tags])
    assignments = np.column_stack([_places(column, among) for column, among in zip(given.T, numbers, strict=True)])
    heard = np.column_stack([_places(column, among) for column, among in zip(listens.T[:2], numbers[:2], strict=True)])
    return LastFM(
        _entries(heard, listens[:, 2], size[:2]),
        _symmetric(_places(friends, users), size[0]),
        _entries(assignments, np.ones(len(assignments)), size),
        [str(n) for n in users.tolist()],
        [names.get(n, str(n)) for n in artists.tolist()],
        [*tags.values()],
    )


def citeulike(*, root: Root = None) -> CiteULike:
    """Read CiteULike-a: articles that users keep, tags of articles, and citations between them.

    Citations are listed in both directions, 89,418 of them; 96 of an article by itself are left out.

    References
    ----------
    Wang, Chen, Li (2013), Collaborative topic regression with social regularization for tag recommendation.
    """
    where = folder(root) / "ratings" / "citeulike-a"
    tags = _lines(where / "tags.dat")
    check_count(where / "tags.dat", len(tags), KEYWORDS, "tags")
    kept = _lists(where / "users.dat", READERS, ARTICLES)
    check_count(where / "users.dat", len(kept), KEPT, "articles kept")
    tagged = _lists(where / "item-tag.dat", ARTICLES, KEYWORDS)
    citations = _lists(where / "citations.dat", ARTICLES, ARTICLES)
    return CiteULike(
        _entries(kept, np.ones(len(kept)), (READERS, ARTICLES)),
        _entries(tagged, np.ones(len(tagged)), (ARTICLES, KEYWORDS)),
        _symmetric(citations[citations[:, 0] != citations[:, 1]], ARTICLES),
        tags,
    )


def _ratings(path: Path, size: int) -> Entries:
    rows = _numbers(path, 4)
    check_count(path, len(rows), size, "ratings")
    return _entries(rows[:, :2] - 1, rows[:, 2], (USERS, FILMS), unobserved="missing")


def _entries(
    indices: NDArray[np.int64], values: NDArray[Any], shape: tuple[int, ...], *, unobserved: Unobserved = "zero"
) -> Entries:
    """Sort entries."""
    order = np.lexsort(indices.T[::-1])
    return Entries(np.asfortranarray(indices[order]), values[order].astype(float), shape, unobserved=unobserved)


def _symmetric(pairs: NDArray[np.int64], size: int) -> Entries:
    """Keep of pairs in both directions one."""
    unique = np.unique(np.sort(pairs, axis=1), axis=0)
    return Entries.collect(unique, np.ones(len(unique)), size)


def _places(numbers: NDArray[np.int64], among: NDArray[np.int64]) -> NDArray[np.int64]:
    """Replace numbers by their places in a list without repetitions."""
    order = np.argsort(among, kind="stable")
    ordered = among[order]
    at = np.searchsorted(ordered, numbers).clip(max=len(order) - 1)
    if len(absent := numbers[ordered[at] != numbers]):
        raise InputError(f"number {absent[0]} is used, but in no list of users, artists or tags")
    return order[at]


def _names(path: Path, width: int, *, encoding: str = "utf-8-sig") -> dict[int, str]:
    """Read names by number, in the order of numbers, below a line of headings."""
    names = {_whole(path, at, n): name for at, (n, name, *_) in _fields(path, width, skip=1, encoding=encoding)}
    return dict(sorted(names.items()))


def _numbers(path: Path, width: int, *, skip: int = 0) -> NDArray[np.int64]:
    """Read lines of whole numbers between tabs."""
    rows = [[_whole(path, at, field) for field in fields] for at, fields in _fields(path, width, skip=skip)]
    return np.array(rows, np.int64).reshape(-1, width)


def _lists(path: Path, size: int, below: int) -> NDArray[np.int64]:
    """Read how many numbers follow and these numbers, a line each, as pairs of a line and a number."""
    lines = _lines(path)
    check_count(path, len(lines), size, "lines")
    lists = [[_whole(path, at, field) for field in line.split()] for at, line in enumerate(lines, 1)]
    for at, (number, *rest) in enumerate(lists, 1):
        if number != len(rest) or not all(0 <= n < below for n in rest):
            raise InputError(f"{path}, line {at}: expected a count and so many numbers below {below:,}")
    heads = np.repeat(np.arange(size), [len(numbers) - 1 for numbers in lists])
    return np.column_stack([heads, np.fromiter(chain.from_iterable(numbers[1:] for numbers in lists), np.int64)])


def _fields(
    path: Path, width: int, *, mark: str = "\t", skip: int = 0, encoding: str = "utf-8-sig"
) -> list[tuple[int, list[str]]]:
    """Split lines; give each its number."""
    rows = [(at, line.split(mark)) for at, line in enumerate(_lines(path, encoding)[skip:], skip + 1)]
    for at, fields in rows:
        if len(fields) != width:
            raise InputError(f"{path}, line {at}: expected {width} fields; got {mark.join(fields)!r:.80}")
    return rows


def _whole(path: Path, line: int, field: str) -> int:
    try:
        return int(field)
    except ValueError:
        raise InputError(f"{path}, line {line}: expected a whole number; got {field!r:.40}") from None


def _year(title: str) -> int | None:
    years = YEAR.findall(title)
    return int(years[-1]) if years else None


def _lines(path: Path, encoding: str = "utf-8-sig") -> list[str]:
    return [line for line in text(path, encoding).split("\n") if line.strip()]
