r"""Tagging and chunking: token accuracy, and precision, recall and F1 of labelled spans.

``B-NP`` begins a span of kind NP, ``I-NP`` continues it, ``O`` is outside. With m spans that agree in kind, first and
last word, f predicted spans and g spans in the treebank, summed over sentences:

.. math:: \text{precision} = m / f, \qquad \text{recall} = m / g, \qquad F_1 = 2 m / (f + g)

As in ``conlleval``, the program of the shared tasks, an ``I-NP`` that does not follow a span of its kind begins one.

References
----------
Tjong Kim Sang, Buchholz (2000), Introduction to the CoNLL-2000 shared task: chunking
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from polyadic.core.errors import InputError
from polyadic.metrics.figures import Figure
from polyadic.metrics.rows import KindCounts, counts_by_kind

Tags = Sequence[str]


class Span(NamedTuple):
    """Labelled span of the words ``first`` to ``end - 1``, counted from 0."""

    kind: str
    first: int
    end: int


def spell_spans(tags: Iterable[str]) -> bool:
    """Return whether every tag is ``O``, or is ``B-`` or ``I-`` followed by a label."""
    return all(tag == "O" or (tag[:2] in {"B-", "I-"} and len(tag) > 2) for tag in tags)


def begun_by_b(tags: Tags) -> bool:
    """Return whether the tags follow the IOB2 scheme, in which every span begins with ``B-``.

    CoNLL-2000 uses this scheme; in CoNLL-2003 as published, ``B-X`` only begins a span directly after another of its
    kind.

    Examples
    --------
    >>> begun_by_b(["B-NP", "I-NP", "O"]), begun_by_b(["I-NP", "I-NP", "O"])
    (True, False)
    """
    return all(not tag.startswith("I-") or before in (f"B-{tag[2:]}", tag) for before, tag in pairwise(["O", *tags]))


def spans(tags: Tags) -> list[Span]:
    """Return the labelled spans encoded by IOB tags.

    A tag is ``O``, or ``B-`` or ``I-`` with a kind; another form raises InputError.

    Examples
    --------
    >>> spans(["B-NP", "I-NP", "B-NP", "O", "I-VP", "I-NP"])[1:]
    [Span(kind='NP', first=2, end=3), Span(kind='VP', first=4, end=5), Span(kind='NP', first=5, end=6)]
    """
    if not spell_spans(tags):
        raise InputError(f"span tags must be O, or B- or I- followed by a label; got {' '.join(tags)!r}")
    closed, kind, first = [], "", 0
    for at, tag in enumerate([*tags, "O"]):
        if kind and tag != f"I-{kind}":
            closed.append(Span(kind, first, at))
            kind = ""
        if tag != "O" and not kind:
            kind, first = tag[2:], at
    return closed


def span_figures(gold: Sequence[Tags], predicted: Sequence[Tags]) -> list[Figure]:
    """Return F1, precision and recall of spans as metrics with bootstrap confidence intervals over sentences.

    The metrics are NaN if there are no spans. InputError is raised if the numbers of sentences or tokens differ, or a
    tag does not encode spans.

    Examples
    --------
    >>> [f.value for f in span_figures([["B-NP", "I-NP", "O", "B-NP"]], [["B-NP", "I-NP", "B-VP", "O"]])]
    [0.5, 0.5, 0.5]
    """
    rows = []
    for tags, guesses in _paired(gold, predicted):
        a, b = set(spans(tags)), set(spans(guesses))
        rows.append((len(a & b), len(b), len(a)))
    m, f, g = np.array(rows, float).reshape(-1, 3).T
    ratios = {"F1": (2 * m, f + g), "precision": (m, f), "recall": (m, g)}
    return [Figure(name, np.stack(pair, 1), used=int(g.sum()), total=int(g.sum())) for name, pair in ratios.items()]


def by_kind(gold: Sequence[Tags], predicted: Sequence[Tags]) -> list[KindCounts]:
    """Count gold, predicted and matching spans for each label, the most frequent label first.

    Parameters and errors are those of :func:`span_figures`.

    Examples
    --------
    >>> by_kind([["B-NP", "O"]], [["B-NP", "B-VP"]])[0]
    KindCounts(name='NP', gold=1, found=1, matched=1)
    """
    pairs = ((set(spans(tags)), set(spans(guesses))) for tags, guesses in _paired(gold, predicted))
    return counts_by_kind(pairs, lambda span: span.kind)


def tag_accuracy(gold: Sequence[Tags], predicted: Sequence[Tags], *, name: str = "accuracy") -> Figure:
    """Return the share of correctly tagged tokens as a metric with bootstrap confidence intervals over sentences.

    Parameters and errors are those of :func:`span_figures`, but for tags of any form.

    Examples
    --------
    >>> tag_accuracy([["D", "N"], ["V"]], [["D", "V"], ["V"]]).value
    0.6666666666666666
    """
    pairs = [(sum(map(str.__eq__, tags, guesses)), len(tags)) for tags, guesses in _paired(gold, predicted)]
    rows = np.array(pairs, float).reshape(-1, 2)
    return Figure(name, rows, used=int(rows[:, 1].sum()), total=int(rows[:, 1].sum()))


def _paired(gold: Sequence[Tags], predicted: Sequence[Tags]) -> Iterator[tuple[Tags, Tags]]:
    if len(gold) != len(predicted):
        raise InputError(
            f"gold and predicted tags must have the same number of sentences; got {len(gold)} and {len(predicted)}"
        )
    for at, (tags, guesses) in enumerate(zip(gold, predicted, strict=True), 1):
        if len(tags) != len(guesses):
            raise InputError(
                f"sentence {at}: expected one tag for each of the {len(tags)} tokens; got {len(guesses)} tags"
            )
        yield tags, guesses
