"""Which features of the words of a part of two or three arcs are joined to one."""

from __future__ import annotations

import numpy as np

from polyadic.kernels.syntax.climbing import GRAND, GRAND_SIBLING, SIBLING, THREE
from polyadic.text.syntax.token_features import LEMMA, POS, TAG, WORD

_ = -1
_TEMPLATES = (
    # x is the grandparent, and s is not used
    (GRAND, POS, POS, _, POS),
    (GRAND, TAG, TAG, _, TAG),
    *((GRAND, word, TAG, _, TAG) for word in (WORD, LEMMA)),
    *((GRAND, TAG, word, _, TAG) for word in (WORD, LEMMA)),
    *((GRAND, TAG, TAG, _, word) for word in (WORD, LEMMA)),
    *((GRAND, word, _, _, word) for word in (WORD, LEMMA)),
    (GRAND, TAG, _, _, TAG),
    (GRAND, LEMMA, LEMMA, _, TAG),
    (GRAND, LEMMA, TAG, _, LEMMA),
    (GRAND, TAG, LEMMA, _, LEMMA),
    # x is not used
    (SIBLING, _, POS, POS, POS),
    (SIBLING, _, TAG, TAG, TAG),
    *((SIBLING, _, word, TAG, TAG) for word in (WORD, LEMMA)),
    *((SIBLING, _, TAG, word, TAG) for word in (WORD, LEMMA)),
    *((SIBLING, _, TAG, TAG, word) for word in (WORD, LEMMA)),
    *((SIBLING, _, _, word, word) for word in (WORD, LEMMA)),
    (SIBLING, _, _, TAG, TAG),
    (SIBLING, _, LEMMA, LEMMA, TAG),
    (SIBLING, _, LEMMA, TAG, LEMMA),
    (SIBLING, _, TAG, LEMMA, LEMMA),
    # x is the grandparent
    (GRAND_SIBLING, POS, POS, POS, POS),
    (GRAND_SIBLING, TAG, TAG, TAG, TAG),
    (GRAND_SIBLING, LEMMA, POS, POS, POS),
    (GRAND_SIBLING, POS, LEMMA, POS, POS),
    (GRAND_SIBLING, POS, POS, LEMMA, POS),
    (GRAND_SIBLING, POS, POS, POS, LEMMA),
    (GRAND_SIBLING, POS, _, POS, POS),
    # x is the dependent before s
    (THREE, POS, POS, POS, POS),
    (THREE, TAG, TAG, TAG, TAG),
    (THREE, LEMMA, POS, POS, POS),
    (THREE, POS, LEMMA, POS, POS),
    (THREE, POS, POS, LEMMA, POS),
    (THREE, POS, POS, POS, LEMMA),
    (THREE, POS, _, POS, POS),
)
TEMPLATES = np.array(_TEMPLATES)
"""Kind of part, and columns of features of x, h, s and m."""
