"""How long the page takes to answer: word pages and concordances of random words of a workspace, as the server does.

    python -m experiments.bench.explore WORKSPACE [--words 200] [--seed 0]

Medians, 90th percentiles and largest of milliseconds of wall-clock time over random words of the vocabulary, each
asked once, after the first question; and the same of the most frequent words.
"""

import argparse
import itertools
import time

import numpy as np

from polyadic.explore.answers import ANSWERS
from polyadic.explore.answers.words import senses_of
from polyadic.explore.workspace import Workspace


def timed(name, workspace, **asked):
    """Ask, and say how many milliseconds it took."""
    start = time.perf_counter()
    ANSWERS[name](workspace, **asked)
    return 1000 * (time.perf_counter() - start)


def main():
    """Print a table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("workspace")
    options.add_argument("--words", type=int, default=200)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    start = time.perf_counter()
    workspace = Workspace.open(given.workspace)
    workspace.warm()
    print(f"opened in {time.perf_counter() - start:.1f} s")
    every = workspace.corpus.vocabulary.words
    rng = np.random.default_rng(given.seed)
    sets = {"random": [every[at] for at in rng.choice(len(every), given.words, replace=False)]}
    sets["frequent"] = list(every[: given.words // 4])
    for name in ("word", "senses"):
        ANSWERS[name](workspace, word=every[0])
    print("| question | words | median, ms | 90 % | largest |\n|---|---|---|---|---|")
    for which, words in sets.items():
        enough = [word for word in words if workspace.corpus.vocabulary.counts[workspace.corpus.vocabulary[word]] >= 50]
        asked = {
            "word": [timed("word", workspace, word=word) for word in words],
            "100 lines": [timed("lines", workspace, words=[word]) for word in words],
            "100 lines by what follows": [timed("lines", workspace, words=[word], sort="right") for word in words],
            "senses, the first time": [timed("senses", workspace, word=word) for word in enough],
            "senses again": [timed("senses", workspace, word=word) for word in enough],
            "phrase": [timed("phrase", workspace, words=[a, b]) for a, b in itertools.pairwise(words)],
        }
        for question, times in asked.items():
            row = [np.median(times), np.quantile(times, 0.9), np.max(times)]
            print(f"| {question} | {which} | {' | '.join(f'{each:,.0f}' for each in row)} |", flush=True)
        senses_of.cache_clear()


if __name__ == "__main__":
    main()
