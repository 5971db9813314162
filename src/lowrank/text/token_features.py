"""What is told of each word of a sentence to a parser: the word, its neighbours, parts of speech and morphology."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT, EDGE = "<root>", "<edge>"

BIAS, WORD, LEMMA, TAG, POS, WORD_TAG, LEFT_TAGS, RIGHT_TAGS, LEMMA_POS, LEFT_WORD, RIGHT_WORD = range(11)
"""Places of the first features in each row; morphology comes last."""
RIGHT_TAG, THREE_TAGS = 14, 17
FIXED = 20
"""Features of each word before those of its morphology."""


def token_features(
    forms: Sequence[str],
    tags: Sequence[str],
    *,
    pos: Sequence[str] | None = None,
    lemmas: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
) -> list[list[str]]:
    """Give a row for the root and for each word; what the sentence does not say is an empty string.

    Parameters
    ----------
    forms : sequence of str
    tags : sequence of str
        Of the treebank.
    pos : sequence of str, optional
        Universal parts of speech.
    lemmas : sequence of str, optional
    features : sequence of str, optional
        Of morphology, several with ``|`` between; ``"_"`` is none.

    Returns
    -------
    list of list of str
        Each of ``FIXED`` features, some empty, and those of morphology.

    References
    ----------
    Lei, Xin, Zhang, Barzilay, Jaakkola (2014), Low-rank tensors for scoring dependency structures, table 1

    Examples
    --------
    >>> rows = token_features(["Dogs", "bark"], ["NNS", "VBP"], features=["Number=Plur", "_"])
    >>> rows[1][WORD], rows[1][LEFT_TAGS], rows[1][FIXED:], rows[2][FIXED:]
    ('w=Dogs', 'tl=<root> NNS', ['f=Number=Plur'], [])
    """
    w, t = [ROOT, *forms], [ROOT, *tags]
    p = [ROOT if pos else "", *_said(pos, len(forms))]
    s = ["", *_said(lemmas, len(forms))]
    columns = [
        ["*"] * len(w),
        [f"w={x}" for x in w],
        [x and f"l={x}" for x in s],
        [f"t={x}" for x in t],
        [x and f"p={x}" for x in p],
        [f"wt={x} {y}" for x, y in zip(w, t, strict=True)],
        [f"tl={x} {y}" for x, y in zip(_before(t), t, strict=True)],
        [f"tr={x} {y}" for x, y in zip(t, _after(t), strict=True)],
        [x and f"lp={x} {y}" for x, y in zip(s, p, strict=True)],
        [f"w-={x}" for x in _before(w)],
        [f"w+={x}" for x in _after(w)],
        [x and f"l-={x}" for x in ["", *s[:-1]]],
        [x and f"l+={x}" for x in [*s[1:], ""]],
        [f"t-={x}" for x in _before(t)],
        [f"t+={x}" for x in _after(t)],
        [f"t--={x}" for x in _before(_before(t))],
        [f"t++={x}" for x in _after(_after(t))],
        [f"tt={x} {y} {z}" for x, y, z in zip(_before(t), t, _after(t), strict=True)],
        [x and f"p-={x}" for x in ["", *p[:-1]]],
        [x and f"p+={x}" for x in [*p[1:], ""]],
    ]
    rows = [list(row) for row in zip(*columns, strict=True)]
    for row, morphology in zip(rows[1:], _said(features, len(forms)), strict=True):
        if morphology:
            row += [f"f={feature}" for feature in morphology.split("|")]
    return rows


def _said(column: Sequence[str] | None, n: int) -> list[str]:
    return ["" if x == "_" else x for x in column] if column else [""] * n


def _before(column: list[str]) -> list[str]:
    return [EDGE, *column[:-1]]


def _after(column: list[str]) -> list[str]:
    return [*column[1:], EDGE]
