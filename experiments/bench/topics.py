"""Latent Dirichlet allocation beside scikit-learn's and gensim's.

CORPUS is made by `polyadic corpus`. Seconds by the clock and of the processor; perplexity of half of the words of
held-out documents, given the other half, by each library's own fold-in; coherence (NPMI) of ten words a topic. The
others have their defaults, scikit-learn in batches (ten sweeps). Set OPENBLAS_NUM_THREADS=1.
"""

import itertools
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array
from sklearn.decomposition import LatentDirichletAllocation

from experiments.bench.common import heading, installed, row, timed
from polyadic import Corpus
from polyadic.metrics.topics import halves, in_documents, npmi_coherence
from polyadic.text.documents import document_table
from polyadic.topics import LDA


def of_gensim(train, seen, rank, seed, passes):
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel

    def bags(x):
        return [*Sparse2Corpus(x.T.tocsc().astype(int), documents_columns=True)]

    names = {i: str(i) for i in range(train.shape[1])}
    model = LdaModel(bags(train), num_topics=rank, id2word=names, random_state=seed, passes=passes)
    return model.get_topics(), lambda: model.inference(bags(seen))[0]


def of_sklearn(train, seen, rank, seed):
    model = LatentDirichletAllocation(rank, random_state=seed).fit(train)
    return model.components_, lambda: model.transform(seen)


def ours(train, seen, rank, seed, threads):
    model = LDA(rank, seed=seed, threads=threads).fit(train)
    return model.components_, lambda: model.transform(seen)


def main(corpus: Path, *, rank: int = 20, repeats: int = 2, held: int = 2000) -> None:
    x = csr_array(document_table(Corpus.open(corpus)))
    order = np.random.default_rng(0).permutation(x.shape[0])
    tested, train = (x[np.sort(some)] for some in (order[:held], order[held:]))
    seen, hidden = halves(tested, seed=0)
    these = {f"polyadic, {n} threads": (ours, {"threads": n}) for n in (1, 2)} | {"scikit-learn": (of_sklearn, {})}
    if installed("gensim"):
        these |= {f"gensim, {n} passes": (of_gensim, {"passes": n}) for n in (1, 5)}
    LDA(2, max_iter=2, tol=0, seed=0).fit(train[:50])  # compiled
    print(f"{train.shape[0]:,} documents, {train.shape[1]:,} words, {train.nnz:,} counts\n")
    heading("", "seconds", "of the processor", "perplexity", "NPMI")
    for seed, (name, (fit, how)) in itertools.product(range(repeats), these.items()):
        clock, processor, (topics, fold_in) = timed(lambda: fit(train, seen, rank, seed, **how))  # noqa: B023
        H, W = topics / topics.sum(axis=1, keepdims=True), fold_in()
        at, words = hidden.nonzero()
        p = np.einsum("ij,ij->i", (W / W.sum(axis=1, keepdims=True))[at], H.T[words])
        perplexity = np.exp(-(hidden.data @ np.log(p)) / hidden.data.sum())
        top = [tuple(np.argsort(-weights)[:10].tolist()) for weights in H]
        coherence = npmi_coherence(top, in_documents(x, np.unique(top))).mean()
        row(name, f"{clock:.1f}", f"{processor:.1f}", f"{perplexity:,.0f}", f"{coherence:.3f}")
