"""What makes third order pay: zeros, their power, orders and columns, one setting changed at a time.

    python -m experiments.bench.third_order TRAIN HELD [--rank 100] [--only zeros joint interaction counts blends]

TRAIN and HELD are corpora of `polyadic corpus` from WikiExtractor's output: models are trained on the first, and
tuples, phrases come from the second (cases are made once, and kept beside HELD as HELD-tests). Outlier detection uses
every second group of WikiSem500 (the other half is kept for reports); similarity is the mean of the ten sets.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from polyadic import PPMISVD, Corpus, Embedding, Entries, JointCP, NonNegative, SymmetricCP, count, ppmi
from polyadic.datasets import outlier_groups, read_gaps, read_phrases, similarity_sets, write_gaps, write_phrases
from polyadic.metrics.completion import completion
from polyadic.metrics.figures import Figure, difference
from polyadic.metrics.outliers import outliers
from polyadic.metrics.phrases import phrases
from polyadic.metrics.similarity import similarity
from polyadic.words import held_out
from polyadic.words.phrases import phrase_vectors

COLUMNS = (
    "seconds", "zeros", "OD2 OPP", "OD2 acc", "OD3 OPP", "OD3 acc", "8-8-8", "similarity",
    "sum", "product", "matched sum", "matched product", "select", "by sums", "retrieve",
)  # fmt: skip


COUNTED: dict[str, tuple[dict, dict]] = {
    "triples": ({"width": 10, "min_count": 2}, {}),
    "span 5": ({"width": 5, "min_count": 2}, {}),
    "span 15": ({"width": 15, "min_count": 2}, {}),
    "chunks of 11": ({"width": 5, "min_count": 2, "window": "chunk"}, {}),
    "triples seen 5 times": ({"width": 10, "min_count": 5}, {}),
    "shift 4": ({"width": 10, "min_count": 2}, {"shift": 4.0}),
    "smoothing .75": ({"width": 10, "min_count": 2}, {"smoothing": 0.75}),
    "entries alike": ({"width": 10, "min_count": 2}, {"weights": "uniform"}),
    "entries by min(n / 50, 1)^.75": ({"width": 10, "min_count": 2}, {"weights": (50.0, 0.75)}),
}
"""How triples are counted and weighed: arguments of count, and of ppmi."""


def rows(rank: int) -> dict[str, list[tuple[str, object, tuple[str, ...]]]]:
    """Give models by study: what it is called, the model, and the tuples that it is fitted to."""
    triples, both = ("triples",), ("pairs", "triples")

    def cp(**how: object) -> SymmetricCP:
        return SymmetricCP(rank, penalty=NonNegative(), max_iter=60, tol=0.0, seed=0, **how)

    def joint(**how: object) -> JointCP:
        return JointCP(**{"rank": rank, "max_iter": 60, "tol": 0.0, "seed": 0} | how)

    settings = [name for name in COUNTED if name != "triples"]
    return {
        "blends": [("JCP, coupling .5", joint(), both), ("CP-SN, power .75", cp(), triples)],
        "counts": [(f"CP-SN, {name}", cp(), (name,)) for name in settings],
        "interaction": [
            ("CP-SN, specific interaction", cp(), ("specific",)),
            ("JCP, specific interaction", joint(), ("pairs", "specific")),
        ],
        "pairs": [("PPMI-SVD", PPMISVD(rank, seed=0), ("pairs",))],
        "zeros": [
            ("CP-SN, zeros alike, .1", cp(zero_weight=0.1, zero_power=0.0), triples),
            ("CP-SN, zeros alike, .01", cp(zero_weight=0.01, zero_power=0.0), triples),
            ("CP-SN, power .5", cp(zero_power=0.5), triples),
            ("CP-SN, power .75", cp(), triples),
            ("CP-SN, power 1", cp(zero_power=1.0), triples),
        ],
        "joint": [
            ("JCP-SN, one factor", cp(), both),
            ("JCP, coupling 1", joint(pair_scale=1.0), both),
            ("JCP, coupling .5", joint(), both),
            ("JCP, coupling .25", joint(pair_scale=0.25), both),
            ("JCP, pairs count alike", joint(order_weights=[1.0, 1.0]), both),
            ("JCP, a third themes", joint(themes=rank // 3), both),
            ("JCP, two thirds themes", joint(themes=2 * rank // 3), both),
        ],
    }


def tests(train: Corpus, held: Corpus, place: Path) -> tuple[list, list]:
    """Make the cases, or read those that were made."""
    if not place.exists():
        place.mkdir()
        write_gaps(place / "gaps.tsv", held_out.gaps(train, held))
        write_phrases(place / "phrases.tsv", held_out.phrases(train, held))
    return read_gaps(place / "gaps.tsv"), read_phrases(place / "phrases.tsv")


def figures(vectors: Embedding, gaps: list, cases: list) -> list[float]:
    """Give all but the first two columns."""
    development = outlier_groups("wikisem500")[::2]
    found = [outliers(vectors, development, order=order, resamples=1) for order in (2, 3)]
    scores = [similarity(vectors, pairs).spearman for pairs in similarity_sets().values()]
    filled, made = completion(vectors, gaps), phrases(vectors, cases)
    return [
        *(number for one in found for number in (one.opp, one.accuracy)),
        outliers(vectors, outlier_groups("8-8-8"), resamples=1).accuracy,
        float(np.mean(scores)),
        *(filled.auc[rule] for rule in ("sum", "product")),
        *(filled.matched[rule] for rule in ("sum", "product")),
        made.selection["product"],
        max(made.selection[rule] for rule in made.selection if rule != "product"),
        made.retrieval["product"],
    ]


def main() -> None:
    """Fit, test, print a row for each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("train", type=Path)
    parser.add_argument("held", type=Path)
    parser.add_argument("--rank", type=int, default=100)
    parser.add_argument("--only", nargs="*", default=["pairs", "zeros", "joint"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # all run for as many sweeps as they are given
    train, held = Corpus.open(options.train), Corpus.open(options.held)
    gaps, cases = tests(train, held, options.held.with_name(f"{options.held.name}-tests"))
    triples = count(train, order=3, width=10, min_count=2)
    tuples = {"pairs": ppmi(count(train, order=2, width=5), smoothing=0.75), "triples": ppmi(triples)}
    if "interaction" in options.only:  # what a triple says beyond its pairs: the last part of an ANOVA of all orders
        tuples["specific"] = ppmi(triples, form="specific", lower=[count(train, order=2, width=10)])
    print(f"| rank {options.rank} | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}")
    for study in options.only:
        for name, model, kinds in rows(options.rank)[study]:
            if kinds[0] in COUNTED and kinds[0] not in tuples:
                how, weighed = COUNTED[kinds[0]]
                tuples = {kinds[0]: ppmi(count(train, order=3, **how), **weighed)}  # one at a time
            lists = [tuples[kind] for kind in kinds]
            start = time.perf_counter()
            model.fit(lists if len(lists) > 1 else lists[0])
            seconds = time.perf_counter() - start
            vectors = model.embedding(train.vocabulary.words)
            numbers = [vectors.components.sparsity, *figures(vectors, gaps, cases)]
            cells = [f"{seconds:.0f}", *(f"{number:.3f}".removeprefix("0") for number in numbers)]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
            if study == "blends":
                print_blends(vectors, cases)
            if study == "pairs":
                print_counted(vectors, tuples["triples"], cases)


def print_blends(vectors: Embedding, cases: list) -> None:
    """Vectors of phrases by geometric mean and sum, less products, over the cases of odd number."""

    def figures(make: Callable[..., np.ndarray]) -> list[Figure]:
        return phrases(vectors.components, cases, make=lambda titles: np.stack([make(*t) for t in titles])).figures()

    products = figures(vectors.product)
    print("\n| blend | select | less product | retrieve | less product |\n|---|---|---|---|---|")
    print(f"| product | {' | '.join(f'{figure.value:.4f} | ' for figure in products)}|")
    for blend in (0.0, 0.1, 0.25, 0.5, 1.0):
        made = figures(partial(vectors.phrase, blend=blend))
        gaps = [difference(one, other) for one, other in zip(made, products, strict=True)]
        cells = [
            f"{f.value:.4f} | {d.value:.4f} ({d.low:.4f} to {d.high:.4f})" for f, d in zip(made, gaps, strict=True)
        ]
        print(f"| {blend} | {' | '.join(cells)} |", flush=True)


def print_counted(vectors: Embedding, triples: Entries, cases: list) -> None:
    """Phrases from triples, in the space of the vectors."""
    for blend in (0.0, 0.25, 0.5, 1.0):
        make = partial(phrase_vectors, vectors, triples, blend=blend)
        found = phrases(vectors, cases, make=make)
        print(f"\nphrases from triples, blend {blend}: select {found.selection['made']:.3f},"
              f" retrieve {found.retrieval['made']:.3f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
