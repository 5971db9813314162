"""Features and tags of sentences as numbers."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING

import numpy as np

from polyadic.errors import InputError
from polyadic.kernels.sequences.tagging import CodedSentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Features = Iterable[Sequence[Iterable[str]]]


def learned_features(X: Features, *, least: int = 1) -> tuple[CodedSentences, dict[str, int]]:
    """Give numbers to the features that tokens have at least so many times, in the order of their first appearance.

    Parameters
    ----------
    X : iterable of sequences of collections of str
        Of sentences, tokens and features.
    least : int

    Raises
    ------
    InputError
        If a feature is no string, the features of a token are one, or none is there so many times.

    Examples
    --------
    >>> sentences, known = learned_features([[["a", "b"], ["a"]], [], [["c", "a"]]], least=2)
    >>> known, sentences.columns.tolist(), sentences.starts.tolist(), sentences.edges.tolist()
    ({'a': 0}, [0, 0, 0], [0, 1, 2, 3], [0, 2, 2, 3])
    """
    number: dict[str, int] = {}
    sizes, lengths = [], []

    def every() -> Iterator[int]:
        for sentence in X:
            lengths.append(len(sentence))
            for token in sentence:
                check_token(token)
                row = [number.setdefault(feature, len(number)) for feature in token]
                sizes.append(len(row))
                yield from row

    columns = np.fromiter(every(), np.int32)
    _need_strings("features", number)
    often = np.bincount(columns, minlength=len(number)) >= least
    place = np.where(often, np.cumsum(often) - 1, -1).astype(np.int32)
    known = {feature: int(place[at]) for feature, at in number.items() if often[at]}
    if sizes and not known:
        raise InputError(f"no feature is there {least} times or more; lower least")
    return _without_unknown(place[columns], sizes, lengths), known


def coded(X: Features, known: dict[str, int]) -> CodedSentences:
    """Give sentences by the numbers of features; those that are not known are left out.

    Parameters
    ----------
    X : iterable of sequences of collections of str
    known : dict of str to int

    Examples
    --------
    >>> coded([[["b", "a"], ["c"]]], {"a": 0}).starts.tolist()
    [0, 1, 1]
    """
    sentences = list(X)
    tokens = [list(token) for sentence in sentences for token in sentence if check_token(token)]
    columns = np.fromiter(map(known.get, chain.from_iterable(tokens), repeat(-1)), np.int32)
    return _without_unknown(columns, list(map(len, tokens)), list(map(len, sentences)))


def _without_unknown(columns: NDArray[np.int32], sizes: list[int], lengths: list[int]) -> CodedSentences:
    starts, edges = (np.concatenate([[0], np.cumsum(many, dtype=np.int64)]) for many in (sizes, lengths))
    kept = columns >= 0
    before = np.concatenate([[0], np.cumsum(kept)])
    return CodedSentences(columns[kept], before[starts], edges)


def check_token(token: Iterable[str]) -> bool:
    """Refuse a string where the features of a token should be, for its letters would be taken.

    Raises
    ------
    InputError
    """
    if isinstance(token, str):
        raise InputError(f"features of a token must be a list of strings; got {token!r}")
    return True


def coded_tags(
    y: Iterable[Sequence[str]], lengths: Sequence[int], *, bio: bool = False
) -> tuple[NDArray[np.int32], list[str]]:
    """Give the number of the tag of each token, and the tags, sorted.

    Parameters
    ----------
    y : iterable of sequences of str
    lengths : sequence of int
        Tokens of each sentence.
    bio : bool
        Whether tags are to be of spans: see :func:`spans_only`.

    Raises
    ------
    InputError
        If there are not as many tags as tokens, no tokens, a tag is no string, or, with ``bio``, none may come first.
    """
    gold = list(y)
    check_aligned(gold, lengths)
    different = set(chain.from_iterable(gold))
    _need_strings("tags", different)
    tags = sorted(different)
    if not tags:
        raise InputError("a tagger needs at least one token")
    if bio:
        spans_only(tags)
    number = {tag: at for at, tag in enumerate(tags)}
    return np.fromiter((number[tag] for sentence in gold for tag in sentence), np.int32), tags


def _need_strings(what: str, names: Iterable[object]) -> None:
    """Refuse names that cannot be sorted and spelled, such as numbers or None."""
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise InputError(f"{what} must be strings; got {odd[0]!r}")


def check_aligned(y: Sequence[Sequence[str]], lengths: Sequence[int]) -> None:
    """Refuse tags that are not one for each token.

    Raises
    ------
    InputError
    """
    if len(y) != len(lengths):
        raise InputError(f"each sentence needs its tags; got {len(lengths)} sentences and tags of {len(y)}")
    for at, (tags, length) in enumerate(zip(y, lengths, strict=True), 1):
        if isinstance(tags, str):
            raise InputError(f"sentence {at}: tags must be a list of strings; got {tags!r}")
        if len(tags) != length:
            raise InputError(f"sentence {at}: each of its {length} tokens needs a tag; got {len(tags)}")


def spans_only(tags: Sequence[str]) -> NDArray[np.float32]:
    """Give minus infinity where a tag may not follow another: ``I-X`` follows ``B-X`` or ``I-X`` alone; else 0.

    Of shape (Y + 1, Y + 1); the last row is of the start, the last column of the end.

    Raises
    ------
    InputError
        If there are tags ``I-X`` alone, so that none may come first.

    Examples
    --------
    >>> spans_only(["B-NP", "I-NP", "O"]).tolist()[2:]
    [[0.0, -inf, 0.0, 0.0], [0.0, -inf, 0.0, 0.0]]
    """
    if all(tag.startswith("I-") for tag in tags):
        raise InputError(f"with bio a tag that may come first is needed, such as B-X or O; got {', '.join(tags)} alone")
    moves = np.zeros((len(tags) + 1, len(tags) + 1), np.float32)
    for after, tag in enumerate(tags):
        if tag.startswith("I-"):
            before = {f"B-{tag[2:]}", tag}
            moves[[name not in before for name in [*tags, ""]], after] = -np.inf
    return moves
