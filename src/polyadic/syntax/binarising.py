"""Head rules, label annotation and binarisation of constituency trees.

The head of a phrase is the child that determines its category, such as the verb of a clause, by the rules of Collins,
after Magerman. Each category has a list of candidates, which are searched from the left or right.

An annotated label is a category followed by context marks, each after ``^``: ``NP^S`` is a noun phrase below a
sentence. A phrase of more than two children is built from its head outwards, first to the right, then to the left,
with intermediate symbols that begin with ``@`` and name the category, the head and the last siblings (Klein & Manning
2003): ``VP -> VBD NP PP`` becomes ``VP -> @VP|VBD>NP PP`` and ``@VP|VBD>NP -> VBD NP``.

References
----------
Magerman (1995), Statistical decision-tree models for parsing. Collins (1999), Head-driven statistical models for
natural language parsing, appendix A. Johnson (1998), PCFG models of linguistic tree representations. Klein, Manning
(2003), Accurate unlexicalized parsing
"""

from __future__ import annotations

from collections.abc import Sequence

from polyadic.core.errors import InputError
from polyadic.syntax.brackets import Phrase

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
    """Return the index of the head child of a phrase according to the head rules of Collins."""
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
    """Return the index of the head child of a noun phrase according to the noun phrase rules of Collins."""
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


MARK, PARTIAL = "^", "@"
VERBAL = {"VBD", "VBZ", "VBP", "MD"}


def bare(symbol: str) -> str:
    """Return the category of an annotated symbol: ``NP`` for ``NP^S^base``, ``@VP`` for ``@VP|VBD>NP``."""
    symbol = symbol.partition(MARK)[0]
    return symbol.partition("|")[0] if symbol.startswith(PARTIAL) else symbol


def annotate(tree: Phrase, *, tags: bool = True, splits: bool = True) -> Phrase:
    """Annotate each label of a tree with the category of its parent and with marks that refine the category.

    The marks of ``splits`` are those of Klein & Manning: noun phrases of tags alone (``base``) and possessive ones
    (``poss``); finite, infinitive and other verb phrases by the tag of their head; sentences without a subject
    (``bare``); tags without siblings (``U``).

    >>> from polyadic.syntax.brackets import parse_phrase
    >>> str(annotate(parse_phrase("(S (NP (DT The) (NN dog)) (VP (VBZ barks)))")))
    '(S^TOP (NP^S^base (DT^NP The) (NN^NP dog)) (VP^S^fin (VBZ^VP^U barks)))'
    """
    return _annotated(tree, "TOP", alone=False, tags=tags, splits=splits)


def _annotated(tree: Phrase, above: str, *, alone: bool, tags: bool, splits: bool) -> Phrase:
    label = tree.label
    if MARK in label or label.startswith(PARTIAL):
        raise InputError(f"labels must not contain {MARK} or begin with {PARTIAL}; got {label!r}")
    if tree.word is not None:
        marks = (MARK + above if tags else "") + (MARK + "U" if splits and alone else "")
        return Phrase(label + marks, tree.children)
    below = tree.below
    alone, marks = len(below) == 1, MARK + above + (_split(tree) if splits else "")
    children = tuple(_annotated(child, label, alone=alone, tags=tags, splits=splits) for child in below)
    return Phrase(label + marks, children)


def _split(phrase: Phrase) -> str:
    """Return the marks that refine the category of a phrase, such as ``^base`` for a base noun phrase."""
    labels = [child.label for child in phrase.below]
    if phrase.label == "NP":
        marks = MARK + "poss" if labels[-1] == "POS" else ""
        return marks + (MARK + "base" if all(child.word is not None for child in phrase.below) else "")
    if phrase.label == "VP":
        head = labels[head_child("VP", labels)]
        return MARK + ("fin" if head in VERBAL else head if head in {"TO", "VB", "VBN", "VBG"} else "other")
    if phrase.label == "S" and "NP" not in labels:
        return MARK + "bare"
    return ""


def binarise(tree: Phrase, *, horizontal: int = 2) -> Phrase:
    """Binarise a tree from the head outwards, with horizontal Markovization of order ``horizontal``.

    >>> from polyadic.syntax.brackets import parse_phrase
    >>> tree = parse_phrase("(VP (MD may) (RB not) (VP (VB bark)) (. .))")
    >>> str(binarise(tree, horizontal=1))
    '(VP (@VP|MD>VP (@VP|MD>RB (MD may) (RB not)) (VP (VB bark))) (. .))'
    """
    if tree.word is not None:
        return tree
    below = [binarise(child, horizontal=horizontal) for child in tree.below]
    labels = [bare(child.label) for child in tree.below]
    head = head_child(bare(tree.label), labels)
    order = [(i, ">") for i in range(head + 1, len(below))] + [(i, "<") for i in range(head - 1, -1, -1)]
    stem = f"{PARTIAL}{tree.label}|{labels[head]}"
    built, seen = below[head], list[str]()
    for place, (i, side) in enumerate(order):
        seen.append(side + labels[i])
        last = place == len(order) - 1
        symbol = tree.label if last else stem + "".join(seen[-horizontal:] if horizontal else side)
        built = Phrase(symbol, (built, below[i]) if side == ">" else (below[i], built))
    return built if order else Phrase(tree.label, (built,))


def without_loops(tree: Phrase) -> Phrase:
    """Remove each phrase whose only child has the same label, because such unary rules allow endless derivations."""
    while len(tree.below) == 1 and tree.below[0].label == tree.label:
        tree = tree.below[0]
    return tree if tree.word is not None else Phrase(tree.label, tuple(map(without_loops, tree.below)))
