"""What tells the hidden state of a phrase: features of what is inside of it, and of what is around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from polyadic.models.syntax.lexicon import signature

if TYPE_CHECKING:
    from collections.abc import Collection

    from polyadic.models.syntax.grammar import Rule
    from polyadic.text.syntax.brackets import Phrase


class Node(NamedTuple):
    """A phrase of a tree whose phrases have at most two children.

    Attributes
    ----------
    label : str
    rule : tuple of str
        Label and labels of children, or label and class of the word.
    below : tuple of int
        Numbers of the children, among the nodes before it; none of a tag.
    span : tuple of int
        First word, and the one behind the last.
    """

    label: str
    rule: Rule
    below: tuple[int, ...]
    span: tuple[int, int]


def class_of(word: str, known: Collection[str], *, first: bool) -> str:
    """Give a word that is known, or the class of another."""
    return word if word in known else f"<{signature(word, first=first)}>"


def nodes_of(tree: Phrase, known: Collection[str]) -> list[Node]:
    """Give the phrases of a tree, children before parents; words that are not known are their class.

    Examples
    --------
    >>> from polyadic.text.syntax.brackets import parse_phrase
    >>> for node in nodes_of(parse_phrase("(NP (DT the) (NN cat))"), {"the"}):
    ...     print(node.rule, node.below, node.span)
    ('DT', 'the') () (0, 1)
    ('NN', '<l>') () (1, 2)
    ('NP', 'DT', 'NN') (0, 1) (0, 2)
    """
    nodes: list[Node] = []

    def visit(phrase: Phrase, first: int) -> int:
        if phrase.word is not None:
            word = class_of(phrase.word, known, first=first == 0)
            nodes.append(Node(phrase.label, (phrase.label, word), (), (first, first + 1)))
            return len(nodes) - 1
        below: list[int] = []
        place = first
        for child in phrase.below:
            below.append(visit(child, place))
            place = nodes[below[-1]].span[1]
        rule = (phrase.label, *(nodes[k].label for k in below))
        nodes.append(Node(phrase.label, rule, tuple(below), (first, place)))
        return len(nodes) - 1

    visit(tree, 0)
    return nodes


def inside_features(nodes: list[Node]) -> list[list[str]]:
    """Give for each node names of what is in it: rules on top of it, its ends, and how long it is."""
    tags = [node.label for node in nodes if not node.below]
    rules = [" ".join(node.rule) for node in nodes]
    table = []
    for node, rule in zip(nodes, rules, strict=True):
        first, last = node.span
        row = ["", f"rule {rule}"]
        row += [f"child {k} {rule} / {rules[child]}" for k, child in enumerate(node.below)]
        if node.below:
            row += [f"first {tags[first]}", f"last {tags[last - 1]}", f"length {min((last - first).bit_length(), 6)}"]
        table.append(row)
    return table


def outside_features(nodes: list[Node]) -> list[list[str]]:
    """Give for each node names of what is around it: rules above it, and the tags beside it."""
    tags = ["<s>", *(node.label for node in nodes if not node.below), "</s>"]
    above: list[tuple[str, ...]] = [()] * len(nodes)
    for parent in range(len(nodes) - 1, -1, -1):
        node = nodes[parent]
        for k, child in enumerate(node.below):
            above[child] = (f"{k} {' '.join(node.rule)}", *above[parent][:2])
    table = []
    for node, rules in zip(nodes, above, strict=True):
        first, last = node.span
        row = ["", f"left {tags[first]}", f"right {tags[last + 1]}", f"beside {tags[first]} {tags[last + 1]}"]
        table.append(row + [f"above {' / '.join(rules[: k + 1])}" for k in range(len(rules))])
    return table
