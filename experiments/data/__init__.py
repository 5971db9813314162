"""Published research data sets, read from the folder that ``POLYADIC_DATA`` names; nothing is downloaded."""

from experiments.data.multilabel import multilabel
from experiments.data.ratings import citeulike, lastfm, movielens, movielens_fold
from experiments.data.sentences import STS2012, Compared, labelled_sentences, paraphrases, sts2012

__all__ = ["STS2012", "Compared", "citeulike", "labelled_sentences", "lastfm", "movielens"]
__all__ += ["movielens_fold", "multilabel", "paraphrases", "sts2012"]
