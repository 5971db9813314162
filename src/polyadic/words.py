"""Word vectors: of tuples of words, of pairs, of running text; how they are trained, kept and written."""

from polyadic._lazy import attach

HOMES = {
    "AsymmetricCP": "polyadic.models.words.asymmetric",
    "Corpus": "polyadic.text.corpus",
    "Embedding": "polyadic.embedding",
    "GloVe": "polyadic.models.words.glove",
    "JointCP": "polyadic.models.words.joint",
    "NNSE": "polyadic.models.words.sparse_coding",
    "PPMISVD": "polyadic.models.words.pairwise",
    "PoissonCP": "polyadic.models.words.poisson",
    "RandomVectors": "polyadic.models.words.chance",
    "SymmetricCP": "polyadic.models.words.symmetric",
    "Tucker": "polyadic.models.words.tucker",
    "Vocabulary": "polyadic.text.vocabulary",
    "Word2Vec": "polyadic.models.words.neural",
    "WordSenses": "polyadic.models.words.occurrences",
    "count": "polyadic.text.counts",
    "ppmi": "polyadic.text.weighting",
    "read_vectors": "polyadic.embedding",
    "train": "polyadic.recipes.words",
    "write_vectors": "polyadic.embedding",
}
__all__ = sorted(HOMES)  # noqa: PLE0605 # the names are strings
__getattr__, __dir__ = attach(__name__, HOMES)
