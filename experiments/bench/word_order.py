"""What filters of sentences are good for: word order, planted in real sentences, and in types of questions.

    POLYADIC_DATA=... python -m experiments.bench.word_order [--cases 5000] [--questions FOLDER]

Each planted task has two classes that the same words make: a sentence of MR as it is, or backwards, or with its halves
exchanged; or with two made-up words one to three places apart, of which one or the other comes first: two words, or any
of eight of either kind. Four fifths are learned from. FOLDER holds ``train_5500.label`` and ``TREC_10.label`` (Li, Roth
2002): questions of 6 coarse and 50 fine types. Settings are chosen inside the training part; intervals are of 95 %.
"""

import argparse
import warnings
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from experiments.data.sentences import Labelled, labelled_sentences
from experiments.huang2017.choosing import BAYES_SVM, CLASSES, Rule, choose, svm
from experiments.huang2017.encoders import Grid, encoders
from experiments.huang2017.labelled import folds
from polyadic.metrics.figures import Figure, difference

GRID = Grid(words=("ppmi-svd",), ranks=(100,))
REACH = 4
"""Places within which two words in order are a feature."""
WIDE = Rule(svm, (0.01, 0.1, 1.0, 10.0), BAYES_SVM.score, scaled=False)
FEATURES = {
    "words": lambda words: words,
    "words and pairs": lambda words: [*words, *pairwise(words)],
    f"words, and two in order within {REACH}": lambda words: [
        *words, *((u, v) for (i, u), (j, v) in combinations(enumerate(words), 2) if j - i <= REACH),
    ],
}  # fmt: skip


def planted(task: str, cases: int) -> list[Labelled]:
    """Give sentences of two classes."""
    rng = np.random.default_rng(0)
    texts = [list(case.words) for case in labelled_sentences("mr") if len(case.words) >= 6]
    made = []
    for at in rng.permutation(len(texts))[:cases].tolist():
        words, label, half = texts[at], int(rng.integers(2)), len(texts[at]) // 2
        if task == "backwards":
            words = words[::-1] if label else words
        elif task == "halves exchanged":
            words = words[half:] + words[:half] if label else words
        else:
            number = 1 if task == "two words" else 8
            first, gap = int(rng.integers(len(words) - 3)), int(rng.integers(1, 4))
            u, v = (f"{kind}{rng.integers(number)}" for kind in ("xalpha", "xbeta"))
            u, v = (u, v) if label else (v, u)
            words = [*words[:first], u, *words[first : first + gap], v, *words[first + gap :]]
        made.append(Labelled(words, label))
    return made


def binary(texts: list[list[str]], known: dict | None, features) -> tuple[csr_array, dict]:
    """Make rows of what texts have; of ``known`` features where they are given, which are else those seen twice."""
    rows = [set(features(words)) for words in texts]
    if known is None:
        seen: dict = {}
        for row in rows:
            for name in row:
                seen[name] = seen.get(name, 0) + 1
        known = {name: at for at, name in enumerate(sorted((n for n, c in seen.items() if c > 1), key=repr))}
    at = [sorted(known[name] for name in row if name in known) for row in rows]
    indptr = np.cumsum([0, *map(len, at)]).astype(np.int32)
    indices = np.array([column for row in at for column in row], np.int32)
    return csr_array((np.ones(len(indices)), indices, indptr), shape=(len(rows), len(known))), known


def compare(task: str, train: tuple[list, np.ndarray], test: tuple[list, np.ndarray]) -> None:
    """Print the accuracy of each method, and what filters add."""
    (texts, y), (tested, z) = train, test
    inner, right = folds(y, 5, 0)[:1], {}
    for name, candidates in encoders(texts, GRID, 0).items():
        choice = choose(candidates(), lambda encode: encode(texts), y, CLASSES, inner)
        X, Z = choice.candidate(texts), choice.candidate(tested)
        right[name] = CLASSES.make(choice.settings["C"]).fit(X, y).predict(Z) == z
    for name, features in FEATURES.items():
        X, known = binary(texts, None, features)
        Z, _ = binary(tested, known, features)
        C = choose([({}, X)], lambda X: X, y, WIDE, inner).settings["C"]
        right[name] = WIDE.make(C).fit(X, y).predict(Z) == z
    figures = {
        name: Figure(name, np.stack([hits, np.ones(len(hits))], axis=1).astype(float), len(hits), len(hits))
        for name, hits in right.items()
    }
    for figure in figures.values():
        low, high = figure.interval()
        print(f"| {task} | {figure.name} | {figure.value:.3f} | {low:.3f} to {high:.3f} |", flush=True)
    for other in ("mean of words", "moments of words"):
        gap = difference(figures["convolutional"], figures[other])
        print(
            f"| {task} | convolutional less {other} | {gap.value:.3f} | {gap.low:.3f} to {gap.high:.3f} |", flush=True
        )


def questions(path: Path) -> tuple[list[list[str]], list[str]]:
    """Read questions and their types."""
    lines = [line.split() for line in path.read_text(encoding="latin-1").splitlines()]
    return [[word.lower() for word in words] for _, *words in lines], [label for label, *_ in lines]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--questions", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| task | method | accuracy | interval |\n|---|---|---|---|")
    for task in ("backwards", "halves exchanged", "two words", "two kinds of words"):
        made = planted(task, options.cases)
        texts, labels = [case.words for case in made], np.array([case.label for case in made])
        cut = len(made) * 4 // 5
        compare(task, (texts[:cut], labels[:cut]), (texts[cut:], labels[cut:]))
    if options.questions is not None:
        (texts, types), (tested, asked) = (
            questions(options.questions / n) for n in ("train_5500.label", "TREC_10.label")
        )
        for task, cut in (("6 types of questions", slice(0, 1)), ("50 types of questions", slice(0, 2))):
            names = [[":".join(label.split(":")[cut]) for label in labels] for labels in (types, asked)]
            number = {name: at for at, name in enumerate(sorted({*names[0], *names[1]}))}
            y, z = (np.array([number[name] for name in part]) for part in names)
            compare(task, (texts, y), (tested, z))


if __name__ == "__main__":
    main()
