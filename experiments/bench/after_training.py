"""What can be done to word vectors after training: means removed, columns and singular values rescaled.

    python -m experiments.bench.after_training VECTORS

VECTORS is of `polyadic train`. Development data only: every second group of WikiSem500, 8-8-8, mean of the ten sets.
"""

import sys

import numpy as np

from polyadic import Embedding
from polyadic.datasets import outlier_groups, similarity_sets
from polyadic.metrics.outliers import outliers
from polyadic.metrics.similarity import similarity


def changed(V: np.ndarray) -> dict[str, np.ndarray]:
    """Give the vectors in each way."""
    norms = np.linalg.norm(V, axis=0)
    norms[norms == 0] = 1
    U, s, _ = np.linalg.svd(V, full_matrices=False)
    return {
        "as trained": V,
        "mean removed": V - V.mean(axis=0),
        **{f"columns times their norm to the power {p:g}": V * norms**p for p in (-0.5, 0.5)},
        **{f"singular values to the power {q:g}": U * s**q for q in (0.5, 0.75, 1.5)},
        "first two singular vectors removed": (U * s)[:, 2:],
    }


def main() -> None:
    """Print a row for each."""
    vectors = Embedding.load(sys.argv[1])
    development, small, sets = outlier_groups("wikisem500")[::2], outlier_groups("8-8-8"), similarity_sets()
    print("| | OD2 OPP | OD2 acc | OD3 OPP | OD3 acc | 8-8-8 | similarity |\n|---|---|---|---|---|---|---|")
    for name, V in changed(vectors.vectors.astype(float)).items():
        e = Embedding(vectors.words, V)
        found = [outliers(e, development, order=order, resamples=1) for order in (2, 3)]
        numbers = [number for one in found for number in (one.opp, one.accuracy)]
        numbers += [outliers(e, small, resamples=1).accuracy]
        numbers += [float(np.mean([similarity(e, pairs).spearman for pairs in sets.values()]))]
        print(f"| {name} | {' | '.join(f'{x:.3f}'.removeprefix('0') for x in numbers)} |", flush=True)


if __name__ == "__main__":
    main()
