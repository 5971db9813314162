"""Reviews that praise or blame: the polarity data set of Pang and Lee, as it lies in the folder of test sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyadic.datasets.place import check_count, folder, text
from polyadic.errors import InputError
from polyadic.metrics.sentiment import Review

if TYPE_CHECKING:
    import os

__all__ = ["REVIEWS", "Review", "polarity"]

REVIEWS = {"pos": 1000, "neg": 1000}  # folder, number of reviews


def polarity(root: str | os.PathLike[str] | None = None) -> list[Review]:
    r"""Read the 2,000 film reviews of the polarity data set, version 2.0, in order of label and name.

    A review has a sentence on each line, in lower case, with white space around each token. All is ASCII, but for some
    control characters that stand where the original had a typographic mark; they are left as they are. A review is
    named for its file without the ending, such as ``cv000_29590``: its fold is the first of the three digits.

    Parameters
    ----------
    root : path, optional
        See :func:`~polyadic.datasets.folder`; the files are in ``sentences/polarity-v2``.

    Raises
    ------
    InputError
        If a file cannot be read, is empty, or one of the two folders does not hold 1,000 reviews.

    References
    ----------
    Pang and Lee (2004), A sentimental education: sentiment analysis using subjectivity summarization based on minimum
    cuts.
    """
    where = folder(root) / "sentences" / "polarity-v2"
    reviews = []
    for label, number in REVIEWS.items():
        files = sorted((where / label).glob("cv*.txt"))
        check_count(where / label, len(files), number, "reviews")
        for file in files:
            content = text(file)
            if not content.strip():
                raise InputError(f"{file} is empty; a review has at least one word")
            reviews.append(Review(content, label == "pos", file.stem))
    return reviews
