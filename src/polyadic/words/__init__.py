"""Word vectors from word tuples and running text: models, training, and evaluation."""

from polyadic.core.lazy import attach

HOMES = {
    "AsymmetricCP": "polyadic.words.asymmetric",
    "Corpus": "polyadic.text.corpus",
    "Embedding": "polyadic.embedding",
    "GloVe": "polyadic.words.glove",
    "JointCP": "polyadic.words.joint",
    "NNSE": "polyadic.words.sparse_coding",
    "PPMISVD": "polyadic.words.pairwise",
    "PoissonCP": "polyadic.words.poisson",
    "PositionCBOW": "polyadic.words.position_cbow",
    "RandomVectors": "polyadic.words.random_baseline",
    "SymmetricCP": "polyadic.words.symmetric",
    "Tucker": "polyadic.words.tucker",
    "Vocabulary": "polyadic.text.vocabulary",
    "Word2Vec": "polyadic.words.neural",
    "WordSenses": "polyadic.words.occurrences",
    "count": "polyadic.text.counts",
    "ppmi": "polyadic.text.weighting",
    "read_vectors": "polyadic.embedding",
    "train": "polyadic.words.training",
    "write_vectors": "polyadic.embedding",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
