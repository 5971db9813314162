"""What a run of `python -m experiments bailey2017` says beyond its report: by every rule, and from study to study.

    python -m experiments.bench.rules_and_studies RUN

Products of a tensor model beside the sum of vectors of the pairwise model for which that is best, over the cases of odd
number, as in the report; vectors of phrases made of triples beside the same; shifts and ranks beside one another.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from experiments.bailey2017.scoring import kept_figure
from polyadic import Embedding
from polyadic.datasets import read_gaps, read_phrases
from polyadic.metrics.completion import completion
from polyadic.metrics.figures import Figure, difference
from polyadic.metrics.phrases import phrases

PAIRWISE = "cbow", "sgns", "glove", "ppmi-svd", "root-ca", "nnse"
TENSORS = "cp", "cp-s", "cp-sn", "jcp-s", "jcp-sn", "jcp"
STUDIES = {
    "cp-s-shift-1": ("cp-s-shift-5", "cp-s-shift-15", "cp-s-shift-25", "cp-s-shift-50"),
    "jcp-s": ("jcp-s-rank-25", "jcp-s-rank-50", "jcp-s-rank-100", "jcp-s-rank-200"),
}
STUDIED = "OD2 OPP", "OD2 accuracy", "OD3 OPP"


def kept(run: Path, model: str, name: str) -> Figure:
    """Give a figure of the report."""
    facts = json.loads((run / "scores" / f"{model}.json").read_text())["facts"]
    return kept_figure(run, model, facts["figures"][name])


def by_rule(run: Path) -> Iterator[tuple[str, Figure, str, Figure]]:
    """Give products of tensors beside sums of pairwise vectors, both with a name."""
    gaps, titles = read_gaps(run / "tests" / "gaps.tsv"), read_phrases(run / "tests" / "phrases.tsv")
    figures: dict[tuple[str, str], list[Figure]] = {}
    for model in (*PAIRWISE, *TENSORS):
        vectors = Embedding.load(run / "models" / model)
        tested = completion(vectors, gaps), phrases(vectors, titles)
        for rule in ("sum", "product"):
            figures[model, rule] = [f for test in tested for f in replace(test, best=rule).figures()]
    for k, figure in enumerate(figures["cp", "sum"]):
        best = max(PAIRWISE, key=lambda model: figures[model, "sum"][k].value)
        other = f"sum of {best}", figures[best, "sum"][k]
        for model in TENSORS:
            yield f"product of {model}", figures[model, "product"][k], *other
        if figure.name.startswith("phrases"):
            of_triples = kept(run, "ppmi-svd", figure.name.replace("phrases", "phrases from triples"))
            yield "from triples, in the space of ppmi-svd", of_triples, *other


def studies(run: Path) -> Iterator[tuple[str, Figure, str, Figure]]:
    """Give shifts beside none and ranks beside the largest."""
    for one, others in STUDIES.items():
        for other in others:
            for name in STUDIED:
                figure = f"wikisem500 (test half) {name}"
                yield other, kept(run, other, figure), one, kept(run, one, figure)


def main() -> None:
    """Print a row for each pair."""
    run = Path(sys.argv[1])
    print("| figure | of | value | beside | value | difference |\n|---|---|---|---|---|---|")
    for compared in (by_rule, studies):
        for name, figure, beside, other in compared(run):
            d = difference(figure, other)
            ends = f"{d.value:+.3f} ({d.low:.3f} to {d.high:.3f})"
            print(
                f"| {figure.name} | {name} | {figure.value:.3f} | {beside} | {other.value:.3f} | {ends} |", flush=True
            )


if __name__ == "__main__":
    main()
