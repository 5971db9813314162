"""Sentences with their trees: the sample of the Penn Treebank, and the Universal Dependencies of English Web text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyadic.datasets.place import check_count, folder
from polyadic.errors import InputError, check_choice
from polyadic.text.syntax.brackets import Phrase, clean, read_phrases
from polyadic.text.syntax.trees import Tree, read_trees

if TYPE_CHECKING:
    import os

    Root = str | os.PathLike[str] | None

PENN = {"files": 199, "sentences": 3_914}
"""Size of the sample, about 5 % of the Wall Street Journal part."""
EWT = {"train": 12_544, "dev": 2_001, "test": 2_077}
"""Sentences of each part."""


def penn_sample(*, root: Root = None) -> list[list[Phrase]]:
    """Read the sample of the Penn Treebank: the clean trees of each file, in the order of the files.

    The sample is the articles ``wsj_0001`` to ``wsj_0199``, all from sections 0 and 1.

    Parameters
    ----------
    root : path, optional
        See :func:`~polyadic.datasets.folder`; the files are in ``syntax/ptb-sample/combined``.

    Raises
    ------
    InputError
        If a file cannot be read, brackets do not fit, or a size is not the published one.

    References
    ----------
    Marcus, Santorini, Marcinkiewicz (1993), Building a large annotated corpus of English: the Penn Treebank
    """
    where = folder(root) / "syntax" / "ptb-sample" / "combined"
    paths = sorted(where.glob("wsj_*.mrg"))
    check_count(where, len(paths), PENN["files"], "files")
    files = []
    for path in paths:
        trees = [clean(tree) for tree in read_phrases(path)]
        if None in trees:
            raise InputError(f"{path}: sentence {trees.index(None) + 1} has no words")
        files.append([tree for tree in trees if tree is not None])
    check_count(where, sum(map(len, files)), PENN["sentences"], "sentences")
    return files


def web_treebank(part: str, *, root: Root = None) -> list[Tree]:
    """Read a part of the English Web Treebank in Universal Dependencies.

    Parameters
    ----------
    part : str
        One of :data:`EWT`.
    root : path, optional
        See :func:`~polyadic.datasets.folder`; the files are in ``syntax/ud-english-ewt``.

    Raises
    ------
    InputError
        If the part is unknown, the file cannot be read, a line is malformed, or the size is not the published one.

    References
    ----------
    Silveira et al. (2014), A gold standard dependency corpus for English. https://universaldependencies.org
    """
    check_choice("part", part, EWT)
    path = folder(root) / "syntax" / "ud-english-ewt" / f"en_ewt-ud-{part}.conllu"
    trees = list(read_trees(path))
    check_count(path, len(trees), EWT[part], "sentences")
    return trees
