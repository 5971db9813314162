"""Sentences with labels, and pairs of sentences with scores."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from polyadic.core.errors import InputError, check_choice
from polyadic.datasets.place import check_count, folder, text

if TYPE_CHECKING:
    import os
    from pathlib import Path

    Root = str | os.PathLike[str] | None

LABELLED = {
    "mr": (("mr/rt-polarity.neg", "mr/rt-polarity.pos"), 5331),
    "subj": (("subj/plot.tok.gt9.5000", "subj/quote.tok.gt9.5000"), 5000),
}
PARAPHRASES = {"train": 4076, "test": 1725}
STS2012 = {
    "train": {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 734},
    "test": {"MSRpar": 750, "MSRvid": 750, "SMTeuroparl": 459, "surprise.OnWN": 750, "surprise.SMTnews": 399},
}
"""Sets and their sizes."""


class Labelled(NamedTuple):
    """A sentence with a binary label.

    ``words``: As the set cuts it, with punctuation marks. ``label``: 1 for praise (MR) and for what is subjective
    (SUBJ), else 0.
    """

    words: list[str]
    label: int


class Compared(NamedTuple):
    """Two sentences with their human score.

    ``score``: 1 or 0, a paraphrase or none; or how similar they are, from 0 to 5.
    """

    left: str
    right: str
    score: float


def labelled_sentences(name: str, *, root: Root = None) -> list[Labelled]:
    """Read sentence polarity (``"mr"``, 10,662 sentences) or subjectivity (``"subj"``, 10,000).

    ``root``: See :func:`~polyadic.datasets.folder`; the files are in ``sentences/mr`` and ``sentences/subj``.

    References
    ----------
    Pang, Lee (2005), Seeing stars; Pang, Lee (2004), A sentimental education.
    """
    check_choice("name", name, LABELLED)
    files, size = LABELLED[name]
    sentences = []
    for label, file in enumerate(files):
        path = folder(root) / "sentences" / file
        lines = _lines(path)
        check_count(path, len(lines), size, "sentences")
        sentences += [Labelled(line.split(), label) for line in lines]
    return sentences


def paraphrases(part: str, *, root: Root = None) -> list[Compared]:
    """Read the training part (4,076 pairs) or the test part (1,725) of the Microsoft Research Paraphrase Corpus.

    References
    ----------
    Dolan, Quirk, Brockett (2004), Unsupervised construction of large paraphrase corpora.
    """
    check_choice("part", part, PARAPHRASES)
    path = folder(root) / "sentences" / "msrp" / f"msr_paraphrase_{part}.txt"
    pairs = []
    for number, line in enumerate(_lines(path)[1:], 2):
        fields = line.split("\t")
        if len(fields) != 5 or fields[0] not in ("0", "1"):
            raise InputError(f"{path}, line {number}: expected 0 or 1, two numbers and two sentences; got {line!r:.80}")
        pairs.append(Compared(fields[3], fields[4], float(fields[0])))
    check_count(path, len(pairs), PARAPHRASES[part], "pairs")
    return pairs


def sts2012(part: str, *, root: Root = None) -> dict[str, list[Compared]]:
    """Read the pairs of SemEval-2012 task 6, with scores from 0 to 5, by set.

    ``part``: There are three sets to train on, and two more to test on.

    References
    ----------
    Agirre, Cer, Diab, Gonzalez-Agirre (2012), SemEval-2012 task 6: a pilot on semantic textual similarity.
    """
    check_choice("part", part, STS2012)
    where = folder(root) / "sentences" / "sts2012" / f"STS2012-{part}"
    return {name: _scored(where, name, size) for name, size in STS2012[part].items()}


def _scored(where: Path, name: str, size: int) -> list[Compared]:
    pairs, scores = where / f"STS.input.{name}.txt", where / f"STS.gs.{name}.txt"
    examples = []
    for number, (line, mark) in enumerate(zip(_lines(pairs), _lines(scores), strict=False), 1):
        fields, score = line.split("\t"), _score(mark)
        if len(fields) != 2:
            raise InputError(f"{pairs}, line {number}: expected two sentences with a tab between; got {line!r:.80}")
        if score is None:
            raise InputError(f"{scores}, line {number}: expected a score from 0 to 5; got {mark!r}")
        examples.append(Compared(fields[0], fields[1], score))
    check_count(pairs, len(examples), size, "pairs with a score")
    return examples


def _score(mark: str) -> float | None:
    try:
        score = float(mark)
    except ValueError:
        return None
    return score if math.isfinite(score) and 0 <= score <= 5 else None


def _lines(path: Path) -> list[str]:
    return [line for line in text(path).split("\n") if line.strip()]
