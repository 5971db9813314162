"""Latent Dirichlet allocation beside scikit-learn's and gensim's.

    OPENBLAS_NUM_THREADS=1 python -m experiments.bench.topics CORPUS [--rank 20] [--repeats 2] [--held 2000]

CORPUS is of `polyadic corpus`. Seconds by the clock and of the processor; perplexity of half of the words of documents
that were held out, given the other half, by each one's own fold-in; coherence (NPMI) of ten words a topic. Peers with
their defaults, scikit-learn in batches (ten sweeps).
"""

import argparse
import importlib.util
import time

import numpy as np
from scipy.sparse import csr_array
from sklearn.decomposition import LatentDirichletAllocation

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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--rank", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--held", type=int, default=2000)
    given = parser.parse_args()
    x = csr_array(document_table(Corpus.open(given.corpus)))
    order = np.random.default_rng(0).permutation(x.shape[0])
    held, train = (x[np.sort(some)] for some in (order[: given.held], order[given.held :]))
    seen, hidden = halves(held, seed=0)
    these = {f"polyadic, {n} threads": (ours, {"threads": n}) for n in (1, 2)} | {"scikit-learn": (of_sklearn, {})}
    if importlib.util.find_spec("gensim"):
        these |= {f"gensim, {n} passes": (of_gensim, {"passes": n}) for n in (1, 5)}
    LDA(2, max_iter=2, tol=0, seed=0).fit(train[:50])  # compiled
    print(f"{train.shape[0]:,} documents, {train.shape[1]:,} words, {train.nnz:,} counts\n")
    print("| | seconds | of the processor | perplexity | NPMI |\n|---|---|---|---|---|")
    for seed in range(given.repeats):
        for name, (fit, how) in these.items():
            clock, processor = time.perf_counter(), time.process_time()
            topics, folded = fit(train, seen, given.rank, seed, **how)
            clock, processor = time.perf_counter() - clock, time.process_time() - processor
            H, W = topics / topics.sum(axis=1, keepdims=True), folded()
            p = np.einsum("ij,ij->i", (W / W.sum(axis=1, keepdims=True))[hidden.nonzero()[0]], H.T[hidden.nonzero()[1]])
            perplexity = np.exp(-(hidden.data @ np.log(p)) / hidden.data.sum())
            top = [tuple(np.argsort(-row)[:10].tolist()) for row in H]
            coherence = npmi_coherence(top, in_documents(x, np.unique(top))).mean()
            print(f"| {name} | {clock:.1f} | {processor:.1f} | {perplexity:,.0f} | {coherence:.3f} |", flush=True)


if __name__ == "__main__":
    main()
