"""Annotated sentences: trees, semantic roles and chunks.

The sample of the Penn Treebank, the Universal Dependencies and Universal Propositions of English Web text, and the
shared task CoNLL-2000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from polyadic.core.errors import InputError, check_choice
from polyadic.datasets.place import check_count, folder
from polyadic.syntax.brackets import Phrase, clean, read_phrases
from polyadic.syntax.columns import read_columns
from polyadic.syntax.propositions import Sentence, read_propositions
from polyadic.syntax.trees import Tree, numbered_sentences, parsed_heads, read_trees

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    Root = str | os.PathLike[str] | None

PENN = {"files": 199, "sentences": 3_914}
"""Size of the sample, about 5 % of the Wall Street Journal part."""
EWT = {"train": 12_544, "dev": 2_001, "test": 2_077}
"""Sentences of each part."""


def penn_sample(*, root: Root = None) -> list[list[Phrase]]:
    """Read the sample of the Penn Treebank: the clean trees of each file, in the order of the files.

    The sample is the articles ``wsj_0001`` to ``wsj_0199``, all from sections 0 and 1.

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

    ``part``: One of :data:`EWT`. ``root``: See :func:`~polyadic.datasets.folder`; the files are in
    ``syntax/ud-english-ewt``.

    References
    ----------
    Silveira et al. (2014), A gold standard dependency corpus for English. https://universaldependencies.org
    """
    check_choice("part", part, EWT)
    path = folder(root) / "syntax" / "ud-english-ewt" / f"en_ewt-ud-{part}.conllu"
    trees = list(read_trees(path))
    check_count(path, len(trees), EWT[part], "sentences")
    return trees


PROPOSITIONS = {"dev": 2_002, "test": 2_077}
"""Sentences of each part; that for training is not public."""
PREDICATES = {"dev": 4_977, "test": 4_799}


def web_propositions(part: str, *, root: Root = None) -> list[list[Sentence]]:
    """Read a part of the English Web Treebank with its Universal Propositions (1.0): the sentences of each document.

    ``part``: One of :data:`PROPOSITIONS`. ``root``: See :func:`~polyadic.datasets.folder`; the files are in
    ``syntax/up-english-ewt``.

    References
    ----------
    Akbik et al. (2015), Generating high quality proposition banks for multilingual semantic role labeling.
    https://github.com/System-T/UniversalPropositions
    """
    check_choice("part", part, PROPOSITIONS)
    path = folder(root) / "syntax" / "up-english-ewt" / f"en_ewt-up-{part}.conllu"
    sentences = list(read_propositions(path))
    check_count(path, len(sentences), PROPOSITIONS[part], "sentences")
    check_count(path, sum(len(sentence.propositions) for sentence in sentences), PREDICATES[part], "predicates")
    documents: list[list[Sentence]] = []
    for sentence in sentences:
        if not documents or any(line.startswith("# newdoc") for line in sentence.tree.comments):
            documents.append([])
        documents[-1].append(sentence)
    return documents


def read_tagged_trees(path: str | os.PathLike[str]) -> Iterator[Tree]:
    """Read sentences with columns form, tag, head and optionally relation, as in the Penn Treebank sample."""
    for start, sentence in numbered_sentences(path):
        rows = [line.split("\t") for line in sentence]
        for at, row in enumerate(rows, start):
            if len(row) != len(rows[0]) or len(row) not in {3, 4}:
                raise InputError(f"{path}, line {at} must have 3 or 4 columns, the same in all lines; got {len(row)}")
        forms, tags, above, *rest = map(tuple, zip(*rows, strict=True))
        heads = parsed_heads(above, f"{path}, sentence from line {start}")
        none = ("_",) * len(rows)
        yield Tree(forms, none, none, tags, none, heads, rest[0] if rest else none, none, none)


def split_documents(documents: list[list[Sentence]], *, every: int = 5) -> tuple[list[Sentence], list[Sentence]]:
    """Return the sentences of all documents but each fifth, or another, and those of the others.

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


CONLL2000 = {"train": (8_936, 211_727), "test": (2_012, 47_377)}
"""Sentences and words of each part: sections 15 to 18 of the Wall Street Journal, and section 20."""


class Chunked(NamedTuple):
    """Words of a sentence, their parts of speech, and tags of chunks such as ``B-NP``."""

    forms: tuple[str, ...]
    tags: tuple[str, ...]
    chunks: tuple[str, ...]


def chunks(part: str, *, root: Root = None) -> list[Chunked]:
    """Read a part of the data of CoNLL-2000: parts of speech are those of a tagger.

    ``part``: One of :data:`CONLL2000`. ``root``: See :func:`~polyadic.datasets.folder`; the files are in
    ``syntax/conll2000``.

    References
    ----------
    Tjong Kim Sang, Buchholz (2000), Introduction to the CoNLL-2000 shared task: chunking
    """
    check_choice("part", part, CONLL2000)
    path = folder(root) / "syntax" / "conll2000" / f"{part}.txt"
    sentences = [Chunked(*columns) for columns in read_columns(path, columns=3)]
    check_count(path, len(sentences), CONLL2000[part][0], "sentences")
    check_count(path, sum(len(sentence.forms) for sentence in sentences), CONLL2000[part][1], "words")
    return sentences
