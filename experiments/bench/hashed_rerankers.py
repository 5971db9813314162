"""Rerankers of hashed features: what a tensor's few parameters save, and cost, as the table of weights shrinks.

    POLYADIC_DATA=... python -m experiments.bench.hashed_rerankers LISTS [--bits 14 16 18 20] [--folds 3]

LISTS is a folder, made if it is not there: the 50 best trees of all sentences of the Penn Treebank sample, each by a
grammar of other folds, with all features that tell two of them apart. Folds are those of ``python -m experiments
cao2014
--folds 10``; C and the epoch are chosen by the next fold. Seconds are of processor time: of the fits of all C, and of
scoring the lists that are judged with.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from experiments.cao2014.compared import STEPS, figure
from experiments.cao2014.lists import Lists, crossed
from experiments.data.annotated import penn_sample
from polyadic.core.query_groups import QueryGroups
from polyadic.metrics.figures import difference
from polyadic.ranking.linear_rerankers import MIRA
from polyadic.ranking.reranking import choose
from polyadic.ranking.tensor_mira import TensorMIRA, places
from polyadic.syntax.candidates import jackknife
from polyadic.syntax.reranking import CandidateGroups, feature_groups, load_ranked, save_ranked

FOLDS = 10


def models(epochs: int) -> dict[str, list]:
    """Give what is compared, with the settings to choose from."""
    tensors = {f"T-MIRA {D} {H}": {"order": D, "rank": H} for D in (2, 3, 4) for H in (1, 3)}
    return {
        "MIRA": [MIRA(C=C, max_iter=epochs) for C in STEPS],
        **{name: [TensorMIRA(C=C, max_iter=epochs, **how) for C in STEPS] for name, how in tensors.items()},
    }


def hashed(ranked: CandidateGroups, bits: int) -> CandidateGroups:
    """Add up features whose numbers have the same hash."""
    X = ranked.groups.features
    place = places("hashed", X.shape[1], (1 << bits,))
    parts = X.data.copy(), place[X.indices].astype(np.int32), X.indptr.copy()  # they are changed in place
    made = csr_array(parts, shape=(X.shape[0], 1 << bits))
    made.sum_duplicates()
    return CandidateGroups(QueryGroups(made, ranked.groups.costs, ranked.groups.starts), ranked.counts)


def main() -> None:
    """Print a row for each number of bits and model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("lists", type=Path)
    parser.add_argument("--bits", type=int, nargs="*", default=[14, 16, 18, 20])
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=8)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if not options.lists.exists():
        parsed = jackknife([tree for file in penn_sample() for tree in file], folds=FOLDS)
        (ranked,), names = feature_groups(parsed, min_count=1)
        save_ranked(options.lists, ranked, names)
    ranked, _ = load_ranked(options.lists)
    heads = ["bits", "model", "F", "less MIRA of most bits", "of as many bits", "numbers", "KB", "seconds to learn"]
    heads.append("to score")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    reference = linear = None
    for bits in sorted(options.bits, reverse=True):
        whole = hashed(ranked, bits)
        folds = [divided(whole, fold) for fold in range(0, FOLDS, FOLDS // options.folds)][: options.folds]
        for name, some in models(options.epochs).items():
            choices, learned, scored = [], 0.0, 0.0
            for fold in folds:
                start = time.process_time()
                best = choose(some, fold.train.groups, validation=fold.dev.groups).best
                learned += time.process_time() - start
                start = time.process_time()
                choice = best.rerank(fold.test.groups)
                scored += time.process_time() - start
                choices.append([(choice - fold.test.groups.starts[:-1]).tolist()])
            made = figure(name, [fold.test for fold in folds], choices)
            reference = reference or made
            linear = made if name == "MIRA" else linear
            gaps = [difference(made, other) for other in (reference, linear)]
            numbers = sum(w.size for w in getattr(best, "factors_", [best.weights_]))
            cells = [f"{made.value:.4f}", *(f"{gap.value:.4f} ({gap.low:.4f} to {gap.high:.4f})" for gap in gaps)]
            cells += [f"{numbers:,}", f"{numbers * 8 / 1024:,.1f}", f"{learned:.0f}", f"{scored:.2f}"]
            print(f"| {bits} | {name} | {' | '.join(cells)} |", flush=True)


def divided(whole: CandidateGroups, fold: int) -> Lists:
    """Give the parts of a fold."""
    train, dev, test = (whole.only(part) for part in np.array_split(np.arange(len(whole.groups)), 3))
    return crossed(Lists(train, dev, test, []), FOLDS, fold)


if __name__ == "__main__":
    main()
