"""Train every method of `polyadic train` on one corpus and compare the vectors: the table of the guide.

POLYADIC_DATA=... python -m experiments.bench.methods CORPUS --out FOLDER [--only cp-sn jcp-sn]

Each is a process of its own; seconds are those of the factors alone. Outlier detection uses the half of the WikiSem500
groups that no setting was chosen on; similarity is the mean Spearman correlation over the sets of the data folder.
Vectors that are there already are not trained again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from polyadic import Embedding
from polyadic.datasets import outlier_groups, similarity_sets
from polyadic.metrics.outliers import outliers
from polyadic.metrics.similarity import similarity

PAIRS = ("--smoothing", "0.75", "--width", "5")
ALIKE = ("--zero-weight", "0.1", "--zero-power", "0")  # the default when the table was made
BOTH = ("--tuple-min-count", "2/5", *ALIKE)
SETTINGS: dict[str, tuple[str, ...]] = {
    "random": (),
    "ppmi-svd": PAIRS,
    "nnse": PAIRS,
    "glove": (),
    "cbow": ("--threads", "2"),
    "sgns": ("--threads", "2"),
    "jcp": (),
    "cp-sn": ALIKE,
    "cp-s": ALIKE,
    "jcp-sn": BOTH,
    "jcp-s": BOTH,
    "cp": ("--rank", "100"),
    "tucker": (),
    "cp-apr": (),
}


def train(method: str, corpus: Path, out: Path) -> dict:
    """Train and give what the command reports."""
    command = [sys.executable, "-m", "polyadic", "train", corpus, "--out", out / method, "--method", method]
    done = subprocess.run([*command, *SETTINGS[method], "--json"], check=True, stdout=subprocess.PIPE, text=True)
    report = json.loads(done.stdout)
    (out / f"{method}.json").write_text(json.dumps(report), encoding="utf-8")
    return report


def row(vectors: Embedding) -> str:
    report = outlier_groups("wikisem500")[1::2]
    cells = [f"{np.mean(vectors.vectors == 0):.2f}"]
    for order in (2, 3):
        found = outliers(vectors, report, order=order)
        cells += [
            f"{found.opp:.3f}",
            f"{found.accuracy:.3f} ({found.accuracy_interval[0]:.3f} to {found.accuracy_interval[1]:.3f})",
        ]
    agreement = [similarity(vectors, pairs).spearman for pairs in similarity_sets().values()]
    return " | ".join([*cells, f"{np.nanmean(agreement):.3f}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=list(SETTINGS))
    options = parser.parse_args()
    options.out.mkdir(exist_ok=True)
    print("| method | rank | seconds | sweeps | zeros | OD2 OPP | OD2 accuracy | OD3 OPP | OD3 accuracy | similarity |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for method in options.only:
        saved = options.out / f"{method}.json"
        report = json.loads(saved.read_text()) if saved.exists() else train(method, options.corpus, options.out)
        factors = report["steps"]["factors"]
        vectors = Embedding.load(options.out / method)
        facts = f"{vectors.rank} | {factors['seconds']:.0f} | {factors.get('sweeps', '')}"
        print(f"| {method} {' '.join(SETTINGS[method])} | {facts} | {row(vectors)} |", flush=True)


if __name__ == "__main__":
    main()
