"""Published test sets, as they lie in the folder that ``LOWRANK_DATA`` names, and files of the same kinds.

What is read from the folder is compared with the published counts; nothing is downloaded.
"""

from lowrank.datasets.place import folder
from lowrank.datasets.words import (
    ANALOGIES,
    OUTLIERS,
    SIMILARITY,
    Pair,
    Question,
    analogy_questions,
    gensim_file,
    outlier_groups,
    read_outlier_group,
    read_pairs,
    read_questions,
    similarity_sets,
)

__all__ = [
    "ANALOGIES",
    "OUTLIERS",
    "SIMILARITY",
    "Pair",
    "Question",
    "analogy_questions",
    "folder",
    "gensim_file",
    "outlier_groups",
    "read_outlier_group",
    "read_pairs",
    "read_questions",
    "similarity_sets",
]
