"""Matrix and tensor factorization of language."""

from lowrank._lazy import attach

_HOMES = {
    "AsymmetricCP": ".models.words.asymmetric",
    "CP": ".forms",
    "ConvolutionalSentences": ".models.sentences.convolutional",
    "Corpus": ".text.corpus",
    "CorrespondenceAnalysis": ".models.tables.correspondence",
    "Embedding": ".embedding",
    "Entries": ".data",
    "GloVe": ".models.words.glove",
    "InputError": ".errors",
    "JointCP": ".models.words.joint",
    "KernelCorrespondenceAnalysis": ".models.tables.kernel_correspondence",
    "L1": ".penalties",
    "L2": ".penalties",
    "MissingExtraError": ".errors",
    "LogCountRatio": ".models.sentences.bayes",
    "MeanSentences": ".models.sentences.mean",
    "MultipleCorrespondenceAnalysis": ".models.tables.multiple",
    "NNSE": ".models.words.sparse_coding",
    "NonNegative": ".penalties",
    "Objective": ".objective",
    "PPMISVD": ".models.words.pairwise",
    "PoissonCP": ".models.words.poisson",
    "RandomVectors": ".models.words.chance",
    "Squared": ".losses",
    "ScoreRegression": ".models.sentences.pairs",
    "SymmetricCP": ".models.words.symmetric",
    "Term": ".objective",
    "Tucker": ".models.words.tucker",
    "Vocabulary": ".text.vocabulary",
    "Word2Vec": ".models.words.neural",
    "count": ".text.counts",
    "ppmi": ".text.weighting",
    "read_tns": ".tns",
    "read_vectors": ".embedding",
    "write_tns": ".tns",
    "write_vectors": ".embedding",
}

__version__ = "0.1.0"
__all__ = sorted([*_HOMES, "__version__"])  # noqa: PLE0605 the names are strings
__getattr__, __dir__ = attach(__name__, _HOMES)
