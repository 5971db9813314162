"""Published test sets, as they lie in the folder that ``LOWRANK_DATA`` names, and files of the same kinds.

What is read from the folder is compared with the published counts; nothing is downloaded.
"""

from lowrank.datasets.made import (
    read_candidates,
    read_gaps,
    read_phrases,
    write_candidates,
    write_gaps,
    write_phrases,
)
from lowrank.datasets.place import folder
from lowrank.datasets.reviews import Review, polarity
from lowrank.datasets.senses import (
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
from lowrank.datasets.sentences import (
    LABELLED,
    PARAPHRASES,
    STS2012,
    Compared,
    Labelled,
    labelled_sentences,
    paraphrases,
    sts2012,
)
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
    read_outlier_groups,
    read_pairs,
    read_questions,
    similarity_sets,
)

__all__ = [
    "ANALOGIES",
    "LABELLED",
    "OUTLIERS",
    "PARAPHRASES",
    "SEMEVAL2013",
    "SENSEVAL",
    "SIMILARITY",
    "STS2012",
    "Compared",
    "Instance",
    "Labelled",
    "Pair",
    "Question",
    "Review",
    "SenseSet",
    "analogy_questions",
    "folder",
    "gensim_file",
    "labelled_sentences",
    "outlier_groups",
    "paraphrases",
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
    "sts2012",
    "write_candidates",
    "write_gaps",
    "write_phrases",
]
