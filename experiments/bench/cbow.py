"""Wall time from an encoded corpus to vectors: joint CP of pairs and triples against gensim's CBOW, in alternation.

POLYADIC_DATA=... python -m experiments.bench.cbow CORPUS --rank 300

Ours counts pairs seen twice and triples seen five times, weights them and factorizes both (`JCP-S`: free factors;
`JCP-SN`: non-negative), with all threads. CBOW makes five epochs with two workers, from sentences in memory and from a
file of lines. Both use the words of the corpus. Scores are those of `experiments/bench/defaults.py`, on the
development half of the outlier groups.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from defaults import scores

from polyadic import L2, PPMISVD, Corpus, Embedding, NonNegative, SymmetricCP, count, ppmi


def joint(corpus: Corpus, rank: int, sweeps: int, *, eigenvectors: bool, penalty=None) -> Embedding:
    tensors = [ppmi(count(corpus, order=order, width=10, min_count=n)) for order, n in ((2, 2), (3, 5))]
    start = PPMISVD(rank, seed=0).fit(tensors[0]).vectors_ if eigenvectors else None
    how = {"max_iter": sweeps, "tol": 1e-3 if sweeps > 100 else 0, "zero_weight": 0.1, "zero_power": 0.0, "seed": 0}
    model = SymmetricCP(rank, penalty=penalty or L2(), start=start, **how).fit(tensors)
    print(
        f"    {sum(map(len, tensors)):,} entries, {model.n_iter_} sweeps, objective {model.history_[-1]:,.4g}",
        flush=True,
    )
    return model.embedding(corpus.vocabulary.words)


def cbow(corpus: Corpus, rank: int, **text) -> Embedding:
    from gensim.models import Word2Vec

    model = Word2Vec(vector_size=rank, min_count=1, workers=2, epochs=5, seed=0, sg=0, **text)
    words = corpus.vocabulary.words
    return Embedding(words, model.wv[words])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--rank", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    corpus = Corpus.open(options.corpus)
    sentences = [sentence for number in range(len(corpus.documents) - 1) for sentence in corpus.document(number)]
    contenders = {
        "JCP-S, eigenvectors, 10 sweeps": lambda: joint(corpus, options.rank, 10, eigenvectors=True),
        "JCP-S, eigenvectors, 20 sweeps": lambda: joint(corpus, options.rank, 20, eigenvectors=True),
        "JCP-S, random, to rest": lambda: joint(corpus, options.rank, 300, eigenvectors=False),
        "JCP-SN, random, to rest": lambda: joint(corpus, options.rank, 300, eigenvectors=False, penalty=NonNegative()),
        "CBOW, sentences": lambda: cbow(corpus, options.rank, sentences=sentences),
        "CBOW, corpus_file": lambda: cbow(corpus, options.rank, corpus_file=lines.name),
    }
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as lines:
        lines.writelines(" ".join(sentence) + "\n" for sentence in sentences)
        lines.flush()
        took: dict[str, list[float]] = {name: [] for name in contenders}
        for number in range(options.rounds):
            for name, train in contenders.items():
                start = time.perf_counter()
                vectors = train()
                took[name].append(time.perf_counter() - start)
                print(f"{name}: {took[name][-1]:.1f} s {scores(vectors) if not number else ''}", flush=True)
    for name, seconds in took.items():
        print(f"| {name} | {statistics.median(seconds):.1f} s |")


if __name__ == "__main__":
    main()
