"""Features of words for a parser: the word, its neighbours, parts of speech and morphology."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ROOT, EDGE, ANY = "<root>", "<edge>", "*"

BIAS, WORD, LEMMA, TAG, POS, WORD_TAG, LEFT_TAGS, RIGHT_TAGS, LEMMA_POS, LEFT_WORD, RIGHT_WORD = range(11)
"""Columns of the first features in each row; morphology comes last."""
RIGHT_TAG, THREE_TAGS, MORPHOLOGY = 14, 17, 20
FIXED = 21
"""Number of features of each word before those of its morphology."""


def token_features(
    forms: Sequence[str],
    tags: Sequence[str],
    *,
    pos: Sequence[str] | None = None,
    lemmas: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
) -> list[list[str]]:
    """Return the features of the root and of each word: ``FIXED`` ones, empty if missing, then morphology.

    Parameters
    ----------
    forms : sequence of str
    tags : sequence of str
        Tags of the treebank; ``"_"`` is replaced by the universal tag.
    pos : sequence of str, optional
        Universal parts of speech.
    lemmas : sequence of str, optional
    features : sequence of str, optional
        Morphological features, separated by ``|``; ``"_"`` is none.

    References
    ----------
    Lei, Xin, Zhang, Barzilay, Jaakkola (2014), Low-rank tensors for scoring dependency structures, table 1

    Examples
    --------
    >>> rows = token_features(["Dogs", "bark"], ["NNS", "VBP"], features=["Number=Plur", "_"])
    >>> rows[1][WORD], rows[1][LEFT_TAGS], rows[1][FIXED:], rows[2][FIXED:]
    ('w=Dogs', 'tl=<root> NNS', ['f=Number=Plur'], [])
    """
    columns = [
        [x and f"{kind}={x}" for x in column] if kind else column
        for kind, column in _columns(forms, tags, pos=pos, lemmas=lemmas, features=features)
    ]
    rows = [list(row) for row in zip(*columns, strict=True)]
    for row, morphology in zip(rows[1:], _present(features, len(forms)), strict=True):
        row += [f"f={feature}" for feature in morphology.split("|") if feature]
    return rows


class TokenCoder:
    """Maps the features of words to ids, several times faster than by their names.

    ``known`` holds ids by the names of :func:`token_features`.

    Examples
    --------
    >>> TokenCoder({"w=bark": 0, "t+=VBP": 1, "f=X": 2})(["Dogs", "bark"], ["NNS", "VBP"])[:, [WORD, 14]].tolist()
    [[-1, -1], [-1, 1], [0, -1]]
    """

    def __init__(self, known: dict[str, int]) -> None:
        self._numbers: dict[str, dict[str, int]] = {}
        for name, at in known.items():
            kind, _, value = name.partition("=") if name != ANY else ("", "", ANY)
            self._numbers.setdefault(kind, {})[value] = at
        self._morphology: dict[str, list[int]] = {"": []}

    def __call__(
        self,
        forms: Sequence[str],
        tags: Sequence[str],
        *,
        pos: Sequence[str] | None = None,
        lemmas: Sequence[str] | None = None,
        features: Sequence[str] | None = None,
    ) -> NDArray[np.int32]:
        """Return a row of feature ids for the root and for each word, -1 for an unknown or missing feature."""
        more = [[], *map(self._numbers_of, _present(features, len(forms)))]
        table = np.full((len(forms) + 1, FIXED + max(map(len, more))), -1, np.int32)
        columns = _columns(forms, tags, pos=pos, lemmas=lemmas, features=features)
        numbered = chain.from_iterable(map(self._numbers.get(kind, {}).get, x, repeat(-1)) for kind, x in columns)
        table[:, :FIXED] = np.fromiter(numbered, np.int32, FIXED * len(table)).reshape(FIXED, -1).T
        for row, numbers in enumerate(more):
            if numbers:
                table[row, FIXED : FIXED + len(numbers)] = numbers
        return table

    def _numbers_of(self, morphology: str) -> list[int]:
        """Return the ids of morphological features, cached by the whole string."""
        known = self._morphology.get(morphology)
        if known is None:
            numbers = self._numbers.get("f", {})
            known = self._morphology[morphology] = [numbers.get(x, -1) for x in morphology.split("|") if x]
        return known


def _columns(
    forms: Sequence[str],
    tags: Sequence[str],
    *,
    pos: Sequence[str] | None,
    lemmas: Sequence[str] | None,
    features: Sequence[str] | None,
) -> list[tuple[str, list[str]]]:
    """Return the kind and values of each fixed feature; an empty value is none."""
    p = [ROOT if pos else "", *_present(pos, len(forms))]
    w, t = [ROOT, *forms], [ROOT, *(tag if tag != "_" or not x else x for tag, x in zip(tags, p[1:], strict=True))]
    s = ["", *_present(lemmas, len(forms))]
    before, after = _before(t), _after(t)
    return [
        ("", [ANY] * len(w)),
        ("w", w),
        ("l", s),
        ("t", t),
        ("p", p),
        ("wt", [f"{x} {y}" for x, y in zip(w, t, strict=True)]),
        ("tl", [f"{x} {y}" for x, y in zip(before, t, strict=True)]),
        ("tr", [f"{x} {y}" for x, y in zip(t, after, strict=True)]),
        ("lp", [x and f"{x} {y}" for x, y in zip(s, p, strict=True)]),
        ("w-", _before(w)),
        ("w+", _after(w)),
        ("l-", ["", *s[:-1]]),
        ("l+", [*s[1:], ""]),
        ("t-", before),
        ("t+", after),
        ("t--", _before(before)),
        ("t++", _after(after)),
        ("tt", [f"{x} {y} {z}" for x, y, z in zip(before, t, after, strict=True)]),
        ("p-", ["", *p[:-1]]),
        ("p+", [*p[1:], ""]),
        ("m", ["", *_present(features, len(forms))]),
    ]


def _present(column: Sequence[str] | None, n: int) -> list[str]:
    return ["" if x == "_" else x for x in column] if column else [""] * n


def _before(column: list[str]) -> list[str]:
    return [EDGE, *column[:-1]]


def _after(column: list[str]) -> list[str]:
    return [*column[1:], EDGE]
