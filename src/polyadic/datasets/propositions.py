"""Sentences with semantic roles: the Universal Propositions of English Web text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyadic.datasets.place import check_count, folder
from polyadic.errors import check_choice
from polyadic.text.syntax.propositions import Sentence, read_propositions

if TYPE_CHECKING:
    import os

    Root = str | os.PathLike[str] | None

PROPOSITIONS = {"dev": 2_002, "test": 2_077}
"""Sentences of each part; that for training is not public."""
PREDICATES = {"dev": 4_977, "test": 4_799}


def web_propositions(part: str, *, root: Root = None) -> list[list[Sentence]]:
    """Read a part of the English Web Treebank with its Universal Propositions (1.0): the sentences of each document.

    Parameters
    ----------
    part : str
        One of :data:`PROPOSITIONS`.
    root : path, optional
        See :func:`~polyadic.datasets.folder`; the files are in ``syntax/up-english-ewt``.

    Raises
    ------
    InputError
        If the part is unknown, the file cannot be read, a line is malformed, or the size is not the published one.

    References
    ----------
    Akbik et al. (2015), Generating high quality proposition banks for multilingual semantic role labeling.
    https://github.com/System-T/UniversalPropositions
    """
    check_choice("part", part, PROPOSITIONS)
    path = folder(root) / "syntax" / "up-english-ewt" / f"en_ewt-up-{part}.conllu"
    sentences = list(read_propositions(path))
    check_count(path, len(sentences), PROPOSITIONS[part], "sentences")
    check_count(path, sum(len(one.propositions) for one in sentences), PREDICATES[part], "predicates")
    documents: list[list[Sentence]] = []
    for sentence in sentences:
        if not documents or any(line.startswith("# newdoc") for line in sentence.tree.comments):
            documents.append([])
        documents[-1].append(sentence)
    return documents


def split_documents(documents: list[list[Sentence]], *, every: int = 5) -> tuple[list[Sentence], list[Sentence]]:
    """Give the sentences of all documents but each fifth, or another, and those of the others.

    Neighbouring documents are of one kind (weblogs, news, mail, reviews, answers), so both parts have all kinds.

    Examples
    --------
    >>> split_documents([["a"], ["b", "c"], ["d"]], every=2)
    (['a', 'd'], ['b', 'c'])
    """
    parts: tuple[list[Sentence], list[Sentence]] = ([], [])
    for at, document in enumerate(documents, 1):
        parts[at % every == 0].extend(document)
    return parts
