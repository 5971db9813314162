"""Features of a predicate, of a candidate argument, and of the path between them in the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyadic.syntax.token_features import FIXED as TOKEN_FIXED
from polyadic.syntax.token_features import token_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyadic.syntax.trees import Tree

RELATION, VOICE, LEMMA_VOICE, CASE, RELATION_CASE, FRAME, HEAD_LEMMA, HEAD_TAG = range(TOKEN_FIXED, TOKEN_FIXED + 8)
"""Columns of a word's features after those of :func:`~polyadic.syntax.token_features.token_features`."""
FIXED = TOKEN_FIXED + 8
"""Number of features of each word before those of its morphology."""
ANY_PATH, PATH, PLAIN_PATH, TAG_PATH, LENGTH, SIDE = range(6)
"""Columns of the features of a path."""
FUNCTION = ("case", "mark")
"""Relations of function words that link a phrase to its clause."""
CORE = ("nsubj", "csubj", "obj", "iobj", "ccomp", "xcomp", "obl", "expl", "compound", "aux", "cop", "conj")
"""Relations, without subtypes, that make up the frame of a predicate."""


def word_features(tree: Tree) -> list[list[str]]:
    """Return the features of each word: ``FIXED`` ones of the word and its position in the tree, then morphology.

    Examples
    --------
    >>> from polyadic.syntax.trees import Tree
    >>> import numpy as np
    >>> none, heads = ("_", "_"), np.array([2, 0], np.int32)
    >>> tree = Tree(("Dogs", "bark"), ("dog", "bark"), none, none, none, heads, ("nsubj", "root"), none, none)
    >>> rows = word_features(tree)
    >>> rows[0][RELATION], rows[0][HEAD_LEMMA], rows[1][FRAME], rows[1][VOICE]
    ('d=nsubj', 'hl=bark', 'fr=nsubj V', 'v=active')
    """
    rows = token_features(tree.forms, tree.xpos, pos=tree.upos, lemmas=tree.lemmas, features=tree.features)[1:]
    children, heads = tree.children(), tree.heads.tolist()
    lemmas = lemmas_of(tree)
    for at, row in enumerate(rows):
        below = children[at]
        voice = "passive" if _passive(tree, at, below) else "active"
        case = " ".join(lemmas[child] for child in below if tree.relations[child].partition(":")[0] in FUNCTION)
        order = sorted([*below, at])
        frame = [_plain(tree.relations[i]) if i != at else "V" for i in order]
        head = heads[at] - 1
        row[TOKEN_FIXED:TOKEN_FIXED] = [
            f"d={tree.relations[at]}",
            f"v={voice}",
            f"lv={lemmas[at]} {voice}",
            f"c={case}",
            f"dc={tree.relations[at]} {case}",
            f"fr={' '.join(name for name in frame if name in (*CORE, 'V'))}",
            f"hl={lemmas[head]}" if head >= 0 else "hl=",
            f"ht={tree.upos[head]}" if head >= 0 else "ht=",
        ]
    return rows


def lemmas_of(tree: Tree) -> list[str]:
    """Return the lemma of each word, or its lower-cased form where there is none."""
    return [form.lower() if lemma == "_" else lemma for form, lemma in zip(tree.forms, tree.lemmas, strict=True)]


def path_features(tree: Tree, predicate: int, words: Sequence[int]) -> list[list[str]]:
    """Return for each word the features of the path from the predicate up and down to the word.

    Examples
    --------
    >>> from polyadic.syntax.trees import Tree
    >>> import numpy as np
    >>> none, heads = ("_",) * 3, np.array([2, 0, 2], np.int32)
    >>> tree = Tree(("I", "try", "talking"), none, none, none, none, heads, ("nsubj", "root", "xcomp"), none, none)
    >>> path_features(tree, 3, [1])[0][PATH]
    'h=^xcomp !nsubj'
    """
    above = _above(tree, predicate)
    rows = []
    for word in words:
        down = _above(tree, word)
        up = next(k for k, node in enumerate(above) if node in down)
        ups, downs = above[:up], down[: down.index(above[up])][::-1]
        relations = [f"^{tree.relations[k - 1]}" for k in ups] + [f"!{tree.relations[k - 1]}" for k in downs]
        tags = [tree.upos[k - 1] for k in (*ups, *([above[up]] if above[up] else []), *downs)]
        side = "before" if word < predicate else "after"
        away = abs(word - predicate)
        rows.append(
            [
                "*path",
                f"h={' '.join(relations)}",
                f"hp={' '.join(map(_plain, relations))}",
                f"hu={up} {' '.join(tags)}",
                f"n={up} {len(downs)} {side}",
                f"s={side} {min(away, 4)}",
            ]
        )
    return rows


def near_words(tree: Tree, predicate: int) -> list[int]:
    """Return the candidate arguments: the ancestors of the predicate and the children of both.

    References
    ----------
    Xue, Palmer (2004), Calibrating features for semantic role labeling. Zhao et al. (2009), Multilingual dependency
    learning, section 3
    """
    above = [word for word in _above(tree, predicate) if word]
    children = tree.children()
    near = {*above, *(child + 1 for word in above for child in children[word - 1])}
    return sorted(near - {predicate})


def _above(tree: Tree, word: int) -> list[int]:
    """Return a word and its ancestors, up to 0."""
    heads, way = tree.heads, [word]
    while way[-1]:
        way.append(int(heads[way[-1] - 1]))
    return way


def _plain(relation: str) -> str:
    return relation.partition(":")[0]


def _passive(tree: Tree, word: int, below: Sequence[int]) -> bool:
    marked = "Voice=Pass" in tree.features[word] or any(":pass" in tree.relations[child] for child in below)
    # A participle that modifies a noun is passive: "the dog seen there".
    return marked or (tree.xpos[word] == "VBN" and _plain(tree.relations[word]) in {"acl", "amod"})
