"""What is told of each word of a sentence to a parser: the word, its neighbours, parts of speech and morphology."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT, EDGE = "<root>", "<edge>"

BIAS, WORD, LEMMA, TAG, POS, WORD_TAG, LEFT_TAGS, RIGHT_TAGS, LEMMA_POS = range(9)
"""Places of the first features in each row; the next are neighbours, and morphology comes last."""
FIXED = 18
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
    none = ("_",) * len(forms)
    w = [ROOT, *forms, EDGE]
    t = [ROOT, *tags, EDGE]
    p = [ROOT, *(pos or none), EDGE]
    s = ["_", *(lemmas or none), "_"]
    more = ["_", *(features or none)]
    rows = []
    for i, morphology in enumerate(more):
        before, after = (i - 1, i + 1) if i else (-1, 1)
        row = [
            "*",
            f"w={w[i]}",
            _said("l", s[i]),
            f"t={t[i]}",
            _said("p", p[i]),
            f"wt={w[i]} {t[i]}",
            f"tl={t[before]} {t[i]}",
            f"tr={t[i]} {t[after]}",
            f"lp={s[i]} {p[i]}" if s[i] != "_" else "",
            f"w-={w[before]}",
            f"w+={w[after]}",
            _said("l-", s[before]),
            _said("l+", s[after]),
            f"t-={t[before]}",
            f"t+={t[after]}",
            f"tt={t[before]} {t[i]} {t[after]}",
            _said("p-", p[before]),
            _said("p+", p[after]),
        ]
        if morphology != "_":
            row += [f"f={feature}" for feature in morphology.split("|")]
        rows.append(row)
    return rows


def _said(kind: str, value: str) -> str:
    return "" if value == "_" else f"{kind}={value}"
