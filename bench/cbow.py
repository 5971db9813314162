"""Wall time from an encoded corpus to vectors: joint CP of pairs and triples against gensim's CBOW, in alternation.

LOWRANK_DATA=... python bench/cbow.py CORPUS --rank 300

Ours counts pairs and triples, weights them and factorizes both (`JCP-S`: free factors; `JCP-SN`: non-negative), with
all threads. CBOW makes five epochs with two workers from sentences in memory (`sentences`) and from a file of lines
(`corpus_file`, gensim's fastest way). Both use the words of the corpus. Scores are those of `bench/defaults.py`, on the
development half of the outlier groups.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from defaults import scores

from lowrank import L2, Corpus, Embedding, NonNegative, SymmetricCP, count, ppmi


def joint(corpus: Corpus, rank: int, penalty, **how) -> Embedding:
    tensors = [
        ppmi(count(corpus, order=2, width=10, min_count=how.pop("pairs", 1)), weights="log"),
        ppmi(count(corpus, order=3, width=10, min_count=how.pop("triples", 2)), weights="log"),
    ]
    model = SymmetricCP(rank, penalty=penalty, zero_weight=0.1, seed=0, **how).fit(tensors)
    print(f"    {sum(map(len, tensors)):,} entries, {model.n_iter_} sweeps", flush=True)
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
        "JCP-S": lambda: joint(corpus, options.rank, L2()),
        "JCP-SN": lambda: joint(corpus, options.rank, NonNegative()),
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
