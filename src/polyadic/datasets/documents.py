"""Document data sets with topic or sentiment labels.

BBC news articles in five categories (``topics/bbc`` in the folder of test sets), bags of words of posts of the KOS blog
(``topics/docword.kos.txt.gz``), and film reviews, the polarity data set of Pang and Lee (``sentences/polarity-v2``).
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from polyadic.core.errors import InputError
from polyadic.datasets.place import check_count, folder, text
from polyadic.metrics.sentiment import Review

Root = str | os.PathLike[str] | None
BBC = {"business": 510, "entertainment": 386, "politics": 417, "sport": 511, "tech": 401}
"""Number of articles by folder."""
KOS = (3430, 6906, 353160)  # number of posts, of words, and of nonzero counts
REVIEWS = {"pos": 1000, "neg": 1000}  # number of reviews by folder


class Article(NamedTuple):
    """News article: heading and paragraphs, the folder name as label, and the file name without suffix."""

    text: str
    label: str
    name: str


def bbc(root: Root = None) -> list[Article]:
    """Load 2,225 BBC news articles from 2004 and 2005 in five categories, sorted by category and file name.

    All files but one are UTF-8; that one is Latin-1. The source is Greene, Cunningham (2006), Practical solutions to
    the problem of diagonal dominance in kernel document clustering.
    """
    where = folder(root) / "topics" / "bbc"
    articles = []
    for label, number in BBC.items():
        files = sorted((where / label).glob("*.txt"))
        check_count(where / label, len(files), number, "articles")
        articles += [Article(_text(file), label, file.stem) for file in files]
    return articles


def kos(root: Root = None) -> csr_array:
    """Load the KOS data set as a sparse table: counts of 6,906 words in 3,430 blog posts, without the words themselves.

    The source is Newman (2008), Bag of words, UCI machine learning repository.
    """
    file = folder(root) / "topics" / "docword.kos.txt.gz"
    try:
        with gzip.open(file, "rt", encoding="ascii") as stream:
            numbers = np.array(stream.read().split(), np.int64)
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{file} cannot be read: {error}") from None
    check_count(file, len(numbers), 3 + 3 * KOS[2], "numbers")
    for number, published, what in zip(numbers[:3].tolist(), KOS, ("posts", "words", "pairs"), strict=True):
        check_count(file, number, published, what)
    rows, columns, counts = numbers[3:].reshape(-1, 3).T
    if not (0 < rows.min() <= rows.max() <= KOS[0] and 0 < columns.min() <= columns.max() <= KOS[1]):
        raise InputError(f"{file} is damaged: a post or word index is out of range")
    return csr_array((counts.astype(np.float32), (rows - 1, columns - 1)), shape=KOS[:2])


def polarity(root: Root = None) -> list[Review]:
    """Load the 2,000 film reviews of the polarity data set, version 2.0, sorted by label and name.

    A review has one sentence per line, in lower case, with tokens separated by white space. The text is ASCII, except
    for some control characters in place of typographic marks, which are kept. The name of a review is that of its file
    without suffix, such as ``cv000_29590``; the first of its three digits is the fold. The source is Pang and Lee
    (2004), A sentimental education: sentiment analysis using subjectivity summarization based on minimum cuts.
    """
    where = folder(root) / "sentences" / "polarity-v2"
    reviews = []
    for label, number in REVIEWS.items():
        files = sorted((where / label).glob("cv*.txt"))
        check_count(where / label, len(files), number, "reviews")
        for file in files:
            content = text(file)
            if not content.strip():
                raise InputError(f"{file} is empty; a review must contain at least one word")
            reviews.append(Review(content, label == "pos", file.stem))
    return reviews


def _text(file: Path) -> str:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error}") from None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")
