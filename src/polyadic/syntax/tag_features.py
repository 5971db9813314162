"""Features of words for a tagger: the word, its prefixes and suffixes, its shape, and its neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from polyadic.core.errors import InputError

EDGE = "<edge>"
MAX_PREFIX, MAX_SUFFIX = 4, 5  # maximum length of the prefixes and suffixes used as features
CACHE_SIZE = 100_000  # number of words whose features are cached


def tag_features(forms: Sequence[str], tags: Sequence[str] | None = None) -> list[list[str]]:
    """Return the feature names of each word of a sentence.

    ``tags`` are known parts of speech of the words, as input to a tagger of something else. They add the tags of two
    words on each side, and tag bigrams and trigrams. InputError is raised if there are not as many tags as words.

    Examples
    --------
    >>> tag_features(["Dogs", "bark"])[0][:10]
    ['*', 'W=Dogs', 'w=dogs', 's=Aa', '<d', '<do', '<dog', '<dogs', '>s', '>gs']
    >>> tag_features(["Dogs", "bark"], ["NNS", "VBP"])[1][-3:]
    ['t-2=<edge> NNS VBP', 't-1=NNS VBP <edge>', 't+0=VBP <edge> <edge>']
    """
    words = [EDGE, EDGE, *map(str.lower, forms), EDGE, EDGE]
    rows = [
        ["*", *_look(form), f"w-1={b}", f"w-2={a}", f"w+1={c}", f"w+2={d}", f"w-1={b} {w}", f"w+0={w} {c}"]
        for form, a, b, w, c, d in zip(forms, words, words[1:], words[2:], words[3:], words[4:], strict=False)
    ]
    if tags is None:
        return rows
    if len(tags) != len(forms):
        got = f"{len(forms)} and {len(tags)}"
        raise InputError(f"the number of words must equal the number of parts of speech; got {got}")
    t = [EDGE, EDGE, *tags, EDGE, EDGE]
    for row, p, q, r, s, u in zip(rows, t, t[1:], t[2:], t[3:], t[4:], strict=False):
        row += [f"t-2={p}", f"t-1={q}", f"t+0={r}", f"t+1={s}", f"t+2={u}"]
        row += [f"t-2={p} {q}", f"t-1={q} {r}", f"t+0={r} {s}", f"t+1={s} {u}"]
        row += [f"t-2={p} {q} {r}", f"t-1={q} {r} {s}", f"t+0={r} {s} {u}"]
    return rows


def need_tags(known: Iterable[str]) -> bool:
    """Return whether features were learned from sentences with parts of speech."""
    return any(feature.startswith("t") for feature in known)


def shape(form: str) -> str:
    """Return the shape of a word: runs of capitals become A, other letters a, digits 0, and punctuation stays.

    >>> shape("McDonald's"), shape("U.S."), shape("1990-91")
    ("AaAa'a", 'A.A.', '0-0')
    """
    kinds = ["A" if x.isupper() else "a" if x.isalpha() else "0" if x.isdigit() else x for x in form]
    return "".join(kind for before, kind in zip(["", *kinds], kinds, strict=False) if kind != before)


@lru_cache(CACHE_SIZE)
def _look(form: str) -> list[str]:
    word = form.lower()
    starts = [f"<{word[:k]}" for k in range(1, min(len(word), MAX_PREFIX) + 1)]
    endings = [f">{word[-k:]}" for k in range(1, min(len(word), MAX_SUFFIX) + 1)]
    return [f"W={form}", f"w={word}", f"s={shape(form)}", *starts, *endings]
