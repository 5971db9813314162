"""Patterns between two entity mentions in a sentence: the dependency path, and the words in between.

For *Marc Goldman, president of Farmland Dairies, said* the pair (Marc Goldman, Farmland Dairies) has the patterns::

    path#->appos->president->nmod:of->
    words#, president of

A path leads from the first mention to the second: ``<-nsubj<-`` goes up to the head, ``->obj->`` down to a dependent.
The case marker of a phrase, such as a preposition, is appended to its relation, as it is not on the path itself.

References
----------
Lin, Pantel (2001), DIRT - discovery of inference rules from text. Riedel, Yao, McCallum, Marlin (2013), Relation
extraction with matrix factorization and universal schemas, section 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyadic.core.errors import check_int

if TYPE_CHECKING:
    from polyadic.syntax.trees import Tree

    Triple = tuple[str, str, str]

PARTS_OF_NAMES = {"compound", "flat", "name", "goeswith", "amod", "punct"}
"""Relations within a name, without subtypes; adjectives need a capital letter, and punctuation is a hyphen."""
MARKED_BY_CASE = {"obl", "nmod"}  # relations whose meaning depends on their case marker


class Mention(NamedTuple):
    """Entity mention in a sentence: its name, the indices of its first and last word, and its syntactic head."""

    name: str
    first: int
    last: int
    head: int


def mentions(tree: Tree, *, key: str | None = None) -> list[Mention]:
    """Find the entity mentions in a sentence: runs of words of one proper noun, such as *Al - Qaeda*.

    With a ``key``, words with the same value of this key in the MISC column, such as ``Entity=Acme_Corporation``, are a
    mention of the entity of that name (underscores for spaces).
    """
    values = _names(tree) if key is None else [_value(misc, key) for misc in tree.misc]
    runs, first = [], 0
    for last, value in enumerate(values):
        if last + 1 < len(values) and values[last + 1] == value:
            continue
        if value:
            name = " ".join(tree.forms[first : last + 1]) if key is None else value.replace("_", " ")
            head = next(word for word in range(first, last + 1) if not first <= tree.heads[word] - 1 <= last)
            runs.append(Mention(name, first, last, head))
        first = last + 1
    return runs


def patterns(tree: Tree, *, key: str | None = None, max_path: int = 5, max_gap: int = 8) -> Iterator[Triple]:
    """Yield subject, object and pattern of each pair of entities; adjacent mentions have no word pattern."""
    check_int("max_path", max_path, low=0)
    check_int("max_gap", max_gap, low=0)
    for subject, object_ in combinations(mentions(tree, key=key), 2):
        if subject.name == object_.name:
            continue
        if path := _path(tree, subject.head, object_.head, max_path):
            yield subject.name, object_.name, f"path#{path}"
        if 0 < object_.first - subject.last - 1 <= max_gap:
            between = " ".join(form.lower() for form in tree.forms[subject.last + 1 : object_.first])
            yield subject.name, object_.name, f"words#{between}"


def pattern_triples(
    trees: Iterable[Tree], *, key: str | None = None, max_path: int = 5, max_gap: int = 8
) -> Iterator[Triple]:
    """Yield the subject, object and pattern of each pair of entities in all sentences.

    ``key`` is that of entity names in the MISC column, such as ``"Entity"``; by default, runs of proper nouns are
    entities. A path has at most ``max_path`` dependencies, a word pattern at most ``max_gap`` words; 0 is for none.
    """
    for tree in trees:
        yield from patterns(tree, key=key, max_path=max_path, max_gap=max_gap)


def _names(tree: Tree) -> list[str]:
    """Return, for each word, an identifier of the proper name that contains the word, or an empty string."""
    heads = tree.heads.tolist()

    def fits(word: int) -> bool:
        if tree.upos[word] == "ADJ":
            return tree.relations[word] == "amod" and tree.forms[word][:1].isupper()
        return tree.upos[word] == "PROPN" or tree.forms[word] == "-"

    def above(word: int) -> int:
        head, relation = heads[word] - 1, tree.relations[word].split(":")[0]
        within = head >= 0 and relation in PARTS_OF_NAMES and tree.upos[head] == "PROPN"
        return head if within and fits(word) else word

    tops = np.array([above(word) for word in range(len(tree))], np.int64)
    for _ in range(len(tree).bit_length()):  # pointer doubling
        tops = tops[tops]
    names, size = [str(at) if tree.upos[at] == "PROPN" else "" for at in tops.tolist()], len(tree)
    for words, beside in ((range(size), -1), (reversed(range(size)), 1)):  # no name begins or ends with a hyphen
        for word in words:
            within = 0 <= word + beside < size and names[word + beside] == names[word]
            if tree.forms[word] == "-" and not within:
                names[word] = ""
    return names


def _value(misc: str, key: str) -> str:
    """Return the value of a key in the MISC column of a CoNLL-U file; empty if absent."""
    pairs = (field.partition("=") for field in misc.split("|"))
    return next((value for name, _, value in pairs if name == key), "")


def _path(tree: Tree, start: int, end: int, max_length: int) -> str:
    """Return the dependency path between two words; empty if it is too long or does not exist."""
    up, down = _ancestors(tree, start), _ancestors(tree, end)
    meeting = next((word for word in up if word in down), None)
    if meeting is None:
        return ""
    climbed, descended = up[: up.index(meeting)], down[: down.index(meeting)][::-1]
    if not 0 < len(climbed) + len(descended) <= max_length:
        return ""
    steps = [f"<-{_relation(tree, word)}<-" for word in climbed]
    steps += [f"->{_relation(tree, word)}->" for word in descended]
    on_the_way = [*climbed[1:], *([meeting] if climbed and descended else []), *descended[:-1]]
    lemmas = [_lemma(tree, word) for word in on_the_way]
    return "".join(step + lemma for step, lemma in zip(steps, [*lemmas, ""], strict=True))


def _ancestors(tree: Tree, word: int) -> list[int]:
    """Return a word and its ancestors in the dependency tree, up to the root."""
    above = [word]
    while (head := int(tree.heads[above[-1]]) - 1) >= 0:
        above.append(head)
    return above


def _relation(tree: Tree, word: int) -> str:
    """Return the dependency relation of a word to its head, with the case marker appended."""
    relation = tree.relations[word]
    if relation.split(":")[0] not in MARKED_BY_CASE or ":" in relation:
        return relation
    cases = (child for child in range(len(tree)) if tree.heads[child] == word + 1 and tree.relations[child] == "case")
    case = next(cases, None)
    return relation if case is None else f"{relation}:{_lemma(tree, case)}"


def _lemma(tree: Tree, word: int) -> str:
    """Return the lemma of a word in lower case, or the word form if no lemma is given."""
    lemma = tree.lemmas[word]
    return (tree.forms[word] if lemma == "_" else lemma).lower()
