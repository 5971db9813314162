"""Published test sets in the folder given by ``POLYADIC_DATA``, and readers for files in the same formats.

The published sets are checked against their published sizes; nothing is downloaded.
"""

from polyadic.datasets.documents import BBC, KOS, Article, bbc, kos, polarity
from polyadic.datasets.place import folder
from polyadic.datasets.senses import (
    SEMEVAL2013,
    SENSEVAL,
    Instance,
    SenseSet,
    read_instances,
    read_sense_key,
    read_senseval,
    semeval2013,
    senseval,
)
from polyadic.datasets.words import (
    ANALOGIES,
    OUTLIERS,
    SIMILARITY,
    Pair,
    Question,
    analogy_questions,
    gensim_file,
    outlier_groups,
    read_candidates,
    read_gaps,
    read_outlier_group,
    read_outlier_groups,
    read_pairs,
    read_phrases,
    read_questions,
    similarity_sets,
    write_candidates,
    write_gaps,
    write_phrases,
)
from polyadic.metrics.sentiment import Review

__all__ = [
    "ANALOGIES",
    "BBC",
    "KOS",
    "OUTLIERS",
    "SEMEVAL2013",
    "SENSEVAL",
    "SIMILARITY",
    "Article",
    "Instance",
    "Pair",
    "Question",
    "Review",
    "SenseSet",
    "analogy_questions",
    "bbc",
    "folder",
    "gensim_file",
    "kos",
    "outlier_groups",
    "polarity",
    "read_candidates",
    "read_gaps",
    "read_instances",
    "read_outlier_group",
    "read_outlier_groups",
    "read_pairs",
    "read_phrases",
    "read_questions",
    "read_sense_key",
    "read_senseval",
    "semeval2013",
    "senseval",
    "similarity_sets",
    "write_candidates",
    "write_gaps",
    "write_phrases",
]
