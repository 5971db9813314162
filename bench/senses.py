"""How rightly the senses of words are found: two words taken for one, and words of one sense.

python bench/senses.py CORPUS VECTORS WORDS [--pairs 40] [--singles 60] [--seed 11]

WORDS has a word of one sense on each line. Two of them with a cosine of at most .1 are taken for one word; found again
are two senses, and F1 is that of the best one-to-one match of senses and words, weighed by their sizes (one sense has
.33 at 1:1). A word alone that is given two senses is a false alarm.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from polyadic import Corpus, Embedding, WordSenses

SIZES, RATIOS = (200, 1_000, 5_000), (1, 4)


def f1(truth: np.ndarray, labels: np.ndarray) -> float:
    both = np.zeros((truth.max() + 1, labels.max() + 1))
    np.add.at(both, (truth, labels), 1)
    sizes = both.sum(axis=1)
    scores = 2 * both / (both.sum(axis=0) + sizes[:, None])
    at = linear_sum_assignment(-scores * sizes[:, None])
    return float((scores[at] * sizes[at[0]]).sum() / sizes.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("corpus", "vectors", "words"):
        parser.add_argument(name)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--singles", type=int, default=60)
    parser.add_argument("--seed", type=int, default=11)
    options = parser.parse_args()
    corpus, vectors = Corpus.open(options.corpus), Embedding.load(options.vectors)
    started = time.process_time()
    space = WordSenses.learn(vectors, corpus)
    print(f"learned in {time.process_time() - started:.1f} s of processor time", flush=True)
    listed = Path(options.words).read_text(encoding="utf-8").split()
    words = [word for word in listed if word in vectors and word in corpus.vocabulary]
    count = {word: int(corpus.vocabulary.counts[corpus.vocabulary[word]]) for word in words}
    ids, rng = np.asarray(corpus.ids), np.random.default_rng(options.seed)
    places: dict[str, np.ndarray] = {}

    def drawn(word: str, n: int) -> np.ndarray:
        if word not in places:
            places[word] = np.flatnonzero(ids == corpus.vocabulary[word])
        return rng.permutation(places[word])[:n]

    print("occurrences  ratio  items  two senses  more  F1")
    for n in SIZES:
        for ratio in RATIOS:
            sizes = (n * ratio // (ratio + 1), n // (ratio + 1))
            pools = [[w for w in words if size <= count[w] <= 20 * size] for size in sizes]
            pairs: set[tuple[str, str]] = set()
            for _ in range(5_000):
                if len(pairs) == options.pairs or not all(pools):
                    break
                a, b = (str(rng.choice(pool)) for pool in pools)
                if a != b and vectors.similarity(a, b) <= 0.1:
                    pairs.add((a, b))
            rows = []
            for a, b in sorted(pairs):
                one, other = drawn(a, sizes[0]), drawn(b, sizes[1])
                labels = space.divide(np.concatenate([one, other]), [a, b])
                rows.append((labels.max() + 1, f1(np.repeat([0, 1], [len(one), len(other)]), labels)))
            k, scores = np.array(rows).T
            print(
                f"{n:11,}  {ratio}:1  {len(k):5}  {np.mean(k == 2):10.2f}  {np.mean(k > 2):.2f}  {scores.mean():.3f}",
                flush=True,
            )
        least = n if n < max(SIZES) else n // 2
        alone = [str(w) for w in rng.permutation([w for w in words if least <= count[w] <= 20 * n])[: options.singles]]
        split = [w for w in alone if space.divide(drawn(w, n), [w]).max()]
        print(
            f"{n:11,}  alone  {len(alone):4}  false alarms {len(split) / max(len(alone), 1):.3f}  {' '.join(split)}",
            flush=True,
        )
    print(f"{time.process_time() - started:.0f} s of processor time")


if __name__ == "__main__":
    main()
