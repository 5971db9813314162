"""Which counts, powers and residuals make word vectors of correspondence analysis: one row each, development data only.

    python -m experiments.bench.tables CORPUS [--rank 300]

CORPUS is of `polyadic corpus`. Outlier detection uses every second group of WikiSem500; similarity is the mean of the
ten sets. PPMI-SVD and the cases of kernel correspondence analysis are beside it.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from polyadic import PPMISVD, Corpus, count, ppmi
from polyadic.datasets import outlier_groups, similarity_sets
from polyadic.metrics.outliers import outliers
from polyadic.metrics.similarity import similarity
from polyadic.tables.vectors import CorrespondenceVectors


def figures(vectors: object) -> list[float]:
    """OPP and accuracy of orders 2 and 3, accuracy of 8-8-8, mean similarity."""
    development = outlier_groups("wikisem500")[::2]
    found = [outliers(vectors, development, order=order, resamples=1) for order in (2, 3)]
    small = outliers(vectors, outlier_groups("8-8-8"), resamples=1).accuracy
    scores = [similarity(vectors, pairs).spearman for pairs in similarity_sets().values()]
    return [*(number for one in found for number in (one.opp, one.accuracy)), small, float(np.mean(scores))]


def main() -> None:
    """Fit, test, print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--rank", type=int, default=300)
    options = parser.parse_args()
    corpus = Corpus.open(options.corpus)
    print(
        "| | seconds | OD2 OPP | OD2 acc | OD3 OPP | OD3 acc | 8-8-8 | similarity |\n|---|---|---|---|---|---|---|---|"
    )
    for width in (2, 5, 10):
        counts = count(corpus, order=2, width=width)
        models = {"PPMI-SVD": PPMISVD(options.rank, seed=0)}
        for exponent in (1.0, 0.5, 0.25):
            for power in (1.0, 0.5, 0.0):
                how = {"count_exponent": exponent, "power": power}
                label = f"CA, count exponent {exponent:g}, power {power:g}"
                models[label] = CorrespondenceVectors(options.rank, seed=0, **how)
        for case in ("gini", "g-test", "sgns", "glove"):
            models[f"{case}, power .5"] = CorrespondenceVectors(options.rank, residual=case, seed=0)
        for name, model in models.items():
            start = time.perf_counter()
            model.fit(ppmi(counts, smoothing=0.75) if name == "PPMI-SVD" else counts.entries)
            seconds = time.perf_counter() - start
            cells = [f"{number:.3f}".removeprefix("0") for number in figures(model.embedding(corpus.vocabulary.words))]
            print(f"| width {width}, {name} | {seconds:.0f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
