"""Published research data sets, read from the folder that ``POLYADIC_DATA`` names; nothing is downloaded."""

from experiments.data.knowledge import KNOWLEDGE, Knowledge, knowledge
from experiments.data.multilabel import MULTILABEL, Labelling, multilabel, read_label_names, read_labelling
from experiments.data.ratings import (
    CiteULike,
    Film,
    Fold,
    LastFM,
    MovieLens,
    Viewer,
    citeulike,
    lastfm,
    movielens,
    movielens_fold,
)
from experiments.data.sentences import (
    LABELLED,
    PARAPHRASES,
    STS2012,
    Compared,
    Labelled,
    labelled_sentences,
    paraphrases,
    sts2012,
)

__all__ = [
    "KNOWLEDGE",
    "LABELLED",
    "MULTILABEL",
    "PARAPHRASES",
    "STS2012",
    "CiteULike",
    "Compared",
    "Film",
    "Fold",
    "Knowledge",
    "Labelled",
    "Labelling",
    "LastFM",
    "MovieLens",
    "Viewer",
    "citeulike",
    "knowledge",
    "labelled_sentences",
    "lastfm",
    "movielens",
    "movielens_fold",
    "multilabel",
    "paraphrases",
    "read_label_names",
    "read_labelling",
    "sts2012",
]
