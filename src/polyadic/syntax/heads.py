"""Heads of phrases by the rules of Collins, after Magerman.

The head of a phrase is the child that determines its category, such as the verb of a clause; the *lexical* head is the
word reached from head to head. Each category has a list of candidates, which are searched from the left or right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LEFT, RIGHT = 1, -1

RULES: dict[str, tuple[int, str]] = {
    "ADJP": (LEFT, "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": (RIGHT, "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": (RIGHT, "CC RB IN"),
    "FRAG": (RIGHT, ""),
    "INTJ": (LEFT, ""),
    "LST": (RIGHT, "LS :"),
    "NAC": (LEFT, "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": (RIGHT, "IN TO VBG VBN RP FW"),
    "PRN": (LEFT, ""),
    "PRT": (RIGHT, "RP"),
    "QP": (LEFT, "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": (RIGHT, "VP NP ADVP ADJP PP"),
    "S": (LEFT, "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": (LEFT, "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": (LEFT, "SQ S SINV SBARQ FRAG"),
    "SINV": (LEFT, "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": (LEFT, "VBZ VBD VBP VB MD VP SQ"),
    "UCP": (RIGHT, ""),
    "VP": (LEFT, "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": (LEFT, "CC WRB JJ ADJP"),
    "WHADVP": (RIGHT, "CC WRB"),
    "WHNP": (LEFT, "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": (RIGHT, "IN TO FW"),
    "X": (RIGHT, ""),
}
"""Search direction and candidates of each category (Collins 1999, appendix A); noun phrases have special rules."""
LISTS = {label: (side, candidates.split()) for label, (side, candidates) in RULES.items()}
NOUNS = {"NN", "NNP", "NNPS", "NNS", "NX", "POS", "JJR"}
PUNCTUATION = {",", ":", ".", "``", "''", "-LRB-", "-RRB-"}


def head_child(label: str, children: Sequence[str]) -> int:
    """Return the index of the head among the children of a phrase; without a rule it is the leftmost child.

    References
    ----------
    Magerman (1995), Statistical decision-tree models for parsing. Collins (1999), Head-driven statistical models for
    natural language parsing, appendix A

    Examples
    --------
    >>> head_child("VP", ["VBZ", "NP", "PP"]), head_child("NP", ["DT", "NN", "NN"]), head_child("NP", ["NP", "PP"])
    (0, 2, 0)
    >>> head_child("NP", ["NP", "CC", "NP"]), head_child("S", ["NP", ",", "VP", "."])
    (0, 2)
    """
    if label in {"NP", "NX"}:
        head = _noun_head(children)
    else:
        side, candidates = LISTS.get(label, (LEFT, []))
        places = range(len(children))[::side]
        head = next((i for wanted in candidates for i in places if children[i] == wanted), -1)
        if head < 0:
            head = next((i for i in places if children[i] not in PUNCTUATION), places[0])
    if head >= 2 and children[head - 1] in {"CC", "CONJP"}:  # the first conjunct of a coordination
        return next((i for i in range(head - 2, -1, -1) if children[i] not in PUNCTUATION), head)
    return head


def _noun_head(children: Sequence[str]) -> int:
    """Return the head of a noun phrase: a final possessive mark, else a noun, the leftmost noun phrase, a number..."""
    places = range(len(children))
    if children[-1] == "POS":
        return places[-1]
    searches = (
        (RIGHT, NOUNS),
        (LEFT, {"NP"}),
        (RIGHT, {"$", "ADJP", "PRN"}),
        (RIGHT, {"CD"}),
        (RIGHT, {"JJ", "JJS", "RB", "QP"}),
    )
    for side, wanted in searches:
        for i in places[::side]:
            if children[i] in wanted:
                return i
    return next((i for i in places[::-1] if children[i] not in PUNCTUATION), places[-1])
